/*
 * Poison through the queues: what is sent, what comes, what is left in memory, and
 * the list of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

static unsigned poison_result(End *e, unsigned action, uint64_t at, uint64_t len,
                              uint64_t *from, uint64_t *bytes)
{
    uint8_t cmd[UBQ_CMD];
    unsigned result;

    ubq_cmd_init(cmd, 0, 0);
    put_le64(cmd + UBQ_POISON_BASE, at);
    put_le64(cmd + UBQ_POISON_LENGTH, len);
    put_le32(cmd + UBQ_POISON_ACTION, action);
    result = ubq_command(&e->drv, UBQ_OP_POISON, cmd);
    if (from) {
        *from = get_le64(cmd + UBQ_POISON_BASE);
        *bytes = get_le64(cmd + UBQ_POISON_LENGTH);
    }
    return result;
}

static void poison(End *e, unsigned action, uint64_t at, uint64_t len)
{
    g_assert_cmpuint(poison_result(e, action, at, len, NULL, NULL), ==,
                     UBQ_RESULT_OK);
}

/* The first bad piece of [@at, @at + @len) is [@from, @from + @bytes). */
static void bad(End *e, uint64_t at, uint64_t len, uint64_t from, uint64_t bytes)
{
    uint64_t got, n;

    g_assert_cmpuint(poison_result(e, UBQ_POISON_QUERY, at, len, &got, &n), ==,
                     UBQ_RESULT_OK);
    g_assert_cmphex(n, ==, bytes);
    g_assert_cmphex(got, ==, bytes ? from : 0);
}

static void sends(Pair *p, bool on)
{
    UbTa *ta = ub_node_ta(p->a->node);
    UbTaConfig cfg = *ub_ta_config(ta);

    cfg.poison_send = on;
    g_assert_null(ub_ta_configure(ta, &cfg));
}

static uint64_t seen(End *e)
{
    return ub_ta_counter(ub_node_ta(e->node), UB_TAC_POISON_RX);
}

static void run_op(Pair *p, unsigned op, uint64_t off, uint32_t len,
                   unsigned status)
{
    post_and_run(p, memory_op(p, op, 0, off, p->local, len, 1), 1);
    ubq_cq_expect(&p->cq_a, status);
}

/* ---- Data that go out -------------------------------------------------------------- */

/* Bad data stay here, and with the option they go out marked. */
static void test_write(const void *opaque)
{
    unsigned carrier = GPOINTER_TO_UINT(opaque);
    const uint32_t len = carrier == UB_TP_RTP ? 20000 : 4096;
    Pair p;

    pair_start(&p, carrier, UB_ROI, 0);
    fill(p.a, p.local, len);
    poison(p.a, UBQ_POISON_SET, p.local + 100, 1);
    run_op(&p, UB_TA_WRITE, 0, len, UBQ_STATUS_LOCAL_POISON);
    bad(p.b, p.remote, ROOM, 0, 0);
    g_assert_cmpuint(p.b->memory[p.remote], ==, 0);
    sends(&p, true);
    run_op(&p, UB_TA_WRITE, 0, len, UBQ_STATUS_OK);
    check(p.b, p.remote, len);
    /* The packet of the bad byte, and no other. */
    bad(p.b, p.remote, ROOM, p.remote, 4096);
    bad(p.b, p.remote + 4096, ROOM - 4096, 0, 0);
    g_assert_cmpuint(seen(p.b), ==, 1);
    poison(p.a, UBQ_POISON_CLEAR, p.local, 4096);
    run_op(&p, UB_TA_WRITE, 256, 256, UBQ_STATUS_OK);
    bad(p.b, p.remote, ROOM, p.remote, 256);
    bad(p.b, p.remote + 256, ROOM, p.remote + 512, 4096 - 512);
    run_op(&p, UB_TA_WRITE, 0, 4096, UBQ_STATUS_OK);
    bad(p.b, p.remote, ROOM, 0, 0);
    pair_stop(&p);
}

/* ---- Data that come ---------------------------------------------------------------- */

/* Bad memory of the peer: told, put down, and marked here. */
static void test_read(const void *opaque)
{
    Pair p;

    pair_start(&p, GPOINTER_TO_UINT(opaque), UB_ROI, 0);
    fill(p.b, p.remote, 4096);
    poison(p.b, UBQ_POISON_SET, p.remote + 64, 64);
    run_op(&p, UB_TA_READ, 0, 64, UBQ_STATUS_OK);
    bad(p.a, p.local, ROOM, 0, 0);
    run_op(&p, UB_TA_READ, 0, 65, UBQ_STATUS_REMOTE_POISON);
    bad(p.a, p.local, ROOM, p.local, 65);
    g_assert_cmpuint(seen(p.a), ==, 1);
    run_op(&p, UB_TA_READ, 128, 4096 - 128, UBQ_STATUS_OK);
    bad(p.a, p.local, ROOM, 0, 0);
    pair_stop(&p);
}

/* Atomics: of bad memory, with bad operands' place, and what they leave. */
static void test_atomic(void)
{
    uint8_t *s;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    poison(p.b, UBQ_POISON_SET, p.remote, 4);
    put_le64(p.b->memory + p.remote, 5);
    s = memory_op(&p, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 0, p.local, 8, 2);
    put_le64(s + UBQ_BLOCK, 3);
    post_and_run(&p, s, 2);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_REMOTE_POISON);
    g_assert_cmpuint(get_le64(p.b->memory + p.remote), ==, 8);
    bad(p.b, p.remote, ROOM, p.remote, 8);      /* all that it wrote */
    bad(p.a, p.local, ROOM, p.local, 8);
    poison(p.b, UBQ_POISON_CLEAR, p.remote, 8);
    s = memory_op(&p, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 0, p.local, 8, 2);
    put_le64(s + UBQ_BLOCK, 3);
    post_and_run(&p, s, 2);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    bad(p.a, p.local, ROOM, 0, 0);
    bad(p.b, p.remote, ROOM, 0, 0);
    pair_stop(&p);
}

static void test_message(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    sends(&p, true);
    fill(p.a, p.local, 6000);
    poison(p.a, UBQ_POISON_SET, p.local + 5999, 1);
    for (unsigned i = 0; i < 2; i++) {
        ubq_recv(&p.qb, p.remote, 8192);
        post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 6000 - i), 1);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
        ubq_cq_expect(&p.cq_b, i ? UBQ_STATUS_OK : UBQ_STATUS_REMOTE_POISON);
    }
    pair_stop(&p);
}

/* ---- The list ---------------------------------------------------------------------- */

static void test_list(void)
{
    static const struct {
        uint64_t at, len;
        uint32_t action;
    } wrong[] = {
        { 0, 0, UBQ_POISON_SET }, { 1, -1ull + 1, UBQ_POISON_SET },
        { 2, -1ull, UBQ_POISON_SET }, { 2, -1ull, UBQ_POISON_QUERY },
        { 0, 1, 3 },
    };
    uint8_t cmd[UBQ_CMD];
    End *e;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    e = p.a;
    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_cmpuint(poison_result(e, wrong[i].action, wrong[i].at,
                                       wrong[i].len, NULL, NULL), ==,
                         UBQ_RESULT_PARAMETER);
    }
    ubq_cmd_init(cmd, 1, 0);
    put_le64(cmd + UBQ_POISON_LENGTH, 1);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_POISON, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    poison(e, UBQ_POISON_SET, -16ull, 16);      /* the last bytes there are */
    bad(e, 0, -1ull, -16ull, 15);
    poison(e, UBQ_POISON_SET, 0x1000, 0x1000);
    poison(e, UBQ_POISON_SET, 0x1800, 0x1000);  /* overlaps: one in the end */
    bad(e, 0, 0x10000, 0x1000, 0x800);
    bad(e, 0x1800, 0x10000, 0x1800, 0x1000);
    poison(e, UBQ_POISON_SET, 0x2800, 0x800);   /* behind: it grows */
    bad(e, 0x1800, 0x10000, 0x1800, 0x1800);
    poison(e, UBQ_POISON_CLEAR, 0x1fff, 2);
    bad(e, 0x1800, 0x10000, 0x1800, 0x7ff);
    bad(e, 0x1fff, 2, 0, 0);
    bad(e, 0x1fff, 3, 0x2001, 1);
    poison(e, UBQ_POISON_CLEAR, 0x2000, 2);     /* its first byte alone */
    bad(e, 0x1fff, 4, 0x2002, 1);
    poison(e, UBQ_POISON_CLEAR, 0x17fe, 0x801); /* and its last one */
    bad(e, 0x1000, 0x10000, 0x1000, 0x7fe);
    bad(e, 0x17fe, 0x10000, 0x2002, 0xffe);
    poison(e, UBQ_POISON_CLEAR, 0x2fff, 2);
    bad(e, 0x17fe, 0x10000, 0x2002, 0xffd);
    poison(e, UBQ_POISON_CLEAR, 0, -1ull);
    bad(e, 0, -2ull, 0, 0);
    bad(e, -1ull, 1, -1ull, 1);                 /* the very last is left */
    poison(e, UBQ_POISON_CLEAR, -1ull, 1);
    pair_stop(&p);
}

/* As many as may be; then nothing that would be one more, and poisoned data are not
 * put down. */
static void test_full(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    sends(&p, true);
    for (unsigned i = 0; i < UBQ_POISON_PIECES; i++) {
        poison(p.b, UBQ_POISON_SET, 0x10000000 + 8 * i, 3);
    }
    g_assert_cmpuint(poison_result(p.b, UBQ_POISON_SET, 0x20000000, 1, NULL,
                                   NULL), ==, UBQ_RESULT_FULL);
    g_assert_cmpuint(poison_result(p.b, UBQ_POISON_CLEAR, 0x10000001, 1, NULL,
                                   NULL), ==, UBQ_RESULT_FULL);
    poison(p.b, UBQ_POISON_SET, 0x10000001, 1); /* it is so */
    poison(p.b, UBQ_POISON_SET, 0x10000000, 1);
    poison(p.b, UBQ_POISON_SET, 0x10000001, 2);
    poison(p.b, UBQ_POISON_SET, 0x10000000, 3);
    bad(p.b, 0, -1ull, 0x10000000, 3);
    p.a->memory[p.local] = 0x5a;
    poison(p.a, UBQ_POISON_SET, p.local, 1);
    run_op(&p, UB_TA_WRITE, 0, 64, UBQ_STATUS_ABORT);
    g_assert_cmpuint(p.b->memory[p.remote], ==, 0);
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_POISON_FULL), ==, 1);
    poison(p.b, UBQ_POISON_CLEAR, 0x10000000, 3);
    ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
    run_op(&p, UB_TA_WRITE, 0, 64, UBQ_STATUS_OK);
    bad(p.b, p.remote, 64, p.remote, 64);
    pair_stop(&p);
}

/* Addresses that go beyond the last one are none: nothing becomes good by them, and
 * the list stays what an image may have.  Nor does what could not be written. */
static void test_nowhere(void)
{
    const uint64_t end = 0xfffffffffffffff0, far = 0x7fff00000000;
    uint8_t *image;
    size_t len;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    poison(p.a, UBQ_POISON_SET, 0x100000000, -0x100000000ull - 1);
    post_and_run(&p, memory_op(&p, UB_TA_READ, 0, 0, end, 32, 1), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_LOCAL_ACCESS);
    post_and_run(&p, memory_op(&p, UB_TA_READ, 0, 0, far, 32, 1), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_LOCAL_ACCESS);
    bad(p.a, 0, -1ull, 0x100000000, -0x100000000ull - 1);
    image = end_save(&p.ends, p.a, &len);
    g_assert_null(end_load(&p.ends, p.a, image, len));
    g_free(image);
    pair_stop(&p);
}

/* It is the state of memory, and goes with it; a reset forgets. */
static void test_image(void)
{
    uint8_t *image;
    uint16_t pi;
    size_t len;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    poison(p.b, UBQ_POISON_SET, p.remote + 3, 5);
    poison(p.b, UBQ_POISON_SET, p.remote + 300, 1);
    image = end_save(&p.ends, p.b, &len);
    pi = p.b->drv.cmd_pi;
    poison(p.b, UBQ_POISON_CLEAR, p.remote, ROOM);
    g_assert_null(end_load(&p.ends, p.b, image, len));
    g_free(image);
    p.b->drv.cmd_pi = pi;
    bad(p.b, p.remote, ROOM, p.remote + 3, 5);
    bad(p.b, p.remote + 8, ROOM, p.remote + 300, 1);
    /* Whoever resets the engine resets what is beneath it first. */
    ub_ta_reset(ub_node_ta(p.b->node));
    ub_urma_reset(p.b->urma);
    ubq_open(&p.b->drv);
    bad(p.b, 0, -1ull, 0, 0);
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/ub/urma/poison/write-rtp",
                         GUINT_TO_POINTER(UB_TP_RTP), test_write);
    g_test_add_data_func("/ub/urma/poison/write-ctp",
                         GUINT_TO_POINTER(UB_TP_CTP), test_write);
    g_test_add_data_func("/ub/urma/poison/read-rtp",
                         GUINT_TO_POINTER(UB_TP_RTP), test_read);
    g_test_add_data_func("/ub/urma/poison/read-ctp",
                         GUINT_TO_POINTER(UB_TP_CTP), test_read);
    g_test_add_func("/ub/urma/poison/atomic", test_atomic);
    g_test_add_func("/ub/urma/poison/message", test_message);
    g_test_add_func("/ub/urma/poison/list", test_list);
    g_test_add_func("/ub/urma/poison/full", test_full);
    g_test_add_func("/ub/urma/poison/nowhere", test_nowhere);
    g_test_add_func("/ub/urma/poison/image", test_image);
    return g_test_run();
}
