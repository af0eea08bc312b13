/*
 * NCIC Ethernet engine: life of the engine, link
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>
#include "internal.h"

void ncic_eth_init(NcicEth *e, const NcicEthConfig *cfg,
                   const NcicEthOps *ops, void *opaque)
{
    e->cfg = *cfg;
    e->ops = ops;
    e->opaque = opaque;
    ncic_fetch_init(&e->fetch[NCIC_RX], &ncic_rx_fetch_ops, e);
    ncic_fetch_init(&e->fetch[NCIC_TX], &ncic_tx_fetch_ops, e);
    e->scratch = g_malloc(NCIC_SCRATCH_SIZE);
    e->fifo.slot_size = cfg->mtu + NCIC_ETH_HLEN + NCIC_VLAN_HLEN;
    e->ncsr[NCIC_R_LINK_STATUS] = NCIC_LINK_UP;
    ncic_regs_init(e);
    ncic_eth_reset(e);
}

void ncic_eth_fini(NcicEth *e)
{
    g_clear_pointer(&e->scratch, g_free);
    g_clear_pointer(&e->fifo.data, g_free);
}

/* tx_owed stays: the wire still owes its ncic_eth_tx_done(), and a guest that
 * could clear it would fill the backend's queue without bound. */
void ncic_eth_reset(NcicEth *e)
{
    bool was_blocked = e->rx_blocked;

    memset(e->queue, 0, sizeof(e->queue));
    memset(e->counter, 0, sizeof(e->counter));
    for (unsigned dir = 0; dir < NCIC_DIRS; dir++) {
        ncic_fetch_reset(&e->fetch[dir]);
        for (unsigned q = 0; e->ops->ring_changed && q < e->cfg.queues; q++) {
            e->ops->ring_changed(e->opaque, dir, q);
        }
    }
    e->fifo.get = e->fifo.put;
    e->tx_pending = 0;
    e->tx_next = 0;
    e->rx_blocked = 0;
    e->roce_waits = false;
    e->roce_first = false;
    e->roce_turn = false;
    e->link_irq_due = false;
    memset(e->fault, 0, sizeof(e->fault));
    ncic_regs_reset(e);
    if (was_blocked) {
        e->ops->kick_rx(e->opaque);
    }
}

void ncic_eth_restart(NcicEth *e)
{
    for (unsigned q = 0; q < e->cfg.queues; q++) {
        const NcicRing *r = &e->queue[NCIC_TX][q].desc;

        if (r->active && r->head != r->tail) {
            e->tx_pending |= 1u << q;
        }
    }
    ncic_mac_next(e);
    if (e->rx_blocked) {
        e->rx_blocked = 0;
        e->ops->kick_rx(e->opaque);
    }
    ncic_queue_announce(e);
}

void ncic_eth_set_fault(NcicEth *e, NcicFault fault, uint32_t queues)
{
    e->fault[fault] = queues;
    if (ncic_eth_tx_work(e)) {
        e->ops->kick_tx(e->opaque);
    }
}

void ncic_eth_desc_done(NcicEth *e, NcicDir dir, uint32_t tag,
                        const void *desc)
{
    if (!ncic_fetch_done(&e->fetch[dir], tag, desc)) {
        return;
    }
    e->counter[dir == NCIC_TX ? NCIC_C_TX_DESC_RSP : NCIC_C_RX_DESC_RSP]++;
    if (dir == NCIC_RX) {
        ncic_rx_drain(e);
    }
}

void ncic_eth_set_link(NcicEth *e, bool up)
{
    uint32_t now = up ? NCIC_LINK_UP : 0;

    if (e->ncsr[NCIC_R_LINK_STATUS] == now) {
        return;
    }
    e->ncsr[NCIC_R_LINK_STATUS] = now;
    ncic_eth_link_irq(e);
    ncic_mac_next(e);
}
