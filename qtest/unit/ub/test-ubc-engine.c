/*
 * The transaction engine in a controller, by real links in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/ta.h"
#include "ubc-pair.h"
#include "../../ubq-drv.h"

static UbqDrv drv[2];
static UbqCq cq[2];

static uint32_t drv_read(void *opaque, uint32_t offset)
{
    return rd(opaque, offset);
}

static void drv_write(void *opaque, uint32_t offset, uint32_t value)
{
    wr(opaque, offset, value);
}

static void drv_bell(void *opaque, uint32_t page, uint32_t offset,
                     uint64_t value)
{
    ubc_ring(((Side *)opaque)->ubc, page, offset, value);
    ubc_rung(((Side *)opaque)->ubc, now);
}

static void drv_progress(void *opaque)
{
    run_until(&two[0], &two[1], never, 10000);
}

/* Node i has CNA and EID i + 1; by row 9 it reaches the other in CTP.  Node 1 answers
 * with so many bytes in a packet, if it is not 0. */
static void up_with(uint32_t answers)
{
    now = 1000;
    for (unsigned i = 0; i < 2; i++) {
        UbcConfig conf;

        ubc_config_init(&conf);
        conf.cna = conf.eid[15] = i + 1;
        conf.upi = 1;
        if (i && answers) {
            conf.node.ta.mtu = answers;
        }
        side_init(&two[i], &two[!i], &conf);
    }
    connect(&two[0], &two[1]);
    for (unsigned i = 0; i < 2; i++) {
        wr(&two[i], UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    }
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
    for (unsigned i = 0; i < 2; i++) {
        UbqPeer peer = { .cna = 2 - i, .eid = { [15] = 2 - i }, .upi = 1 };

        drv[i] = (UbqDrv){ .memory = two[i].mem, .brk = 0x10000, .end = MEM,
                           .opaque = &two[i], .reg_read = drv_read,
                           .reg_write = drv_write, .bell = drv_bell,
                           .progress = drv_progress };
        ubq_open(&drv[i]);
        ubq_cq_open(&cq[i], &drv[i], 8);
        ubq_dest(&drv[i], 9, 1, 0, &peer);
    }
}

static void up(void)
{
    up_with(0);
}

static void down(void)
{
    side_free(&two[0]);
    side_free(&two[1]);
}

static uint64_t events(Side *s)
{
    return rd(s, UBQ_EQ(0) + UBQ_EQ_PI);
}

static bool has_event(Side *a, Side *b)
{
    return events(a);
}

static bool has_completion(Side *a, Side *b)
{
    return drv[0].memory[cq[0].base + 3] & UBQ_CQE_OWNER >> 24;
}

/* A request that nobody answers ends below the queues, behind their turn; the
 * time of moderation that this sets comes though nothing else happens. */
static void test_moderation(void)
{
    Side *a = &two[0], *b = &two[1];
    uint64_t at, to;
    uint8_t cmd[UBQ_CMD], *e;
    UbqQueue q;
    int64_t before;

    up();
    at = ubq_alloc(&drv[0], 4096, 4096);
    to = ubq_alloc(&drv[1], 4096, 4096);
    ubq_segment(&drv[1], 77, to, 4096, UBQ_SEG_WRITE, 0);
    ubq_queue_open(&q, &drv[0], &cq[0], NULL, 0, 0);
    ubq_cmd_init(cmd, cq[0].id, 0);
    put_le16(cmd + UBQ_CQ_COUNT, 8);
    put_le32(cmd + UBQ_CQ_PERIOD, 200);
    g_assert_cmpuint(ubq_command(&drv[0], UBQ_OP_CQ_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_cq_arm(&cq[0], 2);
    run_until(a, b, never, SECOND);
    e = ubq_sqe(&q, 1);
    ubq_sqe_put(e, UB_TA_WRITE, 9, at, 64);
    put_le32(e + UBQ_SQE_TARGET, 77);
    put_le64(e + UBQ_SQE_ADDR, 0x10000);
    ubc_bus_master(b->ubc, false);
    ubq_post(&q, e, 1);
    g_assert_true(run_until(a, b, has_completion, 1000 * SECOND));
    before = now;
    g_assert_true(run_until(a, b, has_event, SECOND));
    g_assert_cmpint(now - before, <, 300000);
    ubq_cq_expect(&cq[0], UB_TAS_TIMEOUT);
    down();
}

static unsigned seen;

/* The next event of node 0: type and object. */
static void expect_event(unsigned event, uint32_t object)
{
    const uint8_t *e;
    uint32_t w0;

    g_assert_true(run_until(&two[0], &two[1], has_event, 60 * SECOND));
    g_assert_cmpuint(events(&two[0]), >, seen);
    e = two[0].mem + (rd(&two[0], UBQ_EQ(0) + UBQ_EQ_BASE_LO) +
                      UBQ_EQE * seen++);
    w0 = get_le32(e);
    g_assert_cmphex((w0 & 0xff) << 8 | (w0 >> 8 & 0xff), ==, event);
    g_assert_cmpuint(get_le32(e + 4), ==, object);
}

/* Changes of ports and of the name, and what cannot go on, for a queue that asks
 * for them. */
static void test_device_events(void)
{
    up();
    seen = 0;
    wr(&two[1], UBC_PORT(0) + UBC_PORT_CTRL, 0);
    run_until(&two[0], &two[1], never, 5 * SECOND);
    wr(&two[1], UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
    run_until(&two[0], &two[1], never, SECOND);
    g_assert_cmpuint(events(&two[0]), ==, 0);   /* nobody asked */
    wr(&two[0], UBQ_EQ(0) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
    g_assert_cmphex(rd(&two[0], UBQ_EQ(0) + UBQ_EQ_CTRL), ==,
                    UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
    wr(&two[1], UBC_PORT(0) + UBC_PORT_CTRL, 0);
    run_until(&two[0], &two[1], never, 5 * SECOND);
    expect_event(UBQ_EVENT_PORT_DOWN, 0);
    wr(&two[1], UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
    run_until(&two[0], &two[1], never, SECOND);
    expect_event(UBQ_EVENT_PORT_UP, 0);
    wr(&two[0], UBC_CFG_ADDR, UB_CFG0_UPI);
    wr(&two[0], UBC_CFG_DATA, 7);
    run_until(&two[0], &two[1], never, SECOND);
    expect_event(UBQ_EVENT_EID, 0);
    wr(&two[0], UBQ_CMD_WINDOW + UBQ_CMD_CTRL, 0);
    wr(&two[0], UBQ_CMD_WINDOW + UBQ_CMD_BASE_HI, ~0u);
    wr(&two[0], UBQ_CMD_WINDOW + UBQ_CMD_CTRL, UBQ_CMD_ENABLE);
    wr(&two[0], UBQ_CMD_WINDOW + UBQ_CMD_PI, 1);
    run_until(&two[0], &two[1], never, SECOND);
    expect_event(UBQ_EVENT_FATAL, 0);
    g_assert_cmpuint(events(&two[0]), ==, seen);
    down();
}

static bool b_has_got(Side *a, Side *b)
{
    return ub_net_total(ub_node_net(ubc_node(b->ubc)), UB_NET_RX_PACKETS);
}

/* A Write that has come while the guest had bus mastering off is carried out at
 * the place that it moves to. */
static void test_migrate_waiting(void)
{
    Side *a = &two[0], *b = &two[1];
    uint64_t at, to;
    const char *why;
    UbcConfig conf;
    uint8_t *image, *e;
    UbqQueue q;
    size_t len;
    Ubc *ubc;

    up();
    at = ubq_alloc(&drv[0], 4096, 4096);
    to = ubq_alloc(&drv[1], 4096, 4096);
    memset(a->mem + at, 0x5a, 64);
    ubq_segment(&drv[1], 77, to, 4096, UBQ_SEG_WRITE, 0);
    ubq_queue_open(&q, &drv[0], &cq[0], NULL, 0, 0);
    e = ubq_sqe(&q, 1);
    ubq_sqe_put(e, UB_TA_WRITE, 9, at, 64);
    put_le32(e + UBQ_SQE_TARGET, 77);
    put_le64(e + UBQ_SQE_ADDR, 0x10000);
    ubc_bus_master(b->ubc, false);
    ubq_post(&q, e, 1);
    run_until(a, b, never, SECOND / 10);
    g_assert_false(b_has_got(a, b));
    g_assert_cmphex(b->mem[to], ==, 0);
    cut(a, b);
    image = ubc_save(b->ubc, now, &len);
    ubc_config_init(&conf);
    conf.cna = conf.eid[15] = 2;
    conf.upi = 1;
    ubc = ubc_new(&conf, &ops, b, &why);
    g_assert_null(ubc_load(ubc, now, image, len));
    g_free(image);
    ubc_free(b->ubc);
    b->ubc = ubc;
    run_until(a, b, never, SECOND / 1000);
    g_assert_cmphex(b->mem[to], ==, 0);
    ubc_bus_master(ubc, true);
    g_assert_true(run_until(a, b, b_has_got, SECOND));
    g_assert_cmphex(b->mem[to], ==, 0x5a);
    g_assert_cmphex(b->mem[to + 63], ==, 0x5a);
    down();
}

static const UbTaConfig *answers_of(Side *s)
{
    return ub_ta_config(ub_node_ta(ubc_node(s->ubc)));
}

/* MTU_CFG (UB 2.0 §D.1.13) bounds what responses carry, and a setting may say less. */
static void test_mtu(void)
{
    static const struct {
        uint32_t setting, code, want;
    } rows[] = {
        { 0, 2, 8192 }, { 0, 1, 4096 }, { 0, 0, 1024 },
        { 4096, 2, 4096 }, { 4096, 1, 4096 }, { 4096, 0, 1024 },
        { 1024, 2, 1024 }, { 1024, 0, 1024 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbqQueue q;
        uint64_t at, to;

        up_with(rows[i].setting);
        wr(&two[1], UBC_CFG_WINDOW + 4 * UB_CFG0_MTU_CFG, rows[i].code);
        run_until(&two[0], &two[1], never, SECOND / 1000);
        g_assert_cmpuint(answers_of(&two[1])->mtu, ==, rows[i].want);
        /* A Read over CTP has one response, which must hold it. */
        at = ubq_alloc(&drv[0], 8192, 4096);
        to = ubq_alloc(&drv[1], 8192, 4096);
        ubq_segment(&drv[1], 77, to, 8192, UBQ_SEG_READ, 0);
        ubq_queue_open(&q, &drv[0], &cq[0], NULL, 0, 0);
        for (uint32_t len = 1024; len <= 4096; len *= 4) {
            uint8_t *e = ubq_sqe(&q, 1);

            ubq_sqe_put(e, UB_TA_READ, 9, at, len);
            put_le32(e + UBQ_SQE_TARGET, 77);
            put_le64(e + UBQ_SQE_ADDR, 0x10000);
            ubq_post(&q, e, 1);
            run_until(&two[0], &two[1], never, SECOND / 100);
            ubq_cq_expect(&cq[0], len <= rows[i].want
                                  ? UB_TAS_OK : UB_TAS_UNSUPPORTED);
        }
        down();
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubc/engine/moderation", test_moderation);
    g_test_add_func("/ubc/engine/device-events", test_device_events);
    g_test_add_func("/ubc/engine/migrate-waiting", test_migrate_waiting);
    g_test_add_func("/ubc/engine/mtu", test_mtu);
    return g_test_run();
}
