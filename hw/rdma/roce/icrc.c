/*
 * The invariant CRC of RoCEv2 packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rdma/roce.h"

uint32_t roce_icrc(const uint8_t *ip, size_t len)
{
    /*
     * Fields that a router may change count as ones: a dummy local route
     * header, then TOS, TTL, both checksums, and the BTH byte with the
     * congestion bits.
     */
    enum { HEAD = ROCE_IP_BYTES + ROCE_UDP_BYTES + ROCE_BTH_BYTES };
    uint8_t h[8 + HEAD];

    memset(h, 0xff, 8);
    memcpy(h + 8, ip, HEAD);
    h[8 + 1] = 0xff;
    h[8 + 8] = 0xff;
    memset(h + 8 + 10, 0xff, 2);
    memset(h + 8 + ROCE_IP_BYTES + 6, 0xff, 2);
    h[8 + ROCE_IP_BYTES + ROCE_UDP_BYTES + 4] = 0xff;
    return ~core_crc32_head(0xffffffff, h, sizeof(h), ip + HEAD, len - HEAD);
}
