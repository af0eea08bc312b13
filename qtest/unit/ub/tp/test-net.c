/*
 * The transport over the network layer itself: two nodes, a link that loses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "ub/tp.h"

enum { US = 1000, OPS = 300 };

typedef struct End {
    UbNet *net;
    UbTp *tp;
    struct End *peer;
    GQueue wire;                /* on the way here */
    unsigned sent, got, acked, plain;
    unsigned lose;              /* each so many-th packet */
} End;

static int64_t now;

static bool port_room(void *opaque, unsigned port, unsigned vl)
{
    return true;
}

static bool port_send(void *opaque, unsigned port, CorePacket *pkt)
{
    End *e = opaque;
    CorePacket *copy;

    if (++e->sent % e->lose == 0) {
        core_packet_free(pkt);
        return true;
    }
    /* As a link does: the bytes go, and what the LPH says. */
    copy = core_packet_alloc(pkt->pool, pkt->len);
    memcpy(core_packet_data(copy), core_packet_data(pkt), pkt->len);
    *ub_meta(copy) = *ub_meta(pkt);
    core_packet_free(pkt);
    g_queue_push_tail(&e->peer->wire, copy);
    return true;
}

static void port_kick(void *opaque)
{
}

static const UbNetOps ports = { .room = port_room, .send = port_send,
                                .kick = port_kick };

static UbSend down_send(void *opaque, int64_t t, const UbFlow *flow,
                        CorePacket *pkt)
{
    return ub_net_send(((End *)opaque)->net, t, flow, pkt);
}

static const UbTpLower lower = { .send = down_send };

static void net_rx(void *opaque, int64_t t, CorePacket *pkt,
                   const UbFlow *flow)
{
    ub_tp_rx(((End *)opaque)->tp, flow, pkt, t);
}

static void net_room(void *opaque, int64_t t, unsigned port, unsigned vl)
{
    ub_tp_space(((End *)opaque)->tp, t);
}

static const UbNetUpper net_upper = { .rx = net_rx, .room = net_room };

static UbTpAnswer up_rx(void *opaque, const UbTpRx *rx, CorePacket *pkt)
{
    End *e = opaque;
    uint8_t *p = core_packet_data(pkt);

    if (rx->mode != UB_TP_RTP) {
        e->plain++;
    } else {
        g_assert_cmpuint(get_be32(p), ==, e->got);
        g_assert_cmpuint(pkt->len, ==, 100 + e->got % 7);
        for (uint32_t i = 4; i < pkt->len; i++) {
            g_assert_cmphex(p[i], ==, (e->got + i) & 0xff);
        }
        e->got++;
    }
    core_packet_free(pkt);
    return (UbTpAnswer) { UB_TP_ACK };
}

static void up_acked(void *opaque, uint32_t tpn, uint64_t cookie,
                     UbTpAnswer answer)
{
    g_assert_cmpuint(cookie, ==, ((End *)opaque)->acked++);
}

static void up_error(void *opaque, uint32_t tpn, UbTpError error)
{
    g_assert_not_reached();
}

static void up_room(void *opaque, uint32_t tpn)
{
}

static const UbTpUpper upper = { .rx = up_rx, .acked = up_acked,
                                 .error = up_error, .room = up_room };

static const uint8_t ips[2][16] = { { 10, 0, 0, 1 }, { 10, 0, 0, 2 } };

static void end_init(End *e, unsigned n, unsigned lose)
{
    UbNetConfig nc;
    UbTpConfig tc;

    ub_net_config_init(&nc);
    e->net = ub_net_new(&nc, &ports, e);
    g_assert_nonnull(e->net);
    ub_net_set_primary(e->net, n + 1);
    ub_net_route_default(e->net, 1);
    for (unsigned cfg = UB_LPH_IPV4; cfg <= UB_LPH_IPV6; cfg++) {
        uint8_t any[16] = { 0 };

        g_assert_true(ub_net_ip_add(e->net, cfg, ips[n]));
        g_assert_true(ub_net_ip_route(e->net, cfg, any, 0, 1));
    }
    ub_net_port_state(e->net, now, 0, 1);
    ub_tp_config_init(&tc);
    tc.upper = &upper;
    tc.lower = &lower;
    tc.upper_opaque = tc.lower_opaque = e;
    e->tp = ub_tp_new(&tc);
    ub_net_set_upper(e->net, UB_NET_TP, &net_upper, e);
    ub_net_set_upper(e->net, UB_NET_TA, &net_upper, e);
    e->lose = lose;
}

static void turn(End *e)
{
    CorePacket *pkt;

    now += 10 * US;
    for (unsigned n = 0; n < 2; n++) {
        while ((pkt = g_queue_pop_head(&e[n].wire))) {
            ub_net_rx(e[n].net, now, 0, pkt);
        }
        ub_tp_run(e[n].tp, now, 100);
        ub_net_run(e[n].net, now, 100);
    }
}

static UbFlow way(unsigned n, UbLphCfg cfg)
{
    UbFlow f;

    ub_flow_init(&f, cfg);
    f.dcna = 2 - n;
    if (ub_lph_is_ip(cfg)) {
        memcpy(f.ip.src, ips[n], 16);
        memcpy(f.ip.dst, ips[!n], 16);
    }
    return f;
}

static void over(UbLphCfg cfg, bool selective, unsigned lose)
{
    CorePacketPool *pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    UbTpDest dest = { .mode = UB_TP_RTP, .tpn = 7 };
    End e[2] = { 0 };
    unsigned begun = 0;

    now = 1000000;
    for (unsigned n = 0; n < 2; n++) {
        e[n].peer = &e[!n];
        end_init(&e[n], n, lose);
    }
    for (unsigned n = 0; n < 2; n++) {
        uint32_t tpn = 7 + n;
        UbTpAttr a;

        ub_tp_attr_init(e[n].tp, &a);
        a.flow = way(n, cfg);
        a.flow.nlp = UB_NLP_RTPH;
        a.dst_tpn = 8 - n;
        a.tx_psn = a.rx_psn = 0xffff80;
        a.selective = a.ooo = selective;
        a.tx_window = 20;
        a.rto_base_us = 1000;
        a.rto_shift = 0;
        g_assert_cmpint(ub_tp_create(e[n].tp, &tpn, &a), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tp_activate(e[n].tp, tpn), ==, UB_TPR_OK);
    }
    for (unsigned turns = 0; e[0].acked < OPS; turns++) {
        g_assert_cmpuint(turns, <, 100000);
        while (begun < OPS) {
            CorePacket *pkt = core_packet_alloc(pool, 100 + begun % 7);
            UbTpTx tx = { .nlp = UB_TPH_UPI32, .last = true,
                          .cookie = begun };
            uint8_t *p = core_packet_data(pkt);
            UbSend sent;

            put_be32(p, begun);
            for (uint32_t i = 4; i < pkt->len; i++) {
                p[i] = begun + i;
            }
            sent = ub_tp_send(e[0].tp, &dest, pkt, &tx, now);
            if (sent == UB_BUSY) {
                core_packet_free(pkt);
                break;
            }
            g_assert_cmpint(sent, ==, UB_SENT);
            begun++;
        }
        turn(e);
    }
    g_assert_cmpuint(e[1].got, ==, OPS);
    g_assert_cmpint(ub_tp_counters(e[0].tp)->tx_resent > 0, ==,
                    lose < 1000);
    /* What has no channel goes the same way. */
    for (unsigned n = 0; n < 2; n++) {
        e[n].lose = 1000000;
    }
    dest.mode = cfg == UB_LPH_CNA24 ? UB_TP_CTP : UB_TP_UTP;
    dest.flow = way(0, cfg);
    for (unsigned i = 0; i < 3; i++) {
        UbTpTx tx = { .nlp = UB_TPH_UPI32, .last = true };
        CorePacket *pkt = core_packet_alloc(pool, 64);

        memset(core_packet_data(pkt), i, 64);
        if (i == 2) {
            dest.mode = UB_TP_BYPASS;
            dest.flow = way(0, UB_LPH_BYPASS);
        }
        g_assert_cmpint(ub_tp_send(e[0].tp, &dest, pkt, &tx, now), ==,
                        UB_SENT);
    }
    turn(e);
    turn(e);
    g_assert_cmpuint(e[1].plain, ==, 3);
    for (unsigned n = 0; n < 2; n++) {
        CorePacket *pkt;

        while ((pkt = g_queue_pop_head(&e[n].wire))) {
            core_packet_free(pkt);
        }
        ub_tp_free(e[n].tp);
        ub_net_free(e[n].net);
    }
    g_assert_cmpuint(core_packet_pool_used(pool), ==, 0);
    core_packet_pool_free(pool);
}

static void test_over(void)
{
    static const UbLphCfg cfgs[] = { UB_LPH_CNA24, UB_LPH_IPV4, UB_LPH_IPV6 };

    for (unsigned i = 0; i < G_N_ELEMENTS(cfgs); i++) {
        over(cfgs[i], false, 1000000);
        over(cfgs[i], false, 17);
        over(cfgs[i], true, 17);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/net/over", test_over);
    return g_test_run();
}
