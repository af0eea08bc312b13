/*
 * ncic-mthca: queues as a driver fills and reads them, between two adapters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-end.h"

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

/* ---- management datagrams ---- */

static uint8_t *mad(MGuest *g, uint8_t class, uint8_t method, uint16_t attr,
                    uint32_t mod)
{
    uint8_t *in = min_box(g);

    in[0] = 1;
    in[1] = class;
    in[2] = 1;
    in[3] = method;
    put_be64(in + 8, 0x1122334455667788);
    put_be16(in + 16, attr);
    put_be32(in + 20, mod);
    return in;
}

static void test_mad(void)
{
    MGuest *g = mguest_new(3, true);
    uint8_t *in, *o = mout_box(g), *d = o + 64;

    mguest_init_hca(g);
    mad(g, 1, 1, 0x11, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(o[3], ==, 0x81);
    g_assert_cmphex(get_be64(o + 8), ==, 0x1122334455667788);
    g_assert_cmpuint(d[2], ==, 1);
    g_assert_cmphex(get_be64(d + 20), ==, g->cfg.port_guid);
    /* Addresses are there before the port is. */
    mad(g, 1, 1, 0x14, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be64(d), ==, g->cfg.port_guid);
    mad(g, 1, 1, 0x16, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(d), ==, 0xffff);
    mad(g, 1, 1, 0x14, 4);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(o + 4), ==, 7 << 2);
    mad(g, 1, 1, 0x99, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(o + 4), ==, 3 << 2);
    mad(g, 1, 5, 0x11, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAD_IFC, 1, 3), ==,
                    MTHCA_ST_BAD_PKT);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAD_IFC, 2, 3), ==,
                    MTHCA_ST_BAD_INDEX);

    /* A subnet manager's way: INIT, ARMED, ACTIVE. */
    put_be32(min_box(g), 0x4340);
    mok(g, MTHCA_CMD_INIT_IB, 1, 0);
    g_assert_cmpuint(mthca_port_state(g->m), ==, 2);
    mad(g, 0x81, 1, 0x15, 1);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(d[33] >> 4, ==, 5);
    in = mad(g, 0x81, 2, 0x15, 1);
    memcpy(in + 64, d, 64);
    put_be64(in + 64, 0xabcd);          /* M_Key */
    put_be16(in + 64 + 16, 17);
    put_be16(in + 64 + 18, 1);
    in[64 + 32] = 4;                    /* not from INIT */
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(o + 4), ==, 7 << 2);
    in[64 + 32] = 3;
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAD_IFC, 1, 0), ==,
                    MTHCA_ST_BAD_PKT);  /* M_Key is set and missing */
    put_be64(in + 24, 0xabcd);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 0);
    in[64 + 32] = 4;
    mok(g, MTHCA_CMD_MAD_IFC, 1, 0);
    g_assert_cmphex(get_be16(o + 4), ==, 0);
    g_assert_cmpuint(mthca_port_state(g->m), ==, 4);
    g_assert_cmpuint(mthca_port_lid(g->m), ==, 17);
    g_assert_cmpuint(rdma_port(mthca_rdma(g->m))->lid, ==, 17);
    /* One wrong method, one wrong M_Key. */
    g_assert_cmpuint(mthca_counters(g->m)->mads_dropped, ==, 2);
    /* A multicast LID is not one for a port. */
    put_be16(in + 64 + 16, 0xc001);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 0);
    g_assert_cmphex(get_be16(o + 4), ==, 7 << 2);
    g_assert_cmpuint(mthca_port_lid(g->m), ==, 17);

    mad(g, 4, 1, 1, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(d + 2), ==, 0);    /* no extended counters */
    mad(g, 4, 1, 0x12, 0)[65] = 1;
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(o + 4), ==, 0);
    mthca_link_set(g->m, false);
    g_assert_cmpuint(mthca_port_state(g->m), ==, 1);
    mguest_free(g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/data/send", test_send);
    g_test_add_func("/mthca/data/chain", test_chain);
    g_test_add_func("/mthca/data/errors", test_errors);
    g_test_add_func("/mthca/data/ud", test_ud);
    g_test_add_func("/mthca/data/srq", test_srq);
    g_test_add_func("/mthca/data/transitions", test_transitions);
    g_test_add_func("/mthca/mad", test_mad);
    return g_test_run();
}
