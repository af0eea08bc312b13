/*
 * How accesses to the window end when they do not end well; command slots, the
 * decoder's queues, migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lds-bed.h"

#define AT (16 * MIB) /* node 1's memory */

static bool lose_answers(Pair *p, Wire *w)
{
    return w->from == 0;
}

/* ---- Slots ------------------------------------------------------------------------- */

static void put_slot(Bed *b, unsigned n, unsigned reg, const void *data,
                     unsigned len)
{
    uint8_t all[64] = { 0 };

    memcpy(all, data, len);
    for (unsigned i = 0; i < 64; i += 8) {
        bed_store(b, bed_slot(n, reg + i), 8, get_le64(all + i));
    }
}

static void get_slot(Bed *b, unsigned n, uint8_t result[64])
{
    for (unsigned i = 0; i < 64; i += 8) {
        put_le64(result + i,
                 bed_load(b, bed_slot(n, UB_LDS_SLOT_RESULT + i), 8));
    }
}

static void test_slot_blocks(void)
{
    static const uint32_t rows[] = { ROW_BYPASS, ROW_CTP, ROW_RTP };

    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        Bed *b = bed_new(rows[r]);
        uint8_t data[64], got[64];

        for (unsigned i = 0; i < 64; i++) {
            data[i] = i * 5 + r;
        }
        put_slot(b, 3, UB_LDS_SLOT_DATA, data, 64);
        g_assert_cmphex(bed_go(b, 3, AT + 640, UB_TA_WRITE, 64, 0), ==,
                        UB_LDS_SLOT_DONE);
        g_assert_cmpmem(b->p->end[1].mem + 640, 64, data, 64);
        g_assert_cmphex(bed_go(b, 63, AT + 640, UB_TA_READ, 64, 0), ==,
                        UB_LDS_SLOT_DONE);
        get_slot(b, 63, got);
        g_assert_cmpmem(got, 64, data, 64);
        /* What is not asked for is not there. */
        g_assert_cmphex(bed_go(b, 63, AT + 648, UB_TA_READ, 3, 0), ==,
                        UB_LDS_SLOT_DONE);
        get_slot(b, 63, got);
        g_assert_cmpmem(got, 3, data + 8, 3);
        bed_count(b, UB_LDS_COMMANDS_COUNT, 3);
        bed_free(b);
    }
}

static void test_slot_atomics(void)
{
    static const struct {
        unsigned opcode, sub;
        uint64_t was, op, op2, will;
    } all[] = {
        { UB_TA_FETCH_ADD, 0, 40, 2, 0, 42 },
        { UB_TA_FETCH_SUB, 0, 40, 2, 0, 38 },
        { UB_TA_FETCH_AND, 0, 0xff, 0x3c, 0, 0x3c },
        { UB_TA_FETCH_OR, 0, 0xf0, 0x0c, 0, 0xfc },
        { UB_TA_FETCH_XOR, 0, 0xff, 0x0f, 0, 0xf0 },
        { UB_TA_ATOMIC_SWAP, 0, 7, 9, 0, 9 },
        { UB_TA_ATOMIC_LOAD, 0, 40, 2, 0, 42 },
        { UB_TA_ATOMIC_CAS, 0, 7, 7, 9, 9 },
        { UB_TA_ATOMIC_CAS, 0, 8, 7, 9, 8 },
    };
    static const uint32_t rows[] = { ROW_BYPASS, ROW_CTP, ROW_RTP };

    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        Bed *b = bed_new(rows[r]);
        uint8_t *mem = b->p->end[1].mem + 128;

        for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
            put_le64(mem, all[i].was);
            put_slot(b, 0, UB_LDS_SLOT_DATA, &all[i].op, 8);
            put_slot(b, 0, UB_LDS_SLOT_DATA2, &all[i].op2, 8);
            g_assert_cmphex(bed_go(b, 0, AT + 128, all[i].opcode, 8, all[i].sub),
                            ==, UB_LDS_SLOT_DONE);
            g_assert_cmphex(get_le64(mem), ==, all[i].will);
            g_assert_cmphex(bed_load(b, bed_slot(0, UB_LDS_SLOT_RESULT), 8), ==,
                            all[i].was);
        }
        bed_free(b);
    }
}

static void test_slot_rules(void)
{
    const uint64_t refused = UB_LDS_SLOT_DONE |
                             UB_LDS_EVENT_REMOTE << UB_LDS_SLOT_EVENT_SHIFT |
                             UB_TAS_OPCODE << UB_LDS_SLOT_STATUS_SHIFT;
    const uint64_t range = UB_LDS_SLOT_DONE |
                           UB_LDS_EVENT_RANGE << UB_LDS_SLOT_EVENT_SHIFT;
    Bed *b = bed_new(ROW_BYPASS);

    g_assert_cmphex(bed_go(b, 0, AT, UB_TA_SEND, 8, 0), ==, refused);
    g_assert_cmphex(bed_load(b, bed_slot(0, UB_LDS_SLOT_RESULT), 8), ==,
                    UINT64_MAX);
    g_assert_cmphex(bed_go(b, 0, AT, UB_TA_MANAGEMENT, 8, 0), ==, refused);
    g_assert_cmphex(bed_go(b, 0, AT, 0xff, 8, 0), ==, refused);
    g_assert_cmphex(bed_go(b, 0, AT, UB_TA_READ, 0, 0), ==, refused);
    g_assert_cmphex(bed_go(b, 0, AT, UB_TA_READ, 65, 0), ==, refused);
    /* An atomic that is not aligned: the transaction layer says so. */
    g_assert_cmphex(bed_go(b, 0, AT + 4, UB_TA_FETCH_ADD, 8, 0), ==,
                    UB_LDS_SLOT_DONE |
                    UB_LDS_EVENT_REMOTE << UB_LDS_SLOT_EVENT_SHIFT |
                    UB_TAS_LOCAL_LENGTH << UB_LDS_SLOT_STATUS_SHIFT);
    g_assert_cmphex(bed_go(b, 0, BED_WINDOW, UB_TA_READ, 8, 0), ==, range);
    g_assert_cmphex(bed_go(b, 0, BED_CONTROL, UB_TA_READ, 8, 0), ==, range);
    g_assert_cmphex(bed_go(b, 0, UINT64_MAX, UB_TA_READ, 8, 0), ==, range);
    g_assert_cmphex(bed_go(b, 0, AT + MIB - 8, UB_TA_READ, 9, 0), ==, range);
    g_assert_cmphex(bed_go(b, 0, 0, UB_TA_READ, 8, 0), ==, range);
    g_assert_cmphex(bed_go(b, 0, AT + MIB - 8, UB_TA_READ, 8, 0), ==,
                    UB_LDS_SLOT_DONE);
    /* Busy: the second is not begun. */
    bed_store(b, bed_slot(0, UB_LDS_SLOT_ADDR), 8, AT);
    bed_store(b, bed_slot(0, UB_LDS_SLOT_GO), 8, UB_TA_READ | 8 << 8);
    g_assert_cmphex(bed_load(b, bed_slot(0, UB_LDS_SLOT_STATUS), 8), ==,
                    UB_LDS_SLOT_BUSY);
    g_assert_cmpuint(b->guest_errors, ==, 0);
    bed_store(b, bed_slot(0, UB_LDS_SLOT_GO), 8, UB_TA_READ | 8 << 8);
    g_assert_cmpuint(b->guest_errors, ==, 1);
    g_assert_cmphex(bed_load(b, bed_slot(0, UB_LDS_SLOT_WAIT), 8), ==,
                    UB_LDS_SLOT_DONE);
    /* Registers that are none, or not of 8 bytes. */
    bed_store(b, bed_slot(0, UB_LDS_SLOT_GO), 4, UB_TA_READ | 8 << 8);
    bed_store(b, bed_slot(0, UB_LDS_SLOT_RESULT), 8, 1);
    bed_store(b, bed_slot(0, UB_LDS_SLOT_STATUS), 8, 1);
    bed_store(b, BED_CONTROL + UB_LDS_FAILED, 8, 1);
    bed_store(b, bed_slot(UB_LDS_SLOTS, 0), 8, 1);
    g_assert_cmpuint(b->guest_errors, ==, 6);
    g_assert_cmphex(bed_load(b, bed_slot(UB_LDS_SLOTS, 0), 8), ==, 0);
    bed_store(b, bed_slot(UB_LDS_SLOTS - 1, 0), 8, 1);
    g_assert_cmphex(bed_load(b, bed_slot(UB_LDS_SLOTS - 1, 0), 8), ==, 1);
    g_assert_cmphex(bed_load(b, BED_CONTROL + UB_LDS_FAILED, 8), ==, 11);
    bed_free(b);
}

/* ---- Refused ------------------------------------------------------------------------- */

static void test_refused(void)
{
    Bed *b = bed_new(ROW_CTP);
    uint8_t *e;

    /* Another token, TokenID; beyond the segment. */
    e = bed_page(b, 16, PAIR_UBA, ROW_CTP + 1);
    put_le64(e + 32, PAIR_TOKEN_ID | 0xbadull << 32);
    g_assert_cmphex(bed_load(b, AT + 8, 4), ==, 0xffffffff);
    bed_event_is(b, 0, UB_LDS_EVENT_REMOTE, AT + 8, false, UB_TAS_ABORT);
    bed_store(b, AT + 16, 8, 1);
    g_assert_cmpuint(bed_fence(b), ==, 1);
    bed_event_is(b, 1, UB_LDS_EVENT_REMOTE, AT + 16, true, UB_TAS_ABORT);
    bed_page(b, 17, PAIR_UBA + PAIR_MEM, ROW_CTP + 1);
    g_assert_cmphex(bed_load(b, AT + MIB, 8), ==, UINT64_MAX);
    bed_event_is(b, 2, UB_LDS_EVENT_REMOTE, AT + MIB, false, UB_TAS_ABORT);
    /* No row; another peer than the row's. */
    bed_page(b, 18, PAIR_UBA, 0x99999);
    g_assert_cmphex(bed_load(b, AT + 2 * MIB, 8), ==, UINT64_MAX);
    bed_event_is(b, 3, UB_LDS_EVENT_ENTRY, AT + 2 * MIB, false, 0);
    bed_store(b, AT + 2 * MIB + 8, 8, 1);
    bed_event_is(b, 4, UB_LDS_EVENT_ENTRY, AT + 2 * MIB + 8, true, 0);
    bed_load(b, 0, 8);
    bed_event_is(b, 5, UB_LDS_EVENT_RANGE, 0, false, 0);
    g_assert_cmpuint(b->interrupts, ==, 6);
    bed_count(b, UB_LDS_REMOTE_COUNT, 3);
    bed_count(b, UB_LDS_ENTRY_COUNT, 2);
    bed_free(b);
}

static void test_peer(void)
{
    Bed *b = bed_new(ROW_CTP);
    const UbTaDest *d = ub_ta_dest(b->p->end[0].ta, ROW_CTP + 1);
    struct { unsigned word; uint64_t right; } fields[] = {
        { 2, get_be64(d->sec.deid.b + 8) },
        { 3, get_be64(d->sec.deid.b) },
        { 5, PAIR_UPI },
        { 7, (uint64_t)ub_eid_short(&d->sec.seid) << UB_LDS_SEID_SHIFT },
    };
    uint8_t *e = bed_page(b, 16, PAIR_UBA, ROW_CTP + 1);

    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++) {
        put_le64(e + 8 * fields[i].word, fields[i].right);
    }
    put_le64(b->p->end[1].mem, 5);
    bed_set(b, UB_DECODER_CTRL, 1);
    g_assert_cmphex(bed_load(b, AT, 8), ==, 5);
    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++) {
        uint8_t *q = e + 8 * fields[i].word;

        put_le64(q, fields[i].right ^ 1ull << 34 >> (i == 2 ? 34 : 0));
        bed_set(b, UB_DECODER_CTRL, 1);
        g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
        put_le64(q, fields[i].right);
        bed_count(b, UB_LDS_ENTRY_COUNT, i + 1);
    }
    bed_free(b);
}

/* The window says what the Entity of the row may say when an access leaves, no more
 * (§D.1.15); a bus instance that is gone says nothing. */
static void test_sender(void)
{
    Bed *b = bed_new(ROW_CTP);
    UbTa *ta = b->p->end[0].ta;
    UbSec *sec = b->p->end[0].sec;
    UbTaDest d = *ub_ta_dest(ta, ROW_CTP + 1);
    unsigned events = 0;

    ub_sec_guard(sec, true);
    for (unsigned instance = 0; instance < 2; instance++) {
        unsigned who = instance ? UB_SEC_INSTANCE(3) : 0;
        UbEid eid = d.sec.seid;

        if (instance) {
            ub_sec_set_entity(sec, 0, NULL, 0);
        }
        ub_sec_set_entity(sec, who, &eid, PAIR_UPI);
        d.sec.from = 1 + who;
        g_assert_true(ub_ta_set_dest(ta, ROW_CTP + 1, &d));
        put_le64(b->p->end[1].mem, 5);
        g_assert_cmphex(bed_load(b, AT, 8), ==, 5);
        ub_sec_set_entity(sec, who, instance ? NULL : &eid, PAIR_UPI + 1);
        g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
        bed_event_is(b, events++, UB_LDS_EVENT_REMOTE, AT, false, UB_TAS_OPCODE);
        bed_store(b, AT, 8, 6);
        bed_fence(b);
        bed_event_is(b, events++, UB_LDS_EVENT_REMOTE, AT, true, UB_TAS_OPCODE);
        g_assert_cmpuint(get_le64(b->p->end[1].mem), ==, 5);
        ub_sec_set_entity(sec, who, &eid, PAIR_UPI);
        g_assert_cmphex(bed_load(b, AT, 8), ==, 5);
    }
    bed_free(b);
}

/* ---- Time, links, resets --------------------------------------------------------------- */

static void test_timeout(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    int64_t before = b->p->now;
    UbTaState s;

    b->p->filter = bed_lose_requests;
    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    g_assert_cmpint(b->p->now - before, >=, BED_TIMEOUT);
    g_assert_cmpint(b->p->now - before, <, BED_TIMEOUT + 10000);
    bed_event_is(b, 0, UB_LDS_EVENT_TIMEOUT, AT, false, 0);
    b->p->filter = lose_answers;
    bed_store(b, AT, 8, 77);
    before = b->p->now;
    g_assert_cmphex(bed_fence(b), ==, 1);
    g_assert_cmpint(b->p->now - before, <, 2 * BED_TIMEOUT);
    bed_event_is(b, 1, UB_LDS_EVENT_TIMEOUT, AT, true, 0);
    /* Nothing of it is left, and life goes on. */
    ub_ta_state(b->p->end[0].ta, &s);
    g_assert_cmpuint(s.requests, ==, 0);
    b->p->filter = NULL;
    g_assert_cmphex(bed_load(b, AT, 8), ==, 77);
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 2);
    bed_free(b);
}

/* A dead peer beside one that lives costs those who ask it, and nobody else. */
static void test_dead_peer(void)
{
    Bed *b;
    UbLdsConfig cfg;
    UbLdsState s;

    bed_config(&cfg);
    cfg.stores = 8;
    cfg.combine = 0;
    b = bed_new_with(&cfg, pair_new(3, NULL), ROW_BYPASS);
    ub_ta_set_dest(b->p->end[0].ta, ROW_BYPASS + 1,
                   &(UbTaDest){ .tp = { .mode = UB_TP_BYPASS,
                                        .flow = { .cfg = UB_LPH_BYPASS,
                                                  .scna = 1, .dcna = 1 } },
                                .sl_writeback = UB_TA_SAME_SL, .mtu = 4096 });
    b->p->filter = bed_lose_all;
    for (unsigned i = 0; i < 8; i++) {
        bed_store(b, AT + 64 * i, 8, 1);
    }
    bed_run(b, BED_TIMEOUT + 1000);
    b->p->filter = NULL;
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 8);
    bed_store(b, 2 * AT, 8, 0x99);
    g_assert_cmphex(bed_load(b, 2 * AT, 8), ==, 0x99);
    ub_lds_state(b->l, &s);
    g_assert_cmpuint(s.under_way, ==, 0);
    bed_free(b);
}

static void test_link(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 }, v = { 0 };
    UbTaState s;
    uint64_t value;
    int64_t before;

    bed_store(b, AT + 4096, 8, 1);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    g_assert_false(ub_lds_load(b->l, b->p->now, BED_CONTROL, 8, &v, &value));
    ub_lds_link(b->l, b->p->now, 0, false);
    g_assert_true(w.ended);
    g_assert_cmphex(w.value, ==, UINT64_MAX);
    bed_run(b, 1);
    g_assert_true(v.ended);
    g_assert_cmphex(v.value, ==, 1);
    bed_count(b, UB_LDS_LINK_COUNT, 2);
    ub_ta_state(b->p->end[0].ta, &s);
    g_assert_cmpuint(s.requests, ==, 0);
    /* For a moment one waits for it to come back. */
    b->p->filter = bed_lose_all;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    bed_run(b, 1000);
    ub_lds_link(b->l, b->p->now, 0, true);
    bed_run(b, b->cfg.grace + 1000);
    g_assert_false(w.ended);
    ub_lds_link(b->l, b->p->now, 0, false);
    g_assert_true(w.ended);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    bed_run(b, b->cfg.grace);
    g_assert_true(w.ended);
    bed_count(b, UB_LDS_LINK_COUNT, 4);
    before = b->p->now;
    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    g_assert_cmpint(b->p->now, ==, before);
    bed_store(b, AT, 8, 1);
    g_assert_cmpuint(bed_fence(b), ==, 1);
    ub_lds_link(b->l, b->p->now, 0, true);
    b->p->filter = NULL;
    g_assert_cmphex(bed_load(b, AT, 8), ==, 0);
    bed_free(b);
}

/* One link of two: what names its port ends. */
static void test_one_link(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbTaDest d = *ub_ta_dest(b->p->end[0].ta, ROW_BYPASS + 1);
    UbLdsWait w = { 0 }, v = { 0 };
    uint64_t value;

    ub_lds_link(b->l, b->p->now, 1, true);
    d.tp.flow.port = 1;
    g_assert_true(ub_ta_set_dest(b->p->end[0].ta, 7, &d));
    bed_page(b, 17, PAIR_UBA, 7);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + MIB, 8, &v, &value));
    ub_lds_link(b->l, b->p->now, 1, false);
    g_assert_true(v.ended);
    g_assert_false(w.ended);
    bed_wait(b, &w);
    g_assert_cmphex(w.value, ==, 0);
    bed_free(b);
}

static void test_reset(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    End *e = &b->p->end[0];
    UbLdsWait w[3] = { 0 };
    uint64_t value;

    b->p->filter = bed_lose_all;
    bed_store(b, AT + 4096, 8, 1);
    bed_store(b, bed_slot(0, UB_LDS_SLOT_ADDR), 8, AT);
    bed_store(b, bed_slot(0, UB_LDS_SLOT_GO), 8, UB_TA_READ | 8 << 8);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w[0], &value));
    g_assert_false(ub_lds_load(b->l, b->p->now, BED_CONTROL, 8, &w[1],
                               &value));
    g_assert_false(ub_lds_load(b->l, b->p->now,
                               bed_slot(0, UB_LDS_SLOT_WAIT), 8, &w[2],
                               &value));
    bed_run(b, 1000);
    ub_ta_reset(e->ta);
    ub_space_reset(b->space, UB_SPACE_RESET_DEVICE, 0);
    ub_lds_reset(b->l, b->p->now);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(w[i].ended);
        g_assert_cmphex(w[i].value, ==, UINT64_MAX);
    }
    bed_count(b, UB_LDS_STOPPED_COUNT, 5);
    g_assert_cmphex(bed_load(b, bed_slot(0, UB_LDS_SLOT_STATUS), 8), ==, 0);
    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    bed_count(b, UB_LDS_RANGE_COUNT, 1);
    bed_free(b);
}

static void test_cancel(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 }, v = { 0 };
    uint64_t value;

    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    ub_lds_cancel(b->l, b->p->now, &w);
    g_assert_true(w.ended);
    g_assert_cmphex(w.value, ==, UINT64_MAX);
    bed_event_is(b, 0, UB_LDS_EVENT_STOPPED, AT, false, 0);
    ub_lds_cancel(b->l, b->p->now, &w);
    /* The answer comes, for nobody. */
    bed_run(b, 100000);
    pair_idle(b->p);
    bed_store(b, AT, 8, 1);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    g_assert_false(ub_lds_load(b->l, b->p->now, BED_CONTROL, 8, &v, &value));
    ub_lds_cancel_all(b->l, b->p->now);
    g_assert_true(w.ended && v.ended);
    bed_count(b, UB_LDS_STOPPED_COUNT, 3);
    g_assert_cmpuint(b->ended, ==, 3);
    bed_run(b, 100000);
    g_assert_cmphex(get_le64(b->p->end[1].mem), ==, 1);
    /* Who cannot wait gets all ones where a load would. */
    g_assert_true(ub_lds_load(b->l, b->p->now, AT, 8, NULL, &value));
    g_assert_cmphex(value, ==, UINT64_MAX);
    g_assert_true(ub_lds_load(b->l, b->p->now, BED_CONTROL, 8, NULL, &value));
    g_assert_cmphex(value, ==, 0);
    bed_store(b, AT, 8, 1);
    g_assert_true(ub_lds_load(b->l, b->p->now, BED_CONTROL, 8, NULL, &value));
    g_assert_cmphex(value, ==, UINT64_MAX);
    bed_count(b, UB_LDS_REFUSED_COUNT, 2);
    bed_free(b);
}

/* While nothing may happen no time runs. */
static void test_pause(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    bed_store(b, BED_CONTROL, 8, 0);
    bed_run(b, BED_TIMEOUT / 2);
    ub_lds_pause(b->l, b->p->now, true);
    g_assert_cmpint(ub_lds_run(b->l, b->p->now), ==, INT64_MAX);
    bed_run(b, BED_TIMEOUT / 4);
    ub_lds_pause(b->l, b->p->now, true);
    bed_run(b, BED_TIMEOUT / 4);
    ub_lds_pause(b->l, b->p->now, false);
    bed_run(b, BED_TIMEOUT / 4);
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 0);
    bed_run(b, BED_TIMEOUT / 4);
    bed_count(b, UB_LDS_TIMEOUT_COUNT, 1);
    ub_lds_pause(b->l, b->p->now, false);
    bed_free(b);
}

/* What comes while nothing may happen does not wait, and what is told then has not
 * begun earlier. */
static void test_paused(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 };
    uint64_t value;
    int64_t begun;

    bed_store(b, AT, 8, 1);
    ub_lds_pause(b->l, b->p->now, true);
    bed_run(b, BED_TIMEOUT / 2);
    g_assert_true(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    g_assert_cmphex(value, ==, UINT64_MAX);
    g_assert_true(ub_lds_load(b->l, b->p->now, BED_CONTROL, 8, &w, &value));
    g_assert_cmphex(value, ==, UINT64_MAX);
    bed_count(b, UB_LDS_REFUSED_COUNT, 2);
    /* Tables cannot be looked at either. */
    g_assert_true(ub_lds_load(b->l, b->p->now, MIB, 8, &w, &value));
    g_assert_cmphex(value, ==, UINT64_MAX);
    bed_store(b, MIB, 8, 1);
    bed_count(b, UB_LDS_REFUSED_COUNT, 4);
    bed_count(b, UB_LDS_RANGE_COUNT, 0);
    ub_lds_link(b->l, b->p->now, 0, false);
    b->p->filter = bed_lose_all;
    bed_run(b, BED_TIMEOUT / 4);
    ub_lds_pause(b->l, b->p->now, false);
    /* The link went when it paused: a moment is left for it, and not more. */
    begun = b->p->now;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 4096, 8, &w, &value));
    bed_wait(b, &w);
    g_assert_cmphex(w.value, ==, UINT64_MAX);
    g_assert_cmpint(b->p->now - begun, >=, b->cfg.grace);
    g_assert_cmpint(b->p->now - begun, <, b->cfg.grace + 10000);
    /* A reset in a pause. */
    ub_lds_pause(b->l, b->p->now, true);
    bed_run(b, BED_TIMEOUT);
    ub_lds_reset(b->l, b->p->now);
    bed_run(b, BED_TIMEOUT);
    ub_lds_pause(b->l, b->p->now, false);
    bed_enable(b);
    begun = b->p->now;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    bed_wait(b, &w);
    g_assert_cmpint(b->p->now - begun, >=, b->cfg.grace);
    g_assert_cmpint(b->p->now - begun, <, b->cfg.grace + 10000);
    b->p->filter = NULL;
    ub_lds_link(b->l, b->p->now, 0, true);
    bed_store(b, AT, 8, 5);
    g_assert_cmphex(bed_load(b, AT, 8), ==, 5);
    bed_free(b);
}

/* ---- The decoder's queues ------------------------------------------------------------------ */

static void test_commands(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    /* Several laps. */
    for (unsigned i = 0; i < 70; i++) {
        bed_sync(b);
        bed_run(b, 10);
        g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
        g_assert_cmphex(bed_get(b, UB_DECODER_CMDQ_CONS), ==, b->cmd_pi & 31);
    }
    bed_count(b, UB_LDS_QUEUE_COMMANDS_COUNT, 70);
    /* The queue full at once; one more is refused. */
    for (unsigned i = 0; i < 16; i++) {
        bed_command(b, UB_LDS_CMD_INVALIDATE_ALL, 0);
    }
    g_assert_cmpuint(b->guest_errors, ==, 0);
    bed_set(b, UB_DECODER_CMDQ_PROD, (b->cmd_pi + 1) & 31);
    g_assert_cmpuint(b->guest_errors, ==, 1);
    bed_run(b, 10);
    bed_count(b, UB_LDS_QUEUE_COMMANDS_COUNT, 86);
    bed_free(b);
}

/* Entries are remembered until they are invalidated, MiB by MiB. */
static void test_invalidate(void)
{
    Bed *b = bed_new(ROW_BYPASS);

    for (unsigned i = 0; i < 4; i++) {
        put_le64(b->p->end[1].mem + i * MIB, i);
        g_assert_cmphex(bed_load(b, AT + i * MIB, 8), ==, i);
    }
    bed_count(b, UB_LDS_MISSES_COUNT, 4);
    for (unsigned i = 0; i < 4; i++) {
        bed_page(b, 16 + i, PAIR_UBA + 8, ROW_BYPASS + 1);
        put_le64(bed_page(b, 16 + i, PAIR_UBA, ROW_BYPASS + 1), 0);
        g_assert_cmphex(bed_load(b, AT + i * MIB, 8), ==, i);
    }
    bed_count(b, UB_LDS_MISSES_COUNT, 4);
    bed_command(b, UB_LDS_CMD_INVALIDATE | 17ull << 32, 17);
    bed_run(b, 10);
    g_assert_cmphex(bed_load(b, AT, 8), ==, 0);
    g_assert_cmphex(bed_load(b, AT + MIB, 8), ==, UINT64_MAX);
    g_assert_cmphex(bed_load(b, AT + 2 * MIB, 8), ==, 2);
    bed_command(b, UB_LDS_CMD_INVALIDATE | 17ull << 32, 18);
    bed_run(b, 10);
    g_assert_cmphex(bed_load(b, AT, 8), ==, 0);
    g_assert_cmphex(bed_load(b, AT + 2 * MIB, 8), ==, UINT64_MAX);
    g_assert_cmphex(bed_load(b, AT + 3 * MIB, 8), ==, 3);
    bed_command(b, UB_LDS_CMD_INVALIDATE_ALL, 0);
    bed_run(b, 10);
    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    g_assert_cmphex(bed_load(b, AT + 3 * MIB, 8), ==, UINT64_MAX);
    bed_free(b);
}

/* SYNC behind an invalidation: what went by the old entries is over. */
static void test_sync(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    UbLdsWait w = { 0 };
    uint64_t value;

    b->p->delay = 50000;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT, 8, &w, &value));
    bed_sync(b);
    bed_run(b, 10);
    g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
    bed_command(b, UB_LDS_CMD_INVALIDATE | 16ull << 32, 16);
    bed_sync(b);
    bed_run(b, 50000);
    g_assert_cmphex(bed_synced(b), ==, 0);
    bed_run(b, 60000);
    g_assert_true(w.ended);
    g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
    /* A peer that is gone holds it up as long as an access may take. */
    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    bed_command(b, UB_LDS_CMD_INVALIDATE_ALL, 0);
    bed_sync(b);
    bed_run(b, BED_TIMEOUT / 2);
    g_assert_cmphex(bed_synced(b), ==, 0);
    bed_run(b, BED_TIMEOUT);
    g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
    bed_free(b);
}

static void test_illegal(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    const uint32_t err = UB_DECODER_CMDQ_CONS__CMDQ_ERR;
    unsigned bad;

    for (unsigned lap = 0; lap < 3; lap++) {
        uint32_t cons;

        bad = b->cmd_pi;
        bed_command(b, 0x77, 0);
        bed_sync(b);
        bed_run(b, 100);
        g_assert_cmphex(bed_synced(b), ==, 0);
        cons = bed_get(b, UB_DECODER_CMDQ_CONS);
        g_assert_cmphex(cons & 31, ==, bad & 31);
        g_assert_cmphex((cons ^ bed_get(b, UB_DECODER_CMDQ_PROD)) & err, ==,
                        err);
        g_assert_cmphex(cons >> 17, ==, UB_LDS_ERR_ILLEGAL);
        g_assert_cmphex(bed_event(b, lap, 0), ==,
                        UB_LDS_EVENT_COMMAND | 0x77ull << 32);
        /* As drivers do: another command in its place, and the bit. */
        put_le64(b->mem + BED_CMDQ + bad % 16 * 16, UB_LDS_CMD_INVALIDATE_ALL);
        bed_set(b, UB_DECODER_CMDQ_PROD, (b->cmd_pi & 31) | (cons & err));
        bed_run(b, 100);
        g_assert_cmphex(bed_synced(b), ==, 0xffffffff);
        g_assert_cmphex(bed_get(b, UB_DECODER_CMDQ_CONS) & 31, ==,
                        b->cmd_pi & 31);
    }
    /* Where there is no memory: read, and written. */
    bed_command(b, UB_LDS_CMD_SYNC | 1 << UB_LDS_SYNC_HOW_SHIFT, 0x900000);
    bed_run(b, 100);
    g_assert_cmphex(bed_get(b, UB_DECODER_CMDQ_CONS) >> 17, ==,
                    UB_LDS_ERR_ABORT);
    bed_set(b, UB_DECODER_CMDQ_CFG, 4 << 8);
    bed_set(b, UB_DECODER_CMDQ_CONS, 0);
    bed_set(b, UB_DECODER_CMDQ_PROD, 0);
    bed_set64(b, UB_DECODER_CMDQ_BASE_ADDR, 0x7fffffff00);
    bed_set(b, UB_DECODER_CMDQ_CFG, 4 << 8 | 1);
    bed_set(b, UB_DECODER_CMDQ_PROD, 1);
    bed_run(b, 100);
    g_assert_cmphex(bed_get(b, UB_DECODER_CMDQ_CONS), ==,
                    err | UB_LDS_ERR_ABORT << 17);
    bed_free(b);
}

static void test_events(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    const uint32_t ovfl = UB_DECODER_EVENTQ_PROD__EVENTQ_OVFL_ERR;

    for (unsigned i = 0; i < 16; i++) {
        bed_load(b, i * MIB, 8);
    }
    g_assert_cmphex(bed_get(b, UB_DECODER_EVENTQ_PROD), ==, 16);
    bed_load(b, 0, 8);
    bed_load(b, 0, 8);
    g_assert_cmphex(bed_get(b, UB_DECODER_EVENTQ_PROD), ==, 16 | ovfl);
    bed_count(b, UB_LDS_EVENTS_LOST_COUNT, 2);
    g_assert_cmpuint(b->interrupts, ==, 16);
    /* Read some, acknowledge; the index goes on through its wrap bit. */
    bed_set(b, UB_DECODER_EVENTQ_CONS, 15 | ovfl);
    for (unsigned i = 0; i < 15; i++) {
        bed_load(b, i * MIB, 8);
    }
    g_assert_cmphex(bed_get(b, UB_DECODER_EVENTQ_PROD), ==, 31 | ovfl);
    bed_load(b, 0, 8);
    g_assert_cmphex(bed_get(b, UB_DECODER_EVENTQ_PROD), ==, 31);
    bed_set(b, UB_DECODER_EVENTQ_CONS, 31);
    bed_load(b, 3 * MIB, 8);
    g_assert_cmphex(bed_get(b, UB_DECODER_EVENTQ_PROD), ==, 0);
    g_assert_cmphex(bed_event(b, 15, 0), ==, UB_LDS_EVENT_RANGE | 3ull << 32);
    /* No queue, no memory: lost. */
    bed_set(b, UB_DECODER_EVENTQ_CFG, 4 << 8);
    bed_load(b, 0, 8);
    bed_count(b, UB_LDS_EVENTS_LOST_COUNT, 4);
    bed_set64(b, UB_DECODER_EVENTQ_BASE_ADDR, 0x7fffffff00);
    bed_set(b, UB_DECODER_EVENTQ_CFG, 4 << 8 | 1);
    bed_load(b, 0, 8);
    bed_count(b, UB_LDS_EVENTS_LOST_COUNT, 5);
    bed_free(b);
}

/* Registers: sizes, widths, what is fixed while a queue is enabled. */
static void test_registers(void)
{
    static const unsigned fixed[] = {
        UB_DECODER_CMDQ_CFG, UB_DECODER_CMDQ_CONS, UB_DECODER_CMDQ_BASE_ADDR,
        UB_DECODER_CMDQ_BASE_ADDR + 1, UB_DECODER_EVENTQ_CFG,
        UB_DECODER_EVENTQ_PROD, UB_DECODER_EVENTQ_BASE_ADDR,
        UB_DECODER_EVENTQ_BASE_ADDR + 1,
    };
    const uint32_t vendor = UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP);
    Bed *b = bed_new(ROW_BYPASS);

    g_assert_cmphex(bed_get(b, UB_DECODER_DECODER), ==, 10 << 12 | 10 << 4);
    g_assert_cmphex(ub_space_read(b->space, vendor), ==,
                    UB_LDS_VD_USED << 4);
    g_assert_cmphex(ub_space_read(b->space, vendor + UB_LDS_VD_WINDOW), ==,
                    BED_WINDOW);
    g_assert_cmphex(ub_space_read(b->space, vendor + UB_LDS_VD_CONTROL), ==,
                    BED_CONTROL);
    g_assert_cmphex(ub_space_read(b->space, UB_CFG1_BASE + 1 + 240 / 32) >>
                    240 % 32 & 1, ==, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(fixed); i++) {
        uint32_t was = bed_get(b, fixed[i]);

        bed_set(b, fixed[i], was ^ 0x1840);
        g_assert_cmphex(bed_get(b, fixed[i]), ==, was);
        g_assert_cmpuint(b->guest_errors, >=, 1);
        b->guest_errors = 0;
    }
    bed_set(b, UB_DECODER_CMDQ_CFG, 4 << 8);
    bed_set(b, UB_DECODER_EVENTQ_CFG, 4 << 8);
    bed_set(b, UB_DECODER_CMDQ_CFG, 7 << 8);
    g_assert_cmphex(bed_get(b, UB_DECODER_CMDQ_CFG), ==, 7 << 8);
    bed_set(b, UB_DECODER_CMDQ_BASE_ADDR, 0xabc40);
    g_assert_cmphex(bed_get(b, UB_DECODER_CMDQ_BASE_ADDR), ==, 0xabc40);
    bed_set64(b, UB_DECODER_MATT_BA, UINT64_MAX);
    g_assert_cmphex(bed_get(b, UB_DECODER_MATT_BA), ==, UINT32_MAX);
    g_assert_cmpuint(b->guest_errors, ==, 0);
    ub_space_write(b->space, 0, vendor + UB_LDS_VD_VECTOR, 1023, 15);
    g_assert_cmphex(bed_get(b, UB_DECODER_USI_IDX), ==, 1023);
    ub_space_write(b->space, 0, vendor + UB_LDS_VD_VECTOR, 1024, 15);
    g_assert_cmpuint(b->guest_errors, ==, 1);
    g_assert_cmphex(ub_space_read(b->space, vendor + UB_LDS_VD_VECTOR), ==,
                    1023);
    bed_free(b);
}

static void test_config(void)
{
    static const struct {
        uint64_t window;
        unsigned code;
    } sizes[] = {
        { 1ull << 20, 0 }, { 1ull << 30, 0 }, { 1ull << 37, 0 },
        { 1ull << 38, 1 }, { 1ull << 44, 7 },
    };
    UbLdsConfig cfg, was;

    bed_config(&cfg);
    was = cfg;
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        Bed *b;

        cfg.window = sizes[i].window;
        b = bed_new_with(&cfg, pair_new(2, NULL), ROW_BYPASS);
        g_assert_cmphex(bed_get(b, UB_DECODER_DECODER) >> 16, ==,
                        sizes[i].code);
        bed_free(b);
    }
    cfg.window = 3 << 20;
    g_assert_nonnull(ub_lds_config_check(&cfg));
    g_assert_null(ub_lds_new(&cfg, &bed_ops, NULL));
    cfg.window = 1 << 19;
    g_assert_nonnull(ub_lds_config_check(&cfg));
    cfg.window = 1ull << 45;
    g_assert_nonnull(ub_lds_config_check(&cfg));
    cfg = was;
    cfg.mode = UB_UNO;
    g_assert_nonnull(ub_lds_config_check(&cfg));
    cfg = was;
    cfg.stores = 0;
    g_assert_nonnull(ub_lds_config_check(&cfg));
    ub_lds_free(NULL);
}

#define FIELD(f) offsetof(UbLdsConfig, f), sizeof(((UbLdsConfig *)0)->f)

/* The first and the last of each setting, and what is beyond. */
static void test_borders(void)
{
    const int64_t second = 1000000000, hour = 3600 * second;
    const struct {
        size_t at, size;
        int64_t good, bad;
    } borders[] = {
        { FIELD(window), 1 << 20, 1 << 19 },
        { FIELD(window), INT64_C(1) << 44, INT64_C(1) << 45 },
        { FIELD(loads), 1, 0 }, { FIELD(loads), 65536, 65537 },
        { FIELD(stores), 1, 0 }, { FIELD(stores), 65536, 65537 },
        { FIELD(timeout), hour, hour + 1 },
        { FIELD(timeout), second, 0 },
        { FIELD(timeout), second, -1 },
        { FIELD(grace), 0, -1 },
        { FIELD(grace), 10 * second, 10 * second + 1 },
        { FIELD(combine), 0, -1 }, { FIELD(combine), second, second + 1 },
        { FIELD(mode), UB_ROI, UB_ROT }, { FIELD(mode), UB_ROL, UB_UNO },
    };
    UbLdsConfig cfg;

    ub_lds_config_init(&cfg);
    g_assert_null(ub_lds_config_check(&cfg));
    g_assert_cmphex(cfg.rcid, ==, 0xfffff);
    for (unsigned i = 0; i < G_N_ELEMENTS(borders); i++) {
        uint8_t *field = (uint8_t *)&cfg + borders[i].at;

        ub_lds_config_init(&cfg);
        memcpy(field, &borders[i].good, borders[i].size);
        g_assert_null(ub_lds_config_check(&cfg));
        memcpy(field, &borders[i].bad, borders[i].size);
        g_assert_nonnull(ub_lds_config_check(&cfg));
    }
    g_assert_cmpstr(ub_lds_counter_name(0), ==, "loads");
    g_assert_cmpstr(ub_lds_counter_name(UB_LDS_COUNTERS_NUM - 1), ==,
                    "refused");
    g_assert_null(ub_lds_counter_name(UB_LDS_COUNTERS_NUM));
}

/* ---- Migration ---------------------------------------------------------------------------- */

/* Stores, commands and loads that were given up, at all moments of their life. */
static void test_migrate(void)
{
    for (unsigned t = 0; t < 30; t++) {
        Bed *b = bed_new(t % 2 ? ROW_CTP : ROW_BYPASS);
        uint8_t *mem = b->p->end[1].mem;
        UbLdsWait w = { 0 };
        uint64_t value, hits;

        for (unsigned i = 0; i < 6; i++) {
            bed_store(b, AT + 512 * i, 8, 0x100 + i);
        }
        bed_store(b, AT, 8, 0x200);
        put_slot(b, 5, UB_LDS_SLOT_DATA, "hello", 5);
        bed_store(b, bed_slot(5, UB_LDS_SLOT_ADDR), 8, AT + 65536);
        bed_store(b, bed_slot(5, UB_LDS_SLOT_GO), 8, UB_TA_WRITE | 5 << 8);
        g_assert_false(ub_lds_load(b->l, b->p->now, AT + 512, 8, &w, &value));
        bed_store(b, AT + 8192, 8, 0x300);
        bed_store(b, BED_CONTROL, 8, 0);
        bed_store(b, AT + 8192 + 1024, 8, 0x400);
        bed_run(b, t * 200);
        if (t % 4 < 2 && !w.ended) {
            ub_lds_cancel(b->l, b->p->now, &w);
        }
        hits = ub_lds_counter(b->l, UB_LDS_MISSES_COUNT);
        g_assert_cmpstr(bed_migrate(b), ==, NULL);
        g_assert_true(w.ended);     /* whatever happens, nobody waits then */
        g_assert_cmphex(bed_load(b, AT + 512, 8), ==, 0x101);
        /* The cache came cold. */
        bed_count(b, UB_LDS_MISSES_COUNT, hits + 1);
        g_assert_cmpuint(bed_fence(b), ==, 0);
        g_assert_cmphex(bed_load(b, bed_slot(5, UB_LDS_SLOT_WAIT), 8), ==,
                        UB_LDS_SLOT_DONE);
        g_assert_cmphex(get_le64(mem), ==, 0x200);
        g_assert_cmphex(get_le64(mem + 512 * 5), ==, 0x105);
        g_assert_cmphex(get_le64(mem + 8192), ==, 0x300);
        g_assert_cmphex(get_le64(mem + 9216), ==, 0x400);
        g_assert_cmpmem(mem + 65536, 5, "hello", 5);
        pair_idle(b->p);
        bed_free(b);
    }
}

/* Images that were tampered with are refused, or do no harm. */
static void test_images(void)
{
    Bed *b = bed_new(ROW_BYPASS);
    g_autofree uint8_t *data = NULL;
    size_t len;
    unsigned refused = 0;

    b->p->filter = bed_lose_all;
    bed_store(b, AT, 8, 1);
    bed_store(b, BED_CONTROL, 8, 0);
    bed_store(b, AT + 4096, 8, 1);
    bed_store(b, bed_slot(1, UB_LDS_SLOT_ADDR), 8, AT);
    bed_store(b, bed_slot(1, UB_LDS_SLOT_GO), 8, UB_TA_FETCH_ADD | 8 << 8);
    data = bed_save(b, &len);
    for (unsigned i = 0; i < 4000; i++) {
        g_autofree uint8_t *copy = g_memdup2(data, len);
        unsigned at = core_random(&b->p->rng) % len;
        /* The end has what is under way. */
        unsigned tail = MIN(len, 1200u);

        at = i & 1 ? at : len - 1 - at % tail;
        copy[at] ^= 1u << (i >> 1 & 7);
        ub_ta_reset(b->p->end[0].ta);
        if (bed_restore(b, copy, i % 50 ? len : at)) {
            refused++;
        } else {
            refused += !!ub_lds_loaded(b->l);
        }
        bed_run(b, 10);
        ub_lds_reset(b->l, b->p->now);
    }
    g_assert_cmpuint(refused, >, 1000);
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lds/slot/blocks", test_slot_blocks);
    g_test_add_func("/lds/slot/atomics", test_slot_atomics);
    g_test_add_func("/lds/slot/rules", test_slot_rules);
    g_test_add_func("/lds/refused", test_refused);
    g_test_add_func("/lds/peer", test_peer);
    g_test_add_func("/lds/sender", test_sender);
    g_test_add_func("/lds/timeout", test_timeout);
    g_test_add_func("/lds/dead-peer", test_dead_peer);
    g_test_add_func("/lds/link", test_link);
    g_test_add_func("/lds/one-link", test_one_link);
    g_test_add_func("/lds/reset", test_reset);
    g_test_add_func("/lds/cancel", test_cancel);
    g_test_add_func("/lds/pause", test_pause);
    g_test_add_func("/lds/pause/accesses", test_paused);
    g_test_add_func("/lds/queue/commands", test_commands);
    g_test_add_func("/lds/queue/invalidate", test_invalidate);
    g_test_add_func("/lds/queue/sync", test_sync);
    g_test_add_func("/lds/queue/illegal", test_illegal);
    g_test_add_func("/lds/queue/events", test_events);
    g_test_add_func("/lds/registers", test_registers);
    g_test_add_func("/lds/config", test_config);
    g_test_add_func("/lds/config/borders", test_borders);
    g_test_add_func("/lds/migrate", test_migrate);
    g_test_add_func("/lds/images", test_images);
    return g_test_run();
}
