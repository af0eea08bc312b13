/*
 * Config, Send_NullBlock and Link_Active.  UB 2.0 §3.4.3.5-§3.4.3.7.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lmsm_internal.h"

/* --------------------------------------------------------------- Config -- */

/* FEC_Mode_Support has a bit per mode; bypass needs none. */
bool lmsm_both_support(const UbLmsm *l, unsigned fec)
{
    return fec == UB_LTB_FEC_BYPASS ||
           (l->cfg.fec_support & l->peer_fec_support & fec);
}

/* The registers' wish for the rate, or the strongest both ends have. */
unsigned lmsm_choose_fec(const UbLmsm *l, unsigned wish)
{
    if (wish <= UB_LTB_FEC_T4 && lmsm_both_support(l, wish)) {
        return wish;
    }
    if (lmsm_both_support(l, UB_LTB_FEC_T4)) {
        return UB_LTB_FEC_T4;
    }
    return lmsm_both_support(l, UB_LTB_FEC_T2) ? UB_LTB_FEC_T2
                                               : UB_LTB_FEC_BYPASS;
}

/* Interleave needs both ends at the widths of both directions. */
bool lmsm_choose_interleave(const UbLmsm *l, unsigned rate, unsigned fec)
{
    unsigned widths = l->tx_m | l->rx_n;

    return (l->cfg.interleave >> rate & 1) && fec &&
           (l->cfg.interleave_support & l->peer_interleave & widths) == widths;
}

static void conf_active_enter(UbLmsm *l)
{
    unsigned mask = 0, fec;

    for (unsigned i = 0; i < l->rx_n; i++) {
        mask |= l->rx_phys[i] < UB_LMSM_LANES ? 1u << l->rx_phys[i] : 0;
    }
    l->ops->rx_enable(l->opaque, mask, l->rate);
    fec = lmsm_choose_fec(l, l->cfg.fec_mode[l->rate]);
    /* CLTBs do not speak of the CRC: a new link begins with the registers'
     * reset value, and the first Retrain may change it. */
    lmsm_set_fec(l, fec, lmsm_choose_interleave(l, l->rate, fec),
                 l->link_up ? l->crc : UB_LTB_CRC30);
    if (!l->link_up) {
        l->eq_mode = l->cfg.eq_mode;
    }
    lmsm_status(l, UB_PHY_ST_WIDTH);
}

static void build_cltb(const UbLmsm *l, unsigned lane, uint8_t *ltb,
                       UbLtbType type)
{
    ub_ltb_init(ltb, type);
    ub_ltb_set_link_id(ltb, l->link_id);
    ub_ltb_set_lane_id(ltb, lane);
    ub_ltb_set_tlw(ltb, l->tx_m);
    ub_ltb_set_rlw(ltb, l->rx_n);
    ub_ltb_set_eq_mode(ltb, l->cfg.optical ? UB_EQ_SKIP : l->cfg.eq_mode);
    ub_ltb_set_conf_fec(ltb, l->fec);
    ub_ltb_set_conf_interleave(ltb, l->interleave);
}

static void build_conf_active(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_cltb(l, lane, ltb, UB_LTB_CONF_ACTIVE);
}

static void build_conf_check(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_cltb(l, lane, ltb, UB_LTB_CONF_CHECK);
}

static void build_conf_confirm(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_cltb(l, lane, ltb, UB_LTB_CONF_CONFIRM);
}

/* The secondary echoes the primary's choice of FEC. */
static void conf_block(UbLmsm *l, UbLmsmLane *lane)
{
    unsigned fec, mode;

    if (ub_ltb_kind(lane->ltb[0]) != UB_LTB_CLTB || lane->run < 2) {
        return;
    }
    fec = ub_ltb_conf_fec(lane->ltb);
    if (!l->primary && fec <= UB_LTB_FEC_T4 && lmsm_both_support(l, fec)) {
        bool il = ub_ltb_conf_interleave(lane->ltb);

        if (fec != l->fec || il != l->interleave) {
            lmsm_set_fec(l, fec, il, l->crc);
        }
    }
    mode = ub_eq_mode_resolve(l->cfg.eq_mode, ub_ltb_eq_mode(lane->ltb));
    if (!l->link_up && l->state == UB_LMSM_CONF_ACTIVE) {
        l->eq_mode = (uint8_t)(l->cfg.optical ? UB_EQ_SKIP : mode);
    }
}

static bool conf_match(const UbLmsm *l, const UbLmsmLane *lane,
                       unsigned type1, unsigned type2)
{
    unsigned lid = ub_ltb_lane_id(lane->ltb);
    const uint8_t *ltb = lane->ltb;

    if ((ltb[0] != type1 && ltb[0] != type2) || lid >= l->rx_n ||
        ub_ltb_link_id(ltb) == UB_LINK_ID_NULL ||
        ub_ltb_link_id(ltb) != l->link_id) {
        return false;
    }
    /* By number or, in Active, by the number counted from the other end. */
    if (l->rx_phys[lid] != lane - l->lane &&
        (type1 != UB_LTB_CONF_ACTIVE ||
         l->rx_phys[l->rx_n - 1 - lid] != lane - l->lane)) {
        return false;
    }
    return ub_ltb_tlw(ltb) == l->rx_n && ub_ltb_rlw(ltb) == l->tx_m;
}

static bool conf_active_match(const UbLmsm *l, const UbLmsmLane *lane)
{
    return conf_match(l, lane, UB_LTB_CONF_ACTIVE, UB_LTB_CONF_CHECK);
}

static bool conf_check_match(const UbLmsm *l, const UbLmsmLane *lane)
{
    return conf_match(l, lane, UB_LTB_CONF_CHECK, UB_LTB_CONF_CONFIRM);
}

static bool conf_confirm_match(const UbLmsm *l, const UbLmsmLane *lane)
{
    return conf_match(l, lane, UB_LTB_CONF_CONFIRM, UB_LTB_CONF_CONFIRM);
}

/* CLTBs that can never match: another link's ID, or no standard width. */
static bool no_link(UbLmsm *l)
{
    for (unsigned i = 0; i < l->rx_n; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);
        unsigned id;

        if (!lane || lane->run < 2 ||
            ub_ltb_kind(lane->ltb[0]) != UB_LTB_CLTB) {
            return false;
        }
        id = ub_ltb_link_id(lane->ltb);
        if ((id == UB_LINK_ID_NULL || id == l->link_id) &&
            ub_width_valid(ub_ltb_tlw(lane->ltb)) &&
            ub_width_valid(ub_ltb_rlw(lane->ltb))) {
            return false;
        }
    }
    return l->rx_n != 0;
}

static bool all_restarted(UbLmsm *l)
{
    for (unsigned i = 0; i < l->rx_n; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (!lane || lane->run < 2 || lane->ltb[0] != UB_LTB_DISC_ACTIVE) {
            return false;
        }
    }
    return l->rx_n != 0;
}

/* The four ways out are consecutive in the table for each substate. */
static bool conf_step(UbLmsm *l, UbLmsmTransitionId match)
{
    if (lmsm_all_ok(l, l->rx_n) && lmsm_sent(l)) {
        return lmsm_go(l, match);
    }
    if (lmsm_timed_out(l)) {
        return lmsm_go(l, match + 1);
    }
    if (no_link(l)) {
        return lmsm_go(l, match + 2);
    }
    if (all_restarted(l)) {
        return lmsm_go(l, match + 3);
    }
    return false;
}

_Static_assert(UB_T_CA_DLTB == UB_T_CA_MATCH + 3 &&
               UB_T_CC_DLTB == UB_T_CC_MATCH + 3 &&
               UB_T_CF_DLTB == UB_T_CF_MATCH + 3, "order of Config exits");

static bool conf_active_step(UbLmsm *l)
{
    return conf_step(l, UB_T_CA_MATCH);
}

static bool conf_check_step(UbLmsm *l)
{
    return conf_step(l, UB_T_CC_MATCH);
}

static bool conf_confirm_step(UbLmsm *l)
{
    return conf_step(l, UB_T_CF_MATCH);
}

const LmsmState lmsm_conf_active = {
    .name = "Config.Active",
    .enter = conf_active_enter,
    .step = conf_active_step,
    .build = build_conf_active,
    .block = conf_block,
    .match = conf_active_match,
    .timeout = MS(2),
    .run = 2,
    .kind = UB_LTB_CLTB,
    .need = 16,
};

const LmsmState lmsm_conf_check = {
    .name = "Config.Check",
    .step = conf_check_step,
    .build = build_conf_check,
    .block = conf_block,
    .match = conf_check_match,
    .timeout = MS(2),
    .run = 2,
    .kind = UB_LTB_CLTB,
    .need = 16,
};

const LmsmState lmsm_conf_confirm = {
    .name = "Config.Confirm",
    .step = conf_confirm_step,
    .build = build_conf_confirm,
    .block = conf_block,
    .match = conf_confirm_match,
    .timeout = MS(2),
    .run = 2,
    .kind = UB_LTB_CLTB,
    .need = 16,
};

/* ------------------------------------------------------- Send_NullBlock -- */

#define NULLS_RX 8
#define NULLS_TX 16

static void send_null_enter(UbLmsm *l)
{
    l->changed_speed_retrain = false;
    l->change_speed = false;
    /* What was lost in training was found again, or it could not be left. */
    l->got.loss = 0;
    l->got.framing = false;
    lmsm_tx_sdf(l);
    l->nulls_sent = 0;
    if (!l->link_up) {
        l->link_up = true;
        lmsm_status(l, UB_PHY_ST_LINKUP);
    }
}

static bool send_null_step(UbLmsm *l)
{
    unsigned n = 0;

    if (l->want.width) {
        return lmsm_go(l, UB_T_SN_UPPER);
    }
    if (!l->sdf && lmsm_any_run(l, UB_LTB_DLTB, 2)) {
        return lmsm_go(l, UB_T_SN_DLTB);
    }
    if (l->got.loss || l->got.framing || (l->sdf && l->sdf != l->rx_n)) {
        l->retrain_num += l->retrain_num < 0xff;
        return lmsm_go(l, UB_T_SN_LOST);
    }
    l->heard = l->nulls || l->null_ok;
    if (l->null_ok && l->nulls_sent >= NULLS_TX) {
        return lmsm_go(l, UB_T_SN_NULLS);
    }
    if (lmsm_timed_out(l)) {
        if (l->retrain_num < 0xff) {
            l->retrain_num++;
            return lmsm_go(l, UB_T_SN_TIMEOUT);
        }
        return lmsm_go(l, UB_T_SN_TIMEOUT_IDLE);
    }
    /* As with training blocks: what the counts need, then a trickle. */
    if (l->heard && l->nulls_sent < NULLS_TX) {
        n = NULLS_TX - l->nulls_sent;
    } else if (l->now >= l->refresh_at) {
        n = NULLS_TX;
    }
    if (n) {
        l->ops->tx_nulls(l->opaque, n);
        l->nulls_sent += l->heard ? n : 0;
        l->refresh_at = l->now + lmsm_ns(l, US(50));
        return l->heard;
    }
    return false;
}

const LmsmState lmsm_send_null = {
    .name = "Send_NullBlock",
    .enter = send_null_enter,
    .step = send_null_step,
    .timeout = MS(2),
};

/* ---------------------------------------------------------- Link_Active -- */

static void link_active_enter(UbLmsm *l)
{
    unsigned best = lmsm_highest(l->visited_retrain ?
                                 lmsm_common(l, l->peer_adv) & l->adv :
                                 l->disc_common);

    l->retrain_num = 0;
    l->reconf = false;
    lmsm_agree(l);
    l->got.loss = l->lane_bad = 0;
    l->asked_remote = l->remote_tx = 0;
    l->got.ei = l->got.framing = l->got.retry = false;
    if (l->fix_data_rate_mode || l->rate >= best) {
        l->link_ready = true;
    }
    lmsm_status(l, UB_PHY_ST_READY | UB_PHY_ST_WIDTH);
}

/* Where a rate change would lead to, its first step with Full_EQ. */
unsigned lmsm_best_rate(const UbLmsm *l)
{
    return lmsm_highest(lmsm_target_rates(l) & lmsm_common(l, l->peer_all));
}

/* Whether this port wants another rate than the present one. */
static bool wants_speed(UbLmsm *l)
{
    unsigned best;

    if (l->fix_data_rate_mode) {
        return false;
    }
    best = lmsm_best_rate(l);
    /* A peer whose own target is lower would refuse again, for ever. */
    if (best == l->rate || (l->refused >> best & 1)) {
        l->want.speed = false;
        return false;
    }
    return l->want.speed || (l->primary && l->cfg.auto_speed && best > l->rate);
}

static bool link_active_step(UbLmsm *l)
{
    if (l->got.edf) {
        return lmsm_go(l, UB_T_LA_EDF);
    }
    if (l->want.width) {
        l->reconf = true;
        return lmsm_go(l, UB_T_LA_WIDTH);
    }
    if (wants_speed(l)) {
        l->change_speed = true;
        return lmsm_go(l, UB_T_LA_SPEED);
    }
    if (l->want.retrain) {
        return lmsm_go(l, UB_T_LA_RETRAIN);
    }
    if (l->got.ei) {
        return lmsm_go(l, UB_T_LA_EI);
    }
    if (lmsm_lanes_lost(l)) {
        return lmsm_go(l, UB_T_LA_AMCTL);
    }
    if (l->got.framing) {
        return lmsm_go(l, UB_T_LA_FRAMING);
    }
    if (l->got.retry) {
        return lmsm_go(l, UB_T_LA_RETRY);
    }
    return false;
}

const LmsmState lmsm_link_active = {
    .name = "Link_Active",
    .enter = link_active_enter,
    .step = link_active_step,
};
