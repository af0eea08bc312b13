/*
 * The packet object: one contiguous buffer with headroom, so that layers push
 * and pull headers in place and payload is copied once.
 *
 * Packets come from a pool with free lists by size class; on the hot path
 * neither allocation nor release reaches malloc.  A pool and its packets
 * belong to one thread at a time.  Ownership moves with the call that takes a
 * packet; whoever owns it last calls core_packet_free().
 *
 * A packet may be shared: with more than one reference it is read only, and
 * `next` and `cb` are those of the one owner that queues it.
 *
 * Who lent something with a packet (space in a buffer, a place in a window)
 * sets `released` and gets it back when the last reference goes, whoever drops
 * it, however late: the hook's owner must outlive its packets, or leave behind
 * something at release_opaque that does.
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

/* Bytes behind the data of a fresh packet: padding, ICV, ICRC. */
#define CORE_PACKET_TAILROOM 24
/* Bytes for the floor that owns the packet. */
#define CORE_PACKET_CB 64

struct CorePacket {
    CorePacket *next; /* for the queue of the current owner */
    CorePacketPool *pool;
    /* The last reference is gone; the packet is still whole.  May be NULL. */
    void (*released)(CorePacket *pkt);
    void *release_opaque;
    uint32_t refs;
    uint32_t size; /* bytes at buf */
    uint32_t off;  /* first byte of data */
    uint32_t len;  /* bytes of data */
    uint64_t cb[CORE_PACKET_CB / 8];
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

/* A packet of @len uninitialised bytes (len <= 1 MiB), or NULL.  One reference,
 * owner's data zero. */
CorePacket *core_packet_alloc(CorePacketPool *pool, uint32_t len);

/* One more reference: returns @pkt. */
CorePacket *core_packet_ref(CorePacket *pkt);

/* Drop a reference; with the last one the packet goes back to its pool.  NULL
 * is ignored. */
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

/* Room for a trailer of @n bytes behind: its address, or NULL. */
static inline uint8_t *core_packet_put(CorePacket *pkt, uint32_t n)
{
    uint8_t *p = core_packet_data(pkt) + pkt->len;

    if (n > pkt->size - pkt->off - pkt->len) {
        return NULL;
    }
    pkt->len += n;
    return p;
}

/* Take @n bytes off the end; false when there are fewer. */
static inline bool core_packet_trim(CorePacket *pkt, uint32_t n)
{
    if (n > pkt->len) {
        return false;
    }
    pkt->len -= n;
    return true;
}

#endif
