/*
 * RC Link: whose frame it is that came, and whose packet is sent next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

bool rcl_flow_open(Rclink *d, RclFlow flow)
{
    return rcl_pfc_open(d, flow) && rcl_credit_open(d, flow);
}

void rcl_flow_close(Rclink *d, RclFlow flow, uint32_t bytes)
{
    rcl_credit_sent(d, flow, MAX(bytes, RCL_FRAME_MIN + RCL_FCS_BYTES));
}

void rcl_rx_frame(Rclink *d, const uint8_t *frame, size_t len)
{
    uint64_t *const dropped[RCL_VERDICTS] = {
        [RCL_BAD_LENGTH] = &d->cnt.drop_short,
        [RCL_BAD_IP_CSUM] = &d->cnt.drop_ip_csum,
        [RCL_BAD_KEY] = &d->cnt.drop_key,
        [RCL_BAD_OPCODE] = &d->cnt.drop_opcode,
        [RCL_BAD_ICRC] = &d->cnt.drop_icrc,
    };
    uint32_t bytes = MAX(len, RCL_FRAME_MIN) + RCL_FCS_BYTES;
    RclVerdict verdict;
    RclView v;

    d->cnt.wire_bytes_rx += len;
    if (d->cfg.ops->frame) {
        d->cfg.ops->frame(d->cfg.opaque, false, frame, len);
    }
    verdict = rcl_frame_get(&d->port.layout, frame, len, d->scratch, &v);
    if (verdict != RCL_TAKE) {
        ++*dropped[verdict];
        return;
    }
    if (v.kind == RCL_CONTROL) {
        rcl_mac_control_rx(d, frame, len);
        return;
    }
    if (v.kind == RCL_TYPE3) {
        rcl_type3_rx(d, frame, len, rcl_credit_arrived(d, FLOW_TYPE3, bytes));
        return;
    }
    if (!(d->reg.rdma_en & 1)) {
        d->cnt.drop_off++;
        return;
    }
    if (v.kind == RCL_TYPE1) {
        rcl_receiver_rx(d, &v, bytes);
    } else {
        rcl_type2_rx(d, &v, bytes);
    }
}

/* Answers first, then one packet of each type in turn. */
bool rcl_tx_turn(Rclink *d, unsigned packets)
{
    static bool (*const type[])(Rclink *) = {
        rcl_sender_turn, rcl_type2_turn, rcl_type3_turn,
    };

    while (mac_ready(d)) {
        bool sent = false;

        if (!packets) {
            return true;
        }
        packets--;
        if (rcl_receiver_turn(d)) {
            continue;
        }
        for (unsigned i = 0; i < G_N_ELEMENTS(type) && !sent; i++) {
            sent = type[d->turn](d);
            d->turn = (d->turn + 1) % G_N_ELEMENTS(type);
        }
        if (!sent) {
            break;
        }
        rcl_tx_fetch(d);
    }
    return false;
}
