/*
 * What has no state: UTP, and TP Bypass, which has no header either (UB 2.0
 * §6.2.1, appendix B.2.6).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

UbSend plain_down(UbTp *tp, UbTpMode mode, const UbFlow *flow, CorePacket *pkt,
                  int64_t now)
{
    UbSend sent = tp->cfg.lower->send(tp->cfg.lower_opaque, now, flow, pkt);

    if (sent == UB_BUSY) {
        tp->want_room = true;
    } else {
        tp->count.tx_packets[mode]++;
    }
    return sent;
}

void plain_up(UbTp *tp, UbTpMode mode, uint8_t nlp, const UbFlow *flow,
              CorePacket *pkt)
{
    UbTpRx rx = { .mode = mode, .tpn = UB_TP_NONE, .last = true, .nlp = nlp,
                  .flow = flow };

    tp->count.rx_packets[mode]++;
    tp->cfg.upper->rx(tp->cfg.upper_opaque, &rx, pkt);
}

UbSend utp_send(UbTp *tp, const UbFlow *flow, CorePacket *pkt, uint8_t nlp,
                int64_t now)
{
    UbRtph h = { .opcode = UB_TPOP_UNRELIABLE, .last = true, .nlp = nlp,
                 .pad = ub_tp_pad(pkt->len) };
    uint8_t *pad = core_packet_put(pkt, h.pad);
    uint8_t *head = core_packet_push(pkt, UB_UTPH_LEN);
    UbSend sent;

    if (!pad || !head) {
        tp_drop(&tp->count.drop_room, pkt);
        return UB_LOST;
    }
    memset(pad, 0, h.pad);
    ub_rtph_put(head, &h);
    sent = plain_down(tp, UB_TP_UTP, flow, pkt, now);
    if (sent == UB_BUSY) {
        core_packet_pull(pkt, UB_UTPH_LEN);
        core_packet_trim(pkt, h.pad);
    }
    return sent;
}

void utp_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, const UbRtph *h,
            int64_t now)
{
    if (!ub_lph_is_ip(flow->cfg)) {
        tp_drop(&tp->count.drop_mode, pkt);
        return;
    }
    if (pkt->len < (uint32_t)UB_UTPH_LEN + h->pad) {
        tp_drop(&tp->count.drop_short, pkt);
        return;
    }
    core_packet_pull(pkt, UB_UTPH_LEN);
    core_packet_trim(pkt, h->pad);
    if (h->nlp == tp->cfg.setup_nlp) {
        setup_rx(tp, flow, pkt, now);
        return;
    }
    plain_up(tp, UB_TP_UTP, h->nlp, flow, pkt);
}

UbSend bypass_send(UbTp *tp, const UbFlow *to, CorePacket *pkt, int64_t now)
{
    UbFlow flow = *to;

    flow.nlp = UB_NLP_TAH;
    return plain_down(tp, UB_TP_BYPASS, &flow, pkt, now);
}

void bypass_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt)
{
    plain_up(tp, UB_TP_BYPASS, UB_TPH_TAH, flow, pkt);
}
