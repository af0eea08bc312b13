/*
 * NCIC native RDMA interface: guest-visible constants (interface document
 * V1.3-b; CEU v1.0-b).  Usable by drivers and tests.
 *
 * HCR registers, doorbells, WQEs, CQEs and EQEs are little-endian; mailboxes
 * and contexts in ICM are big-endian.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_NATIVE_HW_H
#define RDMA_NATIVE_HW_H

/* ---- HCR (table 3-1-3): byte offsets; high halves come first ---- */
#define NRH_IN_PARAM_H   0x00
#define NRH_IN_PARAM_L   0x04
#define NRH_IN_MODIFIER  0x08
#define NRH_OUT_PARAM_H  0x0c
#define NRH_OUT_PARAM_L  0x10
#define NRH_TOKEN        0x14   /* token in 31:16 */
#define NRH_CMD          0x18   /* status 31:24, go 23, E 22, mod 19:12, op */
#define NRH_GO           (1u << 23)
#define NRH_EVENT        (1u << 22)
#define NRH_OPMOD_SHIFT  12
#define NRH_OPMOD_MASK   0xffu
#define NRH_OP_MASK      0xfffu

/* Status (table 3-1-5) */
#define NRS_OK            0x00
#define NRS_BAD_OP        0x02
#define NRS_BAD_PARAM     0x03
#define NRS_BAD_SYS_STATE 0x04
#define NRS_BAD_NVMEM     0x05

/* Commands (table 3-2-1) */
#define NRC_QUERY_DEV_LIM   0x003
#define NRC_QUERY_ADAPTER   0x006
#define NRC_INIT_HCA        0x007
#define NRC_CLOSE_HCA       0x008
#define NRC_SW2HW_MPT       0x00d
#define NRC_HW2SW_MPT       0x00f
#define NRC_WRITE_MTT       0x011
#define NRC_MAP_EQ          0x012
#define NRC_SW2HW_EQ        0x013
#define NRC_HW2SW_EQ        0x014
#define NRC_SW2HW_CQ        0x016
#define NRC_HW2SW_CQ        0x017
#define NRC_RST2INIT_QP     0x019
#define NRC_INIT2RTR_QP     0x01a
#define NRC_RTR2RTS_QP      0x01b
#define NRC_RTS2RTS_QP      0x01c
#define NRC_SQE2RTS_QP      0x01d
#define NRC_2ERR_QP         0x01e
#define NRC_RTS2SQD_QP      0x01f
#define NRC_SQD2RTS_QP      0x020
#define NRC_2RST_QP         0x021
#define NRC_QUERY_QP        0x022
#define NRC_CONF_SPECIAL_QP 0x023
#define NRC_MAD_IFC         0x024
#define NRC_RESIZE_CQ       0x02c
#define NRC_INIT2INIT_QP    0x02d
#define NRC_NOP             0x031
#define NRC_SQD2SQD_QP      0x038
#define NRC_UNMAP_ICM       0xff9
#define NRC_MAP_ICM         0xffa

#define NRC_MAP_EQ_UNMAP    (1u << 31)

/* ---- limits reported by QUERY_DEV_LIM ---- */
#define NR_LOG_QPS       13
#define NR_LOG_CQS       13
#define NR_LOG_EQS       5
#define NR_LOG_MPTS      14
#define NR_LOG_MTTS      18
#define NR_LOG_PDS       12
#define NR_LOG_QUEUE     13
#define NR_MAX_SGE       16
#define NR_MAX_DESC      0x200
#define NR_QPC_BYTES     0x100
#define NR_CQC_BYTES     0x40
#define NR_EQC_BYTES     0x40
#define NR_MPT_BYTES     0x40
#define NR_MTT_BYTES     8
#define NR_BOARD_ID      0x0123456789abcdefull

/* Mailbox sizes */
#define NR_DEV_LIM_BYTES 0x40
#define NR_ADAPTER_BYTES 0x20
#define NR_MAILBOX_BYTES 0x1000
#define NR_QP_MBOX_BYTES 0xc0

/* ---- mailboxes: byte offsets of fields ---- */
/* QUERY_DEV_LIM (table 3-2-3); LOG: log2 of a number */
enum {
    NR_LIM_LOG_RSVD_QPS = 0x00, NR_LIM_LOG_QP_SIZE = 0x08,
    NR_LIM_LOG_CQ_SIZE = 0x0a, NR_LIM_LOG_QPS = 0x0c, NR_LIM_LOG_CQS = 0x0d,
    NR_LIM_LOG_EQS = 0x0e, NR_LIM_LOG_MPTS = 0x0f, NR_LIM_LOG_PDS = 0x10,
    NR_LIM_LOG_PKEYS = 0x13, NR_LIM_MTT_BYTES = 0x15,
    NR_LIM_QPC_BYTES = 0x18, NR_LIM_CQC_BYTES = 0x1a,
    NR_LIM_EQC_BYTES = 0x1c, NR_LIM_MPT_BYTES = 0x1e,
    NR_LIM_MTU_WIDTH = 0x21, NR_LIM_VLS_PORTS = 0x23,
    NR_LIM_LOG_PAGE = 0x25, NR_LIM_MAX_SGE = 0x29, NR_LIM_MAX_DESC = 0x2a,
    NR_LIM_MAX_SGE_RQ = 0x2d, NR_LIM_MAX_DESC_RQ = 0x2e,
    NR_LIM_MAX_ICM = 0x30,
};
enum { NR_ADAPTER_BOARD_ID = 0x18 };
/* INIT_HCA (table 3-2-8): bases, log2 of entries in the low byte */
enum {
    NR_INIT_QPC = 0x08, NR_INIT_CQC = 0x10, NR_INIT_EQC = 0x18,
    NR_INIT_MPT = 0x30, NR_INIT_MTT = 0x38,
};
/* MAP_ICM: entries of 16 bytes, swapped in pairs (table 3-2-13) */
enum { NR_MAP_VIRT = 0x00, NR_MAP_PAGE = 0x08, NR_MAP_ENTRY = 0x10 };
/* WRITE_MTT: groups of four are stored backwards (table 3-2-22) */
enum { NR_MTT_START = 0x18, NR_MTT_LIST = 0x20 };
/* SW2HW_MPT (table 3-2-17) */
enum {
    NR_MPT_FLAGS = 0x00, NR_MPT_PAGE_SIZE = 0x04, NR_MPT_KEY = 0x08,
    NR_MPT_PD = 0x0c, NR_MPT_START = 0x10, NR_MPT_LENGTH = 0x18,
    NR_MPT_MTT = 0x2c,
};
/* SW2HW_CQ and SW2HW_EQ (tables 3-2-32, 3-2-27), RESIZE_CQ (3-2-37) */
enum {
    NR_CTX_FLAGS = 0x00, NR_CTX_START = 0x04, NR_CTX_LOG = 0x0c,
    NR_CQC_LOG_UAR = 0x0c, NR_CQC_EQN = 0x10, NR_CQC_PD = 0x14,
    NR_CQC_LKEY = 0x18, NR_CQC_CQN = 0x2c, NR_EQC_VECTOR = 0x16,
    NR_EQC_PD = 0x18, NR_EQC_LKEY = 0x1c, NR_RESIZE_LOG = 0x00,
    NR_RESIZE_LKEY = 0x04,
};
/* MODIFY_QP, QUERY_QP (table 3-2-41) */
enum {
    NR_QPC_FLAGS = 0x08, NR_QPC_MTU = 0x0c, NR_QPC_RQ_LOG = 0x0d,
    NR_QPC_SQ_LOG = 0x0e, NR_QPC_USR_PAGE = 0x10, NR_QPC_LOCAL_QPN = 0x14,
    NR_QPC_REMOTE_QPN = 0x18, NR_QPC_PKEY = 0x1c, NR_QPC_RNR_RETRY = 0x20,
    NR_QPC_ACKTO = 0x24, NR_QPC_HOP = 0x27, NR_QPC_SL = 0x28,
    NR_QPC_DGID = 0x2c, NR_QPC_DLID = 0x3c, NR_QPC_SLID = 0x3e,
    NR_QPC_SMAC = 0x40, NR_QPC_DMAC = 0x44, NR_QPC_SIP = 0x48,
    NR_QPC_DIP = 0x4c, NR_QPC_PD = 0x5c, NR_QPC_SQ_PSN = 0x6c,
    NR_QPC_SEND_CQN = 0x70, NR_QPC_SQ_LKEY = 0x74, NR_QPC_SQ_LEN = 0x78,
    NR_QPC_UAPSN = 0x7c, NR_QPC_RNR_EPSN = 0x84, NR_QPC_RECV_CQN = 0x8c,
    NR_QPC_RQ_LKEY = 0x90, NR_QPC_RQ_LEN = 0x94, NR_QPC_QKEY = 0x98,
};
/* MAD_IFC answer */
enum { NR_MAD_LID = 0x00, NR_MAD_STATE = 0x02, NR_MAD_PHYS = 0x03 };

/* MAP_ICM regions (op_modifier) */
#define NR_ICM_CONTEXTS  1
#define NR_ICM_TPT       2

/* MPT flags (table 3-2-17) */
#define NRM_LOCAL_WRITE   (1u << 0)
#define NRM_REMOTE_WRITE  (1u << 1)
#define NRM_REMOTE_READ   (1u << 2)
#define NRM_REMOTE_ATOMIC (1u << 3)
#define NRM_PHYSICAL      (1u << 9)

/* CQ and EQ context flags */
#define NRX_ARMED         (1u << 8)

/* ---- UAR page ---- */
#define NRU_SQ_DB         0x00  /* 64 bits, or 00 then 04 */
#define NRU_ARM_CQ        0x10  /* CQN in 12:0 */
#define NRU_ARM_EQ        0x20  /* EQN in 4:0 */
#define NR_UNIT           16u   /* bytes of a WQE unit */

/* ---- CQE (table 3-3-1), 32 bytes ---- */
#define NRQ_CQE_BYTES     32
#define NRQ_QPN           0x00
#define NRQ_RQPN          0x08
#define NRQ_RLID          0x0c  /* 31:16 */
#define NRQ_IMM           0x10  /* error: syndrome in byte 0 */
#define NRQ_BYTE_CNT      0x14
#define NRQ_WQE           0x18
#define NRQ_OP            0x1c  /* owner 31:24, is_send 15:8, opcode 7:0 */
#define NRQ_OWNER         0x1f
#define NRQ_OWNER_HW      0x80
#define NRQ_ERR_SEND      0xff
#define NRQ_ERR_RECV      0xfe

/* ---- EQE, 32 bytes ---- */
#define NRE_EQE_BYTES     32
#define NRE_TYPE          0x01
#define NRE_NUMBER        0x04
#define NRE_SYNDROME      0x0f
#define NRE_OWNER         0x1f
#define NRE_COMPLETION    0x00

#endif
