/*
 * Accesses to the window that have ended while the transaction layer still had them:
 * nothing of them may happen later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lds-bed.h"

#define AT (16 * MIB) /* node 1's memory */
/* When a page that is not there is tried again: RNR_Timer 16, 131 ms. */
#define LATE_TIMER 16
#define LATE (INT64_C(2000) << LATE_TIMER)

/* Bypass has no Page Fault. */
static const uint32_t rows[] = { ROW_CTP, ROW_CTP7, ROW_RTP };

static UbSegment *segment(Bed *b)
{
    return ub_segments_find(b->p->end[1].segments, 0, PAIR_TOKEN_ID, PAIR_UBA);
}

/* A store that the peer wants again later, and that has ended meanwhile; beside it
 * @w is under way. */
static void late_store(Bed *b, UbLdsWait *w)
{
    uint64_t value;

    segment(b)->pages = UB_SEGMENT_FAULT;
    segment(b)->timer = LATE_TIMER;
    bed_store(b, AT, 8, 1);
    bed_run(b, BED_TIMEOUT - 1000000);
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 0);
    segment(b)->pages = UB_SEGMENT_THERE;
    b->p->delay = BED_TIMEOUT / 2;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 4096, 8, w, &value));
    bed_run(b, 2000000);
    b->p->delay = 1000;
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 1);
    g_assert_cmpuint(pair_count(b->p, 0, UB_TAC_FAULT_RX), ==, 1);
    g_assert_false(w->ended);
}

/* What is stored afterwards stays. */
static void test_store(void)
{
    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        Bed *b = bed_new(rows[r]);
        uint8_t *mem = b->p->end[1].mem;
        UbLdsWait w = { 0 };

        late_store(b, &w);
        bed_store(b, AT, 8, 2);
        g_assert_cmpuint(bed_fence(b), ==, 1);
        g_assert_true(w.ended);
        g_assert_cmphex(get_le64(mem), ==, 2);
        bed_run(b, 2 * LATE);
        g_assert_cmphex(get_le64(mem), ==, 2);
        bed_free(b);
    }
}

/* Behind a SYNC nothing goes by the old tables: their rows may be others'. */
static void test_sync(void)
{
    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        Bed *b = bed_new(rows[r]);
        UbLdsWait w = { 0 };
        uint64_t requests;

        late_store(b, &w);
        put_le64(b->mem + BED_CMDQ, UB_LDS_CMD_INVALIDATE_ALL);
        put_le64(b->mem + BED_CMDQ + 16, UB_LDS_CMD_SYNC);
        bed_set(b, UB_DECODER_CMDQ_PROD, 2);
        while ((bed_get(b, UB_DECODER_CMDQ_CONS) & 31) != 2) {
            g_assert_cmpint(b->p->now, <, 10 * BED_TIMEOUT);
            bed_run(b, 1000);
        }
        requests = pair_count(b->p, 0, UB_TAC_TX_REQUESTS);
        bed_run(b, 2 * LATE);
        g_assert_cmpuint(pair_count(b->p, 0, UB_TAC_TX_REQUESTS), ==, requests);
        g_assert_cmphex(get_le64(b->p->end[1].mem), ==, 0);
        bed_free(b);
    }
}

/* It does not wait for what goes by other entries, whose peer may be silent, be it under
 * way or open to neighbours; nor does what waits longer become another's. */
static void test_sync_others(void)
{
    const uint64_t others[][2] = { { 0, 15 }, { 17, 1000 } };
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 };
    uint64_t value;

    b->p->filter = bed_lose_all;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + MIB - 8, 8, &w, &value));
    for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
        bed_command(b, UB_LDS_CMD_INVALIDATE | others[i][0] << 32, others[i][1]);
        bed_sync(b);
        bed_run(b, 10);
        g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
        g_assert_false(w.ended);
    }
    bed_store(b, AT + 64, 8, 1);
    bed_command(b, UB_LDS_CMD_INVALIDATE | 17ull << 32, 17);
    bed_run(b, 10);
    bed_store(b, AT + 72, 8, 2);
    bed_count(b, UB_LDS_COMBINED_COUNT, 1);
    bed_sync(b);
    bed_run(b, 10);
    g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
    bed_count(b, UB_LDS_WRITES_COUNT, 0);
    bed_command(b, UB_LDS_CMD_INVALIDATE | 16ull << 32, 16);
    bed_command(b, UB_LDS_CMD_INVALIDATE | 17ull << 32, 17);
    bed_sync(b);
    bed_run(b, BED_TIMEOUT / 2);
    g_assert_cmphex(bed_synced(b), ==, 0);
    g_assert_false(w.ended);
    /* While it waits, stores still find their neighbours. */
    for (unsigned i = 0; i < 8; i++) {
        bed_store(b, AT + 2 * MIB + 8 * i, 8, i);
        bed_run(b, 10);
    }
    bed_count(b, UB_LDS_COMBINED_COUNT, 8);
    bed_run(b, BED_TIMEOUT);
    g_assert_true(w.ended);
    g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
    bed_free(b);
}

/* Nor for what has moved, unless it goes by what was forgotten; and while it waits nobody
 * looks at it all the time. */
static void test_sync_moved(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    g_assert_cmpstr(bed_migrate(b), ==, NULL);
    bed_sync(b);
    bed_run(b, 10);
    g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
    bed_command(b, UB_LDS_CMD_INVALIDATE | 16ull << 32, 16);
    bed_sync(b);
    bed_run(b, 10000);
    g_assert_cmphex(bed_synced(b), ==, 0);
    g_assert_cmpint(ub_lds_run(b->l, b->p->now), >=, b->p->now + BED_TIMEOUT / 2);
    bed_run(b, BED_TIMEOUT);
    g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
    bed_free(b);
}

/* What has moved in a pause has the time that was left when it began. */
static void test_pause_moves(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    bed_run(b, BED_TIMEOUT / 10);
    ub_lds_pause(b->l, b->p->now, true);
    bed_run(b, BED_TIMEOUT * 6 / 10);
    g_assert_cmpstr(bed_migrate(b), ==, NULL);
    ub_lds_pause(b->l, b->p->now, false);
    bed_run(b, BED_TIMEOUT * 8 / 10);
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 0);
    bed_run(b, BED_TIMEOUT * 2 / 10);
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 1);
    bed_free(b);
}

/* Accesses that wait for a link have all their time when it is there; who waits for them
 * has not more than its own. */
static void test_fence_ends(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 };
    uint64_t value;

    b->p->filter = bed_lose_all;
    ub_lds_link(b->l, b->p->now, 0, false);
    bed_store(b, AT, 8, 1);
    g_assert_false(ub_lds_load(b->l, b->p->now, BED_CONTROL + UB_LDS_FENCE, 8, &w,
                               &value));
    bed_run(b, b->cfg.grace / 2);
    ub_lds_link(b->l, b->p->now, 0, true);
    bed_run(b, BED_TIMEOUT - b->cfg.grace);
    g_assert_false(w.ended);
    bed_run(b, b->cfg.grace * 3 / 4);
    g_assert_true(w.ended);
    g_assert_cmphex(w.value, ==, UINT64_MAX);
    bed_event_is(b, 0, UB_LDS_EVENT_TIMEOUT, 0, false, 0);
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 1);
    bed_run(b, b->cfg.grace);
    bed_event_is(b, 1, UB_LDS_EVENT_TIMEOUT, AT, true, 0);
    bed_free(b);
}

static uint64_t made(Bed *b)
{
    return bed_load(b, BED_CONTROL + UB_LDS_MADE, 8);
}

static uint64_t oldest(Bed *b, uint32_t first, uint32_t last)
{
    bed_store(b, BED_CONTROL + UB_LDS_OLDEST, 8, first | (uint64_t)last << 32);
    return bed_load(b, BED_CONTROL + UB_LDS_OLDEST, 8);
}

/* Who asks for MiBs hears of accesses there alone, however long others last; stores that
 * are gathered are made then. */
static void test_oldest(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 };
    uint64_t value, before = made(b);

    b->p->filter = bed_lose_all;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + MIB - 8, 8, &w, &value));
    bed_store(b, AT + MIB, 8, 1);
    g_assert_cmpuint(bed_load(b, BED_CONTROL + UB_LDS_OLDEST, 8), ==, before);
    g_assert_cmpuint(oldest(b, 17, 17), ==, before + 1);
    bed_count(b, UB_LDS_WRITES_COUNT, 0);
    g_assert_cmpuint(made(b), ==, before + 2);
    bed_count(b, UB_LDS_WRITES_COUNT, 1);
    g_assert_cmpuint(oldest(b, 17, 17), ==, before + 1);
    g_assert_cmpuint(oldest(b, 16, 17), ==, before);
    g_assert_cmpuint(oldest(b, 16, 16), ==, before);
    g_assert_cmpuint(oldest(b, 0, 15), ==, before + 2);
    g_assert_cmpuint(oldest(b, 18, 0xfffffff), ==, before + 2);
    /* It is a register of 8 bytes. */
    g_assert_cmpuint(b->guest_errors, ==, 0);
    bed_store(b, BED_CONTROL + UB_LDS_OLDEST, 4, 16);
    bed_store(b, BED_CONTROL + UB_LDS_MADE, 8, 0);
    g_assert_cmpuint(b->guest_errors, ==, 2);
    g_assert_cmpuint(bed_load(b, BED_CONTROL + UB_LDS_OLDEST, 8), ==, before + 2);
    ub_lds_withdraw(b->l, b->p->now, &w);
    g_assert_cmpuint(oldest(b, 16, 16), ==, before + 2);
    g_assert_cmpuint(oldest(b, 17, 17), ==, before + 1);
    bed_run(b, 2 * BED_TIMEOUT);
    g_assert_cmpuint(oldest(b, 17, 17), ==, before + 2);
    bed_free(b);
}

/* Nobody is told that nothing is under way by a question that was asked elsewhere. */
static void test_oldest_moves(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    uint64_t before = made(b);

    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    g_assert_cmpuint(oldest(b, 20, 20), ==, before);
    g_assert_cmpuint(made(b), ==, before + 1);
    g_assert_cmpuint(oldest(b, 20, 20), ==, before + 1);
    g_assert_cmpstr(bed_migrate(b), ==, NULL);
    g_assert_cmpuint(bed_load(b, BED_CONTROL + UB_LDS_OLDEST, 8), ==, before);
    g_assert_cmpuint(made(b), ==, before + 1);
    g_assert_cmpuint(oldest(b, 20, 20), ==, before + 1);
    bed_run(b, 2 * BED_TIMEOUT);
    g_assert_cmpuint(oldest(b, 0, 0), ==, before + 1);
    /* Behind a reset it is of all of them, from the first one on. */
    bed_page(b, 0, PAIR_UBA, ROW_BYPASS + 1);
    for (unsigned i = 1; i < 3; i++) {
        g_assert_cmpuint(oldest(b, 20, 20), ==, before + i);
        ub_lds_reset(b->l, b->p->now);
        g_assert_cmpuint(made(b), ==, before + i);
        bed_store(b, i == 1 ? AT : 0, 8, 1);
        g_assert_cmpuint(made(b), ==, before + i + 1);
        g_assert_cmpuint(bed_load(b, BED_CONTROL + UB_LDS_OLDEST, 8), ==, before + i);
        bed_run(b, 2 * BED_TIMEOUT);
    }
    bed_free(b);
}

/* A line of an entry that is forgotten is closed: what follows goes by the new one. */
static void test_sync_line(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    bed_store(b, AT, 8, 1);
    bed_command(b, UB_LDS_CMD_INVALIDATE | 16ull << 32, 16);
    bed_run(b, 10);
    bed_page(b, 16, PAIR_UBA + MIB, ROW_BYPASS + 1);
    bed_store(b, AT + 8, 8, 2);
    bed_count(b, UB_LDS_COMBINED_COUNT, 0);
    g_assert_cmpuint(bed_fence(b), ==, 0);
    g_assert_cmphex(get_le64(b->p->end[1].mem), ==, 1);
    g_assert_cmphex(get_le64(b->p->end[1].mem + MIB + 8), ==, 2);
    bed_free(b);
}

/* Nor do they take the room of others, however long the peer has it wait. */
static void test_room(void)
{
    enum { N = 60 };
    UbLdsConfig cfg;
    UbLdsState s;
    Bed *b;

    bed_config(&cfg);
    cfg.loads = cfg.stores = 4;
    cfg.combine = 0;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_CTP);
    segment(b)->pages = UB_SEGMENT_FAULT;
    segment(b)->timer = UB_TAH_TIMER_MAX;
    for (unsigned i = 0; i < N; i++) {
        bed_store(b, AT + 4096 * i, 8, 1);
        bed_run(b, 2 * BED_TIMEOUT / 5);
        ub_lds_state(b->l, &s);
        g_assert_cmpuint(s.under_way, >, 0);
    }
    bed_count(b, UB_LDS_ROOM_WAITS_COUNT, 0);
    bed_run(b, BED_TIMEOUT);
    bed_count(b, UB_LDS_TIMEOUT_COUNT, N);
    segment(b)->pages = UB_SEGMENT_THERE;
    bed_run(b, 3000000000);
    for (unsigned i = 0; i < N; i++) {
        g_assert_cmphex(get_le64(b->p->end[1].mem + 4096 * i), ==, 0);
    }
    pair_idle(b->p);
    bed_free(b);
}

/* An image's queue is the window's: no other has its requests back at once. */
static void test_queue(void)
{
    Bed *b = bed_new(ROW_CTP);
    UbTa *ta = b->p->end[0].ta;
    UbTaQueueConfig own;
    UbTaQueue *q;

    bed_store(b, AT, 8, 1);
    g_assert_cmpuint(bed_fence(b), ==, 0);
    q = ub_ta_queue(ta, b->cfg.rcid);
    g_assert_nonnull(q);
    g_assert_null(ub_lds_loaded(b->l));
    ub_ta_queue_stop(q, true);
    g_assert_nonnull(ub_lds_loaded(b->l));
    own = *ub_ta_queue_config(q);
    for (unsigned i = 0; i < 5; i++) {
        UbTaQueueConfig cfg = own;

        cfg.in_order = i == 1;
        cfg.stop_on_error = i == 2;
        cfg.static_sc = i == 3;
        cfg.entity = i == 4;
        ub_ta_queue_free(q);
        q = ub_ta_queue_new(ta, &cfg);
        g_assert_true(!ub_lds_loaded(b->l) == !i);
    }
    bed_free(b);
}

/* Who makes an access again later withdraws it: nobody hears of that, and nothing of it
 * happens. */
static void test_withdrawn(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 }, v = { 0 };
    uint8_t *mem = b->p->end[1].mem;
    UbLdsState s;
    uint64_t value;

    put_le64(mem + 4096, 0x77);
    bed_store(b, AT, 8, 1);
    b->p->filter = bed_lose_all;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 4096, 8, &w, &value));
    g_assert_false(ub_lds_load(b->l, b->p->now, BED_CONTROL, 8, &v, &value));
    bed_run(b, 10000);
    ub_lds_withdraw(b->l, b->p->now, &v);
    ub_lds_withdraw(b->l, b->p->now, &w);
    ub_lds_withdraw(b->l, b->p->now, &w);
    g_assert_true(w.ended && v.ended);
    bed_count(b, UB_LDS_WITHDRAWN_COUNT, 2);
    bed_count(b, UB_LDS_STOPPED_COUNT, 0);
    g_assert_cmpuint(bed_events(b), ==, 0);
    b->p->filter = NULL;
    g_assert_cmphex(bed_load(b, AT + 4096, 8), ==, 0x77);
    /* The store was lost, and who asks again hears of it. */
    g_assert_cmpuint(bed_fence(b), ==, 1);
    ub_lds_state(b->l, &s);
    g_assert_cmpuint(s.under_way + s.waiting, ==, 0);
    bed_free(b);
}

/* A load that has not gone out, as it waits for a store to the same bytes, keeps nobody
 * back when it is given up. */
static void test_withdrawn_behind(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 };
    uint64_t value;

    put_le64(b->p->end[1].mem + 4096, 0x77);
    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    bed_run(b, 10000);
    b->p->filter = NULL;
    ub_lds_withdraw(b->l, b->p->now, &w);
    g_assert_cmphex(bed_load(b, AT + 4096, 8), ==, 0x77);
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 0);
    g_assert_cmpuint(bed_fence(b), ==, 1);
    bed_free(b);
}

/* As many stores as there may be, none of which is answered. */
static Bed *full(void)
{
    UbLdsConfig cfg;
    Bed *b;

    bed_config(&cfg);
    cfg.loads = 4;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_BYPASS);
    b->p->filter = bed_lose_all;
    for (unsigned i = 0; i < b->cfg.stores; i++) {
        bed_store(b, AT + 8192 + 1024 * i, 8, 1);
        bed_run(b, b->cfg.combine + 1);
    }
    return b;
}

/* Nor of a store. */
static void test_withdrawn_store(void)
{
    Bed *b = full();
    UbLdsWait room = { 0 };
    UbLdsState s;

    g_assert_false(ub_lds_store(b->l, b->p->now, AT + 64, 8, 5, &room));
    ub_lds_withdraw(b->l, b->p->now, &room);
    g_assert_true(room.ended);
    b->p->filter = NULL;
    bed_run(b, 2 * BED_TIMEOUT);
    g_assert_cmphex(get_le64(b->p->end[1].mem + 64), ==, 0);
    bed_count(b, UB_LDS_STOPPED_COUNT, 0);
    ub_lds_state(b->l, &s);
    g_assert_cmpuint(s.under_way + s.waiting, ==, 0);
    bed_free(b);
}

/* A store that waits when the machine stops is made, once, though there is no room; as
 * many as there may be, again, but no more, and they are in an image. */
static void test_anyway(void)
{
    for (unsigned move = 0; move < 2; move++) {
        Bed *b = full();
        UbLdsWait w = { 0 }, load = { 0 }, last = { 0 };
        unsigned most = 2 * b->cfg.stores;
        uint64_t stores = ub_lds_counter(b->l, UB_LDS_STORES_COUNT), value;
        UbLdsState s;

        g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &load, &value));
        g_assert_false(ub_lds_store_anyway(b->l, b->p->now, &load));
        g_assert_false(load.ended);
        ub_lds_cancel(b->l, b->p->now, &load);
        /* Each store is in a line of its own; the last one is open. */
        for (unsigned i = 0; i <= b->cfg.stores; i++) {
            g_assert_false(ub_lds_store(b->l, b->p->now, AT + 1024 * i, 8,
                                        i + 7, &w));
            ub_lds_state(b->l, &s);
            g_assert_cmpuint(s.waiting, ==, 1);
            g_assert_true(ub_lds_store_anyway(b->l, b->p->now, &w));
            g_assert_true(w.ended);
            g_assert_false(ub_lds_store_anyway(b->l, b->p->now, &w));
        }
        ub_lds_state(b->l, &s);
        g_assert_cmpuint(s.waiting, ==, 0);
        g_assert_cmpuint(s.under_way, ==, most);
        g_assert_true(s.line);
        bed_count(b, UB_LDS_STORES_COUNT, stores + b->cfg.stores + 1);
        g_assert_false(ub_lds_store(b->l, b->p->now, AT, 8, 1, &last));
        g_assert_false(ub_lds_store_anyway(b->l, b->p->now, &last));
        ub_lds_withdraw(b->l, b->p->now, &last);
        bed_count(b, UB_LDS_WITHDRAWN_COUNT, 1);
        b->p->filter = NULL;
        if (move) {
            g_assert_cmpstr(bed_migrate(b), ==, NULL);
        }
        bed_run(b, 4 * BED_TIMEOUT);
        ub_lds_state(b->l, &s);
        g_assert_cmpuint(s.under_way, ==, 0);
        bed_free(b);
    }
}

/* A store that no answer comes to, and a fence behind it. */
static Bed *fenced(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    bed_store(b, BED_CONTROL + UB_LDS_FENCE, 8, 0);
    bed_run(b, 1000);
    b->p->filter = NULL;
    return b;
}

/* What a fence keeps back does not go because the first that it keeps has ended: not
 * what is behind it, not what comes later. */
static void test_fence(void)
{
    for (unsigned behind = 0; behind < 2; behind++) {
        Bed *b = fenced();
        uint8_t *mem = b->p->end[1].mem;
        UbLdsWait w = { 0 };
        uint64_t value;

        g_assert_false(ub_lds_load(b->l, b->p->now, AT + 4096, 8, &w, &value));
        if (behind) {
            bed_store(b, AT + 8192, 8, 2);
            bed_run(b, 2 * b->cfg.combine);
        }
        ub_lds_withdraw(b->l, b->p->now, &w);
        if (!behind) {
            bed_store(b, AT + 8192, 8, 2);
        }
        bed_run(b, BED_TIMEOUT / 2);
        g_assert_cmphex(get_le64(mem + 8192), ==, 0);
        bed_run(b, BED_TIMEOUT);
        g_assert_cmphex(get_le64(mem + 8192), ==, 2);
        bed_count(b, UB_LDS_TIMEOUT_COUNT, 1);
        bed_free(b);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lds/late/store", test_store);
    g_test_add_func("/lds/late/sync", test_sync);
    g_test_add_func("/lds/late/sync-others", test_sync_others);
    g_test_add_func("/lds/late/sync-moved", test_sync_moved);
    g_test_add_func("/lds/late/pause-moves", test_pause_moves);
    g_test_add_func("/lds/late/fence-ends", test_fence_ends);
    g_test_add_func("/lds/late/sync-line", test_sync_line);
    g_test_add_func("/lds/late/oldest", test_oldest);
    g_test_add_func("/lds/late/oldest-moves", test_oldest_moves);
    g_test_add_func("/lds/late/room", test_room);
    g_test_add_func("/lds/late/queue", test_queue);
    g_test_add_func("/lds/late/withdrawn", test_withdrawn);
    g_test_add_func("/lds/late/withdrawn-behind", test_withdrawn_behind);
    g_test_add_func("/lds/late/withdrawn-store", test_withdrawn_store);
    g_test_add_func("/lds/late/anyway", test_anyway);
    g_test_add_func("/lds/late/fence", test_fence);
    return g_test_run();
}
