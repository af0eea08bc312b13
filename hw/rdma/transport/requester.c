/*
 * Requester, sending side (seed: WQEParse checks RDMA §2.4.3.1.2,
 * RequesterTransControl §3.4.1).
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

    return ns * MAX(cfg->time_scale, 1);
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

        if (is_rc(qp) && w->has_psn) {
            uint32_t from = psn_diff(r->upsn, w->first_psn) > 0 ? r->upsn :
                            w->first_psn;
            wqe_hold_from(qp, w, from, true);
        }
        r->head = w->next;
        wqe_release(qp->dev, w);
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

static RdmaStatus check_wqe(RdmaQp *qp, RdmaWqe *w)
{
    bool rd = wqe_is_rd(w);
    uint64_t len = 0;

    if (w->error) {
        return w->error;
    }
    if (!op_allowed(qp->dev, qp->attr.service, w->opcode)) {
        rdma_rule(qp->dev, "RDMA table 1.1", "opcode not allowed", qp->qpn);
        return RDMA_WC_LOC_QP_OP;
    }
    if (w->flags & RDMA_WQE_INLINE) {
        if (rd || w->inl_len > RDMA_MAX_INLINE) {
            rdma_rule(qp->dev, "RDMA §2.4.3.1.1", "bad inline segment",
                      qp->qpn);
            return RDMA_WC_LOC_QP_OP;
        }
        len = w->inl_len;
    } else {
        w->num_sge = MIN(w->num_sge, RDMA_MAX_SGE);
        for (int i = 0; i < w->num_sge; i++) {
            len += w->sge[i].len;
        }
    }
    if (w->opcode >= RDMA_OP_CMP_SWAP) {
        if (len < 8) {
            rdma_rule(qp->dev, "RDMA §2.4.3.1.1", "atomic without room for "
                      "its result", qp->qpn);
            return RDMA_WC_LOC_LEN;
        }
        len = 8;
    }
    if (len > (UINT64_C(1) << 31) ||
        (qp->attr.service == RDMA_UD && len > qp->mtu)) {
        rdma_rule(qp->dev, "RDMA §2.4.3.1.2", "message too long", qp->qpn);
        return RDMA_WC_LOC_LEN;
    }
    w->length = len;
    if (w->flags & RDMA_WQE_INLINE) {
        return RDMA_WC_SUCCESS;
    }
    for (int i = 0; i < w->num_sge; i++) {
        if (rdma_mr_check(qp->dev, w->sge[i].key, qp->attr.pd,
                          w->sge[i].addr, w->sge[i].len,
                          rd ? RDMA_ACC_LOCAL_WRITE : 0)) {
            rdma_rule(qp->dev, "RDMA §2.4.3.1.2", "local access refused",
                      qp->qpn);
            return RDMA_WC_LOC_PROT;
        }
    }
    return RDMA_WC_SUCCESS;
}

/* @w ends with @status when all before it have ended (RDMA §3.4.1.1.3.1). */
static void make_local(RdmaQp *qp, RdmaWqe *w, RdmaStatus status)
{
    w->state = WQE_BAD;
    w->status = status;
    if (qp->req.cur == w) {
        qp->req.cur = NULL;
    }
    if (status != RDMA_WC_SUCCESS) {
        qp->req.bad = true;
    }
    comp_bad_head(qp);
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
    RdmaDev *dev = qp->dev;

    if (dev->cfg.ack_req == RDMA_ACKREQ_ALL || psn == w->last_psn ||
        wqe_is_rd(w) || ++qp->req.since_ackreq >= ACKREQ_PERIOD ||
        /* Nobody may be left waiting for a buffer without an ACK due. */
        dev->swpb_packets > dev->cfg.swpb_packets / 2 ||
        dev->swpb_units > dev->cfg.swpb_units / 2) {
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
        memcpy(bth + op->imm, w->imm, 4);
    }
    if (w->flags & RDMA_WQE_INLINE) {
        memcpy(p, w->inl + off, len);
    } else if (len && sge_gather(qp, w->sge, w->num_sge, off, p, len)) {
        rdma_rule(dev, "RDMA §2.4.3.1.2", "local access refused", qp->qpn);
        return RDMA_WC_LOC_PROT;
    }
    memset(p + len, 0, pad);
    tx_end(dev, path, bth, op->hdr_len + len + pad, qp->qpn ^ dqpn << 7);
    return RDMA_WC_SUCCESS;
}

/* The path of the QP, or of a datagram.  False: the QP was stalled. */
static bool get_path(RdmaQp *qp, const RdmaWqe *w, Path *ud, Path **path,
                     bool *lost)
{
    bool own = qp->attr.service == RDMA_UD;
    Path *p = own ? ud : &qp->path;

    *path = p;
    *lost = false;
    if (!own && p->valid && p->gen == qp->dev->path_gen) {
        return true;
    }
    switch (net_path(qp->dev, own ? &w->av : &qp->attr.av, p)) {
    case RESOLVE_OK:
        return true;
    case RESOLVE_WAIT:
        qp_stall(qp, STALL_NEIGH);
        return false;
    case RESOLVE_NEVER:
        /* Nobody there: as if the wire had lost it. */
        *lost = true;
        qp->dev->cnt.tx_dropped++;
        return true;
    }
    return true;
}

/* ---- repetition ---- */

void req_retransmit(RdmaQp *qp, uint32_t from, uint32_t to)
{
    Requester *r = &qp->req;

    if (psn_diff(from, r->upsn) < 0) {
        from = r->upsn;
    }
    if (!qp->dev->cfg.retx_range || psn_diff(to, r->npsn) > 0) {
        to = r->npsn;
    }
    if (psn_diff(to, from) <= 0) {
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
    for (RdmaWqe *w = r->head; w && w->has_psn; w = w->next) {
        if (psn_diff(psn, w->last_psn) <= 0) {
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
    RdmaWqe *w;
    Path *path;
    bool lost;

    if (psn_diff(r->retx_psn, r->upsn) < 0) {
        r->retx_psn = r->upsn;
    }
    w = psn_diff(r->retx_end, r->retx_psn) > 0 ?
        wqe_of_psn(r, r->retx_psn) : NULL;
    if (!w || (w->state == WQE_BAD && w->status != RDMA_WC_SUCCESS)) {
        r->retx = false;
        return true;
    }
    if (!get_path(qp, w, NULL, &path, &lost)) {
        return false;
    }
    if (!lost) {
        status = send_packet(qp, w, r->retx_psn, path);
    }
    qp->dev->cnt.retransmits++;
    r->retx_psn = psn_add(w->opcode == RDMA_OP_READ ? w->last_psn :
                          r->retx_psn, 1);
    if (qp->loss_at == NEVER) {
        req_arm_loss(qp);
    }
    if (status != RDMA_WC_SUCCESS) {
        r->retx = false;
        make_local(qp, w, status);
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
    w = wqe_alloc(dev);
    if (!w) {
        qp_stall(qp, STALL_WQE);
        return false;
    }
    f = dev->cfg.pers->fetch_send(dev->cfg.pers_opaque, qp, w);
    if (f == RDMA_FETCH_NONE) {
        r->more = false;
        wqe_release(dev, w);
        return false;
    }
    if (r->tail) {
        r->tail->next = w;
    } else {
        r->head = w;
    }
    w->next = NULL;
    r->tail = w;
    w->seq = r->seq++;
    if (f == RDMA_FETCH_BAD) {
        rdma_rule(dev, "RDMA §2.4.1", "send queue cannot be read", qp->qpn);
        dev->cfg.pers->event(dev->cfg.pers_opaque, RDMA_EV_WQ_CATAS,
                             qp->qpn);
        make_local(qp, w, w->error ? w->error : RDMA_WC_FLUSH);
        return true;
    }
    status = check_wqe(qp, w);
    if (status != RDMA_WC_SUCCESS || w->opcode == RDMA_OP_NOP) {
        make_local(qp, w, status);
        return true;
    }
    w->state = WQE_NEW;
    r->cur = w;
    return true;
}

/*
 * May the next packet of @w enter the buffers (RDMA §3.4.1.1.3.2.3)?  An empty
 * buffer takes one packet of any size, or a small buffer would stop for ever.
 */
static bool have_room(RdmaQp *qp, const RdmaWqe *w)
{
    const RdmaConfig *cfg = &qp->dev->cfg;
    const RdmaDev *dev = qp->dev;
    Stall why = STALL_NONE;

    if (wqe_is_rd(w)) {
        why = dev->rpb_packets >= MAX(cfg->rpb_packets, 1) ? STALL_RPB :
              dev->reb_entries && dev->reb_entries + w->num_sge >
                                  cfg->reb_entries ? STALL_REB : STALL_NONE;
    } else if (dev->swpb_packets &&
               (dev->swpb_packets >= cfg->swpb_packets ||
                dev->swpb_units + (MIN(w->length, qp->mtu) + 31) / 32 >
                cfg->swpb_units)) {
        why = STALL_SWPB;
    }
    if (why != STALL_NONE) {
        qp_stall(qp, why);
        return false;
    }
    return true;
}

/* First packet of @w: it gets its PSNs.  False: must wait. */
static bool start_wqe(RdmaQp *qp, RdmaWqe *w)
{
    Requester *r = &qp->req;

    if (qp->attr.state == RDMA_QPS_SQD ||
        ((w->flags & RDMA_WQE_FENCE) && r->rd_out) ||
        (wqe_is_rd(w) && r->rd_out >= MAX(qp->attr.max_rd_atomic, 1))) {
        return false;           /* an ending Read or SQD2RTS runs us again */
    }
    w->first_psn = r->npsn;
    w->last_psn = psn_add(r->npsn, wqe_packets(qp, w) - 1);
    return true;
}

bool req_step(RdmaQp *qp)
{
    Requester *r = &qp->req;
    RdmaStatus status = RDMA_WC_SUCCESS;
    uint32_t psn;
    RdmaWqe *w;
    Path ud, *path;
    bool lost;

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
    if ((is_rc(qp) && !have_room(qp, w)) ||
        !get_path(qp, w, &ud, &path, &lost)) {
        return false;
    }
    psn = r->npsn;
    if (!lost) {
        status = send_packet(qp, w, psn, path);
    }
    if (status != RDMA_WC_SUCCESS) {
        make_local(qp, w, status);
        return true;
    }
    if (w->state == WQE_NEW) {
        w->state = WQE_SENDING;
        w->has_psn = true;
        r->rd_out += is_rc(qp) && wqe_is_rd(w);
    }
    r->npsn = psn_add(wqe_is_rd(w) ? w->last_psn : psn, 1);
    if (is_rc(qp)) {
        wqe_hold_from(qp, w, psn, false);
        if (qp->loss_at == NEVER) {
            req_arm_loss(qp);
        }
    }
    if (psn == w->last_psn || wqe_is_rd(w)) {
        w->state = WQE_SENT;
        r->cur = NULL;
        if (!is_rc(qp)) {
            r->upsn = r->npsn;
            wqe_complete(qp, w, RDMA_WC_SUCCESS);
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
        wqe_complete(qp, w, RDMA_WC_RETRY_EXC);
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
