/*
 * Packet pool.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/packet.h"
#include "core/slab.h"

#include <glib.h>
#include <string.h>

/* Data bytes of the size classes: small headers, an Ethernet MTU, the longest
 * DLLDP.  Longer packets are allocated as asked and not kept. */
static const uint32_t classes[] = { 256, 2048, 10240 };
#define CLASSES G_N_ELEMENTS(classes)
#define LONGEST (1u << 20)

struct CorePacketPool {
    CoreSlab slab[CLASSES];
    uint32_t headroom;
    uint32_t limit;
    uint32_t used;
    bool closed;
};

static size_t class_of(uint32_t len)
{
    size_t c = 0;

    while (c < CLASSES && classes[c] < len) {
        c++;
    }
    return c;
}

CorePacketPool *core_packet_pool_new(uint32_t headroom, uint32_t limit)
{
    CorePacketPool *pool = g_new0(CorePacketPool, 1);

    pool->headroom = MIN(headroom, LONGEST);
    pool->limit = limit;
    for (size_t c = 0; c < CLASSES; c++) {
        core_slab_init(&pool->slab[c], sizeof(CorePacket) + pool->headroom +
                                       classes[c] + CORE_PACKET_TAILROOM);
    }
    return pool;
}

/* Once it is closed, and its last packet back. */
static void pool_end(CorePacketPool *pool)
{
    if (pool->closed && !pool->used) {
        for (size_t c = 0; c < CLASSES; c++) {
            core_slab_trim(&pool->slab[c]);
        }
        g_free(pool);
    }
}

void core_packet_pool_free(CorePacketPool *pool)
{
    if (!pool) {
        return;
    }
    pool->closed = true;
    pool_end(pool);
}

uint32_t core_packet_pool_used(const CorePacketPool *pool)
{
    return pool->used;
}

CorePacket *core_packet_alloc(CorePacketPool *pool, uint32_t len)
{
    const size_t c = class_of(len);
    uint32_t size = pool->headroom + (c < CLASSES ? classes[c] : len) +
                    CORE_PACKET_TAILROOM;
    CorePacket *pkt;

    if (len > LONGEST || (pool->limit && pool->used >= pool->limit)) {
        return NULL;
    }
    pkt = c < CLASSES ? core_slab_alloc(&pool->slab[c])
                      : g_try_malloc(sizeof(*pkt) + size);
    if (!pkt) {
        return NULL;
    }
    pkt->pool = pool;
    pkt->size = size;
    pool->used++;
    pkt->next = NULL;
    pkt->off = pool->headroom;
    pkt->len = len;
    pkt->refs = 1;
    pkt->released = NULL;
    pkt->release_opaque = NULL;
    memset(pkt->cb, 0, sizeof(pkt->cb));
    return pkt;
}

CorePacket *core_packet_ref(CorePacket *pkt)
{
    pkt->refs++;
    return pkt;
}

void core_packet_free(CorePacket *pkt)
{
    CorePacketPool *pool;
    size_t c;

    if (!pkt || --pkt->refs) {
        return;
    }
    if (pkt->released) {
        pkt->released(pkt);
    }
    pool = pkt->pool;
    c = class_of(pkt->size - pool->headroom - CORE_PACKET_TAILROOM);
    pool->used--;
    if (c < CLASSES) {
        core_slab_free(&pool->slab[c], pkt);
    } else {
        g_free(pkt);
    }
    pool_end(pool);
}
