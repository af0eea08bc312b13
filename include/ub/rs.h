/*
 * RS(128,120) over GF(2^8) with 0x11D, first root alpha^0 (UB 2.0 §3.2.2.1,
 * §3.2.3.5).
 *
 * A code word is 120 message symbols m119 … m0 in sending order, then parity
 * p7 … p0.  A frame holds `codecs` words (1 or 2) whose symbols alternate,
 * word A first: 128 * codecs bytes, the order in which they are dealt out to
 * lanes (§3.2.2.2, §3.2.2.3).  Frames of a batch lie back to back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_RS_H
#define UB_RS_H

#include <stddef.h>
#include <stdint.h>

#define UB_RS_N 128
#define UB_RS_K 120
#define UB_RS_PARITY 8

/* Compute the parity symbols of n frames in place. */
void ub_rs_encode(uint8_t *frames, size_t n, unsigned codecs);

/* Set bit c of bad[f] when word c of frame f is no code word, else clear it.
 * Returns the number of bad words. */
size_t ub_rs_check(const uint8_t *frames, size_t n, unsigned codecs,
                   uint8_t *bad);

/* Correct up to t (2 or 4) wrong symbols of one word in place, symbol i in
 * sending order at word[i * stride].  Returns symbols corrected, or -1 for
 * "uncorrectable", the word then being unchanged. */
int ub_rs_decode(uint8_t *word, size_t stride, unsigned t);

/* GF(2^8)/0x11D arithmetic: product, alpha^e, inverse (of a non-zero a). */
uint8_t ub_gf_mul(uint8_t a, uint8_t b);
uint8_t ub_gf_pow(unsigned e);
uint8_t ub_gf_inv(uint8_t a);

#endif
