/*
 * Channels: commands, states, in-band set-up, what they cost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lossy.h"

enum { US = 1000, MS = 1000000 };

static Lossy *plain(UbTpConfig *cfg, unsigned nodes)
{
    ub_tp_config_init(cfg);
    return lossy_new(cfg, nodes);
}

static UbTpState state(LossyNode *n, uint32_t tpn)
{
    UbTpInfo i;

    g_assert_cmpint(ub_tp_query(n->tp, tpn, NULL, &i), ==, UB_TPR_OK);
    return i.state;
}

static void test_attr(void)
{
    UbTpConfig cfg;
    Lossy *l = plain(&cfg, 1);
    UbTp *tp = l->node[0].tp;
    uint32_t tpn = UB_TP_NONE;
    UbTpAttr good, a;

    ub_tp_attr_init(tp, &good);
    good.dst_tpn = 1;
    g_assert_cmpint(ub_tp_create(tp, &tpn, &good), ==, UB_TPR_OK);
#define REFUSED(change) do { \
        a = good; \
        change; \
        tpn = UB_TP_NONE; \
        g_assert_cmpint(ub_tp_create(tp, &tpn, &a), ==, UB_TPR_BAD_ATTR); \
    } while (0)
#define TAKEN(change) do { \
        a = good; \
        change; \
        tpn = UB_TP_NONE; \
        g_assert_cmpint(ub_tp_create(tp, &tpn, &a), ==, UB_TPR_OK); \
    } while (0)
    REFUSED(a.flow.cfg = UB_LPH_CNA16);
    REFUSED(a.flow.cfg = UB_LPH_BYPASS);
    TAKEN(a.flow.cfg = UB_LPH_IPV4);
    TAKEN(a.flow.cfg = UB_LPH_IPV6);
    REFUSED(a.dst_tpn = 0x1000000);
    REFUSED(a.tx_psn = 0x1000000);
    REFUSED(a.rx_psn = 0x1000000);
    REFUSED(a.mtu = 2048);
    REFUSED(a.mtu = 0);
    TAKEN(a.mtu = 1024);
    TAKEN(a.mtu = 8192);
    REFUSED(a.selective = true);
    REFUSED(a.fast = false);
    TAKEN(a.fast = false; a.ooo = true);
    TAKEN(a.selective = a.ooo = true);
    REFUSED(a.mark = true; a.ooo = true);
    REFUSED(a.mark = a.selective = a.ooo = true; a.fast = false);
    TAKEN(a.mark = a.selective = a.ooo = true);
    REFUSED(a.spray = true);
    TAKEN(a.spray = a.ooo = true);
    REFUSED(a.ooo_window = 64);
    REFUSED(a.ooo_window = 1000);
    REFUSED(a.ooo_window = 4096);
    TAKEN(a.ooo_window = 128);
    TAKEN(a.ooo_window = 2048);
    REFUSED(a.rto_code = 4);
    REFUSED(a.rto_base_us = 3);
    TAKEN(a.rto_base_us = 4);
    TAKEN(a.rto_base_us = 2097152);
    REFUSED(a.rto_base_us = 2097153);
    REFUSED(a.rto_shift = 33);
    REFUSED(a.tx_window = 0);
    REFUSED(a.tx_window = 32769);
    TAKEN(a.tx_window = 1);
    TAKEN(a.tx_window = 32768);
    REFUSED(a.ask = UB_TP_ASKS);
    REFUSED(a.ack_every = 0);
    REFUSED(a.sack_every = 0);
    REFUSED(a.sack_bits = 63);
    REFUSED(a.sack_bits = 1025);
    REFUSED(a.cc = UB_CC_USER);
    REFUSED(a.cc = UB_CC_KINDS);
    TAKEN(a.cc = UB_CC_CAQM);
    REFUSED(a.cw_unit = 0);
    lossy_free(l);
}

static void test_commands(void)
{
    UbTpConfig cfg;
    Lossy *l;
    UbTp *tp;
    uint32_t tpn = 5, any[3];
    UbTpAttr a, b;

    ub_tp_config_init(&cfg);
    cfg.max_channels = 4;
    l = lossy_new(&cfg, 1);
    tp = l->node[0].tp;
    ub_tp_attr_init(tp, &a);
    g_assert_cmpint(ub_tp_create(tp, &tpn, &a), ==, UB_TPR_OK);
    g_assert_cmpuint(tpn, ==, 5);
    g_assert_cmpint(ub_tp_create(tp, &tpn, &a), ==, UB_TPR_IN_USE);
    tpn = 5 + (1 << 12);                        /* the same place */
    g_assert_cmpint(ub_tp_create(tp, &tpn, &a), ==, UB_TPR_IN_USE);
    g_assert_cmpint(ub_tp_query(tp, tpn, NULL, NULL), ==, UB_TPR_NO_CHANNEL);
    ub_tp_ahead(tp, 5, true);
    ub_tp_ahead(tp, tpn, false);
    ub_tp_ahead(tp, 6, false);                  /* nobody's */
    ub_tp_ahead(tp, UB_TP_NONE, false);
    tpn = 0;
    g_assert_cmpint(ub_tp_create(tp, &tpn, &a), ==, UB_TPR_BAD_ATTR);
    tpn = 0x1000000;
    g_assert_cmpint(ub_tp_create(tp, &tpn, &a), ==, UB_TPR_BAD_ATTR);
    for (int i = 0; i < 3; i++) {
        any[i] = UB_TP_NONE;
        g_assert_cmpint(ub_tp_create(tp, &any[i], &a), ==, UB_TPR_OK);
        g_assert_true(any[i] && any[i] != 5 && (!i || any[i] != any[i - 1]));
    }
    tpn = UB_TP_NONE;
    g_assert_cmpint(ub_tp_create(tp, &tpn, &a), ==, UB_TPR_FULL);
    g_assert_cmpint(ub_tp_destroy(tp, any[0], l->now), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_destroy(tp, any[0], l->now), ==,
                    UB_TPR_NO_CHANNEL);
    g_assert_cmpint(ub_tp_create(tp, &tpn, &a), ==, UB_TPR_OK);
    g_assert_cmpuint(tpn, !=, any[0]);          /* not used again so soon */

    g_assert_cmpint(ub_tp_activate(tp, 99), ==, UB_TPR_NO_CHANNEL);
    g_assert_cmpint(ub_tp_deactivate(tp, 99), ==, UB_TPR_NO_CHANNEL);
    g_assert_cmpint(ub_tp_connect(tp, 99, l->now), ==, UB_TPR_NO_CHANNEL);
    g_assert_cmpint(ub_tp_modify(tp, 99, &a, 0), ==, UB_TPR_NO_CHANNEL);
    g_assert_cmpint(ub_tp_query(tp, 99, &a, NULL), ==, UB_TPR_NO_CHANNEL);
    g_assert_cmpint(ub_tp_query(tp, UB_TP_NONE, &a, NULL), ==,
                    UB_TPR_NO_CHANNEL);

    g_assert_cmpint(state(&l->node[0], 5), ==, UB_TP_RESET);
    g_assert_cmpint(lossy_send(&l->node[0], 5, 8, 1, true, false, 1), ==,
                    UB_LOST);
    b = a;
    b.dst_tpn = 77;
    b.tx_psn = 1234;
    b.mtu = 8192;
    b.selective = b.ooo = true;
    b.ooo_window = 2048;
    b.rto_base_us = 555;
    b.tx_window = 17;
    b.ack_every = 9;
    b.cc = UB_CC_LDCP;
    b.flow.sl = 6;
    for (unsigned mask = 0; mask <= UB_TPA_ALL; mask = 2 * mask + 1) {
        UbTpInfo i;

        g_assert_cmpint(ub_tp_modify(tp, 5, &b, mask), ==, UB_TPR_OK);
        ub_tp_query(tp, 5, &a, &i);
        g_assert_cmpint(a.flow.sl == 6, ==, !!(mask & UB_TPA_FLOW));
        g_assert_cmpint(a.dst_tpn == 77 && a.tx_psn == 1234 && a.mtu == 8192,
                        ==, !!(mask & UB_TPA_PEER));
        g_assert_cmpint(i.next == 1234, ==, !!(mask & UB_TPA_PEER));
        g_assert_cmpint(a.selective && a.ooo_window == 2048, ==,
                        !!(mask & UB_TPA_LOSS));
        g_assert_cmpint(a.rto_base_us == 555, ==, !!(mask & UB_TPA_RTO));
        g_assert_cmpint(a.tx_window == 17, ==, !!(mask & UB_TPA_WINDOW));
        g_assert_cmpint(a.ack_every == 9, ==, !!(mask & UB_TPA_ACK));
        g_assert_cmpint(a.cc == UB_CC_LDCP, ==, !!(mask & UB_TPA_CC));
    }
    b.mark = b.fast = true;
    g_assert_cmpint(ub_tp_modify(tp, 5, &b, UB_TPA_LOSS), ==, UB_TPR_OK);
    ub_tp_query(tp, 5, &a, NULL);
    g_assert_true(a.mark && a.fast && a.ooo);
    g_assert_cmpint(ub_tp_modify(tp, 5, &b, 0x80), ==, UB_TPR_BAD_ATTR);
    b.tx_window = 0;
    g_assert_cmpint(ub_tp_modify(tp, 5, &b, UB_TPA_WINDOW), ==,
                    UB_TPR_BAD_ATTR);
    g_assert_cmpint(ub_tp_activate(tp, 5), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_activate(tp, 5), ==, UB_TPR_BAD_STATE);
    g_assert_cmpint(ub_tp_connect(tp, 5, l->now), ==, UB_TPR_BAD_STATE);
    b.tx_window = 40;
    g_assert_cmpint(ub_tp_modify(tp, 5, &b, UB_TPA_WINDOW | UB_TPA_RTO |
                                 UB_TPA_FLOW | UB_TPA_ACK), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_modify(tp, 5, &b, UB_TPA_PEER), ==,
                    UB_TPR_BAD_STATE);
    g_assert_cmpint(ub_tp_modify(tp, 5, &b, UB_TPA_LOSS), ==,
                    UB_TPR_BAD_STATE);
    g_assert_cmpint(ub_tp_modify(tp, 5, &b, UB_TPA_CC), ==,
                    UB_TPR_BAD_STATE);
    g_assert_cmpint(ub_tp_deactivate(tp, 5), ==, UB_TPR_OK);
    g_assert_cmpint(state(&l->node[0], 5), ==, UB_TP_RESET);
    lossy_free(l);
}

/* What is under way comes back flushed, once for each operation. */
static void test_flush(void)
{
    for (unsigned how = 0; how < 3; how++) {
        UbTpConfig cfg;
        Lossy *l = plain(&cfg, 2);
        LossyNode *a = &l->node[0];
        UbTpAttr attr;

        ub_tp_attr_init(a->tp, &attr);
        lossy_channel(l, 0, 1, 1, 2, &attr);
        lossy_send(a, 1, 50, 1, true, false, 100);
        lossy_send(a, 1, 50, 2, true, true, 101);
        lossy_send(a, 1, 50, 3, false, false, 102);
        lossy_send(a, 1, 50, 4, false, false, 102);
        if (how == 0) {
            g_assert_cmpint(ub_tp_destroy(a->tp, 1, l->now), ==, UB_TPR_OK);
        } else if (how == 1) {
            g_assert_cmpint(ub_tp_deactivate(a->tp, 1), ==, UB_TPR_OK);
        } else {
            ub_tp_reset(a->tp);
        }
        g_assert_cmpuint(a->acked->len, ==, how == 2 ? 0 : 3);
        g_assert_cmpuint(a->ends, ==, how < 2);
        g_assert_cmpuint(a->ended_tpn, ==, how < 2);
        for (guint i = 0; i < a->acked->len; i++) {
            g_assert_cmpuint(lossy_acked(a, i)->cookie, ==, 100 + i);
            g_assert_cmpint(lossy_acked(a, i)->answer.status, ==,
                            UB_TP_FLUSHED);
        }
        g_assert_cmpuint(ub_tp_counters(a->tp)->drop_flushed, ==, 4);
        g_assert_cmpint(lossy_send(a, 1, 50, 4, true, false, 102), ==,
                        UB_LOST);
        g_assert_cmpuint(ub_tp_counters(a->tp)->drop_lost, ==, how == 1);
        g_assert_cmpuint(ub_tp_counters(a->tp)->drop_no_channel, ==, how != 1);
        lossy_run(l, l->now + 100 * MS);
        g_assert_cmpuint(a->errors->len, ==, 0);
        lossy_free(l);
    }
}

/* ---- set up in band ---- */

static uint32_t ask(Lossy *l, UbLphCfg cfg, const UbTpAttr *attr)
{
    uint32_t tpn = UB_TP_NONE;
    UbTpAttr a = *attr;

    a.flow = lossy_flow(0, 1, cfg);
    a.dst_tpn = 0;
    g_assert_cmpint(ub_tp_create(l->node[0].tp, &tpn, &a), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_connect(l->node[0].tp, tpn, l->now), ==, UB_TPR_OK);
    g_assert_cmpint(state(&l->node[0], tpn), ==, UB_TP_INIT);
    return tpn;
}

static void talk(Lossy *l, uint32_t ta, uint32_t tb)
{
    for (unsigned i = 0; i < 20; i++) {
        lossy_send(&l->node[0], ta, 100, i, true, false, i);
        lossy_send(&l->node[1], tb, 100, i, true, false, i);
    }
    lossy_run(l, l->now + 500 * MS);
    g_assert_cmpuint(l->node[0].got->len, ==, 20);
    g_assert_cmpuint(l->node[1].got->len, ==, 20);
    g_assert_cmpuint(l->node[0].acked->len, ==, 20);
}

static void test_setup(void)
{
    static const UbLphCfg cfgs[] = { UB_LPH_CNA24, UB_LPH_IPV4, UB_LPH_IPV6 };

    for (unsigned i = 0; i < G_N_ELEMENTS(cfgs); i++) {
        UbTpConfig cfg;
        Lossy *l = plain(&cfg, 2);
        UbTpAttr attr, less, a, b;
        uint32_t ta, tb;

        ub_tp_attr_init(l->node[0].tp, &attr);
        attr.selective = attr.ooo = attr.mark = true;
        attr.ooo_window = 128;
        attr.mtu = 8192;
        attr.sack_bits = 256;
        attr.cc = UB_CC_LDCP;
        attr.cw_unit = 64;
        less = attr;
        less.mtu = 1024;
        less.cc = UB_CC_NONE;
        l->node[1].accept_attr = &less;
        ta = ask(l, cfgs[i], &attr);
        lossy_run(l, l->now + 50 * US);
        g_assert_cmpint(l->node[0].connected, ==, UB_TPR_OK);
        g_assert_cmpuint(l->node[0].connected_tpn, ==, ta);
        g_assert_cmpuint(l->node[0].connects, ==, 1);
        g_assert_cmpuint(l->node[1].connects, ==, 1);
        g_assert_cmpuint(l->node[1].accepts, ==, 1);
        tb = l->node[1].connected_tpn;
        g_assert_cmpint(state(&l->node[0], ta), ==, UB_TP_ACTIVE);
        g_assert_cmpint(state(&l->node[1], tb), ==, UB_TP_ACTIVE);
        ub_tp_query(l->node[0].tp, ta, &a, NULL);
        ub_tp_query(l->node[1].tp, tb, &b, NULL);
        g_assert_cmpuint(a.dst_tpn, ==, tb);
        g_assert_cmpuint(b.dst_tpn, ==, ta);
        g_assert_cmpuint(a.tx_psn, ==, b.rx_psn);
        g_assert_cmpuint(b.tx_psn, ==, a.rx_psn);
        g_assert_cmpuint(a.mtu, ==, 1024);
        g_assert_cmpuint(b.mtu, ==, 1024);
        g_assert_cmpuint(a.cc, ==, UB_CC_NONE);
        g_assert_cmpuint(b.cc, ==, UB_CC_NONE);
        g_assert_true(b.selective && b.fast && b.mark && b.ooo);
        g_assert_cmpuint(b.ooo_window, ==, 128);
        g_assert_cmpuint(b.sack_bits, ==, 256);
        g_assert_cmpuint(b.cw_unit, ==, 64);
        g_assert_cmpuint(a.tx_window, ==, 128);
        g_assert_cmpuint(b.tx_window, ==, 128);
        talk(l, ta, tb);
        /* The end of one is the end of both. */
        lossy_send(&l->node[1], tb, 8, 0, false, false, 55);
        g_assert_cmpint(ub_tp_destroy(l->node[0].tp, ta, l->now), ==,
                        UB_TPR_OK);
        lossy_run(l, l->now + 50 * US);
        g_assert_cmpint(l->node[1].connected, ==, UB_TPR_REFUSED);
        g_assert_cmpuint(l->node[1].ends, ==, 1);
        g_assert_cmpuint(l->node[1].ended_tpn, ==, tb);
        g_assert_cmpint(lossy_acked(&l->node[1], 20)->answer.status, ==,
                        UB_TP_FLUSHED);
        g_assert_cmpint(ub_tp_destroy(l->node[1].tp, tb, l->now), ==,
                        UB_TPR_NO_CHANNEL);
        lossy_free(l);
    }
}

static void test_setup_refused(void)
{
    UbTpConfig cfg;
    Lossy *l = plain(&cfg, 2);
    uint32_t ta, tb;
    UbTpAttr attr;

    ub_tp_attr_init(l->node[0].tp, &attr);
    l->node[1].refuse = true;
    ta = ask(l, UB_LPH_CNA24, &attr);
    lossy_run(l, l->now + 50 * US);
    g_assert_cmpint(l->node[0].connected, ==, UB_TPR_REFUSED);
    g_assert_cmpint(state(&l->node[0], ta), ==, UB_TP_RESET);
    g_assert_cmpuint(l->node[1].connects, ==, 0);
    /* It may ask again. */
    l->node[1].refuse = false;
    g_assert_cmpint(ub_tp_connect(l->node[0].tp, ta, l->now), ==, UB_TPR_OK);
    lossy_run(l, l->now + 50 * US);
    g_assert_cmpint(l->node[0].connected, ==, UB_TPR_OK);
    tb = l->node[1].connected_tpn;
    talk(l, ta, tb);
    lossy_free(l);
}

/* Nobody there: so many tries, so long. */
static void test_setup_timeout(void)
{
    UbTpConfig cfg;
    Lossy *l;
    UbTpAttr attr;
    uint32_t ta;

    ub_tp_config_init(&cfg);
    cfg.setup_us = 1000;
    cfg.setup_tries = 3;
    l = lossy_new(&cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    l->lose_ppm = 1000000;
    ta = ask(l, UB_LPH_CNA24, &attr);
    lossy_run(l, l->now + 4 * MS);
    g_assert_cmpuint(l->node[0].connects, ==, 0);
    lossy_run(l, l->now + 2 * US);
    g_assert_cmpuint(l->node[0].connects, ==, 1);
    g_assert_cmpint(l->node[0].connected, ==, UB_TPR_TIMEOUT);
    g_assert_cmpint(state(&l->node[0], ta), ==, UB_TP_RESET);
    g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->setup_tx, ==, 4);
    lossy_free(l);
}

static unsigned channels(UbTp *tp);

/* Over a bad network it comes to an agreement all the same, and to one. */
static void test_setup_lossy(void)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        UbTpConfig cfg;
        Lossy *l;
        UbTpAttr attr;
        uint32_t ta;

        ub_tp_config_init(&cfg);
        cfg.setup_us = 200;
        cfg.setup_tries = 100;
        l = lossy_new(&cfg, 2);
        ub_tp_attr_init(l->node[0].tp, &attr);
        attr.rto_base_us = 1000;
        l->rng = seed;
        l->lose_ppm = 400000;
        l->double_ppm = 300000;
        l->jitter = 300 * US;
        ta = ask(l, seed % 2 ? UB_LPH_CNA24 : UB_LPH_IPV4, &attr);
        lossy_run(l, l->now + 60 * MS);
        g_assert_cmpint(l->node[0].connected, ==, UB_TPR_OK);
        g_assert_cmpuint(l->node[0].connects, ==, 1);
        g_assert_cmpuint(l->node[1].connects, ==, 1);
        g_assert_cmpuint(channels(l->node[1].tp), ==, 1);
        l->lose_ppm = 0;
        talk(l, ta, l->node[1].connected_tpn);
        lossy_free(l);
    }
}

static void count_one(void *opaque, uint32_t tpn)
{
    ++*(unsigned *)opaque;
}

static unsigned channels(UbTp *tp)
{
    unsigned n = 0;

    ub_tp_foreach(tp, count_one, &n);
    return n;
}

/* Who asks and vanishes leaves nothing behind; who comes back under the same
 * number has a new channel, and the old one ends. */
static void test_setup_vanish(void)
{
    UbTpConfig cfg;
    Lossy *l;
    UbTpAttr attr;
    uint32_t tb;

    ub_tp_config_init(&cfg);
    cfg.setup_us = 1000;
    cfg.setup_tries = 3;
    l = lossy_new(&cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    ask(l, UB_LPH_CNA24, &attr);
    lossy_renew(l, 0, &cfg);
    lossy_run(l, l->now + 500 * US);
    g_assert_cmpuint(channels(l->node[1].tp), ==, 1);
    lossy_run(l, l->now + 20 * MS);
    g_assert_cmpuint(channels(l->node[1].tp), ==, 0);
    g_assert_cmpuint(l->node[1].connects, ==, 0);

    ask(l, UB_LPH_CNA24, &attr);
    lossy_run(l, l->now + 500 * US);
    tb = l->node[1].connected_tpn;
    g_assert_cmpint(state(&l->node[1], tb), ==, UB_TP_ACTIVE);
    cfg.seed += 100;
    lossy_renew(l, 0, &cfg);
    g_assert_cmpuint(l->node[1].ends, ==, 0);
    ask(l, UB_LPH_CNA24, &attr);
    lossy_run(l, l->now + 500 * US);
    g_assert_cmpuint(l->node[1].ends, ==, 1);
    g_assert_cmpuint(l->node[1].ended_tpn, ==, tb);
    g_assert_cmpint(ub_tp_query(l->node[1].tp, tb, NULL, NULL), ==,
                    UB_TPR_NO_CHANNEL);
    g_assert_cmpuint(l->node[1].connects, ==, 3);
    g_assert_cmpint(state(&l->node[1], l->node[1].connected_tpn), ==,
                    UB_TP_ACTIVE);
    lossy_free(l);
}

/* Why it was refused comes across. */
static void test_setup_full(void)
{
    UbTpConfig cfg;
    Lossy *l = plain(&cfg, 2);
    UbTpAttr attr;

    cfg.max_channels = 1;
    lossy_renew(l, 1, &cfg);
    ub_tp_attr_init(l->node[0].tp, &attr);
    ask(l, UB_LPH_CNA24, &attr);
    lossy_run(l, l->now + 50 * US);
    g_assert_cmpint(l->node[0].connected, ==, UB_TPR_OK);
    ask(l, UB_LPH_CNA24, &attr);
    lossy_run(l, l->now + 50 * US);
    g_assert_cmpint(l->node[0].connected, ==, UB_TPR_FULL);
    lossy_free(l);
}

/* A node asks @to for a channel: what it hears. */
static UbTpResult asked(Lossy *l, unsigned from, unsigned to)
{
    uint32_t tpn = UB_TP_NONE;
    UbTpAttr attr;

    ub_tp_attr_init(l->node[from].tp, &attr);
    attr.flow = lossy_flow(from, to, UB_LPH_CNA24);
    attr.dst_tpn = 0;
    g_assert_cmpint(ub_tp_create(l->node[from].tp, &tpn, &attr), ==, UB_TPR_OK);
    ub_tp_connect(l->node[from].tp, tpn, l->now);
    lossy_run(l, l->now + 50 * US);
    return l->node[from].connected;
}

/* Nobody who asks keeps others out, nor the software here; what is given back
 * may be asked for again. */
static void test_setup_share(void)
{
    UbTpConfig cfg;
    Lossy *l = plain(&cfg, 4);
    uint32_t tpn, last = 0;
    UbTpAttr attr;

    cfg.max_channels = 16;
    lossy_renew(l, 1, &cfg);
    for (unsigned i = 0; i < 7; i++) {
        g_assert_cmpint(asked(l, 0, 1), ==, UB_TPR_OK);
        last = l->node[0].connected_tpn;
    }
    g_assert_cmpint(asked(l, 0, 1), ==, UB_TPR_FULL);
    for (unsigned i = 0; i < 7; i++) {
        g_assert_cmpint(asked(l, 2, 1), ==, UB_TPR_OK);
    }
    g_assert_cmpint(asked(l, 2, 1), ==, UB_TPR_FULL);
    g_assert_cmpint(asked(l, 3, 1), ==, UB_TPR_FULL);   /* who has none, too */
    ub_tp_attr_init(l->node[1].tp, &attr);
    attr.flow = lossy_flow(1, 2, UB_LPH_CNA24);
    for (unsigned i = 0; i < 2; i++) {
        tpn = UB_TP_NONE;
        g_assert_cmpint(ub_tp_create(l->node[1].tp, &tpn, &attr), ==,
                        UB_TPR_OK);
    }
    ub_tp_destroy(l->node[1].tp, tpn, l->now);
    ub_tp_destroy(l->node[0].tp, last, l->now);
    lossy_run(l, l->now + 50 * US);
    g_assert_cmpint(asked(l, 2, 1), ==, UB_TPR_FULL);
    g_assert_cmpint(asked(l, 0, 1), ==, UB_TPR_OK);
    g_assert_cmpint(asked(l, 0, 1), ==, UB_TPR_FULL);
    /* What is taken back here is nobody's who asked. */
    ub_tp_deactivate(l->node[1].tp, l->node[1].connected_tpn);
    g_assert_cmpint(asked(l, 0, 1), ==, UB_TPR_OK);
    lossy_free(l);
}

/* A channel that a peer had asked for goes when it is given up: the peer is away,
 * and nobody here knows that there was one. */
static void test_setup_given_up(void)
{
    UbTpConfig cfg;
    Lossy *l = plain(&cfg, 2);
    uint32_t tb;

    g_assert_cmpint(asked(l, 0, 1), ==, UB_TPR_OK);
    tb = l->node[1].connected_tpn;
    l->lose_ppm = 1000000;
    lossy_send(&l->node[1], tb, 100, 0, true, false, 0);
    for (unsigned i = 0; !l->node[1].errors->len; i++) {
        lossy_run(l, l->now + 1000 * MS);
        g_assert_cmpuint(i, <, 1000);
    }
    g_assert_cmpuint(channels(l->node[1].tp), ==, 0);
    g_assert_cmpuint(l->node[1].ends, ==, 1);
    g_assert_cmpuint(l->node[1].ended_tpn, ==, tb);
    l->lose_ppm = 0;
    g_assert_cmpint(asked(l, 0, 1), ==, UB_TPR_OK);
    g_assert_cmpuint(channels(l->node[1].tp), ==, 1);
    lossy_free(l);
}

/* Peers that use the same numbers are told apart by where they are. */
static void test_setup_peers(void)
{
    static const UbLphCfg cfgs[] = { UB_LPH_CNA24, UB_LPH_IPV4 };

    for (unsigned i = 0; i < G_N_ELEMENTS(cfgs); i++) {
        UbTpConfig cfg;
        Lossy *l = plain(&cfg, 4);
        UbTpAttr attr, a;

        ub_tp_attr_init(l->node[0].tp, &attr);
        for (unsigned n = 0; n < 4; n++) {
            uint32_t tpn = 5;

            if (n == 1) {
                continue;
            }
            attr.flow = lossy_flow(n, 1, cfgs[i]);
            g_assert_cmpint(ub_tp_create(l->node[n].tp, &tpn, &attr), ==,
                            UB_TPR_OK);
            g_assert_cmpint(ub_tp_connect(l->node[n].tp, 5, l->now), ==,
                            UB_TPR_OK);
            lossy_run(l, l->now + 50 * US);
            g_assert_cmpint(state(&l->node[n], 5), ==, UB_TP_ACTIVE);
            ub_tp_query(l->node[1].tp, l->node[1].connected_tpn, &a, NULL);
            if (cfgs[i] == UB_LPH_IPV4) {
                g_assert_cmpuint(a.flow.ip.dst[3], ==, n + 1);
            } else {
                g_assert_cmpuint(a.flow.dcna, ==, n + 1);
            }
        }
        g_assert_cmpuint(channels(l->node[1].tp), ==, 3);
        for (unsigned n = 0; n < 4; n++) {
            if (n != 1) {
                lossy_send(&l->node[n], 5, 50, n, true, false, n);
            }
        }
        lossy_run(l, l->now + 50 * US);
        g_assert_cmpuint(l->node[1].got->len, ==, 3);
        lossy_free(l);
    }
}

/* ---- configuration ---- */

static void test_defaults(void)
{
    UbTpConfig c;
    Lossy *l = plain(&c, 1);
    UbTpAttr a, b;

    g_assert_cmpuint(c.attr.mtu, ==, 4096);
    g_assert_true(!c.attr.selective && c.attr.fast && !c.attr.mark &&
                  !c.attr.ooo && !c.attr.spray && c.attr.rto_dynamic);
    g_assert_cmpuint(c.attr.ooo_window, ==, 1024);
    g_assert_cmpuint(c.attr.rto_code, ==, 2);
    g_assert_cmpuint(c.attr.rto_base_us, ==, 16384);
    g_assert_cmpuint(c.attr.rto_shift, ==, 2);
    g_assert_cmpuint(c.attr.retries, ==, 6);
    g_assert_cmpuint(c.attr.tx_window, ==, 512);
    g_assert_cmpuint(c.attr.ack_every, ==, 64);
    g_assert_cmpuint(c.attr.sack_every, ==, 1);
    g_assert_cmpuint(c.attr.sack_bits, ==, 1024);
    g_assert_cmpuint(c.attr.cw_unit, ==, 1);
    g_assert_cmpuint(c.max_channels, ==, 65536);
    g_assert_cmpuint(c.max_groups, ==, 4096);
    g_assert_cmpuint(c.seed, ==, 1);
    g_assert_cmpuint(c.rto_static_us[0], ==, 512);
    g_assert_cmpuint(c.rto_static_us[1], ==, 16000);
    g_assert_cmpuint(c.rto_static_us[2], ==, 128000);
    g_assert_cmpuint(c.rto_static_us[3], ==, 4000000);
    g_assert_cmpuint(c.ack_delay_us, ==, 0);
    g_assert_cmpuint(c.fake_us, ==, 50000);
    g_assert_cmpuint(c.cnp_us, ==, 50);
    g_assert_cmpuint(c.setup_us, ==, 100000);
    g_assert_cmpuint(c.setup_tries, ==, 10);
    g_assert_cmpuint(c.setup_nlp, ==, 15);
    g_assert_cmpuint(c.hold_bytes, ==, 64 << 20);
    g_assert_cmpuint(c.unsent, ==, 8);
    g_assert_cmpuint(c.results, ==, 1024);
    g_assert_true(c.msn_check && !c.cc_on && c.ctp_throttle && !c.ctp_spray);
    g_assert_cmpuint(c.ctp_flows, ==, 1024);
    g_assert_cmpuint(c.cc_param.cw_init, ==, 256 << 10);
    g_assert_cmpuint(c.cc_param.cw_min, ==, 4096);
    g_assert_cmpuint(c.cc_param.cw_max, ==, 16 << 20);
    g_assert_cmpuint(c.cc_param.ldcp_add, ==, 8192);
    g_assert_cmpuint(c.cc_param.ldcp_cut, ==, 512);
    g_assert_cmpuint(c.cc_param.rate_max, ==, UINT64_C(50000000000));
    g_assert_cmpuint(c.cc_param.rate_min, ==, 1000000);
    g_assert_cmpuint(c.cc_param.dcqcn_g, ==, 64);
    g_assert_cmpuint(c.cc_param.dcqcn_alpha_us, ==, 55);
    g_assert_cmpuint(c.cc_param.dcqcn_rate_us, ==, 300);
    g_assert_cmpuint(c.cc_param.dcqcn_ai, ==, 5000000);
    g_assert_cmpuint(c.cc_param.dcqcn_hai, ==, 50000000);
    g_assert_cmpuint(c.cc_param.dcqcn_fast, ==, 5);
    g_assert_cmpuint(c.cc_param.caqm_unit, ==, 64);
    g_assert_cmpuint(c.cc_param.caqm_want, ==, 16);
    g_assert_cmpuint(c.cc_param.caqm_cut, ==, 4096);
    for (int i = 0; i < UB_TPC_NUM; i++) {
        g_assert_cmpuint(c.clock[i].scale, ==, 1);
        g_assert_cmpint(c.clock[i].floor_ns, ==, 1000);
    }
    /* Initial PSNs are of each direction, and of each channel. */
    ub_tp_attr_init(l->node[0].tp, &a);
    ub_tp_attr_init(l->node[0].tp, &b);
    g_assert_true(a.tx_psn != a.rx_psn && a.tx_psn != b.tx_psn &&
                  a.rx_psn != b.rx_psn && a.flow.lbf != b.flow.lbf);
    lossy_free(l);
    /* Of IP, ephemeral ports. */
    c.attr.flow.cfg = UB_LPH_IPV4;
    l = lossy_new(&c, 2);
    for (unsigned i = 0; i < 32; i++) {
        ub_tp_attr_init(l->node[0].tp, &a);
        g_assert_cmphex(a.flow.lbf & 0xc000, ==, 0xc000);
    }
    lossy_free(l);
}

static void no_rx_acked(void *o, uint32_t t, uint64_t c, UbTpAnswer a)
{
}

static UbTpAnswer no_rx(void *o, const UbTpRx *rx, CorePacket *pkt)
{
    return (UbTpAnswer) { UB_TP_ACK };
}

static void no_error(void *o, uint32_t t, UbTpError e)
{
}

static void no_room(void *o, uint32_t t)
{
}

static UbSend no_send(void *o, int64_t now, const UbFlow *f, CorePacket *p)
{
    return UB_BUSY;
}

static void test_config(void)
{
    static const UbTpUpper up = { .rx = no_rx, .acked = no_rx_acked,
                                  .error = no_error, .room = no_room };
    static const UbTpLower down = { .send = no_send };
    static const UbCc empty = { .name = "empty" };
    UbTpConfig good, c;

    ub_tp_config_init(&good);
    g_assert_nonnull(ub_tp_config_fault(&good));
    g_assert_null(ub_tp_new(&good));
    good.upper = &up;
    g_assert_nonnull(ub_tp_config_fault(&good));
    good.lower = &down;
    g_assert_null(ub_tp_config_fault(&good));
#define BAD(change) do { \
        c = good; \
        change; \
        g_assert_nonnull(ub_tp_config_fault(&c)); \
    } while (0)
#define FINE(change) do { \
        c = good; \
        change; \
        g_assert_null(ub_tp_config_fault(&c)); \
    } while (0)
    BAD(c.clock[UB_TPC_SETUP].scale = 0);
    FINE(c.clock[UB_TPC_SETUP].scale = 1000000);
    BAD(c.clock[UB_TPC_SETUP].scale = 1000001);
    BAD(c.clock[UB_TPC_RTO].floor_ns = 0);
    FINE(c.clock[UB_TPC_RTO].floor_ns = 1);
    FINE(c.clock[UB_TPC_RTO].floor_ns = INT64_C(3600) * 1000000000);
    BAD(c.clock[UB_TPC_RTO].floor_ns = INT64_C(3600) * 1000000000 + 1);
    BAD(c.cc[UB_CC_USER] = &empty);
    BAD(c.cc[UB_CC_LDCP] = good.cc[UB_CC_CAQM]);
    FINE(c.cc[UB_CC_USER] = good.cc[UB_CC_CAQM]);
    FINE(c.cc[UB_CC_LDCP] = NULL);
    BAD(c.max_channels = 0);
    BAD(c.max_channels = (1 << 20) + 1);
    FINE(c.max_channels = 1 << 20);
    BAD(c.max_groups = (1 << 20) + 1);
    FINE(c.max_groups = 0);
    BAD(c.results = 8);
    BAD(c.results = 1000);
    BAD(c.results = 65536);
    FINE(c.results = 16);
    FINE(c.results = 32768);
    BAD(c.setup_nlp = 3);
    BAD(c.setup_nlp = 16);
    FINE(c.setup_nlp = 4);
    BAD(c.cc_param.cw_min = 0);
    BAD(c.cc_param.cw_min = c.cc_param.cw_max + 1);
    FINE(c.cc_param.cw_min = c.cc_param.cw_max);
    BAD(c.cc_param.rate_min = 0);
    BAD(c.cc_param.rate_min = c.cc_param.rate_max + 1);
    FINE(c.cc_param.rate_min = c.cc_param.rate_max);
    FINE(c.cc_param.ldcp_cut = 1024);
    BAD(c.cc_param.ldcp_cut = 1025);
    FINE(c.cc_param.dcqcn_g = 1024);
    BAD(c.cc_param.dcqcn_g = 1025);
    BAD(c.cc_param.dcqcn_alpha_us = 0);
    BAD(c.cc_param.dcqcn_rate_us = 0);
    BAD(c.cc_param.rate_max = (UINT64_C(1) << 56) + 1);
}

/* ---- counters ---- */

static void test_counters(void)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    UbTpConfig cfg;
    Lossy *l = plain(&cfg, 2);
    const char *name;
    uint64_t value;
    UbTpAttr attr;
    UbTpInfo info;

    ub_tp_attr_init(l->node[0].tp, &attr);
    lossy_channel(l, 0, 1, 1, 1, &attr);
    lossy_send(&l->node[0], 1, 16, 1, true, false, 1);
    for (unsigned i = 0; (name = ub_tp_counter(l->node[0].tp, i, &value));
         i++) {
        g_assert_true(g_hash_table_add(seen, (void *)name));
        g_assert_cmpuint(value, ==, !strcmp(name, "tx-rtp"));
    }
    ub_tp_query(l->node[0].tp, 1, NULL, &info);
    g_assert_cmpuint(info.cw, ==, 0);
    g_assert_cmpuint(info.rate, ==, 0);
    g_assert_cmpuint(info.in_flight, ==, 1);
    g_assert_cmpuint(info.in_flight_bytes, ==, 32);
    g_assert_cmpuint(info.tx_msn, ==, 1);
    g_assert_cmpuint(info.group, ==, UB_TP_NONE);
    attr.mtu = 8192;
    ub_tp_deactivate(l->node[0].tp, 1);
    ub_tp_modify(l->node[0].tp, 1, &attr, UB_TPA_PEER);
    g_assert_cmpuint(ub_tp_mtu(l->node[0].tp,
                               &(UbTpDest) { .mode = UB_TP_RTP, .tpn = 1 }),
                     ==, 8192);
    g_assert_cmpuint(ub_tp_mtu(l->node[0].tp,
                               &(UbTpDest) { .mode = UB_TP_CTP, .tpn = 1 }),
                     ==, 4096);
    g_assert_cmpuint(g_hash_table_size(seen) * sizeof(uint64_t), ==,
                     sizeof(UbTpCounters));
    lossy_free(l);
}

/* ---- many ---- */

static void test_many(void)
{
    enum { MANY = 10000 };
    UbTpConfig cfg;
    Lossy *l = plain(&cfg, 2);
    UbTpAttr attr;

    ub_tp_attr_init(l->node[0].tp, &attr);
    for (uint32_t t = 1; t <= MANY; t++) {
        lossy_channel(l, 0, 1, t, t, &attr);
    }
    for (uint32_t t = 1; t <= MANY; t++) {
        g_assert_cmpint(lossy_send(&l->node[0], t, 16, t, true, false, t), ==,
                        UB_SENT);
    }
    lossy_run(l, l->now + 100 * MS);
    g_assert_cmpuint(l->node[1].got->len, ==, MANY);
    g_assert_cmpuint(l->node[0].acked->len, ==, MANY);
    /* Nothing is to be done for those that are idle. */
    g_assert_cmpint(ub_tp_run(l->node[0].tp, l->now, 1), ==, INT64_MAX);
    g_assert_cmpint(ub_tp_run(l->node[1].tp, l->now, 1), ==, INT64_MAX);
    lossy_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/chan/attr", test_attr);
    g_test_add_func("/tp/chan/commands", test_commands);
    g_test_add_func("/tp/chan/flush", test_flush);
    g_test_add_func("/tp/chan/setup", test_setup);
    g_test_add_func("/tp/chan/setup-refused", test_setup_refused);
    g_test_add_func("/tp/chan/setup-timeout", test_setup_timeout);
    g_test_add_func("/tp/chan/setup-lossy", test_setup_lossy);
    g_test_add_func("/tp/chan/setup-vanish", test_setup_vanish);
    g_test_add_func("/tp/chan/setup-full", test_setup_full);
    g_test_add_func("/tp/chan/setup-share", test_setup_share);
    g_test_add_func("/tp/chan/setup-given-up", test_setup_given_up);
    g_test_add_func("/tp/chan/setup-peers", test_setup_peers);
    g_test_add_func("/tp/chan/defaults", test_defaults);
    g_test_add_func("/tp/chan/config", test_config);
    g_test_add_func("/tp/chan/counters", test_counters);
    g_test_add_func("/tp/chan/many", test_many);
    return g_test_run();
}
