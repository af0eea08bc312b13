/*
 * Two link management state machines train, retrain, change rate and width
 * against each other in virtual time.  UB 2.0 §3.4.2, §3.4.3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm-sim.h"

#define MS(n) ((int64_t)(n) * 1000000)

static UbLmsmConfig mode1(void)
{
    UbLmsmConfig c;

    ub_lmsm_config_init(&c);
    c.phy_mode = UB_PHY_MODE_1;
    c.rates = 0xa9;
    c.target_rate = 7;
    return c;
}

static UbLmsmConfig mode2(unsigned eq_mode)
{
    UbLmsmConfig c;

    ub_lmsm_config_init(&c);
    c.eq_mode = (uint8_t)eq_mode;
    return c;
}

static Sim *trained(const UbLmsmConfig *c)
{
    Sim *s = sim_new(c);

    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    return s;
}

static SimPort *primary(Sim *s)
{
    return &s->port[s->port[1].l.primary];
}

static SimPort *secondary(Sim *s)
{
    return &s->port[!s->port[1].l.primary];
}

static void check_state(Sim *s, unsigned tx0, unsigned rx0, unsigned rate)
{
    g_assert_cmpuint(s->port[0].l.tx_m, ==, tx0);
    g_assert_cmpuint(s->port[0].l.rx_n, ==, rx0);
    g_assert_cmpuint(s->port[1].l.tx_m, ==, rx0);
    g_assert_cmpuint(s->port[1].l.rx_n, ==, tx0);
    for (unsigned i = 0; i < 2; i++) {
        UbLmsm *l = &s->port[i].l;

        g_assert_cmpuint(l->state, ==, UB_LMSM_LINK_ACTIVE);
        g_assert_true(l->link_up);
        g_assert_true(l->link_ready);
        g_assert_cmpuint(l->rate, ==, rate);
        g_assert_cmpint(l->symmetric_link, ==, tx0 == rx0);
    }
    g_assert_cmpint(s->port[0].l.primary, !=, s->port[1].l.primary);
}

/* --------------------------------------------------------- training ------ */

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

/* ------------------------------------------------------------ widths ----- */

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

/* ---------------------------------------------------------- port type ---- */

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

/* -------------------------------------------------------------- wires ---- */

static void check_eq(Sim *s, unsigned rejected);

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

/* -------------------------------------------------------------- rates ---- */

static void test_rate_common(void)
{
    UbLmsmConfig c = mode2(UB_EQ_FULL);
    Sim *s = sim_new(&c);

    s->port[0].l.cfg.rates = 0x011;
    s->port[1].l.cfg.rates = 0x015;
    s->port[0].l.cfg.target_rate = 4;
    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    check_state(s, 8, 8, 4);
    sim_free(s);
}

static bool at_rate4(Sim *s)
{
    return s->port[0].l.rate == 4 && s->port[1].l.rate == 4 &&
           s->port[0].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[1].l.state == UB_LMSM_LINK_ACTIVE;
}

/* Down and up again, asked for by either role. */
static void test_rate_down_up(gconstpointer data)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = trained(&c);
    SimPort *p = data ? primary(s) : secondary(s);

    p->l.cfg.target_rate = 4;
    primary(s)->l.cfg.auto_speed = false;
    ub_lmsm_request_speed(&p->l);
    g_assert_true(sim_until(s, at_rate4, MS(200)));
    p->l.cfg.target_rate = 8;
    ub_lmsm_request_speed(&p->l);
    g_assert_true(sim_ready(s, MS(200)));
    check_state(s, 8, 8, 8);
    sim_free(s);
}

/* A rate at which the receiver never adapts: back to the old one, once. */
static void test_rate_fails(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = sim_new(&c);

    s->port[0].l.eq.dead = true;
    sim_start(s);
    g_assert_false(sim_ready(s, MS(400)));
    g_assert_cmpuint(s->port[0].l.state, ==, UB_LMSM_LINK_ACTIVE);
    g_assert_cmpuint(s->port[1].l.state, ==, UB_LMSM_LINK_ACTIVE);
    g_assert_cmpuint(s->port[0].l.rate, ==, 0);
    g_assert_cmpuint(s->port[1].l.rate, ==, 0);
    g_assert_true(s->port[0].l.errors & UB_PHY_ERR_EQ_COARSE);
    g_assert_cmphex(s->port[0].l.eq_state[8], ==,
                    UB_EQS_COMPLETE | UB_EQS_COARSE_COMPLETE);
    sim_free(s);
}

/* Fixed rate: RXEQ_Optimize, no Change_Speed, ready at once. */
static void test_rate_fixed(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s;

    c.optical = true;
    c.target_rate = 4;
    s = sim_new(&c);
    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    check_state(s, 8, 8, 4);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(sim_count(&s->port[i], UB_T_CS_DONE), ==, 0);
        g_assert_cmpuint(sim_count(&s->port[i], UB_T_IDLE_RXEQ), ==, 1);
        g_assert_true(s->port[i].l.over_fibre_optical_enable);
        g_assert_true(s->port[i].l.bypass_equalization);
    }
    sim_free(s);
}

/* ------------------------------------------------------- equalisation ---- */

static void check_eq(Sim *s, unsigned rejected)
{
    for (unsigned p = 0; p < 2; p++) {
        UbLmsm *l = &s->port[p].l;

        g_assert_cmphex(l->eq_state[8], ==,
                        UB_EQS_COMPLETE | UB_EQS_COARSE_COMPLETE |
                        UB_EQS_COARSE_OK | UB_EQS_PASSIVE_OK |
                        UB_EQS_ACTIVE_OK);
        g_assert_cmphex(l->eq_complete, ==, 0x100);
        g_assert_false(l->request_eq);
        for (unsigned i = 0; i < 8; i++) {
            unsigned best = s->port[!p].l.eq.best[i];

            /* TX lane i ends at what the far RX lane likes most. */
            if (best != rejected) {
                g_assert_cmpuint(l->tx_eq[8][i].preset, ==, best);
            } else {
                g_assert_cmpuint(l->tx_eq[8][i].preset, !=, best);
            }
        }
    }
}

static void test_eq_presets(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = trained(&c);

    check_eq(s, 0xff);
    sim_free(s);
}

static void test_eq_reject(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = sim_new(&c);

    s->port[0].l.eq.reject = s->port[1].l.eq.reject = 1u << 5;
    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    check_eq(s, 5);
    sim_free(s);
}

static void test_eq_cursors(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = sim_new(&c);
    UbEqSetting want;

    s->port[0].l.eq.by_cursors = s->port[1].l.eq.by_cursors = true;
    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    for (unsigned i = 0; i < 8; i++) {
        const UbEqSetting *got = &s->port[0].l.tx_eq[8][i];

        g_assert_true(ub_eq_preset(&want, s->port[1].l.eq.best[i], true));
        g_assert_cmpuint(got->cursor, ==, want.cursor);
        g_assert_cmpuint(got->post, ==, want.post);
        g_assert_cmpmem(got->pre, 3, want.pre, 3);
    }
    sim_free(s);
}

static void test_eq_coarse_only(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = sim_new(&c);

    s->port[0].l.eq.fine_tune = s->port[1].l.eq.fine_tune = false;
    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    g_assert_cmpuint(sim_count(primary(s), UB_T_ECC_PRI_DONE), ==, 1);
    g_assert_cmpuint(sim_count(secondary(s), UB_T_ECC_SEC_RLTB), ==, 1);
    g_assert_cmphex(primary(s)->l.eq_state[8], ==, 0x1f);
    g_assert_cmphex(secondary(s)->l.eq_state[8], ==,
                    UB_EQS_COMPLETE | UB_EQS_COARSE_COMPLETE |
                    UB_EQS_COARSE_OK);
    sim_free(s);
}

/* The settings of an equalisation are kept for the next visit. */
static void test_eq_kept(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = trained(&c);
    SimPort *p = primary(s);

    p->l.cfg.target_rate = 4;
    p->l.cfg.auto_speed = false;
    s->port[0].l.eq_complete |= 1u << 4;
    s->port[1].l.eq_complete |= 1u << 4;
    ub_lmsm_request_speed(&p->l);
    g_assert_true(sim_until(s, at_rate4, MS(200)));
    p->l.cfg.target_rate = 8;
    ub_lmsm_request_speed(&p->l);
    g_assert_true(sim_ready(s, MS(200)));
    g_assert_cmpuint(sim_count(p, UB_T_RA_EQ_PRIMARY), ==, 1);
    for (unsigned i = 0; i < 8; i++) {
        g_assert_cmpuint(s->port[0].l.eql[i].tx.preset, ==,
                         s->port[1].l.eq.best[i]);
    }
    sim_free(s);
}

/* --------------------------------------------------------- FEC and CRC --- */

static void test_fec_config(void)
{
    static const struct {
        uint8_t pri, sec, pri_has, sec_has, want;
    } t[] = {
        { 2, 2, 3, 3, 2 }, { 1, 2, 3, 3, 1 }, { 2, 1, 3, 3, 2 },
        { 0, 2, 3, 3, 0 }, { 2, 0, 3, 1, 1 }, { 1, 1, 2, 3, 2 },
        { 2, 2, 3, 0, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        Sim *s;

        c.rates = 1;
        c.target_rate = 0;
        c.port_nego = false;
        s = sim_new(&c);
        s->port[0].l.cfg.port_type = 1;
        s->port[0].l.cfg.fec_mode[0] = t[i].pri;
        s->port[1].l.cfg.fec_mode[0] = t[i].sec;
        s->port[0].l.cfg.fec_support = t[i].pri_has;
        s->port[1].l.cfg.fec_support = t[i].sec_has;
        sim_start(s);
        g_assert_true(sim_ready(s, MS(200)));
        g_assert_cmpuint(s->port[0].l.fec, ==, t[i].want);
        g_assert_cmpuint(s->port[1].l.fec, ==, t[i].want);
        g_assert_cmpuint(s->port[0].last_fec, ==, t[i].want);
        g_assert_cmpuint(s->port[1].last_fec, ==, t[i].want);
        sim_free(s);
    }
}

static void test_interleave(void)
{
    for (unsigned i = 0; i < 4; i++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        Sim *s;

        c.rates = 1;
        c.target_rate = 0;
        c.interleave = 1;
        s = sim_new(&c);
        s->port[0].l.cfg.interleave_support = i & 1 ? 15 : 7;
        s->port[1].l.cfg.interleave_support = i & 2 ? 15 : 7;
        sim_start(s);
        g_assert_true(sim_ready(s, MS(200)));
        g_assert_cmpint(s->port[0].last_interleave, ==, i == 3);
        g_assert_cmpint(s->port[1].last_interleave, ==, i == 3);
        sim_free(s);
    }
}

static bool sdf_again(Sim *s)
{
    return s->port[0].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[1].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[0].l.rate == 8 && s->port[0].l.link_ready &&
           s->port[1].l.link_ready && s->port[0].l.stats.retrains >= 2;
}

static bool active_again(Sim *s)
{
    return s->port[0].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[1].l.state == UB_LMSM_LINK_ACTIVE &&
           s->port[0].l.stats.retrains == 1;
}

/*
 * BCRC registers of Data Rate 0, equal or not: the link begins with CRC30 at
 * both ends, for nothing in Config could tell them; Retrain then changes it.
 */
static void test_crc_start(void)
{
    for (unsigned i = 0; i < 4; i++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        Sim *s;

        c.rates = 1;
        c.target_rate = 0;
        s = sim_new(&c);
        s->port[0].l.cfg.crc_mode[0] = i & 1;
        s->port[1].l.cfg.crc_mode[0] = (uint8_t)(i >> 1);
        sim_start(s);
        g_assert_true(sim_ready(s, MS(200)));
        g_assert_cmpuint(s->port[0].l.crc, ==, UB_LTB_CRC30);
        g_assert_cmpuint(s->port[1].l.crc, ==, UB_LTB_CRC30);
        ub_lmsm_request_retrain(&s->port[0].l);
        g_assert_true(sim_until(s, active_again, MS(100)));
        for (unsigned p = 0; p < 2; p++) {
            g_assert_cmpuint(s->port[p].l.crc, ==,
                             i ? UB_LTB_CRC30 : UB_LTB_CRC_NONE);
            /* Where they differ one end has to ask the other's data link
             * layer first. */
            g_assert_cmpint(ub_lmsm_wants_mode(&s->port[p].l), ==,
                            i && !s->port[p].l.cfg.crc_mode[0]);
        }
        sim_free(s);
    }
}

/* Run-time switch of FEC and CRC mode, wanted by either role. */
static void test_mode_switch(gconstpointer data)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s = trained(&c);
    SimPort *p = data ? primary(s) : secondary(s);

    p->l.cfg.fec_mode[8] = UB_LTB_FEC_T2;
    p->l.cfg.crc_mode[8] = UB_LTB_CRC_NONE;
    p->l.cfg.interleave = 1u << 8;
    p->peer->l.cfg.interleave = 1u << 8;
    g_assert_true(ub_lmsm_wants_mode(&p->l));
    g_assert_false(ub_lmsm_wants_mode(&p->peer->l));
    p->peer->gate = UB_PHY_MODE_FOLLOW;
    ub_lmsm_request_retrain(&p->l);
    g_assert_true(sim_until(s, sdf_again, MS(100)));
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(s->port[i].l.fec, ==, UB_LTB_FEC_T2);
        g_assert_cmpuint(s->port[i].last_fec, ==, UB_LTB_FEC_T2);
        g_assert_cmpuint(s->port[i].l.crc, ==, UB_LTB_CRC_NONE);
        g_assert_true(s->port[i].last_interleave);
    }
    /* A Retrain for another reason leaves the modes alone. */
    g_assert_false(ub_lmsm_wants_mode(&p->l));
    g_assert_false(ub_lmsm_wants_mode(&p->peer->l));
    p->peer->gate = UB_PHY_MODE_OWN;
    ub_lmsm_request_retrain(&p->peer->l);
    s->port[0].l.stats.retrains = 1;
    g_assert_true(sim_until(s, sdf_again, MS(100)));
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(s->port[i].last_fec, ==, UB_LTB_FEC_T2);
        g_assert_cmpuint(s->port[i].l.crc, ==, UB_LTB_CRC_NONE);
    }
    sim_free(s);
}

/* The encapsulation mode changes only if both data link layers are ready for
 * it, and one of them wants it; the wish is kept until then. */
static void test_mode_gates(void)
{
    for (unsigned n = 0; n < 18; n++) {
        const UbPhyModeGate mine = n % 3, theirs = n / 3 % 3;
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        Sim *s = trained(&c);
        SimPort *p = n < 9 ? primary(s) : secondary(s);
        bool change = mine == UB_PHY_MODE_OWN && theirs == UB_PHY_MODE_FOLLOW;

        if (mine == UB_PHY_MODE_FOLLOW && theirs == UB_PHY_MODE_FOLLOW) {
            sim_free(s);
            continue; /* no data link layer does that: nobody asked */
        }
        p->gate = mine;
        p->peer->gate = theirs;
        p->l.cfg.crc_mode[8] = UB_LTB_CRC_NONE;
        ub_lmsm_request_retrain(&p->l);
        s->port[0].l.stats.retrains = 1;
        g_assert_true(sim_until(s, sdf_again, MS(100)));
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpuint(s->port[i].l.crc, ==, change ? UB_LTB_CRC_NONE
                                                          : UB_LTB_CRC30);
        }
        g_assert_cmpint(ub_lmsm_wants_mode(&p->l), ==, !change);
        sim_free(s);
    }
}

/* No CRC without FEC (§4.3.2.3): not asked for, and FEC stays on while there is
 * none, whichever end wants it off. */
static void test_mode_fec(void)
{
    for (unsigned n = 0; n < 2; n++) {
        UbLmsmConfig c = mode2(UB_EQ_SKIP);
        Sim *s = trained(&c);
        SimPort *p = n ? primary(s) : secondary(s);

        p->l.cfg.crc_mode[8] = UB_LTB_CRC_NONE;
        p->l.cfg.fec_mode[8] = UB_LTB_FEC_BYPASS;
        g_assert_false(ub_lmsm_wants_mode(&p->l));
        p->l.cfg.fec_mode[8] = UB_LTB_FEC_T2;
        g_assert_true(ub_lmsm_wants_mode(&p->l));
        p->peer->gate = UB_PHY_MODE_FOLLOW;
        ub_lmsm_request_retrain(&p->l);
        s->port[0].l.stats.retrains = 1;
        g_assert_true(sim_until(s, sdf_again, MS(100)));
        p->peer->gate = UB_PHY_MODE_KEEP;
        p->peer->l.cfg.fec_mode[8] = UB_LTB_FEC_BYPASS;
        ub_lmsm_request_retrain(&p->peer->l);
        s->port[0].l.stats.retrains = 1;
        g_assert_true(sim_until(s, sdf_again, MS(100)));
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpuint(s->port[i].l.crc, ==, UB_LTB_CRC_NONE);
            g_assert_cmpuint(s->port[i].l.fec, ==, UB_LTB_FEC_T4);
        }
        sim_free(s);
    }
}

/*
 * A choice that the peer finds too weak: if it was made by measuring, which is
 * the primary's right, Reject, and both take T=4; else it is software's.
 */
static void test_mode_reject(gconstpointer data)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s;
    SimPort *p;

    c.fec_mode[8] = UB_LTB_FEC_T2;
    s = trained(&c);
    p = data ? primary(s) : secondary(s);
    g_assert_cmpuint(p->l.fec, ==, UB_LTB_FEC_T2);
    p->l.cfg.fec_mode[8] = UB_LTB_FEC_BYPASS;
    p->peer->l.cfg.fec_min = UB_LTB_FEC_T2;
    p->l.cfg.measure_ber = true;
    ub_lmsm_request_retrain(&p->l);
    g_assert_true(sim_until(s, sdf_again, MS(100)));
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(s->port[i].last_fec, ==,
                         data ? UB_LTB_FEC_T4 : UB_LTB_FEC_BYPASS);
    }
    sim_free(s);
}

/* The primary measures and finds broken blocks: strong FEC within 22 ms. */
static void test_measure(void)
{
    UbLmsmConfig c = mode2(UB_EQ_SKIP);
    Sim *s;
    SimPort *p;

    c.fec_mode[8] = UB_LTB_FEC_BYPASS;
    s = trained(&c);
    p = primary(s);
    g_assert_cmpuint(p->l.fec, ==, UB_LTB_FEC_BYPASS);
    p->l.cfg.measure_ber = true;
    p->peer->spoil = 0xff;
    p->peer->spoil_nth = 211;
    ub_lmsm_request_retrain(&p->l);
    g_assert_true(sim_until(s, sdf_again, MS(100)));
    g_assert_cmpuint(s->port[0].last_fec, ==, UB_LTB_FEC_T4);
    g_assert_cmpuint(s->port[1].last_fec, ==, UB_LTB_FEC_T4);
    sim_free(s);
}

/* ------------------------------------------------------------- widths ---- */

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

/* ------------------------------------------------------------- outages --- */

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
    g_test_add_func("/ub/lmsm/width/all", test_widths);
    g_test_add_func("/ub/lmsm/width/mode2-asymmetric", test_mode2_asymmetric);
    g_test_add_func("/ub/lmsm/width/symmetric-only", test_symmetric_only);
    g_test_add_func("/ub/lmsm/width/dead-lane", test_dead_lane);
    g_test_add_func("/ub/lmsm/width/dies-in-retrain",
                    test_lane_dies_in_retrain);
    g_test_add_func("/ub/lmsm/role/negotiated", test_roles);
    g_test_add_func("/ub/lmsm/role/static", test_roles_static);
    g_test_add_func("/ub/lmsm/role/mixed", test_roles_mixed);
    g_test_add_func("/ub/lmsm/wires/reversal", test_reversal);
    g_test_add_func("/ub/lmsm/wires/disorder", test_disorder);
    g_test_add_func("/ub/lmsm/rate/common", test_rate_common);
    g_test_add_data_func("/ub/lmsm/rate/down-up-primary", GUINT_TO_POINTER(1),
                         test_rate_down_up);
    g_test_add_data_func("/ub/lmsm/rate/down-up-secondary", NULL,
                         test_rate_down_up);
    g_test_add_func("/ub/lmsm/rate/fails", test_rate_fails);
    g_test_add_func("/ub/lmsm/rate/fixed", test_rate_fixed);
    g_test_add_func("/ub/lmsm/eq/presets", test_eq_presets);
    g_test_add_func("/ub/lmsm/eq/reject", test_eq_reject);
    g_test_add_func("/ub/lmsm/eq/cursors", test_eq_cursors);
    g_test_add_func("/ub/lmsm/eq/coarse-only", test_eq_coarse_only);
    g_test_add_func("/ub/lmsm/eq/kept", test_eq_kept);
    g_test_add_func("/ub/lmsm/mode/gates", test_mode_gates);
    g_test_add_func("/ub/lmsm/mode/no-crc-takes-fec", test_mode_fec);
    g_test_add_func("/ub/lmsm/mode/fec-config", test_fec_config);
    g_test_add_func("/ub/lmsm/mode/crc-start", test_crc_start);
    g_test_add_func("/ub/lmsm/mode/interleave", test_interleave);
    g_test_add_data_func("/ub/lmsm/mode/switch-primary", GUINT_TO_POINTER(1),
                         test_mode_switch);
    g_test_add_data_func("/ub/lmsm/mode/switch-secondary", NULL,
                         test_mode_switch);
    g_test_add_data_func("/ub/lmsm/mode/reject-by-secondary",
                         GUINT_TO_POINTER(1), test_mode_reject);
    g_test_add_data_func("/ub/lmsm/mode/reject-by-primary", NULL,
                         test_mode_reject);
    g_test_add_func("/ub/lmsm/mode/measure", test_measure);
    g_test_add_func("/ub/lmsm/qdlws/all", test_qdlws_all);
    g_test_add_func("/ub/lmsm/qdlws/nak", test_qdlws_nak);
    g_test_add_func("/ub/lmsm/qdlws/rules", test_qdlws_rules);
    g_test_add_func("/ub/lmsm/qdlws/timeout", test_qdlws_timeout);
    g_test_add_func("/ub/lmsm/qdlws/bytes", test_qdlws_bytes);
    g_test_add_func("/ub/lmsm/lane-down/fast", test_lane_down);
    g_test_add_func("/ub/lmsm/lane-down/retrain", test_lane_down_retrain);
    g_test_add_func("/ub/lmsm/outage/peer-lost", test_peer_lost);
    g_test_add_func("/ub/lmsm/outage/reset-any-time", test_reset_any_time);
    g_test_add_func("/ub/lmsm/outage/disable", test_disable);
    g_test_add_func("/ub/lmsm/outage/garbage", test_garbage);
    return g_test_run();
}
