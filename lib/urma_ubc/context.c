/*
 * Provider of liburma: contexts, and whose a number of the engine is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

#define LOW_MASK ((1u << UBC_ID_LOW) - 1)

void ubc_ctx_lock(urma_context *ctx)
{
    pthread_mutex_lock(&((UbcCtx *)ctx)->lock);
}

void ubc_ctx_unlock(urma_context *ctx)
{
    pthread_mutex_unlock(&((UbcCtx *)ctx)->lock);
}

int ubc_owner_set(UbcCtx *ctx, uint32_t id, UbcOwner *owner)
{
    UbcOwner **low;

    if (id >= UBC_IDS) {
        errno = ERANGE;
        return -1;
    }
    low = ctx->owner[id >> UBC_ID_LOW];
    if (!low) {
        low = calloc(1u << UBC_ID_LOW, sizeof(*low));
        __atomic_store_n(&ctx->owner[id >> UBC_ID_LOW], low, __ATOMIC_RELEASE);
    }
    if (low) {
        __atomic_store_n(&low[id & LOW_MASK], owner, __ATOMIC_RELEASE);
    }
    return low ? 0 : -1;
}

void ubc_owner_clear(UbcCtx *ctx, uint32_t id)
{
    UbcOwner **low = id < UBC_IDS ? ctx->owner[id >> UBC_ID_LOW] : NULL;

    if (low) {
        __atomic_store_n(&low[id & LOW_MASK], NULL, __ATOMIC_RELEASE);
    }
}

UbcOwner *ubc_owner(UbcCtx *ctx, uint32_t id)
{
    UbcOwner **low = id < UBC_IDS
        ? __atomic_load_n(&ctx->owner[id >> UBC_ID_LOW], __ATOMIC_ACQUIRE)
        : NULL;

    return low ? __atomic_load_n(&low[id & LOW_MASK], __ATOMIC_ACQUIRE) : NULL;
}

urma_context *ubc_create_context(urma_device *dev, uint32_t eid_index,
                                 int dev_fd)
{
    struct urma_create_ctx a = { .eid_index = eid_index };
    struct urma_ctx_private mine = { 0 };
    UbcCtx *ctx = calloc(1, sizeof(*ctx));

    if (!ctx) {
        return NULL;
    }
    ctx->base.dev = dev;
    ctx->base.dev_fd = dev_fd;
    ctx->base.eid_index = eid_index;
    pthread_mutex_init(&ctx->base.mutex, NULL);
    pthread_mutex_init(&ctx->lock, NULL);
    ubc_udata(&a.udata, &mine, sizeof(mine));
    if (ubc_call(&ctx->base, URMA_CREATE_CTX, &a)) {
        free(ctx);
        return NULL;
    }
    ctx->base.async_fd = a.async_fd;
    ctx->bell_bytes = mine.bell_bytes;
    ctx->bells = mine.version == URMA_PRIVATE_VERSION
                 ? ubc_os_map(dev_fd, 0, mine.bell_bytes) : NULL;
    if (!ctx->bells) {
        ubc_os_close(a.async_fd);
        free(ctx);
        return NULL;
    }
    return &ctx->base;
}

/* The descriptor of the node is liburma's. */
int ubc_delete_context(urma_context *base)
{
    UbcCtx *ctx = (UbcCtx *)base;

    ubc_os_unmap(ctx->bells, ctx->bell_bytes);
    ubc_os_close(base->async_fd);
    for (unsigned i = 0; i < UBC_IDS >> UBC_ID_LOW; i++) {
        free(ctx->owner[i]);
    }
    pthread_mutex_destroy(&ctx->lock);
    pthread_mutex_destroy(&base->mutex);
    free(ctx);
    return 0;
}
