/*
 * eBCH-16: BCH(15,5) with one even parity bit (UB 2.0 §3.2.4.1).
 *
 * The 32 code words come from the generator polynomial, not from Table 3-5,
 * so that damage in a copy of the table cannot reach the lane.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "amctl.h"

#define EBCH_GENERATOR 0x537 /* x^10+x^8+x^5+x^4+x^2+x+1 */
#define EBCH_CHECK 10        /* degree of the generator */
#define EBCH_WORDS 32

uint16_t ub_ebch_encode(unsigned payload)
{
    unsigned rem = (payload & (EBCH_WORDS - 1)) << EBCH_CHECK;
    unsigned word = rem;

    for (int bit = EBCH_CHECK + 4; bit >= EBCH_CHECK; bit--) {
        if (rem & 1u << bit) {
            rem ^= EBCH_GENERATOR << (bit - EBCH_CHECK);
        }
    }
    word |= rem;
    return word << 1 | __builtin_parity(word);
}

/*
 * Figure 3-8 allows up to three wrong bits among the 15 of the BCH word, with
 * the parity bit right or wrong: bit 0 takes no part in the choice.  Words
 * are at distance 7 or more in those 15 bits, so the nearest one within 3 is
 * the only one.
 */
int ub_ebch_decode(uint16_t word, unsigned *flips)
{
    for (unsigned cw = 0; cw < EBCH_WORDS; cw++) {
        uint16_t diff = word ^ ub_ebch_encode(cw);

        if (__builtin_popcount(diff >> 1) <= 3) {
            if (flips) {
                *flips = __builtin_popcount(diff);
            }
            return cw;
        }
    }
    return -1;
}

/* Original bit that each lane bit takes, bit 15 (Byte_A bit 7) first. */
static const uint8_t lane_bit[16] = {
    8 + 4, 8 + 3, 8 + 2, 8 + 7, 8 + 5, 8 + 1, 8 + 6, 8 + 0,
    7, 5, 4, 3, 2, 1, 6, 0,
};

uint16_t ub_ebch_to_lane(uint16_t word)
{
    uint16_t lane = 0;

    for (unsigned i = 0; i < 16; i++) {
        lane = lane << 1 | (word >> lane_bit[i] & 1);
    }
    return lane;
}

uint16_t ub_ebch_from_lane(uint16_t lane)
{
    uint16_t word = 0;

    for (unsigned i = 0; i < 16; i++) {
        word |= (lane >> (15 - i) & 1) << lane_bit[i];
    }
    return word;
}
