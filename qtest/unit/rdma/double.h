/*
 * Test double: an engine with a personality that keeps its queues in plain
 * arrays, and a wire that is a list of frames.
 *
 * Guest memory is one array; the bus address of its byte n is MEM_BUS + n.
 * The pages of a region are the pages from that address on, in reverse order
 * of pairs, so that a wrong walk is seen.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_RDMA_DOUBLE_H
#define QTEST_RDMA_DOUBLE_H

#include <glib.h>

#include "rdma/fault.h"
#include "rdma/objects.h"
#include "rdma/roce.h"

#define MEM_BUS   UINT64_C(0x100000000)
#define MEM_SIZE  (8u << 20)
#define D_QUEUE   1024

typedef struct DQueue {
    RdmaWqe *send;              /* D_QUEUE posted WQEs */
    RdmaRecvWqe *recv;
    uint32_t send_head, send_tail, recv_head, recv_tail;
} DQueue;

typedef struct Double {
    RdmaDev *dev;
    RdmaConfig cfg;
    uint8_t *mem;
    uint64_t mtt[64];           /* first page frame of each region */
    DQueue q[16];               /* by QPN & 15 */
    DQueue srq;
    GArray *cqes;               /* of RdmaCqe */
    GArray *events;             /* of uint32_t: event << 24 | number */
    GPtrArray *wire;            /* of GBytes, sent and not taken yet */
    unsigned wire_room;         /* with so many on it the wire stops; 0: never */
    bool cq_full, bad_sq, bad_rq, revoked;
    bool maps;                  /* atomics find the memory itself: odd engines */
    int mapped;
    size_t map_asked;           /* bytes, the last time */
    struct Double *peer;
    uint64_t rules;
    unsigned changes;           /* of a QP's state by the engine */
    unsigned kicks;             /* calls for a poll */
    GArray *moves;              /* of uint8_t: states of QPs, from << 4 | to */
    unsigned packets[2];        /* traced: received, sent; the last one: */
    uint32_t packet[4];         /* opcode, destination QP, PSN, payload */
} Double;

/* @n numbers the engine: MAC 02:..:n, IP 10.0.0.n, LID n. */
Double *double_new(unsigned n, void (*tweak)(RdmaConfig *cfg));
void double_free(Double *d);

/*
 * Region @index covers @len bytes from memory offset @off (a multiple of 4096
 * plus the low bits of @va); key = index << 8 | 0x5a, PD 7.
 */
uint32_t double_mr(Double *d, unsigned index, uint64_t va, uint32_t off,
                   uint32_t len, uint32_t access);
/* Host pointer to byte @va of region @index. */
uint8_t *double_ptr(Double *d, unsigned index, uint64_t va);

/* A QP in state RTS towards @dqpn of engine @peer_n; CQ 1, PD 7. */
RdmaQp *double_qp(Double *d, uint32_t qpn, RdmaService service,
                  unsigned peer_n, uint32_t dqpn, uint32_t sq_psn,
                  uint32_t rq_psn, unsigned mtu_code);

/* Post; the WQE is copied.  Ids count from 0 for each queue. */
void double_send(Double *d, RdmaQp *qp, const RdmaWqe *w);
void double_recv(Double *d, RdmaQp *qp, uint64_t addr, uint32_t len,
                 uint32_t key);
/* A signaled WQE with one segment (none if @len is 0). */
RdmaWqe double_wqe(RdmaOpcode op, uint64_t addr, uint32_t len, uint32_t key);

/* Poll until the engine has nothing to do at @now; the next deadline. */
int64_t double_poll(Double *d, int64_t now);
/* Move all frames both ways and poll until quiet at @now. */
void double_exchange(Double *a, Double *b, int64_t now);

/* Take the oldest frame off the wire; NULL = none.  Free with g_bytes_unref. */
GBytes *double_take(Double *d);
/* The BTH of a RoCE frame. */
const uint8_t *frame_bth(GBytes *f);

/*
 * A complete frame from engine @from to engine @to with @ext behind the BTH
 * (extension headers and payload together, multiple of 4).
 */
GBytes *frame_make(unsigned from, unsigned to, uint8_t opcode, bool ackreq,
                   uint32_t dqpn, uint32_t psn, const void *ext,
                   size_t ext_len);

/* Oldest completion, removed; fails the test if there is none. */
RdmaCqe double_cqe(Double *d);

#endif
