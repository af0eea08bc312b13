/*
 * Congestion control: the window framework and the algorithms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "../../../../hw/ub/tp/internal.h"
#include "lossy.h"

enum { TA = 11, TB = 22, US = 1000, MS = 1000000 };
/* What a packet of 100 bytes counts: RTPH and ICRC, in units of two. */
enum { SIZE = 100 + 16 + 4 };

static Lossy *pair(uint8_t cc, UbTpConfig *cfg, bool selective)
{
    UbTpAttr attr;
    Lossy *l;

    cfg->unsent = 100;          /* windows alone refuse */
    l = lossy_new(cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    attr.cc = cc;
    attr.mtu = 1024;
    attr.selective = attr.ooo = selective;
    attr.ask = UB_TP_ASK_ALL;
    attr.rto_base_us = 1000;
    lossy_channel(l, 0, 1, TA, TB, &attr);
    return l;
}

static UbTpInfo info(LossyNode *n)
{
    UbTpInfo i;

    ub_tp_query(n->tp, n->n ? TB : TA, NULL, &i);
    return i;
}

static const ChanCc *cc_of(LossyNode *n)
{
    return chan_get(n->tp, n->n ? TB : TA)->cc;
}

static void some(Lossy *l, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g_assert_cmpint(lossy_send(&l->node[0], TA, 100, i, true, false, i),
                        ==, UB_SENT);
    }
}

static uint64_t sent(Lossy *l)
{
    return ub_tp_counters(l->node[0].tp)->tx_packets[UB_TP_RTP];
}

/* Not more goes than the window has room for; CC_EN off: all. */
static void test_window(void)
{
    for (unsigned on = 0; on < 2; on++) {
        UbTpConfig cfg;
        Lossy *l;

        ub_tp_config_init(&cfg);
        cfg.cc_on = on;
        cfg.cc_param.cw_init = 10 * SIZE + SIZE - 1;
        cfg.cc_param.cw_min = 100;
        cfg.cc_param.cw_max = 20 * SIZE;
        l = lossy_new(&cfg, 1);
        lossy_free(l);
        l = pair(UB_CC_LDCP, &cfg, false);
        some(l, 40);
        g_assert_cmpuint(sent(l), ==, on ? 10 : 40);
        lossy_run(l, l->now + 9 * US);
        g_assert_cmpuint(sent(l), ==, on ? 10 : 40);
        lossy_run(l, l->now + 200 * US);
        g_assert_cmpuint(l->node[1].got->len, ==, 40);
        g_assert_cmpuint(l->node[0].acked->len, ==, 40);
        if (on) {
            g_assert_cmpuint(cc_of(&l->node[0])->sent, ==, 40 * SIZE / 2);
            g_assert_cmpuint(cc_of(&l->node[0])->rcvd, ==, 40 * SIZE / 2);
            g_assert_cmpuint(cc_of(&l->node[1])->fb.ack_seq, ==,
                             40 * SIZE / 2);
            /* Grown, as far as it may. */
            g_assert_cmpuint(info(&l->node[0]).cw, >, cfg.cc_param.cw_init);
            g_assert_cmpuint(info(&l->node[0]).cw, <=, cfg.cc_param.cw_max);
        } else {
            g_assert_null(cc_of(&l->node[0]));
        }
        g_assert_cmpuint(chan_get(l->node[0].tp, TA)->out, ==, 0);
        lossy_free(l);
    }
}

/* Off while it waits: what the window held back goes. */
static void test_enable(void)
{
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.cc_param.cw_init = cfg.cc_param.cw_min = 2 * SIZE;
    l = pair(UB_CC_CAQM, &cfg, false);
    l->latency = 500 * US;
    some(l, 20);
    lossy_run(l, l->now + 10 * US);
    g_assert_cmpuint(sent(l), <, 20);
    ub_tp_cc_enable(l->node[0].tp, false);
    lossy_run(l, l->now + US);
    g_assert_cmpuint(sent(l), ==, 20);
    ub_tp_cc_enable(l->node[0].tp, true);
    g_assert_nonnull(cc_of(&l->node[0]));
    lossy_run(l, l->now + 100 * MS);
    g_assert_cmpuint(l->node[1].got->len, ==, 20);
    lossy_free(l);
}

/* A window below a packet lets one go at a time. */
static void test_tiny(void)
{
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.cc_param.cw_min = 1;
    l = pair(UB_CC_LDCP, &cfg, false);
    chan_get(l->node[0].tp, TA)->cc->state.cw = 10;
    some(l, 3);
    g_assert_cmpuint(sent(l), ==, 1);
    lossy_run(l, l->now + MS);
    g_assert_cmpuint(l->node[1].got->len, ==, 3);
    lossy_free(l);
}

/* Loss gives back what was under way, by each of its ways (table 7.1). */
static void test_losses(void)
{
    for (unsigned selective = 0; selective < 2; selective++) {
        static const LossyRule one[] = { { KIND_DATA, 2, 1, LOSE, 0 },
                                         { KIND_DATA, 9, 1, LOSE, 0 },
                                         { 0 } };
        UbTpConfig cfg;
        Lossy *l;

        ub_tp_config_init(&cfg);
        cfg.cc_on = true;
        cfg.cc_param.cw_init = 1024 * SIZE;
        l = pair(UB_CC_LDCP, &cfg, selective);
        lossy_script(l, 0, one);
        some(l, 10);
        g_assert_cmpuint(cc_of(&l->node[0])->sent, ==, 10 * SIZE / 2);
        lossy_run(l, l->now + 21 * US);
        /* One of them is lost and went again; the last is still out. */
        g_assert_cmpuint(cc_of(&l->node[0])->sent, ==, 10 * SIZE / 2);
        lossy_run(l, l->now + 100 * MS);
        g_assert_cmpuint(l->node[1].got->len, ==, 10);
        g_assert_cmpuint(cc_of(&l->node[0])->sent, ==, 10 * SIZE / 2);
        g_assert_cmpuint(cc_of(&l->node[0])->rcvd, ==, 10 * SIZE / 2);
        g_assert_cmpuint(chan_get(l->node[0].tp, TA)->out, ==, 0);
        lossy_free(l);
    }
}

/* What was sent again needlessly does not fill the window for ever. */
static void test_drift(void)
{
    static const LossyRule late[] = { { KIND_ACK, -1, 1, LOSE, 0 }, { 0 } };
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.cc_param.cw_init = cfg.cc_param.cw_min = cfg.cc_param.cw_max =
        3 * SIZE;
    l = pair(UB_CC_LDCP, &cfg, false);
    for (unsigned i = 0; i < 10; i++) {
        lossy_script(l, 1, late);
        some(l, 1);
        lossy_run(l, l->now + 10 * MS);
    }
    g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->tx_resent, ==, 10);
    some(l, 3);
    g_assert_cmpuint(sent(l), ==, 10 + 10 + 3);
    lossy_free(l);
}

/* What is under way is what the feedback leaves, though more of it waits for its
 * acknowledgement; it is never more than that. */
static void test_under_way(void)
{
    UbTpConfig cfg;
    Lossy *l;
    Chan *ch;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    l = pair(UB_CC_LDCP, &cfg, true);
    ch = chan_get(l->node[0].tp, TA);
    ch->cc->state.cw = 2 * SIZE;
    ch->cc->rcvd = 1000;
    ch->out = 10 * SIZE;
    ch->cc->sent = 1000 + SIZE / 2;
    g_assert_true(cc_may(ch, 104 + 12, l->now));
    ch->cc->sent++;
    g_assert_false(cc_may(ch, 104 + 12, l->now));
    ch->out = SIZE;
    g_assert_true(cc_may(ch, 104 + 12, l->now));
    lossy_free(l);
}

/* Feedback is taken for an older one from a quarter of its numbers ahead on. */
static void test_far(void)
{
    static const uint32_t ahead[] = { 0, 1, UINT32_MAX / 4, UINT32_MAX / 4 + 1,
                                      UINT32_MAX / 2, UINT32_MAX };
    UbTpConfig cfg;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    for (unsigned i = 0; i < G_N_ELEMENTS(ahead); i++) {
        UbCetph c = { .ack_seq = 1000 + ahead[i] };
        Lossy *l = pair(UB_CC_LDCP, &cfg, false);
        Chan *ch = chan_get(l->node[0].tp, TA);

        ch->cc->rcvd = ch->cc->sent = 1000;
        cc_feedback(ch, &c, l->now);
        g_assert_cmpuint(ch->cc->rcvd, ==, i < 3 ? c.ack_seq : 1000);
        lossy_free(l);
    }
}

/* Marks shrink LDCP's window, and no farther than it may. */
static void test_ldcp(void)
{
    UbCcParam p = { .cw_init = 10000, .cw_min = 1000, .cw_max = 20000,
                    .ldcp_add = 1000, .ldcp_cut = 512 };
    UbCcState s = { .mtu = 1024, .unit = 1 };
    UbCetph c = { 0 };

    ub_cc_ldcp.init(&s, &p, 0);
    g_assert_cmpuint(s.cw, ==, 10000);
    ub_cc_ldcp.ack(&s, &p, &c, 10000, 0);       /* a window without a mark */
    g_assert_cmpuint(s.cw, ==, 11000);
    ub_cc_ldcp.ack(&s, &p, &c, 0, 0);
    g_assert_cmpuint(s.cw, ==, 11000);
    c.ce_seq = 500;                             /* a thousand marked */
    ub_cc_ldcp.ack(&s, &p, &c, 2000, 0);
    g_assert_cmpuint(s.cw, ==, 10500);
    ub_cc_ldcp.ack(&s, &p, &c, 10500, 0);
    g_assert_cmpuint(s.cw, ==, 11500);
    c.ce_seq += 100000;                         /* more than it speaks of */
    ub_cc_ldcp.ack(&s, &p, &c, 2000, 0);
    g_assert_cmpuint(s.cw, ==, 10500);
    for (int i = 0; i < 100; i++) {
        c.ce_seq += 5000;
        ub_cc_ldcp.ack(&s, &p, &c, 10000, 0);
    }
    g_assert_cmpuint(s.cw, ==, 1000);
    for (int i = 0; i < 100; i++) {
        ub_cc_ldcp.ack(&s, &p, &c, 10000, 0);
    }
    g_assert_cmpuint(s.cw, ==, 20000);
    ub_cc_ldcp.lost(&s, &p, false, 0);
    g_assert_cmpuint(s.cw, ==, 20000);
    ub_cc_ldcp.lost(&s, &p, true, 0);
    g_assert_cmpuint(s.cw, ==, 10000);
    p.cw_max = s.cw = 100000000;
    c.ce_seq += 5120000;
    ub_cc_ldcp.ack(&s, &p, &c, 10240000, 0);
    g_assert_cmpuint(s.cw, ==, 100000000 - 5120000);
}

/* Table 6-11. */
static void test_caqm(void)
{
    static const struct {
        UbCetph c;
        uint64_t cw;
    } table[] = {
        { { .c = 0 }, 10000 },
        { { .c = 0, .inc = true, .hint = 8 }, 10000 + 8 * 64 },
        { { .c = 2 }, 10000 - 2 * 500 },
        { { .c = 2, .inc = true, .hint = 8 }, 10000 + 8 * 64 - 2 * 500 },
        { { .c = 255 }, 1000 },
        { { .inc = true, .hint = 0xffff }, 20000 },
        { { .hint = 8 }, 10000 },
    };
    UbCcParam p = { .cw_init = 10000, .cw_min = 1000, .cw_max = 20000,
                    .caqm_unit = 64, .caqm_want = 20, .caqm_cut = 500 };
    UbCcState s = { .mtu = 1024, .unit = 1 };

    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        ub_cc_caqm.init(&s, &p, 0);
        ub_cc_caqm.ack(&s, &p, &table[i].c, 100, 0);
        g_assert_cmpuint(s.cw, ==, table[i].cw);
    }
    ub_cc_caqm.init(&s, &p, 0);
    g_assert_cmphex(ub_cc_caqm.sent(&s, &p, 100, 0), ==, 0x0500 | 20);
    s.cw = 20000;                       /* it has what it wants */
    g_assert_cmphex(ub_cc_caqm.sent(&s, &p, 100, 0), ==, 0x0400);
    ub_cc_caqm.lost(&s, &p, true, 0);
    g_assert_cmpuint(s.cw, ==, 10000);
}

/* What the receiver says of packets that it acknowledges together. */
static void test_caqm_feedback(void)
{
    static const uint16_t cci[] = {
        0x0510,         /* granted 16 */
        0x0720,         /* C and I: only C counts */
        0x0600,         /* C */
        0x15ff,         /* granted 255, Loc */
        0x0120,         /* not enabled */
        0x8003,         /* another mode */
    };
    UbTpConfig cfg;
    UbCetph fb;
    Lossy *l;
    Chan *ch;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    l = pair(UB_CC_CAQM, &cfg, false);
    ch = chan_get(l->node[1].tp, TB);
    for (unsigned i = 0; i < G_N_ELEMENTS(cci); i++) {
        cc_received(ch, 116, cci[i], l->now);
    }
    cc_take(ch, &fb);
    g_assert_cmpuint(fb.ack_seq, ==, 6 * 60);
    g_assert_cmpuint(fb.c, ==, 2);
    g_assert_true(fb.inc && fb.loc);
    g_assert_cmpuint(fb.hint, ==, 16 + 255);
    cc_take(ch, &fb);
    g_assert_cmpuint(fb.ack_seq, ==, 6 * 60);
    g_assert_true(!fb.c && !fb.inc && !fb.loc && !fb.hint);
    for (unsigned i = 0; i < 300; i++) {
        cc_received(ch, 116, 0x0600, l->now);
        cc_received(ch, 116, 0x05ff, l->now);
    }
    cc_take(ch, &fb);
    g_assert_cmpuint(fb.c, ==, 255);
    g_assert_cmpuint(fb.hint, ==, 0xffff);
    lossy_free(l);
}

/* Feedback comes across, in TPACK-CC and in TPSACK-CC. */
static void test_across(void)
{
    static const LossyRule one[] = { { KIND_DATA, 1, 1, LOSE, 0 }, { 0 } };

    for (unsigned kind = UB_CC_LDCP; kind <= UB_CC_CAQM;
         kind += UB_CC_CAQM - UB_CC_LDCP) {
        for (unsigned selective = 0; selective < 2; selective++) {
            UbTpConfig cfg;
            uint64_t cw;
            Lossy *l;

            ub_tp_config_init(&cfg);
            cfg.cc_on = true;
            cfg.cc_param.cw_init = 100000;
            l = pair(kind, &cfg, selective);
            l->cci = kind == UB_CC_LDCP ? 0x8003 : 0x0600;
            lossy_script(l, 0, one);
            cw = info(&l->node[0]).cw;
            g_assert_cmpuint(cw, ==, 100000);
            some(l, 6);
            lossy_run(l, l->now + 100 * US);
            g_assert_cmpuint(l->node[1].got->len, ==, 6);
            g_assert_cmpuint(info(&l->node[0]).cw, <, cw);
            g_assert_cmpuint(cc_of(&l->node[0])->rcvd, ==, 6 * SIZE / 2);
            g_assert_cmpuint(cc_of(&l->node[1])->fb.ce_seq, ==,
                             kind == UB_CC_LDCP ? 6 * SIZE / 2 : 0);
            if (selective) {
                g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->rx_sack, >=,
                                 3);
            }
            lossy_free(l);
        }
    }
}

/* CNPs: cut at once, recover by periods, end without a limit. */
static void test_dcqcn(void)
{
    UbCcParam p = { .rate_max = 1000000, .rate_min = 1000, .dcqcn_g = 512,
                    .dcqcn_alpha_us = 55, .dcqcn_rate_us = 100,
                    .dcqcn_ai = 1000, .dcqcn_hai = 10000, .dcqcn_fast = 3 };
    UbCcState s = { .tick = INT64_MAX, .scale_ns = 1000 };
    UbCetph c = { .ecn = 3 }, none = { 0 };
    uint64_t last;
    int64_t now = 1000;
    unsigned steps = 0;

    ub_cc_dcqcn.init(&s, &p, now);
    ub_cc_dcqcn.cnp(&s, &p, &none, now);
    g_assert_cmpuint(s.rate, ==, 0);
    ub_cc_dcqcn.cnp(&s, &p, &c, now);
    g_assert_cmpuint(s.rate, >, 495000);
    g_assert_cmpuint(s.rate, <, 505000);
    g_assert_cmpint(s.tick, ==, now + 55000);
    /* ALPHA, which was one, by half in each period; nothing of it is rounded up. */
    for (uint64_t alpha = 512; alpha; alpha /= 2) {
        now = s.tick;
        ub_cc_dcqcn.tick(&s, &p, now);
        g_assert_cmpuint(s.var[0], ==, alpha);
        s.at[1] = INT64_MAX;
        s.tick = s.at[0];
    }
    for (unsigned i = 0; i < 30; i++) {
        ub_cc_dcqcn.cnp(&s, &p, &c, now);
    }
    g_assert_cmpuint(s.rate, ==, 1000);
    last = s.rate;
    while (s.rate) {
        g_assert_cmpint(s.tick, >, now);
        now = s.tick;
        s.tick = INT64_MAX;
        ub_cc_dcqcn.tick(&s, &p, now);
        g_assert_true(!s.rate || s.rate >= last);
        last = s.rate;
        steps++;
        g_assert_cmpuint(steps, <, 10000);
    }
    g_assert_cmpint(s.tick, ==, INT64_MAX);
    g_assert_cmpuint(steps, >, 10);
    g_assert_cmpuint(s.var[0], ==, 1024);       /* the next CNP is a first one */
}

/* The longest periods that there are, by the slowest clock, when it has run for two
 * centuries: later, not long ago. */
static void test_dcqcn_bounds(void)
{
    static const char *const names[] = { "dcqcn-alpha", "dcqcn-rate", "cc-scale" };
    UbCcState s = { .tick = INT64_MAX };
    UbCetph c = { .ecn = 3 };
    int64_t now = INT64_C(3) << 61;
    UbTpConfig cfg;
    unsigned n, found = 0;
    const CoreOption *o = ub_tp_options(&n);

    ub_tp_config_init(&cfg);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < G_N_ELEMENTS(names); k++) {
            g_autofree char *most = g_strdup_printf("%" G_GUINT64_FORMAT, o[i].max),
                            *more = g_strdup_printf("%" G_GUINT64_FORMAT,
                                                       o[i].max + 1),
                            *why = NULL;

            if (!strcmp(o[i].name, names[k])) {
                g_assert_true(core_option_parse(&o[i], &cfg, most, &why));
                g_assert_false(core_option_parse(&o[i], &cfg, more, &why));
                found++;
            }
        }
    }
    g_assert_cmpuint(found, ==, G_N_ELEMENTS(names));
    s.scale_ns = 1000 * (int64_t)cfg.clock[UB_TPC_CC].scale;
    ub_cc_dcqcn.init(&s, &cfg.cc_param, now);
    ub_cc_dcqcn.cnp(&s, &cfg.cc_param, &c, now);
    g_assert_cmpint(s.tick, >, now);
    for (unsigned i = 0; i < 4; i++) {
        now = s.tick;
        ub_cc_dcqcn.tick(&s, &cfg.cc_param, now);
        g_assert_cmpint(s.tick, >, now);
    }
}

/* Each clock has a floor of up to an hour and a scale of up to a million, and such a
 * transport can be made. */
static void test_clocks(void)
{
    UbTpConfig cfg;
    unsigned n, floors = 0, scales = 0;
    const CoreOption *o = ub_tp_options(&n);
    Lossy *l;

    ub_tp_config_init(&cfg);
    for (unsigned i = 0; i < n; i++) {
        bool floor = g_str_has_suffix(o[i].name, "-floor");
        g_autofree char *why = NULL;

        if (floor || g_str_has_suffix(o[i].name, "-scale")) {
            g_assert_false(core_option_parse(&o[i], &cfg, floor ? "3600000001"
                                                                : "1000001", &why));
            g_clear_pointer(&why, g_free);
            g_assert_true(core_option_parse(&o[i], &cfg, floor ? "3600000000"
                                                               : "1000000", &why));
            *(floor ? &floors : &scales) += 1;
        }
    }
    g_assert_cmpuint(floors, ==, UB_TPC_NUM);
    g_assert_cmpuint(scales, ==, UB_TPC_NUM);
    l = lossy_new(&cfg, 2);
    g_assert_nonnull(l->node[0].tp);
    lossy_free(l);
}

/* Over a channel: marked packets make CNPs, which slow it down; not one for
 * each mark. */
static void test_dcqcn_across(void)
{
    UbTpConfig cfg;
    Lossy *l;
    int64_t at;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.cnp_us = 1000;
    cfg.cc_param.rate_max = 100000000;
    cfg.cc_param.dcqcn_rate_us = 100000;
    l = pair(UB_CC_DCQCN, &cfg, false);
    l->cci = 0x8003;
    some(l, 10);
    lossy_run(l, l->now + 50 * US);
    g_assert_cmpuint(ub_tp_counters(l->node[1].tp)->tx_cnp, ==, 1);
    g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->rx_cnp, ==, 1);
    g_assert_cmpuint(info(&l->node[0]).rate, <, 51000000);
    g_assert_cmpuint(info(&l->node[0]).rate, >, 49000000);
    l->cci = 0;
    at = l->now;
    /* 116 bytes at 50 MB/s: 2.3 us each. */
    some(l, 100);
    lossy_run(l, at + 116 * US);
    g_assert_cmpuint(sent(l), >=, 10 + 48);
    g_assert_cmpuint(sent(l), <=, 10 + 53);
    lossy_run(l, at + 500 * US);
    g_assert_cmpuint(l->node[1].got->len, ==, 110);
    /* Marked again after the pause. */
    l->cci = 0x8001;
    lossy_run(l, at + 1200 * US);
    some(l, 5);
    lossy_run(l, l->now + 50 * US);
    g_assert_cmpuint(ub_tp_counters(l->node[1].tp)->tx_cnp, ==, 2);
    lossy_free(l);
}

/* A user's own algorithm. */
static unsigned user_calls[6];

static void user_init(UbCcState *s, const void *param, int64_t now)
{
    g_assert_cmpstr(param, ==, "mine");
    user_calls[0]++;
    s->cw = 3 * SIZE;
    s->tick = now + 5 * US;
}

static uint16_t user_sent(UbCcState *s, const void *param, uint32_t bytes,
                          int64_t now)
{
    user_calls[1]++;
    return 0x8002;
}

static void user_ack(UbCcState *s, const void *param, const UbCetph *c,
                     uint32_t bytes, int64_t now)
{
    user_calls[2] += bytes;
}

static void user_lost(UbCcState *s, const void *param, bool timeout,
                      int64_t now)
{
    user_calls[timeout ? 4 : 3]++;
}

static void user_tick(UbCcState *s, const void *param, int64_t now)
{
    user_calls[5]++;
    s->tick = now;              /* at once: it is not asked so often */
    if (user_calls[5] >= 10) {
        s->tick = INT64_MAX;
    }
}

/* What an image may bring does not end the window, nor the process. */
static void test_grown(void)
{
    const UbCc *const algo[] = { &ub_cc_ldcp, &ub_cc_aimd };
    const UbCcParam p = { .cw_init = 10000, .cw_min = 1000, .cw_max = 20000,
                          .ldcp_add = 1, .ldcp_cut = 512 };
    const UbCetph c = { 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(algo); i++) {
        static const uint64_t cw[] = { 1, 2, UINT64_MAX };

        for (unsigned j = 0; j < G_N_ELEMENTS(cw); j++) {
            for (uint32_t bytes = 0; bytes < 3; bytes++) {
                UbCcState s = { .mtu = 1, .unit = 1, .cw = cw[j],
                                .var = { 0, UINT64_MAX - 1 } };

                algo[i]->ack(&s, &p, &c, bytes, 0);
                algo[i]->ack(&s, &p, &c, 2, 0);
                g_assert_cmpuint(s.cw, >=, 1000);
                g_assert_cmpuint(s.cw, <=, 20000);
            }
        }
    }
}

/* A packet for each window without a mark, half for a mark, once a window; behind a
 * time-out the least, and then each mark counts anew. */
static void test_aimd(void)
{
    UbCcParam p = { .cw_init = 10000, .cw_min = 1000, .cw_max = 20000 };
    UbCcState s = { .mtu = 1024, .unit = 1 };
    UbCetph c = { 0 };

    ub_cc_aimd.init(&s, &p, 0);
    g_assert_cmpuint(s.cw, ==, 10000);
    ub_cc_aimd.ack(&s, &p, &c, 10000, 0);
    g_assert_cmpuint(s.cw, ==, 11024);
    c.ce_seq = 1;
    ub_cc_aimd.ack(&s, &p, &c, 100, 0);
    g_assert_cmpuint(s.cw, ==, 5512);
    c.ce_seq = 2;
    ub_cc_aimd.ack(&s, &p, &c, 11023, 0);       /* of the window that was cut */
    g_assert_cmpuint(s.cw, ==, 5512);
    c.ce_seq = 3;
    ub_cc_aimd.ack(&s, &p, &c, 1, 0);
    g_assert_cmpuint(s.cw, ==, 2756);
    ub_cc_aimd.lost(&s, &p, true, 0);
    g_assert_cmpuint(s.cw, ==, 1000);
    s.cw = 8000;
    c.ce_seq = 4;
    ub_cc_aimd.ack(&s, &p, &c, 1, 0);
    g_assert_cmpuint(s.cw, ==, 4000);
}

static void test_user(void)
{
    static const UbCc mine = {
        .name = "mine", .feedback = UB_CC_FB_LDCP, .init = user_init,
        .sent = user_sent, .ack = user_ack, .lost = user_lost,
        .tick = user_tick,
    };
    static const LossyRule two[] = { { KIND_DATA, 1, 1, LOSE, 0 },
                                     { KIND_DATA, 7, 1, LOSE, 0 }, { 0 } };
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.cc[UB_CC_USER] = &mine;
    cfg.cc_user_param = "mine";
    l = pair(UB_CC_USER, &cfg, false);
    lossy_script(l, 0, two);
    some(l, 8);
    g_assert_cmpuint(sent(l), ==, 3);
    lossy_run(l, l->now + 100 * MS);
    g_assert_cmpuint(l->node[1].got->len, ==, 8);
    g_assert_cmphex(lossy_got(&l->node[1], 0)->flow.cci, ==, 0x8002);
    g_assert_cmpuint(user_calls[0], ==, 2);
    g_assert_cmpuint(user_calls[1], ==, sent(l));
    g_assert_cmpuint(user_calls[2], ==, 8 * SIZE);
    g_assert_cmpuint(user_calls[3], ==, 1);
    g_assert_cmpuint(user_calls[4], ==, 1);
    g_assert_cmpuint(user_calls[5], >=, 10);
    lossy_free(l);

    /* A TPSACK tells it of a loss, too; once, not for each packet. */
    user_calls[3] = user_calls[4] = 0;
    l = pair(UB_CC_USER, &cfg, true);
    chan_get(l->node[0].tp, TA)->cc->state.cw = 0;
    lossy_script(l, 0, &(LossyRule[]) { { KIND_DATA, 1, 1, LOSE, 0 },
                                        { KIND_DATA, 2, 1, LOSE, 0 },
                                        { 0 } }[0]);
    some(l, 8);
    lossy_run(l, l->now + 100 * MS);
    g_assert_cmpuint(l->node[1].got->len, ==, 8);
    g_assert_cmpuint(user_calls[3], ==, 1);
    g_assert_cmpuint(user_calls[4], ==, 0);
    lossy_free(l);
}

/* It begins at the time of what its user did last. */
static int64_t begun_at;

static void begun_init(UbCcState *s, const void *param, int64_t now)
{
    begun_at = now;
}

static void test_begins(void)
{
    static const UbCc mine = { .name = "mine", .init = begun_init };
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.cc[UB_CC_USER] = &mine;
    l = pair(UB_CC_USER, &cfg, false);
    lossy_run(l, l->now + MS);
    g_assert_cmpint(ub_tp_deactivate(l->node[0].tp, TA), ==, UB_TPR_OK);
    l->now += 5 * US;
    g_assert_cmpint(lossy_send(&l->node[0], TA, 100, 0, true, false, 0), ==,
                    UB_LOST);
    g_assert_cmpint(ub_tp_activate(l->node[0].tp, TA), ==, UB_TPR_OK);
    g_assert_cmpint(begun_at, ==, l->now);
    lossy_free(l);
}

/* What a rate holds back does not hurry the algorithm's clock. */
static unsigned slow_ticks;

static void slow_init(UbCcState *s, const void *param, int64_t now)
{
    s->rate = 1000000;
    s->tick = now + 50 * MS;
}

static void slow_tick(UbCcState *s, const void *param, int64_t now)
{
    slow_ticks++;
}

static void test_rate(void)
{
    static const UbCc slow = { .name = "slow", .cci = 0x8002,
                               .init = slow_init, .tick = slow_tick };
    UbTpConfig cfg;
    int64_t at;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.cc[UB_CC_USER] = &slow;
    l = pair(UB_CC_USER, &cfg, false);
    at = l->now;
    some(l, 20);
    for (unsigned i = 1; i <= 20; i++) {
        /* 116 bytes at a megabyte a second. */
        lossy_run(l, at + 116 * US * (i - 1) + 1);
        g_assert_cmpuint(sent(l), ==, i);
        lossy_run(l, at + 116 * US * i);
        g_assert_cmpuint(sent(l), ==, i);
    }
    g_assert_cmpuint(slow_ticks, ==, 0);
    lossy_run(l, at + 49 * MS);
    g_assert_cmpuint(slow_ticks, ==, 0);
    lossy_run(l, at + 52 * MS);
    g_assert_cmpuint(slow_ticks, ==, 2);        /* one at either end */
    g_assert_cmpuint(l->node[1].got->len, ==, 20);
    lossy_free(l);
    /* The slowest one, to the nanosecond. */
    g_assert_cmpint(cc_pace(1, 4096), ==, INT64_C(4096000000000));
    g_assert_cmpint(cc_pace(0, 4096), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/cc/window", test_window);
    g_test_add_func("/tp/cc/enable", test_enable);
    g_test_add_func("/tp/cc/tiny", test_tiny);
    g_test_add_func("/tp/cc/losses", test_losses);
    g_test_add_func("/tp/cc/drift", test_drift);
    g_test_add_func("/tp/cc/under-way", test_under_way);
    g_test_add_func("/tp/cc/far", test_far);
    g_test_add_func("/tp/cc/ldcp", test_ldcp);
    g_test_add_func("/tp/cc/grown", test_grown);
    g_test_add_func("/tp/cc/aimd", test_aimd);
    g_test_add_func("/tp/cc/caqm", test_caqm);
    g_test_add_func("/tp/cc/caqm-feedback", test_caqm_feedback);
    g_test_add_func("/tp/cc/across", test_across);
    g_test_add_func("/tp/cc/dcqcn", test_dcqcn);
    g_test_add_func("/tp/cc/dcqcn-bounds", test_dcqcn_bounds);
    g_test_add_func("/tp/settings/clocks", test_clocks);
    g_test_add_func("/tp/cc/dcqcn-across", test_dcqcn_across);
    g_test_add_func("/tp/cc/user", test_user);
    g_test_add_func("/tp/cc/begins", test_begins);
    g_test_add_func("/tp/cc/rate", test_rate);
    return g_test_run();
}
