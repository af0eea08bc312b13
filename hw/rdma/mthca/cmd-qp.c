/*
 * ncic-mthca: queue pair contexts and their transitions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/*
 * One part of the context: where it lies and which bits of it.  A transition
 * copies the parts it requires and those its option mask names; everything
 * else in the mailbox may be zero and means nothing.
 */
typedef struct QpPart {
    uint32_t opt;           /* option bit, 0 = none */
    uint32_t off;           /* dword of the context */
    uint32_t mask;
    uint8_t need;           /* PART_* transitions that always take it */
} QpPart;

enum { PART_RTR = 1 << 0, PART_RTS = 1 << 1 };

static const QpPart qp_parts[] = {
    { 0, MTHCA_QPC_MTU_MSGMAX, 0xff000000, PART_RTR },
    { 0, MTHCA_QPC_REMOTE_QPN, 0x00ffffff, PART_RTR },
    { 0, MTHCA_QPC_RNR_PSN, 0x00ffffff, PART_RTR },
    { 0, MTHCA_QPC_RA_BUFF, 0xffffffff, PART_RTR },
    { 0, MTHCA_QPC_NEXT_PSN, 0x00ffffff, PART_RTS },
    { MTHCA_OPT_SCHED, 0x08, 0x000000ff, PART_RTR },
    /* primary path: not its port, P_Key, RNR retry and timeout */
    { MTHCA_OPT_PRIMARY, 0x24, 0x00ffffff, PART_RTR },
    { MTHCA_OPT_PRIMARY, 0x28, 0x00ffffff, PART_RTR },
    { MTHCA_OPT_PRIMARY, 0x2c, 0xffffffff, PART_RTR },
    { MTHCA_OPT_PRIMARY, 0x30, 0xffffffff, PART_RTR },
    { MTHCA_OPT_PRIMARY, 0x34, 0xffffffff, PART_RTR },
    { MTHCA_OPT_PRIMARY, 0x38, 0xffffffff, PART_RTR },
    { MTHCA_OPT_PRIMARY, 0x3c, 0xffffffff, PART_RTR },
    { MTHCA_OPT_PKEY, 0x20, 0x0000007f, 0 },
    { MTHCA_OPT_RNR_RETRY, 0x24, 0xe0000000, PART_RTS },
    { MTHCA_OPT_ACK_TO, 0x28, 0xf8000000, PART_RTS },
    { MTHCA_OPT_SRA_MAX, MTHCA_QPC_PARAMS1, 0x00e0e000, PART_RTS },
    { MTHCA_OPT_RETRY, MTHCA_QPC_PARAMS1, 0x00070000, PART_RTS },
    { MTHCA_OPT_RRE, MTHCA_QPC_PARAMS2, MTHCA_P2_RRE, 0 },
    { MTHCA_OPT_RAE, MTHCA_QPC_PARAMS2, MTHCA_P2_RAE, 0 },
    { MTHCA_OPT_RWE, MTHCA_QPC_PARAMS2, MTHCA_P2_RWE, 0 },
    { MTHCA_OPT_RRA_MAX, MTHCA_QPC_PARAMS2, 0x00e00000, 0 },
    { MTHCA_OPT_RNR_TIMEOUT, MTHCA_QPC_RNR_PSN, 0x1f000000, 0 },
    { MTHCA_OPT_QKEY, MTHCA_QPC_QKEY, 0xffffffff, 0 },
};

typedef struct QpTransition {
    uint16_t op;
    uint8_t from;           /* mask of states */
    uint8_t to;
    uint8_t need;           /* PART_* */
} QpTransition;

#define S(x) (1u << RDMA_QPS_##x)

static const QpTransition qp_transitions[] = {
    { MTHCA_CMD_INIT2INIT_QP, S(INIT), RDMA_QPS_INIT, 0 },
    { MTHCA_CMD_INIT2RTR_QP, S(INIT), RDMA_QPS_RTR, PART_RTR },
    { MTHCA_CMD_RTR2RTS_QP, S(RTR), RDMA_QPS_RTS, PART_RTS },
    { MTHCA_CMD_RTS2RTS_QP, S(RTS), RDMA_QPS_RTS, 0 },
    { MTHCA_CMD_SQERR2RTS_QP, S(SQE), RDMA_QPS_RTS, 0 },
    { MTHCA_CMD_2ERR_QP, S(INIT) | S(RTR) | S(RTS) | S(SQE) | S(SQD) | S(ERR),
      RDMA_QPS_ERR, 0 },
    { MTHCA_CMD_RTS2SQD_QP, S(RTS), RDMA_QPS_SQD, 0 },
    { MTHCA_CMD_SQD2SQD_QP, S(SQD), RDMA_QPS_SQD, 0 },
    { MTHCA_CMD_SQD2RTS_QP, S(SQD), RDMA_QPS_RTS, 0 },
};

static const QpTransition *qp_transition(uint16_t op)
{
    for (size_t i = 0; i < G_N_ELEMENTS(qp_transitions); i++) {
        if (qp_transitions[i].op == op) {
            return &qp_transitions[i];
        }
    }
    return NULL;
}

static void qp_merge(uint8_t *ctx, const uint8_t *in, uint32_t opt,
                     uint8_t need)
{
    for (size_t i = 0; i < G_N_ELEMENTS(qp_parts); i++) {
        const QpPart *p = &qp_parts[i];

        if ((p->opt & opt) || (p->need & need)) {
            uint32_t old = get_be32(ctx + p->off);

            put_be32(ctx + p->off,
                     (old & ~p->mask) | (get_be32(in + p->off) & p->mask));
        }
    }
    if (opt & MTHCA_OPT_ALT_ADDR) {
        memcpy(ctx + MTHCA_QPC_ALT_PATH, in + MTHCA_QPC_ALT_PATH,
               MTHCA_PATH_SIZE);
    }
}

static void qp_path_av(const uint8_t *path, RdmaAv *av)
{
    uint32_t v = get_be32(path + MTHCA_PATH_SL_TC_FLOW);

    memset(av, 0, sizeof(*av));
    av->dlid = get_be16(path + MTHCA_PATH_DLID);
    av->sl = v >> 28;
    av->path_bits = path[MTHCA_PATH_G_MYLMC] & 0x7f;
    av->has_grh = path[MTHCA_PATH_G_MYLMC] & 0x80;
    if (av->has_grh) {
        av->tclass = v >> 20;
        av->flow_label = v & 0xfffff;
        av->hop_limit = path[MTHCA_PATH_HOP];
        av->sgid_index = path[MTHCA_PATH_MGID] & (MTHCA_MAX_GIDS - 1);
        memcpy(av->dgid, path + MTHCA_PATH_DGID, 16);
    }
}

/* The context in the transport core's terms; its state is set by the caller. */
static void qp_attr(const MthcaQp *q, RdmaQpAttr *a)
{
    const uint8_t *ctx = q->ctx;
    uint32_t p1 = get_be32(ctx + MTHCA_QPC_PARAMS1);
    uint32_t p2 = get_be32(ctx + MTHCA_QPC_PARAMS2);
    uint8_t st = ctx[1] & 7;

    memset(a, 0, sizeof(*a));
    a->service = st == MTHCA_ST_MLX ? RDMA_UD : (RdmaService)st;
    a->dest_qpn = get_be32(ctx + MTHCA_QPC_REMOTE_QPN) & MTHCA_QPN_MASK;
    a->pd = get_be32(ctx + MTHCA_QPC_PD) & 0xffffff;
    a->send_cqn = get_be32(ctx + MTHCA_QPC_CQN_SND) & MTHCA_QPN_MASK;
    a->recv_cqn = get_be32(ctx + MTHCA_QPC_CQN_RCV) & MTHCA_QPN_MASK;
    a->has_srq = ctx[MTHCA_QPC_SRQN] & 1;
    a->srqn = get_be32(ctx + MTHCA_QPC_SRQN) & MTHCA_QPN_MASK;
    a->sig_all = p1 & MTHCA_P1_SSC;
    a->special = q->special;
    a->mtu_code = ctx[MTHCA_QPC_MTU_MSGMAX] >> 5;
    a->pkey_index = ctx[MTHCA_QPC_PATH + 3] & 0x3f;
    a->qkey = get_be32(ctx + MTHCA_QPC_QKEY);
    qp_path_av(ctx + MTHCA_QPC_PATH, &a->av);
    a->sq_psn = get_be32(ctx + MTHCA_QPC_NEXT_PSN) & RDMA_PSN_MASK;
    a->rq_psn = get_be32(ctx + MTHCA_QPC_RNR_PSN) & RDMA_PSN_MASK;
    a->timeout = ctx[MTHCA_QPC_PATH + MTHCA_PATH_ACKTO] >> 3;
    a->retry_cnt = p1 >> 16 & 7;
    a->rnr_retry = ctx[MTHCA_QPC_PATH + MTHCA_PATH_RNR_RETRY] >> 5;
    a->min_rnr_timer = ctx[MTHCA_QPC_RNR_PSN] & 0x1f;
    a->access = (p2 & MTHCA_P2_RRE ? RDMA_ACC_REMOTE_READ : 0) |
                (p2 & MTHCA_P2_RWE ? RDMA_ACC_REMOTE_WRITE : 0) |
                (p2 & MTHCA_P2_RAE ? RDMA_ACC_REMOTE_ATOMIC : 0);
    a->max_rd_atomic = 1u << (p1 >> 21 & 7);
    a->max_dest_rd_atomic = 1u << (p2 >> 21 & 7);
}

bool mthca_qp_refs(Mthca *m, const RdmaQpAttr *a, int n)
{
    RdmaCq *send = rdma_cq_get(m->rdma, a->send_cqn);
    RdmaCq *recv = rdma_cq_get(m->rdma, a->recv_cqn);
    RdmaSrq *srq = a->has_srq ? rdma_srq_get(m->rdma, a->srqn) : NULL;

    if (!send || !recv || (a->has_srq && !srq)) {
        return false;
    }
    ((MthcaCq *)rdma_cq_priv(send))->refs += n;
    ((MthcaCq *)rdma_cq_priv(recv))->refs += n;
    if (srq) {
        ((MthcaSrq *)rdma_srq_priv(srq))->refs += n;
    }
    return true;
}

bool mthca_qp_sizes_ok(const MthcaQp *q)
{
    return q->ctx[MTHCA_QPC_RQ_SIZE] >> 3 <= MTHCA_LOG_MAX_WQES &&
           q->ctx[MTHCA_QPC_SQ_SIZE] >> 3 <= MTHCA_LOG_MAX_WQES;
}

/* RST2INIT takes the whole context. */
static uint8_t qp_init(Mthca *m, MthcaCmd *c, uint32_t qpn)
{
    const uint8_t *in = c->in + 8;
    uint8_t st = in[1] & 7;
    MthcaQp tmp = { 0 }, *q;
    RdmaQpAttr a;
    RdmaQp *qp;

    if (st == MTHCA_ST_RD || st > MTHCA_ST_UD) {
        if (st != MTHCA_ST_MLX) {
            return MTHCA_ST_BAD_PARAM;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        if (m->special_set[i] && m->special_qpn[i] == qpn) {
            tmp.special = i + 1;
        }
    }
    if ((st == MTHCA_ST_MLX) != !!tmp.special) {
        return MTHCA_ST_BAD_PARAM;
    }
    memcpy(tmp.ctx, in, sizeof(tmp.ctx));
    qp_attr(&tmp, &a);
    if (!mthca_qp_sizes_ok(&tmp)) {
        return MTHCA_ST_BAD_SIZE;
    }
    if ((get_be32(in + MTHCA_QPC_UAR) & MTHCA_UAR_MASK) >> m->log_uars ||
        !rdma_cq_get(m->rdma, a.send_cqn) ||
        !rdma_cq_get(m->rdma, a.recv_cqn) ||
        (a.has_srq && !rdma_srq_get(m->rdma, a.srqn))) {
        return MTHCA_ST_BAD_RESOURCE;
    }
    qp = rdma_qp_create(m->rdma, qpn);
    if (!qp) {
        return rdma_qp_get(m->rdma, qpn) ? MTHCA_ST_BAD_QP_STATE
                                         : MTHCA_ST_BAD_RES_STATE;
    }
    q = rdma_qp_priv(qp);
    *q = tmp;
    mthca_qp_refs(m, &a, 1);
    a.state = RDMA_QPS_INIT;
    rdma_qp_modify(m->rdma, qp, &a, RDMA_QPA_ALL);
    if (q->special) {
        rdma_qp_alias(m->rdma, q->special - 1, qp);
    }
    return MTHCA_ST_OK;
}

uint8_t mthca_modify_qp(Mthca *m, MthcaCmd *c)
{
    uint32_t qpn = c->mod & MTHCA_QPN_MASK, opt = get_be32(c->in), mask;
    const QpTransition *t;
    const RdmaQpAttr *now;
    RdmaQpAttr a;
    RdmaQp *qp;
    MthcaQp *q;

    if (c->mod & 0x7f000000) {
        return MTHCA_ST_BAD_INDEX;
    }
    if (c->op == MTHCA_CMD_RST2INIT_QP) {
        return qp_init(m, c, qpn);
    }
    t = qp_transition(c->op);
    qp = rdma_qp_get(m->rdma, qpn);
    if (!t || !qp) {
        return MTHCA_ST_BAD_QP_STATE;
    }
    now = rdma_qp_attr(qp);
    if (!(t->from & 1u << now->state)) {
        return MTHCA_ST_BAD_QP_STATE;
    }
    q = rdma_qp_priv(qp);
    if (t->to != RDMA_QPS_ERR) {
        qp_merge(q->ctx, c->in + 8, opt, t->need);
    }
    qp_attr(q, &a);
    a.state = t->to;
    a.sqd_event = c->mod >> 31;
    mask = RDMA_QPA_STATE;
    if (t->to == RDMA_QPS_SQD) {
        mask |= RDMA_QPA_SQD_EVENT;
    }
    if (t->to != RDMA_QPS_ERR) {
        mask |= RDMA_QPA_PKEY | RDMA_QPA_QKEY | RDMA_QPA_AV |
                RDMA_QPA_TIMEOUT | RDMA_QPA_RETRY | RDMA_QPA_RNR_RETRY |
                RDMA_QPA_RNR_TIMER | RDMA_QPA_ACCESS | RDMA_QPA_RD_ATOMIC |
                RDMA_QPA_DEST_RD;
    }
    if (t->need & PART_RTR) {
        mask |= RDMA_QPA_DEST_QPN | RDMA_QPA_MTU | RDMA_QPA_RQ_PSN;
    }
    if (t->need & PART_RTS) {
        mask |= RDMA_QPA_SQ_PSN;
    }
    rdma_qp_modify(m->rdma, qp, &a, mask);
    return MTHCA_ST_OK;
}

static void qp_context(RdmaQp *qp, uint8_t *out)
{
    const RdmaQpAttr *a = rdma_qp_attr(qp);
    const MthcaQp *q = rdma_qp_priv(qp);
    uint8_t *o = out + 8;

    memcpy(o, q->ctx, MTHCA_QPC_SIZE);
    o[0] = (o[0] & 0x0f) | a->state << 4;
    put_be32(o + MTHCA_QPC_NEXT_PSN, a->sq_psn & RDMA_PSN_MASK);
    put_be24(o + MTHCA_QPC_RNR_PSN + 1, a->rq_psn);
    put_be16(o + MTHCA_QPC_RQ_COUNT, q->rq_tail);
    put_be16(o + MTHCA_QPC_SQ_COUNT, q->sq_next);
}

uint8_t mthca_query_qp(Mthca *m, MthcaCmd *c)
{
    RdmaQp *qp;

    if (c->mod & ~MTHCA_QPN_MASK) {
        return MTHCA_ST_BAD_INDEX;
    }
    qp = rdma_qp_get(m->rdma, c->mod);
    if (!qp) {
        return MTHCA_ST_BAD_QP_STATE;
    }
    qp_context(qp, c->out);
    return MTHCA_ST_OK;
}

/* From any state; the context is gone afterwards. */
uint8_t mthca_reset_qp(Mthca *m, MthcaCmd *c)
{
    uint32_t qpn = c->mod & MTHCA_QPN_MASK;
    RdmaQp *qp;
    RdmaQpAttr a;

    if (c->mod & 0x7f000000) {
        return MTHCA_ST_BAD_INDEX;
    }
    qp = rdma_qp_get(m->rdma, qpn);
    if (!qp) {
        return MTHCA_ST_BAD_QP_STATE;
    }
    qp_context(qp, c->out);
    a = *rdma_qp_attr(qp);
    rdma_qp_destroy(m->rdma, qp);
    mthca_qp_refs(m, &a, -1);
    return MTHCA_ST_OK;
}

uint8_t mthca_conf_special_qp(Mthca *m, MthcaCmd *c)
{
    if (c->op_mod > 1) {
        return MTHCA_ST_BAD_PARAM;
    }
    if (c->mod & ~MTHCA_QPN_MASK) {
        return MTHCA_ST_BAD_INDEX;
    }
    m->special_set[c->op_mod] = c->mod != 0;
    m->special_qpn[c->op_mod] = c->mod;
    return MTHCA_ST_OK;
}
