/*
 * Lane scrambler (UB 2.0 §3.2.2.4): additive, one register per lane, seed by
 * AMCTL.LID.  The document gives neither polynomial nor seeds, so both ends
 * must name the same entry of the one table behind these functions
 * (docs/decisions/ub-phy.rst).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_SCRAMBLER_H
#define UB_SCRAMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UB_SCRAMBLER_OFF,    /* symbols pass unchanged */
    UB_SCRAMBLER_PRBS23, /* x^23+x^18+1 (ITU-T O.150) */
    UB_SCRAMBLER_PCIE23, /* x^23+x^21+x^16+x^8+x^5+x^2+1 */
    UB_SCRAMBLERS,
};

/* "off", "prbs23", "pcie23"; NULL past the end.  -1 for an unknown name. */
const char *ub_scrambler_name(unsigned id);
int ub_scrambler_find(const char *name);

/* Key stream of one lane.  The window holds the last 23 vectors of key, from
 * which the next ones follow a vector at a time. */
#define UB_SCRAMBLER_VECTOR 64
#define UB_SCRAMBLER_WINDOW (23 * UB_SCRAMBLER_VECTOR)
typedef struct UbScrambler {
    uint8_t id;
    uint8_t lid;
    uint16_t pos;  /* place of the next byte in the window */
    uint8_t window[UB_SCRAMBLER_WINDOW] __attribute__((aligned(64)));
} UbScrambler;

/* Load the seed of a LID (0-8, see UB_AMCTL_LID_NULL). */
void ub_scrambler_seed(UbScrambler *s, unsigned id, unsigned lid);
/* Load any 23-bit state, bit 0 the first key bit. */
void ub_scrambler_load(UbScrambler *s, unsigned id, uint32_t state);
/* out[i] = in[i] ^ key; in == out is allowed.  The register advances. */
void ub_scrambler_xor(UbScrambler *s, uint8_t *out, const uint8_t *in,
                      size_t n);
/* Whether the next key byte begins a vector and the key follows from two
 * terms: what the fused inner loops ask for. */
bool ub_scrambler_aligned(const UbScrambler *s);
/* The second of those two delays. */
unsigned ub_scrambler_delay(const UbScrambler *s);

/* The seed table itself: 23-bit start state. */
uint32_t ub_scrambler_state(unsigned id, unsigned lid);

#endif
