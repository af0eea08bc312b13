/*
 * Provider of liburma: memory of send and receive queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

int ubc_ring_open(UbcRing *r, const urma_context *ctx, uint64_t handle,
                  uint32_t id, const struct urma_queue_private *shape,
                  unsigned entry, bool lock_free)
{
    *r = (UbcRing) {
        .id = id,
        .bytes = shape->bytes,
        .log2 = shape->log2,
        .stride = shape->stride,
        .max_blocks = shape->blocks,
        .lock_free = lock_free,
    };
    if (r->log2 > 15 || (size_t)entry << (r->log2 + r->stride) > r->bytes) {
        errno = EPROTO;
        return -1;
    }
    if (shape->record % UBC_RECORD || (shape->record &&
        (r->bytes < UBC_RECORD || shape->record > r->bytes - UBC_RECORD))) {
        errno = EPROTO;
        return -1;
    }
    pthread_mutex_init(&r->lock, NULL);
    r->slot = calloc((size_t)1 << r->log2, sizeof(*r->slot));
    r->at = r->slot ? ubc_os_map(ctx->dev_fd, handle << URMA_MMAP_SHIFT,
                                 r->bytes) : NULL;
    r->record = r->at && shape->record ? r->at + shape->record : NULL;
    return r->at ? 0 : -1;
}

void ubc_ring_close(UbcRing *r)
{
    ubc_os_unmap(r->at, r->bytes);
    free(r->slot);
}

void ubc_ring_lock(UbcRing *r)
{
    if (!r->lock_free) {
        pthread_mutex_lock(&r->lock);
    }
}

void ubc_ring_unlock(UbcRing *r)
{
    if (!r->lock_free) {
        pthread_mutex_unlock(&r->lock);
    }
}

void ubc_ring_reset(UbcRing *r)
{
    ubc_ring_lock(r);
    r->pi = r->ci = 0;
    r->stopped = false;
    if (r->record) {
        memset(r->record, 0, UBC_RECORD);
    }
    memset(r->slot, 0, sizeof(*r->slot) << r->log2);
    ubc_ring_unlock(r);
}
