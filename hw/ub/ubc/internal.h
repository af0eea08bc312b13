/*
 * The UB controller: what its files share.
 *
 *   ubc.c       BAR0 registers, life, events
 *   port.c      one port: PHY, data link layer, wire and rings joined
 *   port-regs.c  live values of the configuration space's port slices
 *   ring.c      descriptor rings
 *   save.c      migration
 *   space.c  the space itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_INTERNAL_H
#define HW_UB_UBC_INTERNAL_H

#include "ring.h"
#include "ub/ubc.h"
#include "ub/phy.h"

typedef struct UbPort {
    Ubc *ubc;
    unsigned index;
    UbPhy *phy;
    UbDll *dll;
    UbWire *wire;
    UbRing tx, rx;
    bool dll_up;
    bool retrain;      /* Retrain Link was written, Link_Active is awaited */
    bool back_pressure;
    bool tx_full;      /* the data link layer's queue refused the next one */
    bool wire_paused;  /* enough queued on the byte stream */
    uint64_t session;  /* of the peer, 0: none seen yet */
    int64_t restarted;  /* when a new session last restarted the port */
    int64_t restart_at; /* when the next one that waits will, or INT64_MAX */
    uint8_t peer_active, peer_rate; /* its lanes, as last told */
    uint32_t ctrl, event, event_mask;
    uint32_t status;   /* UBC_PORT_STATUS as last reported by an event */
    /* Packets that wait for a receive descriptor, oldest first. */
    CorePacket *held, **held_tail;
    uint64_t counter[UBC_CNT_NUM]; /* those that no layer below counts */
    uint32_t counter_hi;           /* latched by a read of a low half */
} UbPort;

struct Ubc {
    UbcConfig conf;
    UbcOps ops;
    void *opaque;
    unsigned ports;
    UbPort port[UBC_MAX_PORTS];
    CorePacketPool *pool;
    UbSpace *space;
    bool master;        /* bus mastering is on */
    bool running;       /* inside ubc_run() */
    bool kicked;        /* there: something came up behind its back */
    bool reset_pending; /* DEV_RST or UBC_CTRL_RESET was written */
    int64_t now;
    uint32_t event, event_mask, cfg_addr;
    uint32_t guest_errors, dma_errors;
};

/* ---- ubc.c ---- */
void ubc_kick(Ubc *ubc);
void ubc_guest_error(Ubc *ubc, int port, const char *what);
/* Note events of a port (UBC_PORT_EVENT_*) and interrupt if enabled. */
void ubc_port_event(UbPort *p, uint32_t events);
extern const UbRingOps ubc_ring_ops;

/* ---- port.c ---- */
const char *ub_port_init(UbPort *p, Ubc *ubc, unsigned index);
void ub_port_fini(UbPort *p);
/* Registers, rings and both layers as after power-on; the wire stays. */
void ub_port_reset(UbPort *p);
/* Port Reset of PORT_BASIC: link and data link layer only. */
void ub_port_link_reset(UbPort *p);
/* After migration: train anew with the registers' values. */
void ub_port_reload(UbPort *p);
int64_t ub_port_run(UbPort *p);
/* The byte stream is gone: electrical idle on all lanes. */
void ub_port_wire_down(UbPort *p);
/* It took some of what was queued. */
void ub_port_wire_sent(UbPort *p);
/* UBC_PORT_STATUS now. */
uint32_t ub_port_status(const UbPort *p);
uint64_t ub_port_counter(UbPort *p, unsigned counter);
uint32_t ub_port_read(UbPort *p, uint32_t reg);
void ub_port_write(UbPort *p, uint32_t reg, uint32_t value);
/* The status register may have changed: tell the guest. */
void ub_port_link_event(UbPort *p);

/* ---- port-regs.c ---- */
/* Fill in what is fixed: capabilities, indices, GUID. */
void ub_port_regs_init(Ubc *ubc);
/* Callbacks of the configuration space. */
extern const UbSpaceOps ubc_space_ops;
/* Data Link Configuration of the registers as the data link layer has it,
 * into `dll`. */
void ub_port_regs_dll(Ubc *ubc, unsigned port, UbDllConfig *dll);
/* Control registers of the PHY into its machine, after a reset. */
void ub_port_regs_apply(Ubc *ubc, unsigned port);
/* Carry out a Retrain Link that waits, if the state allows. */
void ub_port_regs_retrain(Ubc *ubc, unsigned port);
/* Errors for PORT_ERR_RECORD: bit n is C.(n + 1). */
void ub_port_regs_error(Ubc *ubc, unsigned port, uint32_t bits);

#endif
