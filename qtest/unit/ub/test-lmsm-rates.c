/*
 * Two link management state machines agree on Data Rates, equalization, FEC and
 * encapsulation.  UB 2.0 §3.4.2, §3.4.3.8-§3.4.3.10.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lmsm-pair.h"

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

/* A peer that aims lower refuses once; the link then rests, and a request asks
 * again. */
static void test_rate_refused(void)
{
    UbLmsmConfig c = mode2(UB_EQ_HIGHEST);
    Sim *s = sim_new(&c);
    SimPort *p;
    unsigned before;

    s->port[0].l.cfg.target_rate = 4;
    s->port[1].l.cfg.target_rate = 0;
    s->port[0].l.cfg.port_nego = s->port[1].l.cfg.port_nego = false;
    s->port[0].l.cfg.port_type = 1;
    s->port[1].l.cfg.port_type = 0;
    sim_start(s);
    g_assert_true(sim_run(s, UB_LMSM_LINK_ACTIVE, MS(200)));
    sim_until(s, NULL, MS(5));
    p = primary(s);
    g_assert_true(p == &s->port[0]);
    check_state(s, 8, 8, 0);
    g_assert_cmpuint(sim_count(p, UB_T_LA_SPEED), ==, 1);
    before = p->l.stats.retrains;
    sim_until(s, NULL, MS(50));
    g_assert_cmpuint(p->l.stats.retrains, ==, before);
    ub_lmsm_request_speed(&p->l);
    sim_until(s, NULL, MS(50));
    g_assert_cmpuint(p->l.stats.retrains, ==, before + 1);
    /* The peer aims higher now. */
    s->port[1].l.cfg.target_rate = 4;
    ub_lmsm_request_speed(&p->l);
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/lmsm/rate/common", test_rate_common);
    g_test_add_data_func("/ub/lmsm/rate/down-up-primary", GUINT_TO_POINTER(1),
                         test_rate_down_up);
    g_test_add_data_func("/ub/lmsm/rate/down-up-secondary", NULL,
                         test_rate_down_up);
    g_test_add_func("/ub/lmsm/rate/refused", test_rate_refused);
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
    return g_test_run();
}
