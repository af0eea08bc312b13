/*
 * Internet checksum over byte ranges (RFC 1071), as the Ethernet engine's
 * checksum unit computes it (ETH 5.4.3.5): the unit knows no protocol, its
 * callers choose the bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_CSUM_H
#define NCIC_CSUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Ones-complement sum of the big-endian 16-bit words of p[0..len), an odd last
 * byte counting as the upper half of a word; not complemented.  0 only when
 * every byte is 0; sums chain by ncic_csum_add() if all parts but the last have
 * even length.
 */
uint16_t ncic_csum(const void *p, size_t len);

/* Ones-complement addition of two such sums. */
static inline uint16_t ncic_csum_add(uint32_t a, uint32_t b)
{
    uint32_t s = a + b;
    return (s & 0xffff) + (s >> 16);
}

/*
 * Sum of the IPv4 pseudo-header of table 5-8: source and destination address
 * from the 20-byte header at @ip, protocol @proto and layer-4 length @l4_len.
 */
uint16_t ncic_csum_pseudo4(const uint8_t *ip, uint8_t proto, uint16_t l4_len);

#endif
