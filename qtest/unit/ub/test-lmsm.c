/*
 * Two link management state machines train, and meet with mishaps, against each
 * other in virtual time.  UB 2.0 §3.4.2, §3.4.3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lmsm-pair.h"

static void test_train(gconstpointer data)
{
    static const UbLmsmTransitionId highest[] = {
        UB_T_RESET, UB_T_IDLE_PROBE, UB_T_PW_TIMEOUT, UB_T_PC_ALL,
        UB_T_DA_MATCH, UB_T_DC_MATCH, UB_T_CA_MATCH, UB_T_CC_MATCH,
        UB_T_CF_MATCH, UB_T_SN_NULLS, UB_T_LA_SPEED, UB_T_RA_MATCH,
        UB_T_RC_SPEED, UB_T_CS_DONE, UB_T_RA_EQ_PRIMARY, UB_T_ECC_PRI_FINE,
        UB_T_EQP_PASSIVE, UB_T_EQA_PRI_DONE, UB_T_RA_MATCH, UB_T_RC_DATA,
        UB_T_SN_NULLS,
    };
    unsigned eq = GPOINTER_TO_UINT(data);
    UbLmsmConfig c = mode2(eq);
    Sim *s = trained(&c);
    SimPort *p = primary(s);
    unsigned speeds = sim_count(p, UB_T_CS_DONE);

    check_state(s, 8, 8, 8);
    g_assert_cmpuint(s->port[0].l.eq_mode, ==, eq);
    g_assert_cmpuint(speeds, ==, eq == UB_EQ_FULL ? 3 : 1);
    g_assert_cmpuint(sim_count(p, UB_T_EQA_PRI_DONE), ==,
                     eq == UB_EQ_SKIP ? 0 : speeds);
    g_assert_cmpuint(sim_count(secondary(s), UB_T_EQA_SEC_DONE), ==,
                     eq == UB_EQ_SKIP ? 0 : speeds);
    if (eq == UB_EQ_HIGHEST) {
        g_assert_cmpuint(p->trace->len, ==, G_N_ELEMENTS(highest));
        for (unsigned i = 0; i < p->trace->len; i++) {
            g_assert_cmpuint(g_array_index(p->trace, UbLmsmTransitionId, i),
                             ==, highest[i]);
        }
    }
    g_assert_cmpuint(s->port[0].l.errors | s->port[1].l.errors, ==, 0);
    sim_free(s);
}

/* A link at rest asks for no call at all. */
static void test_at_rest(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s = trained(&c);
    uint64_t sent = s->port[0].l.stats.ltbs_sent;

    g_assert_false(sim_until(s, NULL, MS(1)));
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(ub_lmsm_poll(&s->port[i].l, s->now), ==, INT64_MAX);
    }
    g_assert_cmpuint(s->port[0].l.stats.ltbs_sent, ==, sent);
    sim_free(s);
}

/* Without a peer in sight Probe.Wait needs no call either. */
static void test_alone(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s = sim_new(&c);
    UbLmsm *l = &s->port[0].l;

    ub_lmsm_start(l);
    g_assert_cmpint(ub_lmsm_poll(l, 0), ==, INT64_MAX);
    g_assert_cmpuint(l->state, ==, UB_LMSM_PROBE_WAIT);
    g_assert_cmpuint(l->stats.ltbs_sent, ==, 0);
    sim_free(s);
}

static void test_scale(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s;
    int64_t once;

    s = trained(&c);
    once = s->now;
    sim_free(s);
    c.time_scale = 50;
    s = sim_new(&c);
    sim_start(s);
    g_assert_false(sim_ready(s, once * 20));
    g_assert_true(sim_ready(s, once * 60));
    sim_free(s);
}

/* A floor under the timeouts, which are scaled apart from it. */
static void test_timeout_min(void)
{
    static const int64_t floor[] = { 0, MS(10), MS(500) };
    UbLmsmConfig c = mode2(UB_EQ_SKIP);

    c.bypass_probe = true;
    for (unsigned i = 0; i < G_N_ELEMENTS(floor); i++) {
        Sim *s;
        UbLmsm *l;

        c.timeout_min = floor[i];
        s = sim_new(&c);
        l = &s->port[0].l;
        ub_lmsm_start(l);
        ub_lmsm_poll(l, 0);
        g_assert_cmpuint(l->state, ==, UB_LMSM_DISC_ACTIVE);
        g_assert_cmpint(l->deadline, ==, MAX(MS(24), floor[i]));
        sim_free(s);
    }
}

/* Null Blocks that were under way when a Retrain began do not answer those of
 * the next Send_NullBlock. */
static void test_stale_nulls(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s = trained(&c);
    UbLmsm *l = &s->port[0].l;

    ub_lmsm_rx_sdf(l, s->now, 8);
    ub_lmsm_rx_blocks(l, s->now, 8, true);
    g_assert_true(l->null_ok);
    ub_lmsm_rx_edf(l, s->now);
    g_assert_false(l->null_ok);
    g_assert_cmpuint(l->nulls, ==, 0);
    sim_free(s);
}

static void test_config_check(void)
{
    UbLmsmConfig c;

    ub_lmsm_config_init(&c);
    g_assert_null(ub_lmsm_config_check(&c));
    c.target_tx = 4;
    g_assert_null(ub_lmsm_config_check(&c));
    c.target_rx = c.target_tx = 3;
    g_assert_nonnull(ub_lmsm_config_check(&c));
    c.target_rx = c.target_tx = 8;
    c.max_width = 4;
    g_assert_nonnull(ub_lmsm_config_check(&c));
    ub_lmsm_config_init(&c);
    c.rates = 0x114;
    g_assert_nonnull(ub_lmsm_config_check(&c));
    c.rates = 0x195;
    g_assert_nonnull(ub_lmsm_config_check(&c));     /* DR7 is Mode-1's */
    ub_lmsm_config_init(&c);
    c.lane_down_n = 255;
    g_assert_nonnull(ub_lmsm_config_check(&c));
    ub_lmsm_config_init(&c);
    c.fixed_rate = true;
    c.target_rate = 3;
    g_assert_nonnull(ub_lmsm_config_check(&c));
    ub_lmsm_config_init(&c);
    c.speed_hold_fail = c.speed_hold;
    g_assert_nonnull(ub_lmsm_config_check(&c));
    c.speed_hold_fail++;
    g_assert_null(ub_lmsm_config_check(&c));
}

/* A wrong configuration keeps the machine in Link_Idle. */
static void test_start_refused(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s = sim_new(&c);

    s->port[0].l.cfg.target_tx = 3;
    sim_start(s);
    ub_lmsm_poll(&s->port[0].l, 0);
    g_assert_cmpuint(s->port[0].l.state, ==, UB_LMSM_LINK_IDLE);
    sim_free(s);
}

/* A generator whose first number is that of `other`, and the second is not. */
static uint32_t rival(uint32_t other)
{
    uint32_t first[2] = { 0, 0 };

    for (uint32_t seed = other;; seed++) {
        uint32_t x = seed;

        for (unsigned i = 0; i < 2; i++) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            if (seed == other) {
                first[i] = x % 127 + 1;
            } else if ((x % 127 + 1 == first[i]) == i) {
                break;
            } else if (i) {
                return seed;
            }
        }
    }
}

static void test_roles(void)
{
    for (unsigned seed = 1; seed < 100; seed++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        Sim *s;

        c.seed = seed;
        s = sim_new(&c);
        s->port[1].l.rng = seed & 1 ? seed * 7 : rival(seed);
        sim_start(s);
        g_assert_true(sim_ready(s, MS(200)));
        check_state(s, 8, 8, 8);
        g_assert_cmpint(s->port[0].l.random > s->port[1].l.random, ==,
                        s->port[0].l.primary);
        sim_free(s);
    }
}

static void test_roles_static(void)
{
    for (unsigned i = 0; i < 4; i++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        Sim *s;

        c.port_nego = false;
        s = sim_new(&c);
        s->port[0].l.cfg.port_type = i & 1;
        s->port[1].l.cfg.port_type = i >> 1;
        sim_start(s);
        if (i == 1 || i == 2) {
            g_assert_true(sim_ready(s, MS(200)));
            check_state(s, 8, 8, 8);
            g_assert_cmpuint(s->port[0].l.random, ==, 0);
        } else {
            /* Equal fixed roles never match: 24 ms, error C.11. */
            g_assert_false(sim_ready(s, MS(200)));
            g_assert_cmpuint(sim_count(&s->port[0], UB_T_DA_TIMEOUT_NEGO),
                             >, 2);
            g_assert_true(s->port[0].l.errors & UB_PHY_ERR_WIDTH_NEGO);
        }
        sim_free(s);
    }
}

/* One end negotiates, the other has a fixed role: the first takes the rest. */
static void test_roles_mixed(void)
{
    for (unsigned i = 0; i < 2; i++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        Sim *s = sim_new(&c);

        s->port[0].l.cfg.port_nego = false;
        s->port[0].l.cfg.port_type = (uint8_t)i;
        sim_start(s);
        g_assert_true(sim_ready(s, MS(500)));
        g_assert_cmpint(s->port[0].l.primary, ==, i);
        check_state(s, 8, 8, 8);
        sim_free(s);
    }
}

static void test_reversal(void)
{
    for (unsigned i = 1; i < 4; i++) {
        UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
        Sim *s = sim_new(&c);

        for (unsigned p = 0; p < 2; p++) {
            for (unsigned k = 0; (i >> p & 1) && k < 8; k++) {
                s->port[p].map[k] = (uint8_t)(7 - k);
            }
        }
        sim_start(s);
        g_assert_true(sim_ready(s, MS(200)));
        check_state(s, 8, 8, 8);
        g_assert_cmpuint(s->port[1].l.rx_lane0_id, ==, i & 1 ? 7 : 0);
        g_assert_cmpuint(s->port[0].l.rx_lane0_id, ==, i & 2 ? 7 : 0);
        check_eq(s, 0xff);      /* the wishes reached the right lanes */
        sim_free(s);
    }
}

static void test_disorder(void)
{
    static const uint8_t map[8] = { 3, 6, 0, 7, 2, 1, 5, 4 };
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = sim_new(&c);

    memcpy(s->port[0].map, map, sizeof(map));
    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    check_state(s, 8, 8, 8);
    for (unsigned i = 0; i < 8; i++) {
        g_assert_cmpuint(s->port[1].l.rx_phys[i], ==, map[i]);
    }
    sim_free(s);
}

/* Training goes through although one block in seven is broken. */
static void test_noise(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = sim_new(&c);

    s->port[0].spoil = s->port[1].spoil = 0xff;
    s->port[0].spoil_nth = s->port[1].spoil_nth = 97;
    sim_start(s);
    g_assert_true(sim_ready(s, MS(500)));
    check_state(s, 8, 8, 8);
    g_assert_cmpuint(s->port[0].l.lane[0].crc_errors, >, 0);
    g_assert_true(s->port[0].l.errors & UB_PHY_ERR_LTB_CRC);
    sim_free(s);
}

static bool p0_idle(Sim *s)
{
    return s->port[0].l.state == UB_LMSM_PROBE_WAIT && !s->port[0].l.link_up;
}

/* The peer vanishes, then comes back. */
static void test_peer_lost(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = trained(&c);

    s->port[0].mute = s->port[1].mute = true;
    ub_lmsm_presence(&s->port[0].l, s->now, 0);
    ub_lmsm_rx_idle(&s->port[0].l, s->now, 0xff);
    g_assert_true(sim_until(s, p0_idle, MS(400)));
    g_assert_true(s->port[0].statuses & UB_PHY_ST_LINKUP);

    s->port[0].mute = s->port[1].mute = false;
    g_array_set_size(s->port[0].wire, 0);
    g_array_set_size(s->port[1].wire, 0);
    ub_lmsm_reset(&s->port[1].l, s->now);
    ub_lmsm_presence(&s->port[0].l, s->now, 0xff);
    g_assert_true(sim_ready(s, MS(400)));
    check_state(s, 8, 8, 8);
    sim_free(s);
}

/* Resets at every moment of a training: the link comes up all the same. */
static void test_reset_any_time(void)
{
    for (int64_t t = 0; t < 1200; t += 13) {
        UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
        Sim *s = sim_new(&c);

        sim_start(s);
        sim_until(s, NULL, t * 1000);
        ub_lmsm_reset(&s->port[t & 1].l, s->now);
        g_assert_true(sim_ready(s, MS(1000)));
        check_state(s, 8, 8, 8);
        sim_free(s);
    }
}

static void test_disable(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s = trained(&c);

    ub_lmsm_disable(&s->port[0].l, s->now, true);
    g_assert_false(sim_ready(s, MS(200)));
    g_assert_cmpuint(s->port[0].l.state, ==, UB_LMSM_LINK_IDLE);
    g_assert_false(s->port[1].l.link_up);
    ub_lmsm_disable(&s->port[0].l, s->now, false);
    g_assert_true(sim_ready(s, MS(400)));
    sim_free(s);
}

/* Random bytes, events and times: no state is left that is not in the table. */
static void test_garbage(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = sim_new(&c);
    UbLmsm *l = &s->port[0].l;
    int64_t now = 0;

    c.qdlws = c.qdlws_tx = c.qdlws_rx = true;
    l->cfg = c;
    s->port[0].peer = NULL;
    ub_lmsm_start(l);
    ub_lmsm_presence(l, 0, 0xff);
    for (unsigned i = 0; i < 200000; i++) {
        unsigned lane = g_test_rand_int() % 9, v = g_test_rand_int() & 0xff;
        static const uint8_t types[] = { 0xa0, 0xa1, 0xb0, 0xb1, 0xb2, 0xc0,
                                         0xc1, 0xc2, 0xc3, 0xd0, 0xe0 };
        uint8_t ltb[16];

        switch (g_test_rand_int() % 12) {
        case 0:
            ub_lmsm_rx_idle(l, now, v & (v >> 1));
            break;
        case 1:
            ub_lmsm_rx_edf(l, now);
            break;
        case 2:
            ub_lmsm_rx_sdf(l, now, v & 15);
            ub_lmsm_rx_blocks(l, now, v, v & 1);
            break;
        case 3:
            ub_lmsm_rx_width(l, now, 1u << (v & 3));
            ub_lmsm_rx_remote_width(l, now, v & 15);
            break;
        case 4: {
            bool req = v & 1, rsp = v & 2;
            UbLaneManage lm = {
                .req = req, .change_tlw = req, .change_rlw = req,
                .rsp = rsp, .rsp_tlw = rsp, .rsp_rlw = rsp, .rx_lane_up = rsp,
                .tlw = v >> 4 & 0x3f, .rlw = v >> 3 & 0x3f,
            };

            ub_lmsm_rx_lane_manage(l, now, &lm);
            break;
        }
        case 5:
            ub_lmsm_rx_miss(l, now, lane, v);
            ub_lmsm_rx_unlock(l, now, lane);
            break;
        case 6:
            ub_lmsm_request_retrain(l);
            ub_lmsm_qdlws(l, now, v & 15, v >> 4);
            break;
        default:
            ub_ltb_init(ltb, types[v % G_N_ELEMENTS(types)]);
            for (unsigned k = 1; k < 12; k++) {
                ltb[k] = (uint8_t)g_test_rand_int();
            }
            if (v & 0x80) {
                ub_ltb_seal(ltb);
            }
            for (unsigned k = 0; k < (v & 31); k++) {
                for (unsigned n = 0; n < 9; n++) {
                    ub_lmsm_rx_ltb(l, now, n, ltb);
                }
            }
        }
        now += g_test_rand_int() % 100000;
        ub_lmsm_poll(l, now);
        g_assert_cmpuint(l->state, <, UB_LMSM_STATES);
        g_assert_true(!l->tx_m || ub_width_valid(l->tx_m));
    }
    sim_free(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/ub/lmsm/train/full-eq", GUINT_TO_POINTER(0),
                         test_train);
    g_test_add_data_func("/ub/lmsm/train/highest-eq", GUINT_TO_POINTER(1),
                         test_train);
    g_test_add_data_func("/ub/lmsm/train/skip-eq", GUINT_TO_POINTER(2),
                         test_train);
    g_test_add_func("/ub/lmsm/train/at-rest", test_at_rest);
    g_test_add_func("/ub/lmsm/train/alone", test_alone);
    g_test_add_func("/ub/lmsm/train/time-scale", test_scale);
    g_test_add_func("/ub/lmsm/train/timeout-min", test_timeout_min);
    g_test_add_func("/ub/lmsm/train/stale-nulls", test_stale_nulls);
    g_test_add_func("/ub/lmsm/train/noise", test_noise);
    g_test_add_func("/ub/lmsm/train/config-check", test_config_check);
    g_test_add_func("/ub/lmsm/train/start-refused", test_start_refused);
    g_test_add_func("/ub/lmsm/role/negotiated", test_roles);
    g_test_add_func("/ub/lmsm/role/static", test_roles_static);
    g_test_add_func("/ub/lmsm/role/mixed", test_roles_mixed);
    g_test_add_func("/ub/lmsm/wires/reversal", test_reversal);
    g_test_add_func("/ub/lmsm/wires/disorder", test_disorder);
    g_test_add_func("/ub/lmsm/outage/peer-lost", test_peer_lost);
    g_test_add_func("/ub/lmsm/outage/reset-any-time", test_reset_any_time);
    g_test_add_func("/ub/lmsm/outage/disable", test_disable);
    g_test_add_func("/ub/lmsm/outage/garbage", test_garbage);
    return g_test_run();
}
