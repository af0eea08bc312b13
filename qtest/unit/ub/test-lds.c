/*
 * Load and store through the window, in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lds-bed.h"

#define AT (16 * MIB) /* node 1's memory */

static const uint32_t rows[] = { ROW_BYPASS, ROW_CTP, ROW_CTP7, ROW_RTP };

/* ---- Decoder --------------------------------------------------------------------- */

static void route_is(Bed *b, uint64_t pa, unsigned event, uint64_t uba)
{
    UbLdsRoute r;

    ub_lds_set_base(b->l, BED_BASE + (pa & ~(MIB - 1)));
    ub_lds_route(b->l, pa & (MIB - 1), &r);
    g_assert_cmphex(r.event, ==, event);
    if (event == UB_LDS_EVENT_RANGE) {
        g_assert_cmphex(r.uba, ==, 0);
    }
    if (!event) {
        g_assert_cmphex(r.uba, ==, uba);
        g_assert_cmpuint(r.dest, ==, 0x54321);
        g_assert_cmphex(r.token_id, ==, 0xabcde);
    }
}

/* An L0 PTRE for MiBs @from to @last of bulk entry @n. */
static uint8_t *put_range(Bed *b, unsigned n, uint32_t from, uint32_t last,
                          uint64_t uba)
{
    uint8_t *e = bed_bulk(b, n);

    put_le64(e, UB_LDS_TYPE_RANGE | UB_LDS_TOKEN_VLD | BED_L1);
    put_le64(e + 8, from | last << UB_LDS_MEM_LIMIT_SHIFT);
    put_le64(e + 16, uba);
    put_way(e + 24, 0x54321, 1);
    put_le64(e + 48, 0xabcdeull | 0x11223344ull << 32);
    return e;
}

static Bed *decoder_bed(bool literal)
{
    UbLdsConfig cfg;

    bed_config(&cfg);
    cfg.uba_literal = literal;
    return bed_new_with(&cfg, pair_new(2, NULL), ROW_BYPASS);
}

/* PA 5a512345678h: bulk entry B4h, PTE 5, range index 5123h, page index 123h. */
static void test_answers(void)
{
    const uint64_t pa = 0x5a512345678;
    Bed *b = decoder_bed(true);
    uint8_t *e = bed_page(b, 0x123, 0x100000000, 0x54321);

    put_le64(e + 32, 0xabcde);
    put_le64(bed_bulk(b, 0xb4) + 8 * 5, UB_LDS_TYPE_TABLE | BED_L1);
    route_is(b, pa, 0, 0x612345678);
    put_range(b, 0xb4, 0x5123, 0x5123, 0x100000000);
    bed_set(b, UB_DECODER_CTRL, 1);
    route_is(b, pa, 0, 0x612345678);
    bed_free(b);
    b = decoder_bed(false);
    e = bed_page(b, 0x123, 0x7654321000, 0x54321);
    put_le64(e + 32, 0xabcde);
    put_le64(bed_bulk(b, 0xb4) + 8 * 5, UB_LDS_TYPE_TABLE | BED_L1);
    route_is(b, pa, 0, 0x7654321000 + 0x45678);
    bed_free(b);
}

static void test_ranges(void)
{
    Bed *b = decoder_bed(false);
    const uint64_t bulk = 7ull << 35;
    uint8_t *e;

    put_range(b, 7, 0x10, 0x12, 0xa000);
    route_is(b, bulk + 0x10 * MIB, 0, 0xa000);
    route_is(b, bulk + 0x12 * MIB + 0xfffff, 0, 0xa000 + 3 * MIB - 1);
    /* Beside it, the table of 32768 entries. */
    route_is(b, bulk + 0xf * MIB, UB_LDS_EVENT_RANGE, 0);
    e = bed_page(b, 0x13, 0xb000, 0x54321);
    put_le64(e + 32, 0xabcde);
    route_is(b, bulk + 0x13 * MIB + 4, 0, 0xb004);
    e = bed_page(b, 0x7fff, 0xc000, 0x54321);
    put_le64(e + 32, 0xabcde);
    route_is(b, bulk + 0x7fff * MIB + 8, 0, 0xc008);
    /* Without a table there is nothing. */
    e = put_range(b, 7, 0x10, 0x12, 0xa000);
    put_le64(e, UB_LDS_TYPE_RANGE);
    bed_set(b, UB_DECODER_CTRL, 1);
    route_is(b, bulk + 0x13 * MIB, UB_LDS_EVENT_RANGE, 0);
    /* Bounds in the wrong order hold nothing. */
    put_range(b, 7, 0x32, 0x30, 0xa000);
    bed_set(b, UB_DECODER_CTRL, 1);
    route_is(b, bulk + 0x31 * MIB, UB_LDS_EVENT_RANGE, 0);
    bed_free(b);
}

static void test_entries(void)
{
    static const struct {
        unsigned word;
        uint64_t clear, set;
        unsigned event;
    } bad[] = {
        { 0, 3, UB_LDS_TYPE_INVALID, UB_LDS_EVENT_RANGE },
        { 0, 3, UB_LDS_TYPE_TABLE, UB_LDS_EVENT_ENTRY },
        { 0, 3, UB_LDS_TYPE_RANGE, UB_LDS_EVENT_ENTRY },
        { 1, 0, 3ull << UB_LDS_ORDER_SHIFT, UB_LDS_EVENT_ENTRY },
        { 1, 0, 2ull << UB_LDS_EE_SHIFT, UB_LDS_EVENT_ENTRY },
        { 1, 0, 3ull << UB_LDS_EE_SHIFT, UB_LDS_EVENT_ENTRY },
        { 1, 0, 1ull << UB_LDS_EE_SHIFT, 0 },
        { 1, 0, 2ull << UB_LDS_ORDER_SHIFT, 0 },
    };
    Bed *b = decoder_bed(false);

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        uint8_t *e = bed_page(b, 3, 0x5000, 0x54321);
        uint8_t *q = e + 8 * bad[i].word;

        put_le64(e + 32, 0xabcde);
        put_le64(q, (get_le64(q) & ~bad[i].clear) | bad[i].set);
        bed_set(b, UB_DECODER_CTRL, 1);
        route_is(b, 3 * MIB, bad[i].event, 0x5000);
    }
    /* L0: types that are not there, tables that are not in memory. */
    put_le64(bed_bulk(b, 0), UB_LDS_TYPE_PAGE | BED_L1);
    bed_set(b, UB_DECODER_CTRL, 1);
    route_is(b, 3 * MIB, UB_LDS_EVENT_ENTRY, 0);
    put_le64(bed_bulk(b, 0), 0);
    route_is(b, 3 * MIB, UB_LDS_EVENT_RANGE, 0);
    put_le64(bed_bulk(b, 0), UB_LDS_TYPE_TABLE | 0x900000);
    route_is(b, 3 * MIB, UB_LDS_EVENT_TABLE, 0);
    put_le64(bed_bulk(b, 0), UB_LDS_TYPE_TABLE);
    route_is(b, 3 * MIB, UB_LDS_EVENT_RANGE, 0);
    bed_set64(b, UB_DECODER_MATT_BA, 0xffffffffffffffff);
    route_is(b, 3 * MIB, UB_LDS_EVENT_TABLE, 0);
    bed_set64(b, UB_DECODER_MATT_BA, BED_L0);
    /* Beyond 44 bits; below the base. */
    route_is(b, 1ull << 44, UB_LDS_EVENT_RANGE, 0);
    bed_set64(b, UB_DECODER_MMIO_BA, BED_BASE + MIB);
    ub_lds_set_base(b->l, BED_BASE);
    route_is(b, 0, UB_LDS_EVENT_RANGE, 0);
    bed_set64(b, UB_DECODER_MMIO_BA, BED_BASE);
    bed_paged(b);
    bed_page(b, 3, 0x5000, 1);
    bed_set(b, UB_DECODER_CTRL, 0);
    route_is(b, 3 * MIB, UB_LDS_EVENT_RANGE, 0);
    bed_free(b);
}

static void test_tee(void)
{
    UbLdsConfig cfg;
    uint8_t *e;
    Bed *b;

    bed_config(&cfg);
    cfg.tee = true;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_BYPASS);
    e = bed_page(b, 16, PAIR_UBA, ROW_BYPASS + 1);
    put_le64(e + 8, get_le64(e + 8) | 3ull << UB_LDS_EE_SHIFT);
    b->p->tracing = true;
    bed_load(b, AT, 8);
    g_assert_nonnull(strstr(g_ptr_array_index(b->p->end[0].sent, 0), "ee=3"));
    put_le64(e + 8, get_le64(e + 8) & ~(1ull << UB_LDS_EE_SHIFT));
    bed_set(b, UB_DECODER_CTRL, 1);
    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    bed_count(b, UB_LDS_ENTRY_COUNT, 1);
    bed_free(b);
}

/* ---- Loads and stores -------------------------------------------------------------- */

static void test_sizes(void)
{
    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        Bed *b = bed_new(rows[r]);
        uint8_t *mem = b->p->end[1].mem;

        for (unsigned len = 1; len <= 8; len *= 2) {
            for (unsigned at = 0; at < 72; at += len) {
                uint64_t value = core_random(&b->p->rng);
                uint64_t old;

                memset(mem + 4096, 0x5a, 96);
                bed_store(b, AT + 4096 + at, len, value);
                old = bed_load(b, AT + 4096 + at, len);
                g_assert_cmphex(old, ==, value & bed_mask(len));
                for (unsigned i = 0; i < 96; i++) {
                    uint8_t want = i >= at && i < at + len
                                   ? value >> 8 * (i - at) : 0x5a;

                    g_assert_cmphex(mem[4096 + i], ==, want);
                }
            }
        }
        g_assert_cmpuint(bed_fence(b), ==, 0);
        pair_idle(b->p);
        bed_free(b);
    }
}

static void test_unaligned(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    g_assert_cmphex(bed_load(b, AT + 1, 8), ==, UINT64_MAX);
    g_assert_cmphex(bed_load(b, AT, 3), ==, 0xffffff);
    g_assert_cmphex(bed_load(b, BED_WINDOW, 8), ==, UINT64_MAX);
    bed_store(b, AT + 2, 4, 1);
    bed_store(b, AT, 0, 1);
    bed_count(b, UB_LDS_RANGE_COUNT, 5);
    bed_free(b);
}

/* ---- Combining ---------------------------------------------------------------------- */

/* Headers of what node 0 sent. */
static const char *sent(Bed *b, unsigned n)
{
    g_assert_cmpuint(n, <, b->p->end[0].sent->len);
    return g_ptr_array_index(b->p->end[0].sent, n);
}

static unsigned sent_count(Bed *b)
{
    return b->p->end[0].sent->len;
}

static void test_combine(void)
{
    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        Bed *b = bed_new(rows[r]);
        uint8_t *mem = b->p->end[1].mem;

        b->p->tracing = true;
        for (unsigned i = 0; i < 128; i++) {
            bed_store(b, AT + 8192 + 8 * i, 8, i * 0x0101010101010101ull);
        }
        bed_count(b, UB_LDS_WRITES_COUNT, 1);
        bed_count(b, UB_LDS_COMBINED_COUNT, 127);
        bed_run(b, 100000);
        g_assert_cmpuint(sent_count(b), ==, 1);
        g_assert_nonnull(strstr(sent(b, 0), "Write "));
        for (unsigned i = 0; i < 1024; i++) {
            g_assert_cmphex(mem[8192 + i], ==, i / 8);
        }
        bed_free(b);
    }
}

/* Holes keep what is there; the block is the smallest that holds all. */
static void test_holes(void)
{
    Bed *b = bed_new(ROW_CTP);
    uint8_t *mem = b->p->end[1].mem;

    memset(mem, 0xee, 4096);
    b->p->tracing = true;
    bed_store(b, AT + 72, 8, 0x1111111111111111);
    bed_store(b, AT + 90, 2, 0x2222);
    g_assert_cmpuint(bed_fence(b), ==, 0);
    g_assert_cmpuint(sent_count(b), ==, 1);
    g_assert_nonnull(strstr(sent(b, 0), "Write_with_be"));
    g_assert_nonnull(strstr(sent(b, 0), "+64"));
    bed_store(b, AT + 64 + 56, 8, 0x3333333333333333);
    bed_store(b, AT + 128 + 8, 1, 0x44);
    g_assert_cmpuint(bed_fence(b), ==, 0);
    g_assert_nonnull(strstr(sent(b, 1), "+256"));
    for (unsigned i = 0; i < 4096; i++) {
        unsigned want = i >= 72 && i < 80 ? 0x11 : i == 90 || i == 91 ? 0x22 :
                        i >= 120 && i < 128 ? 0x33 : i == 136 ? 0x44 : 0xee;

        g_assert_cmphex(mem[i], ==, want);
    }
    bed_free(b);
}

/* What makes a line go: its time, another line, a load, a fence, tables that
 * change. */
static void test_flush(void)
{
    Bed *b = bed_new(ROW_CTP);
    UbLdsState s;

    bed_store(b, AT, 8, 1);
    ub_lds_state(b->l, &s);
    g_assert_true(s.line);
    bed_count(b, UB_LDS_WRITES_COUNT, 0);
    bed_run(b, b->cfg.combine - 1);
    bed_count(b, UB_LDS_WRITES_COUNT, 0);
    bed_run(b, 1);
    bed_count(b, UB_LDS_WRITES_COUNT, 1);
    bed_store(b, AT, 8, 1);
    bed_store(b, AT + 1024, 8, 1);
    bed_count(b, UB_LDS_WRITES_COUNT, 2);
    bed_load(b, AT + 2048, 8);
    bed_count(b, UB_LDS_WRITES_COUNT, 3);
    bed_store(b, AT, 8, 1);
    bed_store(b, BED_CONTROL + UB_LDS_FENCE, 8, 0);
    bed_count(b, UB_LDS_WRITES_COUNT, 4);
    bed_store(b, AT, 8, 1);
    bed_set(b, UB_DECODER_CTRL, 1);
    bed_store(b, AT + 8, 8, 1);
    bed_count(b, UB_LDS_WRITES_COUNT, 5);
    /* The time runs from the first store on. */
    bed_run(b, b->cfg.combine / 2);
    bed_store(b, AT + 16, 8, 1);
    bed_run(b, b->cfg.combine / 2 + 1);
    bed_count(b, UB_LDS_WRITES_COUNT, 6);
    bed_free(b);
}

static void test_not_combined(void)
{
    UbLdsConfig cfg;
    Bed *b;

    bed_config(&cfg);
    cfg.combine = 0;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_BYPASS);
    for (unsigned i = 0; i < 16; i++) {
        bed_store(b, AT + 8 * i, 8, i);
    }
    bed_count(b, UB_LDS_WRITES_COUNT, 16);
    g_assert_cmpuint(bed_fence(b), ==, 0);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmphex(get_le64(b->p->end[1].mem + 8 * i), ==, i);
    }
    bed_free(b);
}

/* More stores than there may be under way: the next waits, and goes in its turn. */
static void test_room(void)
{
    UbLdsConfig cfg;
    UbLdsWait w = { 0 };
    Bed *b;

    bed_config(&cfg);
    cfg.stores = 4;
    cfg.combine = 0;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_BYPASS);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_true(ub_lds_store(b->l, b->p->now, AT + 8 * i, 8, i + 1, &w));
    }
    g_assert_false(ub_lds_store(b->l, b->p->now, AT + 32, 8, 5, &w));
    bed_count(b, UB_LDS_ROOM_WAITS_COUNT, 1);
    /* One that cannot wait is lost, and told. */
    g_assert_true(ub_lds_store(b->l, b->p->now, AT + 40, 8, 6, NULL));
    bed_count(b, UB_LDS_REFUSED_COUNT, 1);
    bed_wait(b, &w);
    g_assert_cmpuint(bed_fence(b), ==, 1);
    g_assert_cmpuint(bed_fence(b), ==, 0);
    g_assert_cmphex(get_le64(b->p->end[1].mem + 32), ==, 5);
    g_assert_cmphex(get_le64(b->p->end[1].mem + 40), ==, 0);
    bed_free(b);
}

/* ---- Order --------------------------------------------------------------------------- */

static bool hold_writes;
static unsigned left;           /* packets of node 0 */

static bool filter(Pair *p, Wire *w)
{
    left += !w->from;
    if (hold_writes && w->from == 0) {
        w->due += 1000000;
    }
    return true;
}

/* A load waits for a store to the same bytes of the same TokenID, not for one to
 * others: it does not leave before. */
static void test_own_stores(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait same = { 0 }, other = { 0 }, third = { 0 };
    uint8_t *e = bed_page(b, 20, PAIR_UBA, ROW_BYPASS + 1);
    uint64_t value;

    put_le64(e + 32, (PAIR_TOKEN_ID + 1) | (uint64_t)PAIR_TOKEN << 32);
    b->p->filter = filter;
    hold_writes = true;
    left = 0;
    bed_store(b, AT, 8, 0x1234);
    bed_store(b, AT + 4096, 8, 1);
    g_assert_cmphex(bed_load(b, AT + 8192, 8), ==, 0);
    hold_writes = false;
    g_assert_cmphex(bed_load(b, AT, 8), ==, 0x1234);
    hold_writes = true;
    bed_store(b, AT, 8, 0x5678);
    bed_run(b, 100000);
    hold_writes = false;
    left = 0;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 4, 4, &same, &value));
    bed_run(b, 100000);
    g_assert_cmpuint(left, ==, 0);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 64, 4, &other, &value));
    bed_run(b, 100000);
    g_assert_cmpuint(left, ==, 1);
    g_assert_false(ub_lds_load(b->l, b->p->now, 20 * MIB, 8, &third, &value));
    bed_run(b, 100000);
    g_assert_cmpuint(left, ==, 2);
    bed_wait(b, &same);
    bed_wait(b, &other);
    bed_wait(b, &third);
    g_assert_cmphex(bed_load(b, AT, 8), ==, 0x5678);
    bed_free(b);
}

/* A store that is slow, and a fence behind it. */
static void fence_begin(Bed *b)
{
    b->p->filter = filter;
    left = 0;
    hold_writes = true;
    bed_store(b, AT, 8, 1);
    bed_store(b, BED_CONTROL + UB_LDS_FENCE, 8, 0);
}

/* Behind a fence nothing goes before all is done. */
static void test_fence(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    uint8_t *mem = b->p->end[1].mem;
    UbLdsWait w = { 0 };
    uint64_t value;
    int64_t limit;

    fence_begin(b);
    bed_run(b, 5000);
    hold_writes = false;
    bed_store(b, AT + 4096, 8, 2);
    bed_store(b, AT + 8192, 8, 3);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 12288, 8, &w, &value));
    limit = b->p->now + 500000;
    while (b->p->now < limit) {
        bed_run(b, 1000);
        g_assert_cmpuint(left, ==, 1);
        g_assert_false(w.ended);
    }
    g_assert_cmpuint(bed_load(b, BED_CONTROL + UB_LDS_PENDING, 8), ==, 4);
    g_assert_cmpuint(bed_fence(b), ==, 0);
    g_assert_true(w.ended);
    g_assert_cmphex(get_le64(mem + 8192), ==, 3);
    g_assert_cmpuint(bed_load(b, BED_CONTROL + UB_LDS_PENDING, 8), ==, 0);
    bed_free(b);
}

/* The first access behind a fence ends before its turn: those after it still wait, here
 * and where the machine has moved to. */
static void test_fence_first(void)
{
    for (unsigned moves = 0; moves < 3; moves++) {
        Bed *b = bed_new(ROW_BYPASS);
        uint8_t *mem = b->p->end[1].mem;
        UbLdsWait w = { 0 }, other = { 0 };
        uint64_t value;
        int64_t limit;

        fence_begin(b);
        g_assert_false(ub_lds_load(b->l, b->p->now, AT + 12288, 8, &w, &value));
        bed_run(b, 5000);
        hold_writes = false;
        if (moves == 2) {       /* one is there that takes its place */
            g_assert_false(ub_lds_load(b->l, b->p->now, AT + 16384, 8, &other,
                                       &value));
        }
        ub_lds_cancel(b->l, b->p->now, &w);
        g_assert_true(w.ended);
        if (moves == 1) {
            g_assert_null(bed_migrate(b));
        }
        bed_store(b, AT + 4096, 8, 2);
        limit = b->p->now + 500000;
        while (b->p->now < limit) {
            bed_run(b, 1000);
            g_assert_cmpuint(left, ==, 1);
        }
        g_assert_cmphex(get_le64(mem), ==, 0);
        g_assert_cmpuint(bed_fence(b), ==, 0);
        g_assert_cmphex(get_le64(mem), ==, 1);
        g_assert_cmphex(get_le64(mem + 4096), ==, 2);
        g_assert_cmpint(other.ended, ==, moves == 2);
        bed_free(b);
    }
}

/* Entries that ask for strong order: stores to several places come as they were
 * made, whatever the network does. */
static void test_strong(void)
{
    for (unsigned r = 0; r < 2; r++) {
        Bed *b = bed_new(rows[r]);
        uint8_t *e = bed_page(b, 16, PAIR_UBA, rows[r] + 1);
        uint8_t *mem = b->p->end[1].mem;
        unsigned seen = 0;

        put_way(e + 8, rows[r] + 1, UB_TA_SO);
        b->p->jitter = 50000;
        b->p->reorder = 500000;
        for (unsigned i = 0; i < 40; i++) {
            bed_store(b, AT + 2048 * i, 8, 1);
        }
        while (seen < 40) {
            bed_run(b, 1000);
            while (seen < 40 && mem[2048 * seen]) {
                seen++;
            }
            for (unsigned i = seen; i < 40; i++) {
                g_assert_cmphex(mem[2048 * i], ==, 0);
            }
        }
        bed_free(b);
    }
}

/* A store that waits for an earlier one to the same bytes, which is slow: what asks for
 * strong order behind it waits, too. */
static void test_strong_behind(void)
{
    for (unsigned r = 0; r < 2; r++) {
        Bed *b = bed_new(rows[r]);
        uint8_t *e = bed_page(b, 16, PAIR_UBA, rows[r] + 1);
        uint8_t *mem = b->p->end[1].mem;

        put_way(e + 8, rows[r] + 1, UB_TA_SO);
        b->p->filter = filter;
        hold_writes = true;
        bed_store(b, AT, 8, 1);
        bed_run(b, 100000);
        hold_writes = false;
        bed_store(b, AT, 8, 2);
        bed_store(b, AT + 4096, 8, 3);
        while (get_le64(mem + 4096) != 3) {
            bed_run(b, 1000);
            g_assert_true(get_le64(mem) == 2 || !get_le64(mem + 4096));
        }
        g_assert_cmpuint(bed_fence(b), ==, 0);
        bed_free(b);
    }
}

/* Random accesses of one processor against a model, over a network that changes the
 * order of everything. */
static void test_random(void)
{
    enum { SIZE = 4096 };

    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        Bed *b = bed_new(rows[r]);
        uint8_t model[SIZE] = { 0 };
        unsigned steps = g_test_slow() ? 20000 : 1500;

        b->p->jitter = 30000;
        b->p->reorder = rows[r] == ROW_RTP ? 0 : 200000;
        for (unsigned i = 0; i < steps; i++) {
            uint64_t x = core_random(&b->p->rng);
            unsigned len = 1u << (x & 3), at = (x >> 8) % SIZE & ~(len - 1);
            uint64_t value = core_random(&b->p->rng);
            uint8_t v[8];

            put_le64(v, value);
            if (x >> 32 & 3) {
                bed_store(b, AT + at, len, value);
                memcpy(model + at, v, len);
            } else {
                memset(v, 0, 8);
                memcpy(v, model + at, len);
                g_assert_cmphex(bed_load(b, AT + at, len), ==, get_le64(v));
            }
            if ((x >> 40 & 63) == 0) {
                g_assert_cmpuint(bed_fence(b), ==, 0);
                g_assert_cmpmem(model, SIZE, b->p->end[1].mem, SIZE);
            }
        }
        g_assert_cmpuint(bed_fence(b), ==, 0);
        g_assert_cmpmem(model, SIZE, b->p->end[1].mem, SIZE);
        pair_idle(b->p);
        bed_free(b);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lds/decoder/answers", test_answers);
    g_test_add_func("/lds/decoder/ranges", test_ranges);
    g_test_add_func("/lds/decoder/entries", test_entries);
    g_test_add_func("/lds/decoder/tee", test_tee);
    g_test_add_func("/lds/sizes", test_sizes);
    g_test_add_func("/lds/unaligned", test_unaligned);
    g_test_add_func("/lds/combine", test_combine);
    g_test_add_func("/lds/combine/holes", test_holes);
    g_test_add_func("/lds/combine/flush", test_flush);
    g_test_add_func("/lds/combine/off", test_not_combined);
    g_test_add_func("/lds/room", test_room);
    g_test_add_func("/lds/order/own-stores", test_own_stores);
    g_test_add_func("/lds/order/fence", test_fence);
    g_test_add_func("/lds/order/fence/first", test_fence_first);
    g_test_add_func("/lds/order/strong", test_strong);
    g_test_add_func("/lds/order/strong/behind", test_strong_behind);
    g_test_add_func("/lds/order/random", test_random);
    return g_test_run();
}
