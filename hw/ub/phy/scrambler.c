/*
 * Lane scrambler: the one table of polynomials and seeds, and the key stream.
 *
 * The key is a linear recurrence s[n] = xor of s[n - d] over the delays d of
 * the polynomial.  A polynomial over GF(2) squared has the same delays
 * doubled, so the recurrence holds for bytes, 2^3 bits apart, and for vectors
 * of 32 bytes, 2^8 bits apart: one window of 23 vectors yields the next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "ub/scrambler.h"

#define DEGREE 23
#define VECTOR 32
#define LIDS 9

_Static_assert(UB_SCRAMBLER_WINDOW == DEGREE * VECTOR, "window of vectors");

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

void ub_scrambler_load(UbScrambler *s, unsigned id, uint32_t state)
{
    const uint8_t *delays;
    uint32_t bits = state & ((1u << DEGREE) - 1);
    uint8_t *w = s->window;

    s->id = id < UB_SCRAMBLERS ? id : UB_SCRAMBLER_OFF;
    s->pos = 0;
    delays = table[s->id].delays;
    if (s->id == UB_SCRAMBLER_OFF) {
        return;
    }
    /* `bits` holds the next 23 key bits, oldest in bit 0. */
    for (unsigned i = 0; i < DEGREE; i++) {
        uint8_t byte = 0;

        for (unsigned b = 0; b < 8; b++) {
            uint32_t next = 0;

            for (const uint8_t *d = delays; *d; d++) {
                next ^= bits >> (DEGREE - *d);
            }
            byte |= (bits & 1) << b;
            bits = bits >> 1 | (next & 1) << (DEGREE - 1);
        }
        w[i] = byte;
    }
    for (unsigned i = DEGREE; i < UB_SCRAMBLER_WINDOW; i++) {
        uint8_t byte = 0;

        for (const uint8_t *d = delays; *d; d++) {
            byte ^= w[i - *d];
        }
        w[i] = byte;
    }
}

void ub_scrambler_seed(UbScrambler *s, unsigned id, unsigned lid)
{
    s->lid = lid;
    ub_scrambler_load(s, id, ub_scrambler_state(id, lid));
}

typedef uint8_t Vector __attribute__((vector_size(VECTOR), may_alias));

/* Replace the window by the next one, in place: a slot still holds the value
 * of one window ago until its turn comes. */
static void window_next(UbScrambler *s)
{
    const uint8_t *delays = table[s->id].delays;
    Vector *w = (Vector *)s->window;

    if (!delays[2]) {
        unsigned d = delays[1];

        for (unsigned i = 0; i < d; i++) {
            w[i] ^= w[i + DEGREE - d];
        }
        for (unsigned i = d; i < DEGREE; i++) {
            w[i] ^= w[i - d];
        }
        return;
    }
    for (unsigned i = 0; i < DEGREE; i++) {
        Vector v = w[i];

        for (const uint8_t *d = delays + 1; *d; d++) {
            v ^= w[i < *d ? i + DEGREE - *d : i - *d];
        }
        w[i] = v;
    }
}

static void xor_bytes(uint8_t *out, const uint8_t *in, const uint8_t *key,
                      size_t n)
{
    size_t i = 0;

    for (; i + VECTOR <= n; i += VECTOR) {
        Vector a, b;

        memcpy(&a, in + i, VECTOR);
        memcpy(&b, key + i, VECTOR);
        a ^= b;
        memcpy(out + i, &a, VECTOR);
    }
    for (; i < n; i++) {
        out[i] = in[i] ^ key[i];
    }
}

void ub_scrambler_xor(UbScrambler *s, uint8_t *out, const uint8_t *in,
                      size_t n)
{
    if (s->id == UB_SCRAMBLER_OFF) {
        if (out != in) {
            memmove(out, in, n);
        }
        return;
    }
    while (n) {
        size_t step;

        if (s->pos == UB_SCRAMBLER_WINDOW) {
            window_next(s);
            s->pos = 0;
        }
        step = UB_SCRAMBLER_WINDOW - s->pos;
        step = step < n ? step : n;
        xor_bytes(out, in, s->window + s->pos, step);
        s->pos += step;
        out += step;
        in += step;
        n -= step;
    }
}
