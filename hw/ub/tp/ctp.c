/*
 * CTP: a packet is an operation; nothing is acknowledged, lower layers do not
 * lose (UB 2.0 §6.5.2, §6.6.3, §6.7.2).  Congestion throttles a destination and
 * service level, told by CNPs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static uint64_t flow_key(uint32_t cna, uint8_t sl)
{
    return (uint64_t)sl << 32 | cna;
}

/* ---- throttled destinations ---- */

void ctp_reset(UbTp *tp)
{
    GHashTableIter it;
    gpointer f;

    if (tp->ctp) {
        g_hash_table_iter_init(&it, tp->ctp);
        while (g_hash_table_iter_next(&it, NULL, &f)) {
            core_timer_cancel(&tp->ctp_timers, &((CtpFlow *)f)->timer);
        }
        g_clear_pointer(&tp->ctp, g_hash_table_unref);
    }
    memset(tp->cnp_pace, 0, sizeof(tp->cnp_pace));
}

static const UbCc *ctp_algo(const UbTp *tp)
{
    return tp->cfg.cc_on && tp->cfg.ctp_throttle ? tp->cfg.cc[UB_CC_DCQCN]
                                                 : NULL;
}

CtpFlow *ctp_flow_new(UbTp *tp, uint64_t key)
{
    CtpFlow *f;

    if (!tp->ctp) {
        tp->ctp = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                        g_free);
    }
    if (g_hash_table_size(tp->ctp) >= tp->cfg.ctp_flows) {
        return NULL;
    }
    f = g_new0(CtpFlow, 1);
    f->key = key;
    g_hash_table_insert(tp->ctp, &f->key, f);
    return f;
}

static CtpFlow *flow_of(UbTp *tp, uint64_t key)
{
    return tp->ctp ? g_hash_table_lookup(tp->ctp, &key) : NULL;
}

static void ctp_cnp(UbTp *tp, const UbFlow *flow, const UbCetph *c,
                    int64_t now)
{
    uint64_t key = flow_key(flow->scna, flow->sl);
    const UbCc *algo = ctp_algo(tp);
    CtpFlow *f;

    if (!algo || !algo->cnp) {
        return;
    }
    f = flow_of(tp, key);
    if (!f) {
        f = ctp_flow_new(tp, key);
        if (!f) {
            return;
        }
        f->state.scale_ns = tp_clock(tp, UB_TPC_CC, 1);
        f->state.tick = CORE_NEVER;
        f->state.unit = tp->cfg.attr.cw_unit;
        f->state.mtu = tp->cfg.attr.mtu;
        algo->init(&f->state, &tp->cfg.cc_param, now);
    }
    algo->cnp(&f->state, &tp->cfg.cc_param, c, now);
    core_timer_set(&tp->ctp_timers, &f->timer, f->state.tick);
}

void ctp_run(UbTp *tp, int64_t now)
{
    const UbCc *algo = tp->cfg.cc[UB_CC_DCQCN];
    CoreTimer *t;

    while ((t = core_timers_expired(&tp->ctp_timers, now))) {
        CtpFlow *f = (CtpFlow *)((char *)t - offsetof(CtpFlow, timer));

        f->state.tick = CORE_NEVER;
        if (algo && algo->tick) {
            algo->tick(&f->state, &tp->cfg.cc_param, now);
        }
        if (!f->state.rate) {
            g_hash_table_remove(tp->ctp, &f->key);      /* recovered */
        } else {
            core_timer_set(&tp->ctp_timers, &f->timer,
                           MAX(f->state.tick, now + 1));
        }
    }
}

/* ---- sending ---- */

static CorePacket *ctp_wrap(CorePacket *pkt, const UbCtph *h)
{
    uint8_t *pad = core_packet_put(pkt, h->pad);
    uint8_t *head = core_packet_push(pkt, UB_CTPH_LEN);

    if (!pad || !head) {
        return NULL;
    }
    memset(pad, 0, h->pad);
    ub_ctph_put(head, h);
    return pkt;
}

UbSend ctp_send(UbTp *tp, const UbFlow *to, CorePacket *pkt, uint8_t nlp,
                int64_t now)
{
    UbCtph h = { .opcode = UB_CTPOP_DATA, .nlp = nlp,
                 .pad = ub_tp_pad(UB_CTPH_LEN + pkt->len) };
    CtpFlow *f = flow_of(tp, flow_key(to->dcna, to->sl));
    UbFlow flow = *to;
    uint32_t len;
    UbSend sent;

    if (f && f->pace_at > now) {
        tp->want_room = true;
        tp->room_at = MIN(tp->room_at, f->pace_at);
        return UB_BUSY;
    }
    flow.nlp = UB_NLP_CTPH;
    if (tp->cfg.ctp_spray) {
        flow.lbf = ++tp->ctp_lbf & 0xff;
        flow.steady = true;
    }
    if (ctp_algo(tp)) {
        flow.cci = ctp_algo(tp)->cci;
    }
    if (!ctp_wrap(pkt, &h)) {
        tp_drop(&tp->count.drop_room, pkt);
        return UB_LOST;
    }
    len = pkt->len;     /* it may be gone then */
    sent = plain_down(tp, UB_TP_CTP, &flow, pkt, now);
    if (sent == UB_BUSY) {
        core_packet_pull(pkt, UB_CTPH_LEN);
        core_packet_trim(pkt, h.pad);
    } else if (f && f->state.rate) {
        f->pace_at = MAX(f->pace_at, now) +
                     cc_pace(f->state.rate, len + UB_ICRC_SIZE);
    }
    return sent;
}

/* A CNP to who sent a marked packet, not too often. */
static void ctp_answer_mark(UbTp *tp, const UbFlow *flow, int64_t now)
{
    uint64_t key = flow_key(flow->scna, flow->sl);
    CtpPace *pace = &tp->cnp_pace[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
    UbCtph h = { .opcode = UB_CTPOP_CNP,
                 .pad = ub_tp_pad(UB_CTPH_LEN + UB_CETPH_CNP_LEN) };
    UbCetph c = { .ecn = cci_ecn(flow->cci), .loc = flow->cci & UB_CCI_LOC };
    CorePacket *pkt;
    UbFlow back;

    if (!ctp_algo(tp) || !c.ecn || (pace->key == key && pace->at > now)) {
        return;
    }
    pkt = core_packet_alloc(tp->pool, UB_CETPH_CNP_LEN);
    if (!pkt) {
        return;
    }
    pace->key = key;
    pace->at = now + tp_clock(tp, UB_TPC_CNP, tp->cfg.cnp_us);
    ub_cetph_put_cnp(core_packet_data(pkt), &c);
    ctp_wrap(pkt, &h);
    ub_flow_reply(&back, flow);
    if (ub_cci_mode(flow->cci) == UB_CCI_FECN_RTT) {
        back.cci = ub_cci_fecn_rtt(false, ub_cci_timestamp(flow->cci),
                                   UB_FECN_OFF);
    }
    if (tp->cfg.lower->send(tp->cfg.lower_opaque, now, &back, pkt) ==
        UB_BUSY) {
        tp_drop(&tp->count.drop_busy, pkt);
        return;
    }
    tp->count.tx_cnp++;
}

/* ---- receiving ---- */

void ctp_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, int64_t now)
{
    UbCetph c;
    UbCtph h;

    if (pkt->len < UB_CTPH_LEN) {
        tp_drop(&tp->count.drop_short, pkt);
        return;
    }
    ub_ctph_get(core_packet_data(pkt), &h);
    if (!ub_ctp_ops[h.opcode].name) {
        tp_drop(&tp->count.drop_opcode, pkt);
        return;
    }
    if (pkt->len < UB_CTPH_LEN + (uint32_t)ub_ctp_ops[h.opcode].cetph +
                   h.pad) {
        tp_drop(&tp->count.drop_short, pkt);
        return;
    }
    core_packet_pull(pkt, UB_CTPH_LEN);
    if (h.opcode == UB_CTPOP_CNP) {
        ub_cetph_get_cnp(core_packet_data(pkt), &c);
        tp_drop(&tp->count.rx_cnp, pkt);
        ctp_cnp(tp, flow, &c, now);
        return;
    }
    core_packet_trim(pkt, h.pad);
    ctp_answer_mark(tp, flow, now);
    if (h.nlp == tp->cfg.setup_nlp) {
        setup_rx(tp, flow, pkt, now);
        return;
    }
    plain_up(tp, UB_TP_CTP, h.nlp, flow, pkt);
}
