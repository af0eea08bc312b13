/*
 * RC Link: settings that change while packets are under way: the format, the map
 * of VCs, the rate.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

#define GEN1 (UINT64_C(1) << RCL_CFG_GEN1 | UINT64_C(1) << RCL_CFG_GEN1_TC)
#define CNT(e, name) (rclink_counters((e)->d)->name)

enum { QP = 5 };

/* A port with a QP that nobody answers. */
static Rig *alone(void)
{
    Rig *r = rig_new(1, NULL);

    rig_up(&r->e[0], GEN1);
    rig_qp(&r->e[0], QP, &r->e[0] + 1, QP, 0);
    return r;
}

static unsigned frames_left(RigEnd *e)
{
    unsigned n = 0;

    for (GBytes *b; (b = rig_frame(e)) != NULL; n++) {
        g_bytes_unref(b);
    }
    return n;
}

/* ---- the format ---- */

/* Packets that wait for an answer when Lite begins, which has none, end with the
 * first that Lite sends: each buffer is given back once, in order. */
static void test_lite_begins(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    RigEvent ev;

    rig_post(e, QP, 64, 0, 0);
    rig_post(e, QP, 64, 1, 0);
    rig_settle(r);
    g_assert_cmpuint(frames_left(e), ==, 2);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 510);
    rig_events(e, 0);
    rig_set(e, RCL_AFH_CFG_EN, UINT64_C(1) << RCL_CFG_LITE |
                               UINT64_C(1) << RCL_CFG_STOP_CBFC);
    rig_post(e, QP, 64, 2, 0);
    rig_post(e, QP, 64, 3, 0);
    rig_settle(r);
    g_assert_cmpuint(frames_left(e), ==, 2);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 512);
    g_assert_cmpuint(rig_get(e, RCL_EXPECT_RESP_PSN), ==, 4);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
        g_assert_cmphex(ev.b, ==, 0x1000 | i);
    }
    g_assert_false(rig_event_of(e, RCL_EV_CREDIT, &ev));
    /* Nothing is left to be sent again, and nothing to wake up for. */
    g_assert_cmpint(rclink_run(e->d, r->now, 64), ==, INT64_MAX);
    rig_pass(r, 10000000);
    g_assert_cmpuint(CNT(e, timeouts), ==, 0);
    rig_free(r);
}

/* ---- the rate ---- */

/* A QP whose rate becomes 0 while it waits for a window waits for no other. */
static void test_rate_zero(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_RETRY_TIMER_CFG, 0);
    rig_set(e, RCL_QP_ID_SET, QP);
    rig_set(e, RCL_TX_SPEED_MEM, 64);
    rig_post(e, QP, 640, 0, 0);
    rig_post(e, QP, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(frames_left(e), ==, 1);
    g_assert_cmpint(rclink_run(e->d, r->now, 64), <=, r->now + 10 * 4096);
    rig_set(e, RCL_TX_SPEED_MEM, 0);
    g_assert_cmpint(rclink_run(e->d, r->now, 64), ==, INT64_MAX);
    rig_pass(r, 10000000);
    g_assert_cmpuint(frames_left(e), ==, 0);
    rig_free(r);
}

/* ---- the map of VCs ---- */

/* Credits on: bank n has VC n xor @turn. */
static void credits_on(RigEnd *e, unsigned turn)
{
    uint64_t map = 0;

    for (unsigned f = 0; f < 7; f++) {
        map |= (uint64_t)(f < 4 ? f ^ turn : f) << 3 * f;
    }
    rig_set(e, RCL_AFH_CFG_EN, GEN1 | UINT64_C(0x3f) << RCL_CFG_CBFC_BANK0 |
                               map << RCL_CFG_VC_MAP |
                               UINT64_C(1) << RCL_CFG_CBFC_TYPE2 |
                               UINT64_C(01111) << RCL_CFG_UF_TYPE1 |
                               UINT64_C(0xff) << RCL_CFG_VC_OPEN);
}

static void credits_ready(RigEnd *e)
{
    /* What waits holds its credits back; bank 1 can be stopped. */
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32 | UINT64_C(0xf) << 46);
    for (unsigned v = 0; v < 8; v++) {
        rig_set(e, RCL_MAC_CBFC_CFG(v), 256 |
                                        UINT64_C(30) << RCL_CBFC_LIMIT_SHIFT);
    }
    rig_set(e, RCL_CBFC_RST, 0xff);
}

static unsigned left_of(RigEnd *e, unsigned bank)
{
    return rig_get(e, RCL_CBFC_LEVEL0) >> 16 * bank & 0xffff;
}

/* Two ports with credits, and three packets that wait in the second. */
static Rig *three_wait(void)
{
    Rig *r = rig_new(2, NULL);

    for (unsigned i = 0; i < 2; i++) {
        rig_up(&r->e[i], GEN1);
        credits_on(&r->e[i], 0);
        credits_ready(&r->e[i]);
    }
    rig_connect(r, QP, 0);
    rig_settle(r);
    rig_set(&r->e[1], RCL_FLOW_STOP, RCL_STOP_BANK0 << QP % 4);
    for (unsigned i = 0; i < 3; i++) {
        rig_post(&r->e[0], QP, 64, i, 0);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(&r->e[1], rx_type1), ==, 3);
    g_assert_cmpuint(left_of(&r->e[0], QP % 4), ==, 27);
    return r;
}

/* Credits go back to the VC that they were taken of. */
static void test_map(void)
{
    for (unsigned moved = 0; moved < 2; moved++) {
        Rig *r = three_wait();
        RigEnd *e = &r->e[0], *f = &r->e[1];

        credits_on(f, 1);
        if (moved) {
            size_t len;
            uint8_t *data = rclink_save(f->d, r->now, &len);

            g_assert_cmpstr(rclink_load(f->d, r->now, data, len), ==, NULL);
            g_free(data);
        }
        rig_set(f, RCL_FLOW_STOP, 0);
        f->kicked = true;
        rig_settle(r);
        for (unsigned b = 0; b < 4; b++) {
            g_assert_cmpuint(left_of(e, b), ==, 30);
        }
        g_assert_cmpuint(CNT(e, cbfc_over), ==, 0);
        rig_free(r);
    }
}

/* What was taken before the MAC's reset is not given back after it. */
static void test_mac_reset(void)
{
    Rig *r = three_wait();
    RigEnd *e = &r->e[0], *f = &r->e[1];

    for (unsigned i = 0; i < 2; i++) {
        rig_set(&r->e[i], RCL_CBFC_RESET, 1);
        credits_ready(&r->e[i]);
    }
    rig_settle(r);
    rig_set(f, RCL_FLOW_STOP, 0);
    rig_settle(r);
    g_assert_cmpuint(left_of(e, QP % 4), ==, 30);
    g_assert_cmpuint(CNT(e, cbfc_over), ==, 0);
    /* So that each packet counts from the first on. */
    rig_set(f, RCL_FLOW_STOP, RCL_STOP_BANK0 << QP % 4);
    rig_post(e, QP, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(left_of(e, QP % 4), ==, 29);
    rig_free(r);
}

/* The port resumes by itself, whichever end's MAC it was, and who told it to; the
 * driver and the program hear of it. */
static void test_mac_resumes(void)
{
    for (unsigned i = 0; i < 4; i++) {
        Rig *r = three_wait();
        RigEnd *e = &r->e[0], *f = &r->e[1], *it = &r->e[i & 1];
        uint32_t told = it->msix[RCL_VEC_MAC];

        rig_events(it, 0);
        if (i & 2) {
            rclink_mac_reset(it->d);
        } else {
            rig_set(it, RCL_SOFT_RESET, RCL_RESET_MAC);
        }
        rig_settle(r);
        g_assert_cmpuint(it->msix[RCL_VEC_MAC], ==, told + 1);
        g_assert_cmpuint(rig_events(it, RCL_EV_MAC), ==, 1);
        rig_set(f, RCL_FLOW_STOP, 0);
        /* More than there are credits. */
        for (unsigned n = 0; n < 60; n++) {
            rig_post(e, QP, 1344, n, 0);
        }
        rig_pass(r, 10000000);
        g_assert_cmpuint(CNT(f, rx_type1), ==, 63);
        g_assert_cmpuint(CNT(e, timeouts), ==, 0);
        for (unsigned b = 0; b < 4; b++) {
            g_assert_cmpuint(left_of(e, b), ==, 30);
            g_assert_cmpuint(left_of(f, b), ==, 30);
        }
        rig_free(r);
    }
}

/* What was never set up is not set up by it; nor after a reset of all. */
static void test_mac_idle(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    credits_on(e, 0);
    credits_ready(e);
    rig_set(e, RCL_CBFC_RESET, 1);
    rig_set(e, RCL_CBFC_RST, 1 << 2);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_MAC);
    g_assert_cmpuint(left_of(e, 1), ==, 0);
    g_assert_cmpuint(left_of(e, 2), ==, 30);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_ALL);
    g_assert_cmphex(rig_get(e, RCL_CBFC_LEVEL0), ==, 0);
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_MAC], <=, 1);
    g_assert_cmphex(rig_get(e, RCL_EVENT_MASK), ==, 0x1fe);
    rig_free(r);
}

/* TYPE2's cells are the MAC's transmit buffer, which its forced reset leaves. */
static void test_mac_cells(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_CTRL, RCL_CTRL_MULTI_CREDIT);
    rig_settle(r);
    e->full = true;
    rig_post(e, 0, 1344, 0, RCL_ETYPE2);
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, RCL_MULTI_CREDIT), ==, 2048 - 11);
    rclink_mac_reset(e->d);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_MAC);
    rig_set(e, RCL_CBFC_RESET, 1);
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, RCL_MULTI_CREDIT), ==, 2048 - 11);
    /* MAC2TX_TYPE2_CREDIT_RST_I. */
    rig_set(e, RCL_MULTI_CREDIT, 1);
    g_assert_cmpuint(rig_get(e, RCL_MULTI_CREDIT), ==, 2048);
    rig_free(r);
}

/* Its credits for frames are all there again (MAC2TX_CREDIT_RST_I): the port sends on,
 * though the wire has taken nothing; what waits for one is seen (TX_WAIT_MAC_CRD_O), and
 * what the MAC still has (TX_MAC_FREE_O). */
static void test_mac_credits(void)
{
    const uint64_t mask = RCL_STATUS_WAIT_MAC | RCL_STATUS_MAC_FREE;
    Rig *r = alone();
    RigEnd *e = &r->e[0];

    g_assert_cmphex(rig_get(e, RCL_STATUS) & mask, ==, RCL_STATUS_MAC_FREE);
    e->full = true;
    rig_post(e, QP, 64, 0, 0);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_STATUS) & mask, ==, 0);
    rig_post(e, QP, 64, 1, 0);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_STATUS) & mask, ==, RCL_STATUS_WAIT_MAC);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 1);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_MAC);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 2);
    g_assert_cmphex(rig_get(e, RCL_STATUS) & mask, ==, 0);
    /* One frame's worth of them, and no more. */
    rig_post(e, QP, 64, 2, 0);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 2);
    e->full = false;
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 3);
    g_assert_cmphex(rig_get(e, RCL_STATUS) & mask, ==, RCL_STATUS_MAC_FREE);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/change/lite-begins", test_lite_begins);
    g_test_add_func("/rclink/change/rate-zero", test_rate_zero);
    g_test_add_func("/rclink/change/map", test_map);
    g_test_add_func("/rclink/change/mac-reset", test_mac_reset);
    g_test_add_func("/rclink/change/mac-resumes", test_mac_resumes);
    g_test_add_func("/rclink/change/mac-idle", test_mac_idle);
    g_test_add_func("/rclink/change/mac-cells", test_mac_cells);
    g_test_add_func("/rclink/change/mac-credits", test_mac_credits);
    return g_test_run();
}
