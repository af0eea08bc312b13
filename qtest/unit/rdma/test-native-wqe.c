/*
 * Native personality: what the transport is told of work requests, and what is
 * told of their completion, field by field.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "native-side.h"
#include "../../../hw/rdma/native/internal.h"

static RdmaQp *qp_of(Side *s)
{
    return rdma_qp_get(native_dev(s->n), QPN);
}

static NativeQp *priv_of(Side *s)
{
    return rdma_qp_priv(qp_of(s));
}

static RdmaWqe decode(Side *s, uint8_t op, uint32_t units)
{
    RdmaWqe w;

    memset(&w, 0, sizeof(w));
    side_ring(s, 0, units * 16, op);
    g_assert_cmpint(native_fetch_send(s->n, qp_of(s), &w), ==, RDMA_FETCH_OK);
    priv_of(s)->chain = false;
    return w;
}

/* The slot at 0: byte n is n, but no link. */
static uint8_t *pattern(Side *s)
{
    uint8_t *p = s->mem + SQ;

    for (unsigned i = 0; i < QUEUE_LEN; i++) {
        p[i] = i;
    }
    put_le64(p, 0);
    p[0x80] = 0;                /* no inline data where segments begin */
    return p;
}

static void test_connected(void)
{
    static const struct {
        uint8_t op, head;
        bool remote, atomic;
    } t[] = {
        { RDMA_OP_SEND, 1, false, false },
        { RDMA_OP_SEND_IMM, 1, false, false },
        { RDMA_OP_WRITE, 2, true, false }, { RDMA_OP_READ, 2, true, false },
        { RDMA_OP_WRITE_IMM, 2, true, false },
        { RDMA_OP_CMP_SWAP, 3, true, true },
        { RDMA_OP_FETCH_ADD, 3, true, true },
    };
    Side *s = side_up(1, 0, NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        uint8_t *p = pattern(s);
        unsigned head = t[i].head;
        RdmaWqe w = decode(s, t[i].op, head + 2);

        g_assert_cmpuint(w.error, ==, 0);
        g_assert_cmphex(w.opcode, ==, t[i].op);
        g_assert_cmphex(w.flags, ==, RDMA_WQE_SIGNALED | RDMA_WQE_SOLICITED);
        g_assert_cmpmem(w.imm, 4, p + 12, 4);
        g_assert_cmphex(w.raddr, ==,
                        t[i].remote ? UINT64_C(0x1716151413121110) : 0);
        g_assert_cmphex(w.rkey, ==, t[i].remote ? 0x1b1a1918 : 0);
        g_assert_cmphex(w.swap_add, ==,
                        t[i].atomic ? UINT64_C(0x2726252423222120) : 0);
        g_assert_cmphex(w.compare, ==,
                        t[i].atomic ? UINT64_C(0x2f2e2d2c2b2a2928) : 0);
        g_assert_cmpuint(w.num_sge, ==, 2);
        for (unsigned k = 0; k < 2; k++) {
            const uint8_t *u = p + (head + k) * 16;

            g_assert_cmphex(w.sge[k].len, ==, get_le32(u));
            g_assert_cmphex(w.sge[k].key, ==, get_le32(u + 4));
            g_assert_cmphex(w.sge[k].addr, ==, get_le64(u + 8));
        }
        w = decode(s, t[i].op, head);
        g_assert_cmpuint(w.error, ==, 0);
        g_assert_cmpuint(w.num_sge, ==, 0);
        if (head > 1) {
            g_assert_cmpuint(decode(s, t[i].op, head - 1).error, ==,
                             RDMA_WC_LOC_QP_OP);
        }
    }
    g_assert_cmpuint(decode(s, RDMA_OP_NOP, 2).error, ==, RDMA_WC_LOC_QP_OP);
    g_assert_cmphex(decode(s, RDMA_OP_SEND | 1 << 5, 1).flags, ==,
                    RDMA_WQE_SIGNALED | RDMA_WQE_SOLICITED | RDMA_WQE_FENCE);
    side_free(s);
}

/* The units of a datagram: by IPv4 address with MAC addresses, or by LID. */
static void test_datagram(void)
{
    Side *s = side_up(1, RDMA_UD, NULL);
    uint8_t *u = pattern(s) + 16;
    RdmaWqe w = decode(s, RDMA_OP_SEND, 5);

    g_assert_cmpuint(w.error, ==, 0);
    g_assert_cmphex(w.av.sip, ==, 0x23222120);
    g_assert_cmphex(w.av.dip, ==, 0x27262524);
    g_assert_cmpmem(w.av.smac, 6, "\x1b\x1a\x19\x18\x15\x14", 6);
    g_assert_cmpmem(w.av.dmac, 6, "\x1f\x1e\x1d\x1c\x17\x16", 6);
    g_assert_cmphex(w.av.dlid, ==, 0);
    g_assert_cmphex(w.dqpn, ==, 0x323130);
    g_assert_cmphex(w.qkey, ==, 0x37363534);
    g_assert_cmpuint(w.num_sge, ==, 1);
    g_assert_cmphex(w.sge[0].len, ==, 0x43424140);
    put_le64(u + 0x10, 0);
    w = decode(s, RDMA_OP_SEND, 4);
    g_assert_cmphex(w.av.dip, ==, 0);
    g_assert_cmphex(w.av.sip, ==, 0x0a000001);          /* the QP's */
    g_assert_cmphex(w.av.dlid, ==, 0x1716);
    g_assert_cmpuint(decode(s, RDMA_OP_SEND, 3).error, ==, RDMA_WC_LOC_QP_OP);
    side_free(s);
}

/* Inline data: to the end of the WQE and no further. */
static void test_inline_limits(void)
{
    Side *s = side_up(1, 0, NULL);
    uint8_t *p = pattern(s) + 16;
    RdmaWqe w;

    for (uint32_t len = 0; len <= 30; len++) {
        put_le32(p, 1u << 31 | len);
        w = decode(s, RDMA_OP_SEND, 3);
        g_assert_cmpuint(w.error, ==, len > 28 ? RDMA_WC_LOC_LEN : 0);
        if (len <= 28) {
            g_assert_cmpuint(w.inl_len, ==, len);
            g_assert_true(w.flags & RDMA_WQE_INLINE);
            g_assert_cmpmem(w.inl, len, p + 4, len);
        }
    }
    /* One that ends before them has none. */
    w = decode(s, RDMA_OP_SEND, 1);
    g_assert_cmpuint(w.error, ==, 0);
    g_assert_false(w.flags & RDMA_WQE_INLINE);
    side_free(s);
}

/* A chain: each WQE has place, length, code and fence of the next. */
static void test_links(void)
{
    Side *s = side_up(1, 0, NULL);
    RdmaWqe w;

    memset(s->mem + SQ, 0, QUEUE_LEN);
    put_le32(s->mem + SQ, 63 << 6 | RDMA_OP_READ);      /* 63 units on */
    put_le32(s->mem + SQ + 4, 1 << 6 | 2);
    put_le32(s->mem + SQ + 63 * 16, 255 << 6 | RDMA_OP_WRITE);
    put_le32(s->mem + SQ + 63 * 16 + 4, 3);
    side_ring(s, 0, 16, RDMA_OP_SEND);
    for (unsigned i = 0; i < 3; i++) {
        static const struct { uint32_t id; uint8_t op; bool fence; } want[] = {
            { 0, RDMA_OP_SEND, false }, { 63 * 16, RDMA_OP_READ, true },
            { 255 * 16, RDMA_OP_WRITE, false },
        };

        memset(&w, 0, sizeof(w));
        g_assert_cmpint(native_fetch_send(s->n, qp_of(s), &w), ==,
                        RDMA_FETCH_OK);
        g_assert_cmphex(w.id, ==, want[i].id);
        g_assert_cmphex(w.opcode, ==, want[i].op);
        g_assert_cmpint(!!(w.flags & RDMA_WQE_FENCE), ==, want[i].fence);
        g_assert_cmpuint(w.num_sge, ==, i == 2 ? 1 : 0);   /* of zeros */
    }
    g_assert_cmpint(native_fetch_send(s->n, qp_of(s), &w), ==,
                    RDMA_FETCH_NONE);
    /* The least that a link leads to: one unit. */
    put_le32(s->mem + SQ, 4 << 6 | RDMA_OP_SEND);
    put_le32(s->mem + SQ + 4, 1);
    side_ring(s, 0, 16, RDMA_OP_SEND);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(native_fetch_send(s->n, qp_of(s), &w), ==,
                        RDMA_FETCH_OK);
        g_assert_cmphex(w.id, ==, i * 64);
    }
    g_assert_cmpint(native_fetch_send(s->n, qp_of(s), &w), ==,
                    RDMA_FETCH_NONE);
    /* A place beyond the queue counts from its start again. */
    side_ring(s, QUEUE_LEN + 64, 16, RDMA_OP_SEND);
    g_assert_cmpint(native_fetch_send(s->n, qp_of(s), &w), ==, RDMA_FETCH_OK);
    g_assert_cmphex(w.id, ==, 64);
    /* Nothing, and more than the queue. */
    side_ring(s, 0, 0, RDMA_OP_SEND);
    g_assert_cmpint(native_fetch_send(s->n, qp_of(s), &w), ==, RDMA_FETCH_BAD);
    g_assert_cmpuint(w.error, ==, RDMA_WC_FLUSH);
    for (unsigned len = 32; len <= 48; len += 16) {
        priv_of(s)->sq_len = 32;
        side_ring(s, 0, len, RDMA_OP_SEND);
        g_assert_cmpint(native_fetch_send(s->n, qp_of(s), &w), ==,
                        len > 32 ? RDMA_FETCH_BAD : RDMA_FETCH_OK);
        priv_of(s)->chain = false;
    }
    /* A queue of no bytes. */
    priv_of(s)->sq_len = 0;
    side_ring(s, 0, 16, RDMA_OP_SEND);
    w.id = 7;
    g_assert_cmpint(native_fetch_send(s->n, qp_of(s), &w), ==, RDMA_FETCH_BAD);
    g_assert_cmphex(w.id, ==, 0);
    side_free(s);
}

/* Where the next receive request is, by the link of the one before: inside a
 * block of 512 bytes, else the next slot. */
static void test_receive_links(void)
{
    static const struct {
        uint32_t off, block, nda, nds, want;
    } t[] = {
        { 0, 0, 3, 2, 48 },                     /* right behind */
        { 0, 0, 30, 2, 480 },                   /* ends with the block */
        { 0, 0, 30, 3, 128 },                   /* does not */
        { 0, 0, 31, 1, 496 }, { 0, 0, 32, 1, 128 },
        { 0, 0, 3, 0, 128 },                    /* no link */
        { 256, 256, 16 + 31, 1, 752 }, { 256, 256, 16 + 32, 1, 384 },
        { 256, 256, 15, 1, 384 },               /* before the block */
        { 3968, 3968, 256 + 2, 1, 32 },         /* around the end */
        { 3968, 3968, 2, 1, 32 }, { 3968, 3968, 0, 0, 0 },
        { 48, 0, 0, 0, 128 },
    };
    Side *s = side_up(1, 0, NULL);
    NativeQp *q = priv_of(s);
    RdmaRecvWqe w;

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        uint8_t *p = s->mem + RQ + t[i].off;

        memset(s->mem + RQ, 0, QUEUE_LEN);
        put_le32(p, t[i].nda << 6 | 1 << 5);
        put_le32(p + 4, 1 << 6 | t[i].nds);     /* what is no length */
        q->rq_off = t[i].off;
        q->rq_block = t[i].block;
        g_assert_cmpint(native_fetch_recv(s->n, qp_of(s), &w), ==,
                        RDMA_FETCH_OK);
        g_assert_cmphex(w.id, ==, t[i].off);
        g_assert_cmphex(q->rq_off, ==, t[i].want);
        if (t[i].want == (t[i].off / 128 + 1) * 128 % QUEUE_LEN) {
            g_assert_cmphex(q->rq_block, ==, t[i].want);
        } else {
            g_assert_cmphex(q->rq_block, ==, t[i].block);
        }
    }
    side_free(s);
}

/* Scatter lists of a receive request, and queues that hold next to nothing. */
static void test_receive(void)
{
    Side *s = side_up(1, 0, NULL);
    NativeQp *q = priv_of(s);
    uint8_t *p = s->mem + RQ;
    RdmaRecvWqe w;

    for (unsigned n = 0; n <= 7; n++) {
        memset(p, 0, 256);
        put_le32(p, 1 << 5);
        for (unsigned i = 0; i < n; i++) {
            put_le32(p + 16 + i * 16, 1u << 31 | (100 + i));
            put_le32(p + 16 + i * 16 + 4, 7 + i);
            put_le64(p + 16 + i * 16 + 8, UINT64_C(0x1122334455667700) + i);
        }
        /* What is behind the slot is another request. */
        put_le32(p + 128, 1);
        q->rq_off = q->rq_block = 0;
        g_assert_cmpint(native_fetch_recv(s->n, qp_of(s), &w), ==,
                        RDMA_FETCH_OK);
        g_assert_cmpuint(w.num_sge, ==, n);
        for (unsigned i = 0; i < n; i++) {
            g_assert_cmpuint(w.sge[i].len, ==, 100 + i);
            g_assert_cmpuint(w.sge[i].key, ==, 7 + i);
            g_assert_cmphex(w.sge[i].addr, ==,
                            UINT64_C(0x1122334455667700) + i);
        }
    }
    /* More than one work request has: the rest is left out. */
    memset(p, 1, QUEUE_LEN);
    q->rq_off = q->rq_block = 0;
    q->rq_slot = QUEUE_LEN;
    g_assert_cmpint(native_fetch_recv(s->n, qp_of(s), &w), ==, RDMA_FETCH_OK);
    g_assert_cmpuint(w.num_sge, ==, RDMA_MAX_SGE);
    q->rq_slot = 128;
    for (unsigned len = 15; len <= 17; len++) {
        q->rq_off = q->rq_block = 0;
        q->rq_len = len;
        g_assert_cmpint(native_fetch_recv(s->n, qp_of(s), &w), ==,
                        len < 16 ? RDMA_FETCH_BAD : RDMA_FETCH_OK);
    }
    q->rq_len = 64;
    q->rq_off = 64;
    g_assert_cmpint(native_fetch_recv(s->n, qp_of(s), &w), ==, RDMA_FETCH_BAD);
    q->rq_off = 48;
    g_assert_cmpint(native_fetch_recv(s->n, qp_of(s), &w), ==, RDMA_FETCH_OK);
    side_free(s);
}

/* A completion, all 32 bytes, for what it may tell of. */
static void test_cqe(void)
{
    static const uint8_t syndrome[RDMA_WC_NUM] = {
        [RDMA_WC_LOC_LEN] = 0x01, [RDMA_WC_LOC_QP_OP] = 0x02,
        [RDMA_WC_LOC_PROT] = 0x11, [RDMA_WC_FLUSH] = 0x05,
        [RDMA_WC_BAD_RESP] = 0x10, [RDMA_WC_LOC_ACCESS] = 0x11,
        [RDMA_WC_REM_INV_REQ] = 0x12, [RDMA_WC_REM_ACCESS] = 0x13,
        [RDMA_WC_REM_OP] = 0x14, [RDMA_WC_RETRY_EXC] = 0x15,
        [RDMA_WC_RNR_RETRY_EXC] = 0x16, [RDMA_WC_REM_ABORT] = 0x22,
        [RDMA_WC_FATAL] = 0x02,
    };
    static const uint8_t want[32] = {
        0x56, 0x34, 0x12, 0, [8] = 0xef, 0xcd, 0xab, 0, 0, 0, 0x21, 0x43,
        [0x14] = 0x89, 0x07, 0, 0, 0x88, 0x77, 0x66, 0x55, 5,
    };
    Side *s = side_up(1, 0, NULL);
    RdmaCq *cq = rdma_cq_get(native_dev(s->n), CQN);
    RdmaCqe c = {
        .qpn = 0x123456, .wqe_id = UINT64_C(0x1122334455667788), .opcode = 5,
        .byte_cnt = 0x789, .rqpn = 0xabcdef, .rlid = 0x4321, .sl = 9,
        .pkey_index = 0x2a, .has_grh = true,
    };
    uint8_t w[32];

    g_assert_true(native_write_cqe(s->n, cq, &c));
    g_assert_cmpmem(s->mem + CQB, 32, want, 32);
    memcpy(w, want, 32);
    c.has_imm = c.is_send = true;
    memcpy(c.imm, "\xa1\xa2\xa3\xa4", 4);
    g_assert_true(native_write_cqe(s->n, cq, &c));
    memcpy(w + 0x10, c.imm, 4);
    w[0x1d] = 1;
    g_assert_cmpmem(s->mem + CQB + 32, 32, w, 32);
    for (unsigned status = 1; status < RDMA_WC_NUM; status++) {
        c.status = status;
        c.is_send = status & 1;
        g_assert_true(native_write_cqe(s->n, cq, &c));
        memset(w + 8, 0, 16);
        w[0x10] = syndrome[status];
        w[0x1c] = c.is_send ? 0xff : 0xfe;
        w[0x1d] = c.is_send;
        g_assert_cmpmem(s->mem + CQB + 32 * (status + 1), 32, w, 32);
    }
    g_assert_cmphex(s->mem[CQB + 32 * (RDMA_WC_NUM + 1)], ==, 0x80);
    side_free(s);
}

/* An event, all 32 bytes, and nothing of its neighbour. */
static void test_eqe(void)
{
    static const uint8_t want[32] = { 0, 0x05, 0, 0, 0x78, 0x56, 0x34, 0x12 };
    Side *s = side_up(1, 0, NULL);

    memset(s->mem + EQB, 0x80, 0x1000);
    side_eq(s, BUS + EQB, 0);
    native_event(s->n, RDMA_EV_WQ_CATAS, 0x12345678);
    g_assert_cmpmem(s->mem + EQB, 32, want, 32);
    g_assert_cmphex(s->mem[EQB + 32], ==, 0x80);
    g_assert_cmpuint(s->msix->len, ==, 1);
    g_assert_cmpuint(g_array_index(s->msix, unsigned, 0), ==, VECTOR);
    /* Around the end after eight, each where the one before was consumed. */
    for (unsigned i = 1; i < 9; i++) {
        native_event(s->n, RDMA_EV_WQ_CATAS, i);
        g_assert_cmpuint(get_le32(s->mem + EQB + i % 8 * 32 + 4), ==,
                         i < 8 ? i : 0x12345678);
    }
    g_assert_cmphex(s->mem[EQB + 8 * 32], ==, 0x80);
    g_assert_cmpuint(s->rules, ==, 1);
    g_assert_cmpuint(s->msix->len, ==, 1);      /* not armed again */
    side_free(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/native/wqe/connected", test_connected);
    g_test_add_func("/native/wqe/datagram", test_datagram);
    g_test_add_func("/native/wqe/inline-limits", test_inline_limits);
    g_test_add_func("/native/wqe/links", test_links);
    g_test_add_func("/native/wqe/receive-links", test_receive_links);
    g_test_add_func("/native/wqe/receive", test_receive);
    g_test_add_func("/native/wqe/cqe", test_cqe);
    g_test_add_func("/native/wqe/eqe", test_eqe);
    return g_test_run();
}
