/*
 * Queues of requests: posting, the gates of order and fence (UB 2.0 §7.3.2),
 * completion.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- lists: three pairs of links in a request ---- */

#define LINK(list, req, fwd, back) do { \
        (req)->fwd = NULL; \
        (req)->back = (list)->tail; \
        *((list)->tail ? &(list)->tail->fwd : &(list)->head) = (req); \
        (list)->tail = (req); \
    } while (0)

#define UNLINK(list, req, fwd, back) do { \
        *((req)->back ? &(req)->back->fwd : &(list)->head) = (req)->fwd; \
        *((req)->fwd ? &(req)->fwd->back : &(list)->tail) = (req)->back; \
        (req)->fwd = (req)->back = NULL; \
    } while (0)

static void append(ReqList *list, UbTaRequest *req, Where to)
{
    LINK(list, req, next_todo, prev_todo);
    req->where = to;
}

/* Take it out of todo, urgent, held or work. */
static void leave_list(UbTaQueue *q, UbTaRequest *req)
{
    switch (req->where) {
    case IN_TODO:
        UNLINK(&q->todo, req, next_todo, prev_todo);
        break;
    case IN_URGENT:
        UNLINK(&q->urgent, req, next_todo, prev_todo);
        break;
    case IN_HELD:
        UNLINK(&q->held, req, next_todo, prev_todo);
        break;
    case IN_WORK:
        q->work = NULL;
        break;
    }
    req->where = IN_NONE;
}

static bool is_writeback(const UbTaRequest *req)
{
    return req->opcode == UB_TA_WRITEBACK || req->opcode == UB_TA_WRITEBACK_BE;
}

static bool is_read(const UbTaRequest *req)
{
    uint8_t kind = ub_ta_op(req->opcode)->kind;

    return kind == UB_TA_FETCH || kind == UB_TA_ATOMIC;
}

void ta_queue_ready(UbTaQueue *q)
{
    UbTa *ta = q->ta;

    if (!q->ready) {
        q->ready = true;
        q->next_ready = NULL;
        *ta->ready_end = q;
        ta->ready_end = &q->next_ready;
        ta_kick(ta);
    }
}

/* ---- completion ---- */

static void give_back(UbTaQueue *q, UbTaRequest *req)
{
    UbTa *ta = q->ta;

    UNLINK(&q->all, req, next, prev);
    q->len--;
    ta->requests--;
    req->queue = NULL;
    ta_count(ta, req->status ? UB_TAC_FAILED : UB_TAC_DONE);
    ta->ops->done(ta->opaque, req, req->status);
}

/* Give back what is finished, @req only if order does not matter. */
static void report(UbTaQueue *q, UbTaRequest *req)
{
    if (!q->cfg.in_order) {
        give_back(q, req);
        return;
    }
    while (q->all.head && q->all.head->finished) {
        give_back(q, q->all.head);
    }
}

/* It is in no list but that of all any more. */
static void settle(UbTaQueue *q, UbTaRequest *req, UbTaStatus status)
{
    leave_list(q, req);
    if (req->on_ordered) {
        UNLINK(&q->ordered, req, next_ordered, prev_ordered);
        req->on_ordered = false;
        q->mixed = q->mixed && q->ordered.head;
    }
    if (req->outside) {
        req->outside = false;
        q->outside--;
    }
    if (req->counted) {
        req->counted = false;
        q->reads--;
    }
    if (!req->status) {
        req->status = status;
    }
    req->finished = true;
    ta_queue_ready(q);
}

static void finish(UbTaQueue *q, UbTaRequest *req, UbTaStatus status)
{
    settle(q, req, status);
    q->stopped = q->stopped || (req->status && q->cfg.stop_on_error);
    report(q, req);
}

void ta_slice_closed(UbTaRequest *req, UbTaStatus status)
{
    UbTaQueue *q = req->queue;

    req->open--;
    if (status && !req->status) {
        req->status = status;
    }
    if (req->status && !req->all_made) {
        req->all_made = true;       /* no more of it is begun */
        leave_list(q, req);
    }
    if (req->all_made && !req->open) {
        finish(q, req, UB_TAS_OK);
    } else if (q->work == req) {
        ta_queue_ready(q);          /* the last slice may have waited */
    }
}

/* ---- the gates ---- */

/* Whether order is kept without us: by the target's SC, by the transport. */
static bool ordered_below(UbTaQueue *q, const UbTaRequest *req,
                          const Lane *lane)
{
    return !lane->compact &&
           (q->cfg.mode == UB_ROL ||
            (q->cfg.mode == UB_ROT && lane->sc == SC_GRANTED && !q->outside));
}

void ta_request_outside(UbTaRequest *req)
{
    if (req->on_ordered && !req->outside) {
        req->outside = true;
        req->queue->outside++;
    }
}

/* SO waits until all RO and SO before it are done (§7.3.2.2). */
static bool order_gate(UbTaQueue *q, const UbTaRequest *req, const Lane *lane)
{
    return req->order != UB_TA_SO || q->ordered.head == req ||
           (ordered_below(q, req, lane) && !q->mixed && !q->held.head &&
            q->ordered_dest == req->dest);
}

/* It is begun, or waits for its order: count it among those before others. */
static void enter_order(UbTaQueue *q, UbTaRequest *req)
{
    if (is_read(req)) {
        req->counted = true;
        q->reads++;
    }
    if (req->order == UB_TA_NO || is_writeback(req)) {
        return;
    }
    q->mixed = q->mixed || (q->ordered.head && q->ordered_dest != req->dest);
    LINK(&q->ordered, req, next_ordered, prev_ordered);
    req->on_ordered = true;
}

static void wait_for(UbTaQueue *q, Lane *lane)
{
    if (!q->waits) {
        q->waits = lane;
        g_queue_push_tail(&lane->waiters, q);
    }
}

typedef enum Step { STEP_DONE, STEP_BLOCKED } Step;

/* The destination and lane of a request that is to be begun or goes on.  NULL:
 * the request has failed and is gone. */
static Lane *find_lane(UbTaQueue *q, UbTaRequest *req, const UbTaDest **dest)
{
    UbTaStatus status;
    Lane *lane = NULL;

    *dest = ub_ta_dest(q->ta, req->dest);
    status = *dest ? ta_request_check(q->ta, q, req, *dest) : UB_TAS_OPCODE;
    if (!status) {
        lane = ta_lane(q, *dest, req->opcode);
        status = UB_TAS_OPCODE;     /* as many peers as can be */
    }
    if (!lane) {
        req->status = status;
        req->all_made = true;
        leave_list(q, req);
        if (!req->open) {
            finish(q, req, status);
        }
    }
    return lane;
}

/* One slice of a request more. */
static Step cut_one(UbTaQueue *q, UbTaRequest *req, Lane *lane,
                    const UbTaDest *dest, bool urgent)
{
    bool rot = q->cfg.mode == UB_ROT && !lane->compact;
    UbTaMode mode = ordered_below(q, req, lane) ? q->cfg.mode
                    : q->cfg.mode == UB_UNO ? UB_UNO : UB_ROI;
    uint32_t number = lane->next;
    Slice part = { .req = req, .dest = req->dest, .rows = q->ta->rows }, *s;

    if (!urgent && (lane->pending || (rot && lane->sc == SC_ASKED))) {
        wait_for(q, lane);
        return STEP_BLOCKED;
    }
    if (!ta_slice_cut(q->ta, req, dest, mode, &part)) {
        return STEP_BLOCKED;        /* until its other slices are answered */
    }
    s = ta_lane_slice(lane, urgent);
    if (!s) {
        wait_for(q, lane);
        return STEP_BLOCKED;
    }
    part.state = SLICE_NEW;
    part.in_sc = rot && lane->sc == SC_GRANTED;
    if (rot && lane->sc == SC_NONE &&
        ub_ta_op(part.opcode)->response == UB_TA_TAACK) {
        part.alloc = true;
        lane->sc = SC_ASKED;
        lane->alloc = number;
    }
    *s = part;
    if (q->cfg.mode == UB_ROT && !part.in_sc) {
        ta_request_outside(req);
    }
    req->made += part.len;
    req->open++;
    req->slices++;
    req->all_made = req->made == req->len;
    ta_count(q->ta, UB_TAC_SLICES);
    if (req->all_made) {
        leave_list(q, req);
    }
    ta_lane_send(lane, number);     /* may give the request back */
    return STEP_DONE;
}

/* Take a request from the head of todo, and its first slice. */
static Step begin_one(UbTaQueue *q, UbTaRequest *req)
{
    const UbTaDest *dest;
    Lane *lane;
    bool open;

    if (req->fence && q->reads) {
        return STEP_BLOCKED;
    }
    lane = find_lane(q, req, &dest);
    if (!lane) {
        return STEP_DONE;
    }
    leave_list(q, req);
    enter_order(q, req);
    open = order_gate(q, req, lane);
    if (req->on_ordered) {
        q->ordered_dest = req->dest;
    }
    if (!open) {
        append(&q->held, req, IN_HELD);
        return STEP_DONE;
    }
    q->work = req;
    req->where = IN_WORK;
    return cut_one(q, req, lane, dest, false);
}

static Step go_on(UbTaQueue *q, UbTaRequest *req, bool urgent)
{
    const UbTaDest *dest;
    Lane *lane = find_lane(q, req, &dest);

    return lane ? cut_one(q, req, lane, dest, urgent) : STEP_DONE;
}

/* A stopped queue ends what it has begun.  Where completions are in order that takes
 * what comes before it, too. */
static bool may_begin(const UbTaQueue *q, const UbTaRequest *req)
{
    const UbTaRequest *next = req->next;

    if (!q->stopped) {
        return true;
    }
    while (q->cfg.in_order && next && !next->slices && !next->finished) {
        next = next->next;
    }
    return q->cfg.in_order && next;
}

/* With many channels each request finds its own in no cache: it is asked for while the two
 * before go, and what it points to while the one before goes. */
static void ahead(UbTa *ta, const UbTaRequest *req)
{
    for (unsigned i = 0; i < 2 && req; i++, req = req->next_todo) {
        const UbTaDest *dest = ub_ta_dest(ta, req->dest);

        if (dest && dest->tp.mode == UB_TP_RTP && ta->lower->ahead) {
            ta->lower->ahead(ta->lower_opaque, dest->tp.tpn, !i);
        }
    }
}

static Step queue_step(UbTaQueue *q)
{
    UbTaRequest *req = q->urgent.head;

    if (req && (req->made || may_begin(q, req)) &&
        go_on(q, req, true) == STEP_DONE) {
        return STEP_DONE;
    }
    if (q->waits) {
        return STEP_BLOCKED;
    }
    if (q->work) {
        return go_on(q, q->work, false);
    }
    req = q->held.head;
    if (req && q->ordered.head == req && may_begin(q, req)) {
        leave_list(q, req);
        q->work = req;
        req->where = IN_WORK;
        return STEP_DONE;
    }
    req = q->todo.head;
    if (req) {
        ahead(q->ta, req->next_todo);
    }
    return req && may_begin(q, req) ? begin_one(q, req) : STEP_BLOCKED;
}

/* Where room is short it is given slice by slice: whoever had the rest of it in one
 * piece would be the first to wait, and so the first to go on, again and again. */
bool ta_queue_pump(UbTaQueue *q)
{
    UbTa *ta = q->ta;
    uint64_t slices = ta->count[UB_TAC_SLICES];

    for (unsigned i = 0; i < ta->cfg.quantum && ta->budget > 0; i++) {
        if (queue_step(q) == STEP_BLOCKED) {
            q->crowded = q->waits;
            return false;
        }
        if (q->crowded && ta->ready && ta->count[UB_TAC_SLICES] != slices) {
            break;
        }
    }
    return true;
}

/* ---- from above ---- */

void ta_queue_link(UbTaQueue *q, UbTaRequest *req)
{
    LINK(&q->all, req, next, prev);
    req->queue = q;
    q->len++;
    q->ta->requests++;
}

void ta_queue_relist(UbTaQueue *q, UbTaRequest *req)
{
    switch (req->where) {
    case IN_TODO:
        append(&q->todo, req, IN_TODO);
        break;
    case IN_URGENT:
        append(&q->urgent, req, IN_URGENT);
        break;
    case IN_HELD:
        append(&q->held, req, IN_HELD);
        break;
    case IN_WORK:
        q->work = req;
        break;
    }
    if (req->on_ordered) {
        LINK(&q->ordered, req, next_ordered, prev_ordered);
    }
    q->reads += req->counted;
    q->outside += req->outside;
}

bool ub_ta_post(UbTa *ta, UbTaQueue *q, UbTaRequest *req)
{
    const UbTaDest *dest;

    if (q->len >= ta->cfg.depth) {
        return false;
    }
    req->made = req->open = req->slices = 0;
    req->status = UB_TAS_OK;
    req->all_made = req->finished = req->counted = false;
    req->on_ordered = req->outside = false;
    req->serial = q->serial++;
    ta_queue_link(q, req);
    if (is_writeback(req)) {
        append(&q->urgent, req, IN_URGENT);
    } else {
        append(&q->todo, req, IN_TODO);
    }
    ta_queue_ready(q);
    dest = ub_ta_dest(ta, req->dest);
    if (dest) {
        core_prefetch(dest, sizeof(*dest), false);
    }
    return true;
}

UbTaQueue *ub_ta_queue_new(UbTa *ta, const UbTaQueueConfig *cfg)
{
    UbTaQueue *q;

    if (cfg->rcid >= UB_TA_IDS || cfg->mode >= UB_TA_MODES ||
        cfg->scid >= UB_TA_IDS || cfg->patience > UB_TA_GEARS ||
        core_table_get(&ta->queues, cfg->rcid)) {
        return NULL;
    }
    q = g_new0(UbTaQueue, 1);
    q->ta = ta;
    q->cfg = *cfg;
    core_table_set(&ta->queues, cfg->rcid, q);
    ta->queue_count++;
    return q;
}

const UbTaQueueConfig *ub_ta_queue_config(const UbTaQueue *q)
{
    return &q->cfg;
}

void ub_ta_queue_set_tries(UbTaQueue *q, uint8_t tries, uint8_t patience)
{
    q->cfg.tries = tries;
    q->cfg.patience = MIN(patience, UB_TA_GEARS);
}

UbTaQueue *ub_ta_queue(UbTa *ta, uint32_t rcid)
{
    return rcid < UB_TA_IDS ? core_table_get(&ta->queues, rcid) : NULL;
}

uint32_t ub_ta_queue_len(const UbTaQueue *q)
{
    return q->len;
}

void ub_ta_queue_stop(UbTaQueue *q, bool stop)
{
    q->stopped = stop;
    ta_queue_ready(q);
}

bool ub_ta_queue_stopped(const UbTaQueue *q)
{
    return q->stopped;
}

/* An error that is told when what was posted before it has ended. */
static bool fails_later(const UbTaQueue *q)
{
    const UbTaRequest *req = q->cfg.stop_on_error ? q->all.head : NULL;

    while (req && !(req->finished && req->status)) {
        req = req->next;
    }
    return req;
}

bool ub_ta_queue_fits(const UbTaQueue *q, const UbTaQueueConfig *cfg, bool stopped)
{
    const UbTaQueueConfig *own = &q->cfg;

    return own->rcid == cfg->rcid && own->mode == cfg->mode &&
           own->in_order == cfg->in_order &&
           own->stop_on_error == cfg->stop_on_error &&
           own->static_sc == cfg->static_sc && own->scid == cfg->scid &&
           own->entity == cfg->entity && own->tries == cfg->tries &&
           own->patience == cfg->patience &&
           (q->stopped == stopped || (q->stopped && fails_later(q)));
}

bool ub_ta_queue_begun(const UbTaQueue *q)
{
    const UbTaRequest *req = q->all.head;

    while (req && !req->slices && !req->finished && req != q->work) {
        req = req->next;
    }
    return req;
}

static void forget_in_lane(gpointer key, gpointer lane, gpointer q)
{
    ta_lane_forget(lane, q, NULL);
}

static void cancel_in_lane(gpointer key, gpointer lane, gpointer req)
{
    ta_lane_forget(lane, ((UbTaRequest *)req)->queue, req);
}

void ub_ta_cancel(UbTa *ta, UbTaRequest *req)
{
    UbTaQueue *q = req->queue;

    if (req->finished) {
        return;             /* it waits for those before it */
    }
    if (req->open) {
        g_hash_table_foreach(ta->lane_ids, cancel_in_lane, req);
    }
    req->open = 0;
    settle(q, req, UB_TAS_FLUSHED);
    report(q, req);
}

void ub_ta_queue_flush(UbTaQueue *q, bool all)
{
    UbTaRequest *req, *next;

    if (all) {
        g_hash_table_foreach(q->ta->lane_ids, forget_in_lane, q);
    }
    for (req = q->all.head; req; req = req->next) {
        if (!req->finished && (all || !req->slices)) {
            req->open = 0;
            settle(q, req, UB_TAS_FLUSHED);
        }
    }
    for (req = q->all.head; req; req = next) {
        next = req->next;
        if (req->finished) {
            give_back(q, req);
        } else if (q->cfg.in_order) {
            break;
        }
    }
}

static void unlist_ready(UbTaQueue *q)
{
    UbTa *ta = q->ta;
    UbTaQueue **p = &ta->ready;

    while (q->ready && *p != q) {
        p = &(*p)->next_ready;
    }
    if (q->ready) {
        *p = q->next_ready;
        if (!*p) {
            ta->ready_end = p;
        }
    }
}

static gboolean lane_orphaned(gpointer key, gpointer value, gpointer q)
{
    Lane *lane = value;

    if (lane->queue == q) {
        ta_lane_begin_ahead(lane);
        lane->queue = NULL;
        lane->orphan = true;
        g_hash_table_remove(lane->ta->lanes, &lane->key);
    }
    return lane->orphan && lane->una == lane->next;
}

void ta_queue_free(UbTaQueue *q, bool tell)
{
    UbTa *ta = q->ta;

    if (q->waits) {
        g_queue_remove(&q->waits->waiters, q);
        q->waits = NULL;
    }
    if (tell) {
        q->stopped = true;
        ub_ta_queue_flush(q, true);
        g_hash_table_foreach_remove(ta->lane_ids, lane_orphaned, q);
        /* Numbers begin elsewhere: peers remember the old ones. */
        ta->start += 4096;
    }
    unlist_ready(q);
    core_table_set(&ta->queues, q->cfg.rcid, NULL);
    ta->queue_count--;
    g_free(q);
}

void ub_ta_queue_free(UbTaQueue *q)
{
    if (q) {
        ta_queue_free(q, true);
    }
}
