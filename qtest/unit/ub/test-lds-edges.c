/*
 * The window: what lies at the edges of its queues, slots, fences and images.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lds-bed.h"

#define AT (16 * MIB) /* node 1's memory */
#define WRITTEN 0x200004u

static void command(Bed *b, unsigned n, uint64_t q0, uint64_t q1)
{
    put_le64(b->mem + BED_CMDQ + 16 * n, q0);
    put_le64(b->mem + BED_CMDQ + 16 * n + 8, q1);
}

static uint32_t cons(Bed *b)
{
    return bed_get(b, UB_DECODER_CMDQ_CONS) &
           UB_DECODER_CMDQ_CONS__CMDQ_RD_IDX;
}

/* ---- Queues ------------------------------------------------------------------------ */

/* Each entry has its turn, in the order of the queue, and SYNC writes four bytes. */
static void test_entries(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    memset(b->mem + 0x200000, 0x5a, 0x1000);
    for (unsigned i = 0; i < 16; i++) {
        command(b, i, UB_LDS_CMD_SYNC | 1 << UB_LDS_SYNC_HOW_SHIFT |
                      (uint64_t)(0x1000 + i) << 32, 0x200000 + 8 * i);
    }
    bed_set(b, UB_DECODER_CMDQ_PROD, 16);
    bed_run(b, 100);
    g_assert_cmpuint(cons(b), ==, 16);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmphex(get_le64(b->mem + 0x200000 + 8 * i), ==,
                        0x5a5a5a5a00001000 + i);
    }
    bed_free(b);
}

/* The smallest queues have two entries, whatever less is asked for. */
static void test_small(void)
{
    for (unsigned depth = 0; depth <= 1; depth++) {
        Bed *b = bed_new(ROW_BYPASS);

        bed_set(b, UB_DECODER_CMDQ_CFG, 0);
        bed_set(b, UB_DECODER_CMDQ_CFG, depth << 8);
        bed_set(b, UB_DECODER_CMDQ_CFG, depth << 8 | 1);
        bed_set(b, UB_DECODER_EVENTQ_CFG, 0);
        bed_set(b, UB_DECODER_EVENTQ_CFG, depth << 8);
        bed_set(b, UB_DECODER_EVENTQ_CFG, depth << 8 | 1);
        command(b, 0, UB_LDS_CMD_INVALIDATE_ALL, 0);
        command(b, 1, UB_LDS_CMD_INVALIDATE_ALL, 0);
        for (unsigned i = 1; i <= 9; i++) {
            bed_set(b, UB_DECODER_CMDQ_PROD, i & 3);
            bed_run(b, 100);
            g_assert_cmpuint(cons(b), ==, i & 3);
        }
        bed_count(b, UB_LDS_QUEUE_COMMANDS_COUNT, 9);
        for (unsigned i = 0; i < 3; i++) {
            bed_load(b, 0, 8);
        }
        g_assert_cmphex(bed_get(b, UB_DECODER_EVENTQ_PROD), ==,
                        2 | UB_DECODER_EVENTQ_PROD__EVENTQ_OVFL_ERR);
        bed_count(b, UB_LDS_EVENTS_COUNT, 2);
        bed_free(b);
    }
}

/* ---- Slots ------------------------------------------------------------------------- */

/* The control page is no memory of a peer, though the tables say so. */
static void test_control(void)
{
    const uint64_t range = UB_LDS_SLOT_DONE |
                           UB_LDS_EVENT_RANGE << UB_LDS_SLOT_EVENT_SHIFT;
    Bed *b = bed_new(ROW_BYPASS);

    bed_page(b, BED_WINDOW / MIB - 1, PAIR_UBA, ROW_BYPASS + 1);
    g_assert_cmphex(bed_go(b, 0, BED_CONTROL, UB_TA_READ, 8, 0), ==, range);
    g_assert_cmphex(bed_go(b, 0, BED_CONTROL - 8, UB_TA_READ, 8, 0), ==,
                    UB_LDS_SLOT_DONE);
    /* Nor into the next MiB, which leads elsewhere. */
    g_assert_cmphex(bed_go(b, 0, AT + MIB - 1, UB_TA_READ, 2, 0), ==, range);
    bed_free(b);
}

/* What is refused at once is an event of a load or of a store. */
static void test_kinds(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    bed_go(b, 0, 8, UB_TA_READ, 8, 0);
    bed_event_is(b, 0, UB_LDS_EVENT_RANGE, 8, false, 0);
    bed_go(b, 0, 8, UB_TA_WRITE, 8, 0);
    bed_event_is(b, 1, UB_LDS_EVENT_RANGE, 8, true, 0);
    bed_go(b, 0, 8, UB_TA_FETCH_ADD, 8, 0);
    bed_event_is(b, 2, UB_LDS_EVENT_RANGE, 8, true, 0);
    bed_free(b);
}

/* Atomic load with its sub-operations (UB 2.0 table 7-2): smallest and largest. */
static void test_sub_operations(void)
{
    static const struct {
        unsigned sub;
        uint64_t will;
    } all[] = { { 4, 5 }, { 5, -7 }, { 6, -7 }, { 7, 5 } };
    Bed *b = bed_new(ROW_CTP);
    uint8_t *mem = b->p->end[1].mem;

    bed_store(b, bed_slot(0, UB_LDS_SLOT_DATA), 8, -7);
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        put_le64(mem, 5);
        g_assert_cmphex(bed_go(b, 0, AT, UB_TA_ATOMIC_LOAD, 8, all[i].sub), ==,
                        UB_LDS_SLOT_DONE);
        g_assert_cmphex(get_le64(mem), ==, all[i].will);
    }
    bed_free(b);
}

/* Operands are stored without a complaint; who waits for a slot that does nothing has
 * not waited; what failed at the peer has a result of ones. */
static void test_results(void)
{
    Bed *b = bed_new(ROW_CTP);
    UbLdsWait w = { 0 };
    uint64_t value;
    uint8_t *e;

    bed_store(b, bed_slot(2, UB_LDS_SLOT_DATA), 8, 1);
    bed_store(b, bed_slot(2, UB_LDS_SLOT_DATA + 63), 1, 1);
    g_assert_cmpuint(b->guest_errors, ==, 0);
    g_assert_true(ub_lds_load(b->l, b->p->now,
                              bed_slot(2, UB_LDS_SLOT_WAIT), 8, &w, &value));
    g_assert_cmphex(value, ==, 0);
    e = bed_page(b, 16, PAIR_UBA, ROW_CTP + 1);
    put_le64(e + 32, PAIR_TOKEN_ID | 0xbadull << 32);
    g_assert_cmphex(bed_go(b, 2, AT, UB_TA_READ, 64, 0) & UB_LDS_SLOT_DONE, ==,
                    UB_LDS_SLOT_DONE);
    for (unsigned i = 0; i < 64; i += 8) {
        g_assert_cmphex(bed_load(b, bed_slot(2, UB_LDS_SLOT_RESULT + i), 8), ==,
                        UINT64_MAX);
    }
    g_assert_true(ub_lds_load(b->l, b->p->now,
                              bed_slot(2, UB_LDS_SLOT_WAIT), 8, &w, &value));
    bed_free(b);
}

/* ---- Fences and links ---------------------------------------------------------------- */

/* A fence waits for what came before it, and not for what came behind. */
static void test_behind(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 }, later = { 0 };
    uint64_t value;

    b->p->delay = 50000;
    bed_store(b, AT, 8, 1);
    g_assert_false(ub_lds_load(b->l, b->p->now, BED_CONTROL + UB_LDS_FENCE, 8,
                               &w, &value));
    bed_run(b, 10000);
    g_assert_false(w.ended);
    b->p->filter = bed_lose_requests;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 4096, 8, &later, &value));
    bed_run(b, 300000);
    g_assert_true(w.ended);
    g_assert_cmphex(w.value, ==, 0);
    g_assert_false(later.ended);
    bed_free(b);
}

/* The last port of all counts as the first. */
static void test_last_port(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    ub_lds_link(b->l, b->p->now, 0, false);
    bed_run(b, 2 * b->cfg.grace);
    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    bed_count(b, UB_LDS_LINK_COUNT, 1);
    ub_lds_link(b->l, b->p->now, 63, true);
    g_assert_cmphex(bed_load(b, AT, 8), ==, 0);
    bed_count(b, UB_LDS_LINK_COUNT, 1);
    bed_free(b);
}

/* ---- Images ---------------------------------------------------------------------------- */

/* Of a window with as much under way as there may be: it comes whole, or nothing of
 * it does. */
static void test_full(void)
{
    g_autofree uint8_t *data = NULL;
    UbLdsConfig cfg;
    unsigned refused = 0;
    UbLdsState s;
    size_t len;
    Bed *b;

    bed_config(&cfg);
    cfg.loads = cfg.stores = 1;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_CTP);
    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    bed_store(b, AT + 4096, 8, 2);
    bed_store(b, bed_slot(1, UB_LDS_SLOT_ADDR), 8, AT + 8192);
    bed_store(b, bed_slot(1, UB_LDS_SLOT_GO), 8, UB_TA_READ | 8 << 8);
    ub_lds_state(b->l, &s);
    g_assert_cmpuint(s.under_way, ==, 3);
    data = bed_save(b, &len);
    ub_ta_reset(b->p->end[0].ta);
    /* The accesses are at the end. */
    for (size_t at = len - 600; at < len; at++) {
        data[at] ^= 0xff;
        if (bed_restore(b, data, len)) {
            ub_lds_state(b->l, &s);
            g_assert_cmpuint(s.under_way, ==, 0);
            refused++;
        }
        data[at] ^= 0xff;
    }
    g_assert_cmpuint(refused, >, 0);
    g_assert_cmpstr(bed_restore(b, data, len), ==, NULL);
    ub_lds_state(b->l, &s);
    g_assert_cmpuint(s.under_way, ==, 3);
    ub_lds_reset(b->l, b->p->now);
    bed_free(b);
}

/* The same with the stores that were taken without room, as the machine stops, and the
 * line that is open. */
static void test_fullest(void)
{
    g_autofree uint8_t *data = NULL, *more = NULL;
    UbLdsWait w = { 0 };
    UbLdsConfig cfg;
    UbLdsState s;
    size_t len;
    Bed *b;

    bed_config(&cfg);
    cfg.loads = cfg.stores = 1;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_CTP);
    b->p->filter = bed_lose_all;
    bed_store(b, bed_slot(1, UB_LDS_SLOT_ADDR), 8, AT + 8192);
    bed_store(b, bed_slot(1, UB_LDS_SLOT_GO), 8, UB_TA_READ | 8 << 8);
    bed_store(b, AT, 8, 1);
    bed_store(b, AT + 4096, 8, 2);
    g_assert_false(ub_lds_store(b->l, b->p->now, AT + 16384, 8, 3, &w));
    g_assert_true(ub_lds_store_anyway(b->l, b->p->now, &w));
    data = bed_save(b, &len);
    ub_ta_reset(b->p->end[0].ta);
    g_assert_cmpstr(bed_restore(b, data, len), ==, NULL);
    ub_lds_state(b->l, &s);
    g_assert_cmpuint(s.under_way, ==, 4);
    ub_lds_reset(b->l, b->p->now);
    bed_free(b);
    /* One command more. */
    cfg.loads = 2;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_CTP);
    b->p->filter = bed_lose_all;
    for (unsigned i = 0; i < 2; i++) {
        bed_store(b, bed_slot(i, UB_LDS_SLOT_ADDR), 8, AT + 8192);
        bed_store(b, bed_slot(i, UB_LDS_SLOT_GO), 8, UB_TA_READ | 8 << 8);
    }
    bed_store(b, AT, 8, 1);
    bed_store(b, AT + 4096, 8, 2);
    g_assert_false(ub_lds_store(b->l, b->p->now, AT + 16384, 8, 3, &w));
    g_assert_true(ub_lds_store_anyway(b->l, b->p->now, &w));
    more = bed_save(b, &len);
    bed_free(b);
    cfg.loads = 1;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_CTP);
    g_assert_cmpstr(bed_restore(b, more, len), ==,
                    "more accesses under way than there may be");
    bed_free(b);
}

/* An atomic under way is done once, wherever it ends; one that waits for it is the same
 * operation there, with its sub-operation: the greater of two. */
static void test_atomic_moves(void)
{
    Bed *b = bed_new(ROW_CTP);
    uint8_t *mem = b->p->end[1].mem;

    put_le64(mem + 128, 40);
    bed_store(b, bed_slot(3, UB_LDS_SLOT_DATA), 8, 2);
    bed_store(b, bed_slot(3, UB_LDS_SLOT_ADDR), 8, AT + 128);
    bed_store(b, bed_slot(3, UB_LDS_SLOT_GO), 8, UB_TA_FETCH_ADD | 8 << 8);
    bed_store(b, bed_slot(4, UB_LDS_SLOT_DATA), 8, 50);
    bed_store(b, bed_slot(4, UB_LDS_SLOT_ADDR), 8, AT + 128);
    bed_store(b, bed_slot(4, UB_LDS_SLOT_GO), 8,
              UB_TA_ATOMIC_LOAD | 8 << 8 | 6 << 16);
    g_assert_cmpstr(bed_migrate(b), ==, NULL);
    g_assert_cmphex(bed_load(b, bed_slot(3, UB_LDS_SLOT_WAIT), 8), ==,
                    UB_LDS_SLOT_DONE);
    g_assert_cmphex(bed_load(b, bed_slot(3, UB_LDS_SLOT_RESULT), 8), ==, 40);
    g_assert_cmphex(bed_load(b, bed_slot(4, UB_LDS_SLOT_WAIT), 8), ==,
                    UB_LDS_SLOT_DONE);
    g_assert_cmphex(bed_load(b, bed_slot(4, UB_LDS_SLOT_RESULT), 8), ==, 42);
    g_assert_cmphex(get_le64(mem + 128), ==, 50);
    bed_free(b);
}

/* What has moved fails as what it was. */
static void test_moved_fails(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    b->p->filter = bed_lose_all;
    bed_store(b, AT + MIB + 72, 8, 1);
    g_assert_cmpstr(bed_migrate(b), ==, NULL);
    bed_run(b, 2 * BED_TIMEOUT);
    /* Here it ended when the other came. */
    bed_event_is(b, 0, UB_LDS_EVENT_STOPPED, AT + MIB + 72, true, 0);
    bed_event_is(b, 1, UB_LDS_EVENT_TIMEOUT, AT + MIB + 72, true, 0);
    bed_free(b);
}

static uint32_t longest;    /* request, in bytes */

static bool measure(Pair *p, Wire *w)
{
    longest = w->from ? longest : MAX(longest, w->pkt->len);
    return true;
}

/* Words @words of the 64 bytes at @at are stored; the longest packet. */
static uint32_t length_of(Bed *b, uint64_t at, unsigned words)
{
    longest = 0;
    b->p->filter = measure;
    for (unsigned i = 0; i < 8; i++) {
        if (words >> i & 1) {
            bed_store(b, at + 8 * i, 8, i);
        }
    }
    g_assert_cmpuint(bed_fence(b), ==, 0);
    return longest;
}

/* A block that is whole needs no byte enables, from the smallest that there is on, which
 * are one bit a byte; nor does any length that is whole, but over Bypass. */
static void test_whole(void)
{
    Bed *bypass = bed_new(ROW_BYPASS), *ctp = bed_new(ROW_CTP);

    g_assert_cmpuint(length_of(bypass, AT, 0xf7) - length_of(bypass, AT + 64, 0xff), ==,
                     64 / 8);
    g_assert_cmpuint(length_of(bypass, AT, 7), ==, length_of(bypass, AT + 64, 5));
    g_assert_cmpuint(length_of(ctp, AT, 5) - length_of(ctp, AT + 64, 7), ==,
                     64 + 64 / 8 - 24);
    bed_free(bypass);
    bed_free(ctp);
}

/* Who waits is counted, and told when the machine stops; a fence is of no address. */
static void test_stopped(void)
{
    UbLdsWait load = { 0 }, fence = { 0 };
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsState s;
    uint64_t v;

    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 4096, 8, &load, &v));
    g_assert_false(ub_lds_load(b->l, b->p->now, BED_CONTROL + UB_LDS_FENCE, 8, &fence,
                               &v));
    ub_lds_state(b->l, &s);
    g_assert_cmpuint(s.waiting, ==, 2);
    ub_lds_cancel_all(b->l, b->p->now);
    g_assert_true(load.ended && fence.ended);
    bed_event_is(b, 0, UB_LDS_EVENT_STOPPED, AT + 4096, false, 0);
    bed_event_is(b, 1, UB_LDS_EVENT_STOPPED, 0, false, 0);
    bed_free(b);
}

/* The shortest time that an access may have. */
static void test_least_time(void)
{
    UbLdsConfig cfg;

    bed_config(&cfg);
    cfg.timeout = 1;
    cfg.grace = 0;
    g_assert_null(ub_lds_config_check(&cfg));
}

/* Another window takes it: with what is under way, and what is to be told by the next
 * fence. */
static void test_other(void)
{
    for (unsigned i = 0; i < 2; i++) {
        Bed *from = bed_new(ROW_BYPASS), *to = bed_new(ROW_BYPASS);
        g_autofree uint8_t *data = NULL;
        UbLdsState s;
        size_t len;

        bed_store(from, MIB, 8, 1);         /* leads nowhere */
        bed_store(from, 2 * MIB, 8, 1);
        from->p->filter = bed_lose_all;
        if (i) {
            bed_store(from, AT, 8, 1);
            bed_store(from, AT + 4096, 8, 1);
        }
        data = bed_save(from, &len);
        g_assert_cmpstr(bed_restore(to, data, len), ==, NULL);
        ub_lds_state(to->l, &s);
        g_assert_cmpuint(s.under_way, ==, 2 * i);
        if (i) {
            ub_lds_reset(to->l, to->p->now);
        }
        /* A reset forgets it. */
        g_assert_cmpuint(bed_fence(to), ==, i ? 0 : 2);
        bed_free(to);
        bed_free(from);
    }
}

/* ---- Registers ------------------------------------------------------------------------- */

/* A base between the bytes of a line: accesses that lie across are refused, the others
 * are where it says. */
static void test_odd_base(void)
{
    Bed *b = bed_new(ROW_CTP);
    uint8_t *mem = b->p->end[1].mem;

    memset(mem, 0x5a, 4096);
    bed_set64(b, UB_DECODER_MMIO_BA, BED_BASE - 4);
    bed_store(b, AT + 1016, 8, UINT64_MAX);
    g_assert_cmphex(bed_load(b, AT + MIB - 8, 8), ==, UINT64_MAX);
    bed_count(b, UB_LDS_RANGE_COUNT, 2);
    bed_event_is(b, 0, UB_LDS_EVENT_RANGE, AT + 1020, true, 0);
    bed_store(b, AT + 1016, 4, 0x01020304);
    g_assert_cmphex(bed_load(b, AT + 1012, 4), ==, 0x5a5a5a5a);
    g_assert_cmphex(bed_load(b, AT + 1016, 4), ==, 0x01020304);
    g_assert_cmphex(get_le64(mem + 1016), ==, 0x010203045a5a5a5aull);
    g_assert_cmphex(mem[1024], ==, 0x5a);
    /* Every base, with every size: never beyond a line. */
    for (unsigned odd = 1; odd < 8; odd++) {
        bed_set64(b, UB_DECODER_MMIO_BA, BED_BASE - odd);
        for (unsigned len = 1; len <= 8; len *= 2) {
            bed_store(b, AT + 1024 - len, len, 0);
        }
    }
    /* 1 byte always, 2 by even ones, 4 by that of 4. */
    bed_count(b, UB_LDS_RANGE_COUNT, 2 + 4 + 6 + 7);
    g_assert_cmpuint(bed_fence(b), ==, 1 + 4 + 6 + 7);
    bed_free(b);
}

/* Either half of the table's address is another table. */
static void test_table(void)
{
    Bed *b = bed_new(ROW_CTP);

    for (unsigned half = 0; half < 3; half++) {
        uint64_t misses = ub_lds_counter(b->l, UB_LDS_MISSES_COUNT);

        bed_load(b, AT, 8);
        bed_count(b, UB_LDS_MISSES_COUNT, misses + (half < 1));
        misses = ub_lds_counter(b->l, UB_LDS_MISSES_COUNT);
        if (half < 2) {
            uint32_t was = bed_get(b, UB_DECODER_MATT_BA + half);

            bed_set(b, UB_DECODER_MATT_BA + half, was ^ 0x8000);
            bed_load(b, AT, 8);
            bed_count(b, UB_LDS_MISSES_COUNT, misses + 1);
            bed_set(b, UB_DECODER_MATT_BA + half, was);
            bed_load(b, AT, 8);
            bed_count(b, UB_LDS_MISSES_COUNT, misses + 2);
        }
    }
    bed_free(b);
}

/* What is counted; a store asks for a turn when its neighbours' time is over. */
static void test_counts(void)
{
    Bed *b = bed_new(ROW_CTP);

    for (unsigned i = 0; i < 3; i++) {
        bed_load(b, AT + 8 * i, 8);
    }
    bed_count(b, UB_LDS_LOADS_COUNT, 3);
    bed_fence(b);
    bed_store(b, BED_CONTROL + UB_LDS_FENCE, 8, 0);
    bed_count(b, UB_LDS_FENCES_COUNT, 2);
    bed_count(b, UB_LDS_LOADS_COUNT, 3);
    bed_run(b, 1000000);
    g_assert_false(b->kicked);
    bed_store(b, AT, 8, 1);
    bed_count(b, UB_LDS_STORES_COUNT, 1);
    g_assert_true(b->kicked);
    bed_run(b, b->cfg.combine + 1);
    bed_count(b, UB_LDS_WRITES_COUNT, 1);
    bed_free(b);
}

/* Of an entry whose TokenValue does not count none is sent, though it has one. */
static void test_no_token(void)
{
    Bed *b = bed_new(ROW_CTP);
    uint8_t *e = bed_page(b, 16, PAIR_UBA, ROW_CTP + 1);

    put_le64(e, UB_LDS_TYPE_PAGE | PAIR_UBA);
    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    bed_event_is(b, 0, UB_LDS_EVENT_REMOTE, AT, false, UB_TAS_ABORT);
    bed_count(b, UB_LDS_HITS_COUNT, 0);
    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    bed_count(b, UB_LDS_HITS_COUNT, 1);
    bed_free(b);
}

/* A hole in the last eight bytes of what is stored stays one. */
static void test_last_hole(void)
{
    Bed *b = bed_new(ROW_CTP);
    uint8_t *mem = b->p->end[1].mem;

    memset(mem, 0xee, 128);
    for (unsigned at = 0; at < 64; at += 8) {
        bed_store(b, AT + at, 8, 0);
    }
    bed_store(b, AT + 64, 2, 0);
    bed_store(b, AT + 68, 4, 0);
    g_assert_cmpuint(bed_fence(b), ==, 0);
    for (unsigned i = 0; i < 128; i++) {
        g_assert_cmphex(mem[i], ==, i == 66 || i == 67 || i >= 72 ? 0xee : 0);
    }
    bed_free(b);
}

/* A hole between two stores, of which the first begins within a word. */
static void test_word_hole(void)
{
    Bed *b = bed_new(ROW_CTP);
    uint8_t *mem = b->p->end[1].mem;

    memset(mem, 0xee, 64);
    bed_store(b, AT + 4, 4, 0);
    bed_store(b, AT + 16, 8, 0);
    g_assert_cmpuint(bed_fence(b), ==, 0);
    for (unsigned i = 0; i < 64; i++) {
        g_assert_cmphex(mem[i], ==, i < 4 || (i >= 8 && i < 16) || i >= 24 ? 0xee : 0);
    }
    bed_free(b);
}

/* Who has waited for a fence waits for a load then, and can give that up. */
static void test_waits_again(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 };
    UbLdsState s;
    uint64_t v;

    bed_store(b, AT, 8, 1);
    g_assert_false(ub_lds_load(b->l, b->p->now, BED_CONTROL + UB_LDS_FENCE, 8, &w, &v));
    bed_wait(b, &w);
    b->p->filter = bed_lose_all;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 4096, 8, &w, &v));
    ub_lds_cancel(b->l, b->p->now, &w);
    g_assert_true(w.ended);
    bed_event_is(b, 0, UB_LDS_EVENT_STOPPED, AT + 4096, false, 0);
    ub_lds_state(b->l, &s);
    g_assert_cmpuint(s.under_way, ==, 0);
    bed_free(b);
}

/* Registers of an image are not written one by one: a vector that there is not ends it. */
static void test_vector(void)
{
    const uint32_t dw = UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP) + UB_LDS_VD_VECTOR;
    Bed *b = bed_new(ROW_BYPASS);
    uint32_t *words = ub_space_state(b->space), n = 0;

    ub_space_write(b->space, b->p->now, dw, 1023, 15);
    g_assert_null(bed_migrate(b));
    for (unsigned i = 0; i < ub_space_state_words(b->space); i++) {
        if (words[i] == 1023) {
            words[i] = 1024;
            n += ub_space_read(b->space, dw) == 1024;
        }
    }
    g_assert_cmpuint(n, >=, 1);
    g_assert_nonnull(bed_migrate(b));
    bed_free(b);
}

/* The device is taken away while stores and a command are under way: whoever waits is
 * told, and memory, interrupts and turns, which may be gone, are left alone. */
static void test_free(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w[2] = { 0 };
    uint64_t value;

    b->p->filter = bed_lose_all;
    bed_store(b, AT + 4096, 8, 1);
    bed_store(b, bed_slot(0, UB_LDS_SLOT_ADDR), 8, AT);
    bed_store(b, bed_slot(0, UB_LDS_SLOT_GO), 8, UB_TA_READ | 8 << 8);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w[0], &value));
    g_assert_false(ub_lds_load(b->l, b->p->now, BED_CONTROL + UB_LDS_FENCE, 8,
                               &w[1], &value));
    bed_run(b, 1000);
    bed_store(b, AT + 8192, 8, 1);
    b->p->end[0].guest = NULL;
    b->kicked = false;
    ub_lds_free(b->l);
    b->l = NULL;
    for (unsigned i = 0; i < 2; i++) {
        g_assert_true(w[i].ended);
        g_assert_cmphex(w[i].value, ==, UINT64_MAX);
    }
    g_assert_cmpuint(b->ended, ==, 2);
    g_assert_false(b->kicked);
    g_assert_cmpuint(b->interrupts, ==, 0);
    g_assert_cmphex(bed_event(b, 0, 0), ==, 0);
    bed_free(b);
}

/* What a driver is told of sizes: of the window in steps from 128 GiB on, of queues. */
static void test_sizes(void)
{
    static const struct {
        uint64_t window;
        unsigned code;
    } sizes[] = {
        { BED_WINDOW, 0 }, { 128ull << 30, 0 }, { 256ull << 30, 1 },
        { 16ull << 40, 7 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        UbLdsConfig cfg;
        uint32_t told;
        Bed *b;

        bed_config(&cfg);
        cfg.window = sizes[i].window;
        b = bed_new_with(&cfg, pair_new(2, NULL), ROW_BYPASS);
        for (unsigned half = 0; half < 2; half++) {
            g_assert_cmphex(ub_space_read(b->space, UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP) +
                                          UB_LDS_VD_WINDOW + half), ==,
                            (uint32_t)(cfg.window >> 32 * half));
        }
        told = bed_get(b, UB_DECODER_DECODER);
        g_assert_cmpuint(UB_SPACE_GET(UB_DECODER_DECODER__MMIO_SIZE, told), ==,
                         sizes[i].code);
        g_assert_cmpuint(UB_SPACE_GET(UB_DECODER_DECODER__CMDQ_DEPTH, told), ==,
                         UB_LDS_QUEUE_LOG2_MAX);
        g_assert_cmpuint(UB_SPACE_GET(UB_DECODER_DECODER__EVENTQ_DEPTH, told),
                         ==, UB_LDS_QUEUE_LOG2_MAX);
        bed_free(b);
    }
}

/* ---- Images that were tampered with ------------------------------------------------------ */

/* Where an image has what is under way to a UBA, by the distance from that. */
enum {
    OP_ID = -25,
    OP_DEST = OP_ID + 8,
    OP_OPCODE = OP_DEST + 4,
    OP_LEN = 8,
    OP_POSTED = OP_LEN + 4 + UB_TA_BE_MAX / 8 + 1,
    OP_SERIAL = OP_POSTED + 3 + 8,
};

static uint8_t *op_in(uint8_t *data, size_t len, uint64_t uba)
{
    for (size_t at = 0; at + 8 <= len; at++) {
        if (get_be64(data + at) == uba) {
            return data + at;
        }
    }
    g_assert_not_reached();
}

/* What the window says of the image, and then of what came with it. */
static const char *taken(Bed *b, uint8_t *data, size_t len)
{
    const char *why;

    ub_ta_reset(b->p->end[0].ta);
    why = bed_restore(b, data, len);
    why = why ? why : ub_lds_loaded(b->l);
    ub_lds_reset(b->l, b->p->now);
    return why;
}

/* An access is younger than the one before it, older than the next that will be made, and
 * goes by a row that there is; the operands of a command are as long as what there is of
 * them. */
static void test_forged(void)
{
    const uint64_t offset[] = { 4096, 0xb1a00, 0x1a2b00 };
    Bed *b = bed_new(ROW_CTP);
    g_autofree uint8_t *data = NULL;
    uint8_t *op[3];
    uint64_t serial;
    uint32_t row;
    size_t len;

    b->p->filter = bed_lose_all;
    for (unsigned i = 0; i < 2; i++) {
        bed_store(b, AT + offset[i], 8, 1);
        bed_store(b, BED_CONTROL + UB_LDS_FENCE, 8, 0);
    }
    bed_store(b, bed_slot(1, UB_LDS_SLOT_ADDR), 8, AT + offset[2]);
    bed_store(b, bed_slot(1, UB_LDS_SLOT_GO), 8, UB_TA_FETCH_ADD | 8 << 8);
    data = bed_save(b, &len);
    for (unsigned i = 0; i < 3; i++) {
        op[i] = op_in(data, len, PAIR_UBA + offset[i]);
        g_assert_cmpuint(op[i][OP_POSTED], ==, i == 0);
    }
    serial = get_be64(op[2] + OP_SERIAL);
    g_assert_cmpuint(get_be64(op[2] + OP_ID), ==, serial);
    g_assert_cmpuint(get_be64(op[1] + OP_SERIAL), ==, serial - 1);
    /* As it is, it is but what the transaction layer does not have any more. */
    g_assert_cmpstr(taken(b, data, len), ==,
                    "access that the transaction layer does not know");
    for (int more = -1; more <= 1; more += 2) {
        put_be64(op[2] + OP_ID, serial + more);
        put_be64(op[2] + OP_SERIAL, serial + more);
        g_assert_cmpstr(taken(b, data, len), ==, "access that cannot be");
    }
    put_be64(op[2] + OP_ID, serial);
    put_be64(op[2] + OP_SERIAL, serial);
    g_assert_cmpuint(get_be32(op[2] + OP_LEN), ==, 8);
    /* So that it is not the first that is wrong. */
    op[0][OP_POSTED] = 0;
    row = get_be32(op[2] + OP_DEST);
    g_assert_cmpuint(row, ==, ROW_CTP + 1);
    put_be32(op[2] + OP_DEST, UB_TA_DESTS);
    g_assert_cmpstr(taken(b, data, len), ==,
                    "access to a destination that does not exist");
    put_be32(op[2] + OP_DEST, row);
    op[2][OP_OPCODE] = UB_TA_SEND;
    g_assert_cmpstr(taken(b, data, len), ==,
                    "access of a kind or length that does not exist");
    op[2][OP_OPCODE] = UB_TA_FETCH_ADD;
    for (unsigned more = 9; more <= 16; more++) {
        put_be32(op[2] + OP_LEN, more);
        g_assert_cmpstr(taken(b, data, len), ==,
                        "access of a kind or length that does not exist");
    }
    bed_free(b);
}

/* The transaction layer has the bytes of an access, and none beyond them. */
static void test_bytes(void)
{
    Bed *b = bed_new(ROW_CTP);
    g_autofree uint8_t *data = NULL;
    UbTaRequest *req;
    uint8_t buf[32] = { 0 };
    size_t len;

    b->p->filter = bed_lose_all;
    bed_store(b, AT + 4096, 8, 0x1122334455667788);
    data = bed_save(b, &len);
    ub_ta_reset(b->p->end[0].ta);
    g_assert_cmpstr(bed_restore(b, data, len), ==, NULL);
    req = ub_lds_adopt(b->l, get_be64(op_in(data, len, PAIR_UBA + 4096) + OP_ID));
    g_assert_nonnull(req);
    for (unsigned off = 0; off < 10; off++) {
        for (unsigned n = 0; n < 20; n++) {
            UbTaData right = off + n <= 8 ? UB_TA_DATA_OK : UB_TA_DATA_FAULT;

            memset(buf, 0, sizeof(buf));
            g_assert_cmpint(ub_lds_gather(b->l, req, off, buf, n), ==, right);
            if (right == UB_TA_DATA_OK && n == 4) {
                g_assert_cmphex(get_le64(buf), ==,
                                0x1122334455667788 >> 8 * off & 0xffffffff);
            }
            g_assert_cmpint(ub_lds_scatter(b->l, req, off, buf, n), ==, right);
        }
    }
    ub_lds_reset(b->l, b->p->now);
    bed_free(b);
}

/* What a slot will be about has moved before it is begun, and what it was about behind
 * its end. */
static void test_slot_moves(void)
{
    Bed *b = bed_new(ROW_CTP);
    uint8_t *mem = b->p->end[1].mem;

    put_le64(mem + 0x3000, 0x1234567);
    bed_store(b, bed_slot(7, UB_LDS_SLOT_DATA), 8, 0x1234567);
    bed_store(b, bed_slot(7, UB_LDS_SLOT_DATA2), 8, 0x7654321);
    g_assert_cmphex(bed_load(b, bed_slot(7, UB_LDS_SLOT_DATA), 8), ==, 0x1234567);
    g_assert_cmphex(bed_load(b, bed_slot(7, UB_LDS_SLOT_DATA2), 8), ==, 0x7654321);
    bed_store(b, bed_slot(7, UB_LDS_SLOT_ADDR), 8, AT + 0x3000);
    g_assert_cmpstr(bed_migrate(b), ==, NULL);
    g_assert_cmphex(bed_load(b, bed_slot(7, UB_LDS_SLOT_ADDR), 8), ==, AT + 0x3000);
    bed_store(b, bed_slot(7, UB_LDS_SLOT_GO), 8, UB_TA_ATOMIC_CAS | 8 << 8);
    g_assert_cmphex(bed_load(b, bed_slot(7, UB_LDS_SLOT_WAIT), 8), ==,
                    UB_LDS_SLOT_DONE);
    g_assert_cmphex(get_le64(mem + 0x3000), ==, 0x7654321);
    g_assert_cmpstr(bed_migrate(b), ==, NULL);
    g_assert_cmphex(bed_load(b, bed_slot(7, UB_LDS_SLOT_STATUS), 8), ==,
                    UB_LDS_SLOT_DONE);
    g_assert_cmphex(bed_load(b, bed_slot(7, UB_LDS_SLOT_RESULT), 8), ==, 0x1234567);
    bed_free(b);
}

/* ---- Others ------------------------------------------------------------------------------ */

/* A table begins at any 64 bytes: what software writes below is not looked at.  Queues that
 * are off are let alone; a fence is nobody's error. */
static void test_off(void)
{
    Bed *b = bed_new(ROW_CTP);

    put_le64(b->p->end[1].mem, 0x77);
    bed_set64(b, UB_DECODER_MATT_BA, BED_L0 | 63);
    g_assert_cmphex(bed_load(b, AT, 8), ==, 0x77);
    bed_set(b, UB_DECODER_CMDQ_CFG, 4 << 8);
    command(b, 0, UB_LDS_CMD_INVALIDATE_ALL, 0);
    bed_set(b, UB_DECODER_CMDQ_PROD, 1);
    bed_run(b, 100);
    g_assert_cmpuint(cons(b), ==, 0);
    bed_set(b, UB_DECODER_CMDQ_CFG, 4 << 8 | 1);
    bed_run(b, 100);
    g_assert_cmpuint(cons(b), ==, 1);
    bed_store(b, BED_CONTROL + UB_LDS_FENCE, 8, 0);
    g_assert_cmpuint(b->guest_errors, ==, 0);
    bed_free(b);
}

/* More commands than a turn does: the next turn comes of itself. */
static void test_many_commands(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    bed_set(b, UB_DECODER_CMDQ_CFG, 0);
    bed_set(b, UB_DECODER_CMDQ_CFG, 8 << 8);
    bed_set(b, UB_DECODER_CMDQ_CFG, 8 << 8 | 1);
    for (unsigned i = 0; i < 200; i++) {
        command(b, i, UB_LDS_CMD_INVALIDATE_ALL, 0);
    }
    bed_set(b, UB_DECODER_CMDQ_PROD, 200);
    bed_run(b, 100);
    g_assert_cmpuint(cons(b), ==, 200);
    bed_free(b);
}

/* What is not done is all that was made, and what is gathered. */
static void test_pending(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    b->p->filter = bed_lose_all;
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpuint(bed_load(b, BED_CONTROL + UB_LDS_PENDING, 8), ==, i);
        bed_store(b, AT + 4096 * i, 8, 1);
    }
    bed_run(b, 2 * BED_TIMEOUT);
    g_assert_cmpuint(bed_load(b, BED_CONTROL + UB_LDS_PENDING, 8), ==, 0);
    bed_free(b);
}

/* What is there unless it is asked for otherwise (docs/specs/ub-window.rst). */
static void test_defaults(void)
{
    UbLdsConfig cfg;

    ub_lds_config_init(&cfg);
    g_assert_cmpuint(cfg.window, ==, 1ull << 30);
    g_assert_cmpint(cfg.combine, ==, 50 * 1000);
    g_assert_cmpint(cfg.timeout, ==, 10 * INT64_C(1000000000));
    g_assert_cmpint(cfg.grace, ==, INT64_C(1000000000));
    g_assert_cmpuint(cfg.stores, ==, 128);
    g_assert_cmpuint(cfg.loads, ==, 512);
    g_assert_false(cfg.managed || cfg.tee || cfg.uba_literal);
    g_assert_null(ub_lds_config_check(&cfg));
}

/* A reset forgets what tables said, of the first MiB as of all others. */
static void test_reset(void)
{
    static const unsigned mibs[] = { 0, 1, 40 };
    Bed *b = bed_new(ROW_CTP);
    uint8_t *mem = b->p->end[1].mem;

    put_le64(mem + MIB, 0x77);
    for (unsigned i = 0; i < G_N_ELEMENTS(mibs); i++) {
        bed_page(b, mibs[i], PAIR_UBA, ROW_CTP + 1);
        g_assert_cmphex(bed_load(b, mibs[i] * MIB, 8), ==, 0);
        bed_page(b, mibs[i], PAIR_UBA + MIB, ROW_CTP + 1);
        g_assert_cmphex(bed_load(b, mibs[i] * MIB, 8), ==, 0);
        ub_lds_reset(b->l, b->p->now);
        g_assert_cmphex(bed_load(b, mibs[i] * MIB, 8), ==, 0x77);
    }
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lds/edges/queue/entries", test_entries);
    g_test_add_func("/lds/edges/queue/small", test_small);
    g_test_add_func("/lds/edges/slot/control", test_control);
    g_test_add_func("/lds/edges/slot/kinds", test_kinds);
    g_test_add_func("/lds/edges/slot/sub-operations", test_sub_operations);
    g_test_add_func("/lds/edges/slot/results", test_results);
    g_test_add_func("/lds/edges/fence/behind", test_behind);
    g_test_add_func("/lds/edges/last-port", test_last_port);
    g_test_add_func("/lds/edges/image/full", test_full);
    g_test_add_func("/lds/edges/image/other", test_other);
    g_test_add_func("/lds/edges/table", test_table);
    g_test_add_func("/lds/edges/counts", test_counts);
    g_test_add_func("/lds/edges/odd-base", test_odd_base);
    g_test_add_func("/lds/edges/free", test_free);
    g_test_add_func("/lds/edges/image/vector", test_vector);
    g_test_add_func("/lds/edges/image/fullest", test_fullest);
    g_test_add_func("/lds/edges/image/atomic", test_atomic_moves);
    g_test_add_func("/lds/edges/no-token", test_no_token);
    g_test_add_func("/lds/edges/last-hole", test_last_hole);
    g_test_add_func("/lds/edges/word-hole", test_word_hole);
    g_test_add_func("/lds/edges/waits-again", test_waits_again);
    g_test_add_func("/lds/edges/sizes", test_sizes);
    g_test_add_func("/lds/edges/image/fails", test_moved_fails);
    g_test_add_func("/lds/edges/whole", test_whole);
    g_test_add_func("/lds/edges/stopped", test_stopped);
    g_test_add_func("/lds/edges/least-time", test_least_time);
    g_test_add_func("/lds/edges/image/forged", test_forged);
    g_test_add_func("/lds/edges/image/bytes", test_bytes);
    g_test_add_func("/lds/edges/image/slot", test_slot_moves);
    g_test_add_func("/lds/edges/queue/many", test_many_commands);
    g_test_add_func("/lds/edges/off", test_off);
    g_test_add_func("/lds/edges/pending", test_pending);
    g_test_add_func("/lds/edges/defaults", test_defaults);
    g_test_add_func("/lds/edges/reset", test_reset);
    return g_test_run();
}
