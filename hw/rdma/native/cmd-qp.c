/*
 * Queue pair commands (digest B.6-B.8).  The context is kept as the mailbox
 * image, in the device and in ICM; what the engine needs is taken out of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Target of each opcode, and the states it may come from. */
#define S(x)   (1u << RDMA_QPS_##x)
#define EVERY  0x7fu
static const struct {
    uint16_t op;
    uint8_t from;
    uint8_t to;
} moves[] = {
    { NRC_RST2INIT_QP, S(RESET), RDMA_QPS_INIT },
    { NRC_INIT2INIT_QP, S(INIT), RDMA_QPS_INIT },
    { NRC_INIT2RTR_QP, S(INIT), RDMA_QPS_RTR },
    { NRC_RTR2RTS_QP, S(RTR), RDMA_QPS_RTS },
    { NRC_RTS2RTS_QP, S(RTS), RDMA_QPS_RTS },
    { NRC_SQE2RTS_QP, S(SQE), RDMA_QPS_RTS },
    { NRC_2ERR_QP, EVERY, RDMA_QPS_ERR },
    { NRC_RTS2SQD_QP, S(RTS), RDMA_QPS_SQD },
    { NRC_SQD2SQD_QP, S(SQD), RDMA_QPS_SQD },
    { NRC_SQD2RTS_QP, S(SQD), RDMA_QPS_RTS },
    { NRC_2RST_QP, EVERY, RDMA_QPS_RESET },
};

static unsigned state_code(NativeRdma *n, RdmaQpState s)
{
    /* The hardware sources have SQD and SQE the other way round (G8). */
    if (n->cfg.state_rtl && (s == RDMA_QPS_SQE || s == RDMA_QPS_SQD)) {
        return s == RDMA_QPS_SQE ? 5 : 4;
    }
    return s;
}

static void mac(uint8_t to[6], uint32_t high, uint16_t low)
{
    put_be32(to, high);
    put_be16(to + 4, low);
}

static void attributes(NativeRdma *n, const uint8_t *x, RdmaQpAttr *a)
{
    uint8_t svc = x[QPC_FLAGS + 1];
    unsigned rnr = x[QPC_RNR_RETRY] >> 5;

    a->service = svc == RDMA_UC ? RDMA_UC : svc == RDMA_UD ? RDMA_UD :
                 RDMA_RC;
    a->mtu_code = x[QPC_MTU] >> 5;
    a->dest_qpn = native_qpn(n, get_be32(x + QPC_REMOTE_QPN));
    a->pkey_index = get_be32(x + QPC_PKEY) & 0x7f;
    a->rnr_retry = rnr || n->cfg.rnr0_none ? rnr : 7;
    a->timeout = x[QPC_ACKTO] >> 3;
    a->retry_cnt = 7;
    a->av.hop_limit = x[QPC_HOP];
    a->av.sl = x[QPC_SL] >> 4;
    a->av.tclass = get_be32(x + QPC_SL) >> 20 & 0xff;
    a->av.sip = get_be32(x + QPC_SIP);
    a->av.dip = get_be32(x + QPC_DIP);
    if (a->av.dip) {
        mac(a->av.smac, get_be32(x + QPC_SMAC), get_be16(x + QPC_SLID));
        mac(a->av.dmac, get_be32(x + QPC_DMAC), get_be16(x + QPC_DLID));
    } else {
        a->av.dlid = get_be16(x + QPC_DLID);
    }
    a->pd = get_be32(x + QPC_PD);
    a->sq_psn = get_be32(x + QPC_SQ_PSN) & 0xffffff;
    a->send_cqn = get_be32(x + QPC_SEND_CQN) & (nicm_count(n, ICM_CQC) - 1);
    a->recv_cqn = get_be32(x + QPC_RECV_CQN) & (nicm_count(n, ICM_CQC) - 1);
    a->min_rnr_timer = x[QPC_RNR_EPSN] & 0x1f;
    a->rq_psn = get_be32(x + QPC_RNR_EPSN) & 0xffffff;
    a->qkey = get_be32(x + QPC_QKEY);
    /* No field: rights are those of the regions (G40), S and E bits unused. */
    a->access = RDMA_ACC_REMOTE_READ | RDMA_ACC_REMOTE_WRITE |
                RDMA_ACC_REMOTE_ATOMIC;
    a->sig_all = true;
    a->max_rd_atomic = a->max_dest_rd_atomic = 128;
}

static void queues(NativeQp *q)
{
    const uint8_t *x = q->ctx;

    q->sq_lkey = get_be32(x + QPC_SQ_LKEY);
    q->sq_len = get_be32(x + QPC_SQ_LEN);
    q->rq_lkey = get_be32(x + QPC_RQ_LKEY);
    q->rq_len = get_be32(x + QPC_RQ_LEN);
    q->rq_slot = 1u << CLAMP(x[QPC_RQ_LOG], 4, 12);
}

/* Put what the engine has changed into the image. */
static void refresh(NativeRdma *n, RdmaQp *qp)
{
    const RdmaQpAttr *a = rdma_qp_attr(qp);
    NativeQp *q = rdma_qp_priv(qp);
    uint8_t *x = q->ctx;

    x[QPC_FLAGS] = state_code(n, a->state) << 4;
    put_be32(x + QPC_SQ_PSN, a->sq_psn);
    put_be32(x + QPC_UAPSN, a->sq_una);
    put_be32(x + QPC_RNR_EPSN, (get_be32(x + QPC_RNR_EPSN) & 0xff000000) |
                               a->rq_psn);
}

static bool write_back(NativeRdma *n, RdmaQp *qp)
{
    NativeQp *q = rdma_qp_priv(qp);

    refresh(n, qp);
    return nicm_write(n, ICM_QPC, rdma_qp_num(qp), NR_QPC_BYTES, 0, q->ctx,
                     sizeof(q->ctx));
}

void native_qp_changed(void *p, RdmaQp *qp)
{
    write_back(p, qp);
}

static void to_reset(NativeRdma *n, RdmaQp *qp)
{
    NativeQp *q = rdma_qp_priv(qp);

    native_db_clear(n, q);
    q->chain = false;
    q->rq_off = q->rq_block = q->rq_lap = 0;
}

uint8_t native_modify_qp(NativeRdma *n, NativeCmd *c)
{
    RdmaQp *qp = rdma_qp_get(n->dev, c->in_mod);
    RdmaQpState now = qp ? rdma_qp_attr(qp)->state : RDMA_QPS_RESET;
    uint32_t mask = RDMA_QPA_ALL;
    RdmaQpAttr a = { 0 };
    NativeQp *q;
    int i = 0;

    while (moves[i].op != c->op) {
        i++;                    /* the table of commands has them all */
    }
    if (n->cfg.strict_qp && !(moves[i].from >> now & 1)) {
        native_rule(n, "A1-1", "QP is not in the state this leaves",
                    c->in_mod);
        return NRS_BAD_PARAM;
    }
    if (n->cfg.strict_cmd &&
        !nicm_addr(n, ICM_QPC, c->in_mod, NR_QPC_BYTES)) {
        native_rule(n, "MODIFY_QP", "ICM page not mapped", c->in_mod);
        return NRS_BAD_PARAM;
    }
    if (!qp) {
        qp = rdma_qp_create(n->dev, c->in_mod);
    }
    q = rdma_qp_priv(qp);
    if (c->in_len) {
        memcpy(q->ctx, c->in, sizeof(q->ctx));
        attributes(n, q->ctx, &a);
        queues(q);
        /*
         * A driver sends the whole image each time; PSNs in it are old
         * except in the step that sets them (G13).
         */
        if (!n->cfg.psn_always) {
            mask &= ~(RDMA_QPA_SQ_PSN | RDMA_QPA_RQ_PSN);
            mask |= c->op == NRC_INIT2RTR_QP ? RDMA_QPA_RQ_PSN : 0;
            mask |= c->op == NRC_RTR2RTS_QP ? RDMA_QPA_SQ_PSN : 0;
        }
    } else {
        mask = RDMA_QPA_STATE;
    }
    a.state = moves[i].to;
    if (a.state == RDMA_QPS_RESET) {
        mask = RDMA_QPA_STATE;
        to_reset(n, qp);
    } else if (a.state == RDMA_QPS_ERR) {
        mask &= RDMA_QPA_STATE;
    }
    rdma_qp_modify(n->dev, qp, &a, mask);
    write_back(n, qp);
    return NRS_OK;
}

uint8_t native_query_qp(NativeRdma *n, NativeCmd *c)
{
    RdmaQp *qp = rdma_qp_get(n->dev, c->in_mod);
    NativeQp *q;

    if (!qp) {
        /* Never used: state RESET, all zero. */
        return NRS_OK;
    }
    q = rdma_qp_priv(qp);
    write_back(n, qp);
    memcpy(c->out, q->ctx, sizeof(q->ctx));
    put_be32(c->out, 0);        /* opt_param_mask is not in the context */
    return NRS_OK;
}
