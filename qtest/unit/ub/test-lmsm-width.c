/*
 * Two link management state machines change widths, in training and without:
 * QDLWS, the fast lane-down.  UB 2.0 §3.4.2.3, §3.4.2.4.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lmsm-pair.h"

/* Port 0 TX a, RX b; port 1 TX c, RX d: each direction the lesser of both. */
static void test_widths(void)
{
    static const uint8_t w[] = { 1, 2, 4, 8 };

    for (unsigned i = 0; i < 256; i++) {
        UbLmsmConfig c = mode1();
        unsigned a = w[i & 3], b = w[i >> 2 & 3];
        unsigned t = w[i >> 4 & 3], r = w[i >> 6];
        Sim *s;

        c.bypass_probe = true;      /* Probe looks at as many TX wires */
        c.eq_mode = UB_EQ_SKIP;
        s = sim_new(&c);
        s->port[0].l.cfg.target_tx = (uint8_t)a;
        s->port[0].l.cfg.target_rx = (uint8_t)b;
        s->port[1].l.cfg.target_tx = (uint8_t)t;
        s->port[1].l.cfg.target_rx = (uint8_t)r;
        sim_start(s);
        g_assert_true(sim_ready(s, MS(200)));
        check_state(s, MIN(a, r), MIN(t, b), 7);
        sim_free(s);
    }
}

static void test_symmetric_only(void)
{
    UbLmsmConfig c = mode1();
    Sim *s;

    c.bypass_probe = true;
    c.asymmetric = false;
    s = sim_new(&c);
    s->port[0].l.cfg.target_tx = 2;
    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    check_state(s, 2, 2, 7);
    sim_free(s);
}

/* A dead wire leaves the widest standard link of the rest. */
static void test_dead_lane(void)
{
    for (unsigned lane = 0; lane < 8; lane++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        unsigned want = 4;
        Sim *s;

        /* Probe sees it: lanes 7..4 or 0..3, 0..1, ... of the TX. */
        s = sim_new(&c);
        s->port[0].cut = 1u << lane;
        sim_start(s);
        g_assert_true(sim_ready(s, MS(400)));
        g_assert_cmpuint(s->port[0].l.tx_m, ==, want);
        g_assert_cmpuint(s->port[0].l.tx_lane0_id, ==, lane < 4 ? 7 : 0);
        g_assert_cmpuint(s->port[1].l.tx_m, ==, 8);
        sim_free(s);

        /* Probe is bypassed: Discovery finds out, RX_Lane0_ID asks. */
        c.bypass_probe = true;
        s = sim_new(&c);
        s->port[0].cut = 1u << lane;
        sim_start(s);
        g_assert_true(sim_ready(s, MS(400)));
        g_assert_cmpuint(s->port[0].l.tx_m, ==, want);
        g_assert_cmpuint(s->port[0].l.tx_lane0_id, ==, lane < 4 ? 7 : 0);
        g_assert_true(s->port[1].l.errors & UB_PHY_ERR_WIDTH_REDUCED);
        sim_free(s);
    }
}

static bool q_over(Sim *s)
{
    return primary(s)->l.qdlws.status != UB_QDLWS_BUSY &&
           !secondary(s)->l.qdlws.tx.step && !secondary(s)->l.qdlws.rx.step;
}

static Sim *qdlws_link(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);

    c.qdlws = c.qdlws_tx = c.qdlws_rx = true;
    return trained(&c);
}

static void check_widths(Sim *s, unsigned tx, unsigned rx)
{
    g_assert_cmpuint(primary(s)->l.tx_m, ==, tx);
    g_assert_cmpuint(primary(s)->l.rx_n, ==, rx);
    g_assert_cmpuint(secondary(s)->l.tx_m, ==, rx);
    g_assert_cmpuint(secondary(s)->l.rx_n, ==, tx);
    g_assert_cmpuint(primary(s)->width, ==, tx);
    g_assert_cmpuint(secondary(s)->width, ==, rx);
}

/* All pairs of widths, from each to each, without leaving Link_Active. */
static void test_qdlws_all(void)
{
    static const uint8_t w[] = { 1, 2, 4, 8 };
    Sim *s = qdlws_link();
    UbLmsm *l = &primary(s)->l;

    for (unsigned i = 0; i < 16; i++) {
        for (unsigned k = 0; k < 16; k++) {
            unsigned from[2] = { w[i & 3], w[i >> 2] };
            unsigned to[2] = { w[k & 3], w[k >> 2] };

            s->now += 2000;
            if (l->tx_m != from[0] || l->rx_n != from[1]) {
                g_assert_true(ub_lmsm_qdlws(l, s->now, from[0], from[1]));
                g_assert_true(sim_until(s, q_over, MS(30)));
            }
            check_widths(s, from[0], from[1]);
            s->now += 2000;
            g_assert_cmpint(ub_lmsm_qdlws(l, s->now, to[0], to[1]), ==, i != k);
            g_assert_true(sim_until(s, q_over, MS(30)));
            check_widths(s, to[0], to[1]);
            g_assert_cmpuint(primary(s)->period, ==, 0);
            g_assert_cmpuint(secondary(s)->period, ==, 0);
            if (i != k) {
                g_assert_cmpuint(l->qdlws.status, ==, UB_QDLWS_DONE);
            }
        }
    }
    g_assert_cmpuint(l->stats.retrains, ==, 1);
    g_assert_cmpuint(l->state, ==, UB_LMSM_LINK_ACTIVE);
    sim_free(s);
}

static void test_qdlws_nak(void)
{
    Sim *s = qdlws_link();
    UbLmsm *l = &primary(s)->l;

    secondary(s)->l.cfg.qdlws_rx = false;
    g_assert_true(ub_lmsm_qdlws(l, s->now, 4, 0));
    g_assert_cmpuint(l->qdlws.status, ==, UB_QDLWS_BUSY);
    g_assert_true(sim_until(s, q_over, MS(30)));
    g_assert_cmpuint(l->qdlws.status, ==, UB_QDLWS_NAK);
    check_widths(s, 8, 8);
    sim_free(s);
}

static void test_qdlws_rules(void)
{
    Sim *s = qdlws_link();
    UbLmsm *l = &primary(s)->l;

    g_assert_false(ub_lmsm_qdlws(&secondary(s)->l, s->now, 4, 4));
    g_assert_false(ub_lmsm_qdlws(l, s->now, 8, 8));
    g_assert_false(ub_lmsm_qdlws(l, s->now, 3, 0));
    g_assert_true(l->errors & UB_PHY_ERR_BAD_WIDTH);
    g_assert_true(ub_lmsm_qdlws(l, s->now, 4, 4));
    g_assert_false(ub_lmsm_qdlws(l, s->now, 2, 2));         /* one at a time */
    g_assert_true(sim_until(s, q_over, MS(30)));
    g_assert_false(ub_lmsm_qdlws(l, s->now, 2, 2));         /* not within 1 us */
    s->now += 2000;
    g_assert_true(ub_lmsm_qdlws(l, s->now, 2, 2));
    sim_free(s);
}

static void test_qdlws_timeout(void)
{
    Sim *s = qdlws_link();
    UbLmsm *l = &primary(s)->l;
    int64_t t;

    /* No answer at all: 24 ms. */
    secondary(s)->no_lm = true;
    t = s->now;
    g_assert_true(ub_lmsm_qdlws(l, s->now, 4, 0));
    g_assert_true(sim_until(s, q_over, MS(30)));
    g_assert_cmpuint(l->qdlws.status, ==, UB_QDLWS_TIMEOUT);
    g_assert_cmpint(s->now - t, >=, MS(24));
    g_assert_cmpint(s->now - t, <, MS(25));
    g_assert_true(l->errors & UB_PHY_ERR_QDLWS);
    check_widths(s, 8, 8);

    /* Widening whose new lanes are dead: both ends give up. */
    secondary(s)->no_lm = false;
    s->now += 2000;
    g_assert_true(ub_lmsm_qdlws(l, s->now, 4, 0));
    g_assert_true(sim_until(s, q_over, MS(30)));
    check_widths(s, 4, 8);
    primary(s)->cut = 0x40;
    s->now += 2000;
    g_assert_true(ub_lmsm_qdlws(l, s->now, 8, 0));
    g_assert_true(sim_until(s, q_over, MS(60)));
    g_assert_cmpuint(l->qdlws.status, ==, UB_QDLWS_TIMEOUT);
    check_widths(s, 4, 8);
    g_assert_cmpuint(primary(s)->lanes, ==, 4);
    g_assert_cmpuint(primary(s)->period, ==, 0);
    g_assert_cmphex(secondary(s)->enabled, ==, 0x0f);
    g_assert_cmpuint(l->state, ==, UB_LMSM_LINK_ACTIVE);
    sim_free(s);
}

/* Request, response and RX lane up. */
static UbLaneManage lm_seen[8];

static unsigned lm_count;

static void note_lm(void *o, const UbLaneManage *lm)
{
    lm_seen[lm_count++ % 8] = *lm;
    sim_ops.lane_manage(o, lm);
}

static void test_qdlws_bytes(void)
{
    static const UbLaneManage want[5] = {
        { .req = true, .change_tlw = true, .tlw = 2 },
        { .rsp = true, .rsp_tlw = true, .tlw = 8, .rlw = 2 },
        { .req = true, .change_tlw = true, .tlw = 8 },
        { .rsp = true, .rsp_tlw = true, .tlw = 8, .rlw = 8 },
        { .rsp = true, .rx_lane_up = true, .tlw = 8, .rlw = 8 },
    };
    Sim *s = qdlws_link();
    UbLmsmOps ops = sim_ops;

    ops.lane_manage = note_lm;
    s->port[0].l.ops = s->port[1].l.ops = &ops;
    lm_count = 0;
    g_assert_true(ub_lmsm_qdlws(&primary(s)->l, s->now, 2, 0));
    g_assert_true(sim_until(s, q_over, MS(30)));
    s->now += 2000;
    g_assert_true(ub_lmsm_qdlws(&primary(s)->l, s->now, 8, 0));
    g_assert_true(sim_until(s, q_over, MS(30)));
    g_assert_cmpuint(lm_count, ==, 5);
    for (unsigned i = 0; i < 5; i++) {
        g_assert_cmpmem(&lm_seen[i], sizeof(lm_seen[i]), &want[i],
                        sizeof(want[i]));
    }
    sim_free(s);
}

static bool uneven(Sim *s)
{
    return s->port[0].l.tx_m == 4 && s->port[0].l.rx_n == 8 &&
           s->port[1].l.tx_m == 8 && s->port[1].l.rx_n == 4 &&
           s->port[0].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[1].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[0].l.link_ready && s->port[1].l.link_ready;
}

/* PHY Mode-2 starts with equal widths, whatever the targets; Retrain makes
 * them differ, and a link that is lost starts with equal ones again. */
static void test_mode2_asymmetric(void)
{
    for (unsigned probe = 0; probe < 2; probe++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        Sim *s;

        c.bypass_probe = !probe;
        s = sim_new(&c);
        s->port[0].l.cfg.target_tx = 4;
        sim_start(s);
        g_assert_true(sim_ready(s, MS(200)));
        check_state(s, 8, 8, 8);
        ub_lmsm_request_width(&s->port[0].l);
        g_assert_true(sim_until(s, uneven, MS(200)));
        check_state(s, 4, 8, 8);
        ub_lmsm_reset(&s->port[0].l, s->now);
        g_assert_true(sim_ready(s, MS(1000)));
        check_state(s, 8, 8, 8);
        sim_free(s);
    }
}

static bool narrowed(Sim *s)
{
    return s->port[1].l.rx_n < 8;
}

static bool widened(Sim *s)
{
    return s->port[0].l.tx_m == 8 && s->port[1].l.rx_n == 8 &&
           s->port[0].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[1].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[0].l.link_ready && s->port[1].l.link_ready;
}

static bool retrained(Sim *s)
{
    return sim_count(&s->port[1], UB_T_LA_AMCTL) &&
           sim_count(&s->port[0], UB_T_LA_EDF) && widened(s);
}

/* N missed AMCTLs on a lane that is not lane 0: the peer's TX narrows. */
static void test_lane_down(void)
{
    for (unsigned lane = 1; lane < 8; lane++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        unsigned want = lane >= 4 ? 4 : lane >= 2 ? 2 : 1;
        Sim *s = trained(&c);

        ub_lmsm_rx_miss(&s->port[1].l, s->now, lane, 2);
        g_assert_false(sim_until(s, narrowed, 1000));
        ub_lmsm_rx_miss(&s->port[1].l, s->now, lane, 3);
        ub_lmsm_rx_unlock(&s->port[1].l, s->now, lane);
        g_assert_true(sim_until(s, narrowed, MS(1)));
        g_assert_cmpuint(s->port[0].l.tx_m, ==, want);
        g_assert_cmpuint(s->port[1].l.rx_n, ==, want);
        g_assert_cmpuint(s->port[1].l.tx_m, ==, 8);
        g_assert_cmpuint(s->port[1].l.stats.lane_downs, ==, 1);
        g_assert_true(s->port[1].l.errors & UB_PHY_ERR_WIDTH_REDUCED);
        g_assert_cmpuint(s->port[1].l.stats.retrains, ==, 1);
        g_assert_cmpuint(s->port[1].l.state, ==, UB_LMSM_LINK_ACTIVE);

        /* Recovery: back to full width by way of Retrain and Discovery. */
        ub_lmsm_request_width(&s->port[1].l);
        g_assert_true(sim_until(s, widened, MS(100)));
        check_state(s, 8, 8, 8);
        g_assert_cmpuint(sim_count(&s->port[1], UB_T_LA_WIDTH), ==, 1);
        g_assert_cmpuint(sim_count(&s->port[0], UB_T_RA_DLTB) +
                         sim_count(&s->port[0], UB_T_RC_DLTB), ==, 1);
        g_assert_false(s->port[0].statuses & UB_PHY_ST_LINKUP &&
                       !s->port[0].l.link_up);
        sim_free(s);
    }
}

/* Lane 0, or lanes in another order: Retrain. */
static void test_lane_down_retrain(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s = trained(&c);

    ub_lmsm_rx_miss(&s->port[1].l, s->now, 0, 3);
    g_assert_true(sim_until(s, retrained, MS(10)));
    g_assert_cmpuint(s->port[1].l.stats.lane_downs, ==, 0);
    sim_free(s);

    s = sim_new(&c);
    for (unsigned k = 0; k < 8; k++) {
        s->port[0].map[k] = (uint8_t)(7 - k);
    }
    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    ub_lmsm_rx_miss(&s->port[1].l, s->now, 2, 3);
    g_assert_true(sim_until(s, retrained, MS(10)));
    g_assert_cmpuint(s->port[1].l.stats.lane_downs, ==, 0);
    sim_free(s);
}

static bool recovered(Sim *s)
{
    return s->port[0].l.tx_m == 4 && s->port[0].l.state == UB_LMSM_LINK_ACTIVE
           && s->port[1].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[0].l.rate == 8 && s->port[1].l.link_ready;
}

/* A wire dies while the link retrains: Discovery narrows it, LinkUp stays. */
static void test_lane_dies_in_retrain(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s = trained(&c);

    s->port[0].cut = 1u << 5;
    s->port[1].l.lane[5].run = 0;
    ub_lmsm_request_retrain(&s->port[0].l);
    g_assert_true(sim_until(s, recovered, MS(400)));
    g_assert_cmpuint(s->port[1].l.rx_n, ==, 4);
    g_assert_cmpuint(s->port[0].l.errors & UB_PHY_ERR_SPEED_REDUCED, !=, 0);
    sim_free(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/lmsm/width/all", test_widths);
    g_test_add_func("/ub/lmsm/width/mode2-asymmetric", test_mode2_asymmetric);
    g_test_add_func("/ub/lmsm/width/symmetric-only", test_symmetric_only);
    g_test_add_func("/ub/lmsm/width/dead-lane", test_dead_lane);
    g_test_add_func("/ub/lmsm/width/dies-in-retrain",
                    test_lane_dies_in_retrain);
    g_test_add_func("/ub/lmsm/qdlws/all", test_qdlws_all);
    g_test_add_func("/ub/lmsm/qdlws/nak", test_qdlws_nak);
    g_test_add_func("/ub/lmsm/qdlws/rules", test_qdlws_rules);
    g_test_add_func("/ub/lmsm/qdlws/timeout", test_qdlws_timeout);
    g_test_add_func("/ub/lmsm/qdlws/bytes", test_qdlws_bytes);
    g_test_add_func("/ub/lmsm/lane-down/fast", test_lane_down);
    g_test_add_func("/ub/lmsm/lane-down/retrain", test_lane_down_retrain);
    return g_test_run();
}
