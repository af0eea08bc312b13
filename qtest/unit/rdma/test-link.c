/*
 * Two engines: whole messages of every kind, addresses, resources, faults.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "double.h"

#define SRC  0x10000            /* region 1, both sides: 64 KiB of pattern */
#define DST  0x40000            /* region 2: 64 KiB */
#define LEN  0x10000

typedef struct Pair {
    Double *a, *b;
    RdmaQp *qa, *qb;
    uint32_t src[2], dst[2];
    int64_t now;
} Pair;

static Pair pair_new(RdmaService s, unsigned mtu_code, uint32_t psn,
                     void (*tweak)(RdmaConfig *cfg))
{
    Pair p = { .now = 1000 };
    Double *d[2];

    for (int i = 0; i < 2; i++) {
        d[i] = double_new(i + 1, tweak);
        p.src[i] = double_mr(d[i], 1, SRC, 0x10000, LEN, RDMA_ACC_RIGHTS);
        p.dst[i] = double_mr(d[i], 2, DST, 0x40000, LEN, RDMA_ACC_RIGHTS);
        for (uint32_t k = 0; k < LEN; k++) {
            *double_ptr(d[i], 1, SRC + k) = k * 31 + (k >> 7) + i;
        }
    }
    p.a = d[0];
    p.b = d[1];
    p.qa = double_qp(p.a, 3, s, 2, 4, psn, psn + 77, mtu_code);
    p.qb = double_qp(p.b, 4, s, 1, 3, psn + 77, psn, mtu_code);
    return p;
}

static void pair_free(Pair *p)
{
    double_free(p->a);
    double_free(p->b);
}

static void run(Pair *p)
{
    double_exchange(p->a, p->b, p->now);
}

/* Run until both are idle or @ns have passed. */
static void run_for(Pair *p, int64_t ns)
{
    int64_t end = p->now + ns;

    for (;;) {
        int64_t next;

        run(p);
        next = MIN(double_poll(p->a, p->now), double_poll(p->b, p->now));
        if (p->a->wire->len || p->b->wire->len) {
            continue;
        }
        if (next > end) {
            p->now = end;
            return;
        }
        p->now = next;
    }
}

static RdmaWqe wqe(Pair *p, RdmaOpcode op, uint32_t len)
{
    bool read = op == RDMA_OP_READ;
    RdmaWqe w = double_wqe(op, read ? DST : SRC, len,
                           read ? p->dst[0] : p->src[0]);

    w.raddr = read ? SRC : DST;
    w.rkey = read ? p->src[1] : p->dst[1];
    put_be32(w.imm, 0x12345678);
    w.dqpn = 4;
    w.qkey = 0x11111111;
    w.av = rdma_qp_attr(p->qa)->av;
    return w;
}

static void expect(Double *d, RdmaStatus status, bool is_send, uint32_t len)
{
    RdmaCqe c = double_cqe(d);

    g_assert_cmpuint(c.status, ==, status);
    g_assert_cmpint(c.is_send, ==, is_send);
    if (status == RDMA_WC_SUCCESS) {
        g_assert_cmpuint(c.byte_cnt, ==, len);
    }
}

static void compare(Double *d, uint64_t dst, Double *s, uint64_t src,
                    uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        g_assert_cmphex(*double_ptr(d, 2, dst + i), ==,
                        *double_ptr(s, 1, src + i));
    }
}

static void clear_dst(Pair *p)
{
    for (uint32_t i = 0; i < LEN; i++) {
        *double_ptr(p->a, 2, DST + i) = 0;
        *double_ptr(p->b, 2, DST + i) = 0;
    }
}

/* ---- every operation, PMTU and interesting length, over the PSN wrap ---- */

static void all_lengths(RdmaService s, const RdmaOpcode *ops, int n)
{
    for (unsigned code = 1; code <= 5; code++) {
        uint32_t mtu = 128u << code;
        uint32_t lens[] = { 0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu,
                            2 * mtu + 1, 7 * mtu + 5 };
        Pair p = pair_new(s, code, 0xffffe0, NULL);

        for (int o = 0; o < n; o++) {
            for (int i = 0; i < G_N_ELEMENTS(lens); i++) {
                bool rd = ops[o] == RDMA_OP_READ;
                bool recv = ops[o] != RDMA_OP_WRITE && !rd;
                uint32_t head = s == RDMA_UD ? 40 : 0;
                RdmaWqe w = wqe(&p, ops[o], lens[i]);

                if (s == RDMA_UD && lens[i] > mtu) {
                    continue;
                }
                clear_dst(&p);
                if (recv) {
                    double_recv(p.b, p.qb, DST, LEN, p.dst[1]);
                }
                double_send(p.a, p.qa, &w);
                run(&p);
                expect(p.a, RDMA_WC_SUCCESS, true, lens[i]);
                if (recv) {
                    RdmaCqe c = double_cqe(p.b);

                    g_assert_cmpuint(c.byte_cnt, ==, lens[i] + head);
                    g_assert_cmpuint(c.status, ==, RDMA_WC_SUCCESS);
                    g_assert_cmpint(c.has_imm, ==, ops[o] & 1);
                }
                if (rd) {
                    compare(p.a, DST, p.b, SRC, lens[i]);
                } else {
                    compare(p.b, DST + head, p.a, SRC, lens[i]);
                    g_assert_cmphex(*double_ptr(p.b, 2, DST + head + lens[i]),
                                    ==, 0);
                }
            }
        }
        g_assert_cmpuint(rdma_counters(p.a->dev)->retransmits, ==, 0);
        pair_free(&p);
    }
}

static void test_rc(void)
{
    static const RdmaOpcode ops[] = {
        RDMA_OP_SEND, RDMA_OP_SEND_IMM, RDMA_OP_WRITE, RDMA_OP_WRITE_IMM,
        RDMA_OP_READ,
    };
    all_lengths(RDMA_RC, ops, G_N_ELEMENTS(ops));
}

static void test_uc(void)
{
    all_lengths(RDMA_UC, (RdmaOpcode[]) { RDMA_OP_SEND, RDMA_OP_SEND_IMM,
                                          RDMA_OP_WRITE,
                                          RDMA_OP_WRITE_IMM }, 4);
}

static void test_ud(void)
{
    all_lengths(RDMA_UD, (RdmaOpcode[]) { RDMA_OP_SEND,
                                          RDMA_OP_SEND_IMM }, 2);
}

/* CoreTable 1.1: what a service does not have completes as LOC_QP_OP. */
static void test_table_1_1(void)
{
    static const struct {
        RdmaService s;
        RdmaOpcode op;
        bool ok;
    } t[] = {
        { RDMA_RC, RDMA_OP_SEND, true }, { RDMA_RC, RDMA_OP_WRITE, true },
        { RDMA_RC, RDMA_OP_READ, true }, { RDMA_RC, RDMA_OP_CMP_SWAP, true },
        { RDMA_RC, RDMA_OP_FETCH_ADD, true }, { RDMA_RC, 0x18, false },
        { RDMA_UC, RDMA_OP_SEND, true }, { RDMA_UC, RDMA_OP_WRITE, true },
        { RDMA_UC, RDMA_OP_READ, false },
        { RDMA_UC, RDMA_OP_CMP_SWAP, false },
        { RDMA_UC, RDMA_OP_FETCH_ADD, false },
        { RDMA_UD, RDMA_OP_SEND, true }, { RDMA_UD, RDMA_OP_WRITE, false },
        { RDMA_UD, RDMA_OP_READ, false },
        { RDMA_UD, RDMA_OP_CMP_SWAP, false },
        { RDMA_UD, RDMA_OP_WRITE_IMM, false }, { RDMA_UD, 0xff, false },
    };

    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        Pair p = pair_new(t[i].s, 1, 5, NULL);
        RdmaWqe w = wqe(&p, t[i].op, 8);

        double_recv(p.b, p.qb, DST, LEN, p.dst[1]);
        if (t[i].op >= RDMA_OP_CMP_SWAP) {
            w.sge[0] = (RdmaSge) { DST, 8, p.dst[0] };
        }
        double_send(p.a, p.qa, &w);
        run(&p);
        expect(p.a, t[i].ok ? RDMA_WC_SUCCESS : RDMA_WC_LOC_QP_OP, true, 8);
        g_assert_cmpint(rdma_qp_attr(p.qa)->state, ==, t[i].ok ?
                        RDMA_QPS_RTS : t[i].s == RDMA_RC ? RDMA_QPS_ERR :
                        RDMA_QPS_SQE);
        pair_free(&p);
    }
}

/* ---- segments ---- */

static void test_segments(void)
{
    Pair p = pair_new(RDMA_RC, 1, 9, NULL);
    RdmaWqe w = wqe(&p, RDMA_OP_WRITE, 0);
    uint32_t off = 0, len = 0;

    /* Odd pieces from odd places, some empty. */
    w.num_sge = RDMA_MAX_SGE;
    for (int i = 0; i < RDMA_MAX_SGE; i++) {
        w.sge[i] = (RdmaSge) { SRC + off, i % 7 ? i * 3 + 1 : 0, p.src[0] };
        off += w.sge[i].len;
    }
    len = off;
    double_send(p.a, p.qa, &w);
    /* The same as a Read into pieces. */
    w = wqe(&p, RDMA_OP_READ, 0);
    w.num_sge = 30;
    off = 0;
    for (int i = 0; i < 30; i++) {
        w.sge[i] = (RdmaSge) { DST + off, 101, p.dst[0] };
        off += 101;
    }
    double_send(p.a, p.qa, &w);
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, len);
    expect(p.a, RDMA_WC_SUCCESS, true, 3030);
    compare(p.b, DST, p.a, SRC, len);
    compare(p.a, DST, p.b, SRC, 3030);
    /* Inline, two packets; unsignaled work leaves no completion. */
    w = wqe(&p, RDMA_OP_WRITE, 0);
    w.flags = RDMA_WQE_INLINE;
    w.inl_len = 400;
    memset(w.inl, 0xab, 400);
    double_send(p.a, p.qa, &w);
    run(&p);
    g_assert_cmpuint(p.a->cqes->len, ==, 0);
    g_assert_cmphex(*double_ptr(p.b, 2, DST + 399), ==, 0xab);
    pair_free(&p);
}

/* ---- keys, rights, domains, bounds at the sender ---- */

static void test_local_errors(void)
{
    for (int i = 0; i < 6; i++) {
        Pair p = pair_new(RDMA_RC, 1, 9, NULL);
        RdmaWqe w = wqe(&p, i == 3 ? RDMA_OP_READ : RDMA_OP_WRITE, 64);
        RdmaStatus want = RDMA_WC_LOC_PROT;
        RdmaMr mr = *rdma_mr_get(p.a->dev, 1);

        switch (i) {
        case 0:
            w.sge[0].key ^= 1;
            break;
        case 1:
            w.sge[0].addr = SRC + LEN - 63;
            break;
        case 2:
            mr.pd = 8;
            rdma_mr_set(p.a->dev, 1, &mr);
            break;
        case 3:                         /* Read into a read-only region */
            w.sge[0].key = double_mr(p.a, 3, 0, 0x80000, 0x2000,
                                     RDMA_ACC_LOCAL_READ);
            w.sge[0].addr = 0;
            break;
        case 4:
            w.sge[0].addr = SRC - 1;
            break;
        case 5:                         /* 2 GiB and a byte */
            w.num_sge = 2;
            w.sge[0].len = 1u << 31;
            w.sge[1] = w.sge[0];
            want = RDMA_WC_LOC_LEN;
            break;
        }
        double_send(p.a, p.qa, &w);
        run(&p);
        expect(p.a, want, true, 0);
        /* Only the announcement of two addresses went out. */
        g_assert_cmpuint(rdma_counters(p.a->dev)->tx_frames, ==, 2);
        g_assert_cmpuint(rdma_counters(p.a->dev)->arp_tx, ==, 2);
        pair_free(&p);
    }
}

/* ---- SRQ, loopback, multicast ---- */

static void test_srq(void)
{
    Pair p = pair_new(RDMA_RC, 1, 9, NULL);
    RdmaQpAttr a = { .has_srq = true, .srqn = 1, .state = RDMA_QPS_ERR };
    RdmaWqe w = wqe(&p, RDMA_OP_SEND, 300);

    g_assert_nonnull(rdma_srq_create(p.b->dev, 1));
    rdma_qp_modify(p.b->dev, p.qb, &a, RDMA_QPA_SRQ);
    double_recv(p.b, p.qb, DST, 400, p.dst[1]);
    double_recv(p.b, p.qb, DST, 400, p.dst[1]);
    g_assert_cmpuint(p.b->srq.recv_tail, ==, 2);
    double_send(p.a, p.qa, &w);
    run(&p);
    expect(p.b, RDMA_WC_SUCCESS, false, 300);
    rdma_qp_modify(p.b->dev, p.qb, &a, RDMA_QPA_STATE);
    run(&p);
    /* The WQE stays in the SRQ; the QP says it took its last. */
    g_assert_cmpuint(p.b->cqes->len, ==, 0);
    g_assert_cmpuint(p.b->srq.recv_head, ==, 1);
    g_assert_cmphex(g_array_index(p.b->events, uint32_t, 0), ==,
                    RDMA_EV_SRQ_LAST_WQE << 24 | 4);
    pair_free(&p);
}

static void test_loopback(void)
{
    Double *d = double_new(1, NULL);
    uint32_t src = double_mr(d, 1, SRC, 0x10000, LEN, RDMA_ACC_RIGHTS);
    uint32_t dst = double_mr(d, 2, DST, 0x40000, LEN, RDMA_ACC_RIGHTS);
    RdmaQp *a = double_qp(d, 3, RDMA_RC, 1, 4, 0, 0, 3);
    RdmaWqe w = double_wqe(RDMA_OP_WRITE, SRC, LEN, src);

    double_qp(d, 4, RDMA_RC, 1, 3, 0, 0, 3);
    for (uint32_t k = 0; k < LEN; k++) {
        *double_ptr(d, 1, SRC + k) = k ^ k >> 8;
    }
    w.raddr = DST;
    w.rkey = dst;
    double_send(d, a, &w);
    double_poll(d, 1000);
    expect(d, RDMA_WC_SUCCESS, true, LEN);
    compare(d, DST, d, SRC, LEN);
    g_assert_cmpuint(d->wire->len, ==, 0);
    double_free(d);
}

static void test_multicast(void)
{
    static const uint8_t mgid[16] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
                                      [12] = 0xff, 0xff, 0xff, 0xff };
    Pair p = pair_new(RDMA_UD, 3, 0, NULL);
    RdmaWqe w = wqe(&p, RDMA_OP_SEND, 64);
    RdmaQp *third = double_qp(p.a, 5, RDMA_UD, 2, 0, 0, 0, 3);

    w.dqpn = RDMA_QPN_MULTICAST;
    w.av = (RdmaAv) { .has_grh = true, .dlid = 0xc003 };
    memcpy(w.av.dgid, mgid, 16);
    double_recv(p.a, p.qa, DST, 200, p.dst[0]);
    double_recv(p.a, third, DST, 200, p.dst[0]);
    double_recv(p.b, p.qb, DST, 200, p.dst[1]);
    g_assert_true(rdma_mcast_attach(p.a->dev, mgid, 3));
    g_assert_true(rdma_mcast_attach(p.a->dev, mgid, 5));
    g_assert_false(rdma_mcast_attach(p.a->dev, mgid, 5));
    g_assert_false(rdma_mcast_attach(p.a->dev, mgid, 6));
    double_send(p.a, p.qa, &w);
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, 64);
    for (int i = 0; i < 2; i++) {
        RdmaCqe c = double_cqe(p.a);    /* both members here */

        g_assert_true(c.has_grh);
        g_assert_cmpuint(c.byte_cnt, ==, 104);
        g_assert_cmpmem(double_ptr(p.a, 2, DST + 24), 16, mgid, 16);
        g_assert_cmpuint(c.rlid, ==, 1);
    }
    g_assert_cmpuint(p.b->cqes->len, ==, 0);        /* not attached */
    g_assert_true(rdma_mcast_detach(p.a->dev, mgid, 3));
    g_assert_false(rdma_mcast_detach(p.a->dev, mgid, 3));
    rdma_qp_destroy(p.a->dev, third);
    g_assert_true(rdma_mcast_attach(p.b->dev, mgid, 4));
    double_send(p.a, p.qa, &w);
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, 64);
    g_assert_cmpuint(p.a->cqes->len, ==, 0);
    expect(p.b, RDMA_WC_SUCCESS, false, 104);
    g_assert_cmpuint(p.b->cqes->len, ==, 0);
    pair_free(&p);
}

/* ---- addresses ---- */

/* LID, GID and plain IPv4 addresses all lead there, by way of ARP. */
static void test_arp(void)
{
    static const RdmaAv avs[] = {
        { .dip = 0x0a000002 },
        { .dlid = 2 },
        { .has_grh = true, .dgid = { [10] = 0xff, 0xff, 10, 0, 0, 2 } },
    };
    static const RdmaAv back[] = {
        { .dip = 0x0a000001 },
        { .dlid = 1 },
        { .has_grh = true, .dgid = { [10] = 0xff, 0xff, 10, 0, 0, 1 } },
    };

    for (int i = 0; i < G_N_ELEMENTS(avs); i++) {
        Pair p = pair_new(RDMA_RC, 1, 0, NULL);
        RdmaQpAttr a = { .av = avs[i] };
        RdmaWqe w = wqe(&p, RDMA_OP_WRITE, 16);

        rdma_qp_modify(p.a->dev, p.qa, &a, RDMA_QPA_AV);
        a.av = back[i];
        rdma_qp_modify(p.b->dev, p.qb, &a, RDMA_QPA_AV);
        double_send(p.a, p.qa, &w);
        double_poll(p.a, p.now);
        g_assert_cmpuint(p.a->wire->len, ==, 1);    /* the question */
        run(&p);
        expect(p.a, RDMA_WC_SUCCESS, true, 16);
        g_assert_cmpuint(rdma_counters(p.a->dev)->stall_neigh, ==, 1);
        g_assert_cmpuint(rdma_counters(p.b->dev)->arp_rx, ==, 1);
        pair_free(&p);
    }
}

static void test_arp_fails(void)
{
    Pair p = pair_new(RDMA_RC, 1, 0, NULL);
    RdmaQpAttr a = { .av = { .dip = 0x0a000009 }, .retry_cnt = 1 };
    RdmaWqe w = wqe(&p, RDMA_OP_WRITE, 16);

    rdma_qp_modify(p.a->dev, p.qa, &a, RDMA_QPA_AV | RDMA_QPA_RETRY);
    double_send(p.a, p.qa, &w);
    run_for(&p, INT64_C(3000000000));
    expect(p.a, RDMA_WC_RETRY_EXC, true, 0);
    pair_free(&p);
}

/* ---- broken peers and links ---- */

static void test_peer_gone(void)
{
    Pair p = pair_new(RDMA_RC, 1, 0, NULL);
    RdmaWqe w = wqe(&p, RDMA_OP_WRITE, 1000);

    rdma_qp_destroy(p.b->dev, p.qb);
    double_send(p.a, p.qa, &w);
    run_for(&p, INT64_C(2000000000));
    expect(p.a, RDMA_WC_RETRY_EXC, true, 0);
    g_assert_cmpuint(rdma_counters(p.a->dev)->timeouts, ==, 8);
    /* Reconnect. */
    rdma_qp_destroy(p.a->dev, p.qa);
    p.qa = double_qp(p.a, 3, RDMA_RC, 2, 4, 50, 60, 1);
    p.qb = double_qp(p.b, 4, RDMA_RC, 1, 3, 60, 50, 1);
    p.a->q[3].send_head = p.a->q[3].send_tail;
    double_send(p.a, p.qa, &w);
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, 1000);
    pair_free(&p);
}

static void test_link_flap(void)
{
    Pair p = pair_new(RDMA_RC, 1, 0, NULL);
    RdmaWqe w = wqe(&p, RDMA_OP_WRITE, 1000);

    rdma_link_set(p.b->dev, false);
    double_send(p.a, p.qa, &w);
    run_for(&p, 100000000);
    g_assert_cmpuint(p.a->cqes->len, ==, 0);
    rdma_link_set(p.b->dev, true);
    run_for(&p, 100000000);
    expect(p.a, RDMA_WC_SUCCESS, true, 1000);
    pair_free(&p);
}

/* Things taken away in the middle of a transfer. */
static void test_torn(void)
{
    for (int i = 0; i < 5; i++) {
        Pair p = pair_new(RDMA_RC, 1, 0, NULL);
        RdmaWqe w = wqe(&p, i & 1 ? RDMA_OP_READ : RDMA_OP_WRITE, LEN);
        RdmaQpAttr a = { .state = RDMA_QPS_ERR };

        double_send(p.a, p.qa, &w);
        rdma_poll(p.a->dev, p.now);     /* one turn: part of it */
        switch (i) {
        case 0:
        case 1:
            rdma_qp_destroy(p.a->dev, p.qa);
            run(&p);
            g_assert_cmpuint(p.a->cqes->len, ==, 0);
            break;
        case 2:
        case 3:
            rdma_mr_clear(p.b->dev, 1);
            rdma_mr_clear(p.b->dev, 2);
            run(&p);
            expect(p.a, RDMA_WC_REM_ACCESS, true, 0);
            break;
        case 4:
            rdma_qp_modify(p.a->dev, p.qa, &a, RDMA_QPA_STATE);
            run(&p);
            expect(p.a, RDMA_WC_FLUSH, true, 0);
            break;
        }
        g_assert_cmpuint(p.a->cqes->len, ==, 0);
        rdma_reset(p.a->dev);
        rdma_reset(p.b->dev);
        run(&p);
        pair_free(&p);
    }
}

/* ---- faults by number ---- */

static void test_fault_nth(void)
{
    for (CoreFaultAction f = CORE_FAULT_DROP; f < CORE_FAULT_NUM; f++) {
        for (int out = 0; out < 2; out++) {
            for (int nth = 1; nth <= 4; nth++) {
                Pair p = pair_new(RDMA_RC, 1, 0, NULL);
                RdmaWqe w = wqe(&p, RDMA_OP_WRITE, 1000);
                CoreFaultPlan fault = { .nth = nth, .nth_action = f,
                                    .delay_us = 200 };
                RdmaCounters *c = rdma_counters(out ? p.a->dev : p.b->dev);

                rdma_fault_set(out ? p.a->dev : p.b->dev, out, &fault);
                double_send(p.a, p.qa, &w);
                run_for(&p, 200000000);
                expect(p.a, RDMA_WC_SUCCESS, true, 1000);
                compare(p.b, DST, p.a, SRC, 1000);
                g_assert_cmpuint(c->fault_drop + c->fault_duplicate +
                                 c->fault_reorder + c->fault_corrupt +
                                 c->fault_delay, ==, 1);
                pair_free(&p);
            }
        }
    }
}

/* ---- poll is bounded, and every WQE of a pile is flushed ---- */

static void test_flush(void)
{
    Pair p = pair_new(RDMA_RC, 1, 0, NULL);
    RdmaQpAttr a = { .state = RDMA_QPS_ERR };
    RdmaWqe w = wqe(&p, RDMA_OP_SEND, 1);

    for (int i = 0; i < 1000; i++) {
        double_send(p.a, p.qa, &w);
        double_recv(p.a, p.qa, DST, 1, p.dst[0]);
    }
    rdma_qp_modify(p.a->dev, p.qa, &a, RDMA_QPA_STATE);
    g_assert_cmpint(rdma_poll(p.a->dev, p.now), ==, p.now);
    double_poll(p.a, p.now);
    g_assert_cmpuint(p.a->cqes->len, ==, 2000);
    for (int i = 0, s = 0, r = 0; i < 2000; i++) {
        RdmaCqe c = double_cqe(p.a);

        g_assert_cmpuint(c.status, ==, RDMA_WC_FLUSH);
        g_assert_cmpuint(c.wqe_id, ==, c.is_send ? s : r);
        s += c.is_send;
        r += !c.is_send;
    }
    pair_free(&p);
}

static void repoll(RdmaConfig *cfg)
{
    cfg->err_repoll_us = 500;
}

static void test_flush_repoll(void)
{
    Pair p = pair_new(RDMA_RC, 1, 0, repoll);
    RdmaQpAttr a = { .state = RDMA_QPS_ERR };

    rdma_qp_modify(p.a->dev, p.qa, &a, RDMA_QPA_STATE);
    double_poll(p.a, p.now);
    double_recv(p.a, p.qa, DST, 1, p.dst[0]);       /* nobody rings */
    double_poll(p.a, p.now + 500000);
    expect(p.a, RDMA_WC_FLUSH, false, 0);
    pair_free(&p);
}

static void test_transitions(void)
{
    /* Interface document B.7 as pairs; everything else but 2RST, 2ERR is wrong. */
    static const uint8_t legal[][2] = {
        { RDMA_QPS_RESET, RDMA_QPS_INIT }, { RDMA_QPS_INIT, RDMA_QPS_INIT },
        { RDMA_QPS_INIT, RDMA_QPS_RTR }, { RDMA_QPS_RTR, RDMA_QPS_RTS },
        { RDMA_QPS_RTS, RDMA_QPS_RTS }, { RDMA_QPS_RTS, RDMA_QPS_SQD },
        { RDMA_QPS_SQD, RDMA_QPS_SQD }, { RDMA_QPS_SQD, RDMA_QPS_RTS },
        { RDMA_QPS_SQE, RDMA_QPS_RTS },
    };

    for (int from = 0; from < 8; from++) {
        for (int to = 0; to < 8; to++) {
            bool ok = from <= 6 && (to == RDMA_QPS_RESET ||
                                    to == RDMA_QPS_ERR);

            for (int i = 0; i < G_N_ELEMENTS(legal); i++) {
                ok |= legal[i][0] == from && legal[i][1] == to;
            }
            g_assert_cmpint(rdma_qp_transition_ok(from, to, RDMA_UD), ==, ok);
            if (from == RDMA_QPS_SQE && to == RDMA_QPS_RTS) {
                ok = false;
            }
            g_assert_cmpint(rdma_qp_transition_ok(from, to, RDMA_RC), ==, ok);
        }
    }
}

/* ---- back-pressure of the wire, turns ---- */

/* Whatever room there is and however it comes, nothing is lost or doubled. */
static void test_wire_stop(void)
{
    static const RdmaOpcode ops[] = { RDMA_OP_WRITE, RDMA_OP_SEND,
                                      RDMA_OP_READ };

    for (int k = 0; k < G_N_ELEMENTS(ops); k++) {
        Pair p = pair_new(RDMA_RC, 1, 0, NULL);
        RdmaWqe w = wqe(&p, ops[k], LEN);
        bool read = ops[k] == RDMA_OP_READ;
        unsigned rounds = 0;

        p.a->wire_room = 5;
        p.b->wire_room = 3;
        clear_dst(&p);
        double_recv(p.b, p.qb, DST, LEN, p.dst[1]);
        double_send(p.a, p.qa, &w);
        while (!p.a->cqes->len) {
            run(&p);
            rdma_wire_stop(p.a->dev, false);
            rdma_wire_stop(p.b->dev, false);
            g_assert_cmpuint(++rounds, <, 1000);
        }
        expect(p.a, RDMA_WC_SUCCESS, true, LEN);
        compare(read ? p.a : p.b, DST, read ? p.b : p.a, SRC, LEN);
        g_assert_cmpuint(rdma_counters((read ? p.b : p.a)->dev)->stall_wire,
                         >, 0);
        g_assert_cmpuint(rdma_counters(p.a->dev)->retransmits, ==, 0);
        g_assert_cmpuint(rdma_counters(p.b->dev)->rx_duplicate, ==, 0);
        pair_free(&p);
    }
}

/* While the wire rests: no packet, no busy loop, but all that needs no wire. */
static void test_wire_stopped(void)
{
    Pair p = pair_new(RDMA_RC, 3, 0, NULL);
    RdmaQpAttr err = { .state = RDMA_QPS_ERR };
    RdmaWqe w = wqe(&p, RDMA_OP_WRITE, 4096), own;
    RdmaQp *x = double_qp(p.a, 5, RDMA_RC, 1, 6, 0, 0, 3);
    RdmaQp *broken = double_qp(p.a, 7, RDMA_RC, 2, 8, 0, 0, 3);

    double_qp(p.a, 6, RDMA_RC, 1, 5, 0, 0, 3);
    double_send(p.a, p.qa, &w);
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, 4096);
    rdma_wire_stop(p.a->dev, true);

    double_send(p.a, p.qa, &w);
    g_assert_cmpint(rdma_poll(p.a->dev, p.now), >, p.now);
    g_assert_cmpuint(p.a->wire->len, ==, 0);
    own = double_wqe(RDMA_OP_WRITE, SRC, LEN, p.src[0]);
    own.raddr = DST;
    own.rkey = p.dst[0];
    double_send(p.a, x, &own);
    double_poll(p.a, p.now);
    expect(p.a, RDMA_WC_SUCCESS, true, LEN);
    compare(p.a, DST, p.a, SRC, LEN);
    double_send(p.a, broken, &w);
    rdma_qp_modify(p.a->dev, broken, &err, RDMA_QPA_STATE);
    double_poll(p.a, p.now);
    expect(p.a, RDMA_WC_FLUSH, true, 0);
    g_assert_cmpuint(p.a->wire->len, ==, 0);

    rdma_wire_stop(p.a->dev, false);
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, 4096);
    pair_free(&p);
}

/* A turn of few packets stops there and says that there is more. */
static void test_turn(void)
{
    Pair p = pair_new(RDMA_RC, 1, 0, NULL);
    RdmaWqe w = wqe(&p, RDMA_OP_WRITE, LEN);
    unsigned had = 0;

    double_send(p.a, p.qa, &w);
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, LEN);
    for (unsigned n = 1; n < 70; n += 17) {
        double_send(p.a, p.qa, &w);
        for (;;) {
            int64_t next = rdma_poll_some(p.a->dev, p.now, n);

            g_assert_cmpuint(p.a->wire->len - had, <=, n);
            if (next > p.now) {
                break;
            }
            had = p.a->wire->len;
        }
        g_assert_cmpuint(p.a->wire->len, ==, LEN / 256);
        run(&p);
        expect(p.a, RDMA_WC_SUCCESS, true, LEN);
        had = 0;
    }
    pair_free(&p);
}

static void to_b(Pair *p)
{
    GBytes *f;

    double_poll(p->a, p->now);
    while ((f = double_take(p->a))) {
        gsize len;
        const uint8_t *data = g_bytes_get_data(f, &len);

        rdma_rx_frame(p->b->dev, data, len, p->now);
        g_bytes_unref(f);
    }
}

/* Nothing to send but one acknowledgement, which a request takes along. */
static void test_only_ack(void)
{
    Pair p = pair_new(RDMA_RC, 1, 0, NULL);
    RdmaWqe w = wqe(&p, RDMA_OP_WRITE, 16), r = wqe(&p, RDMA_OP_READ, 16);
    RdmaWqe back = double_wqe(RDMA_OP_WRITE, SRC, 16, p.src[1]);

    double_send(p.a, p.qa, &w);
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, 16);
    g_assert_false(rdma_only_ack(p.b->dev));

    double_send(p.a, p.qa, &w);
    to_b(&p);
    g_assert_true(rdma_only_ack(p.b->dev));
    back.raddr = DST;
    back.rkey = p.dst[0];
    double_send(p.b, p.qb, &back);
    g_assert_false(rdma_only_ack(p.b->dev));
    double_poll(p.b, p.now);
    g_assert_cmpuint(p.b->wire->len, ==, 2);    /* ACK, then request */
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, 16);
    expect(p.b, RDMA_WC_SUCCESS, true, 16);

    double_send(p.a, p.qa, &r);
    to_b(&p);
    g_assert_false(rdma_only_ack(p.b->dev));
    run(&p);
    expect(p.a, RDMA_WC_SUCCESS, true, 16);
    pair_free(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/link/" path, test_##fn)
    TEST("rc", rc);
    TEST("uc", uc);
    TEST("ud", ud);
    TEST("table-1.1", table_1_1);
    TEST("segments", segments);
    TEST("local-errors", local_errors);
    TEST("srq", srq);
    TEST("loopback", loopback);
    TEST("multicast", multicast);
    TEST("arp", arp);
    TEST("arp/fails", arp_fails);
    TEST("peer-gone", peer_gone);
    TEST("link-flap", link_flap);
    TEST("torn", torn);
    TEST("wire-stop", wire_stop);
    TEST("wire-stopped", wire_stopped);
    TEST("turn", turn);
    TEST("only-ack", only_ack);
    TEST("fault/nth", fault_nth);
    TEST("flush", flush);
    TEST("flush/repoll", flush_repoll);
    TEST("transitions", transitions);
    return g_test_run();
}
