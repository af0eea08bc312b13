/*
 * Requester, sending side (RDMA §2.4.3.1.2, §3.4.1).
 *
 * A QP has a list of unfinished WQEs, oldest first.  Each occupies a range of
 * PSNs; a packet is a function of WQE and PSN, so sending anew and repeating
 * are the same code with another PSN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* An ACK is asked for at least this often (RDMA_ACKREQ_PERIODIC). */
enum { ACKREQ_PERIOD = 32 };

/* ---- timers ---- */

int64_t qp_loss_ns(const RdmaQp *qp)
{
    const RdmaConfig *cfg = &qp->dev->cfg;
    unsigned code = qp->attr.timeout & 31;
    int64_t ns = code ? INT64_C(4096) << code :
                 cfg->loss_timeout_us * INT64_C(1000);

    return dev_scaled(qp->dev, ns);
}

void req_arm_loss(RdmaQp *qp)
{
    int64_t ns = qp_loss_ns(qp);

    qp->loss_at = ns && qp->req.upsn != qp->req.npsn ? qp->dev->now + ns :
                  NEVER;
    qp_timer_update(qp);
}

/* ---- end of the line ---- */

void req_drop_all(RdmaQp *qp)
{
    Requester *r = &qp->req;

    while (r->head) {
        RdmaWqe *w = r->head;

        wqe_drop(qp, w);
        r->head = w->next;
        wqe_release(qp, w);
    }
}

void req_reset(RdmaQp *qp)
{
    uint32_t psn = qp->req.npsn;

    req_drop_all(qp);
    qp->req = (Requester) {
        .npsn = psn, .upsn = psn,
        .retry_left = qp->attr.retry_cnt, .rnr_left = qp->attr.rnr_retry,
    };
    qp->loss_at = qp->rnr_at = NEVER;
}

void req_check_drained(RdmaQp *qp)
{
    RdmaDev *dev = qp->dev;

    if (qp->attr.state != RDMA_QPS_SQD || qp->req.drained ||
        !rdma_qp_idle(qp)) {
        return;
    }
    qp->req.drained = true;
    if (dev->cfg.pers->qp_changed) {
        dev->cfg.pers->qp_changed(dev->cfg.pers_opaque, qp);
    }
    if (qp->attr.sqd_event) {
        dev->cfg.pers->event(dev->cfg.pers_opaque, RDMA_EV_SQ_DRAINED,
                             qp->qpn);
    }
}

/* ---- checks of a new WQE ---- */

static bool op_allowed(const RdmaDev *dev, RdmaService svc, uint8_t opcode)
{
    /* RDMA table 1.1: bit n = allowed for service n. */
    enum { RC = 1 << RDMA_RC, UC = 1 << RDMA_UC, UD = 1 << RDMA_UD };
    static const uint8_t allowed[] = {
        [RDMA_OP_NOP] = RC | UC | UD,
        [RDMA_OP_WRITE] = RC | UC,
        [RDMA_OP_WRITE_IMM] = RC | UC,
        [RDMA_OP_SEND] = RC | UC | UD,
        [RDMA_OP_SEND_IMM] = RC | UC | UD,
        [RDMA_OP_READ] = RC,
        [RDMA_OP_CMP_SWAP] = RC,
        [RDMA_OP_FETCH_ADD] = RC,
    };

    if (opcode >= G_N_ELEMENTS(allowed) ||
        (opcode >= RDMA_OP_CMP_SWAP && !dev->cfg.atomics)) {
        return false;
    }
    return allowed[opcode] >> svc & 1;
}

/* Why @w may not be sent, or NULL; sets its length. */
static const char *wqe_fault(const RdmaQp *qp, RdmaWqe *w, RdmaStatus *status)
{
    uint64_t len = 0;

    *status = RDMA_WC_LOC_QP_OP;
    if (!op_allowed(qp->dev, qp->attr.service, w->opcode)) {
        return "opcode not allowed";
    }
    if (w->flags & RDMA_WQE_INLINE) {
        if (wqe_is_rd(w) || w->inl_len > RDMA_MAX_INLINE) {
            return "bad inline segment";
        }
        len = w->inl_len;
    } else {
        w->num_sge = MIN(w->num_sge, RDMA_MAX_SGE);
        for (int i = 0; i < w->num_sge; i++) {
            len += w->sge[i].len;
        }
    }
    *status = RDMA_WC_LOC_LEN;
    if (w->opcode >= RDMA_OP_CMP_SWAP) {
        if (len < 8) {
            return "atomic without room for its result";
        }
        len = 8;
    }
    if (len > (UINT64_C(1) << 31) ||
        (qp->attr.service == RDMA_UD && len > qp->mtu)) {
        return "message too long";
    }
    w->length = len;
    *status = RDMA_WC_SUCCESS;
    return NULL;
}

RdmaStatus req_measure(const RdmaQp *qp, RdmaWqe *w)
{
    RdmaStatus status;

    wqe_fault(qp, w, &status);
    return status;
}

static RdmaStatus check_wqe(RdmaQp *qp, RdmaWqe *w)
{
    RdmaStatus status;
    const char *why;

    if (w->error) {
        return w->error;
    }
    why = wqe_fault(qp, w, &status);
    if (why) {
        rdma_rule(qp->dev, qp->qpn, "RDMA §2.4.3.1", why);
        return status;
    }
    if (w->flags & RDMA_WQE_INLINE) {
        return RDMA_WC_SUCCESS;
    }
    for (int i = 0; i < w->num_sge; i++) {
        if (rdma_mr_check(qp->dev, w->sge[i].key, qp->attr.pd,
                          w->sge[i].addr, w->sge[i].len,
                          wqe_is_rd(w) ? RDMA_ACC_LOCAL_WRITE : 0)) {
            rdma_rule(qp->dev, qp->qpn, "RDMA §2.4.3.1.2",
                      "local access refused");
            return RDMA_WC_LOC_PROT;
        }
    }
    return RDMA_WC_SUCCESS;
}

/* @w ends with @status when all before it have ended (RDMA §3.4.1.1.3.1). */
static void end_locally(RdmaQp *qp, RdmaWqe *w, RdmaStatus status)
{
    w->state = WQE_DONE;
    w->status = status;
    if (qp->req.cur == w) {
        qp->req.cur = NULL;
    }
    if (status != RDMA_WC_SUCCESS) {
        qp->req.bad = true;
    }
    wqe_complete_done(qp);
}

/* ---- one packet ---- */

static uint8_t packet_opcode(const RdmaQp *qp, const RdmaWqe *w,
                             uint32_t psn)
{
    bool first = psn == w->first_psn, last = psn == w->last_psn;
    bool imm = w->opcode == RDMA_OP_SEND_IMM ||
               w->opcode == RDMA_OP_WRITE_IMM;
    uint8_t op;

    switch (w->opcode) {
    case RDMA_OP_READ:
        return ROCE_READ_REQ;
    case RDMA_OP_CMP_SWAP:
        return ROCE_CMP_SWAP;
    case RDMA_OP_FETCH_ADD:
        return ROCE_FETCH_ADD;
    case RDMA_OP_WRITE:
    case RDMA_OP_WRITE_IMM:
        op = first && last ? (imm ? ROCE_WRITE_ONLY_IMM : ROCE_WRITE_ONLY) :
             first ? ROCE_WRITE_FIRST :
             last ? (imm ? ROCE_WRITE_LAST_IMM : ROCE_WRITE_LAST) :
             ROCE_WRITE_MIDDLE;
        break;
    default:
        op = first && last ? (imm ? ROCE_SEND_ONLY_IMM : ROCE_SEND_ONLY) :
             first ? ROCE_SEND_FIRST :
             last ? (imm ? ROCE_SEND_LAST_IMM : ROCE_SEND_LAST) :
             ROCE_SEND_MIDDLE;
        break;
    }
    return ROCE_OP(qp->attr.service, op);
}

static bool want_ack(RdmaQp *qp, const RdmaWqe *w, uint32_t psn)
{
    const RdmaConfig *cfg = &qp->dev->cfg;
    const Holdings *h = wqe_limited_by(qp);

    if (cfg->ack_req == RDMA_ACKREQ_ALL || psn == w->last_psn ||
        wqe_is_rd(w) || ++qp->req.since_ackreq >= ACKREQ_PERIOD ||
        /* Nobody may be left waiting for a buffer without an ACK due. */
        h->swpb_packets > cfg->swpb_packets / 2 ||
        h->swpb_units > cfg->swpb_units / 2) {
        qp->req.since_ackreq = 0;
        return true;
    }
    return false;
}

/*
 * Build and send packet @psn of @w.  RDMA_WC_SUCCESS, or why the payload
 * cannot be had.
 */
static RdmaStatus send_packet(RdmaQp *qp, RdmaWqe *w, uint32_t psn,
                              const Path *path)
{
    RdmaDev *dev = qp->dev;
    bool ud = qp->attr.service == RDMA_UD;
    uint32_t off = psn_diff(psn, w->first_psn) * qp->mtu;
    uint8_t opcode = packet_opcode(qp, w, psn);
    const RoceOp *op = &roce_ops[opcode];
    uint32_t len = op->flags & ROCE_F_PAYLOAD ?
                   MIN(w->length - off, qp->mtu) : 0;
    unsigned pad = -len & 3;
    uint8_t *bth = tx_begin(dev, path), *p = bth + op->hdr_len;
    uint32_t dqpn = ud ? w->dqpn : qp->attr.dest_qpn;
    uint32_t sqpn = w->flags & RDMA_WQE_SRC_QPN ? w->src_qpn : qp->qpn;
    bool se = dev->cfg.send_se_always ||
              ((w->flags & RDMA_WQE_SOLICITED) && (op->flags & ROCE_F_LAST) &&
               (op->flags & (ROCE_F_SEND | ROCE_F_IMM)));

    bth_put(bth, opcode, se, pad,
            w->flags & RDMA_WQE_PKEY ? w->pkey : qp_pkey(qp), dqpn,
            is_rc(qp) ? want_ack(qp, w, psn) :
            dev->cfg.ack_req == RDMA_ACKREQ_ALL, psn);
    if (op->deth) {
        deth_put(bth + op->deth, w->qkey & 0x80000000 ? qp->attr.qkey :
                 w->qkey, sqpn);
    }
    if (op->reth) {
        reth_put(bth + op->reth, w->raddr + off, w->rkey, w->length - off);
    }
    if (op->atomic) {
        atomic_put(bth + op->atomic, w->raddr, w->rkey, w->swap_add,
                   w->compare);
    }
    if (op->imm) {
        memcpy(bth + op->imm, w->imm, sizeof(w->imm));
    }
    if (w->flags & RDMA_WQE_INLINE) {
        memcpy(p, w->inl + off, len);
    } else if (len && sge_gather(qp, w->sge, w->num_sge, off, p, len)) {
        rdma_rule(dev, qp->qpn, "RDMA §2.4.3.1.2", "local access refused");
        return RDMA_WC_LOC_PROT;
    }
    memset(p + len, 0, pad);
    tx_end(dev, path, bth, op->hdr_len + len + pad, qp->qpn ^ dqpn << 7);
    return RDMA_WC_SUCCESS;
}

/* ---- repetition ---- */

/*
 * PSNs under way are compared by their distance from UPSN: a window may be as
 * wide as half of all PSNs, where a difference has lost its sign.
 */
static uint32_t under_way(const Requester *r)
{
    return psn_ahead(r->npsn, r->upsn);
}

void req_retransmit(RdmaQp *qp, uint32_t from, uint32_t to)
{
    Requester *r = &qp->req;
    uint32_t a = psn_ahead(from, r->upsn), b = psn_ahead(to, r->upsn);

    if (a > under_way(r)) {
        from = r->upsn;
        a = 0;
    }
    if (!qp->dev->cfg.retx_range || b > under_way(r)) {
        to = r->npsn;
        b = under_way(r);
    }
    if (b <= a) {
        return;
    }
    r->retx = true;
    r->retx_psn = from;
    r->retx_end = to;
    if (qp->stall != STALL_NEIGH) {
        qp_run(qp);
    }
}

static RdmaWqe *wqe_of_psn(Requester *r, uint32_t psn)
{
    for (RdmaWqe *w = r->head; w; w = w->next) {
        /* One without PSNs sends nothing and only waits to complete. */
        if (w->has_psn && psn_diff(psn, w->last_psn) <= 0) {
            return psn_diff(psn, w->first_psn) >= 0 ? w : NULL;
        }
    }
    return NULL;
}

/* One repeated packet.  False: stalled, or nothing left. */
static bool retx_step(RdmaQp *qp)
{
    Requester *r = &qp->req;
    RdmaStatus status = RDMA_WC_SUCCESS;
    uint32_t end = psn_ahead(r->retx_end, r->upsn);
    Resolve way;
    RdmaWqe *w;

    if (psn_ahead(r->retx_psn, r->upsn) > under_way(r)) {
        r->retx_psn = r->upsn;  /* that far it is acknowledged by now */
    }
    w = end <= under_way(r) && end > psn_ahead(r->retx_psn, r->upsn) ?
        wqe_of_psn(r, r->retx_psn) : NULL;
    if (!w || w->state == WQE_DONE) {   /* one that failed */
        r->retx = false;
        return true;
    }
    way = path_resolve(qp, &qp->attr.av, &qp->path);
    if (way == RESOLVE_WAIT) {
        return false;
    }
    if (way == RESOLVE_OK) {
        status = send_packet(qp, w, r->retx_psn, &qp->path);
    }
    qp->dev->cnt.retransmits++;
    r->retx_psn = psn_add(w->opcode == RDMA_OP_READ ? w->last_psn :
                          r->retx_psn, 1);
    if (qp->loss_at == NEVER) {
        req_arm_loss(qp);
    }
    if (status != RDMA_WC_SUCCESS) {
        r->retx = false;
        end_locally(qp, w, status);
    }
    return true;
}

/* ---- new work ---- */

/* Take the next WQE.  False: there is none, or it has to wait. */
static bool next_wqe(RdmaQp *qp)
{
    Requester *r = &qp->req;
    RdmaDev *dev = qp->dev;
    RdmaStatus status;
    RdmaWqe *w;
    RdmaFetch f;

    if (!r->more || r->bad || qp->attr.state == RDMA_QPS_SQD) {
        return false;
    }
    w = wqe_alloc(qp);
    if (!w) {
        qp_stall(qp, STALL_WQE);
        return false;
    }
    f = dev->cfg.pers->fetch_send(dev->cfg.pers_opaque, qp, w);
    if (f == RDMA_FETCH_NONE) {
        r->more = false;
        wqe_release(qp, w);
        return false;
    }
    if (r->tail) {
        r->tail->next = w;
    } else {
        r->head = w;
    }
    w->next = NULL;
    r->tail = w;
    if (f == RDMA_FETCH_BAD) {
        rdma_rule(dev, qp->qpn, "RDMA §2.4.1", "send queue cannot be read");
        dev->cfg.pers->event(dev->cfg.pers_opaque, RDMA_EV_WQ_CATAS,
                             qp->qpn);
        end_locally(qp, w, w->error ? w->error : RDMA_WC_FLUSH);
        return true;
    }
    status = check_wqe(qp, w);
    if (status != RDMA_WC_SUCCESS || w->opcode == RDMA_OP_NOP) {
        end_locally(qp, w, status);
        return true;
    }
    w->state = WQE_NEW;
    r->cur = w;
    return true;
}

/* First packet of @w: it gets its PSNs.  False: must wait. */
static bool start_wqe(RdmaQp *qp, RdmaWqe *w)
{
    Requester *r = &qp->req;

    uint32_t packets = wqe_packets(qp, w), reads = r->held.rpb_packets;

    if (qp->attr.state == RDMA_QPS_SQD ||
        ((w->flags & RDMA_WQE_FENCE) && reads) ||
        (wqe_is_rd(w) && reads >= MAX(qp->attr.max_rd_atomic, 1)) ||
        under_way(r) + packets > PSN_WINDOW) {
        return false;           /* a WQE that ends, or SQD2RTS, runs us again */
    }
    w->first_psn = r->npsn;
    w->last_psn = psn_add(r->npsn, packets - 1);
    return true;
}

bool req_step(RdmaQp *qp)
{
    Requester *r = &qp->req;
    RdmaStatus status = RDMA_WC_SUCCESS;
    bool ud = qp->attr.service == RDMA_UD;
    Path once = { 0 }, *path = ud ? &once : &qp->path;
    Resolve way;
    uint32_t psn;
    RdmaWqe *w;
    Stall wait;

    if ((qp->attr.state != RDMA_QPS_RTS && qp->attr.state != RDMA_QPS_SQD) ||
        r->rnr_wait) {
        return false;
    }
    if (r->retx) {
        return retx_step(qp);
    }
    if (!r->cur) {
        return next_wqe(qp);
    }
    w = r->cur;
    if (w->state == WQE_NEW && !start_wqe(qp, w)) {
        return false;
    }
    wait = is_rc(qp) ? wqe_room(qp, w) : STALL_NONE;
    if (wait != STALL_NONE) {
        qp_stall(qp, wait);
        return false;
    }
    way = path_resolve(qp, ud ? &w->av : &qp->attr.av, path);
    if (way == RESOLVE_WAIT) {
        return false;
    }
    psn = r->npsn;
    if (way == RESOLVE_OK) {
        status = send_packet(qp, w, psn, path);
    }
    if (status != RDMA_WC_SUCCESS) {
        end_locally(qp, w, status);
        return true;
    }
    if (w->state == WQE_NEW) {
        w->state = WQE_SENDING;
        w->has_psn = true;
    }
    r->npsn = psn_add(wqe_is_rd(w) ? w->last_psn : psn, 1);
    if (is_rc(qp)) {
        wqe_hold(qp, w);
        if (qp->loss_at == NEVER) {
            req_arm_loss(qp);
        }
    }
    if (psn == w->last_psn || wqe_is_rd(w)) {
        w->state = WQE_SENT;
        r->cur = NULL;
        if (!is_rc(qp)) {
            r->upsn = r->npsn;
            end_locally(qp, w, RDMA_WC_SUCCESS);
            req_check_drained(qp);
        }
    }
    return true;
}

/* ---- timers ---- */

void req_timeout_rnr(RdmaQp *qp)
{
    Requester *r = &qp->req;

    if (!r->rnr_wait) {
        return;
    }
    r->rnr_wait = false;
    qp->dev->cnt.rnr_timeouts++;
    req_retransmit(qp, r->upsn, r->npsn);
    req_arm_loss(qp);
    qp_run(qp);
}

void req_timeout_loss(RdmaQp *qp)
{
    Requester *r = &qp->req;
    RdmaWqe *w = r->head;

    if (r->upsn == r->npsn || r->rnr_wait || !w || !w->has_psn ||
        (qp->attr.state != RDMA_QPS_RTS && qp->attr.state != RDMA_QPS_SQD)) {
        return;
    }
    qp->dev->cnt.timeouts++;
    if (!r->retry_left) {
        qp->dev->cnt.retry_exceeded++;
        wqe_complete_head(qp, RDMA_WC_RETRY_EXC);
        qp_error(qp, "RDMA §3.4.5.1.4: retries exhausted");
        return;
    }
    r->retry_left--;
    r->retx_marked = false;
    req_retransmit(qp, r->upsn, r->npsn);
    if (qp->dev->cfg.retx_one && r->retx) {
        r->retx_end = psn_add(r->upsn, 1);
    }
    req_arm_loss(qp);
}
