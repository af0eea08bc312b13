/*
 * Software that polls has the engine's turns itself, and peers wake nobody (look.h): what
 * befalls a device when it stops, and when the device goes, moves or loses its peer just
 * then.
 *
 * Here looks may be as far apart as a test's are, so the first that has had enough before it
 * begins the mode anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "ub/tah.h"

#define IO "-object iothread,id=io"
#define POLLS "iothread=io,poll-looks=20,poll-pause=600000000,poll-time=300000"

static uint64_t looks(Eng *e)
{
    return eng_counter(e, "inline", "looks");
}

static uint64_t alone(Eng *e)
{
    return eng_counter(e, "inline", "looks-alone");
}

/* Says that nothing is there. */
static void look(Eng *e)
{
    ubq_cq_arm(&e->cq, 0);
}

/* From here on the device's own thread is not woken, until nobody has looked for a while. */
static void poll_alone(Eng *e)
{
    uint64_t before;

    QUBC_WAIT((look(e), alone(e)));
    before = looks(e);
    QUBC_WAIT((look(e), looks(e) > before));
}

static void no_bell(void *opaque, uint32_t page, uint32_t offset, uint64_t value)
{
}

/* Completions are there, and nobody has looked for them by a doorbell. */
static void come(Eng *e, unsigned n)
{
    UbqDrv quiet = *e->cq.d;
    UbqCq cq = e->cq;

    quiet.bell = no_bell;
    cq.d = &quiet;
    while (n--) {
        const uint8_t *c = NULL;

        QUBC_WAIT((c = ubq_cq_poll(&cq)));
        g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_OK);
    }
    e->cq.ci = cq.ci;
}

static void start(EngPair *p, unsigned carrier, const char *props)
{
    eng_start(p, &(EngPlan){ .carrier = carrier, .props = props, .more = IO });
    eng_write_read(p, 4096, 1);
    g_assert_cmpuint(alone(&p->b), ==, 0);
}

/* A packet that comes for one who has just stopped is not left lying. */
static void test_stops(void)
{
    EngPair p;

    start(&p, ENG_RTP, POLLS);
    for (unsigned i = 0; i < 5; i++) {
        poll_alone(&p.b);
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
        come(&p.a, 1);
    }
    eng_write_read(&p, 4096, 2);
    eng_stop(&p);
}

/* Nor what it asked for itself while other requests were under way. */
static void test_asks(void)
{
    EngPair p;

    start(&p, ENG_RTP, POLLS);
    for (unsigned i = 0; i < 5; i++) {
        poll_alone(&p.a);
        for (unsigned n = 0; n < 16; n++) {
            ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
        }
        come(&p.a, 16);
    }
    eng_stop(&p);
}

typedef struct Turns {
    uint64_t look, thread;
} Turns;

static Turns turns(Eng *e)
{
    return (Turns){ eng_counter(e, "inline", "look-turns"),
                    eng_counter(e, "inline", "thread-turns") };
}

/* 16 MiB by one that polls, and the turns that they took.  False: a machine at work
 * elsewhere did not let it poll without a pause, and others were woken. */
static bool poll_much(EngPair *p, Turns *took)
{
    uint64_t begun, last;
    Turns before;

    poll_alone(&p->a);
    begun = alone(&p->a);
    before = turns(&p->a);
    for (unsigned i = 0; i < 8; i++) {
        const uint8_t *c = NULL;

        for (unsigned n = 0; n < 8; n++) {
            ubq_post(&p->a.queue, eng_sqe(&p->a, UB_TA_WRITE, 0, ENG_ROOM, 1), 1);
        }
        for (unsigned n = 0; n < 8; n++) {
            QUBC_WAIT((look(&p->a), c = ubq_cq_poll(&p->a.cq)));
            g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_OK);
        }
    }
    *took = turns(&p->a);
    took->look -= before.look;
    took->thread -= before.thread;
    /* If it was over just now it begins anew. */
    last = looks(&p->a);
    QUBC_WAIT((look(&p->a), looks(&p->a) > last + 40));
    return alone(&p->a) == begun;
}

/* What takes many turns has them by looks: the device's own thread would have every other,
 * and meet who looks at the lock. */
static void test_much(void)
{
    Turns took;
    EngPair p;

    start(&p, ENG_RTP, "iothread=io,poll-looks=20,poll-pause=600000000,"
                       "poll-time=1000000");
    QUBC_WAIT(poll_much(&p, &took));
    g_test_message("%" PRIu64 " turns by looks, %" PRIu64 " of the thread", took.look,
                   took.thread);
    g_assert_cmpuint(took.look, >, 32);
    g_assert_cmpuint(took.thread, <, 10);
    eng_stop(&p);
}

/* Both ends poll, and messages go by looks. */
static void test_both(void)
{
    EngPair p;

    start(&p, ENG_RTP, POLLS);
    for (unsigned i = 0; i < 20; i++) {
        const uint8_t *c = NULL;

        poll_alone(&p.a);
        poll_alone(&p.b);
        eng_fill(&p.a, 4096, i);
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
        QUBC_WAIT((look(&p.b), look(&p.a), c = ubq_cq_poll(&p.a.cq)));
        g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_OK);
        eng_check(&p.b, 4096, i);
    }
    eng_stop(&p);
}

/* Rings without end: the monitor, commands and the peer have their turns. */
static void test_endless(void)
{
    EngPair p;

    start(&p, ENG_RTP, POLLS);
    for (unsigned i = 0; i < 20; i++) {
        for (unsigned n = 0; n < 500; n++) {
            look(&p.b);
        }
        g_assert_true(qubc_up(p.b.q, 0));
        eng_write_read(&p, 4096, i);
    }
    g_assert_cmpuint(looks(&p.b), >, 1000);
    eng_stop(&p);
}

/* One that never has it to itself, since it is set so. */
static void test_never(void)
{
    EngPair p;

    start(&p, ENG_RTP, "iothread=io,poll-looks=0,poll-pause=600000000");
    for (unsigned i = 0; i < 200; i++) {
        look(&p.b);
    }
    QUBC_WAIT((look(&p.b), looks(&p.b)));
    g_assert_cmpuint(alone(&p.b), ==, 0);
    eng_write_read(&p, 4096, 2);
    eng_stop(&p);
}

/* Where character devices take part nobody looks, but who says that it has read has. */
static void test_socket(void)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .props = POLLS ",shm=off",
                              .more = IO });
    for (unsigned i = 0; i < 600; i++) {
        ubq_post(&p.b.queue, eng_sqe(&p.b, UBQ_OP_NOP, 0, 0, 1), 1);
        eng_complete(&p.b, UBQ_STATUS_OK);
        look(&p.b);
    }
    eng_write_read(&p, 4096, 1);
    g_assert_cmpuint(looks(&p.b), ==, 0);
    eng_stop(&p);
}

static void test_stop(void)
{
    EngPair p;

    start(&p, ENG_RTP, POLLS);
    for (unsigned i = 0; i < 3; i++) {
        poll_alone(&p.b);
        qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'stop' }");
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
        qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'cont' }");
        come(&p.a, 1);
    }
    eng_write_read(&p, 4096, 2);
    eng_stop(&p);
}

static void test_migrate(void)
{
    EngPair p;

    start(&p, ENG_RTP, POLLS);
    for (unsigned i = 0; i < 2; i++) {
        poll_alone(&p.b);
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
        eng_migrate(&p);
        come(&p.a, 1);
        g_assert_cmpuint(looks(&p.b), ==, 0);   /* another device polls anew */
        eng_write_read(&p, 4096, i);
    }
    poll_alone(&p.b);
    eng_stop(&p);
}

static void test_reset(void)
{
    const EngPlan plan = { .carrier = ENG_CTP };
    EngPair p;

    start(&p, ENG_CTP, POLLS);
    poll_alone(&p.b);
    eng_begin_anew(&p.b);
    eng_link_up(&p);
    eng_queue(&p.b, &plan);
    poll_alone(&p.b);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
    come(&p.a, 1);
    eng_stop(&p);
}

/* The device goes while it is polled. */
static void test_unplug(void)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .props = POLLS, .more = IO,
                              .unplug = true });
    eng_write_read(&p, 4096, 1);
    poll_alone(&p.b);
    qpci_unplug_acpi_device_test(p.b.q->qts, "ub0", QUBC_SLOT);
    QUBC_WAIT(!qubc_up(p.a.q, 0));
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'query-ub-engines' }");
    eng_stop(&p);
}

/* So does the peer: who looks finds a link that is down. */
static void test_kill(void)
{
    EngPair p;

    start(&p, ENG_RTP, POLLS);
    poll_alone(&p.b);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, ENG_ROOM, 1), 1);
    qubc_kill(p.a.q);
    QUBC_WAIT((look(&p.b), !qubc_up(p.b.q, 0)));
    p.a.q = p.link.a = start_server(&p.link);
    eng_open(&p.a, p.link.a, 1);
    eng_open(&p.b, p.link.b, 2);
    eng_link_up(&p);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-poll/stops", test_stops);
    qtest_add_func("/ubc-poll/asks", test_asks);
    qtest_add_func("/ubc-poll/much", test_much);
    qtest_add_func("/ubc-poll/both", test_both);
    qtest_add_func("/ubc-poll/endless", test_endless);
    qtest_add_func("/ubc-poll/never", test_never);
    qtest_add_func("/ubc-poll/socket", test_socket);
    qtest_add_func("/ubc-poll/stop", test_stop);
    qtest_add_func("/ubc-poll/migrate", test_migrate);
    qtest_add_func("/ubc-poll/reset", test_reset);
    qtest_add_func("/ubc-poll/unplug", test_unplug);
    qtest_add_func("/ubc-poll/kill", test_kill);
    return g_test_run();
}
