/*
 * NCIC Ethernet engine: life of the engine, errors, interrupts, link
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>
#include "internal.h"

#define TEXT(id, bit, text) [bit] = text,
static const char *const error_text[] = { NCIC_GUEST_ERRORS(TEXT) };

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
    e->rx_blocked_queue = 0;
    e->ip_id = 0;
    memset(e->fault, 0, sizeof(e->fault));
    ncic_regs_reset(e);
    if (was_blocked) {
        e->ops->kick_rx(e->opaque);
    }
}

static bool ring_valid(const NcicRing *r)
{
    return r->log_size <= NCIC_Q_LOG_SIZE_MAX && r->active <= 1 &&
           r->head <= NCIC_Q_INDEX_MASK && r->tail <= NCIC_Q_INDEX_MASK;
}

bool ncic_eth_restored(NcicEth *e)
{
    for (unsigned dir = 0; dir < NCIC_DIRS; dir++) {
        NcicFetch *f = &e->fetch[dir];

        if (!ncic_fetch_valid(f)) {
            return false;
        }
        for (unsigned i = 0; i < NCIC_FETCH_SLOTS; i++) {
            if (f->op[i].queue >= e->cfg.queues) {
                return false;
            }
            /* No read of the source is under way here. */
            if (f->op[i].status == NCIC_FETCH_WAIT ||
                f->op[i].status > NCIC_FETCH_FAILED) {
                f->op[i].status = NCIC_FETCH_FAILED;
            }
        }
        f->read = f->dma = f->start;
        for (unsigned q = 0; q < NCIC_QUEUES_MAX; q++) {
            const NcicQueue *k = &e->queue[dir][q];

            if (!ring_valid(&k->desc) || !ring_valid(&k->cpl) ||
                k->cpl_reserved > NCIC_Q_INDEX_MASK) {
                return false;
            }
        }
    }
    if (e->tx_next >= e->cfg.queues) {
        return false;
    }
    if (e->cfg.queues < 32) {
        e->tx_pending &= (1u << e->cfg.queues) - 1;
    }
    return true;
}

void ncic_eth_restart(NcicEth *e)
{
    /* tx_busy stays: the wire still owes its ncic_eth_tx_resume(), and a guest
     * that could clear it would fill the backend's queue without bound. */
    for (unsigned q = 0; q < e->cfg.queues; q++) {
        const NcicRing *r = &e->queue[NCIC_TX][q].desc;

        if (r->active && r->head != r->tail) {
            e->tx_pending |= 1u << q;
        }
    }
    if (ncic_eth_tx_work(e)) {
        e->ops->kick_tx(e->opaque);
    }
    if (e->rx_blocked) {
        e->rx_blocked = 0;
        e->ops->kick_rx(e->opaque);
    }
}

void ncic_eth_set_fault(NcicEth *e, NcicFault fault, uint32_t queues)
{
    e->fault[fault] = queues;
    if (ncic_eth_tx_work(e)) {
        e->ops->kick_tx(e->opaque);
    }
}

void ncic_eth_guest_error(NcicEth *e, unsigned error, uint64_t a, uint64_t b)
{
    e->ncsr[NCIC_R_ERR_STATUS] |= 1u << error;
    e->counter[NCIC_C_GUEST_ERR]++;
    e->ops->guest_error(e->opaque, error, error_text[error], a, b);
}

void ncic_eth_rx_drop(NcicEth *e, unsigned counter, size_t len)
{
    e->counter[counter]++;
    e->counter[NCIC_C_MAC_DROP]++;
    if (e->ops->dropped) {
        e->ops->dropped(e->opaque, counter, len);
    }
}

bool ncic_eth_msix(NcicEth *e, unsigned vector)
{
    if (!(e->ncsr[NCIC_R_MSIX_ENABLE] & 1)) {
        return false;
    }
    if (vector >= e->cfg.vectors) {
        ncic_eth_guest_error(e, NCIC_E_INDEX, vector, e->cfg.vectors);
        return false;
    }
    e->ops->msix(e->opaque, vector);
    return true;
}

void ncic_eth_set_link(NcicEth *e, bool up)
{
    uint32_t now = up ? NCIC_LINK_UP : 0;
    uint32_t irq = e->ncsr[NCIC_R_LINK_IRQ];

    if (e->ncsr[NCIC_R_LINK_STATUS] == now) {
        return;
    }
    e->ncsr[NCIC_R_LINK_STATUS] = now;
    if (irq & NCIC_LINK_IRQ_ENABLE) {
        ncic_eth_msix(e, irq & NCIC_Q_INDEX_MASK);
    }
    if (ncic_eth_tx_work(e)) {
        e->ops->kick_tx(e->opaque);
    }
}
