/*
 * The raw packet interface: packets between a port and its rings.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

/* Descriptors of a ring served before others have their turn. */
#define TX_BUDGET 64

/* ---- Receive: data link layer to guest ------------------------------------- */

/* Put a packet into the next receive buffer; false: there is none. */
static bool place(UbcEnd *e, CorePacket *pkt)
{
    Ubc *ubc = e->ubc;
    const UbRingDesc *d = ubc->master ? ub_ring_next(&e->rx) : NULL;
    uint32_t len = pkt->len;
    uint16_t status = ub_meta(pkt)->error ? UBC_DESC_ERROR : 0;

    if (!d) {
        return false;
    }
    if (len > d->len) {
        len = d->len;
        status |= UBC_DESC_TRUNCATED;
        e->counter[UBC_CNT_RX_TRUNCATED]++;
    }
    if (len && !ubc_ring_ops.write(ubc, d->addr, core_packet_data(pkt),
                                      len)) {
        status |= UBC_DESC_ERROR;
    }
    if (!ub_ring_complete(&e->rx, pkt->len, ub_meta(pkt)->lph_cfg |
                          ub_meta(pkt)->vl << UBC_DESC_VL_SHIFT, status)) {
        return false;
    }
    e->counter[UBC_CNT_RX_PACKETS]++;
    e->counter[UBC_CNT_RX_BYTES] += pkt->len;
    return true;
}

void ubc_raw_rx(UbcEnd *e, CorePacket *pkt)
{
    if (!e->held && place(e, pkt)) {
        core_packet_free(pkt);
        return;
    }
    /* Wait for a buffer: the peer's credits bound how much can wait. */
    e->counter[UBC_CNT_RX_NO_BUFFER] += !e->held;
    pkt->next = NULL;
    *e->held_tail = pkt;
    e->held_tail = &pkt->next;
}

static void place_held(UbcEnd *e)
{
    while (e->held && place(e, e->held)) {
        CorePacket *pkt = e->held;

        e->held = pkt->next;
        if (!e->held) {
            e->held_tail = &e->held;
        }
        core_packet_free(pkt);
    }
}

void ubc_raw_drop(UbcEnd *e)
{
    while (e->held) {
        CorePacket *pkt = e->held;

        e->held = pkt->next;
        core_packet_free(pkt);
    }
    e->held_tail = &e->held;
}

/* ---- Transmit: guest to data link layer ------------------------------------- */

/* The rule that a transmit descriptor breaks, or NULL. */
static const char *check_tx(const UbcEnd *e, const UbRingDesc *d)
{
    if (d->len == 0 || d->len > ub_port_mtu(e->port)) {
        return "transmit descriptor with an impossible length";
    }
    if (d->flags & ~(UBC_DESC_CFG | UBC_DESC_VL)) {
        return "transmit descriptor with reserved flags set";
    }
    return NULL;
}

typedef enum Sent { SENT, SENT_ERROR, SENT_LATER } Sent;

static Sent send_one(UbcEnd *e, const UbRingDesc *d)
{
    Ubc *ubc = e->ubc;
    const char *broken = check_tx(e, d);
    CorePacket *pkt;
    uint32_t len = d->len;
    unsigned vl = (d->flags & UBC_DESC_VL) >> UBC_DESC_VL_SHIFT;

    if (broken) {
        ubc_guest_error(ubc, e->index, broken);
        return SENT_ERROR;
    }
    if (!ub_port_dll_up(e->port)) {
        return SENT_ERROR;
    }
    if (ub_port_room(e->port, vl) == UB_PORT_FULL) {
        return SENT_LATER;
    }
    pkt = core_packet_alloc(ubc->pool, len);
    if (!pkt) {
        return SENT_LATER;
    }
    ub_meta(pkt)->lph_cfg = d->flags & UBC_DESC_CFG;
    ub_meta(pkt)->vl = vl;
    if (!ubc_ring_ops.read(ubc, d->addr, core_packet_data(pkt), len)) {
        /* §4.8.3: the receiver is told, if that is enabled. */
        memset(core_packet_data(pkt), 0, len);
        ub_meta(pkt)->error = true;
        if (!ub_port_marks_errors(e->port) ||
            ub_port_send(e->port, ubc->now, pkt) != UB_PORT_SENT) {
            core_packet_free(pkt);
        }
        return SENT_ERROR;
    }
    if (ub_port_send(e->port, ubc->now, pkt) != UB_PORT_SENT) {
        core_packet_free(pkt);
        ubc_guest_error(ubc, e->index,
                           "packet on a VL or with a CFG that the link does "
                           "not carry");
        return SENT_ERROR;
    }
    e->counter[UBC_CNT_TX_PACKETS]++;
    e->counter[UBC_CNT_TX_BYTES] += len;
    return SENT;
}

/* True: the budget ran out, there is more. */
static bool serve_tx(UbcEnd *e)
{
    const UbRingDesc *d;

    for (unsigned n = 0; e->ubc->master && !e->tx_full; n++) {
        Sent sent;

        d = ub_ring_next(&e->tx);
        if (!d) {
            return false;
        }
        if (n == TX_BUDGET) {
            return true;
        }
        sent = send_one(e, d);
        if (sent == SENT_LATER) {
            e->tx_full = true;
            return false;
        }
        e->counter[UBC_CNT_TX_ERRORS] += sent == SENT_ERROR;
        if (!ub_ring_complete(&e->tx, d->len, d->flags,
                              sent == SENT_ERROR ? UBC_DESC_ERROR : 0)) {
            return false;
        }
    }
    return false;
}

/* ---- Turns ------------------------------------------------------------------- */

bool ubc_raw_serve(UbcEnd *e)
{
    place_held(e);
    return serve_tx(e);
}

void ubc_raw_finish(UbcEnd *e)
{
    place_held(e);
    ub_ring_notify(&e->tx);
    ub_ring_notify(&e->rx);
}

/* ---- Life ---------------------------------------------------------------------- */

void ubc_raw_init(UbcEnd *e)
{
    e->held_tail = &e->held;
    ub_ring_init(&e->tx, &ubc_ring_ops, e->ubc, UBC_VECTOR_TX(e->index));
    ub_ring_init(&e->rx, &ubc_ring_ops, e->ubc, UBC_VECTOR_RX(e->index));
}

void ubc_raw_reset(UbcEnd *e)
{
    ubc_raw_drop(e);
    ub_ring_reset(&e->tx);
    ub_ring_reset(&e->rx);
    e->tx_full = false;
}
