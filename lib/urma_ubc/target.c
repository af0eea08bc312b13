/*
 * Provider of liburma: peers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubc.h"

static urma_target_jetty *import(urma_context *ctx, const urma_rjetty *peer,
                                 urma_token *token, enum urma_command command)
{
    struct urma_target_private mine = { 0 };
    struct urma_target_cmd a = {
        .id = peer->jetty_id.id,
        .flag = peer->flag,
        .token = token ? token->token : 0,
        .trans_mode = peer->trans_mode,
        .policy = peer->policy,
        .type = peer->type,
        .tp_type = peer->tp_type,
    };
    UbcTarget *t = calloc(1, sizeof(*t));

    memcpy(a.eid, peer->jetty_id.eid.raw, sizeof(a.eid));
    ubc_udata(&a.udata, &mine, sizeof(mine));
    if (t && ubc_call(ctx, command, &a)) {
        free(t);
        return NULL;
    }
    if (t) {
        t->base = (urma_target_jetty) {
            .urma_ctx = ctx, .id = peer->jetty_id, .handle = a.handle,
            .trans_mode = peer->trans_mode, .tpn = a.tpn, .type = peer->type,
            .flag = peer->flag, .policy = peer->policy,
            .tp_type = peer->tp_type,
        };
        t->row = mine.row;
        t->token_en = token && peer->flag & URMA_TOKEN_POLICY;
        t->token = token ? token->token : 0;
    }
    return t ? &t->base : NULL;
}

urma_target_jetty *ubc_import_jetty(urma_context *ctx, urma_rjetty *rjetty,
                                    urma_token *token)
{
    return import(ctx, rjetty, token, URMA_IMPORT_JETTY);
}

urma_target_jetty *ubc_import_jfr(urma_context *ctx, urma_rjfr *rjfr,
                                  urma_token *token)
{
    const urma_rjetty peer = {
        .jetty_id = rjfr->jfr_id, .trans_mode = rjfr->trans_mode,
        .type = URMA_TARGET_JFR, .flag = rjfr->flag, .tp_type = rjfr->tp_type,
    };

    return import(ctx, &peer, token, URMA_IMPORT_JFR);
}

/* Both commands take either. */
int ubc_unimport(urma_target_jetty *target)
{
    struct urma_handle_cmd a = { .handle = target->handle };
    int result = ubc_call(target->urma_ctx, URMA_UNIMPORT_JETTY, &a);

    if (result && errno != EIO) {
        return ubc_status(result);
    }
    free(target);
    return 0;
}
