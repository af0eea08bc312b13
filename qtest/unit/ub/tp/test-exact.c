/*
 * Exactly: what channels and all of it are after they end, deadlines to the nanosecond,
 * what is out, numbers that come around, and the algorithms step by step.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/random.h"
#include "../../../../hw/ub/tp/internal.h"
#include "rtp-pair.h"

static const LossyRule deaf[] = { { KIND_ANY, -1, 0, LOSE, 0 }, { 0 } };

/* ---- the end ---- */

static UbTpAnswer withhold(LossyNode *node, const UbTpRx *rx)
{
    return (UbTpAnswer) { rx->msn % 2 ? UB_TP_DONE : UB_TP_WITHHOLD };
}

/* A channel that is taken back is as it was made, whatever it was in the middle of. */
static void test_taken_back(void)
{
    Pair p = pair_init(100);
    Chan made, *ch;

    p.cfg.cc_on = true;
    p.attr.cc = UB_CC_LDCP;
    p.attr.selective = p.attr.ooo = p.attr.mark = true;
    pair_open(&p);
    ch = chan_get(p.b->tp, TB);
    ub_tp_deactivate(p.b->tp, TB);
    made = *ch;
    g_assert_cmpint(ub_tp_activate(p.b->tp, TB), ==, UB_TPR_OK);
    p.b->answer = withhold;
    for (unsigned i = 0; i < 4; i++) {
        inject(&p, p.b, (UbRtph) { .opcode = UB_TPOP_DATA, .psn = 100 + i + (i > 2),
                                   .last = true, .msn = i }, 8);
        lossy_send(p.b, TB, 8, i, true, true, i);
    }
    g_assert_true(ch->ring && ch->hold && ch->result && ch->fifo_len == 3 && ch->cc);
    ch->snd = ch->cum = ch->high = ch->una + 2;
    ch->mark = ch->high_rtx = ch->last_first = ch->resend_from = 77;
    ch->mark_phase = MARK_RESEND;
    ch->times = ch->fakes = ch->resends = ch->owed = ch->sack_count = 3;
    ch->tx_msn = ch->rx_msn = ch->ack_msn = ch->max_rcv = 5;
    ch->rto_at = ch->ack_at = ch->fake_at = ch->setup_at = p.l->now + 5;
    ch->sack_due = ch->nak_due = ch->nak_done = ch->ack_now = true;
    ch->msn_told = ch->op_told = ch->refusing = ch->open = true;
    ch->room_due = ch->want_room = ch->crowded = ch->in_band = ch->setup_active = true;
    chan_timer(ch);
    g_assert_cmpint(ub_tp_deactivate(p.b->tp, TB), ==, UB_TPR_OK);
    g_assert_cmpuint(p.b->rooms, ==, 1);
    g_assert_cmpuint(p.b->acked->len, ==, 5);
    g_assert_cmpuint(ch->timer.place, ==, 0);
    g_assert_cmpuint(p.b->tp->hold_used, ==, 0);
    /* Only of use together with what says so. */
    made.timer = ch->timer;
    made.open_cookie = ch->open_cookie;
    made.refusal = ch->refusal;
    made.fake_until = ch->fake_until;
    made.paced = ch->paced;
    g_assert_cmpmem(ch, sizeof(*ch), &made, sizeof(made));
    lossy_free(p.l);
}

static const uint8_t cnp[20] = { 0x70, 0xc0 };

/* A reset leaves nothing of channels, groups, destinations or whom it was to call. */
static void test_reset(void)
{
    UbFlow f = lossy_flow(1, 0, UB_LPH_CNA16), to = lossy_flow(0, 1, UB_LPH_CNA16);
    UbTpDest dest = { .mode = UB_TP_CTP, .flow = to };
    UbTpTx tx = { .nlp = UB_TPH_UPI16, .last = true };
    static const CtpPace nobody[CTP_PACES];
    Pair p = pair_init(100);
    uint8_t data[8] = { 0 };
    uint32_t g[2] = { 0, 7 };
    CorePacket *pkt;
    UbTp *tp;

    p.cfg.cc_on = p.cfg.ctp_spray = true;
    p.cfg.cc_param.rate_max = p.cfg.cc_param.rate_min = 1000;
    p.attr.selective = p.attr.ooo = true;
    pair_open(&p);
    tp = p.a->tp;
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(ub_tpg_create(tp, &g[i], UB_TPG_ROUND), ==, UB_TPR_OK);
    }
    lossy_inject(p.l, 0, &f, cnp, sizeof(cnp));
    f.cci = 0x8003;
    lossy_inject(p.l, 0, &f, data, sizeof(data));
    ub_tp_send(tp, &dest, lossy_packet(p.l, 8, 1), &tx, p.l->now);
    pkt = lossy_packet(p.l, 8, 1);
    g_assert_cmpint(ub_tp_send(tp, &dest, pkt, &tx, p.l->now), ==, UB_BUSY);
    core_packet_free(pkt);
    lossy_send(p.a, TA, 8, 1, true, false, 1);
    inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_DATA, .psn = 502, .last = true }, 8);
    tp->room_due = true;
    setup_remember(chan_get(tp, TA), 5);
    g_assert_true(tp->ctp && tp->ctp_lbf && tp->want_room && tp->room_at != CORE_NEVER &&
                  tp->hold_used && tp->peers && tp->sources && tp->timers.len &&
                  tp->ctp_timers.len && tp->work.first);
    g_assert_cmpint(memcmp(tp->cnp_pace, nobody, sizeof(nobody)), !=, 0);
    ub_tp_reset(tp);
    g_assert_true(!tp->ctp && !tp->ctp_lbf && !tp->want_room && !tp->room_due &&
                  tp->room_at == CORE_NEVER && !tp->hold_used && !tp->peers &&
                  !tp->sources && !tp->timers.len && !tp->ctp_timers.len &&
                  !tp->work.first && !tp->work.last && !tp->stalled.first &&
                  !tp->num_chans && !tp->num_groups);
    g_assert_cmpmem(tp->cnp_pace, sizeof(nobody), nobody, sizeof(nobody));
    g_assert_cmpint(ub_tp_run(tp, p.l->now, 10), ==, INT64_MAX);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(ub_tpg_destroy(tp, g[i]), ==, UB_TPR_NO_CHANNEL);
    }
    lossy_free(p.l);
}

/* ---- deadlines ---- */

/* A REPLY to what channel TA asks. */
static void reply(Pair *p, uint8_t type, uint8_t result)
{
    uint8_t b[UB_CTPH_LEN + 36] = { 0x0f, 1, type }, *m = b + UB_CTPH_LEN;
    UbFlow f = lossy_flow(1, 0, UB_LPH_CNA24);

    put_be16(m + 2, 2);
    put_be32(m + 4, chan_get(p->a->tp, TA)->setup_cookie);
    put_be32(m + 8, TB);
    put_be32(m + 12, TA);
    put_be16(m + 20, 4096);
    put_be16(m + 22, 1024);
    put_be16(m + 24, 1024);
    put_be16(m + 26, 1024);
    m[29] = result;
    put_be32(m + 32, 1);
    f.nlp = UB_NLP_CTPH;
    lossy_inject(p->l, 0, &f, b, sizeof(b));
}

static void connect(Pair *p, unsigned tries)
{
    *p = pair_init(100);
    p->cfg.setup_us = 100000;
    p->cfg.setup_tries = tries;
    pair_open(p);
    lossy_script(p->l, 0, deaf);
    ub_tp_deactivate(p->a->tp, TA);
    g_assert_cmpint(ub_tp_connect(p->a->tp, TA, p->l->now), ==, UB_TPR_OK);
}

/* Who asks and then has no turn for half as long as it is remembered asks anew. */
static void test_setup_late(void)
{
    static const struct { unsigned tries, periods; } all[] = {
        { 10, 5 }, { 1, 1 }, { 3, 1 }, { 4, 2 }, { 255, 127 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        for (unsigned late = 0; late < 2; late++) {
            for (unsigned turn = 0; turn < 2; turn++) {
                uint32_t cookie;
                Chan *ch;
                Pair p;

                connect(&p, all[i].tries);
                ch = chan_get(p.a->tp, TA);
                cookie = ch->setup_cookie;
                g_assert_cmpint(ch->setup_at, ==, p.l->now + 100 * MS);
                p.l->now += (1 + (int64_t)all[i].periods) * 100 * MS - !late;
                if (turn) {
                    ub_tp_run(p.a->tp, p.l->now, 10);
                } else {
                    reply(&p, 2, 0);
                }
                g_assert_cmpint(ch->state, ==, turn || late ? UB_TP_INIT : UB_TP_ACTIVE);
                g_assert_cmpint(ch->setup_cookie == cookie, ==, !late);
                if (turn || late) {
                    g_assert_cmpint(ch->setup_at, ==, p.l->now + 100 * MS);
                    g_assert_cmpuint(ch->setup_left, ==, all[i].tries - 1);
                    g_assert_cmpint(core_timers_deadline(&p.a->tp->timers), <=,
                                    ch->setup_at);
                    g_assert_cmpuint(count(p.a)->setup_tx, ==, 2);
                }
                lossy_free(p.l);
            }
        }
    }
}

/* Why it was refused, if that is a reason. */
static void test_refused(void)
{
    for (unsigned r = 0; r < 12; r++) {
        Pair p;

        connect(&p, 10);
        reply(&p, 4, r);
        g_assert_cmpuint(p.a->connects, ==, 1);
        g_assert_cmpint(p.a->connected, ==, r && r < UB_TPRS ? r : UB_TPR_REFUSED);
        g_assert_cmpint(info(p.a).state, ==, UB_TP_RESET);
        /* It comes twice. */
        reply(&p, 4, r);
        g_assert_cmpuint(p.a->connects, ==, 1);
        g_assert_cmpuint(count(p.a)->drop_setup, ==, 1);
        g_assert_cmpint(ub_tp_run(p.a->tp, p.l->now + 1000 * MS, 10), ==, INT64_MAX);
        g_assert_cmpuint(p.a->connects, ==, 1);
        lossy_free(p.l);
    }
}

/* Who was asked says so as often as it may, then lets go of it; each request that comes
 * again begins that anew. */
static void test_asked(void)
{
    uint8_t b[UB_CTPH_LEN + 36] = { 0x0f, 1, 1 }, *m = b + UB_CTPH_LEN;
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);

    put_be16(m + 2, 2);
    put_be32(m + 4, 0x1234);
    put_be32(m + 8, 5);
    put_be16(m + 20, 1024);
    put_be16(m + 22, 256);
    put_be16(m + 24, 64);
    put_be16(m + 26, 128);
    put_be32(m + 32, 3);
    f.nlp = UB_NLP_CTPH;
    f.cci = 0x8003;             /* of this packet, not of those of a channel */
    for (unsigned again = 0; again < 2; again++) {
        unsigned said = 1 + 3 + 2 * again;
        Pair p = pair_init(100);
        int64_t start;
        UbTpAttr a;
        Chan *ch;

        p.cfg.setup_us = 1000;
        p.cfg.setup_tries = 3;
        pair_open(&p);
        lossy_script(p.l, 1, deaf);
        start = p.l->now;
        lossy_inject(p.l, 1, &f, b, sizeof(b));
        ch = chan_get(p.b->tp, p.b->tp->next_tpn);
        a = ch->attr;
        g_assert_true(!a.selective && a.fast && !a.mark && !a.ooo && !a.spray);
        g_assert_cmpuint(a.dst_tpn, ==, 5);
        g_assert_cmphex(a.flow.cci, ==, 0);
        g_assert_cmpuint(a.flow.nlp, ==, UB_NLP_RTPH);
        g_assert_cmphex(a.flow.dcna, ==, 1);
        g_assert_cmpuint(a.mtu, ==, 1024);
        g_assert_cmpuint(a.ooo_window, ==, 256);
        g_assert_cmpuint(a.tx_window, ==, 64);
        g_assert_cmpuint(a.sack_bits, ==, 128);
        g_assert_cmpuint(a.cw_unit, ==, 3);
        g_assert_cmpint(ch->setup_at, ==, start + MS);
        if (again) {
            lossy_run(p.l, start + MS + 1);
            g_assert_cmpuint(ch->setup_left, ==, 2);
            lossy_inject(p.l, 1, &f, b, sizeof(b));
            g_assert_cmpuint(ch->setup_left, ==, 3);
        }
        lossy_run(p.l, start + (4 + again) * MS);
        g_assert_cmpuint(p.b->tp->num_chans, ==, 2);
        g_assert_cmpuint(count(p.b)->setup_tx, ==, said);
        lossy_run(p.l, start + (4 + again) * MS + 1);
        g_assert_cmpuint(p.b->tp->num_chans, ==, 1);
        g_assert_cmpuint(count(p.b)->setup_tx, ==, said);
        g_assert_cmpuint(p.b->connects, ==, 0);
        lossy_free(p.l);
    }
}

/* A message that lacks a byte is none; nor is one by an address that no channel has. */
static void test_asked_short(void)
{
    uint8_t b[UB_CTPH_LEN + 36] = { 0x0f, 1, 1, 0, 2, [12] = 5, [21] = 4, 0, 4, 0, 4, 0, 4,
                                    0, [36] = 1 };

    for (unsigned i = 0; i < 3; i++) {
        UbFlow f = lossy_flow(0, 1, i == 2 ? UB_LPH_CNA16 : UB_LPH_CNA24);
        Pair p = pair_init(100);

        pair_open(&p);
        b[21] = 0x10, b[23] = 4, b[25] = 4, b[27] = 4;
        f.nlp = UB_NLP_CTPH;
        lossy_inject(p.l, 1, &f, b, sizeof(b) - (i == 1));
        g_assert_cmpuint(count(p.b)->setup_rx, ==, !i);
        g_assert_cmpuint(count(p.b)->drop_setup, ==, !!i);
        g_assert_cmpuint(p.b->tp->num_chans, ==, 1 + !i);
        lossy_free(p.l);
    }
}

/* How many one node, and all, may ask for. */
static void test_share(void)
{
    static const struct { unsigned channels, all, one; } rows[] = {
        { 1, 1, 1 }, { 7, 7, 4 }, { 8, 7, 4 }, { 9, 8, 4 }, { 24, 21, 11 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (unsigned one = 0; one < 2; one++) {
            UbTpConfig cfg;
            Lossy *l;

            ub_tp_config_init(&cfg);
            cfg.max_channels = rows[i].channels;
            l = lossy_new(&cfg, 2);
            for (unsigned n = 0; n < 30; n++) {
                uint8_t b[UB_CTPH_LEN + 36] = { 0x0f, 1, 1, 0, 2, [21] = 0x10, 0, 4, 0, 4, 0,
                                                4, 0, [36] = 1 };
                UbFlow f = lossy_flow(one ? 0 : n, 1, UB_LPH_CNA24);

                b[12] = n + 1;
                f.nlp = UB_NLP_CTPH;
                lossy_inject(l, 1, &f, b, sizeof(b));
            }
            g_assert_cmpuint(l->node[1].tp->num_chans, ==, one ? rows[i].one : rows[i].all);
            lossy_free(l);
        }
    }
}

/* Fake packets go before the peer's time is over, not when it is. */
static void test_fake(void)
{
    for (unsigned us = 127; us <= 129; us++) {
        Pair p = pair_init(100);
        int64_t at;

        p.cfg.fake_us = us;
        scripted[0] = (UbTpAnswer) { UB_TP_RNR, 7 };    /* 256 us */
        pair_open(&p);
        p.b->answer = answer_scripted;
        lossy_send(p.a, TA, 64, 0, true, true, 1);
        lossy_run(p.l, p.l->now + 20 * US + 1);
        at = p.l->now - 1;
        g_assert_cmpint(chan_get(p.a->tp, TA)->fake_until, ==, at + 256 * US);
        lossy_run(p.l, at + us * US);
        g_assert_cmpuint(count(p.a)->tx_fake, ==, 0);
        lossy_run(p.l, at + us * US + 1);
        g_assert_cmpuint(count(p.a)->tx_fake, ==, 1);
        g_assert_cmpuint(chan_get(p.a->tp, TA)->fakes, ==, 1);
        lossy_run(p.l, at + MS);
        g_assert_cmpuint(count(p.a)->tx_fake, ==, 1 + (us < 128));
        g_assert_cmpuint(chan_get(p.a->tp, TA)->fakes, ==, 0);
        g_assert_cmpint(chan_get(p.a->tp, TA)->fake_at, ==, CORE_NEVER);
        lossy_free(p.l);
    }
}

/* The time of a retransmission begins with the oldest, anew with each progress, and ends
 * with the last. */
static void test_rto_at(void)
{
    Pair p = pair_init(100);
    Chan *ch;
    int64_t at;

    pair_open(&p);
    ch = chan_get(p.a->tp, TA);
    lossy_script(p.l, 0, deaf);
    at = p.l->now;
    for (unsigned i = 0; i < 3; i++) {
        lossy_send(p.a, TA, 8, i, true, i == 1, i);
        g_assert_cmpint(ch->rto_at, ==, at + MS);
        p.l->now += 10 * US;
    }
    ch->times = 2;
    inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 99 }, 0);
    g_assert_cmpint(ch->rto_at, ==, at + MS);
    g_assert_cmpuint(ch->times, ==, 2);
    inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 100 }, 0);
    g_assert_cmpint(ch->rto_at, ==, p.l->now + MS);
    g_assert_cmpuint(ch->times, ==, 0);
    /* The answer to the second is missing. */
    p.l->now += 10 * US;
    inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 102 }, 0);
    g_assert_cmpint(ch->rto_at, ==, p.l->now + MS);
    inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 101, .rspst = UB_RTPH_TA,
                               .rspinfo = UB_RTPH_TA_GOOD }, 0);
    g_assert_cmpuint(p.a->acked->len, ==, 3);
    g_assert_cmpint(ch->rto_at, ==, CORE_NEVER);
    lossy_free(p.l);
}

/* A CNP, and the next, of channels and of CTP. */
static void test_cnp(void)
{
    for (unsigned ctp = 0; ctp < 2; ctp++) {
        UbFlow f = lossy_flow(0, 1, ctp ? UB_LPH_CNA16 : UB_LPH_CNA24);
        Pair p = pair_init(100);
        unsigned psn = 100;

        p.cfg.cc_on = true;
        p.cfg.cnp_us = 50;
        p.attr.cc = UB_CC_DCQCN;
        pair_open(&p);
        f.cci = 0x8003;
        for (unsigned i = 0; i < 4; i++) {
            UbRtph h = { .opcode = UB_TPOP_DATA, .psn = psn, .last = true, .src = TA,
                         .dst = TB, .msn = psn - 100 };
            uint8_t b[UB_RTPH_LEN + 8] = { 0 };

            if (!ctp) {
                ub_rtph_put(b, &h);
            }
            lossy_inject(p.l, 1, &f, b, sizeof(b));
            psn++;
            g_assert_cmpuint(count(p.b)->tx_cnp, ==, 1 + i / 2);
            p.l->now += i % 2 ? 30 * US : i ? 50 * US - 1 : 50 * US - 1;
            p.l->now += i == 1 ? 1 - 30 * US : 0;
        }
        lossy_free(p.l);
    }
}

/* An algorithm in the place of DCQCN, which wants its next turn now. */
static UbCcState seen;
static unsigned ticks;

static void eager_init(UbCcState *s, const void *param, int64_t now)
{
    seen = *s;
}

static void eager_cnp(UbCcState *s, const void *param, const UbCetph *c, int64_t now)
{
    s->rate = 1000;
    s->tick = now + 7;
}

static void eager_tick(UbCcState *s, const void *param, int64_t now)
{
    ticks++;
    s->tick = now;
}

static void test_destination(void)
{
    static const UbCc eager = { .name = "eager", .init = eager_init, .cnp = eager_cnp,
                                .tick = eager_tick };
    UbFlow f = lossy_flow(1, 0, UB_LPH_CNA16), to = lossy_flow(0, 1, UB_LPH_CNA16);
    UbTpDest dest = { .mode = UB_TP_CTP, .flow = to };
    UbTpTx tx = { .nlp = UB_TPH_UPI16, .last = true };
    Pair p = pair_init(100);
    CorePacket *pkt;
    int64_t at;

    p.cfg.cc_on = true;
    p.cfg.cc[UB_CC_DCQCN] = &eager;
    p.cfg.clock[UB_TPC_CC].scale = 3;
    p.cfg.attr.cw_unit = 5;
    p.cfg.attr.mtu = 8192;
    pair_open(&p);
    ticks = 0;
    lossy_inject(p.l, 0, &f, cnp, sizeof(cnp));
    at = p.l->now;
    g_assert_cmpint(seen.scale_ns, ==, 3000);
    g_assert_cmpuint(seen.unit, ==, 5);
    g_assert_cmpuint(seen.mtu, ==, 8192);
    g_assert_cmpint(seen.tick, ==, CORE_NEVER);
    g_assert_cmpint(ub_tp_run(p.a->tp, at + 6, 10), ==, at + 7);
    g_assert_cmpuint(ticks, ==, 0);
    for (unsigned i = 1; i < 5; i++) {
        g_assert_cmpint(ub_tp_run(p.a->tp, at + 6 + i, 10), ==, at + 7 + i);
        g_assert_cmpuint(ticks, ==, i);
    }
    p.l->now = at + 10;
    /* 12 bytes and ICRC at a kilobyte a second. */
    g_assert_cmpint(ub_tp_send(p.a->tp, &dest, lossy_packet(p.l, 11, 1), &tx, p.l->now), ==,
                    UB_SENT);
    for (unsigned i = 0; i < 2; i++) {
        pkt = lossy_packet(p.l, 11, 1);
        g_assert_cmpint(ub_tp_send(p.a->tp, &dest, pkt, &tx, at + 10 + 16 * MS - 1), ==,
                        UB_BUSY);
        core_packet_free(pkt);
        ub_tp_run(p.a->tp, at + 10 + 16 * MS - 1, 10);
        g_assert_cmpuint(p.a->rooms, ==, 0);
    }
    ub_tp_run(p.a->tp, at + 10 + 16 * MS, 10);
    g_assert_cmpuint(p.a->rooms, ==, 1);
    p.l->now = at + 10 + 16 * MS;
    g_assert_cmpint(ub_tp_send(p.a->tp, &dest, lossy_packet(p.l, 11, 1), &tx, p.l->now), ==,
                    UB_SENT);
    lossy_free(p.l);
}

/* So does the one of a channel: it has its next turn a nanosecond later. */
static void eager_begin(UbCcState *s, const void *param, int64_t now)
{
    seen = *s;
    s->tick = now;
}

static void test_eager(void)
{
    static const UbCc eager = { .name = "eager", .init = eager_begin, .tick = eager_tick };
    Pair p = pair_init(100);
    int64_t at;

    p.cfg.cc_on = true;
    p.cfg.cc[UB_CC_USER] = &eager;
    p.attr.cc = UB_CC_USER;
    p.attr.cw_unit = 6;
    p.attr.mtu = 1024;
    pair_open(&p);
    at = p.l->now;
    g_assert_cmpuint(seen.unit, ==, 6);
    g_assert_cmpuint(seen.mtu, ==, 1024);
    g_assert_cmpint(seen.tick, ==, CORE_NEVER);
    lossy_send(p.a, TA, 8, 0, true, false, 0);
    ticks = 0;
    for (unsigned i = 0; i < 5; i++) {
        g_assert_cmpint(ub_tp_run(p.a->tp, at + i, 10), ==, at + i + 1);
        g_assert_cmpuint(ticks, ==, i + 1);
    }
    lossy_free(p.l);
}

/* ---- what is out ---- */

/* What is lost is not out until it has gone again, whatever says that it is lost. */
static void test_out(void)
{
    enum { SIZE = UB_RTPH_LEN + 8 + 4 };

    for (unsigned how = 0; how < 3; how++) {
        Pair p = pair_init(100);
        Chan *ch;

        p.cfg.unsent = 100;
        p.attr.selective = p.attr.ooo = how == 0;
        pair_open(&p);
        lossy_script(p.l, 0, deaf);
        for (unsigned i = 0; i < 6; i++) {
            lossy_send(p.a, TA, 8, i, true, false, i);
        }
        lossy_run(p.l, p.l->now + US);
        ch = chan_get(p.a->tp, TA);
        g_assert_cmpuint(ch->out, ==, 6 * SIZE);
        p.a->down = true;
        if (how == 0) {
            UbSaetph s = { .max_rcv = 103, .map = { 0x11 } };
            UbRtph h = { .opcode = UB_TPOP_SACK, .src = TB, .dst = TA, .psn = 99 };
            UbFlow f = lossy_flow(1, 0, UB_LPH_CNA24);
            uint8_t b[UB_RTPH_LEN + UB_SAETPH_MIN];

            ub_rtph_put(b, &h);
            ub_saetph_put(b + UB_RTPH_LEN, &s);
            lossy_inject(p.l, 0, &f, b, sizeof(b));
            g_assert_cmpuint(ch->out, ==, 2 * SIZE);    /* 104 and 105 */
            g_assert_cmpuint(ch->resends, ==, 3);
        } else if (how == 1) {
            inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 101,
                                       .rspst = UB_RTPH_NAK }, 0);
            g_assert_cmpuint(ch->out, ==, 0);
        } else {
            lossy_run(p.l, p.l->now + MS + US);
            g_assert_cmpuint(count(p.a)->timeouts, ==, 1);
            g_assert_cmpuint(ch->out, ==, 0);
        }
        lossy_script(p.l, 0, &deaf[1]);
        p.a->down = false;
        ub_tp_space(p.a->tp, p.l->now);
        lossy_run(p.l, p.l->now + 10 * MS);
        if (how == 2) {         /* what the others say has come has not */
            g_assert_cmpuint(p.b->got->len, ==, 6);
            g_assert_cmpuint(ch->out, ==, 0);
        }
        lossy_free(p.l);
    }
}

/* What is acknowledged while it waits to go again does not. */
static void test_overtaken(void)
{
    for (unsigned got = 0; got <= 6; got++) {
        Pair p = pair_init(100);
        Chan *ch;

        pair_open(&p);
        lossy_script(p.l, 0, deaf);
        for (unsigned i = 0; i < 6; i++) {
            lossy_send(p.a, TA, 8, i, true, false, i);
        }
        p.a->down = true;
        lossy_run(p.l, p.l->now + MS + US);
        ch = chan_get(p.a->tp, TA);
        g_assert_cmpuint(ch->snd, ==, 100);
        inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 99 + got }, 0);
        g_assert_cmpuint(ch->snd, ==, 100 + got);
        g_assert_cmpuint(p.a->acked->len, ==, got);
        p.a->down = false;
        ub_tp_space(p.a->tp, p.l->now);
        lossy_run(p.l, p.l->now + US);
        g_assert_cmpuint(count(p.a)->tx_resent, ==, 6 - got);
        lossy_free(p.l);
    }
}

/* ---- numbers that come around ---- */

/* All by the numbers of 32 bits that are behind PSNs, over their ends. */
static void test_around(void)
{
    static const uint32_t first[] = { 0x7fffffe0, 0xffffffe0, 0x80ffffe0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(first); i++) {
        for (unsigned how = 0; how < 4; how++) {
            static const LossyRule lose[] = {
                { KIND_DATA, 3, 1, LOSE, 0 }, { KIND_DATA, 31, 1, LOSE, 0 },
                { KIND_DATA, 32, 1, LOSE, 0 }, { KIND_DATA, 33, 1, LOSE, 0 },
                { KIND_DATA, 40, 1, LOSE, 0 }, { 0 },
            };
            Pair p = pair_init(first[i]);
            Chan *a, *b;

            p.cfg.unsent = 100;
            p.attr.ooo = how;
            p.attr.selective = how > 1;
            p.attr.mark = how > 2;
            pair_open(&p);
            a = chan_get(p.a->tp, TA);
            b = chan_get(p.b->tp, TB);
            a->una = a->cum = a->snd = a->high = a->next = first[i];
            a->mark = a->resend_from = first[i];
            a->high_rtx = a->last_first = first[i] - 1;
            b->epsn = first[i];
            b->max_rcv = first[i] - 1;
            lossy_script(p.l, 0, lose);
            p.b->answer = withhold;
            for (unsigned k = 0; k < 64; k++) {
                lossy_send(p.a, TA, 8, k, true, true, k);
            }
            for (unsigned k = 0; k < 64; k++) {
                lossy_run(p.l, p.l->now + 100 * US);
                ub_tp_answer(p.b->tp, TB, k, (UbTpAnswer) { UB_TP_DONE }, p.l->now);
            }
            lossy_run(p.l, p.l->now + 100 * MS);
            g_assert_cmpuint(p.b->got->len, ==, 64);
            g_assert_cmpuint(p.a->acked->len, ==, 64);
            for (unsigned k = 0; k < 64; k++) {
                g_assert_cmpuint(lossy_got(p.b, k)->tag, ==, k);
                g_assert_cmpuint(lossy_acked(p.a, k)->cookie, ==, k);
            }
            lossy_free(p.l);
        }
    }
}

/* What was sent again so long ago that its number seems to be ahead. */
static void test_long_ago(void)
{
    for (unsigned how = 0; how < 3; how++) {
        UbSaetph s = { .max_rcv = 102, .map = { 0xd } };
        UbRtph h = { .opcode = UB_TPOP_SACK, .src = TB, .dst = TA, .psn = 100 };
        UbFlow f = lossy_flow(1, 0, UB_LPH_CNA24);
        uint8_t b[UB_RTPH_LEN + UB_SAETPH_MIN];
        Pair p = pair_init(100);
        Chan *ch;

        p.attr.selective = p.attr.ooo = how > 0;
        p.attr.mark = how > 1;
        pair_open(&p);
        lossy_script(p.l, 0, deaf);
        for (unsigned i = 0; i < 6; i++) {
            lossy_send(p.a, TA, 8, i, true, false, i);
        }
        lossy_run(p.l, p.l->now + US);
        ch = chan_get(p.a->tp, TA);
        ch->high_rtx = ch->last_first = 100 - 0x7fffffffu;
        if (how == 0) {
            inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 99,
                                       .rspst = UB_RTPH_NAK }, 0);
            g_assert_cmpuint(ch->high_rtx, ==, 99);
            inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 104,
                                       .rspst = UB_RTPH_NAK }, 0);
            lossy_run(p.l, p.l->now + US);
            g_assert_cmpuint(count(p.a)->tx_resent, ==, 2);
        } else {
            s.map[0] = 1;
            s.max_rcv = h.psn = 99;
            ub_rtph_put(b, &h);
            ub_saetph_put(b + UB_RTPH_LEN, &s);
            lossy_inject(p.l, 0, &f, b, sizeof(b));
            g_assert_cmpuint(ch->high_rtx, ==, 99);
            g_assert_cmpuint(ch->last_first, ==, 99);
            h.psn = 101;
            s = (UbSaetph) { .max_rcv = 104, .map = { 0xd } };
            ub_rtph_put(b, &h);
            ub_saetph_put(b + UB_RTPH_LEN, &s);
            lossy_inject(p.l, 0, &f, b, sizeof(b));
            lossy_run(p.l, p.l->now + US);
            g_assert_cmpuint(count(p.a)->tx_resent, ==, 1);
            /* Said twice, it goes once. */
            lossy_inject(p.l, 0, &f, b, sizeof(b));
            lossy_run(p.l, p.l->now + US);
            g_assert_cmpuint(count(p.a)->tx_resent, ==, 1);
        }
        lossy_free(p.l);
    }
}

/* ---- MarkPSN (§6.4.2.3.1) ---- */

static void sack(Pair *p, uint32_t psn, uint32_t map, uint32_t max)
{
    UbSaetph s = { .max_rcv = max, .map = { map } };
    UbRtph h = { .opcode = UB_TPOP_SACK, .src = TB, .dst = TA, .psn = psn };
    UbFlow f = lossy_flow(1, 0, UB_LPH_CNA24);
    uint8_t b[UB_RTPH_LEN + UB_SAETPH_MIN];

    ub_rtph_put(b, &h);
    ub_saetph_put(b + UB_RTPH_LEN, &s);
    lossy_inject(p->l, 0, &f, b, sizeof(b));
    lossy_run(p->l, p->l->now + US);
}

/* What is lost again, or first seen missing while others are sent again, waits until
 * something from MarkPSN on has come. */
static void test_mark(void)
{
    Pair p = pair_init(100);
    Chan *ch;

    p.attr.selective = p.attr.ooo = p.attr.mark = true;
    pair_open(&p);
    ch = chan_get(p.a->tp, TA);
    lossy_script(p.l, 0, deaf);
    for (unsigned i = 0; i < 6; i++) {
        lossy_send(p.a, TA, 8, i, true, false, i);
    }
    lossy_run(p.l, p.l->now + US);
    trace_is(p.l, ">0x >1x >2x >3x >4x >5x ");
    sack(&p, 99, 0x1, 99);              /* nothing is missing: nothing begins */
    g_assert_cmpuint(ch->mark, ==, 100);
    g_assert_cmpuint(ch->mark_phase, ==, MARK_NEW);
    sack(&p, 100, 0x5, 102);            /* 101 */
    trace_is(p.l, ">1x ");
    g_assert_cmpuint(ch->mark, ==, 106);
    g_assert_cmpuint(ch->last_first, ==, 101);
    sack(&p, 100, 0x2d, 105);           /* 104, too: before MarkPSN */
    trace_is(p.l, "");
    g_assert_cmpuint(ch->mark, ==, 106);
    g_assert_cmpuint(ch->mark_phase, ==, MARK_NEW);
    g_assert_cmpuint(ch->resends, ==, 1);
    lossy_send(p.a, TA, 8, 6, true, false, 6);
    trace_is(p.l, ">6x ");
    sack(&p, 100, 0x6d, 106);           /* 106: both go */
    trace_is(p.l, ">1x >4x ");
    g_assert_cmpuint(ch->mark, ==, 107);
    sack(&p, 100, 0x6d, 106);
    trace_is(p.l, "");
    g_assert_cmpuint(count(p.a)->tx_resent, ==, 3);
    lossy_free(p.l);
}

/* ---- algorithms ---- */

/* A rate that CNPs cut and time restores, by wide numbers. */
static void test_dcqcn(void)
{
    uint64_t rng = 5;

    for (unsigned run = 0; run < 200; run++) {
        UbCcParam p = {
            .rate_max = 1 + core_random(&rng) % (UINT64_C(1) << (10 + run % 47)),
            .dcqcn_g = core_random(&rng) % 1025, .dcqcn_alpha_us = 3, .dcqcn_rate_us = 5,
            .dcqcn_ai = core_random(&rng) % 1000000, .dcqcn_hai = core_random(&rng) % 10000000,
            .dcqcn_fast = run % 4, .rate_min = 1,
        };
        UbCcState s = { .tick = INT64_MAX, .scale_ns = 2000 };
        UbCetph c = { .ecn = 1 };
        unsigned __int128 rate = 0, target = 0;
        uint64_t alpha = 1024, steps = 0;
        int64_t now = 77, alpha_at = 0, rate_at = 0;

        p.rate_min = 1 + core_random(&rng) % p.rate_max;
        ub_cc_dcqcn.init(&s, &p, now);
        for (unsigned i = 0; i < 100; i++) {
            if (core_random(&rng) % 4 == 0) {
                ub_cc_dcqcn.cnp(&s, &p, &c, now);
                rate = rate ? rate : p.rate_max;
                target = rate;
                rate = MAX(rate - rate * alpha / 2048, p.rate_min);
                alpha += (1024 - alpha) * p.dcqcn_g / 1024;
                steps = 0;
                alpha_at = now + 6000;
                rate_at = now + 10000;
            } else if (s.tick != INT64_MAX) {
                now = s.tick;
                s.tick = INT64_MAX;
                ub_cc_dcqcn.tick(&s, &p, now);
                if (now == alpha_at) {
                    alpha -= alpha * p.dcqcn_g / 1024;
                    alpha_at = now + 6000;
                }
                if (now == rate_at) {
                    steps++;
                    target += steps <= p.dcqcn_fast ? 0 : steps <= 2 * p.dcqcn_fast
                        ? p.dcqcn_ai : p.dcqcn_hai;
                    target = MIN(target, p.rate_max);
                    rate = (rate + target + 1) / 2;
                    rate_at = now + 10000;
                    if (rate >= p.rate_max) {
                        rate = 0;
                        alpha = 1024;
                    }
                }
            }
            g_assert_cmpuint(s.rate, ==, (uint64_t)rate);
            g_assert_cmpuint(s.var[0], ==, alpha);
            g_assert_cmpint(s.tick, ==, rate ? MIN(alpha_at, rate_at) : INT64_MAX);
        }
    }
}

/* The bounds of a window: a unit is the least, too. */
static void test_windows(void)
{
    const UbCcParam p = { .cw_init = 5000, .cw_min = 1000, .cw_max = 20000, .ldcp_add = 100,
                          .ldcp_cut = 1024, .caqm_unit = 64, .caqm_want = 300,
                          .caqm_cut = 100 };
    const UbCc *const algo[] = { &ub_cc_ldcp, &ub_cc_caqm, &ub_cc_aimd };
    const UbCetph none = { 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(algo); i++) {
        for (unsigned unit = 999; unit <= 3000; unit += 1000) {
            UbCcState s = { .mtu = 1024, .unit = unit };
            uint64_t least = MAX(unit, 1000);

            algo[i]->init(&s, &p, 0);
            g_assert_cmpuint(s.cw, ==, 5000);
            algo[i]->lost(&s, &p, false, 0);
            g_assert_cmpuint(s.cw, ==, algo[i] == &ub_cc_aimd ? MAX(2500, least) : 5000);
            s.cw = 2 * least + 3;
            s.var[2] = 0;
            algo[i]->lost(&s, &p, true, 0);
            g_assert_cmpuint(s.cw, ==, algo[i] == &ub_cc_aimd ? least : least + 1);
            algo[i]->lost(&s, &p, true, 0);
            g_assert_cmpuint(s.cw, ==, least);
            s.cw = 30000;
            algo[i]->ack(&s, &p, &none, 1, 0);
            g_assert_cmpuint(s.cw, ==, 20000);
        }
    }
    for (unsigned i = 1; i < 2; i++) {
        UbCcState s = { .mtu = 8192, .unit = 1, .cw = 19999 };

        g_assert_cmphex(algo[i]->sent(&s, &p, 1, 0), ==, 0x0500 | 255);
        s.cw++;
        g_assert_cmphex(algo[i]->sent(&s, &p, 1, 0), ==, 0x0400);
        algo[i]->init(&s, &p, 0);
        g_assert_cmpuint(s.cw, ==, 8192);
        algo[i]->ack(&s, &p, &(UbCetph) { .c = 3, .inc = true, .hint = 2 }, 1, 0);
        g_assert_cmpuint(s.cw, ==, 8192 + 128 - 300);
    }
}

/* Feedback says something though nothing new has come. */
static void test_feedback(void)
{
    Pair p = pair_init(100);
    Chan *ch;
    uint64_t cw;

    p.cfg.cc_on = true;
    p.attr.cc = UB_CC_CAQM;
    pair_open(&p);
    ch = chan_get(p.a->tp, TA);
    cw = ch->cc->state.cw;
    cc_feedback(ch, &(UbCetph) { .inc = true, .hint = 3 }, p.l->now);
    g_assert_cmpuint(ch->cc->state.cw, ==, cw + 3 * 64);
    ch->cc->sent = 50;
    ch->cc->rcvd = 40;
    cc_feedback(ch, &(UbCetph) { .ack_seq = 50 }, p.l->now);
    g_assert_cmpuint(ch->cc->sent, ==, 50);
    g_assert_cmpuint(ch->cc->rcvd, ==, 50);
    cc_feedback(ch, &(UbCetph) { .ack_seq = 60 }, p.l->now);
    g_assert_cmpuint(ch->cc->sent, ==, 60);
    cc_feedback(ch, &(UbCetph) { .ack_seq = 59, .inc = true, .hint = 3 }, p.l->now);
    g_assert_cmpuint(ch->cc->rcvd, ==, 60);
    g_assert_cmpuint(ch->cc->state.cw, ==, cw + 3 * 64);
    lossy_free(p.l);
}

/* ---- acknowledgements ---- */

/* A channel that is taken up again at lower numbers says nothing twice. */
static void test_said_once(void)
{
    Pair p = pair_init(1000);
    UbTpAttr b;

    scripted[0] = (UbTpAnswer) { UB_TP_DONE };
    pair_open(&p);
    p.b->answer = answer_scripted;
    ub_tp_query(p.b->tp, TB, &b, NULL);
    for (unsigned i = 1; i <= 2; i++) {
        inject(&p, p.b, (UbRtph) { .opcode = UB_TPOP_DATA, .psn = b.rx_psn, .last = true,
                                   .ack_req = i == 1 }, 8);
        lossy_run(p.l, p.l->now + 50 * US);
        g_assert_cmpuint(count(p.b)->tx_ack, ==, i);
        ub_tp_deactivate(p.b->tp, TB);
        b.rx_psn = 50;
        g_assert_cmpint(ub_tp_modify(p.b->tp, TB, &b, UB_TPA_PEER), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tp_activate(p.b->tp, TB), ==, UB_TPR_OK);
    }
    lossy_free(p.l);
}

/* What goes again asks for its acknowledgement. */
static void test_asks_again(void)
{
    Pair p = pair_init(3);

    p.cfg.ack_delay_us = 1000000;
    p.attr.ask = UB_TP_ASK_HALF;
    pair_open(&p);
    lossy_script(p.l, 0, (LossyRule[]) { { KIND_DATA, 0, 1, LOSE, 0 }, { 0 } });
    lossy_send(p.a, TA, 8, 0, true, false, 0);
    lossy_run(p.l, p.l->now + MS + 11 * US);
    g_assert_cmpuint(count(p.b)->tx_ack, ==, 1);
    lossy_send(p.a, TA, 8, 1, true, false, 1);
    lossy_run(p.l, p.l->now + 500 * US);
    g_assert_cmpuint(p.b->got->len, ==, 2);
    g_assert_cmpuint(count(p.b)->tx_ack, ==, 1);
    lossy_free(p.l);
}

/* A TPSACK that waits for the end of the turn goes there, with what has come until then. */
static void test_sack_waits(void)
{
    Pair p = pair_init(100);

    p.attr.selective = p.attr.ooo = true;
    pair_open(&p);
    inject(&p, p.b, (UbRtph) { .opcode = UB_TPOP_DATA, .psn = 103, .last = true,
                               .msn = 3 }, 8);
    for (unsigned i = 0; i < 2; i++) {
        inject(&p, p.b, (UbRtph) { .opcode = UB_TPOP_DATA, .psn = 100 + i, .last = true,
                                   .msn = i }, 8);
        trace_is(p.l, "");
    }
    lossy_run(p.l, p.l->now + US);
    g_assert_true(g_str_has_prefix(p.l->trace->str, "<S1:5 "));
    lossy_free(p.l);
}

/* What is reserved in a header is zero, whether it asks or not. */
static void test_reserved(void)
{
    for (unsigned ask = 0; ask < 2; ask++) {
        Pair p = pair_init(100);
        const uint8_t *b;
        Slot *s;

        p.attr.ask = ask ? UB_TP_ASK_ALL : UB_TP_ASK_HALF;
        pair_open(&p);
        p.b->down = true;
        lossy_send(p.a, TA, 8, 0, true, false, 0);
        s = slot_at(chan_get(p.a->tp, TA), 100);
        b = s->pkt->buf + s->off;
        g_assert_cmphex(b[0], ==, 0x80 | UB_TPOP_DATA);
        g_assert_cmphex(b[8], ==, ask ? 0x80 : 0);
        g_assert_cmphex(b[12], ==, 0);
        lossy_free(p.l);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/exact/taken-back", test_taken_back);
    g_test_add_func("/tp/exact/reset", test_reset);
    g_test_add_func("/tp/exact/setup-late", test_setup_late);
    g_test_add_func("/tp/exact/refused", test_refused);
    g_test_add_func("/tp/exact/asked", test_asked);
    g_test_add_func("/tp/exact/asked-short", test_asked_short);
    g_test_add_func("/tp/exact/share", test_share);
    g_test_add_func("/tp/exact/fake", test_fake);
    g_test_add_func("/tp/exact/rto-at", test_rto_at);
    g_test_add_func("/tp/exact/cnp", test_cnp);
    g_test_add_func("/tp/exact/destination", test_destination);
    g_test_add_func("/tp/exact/out", test_out);
    g_test_add_func("/tp/exact/overtaken", test_overtaken);
    g_test_add_func("/tp/exact/around", test_around);
    g_test_add_func("/tp/exact/long-ago", test_long_ago);
    g_test_add_func("/tp/exact/mark", test_mark);
    g_test_add_func("/tp/exact/dcqcn", test_dcqcn);
    g_test_add_func("/tp/exact/windows", test_windows);
    g_test_add_func("/tp/exact/feedback", test_feedback);
    g_test_add_func("/tp/exact/said-once", test_said_once);
    g_test_add_func("/tp/exact/asks-again", test_asks_again);
    g_test_add_func("/tp/exact/eager", test_eager);
    g_test_add_func("/tp/exact/sack-waits", test_sack_waits);
    g_test_add_func("/tp/exact/reserved", test_reserved);
    return g_test_run();
}
