/*
 * Two engines in disorder: unreliable services over a bad wire, and queue
 * pairs that are destroyed, regions that are revoked, wires that stop while
 * everything is under way.
 *
 * Random streams depend on the seed alone: RDMA_SEED, RDMA_OPS set others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "core/random.h"
#include "double.h"
#include "../../../hw/rdma/transport/internal.h"

enum { MEM = 0x10000, LEN = 0x8000, SLOT = 2048, SLOTS = 16, MTU_CODE = 2 };

static uint64_t rng;

static uint32_t below(uint32_t n)
{
    return core_random(&rng) % n;
}

static uint64_t ops(void)
{
    const char *env = getenv("RDMA_OPS"), *seed = getenv("RDMA_SEED");

    rng = seed ? strtoul(seed, NULL, 0) : 1;
    return env ? strtoull(env, NULL, 0) : 2000;
}

static void bad_wire(Double *d, unsigned n)
{
    CoreFaultPlan f = { .ppm = { 0, 10000, 10000, 10000, 10000, 10000 },
                        .seed = n, .delay_us = 50, .reorder_depth = 3 };

    rdma_fault_set(d->dev, true, &f);
    f.seed += 10;
    rdma_fault_set(d->dev, false, &f);
}

/* ---- UC and UD: what arrives is whole and what was sent ---- */

static uint8_t content(uint32_t seq, uint32_t i)
{
    return seq * 31 + i * 7 + (i >> 8);
}

static void unreliable(RdmaService s)
{
    uint64_t goal = ops(), got = 0, sends = 0;
    Double *a = double_new(1, NULL), *b = double_new(2, NULL);
    uint32_t head = s == RDMA_UD ? 40 : 0, mtu = 128u << MTU_CODE, key[2];
    uint32_t posted = 0;
    int64_t now = 1000;
    RdmaQp *qa, *qb;

    key[0] = double_mr(a, 1, MEM, 0x10000, LEN * 2, RDMA_ACC_RIGHTS);
    key[1] = double_mr(b, 1, MEM, 0x10000, LEN * 2, RDMA_ACC_RIGHTS);
    qa = double_qp(a, 1, s, 2, 2, 0xfffff0, 0, MTU_CODE);
    qb = double_qp(b, 2, s, 1, 1, 0, 0xfffff0, MTU_CODE);
    bad_wire(a, 1);
    bad_wire(b, 2);
    while (sends < goal) {
        uint32_t len = 8 + below(s == RDMA_UD ? mtu - 8 : SLOT - 8);
        uint32_t seq = sends++;
        RdmaWqe w = double_wqe(RDMA_OP_SEND_IMM, MEM + seq % 8 * SLOT, len,
                               key[0]);

        for (uint32_t i = 0; i < len; i++) {
            *double_ptr(a, 1, MEM + seq % 8 * SLOT + i) = content(seq, i);
        }
        if (len <= RDMA_MAX_INLINE && below(2)) {
            w.flags |= RDMA_WQE_INLINE;
            w.inl_len = len;
            for (uint32_t i = 0; i < len; i++) {
                w.inl[i] = content(seq, i);
            }
        }
        put_be32(w.imm, seq);
        w.dqpn = 2;
        w.qkey = 0x11111111;
        w.av = rdma_qp_attr(qa)->av;
        double_send(a, qa, &w);
        while (below(8) && posted - b->q[2].recv_head < SLOTS) {
            double_recv(b, qb, MEM + posted % SLOTS * SLOT, SLOT, key[1]);
            posted++;
        }
        double_exchange(a, b, now);
        now += 10000 + below(20000);
        for (guint i = 0; i < b->cqes->len; i++) {
            const RdmaCqe *c = &g_array_index(b->cqes, RdmaCqe, i);
            uint64_t at = MEM + c->wqe_id % SLOTS * SLOT;

            g_assert_cmpuint(c->status, ==, RDMA_WC_SUCCESS);
            g_assert_true(c->has_imm);
            for (uint32_t k = head; k < c->byte_cnt; k++) {
                g_assert_cmphex(*double_ptr(b, 1, at + k), ==,
                                content(get_be32(c->imm), k - head));
            }
            got++;
        }
        g_array_set_size(b->cqes, 0);
        /* Sent is done. */
        g_assert_cmpuint(a->cqes->len, ==, 1);
        g_assert_cmpuint(double_cqe(a).status, ==, RDMA_WC_SUCCESS);
    }
    g_assert_cmpuint(got, >, goal / 2);
    g_assert_cmpuint(got, <, goal + goal / 10);  /* duplicates */
    g_assert_cmpint(rdma_qp_attr(qb)->state, ==, RDMA_QPS_RTS);
    double_free(a);
    double_free(b);
}

static void test_uc(void)
{
    unreliable(RDMA_UC);
}

static void test_ud(void)
{
    unreliable(RDMA_UD);
}

/* ---- everything may go away at any time ---- */

enum { NQP = 6 };

static const RdmaService service[NQP] = {
    RDMA_RC, RDMA_RC, RDMA_RC, RDMA_UC, RDMA_UD, RDMA_RC,
};

static void chaos_tweak(RdmaConfig *cfg)
{
    cfg->swpb_packets = 12;
    cfg->max_wqes = 64;
    cfg->err_repoll_us = 1000;
}

static void chaos_shared(RdmaConfig *cfg)
{
    chaos_tweak(cfg);
    cfg->shared_buffers = true;
    cfg->ack_coalesce = false;
}

static void born(Double *d, unsigned peer, unsigned i, uint32_t psn)
{
    RdmaQp *qp = double_qp(d, i, service[i], peer, i, psn, psn, 1 + i % 5);
    RdmaQpAttr a = { .retry_cnt = 2, .timeout = 4, .rnr_retry = 3,
                     .has_srq = i == 2, .srqn = 1 };

    rdma_qp_modify(d->dev, qp, &a, RDMA_QPA_RETRY | RDMA_QPA_TIMEOUT |
                   RDMA_QPA_RNR_RETRY | RDMA_QPA_SRQ);
}

static void post_any(Double *d, unsigned peer, RdmaQp *qp)
{
    static const RdmaOpcode kinds[] = {
        RDMA_OP_SEND, RDMA_OP_SEND_IMM, RDMA_OP_WRITE, RDMA_OP_WRITE_IMM,
        RDMA_OP_READ, RDMA_OP_CMP_SWAP, RDMA_OP_FETCH_ADD, RDMA_OP_NOP,
    };
    RdmaWqe w = double_wqe(kinds[below(G_N_ELEMENTS(kinds))],
                           MEM + below(LEN / 2), below(3000), 0x15a);

    if (d->q[rdma_qp_num(qp)].send_tail - d->q[rdma_qp_num(qp)].send_head >
        100) {
        return;
    }
    w.flags |= below(4) ? 0 : RDMA_WQE_FENCE;
    if (w.opcode >= RDMA_OP_CMP_SWAP) {
        w.sge[0].len = 8;
        w.num_sge = 1;
    } else if (w.opcode < RDMA_OP_READ && !below(4)) {
        w.flags |= RDMA_WQE_INLINE;
        w.inl_len = below(RDMA_MAX_INLINE);
    }
    w.raddr = MEM + below(LEN / 16) * 8;
    w.rkey = 0x15a;
    w.dqpn = below(NQP);
    w.qkey = 0x11111111;
    w.av.dip = 10u << 24 | peer;
    double_send(d, qp, &w);
}

static void chaos(void (*tweak)(RdmaConfig *cfg))
{
    static const Holdings none;
    uint64_t goal = ops(), done = 0;
    Double *d[2] = { double_new(1, tweak), double_new(2, tweak) };
    int64_t now = 1000;
    uint32_t psn = 0xffff00;

    for (int s = 0; s < 2; s++) {
        double_mr(d[s], 1, MEM, 0x10000, LEN, RDMA_ACC_RIGHTS);
        for (int i = 0; i < NQP; i++) {
            born(d[s], 2 - s, i, psn);
        }
        bad_wire(d[s], s);
    }
    while (done < goal * 4) {
        unsigned s = below(2), i = below(NQP);
        RdmaQp *qp = rdma_qp_get(d[s]->dev, i);

        switch (below(40)) {
        case 0:
            /* A new connection, at times of one side only. */
            for (unsigned k = 0; k < 1 + below(2); k++, s = !s) {
                rdma_qp_destroy(d[s]->dev, rdma_qp_get(d[s]->dev, i));
                born(d[s], 2 - s, i, psn);
            }
            psn = psn_add(psn, 0x1000);
            break;
        case 1:
            rdma_mr_clear(d[s]->dev, 1);
            break;
        case 2:
        case 3:
            double_mr(d[s], 1, MEM, 0x10000, LEN, RDMA_ACC_RIGHTS);
            break;
        case 4:
            rdma_wire_stop(d[s]->dev, true);
            break;
        case 5:
        case 6:
            rdma_wire_stop(d[s]->dev, false);
            break;
        case 7:
            rdma_qp_modify(d[s]->dev, qp, &(RdmaQpAttr) {
                .state = below(RDMA_QPS_ERR + 1), .mtu_code = below(6),
                .max_dest_rd_atomic = below(20), .service = below(2) }, below(2)
                ? RDMA_QPA_STATE : RDMA_QPA_MTU | RDMA_QPA_DEST_RD |
                RDMA_QPA_SERVICE);
            break;
        case 8: {
            size_t len;
            g_autofree uint8_t *image = rdma_save(d[s]->dev, now, &len);

            g_assert_true(rdma_load(d[s]->dev, now, image, len));
            break;
        }
        case 9:
            rdma_link_set(d[s]->dev, below(4));
            break;
        default:
            post_any(d[s], 2 - s, qp);
            if (d[s]->q[i].recv_tail - d[s]->q[i].recv_head < 100 &&
                d[s]->srq.recv_tail - d[s]->srq.recv_head < 100) {
                double_recv(d[s], qp, MEM, below(3000) + 40, 0x15a);
            }
            break;
        }
        double_exchange(d[0], d[1], now);
        for (int k = 0; k < 2; k++) {
            done += d[k]->cqes->len;
            g_array_set_size(d[k]->cqes, 0);
            g_array_set_size(d[k]->events, 0);
        }
        now += below(4) ? below(2000) : below(2000000);
    }
    for (int s = 0; s < 2; s++) {
        Holdings sum = { 0 };

        for (int i = 0; i < NQP; i++) {
            const Holdings *h = &rdma_qp_get(d[s]->dev, i)->req.held;

            sum.swpb_packets += h->swpb_packets;
            sum.swpb_units += h->swpb_units;
            sum.rpb_packets += h->rpb_packets;
            sum.reb_entries += h->reb_entries;
        }
        g_assert_cmpmem(&sum, sizeof(sum), &d[s]->dev->held, sizeof(sum));
        for (int i = 0; i < NQP; i++) {
            rdma_qp_destroy(d[s]->dev, rdma_qp_get(d[s]->dev, i));
        }
        g_assert_cmpmem(&d[s]->dev->held, sizeof(none), &none, sizeof(none));
        g_assert_cmpuint(d[s]->dev->wqe_used, ==, 0);
        double_free(d[s]);
    }
}

static void test_chaos(void)
{
    chaos(chaos_tweak);
}

static void test_chaos_shared(void)
{
    chaos(chaos_shared);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/chaos/uc", test_uc);
    g_test_add_func("/chaos/ud", test_ud);
    g_test_add_func("/chaos/everything", test_chaos);
    g_test_add_func("/chaos/everything/shared", test_chaos_shared);
    return g_test_run();
}
