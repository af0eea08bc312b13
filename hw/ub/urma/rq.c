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

/* Whose entries a queue receives by, or NULL. */
static UrmaQueue *rq_of(UbUrma *u, UrmaQueue *q)
{
    if (q->rq_shared != UBQ_NEW) {
        return urma_queue(u, q->rq_shared);
    }
    return q->rq_log2 ? q : NULL;
}

static bool sender_good(const UrmaQueue *q, const UbRecvAsk *ask)
{
    if (q->flags & UBQ_Q_TOKEN &&
        !(ask->token_en && ask->token == q->token)) {
        return false;
    }
    return !(q->flags & UBQ_Q_BOUND) ||
           (ask->rc_id == q->remote && ub_eid_same(&ask->seid,
                                                   &q->remote_eid));
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

static void limit_watch(UbUrma *u, UrmaQueue *rq)
{
    uint16_t left = rq->rq_pi - rq->rq_ci;

    if (rq->rq_limit && left < rq->rq_limit && !rq->rq_low) {
        rq->rq_low = true;
        ub_urma_event(u, rq->eq, UBQ_EVENT_RQ_LIMIT, rq->id, rq->entity, left);
    }
}

UbRecvResult urma_receive(void *opaque, const UbRecvAsk *ask, UbRecvBuf *buf)
{
    UbUrma *u = opaque;
    UrmaQueue *q = ask->tc_type == UB_TC_GROUP ? NULL
                                               : urma_queue(u, ask->tc_id);
    UrmaQueue *rq = q ? rq_of(u, q) : NULL;
    UrmaRecv r = { 0 };

    if (!q || q->entity != ask->entity) {
        return UB_RECV_UNSUPPORTED;
    }
    if (q->state == UBQ_STATE_RESET || q->state == UBQ_STATE_ERROR) {
        return UB_RECV_SILENT;
    }
    if (!rq) {
        return UB_RECV_UNSUPPORTED;
    }
    if (!sender_good(q, ask)) {
        u->counter[UB_URMA_DENIED]++;
        return UB_RECV_DENIED;
    }
    if (rq->rq_pi == rq->rq_ci) {
        u->counter[UB_URMA_RNR]++;
        buf->timer = q->rnr_timer;
        return UB_RECV_EMPTY;
    }
    if (!entry_read(u, rq, &r, &buf->len)) {
        urma_guest_error(u, "receive queue in memory that is not there");
        urma_queue_broken(rq);
        return UB_RECV_DENIED;
    }
    r.name = buf->rqe = u->next_recv++;
    r.queue = q->id;
    r.rq = rq->id;
    r.index = rq->rq_ci++;
    u->counter[UB_URMA_RQES]++;
    limit_watch(u, rq);
    {
        UrmaRecv *kept = g_memdup2(&r, sizeof(r));

        g_hash_table_insert(u->recvs, &kept->name, kept);
    }
    return UB_RECV_OK;
}

bool urma_place(void *opaque, uint64_t rqe, uint32_t off, const void *buf,
                uint32_t len)
{
    UbUrma *u = opaque;
    UrmaRecv *r = g_hash_table_lookup(u->recvs, &rqe);

    return r && urma_list_copy(u, r->element, r->elements, off, (void *)buf,
                               len, true);
}

void urma_received(void *opaque, const UbRecvDone *done)
{
    UbUrma *u = opaque;
    UrmaRecv *r = g_hash_table_lookup(u->recvs, &done->rqe);
    UrmaQueue *q = r ? urma_queue(u, r->queue) : NULL;

    if (q) {
        UrmaDone d = {
            .opcode = done->opcode,
            .status = done->status,
            .receive = true,
            .imm_valid = done->opcode != UB_TA_SEND,
            .solicited = done->fce,
            .queue = q->id,
            .index = r->index,
            .bytes = done->len,
            .remote = done->rc_id,
            .rq = r->rq,
            .imm = done->imm,
            .eid = done->seid,
        };

        urma_complete(u, q->recv_cq, &d);
    }
    g_hash_table_remove(u->recvs, &done->rqe);
}

static gboolean recv_of(gpointer key, gpointer value, gpointer queue)
{
    const UrmaRecv *r = value;
    const UrmaQueue *q = queue;

    return r->queue == q->id || r->rq == q->id;
}

void urma_rq_drop(UrmaQueue *q)
{
    g_hash_table_foreach_remove(q->urma->recvs, recv_of, q);
}

void urma_rq_bell(UbUrma *u, uint32_t page, uint64_t value)
{
    UrmaQueue *q = urma_queue(u, value & (URMA_IDS - 1));
    uint16_t pi = value >> 32;

    if (!q || q->page != page || !q->rq_log2 ||
        (uint16_t)(pi - q->rq_ci) > rq_entries(q)) {
        u->counter[UB_URMA_BELLS_BAD]++;
        urma_guest_error(u, "doorbell of a receive queue that is not of the "
                         "page, or for more entries than it has");
        return;
    }
    q->rq_pi = pi;
    if ((uint16_t)(pi - q->rq_ci) >= q->rq_limit) {
        q->rq_low = false;
    }
}
