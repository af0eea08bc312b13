/*
 * Queues of the UB transaction engine as software sees them: work queue
 * entries, completions, events, commands, doorbells.
 *
 * Shared by the model, its tests and drivers: constants only.  Everything is
 * little-endian.  docs/specs/ub-urma.rst is the programming guide.
 *
 * UB 2.0 §8.2.3 says what such entries hold and §10.6.2.2 what a completion
 * reports; layouts are this model's own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_URMA_HW_H
#define UB_URMA_HW_H

/* ---- Send queue entry ---------------------------------------------------------
 *
 * One block of 64 bytes, and further blocks for more elements or inline data; a
 * queue wraps at a block.  Indexes count blocks.
 *
 *    0  le32 word 0
 *    4  le32 destination: a row of the table of destinations, 20 bits
 *    8  le32 message: TC ID; memory operation: TokenID; 20 bits
 *   12  le32 TokenValue
 *   16  le32 bytes of data; atomics: of one operand
 *   20  le32 word 5
 *   24  le64 address in the remote segment
 *   32  le64 immediate (Send_with_immediate, Write_with_immediate) or data of
 *            the notification (Write_with_notify)
 *   40  le64 address of the notification; Write_with_immediate: TC ID [19:0],
 *            TokenValue of the receive queue [63:32]
 *   48       element 0: data to send, or where data that come are put
 *
 * Behind it, in this order, if they are there: for Write_with_notify the
 * TokenID and TokenValue of the notification's segment (le32 each, then 8 bytes
 * of 0); elements 1 and on; inline data (then element 0 is only used by
 * operations that bring data).
 */
#define UBQ_BLOCK 64u
#define UBQ_SQE_BLOCKS_MAX 16u

#define UBQ_SQE_W0 0
#define UBQ_SQE_OPCODE 0x000000ffu /* TAOpcode (table 7-2), or UBQ_OP_NOP */
#define UBQ_SQE_BLOCKS 0x00000f00u /* blocks of this entry - 1 */
#define UBQ_SQE_ELEMENTS 0x0003f000u /* number of elements */
#define UBQ_SQE_ORDER 0x00300000u  /* 0 NO, 1 RO, 2 SO */
#define UBQ_SQE_ORDERED_CQE 0x00400000u /* completions at the target in order */
#define UBQ_SQE_FENCE 0x00800000u
#define UBQ_SQE_SOLICITED 0x01000000u /* FCE: an event at the target */
#define UBQ_SQE_CQE 0x02000000u    /* a completion here; errors always have one */
#define UBQ_SQE_INLINE 0x04000000u
#define UBQ_SQE_TOKEN 0x08000000u  /* the TokenValue counts (TV_EN) */
#define UBQ_SQE_EXCLUSIVE 0x10000000u /* E_bit */
#define UBQ_SQE_GROUP 0x20000000u  /* TC ID is that of a group; hint counts */
#define UBQ_SQE_EVENT 0x40000000u  /* its completion here is solicited, too */
#define UBQ_SQE_OWNER 0x80000000u  /* 1 in the first lap, 0 in the next, ... */
#define UBQ_SQE_DEST 4
#define UBQ_SQE_TARGET 8
#define UBQ_SQE_TOKEN_VALUE 12
#define UBQ_SQE_LENGTH 16
#define UBQ_SQE_W5 20
#define UBQ_SQE_SUB 0x0000000fu    /* Atomic_store, _load: sub-operation */
#define UBQ_SQE_HINT 0x0000ff00u
#define UBQ_SQE_ADDR 24
#define UBQ_SQE_IMM 32
#define UBQ_SQE_NOTIFY 40
#define UBQ_SQE_ELEMENT 48
#define UBQ_OP_NOP 0xffu           /* a completion and nothing else */

/* Element: le64 address, le32 length, le32 TokenID (0: none is needed yet). */
#define UBQ_ELEMENT 16u
#define UBQ_ELEMENTS_MAX 32u
#define UBQ_INLINE_MAX 512u

/* Receive queue entry: 2^n elements; the first of length 0 ends the list. */
#define UBQ_RQE_ELEMENTS_MAX 16u

/* ---- Completion queue entry: 64 bytes --------------------------------------------
 *
 *    0  le32 word 0
 *    4  le32 queue that it is of
 *    8  le32 index: of the first block of the send queue entry, or of the receive
 *            queue entry; of a flushed one too
 *   12  le32 bytes: received or brought
 *   16  le64 immediate
 *   24  le32 queue of the sender (RCID)
 *   28  le32 number of the receive queue, if that is another's
 *   32  16 bytes EID of the sender, most significant first
 *   48  16 bytes of 0
 */
#define UBQ_CQE 64u
#define UBQ_CQE_W0 0
#define UBQ_CQE_OPCODE 0x000000ffu  /* as in the send queue entry; received: SEND,
                                     * SEND_IMM, WRITE_IMM */
#define UBQ_CQE_SUB_STATUS 0x0000ff00u /* table 10-12 */
#define UBQ_CQE_STATUS 0x00ff0000u
#define UBQ_CQE_RECEIVE 0x01000000u
#define UBQ_CQE_IMM 0x02000000u
#define UBQ_CQE_SOLICITED 0x04000000u
#define UBQ_CQE_OWNER 0x80000000u   /* 1 in the first lap, 0 in the next, ... */
#define UBQ_CQE_QUEUE 4
#define UBQ_CQE_INDEX 8
#define UBQ_CQE_BYTES 12
#define UBQ_CQE_IMMEDIATE 16
#define UBQ_CQE_REMOTE 24
#define UBQ_CQE_RQ 28
#define UBQ_CQE_EID 32

/* Status << 8 | Sub-Status of table 10-12, and what it has no number for. */
#define UBQ_STATUS_OK 0x0000
#define UBQ_STATUS_OPCODE 0x0100
#define UBQ_STATUS_LOCAL_LENGTH 0x0201
#define UBQ_STATUS_LOCAL_ACCESS 0x0202
#define UBQ_STATUS_REMOTE_LENGTH 0x0203
#define UBQ_STATUS_LOCAL_POISON 0x0204
#define UBQ_STATUS_UNSUPPORTED 0x0301
#define UBQ_STATUS_ABORT 0x0302
#define UBQ_STATUS_REMOTE_POISON 0x0304
#define UBQ_STATUS_RNR 0x0400
#define UBQ_STATUS_TIMEOUT 0x0500
#define UBQ_STATUS_FLUSHED 0x0600
/* With UBQ_Q_DONE: nothing is under way any more, all entries so far have had
 * their completions; opcode UBQ_OP_NOP, index: of the next entry. */
#define UBQ_STATUS_FLUSH_DONE 0x0601   /* the queue is in Error */
#define UBQ_STATUS_SUSPEND_DONE 0x0602 /* in Suspended; what has not begun waits */

/* ---- Event queue entry: 16 bytes ---------------------------------------------------
 *
 *    0  le32 word 0
 *    4  le32 object: queue, completion queue, channel
 *    8  le32 Entity
 *   12  le32 data
 */
#define UBQ_EQE 16u
#define UBQ_EQE_TYPE 0x000000ffu
#define UBQ_EQE_SUB 0x0000ff00u
#define UBQ_EQE_OWNER 0x80000000u
/* Type and Sub of class B (§10.6.2.2.3), then this model's. */
#define UBQ_EVENT_JFS_CHECK 0x0101
#define UBQ_EVENT_JFC_CHECK 0x0103
#define UBQ_EVENT_TP_RETRIES 0x0201
#define UBQ_EVENT_TP_OPCODE 0x0202
#define UBQ_EVENT_TP_MSN 0x0203
#define UBQ_EVENT_ENTITY 0x0300
#define UBQ_EVENT_COMPLETION 0x1000 /* an armed completion queue has entries */
#define UBQ_EVENT_QUEUE_STATE 0x1101 /* data: the state that it went to */
#define UBQ_EVENT_RQ_LIMIT 0x1102   /* fewer receive entries than asked for */
#define UBQ_EVENT_RQ_ERROR 0x1103   /* JFR: a receive entry cannot be read */
#define UBQ_EVENT_GROUP_ERROR 0x1104 /* no member can receive; data: the last */
/* To event queues with UBQ_EQ_DEVICE: */
#define UBQ_EVENT_PORT_UP 0x1301    /* object: port */
#define UBQ_EVENT_PORT_DOWN 0x1302
#define UBQ_EVENT_EID 0x1401        /* object: Entity, whose EID or UPI is another */
#define UBQ_EVENT_INSTANCE 0x1402   /* object: bus instance; data: 1 created, 0 gone */
#define UBQ_EVENT_FATAL 0x1501      /* data: what is in memory that is not there: 1
                                     * the command queue, 2 event queue @object */
#define UBQ_EVENT_IMPORTED 0x1202   /* object: row, instead of CHANNEL_UP; data:
                                     * UBQ_RESULT_*.  If not OK, IMPORT tries again */
#define UBQ_EVENT_CHANNEL_UP 0x1201 /* of CHANNEL_CONNECT; data: UBQ_RESULT_* */

/* ---- Event queue registers: UBQ_EQ(n) in BAR0 --------------------------------------- */

#define UBQ_EQS 256u
#define UBQ_EQ_WINDOW 0x30000u
#define UBQ_EQ_STRIDE 0x40u
#define UBQ_EQ(n) (UBQ_EQ_WINDOW + (n) * UBQ_EQ_STRIDE)
#define UBQ_EQ_BASE_LO 0x00 /* RW while not enabled, 16-byte aligned */
#define UBQ_EQ_BASE_HI 0x04
#define UBQ_EQ_SIZE 0x08    /* RW while not enabled: log2 of the entries, 4-15 */
#define UBQ_EQ_CTRL 0x0c
#define UBQ_EQ_ENABLE (1u << 0) /* 0 -> 1: both counts 0 */
#define UBQ_EQ_DEVICE (1u << 1) /* gets events of ports, EIDs and the device, too */
#define UBQ_EQ_ERROR (1u << 31) /* RO: an entry could not be written */
#define UBQ_EQ_VECTOR 0x10  /* RW: MSI-X entry, or UBQ_USI() */
/* Of VECTOR: not an MSI-X entry, but vector @n of Entity @entity, which is told as a
 * USI (UB 2.0 §10.3.4): to its User. */
#define UBQ_USI(entity, n) (0x8000u | (entity) << 5 | (n))
#define UBQ_USI_IS 0x8000u
#define UBQ_USI_ENTITY(vector) ((vector) >> 5 & 0x3ffu)
#define UBQ_USI_N(vector) ((vector) & 0x1fu)
#define UBQ_EQ_PI 0x14      /* RO: entries written, 16 bits */
#define UBQ_EQ_CI 0x18      /* RW: entries read, 16 bits */
/* Writing n arms: interrupt as soon as PI differs from n (at once, if it does). */
#define UBQ_EQ_ARM 0x1c
#define UBQ_EQ_LOST 0x20    /* RO: events that found no room, saturating */

/* ---- Command queue registers, at UBQ_CMD_WINDOW in BAR0 --------------------------------
 *
 * A ring of commands of 128 bytes that the device answers in place, in order.
 */
#define UBQ_CMD_WINDOW 0x40000u
#define UBQ_CMD_BASE_LO 0x00 /* RW while not enabled, 128-byte aligned */
#define UBQ_CMD_BASE_HI 0x04
#define UBQ_CMD_SIZE 0x08    /* RW while not enabled: log2 of the entries, 0-8 */
#define UBQ_CMD_CTRL 0x0c
#define UBQ_CMD_ENABLE (1u << 0) /* 0 -> 1: both counts 0 */
#define UBQ_CMD_ERROR (1u << 31) /* RO: a command could not be read or answered */
#define UBQ_CMD_VECTOR 0x10  /* as UBQ_EQ_VECTOR */
#define UBQ_CMD_PI 0x14      /* RW: commands written, 16 bits (the doorbell) */
#define UBQ_CMD_CI 0x18      /* RO: commands answered, 16 bits */
#define UBQ_CMD_ARM 0x1c     /* as UBQ_EQ_ARM, for CI */

/*
 *    0  le16 opcode, le16 0
 *    4  le32 result: 0 from software; the device writes UBQ_DONE | UBQ_RESULT_*
 *    8  le32 object: asked for, or UBQ_NEW; answered
 *   12  le32 mask (MODIFY)
 *   16  parameters, in or out
 */
#define UBQ_CMD 128u
#define UBQ_CMD_OPCODE 0
#define UBQ_CMD_RESULT 4
#define UBQ_CMD_OBJECT 8
#define UBQ_CMD_MASK 12
#define UBQ_CMD_PARAMS 16
#define UBQ_DONE 0x80000000u
#define UBQ_NEW 0xffffffffu

enum {
    UBQ_OP_CAPS = 0x00,
    UBQ_OP_CQ_CREATE = 0x10,
    UBQ_OP_CQ_MODIFY = 0x11,
    UBQ_OP_CQ_DESTROY = 0x12,
    UBQ_OP_CQ_QUERY = 0x13,
    UBQ_OP_QUEUE_CREATE = 0x20,
    UBQ_OP_QUEUE_MODIFY = 0x21,
    UBQ_OP_QUEUE_DESTROY = 0x22,
    UBQ_OP_QUEUE_QUERY = 0x23,
    UBQ_OP_JGROUP_CREATE = 0x28,    /* groups of receive queues */
    UBQ_OP_JGROUP_MODIFY = 0x29,
    UBQ_OP_JGROUP_DESTROY = 0x2a,
    UBQ_OP_JGROUP_QUERY = 0x2b,
    UBQ_OP_JGROUP_JOIN = 0x2c,
    UBQ_OP_JGROUP_LEAVE = 0x2d,
    UBQ_OP_SEGMENT_SET = 0x30,
    UBQ_OP_SEGMENT_CLEAR = 0x31,
    UBQ_OP_POISON = 0x32,       /* memory that is known to be bad */
    UBQ_OP_CHANNEL_CREATE = 0x40,
    UBQ_OP_CHANNEL_MODIFY = 0x41,
    UBQ_OP_CHANNEL_ACTIVATE = 0x42,
    UBQ_OP_CHANNEL_DEACTIVATE = 0x43,
    UBQ_OP_CHANNEL_DESTROY = 0x44,
    UBQ_OP_CHANNEL_CONNECT = 0x45,
    UBQ_OP_CHANNEL_QUERY = 0x46,
    UBQ_OP_GROUP_CREATE = 0x48,
    UBQ_OP_GROUP_JOIN = 0x49,
    UBQ_OP_GROUP_LEAVE = 0x4a,
    UBQ_OP_GROUP_DESTROY = 0x4b,
    UBQ_OP_DEST_SET = 0x50,
    UBQ_OP_DEST_CLEAR = 0x51,
    UBQ_OP_DEST_QUERY = 0x52,
    UBQ_OP_IMPORT = 0x54,       /* a row and what it needs, shared */
    UBQ_OP_UNIMPORT = 0x55,
    UBQ_OP_ENTITY_SET = 0x60,
    UBQ_OP_INSTANCE_QUERY = 0x61,
    UBQ_OP_IP_ADD = 0x70,
    UBQ_OP_IP_REMOVE = 0x71,
    UBQ_OP_IP_QUERY = 0x72,
};

enum {
    UBQ_RESULT_OK,
    UBQ_RESULT_OPCODE,     /* unknown command */
    UBQ_RESULT_NO_OBJECT,  /* there is none of this number */
    UBQ_RESULT_IN_USE,     /* number taken; or others refer to the object */
    UBQ_RESULT_FULL,       /* no more of these */
    UBQ_RESULT_PARAMETER,  /* a field out of range, fields that clash */
    UBQ_RESULT_STATE,      /* not in this state */
    UBQ_RESULT_REFUSED,    /* by the peer */
    UBQ_RESULT_TIMEOUT,    /* the peer did not answer */
    UBQ_RESULTS,
};

/* Parameters: byte offsets in the command. */

/* CQ_CREATE (MODIFY: the moderation). */
#define UBQ_CQ_BASE 16      /* le64, 64-byte aligned */
#define UBQ_CQ_LOG2 24      /* u8: log2 of the entries, 4-15 */
#define UBQ_CQ_EQ 26        /* le16: event queue */
#define UBQ_CQ_PAGE 28      /* le16: doorbell page that it is of */
#define UBQ_CQ_COUNT 32     /* le16: an event after so many entries, 0 = 1 */
#define UBQ_CQ_PERIOD 36    /* le32: or so many microseconds after the first */
/* CQ_QUERY out: */
#define UBQ_CQ_PI 40        /* le32 */
#define UBQ_CQ_CI 44        /* le32 */
#define UBQ_CQ_STATE 48     /* u8: 0 good, 1 error: full, or not in memory */

/* QUEUE_CREATE.  A queue sends if SQ_LOG2 is not 0, receives by entries of its
 * own if RQ_LOG2 is not 0, by those of queue RQ_SHARED if that is not UBQ_NEW.  Its
 * number is below FFFFFh. */
#define UBQ_Q_SQ_BASE 16    /* le64, 64-byte aligned */
#define UBQ_Q_RQ_BASE 24    /* le64, 16-byte aligned */
#define UBQ_Q_SQ_LOG2 32    /* u8: log2 of the blocks, 1-15; 0: none */
#define UBQ_Q_RQ_LOG2 33    /* u8: log2 of the entries, 1-15; 0: none */
#define UBQ_Q_RQ_STRIDE 34  /* u8: log2 of the elements of an entry, 0-4 */
#define UBQ_Q_MODE 35       /* u8: 0 ROI, 1 ROT, 2 ROL, 3 UNO */
#define UBQ_Q_SEND_CQ 36    /* le32 */
#define UBQ_Q_RECV_CQ 40    /* le32 */
#define UBQ_Q_RQ_SHARED 44  /* le32 */
#define UBQ_Q_PAGE 48       /* le16: doorbell page */
#define UBQ_Q_ENTITY 50     /* le16 */
#define UBQ_Q_FLAGS 52      /* le32 */
#define UBQ_Q_IN_ORDER (1u << 0)  /* completions in the order of posting */
#define UBQ_Q_SUSPEND (1u << 1)   /* Exception mode suspend (§8.2.2.3) */
#define UBQ_Q_TOKEN (1u << 2)     /* messages must bring TOKEN_VALUE */
#define UBQ_Q_BOUND (1u << 3)     /* messages of REMOTE of REMOTE_EID only */
#define UBQ_Q_DONE (1u << 4)      /* completions UBQ_STATUS_*_DONE */
#define UBQ_Q_TRANSLATE (1u << 16) /* elements have addresses of TokenID LOCAL,
                                    * which the UMMU translates */
#define UBQ_Q_TOKEN_VALUE 56 /* le32 */
#define UBQ_Q_RNR_TIMER 60  /* u8: RNR_Timer that senders are told, 0-19 */
#define UBQ_Q_TRIES 61      /* u8: how often a message is sent that finds no receive
                             * entry; 0: as the device does; 0xff: for ever */
#define UBQ_Q_EQ 62         /* le16: of its asynchronous events */
#define UBQ_Q_RQ_LIMIT 64   /* le16: fewer entries: UBQ_EVENT_RQ_LIMIT; 0: off */
#define UBQ_Q_STATE 66      /* u8: UBQ_STATE_*; MODIFY, out of QUERY */
#define UBQ_Q_ACK_TIMEOUT 67 /* u8: how long it waits for a response: 1: 128 ms,
                             * 2: 1 s, 3: 8 s, 4: 64 s; 0: as the device does */
#define UBQ_Q_REMOTE 68     /* le32 */
#define UBQ_Q_REMOTE_EID 72 /* 16 bytes */
#define UBQ_Q_LOCAL 88      /* le32: TokenID */
/* QUEUE_QUERY out: */
#define UBQ_Q_SQ_PI 96      /* le16 each */
#define UBQ_Q_SQ_CI 98
#define UBQ_Q_RQ_PI 100
#define UBQ_Q_RQ_CI 102
#define UBQ_Q_GROUP 112     /* le32: that it is a member of, or UBQ_NEW */
/* QUEUE_CREATE again: a record of 8 bytes in memory, aligned, or 0: none.  Instead
 * of ringing, software writes there how many blocks (le16 at 0) and receive entries
 * (le16 at 4) it has posted.  The device looks when it has nothing left of what it
 * knows: for receive entries whenever one is needed; for blocks when an entry ends
 * and after a doorbell. */
#define UBQ_Q_RECORD 104    /* le64 */

enum {
    UBQ_STATE_RESET,
    UBQ_STATE_READY,
    UBQ_STATE_SUSPENDED,
    UBQ_STATE_ERROR,
    UBQ_STATES,
};

/* QUEUE_MODIFY's mask. */
#define UBQ_QM_STATE (1u << 0)
#define UBQ_QM_RQ_LIMIT (1u << 1)
#define UBQ_QM_RNR_TIMER (1u << 2)
#define UBQ_QM_TOKEN (1u << 3)  /* TOKEN_VALUE and the flag */
#define UBQ_QM_BOUND (1u << 4)  /* REMOTE, REMOTE_EID and the flag */
#define UBQ_QM_DRAIN (1u << 5)  /* Suspended, Error: what has not begun comes back
                                 * as flushed, before the state changes */
#define UBQ_QM_TRIES (1u << 6)  /* TRIES, ACK_TIMEOUT: of what waits from now on */
#define UBQ_QM_ALL 0x7fu

/* JGROUP_CREATE: a group of receive queues (jetty group), numbers of its own.
 * JGROUP_MODIFY: the token.  JOIN, LEAVE: the object is a queue; a queue is in one
 * group at most. */
#define UBQ_JG_POLICY 16    /* u8: UBQ_JG_*; fixed */
#define UBQ_JG_ENTITY 18    /* le16; fixed */
#define UBQ_JG_EQ 20        /* le16: of its asynchronous events; fixed */
#define UBQ_JG_FLAGS 24     /* le32: UBQ_Q_TOKEN */
#define UBQ_JG_TOKEN_VALUE 28 /* le32: counts instead of those of members */
#define UBQ_JG_GROUP 16     /* le32: JOIN */
/* JGROUP_QUERY out: */
#define UBQ_JG_MEMBERS 32   /* le32 */
#define UBQ_JG_LIVE 36      /* le32: that are not in Reset or Error */

enum {
    UBQ_JG_ROUND_ROBIN,     /* the next one with a receive entry */
    UBQ_JG_HINT,            /* by the hint of the request, always the same */
    UBQ_JG_DEPTH,           /* the one with most receive entries */
    UBQ_JG_POLICIES,
};

/* SEGMENT_SET: the object is a TokenID. */
#define UBQ_SEG_UBA 16      /* le64: first address that peers name */
#define UBQ_SEG_BASE 24     /* le64: where it is in memory */
#define UBQ_SEG_LENGTH 32   /* le64 */
#define UBQ_SEG_ACCESS 40   /* le32 */
#define UBQ_SEG_READ (1u << 0)
#define UBQ_SEG_WRITE (1u << 1)
#define UBQ_SEG_ATOMIC (1u << 2)
#define UBQ_SEG_TOKEN (1u << 3)     /* peers must bring one of the TokenValues */
#define UBQ_SEG_EXCLUSIVE (1u << 4) /* and E_bit */
#define UBQ_SEG_TOKEN_VALUE 44      /* le32 */
#define UBQ_SEG_TOKEN_OLD 48        /* le32: still taken, while it is changed */
#define UBQ_SEG_ENTITY 52           /* le16 */

/* POISON: the object is 0. */
#define UBQ_POISON_BASE 16      /* le64: of memory; QUERY answers the lowest bad byte */
#define UBQ_POISON_LENGTH 24    /* le64; QUERY answers how many are bad from there on,
                                 * 0: none is */
#define UBQ_POISON_ACTION 32    /* le32 */
enum {
    UBQ_POISON_QUERY,
    UBQ_POISON_SET,
    UBQ_POISON_CLEAR,
};
#define UBQ_POISON_PIECES 256u  /* that can be bad at a time */

/* CHANNEL_CREATE, _MODIFY, _QUERY: the object is a TPN. */
#define UBQ_CH_WAY 16       /* 48 bytes, see UBQ_WAY_* */
#define UBQ_CH_PEER 64      /* le32: TPN of the peer */
#define UBQ_CH_TX_PSN 68    /* le32; UBQ_NEW: any */
#define UBQ_CH_RX_PSN 72    /* le32; UBQ_NEW: any */
#define UBQ_CH_MTU 76       /* le16: 1024, 4096, 8192 */
#define UBQ_CH_FLAGS 78     /* le16 */
#define UBQ_CH_SELECTIVE (1u << 0)
#define UBQ_CH_FAST (1u << 1)
#define UBQ_CH_MARK (1u << 2)
#define UBQ_CH_OOO (1u << 3)
#define UBQ_CH_SPRAY (1u << 4)
#define UBQ_CH_RTO_DYNAMIC (1u << 5)
#define UBQ_CH_ANSWERS (1u << 6) /* TPACKs bring the responses to what comes (ROL) */
#define UBQ_CH_OOO_WINDOW 80 /* le16 */
#define UBQ_CH_TX_WINDOW 82 /* le16 */
#define UBQ_CH_ACK_EVERY 84 /* le16 */
#define UBQ_CH_SACK_EVERY 86 /* le16 */
#define UBQ_CH_SACK_BITS 88 /* le16 */
#define UBQ_CH_ASK 90       /* u8 */
#define UBQ_CH_RETRIES 91   /* u8 */
#define UBQ_CH_RTO_CODE 92  /* u8 */
#define UBQ_CH_RTO_SHIFT 93 /* u8 */
#define UBQ_CH_CC 94        /* u8 */
#define UBQ_CH_RTO_BASE 96  /* le32: microseconds */
#define UBQ_CH_CW_UNIT 100  /* le32 */
/* CHANNEL_MODIFY's mask: groups of fields; those marked only before the channel
 * is active. */
#define UBQ_CHM_WAY (1u << 0)    /* WAY, SPRAY */
#define UBQ_CHM_PEER (1u << 1)   /* PEER, PSNs, MTU; before */
#define UBQ_CHM_LOSS (1u << 2)   /* SELECTIVE, FAST, MARK, OOO, its window; before */
#define UBQ_CHM_RTO (1u << 3)    /* RTO_*, RETRIES */
#define UBQ_CHM_WINDOW (1u << 4) /* TX_WINDOW */
#define UBQ_CHM_ACK (1u << 5)    /* ASK, ACK_EVERY, SACK_* */
#define UBQ_CHM_CC (1u << 6)     /* CC, CW_UNIT; before */
/* CHANNEL_QUERY out: */
#define UBQ_CH_STATE 104    /* u8: 0 reset, 1 set-up, 2 active, 3 error */
#define UBQ_CH_GROUP 108    /* le32 */
#define UBQ_CH_UNA 112      /* le32: lowest PSN not acknowledged */
#define UBQ_CH_NEXT 116     /* le32 */
#define UBQ_CH_EPSN 120     /* le32 */
#define UBQ_CH_TIMEOUTS 124 /* le32 */

/* A way through the network: 48 bytes. */
#define UBQ_WAY_CFG 0       /* u8: LPH.CFG */
#define UBQ_WAY_SL 1        /* u8 */
#define UBQ_WAY_RT 2        /* u8 */
#define UBQ_WAY_PORT 3      /* u8: or 0xff */
#define UBQ_WAY_DCNA 4      /* le32 */
#define UBQ_WAY_LBF 8       /* le16 */
#define UBQ_WAY_SCNA 12     /* le32: 0: that of the port, of a group the Primary CNA */
#define UBQ_WAY_DIP 16      /* 16 bytes; IPv4: the first 4 */
#define UBQ_WAY_SIP 32      /* the same; zeroes: the first local one */

/* GROUP_CREATE: policy; GROUP_JOIN, _LEAVE: the object is a TPN. */
#define UBQ_GRP_POLICY 16   /* u8 */
#define UBQ_GRP_GROUP 16    /* le32: JOIN */

/* DEST_SET: the object is a row, 20 bits. */
#define UBQ_DST_WAY 16      /* 48 bytes: not of RTP */
#define UBQ_DST_CARRIER 64  /* u8: 0 RTP, 1 CTP, 2 UTP, 3 Bypass */
#define UBQ_DST_FORM 65     /* u8: 0 no UPIH and EIDH, 1 wide, 2 short */
#define UBQ_DST_MTU 66      /* le16 */
#define UBQ_DST_CHANNEL 68  /* le32: RTP: TPN; or of a group, with GROUP */
#define UBQ_DST_FLAGS 72    /* le32 */
#define UBQ_DST_GROUP (1u << 0)
#define UBQ_DST_ANSWERS (1u << 1) /* responses ride in acknowledgements (ROL) */
#define UBQ_DST_UPI 76      /* le32 */
#define UBQ_DST_DEID 80     /* 16 bytes */
#define UBQ_DST_ENTITY 96   /* le16: whose EID is the source */

/*
 * IMPORT: as DEST_SET, but CHANNEL is not asked for: over RTP a channel by WAY is
 * set up in band.  Who imports the same again gets the same row; rows of one WAY
 * and MODE share a channel, up to 4096.  The object is UBQ_NEW, or a row that nothing has.
 * UNIMPORT undoes one IMPORT, the last one row and channel; DEST_SET, _CLEAR and
 * commands that end the channel are refused meanwhile.
 */
#define UBQ_IMP_MODE 98     /* u8: as UBQ_Q_MODE: of the queues that use it */
#define UBQ_IMP_FLAGS 99    /* u8 */
#define UBQ_IMP_OWN (1u << 0) /* neither row nor channel is shared */
/* Out: */
#define UBQ_IMP_STATE 100   /* u8: 0 ready; 1 UBQ_EVENT_IMPORTED follows */
#define UBQ_IMP_CHANNEL 104 /* le32: TPN, or UBQ_NEW */

/* ENTITY_SET: the object is an Entity. */
#define UBQ_ENT_EID 16      /* 16 bytes; zeroes: none */
#define UBQ_ENT_UPI 32      /* le32; 0: it hears nothing */

/* INSTANCE_QUERY: the object is a place of bus instances (UB 2.0 §10.5.1); out.  Where an
 * Entity is named, as in DEST_SET, its number is UBQ_INS_ENTITY. */
#define UBQ_INSTANCES 16u
#define UBQ_INS_GUID 16     /* 16 bytes, most significant first, as all */
#define UBQ_INS_EID 32      /* 16 bytes */
#define UBQ_INS_UPI 48      /* le32 */
#define UBQ_INS_ENTITY 52   /* le16 */
#define UBQ_INS_FLAGS 54    /* le16 */
#define UBQ_INS_ALIVE (1u << 0) /* it sends and receives: see Trust_EN */

/* IP_ADD, IP_REMOVE: an address of this node; the object does not count.  IP_QUERY:
 * the object is a place in the table, 0 and on; out. */
#define UBQ_IP_CFG 16       /* u8: LPH.CFG: 3 IPv4, 4 IPv6 */
#define UBQ_IP_ADDR 20      /* 16 bytes; IPv4: the first 4 */

/* CAPS out. */
#define UBQ_CAP_VERSION 16  /* le32: 1 */
#define UBQ_CAP_QUEUES 20   /* le32 */
#define UBQ_CAP_CQS 24      /* le32 */
#define UBQ_CAP_EQS 28      /* le32 */
#define UBQ_CAP_CHANNELS 32 /* le32 */
#define UBQ_CAP_GROUPS 36   /* le32 */
#define UBQ_CAP_SEGMENTS 40 /* le32 */
#define UBQ_CAP_PAGES 44    /* le32 */
#define UBQ_CAP_ELEMENTS 48 /* le16, le16 of a receive entry */
#define UBQ_CAP_INLINE 52   /* le32 */
#define UBQ_CAP_LENGTH 56   /* le64: longest request */
#define UBQ_CAP_JGROUPS 64  /* le32 */
#define UBQ_CAP_JMEMBERS 68 /* le32: of one group */

/* ---- Doorbells: page n of BAR2, 64 KiB each; 8 bytes at once --------------------------- */

#define UBQ_PAGE 0x10000u
#define UBQ_BELL_SQ 0x00    /* queue [19:0], count of blocks posted [47:32] */
#define UBQ_BELL_RQ 0x08    /* queue [19:0], count of entries posted [47:32] */
#define UBQ_BELL_CQ 0x10    /* completion queue [19:0], count of entries read
                             * [47:32], arm [49:48]: 1 next solicited, 2 next;
                             * 0: software polls, whether it found any or not */
#define UBQ_BELL_ARM (3ull << 48)

#endif
