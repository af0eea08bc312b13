/*
 * ncic-mthca: what the transport is told of work requests, field by field.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-end.h"
#include "../../../hw/rdma/mthca/internal.h"

enum { SLOT = 2048 };       /* bytes of a send WQE here, one in the queue */

static RdmaQp *qp_of(MEnd *e)
{
    return rdma_qp_get(mthca_rdma(e->g->m), ME_QPN);
}

static MthcaQp *priv_of(MEnd *e)
{
    return rdma_qp_priv(qp_of(e));
}

/* An adapter whose QP has one large slot. */
static MEnd end_new(uint8_t service)
{
    MEnd e = mend_new(1);

    mend_qp_up(&e, service, 2, 1, 1, false);
    priv_of(&e)->ctx[MTHCA_QPC_SQ_SIZE] = 0 << 3 | 7;
    return e;
}

/* Decode the slot as a WQE of @units. */
static RdmaWqe decode(MEnd *e, uint8_t op, uint8_t units)
{
    RdmaWqe w;

    memset(&w, 0, sizeof(w));
    mthca_uar_write(e->g->m, ME_UAR * 0x1000 + MTHCA_UAR_SEND,
                    mtb_doorbell(ME_QPN, 1, 0, op, units), 8);
    g_assert_cmpint(mthca_fetch_send(e->g->m, qp_of(e), &w), ==,
                    RDMA_FETCH_OK);
    g_assert_cmphex(w.id, ==, G_BUS + ME_SQ);
    return w;
}

/* The slot with a pattern: byte n is n, but no flags. */
static uint8_t *pattern(MEnd *e)
{
    uint8_t *p = e->g->mem + ME_SQ;

    for (unsigned i = 0; i < SLOT; i++) {
        p[i] = i;
    }
    put_be32(p + 8, 0);
    return p;
}

static uint8_t *clear(MEnd *e)
{
    return memset(e->g->mem + ME_SQ, 0, SLOT);
}

/* Remote address, key, operands, immediate and flags of each operation. */
static void test_connected(void)
{
    static const struct {
        uint8_t op, least;          /* units without which it is none */
        bool remote, atomic;
    } t[] = {
        { RDMA_OP_WRITE, 2, true, false },
        { RDMA_OP_WRITE_IMM, 2, true, false },
        { RDMA_OP_READ, 2, true, false }, { RDMA_OP_SEND, 1, false, false },
        { RDMA_OP_SEND_IMM, 1, false, false },
        { RDMA_OP_CMP_SWAP, 3, true, true },
        { RDMA_OP_FETCH_ADD, 3, true, true },
    };
    MEnd e = end_new(MTHCA_ST_RC);

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        uint8_t *p = pattern(&e);
        RdmaWqe w = decode(&e, t[i].op, t[i].least);

        g_assert_cmpuint(w.error, ==, 0);
        g_assert_cmphex(w.opcode, ==, t[i].op);
        g_assert_cmphex(w.flags, ==, 0);
        g_assert_cmpmem(w.imm, 4, p + 12, 4);
        g_assert_cmphex(w.raddr, ==,
                        t[i].remote ? UINT64_C(0x1011121314151617) : 0);
        g_assert_cmphex(w.rkey, ==, t[i].remote ? 0x18191a1b : 0);
        g_assert_cmphex(w.swap_add, ==,
                        t[i].atomic ? UINT64_C(0x2021222324252627) : 0);
        g_assert_cmphex(w.compare, ==,
                        t[i].atomic ? UINT64_C(0x28292a2b2c2d2e2f) : 0);
        g_assert_cmpuint(w.num_sge, ==, 0);
        if (t[i].least > 1) {
            w = decode(&e, t[i].op, t[i].least - 1);
            g_assert_cmpuint(w.error, ==, RDMA_WC_LOC_QP_OP);
        }
        /* One data segment behind it. */
        w = decode(&e, t[i].op, t[i].least + 1);
        g_assert_cmpuint(w.num_sge, ==, 1);
        g_assert_cmphex(w.sge[0].len, ==, get_be32(p + t[i].least * 16));
        g_assert_cmphex(w.sge[0].key, ==, get_be32(p + t[i].least * 16 + 4));
        g_assert_cmphex(w.sge[0].addr, ==, get_be64(p + t[i].least * 16 + 8));
    }
    /* Flags: of the WQE, and the fence of the doorbell. */
    put_be32(clear(&e) + 8, MTHCA_NEXT_CQ_UPDATE);
    g_assert_cmphex(decode(&e, RDMA_OP_SEND, 1).flags, ==, RDMA_WQE_SIGNALED);
    put_be32(clear(&e) + 8, MTHCA_NEXT_SOLICIT);
    g_assert_cmphex(decode(&e, RDMA_OP_SEND, 1).flags, ==,
                    RDMA_WQE_SOLICITED);
    clear(&e);
    g_assert_cmphex(decode(&e, RDMA_OP_SEND | 1 << 5, 1).flags, ==,
                    RDMA_WQE_FENCE);
    /* NOP looks at nothing. */
    pattern(&e);
    g_assert_cmpuint(decode(&e, RDMA_OP_NOP, 5).num_sge, ==, 0);
    mend_free(&e);
}

/* The address vector of a datagram, with and without a global route. */
static void test_datagram(void)
{
    MEnd e = end_new(MTHCA_ST_UD);

    for (unsigned grh = 0; grh < 2; grh++) {
        uint8_t *p = pattern(&e), *ud = p + 16;
        RdmaWqe w;

        ud[5] = grh << 7 | 0x55;
        w = decode(&e, RDMA_OP_SEND, 5);
        g_assert_cmpuint(w.error, ==, 0);
        g_assert_cmphex(w.av.dlid, ==, 0x1617);
        g_assert_cmphex(w.av.sl, ==, 1);        /* 1c1d1e1f */
        g_assert_cmphex(w.av.path_bits, ==, 0x55);
        g_assert_cmpint(w.av.has_grh, ==, grh);
        g_assert_cmphex(w.av.tclass, ==, grh ? 0xc1 : 0);
        g_assert_cmphex(w.av.flow_label, ==, grh ? 0xd1e1f : 0);
        g_assert_cmphex(w.av.hop_limit, ==, grh ? 0x1b : 0);
        g_assert_cmphex(w.av.sgid_index, ==, grh ? 0x19 : 0);
        g_assert_cmphex(w.av.dgid[0], ==, grh ? 0x20 : 0);
        g_assert_cmphex(w.av.dgid[15], ==, grh ? 0x2f : 0);
        g_assert_cmphex(w.dqpn, ==, 0x313233);
        g_assert_cmphex(w.qkey, ==, 0x34353637);
        g_assert_cmpuint(w.num_sge, ==, 1);
        g_assert_cmphex(w.sge[0].len, ==, 0x40414243);
        g_assert_cmpuint(decode(&e, RDMA_OP_SEND, 4).error, ==, 0);
        g_assert_cmpuint(decode(&e, RDMA_OP_SEND, 3).error, ==,
                         RDMA_WC_LOC_QP_OP);
        /* The codes of a Write are Sends here. */
        g_assert_cmphex(decode(&e, RDMA_OP_WRITE, 4).opcode, ==,
                        RDMA_OP_SEND);
        g_assert_cmphex(decode(&e, RDMA_OP_WRITE_IMM, 4).opcode, ==,
                        RDMA_OP_SEND_IMM);
        g_assert_cmphex(decode(&e, RDMA_OP_READ, 4).opcode, ==, RDMA_OP_READ);
    }
    mend_free(&e);
}

/* Lists of data segments: empty ones, the longest, inline data. */
static void test_segments(void)
{
    MEnd e = end_new(MTHCA_ST_RC);
    uint8_t *p = clear(&e);
    RdmaWqe w;

    for (unsigned i = 0; i < 6; i++) {
        mtb_data(p + 16 + i * 16, i + 1, i % 3 ? 100 + i : 0, i);
    }
    w = decode(&e, RDMA_OP_SEND, 7);
    g_assert_cmpuint(w.num_sge, ==, 4);         /* 1, 2, 4, 5 */
    g_assert_cmpuint(w.sge[2].len, ==, 104);
    g_assert_cmphex(w.sge[2].addr, ==, 5);
    g_assert_cmphex(w.sge[2].key, ==, 4);
    /* The size has six bits. */
    for (unsigned i = 0; i < 64; i++) {
        mtb_data(p + 16 + i * 16, i, 1, i);
    }
    w = decode(&e, RDMA_OP_SEND, 63);
    g_assert_cmpuint(w.error, ==, 0);
    g_assert_cmpuint(w.num_sge, ==, 62);

    /* Inline: to the end of the WQE and no further; neither twice nor mixed
     * with others. */
    p = clear(&e) + 16;
    for (unsigned len = 0; len <= 29; len++) {
        memset(p, 0x5a, 40);
        put_be32(p, MTHCA_INLINE | len);
        w = decode(&e, RDMA_OP_SEND, 3);
        if (len > 28) {
            g_assert_cmpuint(w.error, ==, RDMA_WC_LOC_QP_OP);
            continue;
        }
        /* What follows in the last unit is a segment of its own. */
        if (len > 12) {
            g_assert_cmpuint(w.error, ==, 0);
            g_assert_cmphex(w.flags, ==, RDMA_WQE_INLINE);
            g_assert_cmpuint(w.inl_len, ==, len);
            g_assert_cmpmem(w.inl, len, p + 4, len);
        } else {
            g_assert_cmpuint(w.error, ==, RDMA_WC_LOC_QP_OP);
        }
    }
    put_be32(p, MTHCA_INLINE | 12);
    put_be32(p + 16, MTHCA_INLINE | 1);
    g_assert_cmpuint(decode(&e, RDMA_OP_SEND, 3).error, ==, RDMA_WC_LOC_QP_OP);
    mtb_data(p, 1, 1, 1);
    g_assert_cmpuint(decode(&e, RDMA_OP_SEND, 3).error, ==, RDMA_WC_LOC_QP_OP);
    mend_free(&e);
}

/* A management packet: headers that software built, in memory. */
static uint8_t *mlx_packet(MEnd *e, bool grh, bool imm)
{
    static const uint8_t lrh[] = { 0, 0xa2, 0x12, 0x34, 0, 9, 0xff, 0x83 };
    static const uint8_t bth[] = {
        0x64, 0, 0xab, 0xcd, 0, 0x11, 0x22, 0x33, 0, 0, 0, 7,
        0x81, 0x82, 0x83, 0x84, 0, 0x44, 0x55, 0x66, 0x91, 0x92, 0x93, 0x94,
    };
    uint8_t *h = e->g->mem + ME_DATA, *p = h;

    memset(h, 0, 512);
    memcpy(p, lrh, 8);
    p += 8;
    if (grh) {
        h[1] |= 1;
        for (unsigned i = 0; i < 40; i++) {
            p[i] = 0x60 + i;
        }
        p += 40;
    }
    memcpy(p, bth, 24);
    if (imm) {
        p[0] = 0x65;
    }
    return p;
}

static void mlx_wqe(MEnd *e, uint32_t count, uint32_t second)
{
    uint8_t *p = clear(e) + 16;

    mend_data(e, p, ME_DATA, count);
    put_be32(p + 16, second);
    put_be32(p + 20, 0x777);
    put_be64(p + 24, 0x888);
}

static void test_management(void)
{
    MEnd e = end_new(MTHCA_ST_UD);
    RdmaWqe w;

    priv_of(&e)->special = 2;
    for (unsigned i = 0; i < 4; i++) {
        bool grh = i & 1, imm = i & 2;
        uint32_t head = 28 + grh * 40 + imm * 4;

        mlx_packet(&e, grh, imm);
        mlx_wqe(&e, head + 256, MTHCA_INLINE | 4);
        w = decode(&e, RDMA_OP_SEND, 3);
        g_assert_cmpuint(w.error, ==, 0);
        g_assert_cmphex(w.opcode, ==, imm ? RDMA_OP_SEND_IMM : RDMA_OP_SEND);
        g_assert_cmphex(w.flags, ==, RDMA_WQE_SRC_QPN | RDMA_WQE_PKEY);
        g_assert_cmphex(w.av.dlid, ==, 0x1234);
        g_assert_cmphex(w.av.sl, ==, 0xa);
        g_assert_cmphex(w.av.path_bits, ==, 3);
        g_assert_cmpint(w.av.has_grh, ==, grh);
        g_assert_cmphex(w.av.tclass, ==, grh ? 0x06 : 0);   /* 60616263 */
        g_assert_cmphex(w.av.flow_label, ==, grh ? 0x16263 : 0);
        g_assert_cmphex(w.av.hop_limit, ==, grh ? 0x67 : 0);
        g_assert_cmphex(w.av.dgid[0], ==, grh ? 0x78 : 0);
        g_assert_cmphex(w.av.dgid[15], ==, grh ? 0x87 : 0);
        g_assert_cmphex(w.pkey, ==, 0xabcd);
        g_assert_cmphex(w.dqpn, ==, 0x112233);
        g_assert_cmphex(w.qkey, ==, 0x81828384);
        g_assert_cmphex(w.src_qpn, ==, 0x445566);
        g_assert_cmphex(get_be32(w.imm), ==, imm ? 0x91929394 : 0);
        g_assert_cmpuint(w.num_sge, ==, 1);
        g_assert_cmpuint(w.sge[0].len, ==, 256);
        g_assert_cmphex(w.sge[0].key, ==, e.key);
        g_assert_cmphex(w.sge[0].addr, ==, G_BUS + ME_DATA + head);
        /* Headers alone. */
        mlx_wqe(&e, head, MTHCA_INLINE | 4);
        w = decode(&e, RDMA_OP_SEND, 3);
        g_assert_cmpuint(w.error, ==, 0);
        g_assert_cmpuint(w.num_sge, ==, 0);
        /* Whatever the doorbell calls it, the headers say what it is. */
        g_assert_cmphex(decode(&e, RDMA_OP_WRITE, 3).opcode, ==,
                        imm ? RDMA_OP_SEND_IMM : RDMA_OP_SEND);
    }
    /* More data, the place of the ICRC at their end. */
    mlx_packet(&e, false, false);
    for (uint32_t len = 0; len < 8; len++) {
        mlx_wqe(&e, 28 + 10, len);
        w = decode(&e, RDMA_OP_SEND, 3);
        if (len && len < 4) {
            g_assert_cmpuint(w.error, ==, RDMA_WC_LOC_QP_OP);
            continue;
        }
        g_assert_cmpuint(w.error, ==, 0);
        g_assert_cmpuint(w.num_sge, ==, len > 4 ? 2 : 1);
        g_assert_cmpuint(w.sge[0].len, ==, len ? 10 : 6);
        if (len > 4) {
            g_assert_cmpuint(w.sge[1].len, ==, len - 4);
            g_assert_cmphex(w.sge[1].key, ==, 0x777);
            g_assert_cmphex(w.sge[1].addr, ==, 0x888);
        }
    }
    /* What is none. */
    for (unsigned i = 0; i < 7; i++) {
        static const struct {
            uint32_t count, second;
            uint8_t units, error;
            bool grh;
        } bad[] = {
            { 28, MTHCA_INLINE | 4, 1, RDMA_WC_LOC_QP_OP, false },
            { 27, MTHCA_INLINE | 4, 3, RDMA_WC_LOC_QP_OP, false },
            { MTHCA_INLINE | 28, 0, 3, RDMA_WC_LOC_QP_OP, false },
            { 67, MTHCA_INLINE | 4, 3, RDMA_WC_LOC_QP_OP, true },
            { 28, MTHCA_INLINE | 5, 3, RDMA_WC_LOC_QP_OP, false },
            { 28, MTHCA_INLINE | 3, 3, RDMA_WC_LOC_QP_OP, false },
            { 68, MTHCA_INLINE | 4, 3, 0, true },
        };

        mlx_packet(&e, bad[i].grh, false);
        mlx_wqe(&e, bad[i].count, bad[i].second);
        g_assert_cmpuint(decode(&e, RDMA_OP_SEND, bad[i].units).error, ==,
                         bad[i].error);
    }
    mlx_wqe(&e, 100, MTHCA_INLINE | 4);
    put_be32(e.g->mem + ME_SQ + 16 + 4, 0x7700);        /* no such key */
    g_assert_cmpuint(decode(&e, RDMA_OP_SEND, 3).error, ==, RDMA_WC_LOC_PROT);
    mend_free(&e);
}

/* A batch: each WQE says what the next one is; the queue wraps. */
static void test_batches(void)
{
    MEnd e = mend_new(1);
    MthcaQp *q;
    RdmaWqe w;

    mend_qp_up(&e, MTHCA_ST_RC, 2, 1, 1, false);
    q = priv_of(&e);
    for (unsigned i = 0; i < 16; i++) {
        uint8_t *p = e.g->mem + ME_SQ + i * ME_SQ_STRIDE;

        memset(p, 0, ME_SQ_STRIDE);
        mtb_link(p, (i + 1) % 16 * ME_SQ_STRIDE,
                 i & 1 ? RDMA_OP_WRITE : RDMA_OP_READ, 2);
        if (i == 14) {
            p[7] |= MTHCA_NEXT_FENCE;
        }
        put_be64(p + 16, i);
    }
    mthca_uar_write(e.g->m, ME_UAR * 0x1000 + MTHCA_UAR_SEND,
                    mtb_doorbell(ME_QPN, 4, 13, RDMA_OP_SEND, 1), 8);
    g_assert_cmpuint(q->sq_next, ==, 17);
    for (unsigned i = 13; i < 17; i++) {
        memset(&w, 0, sizeof(w));
        g_assert_cmpint(mthca_fetch_send(e.g->m, qp_of(&e), &w), ==,
                        RDMA_FETCH_OK);
        g_assert_cmphex(w.id, ==, G_BUS + ME_SQ + i % 16 * ME_SQ_STRIDE);
        g_assert_cmphex(w.opcode, ==, i == 13 ? RDMA_OP_SEND :
                        i & 1 ? RDMA_OP_READ : RDMA_OP_WRITE);
        g_assert_cmphex(w.raddr, ==, i == 13 ? 0 : i % 16);
        g_assert_cmphex(w.flags, ==, i == 15 ? RDMA_WQE_FENCE : 0);
    }
    g_assert_cmpint(mthca_fetch_send(e.g->m, qp_of(&e), &w), ==,
                    RDMA_FETCH_NONE);
    /* Doorbells beyond those that are kept join the last one, if they follow
     * it. */
    for (unsigned i = 0; i < MTHCA_QP_DOORBELLS + 2; i++) {
        mthca_uar_write(e.g->m, ME_UAR * 0x1000 + MTHCA_UAR_SEND,
                        mtb_doorbell(ME_QPN, 1, i, RDMA_OP_READ, 2), 8);
    }
    g_assert_cmpuint(e.g->rules, ==, 0);
    g_assert_cmpuint(q->sq_next, ==, MTHCA_QP_DOORBELLS + 2);
    mthca_uar_write(e.g->m, ME_UAR * 0x1000 + MTHCA_UAR_SEND,
                    mtb_doorbell(ME_QPN, 1, 40, RDMA_OP_READ, 2), 8);
    g_assert_cmpuint(e.g->rules, ==, 1);
    for (unsigned i = 0; i < MTHCA_QP_DOORBELLS + 2; i++) {
        g_assert_cmpint(mthca_fetch_send(e.g->m, qp_of(&e), &w), ==,
                        RDMA_FETCH_OK);
        g_assert_cmphex(w.id, ==, G_BUS + ME_SQ + i % 16 * ME_SQ_STRIDE);
    }
    g_assert_cmpint(mthca_fetch_send(e.g->m, qp_of(&e), &w), ==,
                    RDMA_FETCH_NONE);
    /* For no requests, and for no QP. */
    mthca_uar_write(e.g->m, ME_UAR * 0x1000 + MTHCA_UAR_SEND,
                    mtb_doorbell(ME_QPN, 0, 0, RDMA_OP_READ, 2), 8);
    mthca_uar_write(e.g->m, ME_UAR * 0x1000 + MTHCA_UAR_SEND,
                    mtb_doorbell(ME_QPN + 1, 1, 0, RDMA_OP_READ, 2), 8);
    g_assert_cmpuint(e.g->rules, ==, 3);
    g_assert_cmpuint(mthca_counters(e.g->m)->doorbells, ==,
                     MTHCA_QP_DOORBELLS + 6);
    /* The queue's memory is gone. */
    mthca_uar_write(e.g->m, ME_UAR * 0x1000 + MTHCA_UAR_SEND,
                    mtb_doorbell(ME_QPN, 2, 18, RDMA_OP_READ, 2), 8);
    put_be32(q->ctx + MTHCA_QPC_WQE_LKEY, 0x7700);
    g_assert_cmpint(mthca_fetch_send(e.g->m, qp_of(&e), &w), ==,
                    RDMA_FETCH_BAD);
    g_assert_cmpuint(w.error, ==, RDMA_WC_LOC_QP_OP);
    g_assert_cmpuint(q->db_num, ==, 0);
    mend_free(&e);
}

/* Receive requests: scatter lists, and slots in the order of the ring. */
static void test_receive(void)
{
    MEnd e = mend_new(1);
    uint8_t buf[2048] = { 0 };
    RdmaRecvWqe w;

    mend_qp_up(&e, MTHCA_ST_RC, 2, 1, 1, false);
    g_assert_cmpint(mthca_fetch_recv(e.g->m, qp_of(&e), &w), ==,
                    RDMA_FETCH_NONE);
    for (unsigned i = 0; i < 40; i++) {
        mend_recv(&e, i, ME_DATA + i, 10 + i);
        g_assert_cmpint(mthca_fetch_recv(e.g->m, qp_of(&e), &w), ==,
                        RDMA_FETCH_OK);
        g_assert_cmphex(w.id, ==, G_BUS + ME_RQ + i % 16 * ME_RQ_STRIDE);
        g_assert_cmpuint(w.num_sge, ==, 1);
        g_assert_cmphex(w.sge[0].addr, ==, G_BUS + ME_DATA + i);
        g_assert_cmphex(w.sge[0].len, ==, 10 + i);
        g_assert_cmphex(w.sge[0].key, ==, e.key);
        g_assert_cmpint(mthca_fetch_recv(e.g->m, qp_of(&e), &w), ==,
                        RDMA_FETCH_NONE);
    }
    mok(e.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
    g_assert_cmpuint(get_be16(mout_box(e.g) + 8 + MTHCA_QPC_RQ_COUNT), ==, 40);
    /* Slots of 128 bytes. */
    priv_of(&e)->ctx[MTHCA_QPC_RQ_SIZE]++;
    memcpy(e.g->mem + ME_RQ + 8 * 128, e.g->mem + ME_RQ + 7 * ME_RQ_STRIDE,
           ME_RQ_STRIDE);
    mend_db(&e, ME_RQ_DB, 41);
    g_assert_cmpint(mthca_fetch_recv(e.g->m, qp_of(&e), &w), ==,
                    RDMA_FETCH_OK);
    g_assert_cmphex(w.id, ==, G_BUS + ME_RQ + 8 * 128);
    g_assert_cmphex(w.sge[0].addr, ==, G_BUS + ME_DATA + 39);
    /* A list that fills its slot ends with it: seven entries, three. */
    for (unsigned n = 0; n < 2; n++) {
        uint8_t *slot = e.g->mem + ME_RQ + (9 + n) * (n ? ME_RQ_STRIDE : 128);

        priv_of(&e)->ctx[MTHCA_QPC_RQ_SIZE] -= n;
        for (unsigned i = 0; i < 7; i++) {
            mtb_data(slot + 16 + i * 16, i, 1, i);
        }
        mend_db(&e, ME_RQ_DB, 42 + n);
        g_assert_cmpint(mthca_fetch_recv(e.g->m, qp_of(&e), &w), ==,
                        RDMA_FETCH_OK);
        g_assert_cmpuint(w.num_sge, ==, n ? 3 : 7);
    }
    put_be32(priv_of(&e)->ctx + MTHCA_QPC_WQE_LKEY, 0x7700);
    mend_db(&e, ME_RQ_DB, 44);
    g_assert_cmpint(mthca_fetch_recv(e.g->m, qp_of(&e), &w), ==,
                    RDMA_FETCH_BAD);

    /* Lists: the highest bit of a length counts for nothing, empty entries are
     * left out, one with the invalid key ends the list. */
    for (unsigned i = 0; i < 70; i++) {
        mtb_data(buf + 16 + i * 16, i, (i == 2 ? 0 : i + 1) | 1u << 31, i);
    }
    mthca_recv_decode(buf, 16 + 4 * 16, &w);
    g_assert_cmpuint(w.num_sge, ==, 3);
    g_assert_cmpuint(w.sge[2].len, ==, 4);
    g_assert_cmpuint(w.sge[2].key, ==, 3);
    mthca_recv_decode(buf, 16 + 4 * 16 - 1, &w);
    g_assert_cmpuint(w.num_sge, ==, 2);
    mthca_recv_decode(buf, sizeof(buf), &w);
    g_assert_cmpuint(w.num_sge, ==, RDMA_MAX_SGE);
    put_be32(buf + 16 + 3 * 16, 0);
    put_be32(buf + 16 + 3 * 16 + 4, MTHCA_INVAL_LKEY);
    mthca_recv_decode(buf, sizeof(buf), &w);
    g_assert_cmpuint(w.num_sge, ==, 2);
    mend_free(&e);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/wqe/connected", test_connected);
    g_test_add_func("/mthca/wqe/datagram", test_datagram);
    g_test_add_func("/mthca/wqe/segments", test_segments);
    g_test_add_func("/mthca/wqe/management", test_management);
    g_test_add_func("/mthca/wqe/batches", test_batches);
    g_test_add_func("/mthca/wqe/receive", test_receive);
    return g_test_run();
}
