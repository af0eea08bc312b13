/*
 * Queues of the transaction engine: life, registers, doorbells, turns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Entries of one queue in a turn, before the next has its. */
#define QUANTUM 32

void ub_urma_config_init(UbUrmaConfig *cfg)
{
    *cfg = (UbUrmaConfig){
        .queues = 65536,
        .cqs = 65536,
        .groups = 4096,
        .members = 256,
        .eqs = UBQ_EQS,
        .segments = 65536,
        .requests = 1 << 18,
        .pages = 256,
        .entities = 1,
        .vectors = 1024,
        .seed = 1,
    };
}

static void message_pass(void *opaque, int64_t now, const UbTaMessage *m)
{
    UbUrma *u = opaque;

    if (u->ops.message) {
        u->ops.message(u->opaque, now, m);
    }
}

const UbTaOps ub_urma_ta_ops = {
    .gather = urma_gather,
    .scatter = urma_scatter,
    .done = urma_done,
    .access = urma_access,
    .bus = urma_bus,
    .exchange = urma_exchange,
    .receive = urma_receive,
    .place = urma_place,
    .received = urma_received,
    .message = message_pass,
};

static void table_init(UbUrma *u)
{
    core_table_init(&u->queues, URMA_ID_BITS);
    core_table_init(&u->cqs, URMA_ID_BITS);
    core_table_init(&u->groups, URMA_ID_BITS);
    core_table_init(&u->segments, URMA_ID_BITS);
}

UbUrma *ub_urma_new(const UbUrmaConfig *cfg, const UbUrmaOps *ops,
                    void *opaque)
{
    UbUrma *u = g_new0(UbUrma, 1);

    u->cfg = *cfg;
    u->ops = *ops;
    u->opaque = opaque;
    u->recvs = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                     g_free);
    core_slab_init(&u->small, urma_wr_small_bytes());
    u->next_recv = 1;
    u->bells = urma_bells_new();
    urma_poison_init(u);
    table_init(u);
    return u;
}

void ub_urma_bind(UbUrma *u, UbTa *ta)
{
    u->ta = ta;
}

void ub_urma_set_ummu(UbUrma *u, UbUmmu *ummu)
{
    u->ummu = ummu;
}

static void queue_gone(void *opaque, void *p)
{
    UrmaQueue *q = p;

    /* Its owner has reset the transaction layer. */
    q->ta = NULL;
    urma_queue_free(q, URMA_TELL_NONE);
}

static void group_gone(void *opaque, void *p)
{
    urma_group_free(opaque, p);
}

static void cq_gone(void *opaque, void *p)
{
    urma_cq_free(opaque, p);
}

static void segment_gone(void *opaque, void *p)
{
    UbUrma *u = opaque;
    UrmaSegment *s = p;

    core_table_set(&u->segments, s->token_id, NULL);
    u->n_segments--;
    g_free(s);
}

void ub_urma_reset(UbUrma *u)
{
    /* First, or each queue looks for itself in all of these. */
    u->ringing = u->starved = (UrmaRing) { NULL };
    g_hash_table_remove_all(u->recvs);
    core_table_foreach(&u->queues, queue_gone, u);
    core_table_foreach(&u->groups, group_gone, u);
    core_table_foreach(&u->cqs, cq_gone, u);
    core_table_foreach(&u->segments, segment_gone, u);
    memset(u->eq, 0, sizeof(u->eq));
    memset(&u->cmd, 0, sizeof(u->cmd));
    u->hint_queue = u->hint_cq = u->hint_group = 0;
    g_array_set_size(u->poison, 0);
    u->tainting = false;
}

void ub_urma_free(UbUrma *u)
{
    if (u) {
        ub_urma_reset(u);
        core_slab_trim(&u->small);
        core_table_free(&u->queues);
        core_table_free(&u->cqs);
        core_table_free(&u->groups);
        core_table_free(&u->segments);
        core_timers_free(&u->timers);
        urma_bells_free(u->bells);
        g_hash_table_unref(u->recvs);
        g_array_free(u->poison, true);
        g_free(u);
    }
}

static UrmaEq *eq_at(const UbUrma *u, uint32_t offset)
{
    uint32_t n = (offset - UBQ_EQ_WINDOW) / UBQ_EQ_STRIDE;

    return offset >= UBQ_EQ_WINDOW && n < u->cfg.eqs ? (UrmaEq *)&u->eq[n]
                                                     : NULL;
}

uint32_t ub_urma_reg_read(const UbUrma *u, uint32_t offset)
{
    UrmaEq *eq = eq_at(u, offset);

    if (eq) {
        return urma_eq_reg_read(eq, offset % UBQ_EQ_STRIDE);
    }
    return offset >= UBQ_CMD_WINDOW
           ? urma_cmd_reg_read(u, offset - UBQ_CMD_WINDOW) : 0;
}

void ub_urma_reg_write(UbUrma *u, uint32_t offset, uint32_t value)
{
    UrmaEq *eq = eq_at(u, offset);

    if (eq) {
        urma_eq_reg_write(u, eq, offset % UBQ_EQ_STRIDE, value);
    } else if (offset >= UBQ_CMD_WINDOW) {
        urma_cmd_reg_write(u, offset - UBQ_CMD_WINDOW, value);
    }
}

void ub_urma_bell(UbUrma *u, uint32_t page, uint32_t offset, uint64_t value)
{
    switch (offset) {
    case UBQ_BELL_SQ:
        urma_sq_bell(u, page, value);
        break;
    case UBQ_BELL_RQ:
        urma_rq_bell(u, page, value);
        break;
    case UBQ_BELL_CQ:
        urma_cq_bell(u, page, value);
        break;
    default:
        u->counter[UB_URMA_BELLS_BAD]++;
        urma_guest_error(u, "doorbell that does not exist");
        break;
    }
}

static void entity_ring(void *opaque, void *p)
{
    const unsigned *entity = opaque;
    UrmaQueue *q = p;

    if (q->entity == *entity && q->sq_log2) {
        urma_queue_ring(q);
    }
}

typedef struct Search {
    unsigned entity;
    bool found;
} Search;

#define SEEK(name, type)                                                \
    static void name(void *opaque, void *p)                             \
    {                                                                   \
        Search *s = opaque;                                             \
                                                                        \
        s->found |= ((const type *)p)->entity == s->entity;             \
    }

SEEK(seek_queue, UrmaQueue)
SEEK(seek_group, UrmaGroup)
SEEK(seek_segment, UrmaSegment)

bool ub_urma_entity_used(UbUrma *u, unsigned entity)
{
    Search s = { .entity = entity };

    core_table_foreach(&u->queues, seek_queue, &s);
    core_table_foreach(&u->groups, seek_group, &s);
    core_table_foreach(&u->segments, seek_segment, &s);
    return s.found;
}

void ub_urma_entity(UbUrma *u, unsigned entity)
{
    if (urma_may_access(u, entity)) {
        core_table_foreach(&u->queues, entity_ring, &entity);
    }
}

static bool has_work(const UbUrma *u)
{
    return u->ringing.first || (u->starved.first && urma_room(u));
}

/* Queues in turn, each a few entries at a time; those that have more wait for the
 * next round, those that the transaction layer has no room for are rung by it.  Those
 * that wait for memory come first when there is some, or those that end soonest would
 * have all of it. */
static unsigned queues_serve(UbUrma *u, unsigned budget)
{
    unsigned n = 0;

    while (n < budget && has_work(u)) {
        bool turn = u->starved.first && urma_room(u);
        UrmaQueue *q = urma_ring_take(turn ? &u->starved : &u->ringing);
        unsigned part = MIN(QUANTUM, budget - n), done;

        done = urma_rq_flush(q, part);
        done += urma_sq_serve(q, part - done, turn);
        if (done == part) {
            urma_queue_ring(q);
        }
        n += done;
    }
    return n;
}

int64_t ub_urma_run(UbUrma *u, int64_t now, unsigned budget)
{
    CoreTimer *t;

    u->now = now;
    while ((t = core_timers_expired(&u->timers, now))) {
        urma_cq_expired(u, t);
    }
    urma_cmd_serve(u, budget);
    queues_serve(u, budget);
    if (has_work(u) || (u->cmd.enabled && u->cmd.pi != u->cmd.ci)) {
        return now;
    }
    return core_timers_deadline(&u->timers);
}
