/*
 * ncic-mthca: guest-visible constants of the mem-free InfiniHost interface.
 *
 * Registers, command opcodes, status codes and field offsets that a driver of
 * PCI device 15b3:6274 sees.  All multi-byte fields are big-endian.  Offsets
 * of mailbox and context fields are byte offsets from the start of the named
 * structure.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_MTHCA_HW_H
#define RDMA_MTHCA_HW_H

/* PCI identity */
#define MTHCA_PCI_VENDOR        0x15b3
#define MTHCA_PCI_DEVICE_SINAI  0x6274
#define MTHCA_PCI_CLASS         0x0c06

/* BAR0: device control space */
#define MTHCA_BAR0_SIZE         0x100000
#define MTHCA_HCR_BASE          0x80680
#define MTHCA_HCR_SIZE          0x1c
#define MTHCA_RESET             0xf0010
#define MTHCA_MSIX_TABLE        0x82000
#define MTHCA_MSIX_PBA          0x82200
#define MTHCA_MSIX_VECTORS      32
/* addresses of our choice, reported by QUERY_FW */
#define MTHCA_CLR_INT           0x83000
#define MTHCA_EQ_ARM            0x83100
#define MTHCA_EQ_SET_CI         0x83200
#define MTHCA_CATAS             0x83400
#define MTHCA_CATAS_DWORDS      8

/* HCR registers, offsets from MTHCA_HCR_BASE */
#define MTHCA_HCR_IN_HI         0x00
#define MTHCA_HCR_IN_LO         0x04
#define MTHCA_HCR_IN_MOD        0x08
#define MTHCA_HCR_OUT_HI        0x0c
#define MTHCA_HCR_OUT_LO        0x10
#define MTHCA_HCR_TOKEN         0x14
#define MTHCA_HCR_CMD           0x18
#define MTHCA_HCR_GO            (1u << 23)
#define MTHCA_HCR_EVENT         (1u << 22)
#define MTHCA_MAILBOX_SIZE      4096

/* BAR2: user access region pages */
#define MTHCA_UAR_LOG_MIB       3
#define MTHCA_BAR2_SIZE         (1u << (20 + MTHCA_UAR_LOG_MIB))
#define MTHCA_UAR_PAGE          0x1000
#define MTHCA_UAR_SEND          0x10
#define MTHCA_UAR_CQ            0x20

/* status codes of commands */
enum {
    MTHCA_ST_OK             = 0x00,
    MTHCA_ST_INTERNAL       = 0x01,
    MTHCA_ST_BAD_OP         = 0x02,
    MTHCA_ST_BAD_PARAM      = 0x03,
    MTHCA_ST_BAD_SYS_STATE  = 0x04,
    MTHCA_ST_BAD_RESOURCE   = 0x05,
    MTHCA_ST_BUSY           = 0x06,
    MTHCA_ST_EXCEED_LIM     = 0x08,
    MTHCA_ST_BAD_RES_STATE  = 0x09,
    MTHCA_ST_BAD_INDEX      = 0x0a,
    MTHCA_ST_BAD_QP_STATE   = 0x10,
    MTHCA_ST_BAD_SEG        = 0x20,
    MTHCA_ST_REG_BOUND      = 0x21,
    MTHCA_ST_LAM_NOT_PRE    = 0x22,
    MTHCA_ST_BAD_PKT        = 0x30,
    MTHCA_ST_BAD_SIZE       = 0x40,
};

/* command opcodes */
enum {
    MTHCA_CMD_SYS_EN        = 0x001,
    MTHCA_CMD_SYS_DIS       = 0x002,
    MTHCA_CMD_QUERY_DEV_LIM = 0x003,
    MTHCA_CMD_QUERY_FW      = 0x004,
    MTHCA_CMD_QUERY_DDR     = 0x005,
    MTHCA_CMD_QUERY_ADAPTER = 0x006,
    MTHCA_CMD_INIT_HCA      = 0x007,
    MTHCA_CMD_CLOSE_HCA     = 0x008,
    MTHCA_CMD_INIT_IB       = 0x009,
    MTHCA_CMD_CLOSE_IB      = 0x00a,
    MTHCA_CMD_QUERY_HCA     = 0x00b,
    MTHCA_CMD_SET_IB        = 0x00c,
    MTHCA_CMD_SW2HW_MPT     = 0x00d,
    MTHCA_CMD_QUERY_MPT     = 0x00e,
    MTHCA_CMD_HW2SW_MPT     = 0x00f,
    MTHCA_CMD_READ_MTT      = 0x010,
    MTHCA_CMD_WRITE_MTT     = 0x011,
    MTHCA_CMD_MAP_EQ        = 0x012,
    MTHCA_CMD_SW2HW_EQ      = 0x013,
    MTHCA_CMD_HW2SW_EQ      = 0x014,
    MTHCA_CMD_QUERY_EQ      = 0x015,
    MTHCA_CMD_SW2HW_CQ      = 0x016,
    MTHCA_CMD_HW2SW_CQ      = 0x017,
    MTHCA_CMD_QUERY_CQ      = 0x018,
    MTHCA_CMD_RST2INIT_QP   = 0x019,
    MTHCA_CMD_INIT2RTR_QP   = 0x01a,
    MTHCA_CMD_RTR2RTS_QP    = 0x01b,
    MTHCA_CMD_RTS2RTS_QP    = 0x01c,
    MTHCA_CMD_SQERR2RTS_QP  = 0x01d,
    MTHCA_CMD_2ERR_QP       = 0x01e,
    MTHCA_CMD_RTS2SQD_QP    = 0x01f,
    MTHCA_CMD_SQD2RTS_QP    = 0x020,
    MTHCA_CMD_ERR2RST_QP    = 0x021,
    MTHCA_CMD_QUERY_QP      = 0x022,
    MTHCA_CMD_CONF_SPECIAL_QP = 0x023,
    MTHCA_CMD_MAD_IFC       = 0x024,
    MTHCA_CMD_READ_MGM      = 0x025,
    MTHCA_CMD_WRITE_MGM     = 0x026,
    MTHCA_CMD_MGID_HASH     = 0x027,
    MTHCA_CMD_RESIZE_CQ     = 0x02c,
    MTHCA_CMD_INIT2INIT_QP  = 0x02d,
    MTHCA_CMD_SYNC_TPT      = 0x02f,
    MTHCA_CMD_NOP           = 0x031,
    MTHCA_CMD_SW2HW_SRQ     = 0x035,
    MTHCA_CMD_HW2SW_SRQ     = 0x036,
    MTHCA_CMD_QUERY_SRQ     = 0x037,
    MTHCA_CMD_SQD2SQD_QP    = 0x038,
    MTHCA_CMD_ARM_SRQ       = 0x040,
    MTHCA_CMD_RUN_FW        = 0xff6,
    MTHCA_CMD_DISABLE_LAM   = 0xff7,
    MTHCA_CMD_ENABLE_LAM    = 0xff8,
    MTHCA_CMD_UNMAP_ICM     = 0xff9,
    MTHCA_CMD_MAP_ICM       = 0xffa,
    MTHCA_CMD_UNMAP_ICM_AUX = 0xffb,
    MTHCA_CMD_MAP_ICM_AUX   = 0xffc,
    MTHCA_CMD_SET_ICM_SIZE  = 0xffd,
    MTHCA_CMD_UNMAP_FA      = 0xffe,
    MTHCA_CMD_MAP_FA        = 0xfff,
};

/* limits that QUERY_DEV_LIM reports (log2 where the name says so) */
#define MTHCA_LOG_MAX_QP        16
#define MTHCA_LOG_RSVD_QP       4
#define MTHCA_LOG_MAX_SRQ       16
#define MTHCA_LOG_MAX_CQ        16
#define MTHCA_LOG_MAX_MPT       17
#define MTHCA_LOG_MAX_EQ        6
#define MTHCA_LOG_MAX_WQES      14
#define MTHCA_LOG_MAX_CQES      17
#define MTHCA_LOG_MAX_EQES      17
#define MTHCA_LOG_MAX_MCG       13
#define MTHCA_LOG_MIN_MGM_SIZE  6       /* bytes of an entry */
#define MTHCA_LOG_MAX_MGM_SIZE  12
#define MTHCA_LOG_MAX_UARC      20      /* bytes of a UAR's doorbell records */
#define MTHCA_LOG_MAX_UARS      (MTHCA_UAR_LOG_MIB + 8)
#define MTHCA_LOG_MAX_PD        16
#define MTHCA_MAX_SG            30
#define MTHCA_MAX_DESC          1024
#define MTHCA_RSVD_UARS         1
#define MTHCA_MAX_GIDS          32
#define MTHCA_MAX_PKEYS         64
#define MTHCA_FW_PAGES          1
#define MTHCA_AUX_PAGES         1
#define MTHCA_LOG_MAX_CMDS      4
#define MTHCA_MAX_ICM           (1ull << 40)
#define MTHCA_QPN_MASK          0xffffffu
#define MTHCA_UAR_MASK          0xffffffu

/* PortInfo (IB 1.3 §14.2.5.6), byte offsets */
enum {
    MTHCA_PI_MKEY = 0, MTHCA_PI_GID_PREFIX = 8, MTHCA_PI_LID = 16,
    MTHCA_PI_SM_LID = 18, MTHCA_PI_CAP_MASK = 20, MTHCA_PI_LEASE = 26,
    MTHCA_PI_LOCAL_PORT = 28, MTHCA_PI_WIDTH_ENABLED = 29,
    MTHCA_PI_WIDTH_SUPPORTED = 30, MTHCA_PI_WIDTH_ACTIVE = 31,
    MTHCA_PI_STATE = 32,        /* and speeds supported */
    MTHCA_PI_PHYS = 33,         /* and default after link down */
    MTHCA_PI_LMC = 34,          /* and M_Key protection */
    MTHCA_PI_SPEED = 35, MTHCA_PI_MTU_SM_SL = 36, MTHCA_PI_VL_CAP = 37,
    MTHCA_PI_VL_LIMIT = 38, MTHCA_PI_MTU_CAP = 41, MTHCA_PI_VL_OP = 43,
    MTHCA_PI_MKEY_VIOLATIONS = 44, MTHCA_PI_PKEY_VIOLATIONS = 46,
    MTHCA_PI_QKEY_VIOLATIONS = 48, MTHCA_PI_GUID_CAP = 50,
    MTHCA_PI_SUBNET_TIMEOUT = 51, MTHCA_PI_RESP_TIME = 52,
    MTHCA_PI_ERRORS = 53,
};

/* MPT flags */
#define MTHCA_MPT_ATOMIC        (1u << 14)
#define MTHCA_MPT_REMOTE_WRITE  (1u << 13)
#define MTHCA_MPT_REMOTE_READ   (1u << 12)
#define MTHCA_MPT_LOCAL_WRITE   (1u << 11)
#define MTHCA_MPT_LOCAL_READ    (1u << 10)
#define MTHCA_MPT_PHYSICAL      (1u << 9)
#define MTHCA_MPT_REGION        (1u << 8)
#define MTHCA_MTT_PRESENT       1ull

/* event types */
enum {
    MTHCA_EV_COMP           = 0x00,
    MTHCA_EV_PATH_MIG       = 0x01,
    MTHCA_EV_COMM_EST       = 0x02,
    MTHCA_EV_SQ_DRAINED     = 0x03,
    MTHCA_EV_CQ_ERROR       = 0x04,
    MTHCA_EV_WQ_CATAS       = 0x05,
    MTHCA_EV_LOCAL_CATAS    = 0x08,
    MTHCA_EV_PORT_CHANGE    = 0x09,
    MTHCA_EV_CMD            = 0x0a,
    MTHCA_EV_EQ_OVERFLOW    = 0x0f,
    MTHCA_EV_WQ_INVAL_REQ   = 0x10,
    MTHCA_EV_WQ_ACCESS      = 0x11,
    MTHCA_EV_SRQ_CATAS      = 0x12,
    MTHCA_EV_SRQ_LAST_WQE   = 0x13,
    MTHCA_EV_SRQ_LIMIT      = 0x14,
};

#define MTHCA_EQE_SIZE          32
#define MTHCA_CQE_SIZE          32
#define MTHCA_OWNER_HW          0x80

/* completion syndromes */
enum {
    MTHCA_SYN_LOCAL_LENGTH      = 0x01,
    MTHCA_SYN_LOCAL_QP_OP       = 0x02,
    MTHCA_SYN_LOCAL_PROT        = 0x04,
    MTHCA_SYN_FLUSH             = 0x05,
    MTHCA_SYN_MW_BIND           = 0x06,
    MTHCA_SYN_BAD_RESP          = 0x10,
    MTHCA_SYN_LOCAL_ACCESS      = 0x11,
    MTHCA_SYN_REMOTE_INVAL      = 0x12,
    MTHCA_SYN_REMOTE_ACCESS     = 0x13,
    MTHCA_SYN_REMOTE_OP         = 0x14,
    MTHCA_SYN_RETRY_EXC         = 0x15,
    MTHCA_SYN_RNR_EXC           = 0x16,
    MTHCA_SYN_REMOTE_ABORT      = 0x22,
};

/* WQE opcodes */
enum {
    MTHCA_WQE_NOP               = 0x00,
    MTHCA_WQE_RDMA_WRITE        = 0x08,
    MTHCA_WQE_RDMA_WRITE_IMM    = 0x09,
    MTHCA_WQE_SEND              = 0x0a,
    MTHCA_WQE_SEND_IMM          = 0x0b,
    MTHCA_WQE_RDMA_READ         = 0x10,
    MTHCA_WQE_ATOMIC_CS         = 0x11,
    MTHCA_WQE_ATOMIC_FA         = 0x12,
    MTHCA_WQE_BIND              = 0x18,
};

/* next segment */
#define MTHCA_NEXT_DBD          0x80
#define MTHCA_NEXT_FENCE        0x40
#define MTHCA_NEXT_SOLICIT      (1u << 1)
#define MTHCA_NEXT_EVENT        (1u << 2)
#define MTHCA_NEXT_CQ_UPDATE    (1u << 3)
#define MTHCA_MLX_VL15          (1u << 17)
#define MTHCA_MLX_SLR           (1u << 16)
#define MTHCA_INLINE            (1u << 31)
#define MTHCA_INVAL_LKEY        0x100

/* QP states as in the context and transport service types */
enum {
    MTHCA_QPS_RST, MTHCA_QPS_INIT, MTHCA_QPS_RTR, MTHCA_QPS_RTS,
    MTHCA_QPS_SQE, MTHCA_QPS_SQD, MTHCA_QPS_ERR, MTHCA_QPS_DRAINING,
};
enum {
    MTHCA_ST_RC = 0, MTHCA_ST_UC = 1, MTHCA_ST_RD = 2, MTHCA_ST_UD = 3,
    MTHCA_ST_MLX = 7,
};

/* optional parameter mask of MODIFY_QP */
#define MTHCA_OPT_ALT_ADDR      (1u << 0)
#define MTHCA_OPT_RRE           (1u << 1)
#define MTHCA_OPT_RAE           (1u << 2)
#define MTHCA_OPT_RWE           (1u << 3)
#define MTHCA_OPT_PKEY          (1u << 4)
#define MTHCA_OPT_QKEY          (1u << 5)
#define MTHCA_OPT_RNR_TIMEOUT   (1u << 6)
#define MTHCA_OPT_PRIMARY       (1u << 7)
#define MTHCA_OPT_SRA_MAX       (1u << 8)
#define MTHCA_OPT_RRA_MAX       (1u << 9)
#define MTHCA_OPT_PM            (1u << 10)
#define MTHCA_OPT_RETRY         (1u << 12)
#define MTHCA_OPT_ACK_TO        (1u << 14)
#define MTHCA_OPT_RNR_RETRY     (1u << 15)
#define MTHCA_OPT_SCHED         (1u << 16)

/* QUERY_FW */
enum {
    MTHCA_FW_PAGES_NUM = 0x00, MTHCA_FW_MAJOR = 0x02, MTHCA_FW_SUBMINOR = 0x04,
    MTHCA_FW_MINOR = 0x06, MTHCA_FW_INTERFACE = 0x0a, MTHCA_FW_LOG_CMDS = 0x0f,
    MTHCA_FW_CLR_INT = 0x20, MTHCA_FW_CATAS = 0x30, MTHCA_FW_CATAS_SIZE = 0x38,
    MTHCA_FW_EQ_ARM = 0x40, MTHCA_FW_EQ_SET_CI = 0x48,
};

/* QUERY_DEV_LIM, where it is not in the table of limits; QUERY_ADAPTER */
enum { MTHCA_LIM_FLAGS = 0x44, MTHCA_LIM_MAX_ICM = 0xa0 };
enum { MTHCA_ADAPTER_PIN = 0x10, MTHCA_ADAPTER_BOARD_ID = 0xf0 };

/* INIT_HCA and QUERY_HCA; a log2 is the last byte of its table's base */
enum {
    MTHCA_HCA_FLAGS = 0x0c, MTHCA_HCA_LOG_QPS = 0x37, MTHCA_HCA_LOG_SRQS = 0x4f,
    MTHCA_HCA_LOG_CQS = 0x57, MTHCA_HCA_LOG_EQS = 0x87,
    MTHCA_HCA_MGM_BASE = 0xc0, MTHCA_HCA_LOG_MGM_SIZE = 0xd2,
    MTHCA_HCA_MGM_HASH = 0xd6, MTHCA_HCA_LOG_MGMS = 0xdb,
    MTHCA_HCA_LOG_MPTS = 0xfb, MTHCA_HCA_MTT_BASE = 0x100,
    MTHCA_HCA_LOG_UARC = 0x129, MTHCA_HCA_LOG_UARS = 0x12a,
    MTHCA_HCA_UARC_BASE = 0x138,
};

/* INIT_IB, SET_IB */
enum {
    MTHCA_IB_FLAGS = 0x00, MTHCA_IB_GIDS = 0x06, MTHCA_IB_PKEYS = 0x0a,
    MTHCA_SET_IB_CAPS = 0x04,
};

/* Entry of the protection table */
enum {
    MTHCA_MPE_FLAGS = 0x00, MTHCA_MPE_PAGE = 0x04, MTHCA_MPE_KEY = 0x08,
    MTHCA_MPE_PD = 0x0c, MTHCA_MPE_START = 0x10, MTHCA_MPE_LENGTH = 0x18,
    MTHCA_MPE_MTT = 0x2c,
};

/* Contexts of event, completion and shared receive queues */
enum {
    MTHCA_EQC_FLAGS = 0x00, MTHCA_EQC_START = 0x04, MTHCA_EQC_LOG_SIZE = 0x0c,
    MTHCA_EQC_INTR = 0x17, MTHCA_EQC_PD = 0x18, MTHCA_EQC_LKEY = 0x1c,
    MTHCA_EQC_CI = 0x28, MTHCA_EQC_PI = 0x2c,
};
enum {
    MTHCA_CQC_FLAGS = 0x00, MTHCA_CQC_START = 0x04, MTHCA_CQC_SIZE_UAR = 0x0c,
    MTHCA_CQC_EQN = 0x14, MTHCA_CQC_PD = 0x18, MTHCA_CQC_LKEY = 0x1c,
    MTHCA_CQC_SOLICIT_PI = 0x24, MTHCA_CQC_CI = 0x28, MTHCA_CQC_PI = 0x2c,
    MTHCA_CQC_CI_DB = 0x34, MTHCA_CQC_ARM_DB = 0x38,
};
enum {
    MTHCA_SRQC_LOG_SIZE = 0x00, MTHCA_SRQC_LKEY = 0x04, MTHCA_SRQC_DB = 0x08,
    MTHCA_SRQC_STRIDE_UAR = 0x0c, MTHCA_SRQC_BASE = 0x10,
    MTHCA_SRQC_STATE_PD = 0x18, MTHCA_SRQC_LIMIT = 0x1c,
    MTHCA_SRQC_POSTED = 0x1e, MTHCA_SRQC_TAIL = 0x22,
};

/* Entries of event and completion queues */
enum {
    MTHCA_EQE_TYPE = 0x01, MTHCA_EQE_SUBTYPE = 0x03, MTHCA_EQE_DATA = 0x04,
};
enum {
    MTHCA_CQE_QPN = 0x00, MTHCA_CQE_RQPN = 0x08, MTHCA_CQE_SL = 0x0c,
    MTHCA_CQE_G_MLPATH = 0x0d, MTHCA_CQE_RLID = 0x0e, MTHCA_CQE_IMM = 0x10,
    MTHCA_CQE_SYNDROME = 0x10, MTHCA_CQE_DB_CNT = 0x12,
    MTHCA_CQE_BYTE_CNT = 0x14, MTHCA_CQE_WQE = 0x18, MTHCA_CQE_OPCODE = 0x1c,
    MTHCA_CQE_IS_SEND = 0x1d,
};

/* QP context, offsets from the context (mailbox offset - 8) */
#define MTHCA_QPC_FLAGS         0x00
#define MTHCA_QPC_MTU_MSGMAX    0x08
#define MTHCA_QPC_RQ_SIZE       0x09
#define MTHCA_QPC_SQ_SIZE       0x0a
#define MTHCA_QPC_SCHED         0x0b
#define MTHCA_QPC_UAR           0x0c
#define MTHCA_QPC_LOCAL_QPN     0x10
#define MTHCA_QPC_REMOTE_QPN    0x14
#define MTHCA_QPC_PATH          0x20
#define MTHCA_QPC_ALT_PATH      0x40
#define MTHCA_QPC_PD            0x64
#define MTHCA_QPC_WQE_BASE      0x68
#define MTHCA_QPC_WQE_LKEY      0x6c
#define MTHCA_QPC_PARAMS1       0x70
#define MTHCA_QPC_NEXT_PSN      0x78
#define MTHCA_QPC_CQN_SND       0x7c
#define MTHCA_QPC_SND_BASE      0x80
#define MTHCA_QPC_SND_DB        0x84
#define MTHCA_QPC_LAST_ACKED    0x88
#define MTHCA_QPC_SSN           0x8c
#define MTHCA_QPC_PARAMS2       0x90
#define MTHCA_QPC_RNR_PSN       0x94
#define MTHCA_QPC_RA_BUFF       0x98
#define MTHCA_QPC_CQN_RCV       0x9c
#define MTHCA_QPC_RCV_BASE      0xa0
#define MTHCA_QPC_RCV_DB        0xa4
#define MTHCA_QPC_QKEY          0xa8
#define MTHCA_QPC_SRQN          0xac
#define MTHCA_QPC_RMSN          0xb0
#define MTHCA_QPC_RQ_COUNT      0xb4
#define MTHCA_QPC_SQ_COUNT      0xb6
#define MTHCA_QPC_SIZE          0x100

/* address path, 32 bytes */
#define MTHCA_PATH_PORT_PKEY    0x00
#define MTHCA_PATH_RNR_RETRY    0x04
#define MTHCA_PATH_G_MYLMC      0x05
#define MTHCA_PATH_DLID         0x06
#define MTHCA_PATH_ACKTO        0x08
#define MTHCA_PATH_MGID         0x09
#define MTHCA_PATH_RATE         0x0a
#define MTHCA_PATH_HOP          0x0b
#define MTHCA_PATH_SL_TC_FLOW   0x0c
#define MTHCA_PATH_DGID         0x10
#define MTHCA_PATH_SIZE         0x20

#define MTHCA_P1_SRE            (1u << 15)
#define MTHCA_P1_SWE            (1u << 14)
#define MTHCA_P1_SAE            (1u << 13)
#define MTHCA_P1_SSC            (1u << 3)
#define MTHCA_P2_RRE            (1u << 15)
#define MTHCA_P2_RWE            (1u << 14)
#define MTHCA_P2_RAE            (1u << 13)

#endif
