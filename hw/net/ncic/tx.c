/*
 * NCIC Ethernet engine: transmit scheduler and pipeline (ETH 4.3.1, 5.4.1)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- Scheduler: round robin over the queues that rang -------------------- */

static bool next_queue(NcicEth *e, unsigned *q)
{
    uint32_t ready = ready_queues(e);
    uint32_t above = ready & ~((1u << e->tx_next) - 1);

    if (!ready) {
        return false;
    }
    *q = __builtin_ctz(above ? above : ready);
    e->tx_next = *q + 1 < e->cfg.queues ? *q + 1 : 0;
    return true;
}

/* Fills the operation table; returns the number of descriptors requested. */
static unsigned request_descriptors(NcicEth *e, unsigned max)
{
    NcicFetch *f = &e->fetch[NCIC_TX];
    unsigned n = 0;
    unsigned q;

    while (n < max && ncic_fetch_count(f) < NCIC_FETCH_SLOTS &&
           next_queue(e, &q)) {
        if (ncic_queue_check(e, NCIC_TX, q) != NCIC_TAKE_OK) {
            /* Parked until a register of this queue is written. */
            e->tx_pending &= ~(1u << q);
            if (ncic_ring_used(&e->queue[NCIC_TX][q].desc)) {
                e->counter[NCIC_C_TX_DESC_REFUSED]++;
            }
            continue;
        }
        ncic_fetch_request(f, q);
        e->counter[NCIC_C_TX_REQ]++;
        ncic_fetch_run(f);
        n++;
    }
    return n;
}

/* ---- Pipeline -------------------------------------------------------------- */

static void complete(NcicEth *e, const NcicFetchOp *op, uint32_t status,
                     uint16_t len)
{
    uint8_t cpl[NCIC_CPL_SIZE] = { 0 };

    cpl_init(cpl, op, status, len);
    ncic_queue_complete(e, NCIC_TX, op->queue, cpl);
}

static bool csum_in_range(const uint8_t *desc, size_t len)
{
    unsigned start = desc[NCIC_DESC_CSUM_START];
    unsigned offset = desc[NCIC_DESC_CSUM_OFFSET];

    return start >= NCIC_CSUM_POS_MIN && start <= NCIC_CSUM_POS_MAX &&
           offset >= NCIC_CSUM_POS_MIN && offset <= NCIC_CSUM_POS_MAX &&
           start <= len && offset + 2u <= len;
}

/* The next-header numbers of IPv6 headers that may precede UDP and say their
 * own length: hop-by-hop options, routing, destination options. */
static bool is_ip6_option(uint8_t next)
{
    return next == 0 || next == 43 || next == 60;
}

/* Does a UDP header begin at @start?  Everything before it is in the frame. */
static bool is_udp_at(const uint8_t *frame, size_t start)
{
    uint16_t type = get_be16(frame + ETHERTYPE_OFF);
    size_t l3 = NCIC_ETH_HLEN;
    const uint8_t *ip;
    uint8_t next;

    if (type == ETHERTYPE_VLAN) {
        type = get_be16(frame + ETHERTYPE_OFF + NCIC_VLAN_HLEN);
        l3 += NCIC_VLAN_HLEN;
    }
    ip = frame + l3;
    if (type == ETHERTYPE_IPV4) {
        return start >= l3 + IP_HLEN_MIN && ip[9] == PROTO_UDP &&
               start == l3 + (ip[0] & 0xf) * 4;
    }
    if (type != ETHERTYPE_IPV6 || start < l3 + IP6_HLEN) {
        return false;
    }
    next = ip[6];
    for (l3 += IP6_HLEN; l3 < start && is_ip6_option(next);) {
        next = frame[l3];
        l3 += (frame[l3 + 1] + 1) * 8;
    }
    return l3 == start && next == PROTO_UDP;
}

static void insert_csum(NcicEth *e, const uint8_t *desc, size_t len)
{
    unsigned start = desc[NCIC_DESC_CSUM_START];
    unsigned offset = desc[NCIC_DESC_CSUM_OFFSET];
    uint16_t sum;

    if (!csum_in_range(desc, len)) {
        ncic_eth_guest_error(e, NCIC_E_CSUM, start, offset);
        return;
    }
    sum = ~core_csum(e->scratch + start, len - start);
    if (!sum && offset == start + UDP_CSUM_OFF &&
        is_udp_at(e->scratch, start)) {
        /* 0 would say "no checksum" (RFC 768), which IPv6 does not allow (RFC
         * 8200 section 8.1). */
        sum = 0xffff;
    }
    put_be16(e->scratch + offset, sum);
}

/*
 * The frame as the wire gets it: the host's memory itself when nothing must
 * change, else a copy, padded and with its checksum.  *@mapped is what must be
 * unmapped.  NULL: memory was not readable.
 */
static const uint8_t *frame_get(NcicEth *e, const NcicFetchOp *op, size_t *len,
                                const void **mapped)
{
    const uint8_t *desc = op->desc;
    size_t n = *len;

    *mapped = NULL;
    if (!desc[NCIC_DESC_CSUM_OFFSET] && n >= NCIC_ETH_MIN_FRAME &&
        e->ops->map) {
        *mapped = e->ops->map(e->opaque, desc_addr(desc), n);
        if (*mapped) {
            return *mapped;
        }
    }
    if (!e->ops->read(e->opaque, desc_addr(desc), e->scratch, n)) {
        return NULL;
    }
    if (desc[NCIC_DESC_CSUM_OFFSET]) {
        insert_csum(e, desc, n);
    }
    if (n < NCIC_ETH_MIN_FRAME) {
        memset(e->scratch + n, 0, NCIC_ETH_MIN_FRAME - n);
        *len = NCIC_ETH_MIN_FRAME;
    }
    return e->scratch;
}

/* Nothing is sent: why, and the driver is told so. */
static void refuse(NcicEth *e, const NcicFetchOp *op, unsigned counter,
                   unsigned error, uint64_t detail)
{
    uint16_t len = op->status == NCIC_FETCH_OK ? desc_length(op->desc) : 0;

    ncic_eth_drop(e, counter, len);
    ncic_eth_guest_error(e, error, op->queue, detail);
    complete(e, op, NCIC_CPL_ERROR, len);
}

static void transmit(NcicEth *e, const NcicFetchOp *op)
{
    uint32_t mtu = e->ncsr[NCIC_R_TX_MTU];
    uint16_t length = desc_length(op->desc);
    size_t len = length;
    const uint8_t *frame;
    const void *mapped;
    NcicMacResult res;

    if (!len || len > mtu + NCIC_ETH_HLEN + NCIC_VLAN_HLEN) {
        refuse(e, op, len ? NCIC_C_TX_DROP_MTU : NCIC_C_TX_DROP_LEN,
               NCIC_E_LENGTH, len);
        return;
    }
    frame = frame_get(e, op, &len, &mapped);
    if (!frame) {
        refuse(e, op, NCIC_C_TX_DROP_DMA, NCIC_E_DATA_DMA,
               desc_addr(op->desc));
        return;
    }
    res = ncic_mac_send(e, NCIC_SRC_ETH, frame, len);
    if (mapped) {
        e->ops->unmap(e->opaque, mapped, len);
    }
    if (res == NCIC_MAC_TOO_LONG) {
        /* The four bytes of tolerance are for a tag only. */
        ncic_eth_guest_error(e, NCIC_E_LENGTH, op->queue, len);
    }
    complete(e, op, res == NCIC_MAC_TOO_LONG ? NCIC_CPL_ERROR : 0, length);
}

static void process(NcicEth *e, const NcicFetchOp *op)
{
    switch (op->status) {
    case NCIC_FETCH_OK:
        transmit(e, op);
        break;
    case NCIC_FETCH_FAILED:
        refuse(e, op, NCIC_C_TX_DROP_DMA, NCIC_E_DESC_DMA, op->index);
        break;
    default:
        /* Refused or cancelled: nothing was reserved. */
        break;
    }
}

bool ncic_eth_tx_run(NcicEth *e, unsigned budget)
{
    NcicFetch *f = &e->fetch[NCIC_TX];
    unsigned sent = 0;
    NcicFetchOp *op;

    if (!ncic_eth_tx_work(e)) {
        return false;
    }
    if (!e->ops->dma_ok(e->opaque)) {
        /* ncic_eth_restart() comes when bus mastering is enabled. */
        ncic_eth_guest_error(e, NCIC_E_BUS_MASTER, e->tx_pending, 0);
        return false;
    }
    for (;;) {
        unsigned moved = request_descriptors(e, budget);

        while (!ncic_mac_full(e) && sent < budget && (op = ncic_fetch_peek(f))) {
            /* Its slot is given up first: what the frame or the completion is
             * written to may be the register that resets the engine. */
            NcicFetchOp taken = *op;

            ncic_fetch_pop(f);
            process(e, &taken);
            sent++;
            moved++;
        }
        if (ncic_mac_full(e) || !moved || sent >= budget) {
            break;
        }
    }
    if (e->roce_waits) {
        ncic_mac_next(e);
    }
    return ncic_eth_tx_work(e);
}
