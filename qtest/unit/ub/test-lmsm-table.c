/*
 * Every transition of the link management state machine, by name: one machine,
 * and a puppet that feeds it blocks by hand.  Each case first gives one block
 * or one nanosecond less than the document asks for and sees nothing happen.
 * UB 2.0 §3.4.3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm-puppet.h"

/* -------------------------------------------------------------- stimuli --- */

static void reset(Dut *d)
{
    ub_lmsm_reset(d->l, d->now);
}

static void rxeq_block(Dut *d)
{
    dltb(d, UB_LTB_RXEQ_OPTIMIZE, ALL, 1);
}

static void adapted(Dut *d)
{
    later(d, d->eq.adapt_ns);
}

#define FEED(name, call) static void name(Dut *d) { call; }
FEED(da7, dltb(d, UB_LTB_DISC_ACTIVE, ALL, 7))
FEED(da1, dltb(d, UB_LTB_DISC_ACTIVE, ALL, 1))
FEED(da1_lane, dltb(d, UB_LTB_DISC_ACTIVE, 0x4, 1))
FEED(da7_lane, dltb(d, UB_LTB_DISC_ACTIVE, 0x4, 7))
FEED(dc7, dltb(d, UB_LTB_DISC_CONFIRM, ALL, 7))
FEED(dc1, dltb(d, UB_LTB_DISC_CONFIRM, ALL, 1))
FEED(ca1, cltb(d, UB_LTB_CONF_ACTIVE, LINK_ID, 1))
FEED(cc1, cltb(d, UB_LTB_CONF_CHECK, LINK_ID, 1))
FEED(cf1, cltb(d, UB_LTB_CONF_CONFIRM, LINK_ID, 1))
FEED(other_id, cltb(d, UB_LTB_CONF_ACTIVE, LINK_ID + 1, 1))
FEED(ra7, rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 7))
FEED(ra1, rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 1))
FEED(ra2_lane, rltb(d, UB_LTB_RETR_ACTIVE, false, 0x2, 2))
FEED(speed8_lane, rltb(d, UB_LTB_RETR_ACTIVE, true, 0x2, 8))
FEED(rc7, rltb(d, UB_LTB_RETR_CONFIRM, false, ALL, 7))
FEED(rc1, rltb(d, UB_LTB_RETR_CONFIRM, false, ALL, 1))
FEED(rc2_lane, rltb(d, UB_LTB_RETR_CONFIRM, false, 0x2, 2))
FEED(rc7_speed, rltb(d, UB_LTB_RETR_CONFIRM, true, 0x2, 7))
FEED(rc1_speed, rltb(d, UB_LTB_RETR_CONFIRM, true, 0x2, 1))
FEED(coarse1, eltb(d, UB_EQPH_COARSE_CONFIRM, 1))
FEED(sec_active1, eltb(d, UB_EQPH_SEC_ACTIVE, 1))
FEED(pri_active1, eltb(d, UB_EQPH_PRI_ACTIVE, 1))
FEED(width, ub_lmsm_request_width(d->l))
FEED(edf, ub_lmsm_rx_edf(d->l, d->now))
FEED(framing, ub_lmsm_rx_framing(d->l, d->now))
FEED(retry, ub_lmsm_request_retry(d->l))
FEED(miss2, ub_lmsm_rx_miss(d->l, d->now, 0, 2))
FEED(miss3, ub_lmsm_rx_miss(d->l, d->now, 0, 3))
FEED(lane0_idle, ub_lmsm_rx_idle(d->l, d->now, 0xf1))
FEED(unlock, ub_lmsm_rx_unlock(d->l, d->now, 2))
FEED(nulls1, ub_lmsm_rx_blocks(d->l, d->now, 1, true))

static void nulls7(Dut *d)
{
    ub_lmsm_rx_sdf(d->l, d->now, 4);
    ub_lmsm_rx_blocks(d->l, d->now, 7, true);
}

/* Heard on one lane, but with a width that is more than ours. */
static void wide_lane(Dut *d)
{
    uint8_t b[UB_LMB_SYMBOLS];

    ub_ltb_init(b, UB_LTB_DISC_ACTIVE);
    ub_ltb_set_tlw(b, 8);
    ub_ltb_set_rlw(b, 4);
    ub_ltb_set_port_type(b, 1);
    feed(d, b, 0x1, 8);
}

static void same_role(Dut *d)
{
    uint8_t b[UB_LMB_SYMBOLS];

    ub_ltb_init(b, UB_LTB_DISC_ACTIVE);
    ub_ltb_set_tlw(b, 4);
    ub_ltb_set_rlw(b, 4);
    feed(d, b, ALL, 8);
}

static void some_idle(Dut *d)
{
    later(d, d->cfg.speed_hold);
    ub_lmsm_rx_idle(d->l, d->now, 0xf7);
}

static void all_idle(Dut *d)
{
    ub_lmsm_rx_idle(d->l, d->now, 0xff);
}

/* The partner grants the one setting that is asked for, twice. */
static void grant(Dut *d, unsigned phase)
{
    eltb(d, phase, 2);
    later(d, d->eq.settle_ns);
    eltb(d, phase, 1);
}

FEED(grant_sec, grant(d, UB_EQPH_SEC_ACTIVE))
FEED(grant_pri, grant(d, UB_EQPH_PRI_ACTIVE))

static void settled(Dut *d)
{
    later(d, d->eq.settle_ns);
}

/* ---------------------------------------------------------------- table --- */

typedef struct Case {
    void (*setup)(Dut *d);
    void (*almost)(Dut *d);     /* one short of the condition */
    void (*final)(Dut *d);      /* ... and the rest */
    int64_t timeout;            /* or: after so long in the state */
    unsigned chained;           /* transitions that come before in the turn */
} Case;

static const Case cases[UB_T_COUNT] = {
    [UB_T_RESET] = { link_active, NULL, reset },
    [UB_T_IDLE_PROBE] = { idle_probe, poll, start },
    [UB_T_IDLE_RXEQ] = { idle_fixed, poll, start },
    [UB_T_IDLE_DISCOVERY] = { begin, poll, start },
    [UB_T_PW_EI_EXIT] = { probe_wait, poll, ei_exit },
    [UB_T_PW_TIMEOUT] = { probe_wait, NULL, NULL, MS(1) },
    [UB_T_PC_ALL] = { probe_wait, poll, ei_exit, 0, 1 },
    [UB_T_PC_NONE] = { probe_gone, NULL, NULL, MS(1), 1 },
    [UB_T_PC_PARTIAL] = { probe_confirm, NULL, NULL, US(100) },
    [UB_T_PC_UNSTABLE] = { probe_confirm, poll, presence_less },
    [UB_T_RXEQ_DONE] = { rxeq, rxeq_block, adapted },
    [UB_T_RXEQ_TIMEOUT] = { rxeq, NULL, NULL, MS(48) },
    [UB_T_DA_MATCH] = { disc_active, da7, da1 },
    [UB_T_DA_TIMEOUT_ANY] = { disc_active, wide_lane, NULL, MS(24) },
    [UB_T_DA_TIMEOUT_NEGO] = { disc_active, same_role, NULL, MS(24) },
    [UB_T_DA_TIMEOUT] = { disc_active, NULL, NULL, MS(24) },
    [UB_T_DC_MATCH] = { disc_confirm, dc7, dc1 },
    [UB_T_DC_TIMEOUT] = { disc_confirm, NULL, NULL, MS(48) },
    [UB_T_CA_MATCH] = { conf_active, ca1, ca1 },
    [UB_T_CA_TIMEOUT] = { conf_active, NULL, NULL, MS(2) },
    [UB_T_CA_NO_LINK] = { conf_active, other_id, other_id },
    [UB_T_CA_DLTB] = { conf_active, da1, da1 },
    [UB_T_CC_MATCH] = { conf_check, cc1, cc1 },
    [UB_T_CC_TIMEOUT] = { conf_check, NULL, NULL, MS(2) },
    [UB_T_CC_NO_LINK] = { conf_check, other_id, other_id },
    [UB_T_CC_DLTB] = { conf_check, da1, da1 },
    [UB_T_CF_MATCH] = { conf_confirm, cf1, cf1 },
    [UB_T_CF_TIMEOUT] = { conf_confirm, NULL, NULL, MS(2) },
    [UB_T_CF_NO_LINK] = { conf_confirm, other_id, other_id },
    [UB_T_CF_DLTB] = { conf_confirm, da1, da1 },
    [UB_T_SN_NULLS] = { send_null, nulls7, nulls1 },
    [UB_T_SN_UPPER] = { send_null, poll, width },
    [UB_T_SN_DLTB] = { send_null, da1_lane, da1_lane },
    [UB_T_SN_LOST] = { send_null, poll, unlock },
    [UB_T_SN_TIMEOUT] = { send_null, NULL, NULL, MS(2) },
    [UB_T_SN_TIMEOUT_IDLE] = { send_null_last, NULL, NULL, MS(2) },
    [UB_T_LA_EDF] = { link_active, poll, edf },
    [UB_T_LA_RETRAIN] = { link_active, poll, retrain },
    [UB_T_LA_WIDTH] = { link_active, poll, width },
    [UB_T_LA_SPEED] = { link_active, poll, want_speed },
    [UB_T_LA_EI] = { link_active, poll, lane0_idle },
    [UB_T_LA_AMCTL] = { link_active, miss2, miss3 },
    [UB_T_LA_FRAMING] = { link_active, poll, framing },
    [UB_T_LA_RETRY] = { link_active, poll, retry },
    [UB_T_RA_MATCH] = { retr_active, ra7, ra1 },
    [UB_T_RA_EQ_PRIMARY] = { change_speed_eq_primary, NULL, hush, 0, 1 },
    [UB_T_RA_EQ_SECONDARY] = { change_speed_eq, NULL, hush, 0, 1 },
    [UB_T_RA_DLTB] = { retr_active, da1_lane, da1_lane },
    [UB_T_RA_TIMEOUT_SPEED] = { retr_active, speed8_lane, NULL, MS(24) },
    [UB_T_RA_TIMEOUT_DR0] = { fast_retrain, NULL, NULL, MS(24) },
    [UB_T_RA_TIMEOUT_BACK] = { new_rate, NULL, NULL, MS(24) },
    [UB_T_RA_TIMEOUT_FIXED] = { fixed_link, ra2_lane, NULL, MS(24) },
    [UB_T_RA_TIMEOUT_DISC] = { retr_active, ra2_lane, NULL, MS(24) },
    [UB_T_RA_TIMEOUT_IDLE] = { retr_active, NULL, NULL, MS(24) },
    [UB_T_RC_SPEED] = { speed_confirm, rc7_speed, rc1_speed },
    [UB_T_RC_DATA] = { retr_confirm, rc7, rc1 },
    [UB_T_RC_DLTB] = { retr_confirm, da7_lane, da1_lane },
    [UB_T_RC_WIDTH] = { width_retrain, ra7, ra1, 0, 1 },
    [UB_T_RC_EI_BACK] = { new_rate_confirm, poll, all_idle },
    [UB_T_RC_EI_DR0] = { fast_confirm, poll, all_idle },
    [UB_T_RC_TIMEOUT_FIXED] = { fixed_confirm, rc2_lane, NULL, MS(48) },
    [UB_T_RC_TIMEOUT_DISC] = { retr_confirm, rc2_lane, NULL, MS(48) },
    [UB_T_RC_TIMEOUT_DATA] = { fast_confirm, NULL, NULL, MS(48) },
    [UB_T_RC_TIMEOUT_IDLE] = { retr_confirm, NULL, NULL, MS(48) },
    [UB_T_CS_DONE] = { change_speed, some_idle, all_idle },
    [UB_T_CS_TIMEOUT] = { change_speed, NULL, NULL, MS(48) },
    [UB_T_ECA_MATCH] = { coarse_active, coarse1, coarse1 },
    [UB_T_ECA_TIMEOUT_SKIP] = { coarse_active_skip, NULL, NULL, MS(12) },
    [UB_T_ECA_TIMEOUT] = { coarse_active, NULL, NULL, MS(12) },
    [UB_T_ECC_PRI_FINE] = { coarse_confirm_pri, coarse1, coarse1 },
    [UB_T_ECC_PRI_DONE] = { coarse_confirm_pri_only, coarse1, coarse1 },
    [UB_T_ECC_PRI_TIMEOUT_SKIP] = { coarse_confirm_pri_skip, NULL, NULL,
                                    MS(24) },
    [UB_T_ECC_PRI_TIMEOUT] = { coarse_confirm_pri, NULL, NULL, MS(24) },
    [UB_T_ECC_SEC_FINE] = { coarse_confirm_sec, sec_active1, sec_active1 },
    [UB_T_ECC_SEC_RLTB] = { coarse_confirm_sec, ra7, ra1 },
    [UB_T_ECC_SEC_TIMEOUT_SKIP] = { coarse_confirm_sec_skip, NULL, NULL,
                                    MS(12) },
    [UB_T_ECC_SEC_TIMEOUT] = { coarse_confirm_sec, NULL, NULL, MS(12) },
    [UB_T_EQP_PASSIVE] = { passive_pri, pri_active1, pri_active1 },
    [UB_T_EQP_RLTB] = { passive_pri, ra1, ra1 },
    [UB_T_EQP_TIMEOUT] = { passive_pri, NULL, NULL, MS(64) },
    [UB_T_EQA_PRI_DONE] = { active_pri, grant_pri, settled },
    [UB_T_EQA_SEC_DONE] = { active_sec, grant_sec, settled },
    [UB_T_EQA_TIMEOUT] = { active_pri, NULL, NULL, MS(48) },
};

static void test_transition(gconstpointer data)
{
    UbLmsmTransitionId id = GPOINTER_TO_UINT(data);
    const UbLmsmTransition *t = &ub_lmsm_transitions[id];
    const Case *c = &cases[id];
    Dut *d = dut_new();
    unsigned mark, state;

    g_assert_nonnull(c->setup);
    if (id == UB_T_RXEQ_DONE) {
        d->eq.adapt_ns = 5000;
    }
    c->setup(d);
    state = d->l->state;
    if (!c->chained && t->from != UB_LMSM_ANY) {
        g_assert_cmpstr(ub_lmsm_state_name(state), ==,
                        ub_lmsm_state_name(t->from));
    }
    mark = d->p.trace->len;
    if (c->almost) {
        c->almost(d);
        poll(d);
        g_assert_cmpuint(d->p.trace->len, ==, mark);
    }
    if (c->final) {
        c->final(d);
        poll(d);
    }
    if (c->timeout) {
        /* Probe.Wait waits from the moment there is something to probe. */
        int64_t at = d->l->entered + c->timeout;

        d->now = at - 1;
        poll(d);
        g_assert_cmpuint(d->p.trace->len, ==, mark);
        d->now = at;
        poll(d);
    }
    g_assert_cmpuint(d->p.trace->len, >, mark + c->chained);
    g_assert_cmpuint(g_array_index(d->p.trace, UbLmsmTransitionId,
                                   mark + c->chained), ==, id);
    g_assert_cmpuint(d->l->stats.transitions[id], ==, 1);
    g_assert_cmphex(d->l->errors & t->error, ==, t->error);
    dut_free(d);
}

/* ------------------------------------------------ what is not in a case --- */

/* Times that depend on the rate. */
static void test_rate_timeouts(void)
{
    static const struct {
        unsigned rate;
        int64_t rxeq;
    } t[] = { { 0, MS(48) }, { 4, MS(48) }, { 8, MS(120) } };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Dut *d = dut_new();

        d->cfg.fixed_rate = true;
        d->cfg.target_rate = (uint8_t)t[i].rate;
        begin(d);
        start(d);
        g_assert_cmpuint(d->l->state, ==, UB_LMSM_RXEQ_OPTIMIZE);
        later(d, t[i].rxeq - 1);
        g_assert_cmpuint(d->l->state, ==, UB_LMSM_RXEQ_OPTIMIZE);
        later(d, 1);
        g_assert_cmpuint(d->l->state, ==, UB_LMSM_DISC_ACTIVE);
        dut_free(d);
    }
}

/* EQ at Data Rate 4: 32 ms passive, 24 ms active (64 and 48 above). */
static void test_eq_timeouts(void)
{
    for (unsigned i = 0; i < 2; i++) {
        Dut *d = dut_new();
        int64_t limit = i ? MS(24) : MS(32);

        d->cfg.rates = 0x11;
        d->cfg.target_rate = 4;
        if (i) {
            active_pri(d);
        } else {
            passive_pri(d);
        }
        g_assert_cmpuint(d->l->rate, ==, 4);
        d->now = d->l->entered + limit - 1;
        poll(d);
        g_assert_cmpuint(d->l->state, ==, i ? UB_LMSM_EQ_ACTIVE
                                            : UB_LMSM_EQ_PASSIVE);
        later(d, 1);
        g_assert_cmpuint(d->l->state, ==, UB_LMSM_CHANGE_SPEED);
        dut_free(d);
    }
}

/* LMSM_ST Control 1: a cleared bit keeps the state for ever. */
static void test_timeout_enable(void)
{
    for (unsigned id = 0; id < UB_T_COUNT; id++) {
        const Case *c = &cases[id];
        Dut *d;
        unsigned state, mark;

        if (!c->timeout || c->chained || c->final ||
            ub_lmsm_transitions[id].from == UB_LMSM_PROBE_WAIT ||
            ub_lmsm_transitions[id].from == UB_LMSM_PROBE_CONFIRM) {
            continue;
        }
        d = dut_new();
        state = ub_lmsm_transitions[id].from;
        d->cfg.timeout_enable = ~(1u << state);
        c->setup(d);
        mark = d->p.trace->len;
        if (c->almost) {
            c->almost(d);
        }
        later(d, MS(10000));
        g_assert_cmpuint(d->l->state, ==, state);
        g_assert_cmpuint(d->p.trace->len, ==, mark);
        dut_free(d);
    }
}

/* Blocks to send after the first receipt: 1024, 16, 16, ... */
static void test_sent(void)
{
    static const struct {
        void (*setup)(Dut *d);
        void (*one)(Dut *d);
        unsigned need;
    } t[] = {
        { disc_active, da1, 1024 }, { disc_confirm, dc1, 16 },
        { conf_active, ca1, 16 }, { conf_check, cc1, 16 },
        { conf_confirm, cf1, 16 }, { retr_active, ra1, 16 },
        { retr_confirm, rc1, 16 }, { speed_confirm, rc1_speed, 128 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Dut *d = dut_new();
        unsigned state;

        t[i].setup(d);
        state = d->l->state;
        t[i].one(d);
        g_assert_cmpuint(d->l->state, ==, state);
        g_assert_cmpuint(d->l->sent, >=, t[i].need);
        g_assert_cmpuint(d->l->sent, <=, t[i].need + 1024);
        dut_free(d);
    }
}

/* Discovery.Active from Retrain: 256 instead of 1024. */
static void test_sent_from_retrain(void)
{
    Dut *d = dut_new();

    retr_active(d);
    dltb(d, UB_LTB_DISC_ACTIVE, 0x1, 2);
    g_assert_cmpuint(d->l->state, ==, UB_LMSM_DISC_ACTIVE);
    dltb(d, UB_LTB_DISC_ACTIVE, ALL, 8);
    g_assert_cmpuint(d->l->state, ==, UB_LMSM_DISC_CONFIRM);
    dut_free(d);
}

/* A broken block breaks the run; one that differs begins a new one. */
static void test_consecutive(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];

    retr_active(d);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 7);
    ub_ltb_init(b, UB_LTB_RETR_ACTIVE);
    ub_ltb_seal(b);
    b[12] ^= 1;
    ub_lmsm_rx_ltb(d->l, d->now, 2, b);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 7);
    g_assert_cmpuint(d->l->state, ==, UB_LMSM_RETR_ACTIVE);
    g_assert_cmpuint(d->l->lane[2].crc_errors, ==, 1);
    g_assert_cmphex(d->p.statuses & UB_PHY_ST_ERROR, ==, UB_PHY_ST_ERROR);
    g_assert_cmphex(d->l->errors, ==, UB_PHY_ERR_LTB_CRC);
    g_assert_cmpuint(d->l->lane[2].kind_errors[UB_LTB_RLTB], ==, 1);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 1);
    g_assert_cmpuint(d->l->state, ==, UB_LMSM_RETR_CONFIRM);
    dut_free(d);
}

/* Reserved bits of what arrives change nothing. */
static void test_reserved(void)
{
    Dut *d = dut_new();
    uint8_t b[UB_LMB_SYMBOLS];

    disc_active(d);
    ub_ltb_init(b, UB_LTB_DISC_ACTIVE);
    ub_ltb_set_link_id(b, LINK_ID);
    ub_ltb_set_tlw(b, 4);
    ub_ltb_set_rlw(b, 4);
    ub_ltb_set_port_type(b, 1);
    b[3] |= 0xc0;
    b[4] |= 0xc0;
    b[6] |= 0xfe;
    b[7] |= 0xfc;
    b[9] = 0xff;
    b[10] |= 0xf0;
    b[11] |= 0xc0;
    feed(d, b, ALL, 8);
    g_assert_cmpuint(d->l->state, ==, UB_LMSM_DISC_CONFIRM);
    dut_free(d);
}

/* Variables that Link_Idle sets (§3.4.3.1). */
static void test_variables(void)
{
    Dut *d = dut_new();
    UbLmsm *l = d->l;

    coarse_active(d);
    ub_lmsm_reset(l, d->now);
    g_assert_false(l->link_up || l->link_ready || l->change_speed ||
                   l->start_eq_init || l->symmetric_link ||
                   l->changed_speed_retrain);
    g_assert_cmpuint(l->retrain_num, ==, 0);
    g_assert_cmpuint(l->eq_complete, ==, 0);
    g_assert_cmpuint(l->rx_lane0_id | l->tx_lane0_id, ==, 0);
    g_assert_cmpuint(l->tx_m, ==, 4);
    g_assert_cmpuint(l->rx_n, ==, 4);
    g_assert_cmpuint(l->rate, ==, 0);
    g_assert_cmpuint(d->p.lanes, ==, 0);
    g_assert_cmphex(d->p.enabled, ==, 0);
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        g_assert_cmpuint(l->tx_phys[i], ==, i);
        g_assert_cmpuint(l->rx_phys[i], ==, i);
    }
    dut_free(d);
}

static void test_link_up(void)
{
    Dut *d = dut_new();

    conf_confirm(d);
    g_assert_false(d->l->link_up);
    cltb(d, UB_LTB_CONF_CONFIRM, LINK_ID, 2);
    g_assert_true(d->l->link_up);
    g_assert_false(d->l->link_ready);
    data(d);
    g_assert_false(d->l->link_ready);       /* a higher rate is common */
    retrain(d);
    g_assert_true(d->l->link_up);
    dut_free(d);

    d = dut_new();
    fast_link(d);
    g_assert_true(d->l->link_ready);
    retrain(d);
    g_assert_false(d->l->link_ready);
    g_assert_true(d->l->link_up);
    dut_free(d);
}

/* Where each way out of Change_Speed leads (§3.4.3.9). */
static void test_new_rates(void)
{
    Dut *d = dut_new();

    new_rate(d);
    g_assert_cmpuint(d->l->rate, ==, 8);
    g_assert_true(d->l->changed_speed_retrain);
    later(d, MS(24));                       /* fails: back to the old one */
    later(d, d->cfg.speed_hold_fail);
    all_idle(d);
    poll(d);
    g_assert_cmpuint(d->l->rate, ==, 0);
    g_assert_false(d->l->changed_speed_retrain);
    dut_free(d);

    d = dut_new();
    fast_retrain(d);
    later(d, MS(24));
    later(d, d->cfg.speed_hold_fail);
    all_idle(d);
    poll(d);
    g_assert_cmpuint(d->l->rate, ==, 0);
    dut_free(d);
}

/* State 1 bits at each way out of equalisation. */
static void test_state1(void)
{
    static const struct {
        UbLmsmTransitionId id;
        unsigned bits;
    } t[] = {
        { UB_T_ECA_TIMEOUT, 0x03 }, { UB_T_ECC_PRI_FINE, 0x06 },
        { UB_T_ECC_PRI_DONE, 0x1f }, { UB_T_ECC_PRI_TIMEOUT_SKIP, 0x06 },
        { UB_T_ECC_PRI_TIMEOUT, 0x03 }, { UB_T_ECC_SEC_FINE, 0x06 },
        { UB_T_ECC_SEC_RLTB, 0x07 }, { UB_T_ECC_SEC_TIMEOUT_SKIP, 0x06 },
        { UB_T_ECC_SEC_TIMEOUT, 0x03 }, { UB_T_EQP_PASSIVE, 0x0e },
        { UB_T_EQP_RLTB, 0x0e }, { UB_T_EQP_TIMEOUT, 0x07 },
        { UB_T_EQA_PRI_DONE, 0x1f }, { UB_T_EQA_SEC_DONE, 0x17 },
        { UB_T_EQA_TIMEOUT, 0x0f },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        const Case *c = &cases[t[i].id];
        Dut *d = dut_new();

        c->setup(d);
        if (c->almost) {
            c->almost(d);
            poll(d);
        }
        if (c->final) {
            c->final(d);
            poll(d);
        }
        if (c->timeout) {
            d->now = d->l->entered + c->timeout;
            poll(d);
        }
        g_assert_cmphex(d->l->eq_state[8], ==, t[i].bits);
        dut_free(d);
    }
}

/* Other settings in the RLTBs than EQ agreed on: Request_Equalization. */
static void test_eq_mismatch(void)
{
    Dut *d = dut_new();

    active_pri(d);
    grant_pri(d);
    settled(d);
    g_assert_cmpuint(d->l->state, ==, UB_LMSM_RETR_ACTIVE);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 8);     /* cursors are 0 */
    g_assert_cmpuint(d->l->state, ==, UB_LMSM_RETR_CONFIRM);
    g_assert_cmphex(d->l->ltb[0][0], ==, UB_LTB_RETR_CONFIRM);
    g_assert_cmpuint(ub_ltb_request_eq(d->l->ltb[0]), ==, 1);
    dut_free(d);
}

/* 2 ms without an answer: the next setting. */
static void test_eq_no_answer(void)
{
    Dut *d = dut_new();

    d->eq.first = 3;
    d->eq.last = 7;
    active_pri(d);
    g_assert_cmpuint(d->l->eql[0].ask.preset, ==, 3);
    later(d, MS(2) - 1);
    g_assert_cmpuint(d->l->eql[0].ask.preset, ==, 3);
    later(d, 1);
    g_assert_cmpuint(d->l->eql[0].ask.preset, ==, 4);
    g_assert_cmpuint(ub_ltb_tx_preset(d->l->ltb[0]), ==, 4);
    dut_free(d);
}

/* No block leaves before the peer of a lane could lock to it. */
static void test_idle_exit(void)
{
    Dut *d = dut_new();

    disc_active(d);
    g_assert_cmpuint(d->p.eeibs, ==, 1);
    g_assert_cmpuint(d->p.lanes, ==, 4);
    g_assert_cmpuint(d->l->stats.ltbs_sent, ==, 16 * 32);
    dut_free(d);

    d = dut_new();
    change_speed(d);
    g_assert_cmpuint(d->p.eeis, ==, 1);
    g_assert_cmpuint(d->p.lanes, ==, 0);
    hush(d);
    g_assert_cmpuint(d->p.eeibs, ==, 2);
    g_assert_cmpuint(d->p.tx_rate, ==, 8);
    dut_free(d);
}

/* EDF goes out before the blocks, on each way from data to training. */
static void test_edf_first(void)
{
    Dut *d = dut_new();

    link_active(d);
    g_assert_cmpuint(d->p.edfs, ==, 0);
    retrain(d);
    g_assert_cmpuint(d->p.edfs, ==, 1);
    dut_free(d);
}

static void test_names(void)
{
    for (unsigned i = 0; i < UB_LMSM_STATES; i++) {
        g_assert_cmpstr(ub_lmsm_state_name(i), !=, "?");
        for (unsigned k = 0; k < i; k++) {
            g_assert_cmpstr(ub_lmsm_state_name(i), !=, ub_lmsm_state_name(k));
        }
    }
    g_assert_cmpstr(ub_lmsm_state_name(UB_LMSM_STATES), ==, "?");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, from, to, err, cause)                                     \
    g_test_add_data_func("/ub/lmsm/transition/" #name,                      \
                         GUINT_TO_POINTER(UB_T_##name), test_transition);
    UB_LMSM_TRANSITIONS(ADD)
    g_test_add_func("/ub/lmsm/table/rate-timeouts", test_rate_timeouts);
    g_test_add_func("/ub/lmsm/table/eq-timeouts", test_eq_timeouts);
    g_test_add_func("/ub/lmsm/table/timeout-enable", test_timeout_enable);
    g_test_add_func("/ub/lmsm/table/sent", test_sent);
    g_test_add_func("/ub/lmsm/table/sent-from-retrain",
                    test_sent_from_retrain);
    g_test_add_func("/ub/lmsm/table/consecutive", test_consecutive);
    g_test_add_func("/ub/lmsm/table/reserved", test_reserved);
    g_test_add_func("/ub/lmsm/table/variables", test_variables);
    g_test_add_func("/ub/lmsm/table/link-up", test_link_up);
    g_test_add_func("/ub/lmsm/table/new-rates", test_new_rates);
    g_test_add_func("/ub/lmsm/table/state1", test_state1);
    g_test_add_func("/ub/lmsm/eq/mismatch", test_eq_mismatch);
    g_test_add_func("/ub/lmsm/eq/no-answer", test_eq_no_answer);
    g_test_add_func("/ub/lmsm/table/idle-exit", test_idle_exit);
    g_test_add_func("/ub/lmsm/table/edf-first", test_edf_first);
    g_test_add_func("/ub/lmsm/table/names", test_names);
    return g_test_run();
}
