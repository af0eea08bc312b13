/*
 * Retrain and Change_Speed.  UB 2.0 §3.4.3.8, §3.4.3.9; FEC and CRC mode
 * switch, §3.4.2.8.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lmsm_internal.h"

#define BER_LIMIT MS(22)    /* to measure and choose, §3.4.3.8 */
#define RATES_UP_TO(dr) ((2u << (dr)) - 1)

/* ---------------------------------------------------------------- rates -- */

/*
 * What this port advertises when a rate change is on: the primary its target
 * and below (the next rung with Full_EQ), the secondary all that it wants.
 */
unsigned lmsm_target_rates(const UbLmsm *l)
{
    unsigned wanted = l->cfg.rates & RATES_UP_TO(l->cfg.target_rate);
    unsigned common;

    wanted = (wanted & ~(unsigned)l->bad_rates) | (l->cfg.rates & 1);
    if (!l->primary || l->eq_mode != UB_EQ_FULL) {
        return wanted;
    }
    common = wanted & lmsm_common(l, l->peer_all);
    if (lmsm_highest(common) > l->rate) {
        /* The lowest common rate above the present one. */
        unsigned above = common & ~RATES_UP_TO(l->rate);

        return wanted & RATES_UP_TO((unsigned)__builtin_ctz(above));
    }
    return wanted;
}

static void advertise(UbLmsm *l)
{
    if (l->change_speed) {
        l->adv = (uint16_t)lmsm_target_rates(l);
    } else if (l->primary) {
        l->adv = l->cfg.rates & (uint16_t)RATES_UP_TO(l->rate);
    } else {
        l->adv = l->cfg.rates & (uint16_t)RATES_UP_TO(l->cfg.target_rate);
    }
}

static unsigned next_rate(const UbLmsm *l)
{
    return lmsm_highest((l->adv & l->peer_adv) | 1);
}

/* -------------------------------------------------------- FEC, CRC mode -- */

/* What the registers ask for at a rate: what they say if they changed since the
 * two ends agreed, else what they agreed on.  No CRC takes FEC (§4.3.2.3). */
static unsigned own_crc(const UbLmsm *l, unsigned rate)
{
    unsigned reg = l->cfg.crc_mode[rate];

    if (l->seen[rate].crc == reg) {
        return l->agreed[rate].crc;
    }
    return lmsm_choose_fec(l, l->cfg.fec_mode[rate]) ? reg : UB_LTB_CRC30;
}

bool ub_lmsm_wants_mode(const UbLmsm *l)
{
    return own_crc(l, lmsm_best_rate(l)) != l->crc;
}

/* The mode may change only as far as the data link layer is ready for it. */
static unsigned crc_wish(const UbLmsm *l, unsigned rate)
{
    switch (l->mode_gate) {
    case UB_PHY_MODE_KEEP:
        return l->base.crc;
    case UB_PHY_MODE_FOLLOW:
        return l->base.crc == UB_LTB_CRC30 ? UB_LTB_CRC_NONE : UB_LTB_CRC30;
    default:
        return own_crc(l, rate);
    }
}

/*
 * A port wishes for what its registers say if they changed since the two ends
 * agreed at that rate, else for what they agreed on.
 */
static void make_wish(UbLmsm *l)
{
    unsigned rate = l->change_speed ? next_rate(l) : l->rate;
    UbLmsmModes reg = {
        .fec = l->cfg.fec_mode[rate],
        .crc = l->cfg.crc_mode[rate],
        .interleave = l->cfg.interleave >> rate & 1,
    };
    const UbLmsmModes *seen = &l->seen[rate];

    l->mode_gate = l->ops->mode_gate(l->opaque);
    l->wish = reg;
    l->wish.crc = (uint8_t)crc_wish(l, rate);
    if (seen->fec != 0xff) {
        const UbLmsmModes *was = &l->agreed[rate];

        l->wish.fec = seen->fec == reg.fec ? was->fec : reg.fec;
        l->wish.interleave = seen->interleave == reg.interleave
                             ? was->interleave : reg.interleave;
    }
    if (l->fec_floor > l->wish.fec) {
        l->wish.fec = l->fec_floor;
    }
    l->wish.fec = (uint8_t)lmsm_choose_fec(l, l->wish.fec);
    l->wish.interleave = l->wish.interleave &&
                         lmsm_choose_interleave(l, rate, l->wish.fec);
}

void lmsm_agree(UbLmsm *l)
{
    bool given = l->visited_retrain && l->mode_gate != UB_PHY_MODE_KEEP &&
                 l->wish.crc == l->crc;

    l->seen[l->rate] = (UbLmsmModes) {
        .fec = l->cfg.fec_mode[l->rate],
        /* A wish that was not granted is still one. */
        .crc = given ? l->cfg.crc_mode[l->rate] : l->seen[l->rate].crc,
        .interleave = l->cfg.interleave >> l->rate & 1,
    };
    l->agreed[l->rate] = (UbLmsmModes) { l->fec, l->crc, l->interleave };
}

/* The end that wants a change gets it; of two changes the primary's wins. */
static unsigned resolve(const UbLmsm *l, unsigned base, unsigned mine,
                        unsigned theirs)
{
    unsigned pri = l->primary ? mine : theirs;
    unsigned sec = l->primary ? theirs : mine;

    return pri == base ? sec : pri;
}

/* Retrain.Confirm: agree on the modes, or reject and fall back to T=4. */
static void settle_modes(UbLmsm *l, const uint8_t *ltb)
{
    bool final = !l->primary && ltb[0] == UB_LTB_RETR_CONFIRM;
    unsigned fec = ub_ltb_retr_fec(ltb), crc = ub_ltb_crc_mode(ltb);
    bool il = ub_ltb_interleave(ltb);

    if (!final) {
        fec = resolve(l, l->base.fec, l->wish.fec, fec);
        il = resolve(l, l->base.interleave, l->wish.interleave, il);
    }
    if (ub_ltb_fec_reject(ltb)) {
        fec = UB_LTB_FEC_T4;
    } else if (fec > UB_LTB_FEC_T4 || !lmsm_both_support(l, fec) ||
               (fec < l->cfg.fec_min &&
                ub_ltb_ber_status(ltb) == UB_BER_DONE)) {
        /* Only what the peer chose by measuring may be found too weak. */
        fec = UB_LTB_FEC_T4;
        l->fec_reject = true;
    }
    if (l->fec_reject) {
        fec = UB_LTB_FEC_T4;
    }
    /* Both ends must want it: one whose data link layer is not ready would
     * take the peer's data for damaged. */
    if (crc != l->wish.crc) {
        crc = l->base.crc;
    }
    if (crc == UB_LTB_CRC_NONE && fec == UB_LTB_FEC_BYPASS) {
        fec = UB_LTB_FEC_T4;
    }
    if (ub_ltb_interleave_reject(ltb) ||
        (il && (l->cfg.interleave_support & (l->tx_m | l->rx_n)) !=
               (unsigned)(l->tx_m | l->rx_n))) {
        l->il_reject = true;
    }
    il = il && !l->il_reject && fec;
    if (fec != l->fec || crc != l->crc || il != l->interleave) {
        lmsm_set_fec(l, fec, il, crc);
    }
}

/* ----------------------------------------------------------------- RLTB -- */

/* §3.4.3.8: an EQ_Initial exchange goes before a rate not yet equalised. */
static bool wants_eq(const UbLmsm *l)
{
    return l->change_speed && l->next_rate > l->rate &&
           l->eq_mode != UB_EQ_SKIP && !l->bypass_equalization &&
           (!(l->eq_complete >> l->next_rate & 1) || l->want.eq);
}

/* Software wants an equalisation that has been done before. */
static bool wants_redo(const UbLmsm *l)
{
    return wants_eq(l) && (l->eq_complete >> l->next_rate & 1);
}

void lmsm_build_rltb(const UbLmsm *l, unsigned lane, uint8_t *ltb,
                     UbLtbType type)
{
    const UbEqSetting *eq = &l->eql[lane].tx;
    bool confirm = l->state == UB_LMSM_RETR_CONFIRM && !l->change_speed;

    ub_ltb_init(ltb, type);
    if (type == UB_LTB_RETR_EQ_INIT) {
        ub_ltb_set_local_hs(ltb, UB_EQ_HS);
        ub_ltb_set_local_ls(ltb, UB_EQ_LS);
        ub_ltb_set_remote_preset(ltb,
                                 lmsm_eq_remote_preset(l, l->next_rate, lane));
    } else {
        ub_ltb_set_retr_post(ltb, eq->post);
        ub_ltb_set_retr_cursor(ltb, eq->cursor);
        if (lmsm_pam4(l)) {
            ub_ltb_set_retr_pre1(ltb, eq->pre[0]);
            ub_ltb_set_retr_pre2(ltb, eq->pre[1]);
            ub_ltb_set_retr_pre3(ltb, eq->pre[2]);
        } else {
            ub_ltb_set_retr_pre(ltb, eq->pre[0]);
        }
    }
    ub_ltb_set_rates(ltb, l->adv);
    ub_ltb_set_change_speed(ltb, l->change_speed);
    ub_ltb_set_retr_fec(ltb, confirm ? l->fec : l->wish.fec);
    ub_ltb_set_crc_mode(ltb, confirm ? l->crc : l->wish.crc);
    ub_ltb_set_interleave(ltb, confirm ? l->interleave : l->wish.interleave);
    ub_ltb_set_fec_reject(ltb, confirm && l->fec_reject);
    ub_ltb_set_interleave_reject(ltb, confirm && l->il_reject);
    ub_ltb_set_ber_status(ltb, l->ber_status);
    ub_ltb_set_request_eq(ltb, l->request_eq || wants_redo(l));
    ub_ltb_set_local_preset(ltb, eq->preset);
}

static bool is_rltb(const uint8_t *ltb)
{
    return ub_ltb_kind(ltb[0]) == UB_LTB_RLTB && ltb[0] != UB_LTB_RETR_LP1_UP;
}

/* ------------------------------------------------------- Retrain.Active -- */

static void start_ber(UbLmsm *l)
{
    int64_t window = l->cfg.ber_window < BER_LIMIT ? l->cfg.ber_window
                                                   : BER_LIMIT;

    l->ber_status = UB_BER_NONE;
    l->ber_ltbs = l->ber_bad = 0;
    if (l->cfg.measure_ber && l->primary && !l->change_speed) {
        l->ber_status = UB_BER_MEASURING;
        l->settle_at = l->now + lmsm_ns(l, window);
    }
}

/*
 * Any broken block asks for FEC; one in a thousand for the strong mode.  The
 * peer is given the rest of the 22 ms to show the choice, or to reject it.
 */
static void end_ber(UbLmsm *l)
{
    l->ber_status = UB_BER_DONE;
    l->settle_at = l->entered + lmsm_ns(l, BER_LIMIT);
    lmsm_forget(l);
    if (l->ber_bad * 1000u > l->ber_ltbs) {
        l->wish.fec = (uint8_t)lmsm_choose_fec(l, UB_LTB_FEC_T4);
    } else if (l->ber_bad && l->wish.fec == UB_LTB_FEC_BYPASS) {
        l->wish.fec = (uint8_t)lmsm_choose_fec(l, UB_LTB_FEC_T2);
    }
}

static bool choice_answered(UbLmsm *l)
{
    for (unsigned i = 0; i < l->rx_n; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (lane && lane->run >= 2 && is_rltb(lane->ltb) &&
            (ub_ltb_fec_reject(lane->ltb) ||
             ub_ltb_retr_fec(lane->ltb) == l->wish.fec)) {
            return true;
        }
    }
    return false;
}

static void retr_active_enter(UbLmsm *l)
{
    bool lost = l->got.loss || l->got.ei || l->got.framing;

    if (l->from == UB_LMSM_LINK_ACTIVE || l->from == UB_LMSM_SEND_NULLBLOCK) {
        l->entry_rate = l->rate;
        l->rate_changed = false;
        l->stats.retrains++;
        l->visited_retrain = true;
        l->base = (UbLmsmModes) { l->fec, l->crc, l->interleave };
        l->request_eq = false;
        lmsm_width_reset(l);
    }
    /*
     * Data is taken until the peer's EDF; a receiver that lost its lanes, or
     * waits for an EDF in vain, looks for training blocks anew.
     */
    l->relock_at = l->now + lmsm_ns(l, MS(6));
    if (lost) {
        l->ops->rx_relock(l->opaque);
    }
    l->from_eq = l->from >= UB_LMSM_EQ_COARSE_ACTIVE;
    if (l->from != UB_LMSM_LINK_ACTIVE || l->start_eq_init) {
        l->change_speed = false;
    }
    l->got.edf = l->want.retrain = l->got.framing = l->got.retry = false;
    l->got.loss = 0;
    l->got.ei = l->null_ok = l->fec_reject = l->il_reject = false;
    l->sdf = 0;
    l->nulls = 0;
    if (l->link_ready) {
        l->link_ready = false;
        lmsm_status(l, UB_PHY_ST_READY);
    }
    advertise(l);
    l->next_rate = (uint8_t)next_rate(l);
    make_wish(l);
    start_ber(l);
}

static void build_retr_active(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    lmsm_build_rltb(l, lane, ltb, UB_LTB_RETR_ACTIVE);
}

static void want_change(UbLmsm *l)
{
    l->change_speed = true;
    advertise(l);
    l->next_rate = (uint8_t)next_rate(l);
    make_wish(l);
}

static void retr_active_block(UbLmsm *l, UbLmsmLane *lane)
{
    if (!is_rltb(lane->ltb)) {
        return;
    }
    l->peer_adv = (uint16_t)ub_ltb_rates(lane->ltb);
    if (ub_ltb_request_eq(lane->ltb) && lane->run >= 2) {
        l->eq_state[l->rate] |= UB_EQS_LINK_REQUEST;
    }
    if (ub_ltb_change_speed(lane->ltb) && lane->run >= 8 &&
        !l->change_speed && !l->start_eq_init && !l->fix_data_rate_mode &&
        lmsm_configured(l, lane)) {
        want_change(l);
    }
}

static bool retr_active_match(const UbLmsm *l, const UbLmsmLane *lane)
{
    return is_rltb(lane->ltb) &&
           ub_ltb_change_speed(lane->ltb) == l->change_speed;
}

static bool any_change_speed(UbLmsm *l, unsigned run)
{
    for (unsigned i = 0; i < l->rx_n; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (lane && lane->run >= run && is_rltb(lane->ltb) &&
            ub_ltb_change_speed(lane->ltb)) {
            return true;
        }
    }
    return false;
}

static void go_change_speed(UbLmsm *l, UbLmsmTransitionId id, unsigned reason)
{
    l->speed_reason = (uint8_t)reason;
    lmsm_go(l, id);
}

/* The order of the exits is the document's. */
static bool retr_active_timeout(UbLmsm *l)
{
    if (!l->fix_data_rate_mode) {
        if (any_change_speed(l, 8) &&
            (l->rate > 0 || next_rate(l) > l->rate)) {
            return lmsm_go(l, UB_T_RA_TIMEOUT_SPEED);
        }
        if (!l->rate_changed && l->rate > 0) {
            go_change_speed(l, UB_T_RA_TIMEOUT_DR0, LMSM_SPEED_DR0);
            return true;
        }
        if (l->rate_changed && l->rate > 0) {
            go_change_speed(l, UB_T_RA_TIMEOUT_BACK, LMSM_SPEED_BACK);
            return true;
        }
        if (l->saw.blocks && !l->changed_speed_retrain &&
            !any_change_speed(l, 1)) {
            return lmsm_go(l, UB_T_RA_TIMEOUT_DISC);
        }
    } else if (l->saw.blocks) {
        return lmsm_go(l, UB_T_RA_TIMEOUT_FIXED);
    }
    return lmsm_go(l, UB_T_RA_TIMEOUT_IDLE);
}

static bool retr_active_step(UbLmsm *l)
{
    if (l->start_eq_init) {
        return lmsm_go(l, l->primary ? UB_T_RA_EQ_PRIMARY
                                     : UB_T_RA_EQ_SECONDARY);
    }
    if (lmsm_any_run(l, UB_LTB_DLTB, 2)) {
        return lmsm_go(l, UB_T_RA_DLTB);
    }
    if (l->now >= l->relock_at && !lmsm_all_run(l, UB_LTB_RLTB, 1)) {
        l->relock_at = l->now + lmsm_ns(l, MS(6));
        l->ops->rx_relock(l->opaque);
    }
    if (l->ber_status == UB_BER_MEASURING) {
        if (l->now < l->settle_at) {
            return false;
        }
        end_ber(l);
    }
    if (l->ber_status == UB_BER_DONE && l->now < l->settle_at &&
        !choice_answered(l)) {
        return false;
    }
    if (lmsm_all_ok(l, l->rx_n) && lmsm_sent(l)) {
        return lmsm_go(l, UB_T_RA_MATCH);
    }
    return lmsm_timed_out(l) && retr_active_timeout(l);
}

const LmsmState lmsm_retr_active = {
    .name = "Retrain.Active",
    .enter = retr_active_enter,
    .step = retr_active_step,
    .build = build_retr_active,
    .block = retr_active_block,
    .match = retr_active_match,
    .timeout = MS(24),
    .run = 8,
    .kind = UB_LTB_RLTB,
    .need = 16,
};

/* ------------------------------------------------------ Retrain.Confirm -- */

static void retr_confirm_enter(UbLmsm *l)
{
    l->start_eq_init = false;
    l->saw.c1 = l->saw.c3 = l->saw.speed8 = false;
    l->next_rate = (uint8_t)next_rate(l);
    l->c3 = wants_eq(l);
    l->request_eq = l->from_eq && lmsm_eq_mismatch(l);
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        l->lane[i].was_idle = l->lane[i].eei = false;
        l->c3_preset[i] = 0xff;
    }
}

static void build_retr_confirm(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    lmsm_build_rltb(l, lane, ltb,
                    l->c3 ? UB_LTB_RETR_EQ_INIT : UB_LTB_RETR_CONFIRM);
}

static void retr_confirm_block(UbLmsm *l, UbLmsmLane *lane)
{
    const uint8_t *ltb = lane->ltb;
    bool speed;

    if (!is_rltb(ltb) || !lmsm_configured(l, lane)) {
        return;
    }
    l->peer_adv = (uint16_t)ub_ltb_rates(ltb);
    l->saw.c1 |= ltb[0] == UB_LTB_RETR_CONFIRM;
    l->saw.c3 |= ltb[0] == UB_LTB_RETR_EQ_INIT;
    speed = ub_ltb_change_speed(ltb) && !l->fix_data_rate_mode;
    if (speed && lane->run >= 8 && !l->change_speed) {
        want_change(l);
        l->c3 = wants_eq(l);
    }
    if (speed && ltb[0] != UB_LTB_RETR_ACTIVE) {
        l->saw.speed = true;
        if (lane->run >= 8) {
            l->saw.speed8 = true;
            if (ltb[0] == UB_LTB_RETR_EQ_INIT) {
                lmsm_eq_take_c3(l);
            }
        }
    }
    if (!l->change_speed && lane->run >= 2) {
        settle_modes(l, ltb);
    }
}

static bool retr_confirm_match(const UbLmsm *l, const UbLmsmLane *lane)
{
    const uint8_t *ltb = lane->ltb;

    return ltb[0] == UB_LTB_RETR_CONFIRM &&
           (!ub_ltb_change_speed(ltb) ||
            (l->rate == 0 && (ub_ltb_rates(ltb) <= 1 || l->adv <= 1)));
}

/*
 * An announced idle on any lane, or idle on all of them.  Some idle lanes
 * alone are a peer that went on to Discovery with fewer: it never goes to
 * Change_Speed, which waits for idle on all lanes.
 */
static bool peer_idle(UbLmsm *l)
{
    bool all = l->rx_n;

    for (unsigned i = 0; i < l->rx_n; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (lane && lane->eei) {
            return true;
        }
        all = all && lane && lane->was_idle;
    }
    return all;
}

static bool retr_confirm_timeout(UbLmsm *l)
{
    if (l->fix_data_rate_mode) {
        if (l->saw.blocks) {
            return lmsm_go(l, UB_T_RC_TIMEOUT_FIXED);
        }
    } else if (l->saw.blocks && l->rate == 0 && !l->changed_speed_retrain &&
               !any_change_speed(l, 1)) {
        return lmsm_go(l, UB_T_RC_TIMEOUT_DISC);
    }
    if (l->retrain_num < 0xff && l->rate > 0) {
        return lmsm_go(l, UB_T_RC_TIMEOUT_DATA);
    }
    return lmsm_go(l, UB_T_RC_TIMEOUT_IDLE);
}

static bool retr_confirm_step(UbLmsm *l)
{
    if (l->reconf) {
        return lmsm_go(l, UB_T_RC_WIDTH);
    }
    if (lmsm_any_run(l, UB_LTB_DLTB, 8)) {
        return lmsm_go(l, UB_T_RC_DLTB);
    }
    if (l->saw.speed8 && l->sent_speed >= 128 &&
        (l->rate > 0 || (l->adv > 1 && l->peer_adv > 1))) {
        l->next_rate = (uint8_t)next_rate(l);
        l->refused = (uint16_t)(lmsm_target_rates(l) &
                                ~RATES_UP_TO(l->next_rate));
        l->start_eq_init = l->c3 || l->saw.c3;
        go_change_speed(l, UB_T_RC_SPEED, LMSM_SPEED_NORMAL);
        return true;
    }
    if (lmsm_all_ok(l, l->rx_n) && lmsm_sent(l)) {
        if (l->change_speed && next_rate(l) <= l->rate) {
            /* The peer aims no higher: asked again, it would say so again. */
            l->refused |= (uint16_t)(lmsm_target_rates(l) &
                                     ~RATES_UP_TO(l->rate));
        }
        return lmsm_go(l, UB_T_RC_DATA);
    }
    if (!l->saw.speed8 && !l->fix_data_rate_mode && peer_idle(l)) {
        if (l->rate_changed && !l->saw.c1) {
            go_change_speed(l, UB_T_RC_EI_BACK, LMSM_SPEED_BACK);
            return true;
        }
        if (!l->rate_changed && !l->saw.c1 && !l->saw.c3) {
            go_change_speed(l, UB_T_RC_EI_DR0, LMSM_SPEED_DR0);
            return true;
        }
    }
    return lmsm_timed_out(l) && retr_confirm_timeout(l);
}

const LmsmState lmsm_retr_confirm = {
    .name = "Retrain.Confirm",
    .enter = retr_confirm_enter,
    .step = retr_confirm_step,
    .build = build_retr_confirm,
    .block = retr_confirm_block,
    .match = retr_confirm_match,
    .timeout = MS(48),
    .run = 8,
    .kind = UB_LTB_RLTB,
    .need = 16,
};

/* --------------------------------------------------------- Change_Speed -- */

static void change_speed_enter(UbLmsm *l)
{
    bool normal = l->speed_reason == LMSM_SPEED_NORMAL;

    if (l->speed_reason == LMSM_SPEED_BACK) {
        /* The new rate failed: do not climb to it again unasked. */
        l->bad_rates |= (uint16_t)(1u << l->rate);
        l->next_rate = l->entry_rate;
    } else if (l->speed_reason == LMSM_SPEED_DR0) {
        l->next_rate = 0;
    }
    if (!normal) {
        l->start_eq_init = false;
    }
    lmsm_tx_idle(l, true);
    lmsm_forget(l);
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        l->lane[i].was_idle = l->lane[i].idle;
    }
    l->rate_pending = true;
    l->hold_at = l->now + lmsm_ns(l, normal ? l->cfg.speed_hold
                                            : l->cfg.speed_hold_fail);
}

static bool change_speed_step(UbLmsm *l)
{
    bool idle = true;

    for (unsigned i = 0; i < l->rx_n; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);

        idle = idle && lane && lane->was_idle;
    }
    if (idle && l->rate_pending) {
        /* The peer may leave idle first; be ready to hear it. */
        unsigned mask = 0;

        for (unsigned i = 0; i < l->rx_n; i++) {
            mask |= 1u << l->rx_phys[i];
        }
        l->rate_pending = false;
        l->ops->rx_enable(l->opaque, mask, l->next_rate);
    }
    if (idle && l->now >= l->hold_at) {
        lmsm_set_rate(l, l->next_rate);
        l->changed_speed_retrain = l->speed_reason == LMSM_SPEED_NORMAL;
        l->rate_changed = l->changed_speed_retrain;
        l->change_speed = false;
        lmsm_eq_start_rate(l);
        return lmsm_go(l, UB_T_CS_DONE);
    }
    l->settle_at = idle ? l->hold_at : INT64_MAX;
    if (lmsm_timed_out(l)) {
        return lmsm_go(l, UB_T_CS_TIMEOUT);
    }
    return false;
}

const LmsmState lmsm_change_speed = {
    .name = "Change_Speed",
    .enter = change_speed_enter,
    .step = change_speed_step,
    .timeout = MS(48),
};
