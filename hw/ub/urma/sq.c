/*
 * Send queues: entries become requests of the transaction layer, and their ends
 * completions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static unsigned sq_blocks(const UrmaQueue *q)
{
    return 1u << q->sq_log2;
}

uint16_t urma_sq_ci(const UrmaQueue *q)
{
    return q->first ? q->first->index : q->sq_fetch;
}

/* ---- Data ----------------------------------------------------------------------- */

/* Inline data are byte enables, not data. */
static bool has_enables(const UbTaRequest *req)
{
    return req->opcode == UB_TA_WRITE_BE || req->opcode == UB_TA_WRITEBACK_BE;
}

UbTaData urma_gather(void *opaque, const UbTaRequest *req, uint32_t off,
                     void *buf, uint32_t len)
{
    UrmaWr *wr = (UrmaWr *)req;
    bool good, poison = false;

    if (wr->inlined && !has_enables(req)) {
        good = off <= wr->inlined && len <= wr->inlined - off;
        if (good) {
            memcpy(buf, wr->data + off, len);
        }
    } else {
        good = urma_list_copy(wr->queue, wr->element, wr->elements, off, buf, len,
                              false, &poison);
    }
    return !good ? UB_TA_DATA_FAULT
                 : poison ? UB_TA_DATA_POISON : UB_TA_DATA_OK;
}

UbTaData urma_scatter(void *opaque, const UbTaRequest *req, uint32_t off,
                      const void *buf, uint32_t len)
{
    UrmaWr *wr = (UrmaWr *)req;
    bool poison = req->tainted;

    return urma_list_copy(wr->queue, wr->element, wr->elements, off, (void *)buf,
                          len, true, &poison) ? UB_TA_DATA_OK : UB_TA_DATA_FAULT;
}

/* ---- Turns ------------------------------------------------------------------------ */

static void ring_add(UrmaRing *ring, UrmaQueue *q)
{
    q->next_ringing = NULL;
    *(ring->last ? &ring->last->next_ringing : &ring->first) = q;
    ring->last = q;
}

UrmaQueue *urma_ring_take(UrmaRing *ring)
{
    UrmaQueue *q = ring->first;

    ring->first = q->next_ringing;
    if (!ring->first) {
        ring->last = NULL;
    }
    q->ringing = q->starved = false;
    return q;
}

void urma_queue_unlist(UrmaQueue *q)
{
    UrmaRing *ring = q->starved ? &q->urma->starved : &q->urma->ringing;
    UrmaQueue **at = &ring->first, *before = NULL;

    while (*at && *at != q) {
        before = *at;
        at = &before->next_ringing;
    }
    if (*at) {
        *at = q->next_ringing;
        if (ring->last == q) {
            ring->last = before;
        }
    }
    q->ringing = q->starved = false;
}

void urma_queue_ring(UrmaQueue *q)
{
    if (q->starved && q->state != UBQ_STATE_READY) {
        urma_queue_unlist(q);       /* what it has to do takes no memory */
    }
    if (!q->ringing && !q->starved) {
        q->ringing = true;
        ring_add(&q->urma->ringing, q);
        urma_kick(q->urma);
    }
}

/* Its entries wait in the guest's memory until others have ended. */
static void starve(UrmaQueue *q)
{
    if (!q->ringing && !q->starved) {
        q->starved = true;
        ring_add(&q->urma->starved, q);
    }
}

/* ---- Entries that are under way ---------------------------------------------------- */

static bool wr_small(unsigned elements, unsigned inlined)
{
    return elements <= 1 && !inlined;
}

size_t urma_wr_small_bytes(void)
{
    return sizeof(UrmaWr) + sizeof(UrmaElement);
}

UrmaWr *urma_wr_new(UrmaQueue *q, unsigned elements, unsigned inlined)
{
    UbUrma *u = q->urma;
    UrmaWr *wr = wr_small(elements, inlined)
        ? core_slab_alloc0(&u->small)
        : g_malloc0(sizeof(UrmaWr) + inlined + elements * sizeof(UrmaElement));

    u->entries++;
    wr->queue = q;
    wr->element = (UrmaElement *)(wr + 1);
    wr->data = (uint8_t *)(wr->element + elements);
    wr->elements = elements;
    wr->inlined = inlined;
    wr->prev = q->last;
    if (q->last) {
        q->last->next = wr;
    } else {
        q->first = wr;
    }
    q->last = wr;
    return wr;
}

static void wr_free(UrmaWr *wr)
{
    UrmaQueue *q = wr->queue;

    if (wr->prev) {
        wr->prev->next = wr->next;
    } else {
        q->first = wr->next;
    }
    if (wr->next) {
        wr->next->prev = wr->prev;
    } else {
        q->last = wr->prev;
    }
    if (!urma_room(q->urma) && q->urma->starved.first) {
        urma_kick(q->urma);
    }
    q->urma->entries--;
    if (wr_small(wr->elements, wr->inlined)) {
        core_slab_free(&q->urma->small, wr);
    } else {
        g_free(wr);
    }
}

void urma_sq_drop(UrmaQueue *q)
{
    while (q->first) {
        wr_free(q->first);
    }
}

static bool brings_data(const UbTaRequest *req)
{
    return req->opcode == UB_TA_READ ||
           (req->opcode >= UB_TA_ATOMIC_CAS && req->opcode <= UB_TA_FETCH_XOR &&
            req->opcode != UB_TA_ATOMIC_STORE);
}

static void wr_complete(UrmaWr *wr, uint16_t status)
{
    UrmaQueue *q = wr->queue;
    UrmaDone d = {
        .opcode = wr->nop ? UBQ_OP_NOP : wr->req.opcode,
        .status = status,
        .solicited = wr->solicited,
        .queue = q->id,
        .index = wr->index,
        .bytes = status == UB_TAS_OK && brings_data(&wr->req) ? wr->req.len
                                                              : 0,
    };

    if (wr->want_cqe || status != UB_TAS_OK) {
        urma_complete(q->urma, q->send_cq, &d);
    }
    urma_queue_count(q, status);
    wr_free(wr);
}

/* Whether all that was posted has had its completion (in Suspended: all that had
 * begun). */
static bool queue_idle(const UrmaQueue *q)
{
    if (q->state == UBQ_STATE_SUSPENDED) {
        return !q->ta || !ub_ta_queue_begun(q->ta);
    }
    return q->state == UBQ_STATE_ERROR && !q->first &&
           q->sq_fetch == q->sq_pi && q->rq_ci == q->rq_pi;
}

void urma_queue_settled(UrmaQueue *q)
{
    UrmaDone d = {
        .opcode = UBQ_OP_NOP,
        .status = q->state == UBQ_STATE_ERROR ? UBQ_STATUS_FLUSH_DONE
                                              : UBQ_STATUS_SUSPEND_DONE,
        .receive = !q->sq_log2,
        .queue = q->id,
        .index = q->sq_log2 ? q->sq_fetch : q->rq_ci,
    };

    if (q->flags & UBQ_Q_DONE && !q->told && queue_idle(q)) {
        q->told = true;
        urma_complete(q->urma, q->sq_log2 ? q->send_cq : q->recv_cq, &d);
    }
}

/* Entries that end here, without the transaction layer, do so when all before
 * them have. */
static void ended_complete(UrmaQueue *q)
{
    while (q->first && q->first->ended) {
        uint16_t status = q->first->status;

        wr_complete(q->first, status);
        if (status != UB_TAS_OK && status != UB_TAS_FLUSHED) {
            urma_queue_failed(q);
        }
    }
}

void urma_done(void *opaque, UbTaRequest *req, UbTaStatus status)
{
    UrmaWr *wr = (UrmaWr *)req;
    UrmaQueue *q = wr->queue;

    if (!q->ta) {
        wr_free(wr);            /* it is being reset or destroyed */
        return;
    }
    wr_complete(wr, status);
    if (status != UB_TAS_OK && status != UB_TAS_FLUSHED) {
        urma_queue_failed(q);
    }
    ended_complete(q);
    urma_queue_settled(q);
    if (q->sq_fetch != q->sq_pi || q->record) {
        urma_queue_ring(q);
    }
}

/* ---- Entries from memory -------------------------------------------------------------- */

/* Copy @n blocks from index @at on, over the end of the ring. */
static bool blocks_read(UrmaQueue *q, uint16_t at, unsigned n, uint8_t *buf)
{
    unsigned first = at & (sq_blocks(q) - 1);
    unsigned part = MIN(n, sq_blocks(q) - first);

    return urma_read(q->urma, q->sq_base + (uint64_t)first * UBQ_BLOCK, buf,
                     part * UBQ_BLOCK) &&
           (part == n || urma_read(q->urma, q->sq_base, buf + part * UBQ_BLOCK,
                                   (n - part) * UBQ_BLOCK));
}

/* Blocks that were read together, for small entries come in rows. */
typedef struct Fetched {
    uint16_t at;                /* index of the first */
    unsigned blocks;
    bool singly;                /* what is behind an entry may be no memory */
    uint8_t block[UBQ_SQE_BLOCKS_MAX * UBQ_BLOCK];
} Fetched;

static void fetched_init(Fetched *f)
{
    f->at = 0;
    f->blocks = 0;
    f->singly = false;
}

/* Blocks from the fetch index on: @n of them, and those behind that there are. */
static bool fetch(UrmaQueue *q, Fetched *f, unsigned n)
{
    unsigned there = (uint16_t)(q->sq_pi - q->sq_fetch);

    f->at = q->sq_fetch;
    f->blocks = MIN(there, UBQ_SQE_BLOCKS_MAX);
    if (f->blocks > n && !f->singly) {
        if (blocks_read(q, f->at, f->blocks, f->block)) {
            return true;
        }
        f->singly = true;
    }
    f->blocks = n;
    return blocks_read(q, f->at, n, f->block);
}

/* Where the parts of an entry lie. */
typedef struct Parts {
    unsigned elements, inlined;
    uint32_t notify, more, data;    /* offsets: segment of the notification,
                                     * elements from 1 on, inline data */
} Parts;

static unsigned inline_bytes(const uint8_t *e, unsigned opcode)
{
    uint32_t len = get_le32(e + UBQ_SQE_LENGTH);

    if (opcode == UB_TA_WRITE_BE || opcode == UB_TA_WRITEBACK_BE) {
        return MIN(len, UB_TA_BE_MAX) / 8;
    }
    if (opcode >= UB_TA_ATOMIC_CAS && opcode <= UB_TA_FETCH_XOR) {
        return MIN(len, UB_TA_ATOMIC_MAX) * 2;
    }
    return MIN(len, UBQ_INLINE_MAX + 1);
}

/* NULL, or the rule that the entry's first word breaks. */
static const char *parts_find(const uint8_t *e, unsigned blocks, Parts *p)
{
    uint32_t w0 = get_le32(e + UBQ_SQE_W0);
    unsigned opcode = w0 & UBQ_SQE_OPCODE;
    uint32_t at = UBQ_BLOCK;

    *p = (Parts){ .elements = (w0 & UBQ_SQE_ELEMENTS) >> 12 };
    if (p->elements > UBQ_ELEMENTS_MAX) {
        return "send queue entry with too many elements";
    }
    if (opcode == UB_TA_WRITE_NOTIFY) {
        p->notify = at;
        at += 16;
    }
    p->more = at;
    if (p->elements > 1) {
        at += (p->elements - 1) * UBQ_ELEMENT;
    }
    p->data = at;
    if (w0 & UBQ_SQE_INLINE) {
        p->inlined = inline_bytes(e, opcode);
        if (p->inlined > UBQ_INLINE_MAX) {
            return "send queue entry with too much inline data";
        }
        at += p->inlined;
    }
    return at > blocks * UBQ_BLOCK ?
           "send queue entry longer than its blocks" : NULL;
}

static void element_get(UrmaElement *to, const uint8_t *from)
{
    to->addr = get_le64(from);
    to->len = get_le32(from + 8);
}

static void request_get(UrmaWr *wr, const uint8_t *e, const Parts *p)
{
    UbTaRequest *r = &wr->req;
    uint32_t w0 = get_le32(e + UBQ_SQE_W0), w5 = get_le32(e + UBQ_SQE_W5);
    uint64_t notify = get_le64(e + UBQ_SQE_NOTIFY);

    r->dest = get_le32(e + UBQ_SQE_DEST) & (URMA_IDS - 1);
    r->opcode = w0 & UBQ_SQE_OPCODE;
    r->order = (w0 & UBQ_SQE_ORDER) >> 20;
    r->fence = w0 & UBQ_SQE_FENCE;
    r->ordered_cqe = w0 & UBQ_SQE_ORDERED_CQE;
    r->fce = w0 & UBQ_SQE_SOLICITED;
    r->e_bit = w0 & UBQ_SQE_EXCLUSIVE;
    r->token_en = w0 & UBQ_SQE_TOKEN;
    r->sub = w5 & UBQ_SQE_SUB;
    r->ud_en = r->opcode == UB_TA_ATOMIC_STORE ||
               r->opcode == UB_TA_ATOMIC_LOAD;
    r->tc_type = w0 & UBQ_SQE_GROUP ? UB_TC_GROUP : UB_TC_RQ;
    r->hint = (w5 & UBQ_SQE_HINT) >> 8;
    r->token_id = r->tc_id = get_le32(e + UBQ_SQE_TARGET) & (URMA_IDS - 1);
    r->token = get_le32(e + UBQ_SQE_TOKEN_VALUE);
    r->addr = get_le64(e + UBQ_SQE_ADDR);
    r->len = get_le32(e + UBQ_SQE_LENGTH);
    r->imm = get_le64(e + UBQ_SQE_IMM);
    if (r->opcode == UB_TA_WRITE_IMM) {
        r->tc_id = notify & (URMA_IDS - 1);
        r->imm_token = notify >> 32;
    }
    if (p->notify) {
        r->ntf_addr = notify;
        r->ntf_data = r->imm;
        r->ntf_token_id = get_le32(e + p->notify) & (URMA_IDS - 1);
        r->ntf_token = get_le32(e + p->notify + 4);
    }
    for (unsigned i = 0; i < p->elements; i++) {
        element_get(&wr->element[i], i ? e + p->more + (i - 1) * UBQ_ELEMENT
                                       : e + UBQ_SQE_ELEMENT);
    }
    memcpy(wr->data, e + p->data, p->inlined);
    if (has_enables(r)) {
        memcpy(r->be, wr->data, MIN(p->inlined, sizeof(r->be)));
    }
    wr->want_cqe = w0 & UBQ_SQE_CQE;
    wr->solicited = w0 & UBQ_SQE_EVENT;
    wr->nop = r->opcode == UBQ_OP_NOP;
}

/* The number of blocks of the entry at @e, or 0: it is no entry. */
static unsigned entry_blocks(const UrmaQueue *q, const uint8_t *e)
{
    uint32_t w0 = get_le32(e + UBQ_SQE_W0);
    unsigned blocks = ((w0 & UBQ_SQE_BLOCKS) >> 8) + 1;
    uint32_t want = q->sq_fetch >> q->sq_log2 & 1 ? 0 : UBQ_SQE_OWNER;

    if ((w0 ^ want) & UBQ_SQE_OWNER ||
        blocks > (uint16_t)(q->sq_pi - q->sq_fetch)) {
        return 0;
    }
    return blocks;
}

/* The entry at the fetch index, whole, or NULL: it is none, or not to be read. */
static const uint8_t *entry_fetch(UrmaQueue *q, Fetched *f, unsigned *blocks)
{
    unsigned pos = (uint16_t)(q->sq_fetch - f->at);

    if (pos >= f->blocks) {
        if (!fetch(q, f, 1)) {
            return NULL;
        }
        pos = 0;
    }
    *blocks = entry_blocks(q, f->block + pos * UBQ_BLOCK);
    if (pos + *blocks > f->blocks) {
        if (!fetch(q, f, *blocks)) {
            return NULL;
        }
        pos = 0;
    }
    return *blocks ? f->block + pos * UBQ_BLOCK : NULL;
}

/* Begin the entry at the fetch index.  False: the queue cannot go on. */
static bool entry_begin(UrmaQueue *q, Fetched *f)
{
    UbUrma *u = q->urma;
    const uint8_t *e;
    const char *broken;
    unsigned blocks;
    Parts parts;
    UrmaWr *wr;

    e = entry_fetch(q, f, &blocks);
    if (!e) {
        urma_guest_error(u, "send queue entry that is not there, or not the "
                         "device's");
        /* Where the next one begins cannot be known. */
        q->sq_pi = q->sq_fetch;
        urma_queue_error(q, UBQ_EVENT_JFS_CHECK);
        return false;
    }
    u->counter[UB_URMA_SQES]++;
    urma_trace(u, UB_URMA_TRACE_SEND, q->id, q->sq_fetch,
               get_le32(e + UBQ_SQE_W0) & UBQ_SQE_OPCODE);
    broken = parts_find(e, blocks, &parts);
    if (broken) {
        urma_guest_error(u, broken);
        parts.elements = parts.inlined = 0;
    }
    wr = urma_wr_new(q, parts.elements, parts.inlined);
    wr->index = q->sq_fetch;
    wr->blocks = blocks;
    q->sq_fetch += blocks;
    if (!broken) {
        request_get(wr, e, &parts);
    }
    wr->req.id = q->next_id++;
    wr->status = broken ? UB_TAS_LOCAL_LENGTH :
                 wr->req.opcode == UB_TA_MANAGEMENT ? UB_TAS_OPCODE :
                 q->state != UBQ_STATE_READY ? UB_TAS_FLUSHED : UB_TAS_OK;
    wr->ended = wr->nop || wr->status != UB_TAS_OK;
    if (wr->ended) {
        ended_complete(q);
    } else {
        /* There is room: urma_sq_serve() has looked. */
        ub_ta_post(u->ta, q->ta, &wr->req);
    }
    return true;
}

/* In Error an entry ends at once and leaves nothing. */
static bool may_fetch(const UrmaQueue *q)
{
    return q->sq_fetch != q->sq_pi && q->ta &&
           (q->state == UBQ_STATE_ERROR ||
            (q->state == UBQ_STATE_READY &&
             urma_may_access(q->urma, q->entity) &&
             ub_ta_queue_len(q->ta) < ub_ta_config(q->urma->ta)->depth));
}

unsigned urma_sq_serve(UrmaQueue *q, unsigned budget, bool turn)
{
    UbUrma *u = q->urma;
    unsigned n = 0;
    Fetched f;

    fetched_init(&f);
    if (q->sq_fetch == q->sq_pi) {
        urma_record_read(q);
    }
    while (n < budget && may_fetch(q)) {
        if (q->state == UBQ_STATE_READY &&
            (!urma_room(u) || (u->starved.first && !turn))) {
            starve(q);
            break;
        }
        if (!entry_begin(q, &f)) {
            break;
        }
        n++;
    }
    urma_queue_settled(q);
    return n;
}

bool urma_sq_drain(UrmaQueue *q)
{
    bool room = true;
    Fetched f;

    fetched_init(&f);
    ub_ta_queue_flush(q->ta, q->state == UBQ_STATE_ERROR);
    urma_record_read(q);
    while (q->sq_fetch != q->sq_pi &&
           (room = !q->first || urma_room(q->urma)) && entry_begin(q, &f)) {
        continue;
    }
    urma_queue_settled(q);
    return room;
}

bool urma_sq_posted(UrmaQueue *q, uint16_t pi)
{
    if ((uint16_t)(pi - urma_sq_ci(q)) > sq_blocks(q) ||
        (uint16_t)(pi - q->sq_fetch) < (uint16_t)(q->sq_pi - q->sq_fetch)) {
        return false;
    }
    q->sq_pi = pi;
    return true;
}

void urma_sq_bell(UbUrma *u, uint32_t page, uint64_t value)
{
    UrmaQueue *q = urma_queue(u, value & (URMA_IDS - 1));

    if (!q || q->page != page || !q->sq_log2 ||
        q->state == UBQ_STATE_RESET ||
        (!urma_sq_posted(q, value >> 32) &&
         !urma_bell_late(q, q->sq_pi, value >> 32))) {
        u->counter[UB_URMA_BELLS_BAD]++;
        urma_guest_error(u, "doorbell of a send queue that is not of the page, "
                         "in Reset, or for more blocks than it has");
        return;
    }
    urma_queue_ring(q);
}
