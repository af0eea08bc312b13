/*
 * Provider of liburma: completion queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

static void jfc_free(UbcJfc *j)
{
    ubc_given_end(j->base.urma_ctx, &j->given);
    ubc_os_unmap(j->at, j->bytes);
    pthread_mutex_destroy(&j->lock);
    pthread_mutex_destroy(&j->base.event_mutex);
    pthread_cond_destroy(&j->base.event_cond);
    free(j);
}

#define DEPTH_MAX 32768u

/* Of what was read the engine hears a quarter late, so entries are a third more than were
 * asked for, where there can be as many. */
static uint32_t depth_with_room(uint32_t depth)
{
    return depth < DEPTH_MAX ? (depth + depth / 3 + 1 < DEPTH_MAX ? depth + depth / 3 + 1
                                                                  : DEPTH_MAX) : depth;
}

/* How many it has to hear of, so that it never finds the queue full though there is room for
 * those that were asked for. */
static unsigned late_of(unsigned log2, uint32_t depth)
{
    unsigned all = 1u << log2, spare = depth < all ? all - depth : 1;

    return spare < all / 4 ? spare : all / 4;
}

static int jfc_open(UbcJfc *j, urma_context *ctx, const urma_jfc_cfg *cfg)
{
    struct urma_queue_private mine = { 0 };
    struct urma_jfc_cmd a = {
        .depth = depth_with_room(cfg->depth),
        .flag = cfg->flag,
        .jfce_fd = cfg->jfce ? cfg->jfce->fd : -1,
        .cookie = (uintptr_t)j,
        .ceqn = cfg->ceqn,
    };

    ubc_udata(&a.udata, &mine, sizeof(mine));
    if (ubc_call(ctx, URMA_CREATE_JFC, &a)) {
        return -1;
    }
    j->base.handle = a.handle;
    j->base.jfc_id = (urma_jetty_id) { ctx->eid, 0, a.id };
    j->log2 = mine.log2;
    j->bytes = mine.bytes;
    if (j->log2 <= 15 && (size_t)UBQ_CQE << j->log2 <= j->bytes) {
        j->late = late_of(j->log2, cfg->depth);
        j->base.cfg.depth = (1u << j->log2) - j->late + 1;
        j->at = ubc_os_map(ctx->dev_fd, a.handle << URMA_MMAP_SHIFT, j->bytes);
    }
    if (!j->at) {
        struct urma_handle_cmd end = { .handle = a.handle };

        ubc_call(ctx, URMA_DELETE_JFC, &end);
    }
    return j->at ? 0 : -1;
}

urma_jfc *ubc_create_jfc(urma_context *ctx, urma_jfc_cfg *cfg)
{
    UbcJfc *j = calloc(1, sizeof(*j));

    if (!j) {
        return NULL;
    }
    j->base.urma_ctx = ctx;
    j->base.cfg = *cfg;
    j->lock_free = cfg->flag & URMA_LOCK_FREE;
    pthread_mutex_init(&j->lock, NULL);
    pthread_mutex_init(&j->base.event_mutex, NULL);
    pthread_cond_init(&j->base.event_cond, NULL);
    if (jfc_open(j, ctx, cfg)) {
        jfc_free(j);
        return NULL;
    }
    /* Whoever finds it there walks its ring; no queue can have it before. */
    ubc_given_add(ctx, &((UbcCtx *)ctx)->jfcs, &j->given, j);
    return &j->base;
}

int ubc_modify_jfc(urma_jfc *jfc, urma_jfc_attr *attr)
{
    struct urma_jfc_cmd a = {
        .handle = jfc->handle,
        .mask = attr->mask,
        .count = attr->moderate_count,
        .period = attr->moderate_period,
    };

    return ubc_status(ubc_call(jfc->urma_ctx, URMA_MODIFY_JFC, &a));
}

/* The kernel may say that the device is gone; then its objects are, too. */
static bool call_gone(int result)
{
    return result && errno == EIO;
}

int ubc_delete_jfc(urma_jfc *jfc)
{
    struct urma_handle_cmd a = { .handle = jfc->handle };
    int result = ubc_call(jfc->urma_ctx, URMA_DELETE_JFC, &a);

    if (result && !call_gone(result)) {
        return ubc_status(result);
    }
    if (result) {
        ubc_given_end(jfc->urma_ctx, &((UbcJfc *)jfc)->given);
        a.comp_events = ((UbcJfc *)jfc)->given.comp;
        a.async_events = ((UbcJfc *)jfc)->given.async;
    }
    if (!(jfc->cfg.flag & URMA_JFC_NON_BLOCKING)) {
        ubc_events_wait(&jfc->event_mutex, &jfc->event_cond,
                        &jfc->comp_events_acked, a.comp_events);
        ubc_events_wait(&jfc->event_mutex, &jfc->event_cond,
                        &jfc->async_events_acked, a.async_events);
    }
    jfc_free((UbcJfc *)jfc);
    return 0;
}

int ubc_delete_jfc_batch(urma_jfc **jfc, int n, urma_jfc **bad)
{
    for (int i = 0; i < n; i++) {
        int status = ubc_delete_jfc(jfc[i]);

        if (status) {
            *bad = jfc[i];
            return status;
        }
    }
    return 0;
}
