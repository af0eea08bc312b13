/*
 * What a driver of ncic-mthca does with one connection: an EQ, a CQ, a QP and
 * its work requests, on the test double.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_MTHCA_END_H
#define QTEST_MTHCA_END_H

#include "mthca-double.h"

/* Guest memory, offsets; addresses in a "no translation" region. */
enum { ME_EQ = 0x10000, ME_DB = 0x20000, ME_CQ = 0x30000, ME_SQ = 0x40000,
       ME_RQ = 0x50000, ME_SRQ = 0x58000, ME_DATA = 0x60000 };
enum { ME_UAR = 2, ME_CQN = 5, ME_QPN = 0x30015, ME_SRQN = 9 };
/* Doorbell records */
enum { ME_CI_DB, ME_ARM_DB, ME_SQ_DB, ME_RQ_DB, ME_SRQ_DB };
/* Bytes of a WQE; 16 of them in each queue, 64 CQEs. */
#define ME_SQ_STRIDE 128
#define ME_RQ_STRIDE 64

typedef struct MEnd {
    MGuest *g;
    uint32_t key, ci;
    uint16_t sq_head;
    uint8_t size, op;           /* of the last WQE built */
    uint32_t qpn;               /* whose WQEs and doorbells; 0 = ME_QPN */
} MEnd;

/* An adapter with an active port, EQ 1 on vector 0, a CQ. */
MEnd mend_new(uint16_t lid);
void mend_free(MEnd *e);
/* The same for an adapter that was reset; guest memory is zero. */
void mend_up(MEnd *e);
/* RST2INIT .. RTR2RTS with the option masks of Linux. */
void mend_qp_up(MEnd *e, uint8_t st, uint16_t dlid, uint32_t sq_psn,
                uint32_t rq_psn, bool srq);
/* Write a doorbell record. */
void mend_db(MEnd *e, unsigned index, uint32_t val);
/* Post receive WQE @index; @off is where in guest memory. */
void mend_recv(MEnd *e, uint16_t index, uint32_t off, uint32_t len);
/* Begin a send WQE: link the one built before to it, as software does.  Its
 * segments go to the pointer that comes back. */
uint8_t *mend_wqe(MEnd *e, uint8_t op, uint32_t flags, uint8_t size);
uint8_t *mend_data(MEnd *e, uint8_t *p, uint32_t off, uint32_t len);
uint8_t *mend_raddr(MEnd *e, uint8_t *p, uint32_t off, uint32_t rkey);
/* Ring for @n WQEs; the first has @op and @size. */
void mend_ring(MEnd *e, uint8_t n, uint8_t op, uint8_t size);
/* SRQ ME_SRQN with 16 WQEs posted. */
void mend_srq_up(MEnd *e);
/* One datagram of 100 bytes to the QP of LID 2. */
void mend_send_ud(MEnd *a, uint32_t qkey);
/* An adapter full of work that nobody answers: RC with an SRQ, UC and UD, Reads,
 * inline data, requests not yet fetched; QPs ME_QPN to ME_QPN + 2. */
MEnd mend_busy(void);
/* The next CQE, or NULL. */
const uint8_t *mend_poll(MEnd *e);
/* Arm the CQ: 1 solicited, 2 next. */
void mend_arm(MEnd *e, uint8_t cmd);
/* A management datagram in the inbox, for MAD_IFC; its data begin at byte 64 of
 * what comes back. */
uint8_t *mend_mad(MGuest *g, uint8_t class, uint8_t method, uint16_t attr,
                  uint32_t mod);
/* The 64 bytes of PortInfo, in the outbox. */
uint8_t *mend_port_info(MGuest *g);

#endif
