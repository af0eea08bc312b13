/*
 * The switch: what its files share.
 *
 *   control.c   what it takes and sends of CFG 5
 *   manage.c    scans and configuration messages
 *   options.c   its settings by name
 *   ethernet.c  Ethernet ports
 *   switch.c    ports, work, life
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

typedef struct SwitchEther {
    UbSwitch *sw;
    unsigned port;
    UbUboe *uboe;
} SwitchEther;

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
    uint64_t erred;    /* ports with errors that it does not know of */
    SwitchPort *port;
    SwitchEther *ether;
    CoreTimers timers;
    uint64_t dirty;    /* ports that have something to do */
    bool net_dirty, ether_dirty, shp_dirty, reset_pending, running;
    int64_t net_at;    /* when the net wants to run */
    int64_t mgmt_at;   /* when management does */
    int64_t ether_at;  /* when Ethernet ports do */
    int64_t now;
    uint64_t port_runs;
};

/* Ports that are UB links. */
static inline uint64_t switch_links(const UbSwitch *sw)
{
    return ~UINT64_C(0) >> (UB_SWITCH_MAX_PORTS - sw->conf.ports);
}

/* Who takes CFG 5. */
extern const UbNetUpper switch_control;

/* ---- manage.c ---- */
void switch_manage_init(UbSwitch *sw);
/* In each turn; when to call again.  It hears of slots again where sw->shp_dirty. */
int64_t switch_manage_run(UbSwitch *sw, int64_t now);

/* ---- ethernet.c ---- */
/* With the network layer.  False, and a sentence in *why. */
bool switch_ether_init(UbSwitch *sw, const char **why);
void switch_ether_free(UbSwitch *sw);
void switch_ether_reset(UbSwitch *sw);
/* In each turn; when to call again. */
int64_t switch_ether_run(UbSwitch *sw, int64_t now);
/* A packet of the network layer; ownership moves. */
void switch_ether_send(UbSwitch *sw, unsigned port, CorePacket *pkt);

#endif
