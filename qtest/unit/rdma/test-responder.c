/*
 * Responder: the chain of checks and what each request is answered with
 * (RDMA §4.4.1), scripted in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "double.h"

enum { US = 1, PEER = 2, QPN = 5, DQPN = 0x123, EPSN = 0xffffff, MTU = 256 };

typedef struct T {
    Double *d;
    RdmaQp *qp;
    uint32_t key;
} T;

static T setup_service(RdmaService s, void (*tweak)(RdmaConfig *cfg))
{
    T t = { .d = double_new(US, tweak) };

    t.key = double_mr(t.d, 1, 0x10123, 0x4000, 0x4000, RDMA_ACC_RIGHTS);
    t.qp = double_qp(t.d, QPN, s, PEER, DQPN, 0x10, EPSN, 1);
    return t;
}

static T setup(void)
{
    return setup_service(RDMA_RC, NULL);
}

static void teardown(T *t)
{
    g_assert_cmpuint(t->d->wire->len, ==, 0);
    g_assert_cmpuint(t->d->cqes->len, ==, 0);
    double_free(t->d);
}

static void feed(T *t, uint8_t opcode, int i, const void *ext, size_t len)
{
    GBytes *f = frame_make(PEER, US, opcode, true, QPN, psn_add(EPSN, i),
                           ext, len);
    gsize size;
    const uint8_t *p = g_bytes_get_data(f, &size);

    rdma_rx_frame(t->d->dev, p, size, 1000);
    g_bytes_unref(f);
    double_poll(t->d, 1000);
}

/* A request with optional RETH and payload of @len bytes of @fill. */
static void request(T *t, uint8_t opcode, int i, uint64_t va, uint32_t rkey,
                    uint32_t dma_len, uint32_t len, uint8_t fill)
{
    uint8_t ext[64 + 4096], *p = ext;

    if (roce_ops[opcode].reth) {
        reth_put(p, va, rkey, dma_len);
        p += ROCE_RETH_BYTES;
    }
    if (roce_ops[opcode].imm) {
        put_be32(p, 0xcafe0000 + i);
        p += 4;
    }
    memset(p, fill, len);
    feed(t, opcode, i, ext, p - ext + len);
}

static void send_only(T *t, int i, uint32_t len, uint8_t fill)
{
    request(t, ROCE_SEND_ONLY, i, 0, 0, 0, len, fill);
}

/* The next frame is an answer @op5 to PSN @i; its AETH syndrome. */
static uint8_t answer(T *t, uint8_t op5, int i)
{
    GBytes *f = double_take(t->d);
    const uint8_t *bth;
    uint8_t s;

    g_assert_nonnull(f);
    bth = frame_bth(f);
    g_assert_cmphex(bth_opcode(bth), ==, op5);
    g_assert_cmphex(bth_psn(bth), ==, psn_add(EPSN, i));
    g_assert_cmphex(bth_dqpn(bth), ==, DQPN);
    s = roce_ops[op5].aeth ? aeth_syndrome(bth + ROCE_BTH_BYTES) : 0;
    g_bytes_unref(f);
    return s;
}

static void expect_ack(T *t, int i)
{
    g_assert_cmphex(answer(t, ROCE_ACK, i), ==, AETH_CREDITS_NONE);
}

static void expect_nak(T *t, int i, unsigned code)
{
    g_assert_cmphex(answer(t, ROCE_ACK, i), ==, AETH_NAK | code);
}

static void expect_recv(T *t, uint64_t id, RdmaStatus status, uint32_t len)
{
    RdmaCqe c = double_cqe(t->d);

    g_assert_cmpuint(c.wqe_id, ==, id);
    g_assert_cmpuint(c.status, ==, status);
    g_assert_cmpuint(c.byte_cnt, ==, len);
    g_assert_false(c.is_send);
}

static void expect_state(T *t, RdmaQpState s)
{
    g_assert_cmpint(rdma_qp_attr(t->qp)->state, ==, s);
}

static void recv(T *t, uint32_t off, uint32_t len)
{
    double_recv(t->d, t->qp, 0x10123 + off, len, t->key);
}

static void check_fill(T *t, uint32_t off, uint32_t len, uint8_t fill)
{
    for (uint32_t i = 0; i < len; i++) {
        g_assert_cmphex(*double_ptr(t->d, 1, 0x10123 + off + i), ==, fill);
    }
}

/* ---- good requests ---- */

static void test_send(void)
{
    T t = setup();
    RdmaCqe c;

    recv(&t, 0, 1000);
    send_only(&t, 0, 100, 0x5a);
    expect_ack(&t, 0);
    c = double_cqe(t.d);
    g_assert_cmpuint(c.byte_cnt, ==, 100);
    g_assert_cmpuint(c.opcode, ==, ROCE_SEND_ONLY);
    g_assert_cmphex(c.rqpn, ==, DQPN);
    check_fill(&t, 0, 100, 0x5a);
    check_fill(&t, 100, 10, 0);
    /* Three packets into one WQE; the immediate rides on the last. */
    recv(&t, 0, 3 * MTU);
    request(&t, ROCE_SEND_FIRST, 1, 0, 0, 0, MTU, 1);
    request(&t, ROCE_SEND_MIDDLE, 2, 0, 0, 0, MTU, 2);
    request(&t, ROCE_SEND_LAST_IMM, 3, 0, 0, 0, 4, 3);
    for (int i = 1; i <= 3; i++) {
        expect_ack(&t, i);
    }
    c = double_cqe(t.d);
    g_assert_cmpuint(c.byte_cnt, ==, 2 * MTU + 4);
    g_assert_true(c.has_imm);
    g_assert_cmphex(get_be32(c.imm), ==, 0xcafe0003);
    check_fill(&t, 0, MTU, 1);
    check_fill(&t, MTU, MTU, 2);
    check_fill(&t, 2 * MTU, 4, 3);
    teardown(&t);
}

static void test_write(void)
{
    T t = setup();
    RdmaCqe c;

    request(&t, ROCE_WRITE_FIRST, 0, 0x10223, t.key, 2 * MTU, MTU, 7);
    request(&t, ROCE_WRITE_LAST, 1, 0, 0, 0, MTU, 8);
    expect_ack(&t, 0);
    expect_ack(&t, 1);
    check_fill(&t, 0x100, MTU, 7);
    check_fill(&t, 0x100 + MTU, MTU, 8);
    recv(&t, 0, 0);
    request(&t, ROCE_WRITE_ONLY_IMM, 2, 0x10123, t.key, 8, 8, 9);
    expect_ack(&t, 2);
    c = double_cqe(t.d);
    g_assert_cmpuint(c.byte_cnt, ==, 8);
    g_assert_cmphex(get_be32(c.imm), ==, 0xcafe0002);
    g_assert_cmpuint(c.opcode, ==, ROCE_WRITE_ONLY_IMM);
    /* Zero bytes touch no region: any key will do. */
    request(&t, ROCE_WRITE_ONLY, 3, 0, 0xbad, 0, 0, 0);
    expect_ack(&t, 3);
    teardown(&t);
}

static void test_read(void)
{
    T t = setup();

    memset(double_ptr(t.d, 1, 0x10123), 0x3c, 0x200);
    request(&t, ROCE_READ_REQ, 0, 0x10123, t.key, 2 * MTU + 1, 0, 0);
    g_assert_cmphex(answer(&t, ROCE_READ_FIRST, 0), ==, AETH_CREDITS_NONE);
    answer(&t, ROCE_READ_MIDDLE, 1);
    answer(&t, ROCE_READ_LAST, 2);
    /* ePSN has moved by three. */
    request(&t, ROCE_READ_REQ, 3, 0, 0, 0, 0, 0);
    answer(&t, ROCE_READ_ONLY, 3);
    teardown(&t);
}

static void atomic(T *t, uint8_t op, int i, uint64_t va, uint64_t swap_add,
                   uint64_t compare)
{
    uint8_t ext[ROCE_ATOMIC_BYTES];

    atomic_put(ext, va, t->key, swap_add, compare);
    feed(t, op, i, ext, sizeof(ext));
}

static uint64_t atomic_answer(T *t, int i)
{
    GBytes *f = double_take(t->d);
    const uint8_t *bth;
    uint64_t v;

    g_assert_nonnull(f);
    bth = frame_bth(f);
    g_assert_cmphex(bth_opcode(bth), ==, ROCE_ATOMIC_ACK);
    g_assert_cmphex(bth_psn(bth), ==, psn_add(EPSN, i));
    v = get_be64(bth + 16);
    g_bytes_unref(f);
    return v;
}

static void test_atomic(void)
{
    T t = setup();
    uint8_t *p = double_ptr(t.d, 1, 0x10128);

    put_le64(p, 10);
    atomic(&t, ROCE_FETCH_ADD, 0, 0x10128, 5, 0);
    g_assert_cmpuint(atomic_answer(&t, 0), ==, 10);
    g_assert_cmpuint(get_le64(p), ==, 15);
    atomic(&t, ROCE_CMP_SWAP, 1, 0x10128, 99, 14);
    g_assert_cmpuint(atomic_answer(&t, 1), ==, 15);
    g_assert_cmpuint(get_le64(p), ==, 15);
    atomic(&t, ROCE_CMP_SWAP, 2, 0x10128, 99, 15);
    g_assert_cmpuint(atomic_answer(&t, 2), ==, 15);
    g_assert_cmpuint(get_le64(p), ==, 99);
    /* Repeated: its saved result alone, and no second addition. */
    atomic(&t, ROCE_FETCH_ADD, 0, 0x10128, 5, 0);
    g_assert_cmpuint(atomic_answer(&t, 0), ==, 10);
    atomic(&t, ROCE_CMP_SWAP, 1, 0x10128, 99, 14);
    g_assert_cmpuint(atomic_answer(&t, 1), ==, 15);
    g_assert_cmpuint(get_le64(p), ==, 99);
    teardown(&t);
}

/* ---- PSN ---- */

static void test_duplicate(void)
{
    T t = setup();

    recv(&t, 0, 100);
    recv(&t, 200, 100);
    send_only(&t, 0, 8, 1);
    expect_ack(&t, 0);
    expect_recv(&t, 0, RDMA_WC_SUCCESS, 8);
    send_only(&t, 1, 8, 2);
    expect_ack(&t, 1);
    expect_recv(&t, 1, RDMA_WC_SUCCESS, 8);
    send_only(&t, 0, 8, 3);             /* ACK with ePSN - 1, not executed */
    expect_ack(&t, 1);
    check_fill(&t, 0, 8, 1);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_duplicate, ==, 1);
    teardown(&t);
}

static void test_duplicate_read(void)
{
    T t = setup();

    request(&t, ROCE_READ_REQ, 0, 0x10123, t.key, 3 * MTU, 0, 0);
    answer(&t, ROCE_READ_FIRST, 0);
    answer(&t, ROCE_READ_MIDDLE, 1);
    answer(&t, ROCE_READ_LAST, 2);
    request(&t, ROCE_READ_REQ, 0, 0x10123, t.key, 3 * MTU, 0, 0);
    answer(&t, ROCE_READ_FIRST, 0);
    answer(&t, ROCE_READ_MIDDLE, 1);
    answer(&t, ROCE_READ_LAST, 2);
    /* From the middle, SPSN .. SPSN + n - 1. */
    request(&t, ROCE_READ_REQ, 1, 0x10123 + MTU, t.key, 2 * MTU, 0, 0);
    answer(&t, ROCE_READ_FIRST, 1);
    answer(&t, ROCE_READ_LAST, 2);
    /* Beyond what was asked before: not a repetition. */
    request(&t, ROCE_READ_REQ, 2, 0x10123, t.key, 2 * MTU, 0, 0);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    teardown(&t);
}

static void test_gap(void)
{
    T t = setup();

    recv(&t, 0, 100);
    send_only(&t, 2, 8, 1);
    expect_nak(&t, 0, NAK_PSN_SEQUENCE);    /* PSN of the NAK is ePSN */
    send_only(&t, 3, 8, 1);                 /* once only */
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    send_only(&t, 0, 8, 4);
    expect_ack(&t, 0);
    expect_recv(&t, 0, RDMA_WC_SUCCESS, 8);
    send_only(&t, 3, 8, 1);                 /* ePSN moved: a new gap */
    expect_nak(&t, 1, NAK_PSN_SEQUENCE);
    teardown(&t);
}

static void test_rnr(void)
{
    T t = setup();

    send_only(&t, 0, 8, 1);
    g_assert_cmphex(answer(&t, ROCE_ACK, 0), ==, AETH_RNR_NAK | 12);
    send_only(&t, 1, 8, 1);                 /* silent behind an RNR NAK */
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    recv(&t, 0, 100);
    send_only(&t, 0, 8, 2);
    expect_ack(&t, 0);
    expect_recv(&t, 0, RDMA_WC_SUCCESS, 8);
    expect_state(&t, RDMA_QPS_RTS);
    request(&t, ROCE_WRITE_ONLY_IMM, 1, 0x10123, t.key, 4, 4, 9);
    g_assert_cmphex(answer(&t, ROCE_ACK, 1), ==, AETH_RNR_NAK | 12);
    teardown(&t);
}

/* ---- refusals ---- */

/* Whether the receive that was posted is still there to be flushed. */
static void refused_with(void (*act)(T *t), int psn, unsigned code,
                         RdmaEvent ev, bool flushed)
{
    T t = setup();

    recv(&t, 0, 100);
    act(&t);
    expect_nak(&t, psn, code);
    expect_state(&t, RDMA_QPS_ERR);
    g_assert_cmpuint(t.d->events->len, >=, 1);
    g_assert_cmphex(g_array_index(t.d->events, uint32_t,
                                  t.d->events->len - 1), ==,
                    (uint32_t)ev << 24 | QPN);
    /* Then nothing is answered. */
    if (flushed) {
        expect_recv(&t, 0, RDMA_WC_FLUSH, 0);
    }
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    send_only(&t, psn, 1, 1);
    teardown(&t);
}

static void refused(void (*act)(T *t), int psn, unsigned code, RdmaEvent ev)
{
    refused_with(act, psn, code, ev, true);
}

static void act_middle_first(T *t)
{
    request(t, ROCE_SEND_MIDDLE, 0, 0, 0, 0, MTU, 1);
}

static void act_interrupted(T *t)
{
    request(t, ROCE_WRITE_FIRST, 0, 0x10123, t->key, 2 * MTU, MTU, 1);
    expect_ack(t, 0);
    send_only(t, 1, 4, 1);
}

static void act_mixed(T *t)
{
    request(t, ROCE_WRITE_FIRST, 0, 0x10123, t->key, 2 * MTU, MTU, 1);
    expect_ack(t, 0);
    request(t, ROCE_SEND_LAST, 1, 0, 0, 0, 4, 1);
}

static void act_short_first(T *t)
{
    request(t, ROCE_WRITE_FIRST, 0, 0x10123, t->key, 2 * MTU, MTU - 4, 1);
}

static void act_empty_last(T *t)
{
    request(t, ROCE_WRITE_FIRST, 0, 0x10123, t->key, MTU, MTU, 1);
}

static void act_long_only(T *t)
{
    request(t, ROCE_SEND_ONLY, 0, 0, 0, 0, MTU + 4, 1);
}

static void act_write_beyond(T *t)
{
    request(t, ROCE_WRITE_FIRST, 0, 0x10123, t->key, MTU + 4, MTU, 1);
    expect_ack(t, 0);
    request(t, ROCE_WRITE_LAST, 1, 0, 0, 0, 8, 1);
}

static void act_invalidate(T *t)
{
    uint8_t ext[8] = { 0 };

    feed(t, ROCE_SEND_ONLY_INV, 0, ext, 8);
}

static void act_unaligned_atomic(T *t)
{
    atomic(t, ROCE_FETCH_ADD, 0, 0x10129, 1, 0);
}

static void act_no_right(T *t)
{
    RdmaQpAttr a = { .access = RDMA_ACC_REMOTE_READ };

    rdma_qp_modify(t->d->dev, t->qp, &a, RDMA_QPA_ACCESS);
    request(t, ROCE_WRITE_ONLY, 0, 0x10123, t->key, 4, 4, 1);
}

static void act_bad_key(T *t)
{
    request(t, ROCE_WRITE_ONLY, 0, 0x10123, t->key + 1, 4, 4, 1);
}

static void act_write_bound(T *t)
{
    request(t, ROCE_WRITE_ONLY, 0, 0x10123 + 0x4000 - 3, t->key, 4, 4, 1);
}

static void act_read_below(T *t)
{
    request(t, ROCE_READ_REQ, 0, 0x10122, t->key, 4, 0, 1);
}

static void act_write_read_only(T *t)
{
    uint32_t key = double_mr(t->d, 2, 0x20000, 0x10000, 0x2000,
                             RDMA_ACC_REMOTE_READ);

    request(t, ROCE_WRITE_ONLY, 0, 0x20000, key, 4, 4, 1);
}

static void act_revoked(T *t)
{
    request(t, ROCE_WRITE_FIRST, 0, 0x10123, t->key, 2 * MTU, MTU, 1);
    expect_ack(t, 0);
    rdma_mr_clear(t->d->dev, 1);
    request(t, ROCE_WRITE_LAST, 1, 0, 0, 0, MTU, 1);
}

static void act_atomic_bound(T *t)
{
    atomic(t, ROCE_CMP_SWAP, 0, 0x20000, 1, 0);
}

static void act_too_long(T *t)
{
    send_only(t, 0, 104, 1);
    expect_recv(t, 0, RDMA_WC_LOC_LEN, 0);
}

static void act_recv_key(T *t)
{
    rdma_mr_clear(t->d->dev, 1);
    send_only(t, 0, 8, 1);
    expect_recv(t, 0, RDMA_WC_LOC_PROT, 0);
}

static void act_bad_rq(T *t)
{
    t->d->bad_rq = true;
    send_only(t, 0, 8, 1);
}

static void test_invalid(void)
{
    static void (*const acts[])(T *t) = {
        act_middle_first, act_short_first, act_empty_last, act_long_only,
        act_invalidate, act_unaligned_atomic, act_no_right,
    };

    for (int i = 0; i < G_N_ELEMENTS(acts); i++) {
        refused(acts[i], 0, NAK_INVALID_REQUEST, RDMA_EV_WQ_INVAL_REQ);
    }
    refused(act_interrupted, 1, NAK_INVALID_REQUEST, RDMA_EV_WQ_INVAL_REQ);
    refused(act_mixed, 1, NAK_INVALID_REQUEST, RDMA_EV_WQ_INVAL_REQ);
    refused(act_write_beyond, 1, NAK_INVALID_REQUEST, RDMA_EV_WQ_INVAL_REQ);
}

static void test_access(void)
{
    static void (*const acts[])(T *t) = {
        act_bad_key, act_write_bound, act_read_below, act_write_read_only,
        act_atomic_bound,
    };

    for (int i = 0; i < G_N_ELEMENTS(acts); i++) {
        refused(acts[i], 0, NAK_REMOTE_ACCESS, RDMA_EV_WQ_ACCESS);
    }
    refused(act_revoked, 1, NAK_REMOTE_ACCESS, RDMA_EV_WQ_ACCESS);
}

static void test_operational(void)
{
    refused_with(act_too_long, 0, NAK_REMOTE_OP, RDMA_EV_WQ_CATAS, false);
    refused_with(act_recv_key, 0, NAK_REMOTE_OP, RDMA_EV_WQ_CATAS, false);
    refused_with(act_bad_rq, 0, NAK_REMOTE_OP, RDMA_EV_WQ_CATAS, false);
}

/* More Reads than agreed are refused (IB 1.3 §9.7.4.1). */
static void test_read_limit(void)
{
    T t = setup();
    RdmaQpAttr a = { .max_dest_rd_atomic = 2 };
    uint8_t reth[16];

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_DEST_RD);
    reth_put(reth, 0x10123, t.key, 4);
    for (int i = 0; i < 3; i++) {       /* in one burst, not answered yet */
        GBytes *f = frame_make(PEER, US, ROCE_READ_REQ, true, QPN,
                               psn_add(EPSN, i), reth, 16);
        gsize size;
        const uint8_t *p = g_bytes_get_data(f, &size);

        rdma_rx_frame(t.d->dev, p, size, 1000);
        g_bytes_unref(f);
    }
    double_poll(t.d, 1000);
    answer(&t, ROCE_READ_ONLY, 0);      /* what came before is answered */
    answer(&t, ROCE_READ_ONLY, 1);
    expect_nak(&t, 2, NAK_INVALID_REQUEST);
    teardown(&t);
}

/* Reads are answered before what follows them is acknowledged. */
static void test_ack_order(void)
{
    T t = setup();
    uint8_t reth[16], data[4] = { 0 };
    GBytes *f[2];

    recv(&t, 0, 100);
    reth_put(reth, 0x10123, t.key, 2 * MTU);
    f[0] = frame_make(PEER, US, ROCE_READ_REQ, true, QPN, EPSN, reth, 16);
    f[1] = frame_make(PEER, US, ROCE_SEND_ONLY, true, QPN, psn_add(EPSN, 2),
                      data, 4);
    for (int i = 0; i < 2; i++) {
        gsize size;
        const uint8_t *p = g_bytes_get_data(f[i], &size);

        rdma_rx_frame(t.d->dev, p, size, 1000);
        g_bytes_unref(f[i]);
    }
    double_poll(t.d, 1000);
    answer(&t, ROCE_READ_FIRST, 0);
    answer(&t, ROCE_READ_LAST, 1);
    expect_ack(&t, 2);
    expect_recv(&t, 0, RDMA_WC_SUCCESS, 4);
    teardown(&t);
}

/* One ACK for a burst, or one for each packet. */
static void burst(bool coalesce)
{
    T t = setup();
    uint8_t data[4] = { 0 };

    rdma_config(t.d->dev)->ack_coalesce = coalesce;
    for (int i = 0; i < 3; i++) {
        GBytes *f = frame_make(PEER, US, ROCE_SEND_ONLY, true, QPN,
                               psn_add(EPSN, i), data, 4);
        gsize size;
        const uint8_t *p = g_bytes_get_data(f, &size);

        recv(&t, 0, 100);
        rdma_rx_frame(t.d->dev, p, size, 1000);
        g_bytes_unref(f);
    }
    double_poll(t.d, 1000);
    for (int i = coalesce ? 2 : 0; i < 3; i++) {
        expect_ack(&t, i);
    }
    for (int i = 0; i < 3; i++) {
        expect_recv(&t, i, RDMA_WC_SUCCESS, 4);
    }
    teardown(&t);
}

static void test_coalesce(void)
{
    burst(true);
    burst(false);
}

/* ---- UC, UD ---- */

static void test_uc(void)
{
    T t = setup_service(RDMA_UC, NULL);
    uint8_t uc = ROCE_OP(RDMA_UC, 0);

    recv(&t, 0, 1000);
    request(&t, uc | ROCE_SEND_FIRST, 0, 0, 0, 0, MTU, 1);
    /* The middle is lost: the message is dropped, its WQE stays. */
    request(&t, uc | ROCE_SEND_LAST, 2, 0, 0, 0, 4, 2);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    request(&t, uc | ROCE_SEND_ONLY, 9, 0, 0, 0, 16, 3);
    expect_recv(&t, 0, RDMA_WC_SUCCESS, 16);
    check_fill(&t, 0, 16, 3);
    /* No WQE, bad key: dropped, never answered. */
    request(&t, uc | ROCE_SEND_ONLY, 10, 0, 0, 0, 16, 4);
    request(&t, uc | ROCE_WRITE_ONLY, 11, 0x10123, 0xbad, 4, 4, 5);
    check_fill(&t, 0, 16, 3);
    request(&t, uc | ROCE_WRITE_ONLY, 12, 0x10123, t.key, 4, 4, 6);
    check_fill(&t, 0, 4, 6);
    expect_state(&t, RDMA_QPS_RTS);
    teardown(&t);
}

static void datagram(T *t, uint32_t qkey, uint32_t len, uint8_t fill)
{
    uint8_t ext[8 + 300];

    deth_put(ext, qkey, 0x777);
    memset(ext + 8, fill, len);
    feed(t, ROCE_OP(RDMA_UD, ROCE_SEND_ONLY), 5, ext, 8 + len);
}

static void test_ud(void)
{
    T t = setup_service(RDMA_UD, NULL);
    RdmaCqe c;

    recv(&t, 0, 400);
    datagram(&t, 0x22222222, 8, 1);             /* Q_Key violation */
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_qkey, ==, 1);
    datagram(&t, 0x11111111, 100, 2);
    c = double_cqe(t.d);
    g_assert_cmpuint(c.byte_cnt, ==, 140);      /* GRH area and payload */
    g_assert_cmphex(c.rqpn, ==, 0x777);
    g_assert_true(c.has_grh);
    check_fill(&t, 40, 100, 2);
    g_assert_cmphex(get_be32(double_ptr(t.d, 1, 0x10123) + 16), ==,
                    0x0000ffff);                /* SGID ::ffff:10.0.0.2 */
    g_assert_cmphex(get_be32(double_ptr(t.d, 1, 0x10123) + 20), ==,
                    0x0a000002);
    recv(&t, 0, 139);
    datagram(&t, 0x11111111, 100, 3);           /* does not fit */
    expect_recv(&t, 1, RDMA_WC_LOC_LEN, 0);
    expect_state(&t, RDMA_QPS_ERR);
    teardown(&t);
    t = setup_service(RDMA_UD, NULL);
    datagram(&t, 0x11111111, 4, 4);             /* nothing posted */
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_no_wqe, ==, 1);
    expect_state(&t, RDMA_QPS_RTS);
    teardown(&t);
}

static void no_grh(RdmaConfig *cfg)
{
    cfg->ud_grh = RDMA_GRH_NONE;
}

static void v4_grh(RdmaConfig *cfg)
{
    cfg->ud_grh = RDMA_GRH_IPV4;
}

static void test_ud_grh(void)
{
    T t = setup_service(RDMA_UD, no_grh);

    recv(&t, 0, 400);
    datagram(&t, 0x11111111, 100, 2);
    expect_recv(&t, 0, RDMA_WC_SUCCESS, 100);
    check_fill(&t, 0, 100, 2);
    teardown(&t);

    t = setup_service(RDMA_UD, v4_grh);
    recv(&t, 0, 400);
    datagram(&t, 0x11111111, 100, 2);
    expect_recv(&t, 0, RDMA_WC_SUCCESS, 140);
    check_fill(&t, 0, 20, 0);
    g_assert_cmphex(*double_ptr(t.d, 1, 0x10123 + 20), ==, 0x45);
    teardown(&t);
}

/* ---- states ---- */

static void test_states(void)
{
    static const RdmaQpState deaf[] = {
        RDMA_QPS_RESET, RDMA_QPS_INIT, RDMA_QPS_ERR,
    };

    for (int i = 0; i < G_N_ELEMENTS(deaf); i++) {
        T t = setup();
        RdmaQpAttr a = { .state = deaf[i] };

        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
        send_only(&t, 0, 4, 1);
        g_assert_cmpuint(rdma_counters(t.d->dev)->rx_qp_state, ==, 1);
        teardown(&t);
    }
}

static void test_cq_full(void)
{
    T t = setup();

    recv(&t, 0, 100);
    t.d->cq_full = true;
    send_only(&t, 0, 4, 1);
    expect_state(&t, RDMA_QPS_ERR);
    g_assert_cmpuint(rdma_counters(t.d->dev)->cqe_failed, ==, 1);
    g_ptr_array_set_size(t.d->wire, 0);
    teardown(&t);
}

/* ---- frames that never reach a QP ---- */

static void test_bad_frames(void)
{
    T t = setup();
    RdmaCounters *c = rdma_counters(t.d->dev);
    uint8_t data[8] = { 0 };
    gsize len;
    GBytes *f = frame_make(PEER, US, ROCE_SEND_ONLY, true, QPN, EPSN, data, 8);
    const uint8_t *good = g_bytes_get_data(f, &len);
    uint8_t bad[128];

    recv(&t, 0, 100);
#define WITH(stmt, counter)                             \
    do {                                                \
        uint64_t before = c->counter;                   \
        memcpy(bad, good, len);                         \
        stmt;                                           \
        rdma_rx_frame(t.d->dev, bad, len, 1000);        \
        double_poll(t.d, 1000);                         \
        g_assert_cmpuint(c->counter, ==, before + 1);   \
    } while (0)
    WITH(bad[len - 5] ^= 1, rx_bad_icrc);
    WITH(bad[24] ^= 1, rx_bad_ip);
    WITH(put_be16(bad + 16, 0xfff), rx_bad_ip);
    WITH(put_be16(bad + 40, 0x1234), rx_bad_udp);
    WITH(put_be16(bad + 38, 20), rx_short);
#undef WITH
    /* Every truncation, with the lengths left as they were. */
    for (gsize n = 0; n < len; n++) {
        rdma_rx_frame(t.d->dev, good, n, 1000);
        double_poll(t.d, 1000);
    }
    g_bytes_unref(f);
    f = frame_make(PEER, US, 0x15, true, QPN, EPSN, data, 8);
    rdma_rx_frame(t.d->dev, g_bytes_get_data(f, &len), len, 1000);
    g_assert_cmpuint(c->rx_bad_bth, ==, 1);
    g_bytes_unref(f);
    f = frame_make(PEER, 9, ROCE_SEND_ONLY, true, QPN, EPSN, data, 8);
    rdma_rx_frame(t.d->dev, g_bytes_get_data(f, &len), len, 1000);
    g_assert_cmpuint(c->rx_not_ours, ==, 1);
    g_bytes_unref(f);
    f = frame_make(PEER, US, ROCE_SEND_ONLY, true, QPN + 1, EPSN, data, 8);
    rdma_rx_frame(t.d->dev, g_bytes_get_data(f, &len), len, 1000);
    g_assert_cmpuint(c->rx_no_qp, ==, 1);
    g_bytes_unref(f);
    f = frame_make(PEER, US, ROCE_ACK, true, QPN, EPSN, data, 8);
    rdma_rx_frame(t.d->dev, g_bytes_get_data(f, &len), len, 1000);
    g_assert_cmpuint(c->rx_length, ==, 1);
    g_bytes_unref(f);
    double_poll(t.d, 1000);
    teardown(&t);
}

/* A request that was completed is acknowledged, even if its receiver destroys
 * or resets the QP before the burst of input is over. */
static void test_last_ack(void)
{
    for (unsigned way = 0; way < 3; way++) {
        T t = setup();
        GBytes *f = frame_make(PEER, US, ROCE_SEND_ONLY, true, QPN, EPSN,
                               "last", 4);
        RdmaQpAttr attr = *rdma_qp_attr(t.qp);
        gsize size;
        const uint8_t *p = g_bytes_get_data(f, &size);

        recv(&t, 0, 1000);
        rdma_rx_frame(t.d->dev, p, size, 1000);
        expect_recv(&t, 0, RDMA_WC_SUCCESS, 4);
        if (way == 0) {
            rdma_qp_destroy(t.d->dev, t.qp);
        } else {
            attr.state = way == 1 ? RDMA_QPS_RESET : RDMA_QPS_ERR;
            rdma_qp_modify(t.d->dev, t.qp, &attr, RDMA_QPA_STATE);
        }
        double_poll(t.d, 1000);
        expect_ack(&t, 0);
        g_bytes_unref(f);
        teardown(&t);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/responder/" path, test_##fn)
    TEST("send", send);
    TEST("last-ack", last_ack);
    TEST("write", write);
    TEST("read", read);
    TEST("atomic", atomic);
    TEST("duplicate", duplicate);
    TEST("duplicate/read", duplicate_read);
    TEST("gap", gap);
    TEST("rnr", rnr);
    TEST("invalid", invalid);
    TEST("access", access);
    TEST("operational", operational);
    TEST("read-limit", read_limit);
    TEST("ack-order", ack_order);
    TEST("ack-coalesce", coalesce);
    TEST("uc", uc);
    TEST("ud", ud);
    TEST("ud/grh", ud_grh);
    TEST("states", states);
    TEST("cq-full", cq_full);
    TEST("bad-frames", bad_frames);
    return g_test_run();
}
