/*
 * What commands change in queues that live, and what of it stays: over a move, over
 * events that were told, beside other messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "internal.h"
#include "pair.h"

static unsigned query(UbqQueue *q, uint8_t cmd[UBQ_CMD])
{
    ubq_cmd_init(cmd, q->id, 0);
    return ubq_command(q->d, UBQ_OP_QUEUE_QUERY, cmd);
}

/* A command with other values in all that may be modified. */
static unsigned modify_all(UbqQueue *q, uint32_t mask, uint8_t timer)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, q->id, mask);
    put_le16(cmd + UBQ_Q_RQ_LIMIT, 3);
    cmd[UBQ_Q_RNR_TIMER] = timer;
    cmd[UBQ_Q_TRIES] = 99;
    cmd[UBQ_Q_ACK_TIMEOUT] = timer - 15;        /* as wrong, or the highest */
    put_le32(cmd + UBQ_Q_TOKEN_VALUE, TOKEN);
    put_le32(cmd + UBQ_Q_REMOTE, 77);
    memset(cmd + UBQ_Q_REMOTE_EID, 0x1f, 16);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_TOKEN | UBQ_Q_BOUND);
    return ubq_command(q->d, UBQ_OP_QUEUE_MODIFY, cmd);
}

/* Each bit of the mask changes what it names, and nothing else is looked at. */
static void test_mask(void)
{
    static const struct {
        uint32_t bit, flag;
    } bits[] = {
        { UBQ_QM_RQ_LIMIT, 0 }, { UBQ_QM_RNR_TIMER, 0 },
        { UBQ_QM_TOKEN, UBQ_Q_TOKEN }, { UBQ_QM_BOUND, UBQ_Q_BOUND },
        { UBQ_QM_TRIES, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(bits); i++) {
        uint8_t was[UBQ_CMD], now[UBQ_CMD];
        bool timer = bits[i].bit == UBQ_QM_RNR_TIMER;
        bool tries = bits[i].bit == UBQ_QM_TRIES;
        Pair p;

        pair_start(&p, UB_TP_RTP, UB_ROI, 0);
        g_assert_cmpuint(query(&p.qb, was), ==, UBQ_RESULT_OK);
        g_assert_cmpuint(modify_all(&p.qb, bits[i].bit, 20), ==,
                         timer || tries ? UBQ_RESULT_PARAMETER
                                        : UBQ_RESULT_OK);
        g_assert_cmpuint(modify_all(&p.qb, bits[i].bit, 19), ==,
                         UBQ_RESULT_OK);
        if (bits[i].bit == UBQ_QM_RQ_LIMIT) {
            put_le16(was + UBQ_Q_RQ_LIMIT, 3);
        } else if (timer) {
            was[UBQ_Q_RNR_TIMER] = 19;
        } else if (tries) {
            was[UBQ_Q_TRIES] = 99;
            was[UBQ_Q_ACK_TIMEOUT] = 4;
        } else if (bits[i].bit == UBQ_QM_TOKEN) {
            put_le32(was + UBQ_Q_TOKEN_VALUE, TOKEN);
        } else {
            put_le32(was + UBQ_Q_REMOTE, 77);
            memset(was + UBQ_Q_REMOTE_EID, 0x1f, 16);
        }
        put_le32(was + UBQ_Q_FLAGS, get_le32(was + UBQ_Q_FLAGS) |
                 bits[i].flag);
        g_assert_cmpuint(query(&p.qb, now), ==, UBQ_RESULT_OK);
        /* The Token itself is not told. */
        put_le32(was + UBQ_Q_TOKEN_VALUE, get_le32(now + UBQ_Q_TOKEN_VALUE));
        g_assert_cmpmem(now + UBQ_CMD_MASK, UBQ_CMD - UBQ_CMD_MASK,
                        was + UBQ_CMD_MASK, UBQ_CMD - UBQ_CMD_MASK);
        pair_stop(&p);
    }
}

static void send_token(Pair *p, uint32_t token, unsigned want)
{
    uint8_t *e = message_op(p, UB_TA_SEND, UBQ_SQE_TOKEN, p->local, 64);

    put_le32(e + UBQ_SQE_TOKEN_VALUE, token);
    post_and_run(p, e, 1);
    ubq_cq_expect(&p->cq_a, want);
}

/* A queue's Token is the same after a move. */
static void test_token_moves(void)
{
    g_autofree uint8_t *data = NULL;
    size_t len;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_recv(&p.qb, p.remote, 64);
    ubq_recv(&p.qb, p.remote, 64);
    g_assert_cmpuint(modify_all(&p.qb, UBQ_QM_TOKEN, 0), ==, UBQ_RESULT_OK);
    send_token(&p, TOKEN, UBQ_STATUS_OK);
    data = end_save(&p.ends, p.b, &len);
    g_assert_cmpstr(end_load(&p.ends, p.b, data, len), ==, NULL);
    ub_net_port_state(ub_node_net(p.b->node), p.ends.now, 0, 0xffff);
    send_token(&p, TOKEN + 1, UBQ_STATUS_ABORT);
    send_token(&p, 0, UBQ_STATUS_ABORT);
    send_token(&p, TOKEN, UBQ_STATUS_OK);
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_DENIED), ==, 2);
    pair_stop(&p);
}

static void set_tries(UbqQueue *q, unsigned tries, unsigned timeout)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, q->id, UBQ_QM_TRIES);
    cmd[UBQ_Q_TRIES] = tries;
    cmd[UBQ_Q_ACK_TIMEOUT] = timeout;
    g_assert_cmpuint(ubq_command(q->d, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
}

/* The entry comes when it comes, and a queue knows after a move, too, how often to ask;
 * one of an image that says nothing asks as the device does. */
static void test_tries_move(void)
{
    g_autofree uint8_t *data = NULL;
    uint8_t cmd[UBQ_CMD];
    UbTa *ta;
    uint64_t again;
    size_t len;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    set_tries(&p.qa, 3, 2);
    for (unsigned i = 0; i < 2; i++) {
        ta = ub_node_ta(p.a->node);
        again = ub_ta_counter(ta, UB_TAC_RETRIES);
        post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_RNR);
        g_assert_cmpuint(ub_ta_counter(ta, UB_TAC_RETRIES) - again, ==, 2);
        g_assert_cmpuint(query(&p.qa, cmd), ==, UBQ_RESULT_OK);
        g_assert_cmpuint(cmd[UBQ_Q_TRIES], ==, 3);
        g_assert_cmpuint(cmd[UBQ_Q_ACK_TIMEOUT], ==, 2);
        if (!i) {
            data = end_save(&p.ends, p.a, &len);
            g_assert_cmpstr(end_load(&p.ends, p.a, data, len), ==, NULL);
            ub_net_port_state(ub_node_net(p.a->node), p.ends.now, 0, 0xffff);
        }
    }
    pair_stop(&p);
}

/* Of a group, too; who is refused is counted. */
static void test_group_token(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t id;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_recv(&p.qb, p.remote, 64);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    put_le32(cmd + UBQ_JG_FLAGS, UBQ_Q_TOKEN);
    put_le32(cmd + UBQ_JG_TOKEN_VALUE, TOKEN);
    g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_JGROUP_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    id = get_le32(cmd + UBQ_CMD_OBJECT);
    ubq_cmd_init(cmd, p.qb.id, 0);
    put_le32(cmd + UBQ_JG_GROUP, id);
    g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_JGROUP_JOIN, cmd), ==,
                     UBQ_RESULT_OK);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *e = message_op(&p, UB_TA_SEND,
                                UBQ_SQE_GROUP | UBQ_SQE_TOKEN, p.local, 64);

        put_le32(e + UBQ_SQE_TARGET, id);
        put_le32(e + UBQ_SQE_TOKEN_VALUE, TOKEN + !i);
        post_and_run(&p, e, 1);
        ubq_cq_expect(&p.cq_a, i ? UBQ_STATUS_OK : UBQ_STATUS_ABORT);
        g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_DENIED), ==, 1);
    }
    pair_stop(&p);
}

static unsigned events(End *e)
{
    return ub_urma_reg_read(e->urma, UBQ_EQ(0) + UBQ_EQ_PI);
}

static void message(Pair *p)
{
    post_and_run(p, message_op(p, UB_TA_SEND, 0, p->local, 64), 1);
    ubq_cq_expect(&p->cq_a, UBQ_STATUS_OK);
}

/* That few entries are left is told once, and again when there were enough. */
static void test_limit_again(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    g_assert_cmpuint(modify_all(&p.qb, UBQ_QM_RQ_LIMIT, 0), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(events(p.b), ==, 1);
    ubq_recv(&p.qb, p.remote, 64);
    ubq_recv(&p.qb, p.remote, 64);
    message(&p);                        /* one of two is left: not enough */
    g_assert_cmpuint(events(p.b), ==, 1);
    ubq_recv(&p.qb, p.remote, 64);
    ubq_recv(&p.qb, p.remote, 64);      /* three are enough */
    message(&p);
    g_assert_cmpuint(events(p.b), ==, 2);
    message(&p);
    g_assert_cmpuint(events(p.b), ==, 2);
    pair_stop(&p);
}

/* A completion queue that has overflowed says so. */
static void test_cq_state(void)
{
    uint8_t cmd[UBQ_CMD];
    UbqQueue q;
    UbqCq cq;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cq_open(&cq, &p.a->drv, 4);
    ubq_queue_open(&q, &p.a->drv, &cq, NULL, UB_ROI, 0);
    for (unsigned i = 0; i < 17; i++) {
        uint8_t *e;

        ubq_cmd_init(cmd, cq.id, 0);
        g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_CQ_QUERY, cmd), ==,
                         UBQ_RESULT_OK);
        g_assert_cmpuint(cmd[UBQ_CQ_STATE], ==, 0);
        e = ubq_sqe(&q, 1);
        ubq_sqe_put(e, UBQ_OP_NOP, 0, 0, 0);
        ubq_post(&q, e, 1);
        ends_run(&p.ends, 1000);
    }
    ubq_cmd_init(cmd, cq.id, 0);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_CQ_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(cmd[UBQ_CQ_STATE], ==, 1);
    pair_stop(&p);
}

/* Inline data may be as long as the limit says, and not a byte longer. */
static void test_inline_limit(void)
{
    const unsigned blocks = (UBQ_BLOCK + UBQ_INLINE_MAX) / UBQ_BLOCK + 1;

    for (unsigned over = 0; over < 2; over++) {
        uint8_t *e;
        Pair p;

        pair_start(&p, UB_TP_RTP, UB_ROI, 0);
        e = memory_op(&p, UB_TA_WRITE, UBQ_SQE_INLINE, 0, 0,
                      UBQ_INLINE_MAX + over, blocks);
        put_le32(e + UBQ_SQE_W0, get_le32(e + UBQ_SQE_W0) & ~UBQ_SQE_ELEMENTS);
        for (unsigned i = 0; i < UBQ_INLINE_MAX; i++) {
            e[UBQ_BLOCK + i] = pattern(i);
        }
        post_and_run(&p, e, blocks);
        ubq_cq_expect(&p.cq_a, over ? UBQ_STATUS_LOCAL_LENGTH
                                    : UBQ_STATUS_OK);
        if (!over) {
            check(p.b, p.remote, UBQ_INLINE_MAX);
        }
        pair_stop(&p);
    }
}

static unsigned let_pass;

static bool lose_long(End *to, CorePacket *pkt)
{
    return pkt->len > 1000 && (!let_pass || !let_pass--);
}

/* One of two messages under way, by different channels, ends: the other one is known
 * as before. */
static void test_one_ends(void)
{
    UbqPeer peer;
    uint8_t *e;
    const uint8_t *c;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    peer = end_peer(p.a);
    ends_channel(&p.ends, 6);
    ubq_dest(&p.a->drv, 10, 0, 6, &peer);
    for (unsigned i = 0; i < 2; i++) {
        ubq_recv(&p.qb, p.remote + i * 32768, 32768);
    }
    fill(p.a, p.local, 20000);
    p.b->lose = lose_long;
    let_pass = 2;
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 20000), 1);
    ends_run(&p.ends, 10000);
    e = message_op(&p, UB_TA_SEND, 0, p.local, 64);
    put_le32(e + UBQ_SQE_DEST, 10);
    ubq_post(&p.qa, e, 1);
    ends_run(&p.ends, 10000);
    c = ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_INDEX), ==, 1);
    ubq_queue_state(&p.qb, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    ends_run(&p.ends, 10000);
    c = ubq_cq_expect(&p.cq_b, UBQ_STATUS_FLUSHED);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_INDEX), ==, 0);
    pair_stop(&p);
}

/* Numbers go round; what is taken is passed by. */
static void test_numbers(void)
{
    uint32_t id = UBQ_NEW, hint = 8;
    CoreTable t = { 0 };

    core_table_init(&t, 8);
    g_assert_cmpuint(urma_number(&t, 5, 8, &hint, &id), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(id, ==, 5);
    for (uint32_t n = 5; n < 8; n++) {
        id = UBQ_NEW;
        hint = 6;
        core_table_set(&t, n, &t);
        g_assert_cmpuint(urma_number(&t, 5, 8, &hint, &id), ==,
                         n < 7 ? UBQ_RESULT_OK : UBQ_RESULT_FULL);
        if (n < 7) {
            g_assert_cmpuint(id, ==, n == 5 ? 6 : 7);
        }
    }
    id = 8;
    g_assert_cmpuint(urma_number(&t, 5, 8, &hint, &id), ==,
                     UBQ_RESULT_PARAMETER);
    core_table_free(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/modify/mask", test_mask);
    g_test_add_func("/ub/urma/modify/token-moves", test_token_moves);
    g_test_add_func("/ub/urma/modify/tries-move", test_tries_move);
    g_test_add_func("/ub/urma/modify/group-token", test_group_token);
    g_test_add_func("/ub/urma/modify/limit-again", test_limit_again);
    g_test_add_func("/ub/urma/modify/cq-state", test_cq_state);
    g_test_add_func("/ub/urma/modify/inline-limit", test_inline_limit);
    g_test_add_func("/ub/urma/modify/one-ends", test_one_ends);
    g_test_add_func("/ub/urma/modify/numbers", test_numbers);
    return g_test_run();
}
