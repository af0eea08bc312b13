/*
 * ncic-mthca: doorbells of send queues, decoding of WQEs.
 *
 * A send WQE does not hold its own opcode and size: they are in the next
 * segment of its predecessor, or for the first of a batch in the doorbell.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define WQE_RADDR_BYTES 16
#define WQE_UD_BYTES    48

void mthca_sq_doorbell(Mthca *m, uint32_t uar, uint32_t hi, uint32_t lo)
{
    uint32_t qpn = lo >> 8;
    RdmaQp *qp = rdma_qp_get(m->rdma, qpn);
    uint16_t nreq = hi >> 24, head = hi >> 8;
    MthcaQp *q;
    MthcaDoorbell *d;

    m->counters.doorbells++;
    if (!qp || !nreq) {
        mthca_rule(m, qpn, "send doorbell", "no such QP or no requests");
        return;
    }
    q = rdma_qp_priv(qp);
    if (m->cfg.uar_check &&
        uar != (get_be32(q->ctx + MTHCA_QPC_UAR) & MTHCA_UAR_MASK)) {
        mthca_rule(m, qpn, "send doorbell", "rung on a foreign page");
        return;
    }
    if (q->db_num == MTHCA_QP_DOORBELLS) {
        /* Software chains batches as well: the links lead to these too. */
        d = &q->db[(q->db_first + q->db_num - 1) % MTHCA_QP_DOORBELLS];
        if (head != q->sq_next || d->count + nreq > 1u << 14) {
            mthca_rule(m, qpn, "send doorbell", "queue overrun");
            return;
        }
        d->count += nreq;
    } else {
        d = &q->db[(q->db_first + q->db_num++) % MTHCA_QP_DOORBELLS];
        d->head = head;
        d->count = nreq;
        d->op = hi & 0x1f;
        d->fence = hi >> 5 & 1;
        d->size = lo & 0x3f;
    }
    q->sq_next = head + nreq;
    rdma_qp_kick(m->rdma, qp);
}

static void wqe_av(const uint8_t *p, RdmaAv *av)
{
    uint32_t v = get_be32(p + 0x0c);

    av->dlid = get_be16(p + 6);
    av->sl = v >> 28;
    av->path_bits = p[5] & 0x7f;
    av->has_grh = p[5] & 0x80;
    if (av->has_grh) {
        av->tclass = v >> 20;
        av->flow_label = v & 0xfffff;
        av->hop_limit = p[0x0b];
        av->sgid_index = p[9] & (MTHCA_MAX_GIDS - 1);
        memcpy(av->dgid, p + 0x10, 16);
    }
}

/* Data segments at @p up to @end, units of 16 bytes as all of a WQE are.  Returns
 * RDMA_WC_SUCCESS or an error. */
static uint8_t wqe_data(const uint8_t *p, const uint8_t *end, RdmaWqe *w)
{
    while (p < end) {
        uint32_t count = get_be32(p);

        if (count & MTHCA_INLINE) {
            uint32_t len = count & 0x3ff;

            if (w->num_sge || (w->flags & RDMA_WQE_INLINE) ||
                len > (size_t)(end - p) - 4) {
                return RDMA_WC_LOC_QP_OP;
            }
            w->flags |= RDMA_WQE_INLINE;
            w->inl_len = len;
            memcpy(w->inl, p + 4, len);
            p += (4 + len + 15) & ~15u;
            continue;
        }
        if ((w->flags & RDMA_WQE_INLINE) || w->num_sge == RDMA_MAX_SGE) {
            return RDMA_WC_LOC_QP_OP;
        }
        if (count) {
            w->sge[w->num_sge++] = (RdmaSge) {
                .len = count,
                .key = get_be32(p + 4),
                .addr = get_be64(p + 8),
            };
        }
        p += 16;
    }
    return RDMA_WC_SUCCESS;
}

/* Opcodes of a datagram QP: Write codes are Sends there. */
static uint8_t wqe_ud(const uint8_t *buf, const uint8_t *end, RdmaWqe *w)
{
    const uint8_t *ud = buf + MTHCA_WQE_NEXT;

    if (ud + WQE_UD_BYTES > end) {
        return RDMA_WC_LOC_QP_OP;
    }
    if (w->opcode == RDMA_OP_WRITE || w->opcode == RDMA_OP_WRITE_IMM) {
        w->opcode += RDMA_OP_SEND - RDMA_OP_WRITE;
    }
    wqe_av(ud, &w->av);
    w->dqpn = get_be32(ud + 0x20) & MTHCA_QPN_MASK;
    w->qkey = get_be32(ud + 0x24);
    return wqe_data(ud + WQE_UD_BYTES, end, w);
}

static uint8_t wqe_connected(const uint8_t *buf, const uint8_t *end,
                             RdmaWqe *w)
{
    const uint8_t *p = buf + MTHCA_WQE_NEXT;

    switch (w->opcode) {
    case RDMA_OP_CMP_SWAP:
    case RDMA_OP_FETCH_ADD:
        if (p + 32 > end) {
            return RDMA_WC_LOC_QP_OP;
        }
        w->swap_add = get_be64(p + 16);
        w->compare = get_be64(p + 24);
        w->raddr = get_be64(p);
        w->rkey = get_be32(p + 8);
        p += 32;
        break;
    case RDMA_OP_WRITE:
    case RDMA_OP_WRITE_IMM:
    case RDMA_OP_READ:
        if (p + WQE_RADDR_BYTES > end) {
            return RDMA_WC_LOC_QP_OP;
        }
        w->raddr = get_be64(p);
        w->rkey = get_be32(p + 8);
        p += WQE_RADDR_BYTES;
        break;
    }
    return wqe_data(p, end, w);
}

/* Headers that software built (LRH, GRH, BTH, DETH), @count bytes of which @h has the
 * first: how many they are, or 0. */
static uint32_t mlx_headers(const uint8_t h[72], uint32_t count, RdmaWqe *w)
{
    uint32_t off = 8;

    w->av.dlid = get_be16(h + 2);
    w->av.sl = h[1] >> 4;
    w->av.path_bits = get_be16(h + 6) & 0x7f;
    if ((h[1] & 3) == 3) {
        uint32_t v = get_be32(h + 8);

        if (count < 68) {
            return 0;
        }
        w->av.has_grh = true;
        w->av.tclass = v >> 20;
        w->av.flow_label = v & 0xfffff;
        w->av.hop_limit = h[8 + 7];
        memcpy(w->av.dgid, h + 8 + 24, 16);
        off += 40;
    }
    w->flags |= RDMA_WQE_SRC_QPN | RDMA_WQE_PKEY;
    w->pkey = get_be16(h + off + 2);
    w->dqpn = get_be24(h + off + 5);
    w->qkey = get_be32(h + off + 12);
    w->src_qpn = get_be24(h + off + 17);
    if (h[off] == 0x65) {       /* UD Send Only with Immediate */
        memcpy(w->imm, h + off + 20, 4);
        w->opcode = RDMA_OP_SEND_IMM;
        return off + 24;
    }
    w->opcode = RDMA_OP_SEND;
    return off + 20;
}

/* Data segments from @p on.  The last four bytes of all are the place of the ICRC, a
 * segment of their own or not. */
static bool mlx_segments(const uint8_t *p, const uint8_t *end, RdmaWqe *w)
{
    RdmaSge *last;

    for (; p < end; p += 16) {
        uint32_t count = get_be32(p);

        if (count & MTHCA_INLINE) {
            return (count & 0x3ff) == 4;
        }
        if (w->num_sge == RDMA_MAX_SGE) {
            return false;
        }
        if (count) {
            w->sge[w->num_sge++] = (RdmaSge) {
                .len = count,
                .key = get_be32(p + 4),
                .addr = get_be64(p + 8),
            };
        }
    }
    if (!w->num_sge) {
        return true;
    }
    last = &w->sge[w->num_sge - 1];
    if (last->len < 4) {
        return false;
    }
    last->len -= 4;
    w->num_sge -= !last->len;
    return true;
}

/* A management packet: the first data segment points at its headers. */
static uint8_t wqe_mlx(Mthca *m, RdmaQp *qp, const uint8_t *buf,
                       const uint8_t *end, RdmaWqe *w)
{
    const uint8_t *p = buf + MTHCA_WQE_NEXT;
    uint32_t pd = rdma_qp_attr(qp)->pd, count, used;
    uint8_t h[72] = { 0 };

    if (p + 16 > end) {
        return RDMA_WC_LOC_QP_OP;
    }
    count = get_be32(p);
    if (count < 28 || (count & MTHCA_INLINE)) {
        return RDMA_WC_LOC_QP_OP;
    }
    if (rdma_mr_read(m->rdma, get_be32(p + 4), pd, get_be64(p + 8), h,
                     MIN(count, sizeof(h)), RDMA_ACC_LOCAL_READ)) {
        return RDMA_WC_LOC_PROT;
    }
    used = mlx_headers(h, count, w);
    if (!used) {
        return RDMA_WC_LOC_QP_OP;
    }
    if (count > used) {
        w->sge[w->num_sge++] = (RdmaSge) {
            .len = count - used,
            .key = get_be32(p + 4),
            .addr = get_be64(p + 8) + used,
        };
    }
    return mlx_segments(p + 16, end, w) ? RDMA_WC_SUCCESS : RDMA_WC_LOC_QP_OP;
}

RdmaFetch mthca_fetch_send(void *p, RdmaQp *qp, RdmaWqe *w)
{
    Mthca *m = p;
    MthcaQp *q = rdma_qp_priv(qp);
    const RdmaQpAttr *a = rdma_qp_attr(qp);
    uint8_t log_size = q->ctx[MTHCA_QPC_SQ_SIZE] >> 3;
    uint8_t log_stride = (q->ctx[MTHCA_QPC_SQ_SIZE] & 7) + 4;
    uint8_t buf[MTHCA_WQE_MAX];
    MthcaDoorbell *d;
    uint32_t len, flags;
    uint64_t va;

    if (!q->db_num) {
        return RDMA_FETCH_NONE;
    }
    d = &q->db[q->db_first % MTHCA_QP_DOORBELLS];
    va = ((uint64_t)get_be32(q->ctx + MTHCA_QPC_WQE_BASE) << 32) +
         get_be32(q->ctx + MTHCA_QPC_SND_BASE) +
         ((uint64_t)(d->head & ((1u << log_size) - 1)) << log_stride);
    /* At least the next segment, which leads on. */
    len = MIN(MAX(d->size * 16u, MTHCA_WQE_NEXT), 1u << log_stride);
    w->id = va;
    w->opcode = d->op;
    if (rdma_mr_read(m->rdma, get_be32(q->ctx + MTHCA_QPC_WQE_LKEY), a->pd,
                     va, buf, len, RDMA_ACC_LOCAL_READ)) {
        w->error = RDMA_WC_LOC_QP_OP;
        q->db_num = 0;
        mthca_rule(m, rdma_qp_num(qp), "send queue", "WQE memory refused");
        return RDMA_FETCH_BAD;
    }
    flags = get_be32(buf + 8);
    w->flags = (flags & MTHCA_NEXT_CQ_UPDATE ? RDMA_WQE_SIGNALED : 0) |
               (flags & MTHCA_NEXT_SOLICIT ? RDMA_WQE_SOLICITED : 0) |
               (d->fence ? RDMA_WQE_FENCE : 0);
    if (d->op == RDMA_OP_NOP) {
        /* completes only */
    } else if (q->special) {
        w->error = wqe_mlx(m, qp, buf, buf + len, w);
    } else {
        memcpy(w->imm, buf + 12, 4);
        w->error = a->service == RDMA_UD ? wqe_ud(buf, buf + len, w)
                                         : wqe_connected(buf, buf + len, w);
    }
    /* Follow the link to the next one of the batch. */
    if (--d->count) {
        d->op = get_be32(buf) & 0x1f;
        d->size = buf[7] & 0x3f;
        d->fence = buf[7] & MTHCA_NEXT_FENCE;
        d->head++;
    } else {
        q->db_first = (q->db_first + 1) % MTHCA_QP_DOORBELLS;
        q->db_num--;
    }
    return RDMA_FETCH_OK;
}

RdmaFetch mthca_fetch_recv(void *p, RdmaQp *qp, RdmaRecvWqe *w)
{
    Mthca *m = p;
    MthcaQp *q = rdma_qp_priv(qp);
    const RdmaQpAttr *a = rdma_qp_attr(qp);
    uint8_t log_size = q->ctx[MTHCA_QPC_RQ_SIZE] >> 3;
    uint8_t log_stride = (q->ctx[MTHCA_QPC_RQ_SIZE] & 7) + 4;
    uint8_t buf[MTHCA_WQE_MAX];
    uint32_t rec;
    uint64_t va;

    if (a->has_srq) {
        RdmaSrq *srq = rdma_srq_get(m->rdma, a->srqn);

        return srq ? mthca_srq_fetch(m, srq, w) : RDMA_FETCH_BAD;
    }
    if (q->rq_head == q->rq_tail) {
        if (!mthca_db_record(m, get_be32(q->ctx + MTHCA_QPC_UAR) & 0xffffff,
                             get_be32(q->ctx + MTHCA_QPC_RCV_DB), &rec)) {
            return RDMA_FETCH_NONE;
        }
        q->rq_head = rec;
        if (q->rq_head == q->rq_tail) {
            return RDMA_FETCH_NONE;
        }
    }
    va = ((uint64_t)get_be32(q->ctx + MTHCA_QPC_WQE_BASE) << 32) +
         get_be32(q->ctx + MTHCA_QPC_RCV_BASE) +
         ((uint64_t)(q->rq_tail & ((1u << log_size) - 1)) << log_stride);
    if (rdma_mr_read(m->rdma, get_be32(q->ctx + MTHCA_QPC_WQE_LKEY), a->pd,
                     va, buf, 1u << log_stride, RDMA_ACC_LOCAL_READ)) {
        mthca_rule(m, rdma_qp_num(qp), "receive queue",
                   "WQE memory refused");
        return RDMA_FETCH_BAD;
    }
    w->id = va;
    mthca_recv_decode(buf, 1u << log_stride, w);
    q->rq_tail++;
    return RDMA_FETCH_OK;
}
