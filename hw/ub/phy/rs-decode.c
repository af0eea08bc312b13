/*
 * RS(128,120) error correction (UB 2.0 §3.2.3.5).
 *
 * Berlekamp-Massey on 2t syndromes, root search over the 128 positions that
 * exist, Forney.  Whatever the mode, all eight syndromes must be zero after
 * the correction: with T=2 that is the check of S4 … S7 which the text asks
 * for, with T=4 it holds by construction.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdbool.h>
#include <string.h>

#include "scalar.h"
#include "rs.h"

#define MAX_T 4

typedef struct Fix {
    uint8_t exponent; /* power of x of the wrong symbol */
    uint8_t value;    /* what to add to it */
} Fix;

/* The generator vanishes at the eight roots, so the word and its remainder
 * have the same values there. */
static bool syndromes(const uint8_t *msg, const uint8_t *parity,
                      size_t stride, uint8_t s[UB_RS_PARITY])
{
    uint64_t rem = ub_rs_remainder(msg, stride);

    for (unsigned i = 0; i < UB_RS_PARITY; i++) {
        rem ^= (uint64_t)parity[i * stride] << 8 * (UB_RS_PARITY - 1 - i);
    }
    for (unsigned j = 0; j < UB_RS_PARITY; j++) {
        uint8_t root = ub_gf_pow(j), sum = 0;

        for (int i = UB_RS_PARITY - 1; i >= 0; i--) {
            sum = ub_gf_mul(sum, root) ^ (uint8_t)(rem >> 8 * i);
        }
        s[j] = sum;
    }
    return rem;
}

/* Error locator from the first 2t syndromes; returns its length. */
static unsigned locator(const uint8_t *s, unsigned t,
                        uint8_t lambda[2 * MAX_T + 1])
{
    uint8_t prev[2 * MAX_T + 1] = { 1 }, save[2 * MAX_T + 1];
    uint8_t prev_delta = 1;
    unsigned length = 0, shift = 1;

    memset(lambda, 0, 2 * MAX_T + 1);
    lambda[0] = 1;
    for (unsigned n = 0; n < 2 * t; n++, shift++) {
        uint8_t delta = s[n], scale;

        for (unsigned i = 1; i <= length; i++) {
            delta ^= ub_gf_mul(lambda[i], s[n - i]);
        }
        if (!delta) {
            continue;
        }
        memcpy(save, lambda, sizeof(save));
        scale = ub_gf_mul(delta, ub_gf_inv(prev_delta));
        for (unsigned i = shift; i <= 2 * t; i++) {
            lambda[i] ^= ub_gf_mul(scale, prev[i - shift]);
        }
        if (2 * length <= n) {
            length = n + 1 - length;
            memcpy(prev, save, sizeof(prev));
            prev_delta = delta;
            shift = 0;
        }
    }
    return length;
}

static uint8_t evaluate(const uint8_t *poly, unsigned terms, uint8_t x)
{
    uint8_t sum = 0;

    while (terms--) {
        sum = ub_gf_mul(sum, x) ^ poly[terms];
    }
    return sum;
}

/* Powers of x at which the locator has a root, of the 128 that exist; returns
 * how many.  Term i is multiplied by alpha^-i from one to the next. */
static unsigned roots(const uint8_t *lambda, unsigned length,
                      uint8_t exponent[MAX_T])
{
    uint8_t term[MAX_T + 1], ratio[MAX_T + 1];
    unsigned found = 0;

    for (unsigned i = 0; i <= length; i++) {
        term[i] = lambda[i];
        ratio[i] = ub_gf_pow(255 - i);
    }
    for (unsigned e = 0; e < UB_RS_N && found < length; e++) {
        uint8_t sum = 0;

        for (unsigned i = 0; i <= length; i++) {
            sum ^= term[i];
            term[i] = i ? ub_gf_mul(term[i], ratio[i]) : term[i];
        }
        if (!sum) {
            exponent[found++] = e;
        }
    }
    return found;
}

/* Positions and values; false when they are not `length` distinct ones. */
static bool solve(const uint8_t *s, const uint8_t *lambda, unsigned length,
                  Fix *fix)
{
    uint8_t omega[MAX_T], slope[MAX_T + 1] = { 0 }, exponent[MAX_T];

    if (roots(lambda, length, exponent) < length) {
        return false;
    }
    for (unsigned i = 0; i < length; i++) {
        omega[i] = 0;
        for (unsigned k = 0; k <= i; k++) {
            omega[i] ^= ub_gf_mul(s[i - k], lambda[k]);
        }
    }
    for (unsigned i = 1; i <= length; i += 2) {
        slope[i - 1] = lambda[i];
    }
    for (unsigned k = 0; k < length; k++) {
        unsigned e = exponent[k];
        uint8_t inverse = ub_gf_pow(255 - e);
        uint8_t denominator = evaluate(slope, length, inverse);

        if (!denominator) {
            return false;
        }
        fix[k].exponent = e;
        fix[k].value =
            ub_gf_mul(ub_gf_mul(ub_gf_pow(e),
                                evaluate(omega, length, inverse)),
                      ub_gf_inv(denominator));
    }
    return true;
}

int ub_rs_decode(uint8_t *msg, uint8_t *parity, size_t stride, unsigned t)
{
    uint8_t s[UB_RS_PARITY], lambda[2 * MAX_T + 1];
    Fix fix[MAX_T];
    unsigned length;

    if (!syndromes(msg, parity, stride, s)) {
        return 0;
    }
    t = t < MAX_T ? t : MAX_T;
    length = locator(s, t, lambda);
    if (!length || length > t || !solve(s, lambda, length, fix)) {
        return -1;
    }
    for (unsigned j = 0; j < UB_RS_PARITY; j++) {
        for (unsigned k = 0; k < length; k++) {
            s[j] ^= ub_gf_mul(fix[k].value, ub_gf_pow(j * fix[k].exponent));
        }
        if (s[j]) {
            return -1;
        }
    }
    for (unsigned k = 0; k < length; k++) {
        unsigned at = UB_RS_N - 1 - fix[k].exponent;

        *(at < UB_RS_K ? msg + at * stride :
          parity + (at - UB_RS_K) * stride) ^= fix[k].value;
    }
    return length;
}
