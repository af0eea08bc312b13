/*
 * The transaction engine where packets between its floors and the link are lost,
 * doubled, delayed, overtaken and changed: the promise of each transport.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "qapi/error.h"
#include "qobject/qjson.h"
#include "ub/tah.h"

/* Of everything, both ways at both ends. */
#define ALL_FAULTS "'drop-ppm': 20000, 'duplicate-ppm': 20000, " \
                   "'reorder-ppm': 20000, 'corrupt-ppm': 20000, " \
                   "'delay-ppm': 20000, 'delay-us': 3000"
/* Time-outs of RTP, whose repetitions the transaction layer has to wait for: they take
 * as long as the host likes. */
#define RESENT "tp-time-floor=20000"
/* The transaction layer's time-out, which no packet on its way is to meet. */
#define TIMEOUT_NS (65 * 1000000000ll)

static void bad_network(EngPair *p)
{
    eng_set_faults(&p->a, true, ALL_FAULTS ", 'seed': 1");
    eng_set_faults(&p->a, false, ALL_FAULTS ", 'seed': 2");
    eng_set_faults(&p->b, true, ALL_FAULTS ", 'seed': 3");
    eng_set_faults(&p->b, false, ALL_FAULTS ", 'seed': 4");
}

static void good_network(EngPair *p)
{
    eng_set_faults(&p->a, true, "");
    eng_set_faults(&p->a, false, "");
    eng_set_faults(&p->b, true, "");
    eng_set_faults(&p->b, false, "");
}

static void post_send(Eng *a, const Eng *b, uint32_t len, uint64_t imm)
{
    uint8_t *s = ubq_sqe(&a->queue, 1);

    ubq_sqe_put(s, UB_TA_SEND_IMM, ENG_DEST, a->room, len);
    put_le32(s + UBQ_SQE_TARGET, b->queue.id);
    put_le64(s + UBQ_SQE_IMM, imm);
    ubq_post(&a->queue, s, 1);
}

static void post_add(Eng *a)
{
    uint8_t *s = eng_sqe(a, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);

    put_le64(s + UBQ_BLOCK, 1);
    ubq_post(&a->queue, s, 2);
}

/* Messages come in the order in which they were sent, each once; atomics are
 * executed once; data are whole. */
static void exactly_once(unsigned cfg)
{
    const unsigned n = 200;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .cfg = cfg,
                              .flags = UBQ_Q_IN_ORDER, .props = RESENT });
    bad_network(&p);
    for (unsigned i = 0; i < 4; i++) {
        eng_write_read(&p, 100000, i);
    }
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *c;

        ubq_recv(&b->queue, b->room + 8192, 8192);
        post_send(a, b, 5000, i);
        eng_complete(a, UBQ_STATUS_OK);
        c = eng_complete(b, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le64(c + UBQ_CQE_IMMEDIATE), ==, i);
    }
    put_le64(b->drv.memory + b->room, 0);
    for (unsigned i = 0; i < n; i++) {
        post_add(a);
        eng_complete(a, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le64(a->drv.memory + a->room), ==, i);
    }
    g_assert_cmpuint(get_le64(b->drv.memory + b->room), ==, n);
    for (unsigned end = 0; end < 2; end++) {
        static const char *const kinds[] = { "drop", "duplicate", "reorder",
                                             "corrupt", "delay" };

        for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
            Eng *e = end ? b : a;

            g_assert_cmpuint(eng_faults(e, true, kinds[i]), >, 0);
            g_assert_cmpuint(eng_faults(e, false, kinds[i]), >, 0);
        }
    }
    g_assert_cmpuint(eng_counter(a, "transport", "tx-resent"), >, 0);
    /* What is sent again may still come while they are asked for. */
    QUBC_WAIT(eng_counter(a, "network", "drop-fault") ==
              eng_faults(a, true, "drop") + eng_faults(a, false, "drop"));
    g_assert_cmpuint(eng_counter(b, "network", "drop-icrc"), >, 0);
    good_network(&p);
    eng_write_read(&p, 65536, 9);
    eng_stop(&p);
}

static void test_rtp(void)
{
    exactly_once(0);
}

static void test_rtp_ip(void)
{
    exactly_once(UB_LPH_IPV4);
}

/* Each Write that is lost ends in a time-out, no other does; none comes twice. */
static void test_ctp(void)
{
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = QUBC_STEPPED });
    eng_set_faults(a, true, "'kind': 'ctp', 'ta-opcode': 3, 'nth': 5, "
                   "'every': 5, 'action': 'drop'");
    eng_fill(a, 4096, 7);
    for (unsigned i = 1; i <= 20; i++) {
        memset(b->drv.memory + b->room, 0, 4096);
        ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 4096, 1), 1);
        if (i % 5) {
            eng_complete(a, UBQ_STATUS_OK);
            eng_check(b, 4096, 7);
        } else {
            QUBC_WAIT(eng_faults(a, true, "drop") == i / 5);
            g_assert_null(ubq_cq_poll(&a->cq));
            qtest_clock_step(a->q->qts, TIMEOUT_NS);
            eng_complete(a, UBQ_STATUS_TIMEOUT);
            g_assert_cmphex(b->drv.memory[b->room + 1], ==, 0);
        }
    }
    g_assert_cmpuint(eng_faults(a, true, "drop"), ==, 4);
    g_assert_cmpuint(eng_counter(a, "transaction", "timeouts"), ==, 4);
    g_assert_null(ubq_cq_poll(&a->cq));

    /* Doubled and overtaken requests are executed once. */
    eng_set_faults(a, true, "'duplicate-ppm': 500000, 'seed': 7");
    put_le64(b->drv.memory + b->room, 0);
    for (unsigned i = 0; i < 100; i++) {
        post_add(a);
        eng_complete(a, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le64(a->drv.memory + a->room), ==, i);
    }
    g_assert_cmpuint(get_le64(b->drv.memory + b->room), ==, 100);
    g_assert_cmpuint(eng_faults(a, true, "duplicate"), >, 10);
    eng_stop(&p);
}

/* A response that is lost is a time-out too, though the data are there. */
static void test_ctp_response(void)
{
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = QUBC_STEPPED });
    eng_set_faults(b, true, "'ta-opcode': 17, 'nth': 1, 'action': 'drop'");
    eng_fill(a, 512, 1);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 512, 1), 1);
    QUBC_WAIT(eng_faults(b, true, "drop") == 1);
    qtest_clock_step(a->q->qts, TIMEOUT_NS);
    eng_complete(a, UBQ_STATUS_TIMEOUT);
    eng_check(b, 512, 1);
    eng_write_read(&p, 512, 2);
    eng_stop(&p);
}

/* Of one queue alone, and of messages to one alone: others beside them have no faults. */
static void test_queue(void)
{
    g_autofree char *plan = NULL, *target = NULL;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;
    UbqQueue sick;
    uint8_t *message;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = QUBC_STEPPED });
    ubq_queue_open(&sick, &a->drv, &a->cq, &a->cq, UB_ROI, 0);
    plan = g_strdup_printf("'queue': %u, 'drop-ppm': 1000000", sick.id);
    eng_set_faults(a, true, plan);
    for (unsigned i = 1; i <= 3; i++) {
        uint8_t *s = ubq_sqe(&sick, 1);

        eng_write_read(&p, 4096, i);
        memcpy(s, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), UBQ_BLOCK);
        ubq_post(&sick, s, 1);
        QUBC_WAIT(eng_faults(a, true, "drop") == i);
        qtest_clock_step(a->q->qts, TIMEOUT_NS);
        eng_complete(a, UBQ_STATUS_TIMEOUT);
    }
    /* Requests of memory name no queue of the other end. */
    target = g_strdup_printf("'target-queue': %u, 'drop-ppm': 1000000",
                             b->queue.id);
    eng_set_faults(a, true, target);
    eng_write_read(&p, 4096, 9);
    ubq_recv(&b->queue, b->room, 4096);
    message = ubq_sqe(&sick, 1);
    memcpy(message, eng_sqe(a, UB_TA_SEND, 0, 64, 1), UBQ_BLOCK);
    put_le32(message + UBQ_SQE_TARGET, b->queue.id);
    ubq_post(&sick, message, 1);
    QUBC_WAIT(eng_faults(a, true, "drop") == 1);
    qtest_clock_step(a->q->qts, TIMEOUT_NS);
    eng_complete(a, UBQ_STATUS_TIMEOUT);
    g_assert_null(ubq_cq_poll(&b->cq));
    eng_set_faults(a, true, "'queue': 1");
    eng_write_read(&p, 4096, 10);
    eng_stop(&p);
}

/* UTP: what is lost is lost, what comes twice comes twice, nobody says so. */
static void test_utp(void)
{
    EngPair p;
    Eng *a = &p.a, *b = &p.b;
    unsigned got = 0;

    eng_start(&p, &(EngPlan){ .carrier = ENG_UTP, .mode = UB_UNO });
    for (unsigned i = 0; i < 28; i++) {
        ubq_recv(&b->queue, b->room, 4096);
    }
    eng_set_faults(a, true, "'kind': 'utp', 'nth': 3, 'every': 3, "
                   "'action': 'drop'");
    for (unsigned i = 1; i <= 21; i++) {
        post_send(a, b, 100, i);
        eng_complete(a, UBQ_STATUS_OK);
        if (i % 3) {
            got++;
            g_assert_cmpuint(get_le64(eng_complete(b, UBQ_STATUS_OK) +
                                      UBQ_CQE_IMMEDIATE), ==, i);
        }
    }
    g_assert_cmpuint(got, ==, 14);
    eng_set_faults(a, true, "'kind': 'utp', 'nth': 1, 'action': 'duplicate'");
    post_send(a, b, 100, 77);
    eng_complete(a, UBQ_STATUS_OK);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(get_le64(eng_complete(b, UBQ_STATUS_OK) +
                                  UBQ_CQE_IMMEDIATE), ==, 77);
    }
    g_assert_null(ubq_cq_poll(&b->cq));
    eng_stop(&p);
}

/* By PSN: that packet alone is lost, and sent again; other kinds pass. */
static void test_psn(void)
{
    EngPair p;
    Eng *a = &p.a;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .props = RESENT });
    /* a's first PSN is 100; 16 packets of the Write go from there. */
    eng_set_faults(a, true, "'kind': 'rtp', 'psn': 103, 'psn-last': 104, "
                   "'nth': 1, 'every': 1, 'action': 'drop'");
    eng_fill(a, 65536, 1);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 65536, 1), 1);
    QUBC_WAIT(eng_faults(a, true, "drop") >= 4);
    g_assert_null(ubq_cq_poll(&a->cq));
    eng_set_faults(a, true, "'kind': 'ctp', 'drop-ppm': 1000000");
    eng_complete(a, UBQ_STATUS_OK);
    eng_check(&p.b, 65536, 1);
    g_assert_cmpuint(eng_faults(a, true, "drop"), ==, 0);
    eng_set_faults(a, true, "'kind': 'rtp', 'tp-opcode': 2, "
                   "'drop-ppm': 1000000");
    eng_set_faults(&p.b, false, "'kind': 'utp', 'drop-ppm': 1000000");
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 4096, 1), 1);
    eng_complete(a, UBQ_STATUS_OK); /* its TAACK came; that is not answered */
    g_assert_cmpuint(eng_faults(&p.b, false, "drop"), ==, 0);
    QUBC_WAIT(eng_faults(a, true, "drop") > 0);
    eng_stop(&p);
}

/* What the monitor says of channels and queues, and of plans that cannot be. */
static void test_views(void)
{
    static const char *const bad[] = {
        "{ 'device': 'ub0', 'out': true,"
        "  'plan': { 'drop-ppm': 600000, 'delay-ppm': 600000 } }",
        "{ 'device': 'ub0', 'out': true, 'plan': { 'psn': 16777216 } }",
        "{ 'device': 'ub0', 'out': true, 'plan': { 'reorder-depth': 65 } }",
        "{ 'device': 'ub0', 'out': true, 'plan': { 'queue': 1048576 } }",
        "{ 'device': 'ub7', 'out': true, 'plan': { } }",
    };
    g_autofree char *state = NULL, *peer = NULL, *mode = NULL, *done = NULL,
                    *posted = NULL, *none = NULL, *text = NULL;
    QDict *rsp;
    EngPair p;
    Eng *a = &p.a;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP,
                              .props = "fault-in-drop-ppm=0,"
                                       "fault-in-ta-opcode=8,"
                                       "fault-in-nth=1,fault-in-action=1" });
    eng_write_read(&p, 4096, 1);
    g_assert_cmpuint(eng_faults(a, false, "drop"), ==, 0);
    rsp = qtest_qmp(a->q->qts, "{ 'execute': 'qom-get', 'arguments': {"
                    " 'path': '/machine/peripheral/ub0',"
                    " 'property': 'fault-in-ta-opcode' } }");
    g_assert_cmpint(qdict_get_int(rsp, "return"), ==, 8);
    qobject_unref(rsp);
    qtest_qmp_assert_success(a->q->qts, "{ 'execute': 'qom-set',"
                             " 'arguments': {"
                             " 'path': '/machine/peripheral/ub0',"
                             " 'property': 'fault-in-ta-opcode',"
                             " 'value': 17 } }");
    /* The next TAACK that comes; RTP sends it again. */
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), 1);
    QUBC_WAIT(eng_faults(a, false, "drop") == 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        QObject *json = qobject_from_json(bad[i], &error_abort);

        qobject_unref(qtest_qmp_assert_failure_ref(
            a->q->qts, "{ 'execute': 'ub-packet-faults', 'arguments': %p }",
            json));
    }
    state = eng_object(a, "channels", ENG_TPN, "state");
    g_assert_cmpstr(state, ==, "active");
    peer = eng_object(a, "channels", ENG_TPN, "peer");
    g_assert_cmpstr(peer, ==, "5");
    none = eng_object(a, "channels", 6, "state");
    g_assert_null(none);
    mode = eng_object(a, "queues", a->queue.id, "mode");
    g_assert_cmpstr(mode, ==, "roi");
    eng_complete(a, UBQ_STATUS_OK);
    done = eng_object(a, "queues", a->queue.id, "send-done");
    posted = eng_object(a, "queues", a->queue.id, "send-posted");
    g_assert_cmpstr(posted, ==, "3");
    g_assert_cmpstr(done, ==, "3");
    g_assert_cmpuint(eng_counter(a, "work", "send-entries"), ==, 3);
    g_assert_cmpuint(eng_counter(a, "transaction", "done"), ==, 3);
    g_assert_cmpuint(eng_counter(a, "network", "tx-packets"), >, 3);
    text = qtest_hmp(a->q->qts, "info ub ub0");
    g_assert_nonnull(strstr(text, "channel 5 to 5: active"));
    g_assert_nonnull(strstr(text, "faults of packets that come"));
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-fault/rtp", test_rtp);
    qtest_add_func("/ubc-fault/rtp-ip", test_rtp_ip);
    qtest_add_func("/ubc-fault/ctp", test_ctp);
    qtest_add_func("/ubc-fault/ctp-response", test_ctp_response);
    qtest_add_func("/ubc-fault/queue", test_queue);
    qtest_add_func("/ubc-fault/utp", test_utp);
    qtest_add_func("/ubc-fault/psn", test_psn);
    qtest_add_func("/ubc-fault/views", test_views);
    return g_test_run();
}
