/*
 * Jettys of two emulators over a real link: groups, imports, states and flush,
 * events, moderation, records in memory, bound pairs, and what the monitor says of
 * them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qjson.h"
#include "ubc-eng.h"
#include "ub/tah.h"

#define BYTES 64u
#define MEMBERS 4u
#define VECTOR 7            /* of event queue 0 */

/* ---- What all of them do --------------------------------------------------------- */

static void start(EngPair *p, unsigned carrier, unsigned mode, uint32_t flags)
{
    eng_start(p, &(EngPlan){ .carrier = carrier, .mode = mode,
                             .flags = flags });
}

static unsigned command(Eng *e, unsigned opcode, uint32_t object, uint32_t mask,
                        unsigned at, uint32_t value)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, object, mask);
    put_le32(cmd + at, value);
    return ubq_command(&e->drv, opcode, cmd);
}

static void modify(Eng *e, uint32_t queue, uint32_t mask, unsigned at,
                   uint32_t value)
{
    g_assert_cmpuint(command(e, UBQ_OP_QUEUE_MODIFY, queue, mask, at, value), ==,
                     UBQ_RESULT_OK);
}

static unsigned state_of(Eng *e, uint32_t queue)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, queue, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    return cmd[UBQ_Q_STATE];
}

/* A message by @q of @e to @target. */
static void send_by(Eng *e, UbqQueue *q, uint32_t target, uint32_t flags,
                    uint8_t hint)
{
    uint8_t *s = ubq_sqe(q, 1);

    ubq_sqe_put(s, UB_TA_SEND | UBQ_SQE_TOKEN | flags, ENG_DEST, e->room,
                BYTES);
    put_le32(s + UBQ_SQE_TARGET, target);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN);
    put_le32(s + UBQ_SQE_W5, hint << 8);
    ubq_post(q, s, 1);
}

static const uint8_t *cq_next(UbqCq *cq)
{
    const uint8_t *c = NULL;

    QUBC_WAIT((c = ubq_cq_poll(cq)));
    return c;
}

static void expect(UbqCq *cq, uint32_t queue, unsigned status)
{
    const uint8_t *c = cq_next(cq);

    g_assert_cmphex(ubq_cqe_status(c), ==, status);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_QUEUE), ==, queue);
}

/* An event of @object. */
static void expect_event(Eng *e, unsigned event, uint32_t object)
{
    g_assert_cmpuint(get_le32(eng_event(e, event) + 4), ==, object);
}

/* A member of an object as query-ub-jettys has it, as text; NULL: none. */
static char *jetty_of(Eng *e, const char *list, uint32_t number,
                      const char *key)
{
    QDict *rsp = qtest_qmp(e->q->qts, "{ 'execute': 'query-ub-jettys',"
                           " 'arguments': { 'device': 'ub0',"
                           " 'number': %u } }", number);
    const QListEntry *first = qlist_first(qdict_get_qlist(rsp, "return"));
    QDict *device = qobject_to(QDict, qlist_entry_obj(first));
    const QListEntry *at;
    char *value = NULL;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(device, list), at) {
        QDict *o = qobject_to(QDict, qlist_entry_obj(at));
        QObject *v = qdict_get(o, key);

        g_assert_cmpuint(qdict_get_int(o, "number"), ==, number);
        if (v) {
            GString *text = qobject_to_json(v);

            value = g_string_free(text, FALSE);
        }
    }
    qobject_unref(rsp);
    return value;
}

static void says(Eng *e, const char *list, uint32_t number, const char *key,
                 const char *want)
{
    g_autofree char *value = jetty_of(e, list, number, key);

    g_assert_cmpstr(value, ==, want);
}

static uint64_t empty_of(Eng *e)
{
    g_autofree char *value = jetty_of(e, "jettys", e->queue.id, "empty");

    return g_ascii_strtoull(value, NULL, 10);
}

/* ---- Groups (§8.2.2.1) --------------------------------------------------------------- */

typedef struct Group {
    Eng *e;
    uint32_t id;
    UbqCq cq[MEMBERS];
    UbqQueue q[MEMBERS];
} Group;

static void group_open(Group *g, Eng *e, unsigned policy)
{
    uint8_t cmd[UBQ_CMD];

    g->e = e;
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_JG_POLICY] = policy;
    put_le32(cmd + UBQ_JG_FLAGS, UBQ_Q_TOKEN);
    put_le32(cmd + UBQ_JG_TOKEN_VALUE, ENG_TOKEN);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_JGROUP_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    g->id = get_le32(cmd + UBQ_CMD_OBJECT);
    for (unsigned i = 0; i < MEMBERS; i++) {
        ubq_cq_open(&g->cq[i], &e->drv, 6);
        g->q[i] = (UbqQueue){ .d = &e->drv, .rq_log2 = 4 };
        ubq_queue_create(&g->q[i], NULL, &g->cq[i], UBQ_NEW, UB_ROI, 0);
        g_assert_cmpuint(command(e, UBQ_OP_JGROUP_JOIN, g->q[i].id, 0,
                                 UBQ_JG_GROUP, g->id), ==, UBQ_RESULT_OK);
    }
}

static void group_recv(Group *g, unsigned member, unsigned n)
{
    while (n--) {
        ubq_recv(&g->q[member], g->e->room + ENG_ROOM / 2, BYTES);
    }
}

/* A message of a to the group: who gets it. */
static unsigned group_send(Eng *a, Group *g, uint8_t hint)
{
    unsigned taker = MEMBERS;

    send_by(a, &a->queue, g->id, UBQ_SQE_GROUP, hint);
    eng_complete(a, UBQ_STATUS_OK);
    for (unsigned i = 0; i < MEMBERS; i++) {
        const uint8_t *c = ubq_cq_poll(&g->cq[i]);

        if (c) {
            g_assert_cmpuint(taker, ==, MEMBERS);
            g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_OK);
            g_assert_cmpuint(get_le32(c + UBQ_CQE_QUEUE), ==, g->q[i].id);
            taker = i;
        }
    }
    g_assert_cmpuint(taker, <, MEMBERS);
    return taker;
}

static void round_robin(Eng *a, Eng *b)
{
    static const uint8_t order[] = { 0, 1, 2, 3, 0, 1, 3, 0, 1, 3 };
    Group g;

    group_open(&g, b, UBQ_JG_ROUND_ROBIN);
    for (unsigned i = 0; i < MEMBERS; i++) {
        group_recv(&g, i, i == 2 ? 1 : 3);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        g_assert_cmpuint(group_send(a, &g, 77), ==, order[i]);
    }
    says(b, "groups", g.id, "policy", "\"round-robin\"");
    says(b, "groups", g.id, "live", "4");
    /* The last that could receive goes: the event of the group. */
    for (unsigned i = 0; i < MEMBERS; i++) {
        ubq_queue_state(&g.q[i], UBQ_STATE_ERROR, UBQ_RESULT_OK);
    }
    expect_event(b, UBQ_EVENT_GROUP_ERROR, g.id);
    says(b, "groups", g.id, "live", "0");
}

static void by_hint(Eng *a, Eng *b)
{
    unsigned of[MEMBERS], seen = 0;
    Group g;

    group_open(&g, b, UBQ_JG_HINT);
    for (unsigned i = 0; i < MEMBERS; i++) {
        group_recv(&g, i, 3);
    }
    for (unsigned i = 0; i < 3 * MEMBERS; i++) {
        unsigned taker = group_send(a, &g, 100 + i % MEMBERS);

        if (i < MEMBERS) {
            of[i] = taker;
            seen |= 1u << taker;
        }
        g_assert_cmpuint(taker, ==, of[i % MEMBERS]);
    }
    g_assert_cmphex(seen, ==, (1u << MEMBERS) - 1);
}

static void by_depth(Eng *a, Eng *b)
{
    static const uint8_t order[] = { 2, 1, 2, 0, 1, 2 };
    Group g;

    group_open(&g, b, UBQ_JG_DEPTH);
    for (unsigned i = 0; i < 3; i++) {
        group_recv(&g, i, i + 1);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        g_assert_cmpuint(group_send(a, &g, i), ==, order[i]);
    }
}

static void test_groups(void)
{
    EngPair p;

    start(&p, ENG_RTP, UB_ROI, 0);
    round_robin(&p.a, &p.b);
    by_hint(&p.a, &p.b);
    by_depth(&p.a, &p.b);
    eng_stop(&p);
}

/* ---- Imports ----------------------------------------------------------------------------- */

static void import_put(Eng *e, uint8_t cmd[UBQ_CMD], unsigned mode)
{
    UbqPeer peer = eng_peer(3 - e->n, 0);

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = UB_LPH_CNA24;
    cmd[UBQ_DST_WAY + UBQ_WAY_PORT] = 0xff;
    put_le32(cmd + UBQ_DST_WAY + UBQ_WAY_DCNA, peer.cna);
    cmd[UBQ_DST_CARRIER] = ENG_RTP;
    cmd[UBQ_DST_FORM] = 1;
    put_le16(cmd + UBQ_DST_MTU, 4096);
    put_le32(cmd + UBQ_DST_UPI, peer.upi);
    memcpy(cmd + UBQ_DST_DEID, peer.eid, 16);
    cmd[UBQ_IMP_MODE] = mode;
}

static uint32_t import(Eng *e, uint8_t cmd[UBQ_CMD], unsigned mode)
{
    import_put(e, cmd, mode);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_IMPORT, cmd), ==,
                     UBQ_RESULT_OK);
    return get_le32(cmd + UBQ_CMD_OBJECT);
}

/* A row and a channel made in band by one command, shared by the next, gone with
 * the last; messages go by it. */
static void test_import(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t row, tpn;
    const uint8_t *ev;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;
    uint8_t *s;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = ENG_SLOW_SETUP });
    row = import(a, cmd, UB_ROI);
    tpn = get_le32(cmd + UBQ_IMP_CHANNEL);
    g_assert_cmpuint(cmd[UBQ_IMP_STATE], ==, 1);
    ev = eng_event(a, UBQ_EVENT_IMPORTED);
    g_assert_cmpuint(get_le32(ev + 4), ==, row);
    g_assert_cmpuint(get_le32(ev + 12), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(import(a, cmd, UB_ROI), ==, row);
    g_assert_cmpuint(cmd[UBQ_IMP_STATE], ==, 0);
    g_assert_cmpuint(get_le32(cmd + UBQ_IMP_CHANNEL), ==, tpn);
    for (unsigned i = 0; i < 2; i++) {
        ubq_recv(&b->queue, b->room, ENG_ROOM);
        s = ubq_sqe(&a->queue, 1);
        ubq_sqe_put(s, UB_TA_SEND, row, a->room, 20000);
        put_le32(s + UBQ_SQE_TARGET, b->queue.id);
        eng_fill(a, 20000, i);
        ubq_post(&a->queue, s, 1);
        eng_complete(a, UBQ_STATUS_OK);
        eng_complete(b, UBQ_STATUS_OK);
        eng_check(b, 20000, i);
        /* While it is imported, neither row nor channel is anybody else's. */
        g_assert_cmpuint(command(a, UBQ_OP_DEST_CLEAR, row, 0, 16, 0), !=,
                         UBQ_RESULT_OK);
        g_assert_cmpuint(command(a, UBQ_OP_CHANNEL_DESTROY, tpn, 0, 16, 0), !=,
                         UBQ_RESULT_OK);
        g_assert_cmpuint(command(a, UBQ_OP_UNIMPORT, row, 0, 16, 0), ==,
                         UBQ_RESULT_OK);
    }
    g_assert_cmpuint(command(a, UBQ_OP_UNIMPORT, row, 0, 16, 0), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(command(a, UBQ_OP_DEST_QUERY, row, 0, 16, 0), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(command(a, UBQ_OP_CHANNEL_QUERY, tpn, 0, 16, 0), ==,
                     UBQ_RESULT_NO_OBJECT);
    eng_stop(&p);
}

/* ---- States (§8.2.2.3) ------------------------------------------------------------------- */

/* Nobody hears a queue in Reset or Error: no answer, no trace; the transport has
 * acknowledged it all the same. */
static void unheard(EngPair *p, unsigned state)
{
    UbqQueue q;
    UbqCq cq;

    ubq_cq_open(&cq, &p->b.drv, 6);
    ubq_queue_open(&q, &p->b.drv, &cq, &cq, UB_ROI, 0);
    ubq_recv(&q, p->b.room, BYTES);
    ubq_queue_state(&q, state, UBQ_RESULT_OK);
    if (state == UBQ_STATE_ERROR) {
        expect(&cq, q.id, UBQ_STATUS_FLUSHED);
    }
    send_by(&p->a, &p->a.queue, q.id, 0, 0);
    /* What a posted behind it has come, and been answered. */
    ubq_post(&p->a.queue, eng_sqe(&p->a, UB_TA_WRITE, 0, BYTES, 1), 1);
    eng_complete(&p->a, UBQ_STATUS_OK);
    says(&p->a, "jettys", p->a.queue.id, "requests", "1");
    says(&p->b, "jettys", q.id, "empty", "0");
    says(&p->b, "jettys", q.id, "denied", "0");
    g_assert_null(ubq_cq_poll(&cq));
    g_assert_null(ubq_cq_poll(&p->a.cq));
    /* The request is given back when its queue is flushed. */
    ubq_queue_state(&p->a.queue, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    expect(&p->a.cq, p->a.queue.id, UBQ_STATUS_FLUSHED);
    ubq_queue_state(&p->a.queue, UBQ_STATE_RESET, UBQ_RESULT_OK);
    ubq_queue_state(&p->a.queue, UBQ_STATE_READY, UBQ_RESULT_OK);
}

static void test_unheard(void)
{
    EngPair p;

    start(&p, ENG_RTP, UB_ROI, 0);
    unheard(&p, UBQ_STATE_RESET);
    unheard(&p, UBQ_STATE_ERROR);
    eng_send_recv(&p, 4096);
    eng_stop(&p);
}

static void foreign_write(Eng *e)
{
    uint8_t *s = eng_sqe(e, UB_TA_WRITE, 0, BYTES, 1);

    put_le32(s + UBQ_SQE_TOKEN_VALUE, ~ENG_TOKEN);
    ubq_post(&e->queue, s, 1);
}

/* Exception mode suspend: an error stops the queue, which still receives; what
 * was not begun waits, is drained, or goes on. */
static void test_suspend(void)
{
    EngPair p;
    Eng *a = &p.a;

    start(&p, ENG_RTP, UB_ROI, UBQ_Q_SUSPEND | UBQ_Q_DONE);
    foreign_write(a);
    expect(&a->cq, a->queue.id, UBQ_STATUS_ABORT);
    expect(&a->cq, a->queue.id, UBQ_STATUS_SUSPEND_DONE);
    expect_event(a, UBQ_EVENT_QUEUE_STATE, a->queue.id);
    g_assert_cmpuint(state_of(a, a->queue.id), ==, UBQ_STATE_SUSPENDED);
    says(a, "jettys", a->queue.id, "state", "\"suspended\"");
    says(a, "jettys", a->queue.id, "suspends", "true");
    ubq_recv(&a->queue, a->room, BYTES);
    send_by(&p.b, &p.b.queue, a->queue.id, 0, 0);
    eng_complete(&p.b, UBQ_STATUS_OK);
    expect(&a->cq, a->queue.id, UBQ_STATUS_OK);
    for (unsigned i = 0; i < 3; i++) {
        ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, BYTES, 1), 1);
    }
    modify(a, a->queue.id, UBQ_QM_DRAIN, 16, 0);
    for (unsigned i = 0; i < 3; i++) {
        expect(&a->cq, a->queue.id, UBQ_STATUS_FLUSHED);
    }
    says(a, "jettys", a->queue.id, "flushed", "3");
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, BYTES, 1), 1);
    ubq_queue_state(&a->queue, UBQ_STATE_READY, UBQ_RESULT_OK);
    expect(&a->cq, a->queue.id, UBQ_STATUS_OK);
    /* Both ways of it are flushed in Error, and then it says so. */
    foreign_write(a);
    expect(&a->cq, a->queue.id, UBQ_STATUS_ABORT);
    expect(&a->cq, a->queue.id, UBQ_STATUS_SUSPEND_DONE);
    ubq_recv(&a->queue, a->room, BYTES);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, BYTES, 1), 1);
    ubq_queue_state(&a->queue, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    expect(&a->cq, a->queue.id, UBQ_STATUS_FLUSHED);
    expect(&a->cq, a->queue.id, UBQ_STATUS_FLUSHED);
    expect(&a->cq, a->queue.id, UBQ_STATUS_FLUSH_DONE);
    ubq_queue_state(&a->queue, UBQ_STATE_READY, UBQ_RESULT_STATE);
    eng_stop(&p);
}

/* Exception mode continue: each error is told, the queue goes on. */
static void test_continue(void)
{
    EngPair p;

    start(&p, ENG_RTP, UB_ROI, UBQ_Q_IN_ORDER);
    for (unsigned i = 0; i < 3; i++) {
        foreign_write(&p.a);
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, BYTES, 1), 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        eng_complete(&p.a, UBQ_STATUS_ABORT);
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    g_assert_cmpuint(state_of(&p.a, p.a.queue.id), ==, UBQ_STATE_READY);
    says(&p.a, "jettys", p.a.queue.id, "failed", "3");
    says(&p.a, "jettys", p.a.queue.id, "done", "3");
    says(&p.a, "jfcs", p.a.cq.id, "failed", "3");
    eng_stop(&p);
}

/* ---- Tries -------------------------------------------------------------------------------- */

/* A message to a queue without entries ends when it was sent so often, or waits for one
 * for as long as it takes. */
static void test_tries(void)
{
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    start(&p, ENG_RTP, UB_ROI, 0);
    says(a, "jettys", a->queue.id, "tries", "0");
    says(a, "jettys", a->queue.id, "ack-timeout", "0");
    modify(a, a->queue.id, UBQ_QM_TRIES, UBQ_Q_TRIES, 3);
    says(a, "jettys", a->queue.id, "tries", "3");
    send_by(a, &a->queue, b->queue.id, 0, 0);
    eng_complete(a, UBQ_STATUS_RNR);
    says(b, "jettys", b->queue.id, "empty", "3");
    modify(a, a->queue.id, UBQ_QM_TRIES, UBQ_Q_TRIES, 0xff);
    send_by(a, &a->queue, b->queue.id, 0, 0);
    /* Thirteen times at least: more than any device does by itself. */
    QUBC_WAIT(empty_of(b) > 16);
    g_assert_null(ubq_cq_poll(&a->cq));
    ubq_recv(&b->queue, b->room, BYTES);
    eng_complete(a, UBQ_STATUS_OK);
    modify(a, a->queue.id, UBQ_QM_TRIES, UBQ_Q_ACK_TIMEOUT, 2);
    says(a, "jettys", a->queue.id, "ack-timeout", "1000");
    g_assert_cmpuint(command(a, UBQ_OP_QUEUE_MODIFY, a->queue.id, UBQ_QM_TRIES,
                             UBQ_Q_ACK_TIMEOUT, 5), ==, UBQ_RESULT_PARAMETER);
    eng_stop(&p);
}

/* ---- Events (§10.6.2.2.3) ---------------------------------------------------------------- */

static void moderate(Eng *e, UbqCq *cq, unsigned count, unsigned period)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, cq->id, 0);
    put_le16(cmd + UBQ_CQ_COUNT, count);
    put_le32(cmd + UBQ_CQ_PERIOD, period);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CQ_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
}

static void write_one(Eng *a, uint32_t flags)
{
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, flags, BYTES, 1), 1);
    eng_complete(a, UBQ_STATUS_OK);
}

/* One event for so many completions; solicited ones and errors do not wait for the
 * rest; a period ends the waiting. */
static void test_moderation(void)
{
    EngPair p;
    Eng *a = &p.a;

    start(&p, ENG_RTP, UB_ROI, 0);
    qubc_msix(a->q, 1, false);
    qubc_write(a->q, UBQ_EQ(0) + UBQ_EQ_ARM, a->drv.eq_ci);
    moderate(a, &a->cq, 3, 0);
    ubq_cq_arm(&a->cq, 2);
    says(a, "jfcs", a->cq.id, "armed", "\"next\"");
    write_one(a, 0);
    write_one(a, 0);
    g_assert_cmpuint(qubc_read(a->q, UBQ_EQ(0) + UBQ_EQ_PI), ==, 0);
    g_assert_false(qubc_irq(a->q, VECTOR));
    write_one(a, 0);
    expect_event(a, UBQ_EVENT_COMPLETION, a->cq.id);
    QUBC_WAIT(qubc_irq(a->q, VECTOR));
    says(a, "jfcs", a->cq.id, "armed", "\"no\"");
    /* The first one, if it is solicited or bad. */
    for (unsigned i = 0; i < 2; i++) {
        ubq_cq_arm(&a->cq, 2);
        if (i) {
            foreign_write(a);
            eng_complete(a, UBQ_STATUS_ABORT);
        } else {
            write_one(a, UBQ_SQE_EVENT);
        }
        expect_event(a, UBQ_EVENT_COMPLETION, a->cq.id);
    }
    ubq_cq_arm(&a->cq, 1);
    write_one(a, 0);
    write_one(a, 0);
    write_one(a, 0);
    says(a, "jfcs", a->cq.id, "armed", "\"solicited\"");
    foreign_write(a);
    eng_complete(a, UBQ_STATUS_ABORT);
    expect_event(a, UBQ_EVENT_COMPLETION, a->cq.id);
    /* A peer solicits it, too. */
    ubq_cq_arm(&a->cq, 1);
    ubq_recv(&a->queue, a->room, BYTES);
    send_by(&p.b, &p.b.queue, a->queue.id, UBQ_SQE_SOLICITED, 0);
    eng_complete(a, UBQ_STATUS_OK);
    expect_event(a, UBQ_EVENT_COMPLETION, a->cq.id);
    /* Fewer than the count, but a millisecond has passed. */
    moderate(a, &a->cq, 1000, 1000);
    ubq_cq_arm(&a->cq, 2);
    write_one(a, 0);
    expect_event(a, UBQ_EVENT_COMPLETION, a->cq.id);
    g_assert_null(ubq_eq_poll(&a->drv));
    eng_stop(&p);
}

/* Faults of queues. */
static void queue_events(Eng *a, Eng *b)
{
    UbqQueue q;
    UbqCq cq;

    ubq_cq_open(&cq, &b->drv, 4);
    ubq_queue_open(&q, &b->drv, &cq, &cq, UB_ROI, 0);
    /* Receive entries run low. */
    ubq_recv(&q, b->room, BYTES);
    ubq_recv(&q, b->room, BYTES);
    modify(b, q.id, UBQ_QM_RQ_LIMIT, UBQ_Q_RQ_LIMIT, 2);
    says(b, "jettys", q.id, "receive-limit", "2");
    says(b, "jettys", q.id, "receive-low", "false");
    send_by(a, &a->queue, q.id, 0, 0);
    eng_complete(a, UBQ_STATUS_OK);
    expect_event(b, UBQ_EVENT_RQ_LIMIT, q.id);
    says(b, "jettys", q.id, "receive-low", "true");
    modify(b, q.id, UBQ_QM_RQ_LIMIT, UBQ_Q_RQ_LIMIT, 0);
    /* A completion queue that nobody reads. */
    for (unsigned i = 0; i < 16; i++) {
        ubq_recv(&q, b->room, BYTES);
        send_by(a, &a->queue, q.id, 0, 0);
        eng_complete(a, UBQ_STATUS_OK);
    }
    expect_event(b, UBQ_EVENT_JFC_CHECK, cq.id);
    says(b, "jfcs", cq.id, "stopped", "true");
    /* An entry that is not the device's. */
    b->drv.bell(b, 0, UBQ_BELL_SQ, q.id | 1ull << 32);
    expect_event(b, UBQ_EVENT_JFS_CHECK, q.id);
    expect_event(b, UBQ_EVENT_QUEUE_STATE, q.id);
    says(b, "jettys", q.id, "state", "\"error\"");
}

/* A receive queue where no memory is. */
static void broken_receive(Eng *a, Eng *b)
{
    uint8_t cmd[UBQ_CMD];
    UbqQueue q = { .d = &b->drv };

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    put_le64(cmd + UBQ_Q_RQ_BASE, QUBC_NOWHERE);
    cmd[UBQ_Q_RQ_LOG2] = 4;
    put_le32(cmd + UBQ_Q_RECV_CQ, b->cq.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    g_assert_cmpuint(ubq_command(&b->drv, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    q.id = get_le32(cmd + UBQ_CMD_OBJECT);
    ubq_queue_state(&q, UBQ_STATE_READY, UBQ_RESULT_OK);
    b->drv.bell(b, 0, UBQ_BELL_RQ, q.id | 1ull << 32);
    send_by(a, &a->queue, q.id, 0, 0);
    eng_complete(a, UBQ_STATUS_ABORT);
    expect_event(b, UBQ_EVENT_RQ_ERROR, q.id);
    expect_event(b, UBQ_EVENT_QUEUE_STATE, q.id);
    expect(&b->cq, q.id, UBQ_STATUS_FLUSHED);
}

/* Faults of the device, for who asks for them. */
static void device_events(EngPair *p)
{
    uint8_t cmd[UBQ_CMD], *nop;
    Eng *b = &p->b;
    UbqQueue q;
    UbqCq cq;

    qubc_write(b->q, UBQ_EQ(0) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
    qubc_cfg_write(b->q, UB_CFG0_EID, 77);
    expect_event(b, UBQ_EVENT_EID, 0);
    qubc_port_write(b->q, 0, UBC_PORT_CTRL, 0);
    expect_event(b, UBQ_EVENT_PORT_DOWN, 0);
    qubc_port_write(b->q, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    expect_event(b, UBQ_EVENT_PORT_UP, 0);
    /* Nothing is under way: what would be seen of the cable is Null Blocks. */
    qubc_inject_all(p->a.q, 0, "'cut': true");
    expect_event(b, UBQ_EVENT_PORT_DOWN, 0);
    qubc_inject_all(p->a.q, 0, "");
    expect_event(b, UBQ_EVENT_PORT_UP, 0);
    /* An event queue where no memory is, which an event is for. */
    qubc_write(b->q, UBQ_EQ(1) + UBQ_EQ_BASE_HI, QUBC_NOWHERE >> 32);
    qubc_write(b->q, UBQ_EQ(1) + UBQ_EQ_SIZE, 4);
    qubc_write(b->q, UBQ_EQ(1) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE);
    cq = (UbqCq){ .d = &b->drv, .log2 = 4,
                  .base = ubq_alloc(&b->drv, 16 * UBQ_CQE, UBQ_CQE) };
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    put_le64(cmd + UBQ_CQ_BASE, cq.base);
    cmd[UBQ_CQ_LOG2] = cq.log2;
    put_le16(cmd + UBQ_CQ_EQ, 1);
    g_assert_cmpuint(ubq_command(&b->drv, UBQ_OP_CQ_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    cq.id = get_le32(cmd + UBQ_CMD_OBJECT);
    ubq_queue_open(&q, &b->drv, &cq, NULL, UB_ROI, 0);
    ubq_cq_arm(&cq, 2);
    nop = ubq_sqe(&q, 1);
    ubq_sqe_put(nop, UBQ_OP_NOP, 0, 0, 0);
    ubq_post(&q, nop, 1);
    expect_event(b, UBQ_EVENT_FATAL, 1);
    g_assert_cmphex(qubc_read(b->q, UBQ_EQ(1) + UBQ_EQ_CTRL), ==,
                    UBQ_EQ_ERROR);
}

static void test_events(void)
{
    EngPair p;

    start(&p, ENG_RTP, UB_ROI, 0);
    queue_events(&p.a, &p.b);
    broken_receive(&p.a, &p.b);
    eng_write_read(&p, 4096, 1);
    device_events(&p);
    eng_stop(&p);
}

/* ---- Records in memory ------------------------------------------------------------------- */

/* Neither entries nor blocks are rung for, but for a queue that sleeps. */
static void test_record(void)
{
    uint8_t cmd[UBQ_CMD];
    uint64_t at;
    EngPair p;
    UbqQueue q;
    UbqCq cq;
    Eng *b = &p.b;

    start(&p, ENG_RTP, UB_ROI, 0);
    at = ubq_alloc(&b->drv, 8, 8);
    ubq_cq_open(&cq, &b->drv, 6);
    q = (UbqQueue){ .d = &b->drv, .rq_log2 = 4, .sq_log2 = 4,
                    .rq = ubq_alloc(&b->drv, 16 * UBQ_ELEMENT, 64),
                    .sq = ubq_alloc(&b->drv, 16 * UBQ_BLOCK, 64) };
    put_le64(b->drv.memory + at, 0);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    put_le64(cmd + UBQ_Q_SQ_BASE, q.sq);
    put_le64(cmd + UBQ_Q_RQ_BASE, q.rq);
    cmd[UBQ_Q_SQ_LOG2] = cmd[UBQ_Q_RQ_LOG2] = 4;
    put_le32(cmd + UBQ_Q_SEND_CQ, cq.id);
    put_le32(cmd + UBQ_Q_RECV_CQ, cq.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    put_le64(cmd + UBQ_Q_RECORD, at);
    g_assert_cmpuint(ubq_command(&b->drv, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    q.id = get_le32(cmd + UBQ_CMD_OBJECT);
    ubq_queue_state(&q, UBQ_STATE_READY, UBQ_RESULT_OK);
    says(b, "jettys", q.id, "record", "true");
    for (unsigned i = 0; i < 40; i++) {
        uint8_t *e = b->drv.memory + q.rq + i % 16 * UBQ_ELEMENT;

        put_le64(e, b->room);
        put_le32(e + 8, BYTES);
        qatomic_store_release((uint16_t *)(b->drv.memory + at + 4), i + 1);
        send_by(&p.a, &p.a.queue, q.id, 0, 0);
        eng_complete(&p.a, UBQ_STATUS_OK);
        expect(&cq, q.id, UBQ_STATUS_OK);
    }
    says(b, "jettys", q.id, "empty", "0");
    says(b, "jettys", q.id, "receive-posted", "40");
    /* One doorbell for the first of three blocks. */
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *s = ubq_sqe(&q, 1);

        ubq_sqe_put(s, UB_TA_WRITE | UBQ_SQE_OWNER | UBQ_SQE_TOKEN, ENG_DEST,
                    b->room, BYTES);
        put_le32(s + UBQ_SQE_TARGET, ENG_SEGMENT);
        put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN);
        put_le64(s + UBQ_SQE_ADDR, ENG_UBA);
        q.sq_pi++;
    }
    qatomic_store_release((uint16_t *)(b->drv.memory + at), 3);
    b->drv.bell(b, 0, UBQ_BELL_SQ, q.id | 1ull << 32);
    for (unsigned i = 0; i < 3; i++) {
        expect(&cq, q.id, UBQ_STATUS_OK);
    }
    says(b, "jettys", q.id, "send-done", "3");
    /* More than it has is no record. */
    put_le16(b->drv.memory + at, 3 + 17);
    b->drv.bell(b, 0, UBQ_BELL_SQ, q.id | 3ull << 32);
    QUBC_WAIT(eng_counter(b, "work", "doorbells-refused") > 0);
    eng_write_read(&p, 4096, 1);
    eng_stop(&p);
}

/* ---- Who may talk to whom (§8.2.2.2, §8.2.5) --------------------------------------------- */

static void test_pairs(void)
{
    uint8_t cmd[UBQ_CMD];
    UbqPeer peer = eng_peer(1, 0);
    UbqQueue other, known;
    UbqCq cq;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    start(&p, ENG_RTP, UB_ROL, 0);
    /* Many to one. */
    ubq_queue_open(&other, &a->drv, &a->cq, &a->cq, UB_ROL, 0);
    g_assert_cmpuint(other.id, >=, 1024);
    for (unsigned i = 0; i < 4; i++) {
        UbqQueue *q = i % 2 ? &other : &a->queue;
        const uint8_t *c;

        ubq_recv(&b->queue, b->room, BYTES);
        send_by(a, q, b->queue.id, 0, 0);
        expect(&a->cq, q->id, UBQ_STATUS_OK);
        c = eng_complete(b, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le32(c + UBQ_CQE_REMOTE), ==, q->id);
    }
    /* One to one: others are refused, and take no entry. */
    ubq_recv(&b->queue, b->room, BYTES);
    ubq_cmd_init(cmd, b->queue.id, UBQ_QM_BOUND);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_BOUND);
    put_le32(cmd + UBQ_Q_REMOTE, a->queue.id);
    memcpy(cmd + UBQ_Q_REMOTE_EID, peer.eid, 16);
    g_assert_cmpuint(ubq_command(&b->drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    send_by(a, &other, b->queue.id, 0, 0);
    expect(&a->cq, other.id, UBQ_STATUS_ABORT);
    says(b, "jettys", b->queue.id, "denied", "1");
    says(b, "jettys", b->queue.id, "remote-eid",
         "\"00000000000000000000000000000001\"");
    send_by(a, &a->queue, b->queue.id, 0, 0);
    expect(&a->cq, a->queue.id, UBQ_STATUS_OK);
    eng_complete(b, UBQ_STATUS_OK);
    /* A well-known number is made when it is asked for, once. */
    ubq_cq_open(&cq, &b->drv, 4);
    ubq_cmd_init(cmd, 33, 0);
    known = (UbqQueue){ .d = &b->drv, .id = 33, .rq_log2 = 4,
                        .rq = ubq_alloc(&b->drv, 16 * UBQ_ELEMENT, 64) };
    put_le64(cmd + UBQ_Q_RQ_BASE, known.rq);
    cmd[UBQ_Q_RQ_LOG2] = 4;
    cmd[UBQ_Q_MODE] = UB_ROL;
    put_le32(cmd + UBQ_Q_RECV_CQ, cq.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    for (unsigned i = 0; i < 2; i++) {
        put_le32(cmd + UBQ_CMD_OBJECT, 33);
        g_assert_cmpuint(ubq_command(&b->drv, UBQ_OP_QUEUE_CREATE, cmd), ==,
                         i ? UBQ_RESULT_IN_USE : UBQ_RESULT_OK);
    }
    ubq_queue_state(&known, UBQ_STATE_READY, UBQ_RESULT_OK);
    ubq_recv(&known, b->room, BYTES);
    send_by(a, &a->queue, 33, 0, 0);
    expect(&a->cq, a->queue.id, UBQ_STATUS_OK);
    expect(&cq, 33, UBQ_STATUS_OK);
    eng_stop(&p);
}

/* ---- What is said of them ---------------------------------------------------------------- */

/* Of CFG1_CAP2_JETTY (§D.4.2): 8 * 2^n. */
static uint32_t objects(uint32_t reg, uint32_t mask)
{
    return 8u << UB_SPACE_GET(mask, reg);
}

static void test_views(void)
{
    uint32_t reg, at = UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_JETTY);
    g_autofree char *text = NULL, *none = NULL;
    uint8_t cmd[UBQ_CMD];
    EngPair p;
    Eng *a = &p.a;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .flags = UBQ_Q_SUSPEND,
                              .more = "-trace ubc_queue_*" });
    ubq_cmd_init(cmd, 0, 0);
    g_assert_cmpuint(ubq_command(&a->drv, UBQ_OP_CAPS, cmd), ==, UBQ_RESULT_OK);
    reg = qubc_cfg_read(a->q, at + UB_JETTY_JETTY);
    g_assert_cmphex(qubc_cfg_read(a->q, at + UB_JETTY_HEADER), ==, 0x20);
    g_assert_cmpuint(UB_SPACE_GET(UB_JETTY_JETTY__EVENT_QUEUE_NUMBER, reg), ==,
                     get_le32(cmd + UBQ_CAP_EQS));
    g_assert_cmpuint(objects(reg, UB_JETTY_JETTY__JFR_MAX_NUMBER), ==,
                     get_le32(cmd + UBQ_CAP_QUEUES));
    g_assert_cmpuint(objects(reg, UB_JETTY_JETTY__JFS_AND_JETTY_MAX_NUMBER), ==,
                     get_le32(cmd + UBQ_CAP_QUEUES));
    g_assert_cmpuint(objects(reg, UB_JETTY_JETTY__JFC_MAX_NUMBER), ==,
                     get_le32(cmd + UBQ_CAP_CQS));
    qubc_cfg_write(a->q, at + UB_JETTY_JETTY, 0);       /* read only */
    g_assert_cmphex(qubc_cfg_read(a->q, at + UB_JETTY_JETTY), ==, reg);

    eng_write_read(&p, 4096, 1);
    eng_send_recv(&p, 4096);
    foreign_write(a);
    eng_complete(a, UBQ_STATUS_ABORT);
    says(a, "jettys", a->queue.id, "send-depth", "64");
    says(a, "jettys", a->queue.id, "send-posted", "4");
    says(a, "jettys", a->queue.id, "done", "3");
    says(&p.b, "jettys", p.b.queue.id, "done", "1");
    says(&p.b, "jettys", p.b.queue.id, "receive-done", "1");
    says(a, "jfcs", a->cq.id, "depth", "256");
    says(a, "jfcs", a->cq.id, "users", "2");
    says(a, "jfcs", a->cq.id, "written", "4");
    none = jetty_of(a, "jettys", 4711, "number");
    g_assert_null(none);
    qobject_unref(qtest_qmp_assert_failure_ref(
        a->q->qts, "{ 'execute': 'query-ub-jettys',"
        " 'arguments': { 'device': 'ub7' } }"));
    text = qtest_hmp(a->q->qts, "info ub-jettys ub0");
    g_assert_nonnull(strstr(text, "jetty 1024 (roi): suspended, send 4 of 4 "
                            "(depth 64)"));
    g_assert_nonnull(strstr(text, "done 3, failed 1, flushed 0"));
    g_assert_nonnull(strstr(text, "armed no, failed 1"));
    /* What the trace has of it. */
    g_assert_true(qubc_logged(a->q, "ub0 queue 1024: Reset -> Ready"));
    g_assert_true(qubc_logged(a->q, "ub0 queue 1024: Ready -> Suspended"));
    g_assert_true(qubc_logged(a->q, "ub0 queue 1024 begins entry 3"));
    g_assert_true(qubc_logged(a->q, "ub0 queue 1024: completion in 0, status "
                              "0x0302"));
    g_assert_true(qubc_logged(p.b.q, "ub0 queue 1024: a message takes entry 0 "
                              "of queue 1024"));
    g_assert_true(qubc_logged(a->q, "ub0 event queue 0: event 0x1101 of 1024"));
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-jetty/groups", test_groups);
    qtest_add_func("/ubc-jetty/import", test_import);
    qtest_add_func("/ubc-jetty/unheard", test_unheard);
    qtest_add_func("/ubc-jetty/suspend", test_suspend);
    qtest_add_func("/ubc-jetty/continue", test_continue);
    qtest_add_func("/ubc-jetty/tries", test_tries);
    qtest_add_func("/ubc-jetty/moderation", test_moderation);
    qtest_add_func("/ubc-jetty/events", test_events);
    qtest_add_func("/ubc-jetty/record", test_record);
    qtest_add_func("/ubc-jetty/pairs", test_pairs);
    qtest_add_func("/ubc-jetty/views", test_views);
    return g_test_run();
}
