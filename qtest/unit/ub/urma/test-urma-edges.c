/*
 * The edges of the interface: what each register, command field and limit does, and
 * that all of it survives a migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <inttypes.h>
#include <string.h>

#include "pair.h"

static uint32_t reg(End *e, uint32_t offset)
{
    return ub_urma_reg_read(e->urma, offset);
}

static void reg_set(End *e, uint32_t offset, uint32_t value)
{
    ub_urma_reg_write(e->urma, offset, value);
}

/* A rule was broken, and named, @n times since the last call. */
static void broke(End *e, unsigned n)
{
    g_assert_cmpuint(e->guest_errors, ==, n);
    e->guest_errors = 0;
}

static unsigned run(End *e, unsigned opcode, uint8_t cmd[UBQ_CMD])
{
    return ubq_command(&e->drv, opcode, cmd);
}

static unsigned run_on(End *e, unsigned opcode, uint32_t object)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, object, 0);
    return run(e, opcode, cmd);
}

/* ---- CAPS ----------------------------------------------------------------------------- */

static void test_caps(void)
{
    static const struct {
        unsigned at;
        uint32_t value;
    } caps[] = {
        { UBQ_CAP_VERSION, 1 }, { UBQ_CAP_QUEUES, 256 }, { UBQ_CAP_CQS, 256 },
        { UBQ_CAP_EQS, 256 }, { UBQ_CAP_SEGMENTS, 256 }, { UBQ_CAP_PAGES, 256 },
        { UBQ_CAP_ELEMENTS, 32 | 16 << 16 }, { UBQ_CAP_INLINE, 512 },
        { UBQ_CAP_LENGTH, 1u << 31 }, { UBQ_CAP_LENGTH + 4, 0 },
        { UBQ_CAP_JGROUPS, 8 }, { UBQ_CAP_JMEMBERS, 4 },
    };
    UbUrmaConfig cfg;
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(cmd, 0, 0);
    g_assert_cmpuint(run(p.a, UBQ_OP_CAPS, cmd), ==, UBQ_RESULT_OK);
    for (unsigned i = 0; i < G_N_ELEMENTS(caps); i++) {
        g_assert_cmphex(get_le32(cmd + caps[i].at), ==, caps[i].value);
    }
    g_assert_cmpuint(get_le32(cmd + UBQ_CAP_CHANNELS), >, 0);
    g_assert_cmpuint(get_le32(cmd + UBQ_CAP_GROUPS), >, 0);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_COMMANDS_FAILED), ==, 0);
    g_assert_cmpuint(run_on(p.a, 0xff, 0), ==, UBQ_RESULT_OPCODE);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_COMMANDS_FAILED), ==, 1);
    pair_stop(&p);
    /* What the device has. */
    ub_urma_config_init(&cfg);
    g_assert_cmpuint(cfg.queues, ==, 65536);
    g_assert_cmpuint(cfg.cqs, ==, 65536);
    g_assert_cmpuint(cfg.segments, ==, 65536);
    g_assert_cmpuint(cfg.groups, ==, 4096);
    g_assert_cmpuint(cfg.members, ==, 256);
    g_assert_cmpuint(cfg.vectors, ==, 1024);
    g_assert_cmpuint(cfg.entities, ==, 1);
    for (unsigned i = 0; i < UB_URMA_COUNTERS_NUM; i++) {
        g_assert_nonnull(ub_urma_counter_name(i));
    }
    g_assert_null(ub_urma_counter_name(UB_URMA_COUNTERS_NUM));
}

/* ---- Registers ------------------------------------------------------------------------ */

/* Event queue 9, or the command queue, and the least and greatest size of it. */
static void places(End *e, uint32_t base, uint32_t align, unsigned least,
                   unsigned most)
{
    const uint32_t lo = base, hi = base + 4, size = base + 8, ctrl = base + 12,
                   vector = base + 16;

    reg_set(e, ctrl, 0);
    reg_set(e, lo, 0x12340000 + align);
    reg_set(e, hi, 0x56);
    reg_set(e, size, most);
    reg_set(e, vector, 1023);
    g_assert_cmphex(reg(e, lo), ==, 0x12340000 + align);
    g_assert_cmphex(reg(e, hi), ==, 0x56);
    g_assert_cmpuint(reg(e, size), ==, most);
    g_assert_cmpuint(reg(e, vector), ==, 1023);
    broke(e, 0);
    reg_set(e, vector, 1024);
    g_assert_cmpuint(reg(e, vector), ==, 1023);
    broke(e, 1);
    /* Enabled it stays where it is. */
    reg_set(e, ctrl, 1);
    g_assert_cmphex(reg(e, ctrl), ==, 1);
    for (uint32_t at = lo; at <= size; at += 4) {
        uint32_t before = reg(e, at);

        reg_set(e, at, 5);
        g_assert_cmphex(reg(e, at), ==, before);
        broke(e, 1);
    }
    reg_set(e, ctrl, 0);
    g_assert_cmphex(reg(e, ctrl), ==, 0);
    /* Sizes and places that cannot be. */
    reg_set(e, size, most + 1);
    reg_set(e, ctrl, 1);
    g_assert_cmphex(reg(e, ctrl), ==, 0);
    broke(e, 1);
    if (least) {
        reg_set(e, size, least - 1);
        reg_set(e, ctrl, 1);
        g_assert_cmphex(reg(e, ctrl), ==, 0);
        broke(e, 1);
    }
    reg_set(e, size, least);
    reg_set(e, lo, align / 2);
    reg_set(e, ctrl, 1);
    g_assert_cmphex(reg(e, ctrl), ==, 0);
    broke(e, 1);
    reg_set(e, lo, align);
    reg_set(e, ctrl, 1);
    g_assert_cmphex(reg(e, ctrl), ==, 1);
    reg_set(e, ctrl, 0);
    broke(e, 0);
}

static void test_places(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    places(p.a, UBQ_EQ(9), UBQ_EQE, 4, 15);
    places(p.a, UBQ_CMD_WINDOW, UBQ_CMD, 0, 8);
    /* Where no register is. */
    reg_set(p.a, UBQ_EQ(9) + 0x24, ~0u);
    reg_set(p.a, UBQ_CMD_WINDOW + 0x20, ~0u);
    g_assert_cmphex(reg(p.a, UBQ_EQ(9) + 0x24), ==, 0);
    g_assert_cmphex(reg(p.a, UBQ_CMD_WINDOW + 0x20), ==, 0);
    g_assert_cmphex(reg(p.a, UBQ_EQ_WINDOW - 4), ==, 0);
    reg_set(p.a, UBQ_EQ_WINDOW - 4, ~0u);
    g_assert_cmphex(reg(p.a, UBQ_EQ(256)), ==, 0);
    reg_set(p.a, UBQ_EQ(255) + UBQ_EQ_VECTOR, 3);
    g_assert_cmphex(reg(p.a, UBQ_EQ(255) + UBQ_EQ_VECTOR), ==, 3);
    broke(p.a, 0);
    pair_stop(&p);
}

/* Counts and arming of event queue 3. */
static void test_event_registers(void)
{
    const uint32_t base = UBQ_EQ(3);
    Pair p;
    End *e;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    e = p.a;
    ub_urma_event(e->urma, 3, UBQ_EVENT_ENTITY, 1, 2, 3);       /* it is off */
    g_assert_cmpuint(reg(e, base + UBQ_EQ_LOST), ==, 1);
    ub_urma_event(e->urma, 256, UBQ_EVENT_ENTITY, 1, 2, 3);     /* not there */
    g_assert_cmpuint(ub_urma_counter(e->urma, UB_URMA_EVENTS_LOST), ==, 2);
    reg_set(e, base + UBQ_EQ_BASE_LO, ubq_alloc(&e->drv, 16 * UBQ_EQE, 64));
    reg_set(e, base + UBQ_EQ_SIZE, 4);
    reg_set(e, base + UBQ_EQ_VECTOR, 5);
    reg_set(e, base + UBQ_EQ_CTRL, UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
    g_assert_cmphex(reg(e, base + UBQ_EQ_CTRL), ==,
                    UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
    reg_set(e, base + UBQ_EQ_ARM, 0);
    g_assert_cmpuint(e->interrupts, ==, 0);
    ub_urma_device_event(e->urma, UBQ_EVENT_PORT_DOWN, 7, 8, 9);
    g_assert_cmpuint(reg(e, UBQ_EQ(0) + UBQ_EQ_PI), ==, 0); /* not asked for */
    g_assert_cmpuint(e->interrupts, ==, 1);
    g_assert_cmpuint(e->vector, ==, 5);
    {
        const uint8_t *at = e->memory + reg(e, base + UBQ_EQ_BASE_LO);

        g_assert_cmphex(get_le32(at), ==, UBQ_EQE_OWNER | 0x0213);
        g_assert_cmpuint(get_le32(at + 4), ==, 7);
        g_assert_cmpuint(get_le32(at + 8), ==, 8);
        g_assert_cmpuint(get_le32(at + 12), ==, 9);
    }
    ub_urma_event(e->urma, 3, UBQ_EVENT_ENTITY, 1, 2, 3);
    g_assert_cmpuint(e->interrupts, ==, 1);     /* once */
    reg_set(e, base + UBQ_EQ_ARM, 2);
    g_assert_cmpuint(e->interrupts, ==, 1);
    g_assert_cmpuint(reg(e, base + UBQ_EQ_ARM), ==, 2);
    reg_set(e, base + UBQ_EQ_ARM, 1);           /* there is one already */
    g_assert_cmpuint(e->interrupts, ==, 2);
    /* What was not written is not read. */
    reg_set(e, base + UBQ_EQ_CI, 3);
    broke(e, 1);
    g_assert_cmpuint(reg(e, base + UBQ_EQ_CI), ==, 0);
    reg_set(e, base + UBQ_EQ_CI, 1);
    reg_set(e, base + UBQ_EQ_CI, 0);
    broke(e, 1);
    g_assert_cmpuint(reg(e, base + UBQ_EQ_CI), ==, 1);
    /* Sixteen and no more; the next lap has the other owner. */
    for (unsigned i = 0; i < 16; i++) {
        ub_urma_event(e->urma, 3, UBQ_EVENT_ENTITY, i, 0, 0);
    }
    g_assert_cmpuint(reg(e, base + UBQ_EQ_PI), ==, 17);
    g_assert_cmpuint(reg(e, base + UBQ_EQ_LOST), ==, 2);
    g_assert_cmphex(get_le32(e->memory + reg(e, base + UBQ_EQ_BASE_LO)), ==,
                    0x0003);
    g_assert_cmpuint(ub_urma_counter(e->urma, UB_URMA_EVENTS), ==, 17);
    /* Off and on again it begins anew. */
    reg_set(e, base + UBQ_EQ_CTRL, 0);
    reg_set(e, base + UBQ_EQ_ARM, 9);
    reg_set(e, base + UBQ_EQ_CTRL, UBQ_EQ_ENABLE);
    g_assert_cmpuint(reg(e, base + UBQ_EQ_PI), ==, 0);
    g_assert_cmpuint(reg(e, base + UBQ_EQ_CI), ==, 0);
    ub_urma_event(e->urma, 3, UBQ_EVENT_ENTITY, 1, 2, 3);
    g_assert_cmpuint(e->interrupts, ==, 3);     /* for what was armed off */
    pair_stop(&p);
}

static void test_command_registers(void)
{
    const uint32_t base = UBQ_CMD_WINDOW;
    uint8_t *cmds;
    Pair p;
    End *e;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    e = p.a;
    reg_set(e, base + UBQ_CMD_CTRL, 0);
    reg_set(e, base + UBQ_CMD_PI, 1);           /* it is off */
    broke(e, 1);
    cmds = e->memory + reg(e, base + UBQ_CMD_BASE_LO);
    memset(cmds, 0, 4 * UBQ_CMD);
    reg_set(e, base + UBQ_CMD_SIZE, 2);
    reg_set(e, base + UBQ_CMD_VECTOR, 6);
    reg_set(e, base + UBQ_CMD_CTRL, UBQ_CMD_ENABLE);
    g_assert_cmpuint(reg(e, base + UBQ_CMD_PI), ==, 0);
    reg_set(e, base + UBQ_CMD_PI, 5);           /* of four */
    broke(e, 1);
    reg_set(e, base + UBQ_CMD_ARM, 0);
    g_assert_cmpuint(reg(e, base + UBQ_CMD_ARM), ==, 0);
    reg_set(e, base + UBQ_CMD_PI, 4);
    g_assert_cmpuint(reg(e, base + UBQ_CMD_PI), ==, 4);
    /* Two in one turn; the rest wants another. */
    g_assert_cmpint(ub_urma_run(e->urma, p.ends.now, 2), ==, p.ends.now);
    g_assert_cmpuint(reg(e, base + UBQ_CMD_CI), ==, 2);
    g_assert_cmpuint(e->interrupts, ==, 1);
    g_assert_cmpuint(e->vector, ==, 6);
    g_assert_cmphex(get_le32(cmds + UBQ_CMD + UBQ_CMD_RESULT), ==, UBQ_DONE);
    g_assert_cmphex(get_le32(cmds + 2 * UBQ_CMD + UBQ_CMD_RESULT), ==, 0);
    g_assert_cmpint(ub_urma_run(e->urma, p.ends.now, 2), ==, INT64_MAX);
    g_assert_cmpuint(reg(e, base + UBQ_CMD_CI), ==, 4);
    g_assert_cmpuint(e->interrupts, ==, 1);
    reg_set(e, base + UBQ_CMD_ARM, 4);
    g_assert_cmpuint(e->interrupts, ==, 1);
    reg_set(e, base + UBQ_CMD_ARM, 3);
    g_assert_cmpuint(e->interrupts, ==, 2);
    /* The next lap is in the same place. */
    memset(cmds, 0, UBQ_CMD);
    reg_set(e, base + UBQ_CMD_PI, 5);
    ub_urma_run(e->urma, p.ends.now, 64);
    g_assert_cmphex(get_le32(cmds + UBQ_CMD_RESULT), ==, UBQ_DONE);
    pair_stop(&p);
}

/* Rings where no memory is stop, and whoever asked is told. */
static void test_nowhere(void)
{
    unsigned ci = 0;
    Pair p;
    End *e;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    e = p.a;
    reg_set(e, UBQ_EQ(0) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
    reg_set(e, UBQ_EQ(4) + UBQ_EQ_BASE_LO, END_MEMORY);
    reg_set(e, UBQ_EQ(4) + UBQ_EQ_SIZE, 4);
    reg_set(e, UBQ_EQ(4) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE);
    ub_urma_event(e->urma, 4, UBQ_EVENT_ENTITY, 1, 2, 3);
    g_assert_cmphex(reg(e, UBQ_EQ(4) + UBQ_EQ_CTRL), ==, UBQ_EQ_ERROR);
    broke(e, 1);
    g_assert_cmpuint(ub_urma_counter(e->urma, UB_URMA_DMA_ERRORS), ==, 1);
    g_assert_cmpuint(eq_take(e, &ci, UBQ_EVENT_FATAL), ==, 4);
    reg_set(e, UBQ_EQ(4) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE);
    g_assert_cmphex(reg(e, UBQ_EQ(4) + UBQ_EQ_CTRL), ==, UBQ_EQ_ENABLE);

    reg_set(e, UBQ_CMD_WINDOW + UBQ_CMD_CTRL, 0);
    reg_set(e, UBQ_CMD_WINDOW + UBQ_CMD_BASE_LO, END_MEMORY);
    reg_set(e, UBQ_CMD_WINDOW + UBQ_CMD_CTRL, UBQ_CMD_ENABLE);
    reg_set(e, UBQ_CMD_WINDOW + UBQ_CMD_PI, 1);
    ub_urma_run(e->urma, p.ends.now, 64);
    g_assert_cmphex(reg(e, UBQ_CMD_WINDOW + UBQ_CMD_CTRL), ==, UBQ_CMD_ERROR);
    g_assert_cmpuint(reg(e, UBQ_CMD_WINDOW + UBQ_CMD_CI), ==, 0);
    broke(e, 1);
    g_assert_cmpuint(ub_urma_counter(e->urma, UB_URMA_DMA_ERRORS), ==, 2);
    g_assert_cmpuint(eq_take(e, &ci, UBQ_EVENT_FATAL), ==, 0);
    g_assert_cmpuint(reg(e, UBQ_EQ(0) + UBQ_EQ_PI), ==, 2);
    reg_set(e, UBQ_CMD_WINDOW + UBQ_CMD_CTRL, UBQ_CMD_ENABLE);
    g_assert_cmphex(reg(e, UBQ_CMD_WINDOW + UBQ_CMD_CTRL), ==, UBQ_CMD_ENABLE);
    pair_stop(&p);
}

/* ---- Commands: each field, its bounds -------------------------------------------------- */

typedef struct Field {
    unsigned at, size;
    uint64_t value;
    bool good;
} Field;

static void field_put(uint8_t *cmd, const Field *f)
{
    for (unsigned i = 0; i < f->size; i++) {
        cmd[f->at + i] = f->value >> 8 * i;
    }
}

/* @base with one field at a time as @f says. */
static void try_fields(End *e, unsigned opcode, const uint8_t base[UBQ_CMD],
                       const Field *f, unsigned n, unsigned destroy)
{
    for (unsigned i = 0; i < n; i++) {
        uint8_t cmd[UBQ_CMD];
        unsigned result;

        memcpy(cmd, base, UBQ_CMD);
        field_put(cmd, &f[i]);
        e->guest_errors = 0;
        result = run(e, opcode, cmd);
        g_test_message("byte %u: 0x%" PRIx64, f[i].at, f[i].value);
        g_assert_cmpuint(result, ==, f[i].good ? UBQ_RESULT_OK
                                               : UBQ_RESULT_PARAMETER);
        g_assert_cmpuint(e->guest_errors, ==, !f[i].good);
        if (f[i].good) {
            g_assert_cmpuint(run_on(e, destroy,
                                    get_le32(cmd + UBQ_CMD_OBJECT)), ==,
                             UBQ_RESULT_OK);
        }
    }
    e->guest_errors = 0;
}

static void test_queue_fields(void)
{
    static const Field fields[] = {
        { UBQ_Q_FLAGS, 4, 0x1f, true }, { UBQ_Q_FLAGS, 4, 0x20, false },
        { UBQ_Q_FLAGS, 4, UBQ_Q_TRANSLATE, false },     /* there is no UMMU */
        { UBQ_Q_MODE, 1, 3, true }, { UBQ_Q_MODE, 1, 4, false },
        { UBQ_Q_RNR_TIMER, 1, 19, true }, { UBQ_Q_RNR_TIMER, 1, 20, false },
        { UBQ_Q_SQ_LOG2, 1, 15, true }, { UBQ_Q_SQ_LOG2, 1, 16, false },
        { UBQ_Q_SQ_LOG2, 1, 0, true },
        { UBQ_Q_RQ_LOG2, 1, 15, true }, { UBQ_Q_RQ_LOG2, 1, 16, false },
        { UBQ_Q_RQ_LOG2, 1, 0, true },
        { UBQ_Q_SQ_LOG2, 2, 0, false },                 /* neither */
        { UBQ_Q_RQ_STRIDE, 1, 4, true }, { UBQ_Q_RQ_STRIDE, 1, 5, false },
        { UBQ_Q_SQ_BASE, 8, 32, false }, { UBQ_Q_SQ_BASE, 8, 64, true },
        { UBQ_Q_RQ_BASE, 8, 8, false }, { UBQ_Q_RQ_BASE, 8, 16, true },
        { UBQ_Q_RECORD, 8, 4, false }, { UBQ_Q_RECORD, 8, 8, true },
        { UBQ_Q_PAGE, 2, 255, true }, { UBQ_Q_PAGE, 2, 256, false },
        { UBQ_Q_EQ, 2, 255, true }, { UBQ_Q_EQ, 2, 256, false },
        { UBQ_Q_ENTITY, 2, 1, false },
        { UBQ_Q_SEND_CQ, 4, 99, false }, { UBQ_Q_RECV_CQ, 4, 99, false },
        { UBQ_Q_SEND_CQ, 4, 1u << 20, false },
        { UBQ_Q_RQ_SHARED, 4, 1024, false },            /* and its own */
        { UBQ_CMD_OBJECT, 4, 0xffffd, true },
        { UBQ_CMD_OBJECT, 4, 0, true },
    };
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_Q_SQ_LOG2] = cmd[UBQ_Q_RQ_LOG2] = 4;
    put_le32(cmd + UBQ_Q_SEND_CQ, p.cq_a.id);
    put_le32(cmd + UBQ_Q_RECV_CQ, p.cq_a.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    try_fields(p.a, UBQ_OP_QUEUE_CREATE, cmd, fields, G_N_ELEMENTS(fields),
               UBQ_OP_QUEUE_DESTROY);
    /* That of interrupts; the window's; none. */
    for (uint32_t id = 0xffffe; id <= 0x100000; id++) {
        put_le32(cmd + UBQ_CMD_OBJECT, id);
        g_assert_cmpuint(run(p.a, UBQ_OP_QUEUE_CREATE, cmd), ==,
                         UBQ_RESULT_PARAMETER);
    }
    put_le32(cmd + UBQ_CMD_OBJECT, p.qa.id);
    g_assert_cmpuint(run(p.a, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_IN_USE);
    /* Shared entries need a completion queue, and entries. */
    put_le32(cmd + UBQ_CMD_OBJECT, UBQ_NEW);
    cmd[UBQ_Q_RQ_LOG2] = 0;
    put_le32(cmd + UBQ_Q_RQ_SHARED, 7);
    g_assert_cmpuint(run(p.a, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    put_le32(cmd + UBQ_Q_RQ_SHARED, p.qa.id);
    put_le32(cmd + UBQ_Q_RECV_CQ, 99);
    g_assert_cmpuint(run(p.a, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    put_le32(cmd + UBQ_Q_RECV_CQ, p.cq_a.id);
    g_assert_cmpuint(run(p.a, UBQ_OP_QUEUE_CREATE, cmd), ==, UBQ_RESULT_OK);
    /* Which then has none to share. */
    put_le32(cmd + UBQ_Q_RQ_SHARED, get_le32(cmd + UBQ_CMD_OBJECT));
    put_le32(cmd + UBQ_CMD_OBJECT, UBQ_NEW);
    g_assert_cmpuint(run(p.a, UBQ_OP_QUEUE_CREATE, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(run_on(p.a, UBQ_OP_QUEUE_DESTROY, 99), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(run_on(p.a, UBQ_OP_QUEUE_QUERY, UBQ_NEW), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(run_on(p.a, UBQ_OP_QUEUE_MODIFY, 99), ==,
                     UBQ_RESULT_NO_OBJECT);
    pair_stop(&p);
}

static void test_other_fields(void)
{
    static const Field cq[] = {
        { UBQ_CQ_LOG2, 1, 3, false }, { UBQ_CQ_LOG2, 1, 15, true },
        { UBQ_CQ_LOG2, 1, 16, false },
        { UBQ_CQ_BASE, 8, 32, false }, { UBQ_CQ_BASE, 8, 64, true },
        { UBQ_CQ_EQ, 2, 255, true }, { UBQ_CQ_EQ, 2, 256, false },
        { UBQ_CQ_PAGE, 2, 255, true }, { UBQ_CQ_PAGE, 2, 256, false },
    };
    static const Field group[] = {
        { UBQ_JG_POLICY, 1, 2, true }, { UBQ_JG_POLICY, 1, 3, false },
        { UBQ_JG_FLAGS, 4, UBQ_Q_TOKEN, true }, { UBQ_JG_FLAGS, 4, 1, false },
        { UBQ_JG_EQ, 2, 255, true }, { UBQ_JG_EQ, 2, 256, false },
        { UBQ_JG_ENTITY, 2, 1, false },
    };
    static const Field segment[] = {
        { UBQ_SEG_ACCESS, 4, 0x1f, true }, { UBQ_SEG_ACCESS, 4, 0x20, false },
        { UBQ_SEG_LENGTH, 8, 0, false }, { UBQ_SEG_LENGTH, 8, 1, true },
        { UBQ_SEG_UBA, 8, -4096ull, true }, { UBQ_SEG_UBA, 8, -4095ull, false },
        { UBQ_SEG_BASE, 8, -4096ull, true },
        { UBQ_SEG_BASE, 8, -4095ull, false },
        { UBQ_SEG_ENTITY, 2, 1, false },
    };
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_CQ_LOG2] = 4;
    try_fields(p.a, UBQ_OP_CQ_CREATE, cmd, cq, G_N_ELEMENTS(cq),
               UBQ_OP_CQ_DESTROY);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    try_fields(p.a, UBQ_OP_JGROUP_CREATE, cmd, group, G_N_ELEMENTS(group),
               UBQ_OP_JGROUP_DESTROY);
    ubq_cmd_init(cmd, 5, 0);
    put_le64(cmd + UBQ_SEG_LENGTH, 4096);
    try_fields(p.a, UBQ_OP_SEGMENT_SET, cmd, segment, G_N_ELEMENTS(segment),
               UBQ_OP_SEGMENT_CLEAR);
    put_le32(cmd + UBQ_CMD_OBJECT, 1u << 20);
    g_assert_cmpuint(run(p.a, UBQ_OP_SEGMENT_SET, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(run_on(p.a, UBQ_OP_SEGMENT_CLEAR, 1u << 20), ==,
                     UBQ_RESULT_NO_OBJECT);
    for (unsigned op = UBQ_OP_JGROUP_MODIFY; op <= UBQ_OP_JGROUP_LEAVE; op++) {
        g_assert_cmpuint(run_on(p.a, op, 1u << 20), ==, UBQ_RESULT_NO_OBJECT);
    }
    for (unsigned op = UBQ_OP_CQ_MODIFY; op <= UBQ_OP_CQ_QUERY; op++) {
        g_assert_cmpuint(run_on(p.a, op, 1u << 20), ==, UBQ_RESULT_NO_OBJECT);
    }
    pair_stop(&p);
}

/* What a channel is made with is what QUERY says, field by field, flag by flag; what
 * is 0 has its default. */
static void test_channel_fields(void)
{
    static const Field fields[] = {
        { UBQ_CH_PEER, 4, 0x12345, true }, { UBQ_CH_TX_PSN, 4, 0xabcdef, true },
        { UBQ_CH_RX_PSN, 4, 0xfedcba, true }, { UBQ_CH_MTU, 2, 8192, true },
        { UBQ_CH_OOO_WINDOW, 2, 2048, true }, { UBQ_CH_TX_WINDOW, 2, 0x1234, true },
        { UBQ_CH_ACK_EVERY, 2, 0x102, true }, { UBQ_CH_SACK_EVERY, 2, 0x304, true },
        { UBQ_CH_SACK_BITS, 2, 1024, true }, { UBQ_CH_ASK, 1, 1, true },
        { UBQ_CH_RETRIES, 1, 9, true }, { UBQ_CH_RTO_CODE, 1, 3, true },
        { UBQ_CH_RTO_SHIFT, 1, 5, true }, { UBQ_CH_RTO_BASE, 4, 0x10203, true },
        { UBQ_CH_CW_UNIT, 4, 0x40506, true },
        { UBQ_CH_WAY + UBQ_WAY_SL, 1, 3, true },
        { UBQ_CH_WAY + UBQ_WAY_RT, 1, 2, true },
        { UBQ_CH_WAY + UBQ_WAY_DCNA, 4, 0xabcde, true },
        { UBQ_CH_WAY + UBQ_WAY_SCNA, 4, 1, true },
        { UBQ_CH_WAY + UBQ_WAY_LBF, 2, 0x77, true },
        { UBQ_CH_FLAGS, 2, UBQ_CH_FAST, true },
        { UBQ_CH_FLAGS, 2, UBQ_CH_OOO, true },
        { UBQ_CH_FLAGS, 2, UBQ_CH_OOO | UBQ_CH_SELECTIVE, true },
        { UBQ_CH_FLAGS, 2, UBQ_CH_OOO | UBQ_CH_SPRAY, true },
        { UBQ_CH_FLAGS, 2, UBQ_CH_OOO | UBQ_CH_SELECTIVE | UBQ_CH_FAST |
                           UBQ_CH_MARK, true },
        { UBQ_CH_FLAGS, 2, UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC, true },
        { UBQ_CH_FLAGS, 2, UBQ_CH_FAST | UBQ_CH_ANSWERS, true },
        { UBQ_CH_FLAGS, 2, UBQ_CH_SELECTIVE, false },
        { UBQ_CH_MTU, 2, 4095, false }, { UBQ_CH_RTO_BASE, 4, 3, false },
        { UBQ_CH_RTO_CODE, 1, 4, false }, { UBQ_CH_TX_PSN, 4, 1 << 24, false },
    };
    uint8_t base[UBQ_CMD], plain[UBQ_CMD];
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(base, 77, 0);
    base[UBQ_CH_WAY + UBQ_WAY_CFG] = UB_LPH_CNA24;
    base[UBQ_CH_WAY + UBQ_WAY_PORT] = 0xff;
    put_le16(base + UBQ_CH_FLAGS, UBQ_CH_FAST);
    put_le32(base + UBQ_CH_TX_PSN, 5);
    put_le32(base + UBQ_CH_RX_PSN, 6);
    for (unsigned i = 0; i <= G_N_ELEMENTS(fields); i++) {
        /* First, none is another. */
        const Field *f = i ? &fields[i - 1] : NULL;
        uint8_t cmd[UBQ_CMD];
        unsigned result;

        memcpy(cmd, base, UBQ_CMD);
        if (f) {
            field_put(cmd, f);
        }
        result = run(p.a, UBQ_OP_CHANNEL_CREATE, cmd);
        g_assert_cmpuint(result, ==, !f || f->good ? UBQ_RESULT_OK
                                                   : UBQ_RESULT_PARAMETER);
        if (result) {
            continue;
        }
        ubq_cmd_init(cmd, 77, 0);
        g_assert_cmpuint(run(p.a, UBQ_OP_CHANNEL_QUERY, cmd), ==, UBQ_RESULT_OK);
        if (!f) {
            memcpy(plain, cmd, UBQ_CMD);
        } else {
            g_test_message("byte %u: 0x%" PRIx64, f->at, f->value);
            field_put(plain, f);
            g_assert_cmpmem(cmd + UBQ_CH_WAY, UBQ_CH_STATE - UBQ_CH_WAY,
                            plain + UBQ_CH_WAY, UBQ_CH_STATE - UBQ_CH_WAY);
            memcpy(plain, cmd, UBQ_CMD);
        }
        g_assert_cmpuint(run_on(p.a, UBQ_OP_CHANNEL_DESTROY, 77), ==,
                         UBQ_RESULT_OK);
        /* What was another once is as it was for the next one. */
        if (f) {
            memcpy(cmd, base, UBQ_CMD);
            g_assert_cmpuint(run(p.a, UBQ_OP_CHANNEL_CREATE, cmd), ==,
                             UBQ_RESULT_OK);
            ubq_cmd_init(plain, 77, 0);
            g_assert_cmpuint(run(p.a, UBQ_OP_CHANNEL_QUERY, plain), ==,
                             UBQ_RESULT_OK);
            g_assert_cmpuint(run_on(p.a, UBQ_OP_CHANNEL_DESTROY, 77), ==,
                             UBQ_RESULT_OK);
        }
    }
    pair_stop(&p);
}

/* As many as the limits say; a number that is free again is given again. */
static void test_limits(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t first;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (unsigned i = 0; i < 9; i++) {
        ubq_cmd_init(cmd, UBQ_NEW, 0);
        g_assert_cmpuint(run(p.a, UBQ_OP_JGROUP_CREATE, cmd), ==,
                         i < 8 ? UBQ_RESULT_OK : UBQ_RESULT_FULL);
    }
    for (unsigned i = 0; i < 257; i++) {
        ubq_cmd_init(cmd, i, 0);
        put_le64(cmd + UBQ_SEG_LENGTH, 1);
        g_assert_cmpuint(run(p.a, UBQ_OP_SEGMENT_SET, cmd), ==,
                         i < 256 ? UBQ_RESULT_OK : UBQ_RESULT_FULL);
    }
    ubq_cmd_init(cmd, 0, 0);                    /* it is there: changed */
    put_le64(cmd + UBQ_SEG_LENGTH, 2);
    g_assert_cmpuint(run(p.a, UBQ_OP_SEGMENT_SET, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(run_on(p.a, UBQ_OP_SEGMENT_CLEAR, 0), ==, UBQ_RESULT_OK);
    ubq_cmd_init(cmd, 256, 0);
    put_le64(cmd + UBQ_SEG_LENGTH, 1);
    g_assert_cmpuint(run(p.a, UBQ_OP_SEGMENT_SET, cmd), ==, UBQ_RESULT_OK);
    for (unsigned i = 0; i < 256; i++) {        /* one is there */
        ubq_cmd_init(cmd, UBQ_NEW, 0);
        cmd[UBQ_Q_RQ_LOG2] = 4;
        put_le32(cmd + UBQ_Q_RECV_CQ, p.cq_a.id);
        put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
        g_assert_cmpuint(run(p.a, UBQ_OP_QUEUE_CREATE, cmd), ==,
                         i < 255 ? UBQ_RESULT_OK : UBQ_RESULT_FULL);
        if (i < 5) {
            ubq_cmd_init(cmd, get_le32(cmd + UBQ_CMD_OBJECT), 0);
            put_le32(cmd + UBQ_JG_GROUP, 1024);
            g_assert_cmpuint(run(p.a, UBQ_OP_JGROUP_JOIN, cmd), ==,
                             i < 4 ? UBQ_RESULT_OK : UBQ_RESULT_FULL);
        }
    }
    /* Numbers go up while there are higher ones. */
    first = p.qa.id;
    g_assert_cmpuint(first, ==, 1024);
    g_assert_cmpuint(run_on(p.a, UBQ_OP_QUEUE_DESTROY, first + 10), ==,
                     UBQ_RESULT_OK);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_Q_RQ_LOG2] = 4;
    put_le32(cmd + UBQ_Q_RECV_CQ, p.cq_a.id);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    g_assert_cmpuint(run(p.a, UBQ_OP_QUEUE_CREATE, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_CMD_OBJECT), ==, first + 256);
    pair_stop(&p);
}

/* ---- Migration: nothing is another afterwards ------------------------------------------- */

typedef struct Shot {
    Pair *p;
    End *e;
    GByteArray *all;
} Shot;

static void shoot(Shot *s, unsigned opcode, uint32_t object)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, object, 0);
    g_assert_cmpuint(run(s->e, opcode, cmd), ==, UBQ_RESULT_OK);
    g_byte_array_append(s->all, cmd, UBQ_CMD);
}

static void shoot_queue(void *opaque, const UbUrmaQueueInfo *info)
{
    g_array_append_val((GArray *)opaque, info->id);
}

static void shoot_cq(void *opaque, const UbUrmaCqInfo *info)
{
    g_array_append_val((GArray *)opaque, info->id);
}

static void shoot_group(void *opaque, const UbUrmaGroupInfo *info)
{
    g_array_append_val((GArray *)opaque, info->id);
}

static void shoot_all(Shot *s, unsigned opcode, GArray *ids)
{
    for (unsigned i = 0; i < ids->len; i++) {
        shoot(s, opcode, g_array_index(ids, uint32_t, i));
    }
    g_array_set_size(ids, 0);
}

/* All that a guest can see of the engine but for commands. */
static GByteArray *take(Pair *p, End *e)
{
    Shot s = { p, e, g_byte_array_new() };
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));

    ub_urma_foreach(e->urma, shoot_queue, ids);
    shoot_all(&s, UBQ_OP_QUEUE_QUERY, ids);
    ub_urma_foreach_cq(e->urma, shoot_cq, ids);
    shoot_all(&s, UBQ_OP_CQ_QUERY, ids);
    ub_urma_foreach_group(e->urma, shoot_group, ids);
    shoot_all(&s, UBQ_OP_JGROUP_QUERY, ids);
    for (uint32_t at = UBQ_EQ(0); at < UBQ_EQ(256); at += 4) {
        uint32_t value = reg(e, at);

        g_byte_array_append(s.all, (uint8_t *)&value, sizeof(value));
    }
    for (uint32_t at = 0; at < UBQ_CMD_ARM + 4; at += 4) {
        uint32_t value = reg(e, UBQ_CMD_WINDOW + at);

        if (at != UBQ_CMD_PI && at != UBQ_CMD_CI) {
            g_byte_array_append(s.all, (uint8_t *)&value, sizeof(value));
        }
    }
    return s.all;
}

static void move(Pair *p, End *e)
{
    size_t len, again;
    g_autofree uint8_t *data = end_save(&p->ends, e, &len), *second = NULL;

    g_assert_cmpstr(end_load(&p->ends, e, data, len), ==, NULL);
    ub_net_port_state(ub_node_net(e->node), p->ends.now, 0, 0xffff);
    second = end_save(&p->ends, e, &again);
    g_assert_cmpmem(data, len, second, again);
}

/* A queue, a completion queue, a group with every field another than 0. */
static void rich(Pair *p)
{
    uint8_t cmd[UBQ_CMD];
    UbqQueue q = { .d = &p->a->drv };

    reg_set(p->a, UBQ_EQ(7) + UBQ_EQ_BASE_LO, 64);
    reg_set(p->a, UBQ_EQ(7) + UBQ_EQ_BASE_HI, 65);
    reg_set(p->a, UBQ_EQ(7) + UBQ_EQ_SIZE, 5);
    reg_set(p->a, UBQ_EQ(7) + UBQ_EQ_VECTOR, 66);
    reg_set(p->a, UBQ_EQ(7) + UBQ_EQ_ARM, 67);
    reg_set(p->a, UBQ_EQ(7) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
    ub_urma_event(p->a->urma, 8, UBQ_EVENT_ENTITY, 0, 0, 0);    /* LOST */
    ub_urma_event(p->a->urma, 0, UBQ_EVENT_ENTITY, 0, 0, 0);
    reg_set(p->a, UBQ_EQ(0) + UBQ_EQ_CI, 1);
    ubq_cmd_init(cmd, 9, 0);
    put_le64(cmd + UBQ_CQ_BASE, 0x12345678940);
    cmd[UBQ_CQ_LOG2] = 5;
    put_le16(cmd + UBQ_CQ_EQ, 7);
    put_le16(cmd + UBQ_CQ_PAGE, 8);
    put_le16(cmd + UBQ_CQ_COUNT, 9);
    put_le32(cmd + UBQ_CQ_PERIOD, 10);
    g_assert_cmpuint(run(p->a, UBQ_OP_CQ_CREATE, cmd), ==, UBQ_RESULT_OK);
    ubq_cmd_init(cmd, 2048, 0);
    put_le64(cmd + UBQ_Q_SQ_BASE, 0x1234567940);
    put_le64(cmd + UBQ_Q_RQ_BASE, 0x2345678950);
    cmd[UBQ_Q_SQ_LOG2] = 3;
    cmd[UBQ_Q_RQ_LOG2] = 5;
    cmd[UBQ_Q_RQ_STRIDE] = 2;
    cmd[UBQ_Q_MODE] = UB_ROT;
    put_le32(cmd + UBQ_Q_SEND_CQ, 9);
    put_le32(cmd + UBQ_Q_RECV_CQ, 9);
    put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    put_le16(cmd + UBQ_Q_PAGE, 3);
    put_le32(cmd + UBQ_Q_FLAGS, UBQ_Q_IN_ORDER | UBQ_Q_SUSPEND | UBQ_Q_TOKEN |
             UBQ_Q_DONE);
    put_le32(cmd + UBQ_Q_TOKEN_VALUE, 0x55);
    cmd[UBQ_Q_RNR_TIMER] = 11;
    put_le16(cmd + UBQ_Q_EQ, 12);
    put_le16(cmd + UBQ_Q_RQ_LIMIT, 13);
    put_le32(cmd + UBQ_Q_REMOTE, 14);
    memset(cmd + UBQ_Q_REMOTE_EID, 15, 16);
    put_le64(cmd + UBQ_Q_RECORD, 0x3456789a8);
    g_assert_cmpuint(run(p->a, UBQ_OP_QUEUE_CREATE, cmd), ==, UBQ_RESULT_OK);
    q.id = 2048;
    ubq_queue_state(&q, UBQ_STATE_READY, UBQ_RESULT_OK);
    ub_urma_bell(p->a->urma, 3, UBQ_BELL_RQ, 2048 | 14ull << 32);
    for (unsigned i = 0; i < 2; i++) {
        ubq_cmd_init(cmd, 1030 + i, 0);
        cmd[UBQ_JG_POLICY] = 1 + i;
        put_le16(cmd + UBQ_JG_EQ, 4);
        put_le32(cmd + UBQ_JG_FLAGS, UBQ_Q_TOKEN);
        put_le32(cmd + UBQ_JG_TOKEN_VALUE, 0x77);
        g_assert_cmpuint(run(p->a, UBQ_OP_JGROUP_CREATE, cmd), ==,
                         UBQ_RESULT_OK);
    }
    ubq_cmd_init(cmd, 2048, 0);
    put_le32(cmd + UBQ_JG_GROUP, 1031);
    g_assert_cmpuint(run(p->a, UBQ_OP_JGROUP_JOIN, cmd), ==, UBQ_RESULT_OK);
}

static void test_query_moves(void)
{
    g_autoptr(GByteArray) before = NULL, after = NULL;
    uint8_t cmd[UBQ_CMD];
    uint64_t bad;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    rich(&p);
    ubq_cmd_init(cmd, 2048, 0);
    g_assert_cmpuint(run(p.a, UBQ_OP_QUEUE_QUERY, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmphex(get_le64(cmd + UBQ_Q_SQ_BASE), ==, 0x1234567940);
    g_assert_cmphex(get_le64(cmd + UBQ_Q_RQ_BASE), ==, 0x2345678950);
    g_assert_cmpuint(cmd[UBQ_Q_SQ_LOG2], ==, 3);
    g_assert_cmpuint(cmd[UBQ_Q_RQ_LOG2], ==, 5);
    g_assert_cmpuint(cmd[UBQ_Q_RQ_STRIDE], ==, 2);
    g_assert_cmpuint(cmd[UBQ_Q_MODE], ==, UB_ROT);
    g_assert_cmpuint(get_le32(cmd + UBQ_Q_SEND_CQ), ==, 9);
    g_assert_cmpuint(get_le32(cmd + UBQ_Q_RECV_CQ), ==, 9);
    g_assert_cmphex(get_le32(cmd + UBQ_Q_RQ_SHARED), ==, UBQ_NEW);
    g_assert_cmpuint(get_le16(cmd + UBQ_Q_PAGE), ==, 3);
    g_assert_cmpuint(get_le16(cmd + UBQ_Q_ENTITY), ==, 0);
    g_assert_cmphex(get_le32(cmd + UBQ_Q_FLAGS), ==, UBQ_Q_IN_ORDER |
                    UBQ_Q_SUSPEND | UBQ_Q_TOKEN | UBQ_Q_DONE);
    g_assert_cmpuint(cmd[UBQ_Q_RNR_TIMER], ==, 11);
    g_assert_cmpuint(get_le16(cmd + UBQ_Q_EQ), ==, 12);
    g_assert_cmpuint(get_le16(cmd + UBQ_Q_RQ_LIMIT), ==, 13);
    g_assert_cmpuint(cmd[UBQ_Q_STATE], ==, UBQ_STATE_READY);
    g_assert_cmpuint(get_le32(cmd + UBQ_Q_REMOTE), ==, 14);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmpuint(cmd[UBQ_Q_REMOTE_EID + i], ==, 15);
    }
    g_assert_cmpuint(get_le16(cmd + UBQ_Q_SQ_PI), ==, 0);
    g_assert_cmpuint(get_le16(cmd + UBQ_Q_RQ_PI), ==, 14);
    g_assert_cmphex(get_le64(cmd + UBQ_Q_RECORD), ==, 0x3456789a8);
    g_assert_cmpuint(get_le32(cmd + UBQ_Q_GROUP), ==, 1031);
    ubq_cmd_init(cmd, 9, 0);
    g_assert_cmpuint(run(p.a, UBQ_OP_CQ_QUERY, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmphex(get_le64(cmd + UBQ_CQ_BASE), ==, 0x12345678940);
    g_assert_cmpuint(cmd[UBQ_CQ_LOG2], ==, 5);
    g_assert_cmpuint(get_le16(cmd + UBQ_CQ_EQ), ==, 7);
    g_assert_cmpuint(get_le16(cmd + UBQ_CQ_PAGE), ==, 8);
    g_assert_cmpuint(get_le16(cmd + UBQ_CQ_COUNT), ==, 9);
    g_assert_cmpuint(get_le32(cmd + UBQ_CQ_PERIOD), ==, 10);
    g_assert_cmpuint(cmd[UBQ_CQ_STATE], ==, 0);
    ubq_cmd_init(cmd, 1031, 0);
    g_assert_cmpuint(run(p.a, UBQ_OP_JGROUP_QUERY, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(cmd[UBQ_JG_POLICY], ==, 2);
    g_assert_cmpuint(get_le16(cmd + UBQ_JG_ENTITY), ==, 0);
    g_assert_cmpuint(get_le16(cmd + UBQ_JG_EQ), ==, 4);
    g_assert_cmphex(get_le32(cmd + UBQ_JG_FLAGS), ==, UBQ_Q_TOKEN);
    g_assert_cmpuint(get_le32(cmd + UBQ_JG_MEMBERS), ==, 1);
    g_assert_cmpuint(get_le32(cmd + UBQ_JG_LIVE), ==, 1);
    before = take(&p, p.a);
    move(&p, p.a);
    after = take(&p, p.a);
    g_assert_cmpmem(before->data, before->len, after->data, after->len);
    /* The armed event queue still is. */
    p.a->interrupts = 0;
    reg_set(p.a, UBQ_EQ(0) + UBQ_EQ_ARM, 1);
    move(&p, p.a);
    ub_urma_event(p.a->urma, 0, UBQ_EVENT_ENTITY, 0, 0, 0);
    g_assert_cmpuint(p.a->interrupts, ==, 1);
    /* Objects are as much in use, doorbells as much owned as before. */
    g_assert_cmpuint(run_on(p.a, UBQ_OP_CQ_DESTROY, 9), ==, UBQ_RESULT_IN_USE);
    bad = ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD);
    ub_urma_ring(p.a->urma, 2, UBQ_BELL_RQ, 2048 | 15ull << 32);
    ub_urma_rung(p.a->urma);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==,
                     bad + 1);
    ub_urma_ring(p.a->urma, 3, UBQ_BELL_RQ, 2048 | 15ull << 32);
    ub_urma_ring(p.a->urma, 8, UBQ_BELL_CQ, 9);
    ub_urma_rung(p.a->urma);
    g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD), ==,
                     bad + 1);
    g_assert_cmpuint(run_on(p.a, UBQ_OP_QUEUE_DESTROY, 2048), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(run_on(p.a, UBQ_OP_CQ_DESTROY, 9), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(run_on(p.a, UBQ_OP_JGROUP_DESTROY, 1031), ==,
                     UBQ_RESULT_OK);
    pair_stop(&p);
}

/* Armed, moderated, half full completion queues; entries that wait; segments. */
static void test_work_moves(void)
{
    uint8_t cmd[UBQ_CMD];
    unsigned ci = 0;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cmd_init(cmd, p.cq_a.id, 0);
    put_le16(cmd + UBQ_CQ_COUNT, 3);
    put_le32(cmd + UBQ_CQ_PERIOD, 1000);
    g_assert_cmpuint(run(p.a, UBQ_OP_CQ_MODIFY, cmd), ==, UBQ_RESULT_OK);
    ubq_cq_arm(&p.cq_a, 2);
    for (unsigned i = 0; i < 3; i++) {          /* each time one counts */
        ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
        move(&p, p.a);
        ends_run(&p.ends, 100000);
        move(&p, p.a);
        g_assert_cmpuint(reg(p.a, UBQ_EQ(0) + UBQ_EQ_PI), ==, i == 2);
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    }
    eq_take(p.a, &ci, UBQ_EVENT_COMPLETION);
    /* The period goes on. */
    ubq_cq_arm(&p.cq_a, 2);
    ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1), 1);
    ends_run(&p.ends, 100000);
    move(&p, p.a);
    ends_run(&p.ends, SECOND);
    eq_take(p.a, &ci, UBQ_EVENT_COMPLETION);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    /* A solicited completion that nobody has read. */
    post_and_run(&p, memory_op(&p, UB_TA_WRITE, UBQ_SQE_EVENT, 0, p.local, 64,
                               1), 1);
    move(&p, p.a);
    ubq_cq_arm(&p.cq_a, 1);
    eq_take(p.a, &ci, UBQ_EVENT_COMPLETION);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    /* The segment has kept rights, tokens, place. */
    move(&p, p.b);
    fill(p.a, p.local, 5000);
    post_and_run(&p, memory_op(&p, UB_TA_WRITE, 0, 100, p.local, 5000, 1), 1);
    ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
    check(p.b, p.remote + 100, 5000);
    g_assert_null(ubq_cq_poll(&p.cq_a));
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/caps", test_caps);
    g_test_add_func("/ub/urma/places", test_places);
    g_test_add_func("/ub/urma/event-registers", test_event_registers);
    g_test_add_func("/ub/urma/command-registers", test_command_registers);
    g_test_add_func("/ub/urma/nowhere", test_nowhere);
    g_test_add_func("/ub/urma/queue-fields", test_queue_fields);
    g_test_add_func("/ub/urma/other-fields", test_other_fields);
    g_test_add_func("/ub/urma/channel-fields", test_channel_fields);
    g_test_add_func("/ub/urma/limits", test_limits);
    g_test_add_func("/ub/urma/query-moves", test_query_moves);
    g_test_add_func("/ub/urma/work-moves", test_work_moves);
    return g_test_run();
}
