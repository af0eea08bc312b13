/*
 * The ICRC of UB packets (UB 2.0 §5.3.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/crc32.h"
#include "ub/net_format.h"

/* The longest head with fields to mask: IPv4 with all options, UDP. */
#define HEAD_MAX 80

/* Mask the UDP checksum behind an IP header of @at bytes; end of the head. */
static uint32_t mask_udp(uint8_t *head, uint32_t at, uint32_t len, bool udp)
{
    if (!udp || len < at + UB_UDP_SIZE) {
        return at;
    }
    memset(head + at + 6, 0xff, 2);
    return at + UB_UDP_SIZE;
}

/*
 * Mask what may change on the way in @head, a copy of the first bytes of a packet
 * of @len; returns the bytes up to the last such field.
 */
static uint32_t mask_head(unsigned cfg, uint8_t *head, uint32_t len)
{
    uint32_t ip;

    switch (cfg) {
    case UB_LPH_CNA16:
        if (len < UB_NTH16_SIZE) {
            return 0;
        }
        memset(head + 4, 0xff, 3); /* CCI, LBF */
        return UB_NTH16_SIZE;
    case UB_LPH_CNA24:
        if (len < UB_NTH24_SIZE) {
            return 0;
        }
        memset(head + 6, 0xff, 3);
        return UB_NTH24_SIZE;
    case UB_LPH_IPV4:
        ip = (head[0] & 15u) * 4;
        if (len < UB_IPV4_SIZE || ip < UB_IPV4_SIZE || ip > len) {
            return 0;
        }
        head[1] = 0xff;             /* DSCP, ECN */
        head[8] = 0xff;             /* TTL */
        memset(head + 10, 0xff, 2); /* Header Checksum */
        return mask_udp(head, ip, len,
                        head[9] == 17 && !(get_be16(head + 6) & 0x1fff));
    case UB_LPH_IPV6:
        if (len < UB_IPV6_SIZE) {
            return 0;
        }
        head[0] |= 0x0f;           /* Traffic Class, Flow Label */
        memset(head + 1, 0xff, 3);
        head[7] = 0xff;            /* Hop Limit */
        return mask_udp(head, UB_IPV6_SIZE, len, head[6] == 17);
    default:
        return 0;
    }
}

uint32_t ub_icrc(unsigned cfg, const uint8_t *p, uint32_t len)
{
    uint8_t head[HEAD_MAX];
    uint32_t n;

    if (len <= HEAD_MAX) {
        memcpy(head, p, len);
        mask_head(cfg, head, len);
        return ~core_crc32(0xffffffff, head, len);
    }
    /* Of fixed length: no call, no loop. */
    memcpy(head, p, HEAD_MAX);
    n = (mask_head(cfg, head, len) + 15) & ~15u;
    return ~core_crc32_head(0xffffffff, head, n, p + n, len - n);
}
