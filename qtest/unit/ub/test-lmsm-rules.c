/*
 * Rules of the link management state machine besides the ways on: what a
 * state leaves behind, what it waits for, what it must not take.
 * UB 2.0 §3.4.2, §3.4.3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm-puppet.h"

static uint64_t count(const Dut *d, UbLmsmTransitionId id)
{
    return d->l->stats.transitions[id];
}

#define IS(d, s) g_assert_cmpuint((d)->l->state, ==, UB_LMSM_##s)

/* ------------------------------------------------------------- defaults --- */

/* What docs/decisions/ub-lmsm.rst says of the times left to the maker. */
static void test_defaults(void)
{
    UbLmsmConfig c;

    memset(&c, 0xa5, sizeof(c));
    ub_lmsm_config_init(&c);
    g_assert_cmpuint(c.rates, ==, 0x115);
    g_assert_cmpuint(c.target_rate, ==, 8);
    g_assert_cmpuint(c.target_tx + c.target_rx + c.max_width, ==, 24);
    g_assert_cmpuint(c.eq_mode, ==, UB_EQ_HIGHEST);
    g_assert_cmpuint(c.fec_support, ==, 3);
    g_assert_cmpuint(c.interleave_support, ==, 15);
    for (unsigned i = 0; i < UB_DATA_RATES; i++) {
        g_assert_cmpuint(c.fec_mode[i], ==, UB_LTB_FEC_T4);
        g_assert_cmpuint(c.crc_mode[i], ==, UB_LTB_CRC30);
        for (unsigned k = 0; k < UB_LANES; k++) {
            g_assert_cmpuint(c.local_preset[i][k], ==, 5);
            g_assert_cmpuint(c.remote_preset[i][k], ==, 5);
        }
    }
    g_assert_true(c.port_nego && c.auto_speed && c.auto_fec && c.asymmetric &&
                  c.fast_lane_down);
    g_assert_false(c.optical || c.fixed_rate || c.bypass_probe ||
                   c.measure_ber || c.qdlws || c.qdlws_tx || c.qdlws_rx);
    g_assert_cmpuint(c.lane_down_n, ==, 3);
    g_assert_cmphex(c.precode, ==, 0xfff0);
    g_assert_cmphex(c.timeout_enable, ==, 0xffffffff);
    g_assert_cmpuint(c.time_scale, ==, 1);
    g_assert_cmpint(c.probe_wait, ==, MS(1));
    g_assert_cmpint(c.probe_gap, ==, US(100));
    g_assert_cmpint(c.speed_hold, ==, US(10));
    g_assert_cmpint(c.speed_hold_fail, ==, US(100));
    g_assert_cmpint(c.restart_delay, ==, MS(10));
    g_assert_cmpint(c.ber_window, ==, MS(1));
    g_assert_null(ub_lmsm_config_check(&c));
    c.time_scale = 0;
    g_assert_nonnull(ub_lmsm_config_check(&c));
}

static void test_check(void)
{
    static const struct {
        size_t at;
        unsigned value;
        bool good;
    } t[] = {
        { offsetof(UbLmsmConfig, target_tx), 0, false },
        { offsetof(UbLmsmConfig, target_tx), 1, true },
        { offsetof(UbLmsmConfig, target_rx), 3, false },
        { offsetof(UbLmsmConfig, target_rx), 2, true },
        { offsetof(UbLmsmConfig, max_width), 6, false },
        { offsetof(UbLmsmConfig, max_width), 4, false },
        { offsetof(UbLmsmConfig, target_rate), 9, false },
        { offsetof(UbLmsmConfig, target_rate), 7, true },
        { offsetof(UbLmsmConfig, lane_down_n), 0, false },
        { offsetof(UbLmsmConfig, lane_down_n), 1, true },
        { offsetof(UbLmsmConfig, lane_down_n), 254, true },
        { offsetof(UbLmsmConfig, lane_down_n), 255, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        UbLmsmConfig c;

        ub_lmsm_config_init(&c);
        ((uint8_t *)&c)[t[i].at] = (uint8_t)t[i].value;
        g_assert_cmpint(!ub_lmsm_config_check(&c), ==, t[i].good);
    }
}

/* ------------------------------------------------- Probe and Discovery --- */

/* A time that has passed without effect asks for no call. */
static void test_no_spin(void)
{
    Dut *d = dut_new();

    d->cfg.timeout_enable = ~(1u << UB_LMSM_PROBE_WAIT);
    probe_wait(d);
    IS(d, PROBE_WAIT);
    d->now = d->l->settle_at;
    g_assert_cmpint(ub_lmsm_poll(d->l, d->now), ==, INT64_MAX);
    IS(d, PROBE_WAIT);
    dut_free(d);
}

/* Without a wish for Probe the wait for a far end has no say, nor idle. */
static void test_probe_needs_peer(void)
{
    Dut *d = dut_new();

    idle_probe(d);
    start(d);
    ub_lmsm_rx_idle(d->l, d->now, 0);       /* noise without a far end */
    poll(d);
    IS(d, PROBE_WAIT);
    ub_lmsm_presence(d->l, d->now, ALL);
    poll(d);
    IS(d, DISC_ACTIVE);
    dut_free(d);
}

static void test_rxeq_block(void)
{
    Dut *d = dut_new();

    rxeq(d);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmphex(d->l->ltb[i][0], ==, UB_LTB_RXEQ_OPTIMIZE);
        g_assert_cmpuint(ub_ltb_rx_lane0_id(d->l->ltb[i]), ==, 0);
        g_assert_cmpuint(ub_ltb_tlw(d->l->ltb[i]), ==, 4);
    }
    g_assert_cmpuint(d->p.tx_rate, ==, 4);
    /* Three lanes of four that are locked are not all. */
    dltb(d, UB_LTB_RXEQ_OPTIMIZE, 0x7, 1);
    later(d, d->eq.adapt_ns);
    IS(d, RXEQ_OPTIMIZE);
    dltb(d, UB_LTB_RXEQ_OPTIMIZE, 0x8, 1);
    IS(d, DISC_ACTIVE);
    dut_free(d);
}

/* The timeout's way on needs 1024 blocks sent, also from Retrain. */
static void test_timeout_any_sent(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];

    retr_active(d);
    dltb(d, UB_LTB_DISC_ACTIVE, 0x1, 2);
    IS(d, DISC_ACTIVE);
    make_dltb(d, UB_LTB_DISC_ACTIVE, b);
    feed(d, b, 0x1, 8);
    g_assert_cmpuint(d->l->sent, <, 1024);
    later(d, MS(24));
    g_assert_cmpuint(count(d, UB_T_DA_TIMEOUT_ANY), ==, 0);
    g_assert_cmpuint(count(d, UB_T_DA_TIMEOUT_NEGO), ==, 1);
    dut_free(d);
}

/* What the timeout accepts must be standard and of the other role. */
static void test_timeout_any_valid(void)
{
    static const struct {
        uint8_t sym, mask, value;
        unsigned n;
        bool good;
    } t[] = {
        { 3, 0x3f, 8, 8, true }, { 3, 0x3f, 8, 7, false },
        { 3, 0x3f, 5, 8, false }, { 4, 0x3f, 5, 8, false },
        { 0, 0xff, 0xe0, 8, false }, { 0, 0xff, 0xa1, 8, true },
        { 8, 0x01, 0, 8, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Dut *d = dut_new();
        uint8_t b[UB_LMB_SYMBOLS];

        disc_active(d);
        make_dltb(d, UB_LTB_DISC_ACTIVE, b);
        ub_ltb_set_tlw(b, 8);
        b[t[i].sym] = (uint8_t)((b[t[i].sym] & ~t[i].mask) | t[i].value);
        feed(d, b, 0x1, t[i].n);
        later(d, MS(24));
        g_assert_cmpuint(count(d, UB_T_DA_TIMEOUT_ANY), ==, t[i].good);
        dut_free(d);
    }
}

/* The newest block of a lane may tell a width that is none (§3.4.3.4). */
static void test_adopt_width(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];

    disc_active(d);
    for (unsigned i = 0; i < 4; i++) {
        make_dltb(d, UB_LTB_DISC_ACTIVE, b);
        ub_ltb_set_lane_id(b, i);
        feed_lane(d, b, i, 8);
        ub_ltb_set_tlw(b, 3);
        feed_lane(d, b, i, 1);
    }
    poll(d);
    g_assert_cmpuint(d->l->rx_n, ==, 4);
    dut_free(d);
}

/* Two ends that drew the same number draw again, and what was sent before that is
 * not judged (§3.4.2.1). */
static void test_equal_numbers(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];
    unsigned first;

    d->cfg.port_nego = true;
    disc_active(d);
    make_dltb(d, UB_LTB_DISC_ACTIVE, b);
    ub_ltb_set_port_type(b, d->l->port_type);
    feed(d, b, ALL, 1);
    first = d->l->random;
    g_assert_cmpuint(first, >, 0);
    ub_ltb_set_random(b, first);
    feed(d, b, ALL, 3);
    g_assert_cmpuint(d->l->random, !=, first);
    g_assert_cmpuint(d->l->random, >, 0);
    g_assert_cmpuint(d->l->peer_random, ==, 0);
    for (unsigned more = 0; more < 2; more++) {
        unsigned theirs = d->l->random + (more ? 1 : -1);

        ub_ltb_set_random(b, theirs);
        feed(d, b, ALL, 1);
        g_assert_cmpuint(d->l->peer_random, ==, theirs);
        g_assert_cmpuint(d->l->port_type, ==, !more);
    }
    dut_free(d);
}

/* The peer's lane 0 is another one of ours: believed after eight equal blocks. */
static void test_reversed_after_eight(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];

    disc_active(d);
    make_dltb(d, UB_LTB_DISC_ACTIVE, b);
    ub_ltb_set_rx_lane0_id(b, ub_lane0_code(3));
    ub_ltb_set_lane_id(b, 0);
    feed_lane(d, b, 0, 7);
    g_assert_false(d->l->reversed);
    feed_lane(d, b, 0, 1);
    g_assert_true(d->l->reversed);
    dut_free(d);
}

/* Port_Type that was negotiated is compared in Confirm. */
static void test_confirm_role(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];

    disc_confirm(d);
    d->l->nego = true;
    make_dltb(d, UB_LTB_DISC_CONFIRM, b);
    ub_ltb_set_port_type(b, 0);
    feed(d, b, ALL, 32);
    IS(d, DISC_CONFIRM);
    ub_ltb_set_port_type(b, 1);
    feed(d, b, ALL, 8);
    IS(d, CONF_ACTIVE);
    dut_free(d);
}

/* --------------------------------------------------------------- Config --- */

/* Two equal CLTBs that can never match end the attempt; one does not. */
static void test_no_link(void)
{
    static const struct {
        uint8_t sym, mask, value, lanes;
        bool ends;
    } t[] = {
        { 3, 0x3f, 3, ALL, true }, { 4, 0x3f, 5, ALL, true },
        { 3, 0x3f, 2, ALL, false }, { 1, 0xff, 0xff, ALL, false },
        { 1, 0xff, LINK_ID + 1, ALL, true },
        { 1, 0xff, LINK_ID + 1, 0x7, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Dut *d = dut_new();

        conf_active(d);
        for (unsigned k = 0; k < 4; k++) {
            uint8_t b[UB_LMB_SYMBOLS];

            make_cltb(d, UB_LTB_CONF_CONFIRM, b);
            ub_ltb_set_lane_id(b, k);
            if (t[i].lanes >> k & 1) {
                b[t[i].sym] = (uint8_t)((b[t[i].sym] & ~t[i].mask) |
                                        t[i].value);
            }
            feed_lane(d, b, k, 2);
        }
        poll(d);
        g_assert_cmpuint(count(d, UB_T_CA_NO_LINK), ==, t[i].ends);
        dut_free(d);
    }
}

/* Lanes counted from the other end: in Active only. */
static void test_reversed_ids(void)
{
    for (unsigned i = 0; i < 2; i++) {
        Dut *d = dut_new();

        if (i) {
            conf_check(d);
        } else {
            conf_active(d);
        }
        for (unsigned k = 0; k < 4; k++) {
            uint8_t b[UB_LMB_SYMBOLS];

            make_cltb(d, i ? UB_LTB_CONF_CHECK : UB_LTB_CONF_ACTIVE, b);
            ub_ltb_set_lane_id(b, 3 - k);
            feed_lane(d, b, k, 8);
        }
        poll(d);
        IS(d, CONF_CHECK);          /* Active let them pass, Check does not */
        g_assert_cmpuint(count(d, UB_T_CC_MATCH), ==, 0);
        dut_free(d);
    }
}

/* The secondary echoes the primary's FEC after two blocks, the primary keeps
 * its own; the interleave register is of the rate. */
static void test_config_fec(void)
{
    for (unsigned primary = 0; primary < 2; primary++) {
        for (unsigned il = 0; il < 2; il++) {
            Dut *d = dut_new();
            uint8_t b[UB_LMB_SYMBOLS];

            d->cfg.port_type = primary;
            d->cfg.interleave = il ? 0x1 : 0x1fe;
            disc_active(d);
            for (unsigned type = UB_LTB_DISC_ACTIVE;
                 type <= UB_LTB_DISC_CONFIRM; type++) {
                make_dltb(d, type, b);
                ub_ltb_set_interleave_support(b, 15);
                feed(d, b, ALL, 8);
            }
            IS(d, CONF_ACTIVE);
            g_assert_cmpint(d->l->interleave, ==, il);
            make_cltb(d, UB_LTB_CONF_ACTIVE, b);
            ub_ltb_set_conf_fec(b, UB_LTB_FEC_T2);
            ub_ltb_set_conf_interleave(b, !il);
            feed(d, b, ALL, 1);
            g_assert_cmpuint(d->l->fec, ==, UB_LTB_FEC_T4);
            feed(d, b, 0x1, 1);
            g_assert_cmpuint(d->l->fec, ==, primary ? UB_LTB_FEC_T4
                                                    : UB_LTB_FEC_T2);
            g_assert_cmpint(d->l->interleave, ==, primary ? il : !il);
            ub_ltb_set_conf_fec(b, 3);              /* reserved */
            feed(d, b, ALL, 2);
            g_assert_cmpuint(d->l->fec, ==, primary ? UB_LTB_FEC_T4
                                                    : UB_LTB_FEC_T2);
            dut_free(d);
        }
    }
}

/* ------------------------------------------------------- Send_NullBlock --- */

/* The first Null Block heard is answered by the sixteen. */
static void test_nulls_heard(void)
{
    Dut *d = dut_new();

    send_null(d);
    g_assert_cmpuint(d->l->nulls_sent, ==, 0);
    ub_lmsm_rx_blocks(d->l, d->now, 1, true);       /* before the SDF */
    poll(d);
    g_assert_cmpuint(d->l->nulls_sent, ==, 0);
    ub_lmsm_rx_sdf(d->l, d->now, 4);
    ub_lmsm_rx_blocks(d->l, d->now, 1, true);
    poll(d);
    g_assert_cmpuint(d->l->nulls_sent, ==, 16);
    IS(d, SEND_NULLBLOCK);
    ub_lmsm_rx_blocks(d->l, d->now, 6, true);
    ub_lmsm_rx_blocks(d->l, d->now, 1, false);      /* the run is broken */
    ub_lmsm_rx_blocks(d->l, d->now, 7, true);
    poll(d);
    IS(d, SEND_NULLBLOCK);
    ub_lmsm_rx_blocks(d->l, d->now, 1, true);
    ub_lmsm_rx_sdf(d->l, d->now, 4);                /* another stream */
    poll(d);
    IS(d, SEND_NULLBLOCK);
    ub_lmsm_rx_blocks(d->l, d->now, 8, true);
    poll(d);
    IS(d, LINK_ACTIVE);
    dut_free(d);
}

/* Lost lanes, lost framing, an SDF of another width: Retrain, and counted. */
static void test_null_lost(void)
{
    for (unsigned i = 0; i < 4; i++) {
        Dut *d = dut_new();

        send_null(d);
        if (i == 0) {
            ub_lmsm_rx_unlock(d->l, d->now, 3);
        } else if (i == 1) {
            ub_lmsm_rx_framing(d->l, d->now);
        } else {
            ub_lmsm_rx_sdf(d->l, d->now, i == 2 ? 1 : 8);
            ub_lmsm_rx_blocks(d->l, d->now, 9, true);
        }
        poll(d);
        IS(d, RETR_ACTIVE);
        g_assert_cmpuint(count(d, UB_T_SN_LOST), ==, 1);
        g_assert_cmpuint(d->l->retrain_num, ==, 1);
        dut_free(d);
    }
    for (unsigned lane = 4; lane < 9; lane++) {
        Dut *d = dut_new();

        send_null(d);
        ub_lmsm_rx_unlock(d->l, d->now, lane);      /* not of the link */
        poll(d);
        IS(d, SEND_NULLBLOCK);
        dut_free(d);
    }
}

/* Each timeout counts, Link_Active begins anew, 255 is the end. */
static void test_retrain_num(void)
{
    Dut *d = dut_new();

    send_null(d);
    for (unsigned i = 1; i < 4; i++) {
        ub_lmsm_rx_sdf(d->l, d->now, 4);
        later(d, MS(2));
        IS(d, RETR_ACTIVE);
        g_assert_cmpuint(d->l->retrain_num, ==, i);
        rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 8);
        rltb(d, UB_LTB_RETR_CONFIRM, false, ALL, 8);
        IS(d, SEND_NULLBLOCK);
    }
    data(d);
    IS(d, LINK_ACTIVE);
    g_assert_cmpuint(d->l->retrain_num, ==, 0);
    dut_free(d);

    for (unsigned i = 0; i < 2; i++) {
        d = dut_new();
        fast_confirm(d);
        d->l->retrain_num = i ? 0xff : 0xfe;
        later(d, MS(48));
        g_assert_cmpuint(count(d, UB_T_RC_TIMEOUT_DATA), ==, !i);
        g_assert_cmpuint(count(d, UB_T_RC_TIMEOUT_IDLE), ==, i);
        dut_free(d);
    }
}

/* -------------------------------------------------------------- Retrain --- */

/* A lane that lost its lock counts its blocks anew. */
static void test_unlock_run(void)
{
    Dut *d = dut_new();

    retr_active(d);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 7);
    ub_lmsm_rx_unlock(d->l, d->now, 2);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 7);
    IS(d, RETR_ACTIVE);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 1);
    IS(d, RETR_CONFIRM);
    dut_free(d);
}

/* "At least two consecutive blocks" on a lane of the link (timeouts). */
static void test_seen_blocks(void)
{
    for (unsigned i = 0; i < 6; i++) {
        static void (*const setup[])(Dut *d) = {
            fixed_link, fixed_confirm, retr_active,
        };
        UbLmsmTransitionId end = i % 3 == 1 ? UB_T_RC_TIMEOUT_DATA
                                            : UB_T_RA_TIMEOUT_IDLE;
        Dut *d = dut_new();
        uint8_t b[UB_LMB_SYMBOLS];

        setup[i % 3](d);
        make_rltb(d, UB_LTB_RETR_ACTIVE, false, b);
        b[11] = 9;                          /* not the run of before */
        if (i < 3) {
            feed(d, b, 0x2, 1);             /* one only */
        } else {
            feed(d, b, 0x20, 5);            /* many, not of the link */
        }
        later(d, MS(48));
        g_assert_cmpuint(count(d, end), ==, 1);
        dut_free(d);
    }
}

/* To Data Rate 0 by agreement: the Discovery of a timeout is shut. */
static void test_changed_speed_retrain(void)
{
    Dut *d = dut_new();

    fast_link(d);
    d->cfg.target_rate = d->l->cfg.target_rate = 0;
    want_speed(d);
    rltb(d, UB_LTB_RETR_ACTIVE, true, ALL, 8);
    rltb(d, UB_LTB_RETR_CONFIRM, true, ALL, 8);
    hush(d);
    IS(d, RETR_ACTIVE);
    g_assert_cmpuint(d->l->rate, ==, 0);
    g_assert_true(d->l->changed_speed_retrain);
    rltb(d, UB_LTB_RETR_ACTIVE, false, 0x2, 4);
    later(d, MS(24));
    g_assert_cmpuint(count(d, UB_T_RA_TIMEOUT_DISC), ==, 0);
    g_assert_cmpuint(count(d, UB_T_RA_TIMEOUT_IDLE), ==, 1);
    dut_free(d);
}

/* The rate that failed goes back to that at Retrain entry, not to 0. */
static void test_entry_rate(void)
{
    Dut *d = dut_new();

    d->cfg.target_rate = 4;
    new_rate_confirm(d);
    rltb(d, UB_LTB_RETR_CONFIRM, false, ALL, 8);
    data(d);
    IS(d, LINK_ACTIVE);
    g_assert_cmpuint(d->l->rate, ==, 4);
    d->l->cfg.target_rate = 8;
    want_speed(d);
    rltb(d, UB_LTB_RETR_ACTIVE, true, ALL, 8);
    rltb(d, UB_LTB_RETR_CONFIRM, true, ALL, 8);
    d->p.statuses = 0;
    hush(d);
    g_assert_cmphex(d->p.statuses & UB_PHY_ST_RATE, !=, 0);
    g_assert_cmpuint(d->l->rate, ==, 8);
    later(d, MS(24));
    IS(d, CHANGE_SPEED);
    ub_lmsm_rx_idle(d->l, d->now, 0xff);
    /* The longer of the two times in idle. */
    later(d, d->cfg.speed_hold_fail - 1);
    IS(d, CHANGE_SPEED);
    later(d, 1);
    IS(d, RETR_ACTIVE);
    g_assert_cmpuint(d->l->rate, ==, 4);
    g_assert_cmphex(d->l->errors & UB_PHY_ERR_SPEED_REDUCED, !=, 0);
    dut_free(d);
}

static void test_speed_hold(void)
{
    Dut *d = dut_new();

    change_speed(d);
    ub_lmsm_rx_idle(d->l, d->now, 0xff);
    later(d, d->cfg.speed_hold - 1);
    IS(d, CHANGE_SPEED);
    g_assert_cmpint(ub_lmsm_poll(d->l, d->now), ==, d->now + 1);
    later(d, 1);
    IS(d, RETR_ACTIVE);
    dut_free(d);
}

/* At Data Rate 0, a peer that has no other: no change, and no waiting. */
static void test_only_rate0(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];

    speed_confirm(d);
    make_rltb(d, UB_LTB_RETR_CONFIRM, true, b);
    ub_ltb_set_rates(b, 1);
    feed(d, b, ALL, 8);
    g_assert_cmpuint(count(d, UB_T_RC_SPEED), ==, 0);
    IS(d, SEND_NULLBLOCK);
    dut_free(d);

    /* Above it, Change_Speed in C1 is no way to data. */
    d = dut_new();
    fast_link(d);
    d->l->cfg.target_rate = 4;
    want_speed(d);
    rltb(d, UB_LTB_RETR_ACTIVE, true, ALL, 8);
    IS(d, RETR_CONFIRM);
    make_rltb(d, UB_LTB_RETR_CONFIRM, true, b);
    ub_ltb_set_rates(b, 1);
    feed(d, b, ALL, 8);
    g_assert_cmpuint(count(d, UB_T_RC_DATA), ==, 1);   /* of fast_link() */
    IS(d, CHANGE_SPEED);
    dut_free(d);
}

/* Announced idle on a lane, or idle on all of them; C1 seen shuts the way. */
static void test_idle_in_confirm(void)
{
    for (unsigned i = 0; i < 5; i++) {
        Dut *d = dut_new();

        fast_confirm(d);
        if (i == 0) {
            ub_lmsm_rx_eei(d->l, d->now, 2);
        } else if (i == 1) {
            ub_lmsm_rx_idle(d->l, d->now, 0xff);
        } else if (i == 2) {
            ub_lmsm_rx_idle(d->l, d->now, 0xfb);
        } else if (i == 3) {
            rltb(d, UB_LTB_RETR_CONFIRM, false, 0x1, 1);
            ub_lmsm_rx_eei(d->l, d->now, 2);
        } else {
            rltb(d, UB_LTB_RETR_EQ_INIT, false, 0x1, 1);
            ub_lmsm_rx_eei(d->l, d->now, 2);
        }
        poll(d);
        g_assert_cmpuint(count(d, UB_T_RC_EI_DR0), ==, i < 2);
        dut_free(d);
    }
    for (unsigned i = 0; i < 3; i++) {
        Dut *d = dut_new();

        new_rate_confirm(d);
        if (i) {
            rltb(d, i == 1 ? UB_LTB_RETR_EQ_INIT : UB_LTB_RETR_CONFIRM, false,
                 0x1, 1);
        }
        ub_lmsm_rx_eei(d->l, d->now, 1);
        poll(d);
        g_assert_cmpuint(count(d, UB_T_RC_EI_BACK), ==, i < 2);
        dut_free(d);
    }
}

/* Two blocks with Request_Equalization set the bit of State 1; one does not. */
static void test_request_seen(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];

    retr_active(d);
    make_rltb(d, UB_LTB_RETR_ACTIVE, false, b);
    ub_ltb_set_request_eq(b, 1);
    feed(d, b, 0x1, 1);
    g_assert_cmphex(d->l->eq_state[0], ==, 0);
    feed(d, b, 0x1, 1);
    g_assert_cmphex(d->l->eq_state[0], ==, UB_EQS_LINK_REQUEST);
    dut_free(d);
}

/* The primary measures: 01, then 10 with its choice, 22 ms at most. */
static void test_measuring(void)
{
    static const int64_t windows[] = { MS(3), MS(30) };

    for (unsigned i = 0; i < 4; i++) {
        Dut *d = dut_new();
        int64_t window = windows[i & 1];
        unsigned bad = i >> 1;

        d->cfg.port_type = 1;
        d->cfg.measure_ber = true;
        d->cfg.ber_window = window;
        d->cfg.fec_mode[0] = UB_LTB_FEC_BYPASS;
        link_active(d);
        retrain(d);
        g_assert_cmpuint(ub_ltb_ber_status(d->l->ltb[0]), ==,
                         UB_BER_MEASURING);
        for (unsigned k = 0; k < bad; k++) {
            uint8_t b[UB_LMB_SYMBOLS];

            make_rltb(d, UB_LTB_RETR_ACTIVE, false, b);
            ub_ltb_seal(b);
            b[12] ^= 1;
            ub_lmsm_rx_ltb(d->l, d->now, 1, b);
            ub_lmsm_rx_ltb(d->l, d->now, 6, b);     /* not of the link */
        }
        later(d, MIN(window, MS(22)) - 1);
        rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 1500);
        IS(d, RETR_ACTIVE);
        g_assert_cmpuint(ub_ltb_ber_status(d->l->ltb[0]), ==,
                         UB_BER_MEASURING);
        later(d, 1);
        g_assert_cmpuint(ub_ltb_ber_status(d->l->ltb[0]), ==, UB_BER_DONE);
        /* One in 6000: the weaker of the codes. */
        g_assert_cmpuint(ub_ltb_retr_fec(d->l->ltb[0]), ==,
                         bad ? UB_LTB_FEC_T2 : UB_LTB_FEC_BYPASS);
        dut_free(d);
    }
}

/* Only what was measured may be rejected as too weak. */
static void test_reject(void)
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned status = i & 1 ? UB_BER_DONE : UB_BER_NONE;
        unsigned fec = i >> 1 ? UB_LTB_FEC_T2 : UB_LTB_FEC_BYPASS;
        bool reject = (i & 1) && fec == UB_LTB_FEC_BYPASS;
        Dut *d = dut_new();
        uint8_t b[UB_LMB_SYMBOLS];

        d->cfg.fec_min = UB_LTB_FEC_T2;
        retr_confirm(d);
        make_rltb(d, UB_LTB_RETR_CONFIRM, false, b);
        ub_ltb_set_retr_fec(b, fec);
        ub_ltb_set_ber_status(b, status);
        feed(d, b, 0x1, 2);
        IS(d, RETR_CONFIRM);
        g_assert_cmpuint(ub_ltb_fec_reject(d->l->ltb[0]), ==, reject);
        g_assert_cmpuint(ub_ltb_retr_fec(d->l->ltb[0]), ==,
                         reject ? UB_LTB_FEC_T4 : fec);
        dut_free(d);
    }
}

/* §3.4.2.8: the end that wants a change gets it; of two, the primary. */
static void test_whose_wish(void)
{
    enum { OFF = UB_LTB_FEC_BYPASS, T2 = UB_LTB_FEC_T2, T4 = UB_LTB_FEC_T4 };
    static const struct {
        bool primary;
        uint8_t mine, theirs, want;
    } t[] = {
        { true, T4, T4, T4 }, { true, T2, T4, T2 }, { true, T4, T2, T2 },
        { true, T2, OFF, T2 }, { false, T4, T4, T4 }, { false, T2, T4, T2 },
        { false, T4, T2, T2 }, { false, T2, OFF, OFF },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Dut *d = dut_new();
        uint8_t b[UB_LMB_SYMBOLS];

        d->cfg.port_type = t[i].primary;
        link_active(d);
        d->l->cfg.fec_mode[0] = t[i].mine;
        retrain(d);
        g_assert_cmpuint(ub_ltb_retr_fec(d->l->ltb[0]), ==, t[i].mine);
        make_rltb(d, UB_LTB_RETR_ACTIVE, false, b);
        ub_ltb_set_retr_fec(b, t[i].theirs);
        feed(d, b, ALL, 8);
        IS(d, RETR_CONFIRM);
        g_assert_cmpuint(d->l->fec, ==, t[i].want);
        g_assert_cmpuint(ub_ltb_retr_fec(d->l->ltb[0]), ==, t[i].want);
        g_assert_cmpuint(ub_ltb_fec_reject(d->l->ltb[0]), ==, 0);
        dut_free(d);
    }
}

/* Interleaving that this port cannot do at the widths is rejected. */
static void test_interleave_reject(void)
{
    for (unsigned can = 0; can < 2; can++) {
        Dut *d = dut_new();
        uint8_t b[UB_LMB_SYMBOLS];

        d->cfg.interleave_support = can ? 15 : 11;
        retr_confirm(d);
        make_rltb(d, UB_LTB_RETR_CONFIRM, false, b);
        ub_ltb_set_interleave(b, 1);
        feed(d, b, 0x1, 2);
        IS(d, RETR_CONFIRM);
        g_assert_cmpuint(ub_ltb_interleave_reject(d->l->ltb[0]), ==, !can);
        g_assert_cmpint(d->l->interleave, ==, can);
        dut_free(d);
    }
}

/* A wish for another rate that comes in Confirm: EQ_Initial from then on. */
static void test_late_speed(void)
{
    Dut *d = dut_new();

    d->cfg.eq_mode = UB_EQ_HIGHEST;
    retr_confirm(d);
    g_assert_cmphex(d->l->ltb[0][0], ==, UB_LTB_RETR_CONFIRM);
    rltb(d, UB_LTB_RETR_EQ_INIT, true, 0x1, 7);
    g_assert_false(d->l->change_speed);
    rltb(d, UB_LTB_RETR_EQ_INIT, true, 0x1, 1);
    g_assert_true(d->l->change_speed);
    IS(d, CHANGE_SPEED);
    g_assert_cmphex(d->l->ltb[0][0], ==, UB_LTB_RETR_EQ_INIT);
    g_assert_true(d->l->start_eq_init);
    dut_free(d);
}

/* Discovery forgets how the rate was come by, and hunts on the port's wires. */
static void test_discovery_afresh(void)
{
    Dut *d = dut_new();

    new_rate(d);
    g_assert_true(d->l->changed_speed_retrain);
    dltb(d, UB_LTB_DISC_ACTIVE, 0x1, 2);
    IS(d, DISC_ACTIVE);
    g_assert_false(d->l->changed_speed_retrain);
    g_assert_cmphex(d->p.enabled, ==, ALL);
    dut_free(d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/lmsm/rules/defaults", test_defaults);
    g_test_add_func("/ub/lmsm/rules/check", test_check);
    g_test_add_func("/ub/lmsm/rules/no-spin", test_no_spin);
    g_test_add_func("/ub/lmsm/rules/probe-needs-peer", test_probe_needs_peer);
    g_test_add_func("/ub/lmsm/rules/rxeq-block", test_rxeq_block);
    g_test_add_func("/ub/lmsm/rules/timeout-any-sent", test_timeout_any_sent);
    g_test_add_func("/ub/lmsm/rules/timeout-any-valid",
                    test_timeout_any_valid);
    g_test_add_func("/ub/lmsm/rules/adopt-width", test_adopt_width);
    g_test_add_func("/ub/lmsm/rules/confirm-role", test_confirm_role);
    g_test_add_func("/ub/lmsm/rules/no-link", test_no_link);
    g_test_add_func("/ub/lmsm/rules/reversed-ids", test_reversed_ids);
    g_test_add_func("/ub/lmsm/rules/config-fec", test_config_fec);
    g_test_add_func("/ub/lmsm/rules/nulls-heard", test_nulls_heard);
    g_test_add_func("/ub/lmsm/rules/null-lost", test_null_lost);
    g_test_add_func("/ub/lmsm/rules/retrain-num", test_retrain_num);
    g_test_add_func("/ub/lmsm/rules/unlock-run", test_unlock_run);
    g_test_add_func("/ub/lmsm/rules/seen-blocks", test_seen_blocks);
    g_test_add_func("/ub/lmsm/rules/changed-speed-retrain",
                    test_changed_speed_retrain);
    g_test_add_func("/ub/lmsm/rules/entry-rate", test_entry_rate);
    g_test_add_func("/ub/lmsm/rules/speed-hold", test_speed_hold);
    g_test_add_func("/ub/lmsm/rules/only-rate0", test_only_rate0);
    g_test_add_func("/ub/lmsm/rules/idle-in-confirm", test_idle_in_confirm);
    g_test_add_func("/ub/lmsm/rules/request-seen", test_request_seen);
    g_test_add_func("/ub/lmsm/rules/measuring", test_measuring);
    g_test_add_func("/ub/lmsm/rules/reject", test_reject);
    g_test_add_func("/ub/lmsm/rules/whose-wish", test_whose_wish);
    g_test_add_func("/ub/lmsm/rules/interleave-reject",
                    test_interleave_reject);
    g_test_add_func("/ub/lmsm/rules/late-speed", test_late_speed);
    g_test_add_func("/ub/lmsm/rules/reversed-after-eight",
                    test_reversed_after_eight);
    g_test_add_func("/ub/lmsm/rules/equal-numbers", test_equal_numbers);
    g_test_add_func("/ub/lmsm/rules/discovery-afresh", test_discovery_afresh);
    return g_test_run();
}
