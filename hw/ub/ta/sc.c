/*
 * Sequence contexts: order kept by the target (UB 2.0 §7.3.3.3).  RO and NO are
 * executed as they come; SO, and what must find all before it done, is held until
 * then, or refused with RNR where there is no room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* No message gives an SC back, and a request names nothing but the SCID: one taken
 * from a queue that was only silent would refuse what that sends next, or take it
 * for the next owner's.  With none left there is SV = 0. */
static bool find_place(const UbTa *ta, uint32_t *scid)
{
    for (uint32_t i = 0; i < ta->sc_size; i++) {
        if (!ta->scs[i]) {
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

static void unlink_held(Ctx *ctx, Held **at)
{
    Held *h = *at;

    *at = h->next;
    if (!h->next) {
        ctx->held_end = at;
    }
    ctx->ta->helds--;
}

static void drop_held(Ctx *ctx, Held **at, UbTaCounter why)
{
    Held *h = *at;

    unlink_held(ctx, at);
    ta_drop(ctx->ta, why, h->pkt);
    g_free(h);
}

void ta_sc_drop(Ctx *ctx)
{
    while (ctx->held) {
        drop_held(ctx, &ctx->held, UB_TAC_DROP_FLUSHED);
    }
    if (ctx->sc) {
        ctx->ta->scs[ctx->scid] = NULL;
        ctx->ta->sc_count--;
        ctx->sc = false;
    }
}

Ctx *ta_sc_find(UbTa *ta, uint32_t scid, const Key *key)
{
    Ctx *ctx = scid < ta->sc_size ? ta->scs[scid] : NULL;

    return ctx && ctx->key.who == key->who &&
           ctx->key.entity == key->entity &&
           (ctx->key.local == key->local ||
            ctx->key.local == KEY_ANY_LOCAL) &&
           ub_eid_same(&ctx->key.eid, &key->eid) ? ctx : NULL;
}

bool ta_sc_gate(UbTa *ta, const Arrival *a)
{
    const UbTah *t = &a->tah;
    bool closing = t->opcode == UB_TA_WRITE_NOTIFY ||
                   t->opcode == UB_TA_WRITE_IMM;

    return (t->order != UB_TA_SO && !closing) ||
           ta_ctx_all_before(a->ctx, t->tassn);
}

/* The operation of a packet that finds no room comes again, all of it. */
static void drop_operation(Ctx *ctx, uint16_t tassn)
{
    for (Held **p = &ctx->held; *p;) {
        if ((*p)->tassn == tassn) {
            drop_held(ctx, p, UB_TAC_DROP_ROOM);
        } else {
            p = &(*p)->next;
        }
    }
}

bool ta_sc_hold(UbTa *ta, Arrival *a, CorePacket *pkt)
{
    Ctx *ctx = a->ctx;
    Held *h;

    if (a->late) {
        return false;           /* and so the rest of its operation */
    }
    if (ta->helds >= ta->cfg.sc_buffer) {
        ta_count(ta, UB_TAC_DROP_ROOM);
        drop_operation(ctx, a->tah.tassn);
        return false;
    }
    h = g_new0(Held, 1);
    h->pkt = pkt;
    h->rx = a->rx;
    h->flow = a->flow;
    h->opened = a->opened;
    h->tassn = a->tah.tassn;
    h->at = ta->now + ta_time(ta, ta->cfg.hold_time);
    *ctx->held_end = h;
    ctx->held_end = &h->next;
    ta->helds++;
    ta_count(ta, UB_TAC_SC_HELD);
    ta_ctx_timer(ctx);
    return true;
}

/* The first of those that are held whose turn has come. */
static Held *take_ready(Ctx *ctx)
{
    for (Held **p = &ctx->held; *p; p = &(*p)->next) {
        Held *h = *p;

        if (ta_ctx_all_before(ctx, h->tassn)) {
            unlink_held(ctx, p);
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
    ta_again(ctx->ta, h, false);
    g_free(h);
    return true;
}

/* One that has been held for too long, or NULL. */
static Held *take_late(Ctx *ctx)
{
    for (Held **p = &ctx->held; *p; p = &(*p)->next) {
        Held *h = *p;

        if (h->at <= ctx->ta->now) {
            unlink_held(ctx, p);
            return h;
        }
    }
    return NULL;
}

void ta_sc_expired(Ctx *ctx)
{
    Held *h;

    while ((h = take_late(ctx))) {
        ta_count(ctx->ta, UB_TAC_HELD_TOO_LONG);
        h->rx.flow = &h->flow;
        ta_again(ctx->ta, h, true);
        g_free(h);
    }
}
