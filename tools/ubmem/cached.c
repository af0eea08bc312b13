/*
 * Cached memory of another node, alone and with others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "perf.h"

#define PAGE 4096u
#define PATIENCE_NS 120000000000ll

static uint64_t word_of(size_t at)
{
    return (at + 1) * 0x9e3779b97f4a7c15ull;
}

static double us(int64_t begun)
{
    return (now_ns() - begun) / 1e3;
}

void cached_check(const UbMem *m)
{
    size_t pages = m->len / PAGE;
    double touch, write, clean, here;
    int64_t begun = now_ns();
    uint64_t sum = 0;

    for (size_t at = 0; at < m->len; at += PAGE) {
        sum += load(m, at);
    }
    touch = us(begun);
    begun = now_ns();
    for (size_t at = 0; at < m->len; at += 8) {
        store(m, at, word_of(at));
    }
    write = us(begun);
    begun = now_ns();
    if (ubmem_fence(m)) {
        die("clean: %s", strerror(errno));
    }
    clean = us(begun);
    begun = now_ns();
    for (size_t at = 0; at < m->len; at += 8) {
        is("cached word", load(m, at), word_of(at));
    }
    here = us(begun);
    printf("of a page, us: first touch %.1f, writing %.1f, clean %.1f, "
           "reading %.1f (%llu)\n", touch / pages, write / pages,
           clean / pages, here / pages, (unsigned long long)sum);
}

void own(const UbMem *m, const char *what)
{
    int64_t end = now_ns() + PATIENCE_NS;

    while (ubmem_own(m, what)) {
        if (errno != EAGAIN || now_ns() > end) {
            die("own %s: %s", what, strerror(errno));
        }
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    }
}

void shared_change(const UbMem *m, unsigned times)
{
    size_t last = m->len - 8;

    for (unsigned i = 0; i < times; i++) {
        uint64_t n;

        own(m, "read");
        n = load(m, 0);
        is("the last word", load(m, last), 3 * n);
        own(m, "invalid");
        own(m, "write");
        n = load(m, 0);
        is("the last word of the owner", load(m, last), 3 * n);
        store(m, 0, n + 1);
        store(m, last, 3 * (n + 1));
        own(m, i % 2 ? "invalid" : "read");
        if (i % 2 == 0) {
            is("what was written", load(m, 0), n + 1);
            own(m, "invalid");
        }
    }
}
