/*
 * Responder (RDMA chapter 4).
 *
 * A request passes a chain of checks, each of which lets it on, drops it or
 * answers it; only then is it executed:
 *
 *   sequence of opcodes -> PSN -> right of the operation -> lengths ->
 *   receive WQE -> remote key -> execute -> complete -> acknowledge
 *
 * The order of PSN and opcode sequence is that of IB 1.3 §9.7.4: a duplicate
 * is never judged by the message in progress.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { MAD_BYTES = 256 };       /* IB 1.3 §13.4.2 */

typedef enum Check {
    PASS,
    DROP,           /* silently (counted) */
    NAK_INV,        /* invalid request */
    NAK_ACC,        /* remote access error */
    NAK_OP,         /* remote operational error */
    RNR,
} Check;

void resp_reset(RdmaQp *qp)
{
    Responder *r = &qp->resp;
    uint32_t num = r->reply_num, psn = r->epsn;

    g_free(r->reply);
    memset(r, 0, offsetof(Responder, wqe));
    r->reply_num = num;
    r->epsn = psn;
}

/* ---- answers ---- */

static uint8_t *answer_begin(RdmaQp *qp, uint8_t op, unsigned pad, uint32_t psn)
{
    uint8_t *bth = tx_begin(qp->dev, &qp->path);

    bth_put(bth, op, false, pad, qp_pkey(qp), qp->attr.dest_qpn, false, psn);
    return bth;
}

static void answer_end(RdmaQp *qp, uint8_t *bth, uint32_t len)
{
    tx_end(qp->dev, &qp->path, bth, len, qp->qpn ^ qp->attr.dest_qpn << 7);
}

static void send_ack(RdmaQp *qp)
{
    Responder *r = &qp->resp;
    RdmaCounters *c = &qp->dev->cnt;
    uint64_t *const nak[] = {
        [NAK_PSN_SEQUENCE] = &c->nak_seq_tx,
        [NAK_INVALID_REQUEST] = &c->nak_inv_tx,
        [NAK_REMOTE_ACCESS] = &c->nak_access_tx,
        [NAK_REMOTE_OP] = &c->nak_op_tx,
    };
    uint8_t type = r->ack_syndrome & AETH_TYPE_MASK, *bth;

    r->ack_due = false;
    (*(type == AETH_ACK ? &c->ack_tx : type == AETH_RNR_NAK ? &c->rnr_tx :
       nak[r->ack_syndrome & 3]))++;
    bth = answer_begin(qp, ROCE_ACK, 0, r->ack_psn);
    aeth_put(bth + ROCE_BTH_BYTES, r->ack_syndrome, r->msn);
    answer_end(qp, bth, ROCE_BTH_BYTES + ROCE_AETH_BYTES);
}

/*
 * An ACK or NAK is due.  It leaves behind the answers of earlier Reads, and
 * at the end of the burst of input, so that one ACK covers many packets.
 */
static void answer_due(RdmaQp *qp, uint8_t syndrome, uint32_t psn)
{
    Responder *r = &qp->resp;

    if (r->ack_due && (r->ack_syndrome & AETH_TYPE_MASK) != AETH_ACK &&
        (syndrome & AETH_TYPE_MASK) == AETH_ACK && r->nak_sent) {
        return;                 /* a NAK is not taken back by a repetition */
    }
    r->ack_due = true;
    r->ack_syndrome = syndrome;
    r->ack_psn = psn;
    if (!qp->dev->cfg.ack_coalesce && r->reply_head == r->reply_tail) {
        resp_step(qp);
    } else if (qp->stall != STALL_NEIGH) {
        qp_run(qp);
    }
}

static void send_ack_ok(RdmaQp *qp, const RxPacket *pkt)
{
    if (bth_ackreq(pkt->bth)) {
        answer_due(qp, AETH_ACK | AETH_CREDITS_NONE, pkt->psn);
    }
}

static void raise_event(RdmaQp *qp, RdmaEvent ev)
{
    qp->dev->cfg.pers->event(qp->dev->cfg.pers_opaque, ev, qp->qpn);
}

static void nak_fatal(RdmaQp *qp, unsigned code, RdmaEvent ev, uint32_t psn)
{
    Responder *r = &qp->resp;

    r->nak_sent = true;
    answer_due(qp, AETH_NAK | code, psn);
    if (qp->dev->cfg.resp_fatal || code == NAK_REMOTE_OP) {
        raise_event(qp, ev);
        r->last_words = true;
        qp_error(qp, "fatal NAK sent");
    }
}

/* ---- Reads and atomics being answered or remembered ---- */

static RdReply *reply_at(const Responder *r, uint32_t i)
{
    return &r->reply[i & (r->reply_num - 1)];
}

/* The one that is being answered is done with: on to the next that is due. */
static void reply_done(Responder *r)
{
    reply_at(r, r->reply_head)->due = false;
    do {
        r->reply_head++;
    } while (r->reply_head != r->reply_tail &&
             !reply_at(r, r->reply_head)->due);
    if ((int32_t)(r->reply_head - r->reply_fresh) > 0) {
        r->reply_fresh = r->reply_head;
    }
}

void resp_drop_replies(RdmaQp *qp)
{
    while (qp->resp.reply_head != qp->resp.reply_tail) {
        reply_done(&qp->resp);
    }
}

/* Answer the one at @pos from @psn on. */
static void reply_due(RdmaQp *qp, uint32_t pos, uint32_t psn)
{
    Responder *r = &qp->resp;
    RdReply *s = reply_at(r, pos);

    s->due = true;
    s->start_psn = s->psn = psn;
    if ((int32_t)(pos - r->reply_head) < 0) {
        r->reply_head = pos;
    }
    if (qp->stall != STALL_NEIGH) {
        qp_run(qp);
    }
}

/* May the peer have another under way? */
static bool reply_allowed(const RdmaQp *qp)
{
    return qp->resp.reply_tail - qp->resp.reply_fresh <
           MAX(qp->attr.max_dest_rd_atomic, 1);
}

static RdReply *reply_new(RdmaQp *qp)
{
    Responder *r = &qp->resp;

    if (!r->reply) {
        r->reply_num = MAX(r->reply_num, 2);
        r->reply = g_new0(RdReply, r->reply_num);
    }
    if (r->reply_tail - r->reply_head >= r->reply_num) {
        reply_done(r);          /* a repetition, which may be repeated */
    }
    return reply_at(r, r->reply_tail++);
}

/* A remembered one that covers @psn: its ring position, or -1. */
static int64_t reply_find(const Responder *r, uint32_t psn,
                          enum ReplyKind kind)
{
    uint32_t n = r->reply ? MIN(r->reply_tail, r->reply_num) : 0;

    /* Newest first: an old one may have the same PSN of an earlier round. */
    for (uint32_t k = 1; k <= n; k++) {
        uint32_t i = r->reply_tail - k;
        const RdReply *s = reply_at(r, i);

        if (s->kind == kind && psn_diff(psn, s->first_psn) >= 0 &&
            psn_diff(s->last_psn, psn) >= 0) {
            return i;
        }
    }
    return -1;
}

/* One Read response packet.  False: the region failed. */
static bool read_response(RdmaQp *qp, const RdReply *s)
{
    uint32_t off = psn_ahead(s->psn, s->first_psn) * qp->mtu;
    uint32_t len = MIN(s->len - off, qp->mtu);
    bool first = s->psn == s->start_psn, last = s->psn == s->last_psn;
    uint8_t op = first && last ? ROCE_READ_ONLY : first ? ROCE_READ_FIRST :
                 last ? ROCE_READ_LAST : ROCE_READ_MIDDLE;
    unsigned pad = -len & 3;
    uint8_t *bth = answer_begin(qp, op, pad, s->psn);
    uint8_t *p = bth + roce_ops[op].hdr_len;

    if (roce_ops[op].aeth) {
        aeth_put(bth + ROCE_BTH_BYTES, AETH_ACK | AETH_CREDITS_NONE, s->msn);
    }
    if (len && rdma_mr_read(qp->dev, s->rkey, qp->attr.pd, s->va + off, p,
                            len, RDMA_ACC_REMOTE_READ)) {
        return false;
    }
    memset(p + len, 0, pad);
    answer_end(qp, bth, roce_ops[op].hdr_len + len + pad);
    return true;
}

static void atomic_response(RdmaQp *qp, const RdReply *s)
{
    uint8_t *bth = answer_begin(qp, ROCE_ATOMIC_ACK, 0, s->psn);

    aeth_put(bth + ROCE_BTH_BYTES, AETH_ACK | AETH_CREDITS_NONE, s->msn);
    put_be64(bth + roce_ops[ROCE_ATOMIC_ACK].atomack, s->orig);
    answer_end(qp, bth, roce_ops[ROCE_ATOMIC_ACK].hdr_len);
}

void resp_last_ack(RdmaQp *qp)
{
    Responder *r = &qp->resp;

    if (r->ack_due && r->reply_head == r->reply_tail &&
        path_resolve(qp, &qp->attr.av, &qp->path) == RESOLVE_OK) {
        send_ack(qp);
    }
}

/* The region went away while it was read. */
static void read_failed(RdmaQp *qp, const RdReply *s)
{
    uint32_t psn = s->psn;

    if (s->again) {
        /* A late copy of a Read that was answered: nobody waits for it. */
        reply_done(&qp->resp);
        return;
    }
    resp_drop_replies(qp);
    nak_fatal(qp, NAK_REMOTE_ACCESS, RDMA_EV_WQ_ACCESS, psn);
}

bool resp_step(RdmaQp *qp)
{
    Responder *r = &qp->resp;
    bool none = r->reply_head == r->reply_tail;
    Resolve way;
    RdReply *s;

    if (none && !r->ack_due) {
        return false;
    }
    way = path_resolve(qp, &qp->attr.av, &qp->path);
    if (way == RESOLVE_WAIT) {
        return false;
    }
    if (none) {
        if (way == RESOLVE_OK) {
            send_ack(qp);
        }
        r->ack_due = false;
        return true;
    }
    s = reply_at(r, r->reply_head);
    if (way == RESOLVE_OK) {
        if (s->kind == REPLY_ATOMIC) {
            atomic_response(qp, s);
        } else if (!read_response(qp, s)) {
            read_failed(qp, s);
            return true;
        }
    }
    if (s->psn == s->last_psn) {
        reply_done(r);
    } else {
        s->psn = psn_add(s->psn, 1);
    }
    return true;
}

/* ---- the chain ---- */

static uint32_t read_packets(const RdmaQp *qp, uint32_t len)
{
    return len <= qp->mtu ? 1 : (len - 1) / qp->mtu + 1;
}

/*
 * A Read seen before: it is answered again, and it alone.  The requester
 * repeats those behind it if it misses their answers, too.
 */
static void repeat_read(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    const uint8_t *reth = pkt->bth + pkt->op->reth;
    uint32_t len = reth_len(reth), off;
    uint32_t last = psn_add(pkt->psn, read_packets(qp, len) - 1);
    int64_t pos = reply_find(r, pkt->psn, REPLY_READ);
    RdReply *s;

    if (len > (1u << 31) || psn_diff(last, r->epsn) >= 0) {
        return;                 /* reaches into the future: not a repetition */
    }
    if (pos < 0) {
        if (!reply_allowed(qp)) {
            return;
        }
        s = reply_new(qp);
        *s = (RdReply) {
            .kind = REPLY_READ, .again = true, .msn = r->msn,
            .first_psn = pkt->psn, .last_psn = last, .va = reth_va(reth),
            .rkey = reth_rkey(reth), .len = len,
        };
        pos = (uint32_t)(r->reply_tail - 1);
    }
    s = reply_at(r, pos);
    off = psn_ahead(pkt->psn, s->first_psn) * qp->mtu;
    if (len != s->len - off || reth_va(reth) != s->va + off ||
        reth_rkey(reth) != s->rkey) {
        return;                 /* not a part of that Read up to its end */
    }
    if (s->due && psn_diff(s->psn, pkt->psn) <= 0 &&
        (int32_t)((uint32_t)pos - r->reply_head) >= 0) {
        return;                 /* still on its way */
    }
    s->again |= (int32_t)((uint32_t)pos - r->reply_fresh) < 0;
    reply_due(qp, pos, pkt->psn);
}

/* RC: a request seen before (RDMA §4.4.1; IB 1.3 §9.7.5). */
static void duplicate(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    int64_t pos;

    qp->dev->cnt.rx_duplicate++;
    if (pkt->op->flags & ROCE_F_READ) {
        repeat_read(qp, pkt);
    } else if (pkt->op->flags & ROCE_F_ATOMIC) {
        pos = reply_find(r, pkt->psn, REPLY_ATOMIC);
        if (pos >= 0) {
            reply_due(qp, pos, pkt->psn);
        }
    } else {
        answer_due(qp, AETH_ACK | AETH_CREDITS_NONE, psn_add(r->epsn, -1));
    }
}

static Check check_psn_rc(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    int32_t d = psn_diff(pkt->psn, r->epsn);

    if (d < 0) {
        duplicate(qp, pkt);
        return DROP;
    }
    if (d > 0) {
        qp->dev->cnt.rx_out_of_sequence++;
        if (!r->nak_sent) {
            r->nak_sent = true;
            answer_due(qp, AETH_NAK | NAK_PSN_SEQUENCE, r->epsn);
        }
        return DROP;
    }
    r->nak_sent = false;
    return PASS;
}

/* UC: a First or Only takes up the thread again (RDMA §4.4.1). */
static Check check_psn_uc(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    bool begins = pkt->op->flags & ROCE_F_FIRST;

    if (pkt->psn != r->epsn) {
        qp->dev->cnt.rx_out_of_sequence++;
        r->in_msg = false;
        r->drop_msg = true;
    }
    r->epsn = psn_add(pkt->psn, 1);
    if (begins) {
        r->drop_msg = false;
        r->in_msg = false;
        return PASS;
    }
    return r->drop_msg ? DROP : PASS;
}

static Check check_sequence(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    uint16_t f = pkt->op->flags;

    if (f & ROCE_F_FIRST ? r->in_msg : !r->in_msg) {
        return NAK_INV;
    }
    if (r->in_msg && !(f & r->msg_flags)) {
        return NAK_INV;
    }
    return f & ROCE_F_INV ? NAK_INV : PASS;
}

static Check check_rights(RdmaQp *qp, const RxPacket *pkt)
{
    uint16_t f = pkt->op->flags;
    unsigned need = f & ROCE_F_WRITE ? RDMA_ACC_REMOTE_WRITE :
                    f & ROCE_F_READ ? RDMA_ACC_REMOTE_READ :
                    f & ROCE_F_ATOMIC ? RDMA_ACC_REMOTE_ATOMIC : 0;

    if ((f & ROCE_F_ATOMIC) && !qp->dev->cfg.atomics) {
        return NAK_INV;
    }
    /* IB 1.3 §9.7.4.1.4: an operation the QP does not allow. */
    return need & ~qp->attr.access ? NAK_INV : PASS;
}

static Check check_length(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    uint16_t f = pkt->op->flags;
    uint64_t total;

    /* What has no payload is First and Last, and passes as empty. */
    if (f & ROCE_F_LAST ? pkt->paylen > qp->mtu ||
                          (!(f & ROCE_F_FIRST) && !pkt->paylen) :
                          pkt->paylen != qp->mtu) {
        qp->dev->cnt.rx_length++;
        return NAK_INV;
    }
    total = f & ROCE_F_FIRST ? pkt->paylen :
            (uint64_t)r->got + pkt->paylen;
    if (total > (UINT64_C(1) << 31)) {
        return NAK_INV;
    }
    if (f & ROCE_F_WRITE) {
        uint32_t len = f & ROCE_F_FIRST ?
                       reth_len(pkt->bth + pkt->op->reth) : r->len;

        if (f & ROCE_F_LAST ? total != len : total >= len) {
            qp->dev->cnt.rx_length++;
            return NAK_INV;
        }
    }
    return PASS;
}

/* A message that uses one gets its receive WQE. */
static Check get_wqe(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    RdmaDev *dev = qp->dev;
    uint16_t f = pkt->op->flags;
    bool need = f & ROCE_F_SEND ? f & ROCE_F_FIRST : f & ROCE_F_IMM;

    if (!need || r->have_wqe) {
        return PASS;
    }
    switch (dev->cfg.pers->fetch_recv(dev->cfg.pers_opaque, qp, &r->wqe)) {
    case RDMA_FETCH_OK:
        r->wqe.num_sge = MIN(r->wqe.num_sge, RDMA_MAX_SGE);
        r->have_wqe = true;
        return PASS;
    case RDMA_FETCH_NONE:
        dev->cnt.rx_no_wqe++;
        return RNR;
    case RDMA_FETCH_BAD:
        break;
    }
    rdma_rule(dev, qp->qpn, "RDMA §4.4.2", "receive queue cannot be read");
    return NAK_OP;
}

static void complete_recv(RdmaQp *qp, const RxPacket *pkt, RdmaStatus status,
                          uint32_t bytes)
{
    Responder *r = &qp->resp;
    RdmaDev *dev = qp->dev;
    RdmaCqe cqe = {
        .wqe_id = r->wqe.id, .status = status, .byte_cnt = bytes,
        .opcode = ROCE_OP5(pkt->opcode), .solicited = bth_se(pkt->bth),
        .rqpn = qp->attr.dest_qpn, .pkey_index = pkt->pkey_index,
        .rlid = rdma_ip_to_lid(dev, pkt->sip),
    };

    if (pkt->dip == 0xffffffff) {
        /* Directed-route packets: both LIDs are the permissive one. */
        cqe.rlid = RDMA_LID_PERMISSIVE;
    }

    if (pkt->op->deth) {
        cqe.rqpn = deth_sqpn(pkt->bth + pkt->op->deth);
        cqe.has_grh = net_has_grh(dev, pkt);
    }
    if (pkt->op->flags & ROCE_F_IMM) {
        cqe.has_imm = true;
        memcpy(cqe.imm, pkt->bth + pkt->op->imm, sizeof(cqe.imm));
    }
    r->have_wqe = r->in_msg = false;
    qp_complete(qp, false, &cqe);
}

/* The receive WQE cannot take the message: it ends with @status. */
static Check bad_receive(RdmaQp *qp, const RxPacket *pkt, RdmaStatus status)
{
    complete_recv(qp, pkt, status, 0);
    return is_rc(qp) && status == RDMA_WC_LOC_LEN &&
           !qp->dev->cfg.len_nak_op ? NAK_INV : NAK_OP;
}

/*
 * The same where nobody is answered: after a receive that failed, a queue pair
 * does not go on (IB 1.3 §10.3.1).
 */
static void receive_failed(RdmaQp *qp)
{
    raise_event(qp, RDMA_EV_WQ_CATAS);
    qp_error(qp, "receive failed");
}

static Check do_send(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    uint64_t room = 0;

    for (uint32_t i = 0; i < r->wqe.num_sge; i++) {
        room += r->wqe.sge[i].len;
    }
    if (r->got + (uint64_t)pkt->paylen > room) {
        return bad_receive(qp, pkt, RDMA_WC_LOC_LEN);
    }
    if (pkt->paylen && sge_scatter(qp, r->wqe.sge, r->wqe.num_sge, r->got,
                                   pkt->payload, pkt->paylen)) {
        return bad_receive(qp, pkt, RDMA_WC_LOC_PROT);
    }
    return PASS;
}

static Check do_write(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    RdmaDev *dev = qp->dev;

    if (pkt->op->reth) {
        const uint8_t *reth = pkt->bth + pkt->op->reth;

        r->va = reth_va(reth);
        r->rkey = reth_rkey(reth);
        r->len = reth_len(reth);
        if (rdma_mr_check(dev, r->rkey, qp->attr.pd, r->va, r->len,
                          RDMA_ACC_REMOTE_WRITE)) {
            return NAK_ACC;
        }
    }
    if (pkt->paylen && rdma_mr_write(dev, r->rkey, qp->attr.pd,
                                     r->va + r->got, pkt->payload,
                                     pkt->paylen, RDMA_ACC_REMOTE_WRITE)) {
        return NAK_ACC;
    }
    return PASS;
}

static Check do_read(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    const uint8_t *reth = pkt->bth + pkt->op->reth;
    uint64_t va = reth_va(reth);
    uint32_t rkey = reth_rkey(reth), len = reth_len(reth);
    RdReply *s;

    if (len > (1u << 31)) {
        return NAK_INV;
    }
    if (rdma_mr_check(qp->dev, rkey, qp->attr.pd, va, len,
                      RDMA_ACC_REMOTE_READ)) {
        return NAK_ACC;
    }
    if (!reply_allowed(qp)) {
        return NAK_INV;         /* more than was agreed (IB 1.3 §9.7.4.1) */
    }
    s = reply_new(qp);
    *s = (RdReply) {
        .kind = REPLY_READ, .first_psn = pkt->psn,
        .last_psn = psn_add(pkt->psn, read_packets(qp, len) - 1),
        .va = va, .rkey = rkey, .len = len, .msn = psn_add(r->msn, 1),
    };
    reply_due(qp, r->reply_tail - 1, pkt->psn);
    r->epsn = s->last_psn;      /* the caller adds one */
    return PASS;
}

static Check do_atomic(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    const uint8_t *h = pkt->bth + pkt->op->atomic;
    uint64_t va = atomic_va(h), orig;
    RdReply *s;

    if (va & 7) {
        return NAK_INV;         /* IB 1.3 §9.4.5 */
    }
    if (!reply_allowed(qp)) {
        return NAK_INV;
    }
    if (mr_atomic(qp->dev, atomic_rkey(h), qp->attr.pd, va,
                  ROCE_OP5(pkt->opcode) == ROCE_CMP_SWAP, atomic_swap_add(h),
                  atomic_compare(h), &orig)) {
        return NAK_ACC;
    }
    s = reply_new(qp);
    *s = (RdReply) {
        .kind = REPLY_ATOMIC, .first_psn = pkt->psn, .last_psn = pkt->psn,
        .orig = orig, .msn = psn_add(r->msn, 1),
    };
    reply_due(qp, r->reply_tail - 1, pkt->psn);
    return PASS;
}

static Check execute(RdmaQp *qp, const RxPacket *pkt)
{
    uint16_t f = pkt->op->flags;

    return f & ROCE_F_SEND ? do_send(qp, pkt) :
           f & ROCE_F_WRITE ? do_write(qp, pkt) :
           f & ROCE_F_READ ? do_read(qp, pkt) : do_atomic(qp, pkt);
}

/* Consequence of a failed check for reliable service. */
static void refuse_rc(RdmaQp *qp, Check c)
{
    Responder *r = &qp->resp;

    switch (c) {
    case NAK_INV:
        nak_fatal(qp, NAK_INVALID_REQUEST, RDMA_EV_WQ_INVAL_REQ, r->epsn);
        break;
    case NAK_ACC:
        nak_fatal(qp, NAK_REMOTE_ACCESS, RDMA_EV_WQ_ACCESS, r->epsn);
        break;
    case NAK_OP:
        nak_fatal(qp, NAK_REMOTE_OP, RDMA_EV_WQ_CATAS, r->epsn);
        break;
    case RNR:
        r->nak_sent = true;
        answer_due(qp, AETH_RNR_NAK | (qp->attr.min_rnr_timer & 0x1f), r->epsn);
        break;
    default:
        break;
    }
}

/* The message went through: completion and message number. */
static void end_of_message(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    uint16_t f = pkt->op->flags;

    r->in_msg = false;
    r->msn = psn_add(r->msn, 1);
    if (f & ROCE_F_SEND) {
        complete_recv(qp, pkt, RDMA_WC_SUCCESS, r->got);
    } else if (f & ROCE_F_IMM) {
        complete_recv(qp, pkt, RDMA_WC_SUCCESS, r->len);
    }
}

static void rx_connected(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    uint16_t f = pkt->op->flags;
    bool rc = is_rc(qp);
    Check c = rc ? check_psn_rc(qp, pkt) : check_psn_uc(qp, pkt);

    if (c != PASS) {
        return;
    }
    if (!r->comm_est) {
        r->comm_est = true;
        if (qp->attr.state == RDMA_QPS_RTR) {
            raise_event(qp, RDMA_EV_COMM_EST);
        }
    }
    c = check_sequence(qp, pkt);
    if (c == PASS) {
        c = check_rights(qp, pkt);
    }
    if (c == PASS) {
        c = check_length(qp, pkt);
    }
    if (c == PASS) {
        c = get_wqe(qp, pkt);
    }
    if (c == PASS) {
        if (f & ROCE_F_FIRST) {
            r->got = 0;
        }
        c = execute(qp, pkt);
    }
    if (c != PASS) {
        if (rc) {
            refuse_rc(qp, c);
        } else {
            r->in_msg = false;
            r->drop_msg = true;
            if (c == NAK_OP) {
                receive_failed(qp);
            }
        }
        return;
    }
    if (f & (ROCE_F_SEND | ROCE_F_WRITE)) {
        r->got += pkt->paylen;
        r->in_msg = true;
        r->msg_flags = f & (ROCE_F_SEND | ROCE_F_WRITE);
    }
    if (rc) {
        r->epsn = psn_add(r->epsn, 1);
    }
    if (f & ROCE_F_LAST) {
        end_of_message(qp, pkt);
    }
    if (!rc) {
        return;
    }
    if (f & (ROCE_F_READ | ROCE_F_ATOMIC)) {
        /* Its response acknowledges all before it. */
        r->ack_due = false;
    } else {
        send_ack_ok(qp, pkt);
    }
}

/* ---- datagrams ---- */

static void rx_datagram(RdmaQp *qp, const RxPacket *pkt)
{
    Responder *r = &qp->resp;
    RdmaDev *dev = qp->dev;
    uint32_t qkey = deth_qkey(pkt->bth + pkt->op->deth);
    uint32_t head = dev->cfg.ud_grh == RDMA_GRH_NONE ? 0 : RDMA_GRH_BYTES;
    uint8_t grh[RDMA_GRH_BYTES];
    uint64_t room = 0;
    Check c;

    if (dev->cfg.qkey_check && qkey != qp->attr.qkey &&
        !(dev->cfg.qkey_zero_any && !qp->attr.qkey) &&
        qp != dev->alias[0]) {
        dev->cnt.rx_qkey++;
        return;
    }
    if (pkt->paylen > RDMA_MAX_MTU ||
        (qp->attr.special && pkt->paylen != MAD_BYTES)) {
        dev->cnt.rx_length++;   /* a peer may not fail a management QP */
        return;
    }
    c = get_wqe(qp, pkt);
    if (c != PASS) {
        if (c == NAK_OP) {
            receive_failed(qp);
        }
        return;
    }
    for (uint32_t i = 0; i < r->wqe.num_sge; i++) {
        room += r->wqe.sge[i].len;
    }
    if (pkt->paylen + head > room) {
        complete_recv(qp, pkt, RDMA_WC_LOC_LEN, 0);
        receive_failed(qp);
        return;
    }
    if (head) {
        net_grh(dev, pkt, pkt->mgid, grh);
    }
    if ((head && sge_scatter(qp, r->wqe.sge, r->wqe.num_sge, 0, grh, head)) ||
        (pkt->paylen && sge_scatter(qp, r->wqe.sge, r->wqe.num_sge, head,
                                    pkt->payload, pkt->paylen))) {
        complete_recv(qp, pkt, RDMA_WC_LOC_PROT, 0);
        receive_failed(qp);
        return;
    }
    complete_recv(qp, pkt, RDMA_WC_SUCCESS, pkt->paylen + head);
}

void resp_rx(RdmaQp *qp, const RxPacket *pkt)
{
    if (qp->attr.service == RDMA_UD) {
        rx_datagram(qp, pkt);
    } else {
        rx_connected(qp, pkt);
    }
}
