/*
 * NCIC Ethernet engine: the one way to the wire, for both engines of the
 * function (ETH 5.4.1, 5.4.3)
 *
 * The wire may keep a frame that it cannot send yet and say so; then nobody
 * sends until it has given back all it owes.  Whoever was not first then has
 * its turn first.  What it keeps is left to it, by a reset too: half of a frame
 * may be on its way.  Without a link nobody waits, for nothing is sent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Frames that the wire may owe before the RDMA engine's are dropped: it sends
 * the rest of a batch, and answers to ARP, while it waits. */
#define OWED_MAX 256

bool ncic_mac_full(const NcicEth *e)
{
    return e->tx_owed && e->ncsr[NCIC_R_LINK_STATUS] & NCIC_LINK_UP;
}

bool ncic_eth_tx_work(const NcicEth *e)
{
    return e->ncsr[NCIC_R_TX_START] && !ncic_mac_full(e) && !e->roce_turn &&
           (ready_queues(e) ||
            ncic_fetch_peek((NcicFetch *)&e->fetch[NCIC_TX]));
}

NcicMacResult ncic_mac_send(NcicEth *e, NcicSource src, const uint8_t *frame,
                            size_t len)
{
    static const uint8_t sent[] = { NCIC_C_TX_FRAMES, NCIC_C_ROCE_TX };

    if (len > frame_limit(e->ncsr[NCIC_R_TX_MTU], frame, len)) {
        ncic_eth_drop(e, NCIC_C_TX_DROP_MTU, len);
        return NCIC_MAC_TOO_LONG;
    }
    if (!(e->ncsr[NCIC_R_LINK_STATUS] & NCIC_LINK_UP)) {
        ncic_eth_drop(e, NCIC_C_TX_DROP_LINK, len);
        return NCIC_MAC_LINK_DOWN;
    }
    if (e->ops->tx(e->opaque, src, frame, len)) {
        e->counter[sent[src]]++;
    } else {
        e->tx_owed++;
    }
    return NCIC_MAC_TAKEN;
}

static void roce_start(NcicEth *e)
{
    e->roce_waits = false;
    e->roce_turn = true;
    e->roce_first = false;
    e->roce->tx_ready(e->roce_opaque);
}

void ncic_mac_next(NcicEth *e)
{
    bool eth = ncic_eth_tx_work(e);

    if (ncic_mac_full(e) || e->roce_turn) {
        return;
    }
    if (e->roce && e->roce_waits && (e->roce_first || !eth)) {
        roce_start(e);
    } else if (eth) {
        e->roce_first = true;
        e->ops->kick_tx(e->opaque);
    }
}

void ncic_eth_tx_done(NcicEth *e, NcicSource src, bool sent)
{
    static const uint8_t counter[] = { NCIC_C_TX_FRAMES, NCIC_C_ROCE_TX };

    if (!e->tx_owed) {
        return;
    }
    e->tx_owed--;
    if (sent) {
        e->counter[counter[src]]++;
    } else {
        ncic_eth_drop(e, e->ncsr[NCIC_R_LINK_STATUS] & NCIC_LINK_UP
                         ? NCIC_C_TX_DROP_WIRE : NCIC_C_TX_DROP_LINK, 0);
    }
    ncic_mac_next(e);
}

/* ---- The RDMA engine's side ---------------------------------------------------- */

bool ncic_roce_tx(NcicEth *e, const uint8_t *frame, size_t len)
{
    uint8_t padded[NCIC_ETH_MIN_FRAME] = { 0 };
    NcicMacResult res;

    if (ncic_mac_full(e) && e->tx_owed >= OWED_MAX) {
        ncic_eth_drop(e, NCIC_C_TX_DROP_WIRE, len);
        return true;
    }
    if (len < sizeof(padded)) {
        memcpy(padded, frame, len);
        frame = padded;
        len = sizeof(padded);
    }
    res = ncic_mac_send(e, NCIC_SRC_ROCE, frame, len);
    e->roce_waits |= ncic_mac_full(e);
    return res != NCIC_MAC_LINK_DOWN;
}

bool ncic_roce_waits(const NcicEth *e)
{
    return e->roce_waits;
}

void ncic_roce_turn_over(NcicEth *e)
{
    if (e->roce_turn) {
        e->roce_turn = false;
        ncic_mac_next(e);
    }
}
