/*
 * A message queue: how software sends and receives management messages and
 * scans.  UB 2.0 leaves it to the implementation; registers and entries are those
 * of the public UBUS driver (docs/specs/ub-mgmt.rst), so that it can drive this.
 *
 * A queue has three rings in guest memory: of send entries (SQE, 16 bytes, with
 * slots of 2 KiB for their packets behind the last), of receive slots, and of
 * completions (CQE, 16 bytes).  PI and CI are indexes below the depth; a ring
 * with PI == CI is empty.  A slot has a packet from its LPH on; its 32-bit words
 * are little-endian where the wire is big-endian.
 *
 * Nothing here trusts the guest: an index, length or address that is wrong
 * stops the queue (STATUS) until it is reset; a packet that is wrong is refused
 * alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_MSGQ_H
#define UB_MSGQ_H

#include "core/image.h"
#include "ub/mgmt.h"

#define UB_MSGQ_WINDOW 0x1000u /* bytes of BAR0 for each queue */
#define UB_MSGQ_NUM 16
#define UB_MSGQ_ENTRY 16       /* bytes of an SQE or CQE */
#define UB_MSGQ_SLOT 2048      /* bytes of a slot */
#define UB_MSGQ_DEPTH_MIN 4
#define UB_MSGQ_DEPTH_MAX 1024

/* Registers, 32 bits each. */
enum {
    UB_MSGQ_SQ_ADDR_L = 0x00,
    UB_MSGQ_SQ_ADDR_H = 0x04,
    UB_MSGQ_SQ_PI = 0x08,      /* RW: software's; doorbell */
    UB_MSGQ_SQ_CI = 0x0c,      /* RO */
    UB_MSGQ_SQ_DEPTH = 0x10,   /* RW: 4 to 1024 */
    UB_MSGQ_SQ_STATUS = 0x14,  /* RO */
    UB_MSGQ_SQ_INT_MSK = 0x18, /* RW, no effect */
    UB_MSGQ_RQ_ADDR_L = 0x40,
    UB_MSGQ_RQ_ADDR_H = 0x44,
    UB_MSGQ_RQ_PI = 0x48,      /* RO */
    UB_MSGQ_RQ_CI = 0x4c,      /* RW: software's */
    UB_MSGQ_RQ_DEPTH = 0x50,
    UB_MSGQ_RQ_ENTRY_SIZE = 0x54, /* RW: 128 bytes << 0 to 4; reset 4 */
    UB_MSGQ_RQ_STATUS = 0x58,
    UB_MSGQ_CQ_ADDR_L = 0x70,
    UB_MSGQ_CQ_ADDR_H = 0x74,
    UB_MSGQ_CQ_PI = 0x78,      /* RO */
    UB_MSGQ_CQ_CI = 0x7c,      /* RW: software's */
    UB_MSGQ_CQ_DEPTH = 0x80,
    UB_MSGQ_CQ_STATUS = 0x84,
    UB_MSGQ_CQ_INT_MASK = 0x88, /* RW: 1 masks; reset 1 */
    UB_MSGQ_CQ_INT_STATUS = 0x8c, /* W1C: a CQE was written */
    UB_MSGQ_CQ_INT_RO = 0x90,  /* RO: STATUS and not MASK */
    UB_MSGQ_CQ_INT_SET = 0x94, /* W1: set STATUS */
    UB_MSGQ_RST = 0xb0,        /* 1 resets and holds, 0 lets go */
    UB_MSGQ_INT_SEL = 0xc0,    /* RW: interrupt vector */
};

/* STATUS of a ring. */
#define UB_MSGQ_STOPPED 1u /* a rule was broken: reset it */
#define UB_MSGQ_FAULT 2u   /* its memory could not be read or written */

/* SQE and CQE, word 0: bits 1:0 task, 4 local (SQE), 15:8 opcode, 27:16 bytes of
 * the packet; word 1: bits 15:0 MSN; word 2: SQE offset of the slot from the
 * ring's base, CQE bits 9:0 index of the receive slot, 23:16 status. */
typedef enum UbMsgqTask {
    UB_MSGQ_MESSAGE, /* opcode: first byte of MGMTETAH */
    UB_MSGQ_SCAN,    /* opcode: CMD */
    UB_MSGQ_PRIVATE, /* none is known */
} UbMsgqTask;
#define UB_MSGQ_LOCAL 0x10u

/* CQE status. */
enum {
    UB_MSGQ_OK = 0,
    UB_MSGQ_FAILED = 1,       /* refused, or no answer came */
    UB_MSGQ_UNSUPPORTED = 39, /* no such task */
};

/* Bytes of a slot in front of MGMTETAH, and of the Scan Header. */
#define UB_MSGQ_MESSAGE_HEADERS 28
#define UB_MSGQ_SCAN_HEADERS 16

typedef struct UbMsgqOps {
    /* Guest memory; false where there is none. */
    bool (*dma_read)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    bool (*dma_write)(void *opaque, uint64_t addr, const void *buf,
                      uint32_t len);
    void (*interrupt)(void *opaque, uint32_t vector);
    /* ub_msgqs_run() has something to do. */
    void (*kick)(void *opaque);
    /* Software broke the rule @text. */
    void (*guest_error)(void *opaque, unsigned queue, const char *text);
} UbMsgqOps;

/* All queues of a device. */
typedef struct UbMsgqs UbMsgqs;

/* @mgmt takes what they send; it is set with ub_msgqs_join(). */
UbMsgqs *ub_msgqs_new(const UbMsgqOps *ops, void *opaque);
void ub_msgqs_free(UbMsgqs *q);
void ub_msgqs_join(UbMsgqs *q, UbMgmt *mgmt);
/* Power-on. */
void ub_msgqs_reset(UbMsgqs *q);

/* A register: @offset from the window of queue 0 on. */
uint32_t ub_msgqs_read(UbMsgqs *q, uint32_t offset);
void ub_msgqs_write(UbMsgqs *q, uint32_t offset, uint32_t value);

/* Send what software has put into the rings, at most @budget entries.  Whether
 * there is more. */
bool ub_msgqs_run(UbMsgqs *q, int64_t now, unsigned budget);

/* For UbMgmtOps: deliver and failed. */
bool ub_msgqs_deliver(UbMsgqs *q, int queue, UbMgmtKind kind,
                      const UbMgmtAddr *a, const uint8_t *data, size_t len);
bool ub_msgqs_failed(UbMsgqs *q, unsigned queue, UbMgmtKind kind,
                     uint16_t msn, uint8_t code);

void ub_msgqs_image(UbMsgqs *q, CoreImage *im);

#endif
