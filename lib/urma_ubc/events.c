/*
 * Provider of liburma: events by descriptors, and who counts them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

void ubc_given_add(urma_context *ctx, UbcGiven **list, UbcGiven *given,
                   void *object)
{
    ubc_ctx_lock(ctx);
    *given = (UbcGiven) { .next = *list, .at = list, .object = object };
    if (given->next) {
        given->next->at = &given->next;
    }
    *list = given;
    ubc_ctx_unlock(ctx);
}

void ubc_given_remove(UbcGiven *given)
{
    if (given->at) {
        *given->at = given->next;
        if (given->next) {
            given->next->at = given->at;
        }
        given->at = NULL;
    }
}

void ubc_given_end(urma_context *ctx, UbcGiven *given)
{
    ubc_ctx_lock(ctx);
    ubc_given_remove(given);
    ubc_ctx_unlock(ctx);
}

/* With the context's lock: NULL if the object is no more. */
static UbcGiven *given_find(UbcGiven *list, uint64_t cookie)
{
    while (list && (uintptr_t)list->object != cookie) {
        list = list->next;
    }
    return list;
}

/* Some more were acknowledged. */
static void ack_add(pthread_mutex_t *lock, pthread_cond_t *cond,
                    uint32_t *count, uint32_t n)
{
    pthread_mutex_lock(lock);
    *count += n;
    pthread_cond_broadcast(cond);
    pthread_mutex_unlock(lock);
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

int ubc_wait_jfc(urma_jfce *jfce, uint32_t n, int timeout, urma_jfc *jfc[])
{
    UbcCtx *ctx = (UbcCtx *)jfce->urma_ctx;
    struct urma_wait_cmd a;
    uint32_t known = 0;

    do {
        a = (struct urma_wait_cmd) {
            .max = n < URMA_WAIT_MAX ? n : URMA_WAIT_MAX,
            .timeout = timeout,
        };
        if (ubc_event_call(jfce->fd, URMA_WAIT_JFCE, &a)) {
            return errno == EAGAIN ? 0 : -1;
        }
        ubc_ctx_lock(&ctx->base);
        for (uint32_t i = 0; i < a.count; i++) {
            UbcGiven *given = given_find(ctx->jfcs, a.cookie[i]);

            if (given) {
                given->comp++;
                jfc[known++] = given->object;
            }
        }
        ubc_ctx_unlock(&ctx->base);
        /* All were dropped, and there is no time-out that this could be. */
    } while (a.count && !known && timeout < 0);
    return known;
}

void ubc_ack_jfc(urma_jfc *jfc[], uint32_t n_events[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (jfc[i] && n_events[i]) {
            ack_add(&jfc[i]->event_mutex, &jfc[i]->event_cond,
                    &jfc[i]->comp_events_acked, n_events[i]);
        }
    }
}

/* ---- Asynchronous events ------------------------------------------------------------ */

/* What is counted for the object of an event. */
typedef struct Counts {
    pthread_mutex_t *lock;
    pthread_cond_t *cond;
    uint32_t *acked;
} Counts;

#define COUNTS(object) (Counts) {                   \
    &(object)->event_mutex, &(object)->event_cond,  \
    &(object)->async_events_acked }

/* Of an object? */
static bool event_counts(uint32_t type)
{
    switch (type) {
    case URMA_EVENT_JFC_ERR:
    case URMA_EVENT_JFS_ERR:
    case URMA_EVENT_JFR_ERR:
    case URMA_EVENT_JFR_LIMIT:
    case URMA_EVENT_JETTY_ERR:
    case URMA_EVENT_JETTY_LIMIT:
    case URMA_EVENT_JETTY_GRP_ERR:
        return true;
    default:
        return false;
    }
}

/* With event_counts(). */
static Counts counts_of(const urma_async_event *event)
{
    switch (event->event_type) {
    case URMA_EVENT_JFC_ERR:
        return COUNTS(event->jfc);
    case URMA_EVENT_JFS_ERR:
        return COUNTS(event->jfs);
    case URMA_EVENT_JFR_ERR:
    case URMA_EVENT_JFR_LIMIT:
        return COUNTS(event->jfr);
    case URMA_EVENT_JETTY_GRP_ERR:
        return COUNTS(event->jetty_grp);
    default:
        return COUNTS(event->jetty);
    }
}

/* False: its object is no more. */
static bool async_count(UbcCtx *ctx, const struct urma_async_cmd *a)
{
    UbcGiven *given;

    if (!event_counts(a->type)) {
        return true;
    }
    ubc_ctx_lock(&ctx->base);
    given = given_find(a->type == URMA_EVENT_JFC_ERR ? ctx->jfcs : ctx->others,
                       a->data);
    if (given) {
        given->async++;
    }
    ubc_ctx_unlock(&ctx->base);
    return given != NULL;
}

int ubc_get_async_event(urma_context *ctx, urma_async_event *event)
{
    struct urma_async_cmd a;

    do {
        int result;

        a = (struct urma_async_cmd) { 0 };
        result = ubc_event_call(ctx->async_fd, URMA_GET_ASYNC_EVENT, &a);
        if (result) {
            return ubc_status(result);
        }
    } while (!async_count((UbcCtx *)ctx, &a));
    *event = (urma_async_event) { .urma_ctx = ctx, .event_type = a.type };
    if (event_counts(a.type)) {
        event->jfc = (urma_jfc *)(uintptr_t)a.data;
    } else {
        event->number = a.data;     /* of a port, or an EID's index */
    }
    return 0;
}

void ubc_ack_async_event(urma_async_event *event)
{
    if (event_counts(event->event_type)) {
        Counts c = counts_of(event);

        ack_add(c.lock, c.cond, c.acked, 1);
    }
}
