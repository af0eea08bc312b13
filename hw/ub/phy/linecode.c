/*
 * Gray coding and precoding (UB 2.0 §3.3.1, §3.3.2), many UIs at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "ub/linecode.h"

#define LOW_BITS 0x5555555555555555ULL
#define ONE_LEVELS 0x1111111111111111ULL /* 1 in every other UI */
#define BLOCK 8 /* words worked on side by side */

typedef uint64_t Words __attribute__((vector_size(8 * BLOCK), may_alias));

/* Pair b1 b0 becomes b1, b1^b0: its own inverse. */
static uint64_t gray64(uint64_t v)
{
    return v ^ (v >> 1 & LOW_BITS);
}

void ub_gray(uint8_t *out, const uint8_t *in, size_t n)
{
    size_t i = 0;

    for (; i + 8 * BLOCK <= n; i += 8 * BLOCK) {
        Words v;

        memcpy(&v, in + i, sizeof(v));
        v ^= v >> 1 & LOW_BITS;
        memcpy(out + i, &v, sizeof(v));
    }
    for (; i < n; i++) {
        out[i] = gray64(in[i]);
    }
}

/* Sum mod 4 of each pair of bits. */
static uint64_t add4(uint64_t a, uint64_t b)
{
    return a ^ b ^ (a & b & LOW_BITS) << 1;
}

/* T_n = P_n ^ T_{n-1} after a 0, in each word: running parity, by doubling
 * distances. */
static void nrz_words(Words *t)
{
    for (unsigned d = 1; d < 64; d *= 2) {
        *t ^= *t << d;
    }
}

/* ... and what the UI before does to all of them. */
static uint64_t nrz_join(uint64_t t, uint64_t prev)
{
    return t ^ -prev;
}

/* T_n = P_n - T_{n-1} after a 0, in each word: the first doubling subtracts,
 * the others add. */
static void pam4_words(Words *t)
{
    Words v = *t, w = v << 2;

    w ^= (w & LOW_BITS) << 1;
    v = v ^ w ^ (v & w & LOW_BITS) << 1;
    for (unsigned d = 4; d < 64; d *= 2) {
        w = v << d;
        v = v ^ w ^ (v & w & LOW_BITS) << 1;
    }
    *t = v;
}

/* The UI before is subtracted from the first, added to the second, … */
static uint64_t pam4_join(uint64_t t, uint64_t prev)
{
    return add4(t, ((4 - prev) & 3) * ONE_LEVELS | prev * (ONE_LEVELS << 2));
}

static uint64_t nrz_undo(uint64_t r, uint64_t prev)
{
    return r ^ (r << 1 | prev);
}

static uint64_t pam4_undo(uint64_t r, uint64_t prev)
{
    return add4(r, r << 2 | prev);
}

static void get_block(Words *t, const uint8_t *p)
{
    for (unsigned k = 0; k < BLOCK; k++) {
        (*t)[k] = get_le64(p + 8 * k);
    }
}

static uint64_t get_word(const uint8_t *p, unsigned count)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < count; i++) {
        v |= (uint64_t)p[i] << 8 * i;
    }
    return v;
}

static void put_word(uint8_t *p, uint64_t v, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        p[i] = v >> 8 * i;
    }
}

/* Blocks, then words, then the rest as one short word. */
#define PRECODE(name, words, join, bits)                                    \
    static uint8_t name(uint8_t *out, const uint8_t *in, size_t n,          \
                        uint64_t prev)                                      \
    {                                                                       \
        for (; n >= 8 * BLOCK; n -= 8 * BLOCK) {                            \
            Words t;                                                        \
                                                                            \
            get_block(&t, in);                                              \
            words(&t);                                                      \
            for (unsigned k = 0; k < BLOCK; k++) {                          \
                t[k] = join(t[k], prev);                                    \
                prev = t[k] >> (64 - bits);                                 \
                put_le64(out + 8 * k, t[k]);                                \
            }                                                               \
            out += 8 * BLOCK;                                               \
            in += 8 * BLOCK;                                                \
        }                                                                   \
        while (n) {                                                         \
            unsigned count = n < 8 ? n : 8;                                 \
            Words short_word = { get_word(in, count) };                     \
            uint64_t t;                                                     \
                                                                            \
            words(&short_word);                                             \
            t = join(short_word[0], prev);                                  \
            prev = t >> (8 * count - bits) & ((1 << bits) - 1);             \
            put_word(out, t, count);                                        \
            out += count;                                                   \
            in += count;                                                    \
            n -= count;                                                     \
        }                                                                   \
        return prev;                                                        \
    }

#define UNDO(name, undo, bits)                                              \
    static uint8_t name(uint8_t *out, const uint8_t *in, size_t n,          \
                        uint64_t prev)                                      \
    {                                                                       \
        for (; n >= 8; n -= 8) {                                            \
            uint64_t r = get_le64(in);                                      \
                                                                            \
            put_le64(out, undo(r, prev));                                   \
            prev = r >> (64 - bits);                                        \
            out += 8;                                                       \
            in += 8;                                                        \
        }                                                                   \
        if (n) {                                                            \
            uint64_t r = get_word(in, n);                                   \
                                                                            \
            put_word(out, undo(r, prev), n);                                \
            prev = r >> (8 * n - bits) & ((1 << bits) - 1);                 \
        }                                                                   \
        return prev;                                                        \
    }

PRECODE(nrz_precode, nrz_words, nrz_join, 1)
PRECODE(pam4_precode, pam4_words, pam4_join, 2)
UNDO(nrz_precode_undo, nrz_undo, 1)
UNDO(pam4_precode_undo, pam4_undo, 2)

uint8_t ub_precode_start(bool pam4)
{
    return pam4 ? 0 : 1;
}

uint8_t ub_precode(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                   uint8_t prev)
{
    return pam4 ? pam4_precode(out, in, n, prev) :
           nrz_precode(out, in, n, prev);
}

uint8_t ub_precode_undo(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                        uint8_t prev)
{
    return pam4 ? pam4_precode_undo(out, in, n, prev) :
           nrz_precode_undo(out, in, n, prev);
}
