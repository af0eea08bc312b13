/*
 * A memory test by loads and stores.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <string.h>

#include "perf.h"

#define PAGE 4096u

static void fence(const UbMem *m)
{
    if (ubmem_fence(m)) {
        die("fence: %s", strerror(errno));
    }
}

/* Each byte has each value once in 256 rounds. */
static void all_values(const UbMem *m, size_t bytes)
{
    for (unsigned round = 0; round < 256; round++) {
        for (size_t at = 0; at < bytes; at += 8) {
            uint64_t w = 0;

            for (unsigned i = 0; i < 8; i++) {
                w |= (uint64_t)((at + i + round) & 0xff) << 8 * i;
            }
            store(m, at, w);
        }
        fence(m);
        for (size_t at = 0; at < bytes; at += 8) {
            uint64_t w = load(m, at);

            for (unsigned i = 0; i < 8; i++) {
                is("byte", w >> 8 * i & 0xff, (at + i + round) & 0xff);
            }
        }
    }
}

/* Each page is another one. */
static void all_pages(const UbMem *m)
{
    for (size_t at = 0; at < m->len; at += PAGE) {
        store(m, at + at / PAGE * 8 % PAGE, ~at);
    }
    fence(m);
    for (size_t at = 0; at < m->len; at += PAGE) {
        is("page", load(m, at + at / PAGE * 8 % PAGE), ~at);
    }
}

static void widths(const UbMem *m)
{
    volatile uint8_t *b = m->base;

    store(m, 0, 0);
    store(m, 8, 0);
    b[1] = 0x11;
    *(volatile uint16_t *)(b + 2) = 0x3322;
    *(volatile uint32_t *)(b + 4) = 0x77665544;
    b[15] = 0xff;
    is("widths", load(m, 0), 0x7766554433221100ull);
    is("last byte", load(m, 8), 0xff00000000000000ull);
    is("byte", b[1], 0x11);
    is("half", *(volatile uint16_t *)(b + 2), 0x3322);
    is("word", *(volatile uint32_t *)(b + 4), 0x77665544);
}

/* What each brings is what was there before. */
static void atomics(const UbMem *m)
{
    static const struct {
        const char *name;
        uint64_t a, b, then;
    } steps[] = {
        { "add", 2, 0, 42 }, { "sub", 10, 0, 32 }, { "or", 3, 0, 35 },
        { "and", 33, 0, 33 }, { "xor", 1, 0, 32 }, { "swap", 7, 0, 7 },
        { "cas", 8, 9, 7 }, { "cas", 7, 9, 9 }, { "umax", 77, 0, 77 },
        { "umin", 5, 0, 5 }, { "smax", ~0ull, 0, 5 },
        { "smin", ~0ull, 0, ~0ull },
    };
    uint64_t before = 40, old;

    store(m, 64, before);
    fence(m);
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (ubmem_atomic(m, 64, steps[i].name, 8, steps[i].a, steps[i].b,
                         &old)) {
            die("%s: %s", steps[i].name, strerror(errno));
        }
        is(steps[i].name, old, before);
        before = steps[i].then;
        is(steps[i].name, load(m, 64), before);
    }
    /* Bytes beside it stay. */
    store(m, 64, 0x1111111111111111ull);
    fence(m);
    if (ubmem_atomic(m, 66, "add", 2, 1, 0, &old)) {
        die("add of two bytes: %s", strerror(errno));
    }
    is("add of two bytes", old, 0x1111);
    is("its neighbours", load(m, 64), 0x1111111111121111ull);
}

void check(const UbMem *m, size_t bytes)
{
    UbMemStatus s;

    all_values(m, bytes < m->len ? bytes : m->len);
    all_pages(m);
    widths(m);
    atomics(m);
    if (ubmem_status(m, &s)) {
        die("status: %s", strerror(errno));
    }
    is("failed", s.loads + s.stores, 0);
}
