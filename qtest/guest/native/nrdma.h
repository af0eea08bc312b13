/*
 * A small user-space driver for the RDMA engine of ncic-nic: one protection
 * domain, one region of data, one completion queue with an event queue, one
 * connected queue pair.  docs/specs/ncic-rdma.rst step by step.
 *
 * Calls print what went wrong to stderr and return false.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GUEST_NATIVE_NRDMA_H
#define GUEST_NATIVE_NRDMA_H

#include "../../lib/native_build.h"
#include "vfio.h"

/* The data region is the same at both ends: nothing has to be exchanged. */
#define NRDMA_VA    UINT64_C(0x7f0000001000)
#define NRDMA_DATA  0x100000u           /* bytes */
#define NRDMA_KEY   2u

typedef struct Nrdma {
    Vfio vfio;
    volatile uint8_t *csr, *uar;        /* BAR0, BAR2 */
    uint8_t *mem;                       /* what the engine sees at IOVA */
    uint8_t *data;                      /* NRDMA_DATA bytes at NRDMA_VA */
    int irq;                            /* eventfd */
    uint32_t qpn;
    uint32_t sq_head, rq_head, rq_tail, cq_tail, eq_tail;
    uint64_t interrupts, spins;
} Nrdma;

/* From the function to armed queues. */
bool nrdma_up(Nrdma *n, const char *bdf);
/* The queue pair @qpn to RTS, RC, towards @peer_qpn at IPv4 @dip. */
bool nrdma_connect(Nrdma *n, uint32_t qpn, uint32_t peer_qpn, uint32_t sip,
                   uint32_t dip);
/* @off is an offset into the data region, here and at the peer. */
void nrdma_post(Nrdma *n, uint8_t op, uint32_t off, uint32_t len,
                uint32_t peer_off, uint64_t swap_add, uint64_t compare);
void nrdma_recv(Nrdma *n, uint32_t off, uint32_t len);
/* The next completion: by polling, or by waiting for an interrupt. */
bool nrdma_poll(Nrdma *n, NrbCqe *c);
bool nrdma_wait(Nrdma *n, NrbCqe *c);
/* The next completion makes an event, the event an interrupt. */
void nrdma_arm(Nrdma *n);
/* There was an interrupt since nrdma_up(), or one comes. */
bool nrdma_interrupted(Nrdma *n);
/* QUERY_QP: the state, or -1. */
int nrdma_qp_state(Nrdma *n);
/* Everything off. */
bool nrdma_down(Nrdma *n);

#endif
