/*
 * Internet checksum over byte ranges (RFC 1071).  It knows no protocol, its
 * callers choose the bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_INET_H
#define CORE_INET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Whether core_csum() of the 20-byte IPv4 header at @ip is 0xffff.  Such a sum is a
 * multiple of 0xffff, in whatever order the bytes of its words are, and not 0. */
static inline bool core_csum_ipv4_right(const void *ip)
{
    uint32_t w[5];
    uint64_t sum;

    memcpy(w, ip, sizeof(w));
    sum = (uint64_t)w[0] + w[1] + w[2] + w[3] + w[4];
    return sum && sum % 0xffff == 0;
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
