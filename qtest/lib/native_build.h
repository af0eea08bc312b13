/*
 * NCIC native RDMA interface: what a driver puts into the command registers,
 * mailboxes, queues and doorbells, and takes out of completions.  For drivers
 * and tests: no state, no allocation, libc only.  Sources: interface document
 * V1.3-b (tables named below), docs/specs/ncic-rdma.rst.
 *
 * Mailboxes (NR_MAILBOX_BYTES) and queue slots are the caller's, zeroed before
 * a builder fills them.  Byte order is the interface's: mailboxes big-endian,
 * queues little-endian.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_NATIVE_BUILD_H
#define RDMA_NATIVE_BUILD_H

#include <stdbool.h>

#include "core/bytes.h"
#include "rdma/native_hw.h"

/* ---- commands ---- */

/* 32-bit registers of the HCR */
#define NRB_HCR (NRH_CMD / 4 + 1)

/*
 * Command @op (NRC_*) as the values of the HCR's registers (table 3-1-3), in
 * host byte order: hcr[i] is for the 32-bit register at NCIC_HCR + 4 * i; write
 * them from 0 up.  The last one has NRH_GO and starts the command: by then the
 * adapter must be able to see the mailbox.  @in and @out are bus addresses of
 * mailboxes, or what the command takes in their place; @mod is the in_modifier,
 * @op_mod the 8 bits of the op_modifier.  The token is ffff.
 */
static inline void nrb_command(uint32_t hcr[NRB_HCR], uint16_t op,
                               uint64_t in, uint32_t mod, uint64_t out,
                               uint8_t op_mod)
{
    hcr[NRH_IN_PARAM_H / 4] = in >> 32;
    hcr[NRH_IN_PARAM_L / 4] = in;
    hcr[NRH_IN_MODIFIER / 4] = mod;
    hcr[NRH_OUT_PARAM_H / 4] = out >> 32;
    hcr[NRH_OUT_PARAM_L / 4] = out;
    hcr[NRH_TOKEN / 4] = 0xffff0000;
    hcr[NRH_CMD / 4] = NRH_GO | (uint32_t)op_mod << NRH_OPMOD_SHIFT | op;
}

/* ---- mailboxes ---- */

/* Bases of the tables in the adapter's address space (table 3-2-8), 4 KiB
 * aligned; the largest number of entries each. */
typedef struct NrbTables {
    uint64_t qpc, cqc, eqc, mpt, mtt;
} NrbTables;

static inline void nrb_init_hca(uint8_t *m, const NrbTables *t)
{
    put_be64(m + NR_INIT_QPC, t->qpc | NR_LOG_QPS);
    put_be64(m + NR_INIT_CQC, t->cqc | NR_LOG_CQS);
    put_be64(m + NR_INIT_EQC, t->eqc | NR_LOG_EQS);
    put_be64(m + NR_INIT_MPT, t->mpt | NR_LOG_MPTS);
    put_be64(m + NR_INIT_MTT, t->mtt);
}

/* Entry @i of MAP_ICM: @pages pages of 4 KiB at bus address @addr appear at
 * ICM address @virt.  Entries are swapped in pairs. */
static inline void nrb_map_icm(uint8_t *m, unsigned i, uint64_t virt,
                               uint64_t addr, uint32_t pages)
{
    uint8_t *e = m + (i ^ 1) * NR_MAP_ENTRY;

    put_be64(e + NR_MAP_VIRT, virt);
    put_be64(e + NR_MAP_PAGE, addr | pages);
}

/* WRITE_MTT: index of the first entry, then entry @i of it (groups of four
 * are stored backwards). */
static inline void nrb_mtt_first(uint8_t *m, uint64_t index)
{
    put_be64(m + NR_MTT_START, index);
}

static inline void nrb_mtt_page(uint8_t *m, unsigned i, uint64_t addr)
{
    put_be64(m + NR_MTT_LIST + (i / 4 * 4 + 3 - i % 4) * 8, addr);
}

/* A region (table 3-2-17). */
typedef struct NrbRegion {
    uint32_t flags;             /* NRM_* */
    uint32_t key;               /* its index, plus anything above */
    uint32_t pd;
    uint64_t start, length;     /* as WQEs and peers address it */
    uint64_t mtt;               /* index of its first page */
} NrbRegion;

static inline void nrb_region(uint8_t *m, const NrbRegion *r)
{
    put_be32(m + NR_MPT_FLAGS, 0xf0000100 | r->flags);
    put_be32(m + NR_MPT_PAGE_SIZE, 4096);
    put_be32(m + NR_MPT_KEY, r->key);
    put_be32(m + NR_MPT_PD, r->pd);
    put_be64(m + NR_MPT_START, r->start);
    put_be64(m + NR_MPT_LENGTH, r->length);
    put_be64(m + NR_MPT_MTT, r->mtt);
}

/* A completion queue of 2^@log entries (table 3-2-27). */
static inline void nrb_cq(uint8_t *m, uint32_t cqn, uint8_t log, uint32_t eqn,
                          uint32_t pd, uint32_t lkey)
{
    m[NR_CTX_LOG] = log;
    put_be32(m + NR_CQC_EQN, eqn);
    put_be32(m + NR_CQC_PD, pd);
    put_be32(m + NR_CQC_LKEY, lkey);
    put_be32(m + NR_CQC_CQN, cqn);
}

/* An event queue at bus address @addr, armed (table 3-2-32). */
static inline void nrb_eq(uint8_t *m, uint64_t addr, uint8_t log,
                          uint16_t vector)
{
    put_be32(m + NR_CTX_FLAGS, NRX_ARMED);
    put_be64(m + NR_CTX_START, addr);
    m[NR_CTX_LOG] = log;
    put_be16(m + NR_EQC_VECTOR, vector);
}

/* A queue pair (table 3-2-41), the same for each step of the state machine. */
typedef struct NrbQp {
    uint32_t qpn, peer_qpn;
    uint8_t service;            /* RC 0, UC 1, UD 3 */
    uint8_t mtu;                /* 1 to 5: 256 to 4096 */
    uint8_t log_slot;           /* bytes of a slot of both queues */
    uint32_t pd, send_cqn, recv_cqn;
    uint32_t sq_lkey, sq_bytes, rq_lkey, rq_bytes;
    uint32_t sip, dip;
    uint64_t smac, dmac;        /* low 48 bits; dmac 0 = ask by ARP */
    uint32_t psn;               /* first one, both ways */
    uint32_t qkey;
} NrbQp;

static inline void nrb_qp(uint8_t *m, const NrbQp *q, uint8_t state)
{
    m[NR_QPC_FLAGS] = state << 4;
    m[NR_QPC_FLAGS + 1] = q->service;
    m[NR_QPC_MTU] = q->mtu << 5 | 31;
    m[NR_QPC_RQ_LOG] = m[NR_QPC_SQ_LOG] = q->log_slot;
    put_be32(m + NR_QPC_LOCAL_QPN, q->qpn);
    put_be32(m + NR_QPC_REMOTE_QPN, q->peer_qpn);
    put_be16(m + NR_QPC_DLID, q->dmac);
    put_be16(m + NR_QPC_SLID, q->smac);
    put_be32(m + NR_QPC_SMAC, q->smac >> 16);
    put_be32(m + NR_QPC_DMAC, q->dmac >> 16);
    put_be32(m + NR_QPC_SIP, q->sip);
    put_be32(m + NR_QPC_DIP, q->dip);
    put_be32(m + NR_QPC_PD, q->pd);
    put_be32(m + NR_QPC_SQ_PSN, q->psn);
    put_be32(m + NR_QPC_UAPSN, q->psn);
    put_be32(m + NR_QPC_RNR_EPSN, 1u << 24 | q->psn);
    put_be32(m + NR_QPC_SEND_CQN, q->send_cqn);
    put_be32(m + NR_QPC_RECV_CQN, q->recv_cqn);
    put_be32(m + NR_QPC_SQ_LKEY, q->sq_lkey);
    put_be32(m + NR_QPC_SQ_LEN, q->sq_bytes);
    put_be32(m + NR_QPC_RQ_LKEY, q->rq_lkey);
    put_be32(m + NR_QPC_RQ_LEN, q->rq_bytes);
    put_be32(m + NR_QPC_QKEY, q->qkey);
}

/* ---- work requests ---- */

/* Opcodes of send WQEs and doorbells */
enum {
    NRB_WRITE = 0x08, NRB_WRITE_IMM = 0x09, NRB_SEND = 0x0a,
    NRB_SEND_IMM = 0x0b, NRB_READ = 0x10, NRB_CMP_SWAP = 0x11,
    NRB_FETCH_ADD = 0x12,
};

/* A request of a connected QP with one data segment. */
typedef struct NrbSend {
    uint8_t op;
    uint32_t imm;               /* big-endian on the wire */
    uint64_t addr;              /* local */
    uint32_t len, lkey;
    uint64_t raddr;             /* all but Sends */
    uint32_t rkey;
    uint64_t swap_add, compare; /* atomics */
} NrbSend;

static inline void nrb_data(uint8_t *u, uint64_t addr, uint32_t len,
                            uint32_t lkey)
{
    put_le32(u, len);
    put_le32(u + 4, lkey);
    put_le64(u + 8, addr);
}

/* Fills a slot of at least 64 bytes; returns the units for the doorbell. */
static inline unsigned nrb_send(uint8_t *w, const NrbSend *s)
{
    uint8_t *u = w + NR_UNIT;

    put_be32(w + 0x0c, s->imm);
    if (s->op != NRB_SEND && s->op != NRB_SEND_IMM) {
        put_le64(u, s->raddr);
        put_le32(u + 8, s->rkey);
        u += NR_UNIT;
    }
    if (s->op == NRB_CMP_SWAP || s->op == NRB_FETCH_ADD) {
        put_le64(u, s->swap_add);
        put_le64(u + 8, s->compare);
        u += NR_UNIT;
    }
    nrb_data(u, s->addr, s->len, s->lkey);
    return (u + NR_UNIT - w) / NR_UNIT;
}

/*
 * Fills a receive slot of at least 48 bytes, whose successor begins at byte
 * @next of the queue.  In a queue that the adapter can see the first
 * NR_UNIT bytes must be written last.
 */
static inline void nrb_recv(uint8_t *w, uint32_t next, uint64_t addr,
                            uint32_t len, uint32_t lkey)
{
    put_le32(w, (next / NR_UNIT) << 6 | 1 << 5);
    nrb_data(w + NR_UNIT, addr, len, lkey);
}

/* The send doorbell for @units units at byte @off of the queue. */
static inline uint64_t nrb_doorbell(uint32_t qpn, unsigned units,
                                    uint32_t off, uint8_t op)
{
    return (uint64_t)qpn << 40 | (uint64_t)units << 32 |
           off / NR_UNIT << 8 | op;
}

/* ---- completions ---- */

typedef struct NrbCqe {
    uint32_t qpn, imm, bytes, wqe;
    uint8_t opcode;             /* or NRQ_ERR_SEND, NRQ_ERR_RECV */
    uint8_t syndrome;           /* of an error */
    bool is_send;
} NrbCqe;

/* Whether software owns the entry. */
static inline bool nrb_cqe_ready(const uint8_t *c)
{
    return !(c[NRQ_OWNER] & NRQ_OWNER_HW);
}

static inline NrbCqe nrb_cqe(const uint8_t *c)
{
    return (NrbCqe) {
        .qpn = get_le32(c + NRQ_QPN), .imm = get_be32(c + NRQ_IMM),
        .bytes = get_le32(c + NRQ_BYTE_CNT), .wqe = get_le32(c + NRQ_WQE),
        .opcode = c[NRQ_OP], .syndrome = c[NRQ_IMM],
        .is_send = c[NRQ_OP + 1],
    };
}

#endif
