/*
 * Poison (UB 2.0 §7.2.1, §7.2.2, §10.6.2.2.2) between two emulators: data that are
 * known to be bad are told, counted and marked, and never pass for good ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-fabric.h"
#include "ub/tah.h"

#define SENDS "poison-send=on,ta-mtu=4096"
#define LEN 20000u
#define PACKET 4096u    /* bytes of a packet of LEN, either way */
#define FRESH 0xc3      /* in memory that nothing was written to */

static unsigned poison_command(Eng *e, unsigned action, uint64_t at, uint64_t len,
                               uint8_t cmd[UBQ_CMD])
{
    ubq_cmd_init(cmd, 0, 0);
    put_le64(cmd + UBQ_POISON_BASE, at);
    put_le64(cmd + UBQ_POISON_LENGTH, len);
    put_le32(cmd + UBQ_POISON_ACTION, action);
    return ubq_command(&e->drv, UBQ_OP_POISON, cmd);
}

/* Of the room. */
static void poison(Eng *e, unsigned action, uint32_t off, uint32_t len)
{
    uint8_t cmd[UBQ_CMD];

    g_assert_cmpuint(poison_command(e, action, e->room + off, len, cmd), ==,
                     UBQ_RESULT_OK);
}

/* What is bad of the room from @from on: @bytes at @at, or nothing. */
static void bad(Eng *e, uint32_t from, uint32_t at, uint32_t bytes)
{
    uint8_t cmd[UBQ_CMD];

    g_assert_cmpuint(poison_command(e, UBQ_POISON_QUERY, e->room + from,
                                    ENG_ROOM - from, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmphex(get_le64(cmd + UBQ_POISON_LENGTH), ==, bytes);
    if (bytes) {
        g_assert_cmphex(get_le64(cmd + UBQ_POISON_BASE), ==, e->room + at);
    }
}

static uint64_t seen(Eng *e)
{
    return eng_counter(e, "transaction", "poison-rx");
}

static void run_op(Eng *e, unsigned op, uint32_t len, unsigned status)
{
    ubq_post(&e->queue, eng_sqe(e, op, 0, len, 1), 1);
    eng_complete(e, status);
}

static uint32_t length_of(unsigned carrier)
{
    return carrier == ENG_RTP ? LEN : PACKET;
}

/* Bad data stay where they are. */
static void test_kept(void)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    eng_fill(&p.a, LEN, 1);
    memset(p.b.drv.memory + p.b.room, FRESH, LEN);
    poison(&p.a, UBQ_POISON_SET, 5, 1);
    run_op(&p.a, UB_TA_WRITE, LEN, UBQ_STATUS_LOCAL_POISON);
    for (unsigned i = 0; i < LEN; i++) {
        g_assert_cmphex(p.b.drv.memory[p.b.room + i], ==, FRESH);
    }
    bad(&p.b, 0, 0, 0);
    g_assert_cmpuint(eng_counter(&p.a, "transaction", "tx-requests"), ==, 0);
    poison(&p.a, UBQ_POISON_CLEAR, 5, 1);
    eng_write_read(&p, LEN, 2);
    eng_stop(&p);
}

/* They go out marked, are marked at the target, and heal. */
static void write_to(Eng *a, Eng *b, unsigned carrier)
{
    uint32_t len = length_of(carrier);

    eng_fill(a, len, 1);
    poison(a, UBQ_POISON_SET, 5, 1);
    run_op(a, UB_TA_WRITE, len, UBQ_STATUS_OK);
    eng_check(b, len, 1);
    bad(b, 0, 0, PACKET);
    bad(b, PACKET, 0, 0);
    g_assert_cmpuint(seen(b), ==, 1);
    /* Who reads them hears of it. */
    run_op(a, UB_TA_READ, len, UBQ_STATUS_REMOTE_POISON);
    bad(a, 0, 0, PACKET);
    bad(a, PACKET, 0, 0);
    g_assert_cmpuint(seen(a), ==, 1);
    poison(a, UBQ_POISON_CLEAR, 0, ENG_ROOM);
    run_op(a, UB_TA_WRITE, 64, UBQ_STATUS_OK);
    bad(b, 0, 64, PACKET - 64);
    run_op(a, UB_TA_READ, 64, UBQ_STATUS_OK);
    eng_write_read_to(a, b, len, 3);
    bad(b, 0, 0, 0);
    g_assert_cmpuint(seen(b), ==, 1);
}

static void test_write(const void *opaque)
{
    const EngPlan *plan = opaque;
    EngPair p;

    eng_start(&p, plan);
    write_to(&p.a, &p.b, plan->carrier);
    eng_stop(&p);
}

static void test_switch(const void *opaque)
{
    const EngPlan *plan = opaque;
    Fabric f;

    if (!switch_program()) {
        g_test_skip("ub-switch is not built");
        return;
    }
    fabric_start(&f, "," SENDS);
    fabric_engines(&f, plan);
    write_to(&f.e[0], &f.e[1], plan->carrier);
    fabric_stop(&f);
}

/* Bad memory of the target: a Read beside it is good. */
static void test_read(const void *opaque)
{
    const EngPlan *plan = opaque;
    EngPair p;

    eng_start(&p, plan);
    eng_fill(&p.b, PACKET, 7);
    poison(&p.b, UBQ_POISON_SET, 100, 8);
    run_op(&p.a, UB_TA_READ, 100, UBQ_STATUS_OK);
    eng_check(&p.a, 100, 7);
    bad(&p.a, 0, 0, 0);
    run_op(&p.a, UB_TA_READ, 101, UBQ_STATUS_REMOTE_POISON);
    bad(&p.a, 0, 0, 101);
    g_assert_cmpuint(seen(&p.a), ==, 1);
    eng_stop(&p);
}

/* An atomic is carried out, says that it is of bad data, and leaves bad ones. */
static void test_atomic(void)
{
    uint8_t *s;
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    put_le64(p.b.drv.memory + p.b.room, 40);
    poison(&p.b, UBQ_POISON_SET, 7, 1);
    s = eng_sqe(&p.a, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);
    put_le64(s + UBQ_BLOCK, 2);
    ubq_post(&p.a.queue, s, 2);
    eng_complete(&p.a, UBQ_STATUS_REMOTE_POISON);
    g_assert_cmpuint(get_le64(p.b.drv.memory + p.b.room), ==, 42);
    bad(&p.b, 0, 0, 8);
    bad(&p.a, 0, 0, 8);
    eng_stop(&p);
}

/* A message takes its receive entry, and the completion says what it is worth. */
static void test_message(void)
{
    uint8_t *s;
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .props = SENDS });
    eng_fill(&p.a, LEN, 4);
    poison(&p.a, UBQ_POISON_SET, LEN - 1, 1);
    for (unsigned i = 0; i < 2; i++) {
        ubq_recv(&p.b.queue, p.b.room, ENG_ROOM);
        s = ubq_sqe(&p.a.queue, 1);
        ubq_sqe_put(s, UB_TA_SEND, ENG_DEST, p.a.room, LEN - i);
        put_le32(s + UBQ_SQE_TARGET, p.b.queue.id);
        ubq_post(&p.a.queue, s, 1);
        eng_complete(&p.a, UBQ_STATUS_OK);
        eng_complete(&p.b, i ? UBQ_STATUS_OK : UBQ_STATUS_REMOTE_POISON);
    }
    g_assert_cmpuint(seen(&p.b), ==, 1);
    eng_stop(&p);
}

/* What is bad stays so on another machine. */
static void test_migrate(void)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    poison(&p.b, UBQ_POISON_SET, 64, 64);
    eng_migrate(&p);
    bad(&p.b, 0, 64, 64);
    run_op(&p.a, UB_TA_READ, 64, UBQ_STATUS_OK);
    run_op(&p.a, UB_TA_READ, 128, UBQ_STATUS_REMOTE_POISON);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    static const EngPlan rtp = { .carrier = ENG_RTP, .props = SENDS },
                         ctp = { .carrier = ENG_CTP, .props = SENDS };

    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-poison/kept", test_kept);
    qtest_add_data_func("/ubc-poison/write-rtp", &rtp, test_write);
    qtest_add_data_func("/ubc-poison/write-ctp", &ctp, test_write);
    qtest_add_data_func("/ubc-poison/read-rtp", &rtp, test_read);
    qtest_add_data_func("/ubc-poison/read-ctp", &ctp, test_read);
    qtest_add_data_func("/ubc-poison/switch-rtp", &rtp, test_switch);
    qtest_add_data_func("/ubc-poison/switch-ctp", &ctp, test_switch);
    qtest_add_func("/ubc-poison/atomic", test_atomic);
    qtest_add_func("/ubc-poison/message", test_message);
    qtest_add_func("/ubc-poison/migrate", test_migrate);
    return g_test_run();
}
