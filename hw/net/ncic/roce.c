/*
 * NCIC Ethernet engine: RoCE arbiter and framing (ETH 5.4.3 - 5.4.5)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define IP_OFF        NCIC_ETH_HLEN
#define IP_HLEN       20
#define UDP_OFF       (IP_OFF + IP_HLEN)
#define UDP_HLEN      8
#define IP_TTL        64
#define IP_PROTO_UDP  17
#define IP_V4_IHL5    0x45

/* ---- Table 5-4: the descriptor in front of a payload ------------------------ */

/* MAC addresses are 48-bit integers there, least significant byte first. */
static void mac_reverse(uint8_t *to, const uint8_t *from)
{
    for (unsigned i = 0; i < 6; i++) {
        to[i] = from[5 - i];
    }
}

void ncic_roce_desc_pack(uint8_t out[NCIC_ROCE_DESC_SIZE],
                         const NcicRoceDesc *d)
{
    put_le16(out, NCIC_ROCE_DTYP);
    put_le16(out + 2, d->length);
    mac_reverse(out + 4, d->smac);
    mac_reverse(out + 10, d->dmac);
    put_le32(out + 16, d->sip);
    put_le32(out + 20, d->dip);
}

bool ncic_roce_desc_unpack(NcicRoceDesc *d,
                           const uint8_t in[NCIC_ROCE_DESC_SIZE])
{
    d->length = get_le16(in + 2);
    mac_reverse(d->smac, in + 4);
    mac_reverse(d->dmac, in + 10);
    d->sip = get_le32(in + 16);
    d->dip = get_le32(in + 20);
    return (in[0] & 0xf) == NCIC_ROCE_DTYP;
}

/* ---- Transmit ------------------------------------------------------------------ */

void ncic_roce_build(uint8_t *frame, const NcicRoceDesc *d, uint16_t ip_id)
{
    uint8_t *ip = frame + IP_OFF;
    uint8_t *udp = frame + UDP_OFF;
    uint16_t udp_len = d->length + UDP_HLEN;
    uint16_t sum;

    memcpy(frame, d->dmac, 6);
    memcpy(frame + 6, d->smac, 6);
    put_be16(frame + ETHERTYPE_OFF, ETHERTYPE_IPV4);

    ip[0] = IP_V4_IHL5;
    ip[1] = 0;
    put_be16(ip + 2, udp_len + IP_HLEN);
    put_be16(ip + 4, ip_id);
    put_be16(ip + 6, 0);
    ip[8] = IP_TTL;
    ip[9] = IP_PROTO_UDP;
    put_be16(ip + 10, 0);
    put_be32(ip + 12, d->sip);
    put_be32(ip + 16, d->dip);
    sum = ~core_csum(ip, IP_HLEN);
    put_be16(ip + 10, sum);

    put_be16(udp, NCIC_ROCE_UDP_PORT);
    put_be16(udp + 2, NCIC_ROCE_UDP_PORT);
    put_be16(udp + 4, udp_len);
    put_be16(udp + 6, 0);
    sum = ~core_csum_join(core_csum_pseudo4(ip, IP_PROTO_UDP, udp_len),
                         core_csum(udp, udp_len));
    put_be16(udp + 6, sum ? sum : 0xffff);
}

bool ncic_roce_tx(NcicEth *e, const NcicRoceDesc *d, uint8_t *frame)
{
    size_t len = NCIC_ROCE_HEADROOM + d->length;
    NcicTxResult res;

    if (e->tx_busy) {
        return false;
    }
    if (len > e->ncsr[NCIC_R_TX_MTU] + NCIC_ETH_HLEN) {
        e->counter[NCIC_C_TX_DROP_MTU]++;
        return true;
    }
    if (!(e->ncsr[NCIC_R_LINK_STATUS] & NCIC_LINK_UP)) {
        e->counter[NCIC_C_TX_DROP_LINK]++;
        return true;
    }
    ncic_roce_build(frame, d, e->ip_id);
    if (len < NCIC_ETH_MIN_FRAME) {
        memset(frame + len, 0, NCIC_ETH_MIN_FRAME - len);
        len = NCIC_ETH_MIN_FRAME;
    }
    res = e->ops->tx(e->opaque, frame, len);
    if (res != NCIC_TX_SENT) {
        e->tx_busy = 1;
    }
    if (res == NCIC_TX_BUSY) {
        return false;
    }
    e->ip_id = (e->ip_id + 1) & 0xffff;
    e->counter[NCIC_C_ROCE_TX]++;
    return true;
}

/* ---- Receive ------------------------------------------------------------------- */

bool ncic_roce_match(const uint8_t *frame, size_t len)
{
    const uint8_t *ip = frame + IP_OFF;
    const uint8_t *udp = frame + UDP_OFF;

    return len >= NCIC_ROCE_HEADROOM &&
           get_be16(frame + ETHERTYPE_OFF) == ETHERTYPE_IPV4 &&
           ip[0] == IP_V4_IHL5 && ip[9] == IP_PROTO_UDP &&
           get_be16(udp) == NCIC_ROCE_UDP_PORT &&
           get_be16(udp + 2) == NCIC_ROCE_UDP_PORT;
}

bool ncic_roce_check(const uint8_t *frame, size_t len, bool need_csum,
                     NcicRoceDesc *d)
{
    const uint8_t *ip = frame + IP_OFF;
    const uint8_t *udp = frame + UDP_OFF;
    uint16_t total = get_be16(ip + 2);
    uint16_t udp_len = get_be16(udp + 4);

    if (udp_len < UDP_HLEN || total != udp_len + IP_HLEN ||
        len < IP_OFF + (size_t)total) {
        return false;
    }
    if (core_csum(ip, IP_HLEN) != 0xffff) {
        return false;
    }
    if ((need_csum || get_be16(udp + 6)) &&
        core_csum_join(core_csum_pseudo4(ip, IP_PROTO_UDP, udp_len),
                      core_csum(udp, udp_len)) != 0xffff) {
        return false;
    }
    memcpy(d->dmac, frame, 6);
    memcpy(d->smac, frame + 6, 6);
    d->sip = get_be32(ip + 12);
    d->dip = get_be32(ip + 16);
    d->length = udp_len - UDP_HLEN;
    return true;
}

void ncic_roce_attach(NcicEth *e, const NcicRoceSink *sink, void *opaque)
{
    e->roce = sink;
    e->roce_opaque = opaque;
}

void ncic_roce_rx_resume(NcicEth *e)
{
    if (e->rx_blocked && e->rx_blocked_queue == NCIC_BLOCKED_ROCE) {
        e->rx_blocked = 0;
        e->ops->kick_rx(e->opaque);
    }
}
