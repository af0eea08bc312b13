/*
 * What happens to jettys while messages go: guests that write nonsense, floods,
 * segments that go, reset, stop, migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ubc-eng.h"
#include "ub/tah.h"

#define BYTES 64u
#define MEMBERS 4u
#define DEPTH 16u           /* receive entries of a member */
#define MESSAGES (MEMBERS * DEPTH)

static unsigned command(Eng *e, unsigned opcode, uint32_t object, unsigned at,
                        uint32_t value)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, object, 0);
    put_le32(cmd + at, value);
    return ubq_command(&e->drv, opcode, cmd);
}

/* ---- A group of b, and messages of a to it ------------------------------------------- */

typedef struct Group {
    uint32_t id;
    UbqCq cq[MEMBERS];
    UbqQueue q[MEMBERS];
} Group;

static void group_open(Group *g, Eng *e)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_JG_POLICY] = UBQ_JG_ROUND_ROBIN;
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_JGROUP_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    g->id = get_le32(cmd + UBQ_CMD_OBJECT);
    for (unsigned i = 0; i < MEMBERS; i++) {
        ubq_cq_open(&g->cq[i], &e->drv, 6);
        g->q[i] = (UbqQueue){ .d = &e->drv, .rq_log2 = 4 };
        ubq_queue_create(&g->q[i], NULL, &g->cq[i], UBQ_NEW, UB_ROI, 0);
        g_assert_cmpuint(command(e, UBQ_OP_JGROUP_JOIN, g->q[i].id,
                                 UBQ_JG_GROUP, g->id), ==, UBQ_RESULT_OK);
    }
}

static void group_recv(Group *g, Eng *e)
{
    for (unsigned i = 0; i < MESSAGES; i++) {
        ubq_recv(&g->q[i % MEMBERS], e->room + i * BYTES, BYTES);
    }
}

/* Message @n of a has its number in all bytes. */
static void group_send(Eng *a, uint32_t group, unsigned n)
{
    uint8_t *s = ubq_sqe(&a->queue, 1);

    memset(a->drv.memory + a->room + n * BYTES, n + 1, BYTES);
    ubq_sqe_put(s, UB_TA_SEND | UBQ_SQE_GROUP, ENG_DEST, a->room + n * BYTES,
                BYTES);
    put_le32(s + UBQ_SQE_TARGET, group);
    ubq_post(&a->queue, s, 1);
}

static const uint8_t *cq_next(UbqCq *cq)
{
    const uint8_t *c = NULL;

    QUBC_WAIT((c = ubq_cq_poll(cq)));
    return c;
}

/* All of them came, each once, each member its share. */
static void group_check(Group *g, Eng *b)
{
    bool came[MESSAGES] = { false };

    for (unsigned i = 0; i < MESSAGES; i++) {
        const uint8_t *c = cq_next(&g->cq[i % MEMBERS]), *at;
        uint32_t entry = get_le32(c + UBQ_CQE_INDEX);

        g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le32(c + UBQ_CQE_BYTES), ==, BYTES);
        at = b->drv.memory + b->room + (entry * MEMBERS + i % MEMBERS) * BYTES;
        g_assert_cmpuint(at[0], >, 0);
        g_assert_cmpuint(at[0], <=, MESSAGES);
        g_assert_false(came[at[0] - 1]);
        came[at[0] - 1] = true;
        for (unsigned k = 1; k < BYTES; k++) {
            g_assert_cmpuint(at[k], ==, at[0]);
        }
    }
    for (unsigned i = 0; i < MEMBERS; i++) {
        g_assert_null(ubq_cq_poll(&g->cq[i]));
    }
}

/* ---- Migration ------------------------------------------------------------------------- */

static uint32_t import(Eng *e)
{
    UbqPeer peer = eng_peer(3 - e->n, 0);
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = UB_LPH_CNA24;
    cmd[UBQ_DST_WAY + UBQ_WAY_PORT] = 0xff;
    put_le32(cmd + UBQ_DST_WAY + UBQ_WAY_DCNA, peer.cna);
    cmd[UBQ_DST_CARRIER] = ENG_RTP;
    cmd[UBQ_DST_FORM] = 1;
    put_le16(cmd + UBQ_DST_MTU, 4096);
    put_le32(cmd + UBQ_DST_UPI, peer.upi);
    memcpy(cmd + UBQ_DST_DEID, peer.eid, 16);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_IMPORT, cmd), ==,
                     UBQ_RESULT_OK);
    return get_le32(cmd + UBQ_CMD_OBJECT);
}

/* A write by row @row of @e. */
static void write_by(Eng *e, uint32_t row)
{
    uint8_t *s = eng_sqe(e, UB_TA_WRITE, 0, BYTES, 1);

    put_le32(s + UBQ_SQE_DEST, row);
    ubq_post(&e->queue, s, 1);
    eng_complete(e, UBQ_STATUS_OK);
}

/* Group, import, limit and an armed completion queue move with what is under
 * way. */
static void test_migrate(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t row;
    EngPair p;
    Group g;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .props = ENG_SLOW_SETUP });
    group_open(&g, &p.b);
    group_recv(&g, &p.b);
    row = import(&p.b);
    g_assert_cmpuint(get_le32(eng_event(&p.b, UBQ_EVENT_IMPORTED) + 4), ==,
                     row);
    write_by(&p.b, row);
    eng_event(&p.a, UBQ_EVENT_CHANNEL_UP);
    ubq_cmd_init(cmd, g.q[2].id, UBQ_QM_RQ_LIMIT);
    put_le16(cmd + UBQ_Q_RQ_LIMIT, 1);
    g_assert_cmpuint(ubq_command(&p.b.drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_cmd_init(cmd, g.cq[1].id, 0);
    put_le16(cmd + UBQ_CQ_COUNT, DEPTH);
    g_assert_cmpuint(ubq_command(&p.b.drv, UBQ_OP_CQ_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_cq_arm(&g.cq[1], 2);
    /* Each packet is held, so that there is something under way to move. */
    eng_set_faults(&p.b, true, "'delay-ppm': 1000000, 'delay-us': 100000");
    for (unsigned i = 0; i < MESSAGES / 2; i++) {
        group_send(&p.a, g.id, i);
    }
    QUBC_WAIT(eng_counter(&p.b, "work", "receive-entries") > 0);
    eng_migrate(&p);
    for (unsigned i = MESSAGES / 2; i < MESSAGES; i++) {
        group_send(&p.a, g.id, i);
    }
    for (unsigned i = 0; i < MESSAGES; i++) {
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    group_check(&g, &p.b);
    /* One event of either kind, in whatever order. */
    for (unsigned i = 0, seen = 0; i < 2; i++) {
        const uint8_t *ev = NULL;
        bool limit;

        QUBC_WAIT((ev = ubq_eq_poll(&p.b.drv)));
        limit = (get_le32(ev) & UBQ_EQE_TYPE) << 8 != UBQ_EVENT_COMPLETION;
        g_assert_cmpuint(get_le32(ev + 4), ==,
                         limit ? g.q[2].id : g.cq[1].id);
        g_assert_false(seen & 1u << limit);
        seen |= 1u << limit;
    }
    g_assert_null(ubq_eq_poll(&p.b.drv));
    write_by(&p.b, row);
    g_assert_cmpuint(command(&p.b, UBQ_OP_DEST_CLEAR, row, 16, 0), ==,
                     UBQ_RESULT_IN_USE);
    g_assert_cmpuint(command(&p.b, UBQ_OP_UNIMPORT, row, 16, 0), ==,
                     UBQ_RESULT_OK);
    eng_write_read(&p, 65536, 7);
    eng_stop(&p);
}

/* ---- Stop, reset --------------------------------------------------------------------------- */

/* While the machine stands nothing of it moves; then all of it does. */
static void test_stop(void)
{
    EngPair p;
    Group g;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    group_open(&g, &p.b);
    group_recv(&g, &p.b);
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'stop' }");
    for (unsigned i = 0; i < MESSAGES; i++) {
        group_send(&p.a, g.id, i);
    }
    QUBC_WAIT(eng_counter(&p.a, "work", "send-entries") == MESSAGES);
    g_assert_null(ubq_cq_poll(&p.a.cq));
    for (unsigned i = 0; i < MEMBERS; i++) {
        g_assert_null(ubq_cq_poll(&g.cq[i]));
    }
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'cont' }");
    for (unsigned i = 0; i < MESSAGES; i++) {
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    group_check(&g, &p.b);
    eng_stop(&p);
}

static unsigned objects(Eng *e, const char *list)
{
    QDict *rsp = qtest_qmp(e->q->qts, "{ 'execute': 'query-ub-jettys' }");
    const QListEntry *at = qlist_first(qdict_get_qlist(rsp, "return"));
    unsigned n = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(qobject_to(QDict, qlist_entry_obj(at)),
                                        list), at) {
        n++;
    }
    qobject_unref(rsp);
    return n;
}

/* A reset in the middle leaves no object, no doorbell, no trace; what is made
 * then works. */
static void test_reset(void)
{
    EngPlan plan = { .carrier = ENG_RTP };
    EngPair p;
    Group g;

    eng_start(&p, &plan);
    group_open(&g, &p.b);
    group_recv(&g, &p.b);
    for (unsigned i = 0; i < MESSAGES; i++) {
        group_send(&p.a, g.id, i);
    }
    cq_next(&g.cq[0]);      /* not before it has begun */
    g_assert_cmpuint(objects(&p.b, "jettys"), ==, 1 + MEMBERS);
    for (unsigned i = 0; i < 2; i++) {
        Eng *e = i ? &p.a : &p.b;

        qubc_write(e->q, UBC_CTRL, UBC_CTRL_RESET);
        g_assert_cmpuint(objects(e, "jettys"), ==, 0);
        g_assert_cmpuint(objects(e, "jfcs"), ==, 0);
        g_assert_cmpuint(objects(e, "groups"), ==, 0);
        /* Nobody has these doorbells now. */
        e->drv.bell(e, 0, UBQ_BELL_SQ, e->queue.id | 64ull << 32);
        e->drv.bell(e, 0, UBQ_BELL_CQ, e->cq.id | 2ull << 48);
        eng_open(e, e->q, e->n);
    }
    eng_link_up(&p);
    eng_queue(&p.a, &plan);
    eng_queue(&p.b, &plan);
    group_open(&g, &p.b);
    group_recv(&g, &p.b);
    for (unsigned i = 0; i < MESSAGES; i++) {
        group_send(&p.a, g.id, i);
    }
    for (unsigned i = 0; i < MESSAGES; i++) {
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    group_check(&g, &p.b);
    g_assert_cmpuint(eng_counter(&p.b, "work", "doorbells-refused"), >, 0);
    eng_stop(&p);
}

/* ---- Segments that go (§8.2.1.1) ------------------------------------------------------------ */

/* Once SEGMENT_CLEAR is answered, nothing that was under way writes there. */
static void test_segment(void)
{
    unsigned result, late = 0;
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    eng_fill(&p.a, 65536, 1);
    for (unsigned i = 0; i < 40; i++) {
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 65536, 1), 1);
    }
    eng_complete(&p.a, UBQ_STATUS_OK);
    do {
        result = command(&p.b, UBQ_OP_SEGMENT_CLEAR, ENG_SEGMENT, 16, 0);
        g_assert_true(result == UBQ_RESULT_OK || result == UBQ_RESULT_STATE);
    } while (result != UBQ_RESULT_OK);
    memset(p.b.drv.memory + p.b.room, 0, 65536);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 65536, 1), 1);
    for (unsigned i = 0; i < 40; i++) {
        unsigned status = ubq_cqe_status(eng_next(&p.a));

        g_assert_true(status == UBQ_STATUS_OK ||
                      status == UBQ_STATUS_ABORT);
        late += status != UBQ_STATUS_OK;
    }
    g_assert_cmpuint(late, >, 0);
    for (unsigned i = 0; i < 65536; i++) {
        g_assert_cmphex(p.b.drv.memory[p.b.room + i], ==, 0);
    }
    eng_stop(&p);
}

/* ---- Floods (§8.2.7.3) ------------------------------------------------------------------------ */

static void message(Eng *e, UbqQueue *q, uint32_t target)
{
    uint8_t *s = ubq_sqe(q, 1);

    ubq_sqe_put(s, UB_TA_SEND, ENG_DEST, e->room, BYTES);
    put_le32(s + UBQ_SQE_TARGET, target);
    ubq_post(q, s, 1);
}

static unsigned ended(UbqCq *cq, unsigned n, unsigned other)
{
    unsigned good = 0;

    while (n--) {
        unsigned status = ubq_cqe_status(cq_next(cq));

        g_assert_true(status == UBQ_STATUS_OK || status == other);
        good += status == UBQ_STATUS_OK;
    }
    return good;
}

/* Two guests without receive entries send to each other all they can: what needs no
 * entry goes on, all that was sent ends, and with entries it arrives. */
static void test_flood(void)
{
    UbqQueue flood[2];
    UbqCq cq[2];
    EngPair p;
    Eng *end[] = { &p.a, &p.b };

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    for (unsigned i = 0; i < 2; i++) {
        ubq_cq_open(&cq[i], &end[i]->drv, 8);
        ubq_queue_open(&flood[i], &end[i]->drv, &cq[i], &cq[i], UB_ROI, 0);
    }
    g_assert_cmpuint(flood[0].id, ==, flood[1].id);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 2 * 60; i++) {
            message(end[i % 2], &flood[i % 2], flood[0].id);
        }
        eng_write_read_to(&p.a, &p.b, 65536, round);
        eng_write_read_to(&p.b, &p.a, 65536, round);
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpuint(ended(&cq[i], 60, UBQ_STATUS_RNR), ==, 0);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 30; k++) {
            ubq_recv(&flood[i], end[i]->room, BYTES);
        }
    }
    for (unsigned i = 0; i < 2 * 30; i++) {
        message(end[i % 2], &flood[i % 2], flood[0].id);
    }
    /* Those sent and those received. */
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(ended(&cq[i], 60, UBQ_STATUS_OK), ==, 60);
    }
    eng_stop(&p);
}

/* ---- A guest that writes nonsense --------------------------------------------------------------- */

static void noise(uint8_t *to, unsigned n, GRand *r)
{
    for (unsigned i = 0; i < n; i++) {
        to[i] = g_rand_int(r);
    }
}

/* One thing that no driver does; of its own queues @bad only. */
static void misuse(Eng *e, UbqQueue *bad, UbqCq *cq, GRand *r)
{
    uint64_t v = (uint64_t)g_rand_int(r) << 32 | g_rand_int(r);
    uint8_t cmd[UBQ_CMD], *s;

    switch (g_rand_int_range(r, 0, 5)) {
    case 0:                     /* doorbells of any page, queue, count */
        e->drv.bell(e, g_rand_int_range(r, 0, 256),
                    g_rand_int_range(r, 0, 8) * 8, v);
        break;
    case 1:                     /* of its own queue, too far */
        e->drv.bell(e, 0, g_rand_int_range(r, 0, 2) * 8,
                    bad->id | (v & ~0xfffffull));
        break;
    case 2:                     /* entries */
        s = ubq_sqe(bad, 1);
        noise(s, UBQ_BLOCK, r);
        put_le32(s + UBQ_SQE_DEST, g_rand_int_range(r, 8, 11));
        put_le32(s + UBQ_SQE_LENGTH, g_rand_int_range(r, 0, 20000));
        ubq_post(bad, s, 1);
        break;
    case 3:                     /* commands for what there is not */
        noise(cmd, UBQ_CMD, r);
        put_le32(cmd + UBQ_CMD_OBJECT, 100000 + (v & 0xffff));
        ubq_command(&e->drv, UBQ_OP_QUEUE_CREATE + g_rand_int_range(r, 0, 0x12),
                    cmd);
        break;
    default:                    /* what was broken is mended */
        while (ubq_cq_poll(cq)) {
            continue;
        }
        ubq_queue_state(bad, UBQ_STATE_RESET, UBQ_RESULT_OK);
        ubq_queue_state(bad, UBQ_STATE_READY, UBQ_RESULT_OK);
        break;
    }
}

/* Nothing of it is seen by other queues, here or there. */
static void test_hostile(void)
{
    GRand *r = g_rand_new_with_seed(24);
    EngPair p;
    UbqQueue bad;
    UbqCq cq;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    ubq_cq_open(&cq, &p.a.drv, 8);
    ubq_queue_open(&bad, &p.a.drv, &cq, &cq, UB_ROI, 0);
    for (unsigned i = 0; i < 2000; i++) {
        misuse(&p.a, &bad, &cq, r);
        if (i % 100 == 0) {
            eng_write_read(&p, 4096, i);
            eng_send_recv(&p, 4096);
        }
    }
    g_assert_cmpuint(eng_counter(&p.a, "work", "doorbells-refused"), >, 0);
    g_assert_cmpuint(eng_counter(&p.a, "work", "commands-failed"), >, 0);
    g_assert_cmpuint(eng_counter(&p.a, "work", "completions-in-error"), >, 0);
    g_assert_true(qubc_logged(p.a.q, "doorbell of a queue that is not of the "
                              "page"));
    eng_write_read(&p, 65536, 1);
    g_rand_free(r);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-jetty-life/migrate", test_migrate);
    qtest_add_func("/ubc-jetty-life/stop", test_stop);
    qtest_add_func("/ubc-jetty-life/reset", test_reset);
    qtest_add_func("/ubc-jetty-life/segment", test_segment);
    qtest_add_func("/ubc-jetty-life/flood", test_flood);
    qtest_add_func("/ubc-jetty-life/hostile", test_hostile);
    return g_test_run();
}
