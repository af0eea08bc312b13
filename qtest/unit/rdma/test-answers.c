/*
 * What becomes of answers and of repetitions: timers and retries of a requester,
 * accounts that wait for an acknowledgement, Reads that are asked for anew while
 * they are answered, messages that end badly.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "double.h"
#include "../../../hw/rdma/transport/internal.h"

enum { US = 1, PEER = 2, QPN = 5, DQPN = 0x123, PSN = 0x10, EPSN = 0x20,
       MTU = 256, MEM = 0x10000 };

static const int64_t timeout = INT64_C(4096) << 14;

typedef struct T {
    Double *d;
    RdmaQp *qp;
    uint32_t key;
    int64_t now;
} T;

static T setup(RdmaService s, void (*tweak)(RdmaConfig *cfg))
{
    T t = { .d = double_new(US, tweak), .now = 1000 };

    t.key = double_mr(t.d, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    t.qp = double_qp(t.d, QPN, s, PEER, DQPN, PSN, EPSN, 1);
    return t;
}

static void teardown(T *t)
{
    g_assert_cmpuint(t->d->wire->len, ==, 0);
    double_free(t->d);
}

static void post(T *t, RdmaQp *qp, RdmaOpcode op, uint32_t len)
{
    RdmaWqe w = double_wqe(op, MEM, len, t->key);

    double_send(t->d, qp, &w);
}

/* A frame for @qpn, whose consequences are left for the next poll. */
static void put(T *t, uint8_t opcode, uint32_t qpn, uint32_t psn,
                const void *ext, size_t len)
{
    GBytes *f = frame_make(PEER, US, opcode, true, qpn, psn, ext, len);

    rdma_rx_frame(t->d->dev, g_bytes_get_data(f, NULL), g_bytes_get_size(f),
                  t->now);
    g_bytes_unref(f);
}

static void feed(T *t, uint8_t opcode, uint32_t psn, const void *ext, size_t len)
{
    put(t, opcode, QPN, psn, ext, len);
    double_poll(t->d, t->now);
}

static void acknowledge(T *t, uint32_t qpn, uint8_t syndrome, uint32_t psn)
{
    uint8_t aeth[ROCE_AETH_BYTES];

    aeth_put(aeth, syndrome, 1);
    put(t, ROCE_ACK, qpn, psn, aeth, sizeof(aeth));
    double_poll(t->d, t->now);
}

static void read_request(T *t, uint32_t psn, uint32_t at, uint32_t len)
{
    uint8_t ext[ROCE_RETH_BYTES];

    reth_put(ext, MEM + at, t->key, len);
    feed(t, ROCE_READ_REQ, psn, ext, sizeof(ext));
}

/* The next frame is @opcode with @psn; its syndrome, 0 if it has none. */
static uint8_t next(T *t, uint8_t opcode, uint32_t psn)
{
    GBytes *f = double_take(t->d);
    const uint8_t *bth;
    uint8_t syndrome;

    g_assert_nonnull(f);
    bth = frame_bth(f);
    g_assert_cmphex(bth_opcode(bth), ==, opcode);
    g_assert_cmphex(bth_psn(bth), ==, psn);
    syndrome = roce_ops[opcode].aeth ? bth[ROCE_BTH_BYTES] : 0;
    g_bytes_unref(f);
    return syndrome;
}

static void forget_wire(T *t)
{
    g_ptr_array_set_size(t->d->wire, 0);
}

/* ---- Requester ------------------------------------------------------------------- */

/* While a QP waits for its peer's receives, no packet counts as lost; an ACK that is
 * late gives all retries back and starts no timer. */
static void test_rnr_timer(void)
{
    T t = setup(RDMA_RC, NULL);
    RdmaQpAttr a = { .rnr_retry = 3 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_RNR_RETRY);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    g_assert_cmpint(t.qp->loss_at, ==, t.now + timeout);
    acknowledge(&t, QPN, AETH_RNR_NAK | 12, PSN);
    g_assert_true(t.qp->req.rnr_wait);
    g_assert_cmpint(t.qp->loss_at, ==, NEVER);
    g_assert_cmpuint(t.qp->req.rnr_left, ==, 2);
    acknowledge(&t, QPN, AETH_ACK, PSN);
    g_assert_cmpint(double_cqe(t.d).status, ==, RDMA_WC_SUCCESS);
    g_assert_cmpuint(t.qp->req.rnr_left, ==, 3);
    g_assert_true(t.qp->req.rnr_wait);
    g_assert_cmpint(t.qp->loss_at, ==, NEVER);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    teardown(&t);
}

/* What is repeated has the whole time again: behind a Read without an answer, and
 * behind a NAK. */
static void test_timer_anew(void)
{
    for (unsigned nak = 0; nak < 2; nak++) {
        T t = setup(RDMA_RC, NULL);

        post(&t, t.qp, nak ? RDMA_OP_SEND : RDMA_OP_READ, 8);
        post(&t, t.qp, RDMA_OP_SEND, 8);
        double_poll(t.d, t.now);
        t.now += timeout / 2;
        acknowledge(&t, QPN, nak ? AETH_NAK | NAK_PSN_SEQUENCE : AETH_ACK,
                    PSN + !nak);
        g_assert_cmpuint(t.d->wire->len, ==, 4);
        g_assert_cmpint(t.qp->loss_at, ==, t.now + timeout);
        forget_wire(&t);
        teardown(&t);
    }
}

static void range(RdmaConfig *cfg)
{
    cfg->retx_range = true;
}

/* Where only a part is repeated: up to the packet that the RNR NAK is about. */
static void test_range(void)
{
    T t = setup(RDMA_RC, range);

    post(&t, t.qp, RDMA_OP_READ, 8);
    for (unsigned i = 0; i < 3; i++) {
        post(&t, t.qp, RDMA_OP_SEND, 8);
    }
    double_poll(t.d, t.now);
    forget_wire(&t);
    acknowledge(&t, QPN, AETH_RNR_NAK | 12, PSN + 2);
    next(&t, ROCE_READ_REQ, PSN);
    next(&t, ROCE_SEND_ONLY, PSN + 1);
    teardown(&t);
}

/* Retries that are used up are counted, whatever used them up. */
static void test_exceeded(void)
{
    T t = setup(RDMA_RC, NULL);
    RdmaQpAttr a = { .retry_cnt = 0 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_RETRY);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    acknowledge(&t, QPN, AETH_NAK | NAK_PSN_SEQUENCE, PSN);
    g_assert_cmpint(double_cqe(t.d).status, ==, RDMA_WC_RETRY_EXC);
    g_assert_cmpuint(rdma_counters(t.d->dev)->retry_exceeded, ==, 1);
    teardown(&t);
}

/* Syndromes that no answer of the kind has. */
static void test_syndromes(void)
{
    T t = setup(RDMA_RC, NULL);
    uint8_t ext[ROCE_AETH_BYTES + 8] = { 0 };

    post(&t, t.qp, RDMA_OP_READ, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    acknowledge(&t, QPN, 0x40, PSN);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_bad_bth, ==, 1);
    aeth_put(ext, AETH_NAK | NAK_REMOTE_ACCESS, 1);
    feed(&t, ROCE_READ_ONLY, PSN, ext, sizeof(ext));
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_bad_bth, ==, 2);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    teardown(&t);
}

static void two_packets(RdmaConfig *cfg)
{
    cfg->swpb_packets = 2;
}

/* A part of a message that is acknowledged lets its own QP go on, though another one
 * has waited for longer, for its own part. */
static void test_part(void)
{
    T t = setup(RDMA_RC, two_packets);
    RdmaQp *other = double_qp(t.d, QPN + 1, RDMA_RC, PEER, DQPN, PSN, EPSN, 1);

    post(&t, t.qp, RDMA_OP_SEND, 3 * MTU);
    double_poll(t.d, t.now);
    post(&t, other, RDMA_OP_SEND, 3 * MTU);
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->wire->len, ==, 4);
    forget_wire(&t);
    acknowledge(&t, QPN + 1, AETH_ACK, PSN);
    next(&t, ROCE_SEND_LAST, PSN + 2);
    teardown(&t);
}

/* ---- Responder ------------------------------------------------------------------- */

/* The answer of a Read acknowledges what came before it: no other one does. */
static void test_one_answer(void)
{
    T t = setup(RDMA_RC, NULL);
    uint8_t ext[ROCE_RETH_BYTES], data[8] = { 0 };

    double_recv(t.d, t.qp, MEM, 100, t.key);
    put(&t, ROCE_SEND_ONLY, QPN, EPSN, data, sizeof(data));
    reth_put(ext, MEM, t.key, 8);
    put(&t, ROCE_READ_REQ, QPN, EPSN + 1, ext, sizeof(ext));
    double_poll(t.d, t.now);
    next(&t, ROCE_READ_ONLY, EPSN + 1);
    teardown(&t);
}

/* A Read that was not begun is asked for again from its middle on: the answer that is
 * under way has that, too. */
static void test_read_middle(void)
{
    T t = setup(RDMA_RC, NULL);

    t.d->wire_room = 1;         /* it takes the beginning, and stops */
    read_request(&t, EPSN, 0, 100 * MTU);
    forget_wire(&t);
    g_assert_true(t.qp->resp.reply_head != t.qp->resp.reply_tail);
    /* So far nothing of 90 on has left. */
    read_request(&t, EPSN + 90, 90 * MTU, 10 * MTU);
    t.d->wire_room = 0;
    rdma_wire_stop(t.d->dev, false);
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->wire->len, >, 10);
    g_assert_cmpuint(t.d->wire->len, <, 100);
    while (t.d->wire->len > 1) {
        g_bytes_unref(double_take(t.d));
    }
    next(&t, ROCE_READ_LAST, EPSN + 99);
    teardown(&t);
}

/* A Read that was answered in part and is asked for again is still the peer's only
 * hope: that its region is gone is said. */
static void test_read_gone(void)
{
    T t = setup(RDMA_RC, NULL);
    GBytes *f;

    t.d->wire_room = 1;
    read_request(&t, EPSN, 0, 100 * MTU);
    g_assert_cmpuint(t.d->wire->len, <, 100);
    forget_wire(&t);
    read_request(&t, EPSN, 0, 100 * MTU);
    rdma_mr_clear(t.d->dev, 1);
    t.d->wire_room = 0;
    rdma_wire_stop(t.d->dev, false);
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->wire->len, >, 0);
    f = g_ptr_array_index(t.d->wire, t.d->wire->len - 1);
    g_assert_cmphex(bth_opcode(frame_bth(f)), ==, ROCE_ACK);
    g_assert_cmphex(frame_bth(f)[ROCE_BTH_BYTES], ==,
                    AETH_NAK | NAK_REMOTE_ACCESS);
    forget_wire(&t);
    teardown(&t);
}

/* A message of UC that is not finished gives way to the next one, and what fails or
 * has a gap is no message under way any more. */
static void test_uc_unfinished(void)
{
    T t = setup(RDMA_UC, NULL);
    uint8_t data[MTU] = { 0 };
    const Responder *r = &t.qp->resp;

    double_recv(t.d, t.qp, MEM, 2 * MTU, t.key);
    feed(&t, ROCE_OP(RDMA_UC, ROCE_SEND_FIRST), EPSN, data, MTU);
    g_assert_true(r->in_msg);
    feed(&t, ROCE_OP(RDMA_UC, ROCE_SEND_ONLY), EPSN + 1, data, 8);
    g_assert_cmpuint(double_cqe(t.d).byte_cnt, ==, 8);
    double_recv(t.d, t.qp, MEM, 2 * MTU, t.key);
    feed(&t, ROCE_OP(RDMA_UC, ROCE_SEND_FIRST), EPSN + 2, data, MTU);
    feed(&t, ROCE_OP(RDMA_UC, ROCE_SEND_MIDDLE), EPSN + 4, data, MTU);
    g_assert_false(r->in_msg);
    g_assert_true(r->drop_msg);
    feed(&t, ROCE_OP(RDMA_UC, ROCE_SEND_FIRST), EPSN + 5, data, MTU);
    g_assert_true(r->in_msg);
    feed(&t, ROCE_OP(RDMA_UC, ROCE_SEND_MIDDLE), EPSN + 6, data, 8);
    g_assert_false(r->in_msg);
    g_assert_true(r->drop_msg);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    teardown(&t);
}

/* Only a message of one packet may be empty. */
static void test_empty_last(void)
{
    T t = setup(RDMA_RC, NULL);
    uint8_t data[MTU] = { 0 };

    double_recv(t.d, t.qp, MEM, 2 * MTU, t.key);
    feed(&t, ROCE_SEND_FIRST, EPSN, data, MTU);
    next(&t, ROCE_ACK, EPSN);
    feed(&t, ROCE_SEND_LAST, EPSN + 1, data, 0);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN + 1), ==,
                    AETH_NAK | NAK_INVALID_REQUEST);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_length, ==, 1);
    teardown(&t);
}

/* A datagram is no longer than the longest path MTU, whatever room there is. */
static void test_long_datagram(void)
{
    T t = setup(RDMA_UD, NULL);
    g_autofree uint8_t *ext = g_malloc0(ROCE_DETH_BYTES + RDMA_MAX_MTU + 4);

    put_be32(ext, 0x11111111);
    double_recv(t.d, t.qp, MEM, 0x2000, t.key);
    for (unsigned fits = 0; fits < 2; fits++) {
        feed(&t, ROCE_OP(RDMA_UD, ROCE_SEND_ONLY), EPSN, ext,
             ROCE_DETH_BYTES + RDMA_MAX_MTU + (fits ? 0 : 4));
        g_assert_cmpuint(rdma_counters(t.d->dev)->rx_length, ==, 1);
        g_assert_cmpuint(t.d->cqes->len, ==, fits);
    }
    teardown(&t);
}

/* ---- Queue pairs ------------------------------------------------------------------ */

static void often(RdmaConfig *cfg)
{
    cfg->err_repoll_us = 1000;
}

/* Each of the completion queues stays while there is work; a reset takes what an error
 * had planned along. */
static void test_queues_stay(void)
{
    T t = setup(RDMA_RC, often);
    RdmaQpAttr a = *rdma_qp_attr(t.qp);

    g_assert_nonnull(rdma_cq_create(t.d->dev, 2));
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    a.send_cqn = 2;
    g_assert_false(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_CQS));
    a.send_cqn = 1;
    a.recv_cqn = 2;
    g_assert_false(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_CQS));
    a.recv_cqn = 1;
    g_assert_true(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_CQS));
    a.state = RDMA_QPS_ERR;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    g_assert_true(t.qp->flush_recv);
    double_poll(t.d, t.now);
    g_assert_cmpint(t.qp->repoll_at, ==, t.now + 1000000);
    rdma_qp_kick_recv(t.d->dev, t.qp);
    a.state = RDMA_QPS_RESET;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    g_assert_false(t.qp->flush_recv);
    g_assert_cmpint(t.qp->repoll_at, ==, NEVER);
    g_assert_cmpint(double_poll(t.d, t.now), ==, NEVER);
    teardown(&t);
}

/* What a QP begins to work with, and what may not change any more then. */
static void test_begin(void)
{
    T t = setup(RDMA_RC, NULL);
    RdmaQpAttr a = *rdma_qp_attr(t.qp);

    a.state = RDMA_QPS_RESET;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    for (a.state = RDMA_QPS_INIT; a.state <= RDMA_QPS_RTR; a.state++) {
        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_ALL);
    }
    g_assert_false(t.qp->resp.comm_est);
    t.qp->req.rnr_left = t.qp->req.retry_left = 1;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    g_assert_cmpuint(t.qp->req.rnr_left, ==, a.rnr_retry);
    g_assert_cmpuint(t.qp->req.retry_left, ==, a.retry_cnt);
    g_assert_true(t.qp->resp.comm_est);
    /* A gap is told of once, and again behind another first PSN. */
    feed(&t, ROCE_SEND_ONLY, EPSN + 1, "12345678", 8);
    next(&t, ROCE_ACK, EPSN);
    feed(&t, ROCE_SEND_ONLY, EPSN + 1, "12345678", 8);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    a.rq_psn = EPSN + 8;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_RQ_PSN);
    feed(&t, ROCE_SEND_ONLY, EPSN + 9, "12345678", 8);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN + 8), ==, AETH_NAK |
                    NAK_PSN_SEQUENCE);
    /* Numbers of what is under way stay. */
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    next(&t, ROCE_SEND_ONLY, PSN);
    a.sq_psn = 0x777;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_SQ_PSN);
    g_assert_cmphex(rdma_qp_attr(t.qp)->sq_psn, ==, PSN + 1);
    teardown(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/answers/" path, test_##fn)
    TEST("rnr-timer", rnr_timer);
    TEST("timer-anew", timer_anew);
    TEST("range", range);
    TEST("exceeded", exceeded);
    TEST("syndromes", syndromes);
    TEST("part", part);
    TEST("one-answer", one_answer);
    TEST("read-middle", read_middle);
    TEST("read-gone", read_gone);
    TEST("uc-unfinished", uc_unfinished);
    TEST("empty-last", empty_last);
    TEST("long-datagram", long_datagram);
    TEST("queues-stay", queues_stay);
    TEST("begin", begin);
    return g_test_run();
}
