/*
 * The physical layer of one UB port: PCS and LMSM joined.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "phy_internal.h"

#define RUN_CAP     8192    /* symbols of a lane shipped at a time */
#define FRAME       (UB_LTBS_PER_AMCTL * UB_LTB + UB_AMCTL_SYMBOLS)
/* Flits taken from above at a time: batches of whole frames for the encoder. */
#define PULL        384
/* Fill behind them: a frame begun and those of rest. */
#define FILL        (12 * (1 + UB_PHY_REST_MAX))
#define WAKE_AMCTLS 2       /* AMCTL periods of fill while lanes wake */

_Static_assert(UB_LANES == UB_LMSM_LANES && UB_LTB == UB_LMB_SYMBOLS &&
               UB_LTBS_PER_AMCTL == UB_LMSM_FRAME &&
               (int)UB_FEC_OFF == (int)UB_LTB_FEC_BYPASS &&
               (int)UB_FEC_T2 == (int)UB_LTB_FEC_T2 &&
               (int)UB_FEC_T4 == (int)UB_LTB_FEC_T4, "PCS and LMSM agree");

struct UbPhy {
    UbLmsm lmsm;
    uint16_t precode;       /* as of the last start of the lanes */
    uint8_t pcs_errors;     /* UB_PHY_PCS_* */
    unsigned rest_frames;
    UbPhyOps ops;
    void *opaque;
    UbPcsTx *tx;
    UbPcsRx *rx;
    UbLaneRun run;
    int64_t now;
    uint8_t live;           /* wires announced by lane_state */
    uint8_t live_rate;
    uint8_t peer_rate, rx_rate;
    uint8_t rx_mask;        /* wires the receiver hunts on */
    uint8_t phys[UB_LANES]; /* wire of each logical TX lane */
    bool talk;              /* the peer has begun to send more than fill */
    bool open;              /* its stream was active, and no EDF yet */
    bool leaving;           /* we left Link_Active before it ended */
    uint8_t null_flit[UB_FLIT];
    uint8_t flits[(PULL + FILL) * UB_FLIT];
    uint8_t buf[UB_LANES][RUN_CAP];
};

/* ----------------------------------------------------------------- wire -- */

static void ship(UbPhy *phy)
{
    if (phy->run.n) {
        phy->ops.lane_tx(phy->opaque, &phy->run);
    }
    phy->run.n = 0;
    phy->run.mask = 0;
}

static void announce(UbPhy *phy, uint8_t mask, unsigned rate)
{
    ship(phy);
    if (phy->live != mask || phy->live_rate != rate) {
        phy->live = mask;
        phy->live_rate = (uint8_t)rate;
        phy->ops.lane_state(phy->opaque, mask, rate);
    }
}

static uint8_t wires(const UbPhy *phy, unsigned lanes)
{
    uint8_t mask = 0;

    for (unsigned i = 0; i < lanes; i++) {
        mask |= (uint8_t)(1u << phy->phys[i]);
    }
    return mask;
}

/*
 * Call `step` until it is done.  A step that fails with an empty run will
 * fail for ever: it asked for what the PCS refuses.
 */
static bool drive(UbPhy *phy, bool (*step)(UbPhy *phy, unsigned arg),
                  unsigned arg)
{
    while (!step(phy, arg)) {
        if (!phy->run.n) {
            return false;
        }
        ship(phy);
    }
    return true;
}

static bool rate_pam4(const UbPhy *phy, unsigned rate)
{
    const UbDataRate *r = ub_data_rate(phy->lmsm.cfg.phy_mode, rate);

    return r && r->pam4;
}

static bool rate_precode(const UbPhy *phy, unsigned rate)
{
    return phy->precode >> rate & 1;
}

/* ------------------------------------------------------------- transmit -- */

static void put_flits(UbPhy *phy, const uint8_t *flits, size_t n)
{
    while (n) {
        size_t taken = ub_pcs_tx_flits(phy->tx, flits, n, &phy->run);

        flits += taken * UB_FLIT;
        n -= taken;
        if (n && !taken && !phy->run.n) {
            return;
        }
        if (n) {
            ship(phy);
        }
    }
}

static bool step_flush(UbPhy *phy, unsigned arg)
{
    return ub_pcs_tx_flush(phy->tx, &phy->run);
}

static bool step_to_amctl(UbPhy *phy, unsigned arg)
{
    return ub_pcs_tx_to_amctl(phy->tx, &phy->run);
}

static bool step_edf(UbPhy *phy, unsigned arg)
{
    return ub_pcs_tx_edf(phy->tx, &phy->run);
}

static bool step_width(UbPhy *phy, unsigned width)
{
    return ub_pcs_tx_width(phy->tx, width, &phy->run);
}

/*
 * Up to the place of the next AMCTL with what the layer above has; its blocks
 * must not be cut, so fill comes only after it has run dry.
 */
static void fill_to_amctl(UbPhy *phy)
{
    size_t room;

    while ((room = ub_pcs_tx_flit_room(phy->tx))) {
        size_t want = room < PULL ? room : PULL;
        size_t n = phy->ops.pull_flits(phy->opaque, phy->flits, want);

        put_flits(phy, phy->flits, n);
        if (n < want) {
            break;
        }
    }
}

static void op_tx_train(void *o, unsigned lanes, const uint8_t *phys,
                        unsigned rate, bool exit)
{
    UbPhy *phy = o;
    uint8_t eeib[UB_EEIB_MAX * UB_LMB_SYMBOLS];
    size_t n;

    if (ub_pcs_tx_state(phy->tx) == UB_PCS_DATA) {
        drive(phy, step_edf, 0);
    }
    ship(phy);
    memcpy(phy->phys, phys, sizeof(phy->phys));
    ub_pcs_tx_set_map(phy->tx, phys);
    ub_pcs_tx_train(phy->tx, lanes, rate_pam4(phy, rate),
                    rate_precode(phy, rate), NULL);
    announce(phy, wires(phy, lanes), rate);
    if (exit) {
        n = ub_eeib_sequence(ub_data_rate(phy->lmsm.cfg.phy_mode, rate), eeib);
        ub_pcs_tx_raw(phy->tx, eeib, n, &phy->run);
        ship(phy);
    }
}

static void op_tx_ltbs(void *o, const uint8_t (*ltb)[UB_LMB_SYMBOLS],
                       unsigned n)
{
    UbPhy *phy = o;

    if (phy->ops.ltb) {
        for (unsigned i = 0; i < phy->lmsm.tx_lanes; i++) {
            phy->ops.ltb(phy->opaque, true, i, ltb[i], n);
        }
    }
    while (n) {
        unsigned sent = ub_pcs_tx_ltbs(phy->tx, ltb, n, &phy->run);

        n -= sent;
        if (n && !sent && !phy->run.n) {
            break;
        }
        if (n) {
            ship(phy);
        }
    }
    ship(phy);
}

static void op_tx_sdf(void *o, unsigned width, unsigned fec, bool interleave)
{
    UbPhy *phy = o;
    UbPcsMode mode = {
        .width = (uint8_t)width,
        .fec = (uint8_t)fec,
        .codecs = interleave ? 2 : 1,
        .pam4 = rate_pam4(phy, phy->lmsm.rate),
        .precode = rate_precode(phy, phy->lmsm.rate),
    };

    if (phy->ops.null_flit) {
        phy->ops.null_flit(phy->opaque, phy->lmsm.crc, phy->null_flit);
        ub_pcs_tx_set_null(phy->tx, phy->null_flit);
    }
    ship(phy);
    ub_pcs_tx_sdf(phy->tx, &mode, &phy->run);
    ship(phy);
}

static void op_tx_nulls(void *o, unsigned n)
{
    UbPhy *phy = o;

    while (n--) {
        put_flits(phy, phy->null_flit, 1);
    }
    drive(phy, step_flush, 0);
    ship(phy);
}

static void op_tx_idle(void *o, bool eei)
{
    UbPhy *phy = o;
    unsigned lanes = phy->lmsm.tx_lanes;

    if (eei && ub_pcs_tx_state(phy->tx) == UB_PCS_TRAIN) {
        ub_pcs_tx_command(phy->tx, (uint8_t)((1u << lanes) - 1), UB_AMCTL_EI,
                          UB_AMCTL_EI_EEI);
        ship(phy);
        ub_pcs_tx_amctl(phy->tx, &phy->run);
    }
    ship(phy);
    ub_pcs_tx_reset(phy->tx);
    announce(phy, 0, phy->lmsm.rate);
}

static void op_tx_width(void *o, unsigned width)
{
    UbPhy *phy = o;

    fill_to_amctl(phy);
    drive(phy, step_width, width);
    announce(phy, wires(phy, width), phy->live_rate);
}

static void op_tx_wake(void *o, unsigned lanes,
                       const uint8_t (*ltb)[UB_LMB_SYMBOLS])
{
    UbPhy *phy = o;

    if (phy->ops.ltb) {
        for (unsigned i = ub_pcs_tx_mode(phy->tx)->width; i < lanes; i++) {
            phy->ops.ltb(phy->opaque, true, i, ltb[i], 1);
        }
    }
    announce(phy, wires(phy, lanes), phy->live_rate);
    ub_pcs_tx_wake(phy->tx, lanes, ltb);
}

static void op_tx_wake_fill(void *o)
{
    UbPhy *phy = o;

    for (unsigned i = 0; i < WAKE_AMCTLS; i++) {
        fill_to_amctl(phy);
        drive(phy, step_to_amctl, 0);
    }
    /* The blocks between this AMCTL and the next one. */
    fill_to_amctl(phy);
    ship(phy);
}

static void op_tx_unwake(void *o)
{
    UbPhy *phy = o;

    /* Woken lanes must be on the air before they can be told to leave it. */
    fill_to_amctl(phy);
    drive(phy, step_to_amctl, 0);
    op_tx_width(o, ub_pcs_tx_mode(phy->tx)->width);
}

static void op_tx_command(UbPhy *phy, unsigned type, unsigned detail)
{
    uint8_t lanes = (uint8_t)((1u << ub_pcs_tx_mode(phy->tx)->width) - 1);

    if (ub_pcs_tx_pending(phy->tx) & lanes) {
        fill_to_amctl(phy);
        drive(phy, step_to_amctl, 0);
    }
    ub_pcs_tx_command(phy->tx, lanes, type, detail);
    fill_to_amctl(phy);
    drive(phy, step_to_amctl, 0);
    ship(phy);
}

static void op_tx_period(void *o, unsigned index)
{
    op_tx_command(o, UB_AMCTL_PERIOD,
                  index ? UB_AMCTL_PERIOD_1 : UB_AMCTL_PERIOD_0);
}

static void op_tx_remote_width(void *o, unsigned width)
{
    op_tx_command(o, UB_AMCTL_REMOTE_TX, ub_amctl_lws(width));
}

/* Behind the last n flits: what the frame begun lacks, and frames of fill. */
static size_t append_rest(UbPhy *phy, size_t n)
{
    unsigned frame = ub_pcs_frame_flits(ub_pcs_tx_mode(phy->tx));
    size_t begun = (frame - ub_pcs_tx_missing(phy->tx)) % frame;
    size_t fill = (frame - (begun + n) % frame) % frame +
                  phy->rest_frames * frame;

    for (size_t i = 0; i < fill; i++) {
        memcpy(phy->flits + (n + i) * UB_FLIT, phy->null_flit, UB_FLIT);
    }
    return fill;
}

size_t ub_phy_tx(UbPhy *phy, int64_t now, size_t max)
{
    size_t sent = 0;

    phy->now = now;
    while (phy->lmsm.state == UB_LMSM_LINK_ACTIVE && sent < max) {
        size_t want = MIN(max - sent, PULL);
        size_t n = phy->ops.pull_flits(phy->opaque, phy->flits, want);
        bool dry = n < want;

        sent += n;
        if (dry && (sent || ub_pcs_tx_missing(phy->tx))) {
            n += append_rest(phy, n);
        }
        put_flits(phy, phy->flits, n);
        if (dry) {
            break;
        }
    }
    ship(phy);
    return sent;
}

/* -------------------------------------------------------------- receive -- */

static void op_rx_enable(void *o, unsigned mask, unsigned rate)
{
    UbPhy *phy = o;

    /* Both directions change it where the lanes start, not in their midst. */
    if (phy->lmsm.state != UB_LMSM_LINK_ACTIVE) {
        phy->precode = phy->lmsm.cfg.precode;
    }
    phy->rx_rate = (uint8_t)rate;
    phy->rx_mask = (uint8_t)mask;
    ub_pcs_rx_enable(phy->rx, (uint8_t)mask, rate_pam4(phy, rate),
                     rate_precode(phy, rate));
}

/*
 * The peer's stream has ended: what is above learns that Link_Active was left
 * only now, so that it takes what was on its way.
 */
static void stream_over(UbPhy *phy)
{
    phy->open = false;
    if (phy->leaving) {
        phy->leaving = false;
        if (phy->ops.active) {
            phy->ops.active(phy->opaque, false);
        }
    }
}

static void op_rx_relock(void *o)
{
    UbPhy *phy = o;

    ub_pcs_rx_relock(phy->rx, phy->rx_mask);
    stream_over(phy);
}

static void op_rx_fec(void *o, unsigned fec, bool interleave)
{
    UbPhy *phy = o;

    ub_pcs_rx_set_fec(phy->rx, (UbFec)fec, interleave ? 2 : 1);
}

/* Wires without a number get those that are left over. */
static void op_rx_map(void *o, const uint8_t *phys)
{
    UbPhy *phy = o;
    uint8_t logical[UB_LANES];
    unsigned free = 0;

    memset(logical, UB_LMSM_NO_LANE, sizeof(logical));
    for (unsigned i = 0; i < UB_LANES; i++) {
        if (phys[i] < UB_LANES) {
            logical[phys[i]] = (uint8_t)i;
        } else {
            free |= 1u << i;
        }
    }
    for (unsigned i = 0; i < UB_LANES; i++) {
        if (logical[i] == UB_LMSM_NO_LANE && free) {
            logical[i] = (uint8_t)__builtin_ctz(free);
            free &= free - 1;
        }
    }
    ub_pcs_rx_set_map(phy->rx, logical);
}

/* A Null Block by its header; the rest is the data link layer's to check. */
static bool is_null(const uint8_t *flit)
{
    return flit[0] == 0x02 && !flit[1] && !flit[2];
}

static void rx_flits(void *o, const uint8_t *flits, size_t n, bool fec_ok)
{
    UbPhy *phy = o;
    unsigned state = phy->lmsm.state;

    /* Behind our own EDF the peer's stream goes on until it answers. */
    if (!phy->open) {
        size_t i = 0;

        while (fec_ok && i < n && !phy->talk && is_null(flits + i * UB_FLIT)) {
            i++;
        }
        if (i) {
            ub_lmsm_rx_blocks(&phy->lmsm, phy->now, (unsigned)i, true);
        }
        if (i == n) {
            return;
        }
        /* A peer that is ahead of us may have begun to talk. */
        if (!phy->talk) {
            ub_lmsm_rx_blocks(&phy->lmsm, phy->now, 1, false);
        }
        phy->talk = phy->lmsm.null_ok;
        flits += i * UB_FLIT;
        n -= i;
        if (state != UB_LMSM_SEND_NULLBLOCK || !phy->talk) {
            return;
        }
    }
    phy->ops.rx_flits(phy->opaque, flits, n, fec_ok);
}

static void rx_ltb(void *o, unsigned lane, const uint8_t ltb[UB_LTB])
{
    UbPhy *phy = o;

    if (phy->ops.ltb) {
        phy->ops.ltb(phy->opaque, false, lane, ltb, 1);
    }
    ub_lmsm_rx_ltb(&phy->lmsm, phy->now, lane, ltb);
}

static void rx_amctl(void *o, unsigned lane, const UbAmctl *a)
{
    UbPhy *phy = o;

    if (a->failed) {
        phy->pcs_errors |= UB_PHY_PCS_EBCH;
    }
    if (a->type == UB_AMCTL_EI && a->detail == UB_AMCTL_EI_EEI) {
        ub_lmsm_rx_eei(&phy->lmsm, phy->now, lane);
    } else if (a->type == UB_AMCTL_REMOTE_TX) {
        ub_lmsm_rx_remote_width(&phy->lmsm, phy->now,
                                ub_amctl_lws_width(a->detail));
    }
}

static void op_status(void *o, unsigned changed)
{
    UbPhy *phy = o;

    if (phy->ops.status) {
        phy->ops.status(phy->opaque, changed);
    }
}

static void pcs_error(UbPhy *phy, unsigned status, uint32_t error)
{
    phy->pcs_errors |= (uint8_t)status;
    phy->lmsm.errors |= error;
    op_status(phy, UB_PHY_ST_ERROR);
}

static void rx_event(void *o, UbPcsEvent ev, unsigned lane, uint32_t arg)
{
    UbPhy *phy = o;
    UbLmsm *l = &phy->lmsm;

    switch (ev) {
    case UB_PCS_SDF:
        phy->talk = false;
        stream_over(phy);
        ub_pcs_rx_clear_ber(phy->rx);
        ub_lmsm_rx_sdf(l, phy->now, arg);
        break;
    case UB_PCS_EDF:
        stream_over(phy);
        ub_lmsm_rx_edf(l, phy->now);
        break;
    case UB_PCS_WIDTH:
        ub_lmsm_rx_width(l, phy->now, arg);
        break;
    case UB_PCS_MISS:
        pcs_error(phy, UB_PHY_PCS_EBCH, UB_PHY_ERR_AMCTL);
        ub_lmsm_rx_miss(l, phy->now, lane, arg);
        break;
    case UB_PCS_UNLOCK:
        pcs_error(phy, 0, UB_PHY_ERR_BLOCK_ALIGN);
        ub_lmsm_rx_unlock(l, phy->now, lane);
        break;
    case UB_PCS_HI_FEC_BER:
        ub_lmsm_rx_hi_ber(l, phy->now);
        break;
    case UB_PCS_SKEW_OVERFLOW:
        pcs_error(phy, UB_PHY_PCS_DESKEW, UB_PHY_ERR_DESKEW);
        ub_lmsm_rx_framing(l, phy->now);
        break;
    default:
        break;
    }
}

/*
 * Symbols of another rate are noise that no receiver locks to.  In training
 * the machine looks after each frame, so that a state sees the blocks that
 * were meant for it even if the peer's next ones came along with them.
 */
void ub_phy_rx(UbPhy *phy, int64_t now, uint8_t mask,
               const uint8_t *const sym[UB_LANES], size_t n)
{
    size_t at = 0, step;

    phy->now = now;
    for (; at < n; at += step) {
        bool active = phy->lmsm.state == UB_LMSM_LINK_ACTIVE;
        UbLaneRun run = { .mask = mask };

        if (phy->peer_rate != phy->rx_rate || !phy->rx_mask) {
            return;
        }
        step = active || n - at < FRAME ? n - at : FRAME;
        run.cap = run.n = step;
        for (unsigned i = 0; i < UB_LANES; i++) {
            /* Only read. */
            run.lane[i] = mask >> i & 1 ? (uint8_t *)sym[i] + at : NULL;
        }
        ub_pcs_rx(phy->rx, &run);
        if (!active) {
            ub_lmsm_poll(&phy->lmsm, now);
            ship(phy);
        }
    }
}

void ub_phy_rx_lanes(UbPhy *phy, int64_t now, uint8_t active, unsigned rate)
{
    uint8_t hunt = 0;

    phy->now = now;
    phy->peer_rate = (uint8_t)rate;
    for (unsigned i = 0; i < UB_LANES; i++) {
        UbPcsLane lane;

        ub_pcs_rx_lane(phy->rx, i, &lane);
        /* A lane that dies in data counts on: its misses are evidence. */
        if (!(active >> i & 1) && !lane.data) {
            hunt |= (uint8_t)(1u << i);
        }
    }
    ub_pcs_rx_relock(phy->rx, hunt);
    ub_lmsm_rx_idle(&phy->lmsm, now, (uint8_t)~active);
}

void ub_phy_presence(UbPhy *phy, int64_t now, uint8_t mask)
{
    phy->now = now;
    ub_lmsm_presence(&phy->lmsm, now, mask);
}

/* ----------------------------------------------------------------- life -- */

static void op_transition(void *o, UbLmsmTransitionId id, int64_t now)
{
    UbPhy *phy = o;
    const UbLmsm *l = &phy->lmsm;
    bool left = l->from == UB_LMSM_LINK_ACTIVE && l->link_up;

    if (l->state == UB_LMSM_LINK_ACTIVE) {
        stream_over(phy);
        phy->open = true;
    } else if (!l->link_up) {
        phy->open = phy->leaving = false;
    } else if (left && ub_pcs_tx_state(phy->tx) == UB_PCS_DATA) {
        /* A block begun is finished before EDF cuts the stream. */
        fill_to_amctl(phy);
    }
    phy->leaving |= left;
    if (left && !phy->open) {
        stream_over(phy);
    }
    if (phy->ops.active && l->state == UB_LMSM_LINK_ACTIVE) {
        phy->ops.active(phy->opaque, true);
    }
    if (phy->ops.transition) {
        phy->ops.transition(phy->opaque, ub_lmsm_state_name(l->from),
                            ub_lmsm_state_name(l->state),
                            ub_lmsm_transitions[id].cause);
    }
}

static void op_lane_manage(void *o, const UbLaneManage *lm)
{
    UbPhy *phy = o;

    if (phy->ops.lane_manage) {
        phy->ops.lane_manage(phy->opaque, lm);
    }
}

static UbPhyModeGate op_mode_gate(void *opaque)
{
    UbPhy *phy = opaque;

    return phy->ops.mode_gate ? phy->ops.mode_gate(phy->opaque)
                              : UB_PHY_MODE_OWN;
}

static const UbLmsmOps lmsm_ops = {
    .mode_gate = op_mode_gate,
    .tx_train = op_tx_train,
    .tx_ltbs = op_tx_ltbs,
    .tx_sdf = op_tx_sdf,
    .tx_nulls = op_tx_nulls,
    .tx_idle = op_tx_idle,
    .tx_width = op_tx_width,
    .tx_wake = op_tx_wake,
    .tx_wake_fill = op_tx_wake_fill,
    .tx_unwake = op_tx_unwake,
    .tx_period = op_tx_period,
    .tx_remote_width = op_tx_remote_width,
    .rx_enable = op_rx_enable,
    .rx_relock = op_rx_relock,
    .rx_fec = op_rx_fec,
    .rx_map = op_rx_map,
    .lane_manage = op_lane_manage,
    .status = op_status,
    .transition = op_transition,
};

static const UbPcsRxOps pcs_ops = {
    .flits = rx_flits,
    .ltb = rx_ltb,
    .amctl = rx_amctl,
    .event = rx_event,
};

void ub_phy_config_init(UbPhyConfig *c)
{
    memset(c, 0, sizeof(*c));
    ub_lmsm_config_init(&c->lmsm);
    ub_eq_model_init(&c->eq);
    ub_pcs_params_init(&c->pcs);
}

const char *ub_phy_config_check(const UbPhyConfig *c)
{
    const char *why = ub_pcs_params_check(&c->pcs);

    why = why ? why : ub_lmsm_config_check(&c->lmsm);
    if (!why && c->rest_frames > UB_PHY_REST_MAX) {
        why = "a stream rests after 16 frames of fill at most";
    }
    return why;
}

UbPhy *ub_phy_new(const UbPhyConfig *cfg, const UbPhyOps *ops, void *opaque)
{
    UbPhy *phy;

    if (ub_phy_config_check(cfg)) {
        return NULL;
    }
    phy = g_new0(UbPhy, 1);
    phy->precode = cfg->lmsm.precode;
    phy->rest_frames = cfg->rest_frames;
    phy->ops = *ops;
    phy->opaque = opaque;
    phy->tx = ub_pcs_tx_new(&cfg->pcs);
    phy->rx = ub_pcs_rx_new(&cfg->pcs, &pcs_ops, phy);
    phy->run.cap = RUN_CAP;
    for (unsigned i = 0; i < UB_LANES; i++) {
        phy->run.lane[i] = phy->buf[i];
        phy->phys[i] = (uint8_t)i;
    }
    memcpy(phy->null_flit, cfg->pcs.null_flit, UB_FLIT);
    ub_lmsm_init(&phy->lmsm, &cfg->lmsm, &cfg->eq, &lmsm_ops, phy);
    return phy;
}

void ub_phy_free(UbPhy *phy)
{
    if (phy) {
        ub_pcs_tx_free(phy->tx);
        ub_pcs_rx_free(phy->rx);
        g_free(phy);
    }
}

void ub_phy_reset(UbPhy *phy, int64_t now)
{
    phy->now = now;
    phy->pcs_errors = 0;
    ub_lmsm_reset(&phy->lmsm, now);
    ub_pcs_rx_reset(phy->rx);
}

int64_t ub_phy_poll(UbPhy *phy, int64_t now)
{
    int64_t next;

    phy->now = now;
    next = ub_lmsm_poll(&phy->lmsm, now);
    ship(phy);
    return next;
}

/* ------------------------------------------- what others ask and see -- */

const char *ub_phy_configure(UbPhy *phy, const UbLmsmConfig *cfg)
{
    const char *why = ub_lmsm_config_check(cfg);

    if (!why) {
        phy->lmsm.cfg = *cfg;
    }
    return why;
}

const UbLmsmConfig *ub_phy_config(const UbPhy *phy)
{
    return &phy->lmsm.cfg;
}

bool ub_phy_request(UbPhy *phy, int64_t now, UbPhyRequest request)
{
    UbLmsm *l = &phy->lmsm;

    phy->now = now;
    switch (request) {
    case UB_PHY_REQ_START:
        ub_lmsm_start(l);
        return true;
    case UB_PHY_REQ_STOP:
        l->start = false;
        return true;
    case UB_PHY_REQ_DISABLE:
    case UB_PHY_REQ_ENABLE:
        ub_lmsm_disable(l, now, request == UB_PHY_REQ_DISABLE);
        return true;
    case UB_PHY_REQ_TARGET:
        return ub_lmsm_request_target(l);
    case UB_PHY_REQ_RETRAIN:
        ub_lmsm_request_retrain(l);
        return true;
    case UB_PHY_REQ_RETRY:
        ub_lmsm_request_retry(l);
        return true;
    case UB_PHY_REQ_EQUALIZE:
        ub_lmsm_request_eq(l);
        return true;
    case UB_PHY_REQ_QDLWS:
        return ub_lmsm_qdlws(l, now, l->cfg.target_tx, l->cfg.target_rx);
    }
    return false;
}

void ub_phy_rx_lane_manage(UbPhy *phy, int64_t now, const UbLaneManage *lm)
{
    phy->now = now;
    ub_lmsm_rx_lane_manage(&phy->lmsm, now, lm);
}

void ub_phy_status(const UbPhy *phy, UbPhyStatus *st)
{
    const UbLmsm *l = &phy->lmsm;

    *st = (UbPhyStatus) {
        .state = ub_lmsm_state_name(l->state),
        .code = l->state,
        .active = l->state == UB_LMSM_LINK_ACTIVE,
        .link_up = l->link_up,
        .primary = l->primary,
        .interleave = l->interleave,
        .ready = l->link_ready && l->state == UB_LMSM_LINK_ACTIVE,
        .rate = l->rate,
        .tx_width = l->tx_m,
        .rx_width = l->rx_n,
        .fec = l->fec,
        .crc = l->crc,
        .eq_mode = l->eq_mode,
        .qdlws = l->qdlws.status,
        .precode = phy->precode,
        .pcs_errors = phy->pcs_errors,
    };
    memcpy(st->eq_state, l->eq_state, sizeof(st->eq_state));
}

bool ub_phy_wants_mode(const UbPhy *phy)
{
    return ub_lmsm_wants_mode(&phy->lmsm);
}

bool ub_phy_active(const UbPhy *phy)
{
    return phy->lmsm.state == UB_LMSM_LINK_ACTIVE;
}

bool ub_phy_link_up(const UbPhy *phy)
{
    return phy->lmsm.link_up;
}

uint32_t ub_phy_take_errors(UbPhy *phy)
{
    uint32_t errors = phy->lmsm.errors;

    phy->lmsm.errors = 0;
    return errors;
}

void ub_phy_stats(const UbPhy *phy, UbPhyStats *stats)
{
    const UbPcsRxStats *r = ub_pcs_rx_stats(phy->rx);

    *stats = (UbPhyStats) {
        .fec_corrected = r->fixed_symbols,
        .fec_failed = r->failed_words,
    };
    for (unsigned i = 0; i < UB_LANES; i++) {
        UbPcsLane lane;

        ub_pcs_rx_lane(phy->rx, i, &lane);
        stats->amctl_missed += lane.missed;
        for (unsigned kind = 0; kind < 4; kind++) {
            stats->ltb_errors[kind] +=
                phy->lmsm.lane[i].kind_errors[UB_LTB_DLTB + kind];
        }
    }
}

unsigned ub_phy_tx_preset(const UbPhy *phy, unsigned rate, unsigned lane)
{
    return phy->lmsm.tx_eq[rate][lane].preset & 0xf;
}

unsigned ub_phy_eye(const UbPhy *phy, unsigned lane)
{
    return ub_lmsm_eye(&phy->lmsm, lane);
}

void ub_phy_clear_eq_request(UbPhy *phy, unsigned rate)
{
    phy->lmsm.eq_state[rate] &= ~UB_EQS_LINK_REQUEST;
}

/* ---------------------------------------------- for the unit tests only -- */

UbLmsm *ub_phy_lmsm(UbPhy *phy)
{
    return &phy->lmsm;
}

const UbPcsTx *ub_phy_pcs_tx(const UbPhy *phy)
{
    return phy->tx;
}

UbPcsRx *ub_phy_pcs_rx(UbPhy *phy)
{
    return phy->rx;
}
