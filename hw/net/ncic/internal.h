/*
 * NCIC Ethernet engine: what its own files share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NET_NCIC_ETH_INTERNAL_H
#define HW_NET_NCIC_ETH_INTERNAL_H

#include "core/bytes.h"
#include "core/inet.h"
#include "ncic/eth.h"
#include "ncic/rss.h"

/* The longest frame a 16-bit length can name. */
#define NCIC_SCRATCH_SIZE 0x10000u

#define ETHERTYPE_OFF    12
#define ETHERTYPE_IPV4   0x0800
#define ETHERTYPE_IPV6   0x86dd
#define ETHERTYPE_VLAN   0x8100

#define IP_HLEN_MIN      20
#define IP6_HLEN         40
#define UDP_CSUM_OFF     6

#define PROTO_TCP        6
#define PROTO_UDP        17

void ncic_regs_init(NcicEth *e);
void ncic_regs_reset(NcicEth *e);

/* The longest frame an MTU register allows: L2 header and one tag come on
 * top. */
static inline size_t frame_limit(uint32_t mtu, const uint8_t *frame, size_t len)
{
    bool tagged = len >= NCIC_ETH_HLEN &&
                  get_be16(frame + ETHERTYPE_OFF) == ETHERTYPE_VLAN;

    return mtu + NCIC_ETH_HLEN + (tagged ? NCIC_VLAN_HLEN : 0);
}

static inline uint64_t desc_addr(const uint8_t *desc)
{
    return get_le64(desc + NCIC_DESC_ADDR);
}

static inline uint16_t desc_length(const uint8_t *desc)
{
    return get_le16(desc + NCIC_DESC_LENGTH);
}

/* The fields that both directions fill in; @cpl is zeroed. */
static inline void cpl_init(uint8_t *cpl, const NcicFetchOp *op,
                            uint32_t status, uint16_t length)
{
    put_le32(cpl + NCIC_CPL_STATUS, status);
    put_le16(cpl + NCIC_CPL_QUEUE, op->queue);
    put_le16(cpl + NCIC_CPL_INDEX, op->index);
    put_le16(cpl + NCIC_CPL_LENGTH, length);
}

#endif
