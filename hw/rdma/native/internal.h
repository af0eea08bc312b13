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
#include "rdma/objects.h"

#define PAGE 4096u
#define LOG_EQ_MAX 22u          /* log2 of entries, of a CQ as well */

/* The five tables of ICM. */
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

typedef struct NativeState {
    uint32_t hcr[7];
    bool ready;                 /* between INIT_HCA and CLOSE_HCA */
    uint64_t base[ICM_TABLES];
    uint8_t log[ICM_TABLES];
    uint64_t map[ICM_TABLES][ICM_PAGES_MAX];    /* page address | 1 */
    Eq eq[1 << NR_LOG_EQS];
    uint32_t db_low;            /* first half of a split doorbell */
    uint32_t db_page;           /* the page that it was written to */
    bool db_latched;
} NativeState;

/*
 * Doorbells wait in a list for each QP; entries come from one pool and are
 * named by their index, 0 ends a list.  Each QP may have DB_OWN of them, and
 * up to DB_MOST while no more than DB_SHARED are used beyond that by all.
 */
enum { DB_OWN = 64, DB_MOST = 1 << NR_LOG_QUEUE, DB_SHARED = 65536 };

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
    uint32_t db_shared;         /* beyond DB_OWN of their QPs */
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
    uint32_t db_num;
    uint32_t rq_off, rq_block;
    uint32_t rq_lap;                    /* bytes flushed without a pause */
} NativeQp;

typedef struct NativeCq {
    uint32_t lkey, pd, eqn;
    uint32_t uar;                       /* page that may arm it */
    uint8_t log;
    bool armed;
    bool failed;                        /* the last CQE found no place */
    uint32_t off;                       /* of the next CQE */
} NativeCq;

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

/* ---- mem.c: what all others stand on ---- */
bool native_dma_read(NativeRdma *n, uint64_t addr, void *buf, size_t len);
bool native_dma_write(NativeRdma *n, uint64_t addr, const void *buf,
                      size_t len);
/* Tell of a broken rule: @rule names it, @text says how, @number of what. */
void native_rule(NativeRdma *n, uint32_t number, const char *rule,
                 const char *text);

/* ---- cmd.c: table of commands, dispatcher ---- */
typedef struct NativeCmd {
    uint8_t in[NR_MAILBOX_BYTES];
    uint8_t out[NR_QP_MBOX_BYTES];
    uint64_t in_param;
    uint32_t in_mod;
    uint8_t op_mod;
    uint16_t op;
    uint32_t in_len;
} NativeCmd;
/* Carry out @c, of which op, op_mod, in_mod, in_param are filled in. */
uint8_t native_cmd_run(NativeRdma *n, NativeCmd *c, uint64_t out_param);

/* ---- cmd-hca.c ---- */
/* All objects and what waits for them; ICM stays. */
void native_drop_objects(NativeRdma *n);
uint8_t native_query_dev_lim(NativeRdma *n, NativeCmd *c);
uint8_t native_query_adapter(NativeRdma *n, NativeCmd *c);
uint8_t native_mad_ifc(NativeRdma *n, NativeCmd *c);
uint8_t native_nop(NativeRdma *n, NativeCmd *c);
uint8_t native_init_hca(NativeRdma *n, NativeCmd *c);
uint8_t native_close_hca(NativeRdma *n, NativeCmd *c);
uint8_t native_map_icm(NativeRdma *n, NativeCmd *c);
uint8_t native_unmap_icm(NativeRdma *n, NativeCmd *c);

/* ---- cmd-qp.c ---- */
uint8_t native_modify_qp(NativeRdma *n, NativeCmd *c);
uint8_t native_query_qp(NativeRdma *n, NativeCmd *c);
/* Take what the engine needs of the queues out of the context. */
void native_take_queues(NativeQp *q);
void native_qp_changed(void *p, RdmaQp *qp);
static inline uint32_t native_qpn(NativeRdma *n, uint32_t qpn)
{
    return qpn & (nicm_count(n, ICM_QPC) - 1);
}

/* ---- cmd-mr.c ---- */
uint8_t native_sw2hw_mpt(NativeRdma *n, NativeCmd *c);
uint8_t native_hw2sw_mpt(NativeRdma *n, NativeCmd *c);
uint8_t native_write_mtt(NativeRdma *n, NativeCmd *c);
uint32_t native_key_index(void *p, uint32_t key);
bool native_mtt_read(void *p, const RdmaMr *mr, uint64_t first, unsigned num,
                     uint64_t *phys);

/* ---- wqe.c: doorbells and WQEs ---- */
RdmaFetch native_fetch_send(void *p, RdmaQp *qp, RdmaWqe *w);
RdmaFetch native_fetch_recv(void *p, RdmaQp *qp, RdmaRecvWqe *w);
void native_doorbell(NativeRdma *n, uint32_t uar_page, uint64_t val);
void native_db_clear(NativeRdma *n, NativeQp *q);
/* False: too many. */
bool native_db_push(NativeRdma *n, NativeQp *q, uint64_t val);
/* Call @fn for each doorbell of @q, oldest first. */
void native_db_foreach(NativeRdma *n, const NativeQp *q,
                       void (*fn)(void *opaque, uint64_t val), void *opaque);

/* ---- eq.c: events and interrupts ---- */
uint8_t native_sw2hw_eq(NativeRdma *n, NativeCmd *c);
uint8_t native_hw2sw_eq(NativeRdma *n, NativeCmd *c);
uint8_t native_map_eq(NativeRdma *n, NativeCmd *c);
/* Event @type about @number to one EQ. */
void native_post_event(NativeRdma *n, uint32_t eqn, uint8_t type,
                       uint32_t number);
/* To all EQs whose mask has it. */
void native_event(void *p, RdmaEvent ev, uint32_t number);
void native_arm_eq(NativeRdma *n, uint32_t eqn);

/* ---- cq.c ---- */
uint8_t native_sw2hw_cq(NativeRdma *n, NativeCmd *c);
uint8_t native_hw2sw_cq(NativeRdma *n, NativeCmd *c);
uint8_t native_resize_cq(NativeRdma *n, NativeCmd *c);
bool native_write_cqe(void *p, RdmaCq *cq, const RdmaCqe *cqe);
void native_arm_cq(NativeRdma *n, uint32_t uar_page, uint32_t cqn);

/* ---- state.c: what each object adds to the image of the engine ---- */
void native_qp_image(void *p, RdmaQp *qp, CoreImage *im);
void native_cq_image(void *p, RdmaCq *cq, CoreImage *im);

#endif
