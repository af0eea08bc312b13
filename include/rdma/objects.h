/*
 * RDMA engine: resources of the transport core.
 *
 * Objects live in sparse tables indexed by the low bits of their number; the
 * whole number is kept and compared, because mthca numbers carry generation
 * bits above the table index.  A personality creates, changes and destroys
 * objects from its command handlers; the core only uses them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_OBJECTS_H
#define RDMA_OBJECTS_H

#include "rdma/core.h"

/* ---- memory regions ---- */

struct RdmaMr {
    uint32_t key;           /* compared whole */
    uint32_t pd;
    uint32_t access;        /* RDMA_ACC_* rights */
    uint8_t page_shift;     /* 12.. */
    bool physical;          /* addresses are bus addresses, no MTT */
    bool valid;
    uint64_t start;
    uint64_t length;        /* start + length may wrap: ~0 = everything */
    uint64_t mtt;           /* where the personality finds the pages */
};

/*
 * Set region @index (reduced to the table size), replacing what is there.
 * The key is looked up through pers->key_index.
 */
void rdma_mr_set(RdmaDev *dev, uint32_t index, const RdmaMr *mr);
/* Make region @index invalid: its key fails from now on. */
void rdma_mr_clear(RdmaDev *dev, uint32_t index);
/* NULL if never set. */
const RdmaMr *rdma_mr_get(RdmaDev *dev, uint32_t index);

/*
 * May protection domain @pd touch [@va, @va + @len) of @key with @access
 * (rights, RDMA_ACC_RELATIVE)?  0 or RDMA_MRE_* bits.  @len 0 is always
 * allowed for a zero-length operation and checks nothing.
 */
uint32_t rdma_mr_check(RdmaDev *dev, uint32_t key, uint32_t pd, uint64_t va,
                       uint64_t len, uint32_t access);
/* Check, translate and copy.  0 or RDMA_MRE_* bits. */
uint32_t rdma_mr_read(RdmaDev *dev, uint32_t key, uint32_t pd, uint64_t va,
                      void *buf, uint32_t len, uint32_t access);
uint32_t rdma_mr_write(RdmaDev *dev, uint32_t key, uint32_t pd, uint64_t va,
                       const void *buf, uint32_t len, uint32_t access);

/* ---- completion queues, shared receive queues ---- */

/*
 * The core needs only the number: ring, indices and arming are the
 * personality's (in the private area).
 */
RdmaCq *rdma_cq_create(RdmaDev *dev, uint32_t cqn);     /* NULL: slot in use */
void rdma_cq_destroy(RdmaDev *dev, RdmaCq *cq);
RdmaCq *rdma_cq_get(RdmaDev *dev, uint32_t cqn);        /* NULL: none */
uint32_t rdma_cq_num(const RdmaCq *cq);
void *rdma_cq_priv(RdmaCq *cq);

RdmaSrq *rdma_srq_create(RdmaDev *dev, uint32_t srqn);
void rdma_srq_destroy(RdmaDev *dev, RdmaSrq *srq);
RdmaSrq *rdma_srq_get(RdmaDev *dev, uint32_t srqn);
uint32_t rdma_srq_num(const RdmaSrq *srq);
void *rdma_srq_priv(RdmaSrq *srq);

/* ---- queue pairs ---- */

typedef struct RdmaQpAttr {
    RdmaQpState state;
    RdmaService service;
    bool sqd_event;         /* raise SQ_DRAINED when SQD is reached */
    uint32_t dest_qpn;
    uint32_t pd;
    uint32_t send_cqn, recv_cqn;
    uint32_t srqn;
    bool has_srq;
    bool sig_all;           /* every send completes with a CQE */
    /*
     * Special QP (0 management, 1 general services) seen under this number on
     * the wire, by rdma_qp_alias(); datagram service.
     */
    bool special;
    uint8_t mtu_code;       /* 1..5 = 256..4096; 0 = 256 */
    uint16_t pkey_index;
    uint32_t qkey;
    RdmaAv av;
    uint32_t sq_psn;        /* next PSN to send; query: current */
    uint32_t rq_psn;        /* next PSN expected; query: current */
    uint32_t sq_una;        /* query only: oldest PSN not acknowledged */
    uint8_t timeout;        /* 4.096 us << n; 0 = RdmaConfig.loss_timeout_us */
    uint8_t retry_cnt;      /* 0..7 */
    uint8_t rnr_retry;      /* 0..7, 7 = for ever */
    uint8_t min_rnr_timer;  /* code 0..31 */
    uint8_t access;         /* RDMA_ACC_REMOTE_* allowed to the peer */
    uint8_t max_rd_atomic;  /* own Reads/atomics in flight; 0 = 16 */
    uint8_t max_dest_rd_atomic; /* the peer's; 0 = 16, at most 128 */
} RdmaQpAttr;

/* Which attributes rdma_qp_modify() takes from its argument. */
enum {
    RDMA_QPA_STATE      = 1 << 0,
    RDMA_QPA_SERVICE    = 1 << 1,
    RDMA_QPA_DEST_QPN   = 1 << 2,
    RDMA_QPA_PD         = 1 << 3,
    RDMA_QPA_CQS        = 1 << 4,
    RDMA_QPA_SRQ        = 1 << 5,   /* srqn, has_srq */
    RDMA_QPA_SIG_ALL    = 1 << 6,
    RDMA_QPA_SPECIAL    = 1 << 7,
    RDMA_QPA_MTU        = 1 << 8,
    RDMA_QPA_PKEY       = 1 << 9,
    RDMA_QPA_QKEY       = 1 << 10,
    RDMA_QPA_AV         = 1 << 11,
    RDMA_QPA_SQ_PSN     = 1 << 12,
    RDMA_QPA_RQ_PSN     = 1 << 13,
    RDMA_QPA_TIMEOUT    = 1 << 14,
    RDMA_QPA_RETRY      = 1 << 15,
    RDMA_QPA_RNR_RETRY  = 1 << 16,
    RDMA_QPA_RNR_TIMER  = 1 << 17,
    RDMA_QPA_ACCESS     = 1 << 18,
    RDMA_QPA_RD_ATOMIC  = 1 << 19,
    RDMA_QPA_DEST_RD    = 1 << 20,
    RDMA_QPA_SQD_EVENT  = 1 << 21,
    RDMA_QPA_ALL        = (1 << 22) - 1,
};

/* A QP in state RESET.  NULL: the slot is in use. */
RdmaQp *rdma_qp_create(RdmaDev *dev, uint32_t qpn);
/*
 * Take it away in any state: outstanding work vanishes without completions.
 * Safe from command handlers, not from personality ops.
 */
void rdma_qp_destroy(RdmaDev *dev, RdmaQp *qp);
RdmaQp *rdma_qp_get(RdmaDev *dev, uint32_t qpn);
uint32_t rdma_qp_num(const RdmaQp *qp);
void *rdma_qp_priv(RdmaQp *qp);
/* Current attributes; the PSNs are the live ones. */
const RdmaQpAttr *rdma_qp_attr(RdmaQp *qp);
/* True when the requester has nothing outstanding (SQD drained). */
bool rdma_qp_idle(const RdmaQp *qp);

/*
 * Change attributes named in @mask.  The state transition itself is carried
 * out (RESET drops all work silently, ERR flushes in the next rdma_poll());
 * whether it is legal is for the personality to check with
 * rdma_qp_transition_ok() before.
 *
 * While a message is under way in either direction, service, completion
 * queues and path MTU stay as they are.  False: one of these was to change
 * then; the others are taken all the same.
 */
bool rdma_qp_modify(RdmaDev *dev, RdmaQp *qp, const RdmaQpAttr *attr,
                    uint32_t mask);
bool rdma_qp_transition_ok(RdmaQpState from, RdmaQpState to,
                           RdmaService service);

/* Deliver packets for QPN @wire_qpn (0 or 1) to @qp, until that is destroyed. */
void rdma_qp_alias(RdmaDev *dev, uint32_t wire_qpn, RdmaQp *qp);

/* Send work was posted (doorbell): the requester will call fetch_send(). */
void rdma_qp_kick(RdmaDev *dev, RdmaQp *qp);

/* Call @fn for each QP. */
void rdma_qp_foreach(RdmaDev *dev, void (*fn)(void *opaque, RdmaQp *qp),
                     void *opaque);

#endif
