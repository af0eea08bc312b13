/*
 * Hot-plug slots of a fabric, as ubfm deals with them (UB 2.0 appendix G).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBFM_PLUG_H
#define UBFM_PLUG_H

#include "ub/fm_plug.h"
#include "ubfm-pace.h"
#include "ubfm-pool.h"

typedef struct UbfmPlug {
    UbFmPlug core;
    UbmsgDev *dev;
    const UbfmPool *pool;
    UbfmPace pace;  /* of what is printed of slots, errors and changes */
    bool acted;     /* something happened to a slot: the fabric may be another */
} UbfmPlug;

/* ns of a clock that does not jump. */
int64_t ubfm_now(void);

/* A line may be printed now; says before how many were left out. */
bool ubfm_may_print(UbfmPace *p);

/* @window: seconds in which a second press calls off the first. */
void ubfm_plug_init(UbfmPlug *p, UbmsgDev *d, const UbfmPool *pool,
                    unsigned window);
void ubfm_plug_free(UbfmPlug *p);
/* @fm was brought up.  Returns how many registers were refused. */
unsigned ubfm_plug_survey(UbfmPlug *p, UbFm *fm);
/* Events that came and times that are over; when to call again, or INT64_MAX. */
int64_t ubfm_plug_turn(UbfmPlug *p, UbFm *fm);

#endif
