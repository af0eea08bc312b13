/*
 * Link_Idle, Probe, RXEQ_Optimize and Discovery.  UB 2.0 §3.4.3.1-§3.4.3.4.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm_internal.h"

/*
 * Equal DLTBs of one lane after which a side decides alone: a peer that keeps
 * a number we already drew against, or that has no number at all.
 */
#define NEGO_PATIENCE 2048

/* DLTBs of a good lane by which a lane without any counts as silent. */
#define SILENT_AFTER 256

/* ------------------------------------------------------------ Link_Idle -- */

/*
 * Lanes to aim at.  In PHY Mode-2 a link starts with as many to as from the
 * peer (§3.4.3.1); targets that differ wait until there is one.
 */
static unsigned aim_at(const UbLmsm *l, unsigned target)
{
    const UbLmsmConfig *c = &l->cfg;

    if (c->phy_mode == UB_PHY_MODE_2 && !l->link_up) {
        return c->target_tx > c->target_rx ? c->target_tx : c->target_rx;
    }
    return target;
}

static void idle_enter(UbLmsm *l)
{
    static const uint8_t identity[UB_LMSM_LANES] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    bool was_up = l->link_up || l->link_ready;

    lmsm_tx_idle(l, false);
    l->ops->rx_enable(l->opaque, 0, 0);
    lmsm_width_reset(l);
    lmsm_forget(l);

    l->over_fibre_optical_enable = l->cfg.optical;
    l->fix_data_rate_mode = l->cfg.optical || l->cfg.fixed_rate;
    l->bypass_equalization = l->cfg.optical;
    l->bypass_probe_var = l->cfg.optical || l->cfg.bypass_probe;
    l->link_up = l->link_ready = false;
    l->tx_m = (uint8_t)aim_at(l, l->cfg.target_tx);
    l->rx_n = (uint8_t)aim_at(l, l->cfg.target_rx);
    l->change_speed = l->start_eq_init = l->symmetric_link = false;
    l->changed_speed_retrain = false;
    l->retrain_num = 0;
    if (l->cfg.eq_mode != UB_EQ_SKIP) {
        l->eq_complete = 0;
    }
    l->rx_lane0_id = l->tx_lane0_id = 0;
    l->probed = 0xff;
    memcpy(l->tx_phys, identity, sizeof(identity));
    memcpy(l->rx_phys, identity, sizeof(identity));

    l->bad_rates = l->refused = 0;
    l->fec_floor = 0;
    l->visited_retrain = false;
    for (unsigned i = 0; i < UB_DATA_RATES; i++) {
        l->seen[i].fec = l->seen[i].crc = 0xff;
    }
    l->nego = false;
    l->random = l->peer_random = l->equal_random = 0;
    l->link_id = UB_LINK_ID_NULL;
    l->want.retrain = l->want.width = l->want.speed = false;
    l->got.edf = l->got.framing = l->got.retry = l->got.ei = false;
    l->got.loss = 0;
    l->reconf = l->from_eq = l->request_eq = l->want.eq = false;
    l->sdf = 0;
    lmsm_set_rate(l, l->fix_data_rate_mode ? l->cfg.target_rate : 0);
    if (l->start) {
        l->settle_at = l->now + lmsm_ns(l, l->cfg.restart_delay);
    }
    if (was_up) {
        lmsm_status(l, UB_PHY_ST_LINKUP | UB_PHY_ST_READY);
    }
}

static bool idle_step(UbLmsm *l)
{
    if (!l->start || l->disable || ub_lmsm_config_check(&l->cfg)) {
        l->settle_at = INT64_MAX;
        return false;
    }
    if (l->settle_at != INT64_MAX && l->now < l->settle_at) {
        return false;
    }
    /* Fixed rate goes before Probe where both would apply. */
    if (l->fix_data_rate_mode) {
        return lmsm_go(l, UB_T_IDLE_RXEQ);
    }
    return lmsm_go(l, l->bypass_probe_var ? UB_T_IDLE_DISCOVERY
                                          : UB_T_IDLE_PROBE);
}

const LmsmState lmsm_idle = {
    .name = "Link_Idle",
    .enter = idle_enter,
    .step = idle_step,
};

/* ---------------------------------------------------------------- Probe -- */

static unsigned intended_tx(const UbLmsm *l)
{
    return (1u << aim_at(l, l->cfg.target_tx)) - 1;
}

/*
 * Widest standard link of the lanes in `mask` that begins at lane 0, or else
 * at the top lane of a standard width counting down.
 */
static unsigned widest(unsigned mask, unsigned *anchor)
{
    static const uint8_t anchors[] = { 0, 7, 3, 1 };

    for (unsigned w = UB_LMSM_LANES; w; w >>= 1) {
        for (unsigned i = 0; i < sizeof(anchors); i++) {
            unsigned a = anchors[i], lanes = (1u << w) - 1;

            if (a && a + 1 < w) {
                continue;
            }
            lanes <<= a ? a + 1 - w : 0;
            if ((mask & lanes) == lanes) {
                *anchor = a;
                return w;
            }
        }
    }
    *anchor = 0;
    return 0;
}

static void set_tx(UbLmsm *l, unsigned mask)
{
    unsigned anchor, w = widest(mask & intended_tx(l), &anchor);

    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        l->tx_phys[i] = (uint8_t)(anchor && i <= anchor ? anchor - i : i);
    }
    l->tx_m = (uint8_t)w;
    l->tx_lane0_id = (uint8_t)anchor;
    l->dirty = true;
}

static void probe_wait_enter(UbLmsm *l)
{
    lmsm_set_rate(l, 0);
    if (l->presence & intended_tx(l)) {
        l->settle_at = l->now + lmsm_ns(l, l->cfg.probe_wait);
    }
}

/* The wait is ours to choose: it ends when there is something to probe for. */
static bool probe_wait_step(UbLmsm *l)
{
    for (unsigned i = 0; i < aim_at(l, l->cfg.target_rx); i++) {
        if (!l->lane[i].idle && (l->presence & intended_tx(l))) {
            return lmsm_go(l, UB_T_PW_EI_EXIT);
        }
    }
    if (l->now >= l->settle_at &&
        (l->cfg.timeout_enable >> UB_LMSM_PROBE_WAIT & 1)) {
        return lmsm_go(l, UB_T_PW_TIMEOUT);
    }
    return false;
}

const LmsmState lmsm_probe_wait = {
    .name = "Probe.Wait",
    .enter = probe_wait_enter,
    .step = probe_wait_step,
};

static void probe_confirm_enter(UbLmsm *l)
{
    l->probed = l->presence & (uint8_t)intended_tx(l);
    l->settle_at = l->now + lmsm_ns(l, l->cfg.probe_gap);
}

/*
 * On to Discovery.  Lanes that were not meant to be used now may be later, by
 * a wider target: nothing is known of them, so nothing speaks against them.
 */
static bool probe_done(UbLmsm *l, UbLmsmTransitionId id)
{
    l->probed |= (uint8_t)~intended_tx(l);
    return lmsm_go(l, id);
}

static bool probe_confirm_step(UbLmsm *l)
{
    unsigned anchor;

    if (l->probed == intended_tx(l)) {
        return probe_done(l, UB_T_PC_ALL);
    }
    if (!l->probed) {
        return lmsm_go(l, UB_T_PC_NONE);
    }
    if (l->now < l->settle_at) {
        return false;
    }
    if (l->probed != (l->presence & intended_tx(l)) ||
        !widest(l->probed, &anchor)) {
        return lmsm_go(l, UB_T_PC_UNSTABLE);
    }
    return probe_done(l, UB_T_PC_PARTIAL);
}

const LmsmState lmsm_probe_confirm = {
    .name = "Probe.Confirm",
    .enter = probe_confirm_enter,
    .step = probe_confirm_step,
};

/* -------------------------------------------------------- RXEQ_Optimize -- */

void lmsm_rx_hunt(UbLmsm *l)
{
    l->ops->rx_enable(l->opaque, (1u << l->cfg.max_width) - 1, l->rate);
}

static void begin_roles(UbLmsm *l)
{
    l->port_type = l->cfg.port_nego ? 0 : l->cfg.port_type & 1;
    l->nego = false;
    l->random = l->peer_random = l->equal_random = 0;
}

static void build_dltb(const UbLmsm *l, unsigned lane, uint8_t *ltb,
                       UbLtbType type)
{
    ub_ltb_init(ltb, type);
    ub_ltb_set_link_id(ltb, l->port_type ? l->cfg.link_id : l->link_id);
    ub_ltb_set_lane_id(ltb, lane);
    ub_ltb_set_tlw(ltb, l->tx_m);
    ub_ltb_set_rlw(ltb, l->rx_n);
    ub_ltb_set_rates(ltb, l->cfg.rates);
    ub_ltb_set_fec_support(ltb, l->cfg.fec_support);
    ub_ltb_set_port_type(ltb, l->port_type);
    ub_ltb_set_random(ltb, l->random);
    ub_ltb_set_interleave_support(ltb, l->cfg.interleave_support);
    ub_ltb_set_rx_lane0_id(ltb, ub_lane0_code(l->ask_lane0));
    ub_ltb_set_max_width(ltb, ub_max_width_code(l->cfg.max_width));
}

static void build_rxeq(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_dltb(l, lane, ltb, UB_LTB_RXEQ_OPTIMIZE);
}

static void rxeq_enter(UbLmsm *l)
{
    begin_roles(l);
    l->ask_lane0 = 0;
    set_tx(l, 0xff);
    lmsm_rx_hunt(l);
    l->settle_at = l->eq.dead ? INT64_MAX
                              : l->now + lmsm_ns(l, l->eq.adapt_ns);
    /* §3.4.3.3: longer for the faster rates. */
    if (l->deadline != INT64_MAX) {
        l->deadline = l->now +
                      lmsm_patience(l, l->rate <= 4 ? MS(48) :
                                       l->rate <= 6 ? MS(72) : MS(120));
    }
}

static bool rxeq_step(UbLmsm *l)
{
    unsigned locked = 0;

    for (unsigned i = 0; i < l->cfg.max_width; i++) {
        locked += l->lane[i].run > 0;
    }
    if (locked >= l->rx_n && l->now >= l->settle_at) {
        return lmsm_go(l, UB_T_RXEQ_DONE);
    }
    if (lmsm_timed_out(l)) {
        return lmsm_go(l, UB_T_RXEQ_TIMEOUT);
    }
    return false;
}

const LmsmState lmsm_rxeq = {
    .name = "RXEQ_Optimize",
    .enter = rxeq_enter,
    .step = rxeq_step,
    .build = build_rxeq,
    .timeout = MS(48),
    .kind = UB_LTB_DLTB,
};

/* ------------------------------------------------------ port type (§3.4.2.1) */

static uint8_t draw(UbLmsm *l)
{
    uint8_t old = l->random, v;

    do {
        l->rng ^= l->rng << 13;
        l->rng ^= l->rng >> 17;
        l->rng ^= l->rng << 5;
        v = l->rng % 127 + 1;
    } while (v == old);
    return v;
}

static void set_role(UbLmsm *l, unsigned port_type)
{
    if (l->port_type != port_type) {
        l->port_type = (uint8_t)port_type;
        lmsm_status(l, UB_PHY_ST_ROLE);
    }
}

static void negotiate(UbLmsm *l, const UbLmsmLane *lane)
{
    uint8_t theirs = (uint8_t)ub_ltb_random(lane->ltb);

    if (!l->cfg.port_nego) {
        return;
    }
    if (!l->nego) {
        if (ub_ltb_port_type(lane->ltb) != l->port_type) {
            return;                 /* the other end has a fixed role */
        }
        l->nego = true;
        l->random = draw(l);
    }
    if (!theirs) {
        /* No number: a fixed role, unless its numbers are yet to come. */
        if (lane->run >= NEGO_PATIENCE &&
            ub_ltb_port_type(lane->ltb) == l->port_type) {
            set_role(l, !l->port_type);
        }
        return;
    }
    if (theirs == l->random) {
        l->equal_random = theirs;
        l->random = draw(l);
        return;
    }
    if (theirs == l->equal_random && lane->run < NEGO_PATIENCE) {
        return;                     /* sent before it saw the draw */
    }
    l->peer_random = theirs;
    set_role(l, l->random > theirs);
}

/* ------------------------------------------------------------ Discovery -- */

static bool from_retrain(const UbLmsm *l)
{
    return l->from == UB_LMSM_RETR_ACTIVE || l->from == UB_LMSM_RETR_CONFIRM;
}

/* How long all lanes are waited for before a narrower link is tried. */
static int64_t settle_time(const UbLmsm *l)
{
    return lmsm_ns(l, from_retrain(l) ? US(10) : MS(6));
}

void lmsm_discovery_enter(UbLmsm *l)
{
    bool fresh = l->from == UB_LMSM_LINK_IDLE ||
                 l->from == UB_LMSM_PROBE_CONFIRM;

    if (fresh) {
        begin_roles(l);
    }
    if (l->from != UB_LMSM_RXEQ_OPTIMIZE) {
        set_tx(l, l->probed);
        l->rx_n = (uint8_t)aim_at(l, l->cfg.target_rx);
        lmsm_rx_hunt(l);
    }
    l->ask_lane0 = 0;
    l->bad_rates = 0;           /* what failed may have been the lanes */
    l->refused = 0;
    l->reversed = false;
    l->reconf = l->want.width = false;
    l->sdf = 0;
    l->null_ok = false;
    l->nulls = 0;
    l->changed_speed_retrain = false;
    memset(l->rx_phys, UB_LMSM_NO_LANE, sizeof(l->rx_phys));
    l->settle_at = l->now + settle_time(l);
}

static void number_lane(UbLmsm *l, UbLmsmLane *lane)
{
    unsigned lid = ub_ltb_lane_id(lane->ltb);
    uint8_t wire = (uint8_t)(lane - l->lane);

    if (lid >= UB_LMSM_LANES || l->rx_phys[lid] == wire) {
        return;
    }
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        if (l->rx_phys[i] == wire) {
            l->rx_phys[i] = UB_LMSM_NO_LANE;
        }
    }
    l->rx_phys[lid] = wire;
    lane->lid = (uint8_t)lid;
    l->ops->rx_map(l->opaque, l->rx_phys);
}

/* The peer's logic lane 0 sits on the lane that we call `lane`: renumber. */
static void reverse_tx(UbLmsm *l, unsigned lane)
{
    uint8_t old[UB_LMSM_LANES];

    memcpy(old, l->tx_phys, sizeof(old));
    for (unsigned i = 0; i <= lane; i++) {
        l->tx_phys[i] = old[lane - i];
    }
    l->tx_lane0_id = l->tx_phys[0];
    l->reversed = true;
    l->dirty = true;
}

static void follow_width(UbLmsm *l, UbLmsmLane *lane)
{
    unsigned rlw = ub_ltb_rlw(lane->ltb);
    int lane0 = ub_lane0_lane(ub_ltb_rx_lane0_id(lane->ltb));

    if (lane->run >= 8 && lane0 > 0 && !l->reversed &&
        lane0 < (int)aim_at(l, l->cfg.target_tx)) {
        reverse_tx(l, (unsigned)lane0);
    }
    if (ub_width_valid(rlw) && rlw < l->tx_m) {
        l->tx_m = (uint8_t)rlw;
    }
    if (!l->cfg.asymmetric) {
        unsigned tlw = ub_ltb_tlw(lane->ltb);
        unsigned w = l->tx_m < l->rx_n ? l->tx_m : l->rx_n;

        w = ub_width_valid(tlw) && tlw < w ? tlw : w;
        l->tx_m = l->rx_n = (uint8_t)w;
    }
}

static void disc_block(UbLmsm *l, UbLmsmLane *lane)
{
    if (ub_ltb_kind(lane->ltb[0]) != UB_LTB_DLTB) {
        return;
    }
    number_lane(l, lane);
    follow_width(l, lane);
    if (l->state == UB_LMSM_DISC_ACTIVE) {
        negotiate(l, lane);
    }
    if (lane->lid == 0 && lane->run >= 8) {
        l->ask_lane0 = 0;
    }
    if (!l->port_type && ub_ltb_port_type(lane->ltb) &&
        l->rx_phys[0] == lane - l->lane) {
        l->link_id = (uint8_t)ub_ltb_link_id(lane->ltb);
    }
}

static void build_disc_active(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_dltb(l, lane, ltb, UB_LTB_DISC_ACTIVE);
    if (!l->port_type) {
        ub_ltb_set_link_id(ltb, UB_LINK_ID_NULL);
    }
}

static bool disc_type(const uint8_t *ltb)
{
    return ltb[0] == UB_LTB_DISC_ACTIVE || ltb[0] == UB_LTB_DISC_CONFIRM;
}

static bool disc_active_match(const UbLmsm *l, const UbLmsmLane *lane)
{
    unsigned tlw = ub_ltb_tlw(lane->ltb), rlw = ub_ltb_rlw(lane->ltb);

    return disc_type(lane->ltb) &&
           ub_ltb_port_type(lane->ltb) != l->port_type &&
           ub_width_valid(tlw) && tlw <= l->rx_n &&
           ub_width_valid(rlw) && rlw <= l->tx_m;
}

/* Lanes the peer sends on, as far as it can be known. */
static unsigned expected_lanes(UbLmsm *l)
{
    unsigned n = l->rx_n;

    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (lane && lane->ok && ub_width_valid(ub_ltb_tlw(lane->ltb)) &&
            ub_ltb_tlw(lane->ltb) < n) {
            n = ub_ltb_tlw(lane->ltb);
        }
    }
    return n;
}

/* Some lanes are silent: offer the widest link of those that are not. */
static void narrow_rx(UbLmsm *l)
{
    unsigned good = 0, anchor, w;
    uint32_t longest = 0;

    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (lane && lane->run >= 8 && disc_type(lane->ltb)) {
            good |= 1u << i;
            longest = lane->run > longest ? lane->run : longest;
        }
    }
    w = widest(good, &anchor);
    l->settle_at = l->now + settle_time(l);
    if (!w || longest < SILENT_AFTER || (w >= expected_lanes(l) && !anchor)) {
        return;
    }
    if (w < l->rx_n) {
        l->rx_n = (uint8_t)w;
        if (!l->cfg.asymmetric && l->tx_m > w) {
            l->tx_m = (uint8_t)w;
        }
        l->errors |= UB_PHY_ERR_WIDTH_REDUCED;
        lmsm_status(l, UB_PHY_ST_ERROR);
    }
    l->ask_lane0 = (uint8_t)anchor;
}

/* What the DLTBs of the peer told; §3.4.3.4 "when the machine jumps". */
static void adopt(UbLmsm *l)
{
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (!lane || !lane->run || !disc_type(lane->ltb)) {
            continue;
        }
        if (ub_width_valid(ub_ltb_tlw(lane->ltb)) &&
            ub_ltb_tlw(lane->ltb) < l->rx_n) {
            l->rx_n = (uint8_t)ub_ltb_tlw(lane->ltb);
        }
        l->peer_all = l->peer_adv = (uint16_t)ub_ltb_rates(lane->ltb);
        l->peer_fec_support = (uint8_t)ub_ltb_fec_support(lane->ltb);
        l->peer_interleave = (uint8_t)ub_ltb_interleave_support(lane->ltb);
        break;
    }
    l->disc_common = (uint16_t)lmsm_common(l, l->peer_all);
    l->rx_lane0_id = l->rx_phys[0] < UB_LMSM_LANES ? l->rx_phys[0] : 0;
    if (l->primary != l->port_type) {
        l->primary = l->port_type;
        lmsm_status(l, UB_PHY_ST_ROLE);
    }
    if (l->primary) {
        l->link_id = l->cfg.link_id;
    }
}

/* A lane that the timeout branch accepts: widths need only be standard. */
static bool any_valid(UbLmsm *l)
{
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (lane && lane->run >= 8 && disc_type(lane->ltb) &&
            ub_width_valid(ub_ltb_tlw(lane->ltb)) &&
            ub_width_valid(ub_ltb_rlw(lane->ltb)) &&
            ub_ltb_port_type(lane->ltb) != l->port_type) {
            return true;
        }
    }
    return false;
}

static bool disc_active_step(UbLmsm *l)
{
    if (lmsm_all_ok(l, expected_lanes(l)) && lmsm_sent(l)) {
        adopt(l);
        return lmsm_go(l, UB_T_DA_MATCH);
    }
    if (l->now >= l->settle_at && l->heard) {
        narrow_rx(l);
    }
    if (!lmsm_timed_out(l)) {
        return false;
    }
    if (any_valid(l) && l->sent >= 1024) {
        adopt(l);
        return lmsm_go(l, UB_T_DA_TIMEOUT_ANY);
    }
    return lmsm_go(l, l->heard ? UB_T_DA_TIMEOUT_NEGO : UB_T_DA_TIMEOUT);
}

const LmsmState lmsm_disc_active = {
    .name = "Discovery.Active",
    .enter = lmsm_discovery_enter,
    .step = disc_active_step,
    .build = build_disc_active,
    .block = disc_block,
    .match = disc_active_match,
    .timeout = MS(24),
    .run = 8,
    .kind = UB_LTB_DLTB,
    .need = 1024,
};

static void build_disc_confirm(const UbLmsm *l, unsigned lane, uint8_t *ltb)
{
    build_dltb(l, lane, ltb, UB_LTB_DISC_CONFIRM);
}

static bool disc_confirm_match(const UbLmsm *l, const UbLmsmLane *lane)
{
    return lane->ltb[0] == UB_LTB_DISC_CONFIRM &&
           ub_ltb_link_id(lane->ltb) == l->link_id &&
           ub_ltb_tlw(lane->ltb) == l->rx_n &&
           ub_ltb_rlw(lane->ltb) == l->tx_m &&
           (!l->nego || ub_ltb_port_type(lane->ltb) != l->port_type);
}

static bool disc_confirm_step(UbLmsm *l)
{
    if (lmsm_all_ok(l, l->rx_n) && lmsm_sent(l)) {
        l->symmetric_link = l->tx_m == l->rx_n;
        return lmsm_go(l, UB_T_DC_MATCH);
    }
    if (lmsm_timed_out(l)) {
        return lmsm_go(l, UB_T_DC_TIMEOUT);
    }
    return false;
}

const LmsmState lmsm_disc_confirm = {
    .name = "Discovery.Confirm",
    .step = disc_confirm_step,
    .build = build_disc_confirm,
    .block = disc_block,
    .match = disc_confirm_match,
    .timeout = MS(48),
    .run = 8,
    .kind = UB_LTB_DLTB,
    .need = 16,
};
