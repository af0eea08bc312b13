/*
 * Doorbells, send WQEs, receive WQEs (RDMA §2.4, §4.4.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum {
    WQE_UNITS_MAX = 255, RQ_BLOCK = 512,
    DB_FENCE = 1 << 5, NEXT_FENCE = 1 << 6, INLINE = 1u << 31,
};

/* ---- doorbells ---- */

static Doorbell *db_entry(NativeRdma *n, uint32_t i)
{
    return &g_array_index(n->db, Doorbell, i);
}

static uint32_t db_alloc(NativeRdma *n)
{
    uint32_t i = n->db_free;

    if (i) {
        n->db_free = db_entry(n, i)->next;
    } else {
        i = n->db->len;
        g_array_set_size(n->db, i + 1);
    }
    return i;
}

bool native_db_push(NativeRdma *n, NativeQp *q, uint64_t val)
{
    uint32_t i;

    if (q->db_num >= DB_OWN) {
        if (q->db_num >= DB_MOST || n->db_shared >= DB_SHARED) {
            return false;
        }
        n->db_shared++;
    }
    q->db_num++;
    i = db_alloc(n);
    *db_entry(n, i) = (Doorbell) { .val = val };
    if (q->db_tail) {
        db_entry(n, q->db_tail)->next = i;
    } else {
        q->db_head = i;
    }
    q->db_tail = i;
    return true;
}

static bool db_pop(NativeRdma *n, NativeQp *q, uint64_t *val)
{
    uint32_t i = q->db_head;

    if (!i) {
        return false;
    }
    *val = db_entry(n, i)->val;
    q->db_head = db_entry(n, i)->next;
    if (!q->db_head) {
        q->db_tail = 0;
    }
    db_entry(n, i)->next = n->db_free;
    n->db_free = i;
    if (q->db_num-- > DB_OWN) {
        n->db_shared--;
    }
    return true;
}

void native_db_clear(NativeRdma *n, NativeQp *q)
{
    uint64_t val;

    while (db_pop(n, q, &val)) {
        /* dropped */
    }
}

void native_db_foreach(NativeRdma *n, const NativeQp *q,
                       void (*fn)(void *opaque, uint64_t val), void *opaque)
{
    for (uint32_t i = q->db_head; i; i = db_entry(n, i)->next) {
        fn(opaque, db_entry(n, i)->val);
    }
}

void native_doorbell(NativeRdma *n, uint32_t uar_page, uint64_t val)
{
    uint32_t qpn = native_qpn(n, val >> 40);
    RdmaQp *qp = rdma_qp_get(n->dev, qpn);
    RdmaQpState s = qp ? rdma_qp_attr(qp)->state : RDMA_QPS_RESET;
    NativeQp *q;

    if (s == RDMA_QPS_RESET || s == RDMA_QPS_INIT) {
        native_rule(n, qpn, "A1-1", "doorbell for a QP that cannot send");
        return;
    }
    q = rdma_qp_priv(qp);
    if (n->cfg.uar_check && uar_page != get_be32(q->ctx + NR_QPC_USR_PAGE)) {
        native_rule(n, qpn, "IF 1.2", "doorbell on a foreign page");
        return;
    }
    if (!native_db_push(n, q, val)) {
        native_rule(n, qpn, "RDMA §2.4.1", "too many doorbells");
        native_event(n, RDMA_EV_WQ_CATAS, qpn);
        return;
    }
    rdma_qp_kick(n->dev, qp);
}

/* ---- send WQEs ---- */

/* Read from a ring, around its end if need be. */
static bool ring_read(NativeRdma *n, const RdmaQp *qp, uint32_t pd,
                      uint32_t lkey, uint32_t ring, uint32_t off, void *buf,
                      uint32_t len)
{
    uint32_t part = MIN(len, ring - off);

    return !rdma_mr_read(n->dev, lkey, pd, off, buf, part,
                         RDMA_ACC_RELATIVE) &&
           !rdma_mr_read(n->dev, lkey, pd, 0, (uint8_t *)buf + part,
                         len - part, RDMA_ACC_RELATIVE);
}

/* Where the next WQE is: the chain goes on before any doorbell. */
static bool next_wqe(NativeRdma *n, NativeQp *q, uint32_t *off,
                     uint32_t *units, uint8_t *op, bool *fence)
{
    uint64_t val;

    if (q->chain) {
        *off = q->chain_off;
        *units = q->chain_units;
        *op = q->chain_op;
        *fence = q->chain_fence;
        return true;
    }
    if (!db_pop(n, q, &val)) {
        return false;
    }
    *off = (uint32_t)(val >> 8 & 0xffffff) * NR_UNIT;
    *units = val >> 32 & 0xff;
    *op = val & 0x1f;
    *fence = val & DB_FENCE;
    return true;
}

static uint64_t le64_pair(const uint8_t *p)
{
    return (uint64_t)get_le32(p + 4) << 32 | get_le32(p);
}

static void parse_ud(const uint8_t *u, const NativeQp *q, RdmaWqe *w)
{
    const uint8_t *x = q->ctx;

    w->av.sip = get_le32(u + 0x10);
    w->av.dip = get_le32(u + 0x14);
    if (w->av.dip) {
        put_be32(w->av.smac, get_le32(u + 0x08));
        put_be16(w->av.smac + 4, get_le32(u + 0x04));
        put_be32(w->av.dmac, get_le32(u + 0x0c));
        put_be16(w->av.dmac + 4, get_le32(u + 0x04) >> 16);
    } else {
        w->av.dlid = get_le32(u + 0x04) >> 16;
    }
    /* What the unit leaves out is the QP's. */
    w->av.sip = w->av.sip ? w->av.sip : get_be32(x + NR_QPC_SIP);
    w->dqpn = get_le32(u + 0x20) & 0xffffff;
    w->qkey = get_le32(u + 0x24);
}

/* Units behind the next unit; @units counts them all. */
static void parse_send(const uint8_t *buf, uint32_t units, RdmaService svc,
                  const NativeQp *q, RdmaWqe *w)
{
    const uint8_t *p = buf + NR_UNIT, *end = buf + units * NR_UNIT;
    bool rdma = w->opcode == RDMA_OP_WRITE || w->opcode == RDMA_OP_WRITE_IMM ||
                w->opcode == RDMA_OP_READ;
    bool atomic = w->opcode == RDMA_OP_CMP_SWAP ||
                  w->opcode == RDMA_OP_FETCH_ADD;
    uint32_t head = (rdma ? 1 : 0) + (atomic ? 2 : 0) +
                    (svc == RDMA_UD ? 3 : 0);

    memcpy(w->imm, buf + 0x0c, 4);
    if (w->opcode == RDMA_OP_NOP || units < 1 + head) {
        w->error = RDMA_WC_LOC_QP_OP;
        return;
    }
    if (svc == RDMA_UD) {
        parse_ud(p, q, w);
        p += 3 * NR_UNIT;
    }
    if (rdma || atomic) {
        w->raddr = le64_pair(p);
        w->rkey = get_le32(p + 8);
        p += NR_UNIT;
    }
    if (atomic) {
        w->swap_add = le64_pair(p);
        w->compare = le64_pair(p + 8);
        p += NR_UNIT;
    }
    if (p < end && (get_le32(p) & INLINE)) {
        w->flags |= RDMA_WQE_INLINE;
        w->inl_len = get_le32(p) & ~INLINE;
        if (w->inl_len > end - p - 4 || w->inl_len > RDMA_MAX_INLINE) {
            w->error = RDMA_WC_LOC_LEN;
            return;
        }
        memcpy(w->inl, p + 4, w->inl_len);
        return;
    }
    for (; p < end; p += NR_UNIT) {
        if (w->num_sge == RDMA_MAX_SGE) {
            w->error = RDMA_WC_LOC_QP_OP;
            return;
        }
        w->sge[w->num_sge++] = (RdmaSge) {
            .len = get_le32(p) & ~INLINE, .key = get_le32(p + 4),
            .addr = le64_pair(p + 8),
        };
    }
}

RdmaFetch native_fetch_send(void *p, RdmaQp *qp, RdmaWqe *w)
{
    NativeRdma *n = p;
    NativeQp *q = rdma_qp_priv(qp);
    const RdmaQpAttr *a = rdma_qp_attr(qp);
    uint8_t buf[WQE_UNITS_MAX * NR_UNIT];
    uint32_t off, units, word;
    uint8_t op;
    bool fence;

    if (!next_wqe(n, q, &off, &units, &op, &fence)) {
        return RDMA_FETCH_NONE;
    }
    q->chain = false;
    w->opcode = op;
    w->flags = RDMA_WQE_SIGNALED | RDMA_WQE_SOLICITED |
               (fence ? RDMA_WQE_FENCE : 0);
    /* A driver may count without wrapping. */
    off = q->sq_len ? off % q->sq_len : 0;
    w->id = off;
    if (!units || units * NR_UNIT > q->sq_len ||
        !ring_read(n, qp, a->pd, q->sq_lkey, q->sq_len, off, buf,
                   units * NR_UNIT)) {
        w->error = RDMA_WC_FLUSH;
        return RDMA_FETCH_BAD;
    }
    word = get_le32(buf + 4);
    if (word & 0x3f) {
        q->chain = true;
        q->chain_units = word & 0x3f;
        q->chain_fence = word & NEXT_FENCE;
        q->chain_off = (get_le32(buf) >> 6) * NR_UNIT;
        q->chain_op = get_le32(buf) & 0x1f;
    }
    parse_send(buf, units, a->service, q, w);
    return RDMA_FETCH_OK;
}

/* ---- receive WQEs ---- */

static bool all_zero(const uint8_t *p)
{
    static const uint8_t zero[NR_UNIT];

    return !memcmp(p, zero, NR_UNIT);
}

/* Where the WQE behind the one at @off starts. */
static void rq_advance(NativeQp *q, uint32_t nda, uint32_t nds)
{
    uint32_t block = q->rq_block, at = nda % q->rq_len;
    uint32_t in = (at + q->rq_len - block) % q->rq_len;

    if (nds && in + nds * NR_UNIT <= RQ_BLOCK) {
        q->rq_off = at;
        return;
    }
    q->rq_off = (q->rq_off / q->rq_slot + 1) * q->rq_slot % q->rq_len;
    q->rq_block = q->rq_off;
}

/*
 * Consumed WQEs stay valid until software zeroes them, so a queue without an
 * empty slot has no end.  When all of it is flushed, a lap is enough: the core
 * looks again after a while (err_repoll_us).
 */
static bool lap_done(RdmaQp *qp, const NativeQp *q)
{
    return rdma_qp_attr(qp)->state == RDMA_QPS_ERR && q->rq_lap >= q->rq_len;
}

RdmaFetch native_fetch_recv(void *p, RdmaQp *qp, RdmaRecvWqe *w)
{
    NativeRdma *n = p;
    NativeQp *q = rdma_qp_priv(qp);
    const RdmaQpAttr *a = rdma_qp_attr(qp);
    uint8_t buf[4096];
    uint32_t len, off;

    if (q->rq_len < NR_UNIT || q->rq_off >= q->rq_len) {
        return RDMA_FETCH_BAD;
    }
    len = MIN(MIN(q->rq_slot, sizeof(buf)), q->rq_len);
    if (!ring_read(n, qp, a->pd, q->rq_lkey, q->rq_len, q->rq_off, buf,
                   len)) {
        return RDMA_FETCH_BAD;
    }
    if (all_zero(buf) || lap_done(qp, q)) {
        q->rq_lap = 0;
        return RDMA_FETCH_NONE;
    }
    q->rq_lap += q->rq_slot;
    w->id = q->rq_off;
    w->num_sge = 0;
    /* Up to the all-zero delimiter, or the end of the slot. */
    for (off = NR_UNIT; off + NR_UNIT <= len && !all_zero(buf + off) &&
                        w->num_sge < RDMA_MAX_SGE; off += NR_UNIT) {
        const uint8_t *u = buf + off;

        w->sge[w->num_sge++] = (RdmaSge) {
            .len = get_le32(u) & ~INLINE, .key = get_le32(u + 4),
            .addr = le64_pair(u + 8),
        };
    }
    rq_advance(q, (get_le32(buf) >> 6) * NR_UNIT, get_le32(buf + 4) & 0x3f);
    return RDMA_FETCH_OK;
}
