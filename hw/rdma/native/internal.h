/*
 * Native personality: its own structures.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_NATIVE_INTERNAL_H
#define RDMA_NATIVE_INTERNAL_H

#include <glib.h>

#include "core/bytes.h"
#include "rdma/native.h"
#include "rdma/res.h"

#define PAGE 4096u
#define DOORBELLS 65536u        /* queued, of all QPs */
#define LOG_EQ_MAX 22u          /* log2 of entries, of a CQ as well */

/* The five tables of ICM (digest C.1). */
typedef enum IcmTable {
    ICM_QPC, ICM_CQC, ICM_EQC, ICM_MPT, ICM_MTT, ICM_TABLES,
} IcmTable;

enum {
    ICM_QPC_PAGES = 0x400, ICM_CQC_PAGES = 0x100, ICM_EQC_PAGES = 1,
    ICM_MPT_PAGES = 0x200, ICM_MTT_PAGES = 0x200, ICM_PAGES_MAX = 0x400,
};

typedef struct Eq {
    bool exists;
    bool valid;                 /* MAP_EQ */
    bool armed;
    uint64_t start;
    uint8_t log;
    uint16_t vector;
    uint32_t pd, lkey;
    uint32_t pi;
    uint64_t mask;
} Eq;

/* Everything that migrates as it is: no pointers. */
typedef struct NativeState {
    uint32_t hcr[7];
    bool ready;                 /* between INIT_HCA and CLOSE_HCA */
    uint64_t base[ICM_TABLES];
    uint8_t log[ICM_TABLES];
    uint64_t map[ICM_TABLES][ICM_PAGES_MAX];    /* page address | 1 */
    Eq eq[1 << NR_LOG_EQS];
    uint32_t db_low;            /* first half of a split doorbell */
    bool db_latched;
} NativeState;

/* Queued doorbells form lists by index; 0 ends a list. */
typedef struct Doorbell {
    uint32_t next;
    uint64_t val;
} Doorbell;

struct NativeRdma {
    RdmaDev *dev;
    NativeConfig cfg;
    RdmaConfig rdma;
    const NativeOps *ops;
    NativeState s;
    GArray *db;                 /* of Doorbell, entry 0 unused */
    uint32_t db_free;
};

typedef struct NativeQp {
    uint8_t ctx[NR_QP_MBOX_BYTES];      /* as in the last mailbox */
    uint32_t sq_len, rq_len;            /* bytes */
    uint32_t sq_lkey, rq_lkey;
    uint32_t rq_slot;                   /* bytes */
    /* Indicator (RDMA §2.4.4): a chain of WQEs is unfinished. */
    bool chain;
    bool chain_fence;
    uint8_t chain_op;
    uint8_t chain_units;
    uint32_t chain_off;
    uint32_t db_head, db_tail;          /* queued doorbells */
    uint32_t rq_off, rq_block;
    uint32_t rq_lap;                    /* bytes flushed without a pause */
} NativeQp;

typedef struct NativeCq {
    uint32_t lkey, pd, eqn;
    uint8_t log;
    bool armed;
    bool failed;                        /* the last CQE found no place */
    uint32_t off;                       /* of the next CQE */
} NativeCq;

/* QP context and mailbox offsets (table 3-2-41). */
enum {
    QPC_FLAGS = 0x08, QPC_MTU = 0x0c, QPC_RQ_LOG = 0x0d, QPC_SQ_LOG = 0x0e,
    QPC_USR_PAGE = 0x10, QPC_LOCAL_QPN = 0x14, QPC_REMOTE_QPN = 0x18,
    QPC_PKEY = 0x1c, QPC_RNR_RETRY = 0x20, QPC_ACKTO = 0x24,
    QPC_HOP = 0x27, QPC_SL = 0x28, QPC_DGID = 0x2c, QPC_DLID = 0x3c,
    QPC_SLID = 0x3e, QPC_SMAC = 0x40, QPC_DMAC = 0x44, QPC_SIP = 0x48,
    QPC_DIP = 0x4c, QPC_PD = 0x5c, QPC_SQ_PSN = 0x6c, QPC_SEND_CQN = 0x70,
    QPC_SQ_LKEY = 0x74, QPC_SQ_LEN = 0x78, QPC_UAPSN = 0x7c,
    QPC_RNR_EPSN = 0x84, QPC_RECV_CQN = 0x8c, QPC_RQ_LKEY = 0x90,
    QPC_RQ_LEN = 0x94, QPC_QKEY = 0x98,
};

/* ---- icm.c ---- */
extern const uint32_t nicm_pages[ICM_TABLES];
/* Bus address of entry @index of a table with entries of @size; 0 unmapped. */
uint64_t nicm_addr(NativeRdma *n, IcmTable t, uint32_t index, uint32_t size);
bool nicm_read(NativeRdma *n, IcmTable t, uint32_t index, uint32_t size,
              uint32_t off, void *buf, uint32_t len);
bool nicm_write(NativeRdma *n, IcmTable t, uint32_t index, uint32_t size,
               uint32_t off, const void *buf, uint32_t len);
bool nicm_map_page(NativeRdma *n, unsigned region, uint64_t virt,
                  uint64_t phys);
bool nicm_unmap_page(NativeRdma *n, unsigned region, uint64_t virt);
void nicm_clear(NativeRdma *n);
static inline uint32_t nicm_count(NativeRdma *n, IcmTable t)
{
    return 1u << n->s.log[t];
}

/* ---- ceu.c ---- */
typedef struct NativeCmd {
    uint8_t in[NR_MAILBOX_BYTES];
    uint8_t out[NR_QP_MBOX_BYTES];
    uint64_t in_param;
    uint32_t in_mod;
    uint8_t op_mod;
    uint16_t op;
    uint32_t in_len;
} NativeCmd;
void native_rule(NativeRdma *n, const char *rule, const char *text,
                 uint32_t number);

/* ---- cmd-qp.c ---- */
uint8_t native_modify_qp(NativeRdma *n, NativeCmd *c);
uint8_t native_query_qp(NativeRdma *n, NativeCmd *c);
void native_qp_changed(void *p, RdmaQp *qp);
static inline uint32_t native_qpn(NativeRdma *n, uint32_t qpn)
{
    return qpn & (nicm_count(n, ICM_QPC) - 1);
}

/* ---- cmd-tpt.c ---- */
uint8_t native_sw2hw_mpt(NativeRdma *n, NativeCmd *c);
uint8_t native_hw2sw_mpt(NativeRdma *n, NativeCmd *c);
uint8_t native_write_mtt(NativeRdma *n, NativeCmd *c);
uint32_t native_key_index(void *p, uint32_t key);
bool native_mtt_read(void *p, const RdmaMr *mr, uint64_t first, unsigned num,
                     uint64_t *phys);

/* ---- queue.c: WQEs and doorbells ---- */
RdmaFetch native_fetch_send(void *p, RdmaQp *qp, RdmaWqe *w);
RdmaFetch native_fetch_recv(void *p, RdmaQp *qp, RdmaRecvWqe *w);
void native_doorbell(NativeRdma *n, uint32_t uar_page, uint64_t val);
void native_db_clear(NativeRdma *n, NativeQp *q);

/* ---- cq.c: completions and events ---- */
uint8_t native_sw2hw_cq(NativeRdma *n, NativeCmd *c);
uint8_t native_hw2sw_cq(NativeRdma *n, NativeCmd *c);
uint8_t native_resize_cq(NativeRdma *n, NativeCmd *c);
uint8_t native_sw2hw_eq(NativeRdma *n, NativeCmd *c);
uint8_t native_hw2sw_eq(NativeRdma *n, NativeCmd *c);
uint8_t native_map_eq(NativeRdma *n, NativeCmd *c);
bool native_write_cqe(void *p, RdmaCq *cq, const RdmaCqe *cqe);
void native_event(void *p, RdmaEvent ev, uint32_t number);
void native_arm_cq(NativeRdma *n, uint32_t cqn);
void native_arm_eq(NativeRdma *n, uint32_t eqn);

#endif
