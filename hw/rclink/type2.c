/*
 * RC Link: TYPE2, unreliable multicast (RC Link §12.2, §12.6).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static void type2_send(Rclink *d)
{
    const RclSlot2 *s = &d->slot2[d->first2];
    uint64_t da = d->reg.da2[s->group];
    RclHead h = {
        .kind = RCL_TYPE2, .da = da ? da : d->reg.dest_mac2 & MASK48,
        .tc = d->port.tc2, .tos = d->port.tos2,
        .pri = d->port.vc[FLOW_TYPE2], .dip = d->reg.dest_ip2,
        .sport = d->reg.udp2, .dport = d->reg.udp2 >> 16,
    };
    size_t n = rcl_frame_put(&d->port.layout, &h,
                             d->payload2 + d->first2 * d->payload_step,
                             s->len, rcl_mac_frame(d));

    rcl_mac_send(d, n);
    rcl_flow_sent(d, FLOW_TYPE2, n + RCL_FCS_BYTES);
    rcl_multi_sent(d, n + RCL_FCS_BYTES);
    d->cnt.tx_type2++;
    rcl_rate_sent2(d, s->len);
    rcl_event(d, RCL_EV_CREDIT, 0, 0, RCL_ETYPE2, s->cookie);
    d->first2 = (d->first2 + 1) % d->cfg.ost2;
    d->used2--;
}

bool rcl_type2_turn(Rclink *d)
{
    if (!d->used2 || !(d->reg.rdma_en & 1) || d->mask2 ||
        !rcl_flow_open(d, FLOW_TYPE2) || !rcl_multi_open(d)) {
        return false;
    }
    type2_send(d);
    return true;
}

/* INTR_STATUS has no bit for it: 13 is reserved (RC Link §12.12.2).  Ours stays until
 * it is cleared, and IRQ_INFO comes when it rises: what a peer sends without end tells
 * nothing new. */
static void overflow(Rclink *d)
{
    d->cnt.drop_rx2++;
    if (!(d->reg.err & RCL_ERR_RX2_OVERFLOW)) {
        d->reg.err |= RCL_ERR_RX2_OVERFLOW;
        rcl_irq2(d, RCL_IRQ2_RX_OVERFLOW, 1);
    }
}

void rcl_type2_oversize(Rclink *d)
{
    d->cnt.drop_oversize++;
    rcl_intr(d, RCL_INTR_RX2_OVERSIZE);
    rcl_irq2(d, RCL_IRQ2_RX_OVERSIZE, 0);
}

void rcl_type2_rx(Rclink *d, const RclView *v, uint32_t bytes)
{
    RclCredits credits = rcl_flow_arrived(d, FLOW_TYPE2, bytes);

    if (v->len > d->cfg.payload) {
        rcl_type2_oversize(d);
    } else if (!rcl_wait_room(d, FLOW_TYPE2, v->len)) {
        overflow(d);
    } else {
        d->cnt.rx_type2++;
        rcl_wait_deliver(d, FLOW_TYPE2, 0, v->sa, v->data, v->len, credits);
        return;
    }
    rcl_credit_freed(d, credits);
}

void rcl_type2_reset(Rclink *d)
{
    while (d->used2) {
        rcl_event(d, RCL_EV_CREDIT, 0, 0, RCL_EV_DROPPED + RCL_DROP_RESET,
                  d->slot2[d->first2].cookie);
        d->first2 = (d->first2 + 1) % d->cfg.ost2;
        d->used2--;
    }
    d->first2 = 0;
    d->acc2 = 0;
    d->mask2 = false;
    d->multi_used = 0;
    d->reg.err &= ~(uint64_t)RCL_ERR_RX2_OVERFLOW;
    rcl_wait_drop(d, FLOW_TYPE2);
}
