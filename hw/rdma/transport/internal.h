/*
 * Transport core: its own structures and the calls between its files.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_TRANSPORT_INTERNAL_H
#define RDMA_TRANSPORT_INTERNAL_H

#include <glib.h>

#include "core/table.h"
#include "rdma/core.h"
#include "rdma/fault.h"
#include "rdma/res.h"
#include "rdma/roce.h"

#define FRAME_MAX     (ROCE_NET_BYTES + ROCE_HDR_MAX + RDMA_MAX_MTU + \
                       ROCE_ICRC_BYTES + 64)
#define TX_BATCH      64
#define LOOP_FRAMES   512
#define NEIGH_SLOTS   256
#define MCAST_GROUPS  1024
#define FAULT_HELD    64
#define POLL_PACKETS  256       /* per rdma_poll() */
#define QP_QUANTUM    32        /* packets of one QP in its turn */
#define FLUSH_QUANTUM 256       /* flushed work requests in one turn */
#define NEVER         INT64_MAX

#define SEC_NS        INT64_C(1000000000)
#define ARP_RETRY_NS  (SEC_NS / 10)
#define ARP_TRIES     5
#define ARP_FAILED_NS SEC_NS

/* ---- objects ---- */

/* Private areas are 8-byte aligned behind the core's part. */
struct RdmaCq {
    uint32_t cqn;
    uint64_t priv[];
};

struct RdmaSrq {
    uint32_t srqn;
    uint64_t priv[];
};

/* A Read or atomic of the peer: to be answered, or kept for a repetition. */
typedef struct Res {
    bool atomic;
    uint32_t first_psn, last_psn;
    uint32_t psn;               /* next response */
    uint64_t va;                /* of first_psn */
    uint32_t rkey, len;
    uint64_t orig;              /* atomic: value before */
    uint32_t msn;
} Res;

enum WqeState {
    WQE_NEW,            /* decoded, no packet sent */
    WQE_SENDING,
    WQE_SENT,           /* all packets sent once */
    WQE_BAD,            /* completes with its status when it is the oldest */
};

typedef enum Stall {
    STALL_NONE, STALL_SWPB, STALL_RPB, STALL_REB, STALL_WQE, STALL_NEIGH,
    STALL_WIRE,
} Stall;

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
    bool bad;                   /* a WQE_BAD is queued: stop fetching */
    bool retx;                  /* repeating [retx_psn, retx_end) */
    uint32_t retx_psn, retx_end;
    bool retx_marked;           /* loss at upsn has been acted on */
    bool rnr_wait;
    uint32_t rd_out;            /* own Reads and atomics in flight */
    uint32_t seq;
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
    Res *res;                   /* ring of max_res, NULL until needed */
    uint32_t res_head;          /* next to answer (free running) */
    uint32_t res_tail;          /* next free (free running) */
    uint32_t res_fresh;         /* first never answered (free running) */
    uint32_t res_num;           /* size of the ring */
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
    int timer_pos;              /* in the heap, -1 = not */
    int64_t timer_key;
    int64_t loss_at, rnr_at, repoll_at;
    Path path;
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

typedef struct HeldFrame {
    bool used;
    int64_t at;                 /* release time, NEVER = by count */
    uint32_t after;             /* ... after so many other frames */
    uint32_t len;
    uint64_t order;
    uint8_t data[FRAME_MAX];
} HeldFrame;

typedef struct FaultState {
    RdmaFault set;
    bool on;
    uint64_t rng;
    uint64_t count;
    unsigned held;
    uint64_t order;
    HeldFrame *hold;            /* FAULT_HELD, when on */
} FaultState;

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

    QpList run, stalled;
    RdmaQp **heap;
    int heap_len, heap_cap;

    RdmaWqe *wqe_free;
    RdmaWqe scratch;            /* to flush what was never started */
    GPtrArray *wqe_blocks;
    uint32_t wqe_total, wqe_used;
    uint32_t swpb_packets, swpb_units, rpb_packets, reb_entries;

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

    FaultState fault_out, fault_in;
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

void rdma_rule(RdmaDev *dev, const char *rule, const char *text,
               uint32_t qpn);

/* ---- sched.c: run list, stall list, timers ---- */
void qp_run(RdmaQp *qp);                /* put on the run list */
void qp_stall(RdmaQp *qp, Stall why);
void qp_unlink(RdmaQp *qp);
void sched_wake(RdmaDev *dev, Stall why);   /* STALL_NONE: every one */
void qp_timer_update(RdmaQp *qp);       /* after changing a deadline */
void qp_timer_cancel(RdmaQp *qp);
RdmaQp *sched_expired(RdmaDev *dev);    /* one due at dev->now, or NULL */
int64_t sched_deadline(const RdmaDev *dev);

/* ---- qp.c ---- */
void qp_set_state(RdmaQp *qp, RdmaQpState to, const char *cause);
void qp_error(RdmaQp *qp, const char *cause);
void qp_complete(RdmaQp *qp, bool is_send, RdmaCqe *cqe);
bool qp_flush(RdmaQp *qp);              /* true: there is more */
uint16_t qp_pkey(const RdmaQp *qp);

/* ---- wqe.c: pool of decoded WQEs and packet buffer accounts ---- */
RdmaWqe *wqe_alloc(RdmaDev *dev);
void wqe_release(RdmaDev *dev, RdmaWqe *w);
void wqe_hold_from(RdmaQp *qp, RdmaWqe *w, uint32_t psn, bool drop);
uint32_t wqe_packets(const RdmaQp *qp, const RdmaWqe *w);
void wqe_complete(RdmaQp *qp, RdmaWqe *w, RdmaStatus status);
uint32_t wqe_packet_len(const RdmaQp *qp, const RdmaWqe *w, uint32_t psn);
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
void comp_bad_head(RdmaQp *qp);         /* complete WQE_BAD at the head */

/* ---- responder.c ---- */
void resp_rx(RdmaQp *qp, const RxPacket *pkt);
bool resp_step(RdmaQp *qp);
/* The QP goes away: an ACK that is due leaves now, or the peer would repeat a
 * request that was carried out and completed. */
void resp_last_ack(RdmaQp *qp);
void resp_reset(RdmaQp *qp);

/* ---- net.c: addresses, ARP, path headers ---- */
typedef enum Resolve { RESOLVE_OK, RESOLVE_WAIT, RESOLVE_NEVER } Resolve;
Resolve net_path(RdmaDev *dev, const RdmaAv *av, Path *path);
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
void tx_loop_drain(RdmaDev *dev);

void tx_wire(RdmaDev *dev, const uint8_t *frame, size_t len);

/* ---- rx.c ---- */
void rx_frame(RdmaDev *dev, const uint8_t *frame, size_t len, bool wire);
void rx_wire(RdmaDev *dev, const uint8_t *frame, size_t len);

/* ---- mcast.c ---- */
void mcast_rx(RdmaDev *dev, RxPacket *pkt);
bool mcast_own(const RdmaDev *dev, uint32_t ip);
void mcast_reset(RdmaDev *dev);
void mcast_forget_qp(RdmaDev *dev, uint32_t qpn);

/* ---- fault.c ---- */
typedef void FaultSink(RdmaDev *dev, const uint8_t *frame, size_t len);
void fault_pass(RdmaDev *dev, FaultState *f, const uint8_t *frame,
                size_t len, FaultSink *sink);
int64_t fault_timers(RdmaDev *dev, FaultState *f, FaultSink *sink);
void fault_reset(FaultState *f);

#endif
