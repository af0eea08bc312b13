/*
 * Channels: contexts, their lists and timers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* What stands in the place of @tpn, and may have another number. */
static Chan *chan_ask(const UbTp *tp, uint32_t tpn)
{
    Chan *ch = tpn <= UB_TPN_MASK ? core_table_get(&tp->chans, tpn) : NULL;

    if (ch) {
        core_prefetch(ch, CHAN_HOT, true);
    }
    return ch;
}

Chan *chan_get(const UbTp *tp, uint32_t tpn)
{
    Chan *ch = chan_ask(tp, tpn);

    return ch && ch->tpn == tpn ? ch : NULL;
}

void ub_tp_ahead(const UbTp *tp, uint32_t tpn, bool next)
{
    Chan *ch = chan_ask(tp, tpn);

    if (next && ch && ch->ring) {
        core_prefetch(slot_at(ch, ch->next), sizeof(Slot), true);
    }
}

/* Most channels need no more than the first. */
Slot *ring_new(UbTp *tp, uint32_t slots)
{
    return slots == RING_MIN ? core_slab_alloc0(&tp->ring_slab)
                             : g_new0(Slot, slots);
}

void ring_free(UbTp *tp, Slot *ring, uint32_t slots)
{
    if (slots == RING_MIN) {
        core_slab_free(&tp->ring_slab, ring);
    } else {
        g_free(ring);
    }
}

int64_t tp_clock(const UbTp *tp, UbTpClock clock, uint64_t us)
{
    const UbTpScale *s = &tp->cfg.clock[clock];
    uint64_t ns;

    /* Every packet that starts a timer comes by: no division for the usual.
     * 2^33 us by the largest scale, 10^6, fit 63 bits. */
    if (us >> 33) {
        us = MIN(us, INT64_MAX / 4000 / s->scale);
    }
    ns = us * s->scale * 1000;

    return MAX((int64_t)ns, s->floor_ns);
}

/* ---- attributes ---- */

static bool among(uint32_t x, const uint32_t *set, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (set[i] == x) {
            return true;
        }
    }
    return false;
}

bool attr_good(const UbTpConfig *cfg, const UbTpAttr *a)
{
    static const uint32_t windows[] = { 128, 256, 512, 1024, 2048 };

    return (ub_lph_is_ip(a->flow.cfg) || a->flow.cfg == UB_LPH_CNA24) &&
           a->dst_tpn <= UB_TPN_MASK && a->tx_psn <= UB_PSN_MASK &&
           a->rx_psn <= UB_PSN_MASK && ub_mtu_code(a->mtu) >= 0 &&
           /* These stand on receiving out of order (§6.4.2.2, §6.4.2.3);
            * without it nothing else repairs a gap but a TPNAK. */
           (a->ooo || (!a->selective && a->fast)) &&
           (!a->mark || (a->selective && a->fast)) &&
           /* A TPNAK takes every gap for a loss. */
           (!a->spray || a->ooo) &&
           among(a->ooo_window, windows, G_N_ELEMENTS(windows)) &&
           a->rto_code < 4 && a->rto_base_us >= 4 &&
           a->rto_base_us <= 2097152 && a->rto_shift <= 32 &&
           a->tx_window >= 1 && a->tx_window <= 32768 &&
           a->ask < UB_TP_ASKS && a->ack_every && a->sack_every &&
           a->sack_bits >= UB_SACK_BITS_MIN &&
           a->sack_bits <= UB_SACK_BITS_MAX && a->cc < UB_CC_KINDS &&
           (a->cc == UB_CC_NONE || cc_algo(cfg, a->cc)) && a->cw_unit;
}

/* ---- lists ---- */

static ChanList *chan_list(Chan *ch)
{
    return ch->on == ON_WORK ? &ch->tp->work : &ch->tp->stalled;
}

void chan_idle(Chan *ch)
{
    ChanList *l = chan_list(ch);

    if (ch->on == ON_NONE) {
        return;
    }
    if (ch->work_prev) {
        ch->work_prev->work_next = ch->work_next;
    } else {
        l->first = ch->work_next;
    }
    if (ch->work_next) {
        ch->work_next->work_prev = ch->work_prev;
    } else {
        l->last = ch->work_prev;
    }
    ch->work_prev = ch->work_next = NULL;
    ch->on = ON_NONE;
}

static void chan_append(Chan *ch, uint8_t on)
{
    ChanList *l;

    if (ch->on == on) {
        return;
    }
    chan_idle(ch);
    ch->on = on;
    l = chan_list(ch);
    ch->work_prev = l->last;
    if (l->last) {
        l->last->work_next = ch;
    } else {
        l->first = ch;
    }
    l->last = ch;
}

void chan_work(Chan *ch)
{
    chan_append(ch, ON_WORK);
}

void chan_stall(Chan *ch)
{
    chan_append(ch, ON_STALLED);
}

void chan_timer(Chan *ch)
{
    int64_t at = MIN(MIN(ch->rto_at, ch->ack_at),
                     MIN(ch->fake_at, ch->setup_at));

    if (ch->cc) {
        at = MIN(at, cc_deadline(ch));
    }
    core_timer_set(&ch->tp->timers, &ch->timer, at);
}

bool chan_crowded(const Chan *ch)
{
    return ch->next - ch->snd >= ch->tp->cfg.unsent;
}

bool chan_has_room(const Chan *ch)
{
    return ch->next - ch->una < ch->attr.tx_window && !chan_crowded(ch);
}

void chan_room(Chan *ch)
{
    if (ch->want_room && chan_has_room(ch)) {
        ch->room_due = true;
        chan_work(ch);
    }
}

/* ---- life ---- */

void chan_begin(Chan *ch)
{
    ch->una = ch->cum = ch->snd = ch->high = ch->next = ch->attr.tx_psn;
    ch->mark = ch->una;
    ch->high_rtx = ch->last_first = ch->una - 1;
    ch->mark_phase = MARK_NEW;
    ch->resend_from = ch->una;
    ch->epsn = ch->attr.rx_psn;
    ch->max_rcv = ch->epsn - 1;
    ch->tx_msn = ch->rx_msn = ch->ack_msn = 0;
    ch->times = ch->fakes = 0;
}

void chan_clear(Chan *ch)
{
    uint64_t *flushed = &ch->tp->count.drop_flushed;

    for (uint32_t p = ch->una; p != ch->next; p++) {
        Slot *s = slot_at(ch, p);

        *flushed += !(s->flags & SLOT_RECEIVED); /* else the peer has it */
        core_packet_free(s->pkt);
    }
    for (uint32_t i = 0; ch->hold && i <= ch->hold_mask; i++) {
        if (ch->hold[i]) {
            ch->tp->hold_used -= ch->hold[i]->size;
            tp_drop(flushed, ch->hold[i]);
        }
    }
    ch->tp->count.drop_answer += ch->fifo_len;
    ring_free(ch->tp, ch->ring, ch->ring_mask + 1);
    ch->ring = NULL;
    g_clear_pointer(&ch->hold, g_free);
    g_clear_pointer(&ch->result, g_free);
    g_clear_pointer(&ch->fifo, g_free);
    ch->ring_mask = ch->hold_mask = 0;
    ch->held = ch->owed = ch->sack_count = ch->resends = 0;
    ch->fifo_head = ch->fifo_len = 0;
    ch->sack_due = ch->nak_due = ch->nak_done = ch->ack_now = false;
    ch->msn_told = ch->op_told = false;
    ch->refusing = ch->open = false;
    ch->room_due = ch->want_room = ch->crowded = false;
    ch->bytes = ch->out = 0;
    ch->rto_at = ch->ack_at = ch->fake_at = ch->setup_at = CORE_NEVER;
    cc_detach(ch);
    chan_begin(ch);
    chan_idle(ch);
    core_timer_cancel(&ch->tp->timers, &ch->timer);
}

void chan_flush(Chan *ch)
{
    static const UbTpAnswer flushed = { UB_TP_FLUSHED, 0 };
    UbTp *tp = ch->tp;
    bool wanted = ch->want_room || ch->room_due;
    g_autoptr(GArray) cookies = g_array_new(false, false, sizeof(uint64_t));

    for (uint32_t p = ch->una; p != ch->next; p++) {
        if (slot_at(ch, p)->flags & SLOT_LAST) {
            g_array_append_val(cookies, slot_at(ch, p)->cookie);
        }
    }
    if (ch->open) {
        g_array_append_val(cookies, ch->open_cookie);
    }
    chan_clear(ch);
    for (guint i = 0; i < cookies->len; i++) {
        tp->cfg.upper->acked(tp->cfg.upper_opaque, ch->tpn,
                             g_array_index(cookies, uint64_t, i), flushed);
    }
    if (tp->cfg.upper->ended) {
        tp->cfg.upper->ended(tp->cfg.upper_opaque, ch->tpn);
    }
    /* Who waits for room hears that there is no channel any more. */
    if (wanted) {
        tp->cfg.upper->room(tp->cfg.upper_opaque, ch->tpn);
    }
}

void chan_fail(Chan *ch, UbTpError error)
{
    UbTp *tp = ch->tp;

    tp->count.gave_up++;
    ch->state = UB_TP_ERROR;
    chan_flush(ch);
    tp->cfg.upper->error(tp->cfg.upper_opaque, ch->tpn, error);
}

UbTpResult chan_new(UbTp *tp, uint32_t tpn, const UbTpAttr *attr, Chan **out)
{
    Chan *ch;

    if (!attr_good(&tp->cfg, attr)) {
        return UB_TPR_BAD_ATTR;
    }
    if (tpn != UB_TP_NONE && (!tpn || tpn > UB_TPN_MASK)) {
        return UB_TPR_BAD_ATTR;
    }
    if (tpn != UB_TP_NONE && core_table_get(&tp->chans, tpn)) {
        return UB_TPR_IN_USE;
    }
    if (tp->num_chans >= tp->cfg.max_channels) {
        return UB_TPR_FULL;
    }
    /* Numbers are not used again soon: a packet of an old channel does not
     * find a new one. */
    while (tpn == UB_TP_NONE) {
        tp->next_tpn = tp->next_tpn % UB_TPN_MASK + 1;
        tpn = core_table_get(&tp->chans, tp->next_tpn) ? UB_TP_NONE
                                                       : tp->next_tpn;
    }
    ch = core_slab_alloc0(&tp->chan_slab);
    ch->tp = tp;
    ch->tpn = tpn;
    ch->attr = *attr;
    ch->rto_at = ch->ack_at = ch->fake_at = ch->setup_at = CORE_NEVER;
    chan_begin(ch);
    core_table_set(&tp->chans, tpn, ch);
    tp->num_chans++;
    *out = ch;
    return UB_TPR_OK;
}

void chan_free(Chan *ch)
{
    UbTp *tp = ch->tp;

    chan_clear(ch);
    group_remove(ch);
    setup_forget(ch);
    core_table_set(&tp->chans, ch->tpn, NULL);
    tp->num_chans--;
    core_slab_free(&tp->chan_slab, ch);
}
