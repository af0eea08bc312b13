/*
 * RTP, the sender: windows, retransmission, time-outs (UB 2.0 §6.4, §6.7.1.1).
 *
 * Sent packets are kept by reference and go again as they are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static void ring_grow(Chan *ch)
{
    uint32_t size = ch->ring ? 2 * (ch->ring_mask + 1) : RING_MIN;
    Slot *ring = ring_new(ch->tp, size);

    for (uint32_t p = ch->una; p != ch->next; p++) {
        ring[p & (size - 1)] = *slot_at(ch, p);
    }
    ring_free(ch->tp, ch->ring, ch->ring_mask + 1);
    ch->ring = ring;
    ch->ring_mask = size - 1;
}

static int64_t rto(const Chan *ch)
{
    const UbTpConfig *cfg = &ch->tp->cfg;
    unsigned shift = (unsigned)ch->attr.rto_shift * ch->times;
    uint64_t us = cfg->rto_static_us[ch->attr.rto_code];

    if (ch->attr.rto_dynamic) {
        us = shift < 40 ? (uint64_t)ch->attr.rto_base_us << shift
                        : UINT64_C(1) << 61;
    }
    return tp_clock(ch->tp, UB_TPC_RTO, us);
}

static bool rto_needed(const Chan *ch)
{
    return ch->una != ch->high;
}

/* ---- sending ---- */

static void slot_out(Chan *ch, Slot *s)
{
    if (!(s->flags & SLOT_OUT)) {
        s->flags |= SLOT_OUT;
        ch->out += cc_size(s->len);
    }
}

static void slot_in(Chan *ch, Slot *s)
{
    if (s->flags & SLOT_OUT) {
        s->flags &= ~SLOT_OUT;
        ch->out -= cc_size(s->len);
    }
}

static bool ask_ack(const Chan *ch, uint32_t psn, const Slot *s, bool again)
{
    uint32_t half = MAX(ch->attr.tx_window / 2, 1);

    return again || ch->attr.ask == UB_TP_ASK_ALL || psn % half == half - 1 ||
           (ch->attr.ask == UB_TP_ASK_LAST && s->flags & SLOT_LAST);
}

/* False: not now. */
static bool slot_send(Chan *ch, uint32_t psn, bool again, int64_t now)
{
    UbTp *tp = ch->tp;
    Slot *s = slot_at(ch, psn);
    uint8_t *p;
    UbFlow flow;

    if (s->pkt->refs > 1) {
        return true;            /* still on its way out below us */
    }
    if (!cc_may(ch, s->len, now)) {
        ch->paced = ch->cc->pace_at > now;
        return false;
    }
    s->pkt->off = s->off;
    s->pkt->len = s->len;
    p = core_packet_data(s->pkt);
    p[8] = ask_ack(ch, psn, s, again) ? 0x80 : 0;
    chan_flow(ch, &flow);
    if (ch->attr.spray) {
        flow.lbf = core_random(&tp->rng);
        flow.steady = true;
        if (ub_lph_is_ip(flow.cfg)) {
            flow.lbf |= 0xc000; /* ephemeral ports */
        }
    }
    flow.cci = cc_sent(ch, s->len, now);
    if (tp->cfg.lower->send(tp->cfg.lower_opaque, now, &flow,
                            core_packet_ref(s->pkt)) == UB_BUSY) {
        cc_unsent(ch, s->len);
        s->pkt->refs--;
        chan_stall(ch);
        return false;
    }
    tp->count.tx_packets[UB_TP_RTP]++;
    tp->count.tx_resent += again;
    if (!(s->flags & SLOT_RECEIVED)) {
        slot_out(ch, s);
    }
    ch->fake_at = CORE_NEVER;
    return true;
}

/* The next that is to go; its kind in *@again. */
static bool rtp_next(Chan *ch, uint32_t *psn, bool *again)
{
    if (ch->mark_phase == MARK_RESEND && !ch->resends) {
        ch->mark_phase = MARK_NEW;
        ch->mark = ch->high;
    }
    /* With MarkPSN what is lost waits for its phase. */
    if (ch->resends && (!ch->attr.mark || ch->mark_phase == MARK_RESEND)) {
        uint32_t p = psn_before(ch->resend_from, ch->una) ? ch->una
                                                          : ch->resend_from;

        while (!(slot_at(ch, p)->flags & SLOT_RESEND)) {
            p++;
        }
        ch->resend_from = p;
        *psn = p;
        *again = true;
        return true;
    }
    *psn = ch->snd;
    *again = ch->snd != ch->high;
    return ch->snd != ch->next;
}

void rtp_push(Chan *ch, int64_t now, unsigned *budget)
{
    uint32_t psn;
    bool again;

    ch->paced = false;
    while (*budget && rtp_next(ch, &psn, &again)) {
        if (!slot_send(ch, psn, again, now)) {
            return;
        }
        (*budget)--;
        if (slot_at(ch, psn)->flags & SLOT_RESEND) {
            slot_at(ch, psn)->flags &= ~SLOT_RESEND;
            ch->resends--;
            if (psn_before(ch->last_first, psn)) {
                ch->last_first = psn;
            }
        } else {
            ch->snd++;
            if (!again) {
                ch->high = ch->snd;
            }
        }
        if (ch->rto_at == CORE_NEVER) {
            ch->rto_at = now + rto(ch);
        }
    }
    if (ch->crowded && ch->snd == ch->next) {
        ch->crowded = false;
        chan_room(ch);
    }
    if (ch->on == ON_NONE && rtp_next(ch, &psn, &again)) {
        chan_work(ch);
    }
}

UbSend rtp_send(Chan *ch, CorePacket *pkt, const UbTpTx *tx, int64_t now)
{
    unsigned budget = 2;
    UbRtph h = {
        .opcode = UB_TPOP_DATA, .last = tx->last, .nlp = tx->nlp,
        .pad = ub_tp_pad(pkt->len), .src = ch->tpn, .dst = ch->attr.dst_tpn,
        .psn = ch->next & UB_PSN_MASK, .msn = ch->tx_msn,
    };
    uint8_t *pad, *head;

    if (ch->state != UB_TP_ACTIVE) {
        tp_drop(&ch->tp->count.drop_lost, pkt);
        return UB_LOST;
    }
    if ((ch->open && ch->open_cookie != tx->cookie) || !chan_has_room(ch)) {
        ch->want_room = true;
        ch->crowded |= chan_crowded(ch);
        return UB_BUSY;
    }
    pad = core_packet_put(pkt, h.pad);
    head = core_packet_push(pkt, UB_RTPH_LEN);
    if (!pad || !head) {
        tp_drop(&ch->tp->count.drop_room, pkt);
        return UB_LOST;
    }
    memset(pad, 0, h.pad);
    ub_rtph_put(head, &h);
    if (!ch->ring || ch->next - ch->una > ch->ring_mask) {
        ring_grow(ch);
    }
    *slot_at(ch, ch->next) = (Slot) {
        .pkt = pkt, .cookie = tx->cookie, .off = pkt->off, .len = pkt->len,
        .flags = tx->last ? SLOT_LAST | (tx->result ? SLOT_WANT : 0) : 0,
        .status = UB_TP_ACK,
    };
    ch->next++;
    ch->bytes += pkt->len;
    ch->open = !tx->last;
    ch->open_cookie = tx->cookie;
    if (tx->last) {
        ch->tx_msn = (ch->tx_msn + 1) & UB_PSN_MASK;
        chan_room(ch);
    }
    if (ch->on != ON_STALLED) {
        rtp_push(ch, now, &budget);
    }
    chan_timer(ch);
    return UB_SENT;
}

/* ---- acknowledgements ---- */

static void slot_resend(Chan *ch, uint32_t psn)
{
    Slot *s = slot_at(ch, psn);

    if (s->flags & SLOT_RESEND) {
        return;
    }
    s->flags |= SLOT_RESEND;
    if (!ch->resends++ || psn_before(psn, ch->resend_from)) {
        ch->resend_from = psn;
    }
}

static void slot_received(Chan *ch, uint32_t psn)
{
    Slot *s = slot_at(ch, psn);

    if (s->flags & SLOT_RESEND) {
        ch->resends--;
    }
    slot_in(ch, s);
    s->flags = (s->flags & ~SLOT_RESEND) | SLOT_RECEIVED;
}

/* The peer has all before @to, which is not beyond what went. */
static void received_before(Chan *ch, uint32_t to)
{
    while (psn_before(ch->cum, to)) {
        slot_received(ch, ch->cum++);
    }
    while (ch->cum != ch->high && slot_at(ch, ch->cum)->flags & SLOT_RECEIVED) {
        ch->cum++;
    }
    if (psn_before(ch->snd, ch->cum)) {
        ch->snd = ch->cum;
    }
}

/* Let go of what is done with.  The user may send from within acked(). */
static void slots_release(Chan *ch)
{
    UbTp *tp = ch->tp;
    bool any = false;

    while (ch->una != ch->high) {
        Slot s = *slot_at(ch, ch->una);

        if (!(s.flags & SLOT_RECEIVED) ||
            (s.flags & SLOT_WANT && !(s.flags & SLOT_ANSWERED))) {
            break;
        }
        if (s.flags & SLOT_RESEND) {
            ch->resends--;
        }
        ch->una++;
        ch->bytes -= s.len;
        core_packet_free(s.pkt);
        any = true;
        if (s.flags & SLOT_LAST) {
            UbTpAnswer a = { s.status, s.timer };

            tp->cfg.upper->acked(tp->cfg.upper_opaque, ch->tpn, s.cookie, a);
        }
    }
    if (any) {
        chan_room(ch);
    }
}

/* The peer's user is short of something: the channel is kept alive until it
 * is asked again (table 6-2, F). */
static void fake_begin(Chan *ch, uint8_t timer, int64_t now)
{
    UbTp *tp = ch->tp;

    if (tp->cfg.fake_us) {
        ch->fakes = 0;
        ch->fake_until = now + tp_clock(tp, UB_TPC_FAKE, UINT64_C(2) << timer);
        ch->fake_at = now + tp_clock(tp, UB_TPC_FAKE, tp->cfg.fake_us);
    }
}

static void answer_put(Chan *ch, uint32_t psn, const UbRtph *h, int64_t now)
{
    UbTpAnswer a = answer_of(h->rspst, h->rspinfo);
    Slot *s = slot_at(ch, psn);

    if (!(s->flags & SLOT_LAST) || s->flags & SLOT_ANSWERED) {
        return;
    }
    s->flags |= SLOT_ANSWERED;
    s->status = a.status;
    s->timer = a.timer;
    if (a.status == UB_TP_RNR || a.status == UB_TP_PAGE_FAULT) {
        fake_begin(ch, a.timer, now);
    }
}

/* Missing between the cumulative point and @top: lost, or only late. */
static void sack_missing(Chan *ch, uint32_t top, bool marked, int64_t now)
{
    uint32_t known = ch->attr.mark ? ch->last_first : ch->high_rtx;
    bool any = false;

    for (uint32_t p = ch->cum; !psn_before(top, p); p++) {
        if (slot_at(ch, p)->flags & (SLOT_RECEIVED | SLOT_RESEND) ||
            (!psn_before(known, p) && !marked)) {
            continue;
        }
        slot_resend(ch, p);
        slot_in(ch, slot_at(ch, p));
        cc_unsent(ch, slot_at(ch, p)->len);
        ch->high_rtx = psn_before(ch->high_rtx, p) ? p : ch->high_rtx;
        any = true;
    }
    if (any && ch->cc && ch->cc->algo->lost) {
        ch->cc->algo->lost(&ch->cc->state, ch->cc->param, false, now);
    }
    if (marked && ch->resends) {
        ch->mark_phase = MARK_RESEND;
    }
}

static void sack_take(Chan *ch, const UbRtph *h, const UbSaetph *s,
                      int64_t now)
{
    uint32_t base = psn_near(h->psn, ch->una);
    uint32_t bits = (uint32_t)UB_SACK_BITS_MIN << s->size;
    uint32_t top = psn_near(s->max_rcv, ch->una), seen = base;

    for (uint32_t i = 0; i < bits; i++) {
        uint32_t p = base + i;

        if (!(s->map[i / 32] >> i % 32 & 1)) {
            continue;
        }
        if (!psn_before(p, ch->high)) {
            ch->tp->count.drop_bad_sack++;      /* it never went */
            return;
        }
        seen = p;
    }
    if (!psn_before(top, ch->high)) {
        ch->tp->count.drop_bad_sack++;
        return;
    }
    for (uint32_t i = 1; i < bits; i++) {
        uint32_t p = base + i;

        if (s->map[i / 32] >> i % 32 & 1 && !psn_before(p, ch->cum)) {
            slot_received(ch, p);
        }
    }
    received_before(ch, ch->cum);
    /* §6.4.2.3 has one more than the map covers; nothing is known of it. */
    if (psn_before(base + bits - 1, top)) {
        top = base + bits - 1;
    }
    /* Numbers that are behind by half the space would seem to be ahead. */
    if (psn_before(ch->high_rtx, ch->una)) {
        ch->high_rtx = ch->una - 1;
    }
    if (psn_before(ch->last_first, ch->una)) {
        ch->last_first = ch->una - 1;
    }
    if (ch->attr.fast) {
        sack_missing(ch, top, ch->attr.mark && ch->mark_phase == MARK_NEW &&
                              !psn_before(seen, ch->mark), now);
    }
}

/* Nothing is under way any more. */
static void all_back(Chan *ch, bool timeout, int64_t now)
{
    for (uint32_t p = ch->cum; p != ch->high; p++) {
        slot_in(ch, slot_at(ch, p));
    }
    cc_back(ch, timeout, now);
}

/* A TPNAK.  The receiver says it once (§6.4.2.2.1): a second one for the same
 * PSN is a late one, and would send the whole window again. */
static void rtp_go_back(Chan *ch, uint32_t psn, int64_t now)
{
    if (psn_before(ch->high_rtx, ch->una)) {
        ch->high_rtx = ch->una - 1;     /* or it would seem to be ahead */
    }
    if (!psn_before(psn, ch->cum) && psn_before(ch->high_rtx, psn)) {
        ch->high_rtx = psn;
        ch->snd = ch->cum;
        all_back(ch, false, now);
    }
}

void rtp_rx_ack(Chan *ch, const UbRtph *h, const UbCetph *c, const UbSaetph *s,
                int64_t now)
{
    bool nak = !s && h->rspst == UB_RTPH_NAK && h->rspinfo == UB_NAK_PSN;
    bool answer = !s && h->rspst != UB_RTPH_ACK && !nak;
    /* The first that it does not cover. */
    uint32_t to = psn_near(nak ? h->psn : h->psn + 1, ch->una);
    uint32_t before = ch->cum;
    unsigned budget = 64;

    if (psn_before(ch->high, to)) {
        ch->tp->count.drop_bad_ack++;           /* of what never went */
        return;
    }
    ch->fakes = 0;
    if (c) {
        cc_feedback(ch, c, now);
    }
    received_before(ch, to);
    if (answer && !psn_before(to - 1, ch->una)) {
        answer_put(ch, to - 1, h, now);
    }
    if (s && ch->attr.selective) {
        sack_take(ch, h, s, now);
    }
    if (nak && !ch->attr.selective && ch->attr.fast) {
        rtp_go_back(ch, to, now);
    }
    slots_release(ch);
    /* The user may have been called; nothing here ends the channel. */
    if (ch->cum != before) {
        ch->times = 0;
        ch->rto_at = rto_needed(ch) ? now + rto(ch) : CORE_NEVER;
    } else if (ch->una == ch->high) {
        ch->rto_at = CORE_NEVER;
    } else if (slot_at(ch, ch->una)->flags & SLOT_WANT) {
        ch->times = 0;          /* the peer lives, its user is at work */
    }
    if (ch->on != ON_STALLED) {
        rtp_push(ch, now, &budget);
    }
}

/* ---- time-outs ---- */

void rtp_timeout(Chan *ch, int64_t now)
{
    unsigned budget = 64;

    if (!rto_needed(ch)) {
        ch->rto_at = CORE_NEVER;
        return;
    }
    if (ch->times >= ch->attr.retries) {
        chan_fail(ch, UB_TP_E_RETRIES);
        return;
    }
    ch->times++;
    ch->tp->count.timeouts++;
    if (ch->attr.selective) {
        for (uint32_t p = ch->cum; p != ch->high; p++) {
            if (!(slot_at(ch, p)->flags & SLOT_RECEIVED)) {
                slot_resend(ch, p);
            }
        }
        if (ch->attr.mark && ch->resends) {
            ch->mark_phase = MARK_RESEND;
        }
    } else {
        ch->snd = ch->cum;
    }
    /* The answer of the peer's user may have been lost: ask for it. */
    if (ch->una != ch->cum) {
        slot_resend(ch, ch->una);
        if (ch->attr.mark) {
            ch->mark_phase = MARK_RESEND;
        }
    }
    all_back(ch, true, now);
    ch->rto_at = now + rto(ch);
    if (ch->on != ON_STALLED) {
        rtp_push(ch, now, &budget);
    }
}
