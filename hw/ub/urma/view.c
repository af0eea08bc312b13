/*
 * Queues, completion queues and groups as a monitor shows them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

typedef struct Viewer {
    UbUrma *u;
    void (*queue)(void *opaque, const UbUrmaQueueInfo *info);
    void (*cq)(void *opaque, const UbUrmaCqInfo *info);
    void (*group)(void *opaque, const UbUrmaGroupInfo *info);
    void *opaque;
} Viewer;

static uint32_t depth(unsigned log2)
{
    return log2 ? 1u << log2 : 0;
}

static void show_queue(void *opaque, void *p)
{
    const Viewer *v = opaque;
    UrmaQueue *q = p;
    const UrmaQueue *rq = urma_rq_of(v->u, q);
    UbUrmaQueueInfo info = {
        .id = q->id, .entity = q->entity, .page = q->page, .eq = q->eq,
        .state = q->state, .mode = q->mode, .flags = q->flags,
        .sq_depth = depth(q->sq_log2), .rq_depth = depth(q->rq_log2),
        .sq_pi = q->sq_pi, .sq_ci = urma_sq_ci(q),
        .rq_pi = q->rq_pi, .rq_ci = q->rq_ci,
        .rq_limit = q->rq_limit, .rq_low = q->rq_low,
        .send_cq = q->sq_log2 ? q->send_cq : UBQ_NEW,
        .recv_cq = rq ? q->recv_cq : UBQ_NEW,
        .rq_shared = q->rq_shared,
        .group = q->group ? q->group->id : UBQ_NEW,
        .remote = q->remote, .remote_eid = q->remote_eid,
        .record = q->record,
        .tries = q->tries, .patience = q->patience,
        .requests = q->ta ? ub_ta_queue_len(q->ta) : 0,
        .counts = q->counts,
    };

    v->queue(v->opaque, &info);
}

void ub_urma_foreach(UbUrma *u,
                     void (*fn)(void *opaque, const UbUrmaQueueInfo *info),
                     void *opaque)
{
    Viewer v = { .u = u, .queue = fn, .opaque = opaque };

    core_table_foreach(&u->queues, show_queue, &v);
}

static void show_cq(void *opaque, void *p)
{
    const Viewer *v = opaque;
    const UrmaCq *cq = p;
    UbUrmaCqInfo info = {
        .id = cq->id, .page = cq->page, .eq = cq->eq,
        .depth = depth(cq->log2), .pi = cq->pi, .ci = cq->ci,
        .error = cq->error, .arm = cq->arm,
        .count = cq->count, .period = cq->period,
        .users = cq->users, .bad = cq->bad,
    };

    v->cq(v->opaque, &info);
}

void ub_urma_foreach_cq(UbUrma *u,
                        void (*fn)(void *opaque, const UbUrmaCqInfo *info),
                        void *opaque)
{
    Viewer v = { .u = u, .cq = fn, .opaque = opaque };

    core_table_foreach(&u->cqs, show_cq, &v);
}

static void show_group(void *opaque, void *p)
{
    const Viewer *v = opaque;
    const UrmaGroup *g = p;
    g_autofree uint32_t *member = g_new(uint32_t, g->members->len);
    UbUrmaGroupInfo info = {
        .id = g->id, .entity = g->entity, .eq = g->eq,
        .policy = g->policy, .flags = g->flags,
        .live = urma_group_live(v->u, g),
        .n = g->members->len, .member = member,
    };

    for (uint32_t i = 0; i < info.n; i++) {
        member[i] = ((UrmaQueue *)g->members->pdata[i])->id;
    }
    v->group(v->opaque, &info);
}

void ub_urma_foreach_group(UbUrma *u,
                           void (*fn)(void *opaque,
                                      const UbUrmaGroupInfo *info),
                           void *opaque)
{
    Viewer v = { .u = u, .group = fn, .opaque = opaque };

    core_table_foreach(&u->groups, show_group, &v);
}
