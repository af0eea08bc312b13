/*
 * Nodes with ends of URPC, in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "bed.h"

typedef enum EventKind {
    EVENT_MESSAGE, EVENT_MOVED, EVENT_IMM,
} EventKind;

typedef struct Event {
    int64_t at;
    uint64_t sequence;
    EventKind kind;
    BedEnd *end;
    uint64_t value;
    bool good;
    uint8_t *bytes;
    size_t len;
} Event;

/* ---- Events ------------------------------------------------------------------- */

static int event_order(const void *a, const void *b, void *opaque)
{
    const Event *x = a, *y = b;

    return x->at != y->at ? (x->at < y->at ? -1 : 1)
                          : (x->sequence < y->sequence ? -1 : 1);
}

static Event *event_add(Bed *b, BedEnd *end, EventKind kind, int64_t delay)
{
    Event *e = g_new0(Event, 1);

    e->at = b->now + delay;
    e->sequence = b->sequence++;
    e->kind = kind;
    e->end = end;
    g_queue_insert_sorted(&b->events, e, event_order, NULL);
    return e;
}

static void event_free(void *p)
{
    Event *e = p;

    g_free(e->bytes);
    g_free(e);
}

static bool chance(unsigned percent)
{
    return percent && g_test_rand_int_range(0, 100) < (int)percent;
}

static BedEnd *other_end(BedEnd *end)
{
    return &end->bed->end[end->peer][end->node];
}

static void message_add(BedEnd *to, const void *p, size_t len, int64_t delay)
{
    Event *e = event_add(to->bed, to, EVENT_MESSAGE, delay);

    e->bytes = g_memdup2(p, len);
    e->len = len;
}

/* ---- What ends stand on ------------------------------------------------------- */

static bool op_send(void *opaque, const void *msg, size_t len)
{
    BedEnd *end = opaque;
    Bed *b = end->bed;
    BedMessage *m;

    if (end->full) {
        return false;
    }
    m = g_malloc(sizeof(*m) + len);
    m->from = end->node;
    m->to = end->peer;
    m->len = len;
    memcpy(m->bytes, msg, len);
    g_ptr_array_add(b->log, m);
    for (unsigned n = 1 + chance(b->twice); n && !chance(b->lose); n--) {
        int64_t delay = BED_LATENCY;

        if (chance(b->jumble)) {
            delay += g_test_rand_int_range(0, 20 * BED_LATENCY);
        }
        message_add(other_end(end), msg, len, delay);
    }
    return true;
}

/* Memory that @ref names, if it is there and opens. */
static uint8_t *ref_memory(BedEnd *end, const UrpcRef *ref, uint32_t len)
{
    unsigned node = ref->eid_index ? ref->eid_index - 1u : end->peer;
    uint64_t base;

    if (node >= end->bed->nodes) {
        return NULL;
    }
    base = bed_address(end->bed, node, 0);
    if (ref->token != BED_TOKEN + node || ref->address < base ||
        ref->address + len > base + BED_MEM ||
        (ref->token_id != URPC_ANY_TOKEN_ID && ref->token_id != node)) {
        return NULL;
    }
    return (uint8_t *)(uintptr_t)ref->address;
}

static void moved(BedEnd *end, uint64_t ticket, bool good)
{
    Event *e = event_add(end->bed, end, EVENT_MOVED, 2 * BED_LATENCY);

    e->value = ticket;
    e->good = good;
}

static bool op_read(void *opaque, uint64_t ticket, void *local, const UrpcRef *ref,
                    uint32_t len)
{
    BedEnd *end = opaque;
    const uint8_t *p = ref_memory(end, ref, len);

    if (end->no_moves) {
        return false;
    }
    if (p) {
        memcpy(local, p, len);
    }
    moved(end, ticket, p);
    return true;
}

static bool op_write(void *opaque, uint64_t ticket, const void *local,
                     const UrpcRef *ref, uint32_t len, const uint64_t *imm)
{
    BedEnd *end = opaque;
    uint8_t *p = ref_memory(end, ref, len);

    if (end->no_moves) {
        return false;
    }
    if (p) {
        memcpy(p, local, len);
    }
    if (p && imm) {
        event_add(end->bed, other_end(end), EVENT_IMM,
                  BED_LATENCY + end->bed->imm_delay)->value = *imm;
    }
    moved(end, ticket, p);
    return true;
}

static void *op_mem_get(void *opaque, uint32_t len)
{
    BedEnd *end = opaque;

    if (end->no_memory) {
        return NULL;
    }
    end->memory += len;
    return g_malloc(len);
}

static void op_mem_put(void *opaque, void *p, uint32_t len)
{
    BedEnd *end = opaque;

    g_assert_cmpuint(end->memory, >=, len);
    end->memory -= len;
    g_free(p);
}

static const UrpcOps ops = {
    .send = op_send, .read = op_read, .write = op_write,
    .mem_get = op_mem_get, .mem_put = op_mem_put,
};

/* ---- The bed ------------------------------------------------------------------ */

void bed_conf(UrpcConfig *conf)
{
    *conf = (UrpcConfig) {
        .depth = 16, .message_max = 4096, .args_max = 1 << 20, .gather = 1,
        .timeout = 1000000, .channel = 0xabc000,
    };
}

Bed *bed_new(unsigned nodes, const UrpcConfig *conf)
{
    Bed *b = g_new0(Bed, 1);
    UrpcConfig c = *conf;

    b->nodes = nodes;
    b->log = g_ptr_array_new_with_free_func(g_free);
    g_queue_init(&b->events);
    for (unsigned i = 0; i < nodes; i++) {
        b->mem[i] = g_malloc0(BED_MEM);
        b->fns[i] = urpc_functions_new(BED_UNIT, 32);
    }
    for (unsigned i = 0; i < nodes; i++) {
        for (unsigned j = 0; j < nodes; j++) {
            BedEnd *end = &b->end[i][j];

            *end = (BedEnd) { .bed = b, .node = i, .peer = j,
                              .next = INT64_MAX };
            c.channel++;
            end->u = i == j ? NULL : urpc_new(&c, &ops, end, b->fns[i]);
            g_assert(i == j || end->u);
        }
    }
    return b;
}

void bed_free(Bed *b)
{
    for (unsigned i = 0; i < b->nodes; i++) {
        for (unsigned j = 0; j < b->nodes; j++) {
            urpc_free(b->end[i][j].u);
            g_assert_cmpuint(b->end[i][j].memory, ==, 0);
        }
    }
    for (unsigned i = 0; i < b->nodes; i++) {
        urpc_functions_free(b->fns[i]);
        g_free(b->mem[i]);
    }
    g_queue_clear_full(&b->events, event_free);
    g_ptr_array_free(b->log, true);
    g_free(b);
}

static void ends_run(Bed *b)
{
    for (unsigned i = 0; i < b->nodes; i++) {
        for (unsigned j = 0; j < b->nodes; j++) {
            BedEnd *end = &b->end[i][j];

            if (end->u) {
                end->next = urpc_run(end->u, b->now);
            }
        }
    }
}

static int64_t next_deadline(Bed *b)
{
    int64_t next = INT64_MAX;

    for (unsigned i = 0; i < b->nodes; i++) {
        for (unsigned j = 0; j < b->nodes; j++) {
            next = MIN(next, b->end[i][j].next);
        }
    }
    return next;
}

static void event_run(Bed *b, Event *e)
{
    Urpc *u = e->end->u;

    b->now = e->at;
    switch (e->kind) {
    case EVENT_MESSAGE:
        urpc_rx(u, b->now, e->bytes, e->len);
        break;
    case EVENT_MOVED:
        urpc_moved(u, b->now, e->value, e->good);
        break;
    case EVENT_IMM:
        urpc_immediate(u, b->now, e->value);
        break;
    }
    event_free(e);
}

static bool step(Bed *b, int64_t until)
{
    Event *e;
    int64_t next;

    ends_run(b);
    e = g_queue_peek_head(&b->events);
    next = next_deadline(b);
    if (MIN(next, e ? e->at : INT64_MAX) >= until) {
        return false;
    }
    if (e && e->at <= next) {
        event_run(b, g_queue_pop_head(&b->events));
    } else {
        b->now = MAX(b->now, next);
    }
    ends_run(b);
    return true;
}

bool bed_step(Bed *b)
{
    return step(b, INT64_MAX);
}

void bed_run(Bed *b)
{
    while (step(b, INT64_MAX)) {
    }
}

void bed_run_to(Bed *b, int64_t until)
{
    while (step(b, until)) {
    }
    b->now = until;
}

void bed_inject(Bed *b, unsigned from, unsigned to, const void *p, size_t len)
{
    message_add(&b->end[to][from], p, len, 0);
}

/* ---- What was sent ------------------------------------------------------------ */

unsigned bed_count(Bed *b, UrpcType type, unsigned from)
{
    unsigned n = 0;

    for (unsigned i = 0; i < b->log->len; i++) {
        const BedMessage *m = b->log->pdata[i];

        n += m->from == from && (m->bytes[0] & 15) == type;
    }
    return n;
}

const BedMessage *bed_last(Bed *b, UrpcType type, unsigned from)
{
    for (unsigned i = b->log->len; i--;) {
        const BedMessage *m = b->log->pdata[i];

        if (m->from == from && (m->bytes[0] & 15) == type) {
            return m;
        }
    }
    g_assert_not_reached();
}

/* ---- Memory and calls --------------------------------------------------------- */

uint64_t bed_address(Bed *b, unsigned node, uint32_t at)
{
    return (uintptr_t)b->mem[node] + at;
}

UrpcDma bed_dma(Bed *b, unsigned node, uint32_t at, uint32_t size)
{
    return (UrpcDma) { bed_address(b, node, at), size, BED_TOKEN + node };
}

UrpcPlogSge bed_sge(Bed *b, unsigned node, uint32_t at, uint32_t size, uint8_t flag)
{
    return (UrpcPlogSge) {
        .address = bed_address(b, node, at), .size = size, .token_id = node,
        .token = BED_TOKEN + node, .sgl_type = URPC_SGL_DO, .flag = flag,
    };
}

void bed_released(void *opaque, uint32_t id)
{
    BedCall *out = opaque;

    out->released++;
    out->released_first = !out->done;
}

void bed_done(void *opaque, const UrpcResult *result)
{
    BedCall *out = opaque;

    out->done++;
    out->id = result->id;
    out->status = result->status;
    out->local = result->local;
    out->defined = result->defined;
    out->len = result->len;
    g_assert_cmpuint(result->len, <=, sizeof(out->data));
    if (result->len) {
        memcpy(out->data, result->data, result->len);
    }
}

int bed_call(Bed *b, unsigned from, unsigned to, UrpcArgs args, BedCall *out)
{
    memset(out, 0, sizeof(*out));
    args.released = bed_released;
    args.done = bed_done;
    args.opaque = out;
    return urpc_call(b->end[from][to].u, b->now, &args, &out->id);
}
