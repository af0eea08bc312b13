/*
 * Provider of liburma: completion queues, and events by descriptors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

static void jfc_free(UbcJfc *j)
{
    ubc_os_unmap(j->at, j->bytes);
    pthread_mutex_destroy(&j->lock);
    pthread_mutex_destroy(&j->base.event_mutex);
    pthread_cond_destroy(&j->base.event_cond);
    free(j);
}

static int jfc_open(UbcJfc *j, urma_context *ctx, const urma_jfc_cfg *cfg)
{
    struct urma_queue_private mine = { 0 };
    struct urma_jfc_cmd a = {
        .depth = cfg->depth,
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
    j->base.cfg.depth = a.depth;
    j->log2 = mine.log2;
    j->bytes = mine.bytes;
    if (j->log2 <= 15 && (size_t)UBQ_CQE << j->log2 <= j->bytes) {
        j->at = ubc_os_map(ctx->dev_fd, a.handle << URMA_MMAP_SHIFT, j->bytes);
    }
    if (!j->at) {
        struct urma_handle_cmd end = { .handle = a.handle };

        ubc_call(ctx, URMA_DELETE_JFC, &end);
    }
    return j->at ? 0 : -1;
}

static void jfc_list(UbcJfc *j)
{
    UbcCtx *ctx = (UbcCtx *)j->base.urma_ctx;

    ubc_ctx_lock(&ctx->base);
    j->next = ctx->jfcs;
    ctx->jfcs = j;
    ubc_ctx_unlock(&ctx->base);
}

static void jfc_unlist(UbcJfc *j)
{
    UbcCtx *ctx = (UbcCtx *)j->base.urma_ctx;
    UbcJfc **at = &ctx->jfcs;

    ubc_ctx_lock(&ctx->base);
    while (*at != j) {
        at = &(*at)->next;
    }
    *at = j->next;
    ubc_ctx_unlock(&ctx->base);
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
    jfc_list(j);
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

void ubc_events_wait(pthread_mutex_t *lock, pthread_cond_t *cond,
                     const uint32_t *acked, uint32_t reported)
{
    pthread_mutex_lock(lock);
    while (*acked != reported) {
        pthread_cond_wait(cond, lock);
    }
    pthread_mutex_unlock(lock);
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
    jfc_unlist((UbcJfc *)jfc);
    if (result) {
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

/* ---- Completion events ------------------------------------------------------------ */

urma_jfce *ubc_create_jfce(urma_context *ctx)
{
    struct urma_jfc_cmd a = { 0 };
    urma_jfce *jfce = calloc(1, sizeof(*jfce));

    if (jfce && ubc_call(ctx, URMA_CREATE_JFCE, &a)) {
        free(jfce);
        return NULL;
    }
    if (jfce) {
        jfce->urma_ctx = ctx;
        jfce->fd = a.jfce_fd;
    }
    return jfce;
}

int ubc_delete_jfce(urma_jfce *jfce)
{
    ubc_os_close(jfce->fd);
    free(jfce);
    return 0;
}

/* Some more were given, or acknowledged. */
static void count_add(pthread_mutex_t *lock, pthread_cond_t *cond,
                      uint32_t *count, uint32_t n)
{
    pthread_mutex_lock(lock);
    *count += n;
    pthread_cond_broadcast(cond);
    pthread_mutex_unlock(lock);
}

int ubc_wait_jfc(urma_jfce *jfce, uint32_t n, int timeout, urma_jfc *jfc[])
{
    struct urma_wait_cmd a = {
        .max = n < URMA_WAIT_MAX ? n : URMA_WAIT_MAX,
        .timeout = timeout,
    };

    if (ubc_event_call(jfce->fd, URMA_WAIT_JFCE, &a)) {
        return errno == EAGAIN ? 0 : -1;
    }
    for (uint32_t i = 0; i < a.count; i++) {
        jfc[i] = (urma_jfc *)(uintptr_t)a.cookie[i];
        count_add(&jfc[i]->event_mutex, &jfc[i]->event_cond,
                  &((UbcJfc *)jfc[i])->given.comp, 1);
    }
    return a.count;
}

void ubc_ack_jfc(urma_jfc *jfc[], uint32_t n_events[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (jfc[i] && n_events[i]) {
            count_add(&jfc[i]->event_mutex, &jfc[i]->event_cond,
                      &jfc[i]->comp_events_acked, n_events[i]);
        }
    }
}

/* ---- Asynchronous events ------------------------------------------------------------ */

/* What is counted for the object of an event. */
typedef struct Counts {
    pthread_mutex_t *lock;
    pthread_cond_t *cond;
    uint32_t *acked, *given;
} Counts;

#define COUNTS(object, Type) (Counts) {             \
    &(object)->event_mutex, &(object)->event_cond,  \
    &(object)->async_events_acked, &((Type *)(object))->given.async }

/* False: the event is of no object. */
static bool counts_of(const urma_async_event *event, Counts *c)
{
    switch (event->event_type) {
    case URMA_EVENT_JFC_ERR:
        *c = COUNTS(event->jfc, UbcJfc);
        return true;
    case URMA_EVENT_JFS_ERR:
        *c = COUNTS(event->jfs, UbcJfs);
        return true;
    case URMA_EVENT_JFR_ERR:
    case URMA_EVENT_JFR_LIMIT:
        *c = COUNTS(event->jfr, UbcJfr);
        return true;
    case URMA_EVENT_JETTY_ERR:
    case URMA_EVENT_JETTY_LIMIT:
        *c = COUNTS(event->jetty, UbcJetty);
        return true;
    case URMA_EVENT_JETTY_GRP_ERR:
        *c = COUNTS(event->jetty_grp, UbcGroup);
        return true;
    default:
        return false;
    }
}

int ubc_get_async_event(urma_context *ctx, urma_async_event *event)
{
    struct urma_async_cmd a = { 0 };
    int result = ubc_event_call(ctx->async_fd, URMA_GET_ASYNC_EVENT, &a);
    Counts c;

    if (result) {
        return ubc_status(result);
    }
    *event = (urma_async_event) { .urma_ctx = ctx, .event_type = a.type };
    event->jfc = (urma_jfc *)(uintptr_t)a.data;
    if (counts_of(event, &c)) {
        count_add(c.lock, c.cond, c.given, 1);
    }
    return 0;
}

void ubc_ack_async_event(urma_async_event *event)
{
    Counts c;

    if (counts_of(event, &c)) {
        count_add(c.lock, c.cond, c.acked, 1);
    }
}
