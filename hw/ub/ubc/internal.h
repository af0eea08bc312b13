/*
 * The UB controller: what its files share.  The cellar first: each file may
 * call those above it in this list, and none below.
 *
 *   event.c    errors, events, kicks, counters, guest memory
 *   ring.c     descriptor rings
 *   raw.c      packets between a port and its rings
 *   space.c    the part of the configuration space that no port owns
 *   ubc.c      life
 *   regs.c     the map of BAR0
 *   save.c     migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_INTERNAL_H
#define HW_UB_UBC_INTERNAL_H

#include "ring.h"
#include "ub/port.h"
#include "ub/ubc.h"

/* What the controller has of one port: the link end, its rings, its events. */
typedef struct UbcEnd {
    Ubc *ubc;
    unsigned index;
    UbPort *port;
    UbRing tx, rx;
    bool tx_full;      /* the port refused the next packet of the ring */
    uint32_t event, event_mask;
    uint32_t status;   /* UBC_PORT_STATUS as last reported by an event */
    /* Packets that wait for a receive descriptor, oldest first. */
    CorePacket *held, **held_tail;
    uint64_t counter[UBC_CNT_NUM]; /* those that no floor below counts */
    uint64_t base[UBC_CNT_NUM]; /* what they show beside what was counted: they
                                 * begin anew, or go on from another machine */
    uint32_t counter_hi;           /* latched by a read of a low half */
} UbcEnd;

struct Ubc {
    UbcConfig conf;
    UbcOps ops;
    UbCaptureOps capture;
    void *opaque;
    unsigned ports;
    UbcEnd end[UBC_MAX_PORTS];
    CorePacketPool *pool;
    UbSpace *space;
    UbSlice *cfg0;
    bool master;        /* bus mastering is on */
    bool running;       /* inside ubc_run() */
    bool kicked;        /* there: something came up behind its back */
    bool reset_pending; /* DEV_RST was written */
    int64_t now;
    uint32_t event, event_mask, cfg_addr;
    uint32_t guest_errors, dma_errors;
};

/* ---- event.c ---- */
void ubc_kick(Ubc *ubc);
/* The guest broke the rule `what`; port is -1 where it names none. */
void ubc_guest_error(Ubc *ubc, int port, const char *what);
/* Note events of a port (UBC_PORT_EVENT_*) and interrupt if enabled. */
void ubc_end_event(UbcEnd *e, uint32_t events);
/* UBC_PORT_STATUS now; an event when it is another than before. */
uint32_t ubc_end_status(const UbcEnd *e);
void ubc_end_link_event(UbcEnd *e);
/* Ports with an enabled event, as UBC_EVENT has them. */
uint32_t ubc_events_of_ports(const Ubc *ubc);
/* A counter of a port, wherever it is counted. */
uint64_t ubc_end_counter(const UbcEnd *e, unsigned counter);
void ubc_end_counter_set(UbcEnd *e, unsigned counter, uint64_t value);
/* Guest memory, failures counted, and interrupts: what rings need. */
extern const UbRingOps ubc_ring_ops;

/* ---- raw.c ---- */
void ubc_raw_init(UbcEnd *e);
/* Rings disabled, what waited for a buffer is dropped. */
void ubc_raw_reset(UbcEnd *e);
void ubc_raw_drop(UbcEnd *e);
/* A packet of the port: into a buffer, or it waits for one. */
void ubc_raw_rx(UbcEnd *e, CorePacket *pkt);
/* Before the port runs: true, there is more than the budget allowed. */
bool ubc_raw_serve(UbcEnd *e);
/* Behind it. */
void ubc_raw_finish(UbcEnd *e);

/* ---- space.c ---- */
/* A configuration space for the controller's ports, what is fixed filled in. */
UbSpace *ubc_space_new(Ubc *ubc);
/* Another identity, for registers and ports. */
void ubc_set_guid(Ubc *ubc, const uint8_t guid[16]);

#endif
