/*
 * Queues of the transaction engine over all floors down to the network layer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

/* ---- What queues do ----------------------------------------------------------------- */

/* Sizes over each carrier; Bypass carries blocks of 64 bytes times a power. */
static void test_write_read(gconstpointer carrier)
{
    static const uint32_t sizes[] = { 1, 64, 100, 1024, 4096, 5000, 65536,
                                      200000 };
    static const uint32_t blocks[] = { 64, 256, 1024, 4096 };
    unsigned c = GPOINTER_TO_UINT(carrier);
    bool bypass = c == UB_TP_BYPASS;
    Pair p;

    pair_start(&p, c, UB_ROI, 0);
    for (unsigned i = 0; i < (bypass ? G_N_ELEMENTS(blocks)
                                     : G_N_ELEMENTS(sizes)); i++) {
        write_read(&p, bypass ? blocks[i] : sizes[i]);
    }
    pair_stop(&p);
}

static void test_send(gconstpointer carrier)
{
    unsigned c = GPOINTER_TO_UINT(carrier);
    const uint8_t *cqe;
    Pair p;

    pair_start(&p, c, c == UB_TP_UTP ? UB_UNO : UB_ROI, 0);
    fill(p.a, p.local, 3000);
    ubq_recv(&p.qb, p.remote, 4096);
    post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 3000), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    cqe = ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
    g_assert_cmphex(get_le32(cqe) & (UBQ_CQE_OPCODE | UBQ_CQE_RECEIVE |
                                     UBQ_CQE_IMM), ==,
                    UB_TA_SEND | UBQ_CQE_RECEIVE);
    g_assert_cmpuint(get_le32(cqe + UBQ_CQE_BYTES), ==, 3000);
    g_assert_cmpuint(get_le32(cqe + UBQ_CQE_REMOTE), ==, p.qa.id);
    g_assert_cmpuint(cqe[UBQ_CQE_EID + 15], ==, 1);
    check(p.b, p.remote, 3000);
    ubq_recv(&p.qb, p.remote + 8192, 4096);
    post_and_run(&p, message_op(&p, UB_TA_SEND_IMM, UBQ_SQE_SOLICITED,
                                p.local, 100), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    cqe = ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
    g_assert_cmphex(get_le32(cqe) & (UBQ_CQE_IMM | UBQ_CQE_SOLICITED), ==,
                    UBQ_CQE_IMM | UBQ_CQE_SOLICITED);
    g_assert_cmphex(get_le64(cqe + UBQ_CQE_IMMEDIATE), ==,
                    0x1122334455667788ull);
    g_assert_cmpuint(get_le32(cqe + UBQ_CQE_INDEX), ==, 1);
    pair_stop(&p);
}

/* An entry without a receive entry waits for one (RNR) and then goes. */
static void test_rnr(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    fill(p.a, p.local, 64);
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    ends_run(&p.ends, 100000);
    g_assert_null(ubq_cq_poll(&p.cq_a));
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_RNR), >, 0);
    ubq_recv(&p.qb, p.remote, 64);
    ends_run(&p.ends, 10 * SECOND);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
    check(p.b, p.remote, 64);
    pair_stop(&p);
}

/* Operands inline; each returns what was there. */
static void test_atomics(void)
{
    static const struct {
        unsigned opcode;
        uint64_t one, two, left;
    } table[] = {
        { UB_TA_FETCH_ADD, 5, 0, 105 },
        { UB_TA_FETCH_SUB, 5, 0, 100 },
        { UB_TA_FETCH_OR, 3, 0, 103 },
        { UB_TA_FETCH_AND, 0xfe, 0, 102 },
        { UB_TA_FETCH_XOR, 0xff, 0, 153 },
        { UB_TA_ATOMIC_SWAP, 42, 0, 42 },
        { UB_TA_ATOMIC_CAS, 42, 7, 7 },
        { UB_TA_ATOMIC_CAS, 42, 8, 7 },
    };
    uint64_t now = 100;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    put_le64(p.b->memory + p.remote + 16, now);
    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        uint8_t *e = memory_op(&p, table[i].opcode, UBQ_SQE_INLINE, 16,
                               p.local, 8, 2);

        put_le64(e + UBQ_BLOCK, table[i].one);
        put_le64(e + UBQ_BLOCK + 8, table[i].two);
        post_and_run(&p, e, 2);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le64(p.a->memory + p.local), ==, now);
        now = table[i].left;
        g_assert_cmpuint(get_le64(p.b->memory + p.remote + 16), ==, now);
    }
    pair_stop(&p);
}

/* Inline data, several elements, notification, immediate. */
static void test_forms(void)
{
    const uint8_t *cqe;
    uint8_t *e;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    e = memory_op(&p, UB_TA_WRITE, UBQ_SQE_INLINE, 0, 0, 200, 5);
    for (unsigned i = 0; i < 200; i++) {
        e[UBQ_BLOCK + i] = pattern(i);
    }
    ubq_post(&p.qa, e, 5);
    memset(e + UBQ_BLOCK, 0, 200); /* taken when it is read, not when posted */
    for (unsigned i = 0; i < 200; i++) {
        e[UBQ_BLOCK + i] = pattern(i);
    }
    ends_run(&p.ends, SECOND);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    check(p.b, p.remote, 200);
    /* Three elements, gathered by a Write and filled by a Read. */
    fill(p.a, p.local, 1000);
    memmove(p.a->memory + p.local + 5000, p.a->memory + p.local + 100, 300);
    memmove(p.a->memory + p.local + 9000, p.a->memory + p.local + 400, 600);
    memset(p.a->memory + p.local + 100, 0, 900);
    for (unsigned read = 0; read < 2; read++) {
        e = memory_op(&p, read ? UB_TA_READ : UB_TA_WRITE, 0, 4096, p.local,
                      1000, 2);
        put_le32(e, (get_le32(e) & ~UBQ_SQE_ELEMENTS) | 3 << 12);
        put_le32(e + UBQ_SQE_ELEMENT + 8, 100);
        put_le64(e + UBQ_BLOCK, p.local + 5000);
        put_le32(e + UBQ_BLOCK + 8, 300);
        put_le64(e + UBQ_BLOCK + 16, p.local + 9000);
        put_le32(e + UBQ_BLOCK + 24, 600);
        post_and_run(&p, e, 2);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
        check(p.b, p.remote + 4096, 1000);
        if (!read) {
            memset(p.a->memory + p.local, 0, 10000);
        }
    }
    memmove(p.a->memory + p.local + 100, p.a->memory + p.local + 5000, 300);
    memmove(p.a->memory + p.local + 400, p.a->memory + p.local + 9000, 600);
    check(p.a, p.local, 1000);
    /* Write_with_notify: eight bytes elsewhere, after the data. */
    e = memory_op(&p, UB_TA_WRITE_NOTIFY, 0, 0, p.local, 1000, 2);
    put_le64(e + UBQ_SQE_IMM, 0xabcdef);
    put_le64(e + UBQ_SQE_NOTIFY, 0x10000 + 8192);
    put_le32(e + UBQ_BLOCK, 77);
    put_le32(e + UBQ_BLOCK + 4, TOKEN);
    post_and_run(&p, e, 2);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    check(p.b, p.remote, 1000);
    /* Write_with_immediate takes a receive entry. */
    ubq_recv(&p.qb, p.remote + 65536, 64);
    e = memory_op(&p, UB_TA_WRITE_IMM, 0, 16384, p.local, 500, 1);
    put_le64(e + UBQ_SQE_IMM, 99);
    put_le64(e + UBQ_SQE_NOTIFY, p.qb.id);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    cqe = ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
    g_assert_cmphex(get_le32(cqe) & UBQ_CQE_OPCODE, ==, UB_TA_WRITE_IMM);
    g_assert_cmpuint(get_le64(cqe + UBQ_CQE_IMMEDIATE), ==, 99);
    g_assert_cmpuint(get_le32(cqe + UBQ_CQE_BYTES), ==, 500);
    check(p.b, p.remote + 16384, 500);
    /* An entry that does nothing completes behind those before it. */
    ubq_post(&p.qa, memory_op(&p, UB_TA_READ, 0, 0, p.local, 4096, 1), 1);
    e = ubq_sqe(&p.qa, 1);
    ubq_sqe_put(e, UBQ_OP_NOP, 0, 0, 0);
    post_and_run(&p, e, 1);
    cqe = ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    g_assert_cmphex(get_le32(cqe) & UBQ_CQE_OPCODE, ==, UB_TA_READ);
    cqe = ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    g_assert_cmphex(get_le32(cqe) & UBQ_CQE_OPCODE, ==, UBQ_OP_NOP);
    pair_stop(&p);
}

/* ---- What is refused ------------------------------------------------------------------ */

static void test_errors(void)
{
    Pair p;
    uint8_t *e;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    /* Another TokenValue, none, beyond the segment, no such segment. */
    e = memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, 1);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
    e = memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1);
    put_le32(e, get_le32(e) & ~UBQ_SQE_TOKEN);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
    post_and_run(&p, memory_op(&p, UB_TA_READ, 0, ROOM - 63, p.local, 64, 1),
                 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
    e = memory_op(&p, UB_TA_READ, 0, 0, p.local, 64, 1);
    put_le32(e + UBQ_SQE_TARGET, 78);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_SEGMENT_DENIED), ==, 4);
    /* Memory that is not there, here; elements shorter than the length. */
    post_and_run(&p, memory_op(&p, UB_TA_WRITE, 0, 0, END_MEMORY - 10, 64, 1),
                 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_LOCAL_ACCESS);
    e = memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1);
    put_le32(e + UBQ_SQE_ELEMENT + 8, 63);
    post_and_run(&p, e, 1);
    g_assert_nonnull(ubq_cq_poll(&p.cq_a));
    /* Opcodes that are none. */
    post_and_run(&p, memory_op(&p, 0x02, 0, 0, p.local, 64, 1), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OPCODE);
    post_and_run(&p, memory_op(&p, UB_TA_MANAGEMENT, 0, 0, p.local, 64, 1), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OPCODE);
    /* A queue that is not there. */
    e = message_op(&p, UB_TA_SEND, 0, p.local, 64);
    put_le32(e + UBQ_SQE_TARGET, 4000);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_UNSUPPORTED);
    /* More elements than there may be, longer than its blocks. */
    e = ubq_sqe(&p.qa, 1);
    ubq_sqe_put(e, UB_TA_WRITE | 33 << 12, 9, 0, 64);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_LOCAL_LENGTH);
    e = ubq_sqe(&p.qa, 1);
    ubq_sqe_put(e, UB_TA_WRITE | 3 << 12, 9, 0, 64);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_LOCAL_LENGTH);
    g_assert_cmpuint(p.a->guest_errors, ==, 2);
    /* All that while the queue went on (Exception mode continue). */
    write_read(&p, 64);
    pair_stop(&p);
}

/* A queue in mode suspend stops behind the entry that failed. */
static void test_suspend(void)
{
    Pair p;
    uint8_t *e;

    pair_start(&p, UB_TP_RTP, UB_ROI, UBQ_Q_SUSPEND | UBQ_Q_IN_ORDER);
    fill(p.a, p.local, 64);
    e = memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, 1);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
    post_and_run(&p, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    g_assert_null(ubq_cq_poll(&p.cq_a));
    ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
    ends_run(&p.ends, SECOND);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    check(p.b, p.remote, 64);
    pair_stop(&p);
}

/* Error flushes what is under way and what was never begun; Reset forgets. */
static void test_flush(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (unsigned i = 0; i < 8; i++) {
        ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    }
    ends_run(&p.ends, 100000);
    g_assert_null(ubq_cq_poll(&p.cq_a)); /* no receive entries */
    ubq_queue_state(&p.qa, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    for (unsigned i = 0; i < 4; i++) {
        ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    }
    ends_run(&p.ends, SECOND);
    for (unsigned i = 0; i < 12; i++) {
        const uint8_t *c = ubq_cq_expect(&p.cq_a, UBQ_STATUS_FLUSHED);

        g_assert_cmpuint(get_le32(c + UBQ_CQE_INDEX), ==, i);
    }
    ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_STATE);
    ubq_queue_state(&p.qa, UBQ_STATE_RESET, UBQ_RESULT_OK);
    ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
    write_read(&p, 64);
    pair_stop(&p);
}

static bool lose_all(End *to, CorePacket *pkt)
{
    return true;
}

/* The peer is gone: after its tries the channel gives up, with an event, and what
 * was under way completes; what comes after fails at once. */
static void test_peer_gone(void)
{
    uint8_t cmd[UBQ_CMD];
    unsigned ci = 0;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    write_read(&p, 4096);
    p.b->lose = lose_all;
    ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 65536, 1), 1);
    ends_run(&p.ends, 1000 * SECOND);
    g_assert_cmpuint(eq_take(p.a, &ci, UBQ_EVENT_TP_RETRIES), ==, 5);
    g_assert_cmphex(ubq_cqe_status(ubq_cq_poll(&p.cq_a)), !=, UBQ_STATUS_OK);
    ubq_cmd_init(cmd, 5, 0);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_CHANNEL_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(cmd[UBQ_CH_STATE], ==, 3);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_CHANNEL_DESTROY, cmd), ==,
                     UBQ_RESULT_OK);
    pair_stop(&p);
}

/* Tokens of queues, bound senders. */
static void test_sender(void)
{
    uint8_t cmd[UBQ_CMD];
    Pair p;
    uint8_t *e;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(cmd, p.qb.id, UBQ_QM_TOKEN);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_TOKEN);
    put_le32(cmd + UBQ_Q_TOKEN_VALUE, 5);
    g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_recv(&p.qb, p.remote, 64);
    post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
    e = message_op(&p, UB_TA_SEND, UBQ_SQE_TOKEN, p.local, 64);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, 5);
    post_and_run(&p, e, 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    ubq_cmd_init(cmd, p.qb.id, UBQ_QM_TOKEN | UBQ_QM_BOUND);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_BOUND);
    put_le32(cmd + UBQ_Q_REMOTE, p.qa.id + 1);
    cmd[UBQ_Q_REMOTE_EID + 15] = 1;
    g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_recv(&p.qb, p.remote, 64);
    post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
    ubq_cmd_init(cmd, p.qb.id, UBQ_QM_BOUND);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_BOUND);
    put_le32(cmd + UBQ_Q_REMOTE, p.qa.id);
    cmd[UBQ_Q_REMOTE_EID + 15] = 1;
    g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_DENIED), ==, 2);
    pair_stop(&p);
}

/* With a sequence context requests name that, and not their queue: the sender is
 * still the same (UB 2.0 §7.3.3.3). */
static void test_sender_rot(void)
{
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROT, 0);
    ubq_cmd_init(cmd, p.qb.id, UBQ_QM_BOUND);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_BOUND);
    put_le32(cmd + UBQ_Q_REMOTE, p.qa.id);
    cmd[UBQ_Q_REMOTE_EID + 15] = 1;
    g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    for (unsigned i = 0; i < 4; i++) {
        ubq_recv(&p.qb, p.remote, 64);
        post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    }
    g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_DENIED), ==, 0);
    pair_stop(&p);
}

/* ---- Completion and event queues ------------------------------------------------------- */

static void test_events(void)
{
    uint8_t cmd[UBQ_CMD];
    unsigned ci = 0;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ub_urma_reg_write(p.a->urma, UBQ_EQ(0) + UBQ_EQ_ARM, 0);
    ubq_cq_arm(&p.cq_a, 2);
    post_and_run(&p, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    g_assert_cmpuint(eq_take(p.a, &ci, UBQ_EVENT_COMPLETION), ==, p.cq_a.id);
    g_assert_cmpuint(p.a->interrupts, ==, 1);
    g_assert_cmpuint(p.a->vector, ==, 7);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    /* Not armed: no event; armed with something unread: at once. */
    post_and_run(&p, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    g_assert_cmpuint(ub_urma_reg_read(p.a->urma, UBQ_EQ(0) + UBQ_EQ_PI), ==, 1);
    ubq_cq_arm(&p.cq_a, 2);
    eq_take(p.a, &ci, UBQ_EVENT_COMPLETION);
    g_assert_cmpuint(p.a->interrupts, ==, 1); /* the event queue was not armed */
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    /* Solicited only. */
    ubq_cq_arm(&p.cq_a, 1);
    post_and_run(&p, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    g_assert_cmpuint(ub_urma_reg_read(p.a->urma, UBQ_EQ(0) + UBQ_EQ_PI), ==, 2);
    post_and_run(&p, memory_op(&p, UB_TA_WRITE, UBQ_SQE_EVENT, 0, p.local, 64,
                               1), 1);
    eq_take(p.a, &ci, UBQ_EVENT_COMPLETION);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    /* Moderation: three of them, or 50 us. */
    ubq_cmd_init(cmd, p.cq_a.id, 0);
    put_le16(cmd + UBQ_CQ_COUNT, 3);
    put_le32(cmd + UBQ_CQ_PERIOD, 5000000);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_CQ_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_cq_arm(&p.cq_a, 2);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpuint(ub_urma_reg_read(p.a->urma, UBQ_EQ(0) + UBQ_EQ_PI),
                         ==, 3);
        ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
        ends_run(&p.ends, 1000000);
    }
    eq_take(p.a, &ci, UBQ_EVENT_COMPLETION);
    for (unsigned i = 0; i < 3; i++) {
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    }
    ubq_cq_arm(&p.cq_a, 2);
    ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    ends_run(&p.ends, 1 * SECOND);
    g_assert_cmpuint(ub_urma_reg_read(p.a->urma, UBQ_EQ(0) + UBQ_EQ_PI), ==, 4);
    ends_run(&p.ends, 5 * SECOND);
    eq_take(p.a, &ci, UBQ_EVENT_COMPLETION);
    pair_stop(&p);
}

/* A completion queue that nobody reads says so once and loses the rest. */
static void test_overflow(void)
{
    unsigned ci = 0;
    UbqCq small;
    UbqQueue q;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cq_open(&small, &p.a->drv, 4);
    ubq_queue_open(&q, &p.a->drv, &small, NULL, UB_ROI, 0);
    for (unsigned i = 0; i < 20; i++) {
        uint8_t *e = ubq_sqe(&q, 1);

        ubq_sqe_put(e, UBQ_OP_NOP, 0, 0, 0);
        ubq_post(&q, e, 1);
    }
    ends_run(&p.ends, SECOND);
    g_assert_cmpuint(eq_take(p.a, &ci, UBQ_EVENT_JFC_CHECK), ==, small.id);
    g_assert_cmpuint(ub_urma_reg_read(p.a->urma, UBQ_EQ(0) + UBQ_EQ_PI), ==, 1);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_CQES_LOST), ==, 4);
    g_assert_cmpuint(p.a->guest_errors, ==, 1);
    pair_stop(&p);
}

/* Fewer receive entries than asked for. */
static void test_limit(void)
{
    uint8_t cmd[UBQ_CMD];
    unsigned ci = 0;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (unsigned i = 0; i < 3; i++) {
        ubq_recv(&p.qb, p.remote, 64);
    }
    ubq_cmd_init(cmd, p.qb.id, UBQ_QM_RQ_LIMIT);
    put_le16(cmd + UBQ_Q_RQ_LIMIT, 2);
    g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    for (unsigned i = 0; i < 3; i++) {
        post_and_run(&p, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    }
    g_assert_cmpuint(eq_take(p.b, &ci, UBQ_EVENT_RQ_LIMIT), ==, p.qb.id);
    g_assert_cmpuint(ub_urma_reg_read(p.b->urma, UBQ_EQ(0) + UBQ_EQ_PI), ==, 1);
    pair_stop(&p);
}

/* ---- Guests that lie ------------------------------------------------------------------------ */

static void test_bells(void)
{
    Pair p;

    pair_start(&p, UB_TP_CTP, UB_ROI, 0);
    for (unsigned bell = 0; bell < 0x40; bell += 8) {
        ub_urma_bell(p.a->urma, 0, bell, 0xffff00000000ull | p.qa.id);
        ub_urma_bell(p.a->urma, 1, bell, 0x100000000ull | p.qa.id);
        ub_urma_bell(p.a->urma, 0, bell, 0xfffff);
    }
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==, 24);
    write_read(&p, 64);
    /* More than the ring has; an entry that is not the device's. */
    ub_urma_bell(p.a->urma, 0, UBQ_BELL_SQ,
                 p.qa.id | (uint64_t)(uint16_t)(p.qa.sq_pi + 65) << 32);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==, 25);
    ub_urma_bell(p.a->urma, 0, UBQ_BELL_SQ,
                 p.qa.id | (uint64_t)(p.qa.sq_pi + 1) << 32);
    ends_run(&p.ends, SECOND);
    g_assert_cmpstr(p.a->last_error, ==, "send queue entry that is not there, "
                    "or not the device's");
    ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_STATE);
    pair_stop(&p);
}

/* Noise in all that a guest writes; nothing but errors may come of it. */
static void test_noise(void)
{
    GRand *r = g_test_rand_int() ? g_rand_new_with_seed(g_test_rand_int())
                                 : g_rand_new();
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (unsigned i = 0; i < 20000; i++) {
        End *e = &p.ends.end[i & 1];
        uint64_t v = (uint64_t)g_rand_int(r) << 32 | g_rand_int(r);
        uint8_t cmd[UBQ_CMD];
        uint8_t *sqe;

        switch (g_rand_int_range(r, 0, 6)) {
        case 0:
            ub_urma_bell(e->urma, 0, g_rand_int_range(r, 0, 4) * 8,
                         (v & ~0xfffffull) |
                         g_rand_int_range(r, 1020, 1030));
            break;
        case 1:
            sqe = ubq_sqe(&p.qa, 1);
            for (unsigned j = 0; j < UBQ_BLOCK; j++) {
                sqe[j] = g_rand_int(r);
            }
            put_le32(sqe + UBQ_SQE_DEST, g_rand_int_range(r, 8, 11));
            put_le32(sqe + UBQ_SQE_LENGTH, g_rand_int_range(r, 0, 20000));
            put_le64(sqe + UBQ_SQE_ELEMENT, v % (2 * END_MEMORY));
            ubq_post(&p.qa, sqe, 1);
            break;
        case 2:
            for (unsigned j = 0; j < UBQ_CMD; j++) {
                cmd[j] = g_rand_int(r) & g_rand_int(r) & g_rand_int(r);
            }
            put_le32(cmd + UBQ_CMD_OBJECT,
                     g_rand_boolean(r) ? UBQ_NEW
                                       : g_rand_int_range(r, 0, 2000));
            if (get_le32(cmd + UBQ_CMD_OBJECT) == p.qa.id) {
                break;      /* it is still needed */
            }
            ubq_command(&e->drv, g_rand_int_range(r, 0, 0x62), cmd);
            break;
        case 3:
            /* Not of the command queue and of event queue 0: the driver's. */
            ub_urma_reg_write(e->urma, UBQ_EQ(1) +
                              g_rand_int_range(r, 0, 64) * 4, v);
            break;
        case 4:
            ubq_queue_state(&p.qa, UBQ_STATE_ERROR,
                            UBQ_RESULT_OK);
            ubq_queue_state(&p.qa, UBQ_STATE_RESET, UBQ_RESULT_OK);
            ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
            break;
        default:
            ends_run(&p.ends, g_rand_int_range(r, 1, 1000000));
            break;
        }
    }
    ends_run(&p.ends, 10 * SECOND);
    pair_stop(&p);
    g_rand_free(r);
}

/* ---- Hostile neighbours ----------------------------------------------------- */

static unsigned let_pass;

/* The wire breaks behind the next @let_pass packets. */
static bool lose_later(End *to, CorePacket *pkt)
{
    return !let_pass || !let_pass--;
}

/* A message is half there. */
static void half_message(Pair *p)
{
    pair_start(p, UB_TP_RTP, UB_ROI, 0);
    fill(p->a, p->local, 20000);
    ubq_recv(&p->qb, p->remote, 32768);
    let_pass = 2;
    p->b->lose = lose_later;
    ubq_post(&p->qa, message_op(p, UB_TA_SEND, 0, p->local, 20000), 1);
    ends_run(&p->ends, 1000000);
    check(p->b, p->remote, 2 * 4096);
}

/* What a queue had taken is its owner's again when it is reset or destroyed:
 * nothing is written there, and nothing is heard of it. */
static void test_receive_gone(gconstpointer destroy)
{
    uint8_t cmd[UBQ_CMD];
    Pair p;

    half_message(&p);
    if (destroy) {
        ubq_cmd_init(cmd, p.qb.id, 0);
        g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_QUEUE_DESTROY, cmd), ==,
                         UBQ_RESULT_OK);
    } else {
        ubq_queue_state(&p.qb, UBQ_STATE_RESET, UBQ_RESULT_OK);
        ubq_queue_state(&p.qb, UBQ_STATE_READY, UBQ_RESULT_OK);
    }
    memset(p.b->memory + p.remote, 0, 32768);
    p.b->lose = NULL;
    ends_run(&p.ends, 100 * SECOND);
    for (unsigned i = 0; i < 32768; i++) {
        g_assert_cmphex(p.b->memory[p.remote + i], ==, 0);
    }
    ubq_cq_expect(&p.cq_a, UB_TAS_ABORT);
    g_assert_null(ubq_cq_poll(&p.cq_b));
    pair_stop(&p);
}

/* A channel that is given up, or goes, takes those that wait for room in it
 * along. */
static void test_channel_gone(gconstpointer destroy)
{
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    let_pass = 0;
    p.b->lose = lose_later;
    for (unsigned i = 0; i < 40; i++) {
        ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 65536, 1),
                 1);
    }
    ends_run(&p.ends, SECOND);
    if (destroy) {
        ubq_cmd_init(cmd, 5, 0);
        g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_CHANNEL_DESTROY, cmd),
                         ==, UBQ_RESULT_OK);
    }
    ends_run(&p.ends, 1000 * SECOND);
    for (unsigned i = 0; i < 40; i++) {
        ubq_cq_expect(&p.cq_a, UB_TAS_TIMEOUT);
    }
    pair_stop(&p);
}

/* A queue that is reset or destroyed in the middle of its work forgets it
 * without a word; the next of its number begins anew. */
static void test_busy_gone(gconstpointer destroy)
{
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (unsigned i = 0; i < 3; i++) {
        ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 65536, 1),
                 1);
    }
    let_pass = 2;
    p.b->lose = lose_later;
    ends_run(&p.ends, 3000);
    if (destroy) {
        ubq_cmd_init(cmd, p.qa.id, 0);
        g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_QUEUE_DESTROY, cmd), ==,
                         UBQ_RESULT_OK);
        ubq_queue_open(&p.qa, &p.a->drv, &p.cq_a, &p.cq_a, UB_ROI, 0);
    } else {
        ubq_queue_state(&p.qa, UBQ_STATE_RESET, UBQ_RESULT_OK);
        ubq_queue_state(&p.qa, UBQ_STATE_READY, UBQ_RESULT_OK);
    }
    p.b->lose = NULL;
    ends_run(&p.ends, SECOND);
    g_assert_null(ubq_cq_poll(&p.cq_a));
    write_read(&p, 20000);
    pair_stop(&p);
}

/* ---- Migration ------------------------------------------------------------------------------- */

/* Both ends move while requests are under way: all complete, once, with the right
 * data. */
static void test_migrate(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    fill(p.a, p.local, 65536);
    for (unsigned i = 0; i < 3; i++) {
        ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 65536, 1),
                 1);
    }
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    ends_run(&p.ends, 3000);
    for (unsigned i = 0; i < 2; i++) {
        size_t len;
        g_autofree uint8_t *data = end_save(&p.ends, &p.ends.end[i], &len);
        CorePacket *pkt;

        while ((pkt = g_queue_pop_head(&p.ends.end[i].in))) {
            core_packet_free(pkt);
        }
        g_assert_cmpstr(end_load(&p.ends, &p.ends.end[i], data, len), ==,
                        NULL);
        ub_net_port_state(ub_node_net(p.ends.end[i].node), p.ends.now, 0,
                          0xffff);
    }
    ubq_recv(&p.qb, p.remote + 128 * 1024, 64);
    ends_run(&p.ends, 100 * SECOND);
    for (unsigned i = 0; i < 4; i++) {
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    }
    g_assert_null(ubq_cq_poll(&p.cq_a));
    ubq_cq_expect(&p.cq_b, UBQ_STATUS_OK);
    check(p.b, p.remote, 65536);
    check(p.b, p.remote + 128 * 1024, 64);
    pair_stop(&p);
}

/* No request is given away twice. */
static void test_adopt(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    ends_run(&p.ends, 3000);
    g_assert_nonnull(ub_urma_adopt(p.a->urma, p.qa.id, 0));
    g_assert_null(ub_urma_adopt(p.a->urma, p.qa.id, 0));
    pair_stop(&p);
}

/* A receive entry of the image may not have a name that comes. */
static void test_receive_name(void)
{
    g_autofree uint8_t *before = NULL, *data = NULL;
    size_t len, at = 10;    /* behind the header */
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    before = end_save(&p.ends, p.b, &len);
    pair_stop(&p);
    half_message(&p);
    data = end_save(&p.ends, p.b, &len);
    while (data[at] == before[at]) {
        at++;
    }
    g_assert_cmpuint(data[at], ==, 2);      /* the name of the next */
    g_assert_cmpstr(end_load(&p.ends, p.b, data, len), ==, NULL);
    data[at] = 1;
    g_assert_cmpstr(end_load(&p.ends, p.b, data, len), ==,
                    "receive entry with a name that was not given");
    pair_stop(&p);
}

/* What a guest posts that cannot be does not keep its machine from moving. */
static void test_migrate_nonsense(void)
{
    g_autofree uint8_t *data = NULL;
    size_t len;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_post(&p.qa, message_op(&p, 0x3f, 0, p.local, 64), 1);
    ubq_post(&p.qa, message_op(&p, UB_TA_SEND, UBQ_SQE_ORDER, p.local, 64),
             1);
    ub_urma_run(p.a->urma, p.ends.now, 64);
    data = end_save(&p.ends, p.a, &len);
    g_assert_cmpstr(end_load(&p.ends, p.a, data, len), ==, NULL);
    ends_run(&p.ends, SECOND);
    ubq_cq_expect(&p.cq_a, UB_TAS_OPCODE);
    ubq_cq_expect(&p.cq_a, UB_TAS_OPCODE);
    pair_stop(&p);
}

/* An image with any byte changed loads or is refused; then the device works. */
static void test_bad_image(void)
{
    g_autofree uint8_t *data = NULL;
    size_t len;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (unsigned i = 0; i < 3; i++) {
        ubq_post(&p.qa, message_op(&p, UB_TA_SEND, 0, p.local, 64), 1);
    }
    ends_run(&p.ends, 3000);
    data = end_save(&p.ends, p.a, &len);
    for (unsigned i = 0; i < 2000; i++) {
        g_autofree uint8_t *bad = g_memdup2(data, len);

        bad[g_test_rand_int_range(0, len)] ^= 1 << g_test_rand_int_range(0, 8);
        if (end_load(&p.ends, p.a, bad, len)) {
            ub_node_reset(p.a->node, p.ends.now);
            ub_urma_reset(p.a->urma);
        } else {
            ends_run(&p.ends, 1000);
        }
    }
    ub_node_reset(p.a->node, p.ends.now);
    g_assert_cmpstr(end_load(&p.ends, p.a, data, len), ==, NULL);
    pair_stop(&p);
}

/* Management packets are not of queues: they pass through to who joined the floors. */
static void test_message(void)
{
    UbTaRequest req = { .opcode = UB_TA_MANAGEMENT, .msn = 7, .len = 4 };
    UbTa *ta;
    Pair p;

    pair_start(&p, UB_TP_CTP, UB_ROI, 0);
    ta = ub_node_ta(p.a->node);
    g_assert_cmpint(ub_ta_message(ta, p.ends.now, ub_ta_dest(ta, 9), &req,
                                  "abcd"), ==, UB_SENT);
    ends_run(&p.ends, SECOND);
    g_assert_cmpuint(p.b->messages, ==, 1);
    g_assert_cmpuint(p.b->msn, ==, 7);
    g_assert_cmpuint(p.a->messages, ==, 0);
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    static const char *const carriers[] = { "rtp", "ctp", "utp", "bypass" };

    g_test_init(&argc, &argv, NULL);
    for (unsigned c = 0; c < G_N_ELEMENTS(carriers); c++) {
        g_autofree char *wr = g_strdup_printf("/ub/urma/write-read/%s",
                                              carriers[c]);
        g_autofree char *send = g_strdup_printf("/ub/urma/send/%s",
                                                carriers[c]);

        if (c != UB_TP_UTP) {
            g_test_add_data_func(wr, GUINT_TO_POINTER(c), test_write_read);
        }
        if (c != UB_TP_BYPASS) {
            g_test_add_data_func(send, GUINT_TO_POINTER(c), test_send);
        }
    }
    g_test_add_func("/ub/urma/rnr", test_rnr);
    g_test_add_func("/ub/urma/atomics", test_atomics);
    g_test_add_func("/ub/urma/forms", test_forms);
    g_test_add_func("/ub/urma/errors", test_errors);
    g_test_add_func("/ub/urma/suspend", test_suspend);
    g_test_add_func("/ub/urma/flush", test_flush);
    g_test_add_func("/ub/urma/peer-gone", test_peer_gone);
    g_test_add_func("/ub/urma/sender", test_sender);
    g_test_add_func("/ub/urma/sender-rot", test_sender_rot);
    g_test_add_func("/ub/urma/events", test_events);
    g_test_add_func("/ub/urma/overflow", test_overflow);
    g_test_add_func("/ub/urma/limit", test_limit);
    g_test_add_func("/ub/urma/bells", test_bells);
    g_test_add_func("/ub/urma/noise", test_noise);
    g_test_add_func("/ub/urma/migrate", test_migrate);
    g_test_add_func("/ub/urma/bad-image", test_bad_image);
    g_test_add_data_func("/ub/urma/receive-gone/reset", GUINT_TO_POINTER(0),
                         test_receive_gone);
    g_test_add_data_func("/ub/urma/receive-gone/destroy", GUINT_TO_POINTER(1),
                         test_receive_gone);
    g_test_add_data_func("/ub/urma/channel-gone/given-up", GUINT_TO_POINTER(0),
                         test_channel_gone);
    g_test_add_data_func("/ub/urma/channel-gone/destroy", GUINT_TO_POINTER(1),
                         test_channel_gone);
    g_test_add_data_func("/ub/urma/busy-gone/reset", GUINT_TO_POINTER(0),
                         test_busy_gone);
    g_test_add_data_func("/ub/urma/busy-gone/destroy", GUINT_TO_POINTER(1),
                         test_busy_gone);
    g_test_add_func("/ub/urma/migrate-nonsense", test_migrate_nonsense);
    g_test_add_func("/ub/urma/adopt", test_adopt);
    g_test_add_func("/ub/urma/receive-name", test_receive_name);
    g_test_add_func("/ub/urma/message", test_message);
    return g_test_run();
}
