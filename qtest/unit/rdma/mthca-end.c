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
