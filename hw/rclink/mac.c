/*
 * RC Link: the MAC: frames to the wire, its own control frames, faults.  What comes
 * in is sched.c's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void rcl_mac_flush(Rclink *d)
{
    size_t len = d->out_len;

    if (len) {
        d->out_len = 0;
        d->cfg.ops->wire_tx(d->cfg.opaque, d->out, len);
    }
}

static void frame_sent(Rclink *d, const uint8_t *frame, size_t len)
{
    put_be32(d->out + d->out_len, len);
    d->out_len += RCL_WIRE_PREFIX + len;
    d->cnt.wire_bytes_tx += len;
    if (d->cfg.ops->frame) {
        d->cfg.ops->frame(d->cfg.opaque, true, frame, len);
    }
}

static void sink_tx(void *opaque, const uint8_t *frame, size_t len)
{
    Rclink *d = opaque;

    if (d->out_len >= OUT_BYTES) {
        rcl_mac_flush(d);
    }
    memcpy(d->out + d->out_len + RCL_WIRE_PREFIX, frame, len);
    frame_sent(d, frame, len);
}

void rcl_fault_count(Rclink *d, CoreFault *f)
{
    uint64_t *const counter[] = {
        [CORE_FAULT_DROP] = &d->cnt.fault_drop,
        [CORE_FAULT_DUPLICATE] = &d->cnt.fault_duplicate,
        [CORE_FAULT_REORDER] = &d->cnt.fault_reorder,
        [CORE_FAULT_CORRUPT] = &d->cnt.fault_corrupt,
        [CORE_FAULT_DELAY] = &d->cnt.fault_delay,
    };

    for (int i = CORE_FAULT_DROP; i < CORE_FAULT_NUM; i++) {
        *counter[i] += f->done[i];
        f->done[i] = 0;
    }
}

uint8_t *rcl_mac_frame(Rclink *d)
{
    if (d->fault_out.on) {
        return d->scratch_out;
    }
    if (d->out_len >= OUT_BYTES) {
        rcl_mac_flush(d);
    }
    return d->out + d->out_len + RCL_WIRE_PREFIX;
}

void rcl_mac_send(Rclink *d, size_t len)
{
    if (d->fault_out.on) {
        core_fault_pass(&d->fault_out, d->scratch_out, len, MAC_KEEP, d->now,
                        sink_tx, d);
        rcl_fault_count(d, &d->fault_out);
    } else {
        frame_sent(d, d->out + d->out_len + RCL_WIRE_PREFIX, len);
    }
}

/* ---- control frames ---- */

void rcl_mac_control(Rclink *d, uint16_t opcode, const uint8_t *body, size_t len)
{
    uint8_t *p = rcl_mac_frame(d);

    memset(p, 0, RCL_FRAME_MIN);
    put_be16(p, 0x0180);
    put_be32(p + 2, 0xc2000001);
    put_be16(p + 6, d->port.layout.mac >> 32);
    put_be32(p + 8, d->port.layout.mac);
    put_be16(p + 12, 0x8808);
    put_be16(p + 14, opcode);
    memcpy(p + MAC_CONTROL_HEAD, body, len);
    rcl_mac_send(d, RCL_FRAME_MIN);
}

/* ---- faults ---- */

static CoreFault *fault_side(Rclink *d, bool out)
{
    return out ? &d->fault_out : &d->fault_in;
}

void rclink_fault_set(Rclink *d, bool out, const CoreFaultPlan *plan)
{
    core_fault_set(fault_side(d, out), plan, RCL_WIRE_MAX);
}

void rclink_fault_get(Rclink *d, bool out, CoreFaultPlan *plan)
{
    *plan = fault_side(d, out)->plan;
}

RclinkFaults *rclink_faults(Rclink *d)
{
    return &d->faults;
}

int64_t rcl_mac_run(Rclink *d)
{
    return core_fault_timers(&d->fault_out, d->now, sink_tx, d);
}
