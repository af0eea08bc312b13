/*
 * ncic-mthca: completion queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { ARM_NONE, ARM_SOLICITED, ARM_NEXT, ARM_MULTIPLE };

/* The dword with the owner byte. */
enum { CQE_LAST = MTHCA_CQE_SIZE - 4 };

static const uint8_t mthca_syndrome[RDMA_WC_NUM] = {
    [RDMA_WC_LOC_LEN] = MTHCA_SYN_LOCAL_LENGTH,
    [RDMA_WC_LOC_QP_OP] = MTHCA_SYN_LOCAL_QP_OP,
    [RDMA_WC_LOC_PROT] = MTHCA_SYN_LOCAL_PROT,
    [RDMA_WC_FLUSH] = MTHCA_SYN_FLUSH,
    [RDMA_WC_BAD_RESP] = MTHCA_SYN_BAD_RESP,
    [RDMA_WC_LOC_ACCESS] = MTHCA_SYN_LOCAL_ACCESS,
    [RDMA_WC_REM_INV_REQ] = MTHCA_SYN_REMOTE_INVAL,
    [RDMA_WC_REM_ACCESS] = MTHCA_SYN_REMOTE_ACCESS,
    [RDMA_WC_REM_OP] = MTHCA_SYN_REMOTE_OP,
    [RDMA_WC_RETRY_EXC] = MTHCA_SYN_RETRY_EXC,
    [RDMA_WC_RNR_RETRY_EXC] = MTHCA_SYN_RNR_EXC,
    [RDMA_WC_REM_ABORT] = MTHCA_SYN_REMOTE_ABORT,
    [RDMA_WC_FATAL] = MTHCA_SYN_LOCAL_QP_OP,
};

static void mthca_cq_fire(Mthca *m, uint32_t cqn, MthcaCq *cq)
{
    uint8_t data[24] = { 0 };

    cq->armed = ARM_NONE;
    put_be32(data, cqn);
    mthca_eqe_post(m, cq->comp_eqn, MTHCA_EV_COMP, 0, data);
}

void mthca_cq_arm(Mthca *m, uint32_t uar, uint32_t hi, uint32_t ci)
{
    uint32_t cqn = hi & MTHCA_QPN_MASK;
    uint8_t cmd = hi >> 24 & 7;
    RdmaCq *obj = rdma_cq_get(m->rdma, cqn);
    MthcaCq *cq;

    if (!obj || cmd < ARM_SOLICITED || cmd > ARM_MULTIPLE) {
        mthca_rule(m, cqn, "CQ doorbell", "no such CQ or command");
        return;
    }
    cq = rdma_cq_priv(obj);
    if (m->cfg.uar_check && uar != cq->uar) {
        mthca_rule(m, cqn, "CQ doorbell", "rung on a foreign page");
        return;
    }
    m->counters.cq_arms++;
    cq->ci = ci;
    cq->armed = cmd;
    /* Entries that came before the arming raise the event at once. */
    if (cmd == ARM_SOLICITED ? (int32_t)(cq->solicit_pi - ci) > 0
                             : cq->pi != ci) {
        mthca_cq_fire(m, cqn, cq);
    }
}

static void mthca_cq_error(Mthca *m, uint32_t cqn, uint8_t syndrome)
{
    uint8_t data[24] = { 0 };

    put_be32(data, cqn);
    data[0x0f - 4] = syndrome;
    mthca_event_post(m, MTHCA_EV_CQ_ERROR, 0, data);
}

static bool mthca_cq_full(Mthca *m, MthcaCq *cq)
{
    uint32_t mask = (1u << cq->log_size) - 1, ci;

    if (((cq->pi + 1 - cq->ci) & mask) != 0) {
        return false;
    }
    if (mthca_db_record(m, cq->uar, cq->ci_db, &ci)) {
        cq->ci = ci;
    }
    return ((cq->pi + 1 - cq->ci) & mask) == 0;
}

bool mthca_write_cqe(void *p, RdmaCq *obj, const RdmaCqe *w)
{
    Mthca *m = p;
    MthcaCq *cq = rdma_cq_priv(obj);
    uint32_t cqn = rdma_cq_num(obj);
    uint8_t e[MTHCA_CQE_SIZE] = { 0 };
    uint64_t va;
    bool solicited = w->solicited;

    if (cq->overrun) {
        return false;
    }
    if (mthca_cq_full(m, cq)) {
        cq->overrun = true;
        m->counters.cq_overruns++;
        mthca_cq_error(m, cqn, 1);
        return false;
    }
    put_be32(e + MTHCA_CQE_QPN, w->qpn);
    put_be32(e + MTHCA_CQE_WQE, (uint32_t)w->wqe_id & ~0x3fu);
    if (w->status != RDMA_WC_SUCCESS) {
        e[MTHCA_CQE_SYNDROME] = mthca_syndrome[w->status < RDMA_WC_NUM ?
                                               w->status : RDMA_WC_FATAL];
        put_be16(e + MTHCA_CQE_DB_CNT, 1);
        e[MTHCA_CQE_OPCODE] = w->is_send ? 0xff : 0xfe;
        solicited = true;       /* errors count as solicited */
    } else {
        put_be32(e + MTHCA_CQE_BYTE_CNT, w->byte_cnt);
        e[MTHCA_CQE_OPCODE] = w->opcode;
        if (!w->is_send) {
            put_be32(e + MTHCA_CQE_RQPN, w->rqpn);
            e[MTHCA_CQE_SL] = w->sl << 4;
            e[MTHCA_CQE_G_MLPATH] = w->has_grh ? 0x80 : 0;
            put_be16(e + MTHCA_CQE_RLID, w->rlid);
            if (w->has_imm) {
                memcpy(e + MTHCA_CQE_IMM, w->imm, 4);
            } else {
                put_be16(e + MTHCA_CQE_IMM, w->pkey_index);
            }
        }
    }
    e[MTHCA_CQE_IS_SEND] = w->is_send ? 0x80 : 0;

    va = cq->start +
         (uint64_t)(cq->pi & ((1u << cq->log_size) - 1)) * MTHCA_CQE_SIZE;
    /* The owner byte goes last: until then software ignores the entry. */
    if (rdma_mr_write(m->rdma, cq->lkey, cq->pd, va, e, CQE_LAST,
                      RDMA_ACC_LOCAL_WRITE) ||
        rdma_mr_write(m->rdma, cq->lkey, cq->pd, va + CQE_LAST, e + CQE_LAST,
                      4, RDMA_ACC_LOCAL_WRITE)) {
        cq->overrun = true;
        mthca_rule(m, cqn, "completion queue", "memory refused");
        mthca_cq_error(m, cqn, 2);
        return false;
    }
    cq->pi++;
    if (solicited) {
        cq->solicit_pi = cq->pi;
    }
    if (cq->armed >= ARM_NEXT || (cq->armed == ARM_SOLICITED && solicited)) {
        mthca_cq_fire(m, cqn, cq);
    }
    return true;
}

/* ---- commands ---- */

static uint8_t mthca_cq_find(Mthca *m, uint32_t cqn, RdmaCq **obj)
{
    if (cqn & ~MTHCA_QPN_MASK) {
        return MTHCA_ST_BAD_INDEX;
    }
    *obj = rdma_cq_get(m->rdma, cqn);
    return *obj ? MTHCA_ST_OK : MTHCA_ST_BAD_RES_STATE;
}

uint8_t mthca_sw2hw_cq(Mthca *m, MthcaCmd *c)
{
    uint32_t size_uar = get_be32(c->in + MTHCA_CQC_SIZE_UAR);
    RdmaCq *obj;
    MthcaCq *cq;

    if (c->mod & ~MTHCA_QPN_MASK) {
        return MTHCA_ST_BAD_INDEX;
    }
    if (size_uar >> 24 > MTHCA_LOG_MAX_CQES) {
        return MTHCA_ST_BAD_SIZE;
    }
    if ((size_uar & 0xffffff) >> m->log_uars) {
        return MTHCA_ST_BAD_INDEX;
    }
    obj = rdma_cq_create(m->rdma, c->mod);
    if (!obj) {
        return MTHCA_ST_BAD_RES_STATE;
    }
    cq = rdma_cq_priv(obj);
    memcpy(cq->ctx, c->in, sizeof(cq->ctx));
    cq->start = get_be64(c->in + MTHCA_CQC_START);
    cq->log_size = size_uar >> 24;
    cq->uar = size_uar & 0xffffff;
    cq->comp_eqn = get_be32(c->in + MTHCA_CQC_EQN);
    cq->pd = get_be32(c->in + MTHCA_CQC_PD) & 0xffffff;
    cq->lkey = get_be32(c->in + MTHCA_CQC_LKEY);
    cq->ci = get_be32(c->in + MTHCA_CQC_CI);
    cq->pi = get_be32(c->in + MTHCA_CQC_PI);
    cq->solicit_pi = cq->pi;
    cq->ci_db = get_be32(c->in + MTHCA_CQC_CI_DB);
    cq->arm_db = get_be32(c->in + MTHCA_CQC_ARM_DB);
    return MTHCA_ST_OK;
}

static void mthca_cq_context(const MthcaCq *cq, bool hw, uint8_t *o)
{
    static const uint8_t states[] = { 0xa, 6, 9, 9 };

    memcpy(o, cq->ctx, sizeof(cq->ctx));
    put_be32(o + MTHCA_CQC_FLAGS,
             (cq->overrun ? 9u << 28 : 0) | (hw ? 1u << 24 : 0) |
             (get_be32(cq->ctx + MTHCA_CQC_FLAGS) & 1u << 18) |
             (uint32_t)states[cq->armed & 3] << 8);
    o[MTHCA_CQC_SIZE_UAR] = cq->log_size;
    put_be32(o + MTHCA_CQC_LKEY, cq->lkey);
    put_be32(o + MTHCA_CQC_SOLICIT_PI, cq->solicit_pi);
    put_be32(o + MTHCA_CQC_CI, cq->ci);
    put_be32(o + MTHCA_CQC_PI, cq->pi);
}

uint8_t mthca_query_cq(Mthca *m, MthcaCmd *c)
{
    RdmaCq *obj;
    uint8_t st = mthca_cq_find(m, c->mod, &obj);

    if (st == MTHCA_ST_OK) {
        mthca_cq_context(rdma_cq_priv(obj), true, c->out);
    }
    return st;
}

uint8_t mthca_hw2sw_cq(Mthca *m, MthcaCmd *c)
{
    RdmaCq *obj;
    uint8_t st = mthca_cq_find(m, c->mod, &obj);
    MthcaCq *cq;

    if (st != MTHCA_ST_OK) {
        return st;
    }
    cq = rdma_cq_priv(obj);
    if (cq->refs) {
        return MTHCA_ST_BUSY;
    }
    mthca_cq_context(cq, false, c->out);
    rdma_cq_destroy(m->rdma, obj);
    return MTHCA_ST_OK;
}

/*
 * The counters go on; software copies the entries that it has not consumed to
 * the new buffer itself.
 */
uint8_t mthca_resize_cq(Mthca *m, MthcaCmd *c)
{
    RdmaCq *obj;
    uint8_t st = mthca_cq_find(m, c->mod, &obj);
    uint8_t log_size;
    MthcaCq *cq;
    uint32_t ci;

    if (st != MTHCA_ST_OK) {
        return st;
    }
    cq = rdma_cq_priv(obj);
    log_size = c->in[MTHCA_CQC_SIZE_UAR];
    if (log_size > MTHCA_LOG_MAX_CQES) {
        return MTHCA_ST_BAD_SIZE;
    }
    if (mthca_db_record(m, cq->uar, cq->ci_db, &ci)) {
        cq->ci = ci;
    }
    if (cq->pi - cq->ci >= 1u << log_size) {
        return MTHCA_ST_BAD_SIZE;
    }
    cq->log_size = log_size;
    cq->lkey = get_be32(c->in + MTHCA_CQC_LKEY);
    return MTHCA_ST_OK;
}
