/*
 * RC Link: what the files of this room share.  From the cellar up: event, ring,
 * mac with credit and pfc, slots, rate, then sender, receiver, type2, type3,
 * and on top sched, regs, save and life in rclink.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RCLINK_INTERNAL_H
#define RCLINK_INTERNAL_H

#include <glib.h>

#include "core/bytes.h"
#include "core/fault.h"
#include "core/image.h"
#include "core/packet.h"
#include "core/serial.h"
#include "core/timers.h"
#include "rclink/format.h"
#include "rclink/rclink.h"
#include "rclink/rclink_hw.h"

enum {
    PSN_BITS = 12,
    PSN_MASK = 0xfff,
    PSN_HALF = 0x800,
    VCS = 8,
    RX1_ENTRIES = 1024,         /* of 64 bytes, each bank */
    RX1_ENTRY = 64,
    RX3_BYTES = 8192,
    RX3_ENTRY = 128,
    MULTI_CELLS = 2048,
    MULTI_CELL = 128,
    NO_SLOT = 0xffff,
    OUT_BYTES = 64 << 10,
    CACHE = 16,                 /* ring entries that are read at a time */
    CNP_PLACES = 8,
    MASK48_SHIFT = 48,
};
#define MASK48 ((UINT64_C(1) << MASK48_SHIFT) - 1)

/* Flows with a VC, a class and enables of their own; the order of the VC map. */
typedef enum RclFlow {
    FLOW_BANK0,
    FLOW_ACK = RCL_BANKS,
    FLOW_TYPE2,
    FLOW_TYPE3,
    FLOWS
} RclFlow;

/* ---- slots ---- */

typedef enum RclSlotState {
    SLOT_EMPTY,
    SLOT_WAIT_GRANT,
    SLOT_WAIT_ACK,
    SLOT_WAIT_CRD,              /* rate control, not CBFC */
    SLOT_STATES
} RclSlotState;

typedef struct RclSlot {
    uint8_t state, fack;
    bool queued;                /* among those that may be granted */
    uint16_t qp, psn, len, cookie;
    uint16_t qp_next;           /* of the same QP, by PSN */
    uint16_t prev, next;        /* of the same bank, by age */
    bool sent;                  /* once at least */
    uint64_t age;
} RclSlot;

/* What a QP owes its peer. */
enum { OWE_ACK = 1, OWE_NAK = 2, OWE_RNR = 4 };

/* Two lines of the cache: what every frame of either direction looks at, and
 * what only a sender does. */
typedef struct RclQp {
    uint16_t id;
    bool en, fatal;
    /* addresses */
    uint32_t dip, dest_qp;
    uint16_t sport;
    uint8_t tx_pkey, rx_pkey;
    uint64_t dmac;
    /* receiver */
    uint16_t epsn, tx_epsn;
    uint16_t echo;
    uint8_t owes;
    bool nak_sent, echo_valid, echo_fack;
    /* sender */
    bool rnr_hold, cc_mask, cc_locked;
    uint8_t retry, rnr;
    uint16_t tx_psn, una, tx_last, max_fwd;
    uint16_t first, last, slots;
    uint16_t mask_at;           /* place among the masked, from 1 */
    uint16_t nocnp_at;          /* place among those with bytes, from 1 */
    /* ---- the second line ---- */
    CoreTimer timer;            /* retry, or the end of rnr_hold */
    /* rate */
    uint64_t acc;
    uint64_t window;            /* that acc is of */
    uint32_t speed;
    uint32_t byte_cnt;
} __attribute__((aligned(64))) RclQp;

G_STATIC_ASSERT(offsetof(RclQp, timer) == 64 && sizeof(RclQp) == 128);

/* One timer heap for all; the QP around a timer. */
static inline RclQp *qp_of_timer(CoreTimer *t)
{
    return (RclQp *)((char *)t - offsetof(RclQp, timer));
}

/* QPs by number, a bit each. */
typedef struct RclSet {
    uint64_t word[RCL_QPS_MAX / 64];
    uint32_t count;
} RclSet;

/* ---- receive buffers ---- */

/* Credits that a frame took of a VC: the map may be another when they go back. */
typedef struct RclCredits {
    uint16_t n;
    uint8_t vc;
} RclCredits;

/* RCL_MD_CRC in an RclWait. */
enum { MD_BAD_FCS = RCL_MD_CRC >> 16 };

/* A packet that waits for the client; at the front of the packet's cb. */
typedef struct RclWait {
    uint16_t qp, sa;            /* of TYPE3: 0, MD_BAD_FCS */
    RclCredits credits;         /* to give back when it leaves */
} RclWait;

static inline RclWait *wait_of(CorePacket *pkt)
{
    return (RclWait *)pkt->cb;
}

typedef struct RclQueue {
    CorePacket *head, *tail;
    uint32_t count, level;      /* packets; entries or bytes */
} RclQueue;

/* ---- flow control ---- */

typedef struct RclVc {
    bool ready;                 /* set up since the last reset */
    uint32_t size_log;
    int32_t ovhd;
    uint32_t limit;
    /* 20 bits each: as the sender, freed as the peer tells; as the receiver */
    uint32_t used, freed;
    uint32_t r_used, r_freed;
    bool blocked;
} RclVc;

typedef struct RclCbfc {
    RclVc vc[VCS];
    uint8_t tell;               /* VCs whose freed is news */
    int64_t next_cf, next_cc;
    bool ran;                   /* any VC was set up */
} RclCbfc;

typedef struct RclPfc {
    uint8_t want, told;         /* classes that the peer must stop */
    int64_t refresh;
    int64_t until[8];           /* classes that the peer stopped */
    uint8_t paused;
    /* Since when without a break; those that are a storm.  Not part of the state. */
    int64_t since[8];
    uint8_t storm;
    bool over[FLOWS];           /* beyond XOFF and not yet below XON */
} RclPfc;

/* ---- host rings ---- */

typedef struct RclRing {
    uint64_t base, shadow;
    uint32_t size;              /* log2 */
    bool en, use_shadow, error;
    uint16_t head, tail;
    bool armed;
    uint16_t arm;
    bool moved;                 /* since the last publication */
    /* Not part of the state: entries that were read already, or events; those
     * from kept on are the driver's and not yet in memory. */
    uint16_t cache_first, cached, kept;
    uint8_t cache[CACHE * RCL_RING_ENTRY];
} RclRing;

typedef struct RclMdRing {
    uint64_t base;
    uint16_t size, head, tail;
    bool en, reset, stopped;
    uint16_t tail_up;
    /* descriptors already read, not part of the state */
    uint16_t cache_first, cached;
    uint8_t cache[CACHE * RCL_MD_BYTES];
} RclMdRing;

/* ---- decoded registers ---- */

typedef struct RclPort {
    RclLayout layout;
    uint8_t tc1[RCL_BANKS], tc_ack, tc2, tos2;
    uint8_t vc[FLOWS];
    bool cbfc;                  /* not stopped */
    bool cbfc_en[FLOWS];
    uint8_t uf[FLOWS];
    bool dynamic1;
    uint8_t vc_open;
    uint8_t rnr_en;
    bool pfc_tx[FLOWS], pfc_rx[FLOWS];
    uint32_t cmax_bytes[FLOWS];
    bool bank_rr, ack_time, multi, cnp_merge, ecn, overrun;
    int64_t window_ns;          /* of rate control, scaled */
    int64_t retry_ns;
    uint8_t retry_max;
} RclPort;

/* Registers that are only kept. */
typedef struct RclRegs {
    uint64_t rdma_en, xon1, mac, xon3, ip, vlan, retry, intr;
    uint64_t dest_ip2, dest_mac2, udp2, cfg, da2[8], tc;
    uint64_t dma_st0, dma_st1, dma_mask;
    uint64_t qp_id;
    uint64_t ctrl, cc_window, cnp_thr, nocnp, rnr_code, type2_rate;
    uint64_t intr_mask, flow_stop, err, event_mask, irq_info;
    uint64_t cbfc_cfg[VCS];
} RclRegs;

typedef struct RclCnp {
    uint16_t qp;
    bool used;
    int64_t at;
} RclCnp;

/* TYPE2: a slot, in a ring of 16. */
typedef struct RclSlot2 {
    uint16_t len, cookie;
    uint8_t group;
} RclSlot2;

struct Rclink {
    RclinkConfig cfg;
    RclPort port;
    RclRegs reg;
    int64_t now;
    bool link, running, kicked;
    bool wire_stopped;          /* the MAC gives no credit */
    bool mac_holds;             /* frames that the wire has not taken */
    bool link_news;             /* the driver last saw another link */
    RclCounters cnt;

    RclRing ring[RCL_RINGS];
    bool event_phase;

    /* TYPE1 */
    RclQp *qp;                  /* on lines of the cache within qp_room */
    void *qp_room;
    RclSlot *slot;
    uint8_t *payload;           /* of slots, payload_step bytes each */
    void *payload_room;
    uint32_t payload_step;
    uint16_t free_slot, free1;  /* list by qp_next */
    uint16_t queued;            /* slots that may be granted */
    uint64_t age;
    uint16_t bank_first[RCL_BANKS], bank_last[RCL_BANKS];
    uint8_t last_bank;
    CoreTimers timers;
    RclSet owe_ack, owe_cnp;
    uint16_t ack_at, cnp_send_at;       /* group of four that is next */
    uint16_t masked[RCL_QPS_MAX], masked_num;
    uint64_t mask_until;        /* no window before it opens one of them */
    uint16_t counted[RCL_QPS_MAX], counted_num;
    int64_t nocnp_next;
    RclCnp cnp[CNP_PLACES];
    /* The window of rate control that @now was last seen in. */
    int64_t window_start, window_ns;
    uint64_t window_no;

    /* TYPE2 */
    RclSlot2 slot2[RCL_OST2_MAX];
    uint8_t *payload2;
    uint8_t first2, used2;
    uint64_t acc2, window2;
    bool mask2;
    uint32_t multi_used;

    /* receive buffers: banks, TYPE2, TYPE3 */
    CorePacketPool *pool;
    RclQueue wait[FLOWS];

    /* TYPE3 */
    RclMdRing md_tx, md_rx;
    uint8_t *gather;            /* a frame over several MDs */
    uint32_t gathered;
    bool gather_open;
    bool gather_lost;           /* no frame until the next SF */
    uint32_t spread;            /* bytes of the first waiting frame in MDs */

    uint8_t turn;               /* whose packet is next: TYPE1, 2, 3 */
    RclCbfc cbfc;
    RclPfc pfc;

    CoreFault fault_out, fault_in;
    RclinkFaults faults;
    uint8_t *out;               /* frames of this turn */
    size_t out_len;
    /* Of the QP that sent last, no part of the state; NO_SLOT: of none. */
    RclStencil stencil;
    uint16_t stencil_qp;
    uint16_t stencil_next;      /* who sent last, without one */
    uint8_t *scratch, *scratch_out;
};

/* ---- event.c: errors, interrupts, events ---- */

void rcl_kick(Rclink *d);
/* The driver broke @rule. */
void rcl_guest_error(Rclink *d, const char *rule, const char *text,
                     uint64_t value);
/* Guest memory, through faults and counters. */
bool rcl_dma_read(Rclink *d, uint64_t addr, void *buf, size_t len);
bool rcl_dma_write(Rclink *d, uint64_t addr, const void *buf, size_t len);
/* The same where it lies, in @fn; false: it cannot be had so, and perhaps not at
 * all. */
bool rcl_dma_reach(Rclink *d, uint64_t addr, size_t len, bool write,
                   void (*fn)(void *ctx, void *data), void *ctx);
/* An event for the driver. */
void rcl_event_put(Rclink *d, uint8_t type, uint8_t flags, uint16_t qp,
                   uint32_t a, uint64_t b);

static inline void rcl_event(Rclink *d, uint8_t type, uint8_t flags,
                             uint16_t qp, uint32_t a, uint64_t b)
{
    if (d->reg.event_mask >> type & 1) {
        rcl_event_put(d, type, flags, qp, a, b);
    }
}

/* A bit of INTR_STATUS. */
void rcl_intr(Rclink *d, unsigned bit);
/* IRQ_INFO of TYPE1 and TYPE2. */
void rcl_irq1(Rclink *d, unsigned code, uint16_t qp);
void rcl_irq2(Rclink *d, unsigned code, unsigned subtype);
/* Bits of DMA_INTR_ST0 and ST1, with TYPE3's IRQ_INFO. */
void rcl_st0(Rclink *d, unsigned bit);
void rcl_st1(Rclink *d, unsigned bit);
/* A mask was opened: send what is pending. */
void rcl_intr_unmasked(Rclink *d, uint64_t was, uint64_t mask);
void rcl_st0_unmasked(Rclink *d, uint64_t was, uint64_t mask);

/* ---- ring.c: host rings ---- */

static inline uint16_t ring_mask(const RclRing *r)
{
    return (1u << r->size) - 1;
}

static inline unsigned ring_number(const Rclink *d, const RclRing *r)
{
    return r - d->ring;
}

/* The index that the device moves. */
static inline uint16_t ring_index(const Rclink *d, const RclRing *r)
{
    return ring_number(d, r) == RCL_RING_EVENT ? r->head : r->tail;
}

/* Entries that the device may take. */
static inline uint16_t ring_avail(const RclRing *r)
{
    return r->en && !r->error ? (uint16_t)(r->head - r->tail) : 0;
}

/* Read entries from the next on; the first of them, or NULL: the ring has
 * stopped. */
const uint8_t *rcl_ring_fill(Rclink *d, RclRing *r);

/* The next entry of a ring that the driver fills, or NULL: there is none, or
 * it could not be read and the ring has stopped. */
static inline const uint8_t *rcl_ring_peek(Rclink *d, RclRing *r)
{
    uint16_t in = r->tail - r->cache_first;

    return !ring_avail(r) ? NULL :
           in < r->cached ? r->cache + in * RCL_RING_ENTRY :
           rcl_ring_fill(d, r);
}

/* That entry is done. */
static inline void rcl_ring_take(RclRing *r)
{
    r->tail++;
    r->kept = r->tail;
    r->moved = true;
}

/* That entry is done, and its bytes 8 to 15 tell what came of it. */
static inline void rcl_ring_fulfil(RclRing *r, uint64_t done)
{
    uint16_t in = r->tail - r->cache_first;

    put_le64(r->cache + in * RCL_RING_ENTRY + 8, done);
    r->tail++;
    r->moved = true;
}

/* The next entry of the ring that the device fills. */
void rcl_ring_append(Rclink *d, RclRing *r, const uint8_t *entry);

/* Stop with an error. */
void rcl_ring_stop(Rclink *d, RclRing *r);
/* Tell of indices that moved. */
void rcl_ring_publish(Rclink *d);
uint32_t rcl_ring_read(Rclink *d, unsigned n, unsigned off);
void rcl_ring_write(Rclink *d, unsigned n, unsigned off, uint32_t val);
void rcl_ring_reset(RclRing *r);

/* ---- credit.c ---- */

/* Whether @flow may send as far as CBFC is concerned, which is on. */
bool rcl_credit_open(Rclink *d, RclFlow flow);
/* The contrary, for those who only ask: nothing is counted. */
bool rcl_credit_held(const Rclink *d, RclFlow flow);
void rcl_credit_sent(Rclink *d, RclFlow flow, uint32_t bytes);
/* A frame arrived: the credits to give back when it leaves the buffer. */
RclCredits rcl_credit_arrived(Rclink *d, RclFlow flow, uint32_t bytes);
void rcl_credit_freed(Rclink *d, RclCredits c);
void rcl_credit_setup(Rclink *d, uint8_t strobes);
/* Report flows with credits whose VC among @vcs has a limit that lets nothing pass. */
void rcl_credit_check(Rclink *d, uint8_t vcs);
/* VCs that were set up since the last reset. */
uint8_t rcl_credit_ready(const Rclink *d);
/* All VCs are closed until the next setup; rcl_wait_credits_reset() is this, with
 * what frames that wait had taken. */
void rcl_credit_reset(Rclink *d);
/* An update from the peer. */
void rcl_credit_rx(Rclink *d, const uint8_t *p, size_t len);
/* Updates that are due; the next time. */
int64_t rcl_credit_run(Rclink *d);
uint32_t rcl_credit_left(const RclVc *vc);
/* TYPE2's space in the MAC. */
bool rcl_multi_open(Rclink *d);
void rcl_multi_sent(Rclink *d, uint32_t bytes);
void rcl_multi_returned(Rclink *d);

/* ---- pfc.c ---- */

/* Whether @flow may send as far as PFC is concerned. */
bool rcl_pfc_open(const Rclink *d, RclFlow flow);
void rcl_pfc_rx(Rclink *d, const uint8_t *p, size_t len);
/* The buffer of @flow has this many entries now. */
void rcl_pfc_level(Rclink *d, RclFlow flow, uint32_t entries);
/* What the peer must stop, anew from levels, pins and enables. */
void rcl_pfc_update(Rclink *d);
int64_t rcl_pfc_run(Rclink *d);
void rcl_pfc_reset(Rclink *d);

/* ---- flows: CBFC or PFC, which exclude each other (RC Link §12.5) ---- */

/* Whether the port has @flow: a port of fewer banks has fewer. */
static inline bool rcl_flow_there(const Rclink *d, RclFlow flow)
{
    return flow >= FLOW_ACK || flow < d->cfg.vcs;
}

/* Whether the client's pin stops @flow, a bank or TYPE2. */
static inline bool rcl_flow_stopped(const Rclink *d, RclFlow flow)
{
    if (flow == FLOW_TYPE2) {
        return d->reg.flow_stop & RCL_STOP_TYPE2;
    }
    /* Pins of banks have enables at XON_THR_RDMA[49:46]. */
    return d->reg.flow_stop & d->reg.xon1 >> 46 & RCL_STOP_BANK0 << flow;
}

static inline bool rcl_flow_open(Rclink *d, RclFlow flow)
{
    return d->port.cbfc ? rcl_credit_open(d, flow) :
           !d->pfc.paused || rcl_pfc_open(d, flow);
}

/* Whether flow control is why @flow does not send. */
static inline bool rcl_flow_held(const Rclink *d, RclFlow flow)
{
    return d->port.cbfc ? rcl_credit_held(d, flow) : !rcl_pfc_open(d, flow);
}

/* @bytes of @flow were sent, with FCS. */
static inline void rcl_flow_sent(Rclink *d, RclFlow flow, uint32_t bytes)
{
    if (d->port.cbfc) {
        rcl_credit_sent(d, flow, MAX(bytes, RCL_FRAME_MIN + RCL_FCS_BYTES));
    }
}

/* They arrived: the credits to give back when they leave the buffer. */
static inline RclCredits rcl_flow_arrived(Rclink *d, RclFlow flow,
                                          uint32_t bytes)
{
    return d->port.cbfc ? rcl_credit_arrived(d, flow, bytes)
                        : (RclCredits) { 0 };
}

/* ---- mac.c ---- */

enum {
    MAC_KEEP = 14,              /* bytes that faults leave alone */
    MAC_CONTROL_HEAD = 16,
    MAC_OP_PFC = 0x0101,        /* IEEE 802.1Qbb */
    MAC_OP_CBFC = 0xcbfc,       /* ours: docs/specs/rclink.rst */
};

/* Whether a frame can be handed over now. */
static inline bool mac_ready(const Rclink *d)
{
    return d->link && !d->wire_stopped;
}

/* Where the next frame is to be built: RCL_WIRE_MAX bytes. */
uint8_t *rcl_mac_frame(Rclink *d);
/* It is there, with @len bytes. */
void rcl_mac_send(Rclink *d, size_t len);
/* Hand over what was sent. */
void rcl_mac_flush(Rclink *d);
/* A MAC control frame of @len bytes behind its opcode. */
void rcl_mac_control(Rclink *d, uint16_t opcode, const uint8_t *body,
                 size_t len);
/* Frames that go out and that faults held back; the next time. */
int64_t rcl_mac_run(Rclink *d);
/* What faults of one direction did, into the counters. */
void rcl_fault_count(Rclink *d, CoreFault *f);
/* Time in the unit of timestamps. */
static inline uint16_t mac_stamp(const Rclink *d)
{
    return d->now / d->cfg.time_scale;
}

/* @us microseconds of the document. */
static inline int64_t scaled_us(const Rclink *d, uint64_t us)
{
    return (int64_t)us * 1000 * d->cfg.time_scale;
}

/* What TYPE1's frames of @q and @flow have in common, into @h. */
static inline void rcl_head_fill(const Rclink *d, const RclQp *q,
                                 RclFlow flow, uint8_t tc, RclHead *h)
{
    h->kind = RCL_TYPE1;
    h->da = q->dmac;
    h->tc = h->tos = tc;
    h->pri = d->port.vc[flow];
    h->dip = q->dip;
    h->sport = q->sport;
    h->dport = RCL_UDP_PORT;
    h->rh.pkey = q->tx_pkey;
    h->rh.qp = q->dest_qp & 0x1fff;
}

/* ---- slots.c ---- */

/* QP @n, if there is one, is looked at soon. */
static inline void rcl_qp_soon(const Rclink *d, uint32_t n)
{
    if (n < d->cfg.qps) {
        __builtin_prefetch(&d->qp[n]);
        __builtin_prefetch(&d->qp[n].timer);
    }
}

static inline uint8_t bank_of(const Rclink *d, uint16_t qp)
{
    return qp & (d->cfg.vcs - 1);
}

static inline uint8_t *slot_payload(Rclink *d, uint16_t i)
{
    return d->payload + (size_t)i * d->payload_step;
}

void rcl_slots_init(Rclink *d);
/* A free slot for a packet of @q, the last of its QP, that is still to be sent or
 * @sent already: NO_SLOT if there is none. */
uint16_t rcl_slot_fill(Rclink *d, RclQp *q, bool sent);
/* Free the first slot of @q. */
void rcl_slot_free_first(Rclink *d, RclQp *q, uint32_t credit);
/* Put in or out of arbitration what @q's masks say. */
void rcl_slots_mask(Rclink *d, RclQp *q);
/* Slot @i was sent. */
void rcl_slot_granted(Rclink *d, uint16_t i);
/* All sent slots of @q wait for a grant again. */
void rcl_slots_rewind(Rclink *d, RclQp *q);
/* The oldest that may be granted, in a bank in @banks, none of which is empty;
 * NO_SLOT: none. */
uint16_t rcl_slot_next(const Rclink *d, unsigned banks);

/* ---- rate.c ---- */

void rcl_rate_sent(Rclink *d, RclQp *q, uint32_t bytes);
void rcl_rate_sent2(Rclink *d, uint32_t bytes);
/* A new rate, or a new window for all. */
void rcl_rate_set(Rclink *d, RclQp *q, uint32_t speed);
void rcl_rate_set2(Rclink *d, uint32_t speed);
void rcl_rate_set_window(Rclink *d, int64_t ns);
/* Migration: bring all counts up to now; and where time is another. */
void rcl_rate_settle_all(Rclink *d);
void rcl_rate_forget_windows(Rclink *d);
/* Masks that windows opened; the end of the next window that matters. */
int64_t rcl_rate_run(Rclink *d);
/* CNPs: whether one for @qp is told now; the bytes sent without. */
bool rcl_cnp_pass(Rclink *d, uint16_t qp);
void rcl_nocnp_sent(Rclink *d, RclQp *q, uint32_t bytes);
void rcl_nocnp_cleared(Rclink *d, RclQp *q);
int64_t rcl_nocnp_run(Rclink *d);

/* ---- sender.c: TYPE1 requests ---- */

/* Send one packet, if one may be. */
bool rcl_sender_turn(Rclink *d);
/*
 * Where no packet waits: send what the next entry of TX_S is about at once.  False:
 * there is none, or it has to wait in the buffer, as those do that take turns.
 */
bool rcl_sender_through(Rclink *d);
void rcl_sender_ack(Rclink *d, RclQp *q, const RclRh *rh);
void rcl_sender_timer(Rclink *d, RclQp *q);
/* An answer to @q has a time-out, if there is any and one is due. */
void rcl_sender_await(Rclink *d, RclQp *q);
void rcl_sender_enable(Rclink *d, RclQp *q, bool en);
/* Report a peer's QP in another bank (RC Link §12.5). */
void rcl_sender_check(Rclink *d, const RclQp *q);
/* Give all slots back. */
void rcl_sender_free(Rclink *d, RclQp *q, uint32_t credit);
/* Take entries of TX_S until @enough packets may be sent; whether there was
 * any. */
bool rcl_tx_fetch(Rclink *d, unsigned enough);

/* ---- receiver.c: TYPE1, the other direction ---- */

void rcl_receiver_rx(Rclink *d, const RclView *v, uint32_t bytes);
/*
 * The same for a packet that comes in order and can go to the client at once, and
 * whose ICRC nobody has looked at: @right tells.  The payload is copied meanwhile; a
 * buffer is the driver's when its entry is done, so what a bad frame leaves in it
 * is nobody's.  False: it is not such a one.
 */
bool rcl_receiver_through(Rclink *d, const RclView *v, uint32_t bytes,
                          bool *right);
/* Send an ACK, NAK or CNP that is owed and may be. */
bool rcl_receiver_turn(Rclink *d);
void rcl_receiver_forget(Rclink *d, RclQp *q);
/* CNPs owed, ACKs owed. */
static inline bool rcl_receiver_owes(const Rclink *d)
{
    return d->owe_ack.count || d->owe_cnp.count;
}

void rcl_set_add(RclSet *s, uint32_t n);
void rcl_set_remove(RclSet *s, uint32_t n);

/* ---- type2.c ---- */

bool rcl_type2_turn(Rclink *d);
void rcl_type2_rx(Rclink *d, const RclView *v, uint32_t bytes);
/* A packet came that is longer than any may be (RC Link §12.12). */
void rcl_type2_oversize(Rclink *d);
void rcl_type2_reset(Rclink *d);

/* ---- wait.c: receive buffers and RX_M ---- */

/* Entries that a packet takes, and there are. */
uint32_t rcl_wait_entries(RclFlow flow, size_t len);
uint32_t rcl_wait_depth(const Rclink *d, RclFlow flow);
/* Whether a packet of @len bytes for @flow has a place. */
bool rcl_wait_room(const Rclink *d, RclFlow flow, size_t len);
/* Hand a packet to the client, now or later. */
void rcl_wait_deliver(Rclink *d, RclFlow flow, uint16_t qp, uint64_t sa,
                  const uint8_t *data, size_t len, RclCredits credits);
/* Whether a packet for @flow can be handed over without waiting; then its payload
 * is, and @right tells of its ICRC. */
bool rcl_wait_through(Rclink *d, RclFlow flow, const RclView *v, bool *right);
/* It was right: it is the client's. */
void rcl_wait_through_done(Rclink *d, RclFlow flow, const RclView *v);
/* The client may have room again. */
void rcl_wait_run(Rclink *d);
/* The MAC's CBFC is reset: nobody counts the credits of what waits any more. */
void rcl_wait_credits_reset(Rclink *d);
/* Drop what is in the buffer of @flow. */
void rcl_wait_drop(Rclink *d, RclFlow flow);
/* To the end of a buffer, from its front. */
void rcl_wait_push(Rclink *d, RclFlow flow, RclWait w, const uint8_t *data,
               size_t len);
void rcl_wait_pop(Rclink *d, RclFlow flow);

/* ---- type3.c ---- */

static inline bool rcl_type3_pending(const Rclink *d)
{
    const RclMdRing *r = &d->md_tx;

    return r->en && !r->reset && !r->stopped && r->head != r->tail;
}

bool rcl_type3_turn(Rclink *d);
/* A frame arrived; @flags is 0 or MD_BAD_FCS. */
void rcl_type3_rx(Rclink *d, const uint8_t *frame, size_t len, uint16_t flags,
                  RclCredits credits);
void rcl_type3_run(Rclink *d);
/* Indices, BA, SIZE and CTRL, as written by the driver. */
void rcl_md_head(Rclink *d, RclMdRing *r, uint32_t head);
void rcl_md_control(Rclink *d, uint32_t val);
uint32_t rcl_md_control_read(const Rclink *d);
void rcl_type3_reset_tx(Rclink *d);
void rcl_type3_reset_rx(Rclink *d);

/* ---- sched.c: frames in, packets out ---- */

/* Frames that come and that faults held back; the next time. */
int64_t rcl_rx_run(Rclink *d);
/* Send @packets at most; false: nothing is left that could be sent now. */
bool rcl_tx_turn(Rclink *d, unsigned packets);

/* ---- regs.c ---- */

void rcl_regs_reset(Rclink *d);
void rcl_regs_decode(Rclink *d);
/* Whether no register has a bit that it has not. */
bool rcl_regs_right(Rclink *d);
/* TX and RX idle, TX_WAIT_MAC_CRD and so on. */
uint64_t rcl_regs_status(const Rclink *d);

/* ---- rclink.c ---- */

void rcl_life_reset(Rclink *d, uint32_t what);

#endif
