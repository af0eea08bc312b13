/*
 * NCIC Ethernet engine: which received frames are the RDMA engine's, and are
 * they whole (ETH 5.4.4, 5.4.5)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define IP_OFF        NCIC_ETH_HLEN
#define UDP_OFF       (IP_OFF + IP_HLEN_MIN)
#define UDP_HLEN      8
#define IP_V4_IHL5    0x45
#define IP_FRAGMENT   0x3fff            /* more fragments, or an offset */

bool ncic_roce_match(const uint8_t *frame, size_t len, bool dest_only)
{
    const uint8_t *ip = frame + IP_OFF;
    const uint8_t *udp = frame + UDP_OFF;

    return len >= NCIC_ROCE_HEADERS &&
           get_be16(frame + ETHERTYPE_OFF) == ETHERTYPE_IPV4 &&
           ip[0] == IP_V4_IHL5 && ip[9] == PROTO_UDP &&
           !(get_be16(ip + 6) & IP_FRAGMENT) &&
           (dest_only || get_be16(udp) == NCIC_ROCE_UDP_PORT) &&
           get_be16(udp + 2) == NCIC_ROCE_UDP_PORT;
}

bool ncic_roce_check(const uint8_t *frame, size_t len, bool need_csum)
{
    const uint8_t *ip = frame + IP_OFF;
    const uint8_t *udp = frame + UDP_OFF;
    uint16_t total = get_be16(ip + 2);
    uint16_t udp_len = get_be16(udp + 4);

    if (udp_len < UDP_HLEN || total != udp_len + IP_HLEN_MIN ||
        len < IP_OFF + (size_t)total ||
        !core_csum_ipv4_right(ip)) {
        return false;
    }
    return (!need_csum && !get_be16(udp + UDP_CSUM_OFF)) ||
           core_csum_join(core_csum_pseudo4(ip, PROTO_UDP, udp_len),
                          core_csum(udp, udp_len)) == 0xffff;
}

void ncic_roce_attach(NcicEth *e, const NcicRoceSink *sink, void *opaque)
{
    e->roce = sink;
    e->roce_opaque = opaque;
    e->roce_waits = false;
    e->roce_turn = false;
}
