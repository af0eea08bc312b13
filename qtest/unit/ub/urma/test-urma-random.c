/*
 * Random work of two engines of queues against a model: every operation, order,
 * faults of all kinds, over a wire that loses and swaps packets, while queues are
 * suspended, drained, flushed and reset and the engines are saved and loaded.
 *
 * UB_SEED and UB_OPS set other streams than the usual ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum {
    OPS = 40000,                /* of all rounds, by default */
    OPS_SLOW = 1000000,
    ROUND = 2000,
    QUIET_EVERY = 250,
    MTU = 4096,
    NOBODY = 4000,              /* no queue has the number */
};

static Model *run;

/* ---- Entries ---------------------------------------------------------------------------- */

/* What may be wrong with an entry, and how it ends then. */
typedef enum Fault {
    FAULT_NONE, FAULT_TOKEN, FAULT_SEGMENT, FAULT_RANGE, FAULT_OPCODE,
    FAULT_LOCAL, FAULT_FORM, FAULT_NOBODY, FAULTS,
} Fault;

static const struct {
    uint16_t status;
    bool harmless;
} faults[FAULTS] = {
    [FAULT_TOKEN] = { UBQ_STATUS_ABORT, true },
    [FAULT_SEGMENT] = { UBQ_STATUS_ABORT, true },
    [FAULT_RANGE] = { UBQ_STATUS_ABORT, true },
    [FAULT_OPCODE] = { UBQ_STATUS_OPCODE, true },
    [FAULT_LOCAL] = { UBQ_STATUS_LOCAL_ACCESS, false },
    [FAULT_FORM] = { UBQ_STATUS_LOCAL_LENGTH, true },
    [FAULT_NOBODY] = { UBQ_STATUS_UNSUPPORTED, true },
};

static const uint8_t messages[] = { UB_TA_SEND, UB_TA_SEND_IMM, UBQ_OP_NOP };
static const uint8_t everything[] = {
    UB_TA_WRITE, UB_TA_WRITE, UB_TA_READ, UB_TA_READ, UB_TA_SEND, UB_TA_SEND,
    UB_TA_SEND_IMM, UB_TA_WRITE_IMM, UB_TA_WRITE_NOTIFY, UB_TA_FETCH_ADD,
    UB_TA_FETCH_SUB, UB_TA_FETCH_AND, UB_TA_FETCH_OR, UB_TA_FETCH_XOR,
    UB_TA_ATOMIC_CAS, UB_TA_ATOMIC_SWAP, UBQ_OP_NOP,
};

static uint64_t rnd(uint64_t n)
{
    return model_rnd(run, n);
}

static bool atomic(uint8_t opcode)
{
    return opcode >= UB_TA_ATOMIC_CAS && opcode <= UB_TA_FETCH_XOR;
}

static bool message(uint8_t opcode)
{
    return opcode == UB_TA_SEND || opcode == UB_TA_SEND_IMM;
}

static Fault fault_choose(const ModelQueue *q, uint8_t opcode)
{
    static const Fault of_memory[] = { FAULT_TOKEN, FAULT_SEGMENT, FAULT_RANGE,
                                       FAULT_OPCODE, FAULT_LOCAL, FAULT_FORM };
    static const Fault of_message[] = { FAULT_OPCODE, FAULT_FORM, FAULT_NOBODY };

    if (rnd(40) || q->mode == UB_UNO) {
        return FAULT_NONE;
    }
    return message(opcode) ? of_message[rnd(G_N_ELEMENTS(of_message))] :
           opcode == UB_TA_WRITE || opcode == UB_TA_READ
           ? of_memory[rnd(G_N_ELEMENTS(of_memory))] : FAULT_NONE;
}

static uint32_t length_choose(const ModelQueue *q, uint8_t opcode)
{
    uint32_t most = message(opcode) && q->carrier != UB_TP_RTP
                    ? MTU : M_SLOT - 128;

    if (opcode == UB_TA_FETCH_ADD) {
        return 8;
    }
    if (atomic(opcode)) {
        return 1u << rnd(4);
    }
    return rnd(4) ? 8 + rnd(300) : 8 + rnd(most - 8);
}

/* Who gets a message: a queue that receives, or a group. */
static uint32_t target_choose(ModelNode *peer, const Job *j)
{
    if (j->opcode != UB_TA_WRITE_IMM && rnd(4) == 0) {
        return 0;
    }
    return peer->queue[rnd(M_QUEUES)].q.id;
}

static Job *job_make(unsigned node, unsigned queue, unsigned slot)
{
    ModelQueue *q = &run->node[node].queue[queue];
    Job *j = g_new0(Job, 1);

    j->node = node;
    j->queue = queue;
    j->slot = slot;
    j->id = run->next_id++;
    j->serial = q->serial++;
    j->opcode = q->mode == UB_UNO ? messages[rnd(G_N_ELEMENTS(messages))]
                                  : everything[rnd(G_N_ELEMENTS(everything))];
    j->lossy = q->mode == UB_UNO || (run->loses && q->carrier != UB_TP_RTP);
    j->told = rnd(3);
    j->len = length_choose(q, j->opcode);
    j->off = atomic(j->opcode) ? 64 + rnd(4) * 8 : 16 + rnd(48);
    j->data = g_malloc(j->len + 8);
    for (uint32_t i = 0; i < j->len; i += 8) {
        put_le64(j->data + i, core_random(&run->rng));
    }
    put_le64(j->data, j->id);
    j->notify = core_random(&run->rng);
    j->operand[0] = j->opcode == UB_TA_FETCH_ADD ? 1 : core_random(&run->rng);
    j->operand[1] = core_random(&run->rng);
    if (j->opcode != UBQ_OP_NOP) {
        j->order = q->mode == UB_UNO ? UB_TA_NO : rnd(3);
        j->fence = rnd(20) == 0;
        j->target = target_choose(&run->node[!node], j);
    }
    if (message(j->opcode) || j->opcode == UB_TA_WRITE_IMM) {
        j->solicited = rnd(2);
    }
    return j;
}

/* Pieces of its data here, with gaps. */
static void pieces_choose(Job *j)
{
    uint32_t left = j->len;

    j->pieces = atomic(j->opcode) ? 1 : 1 + rnd(M_PIECES);
    j->pieces = MIN(j->pieces, left);
    for (unsigned i = 0; i < j->pieces; i++) {
        bool last = i + 1 == j->pieces;

        j->piece[i] = last ? left : 1 + rnd(left - (j->pieces - i - 1));
        left -= j->piece[i];
    }
}

/* Lay them out: what it sends, or a ground on which all that comes is seen. */
static void pieces_put(const Job *j, uint8_t *at)
{
    const uint8_t *data = j->data;

    memset(at, 0xa5, j->len + M_PIECES * M_GAP);
    if (j->opcode == UB_TA_READ || atomic(j->opcode)) {
        return;
    }
    for (unsigned i = 0; i < j->pieces; i++) {
        memcpy(at, data, j->piece[i]);
        data += j->piece[i];
        at += j->piece[i] + M_GAP;
    }
}

/* The entry as blocks; how many. */
static unsigned entry_put(Job *j, Fault fault, uint8_t *e)
{
    ModelNode *n = &run->node[j->node], *peer = &run->node[!j->node];
    ModelQueue *q = &n->queue[j->queue];
    uint64_t at = n->local + (j->queue * M_SLOTS + j->slot) * M_LOCAL;
    bool counter = j->opcode == UB_TA_FETCH_ADD;
    bool inlined = atomic(j->opcode) ||
                   (j->opcode != UB_TA_READ && j->len <= UBQ_INLINE_MAX &&
                    fault == FAULT_NONE && rnd(3) == 0);
    uint32_t w0 = j->opcode | (uint32_t)j->order << 20 |
                  (j->fence ? UBQ_SQE_FENCE : 0) |
                  (j->told ? UBQ_SQE_CQE : 0) |
                  (j->solicited ? UBQ_SQE_SOLICITED : 0) | UBQ_SQE_TOKEN;
    uint32_t used = UBQ_BLOCK;

    if (inlined && !atomic(j->opcode)) {
        j->pieces = 0;
    } else {
        pieces_choose(j);
        pieces_put(j, n->e->memory + at);
    }
    put_le32(e + UBQ_SQE_DEST, q->row);
    put_le32(e + UBQ_SQE_TARGET, message(j->opcode)
             ? j->target ? j->target : peer->group : M_TOKEN_ID);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, TOKEN);
    put_le32(e + UBQ_SQE_LENGTH, j->len);
    put_le32(e + UBQ_SQE_W5, rnd(256) << 8);
    put_le64(e + UBQ_SQE_ADDR, 0x10000 +
             (counter ? M_COUNTER : slot_offset(j->queue, j->slot) + j->off));
    put_le64(e + UBQ_SQE_IMM, j->opcode == UB_TA_WRITE_NOTIFY ? j->notify
                                                              : j->id);
    if (j->opcode == UB_TA_WRITE_IMM) {
        put_le64(e + UBQ_SQE_NOTIFY, j->target);
    } else if (j->opcode == UB_TA_WRITE_NOTIFY) {
        put_le64(e + UBQ_SQE_NOTIFY,
                 0x10000 + slot_offset(j->queue, j->slot));
        put_le32(e + used, M_TOKEN_ID);
        put_le32(e + used + 4, TOKEN);
        used += 16;
    }
    for (unsigned i = 0; i < j->pieces; i++) {
        uint8_t *element = i ? e + used : e + UBQ_SQE_ELEMENT;

        put_le64(element, at);
        put_le32(element + 8, j->piece[i]);
        at += j->piece[i] + M_GAP;
        used += i ? UBQ_ELEMENT : 0;
    }
    if (atomic(j->opcode)) {
        put_le64(e + used, j->operand[0]);
        put_le64(e + used + j->len, j->operand[1]);
        used += 2 * j->len;
    } else if (inlined) {
        memcpy(e + used, j->data, j->len);
        used += j->len;
    }
    w0 |= j->pieces << 12 | (inlined ? UBQ_SQE_INLINE : 0);
    if (message(j->opcode) && !j->target) {
        w0 |= UBQ_SQE_GROUP;
    }
    if (j->opcode == UBQ_OP_NOP) {
        w0 = UBQ_OP_NOP | (w0 & UBQ_SQE_CQE);
        used = UBQ_BLOCK;
    }
    switch (fault) {
    case FAULT_TOKEN:
        put_le32(e + UBQ_SQE_TOKEN_VALUE, TOKEN + 1);
        break;
    case FAULT_SEGMENT:
        put_le32(e + UBQ_SQE_TARGET, M_TOKEN_ID + 1);
        break;
    case FAULT_RANGE:
        put_le64(e + UBQ_SQE_ADDR, 0x10000 + M_SEGMENT);
        break;
    case FAULT_OPCODE:
        w0 = (w0 & ~UBQ_SQE_OPCODE) | 0x02;
        break;
    case FAULT_LOCAL:
        put_le64(e + UBQ_SQE_ELEMENT, END_MEMORY);
        break;
    case FAULT_FORM:
        w0 = (w0 & ~UBQ_SQE_ELEMENTS) | 33 << 12;
        break;
    case FAULT_NOBODY:
        w0 &= ~UBQ_SQE_GROUP;
        put_le32(e + UBQ_SQE_TARGET, NOBODY);
        break;
    default:
        break;
    }
    put_le32(e, w0);
    return (used + UBQ_BLOCK - 1) / UBQ_BLOCK;
}

/* Blocks that the send queue has room for. */
static unsigned room(const ModelQueue *q)
{
    const Job *first = g_queue_peek_head((GQueue *)&q->jobs);

    return M_BLOCKS - (first ? (uint16_t)(q->q.sq_pi - first->index) : 0);
}

static void bell(ModelQueue *q)
{
    End *e = q->q.d->opaque;
    uint64_t value = q->q.id | (uint64_t)q->q.sq_pi << 32;

    if (rnd(2)) {
        ub_urma_bell(e->urma, 0, UBQ_BELL_SQ, value);
    } else {
        ub_urma_ring(e->urma, 0, UBQ_BELL_SQ, value);
        ub_urma_rung(e->urma);
    }
}

static void post_one(unsigned node, unsigned queue, unsigned slot)
{
    ModelQueue *q = &run->node[node].queue[queue];
    uint8_t e[UBQ_SQE_BLOCKS_MAX * UBQ_BLOCK] = { 0 };
    Job *j = job_make(node, queue, slot);
    Fault fault = fault_choose(q, j->opcode);

    j->fault = faults[fault].status;
    j->harmless = faults[fault].harmless;
    j->blocks = entry_put(j, fault, e);
    if (room(q) < j->blocks) {
        g_free(j->data);
        g_free(j);
        model_query(run, node, queue);
        return;
    }
    put_le32(e, get_le32(e) | (j->blocks - 1) << 8 |
                (q->q.sq_pi >> q->q.sq_log2 & 1 ? 0 : UBQ_SQE_OWNER));
    j->index = q->q.sq_pi;
    for (unsigned i = 0; i < j->blocks; i++) {
        memcpy(q->q.d->memory + q->q.sq + q->q.sq_pi++ % M_BLOCKS * UBQ_BLOCK,
               e + i * UBQ_BLOCK, UBQ_BLOCK);
    }
    model_posted(run, j);
    bell(q);
}

/* ---- What befalls queues and engines ---------------------------------------------------- */

/* Error, until all came back; then Reset, and at work again. */
static void flush(unsigned node, unsigned queue)
{
    ModelNode *n = &run->node[node];
    ModelQueue *q = &n->queue[queue];

    model_poll(run);
    model_upset(run, node, queue);
    q->flush_done = !!(q->flags & UBQ_Q_DONE);
    ubq_queue_state(&q->q, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    model_poll(run);
    q->state = UBQ_STATE_ERROR;
    for (unsigned i = 0; !g_queue_is_empty(&q->jobs); i++) {
        g_assert_cmpuint(i, <, 100);
        ends_run(&run->ends, 1000000);
        model_query(run, node, queue);
    }
    ubq_queue_state(&q->q, UBQ_STATE_RESET, UBQ_RESULT_OK);
    model_poll(run);
    for (unsigned i = 0; i < M_RQES && q->rq == queue; i++) {
        g_assert_false(n->rq[queue].posted[i]);
    }
    g_assert_cmpuint(q->flush_done, ==, 0);
    model_forget(run, node, queue);
}

/* Reset at once: all is forgotten. */
static void reset(unsigned node, unsigned queue)
{
    ModelQueue *q = &run->node[node].queue[queue];

    model_poll(run);
    model_upset(run, node, queue);
    ubq_queue_state(&q->q, UBQ_STATE_RESET, UBQ_RESULT_OK);
    model_poll(run);
    model_forget(run, node, queue);
}

/* Suspended: it goes on, or what has not begun comes back first. */
static void resume(unsigned node, unsigned queue)
{
    ModelQueue *q = &run->node[node].queue[queue];
    uint8_t cmd[UBQ_CMD];

    if (rnd(2)) {
        model_upset(run, node, queue);
        ubq_cmd_init(cmd, q->q.id, UBQ_QM_DRAIN);
        g_assert_cmpuint(ubq_command(q->q.d, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                         UBQ_RESULT_OK);
    }
}

static void trouble(unsigned node, unsigned queue)
{
    ModelQueue *q = &run->node[node].queue[queue];

    /* With much under way, and more that has not begun. */
    for (unsigned slot = 0; slot < M_SLOTS; slot++) {
        if (!q->job[slot]) {
            post_one(node, queue, slot);
        }
        ends_run(&run->ends, rnd(2000) * (slot < M_SLOTS / 2));
    }
    if (q->state == UBQ_STATE_SUSPENDED && rnd(2)) {
        resume(node, queue);
    } else if (rnd(2)) {
        flush(node, queue);
    } else {
        reset(node, queue);
    }
    ubq_queue_state(&q->q, UBQ_STATE_READY, UBQ_RESULT_OK);
    q->state = UBQ_STATE_READY;
}

static void migrate(unsigned node)
{
    Ends *ends = &run->ends;
    End *e = &ends->end[node];
    size_t len;
    g_autofree uint8_t *data = end_save(ends, e, &len);

    g_assert_cmpstr(end_load(ends, e, data, len), ==, NULL);
    ub_net_port_state(ub_node_net(e->node), ends->now, 0, 0xffff);
}

static bool lose(End *to, CorePacket *pkt)
{
    if (rnd(60) == 0 && to->in.length > 1) {
        g_queue_push_head(&to->in, g_queue_pop_tail(&to->in));
    }
    return rnd(100) == 0;
}

static void round_of(uint64_t seed, uint64_t ops, bool loses)
{
    Model m;

    g_test_message("seed %" G_GUINT64_FORMAT "%s", seed,
                   loses ? ", lossy" : "");
    run = &m;
    model_start(&m, seed, loses);
    if (loses) {
        m.ends.end[0].lose = m.ends.end[1].lose = lose;
    }
    for (uint64_t quiet = QUIET_EVERY, turns = 0; m.ops < ops;) {
        for (unsigned i = 1 + rnd(6); i > 0; i--) {
            unsigned node = rnd(2), queue = rnd(M_QUEUES), slot = rnd(M_SLOTS);

            if (!m.node[node].queue[queue].job[slot]) {
                post_one(node, queue, slot);
            }
        }
        ends_run(&m.ends, rnd(8) ? rnd(3000) : rnd(300000));
        model_poll(&m);
        if (rnd(8) == 0) {
            model_refill(&m, false);
        }
        if (rnd(40) == 0) {
            trouble(rnd(2), rnd(M_QUEUES));
        }
        if (rnd(100) == 0) {
            migrate(rnd(2));
        }
        /* Or all that could be posted waits. */
        if (m.ops >= quiet || ++turns == QUIET_EVERY) {
            quiet = m.ops + QUIET_EVERY;
            turns = 0;
            model_quiet(&m);
        }
    }
    model_quiet(&m);
    g_test_message("%" G_GUINT64_FORMAT " entries, %" G_GUINT64_FORMAT
                   " ended, %" G_GUINT64_FORMAT " received, %" G_GUINT64_FORMAT
                   " lost, %" G_GUINT64_FORMAT " flushed, %" G_GUINT64_FORMAT
                   " faults, %" G_GUINT64_FORMAT " suspended, %"
                   G_GUINT64_FORMAT " without completion", m.ops,
                   m.completions, m.messages_done, m.lost, m.flushed, m.faults,
                   m.suspended, m.unsignaled);
    g_assert_cmpuint(m.messages_done, >, 0);
    model_stop(&m);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *s = g_getenv(name);

    return s ? strtoull(s, NULL, 0) : otherwise;
}

static void test_random(gconstpointer lossy)
{
    uint64_t ops = setting("UB_OPS", g_test_slow() ? OPS_SLOW : OPS) / 2;
    uint64_t seed = setting("UB_SEED", 1);

    for (uint64_t done = 0; done < ops; done += ROUND) {
        round_of(seed++, MIN(ops - done, ROUND), lossy != NULL);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/ub/urma/random/good", NULL, test_random);
    g_test_add_data_func("/ub/urma/random/lossy", GUINT_TO_POINTER(1),
                         test_random);
    return g_test_run();
}
