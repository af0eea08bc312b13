/*
 * The UMMU as software sees it: registers, commands, events, tables in memory.
 *
 * Shared by the model, its tests and drivers: constants only.  Everything is
 * little-endian but where a table says otherwise.  docs/specs/ub-ummu.rst is the
 * programming guide.
 *
 * Tables are those of UB 2.0 chapter 9.  The document has no registers, commands
 * and events; these have the places and numbers that are public, and what is
 * marked "own" is this model's.
 *
 * Qn[h:l] is bits h to l of the 64-bit word at byte 8 * n, Wn that of 32 bits at
 * byte 4 * n.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_UMMU_HW_H
#define UB_UMMU_HW_H

/* Of a 64-bit word: bits h to l. */
#define UBM_MASK(h, l) ((~0ull >> (63 - (h))) & (~0ull << (l)))

/* ---- Registers: offsets in the window ------------------------------------------
 *
 * 32 bits each; "64" are two, low half first.
 */
#define UBM_WINDOW 0x400000u     /* in BAR0 */
#define UBM_WINDOW_SIZE 0xc00000u

#define UBM_IIDR 0x0000          /* RO: PROD_ID [19:8] */
#define UBM_IIDR_PROD 0x0b100u
#define UBM_AIDR 0x0004          /* RO: architecture 2.0 */
#define UBM_AIDR_VALUE 0x20u
#define UBM_CAP(n) (0x0010 + 4 * (n)) /* RO, n = 0 to 6 */
#define UBM_CAP0_EID_BITS 0x000000ffu
#define UBM_CAP0_TOKEN_BITS 0x00001f00u
#define UBM_CAP0_PERM_OVR (1u << 13)  /* PRIV_SEL */
#define UBM_CAP0_TCT_2LEVEL (1u << 16)
#define UBM_CAP0_TECT_MODE 0x00060000u /* 1: by EID map */
#define UBM_CAP0_TECT_2LEVEL (1u << 19)
#define UBM_CAP1_EVTQ_LOG2 0x0000001fu
#define UBM_CAP1_EVTQ (1u << 9)
#define UBM_CAP1_CMDQ_LOG2 0x00003c00u
#define UBM_CAP1_CMDQS_LOG2 0x0003c000u
#define UBM_CAP1_CMDQ (1u << 18)
#define UBM_CAP1_STALL_MAX 0xfff00000u
#define UBM_CAP2_RANGE_TLBI (1u << 2)
#define UBM_CAP2_OAS 0x00000038u      /* 5: 48 bits */
#define UBM_CAP2_GRAN4K (1u << 6)
#define UBM_CAP2_GRAN16K (1u << 7)
#define UBM_CAP2_GRAN64K (1u << 8)
#define UBM_CAP2_S2 (1u << 11)
#define UBM_CAP2_S1 (1u << 12)
#define UBM_CAP2_TTF 0x0000c000u      /* 2: 64-bit descriptors */
#define UBM_CAP3_COHERENT (1u << 4)
#define UBM_CAP3_TTENDIAN 0x00000060u /* 0: both */
#define UBM_CAP3_MTM (1u << 7)
#define UBM_CAP3_HTTU 0x00000300u     /* 2: access flag and dirty */
#define UBM_CAP3_USI (1u << 11)
#define UBM_CAP3_STALL 0x00003000u    /* 0: stall and terminate */
#define UBM_CAP3_TERM (1u << 14)
#define UBM_CAP4_UQS_LOG2 0x000000ffu
#define UBM_CAP4_UCMDQ_LOG2 0x00000f00u
#define UBM_CAP4_UCPLQ_LOG2 0x0000f000u
#define UBM_CAP4_PPLB (1u << 25)      /* Positive PLB (§9.4.4.3.2) */
#define UBM_CAP5_MAPT (1u << 0)
#define UBM_CAP5_MODE 0x00000006u     /* 3: single-entry and multi-level */
#define UBM_CAP5_2M (1u << 3)
#define UBM_CAP5_4K (1u << 4)
#define UBM_CAP5_TOKEN (1u << 5)
#define UBM_CAP5_RANGE_PLBI (1u << 8)
#define UBM_CAP6_MTM_MAX 0x0000ffffu

#define UBM_CR0 0x0030
#define UBM_CR0_ENABLE (1u << 0)      /* accesses are translated */
#define UBM_CR0_EVTQ (1u << 1)        /* events are recorded */
#define UBM_CR0_VMID_WILD 0x0000001cu /* RW, no effect */
#define UBM_CR0_MAPT (1u << 5)        /* permission tables work; 0: what asks
                                       * for them is refused */
#define UBM_CR0_ALL 0x3fu
#define UBM_CR0ACK 0x0034             /* RO: CR0, at once */
#define UBM_CR1 0x0038                /* RW, no effect but bit 13 */
#define UBM_CR1_BAD_EID (1u << 13)    /* record UBM_EVT_BAD_EID */
#define UBM_CR2 0x003c                /* RW, no effect */
#define UBM_CR3 0x0040                /* RW, no effect; UPDATE [31] reads 0 */
#define UBM_GBPA 0x0050               /* while not enabled; UPDATE reads 0 */
#define UBM_GBPA_ABORT (1u << 15)     /* refuse all; 0: plain segments */
#define UBM_GBPA_UPDATE (1u << 31)
/* Configuration table of Entities that are not in a TEE; writable while not
 * enabled. */
#define UBM_TECT_BASE 0x0070          /* 64: address [51:6] */
#define UBM_TECT_CFG 0x0078
#define UBM_TECT_LOG2 0x0000003fu     /* log2 of the number of TECTEs … */
#define UBM_TECT_LOG2_MAX 16u         /* … 0-16; what does not exist is not taken */
#define UBM_TECT_SPLIT 0x000007c0u    /* two-level: low bits of the tag that
                                       * index the second level; 1-15 */
#define UBM_TECT_FMT 0x00001800u      /* 0 linear, 1 two-level */

/* Command queues: a ring of 2^LOG2 commands of 32 bytes each.  PROD, CONS: index
 * with wrap bit [LOG2:0]. */
#define UBM_CMDQS 8u
#define UBM_CMDQ_LOG2_MAX 12u
#define UBM_CMDQ(n) (0x0100 + 16 * (n))
#define UBM_CMDQ_BASE 0x0             /* 64: address [51:5], LOG2 [4:0]; writable
                                       * while not enabled */
#define UBM_CMDQ_PROD 0x8             /* software's index */
#define UBM_CMDQ_CONS 0xc             /* device's; writable while not enabled */
#define UBM_Q_INDEX 0x000fffffu
#define UBM_Q_ERROR (1u << 23)        /* CONS: toggles at an error, and the queue
                                       * waits until PROD has the same */
#define UBM_CONS_REASON 0x07000000u
#define UBM_REASON_NONE 0u
#define UBM_REASON_ILLEGAL 1u         /* command that does not exist */
#define UBM_REASON_ABORT 2u           /* memory that is not there */
#define UBM_Q_ENABLE (1u << 31)       /* PROD: enable; CONS: it is, at once */

/* Event queue: a ring of 2^LOG2 events of 64 bytes.  CONS is software's. */
#define UBM_EVTQ_LOG2_MAX 16u
#define UBM_EVTQ_BASE 0x1100          /* 64: address [51:6], LOG2 [4:0]; writable
                                       * while CR0.EVTQ is 0 */
#define UBM_EVTQ_PROD 0x1108          /* [31] toggles when events were lost … */
#define UBM_EVTQ_CONS 0x110c          /* … until [31] here is the same */
#define UBM_EVTQ_OVERFLOW (1u << 31)
#define UBM_EVTQ_USI_ADDR 0x1110      /* 64: RW, no effect */
#define UBM_EVTQ_USI_DATA 0x1118      /* RW: the entry of the MSI-X table */
#define UBM_EVTQ_USI_ATTR 0x111c      /* RW, no effect */
#define UBM_IRQ_ENABLE 0x1130
#define UBM_IRQ_GERROR (1u << 0)
#define UBM_IRQ_EVTQ (1u << 1)
/* A bit of GERROR toggles; software makes GERRORN the same. */
#define UBM_GERROR 0x1134             /* RO */
#define UBM_GERRORN 0x1138
#define UBM_GERROR_CMDQ (1u << 0)
#define UBM_GERROR_EVTQ (1u << 1)     /* an event could not be written */
#define UBM_GERROR_SYNC (1u << 2)     /* nor the word of a SYNC */
#define UBM_GERROR_ALL 0x9fu
#define UBM_GERROR_USI_ADDR 0x1140
#define UBM_GERROR_USI_DATA 0x1148    /* RW: the entry of the MSI-X table */
#define UBM_GERROR_USI_ATTR 0x114c
/* Queues of unprivileged software. */
#define UBM_UQ_CTX 0x1160             /* 64: context table [51:6], log2 of its
                                       * entries [4:0] */
#define UBM_UQ_CTX_ATTR 0x1168        /* RW, no effect */
#define UBM_UQ_RELEASE 0x1178         /* W1: the queue of UBM_UQ_RELEASE_ID stops
                                       * and its indexes become 0; reads 0 */
#define UBM_UQ_RELEASE_ID 0x117c
/* Own. */
#define UBM_DEFAULT 0x3900            /* whose TECTE it is when no EID says so */
#define UBM_DEFAULT_TAG 0x0000ffffu
#define UBM_DEFAULT_ALL (1u << 30)    /* of EIDs that have no mapping, too */
#define UBM_DEFAULT_BARE (1u << 31)   /* of packets without EIDs (CFG 9) */
#define UBM_PF_TIMER 0x3904           /* RNR_Timer of Page Faults, 0-19 */
#define UBM_TEE_BASE 0x3910           /* 64: as TECT_BASE, for EE_bits 11 … */
#define UBM_TEE_CFG 0x3918            /* … and as TECT_CFG; */
#define UBM_TEE_CFG_ENABLE (1u << 31) /* 0: there is no TEE */
#define UBM_TEE_MEM 0x3920            /* 64: memory of the TEE, which only EE_bits
                                       * 11 reach, and nothing else: address … */
#define UBM_TEE_MEM_SIZE 0x3928       /* 64: … and bytes, multiples of 4096 */
#define UBM_LOST 0x3930               /* RO: events that found no room */
#define UBM_MERGED 0x3934             /* RO: events merged with one unread */
/* Monitors (MTM): of id n, accesses (64) and bytes (64). */
#define UBM_MTM(n) (0x4000 + 16 * (n))
#define UBM_MTMS 256u
/* A page for each queue of unprivileged software. */
#define UBM_UQ(n) (0x20000u + 0x10000u * (n))
#define UBM_UQS 128u
#define UBM_UQ_CMD_PI 0x0             /* RW: doorbell */
#define UBM_UQ_CMD_CI 0x4             /* RO */
#define UBM_UQ_CPL_PI 0x8             /* RO */
#define UBM_UQ_CPL_CI 0xc             /* RW */

/* ---- Commands: 32 bytes ----------------------------------------------------------
 *
 * Fields that several have; each says which.
 */
#define UBM_CMD 32u
#define UBM_CMD_OP UBM_MASK(7, 0)     /* of Q0 */
#define UBM_CMD_TOKEN UBM_MASK(31, 12) /* of Q0: TokenID */
#define UBM_CMD_RANGE UBM_MASK(37, 32) /* of Q0: 4 KiB << n from the address on */
#define UBM_CMD_ADDR UBM_MASK(63, 12) /* of Q1 */
#define UBM_CMD_TAG UBM_MASK(15, 0)   /* of Q2: TECTE tag */
#define UBM_CMD_VMID UBM_MASK(63, 48) /* of Q0 */

#define UBM_CMD_SYNC 0x01             /* all before it are done */
#define UBM_SYNC_CM UBM_MASK(13, 12)  /* of Q0: 0 nothing, 1 write a word, 2
                                       * nothing */
#define UBM_SYNC_DATA UBM_MASK(63, 32) /* of Q0: the word … */
#define UBM_SYNC_ADDR UBM_MASK(51, 2) /* of Q1: … and where */
#define UBM_CMD_STALL_RESUME 0x02     /* TAG */
#define UBM_RESUME_RETRY (1ull << 12) /* of Q0 */
#define UBM_RESUME_ABORT (1ull << 13) /* of Q0 */
#define UBM_RESUME_STAG UBM_MASK(15, 0) /* of Q1 */
#define UBM_CMD_STALL_TERM 0x03       /* TAG: all its stalls end in refusal */
#define UBM_CMD_PREFETCH 0x04         /* no effect */
#define UBM_CMD_CFGI_TECT 0x08        /* TAG */
#define UBM_CMD_CFGI_TECT_RANGE 0x09  /* TAG, and the 2^(n+1) TECTEs around it */
#define UBM_CFGI_RANGE UBM_MASK(56, 52) /* of Q0: n; 31: all */
#define UBM_CMD_CFGI_TCT 0x0a         /* TAG, TOKEN */
#define UBM_CMD_CFGI_TCT_ALL 0x0b     /* TAG */
#define UBM_CMD_TLBI_OS_ALL 0x10      /* VMID */
#define UBM_CMD_TLBI_OS_TID 0x11      /* TOKEN of all TECTEs */
#define UBM_CMD_TLBI_OS_VA 0x12       /* TOKEN, ADDR, RANGE */
#define UBM_CMD_TLBI_OS_VAA 0x13      /* ADDR, RANGE */
#define UBM_CMD_PLBI_EID 0x14         /* TAG */
#define UBM_CMD_PLBI_EID_TID 0x15     /* TAG, TOKEN */
#define UBM_CMD_PLBI_VA 0x16          /* TAG, TOKEN, ADDR, RANGE */
#define UBM_CMD_TLBI_HYP_ALL 0x18     /* as 0x10 to 0x13 */
#define UBM_CMD_TLBI_HYP_TID 0x19
#define UBM_CMD_TLBI_HYP_VA 0x1a
#define UBM_CMD_TLBI_HYP_VAA 0x1b
#define UBM_CMD_TLBI_S1S2_VMALL 0x28  /* VMID */
#define UBM_CMD_TLBI_S2_IPA 0x2a      /* VMID */
#define UBM_CMD_TLBI_NS_ALL 0x2c
#define UBM_CMD_MAP 0x60              /* an EID has a TECTE: MAP_TAG, EID */
#define UBM_CMD_UNMAP 0x61            /* EID */
#define UBM_MAP_TAG UBM_MASK(31, 16)  /* of Q0 */
#define UBM_MAP_EID 16                /* Q2, Q3: EID, bits 63:0 first.  Q0[63:32]
                                       * and Q1 are of a hash table that the
                                       * device has inside: ignored */
#define UBM_CMD_NULL 0x62             /* no effect */
#define UBM_CMD_PLBI_ALL 0x63         /* all TECTEs */
/* 0x90 to 0x93, 0x99 to 0x9b, 0xa8, 0xaa: by ASID; they drop all translations. */

#define UBM_MAPPINGS 4096u            /* EIDs that may be mapped */

/* Of unprivileged software: 16 bytes, for the TECTE and TokenID of its context. */
#define UBM_UCMD 16u
#define UBM_UCMD_PSYNC 0x01           /* completes when all before it are done */
#define UBM_UCMD_PLBI_ALL 0x10
#define UBM_UCMD_PLBI_VA 0x11         /* ADDR in Q1, RANGE in Q0 */
#define UBM_UCPL 4u                   /* completion: of PSYNC, and of errors */
#define UBM_UCPL_STATUS 0x0000000fu
#define UBM_UCPL_OK 1u
#define UBM_UCPL_TYPE 2u              /* no such command */
#define UBM_UCPL_PROCESS 3u           /* it could not be read */
#define UBM_UCPL_CI 0xffff0000u       /* commands taken, this one included */
/* Context of a queue, 64 bytes; indexes are the device's. */
#define UBM_UCTX 64u
#define UBM_UCTX_CMD 0                /* Q0: command ring [51:12], LOG2 [5:2] */
#define UBM_UCTX_CPL 8                /* Q1: completion ring, the same */
#define UBM_UCTX_TAG 16               /* W4 [15:0]: TECTE tag */
#define UBM_UCTX_TOKEN 32             /* W8 [19:0]: TokenID */
#define UBM_UQ_LOG2_MAX 10u

/* ---- Events: 64 bytes --------------------------------------------------------------- */

#define UBM_EVT 64u
#define UBM_EVT_CODE UBM_MASK(7, 0)   /* of Q0 */
#define UBM_EVT_READ (1ull << 11)     /* 1 read, 0 write or atomic */
#define UBM_EVT_PRIV (1ull << 13)
#define UBM_EVT_CLASS UBM_MASK(15, 14) /* stage 2: it was of 0 the TCT, 1 a table
                                        * of stage 1, 2 the address itself, own: 3
                                        * the permission table */
#define UBM_EVT_S2 (1ull << 17)
#define UBM_EVT_STALL (1ull << 18)    /* it waits for STALL_RESUME */
#define UBM_EVT_LOCAL (1ull << 20)    /* own: of a queue's element, not a peer's */
#define UBM_EVT_TOKEN UBM_MASK(51, 32)
#define UBM_EVT_STAG UBM_MASK(15, 0)  /* of Q1 */
#define UBM_EVT_REASON UBM_MASK(63, 32) /* of Q1: UBM_WHY_* */
#define UBM_EVT_IPA UBM_MASK(51, 12)  /* of Q2 */
#define UBM_EVT_ADDR 24               /* Q3: UBA */
#define UBM_EVT_TAG UBM_MASK(15, 0)   /* of Q4: TECTE tag */
#define UBM_EVT_EID 32                /* BAD_EID: Q4, Q5: EID of the local Entity,
                                       * bits 63:0 first */
#define UBM_EVT_FETCH 48              /* Q6: address of the table entry */
#define UBM_EVT_ENTITY UBM_MASK(15, 0) /* own: of Q7: local Entity */

#define UBM_EVT_TYPE 0x01             /* EE_bits that have no tables */
#define UBM_EVT_BAD_EID 0x02
#define UBM_EVT_TECT_FETCH 0x03
#define UBM_EVT_BAD_TECTE 0x04
#define UBM_EVT_BAD_TOKEN 0x06
#define UBM_EVT_TCT_FETCH 0x07
#define UBM_EVT_BAD_TCTE 0x08
#define UBM_EVT_WALK 0x09
#define UBM_EVT_TRANSLATION 0x0a
#define UBM_EVT_SIZE 0x0b
#define UBM_EVT_ACCESS_FLAG 0x0c
#define UBM_EVT_PERMISSION 0x0d       /* of the translation tables */
#define UBM_EVT_MAPT_WALK 0x11
#define UBM_EVT_MAPT_CONFIG 0x12
#define UBM_EVT_MAPT 0x13             /* permission tables */
#define UBM_EVT_E_BIT 0x15
#define UBM_EVT_MAPPED 0x60           /* MAP that failed, own: only failures */
#define UBM_EVT_UNMAPPED 0x61

/*
 * What refused: the decisions of §9.4.1, in the order in which they are taken.
 * 1 to 20 are the document's conditions, the others stand beside them.
 */
#define UBM_WHYS(X) \
    X(1, TECTE_INVALID, "TECTE.V is 0") \
    X(2, ST_MODE, "TECTE.ST_MODE is invalid") \
    X(3, STAGE, "TECTE.ST_MODE needs a stage that is not there") \
    X(4, TCT_NUM, "stage 1 and TECTE.TCT_NUM is 0") \
    X(5, TOKEN_ID, "TokenID beyond TECTE.TCT_NUM") \
    X(6, L1_TCTE, "V of the first-level TCTE is 0") \
    X(7, TCTE_INVALID, "TCTE.V is 0") \
    X(8, FBS, "TCTE.FBS without TECTE.TCT_STALL_EN") \
    X(9, MAPT_BASE, "MAPT base or block table beyond GPAS") \
    X(10, E_TCTE, "TCTE.E_Bit and the request has none") \
    X(11, MATTWD, "MATTWD and no translation is cached") \
    X(12, SIZE, "output of stage 1 beyond GPAS") \
    X(13, ACCESS_FLAG, "access flag is 0") \
    X(14, TRANSLATION, "no translation") \
    X(15, PERMISSION, "refused by the translation table") \
    X(16, MAPTE_INVALID, "V of the permission entry is 0") \
    X(17, RANGE, "outside of all ranges") \
    X(18, TOKEN_VALUE, "TokenValue is neither of the two") \
    X(19, E_MAPTE, "E_Bit of the permission entry and the request has none") \
    X(20, RIGHT, "access type not granted") \
    X(32, ABORT, "the UMMU is off and GBPA.ABORT is set") \
    X(33, EE, "no tables for these EE_bits") \
    X(34, EID, "EID without a TECTE") \
    X(35, TECT_FETCH, "TECT in memory that is not there") \
    X(36, TECTE_FIELD, "reserved value in the TECTE") \
    X(37, TCT_FETCH, "TCT in memory that is not there") \
    X(38, TCTE_FIELD, "reserved value in the TCTE") \
    X(39, MAPT_OFF, "permission tables are off in CR0") \
    X(40, MAPT_FIELD, "reserved value for the permission table") \
    X(41, WALK, "translation table in memory that is not there") \
    X(42, MAPT_WALK, "permission table in memory that is not there") \
    X(43, MAPT_BLOCK, "permission table beyond its block, or block not valid") \
    X(44, TEE_MEMORY, "memory of the other side of the TEE") \
    X(45, PIECES, "more ranges than one packet may touch") \
    X(46, STALL_ABORT, "software ended the stall")

#define UBM_WHY_X(n, id, text) UBM_WHY_##id = (n),
enum { UBM_WHY_NONE, UBM_WHYS(UBM_WHY_X) };
#undef UBM_WHY_X

/* ---- TECTE, 64 bytes (table 9-1) ------------------------------------------------------ */

#define UBM_TECTE 64u
/* Q0 */
#define UBM_TECTE_V (1ull << 0)
#define UBM_TECTE_ST_MODE UBM_MASK(3, 1) /* 5 stage 1, 6 stage 2, 7 both */
#define UBM_TECTE_PRIV_SEL UBM_MASK(16, 15) /* 0, 1 as the request, which is
                                      * unprivileged; 2 so, 3 privileged */
#define UBM_TECTE_MAPT_EN (1ull << 19)
#define UBM_TECTE_EM_EN (1ull << 20)
#define UBM_TECTE_S2_VMID UBM_MASK(47, 32)
/* Q1 */
#define UBM_TECTE_TCT_NUM UBM_MASK(4, 0) /* log2 of the number of TokenIDs, 1-20 */
#define UBM_TECTE_TCT_NUM_MAX 20u
#define UBM_TECTE_TCT_PTR UBM_MASK(51, 6)
#define UBM_TECTE_TCT_FMT UBM_MASK(53, 52) /* 0 linear, 1 two-level of 64 */
#define UBM_TECTE_TCT_STALL_EN (1ull << 56)
#define UBM_TECTE_TCT_MTM_EN (1ull << 57)
/* Q2 */
#define UBM_TECTE_S2_TSZ UBM_MASK(5, 0) /* IPA of 64 - n bits */
#define UBM_TECTE_S2_SL UBM_MASK(7, 6) /* first level: 4 KiB 2 - n, else 3 - n */
#define UBM_TECTE_S2_TG UBM_MASK(9, 8) /* 0 4 KiB, 1 64 KiB, 2 16 KiB */
#define UBM_TECTE_S2_PAS UBM_MASK(14, 12) /* 0 32 bits, 5 48 */
#define UBM_TECTE_S2_ENDI (1ull << 15)
#define UBM_TECTE_S2_HDF (1ull << 16)
#define UBM_TECTE_S2_HAF (1ull << 17)
#define UBM_TECTE_S2_AFFD (1ull << 18)
#define UBM_TECTE_S2_FBS (1ull << 19)
#define UBM_TECTE_S2_FBR (1ull << 20)
#define UBM_TECTE_S2_PF (1ull << 21)  /* own: faults are answered by Page Fault */
/* Q3 */
#define UBM_TECTE_S2_MATT UBM_MASK(51, 4)
/* Q5, Q6 */
#define UBM_TECTE_MTMC_PTR UBM_MASK(51, 12)
#define UBM_TECTE_MTM_ID UBM_MASK(15, 0)
#define UBM_TECTE_MTM_GP UBM_MASK(23, 16)
/* First level of a two-level TECT: 8 bytes. */
#define UBM_TECT_L1_V (1ull << 0)
#define UBM_TECT_L1_NUM UBM_MASK(4, 1) /* log2 of the TECTEs there are behind it */
#define UBM_TECT_L1_PTR UBM_MASK(51, 6)

/* ---- TCTE, 64 bytes (table 9-2) ------------------------------------------------------- */

#define UBM_TCTE 64u
/* Q0 */
#define UBM_TCTE_V (1ull << 0)
#define UBM_TCTE_ENDI (1ull << 2)     /* tables of stage 1 and permission tables
                                       * are big-endian, block table too */
#define UBM_TCTE_GPAS UBM_MASK(5, 3)  /* 32, 36, 40, 42, 44, 48 bits */
#define UBM_TCTE_AFFD (1ull << 9)
#define UBM_TCTE_HDF (1ull << 10)
#define UBM_TCTE_HAF (1ull << 11)
#define UBM_TCTE_FBS (1ull << 12)     /* a fault stalls */
#define UBM_TCTE_FBR (1ull << 13)     /* a fault is recorded */
#define UBM_TCTE_PF (1ull << 14)      /* own: faults are answered by Page Fault */
#define UBM_TCTE_MAPT_MODE (1ull << 16) /* 0 single entry, 1 multi-level */
#define UBM_TCTE_RTGS UBM_MASK(18, 17) /* multi-level: 1 4 KiB, 2 2 MiB */
#define UBM_TCTE_MAPT_EN (1ull << 19)
#define UBM_TCTE_MAC_EN (1ull << 20)
#define UBM_TCTE_E_BIT (1ull << 21)
/* Q1 */
#define UBM_TCTE_SZ UBM_MASK(5, 0)    /* UBA of 64 - n bits: n = 16 to 39 */
#define UBM_TCTE_TGS UBM_MASK(7, 6)   /* 0 4 KiB, 1 64 KiB, 2 16 KiB */
#define UBM_TCTE_MATTWD (1ull << 8)
#define UBM_TCTE_MTM_ID UBM_MASK(47, 32)
#define UBM_TCTE_MTM_GP UBM_MASK(55, 48)
/* Q2 */
#define UBM_TCTE_MATTBA UBM_MASK(51, 4)
/* Q3, Q4 */
#define UBM_TCTE_MAPT_BBA UBM_MASK(47, 5)
#define UBM_TCTE_MAPT_BB_SZ UBM_MASK(63, 60) /* 4 KiB << n, 0-9 */
#define UBM_TCTE_MAPT_BTA UBM_MASK(47, 5)
#define UBM_TCTE_MAPT_BT_SZ UBM_MASK(62, 60) /* 4 KiB << n */
/* First level of a two-level TCT: 8 bytes, of 64 TCTEs. */
#define UBM_TCT_L1_V (1ull << 0)
#define UBM_TCT_L1_PTR UBM_MASK(51, 12)

/* ---- Translation tables: 64-bit descriptors of VMSAv8-64 --------------------------------
 *
 * 4 KiB: four levels of 512, blocks of 1 GiB and 2 MiB.
 */
#define UBM_PTE_VALID (1ull << 0)
#define UBM_PTE_TABLE (1ull << 1)     /* last level: a page; else 0 is a block */
#define UBM_PTE_USER (1ull << 6)      /* stage 1, AP[1]: unprivileged may */
#define UBM_PTE_READONLY (1ull << 7)  /* stage 1, AP[2] */
#define UBM_PTE_S2_READ (1ull << 6)
#define UBM_PTE_S2_WRITE (1ull << 7)
#define UBM_PTE_AF (1ull << 10)       /* access flag */
#define UBM_PTE_DBM (1ull << 51)      /* with HDF: a write clears READONLY, or
                                       * sets S2_WRITE */
#define UBM_PTE_ADDR UBM_MASK(47, 12)
/* In a table descriptor, for all below it. */
#define UBM_PTE_TABLE_NOUSER (1ull << 61)
#define UBM_PTE_TABLE_READONLY (1ull << 62)

/* ---- Permission tables (tables 9-4 to 9-6): entries of 32 bytes -------------------------- */

#define UBM_MAPTE 32u
/* W0 */
#define UBM_MAPTE_V (1u << 0)
#define UBM_MAPTE_T (1u << 1)         /* multi-level: nothing below it */
#define UBM_MAPTE_N (1u << 2)         /* multi-level: next in another block */
#define UBM_MAPTE_E_BIT (1u << 3)
#define UBM_MAPTE_WRITE (1u << 4)
#define UBM_MAPTE_READ (1u << 5)
#define UBM_MAPTE_ATOMIC (1u << 6)
#define UBM_MAPTE_NEXT_LO 0xfffff000u /* Next_Level_Offset [19:0], in 32 bytes */
/* W1 */
#define UBM_MAPTE_NEXT_HI 0x000003ffu /* [29:20] */
#define UBM_MAPTE_NEXT_INDEX 0xffff0000u
/* W2, W3 [15:0] and W4, W5 [15:0]: Base and Limit (inclusive); of the UBA in the
 * single entry, else of what is below the index of the level. */
#define UBM_MAPTE_BASE 8
#define UBM_MAPTE_LIMIT 16
#define UBM_MAPTE_TOKEN_CHK (1u << 31) /* of W3 */
#define UBM_MAPTE_TOKEN0 24           /* W6: main TokenValue */
#define UBM_MAPTE_TOKEN1 28           /* W7: the spare one; both always count */
#define UBM_MAPT_TABLE 0x4000u        /* bytes of a table: 512 entries */
/* Block table entry, 8 bytes. */
#define UBM_BTE_V (1ull << 0)
#define UBM_BTE_BA UBM_MASK(47, 5)
#define UBM_BTE_BS UBM_MASK(63, 60)   /* 4 KiB << n */

#endif
