/*
 * Transport core: its own structures and the calls between its files.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_TRANSPORT_INTERNAL_H
#define RDMA_TRANSPORT_INTERNAL_H

#include <glib.h>

#include "core/table.h"
#include "core/timers.h"
#include "rdma/core.h"
#include "rdma/fault.h"
#include "rdma/objects.h"
#include "rdma/roce.h"

#define FRAME_MAX     (ROCE_NET_BYTES + ROCE_HDR_MAX + RDMA_MAX_MTU + \
                       ROCE_ICRC_BYTES + 64)
#define TX_BATCH      64
#define LOOP_FRAMES   512
#define NEIGH_SLOTS   256
#define MCAST_GROUPS  1024
#define POLL_PACKETS  256       /* per rdma_poll() */
#define QP_QUANTUM    32        /* packets of one QP in its turn */
#define FLUSH_QUANTUM 256       /* flushed work requests in one turn */
#define NEVER         CORE_NEVER
/* PSNs under way at most (IB 1.3 §9.7.2). */
#define PSN_WINDOW    (1u << 23)

#define SEC_NS        INT64_C(1000000000)
#define ARP_RETRY_NS  (SEC_NS / 10)
#define ARP_TRIES     5
#define ARP_FAILED_NS SEC_NS
/* No transport timer runs longer, whatever it is multiplied by. */
#define TIMER_MAX_NS  (SEC_NS * 1000000)
/* A QP in ERR is looked at no longer after its last work was flushed. */
#define ERR_REST_NS   SEC_NS

/* ---- objects ---- */

/* A CQ or an SRQ; the private area is 8-byte aligned. */
typedef struct Numbered {
    uint32_t num;
    uint64_t priv[];
} Numbered;

enum ReplyKind { REPLY_NONE, REPLY_READ, REPLY_ATOMIC };

/* A Read or atomic of the peer: to be answered, or kept for a repetition. */
typedef struct RdReply {
    uint8_t kind;
    bool due;                   /* waits to be answered, */
    bool again;                 /* and was answered before */
    uint32_t first_psn, last_psn;
    uint32_t start_psn;         /* a repetition may ask for its end alone */
    uint32_t psn;               /* next response */
    uint64_t va;                /* of first_psn */
    uint32_t rkey, len;
    uint64_t orig;              /* atomic: value before */
    uint32_t msn;
} RdReply;

enum WqeState {
    WQE_NEW,            /* decoded, no packet sent */
    WQE_SENDING,
    WQE_SENT,           /* all packets sent once */
    WQE_DONE,           /* completes with its status when it is the oldest */
};

typedef enum Stall {
    STALL_NONE, STALL_SWPB, STALL_RPB, STALL_REB, STALL_WQE, STALL_NEIGH,
    STALL_WIRE, STALL_NUM
} Stall;

/* What lies in the packet buffers. */
typedef struct Holdings {
    uint32_t swpb_packets, swpb_units, rpb_packets, reb_entries;
} Holdings;

/* Frame headers up to UDP, built once for each address. */
typedef struct Path {
    bool valid;
    bool loop;                  /* the address is our own */
    bool mcast;
    uint32_t gen;               /* of the neighbour table and port */
    uint32_t dip;
    uint64_t ip_sum;            /* of the header without length, id */
    uint8_t hdr[ROCE_NET_BYTES];
} Path;

typedef struct Requester {
    RdmaWqe *head, *tail;       /* oldest .. newest unfinished */
    RdmaWqe *cur;               /* not fully sent, or NULL */
    uint32_t npsn;              /* next PSN to send (NPSN) */
    uint32_t upsn;              /* oldest PSN not acknowledged (UPSN) */
    bool more;                  /* fetch_send may have another WQE */
    bool bad;                   /* a failed WQE is queued: stop fetching */
    bool retx;                  /* repeating [retx_psn, retx_end) */
    uint32_t retx_psn, retx_end;
    bool retx_marked;           /* loss at upsn has been acted on */
    bool rnr_wait;
    Holdings held;              /* its part of the packet buffers */
    uint8_t retry_left, rnr_left;
    uint8_t since_ackreq;
    bool drained;               /* SQD reached and told */
} Requester;

typedef struct Responder {
    uint32_t epsn;              /* PSN expected */
    uint32_t msn;
    bool nak_sent;              /* silent until epsn arrives */
    bool last_words;            /* answers still go out in state ERR */
    bool in_msg;                /* between First and Last */
    uint16_t msg_flags;         /* ROCE_F_SEND or ROCE_F_WRITE */
    bool have_wqe;
    bool drop_msg;              /* UC: rest of a damaged message */
    bool comm_est;
    uint32_t got;               /* bytes of the message so far */
    uint64_t va;                /* write address table (RDMA §4.4.3) */
    uint32_t rkey, len;
    bool ack_due;
    uint8_t ack_syndrome;
    uint32_t ack_psn;
    RdReply *reply;             /* ring, NULL until needed */
    uint32_t reply_num;         /* its size, a power of two */
    /* Free running places in it: */
    uint32_t reply_head;        /* first that is due, or reply_tail */
    uint32_t reply_tail;        /* next free */
    uint32_t reply_fresh;       /* first never answered */
    RdmaRecvWqe wqe;
} Responder;

struct RdmaQp {
    RdmaDev *dev;
    uint32_t qpn;
    RdmaQpAttr attr;            /* PSNs in it are stale: req, resp */
    uint32_t mtu;
    RdmaQp *link_prev, *link_next;  /* run or stall list */
    bool on_run;
    Stall stall;
    bool flush_recv;
    CoreTimer timer;            /* the earliest of: */
    int64_t loss_at, rnr_at, repoll_at;
    int64_t repoll_ns;          /* in ERR: until the next look, */
    int64_t repoll_end;         /* no more of them after this */
    Path path;
    uint32_t peer_gen;          /* as in Path */
    uint32_t peer_ip;           /* who may send to a connected QP; 0 = none */
    Requester req;
    Responder resp;
    uint64_t priv[];
};

typedef struct QpList {
    RdmaQp *first, *last;
} QpList;

typedef enum NeighState {
    NEIGH_FREE, NEIGH_ASKING, NEIGH_KNOWN, NEIGH_FAILED,
} NeighState;

typedef struct Neigh {
    uint32_t ip;
    NeighState state;
    uint8_t mac[6];
    uint8_t tries;
    int64_t at;                 /* next question, or end of FAILED */
} Neigh;

typedef struct McastGroup {
    uint8_t gid[16];
    uint32_t ip;
    GArray *qpns;
} McastGroup;

typedef struct RxPacket {
    const uint8_t *eth, *ip, *bth, *payload;
    const RoceOp *op;
    uint32_t paylen;
    uint8_t opcode;
    uint32_t dqpn, psn;
    uint32_t sip, dip;
    bool mcast;
    uint16_t pkey_index;
    const uint8_t *mgid;        /* multicast: the group */
} RxPacket;

struct RdmaDev {
    RdmaConfig cfg;
    RdmaCounters cnt;
    RdmaPort port;
    int64_t now;

    CoreTable qps, cqs, srqs;
    RdmaMr **mr_page;           /* pages of CORE_TABLE_PAGE regions */
    uint32_t mr_mask;
    RdmaQp *alias[2];

    QpList run, stalled[STALL_NUM];
    CoreTimers timers;

    RdmaWqe *wqe_free;
    RdmaWqe scratch;            /* to flush what was never started */
    GPtrArray *wqe_blocks;
    uint32_t wqe_used;
    Holdings held;              /* of all QPs */

    uint32_t path_gen;
    Neigh neigh[NEIGH_SLOTS];
    int64_t neigh_at;           /* no question is due before */
    uint16_t ip_id;
    GPtrArray *mcast;

    struct iovec iov[TX_BATCH];
    unsigned tx_n;
    uint8_t *tx_buf;            /* TX_BATCH frames, each behind headroom */
    size_t tx_used;
    bool wire_stopped;
    uint8_t *loop_buf;          /* LOOP_FRAMES frames */
    uint32_t loop_len[LOOP_FRAMES];
    uint32_t loop_head, loop_tail;
    int budget;                 /* packets left in this poll */

    CoreFault fault_out, fault_in;
};

static inline bool qp_receives(const RdmaQp *qp)
{
    return qp->attr.state >= RDMA_QPS_RTR && qp->attr.state <= RDMA_QPS_SQD;
}

static inline bool is_rc(const RdmaQp *qp)
{
    return qp->attr.service == RDMA_RC;
}

static inline const RdmaOps *dev_ops(const RdmaDev *dev)
{
    return dev->cfg.ops;
}

/* A guest or the peer broke @rule. */
static inline void rdma_rule(RdmaDev *dev, uint32_t qpn, const char *rule,
                             const char *text)
{
    dev->cnt.broken_rules++;
    if (dev_ops(dev)->log) {
        dev_ops(dev)->log(dev->cfg.ops_opaque, qpn, rule, text);
    }
}

static inline void dev_kick(RdmaDev *dev)
{
    if (dev_ops(dev)->kick) {
        dev_ops(dev)->kick(dev->cfg.ops_opaque);
    }
}

/* A transport timer of @ns, stretched as the settings say. */
static inline int64_t dev_scaled(const RdmaDev *dev, int64_t ns)
{
    int64_t scale = MAX(dev->cfg.time_scale, 1);

    return ns > TIMER_MAX_NS / scale ? TIMER_MAX_NS : ns * scale;
}

/* ---- sched.c: run list, stall lists, timers ---- */
void qp_run(RdmaQp *qp);                /* put on the run list */
void qp_stall(RdmaQp *qp, Stall why);
void qp_unlink(RdmaQp *qp);
void sched_wake(RdmaDev *dev, Stall why);
/* Let on whoever has waited longest for what is there now. */
void sched_admit(RdmaDev *dev);
void qp_timer_update(RdmaQp *qp);       /* after changing a deadline */
void qp_timer_cancel(RdmaQp *qp);
RdmaQp *sched_expired(RdmaDev *dev);    /* one due at dev->now, or NULL */

/* ---- qp.c ---- */
void qp_set_state(RdmaQp *qp, RdmaQpState to, const char *cause);
void qp_error(RdmaQp *qp, const char *cause);
void qp_complete(RdmaQp *qp, bool is_send, RdmaCqe *cqe);
bool qp_flush(RdmaQp *qp);              /* true: there is more */
uint16_t qp_pkey(const RdmaQp *qp);
/* Room for @num remembered Reads and atomics; those there are stay. */
void qp_size_replies(RdmaQp *qp, uint32_t num);

/* ---- wqe.c: pool of decoded WQEs, packet buffer accounts, completion ---- */
/* Is there a WQE for @qp?  Each has a right to one. */
bool wqe_available(const RdmaQp *qp);
RdmaWqe *wqe_alloc(RdmaQp *qp);         /* NULL: no */
RdmaWqe *wqe_take(RdmaDev *dev);        /* in any case */
void wqe_release(RdmaQp *qp, RdmaWqe *w);
/* Enter what of @w is under way into the accounts, in place of what was. */
void wqe_hold(RdmaQp *qp, RdmaWqe *w);
void wqe_drop(RdmaQp *qp, RdmaWqe *w);
/* The accounts that limit @qp: its own, or those of the device. */
const Holdings *wqe_limited_by(const RdmaQp *qp);
/* May the next packet of @w enter?  STALL_NONE, or what it waits for. */
Stall wqe_room(const RdmaQp *qp, const RdmaWqe *w);
uint32_t wqe_packets(const RdmaQp *qp, const RdmaWqe *w);
uint32_t wqe_packet_len(const RdmaQp *qp, const RdmaWqe *w, uint32_t psn);
void wqe_complete_head(RdmaQp *qp, RdmaStatus status);
/* Complete the oldest ones as long as they are WQE_DONE. */
void wqe_complete_done(RdmaQp *qp);
static inline bool wqe_is_rd(const RdmaWqe *w)
{
    return w->opcode == RDMA_OP_READ || w->opcode == RDMA_OP_CMP_SWAP ||
           w->opcode == RDMA_OP_FETCH_ADD;
}

/* ---- mr.c ---- */
/* Copy message bytes [off, off + len) from / to a segment list. */
uint32_t sge_gather(RdmaQp *qp, const RdmaSge *sge, unsigned n, uint32_t off,
                    void *buf, uint32_t len);
uint32_t sge_scatter(RdmaQp *qp, const RdmaSge *sge, unsigned n,
                     uint64_t off, const void *buf, uint32_t len);
/* 64-bit read-modify-write; *@orig = value before. */
uint32_t mr_atomic(RdmaDev *dev, uint32_t key, uint32_t pd, uint64_t va,
                   bool cmp_swap, uint64_t swap_add, uint64_t compare,
                   uint64_t *orig);

/* ---- requester.c ---- */
/*
 * Is @w what @qp may send?  Sets its length.  What its segments name is not
 * looked at.
 */
RdmaStatus req_measure(const RdmaQp *qp, RdmaWqe *w);
/* One packet (or start of a WQE).  False: nothing to do now. */
bool req_step(RdmaQp *qp);
void req_reset(RdmaQp *qp);
void req_retransmit(RdmaQp *qp, uint32_t from, uint32_t to);
void req_timeout_loss(RdmaQp *qp);
void req_timeout_rnr(RdmaQp *qp);
void req_arm_loss(RdmaQp *qp);
void req_drop_all(RdmaQp *qp);          /* no completions */
void req_check_drained(RdmaQp *qp);
int64_t qp_loss_ns(const RdmaQp *qp);

/* ---- completer.c ---- */
void comp_rx(RdmaQp *qp, const RxPacket *pkt);

/* ---- responder.c ---- */
void resp_rx(RdmaQp *qp, const RxPacket *pkt);
bool resp_step(RdmaQp *qp);             /* one answer; false: none */
/* The QP goes away: an ACK that is due leaves now, or the peer would repeat a
 * request that was carried out and completed. */
void resp_last_ack(RdmaQp *qp);
void resp_reset(RdmaQp *qp);
void resp_drop_replies(RdmaQp *qp);     /* Reads and atomics not answered */

/* ---- net.c: addresses, ARP, path headers ---- */
typedef enum Resolve { RESOLVE_OK, RESOLVE_WAIT, RESOLVE_NEVER } Resolve;
Resolve net_path(RdmaDev *dev, const RdmaAv *av, Path *path);
/*
 * The headers to @av, in @path if they are there still.  RESOLVE_WAIT: the QP
 * was stalled; RESOLVE_NEVER: as if the wire had lost the packet (counted).
 */
Resolve path_resolve(RdmaQp *qp, const RdmaAv *av, Path *path);
/* Who may send to a connected QP. */
uint32_t net_peer_ip(RdmaQp *qp);
bool net_is_own(const RdmaDev *dev, uint32_t ip);
void net_rx_arp(RdmaDev *dev, const uint8_t *frame, size_t len);
void net_learn(RdmaDev *dev, uint32_t ip, const uint8_t *mac);
void net_announce(RdmaDev *dev);
int64_t net_timers(RdmaDev *dev);
void net_guid(const uint8_t mac[6], uint8_t guid[8]);
void net_grh(RdmaDev *dev, const RxPacket *pkt, const uint8_t *mgid,
             uint8_t grh[RDMA_GRH_BYTES]);
bool net_has_grh(RdmaDev *dev, const RxPacket *pkt);

/* ---- tx.c ---- */
/*
 * A frame is begun with room for headers and payload, filled by the caller
 * from the BTH on, and finished.
 */
uint8_t *tx_begin(RdmaDev *dev, const Path *path);      /* the BTH */
void tx_end(RdmaDev *dev, const Path *path, uint8_t *bth, uint32_t len,
            uint32_t flow);
void tx_flush(RdmaDev *dev);
/* A frame that lies in the current slot, or anywhere else, goes out. */
void tx_wire(RdmaDev *dev, const uint8_t *frame, size_t len);

/* ---- loop.c: the way back to ourselves ---- */
void loop_put(RdmaDev *dev, const uint8_t *frame, size_t len);
void loop_drain(RdmaDev *dev);
static inline uint32_t loop_frames(const RdmaDev *dev)
{
    return dev->loop_tail - dev->loop_head;
}

/* ---- rx.c ---- */
void rx_frame(RdmaDev *dev, const uint8_t *frame, size_t len, bool wire);
/* Does the P_Key of @pkt fit @qp?  Counted if not. */
bool rx_pkey_fits(RdmaQp *qp, RxPacket *pkt);

/* ---- mcast.c ---- */
void mcast_rx(RdmaDev *dev, RxPacket *pkt);
bool mcast_own(const RdmaDev *dev, uint32_t ip);
void mcast_forget_qp(RdmaDev *dev, uint32_t qpn);

/* ---- fault.c ---- */
void fault_tx(RdmaDev *dev, const uint8_t *frame, size_t len);
void fault_rx(RdmaDev *dev, const uint8_t *frame, size_t len);
int64_t fault_timers(RdmaDev *dev);

#endif
