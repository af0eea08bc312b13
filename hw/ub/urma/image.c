/*
 * Migration of queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define URMA_TAG CORE_TAG('U', 'R', 'M', 'A')
#define URMA_VERSION 4

static void eq_image(UbUrma *u, CoreImage *im, UrmaEq *eq)
{
    const char *broken;

    core_image_int(im, &eq->base);
    core_image_int(im, &eq->size);
    core_image_flag(im, &eq->enabled);
    core_image_flag(im, &eq->error);
    core_image_flag(im, &eq->armed);
    if (u->image >= 2) {
        core_image_flag(im, &eq->device);
    }
    core_image_int(im, &eq->vector);
    core_image_int(im, &eq->pi);
    core_image_int(im, &eq->ci);
    core_image_int(im, &eq->arm);
    core_image_int(im, &eq->lost);
    broken = urma_eq_check(u, eq);
    core_image_check(im, !broken, broken);
}

static void cmd_image(UbUrma *u, CoreImage *im)
{
    UrmaCmdRing *c = &u->cmd;
    const char *broken;

    core_image_int(im, &c->base);
    core_image_int(im, &c->size);
    core_image_flag(im, &c->enabled);
    core_image_flag(im, &c->error);
    core_image_flag(im, &c->armed);
    core_image_int(im, &c->vector);
    core_image_int(im, &c->pi);
    core_image_int(im, &c->ci);
    core_image_int(im, &c->arm);
    broken = urma_cmd_check(u);
    core_image_check(im, !broken, broken);
}

static void cq_image(UbUrma *u, CoreImage *im, UrmaCq *cq, int64_t *timer)
{
    const char *broken;

    core_image_int(im, &cq->base);
    core_image_int(im, &cq->log2);
    core_image_int(im, &cq->eq);
    core_image_int(im, &cq->page);
    core_image_flag(im, &cq->error);
    core_image_int(im, &cq->arm);
    core_image_int(im, &cq->count);
    core_image_int(im, &cq->period);
    core_image_int(im, &cq->pi);
    core_image_int(im, &cq->ci);
    core_image_int(im, &cq->solicited);
    core_image_flag(im, &cq->any_solicited);
    core_image_int(im, &cq->since);
    core_image_deadline(im, timer);
    broken = urma_cq_check(u, cq);
    core_image_check(im, !broken, broken);
}

static void segment_image(UbUrma *u, CoreImage *im, UrmaSegment *s)
{
    const char *broken;

    core_image_int(im, &s->uba);
    core_image_int(im, &s->base);
    core_image_int(im, &s->length);
    core_image_int(im, &s->access);
    core_image_int(im, &s->token);
    core_image_int(im, &s->token_old);
    core_image_int(im, &s->entity);
    broken = urma_segment_check(u, s);
    core_image_check(im, !broken, broken);
}

static void elements_image(CoreImage *im, UrmaElement *e, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        core_image_int(im, &e[i].addr);
        core_image_int(im, &e[i].len);
    }
}

/* An entry under way.  What the transaction layer knows of it is its to save. */
static bool wr_image(UrmaQueue *q, CoreImage *im, UrmaWr *wr)
{
    uint32_t elements = wr ? wr->elements : 0, inlined = wr ? wr->inlined : 0;

    core_image_count(im, &elements, UBQ_ELEMENTS_MAX, "too many elements");
    core_image_count(im, &inlined, UBQ_INLINE_MAX, "too much inline data");
    if (core_image_error(im)) {
        return false;
    }
    if (!wr) {
        wr = urma_wr_new(q, elements, inlined);
    }
    core_image_int(im, &wr->req.id);
    core_image_int(im, &wr->req.opcode);
    core_image_int(im, &wr->index);
    core_image_int(im, &wr->blocks);
    core_image_flag(im, &wr->want_cqe);
    core_image_flag(im, &wr->solicited);
    core_image_flag(im, &wr->nop);
    core_image_flag(im, &wr->ended);
    core_image_int(im, &wr->status);
    elements_image(im, wr->element, elements);
    core_image_bytes(im, wr->data, inlined);
    return core_image_check(im, wr->blocks &&
                            wr->blocks <= UBQ_SQE_BLOCKS_MAX,
                            "send queue entry of a length that does not exist");
}

static void wrs_image(UrmaQueue *q, CoreImage *im)
{
    UrmaWr *wr = q->first;
    uint32_t n = 0;

    for (UrmaWr *w = wr; w; w = w->next) {
        n++;
    }
    core_image_count(im, &n, 1u << q->sq_log2,
                     "more entries under way than the queue has");
    for (uint32_t i = 0; i < n; i++) {
        UrmaWr *next = wr ? wr->next : NULL;

        if (!wr_image(q, im, wr)) {
            break;
        }
        wr = next;
    }
}

static void queue_image(UbUrma *u, CoreImage *im, UrmaQueue *q)
{
    bool ringing = q->ringing || q->starved;

    core_image_int(im, &q->state);
    core_image_int(im, &q->mode);
    core_image_int(im, &q->rq_stride);
    core_image_int(im, &q->rnr_timer);
    core_image_int(im, &q->page);
    core_image_int(im, &q->eq);
    core_image_int(im, &q->entity);
    core_image_int(im, &q->flags);
    if (q->flags & UBQ_Q_TRANSLATE) {
        core_image_int(im, &q->local);
    }
    core_image_int(im, &q->token);
    core_image_int(im, &q->remote);
    core_image_bytes(im, q->remote_eid.b, UB_EID_LEN);
    core_image_int(im, &q->send_cq);
    core_image_int(im, &q->recv_cq);
    core_image_int(im, &q->rq_shared);
    core_image_int(im, &q->sq_base);
    core_image_int(im, &q->sq_log2);
    core_image_int(im, &q->sq_pi);
    core_image_int(im, &q->sq_fetch);
    core_image_int(im, &q->next_id);
    core_image_int(im, &q->rq_base);
    core_image_int(im, &q->rq_log2);
    core_image_int(im, &q->rq_pi);
    core_image_int(im, &q->rq_ci);
    core_image_int(im, &q->rq_limit);
    core_image_flag(im, &q->rq_low);
    if (u->image >= 2) {
        core_image_flag(im, &q->told);
        core_image_int(im, &q->record);
    }
    if (u->image >= 4) {
        core_image_int(im, &q->tries);
        core_image_int(im, &q->patience);
    }
    core_image_flag(im, &ringing);
    if (!core_image_check(im, q->sq_log2 <= URMA_LOG2_MAX &&
                          q->rq_log2 <= URMA_LOG2_MAX,
                          "queue of a size that does not exist")) {
        return;
    }
    wrs_image(q, im);
    if (core_image_loading(im) && ringing && !core_image_error(im)) {
        urma_queue_ring(q);
    }
}

static void recv_image(UbUrma *u, CoreImage *im, UrmaRecv *r)
{
    uint32_t n = r->elements;

    core_image_int(im, &r->name);
    core_image_int(im, &r->queue);
    core_image_int(im, &r->rq);
    core_image_int(im, &r->index);
    core_image_count(im, &n, UBQ_RQE_ELEMENTS_MAX, "too many elements");
    r->elements = n;
    elements_image(im, r->element, n);
    core_image_check(im, r->name < u->next_recv,
                     "receive entry with a name that was not given");
    core_image_check(im, urma_queue(u, r->queue) && urma_queue(u, r->rq),
                     "receive entry of a queue that does not exist");
}

static void group_image(UbUrma *u, CoreImage *im, UrmaGroup *g)
{
    const char *broken;
    uint32_t n = g->members->len, id;

    core_image_int(im, &g->policy);
    core_image_int(im, &g->eq);
    core_image_int(im, &g->entity);
    core_image_int(im, &g->flags);
    core_image_int(im, &g->token);
    core_image_int(im, &g->next);
    broken = urma_group_check(u, g);
    core_image_check(im, !broken, broken);
    core_image_count(im, &n, u->cfg.members, "more members than may be");
    for (uint32_t i = 0; i < n && !core_image_error(im); i++) {
        UrmaQueue *q = core_image_loading(im) ? NULL : g->members->pdata[i];

        id = q ? q->id : 0;
        core_image_int(im, &id);
        q = urma_queue(u, id);
        if (core_image_loading(im) &&
            core_image_check(im, q && !q->group && !urma_member_check(u, g, q),
                             "member of a group that cannot be one")) {
            urma_group_add(g, q);
        }
    }
    core_image_check(im, g->next <= n, "group that asks nobody first");
}

/* ---- Tables, by number ------------------------------------------------------------- */

typedef struct Walk {
    UbUrma *u;
    CoreImage *im;
} Walk;

static void cq_save(void *opaque, void *p)
{
    Walk *w = opaque;
    UrmaCq *cq = p;
    int64_t timer = cq->timer.place ? cq->timer.at : CORE_NEVER;

    core_image_int(w->im, &cq->id);
    cq_image(w->u, w->im, cq, &timer);
}

static void segment_save(void *opaque, void *p)
{
    Walk *w = opaque;
    UrmaSegment *s = p;

    core_image_int(w->im, &s->token_id);
    segment_image(w->u, w->im, s);
}

static void group_save(void *opaque, void *p)
{
    Walk *w = opaque;
    UrmaGroup *g = p;

    core_image_int(w->im, &g->id);
    group_image(w->u, w->im, g);
}

static void queue_save(void *opaque, void *p)
{
    Walk *w = opaque;
    UrmaQueue *q = p;

    core_image_int(w->im, &q->id);
    queue_image(w->u, w->im, q);
}

/* The next number of a table being loaded; false: the image is wrong. */
static bool number_load(CoreImage *im, const CoreTable *t, uint32_t end,
                        uint32_t *id)
{
    core_image_int(im, id);
    core_image_check(im, *id < end, "object with a number out of range");
    return !core_image_error(im) &&
           core_image_check(im, !core_table_get(t, *id),
                            "two objects of one number");
}

static bool cq_load(UbUrma *u, CoreImage *im)
{
    int64_t timer = CORE_NEVER;
    UrmaCq *cq;
    uint32_t id;

    if (!number_load(im, &u->cqs, URMA_IDS, &id)) {
        return false;
    }
    cq = g_new0(UrmaCq, 1);
    cq->id = id;
    core_table_set(&u->cqs, id, cq);
    u->n_cqs++;
    cq_image(u, im, cq, &timer);
    urma_bells_cq(u->bells, id, cq->page);
    if (timer != CORE_NEVER && !core_image_error(im)) {
        core_timer_set(&u->timers, &cq->timer, timer);
    }
    return !core_image_error(im);
}

static bool segment_load(UbUrma *u, CoreImage *im)
{
    UrmaSegment *s;
    uint32_t id;

    if (!number_load(im, &u->segments, URMA_IDS, &id)) {
        return false;
    }
    s = g_new0(UrmaSegment, 1);
    s->token_id = id;
    core_table_set(&u->segments, id, s);
    u->n_segments++;
    segment_image(u, im, s);
    return !core_image_error(im);
}

static bool group_load(UbUrma *u, CoreImage *im)
{
    UrmaGroup *g;
    uint32_t id;

    if (!number_load(im, &u->groups, URMA_IDS, &id)) {
        return false;
    }
    g = g_new0(UrmaGroup, 1);
    g->id = id;
    g->members = g_ptr_array_new();
    core_table_set(&u->groups, id, g);
    u->n_groups++;
    group_image(u, im, g);
    return !core_image_error(im);
}

static bool queue_load(UbUrma *u, CoreImage *im)
{
    UrmaQueue *q;
    uint32_t id;

    if (!number_load(im, &u->queues, UB_URMA_QUEUE_IDS, &id)) {
        return false;
    }
    q = g_new0(UrmaQueue, 1);
    q->urma = u;
    q->id = id;
    core_table_set(&u->queues, id, q);
    u->n_queues++;
    queue_image(u, im, q);
    urma_bells_queue(u->bells, id, q->page);
    return !core_image_error(im);
}

static void table_image(UbUrma *u, CoreImage *im, CoreTable *t, uint32_t n,
                        uint32_t max, void (*save)(void *, void *),
                        bool (*load)(UbUrma *, CoreImage *))
{
    Walk w = { u, im };

    core_image_count(im, &n, max, "more objects than there may be");
    if (!core_image_loading(im)) {
        core_table_foreach(t, save, &w);
    } else {
        while (n-- && load(u, im)) {
            continue;
        }
    }
}

static void recv_count(UbUrma *u, CoreImage *im, const UrmaRecv *r)
{
    UrmaQueue *q = urma_queue(u, r->queue), *rq = urma_queue(u, r->rq);

    if (!core_image_error(im)) {
        q->recvs++;
        rq->recvs += rq != q;
    }
}

static void recvs_image(UbUrma *u, CoreImage *im)
{
    uint32_t n = g_hash_table_size(u->recvs);
    GHashTableIter it;
    gpointer r;

    core_image_count(im, &n, 1u << 24, "more receive entries than there are");
    g_hash_table_iter_init(&it, u->recvs);
    for (uint32_t i = 0; i < n && !core_image_error(im); i++) {
        if (core_image_loading(im)) {
            UrmaRecv *made = g_new0(UrmaRecv, 1);

            recv_image(u, im, made);
            core_image_check(im, !g_hash_table_contains(u->recvs, &made->name),
                             "two receive entries of one name");
            g_hash_table_replace(u->recvs, &made->name, made);
            recv_count(u, im, made);
        } else if (g_hash_table_iter_next(&it, NULL, &r)) {
            recv_image(u, im, r);
        }
    }
}

void ub_urma_image(UbUrma *u, CoreImage *im)
{
    if (core_image_loading(im)) {
        ub_urma_reset(u);
    }
    u->now = core_image_now(im);
    u->image = core_image_begin(im, URMA_TAG, URMA_VERSION);
    core_image_same(im, u->cfg.eqs, "another number of event queues");
    for (unsigned i = 0; i < u->cfg.eqs; i++) {
        eq_image(u, im, &u->eq[i]);
    }
    cmd_image(u, im);
    core_image_int(im, &u->next_recv);
    table_image(u, im, &u->cqs, u->n_cqs, u->cfg.cqs, cq_save, cq_load);
    table_image(u, im, &u->segments, u->n_segments, u->cfg.segments,
                segment_save, segment_load);
    table_image(u, im, &u->queues, u->n_queues, u->cfg.queues, queue_save,
                queue_load);
    recvs_image(u, im);
    if (u->image >= 2) {
        table_image(u, im, &u->groups, u->n_groups, u->cfg.groups, group_save,
                    group_load);
    }
    if (u->image >= 3) {
        urma_poison_image(u, im);
    }
    core_image_end(im);
    if (core_image_error(im)) {
        ub_urma_reset(u);
    }
}

UbTaRequest *ub_urma_adopt(void *opaque, uint32_t rcid, uint64_t id)
{
    UbUrma *u = opaque;
    UrmaQueue *q = urma_queue(u, rcid);
    UrmaWr *wr = q ? q->adopting ? q->adopting : q->first : NULL;

    /* They come as they were posted. */
    while (wr && wr->req.id != id) {
        wr = wr->next;
    }
    if (!wr || wr->ended || wr->adopted) {
        return NULL;
    }
    wr->adopted = true;
    q->adopting = wr->next;
    return &wr->req;
}

typedef struct Check {
    UbUrma *u;
    const char *broken;
    uint32_t senders;
} Check;

/* What could not be said before all objects were there. */
static void queue_loaded(void *opaque, void *p)
{
    Check *c = opaque;
    UrmaQueue *q = p;
    bool sends = q->sq_log2 && q->state != UBQ_STATE_RESET;

    if (c->broken) {
        return;
    }
    c->broken = urma_queue_check(c->u, q);
    q->ta = ub_ta_queue(c->u->ta, q->id);
    if (!c->broken && !!q->ta != sends) {
        c->broken = "queue without its part in the transaction layer";
    }
    if (!c->broken && sends) {
        UbTaQueueConfig cfg = urma_queue_ta(q);

        c->senders++;
        if (!ub_ta_queue_fits(q->ta, &cfg, q->state != UBQ_STATE_READY)) {
            c->broken = "queue that is another in the transaction layer";
        }
    }
    for (UrmaWr *wr = q->first; wr && !c->broken; wr = wr->next) {
        if (!wr->ended && !wr->adopted) {
            c->broken = "entry that the transaction layer does not know";
        }
    }
}

static void queue_counted(void *opaque, void *p)
{
    urma_queue_users(p, 1);
}

const char *ub_urma_loaded(UbUrma *u, uint32_t *senders)
{
    Check c = { .u = u };

    core_table_foreach(&u->queues, queue_loaded, &c);
    if (!c.broken) {
        core_table_foreach(&u->queues, queue_counted, NULL);
    }
    *senders = c.senders;
    return c.broken;
}
