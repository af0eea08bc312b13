/*
 * ncic-mthca: queues as a driver fills and reads them, between two adapters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-end.h"
#include "rdma/objects.h"

enum { PSN_A = 0xfffffe, PSN_B = 0x123456 };

static const uint8_t *need_cqe(MEnd *e, bool send, uint8_t opcode)
{
    const uint8_t *c = mend_poll(e);

    g_assert_nonnull(c);
    g_assert_cmphex(get_be32(c), ==, ME_QPN);
    g_assert_cmphex(c[0x1d] >> 7, ==, send);
    g_assert_cmphex(c[0x1c], ==, opcode);
    return c;
}

static void fill(MEnd *e, uint32_t off, uint32_t len, uint8_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        e->g->mem[off + i] = seed + i * 7;
    }
}

static void rc_pair(MEnd *a, MEnd *b)
{
    *a = mend_new(1);
    *b = mend_new(2);
    mend_qp_up(a, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
    mend_qp_up(b, MTHCA_ST_RC, 1, PSN_B, PSN_A, false);
}

/* Send with immediate in several packets; events at both ends. */
static void test_send(void)
{
    MEnd a, b;
    const uint8_t *c, *eqe;
    uint8_t *p;

    rc_pair(&a, &b);
    fill(&a, ME_DATA, 1000, 3);
    mend_recv(&b, 0, ME_DATA, 2000);
    mend_arm(&b, 1);
    p = mend_wqe(&a, MTHCA_WQE_SEND_IMM,
                  MTHCA_NEXT_CQ_UPDATE | MTHCA_NEXT_SOLICIT, 2);
    put_be32(p - 4, 0xcafe0123);
    mend_data(&a, p, ME_DATA, 1000);
    mend_ring(&a, 1, a.op, a.size);
    mexchange(a.g, b.g);

    c = need_cqe(&a, true, MTHCA_WQE_SEND_IMM);
    g_assert_cmphex(get_be32(c + 0x18), ==, ME_SQ);
    c = need_cqe(&b, false, 0x03);      /* Send Last with Immediate */
    g_assert_cmphex(get_be32(c + 0x10), ==, 0xcafe0123);
    g_assert_cmpuint(get_be32(c + 0x14), ==, 1000);
    g_assert_cmphex(get_be32(c + 0x18), ==, ME_RQ);
    g_assert_cmpmem(b.g->mem + ME_DATA, 1000, a.g->mem + ME_DATA, 1000);
    /* Four packets on, which a change of neither PSN leaves. */
    min_box(a.g);
    mok(a.g, MTHCA_CMD_RTS2RTS_QP, ME_QPN, 0);
    min_box(b.g);
    mok(b.g, MTHCA_CMD_RTS2RTS_QP, ME_QPN, 0);
    mok(b.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
    g_assert_cmphex(get_be32(mout_box(b.g) + 8 + MTHCA_QPC_RNR_PSN) & 0xffffff,
                    ==, (PSN_A + 4) & 0xffffff);
    mok(a.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
    g_assert_cmphex(get_be32(mout_box(a.g) + 8 + MTHCA_QPC_NEXT_PSN), ==,
                    (PSN_A + 4) & 0xffffff);
    eqe = b.g->mem + ME_EQ;
    g_assert_cmphex(eqe[1], ==, MTHCA_EV_COMP);
    g_assert_cmpuint(get_be32(eqe + 4), ==, ME_CQN);
    g_assert_cmpuint(b.g->msix[0], ==, 1);
    g_assert_null(mend_poll(&a));
    /* Not armed: no event.  Armed behind an entry: at once. */
    g_assert_cmpuint(a.g->msix[0], ==, 0);
    a.ci--;
    mend_arm(&a, 2);
    g_assert_cmpuint(a.g->msix[0], ==, 1);
    mend_free(&a);
    mend_free(&b);
}

/* One doorbell for a chain: opcode and size come from the links. */
static void test_chain(void)
{
    MEnd a, b;
    uint8_t *p;

    rc_pair(&a, &b);
    fill(&a, ME_DATA, 700, 1);
    fill(&b, ME_DATA + 0x2000, 700, 99);
    put_be64(b.g->mem + ME_DATA + 0x1000, 0);
    /* The value is the guest's: little-endian on a little-endian host. */
    put_le64(b.g->mem + ME_DATA + 0x1000, 41);
    for (unsigned round = 0; round < 12; round++) {
        p = mend_wqe(&a, MTHCA_WQE_RDMA_WRITE, 0, 3);
        mend_data(&a, mend_raddr(&a, p, ME_DATA, b.key), ME_DATA, 700);
        p = mend_wqe(&a, MTHCA_WQE_RDMA_READ, 0, 3);
        mend_data(&a, mend_raddr(&a, p, ME_DATA + 0x2000, b.key),
                  ME_DATA + 0x2000, 700);
        p = mend_wqe(&a, MTHCA_WQE_ATOMIC_FA, MTHCA_NEXT_CQ_UPDATE, 4);
        p = mend_raddr(&a, p, ME_DATA + 0x1000, b.key);
        put_be64(p, 1);
        mend_data(&a, p + 16, ME_DATA + 0x1000, 8);
        mend_ring(&a, 3, MTHCA_WQE_RDMA_WRITE, 3);
        mexchange(a.g, b.g);
        need_cqe(&a, true, MTHCA_WQE_ATOMIC_FA);
        g_assert_null(mend_poll(&a));
        g_assert_cmpmem(b.g->mem + ME_DATA, 700, a.g->mem + ME_DATA, 700);
        g_assert_cmpmem(a.g->mem + ME_DATA + 0x2000, 700,
                        b.g->mem + ME_DATA + 0x2000, 700);
        g_assert_cmpuint(get_le64(b.g->mem + ME_DATA + 0x1000), ==, 42 + round);
        g_assert_cmpuint(get_le64(a.g->mem + ME_DATA + 0x1000), ==, 41 + round);
    }
    mend_free(&a);
    mend_free(&b);
}

/* A hundred completions: around the ring of 64, in order. */
static void test_cq_ring(void)
{
    MEnd a, b;
    uint8_t *p;

    rc_pair(&a, &b);
    for (unsigned i = 0; i < 100; i++) {
        p = mend_wqe(&a, MTHCA_WQE_RDMA_WRITE, MTHCA_NEXT_CQ_UPDATE, 3);
        mend_data(&a, mend_raddr(&a, p, ME_DATA, b.key), ME_DATA, 8);
        mend_ring(&a, 1, a.op, a.size);
        mexchange(a.g, b.g);
        g_assert_cmphex(get_be32(need_cqe(&a, true, a.op) + 0x18), ==,
                        ME_SQ + i % 16 * ME_SQ_STRIDE);
        a.g->mem[ME_CQ + i % 64 * MTHCA_CQE_SIZE + 0x1f] = MTHCA_OWNER_HW;
    }
    g_assert_null(mend_poll(&a));
    mend_free(&a);
    mend_free(&b);
}

/* The port comes and goes: events with its number. */
static void test_port_event(void)
{
    MEnd a = mend_new(1);
    const uint8_t *e = a.g->mem + ME_EQ;

    g_assert_cmphex(mcmd(a.g, MTHCA_CMD_MAP_EQ, 1, 0,
                         1ull << MTHCA_EV_PORT_CHANGE, 0, NULL), ==, 0);
    mthca_link_set(a.g->m, false);
    mthca_link_set(a.g->m, true);
    for (unsigned i = 0; i < 2; i++, e += MTHCA_EQE_SIZE) {
        g_assert_cmphex(e[1], ==, MTHCA_EV_PORT_CHANGE);
        g_assert_cmphex(e[3], ==, i ? 4 : 1);
        g_assert_cmphex(get_be32(e + 0x0c), ==, 1u << 28);
        g_assert_cmphex(e[0x1f], ==, 0);
    }
    mend_free(&a);
}

/* Wrong key: error CQE at the requester, the rest is flushed one by one. */
static void test_errors(void)
{
    MEnd a, b;
    const uint8_t *c;
    uint8_t *p;

    rc_pair(&a, &b);
    p = mend_wqe(&a, MTHCA_WQE_RDMA_WRITE, 0, 3);
    mend_data(&a, mend_raddr(&a, p, ME_DATA, 0x7700), ME_DATA, 8);
    p = mend_wqe(&a, MTHCA_WQE_RDMA_WRITE, 0, 3);
    mend_data(&a, mend_raddr(&a, p, ME_DATA, b.key), ME_DATA, 8);
    mend_ring(&a, 2, MTHCA_WQE_RDMA_WRITE, 3);
    mend_recv(&a, 0, ME_DATA, 100);
    mexchange(a.g, b.g);
    c = need_cqe(&a, true, 0xff);
    g_assert_cmphex(c[0x10], ==, MTHCA_SYN_REMOTE_ACCESS);
    g_assert_cmphex(get_be32(c + 0x18), ==, ME_SQ);
    for (unsigned i = 0; i < 2; i++) {
        c = mend_poll(&a);
        g_assert_nonnull(c);
        g_assert_cmphex(c[0x10], ==, MTHCA_SYN_FLUSH);
        g_assert_cmphex(c[0x1c], ==, c[0x1d] & 0x80 ? 0xff : 0xfe);
    }
    g_assert_null(mend_poll(&a));
    mok(a.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
    g_assert_cmphex(mout_box(a.g)[8] >> 4, ==, MTHCA_QPS_ERR);
    mend_free(&a);
    mend_free(&b);
}

static void test_ud(void)
{
    MEnd a = mend_new(1), b = mend_new(2);
    const uint8_t *c;
    uint8_t *p;

    mend_qp_up(&a, MTHCA_ST_UD, 0, 0, 0, false);
    mend_qp_up(&b, MTHCA_ST_UD, 0, 0, 0, false);
    fill(&a, ME_DATA, 100, 50);
    mend_recv(&b, 0, ME_DATA, 140);
    p = mend_wqe(&a, MTHCA_WQE_SEND, MTHCA_NEXT_CQ_UPDATE, 5);
    memset(p, 0xee, 0x20);          /* an address vector is not zeroed */
    put_be32(p, 1u << 24);
    put_be32(p + 4, 2);             /* no GRH, DLID 2 */
    put_be32(p + 0x20, ME_QPN);
    put_be32(p + 0x24, 0x11111111);
    mend_data(&a, p + 0x30, ME_DATA, 100);
    mend_ring(&a, 1, MTHCA_WQE_SEND, 5);
    mexchange(a.g, b.g);
    need_cqe(&a, true, MTHCA_WQE_SEND);
    c = need_cqe(&b, false, 0x04);
    g_assert_cmpuint(get_be32(c + 0x14), ==, 140);
    g_assert_cmphex(get_be32(c + 8), ==, ME_QPN);
    g_assert_cmpuint(get_be16(c + 0x0e), ==, 1);
    g_assert_cmphex(c[0x0d] & 0x80, ==, 0);
    g_assert_cmpmem(b.g->mem + ME_DATA + 40, 100, a.g->mem + ME_DATA, 100);
    mend_free(&a);
    mend_free(&b);
}

/* Receive WQEs of an SRQ in the order of their links, limit event. */
static void test_srq(void)
{
    static const uint8_t order[] = { 0, 5, 2 };
    MEnd a = mend_new(1), b = mend_new(2);
    uint8_t *in, *p;

    in = min_box(b.g);
    put_be32(in, 4u << 24 | ME_SRQN);
    put_be32(in + 4, b.key);
    put_be32(in + 8, ME_SRQ_DB);
    put_be32(in + 0x0c, 2u << 29 | ME_UAR);
    put_be64(in + 0x10, G_BUS + ME_SRQ);
    mok(b.g, MTHCA_CMD_SW2HW_SRQ, ME_SRQN, 0);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *w = b.g->mem + ME_SRQ + order[i] * ME_RQ_STRIDE;

        put_be32(w, (i < 2 ? order[i + 1] : 7u) * ME_RQ_STRIDE | 1);
        mend_data(&b, w + 16, ME_DATA + order[i] * 0x100, 64);
        put_be32(w + 36, MTHCA_INVAL_LKEY);
    }
    mend_db(&b, ME_SRQ_DB, 3);
    g_assert_cmphex(mcmd(b.g, MTHCA_CMD_MAP_EQ, 1, 0, 1ull << 0x14, 0, NULL),
                    ==, 0);
    g_assert_cmphex(mcmd(b.g, MTHCA_CMD_ARM_SRQ, ME_SRQN, 0, 3, 0, NULL), ==,
                    0);
    g_assert_cmpuint(b.g->msix[0], ==, 0);
    mend_qp_up(&a, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
    mend_qp_up(&b, MTHCA_ST_RC, 1, PSN_B, PSN_A, true);
    for (unsigned i = 0; i < 3; i++) {
        fill(&a, ME_DATA, 64, i * 11);
        p = mend_wqe(&a, MTHCA_WQE_SEND, MTHCA_NEXT_CQ_UPDATE, 2);
        mend_data(&a, p, ME_DATA, 64);
        mend_ring(&a, 1, MTHCA_WQE_SEND, 2);
        mexchange(a.g, b.g);
        need_cqe(&a, true, MTHCA_WQE_SEND);
        g_assert_cmpuint(get_be32(need_cqe(&b, false, 4) + 0x18), ==,
                         order[i] * ME_RQ_STRIDE);
        g_assert_cmpmem(b.g->mem + ME_DATA + order[i] * 0x100, 64,
                        a.g->mem + ME_DATA, 64);
    }
    g_assert_cmphex(b.g->mem[ME_EQ + 1], ==, MTHCA_EV_SRQ_LIMIT);
    g_assert_cmpuint(get_be32(b.g->mem + ME_EQ + 4), ==, ME_SRQN);
    g_assert_cmphex(mcmd_box(b.g, MTHCA_CMD_HW2SW_SRQ, ME_SRQN, 0), ==,
                    MTHCA_ST_BUSY);
    g_assert_cmphex(mcmd_box(b.g, MTHCA_CMD_HW2SW_CQ, ME_CQN, 0), ==,
                    MTHCA_ST_BUSY);
    mok(b.g, MTHCA_CMD_ERR2RST_QP, ME_QPN, 3);
    mok(b.g, MTHCA_CMD_HW2SW_SRQ, ME_SRQN, 0);
    mok(b.g, MTHCA_CMD_HW2SW_CQ, ME_CQN, 0);
    mend_free(&a);
    mend_free(&b);
}

static void test_transitions(void)
{
    static const uint16_t from_reset[] = {
        MTHCA_CMD_INIT2RTR_QP, MTHCA_CMD_RTR2RTS_QP, MTHCA_CMD_RTS2RTS_QP,
        MTHCA_CMD_2ERR_QP, MTHCA_CMD_ERR2RST_QP, MTHCA_CMD_QUERY_QP,
        MTHCA_CMD_SQD2RTS_QP, MTHCA_CMD_SQERR2RTS_QP, MTHCA_CMD_RTS2SQD_QP,
    };
    static const uint16_t not_from_rts[] = {
        MTHCA_CMD_RST2INIT_QP, MTHCA_CMD_INIT2INIT_QP, MTHCA_CMD_INIT2RTR_QP,
        MTHCA_CMD_RTR2RTS_QP, MTHCA_CMD_SQD2RTS_QP, MTHCA_CMD_SQERR2RTS_QP,
        MTHCA_CMD_SQD2SQD_QP,
    };
    MEnd e = mend_new(1);
    uint8_t saved[0x108], *o;

    for (unsigned i = 0; i < G_N_ELEMENTS(from_reset); i++) {
        min_box(e.g);
        g_assert_cmphex(mcmd_box(e.g, from_reset[i], ME_QPN, 0), ==,
                        MTHCA_ST_BAD_QP_STATE);
    }
    mend_qp_up(&e, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
    mok(e.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
    o = mout_box(e.g) + 8;
    memcpy(saved, mout_box(e.g), sizeof(saved));
    g_assert_cmphex(o[0] >> 4, ==, MTHCA_QPS_RTS);
    /* Port from RST2INIT, LID from INIT2RTR, time-out from RTR2RTS. */
    g_assert_cmphex(o[MTHCA_QPC_PATH], ==, 1);
    g_assert_cmpuint(get_be16(o + MTHCA_QPC_PATH + 6), ==, 2);
    g_assert_cmpuint(o[MTHCA_QPC_PATH + 8] >> 3, ==, 14);
    g_assert_cmphex(get_be32(o + MTHCA_QPC_NEXT_PSN), ==, PSN_A);
    g_assert_cmphex(get_be32(o + MTHCA_QPC_PARAMS2) & 0xe000, ==, 0xe000);
    for (unsigned i = 0; i < G_N_ELEMENTS(not_from_rts); i++) {
        memcpy(min_box(e.g), saved, sizeof(saved));
        put_be32(e.g->mem + G_IN, 0);
        g_assert_cmphex(mcmd_box(e.g, not_from_rts[i], ME_QPN, 0), ==,
                        MTHCA_ST_BAD_QP_STATE);
    }
    /* It takes its leave as it was.  Bits beside the state are software's. */
    memset(mout_box(e.g), 0, sizeof(saved));
    mok(e.g, MTHCA_CMD_ERR2RST_QP, ME_QPN, 2);
    g_assert_cmpmem(mout_box(e.g), sizeof(saved), saved, sizeof(saved));
    memcpy(min_box(e.g), saved, sizeof(saved));
    put_be32(e.g->mem + G_IN, 0);
    e.g->mem[G_IN + 8] = 0xff;
    mok(e.g, MTHCA_CMD_RST2INIT_QP, ME_QPN, 0);
    mok(e.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
    g_assert_cmphex(o[0], ==, MTHCA_QPS_INIT << 4 | 0xf);
    /* Bad contexts: CQ, UAR, sizes, service. */
    mok(e.g, MTHCA_CMD_ERR2RST_QP, ME_QPN, 3);
    for (unsigned i = 0; i < 5; i++) {
        uint8_t *c = min_box(e.g) + 8;

        memcpy(c - 8, saved, sizeof(saved));
        put_be32(c - 8, 0);
        switch (i) {
        case 0:
            put_be32(c + MTHCA_QPC_CQN_RCV, ME_CQN + 1);
            break;
        case 1:
            put_be32(c + MTHCA_QPC_UAR, 0x800);
            break;
        case 2:
            c[MTHCA_QPC_SQ_SIZE] = 15 << 3;
            break;
        case 3:
            c[1] = MTHCA_ST_RD;
            break;
        case 4:
            c[1] = MTHCA_ST_MLX;        /* not a special QP */
            break;
        }
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_RST2INIT_QP, ME_QPN, 0), !=,
                        MTHCA_ST_OK);
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0), ==,
                        MTHCA_ST_BAD_QP_STATE);
    }
    mend_free(&e);
}

/* What the transport is told of a context, field by field. */
static void test_attributes(void)
{
    MEnd e = mend_new(1);
    const RdmaQpAttr *a;
    uint8_t *in;

    mend_qp_up(&e, MTHCA_ST_RC, 2, 0x111111, 0x222222, false);
    a = rdma_qp_attr(rdma_qp_get(mthca_rdma(e.g->m), ME_QPN));
    g_assert_cmpint(a->state, ==, RDMA_QPS_RTS);
    g_assert_cmpint(a->service, ==, RDMA_RC);
    g_assert_cmphex(a->dest_qpn, ==, ME_QPN);
    g_assert_cmphex(a->pd, ==, 0);
    g_assert_cmpuint(a->send_cqn, ==, ME_CQN);
    g_assert_cmpuint(a->recv_cqn, ==, ME_CQN);
    g_assert_false(a->has_srq);
    g_assert_false(a->sig_all);
    g_assert_false(a->special);
    g_assert_cmpuint(a->mtu_code, ==, 1);
    g_assert_cmpuint(a->pkey_index, ==, 0);
    g_assert_cmphex(a->qkey, ==, 0x11111111);
    g_assert_cmphex(a->sq_psn, ==, 0x111111);
    g_assert_cmphex(a->rq_psn, ==, 0x222222);
    g_assert_cmpuint(a->timeout, ==, 14);
    g_assert_cmpuint(a->retry_cnt, ==, 7);
    g_assert_cmpuint(a->rnr_retry, ==, 7);
    g_assert_cmpuint(a->min_rnr_timer, ==, 12);
    g_assert_cmpuint(a->max_rd_atomic, ==, 4);
    g_assert_cmpuint(a->max_dest_rd_atomic, ==, 4);
    g_assert_cmphex(a->access, ==, RDMA_ACC_REMOTE_READ |
                    RDMA_ACC_REMOTE_WRITE | RDMA_ACC_REMOTE_ATOMIC);
    g_assert_cmpuint(a->av.dlid, ==, 2);
    g_assert_false(a->av.has_grh);
    /* Reads at a time: each bit of their numbers. */
    in = min_box(e.g);
    put_be32(in, MTHCA_OPT_SRA_MAX | MTHCA_OPT_RRA_MAX);
    put_be32(in + 8 + MTHCA_QPC_PARAMS1, 5u << 21);
    put_be32(in + 8 + MTHCA_QPC_PARAMS2, 3u << 21);
    mok(e.g, MTHCA_CMD_RTS2RTS_QP, ME_QPN, 0);
    g_assert_cmpuint(a->max_rd_atomic, ==, 32);
    g_assert_cmpuint(a->max_dest_rd_atomic, ==, 8);
    mend_free(&e);
}

/* Each right of a QP by itself. */
static void test_rights(void)
{
    static const struct {
        uint32_t bit;
        uint32_t access;
    } t[] = {
        { 0, 0 }, { 1u << 15, RDMA_ACC_REMOTE_READ },
        { 1u << 14, RDMA_ACC_REMOTE_WRITE },
        { 1u << 13, RDMA_ACC_REMOTE_ATOMIC },
    };
    MEnd e = mend_new(1);

    mend_qp_up(&e, MTHCA_ST_RC, 2, 0x111111, 0x222222, false);
    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        uint8_t *in = min_box(e.g);

        put_be32(in, MTHCA_OPT_RRE | MTHCA_OPT_RWE | MTHCA_OPT_RAE);
        put_be32(in + 8 + MTHCA_QPC_PARAMS2, t[i].bit);
        mok(e.g, MTHCA_CMD_RTS2RTS_QP, ME_QPN, 0);
        g_assert_cmphex(rdma_qp_attr(rdma_qp_get(mthca_rdma(e.g->m),
                                                 ME_QPN))->access, ==,
                        t[i].access);
    }
    mend_free(&e);
}

/* Inline data of each length that a WQE holds. */
static void test_inline(void)
{
    MEnd a, b;
    uint8_t *p;

    rc_pair(&a, &b);
    for (uint32_t len = 1; len < 70; len++) {
        uint8_t units = (16 + 16 + 4 + len + 15) / 16;

        p = mend_wqe(&a, MTHCA_WQE_RDMA_WRITE, MTHCA_NEXT_CQ_UPDATE, units);
        p = mend_raddr(&a, p, ME_DATA, b.key);
        put_be32(p, MTHCA_INLINE | len);
        for (uint32_t i = 0; i < len; i++) {
            p[4 + i] = len * 3 + i;
        }
        b.g->mem[ME_DATA + len] = 0x77;
        mend_ring(&a, 1, a.op, a.size);
        mexchange(a.g, b.g);
        need_cqe(&a, true, a.op);
        a.g->mem[ME_CQ + (a.ci - 1) % 64 * MTHCA_CQE_SIZE + 0x1f] =
            MTHCA_OWNER_HW;
        g_assert_cmpmem(b.g->mem + ME_DATA, len, p + 4, len);
        g_assert_cmphex(b.g->mem[ME_DATA + len], ==, 0x77);
    }
    mend_free(&a);
    mend_free(&b);
}

/* ---- switches of the transport: the other value of each ---- */

static MEnd end_with(uint16_t lid, void (*tweak)(RdmaConfig *cfg))
{
    MEnd e = { .g = mguest_new(lid, false) };

    tweak(&e.g->cfg.rdma);
    mthca_free(e.g->m);
    e.g->m = mthca_new(&e.g->cfg);
    mend_up(&e);
    return e;
}

static void no_keys(RdmaConfig *cfg)
{
    cfg->pkey_check = cfg->qkey_check = false;
}

/* Any P_Key and any Q_Key will do. */
static void test_switch_keys(void)
{
    MEnd a = mend_new(1), b = end_with(2, no_keys);
    uint8_t *in;

    mend_qp_up(&a, MTHCA_ST_UD, 0, 0, 0, false);
    mend_qp_up(&b, MTHCA_ST_UD, 0, 0, 0, false);
    mend_recv(&b, 0, ME_DATA, 140);
    in = mend_mad(b.g, 1, 2, 0x16, 0);
    put_be16(in + 64, 0x8001);
    mok(b.g, MTHCA_CMD_MAD_IFC, 1, 3);
    mend_send_ud(&a, 0x22222222);
    mexchange(a.g, b.g);
    g_assert_nonnull(mend_poll(&b));
    mend_free(&a);
    mend_free(&b);
}

static void any_frame(RdmaConfig *cfg)
{
    cfg->send_se_always = true;
    cfg->udp_sport = 1234;
}

static void flow_port(RdmaConfig *cfg)
{
    cfg->udp_sport = 0;
}

static void plain(RdmaConfig *cfg)
{
}

/* What frames look like: source port, solicited event. */
static void test_switch_frames(void)
{
    static void (*const tweak[])(RdmaConfig *cfg) = {
        plain, any_frame, flow_port,
    };

    for (int i = 0; i < 3; i++) {
        MEnd a = end_with(1, tweak[i]), b = mend_new(2);
        const uint8_t *f = NULL;
        uint16_t sport;
        uint8_t *p;
        gsize len;

        mend_qp_up(&a, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
        mend_qp_up(&b, MTHCA_ST_RC, 1, PSN_B, PSN_A, false);
        mexchange(a.g, b.g);
        p = mend_wqe(&a, MTHCA_WQE_RDMA_WRITE, MTHCA_NEXT_CQ_UPDATE, 3);
        mend_data(&a, mend_raddr(&a, p, ME_DATA, b.key), ME_DATA, 8);
        mend_ring(&a, 1, a.op, a.size);
        /* Before the neighbour is known it asks; then it sends. */
        for (int turn = 0; !f; turn++) {
            g_assert_cmpint(turn, <, 4);
            rdma_poll(mthca_rdma(a.g->m), a.g->now);
            for (guint k = 0; k < a.g->wire->len; k++) {
                const uint8_t *q = g_bytes_get_data(
                    g_ptr_array_index(a.g->wire, k), &len);

                f = get_be16(q + 12) == 0x0800 ? q : f;
            }
            if (!f) {
                mexchange(a.g, b.g);
                mend_ring(&a, 1, a.op, a.size);
            }
        }
        sport = get_be16(f + 34);
        g_assert_cmpuint(get_be16(f + 36), ==, 4791);
        if (i == 2) {
            g_assert_cmpuint(sport, !=, 4791);
            g_assert_cmpuint(sport, >=, 0xc000);
        } else {
            g_assert_cmpuint(sport, ==, i ? 1234 : 4791);
        }
        g_assert_cmpuint(f[43] >> 7, ==, i == 1);
        mend_free(&a);
        mend_free(&b);
    }
}

static void resp_lives(RdmaConfig *cfg)
{
    cfg->resp_fatal = false;
}

/* Who refuses a request goes on, or goes to ERR. */
static void test_switch_resp(void)
{
    for (int lives = 0; lives < 2; lives++) {
        MEnd a = mend_new(1), b = end_with(2, lives ? resp_lives : plain);
        uint8_t *p;

        mend_qp_up(&a, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
        mend_qp_up(&b, MTHCA_ST_RC, 1, PSN_B, PSN_A, false);
        p = mend_wqe(&a, MTHCA_WQE_RDMA_WRITE, 0, 3);
        mend_data(&a, mend_raddr(&a, p, ME_DATA, 0x7700), ME_DATA, 8);
        mend_ring(&a, 1, MTHCA_WQE_RDMA_WRITE, 3);
        mexchange(a.g, b.g);
        g_assert_cmphex(need_cqe(&a, true, 0xff)[0x10], ==,
                        MTHCA_SYN_REMOTE_ACCESS);
        mok(b.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
        g_assert_cmphex(mout_box(b.g)[8] >> 4, ==,
                        lives ? MTHCA_QPS_RTS : MTHCA_QPS_ERR);
        mend_free(&a);
        mend_free(&b);
    }
}

/* ---- what isolates processes ---- */

/* A QP is rung and a CQ armed on the page of its own UAR only. */
static void test_uar(void)
{
    for (int check = 0; check < 2; check++) {
        MEnd a = { .g = mguest_new(1, false) }, b = mend_new(2);
        uint8_t *p;
        uint64_t v;

        a.g->cfg.uar_check = check;
        mthca_free(a.g->m);
        a.g->m = mthca_new(&a.g->cfg);
        mend_up(&a);
        mend_qp_up(&a, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
        mend_qp_up(&b, MTHCA_ST_RC, 1, PSN_B, PSN_A, false);
        p = mend_wqe(&a, MTHCA_WQE_RDMA_WRITE, MTHCA_NEXT_CQ_UPDATE, 3);
        mend_data(&a, mend_raddr(&a, p, ME_DATA, b.key), ME_DATA, 8);
        a.g->rules = 0;
        mthca_uar_write(a.g->m, (ME_UAR + 1) * 0x1000 + MTHCA_UAR_SEND,
                        mtb_doorbell(ME_QPN, 1, 0, a.op, a.size), 8);
        mexchange(a.g, b.g);
        g_assert_cmpuint(a.g->rules, ==, check);
        g_assert_true((mend_poll(&a) == NULL) == check);
        /* The CQ: halves of different pages do not make a doorbell. */
        v = (uint64_t)(1u << 28 | 2u << 24 | ME_CQN) << 32;
        mthca_uar_write(a.g->m, (ME_UAR + 1) * 0x1000 + MTHCA_UAR_CQ, v, 8);
        g_assert_cmpuint(a.g->rules, ==, 2 * check);
        g_assert_cmpuint(mthca_counters(a.g->m)->cq_arms, ==, !check);
        mthca_uar_write(a.g->m, (ME_UAR + 1) * 0x1000 + MTHCA_UAR_CQ, v >> 32,
                        4);
        mthca_uar_write(a.g->m, ME_UAR * 0x1000 + MTHCA_UAR_CQ + 4, 0, 4);
        g_assert_cmpuint(mthca_counters(a.g->m)->cq_arms, ==, !check);
        if (check) {
            mend_ring(&a, 1, a.op, a.size);
            mexchange(a.g, b.g);
            g_assert_nonnull(mend_poll(&a));
            mend_arm(&a, 2);
            g_assert_cmpuint(mthca_counters(a.g->m)->cq_arms, ==, 1);
            /* A CQ of the next page is armed there, and on no other. */
            mtb_cq(min_box(a.g), G_BUS + ME_CQ, 6, ME_UAR + 1, 1, a.key, 0, 0);
            mok(a.g, MTHCA_CMD_SW2HW_CQ, ME_CQN + 1, 0);
            mthca_uar_write(a.g->m, ME_UAR * 0x1000 + MTHCA_UAR_CQ,
                            v + (UINT64_C(1) << 32), 8);
            g_assert_cmpuint(mthca_counters(a.g->m)->cq_arms, ==, 1);
            mthca_uar_write(a.g->m, (ME_UAR + 1) * 0x1000 + MTHCA_UAR_CQ,
                            v + (UINT64_C(1) << 32), 8);
            g_assert_cmpuint(mthca_counters(a.g->m)->cq_arms, ==, 2);
        }
        mend_free(&a);
        mend_free(&b);
    }
}

/* The dword with the owner cannot be written: the completion is lost, which the
 * adapter tells of, and the QP goes to ERR. */
static void test_cqe_owner(void)
{
    MEnd a, b;
    uint8_t *p, *in;

    rc_pair(&a, &b);
    g_assert_cmphex(mcmd(a.g, MTHCA_CMD_MAP_EQ, 1, 0,
                         1ull << MTHCA_EV_CQ_ERROR, 0, NULL), ==, 0);
    mok(a.g, MTHCA_CMD_ERR2RST_QP, ME_QPN, 3);
    mok(a.g, MTHCA_CMD_HW2SW_CQ, ME_CQN, 1);
    mtb_region(min_box(a.g), 0x12, 0, G_BUS + ME_CQ, MTHCA_CQE_SIZE - 4);
    mok(a.g, MTHCA_CMD_SW2HW_MPT, 0x12, 0);
    in = min_box(a.g);
    mtb_cq(in, G_BUS + ME_CQ, 6, ME_UAR, 1, 0x1200, ME_CI_DB, ME_ARM_DB);
    mok(a.g, MTHCA_CMD_SW2HW_CQ, ME_CQN, 0);
    mend_qp_up(&a, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
    p = mend_wqe(&a, MTHCA_WQE_RDMA_WRITE, MTHCA_NEXT_CQ_UPDATE, 3);
    mend_data(&a, mend_raddr(&a, p, ME_DATA, b.key), ME_DATA, 8);
    mend_ring(&a, 1, a.op, a.size);
    mexchange(a.g, b.g);
    g_assert_null(mend_poll(&a));
    g_assert_cmphex(a.g->mem[ME_EQ + 1], ==, MTHCA_EV_CQ_ERROR);
    mok(a.g, MTHCA_CMD_QUERY_CQ, ME_CQN, 0);
    g_assert_cmphex(get_be32(mout_box(a.g)) >> 28, ==, 9);
    g_assert_cmpuint(get_be32(mout_box(a.g) + 0x2c), ==, 0);
    mok(a.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
    g_assert_cmphex(mout_box(a.g)[8] >> 4, ==, MTHCA_QPS_ERR);
    mend_free(&a);
    mend_free(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/data/send", test_send);
    g_test_add_func("/mthca/data/chain", test_chain);
    g_test_add_func("/mthca/data/cq-ring", test_cq_ring);
    g_test_add_func("/mthca/data/port-event", test_port_event);
    g_test_add_func("/mthca/data/errors", test_errors);
    g_test_add_func("/mthca/data/ud", test_ud);
    g_test_add_func("/mthca/data/srq", test_srq);
    g_test_add_func("/mthca/data/transitions", test_transitions);
    g_test_add_func("/mthca/switch/keys", test_switch_keys);
    g_test_add_func("/mthca/switch/frames", test_switch_frames);
    g_test_add_func("/mthca/switch/resp-fatal", test_switch_resp);
    g_test_add_func("/mthca/uar", test_uar);
    g_test_add_func("/mthca/cqe-owner", test_cqe_owner);
    g_test_add_func("/mthca/attributes", test_attributes);
    g_test_add_func("/mthca/data/rights", test_rights);
    g_test_add_func("/mthca/data/inline", test_inline);
    return g_test_run();
}
