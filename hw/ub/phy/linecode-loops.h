/*
 * Gray coding and precoding of many UIs at a time, in vectors that the
 * compiler fits to the set of instructions of the file that includes this.
 *
 * FN(name) names the functions, TARGET is their instruction set, WORDS what one
 * of its vectors holds, LINKAGE is static unless it says otherwise.  PAM4 is
 * precoded by the includer's PAM4_VECTOR(v, prev), as pam4_vector() here, or
 * where there are Vec, GATHER, LOOKUP, LOW and HIGH (simd-slices.h), by them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "linecode.h"

#ifndef LINKAGE
#define LINKAGE static
#endif

#define LOW_BITS 0x5555555555555555ULL
#define VECTOR (8 * WORDS)

/* Vectors only ever pass between functions that become one. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* A vector of symbols, eight to a word: the first symbol's first UI lowest. */
typedef uint64_t Words __attribute__((vector_size(VECTOR)));

#define INNER static inline __attribute__((always_inline)) TARGET

INNER Words load_words(const uint8_t *p)
{
    Words v;

    memcpy(&v, p, VECTOR);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (unsigned i = 0; i < WORDS; i++) {
        v[i] = __builtin_bswap64(v[i]);
    }
#endif
    return v;
}

INNER void store_words(uint8_t *p, Words v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (unsigned i = 0; i < WORDS; i++) {
        v[i] = __builtin_bswap64(v[i]);
    }
#endif
    memcpy(p, &v, VECTOR);
}

/* The last n < VECTOR symbols of a run: frames are short, so runs often are,
 * and copies of fixed size need no call. */
INNER void copy_part(uint8_t *out, const uint8_t *in, size_t n)
{
    size_t i = 0;

#pragma GCC unroll 3
    for (size_t piece = VECTOR / 2; piece >= 8; piece /= 2) {
        if (n & piece) {
            memcpy(out + i, in + i, piece);
            i += piece;
        }
    }
    for (; i < n; i++) {
        out[i] = in[i];
    }
}

/* The words of v moved up by n, and from `low` what comes in. */
#if WORDS == 8
#define UP(low, v, n) \
    __builtin_shufflevector(low, v, 8 - (n), 9 - (n), 10 - (n), 11 - (n), \
                            12 - (n), 13 - (n), 14 - (n), 15 - (n))
#elif WORDS == 4
#define UP(low, v, n) \
    __builtin_shufflevector(low, v, 4 - (n), 5 - (n), 6 - (n), 7 - (n))
#else
#define UP(low, v, n) __builtin_shufflevector(low, v, 2 - (n), 3 - (n))
#endif

/* Pair b1 b0 becomes b1, b1^b0: its own inverse. */
INNER Words gray_words(Words v)
{
    return v ^ (v >> 1 & LOW_BITS);
}

/* Sum mod 4 of each pair of bits. */
INNER Words add4(Words a, Words b)
{
    return a ^ b ^ (a & b & LOW_BITS) << 1;
}

/* T_n = P_n ^ T_{n-1} after a 0, in each word: running parity, by doubling
 * distances. */
INNER Words nrz_words(Words t)
{
#pragma GCC unroll 8
    for (unsigned d = 1; d < 64; d *= 2) {
        t ^= t << d;
    }
    return t;
}

/* What the UI before a word - bit 0 of `prev` - does to all of it. */
INNER Words nrz_join(Words t, Words prev)
{
    return t ^ -(prev & 1);
}

/* For each word, the sum of those before it; *prev counts on from vector to
 * vector, alone, so that none waits for the one before it. */
INNER Words sum_before(Words last, uint64_t *prev)
{
    const Words zero = { 0 };
    Words sum = UP(zero, last, 1);

    sum += UP(zero, sum, 1);
#if WORDS > 2
    sum += UP(zero, sum, 2);
#endif
#if WORDS > 4
    sum += UP(zero, sum, 4);
#endif
    last += sum;
    sum += *prev;
    *prev += last[WORDS - 1];
    return sum;
}

/* pam4_vector(): Gray code and precode a vector; the UI before it is *prev,
 * mod 4, and then its last one. */
#if defined(PAM4_VECTOR)

#define pam4_vector(v, prev) ((Words)PAM4_VECTOR(v, prev))

#elif defined(LOOKUP)

/*
 * By half symbols, two UIs p and q once Gray coded, the first lower.  Behind a
 * 0 they become p and q - p; a UI t in front of them adds -t and t.  So the
 * last UI of each half is that of all before it, added up mod 4.
 */
#define GRAY(n) ((n) ^ ((n) >> 1 & 5))
#define HALF(n) ((n) % 4 | (((n) / 4 - (n) % 4) & 3) << 2)
#define HALF_CODE(n) HALF(GRAY(n))
#define HALF_HIGH(n) (HALF_CODE(n) << 4)
#define HALF_LAST(n) (HALF_CODE(n) >> 2)
#define FRONT(t) ((-(t) & 3) | ((t) & 3) << 2)
#define FRONT_HIGH(t) (FRONT(t) << 4)
#define FIRST_OF_WORD(i) ((i) & 8)
#define FOUR(f, n) f(n), f((n) + 1), f((n) + 2), f((n) + 3)
#define TABLE(f) { FOUR(f, 0), FOUR(f, 4), FOUR(f, 8), FOUR(f, 12) }

static const uint8_t half_code[16] = TABLE(HALF_CODE);
static const uint8_t half_high[16] = TABLE(HALF_HIGH);
static const uint8_t half_last[16] = TABLE(HALF_LAST);
static const uint8_t front[16] = TABLE(FRONT);
static const uint8_t front_high[16] = TABLE(FRONT_HIGH);
static const uint8_t first_of_word[16] = TABLE(FIRST_OF_WORD);

INNER Words pam4_vector(Words v, uint64_t *prev)
{
    const Vec low = LOW((Vec)v), high = HIGH((Vec)v);
    const Vec middle = LOOKUP(GATHER(half_last, 0), low);
    Words sum = (Words)(middle + LOOKUP(GATHER(half_last, 0), high)), all;
    Vec t;

    sum += sum << 8;
    sum += sum << 16;
    sum += sum << 32;
    all = sum_before(sum >> 56, prev);
    t = (Vec)(sum << 8) + LOOKUP((Vec)all, GATHER(first_of_word, 0));
    t &= 3;
    return add4((Words)(LOOKUP(GATHER(half_code, 0), low) ^
                        LOOKUP(GATHER(half_high, 0), high)),
                (Words)(LOOKUP(GATHER(front, 0), t) ^
                        LOOKUP(GATHER(front_high, 0), t + middle)));
}

#else

/* T_n = P_n - T_{n-1} after a 0, in each word: the first doubling subtracts,
 * the others add. */
INNER Words pam4_words(Words t)
{
    Words w = t << 2;

    t = add4(t, w ^ (w & LOW_BITS) << 1);
#pragma GCC unroll 8
    for (unsigned d = 4; d < 64; d *= 2) {
        t = add4(t, t << d);
    }
    return t;
}

/* The UI before is subtracted from the first, added to the second, … */
INNER Words pam4_join(Words t, Words prev)
{
    Words b0 = -(prev & 1), b1 = -(prev >> 1 & 1);

    return add4(t, (b0 & LOW_BITS) | (b1 & 0x8888888888888888ULL) |
                   ((b1 ^ b0) & 0x2222222222222222ULL));
}

/* A word holds an even number of UIs, so what goes in front of it is added,
 * mod 4, to its last one. */
INNER Words pam4_vector(Words v, uint64_t *prev)
{
    Words t = pam4_words(gray_words(v));

    return pam4_join(t, sum_before(t >> 62, prev));
}

#endif

/* The same in NRZ, mod 2. */
INNER Words nrz_vector(Words v, uint64_t *prev)
{
    Words t = nrz_words(v);

    return nrz_join(t, sum_before(t >> 63, prev));
}

INNER Words precode_vector(Words v, bool pam4, uint64_t *prev)
{
    return pam4 ? pam4_vector(v, prev) : nrz_vector(v, prev);
}

INNER Words undo_vector(Words r, Words before, bool pam4)
{
    Words last = UP(before, r, 1);

    return pam4 ? gray_words(add4(r, r << 2 | last >> 62)) :
           r ^ (r << 1 | last >> 63);
}

/* The last UI of a symbol. */
INNER uint8_t last_ui(uint8_t symbol, bool pam4)
{
    return symbol >> (pam4 ? 6 : 7);
}

INNER uint8_t precode_n(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                        uint8_t first)
{
    uint64_t prev = first;

    for (; n >= VECTOR; n -= VECTOR, in += VECTOR, out += VECTOR) {
        store_words(out, precode_vector(load_words(in), pam4, &prev));
    }
    if (n) {
        uint8_t rest[VECTOR] = { 0 };

        copy_part(rest, in, n);
        store_words(rest, precode_vector(load_words(rest), pam4, &prev));
        copy_part(out, rest, n);
        return last_ui(rest[n - 1], pam4);
    }
    return prev & (pam4 ? 3 : 1);
}

INNER uint8_t undo_n(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                     uint8_t prev)
{
    Words before = { 0 };

    before[WORDS - 1] = (uint64_t)prev << (pam4 ? 62 : 63);
    for (; n >= VECTOR; n -= VECTOR, in += VECTOR, out += VECTOR) {
        Words r = load_words(in);

        store_words(out, undo_vector(r, before, pam4));
        before = r;
    }
    if (n) {
        uint8_t rest[VECTOR] = { 0 };

        copy_part(rest, in, n);
        prev = last_ui(rest[n - 1], pam4);
        store_words(rest, undo_vector(load_words(rest), before, pam4));
        copy_part(out, rest, n);
        return prev;
    }
    return before[WORDS - 1] >> (pam4 ? 62 : 63);
}

LINKAGE TARGET void FN(gray)(uint8_t *out, const uint8_t *in, size_t n)
{
    size_t i = 0;

    for (; i + VECTOR <= n; i += VECTOR) {
        store_words(out + i, gray_words(load_words(in + i)));
    }
    if (i < n) {
        uint8_t rest[VECTOR] = { 0 };

        copy_part(rest, in + i, n - i);
        store_words(rest, gray_words(load_words(rest)));
        copy_part(out + i, rest, n - i);
    }
}

LINKAGE TARGET uint8_t FN(precode)(uint8_t *out, const uint8_t *in, size_t n,
                                   bool pam4, uint8_t prev)
{
    return pam4 ? precode_n(out, in, n, true, prev) :
           precode_n(out, in, n, false, prev);
}

LINKAGE TARGET uint8_t FN(precode_undo)(uint8_t *out, const uint8_t *in,
                                        size_t n, bool pam4, uint8_t prev)
{
    return pam4 ? undo_n(out, in, n, true, prev) :
           undo_n(out, in, n, false, prev);
}

#undef LOW_BITS
#undef VECTOR
#undef INNER
#undef UP
