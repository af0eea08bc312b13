/*
 * Link management state machine: table of transitions, counts of training
 * blocks, timers.  UB 2.0 §3.4.3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm_internal.h"

/*
 * Frames sent unasked when a state begins, and after electrical idle, where
 * the peer must lock first.  At a bit error rate of 1e-3 one block in nine is
 * broken, and all of eight lanes must have eight good ones in a row.
 */
#define FIRST_FRAMES 8
#define EXIT_FRAMES  16
#define POLL_TURNS   64     /* transitions and sendings of one poll */

#define T(name, from, to, err, cause) \
    [UB_T_##name] = { #name, cause, UB_LMSM_##from, UB_LMSM_##to, err },
const UbLmsmTransition ub_lmsm_transitions[UB_T_COUNT] = {
    UB_LMSM_TRANSITIONS(T)
};
#undef T

static const LmsmState *const states[UB_LMSM_STATES] = {
    [UB_LMSM_PROBE_WAIT] = &lmsm_probe_wait,
    [UB_LMSM_PROBE_CONFIRM] = &lmsm_probe_confirm,
    [UB_LMSM_RXEQ_OPTIMIZE] = &lmsm_rxeq,
    [UB_LMSM_DISC_ACTIVE] = &lmsm_disc_active,
    [UB_LMSM_DISC_CONFIRM] = &lmsm_disc_confirm,
    [UB_LMSM_CONF_ACTIVE] = &lmsm_conf_active,
    [UB_LMSM_CONF_CHECK] = &lmsm_conf_check,
    [UB_LMSM_CONF_CONFIRM] = &lmsm_conf_confirm,
    [UB_LMSM_SEND_NULLBLOCK] = &lmsm_send_null,
    [UB_LMSM_LINK_ACTIVE] = &lmsm_link_active,
    [UB_LMSM_RETR_ACTIVE] = &lmsm_retr_active,
    [UB_LMSM_RETR_CONFIRM] = &lmsm_retr_confirm,
    [UB_LMSM_LINK_IDLE] = &lmsm_idle,
    [UB_LMSM_CHANGE_SPEED] = &lmsm_change_speed,
    [UB_LMSM_EQ_COARSE_ACTIVE] = &lmsm_eq_coarse_active,
    [UB_LMSM_EQ_ACTIVE] = &lmsm_eq_active,
    [UB_LMSM_EQ_PASSIVE] = &lmsm_eq_passive,
    [UB_LMSM_EQ_COARSE_CONFIRM] = &lmsm_eq_coarse_confirm,
};

const char *ub_lmsm_state_name(unsigned state)
{
    return state < UB_LMSM_STATES ? states[state]->name : "?";
}

/* ------------------------------------------------------------- helpers -- */

int64_t lmsm_ns(const UbLmsm *l, int64_t ns)
{
    return ns * l->cfg.time_scale;
}

/*
 * How long a state of timeout `ns` waits for the peer.  Both ends run when
 * their hosts let them, and a host that is busy takes away tens of
 * milliseconds at a time.
 */
int64_t lmsm_patience(const UbLmsm *l, int64_t ns)
{
    int64_t scaled = lmsm_ns(l, ns);

    return scaled > l->cfg.timeout_min ? scaled : l->cfg.timeout_min;
}

bool lmsm_timed_out(const UbLmsm *l)
{
    return l->now >= l->deadline;
}

void lmsm_status(UbLmsm *l, unsigned changed)
{
    if (l->ops->status) {
        l->ops->status(l->opaque, changed);
    }
}

bool lmsm_pam4(const UbLmsm *l)
{
    const UbDataRate *r = ub_data_rate(l->cfg.phy_mode, l->rate);

    return r && r->pam4;
}

unsigned lmsm_highest(unsigned rates)
{
    return rates ? 31 - (unsigned)__builtin_clz(rates) : 0;
}

/* Rates both ends have; Data Rate 0 always is one. */
unsigned lmsm_common(const UbLmsm *l, unsigned peer)
{
    return (l->cfg.rates & peer) | 1;
}

unsigned lmsm_need(const UbLmsm *l)
{
    /* §3.4.3.4: 256 when Discovery.Active comes from Retrain. */
    if (l->state == UB_LMSM_DISC_ACTIVE &&
        (l->from == UB_LMSM_RETR_ACTIVE || l->from == UB_LMSM_RETR_CONFIRM)) {
        return 256;
    }
    /* §3.4.3.8: 128 with Change_Speed = 1 before the rate is changed. */
    if (l->state == UB_LMSM_RETR_CONFIRM && l->change_speed) {
        return 128;
    }
    return states[l->state]->need;
}

bool lmsm_sent(const UbLmsm *l)
{
    return l->heard && l->sent >= lmsm_need(l);
}

UbLmsmLane *lmsm_rx_lane(UbLmsm *l, unsigned logical)
{
    if (logical >= UB_LMSM_LANES || l->rx_phys[logical] >= UB_LMSM_LANES) {
        return NULL;
    }
    return &l->lane[l->rx_phys[logical]];
}

bool lmsm_configured(const UbLmsm *l, const UbLmsmLane *lane)
{
    unsigned wire = (unsigned)(lane - l->lane);

    for (unsigned i = 0; i < l->rx_n; i++) {
        if (l->rx_phys[i] == wire) {
            return true;
        }
    }
    return false;
}

bool lmsm_all_ok(UbLmsm *l, unsigned lanes)
{
    for (unsigned i = 0; i < lanes; i++) {
        UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (!lane || !lane->ok) {
            return false;
        }
    }
    return lanes != 0;
}

static bool lane_run(UbLmsm *l, unsigned logical, UbLtbKind kind, unsigned run)
{
    UbLmsmLane *lane = lmsm_rx_lane(l, logical);

    return lane && lane->run >= run && ub_ltb_kind(lane->ltb[0]) == kind;
}

bool lmsm_any_run(UbLmsm *l, UbLtbKind kind, unsigned run)
{
    for (unsigned i = 0; i < l->rx_n; i++) {
        if (lane_run(l, i, kind, run)) {
            return true;
        }
    }
    return false;
}

bool lmsm_all_run(UbLmsm *l, UbLtbKind kind, unsigned run)
{
    for (unsigned i = 0; i < l->rx_n; i++) {
        if (!lane_run(l, i, kind, run)) {
            return false;
        }
    }
    return l->rx_n != 0;
}

void lmsm_forget(UbLmsm *l)
{
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        l->lane[i].run = 0;
        l->lane[i].ok = false;
    }
}

void lmsm_set_fec(UbLmsm *l, unsigned fec, bool interleave, unsigned crc)
{
    UbLmsmModes was = { l->fec, l->crc, l->interleave };
    bool changed;

    l->fec = (uint8_t)fec;
    l->interleave = interleave;
    l->crc = fec == UB_LTB_FEC_BYPASS ? UB_LTB_CRC30 : (uint8_t)crc;
    changed = l->fec != was.fec || l->interleave != was.interleave ||
              l->crc != was.crc;
    l->ops->rx_fec(l->opaque, fec, interleave);
    if (changed) {
        lmsm_status(l, UB_PHY_ST_FEC);
    }
}

void lmsm_set_rate(UbLmsm *l, unsigned rate)
{
    if (l->rate != rate) {
        l->rate = (uint8_t)rate;
        lmsm_status(l, UB_PHY_ST_RATE);
    }
}

/* --------------------------------------------------------- transmitting -- */

void lmsm_tx_idle(UbLmsm *l, bool eei)
{
    l->ops->tx_idle(l->opaque, eei && l->tx_mode != LMSM_TX_IDLE);
    l->tx_mode = LMSM_TX_IDLE;
    l->tx_lanes = 0;
}

void lmsm_tx_sdf(UbLmsm *l)
{
    l->ops->tx_sdf(l->opaque, l->tx_m, l->fec, l->interleave);
    l->tx_mode = LMSM_TX_DATA;
    l->tx_lanes = l->tx_m;
}

static void tx_train(UbLmsm *l)
{
    bool exit = l->tx_mode == LMSM_TX_IDLE;

    if (l->tx_mode == LMSM_TX_TRAIN && l->tx_lanes == l->tx_m && !l->dirty) {
        return;
    }
    l->ops->tx_train(l->opaque, l->tx_m, l->tx_phys, l->rate, exit);
    l->tx_mode = LMSM_TX_TRAIN;
    l->tx_lanes = l->tx_m;
    l->dirty = false;
    if (exit && l->quota < EXIT_FRAMES * UB_LMSM_FRAME) {
        l->quota = EXIT_FRAMES * UB_LMSM_FRAME;
    }
}

/* More with each Send_NullBlock that failed: the peer hears us badly. */
static unsigned first_blocks(const UbLmsm *l)
{
    unsigned shift = l->retrain_num < 3 ? l->retrain_num : 3;

    return FIRST_FRAMES * UB_LMSM_FRAME << shift;
}

static int64_t refresh_time(const UbLmsm *l)
{
    int64_t t = states[l->state]->timeout / 256;

    return lmsm_ns(l, t < US(2) ? US(2) : t);
}

/* Whole frames only, so that every state is left at an AMCTL boundary. */
static unsigned to_frames(unsigned n)
{
    return (n + UB_LMSM_FRAME - 1) / UB_LMSM_FRAME * UB_LMSM_FRAME;
}

/*
 * Send what the counts need.  Changed contents go out at least once in full,
 * also after `need` has been reached, or the peer could never see them.
 */
static bool send_blocks(UbLmsm *l)
{
    const LmsmState *s = states[l->state];
    unsigned need = lmsm_need(l);
    bool changed = false;

    if (!s->build || !l->tx_m) {
        return false;
    }
    for (unsigned i = 0; i < l->tx_m; i++) {
        uint8_t ltb[UB_LMB_SYMBOLS];

        s->build(l, i, ltb);
        ub_ltb_seal(ltb);
        if (memcmp(ltb, l->ltb[i], sizeof(ltb))) {
            memcpy(l->ltb[i], ltb, sizeof(ltb));
            changed = true;
        }
    }
    if (changed) {
        if (l->quota < first_blocks(l)) {
            l->quota = first_blocks(l);
        }
        if (l->sent + UB_LMSM_FRAME > need) {
            l->sent = need > UB_LMSM_FRAME ? need - UB_LMSM_FRAME : 0;
        }
    }
    tx_train(l);
    if (l->heard && l->sent < need && l->quota < need - l->sent) {
        l->quota = need - l->sent;
    }
    if (l->saw.speed && l->change_speed && l->sent_speed < need &&
        l->quota < need - l->sent_speed) {
        l->quota = need - l->sent_speed;
    }
    if (!l->quota && l->now >= l->refresh_at) {
        l->quota = UB_LMSM_FRAME;
    }
    if (!l->quota) {
        return false;
    }
    l->quota = to_frames(l->quota);
    l->ops->tx_ltbs(l->opaque, (const uint8_t (*)[UB_LMB_SYMBOLS])l->ltb,
                    l->quota);
    l->stats.ltbs_sent += l->quota;
    if (l->heard) {
        l->sent += l->quota;
    }
    if (l->saw.speed && l->change_speed) {
        l->sent_speed += l->quota;
    }
    l->quota = 0;
    l->refresh_at = l->now + refresh_time(l);
    return true;
}

/* ------------------------------------------------------------ receiving -- */

/*
 * A condition that was met stays met when blocks of another kind follow: the
 * peer has gone on, and we may still have blocks to send before we do.
 */
static void judge(UbLmsm *l, UbLmsmLane *lane)
{
    const LmsmState *s = states[l->state];

    if (s->match && lane->run >= s->run &&
        ub_ltb_kind(lane->ltb[0]) == s->kind) {
        lane->ok = s->match(l, lane);
    }
}

static void evaluate(UbLmsm *l, UbLmsmLane *lane)
{
    const LmsmState *s = states[l->state];

    if (!lane->run) {
        return;
    }
    if (ub_ltb_kind(lane->ltb[0]) == s->kind) {
        l->heard = true;
    }
    if (s->block) {
        s->block(l, lane);
    }
    judge(l, lane);
}

/* Our own variables may have changed since the blocks came in. */
static void rematch(UbLmsm *l)
{
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        if (l->lane[i].run) {
            judge(l, &l->lane[i]);
        }
    }
}

void ub_lmsm_rx_ltb(UbLmsm *l, int64_t now, unsigned lane,
                    const uint8_t ltb[UB_LMB_SYMBOLS])
{
    UbLmsmLane *rx;
    bool ours;

    if (lane >= UB_LMSM_LANES) {
        return;
    }
    l->now = now;
    rx = &l->lane[lane];
    ours = lmsm_configured(l, rx);
    rx->ltbs++;
    l->ber_ltbs += ours;
    rx->eei = false;
    if (!ub_ltb_good(ltb)) {
        rx->crc_errors++;
        rx->kind_errors[ub_ltb_kind(ltb[0])]++;
        rx->run = 0;
        l->ber_bad += ours;
        l->errors |= UB_PHY_ERR_LTB_CRC;
        lmsm_status(l, UB_PHY_ST_ERROR);
        return;
    }
    if (rx->run && !memcmp(rx->ltb, ltb, UB_LTB_BODY)) {
        rx->run += rx->run != UINT32_MAX;
    } else {
        memcpy(rx->ltb, ltb, UB_LTB_BODY);
        rx->run = 1;
    }
    rx->idle = false;
    l->saw.blocks |= ours && rx->run >= 2;
    evaluate(l, rx);
    lmsm_width_ltb(l);
}

void ub_lmsm_rx_idle(UbLmsm *l, int64_t now, unsigned mask)
{
    l->now = now;
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        UbLmsmLane *lane = &l->lane[i];
        bool idle = mask >> i & 1;

        if (idle && !lane->idle) {
            lane->run = 0;
            lane->was_idle = true;
            if (l->state == UB_LMSM_LINK_ACTIVE && !lane->eei &&
                lmsm_configured(l, lane)) {
                /* One lane may be dropped; without lane 0 it is Retrain. */
                if (l->cfg.fast_lane_down && l->rx_phys[0] != i) {
                    l->lane_bad |= (uint8_t)(1u << i);
                } else {
                    l->got.ei = true;
                }
            }
        }
        lane->idle = idle;
    }
}

void ub_lmsm_rx_eei(UbLmsm *l, int64_t now, unsigned lane)
{
    l->now = now;
    if (lane < UB_LMSM_LANES) {
        l->lane[lane].eei = true;
    }
}

void ub_lmsm_rx_edf(UbLmsm *l, int64_t now)
{
    l->now = now;
    l->got.edf = true;
    l->sdf = 0;
    /* Null Blocks of the stream that ends here do not answer for the next. */
    l->nulls = 0;
    l->null_ok = false;
}

void ub_lmsm_rx_sdf(UbLmsm *l, int64_t now, unsigned width)
{
    l->now = now;
    l->nulls = 0;
    l->null_ok = false;
    l->sdf = (uint8_t)width;
    l->got.edf = false;
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        l->lane[i].run = 0;         /* met conditions stay met */
    }
}

void ub_lmsm_rx_blocks(UbLmsm *l, int64_t now, unsigned n, bool null)
{
    l->now = now;
    if (l->sdf != l->rx_n) {
        return;                     /* no stream, or not one of our width */
    }
    l->nulls = null ? l->nulls + n : 0;
    if (l->nulls >= 8) {
        l->null_ok = true;
    }
}

void ub_lmsm_rx_unlock(UbLmsm *l, int64_t now, unsigned lane)
{
    l->now = now;
    if (lane >= UB_LMSM_LANES) {
        return;
    }
    l->lane[lane].run = 0;
    if (lmsm_configured(l, &l->lane[lane])) {
        l->got.loss |= (uint8_t)(1u << lane);
    }
}

/* §3.2.3.5: too many words beyond repair ask for the stronger code. */
void ub_lmsm_rx_hi_ber(UbLmsm *l, int64_t now)
{
    l->now = now;
    if (l->cfg.auto_fec && l->state == UB_LMSM_LINK_ACTIVE &&
        l->fec == UB_LTB_FEC_T2) {
        l->fec_floor = UB_LTB_FEC_T4;
        l->want.retrain = true;
    }
}

void ub_lmsm_rx_framing(UbLmsm *l, int64_t now)
{
    l->now = now;
    l->got.framing = true;
}

void ub_lmsm_presence(UbLmsm *l, int64_t now, unsigned mask)
{
    l->now = now;
    if (l->presence != (uint8_t)mask) {
        l->presence = (uint8_t)mask;
        if (l->state == UB_LMSM_PROBE_WAIT) {
            l->settle_at = now + lmsm_ns(l, l->cfg.probe_wait);
        }
    }
}

/* --------------------------------------------------------------- moving -- */

bool lmsm_go(UbLmsm *l, UbLmsmTransitionId id)
{
    const UbLmsmTransition *t = &ub_lmsm_transitions[id];
    const LmsmState *s = states[t->to];

    l->from = l->state;
    l->state = t->to;
    l->entered = l->now;
    l->deadline = INT64_MAX;
    if (s->timeout && (l->cfg.timeout_enable >> t->to & 1)) {
        l->deadline = l->now + lmsm_patience(l, s->timeout);
    }
    l->heard = false;
    l->sent = 0;
    l->sent_speed = 0;
    l->quota = first_blocks(l);
    l->refresh_at = l->now;
    l->settle_at = INT64_MAX;
    l->saw.blocks = false;
    l->saw.speed = false;
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        l->lane[i].ok = false;
    }
    l->stats.transitions[id]++;
    if (s->enter) {
        s->enter(l);
    }
    if (t->error) {
        l->errors |= t->error;
        lmsm_status(l, UB_PHY_ST_ERROR);
    }
    if (l->ops->transition) {
        l->ops->transition(l->opaque, id, l->now);
    }
    /* A run that is still being received counts for the new state too. */
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        evaluate(l, &l->lane[i]);
    }
    return true;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t ub_lmsm_poll(UbLmsm *l, int64_t now)
{
    int64_t next = INT64_MAX;
    unsigned turns = 0;

    l->now = now;
    do {
        rematch(l);
    } while ((states[l->state]->step(l) || send_blocks(l)) &&
             ++turns < POLL_TURNS);
    if (turns == POLL_TURNS) {
        return now;                 /* not done: let others have a turn */
    }
    if (l->state == UB_LMSM_LINK_ACTIVE) {
        next = lmsm_width_poll(l);
    }
    if (states[l->state]->build && l->tx_m) {
        next = earlier(next, l->refresh_at);
    }
    if (l->state == UB_LMSM_SEND_NULLBLOCK) {
        next = earlier(next, l->refresh_at);
    }
    /* A time that passed without effect waits for an event. */
    if (l->deadline > now) {
        next = earlier(next, l->deadline);
    }
    if (l->settle_at > now) {
        next = earlier(next, l->settle_at);
    }
    return next;
}

/* -------------------------------------------------------------- control -- */

void ub_lmsm_config_init(UbLmsmConfig *c)
{
    memset(c, 0, sizeof(*c));
    c->phy_mode = UB_PHY_MODE_2;
    c->rates = (uint16_t)ub_phy_rates(c->phy_mode);
    c->target_rate = 8;
    c->target_tx = c->target_rx = c->max_width = 8;
    c->port_nego = true;
    c->auto_speed = true;
    c->auto_fec = true;
    c->eq_mode = UB_EQ_HIGHEST;
    c->fec_support = 3;
    c->interleave_support = 15;
    for (unsigned i = 0; i < UB_DATA_RATES; i++) {
        c->fec_mode[i] = UB_LTB_FEC_T4;
        c->crc_mode[i] = UB_LTB_CRC30;
        for (unsigned k = 0; k < UB_LMSM_LANES; k++) {
            c->local_preset[i][k] = 5;
            c->remote_preset[i][k] = 5;
        }
    }
    c->precode = 0xfff0;            /* the register's reset value */
    c->timeout_enable = UINT32_MAX;
    c->asymmetric = true;
    c->fast_lane_down = true;
    c->lane_down_n = 3;
    c->time_scale = 1;
    c->seed = 1;
    c->probe_wait = MS(1);
    c->probe_gap = US(100);
    c->speed_hold = US(10);
    c->speed_hold_fail = US(100);
    c->restart_delay = MS(10);
    c->ber_window = MS(1);
}

const char *ub_lmsm_config_check(const UbLmsmConfig *c)
{
    if (!ub_width_valid(c->target_tx) || !ub_width_valid(c->target_rx) ||
        !ub_width_valid(c->max_width) || c->target_tx > c->max_width ||
        c->target_rx > c->max_width) {
        return "target widths must be 1, 2, 4 or 8 lanes that the port has";
    }
    if (!(c->rates & 1) && !c->fixed_rate && !c->optical) {
        return "Data Rate 0 must be supported";
    }
    for (unsigned i = 0; i < UB_DATA_RATES; i++) {
        if ((c->rates >> i & 1) && !ub_data_rate(c->phy_mode, i)->kbps) {
            return "a data rate is not one of the PHY mode's";
        }
    }
    if (c->target_rate >= UB_DATA_RATES ||
        ((c->fixed_rate || c->optical) &&
         !(c->rates >> c->target_rate & 1))) {
        return "target rate is not supported";
    }
    if (!c->time_scale) {
        return "times cannot be scaled by 0";
    }
    if (c->speed_hold_fail <= c->speed_hold) {
        return "idle of a failed change of rate must be the longer one";
    }
    if (!c->lane_down_n || c->lane_down_n == 255) {
        return "missed AMCTLs before a lane is dropped must be 1 to 254";
    }
    return NULL;
}

void ub_lmsm_init(UbLmsm *l, const UbLmsmConfig *cfg, const UbEqModel *eq,
                  const UbLmsmOps *ops, void *opaque)
{
    memset(l, 0, sizeof(*l));
    l->cfg = *cfg;
    l->eq = *eq;
    l->ops = ops;
    l->opaque = opaque;
    l->rng = cfg->seed ? cfg->seed : 1;
    l->state = l->from = UB_LMSM_LINK_IDLE;
    l->deadline = l->settle_at = INT64_MAX;
    for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
        l->lane[i].idle = true;
        l->lane[i].lid = UB_LANE_ID_NULL;
    }
    lmsm_idle.enter(l);
}

void ub_lmsm_reset(UbLmsm *l, int64_t now)
{
    l->now = now;
    l->errors = 0;
    lmsm_go(l, UB_T_RESET);
    l->settle_at = INT64_MAX;
}

void ub_lmsm_start(UbLmsm *l)
{
    l->start = true;
}

void ub_lmsm_disable(UbLmsm *l, int64_t now, bool disable)
{
    l->now = now;
    l->disable = disable;
    if (disable && l->state != UB_LMSM_LINK_IDLE) {
        lmsm_go(l, UB_T_RESET);
    }
}

/* Writing Retrain Link while in Retrain or Config changes nothing. */
void ub_lmsm_request_retrain(UbLmsm *l)
{
    l->want.retrain = l->state == UB_LMSM_LINK_ACTIVE;
}

void ub_lmsm_request_width(UbLmsm *l)
{
    l->want.width = l->state == UB_LMSM_LINK_ACTIVE ||
                    l->state == UB_LMSM_SEND_NULLBLOCK;
}

void ub_lmsm_request_speed(UbLmsm *l)
{
    l->bad_rates = l->refused = 0;
    l->want.speed = true;
}

void ub_lmsm_request_eq(UbLmsm *l)
{
    l->want.eq = true;
}

/* Retrain Link does what the targets ask for (§3.4.3.8). */
bool ub_lmsm_request_target(UbLmsm *l)
{
    if (l->state != UB_LMSM_LINK_ACTIVE) {
        return false;
    }
    if (l->cfg.target_rate != l->rate) {
        l->bad_rates = l->refused = 0; /* asked for anew */
    }
    if (lmsm_best_rate(l) != l->rate) {
        ub_lmsm_request_speed(l);
    } else if (l->cfg.target_tx != l->tx_m || l->cfg.target_rx != l->rx_n) {
        ub_lmsm_request_width(l);
    } else {
        ub_lmsm_request_retrain(l);
    }
    return true;
}

void ub_lmsm_request_retry(UbLmsm *l)
{
    l->got.retry = l->state == UB_LMSM_LINK_ACTIVE;
}
