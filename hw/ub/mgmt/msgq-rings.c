/*
 * Message queues: the rings in guest memory that the device writes, and the
 * interrupt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "msgq.h"

void ub_msgq_stop(UbMsgqs *q, unsigned n, MsgqRings ring, uint32_t status,
                  const char *rule)
{
    q->queue[n].ring[ring].status |= UB_MSGQ_STOPPED | status;
    q->ops->guest_error(q->opaque, n, rule);
}

bool ub_msgq_ready(const Msgq *mq)
{
    for (unsigned i = 0; i < MSGQ_RINGS; i++) {
        if (mq->ring[i].status || !mq->ring[i].depth) {
            return false;
        }
    }
    return !mq->held;
}

uint32_t ub_msgq_used(const MsgqRing *r)
{
    return (r->pi + r->depth - r->ci) % r->depth;
}

void ub_msgq_interrupt(UbMsgqs *q, unsigned n)
{
    Msgq *mq = &q->queue[n];

    if (mq->int_status & ~mq->int_mask) {
        q->ops->interrupt(q->opaque, mq->vector);
    }
}

/* A packet into slots one behind the other; the last is followed by the first. */
static bool put_slots(UbMsgqs *q, const Msgq *mq, const uint8_t *p,
                      unsigned len)
{
    const MsgqRing *rq = &mq->ring[MSGQ_RQ];
    unsigned size = 128u << mq->entry_size;
    unsigned first = MIN(len, (rq->depth - rq->pi) * size);

    return q->ops->dma_write(q->opaque, rq->addr + (uint64_t)rq->pi * size, p,
                             first) &&
           (first == len ||
            q->ops->dma_write(q->opaque, rq->addr, p + first, len - first));
}

bool ub_msgq_put(UbMsgqs *q, unsigned n, unsigned task, uint8_t opcode,
                 uint16_t msn, unsigned status, uint8_t *packet, unsigned len)
{
    Msgq *mq = &q->queue[n];
    MsgqRing *rq = &mq->ring[MSGQ_RQ], *cq = &mq->ring[MSGQ_CQ];
    unsigned size = 128u << mq->entry_size, slots = (len + size - 1) / size;
    unsigned words = (len + 3) / 4 * 4;
    uint8_t cqe[UB_MSGQ_ENTRY] = { 0 };

    if (!ub_msgq_ready(mq) || ub_msgq_used(cq) == cq->depth - 1 ||
        ub_msgq_used(rq) + slots > rq->depth - 1) {
        return false;
    }
    if (len) {
        memset(packet + len, 0, words - len);
        ub_msgq_swap(packet, words);
        if (!put_slots(q, mq, packet, words)) {
            ub_msgq_stop(q, n, MSGQ_RQ, UB_MSGQ_FAULT,
                         "RQ: a slot is not in memory");
            return false;
        }
    }
    put_le32(cqe, task | opcode << 8 | len << 16);
    put_le32(cqe + 4, msn);
    put_le32(cqe + 8, rq->pi | status << 16);
    if (!q->ops->dma_write(q->opaque, cq->addr + cq->pi * UB_MSGQ_ENTRY, cqe,
                           sizeof(cqe))) {
        ub_msgq_stop(q, n, MSGQ_CQ, UB_MSGQ_FAULT,
                     "CQ: an entry is not in memory");
        return false;
    }
    rq->pi = (rq->pi + slots) % rq->depth;
    cq->pi = (cq->pi + 1) % cq->depth;
    if (!mq->int_status) {
        mq->int_status = 1;
        ub_msgq_interrupt(q, n);
    }
    return true;
}
