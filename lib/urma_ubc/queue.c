/*
 * Provider of liburma: JFS and JFR.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

#define QUEUE_NON_BLOCKING 0x2000u  /* in the flags of a JFS */
#define JFR_NON_BLOCKING 0x4000u

/* A queue that could not be set up here, or is to go; with the context's lock. */
static int queue_delete(urma_context *ctx, enum urma_command command,
                        uint64_t handle, UbcGiven *given,
                        uint32_t *events)
{
    struct urma_handle_cmd a = { .handle = handle };
    int result = ubc_call(ctx, command, &a);

    if (result && errno != EIO) {
        return ubc_status(result);
    }
    if (result) {
        /* The device is gone, and the queue with it. */
        ubc_given_remove(given);
    }
    *events = result ? given->async : a.async_events;
    return 0;
}

/* ---- JFS ------------------------------------------------------------------------- */

static void jfs_free(UbcJfs *s)
{
    ubc_given_end(s->base.urma_ctx, &s->given);
    ubc_ring_close(&s->sq);
    pthread_mutex_destroy(&s->base.event_mutex);
    pthread_cond_destroy(&s->base.event_cond);
    free(s);
}

/* With the context's lock. */
static int jfs_open(UbcJfs *s, urma_context *ctx, const urma_jfs_cfg *cfg)
{
    struct urma_queue_private mine = { 0 };
    struct urma_jetty_cmd a = {
        .send_depth = cfg->depth,
        .send_flag = cfg->flag,
        .trans_mode = cfg->trans_mode,
        .priority = cfg->priority,
        .send_sge = cfg->max_sge,
        .send_rsge = cfg->max_rsge,
        .inline_max = cfg->max_inline_data,
        .rnr_retry = cfg->rnr_retry,
        .err_timeout = cfg->err_timeout,
        .send_jfc_id = cfg->jfc->jfc_id.id,
        .send_jfc = cfg->jfc->handle,
        .cookie = (uintptr_t)s,
    };
    uint32_t events;

    ubc_udata(&a.udata, &mine, sizeof(mine));
    if (ubc_call(ctx, URMA_CREATE_JFS, &a)) {
        return -1;
    }
    s->base.handle = a.handle;
    s->base.jfs_id = (urma_jetty_id) { ctx->eid, 0, a.id };
    s->owner = (UbcOwner) { .sq = &s->sq, .object = s };
    if (ubc_ring_open(&s->sq, ctx, a.handle, a.id, &mine, UBQ_BLOCK,
                      cfg->flag & URMA_LOCK_FREE) ||
        ubc_owner_set((UbcCtx *)ctx, a.id, &s->owner)) {
        queue_delete(ctx, URMA_DELETE_JFS, a.handle, &s->given, &events);
        return -1;
    }
    return 0;
}

urma_jfs *ubc_create_jfs(urma_context *ctx, urma_jfs_cfg *cfg)
{
    UbcJfs *s = calloc(1, sizeof(*s));
    int err;

    if (!s) {
        return NULL;
    }
    s->base.urma_ctx = ctx;
    s->base.cfg = *cfg;
    pthread_mutex_init(&s->base.event_mutex, NULL);
    pthread_cond_init(&s->base.event_cond, NULL);
    ubc_given_add(ctx, &((UbcCtx *)ctx)->others, &s->given, s);
    ubc_ctx_lock(ctx);
    err = jfs_open(s, ctx, cfg);
    ubc_ctx_unlock(ctx);
    if (err) {
        jfs_free(s);
        return NULL;
    }
    return &s->base;
}

int ubc_modify_jfs(urma_jfs *jfs, urma_jfs_attr *attr)
{
    struct urma_jetty_cmd a = {
        .handle = jfs->handle, .mask = attr->mask, .state = attr->state,
    };
    int result = ubc_call(jfs->urma_ctx, URMA_MODIFY_JFS, &a);

    if (!result && attr->state == URMA_RESET) {
        ubc_jfc_forget(jfs->cfg.jfc, jfs->jfs_id.id, UBC_FORGET_SENT);
        ubc_ring_reset(&((UbcJfs *)jfs)->sq);
    }
    return ubc_status(result);
}

int ubc_query_jfs(urma_jfs *jfs, urma_jfs_cfg *cfg, urma_jfs_attr *attr)
{
    struct urma_jetty_cmd a = { .handle = jfs->handle };
    int result = ubc_call(jfs->urma_ctx, URMA_QUERY_JFS, &a);

    if (!result) {
        *cfg = jfs->cfg;
        *attr = (urma_jfs_attr) { .mask = URMA_MODIFY_JFS_STATE,
                                  .state = a.state };
    }
    return ubc_status(result);
}

int ubc_queue_flush(urma_context *ctx, urma_jfc *jfc, uint64_t handle,
                    uint32_t id, int n, urma_cr *cr)
{
    struct urma_user_ctl_cmd a = {
        .in_addr = (uintptr_t)&handle, .in_len = sizeof(handle),
        .opcode = URMA_CTL_DRAIN,
    };

    return ubc_call(ctx, URMA_USER_CTL, &a)
           ? -1 : ubc_jfc_flushed(jfc, id, n, cr);
}

int ubc_flush_jfs(urma_jfs *jfs, int cr_cnt, urma_cr *cr)
{
    return ubc_queue_flush(jfs->urma_ctx, jfs->cfg.jfc, jfs->handle,
                           jfs->jfs_id.id, cr_cnt, cr);
}

int ubc_delete_jfs(urma_jfs *jfs)
{
    uint32_t events;
    int status;

    ubc_ctx_lock(jfs->urma_ctx);
    status = queue_delete(jfs->urma_ctx, URMA_DELETE_JFS, jfs->handle,
                          &((UbcJfs *)jfs)->given, &events);
    if (!status) {
        ubc_jfc_forget(jfs->cfg.jfc, jfs->jfs_id.id, UBC_FORGET_QUEUE);
        ubc_owner_clear((UbcCtx *)jfs->urma_ctx, jfs->jfs_id.id);
    }
    ubc_ctx_unlock(jfs->urma_ctx);
    if (status) {
        return status;
    }
    if (!(jfs->cfg.flag & QUEUE_NON_BLOCKING)) {
        ubc_events_wait(&jfs->event_mutex, &jfs->event_cond,
                        &jfs->async_events_acked, events);
    }
    jfs_free((UbcJfs *)jfs);
    return 0;
}

int ubc_delete_jfs_batch(urma_jfs **jfs, int n, urma_jfs **bad)
{
    for (int i = 0; i < n; i++) {
        int status = ubc_delete_jfs(jfs[i]);

        if (status) {
            *bad = jfs[i];
            return status;
        }
    }
    return 0;
}

/* ---- JFR ------------------------------------------------------------------------- */

static void jfr_free(UbcJfr *r)
{
    ubc_given_end(r->base.urma_ctx, &r->given);
    ubc_ring_close(&r->rq);
    pthread_mutex_destroy(&r->base.event_mutex);
    pthread_cond_destroy(&r->base.event_cond);
    free(r);
}

/* With the context's lock. */
static int jfr_open(UbcJfr *r, urma_context *ctx, const urma_jfr_cfg *cfg)
{
    struct urma_queue_private mine = { 0 };
    struct urma_jetty_cmd a = {
        .id = cfg->id,
        .recv_depth = cfg->depth,
        .recv_flag = cfg->flag,
        .trans_mode = cfg->trans_mode,
        .recv_sge = cfg->max_sge,
        .rnr_timer = cfg->min_rnr_timer,
        .recv_jfc_id = cfg->jfc->jfc_id.id,
        .recv_jfc = cfg->jfc->handle,
        .token = cfg->token.token,
        .cookie = (uintptr_t)r,
    };
    uint32_t events;

    ubc_udata(&a.udata, &mine, sizeof(mine));
    if (ubc_call(ctx, URMA_CREATE_JFR, &a)) {
        return -1;
    }
    r->base.handle = a.handle;
    r->base.jfr_id = (urma_jetty_id) { ctx->eid, 0, a.id };
    r->owner = (UbcOwner) { .rq = &r->rq, .object = r };
    if (ubc_ring_open(&r->rq, ctx, a.handle, a.id, &mine, UBQ_ELEMENT,
                      cfg->flag & URMA_JFR_LOCK_FREE) ||
        ubc_owner_set((UbcCtx *)ctx, a.id, &r->owner)) {
        queue_delete(ctx, URMA_DELETE_JFR, a.handle, &r->given, &events);
        return -1;
    }
    return 0;
}

urma_jfr *ubc_create_jfr(urma_context *ctx, urma_jfr_cfg *cfg)
{
    UbcJfr *r = calloc(1, sizeof(*r));
    int err;

    if (!r) {
        return NULL;
    }
    r->base.urma_ctx = ctx;
    r->base.cfg = *cfg;
    pthread_mutex_init(&r->base.event_mutex, NULL);
    pthread_cond_init(&r->base.event_cond, NULL);
    ubc_given_add(ctx, &((UbcCtx *)ctx)->others, &r->given, r);
    ubc_ctx_lock(ctx);
    err = jfr_open(r, ctx, cfg);
    ubc_ctx_unlock(ctx);
    if (err) {
        jfr_free(r);
        return NULL;
    }
    return &r->base;
}

/* Jetties that share it tell of its entries in JFCs of their own. */
static void jfr_reset(UbcJfr *r)
{
    urma_context *ctx = r->base.urma_ctx;

    ubc_ctx_lock(ctx);
    for (UbcGiven *j = ((UbcCtx *)ctx)->jfcs; j; j = j->next) {
        ubc_jfc_forget(j->object, r->base.jfr_id.id, UBC_FORGET_RQ);
    }
    ubc_ring_reset(&r->rq);
    ubc_ctx_unlock(ctx);
}

int ubc_modify_jfr(urma_jfr *jfr, urma_recv_attr *attr)
{
    struct urma_jetty_cmd a = {
        .handle = jfr->handle, .mask = attr->mask,
        .rx_threshold = attr->rx_threshold, .state = attr->state,
    };
    UbcRing *rq = &((UbcJfr *)jfr)->rq;
    int result = ubc_call(jfr->urma_ctx, URMA_MODIFY_JFR, &a);

    if (result || !(attr->mask & URMA_MODIFY_STATE)) {
        return ubc_status(result);
    }
    if (attr->state == URMA_JFR_RESET) {
        jfr_reset((UbcJfr *)jfr);
    } else if (attr->state == URMA_JFR_ERROR) {
        /* What another thread posted meanwhile was not flushed yet. */
        ubc_recv_stop(jfr->urma_ctx, rq);
    }
    return ubc_status(result);
}

int ubc_query_jfr(urma_jfr *jfr, urma_jfr_cfg *cfg, urma_recv_attr *attr)
{
    struct urma_jetty_cmd a = { .handle = jfr->handle };
    int result = ubc_call(jfr->urma_ctx, URMA_QUERY_JFR, &a);

    if (!result) {
        *cfg = jfr->cfg;
        *attr = (urma_recv_attr) {
            .mask = URMA_MODIFY_THRESHOLD | URMA_MODIFY_STATE,
            .rx_threshold = a.rx_threshold, .state = a.state,
        };
    }
    return ubc_status(result);
}

int ubc_delete_jfr(urma_jfr *jfr)
{
    uint32_t events;
    int status;

    ubc_ctx_lock(jfr->urma_ctx);
    status = queue_delete(jfr->urma_ctx, URMA_DELETE_JFR, jfr->handle,
                          &((UbcJfr *)jfr)->given, &events);
    if (!status) {
        ubc_jfc_forget(jfr->cfg.jfc, jfr->jfr_id.id, UBC_FORGET_QUEUE);
        ubc_owner_clear((UbcCtx *)jfr->urma_ctx, jfr->jfr_id.id);
    }
    ubc_ctx_unlock(jfr->urma_ctx);
    if (status) {
        return status;
    }
    if (!(jfr->cfg.flag & JFR_NON_BLOCKING)) {
        ubc_events_wait(&jfr->event_mutex, &jfr->event_cond,
                        &jfr->async_events_acked, events);
    }
    jfr_free((UbcJfr *)jfr);
    return 0;
}

int ubc_delete_jfr_batch(urma_jfr **jfr, int n, urma_jfr **bad)
{
    for (int i = 0; i < n; i++) {
        int status = ubc_delete_jfr(jfr[i]);

        if (status) {
            *bad = jfr[i];
            return status;
        }
    }
    return 0;
}
