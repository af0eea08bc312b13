/*
 * Provider of liburma: jetties, which send by entries of their own and receive by
 * those of a JFR.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

#define JETTY_NON_BLOCKING 2u

static void jetty_free(UbcJetty *j)
{
    ubc_given_end(j->base.urma_ctx, &j->given);
    ubc_ring_close(&j->sq);
    pthread_mutex_destroy(&j->base.event_mutex);
    pthread_cond_destroy(&j->base.event_cond);
    free(j);
}

/* With the context's lock. */
static int jetty_open(UbcJetty *j, urma_context *ctx,
                      const urma_jetty_cfg *cfg)
{
    const urma_jfs_cfg *send = &cfg->jfs_cfg;
    struct urma_queue_private mine = { 0 };
    struct urma_jetty_cmd a = {
        .id = cfg->id,
        .flag = cfg->flag,
        .send_depth = send->depth,
        .send_flag = send->flag,
        .trans_mode = send->trans_mode,
        .priority = send->priority,
        .send_sge = send->max_sge,
        .send_rsge = send->max_rsge,
        .inline_max = send->max_inline_data,
        .rnr_retry = send->rnr_retry,
        .err_timeout = send->err_timeout,
        .send_jfc_id = send->jfc->jfc_id.id,
        .send_jfc = send->jfc->handle,
        .recv_jfc_id = cfg->jfc ? cfg->jfc->jfc_id.id : 0,
        .recv_jfc = cfg->jfc ? cfg->jfc->handle : 0,
        .jfr_id = cfg->jfr->jfr_id.id,
        .jfr = cfg->jfr->handle,
        .group = cfg->jetty_grp ? cfg->jetty_grp->handle : 0,
        .in_group = cfg->jetty_grp != NULL,
        .cookie = (uintptr_t)j,
    };

    ubc_udata(&a.udata, &mine, sizeof(mine));
    if (ubc_call(ctx, URMA_CREATE_JETTY, &a)) {
        return -1;
    }
    j->base.handle = a.handle;
    j->base.jetty_id = (urma_jetty_id) { ctx->eid, 0, a.id };
    j->owner = (UbcOwner) { .sq = &j->sq, .object = j, .jetty = true };
    if (ubc_ring_open(&j->sq, ctx, a.handle, a.id, &mine, UBQ_BLOCK,
                      send->flag & URMA_LOCK_FREE) ||
        ubc_owner_set((UbcCtx *)ctx, a.id, &j->owner)) {
        struct urma_handle_cmd end = { .handle = a.handle };

        ubc_call(ctx, URMA_DELETE_JETTY, &end);
        return -1;
    }
    return 0;
}

urma_jetty *ubc_create_jetty(urma_context *ctx, urma_jetty_cfg *cfg)
{
    UbcJetty *j;
    int err;

    if (!(cfg->flag & URMA_JETTY_SHARE_JFR) || !cfg->jfr) {
        errno = EINVAL;
        return NULL;
    }
    j = calloc(1, sizeof(*j));
    if (!j) {
        return NULL;
    }
    j->base.urma_ctx = ctx;
    j->base.cfg = *cfg;
    pthread_mutex_init(&j->base.event_mutex, NULL);
    pthread_cond_init(&j->base.event_cond, NULL);
    ubc_given_add(ctx, &((UbcCtx *)ctx)->others, &j->given, j);
    ubc_ctx_lock(ctx);
    err = jetty_open(j, ctx, cfg);
    ubc_ctx_unlock(ctx);
    if (err) {
        jetty_free(j);
        return NULL;
    }
    return &j->base;
}

static void forget(urma_jetty *jetty)
{
    const urma_jetty_cfg *cfg = &jetty->cfg;
    urma_jfc *recv = cfg->jfc ? cfg->jfc : cfg->jfr->cfg.jfc;

    ubc_jfc_forget(cfg->jfs_cfg.jfc, jetty->jetty_id.id, UBC_FORGET_QUEUE);
    if (recv != cfg->jfs_cfg.jfc) {
        ubc_jfc_forget(recv, jetty->jetty_id.id, UBC_FORGET_QUEUE);
    }
    ubc_owner_clear((UbcCtx *)jetty->urma_ctx, jetty->jetty_id.id);
}

int ubc_modify_jetty(urma_jetty *jetty, urma_recv_attr *attr)
{
    struct urma_jetty_cmd a = {
        .handle = jetty->handle, .mask = attr->mask,
        .rx_threshold = attr->rx_threshold, .state = attr->state,
    };
    int result = ubc_call(jetty->urma_ctx, URMA_MODIFY_JETTY, &a);

    if (!result && attr->mask & URMA_MODIFY_STATE &&
        attr->state == URMA_RESET) {
        ubc_jfc_forget(jetty->cfg.jfs_cfg.jfc, jetty->jetty_id.id,
                       UBC_FORGET_SENT);
        ubc_ring_reset(&((UbcJetty *)jetty)->sq);
    }
    return ubc_status(result);
}

int ubc_query_jetty(urma_jetty *jetty, urma_jetty_cfg *cfg,
                    urma_recv_attr *attr)
{
    struct urma_jetty_cmd a = { .handle = jetty->handle };
    int result = ubc_call(jetty->urma_ctx, URMA_QUERY_JETTY, &a);

    if (!result) {
        *cfg = jetty->cfg;
        *attr = (urma_recv_attr) {
            .mask = URMA_MODIFY_THRESHOLD | URMA_MODIFY_STATE,
            .rx_threshold = a.rx_threshold, .state = a.state,
        };
    }
    return ubc_status(result);
}

int ubc_flush_jetty(urma_jetty *jetty, int cr_cnt, urma_cr *cr)
{
    return ubc_queue_flush(jetty->urma_ctx, jetty->cfg.jfs_cfg.jfc,
                           jetty->handle, jetty->jetty_id.id, cr_cnt, cr);
}

int ubc_delete_jetty(urma_jetty *jetty)
{
    struct urma_handle_cmd a = { .handle = jetty->handle };
    int result;

    ubc_ctx_lock(jetty->urma_ctx);
    result = ubc_call(jetty->urma_ctx, URMA_DELETE_JETTY, &a);
    if (!result || errno == EIO) {
        forget(jetty);
    }
    ubc_ctx_unlock(jetty->urma_ctx);
    if (result && errno != EIO) {
        return ubc_status(result);
    }
    if (result) {
        ubc_given_end(jetty->urma_ctx, &((UbcJetty *)jetty)->given);
        a.async_events = ((UbcJetty *)jetty)->given.async;
    }
    if (!(jetty->cfg.flag & JETTY_NON_BLOCKING)) {
        ubc_events_wait(&jetty->event_mutex, &jetty->event_cond,
                        &jetty->async_events_acked, a.async_events);
    }
    jetty_free((UbcJetty *)jetty);
    return 0;
}

int ubc_delete_jetty_batch(urma_jetty **jetty, int n, urma_jetty **bad)
{
    for (int i = 0; i < n; i++) {
        int status = ubc_delete_jetty(jetty[i]);

        if (status) {
            *bad = jetty[i];
            return status;
        }
    }
    return 0;
}

int ubc_bind_jetty(urma_jetty *jetty, urma_target_jetty *target)
{
    struct urma_bind_cmd a = {
        .jetty = jetty->handle, .target = target->handle,
    };
    int result = ubc_call(jetty->urma_ctx, URMA_BIND_JETTY, &a);

    if (!result) {
        jetty->remote_jetty = target;
        target->tpn = a.tpn;
    }
    return ubc_status(result);
}

int ubc_unbind_jetty(urma_jetty *jetty)
{
    struct urma_bind_cmd a = { .jetty = jetty->handle };
    int result = ubc_call(jetty->urma_ctx, URMA_UNBIND_JETTY, &a);

    if (!result) {
        jetty->remote_jetty = NULL;
    }
    return ubc_status(result);
}
