/*
 * Load and store: what software sees of the decoder (UB 2.0 §9.5) and of the
 * window, beside the registers of the DECODER slice (§D.4.1).
 *
 * Tables, commands and events have the layouts that public drivers know, in 64-bit
 * little-endian words Q0, Q1 ...; the document leaves them open.
 * docs/specs/ub-window.rst is the programming guide.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_LDS_HW_H
#define UB_LDS_HW_H

/* ---- Tables ------------------------------------------------------------------------
 *
 * L0: 512 Bulk Entries of 64 bytes, by PA[43:35].  One whose Q0 has type RANGE is
 * one L0 PTRE; any other is eight L0 PTEs of 8 bytes, by PA[34:32].  L1: entries of
 * 64 bytes, by PA[31:20] under a PTE, by PA[34:20] under a PTRE.
 */
#define UB_LDS_PA_BITS 44
#define UB_LDS_PAGE_BITS 20 /* 1 MiB, the grain of everything */
#define UB_LDS_BULK 64u
#define UB_LDS_L0_BYTES (512u * UB_LDS_BULK)
#define UB_LDS_ENTRY 64u

#define UB_LDS_TYPE 3u          /* Q0 */
#define UB_LDS_TYPE_INVALID 0u
#define UB_LDS_TYPE_TABLE 1u    /* L0 PTE: there is an L1 table */
#define UB_LDS_TYPE_PAGE 2u     /* L1 PTE */
#define UB_LDS_TYPE_RANGE 3u    /* L0 PTRE */
#define UB_LDS_TOKEN_VLD 0x100u /* Q0: the TokenValue counts */
#define UB_LDS_L1_BASE 0x0000fffffffff000ull /* Q0 of PTE and PTRE; 0: none */
#define UB_LDS_UBA 0xfffffffffffff000ull /* Q0 of L1 PTE, Q2 of PTRE */
/* Q1 of PTRE: first and last MiB of those 32768, PA[34:20]. */
#define UB_LDS_MEM_BASE 0x7fffu
#define UB_LDS_MEM_LIMIT_SHIFT 16
/* Q1 of L1 PTE, Q3 of PTRE. */
#define UB_LDS_DEST_SHIFT 32    /* 20 bits: row of the table of destinations */
#define UB_LDS_ORDER_SHIFT 52   /* 2 bits: 0 none, 1 relaxed, 2 strong */
#define UB_LDS_EE_SHIFT 62      /* 2 bits: EE_bits; 0: non-TEE */
/* DEID: low and high half in Q2 and Q3 of L1 PTE, Q4 and Q5 of PTRE. */
/* Q4 of L1 PTE, Q6 of PTRE: TokenID [19:0], TokenValue [63:32]. */
/* Q5 of L1 PTE, Q7 of PTRE: UPI [15:0].  Q7 of both: SEID [51:32]. */
#define UB_LDS_SEID_SHIFT 32

/* ---- Queues: rings in memory of entries of 16 bytes ---------------------------------- */

#define UB_LDS_QUEUE_ENTRY 16u
#define UB_LDS_QUEUE_LOG2_MAX 10

/* Command: Q0[7:0]. */
#define UB_LDS_CMD_SYNC 1u
#define UB_LDS_CMD_INVALIDATE_ALL 2u
#define UB_LDS_CMD_INVALIDATE 3u /* MiBs from Q0[59:32] to Q1[27:0] */
/* SYNC, Q0[13:12] = 1: write Q0[63:32] to Q1[51:2] << 2. */
#define UB_LDS_SYNC_HOW_SHIFT 12
#define UB_LDS_SYNC_WRITE 1u
#define UB_LDS_ERR_ILLEGAL 1u   /* cmdq_err_reason */
#define UB_LDS_ERR_ABORT 2u

/*
 * Event: Q0[7:0].  Q0[59:32]: the MiB that was accessed; COMMAND: Q0[39:32] the
 * opcode.  Those beyond the first two are this model's; their Q1 has status [15:0]
 * (table 10-12) of REMOTE, [16] a store, [51:32] the address within the MiB.
 */
#define UB_LDS_EVENT_RANGE 0x01u    /* no entry, or the decoder is off */
#define UB_LDS_EVENT_COMMAND 0x02u  /* illegal command */
#define UB_LDS_EVENT_TABLE 0x10u    /* a table is not in memory */
#define UB_LDS_EVENT_ENTRY 0x11u    /* an entry breaks a rule */
#define UB_LDS_EVENT_REMOTE 0x12u   /* the transaction failed */
#define UB_LDS_EVENT_TIMEOUT 0x13u
#define UB_LDS_EVENT_LINK 0x14u     /* the link was lost, or is down */
#define UB_LDS_EVENT_STOPPED 0x15u  /* reset, unplugged, the machine stopped */
#define UB_LDS_EVENT_REFUSED 0x16u  /* too many, or its maker cannot wait */
#define UB_LDS_EVENT_STORE 0x10000u /* Q1 */

/* ---- CFG1_CAP240: this model's slice, by dwords --------------------------------------- */

#define UB_LDS_CAP 240
#define UB_LDS_VD_WINDOW 1      /* RO: bytes of the window, 64 bits */
#define UB_LDS_VD_CONTROL 3     /* RO: where in it the control page is, 64 bits */
#define UB_LDS_VD_VECTOR 5      /* RW: MSI-X entry of decoder events */
#define UB_LDS_VD_USED 6

/* ---- CFG1_CAP242: the table where the decoder is the UBFM's (§10.4.7), by dwords ----------
 *
 * An entry has the 64 bytes of an L0 PTRE, but MiBs are PA[43:20], and the peer is
 * named by its CNA, DEID and UPI (0: our own) and not by a row.  The first entry that
 * has an address counts.
 */
#define UB_LDS_MATT_CAP 242
#define UB_LDS_MATT_SIZE 1      /* RO: entries */
#define UB_LDS_MATT_ENTRIES 64u
#define UB_LDS_MATT_ENTRY(n) (16u + 16u * (n))
#define UB_LDS_MATT_USED UB_LDS_MATT_ENTRY(UB_LDS_MATT_ENTRIES)
#define UB_LDS_MATT_MIB 0xffffffu   /* Q1: first MiB [23:0], last [55:32] */
#define UB_LDS_MATT_CNA 0xffffffu   /* Q3 [23:0], in the place of a row */

/* ---- The control page, the last 64 KiB of the window ------------------------------------
 *
 * Registers are 8 bytes and accessed as such.
 */
#define UB_LDS_CONTROL 0x10000u
/*
 * Write: stores so far go out, and what follows waits until they, and all loads and
 * commands before, are done.  Read: the same, and the load itself waits; it brings
 * how many stores have failed since it was last read.
 */
#define UB_LDS_FENCE 0x00
#define UB_LDS_PENDING 0x08     /* RO: accesses that are not done */
#define UB_LDS_FAILED 0x10      /* RO: accesses that have failed, all in all */
#define UB_LDS_MADE 0x18        /* RO: gathered stores leave; accesses made so far */
/* MiBs, first [27:0] and last [59:32].  Read: of the accesses there that are not done
 * the number of the oldest, MADE if there is none; of all, if none were written since a
 * reset or migration. */
#define UB_LDS_OLDEST 0x20

/* Command slots: accesses of up to 64 bytes, atomics. */
#define UB_LDS_SLOTS 64u
#define UB_LDS_SLOT(n) (0x1000u + (n) * 0x100u)
#define UB_LDS_SLOT_DATA 0x00   /* 64 bytes: data, first operand */
#define UB_LDS_SLOT_DATA2 0x40  /* 64 bytes: second operand */
#define UB_LDS_SLOT_RESULT 0x80 /* RO, 64 bytes: what a Read or an atomic brought */
#define UB_LDS_SLOT_ADDR 0xc0   /* RW: where in the window */
/* Writing begins: opcode [7:0] (Write, Read, atomics), bytes [15:8], sub-operation
 * [19:16]. */
#define UB_LDS_SLOT_GO 0xc8
#define UB_LDS_SLOT_STATUS 0xd0 /* RO */
#define UB_LDS_SLOT_WAIT 0xd8   /* RO: the same, when it is done */
#define UB_LDS_SLOT_BUSY 1ull   /* status */
#define UB_LDS_SLOT_DONE 2ull
#define UB_LDS_SLOT_EVENT_SHIFT 8   /* [15:8]: UB_LDS_EVENT_*, 0: good */
#define UB_LDS_SLOT_STATUS_SHIFT 16 /* [31:16]: of table 10-12 */

#endif
