/*
 * Rules of equalisation and of width switches, one by one.
 * UB 2.0 §3.4.2.3, §3.4.2.4, §3.4.3.10.
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

/* ----------------------------------------------------------------- EQ ---- */

/* The presets of EQ_Initial are of the lanes; reserved ones give way to the
 * register, and that, if reserved, to one of ours. */
static void test_start_presets(void)
{
    Dut *d = dut_new();

    d->cfg.local_preset[8][2] = 9;
    d->cfg.local_preset[8][3] = UB_EQ_PRESETS;
    d->eq.first = d->eq.last = 4;
    d->cfg.eq_mode = UB_EQ_HIGHEST;
    speed_confirm(d);
    for (unsigned i = 0; i < 4; i++) {
        uint8_t b[UB_LMB_SYMBOLS];

        make_rltb(d, UB_LTB_RETR_EQ_INIT, true, b);
        ub_ltb_set_remote_preset(b, i == 0 ? 10 : i == 1 ? 7 : 15);
        feed_lane(d, b, i, 8);
    }
    poll(d);
    hush(d);
    IS(d, EQ_COARSE_ACTIVE);
    for (unsigned i = 0; i < 4; i++) {
        static const uint8_t want[] = { 10, 7, 9, 4 };

        g_assert_cmpuint(d->l->eql[i].tx.preset, ==, want[i]);
        g_assert_cmpuint(ub_ltb_tx_preset(d->l->ltb[i]), ==, want[i]);
    }
    dut_free(d);
}

/* Coarse tune waits for the receiver's own adaptation. */
static void test_adaptation(void)
{
    for (unsigned i = 0; i < 2; i++) {
        Dut *d = dut_new();

        d->eq.adapt_ns = 5000;
        if (i) {
            coarse_confirm_pri(d);
        } else {
            coarse_active(d);
        }
        eltb(d, UB_EQPH_COARSE_CONFIRM, 4);
        g_assert_cmpuint(d->l->state, ==, i ? UB_LMSM_EQ_COARSE_CONFIRM
                                            : UB_LMSM_EQ_COARSE_ACTIVE);
        later(d, 4999);
        g_assert_cmpuint(d->l->state, ==, i ? UB_LMSM_EQ_COARSE_CONFIRM
                                            : UB_LMSM_EQ_COARSE_ACTIVE);
        later(d, 1);
        g_assert_cmpuint(d->l->state, ==, i ? UB_LMSM_EQ_PASSIVE
                                            : UB_LMSM_EQ_COARSE_CONFIRM);
        dut_free(d);
    }
}

/* Skipping coarse tune at a timeout is for ports that fine-tune. */
static void test_skip_needs_fine(void)
{
    for (unsigned fine = 0; fine < 2; fine++) {
        Dut *d = dut_new();

        d->eq.fine_tune = fine;
        coarse_confirm_sec_skip(d);
        later(d, MS(12));
        g_assert_cmpuint(count(d, UB_T_ECC_SEC_TIMEOUT_SKIP), ==, fine);
        g_assert_cmpuint(count(d, UB_T_ECC_SEC_TIMEOUT), ==, !fine);
        dut_free(d);
    }
}

/* A request is echoed: taken if legal, else rejected and nothing changed. */
static void test_echo(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];
    unsigned before;

    d->eq.reject = 1u << 6;
    passive_pri(d);
    before = d->l->eql[1].tx.preset;
    make_eltb(UB_EQPH_SEC_ACTIVE, b);
    ub_ltb_set_tx_preset(b, 6);
    feed_lane(d, b, 1, 1);
    poll(d);
    g_assert_cmpuint(ub_ltb_tx_preset(d->l->ltb[1]), ==, before);
    feed_lane(d, b, 1, 1);                  /* two in a row are a request */
    poll(d);
    g_assert_cmpuint(ub_ltb_tx_preset(d->l->ltb[1]), ==, 6);
    g_assert_cmpuint(ub_ltb_eq_reject(d->l->ltb[1]), ==, 1);
    g_assert_cmpuint(ub_ltb_eq_reject(d->l->ltb[0]), ==, 0);
    g_assert_cmpuint(d->l->eql[1].tx.preset, ==, before);
    ub_ltb_set_tx_preset(b, 7);
    feed_lane(d, b, 1, 2);
    poll(d);
    g_assert_cmpuint(ub_ltb_eq_reject(d->l->ltb[1]), ==, 0);
    g_assert_cmpuint(d->l->eql[1].tx.preset, ==, 7);
    g_assert_cmpuint(d->l->eql[0].tx.preset, ==, before);

    /* By cursors: the sum must be HS, the difference LS at least. */
    ub_ltb_set_preset_mode(b, 0);
    ub_ltb_set_eq_post(b, 6);
    ub_ltb_set_eq_pre1(b, 4);
    ub_ltb_set_eq_pre2(b, 2);
    ub_ltb_set_eq_pre3(b, 1);
    ub_ltb_set_eq_cursor(b, UB_EQ_HS - 12);
    feed_lane(d, b, 1, 2);
    poll(d);
    g_assert_cmpuint(ub_ltb_eq_reject(d->l->ltb[1]), ==, 1);
    ub_ltb_set_eq_cursor(b, UB_EQ_HS - 13);
    feed_lane(d, b, 1, 2);
    poll(d);
    g_assert_cmpuint(ub_ltb_eq_reject(d->l->ltb[1]), ==, 0);
    g_assert_cmpuint(d->l->eql[1].tx.cursor, ==, UB_EQ_HS - 13);
    g_assert_cmpuint(d->l->eql[1].tx.pre[2], ==, 1);
    g_assert_cmpuint(ub_ltb_preset_mode(d->l->ltb[1]), ==, 0);
    dut_free(d);
}

/* The best setting once more, answered or not; none at all is no success. */
static void test_last_ask(void)
{
    for (unsigned heard = 0; heard < 2; heard++) {
        Dut *d = dut_new();

        /* The puppet grants preset 5 and no other. */
        d->eq.first = d->eq.last = heard ? 5 : 4;
        active_pri(d);
        later(d, d->eq.settle_ns);
        IS(d, EQ_ACTIVE);
        later(d, MS(2));
        later(d, MS(2));
        g_assert_cmpuint(count(d, UB_T_EQA_PRI_DONE), ==, heard);
        dut_free(d);
    }
}

/* After EQ each coefficient is compared, in Active and in Confirm's blocks. */
static void test_mismatch(void)
{
    static const struct {
        uint8_t sym, mask;
    } t[] = {
        { 0, 0 }, { 2, 0x01 }, { 3, 0x01 }, { 3, 0x10 }, { 4, 0x01 },
        { 10, 0x10 }, { 11, 0x01 },
    };

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(t); i++) {
        unsigned k = i / 2;
        Dut *d = dut_new();
        UbEqSetting s;
        uint8_t b[UB_LMB_SYMBOLS];

        active_pri(d);
        eltb(d, UB_EQPH_PRI_ACTIVE, 2);
        later(d, d->eq.settle_ns);
        eltb(d, UB_EQPH_PRI_ACTIVE, 1);
        later(d, d->eq.settle_ns);
        IS(d, RETR_ACTIVE);
        g_assert_true(ub_eq_preset(&s, 5, true));
        make_rltb(d, i & 1 ? UB_LTB_RETR_CONFIRM : UB_LTB_RETR_ACTIVE, false,
                  b);
        ub_ltb_set_retr_post(b, s.post);
        ub_ltb_set_retr_cursor(b, s.cursor);
        ub_ltb_set_retr_pre1(b, s.pre[0]);
        ub_ltb_set_retr_pre2(b, s.pre[1]);
        ub_ltb_set_retr_pre3(b, s.pre[2]);
        ub_ltb_set_local_preset(b, 5);
        b[t[k].sym] ^= t[k].mask;
        feed(d, b, ALL, 8);
        g_assert_cmpuint(ub_ltb_request_eq(d->l->ltb[0]), ==, k != 0);
        dut_free(d);
    }
}

/* --------------------------------------------------------------- QDLWS --- */

static UbLaneManage said;
static unsigned said_count;

static void note_lane_manage(void *o, const UbLaneManage *lm)
{
    said = *lm;
    said_count++;
}

static void qdlws_link(Dut *d)
{
    d->cfg.qdlws = d->cfg.qdlws_tx = d->cfg.qdlws_rx = true;
    link_active(d);
    d->ops.lane_manage = note_lane_manage;
    said_count = 0;
}

/* Widening: eight right blocks of LP1_PHY_Up on each new lane. */
static void test_lanes_up(void)
{
    const UbLaneManage ask = { .req = true, .change_tlw = true, .tlw = 4 };
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];

    qdlws_link(d);
    d->p.statuses = 0;
    ub_lmsm_rx_width(d->l, d->now, 2);          /* unasked, but obeyed */
    g_assert_cmpuint(d->l->rx_n, ==, 2);
    g_assert_cmphex(d->p.statuses & UB_PHY_ST_WIDTH, !=, 0);
    ub_lmsm_rx_width(d->l, d->now, 3);
    g_assert_cmpuint(d->l->rx_n, ==, 2);
    ub_lmsm_rx_lane_manage(d->l, d->now, &ask);
    poll(d);
    g_assert_cmpuint(said_count, ==, 1);
    g_assert_true(said.rsp && said.rsp_tlw && !said.rsp_rlw);
    g_assert_cmpuint(said.rlw, ==, 4);
    make_rltb(d, UB_LTB_RETR_LP1_UP, false, b);
    feed(d, b, 0xc, 7);
    feed(d, b, 0x4, 1);
    make_rltb(d, UB_LTB_RETR_ACTIVE, false, b);
    feed(d, b, 0x8, 9);                         /* not of this type */
    make_rltb(d, UB_LTB_RETR_LP1_UP, false, b);
    feed(d, b, 0x8, 7);
    g_assert_cmpuint(said_count, ==, 1);
    feed(d, b, 0x8, 1);
    g_assert_cmpuint(said_count, ==, 2);
    g_assert_true(said.rsp && said.rx_lane_up);
    d->p.statuses = 0;
    ub_lmsm_rx_width(d->l, d->now, 4);
    g_assert_cmpuint(d->l->rx_n, ==, 4);
    g_assert_cmphex(d->p.statuses & UB_PHY_ST_WIDTH, !=, 0);
    g_assert_cmpuint(d->l->qdlws.rx.step, ==, 0);
    dut_free(d);
}

/* Lanes that do not wake are given up, on whichever wires they are. */
static void test_lanes_stay_down(void)
{
    static const uint8_t back[4] = { 3, 2, 1, 0 };
    const UbLaneManage ask = { .req = true, .change_tlw = true, .tlw = 4 };
    Dut *d = dut_new();

    qdlws_link(d);
    memcpy(d->l->rx_phys, back, sizeof(back));
    ub_lmsm_rx_width(d->l, d->now, 2);
    ub_lmsm_rx_lane_manage(d->l, d->now, &ask);
    poll(d);
    g_assert_cmphex(d->p.enabled, ==, 0x0f);
    g_assert_cmpint(ub_lmsm_poll(d->l, d->now), ==, d->now + MS(24));
    later(d, MS(24) - 1);
    g_assert_cmpuint(d->l->qdlws.rx.step, !=, 0);
    later(d, 1);
    g_assert_cmpuint(d->l->qdlws.rx.step, ==, 0);
    g_assert_cmphex(d->p.enabled, ==, 0x0c);
    g_assert_cmphex(d->l->errors & UB_PHY_ERR_QDLWS, !=, 0);
    IS(d, LINK_ACTIVE);
    dut_free(d);
}

/* Each thing that forbids asking (§3.4.2.3), alone. */
static void test_asking(void)
{
    enum { NOTHING, OFF, TX_OFF, RX_OFF, SECONDARY, TWICE, SOON, RETRAINS,
           SAME, ODD, COUNT };

    for (unsigned i = 0; i < COUNT; i++) {
        unsigned tx = i == SAME ? 4 : i == ODD ? 3 : 2, rx = i == SAME ? 4 : 2;
        Dut *d = dut_new();

        d->cfg.port_type = i != SECONDARY;
        qdlws_link(d);
        d->l->cfg.qdlws = i != OFF;
        d->l->cfg.qdlws_tx = i != TX_OFF;
        d->l->cfg.qdlws_rx = i != RX_OFF;
        if (i == TWICE) {
            g_assert_true(ub_lmsm_qdlws(d->l, d->now, 1, 0));
        } else if (i == SOON) {
            const UbLaneManage no = { .rsp = true };

            g_assert_true(ub_lmsm_qdlws(d->l, d->now, 1, 0));
            ub_lmsm_rx_lane_manage(d->l, d->now, &no);
            g_assert_cmpuint(d->l->qdlws.status, ==, UB_QDLWS_NAK);
            d->now += 999;
        } else if (i == RETRAINS) {
            retrain(d);
        }
        d->p.statuses = 0;
        g_assert_cmpint(ub_lmsm_qdlws(d->l, d->now, tx, rx), ==,
                        i == NOTHING);
        g_assert_cmpint(!!(d->p.statuses & UB_PHY_ST_ERROR), ==, i == ODD);
        g_assert_cmpint(!!(d->l->errors & UB_PHY_ERR_BAD_WIDTH), ==,
                        i == ODD);
        if (i == SOON) {
            d->now++;
            g_assert_true(ub_lmsm_qdlws(d->l, d->now, tx, rx));
        }
        dut_free(d);
    }
}

/* Refusals name the widths in use, and a width that is none its error. */
static void test_refusals(void)
{
    static const struct {
        UbLaneManage ask;
        bool bad;
    } t[] = {
        { { .req = true, .change_tlw = true, .tlw = 8 }, false },
        { { .req = true, .change_rlw = true, .rlw = 8 }, false },
        { { .req = true, .change_tlw = true, .tlw = 3 }, true },
        { { .req = true, .change_rlw = true, .rlw = 0 }, true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Dut *d = dut_new();

        qdlws_link(d);
        ub_lmsm_rx_width(d->l, d->now, 2);
        ub_lmsm_rx_lane_manage(d->l, d->now, &t[i].ask);
        poll(d);
        g_assert_cmpuint(said_count, ==, 1);
        g_assert_true(said.rsp);
        g_assert_false(said.rsp_tlw || said.rsp_rlw || said.rx_lane_up);
        g_assert_cmpuint(said.tlw, ==, 4);
        g_assert_cmpuint(said.rlw, ==, 2);
        g_assert_cmpint(!!(d->l->errors & UB_PHY_ERR_BAD_WIDTH), ==,
                        t[i].bad);
        g_assert_cmpuint(d->l->qdlws.tx.step + d->l->qdlws.rx.step, ==, 0);
        dut_free(d);
    }
}

/* A lane that is not in use may do as it likes. */
static void test_other_lanes(void)
{
    Dut *d = dut_new();

    d->cfg.fast_lane_down = false;
    qdlws_link(d);
    ub_lmsm_rx_width(d->l, d->now, 2);
    ub_lmsm_rx_idle(d->l, d->now, 0xfc);
    ub_lmsm_rx_unlock(d->l, d->now, 2);
    ub_lmsm_rx_miss(d->l, d->now, 3, 9);
    poll(d);
    IS(d, LINK_ACTIVE);
    ub_lmsm_rx_idle(d->l, d->now, 0xfe);
    poll(d);
    IS(d, RETR_ACTIVE);
    dut_free(d);
}

/* Fast lane-down: the peer has 2 ms to obey. */
static void test_obey(void)
{
    Dut *d = dut_new();

    link_active(d);
    ub_lmsm_rx_miss(d->l, d->now, 3, 3);
    poll(d);
    IS(d, LINK_ACTIVE);
    g_assert_cmphex(d->p.statuses & UB_PHY_ST_ERROR, !=, 0);
    g_assert_cmphex(d->l->errors & UB_PHY_ERR_WIDTH_REDUCED, !=, 0);
    g_assert_cmpuint(d->l->asked_remote, ==, 2);
    g_assert_cmpint(ub_lmsm_poll(d->l, d->now), ==, d->now + MS(2));
    later(d, MS(2) - 1);
    IS(d, LINK_ACTIVE);
    later(d, 1);
    IS(d, RETR_ACTIVE);
    g_assert_cmpuint(d->l->stats.lane_downs, ==, 1);
    dut_free(d);

    /* A lane that falls idle unannounced is as bad. */
    d = dut_new();
    link_active(d);
    ub_lmsm_rx_idle(d->l, d->now, 0xf8);
    poll(d);
    IS(d, LINK_ACTIVE);
    g_assert_cmpuint(d->l->asked_remote, ==, 2);
    dut_free(d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/lmsm/rules/start-presets", test_start_presets);
    g_test_add_func("/ub/lmsm/rules/adaptation", test_adaptation);
    g_test_add_func("/ub/lmsm/rules/skip-needs-fine", test_skip_needs_fine);
    g_test_add_func("/ub/lmsm/rules/echo", test_echo);
    g_test_add_func("/ub/lmsm/rules/last-ask", test_last_ask);
    g_test_add_func("/ub/lmsm/rules/mismatch", test_mismatch);
    g_test_add_func("/ub/lmsm/rules/lanes-up", test_lanes_up);
    g_test_add_func("/ub/lmsm/rules/lanes-stay-down", test_lanes_stay_down);
    g_test_add_func("/ub/lmsm/rules/asking", test_asking);
    g_test_add_func("/ub/lmsm/rules/refusals", test_refusals);
    g_test_add_func("/ub/lmsm/rules/other-lanes", test_other_lanes);
    g_test_add_func("/ub/lmsm/rules/obey", test_obey);
    return g_test_run();
}
