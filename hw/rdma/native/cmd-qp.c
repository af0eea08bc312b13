/*
 * Queue pair commands (interface document, section 3.2.7 and
 * appendix A1).  The context is kept as the mailbox
 * image, in the device and in ICM; what the engine needs is taken out of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Attributes in terms of the context only: queues, UAR page, slot sizes. */
#define QUEUES (1u << 30)

/* What a QP is made of: RST2INIT takes it, and it stays (IB 1.3 §11.2.4.1). */
#define MAKE   (RDMA_QPA_SERVICE | RDMA_QPA_PD | RDMA_QPA_CQS | QUEUES)
/* What the path is made of: INIT2RTR takes it, and it stays. */
#define PATH   (RDMA_QPA_MTU | RDMA_QPA_DEST_QPN)
#define COMMON (RDMA_QPA_QKEY | RDMA_QPA_ACCESS)

/* Target of each opcode, the states it may come from, and what it takes out
 * of its mailbox (interface document, appendix A1-2). */
#define S(x)   (1u << RDMA_QPS_##x)
#define A(x)   RDMA_QPA_##x
#define EVERY  0x7fu
static const struct {
    uint16_t op;
    uint8_t from;
    uint8_t to;
    uint32_t takes;
} qp_moves[] = {
    { NRC_RST2INIT_QP, S(RESET), RDMA_QPS_INIT,
      MAKE | COMMON | A(PKEY) | A(SRQ) | A(SIG_ALL) | A(SPECIAL) |
      A(RD_ATOMIC) | A(DEST_RD) | A(RETRY) },
    { NRC_INIT2INIT_QP, S(INIT), RDMA_QPS_INIT, COMMON | A(PKEY) },
    { NRC_INIT2RTR_QP, S(INIT), RDMA_QPS_RTR,
      PATH | COMMON | A(PKEY) | A(AV) | A(RQ_PSN) | A(RNR_TIMER) },
    { NRC_RTR2RTS_QP, S(RTR), RDMA_QPS_RTS,
      COMMON | A(SQ_PSN) | A(TIMEOUT) | A(RETRY) | A(RNR_RETRY) |
      A(RNR_TIMER) },
    { NRC_RTS2RTS_QP, S(RTS), RDMA_QPS_RTS, COMMON | A(RNR_TIMER) },
    { NRC_SQE2RTS_QP, S(SQE), RDMA_QPS_RTS, COMMON },
    { NRC_2ERR_QP, EVERY, RDMA_QPS_ERR, 0 },
    { NRC_RTS2SQD_QP, S(RTS), RDMA_QPS_SQD, 0 },
    { NRC_SQD2SQD_QP, S(SQD), RDMA_QPS_SQD,
      COMMON | A(PKEY) | A(AV) | A(TIMEOUT) | A(RETRY) | A(RNR_RETRY) |
      A(RNR_TIMER) },
    { NRC_SQD2RTS_QP, S(SQD), RDMA_QPS_RTS, COMMON | A(RNR_TIMER) },
    { NRC_2RST_QP, EVERY, RDMA_QPS_RESET, 0 },
};

/* Which bits of the context an attribute owns; those of nobody are stored as
 * they come. */
static const struct {
    uint8_t off;                /* of a dword */
    uint32_t mask;
    uint32_t attr;
} qp_parts[] = {
    { NR_QPC_FLAGS, 0x00ff0000, A(SERVICE) },
    { NR_QPC_MTU, 0xff000000, A(MTU) },
    { NR_QPC_MTU, 0x00ffff00, QUEUES },            /* slot sizes */
    { NR_QPC_USR_PAGE, 0x00ffffff, QUEUES },
    { NR_QPC_REMOTE_QPN, 0x00ffffff, A(DEST_QPN) },
    { NR_QPC_PKEY, 0x0000007f, A(PKEY) },
    { NR_QPC_RNR_RETRY, 0xe0000000, A(RNR_RETRY) },
    { NR_QPC_RNR_RETRY, 0x00ff0000, A(AV) },
    { NR_QPC_ACKTO, 0xff000000, A(TIMEOUT) },
    { NR_QPC_ACKTO, 0x00ffffff, A(AV) },
    { NR_QPC_SL, UINT32_MAX, A(AV) },
    { NR_QPC_DGID, UINT32_MAX, A(AV) }, { NR_QPC_DGID + 4, UINT32_MAX, A(AV) },
    { NR_QPC_DGID + 8, UINT32_MAX, A(AV) },
    { NR_QPC_DGID + 12, UINT32_MAX, A(AV) },
    { NR_QPC_DLID, UINT32_MAX, A(AV) }, { NR_QPC_SMAC, UINT32_MAX, A(AV) },
    { NR_QPC_DMAC, UINT32_MAX, A(AV) }, { NR_QPC_SIP, UINT32_MAX, A(AV) },
    { NR_QPC_DIP, UINT32_MAX, A(AV) },
    { NR_QPC_PD, UINT32_MAX, A(PD) },
    { NR_QPC_SQ_PSN, 0x00ffffff, A(SQ_PSN) },
    { NR_QPC_SEND_CQN, UINT32_MAX, A(CQS) },
    { NR_QPC_SQ_LKEY, UINT32_MAX, QUEUES },
    { NR_QPC_SQ_LEN, UINT32_MAX, QUEUES },
    { NR_QPC_RNR_EPSN, 0xff000000, A(RNR_TIMER) },
    { NR_QPC_RNR_EPSN, 0x00ffffff, A(RQ_PSN) },
    { NR_QPC_RECV_CQN, UINT32_MAX, A(CQS) },
    { NR_QPC_RQ_LKEY, UINT32_MAX, QUEUES },
    { NR_QPC_RQ_LEN, UINT32_MAX, QUEUES },
    { NR_QPC_QKEY, UINT32_MAX, A(QKEY) },
};
#undef A

/* Bits of part @i in which the mailbox @in differs from the context. */
static uint32_t part_changes(int i, const uint8_t *ctx, const uint8_t *in)
{
    return (get_be32(ctx + qp_parts[i].off) ^ get_be32(in + qp_parts[i].off)) &
           qp_parts[i].mask;
}

/*
 * What has to stay and would not: drivers send the whole image at each step, so
 * that a field that is not for this step carries what it had.  Attributes that
 * other steps take may be old.
 */
static bool changes_for_good(const uint8_t *ctx, const uint8_t *in,
                             RdmaQpState now, uint32_t takes)
{
    uint32_t fixed = (MAKE | (now > RDMA_QPS_INIT ? PATH : 0)) & ~takes;

    for (int i = 0; i < G_N_ELEMENTS(qp_parts); i++) {
        if ((qp_parts[i].attr & fixed) && part_changes(i, ctx, in)) {
            return true;
        }
    }
    return false;
}

/* The mailbox becomes the context, but for what this step does not take. */
static void merge_context(uint8_t *ctx, const uint8_t *in, uint32_t takes)
{
    uint8_t next[NR_QP_MBOX_BYTES];

    memcpy(next, in, sizeof(next));
    for (int i = 0; i < G_N_ELEMENTS(qp_parts); i++) {
        if (!(qp_parts[i].attr & takes)) {
            put_be32(next + qp_parts[i].off,
                     get_be32(next + qp_parts[i].off) ^
                     part_changes(i, ctx, in));
        }
    }
    memcpy(ctx, next, sizeof(next));
}

static unsigned state_code(NativeRdma *n, RdmaQpState s)
{
    /* The hardware sources have SQD and SQE the other way round. */
    if (n->cfg.state_rtl && (s == RDMA_QPS_SQE || s == RDMA_QPS_SQD)) {
        return s == RDMA_QPS_SQE ? 5 : 4;
    }
    return s;
}

static void put_mac(uint8_t to[6], uint32_t high, uint16_t low)
{
    put_be32(to, high);
    put_be16(to + 4, low);
}

static void read_attributes(NativeRdma *n, const uint8_t *x, RdmaQpAttr *a)
{
    uint8_t svc = x[NR_QPC_FLAGS + 1];
    unsigned rnr = x[NR_QPC_RNR_RETRY] >> 5;

    a->service = svc == RDMA_UC ? RDMA_UC : svc == RDMA_UD ? RDMA_UD :
                 RDMA_RC;
    a->mtu_code = x[NR_QPC_MTU] >> 5;
    a->dest_qpn = get_be32(x + NR_QPC_REMOTE_QPN) & RDMA_QPN_MASK;
    a->pkey_index = get_be32(x + NR_QPC_PKEY) & 0x7f;
    a->rnr_retry = rnr || n->cfg.rnr0_none ? rnr : 7;
    a->timeout = x[NR_QPC_ACKTO] >> 3;
    a->retry_cnt = 7;
    a->av.hop_limit = x[NR_QPC_HOP];
    a->av.sl = x[NR_QPC_SL] >> 4;
    a->av.tclass = get_be32(x + NR_QPC_SL) >> 20 & 0xff;
    a->av.sip = get_be32(x + NR_QPC_SIP);
    a->av.dip = get_be32(x + NR_QPC_DIP);
    if (a->av.dip) {
        put_mac(a->av.smac, get_be32(x + NR_QPC_SMAC),
                get_be16(x + NR_QPC_SLID));
        put_mac(a->av.dmac, get_be32(x + NR_QPC_DMAC),
                get_be16(x + NR_QPC_DLID));
    } else {
        a->av.dlid = get_be16(x + NR_QPC_DLID);
    }
    a->pd = get_be32(x + NR_QPC_PD);
    a->sq_psn = get_be32(x + NR_QPC_SQ_PSN) & 0xffffff;
    a->send_cqn = get_be32(x + NR_QPC_SEND_CQN) & (nicm_count(n, ICM_CQC) - 1);
    a->recv_cqn = get_be32(x + NR_QPC_RECV_CQN) & (nicm_count(n, ICM_CQC) - 1);
    a->min_rnr_timer = x[NR_QPC_RNR_EPSN] & 0x1f;
    a->rq_psn = get_be32(x + NR_QPC_RNR_EPSN) & 0xffffff;
    a->qkey = get_be32(x + NR_QPC_QKEY);
    /* No field: rights are those of the regions, S and E bits unused. */
    a->access = RDMA_ACC_REMOTE_READ | RDMA_ACC_REMOTE_WRITE |
                RDMA_ACC_REMOTE_ATOMIC;
    a->sig_all = true;
    a->max_rd_atomic = a->max_dest_rd_atomic = 128;
}

void native_take_queues(NativeQp *q)
{
    const uint8_t *x = q->ctx;

    q->sq_lkey = get_be32(x + NR_QPC_SQ_LKEY);
    q->sq_len = get_be32(x + NR_QPC_SQ_LEN);
    q->rq_lkey = get_be32(x + NR_QPC_RQ_LKEY);
    q->rq_len = get_be32(x + NR_QPC_RQ_LEN);
    q->rq_slot = 1u << CLAMP(x[NR_QPC_RQ_LOG], 4, 12);
}

/* Put what the engine has changed into the image. */
static void refresh_context(NativeRdma *n, RdmaQp *qp)
{
    const RdmaQpAttr *a = rdma_qp_attr(qp);
    NativeQp *q = rdma_qp_priv(qp);
    uint8_t *x = q->ctx;

    x[NR_QPC_FLAGS] = state_code(n, a->state) << 4;
    put_be32(x + NR_QPC_SQ_PSN, a->sq_psn);
    put_be32(x + NR_QPC_UAPSN, a->sq_una);
    put_be32(x + NR_QPC_RNR_EPSN, (get_be32(x + NR_QPC_RNR_EPSN) & 0xff000000) |
                               a->rq_psn);
}

static bool write_back(NativeRdma *n, RdmaQp *qp)
{
    NativeQp *q = rdma_qp_priv(qp);

    refresh_context(n, qp);
    return nicm_write(n, ICM_QPC, rdma_qp_num(qp), NR_QPC_BYTES, 0, q->ctx,
                     sizeof(q->ctx));
}

void native_qp_changed(void *p, RdmaQp *qp)
{
    write_back(p, qp);
}

static void to_reset(NativeRdma *n, RdmaQp *qp)
{
    RdmaQpAttr a = { .state = RDMA_QPS_RESET };
    NativeQp *q = rdma_qp_priv(qp);

    native_db_clear(n, q);
    q->chain = false;
    q->rq_off = q->rq_block = q->rq_lap = 0;
    rdma_qp_modify(n->dev, qp, &a, RDMA_QPA_STATE);
}

uint8_t native_modify_qp(NativeRdma *n, NativeCmd *c)
{
    RdmaQp *qp = rdma_qp_get(n->dev, c->in_mod);
    RdmaQpState now = qp ? rdma_qp_attr(qp)->state : RDMA_QPS_RESET;
    RdmaQpAttr a = { 0 };
    uint32_t takes;
    NativeQp *q;
    int i = 0;

    while (qp_moves[i].op != c->op) {
        i++;                    /* the table of commands has them all */
    }
    if (n->cfg.strict_qp && !(qp_moves[i].from >> now & 1)) {
        native_rule(n, c->in_mod, "A1-1", "QP is not in the state this leaves");
        return NRS_BAD_PARAM;
    }
    if (n->cfg.strict_cmd &&
        !nicm_addr(n, ICM_QPC, c->in_mod, NR_QPC_BYTES)) {
        native_rule(n, c->in_mod, "MODIFY_QP", "ICM page not mapped");
        return NRS_BAD_PARAM;
    }
    takes = c->in_len ? qp_moves[i].takes : 0;
    if (takes && n->cfg.psn_always) {
        takes |= RDMA_QPA_SQ_PSN | RDMA_QPA_RQ_PSN;
    }
    if (takes && qp && now != RDMA_QPS_RESET &&
        changes_for_good(((NativeQp *)rdma_qp_priv(qp))->ctx, c->in, now,
                         takes)) {
        native_rule(n, c->in_mod, "A1-2",
                    "attribute cannot change in this transition");
        if (n->cfg.strict_qp) {
            return NRS_BAD_PARAM;
        }
    }
    if (!qp) {
        qp = rdma_qp_create(n->dev, c->in_mod);
    }
    q = rdma_qp_priv(qp);
    if (qp_moves[i].to == RDMA_QPS_RESET ||
        ((takes & MAKE) && now != RDMA_QPS_RESET)) {
        /* Made anew (not strict): nothing of an old life may be left. */
        to_reset(n, qp);
    }
    if (takes) {
        merge_context(q->ctx, c->in, takes);
        read_attributes(n, q->ctx, &a);
        if (takes & QUEUES) {
            native_take_queues(q);
        }
    }
    a.state = qp_moves[i].to;
    rdma_qp_modify(n->dev, qp, &a, (takes & RDMA_QPA_ALL) | RDMA_QPA_STATE);
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
