/*
 * Native personality: the other value of each switch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "rdma/objects.h"
#include "native-side.h"
#include "native-tweak.h"

static void test_switch_queries(void)
{
    Side *s = side_up(1, 0, tweak_state_rtl);
    uint8_t *o = s->mem + OUT_MBOX;

    g_assert_cmpuint(side_hcr(s, 0, QPN, 0, NRC_RTS2SQD_QP, 3) >> 24, ==, 0);
    g_assert_cmpuint(side_query(s, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(o[0x08], ==, 0x40);
    side_free(s);
    s = side_new(1, tweak_devlim_rtl);
    o = s->mem + OUT_MBOX;
    g_assert_cmpuint(side_query(s, NRC_QUERY_DEV_LIM, 0), ==, 0);
    g_assert_cmpuint(o[NR_LIM_LOG_QPS], ==, 14);
    g_assert_cmphex(get_be16(o + NR_LIM_CQC_BYTES), ==, 0x80);
    g_assert_cmphex(o[NR_LIM_MTU_WIDTH], ==, 0x50);
    g_assert_cmphex(get_be64(o + NR_LIM_MAX_ICM), ==,
                    UINT64_C(0x1234567887650000));
    side_free(s);
    s = side_new(1, tweak_nop_bad_op);
    g_assert_cmphex(side_hcr(s, 0, 0x1f, 0, NRC_NOP, 0) >> 24, ==, NRS_BAD_OP);
    side_free(s);
}

/* An old image rewinds the PSNs, as the hardware has it. */
static void test_switch_psn(void)
{
    Side *a = side_up(1, 0, tweak_psn_always), *b = side_up(2, 0, NULL);
    uint8_t *o = a->mem + OUT_MBOX;
    Wqe w = wqe_begin(0);

    wqe_raddr(&w, VA);
    wqe_data(&w, VA, 8);
    side_post(a, &w, RDMA_OP_WRITE);
    side_run(a, b);
    side_expect_send(a, RDMA_OP_WRITE, 0, 8);
    side_qp_mbox(a, 1, 0);
    g_assert_cmpuint(side_cmd(a, NRC_RTS2RTS_QP, QPN, 0), ==, 0);
    g_assert_cmpuint(side_query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(get_be32(o + NR_QPC_SQ_PSN), ==, 0xfffffd);
    side_free(a);
    side_free(b);
}

/* Without a receive: tried again for ever, or once. */
static void test_switch_rnr(void)
{
    for (int none = 0; none < 2; none++) {
        Side *a = side_up(1, 0, none ? tweak_rnr0_none : NULL);
        Side *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);
        const uint8_t *c;

        wqe_data(&w, VA, 8);
        side_post(a, &w, RDMA_OP_SEND);
        for (int i = 0; i < 20; i++) {
            side_run(a, b);
            a->now += 1000000000;
        }
        c = side_cqe(a);
        if (none) {
            g_assert_cmphex(c[NRQ_IMM], ==, 0x16);
        } else {
            g_assert_null(c);
        }
        side_free(a);
        side_free(b);
    }
}

/* A region with the flag PHYSICAL: addresses are bus addresses. */
static void test_switch_phys(void)
{
    Side *a = side_up(1, 0, tweak_mpt_phys), *b = side_up(2, 0, NULL);
    Wqe w = wqe_begin(0);
    uint8_t *u;

    g_assert_cmpuint(side_mpt(a, 9, NRM_PHYSICAL, BUS, MEM_SIZE, 1 << 17), ==,
                     0);
    memcpy(a->mem + DATA2, "physical", 8);
    wqe_raddr(&w, VA);
    u = wqe_unit(&w, 16);
    put_le32(u, 8);
    put_le32(u + 4, 9);
    put_le64(u + 8, BUS + DATA2);
    side_post(a, &w, RDMA_OP_WRITE);
    side_run(a, b);
    side_expect_send(a, RDMA_OP_WRITE, 0, 8);
    g_assert_cmpmem(side_ptr(b, VA), 8, "physical", 8);
    side_free(a);
    side_free(b);
}

static void test_switch_uar(void)
{
    for (int check = 0; check < 2; check++) {
        Side *a = side_up(1, 0, check ? tweak_uar_check : NULL);
        Side *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);
        uint64_t v = (uint64_t)QPN << 40 | UINT64_C(3) << 32 | RDMA_OP_WRITE;
        uint8_t *eqe = a->mem + EQB;

        side_eq(a, BUS + EQB, 0);
        wqe_raddr(&w, VA);
        wqe_data(&w, VA, 4);
        side_copy(a, SQ, 0, w.b, w.len);
        native_uar_write(a->n, 7 * 4096 + NRU_ARM_CQ, CQN, 4);
        native_uar_write(a->n, 7 * 4096 + NRU_SQ_DB, v, 8);
        side_run(a, b);
        g_assert_true((side_cqe(a) != NULL) == !check);
        g_assert_cmpuint(a->msix->len, ==, !check);
        g_assert_cmpuint(a->rules, ==, 2 * check);
        /* Halves on different pages make no doorbell of either. */
        native_uar_write(a->n, 7 * 4096, v, 4);
        native_uar_write(a->n, 4, v >> 32, 4);
        side_run(a, b);
        g_assert_true((side_cqe(a) != NULL) == !check);
        native_uar_write(a->n, NRU_ARM_CQ, CQN, 4);
        native_uar_write(a->n, NRU_SQ_DB, v, 8);
        side_run(a, b);
        g_assert_nonnull(side_cqe(a));
        g_assert_cmphex(eqe[NRE_OWNER], ==, 0);
        side_free(a);
        side_free(b);
    }
}

/* A completion queue is armed on its own page, which need not be the first. */
static void test_switch_uar_cq(void)
{
    Side *s = side_up(1, 0, tweak_uar_check);
    uint8_t *m = side_mbox(s);

    put_be32(m + NR_CQC_LOG_UAR, 5u << 24 | 0x7);
    put_be32(m + NR_CQC_PD, PD);
    put_be32(m + NR_CQC_LKEY, MR_CQ);
    g_assert_cmpuint(side_cmd(s, NRC_SW2HW_CQ, CQN + 1, 0), ==, 0);
    native_uar_write(s->n, 7 * 4096 + NRU_ARM_CQ, CQN + 1, 4);
    g_assert_cmpuint(s->rules, ==, 0);
    native_uar_write(s->n, NRU_ARM_CQ, CQN + 1, 4);
    g_assert_cmpuint(s->rules, ==, 1);
    side_free(s);
}

/* Where an error is told, and which: a refused Write, a bad local key. */
static void test_switch_errors(void)
{
    static const struct {
        void (*tweak)(NativeConfig *cfg);
        bool local;
        uint8_t op, at, syndrome;
    } t[] = {
        { NULL, false, NRQ_ERR_SEND, 0, 0x13 },
        { tweak_err_doc, false, RDMA_OP_WRITE, 0, 0x13 },
        { tweak_err_rtl, false, NRQ_ERR_SEND, 3, 0x13 },
        { NULL, true, NRQ_ERR_SEND, 0, 0x11 },
        { tweak_lerr, true, NRQ_ERR_SEND, 0, 0x04 },
    };

    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        Side *a = side_up(1, 0, t[i].tweak), *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);
        const uint8_t *c;

        wqe_raddr(&w, t[i].local ? VA : VA - 1);
        wqe_data(&w, t[i].local ? VA - 1 : VA, 4);
        side_post(a, &w, RDMA_OP_WRITE);
        side_run(a, b);
        c = side_cqe(a);
        g_assert_nonnull(c);
        g_assert_cmphex(c[NRQ_OP], ==, t[i].op);
        for (int k = 0; k < 4; k++) {
            g_assert_cmphex(c[NRQ_IMM + k], ==,
                            k == t[i].at ? t[i].syndrome : 0);
        }
        side_free(a);
        side_free(b);
    }
}

static void test_switch_eqe(void)
{
    Side *a = side_up(1, 0, tweak_no_eqe), *b = side_up(2, 0, NULL);
    Wqe w = wqe_begin(0);

    side_eq(a, BUS + EQB, 0);
    native_uar_write(a->n, NRU_ARM_CQ, CQN, 4);
    wqe_raddr(&w, VA);
    wqe_data(&w, VA, 4);
    side_post(a, &w, RDMA_OP_WRITE);
    side_run(a, b);
    side_expect_send(a, RDMA_OP_WRITE, 0, 4);
    g_assert_cmphex(a->mem[EQB + NRE_OWNER], ==, 0x80);
    g_assert_cmpuint(a->msix->len, ==, 0);
    side_free(a);
    side_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/native/" path, test_##fn)
    TEST("switch/queries", switch_queries);
    TEST("switch/psn-always", switch_psn);
    TEST("switch/rnr0-none", switch_rnr);
    TEST("switch/mpt-phys", switch_phys);
    TEST("switch/uar-check", switch_uar);
    TEST("switch/uar-cq", switch_uar_cq);
    TEST("switch/errors", switch_errors);
    TEST("switch/eqe", switch_eqe);
    return g_test_run();
}
