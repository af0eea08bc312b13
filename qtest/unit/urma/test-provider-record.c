/*
 * The provider of liburma: receive entries are told of by a record in memory, and a
 * doorbell is for a queue in Error only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bed.h"

#define RECORD 2048u

static uint16_t recorded(const Bed *b)
{
    return get_le16(b->rq + RECORD + 4);
}

static void recv_post(Bed *b, uint64_t user_ctx, int want)
{
    urma_sge sge = local(b, user_ctx % 100, 33);
    urma_jfr_wr wr = { .src = { &sge, 1 }, .user_ctx = user_ctx }, *bad;

    g_assert_cmpint(b->ops->post_jfr_wr(b->jfr, &wr, &bad), ==, want);
}

static void recv_poll(Bed *b, uint64_t user_ctx)
{
    urma_cr cr;

    g_assert_cmpint(b->ops->poll_jfc(b->jfc, 1, &cr), ==, 1);
    g_assert_cmpuint(cr.user_ctx, ==, user_ctx);
}

static void start(Bed *b)
{
    host.record = RECORD;
    bed_open(b);
    host.record = 0;
    host.bells = 0;
}

static void test_no_doorbell(void)
{
    Bed b;

    start(&b);
    for (unsigned i = 0; i < 100; i++) {
        recv_post(&b, i, 0);
        g_assert_cmpuint(recorded(&b), ==, i + 1);
        complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2000, i, 2000);
        recv_poll(&b, i);
    }
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, i, 0);
    }
    recv_post(&b, 9, ENOMEM);
    g_assert_cmpuint(recorded(&b), ==, 108);
    g_assert_cmphex(get_le32(b.rq + RECORD), ==, 0);
    g_assert_cmpuint(host.bell.offset, ==, UBQ_BELL_CQ);
    g_assert_cmpuint(host.bells, ==, 100 / ((1u << CQ_LOG2) / 4));
    bed_close(&b);
}

static void error_enter(Bed *b, bool asked)
{
    urma_recv_attr attr = { .mask = URMA_MODIFY_STATE,
                            .state = URMA_JFR_ERROR };
    urma_cr cr;

    if (asked) {
        g_assert_cmpint(b->ops->modify_jfr(b->jfr, &attr), ==, 0);
        return;
    }
    complete(b, UBQ_OP_NOP | UBQ_CQE_RECEIVE, UBQ_STATUS_FLUSH_DONE, 2000, 0,
             0);
    g_assert_cmpint(b->ops->poll_jfc(b->jfc, 1, &cr), ==, 1);
    g_assert_cmpuint(cr.status, ==, URMA_CR_FLUSH_DONE);
}

/* Entries that the engine has not seen when the queue went into Error are rung
 * for, and so are those to come: they are flushed. */
static void test_error(void)
{
    urma_recv_attr attr = { .mask = URMA_MODIFY_STATE,
                            .state = URMA_JFR_RESET };
    Bed b;

    for (unsigned asked = 0; asked < 2; asked++) {
        start(&b);
        error_enter(&b, asked);
        g_assert_cmpuint(host.bells, ==, 0);    /* nothing is there */
        recv_post(&b, 1, 0);
        g_assert_cmpuint(host.bells, ==, 1);
        g_assert_cmpuint(host.bell.offset, ==, UBQ_BELL_RQ);
        g_assert_cmphex(host.bell.value, ==, 2000 | 1ull << 32);
        g_assert_cmpuint(recorded(&b), ==, 1);
        g_assert_cmpint(b.ops->modify_jfr(b.jfr, &attr), ==, 0);
        g_assert_cmpuint(recorded(&b), ==, 0);
        recv_post(&b, 2, 0);
        recv_post(&b, 3, 0);
        g_assert_cmpuint(recorded(&b), ==, 2);
        g_assert_cmpuint(host.bells, ==, 1);
        error_enter(&b, asked);
        g_assert_cmpuint(host.bells, ==, 2);
        g_assert_cmphex(host.bell.value, ==, 2000 | 2ull << 32);
        bed_close(&b);
    }
}

/* A place that is not in what is mapped is no record. */
static void test_refused(void)
{
    static const uint32_t bad[] = { 4, 12, RING_BYTES - 4, RING_BYTES,
                                    UINT32_MAX - 7 };
    urma_jfr_cfg cfg = { .depth = 8, .trans_mode = URMA_RM, .max_sge = 2 };
    urma_jfr *last;
    Bed b;

    bed_open(&b);
    cfg.jfc = b.jfc;
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        host.record = bad[i];
        g_assert_null(b.ops->create_jfr(b.ctx, &cfg));
        g_assert_cmpint(errno, ==, EPROTO);
        g_free(host.ring[host.handles]);    /* it was never mapped */
    }
    host.record = RING_BYTES - 8;
    last = b.ops->create_jfr(b.ctx, &cfg);
    host.record = 0;
    g_assert_nonnull(last);
    g_assert_cmpint(b.ops->delete_jfr(last), ==, 0);
    bed_close(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urma-provider/record/no-doorbell", test_no_doorbell);
    g_test_add_func("/urma-provider/record/error", test_error);
    g_test_add_func("/urma-provider/record/refused", test_refused);
    return g_test_run();
}
