/*
 * ncic-mthca: queues as a driver fills and reads them, between two adapters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-double.h"

/* Guest memory, offsets; addresses in a "no translation" region. */
enum { EQ = 0x10000, DB = 0x20000, CQ = 0x30000, SQ = 0x40000, RQ = 0x50000,
       SRQ = 0x58000, DATA = 0x60000 };
enum { UAR = 2, PSN_A = 0xfffffe, PSN_B = 0x123456, CQN = 5, QPN = 0x30015,
       SRQN = 9 };
enum { CI_DB, ARM_DB, SQ_DB, RQ_DB, SRQ_DB };
#define SQ_STRIDE 128
#define RQ_STRIDE 64

typedef struct End {
    MGuest *g;
    uint32_t key, ci;
    uint16_t sq_head;
    uint8_t size, op;           /* of the last WQE built */
} End;

static void put_db(End *e, unsigned index, uint32_t val)
{
    put_be32(e->g->mem + DB + index * 8, val);
}

static End end_new(uint16_t lid)
{
    End e = { .g = mguest_new(lid, false) };
    uint8_t *in;

    mguest_init_hca(e.g);
    mmap_icm(e.g, M_UARC + ((uint64_t)UAR << 18), DB, 1);
    e.key = mregion_all(e.g, 0x10, 0);
    mmake_eq(e.g, 1, EQ, 0, e.key);
    put_be32(min_box(e.g), 0x4340);
    mok(e.g, MTHCA_CMD_INIT_IB, 1, 0);

    memset(e.g->mem + CQ, 0x80, 64 * MTHCA_CQE_SIZE);
    in = min_box(e.g);
    put_be64(in + 4, G_BUS + CQ);
    put_be32(in + 0x0c, 6u << 24 | UAR);
    put_be32(in + 0x14, 1);
    put_be32(in + 0x1c, e.key);
    put_be32(in + 0x34, CI_DB);
    put_be32(in + 0x38, ARM_DB);
    mok(e.g, MTHCA_CMD_SW2HW_CQ, CQN, 0);
    return e;
}

static void end_free(End *e)
{
    mguest_free(e->g);
}

/* RST2INIT .. RTR2RTS with the option masks of Linux. */
static void qp_up(End *e, uint8_t st, uint16_t dlid, uint32_t sq_psn,
                  uint32_t rq_psn, bool srq)
{
    uint8_t *c = min_box(e->g) + 8;

    c[1] = st;
    c[MTHCA_QPC_MTU_MSGMAX] = 1 << 5 | 31;
    c[MTHCA_QPC_RQ_SIZE] = 4 << 3 | 2;
    c[MTHCA_QPC_SQ_SIZE] = 4 << 3 | 3;
    put_be32(c + MTHCA_QPC_UAR, UAR);
    put_be32(c + MTHCA_QPC_LOCAL_QPN, QPN);
    put_be32(c + MTHCA_QPC_PATH, 1u << 24);
    put_be32(c + MTHCA_QPC_WQE_BASE, G_BUS >> 32);
    put_be32(c + MTHCA_QPC_WQE_LKEY, e->key);
    put_be32(c + MTHCA_QPC_CQN_SND, CQN);
    put_be32(c + MTHCA_QPC_CQN_RCV, CQN);
    put_be32(c + MTHCA_QPC_SND_BASE, SQ);
    put_be32(c + MTHCA_QPC_SND_DB, SQ_DB);
    put_be32(c + MTHCA_QPC_RCV_BASE, RQ);
    put_be32(c + MTHCA_QPC_RCV_DB, RQ_DB);
    put_be32(c + MTHCA_QPC_QKEY, 0x11111111);
    put_be32(c + MTHCA_QPC_SRQN, srq ? 1u << 24 | SRQN : 0);
    mok(e->g, MTHCA_CMD_RST2INIT_QP, QPN, 0);

    /* Everything not required or named by an option bit is 0 here. */
    c = min_box(e->g) + 8;
    put_be32(c - 8, MTHCA_OPT_RRE | MTHCA_OPT_RAE | MTHCA_OPT_RWE |
             MTHCA_OPT_RNR_TIMEOUT | MTHCA_OPT_PRIMARY | MTHCA_OPT_RRA_MAX);
    c[MTHCA_QPC_MTU_MSGMAX] = 1 << 5 | 31;
    put_be32(c + MTHCA_QPC_REMOTE_QPN, QPN);
    put_be32(c + MTHCA_QPC_PATH + 4, dlid);
    put_be32(c + MTHCA_QPC_PARAMS2, 2u << 21 | MTHCA_P2_RRE | MTHCA_P2_RWE |
             MTHCA_P2_RAE);
    put_be32(c + MTHCA_QPC_RNR_PSN, 12u << 24 | rq_psn);
    mok(e->g, MTHCA_CMD_INIT2RTR_QP, QPN, 0);

    c = min_box(e->g) + 8;
    put_be32(c + MTHCA_QPC_PATH + 4, 7u << 29);
    c[MTHCA_QPC_PATH + 8] = 14 << 3;
    put_be32(c + MTHCA_QPC_PARAMS1, 2u << 21 | 7 << 16 | MTHCA_P1_SRE |
             MTHCA_P1_SAE);
    put_be32(c + MTHCA_QPC_NEXT_PSN, sq_psn);
    mok(e->g, MTHCA_CMD_RTR2RTS_QP, QPN, 0);
}

static void post_recv(End *e, uint16_t index, uint32_t off, uint32_t len)
{
    uint8_t *w = e->g->mem + RQ + index % 16 * RQ_STRIDE;

    memset(w, 0, RQ_STRIDE);
    put_be32(w + 16, len);
    put_be32(w + 20, e->key);
    put_be64(w + 24, G_BUS + off);
    put_be32(w + 36, MTHCA_INVAL_LKEY);     /* ends the list */
    put_db(e, RQ_DB, index + 1);
}

/* Link the WQE built before to this one, as software does. */
static uint8_t *begin_wqe(End *e, uint8_t op, uint32_t flags, uint8_t size)
{
    uint8_t *w = e->g->mem + SQ + e->sq_head % 16 * SQ_STRIDE;
    uint8_t *prev = e->g->mem + SQ + (e->sq_head + 15) % 16 * SQ_STRIDE;

    memset(w + 8, 0, SQ_STRIDE - 8);
    put_be32(prev, (e->sq_head % 16 * SQ_STRIDE) | op);
    put_be32(prev + 4, MTHCA_NEXT_DBD | size);
    put_be32(w + 8, flags | 1);
    e->sq_head++;
    e->op = op;
    e->size = size;
    return w + 16;
}

static uint8_t *put_data(End *e, uint8_t *p, uint32_t off, uint32_t len)
{
    put_be32(p, len);
    put_be32(p + 4, e->key);
    put_be64(p + 8, G_BUS + off);
    return p + 16;
}

static uint8_t *put_raddr(End *e, uint8_t *p, uint32_t off, uint32_t rkey)
{
    put_be64(p, G_BUS + off);
    put_be32(p + 8, rkey);
    return p + 16;
}

/* Ring for @n WQEs; the first has @op and @size. */
static void ring(End *e, uint8_t n, uint8_t op, uint8_t size)
{
    uint16_t head = e->sq_head - n;

    put_db(e, SQ_DB, e->sq_head);
    mthca_uar_write(e->g->m, UAR * 0x1000 + MTHCA_UAR_SEND,
                    (uint64_t)((uint32_t)n << 24 | (uint32_t)head << 8 | op)
                    << 32 | (uint32_t)QPN << 8 | size, 8);
}

/* The next CQE, or NULL. */
static const uint8_t *poll_cq(End *e)
{
    uint8_t *c = e->g->mem + CQ + e->ci % 64 * MTHCA_CQE_SIZE;

    if (c[0x1f] & MTHCA_OWNER_HW) {
        return NULL;
    }
    e->ci++;
    put_db(e, CI_DB, e->ci);
    return c;
}

static const uint8_t *need_cqe(End *e, bool send, uint8_t opcode)
{
    const uint8_t *c = poll_cq(e);

    g_assert_nonnull(c);
    g_assert_cmphex(get_be32(c), ==, QPN);
    g_assert_cmphex(c[0x1d] >> 7, ==, send);
    g_assert_cmphex(c[0x1c], ==, opcode);
    return c;
}

static void arm_cq(End *e, uint8_t cmd)
{
    uint64_t v = (uint64_t)(1u << 28 | (uint32_t)cmd << 24 | CQN) << 32 |
                 e->ci;

    /* A 32-bit guest: high half, then low half. */
    mthca_uar_write(e->g->m, UAR * 0x1000 + MTHCA_UAR_CQ, v >> 32, 4);
    mthca_uar_write(e->g->m, UAR * 0x1000 + MTHCA_UAR_CQ + 4, (uint32_t)v, 4);
}

static void fill(End *e, uint32_t off, uint32_t len, uint8_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        e->g->mem[off + i] = seed + i * 7;
    }
}

static void rc_pair(End *a, End *b)
{
    *a = end_new(1);
    *b = end_new(2);
    qp_up(a, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
    qp_up(b, MTHCA_ST_RC, 1, PSN_B, PSN_A, false);
}

/* Send with immediate in several packets; events at both ends. */
static void test_send(void)
{
    End a, b;
    const uint8_t *c, *eqe;
    uint8_t *p;

    rc_pair(&a, &b);
    fill(&a, DATA, 1000, 3);
    post_recv(&b, 0, DATA, 2000);
    arm_cq(&b, 1);
    p = begin_wqe(&a, MTHCA_WQE_SEND_IMM,
                  MTHCA_NEXT_CQ_UPDATE | MTHCA_NEXT_SOLICIT, 2);
    put_be32(p - 4, 0xcafe0123);
    put_data(&a, p, DATA, 1000);
    ring(&a, 1, a.op, a.size);
    mexchange(a.g, b.g);

    c = need_cqe(&a, true, MTHCA_WQE_SEND_IMM);
    g_assert_cmphex(get_be32(c + 0x18), ==, SQ);
    c = need_cqe(&b, false, 0x03);      /* Send Last with Immediate */
    g_assert_cmphex(get_be32(c + 0x10), ==, 0xcafe0123);
    g_assert_cmpuint(get_be32(c + 0x14), ==, 1000);
    g_assert_cmphex(get_be32(c + 0x18), ==, RQ);
    g_assert_cmpmem(b.g->mem + DATA, 1000, a.g->mem + DATA, 1000);
    eqe = b.g->mem + EQ;
    g_assert_cmphex(eqe[1], ==, MTHCA_EV_COMP);
    g_assert_cmpuint(get_be32(eqe + 4), ==, CQN);
    g_assert_cmpuint(b.g->msix[0], ==, 1);
    g_assert_null(poll_cq(&a));
    /* Not armed: no event.  Armed behind an entry: at once. */
    g_assert_cmpuint(a.g->msix[0], ==, 0);
    a.ci--;
    arm_cq(&a, 2);
    g_assert_cmpuint(a.g->msix[0], ==, 1);
    end_free(&a);
    end_free(&b);
}

/* One doorbell for a chain: opcode and size come from the links. */
static void test_chain(void)
{
    End a, b;
    uint8_t *p;

    rc_pair(&a, &b);
    fill(&a, DATA, 700, 1);
    fill(&b, DATA + 0x2000, 700, 99);
    put_be64(b.g->mem + DATA + 0x1000, 0);
    /* The value is the guest's: little-endian on a little-endian host. */
    put_le64(b.g->mem + DATA + 0x1000, 41);
    for (unsigned round = 0; round < 12; round++) {
        p = begin_wqe(&a, MTHCA_WQE_RDMA_WRITE, 0, 3);
        put_data(&a, put_raddr(&a, p, DATA, b.key), DATA, 700);
        p = begin_wqe(&a, MTHCA_WQE_RDMA_READ, 0, 3);
        put_data(&a, put_raddr(&a, p, DATA + 0x2000, b.key), DATA + 0x2000,
                 700);
        p = begin_wqe(&a, MTHCA_WQE_ATOMIC_FA, MTHCA_NEXT_CQ_UPDATE, 4);
        p = put_raddr(&a, p, DATA + 0x1000, b.key);
        put_be64(p, 1);
        put_data(&a, p + 16, DATA + 0x1000, 8);
        ring(&a, 3, MTHCA_WQE_RDMA_WRITE, 3);
        mexchange(a.g, b.g);
        need_cqe(&a, true, MTHCA_WQE_ATOMIC_FA);
        g_assert_null(poll_cq(&a));
        g_assert_cmpmem(b.g->mem + DATA, 700, a.g->mem + DATA, 700);
        g_assert_cmpmem(a.g->mem + DATA + 0x2000, 700,
                        b.g->mem + DATA + 0x2000, 700);
        g_assert_cmpuint(get_le64(b.g->mem + DATA + 0x1000), ==, 42 + round);
        g_assert_cmpuint(get_le64(a.g->mem + DATA + 0x1000), ==, 41 + round);
    }
    end_free(&a);
    end_free(&b);
}

/* Wrong key: error CQE at the requester, the rest is flushed one by one. */
static void test_errors(void)
{
    End a, b;
    const uint8_t *c;
    uint8_t *p;

    rc_pair(&a, &b);
    p = begin_wqe(&a, MTHCA_WQE_RDMA_WRITE, 0, 3);
    put_data(&a, put_raddr(&a, p, DATA, 0x7700), DATA, 8);
    p = begin_wqe(&a, MTHCA_WQE_RDMA_WRITE, 0, 3);
    put_data(&a, put_raddr(&a, p, DATA, b.key), DATA, 8);
    ring(&a, 2, MTHCA_WQE_RDMA_WRITE, 3);
    post_recv(&a, 0, DATA, 100);
    mexchange(a.g, b.g);
    c = need_cqe(&a, true, 0xff);
    g_assert_cmphex(c[0x10], ==, MTHCA_SYN_REMOTE_ACCESS);
    g_assert_cmphex(get_be32(c + 0x18), ==, SQ);
    for (unsigned i = 0; i < 2; i++) {
        c = poll_cq(&a);
        g_assert_nonnull(c);
        g_assert_cmphex(c[0x10], ==, MTHCA_SYN_FLUSH);
        g_assert_cmphex(c[0x1c], ==, c[0x1d] & 0x80 ? 0xff : 0xfe);
    }
    g_assert_null(poll_cq(&a));
    mok(a.g, MTHCA_CMD_QUERY_QP, QPN, 0);
    g_assert_cmphex(mout_box(a.g)[8] >> 4, ==, MTHCA_QPS_ERR);
    end_free(&a);
    end_free(&b);
}

static void test_ud(void)
{
    End a = end_new(1), b = end_new(2);
    const uint8_t *c;
    uint8_t *p;

    qp_up(&a, MTHCA_ST_UD, 0, 0, 0, false);
    qp_up(&b, MTHCA_ST_UD, 0, 0, 0, false);
    fill(&a, DATA, 100, 50);
    post_recv(&b, 0, DATA, 140);
    p = begin_wqe(&a, MTHCA_WQE_SEND, MTHCA_NEXT_CQ_UPDATE, 5);
    memset(p, 0xee, 0x20);          /* an address vector is not zeroed */
    put_be32(p, 1u << 24);
    put_be32(p + 4, 2);             /* no GRH, DLID 2 */
    put_be32(p + 0x20, QPN);
    put_be32(p + 0x24, 0x11111111);
    put_data(&a, p + 0x30, DATA, 100);
    ring(&a, 1, MTHCA_WQE_SEND, 5);
    mexchange(a.g, b.g);
    need_cqe(&a, true, MTHCA_WQE_SEND);
    c = need_cqe(&b, false, 0x04);
    g_assert_cmpuint(get_be32(c + 0x14), ==, 140);
    g_assert_cmphex(get_be32(c + 8), ==, QPN);
    g_assert_cmpuint(get_be16(c + 0x0e), ==, 1);
    g_assert_cmphex(c[0x0d] & 0x80, ==, 0);
    g_assert_cmpmem(b.g->mem + DATA + 40, 100, a.g->mem + DATA, 100);
    end_free(&a);
    end_free(&b);
}

/* Receive WQEs of an SRQ in the order of their links, limit event. */
static void test_srq(void)
{
    static const uint8_t order[] = { 0, 5, 2 };
    End a = end_new(1), b = end_new(2);
    uint8_t *in, *p;

    in = min_box(b.g);
    put_be32(in, 4u << 24 | SRQN);
    put_be32(in + 4, b.key);
    put_be32(in + 8, SRQ_DB);
    put_be32(in + 0x0c, 2u << 29 | UAR);
    put_be64(in + 0x10, G_BUS + SRQ);
    mok(b.g, MTHCA_CMD_SW2HW_SRQ, SRQN, 0);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *w = b.g->mem + SRQ + order[i] * RQ_STRIDE;

        put_be32(w, (i < 2 ? order[i + 1] : 7u) * RQ_STRIDE | 1);
        put_data(&b, w + 16, DATA + order[i] * 0x100, 64);
        put_be32(w + 36, MTHCA_INVAL_LKEY);
    }
    put_db(&b, SRQ_DB, 3);
    g_assert_cmphex(mcmd(b.g, MTHCA_CMD_MAP_EQ, 1, 0, 1ull << 0x14, 0, NULL),
                    ==, 0);
    g_assert_cmphex(mcmd(b.g, MTHCA_CMD_ARM_SRQ, SRQN, 0, 3, 0, NULL), ==,
                    0);
    g_assert_cmpuint(b.g->msix[0], ==, 0);
    qp_up(&a, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
    qp_up(&b, MTHCA_ST_RC, 1, PSN_B, PSN_A, true);
    for (unsigned i = 0; i < 3; i++) {
        fill(&a, DATA, 64, i * 11);
        p = begin_wqe(&a, MTHCA_WQE_SEND, MTHCA_NEXT_CQ_UPDATE, 2);
        put_data(&a, p, DATA, 64);
        ring(&a, 1, MTHCA_WQE_SEND, 2);
        mexchange(a.g, b.g);
        need_cqe(&a, true, MTHCA_WQE_SEND);
        g_assert_cmpuint(get_be32(need_cqe(&b, false, 4) + 0x18), ==,
                         order[i] * RQ_STRIDE);
        g_assert_cmpmem(b.g->mem + DATA + order[i] * 0x100, 64,
                        a.g->mem + DATA, 64);
    }
    g_assert_cmphex(b.g->mem[EQ + 1], ==, MTHCA_EV_SRQ_LIMIT);
    g_assert_cmpuint(get_be32(b.g->mem + EQ + 4), ==, SRQN);
    g_assert_cmphex(mcmd_box(b.g, MTHCA_CMD_HW2SW_SRQ, SRQN, 0), ==,
                    MTHCA_ST_BUSY);
    g_assert_cmphex(mcmd_box(b.g, MTHCA_CMD_HW2SW_CQ, CQN, 0), ==,
                    MTHCA_ST_BUSY);
    mok(b.g, MTHCA_CMD_ERR2RST_QP, QPN, 3);
    mok(b.g, MTHCA_CMD_HW2SW_SRQ, SRQN, 0);
    mok(b.g, MTHCA_CMD_HW2SW_CQ, CQN, 0);
    end_free(&a);
    end_free(&b);
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
    End e = end_new(1);
    uint8_t saved[0x108], *o;

    for (unsigned i = 0; i < G_N_ELEMENTS(from_reset); i++) {
        min_box(e.g);
        g_assert_cmphex(mcmd_box(e.g, from_reset[i], QPN, 0), ==,
                        MTHCA_ST_BAD_QP_STATE);
    }
    qp_up(&e, MTHCA_ST_RC, 2, PSN_A, PSN_B, false);
    mok(e.g, MTHCA_CMD_QUERY_QP, QPN, 0);
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
        g_assert_cmphex(mcmd_box(e.g, not_from_rts[i], QPN, 0), ==,
                        MTHCA_ST_BAD_QP_STATE);
    }
    /* Bad contexts: CQ, UAR, sizes, service. */
    mok(e.g, MTHCA_CMD_ERR2RST_QP, QPN, 3);
    for (unsigned i = 0; i < 5; i++) {
        uint8_t *c = min_box(e.g) + 8;

        memcpy(c - 8, saved, sizeof(saved));
        put_be32(c - 8, 0);
        switch (i) {
        case 0:
            put_be32(c + MTHCA_QPC_CQN_RCV, CQN + 1);
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
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_RST2INIT_QP, QPN, 0), !=,
                        MTHCA_ST_OK);
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_QUERY_QP, QPN, 0), ==,
                        MTHCA_ST_BAD_QP_STATE);
    }
    end_free(&e);
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
