/*
 * The cellar of the UB controller: errors, events, kicks, counters, guest
 * memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

void ubc_kick(Ubc *ubc)
{
    if (ubc->running) {
        ubc->kicked = true;
    } else {
        ubc->ops.kick(ubc->opaque);
    }
}

void ubc_above_interrupt(void *opaque, unsigned vector)
{
    Ubc *ubc = opaque;

    ubc->ops.interrupt(ubc->opaque, vector);
}

void ubc_above_kick(void *opaque)
{
    Ubc *ubc = opaque;

    ubc->above_kicked = true;
    ubc_kick(ubc);
}

void ubc_above_error(void *opaque, const char *what)
{
    ubc_guest_error(opaque, -1, what);
}

uint32_t ubc_events_of_ports(const Ubc *ubc)
{
    uint32_t events = 0;

    for (unsigned i = 0; i < ubc->ports; i++) {
        const UbcEnd *e = &ubc->end[i];

        events |= e->event & e->event_mask ? UBC_EVENT_PORT(i) : 0;
    }
    return events;
}

static void ctl_event(Ubc *ubc, uint32_t event)
{
    if (!(ubc->event & event)) {
        ubc->event |= event;
        if (ubc->event_mask & event) {
            ubc->ops.interrupt(ubc->opaque, ubc->vector);
        }
    }
}

static void saturate(uint32_t *count)
{
    *count += *count != UINT32_MAX;
}

void ubc_guest_error(Ubc *ubc, int port, const char *what)
{
    saturate(&ubc->guest_errors);
    ubc->ops.guest_error(ubc->opaque, port, what);
    ctl_event(ubc, UBC_EVENT_GUEST_ERROR);
}

void ubc_end_event(UbcEnd *e, uint32_t events)
{
    uint32_t fresh = events & ~e->event;

    e->event |= events;
    if (fresh & e->event_mask) {
        e->ubc->ops.interrupt(e->ubc->opaque, e->vector);
    }
}

void ubc_event_mask(Ubc *ubc, uint32_t mask)
{
    ubc->event_mask = mask & (UBC_EVENT_GUEST_ERROR | UBC_EVENT_DMA_ERROR);
    if (ubc->event & ubc->event_mask) {
        ubc->ops.interrupt(ubc->opaque, ubc->vector);
    }
}

void ubc_end_event_mask(UbcEnd *e, uint32_t mask)
{
    e->event_mask = mask & UBC_PORT_EVENT_ALL;
    if (e->event & e->event_mask) {
        e->ubc->ops.interrupt(e->ubc->opaque, e->vector);
    }
}

uint32_t ubc_end_status(const UbcEnd *e)
{
    return (ub_port_link_up(e->port) ? UBC_PORT_STATUS_PHY_UP : 0) |
           (ub_port_dll_up(e->port) ? UBC_PORT_STATUS_DLL_UP : 0) |
           (ub_port_back_pressure(e->port) ? UBC_PORT_STATUS_BACKPRESSURE : 0);
}

void ubc_end_link_event(UbcEnd *e)
{
    uint32_t now = ubc_end_status(e);

    if (now != e->status) {
        e->status = now;
        ubc_end_event(e, UBC_PORT_EVENT_LINK);
    }
}

/* ---- Counters ------------------------------------------------------------------ */

static uint64_t counted(const UbcEnd *e, unsigned counter)
{
    UbPortStats s;

    ub_port_stats(e->port, &s);
    switch (counter) {
    case UBC_CNT_TX_FLITS:
        return s.dll->tx_flits;
    case UBC_CNT_RX_FLITS:
        return s.dll->rx_flits;
    case UBC_CNT_FEC_CORRECTED:
        return s.phy.fec_corrected;
    case UBC_CNT_FEC_FAILED:
        return s.phy.fec_failed;
    case UBC_CNT_CRC_ERRORS:
        return s.dll->crc_errors;
    case UBC_CNT_RETRIES_SENT:
        return s.dll->retries;
    case UBC_CNT_RETRIES_SERVED:
        return s.dll->retry_acks;
    case UBC_CNT_FLITS_RESENT:
        return s.dll->replayed_flits;
    case UBC_CNT_CRD_ACKS:
        return s.dll->tx_crd_acks;
    case UBC_CNT_CREDIT_STALLS:
        return s.dll->tx_blocked_credit;
    case UBC_CNT_RETRAINS:
        return s.retrains;
    case UBC_CNT_LINK_DOWNS:
        return s.link_downs;
    case UBC_CNT_DLL_ERRORS:
        return s.dll_errors;
    case UBC_CNT_PEER_ERRORS:
        return s.dll->peer_errors;
    case UBC_CNT_AMCTL_MISSED:
        return s.phy.amctl_missed;
    case UBC_CNT_LINK_BAD_RECORDS:
        return s.wire->bad_records;
    case UBC_CNT_LINK_OVERFLOWS:
        return s.wire->overflows;
    case UBC_CNT_LINK_RESTARTS:
        return s.link_restarts;
    default:
        return e->counter[counter];
    }
}

uint64_t ubc_end_counter(const UbcEnd *e, unsigned counter)
{
    return counter < UBC_CNT_NUM ? counted(e, counter) + e->base[counter] : 0;
}

void ubc_end_counter_set(UbcEnd *e, unsigned counter, uint64_t value)
{
    e->base[counter] = value - counted(e, counter);
}

/* ---- Guest memory ------------------------------------------------------------ */

static bool dma_done(Ubc *ubc, bool done)
{
    if (!done) {
        saturate(&ubc->dma_errors);
        ctl_event(ubc, UBC_EVENT_DMA_ERROR);
    }
    return done;
}

bool ubc_dma_read(Ubc *ubc, uint64_t addr, void *buf, uint32_t len)
{
    return dma_done(ubc, ubc->ops.dma_read(ubc->opaque, addr, buf, len));
}

bool ubc_dma_write(Ubc *ubc, uint64_t addr, const void *buf, uint32_t len)
{
    return dma_done(ubc, ubc->ops.dma_write(ubc->opaque, addr, buf, len));
}

/* By read and write: nobody else has the memory. */
static bool exchange_alone(Ubc *ubc, uint64_t addr, void *was, const void *now,
                           uint32_t len, bool *same)
{
    uint8_t there[8];

    if (!ubc->ops.dma_read(ubc->opaque, addr, there, len)) {
        return false;
    }
    *same = !memcmp(there, was, len);
    memcpy(was, there, len);
    return !*same || ubc->ops.dma_write(ubc->opaque, addr, now, len);
}

bool ubc_dma_exchange(Ubc *ubc, uint64_t addr, void *was, const void *now,
                      uint32_t len, bool *same)
{
    return dma_done(ubc, ubc->ops.dma_exchange
                         ? ubc->ops.dma_exchange(ubc->opaque, addr, was, now, len,
                                                 same)
                         : exchange_alone(ubc, addr, was, now, len, same));
}
