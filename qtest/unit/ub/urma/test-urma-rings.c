/*
 * The edges of queues: rings that wrap, doorbells, turns, rights of segments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

/* ---- Rings ---------------------------------------------------------------------------------- */

/* Entries of three blocks go over the end of a ring of sixteen. */
static void test_wrap(void)
{
    UbqQueue q;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    q = (UbqQueue){ .d = &p.a->drv, .sq_log2 = 4 };
    ubq_queue_create(&q, &p.cq_a, NULL, UBQ_NEW, UB_ROI, 0);
    for (unsigned i = 0; i < 40; i++) {
        uint8_t e[3 * UBQ_BLOCK] = { 0 };
        bool odd = q.sq_pi >> 4 & 1;

        ubq_sqe_put(e, UB_TA_WRITE | UBQ_SQE_TOKEN | UBQ_SQE_INLINE |
                    (odd ? 0 : UBQ_SQE_OWNER) | 2 << 8, 9, 0, 128);
        put_le32(e + UBQ_SQE_TARGET, 77);
        put_le32(e + UBQ_SQE_TOKEN_VALUE, TOKEN);
        put_le64(e + UBQ_SQE_ADDR, 0x10000);
        for (unsigned k = 0; k < 128; k++) {
            e[UBQ_BLOCK + k] = i + k;
        }
        for (unsigned b = 0; b < 3; b++) {
            memcpy(p.a->memory + q.sq + (q.sq_pi + b) % 16 * UBQ_BLOCK,
                   e + b * UBQ_BLOCK, UBQ_BLOCK);
        }
        q.sq_pi += 3;
        ub_urma_bell(p.a->urma, 0, UBQ_BELL_SQ,
                     q.id | (uint64_t)q.sq_pi << 32);
        ends_run(&p.ends, SECOND);
        g_assert_cmpuint(get_le32(ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK) +
                                  UBQ_CQE_INDEX), ==, 3 * i);
        for (unsigned k = 0; k < 128; k++) {
            g_assert_cmphex(p.b->memory[p.remote + k], ==, (uint8_t)(i + k));
        }
    }
    pair_stop(&p);
}

/* Who asks for no completion gets none, but for an error. */
static void test_quiet(void)
{
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *e = memory_op(&p, UB_TA_WRITE, 0, 0, p.local, 64, 1);

        put_le32(e, get_le32(e) & ~UBQ_SQE_CQE);
        put_le32(e + UBQ_SQE_TOKEN_VALUE, i ? ~TOKEN : TOKEN);
        fill(p.a, p.local, 64);
        post_and_run(&p, e, 1);
        if (i) {
            ubq_cq_expect(&p.cq_a, UBQ_STATUS_ABORT);
        }
        g_assert_null(ubq_cq_poll(&p.cq_a));
    }
    check(p.b, p.remote, 64);
    pair_stop(&p);
}

/* A doorbell says how many there are, again too; fewer, or more than there is room
 * for, is refused. */
static void test_bells_bound(void)
{
    const unsigned bells[] = { UBQ_BELL_SQ, UBQ_BELL_RQ };
    UbqQueue q;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    q = (UbqQueue){ .d = &p.a->drv, .rq_log2 = 4, .sq_log2 = 4 };
    ubq_queue_create(&q, &p.cq_a, &p.cq_a, UBQ_NEW, UB_ROI, 0);
    for (unsigned i = 0; i < 2; i++) {
        static const struct {
            unsigned pi;
            bool good;
        } counts[] = {
            { 0, true }, { 17, false }, { 5, true }, { 5, true }, { 4, false },
            { 0, false }, { 65535, false }, { 16, true }, { 16, true },
            { 17, false },
        };

        for (unsigned k = 0; k < G_N_ELEMENTS(counts); k++) {
            uint64_t bad = ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD);

            ub_urma_bell(p.a->urma, 0, bells[i],
                         q.id | (uint64_t)counts[k].pi << 32);
            g_assert_cmpuint(ub_urma_counter(p.a->urma, UB_URMA_BELLS_BAD) -
                             bad, ==, !counts[k].good);
        }
    }
    g_assert_cmpuint(p.a->guest_errors, ==, 10);
    /* Of what it has not. */
    ub_urma_bell(p.a->urma, 0, 0x18, q.id);
    ub_urma_bell(p.a->urma, 0, UBQ_BELL_CQ, p.cq_a.id | 3ull << 48);
    ub_urma_bell(p.a->urma, 0, UBQ_BELL_CQ, p.cq_a.id | 1ull << 32);
    g_assert_cmpuint(p.a->guest_errors, ==, 13);
    pair_stop(&p);
}

/* Queues take turns: one with much to do does not hold up the next. */
static void test_turns(void)
{
    unsigned first[2] = { 0 };
    UbqQueue q[2];
    UbqCq cq;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    ubq_cq_open(&cq, &p.a->drv, 10);
    for (unsigned i = 0; i < 2; i++) {
        q[i] = (UbqQueue){ .d = &p.a->drv, .sq_log2 = 8 };
        ubq_queue_create(&q[i], &cq, NULL, UBQ_NEW, UB_ROI, 0);
    }
    ends_run(&p.ends, 1000);
    for (unsigned i = 0; i < 2 * 200; i++) {
        uint8_t *e = ubq_sqe(&q[i / 200], 1);

        ubq_sqe_put(e, UBQ_OP_NOP, 0, 0, 0);
        ubq_post(&q[i / 200], e, 1);
    }
    g_assert_cmpint(ub_urma_run(p.a->urma, p.ends.now, 64), ==, p.ends.now);
    for (const uint8_t *c; (c = ubq_cq_poll(&cq));) {
        first[get_le32(c + UBQ_CQE_QUEUE) == q[1].id]++;
    }
    g_assert_cmpuint(first[0], ==, 32);
    g_assert_cmpuint(first[1], ==, 32);
    ends_run(&p.ends, SECOND);
    for (unsigned i = 0; i < 400 - 64; i++) {
        ubq_cq_expect(&cq, UBQ_STATUS_OK);
    }
    g_assert_null(ubq_cq_poll(&cq));
    pair_stop(&p);
}

/* ---- Segments ------------------------------------------------------------------------------- */

/* Rights, both tokens, bounds. */
static void test_segment_rights(void)
{
    static const struct {
        uint32_t access, token, opcode;
        uint64_t off;
        uint32_t len;
        bool good;
    } cases[] = {
        { UBQ_SEG_WRITE, 0, UB_TA_WRITE, 0, 64, true },
        { UBQ_SEG_READ | UBQ_SEG_ATOMIC, 0, UB_TA_WRITE, 0, 64, false },
        { UBQ_SEG_READ, 0, UB_TA_READ, 0, 64, true },
        { UBQ_SEG_WRITE | UBQ_SEG_ATOMIC, 0, UB_TA_READ, 0, 64, false },
        { UBQ_SEG_WRITE | UBQ_SEG_TOKEN, 1, UB_TA_WRITE, 0, 64, true },
        { UBQ_SEG_WRITE | UBQ_SEG_TOKEN, 2, UB_TA_WRITE, 0, 64, true },
        { UBQ_SEG_WRITE | UBQ_SEG_TOKEN, 3, UB_TA_WRITE, 0, 64, false },
        { UBQ_SEG_WRITE | UBQ_SEG_EXCLUSIVE, 0, UB_TA_WRITE, 0, 64, false },
        { UBQ_SEG_WRITE, 0, UB_TA_WRITE, 4096 - 64, 64, true },
        { UBQ_SEG_WRITE, 0, UB_TA_WRITE, 4096 - 63, 64, false },
        { UBQ_SEG_WRITE, 0, UB_TA_WRITE, -1ull, 64, false },
        { UBQ_SEG_WRITE, 0, UB_TA_WRITE, 4097, 64, false },
    };
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint64_t denied = ub_urma_counter(p.b->urma, UB_URMA_SEGMENT_DENIED);
        g_autofree uint8_t *data = NULL;
        uint8_t cmd[UBQ_CMD], *e;
        size_t size;

        ubq_cmd_init(cmd, 78, 0);
        put_le64(cmd + UBQ_SEG_UBA, 0x10000);
        put_le64(cmd + UBQ_SEG_BASE, p.remote);
        put_le64(cmd + UBQ_SEG_LENGTH, 4096);
        put_le32(cmd + UBQ_SEG_ACCESS, cases[i].access);
        put_le32(cmd + UBQ_SEG_TOKEN_VALUE, 1);
        put_le32(cmd + UBQ_SEG_TOKEN_OLD, 2);
        g_assert_cmpuint(ubq_command(&p.b->drv, UBQ_OP_SEGMENT_SET, cmd), ==,
                         UBQ_RESULT_OK);
        data = end_save(&p.ends, p.b, &size);    /* it moves with its rights */
        g_assert_cmpstr(end_load(&p.ends, p.b, data, size), ==, NULL);
        ub_net_port_state(ub_node_net(p.b->node), p.ends.now, 0, 0xffff);
        e = memory_op(&p, cases[i].opcode, 0, cases[i].off, p.local,
                      cases[i].len, 1);
        put_le32(e + UBQ_SQE_TARGET, 78);
        put_le32(e + UBQ_SQE_TOKEN_VALUE, cases[i].token);
        post_and_run(&p, e, 1);
        ubq_cq_expect(&p.cq_a, cases[i].good ? UBQ_STATUS_OK
                                             : UBQ_STATUS_ABORT);
        g_assert_cmpuint(ub_urma_counter(p.b->urma, UB_URMA_SEGMENT_DENIED) -
                         denied, ==, !cases[i].good);
    }
    pair_stop(&p);
}

static struct {
    uint64_t from, to;
    unsigned n;
} reads;

static void count_reads(End *e, uint64_t addr, uint32_t len, bool write)
{
    reads.n += !write && addr >= reads.from && addr < reads.to;
}

/* What has been read ahead is not read again, its last entry neither. */
static void test_read_once(void)
{
    enum { ENTRIES = 4 };
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    fill(p.a, p.local, 64);
    reads.from = p.qa.sq;
    reads.to = p.qa.sq + ENTRIES * UBQ_BLOCK;
    reads.n = 0;
    p.a->touched = count_reads;
    for (unsigned i = 0; i < ENTRIES; i++) {
        ubq_post(&p.qa, memory_op(&p, UB_TA_WRITE, 0, 64 * i, p.local, 64, 1),
                 1);
    }
    ends_run(&p.ends, SECOND);
    for (unsigned i = 0; i < ENTRIES; i++) {
        ubq_cq_expect(&p.cq_a, UBQ_STATUS_OK);
        check(p.b, p.remote + 64 * i, 64);
    }
    g_assert_cmpuint(reads.n, ==, 1);
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/wrap", test_wrap);
    g_test_add_func("/ub/urma/quiet", test_quiet);
    g_test_add_func("/ub/urma/bells-bound", test_bells_bound);
    g_test_add_func("/ub/urma/read-once", test_read_once);
    g_test_add_func("/ub/urma/turns", test_turns);
    g_test_add_func("/ub/urma/segment-rights", test_segment_rights);
    return g_test_run();
}
