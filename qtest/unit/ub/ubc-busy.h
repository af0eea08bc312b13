/*
 * A controller in the middle of its work, as one image, and what is tried with it
 * when somebody has changed that image.  To be included behind ubc-pair.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_BUSY_H
#define UBC_BUSY_H

#include "ub/ta.h"
#include "../../ubq-drv.h"

#define BUSY_HEAP 0x300000       /* queues and data, behind the rings' buffers */
#define BUSY_DATA 0x10000
#define BUSY_CTP 9               /* rows of the table of destinations */
#define BUSY_RTP 10
#define BUSY_CHANNEL 5
#define BUSY_SEGMENT 77
enum { BUSY_STREAM, BUSY_MESSAGES, BUSY_UNREADY, BUSY_REPORT, BUSY_QUEUES };

typedef struct Busy {
    UbcConfig conf[2];
    UbqDrv drv[2];
    UbqCq cq[2];
    UbqQueue queue[2][BUSY_QUEUES];
    uint64_t data[2];
    uint8_t *image[2], *memory[2];
    size_t len[2];
    Ubc *victim;                 /* of side 1 */
} Busy;

static inline uint32_t busy_read(void *opaque, uint32_t offset)
{
    return rd(opaque, offset);
}

static inline void busy_write(void *opaque, uint32_t offset, uint32_t value)
{
    wr(opaque, offset, value);
}

static inline void busy_bell(void *opaque, uint32_t page, uint32_t offset,
                             uint64_t value)
{
    Side *s = opaque;

    ubc_ring(s->ubc, page, offset, value);
    ubc_rung(s->ubc, now);
}

static inline void busy_progress(void *opaque)
{
    Side *s = opaque;

    run_until(s, s->peer, never, 10000);
}

/* Queues in both modes, a way of each carrier, memory that the peer may reach. */
static inline void busy_open(Busy *b, unsigned i)
{
    static const unsigned mode[BUSY_QUEUES] = { 0, 1, 0, 3 };
    UbqPeer peer = { .cna = 2 - i, .eid = { [15] = 2 - i }, .upi = 1 };
    Side *s = &two[i];

    b->drv[i] = (UbqDrv){ .memory = s->mem, .brk = BUSY_HEAP, .end = MEM,
                          .opaque = s, .reg_read = busy_read,
                          .reg_write = busy_write, .bell = busy_bell,
                          .progress = busy_progress };
    ubq_open(&b->drv[i]);
    ubq_cq_open(&b->cq[i], &b->drv[i], 8);
    ubq_channel(&b->drv[i], BUSY_CHANNEL, &peer, 0xfffff0 + i, 0xfffff0 + !i);
    ubq_dest(&b->drv[i], BUSY_CTP, 1, 0, &peer);
    ubq_dest(&b->drv[i], BUSY_RTP, 0, BUSY_CHANNEL, &peer);
    b->data[i] = ubq_alloc(&b->drv[i], BUSY_DATA, 4096);
    ubq_segment(&b->drv[i], BUSY_SEGMENT, b->data[i], BUSY_DATA,
                UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_ATOMIC, 0);
    for (unsigned q = 0; q < BUSY_QUEUES; q++) {
        ubq_queue_open(&b->queue[i][q], &b->drv[i], &b->cq[i], &b->cq[i],
                       mode[q], 0);
    }
}

static inline void busy_post(Busy *b, unsigned i, unsigned queue, uint32_t w0,
                             unsigned row, uint32_t len)
{
    UbqQueue *q = &b->queue[i][queue];
    bool send = (w0 & UBQ_SQE_OPCODE) == UB_TA_SEND;
    uint8_t *e = ubq_sqe(q, 1);

    ubq_sqe_put(e, w0, row, b->data[i], len);
    put_le32(e + UBQ_SQE_TARGET, send ? b->queue[!i][queue].id : BUSY_SEGMENT);
    put_le64(e + UBQ_SQE_ADDR, 0x10000);
    ubq_post(q, e, 1);
}

/* Something of everything, more than is done when the picture is taken. */
static inline void busy_load(Busy *b, unsigned i)
{
    for (unsigned n = 0; n < 4; n++) {
        ubq_recv(&b->queue[i][BUSY_MESSAGES], b->data[i], BUSY_DATA);
        ubq_recv(&b->queue[i][BUSY_REPORT], b->data[i], BUSY_DATA);
    }
    for (unsigned n = 0; n < 6; n++) {
        busy_post(b, i, BUSY_STREAM, n % 2 ? UB_TA_READ : UB_TA_WRITE, BUSY_CTP,
                  BUSY_DATA);
        busy_post(b, i, BUSY_MESSAGES, UB_TA_SEND | UBQ_SQE_SOLICITED, BUSY_RTP,
                  20000);
        busy_post(b, i, BUSY_UNREADY, UB_TA_SEND, BUSY_RTP, 100 + n);
        busy_post(b, i, BUSY_REPORT, UB_TA_SEND, BUSY_CTP, 64);
    }
    ubq_cq_arm(&b->cq[i], 2);
}

/* Where side 1's first completion will be. */
static const uint8_t *busy_first;

static inline bool busy_at_work(Side *a, Side *b)
{
    return *busy_first & UBQ_CQE_OWNER >> 24;
}

static inline void busy_begin(Busy *b)
{
    const char *why;

    now = 1000;
    for (unsigned i = 0; i < 2; i++) {
        UbcConfig *c = &b->conf[i];

        ubc_config_init(c);
        c->cna = c->eid[15] = i + 1;
        c->upi = 1;
        side_init(&two[i], &two[!i], c);
    }
    connect(&two[0], &two[1]);
    for (unsigned i = 0; i < 2; i++) {
        side_open(&two[i]);
    }
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
    for (unsigned i = 0; i < 2; i++) {
        busy_open(b, i);
    }
    busy_first = two[1].mem + b->cq[1].base + 3;
    for (unsigned i = 0; i < 2; i++) {
        busy_load(b, i);
        send(&two[i], 20, 3);
    }
    /* The first have ended, most are under way. */
    g_assert_true(run_until(&two[0], &two[1], busy_at_work, SECOND));
    for (unsigned i = 0; i < 2; i++) {
        b->memory[i] = g_memdup2(two[i].mem, MEM);
        b->image[i] = ubc_save(two[i].ubc, now, &b->len[i]);
    }
    b->victim = ubc_new(&b->conf[1], &ops, &two[1], &why);
    g_assert_nonnull(b->victim);
    cut(&two[0], &two[1]);
    ubc_free(two[1].ubc);
    two[1].ubc = b->victim;
}

static inline void busy_end(Busy *b)
{
    for (unsigned i = 0; i < 2; i++) {
        side_free(&two[i]);
        g_free(b->memory[i]);
        g_free(b->image[i]);
    }
}

/* Turns beside a peer that is there, or alone until the last timer is over. */
static inline void busy_go_on(Busy *b, bool peer)
{
    Side *s = &two[1];

    if (peer) {
        connect(&two[0], s);
        run_until(&two[0], s, never, SECOND / 200);
        cut(&two[0], s);
        return;
    }
    for (unsigned turn = 0; turn < 24; turn++) {
        side_run(s);
        now += 1ll << (turn + 14);
    }
}

/* What a driver does that knows nothing of the change. */
static inline void busy_drive(Busy *b)
{
    static const uint8_t commands[] = {
        UBQ_OP_CQ_QUERY, UBQ_OP_QUEUE_QUERY, UBQ_OP_CHANNEL_QUERY,
        UBQ_OP_DEST_QUERY, UBQ_OP_QUEUE_MODIFY, UBQ_OP_CHANNEL_DEACTIVATE,
        UBQ_OP_CHANNEL_DESTROY, UBQ_OP_QUEUE_DESTROY, UBQ_OP_CQ_DESTROY,
        UBQ_OP_SEGMENT_CLEAR, UBQ_OP_DEST_CLEAR,
    };
    Side *s = &two[1];
    UbqDrv *d = &b->drv[1];
    uint32_t base = rd(s, UBQ_CMD_WINDOW + UBQ_CMD_BASE_LO);
    uint16_t pi = rd(s, UBQ_CMD_WINDOW + UBQ_CMD_PI);
    unsigned log2 = rd(s, UBQ_CMD_WINDOW + UBQ_CMD_SIZE);

    for (unsigned q = 0; q < BUSY_QUEUES; q++) {
        uint32_t id = b->queue[1][q].id;

        d->bell(s, 0, UBQ_BELL_SQ, id | (uint64_t)(b->queue[1][q].sq_pi + 2) << 32);
        d->bell(s, 0, UBQ_BELL_RQ, id | (uint64_t)(b->queue[1][q].rq_pi + 1) << 32);
    }
    d->bell(s, 0, UBQ_BELL_CQ, b->cq[1].id | 7ull << 32 | 1ull << 48);
    for (unsigned c = 0; c < G_N_ELEMENTS(commands); c++) {
        for (unsigned q = 0; q < BUSY_QUEUES; q++) {
            uint64_t at = base + (uint64_t)(pi++ & ((1u << (log2 & 15)) - 1)) * UBQ_CMD;
            uint32_t object = b->queue[1][q].id;

            if (at + UBQ_CMD > MEM) {
                continue;
            }
            switch (commands[c]) {
            case UBQ_OP_CHANNEL_QUERY:
            case UBQ_OP_CHANNEL_DEACTIVATE:
            case UBQ_OP_CHANNEL_DESTROY:
                object = BUSY_CHANNEL;
                break;
            case UBQ_OP_DEST_QUERY:
            case UBQ_OP_DEST_CLEAR:
                object = BUSY_CTP + q % 2;
                break;
            case UBQ_OP_SEGMENT_CLEAR:
                object = BUSY_SEGMENT;
                break;
            }
            ubq_cmd_init(s->mem + at, object, UBQ_QM_STATE);
            put_le16(s->mem + at + UBQ_CMD_OPCODE, commands[c]);
            s->mem[at + UBQ_Q_STATE] = UBQ_STATE_ERROR;
        }
        wr(s, UBQ_CMD_WINDOW + UBQ_CMD_PI, pi);
        side_run(s);
        now += 1000;
    }
    for (uint32_t reg = 0; reg < UBQ_CMD_WINDOW + 0x100; reg += 4) {
        rd(s, reg);
    }
}

/* Load @image in place of side 1; false: it was refused.  What is taken goes on, is
 * driven and reset. */
static inline bool busy_try(Busy *b, const uint8_t *image, size_t len, bool peer)
{
    Side *s = &two[1];
    bool taken;

    for (unsigned i = 0; i < 2; i++) {
        memcpy(two[i].mem + BUSY_HEAP, b->memory[i] + BUSY_HEAP,
               b->drv[i].brk - BUSY_HEAP);
    }
    s->close = false;
    ubc_bus_master(s->ubc, true);
    taken = !ubc_load(s->ubc, now, image, len);
    if (taken) {
        if (peer) {
            g_assert_null(ubc_load(two[0].ubc, now, b->image[0], b->len[0]));
        }
        busy_go_on(b, peer);
        busy_drive(b);
    }
    ubc_reset(s->ubc, now);
    side_run(s);
    return taken;
}

#endif
