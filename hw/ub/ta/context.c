/*
 * Contexts of the target: which TASSNs of a peer's queue are executed, slices
 * that are not whole, completions that wait for others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Contexts with a time for each refusal: peers make as many contexts as they like. */
#define REFUSAL_TABLES 1024

/* ---- bits of the window ---- */

static bool get_bit(const Ctx *ctx, const uint64_t *map, uint16_t tassn)
{
    uint32_t i = tassn & (ctx->ta->cfg.window - 1);

    return map[i / 64] >> i % 64 & 1;
}

static void set_bit(const Ctx *ctx, uint64_t *map, uint16_t tassn, bool on)
{
    uint32_t i = tassn & (ctx->ta->cfg.window - 1);

    if (on) {
        map[i / 64] |= UINT64_C(1) << i % 64;
    } else {
        map[i / 64] &= ~(UINT64_C(1) << i % 64);
    }
}

static int distance(const Ctx *ctx, uint16_t tassn)
{
    return serial_diff(tassn, ctx->base, UB_TASSN_BITS);
}

static void free_times(Ctx *ctx)
{
    if (ctx->refused_when) {
        g_clear_pointer(&ctx->refused_when, g_free);
        ctx->ta->refusal_tables--;
    }
}

static void clear_refusal(Ctx *ctx, uint16_t tassn)
{
    if (get_bit(ctx, ctx->refused, tassn)) {
        set_bit(ctx, ctx->refused, tassn, false);
        if (!--ctx->refusals) {
            free_times(ctx);
        }
    }
}

static void base_step(Ctx *ctx)
{
    set_bit(ctx, ctx->done, ctx->base, false);
    clear_refusal(ctx, ctx->base);
    ctx->base++;
}

static void base_follow(Ctx *ctx)
{
    while (get_bit(ctx, ctx->done, ctx->base)) {
        base_step(ctx);
    }
}

/* What is missing before @tassn is given up. */
static void base_skip(Ctx *ctx, uint16_t tassn)
{
    while (ctx->base != tassn) {
        base_step(ctx);
    }
    base_follow(ctx);
}

static void ctx_start(Ctx *ctx, uint16_t tassn)
{
    uint32_t window = ctx->ta->cfg.window;

    memset(ctx->done, 0, window / 8);
    memset(ctx->refused, 0, window / 8);
    ctx->refusals = 0;
    free_times(ctx);
    ctx->started = true;
    /* Numbers begin at a multiple of 4096: earlier ones may be under way. */
    ctx->base = (tassn & 4095u) >= window ? tassn : tassn & ~4095u;
}

/* Whether the peer has lost its memory: @d from the base on, after a silence
 * (@old) or not.  A number that begins its numbering is missed where those behind
 * it came: this node is the one that began anew before. */
static bool begins_anew(const Ctx *ctx, uint16_t tassn, int d, bool old)
{
    return d < 0 ? old || d < -2 * (int)ctx->ta->cfg.window
                 : old && !d && !(tassn & 4095u);
}

bool ta_ctx_seen(Ctx *ctx, uint16_t tassn, bool in_sc)
{
    UbTa *ta = ctx->ta;
    int window = ta->cfg.window, d;
    bool old = ta->now - ctx->used > ta_time(ta, ta->cfg.dup_life);

    if (!ctx->started) {
        ctx_start(ctx, tassn);
    }
    d = distance(ctx, tassn);
    /* Who has lost its memory does not know its SC. */
    if (!in_sc && begins_anew(ctx, tassn, d, old)) {
        ctx_start(ctx, tassn);
        d = distance(ctx, tassn);
    }
    ctx->used = MAX(ctx->used, ta->now);
    if (d >= window) {
        base_skip(ctx, tassn - window + 1);
        ta_ctx_release(ctx);
    }
    return d < 0 || (d < window && get_bit(ctx, ctx->done, tassn));
}

void ta_ctx_done(Ctx *ctx, uint16_t tassn)
{
    int d = distance(ctx, tassn);

    if (d < 0 || d >= (int)ctx->ta->cfg.window) {
        return;
    }
    clear_refusal(ctx, tassn);
    set_bit(ctx, ctx->done, tassn, true);
    base_follow(ctx);
    ta_ctx_release(ctx);
}

void ta_ctx_refuse(Ctx *ctx, uint16_t tassn, bool ordered, int64_t due)
{
    uint32_t window = ctx->ta->cfg.window;
    int d = distance(ctx, tassn);

    if (d < 0 || d >= (int)window) {
        return;
    }
    /* Told to be silent until then, the peer is not one that was silent, and what
     * waits for it here is not given up. */
    ctx->used = MAX(ctx->used, due);
    ctx->due = MAX(ctx->due, due);
    if (!ordered) {
        return;
    }
    if (!ctx->refused_when && ctx->ta->refusal_tables < REFUSAL_TABLES) {
        ctx->ta->refusal_tables++;
        ctx->refused_when = g_new(int64_t, window);
        for (uint32_t i = 0; i < window; i++) {
            ctx->refused_when[i] = ctx->due;
        }
    }
    if (ctx->refused_when) {
        ctx->refused_when[tassn & (window - 1)] = due;
    }
    if (!get_bit(ctx, ctx->refused, tassn)) {
        set_bit(ctx, ctx->refused, tassn, true);
        ctx->refusals++;
    }
}

/* How long what was refused may take to come again.  Twice hold_time: an answer in a
 * TPACK waits for those before it (UB 2.0 §6.8.2), and what is held for its order keeps
 * them back by as much. */
static int64_t refusal_time(const UbTa *ta)
{
    return 2 * ta_time(ta, ta->cfg.hold_time);
}

/* The peer has given @tassn up: it would have come again.  Each has its own time,
 * for what waits behind it is refused again and again. */
static bool refusal_old(const Ctx *ctx, uint16_t tassn)
{
    UbTa *ta = ctx->ta;
    int64_t at = ctx->refused_when
                 ? ctx->refused_when[tassn & (ta->cfg.window - 1)]
                 : ctx->due;

    return ta->now - at > refusal_time(ta);
}

bool ta_ctx_refused_before(Ctx *ctx, uint16_t tassn)
{
    if (!ctx->refusals || distance(ctx, tassn) < 0) {
        return false;
    }
    for (uint16_t n = ctx->base; n != tassn; n++) {
        if (get_bit(ctx, ctx->refused, n)) {
            if (!refusal_old(ctx, n)) {
                return true;
            }
            clear_refusal(ctx, n);
        }
    }
    return false;
}

bool ta_ctx_all_before(const Ctx *ctx, uint16_t tassn)
{
    uint16_t n = serial_diff(ctx->sc_base, ctx->base, UB_TASSN_BITS) > 0
                 ? ctx->sc_base : ctx->base;

    while (serial_diff(tassn, n, UB_TASSN_BITS) > 0) {
        if (!get_bit(ctx, ctx->done, n++)) {
            return false;
        }
    }
    return true;
}

/* ---- life ---- */

static CtxList *list_of(Ctx *ctx, CtxOf of)
{
    return of == OF_ALL ? &ctx->ta->used : &ctx->peer->list;
}

static void unlink_use(Ctx *ctx)
{
    for (CtxOf of = OF_ALL; of < CTX_LISTS; of++) {
        CtxList *list = list_of(ctx, of);
        CtxLinks *at = &ctx->by[of];

        *(at->newer ? &at->newer->by[of].older : &list->newest) = at->older;
        *(at->older ? &at->older->by[of].newer : &list->oldest) = at->newer;
    }
}

static void link_use(Ctx *ctx)
{
    for (CtxOf of = OF_ALL; of < CTX_LISTS; of++) {
        CtxList *list = list_of(ctx, of);
        CtxLinks *at = &ctx->by[of];

        at->newer = NULL;
        at->older = list->newest;
        *(at->older ? &at->older->by[of].newer : &list->oldest) = ctx;
        list->newest = ctx;
    }
}

/* ---- fair shares: a peer that makes many does not push out those of others ---- */

static Peer *find_peer(const UbTa *ta, uint64_t who)
{
    return g_hash_table_lookup(ta->peers, &who);
}

static void join_peer(Ctx *ctx)
{
    UbTa *ta = ctx->ta;
    Peer *peer = find_peer(ta, ctx->key.who);

    if (!peer) {
        peer = g_new0(Peer, 1);
        peer->who = ctx->key.who;
        g_hash_table_insert(ta->peers, &peer->who, peer);
    }
    ctx->peer = peer;
    peer->count++;
    if (!ta->crowd || peer->count > ta->crowd->count) {
        ta->crowd = peer;
    }
}

static void leave_peer(Ctx *ctx)
{
    UbTa *ta = ctx->ta;
    Peer *peer = ctx->peer;

    if (!--peer->count) {
        if (ta->crowd == peer) {
            ta->crowd = NULL;
        }
        g_hash_table_remove(ta->peers, &peer->who);
    }
}

/* Without it the order of what was refused and comes again would be lost. */
static bool refuses(const Ctx *ctx)
{
    const UbTa *ta = ctx->ta;

    return ctx->refusals && ta->now - ctx->due <= refusal_time(ta);
}

static bool evictable(const Ctx *ctx)
{
    return !ctx->sc && !ctx->partial && !ctx->held && !ctx->held_done &&
           !ctx->busy && !ctx->releasing;
}

/* The oldest of a list that may go, of the peer with most of them if the list has
 * several; NULL: none of those that were looked at.  @all: also those that refuse. */
static Ctx *find_victim(UbTa *ta, CtxList *list, CtxOf of, bool all)
{
    unsigned tries = 64;
    Ctx *best = NULL, *next;

    for (Ctx *ctx = list->oldest; ctx && tries--; ctx = next) {
        next = ctx->by[of].newer;
        if (evictable(ctx) && (all || !refuses(ctx))) {
            if (of == OF_PEER) {
                return ctx;
            }
            if (!best || ctx->peer->count > best->peer->count) {
                best = ctx;
            }
        } else {
            /* What cannot go now does not stand before those that can: whoever is
             * refused comes again, and then others are looked at. */
            unlink_use(ctx);
            link_use(ctx);
        }
    }
    return best;
}

static bool make_room(UbTa *ta, uint64_t who)
{
    Peer *own = find_peer(ta, who);
    uint32_t peers = g_hash_table_size(ta->peers) + !own;
    uint32_t share = MAX(ta->cfg.contexts / peers, 1);
    Ctx *victim;

    if (g_hash_table_size(ta->contexts) < ta->cfg.contexts) {
        return true;
    }
    if (own && own->count >= share) {
        victim = find_victim(ta, &own->list, OF_PEER, false);
    } else if (ta->crowd && ta->crowd->count > share) {
        victim = find_victim(ta, &ta->crowd->list, OF_PEER, false);
        if (!victim) {
            victim = find_victim(ta, &ta->crowd->list, OF_PEER, true);
        }
    } else {
        victim = find_victim(ta, &ta->used, OF_ALL, false);
        if (victim) {
            ta->crowd = victim->peer;
        }
    }
    if (victim) {
        ta_ctx_flush(victim);
        ta_ctx_free(victim);
    }
    return victim;
}

Ctx *ta_ctx_find(UbTa *ta, const Key *key)
{
    return g_hash_table_lookup(ta->contexts, key);
}

/* One of an image that did not tell the addresses of this node apart: its peer has
 * most likely used one, and what it asks again is to be found. */
static Ctx *find_any_local(UbTa *ta, const Key *key)
{
    Key any = *key;
    Ctx *ctx;

    any.local = KEY_ANY_LOCAL;
    ctx = ta->any_local ? ta_ctx_find(ta, &any) : NULL;
    if (ctx) {
        g_hash_table_remove(ta->contexts, &any);
        ctx->key.local = key->local;
        g_hash_table_insert(ta->contexts, &ctx->key, ctx);
    }
    return ctx;
}

Ctx *ta_ctx(UbTa *ta, const Key *key)
{
    Ctx *ctx = ta->last_ctx;

    if (ctx && ta_key_equal(&ctx->key, key)) {
        return ctx;
    }
    ctx = ta_ctx_find(ta, key);
    if (!ctx) {
        ctx = find_any_local(ta, key);
    }
    if (ctx) {
        unlink_use(ctx);
    } else {
        if (!make_room(ta, key->who)) {
            return NULL;
        }
        ctx = g_new0(Ctx, 1);
        ctx->ta = ta;
        ctx->key = *key;
        ctx->rcid = key->rc;
        ctx->done = g_malloc0(ta->cfg.window / 8);
        ctx->refused = g_malloc0(ta->cfg.window / 8);
        ctx->held_end = &ctx->held;
        ctx->clock.of_ctx = true;
        ctx->used = ta->now;
        g_hash_table_insert(ta->contexts, &ctx->key, ctx);
        join_peer(ctx);
    }
    link_use(ctx);
    ta->last_ctx = ctx;
    return ctx;
}

/* The owner of the hash table of contexts. */
void ta_ctx_free(Ctx *ctx)
{
    UbTa *ta = ctx->ta;
    HeldDone *h;
    Ctx **p = &ta->owing;

    if (ctx->owing) {
        while (*p != ctx) {
            p = &(*p)->next_owing;
        }
        *p = ctx->next_owing;
        if (!*p) {
            ta->owing_end = p;
        }
    }
    ta_sc_drop(ctx);
    while (ctx->partial) {
        ta_ctx_partial_free(ctx, ctx->partial);
    }
    while ((h = ctx->held_done)) {
        ctx->held_done = h->next;
        ta->held_dones--;
        g_free(h);
    }
    core_timer_cancel(&ta->timers, &ctx->clock.t);
    unlink_use(ctx);
    leave_peer(ctx);
    if (ta->last_ctx == ctx) {
        ta->last_ctx = NULL;
    }
    g_hash_table_remove(ta->contexts, &ctx->key);
    g_free(ctx->done);
    g_free(ctx->refused);
    free_times(ctx);
    g_free(ctx);
}

/* ---- slices of several packets ---- */

Partial *ta_ctx_partial(Ctx *ctx, uint16_t tassn, bool make)
{
    UbTa *ta = ctx->ta;
    Partial *p;

    for (p = ctx->partial; p; p = p->next) {
        if (p->tassn == tassn) {
            return p;
        }
    }
    if (!make || ta->partials >= 2 * ta->cfg.partial) {
        return NULL;
    }
    p = g_new0(Partial, 1);
    p->tassn = tassn;
    p->next = ctx->partial;
    ctx->partial = p;
    ta->partials++;
    return p;
}

void ta_ctx_partial_free(Ctx *ctx, Partial *p)
{
    Partial **at = &ctx->partial;

    while (*at != p) {
        at = &(*at)->next;
    }
    *at = p->next;
    ctx->ta->partials--;
    g_free(p);
}

/* ---- completions ---- */

static void complete(UbTa *ta, const UbRecvDone *done)
{
    ta_count(ta, UB_TAC_RECEIVED);
    ta->ops->received(ta->opaque, done);
}

void ta_ctx_received(Ctx *ctx, uint16_t tassn, bool ordered,
                     const UbRecvDone *done)
{
    UbTa *ta = ctx->ta;
    HeldDone *h, **p = &ctx->held_done;

    if (!ordered || !ctx->started || distance(ctx, tassn) <= 0 ||
        ta->held_dones >= ta->cfg.partial) {
        complete(ta, done);
        return;
    }
    h = g_new0(HeldDone, 1);
    h->tassn = tassn;
    h->done = *done;
    h->at = ta->now + ta_time(ta, ta->cfg.hold_time);
    while (*p && distance(ctx, (*p)->tassn) < distance(ctx, tassn)) {
        p = &(*p)->next;
    }
    h->next = *p;
    *p = h;
    ta->held_dones++;
    ta_ctx_timer(ctx);
}

void ta_ctx_release(Ctx *ctx)
{
    HeldDone *h;

    if (ctx->releasing) {
        return;
    }
    ctx->releasing = true;
    for (;;) {
        h = ctx->held_done;
        if (h && distance(ctx, h->tassn) <= 0) {
            ctx->held_done = h->next;
            ctx->ta->held_dones--;
            complete(ctx->ta, &h->done);
            g_free(h);
        } else if (!ctx->sc || !ta_sc_step(ctx)) {
            break;
        }
    }
    ctx->releasing = false;
}

/* ---- time ---- */

void ta_ctx_timer(Ctx *ctx)
{
    int64_t at = CORE_NEVER;

    for (const Partial *p = ctx->partial; p; p = p->next) {
        at = MIN(at, p->at);
    }
    for (const Held *h = ctx->held; h; h = h->next) {
        at = MIN(at, h->at);
    }
    for (const HeldDone *h = ctx->held_done; h; h = h->next) {
        at = MIN(at, h->at);
    }
    core_timer_set(&ctx->ta->timers, &ctx->clock.t, at);
}

void ta_ctx_resume(Ctx *ctx)
{
    ta_ctx_timer(ctx);
    if (ctx->owed) {
        ta_ctx_owing(ctx);
    }
}

void ta_ctx_expired(Ctx *ctx)
{
    UbTa *ta = ctx->ta;
    int64_t due = ctx->due + (ctx->refusals ? refusal_time(ta)
                                            : ta_time(ta, ta->cfg.hold_time));
    Partial *p, *next;

    ctx->busy = true;           /* what comes again may need a place */
    for (p = ctx->partial; p; p = next) {
        next = p->next;
        if (p->at <= ta->now) {
            ta_partial_abort(ta, p);
            ta_ctx_partial_free(ctx, p);
        }
    }
    for (HeldDone *h = ctx->held_done; h; h = h->next) {
        if (h->at <= ta->now && due > ta->now) {
            h->at = due;            /* what was refused may be it */
        } else if (h->at <= ta->now) {
            /* What it waits for will not come. */
            ta_count(ta, UB_TAC_HELD_TOO_LONG);
            base_skip(ctx, h->tassn);
            ta_ctx_release(ctx);
            break;
        }
    }
    ta_sc_expired(ctx);
    ctx->busy = false;
    ta_ctx_timer(ctx);
}
