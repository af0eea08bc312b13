/*
 * Hot plug: what a manager does with the slots of a fabric (UB 2.0 appendix G).
 *
 * A button's message begins a while in which a second press calls it off; then what is
 * in the slot is let go of and loses power, or gets power and is waited for.  What an
 * event says is believed where the registers of the slot say the same.
 *
 * libc only; no clock: `now` is in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_FM_PLUG_H
#define UB_FM_PLUG_H

#include "ub/fm.h"

#define UB_FM_PLUG_MOST 1024 /* slots; more are not managed */

typedef enum UbFmSlotState {
    UB_FM_SLOT_EMPTY,    /* without power */
    UB_FM_SLOT_WORKS,    /* with power and a device */
    UB_FM_SLOT_LEAVING,  /* the button was pressed: with power, for a while */
    UB_FM_SLOT_COMING,   /* it was: without power, for a while */
    UB_FM_SLOT_STARTING, /* with power: the device is waited for */
} UbFmSlotState;

typedef struct UbFmSlot {
    UbId guid;           /* of the node that it is of */
    unsigned slot;
    unsigned first, last; /* ports */
    UbFmSlotState state;
    bool armed;          /* it was taken over, all of it */
    bool asked;          /* somebody pressed the button for what is under way */
    int64_t until;       /* when the state ends by itself */
} UbFmSlot;

typedef struct UbFmPlug {
    int64_t window;      /* ns in which a second press calls off the first */
    int64_t patience;    /* ns that a device has to show itself */
    /*
     * Let go of the nodes of @fm that @leaves marks: they are about to be unreachable,
     * or with @gone are it.  0, or the status why they cannot be.
     */
    int (*release)(void *opaque, UbFm *fm, const bool *leaves, bool gone);
    /* For logs: what happened to a slot.  May be NULL. */
    void (*tell)(void *opaque, const UbFmSlot *s, const char *what, int status);
    void *opaque;
    UbFmSlot *slot;
    unsigned slots;
} UbFmPlug;

/* 5 s, 10 s; the caller fills in the functions. */
void ub_fm_plug_init(UbFmPlug *plug);
void ub_fm_plug_free(UbFmPlug *plug);

/*
 * @fm was brought up: slots that are new, or whose node began anew, are taken over.
 * One without power gets it, and loses it again if nothing is in it.  Returns how many
 * registers were refused.
 */
unsigned ub_fm_plug_survey(UbFmPlug *plug, UbFm *fm, int64_t now);

/* A hot-plug message, MGMTETAH and PDU, came from the node at @scna.  False: it is
 * none, or of no slot that is known, or the registers say otherwise. */
bool ub_fm_plug_event(UbFmPlug *plug, UbFm *fm, int64_t now, uint32_t scna,
                      const uint8_t *data, unsigned len);

/* What time has brought about; when to call again, or INT64_MAX. */
int64_t ub_fm_plug_run(UbFmPlug *plug, UbFm *fm, int64_t now);

/*
 * Nodes that nobody reaches from here without the ports @first to @last of @node, into
 * @leaves of fm->nodes.  False: @node itself would be one.
 */
bool ub_fm_plug_behind(const UbFm *fm, unsigned node, unsigned first,
                       unsigned last, bool *leaves);

#endif
