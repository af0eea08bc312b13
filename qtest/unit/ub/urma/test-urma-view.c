/*
 * What is told of queues: events of completions, views, traces.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

/* ---- Events ------------------------------------------------------------------------- */

static unsigned eq_written(End *e)
{
    return ub_urma_reg_read(e->urma, UBQ_EQ(0) + UBQ_EQ_PI);
}

static void moderate(UbqCq *cq, unsigned count, unsigned period)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, cq->id, 0);
    put_le16(cmd + UBQ_CQ_COUNT, count);
    put_le32(cmd + UBQ_CQ_PERIOD, period);
    g_assert_cmpuint(ubq_command(cq->d, UBQ_OP_CQ_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
}

static void good_write(Pair *p)
{
    post_and_run(p, memory_op(p, UB_TA_WRITE, 0, 0, p->local, 64, 1), 1);
}

static void bad_write(Pair *p)
{
    uint8_t *e = memory_op(p, UB_TA_WRITE, 0, 0, p->local, 64, 1);

    put_le32(e + UBQ_SQE_TOKEN_VALUE, ~TOKEN);
    post_and_run(p, e, 1);
}

/* A message starts the timer of its completion while the engine has no turn: it asks for
 * one, since whoever waits for the next deadline knows of none. */
static void test_timer_asks(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    moderate(&p.cq_b, 10, 50);
    ubq_recv(&p.qb, p.remote, 64);
    ubq_cq_arm(&p.cq_b, 2);
    ends_run(&p.ends, 1000);
    p.b->kicks = 0;
    post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    g_assert_cmpuint(p.b->kicks, ==, 1);
    ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
    g_assert_cmpuint(eq_written(p.b), ==, 1);
    pair_stop(&p);
}

/* An error does not wait for the rest of a batch, be the queue armed for any or for
 * solicited completions. */
static void test_error_at_once(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    moderate(&p.cq_a, 100, 0);
    for (unsigned arm = 1; arm <= 2; arm++) {
        ubq_cq_arm(&p.cq_a, arm);
        for (unsigned i = 0; i < 5; i++) {
            good_write(&p);
            ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
        }
        g_assert_cmpuint(eq_written(p.a), ==, arm - 1);
        bad_write(&p);
        g_assert_cmpuint(eq_written(p.a), ==, arm);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
        /* It is not armed any more. */
        bad_write(&p);
        g_assert_cmpuint(eq_written(p.a), ==, arm);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
    }
    /* One that is there already counts like one that comes. */
    bad_write(&p);
    ubq_cq_arm(&p.cq_a, 1);
    g_assert_cmpuint(eq_written(p.a), ==, 3);
    pair_stop(&p);
}

/* ---- Views -------------------------------------------------------------------------- */

typedef struct Seen {
    UbUrmaQueueInfo queue[8];
    UbUrmaCqInfo cq[8];
    UbUrmaGroupInfo group[2];
    uint32_t member[2][4];
    unsigned queues, cqs, groups;
} Seen;

static void see_queue(void *opaque, const UbUrmaQueueInfo *info)
{
    Seen *s = opaque;

    g_assert_cmpuint(s->queues, <, G_N_ELEMENTS(s->queue));
    s->queue[s->queues++] = *info;
}

static void see_cq(void *opaque, const UbUrmaCqInfo *info)
{
    Seen *s = opaque;

    g_assert_cmpuint(s->cqs, <, G_N_ELEMENTS(s->cq));
    s->cq[s->cqs++] = *info;
}

static void see_group(void *opaque, const UbUrmaGroupInfo *info)
{
    Seen *s = opaque;

    g_assert_cmpuint(s->groups, <, G_N_ELEMENTS(s->group));
    g_assert_cmpuint(info->n, <=, G_N_ELEMENTS(s->member[0]));
    memcpy(s->member[s->groups], info->member, info->n * sizeof(uint32_t));
    s->group[s->groups++] = *info;
}

static void look(End *e, Seen *s)
{
    memset(s, 0, sizeof(*s));
    ub_urma_foreach(e->urma, see_queue, s);
    ub_urma_foreach_cq(e->urma, see_cq, s);
    ub_urma_foreach_group(e->urma, see_group, s);
}

static uint32_t create(End *e, unsigned opcode, uint8_t cmd[UBQ_CMD])
{
    g_assert_cmpuint(ubq_command(&e->drv, opcode, cmd), ==, UBQ_RESULT_OK);
    return get_le32(cmd + UBQ_CMD_OBJECT);
}

/* Queue 40 of b with everything that a queue may have: it shares the entries of
 * p->qb, is bound, has a record. */
static void create_rich(Pair *p, uint64_t record)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, 40, 0);
    put_le64(cmd + UBQ_Q_SQ_BASE, 4096);
    cmd[UBQ_Q_SQ_LOG2] = 3;
    cmd[UBQ_Q_MODE] = UB_ROL;
    put_le32(cmd + UBQ_Q_SEND_CQ, p->cq_b.id);
    put_le32(cmd + UBQ_Q_RECV_CQ, p->cq_b.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, p->qb.id);
    put_le16(cmd + UBQ_Q_PAGE, 5);
    put_le16(cmd + UBQ_Q_EQ, 6);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_BOUND | UBQ_Q_SUSPEND);
    put_le32(cmd + UBQ_Q_REMOTE, 4711);
    cmd[UBQ_Q_REMOTE_EID + 15] = 9;
    put_le64(cmd + UBQ_Q_RECORD, record);
    g_assert_cmpuint(create(p->b, UBQ_OP_QUEUE_CREATE, cmd), ==, 40);
}

static void test_views(void)
{
    const UbUrmaQueueInfo *q;
    uint8_t cmd[UBQ_CMD];
    uint32_t group;
    Seen s;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    create_rich(&p, 8192);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_JG_POLICY] = UBQ_JG_DEPTH;
    put_le16(cmd + UBQ_JG_EQ, 3);
    put_le32(cmd + UBQ_JG_FLAGS, UBQ_Q_TOKEN);
    group = create(p.b, UBQ_OP_JGROUP_CREATE, cmd);
    ubq_cmd_init(cmd, p.qb.id, 0);
    put_le32(cmd + UBQ_JG_GROUP, group);
    create(p.b, UBQ_OP_JGROUP_JOIN, cmd);
    ubq_cmd_init(cmd, p.qb.id, UBQ_QM_RQ_LIMIT);
    put_le16(cmd + UBQ_Q_RQ_LIMIT, 1);
    ubq_recv(&p.qb, p.remote, 64);
    create(p.b, UBQ_OP_QUEUE_MODIFY, cmd);
    moderate(&p.cq_b, 7, 9);
    look(p.b, &s);
    g_assert_cmpuint(s.queues, ==, 2);
    q = &s.queue[0];                    /* by number */
    g_assert_cmpuint(q->id, ==, 40);
    g_assert_cmpuint(q->page, ==, 5);
    g_assert_cmpuint(q->eq, ==, 6);
    g_assert_cmpuint(q->state, ==, UBQ_STATE_RESET);
    g_assert_cmpuint(q->mode, ==, UB_ROL);
    g_assert_cmphex(q->flags, ==, UBQ_Q_BOUND | UBQ_Q_SUSPEND);
    g_assert_cmpuint(q->sq_depth, ==, 8);
    g_assert_cmpuint(q->rq_depth, ==, 0);
    g_assert_cmpuint(q->send_cq, ==, p.cq_b.id);
    g_assert_cmpuint(q->recv_cq, ==, p.cq_b.id);
    g_assert_cmpuint(q->rq_shared, ==, p.qb.id);
    g_assert_cmphex(q->group, ==, UBQ_NEW);
    g_assert_cmpuint(q->remote, ==, 4711);
    g_assert_cmpuint(q->remote_eid.b[15], ==, 9);
    g_assert_cmpuint(q->record, ==, 8192);
    q = &s.queue[1];
    g_assert_cmpuint(q->id, ==, p.qb.id);
    g_assert_cmpuint(q->state, ==, UBQ_STATE_READY);
    g_assert_cmpuint(q->sq_depth, ==, 64);
    g_assert_cmpuint(q->rq_depth, ==, 32);
    g_assert_cmpuint(q->rq_pi, ==, 1);
    g_assert_cmpuint(q->rq_ci, ==, 0);
    g_assert_cmpuint(q->rq_limit, ==, 1);
    g_assert_false(q->rq_low);
    g_assert_cmphex(q->rq_shared, ==, UBQ_NEW);
    g_assert_cmpuint(q->group, ==, group);
    g_assert_cmpuint(s.cqs, ==, 1);
    g_assert_cmpuint(s.cq[0].id, ==, p.cq_b.id);
    g_assert_cmpuint(s.cq[0].depth, ==, 256);
    g_assert_cmpuint(s.cq[0].count, ==, 7);
    g_assert_cmpuint(s.cq[0].period, ==, 9);
    g_assert_cmpuint(s.cq[0].users, ==, 4);
    g_assert_cmpuint(s.cq[0].arm, ==, 0);
    g_assert_false(s.cq[0].error);
    g_assert_cmpuint(s.groups, ==, 1);
    g_assert_cmpuint(s.group[0].id, ==, group);
    g_assert_cmpuint(s.group[0].eq, ==, 3);
    g_assert_cmpuint(s.group[0].policy, ==, UBQ_JG_DEPTH);
    g_assert_cmphex(s.group[0].flags, ==, UBQ_Q_TOKEN);
    g_assert_cmpuint(s.group[0].n, ==, 1);
    g_assert_cmpuint(s.group[0].live, ==, 1);
    g_assert_cmpuint(s.member[0][0], ==, p.qb.id);
    pair_stop(&p);
}

/* What became of entries and messages. */
static void test_counts(void)
{
    uint8_t cmd[UBQ_CMD];
    Seen s;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    good_write(&p);
    good_write(&p);
    bad_write(&p);
    for (unsigned i = 0; i < 3; i++) {
        ubq_recv(&p.qb, p.remote, i ? 64 : 63);     /* the first is too short */
    }
    post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    ubq_cq_arm(&p.cq_b, 2);
    ubq_queue_state(&p.qb, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&p.ends, SECOND);
    ubq_queue_state(&p.qb, UBQ_STATE_RESET, UBQ_RESULT_OK);
    ubq_queue_state(&p.qb, UBQ_STATE_READY, UBQ_RESULT_OK);
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    ends_run(&p.ends, 1000000);
    look(p.a, &s);
    g_assert_cmpuint(s.queue[0].counts.done, ==, 3);
    g_assert_cmpuint(s.queue[0].counts.failed, ==, 2);
    g_assert_cmpuint(s.queue[0].counts.flushed, ==, 0);
    g_assert_cmpuint(s.queue[0].requests, ==, 1);
    g_assert_cmpuint(s.queue[0].sq_pi, ==, 6);
    g_assert_cmpuint(s.queue[0].sq_ci, ==, 5);
    g_assert_cmpuint(s.cq[0].bad, ==, 2);
    g_assert_cmpuint(s.cq[0].pi, ==, 5);
    look(p.b, &s);
    g_assert_cmpuint(s.queue[0].counts.done, ==, 1);
    g_assert_cmpuint(s.queue[0].counts.failed, ==, 1);
    g_assert_cmpuint(s.queue[0].counts.flushed, ==, 1);
    g_assert_cmpuint(s.queue[0].counts.empty, >, 0);
    g_assert_cmpuint(s.queue[0].counts.denied, ==, 0);
    g_assert_cmpuint(s.cq[0].arm, ==, 0);
    ubq_queue_state(&p.qb, UBQ_STATE_RESET, UBQ_RESULT_OK);
    ubq_queue_state(&p.qb, UBQ_STATE_READY, UBQ_RESULT_OK);
    ubq_cmd_init(cmd, p.qb.id, UBQ_QM_TOKEN);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_TOKEN);
    create(p.b, UBQ_OP_QUEUE_MODIFY, cmd);
    ends_run(&p.ends, 100 * SECOND);
    look(p.b, &s);
    g_assert_cmpuint(s.queue[0].counts.denied, ==, 1);
    pair_stop(&p);
}

/* ---- Traces -------------------------------------------------------------------------- */

#define TRACED(e, what, number, id_, a_, b_) \
    do { \
        g_assert_cmpuint((e)->trace[what].n, ==, number); \
        g_assert_cmphex((e)->trace[what].id, ==, id_); \
        g_assert_cmphex((e)->trace[what].a, ==, a_); \
        g_assert_cmphex((e)->trace[what].b, ==, b_); \
    } while (0)

static void test_traces(void)
{
    unsigned commands;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, UBQ_Q_SUSPEND);
    commands = p.a->trace[UB_URMA_TRACE_COMMAND].n;
    TRACED(p.a, UB_URMA_TRACE_STATE, 1, p.qa.id, UBQ_STATE_RESET,
           UBQ_STATE_READY);
    good_write(&p);
    TRACED(p.a, UB_URMA_TRACE_SEND, 1, p.qa.id, 0, UB_TA_WRITE);
    TRACED(p.a, UB_URMA_TRACE_COMPLETE, 1, p.qa.id, p.cq_a.id, UBQ_STATUS_OK);
    ubq_recv(&p.qb, p.remote, 64);
    post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    TRACED(p.b, UB_URMA_TRACE_RECEIVE, 1, p.qb.id, 0, p.qb.id);
    TRACED(p.b, UB_URMA_TRACE_COMPLETE, 1, p.qb.id, p.cq_b.id, UBQ_STATUS_OK);
    bad_write(&p);
    TRACED(p.a, UB_URMA_TRACE_COMPLETE, 3, p.qa.id, p.cq_a.id,
           UBQ_STATUS_ABORT);
    TRACED(p.a, UB_URMA_TRACE_STATE, 2, p.qa.id, UBQ_STATE_READY,
           UBQ_STATE_SUSPENDED);
    TRACED(p.a, UB_URMA_TRACE_EVENT, 1, p.qa.id, 0, UBQ_EVENT_QUEUE_STATE);
    g_assert_cmpuint(p.a->trace[UB_URMA_TRACE_COMMAND].n, ==, commands);
    ubq_queue_state(&p.qa, UBQ_STATE_SUSPENDED, UBQ_RESULT_STATE);
    TRACED(p.a, UB_URMA_TRACE_COMMAND, commands + 1, p.qa.id,
           UBQ_OP_QUEUE_MODIFY, UBQ_RESULT_STATE);
    TRACED(p.a, UB_URMA_TRACE_STATE, 2, p.qa.id, UBQ_STATE_READY,
           UBQ_STATE_SUSPENDED);
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/view/timer-asks", test_timer_asks);
    g_test_add_func("/ub/urma/error-at-once", test_error_at_once);
    g_test_add_func("/ub/urma/views", test_views);
    g_test_add_func("/ub/urma/counts", test_counts);
    g_test_add_func("/ub/urma/traces", test_traces);
    return g_test_run();
}
