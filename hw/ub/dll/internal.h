/*
 * Insides of a data link layer end, shared by its files.
 *
 * Below all others, called by them and calling none:
 *   report.c   state changes, errors, peer errors, kicks
 * One protocol, whose parts call each other:
 *   init.c     DLL_Param_Init and DLL_Credit_Init (UB 2.0 §4.2, §4.4)
 *   credit.c   credits and acknowledgements, both directions (§4.6, §4.7.3.2)
 *   vl.c       packet queues and choice of the next packet (§4.5)
 *   retry.c    Retry Buffer, RETRY_REQ_SM, RETRY_ACK_SM (§4.7.3)
 *   control.c  mode change, Lane_Manage, Param_Exchg (§4.3.3.6 … 8)
 *   tx.c       choice and building of the next block
 *   rx.c       delimiting and what received blocks do (§4.3.4)
 * Above them, and called by none:
 *   dll.c      configuration, life, physical layer events, timers, status
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_DLL_INT_H
#define UB_DLL_INT_H

#include <glib.h>

#include "ub/dll.h"

#define NEVER INT64_MAX

/* Where the receiver stands in the stream (§4.3.4.1). */
typedef struct Delim {
    bool in_pkt;        /* between First and Last Block of a DLLDP */
    bool control;       /* open block is a DLLCB */
    bool buffered;      /* open block counts for RcvPtr */
    uint8_t blocks;     /* of the DLLDP: PLENGTH */
    uint8_t last_flits;
    uint8_t index;      /* DLLDB under way or last complete */
    uint8_t blk_len;    /* flits of the open block */
    uint8_t blk_pos;    /* of those: arrived; 0 = between blocks */
} Delim;

/* Retry_Idle + copies of one Retry_Req or Retry_Ack as they arrive. */
typedef struct SetSeen {
    uint8_t run;        /* Retry flits in a row, while hunting */
    uint8_t type;       /* of the copies, 0 = only Idle so far */
    bool open;          /* Retry_Idle seen, no copy acted on yet */
    bool exact;         /* the run began with Retry_Idle */
    uint8_t left;       /* copies that follow the one acted on */
    uint8_t body[8];    /* bytes 4 … 11 of the copies */
} SetSeen;

/* A set being sent. */
typedef struct SetSend {
    uint8_t type; /* 0, UB_CB_RETRY_REQ or UB_CB_RETRY_ACK */
    uint8_t pos;  /* flits of it already out */
    uint8_t flit[UB_FLIT_SIZE]; /* the repeated one */
} SetSend;

/* Meta data per flit of the Retry Buffer: set at the first of a block. */
#define META_START 0x80
#define META_NON_CRC 0x40
#define META_FLITS 0x1f /* flits - 1 */

#define LM_QUEUE 8

/* What a reset forgets, but for buffers and packets. */
typedef struct UbDllVars {
    /* link */
    uint8_t state;      /* UbDllState */
    bool link_up, active, fatal;
    bool reached_normal; /* since link up */
    uint8_t mode;       /* UbBlockMode */
    uint32_t epoch;     /* counts link losses */

    /* init */
    bool handshake;     /* first Retry_Ack_Set seen */
    bool init_sent, init_seen;
    bool sd_sent, sd_seen;
    UbDllParams wish;   /* our Init Block on this link */
    UbDllParams agreed;
    uint16_t depth;       /* own Retry Buffer, as advertised */
    uint16_t peer_depth;  /* 0 until its Init Block came */
    uint16_t to_announce[UB_VLS]; /* initial credit still to be sent */

    /* credits to send with */
    bool shared;
    uint32_t crd_total;            /* granted in all */
    uint32_t crd_init[UB_VLS];
    uint32_t crd[UB_VLS];          /* exclusive in hand */
    uint32_t crd_share;            /* SHARE_CRD */
    uint16_t quota[UB_VLS];

    /* credits that the peer sends with */
    uint32_t granted[UB_VLS], granted_total;
    uint32_t held[UB_VLS], held_total; /* occupied or not yet returned */
    uint32_t pending[UB_VLS];          /* free, waiting to be returned */
    uint32_t pending_ack;              /* flits to acknowledge */
    uint8_t next_crd_vl;               /* round robin of CRD_VL */

    /* Retry Buffer */
    uint16_t wr_ptr, tail_ptr, rd_ptr, rcv_ptr;
    uint32_t num_free;
    uint32_t behind_data; /* flits stored since the last DLLDP, DEPTH at most */

    /* RETRY_REQ_SM, RETRY_ACK_SM */
    uint8_t req_state, ack_state;
    uint8_t num_retry, num_phy_reinit;
    bool ack_due;       /* send a Retry_Ack_Set before (more) replay */
    bool rest_due;      /* but first the rest of a block */
    uint16_t ack_ptr;   /* RcvPtr of the last request */
    uint8_t ack_num_retry;
    SetSend set;
    SetSeen seen;

    /* receive position; snap is the one that Retry_Acks repeat from */
    Delim delim, snap, resume;
    uint16_t snap_ptr;
    uint16_t skip;      /* buffered flits of a second replay to drop */
    bool rx_drop;       /* DLLDP under way is not delivered */
    bool rx_refund;     /* … but its cells go back */
    uint32_t rx_lph;
    uint32_t rx_cells;

    /* transmit position */
    uint8_t tx_index;   /* DLLDB of tx_pkt to build next */
    uint32_t tx_lph;
    UbPlength tx_shape;
    uint8_t tx_left, tx_pos; /* flits of the staged block still to go */
    uint16_t nob_debt;
    uint8_t next_vl;
    uint32_t vl_deficit[UB_VLS]; /* flits */
    uint32_t refused;   /* VLs that refused a packet */
    bool pressed;       /* back-pressure reported */

    /* control */
    uint8_t bmc;        /* UbBmcState */
    bool bmc_local;     /* we asked */
    bool bmc_peer_req;  /* the peer asked before our request was out, or asked
                           again while its acknowledgement was awaited */
    uint8_t lm_count;
    uint8_t lm[LM_QUEUE][8];
    uint8_t px_count;
    uint32_t px[UB_BLOCK_FLITS];
    bool neighbor_valid;
    uint16_t neighbor_port;
    uint8_t neighbor_guid[16];

    /* deadlines, ns, NEVER = off */
    int64_t wait_at, credit_at, keepalive_at, return_at, mode_at, block_at;
    bool keepalive_due;
    bool return_due;    /* what is to be returned waited long enough */
} UbDllVars;

typedef struct VlQueue {
    CorePacket *head, *tail;
    uint32_t count, bytes;
} VlQueue;

/* What delivered packets point to: they may outlive the end. */
typedef struct DllLoan {
    UbDll *dll; /* NULL: gone */
    unsigned packets;
} DllLoan;

struct UbDll {
    UbDllVars v;
    UbDllConfig cfg;
    UbDllOps ops;
    void *opaque;
    CorePacketPool *pool;
    int64_t now; /* of the call under way */

    uint8_t *ring; /* Retry Buffer, depth flits */
    uint8_t *meta; /* one byte per flit */
    uint32_t ring_size;

    VlQueue vlq[UB_VLS];
    uint16_t queued; /* VLs with packets */
    uint16_t owing;  /* VLs with credits that wait to be returned */
    CorePacket *tx_pkt, *rx_pkt;
    DllLoan *loan;
    bool delivering; /* a packet: who called ub_dll_rx() looks again anyway */
    uint8_t rx_block[UB_BLOCK_SIZE];
    uint8_t tx_block[UB_BLOCK_SIZE];
    UbDllStats stats;
};

static inline UbBlockFormat dll_format(const UbDll *d)
{
    return (UbBlockFormat) { d->v.mode, d->cfg.crc_cover };
}

/* May blocks move at all? */
static inline bool dll_running(const UbDll *d)
{
    return d->v.active && !d->v.fatal &&
           d->v.req_state <= UB_RETRY_REQ_WAIT;
}

static inline unsigned dll_cells(const UbDll *d, unsigned flits)
{
    unsigned cell = d->v.agreed.flow_ctrl_size;

    return (flits + cell - 1) / cell;
}

/* The longest CTRL_ACK_GRAIN_SIZE that a Retry Buffer of @depth flits works
 * with.  It stands still with 32 + @reserve flits free or less (retry_room()),
 * and moves on if what is in it then, at the peer all of it, is worth a unit of
 * acknowledgement. */
static inline unsigned dll_ack_grain_max(unsigned depth, unsigned reserve)
{
    return depth - UB_BLOCK_FLITS - reserve;
}

/* (a - b) in a ring of @size, for a and b inside it. */
static inline uint32_t ring_dist(uint32_t a, uint32_t b, uint32_t size)
{
    return a >= b ? a - b : a + size - b;
}

static inline uint32_t ring_add(uint32_t a, uint32_t n, uint32_t size)
{
    a += n;
    return size && a >= size ? a - size : a;
}

/* report.c */
void dll_set_state(UbDll *d, UbDllMachine machine, unsigned state,
                   const char *cause);
void dll_error(UbDll *d, UbDllError err, const char *what);
void dll_peer_error(UbDll *d, const char *what);
void dll_kick(UbDll *d);

/* init.c */
void init_start(UbDll *d);
bool init_wants_init_block(const UbDll *d);
unsigned init_block(UbDll *d, uint8_t *out);
bool init_wants_credit_block(const UbDll *d);
unsigned init_credit_block(UbDll *d, uint8_t *out);
void init_rx(UbDll *d, const uint8_t *block);
void init_credit_rx(UbDll *d, const UbCrdAck *ca);
void init_handshake_done(UbDll *d);
void init_sent(UbDll *d);

/* credit.c */
void credit_reset(UbDll *d);
void credit_carve(UbDll *d);
uint32_t credit_most(const UbDll *d, unsigned vl);
bool credit_enough(const UbDll *d, unsigned vl, unsigned cells);
void credit_take(UbDll *d, unsigned vl, unsigned cells);
void credit_untake(UbDll *d, unsigned vl, unsigned cells);
void credit_grant(UbDll *d, unsigned vl, unsigned cells, bool initial);
bool credit_rx_claim(UbDll *d, unsigned vl, unsigned cells);
void credit_rx_release(UbDll *d, unsigned vl, unsigned cells);
uint32_t credit_header_bits(UbDll *d);
unsigned credit_crd_ack_block(UbDll *d, uint8_t *out);
bool credit_wants_crd_ack(const UbDll *d, bool dlldp_next);
void credit_ack_rx(UbDll *d, uint32_t flits);
unsigned credit_ack_units(const UbDll *d);
bool credit_may_starve(const UbDll *d);
/* When credit goes back that waits for a DLLDP to carry it. */
void credit_poll(UbDll *d, int64_t now);

/* vl.c */
void vl_append(UbDll *d, CorePacket *pkt);
void vl_flush(UbDll *d);
bool vl_next(UbDll *d);
/* Whether the first packet of a VL waits for credits. */
bool vl_starved(const UbDll *d, unsigned vl);
void vl_done(UbDll *d);
void vl_undo(UbDll *d);

/* retry.c */
void retry_reset(UbDll *d);
void retry_resize(UbDll *d, uint32_t depth);
bool retry_room(const UbDll *d, unsigned flits, bool crd_ack);
void retry_store(UbDll *d, const uint8_t *block, unsigned flits);
void retry_event(UbDll *d, const char *cause);
void retry_quiesce(UbDll *d);
void retry_enter_req(UbDll *d, const char *cause);
void retry_enter_retrain(UbDll *d, bool by_phy, const char *cause);
void retry_hunt(UbDll *d, const uint8_t *flit, bool fec_ok);
bool retry_leftover(UbDll *d, const uint8_t *flit, bool fec_ok);
void retry_rx_block(UbDll *d, const uint8_t *flit);
void retry_set_broken(UbDll *d);
bool retry_tx_pending(const UbDll *d);
unsigned retry_tx(UbDll *d, uint8_t *out);
void retry_progress(UbDll *d);

/* control.c */
void control_reset(UbDll *d);
void control_rx(UbDll *d, const uint8_t *block, unsigned flits);
bool control_quiet(const UbDll *d);
bool control_only_acks(const UbDll *d);
unsigned control_mode_block(UbDll *d, uint8_t *out);
unsigned control_other_block(UbDll *d, uint8_t *out);
void control_active(UbDll *d, bool changed);
void control_advertise(UbDll *d);
void control_press(UbDll *d);

/* rx.c */
void rx_reset(UbDll *d);
void rx_rewind(UbDll *d);

#endif
