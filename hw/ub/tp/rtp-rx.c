/*
 * RTP, the receiver: classes of PSNs, what comes out of order, delivery (UB 2.0
 * §6.4, §6.7.1.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static void rtp_event(Chan *ch, bool *told, UbTpError error)
{
    const UbTpConfig *cfg = &ch->tp->cfg;

    /* Once, until something good comes: a peer cannot flood us with events. */
    if (!*told) {
        *told = true;
        cfg->upper->error(cfg->upper_opaque, ch->tpn, error);
    }
}

/* ---- delivery ---- */

/* Who sent it is at the other end of the channel, by whichever of its ports, and so by
 * whichever of their addresses, it came. */
static UbFlow flow_of_peer(const Chan *ch, const UbFlow *flow)
{
    const UbFlow *to = &ch->attr.flow;
    UbFlow from = *flow;

    if (ub_lph_is_ip(to->cfg) ? to->cfg == flow->cfg : !ub_lph_is_ip(flow->cfg)) {
        from.scna = to->dcna;
        memcpy(from.ip.src, to->ip.dst, sizeof(from.ip.src));
    }
    return from;
}

/* The packet that epsn waits for goes up; it begins with its RTPH and is used
 * up.  False: it cannot be taken, and so was lost. */
static bool rtp_deliver(Chan *ch, CorePacket *pkt, const UbFlow *flow)
{
    UbTp *tp = ch->tp;
    UbTpAnswer answer = { UB_TP_ACK, 0 };
    uint32_t psn = ch->epsn;
    UbFlow from = flow_of_peer(ch, flow);
    UbTpRx rx = { .mode = UB_TP_RTP, .tpn = ch->tpn, .flow = &from };
    UbRtph h;

    ub_rtph_get(core_packet_data(pkt), &h);
    if (tp->cfg.msn_check && h.msn != ch->rx_msn) {
        tp_drop(&tp->count.drop_msn, pkt);
        rtp_event(ch, &ch->msn_told, UB_TP_E_MSN);
        return false;
    }
    if (h.last && result_full(ch)) {
        tp_drop(&tp->count.drop_room, pkt);
        return false;
    }
    core_packet_pull(pkt, UB_RTPH_LEN);
    core_packet_trim(pkt, h.pad);
    rx.msn = h.msn;
    rx.last = h.last;
    rx.nlp = h.nlp;
    ch->epsn++;
    ch->ack_msn = h.msn;
    ch->rx_msn = (h.msn + h.last) & UB_PSN_MASK;
    ch->msn_told = ch->op_told = false;
    tp->count.rx_packets[UB_TP_RTP]++;
    if (ch->refusing) {
        tp_drop(&tp->count.drop_refused, pkt);
        answer = ch->refusal;
    } else {
        answer = tp->cfg.upper->rx(tp->cfg.upper_opaque, &rx, pkt);
    }
    if (!h.last) {
        if (answer.status != UB_TP_ACK && answer.status != UB_TP_WITHHOLD) {
            ch->refusing = true;
            ch->refusal = answer;
        }
        answer.status = UB_TP_ACK;
    } else {
        ch->refusing = false;
    }
    if (answer.status == UB_TP_ACK || answer.status >= UB_TP_FLUSHED) {
        result_forget(ch, psn);
    } else {
        answer.timer = MIN(answer.timer, UB_RNR_TIMER_MAX);
        result_put(ch, psn, h.msn, answer);
    }
    return true;
}

static CorePacket *hold_take(Chan *ch, uint32_t psn)
{
    CorePacket **at = ch->hold ? &ch->hold[psn & ch->hold_mask] : NULL;
    CorePacket *pkt = at ? *at : NULL;

    if (pkt) {
        *at = NULL;
        ch->tp->hold_used -= pkt->size;
        if (!--ch->held) {
            g_clear_pointer(&ch->hold, g_free);
        }
    }
    return pkt;
}

/* False: there is no room. */
static bool hold_put(Chan *ch, uint32_t psn, CorePacket *pkt)
{
    UbTp *tp = ch->tp;

    if (tp->hold_used + pkt->size > tp->cfg.hold_bytes) {
        return false;
    }
    /* What is lent would keep from us what we wait for. */
    if (pkt->released) {
        CorePacket *copy = core_packet_alloc(tp->pool, pkt->len);

        if (!copy) {
            return false;
        }
        memcpy(core_packet_data(copy), core_packet_data(pkt), pkt->len);
        core_packet_free(pkt);
        pkt = copy;
    }
    if (!ch->hold) {
        ch->hold_mask = ch->attr.ooo_window - 1;
        ch->hold = g_new0(CorePacket *, ch->attr.ooo_window);
    }
    ch->hold[psn & ch->hold_mask] = pkt;
    ch->held++;
    tp->hold_used += pkt->size;
    return true;
}

/* ---- classes of PSNs ---- */

static void rtp_in_order(Chan *ch, const UbRtph *h, CorePacket *pkt,
                         const UbFlow *flow, int64_t now)
{
    uint32_t covered = ack_covered(ch), len = pkt->len;

    if (!rtp_deliver(ch, pkt, flow)) {
        return;
    }
    cc_received(ch, len, flow->cci, now);
    while ((pkt = hold_take(ch, ch->epsn))) {
        if (!rtp_deliver(ch, pkt, flow)) {
            break;
        }
    }
    if (ack_covered(ch) != covered) {
        ack_owe(ch, h->ack_req, now);
    }
    if (ch->fifo_len && ch->on != ON_STALLED) {
        ack_flush(ch, now);
    }
}

static void rtp_duplicate(Chan *ch, const UbRtph *h, CorePacket *pkt,
                          int64_t now)
{
    tp_drop(&ch->tp->count.rx_duplicate, pkt);
    if (!ack_again(ch, psn_near(h->psn, ch->epsn), now)) {
        ack_owe(ch, h->ack_req, now);
    }
}

static void rtp_out_of_order(Chan *ch, const UbRtph *h, CorePacket *pkt,
                             const UbFlow *flow, int64_t now)
{
    UbTp *tp = ch->tp;
    uint32_t psn = psn_near(h->psn, ch->epsn), len = pkt->len;

    tp->count.rx_ooo++;
    if (!ch->attr.selective && ch->attr.fast) {
        tp_drop(&tp->count.drop_ooo, pkt);
        ack_nak(ch, now);
        return;
    }
    if (psn_before(ch->max_rcv, psn)) {
        ch->max_rcv = psn;
    }
    if (ch->hold && ch->hold[psn & ch->hold_mask]) {
        tp_drop(&tp->count.rx_duplicate, pkt);
    } else if (!hold_put(ch, psn, pkt)) {
        tp_drop(&tp->count.drop_hold, pkt);
    } else {
        tp->count.rx_held++;
        cc_received(ch, len, flow->cci, now);
    }
    if (ch->attr.selective) {
        ack_sack(ch, h->ack_req, now);
    }
}

static void rtp_rx_data(Chan *ch, const UbRtph *h, CorePacket *pkt,
                        const UbFlow *flow, int64_t now)
{
    UbTp *tp = ch->tp;
    uint32_t ahead = serial_ahead(h->psn, ch->epsn, UB_PSN_BITS);

    if (h->fake) {
        tp_drop(&tp->count.rx_fake, pkt);
        ack_owe(ch, true, now);
    } else if (pkt->len < UB_RTPH_LEN + h->pad) {
        tp_drop(&tp->count.drop_short, pkt);
    } else if (!ahead) {
        if (psn_before(ch->max_rcv, ch->epsn)) {
            ch->max_rcv = ch->epsn;
        }
        rtp_in_order(ch, h, pkt, flow, now);
    } else if (ahead > UB_PSN_SPAN) {
        rtp_duplicate(ch, h, pkt, now);
    } else if (ahead <= ch->attr.ooo_window) {
        rtp_out_of_order(ch, h, pkt, flow, now);
    } else {
        tp_drop(&tp->count.drop_invalid, pkt);
    }
}

/* ---- acknowledgements ---- */

static void rtp_rx_response(Chan *ch, const UbRtph *h, CorePacket *pkt,
                            int64_t now)
{
    UbTp *tp = ch->tp;
    const UbTpOpInfo *op = &ub_tp_ops[h->opcode];
    const uint8_t *p = core_packet_data(pkt) + UB_RTPH_LEN;
    uint32_t left = pkt->len - UB_RTPH_LEN;
    UbCcFeedback fb = ch->cc ? ch->cc->algo->feedback : UB_CC_FB_NONE;
    UbCetph c = { 0 };
    UbSaetph s;

    if (left < op->cetph) {
        tp_drop(&tp->count.drop_short, pkt);
        return;
    }
    if (h->opcode == UB_TPOP_CNP) {
        ub_cetph_get_cnp(p, &c);
        tp_drop(&tp->count.rx_cnp, pkt);
        cc_cnp(ch, &c, now);
        return;
    }
    if (op->cetph && fb == UB_CC_FB_LDCP) {
        ub_cetph_get_ldcp(p, &c);
    } else if (op->cetph && fb == UB_CC_FB_CAQM) {
        ub_cetph_get_caqm(p, &c);
    } else {
        fb = UB_CC_FB_NONE;
    }
    p += op->cetph;
    left -= op->cetph;
    if (op->saetph) {
        if (!ub_saetph_get(p, left, &s)) {
            tp_drop(&tp->count.drop_bad_sack, pkt);
            return;
        }
        for (uint32_t i = 0; tp->cfg.sack_lsb_first &&
             i < UB_SACK_BITS_MAX / 32; i++) {
            s.map[i] = GUINT32_SWAP_LE_BE(s.map[i]);
        }
        tp->count.rx_sack++;
    } else if (h->rspst == UB_RTPH_NAK && h->rspinfo == UB_NAK_PSN) {
        tp->count.rx_nak++;
    } else {
        tp->count.rx_ack++;
    }
    core_packet_free(pkt);
    rtp_rx_ack(ch, h, fb != UB_CC_FB_NONE ? &c : NULL,
               op->saetph ? &s : NULL, now);
}

void rtp_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, int64_t now)
{
    const char *fault;
    UbRtph h;
    Chan *ch;

    if (pkt->len < UB_RTPH_LEN) {
        tp_drop(&tp->count.drop_short, pkt);
        return;
    }
    ub_rtph_get(core_packet_data(pkt), &h);
    if (h.ver) {
        tp_drop(&tp->count.drop_version, pkt);
        return;
    }
    if (h.opcode == UB_TPOP_UNRELIABLE) {
        utp_rx(tp, flow, pkt, &h, now);
        return;
    }
    ch = chan_get(tp, h.dst);
    if (!ch) {
        tp_drop(&tp->count.drop_no_channel, pkt);
        return;
    }
    if (h.src != ch->attr.dst_tpn) {
        tp_drop(&tp->count.drop_peer, pkt);
        return;
    }
    if (ch->state == UB_TP_INIT && ch->in_band && !ch->setup_active) {
        setup_confirm(ch, now);
    }
    if (ch->state != UB_TP_ACTIVE) {
        tp_drop(&tp->count.drop_state, pkt);
        return;
    }
    fault = ub_rtph_fault(&h);
    if (!fault && h.opcode == UB_TPOP_DATA) {
        rtp_rx_data(ch, &h, pkt, flow, now);
    } else if (!fault) {
        rtp_rx_response(ch, &h, pkt, now);
    } else if (h.opcode < UB_TPOPS && ub_tp_ops[h.opcode].ack) {
        tp_drop(&tp->count.drop_bad_ack, pkt);
    } else {
        tp_drop(&tp->count.drop_opcode, pkt);
        if (h.psn == (ch->epsn & UB_PSN_MASK)) {
            rtp_event(ch, &ch->op_told, UB_TP_E_OPCODE);
        }
    }
    if (ch->state == UB_TP_ACTIVE) {
        chan_timer(ch);
    }
}
