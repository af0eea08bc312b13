/*
 * Completion queues (interface document, sections 3.2.6 and 3.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void native_arm_cq(NativeRdma *n, uint32_t uar_page, uint32_t cqn)
{
    RdmaCq *cq = rdma_cq_get(n->dev, cqn & (nicm_count(n, ICM_CQC) - 1));
    NativeCq *q;

    if (!cq) {
        return;
    }
    q = rdma_cq_priv(cq);
    if (n->cfg.uar_check && uar_page != q->uar) {
        native_rule(n, cqn, "IF 1.2", "CQ armed on a foreign page");
        return;
    }
    q->armed = true;
}

uint8_t native_sw2hw_cq(NativeRdma *n, NativeCmd *c)
{
    RdmaCq *cq = rdma_cq_get(n->dev, c->in_mod);
    uint8_t log = c->in[NR_CTX_LOG];

    if (n->cfg.strict_cmd && (cq || log > NR_LOG_QUEUE)) {
        native_rule(n, c->in_mod, "SW2HW_CQ", "in use or too large");
        return NRS_BAD_PARAM;
    }
    if (!nicm_write(n, ICM_CQC, c->in_mod, NR_CQC_BYTES, 0, c->in, 0x38) &&
        n->cfg.strict_cmd) {
        native_rule(n, c->in_mod, "SW2HW_CQ", "ICM page not mapped");
        return NRS_BAD_PARAM;
    }
    if (!cq) {
        cq = rdma_cq_create(n->dev, c->in_mod);
    }
    *(NativeCq *)rdma_cq_priv(cq) = (NativeCq) {
        .log = MIN(log, LOG_EQ_MAX),
        .armed = get_be32(c->in + NR_CTX_FLAGS) & NRX_ARMED,
        .uar = get_be32(c->in + NR_CQC_LOG_UAR) & 0xffffff,
        .eqn = get_be32(c->in + NR_CQC_EQN),
        .pd = get_be32(c->in + NR_CQC_PD),
        .lkey = get_be32(c->in + NR_CQC_LKEY),
    };
    return NRS_OK;
}

uint8_t native_hw2sw_cq(NativeRdma *n, NativeCmd *c)
{
    static const uint8_t zero[0x38];
    RdmaCq *cq = rdma_cq_get(n->dev, c->in_mod);

    if (!cq) {
        if (n->cfg.strict_cmd) {
            native_rule(n, c->in_mod, "HW2SW_CQ", "no such CQ");
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
    uint8_t log = c->in[NR_RESIZE_LOG];
    NativeCq *q;

    if (!cq || (n->cfg.strict_cmd && log > NR_LOG_QUEUE)) {
        native_rule(n, c->in_mod, "RESIZE_CQ", "no such CQ or too large");
        return n->cfg.strict_cmd ? NRS_BAD_PARAM : NRS_OK;
    }
    q = rdma_cq_priv(cq);
    q->log = MIN(log, LOG_EQ_MAX);
    q->lkey = get_be32(c->in + NR_RESIZE_LKEY);
    /* The producer goes on where it was, modulo the new size. */
    q->off %= NRQ_CQE_BYTES << q->log;
    return NRS_OK;
}

static uint8_t cqe_syndrome(const NativeRdma *n, RdmaStatus s)
{
    /* Interface document, table 3-3-4; of LOC_PROT there are two. */
    static const uint8_t code[RDMA_WC_NUM] = {
        [RDMA_WC_LOC_LEN] = 0x01, [RDMA_WC_LOC_QP_OP] = 0x02,
        [RDMA_WC_FLUSH] = 0x05,
        [RDMA_WC_BAD_RESP] = 0x10, [RDMA_WC_LOC_ACCESS] = 0x11,
        [RDMA_WC_REM_INV_REQ] = 0x12, [RDMA_WC_REM_ACCESS] = 0x13,
        [RDMA_WC_REM_OP] = 0x14, [RDMA_WC_RETRY_EXC] = 0x15,
        [RDMA_WC_RNR_RETRY_EXC] = 0x16, [RDMA_WC_REM_ABORT] = 0x22,
        [RDMA_WC_FATAL] = 0x02,
    };

    return s == RDMA_WC_LOC_PROT ? n->cfg.lerr : code[s];
}

static void encode_cqe(NativeRdma *n, const RdmaCqe *c, uint8_t *e)
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
            cqe_syndrome(n, c->status);
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
        native_rule(n, rdma_cq_num(cq), "completion queue", why);
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
    encode_cqe(n, c, e);
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
        native_post_event(n, q->eqn, NRE_COMPLETION, rdma_cq_num(cq));
    }
    return true;
}
