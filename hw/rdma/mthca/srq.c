/*
 * ncic-mthca: receive WQEs and shared receive queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/*
 * A receive WQE is a next segment and data segments up to the stride or to
 * an entry of no bytes with the invalid key.
 */
void mthca_recv_decode(const uint8_t *buf, uint32_t len, RdmaRecvWqe *w)
{
    w->num_sge = 0;
    for (uint32_t off = MTHCA_WQE_NEXT;
         off + 16 <= len && w->num_sge < RDMA_MAX_SGE; off += 16) {
        RdmaSge s = {
            .len = get_be32(buf + off) & 0x7fffffff,
            .key = get_be32(buf + off + 4),
            .addr = get_be64(buf + off + 8),
        };

        if (!s.len && s.key == MTHCA_INVAL_LKEY) {
            break;
        }
        if (s.len) {
            w->sge[w->num_sge++] = s;
        }
    }
}

static uint8_t mthca_srq_find(Mthca *m, uint32_t srqn, RdmaSrq **obj)
{
    if (srqn & ~MTHCA_QPN_MASK) {
        return MTHCA_ST_BAD_INDEX;
    }
    *obj = rdma_srq_get(m->rdma, srqn);
    return *obj ? MTHCA_ST_OK : MTHCA_ST_BAD_RES_STATE;
}

uint8_t mthca_sw2hw_srq(Mthca *m, MthcaCmd *c)
{
    uint32_t stride_uar = get_be32(c->in + MTHCA_SRQC_STRIDE_UAR);
    uint8_t log_size = c->in[MTHCA_SRQC_LOG_SIZE] & 0x1f;
    RdmaSrq *obj;
    MthcaSrq *srq;

    if ((c->mod & ~MTHCA_QPN_MASK) ||
        (stride_uar & 0xffffff) >> m->log_uars) {
        return MTHCA_ST_BAD_INDEX;
    }
    if (log_size > MTHCA_LOG_MAX_WQES + 1) {
        return MTHCA_ST_BAD_SIZE;
    }
    obj = rdma_srq_create(m->rdma, c->mod);
    if (!obj) {
        return MTHCA_ST_BAD_RES_STATE;
    }
    srq = rdma_srq_priv(obj);
    memcpy(srq->ctx, c->in, sizeof(srq->ctx));
    srq->log_size = log_size;
    srq->lkey = get_be32(c->in + MTHCA_SRQC_LKEY);
    srq->db = get_be32(c->in + MTHCA_SRQC_DB);
    srq->log_stride = (stride_uar >> 29) + 4;
    srq->uar = stride_uar & 0xffffff;
    srq->wqe_base = get_be64(c->in + MTHCA_SRQC_BASE);
    srq->pd = get_be32(c->in + MTHCA_SRQC_STATE_PD) & 0xffffff;
    srq->limit = get_be16(c->in + MTHCA_SRQC_LIMIT);
    srq->tail = srq->head = get_be16(c->in + MTHCA_SRQC_TAIL);
    return MTHCA_ST_OK;
}

static uint16_t mthca_srq_posted(Mthca *m, MthcaSrq *srq)
{
    uint32_t rec;

    if (mthca_db_record(m, srq->uar, srq->db, &rec)) {
        srq->head = rec;
    }
    return srq->head - srq->tail;
}

static void mthca_srq_context(Mthca *m, MthcaSrq *srq, bool hw, uint8_t *o)
{
    memcpy(o, srq->ctx, sizeof(srq->ctx));
    put_be32(o + MTHCA_SRQC_STATE_PD,
             (get_be32(o + MTHCA_SRQC_STATE_PD) & 0x0fffffff) |
             (srq->error ? 1u << 28 : hw ? 0 : 0xfu << 28));
    put_be16(o + MTHCA_SRQC_LIMIT, srq->limit);
    put_be16(o + MTHCA_SRQC_POSTED, mthca_srq_posted(m, srq));
    put_be16(o + MTHCA_SRQC_TAIL, srq->tail);
}

uint8_t mthca_query_srq(Mthca *m, MthcaCmd *c)
{
    RdmaSrq *obj;
    uint8_t st = mthca_srq_find(m, c->mod, &obj);

    if (st == MTHCA_ST_OK) {
        mthca_srq_context(m, rdma_srq_priv(obj), true, c->out);
    }
    return st;
}

uint8_t mthca_hw2sw_srq(Mthca *m, MthcaCmd *c)
{
    RdmaSrq *obj;
    uint8_t st = mthca_srq_find(m, c->mod, &obj);
    MthcaSrq *srq;

    if (st != MTHCA_ST_OK) {
        return st;
    }
    srq = rdma_srq_priv(obj);
    if (srq->refs) {
        return MTHCA_ST_BUSY;
    }
    mthca_srq_context(m, srq, false, c->out);
    rdma_srq_destroy(m->rdma, obj);
    return MTHCA_ST_OK;
}

static void mthca_srq_check_limit(Mthca *m, RdmaSrq *obj, MthcaSrq *srq)
{
    if (srq->limit && mthca_srq_posted(m, srq) < srq->limit) {
        srq->limit = 0;
        mthca_event_number(m, RDMA_EV_SRQ_LIMIT, rdma_srq_num(obj));
    }
}

uint8_t mthca_arm_srq(Mthca *m, MthcaCmd *c)
{
    RdmaSrq *obj;
    uint8_t st = mthca_srq_find(m, c->mod, &obj);
    MthcaSrq *srq;

    if (st != MTHCA_ST_OK) {
        return st;
    }
    srq = rdma_srq_priv(obj);
    if (c->in_param >> srq->log_size) {
        return MTHCA_ST_BAD_PARAM;
    }
    srq->limit = c->in_param;
    mthca_srq_check_limit(m, obj, srq);
    return MTHCA_ST_OK;
}

/*
 * Receive WQEs of an SRQ are a list linked through their next segments, in
 * the order in which software took them from its free list; the link of a
 * posted WQE is valid even if its successor is not posted yet.
 */
RdmaFetch mthca_srq_fetch(Mthca *m, RdmaSrq *obj, RdmaRecvWqe *wqe)
{
    MthcaSrq *srq = rdma_srq_priv(obj);
    uint32_t stride = 1u << srq->log_stride;
    uint8_t buf[MTHCA_WQE_MAX];

    if (srq->error) {
        return RDMA_FETCH_BAD;
    }
    if (srq->head == srq->tail && !mthca_srq_posted(m, srq)) {
        return RDMA_FETCH_NONE;
    }
    if (rdma_mr_read(m->rdma, srq->lkey, srq->pd, srq->wqe_base + srq->next,
                     buf, stride, RDMA_ACC_LOCAL_READ)) {
        srq->error = true;
        mthca_event_number(m, RDMA_EV_SRQ_CATAS, rdma_srq_num(obj));
        mthca_rule(m, rdma_srq_num(obj), "SRQ", "WQE memory refused");
        return RDMA_FETCH_BAD;
    }
    mthca_recv_decode(buf, stride, wqe);
    wqe->id = srq->next;
    srq->next = get_be32(buf) & ~0x3fu;
    srq->tail++;
    if (srq->limit) {
        mthca_srq_check_limit(m, obj, srq);
    }
    return RDMA_FETCH_OK;
}
