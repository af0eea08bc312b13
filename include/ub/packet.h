/*
 * What a packet of UB is, beside its bytes: the owner's data of a CorePacket
 * from the data link layer upwards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PACKET_H
#define UB_PACKET_H

#include "core/packet.h"

/* Room for the longest stack of headers: IPv6 and UDP 54, RTPH 16, CIPH 8,
 * UPIH 4, EIDH 32, TAH 60 and byte enables 128, rounded up. */
#define UB_PACKET_HEADROOM 320

typedef struct UbPktMeta {
    /* Link parameters (UB 2.0 §4.3.2.2.2): of a received packet those of its
     * LPH, of one to be sent those that its LPH shall have. */
    uint8_t vl, lph_cfg, rt;
    uint8_t error; /* ERROR_FLAG */
    /* The data link layer's own: what a received packet takes of its Receive
     * Buffer, until it is freed. */
    uint8_t rx_vl;
    uint32_t rx_cells, rx_epoch;
} UbPktMeta;

_Static_assert(sizeof(UbPktMeta) <= CORE_PACKET_CB, "fits the owner's data");

static inline UbPktMeta *ub_meta(CorePacket *pkt)
{
    return (UbPktMeta *)pkt->cb;
}

#endif
