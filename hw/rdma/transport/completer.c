/*
 * Requester, receiving side (RDMA §3.4.5).
 *
 * UPSN, RPSN and NPSN are the document's names: oldest unacknowledged, received,
 * next to send.  A response outside [UPSN, NPSN) is dropped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* UPSN moves forward: retries count anew, the loss timer starts anew. */
static void progress(RdmaQp *qp, uint32_t upsn)
{
    Requester *r = &qp->req;

    r->upsn = upsn;
    r->retry_left = qp->attr.retry_cnt;
    r->rnr_left = qp->attr.rnr_retry;
    r->retx_marked = false;
    if (r->rnr_wait) {
        return;
    }
    req_arm_loss(qp);
}

/* The oldest WQE is done up to its end. */
static void finish_head(RdmaQp *qp)
{
    RdmaWqe *w = qp->req.head;
    uint32_t end = psn_add(w->last_psn, 1);

    wqe_complete_head(qp, RDMA_WC_SUCCESS);
    progress(qp, end);
    wqe_complete_done(qp);
    qp_run(qp);                 /* fence, Read limit */
}

/*
 * Everything before @psn is acknowledged: release it, but stop at a Read or
 * atomic, whose answer must come itself.  True if it stopped there, that is
 * if a response was lost.
 */
static bool release_before(RdmaQp *qp, uint32_t psn)
{
    Requester *r = &qp->req;

    while (r->head && r->head->has_psn && psn_diff(psn, r->upsn) > 0) {
        RdmaWqe *w = r->head;

        if (wqe_is_rd(w)) {
            return true;
        }
        if (w->state == WQE_DONE || psn_diff(psn, w->last_psn) <= 0) {
            progress(qp, psn);
            wqe_drop(qp, w);
            wqe_hold(qp, w);
            return false;
        }
        finish_head(qp);
    }
    return false;
}

/* A response before @psn was lost: repeat from UPSN, once. */
static void lost_response(RdmaQp *qp, uint32_t psn)
{
    Requester *r = &qp->req;

    if (r->retx_marked) {
        return;
    }
    r->retx_marked = true;
    req_retransmit(qp, r->upsn, psn_add(psn, 1));
    req_arm_loss(qp);
}

/* The oldest request failed at the peer. */
static void fatal_end(RdmaQp *qp, RdmaStatus status, const char *cause)
{
    if (qp->req.head) {
        wqe_complete_head(qp, status);
    }
    qp_error(qp, cause);
}

static void rx_ack(RdmaQp *qp, uint32_t psn)
{
    qp->dev->cnt.ack_rx++;
    if (release_before(qp, psn_add(psn, 1))) {
        lost_response(qp, psn_add(qp->req.npsn, -1));
    }
}

static void rx_rnr(RdmaQp *qp, uint32_t psn, unsigned code)
{
    Requester *r = &qp->req;
    RdmaDev *dev = qp->dev;

    dev->cnt.rnr_rx++;
    if (release_before(qp, psn)) {
        lost_response(qp, psn_add(psn, -1));
        return;
    }
    if (r->rnr_wait || !r->head || !r->head->has_psn) {
        return;
    }
    if (qp->attr.rnr_retry != 7) {
        if (!r->rnr_left) {
            fatal_end(qp, RDMA_WC_RNR_RETRY_EXC, "RNR retries exhausted");
            return;
        }
        r->rnr_left--;
    }
    r->rnr_wait = true;
    r->retx = false;
    qp->loss_at = NEVER;
    qp->rnr_at = dev->now + dev_scaled(dev, roce_rnr_ns(code));
    qp_timer_update(qp);
}

static void rx_nak(RdmaQp *qp, uint32_t psn, unsigned code)
{
    static const struct {
        RdmaStatus status;
        const char *cause;
    } end[] = {
        [NAK_INVALID_REQUEST] = { RDMA_WC_REM_INV_REQ,
                                  "NAK invalid request" },
        [NAK_REMOTE_ACCESS] = { RDMA_WC_REM_ACCESS, "NAK remote access" },
        [NAK_REMOTE_OP] = { RDMA_WC_REM_OP, "NAK remote operational" },
        [NAK_INVALID_RD] = { RDMA_WC_REM_INV_REQ, "NAK invalid RD request" },
    };
    RdmaCounters *c = &qp->dev->cnt;
    uint64_t *const counter[] = {
        [NAK_PSN_SEQUENCE] = &c->nak_seq_rx,
        [NAK_INVALID_REQUEST] = &c->nak_inv_rx,
        [NAK_REMOTE_ACCESS] = &c->nak_access_rx,
        [NAK_REMOTE_OP] = &c->nak_op_rx,
        [NAK_INVALID_RD] = &c->nak_inv_rx,
    };
    Requester *r = &qp->req;
    bool lost;

    if (code >= G_N_ELEMENTS(end)) {
        c->rx_bad_bth++;        /* reserved code: dropped */
        return;
    }
    (*counter[code])++;
    lost = release_before(qp, psn);
    if (code == NAK_PSN_SEQUENCE ||
        (code != NAK_REMOTE_OP && !qp->dev->cfg.nak_fatal)) {
        if (r->rnr_wait) {
            return;
        }
        if (lost || !qp->dev->cfg.nak_counts || r->retry_left) {
            if (!lost && qp->dev->cfg.nak_counts) {
                r->retry_left--;
            }
            req_retransmit(qp, r->upsn, r->npsn);
            req_arm_loss(qp);
        } else {
            c->retry_exceeded++;
            fatal_end(qp, RDMA_WC_RETRY_EXC, "sequence NAKs, retries exhausted");
        }
        return;
    }
    /*
     * If a Read before the failed request has no answer, it will get none: the
     * peer is in error (RDMA §3.4.5.1.3.3).  As the oldest it then bears the
     * error, for no completion may be flushed before the one that says why.
     */
    fatal_end(qp, end[code].status, end[code].cause);
}

/* Read response and atomic acknowledge. */
static void rx_data(RdmaQp *qp, const RxPacket *pkt)
{
    Requester *r = &qp->req;
    bool atomic = pkt->op->flags & ROCE_F_ATOMIC;
    uint32_t psn = pkt->psn, off, want;
    uint8_t val[8];
    uint32_t bad;
    RdmaWqe *w;

    /*
     * All before it is acknowledged by it; a Read among that was lost
     * (RDMA §3.4.5.1.3.4.1).
     */
    if (release_before(qp, psn)) {
        lost_response(qp, psn);
        return;
    }
    w = r->head;
    if (!w || !w->has_psn || r->upsn != psn) {
        return;
    }
    if (!wqe_is_rd(w) || atomic != (w->opcode != RDMA_OP_READ)) {
        fatal_end(qp, RDMA_WC_BAD_RESP, "response does not fit the request");
        return;
    }
    if (atomic) {
        put_le64(val, get_be64(pkt->bth + pkt->op->atomack));
        bad = sge_scatter(qp, w->sge, w->num_sge, 0, val, 8);
    } else {
        bool last = psn == w->last_psn;

        off = psn_diff(psn, w->first_psn) * qp->mtu;
        want = MIN(w->length - off, qp->mtu);
        /*
         * First and Middle cannot be told apart here: a Read may have been
         * repeated from its middle.
         */
        if (last != !!(pkt->op->flags & ROCE_F_LAST) || pkt->paylen != want) {
            bad = pkt->paylen > want;
            fatal_end(qp, bad ? RDMA_WC_LOC_LEN : RDMA_WC_BAD_RESP,
                  "Read response of a wrong length");
            return;
        }
        bad = sge_scatter(qp, w->sge, w->num_sge, off, pkt->payload, want);
    }
    if (bad) {
        fatal_end(qp, RDMA_WC_LOC_PROT, "response cannot be stored");
        return;
    }
    if (psn == w->last_psn) {
        finish_head(qp);
    } else {
        progress(qp, psn_add(psn, 1));
    }
}

void comp_rx(RdmaQp *qp, const RxPacket *pkt)
{
    Requester *r = &qp->req;
    uint8_t syndrome = AETH_ACK;

    if (psn_diff(pkt->psn, r->upsn) < 0 || psn_diff(pkt->psn, r->npsn) >= 0) {
        qp->dev->cnt.rx_ghost++;
        return;
    }
    if (pkt->op->aeth) {
        syndrome = aeth_syndrome(pkt->bth + pkt->op->aeth);
    }
    if (!(pkt->op->flags & ROCE_F_ACK)) {
        if ((syndrome & AETH_TYPE_MASK) == AETH_ACK) {
            rx_data(qp, pkt);
        } else {
            qp->dev->cnt.rx_bad_bth++;
        }
    } else {
        switch (syndrome & AETH_TYPE_MASK) {
        case AETH_ACK:
            rx_ack(qp, pkt->psn);
            break;
        case AETH_RNR_NAK:
            rx_rnr(qp, pkt->psn, syndrome & 0x1f);
            break;
        case AETH_NAK:
            rx_nak(qp, pkt->psn, syndrome & 0x1f);
            break;
        default:
            qp->dev->cnt.rx_bad_bth++;
            break;
        }
    }
    req_check_drained(qp);
}
