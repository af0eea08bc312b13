/*
 * ncic-mthca: what the files of the personality share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef MTHCA_INTERNAL_H
#define MTHCA_INTERNAL_H

#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "rdma/mthca.h"
#include "rdma/objects.h"

#include "icm.h"

/* Life of the function: what the driver has set up so far. */
typedef enum MthcaHcaState {
    MTHCA_HCA_RESET,        /* after reset: only firmware commands */
    MTHCA_HCA_FW,           /* RUN_FW done */
    MTHCA_HCA_UP,           /* INIT_HCA done */
} MthcaHcaState;

/* IB port states and physical states (PortInfo). */
enum { PORT_DOWN = 1, PORT_INIT, PORT_ARMED, PORT_ACTIVE };
enum { PHYS_POLLING = 2, PHYS_DISABLED, PHYS_TRAINING, PHYS_LINKUP };

/* Event queue context states. */
enum { EQ_ARMED = 9, EQ_FIRED = 0xa, EQ_ALWAYS_ARMED = 0xb };

typedef struct MthcaEq {
    bool valid;
    bool translate;         /* start is virtual: through lkey */
    bool overflow;
    uint8_t state;
    uint8_t log_size;
    uint8_t intr;
    uint64_t start;
    uint32_t pd, lkey;
    uint32_t pi, ci;
} MthcaEq;

/* Private areas of the transport core's objects: no pointers in them. */
typedef struct MthcaCq {
    uint8_t ctx[0x40];      /* as given by SW2HW_CQ */
    uint64_t start;
    uint32_t lkey, pd, uar;
    uint32_t comp_eqn;
    uint32_t ci_db, arm_db;
    uint32_t pi, ci;        /* full counters */
    uint32_t solicit_pi;    /* pi behind the last solicited CQE */
    uint32_t refs;          /* QPs that use it */
    uint8_t log_size;
    uint8_t armed;          /* 0, or the command of the arm doorbell */
    bool overrun;
} MthcaCq;

#define MTHCA_QP_DOORBELLS 16
/* WQEs that one of them may stand for. */
#define MTHCA_DOORBELL_MAX (1u << MTHCA_LOG_MAX_WQES)

typedef struct MthcaDoorbell {
    uint16_t head;          /* index of the first WQE */
    uint16_t count;         /* WQEs not yet fetched */
    uint8_t op;
    uint8_t size;           /* 16-byte units */
    bool fence;
} MthcaDoorbell;

typedef struct MthcaQp {
    uint8_t ctx[MTHCA_QPC_SIZE];
    MthcaDoorbell db[MTHCA_QP_DOORBELLS];
    uint16_t db_first, db_num;
    uint16_t sq_next;       /* index behind the last WQE announced */
    uint8_t special;        /* 0: no, 1: QP0, 2: QP1 */
    uint16_t rq_tail;       /* receive WQEs taken */
    uint16_t rq_head;       /* doorbell record as last read */
} MthcaQp;

typedef struct MthcaSrq {
    uint8_t ctx[0x40];
    uint64_t wqe_base;
    uint32_t lkey, pd, uar, db;
    uint32_t next;          /* offset of the next WQE */
    uint32_t refs;
    uint16_t tail, head;
    uint16_t limit;
    uint8_t log_size, log_stride;
    bool error;
} MthcaSrq;

/* A WQE: its first segment, and all of it (log2 of a stride is 4 to 11). */
enum { MTHCA_WQE_NEXT = 16, MTHCA_WQE_MAX = 2048, MTHCA_LOG_STRIDE_MIN = 4,
       MTHCA_LOG_STRIDE_MAX = 11 };

#define MTHCA_MPT_BYTES 0x40

typedef struct MthcaPort {
    uint8_t info[64];       /* PortInfo as the subnet manager sees it */
    uint8_t guid[MTHCA_MAX_GIDS][8];
    uint16_t pkey[MTHCA_MAX_PKEYS];
    uint8_t sl2vl[8];
    uint8_t vlarb[4][64];
    uint8_t node_desc[64];
    bool up;                /* INIT_IB done */
    bool link;              /* the wire is there */
    /* Violations of P_Key and Q_Key that PortInfo has counted. */
    uint64_t pkey_seen, qkey_seen;
    RdmaCounters base;      /* PMA counters count from here */
} MthcaPort;

typedef struct MthcaCmd MthcaCmd;

/* One row of the command table. */
typedef struct MthcaCmdDesc {
    uint16_t op;
    const char *name;
    uint16_t in_size;       /* bytes read from the inbox */
    uint16_t out_size;      /* bytes written to the outbox */
    MthcaHcaState need;     /* least state of the function */
    uint8_t flags;          /* CMD_* */
    uint8_t (*fn)(Mthca *m, MthcaCmd *c);
} MthcaCmdDesc;

enum {
    CMD_OUT_OPT = 1 << 0,   /* op_mod says whether there is an outbox */
    CMD_PORT = 1 << 1,      /* in_mod & 0xff is a port number */
    CMD_IN_OPT = 1 << 2,    /* in_param 0 = no inbox */
};

struct MthcaCmd {
    const MthcaCmdDesc *d;
    uint64_t in_param, out_param;
    uint32_t mod;
    uint16_t op;
    uint8_t op_mod;
    uint64_t imm;           /* immediate result */
    uint8_t in[MTHCA_MAILBOX_SIZE];
    uint8_t out[MTHCA_MAILBOX_SIZE];
};

struct Mthca {
    MthcaConfig cfg;
    RdmaDev *rdma;
    MthcaCounters counters;

    uint32_t hcr[7];
    MthcaHcaState state;
    uint32_t catas[MTHCA_CATAS_DWORDS];
    bool intx;

    /* INIT_HCA */
    uint8_t log_qps, log_srqs, log_cqs, log_eqs, log_mpts;
    uint8_t log_uarc;       /* log2 bytes of one UAR's doorbell records */
    uint8_t log_uars;
    uint8_t log_mgm_size, log_mgms;
    uint32_t mgm_hash;
    uint64_t mtt_base, uarc_base, mgm_base;
    bool sinai;             /* key rotation of the Sinai throughput option */

    Icm icm;
    MthcaEq eq[1 << MTHCA_LOG_MAX_EQ];
    uint8_t event_eq[64];   /* EQ of each event type, 0xff = none */
    uint8_t (**mpt)[MTHCA_MPT_BYTES];   /* sparse: raw entries */
    uint8_t **mgm;          /* sparse: raw entries */
    uint32_t special_qpn[2];
    bool special_set[2];
    uint32_t uar_latch;     /* high half of a split doorbell */
    uint32_t uar_latch_addr;
    bool uar_latched;
    MthcaPort port;

    MthcaCmd cmd;
};

/* mem.c: what all others stand on */
bool mthca_dma_read(Mthca *m, uint64_t addr, void *buf, size_t len);
bool mthca_dma_write(Mthca *m, uint64_t addr, const void *buf, size_t len);
bool mthca_icm_read(Mthca *m, uint64_t virt, void *buf, size_t len);
/* First dword of doorbell record @index of UAR @uar; false: not mapped. */
bool mthca_db_record(Mthca *m, uint32_t uar, uint32_t index, uint32_t *val);
/* Tell of a broken rule: @rule names it, @text says how, @number of what. */
void mthca_rule(Mthca *m, uint32_t number, const char *rule,
                const char *text);

/* cmd.c */
void mthca_cmd_run(Mthca *m);

/* cmd-hca.c: function, firmware, ICM and port commands */
/* Forget all contexts (INIT_HCA, CLOSE_HCA, reset). */
void mthca_drop_contexts(Mthca *m);
uint8_t mthca_query_dev_lim(Mthca *m, MthcaCmd *c);
uint8_t mthca_query_fw(Mthca *m, MthcaCmd *c);
uint8_t mthca_query_adapter(Mthca *m, MthcaCmd *c);
uint8_t mthca_init_hca(Mthca *m, MthcaCmd *c);
uint8_t mthca_query_hca(Mthca *m, MthcaCmd *c);
uint8_t mthca_close_hca(Mthca *m, MthcaCmd *c);
uint8_t mthca_enable_lam(Mthca *m, MthcaCmd *c);
uint8_t mthca_run_fw(Mthca *m, MthcaCmd *c);
uint8_t mthca_unmap_fa(Mthca *m, MthcaCmd *c);
uint8_t mthca_set_icm_size(Mthca *m, MthcaCmd *c);
uint8_t mthca_map_aux(Mthca *m, MthcaCmd *c);
uint8_t mthca_map_icm(Mthca *m, MthcaCmd *c);
uint8_t mthca_unmap_icm(Mthca *m, MthcaCmd *c);
uint8_t mthca_nop(Mthca *m, MthcaCmd *c);
uint8_t mthca_init_ib(Mthca *m, MthcaCmd *c);
uint8_t mthca_close_ib(Mthca *m, MthcaCmd *c);
uint8_t mthca_set_ib(Mthca *m, MthcaCmd *c);

/* cmd-mr.c: memory protection and translation */
uint32_t mthca_key_index(void *p, uint32_t key);
bool mthca_mtt_read(void *p, const RdmaMr *mr, uint64_t first, unsigned n,
                    uint64_t *phys);
uint8_t mthca_sw2hw_mpt(Mthca *m, MthcaCmd *c);
uint8_t mthca_query_mpt(Mthca *m, MthcaCmd *c);
uint8_t mthca_hw2sw_mpt(Mthca *m, MthcaCmd *c);
uint8_t mthca_read_mtt(Mthca *m, MthcaCmd *c);
uint8_t mthca_write_mtt(Mthca *m, MthcaCmd *c);

/* eq.c */
uint8_t mthca_map_eq(Mthca *m, MthcaCmd *c);
uint8_t mthca_sw2hw_eq(Mthca *m, MthcaCmd *c);
uint8_t mthca_hw2sw_eq(Mthca *m, MthcaCmd *c);
uint8_t mthca_query_eq(Mthca *m, MthcaCmd *c);
/* EQs @first + n of each bit n of @mask. */
void mthca_eq_arm(Mthca *m, uint32_t first, uint32_t mask);
void mthca_eq_set_ci(Mthca *m, uint32_t eqn, uint32_t ci);
void mthca_intx_clear(Mthca *m);
/* Post to EQ @eqn; @data is bytes 4..0x1b of the entry. */
void mthca_eqe_post(Mthca *m, uint32_t eqn, uint8_t type, uint8_t subtype,
                    const uint8_t data[24]);
/* Post to the EQ that MAP_EQ chose for @type. */
void mthca_event_post(Mthca *m, uint8_t type, uint8_t subtype,
                      const uint8_t data[24]);
void mthca_event_number(void *p, RdmaEvent ev, uint32_t number);
void mthca_event_port(Mthca *m, bool active);

/* cq.c */
uint8_t mthca_sw2hw_cq(Mthca *m, MthcaCmd *c);
uint8_t mthca_hw2sw_cq(Mthca *m, MthcaCmd *c);
uint8_t mthca_query_cq(Mthca *m, MthcaCmd *c);
uint8_t mthca_resize_cq(Mthca *m, MthcaCmd *c);
/* Of UAR page @uar. */
void mthca_cq_arm(Mthca *m, uint32_t uar, uint32_t hi, uint32_t ci);
bool mthca_write_cqe(void *p, RdmaCq *cq, const RdmaCqe *cqe);

/* cmd-qp.c */
/* Count a QP among the users of its queues (@n 1 or -1); false, and nothing
 * is counted, if one of them does not exist. */
bool mthca_qp_refs(Mthca *m, const RdmaQpAttr *a, int n);
/* Whether its queues are within the limits. */
bool mthca_qp_sizes_ok(const MthcaQp *q);
uint8_t mthca_modify_qp(Mthca *m, MthcaCmd *c);
uint8_t mthca_reset_qp(Mthca *m, MthcaCmd *c);
uint8_t mthca_query_qp(Mthca *m, MthcaCmd *c);
uint8_t mthca_conf_special_qp(Mthca *m, MthcaCmd *c);

/* srq.c */
uint8_t mthca_sw2hw_srq(Mthca *m, MthcaCmd *c);
uint8_t mthca_hw2sw_srq(Mthca *m, MthcaCmd *c);
uint8_t mthca_query_srq(Mthca *m, MthcaCmd *c);
uint8_t mthca_arm_srq(Mthca *m, MthcaCmd *c);
/* Decode the scatter list in the receive WQE @buf of @len bytes. */
void mthca_recv_decode(const uint8_t *buf, uint32_t len, RdmaRecvWqe *wqe);
RdmaFetch mthca_srq_fetch(Mthca *m, RdmaSrq *srq, RdmaRecvWqe *wqe);

/* wqe.c */
/* Of UAR page @uar, as its two words. */
void mthca_sq_doorbell(Mthca *m, uint32_t uar, uint32_t hi, uint32_t lo);
RdmaFetch mthca_fetch_send(void *p, RdmaQp *qp, RdmaWqe *wqe);
RdmaFetch mthca_fetch_recv(void *p, RdmaQp *qp, RdmaRecvWqe *wqe);

/* mgm.c */
uint8_t mthca_mgid_hash(Mthca *m, MthcaCmd *c);
uint8_t mthca_read_mgm(Mthca *m, MthcaCmd *c);
uint8_t mthca_write_mgm(Mthca *m, MthcaCmd *c);

/* port.c */
void mthca_port_reset(Mthca *m);
/* Bring the transport core's port in line with @m->port. */
void mthca_port_apply(Mthca *m);
void mthca_port_state_set(Mthca *m, uint8_t state, uint8_t phys);
void mthca_port_up(Mthca *m);
void mthca_port_down(Mthca *m);
/* Bring the violation counters of PortInfo up to date. */
void mthca_port_violations(Mthca *m);

/* state.c: what each object adds to the image of the transport core */
void mthca_qp_image(void *p, RdmaQp *qp, CoreImage *im);
void mthca_cq_image(void *p, RdmaCq *cq, CoreImage *im);
void mthca_srq_image(void *p, RdmaSrq *srq, CoreImage *im);

/* mad.c */
uint8_t mthca_mad_ifc(Mthca *m, MthcaCmd *c);

#endif
