/*
 * What becomes of answers and of repetitions: timers and retries of a requester,
 * accounts that wait for an acknowledgement, Reads that are asked for anew while
 * they are answered, messages that end badly.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "one-end.h"

static const int64_t timeout = INT64_C(4096) << 14;

static void post(T *t, RdmaQp *qp, RdmaOpcode op, uint32_t len)
{
    RdmaWqe w = double_wqe(op, MEM, len, t->key);

    double_send(t->d, qp, &w);
}

static void acknowledge(T *t, uint32_t qpn, uint8_t syndrome, uint32_t psn)
{
    uint8_t aeth[ROCE_AETH_BYTES];

    aeth_put(aeth, syndrome, 1);
    put(t, ROCE_ACK, qpn, psn, aeth, sizeof(aeth));
    double_poll(t->d, t->now);
}

/* An answer with data. */
static void response(T *t, uint8_t opcode, uint32_t psn, uint32_t len)
{
    uint8_t ext[ROCE_AETH_BYTES + 2 * MTU] = { 0 };

    if (roce_ops[opcode].aeth) {
        aeth_put(ext, AETH_ACK, 1);
        len += ROCE_AETH_BYTES;
    }
    feed(t, opcode, psn, ext, len);
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

/* A Read and three Sends; then an answer to @psn, which has the first @again repeated. */
static void range_is(uint8_t syndrome, uint32_t psn, unsigned again)
{
    T t = setup(RDMA_RC, range);

    post(&t, t.qp, RDMA_OP_READ, 8);
    for (unsigned i = 0; i < 3; i++) {
        post(&t, t.qp, RDMA_OP_SEND, 8);
    }
    double_poll(t.d, t.now);
    forget_wire(&t);
    acknowledge(&t, QPN, syndrome, psn);
    next(&t, ROCE_READ_REQ, PSN);
    for (unsigned i = 1; i < again; i++) {
        next(&t, ROCE_SEND_ONLY, PSN + i);
    }
    teardown(&t);
}

/* Where only a part is repeated: up to the packet that the RNR NAK is about; for an ACK
 * that came without the data of a Read before it, all that has been sent. */
static void test_range(void)
{
    range_is(AETH_RNR_NAK | 12, PSN + 2, 2);
    range_is(AETH_ACK, PSN + 2, 4);
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

/* A second loss in one Read is repeated as the first was. */
static void test_second_loss(void)
{
    T t = setup(RDMA_RC, NULL);

    post(&t, t.qp, RDMA_OP_READ, 4 * MTU);
    double_poll(t.d, t.now);
    next(&t, ROCE_READ_REQ, PSN);
    response(&t, ROCE_READ_FIRST, PSN, MTU);
    response(&t, ROCE_READ_MIDDLE, PSN + 2, MTU);
    next(&t, ROCE_READ_REQ, PSN + 1);
    response(&t, ROCE_READ_FIRST, PSN + 1, MTU);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    response(&t, ROCE_READ_LAST, PSN + 3, MTU);
    next(&t, ROCE_READ_REQ, PSN + 2);
    teardown(&t);
}

/* What is acknowledged gives all retries back, and what is left the whole time. */
static void test_progress(void)
{
    T t = setup(RDMA_RC, NULL);

    post(&t, t.qp, RDMA_OP_SEND, 8);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    t.now += timeout;
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->wire->len, ==, 4);
    forget_wire(&t);
    g_assert_cmpuint(t.qp->req.retry_left, ==, 6);
    t.now += timeout / 2;
    acknowledge(&t, QPN, AETH_ACK, PSN);
    g_assert_cmpuint(t.qp->req.retry_left, ==, 7);
    g_assert_cmpint(t.qp->loss_at, ==, t.now + timeout);
    g_assert_cmphex(rdma_qp_attr(t.qp)->sq_una, ==, PSN + 1);
    g_assert_cmphex(rdma_qp_attr(t.qp)->sq_psn, ==, PSN + 2);
    acknowledge(&t, QPN, AETH_ACK, PSN + 1);
    g_assert_cmpint(t.qp->loss_at, ==, NEVER);
    teardown(&t);
}

/* A NAK about the oldest packet acknowledges nothing, of a Read either. */
static void test_at_oldest(void)
{
    T t = setup(RDMA_RC, NULL);

    post(&t, t.qp, RDMA_OP_READ, 8);
    double_poll(t.d, t.now);
    next(&t, ROCE_READ_REQ, PSN);
    acknowledge(&t, QPN, AETH_NAK | NAK_PSN_SEQUENCE, PSN);
    next(&t, ROCE_READ_REQ, PSN);
    g_assert_cmpuint(t.qp->req.retry_left, ==, 6);
    acknowledge(&t, QPN, AETH_RNR_NAK | 12, PSN);
    g_assert_true(t.qp->req.rnr_wait);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    teardown(&t);

    t = setup(RDMA_RC, NULL);
    post(&t, t.qp, RDMA_OP_WRITE, 2 * MTU);
    double_poll(t.d, t.now);
    forget_wire(&t);
    acknowledge(&t, QPN, AETH_NAK | NAK_PSN_SEQUENCE, PSN + 1);
    next(&t, ROCE_WRITE_LAST, PSN + 1);
    g_assert_cmpuint(t.qp->req.held.swpb_packets, ==, 1);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    teardown(&t);
}

/* A NAK behind a Read whose answer was lost uses up no retry. */
static void test_lost_free(void)
{
    T t = setup(RDMA_RC, NULL);
    RdmaQpAttr a = { .retry_cnt = 0 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_RETRY);
    post(&t, t.qp, RDMA_OP_READ, 8);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    acknowledge(&t, QPN, AETH_NAK | NAK_PSN_SEQUENCE, PSN + 1);
    next(&t, ROCE_READ_REQ, PSN);
    next(&t, ROCE_SEND_ONLY, PSN + 1);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    teardown(&t);

    t = setup(RDMA_RC, NULL);
    post(&t, t.qp, RDMA_OP_READ, 8);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    acknowledge(&t, QPN, AETH_NAK | NAK_PSN_SEQUENCE, PSN + 1);
    forget_wire(&t);
    g_assert_cmpuint(t.qp->req.retry_left, ==, 7);
    teardown(&t);
}

/* Behind an acknowledgement that passes a Read all is repeated, up to the last packet
 * that was sent. */
static void test_range_ack(void)
{
    range_is(AETH_ACK, PSN + 1, 4);
}

/* While the time of an RNR NAK runs, others change nothing. */
static void test_rnr_twice(void)
{
    T t = setup(RDMA_RC, NULL);
    RdmaQpAttr a = { .rnr_retry = 3 };
    int64_t at;

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_RNR_RETRY);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    acknowledge(&t, QPN, AETH_RNR_NAK | 12, PSN);
    at = t.qp->rnr_at;
    t.now += 1000;
    acknowledge(&t, QPN, AETH_RNR_NAK | 12, PSN);
    acknowledge(&t, QPN, AETH_NAK | NAK_PSN_SEQUENCE, PSN);
    g_assert_cmpint(t.qp->rnr_at, ==, at);
    g_assert_cmpint(t.qp->loss_at, ==, NEVER);
    g_assert_cmpuint(t.qp->req.rnr_left, ==, 2);
    g_assert_cmpuint(t.qp->req.retry_left, ==, 7);
    g_assert_false(t.qp->req.retx);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    teardown(&t);
}

/* Each kind of answer has its counter, and each NAK that ends a request its status. */
static void test_counted(void)
{
    static const struct {
        uint8_t syndrome;
        size_t counter;
        int status;             /* -1: none */
    } rows[] = {
#define AT(name) offsetof(RdmaCounters, name)
        { AETH_ACK, AT(ack_rx), RDMA_WC_SUCCESS },
        { AETH_RNR_NAK | 1, AT(rnr_rx), -1 },
        { AETH_NAK | NAK_PSN_SEQUENCE, AT(nak_seq_rx), -1 },
        { AETH_NAK | NAK_INVALID_REQUEST, AT(nak_inv_rx), RDMA_WC_REM_INV_REQ },
        { AETH_NAK | NAK_REMOTE_ACCESS, AT(nak_access_rx), RDMA_WC_REM_ACCESS },
        { AETH_NAK | NAK_REMOTE_OP, AT(nak_op_rx), RDMA_WC_REM_OP },
        { AETH_NAK | NAK_INVALID_RD, AT(nak_inv_rx), RDMA_WC_REM_INV_REQ },
        { AETH_NAK | 5, AT(rx_bad_bth), -1 },
        { 0x40, AT(rx_bad_bth), -1 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        T t = setup(RDMA_RC, NULL);
        const RdmaCounters *c = rdma_counters(t.d->dev);

        post(&t, t.qp, RDMA_OP_SEND, 8);
        double_poll(t.d, t.now);
        acknowledge(&t, QPN, rows[i].syndrome, PSN);
        forget_wire(&t);
        g_assert_cmpuint(*(uint64_t *)((char *)c + rows[i].counter), ==, 1);
        g_assert_cmpuint(c->ack_rx + c->rnr_rx + c->nak_seq_rx + c->nak_inv_rx +
                         c->nak_access_rx + c->nak_op_rx + c->rx_bad_bth, ==, 1);
        g_assert_cmpuint(t.d->cqes->len, ==, rows[i].status >= 0);
        if (rows[i].status >= 0) {
            g_assert_cmpint(double_cqe(t.d).status, ==, rows[i].status);
        }
        teardown(&t);
    }
}

/* Answers that are not those to what was asked, or that nothing can take. */
static void test_unfit(void)
{
    static const struct {
        RdmaOpcode op;
        uint32_t len;
        uint8_t answer;
        uint32_t psn, bytes;
        bool gone;
        RdmaStatus status;
    } rows[] = {
        { RDMA_OP_FETCH_ADD, 8, ROCE_READ_ONLY, 0, 8, false, RDMA_WC_BAD_RESP },
        { RDMA_OP_READ, 8, ROCE_ATOMIC_ACK, 0, 8, false, RDMA_WC_BAD_RESP },
        { RDMA_OP_SEND, 8, ROCE_ATOMIC_ACK, 0, 8, false, RDMA_WC_BAD_RESP },
        { RDMA_OP_READ, MTU, ROCE_READ_FIRST, 0, MTU, false, RDMA_WC_BAD_RESP },
        { RDMA_OP_READ, 2 * MTU, ROCE_READ_MIDDLE, 1, MTU, false,
          RDMA_WC_BAD_RESP },
        { RDMA_OP_READ, 2 * MTU, ROCE_READ_LAST, 1, MTU - 4, false,
          RDMA_WC_BAD_RESP },
        { RDMA_OP_READ, 2 * MTU, ROCE_READ_LAST, 1, MTU + 4, false,
          RDMA_WC_LOC_LEN },
        { RDMA_OP_CMP_SWAP, 8, ROCE_ATOMIC_ACK, 0, 8, true, RDMA_WC_LOC_PROT },
        { RDMA_OP_READ, 2 * MTU, ROCE_READ_LAST, 1, MTU, false,
          RDMA_WC_SUCCESS },
        { RDMA_OP_CMP_SWAP, 8, ROCE_ATOMIC_ACK, 0, 8, false, RDMA_WC_SUCCESS },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        T t = setup(RDMA_RC, NULL);

        post(&t, t.qp, rows[i].op, rows[i].len);
        double_poll(t.d, t.now);
        forget_wire(&t);
        if (rows[i].psn) {
            response(&t, ROCE_READ_FIRST, PSN, MTU);
        }
        if (rows[i].gone) {
            rdma_mr_clear(t.d->dev, 1);
        }
        response(&t, rows[i].answer, PSN + rows[i].psn, rows[i].bytes);
        g_assert_cmpint(double_cqe(t.d).status, ==, rows[i].status);
        teardown(&t);
    }
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
    t.qp->flush_recv = true;    /* as when the time has come */
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

/* Each attribute is taken by its own bit, and nothing else is. */
static void test_attributes(void)
{
    static const struct {
        uint32_t bit;
        size_t at, size;
    } fields[] = {
#define FIELD(bit, name) { RDMA_QPA_##bit, offsetof(RdmaQpAttr, name),          \
                           sizeof(((RdmaQpAttr *)0)->name) }
        FIELD(SERVICE, service), FIELD(DEST_QPN, dest_qpn), FIELD(PD, pd),
        FIELD(CQS, send_cqn), FIELD(CQS, recv_cqn), FIELD(SRQ, srqn),
        FIELD(SRQ, has_srq), FIELD(SIG_ALL, sig_all), FIELD(SPECIAL, special),
        FIELD(MTU, mtu_code), FIELD(PKEY, pkey_index), FIELD(QKEY, qkey),
        FIELD(AV, av), FIELD(TIMEOUT, timeout), FIELD(RETRY, retry_cnt),
        FIELD(RNR_RETRY, rnr_retry), FIELD(RNR_TIMER, min_rnr_timer),
        FIELD(ACCESS, access), FIELD(RD_ATOMIC, max_rd_atomic),
        FIELD(DEST_RD, max_dest_rd_atomic), FIELD(SQD_EVENT, sqd_event),
#undef FIELD
    };

    for (unsigned bit = 0; bit < 22; bit++) {
        T t = setup(RDMA_RC, NULL);
        RdmaQpAttr before = *rdma_qp_attr(t.qp), a = before;
        const uint8_t *now = (const uint8_t *)&t.qp->attr;

        for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++) {
            ((uint8_t *)&a)[fields[i].at] ^= 1;
        }
        a.state = RDMA_QPS_SQD;
        a.sq_psn = 0xab000123;
        a.rq_psn = 0xcd000456;
        rdma_qp_modify(t.d->dev, t.qp, &a, 1u << bit);
        for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++) {
            g_assert_cmpint(!memcmp(now + fields[i].at,
                                    (const uint8_t *)&a + fields[i].at,
                                    fields[i].size), ==,
                            fields[i].bit == 1u << bit);
        }
        rdma_qp_attr(t.qp);
        g_assert_cmpint(t.qp->attr.state, ==, bit == 0 ? RDMA_QPS_SQD :
                                                         RDMA_QPS_RTS);
        g_assert_cmphex(t.qp->attr.sq_psn, ==, 1u << bit == RDMA_QPA_SQ_PSN ?
                        0x123 : PSN);
        g_assert_cmphex(t.qp->attr.sq_una, ==, t.qp->attr.sq_psn);
        g_assert_cmphex(t.qp->attr.rq_psn, ==, 1u << bit == RDMA_QPA_RQ_PSN ?
                        0x456 : EPSN);
        g_assert_cmpuint(t.qp->req.retry_left, ==, 1u << bit ==
                         RDMA_QPA_RETRY ? 6 : 7);
        g_assert_cmpuint(t.qp->req.rnr_left, ==, 1u << bit ==
                         RDMA_QPA_RNR_RETRY ? 6 : 7);
        teardown(&t);
    }
}

/* Numbers of packets outlive a reset, what was sent and came does not. */
static void test_reset(void)
{
    T t = setup(RDMA_RC, NULL);
    RdmaQpAttr a = { .state = RDMA_QPS_RESET };

    double_recv(t.d, t.qp, MEM, 100, t.key);
    feed(&t, ROCE_SEND_ONLY, EPSN, "12345678", 8);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    g_assert_cmphex(rdma_qp_attr(t.qp)->rq_psn, ==, EPSN + 1);
    g_assert_cmphex(rdma_qp_attr(t.qp)->sq_psn, ==, PSN + 1);
    g_assert_true(rdma_qp_idle(t.qp));
    g_assert_false(t.qp->path.valid);
    g_assert_cmpint(double_poll(t.d, t.now), ==, NEVER);
    /* A bell of a QP that is reset rings nobody, and a reset may come again. */
    t.d->kicks = 0;
    post(&t, t.qp, RDMA_OP_SEND, 8);
    g_assert_cmpuint(t.d->kicks, ==, 0);
    g_assert_cmpint(double_poll(t.d, t.now), ==, NEVER);
    g_array_set_size(t.d->moves, 0);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    g_assert_cmpuint(t.d->moves->len, ==, 1);
    teardown(&t);
}

/* States are traced as they change, and who wants a poll is heard. */
static void test_traced(void)
{
    static const uint8_t moves[] = {
        RDMA_QPS_RESET << 4 | RDMA_QPS_INIT, RDMA_QPS_INIT << 4 | RDMA_QPS_RTR,
        RDMA_QPS_RTR << 4 | RDMA_QPS_RTS, RDMA_QPS_RTS << 4 | RDMA_QPS_SQD,
        RDMA_QPS_SQD << 4 | RDMA_QPS_RTS, RDMA_QPS_RTS << 4 | RDMA_QPS_ERR,
    };
    static const RdmaQpState states[] = {
        RDMA_QPS_RTS, RDMA_QPS_SQD, RDMA_QPS_SQD, RDMA_QPS_RTS, RDMA_QPS_ERR,
        RDMA_QPS_ERR,
    };
    T t = setup(RDMA_RC, NULL);
    RdmaPort port = *rdma_port(t.d->dev);

    for (unsigned i = 0; i < G_N_ELEMENTS(states); i++) {
        RdmaQpAttr a = { .state = states[i] };

        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    }
    g_assert_cmpmem(t.d->moves->data, t.d->moves->len, moves, sizeof(moves));
    t.d->kicks = 0;
    rdma_qp_kick(t.d->dev, t.qp);
    g_assert_cmpuint(t.d->kicks, ==, 1);
    rdma_wire_stop(t.d->dev, true);
    g_assert_cmpuint(t.d->kicks, ==, 1);
    rdma_wire_stop(t.d->dev, false);
    g_assert_cmpuint(t.d->kicks, ==, 2);
    rdma_link_set(t.d->dev, false);
    g_assert_cmpuint(t.d->kicks, ==, 2);
    rdma_link_set(t.d->dev, true);
    g_assert_cmpuint(t.d->kicks, ==, 3);
    rdma_port_set(t.d->dev, &port);
    g_assert_cmpuint(t.d->kicks, ==, 3);
    port.ip++;
    rdma_port_set(t.d->dev, &port);
    g_assert_cmpuint(t.d->kicks, ==, 4);
    put(&t, ROCE_SEND_ONLY, QPN, EPSN, "12345678", 8);
    g_assert_cmpuint(t.d->kicks, ==, 5);
    double_poll(t.d, t.now);
    forget_wire(&t);
    teardown(&t);
}

static void count_qp(void *opaque, RdmaQp *qp)
{
    *(unsigned *)opaque += rdma_qp_num(qp);
}

/* Places of the table are for one QP each, whatever is above their numbers. */
static void test_numbers(void)
{
    T t = setup(RDMA_RC, NULL);
    unsigned sum = 0;

    g_assert_null(rdma_qp_create(t.d->dev, QPN));
    g_assert_null(rdma_qp_create(t.d->dev, QPN + (1 << 13)));
    g_assert_true(rdma_qp_get(t.d->dev, QPN) == t.qp);
    g_assert_null(rdma_qp_get(t.d->dev, QPN + (1 << 13)));
    g_assert_null(rdma_qp_get(t.d->dev, QPN + 1));
    rdma_qp_foreach(t.d->dev, count_qp, &sum);
    g_assert_cmpuint(sum, ==, QPN);
    g_assert_cmpuint(t.qp->attr.max_rd_atomic, ==, 16);
    g_assert_cmpuint(t.qp->attr.max_dest_rd_atomic, ==, 16);
    g_assert_cmpuint(t.qp->resp.reply_num, ==, 32);
    rdma_qp_destroy(t.d->dev, t.qp);
    g_assert_nonnull(t.qp = rdma_qp_create(t.d->dev, QPN + (1 << 13)));
    g_assert_cmpuint(t.qp->mtu, ==, 256);
    teardown(&t);
}

/* An acknowledgement that is due, and a receive that was taken, are work as well. */
static void test_busy(void)
{
    for (unsigned way = 0; way < 3; way++) {
        T t = setup(way ? RDMA_UC : RDMA_RC, NULL);
        RdmaQpAttr a = *rdma_qp_attr(t.qp);
        uint8_t ext[ROCE_RETH_BYTES + MTU] = { 0 };

        reth_put(ext, MEM, t.key, 8);
        double_recv(t.d, t.qp, MEM, 2 * MTU, t.key);
        if (way == 0) {
            put(&t, ROCE_WRITE_ONLY, QPN, EPSN, ext, ROCE_RETH_BYTES + 8);
        } else {
            put(&t, ROCE_OP(RDMA_UC, ROCE_SEND_FIRST), QPN, EPSN, ext, MTU);
            put(&t, ROCE_OP(RDMA_UC, ROCE_SEND_LAST), QPN, EPSN + way, ext, 4);
        }
        a.mtu_code = 3;
        g_assert_cmpint(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_MTU), ==,
                        way == 1);
        double_poll(t.d, t.now);
        forget_wire(&t);
        teardown(&t);
    }
}

/* The same path MTU again forgets no Read. */
static void test_same_mtu(void)
{
    T t = setup(RDMA_RC, NULL);
    RdmaQpAttr a = { .mtu_code = 0 };

    read_request(&t, EPSN, 0, 8);
    next(&t, ROCE_READ_ONLY, EPSN);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    next(&t, ROCE_SEND_ONLY, PSN);
    for (; a.mtu_code < 2; a.mtu_code++) {      /* 0 is 1 */
        g_assert_true(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_MTU));
    }
    g_assert_cmpint(t.qp->resp.reply[0].kind, ==, REPLY_READ);
    teardown(&t);
}

/* A QP without a completion queue cannot complete, and ends. */
static void test_no_cq(void)
{
    T t = setup(RDMA_UC, NULL);
    RdmaQpAttr a = { .send_cqn = 1, .recv_cqn = 9 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_CQS);
    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    g_assert_cmpint(double_cqe(t.d).status, ==, RDMA_WC_SUCCESS);
    g_assert_cmpuint(rdma_counters(t.d->dev)->completions, ==, 1);
    double_recv(t.d, t.qp, MEM, 100, t.key);
    feed(&t, ROCE_OP(RDMA_UC, ROCE_SEND_ONLY), EPSN, "12345678", 8);
    g_assert_cmpint(t.qp->attr.state, ==, RDMA_QPS_ERR);
    g_assert_cmpuint(rdma_counters(t.d->dev)->cqe_failed, ==, 1);
    g_assert_cmpuint(rdma_counters(t.d->dev)->completions, ==, 1);
    g_assert_cmpuint(rdma_counters(t.d->dev)->local_errors, ==, 0);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    forget_wire(&t);
    teardown(&t);
}

/* What is flushed says what it was; a turn flushes so many and no more. */
static void test_flushed(void)
{
    T t = setup(RDMA_RC, NULL);
    RdmaQpAttr a = { .state = RDMA_QPS_ERR };
    const RdmaCounters *c = rdma_counters(t.d->dev);

    for (unsigned i = 0; i < 600; i++) {
        post(&t, t.qp, i % 2 ? RDMA_OP_READ : RDMA_OP_WRITE, 8);
    }
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    g_assert_cmpint(rdma_poll_some(t.d->dev, t.now, 10), ==, t.now);
    g_assert_cmpuint(t.d->cqes->len, ==, 256);
    g_assert_cmpuint(c->flushed, ==, 256);
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->cqes->len, ==, 600);
    g_assert_cmpuint(c->flushed, ==, 600);
    g_assert_cmpuint(c->local_errors, ==, 0);
    for (unsigned i = 0; i < 600; i++) {
        RdmaCqe cqe = double_cqe(t.d);

        g_assert_cmpuint(cqe.wqe_id, ==, i);
        g_assert_cmpint(cqe.opcode, ==, i % 2 ? RDMA_OP_READ : RDMA_OP_WRITE);
    }
    forget_wire(&t);
    teardown(&t);

    /* What had been sent is acknowledged no more: nothing is waited for. */
    t = setup(RDMA_RC, NULL);
    post(&t, t.qp, RDMA_OP_WRITE, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    double_poll(t.d, t.now);
    g_assert_cmpint(t.qp->loss_at, ==, NEVER);
    g_assert_cmphex(rdma_qp_attr(t.qp)->sq_una, ==, PSN + 1);
    g_assert_cmpint(double_poll(t.d, t.now + timeout), ==, NEVER);
    teardown(&t);
}

/* The last work request of an SRQ's QP is told of once. */
static void test_last_wqe(void)
{
    T t = setup(RDMA_RC, often);
    RdmaQpAttr a = { .state = RDMA_QPS_ERR, .has_srq = true };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE | RDMA_QPA_SRQ);
    double_poll(t.d, t.now);
    rdma_qp_kick(t.d->dev, t.qp);
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->events->len, ==, 1);
    g_assert_cmphex(g_array_index(t.d->events, uint32_t, 0), ==,
                    RDMA_EV_SRQ_LAST_WQE << 24 | QPN);
    teardown(&t);
}

/* A QP that waits for the wire is not looked at again because it is rung. */
static void test_rung_waiting(void)
{
    T t = setup(RDMA_RC, NULL);
    const RdmaCounters *c = rdma_counters(t.d->dev);

    post(&t, t.qp, RDMA_OP_SEND, 8);
    double_poll(t.d, t.now);
    forget_wire(&t);
    rdma_wire_stop(t.d->dev, true);
    for (unsigned i = 0; i < 3; i++) {
        post(&t, t.qp, RDMA_OP_SEND, 8);
        double_poll(t.d, t.now);
        g_assert_cmpuint(c->stall_wire, ==, 1);
    }
    rdma_wire_stop(t.d->dev, false);
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->wire->len, ==, 3);
    forget_wire(&t);
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
    TEST("second-loss", second_loss);
    TEST("progress", progress);
    TEST("at-oldest", at_oldest);
    TEST("lost-free", lost_free);
    TEST("range/ack", range_ack);
    TEST("rnr-twice", rnr_twice);
    TEST("counted", counted);
    TEST("unfit", unfit);
    TEST("one-answer", one_answer);
    TEST("read-middle", read_middle);
    TEST("read-gone", read_gone);
    TEST("uc-unfinished", uc_unfinished);
    TEST("empty-last", empty_last);
    TEST("long-datagram", long_datagram);
    TEST("queues-stay", queues_stay);
    TEST("begin", begin);
    TEST("attributes", attributes);
    TEST("reset", reset);
    TEST("traced", traced);
    TEST("numbers", numbers);
    TEST("busy", busy);
    TEST("same-mtu", same_mtu);
    TEST("no-cq", no_cq);
    TEST("flushed", flushed);
    TEST("last-wqe", last_wqe);
    TEST("rung-waiting", rung_waiting);
    return g_test_run();
}
