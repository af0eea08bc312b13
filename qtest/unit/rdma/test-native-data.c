/*
 * Native personality: doorbells, WQEs, CQEs, EQEs and whole transfers between
 * two engines.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "rdma/objects.h"
#include "native-side.h"
#include "native-tweak.h"

static void test_rc(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    const uint8_t *c;
    Wqe w;

    side_fill(a, VA, 0x1000, 1);
    /* Write, three packets, two segments. */
    w = wqe_begin(0);
    wqe_raddr(&w, VA + 0x8001);
    wqe_data(&w, VA + 3, 300);
    wqe_data(&w, VA + 1000, 333);
    side_post(a, &w, RDMA_OP_WRITE);
    side_run(a, b);
    side_expect_send(a, RDMA_OP_WRITE, 0, 633);
    g_assert_cmpmem(side_ptr(b, VA + 0x8001), 300, side_ptr(a, VA + 3), 300);
    g_assert_cmpmem(side_ptr(b, VA + 0x8001 + 300), 333,
                    side_ptr(a, VA + 1000), 333);
    g_assert_null(side_cqe(b));
    /* Send with immediate, by two 32-bit doorbell writes. */
    side_recv(b, VA + 0x9000, 0x1000);
    w = wqe_begin(0xdeadbeef);
    wqe_data(&w, VA, 700);
    side_copy(a, SQ, 128, w.b, w.len);
    native_uar_write(a->n, NRU_SQ_DB, 128 / 16 << 8 | RDMA_OP_SEND_IMM, 4);
    native_uar_write(a->n, NRU_SQ_DB + 4, QPN << 8 | 2, 4);
    a->sq_head += 128;
    side_run(a, b);
    side_expect_send(a, RDMA_OP_SEND_IMM, 128, 700);
    c = side_cqe(b);
    g_assert_cmphex(get_le32(c + 0x1c), ==, 3);
    g_assert_cmphex(get_be32(c + 0x10), ==, 0xdeadbeef);
    g_assert_cmpuint(get_le32(c + 0x14), ==, 700);
    g_assert_cmphex(get_le32(c + 0x08), ==, QPN);
    g_assert_cmpmem(side_ptr(b, VA + 0x9000), 700, side_ptr(a, VA), 700);
    /* Read. */
    w = wqe_begin(0);
    wqe_raddr(&w, VA + 0x9000);
    wqe_data(&w, VA + 0xa000, 600);
    side_post(a, &w, RDMA_OP_READ);
    side_run(a, b);
    side_expect_send(a, RDMA_OP_READ, 256, 600);
    g_assert_cmpmem(side_ptr(a, VA + 0xa000), 600, side_ptr(a, VA), 600);
    /* FetchAdd; inline Write. */
    put_le64(side_ptr(b, VA + 0x100), 40);
    w = wqe_begin(0);
    wqe_raddr(&w, VA + 0x100);
    put_le64(wqe_unit(&w, 16), 2);
    wqe_data(&w, VA + 0xb000, 8);
    side_post(a, &w, RDMA_OP_FETCH_ADD);
    w = wqe_begin(0);
    wqe_raddr(&w, VA + 0x200);
    put_le32(wqe_unit(&w, 16), 0x80000005);
    memcpy(w.b + w.len - 12, "hello", 5);
    side_post(a, &w, RDMA_OP_WRITE);
    side_run(a, b);
    side_expect_send(a, RDMA_OP_FETCH_ADD, 384, 8);
    side_expect_send(a, RDMA_OP_WRITE, 512, 5);
    g_assert_cmpuint(get_le64(side_ptr(a, VA + 0xb000)), ==, 40);
    g_assert_cmpuint(get_le64(side_ptr(b, VA + 0x100)), ==, 42);
    g_assert_cmpmem(side_ptr(b, VA + 0x200), 5, "hello", 5);
    g_assert_cmpuint(a->rules + b->rules, ==, 0);
    side_free(a);
    side_free(b);
}

/* One doorbell, a chain of three; a later doorbell comes after the chain. */
static void test_chain(void)
{
    static const uint32_t off[] = { 0x200, 0xff0, 0x300, 0x400 };
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);

    for (int i = 0; i < 4; i++) {
        Wqe w = wqe_begin(i);

        side_recv(b, VA + 0x1000 * i, 0x100);
        wqe_data(&w, VA + i, 4);
        if (i < 2) {
            /* nda of the next, opcode; fence and size of the next */
            put_le32(w.b, (off[i + 1] / 16) << 6 | RDMA_OP_SEND_IMM);
            put_le32(w.b + 4, 1 << 6 | 2);
        }
        side_copy(a, SQ, off[i], w.b, w.len);     /* one crosses the end */
    }
    side_ring(a, off[0], 32, RDMA_OP_SEND_IMM);
    /* Counted without wrapping (G19). */
    side_ring(a, off[3] + 2 * QUEUE_LEN, 32, RDMA_OP_SEND_IMM);
    side_run(a, b);
    for (int i = 0; i < 4; i++) {
        side_expect_send(a, RDMA_OP_SEND_IMM, off[i], 4);
        g_assert_cmphex(get_be32(side_cqe(b) + 0x10), ==, i);
    }
    side_free(a);
    side_free(b);
}

/* From IF by hand: two WQEs in 40-byte (hex) slots read as one block. */
static void test_rq_walk(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    uint8_t *rq = b->mem + RQ, *m;
    Wqe w = wqe_begin(0);

    /* 64-byte slots. */
    g_assert_cmpuint(side_hcr(b, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    for (int i = 0; i < 3; i++) {
        static const uint16_t op[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                       NRC_RTR2RTS_QP };
        m = side_qp_mbox(b, 2, 0);
        m[0x0d] = 6;
        g_assert_cmpuint(side_cmd(b, op[i], QPN, 0), ==, 0);
    }
    put_le32(rq, 0x120);
    put_le32(rq + 4, 2);
    put_le32(rq + 0x10, 100);
    put_le32(rq + 0x14, MR_DATA);
    put_le64(rq + 0x18, VA + 0x100);
    memset(rq + 0x30, 0x77, 16);                /* behind the delimiter */
    put_le32(rq + 0x40, 0x20);
    put_le32(rq + 0x50, 100);
    put_le32(rq + 0x54, MR_DATA);
    put_le64(rq + 0x58, VA + 0x200);
    wqe_data(&w, VA, 4);
    for (int i = 0; i < 3; i++) {
        side_post(a, &w, RDMA_OP_SEND);
    }
    side_run(a, b);
    g_assert_cmphex(get_le32(side_cqe(b) + 0x18), ==, 0);
    g_assert_cmphex(get_le32(side_cqe(b) + 0x18), ==, 0x40);
    g_assert_null(side_cqe(b));                      /* the third waits: RNR */
    g_assert_cmpuint(rdma_counters(native_dev(b->n))->rnr_tx, ==, 1);
    /* A full slot has no delimiter: three segments up to its end. */
    put_le32(rq + 0x80, 0x20);
    for (int i = 0; i < 3; i++) {
        put_le32(rq + 0x90 + 16 * i, 2);
        put_le32(rq + 0x94 + 16 * i, MR_DATA);
        put_le64(rq + 0x98 + 16 * i, VA + 0x300 + 16 * i);
    }
    a->now += 10000000;
    side_fill(a, VA, 4, 9);
    side_run(a, b);
    g_assert_cmphex(get_le32(side_cqe(b) + 0x18), ==, 0x80);
    g_assert_cmpmem(side_ptr(b, VA + 0x300), 2, side_ptr(a, VA), 2);
    g_assert_cmpmem(side_ptr(b, VA + 0x310), 2, side_ptr(a, VA + 2), 2);
    side_free(a);
    side_free(b);
}

/* Queues wrap many times; the CQ has 32 entries. */
static void test_wrap(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);

    for (int i = 0; i < 200; i++) {
        Wqe w = wqe_begin(i);

        side_recv(b, VA + 0x8000, 64);
        side_fill(a, VA, 64, i);
        wqe_data(&w, VA, 64);
        side_post(a, &w, RDMA_OP_SEND_IMM);
        side_run(a, b);
        side_expect_send(a, RDMA_OP_SEND_IMM, i * 128 % QUEUE_LEN, 64);
        g_assert_cmphex(get_be32(side_cqe(b) + 0x10), ==, i);
        g_assert_cmpmem(side_ptr(b, VA + 0x8000), 64, side_ptr(a, VA), 64);
    }
    side_free(a);
    side_free(b);
}

static void test_ud(void)
{
    Side *a = side_up(1, 3, NULL), *b = side_up(2, 3, NULL);
    Wqe w = wqe_begin(7);
    uint8_t *u = wqe_unit(&w, 48);
    const uint8_t *c;

    put_le32(u + 0x04, 2 << 16 | 1);
    put_le32(u + 0x08, 0x02000000);
    put_le32(u + 0x0c, 0x02000000);
    put_le32(u + 0x10, 0x0a000001);
    put_le32(u + 0x14, 0x0a000002);
    put_le32(u + 0x20, QPN);
    put_le32(u + 0x24, 0x1234);
    wqe_data(&w, VA, 200);
    side_fill(a, VA, 200, 3);
    side_recv(b, VA + 0x1000, 200);
    side_post(a, &w, RDMA_OP_SEND_IMM);
    rdma_poll(native_dev(a->n), a->now);
    /* Both MAC addresses, then IPv4. */
    g_assert_cmpuint(a->wire->len, ==, 1);
    g_assert_cmpmem(g_bytes_get_data(g_ptr_array_index(a->wire, 0), NULL), 14,
                    "\x02\0\0\0\0\2\x02\0\0\0\0\1\x08\0", 14);
    side_run(a, b);
    side_expect_send(a, RDMA_OP_SEND_IMM, 0, 200);
    c = side_cqe(b);
    g_assert_cmpuint(get_le32(c + 0x14), ==, 200);
    g_assert_cmpmem(side_ptr(b, VA + 0x1000), 200, side_ptr(a, VA), 200);
    /* More than the PMTU: local length error, SQE; SQE2RTS resumes. */
    w = wqe_begin(0);
    memcpy(wqe_unit(&w, 48), u, 48);
    wqe_data(&w, VA, 257);
    side_post(a, &w, RDMA_OP_SEND);
    side_run(a, b);
    c = side_cqe(a);
    g_assert_cmphex(c[0x10], ==, 0x01);
    g_assert_cmphex(c[0x1c], ==, 0xff);
    g_assert_cmpuint(side_query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(a->mem[OUT_MBOX + 8], ==, 0x40);
    side_qp_mbox(a, 1, 3);
    g_assert_cmpuint(side_cmd(a, NRC_SQE2RTS_QP, QPN, 0), ==, 0);
    g_assert_cmpuint(side_query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(a->mem[OUT_MBOX + 8], ==, 0x30);
    side_free(a);
    side_free(b);
}

/* ---- errors ---- */

static void lerr_ib(NativeConfig *cfg)
{
    cfg->lerr = 0x04;
    cfg->err_cqe = NATIVE_ERR_CQE_RTL;
}

static void test_errors(void)
{
    for (int i = 0; i < 2; i++) {
        Side *a = side_up(1, 0, i ? lerr_ib : NULL);
        Side *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);
        const uint8_t *c;

        wqe_raddr(&w, VA);
        wqe_data(&w, VA - 1, 4);               /* below the region */
        side_post(a, &w, RDMA_OP_WRITE);
        w = wqe_begin(0);
        wqe_data(&w, VA, 4);
        side_post(a, &w, RDMA_OP_SEND);
        side_recv(a, VA, 4);
        side_run(a, b);
        c = side_cqe(a);
        g_assert_cmphex(c[i ? 0x13 : 0x10], ==, i ? 0x04 : 0x11);
        g_assert_cmphex(get_le32(c + 0x1c), ==, 0x1ff);
        c = side_cqe(a);                             /* flushed send */
        g_assert_cmphex(c[i ? 0x13 : 0x10], ==, 0x05);
        g_assert_cmphex(get_le32(c + 0x18), ==, 128);
        c = side_cqe(a);                             /* flushed receive */
        g_assert_cmphex(get_le32(c + 0x1c), ==, 0xfe);
        g_assert_cmpuint(side_query(a, NRC_QUERY_QP, QPN), ==, 0);
        g_assert_cmphex(a->mem[OUT_MBOX + 8], ==, 0x60);
        /* The context in ICM says so too. */
        g_assert_cmphex(a->mem[ICM + QPN * 0x100 + 8], ==, 0x60);
        side_free(a);
        side_free(b);
    }
}

static unsigned count_flushed(Side *s)
{
    unsigned n = 0;

    for (const uint8_t *c = side_cqe(s); c; c = side_cqe(s)) {
        g_assert_cmphex(get_le32(c + 0x1c), ==, 0xfe);
        g_assert_cmphex(c[0x10], ==, 0x05);
        n++;
    }
    return n;
}

/* In state ERR the engine goes round a receive queue in which nothing is
 * zeroed: one lap at a time, and a completion queue that stays full is told
 * of once. */
static void test_flush_full_rq(void)
{
    enum { SLOTS = QUEUE_LEN / 128 };
    Side *s = side_up(1, 0, tweak_check_owner);

    /* The completion queue's region ends with its last entry. */
    g_assert_cmphex(side_hcr(s, 0, MR_CQ, 0, NRC_HW2SW_MPT, 0) >> 24, ==, 0);
    side_region(s, MR_CQ, NRM_LOCAL_WRITE, 0, CQB, 32 * NRQ_CQE_BYTES);
    for (int i = 0; i < SLOTS; i++) {
        side_recv(s, VA, 4);
    }
    g_assert_cmpuint(side_cmd(s, NRC_2ERR_QP, QPN, 0), ==, 0);
    g_assert_true(side_settles(s));
    g_assert_cmpuint(count_flushed(s), ==, SLOTS);
    s->rules = 0;
    for (int i = 0; i < 50; i++) {
        s->now += 1000000;
        g_assert_true(side_settles(s));
    }
    g_assert_cmpuint(s->rules, ==, 1);
    /* Software wakes up, and what it posts is flushed as ever. */
    memset(s->mem + RQ, 0, QUEUE_LEN);
    s->now += 1000000;
    g_assert_true(side_settles(s));
    g_assert_cmpuint(count_flushed(s), ==, 32);
    for (int i = 0; i < SLOTS; i++) {
        side_recv(s, VA, 4);
    }
    s->now += 2000000;
    g_assert_true(side_settles(s));
    g_assert_cmpuint(count_flushed(s), ==, SLOTS);
    g_assert_cmpuint(s->rules, ==, 1);
    /* Full again: that is told of, too. */
    for (int i = 0; i < 50; i++) {
        s->now += 1000000;
        g_assert_true(side_settles(s));
    }
    g_assert_cmpuint(s->rules, ==, 2);
    side_free(s);
}

static void test_remote_errors(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    Wqe w = wqe_begin(0);
    const uint8_t *c;

    g_assert_cmpuint(side_hcr(b, 0, MR_DATA, 0, NRC_HW2SW_MPT, 0) >> 24, ==, 0);
    wqe_raddr(&w, VA);
    wqe_data(&w, VA, 4);
    side_post(a, &w, RDMA_OP_WRITE);
    side_run(a, b);
    c = side_cqe(a);
    g_assert_cmphex(c[0x10], ==, 0x13);         /* remote access */
    side_free(a);
    side_free(b);
}

/* Doorbells that mean nothing do nothing. */
static void test_doorbells(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    uint64_t rules = a->rules;
    const uint8_t *c;

    native_uar_write(a->n, 0x40, 1, 4);
    native_uar_write(a->n, 4, 1, 4);                    /* no first half */
    native_uar_write(a->n, 0, (uint64_t)77 << 40, 8);   /* QP in RESET */
    g_assert_cmpuint(a->rules, ==, rules + 2);
    side_run(a, b);
    g_assert_null(side_cqe(a));
    /* A size of 0, and one beyond the queue, break the QP. */
    side_ring(a, 0, 0, RDMA_OP_SEND);
    side_run(a, b);
    c = side_cqe(a);
    g_assert_cmphex(c[0x10], ==, 0x05);
    g_assert_cmpuint(side_query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(a->mem[OUT_MBOX + 8], ==, 0x60);
    side_free(a);
    side_free(b);
}

/* ---- fences, inline data, doorbells ---- */

/* A fenced Write waits for the Read before it, by doorbell and by link. */
static void test_fence(void)
{
    for (int how = 0; how < 4; how++) {
        Side *s = side_up(1, 0, NULL);
        bool fence = how & 1, chain = how & 2;
        Wqe w = wqe_begin(0);

        wqe_raddr(&w, VA);
        wqe_data(&w, VA, 8);
        side_copy(s, SQ, 128, w.b, w.len);
        if (chain) {
            put_le32(w.b, (128 / 16) << 6 | RDMA_OP_WRITE);
            put_le32(w.b + 4, (uint32_t)fence << 6 | 3);
        }
        side_copy(s, SQ, 0, w.b, w.len);
        side_ring(s, 0, 48, RDMA_OP_READ);
        if (!chain) {
            side_ring(s, 128, 48, RDMA_OP_WRITE | fence << 5);
        }
        rdma_poll(native_dev(s->n), s->now);
        g_assert_cmpuint(s->wire->len, ==, fence ? 1 : 2);
        side_free(s);
    }
}

/* Inline data that fills its WQE, and one byte more. */
static void test_inline(void)
{
    for (uint32_t len = 12; len < 14; len++) {
        Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);

        wqe_raddr(&w, VA);
        put_le32(wqe_unit(&w, 16), 0x80000000 | len);
        memcpy(w.b + w.len - 12, "twelve bytes", 12);
        side_post(a, &w, RDMA_OP_WRITE);
        side_run(a, b);
        if (len == 12) {
            side_expect_send(a, RDMA_OP_WRITE, 0, 12);
            g_assert_cmpmem(side_ptr(b, VA), 12, "twelve bytes", 12);
        } else {
            g_assert_cmphex(side_cqe(a)[NRQ_IMM], ==, 0x01);
        }
        side_free(a);
        side_free(b);
    }
}

/* An EQ that was not given armed interrupts nobody. */
static void test_eq_unarmed(void)
{
    Side *a = side_up(1, 0, NULL);
    uint8_t *m = side_mbox(a);

    put_be64(m + NR_CTX_START, BUS + EQB);
    m[NR_CTX_LOG] = 3;
    g_assert_cmpuint(side_cmd(a, NRC_SW2HW_EQ, EQN, 0), ==, 0);
    g_assert_cmpuint(side_hcr(a, 0, EQN, 0, NRC_MAP_EQ, 0) >> 24, ==, 0);
    native_uar_write(a->n, NRU_ARM_CQ, CQN, 4);
    side_ring(a, 0, 0, RDMA_OP_SEND);            /* an error */
    side_settles(a);
    g_assert_cmphex(a->mem[EQB + NRE_OWNER], ==, 0);
    g_assert_cmpuint(a->msix->len, ==, 0);
    side_free(a);
}

/* One QP that nobody serves keeps others neither from ringing nor from 64
 * doorbells of their own. */
static void test_doorbell_quota(void)
{
    enum { LIMIT = 1 << NR_LOG_QUEUE, HOG = QPN + 1 };
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    uint64_t v = (uint64_t)HOG << 40 | UINT64_C(3) << 32 | RDMA_OP_WRITE;
    Wqe w = wqe_begin(0);

    side_qp_mbox(a, 1, 0);
    put_be32(a->mem + IN_MBOX + 0x14, HOG);
    g_assert_cmpuint(side_cmd(a, NRC_RST2INIT_QP, HOG, 0), ==, 0);
    g_assert_cmpuint(side_cmd(a, NRC_INIT2RTR_QP, HOG, 0), ==, 0);
    for (int i = 0; i < LIMIT; i++) {
        native_uar_write(a->n, NRU_SQ_DB, v, 8);
    }
    g_assert_cmpuint(a->rules, ==, 0);
    native_uar_write(a->n, NRU_SQ_DB, v, 8);
    g_assert_cmpuint(a->rules, ==, 1);
    wqe_raddr(&w, VA);
    wqe_data(&w, VA, 4);
    for (int i = 0; i < 31; i++) {
        side_post(a, &w, RDMA_OP_WRITE);
    }
    g_assert_cmpuint(a->rules, ==, 1);
    side_run(a, b);
    for (int i = 0; i < 31; i++) {
        g_assert_nonnull(side_cqe(a));
    }
    /* RESET gives them back. */
    g_assert_cmpuint(side_hcr(a, 0, HOG, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    side_qp_mbox(a, 1, 0);
    g_assert_cmpuint(side_cmd(a, NRC_RST2INIT_QP, HOG, 0), ==, 0);
    g_assert_cmpuint(side_cmd(a, NRC_INIT2RTR_QP, HOG, 0), ==, 0);
    native_uar_write(a->n, NRU_SQ_DB, v, 8);
    g_assert_cmpuint(a->rules, ==, 1);
    side_free(a);
    side_free(b);
}

/* All that is shared used up: each QP still has its own 64. */
static void test_doorbell_shared(void)
{
    enum { LIMIT = 1 << NR_LOG_QUEUE, OWN = 64, SHARED = 65536 };
    Side *s = side_up(1, 0, NULL);
    unsigned left = SHARED;

    for (uint32_t qpn = 16; qpn < 16 + 10; qpn++) {
        uint64_t v = (uint64_t)qpn << 40 | UINT64_C(3) << 32 | RDMA_OP_WRITE;
        unsigned room = OWN + MIN(left, LIMIT - OWN);

        side_qp_mbox(s, 1, 0);
        g_assert_cmpuint(side_cmd(s, NRC_RST2INIT_QP, qpn, 0), ==, 0);
        g_assert_cmpuint(side_cmd(s, NRC_INIT2RTR_QP, qpn, 0), ==, 0);
        s->rules = 0;
        for (unsigned i = 0; i < room; i++) {
            native_uar_write(s->n, NRU_SQ_DB, v, 8);
        }
        g_assert_cmpuint(s->rules, ==, 0);
        native_uar_write(s->n, NRU_SQ_DB, v, 8);
        g_assert_cmpuint(s->rules, ==, 1);
        left -= room - OWN;
    }
    g_assert_cmpuint(left, ==, 0);
    side_free(s);
}

/* ---- events ---- */

static void test_events(void)
{
    for (int keyed = 0; keyed < 2; keyed++) {
        Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
        uint8_t *eqe = b->mem + EQB;
        Wqe w = wqe_begin(0);

        side_eq(b, keyed ? 0 : BUS + EQB, keyed ? MR_EQ : 0);
        native_uar_write(b->n, NRU_ARM_CQ, CQN, 4);
        wqe_data(&w, VA, 4);
        for (int i = 0; i < 2; i++) {
            side_recv(b, VA, 4);
            side_post(a, &w, RDMA_OP_SEND);
        }
        side_run(a, b);
        /* Armed once: one event, one interrupt. */
        g_assert_cmpuint(b->msix->len, ==, 1);
        g_assert_cmpuint(g_array_index(b->msix, unsigned, 0), ==, VECTOR);
        g_assert_cmphex(eqe[1], ==, 0x00);
        g_assert_cmphex(get_le32(eqe + 4), ==, CQN);
        g_assert_cmphex(eqe[0x1f], ==, 0x00);
        g_assert_cmphex(eqe[32 + 0x1f], ==, 0x80);
        /* An access violation raises the mapped event; not armed: no IRQ. */
        w = wqe_begin(0);
        wqe_raddr(&w, VA - 100);
        wqe_data(&w, VA, 4);
        side_post(a, &w, RDMA_OP_WRITE);
        side_run(a, b);
        g_assert_cmphex(eqe[32 + 1], ==, 0x11);
        g_assert_cmphex(get_le32(eqe + 32 + 4), ==, QPN);
        g_assert_cmpuint(b->msix->len, ==, 1);
        native_uar_write(b->n, NRU_ARM_EQ, EQN, 4);
        g_assert_cmpuint(side_hcr(b, 1 << 0x11, 0x80000000 | EQN, 0, NRC_MAP_EQ,
                                  0) >> 24, ==, 0);
        g_assert_cmpuint(side_hcr(b, 0, EQN, 0, NRC_HW2SW_EQ, 0) >> 24, ==, 0);
        side_free(a);
        side_free(b);
    }
}

/* Event queue 0 is one like the others. */
static void test_events_first(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    uint8_t *m = side_mbox(b), *eqe = b->mem + EQB;
    Wqe w = wqe_begin(0);

    put_be32(m, 0x01000000);
    put_be64(m + NR_CTX_START, BUS + EQB);
    m[NR_CTX_LOG] = 3;
    g_assert_cmpuint(side_cmd(b, NRC_SW2HW_EQ, 0, 0), ==, 0);
    g_assert_cmphex(side_hcr(b, 1 << RDMA_EV_WQ_ACCESS, 0, 0, NRC_MAP_EQ, 0) >>
                    24, ==, 0);
    wqe_raddr(&w, VA - 100);
    wqe_data(&w, VA, 4);
    side_post(a, &w, RDMA_OP_WRITE);
    side_run(a, b);
    g_assert_cmphex(eqe[NRE_TYPE], ==, RDMA_EV_WQ_ACCESS);
    g_assert_cmphex(get_le32(eqe + NRE_NUMBER), ==, QPN);
    side_free(a);
    side_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/native/" path, test_##fn)
    TEST("rc", rc);
    TEST("chain", chain);
    TEST("rq-walk", rq_walk);
    TEST("wrap", wrap);
    TEST("ud", ud);
    TEST("errors", errors);
    TEST("flush-full-rq", flush_full_rq);
    TEST("remote-errors", remote_errors);
    TEST("doorbells", doorbells);
    TEST("fence", fence);
    TEST("inline", inline);
    TEST("eq/unarmed", eq_unarmed);
    TEST("doorbell/quota", doorbell_quota);
    TEST("doorbell/shared", doorbell_shared);
    TEST("events", events);
    TEST("events-first", events_first);
    return g_test_run();
}
