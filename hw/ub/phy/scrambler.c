/*
 * Lane scrambler: the one table of polynomials and seeds, and the key stream.
 *
 * The key is a linear recurrence s[n] = xor of s[n - d] over the delays d of
 * the polynomial.  A polynomial over GF(2) squared has the same delays
 * doubled, so the recurrence holds for bytes, 2^3 bits apart, and for vectors
 * of 64 bytes, 2^9 bits apart: a window of the last 23 vectors yields the next
 * one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <pthread.h>
#include <string.h>

#include "core/bytes.h"
#include "kernels.h"
#include "scalar.h"
#include "ub/scrambler.h"

#define DEGREE 23
#define VECTOR UB_SCRAMBLER_VECTOR
#define LIDS 9

typedef struct Polynomial {
    const char *name;
    uint8_t delays[DEGREE]; /* descending, ended by 0; first is DEGREE */
    uint32_t state[LIDS];   /* first 23 key bits, bit 0 first */
} Polynomial;

static const Polynomial table[UB_SCRAMBLERS] = {
    [UB_SCRAMBLER_OFF] = { .name = "off" },
    [UB_SCRAMBLER_PRBS23] = {
        .name = "prbs23",
        .delays = { 23, 18 },
        .state = { 0x7fffff, 0x3c5a69, 0x5a963c, 0x69c3a5, 0x2d4b87,
                   0x1e87d2, 0x4bb41e, 0x78d20f, 0x555555 },
    },
    [UB_SCRAMBLER_PCIE23] = {
        .name = "pcie23",
        .delays = { 23, 21, 16, 8, 5, 2 },
        .state = { 0x1dbfbc, 0x0607bb, 0x1ec760, 0x18c0db, 0x010f12,
                   0x19cfc9, 0x0277ce, 0x1bb807, 0x555555 },
    },
};

const char *ub_scrambler_name(unsigned id)
{
    return id < UB_SCRAMBLERS ? table[id].name : NULL;
}

int ub_scrambler_find(const char *name)
{
    for (unsigned i = 0; i < UB_SCRAMBLERS; i++) {
        if (!strcmp(name, table[i].name)) {
            return i;
        }
    }
    return -1;
}

uint32_t ub_scrambler_state(unsigned id, unsigned lid)
{
    return id < UB_SCRAMBLERS && lid < LIDS ? table[id].state[lid] : 0;
}

/* The key that goes before the 23 bits of `state`, back through one window:
 * the recurrence solved for its oldest term. */
static void window_fill(uint8_t *w, const uint8_t *delays, uint32_t state)
{
    uint32_t bits = state & ((1u << DEGREE) - 1);
    uint8_t next[DEGREE]; /* the first bytes of key, bit by bit */

    for (unsigned i = 0; i < DEGREE; i++) {
        uint8_t byte = 0;

        for (unsigned b = 0; b < 8; b++) {
            uint32_t in = 0;

            for (const uint8_t *d = delays; *d; d++) {
                in ^= bits >> (DEGREE - *d);
            }
            byte |= (bits & 1) << b;
            bits = bits >> 1 | (in & 1) << (DEGREE - 1);
        }
        next[i] = byte;
    }
    for (int i = UB_SCRAMBLER_WINDOW - 1; i >= 0; i--) {
        uint8_t byte = 0;

        for (const uint8_t *d = delays; *d; d++) {
            int at = i + DEGREE - (d == delays ? 0 : *d);

            byte ^= at < UB_SCRAMBLER_WINDOW ? w[at] :
                    next[at - UB_SCRAMBLER_WINDOW];
        }
        w[i] = byte;
    }
}

/* Windows of the seed table; training loads one at every AMCTL. */
static uint8_t seeded[UB_SCRAMBLERS][LIDS][UB_SCRAMBLER_WINDOW];

static void seeded_build(void)
{
    for (unsigned id = UB_SCRAMBLER_OFF + 1; id < UB_SCRAMBLERS; id++) {
        for (unsigned lid = 0; lid < LIDS; lid++) {
            window_fill(seeded[id][lid], table[id].delays,
                        table[id].state[lid]);
        }
    }
}

static void seeded_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, seeded_build);
}

void ub_scrambler_load(UbScrambler *s, unsigned id, uint32_t state)
{
    s->id = id < UB_SCRAMBLERS ? id : UB_SCRAMBLER_OFF;
    s->pos = 0;
    if (s->id != UB_SCRAMBLER_OFF) {
        window_fill(s->window, table[s->id].delays, state);
    }
}

void ub_scrambler_seed(UbScrambler *s, unsigned id, unsigned lid)
{
    seeded_init();
    s->id = id < UB_SCRAMBLERS ? id : UB_SCRAMBLER_OFF;
    s->lid = lid < LIDS ? lid : LIDS - 1;
    s->pos = 0;
    if (s->id != UB_SCRAMBLER_OFF) {
        memcpy(s->window, seeded[s->id][s->lid], UB_SCRAMBLER_WINDOW);
    }
}

/* Replace vector `at` of the window, the oldest, by the next one. */
static void vector_next(uint8_t *w, unsigned at, const uint8_t *delays)
{
    uint64_t *to = (uint64_t *)(w + at * VECTOR);

    for (const uint8_t *d = delays + 1; *d; d++) {
        const uint64_t *from = (const uint64_t *)
            (w + (at < *d ? at + DEGREE - *d : at - *d) * VECTOR);

        for (unsigned i = 0; i < VECTOR / 8; i++) {
            to[i] ^= from[i];
        }
    }
}

static void xor_bytes(uint8_t *out, const uint8_t *in, const uint8_t *key,
                      size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        put_le64(out + i, get_le64(in + i) ^ get_le64(key + i));
    }
    for (; i < n; i++) {
        out[i] = in[i] ^ key[i];
    }
}

void ub_scramble_scalar(UbScrambler *s, const uint8_t *delays, uint8_t *out,
                        const uint8_t *in, size_t n)
{
    while (n) {
        size_t step = VECTOR - s->pos % VECTOR;

        if (step == VECTOR) {
            vector_next(s->window, s->pos / VECTOR, delays);
        }
        step = step < n ? step : n;
        xor_bytes(out, in, s->window + s->pos, step);
        s->pos = (s->pos + step) % UB_SCRAMBLER_WINDOW;
        out += step;
        in += step;
        n -= step;
    }
}

void ub_scrambler_xor(UbScrambler *s, uint8_t *out, const uint8_t *in,
                      size_t n)
{
    if (s->id != UB_SCRAMBLER_OFF) {
        ub_pcs_kernels()->scramble(s, table[s->id].delays, out, in, n);
    } else if (out != in) {
        memmove(out, in, n);
    }
}

bool ub_scrambler_aligned(const UbScrambler *s)
{
    const uint8_t *delays = table[s->id].delays;

    return s->pos % VECTOR == 0 && delays[1] && !delays[2];
}

unsigned ub_scrambler_delay(const UbScrambler *s)
{
    return table[s->id].delays[1];
}
