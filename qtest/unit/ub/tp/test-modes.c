/*
 * CTP, UTP and TP Bypass: at most once, their headers, what throttles CTP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/bytes.h"
#include "lossy.h"

enum { US = 1000 };

static UbSend send_plain(LossyNode *n, UbTpMode mode, UbFlow flow,
                         uint32_t len, uint64_t tag, uint8_t nlp)
{
    UbTpDest dest = { .mode = mode, .flow = flow };
    UbTpTx tx = { .nlp = nlp, .last = true };
    CorePacket *pkt = lossy_packet(n->net, len, tag);
    UbSend sent = ub_tp_send(n->tp, &dest, pkt, &tx, n->net->now);

    if (sent == UB_BUSY) {
        /* As it was. */
        g_assert_cmpuint(pkt->len, ==, len);
        g_assert_true(lossy_intact(pkt, tag));
        core_packet_free(pkt);
    }
    return sent;
}

static const struct {
    UbTpMode mode;
    UbLphCfg cfg;
    uint8_t nlp;
} ways[] = {
    { UB_TP_CTP, UB_LPH_CNA16, UB_TPH_UPI16 },
    { UB_TP_CTP, UB_LPH_CNA24, UB_TPH_UPI32 },
    { UB_TP_CTP, UB_LPH_CNA24, UB_TPH_CIP },
    { UB_TP_UTP, UB_LPH_IPV4, UB_TPH_UPI32 },
    { UB_TP_UTP, UB_LPH_IPV6, UB_TPH_TAH },
    { UB_TP_BYPASS, UB_LPH_BYPASS, UB_TPH_TAH },
};

/* Lengths of every padding come as they went, with way and NLP. */
static void test_carry(void)
{
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    for (unsigned w = 0; w < G_N_ELEMENTS(ways); w++) {
        UbFlow f = lossy_flow(0, 1, ways[w].cfg);

        g_array_set_size(l->node[1].got, 0);
        f.sl = 3;
        for (uint32_t len = 8; len < 20; len++) {
            g_assert_cmpint(send_plain(&l->node[0], ways[w].mode, f, len, len,
                                       ways[w].nlp), ==, UB_SENT);
        }
        lossy_run(l, l->now + 20 * US);
        g_assert_cmpuint(l->node[1].got->len, ==, 12);
        for (uint32_t i = 0; i < 12; i++) {
            LossyGot *g = lossy_got(&l->node[1], i);
            UbTpDest back;

            g_assert_cmpint(g->rx.mode, ==, ways[w].mode);
            g_assert_cmpuint(g->rx.nlp, ==, ways[w].nlp);
            g_assert_true(g->rx.last);
            g_assert_cmpuint(g->rx.tpn, ==, UB_TP_NONE);
            g_assert_cmpuint(g->len, ==, 8 + i);
            g_assert_cmpuint(g->tag, ==, 8 + i);
            g_assert_cmpuint(g->flow.sl, ==, 3);
            g->rx.flow = &g->flow;
            ub_tp_reply(&g->rx, &back);
            g_assert_cmpint(back.mode, ==, ways[w].mode);
            g_assert_cmpuint(back.flow.dcna, ==, 1);
        }
        g_assert_cmpuint(ub_tp_counters(l->node[0].tp)
                             ->tx_packets[ways[w].mode], >=, 12);
    }
    lossy_free(l);
}

/* What the wire sees. */
static void test_bytes(void)
{
    static const uint8_t ctp[] = { 0x12, 1, 2, 0 }, utp[] = {
        0x80, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0,
    };
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA16);
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    lossy_inject(l, 1, &f, ctp, 4);
    g_assert_cmpuint(lossy_got(&l->node[1], 0)->len, ==, 2);
    g_assert_cmpuint(lossy_got(&l->node[1], 0)->rx.nlp, ==, UB_TPH_UPI16);
    f = lossy_flow(0, 1, UB_LPH_IPV4);
    lossy_inject(l, 1, &f, utp, 20);
    g_assert_cmpuint(lossy_got(&l->node[1], 1)->len, ==, 3);
    g_assert_cmpuint(lossy_got(&l->node[1], 1)->rx.nlp, ==, UB_TPH_UPI32);
    /* Less than the padding that it says. */
    lossy_inject(l, 1, &f, utp, 16);
    g_assert_cmpuint(ub_tp_counters(l->node[1].tp)->drop_short, ==, 1);
    g_assert_cmpuint(l->node[1].got->len, ==, 2);
    lossy_free(l);
}

/* A message of nothing is one. */
static void test_empty(void)
{
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    for (unsigned w = 0; w < G_N_ELEMENTS(ways); w++) {
        g_assert_cmpint(send_plain(&l->node[0], ways[w].mode,
                                   lossy_flow(0, 1, ways[w].cfg), 0, 0,
                                   ways[w].nlp), ==, UB_SENT);
        lossy_run(l, l->now + 20 * US);
        g_assert_cmpuint(l->node[1].got->len, ==, w + 1);
        g_assert_cmpuint(lossy_got(&l->node[1], w)->len, ==, 0);
    }
    lossy_free(l);
}

static void test_wrong(void)
{
    static const UbLphCfg cfgs[] = { UB_LPH_IPV4, UB_LPH_IPV6, UB_LPH_CNA16,
                                     UB_LPH_CNA24, UB_LPH_BYPASS };
    static const uint8_t bits[UB_TP_MODES] = { 0, 0xc, 3, 0x10 };
    const UbTpCounters *c;
    UbTpConfig cfg;
    uint8_t b[4] = { 0x80 };
    UbFlow f;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    for (unsigned mode = UB_TP_CTP; mode < UB_TP_MODES; mode++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(cfgs); i++) {
            g_assert_cmpint(send_plain(&l->node[0], mode,
                                       lossy_flow(0, 1, cfgs[i]), 8, 1, 0),
                            ==, bits[mode] >> i & 1 ? UB_SENT : UB_LOST);
        }
    }
    g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->drop_mode, ==, 10);
    lossy_run(l, l->now + 20 * US);
    g_assert_cmpuint(l->node[1].got->len, ==, 5);

    c = ub_tp_counters(l->node[1].tp);
    f = lossy_flow(0, 1, UB_LPH_CNA16);
    lossy_inject(l, 1, &f, b, 0);
    g_assert_cmpuint(c->drop_short, ==, 1);
    lossy_inject(l, 1, &f, b, 4);
    g_assert_cmpuint(c->drop_opcode, ==, 1);
    b[0] = 0x30;
    lossy_inject(l, 1, &f, b, 3);       /* three bytes of padding, and two */
    g_assert_cmpuint(c->drop_short, ==, 2);
    b[0] = 0x70;
    lossy_inject(l, 1, &f, b, 4);
    g_assert_cmpuint(c->drop_short, ==, 3);
    f.nlp = 1;
    lossy_inject(l, 1, &f, b, 4);
    g_assert_cmpuint(c->drop_mode, ==, 1);
    g_assert_cmpuint(l->node[1].got->len, ==, 5);
    lossy_free(l);
}

/* No room for a header, or for the padding: lost, and counted. */
static void test_no_room(void)
{
    UbTpConfig cfg;
    uint32_t tpn = 3;
    UbTpAttr attr;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    lossy_channel(l, 0, 1, tpn, tpn, &attr);
    for (unsigned mode = 0; mode < UB_TP_BYPASS; mode++) {
        for (unsigned behind = 0; behind < 2; behind++) {
            UbTpDest dest = {
                .mode = mode, .tpn = tpn,
                .flow = lossy_flow(0, 1, mode == UB_TP_UTP ? UB_LPH_IPV4
                                                           : UB_LPH_CNA24),
            };
            UbTpTx tx = { .nlp = 1, .last = true };
            CorePacket *pkt = core_packet_alloc(l->pool, 50 - behind);

            if (behind) {
                while (core_packet_put(pkt, 4)) {
                }
                core_packet_put(pkt, pkt->size - pkt->off - pkt->len);
                if (ub_tp_pad(pkt->len + (mode == UB_TP_CTP)) == 0) {
                    core_packet_pull(pkt, 2);
                }
            } else {
                while (core_packet_push(pkt, 1)) {
                }
            }
            g_assert_cmpint(ub_tp_send(l->node[0].tp, &dest, pkt, &tx, l->now),
                            ==, UB_LOST);
        }
    }
    g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->drop_room, ==, 6);
    g_assert_cmpuint(l->sent, ==, 0);
    /* The channel is as it was. */
    g_assert_true(ub_tp_ready(l->node[0].tp, tpn));
    lossy_free(l);
}

/* Each packet comes at most once, in any network that does not double. */
static void test_at_most_once(void)
{
    for (unsigned w = 0; w < G_N_ELEMENTS(ways); w++) {
        UbTpConfig cfg;
        uint64_t seen[64] = { 0 };
        unsigned taken = 0;
        Lossy *l;

        ub_tp_config_init(&cfg);
        l = lossy_new(&cfg, 2);
        l->lose_ppm = 100000;
        l->jitter = 50 * US;
        for (unsigned i = 0; i < 4000; i++) {
            taken += send_plain(&l->node[0], ways[w].mode,
                                lossy_flow(0, 1, ways[w].cfg), 8 + i % 60, i,
                                ways[w].nlp) == UB_SENT;
        }
        lossy_run(l, l->now + 1000 * US);
        g_assert_cmpuint(taken, ==, 4000);
        g_assert_cmpuint(l->node[1].got->len, ==, l->sent - l->lost);
        for (guint i = 0; i < l->node[1].got->len; i++) {
            uint64_t tag = lossy_got(&l->node[1], i)->tag;

            g_assert_cmpuint(tag, <, 4000);
            g_assert_false(seen[tag / 64] >> tag % 64 & 1);
            seen[tag / 64] |= UINT64_C(1) << tag % 64;
        }
        lossy_free(l);
    }
}

static void test_busy(void)
{
    for (unsigned w = 0; w < G_N_ELEMENTS(ways); w++) {
        UbFlow f = lossy_flow(0, 1, ways[w].cfg);
        UbTpConfig cfg;
        Lossy *l;

        ub_tp_config_init(&cfg);
        l = lossy_new(&cfg, 2);
        l->node[0].down = true;
        g_assert_cmpint(send_plain(&l->node[0], ways[w].mode, f, 9, 1,
                                   ways[w].nlp), ==, UB_BUSY);
        lossy_run(l, l->now + 20 * US);
        g_assert_cmpuint(l->node[0].rooms, ==, 0);
        l->node[0].down = false;
        ub_tp_space(l->node[0].tp, l->now);
        lossy_run(l, l->now + 20 * US);
        g_assert_cmpuint(l->node[0].rooms, ==, 1);
        ub_tp_space(l->node[0].tp, l->now);
        lossy_run(l, l->now + 20 * US);
        g_assert_cmpuint(l->node[0].rooms, ==, 1);
        lossy_free(l);
    }
}

/* LBF by packet, or as the flow says. */
static void test_spray(void)
{
    for (unsigned spray = 0; spray < 2; spray++) {
        UbFlow f = lossy_flow(0, 1, UB_LPH_CNA16);
        UbTpConfig cfg;
        Lossy *l;

        ub_tp_config_init(&cfg);
        cfg.ctp_spray = spray;
        l = lossy_new(&cfg, 2);
        f.lbf = 0x33;
        for (unsigned i = 0; i < 300; i++) {
            send_plain(&l->node[0], UB_TP_CTP, f, 8, i, UB_TPH_UPI16);
        }
        lossy_run(l, l->now + 20 * US);
        for (unsigned i = 0; i < 300; i++) {
            g_assert_cmpuint(lossy_got(&l->node[1], i)->flow.lbf, ==,
                             spray ? (i + 1) & 0xff : 0x33);
        }
        lossy_free(l);
    }
}

/* A mark makes a CNP, the CNP throttles that destination and service level and
 * no other, time restores it. */
static void test_throttle(void)
{
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA16), other;
    unsigned taken = 0;
    UbTpConfig cfg;
    int64_t at;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.cc_param.rate_max = 100000000;
    cfg.cc_param.dcqcn_ai = cfg.cc_param.dcqcn_hai = 10000000;
    cfg.cnp_us = 100;
    l = lossy_new(&cfg, 2);
    f.sl = 2;
    l->cci = ub_cci_fecn(true, UB_FECN_HEAVY);
    for (unsigned i = 0; i < 3; i++) {
        send_plain(&l->node[0], UB_TP_CTP, f, 1000, i, UB_TPH_UPI16);
    }
    lossy_run(l, l->now + 50 * US);
    g_assert_cmpuint(ub_tp_counters(l->node[1].tp)->tx_cnp, ==, 1);
    g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->rx_cnp, ==, 1);
    l->cci = 0;
    at = l->now;
    /* Half of 100 MB/s: about 50 packets of a kilobyte in a millisecond. */
    while (l->now < at + 250 * US) {
        while (send_plain(&l->node[0], UB_TP_CTP, f, 1000, 9, UB_TPH_UPI16) ==
               UB_SENT) {
            taken++;
            g_assert_cmpuint(taken, <, 1000);
        }
        lossy_run(l, l->now + US);
    }
    g_assert_cmpuint(taken, >=, 10);
    g_assert_cmpuint(taken, <=, 16);
    g_assert_cmpuint(l->node[0].rooms, >=, 10);
    other = f;
    other.sl = 1;
    for (unsigned i = 0; i < 100; i++) {
        g_assert_cmpint(send_plain(&l->node[0], UB_TP_CTP, other, 1000, 9,
                                   UB_TPH_UPI16), ==, UB_SENT);
    }
    lossy_run(l, l->now + 20000 * US);
    for (unsigned i = 0; i < 100; i++) {
        g_assert_cmpint(send_plain(&l->node[0], UB_TP_CTP, f, 1000, 9,
                                   UB_TPH_UPI16), ==, UB_SENT);
    }
    lossy_run(l, l->now + 50 * US);
    /* Marks are sent and looked at only when congestion control is on. */
    g_assert_cmphex(lossy_got(&l->node[1], l->node[1].got->len - 1)->flow.cci,
                    ==, 0x8002);
    ub_tp_cc_enable(l->node[0].tp, false);
    ub_tp_cc_enable(l->node[1].tp, false);
    l->cci = 0;
    send_plain(&l->node[0], UB_TP_CTP, f, 1000, 9, UB_TPH_UPI16);
    lossy_run(l, l->now + 50 * US);
    g_assert_cmphex(lossy_got(&l->node[1], l->node[1].got->len - 1)->flow.cci,
                    ==, 0);
    l->cci = 0x8003;
    send_plain(&l->node[0], UB_TP_CTP, f, 1000, 9, UB_TPH_UPI16);
    lossy_run(l, l->now + 50 * US);
    g_assert_cmpuint(ub_tp_counters(l->node[1].tp)->tx_cnp, ==, 1);
    lossy_free(l);
}

/* Not more destinations are kept than may be; the others are not throttled. */
static void test_flows_bound(void)
{
    static const uint8_t cnp[20] = { 0x70, 0xc0 };
    unsigned throttled = 0;
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.ctp_flows = 3;
    cfg.cc_param.rate_max = 1000000;
    l = lossy_new(&cfg, 2);
    for (unsigned sl = 0; sl < 6; sl++) {
        UbFlow f = lossy_flow(1, 0, UB_LPH_CNA16);

        f.sl = sl;
        lossy_inject(l, 0, &f, cnp, sizeof(cnp));
    }
    for (unsigned sl = 0; sl < 6; sl++) {
        UbFlow f = lossy_flow(0, 1, UB_LPH_CNA16);

        f.sl = sl;
        send_plain(&l->node[0], UB_TP_CTP, f, 1000, sl, UB_TPH_UPI16);
        throttled += send_plain(&l->node[0], UB_TP_CTP, f, 1000, sl,
                                UB_TPH_UPI16) == UB_BUSY;
    }
    g_assert_cmpuint(throttled, ==, 3);
    lossy_free(l);
}

/* One that has recovered makes room for another. */
static void test_flows_again(void)
{
    static const uint8_t cnp[20] = { 0x70, 0xc0 };
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    cfg.cc_on = true;
    cfg.ctp_flows = 1;
    cfg.cc_param.rate_max = 100000000;
    cfg.cc_param.dcqcn_ai = cfg.cc_param.dcqcn_hai = 10000000;
    l = lossy_new(&cfg, 2);
    for (unsigned sl = 0; sl < 6; sl++) {
        UbFlow f = lossy_flow(1, 0, UB_LPH_CNA16), to = lossy_flow(0, 1, UB_LPH_CNA16);

        f.sl = to.sl = sl;
        lossy_inject(l, 0, &f, cnp, sizeof(cnp));
        send_plain(&l->node[0], UB_TP_CTP, to, 1000, sl, UB_TPH_UPI16);
        g_assert_cmpint(send_plain(&l->node[0], UB_TP_CTP, to, 1000, sl, UB_TPH_UPI16),
                        ==, UB_BUSY);
        lossy_run(l, l->now + 20000 * US);
    }
    lossy_free(l);
}

/* CNP over CTP: opcode 1, padding 3, severity and place; the Timestamp of
 * FECN_RTT comes back in its CCI. */
static UbFlow cnp_flow;
static uint8_t cnp_bytes[64];
static uint32_t cnp_len;

static UbSend cnp_see(void *opaque, int64_t now, const UbFlow *flow,
                      CorePacket *pkt)
{
    cnp_flow = *flow;
    cnp_len = pkt->len;
    memcpy(cnp_bytes, core_packet_data(pkt), MIN(pkt->len, 64));
    core_packet_free(pkt);
    return UB_SENT;
}

static UbTpAnswer drop_rx(void *opaque, const UbTpRx *rx, CorePacket *pkt)
{
    core_packet_free(pkt);
    return (UbTpAnswer) { UB_TP_ACK };
}

static void no_acked(void *o, uint32_t tpn, uint64_t cookie, UbTpAnswer a)
{
}

static void no_error(void *o, uint32_t tpn, UbTpError e)
{
}

static void no_room(void *o, uint32_t tpn)
{
}

static void test_cnp(void)
{
    static const struct {
        uint16_t cci;
        int ecn_loc;            /* -1: none */
        uint16_t back;
    } all[] = {
        { 0x8000, -1, 0 }, { 0x8002, -1, 0 }, { 0x8001, 0x40, 0 },
        { 0x8003, 0xc0, 0 }, { 0x9003, 0xe0, 0 }, { 0x0003, -1, 0 },
        { 0x4557, 0xc0, 0x4554 }, { 0x4555, 0x40, 0x4554 },
        { 0x4556, -1, 0 }, { 0x6003, -1, 0 },
    };
    static const UbTpUpper up = { .rx = drop_rx, .acked = no_acked,
                                  .error = no_error, .room = no_room };
    static const UbTpLower down = { .send = cnp_see };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        CorePacketPool *pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
        CorePacket *pkt = core_packet_alloc(pool, 8);
        UbFlow f = lossy_flow(6, 1, UB_LPH_CNA16);
        UbTpConfig cfg;
        UbTp *tp;

        ub_tp_config_init(&cfg);
        cfg.cc_on = true;
        cfg.upper = &up;
        cfg.lower = &down;
        tp = ub_tp_new(&cfg);
        memset(core_packet_data(pkt), 0, 8);
        f.cci = all[i].cci;
        f.sl = 5;
        cnp_len = 0;
        ub_tp_rx(tp, &f, pkt, 1000000);
        if (all[i].ecn_loc < 0) {
            g_assert_cmpuint(cnp_len, ==, 0);
        } else {
            g_assert_cmpuint(cnp_len, ==, 20);
            g_assert_cmphex(cnp_bytes[0], ==, 0x70);
            g_assert_cmphex(cnp_bytes[1], ==, all[i].ecn_loc);
            for (unsigned k = 2; k < 20; k++) {
                g_assert_cmphex(cnp_bytes[k], ==, 0);
            }
            g_assert_cmpuint(cnp_flow.dcna, ==, 7);
            g_assert_cmpuint(cnp_flow.scna, ==, 2);
            g_assert_cmpuint(cnp_flow.sl, ==, 5);
            g_assert_cmphex(cnp_flow.cci, ==, all[i].back);
        }
        ub_tp_free(tp);
        core_packet_pool_free(pool);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/modes/carry", test_carry);
    g_test_add_func("/tp/modes/bytes", test_bytes);
    g_test_add_func("/tp/modes/empty", test_empty);
    g_test_add_func("/tp/modes/wrong", test_wrong);
    g_test_add_func("/tp/modes/no-room", test_no_room);
    g_test_add_func("/tp/modes/at-most-once", test_at_most_once);
    g_test_add_func("/tp/modes/busy", test_busy);
    g_test_add_func("/tp/modes/spray", test_spray);
    g_test_add_func("/tp/modes/throttle", test_throttle);
    g_test_add_func("/tp/modes/flows", test_flows_bound);
    g_test_add_func("/tp/modes/flows-again", test_flows_again);
    g_test_add_func("/tp/modes/cnp", test_cnp);
    return g_test_run();
}
