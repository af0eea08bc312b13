/*
 * RC Link: rate control, CBFC, PFC, CNPs (RC Link §12.4-12.6, §12.8).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow.h"

#define STANDARD (UINT64_C(1) << RCL_CFG_STANDARD)
#define WINDOW 4096

/* ---- rate ---- */

/* The document's example, in bytes that packets can have: times four. */
static void test_rate_example(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    rig_up(e, GEN1);
    rig_qp(e, 2, e, 2, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 0xff * 4);
    rig_pass(r, WINDOW - r->now % WINDOW);
    rig_set(e, RCL_TX_SPEED_MEM, 0x30 * 4);
    post_len(e, 2, 1, 0x10 * 4);
    g_assert_false(rig_event_of(e, RCL_EV_QP_EN, &ev) && !ev.flags);
    rig_events(e, 0);
    post_len(e, 2, 1, 0x30 * 4);
    g_assert_cmpuint(frames(e), ==, 2);
    g_assert_true(rig_event_of(e, RCL_EV_QP_EN, &ev));
    g_assert_cmpuint(ev.flags, ==, 0);
    g_assert_cmpuint(ev.qp, ==, 2);
    post_len(e, 2, 1, 0x20 * 4);
    g_assert_cmpuint(frames(e), ==, 0);
    rig_pass(r, WINDOW - 1);
    g_assert_cmpuint(frames(e), ==, 0);
    rig_pass(r, 1);
    g_assert_cmpuint(frames(e), ==, 1);
    g_assert_true(rig_event_of(e, RCL_EV_QP_EN, &ev));
    g_assert_cmpuint(ev.flags, ==, RCL_EV_SET);
    g_assert_true(rig_event_of(e, RCL_EV_QP_EN, &ev));
    g_assert_cmpuint(ev.flags, ==, 0);
    rig_pass(r, WINDOW);
    g_assert_true(rig_event_of(e, RCL_EV_QP_EN, &ev));
    g_assert_cmpuint(ev.flags, ==, RCL_EV_SET);
    rig_free(r);
}

/* Bytes in ten windows, each window; QPs do not disturb each other. */
static void test_rate_windows(void)
{
    for (unsigned w = 0; w < 5; w++) {
        Rig *r = rig_new(1, NULL);
        int64_t window = (int64_t)WINDOW << w;
        RigEnd *e = &r->e[0];
        unsigned n;

        rig_up(e, GEN1);
        rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13);
        rig_set(e, RCL_CC_WINDOW, w);
        rig_qp(e, 4, e, 4, 0);
        rig_set(e, RCL_TX_SPEED_MEM, 1000);
        rig_qp(e, 5, e, 5, 0);
        rig_set(e, RCL_TX_SPEED_MEM, 100000);
        rig_pass(r, window - r->now % window);
        post_len(e, 4, 200, 100);
        g_assert_cmpuint(frames(e), ==, 10);
        post_len(e, 5, 20, 100);
        g_assert_cmpuint(frames(e), ==, 20);
        for (unsigned i = 1; i < 10; i++) {
            rig_pass(r, window - 1);
            g_assert_cmpuint(frames(e), ==, 0);
            rig_pass(r, 1);
            n = frames(e);
            g_assert_cmpuint(n, ==, 10);
        }
        rig_free(r);
    }
}

static void test_rate_debt(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13);
    rig_qp(e, 4, e, 4, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 100);
    rig_pass(r, WINDOW - r->now % WINDOW);
    post_len(e, 4, 3, 1000);
    g_assert_cmpuint(frames(e), ==, 1);
    rig_pass(r, 9 * WINDOW);
    g_assert_cmpuint(frames(e), ==, 0);
    rig_pass(r, WINDOW);
    g_assert_cmpuint(frames(e), ==, 1);
    /* A higher rate counts at once. */
    rig_set(e, RCL_TX_SPEED_MEM, 1001);
    rig_settle(r);
    g_assert_cmpuint(frames(e), ==, 1);
    /* A window is 0 to 4. */
    rig_set(e, RCL_CC_WINDOW, 5);
    rig_expect_errors(e, 1);
    g_assert_cmpuint(rig_get(e, RCL_CC_WINDOW), ==, 0);
    rig_free(r);
}

/* Windows become longer or shorter: a debt is for as many as it was. */
static void test_rate_resized(void)
{
    static const uint8_t size[][2] = { { 0, 1 }, { 1, 3 }, { 4, 0 } };

    for (unsigned i = 0; i < G_N_ELEMENTS(size); i++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];

        rig_up(e, GEN1);
        rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13);
        rig_set(e, RCL_CC_WINDOW, size[i][0]);
        rig_qp(e, 4, e, 4, 0);
        rig_set(e, RCL_TX_SPEED_MEM, 64);
        rig_pass(r, 16 * WINDOW - r->now % (16 * WINDOW));
        post_len(e, 4, 2, 640);
        g_assert_cmpuint(frames(e), ==, 1);
        rig_pass(r, WINDOW / 2);
        rig_set(e, RCL_CC_WINDOW, size[i][1]);
        rig_pass(r, (10 * WINDOW << size[i][1]) - WINDOW / 2 - 1);
        g_assert_cmpuint(frames(e), ==, 0);
        rig_pass(r, 1);
        g_assert_cmpuint(frames(e), ==, 1);
        rig_free(r);
    }
}

/* Nobody wakes up for windows that open nothing, however short they are. */
static void test_rate_wakes(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    int64_t start;

    rig_up(e, GEN1);
    rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13);
    rig_qp(e, 4, e, 4, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 100);
    rig_qp(e, 5, e, 5, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 10);
    rig_pass(r, WINDOW - r->now % WINDOW);
    start = r->now;
    g_assert_cmpint(e->next, ==, INT64_MAX);
    post_len(e, 4, 1, 1000);
    post_len(e, 5, 1, 1200);
    g_assert_cmpint(e->next, ==, start + 10 * WINDOW);
    /* A look in between changes nothing. */
    rig_pass(r, 5 * WINDOW + 1);
    e->kicked = true;
    rig_settle(r);
    g_assert_cmpint(e->next, ==, start + 10 * WINDOW);
    rig_pass(r, 5 * WINDOW);
    g_assert_cmpint(e->next, ==, start + 120 * WINDOW);
    /* TYPE2 among them, and another rate. */
    rig_set(e, RCL_TYPE2_RATE, 100);
    rig_post(e, 0, 400, 0, RCL_ETYPE2);
    rig_settle(r);
    g_assert_cmpint(e->next, ==, start + 14 * WINDOW);
    rig_set(e, RCL_TYPE2_RATE, 300);
    rig_settle(r);
    g_assert_cmpint(e->next, ==, start + 11 * WINDOW);
    rig_pass(r, WINDOW);
    rig_set(e, RCL_QP_ID_SET, 5);
    rig_set(e, RCL_TX_SPEED_MEM, 20);
    rig_settle(r);
    /* What is left, 1200 less 11 times 10, at 20. */
    g_assert_cmpint(e->next, ==, start + (11 + 1090 / 20) * WINDOW);
    rig_pass(r, e->next - r->now);
    g_assert_cmpint(e->next, ==, INT64_MAX);
    rig_free(r);
}

static void test_rate_zero(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_qp(e, 4, e, 4, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 0);
    post_len(e, 4, 1, 100);
    rig_pass(r, 10 * WINDOW);
    g_assert_cmpuint(frames(e), ==, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 100);
    rig_expect_errors(e, 1);
    g_assert_cmpuint(rig_get(e, RCL_TX_SPEED_MEM), ==, 0);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN | RCL_QP_FREE_BUF);
    rig_set(e, RCL_TX_SPEED_MEM, 100);
    post_len(e, 4, 1, 100);
    g_assert_cmpuint(frames(e), ==, 1);
    rig_free(r);
}

static void test_rate_type2(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_TYPE2_RATE, 1000);
    rig_pass(r, WINDOW - r->now % WINDOW);
    for (unsigned i = 0; i < 30; i++) {
        rig_post(e, 0, 100, i, RCL_ETYPE2);
    }
    rig_settle(r);
    g_assert_cmpuint(frames(e), ==, 10);
    rig_pass(r, WINDOW - 1);
    g_assert_cmpuint(frames(e), ==, 0);
    rig_pass(r, 1);
    g_assert_cmpuint(frames(e), ==, 10);
    rig_set(e, RCL_TYPE2_RATE, 0);
    rig_settle(r);
    g_assert_cmpuint(frames(e), ==, 10);
    rig_free(r);
}

/* ---- CBFC ---- */

/* Credits that a TYPE1 packet takes: C(len, ovhd, size). */
static void test_cost(void)
{
    /* GEN1 with TC: 22 + payload + 4 + 4. */
    static const struct { unsigned payload, size; int ovhd; unsigned n; } t[] = {
        { 66, 32, 0, 4 },           /* 68 with the pad */
        { 226, 256, 0, 2 },         /* 258 */
        { 224, 256, 2, 1 },         /* 254 + 2 */
        { 224, 256, 3, 2 },
        { 240, 256, -16, 1 },       /* 270 - 16 */
        { 244, 256, -16, 2 },
        { 240, 256, -1, 2 },
        { 1344, 32, 127, 47 },      /* 1374 + 127 = 1501 */
        { 1344, 2048, 127, 1 },
        { 1344, 512, 0, 3 },
        { 1344, 1024, 0, 2 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];

        rig_up(e, GEN1);
        rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false));
        setup_credits(e, t[i].size, t[i].ovhd, 1000);
        rig_qp(e, 1, e, 1, 0);
        post_len(e, 1, 1, t[i].payload);
        g_assert_cmpuint(credits_left(e, 1), ==, 1000 - t[i].n);
        g_assert_cmpuint(rig_get(e, RCL_CBFC_LEVEL0) >> 16 & 0xffff, ==,
                         1000 - t[i].n);
        g_assert_cmpuint(credits_left(e, 0), ==, 1000);
        rig_free(r);
    }
}

/* CREDIT_SIZE 256, ovhd 12, Standard: 6 a packet; @dynamic: as long as one
 * fits. */
static void limits(bool dynamic)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigPacket p;

    for (unsigned i = 0; i < 2; i++) {
        rig_up(&r->e[i], STANDARD);
        rig_set(&r->e[i], RCL_AFH_CFG_EN, cbfc_cfg(STANDARD, 2, dynamic));
        /* The MAC holds frames back while the client does. */
        rig_set(&r->e[i], RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
        setup_credits(&r->e[i], 256, 12, 13);
        r->e[i].errors = 0;
    }
    rig_connect(r, 0, 0);
    rig_settle(r);
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    post_len(e, 0, 4, 1344);
    g_assert_cmpuint(CNT(e, tx_type1), ==, dynamic ? 2 : 1);
    g_assert_cmpuint(credits_left(e, 0), ==, dynamic ? 1 : 7);
    g_assert_cmpuint(CNT(e, cbfc_blocked), >=, 1);
    /* The client takes one after the other. */
    put_le32(f->mem + RIG_SHADOW + RCL_RING_RX1 * 4, 0);
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL,
            RCL_RING_EN | RCL_RING_SHADOW);
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, 1);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type1), ==, dynamic ? 3 : 2);
    g_assert_cmpuint(credits_left(e, 0), ==, dynamic ? 1 : 7);
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, 1024);
    f->rx_head[0] = 1024;
    rig_settle(r);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_true(rig_take(f, 0, &p));
        g_assert_true(rig_is(&p, 1344, i));
    }
    g_assert_cmpuint(credits_left(e, 0), ==, 13);
    g_assert_cmpuint(CNT(e, cbfc_over), ==, 0);
    rig_free(r);
}

static void test_limits(void)
{
    limits(false);
    limits(true);
}

static bool lose_some(Rig *r, unsigned from, const uint8_t *frame, size_t len)
{
    return g_rand_int_range(r->rand, 0, 10) != 0;
}

/* Lost frames, lost updates: in the end every credit is back. */
static void test_heal(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    unsigned got = 0;
    RigPacket p;

    for (unsigned i = 0; i < 2; i++) {
        rig_up(&r->e[i], GEN1);
        rig_set(&r->e[i], RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false));
        setup_credits(&r->e[i], 256, 0, 20);
        rig_set(&r->e[i], RCL_RETRY_TIMER_CFG, 15 << 13 | 1000);
    }
    rig_connect(r, 0, 0);
    rig_connect(r, 1, 0);
    rig_settle(r);
    r->pass = lose_some;
    for (unsigned i = 0; i < 400; i++) {
        rig_post(e, i & 1, 1000, i, 0);
        rig_pass(r, 100000);
        while (rig_take(f, 0, &p)) {
            got++;
        }
    }
    r->pass = NULL;
    rig_pass(r, 100000000);
    while (rig_take(f, 0, &p)) {
        got++;
    }
    g_assert_cmpuint(got, ==, 400);
    for (unsigned v = 0; v < 7; v++) {
        g_assert_cmpuint(credits_left(e, v), ==, 20);
        g_assert_cmpuint(credits_left(f, v), ==, 20);
    }
    g_assert_cmpuint(CNT(f, cbfc_healed), >, 0);
    /* Nothing is said when nothing is out. */
    got = CNT(e, cbfc_tx);
    rig_pass(r, 100000000);
    g_assert_cmpuint(CNT(e, cbfc_tx), ==, got);
    /* Without updates the sender starves, and is not hurt. */
    rclink_faults(e->d)->lose_credits = true;
    for (unsigned i = 0; i < 20; i++) {
        rig_post(e, 0, 1000, i, 0);
    }
    rig_pass(r, 10000000);
    g_assert_cmpuint(credits_left(e, 0), <, 6);
    rclink_faults(e->d)->lose_credits = false;
    rig_pass(r, 10000000);
    g_assert_cmpuint(credits_left(e, 0), ==, 20);
    rig_free(r);
}

/* Who may send: the switches over each other. */
static void test_switches(void)
{
    static const struct {
        const char *name;
        uint64_t set, clear;
        bool setup, sent;
    } t[] = {
        { "no setup", 0, 0, false, false },
        { "setup", 0, 0, true, true },
        { "stop", UINT64_C(1) << RCL_CFG_STOP_CBFC, 0, false, true },
        { "flow not checked", 0, UINT64_C(1) << RCL_CFG_CBFC_BANK0, false,
          true },
        { "closed by software", 0, UINT64_C(1) << RCL_CFG_VC_OPEN, true,
          false },
        { "closed, not checked", 0, UINT64_C(1) << RCL_CFG_VC_OPEN |
          UINT64_C(1) << RCL_CFG_CBFC_BANK0, true, false },
        { "closed, but stopped", UINT64_C(1) << RCL_CFG_STOP_CBFC,
          UINT64_C(1) << RCL_CFG_VC_OPEN, true, true },
        { "another closed", 0, UINT64_C(2) << RCL_CFG_VC_OPEN, true, true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];

        g_test_message("%s", t[i].name);
        rig_up(e, GEN1);
        rig_set(e, RCL_AFH_CFG_EN, (cbfc_cfg(GEN1, 1, false) & ~t[i].clear) |
                                   t[i].set);
        if (t[i].setup) {
            setup_credits(e, 256, 0, 100);
        }
        rig_qp(e, 0, e, 0, 0);
        rig_settle(r);
        frames(e);
        post_len(e, 0, 1, 64);
        g_assert_cmpuint(frames(e), ==, t[i].sent);
        rig_free(r);
    }
}

/* A limit of 0 checks nothing; what does not fit is told. */
static void test_rules(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
    rig_expect_errors(e, 1);    /* all of one class */
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 0, false));
    rig_expect_errors(e, 1);
    setup_credits(e, 256, 0, 1);
    e->errors = 0;
    rig_qp(e, 0, e, 0, 0);
    post_len(e, 0, 3, 1000);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 3);
    g_assert_cmpuint(credits_left(e, 0), ==, 0);
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false));
    rig_expect_errors(e, 6);    /* ACKs need one alone */
    /* A CL below the limit. */
    setup_credits(e, 256, 0, 5);
    rig_expect_errors(e, 6);
    setup_credits(e, 256, 0, 100);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_MAC_CBFC_CFG(0), credit_word(48, 0, 100));
    rig_set(e, RCL_CBFC_RST, 1);
    rig_expect_errors(e, 1);
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false) |
                               UINT64_C(1) << (RCL_CFG_DYNAMIC + 1));
    rig_expect_errors(e, 1);
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false) |
                               UINT64_C(7) << RCL_CFG_VC_MAP);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false) |
                               UINT64_C(1) << RCL_CFG_VC_MAP);
    rig_expect_errors(e, 1);
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false));
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0xff) << 32);
    rig_expect_errors(e, 1);
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
    rig_expect_errors(e, 0);
    /* GEN1 without TC has a tag, wanted or not. */
    rig_set(e, RCL_AFH_CFG_EN,
            cbfc_cfg(UINT64_C(1) << RCL_CFG_GEN1, 1, false) |
            UINT64_C(1) << RCL_CFG_VLAN_PRI);
    rig_expect_errors(e, 1);
    setup_credits(e, 256, 0, 100);
    rig_qp(e, 3, e, 3, 0);
    rig_settle(r);
    frames(e);
    post_len(e, 3, 1, 64);
    {
        GBytes *b = rig_frame(e);

        g_assert_cmphex(get_be32((const uint8_t *)
                                 g_bytes_get_data(b, NULL) + 12), ==,
                        0x81006000);
        g_bytes_unref(b);
    }
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(0, 1, false));
    rig_expect_errors(e, 1);
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1 | 1, 1, false));
    rig_expect_errors(e, 1);
    rig_free(r);
}

/* MAC2TX_CBFC_RESET_I closes all VCs until the next setup. */
static void test_cbfc_reset(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false));
    setup_credits(e, 256, 0, 100);
    rig_qp(e, 0, e, 0, 0);
    post_len(e, 0, 1, 64);
    g_assert_cmpuint(credits_left(e, 0), ==, 99);
    rig_set(e, RCL_CBFC_RESET, 1);
    g_assert_cmpuint(rig_get(e, RCL_CBFC_LEVEL0), ==, 0);
    frames(e);
    post_len(e, 0, 1, 64);
    g_assert_cmpuint(frames(e), ==, 0);
    rig_set(e, RCL_CBFC_RST, 1);
    rig_settle(r);
    g_assert_cmpuint(credits_left(e, 0), ==, 99);
    /* The last setup wins. */
    rig_set(e, RCL_MAC_CBFC_CFG(0), credit_word(256, 0, 50));
    rig_set(e, RCL_CBFC_RST, 1);
    g_assert_cmpuint(credits_left(e, 0), ==, 50);
    rig_free(r);
}

/* ---- TYPE2's cells ---- */

static void test_multicast_credit(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_CTRL, RCL_CTRL_MULTI_CREDIT);
    g_assert_cmpuint(rig_get(e, RCL_MULTI_CREDIT), ==, 2048);
    for (unsigned i = 0; i < 500; i++) {
        rig_post(e, 0, 1344, i, RCL_ETYPE2);
    }
    /* 1370 bytes with FCS: 11 cells; 186 packets fit before the limit. */
    rclink_run(e->d, r->now, 1000);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 186);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 500);
    g_assert_cmpuint(rig_get(e, RCL_MULTI_CREDIT), ==, 2048);
    rig_free(r);
}

/* ---- PFC ---- */

static void pfc_frame(RigEnd *e, uint8_t classes, uint16_t quanta)
{
    uint8_t f[60];

    memset(f, 0, sizeof(f));
    rig_hex("0180c200000102000000000b88080101", f);
    f[17] = classes;
    for (unsigned c = 0; c < 8; c++) {
        put_be16(f + 18 + c * 2, quanta);
    }
    rig_inject(e, f, sizeof(f));
    rig_settle(e->rig);
}

static uint64_t pfc_cfg(uint64_t format)
{
    return cbfc_cfg(format, 1, false) | UINT64_C(1) << RCL_CFG_STOP_CBFC;
}

static void test_pfc_rx(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_AFH_CFG_EN, pfc_cfg(GEN1));
    /* Banks 0 and 1 obey. */
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(3) << 39);
    for (unsigned q = 0; q < 4; q++) {
        rig_qp(e, q, e, q, 0);
    }
    pfc_frame(e, 1 << 1 | 1 << 2, 100);
    g_assert_cmphex(rig_get(e, RCL_STATUS) >> RCL_STATUS_PFC_RX_SHIFT & 0xff,
                    ==, 6);
    for (unsigned q = 0; q < 4; q++) {
        post_len(e, q, 1, 64);
        g_assert_cmpuint(frames(e), ==, q != 1);
    }
    /* 100 quanta of 1.28 ns. */
    rig_pass(r, 127);
    g_assert_cmpuint(frames(e), ==, 0);
    rig_pass(r, 1);
    g_assert_cmpuint(frames(e), ==, 1);
    /* XON; the last word counts, shorter or longer. */
    pfc_frame(e, 1, 0xffff);
    post_len(e, 0, 1, 64);
    g_assert_cmpuint(frames(e), ==, 0);
    pfc_frame(e, 1, 0);
    g_assert_cmpuint(frames(e), ==, 1);
    pfc_frame(e, 1, 0xffff);
    pfc_frame(e, 1, 10);
    post_len(e, 0, 1, 64);
    rig_pass(r, 13);
    g_assert_cmpuint(frames(e), ==, 1);
    /* A frame says nothing of the classes that it does not name. */
    pfc_frame(e, 3, 0xffff);
    pfc_frame(e, 1, 0);
    g_assert_cmphex(rig_get(e, RCL_STATUS) >> RCL_STATUS_PFC_RX_SHIFT & 0xff,
                    ==, 2);
    post_len(e, 1, 1, 64);
    g_assert_cmpuint(frames(e), ==, 0);
    pfc_frame(e, 2, 0);
    g_assert_cmpuint(frames(e), ==, 1);
    /* With CBFC nobody looks at it. */
    rig_set(e, RCL_XON_THR_RDMA, 0);
    pfc_frame(e, 0xff, 0xffff);
    post_len(e, 0, 1, 64);
    g_assert_cmpuint(frames(e), ==, 1);
    rig_free(r);
}

/* A pause of any class ends by itself, the last one's too. */
static void test_pfc_ends(void)
{
    enum { AT = RCL_CFG_VC_MAP + 3 };           /* bank 1's VC */

    for (unsigned c = 0; c < 8; c++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];

        rig_up(e, GEN1);
        rig_set(e, RCL_AFH_CFG_EN, (pfc_cfg(GEN1) & ~(UINT64_C(7) << AT)) |
                                   (uint64_t)c << AT);
        rig_set(e, RCL_XON_THR_RDMA, UINT64_C(2) << 39);
        rig_qp(e, 1, e, 1, 0);
        pfc_frame(e, 1 << c, 100);
        post_len(e, 1, 1, 64);
        g_assert_cmpuint(frames(e), ==, 0);
        rig_pass(r, 127);
        g_assert_cmpuint(frames(e), ==, 0);
        rig_pass(r, 1);
        g_assert_cmpuint(frames(e), ==, 1);
        g_assert_cmphex(rig_get(e, RCL_STATUS) >> RCL_STATUS_PFC_RX_SHIFT &
                        0xff, ==, 0);
        rig_free(r);
    }
}

static void assert_pfc(RigEnd *e, const char *hex)
{
    GBytes *b = rig_frame(e);
    uint8_t want[60];
    size_t n;
    const uint8_t *p;

    memset(want, 0, sizeof(want));
    rig_hex(hex, want);
    g_assert_nonnull(b);
    p = g_bytes_get_data(b, &n);
    g_assert_cmpmem(p, n, want, sizeof(want));
    g_bytes_unref(b);
}

/* Marks of TYPE1's buffer, with hysteresis; pins; the refresh. */
static void test_pfc_tx(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];

    rig_up(e, GEN1);
    rig_up(f, GEN1);
    rig_connect(r, 3, 0);
    rig_settle(r);
    r->n = 1;                   /* frames stay where we can see them */
    rig_set(e, RCL_AFH_CFG_EN, pfc_cfg(GEN1));
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x3fff03000200));
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x3f7f) << 32 | 42 << 16 | 21);
    rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    for (unsigned i = 0; i < 2; i++) {
        rig_post(f, 3, 1344, i, 0);
    }
    rclink_run(f->d, r->now, 10);
    for (unsigned i = 0; i < 2; i++) {
        GBytes *b = rig_frame(f);
        size_t n;
        const uint8_t *p = g_bytes_get_data(b, &n);

        g_assert_cmphex(rig_get(e, RCL_STATUS) >> 8 & 0xff, ==, 0);
        rig_inject(e, p, n);
        g_bytes_unref(b);
    }
    g_assert_cmphex(rig_get(e, RCL_STATUS) >> 8 & 0xff, ==, 1 << 3);
    rig_settle(r);
    assert_pfc(e, "0180c2000001 02000000000a 8808 0101 0008"
               "000000000000ffff0000000000000000");
    {
        GBytes *b = rig_frame(e);       /* the ACK */

        g_bytes_unref(b);
    }
    /* Again at half time. */
    rig_pass(r, 32767 * 128 / 100);
    assert_pfc(e, "0180c2000001 02000000000a 8808 0101 0008"
               "000000000000ffff0000000000000000");
    /* Bank 0 by its pin. */
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(1) << 46 |
            rig_get(e, RCL_XON_THR_RDMA));
    rig_set(e, RCL_FLOW_STOP, 1);
    rig_settle(r);
    assert_pfc(e, "0180c2000001 02000000000a 8808 0101 0009"
               "ffff00000000ffff0000000000000000");
    /* XON when it is at the lower mark. */
    rig_set(e, RCL_FLOW_STOP, 0);
    rig_settle(r);
    assert_pfc(e, "0180c2000001 02000000000a 8808 0101 0009"
               "000000000000ffff0000000000000000");
    put_le32(e->mem + RIG_SHADOW + RCL_RING_RX1 * 4, 0);
    rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, RCL_RING_EN);
    rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, 1);
    rig_settle(r);
    assert_pfc(e, "0180c2000001 02000000000a 8808 0101 0008"
               "00000000000000000000000000000000");
    g_assert_null(rig_frame(e));
    g_assert_cmpuint(CNT(e, pfc_tx), ==, 5);
    /* TYPE2's pin needs its own enable. */
    rig_set(e, RCL_FLOW_STOP, RCL_STOP_TYPE2);
    rig_settle(r);
    assert_pfc(e, "0180c2000001 02000000000a 8808 0101 0020"
               "00000000000000000000ffff00000000");
    rig_set(e, RCL_XON_THR_RDMA, 0);
    rig_settle(r);
    assert_pfc(e, "0180c2000001 02000000000a 8808 0101 0020"
               "00000000000000000000000000000000");
    /* A storm, for tests of peers. */
    rclink_faults(e->d)->pause_storm = 0x81;
    rig_set(e, RCL_FLOW_STOP, 0);
    rclink_faults_changed(e->d);
    rig_settle(r);
    assert_pfc(e, "0180c2000001 02000000000a 8808 0101 0081"
               "ffff000000000000000000000000ffff");
    rig_pass(r, 100 * 32767 * 128 / 100);
    g_assert_cmpuint(CNT(e, pfc_tx), >=, 100);
    r->n = 2;
    rig_free(r);
}

/* A port that is stopped for ever survives it, and goes on. */
static void test_storm(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigPacket p;

    for (unsigned i = 0; i < 2; i++) {
        rig_up(&r->e[i], GEN1);
        rig_set(&r->e[i], RCL_AFH_CFG_EN, pfc_cfg(GEN1));
        rig_set(&r->e[i], RCL_XON_THR_RDMA, UINT64_C(0x7f) << 39);
    }
    rig_connect(r, 1, 0);
    rclink_faults(f->d)->pause_storm = 0xff;
    rclink_faults_changed(f->d);
    rig_settle(r);
    post_len(e, 1, 3, 64);
    /* 65535 quanta are 83.9 us: a storm is one after eight, and is one for as long. */
    rig_pass(r, 600000);
    g_assert_cmpuint(CNT(e, pfc_storms), ==, 0);
    rig_pass(r, 50000000);
    g_assert_cmpuint(CNT(e, pfc_storms), ==, 8);
    g_assert_false(rig_take(f, 0, &p));
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 0);
    g_assert_cmphex(rig_get(e, RCL_STATUS) >> RCL_STATUS_PFC_RX_SHIFT & 0xff,
                    ==, 0xff);
    rclink_faults(f->d)->pause_storm = 0;
    rclink_faults_changed(f->d);
    rig_settle(r);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(rig_take(f, 0, &p));
    }
    /* Pauses with breaks are none; the next storm is another. */
    for (unsigned i = 0; i < 40; i++) {
        rclink_faults(f->d)->pause_storm = i % 2 ? 0 : 1;
        rclink_faults_changed(f->d);
        rig_pass(r, 70000);
    }
    g_assert_cmpuint(CNT(e, pfc_storms), ==, 8);
    rclink_faults(f->d)->pause_storm = 1;
    rclink_faults_changed(f->d);
    rig_pass(r, 1000000);
    g_assert_cmpuint(CNT(e, pfc_storms), ==, 9);
    rig_free(r);
}

/* ---- CNPs ---- */

static void test_cnp(void)
{
    for (unsigned ecn = 0; ecn < 4; ecn++) {
        Rig *r = rig_new(2, NULL);
        RigEnd *e = &r->e[0], *f = &r->e[1];
        RigEvent ev;

        rig_up(e, STANDARD);
        rig_up(f, STANDARD);
        rig_set(f, RCL_CTRL, RCL_CTRL_ECN);
        rig_set(e, RCL_TRAFFIC_CLASS, 0x48 | ecn);
        rig_connect(r, 4, 0);
        post_len(e, 4, 3, 64);
        g_assert_cmpuint(CNT(f, tx_cnp) > 0, ==, ecn == 3);
        g_assert_cmpuint(rig_event_of(e, RCL_EV_CNP, &ev), ==, ecn == 3);
        if (ecn == 3) {
            g_assert_cmpuint(ev.qp, ==, 4);
            rig_set(f, RCL_CTRL, 0);
            ecn = CNT(f, tx_cnp);
            post_len(e, 4, 3, 64);
            g_assert_cmpuint(CNT(f, tx_cnp), ==, ecn);
            ecn = 3;
        }
        rig_free(r);
    }
}

/* QPs that owe one have their turns. */
static void test_cnp_turns(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigEvent ev;

    rig_up(e, STANDARD);
    rig_up(f, STANDARD);
    rig_set(f, RCL_CTRL, RCL_CTRL_ECN);
    rig_set(e, RCL_TRAFFIC_CLASS, UINT64_C(0x484b4b4b4b4b));
    rclink_wire_stop(f->d, true);
    for (unsigned q = 1; q < 5; q++) {
        rig_connect(r, q, 0);
        rig_post(e, q, 64, q, 0);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(f, tx_cnp), ==, 0);
    rclink_wire_stop(f->d, false);
    rig_settle(r);
    for (unsigned q = 1; q < 5; q++) {
        g_assert_true(rig_event_of(e, RCL_EV_CNP, &ev));
        g_assert_cmpuint(ev.qp, ==, q);
    }
    rig_free(r);
}

static void cnp_frame(RigEnd *e, unsigned qp)
{
    RclLayout l = {
        .format = RCL_GEN1, .gen1_tc = true, .icrc = true,
        .mac = 0x02000000000b, .mac_type1 = 0x88b5, .vcs = 4,
    };
    RclHead h = {
        .kind = RCL_TYPE1, .da = 0x02000000000a,
        .rh = { .opcode = RCL_OP_CNP, .pkey = 0x5a, .qp = qp },
    };
    uint8_t frame[RCL_FRAME_MAX];

    rig_inject(e, frame, rcl_frame_put(&l, &h, NULL, 0, frame));
}

static void test_cnp_merge(void)
{
    static const struct { unsigned qp, t; bool pass; } step[] = {
        { 5, 0, true }, { 5, 5, false }, { 5, 10, false }, { 5, 11, true },
        { 5, 20, false }, { 5, 22, true }, { 6, 23, true }, { 7, 23, true },
        { 8, 23, true }, { 9, 23, true }, { 10, 23, true }, { 11, 23, true },
        { 12, 23, true }, { 13, 23, true }, { 5, 24, true },
    };

    for (unsigned merge = 0; merge < 2; merge++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];
        int64_t t0 = r->now;

        rig_up(e, GEN1);
        for (unsigned q = 5; q < 14; q++) {
            rig_qp(e, q, e, q, 0);
        }
        rig_set(e, RCL_CTRL, merge ? RCL_CTRL_CNP_MERGE : 0);
        rig_set(e, RCL_CNP_THR, 10);
        for (unsigned i = 0; i < G_N_ELEMENTS(step); i++) {
            rig_events(e, 0);
            r->now = t0 + step[i].t;
            cnp_frame(e, step[i].qp);
            g_assert_cmpuint(rig_events(e, RCL_EV_CNP), ==,
                             step[i].pass || !merge);
        }
        g_assert_cmpuint(CNT(e, rx_cnp_merged), ==, merge ? 3 : 0);
        rig_free(r);
    }
}

static void test_nocnp(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    rig_up(e, GEN1);
    rig_set(e, RCL_NOCNP, 10);
    rig_qp(e, 5, e, 5, 0);
    rig_qp(e, 6, e, 6, 0);
    rig_pass(r, 20000);
    g_assert_false(rig_event_of(e, RCL_EV_NOCNP, &ev));
    post_len(e, 5, 3, 100);
    post_len(e, 6, 1, 64);
    rig_set(e, RCL_QP_ID_SET, 5);
    g_assert_cmpuint(rig_get(e, RCL_TX_CC_BYTE_CNT_MEM), ==, 300);
    cnp_frame(e, 6);
    rig_pass(r, 9999);
    g_assert_false(rig_event_of(e, RCL_EV_NOCNP, &ev));
    rig_pass(r, 1);
    g_assert_true(rig_event_of(e, RCL_EV_NOCNP, &ev));
    g_assert_cmpuint(ev.qp, ==, 5);
    g_assert_cmpuint(ev.a, ==, 300);
    g_assert_false(rig_event_of(e, RCL_EV_NOCNP, &ev));
    g_assert_cmpuint(rig_get(e, RCL_TX_CC_BYTE_CNT_MEM), ==, 0);
    rig_pass(r, 100000);
    g_assert_false(rig_event_of(e, RCL_EV_NOCNP, &ev));
    rig_set(e, RCL_NOCNP, 257);
    rig_expect_errors(e, 1);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/rate/example", test_rate_example);
    g_test_add_func("/rclink/rate/windows", test_rate_windows);
    g_test_add_func("/rclink/rate/debt", test_rate_debt);
    g_test_add_func("/rclink/rate/resized", test_rate_resized);
    g_test_add_func("/rclink/rate/wakes", test_rate_wakes);
    g_test_add_func("/rclink/rate/zero", test_rate_zero);
    g_test_add_func("/rclink/rate/type2", test_rate_type2);
    g_test_add_func("/rclink/cbfc/cost", test_cost);
    g_test_add_func("/rclink/cbfc/limits", test_limits);
    g_test_add_func("/rclink/cbfc/heal", test_heal);
    g_test_add_func("/rclink/cbfc/switches", test_switches);
    g_test_add_func("/rclink/cbfc/rules", test_rules);
    g_test_add_func("/rclink/cbfc/reset", test_cbfc_reset);
    g_test_add_func("/rclink/cbfc/multicast", test_multicast_credit);
    g_test_add_func("/rclink/pfc/rx", test_pfc_rx);
    g_test_add_func("/rclink/pfc/ends", test_pfc_ends);
    g_test_add_func("/rclink/pfc/tx", test_pfc_tx);
    g_test_add_func("/rclink/pfc/storm", test_storm);
    g_test_add_func("/rclink/cnp/ecn", test_cnp);
    g_test_add_func("/rclink/cnp/turns", test_cnp_turns);
    g_test_add_func("/rclink/cnp/merge", test_cnp_merge);
    g_test_add_func("/rclink/cnp/nocnp", test_nocnp);
    return g_test_run();
}
