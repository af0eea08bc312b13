/*
 * Internet checksum over byte ranges (RFC 1071).  It knows no protocol, its
 * callers choose the bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_INET_H
#define CORE_INET_H

#include <stddef.h>
#include <stdint.h>

/* Ones-complement sum of @len bytes added to @sum, not folded; start with 0.
 * Sums chain if all parts but the last have even length. */
uint64_t core_csum_add(uint64_t sum, const void *p, size_t len);

/* Fold such a sum to the value of its big-endian 16-bit words, an odd last
 * byte counting as the upper half of a word; not complemented.  0 only when
 * every byte was 0. */
uint16_t core_csum_fold(uint64_t sum);

/* Fold and complement: the checksum of a header, to be stored big-endian. */
static inline uint16_t core_csum_done(uint64_t sum)
{
    return ~core_csum_fold(sum);
}

/* Folded sum of one range. */
static inline uint16_t core_csum(const void *p, size_t len)
{
    return core_csum_fold(core_csum_add(0, p, len));
}

/* Ones-complement addition of two folded sums. */
static inline uint16_t core_csum_join(uint32_t a, uint32_t b)
{
    uint32_t s = a + b;
    return (s & 0xffff) + (s >> 16);
}

/*
 * Sum of the IPv4 pseudo-header (ETH table 5-8): source and destination address
 * from the 20-byte header at @ip, protocol @proto and layer-4 length @l4_len.
 */
uint16_t core_csum_pseudo4(const uint8_t *ip, uint8_t proto, uint16_t l4_len);

#endif
