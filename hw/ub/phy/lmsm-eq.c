/*
 * Equalization.  UB 2.0 §3.4.3.10, §3.4.2.9.
 *
 * A phase code on the wire names a pair of states: 10 is sent by the primary in
 * EQ.Passive and the secondary in EQ.Active, 11 by the others.  So the partner
 * of a state sends the same code, and the other code announces its next state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm_internal.h"

#define ASK_TIMEOUT MS(2)   /* without an answer the next setting is asked */

/* ------------------------------------------------------------- settings -- */

unsigned lmsm_eq_remote_preset(const UbLmsm *l, unsigned rate, unsigned lane)
{
    unsigned preset = l->cfg.remote_preset[rate % UB_DATA_RATES][lane];

    return preset < UB_EQ_PRESETS ? preset : l->eq.first % UB_EQ_PRESETS;
}

/* The peer's Remote_Initial_TX_Preset speaks of our transmitters. */
void lmsm_eq_take_c3(UbLmsm *l)
{
    for (unsigned i = 0; i < l->rx_n; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (lane && lane->run >= 8 && lane->ltb[0] == UB_LTB_RETR_EQ_INIT) {
            l->c3_preset[i] = (uint8_t)ub_ltb_remote_preset(lane->ltb);
        }
    }
}

/*
 * Settings that the transmitters start a rate with: those of the last
 * equalisation, or before a new one the preset of the peer's EQ_Initial, of
 * the register, or any legal one.
 */
void lmsm_eq_start_rate(UbLmsm *l)
{
    bool pam4 = lmsm_pam4(l);

    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        UbLmsmEqLane *e = &l->eql[i];

        memset(e, 0, sizeof(*e));
        e->tx = l->tx_eq[l->rate][i];
        if (l->start_eq_init || !e->tx.cursor) {
            if (!(l->start_eq_init && ub_eq_preset(&e->tx, l->c3_preset[i],
                                                   pam4)) &&
                !ub_eq_preset(&e->tx, l->cfg.local_preset[l->rate][i], pam4)) {
                ub_eq_preset(&e->tx, l->eq.first % UB_EQ_PRESETS, pam4);
            }
        }
    }
}

/* Coming from EQ: RLTBs must show the settings that were agreed on. */
bool lmsm_eq_mismatch(UbLmsm *l)
{
    bool pam4 = lmsm_pam4(l);

    for (unsigned i = 0; i < l->rx_n; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);
        const UbLmsmEqLane *e = &l->eql[i];
        UbEqSetting got;

        /* EQ_Initial alone has no coefficients. */
        if (!lane || !lane->run || !e->has_best ||
            (lane->ltb[0] != UB_LTB_RETR_ACTIVE &&
             lane->ltb[0] != UB_LTB_RETR_CONFIRM)) {
            continue;
        }
        got = (UbEqSetting) {
            .preset = (uint8_t)ub_ltb_local_preset(lane->ltb),
            .cursor = (uint8_t)ub_ltb_retr_cursor(lane->ltb),
            .post = (uint8_t)ub_ltb_retr_post(lane->ltb),
        };
        if (pam4) {
            got.pre[0] = (uint8_t)ub_ltb_retr_pre1(lane->ltb);
            got.pre[1] = (uint8_t)ub_ltb_retr_pre2(lane->ltb);
            got.pre[2] = (uint8_t)ub_ltb_retr_pre3(lane->ltb);
        } else {
            got.pre[0] = (uint8_t)ub_ltb_retr_pre(lane->ltb);
        }
        if (got.cursor != e->best.cursor || got.post != e->best.post ||
            memcmp(got.pre, e->best.pre, sizeof(got.pre)) ||
            (e->best.by_preset && got.preset != e->best.preset)) {
            return true;
        }
    }
    return false;
}

static void put_setting(const UbLmsm *l, uint8_t *ltb, const UbEqSetting *s)
{
    ub_ltb_set_preset_mode(ltb, s->by_preset);
    ub_ltb_set_tx_preset(ltb, s->preset);
    ub_ltb_set_eq_post(ltb, s->post);
    ub_ltb_set_eq_cursor(ltb, s->cursor);
    if (lmsm_pam4(l)) {
        ub_ltb_set_eq_pre1(ltb, s->pre[0]);
        ub_ltb_set_eq_pre2(ltb, s->pre[1]);
        ub_ltb_set_eq_pre3(ltb, s->pre[2]);
    } else {
        ub_ltb_set_eq_pre(ltb, s->pre[0]);
    }
}

static UbEqSetting get_setting(const UbLmsm *l, const uint8_t *ltb)
{
    UbEqSetting s = {
        .by_preset = (uint8_t)ub_ltb_preset_mode(ltb),
        .preset = (uint8_t)ub_ltb_tx_preset(ltb),
        .post = (uint8_t)ub_ltb_eq_post(ltb),
        .cursor = (uint8_t)ub_ltb_eq_cursor(ltb),
    };

    if (lmsm_pam4(l)) {
        s.pre[0] = (uint8_t)ub_ltb_eq_pre1(ltb);
        s.pre[1] = (uint8_t)ub_ltb_eq_pre2(ltb);
        s.pre[2] = (uint8_t)ub_ltb_eq_pre3(ltb);
    } else {
        s.pre[0] = (uint8_t)ub_ltb_eq_pre(ltb);
    }
    return s;
}

/* --------------------------------------------------------------- shared -- */

static void set_state1(UbLmsm *l, unsigned bits)
{
    l->eq_state[l->rate] |= (uint8_t)bits;
    lmsm_status(l, UB_PHY_ST_EQ);
}

static bool leave(UbLmsm *l, UbLmsmTransitionId id, unsigned bits)
{
    bool ok = bits & UB_EQS_COMPLETE;

    set_state1(l, bits);
    if (ub_lmsm_transitions[id].to == UB_LMSM_CHANGE_SPEED) {
        l->speed_reason = LMSM_SPEED_BACK;
        ok = false;
    }
    if (ok) {
        l->eq_complete |= (uint16_t)(1u << l->rate);
    }
    if (ub_lmsm_transitions[id].to == UB_LMSM_RETR_ACTIVE) {
        for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
            l->tx_eq[l->rate][i] = l->eql[i].tx;
        }
    }
    return lmsm_go(l, id);
}

static bool phase_is(const UbLmsmLane *lane, unsigned phase)
{
    return lane->ltb[0] == UB_LTB_EQUALIZATION &&
           ub_ltb_eq_phase(lane->ltb) == phase;
}

static bool all_phase(UbLmsm *l, unsigned phase)
{
    for (unsigned i = 0; i < l->rx_n; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (!lane || lane->run < 2 || !phase_is(lane, phase)) {
            return false;
        }
    }
    return l->rx_n != 0;
}

static unsigned my_phase(const UbLmsm *l)
{
    bool passive = l->state == UB_LMSM_EQ_PASSIVE;

    return l->primary == passive ? UB_EQPH_SEC_ACTIVE : UB_EQPH_PRI_ACTIVE;
}

static void build_eltb(const UbLmsm *l, uint8_t *ltb, unsigned phase,
                       const UbEqSetting *s)
{
    ub_ltb_init(ltb, UB_LTB_EQUALIZATION);
    ub_ltb_set_eq_phase(ltb, phase);
    put_setting(l, ltb, s);
}

/* ---------------------------------------------------------- coarse tune -- */

static void coarse_enter(UbLmsm *l)
{
    l->eq_state[l->rate] &= (uint8_t)~(UB_EQS_COMPLETE |
                                       UB_EQS_COARSE_COMPLETE |
                                       UB_EQS_COARSE_OK | UB_EQS_PASSIVE_OK |
                                       UB_EQS_ACTIVE_OK);
    if (l->from == UB_LMSM_RETR_ACTIVE) {
        l->eq_complete = 0;
        l->want.eq = false;
    }
    l->start_eq_init = false;
    /* The primary's time to move on is longer (§3.4.3.10). */
    if (l->state == UB_LMSM_EQ_COARSE_CONFIRM && l->primary &&
        l->deadline != INT64_MAX) {
        l->deadline = l->now + lmsm_patience(l, MS(24));
    }
    l->settle_at = l->eq.dead ? INT64_MAX
                              : l->now + lmsm_ns(l, l->eq.adapt_ns);
    lmsm_status(l, UB_PHY_ST_EQ);
}

static void build_coarse_active(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_eltb(l, ltb, UB_EQPH_COARSE_ACTIVE, &l->eql[lane].tx);
}

static void build_coarse_confirm(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_eltb(l, ltb, UB_EQPH_COARSE_CONFIRM, &l->eql[lane].tx);
}

static bool skip_coarse(const UbLmsm *l)
{
    return l->cfg.skip_coarse >> l->rate & 1;
}

static bool coarse_active_step(UbLmsm *l)
{
    if (all_phase(l, UB_EQPH_COARSE_CONFIRM) && l->now >= l->settle_at) {
        return lmsm_go(l, UB_T_ECA_MATCH);
    }
    if (!lmsm_timed_out(l)) {
        return false;
    }
    if (skip_coarse(l)) {
        return lmsm_go(l, UB_T_ECA_TIMEOUT_SKIP);
    }
    return leave(l, UB_T_ECA_TIMEOUT, UB_EQS_COMPLETE | UB_EQS_COARSE_COMPLETE);
}

static bool coarse_confirm_primary(UbLmsm *l)
{
    const unsigned coarse = UB_EQS_COARSE_COMPLETE | UB_EQS_COARSE_OK;

    if (all_phase(l, UB_EQPH_COARSE_CONFIRM) && l->now >= l->settle_at) {
        if (l->eq.fine_tune) {
            return leave(l, UB_T_ECC_PRI_FINE, coarse);
        }
        return leave(l, UB_T_ECC_PRI_DONE, coarse | UB_EQS_ACTIVE_OK |
                                           UB_EQS_PASSIVE_OK | UB_EQS_COMPLETE);
    }
    if (!lmsm_timed_out(l)) {
        return false;
    }
    if (skip_coarse(l)) {
        return leave(l, UB_T_ECC_PRI_TIMEOUT_SKIP, coarse);
    }
    return leave(l, UB_T_ECC_PRI_TIMEOUT,
                 UB_EQS_COMPLETE | UB_EQS_COARSE_COMPLETE);
}

static bool coarse_confirm_secondary(UbLmsm *l)
{
    const unsigned coarse = UB_EQS_COARSE_COMPLETE | UB_EQS_COARSE_OK;

    if (all_phase(l, UB_EQPH_SEC_ACTIVE)) {
        return leave(l, UB_T_ECC_SEC_FINE, coarse);
    }
    if (lmsm_all_run(l, UB_LTB_RLTB, 8)) {
        return leave(l, UB_T_ECC_SEC_RLTB, coarse | UB_EQS_COMPLETE);
    }
    if (!lmsm_timed_out(l)) {
        return false;
    }
    if (skip_coarse(l) && l->eq.fine_tune) {
        return leave(l, UB_T_ECC_SEC_TIMEOUT_SKIP, coarse);
    }
    return leave(l, UB_T_ECC_SEC_TIMEOUT,
                 UB_EQS_COMPLETE | UB_EQS_COARSE_COMPLETE);
}

static bool coarse_confirm_step(UbLmsm *l)
{
    return l->primary ? coarse_confirm_primary(l)
                      : coarse_confirm_secondary(l);
}

const LmsmState lmsm_eq_coarse_active = {
    .name = "EQ.Coarsetune_Active",
    .enter = coarse_enter,
    .step = coarse_active_step,
    .build = build_coarse_active,
    .timeout = MS(12),
    .kind = UB_LTB_ELTB,
};

const LmsmState lmsm_eq_coarse_confirm = {
    .name = "EQ.Coarsetune_Confirm",
    .enter = coarse_enter,
    .step = coarse_confirm_step,
    .build = build_coarse_confirm,
    .timeout = MS(12),
    .kind = UB_LTB_ELTB,
};

/* ----------------------------------------------------------- EQ.Passive -- */

static void passive_enter(UbLmsm *l)
{
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        l->eql[i].echo = l->eql[i].tx;
        l->eql[i].reject = false;
    }
    if (l->deadline != INT64_MAX) {
        l->deadline = l->now +
                      lmsm_patience(l, l->rate <= 4 ? MS(32) : MS(64));
    }
}

static void build_passive(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_eltb(l, ltb, my_phase(l), &l->eql[lane].echo);
    ub_ltb_set_eq_reject(ltb, l->eql[lane].reject);
}

static int logical_of(const UbLmsm *l, const UbLmsmLane *lane)
{
    for (unsigned i = 0; i < l->rx_n; i++) {
        if (l->rx_phys[i] == lane - l->lane) {
            return (int)i;
        }
    }
    return -1;
}

/*
 * A request that came on RX lane i is for the transmitter of TX lane i: lanes
 * of the same logical number belong together also where the wires are reversed.
 * With fewer TX than RX lanes the upper requests have no transmitter.
 */
static void passive_block(UbLmsm *l, UbLmsmLane *lane)
{
    int i = logical_of(l, lane);
    UbLmsmEqLane *e;
    UbEqSetting ask;

    if (i < 0 || lane->run < 2 || !phase_is(lane, my_phase(l))) {
        return;
    }
    e = &l->eql[i];
    ask = get_setting(l, lane->ltb);
    e->reject = !ub_eq_legal(&l->eq, &ask);
    e->echo = ask;
    if (!e->reject) {
        if (ask.by_preset) {
            ub_eq_preset(&e->echo, ask.preset, lmsm_pam4(l));
        }
        e->tx = e->echo;
    }
}

static bool passive_step(UbLmsm *l)
{
    if (l->primary && all_phase(l, UB_EQPH_PRI_ACTIVE)) {
        return leave(l, UB_T_EQP_PASSIVE, UB_EQS_PASSIVE_OK);
    }
    if (lmsm_all_run(l, UB_LTB_RLTB, 2)) {
        return leave(l, UB_T_EQP_RLTB, UB_EQS_PASSIVE_OK |
                     (l->eq_state[l->rate] & UB_EQS_COMPLETE));
    }
    if (lmsm_timed_out(l)) {
        return leave(l, UB_T_EQP_TIMEOUT, UB_EQS_COMPLETE);
    }
    return false;
}

const LmsmState lmsm_eq_passive = {
    .name = "EQ.Passive",
    .enter = passive_enter,
    .step = passive_step,
    .build = build_passive,
    .block = passive_block,
    .timeout = MS(32),
    .kind = UB_LTB_ELTB,
};

/* ------------------------------------------------------------ EQ.Active -- */

static void ask_next(UbLmsm *l, UbLmsmEqLane *e)
{
    e->accepted = false;
    e->asked_at = l->now;
    if (!e->finishing && ub_eq_candidate(&l->eq, e->index, &e->ask,
                                         lmsm_pam4(l))) {
        e->index++;
        return;
    }
    /* All were tried: the best one once more, to stay. */
    if (e->finishing || !e->has_best) {
        e->done = e->has_best;
        return;
    }
    e->finishing = true;
    e->ask = e->best;
}

static void active_enter(UbLmsm *l)
{
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        UbLmsmEqLane *e = &l->eql[i];

        e->index = 0;
        e->done = e->accepted = e->finishing = e->has_best = false;
        /*
         * Optical links leave the far end as it is (§3.4.3.10), and a request
         * needs a lane of our own to travel on (§3.4.2.9, asymmetric links).
         */
        if (l->cfg.optical || i >= l->rx_n || i >= l->tx_m) {
            e->done = true;
            e->ask = e->tx;
        } else {
            ask_next(l, e);
        }
    }
    if (l->deadline != INT64_MAX) {
        l->deadline = l->now +
                      lmsm_patience(l, l->rate <= 4 ? MS(24) : MS(48));
    }
}

static void build_active(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_eltb(l, ltb, my_phase(l), &l->eql[lane].ask);
}

static void active_block(UbLmsm *l, UbLmsmLane *lane)
{
    int i = logical_of(l, lane);
    UbLmsmEqLane *e;
    UbEqSetting echo;

    if (i < 0 || lane->run < 2 || !phase_is(lane, my_phase(l))) {
        return;
    }
    e = &l->eql[i];
    echo = get_setting(l, lane->ltb);
    if (e->done || e->accepted || !ub_eq_same(&echo, &e->ask)) {
        return;
    }
    if (ub_ltb_eq_reject(lane->ltb)) {
        ask_next(l, e);
        return;
    }
    e->accepted = true;
    e->accepted_at = l->now;
}

static void evaluate_lane(UbLmsm *l, unsigned i)
{
    UbLmsmEqLane *e = &l->eql[i];
    int64_t settle = lmsm_ns(l, l->eq.settle_ns);

    if (e->done) {
        return;
    }
    if (e->accepted && l->now >= e->accepted_at + settle) {
        unsigned eye = ub_eq_eye(&l->eq, i, &e->ask, lmsm_pam4(l));

        if (e->finishing) {
            e->done = true;
            return;
        }
        if (!e->has_best || eye > e->best_eye) {
            e->has_best = true;
            e->best = e->ask;
            e->best_eye = (uint8_t)eye;
        }
        ask_next(l, e);
    } else if (!e->accepted &&
               l->now >= e->asked_at + lmsm_ns(l, ASK_TIMEOUT)) {
        ask_next(l, e);
    }
    if (!e->done) {
        int64_t t = e->accepted ? e->accepted_at + settle
                                : e->asked_at + lmsm_ns(l, ASK_TIMEOUT);

        l->settle_at = t < l->settle_at ? t : l->settle_at;
    }
}

static bool active_step(UbLmsm *l)
{
    bool done = !l->eq.dead;

    l->settle_at = INT64_MAX;
    for (unsigned i = 0; i < l->rx_n; i++) {
        evaluate_lane(l, i);
        done = done && l->eql[i].done;
    }
    if (done) {
        return leave(l, l->primary ? UB_T_EQA_PRI_DONE : UB_T_EQA_SEC_DONE,
                     UB_EQS_ACTIVE_OK | UB_EQS_COMPLETE);
    }
    if (lmsm_timed_out(l)) {
        return leave(l, UB_T_EQA_TIMEOUT, UB_EQS_COMPLETE);
    }
    return false;
}

const LmsmState lmsm_eq_active = {
    .name = "EQ.Active",
    .enter = active_enter,
    .step = active_step,
    .build = build_active,
    .block = active_block,
    .timeout = MS(24),
    .kind = UB_LTB_ELTB,
};

unsigned ub_lmsm_eye(const UbLmsm *l, unsigned lane)
{
    return ub_eq_eye(&l->eq, lane, &l->eql[lane].ask, lmsm_pam4(l));
}
