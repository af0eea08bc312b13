/*
 * Completion queues, event queues, interrupts (digest B.6, D.2, D.6, D.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Mailbox offsets (tables 3-2-27, 3-2-32, 3-2-37). */
enum {
    CTX_FLAGS = 0x00, CTX_START = 0x04, CTX_LOG = 0x0c, EQC_VECTOR = 0x16,
    CQC_EQN = 0x10, CQC_PD = 0x14, CQC_LKEY = 0x18,
    EQC_PD = 0x18, EQC_LKEY = 0x1c, RESIZE_LOG = 0x00, RESIZE_LKEY = 0x04,
};

/* ---- events ---- */

static bool eq_write(NativeRdma *n, Eq *e, uint32_t off, const void *buf,
                     uint32_t len)
{
    if (e->lkey) {
        return !rdma_mr_write(n->dev, e->lkey, e->pd, off, buf, len,
                              RDMA_ACC_RELATIVE | RDMA_ACC_LOCAL_WRITE);
    }
    return n->rdma.ops->write(n->rdma.ops_opaque, e->start + off, buf, len);
}

static bool eq_read(NativeRdma *n, Eq *e, uint32_t off, void *buf,
                    uint32_t len)
{
    if (e->lkey) {
        return !rdma_mr_read(n->dev, e->lkey, e->pd, off, buf, len,
                             RDMA_ACC_RELATIVE);
    }
    return n->rdma.ops->read(n->rdma.ops_opaque, e->start + off, buf, len);
}

static void post_event(NativeRdma *n, uint32_t eqn, uint8_t type,
                       uint32_t number, uint8_t syndrome)
{
    Eq *e = &n->s.eq[eqn % G_N_ELEMENTS(n->s.eq)];
    uint8_t eqe[NRE_EQE_BYTES] = { 0 }, owner;
    uint32_t off;

    if (!n->cfg.eqe || !e->exists || !e->valid) {
        return;
    }
    off = (e->pi & ((1u << e->log) - 1)) * NRE_EQE_BYTES;
    if (!eq_read(n, e, off + NRE_OWNER, &owner, 1) ||
        !(owner & NRQ_OWNER_HW)) {
        native_rule(n, "D.7", "event queue full or not readable", eqn);
        return;
    }
    eqe[NRE_TYPE] = type;
    put_le32(eqe + NRE_NUMBER, number);
    eqe[NRE_SYNDROME] = syndrome;
    /* The owner byte becomes visible last. */
    if (!eq_write(n, e, off, eqe, NRE_OWNER & ~3) ||
        !eq_write(n, e, off + (NRE_OWNER & ~3), eqe + (NRE_OWNER & ~3), 4)) {
        native_rule(n, "D.7", "event queue not writable", eqn);
        return;
    }
    e->pi++;
    if (e->armed) {
        e->armed = false;
        n->ops->msix(n->rdma.ops_opaque, e->vector);
    }
}

void native_event(void *p, RdmaEvent ev, uint32_t number)
{
    NativeRdma *n = p;

    for (int i = 0; i < G_N_ELEMENTS(n->s.eq); i++) {
        if (n->s.eq[i].mask >> ev & 1) {
            post_event(n, i, ev, number, 0);
        }
    }
}

void native_arm_eq(NativeRdma *n, uint32_t eqn)
{
    n->s.eq[eqn % G_N_ELEMENTS(n->s.eq)].armed = true;
}

void native_arm_cq(NativeRdma *n, uint32_t cqn)
{
    RdmaCq *cq = rdma_cq_get(n->dev, cqn & (nicm_count(n, ICM_CQC) - 1));

    if (cq) {
        ((NativeCq *)rdma_cq_priv(cq))->armed = true;
    }
}

uint8_t native_sw2hw_eq(NativeRdma *n, NativeCmd *c)
{
    Eq *e = &n->s.eq[c->in_mod];
    uint8_t log = c->in[CTX_LOG];

    if (n->cfg.strict_cmd && (e->exists || log > LOG_EQ_MAX)) {
        native_rule(n, "SW2HW_EQ", "in use or too large", c->in_mod);
        return NRS_BAD_PARAM;
    }
    if (!nicm_write(n, ICM_EQC, c->in_mod, NR_EQC_BYTES, 0, c->in, 0x30) &&
        n->cfg.strict_cmd) {
        native_rule(n, "SW2HW_EQ", "ICM page not mapped", c->in_mod);
        return NRS_BAD_PARAM;
    }
    *e = (Eq) {
        .exists = true,
        .armed = get_be32(c->in + CTX_FLAGS) & NRX_ARMED,
        .start = get_be64(c->in + CTX_START),
        .log = MIN(log, LOG_EQ_MAX),
        .vector = get_be16(c->in + EQC_VECTOR),
        .pd = get_be32(c->in + EQC_PD),
        .lkey = get_be32(c->in + EQC_LKEY),
    };
    return NRS_OK;
}

uint8_t native_hw2sw_eq(NativeRdma *n, NativeCmd *c)
{
    static const uint8_t zero[0x30];

    if (n->cfg.strict_cmd && !n->s.eq[c->in_mod].exists) {
        native_rule(n, "HW2SW_EQ", "no such EQ", c->in_mod);
        return NRS_BAD_PARAM;
    }
    n->s.eq[c->in_mod] = (Eq) { 0 };
    nicm_write(n, ICM_EQC, c->in_mod, NR_EQC_BYTES, 0, zero, sizeof(zero));
    return NRS_OK;
}

uint8_t native_map_eq(NativeRdma *n, NativeCmd *c)
{
    uint32_t eqn = c->in_mod & ~NRC_MAP_EQ_UNMAP;
    bool map = !(c->in_mod & NRC_MAP_EQ_UNMAP);
    uint8_t flags[4];
    Eq *e;

    if (n->cfg.strict_cmd && (eqn >= nicm_count(n, ICM_EQC) ||
                              !n->s.eq[eqn].exists)) {
        native_rule(n, "MAP_EQ", "no such EQ", eqn);
        return NRS_BAD_PARAM;
    }
    e = &n->s.eq[eqn % G_N_ELEMENTS(n->s.eq)];
    e->valid = map;
    e->mask = map ? e->mask | c->in_param : e->mask & ~c->in_param;
    put_be32(flags, e->armed ? NRX_ARMED : 0);
    nicm_write(n, ICM_EQC, eqn & (nicm_count(n, ICM_EQC) - 1), NR_EQC_BYTES, 0,
              flags, 4);
    return NRS_OK;
}

/* ---- completions ---- */

uint8_t native_sw2hw_cq(NativeRdma *n, NativeCmd *c)
{
    RdmaCq *cq = rdma_cq_get(n->dev, c->in_mod);
    uint8_t log = c->in[CTX_LOG];

    if (n->cfg.strict_cmd && (cq || log > NR_LOG_QUEUE)) {
        native_rule(n, "SW2HW_CQ", "in use or too large", c->in_mod);
        return NRS_BAD_PARAM;
    }
    if (!nicm_write(n, ICM_CQC, c->in_mod, NR_CQC_BYTES, 0, c->in, 0x38) &&
        n->cfg.strict_cmd) {
        native_rule(n, "SW2HW_CQ", "ICM page not mapped", c->in_mod);
        return NRS_BAD_PARAM;
    }
    if (!cq) {
        cq = rdma_cq_create(n->dev, c->in_mod);
    }
    *(NativeCq *)rdma_cq_priv(cq) = (NativeCq) {
        .log = MIN(log, LOG_EQ_MAX),
        .armed = get_be32(c->in + CTX_FLAGS) & NRX_ARMED,
        .eqn = get_be32(c->in + CQC_EQN),
        .pd = get_be32(c->in + CQC_PD),
        .lkey = get_be32(c->in + CQC_LKEY),
    };
    return NRS_OK;
}

uint8_t native_hw2sw_cq(NativeRdma *n, NativeCmd *c)
{
    static const uint8_t zero[0x38];
    RdmaCq *cq = rdma_cq_get(n->dev, c->in_mod);

    if (!cq) {
        if (n->cfg.strict_cmd) {
            native_rule(n, "HW2SW_CQ", "no such CQ", c->in_mod);
            return NRS_BAD_PARAM;
        }
        return NRS_OK;
    }
    rdma_cq_destroy(n->dev, cq);
    nicm_write(n, ICM_CQC, c->in_mod, NR_CQC_BYTES, 0, zero, sizeof(zero));
    return NRS_OK;
}

uint8_t native_resize_cq(NativeRdma *n, NativeCmd *c)
{
    RdmaCq *cq = rdma_cq_get(n->dev, c->in_mod);
    uint8_t log = c->in[RESIZE_LOG];
    NativeCq *q;

    if (!cq || (n->cfg.strict_cmd && log > NR_LOG_QUEUE)) {
        native_rule(n, "RESIZE_CQ", "no such CQ or too large", c->in_mod);
        return n->cfg.strict_cmd ? NRS_BAD_PARAM : NRS_OK;
    }
    q = rdma_cq_priv(cq);
    q->log = MIN(log, LOG_EQ_MAX);
    q->lkey = get_be32(c->in + RESIZE_LKEY);
    /* The producer goes on where it was, modulo the new size (G21). */
    q->off %= NRQ_CQE_BYTES << q->log;
    return NRS_OK;
}

static uint8_t syndrome(const NativeRdma *n, RdmaStatus s)
{
    /* CoreTable 3-3-4 (digest D.6). */
    static const uint8_t code[RDMA_WC_NUM] = {
        [RDMA_WC_LOC_LEN] = 0x01, [RDMA_WC_LOC_QP_OP] = 0x02,
        [RDMA_WC_LOC_PROT] = 0x04, [RDMA_WC_FLUSH] = 0x05,
        [RDMA_WC_BAD_RESP] = 0x10, [RDMA_WC_LOC_ACCESS] = 0x11,
        [RDMA_WC_REM_INV_REQ] = 0x12, [RDMA_WC_REM_ACCESS] = 0x13,
        [RDMA_WC_REM_OP] = 0x14, [RDMA_WC_RETRY_EXC] = 0x15,
        [RDMA_WC_RNR_RETRY_EXC] = 0x16, [RDMA_WC_REM_ABORT] = 0x22,
        [RDMA_WC_FATAL] = 0x02,
    };

    return s == RDMA_WC_LOC_PROT ? n->cfg.lerr : code[s];
}

static void encode(NativeRdma *n, const RdmaCqe *c, uint8_t *e)
{
    uint8_t op = c->opcode;

    put_le32(e + NRQ_QPN, c->qpn);
    put_le32(e + NRQ_WQE, c->wqe_id);
    if (c->status == RDMA_WC_SUCCESS) {
        put_le32(e + NRQ_RQPN, c->rqpn);
        put_le32(e + NRQ_RLID, (uint32_t)c->rlid << 16);
        if (c->has_imm) {
            memcpy(e + NRQ_IMM, c->imm, 4);
        }
        put_le32(e + NRQ_BYTE_CNT, c->byte_cnt);
    } else {
        e[NRQ_IMM + (n->cfg.err_cqe == NATIVE_ERR_CQE_RTL ? 3 : 0)] =
            syndrome(n, c->status);
        if (n->cfg.err_cqe != NATIVE_ERR_CQE_DOC) {
            op = c->is_send ? NRQ_ERR_SEND : NRQ_ERR_RECV;
        }
    }
    put_le32(e + NRQ_OP, (uint32_t)c->is_send << 8 | op);
}

/* A completion is lost; told of once until one finds its place again. */
static bool cqe_lost(NativeRdma *n, RdmaCq *cq, const char *why)
{
    NativeCq *q = rdma_cq_priv(cq);

    if (!q->failed) {
        q->failed = true;
        native_rule(n, "D.6", why, rdma_cq_num(cq));
        native_event(n, RDMA_EV_CQ_ERROR, rdma_cq_num(cq));
    }
    return false;
}

bool native_write_cqe(void *p, RdmaCq *cq, const RdmaCqe *c)
{
    enum { LAST = NRQ_OWNER & ~3 };
    const uint32_t access = RDMA_ACC_RELATIVE | RDMA_ACC_LOCAL_WRITE;
    NativeRdma *n = p;
    NativeCq *q = rdma_cq_priv(cq);
    uint8_t e[NRQ_CQE_BYTES] = { 0 }, owner;

    if (n->cfg.cq_check_owner &&
        (rdma_mr_read(n->dev, q->lkey, q->pd, q->off + NRQ_OWNER, &owner, 1,
                      RDMA_ACC_RELATIVE) || !(owner & NRQ_OWNER_HW))) {
        return cqe_lost(n, cq, "completion queue overrun");
    }
    encode(n, c, e);
    /* The dword with the owner becomes visible last. */
    if (rdma_mr_write(n->dev, q->lkey, q->pd, q->off, e, LAST, access) ||
        rdma_mr_write(n->dev, q->lkey, q->pd, q->off + LAST, e + LAST, 4,
                      access)) {
        return cqe_lost(n, cq, "completion cannot be written");
    }
    q->failed = false;
    q->off = (q->off + NRQ_CQE_BYTES) % (NRQ_CQE_BYTES << q->log);
    if (q->armed) {
        q->armed = false;
        post_event(n, q->eqn, NRE_COMPLETION, rdma_cq_num(cq), 0);
    }
    return true;
}
