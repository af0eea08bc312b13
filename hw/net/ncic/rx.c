/*
 * NCIC Ethernet engine: receive pipeline (ETH 5.4.2)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include "internal.h"

/* ---- Hash, checksum, VLAN -------------------------------------------------- */

static void parse_ipv4(NcicRxMeta *m, const uint8_t *ip, size_t len)
{
    size_t ihl, total;
    uint8_t proto;

    m->status |= NCIC_CPL_IPV4;
    /* Of a broken header nothing can be verified: not 0, "all good". */
    m->csum = 0xffff;
    if (len < IP_HLEN_MIN) {
        return;
    }
    ihl = (ip[0] & 0xf) * 4;
    total = get_be16(ip + 2);
    proto = ip[9];
    m->hash = ncic_rss_ipv4(ip + 12);
    if (ihl < IP_HLEN_MIN || ihl > len) {
        return;
    }
    /* The unit sums the IP header, a pseudo-header and all that follows; each
     * intact part comes to ffff, so 0 remains when header and layer 4 are both
     * good. */
    m->csum = ~core_csum_join(core_csum(ip, len),
                             core_csum_pseudo4(ip, proto, total - ihl));
    if (proto != PROTO_TCP && proto != PROTO_UDP) {
        return;
    }
    if (ihl == IP_HLEN_MIN && len >= IP_HLEN_MIN + 4) {
        m->hash ^= ncic_rss_ports(ip + IP_HLEN_MIN);
    }
    if (proto == PROTO_TCP) {
        m->status |= NCIC_CPL_TCP | (m->csum ? NCIC_CPL_TCP_BAD : 0);
    } else {
        m->status |= NCIC_CPL_UDP | (m->csum ? NCIC_CPL_UDP_BAD : 0);
    }
}

void ncic_rx_parse(const NcicEth *e, const uint8_t *frame, size_t len,
                   NcicRxMeta *m)
{
    size_t l3 = NCIC_ETH_HLEN;
    uint16_t type = get_be16(frame + ETHERTYPE_OFF);

    memset(m, 0, sizeof(*m));
    if (type == ETHERTYPE_VLAN && len >= NCIC_ETH_HLEN + NCIC_VLAN_HLEN) {
        m->status |= NCIC_CPL_VLAN;
        m->vlan_tci = get_be16(frame + ETHERTYPE_OFF + 2);
        m->strip = NCIC_VLAN_HLEN;
        type = get_be16(frame + ETHERTYPE_OFF + NCIC_VLAN_HLEN);
        l3 += NCIC_VLAN_HLEN;
    }
    if (type == ETHERTYPE_IPV4) {
        parse_ipv4(m, frame + l3, len - l3);
    }
    m->queue = (m->hash & e->ncsr[NCIC_R_RSS_MASK] & (NCIC_QUEUES_MAX - 1)) %
               e->cfg.queues;
}

/* ---- Delivery --------------------------------------------------------------- */

static bool write_frame(NcicEth *e, uint64_t addr, const uint8_t *frame,
                        size_t n, unsigned strip)
{
    size_t head = n < ETHERTYPE_OFF ? n : ETHERTYPE_OFF;

    if (!strip) {
        return e->ops->write(e->opaque, addr, frame, n);
    }
    return e->ops->write(e->opaque, addr, frame, head) &&
           e->ops->write(e->opaque, addr + head, frame + head + strip,
                         n - head);
}

/* The frame meets its descriptor. */
static void deliver(NcicEth *e, const NcicFetchOp *op, const uint8_t *frame,
                    size_t len, const NcicRxMeta *m)
{
    uint8_t cpl[NCIC_CPL_SIZE] = { 0 };
    uint32_t status = m->status;
    size_t n = len - m->strip;
    uint16_t room = desc_length(op->desc);

    if (op->status == NCIC_FETCH_REFUSED) {
        /* The queue went away meanwhile. */
        e->counter[NCIC_C_RX_ERR]++;
        ncic_eth_rx_drop(e, NCIC_C_RX_DROP_INACTIVE, len);
        return;
    }
    if (op->status == NCIC_FETCH_FAILED) {
        ncic_eth_guest_error(e, NCIC_E_DESC_DMA, op->queue, op->index);
        ncic_eth_rx_drop(e, NCIC_C_RX_DROP_DMA, len);
        status |= NCIC_CPL_ERROR;
        n = 0;
    } else {
        e->counter[NCIC_C_RX_DESC]++;
        if (room && room < n) {
            e->counter[NCIC_C_RX_TRUNCATED]++;
            status |= NCIC_CPL_ERROR;
            n = room;
        }
        if (write_frame(e, desc_addr(op->desc), frame, n, m->strip)) {
            e->counter[NCIC_C_MAC_DMA]++;
        } else {
            ncic_eth_guest_error(e, NCIC_E_DATA_DMA, op->queue,
                                 desc_addr(op->desc));
            ncic_eth_rx_drop(e, NCIC_C_RX_DROP_DMA, len);
            status |= NCIC_CPL_ERROR;
            n = 0;
        }
    }
    cpl_init(cpl, op, status, n);
    put_le32(cpl + NCIC_CPL_HASH, m->hash);
    put_le16(cpl + NCIC_CPL_CSUM, m->csum);
    put_le16(cpl + NCIC_CPL_VLAN_TCI, m->vlan_tci);
    ncic_queue_complete(e, NCIC_RX, op->queue, cpl);
}

/* @op is the oldest of the table.  Its slot is given up first: the buffer or the
 * completion may lie where a write resets the engine. */
static void deliver_next(NcicEth *e, const NcicFetchOp *op,
                         const uint8_t *frame, size_t len,
                         const NcicRxMeta *m)
{
    NcicFetchOp taken = *op;

    ncic_fetch_pop(&e->fetch[NCIC_RX]);
    deliver(e, &taken, frame, len, m);
}

/* ---- Frames that wait for their descriptor ---------------------------------- */

static uint8_t *fifo_slot(NcicRxFifo *f, uint32_t n)
{
    return f->data + (size_t)(n % NCIC_RX_FIFO_SLOTS) * f->slot_size;
}

static void fifo_push(NcicRxFifo *f, const uint8_t *frame, size_t len,
                      const NcicRxMeta *m)
{
    unsigned i = f->put % NCIC_RX_FIFO_SLOTS;

    if (!f->data) {
        f->data = g_malloc((size_t)NCIC_RX_FIFO_SLOTS * f->slot_size);
    }
    memcpy(fifo_slot(f, f->put), frame, len);
    f->len[i] = len;
    f->meta[i] = *m;
    f->put++;
}

void ncic_rx_drain(NcicEth *e)
{
    NcicFetch *t = &e->fetch[NCIC_RX];
    NcicRxFifo *f = &e->fifo;
    bool moved = false;
    NcicFetchOp *op;

    while (f->get != f->put && (op = ncic_fetch_peek(t))) {
        uint32_t n = f->get++;
        unsigned i = n % NCIC_RX_FIFO_SLOTS;

        deliver_next(e, op, fifo_slot(f, n), f->len[i], &f->meta[i]);
        moved = true;
    }
    if (moved && e->rx_blocked && e->rx_blocked_queue == NCIC_BLOCKED_FIFO) {
        ncic_eth_rx_retry(e);
    }
}

/* ---- From the wire ----------------------------------------------------------- */

static NcicRxResult hold(NcicEth *e, uint32_t why)
{
    e->counter[NCIC_C_RX_HELD]++;
    e->rx_blocked = 1;
    e->rx_blocked_queue = why;
    return NCIC_RX_HELD;
}

static NcicRxResult rx_dropped(NcicEth *e, unsigned counter, size_t len)
{
    e->counter[NCIC_C_MAC_RX]++;
    ncic_eth_rx_drop(e, counter, len);
    return NCIC_RX_TAKEN;
}

/* A frame that needs memory, while there is none to be had. */
static bool dma_missing(NcicEth *e, unsigned queue, size_t len)
{
    if (e->ops->dma_ok(e->opaque)) {
        return false;
    }
    ncic_eth_guest_error(e, NCIC_E_BUS_MASTER, queue, len);
    return true;
}

static NcicRxResult rx_roce(NcicEth *e, const uint8_t *frame, size_t len)
{
    if (!ncic_roce_check(frame, len, e->cfg.roce_csum)) {
        return rx_dropped(e, NCIC_C_RX_DROP_ROCE, len);
    }
    if (dma_missing(e, NCIC_BLOCKED_DMA, len)) {
        return hold(e, NCIC_BLOCKED_DMA);
    }
    if (!e->roce->frame(e->roce_opaque, frame, len)) {
        return rx_dropped(e, NCIC_C_RX_DROP_ROCE, len);
    }
    e->counter[NCIC_C_ROCE_RX]++;
    e->counter[NCIC_C_MAC_RX]++;
    return NCIC_RX_TAKEN;
}

/* The queue gives no descriptor: the document drops, we can wait. */
static NcicRxResult rx_refused(NcicEth *e, NcicTake why, unsigned q,
                               size_t len)
{
    if (why != NCIC_TAKE_INACTIVE && !(e->cfg.rx_drop >> q & 1)) {
        e->counter[NCIC_C_RX_DESC_REFUSED]++;
        return hold(e, q);
    }
    e->counter[NCIC_C_RX_FRAMES]++;
    e->counter[NCIC_C_RX_ERR]++;
    return rx_dropped(e, why == NCIC_TAKE_INACTIVE ? NCIC_C_RX_DROP_INACTIVE
                                                   : NCIC_C_RX_DROP_FULL, len);
}

static NcicRxResult rx_ethernet(NcicEth *e, const uint8_t *frame, size_t len)
{
    NcicFetch *t = &e->fetch[NCIC_RX];
    NcicRxFifo *f = &e->fifo;
    NcicFetchOp *op;
    NcicTake take;
    NcicRxMeta m;

    ncic_rx_parse(e, frame, len, &m);
    take = ncic_queue_check(e, NCIC_RX, m.queue);
    if (take != NCIC_TAKE_OK) {
        return rx_refused(e, take, m.queue, len);
    }
    if (dma_missing(e, m.queue, len)) {
        return hold(e, NCIC_BLOCKED_DMA);
    }
    if (f->put - f->get == NCIC_RX_FIFO_SLOTS ||
        ncic_fetch_count(t) == NCIC_FETCH_SLOTS) {
        return hold(e, NCIC_BLOCKED_FIFO);
    }

    e->counter[NCIC_C_MAC_RX]++;
    e->counter[NCIC_C_RX_FRAMES]++;
    ncic_fetch_request(t, m.queue);
    ncic_fetch_run(t);
    /* If others wait in front, the oldest descriptor is theirs and has not come:
     * the order of arrival is kept. */
    op = ncic_fetch_peek(t);
    if (op) {
        deliver_next(e, op, frame, len, &m);
    } else {
        fifo_push(f, frame, len, &m);
    }
    return NCIC_RX_TAKEN;
}

NcicRxResult ncic_eth_rx(NcicEth *e, const uint8_t *frame, size_t len)
{
    NcicRxResult res;

    if (len < NCIC_ETH_HLEN) {
        return rx_dropped(e, NCIC_C_RX_DROP_RUNT, len);
    }
    if (len > frame_limit(e->ncsr[NCIC_R_RX_MTU], frame, len)) {
        return rx_dropped(e, NCIC_C_RX_DROP_MTU, len);
    }
    if (e->roce && ncic_roce_match(frame, len, e->cfg.roce_dest_only)) {
        return rx_roce(e, frame, len);
    }
    res = rx_ethernet(e, frame, len);
    if (res == NCIC_RX_TAKEN && e->roce &&
        get_be16(frame + ETHERTYPE_OFF) == ETHERTYPE_ARP) {
        e->roce->arp(e->roce_opaque, frame, len);
    }
    return res;
}

void ncic_eth_rx_retry(NcicEth *e)
{
    NcicTake take;

    if (!e->rx_blocked) {
        return;
    }
    if (e->rx_blocked_queue < e->cfg.queues) {
        take = ncic_queue_check(e, NCIC_RX, e->rx_blocked_queue);
        if (take != NCIC_TAKE_OK && take != NCIC_TAKE_INACTIVE) {
            return;
        }
    } else if (e->rx_blocked_queue != NCIC_BLOCKED_FIFO) {
        return;
    }
    e->rx_blocked = 0;
    e->ops->kick_rx(e->opaque);
}
