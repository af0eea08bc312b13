/*
 * The packet object: one contiguous buffer with headroom, so that layers push
 * and pull headers in place and payload is copied once.
 *
 * Packets come from a pool with free lists by size class; on the hot path
 * neither allocation nor release reaches malloc.  A pool and its packets
 * belong to one thread at a time.  Ownership moves with the call that takes a
 * packet; whoever owns it last calls core_packet_free().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_PACKET_H
#define CORE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CorePacketPool CorePacketPool;
typedef struct CorePacket CorePacket;

struct CorePacket {
    CorePacket *next; /* for the queue of the current owner */
    CorePacketPool *pool;
    uint32_t size; /* bytes at buf */
    uint32_t off;  /* first byte of data */
    uint32_t len;  /* bytes of data */

    /* Link parameters of UB (UB 2.0 §4.3.2.2.2).  cells and epoch say what
     * the packet holds of a Receive Buffer; see UbDllHold. */
    uint8_t vl, lph_cfg, rt;
    uint8_t error; /* ERROR_FLAG */
    uint32_t cells, epoch;

    uint8_t buf[];
};

/*
 * New pool.  Data of a fresh packet starts at @headroom.  At most @limit
 * packets are alive at a time (0: no limit); beyond that allocation fails.
 */
CorePacketPool *core_packet_pool_new(uint32_t headroom, uint32_t limit);

/* Give the pool up; packets that are still alive stay valid, and the memory
 * goes when the last of them is freed.  NULL is ignored. */
void core_packet_pool_free(CorePacketPool *pool);

/* Packets alive. */
uint32_t core_packet_pool_used(const CorePacketPool *pool);

/* A packet of @len uninitialised bytes (len <= 1 MiB), or NULL.  Meta data is
 * zero. */
CorePacket *core_packet_alloc(CorePacketPool *pool, uint32_t len);

/* Back to its pool; NULL is ignored. */
void core_packet_free(CorePacket *pkt);

static inline uint8_t *core_packet_data(CorePacket *pkt)
{
    return pkt->buf + pkt->off;
}

/* Room for a header of @n bytes in front: its address, or NULL. */
static inline uint8_t *core_packet_push(CorePacket *pkt, uint32_t n)
{
    if (n > pkt->off) {
        return NULL;
    }
    pkt->off -= n;
    pkt->len += n;
    return core_packet_data(pkt);
}

/* Take @n bytes off the front: their address, or NULL when there are fewer. */
static inline uint8_t *core_packet_pull(CorePacket *pkt, uint32_t n)
{
    uint8_t *p = core_packet_data(pkt);

    if (n > pkt->len) {
        return NULL;
    }
    pkt->off += n;
    pkt->len -= n;
    return p;
}

#endif
