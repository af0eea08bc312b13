/*
 * Provider of liburma: groups of jetties.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

static void group_free(urma_jetty_grp *g)
{
    ubc_given_end(g->urma_ctx, &((UbcGroup *)g)->given);
    pthread_mutex_destroy(&g->event_mutex);
    pthread_cond_destroy(&g->event_cond);
    free(g);
}

urma_jetty_grp *ubc_create_jetty_grp(urma_context *ctx,
                                     urma_jetty_grp_cfg *cfg)
{
    struct urma_group_cmd a = {
        .token = cfg->token.token, .id = cfg->id, .policy = cfg->policy,
        .flag = cfg->flag,
    };
    urma_jetty_grp *g = calloc(1, sizeof(UbcGroup));

    if (!g) {
        return NULL;
    }
    memcpy(a.name, cfg->name, sizeof(a.name));
    a.cookie = (uintptr_t)g;
    g->urma_ctx = ctx;
    g->cfg = *cfg;
    pthread_mutex_init(&g->event_mutex, NULL);
    pthread_cond_init(&g->event_cond, NULL);
    ubc_given_add(ctx, &((UbcCtx *)ctx)->others, &((UbcGroup *)g)->given, g);
    if (ubc_call(ctx, URMA_CREATE_JETTY_GRP, &a)) {
        group_free(g);
        return NULL;
    }
    g->jetty_grp_id = (urma_jetty_id) { ctx->eid, 0, a.id };
    g->handle = a.handle;
    return g;
}

int ubc_delete_jetty_grp(urma_jetty_grp *g)
{
    struct urma_group_cmd a = { .handle = g->handle };
    int result = ubc_call(g->urma_ctx, URMA_DESTROY_JETTY_GRP, &a);

    if (result && errno != EIO) {
        return ubc_status(result);
    }
    if (result) {
        ubc_given_end(g->urma_ctx, &((UbcGroup *)g)->given);
    }
    ubc_events_wait(&g->event_mutex, &g->event_cond, &g->async_events_acked,
                    result ? ((UbcGroup *)g)->given.async : a.async_events);
    group_free(g);
    return 0;
}
