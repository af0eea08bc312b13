/*
 * Images of the transport layer in the middle of everything; images that are
 * damaged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/image.h"
#include "core/random.h"
#include "../../../../hw/ub/tp/internal.h"
#include "lossy.h"

enum { US = 1000, MS = 1000000 };

static uint8_t *save(UbTp *tp, int64_t now, size_t *len)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;

    ub_tp_image(tp, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *load(UbTp *tp, const uint8_t *data, size_t len, int64_t now)
{
    CoreImage *im = core_image_load(data, len, now);
    const char *error;

    ub_tp_image(tp, im);
    error = core_image_done(im);
    core_image_free(im);
    return error;
}

static UbTpAnswer answer(LossyNode *node, const UbTpRx *rx)
{
    static const UbTpAnswer all[] = {
        { UB_TP_WITHHOLD, 0 }, { UB_TP_DONE, 0 }, { UB_TP_RNR, 3 },
        { UB_TP_ACK, 0 },
    };

    return all[rx->msn % 4];
}

/* Everything that there is: packets under way, lost, held, withheld; groups; a
 * channel being set up, one in error; throttled destinations. */
static Lossy *busy(UbTpConfig *cfg)
{
    static const LossyRule lose[] = { { KIND_DATA, 2, 1, LOSE, 0 },
                                      { KIND_DATA, 6, 1, LOSE, 0 }, { 0 } };
    uint32_t tpn = UB_TP_NONE, g = 2;
    UbTpAttr attr;
    Lossy *l;

    ub_tp_config_init(cfg);
    cfg->cc_on = true;
    cfg->seed = 77;
    cfg->cc_param.cw_init = 2000;
    l = lossy_new(cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    attr.selective = attr.ooo = true;
    attr.rto_base_us = 1000;
    attr.tx_psn = 0xfffffc;
    for (uint32_t t = 1; t <= 4; t++) {
        attr.cc = t - 1;
        attr.fast = t % 2;
        lossy_channel(l, 0, 1, t, t, &attr);
    }
    l->node[1].answer = answer;
    l->node[0].answer = answer;
    lossy_script(l, 0, lose);
    l->cci = 0x8003;
    for (unsigned i = 0; i < 12; i++) {
        for (uint32_t t = 1; t <= 4; t++) {
            lossy_send(&l->node[0], t, 100, i, i != 11, i % 4 < 3, i);
            lossy_send(&l->node[1], t, 100, i, true, false, i);
        }
    }
    g_assert_cmpint(ub_tpg_create(l->node[0].tp, &g, UB_TPG_LEAST), ==, 0);
    g_assert_cmpint(ub_tpg_join(l->node[0].tp, g, 3), ==, 0);
    g_assert_cmpint(ub_tpg_join(l->node[0].tp, g, 1), ==, 0);
    ub_tpg_pick(l->node[0].tp, g);
    attr.cc = 0;
    attr.flow = lossy_flow(0, 1, UB_LPH_CNA24);
    g_assert_cmpint(ub_tp_create(l->node[0].tp, &tpn, &attr), ==, 0);
    g_assert_cmpint(ub_tp_connect(l->node[0].tp, tpn, l->now), ==, 0);
    for (unsigned i = 0; i < 3; i++) {
        UbTpDest dest = { .mode = UB_TP_CTP,
                          .flow = lossy_flow(0, 1, UB_LPH_CNA16) };
        UbTpTx tx = { .nlp = UB_TPH_UPI16, .last = true };

        dest.flow.sl = i;
        ub_tp_send(l->node[0].tp, &dest, lossy_packet(l, 50, i), &tx, l->now);
    }
    lossy_run(l, l->now + 26 * US);
    return l;
}

/* An image that is loaded and saved again is the same, and the time may be
 * another. */
static void test_same(void)
{
    UbTpConfig cfg;
    Lossy *l = busy(&cfg);

    for (unsigned n = 0; n < 2; n++) {
        size_t len, again;
        g_autofree uint8_t *a = save(l->node[n].tp, l->now, &len);
        g_autofree uint8_t *b = NULL;
        LossyNode *node = &l->node[n];

        lossy_renew(l, n, &cfg);
        g_assert_cmpstr(load(node->tp, a, len, l->now + 12345), ==, NULL);
        b = save(node->tp, l->now + 12345, &again);
        g_assert_cmpuint(len, >, 3000);
        g_assert_cmpmem(a, len, b, again);
        /* Into what is not new, too. */
        g_assert_cmpstr(load(node->tp, a, len, l->now), ==, NULL);
    }
    lossy_free(l);
}

/* Every field is brought across. */
static void test_fields(void)
{
    CoreImage *im;
    UbTpConfig cfg;
    UbTpAttr attr;
    UbTpAnswer wait = { UB_TP_WITHHOLD }, done = { UB_TP_RNR, 7 };
    uint32_t tpn = 9;
    CtpFlow *f, *fg;
    Chan *ch, *got;
    uint8_t *data;
    size_t len;
    Lossy *l;
    UbTp *tp;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    l = lossy_new(&cfg, 1);
    tp = l->node[0].tp;
    memset(&attr, 0, sizeof(attr));
    attr.flow = lossy_flow(2, 3, UB_LPH_IPV6);
    attr.flow.rt = 1;
    attr.flow.sl = 2;
    attr.flow.mgmt = true;
    attr.flow.port = 3;
    attr.flow.vl = 4;
    attr.flow.cci = 5;
    attr.flow.lbf = 6;
    attr.flow.npi = 7;
    attr.flow.ip.hops = 8;
    attr.dst_tpn = 10;
    attr.tx_psn = 11;
    attr.rx_psn = 12;
    attr.mtu = 8192;
    attr.selective = attr.fast = attr.mark = attr.ooo = attr.spray = true;
    attr.ooo_window = 256;
    attr.rto_dynamic = true;
    attr.rto_code = 3;
    attr.rto_base_us = 13;
    attr.rto_shift = 14;
    attr.retries = 15;
    attr.tx_window = 16;
    attr.ask = UB_TP_ASK_LAST;
    attr.ack_every = 17;
    attr.sack_every = 18;
    attr.sack_bits = 128;
    attr.cc = UB_CC_DCQCN;
    attr.cw_unit = 19;
    g_assert_cmpint(ub_tp_create(tp, &tpn, &attr), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_activate(tp, tpn), ==, UB_TPR_OK);
    ch = chan_get(tp, 9);
    ch->rto_at = 1000001;
    ch->ack_at = 1000002;
    ch->fake_at = 1000003;
    ch->fake_until = 1000004;
    ch->want_room = ch->room_due = true;
    ch->high_rtx = 20;
    ch->mark = 21;
    ch->last_first = 22;
    ch->mark_phase = MARK_RESEND;
    ch->times = 23;
    ch->fakes = 24;
    ch->open = true;
    ch->open_cookie = UINT64_C(0x2500000025);
    ch->tx_msn = 26;
    ch->epsn = ch->max_rcv = 27;
    ch->rx_msn = 28;
    ch->ack_msn = 29;
    ch->owed = 31;
    ch->sack_count = 32;
    ch->sack_due = ch->nak_due = ch->nak_done = ch->ack_now = true;
    ch->msn_told = ch->op_told = ch->refusing = true;
    ch->refusal = (UbTpAnswer) { UB_TP_PAGE_FAULT, 3 };
    ch->setup_cookie = 33;
    ch->setup_left = 34;
    ch->setup_active = ch->in_band = true;
    setup_remember(ch, 35);
    result_put(ch, 24, 77, wait);
    result_put(ch, 25, 78, done);
    for (unsigned i = 0; i < 8; i++) {
        ch->cc->state.var[i] = 100 + i;
    }
    ch->cc->state.cw = 36;
    ch->cc->state.rate = 37;
    ch->cc->state.tick = 1000038;
    ch->cc->state.at[0] = 1000039;
    ch->cc->state.at[1] = 1000040;
    ch->cc->sent = 41;
    ch->cc->rcvd = 42;
    ch->cc->pace_at = 1000043;
    ch->cc->cnp_at = 1000044;
    ch->cc->fb = (UbCetph) { .ack_seq = 45, .ce_seq = 46, .loc = true,
                             .inc = true, .c = 47, .hint = 48 };
    f = ctp_flow_new(tp, 49);
    f->state = ch->cc->state;
    f->state.unit = cfg.attr.cw_unit;
    f->state.mtu = cfg.attr.mtu;
    f->pace_at = 1000050;
    tp->ctp_lbf = 51;
    tp->rng = 52;
    tp->next_tpn = 53;
    tp->count.drop_msn = 54;

    data = save(tp, 1000000, &len);
    cfg.cc_on = false;
    cfg.seed = 1234;
    lossy_renew(l, 0, &cfg);
    im = core_image_load(data, len, 5000000);
    ub_tp_image(l->node[0].tp, im);
    g_assert_cmpstr(core_image_done(im), ==, NULL);
    core_image_free(im);
    got = chan_get(l->node[0].tp, 9);
    g_assert_nonnull(got);
    g_assert_cmpmem(&got->attr, sizeof(attr), &attr, sizeof(attr));
    g_assert_cmpint(got->rto_at, ==, 5000001);
    g_assert_cmpint(got->ack_at, ==, 5000002);
    g_assert_cmpint(got->fake_at, ==, 5000003);
    g_assert_cmpint(got->fake_until, ==, 5000004);
    g_assert_cmpint(got->setup_at, ==, CORE_NEVER);
    g_assert_true(got->want_room && got->room_due);
    g_assert_cmpuint(got->una, ==, 11);
    g_assert_cmpuint(got->high_rtx, ==, 20);
    g_assert_cmpuint(got->mark, ==, 21);
    g_assert_cmpuint(got->last_first, ==, 22);
    g_assert_cmpuint(got->mark_phase, ==, MARK_RESEND);
    g_assert_cmpuint(got->times, ==, 23);
    g_assert_cmpuint(got->fakes, ==, 24);
    g_assert_true(got->open);
    g_assert_cmphex(got->open_cookie, ==, UINT64_C(0x2500000025));
    g_assert_cmpuint(got->tx_msn, ==, 26);
    g_assert_cmpuint(got->epsn, ==, 27);
    g_assert_cmpuint(got->max_rcv, ==, 27);
    g_assert_cmpuint(got->rx_msn, ==, 28);
    g_assert_cmpuint(got->ack_msn, ==, 29);
    g_assert_cmpuint(got->owed, ==, 31);
    g_assert_cmpuint(got->sack_count, ==, 32);
    g_assert_true(got->sack_due && got->nak_due && got->nak_done &&
                  got->ack_now && got->msn_told && got->op_told &&
                  got->refusing);
    g_assert_cmpint(got->refusal.status, ==, UB_TP_PAGE_FAULT);
    g_assert_cmpuint(got->refusal.timer, ==, 3);
    g_assert_cmpuint(got->setup_cookie, ==, 33);
    g_assert_cmpuint(got->setup_left, ==, 34);
    g_assert_true(got->setup_active && got->in_band);
    g_assert_cmpuint(got->peer_key, ==, 35);
    g_assert_cmpuint(got->fifo_len, ==, 2);
    g_assert_cmpuint(ack_covered(got), ==, 24);
    g_assert_cmpuint(got->result[24].msn, ==, 77);
    g_assert_cmpint(got->result[24].state, ==, RESULT_WAIT);
    g_assert_cmpuint(got->result[25].msn, ==, 78);
    g_assert_cmpint(got->result[25].status, ==, UB_TP_RNR);
    g_assert_cmpuint(got->result[25].timer, ==, 7);
    for (unsigned i = 0; i < 8; i++) {
        g_assert_cmpuint(got->cc->state.var[i], ==, 100 + i);
    }
    g_assert_cmpuint(got->cc->state.cw, ==, 36);
    g_assert_cmpuint(got->cc->state.rate, ==, 37);
    g_assert_cmpint(got->cc->state.tick, ==, 5000038);
    g_assert_cmpint(got->cc->state.at[0], ==, 5000039);
    g_assert_cmpint(got->cc->state.at[1], ==, 5000040);
    g_assert_cmpuint(got->cc->sent, ==, 41);
    g_assert_cmpuint(got->cc->rcvd, ==, 42);
    g_assert_cmpint(got->cc->pace_at, ==, 5000043);
    g_assert_cmpint(got->cc->cnp_at, ==, 5000044);
    g_assert_cmpuint(got->cc->fb.ack_seq, ==, 45);
    g_assert_cmpuint(got->cc->fb.ce_seq, ==, 46);
    g_assert_true(got->cc->fb.loc && got->cc->fb.inc);
    g_assert_cmpuint(got->cc->fb.c, ==, 47);
    g_assert_cmpuint(got->cc->fb.hint, ==, 48);
    tp = l->node[0].tp;
    tpn = 0;
    fg = g_hash_table_lookup(tp->ctp, &(uint64_t) { 49 });
    g_assert_nonnull(fg);
    g_assert_cmpint(fg->pace_at, ==, 5000050);
    g_assert_cmpuint(fg->state.rate, ==, 37);
    g_assert_cmpint(fg->state.tick, ==, 5000038);
    g_assert_cmpuint(fg->state.mtu, ==, cfg.attr.mtu);
    g_assert_cmpuint(fg->state.unit, ==, cfg.attr.cw_unit);
    g_assert_cmpint(fg->state.scale_ns, ==, 1000);
    g_assert_cmpuint(tp->ctp_lbf, ==, 51);
    g_assert_cmpuint(tp->rng, ==, 52);
    g_assert_cmpuint(tp->next_tpn, ==, 53);
    g_assert_cmpuint(tp->count.drop_msn, ==, 54);
    g_assert_true(tp->cfg.cc_on);
    g_assert_cmpint(got->on, ==, ON_WORK);
    g_assert_cmpint(core_timers_deadline(&tp->timers), ==, 5000001);
    g_assert_cmpint(core_timers_deadline(&tp->ctp_timers), ==, 5000038);
    g_free(data);
    lossy_free(l);
}

/* The other end notices nothing. */
static void test_goes_on(void)
{
    for (int64_t when = 1; when < 60; when += 3) {
        UbTpConfig cfg;
        Lossy *l = busy(&cfg);
        unsigned done[2] = { 0 };

        lossy_run(l, l->now + when * US);
        for (unsigned n = 0; n < 2; n++) {
            size_t len;
            g_autofree uint8_t *a = save(l->node[n].tp, l->now, &len);

            lossy_renew(l, n, &cfg);
            g_assert_cmpstr(load(l->node[n].tp, a, len, l->now), ==, NULL);
        }
        l->cci = 0;
        for (uint32_t t = 1; t <= 4; t++) {
            g_assert_cmpint(lossy_send(&l->node[0], t, 100, 12, true, false,
                                       11), ==, UB_SENT);
        }
        lossy_run(l, l->now + 100 * MS);
        for (unsigned i = 0; i < 12; i += 4) {
            for (uint32_t t = 1; t <= 4; t++) {
                ub_tp_answer(l->node[1].tp, t, i,
                             (UbTpAnswer) { UB_TP_DONE }, l->now);
                ub_tp_answer(l->node[0].tp, t, i,
                             (UbTpAnswer) { UB_TP_DONE }, l->now);
            }
        }
        lossy_run(l, l->now + 100 * MS);
        for (unsigned n = 0; n < 2; n++) {
            g_assert_cmpuint(l->node[n].errors->len, ==, 0);
            g_assert_cmpuint(l->node[n].acked->len, ==, 4 * 12);
            for (guint i = 0; i < l->node[n].got->len; i++) {
                done[n] += lossy_got(&l->node[n], i)->rx.mode == UB_TP_RTP;
            }
        }
        g_assert_cmpuint(done[1], ==, 4 * 13);
        g_assert_cmpuint(done[0], ==, 4 * 12);
        g_assert_cmpint(l->node[0].connected, ==, UB_TPR_OK);
        lossy_free(l);
    }
}

static void move(Lossy *l, unsigned n, const UbTpConfig *cfg)
{
    size_t len;
    g_autofree uint8_t *a = save(l->node[n].tp, l->now, &len);

    lossy_renew(l, n, cfg);
    g_assert_cmpstr(load(l->node[n].tp, a, len, l->now), ==, NULL);
}

/* A set-up whose packets were lost on the way: who asked asks again, or hears that
 * nobody answers; who was asked lets go of what nobody confirms. */
static void test_setup(void)
{
    static const LossyRule lose[] = { { KIND_ANY, -1, 0, LOSE, 0 }, { 0 } };

    for (unsigned gone = 0; gone < 2; gone++) {
        uint32_t tpn = UB_TP_NONE, asked = 0;
        UbTpConfig cfg;
        UbTpAttr attr;
        UbTpInfo info;
        Lossy *l;

        ub_tp_config_init(&cfg);
        l = lossy_new(&cfg, 2);
        ub_tp_attr_init(l->node[0].tp, &attr);
        attr.flow = lossy_flow(0, 1, UB_LPH_CNA24);
        lossy_script(l, 1, lose);
        g_assert_cmpint(ub_tp_create(l->node[0].tp, &tpn, &attr), ==, 0);
        g_assert_cmpint(ub_tp_connect(l->node[0].tp, tpn, l->now), ==, 0);
        lossy_run(l, l->now + 10 * MS);
        asked = l->node[1].tp->next_tpn;
        g_assert_cmpint(ub_tp_query(l->node[1].tp, asked, NULL, &info), ==, 0);
        g_assert_cmpint(info.state, ==, UB_TP_INIT);
        if (gone) {
            lossy_script(l, 0, lose);
        } else {
            lossy_script(l, 1, &lose[1]);
        }
        move(l, 0, &cfg);
        move(l, 1, &cfg);
        lossy_run(l, l->now + INT64_C(3000) * MS);
        g_assert_cmpuint(l->node[0].connects, ==, 1);
        g_assert_cmpint(l->node[0].connected, ==,
                        gone ? UB_TPR_TIMEOUT : UB_TPR_OK);
        g_assert_cmpint(ub_tp_query(l->node[1].tp, asked, NULL, &info), ==,
                        gone ? UB_TPR_NO_CHANNEL : UB_TPR_OK);
        lossy_free(l);
    }
}

/* What a channel holds counts for the limit of all of them, there as here. */
static void test_held(void)
{
    static const LossyRule lose[] = { { KIND_DATA, 1, 1, LOSE, 0 }, { 0 } };
    UbTpConfig cfg;
    UbTpAttr attr;
    uint64_t held;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    attr.selective = attr.ooo = true;
    lossy_channel(l, 0, 1, 1, 2, &attr);
    lossy_script(l, 0, lose);
    for (unsigned i = 0; i < 4; i++) {
        lossy_send(&l->node[0], 1, 100, i, true, false, i);
    }
    lossy_run(l, l->now + 11 * US);
    held = l->node[1].tp->hold_used;
    g_assert_cmpuint(chan_get(l->node[1].tp, 2)->held, ==, 2);
    g_assert_cmpuint(held, >, 0);
    move(l, 1, &cfg);
    g_assert_cmpuint(l->node[1].tp->hold_used, ==, held);
    lossy_run(l, l->now + 100 * MS);
    g_assert_cmpuint(l->node[1].got->len, ==, 4);
    g_assert_cmpuint(l->node[1].tp->hold_used, ==, 0);
    lossy_free(l);
}

/* Algorithms divide by their window. */
static void test_no_window(void)
{
    static const uint8_t kinds[] = { UB_CC_LDCP, UB_CC_CAQM };

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree uint8_t *a = NULL;
        uint32_t tpn = 9;
        UbTpConfig cfg;
        UbTpAttr attr;
        size_t len;
        Lossy *l;

        ub_tp_config_init(&cfg);
        cfg.cc_on = true;
        l = lossy_new(&cfg, 1);
        ub_tp_attr_init(l->node[0].tp, &attr);
        attr.cc = kinds[i];
        g_assert_cmpint(ub_tp_create(l->node[0].tp, &tpn, &attr), ==, 0);
        g_assert_cmpint(ub_tp_activate(l->node[0].tp, tpn), ==, 0);
        chan_get(l->node[0].tp, tpn)->cc->state.cw = 0;
        a = save(l->node[0].tp, l->now, &len);
        lossy_renew(l, 0, &cfg);
        g_assert_cmpstr(load(l->node[0].tp, a, len, l->now), ==,
                        "a window of congestion control that is none");
        lossy_free(l);
    }
}

/* Nobody asks any more for a channel that is there: its time would end it with what
 * it holds. */
static void test_set_up_twice(void)
{
    g_autofree uint8_t *a = NULL;
    uint32_t tpn = 9;
    UbTpConfig cfg;
    UbTpAttr attr;
    size_t len;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 1);
    ub_tp_attr_init(l->node[0].tp, &attr);
    g_assert_cmpint(ub_tp_create(l->node[0].tp, &tpn, &attr), ==, 0);
    g_assert_cmpint(ub_tp_activate(l->node[0].tp, tpn), ==, 0);
    chan_get(l->node[0].tp, tpn)->setup_at = 5;
    a = save(l->node[0].tp, l->now, &len);
    lossy_renew(l, 0, &cfg);
    g_assert_cmpstr(load(l->node[0].tp, a, len, l->now), ==,
                    "a channel that is set up has a time for that");
    lossy_free(l);
}

/* ---- states that cannot be ---- */

/* A channel that has sent two of four packets, changed, in an image; why that is refused. */
#define STATE(change, want) do { \
        g_autofree uint8_t *image = NULL; \
        Lossy *l = half_sent(&cfg); \
        Chan *ch = chan_get(l->node[0].tp, 9); \
        size_t len; \
        \
        change; \
        image = save(l->node[0].tp, l->now, &len); \
        lossy_renew(l, 1, &cfg); \
        g_assert_cmpstr(load(l->node[1].tp, image, len, l->now), ==, want); \
        lossy_free(l); \
    } while (0)
#define SLOT(i) slot_at(ch, ch->una + (i))

static Lossy *half_sent(const UbTpConfig *cfg)
{
    Lossy *l = lossy_new(cfg, 2);
    UbTpAttr attr;

    ub_tp_attr_init(l->node[0].tp, &attr);
    lossy_channel(l, 0, 1, 9, 9, &attr);
    for (unsigned i = 0; i < 4; i++) {
        l->node[0].down = i >= 2;
        g_assert_cmpint(lossy_send(&l->node[0], 9, 8, i, true, true, i), ==, UB_SENT);
    }
    g_assert_cmpuint(chan_get(l->node[0].tp, 9)->high - chan_get(l->node[0].tp, 9)->una,
                     ==, 2);
    return l;
}

static void test_states(void)
{
    static const char packet[] = "a packet of a channel is in no state";
    static const char sender[] = "a channel's sender is in no state";
    static const char receiver[] = "a channel's receiver is in no state";
    static const char withheld[] = "a channel withholds what it does not have";
    static const UbTpAnswer wait = { UB_TP_WITHHOLD };
    UbTpConfig cfg;

    ub_tp_config_init(&cfg);
    STATE(ch->times = 1, NULL);
    /* What has not gone has not been lost, nor answered, nor is it under way. */
    STATE(SLOT(1)->flags |= SLOT_RESEND, NULL);
    STATE(SLOT(2)->flags |= SLOT_RESEND, packet);
    STATE(SLOT(2)->flags |= SLOT_OUT, packet);
    STATE(SLOT(3)->flags |= SLOT_RECEIVED, packet);
    STATE(SLOT(3)->flags |= SLOT_ANSWERED, packet);
    STATE(SLOT(3)->flags &= ~SLOT_WANT, NULL);
    /* What is behind the cumulative point has come. */
    STATE(ch->cum++, packet);
    STATE(ch->cum++; SLOT(0)->flags |= SLOT_RECEIVED, NULL);
    STATE(SLOT(0)->flags |= SLOT_FLAGS, packet);
    STATE(SLOT(0)->flags = SLOT_FLAGS, packet);
    STATE(SLOT(0)->status = UB_TP_FLUSHED - 1, NULL);
    STATE(SLOT(0)->status = UB_TP_FLUSHED, packet);
    STATE(SLOT(0)->timer = UB_RNR_TIMER_MAX, NULL);
    STATE(SLOT(0)->timer = UB_RNR_TIMER_MAX + 1, packet);
    STATE(ch->high = ch->una, "a channel sent what it has not");
    STATE(ch->mark_phase = MARK_RESEND, NULL);
    STATE(ch->mark_phase = MARK_RESEND + 1, sender);
    STATE(ch->tx_msn = UB_PSN_MASK, NULL);
    STATE(ch->tx_msn = UB_PSN_MASK + 1, sender);
    STATE(ch->rx_msn = ch->ack_msn = UB_PSN_MASK, NULL);
    STATE(ch->rx_msn = UB_PSN_MASK + 1, receiver);
    STATE(ch->ack_msn = UB_PSN_MASK + 1, receiver);
    STATE(ch->refusal.status = UB_TP_FLUSHED - 1, NULL);
    STATE(ch->refusal.status = UB_TP_FLUSHED, receiver);
    STATE(ch->max_rcv = ch->epsn - 1 + UB_PSN_SPAN, NULL);
    STATE(ch->max_rcv = ch->epsn + UB_PSN_SPAN, receiver);
    STATE(ch->max_rcv = ch->epsn - 2, receiver);
    /* As many answers as are remembered, and one more. */
    STATE(result_put(ch, ch->epsn - cfg.results, 0, wait), NULL);
    STATE(result_put(ch, ch->epsn - cfg.results - 1, 0, wait), withheld);
    STATE(result_put(ch, ch->epsn - 1, 0, wait), NULL);
    STATE(result_put(ch, ch->epsn, 0, wait), withheld);
    STATE(result_put(ch, ch->epsn - 1, 0, wait); result_put(ch, ch->epsn - 2, 0, wait),
          withheld);
    STATE(result_put(ch, ch->epsn - 1, 0, wait); result_forget(ch, ch->epsn - 1), withheld);
    STATE(ch->state = UB_TP_STATES, "a channel is in no state");
}

static void test_other_config(void)
{
    UbTpConfig cfg;
    Lossy *l = busy(&cfg);
    size_t len;
    g_autofree uint8_t *a = save(l->node[0].tp, l->now, &len);

    cfg.results = 512;
    lossy_renew(l, 0, &cfg);
    g_assert_cmpstr(load(l->node[0].tp, a, len, l->now), ==,
                    "the image has another number of answers remembered");
    cfg.results = 1024;
    cfg.max_channels = 2;
    lossy_renew(l, 0, &cfg);
    g_assert_cmpstr(load(l->node[0].tp, a, len, l->now), ==,
                    "the image has too many channels");
    cfg.max_channels = 100;
    cfg.max_groups = 0;
    lossy_renew(l, 0, &cfg);
    g_assert_cmpstr(load(l->node[0].tp, a, len, l->now), ==,
                    "the image has too many groups");
    lossy_free(l);
}

/* Damaged ones are refused or work; nothing else. */
static UbTpAnswer withhold(LossyNode *node, const UbTpRx *rx)
{
    return (UbTpAnswer) { UB_TP_WITHHOLD, 0 };
}

/* Where four words are, one behind the other; there is one such place. */
static uint8_t *words_at(uint8_t *data, size_t len, const uint32_t *word, unsigned n)
{
    uint8_t *at = NULL;

    for (size_t i = 0; i + 4 * n <= len; i++) {
        unsigned k = 0;

        while (k < n && get_be32(data + i + 4 * k) == word[k]) {
            k++;
        }
        if (k == n) {
            g_assert_null(at);
            at = data + i;
        }
    }
    g_assert_nonnull(at);
    return at;
}

/* What is withheld is in the order of its numbers. */
static void test_order(void)
{
    static const uint32_t psn[] = { 7000, 7001, 7002, 7003 };
    g_autofree uint8_t *data = NULL;
    UbTpConfig cfg;
    uint8_t *fifo;
    UbTpAttr attr;
    size_t len;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    attr.tx_psn = psn[0];
    lossy_channel(l, 0, 1, 1, 1, &attr);
    l->node[1].answer = withhold;
    for (unsigned i = 0; i < 4; i++) {
        lossy_send(&l->node[0], 1, 100, i, true, true, i);
    }
    lossy_run(l, l->now + 20 * US);
    data = save(l->node[1].tp, l->now, &len);
    fifo = words_at(data, len, psn, 4);
    g_assert_null(load(l->node[1].tp, data, len, l->now));
    for (unsigned i = 0; i < 3; i++) {
        put_be32(fifo + 4 * i, psn[i + 1]);
        put_be32(fifo + 4 * i + 4, psn[i]);
        g_assert_nonnull(load(l->node[1].tp, data, len, l->now));
        put_be32(fifo + 4 * i, psn[i]);
        put_be32(fifo + 4 * i + 4, psn[i + 1]);
    }
    g_assert_null(load(l->node[1].tp, data, len, l->now));
    lossy_free(l);
}

/* Whose turn an image says that it is in a group: one of its own's. */
static void test_turn(void)
{
    enum { MARK = 0x5a5a5 };
    g_autofree uint8_t *data = NULL;
    uint32_t g[2] = { 21, 22 };
    UbTpConfig cfg;
    UbTpAttr attr;
    uint8_t *turn;
    size_t len;
    Lossy *l;
    UbTp *tp;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    tp = l->node[0].tp;
    ub_tp_attr_init(tp, &attr);
    for (uint32_t t = 1; t <= 4; t++) {
        lossy_channel(l, 0, 1, MARK + t, MARK + t, &attr);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(ub_tpg_create(tp, &g[i], UB_TPG_ROUND), ==, 0);
        g_assert_cmpint(ub_tpg_join(tp, g[i], MARK + 1 + 2 * i), ==, 0);
        g_assert_cmpint(ub_tpg_join(tp, g[i], MARK + 2 + 2 * i), ==, 0);
        g_assert_cmpuint(ub_tpg_pick(tp, g[i]), ==, MARK + 1 + 2 * i);
    }
    data = save(tp, l->now, &len);
    turn = words_at(data, len, (const uint32_t[]) { 22, UB_TPG_ROUND, MARK + 4 }, 3) + 8;
    for (unsigned i = 0; i < 3; i++) {
        put_be32(turn, MARK + (i == 0 ? 4 : i == 1 ? 2 : 9));
        g_assert_null(load(tp, data, len, l->now));
        g_assert_cmpuint(ub_tpg_pick(tp, 22), ==, MARK + (i ? 3 : 4));
        g_assert_cmpuint(ub_tpg_pick(tp, 21), ==, MARK + 2);
    }
    lossy_free(l);
}

/* Who was refused because others wait for their way out hears of it elsewhere. */
static void test_unsent(void)
{
    enum { TPN = 77 };
    UbTpConfig cfg;
    UbTpAttr attr;
    LossyNode *a;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    a = &l->node[0];
    ub_tp_attr_init(a->tp, &attr);
    lossy_channel(l, 0, 1, TPN, TPN, &attr);
    a->down = l->node[1].down = true;
    for (unsigned i = 0; i < 8; i++) {
        g_assert_cmpint(lossy_send(a, TPN, 10, i, true, false, i), ==, UB_SENT);
    }
    g_assert_cmpint(lossy_send(a, TPN, 10, 8, true, false, 8), ==, UB_BUSY);
    move(l, 0, &cfg);
    g_assert_cmpuint(a->rooms, ==, 0);
    a->down = false;
    ub_tp_space(a->tp, l->now);
    lossy_run(l, l->now + 100 * 1000);
    g_assert_cmpuint(l->node[1].got->len, ==, 8);
    g_assert_cmpuint(a->rooms, ==, 1);
    lossy_free(l);
}

static void test_damaged(void)
{
    uint64_t rng = 3;
    unsigned refused = 0, taken = 0;
    UbTpConfig cfg;
    Lossy *l = busy(&cfg);

    cfg.max_channels = 16;
    for (unsigned n = 0; n < 2; n++) {
        size_t len;
        g_autofree uint8_t *a = save(l->node[n].tp, l->now, &len);
        LossyNode *node = &l->node[n];

        lossy_renew(l, n, &cfg);
        node->answer = NULL;
        for (unsigned i = 0; i < 1500; i++) {
            g_autofree uint8_t *b = g_memdup2(a, len);
            size_t cut = len;

            if (i % 8 == 0) {
                cut = core_random(&rng) % len;
            }
            for (unsigned k = core_random(&rng) % 3; k; k--) {
                b[core_random(&rng) % len] = core_random(&rng) % 4
                    ? core_random(&rng) : 0xff;
            }
            if (i % 3 == 1) {
                b[core_random(&rng) % len] ^= 1 << core_random(&rng) % 8;
            }
            if (load(node->tp, b, cut, l->now)) {
                refused++;
                g_assert_cmpint(ub_tp_run(node->tp, l->now, 10), ==,
                                INT64_MAX);
            } else {
                taken++;
                for (unsigned turn = 0; turn < 3; turn++) {
                    l->now += MS;
                    ub_tp_run(node->tp, l->now, 50);
                }
                l->now -= 3 * MS;
            }
        }
    }
    g_assert_cmpuint(refused, >, 300);
    g_assert_cmpuint(taken, >, 300);
    lossy_free(l);
}

/* A reset forgets all, and nothing leaks. */
static void test_reset(void)
{
    UbTpConfig cfg;
    Lossy *l = busy(&cfg);
    UbTpAttr attr;

    for (unsigned n = 0; n < 2; n++) {
        guint acked = l->node[n].acked->len;

        ub_tp_reset(l->node[n].tp);
        g_assert_cmpuint(l->node[n].acked->len, ==, acked);
        g_assert_cmpint(ub_tp_query(l->node[n].tp, 1, NULL, NULL), ==,
                        UB_TPR_NO_CHANNEL);
        g_assert_cmpint(ub_tp_run(l->node[n].tp, l->now, 10), ==, INT64_MAX);
    }
    ub_tp_attr_init(l->node[0].tp, &attr);
    l->node[0].answer = l->node[1].answer = NULL;
    g_array_set_size(l->node[1].got, 0);
    lossy_channel(l, 0, 1, 1, 1, &attr);
    lossy_send(&l->node[0], 1, 100, 5, true, false, 5);
    lossy_run(l, l->now + 100 * US);
    g_assert_cmpuint(lossy_got(&l->node[1], l->node[1].got->len - 1)->tag, ==,
                     5);
    lossy_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/image/same", test_same);
    g_test_add_func("/tp/image/fields", test_fields);
    g_test_add_func("/tp/image/goes-on", test_goes_on);
    g_test_add_func("/tp/image/setup", test_setup);
    g_test_add_func("/tp/image/held", test_held);
    g_test_add_func("/tp/image/no-window", test_no_window);
    g_test_add_func("/tp/image/set-up-twice", test_set_up_twice);
    g_test_add_func("/tp/image/states", test_states);
    g_test_add_func("/tp/image/other-config", test_other_config);
    g_test_add_func("/tp/image/order", test_order);
    g_test_add_func("/tp/image/turn", test_turn);
    g_test_add_func("/tp/image/unsent", test_unsent);
    g_test_add_func("/tp/image/damaged", test_damaged);
    g_test_add_func("/tp/image/reset", test_reset);
    return g_test_run();
}
