/*
 * What goes over the lanes of a port: symbols, in runs of the same length on
 * each lane.  The physical layer makes and takes them, a wire carries them.
 *
 * A symbol is one byte of one lane, bit 0 first in time.  Lanes are physical:
 * they count the wires of the port.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_LANES_H
#define UB_LANES_H

#include <stddef.h>
#include <stdint.h>

#define UB_LANES 8

/*
 * A run: the same number of symbols on each lane of `mask`.  Who appends to it
 * writes at lane[i] + n for each lane i, and grows n; the lanes of one run stay
 * the same until its owner starts a new one (mask = n = 0).
 */
typedef struct UbLaneRun {
    uint8_t *lane[UB_LANES];
    size_t cap;   /* symbols each lane buffer can hold */
    size_t n;     /* symbols in use */
    uint8_t mask; /* lanes in use */
} UbLaneRun;

/* Destroy the END of up to `most` AMCTLs among n symbols of a lane, so that the
 * receiver misses them.  Returns how many (hw/ub/phy/amctl.c). */
unsigned ub_lane_spoil_amctls(uint8_t *sym, size_t n, unsigned most);

#endif
