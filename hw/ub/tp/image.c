/*
 * Migration image of the transport layer.
 *
 * What was under way below is lost with the links; RTP sends it again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define TAG_TP      CORE_TAG('U', 'B', 'T', 'P')
#define TAG_CHAN    CORE_TAG('C', 'H', 'A', 'N')
#define TAG_GROUP   CORE_TAG('T', 'P', 'G', ' ')
#define TAG_CTP     CORE_TAG('C', 'T', 'P', 'F')

/* The longest packet with all headers. */
enum { LONGEST = 16384 };

static void attr_image(UbTpAttr *a, CoreImage *im)
{
    ub_flow_image(&a->flow, im);
    core_image_int(im, &a->dst_tpn);
    core_image_int(im, &a->tx_psn);
    core_image_int(im, &a->rx_psn);
    core_image_int(im, &a->mtu);
    core_image_flag(im, &a->selective);
    core_image_flag(im, &a->fast);
    core_image_flag(im, &a->mark);
    core_image_flag(im, &a->ooo);
    core_image_int(im, &a->ooo_window);
    core_image_flag(im, &a->spray);
    core_image_flag(im, &a->rto_dynamic);
    core_image_int(im, &a->rto_code);
    core_image_int(im, &a->rto_base_us);
    core_image_int(im, &a->rto_shift);
    core_image_int(im, &a->retries);
    core_image_int(im, &a->tx_window);
    core_image_int(im, &a->ask);
    core_image_int(im, &a->ack_every);
    core_image_int(im, &a->sack_every);
    core_image_int(im, &a->sack_bits);
    core_image_int(im, &a->cc);
    core_image_int(im, &a->cw_unit);
}

/* Packet @psn, which begins with its RTPH; it is made when loading. */
static CorePacket *packet_image(UbTp *tp, CorePacket *pkt, uint32_t off,
                                uint32_t len, uint32_t psn, CoreImage *im)
{
    UbRtph h;

    core_image_count(im, &len, LONGEST, "a packet of a channel is too long");
    if (core_image_loading(im)) {
        if (!core_image_check(im, len >= UB_RTPH_LEN &&
                              len <= core_image_left(im),
                              "a packet of a channel is too short")) {
            return NULL;
        }
        pkt = core_packet_alloc(tp->pool, len);
        off = pkt->off;
    }
    core_image_bytes(im, pkt->buf + off, len);
    ub_rtph_get(pkt->buf + off, &h);
    if (!core_image_check(im, h.opcode == UB_TPOP_DATA && !h.ver &&
                          h.psn == (psn & UB_PSN_MASK) &&
                          len >= UB_RTPH_LEN + (uint32_t)h.pad,
                          "a packet of a channel has another's header")) {
        core_packet_free(pkt);
        return NULL;
    }
    return pkt;
}

/* ---- the sender's side ---- */

static void slot_image(Chan *ch, uint32_t psn, CoreImage *im)
{
    Slot *s = slot_at(ch, psn);

    core_image_int(im, &s->cookie);
    core_image_int(im, &s->flags);
    core_image_int(im, &s->status);
    core_image_int(im, &s->timer);
    core_image_check(im, s->flags < SLOT_FLAGS &&
                     s->status < UB_TP_FLUSHED &&
                     s->timer <= UB_RNR_TIMER_MAX,
                     "a packet of a channel is in no state");
    s->pkt = packet_image(ch->tp, s->pkt, s->off, s->len, psn, im);
    if (core_image_loading(im) && s->pkt) {
        s->off = s->pkt->off;
        s->len = s->pkt->len;
        ch->bytes += s->len;
        ch->resends += !!(s->flags & SLOT_RESEND);
        ch->out += s->flags & SLOT_OUT ? cc_size(s->len) : 0;
    }
}

static void sender_image(Chan *ch, CoreImage *im)
{
    uint32_t cum = ch->cum - ch->una, snd = ch->snd - ch->una;
    uint32_t high = ch->high - ch->una, next = ch->next - ch->una;
    uint32_t size = RING_MIN;

    core_image_int(im, &ch->una);
    core_image_count(im, &next, 32768, "a channel has too many packets");
    core_image_count(im, &high, next, "a channel sent what it has not");
    core_image_count(im, &snd, high, "a channel sent what it has not");
    core_image_count(im, &cum, snd, "a channel sent what it has not");
    core_image_int(im, &ch->high_rtx);
    core_image_int(im, &ch->mark);
    core_image_int(im, &ch->last_first);
    core_image_int(im, &ch->mark_phase);
    core_image_int(im, &ch->times);
    core_image_int(im, &ch->fakes);
    core_image_flag(im, &ch->open);
    core_image_int(im, &ch->open_cookie);
    core_image_int(im, &ch->tx_msn);
    core_image_check(im, ch->mark_phase <= MARK_RESEND &&
                     ch->tx_msn <= UB_PSN_MASK,
                     "a channel's sender is in no state");
    if (core_image_loading(im)) {
        ch->cum = ch->una + cum;
        ch->snd = ch->una + snd;
        ch->high = ch->una + high;
        ch->next = ch->una;             /* grows as packets come */
        ch->resend_from = ch->una;
        ch->ring = NULL;
        while (size < next) {
            size *= 2;
        }
        if (next) {
            ch->ring = ring_new(ch->tp, size);
            ch->ring_mask = size - 1;
        }
    }
    for (uint32_t i = 0; i < next && !core_image_error(im); i++) {
        Slot *s = slot_at(ch, ch->una + i);

        slot_image(ch, ch->una + i, im);
        core_image_check(im, i < cum ? s->flags & SLOT_RECEIVED
                             : i < high || !(s->flags & ~(SLOT_LAST |
                                                          SLOT_WANT)),
                         "a packet of a channel is in no state");
        if (core_image_loading(im) && s->pkt) {
            ch->next++;
        }
    }
    if (core_image_error(im)) {
        ch->cum = ch->snd = ch->high = ch->una;
    }
}

/* ---- the receiver's side ---- */

static void hold_image(Chan *ch, CoreImage *im)
{
    uint32_t n = ch->held, window = ch->attr.ooo_window, ahead = 0;

    core_image_count(im, &n, window, "a channel holds too many packets");
    ch->held = core_image_loading(im) ? 0 : ch->held;
    if (core_image_loading(im) && n) {
        ch->hold_mask = window - 1;
        ch->hold = g_new0(CorePacket *, window);
    }
    for (uint32_t i = 0; i < n && !core_image_error(im); i++) {
        CorePacket *pkt = NULL, **at;

        if (!core_image_loading(im)) {
            do {
                ahead++;
                pkt = ch->hold[(ch->epsn + ahead) & ch->hold_mask];
            } while (!pkt);
        }
        core_image_int(im, &ahead);
        if (!core_image_check(im, ahead >= 1 && ahead <= window,
                              "a channel holds a packet out of its window")) {
            return;
        }
        at = &ch->hold[(ch->epsn + ahead) & ch->hold_mask];
        if (!core_image_check(im, !core_image_loading(im) || !*at,
                              "a channel holds a packet twice")) {
            return;
        }
        pkt = packet_image(ch->tp, pkt, pkt ? pkt->off : 0,
                           pkt ? pkt->len : 0, ch->epsn + ahead, im);
        if (core_image_loading(im) && pkt) {
            *at = pkt;
            ch->held++;
            ch->tp->hold_used += pkt->size;
        }
    }
    if (core_image_loading(im) && !ch->held) {
        g_clear_pointer(&ch->hold, g_free);
    }
}

static void results_image(Chan *ch, CoreImage *im)
{
    uint32_t n = 0, size = ch->tp->cfg.results, fifo = ch->fifo_len;
    bool any = ch->result;

    core_image_flag(im, &any);
    if (!any) {
        return;
    }
    if (core_image_loading(im)) {
        ch->result = g_new0(Result, size);
        ch->fifo = g_new0(uint32_t, size);
    }
    for (uint32_t i = 0; i < size && !core_image_loading(im); i++) {
        n += ch->result[i].state != RESULT_NONE;
    }
    core_image_count(im, &n, size, "a channel remembers too many answers");
    for (uint32_t i = 0, at = 0; i < n && !core_image_error(im); i++) {
        Result r = { 0 };

        if (!core_image_loading(im)) {
            while (ch->result[at].state == RESULT_NONE) {
                at++;
            }
            r = ch->result[at++];
        }
        core_image_int(im, &r.psn);
        core_image_int(im, &r.msn);
        core_image_int(im, &r.state);
        core_image_int(im, &r.status);
        core_image_int(im, &r.timer);
        if (core_image_check(im, (r.state == RESULT_WAIT &&
                                  r.status == UB_TP_WITHHOLD) ||
                             (r.state == RESULT_READY &&
                              r.status > UB_TP_WITHHOLD &&
                              r.status < UB_TP_FLUSHED &&
                              r.timer <= UB_RNR_TIMER_MAX),
                             "an answer that a channel remembers is none") &&
            core_image_loading(im)) {
            ch->result[r.psn & (size - 1)] = r;
        }
    }
    core_image_count(im, &fifo, size, "a channel withholds too much");
    for (uint32_t i = 0; i < fifo && !core_image_error(im); i++) {
        uint32_t psn = ch->fifo[(ch->fifo_head + i) & (size - 1)];
        uint32_t last = i ? ch->fifo[(ch->fifo_head + i - 1) & (size - 1)]
                          : ch->epsn - size - 1;
        const Result *r;

        core_image_int(im, &psn);
        r = &ch->result[psn & (size - 1)];
        if (core_image_check(im, psn_before(last, psn) &&
                             psn_before(psn, ch->epsn) && r->psn == psn &&
                             r->state != RESULT_NONE,
                             "a channel withholds what it does not have") &&
            core_image_loading(im)) {
            ch->fifo[i] = psn;
            ch->fifo_len = i + 1;
        }
    }
}

static void receiver_image(Chan *ch, CoreImage *im)
{
    uint8_t status = ch->refusal.status;
    uint32_t told = ack_covered(ch);        /* an older version asks for it */

    core_image_int(im, &ch->epsn);
    core_image_int(im, &ch->max_rcv);
    core_image_int(im, &ch->rx_msn);
    core_image_int(im, &ch->ack_msn);
    core_image_int(im, &told);
    core_image_int(im, &ch->owed);
    core_image_int(im, &ch->sack_count);
    core_image_flag(im, &ch->sack_due);
    core_image_flag(im, &ch->nak_due);
    core_image_flag(im, &ch->nak_done);
    core_image_flag(im, &ch->ack_now);
    core_image_flag(im, &ch->msn_told);
    core_image_flag(im, &ch->op_told);
    core_image_flag(im, &ch->refusing);
    core_image_int(im, &status);
    core_image_int(im, &ch->refusal.timer);
    core_image_check(im, ch->rx_msn <= UB_PSN_MASK &&
                     ch->ack_msn <= UB_PSN_MASK && status < UB_TP_FLUSHED &&
                     ch->max_rcv - (ch->epsn - 1) <= UB_PSN_SPAN,
                     "a channel's receiver is in no state");
    ch->refusal.status = status;
    hold_image(ch, im);
    results_image(ch, im);
}

/* ---- congestion control ---- */

static void cc_state_image(UbCcState *s, CoreImage *im)
{
    core_image_int(im, &s->cw);
    core_image_int(im, &s->rate);
    core_image_deadline(im, &s->tick);
    for (unsigned i = 0; i < G_N_ELEMENTS(s->var); i++) {
        core_image_int(im, &s->var[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(s->at); i++) {
        core_image_deadline(im, &s->at[i]);
    }
}

static void cc_image(Chan *ch, CoreImage *im)
{
    bool any = ch->cc, window;
    ChanCc *cc;

    core_image_flag(im, &any);
    if (!any) {
        return;
    }
    if (core_image_loading(im)) {
        cc_attach(ch, core_image_now(im));
        if (!core_image_check(im, ch->cc,
                              "a channel has congestion control that is off")) {
            return;
        }
    }
    cc = ch->cc;
    window = cc->state.cw;
    cc_state_image(&cc->state, im);
    core_image_check(im, !window || cc->state.cw,
                     "a window of congestion control that is none");
    core_image_int(im, &cc->sent);
    core_image_int(im, &cc->rcvd);
    core_image_deadline(im, &cc->pace_at);
    core_image_deadline(im, &cc->cnp_at);
    core_image_int(im, &cc->fb.ack_seq);
    core_image_int(im, &cc->fb.ce_seq);
    core_image_flag(im, &cc->fb.loc);
    core_image_flag(im, &cc->fb.inc);
    core_image_int(im, &cc->fb.c);
    core_image_int(im, &cc->fb.hint);
}

/* ---- channels ---- */

static void chan_image(Chan *ch, CoreImage *im)
{
    uint64_t key = ch->peer_key;

    core_image_int(im, &ch->state);
    core_image_check(im, ch->state < UB_TP_STATES, "a channel is in no state");
    core_image_flag(im, &ch->want_room);
    core_image_flag(im, &ch->room_due);
    core_image_int(im, &ch->setup_cookie);
    core_image_int(im, &ch->setup_left);
    core_image_flag(im, &ch->setup_active);
    core_image_flag(im, &ch->in_band);
    core_image_int(im, &key);
    core_image_deadline(im, &ch->setup_at);
    core_image_check(im, ch->setup_at == CORE_NEVER || ch->state == UB_TP_INIT,
                     "a channel that is set up has a time for that");
    if (core_image_loading(im) && key && !core_image_error(im)) {
        setup_remember(ch, key);
    }
    if (ch->state != UB_TP_ACTIVE) {
        if (core_image_loading(im) && !core_image_error(im)) {
            chan_timer(ch);     /* tries of a set-up that are left */
        }
        return;
    }
    core_image_deadline(im, &ch->rto_at);
    core_image_deadline(im, &ch->ack_at);
    core_image_deadline(im, &ch->fake_at);
    core_image_deadline(im, &ch->fake_until);
    sender_image(ch, im);
    receiver_image(ch, im);
    cc_image(ch, im);
    if (core_image_loading(im) && !core_image_error(im)) {
        ch->crowded = ch->want_room;
        chan_timer(ch);
        chan_work(ch);          /* whatever it has to do */
    }
}

static void chan_save(void *opaque, void *p)
{
    CoreImage *im = opaque;
    Chan *ch = p;

    core_image_begin(im, TAG_CHAN, 1);
    core_image_int(im, &ch->tpn);
    attr_image(&ch->attr, im);
    chan_image(ch, im);
    core_image_end(im);
}

static void chan_load(UbTp *tp, CoreImage *im)
{
    UbTpAttr attr = { 0 };
    uint32_t tpn = 0;
    Chan *ch;

    core_image_begin(im, TAG_CHAN, 1);
    core_image_int(im, &tpn);
    attr_image(&attr, im);
    if (core_image_check(im, tpn != UB_TP_NONE &&
                         chan_new(tp, tpn, &attr, &ch) == UB_TPR_OK,
                         "a channel of the image cannot be")) {
        chan_image(ch, im);
    }
    core_image_end(im);
}

/* Whatever addresses it has: an older version asked nothing of them. */
static void member_load(UbTp *tp, CoreImage *im, Group *g, uint32_t tpn)
{
    Chan *ch = chan_get(tp, tpn);

    if (core_image_check(im, ch && !ch->group,
                         "a group's channel is another's, or none")) {
        group_add(g, ch);
    }
}

static void group_image(UbTp *tp, uint32_t number, CoreImage *im)
{
    Group *g = core_image_loading(im) ? NULL : tp->groups[number];
    uint32_t policy = g ? g->policy : 0, n = 0, turn = UB_TP_NONE;

    core_image_begin(im, TAG_GROUP, 1);
    core_image_int(im, &number);
    core_image_int(im, &policy);
    for (Chan *ch = g ? g->first : NULL; ch; ch = ch->peer_next) {
        n++;
    }
    if (g && g->turn) {
        turn = g->turn->tpn;
    }
    core_image_int(im, &turn);
    core_image_count(im, &n, tp->num_chans, "a group has too many channels");
    if (core_image_loading(im)) {
        uint32_t wanted = number;

        if (core_image_check(im, number != UB_TP_NONE &&
                             ub_tpg_create(tp, &wanted, policy) == UB_TPR_OK,
                             "a group of the image cannot be")) {
            g = tp->groups[number];
        }
    }
    for (Chan *ch = g ? g->first : NULL; n && !core_image_error(im); n--) {
        uint32_t tpn = UB_TP_NONE;

        if (!core_image_loading(im)) {
            tpn = ch->tpn;
            ch = ch->peer_next;
        }
        core_image_int(im, &tpn);
        if (core_image_loading(im)) {
            member_load(tp, im, g, tpn);
        }
    }
    if (core_image_loading(im) && g && !core_image_error(im)) {
        Chan *ch = chan_get(tp, turn);

        g->turn = ch && ch->group == g ? ch : NULL;
    }
    core_image_end(im);
}

static void flow_one_image(UbTp *tp, CtpFlow *f, CoreImage *im)
{
    uint64_t key = f ? f->key : 0;

    core_image_begin(im, TAG_CTP, 1);
    core_image_int(im, &key);
    if (core_image_loading(im)) {
        f = tp->ctp ? g_hash_table_lookup(tp->ctp, &key) : NULL;
        f = f || core_image_error(im) ? NULL : ctp_flow_new(tp, key);
        core_image_check(im, f, "a throttled destination cannot be");
    }
    if (f) {
        f->state.scale_ns = tp_clock(tp, UB_TPC_CC, 1);
        f->state.unit = tp->cfg.attr.cw_unit;
        f->state.mtu = tp->cfg.attr.mtu;
        cc_state_image(&f->state, im);
        core_image_deadline(im, &f->pace_at);
        if (core_image_loading(im)) {
            core_timer_set(&tp->ctp_timers, &f->timer, f->state.tick);
        }
    }
    core_image_end(im);
}

static void flows_image(UbTp *tp, CoreImage *im)
{
    uint32_t n = tp->ctp ? g_hash_table_size(tp->ctp) : 0;
    GHashTableIter it;
    gpointer f;

    core_image_count(im, &n, tp->cfg.ctp_flows,
                     "there are too many throttled destinations");
    if (core_image_loading(im)) {
        for (; n && !core_image_error(im); n--) {
            flow_one_image(tp, NULL, im);
        }
    } else if (tp->ctp) {
        g_hash_table_iter_init(&it, tp->ctp);
        while (g_hash_table_iter_next(&it, NULL, &f)) {
            flow_one_image(tp, f, im);
        }
    }
}

void ub_tp_image(UbTp *tp, CoreImage *im)
{
    uint32_t chans = tp->num_chans, groups = tp->num_groups;
    uint64_t *count = (uint64_t *)&tp->count;
    unsigned version, counters;

    if (core_image_loading(im)) {
        ub_tp_reset(tp);
    }
    version = core_image_begin(im, TAG_TP, 2);
    core_image_same(im, tp->cfg.results,
                    "the image has another number of answers remembered");
    core_image_flag(im, &tp->cfg.cc_on);
    core_image_int(im, &tp->rng);
    core_image_int(im, &tp->next_tpn);
    core_image_int(im, &tp->ctp_lbf);
    core_image_flag(im, &tp->want_room);
    counters = (version >= 2 ? sizeof(tp->count)
                             : offsetof(UbTpCounters, drop_flushed)) /
               sizeof(*count);
    for (unsigned i = 0; i < counters; i++) {
        core_image_int(im, &count[i]);
    }
    core_image_count(im, &chans, tp->cfg.max_channels,
                     "the image has too many channels");
    if (core_image_loading(im)) {
        for (; chans && !core_image_error(im); chans--) {
            chan_load(tp, im);
        }
    } else {
        core_table_foreach(&tp->chans, chan_save, im);
    }
    core_image_count(im, &groups, tp->cfg.max_groups,
                     "the image has too many groups");
    for (uint32_t i = 0; groups && !core_image_error(im); i++) {
        if (core_image_loading(im) || tp->groups[i]) {
            group_image(tp, i, im);
            groups--;
        }
    }
    flows_image(tp, im);
    core_image_end(im);
    if (core_image_loading(im)) {
        if (core_image_error(im)) {
            ub_tp_reset(tp);
        }
        tp->room_due = tp->want_room;
        /* Its list may have become another just before. */
        tp->allow.changed = tp->allow.slice;
    }
}
