/*
 * Hot-plug slots of a controller or switch (UB 2.0 appendix G, §D.2.1): button, two
 * LEDs, power and presence of each, as registers, as messages to the UBFM, and as
 * what somebody in front of the machine sees and does.
 *
 * A slot has one port or several, which are plugged together.  Without power they do
 * not train, and nothing shows whether a device is there.
 *
 * One thread at a time; no clock: `now` is in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_SHP_H
#define UB_SHP_H

#include "core/image.h"
#include "ub/mgmt.h"
#include "ub/shp_hw.h"

typedef struct UbShpConfig {
    unsigned slots;      /* 0 to UB_SHP_SLOTS */
    struct {
        uint8_t first, last; /* ports */
        bool on;         /* has power from the start */
    } slot[UB_SHP_SLOTS];
    int64_t settle;      /* ns from power to its ports' work, at least 0 */
    int64_t hold;        /* ns that a byte stream may be away before its device is */
} UbShpConfig;

/* No slots; 100 ms, one second. */
void ub_shp_config_init(UbShpConfig *cfg);
/* NULL, or the rule that is broken, for a device of so many ports. */
const char *ub_shp_config_check(const UbShpConfig *cfg, unsigned ports);
/* "1" or "2-3", with "+" behind it: with power from the start.  The next slot; false:
 * it is none, or there are too many. */
bool ub_shp_config_add(UbShpConfig *cfg, const char *text);

typedef struct UbShpOps {
    /* The ports of a slot may train, or not any more.  Not from inside of a register
     * access. */
    void (*power)(void *opaque, int64_t now, unsigned port, bool on);
    /* ub_shp_run() has something to do. */
    void (*kick)(void *opaque);
    /* What ub_shp_info() says is another than the last time.  May be NULL. */
    void (*changed)(void *opaque, unsigned slot);
} UbShpOps;

typedef struct UbShp UbShp;

/* In the space of Entity 0, which outlives it and has its BASIC slices; @cfg was
 * checked.  With no slots there is no slice. */
UbShp *ub_shp_new(const UbShpConfig *cfg, UbSpace *space, UbMgmt *mgmt,
                  const UbShpOps *ops, void *opaque);
/* NULL is ignored. */
void ub_shp_free(UbShp *shp);
/* The space was reset. */
void ub_shp_reset(UbShp *shp, int64_t now);
/* When to call again, or INT64_MAX. */
int64_t ub_shp_run(UbShp *shp, int64_t now);

/* The byte stream of a port came or went. */
void ub_shp_wire(UbShp *shp, int64_t now, unsigned port, bool connected);

/* ---- In front of the machine ---------------------------------------------- */

typedef struct UbShpInfo {
    unsigned first, last;     /* ports */
    unsigned work_led, power_led;
    bool power;               /* it has power, and had it long enough to work */
    bool present;             /* as the registers show it */
    bool seated;              /* nobody has pulled the device out */
    bool heard;               /* the button does something */
} UbShpInfo;

/* False: there is no such slot. */
bool ub_shp_info(const UbShp *shp, unsigned slot, UbShpInfo *info);
unsigned ub_shp_slots(const UbShp *shp);
/* Press the button.  NULL, or why nothing happens. */
const char *ub_shp_press(UbShp *shp, int64_t now, unsigned slot);
/* Pull the device out, or put it in.  @surprise: though the slot has power.  NULL, or
 * why not. */
const char *ub_shp_seat(UbShp *shp, int64_t now, unsigned slot, bool in,
                        bool surprise);

/* Migration: registers are the space's, which is loaded before; byte streams come
 * again, and until then the device is taken to be there. */
void ub_shp_image(UbShp *shp, CoreImage *im);

#endif
