/*
 * A peer that sends anything: headers at random, wild PSNs, answers to what was
 * never sent.  Nothing is taken that does not belong, nothing grows, and the
 * channels of others go on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/bytes.h"
#include "core/random.h"
#include "lossy.h"

enum { CHANS = 6, US = 1000, MS = 1000000 };

static uint64_t rng = 9;

static uint32_t below(uint32_t n)
{
    return core_random(&rng) % n;
}

static UbTpAnswer any_answer(LossyNode *node, const UbTpRx *rx)
{
    return (UbTpAnswer) { core_random(&rng) % UB_TP_FLUSHED,
                          core_random(&rng) };
}

/* A header that is nearly right. */
static uint32_t make(LossyNode *victim, uint8_t *b)
{
    static const uint8_t ops[] = { 0, 1, 1, 1, 2, 2, 3, 5, 5, 6, 8, 4, 9 };
    uint32_t len = 16 + below(160), tpn = 1 + below(CHANS + 1);
    UbTpInfo i = { 0 };
    UbRtph h;

    ub_tp_query(victim->tp, tpn, NULL, &i);
    for (uint32_t k = 0; k < len; k++) {
        b[k] = core_random(&rng);
    }
    h = (UbRtph) {
        .opcode = ops[below(sizeof(ops))], .last = below(2),
        .ver = below(30) == 0, .pad = below(4), .nlp = below(16),
        .src = below(20) ? tpn : below(1 << 24), .dst = tpn,
        .ack_req = below(2), .fake = below(20) == 0,
        .psn = core_random(&rng), .rspst = below(3) ? 0 : below(8),
        .rspinfo = below(3), .msn = below(3) ? i.rx_msn : below(1 << 24),
    };
    switch (below(6)) {
    case 0:
        h.psn = i.epsn + below(300) - 20;
        break;
    case 1:
        h.psn = i.una + below(100) - 20;
        break;
    case 2:
        h.psn = i.next - below(4);
        break;
    case 3:
        h.psn = i.epsn;
        break;
    }
    h.psn &= UB_PSN_MASK;
    ub_rtph_put(b, &h);
    if (below(2)) {
        UbSaetph s = { .size = below(8), .max_rcv = (i.una + below(40)) &
                                                    UB_PSN_MASK,
                       .map = { core_random(&rng), core_random(&rng) } };
        uint32_t at = 16 + (h.opcode == 6 ? 8 : 0);

        if (s.size < 5 && at + ub_saetph_len(s.size) <= 200) {
            ub_saetph_put(b + at, &s);
            len = MAX(len, at + ub_saetph_len(s.size));
        }
    }
    if (below(40) == 0) {
        len = below(len + 1);
    }
    return len;
}

static void channel_attr(UbTpAttr *attr, unsigned c)
{
    attr->selective = c % 3 == 2;
    attr->fast = c % 2;
    attr->ooo = attr->selective || !attr->fast || c == 5;
    attr->mark = attr->selective && attr->fast;
    attr->ooo_window = 128;
    attr->tx_window = 32;
    attr->rto_base_us = 100;
    attr->cc = c % UB_CC_USER;
    attr->rx_psn = 0xffffc0;
}

static void storm(bool cc)
{
    uint8_t b[512];
    UbTpConfig cfg;
    uint32_t most = 0;
    Lossy *l;
    LossyNode *victim;

    ub_tp_config_init(&cfg);
    cfg.cc_on = cc;
    cfg.hold_bytes = 50000;
    cfg.results = 64;
    cfg.max_channels = CHANS + 4;
    cfg.setup_us = 500;
    cfg.ctp_flows = 8;
    l = lossy_new(&cfg, 2);
    victim = &l->node[0];
    victim->answer = any_answer;
    for (unsigned c = 0; c < CHANS; c++) {
        UbTpAttr attr;

        ub_tp_attr_init(victim->tp, &attr);
        channel_attr(&attr, c);
        lossy_channel(l, 0, 1, c + 1, c + 1, &attr);
    }
    for (unsigned i = 0; i < 60000; i++) {
        static const UbLphCfg cfgs[] = { UB_LPH_CNA24, UB_LPH_CNA24,
                                         UB_LPH_CNA24, UB_LPH_CNA16,
                                         UB_LPH_IPV4, UB_LPH_BYPASS };
        UbFlow f = lossy_flow(1, 0, cfgs[below(6)]);
        uint32_t len = make(victim, b);

        if (below(10) == 0) {
            f.nlp = below(8);
        }
        if (below(3) == 0) {
            f.cci = core_random(&rng);
        }
        if (f.cfg == UB_LPH_CNA16 || below(20) == 0) {
            f.scna = below(100);
            f.sl = below(16);
            b[0] = below(256);
        }
        if (below(20) == 0) {
            /* In-band requests. */
            b[0] = 0x0f;
            b[1] = 1;
            b[2] = below(8);
            f.nlp = UB_NLP_CTPH;
            f.cfg = UB_LPH_CNA24;
            len = MAX(len, 37);
            put_be16(b + 3, below(16));
            put_be32(b + 9, 1 + below(10));
            put_be32(b + 17, below(1 << 24));
            put_be16(b + 21, 4096);
            put_be16(b + 23, 128 << below(3));
            put_be16(b + 25, 64);
            put_be16(b + 27, 64);
            b[29] = below(5);
            put_be32(b + 33, 1);
        }
        lossy_inject(l, 0, &f, b, len);
        if (below(4) == 0) {
            lossy_send(victim, 1 + below(CHANS), 20 + below(100), i, true,
                       below(2), i);
        }
        if (below(8) == 0) {
            ub_tp_answer(victim->tp, 1 + below(CHANS), below(100),
                         (UbTpAnswer) { below(UB_TP_STATUSES), below(32) },
                         l->now);
        }
        if (below(16) == 0) {
            lossy_run(l, l->now + below(100) * US);
        }
        g_array_set_size(victim->got, 0);
        g_array_set_size(victim->acked, 0);
        g_array_set_size(l->node[1].got, 0);
        g_array_set_size(l->node[1].acked, 0);
        g_array_set_size(l->node[1].errors, 0);
        most = MAX(most, victim->errors->len);
        for (unsigned c = 0; i % 64 == 0 && c < CHANS; c++) {
            UbTpInfo info;

            ub_tp_query(victim->tp, c + 1, NULL, &info);
            g_assert_cmpuint(info.held, <=, 128);
            g_assert_cmpuint(info.withheld, <=, 64);
            g_assert_cmpuint(info.in_flight, <=, 32);
            if (info.state == UB_TP_ERROR) {
                UbTpAttr attr;

                ub_tp_destroy(victim->tp, c + 1, l->now);
                ub_tp_destroy(l->node[1].tp, c + 1, l->now);
                ub_tp_attr_init(victim->tp, &attr);
                channel_attr(&attr, c);
                lossy_channel(l, 0, 1, c + 1, c + 1, &attr);
            }
        }
    }
    /* Events come with progress or an end, not with each packet. */
    g_assert_cmpuint(most, <, 20000);
    g_assert_cmpuint(ub_tp_counters(victim->tp)->drop_invalid, >, 100);
    g_assert_cmpuint(ub_tp_counters(victim->tp)->drop_bad_ack, >, 100);
    g_assert_cmpuint(ub_tp_counters(victim->tp)->drop_bad_sack, >, 100);
    g_assert_cmpuint(ub_tp_counters(victim->tp)->drop_setup, >, 10);
    lossy_free(l);
}

static void test_storm(void)
{
    storm(false);
    storm(true);
}

/* A storm of other TPNs does not touch a channel. */
static void test_bystander(void)
{
    UbTpConfig cfg;
    UbTpAttr attr;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    lossy_channel(l, 0, 1, 11, 22, &attr);
    for (unsigned i = 0; i < 2000; i++) {
        UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);
        UbRtph h = { .opcode = below(9), .last = below(2),
                     .psn = below(1 << 24), .msn = below(4),
                     .src = below(2) ? 11 : below(1 << 24),
                     .dst = below(1 << 24) };
        uint8_t b[300] = { 0 };

        if (h.src == 11 && h.dst == 22) {
            continue;
        }
        if (h.src != 11 && below(2)) {
            h.dst = 22;
        }
        ub_rtph_put(b, &h);
        lossy_inject(l, 1, &f, b, 16 + below(200));
        if (i % 10 == 0) {
            lossy_send(&l->node[0], 11, 64, i, true, false, i);
            lossy_run(l, l->now + 30 * US);
        }
    }
    g_assert_cmpuint(l->node[1].got->len, ==, 200);
    g_assert_cmpuint(l->node[0].acked->len, ==, 200);
    g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->tx_resent, ==, 0);
    g_assert_cmpuint(l->node[1].errors->len, ==, 0);
    lossy_free(l);
}

/* More operations withheld than are remembered: no more is taken until some
 * are answered. */
static UbTpAnswer withhold(LossyNode *node, const UbTpRx *rx)
{
    return (UbTpAnswer) { UB_TP_WITHHOLD };
}

static void test_results_bound(void)
{
    UbTpConfig cfg;
    UbTpAttr attr;
    UbTpInfo i;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.results = 16;
    l = lossy_new(&cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    attr.tx_window = 100;
    attr.rto_base_us = 1000;
    attr.rto_shift = 0;
    attr.retries = 255;
    lossy_channel(l, 0, 1, 11, 22, &attr);
    l->node[1].answer = withhold;
    for (unsigned k = 0; k < 40; k++) {
        g_assert_cmpint(lossy_send(&l->node[0], 11, 64, k, true, true, k), ==,
                        UB_SENT);
    }
    lossy_run(l, l->now + 10 * MS);
    ub_tp_query(l->node[1].tp, 22, NULL, &i);
    g_assert_cmpuint(i.withheld, ==, 16);
    g_assert_cmpuint(l->node[1].got->len, ==, 16);
    for (unsigned k = 0; k < 40; k++) {
        g_assert_true(ub_tp_answer(l->node[1].tp, 22, k,
                                   (UbTpAnswer) { UB_TP_DONE }, l->now));
        lossy_run(l, l->now + 3 * MS);
    }
    g_assert_cmpuint(l->node[1].got->len, ==, 40);
    g_assert_cmpuint(l->node[0].acked->len, ==, 40);
    for (unsigned k = 0; k < 40; k++) {
        g_assert_cmpint(lossy_acked(&l->node[0], k)->answer.status, ==,
                        UB_TP_DONE);
    }
    lossy_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/hostile/storm", test_storm);
    g_test_add_func("/tp/hostile/bystander", test_bystander);
    g_test_add_func("/tp/hostile/results", test_results_bound);
    return g_test_run();
}
