/*
 * Engine of queues: memory that entries under way take, groups whose members share
 * receive entries, images whose parts do not fit each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <malloc.h>

#include "internal.h"
#include "pair.h"

/* ---- entries under way ---- */

enum { QUEUES = 64, FENCED = 8, BOUND = 32 };

static bool lose_all(End *to, CorePacket *pkt)
{
    return true;
}

static void post(UbqQueue *q, unsigned opcode, uint32_t flags, uint64_t local)
{
    uint8_t *e = ubq_sqe(q, 1);

    ubq_sqe_put(e, opcode | UBQ_SQE_TOKEN | flags, 9, local, 64);
    put_le32(e + UBQ_SQE_TARGET, 77);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, TOKEN);
    put_le64(e + UBQ_SQE_ADDR, 0x10000);
    ubq_post(q, e, 1);
}

static unsigned polled(UbqCq *cq, unsigned status)
{
    const uint8_t *c;
    unsigned n = 0;

    while ((c = ubq_cq_poll(cq))) {
        g_assert_cmphex(ubq_cqe_status(c), ==, status);
        n++;
    }
    return n;
}

/* Entries behind a Read that nobody answers stay in the guest's memory, and all have
 * their turn when others end. */
static void test_bound(void)
{
    UbqQueue q[QUEUES];
    uint8_t cmd[UBQ_CMD];
    UbUrma *u;
    UbqCq cq;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    u = p.a->urma;
    g_assert_cmpuint(u->cfg.requests, ==, 1 << 18);
    u->cfg.requests = BOUND;
    ubq_cq_open(&cq, &p.a->drv, 10);
    p.b->lose = lose_all;
    for (unsigned i = 0; i < QUEUES; i++) {
        q[i] = (UbqQueue){ .d = &p.a->drv, .sq_log2 = 4 };
        ubq_queue_create(&q[i], &cq, NULL, UBQ_NEW, UB_ROI, 0);
        post(&q[i], UB_TA_READ, 0, p.local);
        for (unsigned n = 0; n < FENCED; n++) {
            post(&q[i], UB_TA_WRITE, UBQ_SQE_FENCE, p.local);
        }
    }
    ends_run(&p.ends, 10000);
    g_assert_cmpuint(u->entries, ==, BOUND);
    g_assert_null(ubq_cq_poll(&cq));
    /* What ends at once needs no place; what goes leaves the line. */
    ubq_queue_state(&q[QUEUES - 1], UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&p.ends, 10000);
    g_assert_cmpuint(polled(&cq, UBQ_STATUS_FLUSHED), ==, 1 + FENCED);
    ubq_cmd_init(cmd, q[QUEUES - 2].id, 0);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_QUEUE_DESTROY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(u->entries, ==, BOUND);
    p.b->lose = NULL;
    for (unsigned i = 0; i < 10; i++) {
        ends_run(&p.ends, SECOND);
        g_assert_cmpuint(u->entries, <=, BOUND);
    }
    g_assert_cmpuint(polled(&cq, UBQ_STATUS_OK), ==,
                     (QUEUES - 2) * (1 + FENCED));
    g_assert_cmpuint(u->entries, ==, 0);
    g_assert_null(u->starved.first);
    pair_stop(&p);
}

/* ---- groups of queues that share receive entries ---- */

static uint32_t make_group(Pair *p)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    g_assert_cmpuint(ubq_command(&p->b->drv, UBQ_OP_JGROUP_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    return get_le32(cmd + UBQ_CMD_OBJECT);
}

static void join(Pair *p, uint32_t queue, uint32_t group)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, queue, 0);
    put_le32(cmd + UBQ_JG_GROUP, group);
    g_assert_cmpuint(ubq_command(&p->b->drv, UBQ_OP_JGROUP_JOIN, cmd), ==,
                     UBQ_RESULT_OK);
}

/* It fails, and with it all groups that it leaves without anybody: each says so once. */
static void test_group_shared(void)
{
    uint32_t group[3];
    unsigned ci = 0;
    UbqQueue rq, q[5];
    UbqCq cq;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cq_open(&cq, &p.b->drv, 6);
    rq = (UbqQueue){ .d = &p.b->drv, .rq_log2 = 4 };
    ubq_queue_create(&rq, NULL, &cq, UBQ_NEW, UB_ROI, 0);
    for (unsigned i = 0; i < 5; i++) {
        bool own = i == 4;

        q[i] = (UbqQueue){ .d = &p.b->drv, .rq_log2 = own ? 4 : 0 };
        ubq_queue_create(&q[i], NULL, &cq, own ? UBQ_NEW : rq.id, UB_ROI, 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        group[i] = make_group(&p);
    }
    /* Two of the first group, and who shares; one of the second; the third has one
     * that lives on. */
    join(&p, q[0].id, group[0]);
    join(&p, q[1].id, group[0]);
    join(&p, rq.id, group[0]);
    join(&p, q[2].id, group[1]);
    join(&p, q[3].id, group[2]);
    join(&p, q[4].id, group[2]);
    ubq_queue_state(&rq, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    g_assert_cmpuint(eq_take(p.b, &ci, UBQ_EVENT_GROUP_ERROR), ==, group[0]);
    g_assert_cmpuint(eq_take(p.b, &ci, UBQ_EVENT_GROUP_ERROR), ==, group[1]);
    g_assert_cmpuint(ub_urma_reg_read(p.b->urma, UBQ_EQ(0) + UBQ_EQ_PI), ==, 2);
    ubq_queue_state(&q[0], UBQ_STATE_ERROR, UBQ_RESULT_OK);
    g_assert_cmpuint(ub_urma_reg_read(p.b->urma, UBQ_EQ(0) + UBQ_EQ_PI), ==, 2);
    ubq_queue_state(&q[4], UBQ_STATE_ERROR, UBQ_RESULT_OK);
    g_assert_cmpuint(eq_take(p.b, &ci, UBQ_EVENT_GROUP_ERROR), ==, group[2]);
    pair_stop(&p);
}

/* ---- images ---- */

/* A queue is in the transaction layer as the engine made it. */
static void test_image(void)
{
    enum { GOOD, STOPPED, SUSPENDS, ORDERED, MODE, CASES };

    for (unsigned i = 0; i < CASES; i++) {
        g_autofree uint8_t *data = NULL;
        UrmaQueue *q;
        const char *why;
        size_t len;
        Pair p;

        pair_start(&p, UB_TP_RTP, UB_ROI, 0);
        q = core_table_get(&p.a->urma->queues, p.qa.id);
        switch (i) {
        case STOPPED:
            ub_ta_queue_stop(q->ta, true);
            break;
        case SUSPENDS:
            q->flags |= UBQ_Q_SUSPEND;
            break;
        case ORDERED:
            q->flags |= UBQ_Q_IN_ORDER;
            break;
        case MODE:
            q->mode = UB_ROL;
            break;
        default:
            break;
        }
        data = end_save(&p.ends, p.a, &len);
        why = end_load(&p.ends, p.a, data, len);
        if (i == GOOD) {
            g_assert_cmpstr(why, ==, NULL);
        } else {
            g_assert_nonnull(why);
            g_assert_nonnull(strstr(why, "another in the transaction layer"));
        }
        pair_stop(&p);
    }
}

/* Indices go round and round; the distance is what must fit. */
static void test_image_indices(void)
{
    static const struct {
        uint16_t ci;
        int there;              /* more than what fits */
    } cases[] = { { 250, -10 }, { 1000, 0 }, { 65535, -14 }, { 0, 1 }, { 65500, 1 } };

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        bool commands = i & 1;
        uint16_t ci = cases[i / 2].ci;
        int more = cases[i / 2].there;
        g_autofree uint8_t *data = NULL;
        UbUrma *u;
        UrmaCq *cq;
        size_t len;
        Pair p;

        pair_start(&p, UB_TP_RTP, UB_ROI, 0);
        u = p.a->urma;
        cq = core_table_get(&u->cqs, p.cq_a.id);
        *(commands ? &u->cmd.ci : &cq->ci) = ci;
        *(commands ? &u->cmd.pi : &cq->pi) =
            ci + (1u << (commands ? u->cmd.size : cq->log2)) + more;
        data = end_save(&p.ends, p.a, &len);
        g_assert_cmpint(!end_load(&p.ends, p.a, data, len), ==, more <= 0);
        pair_stop(&p);
    }
}

/* ---- queues that have something to do ---- */

/* Whoever leaves the list leaves the others in it, in their order, and whoever comes
 * next is behind them. */
static void test_list(void)
{
    enum { RINGING = 3 };

    for (unsigned gone = 0; gone < RINGING; gone++) {
        UrmaQueue *q[RINGING];
        Pair p;
        UbUrma *u;

        pair_start(&p, UB_TP_RTP, UB_ROI, 0);
        u = p.a->urma;
        for (unsigned i = 0; i < RINGING; i++) {
            UbqQueue made;

            ubq_queue_open(&made, &p.a->drv, &p.cq_a, &p.cq_a, UB_ROI, 0);
            q[i] = core_table_get(&u->queues, made.id);
        }
        g_assert_null(u->ringing.first);
        for (unsigned i = 0; i < RINGING; i++) {
            urma_queue_ring(q[i]);
        }
        urma_queue_unlist(q[gone]);
        urma_queue_ring(q[gone]);
        for (unsigned i = 0; i < RINGING; i++) {
            if (i != gone) {
                g_assert_true(urma_ring_take(&u->ringing) == q[i]);
            }
        }
        g_assert_true(urma_ring_take(&u->ringing) == q[gone]);
        g_assert_null(u->ringing.first);
        pair_stop(&p);
    }
}

/* ---- as many queues as there are numbers for ---- */

enum { ALL = 65536, SOME = 4096, BYTES_OF_QUEUE = 2048 };

static size_t heap(void)
{
    return mallinfo2().uordblks;
}

/* Each as a jetty: it sends, and receives by the entries of one queue that all share. */
static void jetties_make(UbqQueue *q, unsigned n, UbqCq *cq, uint32_t shared)
{
    uint64_t brk = q->d->brk;

    for (unsigned i = 0; i < n; i++) {
        q->d->brk = brk;        /* in turn each has this memory */
        q->sq_log2 = 2;
        ubq_queue_create(q, cq, cq, shared, UB_ROI, 0);
    }
}

static void test_all(void)
{
    unsigned made = 2, used = 0;
    uint8_t cmd[UBQ_CMD];
    size_t before, grown;
    UbqQueue q, rq;
    UbqCq cq;
    UbUrma *u;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    u = p.a->urma;
    u->cfg.queues = ALL;        /* as a device has them */
    ubq_cq_open(&cq, &p.a->drv, 10);
    ubq_queue_open(&rq, &p.a->drv, NULL, &cq, UB_ROI, 0);
    q = (UbqQueue){ .d = &p.a->drv };
    before = heap();
    while (made < ALL) {
        unsigned n = MIN(SOME, ALL - made);

        jetties_make(&q, n, &cq, rq.id);
        made += n;
        post(&q, UB_TA_WRITE, 0, p.local);
        used++;
        ends_run(&p.ends, SECOND);
        ubq_cq_expect(&cq, UBQ_STATUS_OK);
    }
    g_assert_cmpuint(u->n_queues, ==, ALL);
    grown = heap() - before;
    g_test_message("%zu bytes a queue", grown / ALL);
    g_assert_cmpuint(grown / ALL, <, BYTES_OF_QUEUE);
    /* There is no room for another, and what is there works. */
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_Q_SQ_LOG2] = 2;
    put_le64(cmd + UBQ_Q_SQ_BASE, q.sq);
    put_le32(cmd + UBQ_Q_SEND_CQ, cq.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_FULL);
    g_assert_cmpuint(used, ==, ALL / SOME);
    post(&q, UB_TA_WRITE, 0, p.local);
    ends_run(&p.ends, SECOND);
    ubq_cq_expect(&cq, UBQ_STATUS_OK);
    /* One goes, and there is room for one. */
    ubq_cmd_init(cmd, q.id, 0);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_QUEUE_DESTROY, cmd), ==,
                     UBQ_RESULT_OK);
    jetties_make(&q, 1, &cq, rq.id);
    g_assert_cmpuint(u->n_queues, ==, ALL);
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/bounds/entries", test_bound);
    g_test_add_func("/ub/urma/bounds/group-shared", test_group_shared);
    g_test_add_func("/ub/urma/bounds/image", test_image);
    g_test_add_func("/ub/urma/bounds/image-indices", test_image_indices);
    g_test_add_func("/ub/urma/bounds/list", test_list);
    g_test_add_func("/ub/urma/bounds/all-queues", test_all);
    return g_test_run();
}
