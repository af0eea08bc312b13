/*
 * The UMMU in a controller: what a peer and what queues reach, by real links in
 * virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/ta.h"
#include "ubc-pair.h"
#include "../../ubm-drv.h"
#include "../../ubq-drv.h"

#define UBA 0x7000000000ull
#define TOKEN_ID 33u
#define VALUE 0xabcd0123u
#define LOCAL 7u
#define VA 0x10000000ull
#define ROOM 0x8000u

static UbqDrv drv[2];
static UbmDrv ummu[2];
static UbqCq cq[2];
static UbqQueue queue;          /* of a, translated */
static uint64_t local, remote;  /* memory of a and of b */

static uint32_t drv_read(void *opaque, uint32_t offset)
{
    return rd(opaque, offset);
}

static void drv_write(void *opaque, uint32_t offset, uint32_t value)
{
    wr(opaque, offset, value);
}

static uint32_t ummu_read(void *opaque, uint32_t offset)
{
    return rd(opaque, UBM_WINDOW + offset);
}

static void ummu_write(void *opaque, uint32_t offset, uint32_t value)
{
    wr(opaque, UBM_WINDOW + offset, value);
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

/* As test-ubc-engine.c; b has TokenID 33 at UBA, a its queue's memory at VA. */
static void up(unsigned carrier, bool strict)
{
    UbqPeer peer = { .cna = 2, .eid = { [15] = 2 }, .upi = 1 };

    now = 1000;
    for (unsigned i = 0; i < 2; i++) {
        UbcConfig conf;

        ubc_config_init(&conf);
        conf.cna = conf.eid[15] = i + 1;
        conf.upi = 1;
        conf.ummu.strict = strict;
        side_init(&two[i], &two[!i], &conf);
    }
    connect(&two[0], &two[1]);
    for (unsigned i = 0; i < 2; i++) {
        wr(&two[i], UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    }
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
    for (unsigned i = 0; i < 2; i++) {
        drv[i] = (UbqDrv){ .memory = two[i].mem, .brk = 0x10000, .end = MEM,
                           .opaque = &two[i], .reg_read = drv_read,
                           .reg_write = drv_write, .bell = drv_bell,
                           .progress = drv_progress };
        ummu[i] = (UbmDrv){ .memory = two[i].mem, .brk = MEM / 2, .end = MEM,
                            .opaque = &two[i], .reg_read = ummu_read,
                            .reg_write = ummu_write,
                            .progress = drv_progress };
        ubq_open(&drv[i]);
        ubq_cq_open(&cq[i], &drv[i], 8);
        ubm_open(&ummu[i], 6);
    }
    ubq_dest(&drv[0], 9, carrier, 0, &peer);
    local = ubq_alloc(&drv[0], ROOM + 4096, 4096);
    remote = ubq_alloc(&drv[1], ROOM, 4096);
    ubm_context(&ummu[0], LOCAL, 0);
    ubm_map(&ummu[0], LOCAL, VA, local, ROOM, 0);
    ubm_context(&ummu[1], TOKEN_ID, 0);
    /* The pages the other way round. */
    for (unsigned i = 0; i < ROOM / 4096; i++) {
        ubm_map(&ummu[1], TOKEN_ID, UBA + i * 4096,
                remote + ROOM - (i + 1) * 4096, 4096, 0);
    }
    ubm_single(&ummu[1], TOKEN_ID, UBM_MAPTE_V | UBM_RWA, UBA, UBA + ROOM - 1,
               VALUE);
    queue = (UbqQueue){ .d = &drv[0], .sq_log2 = 6, .rq_log2 = 4,
                        .local = LOCAL };
    ubq_queue_create(&queue, &cq[0], &cq[0], UBQ_NEW, 0, UBQ_Q_TRANSLATE);
    for (unsigned i = 0; i < ROOM; i++) {
        two[0].mem[local + i] = i * 7 + (i >> 8);
    }
}

static void down(void)
{
    side_free(&two[0]);
    side_free(&two[1]);
}

static bool has_completion(Side *a, Side *b)
{
    return drv[0].memory[cq[0].base + 64 * (cq[0].ci & 255) + 3] >> 7 ==
           !(cq[0].ci >> 8 & 1);
}

/* An operation on b's memory; it ends with @status. */
static void operate(unsigned opcode, uint64_t va, uint64_t uba, uint32_t len,
                    uint32_t value, unsigned status)
{
    uint8_t *e = ubq_sqe(&queue, 1);

    ubq_sqe_put(e, opcode | UBQ_SQE_TOKEN, 9, va, len);
    put_le32(e + UBQ_SQE_TARGET, TOKEN_ID);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, value);
    put_le64(e + UBQ_SQE_ADDR, uba);
    ubq_post(&queue, e, 1);
    g_assert_true(run_until(&two[0], &two[1], has_completion, 100 * SECOND));
    ubq_cq_expect(&cq[0], status);
}

static void expect_event(unsigned side, unsigned code, unsigned why)
{
    const uint8_t *e = ubm_event(&ummu[side]);

    g_assert_nonnull(e);
    g_assert_cmphex(get_le64(e) & UBM_EVT_CODE, ==, code);
    g_assert_cmpuint(get_le64(e + 8) >> 32, ==, why);
    g_assert_null(ubm_event(&ummu[side]));
}

/* Bytes go through both tables, out and back. */
static void moves(unsigned carrier)
{
    up(carrier, false);
    operate(UB_TA_WRITE, VA + 100, UBA + 100, 20000, VALUE, UB_TAS_OK);
    for (unsigned i = 100; i < 20100; i++) {
        g_assert_cmphex(two[1].mem[remote + ROOM - (i / 4096 + 1) * 4096 +
                                   i % 4096], ==, two[0].mem[local + i]);
    }
    operate(UB_TA_READ, VA + 5000, UBA + 100, 20000, VALUE, UB_TAS_OK);
    for (unsigned i = 0; i < 20000; i++) {
        g_assert_cmphex(two[0].mem[local + 5000 + i], ==,
                        (uint8_t)((i + 100) * 7 + ((i + 100) >> 8)));
    }
    g_assert_null(ubm_event(&ummu[0]));
    g_assert_null(ubm_event(&ummu[1]));
    down();
}

static void test_moves(void)
{
    moves(1);
}

/* Both ends see why. */
static void test_refused(void)
{
    uint64_t tcte, leaf;

    up(1, false);
    tcte = ummu[1].tct + TOKEN_ID * UBM_TCTE;
    leaf = ubm_desc(&ummu[1], ubm_word(&ummu[1], tcte + 16), UBA, 3);
    operate(UB_TA_WRITE, VA, UBA, 64, VALUE + 1, UB_TAS_UNSUPPORTED);
    expect_event(1, UBM_EVT_MAPT, UBM_WHY_TOKEN_VALUE);
    operate(UB_TA_WRITE, VA, UBA + ROOM - 32, 64, VALUE, UB_TAS_ABORT);
    expect_event(1, UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    ubm_word_put(&ummu[1], leaf, ubm_word(&ummu[1], leaf) | UBM_PTE_READONLY);
    operate(UB_TA_WRITE, VA, UBA, 64, VALUE, UB_TAS_UNSUPPORTED);
    expect_event(1, UBM_EVT_PERMISSION, UBM_WHY_PERMISSION);
    operate(UB_TA_READ, VA, UBA, 64, VALUE, UB_TAS_OK);
    ubm_word_put(&ummu[1], leaf, 0);
    operate(UB_TA_READ, VA, UBA, 64, VALUE, UB_TAS_ABORT);
    expect_event(1, UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    ubm_word_put(&ummu[1], tcte, 0);
    operate(UB_TA_READ, VA, UBA, 64, VALUE, UB_TAS_UNSUPPORTED);
    expect_event(1, UBM_EVT_BAD_TCTE, UBM_WHY_TCTE_INVALID);
    /* No interrupt is missing, and none came for nothing. */
    g_assert_cmpuint(two[1].interrupts[0], ==, 5);
    down();
}

/* A queue's own addresses: nothing that is not mapped for it is read or written. */
static void test_local(void)
{
    uint64_t tcte, leaf;
    uint8_t *secret;

    up(1, false);
    secret = two[0].mem + local + ROOM;
    tcte = ummu[0].tct + LOCAL * UBM_TCTE;
    leaf = ubm_desc(&ummu[0], ubm_word(&ummu[0], tcte + 16), VA, 3);
    memset(secret, 0xee, 64);
    /* A bus address is none of its own. */
    operate(UB_TA_WRITE, local, UBA, 64, VALUE, UB_TAS_LOCAL_ACCESS);
    expect_event(0, UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    operate(UB_TA_WRITE, VA + ROOM - 32, UBA, 64, VALUE, UB_TAS_LOCAL_ACCESS);
    expect_event(0, UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    operate(UB_TA_READ, VA + ROOM - 32, UBA, 64, VALUE, UB_TAS_LOCAL_ACCESS);
    expect_event(0, UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    for (unsigned i = 0; i < 64; i++) {
        g_assert_cmphex(secret[i], ==, 0xee);
    }
    /* What it may only read is not written by data that come. */
    ubm_word_put(&ummu[0], leaf, ubm_word(&ummu[0], leaf) | UBM_PTE_READONLY);
    operate(UB_TA_WRITE, VA, UBA, 64, VALUE, UB_TAS_OK);
    operate(UB_TA_READ, VA, UBA, 64, VALUE, UB_TAS_LOCAL_ACCESS);
    expect_event(0, UBM_EVT_PERMISSION, UBM_WHY_PERMISSION);
    /* While the UMMU is off it reaches nothing. */
    wr(&two[0], UBM_WINDOW + UBM_CR0, 0);
    operate(UB_TA_WRITE, VA, UBA, 64, VALUE, UB_TAS_LOCAL_ACCESS);
    down();
}

/* Received messages, too. */
static void test_receive(void)
{
    UbqPeer back = { .cna = 1, .eid = { [15] = 1 }, .upi = 1 };
    UbqQueue sender;
    uint8_t *e;

    up(1, false);
    ubq_dest(&drv[1], 9, 1, 0, &back);
    ubq_queue_open(&sender, &drv[1], &cq[1], NULL, 0, 0);
    memset(two[1].mem + remote, 0x5a, 64);
    for (unsigned good = 0; good < 2; good++) {
        ubq_recv(&queue, good ? VA + 4096 : local, 64);
        e = ubq_sqe(&sender, 1);
        ubq_sqe_put(e, UB_TA_SEND, 9, remote, 64);
        put_le32(e + UBQ_SQE_TARGET, queue.id);
        ubq_post(&sender, e, 1);
        g_assert_true(run_until(&two[0], &two[1], has_completion,
                                100 * SECOND));
        ubq_cq_expect(&cq[0], good ? UB_TAS_OK : UB_TAS_LOCAL_ACCESS);
        if (!good) {
            expect_event(0, UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
            g_assert_cmphex(two[0].mem[local], ==, 0);
        }
    }
    g_assert_cmphex(two[0].mem[local + 4096 + 63], ==, 0x5a);
    down();
}

/* A Write to a page of b that is not there is asked for by software's leave: it has
 * no answer until b's software says how it ends. */
static uint64_t stall(uint64_t uba)
{
    uint8_t *s = ubq_sqe(&queue, 1);
    const uint8_t *e;

    ubq_sqe_put(s, UB_TA_WRITE | UBQ_SQE_TOKEN, 9, VA, 64);
    put_le32(s + UBQ_SQE_TARGET, TOKEN_ID);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, VALUE);
    put_le64(s + UBQ_SQE_ADDR, uba);
    ubq_post(&queue, s, 1);
    g_assert_false(run_until(&two[0], &two[1], has_completion, SECOND / 100));
    e = ubm_event(&ummu[1]);
    if (!e) {
        return UINT64_MAX;
    }
    g_assert_true(get_le64(e) & UBM_EVT_STALL);
    return get_le64(e + 8) & UBM_EVT_STAG;
}

/* Software ends stalls: the ones by an answer that refuses them for good, all that
 * wait for them and nobody else, the others are tried again. */
static void test_stall(void)
{
    uint64_t tcte, root, leaf[2], stag[2];

    up(1, false);
    tcte = ummu[1].tct + TOKEN_ID * UBM_TCTE;
    root = ubm_word(&ummu[1], tcte + 16);
    ubm_word_put(&ummu[1], tcte, ubm_word(&ummu[1], tcte) | UBM_TCTE_FBS);
    ubm_word_put(&ummu[1], ummu[1].tect + 8,
                 ubm_word(&ummu[1], ummu[1].tect + 8) |
                 UBM_TECTE_TCT_STALL_EN);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t at = ubm_desc(&ummu[1], root, UBA + i * 4096, 3);

        leaf[i] = ubm_word(&ummu[1], at);
        ubm_word_put(&ummu[1], at, 0);
        stag[i] = stall(UBA + i * 4096);
    }
    g_assert_cmpuint(stag[0], !=, stag[1]);
    /* Another of the same page waits with the first. */
    g_assert_cmpuint(stall(UBA + 64), ==, UINT64_MAX);
    ubm_command(&ummu[1], UBM_CMD_STALL_RESUME | UBM_RESUME_ABORT, stag[0], 0,
                0);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_true(run_until(&two[0], &two[1], has_completion,
                                100 * SECOND));
        ubq_cq_expect(&cq[0], UB_TAS_ABORT);
    }
    g_assert_false(run_until(&two[0], &two[1], has_completion, SECOND / 100));
    g_assert_null(ubm_event(&ummu[1]));
    ubm_word_put(&ummu[1], ubm_desc(&ummu[1], root, UBA + 4096, 3), leaf[1]);
    ubm_command(&ummu[1], UBM_CMD_STALL_RESUME | UBM_RESUME_RETRY, stag[1], 0,
                0);
    g_assert_true(run_until(&two[0], &two[1], has_completion, 100 * SECOND));
    ubq_cq_expect(&cq[0], UB_TAS_OK);
    g_assert_cmphex(two[1].mem[remote + ROOM - 8192 + 5], ==,
                    two[0].mem[local + 5]);
    /* What was refused does not refuse who comes later. */
    ubm_word_put(&ummu[1], ubm_desc(&ummu[1], root, UBA, 3), leaf[0]);
    operate(UB_TA_WRITE, VA, UBA, 64, VALUE, UB_TAS_OK);
    ubm_word_put(&ummu[1], ubm_desc(&ummu[1], root, UBA, 3), 0);
    stag[0] = stall(UBA);
    ubm_command(&ummu[1], UBM_CMD_STALL_TERM, 0, 0, 0);
    g_assert_true(run_until(&two[0], &two[1], has_completion, 100 * SECOND));
    ubq_cq_expect(&cq[0], UB_TAS_ABORT);
    down();
}

/* Off, plain segments decide; with GBPA.ABORT nobody is let in. */
static void test_off(void)
{
    up(1, false);
    ubq_segment(&drv[1], TOKEN_ID, remote, ROOM, UBQ_SEG_WRITE, 0);
    wr(&two[1], UBM_WINDOW + UBM_CR0, 0);
    operate(UB_TA_WRITE, VA, 0x10000, 64, 0, UB_TAS_OK);
    g_assert_cmphex(two[1].mem[remote + 1], ==, 7);
    wr(&two[1], UBM_WINDOW + UBM_GBPA, UBM_GBPA_ABORT | UBM_GBPA_UPDATE);
    g_assert_cmphex(rd(&two[1], UBM_WINDOW + UBM_GBPA), ==, UBM_GBPA_ABORT);
    operate(UB_TA_WRITE, VA, 0x10000, 64, 0, UB_TAS_UNSUPPORTED);
    down();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubc/ummu/moves", test_moves);
    g_test_add_func("/ubc/ummu/refused", test_refused);
    g_test_add_func("/ubc/ummu/local", test_local);
    g_test_add_func("/ubc/ummu/receive", test_receive);
    g_test_add_func("/ubc/ummu/stall", test_stall);
    g_test_add_func("/ubc/ummu/off", test_off);
    return g_test_run();
}
