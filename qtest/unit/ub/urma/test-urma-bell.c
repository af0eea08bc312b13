/*
 * Doorbells without a lock, and records in memory instead of doorbells.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

#define THREADS 4
#define QUEUES 64
#define DEPTH 64

/* Numbers far from each other: all bits of the map of doorbells. */
static uint32_t number(unsigned i)
{
    return 1024 + i * 16381;
}

static UbqQueue queue_at(Pair *p, uint32_t id)
{
    UbqQueue q = { .d = &p->a->drv, .id = id, .sq_log2 = 6, .rq_log2 = 6 };
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, id, 0);
    put_le64(cmd + UBQ_Q_SQ_BASE, p->local);
    put_le64(cmd + UBQ_Q_RQ_BASE, p->local);
    cmd[UBQ_Q_SQ_LOG2] = q.sq_log2;
    cmd[UBQ_Q_RQ_LOG2] = q.rq_log2;
    put_le32(cmd + UBQ_Q_SEND_CQ, p->cq_a.id);
    put_le32(cmd + UBQ_Q_RECV_CQ, p->cq_a.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    put_le16(cmd + UBQ_Q_PAGE, 3);
    g_assert_cmpuint(ubq_command(q.d, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_queue_state(&q, UBQ_STATE_READY, UBQ_RESULT_OK);
    return q;
}

static unsigned posted(UbqQueue *q, unsigned what)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, q->id, 0);
    g_assert_cmpuint(ubq_command(q->d, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    return get_le16(cmd + what);
}

typedef struct Ringer {
    UbUrma *u;
    unsigned first;
} Ringer;

static gpointer ring_all(gpointer opaque)
{
    Ringer *r = opaque;

    for (unsigned n = 1; n <= DEPTH; n++) {
        for (unsigned i = r->first; i < QUEUES; i += THREADS) {
            ub_urma_ring(r->u, 3, UBQ_BELL_RQ,
                         number(i) | (uint64_t)n << 32);
            /* Of nobody, and of another's page. */
            ub_urma_ring(r->u, 3, UBQ_BELL_RQ, number(i) + 1);
            ub_urma_ring(r->u, 2, UBQ_BELL_RQ,
                         number(i) | (uint64_t)7 << 32);
        }
    }
    return NULL;
}

/* Whatever the threads do, the last doorbell of each queue is heard. */
static void test_threads(void)
{
    GThread *thread[THREADS];
    Ringer ringer[THREADS];
    UbqQueue q[QUEUES];
    Pair p;

    pair_start(&p, UB_TP_CTP, UB_ROI, 0);
    for (unsigned i = 0; i < QUEUES; i++) {
        q[i] = queue_at(&p, number(i) + (i ? 0 : 2));
    }
    /* Number 0 is taken by the pair's own queue: another stands for it. */
    for (unsigned i = 0; i < THREADS; i++) {
        ringer[i] = (Ringer){ p.a->urma, i ? i : THREADS };
        thread[i] = g_thread_new("ringer", ring_all, &ringer[i]);
    }
    for (unsigned i = 0; i < 1000; i++) {
        ub_urma_rung(p.a->urma);
        g_thread_yield();
    }
    for (unsigned i = 0; i < THREADS; i++) {
        g_thread_join(thread[i]);
    }
    ub_urma_rung(p.a->urma);
    for (unsigned i = 1; i < QUEUES; i++) {
        g_assert_cmpuint(posted(&q[i], UBQ_Q_RQ_PI), ==, DEPTH);
    }
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==,
                     2 * DEPTH * (QUEUES - 1));
    pair_stop(&p);
}

/* A foreign page, a number that is gone, an offset that is none. */
static void test_foreign(void)
{
    uint8_t cmd[UBQ_CMD];
    UbqQueue q;
    Pair p;

    pair_start(&p, UB_TP_CTP, UB_ROI, 0);
    q = queue_at(&p, 5000);
    ub_urma_ring(p.a->urma, 3, UBQ_BELL_RQ, 5000 | 9ull << 32);
    ub_urma_ring(p.a->urma, 4, UBQ_BELL_RQ, 5000 | 4ull << 32);
    ub_urma_ring(p.a->urma, 3, UBQ_BELL_SQ + 4, 5000 | 4ull << 32);
    ub_urma_ring(p.a->urma, 3, UBQ_BELL_CQ + 8, 5000 | 4ull << 32);
    ub_urma_ring(p.a->urma, 3, UBQ_BELL_CQ, 5000 | 4ull << 32);
    ub_urma_rung(p.a->urma);
    g_assert_cmpuint(posted(&q, UBQ_Q_RQ_PI), ==, 9);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==, 4);
    g_assert_cmpuint(p.a->guest_errors, ==, 1);
    /* What is heard is checked like any other. */
    ub_urma_ring(p.a->urma, 3, UBQ_BELL_RQ, 5000 | 70ull << 32);
    ub_urma_rung(p.a->urma);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==, 5);
    ubq_cmd_init(cmd, 5000, 0);
    g_assert_cmpuint(ubq_command(q.d, UBQ_OP_QUEUE_DESTROY, cmd), ==,
                     UBQ_RESULT_OK);
    ub_urma_ring(p.a->urma, 3, UBQ_BELL_RQ, 5000 | 9ull << 32);
    ub_urma_rung(p.a->urma);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==, 6);
    ub_urma_rung(p.a->urma);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==, 6);
    pair_stop(&p);
}

static unsigned eq_pi(End *e)
{
    return ub_urma_reg_read(e->urma, UBQ_EQ(0) + UBQ_EQ_PI);
}

static void nop(Pair *p)
{
    uint8_t *e = ubq_sqe(&p->qa, 1);

    ubq_sqe_put(e, UBQ_OP_NOP, 0, 0, 0);
    post_and_run(p, e, 1);
}

/* A doorbell that only reads does not take back one that armed. */
static void test_arm(void)
{
    uint64_t cq;
    Pair p;

    pair_start(&p, UB_TP_CTP, UB_ROI, 0);
    cq = p.cq_a.id;
    ub_urma_ring(p.a->urma, 0, UBQ_BELL_CQ, cq | 2ull << 48);
    ub_urma_ring(p.a->urma, 0, UBQ_BELL_CQ, cq);
    ub_urma_rung(p.a->urma);
    nop(&p);
    g_assert_cmpuint(eq_pi(p.a), ==, 1);
    /* But one that was taken is not heard again. */
    ub_urma_ring(p.a->urma, 0, UBQ_BELL_CQ, cq | 1ull << 32);
    ub_urma_rung(p.a->urma);
    nop(&p);
    g_assert_cmpuint(eq_pi(p.a), ==, 1);
    pair_stop(&p);
}

/* ---- Records ---------------------------------------------------------------------------- */

/* A doorbell that rang before a message came, and had no turn yet: the message finds
 * the entry. */
static void test_receive(void)
{
    uint8_t *at, *e;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    at = p.b->memory + p.qb.rq;
    put_le64(at, p.remote);
    put_le32(at + 8, 64);
    ub_urma_ring(p.b->urma, 0, UBQ_BELL_RQ, p.qb.id | 1ull << 32);
    e = message_op(&p, UB_TA_SEND, 0, p.local, 64);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_RNR), ==, 0);
    /* It is not heard twice. */
    ub_urma_rung(p.b->urma);
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_BELLS_BAD), ==, 0);
    pair_stop(&p);
}

/* So does a completion: what was read makes room, though the doorbell that says so waits,
 * and what it armed is armed. */
static void test_room(void)
{
    const unsigned all = 16;
    uint64_t bell;
    UbqQueue q;
    UbqCq cq;
    Pair p;

    pair_start(&p, UB_TP_CTP, UB_ROI, 0);
    ubq_cq_open(&cq, &p.a->drv, 4);
    ubq_queue_open(&q, &p.a->drv, &cq, NULL, UB_ROI, 0);
    for (unsigned n = 0; n < all + 2; n++) {
        uint8_t *e = ubq_sqe(&q, 1);

        ubq_sqe_put(e, UBQ_OP_NOP, 0, 0, 0);
        if (n == all) {
            bell = cq.id | 1ull << 32 | 2ull << 48; /* one of them is read */
            ub_urma_ring(p.a->urma, 0, UBQ_BELL_CQ, bell);
        }
        ubq_post(&q, e, 1);
        ends_run(&p.ends, 1000);
        g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_CQES_LOST), ==,
                         n > all);
        /* The event of the others, and then that of the overflow. */
        g_assert_cmpuint(eq_pi(p.a), ==, n < all ? 0 : n - all + 1);
    }
    ub_urma_rung(p.a->urma);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==, 0);
    pair_stop(&p);
}

/* And who is told of few entries: those of a doorbell that waits are not missing. */
static void test_limit(void)
{
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_recv(&p.qb, p.remote, 64);
    ubq_recv(&p.qb, p.remote, 64);
    ubq_cmd_init(cmd, p.qb.id, UBQ_QM_RQ_LIMIT);
    put_le16(cmd + UBQ_Q_RQ_LIMIT, 2);
    g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    for (unsigned n = 0; n < 2; n++) {
        if (!n) {
            ub_urma_ring(p.b->urma, 0, UBQ_BELL_RQ, p.qb.id | 3ull << 32);
        }
        post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
        ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
        g_assert_cmpuint(eq_pi(p.b), ==, n);
    }
    pair_stop(&p);
}

typedef struct Recorded {
    Pair p;
    UbqCq cq;
    UbqQueue q;
    uint64_t at;
} Recorded;

static void record_set(Recorded *r)
{
    put_le16(r->p.a->memory + r->at, r->q.sq_pi);
    put_le16(r->p.a->memory + r->at + 4, r->q.rq_pi);
}

/* Of the pair in @r: sends and receives. */
static void recorded_make(Recorded *r)
{
    uint8_t cmd[UBQ_CMD];

    r->at = ubq_alloc(&r->p.a->drv, 8, 8);
    put_le64(r->p.a->memory + r->at, 0);
    r->q = r->p.qa;
    r->q.sq_pi = r->q.rq_pi = 0;
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    r->q.sq = ubq_alloc(r->q.d, UBQ_BLOCK << 4, UBQ_BLOCK);
    r->q.rq = ubq_alloc(r->q.d, UBQ_ELEMENT << 4, UBQ_BLOCK);
    r->q.sq_log2 = r->q.rq_log2 = 4;
    r->q.stride = 0;
    put_le64(cmd + UBQ_Q_SQ_BASE, r->q.sq);
    put_le64(cmd + UBQ_Q_RQ_BASE, r->q.rq);
    cmd[UBQ_Q_SQ_LOG2] = cmd[UBQ_Q_RQ_LOG2] = 4;
    put_le32(cmd + UBQ_Q_SEND_CQ, r->p.cq_a.id);
    put_le32(cmd + UBQ_Q_RECV_CQ, r->p.cq_a.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    put_le64(cmd + UBQ_Q_RECORD, r->at + 4);
    g_assert_cmpuint(ubq_command(r->q.d, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    put_le64(cmd + UBQ_Q_RECORD, r->at);
    put_le32(cmd + UBQ_CMD_OBJECT, UBQ_NEW);
    g_assert_cmpuint(ubq_command(r->q.d, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    r->q.id = get_le32(cmd + UBQ_CMD_OBJECT);
    ubq_queue_state(&r->q, UBQ_STATE_READY, UBQ_RESULT_OK);
}

static void recorded_start(Recorded *r)
{
    pair_start(&r->p, UB_TP_RTP, UB_ROI, 0);
    recorded_make(r);
}

/* Put an entry into the ring without a doorbell. */
static void recorded_post(Recorded *r)
{
    uint8_t *e = ubq_sqe(&r->q, 1);

    ubq_sqe_put(e, UB_TA_SEND, 9, r->p.local, 64);
    put_le32(e + UBQ_SQE_TARGET, r->p.qb.id);
    put_le32(e, get_le32(e) |
                (r->q.sq_pi >> r->q.sq_log2 & 1 ? 0 : UBQ_SQE_OWNER));
    r->q.sq_pi++;
    record_set(r);
}

static void recorded_recv(Recorded *r)
{
    uint8_t *at = r->p.a->memory + r->q.rq + (r->q.rq_pi & 15) * UBQ_ELEMENT;

    put_le64(at, r->p.local);
    put_le32(at + 8, 64);
    r->q.rq_pi++;
    record_set(r);
}

static void test_record_send(void)
{
    Recorded r;

    recorded_start(&r);
    for (unsigned i = 0; i < 30; i++) {
        ubq_recv(&r.p.qb, r.p.remote, 64);
    }
    recorded_post(&r);
    ends_run(&r.p.ends, SECOND);
    g_assert_null(ubq_cq_poll(&r.p.cq_a));      /* it sleeps */
    ub_urma_bell(r.p.a->urma, 0, UBQ_BELL_SQ,
                 r.q.id | (uint64_t)r.q.sq_pi << 32);
    for (unsigned i = 0; i < 20; i++) {
        ub_urma_run(r.p.a->urma, r.p.ends.now, 64);
        recorded_post(&r);                      /* it works, and will look */
        ends_run(&r.p.ends, SECOND);
        ubq_cq_expect(&r.p.cq_a, UBQ_STATUS_OK);
        ubq_cq_expect(&r.p.cq_a, UBQ_STATUS_OK);
        recorded_post(&r);
        ub_urma_bell(r.p.a->urma, 0, UBQ_BELL_SQ,
                     r.q.id | (uint64_t)r.q.sq_pi << 32);
        if (i == 13) {
            break;
        }
    }
    /* What cannot be is ignored. */
    put_le16(r.p.a->memory + r.at, r.q.sq_pi + 17);
    ends_run(&r.p.ends, SECOND);
    ubq_cq_expect(&r.p.cq_a, UBQ_STATUS_OK);
    g_assert_cmpuint(ub_urma_counter(r.p.a->urma, UB_URMA_BELLS_BAD), >, 0);
    pair_stop(&r.p);
}

static void test_record_receive(void)
{
    uint8_t *e;
    Recorded r;

    recorded_start(&r);
    for (unsigned i = 0; i < 40; i++) {
        recorded_recv(&r);
        e = ubq_sqe(&r.p.qb, 1);
        ubq_sqe_put(e, UB_TA_SEND, 9, r.p.remote, 64);
        put_le32(e + UBQ_SQE_TARGET, r.q.id);
        ubq_post(&r.p.qb, e, 1);
        ends_run(&r.p.ends, SECOND);
        ubq_cq_expect(&r.p.cq_b, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le32(ubq_cq_expect(&r.p.cq_a, UBQ_STATUS_OK) +
                                  UBQ_CQE_INDEX), ==, i);
    }
    g_assert_cmpuint(ub_urma_counter(r.p.a->urma, UB_URMA_RNR), ==, 0);
    /* Flushed, too. */
    r.q.rq_pi += 2;
    recorded_post(&r);
    ubq_queue_state(&r.q, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&r.p.ends, SECOND);
    for (unsigned i = 0; i < 3; i++) {
        ubq_cq_expect(&r.p.cq_a, UBQ_STATUS_FLUSHED);
    }
    pair_stop(&r.p);
}

/* The record is what counts: a doorbell that was on its way says less, or nothing. */
static void test_record_stale(void)
{
    Recorded r;
    UbUrma *u;

    recorded_start(&r);
    u = r.p.a->urma;
    for (unsigned i = 0; i < 3; i++) {
        recorded_recv(&r);
    }
    g_assert_cmpuint(posted(&r.q, UBQ_Q_RQ_PI), ==, 3);
    ub_urma_bell(u, 0, UBQ_BELL_RQ, r.q.id | 2ull << 32);
    ub_urma_bell(u, 0, UBQ_BELL_SQ, r.q.id | 0xffffull << 32);
    g_assert_cmpuint(posted(&r.q, UBQ_Q_RQ_PI), ==, 3);
    recorded_recv(&r);
    ub_urma_bell(u, 0, UBQ_BELL_RQ, r.q.id | 3ull << 32);
    g_assert_cmpuint(posted(&r.q, UBQ_Q_RQ_PI), ==, 4);
    g_assert_cmpuint(posted(&r.q, UBQ_Q_SQ_PI), ==, 0);
    g_assert_cmpuint(ub_urma_counter(u, UB_URMA_BELLS_BAD), ==, 0);
    /* In Error a doorbell says that there are more to be flushed. */
    ubq_queue_state(&r.q, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&r.p.ends, SECOND);
    for (unsigned i = 0; i < 4; i++) {
        ubq_cq_expect(&r.p.cq_a, UBQ_STATUS_FLUSHED);
    }
    recorded_recv(&r);
    ends_run(&r.p.ends, SECOND);
    g_assert_null(ubq_cq_poll(&r.p.cq_a));
    ub_urma_bell(u, 0, UBQ_BELL_RQ, r.q.id | 5ull << 32);
    ends_run(&r.p.ends, SECOND);
    ubq_cq_expect(&r.p.cq_a, UBQ_STATUS_FLUSHED);
    pair_stop(&r.p);
}

/* A group looks into the records of its members before it chooses. */
static void test_record_group(void)
{
    for (unsigned policy = 0; policy < UBQ_JG_POLICIES; policy++) {
        uint8_t cmd[UBQ_CMD];
        uint32_t group;
        Recorded r, other;
        uint8_t *e;

        recorded_start(&r);
        ubq_cmd_init(cmd, UBQ_NEW, 0);
        cmd[UBQ_JG_POLICY] = policy;
        g_assert_cmpuint(ubq_command(r.q.d, UBQ_OP_JGROUP_CREATE, cmd), ==,
                         UBQ_RESULT_OK);
        group = get_le32(cmd + UBQ_CMD_OBJECT);
        other = r;
        recorded_make(&other);
        for (unsigned i = 0; i < 2; i++) {
            ubq_cmd_init(cmd, i ? other.q.id : r.q.id, 0);
            put_le32(cmd + UBQ_JG_GROUP, group);
            g_assert_cmpuint(ubq_command(r.q.d, UBQ_OP_JGROUP_JOIN, cmd), ==,
                             UBQ_RESULT_OK);
        }
        recorded_recv(&other);
        if (policy == UBQ_JG_DEPTH) {
            recorded_recv(&r);
            recorded_recv(&other);
        }
        e = ubq_sqe(&r.p.qb, 1);
        ubq_sqe_put(e, UB_TA_SEND | UBQ_SQE_GROUP, 9, r.p.remote, 64);
        put_le32(e + UBQ_SQE_TARGET, group);
        put_le32(e + UBQ_SQE_W5, 1 << 8);
        ubq_post(&r.p.qb, e, 1);
        ends_run(&r.p.ends, SECOND);
        ubq_cq_expect(&r.p.cq_b, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le32(ubq_cq_expect(&r.p.cq_a, UBQ_STATUS_OK) +
                                  UBQ_CQE_QUEUE), ==, other.q.id);
        g_assert_cmpuint(ub_urma_counter(r.p.a->urma, UB_URMA_RNR), ==, 0);
        pair_stop(&r.p);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/bell/threads", test_threads);
    g_test_add_func("/ub/urma/bell/foreign", test_foreign);
    g_test_add_func("/ub/urma/bell/arm", test_arm);
    g_test_add_func("/ub/urma/bell/receive", test_receive);
    g_test_add_func("/ub/urma/bell/room", test_room);
    g_test_add_func("/ub/urma/bell/limit", test_limit);
    g_test_add_func("/ub/urma/record/send", test_record_send);
    g_test_add_func("/ub/urma/record/receive", test_record_receive);
    g_test_add_func("/ub/urma/record/stale", test_record_stale);
    g_test_add_func("/ub/urma/record/group", test_record_group);
    return g_test_run();
}
