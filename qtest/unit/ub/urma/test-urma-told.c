/*
 * What software is told: every field of events and queries, counters, whose turn it is;
 * and that it is told the same by an engine that was saved and loaded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

/* The next event: its fields. */
static void event_is(End *e, unsigned want, uint32_t object, uint32_t entity,
                     uint32_t data)
{
    const uint8_t *at = ubq_eq_poll(&e->drv);
    uint32_t w0;

    g_assert_nonnull(at);
    w0 = get_le32(at);
    g_assert_cmphex((w0 & 0xff) << 8 | (w0 >> 8 & 0xff), ==, want);
    g_assert_cmpuint(get_le32(at + 4), ==, object);
    g_assert_cmpuint(get_le32(at + 8), ==, entity);
    g_assert_cmpuint(get_le32(at + 12), ==, data);
}

static void move(Pair *p, End *e)
{
    size_t len;
    g_autofree uint8_t *data = end_save(&p->ends, e, &len);

    g_assert_cmpstr(end_load(&p->ends, e, data, len), ==, NULL);
    ub_net_port_state(ub_node_net(e->node), p->ends.now, 0, 0xffff);
}

static void nop(UbqQueue *q)
{
    uint8_t *e = ubq_sqe(q, 1);

    ubq_sqe_put(e, UBQ_OP_NOP, 0, 0, 0);
    ubq_post(q, e, 1);
}

/* Rings where no memory is: what the event says of each. */
static void test_fatal(void)
{
    Pair p;
    End *e;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    e = p.a;
    ub_urma_reg_write(e->urma, UBQ_EQ(0) + UBQ_EQ_CTRL,
                      UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
    ub_urma_reg_write(e->urma, UBQ_EQ(4) + UBQ_EQ_BASE_LO, END_MEMORY);
    ub_urma_reg_write(e->urma, UBQ_EQ(4) + UBQ_EQ_SIZE, 4);
    ub_urma_reg_write(e->urma, UBQ_EQ(4) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE);
    ub_urma_event(e->urma, 4, UBQ_EVENT_ENTITY, 1, 2, 3);
    event_is(e, UBQ_EVENT_FATAL, 4, 0, 2);
    ub_urma_reg_write(e->urma, UBQ_CMD_WINDOW + UBQ_CMD_CTRL, 0);
    ub_urma_reg_write(e->urma, UBQ_CMD_WINDOW + UBQ_CMD_BASE_LO, END_MEMORY);
    ub_urma_reg_write(e->urma, UBQ_CMD_WINDOW + UBQ_CMD_CTRL, UBQ_CMD_ENABLE);
    ub_urma_reg_write(e->urma, UBQ_CMD_WINDOW + UBQ_CMD_PI, 1);
    ub_urma_run(e->urma, p.ends.now, 64);
    event_is(e, UBQ_EVENT_FATAL, 0, 0, 1);
    pair_stop(&p);
}

/* Completion queues: the event's fields. */
static void test_completion_event(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cq_arm(&p.cq_a, 2);
    nop(&p.qa);
    ends_run(&p.ends, 1000);
    event_is(p.a, UBQ_EVENT_COMPLETION, p.cq_a.id, 0, 1);
    pair_stop(&p);
}

/* Commands are counted, those that fail again; whoever has work asks for a turn. */
static void test_counted(void)
{
    uint8_t cmd[UBQ_CMD];
    uint64_t before;
    Pair p;
    End *e;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    e = p.a;
    before = ub_urma_counter(e->urma, UB_URMA_COMMANDS);
    g_assert_cmpuint(before, >, 0);
    e->kicks = 0;
    ubq_cmd_init(cmd, p.qa.id, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(e->kicks, ==, 1);
    g_assert_cmpuint(ub_urma_counter(e->urma, UB_URMA_COMMANDS), ==,
                     before + 1);
    ubq_cmd_init(cmd, 9999, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(ub_urma_counter(e->urma, UB_URMA_COMMANDS), ==,
                     before + 2);
    g_assert_cmpuint(ub_urma_counter(e->urma, UB_URMA_COMMANDS_FAILED), ==, 1);
    e->kicks = 0;
    nop(&p.qa);
    g_assert_cmpuint(e->kicks, ==, 1);
    nop(&p.qa);
    g_assert_cmpuint(e->kicks, ==, 1);      /* it waits for its turn already */
    pair_stop(&p);
}

/* A completion queue that is full, and one whose moderation waits, move. */
static void test_full_moves(void)
{
    UbqCq full;
    UbqQueue q;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cq_open(&full, &p.a->drv, 4);
    ubq_queue_open(&q, &p.a->drv, &full, NULL, UB_ROI, 0);
    for (unsigned i = 0; i < 16; i++) {
        nop(&q);
    }
    ends_run(&p.ends, 1000);
    move(&p, p.a);
    for (unsigned i = 0; i < 16; i++) {
        ubq_cq_expect(&full, UBQ_STATUS_OK);
    }
    nop(&q);
    ends_run(&p.ends, 1000);
    ubq_cq_expect(&full, UBQ_STATUS_OK);
    pair_stop(&p);
}

static void test_moderation_moves(void)
{
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(cmd, p.cq_a.id, 0);
    put_le16(cmd + UBQ_CQ_COUNT, 3);
    put_le32(cmd + UBQ_CQ_PERIOD, 50);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_CQ_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    for (unsigned i = 0; i < 2; i++) {
        /* No timer runs; or one does. */
        ubq_cq_arm(&p.cq_a, 2);
        if (!i) {
            move(&p, p.a);
        }
        nop(&p.qa);
        ends_run(&p.ends, 1000);
        if (i) {
            move(&p, p.a);
        }
        g_assert_null(ubq_eq_poll(&p.a->drv));
        ends_run(&p.ends, 60000);
        event_is(p.a, UBQ_EVENT_COMPLETION, p.cq_a.id, 0, 1 + i);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    }
    pair_stop(&p);
}

/* What a completion queue has, as its owner asks. */
static void cq_is(Pair *p, unsigned pi, unsigned ci)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, p->cq_a.id, 0);
    g_assert_cmpuint(ubq_command(&p->a->drv, UBQ_OP_CQ_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_CQ_PI), ==, pi);
    g_assert_cmpuint(get_le32(cmd + UBQ_CQ_CI), ==, ci);
}

/* A message waits at the peer as its sender moves: the completion is of its entry. */
static void test_index_moves(void)
{
    const uint8_t *c;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_recv(&p.qb, p.remote, 64);
    for (unsigned i = 0; i < 2; i++) {
        post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
        cq_is(&p, 1, i);
        if (!i) {
            ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
            ends_run(&p.ends, 1000);
        }
    }
    move(&p, p.a);
    cq_is(&p, 1, 1);
    ubq_recv(&p.qb, p.remote, 64);
    ends_run(&p.ends, 60ll * 1000000000);
    c = ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_INDEX), ==, 1);
    cq_is(&p, 2, 2);
    pair_stop(&p);
}

/* A queue goes while it waits for its turn: those before and behind it have theirs. */
static void test_gone_in_turn(gconstpointer which)
{
    unsigned gone = GPOINTER_TO_UINT(which);
    uint8_t cmd[UBQ_CMD];
    UbqQueue q[4];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(q); i++) {
        ubq_queue_open(&q[i], &p.a->drv, &p.cq_a, NULL, UB_ROI, 0);
    }
    ends_run(&p.ends, 1000);
    for (unsigned i = 0; i < 3; i++) {
        nop(&q[i]);
    }
    ubq_cmd_init(cmd, q[gone].id, 0);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_QUEUE_DESTROY, cmd), ==,
                     UBQ_RESULT_OK);
    nop(&q[3]);
    ends_run(&p.ends, 1000);
    for (unsigned i = 0; i < 4; i++) {
        if (i != gone) {
            const uint8_t *c = ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);

            g_assert_cmpuint(get_le32(c + UBQ_CQE_QUEUE), ==, q[i].id);
        }
    }
    g_assert_null(ubq_cq_poll(&p.cq_a));
    pair_stop(&p);
}

/* What was asked for when it was made, though it has no effect without its flag. */
static void test_query(void)
{
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_Q_SQ_LOG2] = 4;
    put_le32(cmd + UBQ_Q_SEND_CQ, p.cq_a.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    put_le32(cmd + UBQ_Q_LOCAL, 0x12345);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_cmd_init(cmd, get_le32(cmd + UBQ_CMD_OBJECT), 0);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmphex(get_le32(cmd + UBQ_Q_LOCAL), ==, 0x12345);
    g_assert_cmpuint(get_le32(cmd + UBQ_Q_GROUP), ==, UBQ_NEW);
    pair_stop(&p);
}

static unsigned let_pass;

static bool lose_later(End *to, CorePacket *pkt)
{
    return !let_pass || !let_pass--;
}

/* Two queues with half a message each: what is flushed is the one's that is in Error. */
static void test_half_other(void)
{
    UbqQueue other;
    uint8_t *e;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_queue_open(&other, &p.b->drv, &p.cq_b, &p.cq_b, UB_ROI, 0);
    ubq_recv(&p.qb, p.remote, 32768);
    ubq_recv(&other, p.remote + 32768, 32768);
    fill(p.a, p.local, 20000);
    p.b->lose = lose_later;
    for (unsigned i = 0; i < 2; i++) {
        let_pass = 2;
        e = message_op(&p, UB_TA_SEND, 0, p.local, 20000);
        put_le32(e + UBQ_SQE_TARGET, i ? other.id : p.qb.id);
        ubq_post(&p.qa, e, 1);
        ends_run(&p.ends, 10000);
    }
    ubq_queue_state(&p.qb, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    p.b->lose = NULL;
    ends_run(&p.ends, 100 * SECOND);
    {
        const uint8_t *c = ubq_cq_expect(&p.cq_b, UBQ_STATUS_FLUSHED);

        g_assert_cmpuint(get_le32(c + UBQ_CQE_QUEUE), ==, p.qb.id);
        c = ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le32(c + UBQ_CQE_QUEUE), ==, other.id);
    }
    check(p.b, p.remote + 32768, 20000);
    g_assert_null(ubq_cq_poll(&p.cq_b));
    pair_stop(&p);
}

static void never(void *opaque, const UbUrmaQueueInfo *q)
{
    g_assert_not_reached();
}

/* An image that ends too soon leaves nothing of itself. */
static void test_half_image(void)
{
    g_autofree uint8_t *data = NULL;
    UbUrma *u;
    size_t len, full;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    u = p.a->urma;
    {
        CoreImage *im = core_image_save(p.ends.now);

        ub_urma_image(u, im);
        data = core_image_take(im, &full);
        core_image_free(im);
    }
    for (len = 0; len < full; len += 7) {
        CoreImage *im = core_image_load(data, len, p.ends.now);

        ub_node_reset(p.a->node, p.ends.now);
        ub_urma_image(u, im);
        g_assert_nonnull(core_image_error(im));
        core_image_free(im);
        ub_urma_foreach(u, never, NULL);
        g_assert_cmphex(ub_urma_reg_read(u, UBQ_CMD_WINDOW + UBQ_CMD_BASE_LO),
                        ==, 0);
    }
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    static const char *const turns[] = { "first", "middle", "last" };

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/told/fatal", test_fatal);
    g_test_add_func("/ub/urma/told/completion", test_completion_event);
    g_test_add_func("/ub/urma/told/counted", test_counted);
    g_test_add_func("/ub/urma/told/full-moves", test_full_moves);
    g_test_add_func("/ub/urma/told/moderation-moves", test_moderation_moves);
    for (unsigned i = 0; i < G_N_ELEMENTS(turns); i++) {
        g_autofree char *name = g_strdup_printf("/ub/urma/told/gone-%s",
                                                turns[i]);

        g_test_add_data_func(name, GUINT_TO_POINTER(i), test_gone_in_turn);
    }
    g_test_add_func("/ub/urma/told/query", test_query);
    g_test_add_func("/ub/urma/told/index-moves", test_index_moves);
    g_test_add_func("/ub/urma/told/half-other", test_half_other);
    g_test_add_func("/ub/urma/told/half-image", test_half_image);
    return g_test_run();
}
