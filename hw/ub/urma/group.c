/*
 * Who receives: queues that share receive entries, and groups of queues, of which
 * the device chooses a member for each message (§8.2.2.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

UrmaQueue *urma_rq_of(UbUrma *u, const UrmaQueue *q)
{
    return urma_queue(u, q->rq_log2 ? q->id : q->rq_shared);
}

unsigned urma_rq_left(UbUrma *u, const UrmaQueue *q)
{
    UrmaQueue *rq = urma_rq_of(u, q);

    if (rq) {
        urma_rq_look(rq);
    }
    return rq ? (uint16_t)(rq->rq_pi - rq->rq_ci) : 0;
}

bool urma_queue_deaf(const UrmaQueue *q)
{
    return q->state == UBQ_STATE_RESET || q->state == UBQ_STATE_ERROR;
}

UrmaGroup *urma_group(UbUrma *u, uint32_t id)
{
    return id < URMA_IDS ? core_table_get(&u->groups, id) : NULL;
}

const char *urma_group_check(const UbUrma *u, const UrmaGroup *g)
{
    if (g->policy >= UBQ_JG_POLICIES || g->flags & ~UBQ_Q_TOKEN) {
        return "group of queues with a policy or flag that does not exist";
    }
    return g->eq >= u->cfg.eqs || !urma_entity_there(u, g->entity) ?
           "group of queues of an event queue or Entity that does not exist" :
           NULL;
}

static void token_get(UrmaGroup *g, const uint8_t *cmd)
{
    g->flags = get_le32(cmd + UBQ_JG_FLAGS);
    g->token = get_le32(cmd + UBQ_JG_TOKEN_VALUE);
}

unsigned urma_group_create(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaGroup g = {
        .policy = cmd[UBQ_JG_POLICY],
        .entity = get_le16(cmd + UBQ_JG_ENTITY),
        .eq = get_le16(cmd + UBQ_JG_EQ),
    };
    const char *broken;
    unsigned result;

    token_get(&g, cmd);
    broken = urma_group_check(u, &g);
    if (broken) {
        urma_guest_error(u, broken);
        return UBQ_RESULT_PARAMETER;
    }
    if (u->n_groups >= u->cfg.groups) {
        return UBQ_RESULT_FULL;
    }
    result = urma_number(&u->groups, URMA_WELL_KNOWN, URMA_IDS,
                         &u->hint_group, id);
    if (result == UBQ_RESULT_OK) {
        g.id = *id;
        g.members = g_ptr_array_new();
        core_table_set(&u->groups, g.id, g_memdup2(&g, sizeof(g)));
        u->n_groups++;
    }
    return result;
}

unsigned urma_group_modify(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaGroup *g = urma_group(u, *id);

    if (!g) {
        return UBQ_RESULT_NO_OBJECT;
    }
    if (get_le32(cmd + UBQ_JG_FLAGS) & ~UBQ_Q_TOKEN) {
        return UBQ_RESULT_PARAMETER;
    }
    token_get(g, cmd);
    return UBQ_RESULT_OK;
}

void urma_group_free(UbUrma *u, UrmaGroup *g)
{
    core_table_set(&u->groups, g->id, NULL);
    u->n_groups--;
    g_ptr_array_unref(g->members);
    g_free(g);
}

unsigned urma_group_destroy(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaGroup *g = urma_group(u, *id);

    if (!g) {
        return UBQ_RESULT_NO_OBJECT;
    }
    if (g->members->len) {
        return UBQ_RESULT_IN_USE;
    }
    urma_group_free(u, g);
    return UBQ_RESULT_OK;
}

static bool member_deaf(UbUrma *u, const UrmaQueue *q)
{
    return urma_queue_deaf(q) || urma_queue_deaf(urma_rq_of(u, q));
}

unsigned urma_group_live(UbUrma *u, const UrmaGroup *g)
{
    unsigned live = 0;

    for (unsigned i = 0; i < g->members->len; i++) {
        live += !member_deaf(u, g->members->pdata[i]);
    }
    return live;
}

unsigned urma_group_query(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaGroup *g = urma_group(u, *id);

    if (!g) {
        return UBQ_RESULT_NO_OBJECT;
    }
    cmd[UBQ_JG_POLICY] = g->policy;
    put_le16(cmd + UBQ_JG_ENTITY, g->entity);
    put_le16(cmd + UBQ_JG_EQ, g->eq);
    put_le32(cmd + UBQ_JG_FLAGS, g->flags);
    put_le32(cmd + UBQ_JG_MEMBERS, g->members->len);
    put_le32(cmd + UBQ_JG_LIVE, urma_group_live(u, g));
    return UBQ_RESULT_OK;
}

void urma_group_add(UrmaGroup *g, UrmaQueue *q)
{
    g_ptr_array_add(g->members, q);
    q->group = g;
}

void urma_group_remove(UrmaQueue *q)
{
    if (q->group) {
        g_ptr_array_remove(q->group->members, q);
        q->group = NULL;
    }
}

const char *urma_member_check(UbUrma *u, const UrmaGroup *g,
                              const UrmaQueue *q)
{
    return q->entity == g->entity && !(q->flags & UBQ_Q_BOUND) &&
           urma_rq_of(u, q) ? NULL :
           "group of queues joined by one of another Entity, a bound one, or one "
           "that does not receive";
}

unsigned urma_group_join(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaQueue *q = urma_queue(u, *id);
    UrmaGroup *g = urma_group(u, get_le32(cmd + UBQ_JG_GROUP));
    const char *broken;

    if (!q || !g) {
        return UBQ_RESULT_NO_OBJECT;
    }
    if (q->group) {
        return UBQ_RESULT_IN_USE;
    }
    broken = urma_member_check(u, g, q);
    if (broken) {
        urma_guest_error(u, broken);
        return UBQ_RESULT_PARAMETER;
    }
    if (g->members->len >= u->cfg.members) {
        return UBQ_RESULT_FULL;
    }
    urma_group_add(g, q);
    return UBQ_RESULT_OK;
}

unsigned urma_group_leave(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaQueue *q = urma_queue(u, *id);

    if (!q || !q->group) {
        return UBQ_RESULT_NO_OBJECT;
    }
    urma_group_remove(q);
    return UBQ_RESULT_OK;
}

typedef struct Watch {
    UbUrma *u;
    const UrmaQueue *q;
} Watch;

/* Whether a member has become deaf by @q's end, and was not before. */
static bool deafened(UbUrma *u, const UrmaQueue *member, const UrmaQueue *q)
{
    const UrmaQueue *rq = urma_rq_of(u, member);

    return member == q ? rq == q || !urma_queue_deaf(rq)
                       : rq == q && !urma_queue_deaf(member);
}

static void watch_group(void *opaque, void *p)
{
    const Watch *w = opaque;
    UrmaGroup *g = p;
    bool hit = false;

    for (unsigned i = 0; i < g->members->len && !hit; i++) {
        hit = deafened(w->u, g->members->pdata[i], w->q);
    }
    if (hit && !urma_group_live(w->u, g)) {
        ub_urma_event(w->u, g->eq, UBQ_EVENT_GROUP_ERROR, g->id, g->entity,
                      w->q->id);
    }
}

void urma_group_watch(UbUrma *u, const UrmaQueue *q)
{
    Watch w = { u, q };

    if (q->users) {
        core_table_foreach(&u->groups, watch_group, &w);
    } else if (q->group) {
        watch_group(&w, q->group);
    }
}

/* ---- Policies: the place of the member, or the number of members ---------------- */

/* The next with an entry; if none has, the next that lives says so. */
static unsigned pick_round_robin(UbUrma *u, UrmaGroup *g, uint8_t hint)
{
    unsigned n = g->members->len, found = n;

    for (unsigned i = 0; i < n; i++) {
        unsigned at = (g->next + i) % n;
        UrmaQueue *q = g->members->pdata[at];

        if (member_deaf(u, q)) {
            continue;
        }
        if (urma_rq_left(u, q)) {
            g->next = (at + 1) % n;
            return at;
        }
        found = found == n ? at : found;
    }
    return found;
}

/* The same hint finds the same member, as long as the same members live. */
static unsigned pick_hint(UbUrma *u, UrmaGroup *g, uint8_t hint)
{
    unsigned live = urma_group_live(u, g), n = g->members->len, at = 0;

    if (!live) {
        return n;
    }
    for (unsigned skip = hint % live; at < n; at++) {
        if (!member_deaf(u, g->members->pdata[at]) && !skip--) {
            break;
        }
    }
    return at;
}

static unsigned pick_depth(UbUrma *u, UrmaGroup *g, uint8_t hint)
{
    unsigned n = g->members->len, best = n, most = 0;

    for (unsigned i = 0; i < n; i++) {
        UrmaQueue *q = g->members->pdata[i];
        unsigned left = urma_rq_left(u, q);

        if (!member_deaf(u, q) && (best == n || left > most)) {
            best = i;
            most = left;
        }
    }
    return best;
}

UrmaQueue *urma_group_pick(UbUrma *u, UrmaGroup *g, uint8_t hint)
{
    static unsigned (*const policies[])(UbUrma *, UrmaGroup *, uint8_t) = {
        [UBQ_JG_ROUND_ROBIN] = pick_round_robin,
        [UBQ_JG_HINT] = pick_hint,
        [UBQ_JG_DEPTH] = pick_depth,
    };
    unsigned at = policies[g->policy](u, g, hint);

    return at < g->members->len ? g->members->pdata[at] : NULL;
}
