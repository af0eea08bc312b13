/*
 * Sequence contexts: order kept by the target (UB 2.0 §7.3.3.3).  RO and NO are
 * executed as they come; SO, and what must find all before it done, is held until
 * then, or refused with RNR where there is no room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Nobody has used it for so long that its owner must be gone. */
static bool abandoned(UbTa *ta, const Ctx *ctx)
{
    return !ctx->held &&
           ta->now - ctx->used > 2 * ta_time(ta, ta->cfg.ack_timeout);
}

static bool find_place(UbTa *ta, uint32_t *scid)
{
    for (uint32_t i = 0; i < ta->sc_size; i++) {
        if (!ta->scs[i]) {
            *scid = i;
            return true;
        }
    }
    for (uint32_t i = 0; i < ta->sc_size; i++) {
        if (abandoned(ta, ta->scs[i])) {
            ta_sc_drop(ta->scs[i]);
            *scid = i;
            return true;
        }
    }
    return false;
}

bool ta_sc_grant(Ctx *ctx, uint16_t tassn, uint32_t rcid)
{
    UbTa *ta = ctx->ta;
    uint32_t scid;

    if (ctx->sc) {
        scid = ctx->scid;       /* the initiator began anew */
        ta_sc_drop(ctx);
    } else if (!find_place(ta, &scid)) {
        ta_count(ta, UB_TAC_SC_REFUSED);
        return false;
    }
    ctx->sc = true;
    ctx->scid = scid;
    ctx->rcid = rcid;
    ta->scs[scid] = ctx;
    ta->sc_count++;
    /* What came before it is not its business. */
    ctx->sc_base = tassn;
    ta_count(ta, UB_TAC_SC_GRANTED);
    return true;
}

static void free_held(Ctx *ctx, Held **at)
{
    Held *h = *at;

    *at = h->next;
    if (!h->next) {
        ctx->held_end = at;
    }
    core_packet_free(h->pkt);
    g_free(h);
    ctx->ta->helds--;
}

void ta_sc_drop(Ctx *ctx)
{
    while (ctx->held) {
        free_held(ctx, &ctx->held);
    }
    if (ctx->sc) {
        ctx->ta->scs[ctx->scid] = NULL;
        ctx->ta->sc_count--;
        ctx->sc = false;
    }
}

Ctx *ta_sc_find(UbTa *ta, uint32_t scid, uint64_t who, const UbEid *eid)
{
    Ctx *ctx = scid < ta->sc_size ? ta->scs[scid] : NULL;

    return ctx && ctx->key.who == who && ub_eid_same(&ctx->key.eid, eid)
           ? ctx : NULL;
}

/* It must find all before it done. */
static bool must_wait(const Ctx *ctx, const UbTah *t)
{
    bool closing = t->opcode == UB_TA_WRITE_NOTIFY ||
                   t->opcode == UB_TA_WRITE_IMM;

    return (t->order == UB_TA_SO || closing) &&
           !ta_ctx_all_before(ctx, t->tassn);
}

bool ta_sc_gate(UbTa *ta, Arrival *a, CorePacket *pkt, Outcome *out)
{
    Ctx *ctx = a->ctx;
    Held *h;

    if (!must_wait(ctx, &a->tah)) {
        return false;
    }
    if (a->late) {
        *out = a->rx.last ? ta_outcome(UB_TAH_RNR, ta->cfg.rnr_timer)
                          : (Outcome) { .silent = true };
        return true;
    }
    if (ta->helds >= ta->cfg.sc_buffer) {
        for (Held **p = &ctx->held; *p;) {
            if ((*p)->tassn == a->tah.tassn) {
                free_held(ctx, p);      /* it will all come again */
            } else {
                p = &(*p)->next;
            }
        }
        *out = ta_outcome(UB_TAH_RNR, ta->cfg.rnr_timer);
        return true;
    }
    h = g_new0(Held, 1);
    h->pkt = pkt;
    h->rx = a->rx;
    h->flow = a->flow;
    h->tassn = a->tah.tassn;
    h->at = ta->now + ta_time(ta, ta->cfg.hold_time);
    *ctx->held_end = h;
    ctx->held_end = &h->next;
    ta->helds++;
    ta_count(ta, UB_TAC_SC_HELD);
    ta_ctx_timer(ctx);
    *out = (Outcome) { .held = true };
    return true;
}

/* The first of those that are held whose turn has come. */
static Held *take_ready(Ctx *ctx)
{
    for (Held **p = &ctx->held; *p; p = &(*p)->next) {
        Held *h = *p;

        if (ta_ctx_all_before(ctx, h->tassn)) {
            *p = h->next;
            if (!h->next) {
                ctx->held_end = p;
            }
            ctx->ta->helds--;
            return h;
        }
    }
    return NULL;
}

bool ta_sc_step(Ctx *ctx)
{
    Held *h = take_ready(ctx);

    if (!h) {
        return false;
    }
    h->rx.flow = &h->flow;
    ta_again(ctx->ta, &h->rx, h->pkt, false);
    g_free(h);
    return true;
}

void ta_sc_expired(Ctx *ctx)
{
    UbTa *ta = ctx->ta;

    for (Held **p = &ctx->held; *p;) {
        Held *h = *p;

        if (h->at > ta->now) {
            p = &h->next;
            continue;
        }
        ta_count(ta, UB_TAC_HELD_TOO_LONG);
        *p = h->next;
        if (!h->next) {
            ctx->held_end = p;
        }
        ta->helds--;
        h->rx.flow = &h->flow;
        ta_again(ta, &h->rx, h->pkt, true);
        g_free(h);
    }
}
