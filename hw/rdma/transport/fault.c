/*
 * Faults on the wire, both ways.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static CoreFault *fault_side(RdmaDev *dev, bool out)
{
    return out ? &dev->fault_out : &dev->fault_in;
}

void rdma_fault_set(RdmaDev *dev, bool out, const CoreFaultPlan *plan)
{
    core_fault_set(fault_side(dev, out), plan, FRAME_MAX);
}

void rdma_fault_get(RdmaDev *dev, bool out, CoreFaultPlan *plan)
{
    *plan = fault_side(dev, out)->plan;
}

static void sink_tx(void *dev, const uint8_t *frame, size_t len)
{
    tx_wire(dev, frame, len);
}

static void sink_rx(void *dev, const uint8_t *frame, size_t len)
{
    rx_frame(dev, frame, len, true);
}

/* The device's counters know no direction. */
static void fault_count(RdmaDev *dev, CoreFault *f)
{
    uint64_t *const counter[] = {
        [CORE_FAULT_DROP] = &dev->cnt.fault_drop,
        [CORE_FAULT_DUPLICATE] = &dev->cnt.fault_duplicate,
        [CORE_FAULT_REORDER] = &dev->cnt.fault_reorder,
        [CORE_FAULT_CORRUPT] = &dev->cnt.fault_corrupt,
        [CORE_FAULT_DELAY] = &dev->cnt.fault_delay,
    };

    for (int i = CORE_FAULT_DROP; i < CORE_FAULT_NUM; i++) {
        *counter[i] += f->done[i];
        f->done[i] = 0;
    }
}

void fault_tx(RdmaDev *dev, const uint8_t *frame, size_t len)
{
    core_fault_pass(&dev->fault_out, frame, len, ROCE_ETH_BYTES, dev->now,
                    sink_tx, dev);
    fault_count(dev, &dev->fault_out);
}

void fault_rx(RdmaDev *dev, const uint8_t *frame, size_t len)
{
    core_fault_pass(&dev->fault_in, frame, len, ROCE_ETH_BYTES, dev->now,
                    sink_rx, dev);
    fault_count(dev, &dev->fault_in);
}

int64_t fault_timers(RdmaDev *dev)
{
    int64_t in = core_fault_timers(&dev->fault_in, dev->now, sink_rx, dev);
    int64_t out = core_fault_timers(&dev->fault_out, dev->now, sink_tx, dev);

    return MIN(in, out);
}
