/*
 * Frames for tests, built and checked byte by byte without the engine's own
 * helpers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_FRAMES_H
#define NCIC_FRAMES_H

#include <stdint.h>
#include <string.h>
#include "core/bytes.h"

/* Ones-complement sum of 16-bit words, plainly. */
static inline uint32_t plain_sum(uint32_t sum, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

static inline uint32_t plain_pseudo(const uint8_t *ip, uint16_t l4_len)
{
    uint8_t ph[12];

    memcpy(ph, ip + 12, 8);
    ph[8] = 0;
    ph[9] = ip[9];
    put_be16(ph + 10, l4_len);
    return plain_sum(0, ph, sizeof(ph));
}

/*
 * An IPv4 frame with @payload bytes after the TCP (20 bytes) or UDP (8) header
 * and correct checksums; other protocols have no header.  Returns its length.
 */
static inline size_t make_ipv4(uint8_t *f, uint8_t proto, uint32_t sip,
                               uint32_t dip, uint16_t sport, uint16_t dport,
                               size_t payload)
{
    size_t hlen = proto == 6 ? 20 : proto == 17 ? 8 : 0;
    size_t l4 = hlen + payload;
    uint8_t *ip = f + 14, *p = f + 34;

    memset(f, 0, 14 + 20 + l4);
    memcpy(f, "\x52\x54\x00\x12\x34\x56\x52\x54\x00\x65\x43\x21\x08\x00", 14);
    ip[0] = 0x45;
    put_be16(ip + 2, 20 + l4);
    put_be16(ip + 4, 0x1234);
    ip[8] = 64;
    ip[9] = proto;
    put_be32(ip + 12, sip);
    put_be32(ip + 16, dip);
    put_be16(ip + 10, ~plain_sum(0, ip, 20));
    for (size_t i = 0; i < payload; i++) {
        p[hlen + i] = i * 7 + 1;
    }
    if (hlen) {
        put_be16(p, sport);
        put_be16(p + 2, dport);
    }
    if (proto == 6) {
        p[12] = 0x50;
        put_be16(p + 16, ~plain_sum(plain_pseudo(ip, l4), p, l4));
    } else if (proto == 17) {
        uint16_t c;

        put_be16(p + 4, l4);
        c = ~plain_sum(plain_pseudo(ip, l4), p, l4);
        put_be16(p + 6, c ? c : 0xffff);
    }
    return 34 + l4;
}

/* Puts a tag behind the addresses; returns the new length. */
static inline size_t add_tag(uint8_t *f, size_t len, uint16_t tci)
{
    memmove(f + 16, f + 12, len - 12);
    put_be16(f + 12, 0x8100);
    put_be16(f + 14, tci);
    return len + 4;
}

#endif
