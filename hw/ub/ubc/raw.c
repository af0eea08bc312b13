/*
 * The raw packet interface: packets between a port and its ring pairs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"
#include "ub/mgmt_net.h"

/* Descriptors of a ring served before others have their turn. */
#define TX_BUDGET 64

static UbcEnd *end_of(const UbcPair *p)
{
    return &p->ubc->end[p->port];
}

/* ---- Receive: data link layer to guest ------------------------------------- */

/* Put a packet into the next receive buffer; false: there is none. */
static bool place(UbcPair *p, CorePacket *pkt)
{
    const UbPktMeta *m = ub_meta(pkt);
    const UbRingDesc *d = p->ubc->master ? ub_ring_next(&p->rx) : NULL;
    UbcEnd *e = end_of(p);
    uint32_t len = pkt->len;
    uint16_t status = m->error ? UBC_DESC_ERROR : 0;

    if (!d) {
        return false;
    }
    if (len > d->len) {
        len = d->len;
        status |= UBC_DESC_TRUNCATED;
        e->counter[UBC_CNT_RX_TRUNCATED]++;
    }
    if (len && !ubc_dma_write(p->ubc, d->addr, core_packet_data(pkt), len)) {
        status |= UBC_DESC_ERROR;
    }
    if (!ub_ring_complete(&p->rx, pkt->len, m->lph_cfg |
                          m->vl << UBC_DESC_VL_SHIFT |
                          m->rt << UBC_DESC_RT_SHIFT, status)) {
        return false;
    }
    e->counter[UBC_CNT_RX_PACKETS]++;
    e->counter[UBC_CNT_RX_BYTES] += pkt->len;
    return true;
}

/* Whether software may see it.  NPIC ends here (UB 2.0 §F.2.5). */
static bool guarded(UbcEnd *e, CorePacket *pkt)
{
    return (e->ubc->conf.guard ? ub_net_guard_rx(e->ubc->net, e->index, pkt)
                               : !ub_net_npic_rx(e->ubc->net, e->index, pkt)) &&
           ub_net_border_rx(e->ubc->net, e->index, pkt);
}

void ubc_raw_rx(UbcEnd *e, CorePacket *pkt)
{
    UbcPair *p;

    if (ub_net_ip_is_ours(e->ubc->net, pkt)) {
        ubc_net_rx(e, pkt); /* the engine has given itself the address */
        return;
    }
    if (!e->ubc->conf.forward && !guarded(e, pkt)) {
        return;
    }
    ub_net_copy_ecn(e->ubc->net, false, pkt);
    while ((p = ubc_pair_claim(e, pkt))) {
        if (!p->held && place(p, pkt)) {
            core_packet_free(pkt);
            return;
        }
        if (p->rx.enabled) {
            /* For a buffer: the peer's credits bound how much can wait. */
            e->counter[UBC_CNT_RX_NO_BUFFER] += !p->held;
            ubc_pair_hold(p, pkt);
            return;
        }
        ubc_pair_settle(p); /* it stopped: the next one may have it */
    }
    if (e->ubc->net_rest >> ub_meta(pkt)->lph_cfg & 1) {
        ubc_net_rx(e, pkt);
        return;
    }
    e->counter[UBC_CNT_RX_UNCLAIMED]++;
    core_packet_free(pkt);
}

static void place_held(UbcPair *p)
{
    while (p->held && place(p, p->held)) {
        CorePacket *pkt = p->held;

        p->held = pkt->next;
        if (!p->held) {
            p->held_tail = &p->held;
        }
        core_packet_free(pkt);
    }
}

void ubc_raw_drop(UbcEnd *e)
{
    UbcPair *p;

    UBC_FOR_PAIRS(e, p) {
        ubc_pair_flush(p);
    }
}

/* ---- Transmit: guest to data link layer ------------------------------------- */

/* The rule that a transmit descriptor breaks, or NULL. */
static const char *check_tx(const UbcPair *p, const UbRingDesc *d)
{
    unsigned vl = (d->flags & UBC_DESC_VL) >> UBC_DESC_VL_SHIFT;

    if (d->len == 0 || d->len > ub_port_mtu(end_of(p)->port)) {
        return "transmit descriptor with an impossible length";
    }
    if (d->flags & ~(UBC_DESC_CFG | UBC_DESC_VL | UBC_DESC_RT)) {
        return "transmit descriptor with reserved flags set";
    }
    if (!(p->vls >> vl & p->cfgs >> (d->flags & UBC_DESC_CFG) & 1)) {
        return "packet on a VL or with a CFG that its ring pair does not carry";
    }
    return NULL;
}

/* Only the manager's packets have Mgmt, or the partition of the UBFM. */
static bool is_manager(CorePacket *pkt)
{
    const uint8_t *p = core_packet_data(pkt);
    UbMgmtAddr a = { 0 };
    UbNth nth;

    if (ubc_partition_is_manager(pkt)) {
        return true;
    }
    if (ub_meta(pkt)->lph_cfg != UB_LPH_CNA16 || pkt->len < UB_NTH16_SIZE) {
        return false;
    }
    ub_nth16_get(p, &nth);
    if (pkt->len >= UB_NTH16_SIZE + UB_MGMT_MESSAGE_HEAD) {
        ub_mgmt_head_get(p + UB_NTH16_SIZE, nth.nlp == UB_NLP_SCAN
                         ? UB_MGMT_KIND_SCAN : UB_MGMT_KIND_MESSAGE, &a);
    }
    return nth.mgmt || a.upi == UB_MGMT_UPI;
}

typedef enum Sent { SENT, SENT_ERROR, SENT_LATER } Sent;

static Sent send_one(UbcPair *p, const UbRingDesc *d)
{
    Ubc *ubc = p->ubc;
    UbcEnd *e = end_of(p);
    const char *broken = check_tx(p, d);
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
    p->tx_vl = vl;
    if (ub_port_room(e->port, vl) == UB_PORT_FULL) {
        return SENT_LATER;
    }
    pkt = core_packet_alloc(ubc->pool, len);
    if (!pkt) {
        return SENT_LATER;
    }
    ub_meta(pkt)->lph_cfg = d->flags & UBC_DESC_CFG;
    ub_meta(pkt)->vl = vl;
    ub_meta(pkt)->rt = p->rt & UBC_PAIR_RT_DESC
                           ? (d->flags & UBC_DESC_RT) >> UBC_DESC_RT_SHIFT
                           : p->rt;
    if (!ubc_dma_read(ubc, d->addr, core_packet_data(pkt), len)) {
        /* §4.8.3: the receiver is told, if that is enabled. */
        memset(core_packet_data(pkt), 0, len);
        ub_meta(pkt)->error = true;
        if (!ub_port_marks_errors(e->port) ||
            ub_port_send(e->port, ubc->now, pkt) != UB_PORT_SENT) {
            core_packet_free(pkt);
        }
        return SENT_ERROR;
    }
    if (!ubc->conf.manager && is_manager(pkt)) {
        core_packet_free(pkt);
        ubc_guest_error(ubc, e->index,
                        "a packet of the UBFM, which the guest is not");
        return SENT_ERROR;
    }
    ub_net_copy_ecn(ubc->net, true, pkt);
    if (ubc->conf.guard) {
        ubc_net_follow(ubc); /* the addresses may have changed */
        broken = ub_net_guard_tx(ubc->net, e->index, pkt);
    }
    if (broken) {
        ubc_guest_error(ubc, e->index, broken);
        return SENT_ERROR;
    }
    broken = ubc_partition_tx(ubc, pkt);
    if (broken) {
        ub_net_refuse(ubc->net, e->index, UB_NET_DROP_SPOOF, pkt);
        ubc_guest_error(ubc, e->index, broken);
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
static bool serve_tx(UbcPair *p)
{
    const UbRingDesc *d;

    for (unsigned n = 0; p->ubc->master && !p->tx_full; n++) {
        Sent sent;

        d = ub_ring_next(&p->tx);
        if (!d) {
            return false;
        }
        if (n == TX_BUDGET) {
            return true;
        }
        sent = send_one(p, d);
        if (sent == SENT_LATER) {
            p->tx_full = true;
            return false;
        }
        end_of(p)->counter[UBC_CNT_TX_ERRORS] += sent == SENT_ERROR;
        if (!ub_ring_complete(&p->tx, d->len, d->flags,
                              sent == SENT_ERROR ? UBC_DESC_ERROR : 0)) {
            return false;
        }
    }
    return false;
}

void ubc_raw_room(UbcEnd *e, unsigned vl)
{
    UbcPair *p;

    UBC_FOR_PAIRS(e, p) {
        p->tx_full &= p->tx_vl != vl;
    }
}

void ubc_raw_down(UbcEnd *e)
{
    UbcPair *p;

    UBC_FOR_PAIRS(e, p) {
        p->tx_full = false;
    }
}

/* ---- Turns ------------------------------------------------------------------- */

bool ubc_raw_serve(UbcEnd *e)
{
    bool more = false;
    UbcPair *p;

    UBC_FOR_PAIRS(e, p) {
        place_held(p);
        more |= serve_tx(p);
        ubc_pair_settle(p);
    }
    return more;
}

void ubc_raw_finish(UbcEnd *e)
{
    UbcPair *p;

    UBC_FOR_PAIRS(e, p) {
        place_held(p);
        ub_ring_notify(&p->tx);
        ub_ring_notify(&p->rx);
        ubc_pair_settle(p);
    }
}
