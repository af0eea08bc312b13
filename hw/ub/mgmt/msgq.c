/*
 * Message queues: life, registers, what software sends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "msgq.h"

/* ---- Life ---- */

static void reset_queue(UbMsgqs *q, unsigned n)
{
    q->queue[n] = (Msgq) { .entry_size = 4, .int_mask = 1 };
    if (q->mgmt) {
        ub_mgmt_host_forget(q->mgmt, n);
    }
}

UbMsgqs *ub_msgqs_new(const UbMsgqOps *ops, void *opaque)
{
    UbMsgqs *q = g_new0(UbMsgqs, 1);

    q->ops = ops;
    q->opaque = opaque;
    ub_msgqs_reset(q);
    return q;
}

void ub_msgqs_free(UbMsgqs *q)
{
    g_free(q);
}

void ub_msgqs_join(UbMsgqs *q, UbMgmt *mgmt)
{
    q->mgmt = mgmt;
}

void ub_msgqs_reset(UbMsgqs *q)
{
    for (unsigned n = 0; n < UB_MSGQ_NUM; n++) {
        reset_queue(q, n);
    }
}

/* ---- Registers ---- */

typedef enum RegKind {
    REG_NONE, REG_ADDR_L, REG_ADDR_H, REG_INDEX /* software's */,
    REG_OURS /* the other index */, REG_DEPTH, REG_STATUS,
    REG_SIZE, REG_SQ_MASK, REG_MASK, REG_INT, REG_INT_RO, REG_INT_SET, REG_RST,
    REG_SEL,
} RegKind;

typedef struct Reg {
    uint8_t kind, ring;
} Reg;

static const Reg regs[0x100 / 4] = {
    [UB_MSGQ_SQ_ADDR_L / 4] = { REG_ADDR_L, MSGQ_SQ },
    [UB_MSGQ_SQ_ADDR_H / 4] = { REG_ADDR_H, MSGQ_SQ },
    [UB_MSGQ_SQ_PI / 4] = { REG_INDEX, MSGQ_SQ },
    [UB_MSGQ_SQ_CI / 4] = { REG_OURS, MSGQ_SQ },
    [UB_MSGQ_SQ_DEPTH / 4] = { REG_DEPTH, MSGQ_SQ },
    [UB_MSGQ_SQ_STATUS / 4] = { REG_STATUS, MSGQ_SQ },
    [UB_MSGQ_SQ_INT_MSK / 4] = { REG_SQ_MASK },
    [UB_MSGQ_RQ_ADDR_L / 4] = { REG_ADDR_L, MSGQ_RQ },
    [UB_MSGQ_RQ_ADDR_H / 4] = { REG_ADDR_H, MSGQ_RQ },
    [UB_MSGQ_RQ_PI / 4] = { REG_OURS, MSGQ_RQ },
    [UB_MSGQ_RQ_CI / 4] = { REG_INDEX, MSGQ_RQ },
    [UB_MSGQ_RQ_DEPTH / 4] = { REG_DEPTH, MSGQ_RQ },
    [UB_MSGQ_RQ_ENTRY_SIZE / 4] = { REG_SIZE },
    [UB_MSGQ_RQ_STATUS / 4] = { REG_STATUS, MSGQ_RQ },
    [UB_MSGQ_CQ_ADDR_L / 4] = { REG_ADDR_L, MSGQ_CQ },
    [UB_MSGQ_CQ_ADDR_H / 4] = { REG_ADDR_H, MSGQ_CQ },
    [UB_MSGQ_CQ_PI / 4] = { REG_OURS, MSGQ_CQ },
    [UB_MSGQ_CQ_CI / 4] = { REG_INDEX, MSGQ_CQ },
    [UB_MSGQ_CQ_DEPTH / 4] = { REG_DEPTH, MSGQ_CQ },
    [UB_MSGQ_CQ_STATUS / 4] = { REG_STATUS, MSGQ_CQ },
    [UB_MSGQ_CQ_INT_MASK / 4] = { REG_MASK },
    [UB_MSGQ_CQ_INT_STATUS / 4] = { REG_INT },
    [UB_MSGQ_CQ_INT_RO / 4] = { REG_INT_RO },
    [UB_MSGQ_CQ_INT_SET / 4] = { REG_INT_SET },
    [UB_MSGQ_RST / 4] = { REG_RST },
    [UB_MSGQ_INT_SEL / 4] = { REG_SEL },
};

static Reg reg_at(uint32_t offset)
{
    uint32_t i = offset % UB_MSGQ_WINDOW / 4;

    return i < G_N_ELEMENTS(regs) ? regs[i] : (Reg) { REG_NONE };
}

static uint32_t ring_index(const MsgqRing *r, bool pi)
{
    return pi ? r->pi : r->ci;
}

uint32_t ub_msgqs_read(UbMsgqs *q, uint32_t offset)
{
    const Msgq *mq = &q->queue[offset / UB_MSGQ_WINDOW % UB_MSGQ_NUM];
    Reg reg = reg_at(offset);
    const MsgqRing *r = &mq->ring[reg.ring];

    switch (reg.kind) {
    case REG_ADDR_L:
        return r->addr;
    case REG_ADDR_H:
        return r->addr >> 32;
    case REG_INDEX:
        return ring_index(r, reg.ring == MSGQ_SQ);
    case REG_OURS:
        return ring_index(r, reg.ring != MSGQ_SQ);
    case REG_DEPTH:
        return r->depth;
    case REG_STATUS:
        return r->status;
    case REG_SIZE:
        return mq->entry_size;
    case REG_SQ_MASK:
        return mq->sq_mask;
    case REG_MASK:
        return mq->int_mask;
    case REG_INT:
        return mq->int_status;
    case REG_INT_RO:
        return mq->int_status & ~mq->int_mask;
    case REG_RST:
        return mq->held;
    case REG_SEL:
        return mq->vector;
    default:
        return 0;
    }
}

/* Software's index of a ring: PI of the SQ, CI of the others. */
static void write_index(UbMsgqs *q, unsigned n, MsgqRings ring, uint32_t value)
{
    Msgq *mq = &q->queue[n];
    MsgqRing *r = &mq->ring[ring];
    bool mine = ring == MSGQ_SQ;

    if (value && value >= r->depth) {
        ub_msgq_stop(q, n, ring, 0, "an index that is not below the depth");
    } else if (!mine && r->depth &&
               (value + r->depth - r->ci) % r->depth > ub_msgq_used(r)) {
        ub_msgq_stop(q, n, ring, 0, "a CI beyond the PI");
    } else if (mine) {
        r->pi = value;
    } else {
        r->ci = value;
    }
    q->ops->kick(q->opaque);
}

/* The places of a ring may not change while there is something in it. */
static bool is_idle(UbMsgqs *q, unsigned n, MsgqRings ring)
{
    const MsgqRing *r = &q->queue[n].ring[ring];

    if (r->pi != r->ci) {
        ub_msgq_stop(q, n, ring, 0, "a ring with entries is moved");
        return false;
    }
    return true;
}

static void write_depth(UbMsgqs *q, unsigned n, MsgqRings ring, uint32_t value)
{
    MsgqRing *r = &q->queue[n].ring[ring];

    if (!is_idle(q, n, ring)) {
        return;
    }
    if (value < UB_MSGQ_DEPTH_MIN || value > UB_MSGQ_DEPTH_MAX) {
        ub_msgq_stop(q, n, ring, 0, "a ring has 4 to 1024 entries");
        return;
    }
    r->depth = value;
    r->pi = r->ci = 0;
}

static void write_addr(UbMsgqs *q, unsigned n, MsgqRings ring, bool high,
                       uint32_t value)
{
    MsgqRing *r = &q->queue[n].ring[ring];

    if (is_idle(q, n, ring)) {
        r->addr = high ? (uint64_t)value << 32 | (uint32_t)r->addr
                       : r->addr >> 32 << 32 | value;
    }
}

static void write_interrupt(UbMsgqs *q, unsigned n, uint32_t status,
                            uint32_t mask)
{
    Msgq *mq = &q->queue[n];
    bool was = mq->int_status & ~mq->int_mask;

    mq->int_status = status & 1;
    mq->int_mask = mask & 1;
    if (!was) {
        ub_msgq_interrupt(q, n);
    }
}

void ub_msgqs_write(UbMsgqs *q, uint32_t offset, uint32_t value)
{
    unsigned n = offset / UB_MSGQ_WINDOW % UB_MSGQ_NUM;
    Reg reg = reg_at(offset);
    unsigned ring = reg.ring;
    Msgq *mq = &q->queue[n];

    if (mq->held && reg.kind != REG_RST) {
        return;
    }
    switch (reg.kind) {
    case REG_ADDR_L:
    case REG_ADDR_H:
        write_addr(q, n, ring, reg.kind == REG_ADDR_H, value);
        break;
    case REG_INDEX:
        write_index(q, n, ring, value);
        break;
    case REG_DEPTH:
        write_depth(q, n, ring, value);
        break;
    case REG_SIZE:
        if (value > 4) {
            ub_msgq_stop(q, n, MSGQ_RQ, 0, "a receive slot has 128 to 2048 bytes");
        } else if (is_idle(q, n, MSGQ_RQ)) {
            mq->entry_size = value;
        }
        break;
    case REG_SQ_MASK:
        mq->sq_mask = value & 1;
        break;
    case REG_MASK:
        write_interrupt(q, n, mq->int_status, value);
        break;
    case REG_INT:
        write_interrupt(q, n, mq->int_status & ~value, mq->int_mask);
        break;
    case REG_INT_SET:
        write_interrupt(q, n, mq->int_status | value, mq->int_mask);
        break;
    case REG_RST:
        reset_queue(q, n);
        mq->held = value & 1;
        break;
    case REG_SEL:
        mq->vector = value;
        break;
    default:
        q->ops->guest_error(q->opaque, n, "write to a register of a message "
                            "queue that is read-only or does not exist");
    }
}

/* ---- Sending ---- */

typedef struct Sqe {
    unsigned task, len;
    bool local;
    uint8_t opcode;
    uint16_t msn;
    uint32_t slot;
} Sqe;

static UbMgmtKind kind_of(unsigned task)
{
    return task == UB_MSGQ_SCAN ? UB_MGMT_KIND_SCAN : UB_MGMT_KIND_MESSAGE;
}

/* The rule that an entry breaks, or NULL and its packet, in wire order. */
static const char *fetch_packet(UbMsgqs *q, unsigned n, const Sqe *e,
                                uint8_t *packet)
{
    const MsgqRing *sq = &q->queue[n].ring[MSGQ_SQ];
    uint32_t first = sq->depth * UB_MSGQ_ENTRY;
    uint32_t end = first + sq->depth * UB_MSGQ_SLOT;
    unsigned words = (e->len + 3) / 4 * 4;

    if (e->len > UB_MSGQ_SLOT) {
        return "SQE: a packet longer than a slot";
    }
    if (e->slot < first || e->slot % 4 || e->slot > end - words) {
        return "SQE: an address that is not in the slots";
    }
    if (!q->ops->dma_read(q->opaque, sq->addr + e->slot, packet, words)) {
        return "SQ: a slot is not in memory";
    }
    ub_msgq_swap(packet, words);
    return NULL;
}

/* The rule that it breaks, or NULL: it is sent. */
static const char *send_packet(UbMsgqs *q, unsigned n, int64_t now,
                               const Sqe *e)
{
    UbMgmtKind kind = kind_of(e->task);
    unsigned headers = ub_msgq_headers(kind);
    uint8_t packet[UB_MSGQ_SLOT];
    UbMgmtAddr a;
    const char *rule;

    if (e->len <= headers) {
        return "SQE: a packet shorter than its headers";
    }
    rule = fetch_packet(q, n, e, packet);
    if (!rule) {
        rule = ub_msgq_slot_get(packet, kind, &a);
    }
    if (rule) {
        return rule;
    }
    a.local = e->local;
    /* A response keeps the MSN and queue of its request. */
    if (kind == UB_MGMT_KIND_SCAN || !(packet[headers] & 1)) {
        a.queue = n;
        a.msn = e->msn;
    }
    return ub_mgmt_host_send(q->mgmt, now, kind, &a, packet + headers,
                             e->len - headers);
}

/* Nobody waits for an answer to a response. */
static void fail_entry(UbMsgqs *q, unsigned n, const Sqe *e)
{
    UbMgmtKind kind = kind_of(e->task);

    if (kind == UB_MGMT_KIND_SCAN || !(e->opcode & 1)) {
        ub_msgqs_failed(q, n, kind, e->msn, e->opcode);
    }
}

/* False: the entry has to wait. */
static bool send_entry(UbMsgqs *q, unsigned n, int64_t now)
{
    MsgqRing *sq = &q->queue[n].ring[MSGQ_SQ], *cq = &q->queue[n].ring[MSGQ_CQ];
    uint8_t raw[UB_MSGQ_ENTRY], none[4];
    const char *rule;
    Sqe e;

    if (ub_msgq_used(cq) == cq->depth - 1) {
        return false;
    }
    if (!q->ops->dma_read(q->opaque, sq->addr + sq->ci * UB_MSGQ_ENTRY, raw,
                          sizeof(raw))) {
        ub_msgq_stop(q, n, MSGQ_SQ, UB_MSGQ_FAULT,
                     "SQ: an entry is not in memory");
        return false;
    }
    e = (Sqe) {
        .task = raw[0] & 3, .local = raw[0] & UB_MSGQ_LOCAL, .opcode = raw[1],
        .len = get_le32(raw) >> 16 & 0xfff, .msn = get_le16(raw + 4),
        .slot = get_le32(raw + 8),
    };
    sq->ci = (sq->ci + 1) % sq->depth;
    if (e.task >= UB_MSGQ_PRIVATE) {
        ub_msgq_put(q, n, e.task, e.opcode, e.msn, UB_MSGQ_UNSUPPORTED, none, 0);
        return true;
    }
    rule = send_packet(q, n, now, &e);
    if (rule) {
        q->ops->guest_error(q->opaque, n, rule);
        fail_entry(q, n, &e);
    }
    return true;
}

bool ub_msgqs_run(UbMsgqs *q, int64_t now, unsigned budget)
{
    unsigned idle = 0;

    while (budget && idle < UB_MSGQ_NUM) {
        unsigned n = q->turn;
        Msgq *mq = &q->queue[n];

        q->turn = (q->turn + 1) % UB_MSGQ_NUM;
        if (!ub_msgq_ready(mq) ||
            mq->ring[MSGQ_SQ].pi == mq->ring[MSGQ_SQ].ci ||
            !send_entry(q, n, now)) {
            idle++;
        } else {
            idle = 0;
            budget--;
        }
    }
    return idle < UB_MSGQ_NUM;
}

/* ---- Receiving ---- */

static unsigned task_of(UbMgmtKind kind)
{
    return kind == UB_MGMT_KIND_SCAN ? UB_MSGQ_SCAN : UB_MSGQ_MESSAGE;
}

bool ub_msgqs_deliver(UbMsgqs *q, int queue, UbMgmtKind kind,
                      const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    unsigned headers = ub_msgq_headers(kind), n = queue;
    uint8_t packet[UB_MSGQ_SLOT];
    uint8_t opcode = data[0];
    UbScan s;

    /* What nobody asked for goes to the first queue that works. */
    for (n = MAX(queue, 0); n < UB_MSGQ_NUM; n++) {
        if (ub_msgq_ready(&q->queue[n])) {
            break;
        }
        if (queue >= 0) {
            return false;
        }
    }
    if (n >= UB_MSGQ_NUM || headers + len > sizeof(packet)) {
        return false;
    }
    if (kind == UB_MGMT_KIND_SCAN) {
        if (ub_scan_parse(&s, data, len)) {
            return false;
        }
        opcode = ub_mgmt_get(s.pdu, UB_MF_PDU_CMD);
    }
    ub_msgq_slot_put(packet, kind, a);
    memcpy(packet + headers, data, len);
    return ub_msgq_put(q, n, task_of(kind), opcode, a->msn, UB_MSGQ_OK, packet,
                       headers + len);
}

bool ub_msgqs_failed(UbMsgqs *q, unsigned queue, UbMgmtKind kind,
                     uint16_t msn, uint8_t code)
{
    uint8_t none[4];

    /* The CQE of a message that fails is that of a response. */
    return queue >= UB_MSGQ_NUM ||
           ub_msgq_put(q, queue, task_of(kind),
                       kind == UB_MGMT_KIND_MESSAGE ? code | 1 : code, msn,
                       UB_MSGQ_FAILED, none, 0);
}

/* ---- Migration ---- */

void ub_msgqs_image(UbMsgqs *q, CoreImage *im)
{
    core_image_begin(im, CORE_TAG('M', 'S', 'G', 'Q'), 1);
    for (unsigned n = 0; n < UB_MSGQ_NUM; n++) {
        Msgq *mq = &q->queue[n];

        for (unsigned i = 0; i < MSGQ_RINGS; i++) {
            MsgqRing *r = &mq->ring[i];

            core_image_int(im, &r->addr);
            core_image_int(im, &r->pi);
            core_image_int(im, &r->ci);
            core_image_int(im, &r->depth);
            core_image_int(im, &r->status);
            if (!core_image_check(im, r->depth <= UB_MSGQ_DEPTH_MAX &&
                                  (r->depth ? r->pi < r->depth &&
                                              r->ci < r->depth
                                            : !r->pi && !r->ci),
                                  "a message queue's index beyond its ring")) {
                r->pi = r->ci = r->depth = 0;
            }
        }
        core_image_int(im, &mq->entry_size);
        if (!core_image_check(im, mq->entry_size <= 4,
                              "a message queue's slots are too large")) {
            mq->entry_size = 4;
        }
        core_image_int(im, &mq->sq_mask);
        core_image_int(im, &mq->int_mask);
        core_image_int(im, &mq->int_status);
        core_image_int(im, &mq->vector);
        core_image_flag(im, &mq->held);
    }
    core_image_end(im);
}
