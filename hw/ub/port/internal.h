/*
 * One link end: what its files share.
 *
 *   port.c     both layers and the wire joined, life
 *   errors.c   PORT_ERR_RECORD
 *   link.c     what is asked of the link: Retrain, another mode, its end
 *   regs.c     the PORT slices of the configuration space
 *   image.c    migration
 *   capture.c  pcapng files of what passes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_PORT_INTERNAL_H
#define HW_UB_PORT_INTERNAL_H

#include "ub/port.h"

enum { PORT_LOGS = 5 };

/* The port's slices of the configuration space. */
typedef struct PortRegs {
    UbSlice *basic, *link, *log, *eye, *qdlws, *lmsm_st;
    UbSlice *rate[UB_DATA_RATES]; /* NULL where the port has no such rate */
    uint64_t logged[PORT_LOGS];   /* LINK_LOG: seen up to here */
} PortRegs;

/* What waits for Link_Active. */
typedef enum PortWish {
    PORT_WISH_NONE,
    PORT_WISH_MODE,    /* the registers' encapsulation mode */
    PORT_WISH_RETRAIN, /* Retrain Link was written */
} PortWish;

struct UbPort {
    UbPortConfig conf;
    uint16_t vl_strict, vl_weight[UB_VLS];  /* of the floor above; 0: 1 */
    UbPortOps ops;
    void *opaque;
    UbSpace *space;
    PortRegs regs;
    unsigned index;
    UbPhy *phy;
    UbDll *dll;
    UbWire *wire;
    int64_t now;
    UbErrorRecord errors;
    bool enabled;
    bool powered;       /* by the slot that it is in */
    bool dll_up;
    PortWish link_wish;
    bool drop;          /* the data link layer stopped: LinkUp is to end */
    bool back_pressure;
    bool wire_paused;   /* enough queued on the byte stream */
    bool wire_full;     /* the byte stream took less than it was given */
    bool running;       /* inside ub_port_run() */
    bool kicked;        /* a run is asked for, the owner's or one more */
    uint64_t session;   /* of the peer, 0: none seen yet */
    int64_t restarted;  /* when a new session last restarted the port */
    int64_t restart_at; /* when the next one that waits will, or INT64_MAX */
    uint8_t peer_active, peer_rate; /* its lanes, as last told */
    uint32_t param[UB_BLOCK_FLITS]; /* Param_Exchg that came last */
    unsigned params;
    uint64_t link_downs, link_restarts, retrains, dll_errors;
};

/* ---- port.c ---- */
void port_kick(UbPort *p);
/* What the floor above says of VLs, with what the configuration says. */
void port_schedule(const UbPort *p, UbDllConfig *dll);

/* ---- link.c ---- */
/* Nothing is asked for any more. */
void port_link_forget(UbPort *p);
/* LinkUp: see that the encapsulation mode is the registers'. */
void port_link_up(UbPort *p);
/* Retrain Link was written; who says so kicks. */
void port_link_retrain(UbPort *p);
/* The data link layer came to a fatal error. */
void port_link_stopped(UbPort *p);
/* What a Retrain may do to the encapsulation mode. */
UbPhyModeGate port_link_gate(const UbPort *p);
/* The handshake before a change of the mode came to its end. */
void port_link_mode_end(UbPort *p, bool ready);
/* Carry out what was asked for, as far as the state allows. */
void port_link_run(UbPort *p);

/* ---- regs.c ---- */
/* Take the port's slices and fill in what is fixed or its power-on value. */
void port_regs_init(UbPort *p);
/* Data Link Configuration of the registers, as the data link layer has it, into
 * `dll`; NULL, or which of its values is wrong by itself. */
const char *port_regs_dll(UbPort *p, UbDllConfig *dll);
/* … and into the layer, which keeps what it had when that cannot be.  What does
 * not fit together is only named when it is about to be used: software writes
 * one register after the other. */
void port_regs_configure(UbPort *p, bool use);
/* Control registers of the PHY into its machine. */
void port_regs_apply(UbPort *p);
/* Link Disable is written. */
bool port_regs_disabled(const UbPort *p);
/* The LMSM has left Link_Active. */
void port_regs_left_active(UbPort *p);

/* ---- errors.c ---- */
/* Keep PORT_ERR_RECORD in @slice. */
void port_errors_init(UbPort *p, UbSlice *slice);
/* Record errors in PORT_ERR_RECORD, bit n is C.(n + 1), and report those that
 * are not masked. */
void port_error(UbPort *p, uint32_t bits);

#endif
