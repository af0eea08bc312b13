/*
 * Bounds: each attribute, setting, number, code and field of an image, one on either side.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/image.h"
#include "../../../../hw/ub/tp/internal.h"
#include "rtp-pair.h"

/* ---- attributes and settings ---- */

static void test_attr(void)
{
    UbTpConfig cfg;
    UbTpAttr a;

    ub_tp_config_init(&cfg);
#define IS(good, change) do { \
        a = cfg.attr; \
        change; \
        g_assert_cmpint(attr_good(&cfg, &a), ==, good); \
    } while (0)
    IS(true, a.dst_tpn = UB_TPN_MASK);
    IS(false, a.dst_tpn = UB_TPN_MASK + 1);
    IS(true, a.tx_psn = UB_PSN_MASK);
    IS(false, a.tx_psn = UB_PSN_MASK + 1);
    IS(true, a.rx_psn = UB_PSN_MASK);
    IS(false, a.rx_psn = UB_PSN_MASK + 1);
    for (uint32_t w = 0; w <= 4096; w++) {
        IS(w == 128 || w == 256 || w == 512 || w == 1024 || w == 2048, a.ooo_window = w);
        IS(w == 1024 || w == 4096, a.mtu = w);
    }
    /* §6.4.2: of the five, which go together. */
    for (unsigned b = 0; b < 32; b++) {
        bool sel = b & 1, fast = b & 2, mark = b & 4, ooo = b & 8, spray = b & 16;

        IS((ooo || (fast && !sel && !spray)) && (!mark || (sel && fast)),
           a.selective = sel; a.fast = fast; a.mark = mark; a.ooo = ooo; a.spray = spray);
    }
    IS(true, a.rto_code = 0);
    IS(true, a.rto_code = 3);
    IS(false, a.rto_code = 4);
    IS(false, a.rto_base_us = 3);
    IS(true, a.rto_base_us = 4);
    IS(true, a.rto_base_us = 1u << 21);
    IS(false, a.rto_base_us = (1u << 21) + 1);
    IS(true, a.rto_shift = 32);
    IS(false, a.rto_shift = 33);
    IS(true, a.retries = 0);
    IS(true, a.retries = 255);
    IS(false, a.tx_window = 0);
    IS(true, a.tx_window = 1);
    IS(true, a.tx_window = 32768);
    IS(false, a.tx_window = 32769);
    IS(true, a.ask = UB_TP_ASK_ALL);
    IS(false, a.ask = UB_TP_ASK_ALL + 1);
    IS(false, a.ack_every = 0);
    IS(true, a.ack_every = 1);
    IS(false, a.sack_every = 0);
    IS(true, a.sack_every = 1);
    IS(false, a.sack_bits = 63);
    IS(true, a.sack_bits = 64);
    IS(true, a.sack_bits = 1024);
    IS(false, a.sack_bits = 1025);
    for (unsigned cc = UB_CC_NONE; cc < UB_CC_USER; cc++) {
        IS(true, a.cc = cc);
    }
    IS(false, a.cc = UB_CC_USER);
    cfg.cc_user = UB_CC_USER_AIMD;
    IS(true, a.cc = UB_CC_USER);
    IS(false, a.cc = UB_CC_KINDS);
    cfg.cc[UB_CC_LDCP] = NULL;
    IS(false, a.cc = UB_CC_LDCP);
    IS(false, a.cw_unit = 0);
    IS(true, a.cw_unit = 1);
}

static UbTpAnswer up_rx(void *o, const UbTpRx *rx, CorePacket *pkt)
{
    return (UbTpAnswer) { UB_TP_ACK };
}

static void up_acked(void *o, uint32_t t, uint64_t c, UbTpAnswer a)
{
}

static void up_error(void *o, uint32_t t, UbTpError e)
{
}

static void up_room(void *o, uint32_t t)
{
}

static UbSend down_send(void *o, int64_t now, const UbFlow *f, CorePacket *p)
{
    return UB_BUSY;
}

static void test_config(void)
{
    static const UbTpUpper up = { .rx = up_rx, .acked = up_acked, .error = up_error,
                                  .room = up_room };
    static const UbTpLower down = { .send = down_send }, none = { 0 };
    static const UbCc empty = { .name = "empty" };
    UbTpConfig good, c;
    UbTpUpper u;

    ub_tp_config_init(&good);
    good.upper = &up;
    good.lower = &down;
#define FITS(yes, change) do { \
        c = good; \
        u = up; \
        change; \
        g_assert_cmpint(!ub_tp_config_fault(&c), ==, yes); \
    } while (0)
    FITS(true, c.upper = &u);
    FITS(false, c.upper = &u; u.rx = NULL);
    FITS(false, c.upper = &u; u.acked = NULL);
    FITS(false, c.upper = &u; u.error = NULL);
    FITS(false, c.upper = &u; u.room = NULL);
    FITS(false, c.upper = NULL);
    FITS(false, c.lower = NULL);
    FITS(false, c.lower = &none);
    for (unsigned i = 0; i < UB_TPC_NUM; i++) {
        FITS(false, c.clock[i].scale = 0);
        FITS(true, c.clock[i].scale = 1000000);
        FITS(false, c.clock[i].scale = 1000001);
        FITS(false, c.clock[i].floor_ns = 0);
        FITS(true, c.clock[i].floor_ns = 1);
        FITS(true, c.clock[i].floor_ns = INT64_C(3600000000000));
        FITS(false, c.clock[i].floor_ns = INT64_C(3600000000001));
    }
    for (unsigned i = 0; i < UB_CC_KINDS; i++) {
        FITS(false, c.cc[i] = &empty);
    }
    FITS(false, c.cc[UB_CC_DCQCN] = good.cc[UB_CC_LDCP]);
    FITS(false, c.cc[UB_CC_CAQM] = good.cc[UB_CC_DCQCN]);
    FITS(false, c.cc[UB_CC_LDCP] = good.cc[UB_CC_DCQCN]);
    FITS(true, c.cc_user = UB_CC_USERS - 1);
    FITS(false, c.cc_user = UB_CC_USERS);
    FITS(false, c.max_channels = 0);
    FITS(true, c.max_channels = 1);
    FITS(true, c.max_channels = 1 << 20);
    FITS(false, c.max_channels = (1 << 20) + 1);
    FITS(true, c.max_groups = 1 << 20);
    FITS(false, c.max_groups = (1 << 20) + 1);
    for (uint32_t n = 1; n <= 1u << 17; n *= 2) {
        FITS(n >= 16 && n <= 32768, c.results = n);
        FITS(false, c.results = n + 1 + (n == 1));
    }
    FITS(false, c.results = 15);
    for (unsigned n = 0; n <= 17; n++) {
        FITS(n >= 4 && n <= 15, c.setup_nlp = n);
    }
    FITS(true, c.cc_param.cw_min = c.cc_param.cw_max = 1);
    FITS(true, c.cc_param.rate_max = c.cc_param.rate_min = UINT64_C(1) << 56);
    FITS(false, c.cc_param.rate_max = c.cc_param.rate_min = (UINT64_C(1) << 56) + 1);
    FITS(true, c.cc_param.rate_min = 1);
    FITS(true, c.cc_param.dcqcn_alpha_us = c.cc_param.dcqcn_rate_us = 1);
    FITS(false, c.attr.tx_window = 0);
}

/* Microseconds of the document as they are here: 2^33 of them by a million are the most
 * that is not cut to a quarter of all time. */
static void test_clock(void)
{
    static const uint64_t most = INT64_MAX / 4000;
    static const struct {
        uint32_t scale;
        int64_t floor_ns;
        uint64_t us;
        int64_t ns;
    } all[] = {
        { 1, 1, 0, 1 }, { 1, 1000, 1, 1000 }, { 1, 1001, 1, 1001 }, { 3, 1, 7, 21000 },
        { 1000000, 1, (UINT64_C(1) << 33) - 1, INT64_C(8589934591) * 1000000000 },
        { 1000000, 1, UINT64_C(1) << 33, (int64_t)(most / 1000000) * 1000000000 },
        { 1, 1, UINT64_C(1) << 33, INT64_C(8589934592000) },
        { 1, 1, UINT64_C(1) << 61, (int64_t)most * 1000 },
        { 2, 1, UINT64_C(1) << 61, (int64_t)(most / 2) * 2000 },
    };
    Pair p = pair_init(100);

    pair_open(&p);
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        for (unsigned c = 0; c < UB_TPC_NUM; c++) {
            p.a->tp->cfg.clock[c] = (UbTpScale) { all[i].scale, all[i].floor_ns };
            g_assert_cmpint(tp_clock(p.a->tp, c, all[i].us), ==, all[i].ns);
        }
    }
    lossy_free(p.l);
}

/* Base * 2^(N * times) (§6.4.2.4), as long as there are so many microseconds. */
static void test_rto(void)
{
    static const struct { unsigned shift, times; uint64_t us; } all[] = {
        { 0, 200, 4 }, { 1, 1, 8 }, { 3, 2, 256 }, { 1, 39, UINT64_C(4) << 39 },
        { 13, 3, UINT64_C(4) << 39 }, { 32, 1, UINT64_C(4) << 32 },
        { 20, 2, INT64_MAX / 4000 }, { 1, 41, INT64_MAX / 4000 },
        { 32, 255, INT64_MAX / 4000 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        Pair p = pair_init(100);
        Chan *ch;

        p.attr.rto_base_us = 4;
        p.attr.rto_shift = all[i].shift;
        p.attr.retries = 255;
        pair_open(&p);
        p.l->lose_ppm = 1000000;
        lossy_send(p.a, TA, 8, 1, true, false, 1);
        ch = chan_get(p.a->tp, TA);
        g_assert_cmpint(ch->rto_at, ==, p.l->now + 4 * US);
        ch->times = all[i].times - 1;
        rtp_timeout(ch, p.l->now);
        g_assert_cmpuint(ch->times, ==, all[i].times);
        g_assert_cmpint(ch->rto_at, ==, p.l->now + (int64_t)all[i].us * US);
        lossy_free(p.l);
    }
}

/* ---- numbers ---- */

/* Numbers of channels come around, and leave out those that are there. */
static void test_numbers(void)
{
    static const uint32_t want[] = { UB_TPN_MASK - 1, UB_TPN_MASK, 1, 3 };
    Pair p = pair_init(100);
    uint32_t tpn = 2;

    pair_open(&p);
    g_assert_cmpint(ub_tp_create(p.a->tp, &tpn, &p.attr), ==, UB_TPR_OK);
    p.a->tp->next_tpn = UB_TPN_MASK - 2;
    for (unsigned i = 0; i < G_N_ELEMENTS(want); i++) {
        tpn = UB_TP_NONE;
        g_assert_cmpint(ub_tp_create(p.a->tp, &tpn, &p.attr), ==, UB_TPR_OK);
        g_assert_cmpuint(tpn, ==, want[i]);
    }
    ub_tp_destroy(p.a->tp, UB_TPN_MASK, p.l->now);
    tpn = UB_TPN_MASK;
    g_assert_cmpint(ub_tp_create(p.a->tp, &tpn, &p.attr), ==, UB_TPR_OK);
    g_assert_nonnull(chan_get(p.a->tp, UB_TPN_MASK));
    g_assert_null(chan_get(p.a->tp, 2 * UB_TPN_MASK + 1));
    lossy_free(p.l);
}

/* All that a modification takes, and nothing else. */
static void test_modify(void)
{
    Pair p = pair_init(100);
    uint32_t tpn = 5;
    UbTpAttr b;

    pair_open(&p);
    b = p.attr;
    b.flow.sl = 7;
    b.flow.dcna++;
    b.spray = b.ooo = b.selective = b.mark = true;
    b.dst_tpn++;
    b.tx_psn++;
    b.rx_psn++;
    b.mtu = 1024;
    b.ooo_window = 256;
    b.rto_dynamic = !b.rto_dynamic;
    b.rto_code = 1;
    b.rto_base_us++;
    b.rto_shift++;
    b.retries++;
    b.tx_window--;
    b.ask = UB_TP_ASK_LAST;
    b.ack_every++;
    b.sack_every++;
    b.sack_bits--;
    b.cc = UB_CC_CAQM;
    b.cw_unit++;
    for (unsigned bit = 0; bit < 7; bit++) {
        UbTpAttr want = p.attr, got, from = b;

        if (bit == 0) {
            from.spray = false;         /* alone it would clash */
        }
        g_assert_cmpint(ub_tp_create(p.a->tp, &tpn, &p.attr), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tp_modify(p.a->tp, 5, &from, 1u << bit), ==, UB_TPR_OK);
        switch (bit) {
        case 0:
            want.flow = b.flow;
            break;
        case 1:
            want.dst_tpn = b.dst_tpn, want.tx_psn = b.tx_psn;
            want.rx_psn = b.rx_psn, want.mtu = b.mtu;
            break;
        case 2:
            want.selective = want.mark = want.ooo = true;
            want.ooo_window = b.ooo_window;
            break;
        case 3:
            want.rto_dynamic = b.rto_dynamic, want.rto_code = b.rto_code;
            want.rto_base_us = b.rto_base_us, want.rto_shift = b.rto_shift;
            want.retries = b.retries;
            break;
        case 4:
            want.tx_window = b.tx_window;
            break;
        case 5:
            want.ask = b.ask, want.ack_every = b.ack_every;
            want.sack_every = b.sack_every, want.sack_bits = b.sack_bits;
            break;
        default:
            want.cc = b.cc, want.cw_unit = b.cw_unit;
        }
        ub_tp_query(p.a->tp, 5, &got, NULL);
        g_assert_cmpmem(&got, sizeof(got), &want, sizeof(want));
        /* All of them, and those that may not change any more. */
        g_assert_cmpint(ub_tp_modify(p.a->tp, 5, &b, UB_TPA_ALL), ==, UB_TPR_OK);
        ub_tp_query(p.a->tp, 5, &got, NULL);
        g_assert_cmpmem(&got, sizeof(got), &b, sizeof(b));
        g_assert_cmpint(ub_tp_modify(p.a->tp, 5, &b, UB_TPA_ALL + 1), ==,
                        UB_TPR_BAD_ATTR);
        for (unsigned s = UB_TP_INIT; s < UB_TP_STATES; s++) {
            chan_get(p.a->tp, 5)->state = s;
            g_assert_cmpint(ub_tp_modify(p.a->tp, 5, &b, 1u << bit), ==,
                            bit == 1 || bit == 2 || bit == 6 ? UB_TPR_BAD_STATE
                                                             : UB_TPR_OK);
        }
        ub_tp_destroy(p.a->tp, 5, p.l->now);
    }
    lossy_free(p.l);
}

/* What is said of a channel is of it, in the numbers of the document. */
static void test_query(void)
{
    Pair p = pair_init(100);
    Chan was, *ch;
    uint32_t g = 3;
    UbTpInfo i;

    p.cfg.cc_on = true;
    p.attr.cc = UB_CC_LDCP;
    pair_open(&p);
    i = info(p.a);
    g_assert_true(i.una == 100 && i.next == 100 && i.epsn == 500 && i.max_rcv == 499);
    g_assert_true(!i.tx_msn && !i.rx_msn && !i.in_flight && !i.held && !i.withheld);
    g_assert_cmpint(ub_tpg_create(p.a->tp, &g, UB_TPG_ROUND), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tpg_join(p.a->tp, g, TA), ==, UB_TPR_OK);
    ch = chan_get(p.a->tp, TA);
    was = *ch;
    ch->una = 0x12345678;
    ch->next = ch->una + 5;
    ch->epsn = 0x2abcdef0;
    ch->max_rcv = 0x2bcdef01;
    ch->tx_msn = 6;
    ch->rx_msn = 7;
    ch->bytes = 8;
    ch->held = 9;
    ch->fifo_len = 10;
    ch->times = 11;
    ch->cc->state.cw = 12;
    ch->cc->state.rate = 13;
    i = info(p.a);
    *ch = was;
    g_assert_cmpint(i.state, ==, UB_TP_ACTIVE);
    g_assert_cmpuint(i.group, ==, 3);
    g_assert_cmphex(i.una, ==, 0x345678);
    g_assert_cmphex(i.next, ==, 0x34567d);
    g_assert_cmphex(i.epsn, ==, 0xbcdef0);
    g_assert_cmphex(i.max_rcv, ==, 0xcdef01);
    g_assert_cmpuint(i.tx_msn, ==, 6);
    g_assert_cmpuint(i.rx_msn, ==, 7);
    g_assert_cmpuint(i.in_flight, ==, 5);
    g_assert_cmpuint(i.in_flight_bytes, ==, 8);
    g_assert_cmpuint(i.held, ==, 9);
    g_assert_cmpuint(i.withheld, ==, 10);
    g_assert_cmpuint(i.timeouts, ==, 11);
    g_assert_cmpuint(i.cw, ==, 12);
    g_assert_cmpuint(i.rate, ==, 13);
    lossy_free(p.l);
}

/* ---- answers ---- */

/* Table 6-2, of all that RSPST and RSPINFO can be. */
static void test_codes(void)
{
    for (unsigned st = 0; st < 8; st++) {
        for (unsigned in = 0; in < 32; in++) {
            UbTpAnswer a = answer_of(st, in);
            int want = UB_TP_ACK;
            UbRtph h = { .opcode = UB_TPOP_ACK, .rspst = st, .rspinfo = in };

            if (st == UB_RTPH_TA && in < 3) {
                want = in == 0 ? UB_TP_RETRY : in == 1 ? UB_TP_FAIL : UB_TP_DONE;
            } else if (st == UB_RTPH_RNR) {
                want = UB_TP_RNR;
            } else if (st == UB_RTPH_PAGE_FAULT) {
                want = UB_TP_PAGE_FAULT;
            } else if (st == UB_RTPH_NAK && (in == 1 || in == 2)) {
                want = in == 1 ? UB_TP_UNSUPPORTED : UB_TP_ABORT;
            }
            g_assert_cmpint(a.status, ==, want);
            g_assert_cmpuint(a.timer, ==, want == UB_TP_RNR || want == UB_TP_PAGE_FAULT
                             ? in : 0);
            g_assert_cmpint(!ub_rtph_fault(&h), ==,
                            st == UB_RTPH_ACK || (in < 20 && (st == 1 || st == 2)) ||
                            (in < 3 && (st == 3 || st == 5)));
        }
    }
}

/* A time is at most the largest, whoever says it. */
static void test_timer(void)
{
    for (unsigned t = 18; t < 23; t++) {
        for (unsigned later = 0; later < 2; later++) {
            UbTpAnswer rnr = { UB_TP_RNR, t };
            Pair p = pair_init(100);

            p.cfg.fake_us = 0;
            scripted[0] = later ? (UbTpAnswer) { UB_TP_WITHHOLD } : rnr;
            pair_open(&p);
            p.b->answer = answer_scripted;
            lossy_send(p.a, TA, 8, 1, true, true, 1);
            lossy_run(p.l, p.l->now + 50 * US);
            if (later) {
                g_assert_true(ub_tp_answer(p.b->tp, TB, 0, rnr, p.l->now));
                lossy_run(p.l, p.l->now + 50 * US);
            }
            g_assert_cmpuint(lossy_acked(p.a, 0)->answer.timer, ==, MIN(t, 19));
            lossy_free(p.l);
        }
    }
}

/* With an answer withheld, those behind it are remembered as far as there are places. */
static void test_results(void)
{
    static const UbTpAnswer ack = { UB_TP_ACK };
    Pair p = pair_init(100);
    UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .psn = 100 };

    p.cfg.results = 16;
    pair_open(&p);
    p.b->answer = answer_scripted;
    for (unsigned i = 0; i < 8; i++) {
        scripted[i] = i ? ack : (UbTpAnswer) { UB_TP_WITHHOLD };
    }
    for (unsigned i = 0; i < 16; i++, h.psn++) {
        h.last = i < 3 || i > 12;
        inject(&p, p.b, h, 8);
        g_assert_cmpuint(p.b->got->len, ==, i + 1);
        h.msn += h.last;
    }
    h.last = true;
    inject(&p, p.b, h, 8);
    g_assert_cmpuint(p.b->got->len, ==, 16);
    g_assert_cmpuint(count(p.b)->drop_room, ==, 1);
    h.last = false;
    inject(&p, p.b, h, 8);
    g_assert_cmpuint(p.b->got->len, ==, 17);
    lossy_free(p.l);
}

/* An answer to what was let go long ago is not another's, whose place it has. */
static void test_old_answer(void)
{
    Pair p = pair_init(96);
    Chan *ch;

    pair_open(&p);
    p.l->lose_ppm = 1000000;
    lossy_send(p.a, TA, 8, 0, true, false, 0);
    inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 96 }, 0);
    for (unsigned i = 1; i <= RING_MIN; i++) {
        lossy_send(p.a, TA, 8, i, true, true, i);
    }
    ch = chan_get(p.a->tp, TA);
    g_assert_cmpuint(ch->ring_mask, ==, RING_MIN - 1);
    inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 96, .rspst = UB_RTPH_TA,
                               .rspinfo = UB_RTPH_TA_GOOD }, 0);
    for (unsigned i = 1; i <= RING_MIN; i++) {
        g_assert_false(slot_at(ch, 96 + i)->flags & SLOT_ANSWERED);
    }
    inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 97, .rspst = UB_RTPH_TA,
                               .rspinfo = UB_RTPH_TA_GOOD }, 0);
    g_assert_cmpuint(p.a->acked->len, ==, 2);
    lossy_free(p.l);
}

/* ---- images ---- */

static CorePacket *sized(Lossy *l, Chan *ch, uint32_t psn, uint32_t len, uint8_t pad)
{
    UbRtph h = { .opcode = UB_TPOP_DATA, .psn = psn & UB_PSN_MASK, .pad = pad };
    CorePacket *pkt = core_packet_alloc(l->pool, len);

    memset(core_packet_data(pkt), 0, len);
    ub_rtph_put(core_packet_data(pkt), &h);
    return pkt;
}

/* Node 0 with four packets of which two are out, and one answer; an image of it, changed,
 * and why node 1 does not take that. */
#define IMAGE(change, want) do { \
        Lossy *l = image_bed(&cfg); \
        UbTp *tp = l->node[0].tp; \
        Chan *ch = chan_get(tp, 9); \
        CoreImage *im; \
        uint8_t *data; \
        size_t len; \
        \
        (void)tp; \
        (void)ch; \
        change; \
        im = core_image_save(l->now); \
        ub_tp_image(l->node[0].tp, im); \
        data = core_image_take(im, &len); \
        core_image_free(im); \
        lossy_renew(l, 1, &cfg); \
        im = core_image_load(data, len, l->now); \
        ub_tp_image(l->node[1].tp, im); \
        g_assert_cmpstr(core_image_done(im), ==, want); \
        core_image_free(im); \
        g_free(data); \
        lossy_free(l); \
    } while (0)
#define SLOT(i) slot_at(ch, ch->una + (i))

static Lossy *image_bed(const UbTpConfig *cfg)
{
    static const UbTpAnswer done = { UB_TP_DONE };
    Lossy *l = lossy_new(cfg, 2);
    uint32_t g = 5;
    UbTpAttr attr;

    ub_tp_attr_init(l->node[0].tp, &attr);
    attr.cc = cfg->cc_on ? UB_CC_LDCP : UB_CC_NONE;
    lossy_channel(l, 0, 1, 9, 9, &attr);
    for (unsigned i = 0; i < 4; i++) {
        l->node[0].down = i >= 2;
        g_assert_cmpint(lossy_send(&l->node[0], 9, 8, i, true, true, i), ==, UB_SENT);
    }
    result_put(chan_get(l->node[0].tp, 9), attr.rx_psn - 1, 0, done);
    g_assert_cmpint(ub_tpg_create(l->node[0].tp, &g, UB_TPG_LEAST), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tpg_join(l->node[0].tp, g, 9), ==, UB_TPR_OK);
    return l;
}

static void swap(Lossy *l, Chan *ch, unsigned i, uint32_t len, uint8_t pad)
{
    Slot *s = SLOT(i);

    core_packet_free(s->pkt);
    s->pkt = sized(l, ch, ch->una + i, len, pad);
    s->off = s->pkt->off;
    s->len = len;
}

static void head(Chan *ch, unsigned at, uint8_t bits)
{
    SLOT(1)->pkt->buf[SLOT(1)->off + at] ^= bits;
}

static void test_image(void)
{
    static const char other[] = "a packet of a channel has another's header";
    static const char sent[] = "a channel sent what it has not";
    static const char none[] = "an answer that a channel remembers is none";
    static const char group[] = "a group of the image cannot be";
    UbTpConfig cfg;
    Result *r;

    ub_tp_config_init(&cfg);
    IMAGE((void)0, NULL);
    IMAGE(swap(l, ch, 2, UB_RTPH_LEN, 0), NULL);
    IMAGE(swap(l, ch, 2, UB_RTPH_LEN, 1), other);
    IMAGE(swap(l, ch, 2, UB_RTPH_LEN + 2, 2), NULL);
    IMAGE(swap(l, ch, 2, UB_RTPH_LEN + 2, 3), other);
    IMAGE(SLOT(2)->len = UB_RTPH_LEN - 1, "a packet of a channel is too short");
    IMAGE(swap(l, ch, 2, 16384, 0), NULL);
    IMAGE(swap(l, ch, 2, 16385, 0), "a packet of a channel is too long");
    IMAGE(head(ch, 0, 3), other);           /* TPOpcode */
    IMAGE(head(ch, 1, 0x40), other);        /* TPVer */
    IMAGE(head(ch, 11, 1), other);          /* PSN */
    IMAGE(head(ch, 9, 0x80), other);
    IMAGE(ch->snd = ch->una, NULL);
    IMAGE(ch->snd = ch->una; ch->cum++, sent);
    IMAGE(ch->snd++, sent);
    IMAGE(ch->high++; ch->snd++, NULL);
    IMAGE(ch->high = ch->una + 5, sent);
    r = NULL;
#define RESULT (r = &ch->result[(ch->epsn - 1) & (cfg.results - 1)])
    IMAGE(RESULT->status = UB_TP_FLUSHED - 1, NULL);
    IMAGE(RESULT->status = UB_TP_FLUSHED, none);
    IMAGE(RESULT->status = UB_TP_WITHHOLD, none);
    IMAGE(RESULT->status = UB_TP_ACK, none);
    IMAGE(RESULT->timer = UB_RNR_TIMER_MAX, NULL);
    IMAGE(RESULT->timer = UB_RNR_TIMER_MAX + 1, none);
    IMAGE(RESULT->state = RESULT_WAIT, none);
    IMAGE(RESULT->state = RESULT_READY + 1, none);
    IMAGE(RESULT->state = RESULT_WAIT; r->status = UB_TP_WITHHOLD, NULL);
    IMAGE(RESULT->psn += cfg.results, "a channel withholds what it does not have");
    IMAGE(ch->setup_at = 5, "a channel that is set up has a time for that");
    IMAGE(tp->groups[5]->policy = UB_TPG_POLICIES - 1, NULL);
    IMAGE(tp->groups[5]->policy = UB_TPG_POLICIES, group);
    IMAGE(ctp_flow_new(tp, 1), NULL);
    cfg.ctp_flows = 1;
    IMAGE(ctp_flow_new(tp, 1), NULL);
    IMAGE(tp->cfg.ctp_flows = 2; ctp_flow_new(tp, 1); ctp_flow_new(tp, 2),
          "there are too many throttled destinations");
    cfg.cc_on = true;
    IMAGE((void)0, NULL);
    IMAGE(tp->cfg.cc_on = false, "a channel has congestion control that is off");
    IMAGE(ch->cc->state.cw = 1, NULL);
    IMAGE(ch->cc->state.cw = 0, "a window of congestion control that is none");
}

/* As many packets as the widest window has. */
static void test_image_window(void)
{
    UbTpConfig cfg;

    ub_tp_config_init(&cfg);
    cfg.unsent = 32768;
    cfg.attr.tx_window = 32768;
#define FILL do { \
        while (ch->next - ch->una < 32768) { \
            g_assert_cmpint(lossy_send(&l->node[0], 9, 8, 5, true, true, 5), ==, UB_SENT); \
        } \
    } while (0)
    IMAGE(FILL, NULL);
}

/* Each section has the version that its fields are of. */
static void test_versions(void)
{
    static const struct { const char *tag; uint16_t version; } all[] = {
        { "UBTP", 2 }, { "CHAN", 1 }, { "TPG ", 1 }, { "CTPF", 1 },
    };
    UbTpConfig cfg;
    CoreImage *im;
    uint8_t *data;
    size_t len;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = image_bed(&cfg);
    ctp_flow_new(l->node[0].tp, 1);
    im = core_image_save(l->now);
    ub_tp_image(l->node[0].tp, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        const uint8_t *at = memmem(data, len, all[i].tag, 4);

        g_assert_nonnull(at);
        g_assert_cmpuint(get_be16(at + 4), ==, all[i].version);
    }
    g_free(data);
    lossy_free(l);
}

/* What a microsecond of an algorithm lasts, wherever its state comes from. */
static void test_scale(void)
{
    UbTpConfig cfg;
    CoreImage *im;
    CtpFlow *f;
    uint8_t *data;
    size_t len;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.clock[UB_TPC_CC].scale = 3;
    l = image_bed(&cfg);
    g_assert_cmpint(chan_get(l->node[0].tp, 9)->cc->state.scale_ns, ==, 3000);
    ctp_flow_new(l->node[0].tp, 7);
    im = core_image_save(l->now);
    ub_tp_image(l->node[0].tp, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    lossy_renew(l, 1, &cfg);
    im = core_image_load(data, len, l->now);
    ub_tp_image(l->node[1].tp, im);
    g_assert_null(core_image_done(im));
    core_image_free(im);
    g_assert_cmpint(chan_get(l->node[1].tp, 9)->cc->state.scale_ns, ==, 3000);
    f = g_hash_table_lookup(l->node[1].tp->ctp, &(uint64_t) { 7 });
    g_assert_cmpint(f->state.scale_ns, ==, 3000);
    g_free(data);
    lossy_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/bounds/attr", test_attr);
    g_test_add_func("/tp/bounds/config", test_config);
    g_test_add_func("/tp/bounds/clock", test_clock);
    g_test_add_func("/tp/bounds/rto", test_rto);
    g_test_add_func("/tp/bounds/numbers", test_numbers);
    g_test_add_func("/tp/bounds/modify", test_modify);
    g_test_add_func("/tp/bounds/query", test_query);
    g_test_add_func("/tp/bounds/codes", test_codes);
    g_test_add_func("/tp/bounds/timer", test_timer);
    g_test_add_func("/tp/bounds/results", test_results);
    g_test_add_func("/tp/bounds/old-answer", test_old_answer);
    g_test_add_func("/tp/bounds/image", test_image);
    g_test_add_func("/tp/bounds/image-window", test_image_window);
    g_test_add_func("/tp/bounds/versions", test_versions);
    g_test_add_func("/tp/bounds/scale", test_scale);
    return g_test_run();
}
