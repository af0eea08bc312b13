/*
 * ncic-mthca: what a driver puts into mailboxes, queues and doorbells.  For
 * drivers and tests: no state, no allocation, libc only.  The consumer that
 * defines the formats is Linux' ib_mthca; docs/specs/ncic-mthca.rst.
 *
 * Everything is big-endian.  Mailboxes (MTHCA_MAILBOX_SIZE) and WQEs are the
 * caller's, zeroed before a builder fills them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_MTHCA_BUILD_H
#define RDMA_MTHCA_BUILD_H

#include <stdbool.h>

#include "core/bytes.h"
#include "rdma/mthca_hw.h"

/* ---- mailboxes ---- */

#define MTB_LOG_MPTS 17

/* INIT_HCA with the values of Linux 6.1 for one port; @uarc and @mtt are where
 * doorbell records (256 KiB for each UAR) and translations begin in ICM. */
static inline void mtb_init_hca(uint8_t *m, uint64_t uarc, uint64_t mtt)
{
    put_be32(m + 0x0c, 1);
    put_be32(m + 0x14, 1);
    put_be64(m + 0x30, 0x24000000 | 16);        /* QPs, then SRQs, CQs, EQs */
    put_be64(m + 0x48, 0x26400000 | 16);
    put_be64(m + 0x50, 0x26000000 | 16);
    put_be64(m + 0x80, 0x26a12000 | 5);
    put_be64(m + 0xc0, 0x26800000);             /* multicast groups */
    put_be16(m + 0xd2, 8);
    put_be16(m + 0xd6, 0x1000);
    m[0xdb] = 13;
    put_be64(m + 0xf0, 0x25800000);             /* regions */
    m[0xfb] = MTB_LOG_MPTS;
    put_be64(m + 0x100, mtt);
    m[0x129] = 6;
    m[0x12a] = 11;
    put_be64(m + 0x138, uarc);
}

/* INIT_IB: path MTU 2048, the only width and the tables there are. */
static inline void mtb_init_ib(uint8_t *m)
{
    put_be32(m, 0x4340);
}

/* Entry @i of MAP_ICM: the page at bus address @addr. */
static inline void mtb_map_icm(uint8_t *m, unsigned i, uint64_t virt,
                               uint64_t addr)
{
    put_be64(m + i * 16, virt);
    put_be64(m + i * 16 + 8, addr);
}

/* A region of bus addresses, all rights; its key is @index << 8. */
static inline void mtb_region(uint8_t *m, uint32_t index, uint32_t pd,
                              uint64_t start, uint64_t length)
{
    put_be32(m, 0xf000ff00);
    put_be32(m + 0x08, index);
    put_be32(m + 0x0c, pd);
    put_be64(m + 0x10, start);
    put_be64(m + 0x18, length);
}

/* An event queue of 2^@log entries, armed. */
static inline void mtb_eq(uint8_t *m, uint64_t addr, uint8_t log,
                          uint8_t vector, uint32_t key)
{
    put_be32(m, 0x01040900);
    put_be64(m + 4, addr);
    m[0x0c] = log;
    m[0x17] = 0x80 | vector;
    put_be32(m + 0x1c, key);
}

/* A completion queue; @ci_db and @arm_db are doorbell records of @uar. */
static inline void mtb_cq(uint8_t *m, uint64_t addr, uint8_t log,
                          uint32_t uar, uint32_t eqn, uint32_t key,
                          uint32_t ci_db, uint32_t arm_db)
{
    put_be64(m + 4, addr);
    put_be32(m + 0x0c, (uint32_t)log << 24 | uar);
    put_be32(m + 0x14, eqn);
    put_be32(m + 0x1c, key);
    put_be32(m + 0x34, ci_db);
    put_be32(m + 0x38, arm_db);
}

/* A queue pair.  Both queues lie in one region, within 4 GiB. */
typedef struct MtbQp {
    uint8_t service;            /* MTHCA_ST_* */
    uint8_t mtu;                /* 1 to 4: 256 to 2048 */
    uint32_t qpn, peer_qpn, uar, cqn, key;
    uint8_t log_sq, log_sq_stride, log_rq, log_rq_stride;
    uint64_t base;              /* the queues' addresses, upper half */
    uint32_t sq, rq;            /* lower halves */
    uint32_t sq_db, rq_db;      /* doorbell records */
    uint32_t srq;               /* 1 << 24 | SRQN, or 0 */
    uint32_t qkey;
    uint16_t dlid;
    uint32_t sq_psn, rq_psn;
} MtbQp;

static inline void mtb_rst2init(uint8_t *m, const MtbQp *q)
{
    uint8_t *c = m + 8;

    c[1] = q->service;
    c[MTHCA_QPC_MTU_MSGMAX] = q->mtu << 5 | 31;
    c[MTHCA_QPC_RQ_SIZE] = q->log_rq << 3 | (q->log_rq_stride - 4);
    c[MTHCA_QPC_SQ_SIZE] = q->log_sq << 3 | (q->log_sq_stride - 4);
    put_be32(c + MTHCA_QPC_UAR, q->uar);
    put_be32(c + MTHCA_QPC_LOCAL_QPN, q->qpn);
    put_be32(c + MTHCA_QPC_PATH, 1u << 24);
    put_be32(c + MTHCA_QPC_WQE_BASE, q->base >> 32);
    put_be32(c + MTHCA_QPC_WQE_LKEY, q->key);
    put_be32(c + MTHCA_QPC_CQN_SND, q->cqn);
    put_be32(c + MTHCA_QPC_CQN_RCV, q->cqn);
    put_be32(c + MTHCA_QPC_SND_BASE, q->sq);
    put_be32(c + MTHCA_QPC_SND_DB, q->sq_db);
    put_be32(c + MTHCA_QPC_RCV_BASE, q->rq);
    put_be32(c + MTHCA_QPC_RCV_DB, q->rq_db);
    put_be32(c + MTHCA_QPC_QKEY, q->qkey);
    put_be32(c + MTHCA_QPC_SRQN, q->srq);
}

/* Everything not required or named by an option bit is 0 in these two. */
static inline void mtb_init2rtr(uint8_t *m, const MtbQp *q)
{
    uint8_t *c = m + 8;

    put_be32(m, MTHCA_OPT_RRE | MTHCA_OPT_RAE | MTHCA_OPT_RWE |
             MTHCA_OPT_RNR_TIMEOUT | MTHCA_OPT_PRIMARY | MTHCA_OPT_RRA_MAX);
    c[MTHCA_QPC_MTU_MSGMAX] = q->mtu << 5 | 31;
    put_be32(c + MTHCA_QPC_REMOTE_QPN, q->peer_qpn);
    put_be32(c + MTHCA_QPC_PATH + 4, q->dlid);
    put_be32(c + MTHCA_QPC_PARAMS2, 2u << 21 | MTHCA_P2_RRE | MTHCA_P2_RWE |
             MTHCA_P2_RAE);
    put_be32(c + MTHCA_QPC_RNR_PSN, 12u << 24 | q->rq_psn);
}

static inline void mtb_rtr2rts(uint8_t *m, const MtbQp *q)
{
    uint8_t *c = m + 8;

    put_be32(c + MTHCA_QPC_PATH + 4, 7u << 29);
    c[MTHCA_QPC_PATH + 8] = 14 << 3;
    put_be32(c + MTHCA_QPC_PARAMS1, 2u << 21 | 7 << 16 | MTHCA_P1_SRE |
             MTHCA_P1_SAE);
    put_be32(c + MTHCA_QPC_NEXT_PSN, q->sq_psn);
}

/* ---- work requests ---- */

/* The link in WQE @w to its successor: where that is, its opcode and size in
 * units of 16 bytes. */
static inline void mtb_link(uint8_t *w, uint32_t next, uint8_t op,
                            uint8_t size)
{
    put_be32(w, next | op);
    put_be32(w + 4, MTHCA_NEXT_DBD | size);
}

/* Segments at @p; the place of the next one. */
static inline uint8_t *mtb_data(uint8_t *p, uint64_t addr, uint32_t len,
                                uint32_t key)
{
    put_be32(p, len);
    put_be32(p + 4, key);
    put_be64(p + 8, addr);
    return p + 16;
}

static inline uint8_t *mtb_raddr(uint8_t *p, uint64_t addr, uint32_t rkey)
{
    put_be64(p, addr);
    put_be32(p + 8, rkey);
    return p + 16;
}

/* A receive WQE of one segment, 48 bytes. */
static inline void mtb_recv(uint8_t *w, uint64_t addr, uint32_t len,
                            uint32_t key)
{
    uint8_t *end = mtb_data(w + 16, addr, len, key);

    put_be32(end + 4, MTHCA_INVAL_LKEY);        /* ends the list */
}

/* The send doorbell for @n WQEs from number @head on. */
static inline uint64_t mtb_doorbell(uint32_t qpn, uint8_t n, uint16_t head,
                                    uint8_t op, uint8_t size)
{
    return (uint64_t)((uint32_t)n << 24 | (uint32_t)head << 8 | op) << 32 |
           qpn << 8 | size;
}

#endif
