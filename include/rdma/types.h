/*
 * RDMA engine: the forms in which work, completions and addresses travel
 * between the transport core and a personality (the register and memory
 * interface the guest sees).
 *
 * Numbers are in host order unless a field says otherwise.  Nothing here is a
 * guest-visible or wire layout: personalities decode guest memory into these
 * forms, the core encodes them into frames.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_TYPES_H
#define RDMA_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RDMA_MAX_SGE        64      /* data segments of one work request */
#define RDMA_MAX_INLINE     1024    /* bytes of inline data of one WQE */
#define RDMA_MAX_MTU        4096
#define RDMA_GRH_BYTES      40      /* area in front of a received datagram */
#define RDMA_PSN_MASK       0xffffffu
#define RDMA_QPN_MASK       0xffffffu
#define RDMA_QPN_MULTICAST  0xffffffu
#define RDMA_LID_PERMISSIVE 0xffff  /* directed-route management packets */
#define RDMA_LID_MULTICAST  0xc000  /* first multicast LID */

/* Transport service (RDMA §1.1; codes as in the native QPC). */
typedef enum RdmaService {
    RDMA_RC = 0,
    RDMA_UC = 1,
    RDMA_UD = 3,
} RdmaService;

/* QP state.  Values are those of the native and mthca contexts. */
typedef enum RdmaQpState {
    RDMA_QPS_RESET = 0,
    RDMA_QPS_INIT = 1,
    RDMA_QPS_RTR = 2,
    RDMA_QPS_RTS = 3,
    RDMA_QPS_SQE = 4,
    RDMA_QPS_SQD = 5,
    RDMA_QPS_ERR = 6,
} RdmaQpState;

/* Operation of a send WQE.  Values are those of both WQE formats. */
typedef enum RdmaOpcode {
    RDMA_OP_NOP = 0x00,         /* completes in order, sends nothing */
    RDMA_OP_WRITE = 0x08,
    RDMA_OP_WRITE_IMM = 0x09,
    RDMA_OP_SEND = 0x0a,
    RDMA_OP_SEND_IMM = 0x0b,
    RDMA_OP_READ = 0x10,
    RDMA_OP_CMP_SWAP = 0x11,
    RDMA_OP_FETCH_ADD = 0x12,
} RdmaOpcode;

/* How a work request ended; a personality maps it to its own syndrome. */
typedef enum RdmaStatus {
    RDMA_WC_SUCCESS,
    RDMA_WC_LOC_LEN,        /* message longer than allowed or than its SGEs */
    RDMA_WC_LOC_QP_OP,      /* opcode not allowed for the service */
    RDMA_WC_LOC_PROT,       /* local SGE failed key, PD, right or bound */
    RDMA_WC_FLUSH,
    RDMA_WC_BAD_RESP,       /* unexpected response opcode or length */
    RDMA_WC_LOC_ACCESS,     /* RQ or response scatter refused */
    RDMA_WC_REM_INV_REQ,
    RDMA_WC_REM_ACCESS,
    RDMA_WC_REM_OP,
    RDMA_WC_RETRY_EXC,
    RDMA_WC_RNR_RETRY_EXC,
    RDMA_WC_REM_ABORT,
    RDMA_WC_FATAL,
    RDMA_WC_NUM
} RdmaStatus;

/* Rights of a region and the rights an access asks for. */
enum {
    RDMA_ACC_LOCAL_READ    = 1 << 0,
    RDMA_ACC_LOCAL_WRITE   = 1 << 1,
    RDMA_ACC_REMOTE_READ   = 1 << 2,
    RDMA_ACC_REMOTE_WRITE  = 1 << 3,
    RDMA_ACC_REMOTE_ATOMIC = 1 << 4,
    RDMA_ACC_RIGHTS        = 0x1f,
    /* With a request only: the address is an offset into the region. */
    RDMA_ACC_RELATIVE      = 1 << 8,
};

/* What rdma_mr_check() found wrong; 0 = nothing (VTP state bits). */
enum {
    RDMA_MRE_PD     = 1 << 0,
    RDMA_MRE_ACCESS = 1 << 1,
    RDMA_MRE_KEY    = 1 << 2,
    RDMA_MRE_BOUND  = 1 << 3,
    RDMA_MRE_PAGE   = 1 << 4,   /* page not translated or memory refused */
};

/* Asynchronous events.  Values are the mthca EQE types. */
typedef enum RdmaEvent {
    RDMA_EV_COMM_EST = 0x02,
    RDMA_EV_SQ_DRAINED = 0x03,
    RDMA_EV_CQ_ERROR = 0x04,
    RDMA_EV_WQ_CATAS = 0x05,
    RDMA_EV_LOCAL_CATAS = 0x08,
    RDMA_EV_PORT_CHANGE = 0x09,
    RDMA_EV_WQ_INVAL_REQ = 0x10,
    RDMA_EV_WQ_ACCESS = 0x11,
    RDMA_EV_SRQ_CATAS = 0x12,
    RDMA_EV_SRQ_LAST_WQE = 0x13,
    RDMA_EV_SRQ_LIMIT = 0x14,
} RdmaEvent;

/* One data segment.  @len 0 is allowed and means no bytes. */
typedef struct RdmaSge {
    uint64_t addr;
    uint32_t len;
    uint32_t key;
} RdmaSge;

/*
 * Address of a peer.  The core turns it into IPv4 and MAC addresses, first
 * rule that applies:
 *   1. @dip != 0: that address.
 *   2. @has_grh and @dgid is IPv4-mapped (::ffff:a.b.c.d): a.b.c.d.
 *   3. @has_grh and @dgid is a multicast GID (ff..): rdma_mgid_to_ip().
 *   4. @dlid: rdma_lid_to_ip(); RDMA_LID_PERMISSIVE is the IPv4 broadcast.
 * The MAC is @dmac if that is not zero, otherwise derived (multicast,
 * broadcast) or resolved by ARP.
 */
typedef struct RdmaAv {
    uint32_t dip;           /* IPv4, host order; 0 = use GID or LID */
    uint32_t sip;           /* source IPv4; 0 = chosen from the port */
    uint8_t dmac[6];
    uint8_t smac[6];        /* zero = MAC of the port */
    uint16_t dlid;
    uint8_t sl;
    uint8_t tclass;
    uint8_t hop_limit;      /* 0 = 64 */
    bool has_grh;
    uint8_t sgid_index;
    uint8_t path_bits;
    uint32_t flow_label;
    uint8_t dgid[16];
} RdmaAv;

enum {
    RDMA_WQE_SIGNALED  = 1 << 0,    /* completes with a CQE on success too */
    RDMA_WQE_SOLICITED = 1 << 1,
    RDMA_WQE_FENCE     = 1 << 2,
    RDMA_WQE_INLINE    = 1 << 3,    /* payload is @inl, not @sge */
    /* Datagram only: take source QPN / P_Key from the WQE, not from the QP. */
    RDMA_WQE_SRC_QPN   = 1 << 4,
    RDMA_WQE_PKEY      = 1 << 5,
};

/*
 * One send work request, decoded.  A personality fills everything down to the
 * marked line in fetch_send(); the structure is zero up to (not including)
 * the data union before that.
 */
typedef struct RdmaWqe RdmaWqe;
struct RdmaWqe {
    uint64_t id;            /* the personality's own cookie, back in the CQE */
    uint8_t opcode;         /* RdmaOpcode; others complete as LOC_QP_OP */
    uint8_t flags;          /* RDMA_WQE_* */
    uint8_t num_sge;        /* <= RDMA_MAX_SGE */
    /*
     * RDMA_WC_SUCCESS, or why the personality could not decode the WQE: it
     * then completes with that status, in order, and stops the queue.
     */
    uint8_t error;
    uint8_t imm[4];         /* immediate, in wire byte order */
    uint64_t raddr;         /* Write, Read, atomic */
    uint32_t rkey;
    uint32_t inl_len;       /* RDMA_WQE_INLINE: bytes in @inl */
    uint64_t swap_add;
    uint64_t compare;
    /* datagrams */
    uint32_t dqpn;
    uint32_t qkey;          /* bit 31: that of the QP (IB 1.3 §10.2.5) */
    uint32_t src_qpn;       /* with RDMA_WQE_SRC_QPN */
    uint16_t pkey;          /* with RDMA_WQE_PKEY */
    RdmaAv av;
    /* ---- below: the core's, a personality leaves it alone ---- */
    uint32_t length;        /* bytes of the message */
    uint32_t first_psn, last_psn;
    /* What it has entered into the accounts of the packet buffers. */
    uint32_t held_packets, held_units;
    uint8_t state;
    uint8_t status;
    bool has_psn;
    RdmaWqe *next;
    union {
        RdmaSge sge[RDMA_MAX_SGE];
        uint8_t inl[RDMA_MAX_INLINE];
    };
};

/* One receive work request, decoded by fetch_recv(). */
typedef struct RdmaRecvWqe {
    uint64_t id;
    uint32_t num_sge;       /* <= RDMA_MAX_SGE */
    RdmaSge sge[RDMA_MAX_SGE];
} RdmaRecvWqe;

typedef enum RdmaFetch {
    RDMA_FETCH_NONE,        /* nothing posted */
    RDMA_FETCH_OK,
    /*
     * Queue memory cannot be read.  Send: the WQE completes with @error (or
     * flush), the QP goes to ERR, event WQ_CATAS.  Receive: NAK remote
     * operational error, the QP goes to ERR.
     */
    RDMA_FETCH_BAD,
} RdmaFetch;

/* One completion, to be encoded by write_cqe(). */
typedef struct RdmaCqe {
    uint64_t wqe_id;
    uint32_t qpn;           /* full number of the local QP */
    uint8_t status;         /* RdmaStatus */
    bool is_send;
    bool has_imm;
    bool solicited;
    /* send: RdmaOpcode; receive: low five bits of the last BTH opcode */
    uint8_t opcode;
    uint8_t imm[4];         /* wire byte order */
    uint32_t byte_cnt;      /* receive, Read, atomic; includes a GRH area */
    /* receive only */
    uint32_t rqpn;
    uint16_t rlid;          /* source LID, RDMA_LID_PERMISSIVE if none */
    uint8_t sl;
    bool has_grh;
    uint16_t pkey_index;
} RdmaCqe;

#endif
