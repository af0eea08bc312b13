/*
 * What two engines of queues must have done.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "model.h"

#define CQ_LOG2 12
#define CTP_ROW 20
#define UTP_ROW 21
#define QUIET_TURNS 500     /* of a second: far beyond all time-outs */

static Model *model;        /* memory's hook has no other way to it */

uint64_t model_rnd(Model *m, uint64_t n)
{
    return core_random(&m->rng) % n;
}

uint32_t slot_offset(unsigned queue, unsigned slot)
{
    return (queue * M_SLOTS + slot) * M_SLOT;
}

static uint64_t local_of(const ModelNode *n, const Job *j)
{
    return n->local + (uint64_t)(j->queue * M_SLOTS + j->slot) * M_LOCAL;
}

static ModelQueue *queue_of(Model *m, const Job *j)
{
    return &m->node[j->node].queue[j->queue];
}

UbqQueue *model_rq(ModelNode *n, unsigned rq)
{
    return rq == M_SHARED ? &n->shared : &n->queue[rq].q;
}

static bool is_atomic(const Job *j)
{
    return j->opcode >= UB_TA_ATOMIC_CAS && j->opcode <= UB_TA_FETCH_XOR;
}

static bool brings(const Job *j)
{
    return j->opcode == UB_TA_READ || is_atomic(j);
}

static bool is_message(const Job *j)
{
    return j->opcode == UB_TA_SEND || j->opcode == UB_TA_SEND_IMM;
}

static bool takes_entry(const Job *j)
{
    return is_message(j) || j->opcode == UB_TA_WRITE_IMM;
}

static bool on_counter(const Job *j)
{
    return j->opcode == UB_TA_FETCH_ADD;
}

/* ---- Order, seen from the target's memory (§7.3.2) ----------------------------------- */

static bool executed(const Job *j)
{
    if (takes_entry(j)) {
        return j->landed;
    }
    return j->touched >= j->len + (j->opcode == UB_TA_WRITE_NOTIFY ? 8 : 0);
}

/* What may come to nothing, or whose execution is not seen in its slot. */
static bool uncertain(const Job *j)
{
    return j->lossy || j->upset || j->fault || j->opcode == UBQ_OP_NOP ||
           on_counter(j);
}

/* @j begins to be executed. */
static void check_order(Model *m, const Job *j)
{
    for (GList *l = queue_of(m, j)->jobs.head; l; l = l->next) {
        const Job *k = l->data;

        if (k->serial >= j->serial) {
            break;
        }
        if (uncertain(k)) {
            continue;
        }
        if (j->order == UB_TA_SO && k->order != UB_TA_NO) {
            g_assert_true(executed(k));
        }
        if (j->fence && brings(k)) {
            g_assert_cmpuint(k->brought, >=, k->len);
        }
    }
}

static void touch_remote(Model *m, unsigned node, uint64_t off, uint32_t len,
                         bool write)
{
    unsigned slot = off / M_SLOT;
    Job *j = m->node[!node].queue[slot / M_SLOTS].job[slot % M_SLOTS];

    /* Nothing is executed that nobody asked for, or that has ended. */
    g_assert_nonnull(j);
    g_assert_false(j->harmless);
    g_assert_true(!j->done || j->lossy || j->upset);
    g_assert_true(!write || j->opcode != UB_TA_READ);
    if (!j->touched) {
        check_order(m, j);
    }
    if (j->opcode == UB_TA_WRITE_NOTIFY && off % M_SLOT == 0) {
        g_assert_cmpuint(j->touched, >=, j->len);   /* behind the data */
    }
    j->touched += len;
}

static void touch_local(Model *m, unsigned node, uint64_t off, uint32_t len)
{
    unsigned slot = off / M_LOCAL;
    Job *j = m->node[node].queue[slot / M_SLOTS].job[slot % M_SLOTS];

    g_assert_nonnull(j);
    g_assert_true(brings(j));
    g_assert_false(j->done);
    j->brought += len;
}

/* Which message a receive completion is of; NULL: of none that is known. */
static Job *message_of(Model *m, unsigned node, const uint8_t *cqe)
{
    ModelNode *n = &m->node[node];
    uint32_t w0 = get_le32(cqe), number = get_le32(cqe + UBQ_CQE_RQ);
    uint64_t id = get_le64(cqe + UBQ_CQE_IMMEDIATE);

    for (unsigned i = 0; i < M_RQS; i++) {
        if (model_rq(n, i)->id == number && !(w0 & UBQ_CQE_IMM)) {
            id = get_le64(n->e->memory + n->rq[i].buf + (uint64_t)
                          (get_le32(cqe + UBQ_CQE_INDEX) % M_RQES) * M_SLOT);
        }
    }
    return g_hash_table_lookup(m->messages, &id);
}

static void touch_completion(Model *m, unsigned node, uint64_t at)
{
    const uint8_t *cqe = m->node[node].e->memory + at;
    Job *j;

    if (ubq_cqe_status(cqe) == UBQ_STATUS_OK &&
        get_le32(cqe) & UBQ_CQE_RECEIVE) {
        j = message_of(m, node, cqe);
        g_assert_nonnull(j);
        if (!j->touched) {
            check_order(m, j);
        }
        j->landed = true;
    }
}

static void touched(End *e, uint64_t addr, uint32_t len, bool write)
{
    Model *m = model;
    unsigned node = e == m->node[1].e;
    ModelNode *n = &m->node[node];

    if (addr >= n->remote && addr < n->remote + M_REMOTE) {
        touch_remote(m, node, addr - n->remote, len, write);
    } else if (write && addr >= n->local &&
               addr < n->local + M_QUEUES * M_SLOTS * M_LOCAL) {
        touch_local(m, node, addr - n->local, len);
    } else if (write && len == 8 && addr % UBQ_CQE == 0 &&
               addr >= n->recv.base &&
               addr < n->recv.base + (UBQ_CQE << CQ_LOG2)) {
        touch_completion(m, node, addr);
    }
}

/* ---- Ends of entries ----------------------------------------------------------------------- */

static uint64_t low_bytes(uint64_t v, uint32_t len)
{
    return len < 8 ? v & ((1ull << 8 * len) - 1) : v;
}

/* As much of a number as there is; only operands of atomics are looked at. */
static uint64_t bytes_get(const uint8_t *p, uint32_t len)
{
    uint64_t v = 0;

    for (uint32_t i = 0; i < MIN(len, sizeof(v)); i++) {
        v |= (uint64_t)p[i] << 8 * i;
    }
    return v;
}

/* The bytes that it leaves in its slot. */
static void execute(const Job *j, uint8_t *slot)
{
    uint64_t old = bytes_get(slot + j->off, j->len), v = j->operand[0];

    switch (j->opcode) {
    case UB_TA_WRITE_NOTIFY:
        put_le64(slot, j->notify);
        /* fall through */
    case UB_TA_WRITE:
    case UB_TA_WRITE_IMM:
        memcpy(slot + j->off, j->data, j->len);
        return;
    case UB_TA_FETCH_SUB:
        v = old - v;
        break;
    case UB_TA_FETCH_AND:
        v &= old;
        break;
    case UB_TA_FETCH_OR:
        v |= old;
        break;
    case UB_TA_FETCH_XOR:
        v ^= old;
        break;
    case UB_TA_ATOMIC_CAS:
        v = old == low_bytes(j->operand[0], j->len) ? j->operand[1] : old;
        break;
    case UB_TA_ATOMIC_SWAP:
        break;
    default:
        return;
    }
    for (uint32_t i = 0; i < j->len; i++) {
        slot[j->off + i] = v >> 8 * i;
    }
}

/* What came: the bytes @want, in its pieces, and nothing between them. */
static void check_brought(Model *m, const Job *j, const uint8_t *want)
{
    ModelNode *n = &m->node[j->node];
    const uint8_t *at = n->e->memory + local_of(n, j);

    for (unsigned i = 0; i < j->pieces; i++) {
        g_assert_cmpmem(at, j->piece[i], want, j->piece[i]);
        for (unsigned k = 0; k < M_GAP; k++) {
            g_assert_cmphex(at[j->piece[i] + k], ==, 0xa5);
        }
        want += j->piece[i];
        at += j->piece[i] + M_GAP;
    }
}

static void check_counter(Model *m, const Job *j)
{
    ModelNode *n = &m->node[j->node], *peer = &m->node[!j->node];
    uint64_t *old = g_new(uint64_t, 1);

    *old = get_le64(n->e->memory + local_of(n, j));
    g_assert_true(g_hash_table_add(peer->seen, old));   /* nobody else's */
    peer->added++;
}

/* It ended well: memory is as it says. */
static void check_done(Model *m, const Job *j)
{
    ModelNode *peer = &m->node[!j->node];
    uint32_t off = slot_offset(j->queue, j->slot);
    uint8_t *shadow = peer->shadow + off;

    if (takes_entry(j)) {
        g_assert_true(j->received || j->upset ||
                      queue_of(m, j)->mode == UB_UNO);
    }
    if (on_counter(j)) {
        check_counter(m, j);
        return;
    }
    if (brings(j)) {
        check_brought(m, j, shadow + j->off);
    }
    execute(j, shadow);
    g_assert_cmpmem(peer->e->memory + peer->remote + off, M_SLOT, shadow,
                    M_SLOT);
}

/* It did not: each byte is as it was, or as it would be. */
static void check_failed(Model *m, const Job *j)
{
    ModelNode *peer = &m->node[!j->node];
    uint32_t off = slot_offset(j->queue, j->slot);
    const uint8_t *memory = peer->e->memory + peer->remote + off;
    uint8_t *shadow = peer->shadow + off;
    g_autofree uint8_t *then = g_memdup2(shadow, M_SLOT);

    if (on_counter(j)) {
        peer->perhaps++;
        return;
    }
    if (!j->harmless) {
        execute(j, then);
    }
    for (unsigned i = 0; i < M_SLOT; i++) {
        g_assert_true(memory[i] == shadow[i] || memory[i] == then[i]);
        shadow[i] = memory[i];
    }
}

static void job_free(Model *m, Job *j)
{
    queue_of(m, j)->job[j->slot] = NULL;
    g_hash_table_remove(m->messages, &j->id);
    g_free(j->data);
    g_free(j);
}

/* Nothing of it can be on its way any more. */
static void job_settle(Model *m, Job *j)
{
    if (j->status != UBQ_STATUS_OK) {
        check_failed(m, j);
    }
    job_free(m, j);
}

static void job_end(Model *m, Job *j, uint16_t status)
{
    g_assert_false(j->done);
    if (j->upset) {
        g_assert_true(status == UBQ_STATUS_OK || status == j->fault ||
                      status == UBQ_STATUS_FLUSHED ||
                      status == UBQ_STATUS_TIMEOUT ||
                      status == UBQ_STATUS_ABORT);
    } else if (status != j->fault) {
        g_assert_true(j->lossy);
        g_assert_cmphex(status, ==, UBQ_STATUS_TIMEOUT);
    }
    j->done = true;
    j->status = status;
    g_queue_remove(&queue_of(m, j)->jobs, j);
    m->completions++;
    m->unsignaled += !j->told;
    m->lost += status == UBQ_STATUS_TIMEOUT;
    m->flushed += status == UBQ_STATUS_FLUSHED;
    m->faults += status == j->fault && j->fault;
    if (status == UBQ_STATUS_OK) {
        check_done(m, j);
    }
    /* Others stay where they are: packets of theirs may be late. */
    if (!j->lossy && !j->upset) {
        job_settle(m, j);
    }
}

static Job *job_at(ModelQueue *q, uint16_t index)
{
    for (GList *l = q->jobs.head; l; l = l->next) {
        if (((Job *)l->data)->index == index) {
            return l->data;
        }
    }
    return NULL;
}

/* In a queue with completions in order the first of them that asked for none. */
static Job *silent_first(ModelQueue *q, const Job *before)
{
    Job *first = g_queue_peek_head(&q->jobs);

    return first != before && !first->told ? first : NULL;
}

static void take_sent(Model *m, unsigned node, const uint8_t *c)
{
    uint32_t id = get_le32(c + UBQ_CQE_QUEUE), w0 = get_le32(c);
    uint16_t status = ubq_cqe_status(c);
    ModelQueue *q = m->node[node].queue;
    Job *j, *silent;

    while (q->q.id != id) {
        q++;
        g_assert_true(q < m->node[node].queue + M_QUEUES);
    }
    if (status == UBQ_STATUS_FLUSH_DONE || status == UBQ_STATUS_SUSPEND_DONE) {
        unsigned *left = status == UBQ_STATUS_FLUSH_DONE ? &q->flush_done
                                                         : &q->suspend_done;

        g_assert_cmpuint(*left, >, 0);
        --*left;
        return;
    }
    j = job_at(q, get_le32(c + UBQ_CQE_INDEX));
    g_assert_nonnull(j);            /* once, and of this entry */
    if (q->flags & UBQ_Q_IN_ORDER) {
        while ((silent = silent_first(q, j))) {
            job_end(m, silent, UBQ_STATUS_OK);
        }
        g_assert_true(g_queue_peek_head(&q->jobs) == j);
    }
    g_assert_true(j->told || status != UBQ_STATUS_OK);
    /* Of an entry that breaks a rule of its form nothing is known. */
    if (status == UBQ_STATUS_OK) {
        g_assert_cmphex(w0 & UBQ_CQE_OPCODE, ==, j->opcode);
        g_assert_cmpuint(get_le32(c + UBQ_CQE_BYTES), ==,
                         brings(j) ? j->len : 0);
    }
    g_assert_cmphex(w0 & UBQ_CQE_RECEIVE, ==, 0);
    job_end(m, j, status);
}

static void check_message(Model *m, unsigned node, const uint8_t *c, Job *j,
                          const uint8_t *buf)
{
    ModelNode *n = &m->node[node];
    uint32_t w0 = get_le32(c), got = get_le32(c + UBQ_CQE_QUEUE);

    g_assert_cmpuint(j->node, !=, node);
    g_assert_false(j->received);
    g_assert_cmphex(w0 & UBQ_CQE_OPCODE, ==, j->opcode);
    g_assert_cmpuint(!!(w0 & UBQ_CQE_SOLICITED), ==, j->solicited);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_BYTES), ==, j->len);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_REMOTE), ==, queue_of(m, j)->q.id);
    g_assert_cmpuint(c[UBQ_CQE_EID + 15], ==, j->node + 1);
    if (j->target) {
        g_assert_cmpuint(got, ==, j->target);
    } else {
        g_assert_true(got == n->queue[0].q.id || got == n->queue[1].q.id);
    }
    if (is_message(j)) {
        g_assert_cmpmem(buf, j->len, j->data, j->len);
    }
}

static void take_received(Model *m, unsigned node, const uint8_t *c)
{
    ModelNode *n = &m->node[node];
    uint32_t number = get_le32(c + UBQ_CQE_RQ);
    unsigned index = get_le32(c + UBQ_CQE_INDEX) % M_RQES, i = 0;
    uint16_t status = ubq_cqe_status(c);
    Job *j;

    if (status == UBQ_STATUS_FLUSH_DONE || status == UBQ_STATUS_SUSPEND_DONE) {
        return;
    }
    while (model_rq(n, i)->id != number) {
        i++;
        g_assert_cmpuint(i, <, M_RQS);
    }
    g_assert_true(n->rq[i].posted[index]);      /* once */
    n->rq[i].posted[index] = false;
    if (status != UBQ_STATUS_OK) {
        g_assert_cmphex(status, ==, UBQ_STATUS_FLUSHED);
        return;
    }
    j = message_of(m, node, c);
    g_assert_nonnull(j);
    check_message(m, node, c, j, n->e->memory + n->rq[i].buf +
                                 (uint64_t)index * M_SLOT);
    j->received = true;
    m->messages_done++;
}

static void take_event(Model *m, unsigned node, const uint8_t *e)
{
    uint32_t w0 = get_le32(e), object = get_le32(e + 4);
    ModelNode *n = &m->node[node];

    g_assert_cmphex((w0 & 0xff) << 8 | (w0 >> 8 & 0xff), ==,
                    UBQ_EVENT_QUEUE_STATE);
    for (unsigned i = 0; i < M_QUEUES; i++) {
        ModelQueue *q = &n->queue[i];

        if (q->q.id == object) {
            g_assert_true(q->flags & UBQ_Q_SUSPEND);
            g_assert_cmpuint(get_le32(e + 12), ==, UBQ_STATE_SUSPENDED);
            q->state = UBQ_STATE_SUSPENDED;
            q->suspend_done += !!(q->flags & UBQ_Q_DONE);
            m->suspended++;
        }
    }
}

void model_poll(Model *m)
{
    const uint8_t *c;

    for (unsigned i = 0; i < 2; i++) {
        while ((c = ubq_eq_poll(&m->node[i].e->drv))) {
            take_event(m, i, c);
        }
        while ((c = ubq_cq_poll(&m->node[i].recv))) {
            take_received(m, i, c);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 2; k++) {
            while ((c = ubq_cq_poll(&m->node[i].send[k]))) {
                take_sent(m, i, c);
            }
        }
    }
}

void model_query(Model *m, unsigned node, unsigned queue)
{
    ModelQueue *q = &m->node[node].queue[queue];
    uint8_t cmd[UBQ_CMD];
    uint16_t ci;
    Job *j;

    ubq_cmd_init(cmd, q->q.id, 0);
    g_assert_cmpuint(ubq_command(q->q.d, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    ci = get_le16(cmd + UBQ_Q_SQ_CI);
    model_poll(m);
    while ((j = g_queue_peek_head(&q->jobs)) &&
           (int16_t)(j->index - ci) < 0) {
        g_assert_false(j->told);
        job_end(m, j, UBQ_STATUS_OK);
    }
}

/* ---- What software does ------------------------------------------------------------------- */

void model_posted(Model *m, Job *j)
{
    ModelQueue *q = queue_of(m, j);

    j->upset = q->shaky;
    q->job[j->slot] = j;
    g_queue_push_tail(&q->jobs, j);
    if (takes_entry(j)) {
        g_hash_table_insert(m->messages, &j->id, j);
    }
    m->ops++;
}

static void rq_post(ModelNode *n, unsigned rq)
{
    UbqQueue *q = model_rq(n, rq);
    unsigned at = q->rq_pi % M_RQES;

    n->rq[rq].posted[at] = true;
    ubq_recv(q, n->rq[rq].buf + (uint64_t)at * M_SLOT, M_SLOT);
}

void model_refill(Model *m, bool all)
{
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < M_RQS; k++) {
            ModelNode *n = &m->node[i];
            bool own = k == M_SHARED || n->queue[k].rq == k;
            unsigned state = k == M_SHARED ? UBQ_STATE_READY
                                           : n->queue[k].state;

            while (own && state != UBQ_STATE_RESET &&
                   !n->rq[k].posted[model_rq(n, k)->rq_pi % M_RQES] &&
                   (all || model_rnd(m, 3))) {
                rq_post(n, k);
            }
        }
    }
}

static void queue_upset(ModelQueue *q)
{
    for (GList *l = q->jobs.head; l; l = l->next) {
        ((Job *)l->data)->upset = true;
    }
}

void model_upset(Model *m, unsigned node, unsigned queue)
{
    ModelQueue *q = &m->node[node].queue[queue];
    GHashTableIter it;
    gpointer job;

    queue_upset(q);
    g_hash_table_iter_init(&it, m->messages);
    while (g_hash_table_iter_next(&it, NULL, &job)) {
        Job *j = job;

        if (j->node != node && (!j->target || j->target == q->q.id)) {
            j->upset = true;
            /* A sequence context waits for ever for what nobody answers. */
            if (queue_of(m, j)->mode == UB_ROT && !j->done) {
                queue_of(m, j)->shaky = true;
                queue_upset(queue_of(m, j));
            }
        }
    }
}

void model_forget(Model *m, unsigned node, unsigned queue)
{
    ModelQueue *q = &m->node[node].queue[queue];
    Job *j;

    while ((j = g_queue_pop_head(&q->jobs))) {
        j->done = j->upset = true;
        j->status = UBQ_STATUS_FLUSHED;
    }
    if (q->rq == queue) {
        memset(m->node[node].rq[queue].posted, 0,
               sizeof(m->node[node].rq[queue].posted));
    }
    q->state = UBQ_STATE_RESET;
    q->flush_done = q->suspend_done = 0;
}

static bool all_ended(Model *m)
{
    bool ended = true;

    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < M_QUEUES; k++) {
            ModelQueue *q = &m->node[i].queue[k];

            if (q->state == UBQ_STATE_SUSPENDED) {
                ubq_queue_state(&q->q, UBQ_STATE_READY, UBQ_RESULT_OK);
                q->state = UBQ_STATE_READY;
            }
            model_query(m, i, k);
            ended = ended && g_queue_is_empty(&q->jobs);
        }
    }
    return ended;
}

static void check_memory(Model *m)
{
    for (unsigned i = 0; i < 2; i++) {
        ModelNode *n = &m->node[i];
        uint64_t v = get_le64(n->e->memory + n->remote + M_COUNTER);

        g_assert_cmpmem(n->e->memory + n->remote, M_REMOTE, n->shadow,
                        M_REMOTE);
        g_assert_cmpuint(v, >=, n->added);
        g_assert_cmpuint(v, <=, n->added + n->perhaps);
    }
}

void model_quiet(Model *m)
{
    unsigned turns = 0;

    do {
        g_assert_cmpuint(turns++, <, QUIET_TURNS);
        model_refill(m, true);
        ends_run(&m->ends, SECOND);
        model_poll(m);
    } while (!all_ended(m));
    /* What is late comes now. */
    ends_run(&m->ends, 300 * SECOND);
    model_poll(m);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < M_QUEUES * M_SLOTS; k++) {
            ModelQueue *q = &m->node[i].queue[k / M_SLOTS];
            Job *j = q->job[k % M_SLOTS];

            q->shaky = false;
            if (j) {
                job_settle(m, j);
            }
        }
    }
    g_assert_cmpuint(g_hash_table_size(m->messages), ==, 0);
    check_memory(m);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static const struct {
    unsigned mode, carrier;
    bool shared;
} plan[M_QUEUES] = {
    { UB_ROI, UB_TP_RTP, false },
    { UB_ROT, UB_TP_RTP, false },
    { UB_ROL, UB_TP_RTP, false },
    { UB_ROI, UB_TP_CTP, true },
    { UB_UNO, UB_TP_UTP, true },
    { UB_ROI, UB_TP_RTP, false },
};

static void queue_make(Model *m, ModelNode *n, unsigned i)
{
    ModelQueue *q = &n->queue[i];

    q->mode = plan[i].mode;
    q->carrier = plan[i].carrier;
    q->rq = plan[i].shared ? M_SHARED : i;
    q->row = q->carrier == UB_TP_RTP ? 9 + i :
             q->carrier == UB_TP_CTP ? CTP_ROW : UTP_ROW;
    q->flags = model_rnd(m, 2) * UBQ_Q_IN_ORDER +
               (model_rnd(m, 3) == 0) * UBQ_Q_SUSPEND +
               model_rnd(m, 2) * UBQ_Q_DONE;
    q->state = UBQ_STATE_READY;
    g_queue_init(&q->jobs);
    q->q = (UbqQueue){ .d = &n->e->drv, .sq_log2 = 6,
                       .rq_log2 = plan[i].shared ? 0 : 5 };
    ubq_queue_create(&q->q, &n->send[i & 1], &n->recv,
                     plan[i].shared ? n->shared.id : UBQ_NEW, q->mode,
                     q->flags);
}

static void group_make(Model *m, ModelNode *n)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_JG_POLICY] = model_rnd(m, UBQ_JG_POLICIES);
    g_assert_cmpuint(ubq_command(&n->e->drv, UBQ_OP_JGROUP_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    n->group = get_le32(cmd + UBQ_CMD_OBJECT);
    for (unsigned i = 0; i < 2; i++) {
        ubq_cmd_init(cmd, n->queue[i].q.id, 0);
        put_le32(cmd + UBQ_JG_GROUP, n->group);
        g_assert_cmpuint(ubq_command(&n->e->drv, UBQ_OP_JGROUP_JOIN, cmd), ==,
                         UBQ_RESULT_OK);
    }
}

static void node_start(Model *m, unsigned node)
{
    ModelNode *n = &m->node[node];
    UbqDrv *d = &n->e->drv;

    ubq_cq_open(&n->send[0], d, CQ_LOG2);
    ubq_cq_open(&n->send[1], d, CQ_LOG2);
    ubq_cq_open(&n->recv, d, CQ_LOG2);
    n->shared = (UbqQueue){ .d = d, .rq_log2 = 5 };
    ubq_queue_create(&n->shared, NULL, &n->recv, UBQ_NEW, UB_ROI, 0);
    for (unsigned i = 0; i < M_QUEUES; i++) {
        queue_make(m, n, i);
    }
    group_make(m, n);
    for (unsigned i = 0; i < M_RQS; i++) {
        if (i == M_SHARED || !plan[i].shared) {
            n->rq[i].buf = ubq_alloc(d, M_RQES * M_SLOT, 64);
        }
    }
    n->remote = ubq_alloc(d, M_SEGMENT, 4096);
    n->local = ubq_alloc(d, M_QUEUES * M_SLOTS * M_LOCAL, 64);
    n->shadow = g_malloc0(M_REMOTE);
    n->seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    ubq_segment(d, M_TOKEN_ID, n->remote, M_SEGMENT,
                UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_ATOMIC | UBQ_SEG_TOKEN,
                TOKEN);
}

void model_start(Model *m, uint64_t seed, bool loses)
{
    *m = (Model){ .rng = seed * 2 + 1, .loses = loses, .next_id = 1 };
    model = m;
    m->messages = g_hash_table_new(g_int64_hash, g_int64_equal);
    ends_start(&m->ends);
    for (unsigned i = 0; i < 2; i++) {
        m->node[i].e = &m->ends.end[i];
        node_start(m, i);
    }
    for (unsigned k = 0; k < M_QUEUES; k++) {
        if (plan[k].carrier == UB_TP_RTP) {
            ends_channel(&m->ends, 5 + k);
        }
    }
    for (unsigned i = 0; i < 2 * M_QUEUES; i++) {
        const ModelQueue *q = &m->node[i & 1].queue[i / 2];
        UbqPeer peer = end_peer(m->node[i & 1].e);

        ubq_dest(&m->node[i & 1].e->drv, q->row, q->carrier, 5 + i / 2, &peer);
    }
    for (unsigned i = 0; i < 2; i++) {
        m->node[i].e->touched = touched;
    }
}

static void destroy(UbqDrv *d, unsigned opcode, uint32_t object)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, object, 0);
    g_assert_cmpuint(ubq_command(d, opcode, cmd), ==, UBQ_RESULT_OK);
}

static void show_queue(void *opaque, const UbUrmaQueueInfo *q)
{
    g_assert_cmpuint(q->requests, ==, 0);
    g_assert_cmpuint(q->sq_pi, ==, q->sq_ci);
}

static void show_nothing(void *opaque, const UbUrmaQueueInfo *q)
{
    g_assert_not_reached();
}

void model_stop(Model *m)
{
    for (unsigned i = 0; i < 2; i++) {
        ModelNode *n = &m->node[i];
        UbqDrv *d = &n->e->drv;

        g_assert_cmpuint(ub_urma_counter(n->e->urma, UB_URMA_CQES_LOST), ==,
                         0);
        g_assert_cmpuint(ub_urma_counter(n->e->urma, UB_URMA_EVENTS_LOST), ==,
                         0);
        g_assert_cmpuint(ub_urma_counter(n->e->urma, UB_URMA_BELLS_BAD), ==,
                         0);
        ub_urma_foreach(n->e->urma, show_queue, NULL);
        for (unsigned k = 0; k < M_QUEUES; k++) {
            destroy(d, UBQ_OP_QUEUE_DESTROY, n->queue[k].q.id);
        }
        destroy(d, UBQ_OP_JGROUP_DESTROY, n->group);
        destroy(d, UBQ_OP_QUEUE_DESTROY, n->shared.id);
        destroy(d, UBQ_OP_CQ_DESTROY, n->send[0].id);
        destroy(d, UBQ_OP_CQ_DESTROY, n->send[1].id);
        destroy(d, UBQ_OP_CQ_DESTROY, n->recv.id);
        destroy(d, UBQ_OP_SEGMENT_CLEAR, M_TOKEN_ID);
        ub_urma_foreach(n->e->urma, show_nothing, NULL);
        g_hash_table_unref(n->seen);
        g_free(n->shadow);
    }
    g_hash_table_unref(m->messages);
    ends_stop(&m->ends);
}
