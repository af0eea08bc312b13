/*
 * RTP: time-outs, acknowledgements, events, packets that break a rule.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rtp-pair.h"

/* ---- time-outs ---- */

static void mute(Pair *p)
{
    static const LossyRule deaf[] = { { KIND_ANY, -1, 0, LOSE, 0 }, { 0 } };

    lossy_script(p->l, 0, deaf);
}

/* When each try is made, relative to the one before. */
static void tries_are(Pair *p, const int64_t *wait, unsigned n)
{
    int64_t start;

    pair_open(p);
    mute(p);
    start = p->l->now;
    lossy_send(p->a, TA, 64, 0, true, false, 77);
    for (unsigned i = 0; i < n; i++) {
        g_assert_cmpuint(count(p->a)->tx_packets[UB_TP_RTP], ==, i + 1);
        lossy_run(p->l, start + wait[i]);
        g_assert_cmpuint(count(p->a)->tx_packets[UB_TP_RTP], ==, i + 1);
        g_assert_cmpuint(p->a->errors->len, ==, 0);
        lossy_run(p->l, start + wait[i] + 1);
        start += wait[i];
    }
    /* The last of them is the end. */
    g_assert_cmpuint(count(p->a)->tx_packets[UB_TP_RTP], ==, n);
    g_assert_cmpuint(p->a->errors->len, ==, 1);
    g_assert_cmpint(g_array_index(p->a->errors, UbTpError, 0), ==,
                    UB_TP_E_RETRIES);
    g_assert_cmpint(info(p->a).state, ==, UB_TP_ERROR);
    g_assert_cmpuint(count(p->a)->gave_up, ==, 1);
    g_assert_cmpuint(p->a->acked->len, ==, 1);
    g_assert_cmpint(lossy_acked(p->a, 0)->answer.status, ==, UB_TP_FLUSHED);
    g_assert_cmpuint(lossy_acked(p->a, 0)->cookie, ==, 77);
    g_assert_cmpint(lossy_send(p->a, TA, 64, 0, true, false, 1), ==, UB_LOST);
    lossy_free(p->l);
}

/* Table 6-8: N = 3, seven retries, 20 us. */
static void test_rto_dynamic(void)
{
    static const int64_t wait[] = {
        20 * US, 160 * US, 1280 * US, 10240 * US, 81920 * US, 655360 * US,
        5242880 * (int64_t)US, 41943040 * (int64_t)US,
    };
    Pair p = pair_init(3);

    p.attr.rto_base_us = 20;
    p.attr.rto_shift = 3;
    p.attr.retries = 7;
    tries_are(&p, wait, G_N_ELEMENTS(wait));
}

static void test_rto_static(void)
{
    static const int64_t us[] = { 512, 16000, 128000, 4000000 };

    for (unsigned code = 0; code < 4; code++) {
        int64_t wait[3] = { us[code] * US, us[code] * US, us[code] * US };
        Pair p = pair_init(3);

        p.attr.rto_dynamic = false;
        p.attr.rto_code = code;
        p.attr.retries = 2;
        tries_are(&p, wait, 3);
    }
}

/* Scale and floor of the timers. */
static void test_rto_scale(void)
{
    static const int64_t wait[] = { 500 * US, 500 * US, 600 * US };
    static const int64_t again[] = { 777, 777 };
    Pair p = pair_init(3);

    p.attr.rto_base_us = 10;
    p.attr.rto_shift = 1;
    p.attr.retries = 2;
    p.cfg.clock[UB_TPC_RTO] = (UbTpScale) { 15, 500 * US };
    tries_are(&p, wait, 3);
    p = pair_init(3);
    p.attr.rto_dynamic = false;
    p.attr.rto_code = 0;
    p.attr.retries = 1;
    p.cfg.rto_static_us[0] = 0;
    p.cfg.clock[UB_TPC_RTO] = (UbTpScale) { 3, 777 };
    tries_are(&p, again, 2);
}

/* Progress sets the tries back; the timer begins anew with each. */
static void test_rto_progress(void)
{
    static const LossyRule lose[] = {
        { KIND_DATA, 0, 1, LOSE, 0 }, { KIND_DATA, 0, 2, LOSE, 0 },
        { KIND_DATA, 1, 1, LOSE, 0 }, { KIND_DATA, 1, 2, LOSE, 0 },
        { KIND_DATA, 1, 3, LOSE, 0 }, { KIND_DATA, 1, 4, LOSE, 0 }, { 0 },
    };
    Pair p = pair_init(3);

    p.attr.retries = 2;
    p.attr.rto_shift = 1;
    pair_open(&p);
    lossy_script(p.l, 0, lose);
    lossy_send(p.a, TA, 64, 0, true, false, 0);
    lossy_send(p.a, TA, 64, 1, true, false, 1);
    lossy_run(p.l, p.l->now + 50 * MS);
    g_assert_cmpuint(p.a->errors->len, ==, 0);
    g_assert_cmpuint(p.b->got->len, ==, 2);
    g_assert_cmpuint(count(p.a)->timeouts, ==, 4);
    g_assert_cmpuint(info(p.a).timeouts, ==, 0);
    lossy_free(p.l);
}

/* ---- acknowledgements ---- */

/* A = 0: one TPACK for a turn; A = 1: each by itself. */
static void test_coalesce(void)
{
    Pair p = pair_init(3);

    p.attr.ask = UB_TP_ASK_LAST;
    p.attr.ack_every = 3;
    pair_open(&p);
    for (unsigned i = 0; i < 8; i++) {
        lossy_send(p.a, TA, 64, i, i == 7, false, 1);
    }
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, ">0 >1 >2 >3 >4 >5 >6 >7 <A2 <A5 <A7 ");
    lossy_free(p.l);

    p = pair_init(3);
    p.attr.ask = UB_TP_ASK_HALF;
    p.attr.ack_every = 64;
    p.attr.tx_window = 8;       /* every fourth asks, by its PSN */
    pair_open(&p);
    for (unsigned i = 0; i < 7; i++) {
        lossy_send(p.a, TA, 64, i, true, false, 1);
    }
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, ">0 >1 >2 >3 >4 >5 >6 <A0 <A4 <A6 ");
    lossy_free(p.l);

    /* Put off by a timer. */
    p = pair_init(3);
    p.attr.ask = UB_TP_ASK_HALF;
    p.cfg.ack_delay_us = 30;
    pair_open(&p);
    lossy_send(p.a, TA, 64, 0, true, false, 1);
    lossy_run(p.l, p.l->now + 5 * US);
    lossy_send(p.a, TA, 64, 1, true, false, 1);
    lossy_run(p.l, p.l->now + 34 * US);
    trace_is(p.l, ">0 >1 ");
    lossy_run(p.l, p.l->now + 2 * US);
    trace_is(p.l, "<A1 ");
    lossy_free(p.l);
}

/* A TPSACK after N packets out of order; a longer map when it needs one. */
static void test_sack(void)
{
    static const LossyRule lose[] = { { KIND_DATA, 1, 1, LOSE, 0 },
                                      { KIND_DATA, 2, 1, LOSE, 0 }, { 0 } };
    Pair p = pair_init(3);

    p.attr.selective = p.attr.ooo = true;
    p.attr.sack_every = 3;
    pair_open(&p);
    lossy_script(p.l, 0, lose);
    for (unsigned i = 0; i < 8; i++) {
        lossy_send(p.a, TA, 64, i, true, false, i);
    }
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, ">0 >1x >2x >3 >4 >5 >6 >7 <A0 <S0:39 >1 >2 <S1:7d <A7 ");
    g_assert_cmpuint(count(p.b)->tx_sack, ==, 2);
    g_assert_cmpuint(p.b->got->len, ==, 8);
    lossy_free(p.l);

    /* 200 behind the gap: a map of 256; of 128 if there must not be more.  How
     * far it goes is seen by what is sent again. */
    for (unsigned limit = 0; limit < 2; limit++) {
        UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .ack_req = true,
                     .psn = 3 + 200 };

        p = pair_init(3);
        p.attr.selective = p.attr.ooo = true;
        p.attr.sack_bits = limit ? 128 : 1024;
        pair_open(&p);
        inject(&p, p.b, h, 4);
        for (unsigned i = 0; i < 202; i++) {
            lossy_send(p.a, TA, 64, i, true, false, i);
        }
        lossy_run(p.l, p.l->now + 11 * US);
        g_assert_cmpuint(count(p.a)->tx_resent, ==, limit ? 127 : 200);
        lossy_free(p.l);
    }
}

/* No room for what is out of order: dropped, told, and it comes again. */
static void test_hold_bytes(void)
{
    static const LossyRule lose[] = { { KIND_DATA, 0, 1, LOSE, 0 }, { 0 } };
    Pair p = pair_init(3);

    p.attr.selective = p.attr.ooo = true;
    p.cfg.hold_bytes = 3 * 700;         /* of about 600 each */
    pair_open(&p);
    lossy_script(p.l, 0, lose);
    for (unsigned i = 0; i < 8; i++) {
        lossy_send(p.a, TA, 64, i, true, false, i);
    }
    lossy_run(p.l, p.l->now + 100 * MS);
    g_assert_cmpuint(count(p.b)->rx_held, ==, 3);
    g_assert_cmpuint(count(p.b)->drop_hold, ==, 4);
    g_assert_cmpuint(p.b->got->len, ==, 8);
    g_assert_cmpuint(info(p.a).in_flight, ==, 0);
    lossy_free(p.l);
}

static int lent_back;

static void lent_released(CorePacket *pkt)
{
    lent_back++;
}

/* Who lent a packet has it back although it is held. */
static void test_lent(void)
{
    UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .src = TA, .dst = TB,
                 .psn = 4, .msn = 1 };
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);
    Pair p = pair_init(3);
    CorePacket *pkt;

    p.attr.selective = p.attr.ooo = true;
    pair_open(&p);
    lent_back = 0;
    pkt = lossy_packet(p.l, 50, 1234);
    ub_rtph_put(core_packet_push(pkt, UB_RTPH_LEN), &h);
    pkt->released = lent_released;
    ub_tp_rx(p.b->tp, &f, pkt, p.l->now);
    g_assert_cmpint(lent_back, ==, 1);
    g_assert_cmpuint(info(p.b).held, ==, 1);
    lossy_send(p.a, TA, 64, 1, true, false, 0);
    lossy_run(p.l, p.l->now + 20 * US);
    g_assert_cmpuint(p.b->got->len, ==, 2);
    g_assert_cmpuint(lossy_got(p.b, 1)->tag, ==, 1234);
    g_assert_cmpuint(lossy_got(p.b, 1)->len, ==, 50);
    lossy_free(p.l);
}

/* Spray: LBF by packet. */
static void test_spray(void)
{
    for (unsigned ip = 0; ip < 2; ip++) {
        for (unsigned spray = 0; spray < 2; spray++) {
            Pair p = pair_init(3);
            unsigned different = 0;

            p.attr.flow.cfg = ip ? UB_LPH_IPV4 : UB_LPH_CNA24;
            p.attr.ooo = p.attr.selective = true;
            p.attr.spray = spray;
            pair_open(&p);
            for (unsigned i = 0; i < 50; i++) {
                lossy_send(p.a, TA, 64, i, true, false, i);
            }
            lossy_run(p.l, p.l->now + 100 * US);
            g_assert_cmpuint(p.b->got->len, ==, 50);
            for (unsigned i = 1; i < 50; i++) {
                different += lossy_got(p.b, i)->flow.lbf !=
                             lossy_got(p.b, 0)->flow.lbf;
                g_assert_true(!ip || !spray ||
                              lossy_got(p.b, i)->flow.lbf >= 0xc000);
            }
            g_assert_cmpint(different > 40, ==, spray);
            g_assert_true(spray || !different);
            lossy_free(p.l);
        }
    }
}

/* Below is busy: everything waits and goes on. */
static void test_busy(void)
{
    Pair p = pair_init(3);

    pair_open(&p);
    p.a->down = true;
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(lossy_send(p.a, TA, 64, i, true, false, i), ==,
                        UB_SENT);
    }
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, "");
    p.a->down = false;
    ub_tp_space(p.a->tp, p.l->now);
    p.b->down = true;
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, ">0 >1 >2 ");
    p.b->down = false;
    ub_tp_space(p.b->tp, p.l->now);
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, "<A2 ");
    g_assert_cmpuint(p.a->acked->len, ==, 3);
    lossy_free(p.l);

    /* A TPNAK, a TPSACK, an answer. */
    for (unsigned kind = 0; kind < 3; kind++) {
        UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .psn = 5,
                     .ack_req = true };

        p = pair_init(3);
        p.attr.selective = p.attr.ooo = kind == 1;
        pair_open(&p);
        p.b->down = true;
        if (kind == 2) {
            scripted[0] = (UbTpAnswer) { UB_TP_FAIL };
            p.b->answer = answer_scripted;
            h.psn = 3;
        }
        inject(&p, p.b, h, 8);
        lossy_send(p.b, TB, 64, 7, true, false, 7);
        lossy_run(p.l, p.l->now + 100 * US);
        trace_is(p.l, "");
        p.b->down = false;
        ub_tp_space(p.b->tp, p.l->now);
        lossy_run(p.l, p.l->now + 15 * US);
        trace_is(p.l, kind == 0 ? "<N0 <0 >A0 " : kind == 1
                 ? "<S-1:9 <0 >A0 " : "<A0=5/1 <0 >A0 ");
        lossy_free(p.l);
    }
}

/* However small the budget of a turn, all goes, and then there is rest. */
static void test_budget(void)
{
    for (unsigned budget = 1; budget < 4; budget++) {
        Pair p = pair_init(3);

        p.attr.tx_window = 300;
        p.cfg.unsent = 200;
        pair_open(&p);
        p.l->budget = budget;
        p.a->down = true;
        for (unsigned i = 0; i < 200; i++) {
            lossy_send(p.a, TA, 64, i, true, false, i);
            lossy_send(p.b, TB, 64, i, true, false, i);
        }
        p.a->down = false;
        ub_tp_space(p.a->tp, p.l->now);
        lossy_run(p.l, p.l->now + 100 * US);
        g_assert_cmpuint(p.a->acked->len, ==, 200);
        g_assert_cmpuint(p.b->acked->len, ==, 200);
        g_assert_cmpuint(count(p.a)->tx_resent, ==, 0);
        g_assert_cmpint(ub_tp_run(p.a->tp, p.l->now, 1), >, p.l->now);
        lossy_free(p.l);
    }
}

/* ---- events and bad packets ---- */

static void test_events(void)
{
    UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .psn = 3, .msn = 5 };
    UbRtph bad = { .opcode = 9, .psn = 3 };
    UbRtph good = { .opcode = UB_TPOP_DATA, .last = true, .psn = 3 };
    Pair p = pair_init(3);

    pair_open(&p);
    inject(&p, p.b, h, 8);
    inject(&p, p.b, h, 8);
    g_assert_cmpuint(p.b->errors->len, ==, 1);
    g_assert_cmpint(g_array_index(p.b->errors, UbTpError, 0), ==,
                    UB_TP_E_MSN);
    g_assert_cmpuint(count(p.b)->drop_msn, ==, 2);
    bad.psn = 4;
    inject(&p, p.b, bad, 0);
    g_assert_cmpuint(p.b->errors->len, ==, 1);
    bad.psn = 3;
    inject(&p, p.b, bad, 0);
    inject(&p, p.b, bad, 0);
    g_assert_cmpuint(p.b->errors->len, ==, 2);
    g_assert_cmpint(g_array_index(p.b->errors, UbTpError, 1), ==,
                    UB_TP_E_OPCODE);
    g_assert_cmpuint(count(p.b)->drop_opcode, ==, 3);
    g_assert_cmpint(info(p.b).state, ==, UB_TP_ACTIVE);
    /* Told again after progress. */
    inject(&p, p.b, good, 8);
    h.psn = 4;
    inject(&p, p.b, h, 8);
    g_assert_cmpuint(p.b->errors->len, ==, 3);
    g_assert_cmpuint(p.b->got->len, ==, 1);
    lossy_free(p.l);

    /* Without the check any TPMSN goes. */
    p = pair_init(3);
    p.cfg.msn_check = false;
    h.psn = 3;
    pair_open(&p);
    inject(&p, p.b, h, 8);
    g_assert_cmpuint(p.b->errors->len, ==, 0);
    g_assert_cmpuint(lossy_got(p.b, 0)->rx.msn, ==, 5);
    lossy_free(p.l);
}

static void test_drops(void)
{
    UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .psn = 3 };
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);
    uint8_t b[64] = { 0 };
    Pair p = pair_init(3);
    UbRtph x;

    pair_open(&p);
    ub_rtph_put(b, &h);
    lossy_inject(p.l, 1, &f, b, UB_RTPH_LEN - 1);
    lossy_inject(p.l, 1, &f, b, 0);
    g_assert_cmpuint(count(p.b)->drop_short, ==, 2);
    x = h, x.pad = 3;
    inject(&p, p.b, x, 2);
    g_assert_cmpuint(count(p.b)->drop_short, ==, 3);
    x = h, x.ver = 1;
    inject(&p, p.b, x, 8);
    g_assert_cmpuint(count(p.b)->drop_version, ==, 1);
    x = h, x.dst = TA;
    inject(&p, p.b, x, 8);
    g_assert_cmpuint(count(p.b)->drop_no_channel, ==, 1);
    x = h, x.src = TB;
    inject(&p, p.b, x, 8);
    g_assert_cmpuint(count(p.b)->drop_peer, ==, 1);
    x = h, x.opcode = UB_TPOP_ACK, x.rspst = 4;
    inject(&p, p.b, x, 0);
    g_assert_cmpuint(count(p.b)->drop_bad_ack, ==, 1);
    x.rspst = 0;
    x.psn = 500;                /* nothing went */
    inject(&p, p.b, x, 0);
    g_assert_cmpuint(count(p.b)->drop_bad_ack, ==, 2);
    x.opcode = UB_TPOP_SACK;
    x.psn = 499;
    inject(&p, p.b, x, 11);
    g_assert_cmpuint(count(p.b)->drop_bad_sack, ==, 1);
    x.opcode = UB_TPOP_SACK_CC;
    inject(&p, p.b, x, 7);
    g_assert_cmpuint(count(p.b)->drop_short, ==, 4);
    x.opcode = UB_TPOP_CNP;
    inject(&p, p.b, x, 15);
    g_assert_cmpuint(count(p.b)->drop_short, ==, 5);
    x = h, x.opcode = UB_TPOP_UNRELIABLE;
    inject(&p, p.b, x, 8);      /* UTP has no CFG 7 */
    g_assert_cmpuint(count(p.b)->drop_mode, ==, 1);
    f.nlp = 5;
    lossy_inject(p.l, 1, &f, b, 32);
    g_assert_cmpuint(count(p.b)->drop_mode, ==, 2);
    g_assert_cmpint(ub_tp_deactivate(p.b->tp, TB), ==, UB_TPR_OK);
    inject(&p, p.b, h, 8);
    g_assert_cmpuint(count(p.b)->drop_state, ==, 1);
    g_assert_cmpuint(p.b->got->len, ==, 0);
    trace_is(p.l, "");
    lossy_free(p.l);
}

/* Acknowledgements that are wrong, of a sender with packets 3..6 under way. */
static void test_bad_acks(void)
{
    static const struct {
        UbRtph h;
        uint32_t una;
        unsigned bad;
    } all[] = {
        { { .opcode = UB_TPOP_ACK, .psn = 2 }, 3, 0 },
        { { .opcode = UB_TPOP_ACK, .psn = 3 }, 4, 0 },
        { { .opcode = UB_TPOP_ACK, .psn = 6 }, 7, 0 },
        { { .opcode = UB_TPOP_ACK, .psn = 7 }, 3, 1 },
        { { .opcode = UB_TPOP_ACK, .psn = 0x7ffff0 }, 3, 1 },
        { { .opcode = UB_TPOP_ACK, .psn = 0xfffff0 }, 3, 0 },
        { { .opcode = UB_TPOP_ACK, .psn = 7, .rspst = 3 }, 7, 0 },
        { { .opcode = UB_TPOP_ACK, .psn = 8, .rspst = 3 }, 3, 1 },
        { { .opcode = UB_TPOP_ACK, .psn = 7, .rspst = 5, .rspinfo = 2 }, 3,
          1 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        Pair p = pair_init(3);

        pair_open(&p);
        mute(&p);
        for (unsigned k = 0; k < 4; k++) {
            lossy_send(p.a, TA, 64, k, true, false, k);
        }
        inject(&p, p.a, all[i].h, 0);
        g_assert_cmpuint(info(p.a).una, ==, all[i].una);
        g_assert_cmpuint(count(p.a)->drop_bad_ack, ==, all[i].bad);
        g_assert_cmpuint(p.a->acked->len, ==, all[i].una - 3);
        lossy_free(p.l);
    }
}

/* A map that says what cannot be; one that says more than there is. */
static void test_bad_sack(void)
{
    static const struct {
        uint32_t psn, max, map;
        uint32_t una, resent;
        unsigned bad;
    } all[] = {
        { 2, 6, 0x15, 3, 2, 0 },        /* has 4, 6: 3 and 5 are missing */
        { 3, 6, 0x9, 4, 2, 0 },         /* has 3, 6 */
        { 2, 6, 0x17, 5, 1, 0 },        /* cumulative by the map */
        { 2, 5, 0x09, 3, 2, 0 },        /* has 5; 6 is not spoken of */
        { 2, 6, 0x20, 3, 0, 1 },        /* 7 never went */
        { 2, 7, 0x14, 3, 0, 1 },        /* nor was it received */
        { 6, 6, 0x1, 7, 0, 0 },
        { 7, 7, 0x1, 3, 0, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        UbRtph h = { .opcode = UB_TPOP_SACK, .psn = all[i].psn, .src = TB,
                     .dst = TA };
        UbSaetph s = { .max_rcv = all[i].max, .map = { all[i].map } };
        UbFlow f = lossy_flow(1, 0, UB_LPH_CNA24);
        uint8_t b[UB_RTPH_LEN + UB_SAETPH_MIN];
        Pair p = pair_init(3);

        p.attr.selective = p.attr.ooo = true;
        pair_open(&p);
        mute(&p);
        for (unsigned k = 0; k < 4; k++) {
            lossy_send(p.a, TA, 64, k, true, false, k);
        }
        ub_rtph_put(b, &h);
        ub_saetph_put(b + UB_RTPH_LEN, &s);
        lossy_inject(p.l, 0, &f, b, sizeof(b));
        g_assert_cmpuint(info(p.a).una, ==, all[i].una);
        g_assert_cmpuint(count(p.a)->tx_resent, ==, all[i].resent);
        g_assert_cmpuint(count(p.a)->drop_bad_sack, ==, all[i].bad);
        lossy_free(p.l);
    }
}

/* A TPNAK that comes twice sends the window once. */
static void test_nak_twice(void)
{
    static const LossyRule lose[] = { { KIND_DATA, 1, 1, LOSE, 0 }, { 0 } };
    static const LossyRule twice[] = { { KIND_NAK, -1, 0, DOUBLE, 0 },
                                       { 0 } };
    Pair p = pair_init(3);

    pair_open(&p);
    lossy_script(p.l, 0, lose);
    lossy_script(p.l, 1, twice);
    for (unsigned k = 0; k < 4; k++) {
        lossy_send(p.a, TA, 64, k, true, false, k);
    }
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, ">0 >1x >2 >3 <A0 <N1 >1 >2 >3 <A1 <A2 <A3 ");
    lossy_free(p.l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/rtp/rto-dynamic", test_rto_dynamic);
    g_test_add_func("/tp/rtp/rto-static", test_rto_static);
    g_test_add_func("/tp/rtp/rto-scale", test_rto_scale);
    g_test_add_func("/tp/rtp/rto-progress", test_rto_progress);
    g_test_add_func("/tp/rtp/coalesce", test_coalesce);
    g_test_add_func("/tp/rtp/sack", test_sack);
    g_test_add_func("/tp/rtp/hold-bytes", test_hold_bytes);
    g_test_add_func("/tp/rtp/lent", test_lent);
    g_test_add_func("/tp/rtp/spray", test_spray);
    g_test_add_func("/tp/rtp/busy", test_busy);
    g_test_add_func("/tp/rtp/budget", test_budget);
    g_test_add_func("/tp/rtp/events", test_events);
    g_test_add_func("/tp/rtp/drops", test_drops);
    g_test_add_func("/tp/rtp/bad-acks", test_bad_acks);
    g_test_add_func("/tp/rtp/bad-sack", test_bad_sack);
    g_test_add_func("/tp/rtp/nak-twice", test_nak_twice);
    return g_test_run();
}
