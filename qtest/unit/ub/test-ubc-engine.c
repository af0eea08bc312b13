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
    ubc_bell(((Side *)opaque)->ubc, page, offset, value, now);
}

static void drv_progress(void *opaque)
{
    run_until(&two[0], &two[1], never, 10000);
}

/* Node i has CNA and EID i + 1; by row 9 it reaches the other in CTP. */
static void up(void)
{
    now = 1000;
    for (unsigned i = 0; i < 2; i++) {
        UbcConfig conf;

        ubc_config_init(&conf);
        conf.cna = conf.eid[15] = i + 1;
        conf.upi = 1;
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubc/engine/moderation", test_moderation);
    return g_test_run();
}
