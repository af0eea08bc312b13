/*
 * Receive queues: a message of a peer takes an entry, fills it and completes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static unsigned rq_entries(const UrmaQueue *q)
{
    return 1u << q->rq_log2;
}

/* The token is that of what the sender named: the queue or the group. */
static bool token_good(uint32_t flags, uint32_t token, const UbRecvAsk *ask)
{
    return !(flags & UBQ_Q_TOKEN) || (ask->token_en && ask->token == token);
}

static bool sender_good(const UrmaQueue *q, const UbRecvAsk *ask)
{
    return token_good(q->flags, q->token, ask) &&
           (!(q->flags & UBQ_Q_BOUND) ||
            (ask->rc_id == q->remote && ub_eid_same(&ask->seid,
                                                    &q->remote_eid)));
}

/* Read the entry at CI; false: it is not in memory. */
static bool entry_read(UbUrma *u, const UrmaQueue *rq, UrmaRecv *r,
                       uint32_t *room)
{
    unsigned n = 1u << rq->rq_stride;
    uint8_t raw[UBQ_RQE_ELEMENTS_MAX * UBQ_ELEMENT];
    uint32_t bytes = n * UBQ_ELEMENT;
    uint64_t sum = 0;

    if (!urma_read(u, rq->rq_base + (uint64_t)(rq->rq_ci &
                                               (rq_entries(rq) - 1)) * bytes,
                   raw, bytes)) {
        return false;
    }
    for (r->elements = 0; r->elements < n; r->elements++) {
        const uint8_t *e = raw + r->elements * UBQ_ELEMENT;
        uint32_t len = get_le32(e + 8);

        if (!len) {
            break;
        }
        r->element[r->elements] = (UrmaElement){ get_le64(e), len };
        sum += len;
    }
    *room = MIN(sum, UINT32_MAX);
    return true;
}

void urma_queue_count(UrmaQueue *q, uint16_t status)
{
    q->counts.done += status == UB_TAS_OK;
    q->counts.flushed += status == UB_TAS_FLUSHED;
    q->counts.failed += status != UB_TAS_OK && status != UB_TAS_FLUSHED;
    q->urma->counter[UB_URMA_FLUSHED] += status == UB_TAS_FLUSHED;
}

void urma_rq_watch(UbUrma *u, UrmaQueue *rq)
{
    uint16_t left = rq->rq_pi - rq->rq_ci;

    if (rq->rq_limit && left < rq->rq_limit) {
        urma_rq_look(rq);
        left = rq->rq_pi - rq->rq_ci;
    }
    if (rq->rq_limit && left < rq->rq_limit && !rq->rq_low) {
        rq->rq_low = true;
        ub_urma_event(u, rq->eq, UBQ_EVENT_RQ_LIMIT, rq->id, rq->entity, left);
    }
}

static UrmaRecv *recv_new(UbUrma *u, UrmaQueue *q, UrmaQueue *rq,
                          const UrmaRecv *from)
{
    UrmaRecv *r = g_memdup2(from, sizeof(*from));

    r->name = u->next_recv++;
    r->queue = q->id;
    r->rq = rq->id;
    r->index = rq->rq_ci++;
    q->recvs++;
    rq->recvs += rq != q;
    g_hash_table_insert(u->recvs, &r->name, r);
    u->counter[UB_URMA_RQES]++;
    urma_trace(u, UB_URMA_TRACE_RECEIVE, q->id, r->index, rq->id);
    urma_rq_watch(u, rq);
    return r;
}

/* A message for queue @q, whose sender is good. */
static UbRecvResult queue_receive(UbUrma *u, UrmaQueue *q, UbRecvBuf *buf)
{
    UrmaQueue *rq = urma_rq_of(u, q);
    UrmaRecv r = { 0 };

    if (!rq) {
        return UB_RECV_UNSUPPORTED;
    }
    if (urma_queue_deaf(rq)) {
        return UB_RECV_SILENT;
    }
    if (rq->rq_pi == rq->rq_ci) {
        urma_rq_look(rq);
    }
    if (rq->rq_pi == rq->rq_ci) {
        u->counter[UB_URMA_RNR]++;
        q->counts.empty++;
        buf->timer = q->rnr_timer;
        return UB_RECV_EMPTY;
    }
    if (!entry_read(u, rq, &r, &buf->len)) {
        urma_guest_error(u, "receive queue in memory that is not there");
        urma_queue_error(rq, UBQ_EVENT_RQ_ERROR);
        return UB_RECV_DENIED;
    }
    buf->rqe = recv_new(u, q, rq, &r)->name;
    return UB_RECV_OK;
}

static UbRecvResult group_receive(UbUrma *u, const UbRecvAsk *ask,
                                  UbRecvBuf *buf)
{
    UrmaGroup *g = urma_group(u, ask->tc_id);
    UrmaQueue *q;

    if (!g || g->entity != ask->entity) {
        return UB_RECV_UNSUPPORTED;
    }
    if (!token_good(g->flags, g->token, ask)) {
        u->counter[UB_URMA_DENIED]++;
        return UB_RECV_DENIED;
    }
    q = urma_group_pick(u, g, ask->hint);
    return q ? queue_receive(u, q, buf) : UB_RECV_SILENT;
}

UbRecvResult urma_receive(void *opaque, const UbRecvAsk *ask, UbRecvBuf *buf)
{
    UbUrma *u = opaque;
    UrmaQueue *q;

    if (!urma_may_access(u, ask->entity)) {
        return UB_RECV_SILENT;
    }
    if (ask->tc_type == UB_TC_GROUP) {
        return group_receive(u, ask, buf);
    }
    q = urma_queue(u, ask->tc_id);
    if (!q || q->entity != ask->entity) {
        return UB_RECV_UNSUPPORTED;
    }
    if (urma_queue_deaf(q)) {
        return UB_RECV_SILENT;
    }
    if (urma_rq_of(u, q) && !sender_good(q, ask)) {
        u->counter[UB_URMA_DENIED]++;
        q->counts.denied++;
        return UB_RECV_DENIED;
    }
    return queue_receive(u, q, buf);
}

bool urma_place(void *opaque, uint64_t rqe, uint32_t off, const void *buf,
                uint32_t len)
{
    UbUrma *u = opaque;
    UrmaRecv *r = g_hash_table_lookup(u->recvs, &rqe);

    UrmaQueue *rq = r ? urma_queue(u, r->rq) : NULL;
    bool poison = false;    /* the completion says it (§10.6.2.2.2) */

    return rq && urma_list_copy(rq, r->element, r->elements, off, (void *)buf,
                                len, true, &poison);
}

static void recv_end(UbUrma *u, UrmaRecv *r)
{
    UrmaQueue *q = urma_queue(u, r->queue);
    UrmaQueue *rq = urma_queue(u, r->rq);

    q->recvs--;
    rq->recvs -= rq != q;
    g_hash_table_remove(u->recvs, &r->name);
}

void urma_received(void *opaque, const UbRecvDone *done)
{
    UbUrma *u = opaque;
    UrmaRecv *r = g_hash_table_lookup(u->recvs, &done->rqe);

    if (r) {
        UrmaDone d = {
            .opcode = done->opcode,
            .status = done->status,
            .receive = true,
            .imm_valid = done->opcode != UB_TA_SEND,
            .solicited = done->fce,
            .queue = r->queue,
            .index = r->index,
            .bytes = done->len,
            .remote = done->rc_id,
            .rq = r->rq,
            .imm = done->imm,
            .eid = done->seid,
        };
        UrmaQueue *q = urma_queue(u, r->queue);

        recv_end(u, r);
        urma_queue_count(q, d.status);
        urma_complete(u, q->recv_cq, &d);
    }
}

static void recv_flushed(UrmaQueue *q, uint32_t rq, uint16_t index)
{
    UrmaDone d = {
        .opcode = UB_TA_SEND,
        .status = UB_TAS_FLUSHED,
        .receive = true,
        .queue = q->id,
        .index = index,
        .rq = rq,
    };

    urma_queue_count(q, d.status);
    urma_complete(q->urma, q->recv_cq, &d);
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    const UrmaRecv *one = a, *two = b;

    return one->name < two->name ? -1 : one->name > two->name;
}

void urma_rq_drop(UrmaQueue *q, UrmaTell tell)
{
    UbUrma *u = q->urma;
    GList *all = q->recvs ? g_hash_table_get_values(u->recvs) : NULL;

    all = g_list_sort(all, by_name);
    for (GList *l = all; l; l = l->next) {
        UrmaRecv *r = l->data;

        if (r->queue == q->id || r->rq == q->id) {
            if (tell == URMA_TELL_ALL ||
                (tell == URMA_TELL_OTHERS && r->rq != q->id)) {
                recv_flushed(urma_queue(u, r->queue), r->rq, r->index);
            }
            recv_end(u, r);
        }
    }
    g_list_free(all);
}

unsigned urma_rq_flush(UrmaQueue *q, unsigned budget)
{
    unsigned n = 0;

    if (q->state == UBQ_STATE_ERROR) {
        urma_record_read(q);
    }
    while (q->state == UBQ_STATE_ERROR && q->rq_ci != q->rq_pi && n < budget) {
        recv_flushed(q, q->id, q->rq_ci++);
        n++;
    }
    urma_queue_settled(q);
    return n;
}

bool urma_rq_posted(UrmaQueue *q, uint16_t pi)
{
    if ((uint16_t)(pi - q->rq_ci) > rq_entries(q) ||
        (uint16_t)(pi - q->rq_ci) < (uint16_t)(q->rq_pi - q->rq_ci)) {
        return false;
    }
    q->rq_pi = pi;
    if ((uint16_t)(pi - q->rq_ci) >= q->rq_limit) {
        q->rq_low = false;
    }
    return true;
}

/* Nothing can be posted to a queue in Reset: it looks at the record then. */
void urma_record_read(UrmaQueue *q)
{
    UbUrma *u = q->urma;
    uint8_t r[8];

    if (!q->record || q->state == UBQ_STATE_RESET) {
        return;
    }
    if (!urma_read(u, q->record, r, sizeof(r)) ||
        (q->sq_log2 && !urma_sq_posted(q, get_le16(r))) ||
        (q->rq_log2 && !urma_rq_posted(q, get_le16(r + 4)))) {
        u->counter[UB_URMA_BELLS_BAD]++;
        urma_guest_error(u, "record of a queue that is not in memory, or of more "
                         "entries than it has");
    }
}

void urma_rq_look(UrmaQueue *rq)
{
    urma_bell_take_rq(rq->urma, rq->id);
    urma_record_read(rq);
}

void urma_rq_bell(UbUrma *u, uint32_t page, uint64_t value)
{
    UrmaQueue *q = urma_queue(u, value & (URMA_IDS - 1));

    if (!q || q->page != page || !q->rq_log2 ||
        q->state == UBQ_STATE_RESET ||
        (!urma_rq_posted(q, value >> 32) &&
         !urma_bell_late(q, q->rq_pi, value >> 32))) {
        u->counter[UB_URMA_BELLS_BAD]++;
        urma_guest_error(u, "doorbell of a receive queue that is not of the "
                         "page, in Reset, or for more entries than it has");
    } else if (q->state == UBQ_STATE_ERROR) {
        urma_queue_ring(q);
    }
}
