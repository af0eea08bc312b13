/*
 * Requester: every response of RDMA §3.4.5, scripted in virtual time.
 *
 * One engine; the test plays the peer and checks each packet that is sent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "double.h"

enum { US = 1, PEER = 2, QPN = 5, DQPN = 0x123, PSN = 0xfffffe, MTU = 256 };
#define MS INT64_C(1000000)
/* Local ACK timeout 14: 4.096 us << 14. */
#define TIMEOUT (INT64_C(4096) << 14)
/* RNR timer code 12. */
#define RNR_CODE 12
#define RNR_NS   INT64_C(640000)

typedef struct T {
    Double *d;
    RdmaQp *qp;
    uint32_t key;
    int64_t now;
} T;

static T setup(void (*tweak)(RdmaConfig *cfg))
{
    T t = { .d = double_new(US, tweak), .now = 1000 };

    t.key = double_mr(t.d, 1, 0x10000, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    t.qp = double_qp(t.d, QPN, RDMA_RC, PEER, DQPN, PSN, 0x100, 1);
    for (uint32_t i = 0; i < 0x8000; i++) {
        *double_ptr(t.d, 1, 0x10000 + i) = i * 7 + (i >> 8);
    }
    return t;
}

static void teardown(T *t)
{
    g_assert_cmpuint(t->d->wire->len, ==, 0);
    g_assert_cmpuint(t->d->cqes->len, ==, 0);
    double_free(t->d);
}

static void post(T *t, RdmaOpcode op, uint32_t len)
{
    RdmaWqe w = double_wqe(op, 0x10000, len, t->key);

    w.raddr = UINT64_C(0x7000000000);
    w.rkey = 0x77;
    double_send(t->d, t->qp, &w);
}

static uint32_t psn_of(int i)
{
    return psn_add(PSN, i);
}

/* The next frame is packet @op5 with PSN @i after the first. */
static void expect(T *t, uint8_t op5, int i)
{
    GBytes *f = double_take(t->d);
    const uint8_t *bth;

    g_assert_nonnull(f);
    bth = frame_bth(f);
    g_assert_cmphex(bth_opcode(bth), ==, op5);
    g_assert_cmphex(bth_psn(bth), ==, psn_of(i));
    g_assert_cmphex(bth_dqpn(bth), ==, DQPN);
    g_assert_true(bth_ackreq(bth));
    g_bytes_unref(f);
}

static void expect_quiet(T *t)
{
    double_poll(t->d, t->now);
    g_assert_cmpuint(t->d->wire->len, ==, 0);
}

static void inject(T *t, uint8_t op5, int i, const void *ext, size_t len)
{
    GBytes *f = frame_make(PEER, US, op5, false, QPN, psn_of(i), ext, len);
    gsize size;
    const uint8_t *p = g_bytes_get_data(f, &size);

    g_assert_true(rdma_rx_frame(t->d->dev, p, size, t->now));
    g_bytes_unref(f);
    double_poll(t->d, t->now);
}

static void ack(T *t, uint8_t syndrome, int i)
{
    uint8_t aeth[4];

    aeth_put(aeth, syndrome, 1);
    inject(t, ROCE_ACK, i, aeth, 4);
}

/* Read response with @len bytes of value @fill. */
static void response(T *t, uint8_t op5, int i, uint32_t len, uint8_t fill)
{
    uint8_t buf[4 + 1024];
    uint8_t *p = buf;

    if (op5 != ROCE_READ_MIDDLE) {
        aeth_put(p, AETH_ACK, 1);
        p += 4;
    }
    memset(p, fill, len);
    inject(t, op5, i, buf, p - buf + len);
}

static void expect_cqe(T *t, uint64_t id, RdmaStatus status)
{
    RdmaCqe c = double_cqe(t->d);

    g_assert_cmpuint(c.wqe_id, ==, id);
    g_assert_cmpuint(c.status, ==, status);
    g_assert_true(c.is_send);
    g_assert_cmphex(c.qpn, ==, QPN);
}

static uint32_t outstanding(T *t)
{
    return rdma_qp_idle(t->qp) ? 0 : 1;
}

/* ---- §3.4.5.1.2 ACK ---- */

static void test_ack(void)
{
    T t = setup(NULL);

    for (int i = 0; i < 4; i++) {
        post(&t, RDMA_OP_SEND, 100);
    }
    double_poll(t.d, t.now);
    for (int i = 0; i < 4; i++) {
        expect(&t, ROCE_SEND_ONLY, i);      /* across the PSN wrap */
    }
    ack(&t, AETH_ACK, -1);                  /* case 1: before UPSN */
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_ghost, ==, 1);
    ack(&t, AETH_ACK, 0);                   /* case 2: equal */
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    ack(&t, AETH_ACK, 0);                   /* duplicate */
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    ack(&t, AETH_ACK, 3);                   /* case 3: implied */
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    expect_cqe(&t, 2, RDMA_WC_SUCCESS);
    expect_cqe(&t, 3, RDMA_WC_SUCCESS);
    ack(&t, AETH_ACK, 4);                   /* never sent */
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_ghost, ==, 3);
    g_assert_cmpuint(outstanding(&t), ==, 0);
    g_assert_cmpint(rdma_poll(t.d->dev, t.now + 10 * TIMEOUT), ==, INT64_MAX);
    teardown(&t);
}

/* An ACK in the middle of a message completes nothing. */
static void test_ack_middle(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_WRITE, 3 * MTU - 1);
    double_poll(t.d, t.now);
    expect(&t, ROCE_WRITE_FIRST, 0);
    expect(&t, ROCE_WRITE_MIDDLE, 1);
    expect(&t, ROCE_WRITE_LAST, 2);
    ack(&t, AETH_ACK, 1);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    /* The timer now repeats only what is not acknowledged. */
    t.now += TIMEOUT;
    double_poll(t.d, t.now);
    expect(&t, ROCE_WRITE_LAST, 2);
    ack(&t, AETH_ACK, 2);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* Case 4: the ACK passes a Read whose response was lost. */
static void test_ack_passes_read(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_SEND, 10);             /* PSN 0 */
    post(&t, RDMA_OP_READ, 2 * MTU);        /* PSN 1, 2 */
    post(&t, RDMA_OP_SEND, 10);             /* PSN 3 */
    post(&t, RDMA_OP_SEND, 10);             /* PSN 4 */
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect(&t, ROCE_READ_REQ, 1);
    expect(&t, ROCE_SEND_ONLY, 3);
    expect(&t, ROCE_SEND_ONLY, 4);
    ack(&t, AETH_ACK, 3);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);     /* up to RdPSN */
    expect(&t, ROCE_READ_REQ, 1);           /* RdPSN .. NPSN-1 */
    expect(&t, ROCE_SEND_ONLY, 3);
    expect(&t, ROCE_SEND_ONLY, 4);
    ack(&t, AETH_ACK, 4);                   /* acted on already */
    expect_quiet(&t);
    response(&t, ROCE_READ_FIRST, 1, MTU, 0xa1);
    response(&t, ROCE_READ_LAST, 2, MTU, 0xa2);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    ack(&t, AETH_ACK, 4);
    expect_cqe(&t, 2, RDMA_WC_SUCCESS);
    expect_cqe(&t, 3, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* ---- §3.4.5.1.3.1 RNR ---- */

static void test_rnr(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_SEND, 10);
    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect(&t, ROCE_SEND_ONLY, 1);
    /* UPSN < RPSN, no Read: release, then wait for the timer. */
    ack(&t, AETH_RNR_NAK | RNR_CODE, 1);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    post(&t, RDMA_OP_SEND, 10);
    expect_quiet(&t);
    g_assert_cmpint(double_poll(t.d, t.now + RNR_NS - 1), ==,
                    t.now + RNR_NS);
    expect_quiet(&t);
    t.now += RNR_NS;
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 1);
    expect(&t, ROCE_SEND_ONLY, 2);
    ack(&t, AETH_ACK, 2);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    expect_cqe(&t, 2, RDMA_WC_SUCCESS);
    teardown(&t);
}

static void test_rnr_behind_read(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_READ, MTU);            /* 0 */
    post(&t, RDMA_OP_SEND, 10);             /* 1 */
    double_poll(t.d, t.now);
    expect(&t, ROCE_READ_REQ, 0);
    expect(&t, ROCE_SEND_ONLY, 1);
    ack(&t, AETH_RNR_NAK | RNR_CODE, 1);
    expect(&t, ROCE_READ_REQ, 0);           /* its response was lost */
    expect(&t, ROCE_SEND_ONLY, 1);
    response(&t, ROCE_READ_ONLY, 0, MTU, 1);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    ack(&t, AETH_ACK, 1);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    teardown(&t);
}

static void test_rnr_exhausted(void)
{
    T t = setup(NULL);
    RdmaQpAttr a = { .rnr_retry = 2 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_RNR_RETRY);
    post(&t, RDMA_OP_SEND, 10);
    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    for (int i = 0; i < 3; i++) {
        expect(&t, ROCE_SEND_ONLY, 0);
        expect(&t, ROCE_SEND_ONLY, 1);
        ack(&t, AETH_RNR_NAK | RNR_CODE, 0);
        t.now += RNR_NS;
        double_poll(t.d, t.now);
    }
    expect_cqe(&t, 0, RDMA_WC_RNR_RETRY_EXC);
    expect_cqe(&t, 1, RDMA_WC_FLUSH);
    g_assert_cmpint(rdma_qp_attr(t.qp)->state, ==, RDMA_QPS_ERR);
    teardown(&t);
}

/* Each code has its time (IB 1.3 table 45). */
static void test_rnr_codes(void)
{
    for (unsigned code = 0; code < 32; code++) {
        T t = setup(NULL);

        post(&t, RDMA_OP_SEND, 10);
        double_poll(t.d, t.now);
        expect(&t, ROCE_SEND_ONLY, 0);
        ack(&t, AETH_RNR_NAK | code, 0);
        t.now += roce_rnr_ns(code) - 1;
        expect_quiet(&t);
        t.now++;
        double_poll(t.d, t.now);
        expect(&t, ROCE_SEND_ONLY, 0);
        teardown(&t);
    }
}

/* Seven means for ever. */
static void test_rnr_forever(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    for (int i = 0; i < 50; i++) {
        expect(&t, ROCE_SEND_ONLY, 0);
        ack(&t, AETH_RNR_NAK | RNR_CODE, 0);
        t.now += RNR_NS;
        double_poll(t.d, t.now);
    }
    expect(&t, ROCE_SEND_ONLY, 0);
    ack(&t, AETH_ACK, 0);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* ---- §3.4.5.1.3.2 sequence, invalid request, remote access ---- */

static void test_nak_sequence(void)
{
    T t = setup(NULL);

    for (int i = 0; i < 4; i++) {
        post(&t, RDMA_OP_SEND, 10);
    }
    double_poll(t.d, t.now);
    for (int i = 0; i < 4; i++) {
        expect(&t, ROCE_SEND_ONLY, i);
    }
    /* UPSN < RPSN: release before, repeat from RPSN. */
    ack(&t, AETH_NAK | NAK_PSN_SEQUENCE, 2);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    expect(&t, ROCE_SEND_ONLY, 2);
    expect(&t, ROCE_SEND_ONLY, 3);
    /* UPSN == RPSN. */
    ack(&t, AETH_NAK | NAK_PSN_SEQUENCE, 2);
    expect(&t, ROCE_SEND_ONLY, 2);
    expect(&t, ROCE_SEND_ONLY, 3);
    ack(&t, AETH_ACK, 3);
    expect_cqe(&t, 2, RDMA_WC_SUCCESS);
    expect_cqe(&t, 3, RDMA_WC_SUCCESS);
    teardown(&t);
}

static void test_nak_sequence_behind_read(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_SEND, 10);             /* 0 */
    post(&t, RDMA_OP_READ, MTU);            /* 1 */
    post(&t, RDMA_OP_SEND, 10);             /* 2 */
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect(&t, ROCE_READ_REQ, 1);
    expect(&t, ROCE_SEND_ONLY, 2);
    ack(&t, AETH_NAK | NAK_PSN_SEQUENCE, 2);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect(&t, ROCE_READ_REQ, 1);
    expect(&t, ROCE_SEND_ONLY, 2);
    response(&t, ROCE_READ_ONLY, 1, MTU, 3);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    ack(&t, AETH_ACK, 2);
    expect_cqe(&t, 2, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* A sequence NAK uses up a retry as IB has it, unless the document's way is on. */
static void test_nak_sequence_counts(void)
{
    T t = setup(NULL);
    RdmaQpAttr a = { .retry_cnt = 1 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_RETRY);
    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    ack(&t, AETH_NAK | NAK_PSN_SEQUENCE, 0);
    expect(&t, ROCE_SEND_ONLY, 0);
    rdma_config(t.d->dev)->nak_counts = false;
    ack(&t, AETH_NAK | NAK_PSN_SEQUENCE, 0);
    expect(&t, ROCE_SEND_ONLY, 0);
    rdma_config(t.d->dev)->nak_counts = true;
    ack(&t, AETH_NAK | NAK_PSN_SEQUENCE, 0);
    expect_cqe(&t, 0, RDMA_WC_RETRY_EXC);
    teardown(&t);
}

static void fatal_nak(unsigned code, RdmaStatus status)
{
    T t = setup(NULL);

    for (int i = 0; i < 4; i++) {
        post(&t, RDMA_OP_SEND, 10);
    }
    double_poll(t.d, t.now);
    for (int i = 0; i < 4; i++) {
        expect(&t, ROCE_SEND_ONLY, i);
    }
    ack(&t, AETH_NAK | code, 1);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect_cqe(&t, 1, status);
    expect_cqe(&t, 2, RDMA_WC_FLUSH);
    expect_cqe(&t, 3, RDMA_WC_FLUSH);
    g_assert_cmpint(rdma_qp_attr(t.qp)->state, ==, RDMA_QPS_ERR);
    /* Work posted in ERR is flushed too, and sends nothing. */
    post(&t, RDMA_OP_SEND, 10);
    expect_quiet(&t);
    expect_cqe(&t, 4, RDMA_WC_FLUSH);
    teardown(&t);
}

static void test_nak_invalid(void)
{
    fatal_nak(NAK_INVALID_REQUEST, RDMA_WC_REM_INV_REQ);
}

static void test_nak_access(void)
{
    fatal_nak(NAK_REMOTE_ACCESS, RDMA_WC_REM_ACCESS);
}

static void test_nak_operational(void)
{
    fatal_nak(NAK_REMOTE_OP, RDMA_WC_REM_OP);
}

/* The document's text: these two are repeated like a sequence error. */
static void test_nak_recoverable(void)
{
    T t = setup(NULL);

    rdma_config(t.d->dev)->nak_fatal = false;
    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    ack(&t, AETH_NAK | NAK_REMOTE_ACCESS, 0);
    expect(&t, ROCE_SEND_ONLY, 0);
    ack(&t, AETH_NAK | NAK_INVALID_REQUEST, 0);
    expect(&t, ROCE_SEND_ONLY, 0);
    ack(&t, AETH_NAK | NAK_REMOTE_OP, 0);   /* never recoverable */
    expect_cqe(&t, 0, RDMA_WC_REM_OP);
    teardown(&t);
}

/* Remote operational behind a Read: this, the oldest, bears the error. */
static void test_nak_operational_behind_read(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_SEND, 10);
    post(&t, RDMA_OP_READ, MTU);
    post(&t, RDMA_OP_SEND, 10);
    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect(&t, ROCE_READ_REQ, 1);
    expect(&t, ROCE_SEND_ONLY, 2);
    expect(&t, ROCE_SEND_ONLY, 3);
    ack(&t, AETH_NAK | NAK_REMOTE_OP, 2);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect_cqe(&t, 1, RDMA_WC_REM_OP);
    expect_cqe(&t, 2, RDMA_WC_FLUSH);
    expect_cqe(&t, 3, RDMA_WC_FLUSH);
    teardown(&t);
}

static void test_nak_reserved(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    ack(&t, AETH_NAK | 9, 0);
    ack(&t, 0x40, 0);                       /* reserved syndrome type */
    expect_quiet(&t);
    ack(&t, AETH_ACK, 0);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* ---- §3.4.5.1.3.4 Read responses ---- */

static void check_fill(T *t, uint32_t off, uint32_t len, uint8_t fill)
{
    for (uint32_t i = 0; i < len; i++) {
        g_assert_cmphex(*double_ptr(t->d, 1, 0x10000 + off + i), ==, fill);
    }
}

static void test_read(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_READ, 3 * MTU + 4);    /* PSN 0 .. 3 */
    post(&t, RDMA_OP_SEND, 1);              /* PSN 4 */
    double_poll(t.d, t.now);
    expect(&t, ROCE_READ_REQ, 0);
    expect(&t, ROCE_SEND_ONLY, 4);          /* the Read takes n PSNs */
    response(&t, ROCE_READ_FIRST, 0, MTU, 0x11);
    response(&t, ROCE_READ_MIDDLE, 1, MTU, 0x22);
    response(&t, ROCE_READ_MIDDLE, 1, MTU, 0x99);   /* duplicate */
    response(&t, ROCE_READ_MIDDLE, 2, MTU, 0x33);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    response(&t, ROCE_READ_LAST, 3, 4, 0x44);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    check_fill(&t, 0, MTU, 0x11);
    check_fill(&t, MTU, MTU, 0x22);
    check_fill(&t, 2 * MTU, MTU, 0x33);
    check_fill(&t, 3 * MTU, 4, 0x44);
    ack(&t, AETH_ACK, 4);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* First/Only beyond UPSN, the oldest is no Read: implied release. */
static void test_read_implies_ack(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_SEND, 1);
    post(&t, RDMA_OP_SEND, 1);
    post(&t, RDMA_OP_READ, 8);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect(&t, ROCE_SEND_ONLY, 1);
    expect(&t, ROCE_READ_REQ, 2);
    response(&t, ROCE_READ_ONLY, 2, 8, 0x66);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    expect_cqe(&t, 2, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* The same with another Read among those released: it was lost. */
static void test_read_lost_before(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_SEND, 1);              /* 0 */
    post(&t, RDMA_OP_READ, 8);              /* 1 */
    post(&t, RDMA_OP_SEND, 1);              /* 2 */
    post(&t, RDMA_OP_READ, 8);              /* 3 */
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect(&t, ROCE_READ_REQ, 1);
    expect(&t, ROCE_SEND_ONLY, 2);
    expect(&t, ROCE_READ_REQ, 3);
    response(&t, ROCE_READ_ONLY, 3, 8, 0x77);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect(&t, ROCE_READ_REQ, 1);
    expect(&t, ROCE_SEND_ONLY, 2);
    expect(&t, ROCE_READ_REQ, 3);
    response(&t, ROCE_READ_ONLY, 1, 8, 0x78);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    response(&t, ROCE_READ_ONLY, 3, 8, 0x79);
    expect_cqe(&t, 2, RDMA_WC_SUCCESS);
    expect_cqe(&t, 3, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* Case 1: the oldest is a Read and another Read answers. */
static void test_read_lost_first(void)
{
    T t = setup(NULL);

    rdma_config(t.d->dev)->retx_range = true;
    post(&t, RDMA_OP_READ, 8);              /* 0 */
    post(&t, RDMA_OP_READ, 2 * MTU);        /* 1, 2 */
    post(&t, RDMA_OP_SEND, 1);              /* 3 */
    double_poll(t.d, t.now);
    expect(&t, ROCE_READ_REQ, 0);
    expect(&t, ROCE_READ_REQ, 1);
    expect(&t, ROCE_SEND_ONLY, 3);
    response(&t, ROCE_READ_FIRST, 1, MTU, 1);
    expect(&t, ROCE_READ_REQ, 0);           /* oldest Read .. RPSN */
    expect(&t, ROCE_READ_REQ, 1);
    expect_quiet(&t);                       /* but not what follows */
    response(&t, ROCE_READ_LAST, 2, MTU, 1);
    expect_quiet(&t);                       /* acted on already */
    response(&t, ROCE_READ_ONLY, 0, 8, 2);
    response(&t, ROCE_READ_FIRST, 1, MTU, 3);
    response(&t, ROCE_READ_LAST, 2, MTU, 4);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    ack(&t, AETH_ACK, 3);
    expect_cqe(&t, 2, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* Case 2: Middle or Last beyond UPSN: the rest of the Read is repeated. */
static void test_read_lost_middle(void)
{
    T t = setup(NULL);
    GBytes *f;
    const uint8_t *bth;

    post(&t, RDMA_OP_READ, 4 * MTU);
    double_poll(t.d, t.now);
    expect(&t, ROCE_READ_REQ, 0);
    response(&t, ROCE_READ_FIRST, 0, MTU, 1);
    response(&t, ROCE_READ_MIDDLE, 2, MTU, 9);      /* 1 is missing */
    f = double_take(t.d);
    g_assert_nonnull(f);
    bth = frame_bth(f);
    g_assert_cmphex(bth_opcode(bth), ==, ROCE_READ_REQ);
    g_assert_cmphex(bth_psn(bth), ==, psn_of(1));
    g_assert_cmphex(reth_va(bth + 12), ==, UINT64_C(0x7000000000) + MTU);
    g_assert_cmpuint(reth_len(bth + 12), ==, 3 * MTU);
    g_bytes_unref(f);
    response(&t, ROCE_READ_LAST, 3, MTU, 9);
    expect_quiet(&t);
    response(&t, ROCE_READ_FIRST, 1, MTU, 2);       /* of the repetition */
    response(&t, ROCE_READ_MIDDLE, 2, MTU, 3);
    response(&t, ROCE_READ_LAST, 3, MTU, 4);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    for (int i = 0; i < 4; i++) {
        check_fill(&t, i * MTU, MTU, i + 1);
    }
    teardown(&t);
}

/* The Last is lost: only the timer sees it. */
static void test_read_lost_last(void)
{
    T t = setup(NULL);
    GBytes *f;

    post(&t, RDMA_OP_READ, 2 * MTU);
    double_poll(t.d, t.now);
    expect(&t, ROCE_READ_REQ, 0);
    response(&t, ROCE_READ_FIRST, 0, MTU, 1);
    t.now += TIMEOUT;
    double_poll(t.d, t.now);
    f = double_take(t.d);
    g_assert_cmphex(bth_psn(frame_bth(f)), ==, psn_of(1));
    g_assert_cmpuint(reth_len(frame_bth(f) + 12), ==, MTU);
    g_bytes_unref(f);
    response(&t, ROCE_READ_ONLY, 1, MTU, 2);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    teardown(&t);
}

static void test_read_bad_length(void)
{
    static const struct {
        uint8_t op;
        uint32_t len;
        RdmaStatus status;
    } bad[] = {
        { ROCE_READ_FIRST, MTU - 4, RDMA_WC_BAD_RESP },
        { ROCE_READ_ONLY, MTU, RDMA_WC_BAD_RESP },
        { ROCE_READ_FIRST, MTU + 4, RDMA_WC_LOC_LEN },
    };

    for (int i = 0; i < G_N_ELEMENTS(bad); i++) {
        T t = setup(NULL);

        post(&t, RDMA_OP_READ, 2 * MTU);
        double_poll(t.d, t.now);
        expect(&t, ROCE_READ_REQ, 0);
        response(&t, bad[i].op, 0, bad[i].len, 1);
        expect_cqe(&t, 0, bad[i].status);
        g_assert_cmpint(rdma_qp_attr(t.qp)->state, ==, RDMA_QPS_ERR);
        teardown(&t);
    }
}

static void test_read_scatter_fails(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_READ, MTU);
    double_poll(t.d, t.now);
    expect(&t, ROCE_READ_REQ, 0);
    rdma_mr_clear(t.d->dev, 1);             /* revoked in flight */
    response(&t, ROCE_READ_ONLY, 0, MTU, 1);
    expect_cqe(&t, 0, RDMA_WC_LOC_PROT);
    teardown(&t);
}

static void test_response_to_send(void)
{
    T t = setup(NULL);

    post(&t, RDMA_OP_SEND, 4);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    response(&t, ROCE_READ_ONLY, 0, 4, 1);
    expect_cqe(&t, 0, RDMA_WC_BAD_RESP);
    teardown(&t);
}

static void test_atomic(void)
{
    T t = setup(NULL);
    uint8_t ext[12];

    post(&t, RDMA_OP_SEND, 1);
    post(&t, RDMA_OP_FETCH_ADD, 8);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect(&t, ROCE_FETCH_ADD, 1);
    /* Lost: repeated with the same PSN. */
    t.now += TIMEOUT;
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect(&t, ROCE_FETCH_ADD, 1);
    aeth_put(ext, AETH_ACK, 2);
    put_be64(ext + 4, UINT64_C(0x1122334455667788));
    inject(&t, ROCE_ATOMIC_ACK, 1, ext, 12);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    g_assert_cmphex(get_le64(double_ptr(t.d, 1, 0x10000)), ==,
                    UINT64_C(0x1122334455667788));
    teardown(&t);
}

/* ---- §3.4.5.1.4 timers ---- */

static void test_timeout_exhausted(void)
{
    T t = setup(NULL);
    RdmaQpAttr a = { .retry_cnt = 3 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_RETRY);
    post(&t, RDMA_OP_SEND, 10);
    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    for (int i = 0; i < 4; i++) {
        expect(&t, ROCE_SEND_ONLY, 0);
        expect(&t, ROCE_SEND_ONLY, 1);
        g_assert_cmpint(double_poll(t.d, t.now + TIMEOUT - 1), ==,
                        t.now + TIMEOUT);
        expect_quiet(&t);
        t.now += TIMEOUT;
        double_poll(t.d, t.now);
    }
    expect_cqe(&t, 0, RDMA_WC_RETRY_EXC);
    expect_cqe(&t, 1, RDMA_WC_FLUSH);
    g_assert_cmpuint(rdma_counters(t.d->dev)->retry_exceeded, ==, 1);
    teardown(&t);
}

/* The document repeats only packet UPSN when the timer runs out. */
static void test_timeout_one(void)
{
    T t = setup(NULL);

    rdma_config(t.d->dev)->retx_one = true;
    post(&t, RDMA_OP_SEND, 10);
    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect(&t, ROCE_SEND_ONLY, 1);
    t.now += TIMEOUT;
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect_quiet(&t);
    ack(&t, AETH_ACK, 1);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* ---- §3.4.5.1.5 bad requests, §3.4.1.1.3 order and fence ---- */

static void test_bad_request_in_order(void)
{
    T t = setup(NULL);
    RdmaWqe w;

    post(&t, RDMA_OP_SEND, 10);
    w = double_wqe(RDMA_OP_SEND, 0x10000, 0x9000, t.key);   /* too long */
    double_send(t.d, t.qp, &w);
    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    expect_quiet(&t);                       /* nothing behind it either */
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    ack(&t, AETH_ACK, 0);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect_cqe(&t, 1, RDMA_WC_LOC_PROT);
    expect_cqe(&t, 2, RDMA_WC_FLUSH);
    g_assert_cmpint(rdma_qp_attr(t.qp)->state, ==, RDMA_QPS_ERR);
    teardown(&t);
}

static void test_fence(void)
{
    T t = setup(NULL);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, 0x10000, 4, t.key);

    w.flags |= RDMA_WQE_FENCE;
    post(&t, RDMA_OP_READ, 8);
    double_send(t.d, t.qp, &w);
    double_poll(t.d, t.now);
    expect(&t, ROCE_READ_REQ, 0);
    expect_quiet(&t);
    response(&t, ROCE_READ_ONLY, 0, 8, 1);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    expect(&t, ROCE_SEND_ONLY, 1);
    ack(&t, AETH_ACK, 1);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    teardown(&t);
}

static void test_sqd(void)
{
    T t = setup(NULL);
    RdmaQpAttr a = { .state = RDMA_QPS_SQD, .sqd_event = true };

    post(&t, RDMA_OP_SEND, 10);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 0);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE | RDMA_QPA_SQD_EVENT);
    post(&t, RDMA_OP_SEND, 10);
    expect_quiet(&t);
    g_assert_cmpuint(t.d->events->len, ==, 0);
    ack(&t, AETH_ACK, 0);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    g_assert_cmpuint(t.d->events->len, ==, 1);
    g_assert_cmphex(g_array_index(t.d->events, uint32_t, 0), ==,
                    RDMA_EV_SQ_DRAINED << 24 | QPN);
    expect_quiet(&t);
    a.state = RDMA_QPS_RTS;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    double_poll(t.d, t.now);
    expect(&t, ROCE_SEND_ONLY, 1);
    ack(&t, AETH_ACK, 1);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    teardown(&t);
}

static void test_bad_queue(void)
{
    T t = setup(NULL);

    t.d->bad_sq = true;
    post(&t, RDMA_OP_SEND, 1);
    double_poll(t.d, t.now);
    expect_cqe(&t, 0, RDMA_WC_FLUSH);
    g_assert_cmpint(rdma_qp_attr(t.qp)->state, ==, RDMA_QPS_ERR);
    g_assert_cmphex(g_array_index(t.d->events, uint32_t, 0), ==,
                    RDMA_EV_WQ_CATAS << 24 | QPN);
    teardown(&t);
}

/* ---- limits of the packet buffers ---- */

static void small_buffers(RdmaConfig *cfg)
{
    cfg->swpb_packets = 4;
    cfg->rpb_packets = 2;
    cfg->reb_entries = 2;
}

static void test_back_pressure(void)
{
    T t = setup(small_buffers);
    RdmaCounters *c = rdma_counters(t.d->dev);

    post(&t, RDMA_OP_WRITE, 6 * MTU);
    double_poll(t.d, t.now);
    expect(&t, ROCE_WRITE_FIRST, 0);
    expect(&t, ROCE_WRITE_MIDDLE, 1);
    expect(&t, ROCE_WRITE_MIDDLE, 2);
    expect(&t, ROCE_WRITE_MIDDLE, 3);
    expect_quiet(&t);
    g_assert_cmpuint(c->stall_swpb, ==, 1);
    ack(&t, AETH_ACK, 1);
    expect(&t, ROCE_WRITE_MIDDLE, 4);
    expect(&t, ROCE_WRITE_LAST, 5);
    ack(&t, AETH_ACK, 5);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    for (int i = 0; i < 3; i++) {
        post(&t, RDMA_OP_READ, 8);
    }
    double_poll(t.d, t.now);
    expect(&t, ROCE_READ_REQ, 6);
    expect(&t, ROCE_READ_REQ, 7);
    expect_quiet(&t);
    g_assert_cmpuint(c->stall_rpb, ==, 1);
    response(&t, ROCE_READ_ONLY, 6, 8, 1);
    expect(&t, ROCE_READ_REQ, 8);
    response(&t, ROCE_READ_ONLY, 7, 8, 1);
    response(&t, ROCE_READ_ONLY, 8, 8, 1);
    for (int i = 1; i < 4; i++) {
        expect_cqe(&t, i, RDMA_WC_SUCCESS);
    }
    teardown(&t);
}

static void small_entries(RdmaConfig *cfg)
{
    cfg->reb_entries = 3;
    cfg->swpb_units = 8;                    /* one packet of 256 bytes */
    cfg->max_wqes = 64;
}

static void test_back_pressure_units(void)
{
    T t = setup(small_entries);
    RdmaCounters *c = rdma_counters(t.d->dev);
    RdmaWqe w = double_wqe(RDMA_OP_READ, 0x10000, 4, t.key);

    post(&t, RDMA_OP_WRITE, 2 * MTU);
    double_poll(t.d, t.now);
    expect(&t, ROCE_WRITE_FIRST, 0);
    expect_quiet(&t);
    g_assert_cmpuint(c->stall_swpb, ==, 1);
    ack(&t, AETH_ACK, 0);
    expect(&t, ROCE_WRITE_LAST, 1);
    ack(&t, AETH_ACK, 1);
    expect_cqe(&t, 0, RDMA_WC_SUCCESS);
    w.num_sge = 2;
    w.sge[1] = w.sge[0];
    double_send(t.d, t.qp, &w);
    double_send(t.d, t.qp, &w);
    double_poll(t.d, t.now);
    expect(&t, ROCE_READ_REQ, 2);
    expect_quiet(&t);
    g_assert_cmpuint(c->stall_reb, ==, 1);
    response(&t, ROCE_READ_ONLY, 2, 8, 1);
    expect(&t, ROCE_READ_REQ, 3);
    response(&t, ROCE_READ_ONLY, 3, 8, 1);
    expect_cqe(&t, 1, RDMA_WC_SUCCESS);
    expect_cqe(&t, 2, RDMA_WC_SUCCESS);
    /* More WQEs than the pool has: zero-length ones need no units. */
    rdma_config(t.d->dev)->swpb_packets = 1000;
    for (int i = 0; i < 100; i++) {
        post(&t, RDMA_OP_SEND, 0);
    }
    double_poll(t.d, t.now);
    g_assert_cmpuint(c->stall_wqe, ==, 1);
    g_assert_cmpuint(t.d->wire->len, ==, 64);
    g_ptr_array_set_size(t.d->wire, 0);
    ack(&t, AETH_ACK, 4 + 63);
    g_assert_cmpuint(t.d->wire->len, ==, 36);
    g_ptr_array_set_size(t.d->wire, 0);
    ack(&t, AETH_ACK, 4 + 99);
    for (int i = 0; i < 100; i++) {
        expect_cqe(&t, 3 + i, RDMA_WC_SUCCESS);
    }
    teardown(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/requester/" path, test_##fn)
    TEST("ack", ack);
    TEST("ack/middle", ack_middle);
    TEST("ack/passes-read", ack_passes_read);
    TEST("rnr", rnr);
    TEST("rnr/behind-read", rnr_behind_read);
    TEST("rnr/exhausted", rnr_exhausted);
    TEST("rnr/codes", rnr_codes);
    TEST("rnr/for-ever", rnr_forever);
    TEST("nak/sequence", nak_sequence);
    TEST("nak/sequence/behind-read", nak_sequence_behind_read);
    TEST("nak/sequence/counts", nak_sequence_counts);
    TEST("nak/invalid", nak_invalid);
    TEST("nak/access", nak_access);
    TEST("nak/operational", nak_operational);
    TEST("nak/operational/behind-read", nak_operational_behind_read);
    TEST("nak/recoverable", nak_recoverable);
    TEST("nak/reserved", nak_reserved);
    TEST("read", read);
    TEST("read/implies-ack", read_implies_ack);
    TEST("read/lost-before", read_lost_before);
    TEST("read/lost-first", read_lost_first);
    TEST("read/lost-middle", read_lost_middle);
    TEST("read/lost-last", read_lost_last);
    TEST("read/bad-length", read_bad_length);
    TEST("read/scatter-fails", read_scatter_fails);
    TEST("read/for-a-send", response_to_send);
    TEST("atomic", atomic);
    TEST("timeout/exhausted", timeout_exhausted);
    TEST("timeout/one", timeout_one);
    TEST("bad-request", bad_request_in_order);
    TEST("bad-queue", bad_queue);
    TEST("fence", fence);
    TEST("sqd", sqd);
    TEST("back-pressure/packets", back_pressure);
    TEST("back-pressure/units", back_pressure_units);
    return g_test_run();
}
