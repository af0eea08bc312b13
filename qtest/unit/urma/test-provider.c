/*
 * The provider of liburma: what it writes into queues, and what it makes of
 * completions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bed.h"

/* ---- Entries --------------------------------------------------------------------------- */

static void test_write(void)
{
    Bed b;
    urma_sge src[3], dst;
    urma_jfs_wr wr = {
        .opcode = URMA_WR_WRITE,
        .flag = 2 | URMA_WR_COMPLETE | URMA_WR_FENCE | URMA_WR_COMP_ORDER,
        .rw = { .src = { src, 3 }, .dst = { &dst, 1 } },
    };

    bed_open(&b);
    for (unsigned i = 0; i < 3; i++) {
        src[i] = local(&b, 100 * i, 10 + i);
    }
    dst = remote(&b, 0x123456789a, 33);
    g_assert_cmpint(post(&b, &wr), ==, 0);
    word0_check(b.sq, 0x03 | 1 << 8 | 3 << 12 | 2 << 20 |
                      UBQ_SQE_ORDERED_CQE | UBQ_SQE_FENCE | UBQ_SQE_CQE |
                      UBQ_SQE_TOKEN | UBQ_SQE_OWNER);
    g_assert_cmphex(get_le32(b.sq + UBQ_SQE_TARGET), ==, 0x555);
    g_assert_cmphex(get_le32(b.sq + UBQ_SQE_TOKEN_VALUE), ==, 0xfeed);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_ADDR), ==, 0x123456789a);
    g_assert_cmpuint(get_le32(b.sq + UBQ_SQE_LENGTH), ==, 33);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_ELEMENT), ==, src[0].addr);
    g_assert_cmphex(get_le64(b.sq + 64), ==, src[1].addr);
    g_assert_cmpuint(get_le32(b.sq + 64 + 16 + 8), ==, 12);
    g_assert_cmpuint(host.bell.offset, ==, UBQ_BELL_SQ);
    g_assert_cmphex(host.bell.value, ==, 2001 | 2ull << 32);
    bed_close(&b);
}

static void test_notify(void)
{
    Bed b;
    urma_sge src[2], dst[2];
    urma_jfs_wr wr = {
        .opcode = URMA_WR_WRITE_NOTIFY,
        .rw = { .src = { src, 2 }, .dst = { dst, 2 }, .notify_data = 0x99 },
    };
    urma_user_tseg user = { .attr = 1, .token_id = 0x666, .token = { 0xaa } };

    bed_open(&b);
    src[0] = local(&b, 0, 1);
    src[1] = local(&b, 9, 2);
    dst[0] = remote(&b, 0x1000, 3);
    dst[1] = (urma_sge) { .addr = 0x2000, .len = 8, .user_tseg = &user };
    memset(b.sq + 8, 0xee, 120);    /* what was there in the lap before */
    g_assert_cmpint(post(&b, &wr), ==, 0);
    g_assert_cmphex(get_le64(b.sq + 72), ==, 0);
    word0_check(b.sq, 0x05 | 1 << 8 | 2 << 12 | UBQ_SQE_TOKEN |
                      UBQ_SQE_OWNER);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_IMM), ==, 0x99);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_NOTIFY), ==, 0x2000);
    g_assert_cmphex(get_le32(b.sq + 64), ==, 0x666);
    g_assert_cmphex(get_le32(b.sq + 68), ==, 0xaa);
    g_assert_cmphex(get_le64(b.sq + 80), ==, src[1].addr);
    wr.opcode = URMA_WR_WRITE_IMM;
    g_assert_cmpint(post(&b, &wr), ==, 0);
    word0_check(b.sq + 128, 0x04 | 1 << 8 | 2 << 12 | UBQ_SQE_TOKEN |
                            UBQ_SQE_OWNER);
    g_assert_cmphex(get_le64(b.sq + 128 + UBQ_SQE_NOTIFY), ==,
                    0x4242 | 0xfeedull << 32);
    g_assert_cmphex(get_le64(b.sq + 128 + UBQ_SQE_IMM), ==, 0x99);
    bed_close(&b);
}

/* Public programs give as many elements there as here, of which the first one counts, and
 * the notification's behind them. */
static void test_notify_lists(void)
{
    Bed b;
    urma_sge src[2], dst[3];
    urma_jfs_wr wr = {
        .opcode = URMA_WR_WRITE_NOTIFY,
        .rw = { .src = { src, 2 }, .dst = { dst, 3 }, .notify_data = 0x99 },
    };

    bed_open(&b);
    for (unsigned i = 0; i < 2; i++) {
        src[i] = local(&b, 64 * i, 64);
        dst[i] = remote(&b, 0x1000 + 64 * i, 64);
    }
    dst[2] = remote(&b, 0x3000, 8);
    g_assert_cmpint(post(&b, &wr), ==, 0);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_ADDR), ==, 0x1000);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_NOTIFY), ==, 0x3000);
    g_assert_cmpuint(get_le32(b.sq + UBQ_SQE_LENGTH), ==, 128);
    wr.rw.dst.num_sge = 1;
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);
    bed_close(&b);
}

/* Public programs give as many elements there as here; the first one counts. */
static void test_read(void)
{
    Bed b;
    urma_sge src[3], dst[3];
    urma_jfs_wr wr = {
        .opcode = URMA_WR_READ,
        .rw = { .src = { src, 3 }, .dst = { dst, 3 } },
    };

    bed_open(&b);
    for (unsigned i = 0; i < 3; i++) {
        src[i] = remote(&b, 0x1000 + 100 * i, 64);
        dst[i] = local(&b, 100 * i, 64);
    }
    g_assert_cmpint(post(&b, &wr), ==, 0);
    word0_check(b.sq, 0x06 | 1 << 8 | 3 << 12 | UBQ_SQE_TOKEN |
                      UBQ_SQE_OWNER);
    g_assert_cmphex(get_le32(b.sq + UBQ_SQE_TARGET), ==, 0x555);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_ADDR), ==, 0x1000);
    g_assert_cmpuint(get_le32(b.sq + UBQ_SQE_LENGTH), ==, 192);
    g_assert_cmphex(get_le64(b.sq + 64 + 16), ==, dst[2].addr);
    host.bells = 0;
    wr.rw.src.num_sge = 0;
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);
    g_assert_cmpuint(host.bells, ==, 0);
    bed_close(&b);
}

static void test_atomic(void)
{
    static const struct {
        uint32_t opcode, hw;
        uint64_t first, second;
    } ops[] = {
        { URMA_WR_CAS, 0x07, 1, 2 }, { URMA_WR_SWAP, 0x08, 2, 2 },
        { URMA_WR_FADD, 0x0b, 1, 0 }, { URMA_WR_FSUB, 0x0c, 1, 0 },
        { URMA_WR_FAND, 0x0d, 1, 0 }, { URMA_WR_FOR, 0x0e, 1, 0 },
        { URMA_WR_FXOR, 0x0f, 1, 0 },
    };
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
        urma_sge dst = remote(&b, 0x800, 8), src = local(&b, 16, 8);
        urma_jfs_wr wr = {
            .opcode = ops[i].opcode,
            .atomic = { .dst = &dst, .src = &src, .operand = { 1, 2 } },
        };
        const uint8_t *e = b.sq + 128 * i;

        g_assert_cmpint(post(&b, &wr), ==, 0);
        word0_check(e, ops[i].hw | 1 << 8 | 1 << 12 | UBQ_SQE_INLINE |
                       UBQ_SQE_TOKEN | UBQ_SQE_OWNER);
        g_assert_cmpuint(get_le32(e + UBQ_SQE_LENGTH), ==, 8);
        g_assert_cmphex(get_le64(e + UBQ_SQE_ELEMENT), ==, src.addr);
        g_assert_cmphex(get_le64(e + 64), ==, ops[i].first);
        g_assert_cmphex(get_le64(e + 72), ==, ops[i].second);
    }
    bed_close(&b);
}

static void test_send(void)
{
    Bed b;
    urma_sge src[2];
    urma_jfs_wr wr = {
        .opcode = URMA_WR_SEND_IMM,
        .flag = URMA_WR_INLINE | URMA_WR_SOLICITED,
        .send = { .src = { src, 2 }, .imm_data = 0x1234567890 },
    };

    bed_open(&b);
    memset(b.data, 0x11, 20);
    memset(b.data + 20, 0x22, 50);
    src[0] = local(&b, 0, 20);
    src[1] = local(&b, 20, 50);
    g_assert_cmpint(post(&b, &wr), ==, 0);
    word0_check(b.sq, 0x01 | 2 << 8 | UBQ_SQE_SOLICITED | UBQ_SQE_INLINE |
                      UBQ_SQE_TOKEN | UBQ_SQE_OWNER);
    g_assert_cmphex(get_le32(b.sq + UBQ_SQE_TARGET), ==, 0x4242);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_IMM), ==, 0x1234567890);
    g_assert_cmpmem(b.sq + 64, 70, b.data, 70);
    wr = (urma_jfs_wr) { .opcode = URMA_WR_NOP, .flag = URMA_WR_COMPLETE };
    g_assert_cmpint(post(&b, &wr), ==, 0);
    g_assert_cmphex(get_le32(b.sq + 192), ==,
                    UBQ_OP_NOP | UBQ_SQE_CQE | UBQ_SQE_OWNER);
    bed_close(&b);
}

static void test_bad_requests(void)
{
    Bed b;
    urma_sge src, dst, none = { .addr = 1, .len = 8 };
    urma_jfs_wr wr = { .opcode = URMA_WR_READ,
                       .rw = { .src = { &dst, 1 }, .dst = { &src, 1 } } };

    bed_open(&b);
    host.bells = 0;
    src = local(&b, 0, 600);
    dst = remote(&b, 0, 600);
    for (uint32_t opcode = 0; opcode < 256; opcode++) {
        bool known = opcode <= 2 || opcode == 0x10 ||
                     (opcode >= 0x20 && opcode <= 0x26) || opcode == 0x40 ||
                     opcode == 0x41 || opcode == 0x51;

        wr.opcode = opcode;
        wr.flag = 3;                    /* there is no such order */
        g_assert_cmpint(post(&b, &wr), ==, EINVAL);
        wr.flag = 0;
        if (!known) {
            g_assert_cmpint(post(&b, &wr), ==, EINVAL);
        }
    }
    wr.opcode = URMA_WR_READ;
    wr.rw.src.sge = &none;              /* of no segment */
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);
    wr = (urma_jfs_wr) { .opcode = URMA_WR_WRITE, .flag = URMA_WR_INLINE,
                         .rw = { .src = { &src, 1 }, .dst = { &dst, 1 } } };
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);     /* too much inline */
    wr.flag = 0;
    wr.rw.src.num_sge = UBQ_ELEMENTS_MAX + 1;
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);
    wr = (urma_jfs_wr) { .opcode = URMA_WR_CAS,
                         .atomic = { .dst = &dst, .src = &src } };
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);     /* of 600 bytes */
    g_assert_cmpuint(host.bells, ==, 0);
    bed_close(&b);
}

/* ---- Rings -------------------------------------------------------------------------------- */

static void write_small(Bed *b, uint64_t user_ctx, int want)
{
    urma_sge src = local(b, 0, 4), dst = remote(b, 0, 4);
    urma_jfs_wr wr = {
        .opcode = URMA_WR_WRITE, .user_ctx = user_ctx,
        .rw = { .src = { &src, 1 }, .dst = { &dst, 1 } },
    };

    g_assert_cmpint(post(b, &wr), ==, want);
}

/* Full, freed by one completion for all before it, owner of the next lap. */
static void test_ring(void)
{
    urma_cr cr;
    Bed b;

    bed_open(&b);
    for (unsigned lap = 0; lap < 5; lap++) {
        for (unsigned i = 0; i < 16; i++) {
            write_small(&b, 1000 * lap + i, 0);
            g_assert_cmphex(get_le32(b.sq + 64 * i) & UBQ_SQE_OWNER, ==,
                            lap % 2 ? 0 : UBQ_SQE_OWNER);
        }
        write_small(&b, 0, ENOMEM);
        g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 0);
        complete(&b, 3, UBQ_STATUS_OK, 2001, 16 * lap + 9, 0);
        g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
        g_assert_cmpuint(cr.user_ctx, ==, 1000 * lap + 9);
        g_assert_cmpuint(cr.status, ==, URMA_CR_SUCCESS);
        g_assert_cmpuint(cr.completion_len, ==, 4);
        g_assert_cmpuint(cr.local_id, ==, 2001);
        g_assert_cmpuint(cr.flag, ==, URMA_CR_JETTY);
        g_assert_true(cr.user_data == (uintptr_t)b.jetty);
        complete(&b, 3, UBQ_STATUS_OK, 2001, 16 * lap + 15, 0);
        g_assert_cmpint(b.ops->poll_jfc(b.jfc, 8, &cr), ==, 1);
    }
    bed_close(&b);
}

/* An entry of two blocks over the end of the ring. */
static void test_wrap(void)
{
    urma_sge src[2], dst;
    urma_jfs_wr wr = { .opcode = URMA_WR_WRITE,
                       .rw = { .src = { src, 2 }, .dst = { &dst, 1 } } };
    urma_cr cr;
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < 15; i++) {
        write_small(&b, i, 0);
    }
    complete(&b, 3, UBQ_STATUS_OK, 2001, 14, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
    src[0] = local(&b, 0, 1);
    src[1] = local(&b, 7, 1);
    dst = remote(&b, 0, 2);
    g_assert_cmpint(post(&b, &wr), ==, 0);
    g_assert_cmphex(get_le32(b.sq + 15 * 64), ==,
                    3 | 1 << 8 | 2 << 12 | UBQ_SQE_TOKEN | UBQ_SQE_OWNER);
    g_assert_cmphex(get_le64(b.sq), ==, src[1].addr);
    g_assert_cmphex(host.bell.value, ==, 2001 | 17ull << 32);
    bed_close(&b);
}

static void recv_post(Bed *b, uint64_t user_ctx, int want)
{
    urma_sge sge = local(b, user_ctx % 100, 33);
    urma_jfr_wr wr = { .src = { &sge, 1 }, .user_ctx = user_ctx }, *bad;

    g_assert_cmpint(b->ops->post_jetty_recv_wr(b->jetty, &wr, &bad), ==, want);
}

/* Messages may end in another order than they began. */
static void test_receive(void)
{
    urma_cr cr;
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 10 + i, 0);
    }
    recv_post(&b, 0, ENOMEM);
    g_assert_cmphex(get_le64(b.rq + 32 * 3), ==, (uintptr_t)b.data + 13);
    g_assert_cmpuint(get_le32(b.rq + 32 * 3 + 8), ==, 33);
    g_assert_cmpuint(get_le32(b.rq + 32 * 3 + 24), ==, 0);
    g_assert_cmpuint(host.bell.offset, ==, UBQ_BELL_RQ);
    g_assert_cmphex(host.bell.value, ==, 2000 | 8ull << 32);
    complete(&b, 0x01 | UBQ_CQE_RECEIVE | UBQ_CQE_IMM, UBQ_STATUS_OK, 2001, 1,
             2000);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, &cr), ==, 1);
    g_assert_cmpuint(cr.user_ctx, ==, 11);
    g_assert_cmpuint(cr.opcode, ==, URMA_CR_SEND_IMM);
    g_assert_cmpuint(cr.flag, ==, URMA_CR_RECEIVE | URMA_CR_JETTY);
    g_assert_cmpuint(cr.completion_len, ==, 123);
    g_assert_cmphex(cr.imm_data, ==, 0xabcdef);
    g_assert_cmpuint(cr.remote_id.id, ==, 0x777);
    g_assert_cmphex(cr.remote_id.eid.raw[0], ==, 0xe1);
    recv_post(&b, 0, ENOMEM);           /* the first is still out */
    complete(&b, 0x00 | UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2000, 0, 2000);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, &cr), ==, 1);
    g_assert_cmpuint(cr.user_ctx, ==, 10);
    g_assert_cmpuint(cr.opcode, ==, URMA_CR_SEND);
    g_assert_cmpuint(cr.flag, ==, URMA_CR_RECEIVE);
    recv_post(&b, 18, 0);
    recv_post(&b, 19, 0);
    recv_post(&b, 0, ENOMEM);
    bed_close(&b);
}

static void test_statuses(void)
{
    static const uint16_t hw[] = {
        [URMA_CR_OPCODE] = UBQ_STATUS_OPCODE,
        [URMA_CR_LOCAL_LENGTH] = UBQ_STATUS_LOCAL_LENGTH,
        [URMA_CR_LOCAL_ACCESS] = UBQ_STATUS_LOCAL_ACCESS,
        [URMA_CR_REMOTE_LENGTH] = UBQ_STATUS_REMOTE_LENGTH,
        [URMA_CR_REMOTE_UNSUPPORTED] = UBQ_STATUS_UNSUPPORTED,
        [URMA_CR_REMOTE_ABORT] = UBQ_STATUS_ABORT,
        [URMA_CR_ACK_TIMEOUT] = UBQ_STATUS_TIMEOUT,
        [URMA_CR_RNR] = UBQ_STATUS_RNR,
        [URMA_CR_FLUSHED] = UBQ_STATUS_FLUSHED,
        [URMA_CR_LOCAL_POISON] = UBQ_STATUS_LOCAL_POISON,
        [URMA_CR_REMOTE_POISON] = UBQ_STATUS_REMOTE_POISON,
    };
    urma_cr cr;
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < G_N_ELEMENTS(hw); i++) {
        if (!hw[i]) {
            continue;
        }
        write_small(&b, i, 0);
        complete(&b, 3, hw[i], 2001, 15, 0);
        g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
        g_assert_cmpuint(cr.status, ==, i);
    }
    complete(&b, 3, 0x0909, 2001, 0, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
    g_assert_cmpuint(cr.status, ==, URMA_CR_UNHANDLED);
    complete(&b, UBQ_OP_NOP, UBQ_STATUS_FLUSH_DONE, 2001, 5, 0);
    complete(&b, UBQ_OP_NOP, UBQ_STATUS_SUSPEND_DONE, 2001, 5, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
    g_assert_cmpuint(cr.status, ==, URMA_CR_FLUSH_DONE);
    g_assert_cmpuint(cr.flag, ==, URMA_CR_JETTY | URMA_CR_FLUSH_ENDED);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
    g_assert_cmpuint(cr.status, ==, URMA_CR_SUSPEND_DONE);
    bed_close(&b);
}

/* Completions of what is gone are skipped, those of others are not. */
static void test_forget(void)
{
    urma_cr cr[4];
    Bed b;

    bed_open(&b);
    write_small(&b, 1, 0);
    recv_post(&b, 2, 0);
    complete(&b, 3, UBQ_STATUS_OK, 2001, 0, 0);
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2000, 0, 2000);
    complete(&b, 3, UBQ_STATUS_OK, 0xabcde, 0, 0);   /* nobody's */
    ubc_jfc_forget(b.jfc, 2001, UBC_FORGET_QUEUE);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].user_ctx, ==, 2);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 0);
    bed_close(&b);
}

static urma_jetty *jetty_more(Bed *b, urma_jfc *recv)
{
    urma_jetty_cfg cfg = {
        .flag = URMA_JETTY_SHARE_JFR, .jfr = b->jfr, .jfc = recv,
        .jfs_cfg = { .depth = 8, .jfc = b->jfc, .trans_mode = URMA_RM },
    };
    urma_jetty *jetty = b->ops->create_jetty(b->ctx, &cfg);

    g_assert_nonnull(jetty);
    return jetty;
}

/* A message that nobody polled before its jetty went gives its entry back. */
static void test_forget_receive(void)
{
    urma_jetty *gone;
    urma_cr cr[4];
    Bed b;

    bed_open(&b);
    gone = jetty_more(&b, NULL);
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 10 + i, 0);
    }
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, gone->jetty_id.id, 0, 2000);
    complete(&b, 3, UBQ_STATUS_OK, gone->jetty_id.id, 0, 0);
    recv_post(&b, 0, ENOMEM);
    g_assert_cmpint(b.ops->delete_jetty(gone), ==, 0);
    recv_post(&b, 18, 0);
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2001, 1, 2000);
    /* And one that is told of only now. */
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 0xabcde, 2, 2000);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].user_ctx, ==, 11);
    recv_post(&b, 19, 0);
    recv_post(&b, 20, 0);
    recv_post(&b, 0, ENOMEM);
    /* Each of them once. */
    for (unsigned i = 3; i < 8; i++) {
        complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2001, i, 2000);
    }
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 4);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    for (unsigned i = 0; i < 5; i++) {
        recv_post(&b, 30 + i, 0);
    }
    recv_post(&b, 0, ENOMEM);
    bed_close(&b);
}

/* Of a jetty that is reset what it received stays, with one JFC for both. */
static void test_reset_jetty(void)
{
    urma_recv_attr reset = { .mask = URMA_MODIFY_STATE, .state = URMA_RESET };
    urma_cr cr[4];
    Bed b;

    bed_open(&b);
    write_small(&b, 1, 0);
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 10 + i, 0);
    }
    complete(&b, 3, UBQ_STATUS_OK, 2001, 0, 0);
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2001, 0, 2000);
    g_assert_cmpint(b.ops->modify_jetty(b.jetty, &reset), ==, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].user_ctx, ==, 10);
    g_assert_cmpuint(cr[0].flag, ==, URMA_CR_RECEIVE | URMA_CR_JETTY);
    recv_post(&b, 18, 0);
    recv_post(&b, 0, ENOMEM);
    bed_close(&b);
}

/* A JFS that is reset begins with its first block again; one that goes to Error does
 * not. */
static void test_reset_jfs(void)
{
    urma_jfs_attr attr = { .mask = URMA_MODIFY_JFS_STATE };
    urma_jfs_wr wr = { .opcode = URMA_WR_NOP }, *bad;
    const uint8_t *sq;
    urma_jfs *jfs;
    Bed b;

    bed_open(&b);
    jfs = b.ops->create_jfs(b.ctx, &b.jetty->cfg.jfs_cfg);
    g_assert_nonnull(jfs);
    sq = host.ring[jfs->handle];
    wr.tjetty = b.target;
    for (unsigned i = 0; i < 3; i++) {
        memset(host.ring[jfs->handle], 0, 4 * UBQ_BLOCK);
        g_assert_cmpint(b.ops->post_jfs_wr(jfs, &wr, &bad), ==, 0);
        g_assert_cmphex(get_le32(sq + (i == 1) * UBQ_BLOCK), !=, 0);
        g_assert_cmphex(get_le32(sq + (i != 1) * UBQ_BLOCK), ==, 0);
        attr.state = i ? URMA_RESET : URMA_ERROR;
        g_assert_cmpint(b.ops->modify_jfs(jfs, &attr), ==, 0);
    }
    g_assert_cmpint(b.ops->delete_jfs(jfs), ==, 0);
    bed_close(&b);
}

/* A JFR that is reset: what was told of its entries is of no use in any JFC, also
 * where another JFC came later and has gone. */
static void test_reset_jfr(void)
{
    urma_recv_attr reset = { .mask = URMA_MODIFY_STATE,
                             .state = URMA_JFR_RESET };
    urma_jfc_cfg cfg = { .depth = 10 };
    urma_jfc *other, *later;
    urma_jetty *jetty;
    uint8_t *cq;
    urma_cr cr[4];
    Bed b, elsewhere;

    bed_open(&b);
    other = b.ops->create_jfc(b.ctx, &cfg);
    cq = host.ring[host.handles];
    later = b.ops->create_jfc(b.ctx, &cfg);
    jetty = jetty_more(&b, other);
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 10 + i, 0);
    }
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2001, 0, 2000);
    elsewhere = b;
    elsewhere.cq = cq;
    elsewhere.cq_pi = 0;
    complete(&elsewhere, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, jetty->jetty_id.id, 1,
             2000);
    complete(&b, 3, UBQ_STATUS_OK, 2001, 0, 0);
    g_assert_cmpint(b.ops->delete_jfc(later), ==, 0);
    g_assert_cmpint(b.ops->modify_jfr(b.jfr, &reset), ==, 0);
    g_assert_cmpint(b.ops->poll_jfc(other, 4, cr), ==, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].flag, ==, URMA_CR_JETTY);    /* what was sent */
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 30 + i, 0);
    }
    recv_post(&b, 0, ENOMEM);
    g_assert_cmpint(b.ops->delete_jetty(jetty), ==, 0);
    g_assert_cmpint(b.ops->delete_jfc(other), ==, 0);
    bed_close(&b);
}

/* A number that the kernel has given back may be another thread's at once. */
static void test_numbers(void)
{
    urma_jfs_cfg cfg = { .depth = 8, .trans_mode = URMA_RM };
    urma_jfr_cfg recv = { .depth = 8, .trans_mode = URMA_RM };
    urma_jfs *jfs;
    urma_jfr *jfr;
    Bed b;

    bed_open(&b);
    host.ctx = (UbcCtx *)b.ctx;
    host.calls = host.unlocked = 0;
    cfg.jfc = recv.jfc = b.jfc;
    jfs = b.ops->create_jfs(b.ctx, &cfg);
    jfr = b.ops->create_jfr(b.ctx, &recv);
    g_assert_cmpint(b.ops->delete_jetty(jetty_more(&b, NULL)), ==, 0);
    g_assert_cmpint(b.ops->delete_jfs(jfs), ==, 0);
    g_assert_cmpint(b.ops->delete_jfr(jfr), ==, 0);
    g_assert_cmpuint(host.calls, ==, 6);
    g_assert_cmpuint(host.unlocked, ==, 0);
    host.ctx = NULL;
    bed_close(&b);
}

/* The engine hears how far we are every quarter, and when we arm. */
static void test_doorbells(void)
{
    urma_jfs_wr wr[3] = { { .opcode = URMA_WR_NOP, .next = &wr[1] },
                          { .opcode = URMA_WR_NOP, .next = &wr[2] },
                          { .opcode = 0x99 } }, *bad = NULL;
    urma_cr cr[16];
    Bed b;

    bed_open(&b);
    host.bells = 0;
    host.commands = 0;
    g_assert_cmpint(b.ops->post_jetty_send_wr(b.jetty, wr, &bad), ==, EINVAL);
    g_assert_true(bad == &wr[2]);
    g_assert_cmpuint(host.bells, ==, 1);    /* one for the list */
    g_assert_cmphex(host.bell.value, ==, 2001 | 2ull << 32);
    for (unsigned i = 0; i < 3; i++) {
        complete(&b, UBQ_OP_NOP, UBQ_STATUS_OK, 2001, 1, 0);
    }
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 16, cr), ==, 3);
    g_assert_cmpuint(host.bells, ==, 1);
    complete(&b, UBQ_OP_NOP, UBQ_STATUS_OK, 2001, 1, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 16, cr), ==, 1);
    g_assert_cmpuint(host.bells, ==, 2);
    g_assert_cmphex(host.bell.value, ==, 3 | 4ull << 32);
    g_assert_cmpint(b.ops->rearm_jfc(b.jfc, true), ==, 0);
    g_assert_cmpuint(host.bell.offset, ==, UBQ_BELL_CQ);
    g_assert_cmphex(host.bell.value, ==, 3 | 4ull << 32 | 1ull << 48);
    g_assert_cmpint(b.ops->rearm_jfc(b.jfc, false), ==, 0);
    g_assert_cmphex(host.bell.value, ==, 3 | 4ull << 32 | 2ull << 48);
    host.bells = 0;
    for (unsigned i = 1; i <= 16; i++) {    /* the engine hears of who polls in vain */
        g_assert_cmpint(b.ops->poll_jfc(b.jfc, 16, cr), ==, 0);
        g_assert_cmpuint(host.bells, ==, i / 8);
    }
    g_assert_cmpuint(host.bell.offset, ==, UBQ_BELL_CQ);
    g_assert_cmphex(host.bell.value, ==, 3 | 4ull << 32);
    g_assert_cmpuint(host.commands, ==, 0); /* no call of the kernel */
    bed_close(&b);
}

/* Where a JFC has no more entries than were asked for, the engine hears of each that was
 * read: with as many requests under way again it would find the queue full. */
static void test_room(void)
{
    static const struct { uint32_t depth, asked, late; } cases[] = {
        { 1, 2, 4 }, { 12, 17, 4 }, { 13, 18, 3 }, { 14, 19, 2 }, { 15, 21, 1 },
        { 16, 22, 1 }, { 24576, 32768, 1 }, { 24575, 32767, 1 }, { 32768, 32768, 1 },
        { 32769, 32769, 1 },
    };
    urma_jfs_wr wr = { .opcode = URMA_WR_NOP }, *bad = NULL;
    Bed b, elsewhere;
    urma_cr cr[16];

    bed_open(&b);
    g_assert_cmpint(b.ops->post_jetty_send_wr(b.jetty, &wr, &bad), ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        urma_jfc_cfg cfg = { .depth = cases[i].depth };
        urma_jfc *jfc = b.ops->create_jfc(b.ctx, &cfg);

        g_assert_cmpuint(host.jfc_depth, ==, cases[i].asked);
        g_assert_cmpuint(jfc->cfg.depth, ==, 17 - cases[i].late);
        elsewhere = b;
        elsewhere.cq = host.ring[host.handles];
        elsewhere.cq_pi = 0;
        host.bells = 0;
        for (unsigned n = 1; n <= 12; n++) {
            complete(&elsewhere, UBQ_OP_NOP, UBQ_STATUS_OK, 2001, 0, 0);
            g_assert_cmpint(b.ops->poll_jfc(jfc, 1, cr), ==, 1);
            g_assert_cmpuint(host.bells, ==, n / cases[i].late);
        }
        g_assert_cmpint(b.ops->delete_jfc(jfc), ==, 0);
    }
    bed_close(&b);
}

/* What was flushed is taken out of the JFC, in order; the rest stays. */
static void test_flush(void)
{
    urma_cr cr[4];
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < 5; i++) {
        write_small(&b, 10 + i, 0);
    }
    recv_post(&b, 20, 0);
    complete(&b, 3, UBQ_STATUS_OK, 2001, 0, 0);
    complete(&b, 3, UBQ_STATUS_FLUSHED, 2001, 1, 0);
    complete(&b, 3, UBQ_STATUS_FLUSHED, 2001, 2, 0);
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_FLUSHED, 2000, 0, 2000);
    complete(&b, 3, UBQ_STATUS_FLUSHED, 2001, 3, 0);
    complete(&b, UBQ_OP_NOP, UBQ_STATUS_SUSPEND_DONE, 2001, 4, 0);
    host.control_errno = EBUSY;
    g_assert_cmpint(b.ops->flush_jetty(b.jetty, 4, cr), ==, -1);
    host.control_errno = 0;
    g_assert_cmpint(b.ops->flush_jetty(b.jetty, 2, cr), ==, 2);
    g_assert_cmpuint(host.control.opcode, ==, URMA_CTL_DRAIN);
    g_assert_cmpuint(host.controlled, ==, b.jetty->handle);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(cr[i].status, ==, URMA_CR_FLUSHED);
        g_assert_cmpuint(cr[i].user_ctx, ==, 11 + i);
    }
    g_assert_cmpint(b.ops->flush_jetty(b.jetty, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].user_ctx, ==, 13);
    g_assert_cmpint(b.ops->flush_jetty(b.jetty, 4, cr), ==, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 3);
    g_assert_cmpuint(cr[0].user_ctx, ==, 10);
    g_assert_cmpuint(cr[1].user_ctx, ==, 20);
    g_assert_cmpuint(cr[2].status, ==, URMA_CR_SUSPEND_DONE);
    bed_close(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urma-provider/write", test_write);
    g_test_add_func("/urma-provider/notify", test_notify);
    g_test_add_func("/urma-provider/notify-lists", test_notify_lists);
    g_test_add_func("/urma-provider/read", test_read);
    g_test_add_func("/urma-provider/atomic", test_atomic);
    g_test_add_func("/urma-provider/send", test_send);
    g_test_add_func("/urma-provider/bad-requests", test_bad_requests);
    g_test_add_func("/urma-provider/ring", test_ring);
    g_test_add_func("/urma-provider/wrap", test_wrap);
    g_test_add_func("/urma-provider/receive", test_receive);
    g_test_add_func("/urma-provider/statuses", test_statuses);
    g_test_add_func("/urma-provider/forget", test_forget);
    g_test_add_func("/urma-provider/forget-receive", test_forget_receive);
    g_test_add_func("/urma-provider/reset-jetty", test_reset_jetty);
    g_test_add_func("/urma-provider/reset-jfs", test_reset_jfs);
    g_test_add_func("/urma-provider/reset-jfr", test_reset_jfr);
    g_test_add_func("/urma-provider/numbers", test_numbers);
    g_test_add_func("/urma-provider/doorbells", test_doorbells);
    g_test_add_func("/urma-provider/room", test_room);
    g_test_add_func("/urma-provider/flush", test_flush);
    return g_test_run();
}
