/*
 * Transaction layer: the target by itself.  Memory in pieces, responses that find no
 * room, Reads in several packets, packets that are nothing, bounds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

#include "internal.h"

static UbSegment *segment(Pair *p)
{
    return ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID, PAIR_UBA);
}

static void count(uint8_t *p, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        p[i] = 1 + i * 7 + (i >> 8);
    }
}

/* ---- memory in pieces ---- */

static const UbTaOps *whole;
static UbTaOps pieces;
static unsigned bus_calls, region_calls;
static bool bus_fails, region_fails;

/* Of what is asked for five bytes by a pointer, seven on the bus, the rest in a
 * region. */
static UbAccessResult access_pieces(void *opaque, UbAccess *a, UbSpan *span,
                                    unsigned max, unsigned *n)
{
    UbAccessResult r = whole->access(opaque, a, span, max, n);
    uint64_t at = a->addr - PAIR_UBA;
    uint32_t left = a->len;

    if (r != UB_ACCESS_OK && r != UB_ACCESS_POISON) {
        return r;
    }
    g_assert_cmpuint(max, >=, 3);
    *n = 0;
    for (unsigned i = 0; i < 3 && left; i++) {
        uint32_t len = MIN(left, i == 0 ? 5 : i == 1 ? 7 : left);
        uint8_t *host = ((End *)opaque)->mem + at;

        span[(*n)++] = (UbSpan) { .host = i == 0 ? host : NULL, .bus = at,
                                  .len = len, .region = i == 2 ? 3 : 0 };
        at += len;
        left -= len;
    }
    return r;
}

static bool bus_piece(void *opaque, uint64_t addr, void *buf, uint32_t len,
                      bool write)
{
    bus_calls++;
    return !bus_fails && whole->bus(opaque, addr, buf, len, write);
}

static bool region_piece(void *opaque, uint32_t region, uint64_t at, void *buf,
                         uint32_t len, bool write)
{
    g_assert_cmpuint(region, ==, 3);
    region_calls++;
    return !region_fails && whole->bus(opaque, at, buf, len, write);
}

static Pair *pair_of_pieces(void)
{
    Pair *p = pair_new(2, NULL);
    UbTa *ta = p->end[1].ta;

    whole = ta->ops;
    pieces = *whole;
    pieces.access = access_pieces;
    pieces.bus = bus_piece;
    pieces.region = region_piece;
    ta->ops = &pieces;
    bus_fails = region_fails = false;
    bus_calls = region_calls = 0;
    pair_queue(p, 0, 7, UB_ROI);
    return p;
}

static void test_pieces(void)
{
    static const uint32_t lengths[] = { 1, 5, 6, 12, 13, 64, 1000 };
    Pair *p = pair_of_pieces();
    uint8_t *far = p->end[1].mem + 256;

    for (unsigned i = 0; i < G_N_ELEMENTS(lengths); i++) {
        uint32_t len = lengths[i];
        Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 256, len);
        g_autofree uint8_t *want = g_malloc(len);

        memset(far - 1, 0xee, len + 2);
        count(w->data, len);
        memcpy(want, w->data, len);
        work_all(p, 0, 7, w, UB_TAS_OK);
        g_assert_cmpmem(far, len, want, len);
        g_assert_cmphex(far[-1], ==, 0xee);
        g_assert_cmphex(far[len], ==, 0xee);
        w = work_new(ROW_CTP + 1, UB_TA_READ, 256, len);
        work_post(p, 0, 7, w);
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_OK);
        g_assert_cmpmem(w->data, len, want, len);
        work_free(w);
        /* Both ways of each length that has such a piece. */
        g_assert_cmpuint(bus_calls, ==, 2 * (i < 2 ? 0 : i - 1));
        g_assert_cmpuint(region_calls, ==, 2 * (i < 4 ? 0 : i - 3));
    }
    pair_idle(p);
    pair_free(p);
}

/* Byte enables count over the pieces, in runs that end with one. */
static void test_pieces_enabled(void)
{
    static const struct { uint8_t from, to; } runs[] = {
        { 0, 64 }, { 0, 5 }, { 4, 6 }, { 5, 12 }, { 11, 13 }, { 12, 64 }, { 3, 20 },
        { 63, 64 }, { 0, 1 }, { 7, 7 },
    };
    Pair *p = pair_of_pieces();
    uint8_t *far = p->end[1].mem + 256;

    for (unsigned i = 0; i < G_N_ELEMENTS(runs); i++) {
        Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE_BE, 256, 64);
        uint8_t want[64];

        memset(far, 0xee, 64);
        memset(want, 0xee, 64);
        count(w->data, 64);
        for (unsigned b = runs[i].from; b < runs[i].to; b++) {
            w->req.be[b / 8] |= 1 << b % 8;
            want[b] = w->data[b];
        }
        work_all(p, 0, 7, w, UB_TAS_OK);
        g_assert_cmpmem(far, 64, want, 64);
    }
    pair_idle(p);
    pair_free(p);
}

/* An atomic of eight bytes in two pieces; what an atomic of one cannot have. */
static void test_pieces_atomic(void)
{
    Pair *p = pair_of_pieces();
    Work *w = work_new(ROW_CTP + 1, UB_TA_FETCH_ADD, 256, 8);

    put_le64(p->end[1].mem + 256, 0x00000000ffffffff);
    put_le64(p->end[1].mem + 264, 0x5555555555555555);
    put_le64(w->data, 0x100000001);
    work_post(p, 0, 7, w);
    pair_run(p);
    g_assert_cmpint(w->status, ==, UB_TAS_OK);
    g_assert_cmphex(get_le64(w->data), ==, 0xffffffff);
    g_assert_cmphex(get_le64(p->end[1].mem + 256), ==, 0x200000000);
    g_assert_cmphex(get_le64(p->end[1].mem + 264), ==, 0x5555555555555555);
    work_free(w);
    bus_fails = true;
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_FETCH_ADD, 256, 8), UB_TAS_ABORT);
    pair_idle(p);
    pair_free(p);
}

/* What is not there after all, each way; and no such way. */
static void test_pieces_gone(void)
{
    static const uint8_t opcodes[] = { UB_TA_WRITE, UB_TA_READ, UB_TA_WRITE_BE };

    for (unsigned i = 0; i < 4 * G_N_ELEMENTS(opcodes); i++) {
        Pair *p = pair_of_pieces();
        Work *w = work_new(ROW_CTP + 1, opcodes[i / 4], 256, 64);

        memset(w->req.be, 0xff, sizeof(w->req.be));
        bus_fails = i % 4 == 0;
        region_fails = i % 4 == 1;
        if (i % 4 == 2) {
            pieces.bus = NULL;
        } else if (i % 4 == 3) {
            pieces.region = NULL;
        }
        work_all(p, 0, 7, w, UB_TAS_ABORT);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_ABORT_TX), ==, 1);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_ABORT_RX), ==, 1);
        pair_idle(p);
        pair_free(p);
    }
}

/* An address that wraps is nobody's, and nobody is asked. */
static unsigned asked;

static void on_access(End *e, const UbAccess *a)
{
    asked++;
}

static void test_wraps(void)
{
    static const uint8_t opcodes[] = { UB_TA_WRITE, UB_TA_READ };

    for (unsigned i = 0; i < G_N_ELEMENTS(opcodes); i++) {
        Pair *p = pair_new(2, NULL);
        Work *w;

        pair_queue(p, 0, 7, UB_ROI);
        p->end[1].accessed = on_access;
        asked = 0;
        for (unsigned n = 63; n <= 65; n++) {
            w = work_new(ROW_CTP + 1, opcodes[i], 0, n);
            w->req.addr = -(uint64_t)64;
            work_all(p, 0, 7, w, UB_TAS_ABORT);
            g_assert_cmpuint(asked, ==, 1);
        }
        pair_free(p);
    }
}

/* ---- responses that find no room ---- */

static const UbTaLower *below;
static UbTaLower script;
static int room[64];            /* packets that a channel takes; CTP: [63] */
static unsigned tries[64];
static bool lost;

static UbSend send_script(void *opaque, const UbTpDest *dest, CorePacket *pkt,
                          const UbTpTx *tx, int64_t now)
{
    unsigned way = dest->mode == UB_TP_RTP ? dest->tpn : 63;

    tries[way]++;
    if (lost) {
        core_packet_free(pkt);
        return UB_LOST;
    }
    if (!room[way]) {
        return UB_BUSY;
    }
    room[way]--;
    return below->send(opaque, dest, pkt, tx, now);
}

/* The target sends by the script. */
static Pair *scripted(const UbTaConfig *cfg)
{
    Pair *p = pair_new(2, cfg);

    below = p->end[1].ta->lower;
    script = *below;
    script.send = send_script;
    p->end[1].ta->lower = &script;
    for (unsigned i = 0; i < 64; i++) {
        room[i] = 0;
        tries[i] = 0;
    }
    lost = false;
    pair_queue(p, 0, 7, UB_ROI);
    return p;
}

static Work *read_of(Pair *p, uint32_t row, uint32_t len)
{
    Work *w = work_new(row + 1, UB_TA_READ, 0, len);

    work_post(p, 0, 7, w);
    pair_run_for(p, 20000);
    g_assert_false(w->done);
    return w;
}

static uint32_t answers(Pair *p)
{
    UbTaState s;

    ub_ta_state(p->end[1].ta, &s);
    return s.answers;
}

static void finish(Pair *p, Work *w, UbTaStatus status)
{
    pair_run_for(p, 20000);
    g_assert_true(w->done);
    g_assert_cmpint(w->status, ==, status);
    if (!status) {
        g_assert_cmpmem(w->data, w->req.len, p->end[1].mem, w->req.len);
    }
    work_free(w);
}

/* What waits for one channel does not stand before what another one takes, and what is
 * behind it on the same one is not tried before it. */
static void test_ways(void)
{
    Pair *p = scripted(NULL);
    UbTa *ta = p->end[1].ta;
    Work *a, *b, *c, *d;

    count(p->end[1].mem, 20000);
    a = read_of(p, ROW_RTP, 64);
    b = read_of(p, ROW_RTP, 64);
    c = read_of(p, ROW_ANSWERS, 64);
    d = read_of(p, ROW_CTP, 64);
    g_assert_cmpuint(answers(p), ==, 4);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_BUSY), ==, 4);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_TX_RESPONSES), ==, 0);
    memset(tries, 0, sizeof(tries));
    room[49] = 1;
    ub_ta_room(ta, 49);
    finish(p, c, UB_TAS_OK);
    g_assert_cmpuint(answers(p), ==, 3);
    g_assert_cmpuint(tries[1], >=, 1);
    room[63] = 1;
    memset(tries, 0, sizeof(tries));
    ub_ta_room(ta, UB_TP_NONE);
    ub_ta_run(ta, p->now, 64);
    g_assert_cmpuint(tries[1], ==, 1);      /* not b, as a finds no room */
    g_assert_cmpuint(tries[63], ==, 1);
    finish(p, d, UB_TAS_OK);
    room[1] = 1;
    ub_ta_room(ta, 1);
    finish(p, a, UB_TAS_OK);
    g_assert_false(b->done);
    room[1] = 1;
    ub_ta_room(ta, 1);
    finish(p, b, UB_TAS_OK);
    g_assert_cmpuint(answers(p), ==, 0);
    g_assert_true(ta->answers_end == &ta->answers);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_TX_RESPONSES), ==, 4);
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* A Read whose first packet has left goes on before all others. */
static void test_begun(void)
{
    Pair *p = scripted(NULL);
    UbTa *ta = p->end[1].ta;
    Work *a, *b;

    count(p->end[1].mem, 20000);
    b = read_of(p, ROW_ANSWERS, 64);
    room[1] = 1;
    a = read_of(p, ROW_RTP, 12000);
    g_assert_cmpuint(answers(p), ==, 2);
    g_assert_cmpuint(ta->answers->back.dest.tpn, ==, 1);
    g_assert_cmpuint(ta->answers->done, ==, 4096);
    /* Which segments they still read. */
    g_assert_false(ub_ta_target_idle(ta, 0, PAIR_TOKEN_ID));
    g_assert_true(ub_ta_target_idle(ta, 1, PAIR_TOKEN_ID));
    g_assert_true(ub_ta_target_idle(ta, 0, PAIR_TOKEN_ID + 1));
    room[1] = 2;
    ub_ta_room(ta, 1);
    finish(p, a, UB_TAS_OK);
    room[49] = 1;
    ub_ta_room(ta, 49);
    finish(p, b, UB_TAS_OK);
    g_assert_true(ub_ta_target_idle(ta, 0, PAIR_TOKEN_ID));
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* A turn sends as many as it may. */
static void test_budget(void)
{
    Pair *p = scripted(NULL);
    UbTa *ta = p->end[1].ta;
    Work *w[4];

    for (unsigned i = 0; i < 4; i++) {
        w[i] = read_of(p, ROW_CTP, 8);
    }
    room[63] = 100;
    ub_ta_room(ta, UB_TP_NONE);
    g_assert_cmpint(ub_ta_run(ta, p->now, 3), ==, p->now);
    g_assert_cmpuint(answers(p), ==, 1);
    g_assert_cmpint(ub_ta_run(ta, p->now, 3), !=, p->now);
    g_assert_cmpuint(answers(p), ==, 0);
    for (unsigned i = 0; i < 4; i++) {
        finish(p, w[i], UB_TAS_OK);
    }
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* As many as may wait, then only their refusals, then nothing. */
static void test_bound(void)
{
    static const struct { uint32_t answers, dropped, rnr; } steps[] = {
        { 1, 0, 0 }, { 2, 0, 0 }, { 3, 1, 1 }, { 4, 2, 2 }, { 4, 4, 3 }, { 4, 6, 4 },
    };
    UbTaConfig cfg;
    Work *w[G_N_ELEMENTS(steps)];
    Pair *p;

    pair_config(&cfg);
    cfg.answers = 2;
    cfg.rnr_timer = 19;
    p = scripted(&cfg);
    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        w[i] = read_of(p, ROW_CTP, 8);
        g_assert_cmpuint(answers(p), ==, steps[i].answers);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_ROOM), ==, steps[i].dropped);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_RNR_TX), ==, steps[i].rnr);
    }
    room[63] = 100;
    ub_ta_room(p->end[1].ta, UB_TP_NONE);
    pair_run(p);
    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        g_assert_cmpint(w[i]->status, ==, i < 4 ? UB_TAS_OK : UB_TAS_TIMEOUT);
        work_free(w[i]);
    }
    pair_idle(p);
    pair_free(p);
}

/* The channel is gone: the rest of a Read has nowhere to go. */
static void test_lost(void)
{
    Pair *p = scripted(NULL);
    Work *w[2];

    lost = true;
    w[0] = read_of(p, ROW_RTP, 12000);
    g_assert_cmpuint(tries[1], ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_LOST_BELOW), ==, 1);
    w[1] = read_of(p, ROW_CTP, 64);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_LOST_BELOW), ==, 2);
    g_assert_cmpuint(answers(p), ==, 0);
    pair_run(p);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(w[i]->status, ==, UB_TAS_TIMEOUT);
        work_free(w[i]);
    }
    pair_idle(p);
    pair_free(p);
}

/* ---- Reads in several packets ---- */

/* §7.2.7: each packet says where it belongs, or all say what the request said. */
static void test_offsets(void)
{
    for (unsigned request = 0; request < 2; request++) {
        uint32_t len = 65536 + 5000;
        unsigned n = 0;
        UbTaConfig cfg;
        Pair *p;
        Work *w;

        pair_config(&cfg);
        cfg.read_offset_request = request;
        p = pair_new(2, &cfg);
        p->tracing = true;
        count(p->end[1].mem, len);
        pair_queue(p, 0, 7, UB_ROI);
        w = work_new(ROW_RTP + 1, UB_TA_READ, 0, len);
        work_post(p, 0, 7, w);
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_OK);
        g_assert_cmpmem(w->data, len, p->end[1].mem, len);
        for (guint i = 0; i < p->end[1].sent->len; i++, n++) {
            const char *at = strstr(p->end[1].sent->pdata[i], "offset=");
            unsigned want = request ? i / 16 * 64 : 4 * i;

            g_assert_nonnull(at);
            g_assert_cmpuint(atoi(at + 7), ==, want);
            g_assert_true(g_str_has_suffix(p->end[1].sent->pdata[i],
                                           i == 17 ? " +904" : " +4096"));
        }
        g_assert_cmpuint(n, ==, 18);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_TX_BYTES), ==, len);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_RX_BYTES), ==, len);
        work_free(w);
        /* The other way it is the target's to count. */
        w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 5000);
        work_all(p, 0, 7, w, UB_TAS_OK);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_RX_BYTES), ==, 5000);
        pair_idle(p);
        pair_free(p);
    }
}

/* The segment goes in the middle: that is said, and nothing follows. */
static void gone_at_third(End *e, const UbAccess *a)
{
    g_assert_cmpint(a->ahead, ==, asked == 0);
    if (++asked == 3) {
        ub_segments_find(e->segments, 0, PAIR_TOKEN_ID, PAIR_UBA)->rights = 0;
    }
}

static void test_gone(void)
{
    Pair *p = pair_new(2, NULL);

    asked = 0;
    p->tracing = true;
    p->end[1].accessed = gone_at_third;
    pair_queue(p, 0, 7, UB_ROI);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_READ, 0, 20000), UB_TAS_ABORT);
    g_assert_cmpuint(asked, ==, 3);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_ABORT_TX), ==, 1);
    g_assert_cmpuint(p->end[1].sent->len, ==, 2);
    g_assert_nonnull(strstr(p->end[1].sent->pdata[0], "rspst=0/0"));
    g_assert_nonnull(strstr(p->end[1].sent->pdata[1], "rspst=3/2"));
    g_assert_true(g_str_has_suffix(p->end[1].sent->pdata[1], " +0"));
    pair_idle(p);
    pair_free(p);
}

/* What a Read may ask for. */
static void test_read_limits(void)
{
    UbTaConfig cfg;
    Pair *p = pair_new(2, NULL);

    pair_queue(p, 0, 7, UB_ROI);
    cfg = *ub_ta_config(p->end[1].ta);
    cfg.max_len = 4096;
    g_assert_null(ub_ta_configure(p->end[1].ta, &cfg));
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_READ, 0, 4096), UB_TAS_OK);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_READ, 0, 4097),
             UB_TAS_UNSUPPORTED);
    cfg.max_len = 1 << 20;
    cfg.mtu = 1024;
    g_assert_null(ub_ta_configure(p->end[1].ta, &cfg));
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_READ, 0, 1024), UB_TAS_OK);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_READ, 0, 1025),
             UB_TAS_UNSUPPORTED);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_READ, 0, 1025), UB_TAS_OK);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_UNSUPPORTED_TX), ==, 2);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_UNSUPPORTED_RX), ==, 2);
    pair_idle(p);
    pair_free(p);
}

/* ---- packets that are nothing ---- */

static UbTpAnswer inject(Pair *p, UbTpMode mode, unsigned cfg, unsigned nlp,
                         uint32_t tpn, bool last, bool mgmt, const char *hex)
{
    CorePacket *pkt = core_packet_alloc(p->pool, strlen(hex) / 2);
    UbFlow flow = { .cfg = cfg, .scna = 1, .dcna = 2, .mgmt = mgmt };
    static uint32_t msn = 1000;
    UbTpRx rx = { .mode = mode, .tpn = tpn, .msn = msn, .last = last, .nlp = nlp,
                  .flow = &flow };

    msn += last;
    for (unsigned i = 0; hex[2 * i]; i++) {
        core_packet_data(pkt)[i] = g_ascii_xdigit_value(hex[2 * i]) << 4 |
                                   g_ascii_xdigit_value(hex[2 * i + 1]);
    }
    return ub_ta_rx(p->end[1].ta, &rx, pkt);
}

#define NODE "01230000100002"   /* UPI, from node 1 to node 2 */
#define MEMORY "00000000001000000000010000000001"   /* one byte of the segment */
#define TOKEN "00005eed"
#define WIDE_FROM "00000123fd000000000000000000000000000001"
#define WIDE_TO "fd000000000000000000000000000002"

static const struct {
    uint8_t mode, cfg, nlp;
    bool last, mgmt;
    const char *hex;
    uint8_t counter;
    bool answered;
} nothings[] = {
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, "012300001000", UB_TAC_DROP_SEC },
    { UB_TP_CTP, 6, 9, true, false, NODE, UB_TAC_DROP_SEC },
    { UB_TP_UTP, 3, UB_SEC_SHORT, true, false, NODE, UB_TAC_DROP_SEC },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, "01230000100003",
      UB_TAC_DROP_ENTITY },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, "01240000100002", UB_TAC_DROP_UPI },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, true, NODE, UB_TAC_DROP_UPI },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, NODE, UB_TAC_DROP_SHORT },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, NODE "03180000000000",
      UB_TAC_DROP_SHORT },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, NODE "0318000000000007",
      UB_TAC_DROP_SHORT },
    /* The UPI of the UBFM gives no right to memory. */
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false,
      "7fff0000100002" "0318000000000007" MEMORY TOKEN "77", UB_TAC_DROP_UPI },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, NODE "0210000000000007",
      UB_TAC_DROP_OPCODE, true },
    { UB_TP_BYPASS, 9, UB_SEC_NONE, true, false, "00100000", UB_TAC_DROP_OPCODE,
      true },
    { UB_TP_UTP, 3, UB_SEC_WIDE, true, false,
      WIDE_FROM WIDE_TO "0210000000000007", UB_TAC_DROP_OPCODE },
    { UB_TP_RTP, 7, UB_SEC_WIDE, false, false,
      WIDE_FROM WIDE_TO "0210000000000007", UB_TAC_DROP_OPCODE },
    { UB_TP_RTP, 7, UB_SEC_WIDE, true, false,
      WIDE_FROM WIDE_TO "0210000000000007", UB_TAC_DROP_OPCODE, true },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false,
      NODE "0308000000000007" MEMORY TOKEN "77", UB_TAC_DROP_FIELD, true },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false,
      NODE "0358000000000007" MEMORY TOKEN "77", UB_TAC_DROP_FIELD, true },
    /* Nobody answers a response, a message of management, a Prefetch. */
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, NODE "1140000000000007",
      UB_TAC_DROP_FIELD },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, NODE "104000000000000700000000",
      UB_TAC_DROP_FIELD },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, NODE "1500000000000007" MEMORY,
      UB_TAC_DROP_FIELD },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false, NODE "1100000000000007",
      UB_TAC_LATE },
    { UB_TP_UTP, 3, UB_SEC_WIDE, true, false,
      WIDE_FROM WIDE_TO "0318000000000007" MEMORY TOKEN "77",
      UB_TAC_DROP_CARRIER },
    /* A PDU that is longer than its packet; a TokenValue, which it has not. */
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false,
      NODE "10100000000000000000000500000000", UB_TAC_DROP_MESSAGE },
    { UB_TP_CTP, 6, UB_SEC_SHORT, true, false,
      NODE "10180000000000000000000400000000", UB_TAC_DROP_MESSAGE },
};

static void test_nothings(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(nothings); i++) {
        Pair *p = pair_new(2, NULL);
        uint64_t dropped = 0;

        memset(p->end[1].mem, 0xee, 64);
        inject(p, nothings[i].mode, nothings[i].cfg, nothings[i].nlp, 1,
               nothings[i].last, nothings[i].mgmt, nothings[i].hex);
        for (unsigned c = UB_TAC_LATE; c < UB_TA_COUNTERS_NUM; c++) {
            dropped += pair_count(p, 1, c);
        }
        if (dropped != 1 || pair_count(p, 1, nothings[i].counter) != 1 ||
            pair_count(p, 1, UB_TAC_TX_RESPONSES) != nothings[i].answered) {
            g_error("%u %s", i, nothings[i].hex);
        }
        g_assert_cmpuint(p->end[1].messages, ==, 0);
        pair_run(p);
        g_assert_cmphex(p->end[1].mem[0], ==, 0xee);
        pair_idle(p);
        pair_free(p);
    }
}

/* A PDU that just fits; who takes no messages drops them. */
static void test_messages(void)
{
    Pair *p = pair_new(2, NULL);
    UbTaRequest req = { .msn = 7, .len = 4 };
    UbTaOps none = *p->end[1].ta->ops;

    inject(p, UB_TP_CTP, 6, UB_SEC_SHORT, 0, true, false,
           NODE "10100009000000050522000401020304");
    g_assert_cmpuint(p->end[1].messages, ==, 1);
    g_assert_cmpuint(p->end[1].last_message.msn, ==, 9);
    g_assert_cmpuint(p->end[1].last_message.queue, ==, 5);
    g_assert_cmpuint(p->end[1].last_message.status, ==, 0x22);
    g_assert_true(p->end[1].last_message.rsp);
    g_assert_cmpuint(p->end[1].last_message.code, ==, 2);
    g_assert_cmpuint(p->end[1].last_back.tp.flow.dcna, ==, 1);
    g_assert_cmpuint(p->end[1].last_back.mtu, ==, 4096);
    g_assert_cmpuint(p->end[1].last_back.sl_writeback, ==, UB_TA_SAME_SL);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_RX_MESSAGES), ==, 1);
    none.message = NULL;
    p->end[1].ta->ops = &none;
    inject(p, UB_TP_CTP, 6, UB_SEC_SHORT, 0, true, false,
           NODE "10100009000000050522000401020304");
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_MESSAGE), ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_RX_MESSAGES), ==, 2);
    /* What is sent is counted and traced, or lost. */
    p->tracing = true;
    for (unsigned i = 0; i < 2; i++) {
        const UbTaDest *dest = ub_ta_dest(p->end[1].ta, ROW_CTP + 0);

        if (i) {
            below = p->end[1].ta->lower;
            script = *below;
            script.send = send_script;
            p->end[1].ta->lower = &script;
            lost = true;
        }
        g_assert_cmpint(ub_ta_message(p->end[1].ta, p->now, dest, &req, "abcd"), ==,
                        i ? UB_LOST : UB_SENT);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_TX_MESSAGES), ==, 1);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_LOST_BELOW), ==, i);
        g_assert_cmpuint(p->end[1].sent->len, ==, i + 1);
        g_assert_true(g_str_has_prefix(p->end[1].sent->pdata[i],
                                       "Management tassn=7 "));
        g_assert_true(g_str_has_suffix(p->end[1].sent->pdata[i], "pdu=4 +4"));
    }
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* ---- bounds of what has begun ---- */

/* First packets of operations: as many as may have begun, as many that are being
 * refused, then the transport refuses them. */
static void test_partials(void)
{
    UbTaConfig cfg;
    UbTaState s;
    Pair *p;

    pair_config(&cfg);
    cfg.partial = 2;
    p = pair_new(2, &cfg);
    for (unsigned i = 0; i < 5; i++) {
        g_autofree char *hex =
            g_strdup_printf(WIDE_FROM WIDE_TO "0318000%u00000007"
                            "0000000000100000" "00000100" "00000010" TOKEN "77", i);
        UbTpAnswer a = inject(p, UB_TP_RTP, 7, UB_SEC_WIDE, 10 + i, false, false,
                              hex);

        g_assert_cmpint(a.status, ==, i < 4 ? UB_TP_ACK : UB_TP_RNR);
        ub_ta_state(p->end[1].ta, &s);
        g_assert_cmpuint(s.partial, ==, MIN(i + 1, 4));
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_ROOM), ==, i < 2 ? 0 : i - 1);
    }
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_TX_RESPONSES), ==, 0);
    /* Nothing more comes: all are given up, each at its time. */
    pair_run_for(p, cfg.ack_timeout - 1);
    ub_ta_run(p->end[1].ta, p->now, 64);
    ub_ta_state(p->end[1].ta, &s);
    g_assert_cmpuint(s.partial, ==, 4);
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* A message whose end does not come: its entry comes back, with what there was. */
static void test_abort(void)
{
    Pair *p = pair_new(2, NULL);
    Partial part = { .rqe_taken = true, .buf.rqe = 77, .got = 123, .tc_id = 9,
                     .rc_id = 7, .entity = 5 };
    const UbRecvDone *d;

    ta_partial_abort(p->end[1].ta, &part);
    g_assert_false(part.rqe_taken);
    g_assert_cmpuint(p->end[1].recvs->len, ==, 1);
    d = &g_array_index(p->end[1].recvs, Cqe, 0).recv;
    g_assert_cmpuint(d->rqe, ==, 77);
    g_assert_cmpint(d->status, ==, UB_TAS_TIMEOUT);
    g_assert_cmpint(d->opcode, ==, UB_TA_SEND);
    g_assert_cmpuint(d->len, ==, 123);
    g_assert_cmpuint(d->tc_id, ==, 9);
    g_assert_cmpuint(d->rc_id, ==, 7);
    g_assert_cmpuint(d->entity, ==, 5);
    ta_partial_abort(p->end[1].ta, &part);
    g_assert_cmpuint(p->end[1].recvs->len, ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_RECEIVED), ==, 1);
    /* The same, as packets say it. */
    pair_recv(p, 1, 1);
    inject(p, UB_TP_RTP, 7, UB_SEC_WIDE, 10, false, false,
           WIDE_FROM WIDE_TO "0018000008000042" "00000009" "00000000" TOKEN
           "616263");
    g_assert_cmpuint(p->end[1].rqe_taken, ==, 1);
    pair_run(p);
    g_assert_cmpuint(p->end[1].recvs->len, ==, 2);
    d = &g_array_index(p->end[1].recvs, Cqe, 1).recv;
    g_assert_cmpint(d->status, ==, UB_TAS_TIMEOUT);
    g_assert_cmpuint(d->len, ==, 3);
    g_assert_cmpuint(d->tc_id, ==, 9);
    g_assert_cmpuint(d->rc_id, ==, 0x42);
    pair_idle(p);
    pair_free(p);
}

/* So many faults may wait; one more is answered at once, with a timer. */
static void test_parked(void)
{
    UbTaConfig cfg;
    UbTaState s;
    Work *w[2];
    Pair *p;

    pair_config(&cfg);
    cfg.parked = 1;
    p = pair_new(2, &cfg);
    pair_queue(p, 0, 7, UB_ROI);
    segment(p)->pages = UB_SEGMENT_LATER;
    for (unsigned i = 0; i < 2; i++) {
        w[i] = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
        work_post(p, 0, 7, w[i]);
        pair_run_for(p, 20000);
        ub_ta_state(p->end[1].ta, &s);
        g_assert_cmpuint(s.parked, ==, 1);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_FAULT_TX), ==, i);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_FAULT_RX), ==, i);
    }
    segment(p)->pages = UB_SEGMENT_THERE;
    ub_ta_resolved(p->end[1].ta);
    pair_run(p);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(w[i]->status, ==, UB_TAS_OK);
        work_free(w[i]);
    }
    pair_idle(p);
    pair_free(p);
}

/* A fault that ends is counted when it is answered, however that is. */
static void test_parked_count(void)
{
    static const uint32_t rows[] = { ROW_CTP, ROW_ANSWERS };

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(rows); i++) {
        bool abort = i & 1;
        Pair *p = pair_new(2, NULL);
        Work *w = work_new(rows[i / 2] + 1, UB_TA_WRITE, 0, 8);

        pair_queue(p, 0, 7, UB_ROL);
        segment(p)->pages = UB_SEGMENT_LATER;
        work_post(p, 0, 7, w);
        pair_run_for(p, 20000);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_FAULT_TX), ==, 0);
        segment(p)->pages = UB_SEGMENT_THERE;
        ub_ta_resolve(p->end[1].ta, 0, abort);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_FAULT_TX), ==, !abort);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_ABORT_TX), ==, abort);
        pair_run(p);
        g_assert_cmpint(w->status, ==, abort ? UB_TAS_ABORT : UB_TAS_OK);
        work_free(w);
        pair_idle(p);
        pair_free(p);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/target/pieces", test_pieces);
    g_test_add_func("/ub/ta/target/pieces-enabled", test_pieces_enabled);
    g_test_add_func("/ub/ta/target/pieces-atomic", test_pieces_atomic);
    g_test_add_func("/ub/ta/target/pieces-gone", test_pieces_gone);
    g_test_add_func("/ub/ta/target/wraps", test_wraps);
    g_test_add_func("/ub/ta/answers/ways", test_ways);
    g_test_add_func("/ub/ta/answers/begun", test_begun);
    g_test_add_func("/ub/ta/answers/budget", test_budget);
    g_test_add_func("/ub/ta/answers/bound", test_bound);
    g_test_add_func("/ub/ta/answers/lost", test_lost);
    g_test_add_func("/ub/ta/answers/offsets", test_offsets);
    g_test_add_func("/ub/ta/answers/gone", test_gone);
    g_test_add_func("/ub/ta/target/read-limits", test_read_limits);
    g_test_add_func("/ub/ta/target/nothings", test_nothings);
    g_test_add_func("/ub/ta/target/messages", test_messages);
    g_test_add_func("/ub/ta/target/partials", test_partials);
    g_test_add_func("/ub/ta/target/abort", test_abort);
    g_test_add_func("/ub/ta/target/parked", test_parked);
    g_test_add_func("/ub/ta/target/parked-count", test_parked_count);
    return g_test_run();
}
