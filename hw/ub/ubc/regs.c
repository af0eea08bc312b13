/*
 * The UB controller's registers: the map of BAR0.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

/* ---- A port's registers ------------------------------------------------------- */

static UbRing *ring_at(UbcEnd *e, uint32_t *reg)
{
    if (*reg >= UBC_RING_TX && *reg < UBC_RING_TX + 0x40) {
        *reg -= UBC_RING_TX;
        return &e->tx;
    }
    if (*reg >= UBC_RING_RX && *reg < UBC_RING_RX + 0x40) {
        *reg -= UBC_RING_RX;
        return &e->rx;
    }
    return NULL;
}

static uint32_t end_read(UbcEnd *e, uint32_t reg)
{
    const UbRing *ring = ring_at(e, &reg);
    uint64_t count;

    if (ring) {
        return ub_ring_reg_read(ring, reg);
    }
    if (reg >= UBC_COUNTER(0) && reg < UBC_COUNTER(UBC_CNT_NUM)) {
        if (reg % 8) {
            return e->counter_hi;
        }
        count = ubc_end_counter(e, (reg - UBC_COUNTER(0)) / 8);
        e->counter_hi = count >> 32;
        return count;
    }
    switch (reg) {
    case UBC_PORT_STATUS:
        return ubc_end_status(e);
    case UBC_PORT_CTRL:
        return ub_port_enabled(e->port) ? UBC_PORT_CTRL_ENABLE : 0;
    case UBC_PORT_EVENT:
        return e->event;
    case UBC_PORT_EVENT_MASK:
        return e->event_mask;
    case UBC_PORT_MTU:
        return ub_port_mtu(e->port);
    case UBC_PORT_VLS:
        return ub_port_vls(e->port);
    default:
        return 0;
    }
}

static void end_write(UbcEnd *e, uint32_t reg, uint32_t value)
{
    UbRing *ring = ring_at(e, &reg);

    if (ring) {
        if (ub_ring_reg_write(ring, reg, value)) {
            ubc_kick(e->ubc);
        }
        return;
    }
    switch (reg) {
    case UBC_PORT_CTRL:
        if (!(value & UBC_PORT_CTRL_ENABLE)) {
            ubc_raw_drop(e);
        }
        ub_port_enable(e->port, e->ubc->now, value & UBC_PORT_CTRL_ENABLE);
        break;
    case UBC_PORT_EVENT:
        e->event &= ~value;
        break;
    case UBC_PORT_EVENT_MASK:
        e->event_mask = value & UBC_PORT_EVENT_ALL;
        /* What was noted while masked interrupts now. */
        if (e->event & e->event_mask) {
            e->ubc->ops.interrupt(e->ubc->opaque,
                                  UBC_VECTOR_EVENT(e->index));
        }
        break;
    default:
        ubc_guest_error(e->ubc, e->index,
                           "write to a register of the port that is "
                           "read-only or does not exist");
    }
}

/* ---- BAR0 ------------------------------------------------------------------------ */

/* The port's end and its register at `offset`, or NULL. */
static UbcEnd *end_at(Ubc *ubc, uint32_t offset, uint32_t *reg)
{
    const uint32_t stride = UBC_PORT(1) - UBC_PORT(0);
    unsigned index = (offset - UBC_PORT(0)) / stride;

    if (offset < UBC_PORT(0) || index >= ubc->ports) {
        return NULL;
    }
    *reg = (offset - UBC_PORT(0)) % stride;
    return &ubc->end[index];
}

uint32_t ubc_read(Ubc *ubc, uint32_t offset, int64_t now)
{
    UbcEnd *e;
    uint32_t reg;

    ubc->now = now;
    if (offset >= UBC_CFG_WINDOW &&
        offset < UBC_CFG_WINDOW + UBC_CFG_WINDOW_SIZE) {
        return ub_space_read(ubc->space, (offset - UBC_CFG_WINDOW) / 4);
    }
    e = end_at(ubc, offset, &reg);
    if (e) {
        return end_read(e, reg);
    }
    switch (offset) {
    case UBC_ID:
        return UBC_ID_VALUE;
    case UBC_VERSION:
        return 1;
    case UBC_PORTS:
        return ubc->ports;
    case UBC_EVENT:
        return ubc->event | ubc_events_of_ports(ubc);
    case UBC_EVENT_MASK:
        return ubc->event_mask;
    case UBC_GUEST_ERRORS:
        return ubc->guest_errors;
    case UBC_DMA_ERRORS:
        return ubc->dma_errors;
    case UBC_CFG_ADDR:
        return ubc->cfg_addr;
    case UBC_CFG_DATA:
        return ub_space_read(ubc->space, ubc->cfg_addr);
    default:
        return 0;
    }
}

void ubc_write(Ubc *ubc, uint32_t offset, uint32_t value, int64_t now)
{
    UbcEnd *e;
    uint32_t reg;

    ubc->now = now;
    if (offset >= UBC_CFG_WINDOW &&
        offset < UBC_CFG_WINDOW + UBC_CFG_WINDOW_SIZE) {
        ub_space_write(ubc->space, now, (offset - UBC_CFG_WINDOW) / 4, value, 0xf);
        return;
    }
    e = end_at(ubc, offset, &reg);
    if (e) {
        end_write(e, reg, value);
        return;
    }
    switch (offset) {
    case UBC_CTRL:
        if (value & UBC_CTRL_RESET) {
            ubc_reset(ubc, now);
        }
        break;
    case UBC_EVENT:
        ubc->event &= ~value;
        break;
    case UBC_EVENT_MASK:
        ubc->event_mask = value & (UBC_EVENT_GUEST_ERROR |
                                   UBC_EVENT_DMA_ERROR);
        break;
    case UBC_CFG_ADDR:
        ubc->cfg_addr = value;
        break;
    case UBC_CFG_DATA:
        ub_space_write(ubc->space, now, ubc->cfg_addr, value, 0xf);
        break;
    default:
        ubc_guest_error(ubc, -1,
                           "write to a register that is read-only or does "
                           "not exist");
    }
}
