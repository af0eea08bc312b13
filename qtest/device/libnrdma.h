/*
 * A driver for the RDMA engine of ncic-nic on top of libqos: commands, regions,
 * one completion queue, queue pairs with WQEs of one segment.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_LIBNRDMA_H
#define QTEST_LIBNRDMA_H

#include "libncic.h"
#include "../lib/native_build.h"

#define QNR_QUEUE  4096         /* bytes of an SQ and an RQ */
#define QNR_DATA   0x20000      /* bytes of the data region */
#define QNR_VA     0x7f0000001000ull
#define QNR_SLOT   128
#define QNR_VECTOR 3
#define QNR_ICM_MTT 0x900000ull /* ICM address of the table of pages */

/* Region indices, which are keys too. */
enum { QNR_MR_CQ = 1, QNR_MR_DATA, QNR_MR_QUEUES };

typedef struct QNrdmaQp {
    uint32_t qpn;
    uint64_t sq, rq;            /* guest addresses */
    uint32_t sq_key, rq_key;
    uint32_t sq_head, rq_head;
} QNrdmaQp;

typedef struct QNrdma {
    QNcic *d;
    uint64_t mbox, out;         /* guest pages */
    uint64_t icm, cq, eq, data;
    uint32_t cq_tail, eq_tail;
    unsigned regions;
} QNrdma;

/* Runs a command; its status. */
unsigned qnr_cmd(QNrdma *r, uint16_t op, uint64_t in, uint32_t mod,
                 uint64_t out, uint8_t op_mod);
/* Everything up to a completion queue, an event queue and a data region. */
void qnr_up(QNrdma *r, QNcic *d);
/* MAP_ICM: @pages guest pages from @addr at ICM address @virt. */
void qnr_map(QNrdma *r, unsigned region, uint64_t virt, uint64_t addr,
             uint32_t pages);
/* Registers guest memory as region @index; PD 3. */
void qnr_region(QNrdma *r, uint32_t index, uint32_t flags, uint64_t va,
                uint64_t addr, uint32_t len);
/* A queue pair in RTS; IPv4 addresses and MACs as given. */
void qnr_qp(QNrdma *r, QNrdmaQp *q, uint32_t qpn, uint32_t peer,
            uint8_t service, uint32_t sip, uint32_t dip, uint64_t dmac);
/* Posts a request and rings the doorbell. */
void qnr_post(QNrdma *r, QNrdmaQp *q, const NrbSend *wqe);
/* The same with keys and immediate that fit qnr_up(). */
void qnr_send(QNrdma *r, QNrdmaQp *q, uint8_t op, uint64_t va, uint32_t len,
              uint64_t raddr);
void qnr_recv(QNrdma *r, QNrdmaQp *q, uint64_t va, uint32_t len);
/* The next completion; fails after 10 s without one. */
NrbCqe qnr_cqe(QNrdma *r);
bool qnr_cqe_ready(QNrdma *r);
/* Guest address of @va in the data region. */
uint64_t qnr_addr(QNrdma *r, uint64_t va);

#endif
