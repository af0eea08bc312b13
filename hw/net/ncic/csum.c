/*
 * NCIC Ethernet engine: checksum unit (ETH 5.4.3.5)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "ncic/csum.h"

static uint16_t fold64(uint64_t s)
{
    s = (s & 0xffffffff) + (s >> 32);
    s = (s & 0xffff) + (s >> 16 & 0xffff) + (s >> 32);
    s = (s & 0xffff) + (s >> 16);
    return (s & 0xffff) + (s >> 16);
}

uint16_t ncic_csum(const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t a = 0, b = 0;
    uint64_t v, w;

    /*
     * Ones-complement sums do not depend on the width or the order of bytes in
     * the words that are added (RFC 1071 section 2), so add native 64-bit words
     * with end-around carry and swap once at the end.
     */
    while (len >= 16) {
        memcpy(&v, p, 8);
        memcpy(&w, p + 8, 8);
        a += v;
        a += a < v;
        b += w;
        b += b < w;
        p += 16;
        len -= 16;
    }
    if (len >= 8) {
        memcpy(&v, p, 8);
        a += v;
        a += a < v;
        p += 8;
        len -= 8;
    }
    v = 0;
    memcpy(&v, p, len);
    a += v;
    a += a < v;
    a += b;
    a += a < b;
    return CORE_BE(16, fold64(a));
}

uint16_t ncic_csum_pseudo4(const uint8_t *ip, uint8_t proto, uint16_t l4_len)
{
    return ncic_csum_add(ncic_csum(ip + 12, 8),
                         ncic_csum_add(proto, l4_len));
}
