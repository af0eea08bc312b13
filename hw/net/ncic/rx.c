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

/* The frame meets its descriptor; @op is the oldest of the table. */
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
        unsigned i = f->get % NCIC_RX_FIFO_SLOTS;

        deliver(e, op, fifo_slot(f, f->get), f->len[i], &f->meta[i]);
        ncic_fetch_pop(t);
        f->get++;
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

static NcicRxResult rx_roce(NcicEth *e, const uint8_t *frame, size_t len)
{
    NcicRoceDesc d;

    if (!ncic_roce_check(frame, len, e->cfg.roce_csum, &d)) {
        ncic_eth_rx_drop(e, NCIC_C_RX_DROP_ROCE, len);
    } else if (e->roce->rx(e->roce_opaque, &d, frame + NCIC_ROCE_HEADROOM)) {
        e->counter[NCIC_C_ROCE_RX]++;
    } else {
        return hold(e, NCIC_BLOCKED_ROCE);
    }
    e->counter[NCIC_C_MAC_RX]++;
    return NCIC_RX_TAKEN;
}

static NcicRxResult rx_dropped(NcicEth *e, unsigned counter, size_t len)
{
    e->counter[NCIC_C_MAC_RX]++;
    ncic_eth_rx_drop(e, counter, len);
    return NCIC_RX_TAKEN;
}

NcicRxResult ncic_eth_rx(NcicEth *e, const uint8_t *frame, size_t len)
{
    NcicFetch *t = &e->fetch[NCIC_RX];
    NcicRxFifo *f = &e->fifo;
    NcicFetchOp *op;
    NcicRxMeta m;

    if (len < NCIC_ETH_HLEN) {
        return rx_dropped(e, NCIC_C_RX_DROP_RUNT, len);
    }
    if (e->roce && e->roce->frame && e->roce->frame(e->roce_opaque, frame,
                                                    len)) {
        e->counter[NCIC_C_ROCE_RX]++;
        e->counter[NCIC_C_MAC_RX]++;
        return NCIC_RX_TAKEN;
    }
    if (len > frame_limit(e->ncsr[NCIC_R_RX_MTU], frame, len)) {
        return rx_dropped(e, NCIC_C_RX_DROP_MTU, len);
    }
    if (e->roce && !e->roce->frame && ncic_roce_match(frame, len)) {
        return rx_roce(e, frame, len);
    }

    ncic_rx_parse(e, frame, len, &m);
    switch (ncic_queue_check(e, NCIC_RX, m.queue)) {
    case NCIC_TAKE_OK:
        break;
    case NCIC_TAKE_INACTIVE:
        e->counter[NCIC_C_RX_FRAMES]++;
        e->counter[NCIC_C_RX_ERR]++;
        return rx_dropped(e, NCIC_C_RX_DROP_INACTIVE, len);
    default:
        e->counter[NCIC_C_RX_DESC_REFUSED]++;
        return hold(e, m.queue);
    }
    if (!e->ops->dma_ok(e->opaque)) {
        ncic_eth_guest_error(e, NCIC_E_BUS_MASTER, m.queue, len);
        return hold(e, NCIC_BLOCKED_DMA);
    }
    if (f->put - f->get == NCIC_RX_FIFO_SLOTS ||
        ncic_fetch_count(t) == NCIC_FETCH_SLOTS) {
        return hold(e, NCIC_BLOCKED_FIFO);
    }

    e->counter[NCIC_C_MAC_RX]++;
    e->counter[NCIC_C_RX_FRAMES]++;
    if (f->put != f->get) {
        /* Others wait in front: keep the order of arrival. */
        fifo_push(f, frame, len, &m);
        ncic_fetch_request(t, m.queue);
        ncic_fetch_run(t);
        return NCIC_RX_TAKEN;
    }
    ncic_fetch_request(t, m.queue);
    ncic_fetch_run(t);
    op = ncic_fetch_peek(t);
    if (op) {
        deliver(e, op, frame, len, &m);
        ncic_fetch_pop(t);
    } else {
        fifo_push(f, frame, len, &m);
    }
    return NCIC_RX_TAKEN;
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
