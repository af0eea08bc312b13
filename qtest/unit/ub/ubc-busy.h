/*
 * A controller in the middle of its work, as one image, and what is tried with it
 * when somebody has changed that image.  There are two such moments: one with bus
 * addresses, and one where both ends stand behind their UMMUs, with faults, commands
 * and interrupts that wait, management under way, Entities that are lent, and keys.
 * To be included behind ubc-pair.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_BUSY_H
#define UBC_BUSY_H

#include "ub/cip.h"
#include "ub/cip_hw.h"
#include "ub/msgq.h"
#include "ub/ta.h"
#include "../../ubm-drv.h"
#include "../../ubq-drv.h"

#define BUSY_HEAP 0x300000       /* queues and data, behind the rings' buffers */
#define BUSY_TABLES 0x390000     /* those of the UMMU */
#define BUSY_DATA 0x10000
#define BUSY_CTP 9               /* rows of the table of destinations */
#define BUSY_RTP 10
#define BUSY_UTP 11
#define BUSY_CHANNEL 5
#define BUSY_SEGMENT 77
#define BUSY_TOKEN 33            /* what the peer reaches through the UMMU: */
#define BUSY_UBA 0x7000000000ull
#define BUSY_VALUE 0xabcd0123u
#define BUSY_LOCAL 7             /* what the queues reach */
#define BUSY_VA 0x10000000ull
#define BUSY_MSGQ UBC_MSGQ(0)
#define BUSY_DEPTH 8u            /* of its rings */
enum { BUSY_STREAM, BUSY_MESSAGES, BUSY_UNREADY, BUSY_REPORT, BUSY_QUEUES };

typedef enum BusyMoment {
    BUSY_PLAIN,
    BUSY_TRANSLATED,
    BUSY_MOMENTS
} BusyMoment;

typedef struct Busy {
    BusyMoment moment;
    UbcConfig conf[2];
    UbqDrv drv[2];
    UbmDrv ummu[2];
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

static inline uint32_t busy_ummu_read(void *opaque, uint32_t offset)
{
    return rd(opaque, UBM_WINDOW + offset);
}

static inline void busy_ummu_write(void *opaque, uint32_t offset, uint32_t value)
{
    wr(opaque, UBM_WINDOW + offset, value);
}

static inline void busy_config(UbcConfig *c, unsigned i, BusyMoment moment)
{
    ubc_config_init(c);
    c->cna = c->eid[15] = i + 1;
    c->upi = 1;
    if (moment == BUSY_TRANSLATED) {
        c->entities = 3;
        c->entity[1] = UBC_ENTITY_URMA;
        c->entity[2] = UBC_ENTITY_MEM;
        c->entity_mem[2] = STORE;
        c->usi = UBC_USI_TYPE1;
        c->cip = true;
        c->err_info = 8;
        c->eid_upi = 8;
    }
}

/* ---- The second moment ----------------------------------------------------------- */

static inline void busy_cfg(Side *s, unsigned entity, uint32_t dw, uint32_t value)
{
    wr(s, UBC_CFG_ENTITY, entity);
    wr(s, UBC_CFG_ADDR, dw);
    wr(s, UBC_CFG_DATA, value);
}

/* The peer's data but for one page, which software is asked for; our own. */
static inline void busy_tables(Busy *b, unsigned i)
{
    UbmDrv *u = &b->ummu[i];

    *u = (UbmDrv){ .memory = two[i].mem, .brk = BUSY_TABLES, .end = MEM,
                   .opaque = &two[i], .reg_read = busy_ummu_read,
                   .reg_write = busy_ummu_write, .progress = busy_progress };
    ubm_open(u, 6);
    ubm_context(u, BUSY_LOCAL, 0);
    ubm_map(u, BUSY_LOCAL, BUSY_VA, b->data[i], BUSY_DATA, 0);
    ubm_context(u, BUSY_TOKEN, UBM_TCTE_FBS);
    ubm_map(u, BUSY_TOKEN, BUSY_UBA, b->data[i], BUSY_DATA, 0);
    ubm_single(u, BUSY_TOKEN, UBM_MAPTE_V | UBM_RWA, BUSY_UBA,
               BUSY_UBA + 2 * BUSY_DATA - 1, BUSY_VALUE);
    ubm_word_put(u, u->tect + 8,
                 ubm_word(u, u->tect + 8) | UBM_TECTE_TCT_STALL_EN);
}

/* An Entity that is lent to the peer, whose interrupts are masked; a key that has
 * been given, and half of another. */
static inline void busy_entities(Side *s, unsigned i)
{
    const uint32_t t1 = UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_INT_TYPE1);
    const uint32_t cip = UB_CFG_CAP(UB_CFG1_BASE, UB_CIP_CAP);

    for (unsigned e = 1; e < 3; e++) {
        busy_cfg(s, e, UB_CFG0_EID, 0x10 * (i + 1) + e);
        busy_cfg(s, e, UB_CFG0_UPI, 1);
        busy_cfg(s, e, UB_CFG0_UEID, 2 - i);
        busy_cfg(s, e, UB_CFG0_UCNA, 2 - i);
        busy_cfg(s, e, UB_CFG1_BASE + UB_CFG1_ERS_ACCESS_EN, 1);
    }
    busy_cfg(s, 1, UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID, 0x5a5a5);
    busy_cfg(s, 1, t1 + UB_INT_TYPE1_INTERRUPT_DATA, 0x20);
    busy_cfg(s, 1, t1 + UB_INT_TYPE1_INTERRUPT_ADDRESS, 0xfee00000);
    busy_cfg(s, 1, t1 + UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER, 5);
    busy_cfg(s, 1, t1 + UB_INT_TYPE1_INTERRUPT_MASK, ~0u);
    busy_cfg(s, 1, t1 + UB_INT_TYPE1_INTERRUPT_ENABLE, 1);
    wr(s, UBC_CFG_WINDOW + 4 * (cip + UB_CIP_SELECT), 3);
    wr(s, UBC_CFG_WINDOW + 4 * (cip + UB_CIP_POLICY), 1);
    wr(s, UBC_CFG_WINDOW + 4 * (cip + UB_CIP_COMMAND), UB_CIP_CMD_SET_POLICY);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned n = 0; n < (UB_CIP_IV_LEN + UB_CIP_KEY_MAX) / 4 >> pass;
             n++) {
            wr(s, UBC_CFG_WINDOW + 4 * (cip + UB_CIP_IV + n), 0x1234567 * n + i);
        }
        if (!pass) {
            wr(s, UBC_CFG_WINDOW + 4 * (cip + UB_CIP_COMMAND),
               UB_CIP_CMD_SET_KEY);
            g_assert_cmpuint(rd(s, UBC_CFG_WINDOW + 4 * (cip + UB_CIP_RESULT)),
                             ==, UB_CIP_R_OK);
        }
    }
    wr(s, UBQ_EQ(0) + UBQ_EQ_VECTOR, UBQ_USI(1, 3));
    wr(s, UBQ_EQ(0) + UBQ_EQ_ARM, rd(s, UBQ_EQ(0) + UBQ_EQ_PI));
}

/* Messages that ask the peer for a register, and one that asks nobody there is. */
static inline void busy_messages(Busy *b, unsigned i)
{
    static const uint32_t at[] = { UB_MSGQ_SQ_ADDR_L, UB_MSGQ_RQ_ADDR_L,
                                   UB_MSGQ_CQ_ADDR_L };
    static const uint32_t bytes[] = {
        BUSY_DEPTH * (UB_MSGQ_ENTRY + UB_MSGQ_SLOT), BUSY_DEPTH * UB_MSGQ_SLOT,
        BUSY_DEPTH * UB_MSGQ_ENTRY,
    };
    const unsigned n_messages = 3;
    Side *s = &two[i];
    uint64_t sq = 0;

    wr(s, BUSY_MSGQ + UB_MSGQ_RST, 1);
    wr(s, BUSY_MSGQ + UB_MSGQ_RST, 0);
    for (unsigned r = 0; r < 3; r++) {
        uint64_t base = ubq_alloc(&b->drv[i], bytes[r], 4096);

        sq = r ? sq : base;
        wr(s, BUSY_MSGQ + at[r] + 0x10, BUSY_DEPTH);
        wr(s, BUSY_MSGQ + at[r], base);
    }
    wr(s, BUSY_MSGQ + UB_MSGQ_INT_SEL, 17);
    wr(s, BUSY_MSGQ + UB_MSGQ_CQ_INT_MASK, 0);
    for (unsigned m = 0; m < n_messages; m++) {
        uint32_t slot = BUSY_DEPTH * UB_MSGQ_ENTRY + m * UB_MSGQ_SLOT;
        const uint32_t words[] = {
            6 << 16, m ? 0x99 : 2 - i, 8, 0x027fff00, 0, 0x10000000, 0,
            0x04000010, 0xf0, UB_CFG0_GUID, 0, 0,
        };
        uint8_t *sqe = s->mem + sq + UB_MSGQ_ENTRY * m;

        for (unsigned w = 0; w < G_N_ELEMENTS(words); w++) {
            put_le32(s->mem + sq + slot + 4 * w, words[w]);
        }
        put_le32(sqe, UB_MSGQ_MESSAGE | 4 << 8 | sizeof(words) << 16);
        put_le32(sqe + 4, 100 + m);
        put_le32(sqe + 8, slot);
    }
    wr(s, BUSY_MSGQ + UB_MSGQ_SQ_PI, n_messages);
}

/* Commands of the UMMU that have been rung for and not looked at. */
static inline void busy_commands(Busy *b, unsigned i)
{
    static const uint64_t ops[] = {
        UBM_CMD_TLBI_NS_ALL, UBM_CMD_PLBI_ALL,
        UBM_CMD_CFGI_TCT | (uint64_t)BUSY_LOCAL << 12, UBM_CMD_NULL,
        UBM_CMD_STALL_TERM, UBM_CMD_SYNC,
    };
    UbmDrv *u = &b->ummu[i];

    for (unsigned n = 0; n < G_N_ELEMENTS(ops); n++) {
        uint64_t at = u->cmdq + UBM_CMD * ((u->cmd_pi + n) % 16);

        memset(u->memory + at, 0, UBM_CMD);
        ubm_word_put(u, at, ops[n]);
    }
    u->reg_write(u->opaque, UBM_CMDQ(0) + UBM_CMDQ_PROD,
                 UBM_Q_ENABLE | ((u->cmd_pi + G_N_ELEMENTS(ops)) & 31));
}

/* ---- Both ------------------------------------------------------------------------ */

static inline void busy_queue(Busy *b, unsigned i, unsigned q, unsigned mode)
{
    UbqQueue *queue = &b->queue[i][q];

    if (b->moment == BUSY_PLAIN) {
        ubq_queue_open(queue, &b->drv[i], &b->cq[i], &b->cq[i], mode, 0);
        return;
    }
    *queue = (UbqQueue){ .d = &b->drv[i], .sq_log2 = 6, .rq_log2 = 5, .stride = 1,
                         .local = BUSY_LOCAL };
    ubq_queue_create(queue, &b->cq[i], &b->cq[i], UBQ_NEW, mode,
                     UBQ_Q_TRANSLATE);
}

/* Queues in both modes, a way of each carrier, memory that the peer may reach. */
static inline void busy_open(Busy *b, unsigned i)
{
    static const unsigned mode[BUSY_QUEUES] = { 0, 1, 0, 3 };
    UbqPeer peer = { .cna = 2 - i, .eid = { [15] = 2 - i }, .upi = 1 };
    Side *s = &two[i];

    b->drv[i] = (UbqDrv){ .memory = s->mem, .brk = BUSY_HEAP,
                          .end = b->moment == BUSY_PLAIN ? MEM : BUSY_TABLES,
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
        busy_queue(b, i, q, mode[q]);
    }
    if (b->moment == BUSY_TRANSLATED) {
        ubq_dest(&b->drv[i], BUSY_UTP, 2, 0, &peer);
        busy_tables(b, i);
        busy_entities(s, i);
        busy_messages(b, i);
    }
}

/* Where the data of queues are. */
static inline uint64_t busy_local(const Busy *b, unsigned i)
{
    return b->moment == BUSY_PLAIN ? b->data[i] : BUSY_VA;
}

/* @at: of the peer's data. */
static inline void busy_post_at(Busy *b, unsigned i, unsigned queue, uint32_t w0,
                                unsigned row, uint64_t at, uint32_t len)
{
    UbqQueue *q = &b->queue[i][queue];
    bool send = (w0 & UBQ_SQE_OPCODE) == UB_TA_SEND;
    bool token = b->moment == BUSY_TRANSLATED && !send;
    uint8_t *e = ubq_sqe(q, 1);

    ubq_sqe_put(e, w0 | (token ? UBQ_SQE_TOKEN : 0), row, busy_local(b, i), len);
    put_le32(e + UBQ_SQE_TARGET, send ? b->queue[!i][queue].id
                                      : token ? BUSY_TOKEN : BUSY_SEGMENT);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, token ? BUSY_VALUE : 0);
    put_le64(e + UBQ_SQE_ADDR, (token ? BUSY_UBA : 0x10000) + at);
    ubq_post(q, e, 1);
}

static inline void busy_post(Busy *b, unsigned i, unsigned queue, uint32_t w0,
                             unsigned row, uint32_t len)
{
    busy_post_at(b, i, queue, w0, row, 0, len);
}

/* Something of everything, more than is done when the picture is taken. */
static inline void busy_load(Busy *b, unsigned i)
{
    bool plain = b->moment == BUSY_PLAIN;

    for (unsigned n = 0; n < 4; n++) {
        ubq_recv(&b->queue[i][BUSY_MESSAGES], busy_local(b, i), BUSY_DATA);
        ubq_recv(&b->queue[i][BUSY_REPORT], busy_local(b, i), BUSY_DATA);
    }
    if (!plain) {
        /* A page that is not there. */
        busy_post_at(b, i, BUSY_STREAM, UB_TA_WRITE, BUSY_CTP, BUSY_DATA, 64);
    }
    for (unsigned n = 0; n < 6; n++) {
        busy_post(b, i, BUSY_STREAM, n % 2 ? UB_TA_READ : UB_TA_WRITE, BUSY_CTP,
                  BUSY_DATA);
        busy_post(b, i, BUSY_MESSAGES, UB_TA_SEND | UBQ_SQE_SOLICITED, BUSY_RTP,
                  20000);
        busy_post(b, i, BUSY_UNREADY, UB_TA_SEND, BUSY_RTP, 100 + n);
        busy_post(b, i, BUSY_REPORT, UB_TA_SEND, plain ? BUSY_CTP : BUSY_UTP,
                  64);
    }
    ubq_cq_arm(&b->cq[i], 2);
}

/* Where side 1's first completion will be. */
static const uint8_t *busy_first;

static inline bool busy_at_work(Side *a, Side *b)
{
    return *busy_first & UBQ_CQE_OWNER >> 24;
}

/* The same, and both have met the page that is not there. */
static inline bool busy_at_fault(Side *a, Side *b)
{
    return busy_at_work(a, b) && rd(a, UBM_WINDOW + UBM_EVTQ_PROD) &&
           rd(b, UBM_WINDOW + UBM_EVTQ_PROD);
}

/* The sides, up to the moment. */
static inline void busy_begin(Busy *b, BusyMoment moment)
{
    const char *why;

    now = 1000;
    b->moment = moment;
    for (unsigned i = 0; i < 2; i++) {
        busy_config(&b->conf[i], i, moment);
        side_init(&two[i], &two[!i], &b->conf[i]);
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
    g_assert_true(run_until(&two[0], &two[1], moment == BUSY_PLAIN
                            ? busy_at_work : busy_at_fault, SECOND));
    if (moment == BUSY_TRANSLATED) {
        /* What comes to a function that may not write waits; not too much of
         * it, which would be most of the image. */
        ubc_bus_master(two[1].ubc, false);
        two[0].max_chunk = 8192;
        run_until(&two[0], &two[1], never, 400);
        two[0].max_chunk = 0;
        for (unsigned i = 0; i < 2; i++) {
            busy_commands(b, i);
        }
    }
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

/* The same for what only the second moment has. */
static inline void busy_drive_more(Busy *b)
{
    const uint32_t cip = UB_CFG_CAP(UB_CFG1_BASE, UB_CIP_CAP);
    UbmDrv *u = &b->ummu[1];
    Side *s = &two[1];

    busy_commands(b, 1);
    side_run(s);
    u->reg_write(u->opaque, UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE | 30);
    u->reg_write(u->opaque, UBM_EVTQ_CONS, u->reg_read(u->opaque, UBM_EVTQ_PROD));
    wr(s, BUSY_MSGQ + UB_MSGQ_SQ_PI, 5);
    wr(s, BUSY_MSGQ + UB_MSGQ_CQ_CI, rd(s, BUSY_MSGQ + UB_MSGQ_CQ_PI));
    wr(s, BUSY_MSGQ + UB_MSGQ_RQ_CI, rd(s, BUSY_MSGQ + UB_MSGQ_RQ_PI));
    busy_cfg(s, 1, UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_INT_TYPE1) +
                   UB_INT_TYPE1_INTERRUPT_MASK, 0);
    for (unsigned code = 0; code < 8; code++) {
        wr(s, UBC_CFG_WINDOW + 4 * (cip + UB_CIP_COMMAND), code);
    }
    for (uint32_t reg = 0; reg < 0x1200; reg += 4) {
        u->reg_read(u->opaque, reg);
    }
    side_run(s);
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
    if (b->moment == BUSY_TRANSLATED) {
        busy_drive_more(b);
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
               MAX(b->drv[i].brk, b->ummu[i].brk) - BUSY_HEAP);
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
