/*
 * Inside of the message queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef MSGQ_INTERNAL_H
#define MSGQ_INTERNAL_H

#include <glib.h>

#include "ub/msgq.h"

typedef enum MsgqRings { MSGQ_SQ, MSGQ_RQ, MSGQ_CQ, MSGQ_RINGS } MsgqRings;

typedef struct MsgqRing {
    uint64_t addr;
    uint32_t pi, ci, depth, status;
} MsgqRing;

typedef struct Msgq {
    MsgqRing ring[MSGQ_RINGS];
    uint32_t entry_size; /* of RQ: 128 << this */
    uint32_t sq_mask, int_mask, int_status, vector;
    bool held;           /* in reset */
} Msgq;

struct UbMsgqs {
    const UbMsgqOps *ops;
    void *opaque;
    UbMgmt *mgmt;
    unsigned turn;       /* queue that goes first */
    Msgq queue[UB_MSGQ_NUM];
};

/* ---- slot.c ---- */

/* Words between memory's order and the wire's; @len is rounded down to them. */
void ub_msgq_swap(uint8_t *p, unsigned len);
/* Bytes in front of MGMTETAH or Scan Header. */
unsigned ub_msgq_headers(UbMgmtKind kind);
/* Headers of a slot; NULL, or the rule that they break. */
const char *ub_msgq_slot_get(const uint8_t *p, UbMgmtKind kind, UbMgmtAddr *a);
void ub_msgq_slot_put(uint8_t *p, UbMgmtKind kind, const UbMgmtAddr *a);

/* ---- msgq-rings.c ---- */

/* Stop a ring. */
void ub_msgq_stop(UbMsgqs *q, unsigned n, MsgqRings ring, uint32_t status,
                  const char *rule);
/* Whether all rings work. */
bool ub_msgq_ready(const Msgq *mq);
uint32_t ub_msgq_used(const MsgqRing *r);
/* Put a packet of @len bytes (wire order; rounded up to words there is room
 * behind) and its CQE into the rings.  False: there is no room. */
bool ub_msgq_put(UbMsgqs *q, unsigned n, unsigned task, uint8_t opcode,
                 uint16_t msn, unsigned status, uint8_t *packet, unsigned len);
void ub_msgq_interrupt(UbMsgqs *q, unsigned n);

#endif
