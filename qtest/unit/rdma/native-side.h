/*
 * A guest with the native RDMA interface: memory, a wire, interrupts, and what
 * a driver does with its registers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_NATIVE_SIDE_H
#define QTEST_NATIVE_SIDE_H

#include <glib.h>

#include "core/bytes.h"
#include "rdma/native.h"
#include "../../lib/native_build.h"

/* Guest memory: bus addresses [BUS, BUS + SIZE). */
#define BUS      UINT64_C(0x123400000)
#define MEM_SIZE 0x400000u

/* Layout of guest memory, offsets. */
enum {
    IN_MBOX = 0x1000, OUT_MBOX = 0x2000,
    ICM = 0x100000,             /* QPC 16 pages, CQC, EQC, MPT, MTT */
    SQ = 0x200000, RQ = 0x204000, CQB = 0x208000, EQB = 0x20c000,
    DATA = 0x210000, DATA2 = 0x220000, QUEUE_LEN = 0x1000,
};

/* ICM virtual addresses. */
#define QPC_BASE UINT64_C(0x0)
#define CQC_BASE UINT64_C(0x400000)
#define EQC_BASE UINT64_C(0x600000)
#define MPT_BASE UINT64_C(0x700000)
#define MTT_BASE UINT64_C(0x900000)

enum { PD = 3, QPN = 5, CQN = 2, EQN = 1, VECTOR = 9,
       MR_SQ = 1, MR_RQ, MR_CQ, MR_DATA, MR_EQ };
#define VA UINT64_C(0x7f0000001000)     /* of the data region */

typedef struct Side {
    NativeRdma *n;
    uint8_t *mem;
    GPtrArray *wire;
    GArray *msix;
    uint64_t rules;
    uint32_t cq_tail, sq_head, sq_prev, rq_head;
    int64_t now;
} Side;

typedef struct Wqe {
    uint8_t b[512];
    uint32_t len;
} Wqe;

/* Engine @num, 1 or 2, with settings that @tweak changes (or NULL). */
Side *side_new(unsigned num, void (*tweak)(NativeConfig *cfg));
void side_free(Side *s);
/* A new engine with default settings beside the same memory. */
void side_renew(Side *s);

/* ---- commands ---- */

/* A command; its status is in bits 31:24 of what comes back. */
uint32_t side_hcr(Side *s, uint64_t in, uint32_t mod, uint64_t out,
                  uint16_t op, uint8_t op_mod);
/* The inbox, zeroed. */
uint8_t *side_mbox(Side *s);
/* Status of a command with the prepared mailbox. */
unsigned side_cmd(Side *s, uint16_t op, uint32_t mod, uint8_t op_mod);
/* Status of a query; its answer is in the outbox, ee where it wrote nothing. */
unsigned side_query(Side *s, uint16_t op, uint32_t mod);
/* INIT_HCA with the tables above. */
void side_init_hca(Side *s);
/* MAP_ICM of @pages at offset @off; status. */
unsigned side_map(Side *s, unsigned region, uint64_t virt, uint32_t off,
                  uint32_t pages);
/* WRITE_MTT of entries @first on for memory at @off; status. */
unsigned side_mtt(Side *s, uint64_t first, uint32_t off, uint32_t pages);
/* SW2HW_MPT with flags beside those always set; status. */
unsigned side_mpt(Side *s, uint32_t index, uint32_t flags, uint64_t start,
                  uint64_t len, uint64_t first_mtt);
/* Both: region @index of @len bytes at offset @off. */
void side_region(Side *s, uint32_t index, uint32_t flags, uint64_t start,
                 uint32_t off, uint32_t len);
/* SW2HW_CQ of 2^@log entries; status. */
unsigned side_cq(Side *s, uint32_t cqn, uint8_t log);
/* The context of the QP of engine @num towards the other one. */
uint8_t *side_qp_mbox(Side *s, unsigned num, uint8_t service);
/* RST2INIT, INIT2RTR, RTR2RTS. */
void side_qp_up(Side *s, unsigned num, uint8_t service);
/* Everything up to a QP in RTS. */
Side *side_up(unsigned num, uint8_t service,
              void (*tweak)(NativeConfig *cfg));
/* Event queue EQN of 8 entries, armed, mapped to all events. */
void side_eq(Side *s, uint64_t start, uint32_t lkey);

/* ---- queues, as a driver sees them ---- */

/* A send WQE: its next unit, and units for local data in MR_DATA and for a
 * remote address; then side_post(). */
Wqe wqe_begin(uint32_t imm);
uint8_t *wqe_unit(Wqe *w, uint32_t bytes);
void wqe_data(Wqe *w, uint64_t va, uint32_t len);
void wqe_raddr(Wqe *w, uint64_t va);
/* Bytes into a ring of QUEUE_LEN at offset @ring. */
void side_copy(Side *s, uint32_t ring, uint32_t off, const uint8_t *p,
               uint32_t len);
/* The send doorbell. */
void side_ring(Side *s, uint32_t off, uint32_t len, uint8_t op);
/* Post one WQE in the next slot and ring. */
void side_post(Side *s, Wqe *w, uint8_t op);
/* Post a receive WQE of one buffer. */
void side_recv(Side *s, uint64_t va, uint32_t len);
/* The next CQE, checked and given back; NULL = none. */
const uint8_t *side_cqe(Side *s);
/* Both engines work and exchange frames until all is quiet. */
void side_run(Side *a, Side *b);
/* Host view of an address in the data region; a pattern there. */
uint8_t *side_ptr(Side *s, uint64_t va);
void side_fill(Side *s, uint64_t va, uint32_t len, uint8_t seed);
/* The next CQE is that of a Send @op of @len bytes at @off of the queue. */
void side_expect_send(Side *s, uint8_t op, uint32_t off, uint32_t len);
/* Poll until there is nothing to do now; false: it does not come to that. */
bool side_settles(Side *s);
/* Engine 1, full of work that nobody answers: QPs QPN to QPN + 2, one of each
 * service, a chain of requests, inline data, doorbells not yet served. */
Side *side_busy(void);

#endif
