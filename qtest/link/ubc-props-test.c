/*
 * Properties of the transaction engine, each by what it does between two
 * emulators.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "qapi/error.h"
#include "qobject/qjson.h"
#include "ub/tah.h"

/* Doorbell pages of BAR2; a doorbell beyond them reaches nobody. */
static void test_contexts(void)
{
    QUbc *d = qubc_start_attached("contexts=4", "-device "
                                  "pcie-root-port,id=rp0,chassis=1,slot=1");
    uint64_t size;

    qpci_iomap(d->pci, 2, &size);
    g_assert_cmphex(size, ==, 4 * UBQ_PAGE);
    for (unsigned bad = 0; bad < 3; bad++) {
        static const unsigned values[] = { 0, 3, 512 };
        g_autofree char *args = g_strdup_printf(
            "{ 'driver': 'ubc', 'id': 'ub1', 'bus': 'rp0',"
            "  'contexts': %u }", values[bad]);
        QDict *rsp = qtest_qmp_assert_failure_ref(
            d->qts, "{ 'execute': 'device_add', 'arguments': %p }",
            qobject_from_json(args, &error_abort));

        g_assert_nonnull(strstr(qdict_get_str(rsp, "desc"), "contexts"));
        qobject_unref(rsp);
    }
    qubc_stop(d);
}

/* How long something may wait for one who has ceased to poll. */
static void test_poll_time(void)
{
    static const unsigned values[] = { 0, 1000001, 1, 1000000 };
    QUbc *d = qubc_start_attached("", "-device "
                                  "pcie-root-port,id=rp0,chassis=1,slot=1");

    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autofree char *args = g_strdup_printf(
            "{ 'driver': 'ubc', 'id': 'ub%u', 'bus': 'rp0',"
            "  'addr': '0.%u', 'poll-time': %u }", i + 1, i < 2 ? 1 : 4 - i,
            values[i]);
        QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'device_add',"
                               " 'arguments': %p }",
                               qobject_from_json(args, &error_abort));

        g_assert_cmpint(qdict_haskey(rsp, "error"), ==, i < 2);
        if (i < 2) {
            g_assert_nonnull(strstr(qdict_get_str(qdict_get_qdict(rsp, "error"), "desc"),
                                    "poll-time"));
        }
        qobject_unref(rsp);
    }
    qubc_stop(d);
}

/* A GUID is a controller's (UB 2.0 §C.1); the tenth digit is its type. */
static void test_guid(void)
{
    static const struct { const char *guid; bool good; } cases[] = {
        { "12340b01010000000000000000000001", true },
        { "12340b01f20000000000000000000001", true },
        { "00000000000000000000000000000000", false },
        { "12340b01000000000000000000000001", false }, /* a bus instance */
        { "12340b01030000000000000000000001", false }, /* switches */
        { "12340b01040000000000000000000001", false },
        { "12340b01050000000000000000000001", false }, /* reserved */
        { "12340b010f0000000000000000000001", false },
        { "ffffffffffffffffffffffffffff0100", false }, /* a group's */
        { "12340b0102000000", false },
    };
    QUbc *d = qubc_start_attached("", "-device "
                                  "pcie-root-port,id=rp0,chassis=1,slot=1");

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *args = g_strdup_printf(
            "{ 'driver': 'ubc', 'id': 'ub%u', 'bus': 'rp0',"
            "  'addr': '0.%u', 'guid': '%s' }", i + 1,
            cases[i].good ? 7 - i : 1,
            cases[i].guid);
        QDict *rsp = qtest_qmp(
            d->qts, "{ 'execute': 'device_add', 'arguments': %p }",
            qobject_from_json(args, &error_abort));
        QDict *error = qdict_get_qdict(rsp, "error");

        g_test_message("%s: %s", cases[i].guid,
                       error ? qdict_get_str(error, "desc") : "taken");
        g_assert_true(!error == cases[i].good);
        g_assert_true(!error ||
                      strstr(qdict_get_str(error, "desc"), "guid must"));
        qobject_unref(rsp);
    }
    qubc_stop(d);
}

/* How long a Write takes, the first packet of which is lost. */
static gint64 resent_after(const char *props)
{
    EngPair p;
    gint64 at;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .props = props });
    eng_set_faults(&p.a, true, "'kind': 'rtp', 'nth': 1, 'action': 'drop'");
    eng_fill(&p.a, 64, 1);
    at = g_get_monotonic_time();
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 64, 1), 1);
    eng_complete(&p.a, UBQ_STATUS_OK);
    at = g_get_monotonic_time() - at;
    eng_check(&p.b, 64, 1);
    g_assert_cmpuint(eng_faults(&p.a, true, "drop"), ==, 1);
    g_assert_cmpuint(eng_counter(&p.a, "transport", "timeouts"), >=, 1);
    eng_stop(&p);
    return at;
}

/* Dynamic time-outs begin at 16.384 ms. */
static void test_tp_times(void)
{
    gint64 plain = resent_after("tp-time-scale=1,tp-time-floor=1");

    g_assert_cmpint(plain, >=, 16384);
    g_assert_cmpint(resent_after("tp-time-scale=100,tp-time-floor=1"), >=,
                    1638400);
    g_assert_cmpint(resent_after("tp-time-scale=1,tp-time-floor=1600000"), >=,
                    1600000);
}

/* How long it takes until a lost Write over CTP is given up. */
static gint64 lost_after(const char *props)
{
    EngPair p;
    gint64 at;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = props });
    eng_set_faults(&p.a, true, "'kind': 'ctp', 'nth': 1, 'action': 'drop'");
    at = g_get_monotonic_time();
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 64, 1), 1);
    eng_complete(&p.a, UBQ_STATUS_TIMEOUT);
    at = g_get_monotonic_time() - at;
    eng_stop(&p);
    return at;
}

/* The acknowledgement's time is 64 s; the factor is in thousandths. */
static void test_ta_times(void)
{
    gint64 plain = lost_after("ta-time-scale=1,ta-time-floor=0");

    g_assert_cmpint(plain, >=, 64000);
    g_assert_cmpint(lost_after("ta-time-scale=24,ta-time-floor=0"), >=,
                    1536000);
    g_assert_cmpint(lost_after("ta-time-scale=1,ta-time-floor=1500000"), >=,
                    1500000);
}

static unsigned bits_wrong(Eng *b, uint32_t len, uint32_t seed)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < len; i++) {
        n += __builtin_popcount(b->drv.memory[b->room + i] ^
                                (uint8_t)(i * 7 + (i >> 8) + seed));
    }
    return n;
}

/* One bit of a packet is changed on the way: with an ICRC it is lost, without it
 * the target takes it. */
static void test_icrc(void)
{
    static const char flip[] = "'kind': 'ctp', 'nth': 1, 'action': 'corrupt', "
                               "'seed': 3";
    EngPair p;

    /* What is lost is given up after 64 s: not in this test. */
    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = "icrc=on" });
    eng_set_faults(&p.a, true, flip);
    memset(p.b.drv.memory + p.b.room, 0, 4096);
    eng_fill(&p.a, 4096, 5);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
    QUBC_WAIT(eng_counter(&p.b, "network", "drop-icrc") == 1);
    g_assert_null(ubq_cq_poll(&p.a.cq));
    for (unsigned i = 0; i < 4096; i++) {
        g_assert_cmphex(p.b.drv.memory[p.b.room + i], ==, 0);
    }
    eng_write_read(&p, 4096, 5);
    eng_stop(&p);

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = "icrc=off" });
    eng_set_faults(&p.a, true, flip);
    eng_fill(&p.a, 4096, 5);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
    eng_complete(&p.a, UBQ_STATUS_OK);
    g_assert_cmpuint(bits_wrong(&p.b, 4096, 5), ==, 1);
    g_assert_cmpuint(eng_counter(&p.b, "network", "drop-icrc"), ==, 0);
    eng_write_read(&p, 4096, 5);
    eng_stop(&p);
}

/* A controller that does not accept says no to a channel asked for in band. */
static void test_accept(void)
{
    UbqPeer peer = eng_peer(2, 0);
    const uint8_t *e;
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = "tp-accept=off" });
    ubq_channel_connect(&p.a.drv, ENG_TPN, &peer);
    e = eng_event(&p.a, UBQ_EVENT_CHANNEL_UP);
    g_assert_cmpuint(get_le32(e + 4), ==, ENG_TPN);
    g_assert_cmpuint(get_le32(e + 12), ==, UBQ_RESULT_REFUSED);
    eng_write_read(&p, 4096, 5);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-props/guid", test_guid);
    qtest_add_func("/ubc-props/contexts", test_contexts);
    qtest_add_func("/ubc-props/poll-time", test_poll_time);
    qtest_add_func("/ubc-props/tp-times", test_tp_times);
    qtest_add_func("/ubc-props/ta-times", test_ta_times);
    qtest_add_func("/ubc-props/icrc", test_icrc);
    qtest_add_func("/ubc-props/accept", test_accept);
    return g_test_run();
}
