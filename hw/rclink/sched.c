/*
 * RC Link: whose frame it is that came, and whose packet is sent next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Why a frame of @kind was not taken. */
static void verdict_count(Rclink *d, RclKind kind, RclVerdict verdict)
{
    bool type2 = verdict == RCL_TOO_LONG && kind == RCL_TYPE2;
    uint64_t *const dropped[RCL_VERDICTS] = {
        [RCL_BAD_LENGTH] = &d->cnt.drop_short,
        [RCL_BAD_IP_CSUM] = &d->cnt.drop_ip_csum,
        [RCL_BAD_KEY] = &d->cnt.drop_key,
        [RCL_BAD_OPCODE] = &d->cnt.drop_opcode,
        [RCL_BAD_ICRC] = &d->cnt.drop_icrc,
        [RCL_TOO_LONG] = &d->cnt.drop_oversize,
    };

    if (type2 && d->reg.rdma_en & 1) {
        rcl_type2_oversize(d);
    } else {
        ++*dropped[verdict];
    }
}

/* One for the MAC itself. */
static void control_rx(Rclink *d, const uint8_t *frame, size_t len)
{
    uint16_t opcode = len >= MAC_CONTROL_HEAD ? get_be16(frame + 14) : 0;

    if (opcode == MAC_OP_PFC) {
        rcl_pfc_rx(d, frame + MAC_CONTROL_HEAD, len - MAC_CONTROL_HEAD);
    } else if (opcode == MAC_OP_CBFC) {
        rcl_credit_rx(d, frame + MAC_CONTROL_HEAD, len - MAC_CONTROL_HEAD);
    } else {
        d->cnt.drop_control++;
    }
}

static void frame_rx(Rclink *d, const uint8_t *frame, size_t len)
{
    uint32_t bytes = MAX(len, RCL_FRAME_MIN) + RCL_FCS_BYTES;
    RclVerdict verdict;
    uint16_t flags = 0;
    RclView v;

    d->cnt.wire_bytes_rx += len;
    if (d->cfg.ops->frame) {
        d->cfg.ops->frame(d->cfg.opaque, false, frame, len);
    }
    verdict = rcl_frame_open(&d->port.layout, frame, len, d->scratch, &v);
    if (d->faults.fcs) {
        d->cnt.bad_fcs++;
        flags = MD_BAD_FCS;
        if (v.kind != RCL_TYPE3) {
            return;
        }
    }
    if (verdict == RCL_TAKE && v.kind == RCL_TYPE1) {
        bool right;

        if (rcl_receiver_through(d, &v, bytes, &right)) {
            d->cnt.drop_icrc += !right;
            return;
        }
    }
    if (verdict == RCL_TAKE && v.icrc_len) {
        /* Its state comes into the cache meanwhile. */
        rcl_qp_soon(d, v.rh.qp);
        verdict = rcl_frame_right(&d->port.layout, &v) ? RCL_TAKE
                                                       : RCL_BAD_ICRC;
    }
    if (verdict != RCL_TAKE) {
        verdict_count(d, v.kind, verdict);
        return;
    }
    if (v.kind == RCL_CONTROL) {
        control_rx(d, frame, len);
        return;
    }
    if (v.kind == RCL_TYPE3) {
        rcl_type3_rx(d, frame, len, flags,
                     rcl_flow_arrived(d, FLOW_TYPE3, bytes));
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

static void sink_rx(void *opaque, const uint8_t *frame, size_t len)
{
    frame_rx(opaque, frame, len);
}

void rclink_rx(Rclink *d, const uint8_t *frame, size_t len, int64_t now)
{
    d->now = now;
    if (!d->link || len > RCL_WIRE_MAX) {
        d->cnt.drop_short += len > RCL_WIRE_MAX;
        return;
    }
    if (d->fault_in.on) {
        core_fault_pass(&d->fault_in, frame, len, MAC_KEEP, now, sink_rx, d);
        rcl_fault_count(d, &d->fault_in);
    } else {
        frame_rx(d, frame, len);
    }
    rcl_kick(d);
}

int64_t rcl_rx_run(Rclink *d)
{
    return core_fault_timers(&d->fault_in, d->now, sink_rx, d);
}

/* Packets that are taken in ahead: so few are still in the cache when they are
 * sent. */
enum { AHEAD = 16 };

/* One packet, of the type whose turn it is or of the next that has one. */
static bool packet_turn(Rclink *d)
{
    static bool (*const turn[])(Rclink *) = {
        rcl_sender_turn, rcl_type2_turn, rcl_type3_turn,
    };
    const bool any[] = { d->queued, d->used2, rcl_type3_pending(d) };

    for (unsigned i = 0; i < G_N_ELEMENTS(turn); i++) {
        unsigned type = d->turn;

        d->turn = type + 1 < G_N_ELEMENTS(turn) ? type + 1 : 0;
        if (any[type] && turn[type](d)) {
            return true;
        }
    }
    return false;
}

/* Answers first, then one packet of each type in turn. */
bool rcl_tx_turn(Rclink *d, unsigned packets)
{
    while (mac_ready(d)) {
        if (!packets) {
            return true;
        }
        if (rcl_receiver_owes(d) && rcl_receiver_turn(d)) {
            packets--;
            continue;
        }
        if (!d->queued && !d->used2 && !rcl_type3_pending(d) &&
            rcl_sender_through(d)) {
            packets--;
            continue;
        }
        rcl_tx_fetch(d, AHEAD);
        if (packet_turn(d)) {
            packets--;
        } else if (!rcl_tx_fetch(d, UINT_MAX)) {
            return false;
        }
    }
    rcl_tx_fetch(d, UINT_MAX);
    return false;
}
