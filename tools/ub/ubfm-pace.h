/*
 * Lines that a service prints, some in a second at most: nodes that flood their
 * manager do not fill its log.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBFM_PACE_H
#define UBFM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define UBFM_PACE_LINES 32 /* in a second */

/* Zeroes: nothing was printed. */
typedef struct UbfmPace {
    int64_t since;      /* when this second began */
    unsigned lines;     /* printed in it */
    unsigned left_out;  /* that nobody was told of */
} UbfmPace;

/*
 * A line may be printed at @now (ns).  @left_out: how many were not since the last one
 * that was, to be told before this one.  False: it is left out, and counted.
 */
bool ubfm_pace(UbfmPace *p, int64_t now, unsigned *left_out);

#endif
