/*
 * Transaction layer: a guest that writes rows of destinations under its requests,
 * images and peers that want what is not theirs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

#include "internal.h"

static UbSegment *segment(Pair *p, unsigned node)
{
    return ub_segments_find(p->end[node].segments, 0, PAIR_TOKEN_ID, PAIR_UBA);
}

/* ---- rows that change under requests ---- */

/* A request whose first go was refused by a page fault waits for its timer. */
static Work *refused_once(Pair *p, uint32_t row, uint8_t opcode, uint64_t off,
                          uint32_t len)
{
    Work *w = work_new(row, opcode, off, len);

    memset(w->data, 0x5a, len);
    memset(w->req.be, 0xff, sizeof(w->req.be));
    pair_queue(p, 0, 7, UB_ROI);
    segment(p, 1)->pages = UB_SEGMENT_FAULT;
    segment(p, 1)->timer = 10;          /* 2 ms */
    work_post(p, 0, 7, w);
    pair_run_for(p, 100000);
    g_assert_false(w->done);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_FAULT_RX), ==, 1);
    segment(p, 1)->pages = UB_SEGMENT_THERE;
    return w;
}

/* In compact form byte enables cover whole blocks, which these are not parts of. */
static void test_row_form(void)
{
    static const struct {
        uint64_t off;
        uint32_t len;
    } rows[] = { { 0x1001, 64 }, { 0x103f, 1024 }, { 0x1001, 512 } };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Pair *p = pair_new(2, NULL);
        UbTaDest bypass = *ub_ta_dest(p->end[0].ta, ROW_BYPASS + 1);
        Work *w = refused_once(p, ROW_CTP7 + 1, UB_TA_WRITE_BE, rows[i].off,
                               rows[i].len);

        g_assert_true(ub_ta_set_dest(p->end[0].ta, ROW_CTP7 + 1, &bypass));
        pair_run(p);
        g_assert_true(w->done);
        g_assert_cmpint(w->status, ==, UB_TAS_LOCAL_LENGTH);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 1);
        work_free(w);
        pair_idle(p);
        pair_free(p);
    }
}

/* What goes again has a number of its lane, which another peer, or another form, knows
 * nothing of. */
static void test_row_peer(void)
{
    static const struct {
        uint32_t row;
        UbTaStatus status;
    } rows[] = {
        { ROW_CTP7 + 2, UB_TAS_OPCODE }, { ROW_BYPASS + 1, UB_TAS_OPCODE },
        { ROW_CTP7 + 1, UB_TAS_OK }, { ROW_RTP + 1, UB_TAS_OK },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Pair *p = pair_new(3, NULL);
        UbTaDest to = *ub_ta_dest(p->end[0].ta, rows[i].row);
        Work *w = refused_once(p, ROW_CTP7 + 1, UB_TA_WRITE, 0, 64);

        to.tp.flow.sl = 3;
        g_assert_true(ub_ta_set_dest(p->end[0].ta, ROW_CTP7 + 1, &to));
        pair_run(p);
        g_assert_true(w->done);
        g_assert_cmpint(w->status, ==, rows[i].status);
        g_assert_cmpuint(p->end[1].mem[0], ==,
                         rows[i].status ? 0 : 0x5a);
        g_assert_cmpuint(p->end[2].mem[0], ==, 0);
        work_free(w);
        pair_idle(p);
        pair_free(p);
    }
}

/* A row that is set to what it is stays that; a Write by it arrives. */
static void test_row_same(void)
{
    Pair *p = pair_new(2, NULL);
    UbTa *ta = p->end[0].ta;
    UbTaDest was = *ub_ta_dest(ta, ROW_CTP + 1);
    Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 64);

    g_assert_true(ub_ta_set_dest(ta, ROW_CTP + 1, ub_ta_dest(ta, ROW_CTP + 1)));
    g_assert_cmpmem(ub_ta_dest(ta, ROW_CTP + 1), sizeof(was), &was, sizeof(was));
    pair_queue(p, 0, 7, UB_ROI);
    work_post(p, 0, 7, w);
    pair_run(p);
    g_assert_cmpint(w->status, ==, UB_TAS_OK);
    work_free(w);
    pair_idle(p);
    pair_free(p);
}

/* A slice of several packets has them put together by a channel alone. */
static void test_row_long(void)
{
    Pair *p = pair_new(2, NULL);
    UbTaDest ctp = *ub_ta_dest(p->end[0].ta, ROW_CTP7 + 1);
    Work *w = refused_once(p, ROW_RTP + 1, UB_TA_WRITE, 0, 30000);

    g_assert_true(ub_ta_set_dest(p->end[0].ta, ROW_RTP + 1, &ctp));
    pair_run(p);
    g_assert_true(w->done);
    g_assert_cmpint(w->status, ==, UB_TAS_OPCODE);
    work_free(w);
    pair_idle(p);
    pair_free(p);
}

/* A packet that is made and found no room is not sent where the row leads now. */
static void test_row_stuck(void)
{
    static const struct {
        uint32_t row;
        UbTaStatus status;
    } rows[] = {
        { ROW_CTP7 + 2, UB_TAS_OPCODE }, { ROW_BYPASS + 1, UB_TAS_OPCODE },
        { ROW_RTP + 1, UB_TAS_OK },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Pair *p = pair_new(3, NULL);
        UbTaDest to = *ub_ta_dest(p->end[0].ta, rows[i].row);
        Work *w = work_new(ROW_CTP7 + 1, UB_TA_WRITE, 0, 64);

        memset(w->data, 0x5a, 64);
        pair_queue(p, 0, 7, UB_ROI);
        p->busy = 1000000;
        work_post(p, 0, 7, w);
        pair_run_for(p, 10000);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_BUSY), >, 0);
        g_assert_true(ub_ta_set_dest(p->end[0].ta, ROW_CTP7 + 1, &to));
        pair_run_for(p, 10000);
        p->busy = 0;
        ub_ta_room(p->end[0].ta, UB_TP_NONE);
        for (uint32_t tpn = 0; tpn < 64; tpn++) {
            ub_ta_room(p->end[0].ta, tpn);
        }
        pair_run(p);
        g_assert_true(w->done);
        g_assert_cmpint(w->status, ==, rows[i].status);
        g_assert_cmpuint(p->end[1].mem[0], ==, rows[i].status ? 0 : 0x5a);
        g_assert_cmpuint(p->end[2].mem[0], ==, 0);
        work_free(w);
        pair_idle(p);
        pair_free(p);
    }
}

/* Rows of the device's own lie behind those of software, and there are so many. */
static void test_own_rows(void)
{
    Pair *p = pair_new(2, NULL);
    UbTa *ta = p->end[0].ta;
    UbTaDest d = *ub_ta_dest(ta, ROW_CTP + 1);

    for (unsigned i = 0; i < UB_TA_OWN_DESTS; i++) {
        g_assert_null(ub_ta_dest(ta, UB_TA_DESTS + i));
        g_assert_true(ub_ta_set_dest(ta, UB_TA_DESTS + i, &d));
        g_assert_nonnull(ub_ta_dest(ta, UB_TA_DESTS + i));
    }
    g_assert_false(ub_ta_set_dest(ta, UB_TA_DESTS + UB_TA_OWN_DESTS, &d));
    pair_queue(p, 0, 7, UB_ROI);
    work_all(p, 0, 7, work_new(UB_TA_DESTS, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    g_assert_true(ub_ta_set_dest(ta, UB_TA_DESTS, NULL));
    work_all(p, 0, 7, work_new(UB_TA_DESTS, UB_TA_WRITE, 0, 8), UB_TAS_OPCODE);
    pair_free(p);
}

/* ---- channels of several MTUs ---- */

static uint32_t picked;
static UbTaLower several;
static const UbTaLower *below;

static uint32_t pick_one(void *opaque, uint32_t group)
{
    return picked;
}

/* Of the channels to node 1 the first has the MTU of the row. */
static uint32_t mtu_of(void *opaque, uint32_t tpn)
{
    return tpn == 1 ? 4096 : 1024;
}

static UbSend send_fitting(void *opaque, const UbTpDest *dest, CorePacket *pkt,
                           const UbTpTx *tx, int64_t now)
{
    const uint32_t headers = 200;

    if (dest->mode == UB_TP_RTP) {
        g_assert_cmpuint(pkt->len, <=, mtu_of(opaque, dest->tpn) + headers);
    }
    return below->send(opaque, dest, pkt, tx, now);
}

static Pair *pair_of_mtus(void)
{
    Pair *p = pair_new(2, NULL);

    below = p->end[0].ta->lower;
    several = *below;
    several.pick = pick_one;
    several.mtu = mtu_of;
    several.send = send_fitting;
    p->end[0].ta->lower = &several;
    pair_queue(p, 0, 7, UB_ROI);
    return p;
}

/* What a channel of a group had no room for is not sent by one whose MTU is less. */
static void test_stuck_mtu(void)
{
    Pair *p = pair_of_mtus();
    Work *w = work_new(ROW_GROUP + 1, UB_TA_WRITE, 0, 4096);

    for (unsigned i = 0; i < 4096; i++) {
        w->data[i] = i * 3 + (i >> 8);
    }
    picked = 1;
    p->busy = 1000000;
    work_post(p, 0, 7, w);
    pair_run_for(p, 10000);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_BUSY), >, 0);
    p->busy = 0;
    picked = 17;
    ub_ta_room(p->end[0].ta, 1);
    pair_run(p);
    g_assert_true(w->done);
    g_assert_cmpint(w->status, ==, UB_TAS_OK);
    g_assert_cmpmem(p->end[1].mem, 4096, w->data, 4096);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 4);
    work_free(w);
    pair_idle(p);
    pair_free(p);
}

/* What is one packet by its nature is refused where it is longer than the channel's
 * MTU, though the row allows it, and nothing is sent. */
static void test_single_mtu(void)
{
    Pair *p = pair_of_mtus();
    static const struct {
        uint32_t tpn, len;
        UbTaStatus status;
    } rows[] = {
        { 1, 4096, UB_TAS_OK }, { 17, 1024, UB_TAS_OK },
        { 17, 1025, UB_TAS_LOCAL_LENGTH }, { 17, 2048, UB_TAS_LOCAL_LENGTH },
        { 1, 2048, UB_TAS_OK },
    };
    unsigned sent = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        picked = rows[i].tpn;
        work_all(p, 0, 7, work_new(ROW_GROUP + 1, UB_TA_WRITEBACK, 0, rows[i].len),
                 rows[i].status);
        sent += !rows[i].status;
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, sent);
    }
    pair_idle(p);
    pair_free(p);
}

/* ---- an operation that is cut short ---- */

/* With no packet for its end it waits for one. */
static void test_end_waits(void)
{
    Pair *p = pair_new(2, NULL);
    UbTa *ta = p->end[0].ta;
    CorePacketPool *none = core_packet_pool_new(UB_PACKET_HEADROOM, 1), *own;
    UbTaQueue *q = pair_queue(p, 0, 7, UB_ROI);
    Work *w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 30000);
    CorePacket *last = core_packet_alloc(none, 0);

    g_assert_null(core_packet_alloc(none, 0));
    work_post(p, 0, 7, w);
    ub_ta_run(ta, p->now, 2);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 2);
    ub_ta_queue_flush(q, true);
    g_assert_true(w->done);
    own = ta->pool;
    ta->pool = none;
    ub_ta_run(ta, p->now, 100);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_BUSY), ==, 1);
    ta->pool = own;
    ub_ta_room(ta, UB_TP_NONE);
    pair_run(p);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 3);
    core_packet_free(last);
    core_packet_pool_free(none);
    work_free(w);
    pair_idle(p);
    pair_free(p);
}

/* ---- memory that is not there as a whole ---- */

static const UbTaOps *above;

static UbAccessResult access_part(void *opaque, UbAccess *a, UbSpan *span,
                                  unsigned max, unsigned *n)
{
    UbAccessResult r = above->access(opaque, a, span, max, n);

    if (r == UB_ACCESS_OK && *n && span[0].len > 8) {
        span[0].len -= 8;
    }
    return r;
}

/* Who translates says less than was asked for: nothing is touched. */
static void test_part(void)
{
    Pair *p = pair_new(2, NULL);
    UbTa *ta = p->end[1].ta;
    UbTaOps part = *ta->ops;
    Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 64);

    above = ta->ops;
    part.access = access_part;
    ta->ops = &part;
    pair_queue(p, 0, 7, UB_ROI);
    memset(w->data, 0x5a, 64);
    work_all(p, 0, 7, w, UB_TAS_ABORT);
    g_assert_cmphex(p->end[1].mem[0], ==, 0);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_READ, 0, 64), UB_TAS_ABORT);
    ta->ops = above;
    pair_idle(p);
    pair_free(p);
}

/* ---- what a packet has beside its data ---- */

static bool look_at_zeroes(Pair *p, Wire *w)
{
    const uint8_t *data = core_packet_data(w->pkt);

    /* BTAH, MAETAH, TVETAH, BEETAH in compact form; a block of 64 bytes. */
    if (w->from == 0 && data[0] == UB_TA_WRITE_BE) {
        g_assert_cmpuint(w->pkt->len, ==, 4 + 12 + 4 + 8 + 64);
        for (unsigned i = 0; i < 64; i++) {
            g_assert_cmphex(data[28 + i], ==, i >= 3 && i < 13 ? 0x5a : 0);
        }
        p->end[0].rules += 1000;
    }
    return true;
}

/* A block that is sent for a part of it has zeroes beside that, not what was in memory
 * before. */
static void test_zeroes(void)
{
    Pair *p = pair_new(2, NULL);
    uint64_t before;
    Work *w;

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < 20; i++) {
        w = work_new(ROW_BYPASS + 1, UB_TA_WRITE, 0, 1024);
        memset(w->data, 0xee, 1024);
        work_all(p, 0, 7, w, UB_TAS_OK);
    }
    before = p->end[0].rules;
    p->filter = look_at_zeroes;
    w = work_new(ROW_BYPASS + 1, UB_TA_WRITE, 3, 10);
    memset(w->data, 0x5a, 10);
    work_all(p, 0, 7, w, UB_TAS_OK);
    g_assert_cmpuint(p->end[0].rules, ==, before + 1000);
    g_assert_cmphex(p->end[1].mem[2], ==, 0xee);
    g_assert_cmphex(p->end[1].mem[3], ==, 0x5a);
    g_assert_cmphex(p->end[1].mem[13], ==, 0xee);
    pair_idle(p);
    pair_free(p);
}

/* ---- as many peers as there may be ---- */

/* A pair of queue and peer that nothing is under way of gives way to another; one that
 * waits for an answer does not. */
static bool lose_requests(Pair *p, Wire *w)
{
    return w->from != 0 || w->to != 1;
}

static void test_peers(void)
{
    UbTaConfig cfg;
    Pair *p;
    Work *w;

    pair_config(&cfg);
    cfg.peers = 1;
    p = pair_new(3, &cfg);
    pair_queue(p, 0, 7, UB_ROI);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    work_all(p, 0, 7, work_new(ROW_CTP + 2, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    p->filter = lose_requests;
    w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
    work_post(p, 0, 7, w);
    pair_run_for(p, 100000);
    g_assert_false(w->done);
    work_all(p, 0, 7, work_new(ROW_CTP + 2, UB_TA_WRITE, 0, 8), UB_TAS_OPCODE);
    pair_run(p);
    g_assert_true(w->done);
    g_assert_cmpint(w->status, ==, UB_TAS_TIMEOUT);
    work_free(w);
    work_all(p, 0, 7, work_new(ROW_CTP + 2, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    pair_idle(p);
    pair_free(p);
}

/* ---- images of an initiator ---- */

#define SLICE "a slice of the image is impossible"
#define REQUEST "a request of the image is impossible"
#define TWO_PLACES "a request of the image is in two places"

typedef void Spoil(Lane *lane, Slice *s);

static void keep(Lane *lane, Slice *s) { }
static void short_be(Lane *lane, Slice *s) { s->len = 10; }
static void part_be(Lane *lane, Slice *s) { s->off = 1; s->len = 63; }
static void odd_be(Lane *lane, Slice *s)
{
    s->len = s->req->len = s->req->made = 65;
}
static void long_atomic(Lane *lane, Slice *s)
{
    s->len = s->req->len = s->req->made = UB_TA_ATOMIC_MAX + 1;
}
static void lone_atomic(Lane *lane, Slice *s)
{
    s->state = SLICE_SENT;
    s->req->open--;
    s->req->finished = true;
    s->req->where = IN_NONE;
    s->req = NULL;
    s->len = UB_TA_ATOMIC_MAX + 1;
    lane->pending--;
}
static void other_opcode(Lane *lane, Slice *s) { s->opcode = UB_TA_FETCH_ADD; }
static void sent_before(Lane *lane, Slice *s) { s->sent = 1; s->begun = false; }
static void no_mtu(Lane *lane, Slice *s) { lane->way.mtu = 0; }
static void no_mode(Lane *lane, Slice *s) { lane->way.tp.mode = UB_TP_CTP; }
static void no_peer(Lane *lane, Slice *s) { lane->way.tp.flow.dcna++; }

static void no_state(Lane *lane, Slice *s) { s->state = SLICE_WAIT + 1; }
static void no_opcode(Lane *lane, Slice *s) { s->opcode = 2; }
static void sent_all(Lane *lane, Slice *s) { s->sent = s->len + 1; }
static void got_all(Lane *lane, Slice *s) { s->got = s->len + 1; }
static void got_none(Lane *lane, Slice *s) { s->got = s->len; }
static void begun_sent(Lane *lane, Slice *s) { s->state = SLICE_SENT; }
static void ends_early(Lane *lane, Slice *s) { s->ends = true; }
static void off_behind(Lane *lane, Slice *s) { s->off = s->req->len + 1; }
static void len_behind(Lane *lane, Slice *s) { s->off++; }
static void not_made(Lane *lane, Slice *s)
{
    s->req->made--;
    s->req->all_made = false;
    s->req->where = IN_WORK;
}
static void waits_for_none(Lane *lane, Slice *s)
{
    s->state = SLICE_WAIT;
    s->req->open--;
    s->req->finished = true;
    s->req = NULL;
}
static void too_many(Lane *lane, Slice *s) { lane->next = lane->una + 1025; }
static void no_sc_state(Lane *lane, Slice *s) { lane->sc = SC_REFUSED + 1; }
static void last_sc_state(Lane *lane, Slice *s) { lane->sc = SC_REFUSED; }
static void no_scid(Lane *lane, Slice *s) { lane->scid = UB_TA_IDS; }
static void last_scid(Lane *lane, Slice *s) { lane->scid = UB_TA_IDS - 1; }
static void no_id(Lane *lane, Slice *s) { lane->id = 0; }
static void no_queue(Lane *lane, Slice *s) { lane->key.rc = 8; }
/* Requests. */
static void req_opcode(Lane *lane, Slice *s) { s->req->opcode = UB_TA_OPCODES; }
static void req_order(Lane *lane, Slice *s) { s->req->order = UB_TA_SO + 1; }
static void req_last_order(Lane *lane, Slice *s) { s->req->order = UB_TA_SO; }
static void req_len(Lane *lane, Slice *s) { s->req->len = (1u << 31) + 1; }
static void req_longest(Lane *lane, Slice *s)
{
    s->req->len = 1u << 31;
    s->req->all_made = false;
    s->req->where = IN_WORK;
}
static void req_made(Lane *lane, Slice *s) { s->req->made = s->req->len + 1; }
static void req_where(Lane *lane, Slice *s)
{
    s->req->where = IN_WORK + 1;
    s->req->all_made = false;
}
static void req_nowhere(Lane *lane, Slice *s) { s->req->all_made = false; }
static void req_here(Lane *lane, Slice *s) { s->req->where = IN_HELD; }
static void req_both(Lane *lane, Slice *s)
{
    s->req->finished = s->req->on_ordered = true;
}
static void req_ends(Lane *lane, Slice *s)
{
    s->req->finished = true;            /* and has a slice */
}
static void req_lost(Lane *lane, Slice *s) { s->state = SLICE_FREE; }

static const struct {
    const char *says;
    uint8_t opcode;
    uint32_t row, len;
    Spoil *spoil;
} spoils[] = {
    { NULL, UB_TA_WRITE_BE, ROW_CTP7, 64, keep },
    { NULL, UB_TA_FETCH_ADD, ROW_CTP7, 8, keep },
    { NULL, UB_TA_WRITE, ROW_RTP, 30000, keep },
    { NULL, UB_TA_WRITE_NOTIFY, ROW_RTP, 100000, keep },
    { NULL, UB_TA_WRITE, ROW_BYPASS, 100, keep },
    { NULL, UB_TA_WRITE, ROW_CTP7, 0, keep },
    { "a slice of the image is impossible", UB_TA_WRITE_BE, ROW_CTP7, 64,
      short_be },
    { "a slice of the image is impossible", UB_TA_WRITE_BE, ROW_CTP7, 64,
      part_be },
    { "a slice of the image is impossible", UB_TA_WRITE_BE, ROW_CTP7, 64,
      odd_be },
    { "a slice of the image is impossible", UB_TA_FETCH_ADD, ROW_CTP7, 8,
      long_atomic },
    { "a slice of the image is impossible", UB_TA_FETCH_ADD, ROW_CTP7, 8,
      lone_atomic },
    { "a slice of the image is impossible", UB_TA_WRITE, ROW_CTP7, 8,
      other_opcode },
    { "a slice of the image is impossible", UB_TA_WRITE, ROW_RTP, 30000,
      sent_before },
    { "an impossible way", UB_TA_WRITE, ROW_RTP, 30000, no_mtu },
    { "an impossible way", UB_TA_WRITE, ROW_RTP, 30000, no_mode },
    { "an impossible way", UB_TA_WRITE, ROW_RTP, 30000, no_peer },
    { NULL, UB_TA_WRITE, ROW_CTP7, 8, got_none },
    { NULL, UB_TA_WRITE, ROW_CTP7, 8, last_sc_state },
    { NULL, UB_TA_WRITE, ROW_CTP7, 8, last_scid },
    { NULL, UB_TA_WRITE, ROW_CTP7, 8, req_last_order },
    { NULL, UB_TA_WRITE, ROW_CTP7, 8, req_longest },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, no_state },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, no_opcode },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, sent_all },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, got_all },
    { SLICE, UB_TA_WRITE, ROW_RTP, 30000, begun_sent },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, ends_early },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, off_behind },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, len_behind },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, not_made },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, waits_for_none },
    { "too many slices", UB_TA_WRITE, ROW_CTP7, 8, too_many },
    { "an impossible state", UB_TA_WRITE, ROW_CTP7, 8, no_sc_state },
    { "an impossible state", UB_TA_WRITE, ROW_CTP7, 8, no_scid },
    { "a lane of the image cannot be", UB_TA_WRITE, ROW_CTP7, 8, no_id },
    { "a lane of the image cannot be", UB_TA_WRITE, ROW_CTP7, 8, no_queue },
    { REQUEST, UB_TA_WRITE, ROW_CTP7, 8, req_opcode },
    { REQUEST, UB_TA_WRITE, ROW_CTP7, 8, req_order },
    { REQUEST, UB_TA_WRITE, ROW_CTP7, 8, req_len },
    { REQUEST, UB_TA_WRITE, ROW_CTP7, 8, req_made },
    { TWO_PLACES, UB_TA_WRITE, ROW_CTP7, 8, req_where },
    { TWO_PLACES, UB_TA_WRITE, ROW_CTP7, 8, req_nowhere },
    { TWO_PLACES, UB_TA_WRITE, ROW_CTP7, 8, req_here },
    { TWO_PLACES, UB_TA_WRITE, ROW_CTP7, 8, req_both },
    { SLICE, UB_TA_WRITE, ROW_CTP7, 8, req_ends },
    { "would never end", UB_TA_WRITE, ROW_CTP7, 8, req_lost },
};

static void test_image(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(spoils); i++) {
        Pair *p = pair_new(2, NULL);
        UbTa *ta = p->end[0].ta;
        Work *w = work_new(spoils[i].row + 1, spoils[i].opcode, 64,
                           spoils[i].len);
        g_autofree uint8_t *data = NULL;
        GHashTableIter it;
        gpointer value;
        const char *why;
        size_t len;
        Lane *lane;

        pair_queue(p, 0, 7, UB_ROI);
        w->req.ntf_addr = PAIR_UBA;
        w->req.ntf_token_id = PAIR_TOKEN_ID;
        work_post(p, 0, 7, w);
        ub_ta_run(ta, p->now, 2);
        g_assert_false(w->done);
        g_hash_table_iter_init(&it, ta->lane_ids);
        g_assert_true(g_hash_table_iter_next(&it, NULL, &value));
        lane = value;
        spoils[i].spoil(lane, ta_lane_at(lane, lane->next - 1));
        data = pair_save(p, 0, &len);
        why = pair_load(p, 0, data, len);
        if (!spoils[i].says) {
            g_assert_cmpstr(why, ==, NULL);
        } else if (!why || !strstr(why, spoils[i].says)) {
            g_error("%u %s: %s", i, spoils[i].says, why ? why : "taken");
        }
        pair_free(p);
        work_free(w);
    }
}

/* ---- peers that make many contexts ---- */

static Ctx *ctx_of(UbTa *ta, uint64_t who, uint32_t rc)
{
    Key key = { .who = who, .rc = rc };

    return ta_ctx(ta, &key);
}

static Ctx *known(UbTa *ta, uint64_t who, uint32_t rc)
{
    Key key = { .who = who, .rc = rc };

    return ta_ctx_find(ta, &key);
}

static Pair *small_pair(uint32_t contexts)
{
    UbTaConfig cfg;

    pair_config(&cfg);
    cfg.contexts = contexts;
    return pair_new(2, &cfg);
}

/* A peer's first number of a numbering that begins at a multiple of 4096: earlier ones may
 * be under way, unless it is a window ahead. */
static void test_first(void)
{
    static const struct {
        uint16_t first;
        uint16_t before;        /* the window less */
        bool known;
    } rows[] = {
        { 0x2000, 0, false }, { 0x2005, 0x2001, false }, { 0x203f, 0x2000, false },
        { 0x2040, 0x203f, true }, { 0x2041, 0x2040, true },
    };
    UbTaConfig cfg;

    pair_config(&cfg);
    cfg.window = 64;
    cfg.reserve = 8;
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Pair *p = pair_new(2, &cfg);
        Ctx *ctx = ctx_of(p->end[1].ta, 1, 7);

        g_assert_false(ta_ctx_seen(ctx, rows[i].first, false));
        if (rows[i].before) {
            g_assert_cmpint(ta_ctx_seen(ctx, rows[i].before, false), ==,
                            rows[i].known);
        }
        g_assert_cmphex(ctx->base, ==, rows[i].known ? rows[i].first : 0x2000);
        pair_free(p);
    }
}

/* What one peer was refused, and what it had executed, is known still. */
static void test_share(void)
{
    Pair *p = small_pair(16);
    UbTa *ta = p->end[0].ta;
    Ctx *a, *b;

    a = ctx_of(ta, 1, 7);
    g_assert_false(ta_ctx_seen(a, 0, false));
    ta_ctx_refuse(a, 0, true, ta->now);
    b = ctx_of(ta, 1, 8);
    g_assert_false(ta_ctx_seen(b, 0, false));
    ta_ctx_done(b, 0);
    for (uint32_t i = 0; i < 1000; i++) {
        g_assert_nonnull(ctx_of(ta, 2, i));
    }
    g_assert_true(known(ta, 1, 7) == a);
    g_assert_true(ta_ctx_refused_before(a, 1));
    g_assert_true(known(ta, 1, 8) == b);
    g_assert_true(ta_ctx_seen(b, 0, false));
    g_assert_cmpuint(g_hash_table_size(ta->contexts), ==, 16);
    /* Who comes later has its share, of what the other has too many of. */
    for (uint32_t i = 0; i < 5; i++) {
        g_assert_nonnull(ctx_of(ta, 3, i));
    }
    for (uint32_t i = 0; i < 5; i++) {
        g_assert_nonnull(known(ta, 3, i));
    }
    g_assert_true(known(ta, 1, 7) == a && known(ta, 1, 8) == b);
    g_assert_cmpuint(g_hash_table_size(ta->contexts), ==, 16);
    pair_free(p);
}

/* Who has its share, and not the most, takes from nobody either. */
static void test_own_share(void)
{
    static const unsigned count[] = { 6, 5, 1 };
    Pair *p = small_pair(12);
    UbTa *ta = p->end[0].ta;

    for (unsigned who = 0; who < G_N_ELEMENTS(count); who++) {
        for (uint32_t i = 0; i < count[who]; i++) {
            g_assert_nonnull(ctx_of(ta, who, i));
        }
    }
    for (uint32_t i = 5; i < 20; i++) {
        g_assert_nonnull(ctx_of(ta, 1, i));
        g_assert_null(known(ta, 1, i - 5));
    }
    for (uint32_t i = 0; i < 6; i++) {
        g_assert_nonnull(known(ta, 0, i));
    }
    g_assert_nonnull(known(ta, 2, 0));
    pair_free(p);
}

/* Those that refuse do not go, until that is over: but nobody keeps more than its share
 * by that. */
static void test_refusing(void)
{
    Pair *p = small_pair(8);
    UbTa *ta = p->end[0].ta;

    for (uint32_t i = 0; i < 8; i++) {
        Ctx *ctx = ctx_of(ta, 2, i);

        g_assert_false(ta_ctx_seen(ctx, 0, false));
        ta_ctx_refuse(ctx, 0, true, ta->now);
    }
    g_assert_null(ctx_of(ta, 2, 100));
    for (uint32_t i = 0; i < 4; i++) {
        g_assert_nonnull(ctx_of(ta, 1, i));
    }
    for (uint32_t i = 0; i < 4; i++) {
        Ctx *ctx = known(ta, 1, i);

        g_assert_nonnull(ctx);
        g_assert_false(ta_ctx_seen(ctx, 0, false));
        ta_ctx_refuse(ctx, 0, true, ta->now);
    }
    g_assert_null(ctx_of(ta, 1, 100));
    ub_ta_time(ta, ta->now + ta_time(ta, ta->cfg.hold_time) + 1);
    g_assert_null(ctx_of(ta, 2, 100));  /* its answer may have waited so long */
    ub_ta_time(ta, ta->now + ta_time(ta, ta->cfg.hold_time));
    g_assert_nonnull(ctx_of(ta, 2, 100));
    g_assert_nonnull(ctx_of(ta, 1, 100));
    for (uint32_t i = 1; i < 4; i++) {
        g_assert_nonnull(known(ta, 1, i));
    }
    pair_free(p);
}

/* What is worked on does not go under it. */
static void test_busy(void)
{
    Pair *p = small_pair(1);
    UbTa *ta = p->end[0].ta;
    Ctx *ctx = ctx_of(ta, 1, 7);

    ctx->busy = true;
    g_assert_null(ctx_of(ta, 1, 8));
    g_assert_null(ctx_of(ta, 2, 8));
    ctx->busy = false;
    g_assert_nonnull(ctx_of(ta, 1, 8));
    pair_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/rows/form", test_row_form);
    g_test_add_func("/ub/ta/rows/peer", test_row_peer);
    g_test_add_func("/ub/ta/rows/same", test_row_same);
    g_test_add_func("/ub/ta/rows/long", test_row_long);
    g_test_add_func("/ub/ta/rows/own", test_own_rows);
    g_test_add_func("/ub/ta/rows/stuck", test_row_stuck);
    g_test_add_func("/ub/ta/part", test_part);
    g_test_add_func("/ub/ta/zeroes", test_zeroes);
    g_test_add_func("/ub/ta/peers", test_peers);
    g_test_add_func("/ub/ta/mtus/stuck", test_stuck_mtu);
    g_test_add_func("/ub/ta/mtus/single", test_single_mtu);
    g_test_add_func("/ub/ta/end-waits", test_end_waits);
    g_test_add_func("/ub/ta/image/slices", test_image);
    g_test_add_func("/ub/ta/contexts/first", test_first);
    g_test_add_func("/ub/ta/contexts/share", test_share);
    g_test_add_func("/ub/ta/contexts/own-share", test_own_share);
    g_test_add_func("/ub/ta/contexts/refusing", test_refusing);
    g_test_add_func("/ub/ta/contexts/busy", test_busy);
    return g_test_run();
}
