/*
 * Internet checksum (RFC 1071).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "core/inet.h"

uint64_t core_csum_add(uint64_t sum, const void *buf, size_t len)
{
    const uint8_t *p = buf;
    uint64_t a = 0, b = 0;

    /* 32-bit words in a 64-bit sum: no carry can be lost below 16 GiB. */
    for (; len >= 8; p += 8, len -= 8) {
        uint32_t w[2];

        memcpy(w, p, 8);
        a += w[0];
        b += w[1];
    }
    a += b;
    if (len >= 4) {
        uint32_t w;

        memcpy(&w, p, 4);
        a += w;
        p += 4;
        len -= 4;
    }
    if (len) {
        uint8_t last[4] = { 0 };
        uint32_t w;

        memcpy(last, p, len);
        memcpy(&w, last, 4);
        a += w;
    }
    return sum + a;
}

uint16_t core_csum_fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    /* Ones-complement sums do not depend on the order of bytes in the words
     * that are added (RFC 1071 section 2): swap once at the end. */
    return CORE_BE(16, (uint16_t)sum);
}

uint16_t core_csum_pseudo4(const uint8_t *ip, uint8_t proto, uint16_t l4_len)
{
    return core_csum_join(core_csum(ip + 12, 8),
                          core_csum_join(proto, l4_len));
}
