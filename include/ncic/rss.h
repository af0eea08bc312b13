/*
 * Receive-side scaling: the Toeplitz hash of ETH 5.4.2.3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_RSS_H
#define NCIC_RSS_H

#include <stdint.h>

/* The hardware's constant key, NCIC_RSS_KEY_SIZE bytes. */
extern const uint8_t ncic_rss_key[40];

/*
 * Hash of IPv4 source and destination address: @addrs points at the eight
 * bytes as they stand in the header, network order.
 */
uint32_t ncic_rss_ipv4(const uint8_t *addrs);

/*
 * What source and destination port add to that hash: @ports points at the four
 * bytes as they stand in the TCP or UDP header.  The hash is linear, so
 * ncic_rss_ipv4(a) ^ ncic_rss_ports(p) is the hash over all twelve bytes.
 */
uint32_t ncic_rss_ports(const uint8_t *ports);

#endif
