/*
 * Headers of the transaction layer (UB 2.0 §7.2): BTAH, ATAH and the extended
 * headers, and one table of the opcodes, which parser, builder, tracer and
 * dissector share.
 *
 * BTAH, ATAH and MAETAH have a full and a compact layout, and no bit tells which:
 * ub_tah_compact() is the one place that decides.  All headers are big-endian and
 * multiples of 4 bytes.
 *
 * The status of a transaction acknowledgement (UbTahRspst) is not that of a
 * transport acknowledgement: some codes mean other things there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_TAH_H
#define UB_TAH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* BTAH.TAOpcode (tables 7-1, 7-2). */
typedef enum UbTaOpcode {
    UB_TA_SEND = 0x00,
    UB_TA_SEND_IMM = 0x01,
    UB_TA_WRITE = 0x03,
    UB_TA_WRITE_IMM = 0x04,
    UB_TA_WRITE_NOTIFY = 0x05,
    UB_TA_READ = 0x06,
    UB_TA_ATOMIC_CAS = 0x07,
    UB_TA_ATOMIC_SWAP = 0x08,
    UB_TA_ATOMIC_STORE = 0x09,
    UB_TA_ATOMIC_LOAD = 0x0a,
    UB_TA_FETCH_ADD = 0x0b,
    UB_TA_FETCH_SUB = 0x0c,
    UB_TA_FETCH_AND = 0x0d,
    UB_TA_FETCH_OR = 0x0e,
    UB_TA_FETCH_XOR = 0x0f,
    UB_TA_MANAGEMENT = 0x10,
    UB_TA_TAACK = 0x11,
    UB_TA_READ_RESPONSE = 0x12,
    UB_TA_ATOMIC_RESPONSE = 0x13,
    UB_TA_WRITE_BE = 0x14,
    UB_TA_PREFETCH = 0x15,
    UB_TA_WRITEBACK = 0x17,
    UB_TA_WRITEBACK_BE = 0x18,
    UB_TA_OPCODES = 0x19,       /* this one and all above are reserved */
} UbTaOpcode;

/* Extended headers, in the order in which they stand in every packet. */
typedef enum UbTahExt {
    UB_EXT_UD,                  /* UDETAH, if UD_Flag */
    UB_EXT_MT,                  /* MTETAH */
    UB_EXT_TAID,                /* TAIDETAH */
    UB_EXT_OFST,                /* OFSTETAH */
    UB_EXT_MA,                  /* MAETAH */
    UB_EXT_IMM,                 /* IMMETAH */
    UB_EXT_NTF,                 /* NTFETAH */
    UB_EXT_MGMT,                /* MGMTETAH */
    UB_EXT_TV,                  /* TVETAH, if TV_EN */
    UB_EXT_BE,                  /* BEETAH */
    UB_EXTS
} UbTahExt;

#define UB_EXT_BIT(ext) (1u << (ext))

typedef enum UbTaKind {
    UB_TA_RESERVED,
    UB_TA_MESSAGE,              /* Send: a receive buffer takes the data */
    UB_TA_MEMORY,               /* Write and its like */
    UB_TA_FETCH,                /* Read */
    UB_TA_ATOMIC,
    UB_TA_MAINTAIN,             /* Prefetch_tgt */
    UB_TA_MANAGE,
    UB_TA_RESPONSE,
} UbTaKind;

/* Service modes (§7.3.3). */
typedef enum UbTaMode { UB_ROI, UB_ROT, UB_ROL, UB_UNO, UB_TA_MODES } UbTaMode;

typedef struct UbTaOpInfo {
    const char *name;           /* NULL: reserved */
    uint8_t kind;               /* UbTaKind */
    uint16_t ext;               /* extended headers that it has */
    uint16_t may;               /* and may have: UD and TV by their flags, TAID
                                 * and OFST by UbTahForm */
    uint8_t modes;              /* bit m: allowed in service mode m */
    uint8_t response;           /* opcode of its response, 0: none ever */
    bool payload;               /* data follow */
    bool single;                /* exactly one packet */
    bool rqe;                   /* takes a receive buffer */
    bool compact;               /* may be in compact form */
    bool bypass;                /* drawn among the packets of CFG 9 (§B.2.6) */
} UbTaOpInfo;

/* The last row is that of all opcodes that are reserved. */
extern const UbTaOpInfo ub_ta_ops[UB_TA_OPCODES + 1];

/* The row of an opcode of the wire; one without a name if it is reserved. */
static inline const UbTaOpInfo *ub_ta_op(uint8_t opcode)
{
    return &ub_ta_ops[opcode < UB_TA_OPCODES ? opcode : UB_TA_OPCODES];
}

/* ATAH.RSPST, full form. */
typedef enum UbTahRspst {
    UB_TAH_OK = 0,              /* RSPINFO: how many more are acknowledged */
    UB_TAH_RNR = 1,             /* RSPINFO: RNR_Timer, 0 to 19 */
    UB_TAH_PAGE_FAULT = 2,      /* RSPINFO: RNR_Timer */
    UB_TAH_COMPLETER = 3,       /* RSPINFO: UbTahError */
    UB_TAH_ACCEPTED = 5,        /* as OK, not yet in the medium */
} UbTahRspst;

typedef enum UbTahError {
    UB_TAH_UNSUPPORTED = 1,     /* Unsupported Request */
    UB_TAH_ABORT = 2,           /* Remote Abort */
} UbTahError;

enum {
    UB_TAH_TIMER_MAX = 19,      /* RNR_Timeout is 2 us * 2^RNR_Timer */
    UB_TAH_AGGREGATE = 32,      /* responses in one TAACK */
    UB_TAH_MAX = 192,           /* no stack of headers is longer */
    UB_TASSN_BITS = 16,
    UB_TA_IDS = 1 << 20,        /* RCIDs, TCIDs, SCIDs, TokenIDs */
    UB_OFST_UNIT = 1024,
    UB_TA_ATOMIC_MAX = 64,
    UB_TA_BE_MAX = 1024,        /* bytes that byte enables cover */
    UB_TA_PDU_MAX = 1024,       /* of Management */
    UB_EE_NORMAL = 1,           /* EE_bits: not in a TEE */
    UB_EE_TEE = 3,
    UB_RC_SQ = 0,               /* INI_RC_Type; 1 is the same */
    UB_RC_SC = 2,
    UB_TC_RQ = 0,               /* TGT_TC_Type; 1 is the same */
    UB_TC_GROUP = 2,
};

/* Order of execution, ODR[1:0]. */
typedef enum UbTaOrder { UB_TA_NO, UB_TA_RO, UB_TA_SO } UbTaOrder;

/* How a link writes what the document leaves open. */
typedef struct UbTahForm {
    bool compact;
    /* Full Read, Read_response and atomics have TAIDETAH, full Read and
     * Read_response OFSTETAH (nothing in a packet says so). */
    bool tasks;
    /* Compact MAETAH: TokenID in bits 27:8 as in the full one, not in 19:0. */
    bool token_high;
} UbTahForm;

/* All headers of one packet. */
typedef struct UbTah {
    uint8_t opcode;
    uint8_t ver, ee;            /* TAver, EE_bits */
    bool poison;
    uint16_t tassn;             /* INI_TASSN; SCID if sv; MSN of Management */
    /* Requests. */
    bool tv_en, ud_flag, no_taack, mt_en, fce, retry, alloc, e_bit, ordered_cqe;
    uint8_t order;              /* ODR[1:0]; compact: from MAETAH.SO */
    /* Responses. */
    bool sv;
    uint8_t status;             /* compact: 0 good, 1 refused */
    uint8_t rspst, rspinfo;
    /* Both, full. */
    uint8_t rc_type;
    uint32_t rc_id;
    uint16_t ext;               /* extended headers that are there */
    uint32_t ud;
    uint8_t hint, tc_type;      /* MTETAH */
    uint32_t tc_id;
    uint16_t taid;
    uint32_t offset;            /* in UB_OFST_UNIT */
    uint64_t addr;              /* MAETAH */
    uint32_t token_id, length;
    uint8_t affinity;           /* compact */
    uint64_t imm;               /* IMMETAH */
    uint32_t imm_token, msg_len;
    uint64_t ntf_addr, ntf_data;
    uint32_t ntf_token_id, ntf_token;
    uint8_t mgmt_code, mgmt_sub, mgmt_status;
    bool mgmt_rsp;
    uint16_t pdu_len;
    uint32_t token;             /* TVETAH */
    const uint8_t *be;          /* BEETAH as it stands in the packet */
    uint32_t be_len;
} UbTah;

/* Bytes of an extended header but BEETAH. */
uint32_t ub_tah_ext_size(UbTahExt ext, bool compact);
const char *ub_tah_ext_name(UbTahExt ext);
/* Bytes of the byte enables of @length bytes of data (8 to 128), or 0: no such
 * length (§7.2.10). */
uint32_t ub_tah_be_size(uint32_t length);

/* Extended headers that a packet of @t.opcode, @t.ud_flag and @t.tv_en has. */
uint16_t ub_tah_exts(const UbTahForm *form, const UbTah *t);
/* Bytes of the headers of @t, whose ext is set. */
uint32_t ub_tah_size(const UbTahForm *form, const UbTah *t);
/* Write them; t->be_len bytes of byte enables come from t->be.  Returns their
 * number. */
uint32_t ub_tah_build(const UbTahForm *form, const UbTah *t, uint8_t *p);

typedef enum UbTahFault {
    UB_TAH_GOOD,
    UB_TAH_SHORT,               /* ends within a header */
    UB_TAH_OPCODE,              /* reserved */
    UB_TAH_VERSION,
    UB_TAH_FIELD,               /* a reserved value; all fields are read */
    UB_TAH_FORM,                /* not in compact form */
    UB_TAH_FAULTS
} UbTahFault;

/*
 * Take the headers of a packet apart; @hdr becomes their number of bytes.  After
 * any fault but UB_TAH_SHORT the fields of BTAH or ATAH are good, so that a
 * request can be answered.
 */
UbTahFault ub_tah_parse(const UbTahForm *form, const uint8_t *p, uint32_t len,
                        UbTah *t, uint32_t *hdr);
const char *ub_tah_fault_name(UbTahFault fault);

/* Compact MAETAH.Length: bytes of a code, and the code of bytes, -1 if none. */
static inline uint32_t ub_tah_block(unsigned code)
{
    return 64u << code;
}

int ub_tah_block_code(uint32_t bytes);

/*
 * Which form a packet has, of LPH.CFG @cfg and of @opcode; responses have that
 * of their request.  @compact6: memory operations of CFG 6 are compact too.
 */
static inline bool ub_tah_compact(unsigned cfg, uint8_t opcode, bool compact6)
{
    return cfg == 9 || (cfg == 6 && compact6 && ub_ta_op(opcode)->compact);
}

/* One line that names headers and fields, for traces; at most @size bytes of
 * @out with the end mark. */
void ub_tah_print(const UbTahForm *form, const UbTah *t, char *out,
                  size_t size);

#endif
