/*
 * Load and store: requests under way, and who waits for them.
 *
 * What touches the same bytes goes in order, so that a processor reads what it has
 * written; everything else as the entries say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

UbTaQueueConfig lds_queue_config(const UbLds *l)
{
    return (UbTaQueueConfig) { .rcid = l->cfg.rcid, .mode = l->cfg.mode };
}

UbTaQueue *lds_queue(UbLds *l)
{
    UbTaQueueConfig cfg = lds_queue_config(l);
    UbTaQueue *q = ub_ta_queue(l->ta, l->cfg.rcid);

    return q ? q : ub_ta_queue_new(l->ta, &cfg);
}

/* ---- Those that wait --------------------------------------------------------------- */

int64_t lds_deadline(const UbLds *l)
{
    int64_t at = l->now + l->cfg.timeout;

    return l->links ? at : MIN(at, l->down_since + l->cfg.grace);
}

void lds_wait_add(UbLds *l, UbLdsWait *w, LdsWaitKind kind)
{
    UbLdsWait **p = &l->waits;

    w->kind = kind;
    w->deadline = l->now + l->cfg.timeout;
    w->next = NULL;
    while (*p) {
        p = &(*p)->next;
    }
    *p = w;
    l->stirred = true;
    l->ops.kick(l->opaque);
}

void lds_wait_remove(UbLds *l, UbLdsWait *w)
{
    UbLdsWait **p = &l->waits;

    while (*p && *p != w) {
        p = &(*p)->next;
    }
    if (*p) {
        *p = w->next;
    }
}

void lds_wait_end(UbLds *l, UbLdsWait *w, uint64_t value)
{
    w->value = value;
    w->ended = true;
    l->ops.ended(l->opaque, w);
}

/* ---- The list ------------------------------------------------------------------------ */

void lds_op_link(UbLds *l, LdsOp *op)
{
    op->lds = l;
    op->req.user = l;
    op->next = NULL;
    op->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = op;
    l->last = op;
    l->of_kind[op->kind]++;
    l->all++;
    l->unposted += !op->posted;
}

/* What was to wait for all before @op still is. */
static void barrier_pass(UbLds *l, const LdsOp *op)
{
    *(op->next ? &op->next->barrier : &l->barrier) = true;
}

static void op_free(UbLds *l, LdsOp *op)
{
    if (op->barrier && !op->posted) {
        barrier_pass(l, op);
    }
    *(op->prev ? &op->prev->next : &l->first) = op->next;
    *(op->next ? &op->next->prev : &l->last) = op->prev;
    l->of_kind[op->kind]--;
    l->all--;
    l->unposted -= !op->posted;
    g_free(op);
}

LdsOp *lds_op_new(UbLds *l, LdsKind kind, const LdsTarget *to, uint64_t pa,
                  uint8_t opcode, uint32_t len, uint32_t room)
{
    LdsOp *op = g_malloc0(sizeof(*op) + room);

    op->kind = kind;
    op->pa = pa;
    op->room = room;
    op->epoch = l->epoch;
    op->req = (UbTaRequest){
        .dest = to->dest,
        .opcode = opcode,
        .order = to->order,
        .ee = to->ee,
        .token_en = to->token_en,
        .token = to->token,
        .token_id = to->token_id,
        .addr = to->uba,
        .len = len,
    };
    return op;
}

static bool is_store(const LdsOp *op)
{
    return op->kind == LDS_STORE ||
           (op->kind == LDS_COMMAND && op->req.opcode != UB_TA_READ);
}

/* Whether @b must not overtake @a. */
static bool clash(const LdsOp *a, const LdsOp *b)
{
    return (is_store(a) || is_store(b)) && a->req.dest == b->req.dest &&
           a->req.token_id == b->req.token_id &&
           a->req.addr < b->req.addr + b->req.len &&
           b->req.addr < a->req.addr + a->req.len;
}

/* Whether @b, which is to come behind all with an order (§7.3.2), must wait for @a: of
 * what the transaction layer does not have yet it knows nothing. */
static bool comes_behind(const LdsOp *a, const LdsOp *b)
{
    return b->req.order == UB_TA_SO && !a->posted && a->req.order != UB_TA_NO;
}

static bool clear(const LdsOp *op)
{
    for (const LdsOp *a = op->prev; a; a = a->prev) {
        if (op->barrier || clash(a, op) || comes_behind(a, op)) {
            return false;
        }
    }
    return true;
}

void lds_ops_pump(UbLds *l)
{
    for (LdsOp *op = l->first; op && l->unposted; op = op->next) {
        if (op->posted) {
            continue;
        }
        if (clear(op) && ub_ta_post(l->ta, lds_queue(l), &op->req)) {
            op->posted = true;
            l->unposted--;
            l->ops.kick(l->opaque);
        } else if (op->barrier) {
            return;
        }
    }
}

/* ---- Ends ---------------------------------------------------------------------------- */

/* For whoever waits. */
static void op_report(UbLds *l, LdsOp *op, unsigned event, UbTaStatus status)
{
    UbLdsWait *w = op->wait;

    if (event) {
        lds_failed(l, event, op->pa, is_store(op), status);
    }
    if (op->kind == LDS_COMMAND) {
        LdsSlot *s = &l->slot[op->slot];

        if (event || op->req.opcode == UB_TA_WRITE) {
            memset(s->result, event ? 0xff : 0, sizeof(s->result));
        } else {
            memcpy(s->result, op->data, op->req.len);
        }
        s->status = UB_LDS_SLOT_DONE |
                    (uint64_t)event << UB_LDS_SLOT_EVENT_SHIFT |
                    (uint64_t)status << UB_LDS_SLOT_STATUS_SHIFT;
    }
    if (w) {
        op->wait = NULL;
        lds_wait_end(l, w, event ? UINT64_MAX : get_le64(op->data));
    }
    l->stirred = true;
    l->ops.kick(l->opaque);
}

/* The transaction layer gives it back at once, so that nothing of it is sent later:
 * after an access to the same bytes, or after a SYNC, when its destination may be
 * another's. */
void lds_op_give_up(UbLds *l, LdsOp *op, unsigned event)
{
    op_report(l, op, event, UB_TAS_OK);
    op->told = true;
    if (op->posted) {
        ub_ta_cancel(l->ta, &op->req);
    } else {
        op_free(l, op);
    }
}

void ub_lds_done(void *opaque, UbTaRequest *req, UbTaStatus status)
{
    LdsOp *op = (LdsOp *)req;
    UbLds *l = op->lds;

    if (!op->told) {
        op_report(l, op, status == UB_TAS_TIMEOUT ? UB_LDS_EVENT_TIMEOUT :
                         status ? UB_LDS_EVENT_REMOTE : 0, status);
    }
    op_free(l, op);
    lds_ops_pump(l);
}

void lds_ops_drop(UbLds *l)
{
    while (l->first) {
        op_report(l, l->first, UB_LDS_EVENT_STOPPED, UB_TAS_OK);
        op_free(l, l->first);
    }
}

void lds_ops_free(UbLds *l)
{
    while (l->first) {
        UbLdsWait *w = l->first->wait;

        if (w) {
            lds_wait_end(l, w, UINT64_MAX);
        }
        op_free(l, l->first);
    }
}

/* Not another byte to whom an entry named before: what it leads to may be somebody
 * else's by now. */
void lds_matt_sweep(UbLds *l)
{
    uint64_t changed = l->matt ? l->matt->changed : 0;
    LdsOp *op, *next;

    if (!changed) {
        return;
    }
    l->matt->changed = 0;
    if (l->line.open && changed >> (l->line.to.dest - LDS_MATT_ROW(0)) & 1) {
        l->line.open = false;
        lds_failed(l, UB_LDS_EVENT_STOPPED, l->line.pa + l->line.from, true,
                   UB_TAS_OK);
    }
    for (op = l->first; op; op = next) {
        next = op->next;
        if (!op->told && changed >> (op->req.dest - LDS_MATT_ROW(0)) & 1) {
            lds_op_give_up(l, op, UB_LDS_EVENT_STOPPED);
        }
    }
}

/* ---- Begin ---------------------------------------------------------------------------- */

/* What an entry says of the peer is what the row of destinations says. */
static bool row_fits(UbLds *l, const UbTaDest *row, const LdsTarget *to)
{
    static const UbEid none;
    const UbSecHead *h = &row->sec;

    return (ub_eid_same(&to->deid, &none) ||
            ub_eid_same(&to->deid, &h->deid)) &&
           (!to->upi || to->upi == h->upi) &&
           (!to->seid || to->seid == ub_eid_short(&h->seid));
}

static bool same_way(const UbTaDest *a, const UbTaDest *b)
{
    const UbSecHead *h = &a->sec, *i = &b->sec;

    return a->tp.flow.cfg == b->tp.flow.cfg && a->tp.flow.scna == b->tp.flow.scna &&
           a->tp.flow.dcna == b->tp.flow.dcna && h->form == i->form &&
           h->upi == i->upi && ub_eid_same(&h->seid, &i->seid) &&
           ub_eid_same(&h->deid, &i->deid);
}

/* The row of an entry of the UBFM's is as the entry says, and as we are called now. */
static bool row_make(UbLds *l, const LdsTarget *to)
{
    const UbLdsPeer peer = { to->cna, to->upi, to->deid };
    const UbTaDest *row;
    UbTaDest dest;

    lds_matt_sweep(l);
    if (!l->ops.way(l->opaque, &peer, &dest)) {
        return false;
    }
    row = ub_ta_dest(l->ta, to->dest);
    return (row && same_way(row, &dest)) || ub_ta_set_dest(l->ta, to->dest, &dest);
}

unsigned lds_target_check(UbLds *l, const LdsTarget *to)
{
    const UbTaDest *row;

    if (to->managed && !row_make(l, to)) {
        return UB_LDS_EVENT_ENTRY;
    }
    row = ub_ta_dest(l->ta, to->dest);

    return row && row_fits(l, row, to) ? 0 : UB_LDS_EVENT_ENTRY;
}

void lds_op_begin(UbLds *l, LdsOp *op)
{
    op->serial = op->req.id = l->next_serial++;
    op->deadline = lds_deadline(l);
    op->barrier = l->barrier;
    l->barrier = false;
    lds_op_link(l, op);
    if (op->deadline <= l->now) {
        lds_op_give_up(l, op, UB_LDS_EVENT_LINK);
        return;
    }
    lds_ops_pump(l);
}

/* ---- Questions ------------------------------------------------------------------------- */

bool lds_room(const UbLds *l, LdsKind kind)
{
    uint32_t loads = l->of_kind[LDS_LOAD] + l->of_kind[LDS_COMMAND];

    return kind == LDS_STORE ? l->of_kind[LDS_STORE] < l->cfg.stores
                             : loads < l->cfg.loads;
}

bool lds_ops_before(const UbLds *l, uint64_t epoch)
{
    for (const LdsOp *op = l->first; op; op = op->next) {
        if (op->epoch < epoch) {
            return true;
        }
    }
    return false;
}

uint64_t lds_oldest(const UbLds *l, uint32_t first, uint32_t last)
{
    for (const LdsOp *op = l->first; op; op = op->next) {
        uint64_t mib = op->pa >> UB_LDS_PAGE_BITS;

        if (first <= mib && mib <= last) {
            return op->serial;
        }
    }
    return l->next_serial;
}

bool lds_fenced(const UbLds *l, uint64_t serial)
{
    return !l->first || l->first->serial >= serial;
}

uint64_t lds_fence_value(UbLds *l)
{
    uint64_t n = l->failed_stores;

    l->failed_stores = 0;
    return n;
}

/* ---- For the transaction layer ------------------------------------------------------------ */

UbTaData ub_lds_gather(void *opaque, const UbTaRequest *req, uint32_t off,
                       void *buf, uint32_t len)
{
    const LdsOp *op = (const LdsOp *)req;

    if (off > op->room || len > op->room - off) {
        return UB_TA_DATA_FAULT;
    }
    memcpy(buf, op->data + off, len);
    return UB_TA_DATA_OK;
}

UbTaData ub_lds_scatter(void *opaque, const UbTaRequest *req, uint32_t off,
                        const void *buf, uint32_t len)
{
    LdsOp *op = (LdsOp *)req;

    if (off > op->room || len > op->room - off) {
        return UB_TA_DATA_FAULT;
    }
    memcpy(op->data + off, buf, len);
    return UB_TA_DATA_OK;
}
