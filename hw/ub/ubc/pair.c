/*
 * Ring pairs: which port and which packets each one carries.
 *
 * A port knows its pairs by two tables, a set of those that have a ring enabled
 * and whose a received packet is.  Both follow when a ring is enabled, disabled
 * or stopped, so that no packet looks for its pair.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

/* ---- What rings need --------------------------------------------------------- */

static bool ring_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    return ubc_dma_read(((UbcPair *)opaque)->ubc, addr, buf, len);
}

static bool ring_write(void *opaque, uint64_t addr, const void *buf,
                       uint32_t len)
{
    return ubc_dma_write(((UbcPair *)opaque)->ubc, addr, buf, len);
}

static void ring_error(void *opaque, const char *what)
{
    UbcPair *p = opaque;

    ubc_guest_error(p->ubc, p->port, what);
}

static void ring_interrupt(void *opaque, unsigned vector)
{
    UbcPair *p = opaque;

    p->ubc->ops.interrupt(p->ubc->opaque, vector);
}

static const UbRingOps ring_ops = {
    ring_read, ring_write, ring_error, ring_interrupt,
};

/* ---- Packets that wait for a buffer ------------------------------------------ */

void ubc_pair_hold(UbcPair *p, CorePacket *pkt)
{
    pkt->next = NULL;
    *p->held_tail = pkt;
    p->held_tail = &pkt->next;
}

static CorePacket *take_held(UbcPair *p)
{
    CorePacket *pkt = p->held;

    if (pkt) {
        p->held = pkt->next;
        if (!p->held) {
            p->held_tail = &p->held;
        }
    }
    return pkt;
}

void ubc_pair_flush(UbcPair *p)
{
    CorePacket *pkt;

    while ((pkt = take_held(p))) {
        ub_net_refuse(p->ubc->net, p->port, UB_NET_DROP_FLUSHED, pkt);
    }
}

/* ---- The port's tables -------------------------------------------------------- */

void ubc_pair_claims(UbcEnd *e)
{
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        for (unsigned cfg = 0; cfg < UBC_CFGS; cfg++) {
            e->claim[vl][cfg] = UBC_NO_PAIR;
        }
    }
    /* The first one has it: written last. */
    for (unsigned i = UBC_PAIRS; i-- > 0;) {
        const UbcPair *p = &e->ubc->pair[i];

        if (!p->rx_bound || p->port != e->index) {
            continue;
        }
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            for (unsigned cfg = 0; cfg < UBC_CFGS; cfg++) {
                if (p->vls >> vl & p->cfgs >> cfg & 1) {
                    e->claim[vl][cfg] = i;
                }
            }
        }
    }
}

void ubc_pair_settle(UbcPair *p)
{
    UbcEnd *e = &p->ubc->end[p->port];
    uint32_t *word = &e->pairs[p->index / 32];
    const uint32_t bit = 1u << p->index % 32;

    if (p->tx.enabled || p->rx.enabled) {
        *word |= bit;
    } else {
        *word &= ~bit;
        /* Nobody comes by any more for what they have done. */
        ub_ring_notify(&p->tx);
        ub_ring_notify(&p->rx);
    }
    if (!p->tx.enabled) {
        p->tx_full = false;
    }
    if (p->rx_bound == p->rx.enabled) {
        return;
    }
    p->rx_bound = p->rx.enabled;
    ubc_pair_claims(e);
    for (CorePacket *pkt; !p->rx_bound && (pkt = take_held(p));) {
        e->counter[UBC_CNT_RX_UNCLAIMED]++;
        core_packet_free(pkt);
    }
}

UbcPair *ubc_pair_claim(UbcEnd *e, const CorePacket *pkt)
{
    const UbPktMeta *m = ub_meta((CorePacket *)pkt);
    unsigned index = e->claim[m->vl % UB_VLS][m->lph_cfg % UBC_CFGS];

    return index == UBC_NO_PAIR ? NULL : &e->ubc->pair[index];
}

void ubc_pair_bind(UbcPair *p, uint32_t *reg, uint32_t value)
{
    if (p->tx.enabled || p->rx.enabled) {
        ubc_guest_error(p->ubc, p->port,
                        "ring pair bound anew while a ring is enabled");
    } else if (reg == &p->port && value >= p->ubc->ports) {
        ubc_guest_error(p->ubc, -1,
                        "ring pair bound to a port that does not exist");
    } else {
        *reg = value;
    }
}

/* ---- Life ---------------------------------------------------------------------- */

void ubc_pair_init(UbcPair *p, Ubc *ubc, unsigned index)
{
    p->ubc = ubc;
    p->index = index;
    p->held_tail = &p->held;
    ub_ring_init(&p->tx, &ring_ops, p);
    ub_ring_init(&p->rx, &ring_ops, p);
    ubc_pair_reset(p);
}

void ubc_pair_reset(UbcPair *p)
{
    ubc_pair_flush(p);
    ub_ring_reset(&p->tx);
    ub_ring_reset(&p->rx);
    ubc_pair_settle(p);
    p->port = 0;
    p->vls = (1u << UB_VLS) - 1;
    p->cfgs = ((1u << UBC_CFGS) - 1) & ~p->ubc->net_cfgs;
    p->rt = UBC_PAIR_RT_DESC;
    p->touched = false;
}
