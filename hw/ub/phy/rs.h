/*
 * RS(128,120) over GF(2^8) with 0x11D, first root alpha^0 (UB 2.0 §3.2.2.1,
 * §3.2.3.5).
 *
 * A code word is 120 message symbols m119 … m0 in sending order, then parity
 * p7 … p0.  A frame holds `codecs` words (1 or 2) whose symbols alternate,
 * word A first (§3.2.2.2).  Messages of a batch of frames lie back to back,
 * 120 * codecs bytes each, and so does their parity, 8 * codecs bytes each.
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

/* Compute the parity of n frames. */
void ub_rs_encode(const uint8_t *msg, uint8_t *parity, size_t n,
                  unsigned codecs);

/* Set bit c of bad[f] when word c of frame f is no code word, else clear it.
 * Returns the number of bad words. */
size_t ub_rs_check(const uint8_t *msg, const uint8_t *parity, size_t n,
                   unsigned codecs, uint8_t *bad);

/* Correct up to t (2 or 4) wrong symbols of one word in place: message symbol
 * i in sending order at msg[i * stride], parity symbol at parity[i * stride].
 * Returns symbols corrected, or -1 for "uncorrectable", the word then being
 * unchanged. */
int ub_rs_decode(uint8_t *msg, uint8_t *parity, size_t stride, unsigned t);

/* GF(2^8)/0x11D arithmetic: product, alpha^e, inverse (of a non-zero a). */
uint8_t ub_gf_mul(uint8_t a, uint8_t b);
uint8_t ub_gf_pow(unsigned e);
uint8_t ub_gf_inv(uint8_t a);

#endif
