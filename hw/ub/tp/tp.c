/*
 * The transport layer: its life, commands, and the way of a packet through it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- configuration ---- */

void ub_tp_config_init(UbTpConfig *cfg)
{
    *cfg = (UbTpConfig) {
        .attr = {
            .flow = { .cfg = UB_LPH_CNA24, .port = UB_NET_ANY,
                      .vl = UB_NET_ANY, .nlp = UB_NLP_RTPH },
            .mtu = 4096, .fast = true, .ooo_window = 1024,
            /* Between emulated hosts, which do not keep microseconds: 16 ms,
             * and a minute and a half until the peer is given up. */
            .rto_dynamic = true, .rto_code = 2, .rto_base_us = 16384,
            .rto_shift = 2, .retries = 6,
            .tx_window = 512, .ask = UB_TP_ASK_HALF, .ack_every = 64,
            .sack_every = 1, .sack_bits = 1024, .cc = UB_CC_NONE,
            .cw_unit = 1,
        },
        .max_channels = 65536, .max_groups = 4096, .seed = 1,
        .rto_static_us = { 512, 16000, 128000, 4000000 },
        .fake_us = 50000, .cnp_us = 50, .setup_us = 100000,
        .setup_tries = 10, .setup_nlp = 15,
        .hold_bytes = 64u << 20, .unsent = 8, .results = 1024, .msn_check = true,
        .cc = { [UB_CC_LDCP] = &ub_cc_ldcp, [UB_CC_DCQCN] = &ub_cc_dcqcn,
                [UB_CC_CAQM] = &ub_cc_caqm },
        .cc_param = {
            .cw_init = 256 << 10, .cw_min = 4096, .cw_max = 16 << 20,
            .ldcp_add = 8192, .ldcp_cut = 512,
            .rate_max = UINT64_C(50000000000), .rate_min = 1000000,
            .dcqcn_g = 64, .dcqcn_alpha_us = 55, .dcqcn_rate_us = 300,
            .dcqcn_ai = 5000000, .dcqcn_hai = 50000000, .dcqcn_fast = 5,
            .caqm_unit = 64, .caqm_want = 16, .caqm_cut = 4096,
        },
        .ctp_throttle = true, .ctp_flows = 1024,
    };
    for (int i = 0; i < UB_TPC_NUM; i++) {
        cfg->clock[i] = (UbTpScale) { 1, 1000 };
    }
}

static const struct {
    const char *name;
    UbCcFeedback feedback;
} cc_kinds[UB_CC_KINDS] = {
    [UB_CC_LDCP] = { "ldcp", UB_CC_FB_LDCP },
    [UB_CC_DCQCN] = { "dcqcn", UB_CC_FB_NONE },
    [UB_CC_CAQM] = { "caqm", UB_CC_FB_CAQM },
};

const char *ub_tp_config_fault(const UbTpConfig *cfg)
{
    const UbCcParam *p = &cfg->cc_param;

    if (!cfg->upper || !cfg->upper->rx || !cfg->upper->acked ||
        !cfg->upper->error || !cfg->upper->room || !cfg->lower ||
        !cfg->lower->send) {
        return "what is above or below is missing";
    }
    for (int i = 0; i < UB_TPC_NUM; i++) {
        if (!cfg->clock[i].scale || cfg->clock[i].scale > 1000000 ||
            cfg->clock[i].floor_ns < 1 ||
            cfg->clock[i].floor_ns > INT64_C(3600) * 1000000000) {
            return "a timer's scale is 1 to 1000000, its floor 1 ns to 1 h";
        }
    }
    for (int i = 0; i < UB_CC_KINDS; i++) {
        if (cfg->cc[i] && (!cfg->cc[i]->init ||
                           (cc_kinds[i].name && cfg->cc[i]->feedback !=
                                                cc_kinds[i].feedback))) {
            return "a congestion algorithm does not fit its place";
        }
    }
    if (cfg->cc_user && !ub_cc_user(cfg->cc_user)) {
        return "no such algorithm of a user is compiled in";
    }
    if (!cfg->max_channels || cfg->max_channels > 1u << 20 ||
        cfg->max_groups > 1u << 20) {
        return "there are 1 to 2^20 channels and as many groups";
    }
    if (cfg->results < 16 || cfg->results > 32768 ||
        cfg->results & (cfg->results - 1)) {
        return "results is a power of two, 16 to 32768";
    }
    if (cfg->setup_nlp <= UB_TPH_CIP || cfg->setup_nlp > 15) {
        return "setup_nlp is a reserved NLP, 4 to 15";
    }
    if (!p->cw_min || p->cw_min > p->cw_max || !p->rate_min ||
        p->rate_min > p->rate_max || p->ldcp_cut > 1024 ||
        p->dcqcn_g > 1024 || !p->dcqcn_alpha_us || !p->dcqcn_rate_us ||
        p->rate_max > UINT64_C(1) << 56) {
        return "a parameter of congestion control is out of range";
    }
    if (!attr_good(cfg, &cfg->attr)) {
        return "what channels have by default is out of range, or clashes";
    }
    return NULL;
}

void ub_tp_attr_init(UbTp *tp, UbTpAttr *attr)
{
    *attr = tp->cfg.attr;
    attr->tx_psn = core_random(&tp->rng) & UB_PSN_MASK;
    attr->rx_psn = core_random(&tp->rng) & UB_PSN_MASK;
    attr->flow.lbf = core_random(&tp->rng);
    if (ub_lph_is_ip(attr->flow.cfg)) {
        attr->flow.lbf |= 0xc000;       /* an ephemeral port */
    }
}

/* ---- life ---- */

/* Four places for a channel: numbers of one's choice seldom meet. */
static unsigned table_log(uint32_t channels)
{
    unsigned log = 12;

    while (log < UB_PSN_BITS && 1u << log < 4 * channels) {
        log++;
    }
    return log;
}

UbTp *ub_tp_new(const UbTpConfig *cfg)
{
    UbTp *tp;

    if (ub_tp_config_fault(cfg)) {
        return NULL;
    }
    tp = g_new0(UbTp, 1);
    tp->cfg = *cfg;
    tp->rng = cfg->seed;
    tp->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    tp->room_at = CORE_NEVER;
    tp->groups = g_new0(Group *, cfg->max_groups);
    core_table_init(&tp->chans, table_log(cfg->max_channels));
    core_slab_init(&tp->chan_slab, sizeof(Chan));
    core_slab_init(&tp->ring_slab, RING_MIN * sizeof(Slot));
    return tp;
}

static void free_one(void *opaque, void *p)
{
    chan_free(p);
}

void ub_tp_reset(UbTp *tp)
{
    core_table_foreach(&tp->chans, free_one, NULL);
    for (uint32_t i = 0; tp->num_groups; i++) {
        if (tp->groups[i]) {
            ub_tpg_destroy(tp, i);
        }
    }
    g_clear_pointer(&tp->peers, g_hash_table_unref);
    g_clear_pointer(&tp->sources, g_hash_table_unref);
    ctp_reset(tp);
    tp->ctp_lbf = 0;
    tp->want_room = tp->room_due = false;
    tp->room_at = CORE_NEVER;
}

void ub_tp_free(UbTp *tp)
{
    if (!tp) {
        return;
    }
    ub_tp_reset(tp);
    core_slab_trim(&tp->chan_slab);
    core_slab_trim(&tp->ring_slab);
    allow_free(tp);
    core_table_free(&tp->chans);
    core_timers_free(&tp->timers);
    core_timers_free(&tp->ctp_timers);
    core_packet_pool_free(tp->pool);
    g_free(tp->groups);
    g_free(tp);
}

const UbTpCounters *ub_tp_counters(const UbTp *tp)
{
    return &tp->count;
}

static void cc_one(void *opaque, void *p)
{
    UbTp *tp = opaque;
    Chan *ch = p;

    if (!tp->cfg.cc_on) {
        cc_detach(ch);
        if (ch->state == UB_TP_ACTIVE && ch->on == ON_NONE) {
            chan_work(ch);      /* no window holds it back any more */
        }
    } else if (ch->state == UB_TP_ACTIVE) {
        cc_attach(ch, tp->now);
    }
}

void ub_tp_cc_enable(UbTp *tp, bool on)
{
    if (tp->cfg.cc_on != on) {
        tp->cfg.cc_on = on;
        core_table_foreach(&tp->chans, cc_one, tp);
        if (!on) {
            ctp_reset(tp);
        }
    }
}

void ub_tp_set_mtu(UbTp *tp, uint32_t mtu)
{
    tp->cfg.attr.mtu = mtu;
}

/* ---- commands ---- */

UbTpResult ub_tp_create(UbTp *tp, uint32_t *tpn, const UbTpAttr *attr)
{
    Chan *ch;
    UbTpResult r = chan_new(tp, *tpn, attr, &ch);

    if (r == UB_TPR_OK) {
        *tpn = ch->tpn;
    }
    return r;
}

UbTpResult ub_tp_modify(UbTp *tp, uint32_t tpn, const UbTpAttr *attr,
                        unsigned mask)
{
    const unsigned fixed = UB_TPA_PEER | UB_TPA_LOSS | UB_TPA_CC;
    Chan *ch = chan_get(tp, tpn);
    UbTpAttr a;

    if (!ch) {
        return UB_TPR_NO_CHANNEL;
    }
    if (mask & fixed && ch->state != UB_TP_RESET) {
        return UB_TPR_BAD_STATE;
    }
    a = ch->attr;
    if (mask & UB_TPA_FLOW) {
        a.flow = attr->flow;
        a.spray = attr->spray;
    }
    if (mask & UB_TPA_PEER) {
        a.dst_tpn = attr->dst_tpn;
        a.tx_psn = attr->tx_psn;
        a.rx_psn = attr->rx_psn;
        a.mtu = attr->mtu;
    }
    if (mask & UB_TPA_LOSS) {
        a.selective = attr->selective;
        a.fast = attr->fast;
        a.mark = attr->mark;
        a.ooo = attr->ooo;
        a.ooo_window = attr->ooo_window;
    }
    if (mask & UB_TPA_RTO) {
        a.rto_dynamic = attr->rto_dynamic;
        a.rto_code = attr->rto_code;
        a.rto_base_us = attr->rto_base_us;
        a.rto_shift = attr->rto_shift;
        a.retries = attr->retries;
    }
    if (mask & UB_TPA_WINDOW) {
        a.tx_window = attr->tx_window;
    }
    if (mask & UB_TPA_ACK) {
        a.ask = attr->ask;
        a.ack_every = attr->ack_every;
        a.sack_every = attr->sack_every;
        a.sack_bits = attr->sack_bits;
    }
    if (mask & UB_TPA_CC) {
        a.cc = attr->cc;
        a.cw_unit = attr->cw_unit;
    }
    if (mask & ~UB_TPA_ALL || !attr_good(&tp->cfg, &a) ||
        (ch->group && !group_takes(ch->group, ch, &a.flow))) {
        return UB_TPR_BAD_ATTR;
    }
    if (ch->state != UB_TP_RESET && !allow_asks(tp, &a.flow)) {
        return UB_TPR_REFUSED;
    }
    ch->attr = a;
    if (ch->state == UB_TP_RESET) {
        chan_begin(ch);
    }
    chan_room(ch);
    return UB_TPR_OK;
}

UbTpResult ub_tp_activate(UbTp *tp, uint32_t tpn)
{
    Chan *ch = chan_get(tp, tpn);

    if (!ch) {
        return UB_TPR_NO_CHANNEL;
    }
    if (ch->state != UB_TP_RESET) {
        return UB_TPR_BAD_STATE;
    }
    if (!allow_asks(tp, &ch->attr.flow)) {
        return UB_TPR_REFUSED;
    }
    ch->state = UB_TP_ACTIVE;
    cc_attach(ch, tp->now);
    return UB_TPR_OK;
}

UbTpResult ub_tp_deactivate(UbTp *tp, uint32_t tpn)
{
    Chan *ch = chan_get(tp, tpn);

    if (!ch) {
        return UB_TPR_NO_CHANNEL;
    }
    setup_forget(ch);
    ch->in_band = ch->setup_active = false;
    ch->state = UB_TP_RESET;
    chan_flush(ch);
    return UB_TPR_OK;
}

UbTpResult ub_tp_destroy(UbTp *tp, uint32_t tpn, int64_t now)
{
    Chan *ch = chan_get(tp, tpn);

    if (!ch) {
        return UB_TPR_NO_CHANNEL;
    }
    setup_bye(ch, now);
    ub_tp_deactivate(tp, tpn);
    chan_free(ch);
    return UB_TPR_OK;
}

UbTpResult ub_tp_query(const UbTp *tp, uint32_t tpn, UbTpAttr *attr,
                       UbTpInfo *info)
{
    const Chan *ch = chan_get(tp, tpn);

    if (!ch) {
        return UB_TPR_NO_CHANNEL;
    }
    if (attr) {
        *attr = ch->attr;
    }
    if (info) {
        *info = (UbTpInfo) {
            .state = ch->state,
            .group = ch->group ? ch->group->number : UB_TP_NONE,
            .una = ch->una & UB_PSN_MASK, .next = ch->next & UB_PSN_MASK,
            .epsn = ch->epsn & UB_PSN_MASK,
            .max_rcv = ch->max_rcv & UB_PSN_MASK,
            .tx_msn = ch->tx_msn, .rx_msn = ch->rx_msn,
            .in_flight = ch->next - ch->una, .in_flight_bytes = ch->bytes,
            .held = ch->held, .withheld = ch->fifo_len,
            .timeouts = ch->times,
            .cw = ch->cc ? ch->cc->state.cw : 0,
            .rate = ch->cc ? ch->cc->state.rate : 0,
        };
    }
    return UB_TPR_OK;
}

typedef struct Each {
    void (*fn)(void *opaque, uint32_t tpn);
    void *opaque;
} Each;

static void each_one(void *opaque, void *p)
{
    Each *e = opaque;

    e->fn(e->opaque, ((Chan *)p)->tpn);
}

void ub_tp_foreach(UbTp *tp, void (*fn)(void *opaque, uint32_t tpn),
                   void *opaque)
{
    Each e = { fn, opaque };

    core_table_foreach(&tp->chans, each_one, &e);
}

/* ---- packets ---- */

static bool mode_fits(UbTpMode mode, uint8_t cfg)
{
    switch (mode) {
    case UB_TP_CTP:
        return cfg == UB_LPH_CNA16 || cfg == UB_LPH_CNA24;
    case UB_TP_UTP:
        return ub_lph_is_ip(cfg);
    case UB_TP_BYPASS:
        return cfg == UB_LPH_BYPASS;
    default:
        return false;
    }
}

UbSend ub_tp_send(UbTp *tp, const UbTpDest *dest, CorePacket *pkt,
                  const UbTpTx *tx, int64_t now)
{
    tp->now = now;
    if (dest->mode == UB_TP_RTP) {
        Chan *ch = chan_get(tp, dest->tpn);

        if (!ch) {
            tp_drop(&tp->count.drop_no_channel, pkt);
            return UB_LOST;
        }
        return rtp_send(ch, pkt, tx, now);
    }
    if (!mode_fits(dest->mode, dest->flow.cfg)) {
        tp_drop(&tp->count.drop_mode, pkt);
        return UB_LOST;
    }
    switch (dest->mode) {
    case UB_TP_CTP:
        return ctp_send(tp, &dest->flow, pkt, tx->nlp, now);
    case UB_TP_UTP:
        return utp_send(tp, &dest->flow, pkt, tx->nlp, now);
    default:
        return bypass_send(tp, &dest->flow, pkt, now);
    }
}

bool ub_tp_ready(const UbTp *tp, uint32_t tpn)
{
    const Chan *ch = chan_get(tp, tpn);

    return ch && ch->state == UB_TP_ACTIVE && !ch->open && chan_has_room(ch);
}

void ub_tp_reply(const UbTpRx *rx, UbTpDest *dest)
{
    dest->mode = rx->mode;
    dest->tpn = rx->tpn;
    ub_flow_reply(&dest->flow, rx->flow);
}

uint32_t ub_tp_mtu(const UbTp *tp, const UbTpDest *dest)
{
    const Chan *ch = dest->mode == UB_TP_RTP ? chan_get(tp, dest->tpn) : NULL;

    return ch ? ch->attr.mtu : tp->cfg.attr.mtu;
}

void ub_tp_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, int64_t now)
{
    tp->now = now;
    if (ub_lph_is_ip(flow->cfg) ||
        (flow->cfg == UB_LPH_CNA24 && flow->nlp == UB_NLP_RTPH)) {
        rtp_rx(tp, flow, pkt, now);
    } else if (flow->cfg == UB_LPH_BYPASS) {
        bypass_rx(tp, flow, pkt);
    } else if (flow->nlp == UB_NLP_CTPH && mode_fits(UB_TP_CTP, flow->cfg)) {
        ctp_rx(tp, flow, pkt, now);
    } else {
        tp_drop(&tp->count.drop_mode, pkt);
    }
}

void ub_tp_space(UbTp *tp, int64_t now)
{
    tp->now = now;
    while (tp->stalled.first) {
        chan_work(tp->stalled.first);
    }
    if (tp->want_room) {
        tp->room_due = true;
    }
}

/* ---- turns ---- */

static void fake_timer(Chan *ch, int64_t now)
{
    UbTp *tp = ch->tp;

    if (now >= ch->fake_until || ch->una != ch->next) {
        ch->fake_at = CORE_NEVER;
        return;
    }
    if (ch->fakes >= ch->attr.retries) {
        chan_fail(ch, UB_TP_E_RETRIES);
        return;
    }
    ch->fake_at = now + tp_clock(tp, UB_TPC_FAKE, tp->cfg.fake_us);
    /* The peer has nothing to answer while our own port takes nothing. */
    ch->fakes += ack_fake(ch, now);
}

static void chan_expired(Chan *ch, int64_t now)
{
    if (ch->setup_at <= now) {
        bool asked = ch->setup_active || ch->setup_left;

        setup_timer(ch, now);
        if (!asked) {
            return;             /* it is gone */
        }
    }
    if (ch->rto_at <= now) {
        rtp_timeout(ch, now);
    }
    if (ch->fake_at <= now) {
        fake_timer(ch, now);
    }
    if (ch->ack_at <= now) {
        ch->ack_at = CORE_NEVER;
        ch->ack_now = true;
        if (ch->on == ON_NONE) {
            chan_work(ch);
        }
    }
    if (ch->cc && cc_deadline(ch) <= now) {
        cc_tick(ch, now);
        ch->paced = false;
        if (ch->on == ON_NONE) {
            chan_work(ch);
        }
    }
    if (ch->state == UB_TP_ERROR && ch->peer_key) {
        /* A peer had asked for it: nobody here would destroy it. */
        chan_free(ch);
        return;
    }
    chan_timer(ch);
}

static void chan_turn(Chan *ch, int64_t now, unsigned *budget)
{
    UbTp *tp = ch->tp;

    chan_idle(ch);
    if (ch->state != UB_TP_ACTIVE) {
        return;
    }
    if (ch->owed && !tp->cfg.ack_delay_us) {
        ch->ack_now = true;
    }
    if (ack_flush(ch, now)) {
        rtp_push(ch, now, budget);
    }
    chan_timer(ch);
    if (ch->room_due) {
        ch->room_due = ch->want_room = false;
        tp->cfg.upper->room(tp->cfg.upper_opaque, ch->tpn);
    }
}

int64_t ub_tp_run(UbTp *tp, int64_t now, unsigned budget)
{
    CoreTimer *t;

    tp->now = now;
    allow_run(tp, now);
    while ((t = core_timers_expired(&tp->timers, now))) {
        chan_expired((Chan *)((char *)t - offsetof(Chan, timer)), now);
    }
    ctp_run(tp, now);
    if (tp->room_at <= now) {
        tp->room_at = CORE_NEVER;
        tp->room_due = true;
    }
    if (tp->room_due) {
        tp->room_due = tp->want_room = false;
        tp->cfg.upper->room(tp->cfg.upper_opaque, UB_TP_NONE);
    }
    while (tp->work.first && budget) {
        unsigned before = budget;

        chan_turn(tp->work.first, now, &budget);
        budget -= budget == before;     /* a turn that sends nothing, too */
    }
    if (tp->work.first || tp->room_due) {
        return now;
    }
    return MIN(MIN(core_timers_deadline(&tp->timers),
                   core_timers_deadline(&tp->ctp_timers)), tp->room_at);
}
