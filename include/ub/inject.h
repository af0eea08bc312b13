/*
 * Fault injection on the lanes of a UB link.
 *
 * Sits between the transmitter's PCS and the wire and damages symbols as a
 * bad channel would: it knows nothing of blocks or code words, only of lanes
 * and their symbol streams (an AMCTL is found by its END, as a receiver finds
 * it).  All randomness comes from one seed, so a run can be repeated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_INJECT_H
#define UB_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ub/lanes.h"

#define UB_INJECT_SKEW_MAX 2048 /* symbols */

/* Faults of one physical lane.  All zero: a good lane. */
typedef struct UbLaneFault {
    double ber;           /* probability that a bit error starts at a bit */
    uint16_t burst;       /* bits that flip from there on, 0 counts as 1 */
    uint32_t lose_amctl;  /* AMCTLs to destroy, counts down */
    uint16_t skew;        /* symbols by which the lane lags */
    uint8_t slip;         /* bits by which the lane lags, 0-7 */
    bool invert;          /* wires of the pair swapped */
    bool cut;             /* nothing arrives: electrical idle */
} UbLaneFault;

typedef struct UbInject UbInject;

UbInject *ub_inject_new(void);
void ub_inject_free(UbInject *inj);

/* Restart the random sequence. */
void ub_inject_seed(UbInject *inj, uint64_t seed);

/* Faults of physical lane `lane`, from the next symbol on.  False when a
 * value is out of range (ber not in [0, 1], skew, slip, lane). */
bool ub_inject_lane(UbInject *inj, unsigned lane, const UbLaneFault *fault);
const UbLaneFault *ub_inject_get(const UbInject *inj, unsigned lane);

/* Lane at the far end that each lane of this end is wired to; false unless a
 * permutation of 0-7.  Identity at first. */
bool ub_inject_map(UbInject *inj, const uint8_t to[UB_LANES]);

/* Whether there is any fault at all: else the caller skips _apply. */
bool ub_inject_active(const UbInject *inj);

/* The mask of lanes as the far end sees it: mapped, cut lanes left out. */
uint8_t ub_inject_mask(const UbInject *inj, uint8_t mask);

/*
 * Damage n symbols of each lane in `mask` in place.  sym[] is indexed by this
 * end's lanes; afterwards out[] holds, by the far end's lanes, the pointers to
 * send (NULL where nothing arrives).  A lagging lane carries what it still
 * holds of earlier symbols first, or noise when it has just come up.
 */
void ub_inject_apply(UbInject *inj, uint8_t mask,
                     uint8_t *const sym[UB_LANES], size_t n,
                     const uint8_t *out[UB_LANES]);

/* A lane went to electrical idle or came out of it: what it held is gone. */
void ub_inject_idle(UbInject *inj, uint8_t mask);

typedef struct UbInjectStats {
    uint64_t bits_flipped, amctls_lost;
} UbInjectStats;
const UbInjectStats *ub_inject_stats(const UbInject *inj);

#endif
