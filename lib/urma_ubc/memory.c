/*
 * Provider of liburma: TokenIDs and segments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

urma_token_id *ubc_alloc_token_id(urma_context *ctx)
{
    struct urma_token_cmd a = { 0 };
    urma_token_id *t = calloc(1, sizeof(*t));

    if (t && ubc_call(ctx, URMA_ALLOC_TOKEN_ID, &a)) {
        free(t);
        return NULL;
    }
    if (t) {
        *t = (urma_token_id) { .urma_ctx = ctx, .token_id = a.token_id,
                               .handle = a.handle };
    }
    return t;
}

int ubc_free_token_id(urma_token_id *token)
{
    struct urma_token_cmd a = {
        .handle = token->handle, .token_id = token->token_id,
    };
    int result = ubc_call(token->urma_ctx, URMA_FREE_TOKEN_ID, &a);

    if (result && errno != EIO) {
        return ubc_status(result);
    }
    free(token);
    return 0;
}

urma_target_seg *ubc_register_seg(urma_context *ctx, urma_seg_cfg *cfg)
{
    struct urma_seg_cmd a = {
        .va = cfg->va, .len = cfg->len, .token = cfg->token.token,
        .flag = cfg->flag,
    };
    UbcSeg *s;

    if (!cfg->token_id) {
        errno = EINVAL;
        return NULL;
    }
    a.token_id = cfg->token_id->token_id;
    a.token_handle = cfg->token_id->handle;
    s = calloc(1, sizeof(*s));
    if (s && ubc_call(ctx, URMA_REGISTER_SEG, &a)) {
        free(s);
        return NULL;
    }
    if (s) {
        s->base = (urma_target_seg) {
            .seg = {
                .ubva = { .eid = ctx->eid, .va = cfg->va },
                .len = cfg->len,
                .attr = cfg->flag,
                .token_id = a.token_id,
            },
            .user_ctx = cfg->user_ctx,
            .urma_ctx = ctx,
            .token_id = cfg->token_id,
            .handle = a.handle,
        };
        s->token_en = cfg->flag & URMA_TOKEN_POLICY;
        s->token = cfg->token.token;
    }
    return s ? &s->base : NULL;
}

int ubc_unregister_seg(urma_target_seg *seg)
{
    struct urma_handle_cmd a = { .handle = seg->handle };
    int result = ubc_call(seg->urma_ctx, URMA_UNREGISTER_SEG, &a);

    if (result && errno != EIO) {
        return ubc_status(result);
    }
    free(seg);
    return 0;
}

/* Requests name it by TokenID and TokenValue; the kernel has no part in it. */
urma_target_seg *ubc_import_seg(urma_context *ctx, urma_seg *seg,
                                urma_token *token, uint64_t addr,
                                uint32_t flag)
{
    UbcSeg *s = calloc(1, sizeof(*s));

    if (s) {
        s->base = (urma_target_seg) { .seg = *seg, .mva = addr,
                                      .urma_ctx = ctx };
        s->token_en = seg->attr & URMA_TOKEN_POLICY;
        s->token = token ? token->token : 0;
    }
    return s ? &s->base : NULL;
}

int ubc_unimport_seg(urma_target_seg *seg)
{
    free(seg);
    return 0;
}
