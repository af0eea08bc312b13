/*
 * RTP: classes of PSNs, windows, answers of the user.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rtp-pair.h"

/* ---- windows ---- */

/* Each class of PSN at its bounds: what happens to a packet so far ahead. */
static void classes(uint32_t epsn, bool selective, bool fast, bool ooo)
{
    enum { IN, DUP, AHEAD, BAD };
    static const struct {
        uint32_t d;
        int class;
    } all[] = {
        { 0, IN }, { 1, AHEAD }, { 2, AHEAD }, { 127, AHEAD }, { 128, AHEAD },
        { 129, BAD }, { 0x7ffffe, BAD }, { 0x7fffff, BAD },
        { 0x800000, DUP }, { 0x800001, DUP }, { 0xffffff, DUP },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        Pair p = pair_init(epsn);
        UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .ack_req = true,
                     .psn = (epsn + all[i].d) & UB_PSN_MASK };

        p.attr.selective = selective;
        p.attr.fast = fast;
        p.attr.ooo = ooo;
        p.attr.ooo_window = 128;
        pair_open(&p);
        inject(&p, p.b, h, 20);
        switch (all[i].class) {
        case IN:
            g_assert_cmpuint(p.b->got->len, ==, 1);
            trace_is(p.l, "<A0 ");
            break;
        case DUP:
            g_assert_cmpuint(p.b->got->len, ==, 0);
            g_assert_cmpuint(count(p.b)->rx_duplicate, ==, 1);
            trace_is(p.l, "<A-1 ");
            break;
        case AHEAD:
            g_assert_cmpuint(p.b->got->len, ==, 0);
            g_assert_cmpuint(count(p.b)->rx_ooo, ==, 1);
            if (!selective && fast) {
                trace_is(p.l, "<N0 ");
                g_assert_cmpuint(count(p.b)->drop_ooo, ==, 1);
            } else {
                g_assert_cmpuint(info(p.b).held, ==, 1);
                g_assert_cmpuint(info(p.b).max_rcv, ==, h.psn);
                if (selective) {
                    g_assert_true(g_str_has_prefix(p.l->trace->str, "<S-1:"));
                } else {
                    trace_is(p.l, "");
                }
            }
            break;
        default:
            g_assert_cmpuint(p.b->got->len, ==, 0);
            g_assert_cmpuint(count(p.b)->drop_invalid, ==, 1);
            trace_is(p.l, "");
        }
        lossy_free(p.l);
    }
}

static void test_classes(void)
{
    static const uint32_t at[] = { 0, 1, 0x7fffff, 0x800000, 0xffffff };

    for (unsigned i = 0; i < G_N_ELEMENTS(at); i++) {
        classes(at[i], false, true, false);
        classes(at[i], false, true, true);
        classes(at[i], false, false, true);
        classes(at[i], true, true, true);
        classes(at[i], true, false, true);
    }
}

/* The examples of §6.4.1: with the first one unacknowledged the second is the last that
 * can be meant as new; the one behind it is old. */
static void test_psn_window(void)
{
    static const struct {
        uint32_t first, last;
    } known[] = {
        { 0, 8388607 }, { 8388608, 16777215 }, { 10485760, 2097151 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++) {
        Pair p = pair_init(known[i].first);
        UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .ack_req = true,
                     .psn = known[i].last };

        pair_open(&p);
        inject(&p, p.b, h, 20);
        g_assert_cmpuint(count(p.b)->rx_duplicate, ==, 0);
        g_assert_cmpuint(count(p.b)->drop_invalid, ==, 1);
        h.psn = (known[i].last + 1) & UB_PSN_MASK;
        inject(&p, p.b, h, 20);
        g_assert_cmpuint(count(p.b)->rx_duplicate, ==, 1);
        g_assert_cmpuint(count(p.b)->drop_invalid, ==, 1);
        lossy_free(p.l);
    }
}

/* The whole window out of order, twice; the first fills the gap. */
static void test_ooo_window(void)
{
    Pair p = pair_init(0xffff00);
    UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .ack_req = true };

    p.attr.selective = p.attr.ooo = true;
    p.attr.ooo_window = 2048;
    p.attr.sack_bits = 1024;
    p.attr.sack_every = 100000 & 0xffff;
    pair_open(&p);
    for (unsigned twice = 0; twice < 2; twice++) {
        for (unsigned i = 2048; i >= 1; i--) {
            h.psn = (0xffff00 + i) & UB_PSN_MASK;
            h.msn = i;
            inject(&p, p.b, h, 8);
        }
    }
    g_assert_cmpuint(info(p.b).held, ==, 2048);
    g_assert_cmpuint(count(p.b)->rx_duplicate, ==, 2048);
    g_assert_cmpuint(p.b->got->len, ==, 0);
    h.psn = 0xffff00;
    h.msn = 0;
    inject(&p, p.b, h, 8);
    g_assert_cmpuint(info(p.b).held, ==, 0);
    g_assert_cmpuint(p.b->got->len, ==, 2049);
    for (unsigned i = 0; i < 2049; i++) {
        g_assert_cmpuint(lossy_got(p.b, i)->rx.msn, ==, i);
    }
    g_assert_cmpuint(info(p.b).epsn, ==, (0xffff00 + 2049) & UB_PSN_MASK);
    lossy_free(p.l);
}

/* Not more is under way than the window; room() follows. */
static void test_tx_window(void)
{
    Pair p = pair_init(7);

    p.attr.tx_window = 5;
    pair_open(&p);
    for (unsigned i = 0; i < 5; i++) {
        g_assert_true(ub_tp_ready(p.a->tp, TA));
        g_assert_cmpint(lossy_send(p.a, TA, 10, i, true, false, i), ==,
                        UB_SENT);
    }
    g_assert_false(ub_tp_ready(p.a->tp, TA));
    g_assert_cmpint(lossy_send(p.a, TA, 10, 5, true, false, 5), ==, UB_BUSY);
    g_assert_cmpuint(p.a->rooms, ==, 0);
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.a->rooms, ==, 1);
    g_assert_cmpint(lossy_send(p.a, TA, 10, 5, true, false, 5), ==, UB_SENT);
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.a->rooms, ==, 1);
    g_assert_cmpuint(p.b->got->len, ==, 6);
    lossy_free(p.l);
}

/* Few wait for their first way out; room() follows when all are out, though the peer says
 * nothing. */
static void test_unsent(void)
{
    Pair p = pair_init(7);

    pair_open(&p);
    p.a->down = p.b->down = true;
    for (unsigned i = 0; i < 8; i++) {
        g_assert_true(ub_tp_ready(p.a->tp, TA));
        g_assert_cmpint(lossy_send(p.a, TA, 10, i, true, false, i), ==,
                        UB_SENT);
    }
    g_assert_false(ub_tp_ready(p.a->tp, TA));
    g_assert_cmpint(lossy_send(p.a, TA, 10, 8, true, false, 8), ==, UB_BUSY);
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.a->rooms, ==, 0);
    p.a->down = false;
    ub_tp_space(p.a->tp, p.l->now);
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.a->rooms, ==, 1);
    g_assert_cmpuint(p.b->got->len, ==, 8);
    g_assert_cmpuint(p.a->acked->len, ==, 0);
    for (unsigned i = 8; i < 20; i++) {
        g_assert_cmpint(lossy_send(p.a, TA, 10, i, true, false, i), ==,
                        UB_SENT);
    }
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.a->rooms, ==, 1);
    g_assert_cmpuint(p.b->got->len, ==, 20);
    lossy_free(p.l);
}

static void send_other(LossyNode *node, uint32_t tpn)
{
    g_assert_cmpint(lossy_send(node, tpn, 10, 9, true, false, 71), ==,
                    node->rooms < 2 ? UB_BUSY : UB_SENT);
}

/* Who waits for another's operation, too, is told once, and again at its end. */
static void test_unsent_open(void)
{
    Pair p = pair_init(7);

    pair_open(&p);
    p.a->down = p.b->down = true;
    p.a->on_room = send_other;
    for (unsigned i = 0; i < 8; i++) {
        g_assert_cmpint(lossy_send(p.a, TA, 10, i, false, false, 70), ==,
                        UB_SENT);
    }
    g_assert_cmpint(lossy_send(p.a, TA, 10, 9, true, false, 71), ==, UB_BUSY);
    p.a->down = false;
    ub_tp_space(p.a->tp, p.l->now);
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.a->rooms, ==, 1);
    g_assert_cmpint(ub_tp_run(p.a->tp, p.l->now, 1), >, p.l->now);
    g_assert_cmpint(lossy_send(p.a, TA, 10, 8, true, false, 70), ==, UB_SENT);
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.a->rooms, ==, 2);
    g_assert_cmpuint(p.b->got->len, ==, 10);
    lossy_free(p.l);
}

/* One operation at a time on a channel; TPMSN counts them; NLP and padding. */
static void test_operations(void)
{
    Pair p = pair_init(7);

    pair_open(&p);
    g_assert_cmpint(lossy_send(p.a, TA, 9, 1, false, false, 70), ==, UB_SENT);
    g_assert_false(ub_tp_ready(p.a->tp, TA));
    g_assert_cmpint(lossy_send(p.a, TA, 9, 2, true, false, 71), ==, UB_BUSY);
    g_assert_cmpint(lossy_send(p.a, TA, 10, 2, false, false, 70), ==, UB_SENT);
    g_assert_cmpint(lossy_send(p.a, TA, 11, 3, true, false, 70), ==, UB_SENT);
    lossy_run(p.l, p.l->now + US);
    g_assert_cmpuint(p.a->rooms, ==, 1);
    g_assert_cmpint(lossy_send(p.a, TA, 12, 4, true, false, 71), ==, UB_SENT);
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.b->got->len, ==, 4);
    for (unsigned i = 0; i < 4; i++) {
        const LossyGot *g = lossy_got(p.b, i);

        g_assert_cmpuint(g->len, ==, 9 + i);
        g_assert_cmpuint(g->tag, ==, i + 1);
        g_assert_cmpuint(g->rx.msn, ==, i / 3);
        g_assert_cmpint(g->rx.last, ==, i >= 2);
        g_assert_cmpuint(g->rx.nlp, ==, UB_TPH_UPI32);
        g_assert_cmpuint(g->rx.tpn, ==, TB);
        g_assert_cmpint(g->rx.mode, ==, UB_TP_RTP);
    }
    /* Once for each operation. */
    g_assert_cmpuint(p.a->acked->len, ==, 2);
    g_assert_cmpuint(lossy_acked(p.a, 0)->cookie, ==, 70);
    g_assert_cmpuint(lossy_acked(p.a, 1)->cookie, ==, 71);
    g_assert_cmpint(lossy_acked(p.a, 1)->answer.status, ==, UB_TP_ACK);
    lossy_free(p.l);
}

/* Figure 6-17: both directions count for themselves; a TPACK has no PSN. */
static void test_both_ways(void)
{
    Pair p = pair_init(10);

    p.attr.rx_psn = 0;
    pair_open(&p);
    lossy_send(p.a, TA, 64, 1, true, false, 1);         /* Write */
    lossy_run(p.l, p.l->now + 50 * US);
    lossy_send(p.b, TB, 8, 2, true, false, 2);          /* TAACK */
    lossy_run(p.l, p.l->now + 50 * US);
    lossy_send(p.b, TB, 64, 3, true, false, 3);
    lossy_run(p.l, p.l->now + 50 * US);
    lossy_send(p.a, TA, 8, 4, true, false, 4);
    lossy_run(p.l, p.l->now + 50 * US);
    trace_is(p.l, ">0 <A0 <0 >A0 <1 >A1 >1 <A1 ");
    g_assert_cmpuint(info(p.a).next, ==, 12);
    g_assert_cmpuint(info(p.a).epsn, ==, 2);
    lossy_free(p.l);
}

/* ---- answers of the user (§6.8) ---- */

/* Figures 6-34 and 6-35. */
static void test_flows(void)
{
    Pair p = pair_init(100);

    p.attr.rx_psn = 300;
    pair_open(&p);
    lossy_send(p.a, TA, 64, 1, false, false, 1);
    lossy_send(p.a, TA, 64, 2, true, false, 1);
    lossy_run(p.l, p.l->now + 15 * US);
    lossy_send(p.b, TB, 8, 3, true, false, 3);
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, ">0 >1 <A0 <A1 <0 >A0 ");
    lossy_free(p.l);

    p = pair_init(100);
    scripted[0] = (UbTpAnswer) { UB_TP_WITHHOLD };
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_send(p.a, TA, 64, 1, false, false, 1);
    lossy_send(p.a, TA, 64, 2, true, true, 1);
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, ">0 >1 <A0 ");
    g_assert_cmpuint(info(p.b).withheld, ==, 1);
    g_assert_cmpuint(p.a->acked->len, ==, 0);
    g_assert_false(ub_tp_answer(p.b->tp, TB, 1,
                                (UbTpAnswer) { UB_TP_DONE }, p.l->now));
    g_assert_false(ub_tp_answer(p.b->tp, TA, 0,
                                (UbTpAnswer) { UB_TP_DONE }, p.l->now));
    g_assert_false(ub_tp_answer(p.b->tp, TB, 0,
                                (UbTpAnswer) { UB_TP_WITHHOLD }, p.l->now));
    g_assert_true(ub_tp_answer(p.b->tp, TB, 0, (UbTpAnswer) { UB_TP_DONE },
                               p.l->now));
    g_assert_false(ub_tp_answer(p.b->tp, TB, 0, (UbTpAnswer) { UB_TP_DONE },
                                p.l->now));
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, "<A1=5/2 ");
    g_assert_cmpuint(p.a->acked->len, ==, 1);
    g_assert_cmpint(lossy_acked(p.a, 0)->answer.status, ==, UB_TP_DONE);
    g_assert_cmpuint(info(p.b).withheld, ==, 0);
    g_assert_cmpuint(count(p.b)->drop_answer, ==, 4);
    lossy_free(p.l);
}

/* What is withheld, held or not acknowledged when its channel ends is counted, once; so
 * is the rest of an operation whose beginning was refused. */
static void test_flushed(void)
{
    static const LossyRule lose[] = { { KIND_DATA, 2, 1, LOSE, 0 }, { 0 } };
    Pair p = pair_init(100);

    p.attr.selective = p.attr.ooo = true;
    scripted[0] = (UbTpAnswer) { UB_TP_WITHHOLD };
    scripted[1] = (UbTpAnswer) { UB_TP_RNR, 19 };
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_script(p.l, 0, lose);
    lossy_send(p.a, TA, 64, 1, true, true, 1);
    lossy_send(p.a, TA, 64, 2, false, false, 2);
    lossy_send(p.a, TA, 64, 3, true, true, 2);
    lossy_send(p.a, TA, 64, 4, true, false, 3);
    lossy_run(p.l, p.l->now + 20 * US);
    g_assert_cmpuint(count(p.b)->drop_flushed, ==, 0);
    g_assert_cmpuint(count(p.b)->rx_held, ==, 1);
    g_assert_cmpint(ub_tp_deactivate(p.b->tp, TB), ==, UB_TPR_OK);
    g_assert_cmpuint(count(p.b)->drop_flushed, ==, 1);
    g_assert_cmpuint(count(p.b)->drop_answer, ==, 1);
    g_assert_cmpuint(count(p.a)->drop_flushed, ==, 0);
    g_assert_cmpint(ub_tp_deactivate(p.a->tp, TA), ==, UB_TPR_OK);
    g_assert_cmpuint(count(p.a)->drop_flushed, ==, 4);
    lossy_free(p.l);

    p = pair_init(100);
    scripted[0] = (UbTpAnswer) { UB_TP_RNR, 19 };
    pair_open(&p);
    p.b->answer = answer_scripted;
    for (unsigned i = 0; i < 3; i++) {
        lossy_send(p.a, TA, 64, i, i == 2, i == 2, 1);
    }
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(count(p.b)->drop_refused, ==, 2);
    lossy_free(p.l);
}

/* Every status comes as it was given, in RSPST and RSPINFO. */
static void test_statuses(void)
{
    static const struct {
        UbTpAnswer answer;
        const char *trace;
    } all[] = {
        { { UB_TP_DONE, 0 }, ">0 <A0=5/2 " },
        { { UB_TP_RETRY, 0 }, ">0 <A0=5/0 " },
        { { UB_TP_FAIL, 0 }, ">0 <A0=5/1 " },
        { { UB_TP_RNR, 0 }, ">0 <A0=1/0 " },
        { { UB_TP_RNR, 19 }, ">0 <A0=1/19 " },
        { { UB_TP_PAGE_FAULT, 7 }, ">0 <A0=2/7 " },
        { { UB_TP_UNSUPPORTED, 0 }, ">0 <A0=3/1 " },
        { { UB_TP_ABORT, 0 }, ">0 <A0=3/2 " },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        for (unsigned want = 0; want < 2; want++) {
            Pair p = pair_init(100);

            p.cfg.fake_us = 0;
            scripted[0] = all[i].answer;
            pair_open(&p);
            p.b->answer = answer_scripted;
            lossy_send(p.a, TA, 64, 1, true, want, 9);
            lossy_run(p.l, p.l->now + 100 * US);
            trace_is(p.l, all[i].trace);
            g_assert_cmpuint(p.a->acked->len, ==, 1);
            g_assert_cmpint(lossy_acked(p.a, 0)->answer.status, ==,
                            all[i].answer.status);
            g_assert_cmpuint(lossy_acked(p.a, 0)->answer.timer, ==,
                             all[i].answer.timer);
            g_assert_cmpuint(info(p.a).in_flight, ==, 0);
            lossy_free(p.l);
        }
    }
}

/* The first answer counts, though a second one comes before it is told. */
static void test_answer_twice(void)
{
    static const LossyRule mute[] = { { KIND_ANY, -1, 0, LOSE, 0 }, { 0 } };
    UbRtph h = { .opcode = UB_TPOP_ACK, .psn = 101, .rspst = UB_RTPH_TA,
                 .rspinfo = UB_RTPH_TA_GOOD };
    Pair p = pair_init(100);

    pair_open(&p);
    lossy_script(p.l, 0, mute);
    lossy_send(p.a, TA, 64, 1, true, true, 1);
    lossy_send(p.a, TA, 64, 2, true, true, 2);
    inject(&p, p.a, h, 0);
    h.rspinfo = UB_RTPH_TA_FAIL;
    inject(&p, p.a, h, 0);
    g_assert_cmpuint(p.a->acked->len, ==, 0);
    h.psn = 100;
    inject(&p, p.a, h, 0);
    g_assert_cmpuint(p.a->acked->len, ==, 2);
    g_assert_cmpint(lossy_acked(p.a, 0)->answer.status, ==, UB_TP_FAIL);
    g_assert_cmpint(lossy_acked(p.a, 1)->answer.status, ==, UB_TP_DONE);
    lossy_free(p.l);
}

/* An answer that is lost is given again, exactly. */
static void test_repeat(void)
{
    static const LossyRule lose[] = { { KIND_ACK, 0, 1, LOSE, 0 },
                                      { KIND_ACK, 0, 2, LOSE, 0 }, { 0 } };
    Pair p = pair_init(100);

    scripted[0] = (UbTpAnswer) { UB_TP_PAGE_FAULT, 3 };
    scripted[1] = (UbTpAnswer) { UB_TP_ACK };
    p.cfg.fake_us = 0;
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_script(p.l, 1, lose);
    lossy_send(p.a, TA, 64, 1, true, true, 9);
    lossy_send(p.a, TA, 64, 2, true, false, 10);
    lossy_run(p.l, p.l->now + 5 * MS);
    trace_is(p.l, ">0 >1 <A0=2/3x <A1 >0 <A0=2/3x >0 <A0=2/3 ");
    g_assert_cmpuint(p.a->acked->len, ==, 2);
    g_assert_cmpint(lossy_acked(p.a, 0)->answer.status, ==, UB_TP_PAGE_FAULT);
    g_assert_cmpuint(lossy_acked(p.a, 0)->answer.timer, ==, 3);
    g_assert_cmpuint(p.b->got->len, ==, 2);
    lossy_free(p.l);
}

/* What was withheld goes with its channel: an answer to it has nobody to go to. */
static void test_withheld_ends(void)
{
    Pair p = pair_init(100);

    scripted[0].status = scripted[1].status = UB_TP_WITHHOLD;
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_send(p.a, TA, 64, 0, true, true, 0);
    lossy_send(p.a, TA, 64, 1, true, true, 1);
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.b->got->len, ==, 2);
    g_assert_true(ub_tp_answer(p.b->tp, TB, 1, (UbTpAnswer) { UB_TP_DONE },
                               p.l->now));
    g_assert_cmpint(ub_tp_deactivate(p.b->tp, TB), ==, UB_TPR_OK);
    g_assert_cmpuint(count(p.b)->drop_answer, ==, 2);
    g_assert_false(ub_tp_answer(p.b->tp, TB, 0, (UbTpAnswer) { UB_TP_DONE },
                                p.l->now));
    g_assert_cmpuint(count(p.b)->drop_answer, ==, 3);
    lossy_free(p.l);
}

/* A channel that is taken up again knows nothing of what it was in the middle of: a
 * TPNAK that was said, a message that was open. */
static void test_anew(void)
{
    static const LossyRule lose[] = { { KIND_DATA, 0, 0, LOSE, 0 }, { 0 } };
    Pair p = pair_init(100);

    pair_open(&p);
    lossy_script(p.l, 0, lose);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(lossy_send(p.a, TA, 64, 0, true, false, 10 * i), ==,
                        UB_SENT);
        for (unsigned k = 1; k < 3; k++) {
            g_assert_cmpint(lossy_send(p.a, TA, 64, k, false, false,
                                       10 * i + 1), ==, UB_SENT);
        }
        lossy_run(p.l, p.l->now + 100 * US);
        g_assert_cmpuint(count(p.b)->tx_nak, ==, i + 1);
        ub_tp_deactivate(p.a->tp, TA);
        ub_tp_deactivate(p.b->tp, TB);
        lossy_run(p.l, p.l->now + 100 * US);
        g_assert_cmpint(ub_tp_activate(p.a->tp, TA), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tp_activate(p.b->tp, TB), ==, UB_TPR_OK);
        g_assert_cmpuint(info(p.a).in_flight_bytes, ==, 0);
    }
    lossy_free(p.l);
}

/* Nothing behind a withheld packet is acknowledged; then each answer by
 * itself, in order; then the rest. */
static void test_withheld(void)
{
    Pair p = pair_init(0xfffffe);

    p.attr.selective = p.attr.ooo = true;
    for (unsigned i = 0; i < 8; i++) {
        scripted[i].status = i < 2 ? UB_TP_WITHHOLD : UB_TP_ACK;
    }
    pair_open(&p);
    p.b->answer = answer_scripted;
    for (unsigned i = 0; i < 4; i++) {
        lossy_send(p.a, TA, 64, i, true, i < 2, i);
    }
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, ">0 >1 >2 >3 ");
    g_assert_cmpuint(p.b->got->len, ==, 4);
    ub_tp_answer(p.b->tp, TB, 1, (UbTpAnswer) { UB_TP_FAIL }, p.l->now);
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, "");
    ub_tp_answer(p.b->tp, TB, 0, (UbTpAnswer) { UB_TP_DONE }, p.l->now);
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, "<A0=5/2 <A1=5/1 <A3 ");
    g_assert_cmpuint(p.a->acked->len, ==, 4);
    g_assert_cmpint(lossy_acked(p.a, 0)->answer.status, ==, UB_TP_DONE);
    g_assert_cmpint(lossy_acked(p.a, 1)->answer.status, ==, UB_TP_FAIL);
    g_assert_cmpint(lossy_acked(p.a, 2)->answer.status, ==, UB_TP_ACK);
    lossy_free(p.l);
}

/* A duplicate of what is withheld says that we live, and no more; the sender
 * does not give up however long its peer's user takes. */
static void test_slow_user(void)
{
    static const LossyRule dead[] = { { KIND_ANY, -1, 0, LOSE, 0 }, { 0 } };
    Pair p;

    for (unsigned retries = 1; retries < 3; retries++) {
        p = pair_init(100);
        p.attr.retries = retries;
        scripted[0].status = UB_TP_ACK;
        scripted[1].status = UB_TP_WITHHOLD;
        pair_open(&p);
        p.b->answer = answer_scripted;
        lossy_send(p.a, TA, 64, 0, true, false, 1);
        lossy_send(p.a, TA, 64, 1, true, true, 2);
        lossy_run(p.l, p.l->now + 1500 * US);
        trace_is(p.l, ">0 >1 <A0 >1 <A0 ");
        lossy_run(p.l, p.l->now + 500 * MS);
        g_assert_cmpuint(p.a->errors->len, ==, 0);
        g_string_truncate(p.l->trace, 0);
        ub_tp_answer(p.b->tp, TB, 1, (UbTpAnswer) { UB_TP_DONE }, p.l->now);
        lossy_run(p.l, p.l->now + 100 * US);
        trace_is(p.l, "<A1=5/2 ");
        g_assert_cmpuint(p.a->errors->len, ==, 0);
        lossy_free(p.l);
    }

    /* Nobody answers at all. */
    p = pair_init(100);
    p.attr.retries = 2;
    scripted[0].status = UB_TP_WITHHOLD;
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_script(p.l, 1, dead);
    lossy_send(p.a, TA, 64, 0, true, true, 1);
    lossy_run(p.l, p.l->now + 500 * MS);
    g_assert_cmpuint(p.a->errors->len, ==, 1);
    lossy_free(p.l);
}

/* Packets of a channel are RTP's, whatever its flow was made for. */
static void test_nlp(void)
{
    Pair p = pair_init(100);

    pair_open(&p);
    for (unsigned n = 0; n < 2; n++) {
        UbTpAttr attr = p.attr;
        uint32_t tpn = 5 + n;

        attr.flow = lossy_flow(n, !n, UB_LPH_CNA24);
        attr.flow.nlp = UB_NLP_CTPH;
        attr.dst_tpn = 5 + !n;
        attr.tx_psn = attr.rx_psn = 7;
        g_assert_cmpint(ub_tp_create(p.l->node[n].tp, &tpn, &attr), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tp_activate(p.l->node[n].tp, tpn), ==, UB_TPR_OK);
    }
    lossy_send(p.a, 5, 64, 1, true, false, 1);
    lossy_run(p.l, p.l->now + 100 * US);
    g_assert_cmpuint(p.b->got->len, ==, 1);
    g_assert_cmpuint(p.a->acked->len, ==, 1);
    lossy_free(p.l);
}

/* A refusal in the middle ends the operation: the rest is swallowed, the answer
 * comes with the last. */
static void test_refuse(void)
{
    Pair p = pair_init(100);

    p.cfg.fake_us = 0;
    scripted[0] = (UbTpAnswer) { UB_TP_RNR, 4 };
    scripted[1] = (UbTpAnswer) { UB_TP_ACK };
    pair_open(&p);
    p.b->answer = answer_scripted;
    for (unsigned i = 0; i < 4; i++) {
        lossy_send(p.a, TA, 64, i, i == 3, i == 3, 1);
    }
    lossy_send(p.a, TA, 64, 4, true, false, 2);
    lossy_run(p.l, p.l->now + 100 * US);
    trace_is(p.l, ">0 >1 >2 >3 >4 <A0 <A1 <A2 <A3=1/4 <A4 ");
    g_assert_cmpuint(p.b->got->len, ==, 2);
    g_assert_cmpuint(lossy_got(p.b, 1)->tag, ==, 4);
    g_assert_cmpint(lossy_acked(p.a, 0)->answer.status, ==, UB_TP_RNR);
    g_assert_cmpuint(lossy_acked(p.a, 0)->answer.timer, ==, 4);
    g_assert_cmpint(lossy_acked(p.a, 1)->answer.status, ==, UB_TP_ACK);
    lossy_free(p.l);
}

/* While the peer's user is short, Fake packets ask whether the peer lives; they
 * are answered and not given up; without an answer the channel is. */
static void test_fake(void)
{
    static const LossyRule deaf[] = { { KIND_FAKE, -1, 0, LOSE, 0 }, { 0 } };
    Pair p = pair_init(100);

    p.cfg.fake_us = 100;
    p.attr.retries = 2;
    scripted[0] = (UbTpAnswer) { UB_TP_RNR, 7 };        /* 256 us */
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_send(p.a, TA, 64, 0, true, true, 1);
    lossy_run(p.l, p.l->now + 2 * MS);
    trace_is(p.l, ">0 <A0=1/7 >F1 <A0 >F1 <A0 ");
    g_assert_cmpuint(count(p.a)->tx_fake, ==, 2);
    g_assert_cmpuint(count(p.b)->rx_fake, ==, 2);
    g_assert_cmpuint(p.b->got->len, ==, 1);
    lossy_free(p.l);

    p = pair_init(100);
    p.cfg.fake_us = 100;
    p.attr.retries = 2;
    scripted[0].timer = 15;
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_script(p.l, 0, deaf);
    lossy_send(p.a, TA, 64, 0, true, true, 1);
    lossy_run(p.l, p.l->now + 2 * MS);
    trace_is(p.l, ">0 <A0=1/15 >F1x >F1x ");
    g_assert_cmpuint(p.a->errors->len, ==, 1);
    lossy_free(p.l);

    /* Our own port is deaf: the peer is not to blame. */
    p = pair_init(100);
    p.cfg.fake_us = 100;
    p.attr.retries = 2;
    scripted[0].timer = 12;                             /* 8192 us */
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_send(p.a, TA, 64, 0, true, true, 1);
    lossy_run(p.l, p.l->now + 50 * US);
    p.a->down = true;
    lossy_run(p.l, p.l->now + 5 * MS);
    g_assert_cmpuint(count(p.a)->tx_fake, ==, 0);
    g_assert_cmpuint(p.a->errors->len, ==, 0);
    p.a->down = false;
    ub_tp_space(p.a->tp, p.l->now);
    lossy_run(p.l, p.l->now + 10 * MS);
    g_assert_cmpuint(count(p.a)->tx_fake, >, 10);
    g_assert_cmpuint(count(p.b)->rx_fake, ==, count(p.a)->tx_fake);
    g_assert_cmpuint(p.a->errors->len, ==, 0);
    lossy_free(p.l);

    /* New work makes them needless. */
    p = pair_init(100);
    p.cfg.fake_us = 100;
    scripted[0].timer = 15;
    scripted[1].status = UB_TP_ACK;
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_send(p.a, TA, 64, 0, true, true, 1);
    lossy_run(p.l, p.l->now + 50 * US);
    lossy_send(p.a, TA, 64, 1, true, false, 2);
    lossy_run(p.l, p.l->now + 2 * MS);
    trace_is(p.l, ">0 <A0=1/15 >1 <A1 ");
    lossy_free(p.l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/rtp/classes", test_classes);
    g_test_add_func("/tp/rtp/psn-window", test_psn_window);
    g_test_add_func("/tp/rtp/ooo-window", test_ooo_window);
    g_test_add_func("/tp/rtp/tx-window", test_tx_window);
    g_test_add_func("/tp/rtp/unsent", test_unsent);
    g_test_add_func("/tp/rtp/unsent-open", test_unsent_open);
    g_test_add_func("/tp/rtp/operations", test_operations);
    g_test_add_func("/tp/rtp/both-ways", test_both_ways);
    g_test_add_func("/tp/rtp/flows", test_flows);
    g_test_add_func("/tp/rtp/flushed", test_flushed);
    g_test_add_func("/tp/rtp/statuses", test_statuses);
    g_test_add_func("/tp/rtp/answer-twice", test_answer_twice);
    g_test_add_func("/tp/rtp/repeat", test_repeat);
    g_test_add_func("/tp/rtp/withheld-ends", test_withheld_ends);
    g_test_add_func("/tp/rtp/anew", test_anew);
    g_test_add_func("/tp/rtp/withheld", test_withheld);
    g_test_add_func("/tp/rtp/slow-user", test_slow_user);
    g_test_add_func("/tp/rtp/nlp", test_nlp);
    g_test_add_func("/tp/rtp/refuse", test_refuse);
    g_test_add_func("/tp/rtp/fake", test_fake);
    return g_test_run();
}
