/*
 * Queue pairs: life, attributes, state, completions and flush.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define DEFAULT_RD_ATOMIC 16
#define MAX_RD_ATOMIC     128

/* ---- life ---- */

RdmaQp *rdma_qp_create(RdmaDev *dev, uint32_t qpn)
{
    RdmaQp *qp;

    if (core_table_get(&dev->qps, qpn)) {
        return NULL;
    }
    qp = g_malloc0(sizeof(*qp) + dev->cfg.pers->qp_priv);
    qp->dev = dev;
    qp->qpn = qpn;
    qp->mtu = 256;
    qp->loss_at = qp->rnr_at = qp->repoll_at = NEVER;
    core_table_set(&dev->qps, qpn, qp);
    return qp;
}

static void qp_stop(RdmaQp *qp)
{
    resp_last_ack(qp);
    req_reset(qp);
    resp_reset(qp);
    qp->flush_recv = false;
    qp->repoll_at = NEVER;
    qp_timer_cancel(qp);
    qp_unlink(qp);
}

void rdma_qp_destroy(RdmaDev *dev, RdmaQp *qp)
{
    qp_stop(qp);
    mcast_forget_qp(dev, qp->qpn);
    for (int i = 0; i < G_N_ELEMENTS(dev->alias); i++) {
        if (dev->alias[i] == qp) {
            dev->alias[i] = NULL;
        }
    }
    core_table_set(&dev->qps, qp->qpn, NULL);
    g_free(qp);
}

RdmaQp *rdma_qp_get(RdmaDev *dev, uint32_t qpn)
{
    RdmaQp *qp = core_table_get(&dev->qps, qpn);

    return qp && qp->qpn == qpn ? qp : NULL;
}

uint32_t rdma_qp_num(const RdmaQp *qp)
{
    return qp->qpn;
}

void *rdma_qp_priv(RdmaQp *qp)
{
    return qp->priv;
}

const RdmaQpAttr *rdma_qp_attr(RdmaQp *qp)
{
    qp->attr.sq_psn = qp->req.npsn;
    qp->attr.rq_psn = qp->resp.epsn;
    qp->attr.sq_una = qp->req.upsn;
    return &qp->attr;
}

bool rdma_qp_idle(const RdmaQp *qp)
{
    return !qp->req.head || !qp->req.head->has_psn;
}

void rdma_qp_foreach(RdmaDev *dev, void (*fn)(void *opaque, RdmaQp *qp),
                     void *opaque)
{
    core_table_foreach(&dev->qps, (void (*)(void *, void *))fn, opaque);
}

void rdma_qp_alias(RdmaDev *dev, uint32_t wire_qpn, RdmaQp *qp)
{
    if (wire_qpn < G_N_ELEMENTS(dev->alias)) {
        dev->alias[wire_qpn] = qp;
    }
}

uint16_t qp_pkey(const RdmaQp *qp)
{
    const RdmaPort *p = &qp->dev->port;

    return qp->attr.pkey_index < p->num_pkeys ?
           p->pkey[qp->attr.pkey_index] : 0xffff;
}

/* ---- attributes ---- */

void qp_size_replies(RdmaQp *qp, uint32_t num)
{
    Responder *r = &qp->resp;
    RdReply *old = r->reply;

    if (!old || num <= r->reply_num) {
        r->reply_num = old ? r->reply_num : num;
        return;
    }
    r->reply = g_new0(RdReply, num);
    for (uint32_t k = 1; k <= r->reply_num; k++) {
        uint32_t i = r->reply_tail - k;

        r->reply[i & (num - 1)] = old[i & (r->reply_num - 1)];
    }
    r->reply_num = num;
    g_free(old);
}

static void set_rd_atomic(RdmaQp *qp)
{
    uint8_t *own = &qp->attr.max_rd_atomic;
    uint8_t *peer = &qp->attr.max_dest_rd_atomic;
    uint32_t num = 1;

    *own = CLAMP(*own ? *own : DEFAULT_RD_ATOMIC, 1, MAX_RD_ATOMIC);
    *peer = CLAMP(*peer ? *peer : DEFAULT_RD_ATOMIC, 1, MAX_RD_ATOMIC);
    /* As many again are remembered for repetitions. */
    while (num < 2u * *peer) {
        num *= 2;
    }
    qp_size_replies(qp, num);
}

/*
 * Is a message under way, in or out?  What it was begun with must then stay:
 * packets in flight were cut and numbered by it.
 */
static bool qp_busy(const RdmaQp *qp)
{
    const Responder *r = &qp->resp;

    return qp->req.head || r->in_msg || r->have_wqe || r->ack_due ||
           r->reply_head != r->reply_tail;
}

/* Which of the attributes in @mask may not change now. */
static uint32_t refused_attrs(const RdmaQp *qp, const RdmaQpAttr *a,
                              uint32_t mask)
{
    const RdmaQpAttr *q = &qp->attr;
    uint32_t bad = 0;

    if (!qp_busy(qp)) {
        return 0;
    }
    if (a->service != q->service) {
        bad |= RDMA_QPA_SERVICE;
    }
    if (a->send_cqn != q->send_cqn || a->recv_cqn != q->recv_cqn) {
        bad |= RDMA_QPA_CQS;
    }
    if (128u << CLAMP(a->mtu_code, 1, 5) != qp->mtu) {
        bad |= RDMA_QPA_MTU;
    }
    return bad & mask;
}

/* Remembered Reads were cut by the old size. */
static void set_mtu(RdmaQp *qp)
{
    Responder *r = &qp->resp;
    uint32_t mtu = 128u << CLAMP(qp->attr.mtu_code, 1, 5);

    for (uint32_t i = 0; r->reply && mtu != qp->mtu && i < r->reply_num;
         i++) {
        if (r->reply[i].kind == REPLY_READ) {
            r->reply[i] = (RdReply) { .kind = REPLY_NONE };
        }
    }
    qp->mtu = mtu;
}

bool rdma_qp_modify(RdmaDev *dev, RdmaQp *qp, const RdmaQpAttr *a,
                    uint32_t mask)
{
    RdmaQpAttr *q = &qp->attr;
    uint32_t refused = refused_attrs(qp, a, mask);

    if (refused) {
        rdma_rule(dev, qp->qpn, "IB 1.3 §11.2.4.2", "service, completion "
                  "queues or path MTU changed in flight");
        mask &= ~refused;
    }
#define TAKE(bit, field) if (mask & RDMA_QPA_##bit) { q->field = a->field; }
    TAKE(SERVICE, service)
    TAKE(DEST_QPN, dest_qpn)
    TAKE(PD, pd)
    TAKE(CQS, send_cqn)
    TAKE(CQS, recv_cqn)
    TAKE(SRQ, srqn)
    TAKE(SRQ, has_srq)
    TAKE(SIG_ALL, sig_all)
    TAKE(SPECIAL, special)
    TAKE(MTU, mtu_code)
    TAKE(PKEY, pkey_index)
    TAKE(QKEY, qkey)
    TAKE(AV, av)
    TAKE(TIMEOUT, timeout)
    TAKE(RETRY, retry_cnt)
    TAKE(RNR_RETRY, rnr_retry)
    TAKE(RNR_TIMER, min_rnr_timer)
    TAKE(ACCESS, access)
    TAKE(RD_ATOMIC, max_rd_atomic)
    TAKE(DEST_RD, max_dest_rd_atomic)
    TAKE(SQD_EVENT, sqd_event)
#undef TAKE
    if (mask & RDMA_QPA_AV) {
        qp->path.valid = false;
        qp->peer_gen = 0;
    }
    if (mask & RDMA_QPA_MTU) {
        set_mtu(qp);
    }
    if (mask & (RDMA_QPA_RD_ATOMIC | RDMA_QPA_DEST_RD)) {
        set_rd_atomic(qp);
    }
    if ((mask & RDMA_QPA_RETRY)) {
        qp->req.retry_left = q->retry_cnt;
    }
    if ((mask & RDMA_QPA_RNR_RETRY)) {
        qp->req.rnr_left = q->rnr_retry;
    }
    if ((mask & RDMA_QPA_SQ_PSN) && !qp->req.head) {
        qp->req.npsn = qp->req.upsn = a->sq_psn & RDMA_PSN_MASK;
    }
    if (mask & RDMA_QPA_RQ_PSN) {
        qp->resp.epsn = a->rq_psn & RDMA_PSN_MASK;
        qp->resp.nak_sent = false;
    }
    if (mask & RDMA_QPA_STATE) {
        qp_set_state(qp, a->state, "modify");
    }
    return !refused;
}

bool rdma_qp_transition_ok(RdmaQpState from, RdmaQpState to,
                           RdmaService service)
{
    /* IB 1.3 figure 121; interface document B.7.  Bit n: to state n. */
    static const uint8_t legal[] = {
        [RDMA_QPS_RESET] = 1 << RDMA_QPS_INIT,
        [RDMA_QPS_INIT] = 1 << RDMA_QPS_INIT | 1 << RDMA_QPS_RTR,
        [RDMA_QPS_RTR] = 1 << RDMA_QPS_RTS,
        [RDMA_QPS_RTS] = 1 << RDMA_QPS_RTS | 1 << RDMA_QPS_SQD,
        [RDMA_QPS_SQE] = 1 << RDMA_QPS_RTS,
        [RDMA_QPS_SQD] = 1 << RDMA_QPS_SQD | 1 << RDMA_QPS_RTS,
        [RDMA_QPS_ERR] = 0,
    };

    if (from >= G_N_ELEMENTS(legal)) {
        return false;
    }
    if (to == RDMA_QPS_RESET || to == RDMA_QPS_ERR) {
        return true;
    }
    if (from == RDMA_QPS_SQE && service == RDMA_RC) {
        return false;
    }
    return to < 8 && (legal[from] >> to & 1);
}

void qp_set_state(RdmaQp *qp, RdmaQpState to, const char *cause)
{
    RdmaDev *dev = qp->dev;
    RdmaQpState from = qp->attr.state;

    if (from == to && to != RDMA_QPS_RESET) {
        return;
    }
    qp->attr.state = to;
    if (dev_ops(dev)->qp_state) {
        dev_ops(dev)->qp_state(dev->cfg.ops_opaque, qp->qpn, from, to, cause);
    }
    switch (to) {
    case RDMA_QPS_RESET:
        qp_stop(qp);
        qp->path.valid = false;
        break;
    case RDMA_QPS_INIT:
        set_rd_atomic(qp);
        break;
    case RDMA_QPS_RTR:
        qp->resp.comm_est = false;
        break;
    case RDMA_QPS_RTS:
        qp->req.drained = false;
        if (from == RDMA_QPS_RTR) {
            qp->req.retry_left = qp->attr.retry_cnt;
            qp->req.rnr_left = qp->attr.rnr_retry;
            qp->resp.comm_est = true;
        }
        qp->req.more = true;
        qp_run(qp);
        break;
    case RDMA_QPS_SQD:
        qp->req.drained = false;
        req_check_drained(qp);
        break;
    case RDMA_QPS_SQE:
    case RDMA_QPS_ERR:
        qp->loss_at = qp->rnr_at = NEVER;
        qp->req.retx = qp->req.rnr_wait = qp->req.bad = false;
        qp->req.more = true;
        qp->repoll_ns = 0;
        qp->flush_recv = to == RDMA_QPS_ERR;
        if (to == RDMA_QPS_ERR && !qp->resp.last_words) {
            resp_last_ack(qp);
            qp->resp.ack_due = false;
            resp_drop_replies(qp);
        }
        qp_run(qp);
        break;
    }
}

void qp_error(RdmaQp *qp, const char *cause)
{
    if (qp->attr.state == RDMA_QPS_ERR || qp->attr.state == RDMA_QPS_RESET) {
        return;
    }
    qp_set_state(qp, RDMA_QPS_ERR, cause);
    if (qp->dev->cfg.pers->qp_changed) {
        qp->dev->cfg.pers->qp_changed(qp->dev->cfg.pers_opaque, qp);
    }
}

/* ---- completions ---- */

void qp_complete(RdmaQp *qp, bool is_send, RdmaCqe *cqe)
{
    RdmaDev *dev = qp->dev;
    RdmaCq *cq = rdma_cq_get(dev, is_send ? qp->attr.send_cqn :
                                            qp->attr.recv_cqn);

    cqe->qpn = qp->qpn;
    cqe->is_send = is_send;
    if (cqe->status == RDMA_WC_FLUSH) {
        dev->cnt.flushed++;
    } else if (cqe->status != RDMA_WC_SUCCESS) {
        dev->cnt.local_errors += is_send;
    }
    if (cq && dev->cfg.pers->write_cqe(dev->cfg.pers_opaque, cq, cqe)) {
        dev->cnt.completions++;
        return;
    }
    dev->cnt.cqe_failed++;
    qp_error(qp, "completion not written");
}

static void flush_recv_wqe(RdmaQp *qp, uint64_t id)
{
    RdmaCqe cqe = { .wqe_id = id, .status = RDMA_WC_FLUSH };

    qp_complete(qp, false, &cqe);
}

/* Send side, in states ERR and SQE. */
static bool flush_send(RdmaQp *qp, int *n)
{
    Requester *r = &qp->req;

    while (r->head && *n) {
        (*n)--;
        wqe_complete_head(qp, RDMA_WC_FLUSH);
    }
    r->upsn = r->npsn;
    while (r->more && *n) {
        RdmaWqe *w = &qp->dev->scratch;
        RdmaCqe cqe = { .status = RDMA_WC_FLUSH };
        RdmaFetch f;

        memset(w, 0, offsetof(RdmaWqe, sge));
        f = qp->dev->cfg.pers->fetch_send(qp->dev->cfg.pers_opaque, qp, w);
        cqe.wqe_id = w->id;
        cqe.opcode = w->opcode;
        if (f != RDMA_FETCH_OK) {
            r->more = false;
            break;
        }
        (*n)--;
        qp_complete(qp, true, &cqe);
    }
    return r->head || r->more;
}

static bool flush_receive(RdmaQp *qp, int *n)
{
    Responder *r = &qp->resp;
    RdmaDev *dev = qp->dev;

    r->in_msg = false;
    if (r->have_wqe) {
        r->have_wqe = false;
        flush_recv_wqe(qp, r->wqe.id);
    }
    if (qp->attr.has_srq) {
        /* The WQEs belong to the SRQ; this QP takes none any more. */
        dev->cfg.pers->event(dev->cfg.pers_opaque, RDMA_EV_SRQ_LAST_WQE,
                             qp->qpn);
        qp->flush_recv = false;
        return false;
    }
    while (*n) {
        if (dev->cfg.pers->fetch_recv(dev->cfg.pers_opaque, qp, &r->wqe) !=
            RDMA_FETCH_OK) {
            qp->flush_recv = false;
            return false;
        }
        (*n)--;
        flush_recv_wqe(qp, r->wqe.id);
    }
    return true;
}

/*
 * Receives may be posted without a doorbell: when to look again.  Each look
 * that finds nothing doubles the pause; who has posted nothing for a second
 * does not want it back.
 */
static void plan_look(RdmaQp *qp, bool found)
{
    RdmaDev *dev = qp->dev;

    qp->repoll_at = NEVER;
    if (qp->attr.state == RDMA_QPS_ERR && !qp->attr.has_srq &&
        dev->cfg.err_repoll_us) {
        if (found) {
            qp->repoll_ns = dev->cfg.err_repoll_us * INT64_C(1000);
            qp->repoll_end = dev->now + ERR_REST_NS;
        } else {
            qp->repoll_ns *= 2;
        }
        if (dev->now + qp->repoll_ns <= qp->repoll_end) {
            qp->repoll_at = dev->now + qp->repoll_ns;
        }
    }
    qp_timer_update(qp);
}

bool qp_flush(RdmaQp *qp)
{
    int n = FLUSH_QUANTUM;
    bool more = flush_send(qp, &n);

    if (qp->flush_recv && qp->attr.state == RDMA_QPS_ERR) {
        more |= flush_receive(qp, &n);
    }
    qp->dev->budget -= FLUSH_QUANTUM - n;
    plan_look(qp, n < FLUSH_QUANTUM || !qp->repoll_ns);
    return more;
}

/* ---- doorbells ---- */

void rdma_qp_kick(RdmaDev *dev, RdmaQp *qp)
{
    if (qp->attr.state == RDMA_QPS_RESET) {
        return;
    }
    qp->req.more = true;
    qp->repoll_ns = 0;
    if (qp->stall == STALL_NONE) {
        qp_run(qp);
    }
    dev_kick(dev);
}
