/*
 * Where queue pairs meet: attributes changed in flight, buffers that many
 * share, late copies, packets from elsewhere, receives that fail, rest after
 * an error.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "double.h"
#include "../../../hw/rdma/transport/internal.h"

enum { US = 1, PEER = 2, QPN = 5, DQPN = 0x123, PSN = 0xfffffe,
       EPSN = 0x100, MTU = 256, MEM = 0x10000 };

typedef struct T {
    Double *d;
    RdmaQp *qp;
    uint32_t key;
    int64_t now;
} T;

static T setup_service(RdmaService s, void (*tweak)(RdmaConfig *cfg))
{
    T t = { .d = double_new(US, tweak), .now = 1000 };

    t.key = double_mr(t.d, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    t.qp = double_qp(t.d, QPN, s, PEER, DQPN, PSN, EPSN, 1);
    return t;
}

static T setup(void (*tweak)(RdmaConfig *cfg))
{
    return setup_service(RDMA_RC, tweak);
}

static void teardown(T *t)
{
    static const Holdings none;

    g_assert_cmpuint(t->d->wire->len, ==, 0);
    g_assert_cmpuint(t->d->cqes->len, ==, 0);
    rdma_reset(t->d->dev);
    g_assert_cmpmem(&t->d->dev->held, sizeof(none), &none, sizeof(none));
    g_assert_cmpuint(t->d->dev->wqe_used, ==, 0);
    double_free(t->d);
}

static void post(T *t, RdmaQp *qp, RdmaOpcode op, uint32_t len)
{
    RdmaWqe w = double_wqe(op, MEM, len, t->key);

    w.raddr = UINT64_C(0x7000000000);
    w.rkey = 0x77;
    double_send(t->d, qp, &w);
}

static void deliver(T *t, GBytes *f)
{
    gsize size;
    const uint8_t *p = g_bytes_get_data(f, &size);

    g_assert_true(rdma_rx_frame(t->d->dev, p, size, t->now));
    g_bytes_unref(f);
    double_poll(t->d, t->now);
}

static void acknowledge(T *t, uint32_t qpn, uint8_t syndrome, uint32_t psn)
{
    uint8_t aeth[4];

    aeth_put(aeth, syndrome, 1);
    deliver(t, frame_make(PEER, US, ROCE_ACK, false, qpn, psn, aeth, 4));
}

static uint8_t sent(T *t, uint32_t psn)
{
    GBytes *f = double_take(t->d);
    uint8_t op;

    g_assert_nonnull(f);
    op = bth_opcode(frame_bth(f));
    g_assert_cmphex(bth_psn(frame_bth(f)), ==, psn);
    g_bytes_unref(f);
    return op;
}

static void completed(T *t, uint64_t id, RdmaStatus status)
{
    RdmaCqe c = double_cqe(t->d);

    g_assert_cmpuint(c.wqe_id, ==, id);
    g_assert_cmpuint(c.status, ==, status);
}

static void in_state(const T *t, RdmaQpState s)
{
    g_assert_cmpint(t->qp->attr.state, ==, s);
}

static bool event_seen(T *t, RdmaEvent ev)
{
    for (guint i = 0; i < t->d->events->len; i++) {
        if (g_array_index(t->d->events, uint32_t, i) ==
            ((uint32_t)ev << 24 | QPN)) {
            return true;
        }
    }
    return false;
}

/* ---- attributes in flight ---- */

static void test_modify(void)
{
    T t = setup(NULL);
    RdmaQpAttr a = *rdma_qp_attr(t.qp);

    post(&t, t.qp, RDMA_OP_WRITE, 100);
    double_poll(t.d, t.now);
    sent(&t, PSN);
    a.service = RDMA_UC;
    a.send_cqn = a.recv_cqn = 9;
    a.mtu_code = 3;
    a.qkey = 0x55;
    g_assert_false(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_SERVICE |
                                  RDMA_QPA_CQS | RDMA_QPA_MTU |
                                  RDMA_QPA_QKEY));
    g_assert_cmpuint(t.d->rules, ==, 1);
    g_assert_cmpint(t.qp->attr.service, ==, RDMA_RC);
    g_assert_cmpuint(t.qp->attr.send_cqn, ==, 1);
    g_assert_cmpuint(t.qp->attr.recv_cqn, ==, 1);
    g_assert_cmpuint(t.qp->attr.mtu_code, ==, 1);
    g_assert_cmpuint(t.qp->mtu, ==, 256);
    g_assert_cmphex(t.qp->attr.qkey, ==, 0x55);     /* all else is taken */
    post(&t, t.qp, RDMA_OP_WRITE, 100);
    double_poll(t.d, t.now);
    sent(&t, psn_add(PSN, 1));
    acknowledge(&t, QPN, AETH_ACK, psn_add(PSN, 1));
    completed(&t, 0, RDMA_WC_SUCCESS);
    completed(&t, 1, RDMA_WC_SUCCESS);
    /* With nothing under way, they change. */
    a.send_cqn = a.recv_cqn = 1;
    g_assert_true(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_SERVICE |
                                 RDMA_QPA_CQS | RDMA_QPA_MTU));
    g_assert_cmpuint(t.qp->mtu, ==, 1024);
    post(&t, t.qp, RDMA_OP_WRITE, 1024);
    double_poll(t.d, t.now);
    g_assert_cmphex(sent(&t, psn_add(PSN, 2)), ==,
                    ROCE_OP(RDMA_UC, ROCE_WRITE_ONLY));
    completed(&t, 2, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* Each thing that a peer may be in the midst of. */
static void test_modify_receiving(void)
{
    for (int way = 0; way < 3; way++) {
        T t = setup(NULL);
        RdmaQpAttr a = { .mtu_code = 5, .service = RDMA_RC, .send_cqn = 1,
                         .recv_cqn = 1 };
        uint8_t ext[16 + MTU] = { 0 };
        GBytes *f;
        gsize size;
        const uint8_t *p;

        double_recv(t.d, t.qp, MEM, 0x1000, t.key);
        reth_put(ext, MEM, t.key, 2 * MTU);
        f = way == 0 ? frame_make(PEER, US, ROCE_SEND_FIRST, false, QPN, EPSN,
                                  ext, MTU) :
            way == 1 ? frame_make(PEER, US, ROCE_WRITE_FIRST, false, QPN,
                                  EPSN, ext, 16 + MTU) :
                       frame_make(PEER, US, ROCE_READ_REQ, false, QPN, EPSN,
                                  ext, 16);
        p = g_bytes_get_data(f, &size);
        rdma_rx_frame(t.d->dev, p, size, t.now);
        g_assert_false(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_MTU));
        g_assert_cmpuint(t.qp->mtu, ==, MTU);
        /* The same is no change. */
        a.mtu_code = 1;
        g_assert_true(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_MTU |
                                     RDMA_QPA_SERVICE | RDMA_QPA_CQS));
        double_poll(t.d, t.now);
        g_ptr_array_set_size(t.d->wire, 0);
        g_bytes_unref(f);
        teardown(&t);
    }
}

/* What was sent leaves the buffers with its WQE, however that ends. */
static void test_accounts(void)
{
    T t = setup(NULL);
    RdmaDev *dev = t.d->dev;
    RdmaQp *qp[3] = { t.qp };
    RdmaQpAttr a = { .state = RDMA_QPS_RESET };

    for (int i = 1; i < 3; i++) {
        qp[i] = double_qp(t.d, QPN + i, RDMA_RC, PEER, DQPN, PSN, 0x100, 1);
    }
    for (int i = 0; i < 3; i++) {
        post(&t, qp[i], RDMA_OP_WRITE, 3 * MTU + 1);
        post(&t, qp[i], RDMA_OP_READ, 100);
        post(&t, qp[i], RDMA_OP_SEND, 33);
    }
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->wire->len, ==, 3 * 6);
    g_ptr_array_set_size(t.d->wire, 0);
    g_assert_cmpuint(dev->held.swpb_packets, ==, 3 * 5);
    g_assert_cmpuint(dev->held.swpb_units, ==, 3 * (3 * 8 + 1 + 2));
    g_assert_cmpuint(dev->held.rpb_packets, ==, 3);
    g_assert_cmpuint(dev->held.reb_entries, ==, 3);
    acknowledge(&t, QPN, AETH_ACK, psn_add(PSN, 1));        /* two of four */
    g_assert_cmpuint(dev->held.swpb_packets, ==, 3 * 5 - 2);
    g_assert_cmpuint(dev->held.swpb_units, ==, 3 * 27 - 16);
    g_assert_cmpuint(qp[0]->req.held.swpb_packets, ==, 3);
    rdma_qp_modify(dev, qp[0], &a, RDMA_QPA_STATE);
    g_assert_cmpuint(dev->held.swpb_packets, ==, 10);
    g_assert_cmpuint(dev->held.rpb_packets, ==, 2);
    rdma_qp_destroy(dev, qp[1]);
    g_assert_cmpuint(dev->held.swpb_packets, ==, 5);
    a.state = RDMA_QPS_ERR;
    rdma_qp_modify(dev, qp[2], &a, RDMA_QPA_STATE);
    double_poll(t.d, t.now);
    g_assert_cmpuint(dev->held.swpb_packets, ==, 0);
    g_assert_cmpuint(dev->held.reb_entries, ==, 0);
    g_assert_cmpuint(dev->wqe_used, ==, 0);
    for (int i = 0; i < 3; i++) {
        completed(&t, i, RDMA_WC_FLUSH);
    }
    teardown(&t);
}

/* ---- many queue pairs ---- */

static void few_packets(RdmaConfig *cfg)
{
    cfg->swpb_packets = 8;
    cfg->max_wqes = 64;
}

static void few_shared(RdmaConfig *cfg)
{
    few_packets(cfg);
    cfg->shared_buffers = true;
}

/*
 * One QP's peer has no receive posted, or is dead: another QP, whose message
 * would make it post, gets through; with the buffers of the document it waits.
 */
static void starve(bool shared, bool dead)
{
    T t = setup(shared ? few_shared : few_packets);
    RdmaQp *other = double_qp(t.d, 6, RDMA_RC, PEER, DQPN, 0x500, 0, 1);

    for (int i = 0; i < 600; i++) {
        post(&t, t.qp, RDMA_OP_SEND, 10);
    }
    for (int round = 0; round < 20; round++) {
        double_poll(t.d, t.now);
        g_ptr_array_set_size(t.d->wire, 0);
        if (!dead) {
            acknowledge(&t, QPN, AETH_RNR_NAK | 1, PSN);
        }
        if (round == 2) {
            for (int i = 0; i < 3; i++) {
                post(&t, other, RDMA_OP_SEND, 10);
            }
        }
        if (round > 2) {
            acknowledge(&t, 6, AETH_ACK, psn_add(0x500, round - 3));
        }
        t.now += 1000000;
        double_poll(t.d, t.now);
        g_ptr_array_set_size(t.d->wire, 0);
    }
    g_assert_cmpuint(t.d->cqes->len, ==, shared ? 0 : 3);
    g_array_set_size(t.d->cqes, 0);
    teardown(&t);
}

static void test_starve(void)
{
    starve(false, false);
    starve(false, true);
    starve(true, false);
    starve(true, true);
}

/* All decoded WQEs wait for dead peers: everybody else still has one. */
static void test_starve_wqes(void)
{
    T t = setup(few_packets);
    RdmaQp *other = double_qp(t.d, 6, RDMA_RC, PEER, DQPN, 0x500, 0, 1);

    for (int i = 0; i < 9; i++) {
        RdmaQp *qp = double_qp(t.d, 7 + i, RDMA_RC, PEER, DQPN, 0, 0, 1);

        for (int k = 0; k < 20; k++) {
            post(&t, qp, RDMA_OP_SEND, 10);
        }
    }
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->dev->wqe_used, >=, 64);
    g_assert_cmpuint(t.d->dev->wqe_used, <=, 64 + 9);
    g_ptr_array_set_size(t.d->wire, 0);
    for (int i = 0; i < 3; i++) {
        post(&t, other, RDMA_OP_SEND, 10);
    }
    for (int i = 0; i < 3; i++) {
        double_poll(t.d, t.now);
        sent(&t, 0x500 + i);
        acknowledge(&t, 6, AETH_ACK, 0x500 + i);
        completed(&t, i, RDMA_WC_SUCCESS);
        g_assert_cmpuint(t.d->wire->len, ==, i < 2);
    }
    teardown(&t);
}

/* Who waits for the shared buffers gets on in turn, and is not asked again
 * and again. */
static void test_share(void)
{
    enum { NUM = 40, EACH = 20 };
    T t = setup(few_shared);
    RdmaQp *qp[NUM];
    uint32_t done[NUM] = { 0 }, all = 0;

    rdma_qp_destroy(t.d->dev, t.qp);
    for (int i = 0; i < NUM; i++) {
        qp[i] = double_qp(t.d, 16 + i, RDMA_RC, PEER, DQPN, 0, 0, 1);
        for (int k = 0; k < EACH; k++) {
            /* The double has 16 queues: three QPs share some. */
            post(&t, qp[i], RDMA_OP_SEND, 10);
        }
    }
    for (int round = 0; all < NUM * EACH; round++) {
        g_assert_cmpint(round, <, NUM * EACH * 2);
        double_poll(t.d, t.now);
        g_assert_cmpuint(t.d->dev->held.swpb_packets, <=, 8);
        for (int i = 0; i < NUM; i++) {
            if (qp[i]->req.upsn != qp[i]->req.npsn) {
                acknowledge(&t, 16 + i, AETH_ACK,
                            psn_add(qp[i]->req.npsn, -1));
                break;
            }
        }
        for (guint i = 0; i < t.d->cqes->len; i++) {
            const RdmaCqe *c = &g_array_index(t.d->cqes, RdmaCqe, i);

            g_assert_cmpuint(c->status, ==, RDMA_WC_SUCCESS);
            done[c->qpn - 16]++;
            all++;
        }
        g_array_set_size(t.d->cqes, 0);
    }
    for (int i = 0; i < NUM; i++) {
        g_assert_cmpuint(done[i], >, 0);
    }
    g_ptr_array_set_size(t.d->wire, 0);
    /* A wait or two for each packet, not one for each packet and QP. */
    g_assert_cmpuint(rdma_counters(t.d->dev)->stall_swpb, <=,
                     2 * NUM * EACH);
    teardown(&t);
}

/* ---- window of PSNs (IB 1.3 §9.7.2) ---- */

static void test_window(void)
{
    T t = setup(NULL);
    uint32_t third = psn_add(PSN, 1u << 23);
    uint8_t buf[4 + MTU] = { 0 };

    rdma_mr_set(t.d->dev, 2, &(RdmaMr) {
        .key = 0x25a, .pd = 7, .access = RDMA_ACC_RIGHTS, .page_shift = 12,
        .start = 0, .length = UINT64_C(1) << 40, .mtt = 2 });
    for (int i = 0; i < 3; i++) {
        /* 2^22 packets each. */
        RdmaWqe w = double_wqe(RDMA_OP_READ, 0, 1u << 30, 0x25a);

        double_send(t.d, t.qp, &w);
    }
    double_poll(t.d, t.now);
    sent(&t, PSN);
    sent(&t, psn_add(PSN, 1u << 22));
    g_assert_cmpuint(t.d->wire->len, ==, 0);    /* the third waits */
    /* With half of all PSNs under way, a loss is repeated as ever. */
    t.now += INT64_C(4096) << 14;
    double_poll(t.d, t.now);
    sent(&t, PSN);
    sent(&t, psn_add(PSN, 1u << 22));
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    /* Its last answer but one does not let the third go, the last does. */
    t.qp->req.upsn = psn_add(PSN, (1u << 22) - 2);
    g_assert_cmpuint(psn_ahead(third, t.qp->req.upsn), ==, (1u << 22) + 2);
    aeth_put(buf, AETH_ACK, 1);
    deliver(&t, frame_make(PEER, US, ROCE_READ_MIDDLE, false, QPN,
                           psn_add(PSN, (1u << 22) - 2), buf + 4, MTU));
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    deliver(&t, frame_make(PEER, US, ROCE_READ_LAST, false, QPN,
                           psn_add(PSN, (1u << 22) - 1), buf, 4 + MTU));
    completed(&t, 0, RDMA_WC_LOC_PROT);         /* no such memory here */
    completed(&t, 1, RDMA_WC_FLUSH);
    completed(&t, 2, RDMA_WC_FLUSH);
    teardown(&t);
}

static void test_window_moves(void)
{
    T t = setup(NULL);
    uint8_t buf[16] = { 0 };

    rdma_mr_set(t.d->dev, 2, &(RdmaMr) {
        .key = 0x25a, .pd = 7, .access = RDMA_ACC_RIGHTS, .page_shift = 12,
        .start = 0, .length = UINT64_C(1) << 40, .mtt = 2 });
    post(&t, t.qp, RDMA_OP_READ, 12);
    for (int i = 0; i < 2; i++) {
        RdmaWqe w = double_wqe(RDMA_OP_READ, 0, 1u << 30, 0x25a);

        double_send(t.d, t.qp, &w);
    }
    double_poll(t.d, t.now);
    sent(&t, PSN);
    sent(&t, psn_add(PSN, 1));
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    deliver(&t, frame_make(PEER, US, ROCE_READ_ONLY, false, QPN, PSN, buf,
                           16));
    completed(&t, 0, RDMA_WC_SUCCESS);
    sent(&t, psn_add(PSN, 1 + (1u << 22)));     /* now there is room */
    teardown(&t);
}

/* ---- late copies ---- */

static void read_request(T *t, int i, uint64_t va, uint32_t key, uint32_t len)
{
    uint8_t reth[16];

    reth_put(reth, va, key, len);
    deliver(t, frame_make(PEER, US, ROCE_READ_REQ, false, QPN, EPSN + i, reth,
                          16));
}

static void fetch_add(T *t, int i)
{
    uint8_t ext[ROCE_ATOMIC_BYTES];

    atomic_put(ext, MEM + 8, t->key, 1, 0);
    deliver(t, frame_make(PEER, US, ROCE_FETCH_ADD, false, QPN, EPSN + i, ext,
                          sizeof(ext)));
}

static void test_late_copy(void)
{
    T t = setup(NULL);
    uint32_t gone = double_mr(t.d, 2, 0x90000, 0x20000, 0x1000,
                              RDMA_ACC_RIGHTS);

    fetch_add(&t, 0);
    g_assert_cmphex(sent(&t, EPSN), ==, ROCE_ATOMIC_ACK);
    for (int i = 1; i < 4; i++) {
        read_request(&t, i, 0x90000, gone, 4);
        g_assert_cmphex(sent(&t, EPSN + i), ==, ROCE_READ_ONLY);
    }
    rdma_mr_clear(t.d->dev, 2);
    /* The atomic again: its result, nothing else, and no harm. */
    fetch_add(&t, 0);
    g_assert_cmphex(sent(&t, EPSN), ==, ROCE_ATOMIC_ACK);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    in_state(&t, RDMA_QPS_RTS);
    g_assert_cmpuint(get_le64(double_ptr(t.d, 1, MEM + 8)), ==, 1);
    /* A Read whose region has gone: nobody waits for it any more. */
    read_request(&t, 2, 0x90000, gone, 4);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    in_state(&t, RDMA_QPS_RTS);
    /* A new one is refused as ever. */
    read_request(&t, 4, 0x90000, gone, 4);
    g_assert_cmphex(sent(&t, EPSN + 4), ==, ROCE_ACK);
    in_state(&t, RDMA_QPS_ERR);
    teardown(&t);
}

/* One stale frame brings one answer, and only if it is what was asked. */
static void test_no_amplification(void)
{
    T t = setup(NULL);

    for (int i = 0; i < 6; i += 3) {
        read_request(&t, i, MEM, t.key, 2 * MTU + 4);
        g_assert_cmphex(sent(&t, EPSN + i), ==, ROCE_READ_FIRST);
        sent(&t, EPSN + i + 1);
        sent(&t, EPSN + i + 2);
    }
    read_request(&t, 1, MEM + MTU, t.key, MTU + 4);     /* its end */
    g_assert_cmphex(sent(&t, EPSN + 1), ==, ROCE_READ_FIRST);
    g_assert_cmphex(sent(&t, EPSN + 2), ==, ROCE_READ_LAST);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    read_request(&t, 0, MEM, t.key, 2 * MTU + 4);       /* all of it */
    g_assert_cmphex(sent(&t, EPSN + 0), ==, ROCE_READ_FIRST);
    g_assert_cmphex(sent(&t, EPSN + 1), ==, ROCE_READ_MIDDLE);
    g_assert_cmphex(sent(&t, EPSN + 2), ==, ROCE_READ_LAST);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    /* Other places, keys, lengths at the same PSN are no repetitions. */
    read_request(&t, 0, MEM + 4, t.key, 2 * MTU + 4);
    read_request(&t, 0, MEM, t.key ^ 0x100, 2 * MTU + 4);
    read_request(&t, 0, MEM, t.key, 2 * MTU + 5);
    read_request(&t, 0, MEM, t.key, MTU);
    read_request(&t, 1, MEM, t.key, MTU + 4);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_duplicate, ==, 7);
    in_state(&t, RDMA_QPS_RTS);
    teardown(&t);
}

/* A higher limit of Reads does not forget the atomics of before. */
static void test_remember(void)
{
    T t = setup(NULL);
    RdmaQpAttr a = { .max_dest_rd_atomic = 2, .max_rd_atomic = 1 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_DEST_RD | RDMA_QPA_RD_ATOMIC);
    for (int i = 0; i < 5; i++) {
        fetch_add(&t, i);
        sent(&t, EPSN + i);
    }
    a.max_dest_rd_atomic = 64;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_DEST_RD);
    for (int i = 4; i >= 1; i--) {
        GBytes *f;

        fetch_add(&t, i);
        f = double_take(t.d);
        g_assert_nonnull(f);
        g_assert_cmphex(bth_psn(frame_bth(f)), ==, EPSN + i);
        g_assert_cmpuint(get_be64(frame_bth(f) + 16), ==, i);
        g_bytes_unref(f);
    }
    g_assert_cmpuint(get_le64(double_ptr(t.d, 1, MEM + 8)), ==, 5);
    a.max_dest_rd_atomic = 1;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_DEST_RD);
    fetch_add(&t, 4);
    g_assert_cmphex(sent(&t, EPSN + 4), ==, ROCE_ATOMIC_ACK);
    teardown(&t);
}

/* Another path MTU: remembered Reads were cut otherwise and are forgotten, but
 * a repetition is answered from what it says itself. */
static void test_remember_mtu(void)
{
    T t = setup(NULL);
    RdmaQpAttr a = { .mtu_code = 2 };

    read_request(&t, 0, MEM, t.key, 2 * MTU);
    sent(&t, EPSN);
    sent(&t, EPSN + 1);
    fetch_add(&t, 2);
    sent(&t, EPSN + 2);
    g_assert_true(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_MTU));
    read_request(&t, 1, MEM + MTU, t.key, MTU);
    g_assert_cmphex(sent(&t, EPSN + 1), ==, ROCE_READ_ONLY);
    fetch_add(&t, 2);
    g_assert_cmphex(sent(&t, EPSN + 2), ==, ROCE_ATOMIC_ACK);
    teardown(&t);
}

static void no_coalescing(RdmaConfig *cfg)
{
    cfg->ack_coalesce = false;
}

/* The region goes away in the middle: the NAK names the packet, at once, too. */
static void test_read_revoked(void)
{
    for (int way = 0; way < 2; way++) {
        T t = setup(way ? no_coalescing : NULL);
        uint8_t reth[16];
        GBytes *f;
        gsize size;
        const uint8_t *p;

        reth_put(reth, MEM, t.key, 4 * MTU);
        f = frame_make(PEER, US, ROCE_READ_REQ, false, QPN, EPSN, reth, 16);
        p = g_bytes_get_data(f, &size);
        rdma_rx_frame(t.d->dev, p, size, t.now);
        g_bytes_unref(f);
        rdma_poll_some(t.d->dev, t.now, 2);
        g_assert_cmphex(sent(&t, EPSN), ==, ROCE_READ_FIRST);
        g_ptr_array_set_size(t.d->wire, 0);
        t.d->revoked = true;
        double_poll(t.d, t.now);
        f = double_take(t.d);
        g_assert_nonnull(f);
        g_assert_cmphex(bth_opcode(frame_bth(f)), ==, ROCE_ACK);
        g_assert_cmphex(aeth_syndrome(frame_bth(f) + 12), ==,
                        AETH_NAK | NAK_REMOTE_ACCESS);
        g_assert_cmphex(bth_psn(frame_bth(f)), >, EPSN);
        g_assert_cmphex(bth_psn(frame_bth(f)), <, EPSN + 4);
        g_bytes_unref(f);
        in_state(&t, RDMA_QPS_ERR);
        teardown(&t);
    }
}

/* ---- from elsewhere ---- */

static void send_only(T *t, unsigned from, uint8_t service, uint32_t len)
{
    uint8_t data[512] = { 1, 2, 3, 4 };

    deliver(t, frame_make(from, US, ROCE_OP(service, ROCE_SEND_ONLY), false,
                          QPN, EPSN, data, len));
}

static void any_source(RdmaConfig *cfg)
{
    cfg->source_check = false;
}

static void test_source(void)
{
    for (RdmaService s = RDMA_RC; s <= RDMA_UC; s++) {
        T t = setup_service(s, NULL);
        RdmaQpAttr a = *rdma_qp_attr(t.qp);

        double_recv(t.d, t.qp, MEM, 100, t.key);
        double_recv(t.d, t.qp, MEM, 100, t.key);
        send_only(&t, 77, s, 4);
        g_assert_cmpuint(rdma_counters(t.d->dev)->rx_source, ==, 1);
        g_assert_cmpuint(t.d->cqes->len, ==, 0);
        send_only(&t, PEER, s, 4);
        completed(&t, 0, RDMA_WC_SUCCESS);
        /* Another address: another peer. */
        a.av.dip += 75;
        a.rq_psn = EPSN;
        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_AV | RDMA_QPA_RQ_PSN);
        send_only(&t, PEER, s, 4);
        g_assert_cmpuint(rdma_counters(t.d->dev)->rx_source, ==, 2);
        send_only(&t, 77, s, 4);
        completed(&t, 1, RDMA_WC_SUCCESS);
        teardown(&t);
        t = setup_service(s, any_source);
        double_recv(t.d, t.qp, MEM, 100, t.key);
        send_only(&t, 77, s, 4);
        completed(&t, 0, RDMA_WC_SUCCESS);
        teardown(&t);
    }
}

/* A QP without an address takes nothing from anywhere. */
static void test_source_none(void)
{
    T t = setup(NULL);
    RdmaQpAttr a = { 0 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_AV);
    send_only(&t, PEER, RDMA_RC, 4);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_source, ==, 1);
    teardown(&t);
}

/* A datagram to a group, with the P_Key of some of its members. */
static void test_mcast_pkey(void)
{
    static const uint8_t mgid[16] = { 0xff, 0x12, [15] = 9 };
    T t = setup_service(RDMA_UD, NULL);
    Double *b = double_new(PEER, NULL);
    RdmaPort port = *rdma_port(b->dev);
    uint32_t key = double_mr(b, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    RdmaQp *in = double_qp(b, 8, RDMA_UD, US, 0, 0, 0, 1), *out;
    RdmaQpAttr a = { .pkey_index = 1 };
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 4, t.key);

    port.pkey[0] = 0x8001;
    port.pkey[1] = 0x8002;
    port.num_pkeys = 2;
    rdma_port_set(b->dev, &port);
    out = double_qp(b, 9, RDMA_UD, US, 0, 0, 0, 1);
    rdma_qp_modify(b->dev, out, &a, RDMA_QPA_PKEY);
    double_recv(b, in, MEM, 100, key);
    double_recv(b, out, MEM, 100, key);
    rdma_mcast_attach(b->dev, mgid, 8);
    rdma_mcast_attach(b->dev, mgid, 9);
    w.dqpn = RDMA_QPN_MULTICAST;
    w.qkey = 0x11111111;
    w.flags |= RDMA_WQE_PKEY;
    w.pkey = 0x8002;
    w.av.has_grh = true;
    memcpy(w.av.dgid, mgid, 16);
    double_send(t.d, t.qp, &w);
    double_exchange(t.d, b, t.now);
    g_assert_cmpuint(rdma_counters(b->dev)->rx_pkey, ==, 1);
    g_assert_cmpuint(rdma_counters(b->dev)->mcast_rx, ==, 1);
    g_assert_cmpuint(b->cqes->len, ==, 1);
    g_assert_cmpuint(double_cqe(b).qpn, ==, 9);
    completed(&t, 0, RDMA_WC_SUCCESS);
    double_free(b);
    teardown(&t);
}

/* ---- receives that fail ---- */

static void datagram(T *t, uint32_t len)
{
    uint8_t ext[8 + 512] = { 0 };

    deth_put(ext, 0x11111111, 0x777);
    deliver(t, frame_make(PEER, US, ROCE_OP(RDMA_UD, ROCE_SEND_ONLY), false,
                          QPN, EPSN, ext, 8 + len));
}

static void test_receive_fails(void)
{
    /* Queue memory, key, length. */
    for (int way = 0; way < 6; way++) {
        bool ud = way & 1;
        T t = setup_service(ud ? RDMA_UD : RDMA_UC, NULL);

        t.d->bad_rq = way / 2 == 0;
        double_recv(t.d, t.qp, MEM, way / 2 == 2 ? 30 : 200,
                    way / 2 == 1 ? 0xbad : t.key);
        if (ud) {
            datagram(&t, 40);
        } else {
            send_only(&t, PEER, RDMA_UC, 40);
        }
        in_state(&t, RDMA_QPS_ERR);
        g_assert_true(event_seen(&t, RDMA_EV_WQ_CATAS));
        if (way / 2 == 1) {
            completed(&t, 0, RDMA_WC_LOC_PROT);
        } else if (way / 2 == 2) {
            completed(&t, 0, RDMA_WC_LOC_LEN);
        }
        teardown(&t);
    }
}

/* A peer may not bring a management QP down by length. */
static void test_mad_length(void)
{
    T t = setup_service(RDMA_UD, NULL);
    RdmaQpAttr a = { .special = true };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_SPECIAL);
    double_recv(t.d, t.qp, MEM, 296, t.key);
    datagram(&t, 260);
    datagram(&t, 252);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_length, ==, 2);
    in_state(&t, RDMA_QPS_RTS);
    datagram(&t, 256);
    completed(&t, 0, RDMA_WC_SUCCESS);
    teardown(&t);
}

/* An access past the end of a message, an atomic that is switched off, a code
 * that is no path MTU, and the counters of what was refused. */
static void test_odds(void)
{
    T t = setup(NULL);
    RdmaQpAttr a = { .mtu_code = 0 };
    RdmaCounters *c = rdma_counters(t.d->dev);

    g_assert_true(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_MTU));
    g_assert_cmpuint(t.qp->mtu, ==, 256);
    a.mtu_code = 7;
    g_assert_true(rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_MTU));
    g_assert_cmpuint(t.qp->mtu, ==, 4096);
    t.d->dev->cfg.atomics = false;
    post(&t, t.qp, RDMA_OP_CMP_SWAP, 8);
    double_poll(t.d, t.now);
    completed(&t, 0, RDMA_WC_LOC_QP_OP);
    g_assert_cmpuint(c->local_errors, ==, 1);
    in_state(&t, RDMA_QPS_ERR);
    teardown(&t);

    t = setup(NULL);
    fetch_add(&t, 0);                   /* the first: the ring is made */
    sent(&t, EPSN);
    read_request(&t, 1, MEM, 0xbad, 4);
    sent(&t, EPSN + 1);
    c = rdma_counters(t.d->dev);
    g_assert_cmpuint(c->nak_access_tx, ==, 1);
    g_assert_cmpuint(c->nak_inv_tx + c->nak_op_tx + c->nak_seq_tx, ==, 0);
    teardown(&t);

    t = setup(NULL);
    t.d->bad_rq = true;
    send_only(&t, PEER, RDMA_RC, 4);
    sent(&t, EPSN);
    g_assert_cmpuint(rdma_counters(t.d->dev)->nak_op_tx, ==, 1);
    teardown(&t);
}

/* ---- rest ---- */

static void repoll(RdmaConfig *cfg)
{
    cfg->err_repoll_us = 1000;
}

static unsigned looks(T *t, int64_t *end)
{
    unsigned n = 0;
    int64_t next;

    while ((next = double_poll(t->d, t->now)) != INT64_MAX) {
        g_assert_cmpint(next, >, t->now);
        t->now = next;
        n++;
    }
    *end = t->now;
    return n;
}

static void test_rest(void)
{
    T t = setup(repoll);
    RdmaQpAttr a = { .state = RDMA_QPS_ERR };
    int64_t end;

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    /* After 1 ms, 2 more, 4 more ...: a tenth look would be later than 1 s. */
    g_assert_cmpuint(looks(&t, &end), ==, 9);
    g_assert_cmpint(end, ==, 1000 + 511 * INT64_C(1000000));
    /* Who rings is served, and looked after again. */
    double_recv(t.d, t.qp, MEM, 100, t.key);
    rdma_qp_kick(t.d->dev, t.qp);
    double_poll(t.d, t.now);
    t.now += 1000000;
    double_poll(t.d, t.now);
    completed(&t, 0, RDMA_WC_FLUSH);
    t.now += 1000000;
    double_recv(t.d, t.qp, MEM, 100, t.key);
    double_poll(t.d, t.now);
    completed(&t, 1, RDMA_WC_FLUSH);
    g_assert_cmpuint(looks(&t, &end), <=, 11);
    post(&t, t.qp, RDMA_OP_SEND, 4);
    double_poll(t.d, t.now);
    completed(&t, 0, RDMA_WC_FLUSH);
    t.now += 1000000;
    double_recv(t.d, t.qp, MEM, 100, t.key);
    double_poll(t.d, t.now);
    completed(&t, 2, RDMA_WC_FLUSH);
    teardown(&t);
}

/* A look that was planned is not taken when there is nothing to look at. */
static void test_rest_early(void)
{
    T t = setup(repoll);
    RdmaQpAttr a = { .state = RDMA_QPS_ERR, .has_srq = true };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    g_assert_cmpint(double_poll(t.d, t.now), ==, t.now + 1000000);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_SRQ);
    rdma_qp_kick(t.d->dev, t.qp);
    double_poll(t.d, t.now);
    g_assert_cmpint(t.qp->repoll_at, ==, INT64_MAX);
    teardown(&t);
}

/* Nothing comes to an SRQ's QP in error, and none where a doorbell rings. */
static void test_rest_srq(void)
{
    for (int way = 0; way < 2; way++) {
        T t = setup(way ? NULL : repoll);
        RdmaQpAttr a = { .state = RDMA_QPS_ERR, .has_srq = !way };

        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE | RDMA_QPA_SRQ);
        g_assert_cmpint(double_poll(t.d, t.now), ==, INT64_MAX);
        teardown(&t);
    }
}

static void one_packet(RdmaConfig *cfg)
{
    cfg->swpb_packets = 1;
}

/* An acknowledgement that waits for ARP leaves with the answer, though the
 * sender waits for the buffers as well. */
static void test_two_waits(void)
{
    T t = setup(one_packet);
    RdmaQpAttr a = *rdma_qp_attr(t.qp);
    uint8_t arp[42] = { 2, 0, 0, 0, 0, US, 2, 0, 0, 0, 0, PEER, 8, 6, 0, 1, 8,
                        0, 6, 4, 0, 2 };

    post(&t, t.qp, RDMA_OP_SEND, 4);
    post(&t, t.qp, RDMA_OP_SEND, 4);
    double_recv(t.d, t.qp, MEM, 100, t.key);
    double_poll(t.d, t.now);
    sent(&t, PSN);
    memset(a.av.dmac, 0, 6);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_AV);
    memset(t.d->dev->neigh, 0, sizeof(t.d->dev->neigh));
    {
        GBytes *f = frame_make(PEER, US, ROCE_SEND_ONLY, true, QPN, EPSN,
                               "abcd", 4);
        gsize size;
        uint8_t *p = g_memdup2(g_bytes_get_data(f, &size),
                               g_bytes_get_size(f));

        p[6] = 1;               /* a group's address is not learnt */
        rdma_rx_frame(t.d->dev, p, size = g_bytes_get_size(f), t.now);
        g_free(p);
        g_bytes_unref(f);
    }
    double_poll(t.d, t.now);
    completed(&t, 0, RDMA_WC_SUCCESS);
    g_assert_cmpuint(t.d->wire->len, ==, 1);        /* the question */
    g_ptr_array_set_size(t.d->wire, 0);
    memcpy(arp + 22, arp + 6, 6);
    put_be32(arp + 28, 10u << 24 | PEER);
    memcpy(arp + 32, arp, 6);
    put_be32(arp + 38, 10u << 24 | US);
    rdma_rx_frame(t.d->dev, arp, sizeof(arp), t.now);
    double_poll(t.d, t.now);
    g_assert_cmphex(sent(&t, EPSN), ==, ROCE_ACK);
    teardown(&t);
}

static void no_hurry(RdmaConfig *cfg)
{
    cfg->time_scale = UINT32_MAX;
}

static void test_time_scale(void)
{
    for (int code = 0; code < 32; code++) {
        T t = setup(no_hurry);
        RdmaQpAttr a = { .timeout = code };

        t.now = INT64_C(1) << 60;               /* 36 years */
        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_TIMEOUT);
        post(&t, t.qp, RDMA_OP_SEND, 4);
        g_assert_cmpint(double_poll(t.d, t.now), >, t.now + SEC_NS);
        sent(&t, PSN);
        acknowledge(&t, QPN, AETH_RNR_NAK | code, PSN);
        g_assert_cmpint(t.qp->rnr_at, >, t.now + SEC_NS);
        teardown(&t);
    }
    g_assert_cmpint(TIMER_MAX_NS, <, INT64_C(1) << 50);
}

/* Work without packets between two that were lost does not hide the second. */
static void test_repeat_past_nop(void)
{
    T t = setup(NULL);

    post(&t, t.qp, RDMA_OP_SEND, 4);
    post(&t, t.qp, RDMA_OP_NOP, 0);
    post(&t, t.qp, RDMA_OP_SEND, 4);
    double_poll(t.d, t.now);
    sent(&t, PSN);
    sent(&t, psn_add(PSN, 1));
    t.now += INT64_C(4096) << 14;
    double_poll(t.d, t.now);
    sent(&t, PSN);
    sent(&t, psn_add(PSN, 1));
    acknowledge(&t, QPN, AETH_ACK, psn_add(PSN, 1));
    for (int i = 0; i < 3; i++) {
        completed(&t, i, RDMA_WC_SUCCESS);
    }
    teardown(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/edges/" path, test_##fn)
    TEST("modify", modify);
    TEST("modify/receiving", modify_receiving);
    TEST("accounts", accounts);
    TEST("starve", starve);
    TEST("starve/wqes", starve_wqes);
    TEST("share", share);
    TEST("window", window);
    TEST("window/moves", window_moves);
    TEST("late-copy", late_copy);
    TEST("late-copy/amplification", no_amplification);
    TEST("remember", remember);
    TEST("remember/mtu", remember_mtu);
    TEST("read-revoked", read_revoked);
    TEST("source", source);
    TEST("source/none", source_none);
    TEST("mcast-pkey", mcast_pkey);
    TEST("receive-fails", receive_fails);
    TEST("mad-length", mad_length);
    TEST("odds", odds);
    TEST("rest", rest);
    TEST("rest/early", rest_early);
    TEST("rest/srq", rest_srq);
    TEST("two-waits", two_waits);
    TEST("time-scale", time_scale);
    TEST("repeat-past-nop", repeat_past_nop);
    return g_test_run();
}
