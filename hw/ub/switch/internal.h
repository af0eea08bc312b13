/*
 * The switch: what its files share.
 *
 *   control.c  what it takes and sends of CFG 5
 *   manage.c   scans and configuration messages
 *   switch.c   ports, work, life
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_SWITCH_INTERNAL_H
#define HW_UB_SWITCH_INTERNAL_H

#include "core/timers.h"
#include "ub/mgmt.h"
#include "ub/switch.h"

typedef struct SwitchPort {
    UbSwitch *sw;
    unsigned index;
    UbPort *port;
    CoreTimer timer;
    CoreFault fault;
} SwitchPort;

struct UbSwitch {
    UbSwitchConfig conf;
    UbSwitchOps ops;
    UbCaptureOps capture;
    void *opaque;
    CorePacketPool *pool;
    UbSpace *space;
    UbSlice *cfg0;
    UbNet *net;
    UbMgmt *mgmt;
    UbShp *shp;
    unsigned from;     /* the port that management hears now */
    uint64_t told_up;  /* ports that it knows to be up */
    SwitchPort *port;
    CoreTimers timers;
    uint64_t dirty;    /* ports that have something to do */
    bool net_dirty, shp_dirty, reset_pending, running;
    int64_t net_at;    /* when the net wants to run */
    int64_t mgmt_at;   /* when management does */
    int64_t now;
    uint64_t port_runs;
};

/* Who takes CFG 5. */
extern const UbNetUpper switch_control;

/* ---- manage.c ---- */
void switch_manage_init(UbSwitch *sw);
/* In each turn; when to call again.  It hears of slots again where sw->shp_dirty. */
int64_t switch_manage_run(UbSwitch *sw, int64_t now);

#endif
