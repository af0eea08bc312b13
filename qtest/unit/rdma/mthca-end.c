/*
 * What a driver of ncic-mthca does with one connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-end.h"

void mend_db(MEnd *e, unsigned index, uint32_t val)
{
    put_be32(e->g->mem + ME_DB + index * 8, val);
}

void mend_up(MEnd *e)
{
    e->ci = e->sq_head = 0;
    mguest_init_hca(e->g);
    mmap_icm(e->g, M_UARC + ((uint64_t)ME_UAR << 18), ME_DB, 1);
    e->key = mregion_all(e->g, 0x10, 0);
    mmake_eq(e->g, 1, ME_EQ, 0, e->key);
    mtb_init_ib(min_box(e->g));
    mok(e->g, MTHCA_CMD_INIT_IB, 1, 0);
    memset(e->g->mem + ME_CQ, 0x80, 64 * MTHCA_CQE_SIZE);
    mtb_cq(min_box(e->g), G_BUS + ME_CQ, 6, ME_UAR, 1, e->key, ME_CI_DB,
           ME_ARM_DB);
    mok(e->g, MTHCA_CMD_SW2HW_CQ, ME_CQN, 0);
}

MEnd mend_new(uint16_t lid)
{
    MEnd e = { .g = mguest_new(lid, false) };

    mend_up(&e);
    return e;
}

void mend_free(MEnd *e)
{
    mguest_free(e->g);
}

static uint32_t end_qpn(const MEnd *e)
{
    return e->qpn ? e->qpn : ME_QPN;
}

void mend_qp_up(MEnd *e, uint8_t st, uint16_t dlid, uint32_t sq_psn,
                uint32_t rq_psn, bool srq)
{
    uint32_t qpn = end_qpn(e);
    const MtbQp q = {
        .service = st, .mtu = 1, .qpn = qpn, .peer_qpn = ME_QPN,
        .uar = ME_UAR, .cqn = ME_CQN, .key = e->key, .log_sq = 4,
        .log_sq_stride = 7, .log_rq = 4, .log_rq_stride = 6, .base = G_BUS,
        .sq = ME_SQ, .rq = ME_RQ, .sq_db = ME_SQ_DB, .rq_db = ME_RQ_DB,
        .srq = srq ? 1u << 24 | ME_SRQN : 0, .qkey = 0x11111111,
        .dlid = dlid, .sq_psn = sq_psn, .rq_psn = rq_psn,
    };

    mtb_rst2init(min_box(e->g), &q);
    mok(e->g, MTHCA_CMD_RST2INIT_QP, qpn, 0);
    mtb_init2rtr(min_box(e->g), &q);
    mok(e->g, MTHCA_CMD_INIT2RTR_QP, qpn, 0);
    mtb_rtr2rts(min_box(e->g), &q);
    mok(e->g, MTHCA_CMD_RTR2RTS_QP, qpn, 0);
}

void mend_recv(MEnd *e, uint16_t index, uint32_t off, uint32_t len)
{
    uint8_t *w = e->g->mem + ME_RQ + index % 16 * ME_RQ_STRIDE;

    memset(w, 0, ME_RQ_STRIDE);
    mtb_recv(w, G_BUS + off, len, e->key);
    mend_db(e, ME_RQ_DB, index + 1);
}

uint8_t *mend_wqe(MEnd *e, uint8_t op, uint32_t flags, uint8_t size)
{
    uint8_t *w = e->g->mem + ME_SQ + e->sq_head % 16 * ME_SQ_STRIDE;
    uint8_t *prev = e->g->mem + ME_SQ + (e->sq_head + 15) % 16 * ME_SQ_STRIDE;

    memset(w + 8, 0, ME_SQ_STRIDE - 8);
    mtb_link(prev, e->sq_head % 16 * ME_SQ_STRIDE, op, size);
    put_be32(w + 8, flags | 1);
    e->sq_head++;
    e->op = op;
    e->size = size;
    return w + 16;
}

uint8_t *mend_data(MEnd *e, uint8_t *p, uint32_t off, uint32_t len)
{
    return mtb_data(p, G_BUS + off, len, e->key);
}

uint8_t *mend_raddr(MEnd *e, uint8_t *p, uint32_t off, uint32_t rkey)
{
    return mtb_raddr(p, G_BUS + off, rkey);
}

void mend_ring(MEnd *e, uint8_t n, uint8_t op, uint8_t size)
{
    uint16_t head = e->sq_head - n;

    mend_db(e, ME_SQ_DB, e->sq_head);
    mthca_uar_write(e->g->m, ME_UAR * 0x1000 + MTHCA_UAR_SEND,
                    mtb_doorbell(end_qpn(e), n, head, op, size), 8);
}

const uint8_t *mend_poll(MEnd *e)
{
    uint8_t *c = e->g->mem + ME_CQ + e->ci % 64 * MTHCA_CQE_SIZE;

    if (c[0x1f] & MTHCA_OWNER_HW) {
        return NULL;
    }
    e->ci++;
    mend_db(e, ME_CI_DB, e->ci);
    return c;
}

void mend_arm(MEnd *e, uint8_t cmd)
{
    uint64_t v = (uint64_t)(1u << 28 | (uint32_t)cmd << 24 | ME_CQN) << 32 |
                 e->ci;

    /* A 32-bit guest: high half, then low half. */
    mthca_uar_write(e->g->m, ME_UAR * 0x1000 + MTHCA_UAR_CQ, v >> 32, 4);
    mthca_uar_write(e->g->m, ME_UAR * 0x1000 + MTHCA_UAR_CQ + 4, (uint32_t)v,
                    4);
}

void mend_srq_up(MEnd *e)
{
    uint8_t *in;

    in = min_box(e->g);
    put_be32(in, 4u << 24 | ME_SRQN);
    put_be32(in + 4, e->key);
    put_be32(in + 8, ME_SRQ_DB);
    put_be32(in + 0x0c, 2u << 29 | ME_UAR);
    put_be64(in + 0x10, G_BUS + ME_SRQ);
    mok(e->g, MTHCA_CMD_SW2HW_SRQ, ME_SRQN, 0);
    for (unsigned i = 0; i < 16; i++) {
        uint8_t *w = e->g->mem + ME_SRQ + i * ME_RQ_STRIDE;

        put_be32(w, (i + 1) % 16 * ME_RQ_STRIDE | 1);
        mend_data(e, w + 16, ME_DATA + i * 0x100, 64);
        put_be32(w + 36, MTHCA_INVAL_LKEY);
    }
    mend_db(e, ME_SRQ_DB, 16);
}

void mend_send_ud(MEnd *a, uint32_t qkey)
{
    uint8_t *p = mend_wqe(a, MTHCA_WQE_SEND, MTHCA_NEXT_CQ_UPDATE, 5);

    memset(p, 0, 0x30);
    put_be32(p, 1u << 24);
    put_be32(p + 4, 2);
    put_be32(p + 0x20, ME_QPN);
    put_be32(p + 0x24, qkey);
    mend_data(a, p + 0x30, ME_DATA, 100);
    mend_ring(a, 1, MTHCA_WQE_SEND, 5);
}

MEnd mend_busy(void)
{
    static const uint8_t ops[] = {
        MTHCA_WQE_RDMA_WRITE, MTHCA_WQE_RDMA_READ, MTHCA_WQE_SEND,
        MTHCA_WQE_RDMA_WRITE,
    };
    MEnd e = { .g = mguest_new(1, false) };
    uint8_t *p;

    e.g->log_mpts = 6;
    mend_up(&e);
    mend_srq_up(&e);
    g_assert_cmphex(mcmd(e.g, MTHCA_CMD_MAP_EQ, 1, 0, ~0ull, 0, NULL), ==, 0);
    /* QPs of each service; what follows goes to the last one. */
    for (unsigned i = 0; i < 3; i++) {
        static const uint8_t st[] = { MTHCA_ST_UC, MTHCA_ST_UD, MTHCA_ST_RC };

        if (i) {
            e.sq_head = 0;
        }
        e.qpn = ME_QPN + i;
        mend_qp_up(&e, st[i], 2, 0xfffffe, 5, i == 2);
        if (st[i] == MTHCA_ST_UD) {
            mend_send_ud(&e, 1);
            continue;
        }
        for (unsigned k = 0; k < G_N_ELEMENTS(ops); k++) {
            bool send = ops[k] == MTHCA_WQE_SEND;

            p = mend_wqe(&e, ops[k], MTHCA_NEXT_CQ_UPDATE, send ? 2 : 3);
            if (!send) {
                p = mend_raddr(&e, p, ME_DATA, 0x1000);
            }
            if (k == 3) {
                put_be32(p, MTHCA_INLINE | 12);         /* "abc..." */
                memcpy(p + 4, "abcdefghijkl", 12);
            } else {
                mend_data(&e, p, ME_DATA, 700);
            }
        }
        mend_ring(&e, 4, ops[0], 3);
        for (int turn = 0; turn < 4; turn++) {
            rdma_poll(mthca_rdma(e.g->m), e.g->now);
        }
        /* And some that the requester has not fetched. */
        mend_ring(&e, 1, ops[0], 3);
    }
    mend_arm(&e, 2);
    return e;
}

uint8_t *mend_mad(MGuest *g, uint8_t class, uint8_t method, uint16_t attr,
                  uint32_t mod)
{
    uint8_t *in = min_box(g);

    in[0] = 1;
    in[1] = class;
    in[2] = 1;
    in[3] = method;
    put_be64(in + 8, 0x1122334455667788);
    put_be16(in + 16, attr);
    put_be32(in + 20, mod);
    return in;
}

uint8_t *mend_port_info(MGuest *g)
{
    mend_mad(g, 1, 1, 0x15, 1);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    return mout_box(g) + 64;
}
