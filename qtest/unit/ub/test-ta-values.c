/*
 * Transaction layer: its numbers.  Settings and their limits, rows that may be and may
 * not, names of peers, times, numbers that begin elsewhere, what integers do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

#include "internal.h"

/* ---- settings ---- */

static void test_defaults(void)
{
    UbTaConfig c;

    memset(&c, 0xff, sizeof(c));
    ub_ta_config_init(&c);
    g_assert_cmpuint(c.slice, ==, 65536);
    g_assert_cmpuint(c.max_len, ==, 0x80000000);
    g_assert_cmpuint(c.mtu, ==, 4096);
    g_assert_cmpuint(c.window, ==, 1024);
    g_assert_cmpuint(c.reserve, ==, 8);
    g_assert_cmpuint(c.depth, ==, 65536);
    g_assert_cmpuint(c.quantum, ==, 16);
    g_assert_cmpuint(c.peers, ==, 65536);
    g_assert_cmpuint(c.contexts, ==, 65536);
    g_assert_cmpuint(c.partial, ==, 4096);
    g_assert_cmpuint(c.answers, ==, 4096);
    g_assert_cmpuint(c.scs, ==, 1024);
    g_assert_cmpuint(c.sc_buffer, ==, 1024);
    g_assert_cmpuint(c.parked, ==, 256);
    g_assert_cmpuint(c.aggregate, ==, 32);
    g_assert_true(c.uno_no_taack && c.dedupe && c.tasks);
    g_assert_false(c.no_taack || c.accepted || c.compact6 || c.token_high ||
                   c.cas_swapped || c.clr_text || c.store_default_add ||
                   c.read_offset_request || c.notify_be || c.rsp_type_keep ||
                   c.poison_send);
    g_assert_cmpuint(c.retries, ==, 7);
    g_assert_cmpuint(c.rnr_timer, ==, 10);
    g_assert_cmpint(c.ack_timeout, ==, INT64_C(64000000000));
    g_assert_cmpint(c.dup_life, ==, 1000000000);
    g_assert_cmpint(c.hold_time, ==, 1000000000);
    g_assert_cmpuint(c.scale, ==, 1000);
    g_assert_cmpint(c.floor, ==, 0);
    g_assert_cmpuint(c.tassn_start, ==, 0);
    g_assert_cmpuint(c.entities, ==, 1);
}

#define LIMIT(field, value, good) do { \
        UbTaConfig c_; \
        ub_ta_config_init(&c_); \
        c_.field = (value); \
        if ((ub_ta_config_check(&c_) == NULL) != (good)) { \
            g_error(#field " of " #value); \
        } \
    } while (0)

/* Both sides of each. */
static void test_limits(void)
{
    const int64_t longest = INT64_C(1) << 40;
    UbTaConfig c;
    Pair *p;

    LIMIT(slice, 0, false);
    LIMIT(slice, 8191, false);
    LIMIT(slice, 8192, true);
    LIMIT(slice, 8193, false);
    LIMIT(slice, 12288, false);
    LIMIT(slice, 1 << 20, true);
    LIMIT(slice, (1 << 20) + 8192, false);
    LIMIT(max_len, 0, false);
    LIMIT(max_len, 1, true);
    LIMIT(max_len, 1u << 31, true);
    LIMIT(max_len, (1u << 31) + 1, false);
    LIMIT(mtu, 0, false);
    LIMIT(mtu, 1023, false);
    LIMIT(mtu, 1024, true);
    LIMIT(mtu, 1025, false);
    LIMIT(mtu, 4095, false);
    LIMIT(mtu, 4097, false);
    LIMIT(mtu, 8191, false);
    LIMIT(mtu, 8192, true);
    LIMIT(mtu, 8193, false);
    LIMIT(window, 0, false);
    LIMIT(window, 32, false);
    LIMIT(window, 63, false);
    LIMIT(window, 64, true);
    LIMIT(window, 65, false);
    LIMIT(window, 96, false);
    LIMIT(window, 4096, true);
    LIMIT(window, 8192, false);
    LIMIT(reserve, 0, true);
    LIMIT(reserve, 511, true);
    LIMIT(reserve, 512, false);
    LIMIT(depth, 0, false);
    LIMIT(depth, 1, true);
    LIMIT(quantum, 0, false);
    LIMIT(quantum, 1, true);
    LIMIT(peers, 0, false);
    LIMIT(peers, 1, true);
    LIMIT(contexts, 0, false);
    LIMIT(contexts, 1, true);
    LIMIT(partial, 0, false);
    LIMIT(partial, 1, true);
    LIMIT(answers, 0, false);
    LIMIT(answers, 1, true);
    LIMIT(scs, 0, true);
    LIMIT(scs, 65536, true);
    LIMIT(scs, 65537, false);
    LIMIT(aggregate, 0, false);
    LIMIT(aggregate, 1, true);
    LIMIT(aggregate, 32, true);
    LIMIT(aggregate, 33, false);
    LIMIT(rnr_timer, 0, true);
    LIMIT(rnr_timer, 19, true);
    LIMIT(rnr_timer, 20, false);
    LIMIT(ack_timeout, 0, false);
    LIMIT(ack_timeout, 1, true);
    LIMIT(ack_timeout, longest, true);
    LIMIT(ack_timeout, longest + 1, false);
    LIMIT(dup_life, -1, false);
    LIMIT(dup_life, 0, true);
    LIMIT(dup_life, longest, true);
    LIMIT(dup_life, longest + 1, false);
    LIMIT(hold_time, 0, false);
    LIMIT(hold_time, 1, true);
    LIMIT(hold_time, longest, true);
    LIMIT(hold_time, longest + 1, false);
    LIMIT(floor, -1, false);
    LIMIT(floor, 0, true);
    LIMIT(floor, longest, true);
    LIMIT(floor, longest + 1, false);
    LIMIT(scale, 0, false);
    LIMIT(scale, 1, true);
    LIMIT(scale, 1000000, true);
    LIMIT(scale, 1000001, false);
    LIMIT(tassn_start, 1, false);
    LIMIT(tassn_start, 2048, false);
    LIMIT(tassn_start, 4096, true);
    LIMIT(tassn_start, 0xf000, true);
    /* What changes, and what does not. */
    pair_config(&c);
    p = pair_new(2, &c);
    c.window = 512;
    g_assert_nonnull(ub_ta_configure(p->end[0].ta, &c));
    c.window = 1024;
    c.depth = 0;
    g_assert_nonnull(ub_ta_configure(p->end[0].ta, &c));
    c.depth = 77;
    g_assert_null(ub_ta_configure(p->end[0].ta, &c));
    g_assert_cmpuint(ub_ta_config(p->end[0].ta)->depth, ==, 77);
    pair_free(p);
}

/* ---- rows of destinations ---- */

/* Which LPH.CFG and forms of headers each carrier goes by. */
static const struct {
    uint16_t cfgs;
    uint8_t forms;
    bool cip;
} carriers[UB_TP_MODES] = {
    [UB_TP_RTP] = { 1 << UB_LPH_IPV4 | 1 << UB_LPH_IPV6 | 1 << UB_LPH_CNA24,
                    1 << UB_SEC_NONE | 1 << UB_SEC_WIDE, true },
    [UB_TP_CTP] = { 1 << UB_LPH_CNA16 | 1 << UB_LPH_CNA24,
                    1 << UB_SEC_NONE | 1 << UB_SEC_WIDE | 1 << UB_SEC_SHORT, true },
    [UB_TP_UTP] = { 1 << UB_LPH_IPV4 | 1 << UB_LPH_IPV6,
                    1 << UB_SEC_NONE | 1 << UB_SEC_WIDE, true },
    [UB_TP_BYPASS] = { 1 << UB_LPH_BYPASS, 1 << UB_SEC_NONE, false },
};

static void test_rows(void)
{
    static const uint32_t mtus[] = { 0, 1023, 1024, 1025, 2048, 4095, 4096, 4097,
                                     8191, 8192, 8193 };
    UbTaDest d = { .mtu = 4096, .sl_writeback = UB_TA_SAME_SL };

    for (unsigned i = 0; i < (UB_TP_MODES + 1) * 16 * 4 * 2; i++) {
        unsigned mode = i / 128, cfg = i / 8 % 16, form = i / 2 % 4;
        bool cip = i & 1, good;

        good = mode < UB_TP_MODES && carriers[mode].cfgs >> cfg & 1 &&
               carriers[mode].forms >> form & 1 && (!cip || carriers[mode].cip);
        d.tp.mode = mode;
        d.tp.flow.cfg = cfg;
        d.sec.form = form;
        d.sec.cip = cip;
        g_assert_cmpint(ta_dest_good(&d), ==, good);
    }
    d.tp.mode = UB_TP_CTP;
    d.tp.flow.cfg = UB_LPH_CNA24;
    d.sec.form = UB_SEC_WIDE;
    for (unsigned i = 0; i < G_N_ELEMENTS(mtus); i++) {
        d.mtu = mtus[i];
        g_assert_cmpint(ta_dest_good(&d), ==, d.mtu == 1024 || d.mtu == 4096 ||
                        d.mtu == 8192);
    }
    d.mtu = 8192;
    for (unsigned sl = 0; sl < 256; sl++) {
        d.sl_writeback = sl;
        g_assert_cmpint(ta_dest_good(&d), ==, sl < 16 || sl == UB_TA_SAME_SL);
    }
}

/* The table has its rows and no more; what changes is looked at again. */
static void test_row_numbers(void)
{
    Pair *p = pair_new(2, NULL);
    UbTa *ta = p->end[0].ta;
    UbTaDest d = *ub_ta_dest(ta, ROW_CTP + 1);
    uint32_t rows = ta->rows;

    g_assert_true(ub_ta_set_dest(ta, UB_TA_DESTS - 1, &d));
    g_assert_cmpuint(ta->rows, ==, rows + 1);
    g_assert_nonnull(ub_ta_dest(ta, UB_TA_DESTS - 1));
    g_assert_null(ub_ta_dest(ta, UB_TA_DESTS));
    g_assert_null(ub_ta_dest(ta, UB_TA_DESTS + UB_TA_OWN_DESTS));
    g_assert_null(ub_ta_dest(ta, UINT32_MAX));
    g_assert_true(ub_ta_set_dest(ta, UB_TA_DESTS + UB_TA_OWN_DESTS - 1, &d));
    g_assert_nonnull(ub_ta_dest(ta, UB_TA_DESTS + UB_TA_OWN_DESTS - 1));
    g_assert_false(ub_ta_set_dest(ta, UB_TA_DESTS + UB_TA_OWN_DESTS, &d));
    ta->rows = UINT32_MAX;
    g_assert_true(ub_ta_set_dest(ta, 5000, &d));
    g_assert_cmpuint(ta->rows, ==, 1);      /* 0 is what was never looked at */
    /* Vacant ones, round the table. */
    g_assert_cmpuint(ub_ta_dest_vacant(ta, 5000), ==, 5001);
    g_assert_cmpuint(ub_ta_dest_vacant(ta, UB_TA_DESTS - 1), <, 5000);
    g_assert_true(ub_ta_set_dest(ta, 5000, NULL));
    g_assert_cmpuint(ub_ta_dest_vacant(ta, 5000), ==, 5000);
    pair_free(p);
}

/* ---- queues ---- */

static void test_queues(void)
{
    static const struct {
        UbTaQueueConfig cfg;
        bool good;
    } rows[] = {
        { { .rcid = UB_TA_IDS - 1 }, true }, { { .rcid = UB_TA_IDS }, false },
        { { .mode = UB_UNO }, true }, { { .mode = UB_TA_MODES }, false },
        { { .scid = UB_TA_IDS - 1 }, true }, { { .scid = UB_TA_IDS }, false },
        { { .patience = UB_TA_GEARS }, true },
        { { .patience = UB_TA_GEARS + 1 }, false },
    };
    Pair *p = pair_new(2, NULL);
    UbTa *ta = p->end[0].ta;
    UbTaState s;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbTaQueue *q = ub_ta_queue_new(ta, &rows[i].cfg);

        g_assert_cmpint(q != NULL, ==, rows[i].good);
        ub_ta_state(ta, &s);
        g_assert_cmpuint(s.queues, ==, rows[i].good);
        if (q) {
            g_assert_true(ub_ta_queue(ta, rows[i].cfg.rcid) == q);
            g_assert_null(ub_ta_queue_new(ta, &rows[i].cfg));   /* twice */
            ub_ta_queue_set_tries(q, 3, 200);
            g_assert_cmpuint(ub_ta_queue_config(q)->tries, ==, 3);
            g_assert_cmpuint(ub_ta_queue_config(q)->patience, ==, UB_TA_GEARS);
        }
        ub_ta_queue_free(q);
        g_assert_null(ub_ta_queue(ta, rows[i].cfg.rcid));
    }
    ub_ta_queue_free(NULL);
    pair_free(p);
}

/* A queue of an image is its owner's, or not. */
static void test_fits(void)
{
    const UbTaQueueConfig cfg = {
        .rcid = 7, .mode = UB_ROT, .in_order = true, .stop_on_error = true,
        .static_sc = true, .scid = 9, .entity = 3, .tries = 4, .patience = 2,
    };
    Pair *p = pair_new(2, NULL);
    UbTaQueue *q = ub_ta_queue_new(p->end[0].ta, &cfg);
    UbTaQueueConfig c;

#define OTHER(member, value) do { \
        c = cfg; \
        c.member = value; \
        if (ub_ta_queue_fits(q, &c, false)) { \
            g_error(#member); \
        } \
    } while (0)
    g_assert_true(ub_ta_queue_fits(q, &cfg, false));
    g_assert_false(ub_ta_queue_fits(q, &cfg, true));
    OTHER(rcid, 8);
    OTHER(mode, UB_ROI);
    OTHER(in_order, false);
    OTHER(stop_on_error, false);
    OTHER(static_sc, false);
    OTHER(scid, 10);
    OTHER(entity, 4);
    OTHER(tries, 5);
    OTHER(patience, 3);
    ub_ta_queue_stop(q, true);
    g_assert_true(ub_ta_queue_fits(q, &cfg, true));
    g_assert_false(ub_ta_queue_fits(q, &cfg, false));   /* by nobody's error */
    pair_free(p);
}

static bool lose_first_write(Pair *p, Wire *w)
{
    return w->from != 0 || p->packets != 1;
}

/* An error that waits for what was posted before it has stopped its queue, and nobody
 * has heard of it. */
static void test_fails_later(void)
{
    for (unsigned stop = 0; stop < 2; stop++) {
        UbTaQueueConfig cfg = { .rcid = 7, .mode = UB_ROI, .in_order = true,
                                .stop_on_error = stop };
        Pair *p = pair_new(2, NULL);
        UbTaQueue *q = ub_ta_queue_new(p->end[0].ta, &cfg);
        Work *w[2];

        g_assert_false(ub_ta_queue_begun(q));
        p->filter = lose_first_write;
        for (unsigned i = 0; i < 2; i++) {
            w[i] = work_new(ROW_CTP + 1, UB_TA_WRITE, 64 * i, 8);
            w[i]->req.token_id += i;
            work_post(p, 0, 7, w[i]);
            g_assert_cmpuint(ub_ta_queue_len(q), ==, i + 1);
        }
        g_assert_false(ub_ta_queue_begun(q));
        pair_run_for(p, 1000000);
        g_assert_true(w[1]->req.finished && !w[1]->done);
        g_assert_true(ub_ta_queue_begun(q));
        g_assert_cmpint(ub_ta_queue_stopped(q), ==, stop);
        g_assert_true(ub_ta_queue_fits(q, &cfg, stop));
        g_assert_true(ub_ta_queue_fits(q, &cfg, false));
        pair_run(p);
        g_assert_cmpint(w[0]->status, ==, UB_TAS_TIMEOUT);
        g_assert_cmpint(w[1]->status, ==, UB_TAS_ABORT);
        g_assert_false(ub_ta_queue_begun(q));
        g_assert_cmpint(ub_ta_queue_fits(q, &cfg, false), ==, !stop);
        work_free(w[0]);
        work_free(w[1]);
        pair_free(p);
    }
}

/* As many requests as a queue may have, and one more. */
static void test_depth(void)
{
    UbTaConfig cfg;
    UbTaQueue *q;
    Work *w[3];
    Pair *p;

    pair_config(&cfg);
    cfg.depth = 2;
    p = pair_new(2, &cfg);
    q = pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < 3; i++) {
        w[i] = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
        g_assert_cmpint(ub_ta_post(p->end[0].ta, q, &w[i]->req), ==, i < 2);
    }
    g_assert_cmpuint(ub_ta_queue_len(q), ==, 2);
    pair_run(p);
    g_assert_true(w[0]->done && w[1]->done && !w[2]->done);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_DONE), ==, 2);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_FAILED), ==, 0);
    for (unsigned i = 0; i < 3; i++) {
        work_free(w[i]);
    }
    pair_free(p);
}

/* ---- names of peers ---- */

static void test_names(void)
{
    UbFlow f = { .cfg = UB_LPH_CNA24, .scna = 0x123456, .dcna = 0x789abc };
    static const uint8_t places[] = { 0, 7, 8, 15 };
    UbSecHead h = { .form = UB_SEC_WIDE };
    UbEid eid, got;
    uint64_t six;
    Key a = { .who = 1, .rc = 2, .entity = 3 }, b = a;

    g_assert_cmphex(ta_who(&f, true), ==, 0x123456);
    g_assert_cmphex(ta_who(&f, false), ==, 0x789abc);
    f.cfg = UB_LPH_CNA16;
    g_assert_cmphex(ta_who(&f, true), ==, 0x123456);
    f.cfg = UB_LPH_IPV4;
    memcpy(f.ip.src, (uint8_t[]) { 10, 1, 2, 3 }, 4);
    memcpy(f.ip.dst, (uint8_t[]) { 192, 168, 4, 5 }, 4);
    g_assert_cmphex(ta_who(&f, true), ==, 0x10a010203);
    g_assert_cmphex(ta_who(&f, false), ==, 0x1c0a80405);
    /* Of IPv6 all bytes count. */
    f.cfg = UB_LPH_IPV6;
    six = ta_who(&f, true);
    g_assert_cmpuint(six >> 63, ==, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++) {
        f.ip.src[places[i]] ^= 1;
        g_assert_cmphex(ta_who(&f, true), !=, six);
        f.ip.src[places[i]] ^= 1;
    }
    g_assert_cmphex(ta_who(&f, true), ==, six);
    g_assert_cmphex(ta_who(&f, false), !=, six);
    /* EIDs as they come back. */
    for (unsigned i = 0; i < UB_EID_LEN; i++) {
        eid.b[i] = 0xa0 + i;
    }
    got = ta_eid(&h, &eid);
    g_assert_cmpmem(&got, sizeof(got), &eid, sizeof(eid));
    h.form = UB_SEC_SHORT;
    got = ta_eid(&h, &eid);
    eid = ub_eid_of_short(0xdaeaf);
    g_assert_cmpmem(&got, sizeof(got), &eid, sizeof(eid));
    h.form = UB_SEC_NONE;
    got = ta_eid(&h, &eid);
    eid = ub_eid_of_short(0);
    g_assert_cmpmem(&got, sizeof(got), &eid, sizeof(eid));
    /* Names of lanes and contexts. */
    g_assert_true(ta_key_equal(&a, &b));
    g_assert_cmpuint(ta_key_hash(&a), ==, ta_key_hash(&b));
    b.who++;
    g_assert_false(ta_key_equal(&a, &b));
    b = a;
    b.rc++;
    g_assert_false(ta_key_equal(&a, &b));
    b = a;
    b.entity++;
    g_assert_false(ta_key_equal(&a, &b));
    b = a;
    b.eid.b[15]++;
    g_assert_false(ta_key_equal(&a, &b));
}

static void test_times(void)
{
    UbTaConfig cfg;
    Pair *p;
    UbTa *ta;

    pair_config(&cfg);
    p = pair_new(2, &cfg);
    ta = p->end[0].ta;
    g_assert_cmpint(ta_time(ta, 12345), ==, 12345);
    g_assert_cmpint(ta_rnr_time(ta, 0), ==, 2000);
    g_assert_cmpint(ta_rnr_time(ta, 1), ==, 4000);
    g_assert_cmpint(ta_rnr_time(ta, 19), ==, 1048576000);
    g_assert_cmpint(ta_rnr_time(ta, 20), ==, 1048576000);
    cfg.scale = 2500;
    cfg.floor = 3000;
    g_assert_null(ub_ta_configure(ta, &cfg));
    g_assert_cmpint(ta_time(ta, 1000), ==, 3000);
    g_assert_cmpint(ta_time(ta, 1200), ==, 3000);
    g_assert_cmpint(ta_time(ta, 1204), ==, 3010);
    g_assert_cmpint(ub_ta_gear(1), ==, 1000000000);
    g_assert_cmpint(ub_ta_gear(2), ==, INT64_C(8000000000));
    g_assert_cmpint(ub_ta_gear(4), ==, ub_ta_gear(3));
    for (unsigned i = 0; i < UB_TA_OPCODES; i++) {
        g_assert_true(ub_ta_op(i) == &ub_ta_ops[i]);
    }
    g_assert_null(ub_ta_op(UB_TA_OPCODES)->name);
    pair_free(p);
}

/* ---- numbers that begin elsewhere ---- */

static void test_starts(void)
{
    static const struct { uint16_t start, next, want; } rows[] = {
        { 0, 0, 0 }, { 0, 1, 0x1000 }, { 0, 0x0fff, 0x1000 },
        { 0, 0x1000, 0x1000 }, { 0, 0x1001, 0x2000 }, { 0, 0x1fff, 0x2000 },
        { 0, 0x2000, 0 }, { 0x1000, 0x0fff, 0x1000 }, { 0xf000, 0xf001, 0 },
        { 0xf000, 0x0001, 0x1000 }, { 0x3000, 0x2001, 0x3000 },
    };
    Pair *p = pair_new(2, NULL);
    UbTa *ta = p->end[0].ta;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Lane lane = { .ta = ta, .next = 0x70000 + rows[i].next };

        ta->start = rows[i].start;
        ta_lane_begin_ahead(&lane);
        g_assert_cmphex(ta->start, ==, rows[i].want);
    }
    /* Another life: elsewhere again. */
    ta->start = 0;
    pair_queue(p, 0, 7, UB_ROI);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    ub_ta_queue_free(ub_ta_queue(ta, 7));
    g_assert_cmphex(ta->start, ==, 0x2000);
    ub_ta_reset(ta);
    g_assert_cmphex(ta->start, ==, 0x3000);
    pair_free(p);
}

/* A lane that gives its place to another: what follows begins elsewhere. */
static void test_place(void)
{
    UbTaConfig cfg;
    Pair *p;

    pair_config(&cfg);
    cfg.peers = 1;
    p = pair_new(3, &cfg);
    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < 2; i++) {
        work_all(p, 0, 7, work_new(ROW_CTP + 1 + i, UB_TA_WRITE, 0, 8), UB_TAS_OK);
        g_assert_cmphex(p->end[0].ta->start, ==, 0x2000 * i);
    }
    pair_free(p);
}

/* A number that nobody has seen is used again. */
static void test_number_again(void)
{
    Pair *p = pair_new(2, NULL);
    UbTaState s;
    Work *w, *bad;

    p->tracing = true;
    pair_queue(p, 0, 7, UB_ROI);
    p->end[0].gather_result = UB_TA_DATA_FAULT;
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8),
             UB_TAS_LOCAL_ACCESS);
    ub_ta_state(p->end[0].ta, &s);
    g_assert_cmpuint(s.slices, ==, 0);
    p->end[0].gather_result = UB_TA_DATA_OK;
    w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
    work_post(p, 0, 7, w);
    ub_ta_run(p->end[0].ta, p->now, 10);
    g_assert_cmpuint(p->end[0].sent->len, ==, 1);
    g_assert_nonnull(strstr(p->end[0].sent->pdata[0], "Write tassn=0 "));
    /* Behind one that is under way, too. */
    p->end[0].gather_result = UB_TA_DATA_FAULT;
    bad = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
    work_post(p, 0, 7, bad);
    ub_ta_run(p->end[0].ta, p->now, 10);
    g_assert_cmpint(bad->status, ==, UB_TAS_LOCAL_ACCESS);
    work_free(bad);
    ub_ta_state(p->end[0].ta, &s);
    g_assert_cmpuint(s.slices, ==, 1);
    g_assert_cmpuint(s.requests, ==, 1);
    p->end[0].gather_result = UB_TA_DATA_OK;
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    g_assert_nonnull(strstr(p->end[0].sent->pdata[1], "Write tassn=1 "));
    g_assert_true(w->done);
    work_free(w);
    pair_idle(p);
    pair_free(p);
}

/* ---- integers ---- */

static const struct {
    uint8_t opcode, sub;
    uint32_t len;
    uint64_t mem, op, want;
} sums[] = {
    { UB_TA_ATOMIC_LOAD, 6, 1, 0x10, 0x11, 0x11 },
    { UB_TA_ATOMIC_LOAD, 6, 1, 0x11, 0x10, 0x11 },
    { UB_TA_ATOMIC_LOAD, 7, 1, 0x10, 0x11, 0x10 },
    { UB_TA_ATOMIC_LOAD, 7, 1, 0x11, 0x10, 0x10 },
    { UB_TA_ATOMIC_LOAD, 4, 1, 0x80, 0x7f, 0x7f },
    { UB_TA_ATOMIC_LOAD, 5, 1, 0x80, 0x7f, 0x80 },
    { UB_TA_ATOMIC_LOAD, 4, 1, 0xfe, 0xff, 0xff },
    { UB_TA_ATOMIC_LOAD, 6, 1, 0x80, 0x7f, 0x80 },
    { UB_TA_ATOMIC_LOAD, 4, 2, 0x8000, 1, 1 },
    { UB_TA_ATOMIC_LOAD, 4, 4, 0x80000000, 1, 1 },
    { UB_TA_ATOMIC_LOAD, 4, 8, UINT64_C(1) << 63, 1, 1 },
    { UB_TA_ATOMIC_LOAD, 5, 8, UINT64_C(1) << 63, 1, UINT64_C(1) << 63 },
    { UB_TA_ATOMIC_LOAD, 6, 16, 2, 3, 3 }, { UB_TA_ATOMIC_LOAD, 7, 16, 2, 3, 2 },
    { UB_TA_ATOMIC_LOAD, 0, 1, 0xff, 1, 0 },
    { UB_TA_ATOMIC_LOAD, 1, 1, 0xff, 0x0f, 0xf0 },
    { UB_TA_ATOMIC_LOAD, 2, 1, 0xff, 0x0f, 0xf0 },
    { UB_TA_ATOMIC_LOAD, 2, 1, 0x0f, 0xff, 0xf0 },
    { UB_TA_ATOMIC_LOAD, 3, 1, 0xf0, 0x0f, 0xff },
    { UB_TA_FETCH_ADD, 0, 16, UINT64_MAX, 1, 0 },
    { UB_TA_FETCH_SUB, 0, 2, 0, 1, 0xffff },
    { UB_TA_FETCH_AND, 0, 1, 0xfc, 0x3f, 0x3c },
    { UB_TA_FETCH_OR, 0, 1, 0xc0, 0x03, 0xc3 },
    { UB_TA_FETCH_XOR, 0, 1, 0xff, 0x03, 0xfc },
    { UB_TA_ATOMIC_SWAP, 0, 1, 0xff, 0x03, 0x03 },
};

static void test_sums(void)
{
    UbTaConfig cfg;

    ub_ta_config_init(&cfg);
    for (unsigned i = 0; i < G_N_ELEMENTS(sums); i++) {
        UbTah t = { .opcode = sums[i].opcode, .ud_flag = true,
                    .ud = sums[i].sub << 20 | 0xff0fffff };
        uint8_t mem[UB_TA_ATOMIC_MAX] = { 0 }, op[2 * UB_TA_ATOMIC_MAX] = { 0 };
        uint8_t old[UB_TA_ATOMIC_MAX];

        memset(mem, 0xee, sizeof(mem));
        memset(mem, 0, sums[i].len);
        for (unsigned b = 0; b < MIN(sums[i].len, 8); b++) {
            mem[b] = sums[i].mem >> 8 * b;
            op[b] = sums[i].op >> 8 * b;
        }
        g_assert_true(ta_atomic_valid(&cfg, &t));
        ta_atomic(&cfg, &t, mem, op, old, sums[i].len);
        for (unsigned b = 0; b < MIN(sums[i].len, 8); b++) {
            g_assert_cmphex(mem[b], ==, (uint8_t)(sums[i].want >> 8 * b));
            g_assert_cmphex(old[b], ==, (uint8_t)(sums[i].mem >> 8 * b));
        }
        if (sums[i].len == 16) {
            g_assert_cmphex(mem[8], ==, sums[i].mem == UINT64_MAX);
        }
        g_assert_cmphex(mem[sums[i].len], ==, 0xee);
    }
}

/* Sub-operations that there are; without UDETAH there is none, or ADD. */
static void test_subs(void)
{
    UbTaConfig cfg;
    UbTah t = { .opcode = UB_TA_ATOMIC_STORE };
    uint8_t mem[8] = { 5 }, op[16] = { 7 }, old[8];

    ub_ta_config_init(&cfg);
    for (unsigned sub = 0; sub < 16; sub++) {
        t.ud_flag = true;
        t.ud = sub << 20;
        t.opcode = sub & 1 ? UB_TA_ATOMIC_STORE : UB_TA_ATOMIC_LOAD;
        g_assert_cmpint(ta_atomic_valid(&cfg, &t), ==, sub < 8);
        t.opcode = UB_TA_FETCH_ADD;
        g_assert_true(ta_atomic_valid(&cfg, &t));
    }
    t = (UbTah) { .opcode = UB_TA_ATOMIC_STORE, .ud = 3 << 20 };
    g_assert_false(ta_atomic_valid(&cfg, &t));
    cfg.store_default_add = true;
    g_assert_true(ta_atomic_valid(&cfg, &t));
    ta_atomic(&cfg, &t, mem, op, old, 8);
    g_assert_cmpuint(mem[0], ==, 12);
    g_assert_cmpuint(old[0], ==, 5);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/values/defaults", test_defaults);
    g_test_add_func("/ub/ta/values/limits", test_limits);
    g_test_add_func("/ub/ta/values/rows", test_rows);
    g_test_add_func("/ub/ta/values/row-numbers", test_row_numbers);
    g_test_add_func("/ub/ta/values/queues", test_queues);
    g_test_add_func("/ub/ta/values/fits", test_fits);
    g_test_add_func("/ub/ta/values/fails-later", test_fails_later);
    g_test_add_func("/ub/ta/values/depth", test_depth);
    g_test_add_func("/ub/ta/values/names", test_names);
    g_test_add_func("/ub/ta/values/times", test_times);
    g_test_add_func("/ub/ta/values/starts", test_starts);
    g_test_add_func("/ub/ta/values/place", test_place);
    g_test_add_func("/ub/ta/values/number-again", test_number_again);
    g_test_add_func("/ub/ta/values/sums", test_sums);
    g_test_add_func("/ub/ta/values/subs", test_subs);
    return g_test_run();
}
