/*
 * Life of queues: states and exception modes (UB 2.0 §8.2.2.3), flush and drain,
 * shared receive queues, groups of queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

/* A completion of @queue, of @status, of entry @index. */
static void expect(UbqCq *cq, uint32_t queue, unsigned status, unsigned index)
{
    const uint8_t *c = ubq_cq_expect(cq, status);

    g_assert_cmpuint(get_le32(c + UBQ_CQE_QUEUE), ==, queue);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_INDEX), ==, index);
}

static unsigned modify(UbqQueue *q, uint32_t mask, unsigned at, uint32_t value)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, q->id, mask);
    put_le32(cmd + at, value);
    return ubq_command(q->d, UBQ_OP_QUEUE_MODIFY, cmd);
}

static void query(UbqQueue *q, uint8_t cmd[UBQ_CMD])
{
    ubq_cmd_init(cmd, q->id, 0);
    g_assert_cmpuint(ubq_command(q->d, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
}

/* ---- Flush ---------------------------------------------------------------------------- */

/* Receive entries are flushed, too: those that are there, those that come; then
 * the queue says that it is done. */
static void test_receive_flush(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, UBQ_Q_DONE);
    for (unsigned i = 0; i < 3; i++) {
        ubq_recv(&p.qb, p.remote, 64);
    }
    post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    expect(&p.cq_b, p.qb.id, UBQ_STATUS_OK, 0);
    g_assert_null(ubq_cq_poll(&p.cq_b));
    ubq_queue_state(&p.qb, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&p.ends, SECOND);
    expect(&p.cq_b, p.qb.id, UBQ_STATUS_FLUSHED, 1);
    expect(&p.cq_b, p.qb.id, UBQ_STATUS_FLUSHED, 2);
    expect(&p.cq_b, p.qb.id, UBQ_STATUS_FLUSH_DONE, 0);
    ubq_recv(&p.qb, p.remote, 64);
    ends_run(&p.ends, SECOND);
    expect(&p.cq_b, p.qb.id, UBQ_STATUS_FLUSHED, 3);
    g_assert_null(ubq_cq_poll(&p.cq_b));        /* it has said so once */
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_FLUSHED), ==, 3);
    /* In Reset there is nothing to post to. */
    ubq_queue_state(&p.qb, UBQ_STATE_RESET, UBQ_RESULT_OK);
    ubq_recv(&p.qb, p.remote, 64);
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_BELLS_BAD), ==, 1);
    pair_stop(&p);
}

static unsigned let_pass;

static bool lose_later(End *to, CorePacket *pkt)
{
    return !let_pass || !let_pass--;
}

/* An entry that a message has taken is flushed before those behind it, and what
 * is still to come of the message goes nowhere. */
static void test_half_message(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_recv(&p.qb, p.remote, 32768);
    ubq_recv(&p.qb, p.remote, 32768);
    let_pass = 2;
    p.b->lose = lose_later;
    fill(p.a, p.local, 20000);
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 20000), 1);
    ends_run(&p.ends, 1000000);
    ubq_queue_state(&p.qb, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    memset(p.b->memory + p.remote, 0, 32768);
    p.b->lose = NULL;
    ends_run(&p.ends, 100 * SECOND);
    expect(&p.cq_b, p.qb.id, UBQ_STATUS_FLUSHED, 0);
    expect(&p.cq_b, p.qb.id, UBQ_STATUS_FLUSHED, 1);
    g_assert_null(ubq_cq_poll(&p.cq_b));
    for (unsigned i = 0; i < 32768; i++) {
        g_assert_cmphex(p.b->memory[p.remote + i], ==, 0);
    }
    pair_stop(&p);
}

/* Error to Reset: all completions come first, however many there are. */
static void test_error_to_reset(void)
{
    UbqCq cq;
    UbqQueue q;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cq_open(&cq, &p.a->drv, 12);
    q = (UbqQueue){ .d = &p.a->drv, .sq_log2 = 10, .rq_log2 = 10 };
    ubq_queue_create(&q, &cq, &cq, UBQ_NEW, UB_ROI, UBQ_Q_DONE);
    for (unsigned i = 0; i < 1000; i++) {
        uint8_t *e = ubq_sqe(&q, 1);

        ubq_sqe_put(e, UB_TA_SEND, 9, p.local, 64);
        put_le32(e + UBQ_SQE_TARGET, p.qb.id);
        ubq_post(&q, e, 1);
        ubq_recv(&q, p.local, 64);
    }
    ubq_queue_state(&q, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ubq_queue_state(&q, UBQ_STATE_RESET, UBQ_RESULT_OK);
    for (unsigned i = 0, sent = 0, received = 0; i < 2000; i++) {
        const uint8_t *c = ubq_cq_expect(&cq, UBQ_STATUS_FLUSHED);
        unsigned *n = get_le32(c) & UBQ_CQE_RECEIVE ? &received : &sent;

        g_assert_cmpuint(get_le32(c + UBQ_CQE_INDEX), ==, (*n)++);
    }
    expect(&cq, q.id, UBQ_STATUS_FLUSH_DONE, 1000);
    g_assert_null(ubq_cq_poll(&cq));
    pair_stop(&p);
}

/* ---- Suspended -------------------------------------------------------------------------- */

static uint8_t *foreign_write(Pair *p)
{
    uint8_t *e = memory_op(p, UB_TA_WRITE, 0, 0, p->local, 64, 1);

    put_le32(e + UBQ_SQE_TOKEN_VALUE, 1);
    return e;
}

/* A failure suspends; what has not begun waits, or comes back when it is drained;
 * what is posted to a suspended queue waits. */
static void test_drain(void)
{
    unsigned ci = 0;
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI,
               UBQ_Q_SUSPEND | UBQ_Q_IN_ORDER | UBQ_Q_DONE);
    g_assert_cmpuint(modify(&p.qa, UBQ_QM_DRAIN, 16, 0), ==,
                     UBQ_RESULT_STATE);
    fill(p.a, p.local, 64);
    post_and_run(&p, foreign_write(&p), 1);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_ABORT, 0);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_SUSPEND_DONE, 1);
    g_assert_cmpuint(eq_take(p.a, &ci, UBQ_EVENT_QUEUE_STATE), ==, p.qa.id);
    query(&p.qa, cmd);
    g_assert_cmpuint(cmd[UBQ_Q_STATE], ==, UBQ_STATE_SUSPENDED);
    for (unsigned i = 0; i < 3; i++) {
        post_and_run(&p, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    }
    g_assert_null(ubq_cq_poll(&p.cq_a));
    g_assert_cmpuint(modify(&p.qa, UBQ_QM_DRAIN, 16, 0), ==, UBQ_RESULT_OK);
    for (unsigned i = 0; i < 3; i++) {
        expect(&p.cq_a, p.qa.id, UBQ_STATUS_FLUSHED, 1 + i);
    }
    ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
    ends_run(&p.ends, SECOND);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_OK, 4);
    check(p.b, p.remote, 64);
    /* Once in each suspension. */
    post_and_run(&p, foreign_write(&p), 1);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_ABORT, 5);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_SUSPEND_DONE, 6);
    ubq_queue_state(&p.qa, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&p.ends, SECOND);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_FLUSH_DONE, 6);
    g_assert_null(ubq_cq_poll(&p.cq_a));
    pair_stop(&p);
}

/* An entry that is none suspends like an answer in error: those behind it are
 * not begun. */
static void test_bad_entry(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, UBQ_Q_SUSPEND | UBQ_Q_IN_ORDER);
    for (unsigned i = 0; i < 4; i++) {
        uint8_t *e = memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1);

        if (i == 1) {
            put_le32(e, (get_le32(e) & ~UBQ_SQE_ELEMENTS) | 33 << 12);
        } else if (i > 1) {
            put_le32(e, get_le32(e) | UBQ_SQE_FENCE);
        }
        ubq_post(&p.qa, e, 1);
    }
    fill(p.a, p.local, 64);
    ends_run(&p.ends, SECOND);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_OK, 0);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_LOCAL_LENGTH, 1);
    post_and_run(&p, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    g_assert_true(ub_ta_queue_stopped(ub_ta_queue(ub_node_ta(p.a->node),
                                                  p.qa.id)));
    pair_stop(&p);
}

/* From which state to which, by software. */
static void test_states(void)
{
    static const bool good[UBQ_STATES][UBQ_STATES] = {
        { 1, 1, 0, 0 }, { 1, 1, 0, 1 }, { 1, 1, 0, 1 }, { 1, 0, 0, 1 },
    };
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, UBQ_Q_SUSPEND);
    for (unsigned i = 0; i < UBQ_STATES * UBQ_STATES; i++) {
        unsigned from = i / UBQ_STATES, to = i % UBQ_STATES;

        ubq_queue_state(&p.qa, UBQ_STATE_RESET, UBQ_RESULT_OK);
        if (from != UBQ_STATE_RESET) {
            ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
        }
        if (from == UBQ_STATE_SUSPENDED) {
            post_and_run(&p, foreign_write(&p), 1);
            ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
        } else if (from == UBQ_STATE_ERROR) {
            ubq_queue_state(&p.qa, UBQ_STATE_ERROR, UBQ_RESULT_OK);
        }
        ubq_queue_state(&p.qa, to, good[from][to] ? UBQ_RESULT_OK
                                                  : UBQ_RESULT_STATE);
        query(&p.qa, cmd);
        g_assert_cmpuint(cmd[UBQ_Q_STATE], ==, good[from][to] ? to : from);
    }
    g_assert_cmpuint(modify(&p.qa, UBQ_QM_STATE, UBQ_Q_STATE, UBQ_STATES), ==,
                     UBQ_RESULT_PARAMETER);
    pair_stop(&p);
}

/* ---- Shared receive queues ---------------------------------------------------------------- */

typedef struct Shared {
    Pair p;
    UbqCq cq_rq, cq[3];
    UbqQueue rq, q[3];
} Shared;

/* Three queues of b with completion queues of their own share one JFR. */
static void shared_start(Shared *s)
{
    pair_start(&s->p, UB_TP_RTP, UB_ROI, 0);
    ubq_cq_open(&s->cq_rq, &s->p.b->drv, 6);
    s->rq = (UbqQueue){ .d = &s->p.b->drv, .rq_log2 = 4 };
    ubq_queue_create(&s->rq, NULL, &s->cq_rq, UBQ_NEW, UB_ROI, 0);
    for (unsigned i = 0; i < 3; i++) {
        ubq_cq_open(&s->cq[i], &s->p.b->drv, 6);
        s->q[i] = (UbqQueue){ .d = &s->p.b->drv, .sq_log2 = i };
        ubq_queue_create(&s->q[i], &s->cq[i], &s->cq[i], s->rq.id, UB_ROI, 0);
    }
}

static void shared_send(Shared *s, uint32_t target, uint32_t w0, uint8_t hint)
{
    uint8_t *e = message_op(&s->p, UB_TA_SEND, w0, s->p.local, 64);

    put_le32(e + UBQ_SQE_TARGET, target);
    put_le32(e + UBQ_SQE_W5, hint << 8);
    ubq_post(&s->p.qa, e, 1);
    ends_run(&s->p.ends, 2000000);
}

/* A queue that is reset or destroyed with half a message gives the entry back to who
 * posts to the JFR; its own it forgets. */
static void test_shared_gone(gconstpointer destroy)
{
    uint8_t cmd[UBQ_CMD], *e;
    const uint8_t *c;
    Shared s;

    shared_start(&s);
    fill(s.p.a, s.p.local, 20000);
    ubq_recv(&s.rq, s.p.remote, 32768);
    let_pass = 2;
    s.p.b->lose = lose_later;
    e = message_op(&s.p, UB_TA_SEND, 0, s.p.local, 20000);
    put_le32(e + UBQ_SQE_TARGET, s.q[1].id);
    ubq_post(&s.p.qa, e, 1);
    ends_run(&s.p.ends, 1000000);
    if (destroy) {
        ubq_cmd_init(cmd, s.q[1].id, 0);
        g_assert_cmpuint(ubq_command(&s.p.b->drv, UBQ_OP_QUEUE_DESTROY, cmd),
                         ==, UBQ_RESULT_OK);
    } else {
        ubq_queue_state(&s.q[1], UBQ_STATE_RESET, UBQ_RESULT_OK);
    }
    c = ubq_cq_expect(&s.cq[1], UBQ_STATUS_FLUSHED);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_RQ), ==, s.rq.id);
    g_assert_null(ubq_cq_poll(&s.cq[1]));
    g_assert_null(ubq_cq_poll(&s.cq_rq));
    s.p.b->lose = NULL;
    pair_stop(&s.p);
}

static void test_shared(void)
{
    uint8_t cmd[UBQ_CMD];
    const uint8_t *c;
    Shared s;

    shared_start(&s);
    for (unsigned i = 0; i < 8; i++) {
        ubq_recv(&s.rq, s.p.remote, 64);
    }
    for (unsigned i = 0; i < 6; i++) {
        shared_send(&s, s.q[i % 3].id, 0, 0);
        expect(&s.cq[i % 3], s.q[i % 3].id, UBQ_STATUS_OK, i);
    }
    shared_send(&s, s.rq.id, 0, 0);     /* the JFR is a target itself */
    c = ubq_cq_expect(&s.cq_rq, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_RQ), ==, s.rq.id);
    /* It stays while others name it. */
    ubq_cmd_init(cmd, s.rq.id, 0);
    g_assert_cmpuint(ubq_command(&s.p.b->drv, UBQ_OP_QUEUE_DESTROY, cmd), ==,
                     UBQ_RESULT_IN_USE);
    /* A queue in Error does not flush what is not its own. */
    ubq_queue_state(&s.q[0], UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&s.p.ends, SECOND);
    g_assert_null(ubq_cq_poll(&s.cq[0]));
    shared_send(&s, s.q[1].id, 0, 0);
    expect(&s.cq[1], s.q[1].id, UBQ_STATUS_OK, 7);
    /* With the JFR in Error all are deaf. */
    ubq_recv(&s.rq, s.p.remote, 64);
    ubq_queue_state(&s.rq, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&s.p.ends, SECOND);
    expect(&s.cq_rq, s.rq.id, UBQ_STATUS_FLUSHED, 8);
    while (ubq_cq_poll(&s.p.cq_a)) {
        continue;
    }
    shared_send(&s, s.q[1].id, 0, 0);
    g_assert_null(ubq_cq_poll(&s.cq[1]));
    g_assert_null(ubq_cq_poll(&s.p.cq_a));
    g_assert_cmpuint(ub_urma_counter(s.p.b->urma, UB_URMA_RNR), ==, 0);
    pair_stop(&s.p);
}

/* A receive queue in memory that is not there is in Error, with its event; send
 * entries of the queue are flushed, not lost. */
static void test_receive_broken(void)
{
    uint8_t cmd[UBQ_CMD];
    unsigned ci = 0;
    UbqQueue q;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    q = p.qb;
    q.sq = ubq_alloc(q.d, UBQ_BLOCK << q.sq_log2, UBQ_BLOCK);
    put_le64(cmd + UBQ_Q_SQ_BASE, q.sq);
    put_le64(cmd + UBQ_Q_RQ_BASE, END_MEMORY);
    cmd[UBQ_Q_SQ_LOG2] = q.sq_log2;
    cmd[UBQ_Q_RQ_LOG2] = 4;
    put_le32(cmd + UBQ_Q_SEND_CQ, p.cq_b.id);
    put_le32(cmd + UBQ_Q_RECV_CQ, p.cq_b.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    g_assert_cmpuint(ubq_command(q.d, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    q.id = get_le32(cmd + UBQ_CMD_OBJECT);
    ubq_queue_state(&q, UBQ_STATE_READY, UBQ_RESULT_OK);
    ub_urma_bell(p.b->urma, 0, UBQ_BELL_RQ, q.id | 1ull << 32);
    ubq_queue_state(&p.qa, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    for (unsigned i = 0; i < 2; i++) {  /* nobody receives: it waits */
        uint8_t *e = ubq_sqe(&q, 1);

        ubq_sqe_put(e, UB_TA_SEND, 9, p.remote, 64);
        put_le32(e + UBQ_SQE_TARGET, p.qa.id);
        ubq_post(&q, e, 1);
    }
    ends_run(&p.ends, 1000000);
    ubq_queue_state(&p.qa, UBQ_STATE_RESET, UBQ_RESULT_OK);
    ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
    p.qb.id = q.id;
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    ends_run(&p.ends, 1000000);
    g_assert_cmpuint(eq_take(p.b, &ci, UBQ_EVENT_RQ_ERROR), ==, q.id);
    g_assert_cmpuint(eq_take(p.b, &ci, UBQ_EVENT_QUEUE_STATE), ==, q.id);
    expect(&p.cq_b, q.id, UBQ_STATUS_FLUSHED, 0);
    expect(&p.cq_b, q.id, UBQ_STATUS_FLUSHED, 1);
    expect(&p.cq_b, q.id, UBQ_STATUS_FLUSHED, 0);   /* the receive entry */
    pair_stop(&p);
}

/* A limit that is not reached when it is set is reported at once. */
static void test_limit_at_once(void)
{
    unsigned ci = 0;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_recv(&p.qb, p.remote, 64);
    g_assert_cmpuint(modify(&p.qb, UBQ_QM_RQ_LIMIT, UBQ_Q_RQ_LIMIT, 2), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(eq_take(p.b, &ci, UBQ_EVENT_RQ_LIMIT), ==, p.qb.id);
    pair_stop(&p);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

#define MEMBERS 4

typedef struct Group {
    Shared s;           /* its queues are not used */
    uint32_t id;
    UbqCq cq[MEMBERS];
    UbqQueue q[MEMBERS];
} Group;

static unsigned group_command(Group *g, unsigned opcode, uint32_t object,
                              uint32_t group)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, object, 0);
    put_le32(cmd + UBQ_JG_GROUP, group);
    return ubq_command(&g->s.p.b->drv, opcode, cmd);
}

static void group_start(Group *g, unsigned policy)
{
    uint8_t cmd[UBQ_CMD];

    pair_start(&g->s.p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_JG_POLICY] = policy;
    put_le32(cmd + UBQ_JG_FLAGS, UBQ_Q_TOKEN);
    put_le32(cmd + UBQ_JG_TOKEN_VALUE, TOKEN);
    g_assert_cmpuint(ubq_command(&g->s.p.b->drv, UBQ_OP_JGROUP_CREATE, cmd),
                     ==, UBQ_RESULT_OK);
    g->id = get_le32(cmd + UBQ_CMD_OBJECT);
    g_assert_cmpuint(g->id, ==, 1024);
    for (unsigned i = 0; i < MEMBERS; i++) {
        ubq_cq_open(&g->cq[i], &g->s.p.b->drv, 6);
        g->q[i] = (UbqQueue){ .d = &g->s.p.b->drv, .rq_log2 = 4 };
        ubq_queue_create(&g->q[i], NULL, &g->cq[i], UBQ_NEW, UB_ROI, 0);
        g_assert_cmpuint(group_command(g, UBQ_OP_JGROUP_JOIN, g->q[i].id,
                                       g->id), ==, UBQ_RESULT_OK);
    }
}

static void group_send(Group *g, uint8_t hint)
{
    uint8_t *e = message_op(&g->s.p, UB_TA_SEND,
                            UBQ_SQE_GROUP | UBQ_SQE_TOKEN, g->s.p.local, 64);

    put_le32(e + UBQ_SQE_TARGET, g->id);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, TOKEN);
    put_le32(e + UBQ_SQE_W5, hint << 8);
    ubq_post(&g->s.p.qa, e, 1);
    ends_run(&g->s.p.ends, 2000000);
}

/* Who got the message; MEMBERS: nobody. */
static unsigned group_taker(Group *g)
{
    unsigned taker = MEMBERS;

    for (unsigned i = 0; i < MEMBERS; i++) {
        const uint8_t *c = ubq_cq_poll(&g->cq[i]);

        if (c) {
            g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_OK);
            g_assert_cmpuint(get_le32(c + UBQ_CQE_QUEUE), ==, g->q[i].id);
            g_assert_cmpuint(taker, ==, MEMBERS);
            taker = i;
        }
    }
    return taker;
}

static void group_recv(Group *g, unsigned i, unsigned n)
{
    while (n--) {
        ubq_recv(&g->q[i], g->s.p.remote, 64);
    }
}

static void test_round_robin(void)
{
    Group g;

    group_start(&g, UBQ_JG_ROUND_ROBIN);
    for (unsigned i = 0; i < MEMBERS; i++) {
        group_recv(&g, i, i == 2 ? 1 : 3);
    }
    for (unsigned i = 0; i < 2 * MEMBERS; i++) {
        static const uint8_t order[] = { 0, 1, 2, 3, 0, 1, 3, 0 };

        group_send(&g, 77);
        g_assert_cmpuint(group_taker(&g), ==, order[i]);
    }
    /* Who is in Error is passed over. */
    ubq_queue_state(&g.q[1], UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&g.s.p.ends, SECOND);
    ubq_cq_expect(&g.cq[1], UBQ_STATUS_FLUSHED);
    group_send(&g, 77);
    g_assert_cmpuint(group_taker(&g), ==, 3);
    /* Nobody has an entry: RNR, and it comes when one is there. */
    group_send(&g, 77);
    g_assert_cmpuint(group_taker(&g), ==, MEMBERS);
    g_assert_cmpuint(ub_urma_counter(g.s.p.b->urma, UB_URMA_RNR), >, 0);
    group_recv(&g, 2, 1);
    ends_run(&g.s.p.ends, 10 * SECOND);
    g_assert_cmpuint(group_taker(&g), ==, 2);
    pair_stop(&g.s.p);
}

static void test_hint(void)
{
    unsigned of[MEMBERS];
    Group g;

    group_start(&g, UBQ_JG_HINT);
    for (unsigned i = 0; i < MEMBERS; i++) {
        group_recv(&g, i, 8);
    }
    for (unsigned i = 0; i < 3 * MEMBERS; i++) {
        unsigned taker;

        group_send(&g, 100 + i % MEMBERS);
        taker = group_taker(&g);
        g_assert_cmpuint(taker, <, MEMBERS);
        for (unsigned j = 0; j < i && j < MEMBERS; j++) {
            g_assert_cmpint(of[j] == taker, ==, i % MEMBERS == j);
        }
        of[i % MEMBERS] = taker;
    }
    ubq_queue_state(&g.q[0], UBQ_STATE_RESET, UBQ_RESULT_OK);
    for (unsigned i = 0; i < 6; i++) {
        group_send(&g, i);
        g_assert_cmpuint(group_taker(&g), ==, 1 + i % 3);
    }
    pair_stop(&g.s.p);
}

static void test_depth(void)
{
    static const uint8_t order[] = { 2, 1, 2, 0, 1, 2 };
    Group g;

    group_start(&g, UBQ_JG_DEPTH);
    for (unsigned i = 0; i < 3; i++) {
        group_recv(&g, i, i + 1);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        group_send(&g, i);
        g_assert_cmpuint(group_taker(&g), ==, order[i]);
    }
    pair_stop(&g.s.p);
}

static void test_group_rules(void)
{
    uint8_t cmd[UBQ_CMD];
    unsigned ci = 0;
    UbqQueue sender;
    Group g;

    group_start(&g, UBQ_JG_ROUND_ROBIN);
    group_recv(&g, 0, 2);
    /* The group's token counts. */
    shared_send(&g.s, g.id, UBQ_SQE_GROUP, 0);
    ubq_cq_expect(&g.s.p.cq_a, UBQ_STATUS_ABORT);
    shared_send(&g.s, g.id + 1, UBQ_SQE_GROUP, 0);
    ubq_cq_expect(&g.s.p.cq_a, UBQ_STATUS_UNSUPPORTED);
    ubq_cmd_init(cmd, g.id, 0);
    g_assert_cmpuint(ubq_command(&g.s.p.b->drv, UBQ_OP_JGROUP_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    shared_send(&g.s, g.id, UBQ_SQE_GROUP, 0);
    ubq_cq_expect(&g.s.p.cq_a, UBQ_STATUS_OK);
    g_assert_cmpuint(group_taker(&g), ==, 0);
    /* Who may join. */
    g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_JOIN, g.q[0].id, g.id),
                     ==, UBQ_RESULT_IN_USE);
    g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_JOIN, 99, g.id), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_JOIN, g.q[0].id, 99), ==,
                     UBQ_RESULT_NO_OBJECT);
    ubq_queue_open(&sender, &g.s.p.b->drv, &g.cq[0], NULL, UB_ROI, 0);
    g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_JOIN, sender.id, g.id),
                     ==, UBQ_RESULT_PARAMETER);
    ubq_cmd_init(cmd, g.q[0].id, UBQ_QM_BOUND);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_BOUND);
    g_assert_cmpuint(ubq_command(&g.s.p.b->drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_JG_POLICY] = UBQ_JG_POLICIES;
    g_assert_cmpuint(ubq_command(&g.s.p.b->drv, UBQ_OP_JGROUP_CREATE, cmd),
                     ==, UBQ_RESULT_PARAMETER);
    /* Members stay until they leave or are destroyed. */
    g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_DESTROY, g.id, 0), ==,
                     UBQ_RESULT_IN_USE);
    g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_LEAVE, g.q[3].id, 0), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_LEAVE, g.q[3].id, 0), ==,
                     UBQ_RESULT_NO_OBJECT);
    ubq_cmd_init(cmd, g.q[2].id, 0);
    g_assert_cmpuint(ubq_command(&g.s.p.b->drv, UBQ_OP_QUEUE_DESTROY, cmd),
                     ==, UBQ_RESULT_OK);
    query(&g.q[0], cmd);
    g_assert_cmpuint(get_le32(cmd + UBQ_Q_GROUP), ==, g.id);
    query(&g.q[3], cmd);
    g_assert_cmpuint(get_le32(cmd + UBQ_Q_GROUP), ==, UBQ_NEW);
    /* The last that could receive goes. */
    ubq_queue_state(&g.q[0], UBQ_STATE_ERROR, UBQ_RESULT_OK);
    g_assert_cmpuint(ub_urma_reg_read(g.s.p.b->urma, UBQ_EQ(0) + UBQ_EQ_PI),
                     ==, 0);
    ubq_cmd_init(cmd, g.id, 0);
    g_assert_cmpuint(ubq_command(&g.s.p.b->drv, UBQ_OP_JGROUP_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_JG_MEMBERS), ==, 2);
    g_assert_cmpuint(get_le32(cmd + UBQ_JG_LIVE), ==, 1);
    ubq_queue_state(&g.q[1], UBQ_STATE_ERROR, UBQ_RESULT_OK);
    g_assert_cmpuint(eq_take(g.s.p.b, &ci, UBQ_EVENT_GROUP_ERROR), ==, g.id);
    shared_send(&g.s, g.id, UBQ_SQE_GROUP, 0);
    g_assert_null(ubq_cq_poll(&g.s.p.cq_a));    /* silence */
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_LEAVE, g.q[i].id, 0),
                         ==, UBQ_RESULT_OK);
    }
    g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_DESTROY, g.id, 0), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(group_command(&g, UBQ_OP_JGROUP_QUERY, g.id, 0), ==,
                     UBQ_RESULT_NO_OBJECT);
    pair_stop(&g.s.p);
}

/* A group goes on where it was. */
static void test_group_moves(void)
{
    g_autofree uint8_t *data = NULL, *bad = NULL;
    const char *why = NULL;
    size_t len;
    Group g;

    group_start(&g, UBQ_JG_ROUND_ROBIN);
    for (unsigned i = 0; i < MEMBERS; i++) {
        group_recv(&g, i, 2);
    }
    group_send(&g, 0);
    g_assert_cmpuint(group_taker(&g), ==, 0);
    data = end_save(&g.s.p.ends, g.s.p.b, &len);
    for (size_t i = 0; i < len * 8 && i < 40000; i += 11) {
        bad = g_memdup2(data, len);
        bad[i / 8] ^= 1 << i % 8;
        why = end_load(&g.s.p.ends, g.s.p.b, bad, len);
        if (why) {
            ub_node_reset(g.s.p.b->node, g.s.p.ends.now);
            ub_urma_reset(g.s.p.b->urma);
        }
        g_clear_pointer(&bad, g_free);
    }
    g_assert_cmpstr(end_load(&g.s.p.ends, g.s.p.b, data, len), ==, NULL);
    ub_net_port_state(ub_node_net(g.s.p.b->node), g.s.p.ends.now, 0, 0xffff);
    for (unsigned i = 1; i < MEMBERS + 2; i++) {
        group_send(&g, 0);
        g_assert_cmpuint(group_taker(&g), ==, i % MEMBERS);
    }
    pair_stop(&g.s.p);
}

/* ---- Segments -------------------------------------------------------------------------- */

static bool lose_all(End *to, CorePacket *pkt)
{
    return true;
}

static unsigned segment_clear(Pair *p, uint32_t token_id)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, token_id, 0);
    return ubq_command(&p->b->drv, UBQ_OP_SEGMENT_CLEAR, cmd);
}

/* §8.2.1: it is gone when nothing that has begun may reach it any more; until then
 * the command says so each time. */
static void test_segment_drains(void)
{
    enum { READS = 32 };
    unsigned aborted = 0;
    const uint8_t *c;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_segment(&p.b->drv, 78, p.remote, ROOM, UBQ_SEG_READ, TOKEN);
    write_read(&p, 64);
    /* Their answers do not reach a, and so wait at b. */
    p.a->lose = lose_all;
    for (unsigned i = 0; i < READS; i++) {
        ubq_post(&p.qa, memory_op(&p, UB_TA_READ, 0, 0, p.local, ROOM, 1), 1);
    }
    ends_run(&p.ends, 100000);
    g_assert_cmpuint(segment_clear(&p, 78), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(segment_clear(&p, 78), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(segment_clear(&p, 77), ==, UBQ_RESULT_STATE);
    g_assert_cmpuint(segment_clear(&p, 77), ==, UBQ_RESULT_STATE);
    p.a->lose = NULL;
    ends_run(&p.ends, 60 * SECOND);
    for (unsigned i = 0; i < READS; i++) {
        c = ubq_cq_poll(&p.cq_a);
        g_assert_nonnull(c);
        aborted += ubq_cqe_status(c) == UBQ_STATUS_ABORT;
        g_assert_true(ubq_cqe_status(c) == UBQ_STATUS_ABORT ||
                      ubq_cqe_status(c) == UBQ_STATUS_OK);
    }
    g_assert_cmpuint(aborted, >, 0);
    g_assert_cmpuint(segment_clear(&p, 77), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(segment_clear(&p, 77), ==, UBQ_RESULT_NO_OBJECT);
    post_and_run(&p, memory_op(&p, UB_TA_READ, 0, 0, p.local, 64, 1), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
    ubq_segment(&p.b->drv, 77, p.remote, ROOM, UBQ_SEG_READ | UBQ_SEG_WRITE,
                TOKEN);
    write_read(&p, 64);
    pair_stop(&p);
}

/* ---- Order, and what fails meanwhile ------------------------------------------------- */

/* Completions in order, and an entry that overtook one waiting for its order fails: the
 * one before it still has its turn, or neither would ever be heard of. */
static void test_suspend_overtaken(void)
{
    Pair p;
    uint8_t *e;

    pair_start(&p, UB_TP_RTP, UB_ROI, UBQ_Q_SUSPEND | UBQ_Q_IN_ORDER);
    fill(p.a, p.local, 64);
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 1u << 20, p.local, 64), 1);
    ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 2u << 20, 0, p.local, 64, 1),
             1);
    e = memory_op(&p, UB_TA_WRITE, 0, 4096, p.local, 64, 1);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, 1);
    ubq_post(&p.qa, e, 1);
    ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 8192, p.local, 64, 1), 1);
    ends_run(&p.ends, 100000000);
    g_assert_null(ubq_cq_poll(&p.cq_a));    /* no receive entry yet */
    ubq_recv(&p.qb, p.remote + 65536, 64);
    ends_run(&p.ends, SECOND);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_OK, 0);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_OK, 1);
    check(p.b, p.remote, 64);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_ABORT, 2);
    ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
    ends_run(&p.ends, SECOND);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_OK, 3);
    g_assert_null(ubq_cq_poll(&p.cq_a));
    pair_stop(&p);
}

/* A message is refused, and then its sender gives it up: what waits for it by its order
 * goes on, though it was refused itself, again and again. */
static void test_refused_given_up(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROL, 0);
    fill(p.a, p.local, 64);
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 1u << 20, p.local, 64), 1);
    ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 2u << 20, 0, p.local, 64, 1),
             1);
    ends_run(&p.ends, 100000000);
    g_assert_null(ubq_cq_poll(&p.cq_a));
    ubq_queue_state(&p.qb, UBQ_STATE_ERROR, UBQ_RESULT_OK);     /* silent */
    ends_run(&p.ends, 200 * SECOND);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_OK, 1);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_TIMEOUT, 0);
    check(p.b, p.remote, 64);
    pair_stop(&p);
}

/* Queues are reset while what they sent is unanswered: what is left of that is saved
 * beside what the queue of the same number does now. */
static void test_reset_migrate(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    fill(p.a, p.local, 64);
    p.b->lose = lose_all;
    for (unsigned i = 0; i < 30; i++) {
        size_t len;
        g_autofree uint8_t *data = NULL;

        ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 64 * i, p.local, 64, 1),
                 1);
        ends_run(&p.ends, 10000);
        ubq_queue_state(&p.qa, UBQ_STATE_RESET, UBQ_RESULT_OK);
        ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
        ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
        ends_run(&p.ends, 10000);
        data = end_save(&p.ends, p.a, &len);
        g_assert_cmpstr(end_load(&p.ends, p.a, data, len), ==, NULL);
        ub_net_port_state(ub_node_net(p.a->node), p.ends.now, 0, 0xffff);
    }
    p.b->lose = NULL;
    ends_run(&p.ends, SECOND);
    expect(&p.cq_a, p.qa.id, UBQ_STATUS_OK, 0);
    check(p.b, p.remote, 64);
    pair_stop(&p);
}

/* A queue that is reset with something unanswered begins with numbers that its peer has
 * not seen, however many queues were reset before. */
static void test_reset_numbers(void)
{
    UbqQueue other;
    Pair p;

    pair_start(&p, UB_TP_CTP, UB_ROI, 0);
    fill(p.a, p.local, 64);
    ubq_queue_open(&other, &p.a->drv, &p.cq_a, NULL, UB_ROI, 0);
    for (unsigned resets = 0; resets < 32; resets++) {
        ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
        ends_run(&p.ends, 1000000);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
        if (resets % 16 == 15) {
            ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1),
                     1);
            ends_run(&p.ends, 100);
            g_assert_null(ubq_cq_poll(&p.cq_a));
        }
        ubq_queue_state(resets % 16 == 15 ? &p.qa : &other, UBQ_STATE_RESET,
                        UBQ_RESULT_OK);
        ubq_queue_state(resets % 16 == 15 ? &p.qa : &other, UBQ_STATE_READY,
                        UBQ_RESULT_OK);
    }
    ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    ends_run(&p.ends, 1000000);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/receive-flush", test_receive_flush);
    g_test_add_func("/ub/urma/half-message", test_half_message);
    g_test_add_func("/ub/urma/error-to-reset", test_error_to_reset);
    g_test_add_func("/ub/urma/drain", test_drain);
    g_test_add_func("/ub/urma/bad-entry", test_bad_entry);
    g_test_add_func("/ub/urma/states", test_states);
    g_test_add_func("/ub/urma/segment-drains", test_segment_drains);
    g_test_add_func("/ub/urma/shared", test_shared);
    g_test_add_data_func("/ub/urma/shared-reset", NULL, test_shared_gone);
    g_test_add_data_func("/ub/urma/shared-destroyed", "", test_shared_gone);
    g_test_add_func("/ub/urma/receive-broken", test_receive_broken);
    g_test_add_func("/ub/urma/limit-at-once", test_limit_at_once);
    g_test_add_func("/ub/urma/group/round-robin", test_round_robin);
    g_test_add_func("/ub/urma/group/hint", test_hint);
    g_test_add_func("/ub/urma/group/depth", test_depth);
    g_test_add_func("/ub/urma/group/rules", test_group_rules);
    g_test_add_func("/ub/urma/group/moves", test_group_moves);
    g_test_add_func("/ub/urma/suspend-overtaken", test_suspend_overtaken);
    g_test_add_func("/ub/urma/refused-given-up", test_refused_given_up);
    g_test_add_func("/ub/urma/reset-migrate", test_reset_migrate);
    g_test_add_func("/ub/urma/reset-numbers", test_reset_numbers);
    return g_test_run();
}
