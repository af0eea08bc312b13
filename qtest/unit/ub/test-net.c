/*
 * The network layer: what goes down, what comes up, and what is lost why.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "net-node.h"

#define TPACK "0200ABCDEF1234560000000A00000007"

static NetBed *plain_bed(void)
{
    UbNetConfig conf;

    ub_net_config_init(&conf);
    return bed_new(&conf);
}

static void send_hex(NetBed *b, const UbFlow *f, const char *hex)
{
    g_assert_cmpint(ub_net_send(b->net, b->now, f, bed_hex(b, 0, hex)), ==,
                    UB_SENT);
}

static void sent_is(NetBed *b, unsigned cfg, const char *hex)
{
    CorePacket *pkt = bed_sent(b, 0);

    g_assert_nonnull(pkt);
    g_assert_cmpuint(ub_meta(pkt)->lph_cfg, ==, cfg);
    expect_hex(pkt, hex);
    core_packet_free(pkt);
}

/* ---- Down --------------------------------------------------------------------- */

static void test_send_known(void)
{
    NetBed *b = controller(1);
    UbFlow f;

    f = flow_cna(UB_LPH_CNA24, UB_NLP_RTPH, 0, 2);
    ub_net_set_primary(b->net, 2);
    f.scna = 2;
    f.dcna = 1;
    f.cci = 0x8002;
    f.lbf = 0x11;
    f.sl = 2;
    f.rt = UB_RT_FLOW_SHORTEST;
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_hex(b, 0, TPACK)), ==,
                    UB_SENT);
    g_assert_cmpuint(ub_meta(g_queue_peek_head(&b->sent[0]))->rt, ==, 2);
    sent_is(b, 7, "00000200000180021122" TPACK "FB2A595F");

    ub_net_set_primary(b->net, 0);
    f = flow_cna(UB_LPH_CNA16, UB_NLP_SCAN, 0, 0);
    f.mgmt = true;
    f.port = 0;
    send_hex(b, &f, "7FFF0000 00100000");
    sent_is(b, 6, "0000000000000009 7FFF0000 00100000 A9A21D76");

    f = flow_cna(UB_LPH_BYPASS, 0, 3, 4);
    send_hex(b, &f, "01020304");
    sent_is(b, 9, "0003000400000000 01020304");

    f = flow_ip(UB_LPH_IPV4);
    f.cci = 0x8002;
    send_hex(b, &f, TPACK);
    sent_is(b, 3, "8002 00000001"
            "4500003000004000401126BB0A0000020A000001 C00012B8001C0000" TPACK
            "A63BAF81");
    f = flow_ip(UB_LPH_IPV6);
    send_hex(b, &f, TPACK);
    sent_is(b, 4, "0000 00000001"
            "60000000001C1140 00000000000000000000000000000002"
            "00000000000000000000000000000001 C00012B8001C0000" TPACK
            "CB179780");
    g_assert_cmpuint(bed_count(b, UB_NET_TX_PACKETS), ==, 5);
    g_assert_cmpuint(bed_count(b, UB_NET_TX_BYTES), ==,
                     30 + 20 + 12 + 54 + 74);
    bed_free(b);
}

static void test_icrc_switch(void)
{
    NetBed *b = controller(1);
    UbNetConfig conf = *ub_net_config(b->net);
    UbFlow f = flow_cna(UB_LPH_CNA16, UB_NLP_CTPH, 1, 2);
    NetGot *g;

    conf.icrc = false;
    g_assert_null(ub_net_configure(b->net, &conf));
    send_hex(b, &f, "02030405");
    sent_is(b, 6, "0001000200000000 02030405");
    f = flow_ip(UB_LPH_IPV4);
    send_hex(b, &f, TPACK);
    sent_is(b, 3, "0000 00000001"
            "4500002C00004000401126BF0A0000020A000001 C00012B800180000" TPACK);
    ub_net_rx(b->net, 0, 0, bed_hex(b, 6, "0002000100000000 0203040506"));
    g = bed_got(b);
    expect_hex(g->pkt, "0203040506");
    got_free(g);
    /* Scans have a switch of their own. */
    f = flow_cna(UB_LPH_CNA16, UB_NLP_SCAN, 1, 2);
    send_hex(b, &f, "0203040506");
    g_assert_cmpuint(((CorePacket *)g_queue_peek_head(&b->sent[0]))->len, ==,
                     8 + 5 + 4);
    core_packet_free(bed_sent(b, 0));
    conf.icrc = true;
    conf.icrc_scan = false;
    g_assert_null(ub_net_configure(b->net, &conf));
    send_hex(b, &f, "0203040506");
    g_assert_cmpuint(((CorePacket *)g_queue_peek_head(&b->sent[0]))->len, ==,
                     8 + 5);
    core_packet_free(bed_sent(b, 0));
    ub_net_rx(b->net, 0, 0, bed_hex(b, 6, "0002000100000001 0203040506"));
    g = bed_got(b);
    expect_hex(g->pkt, "0203040506");
    got_free(g);
    bed_free(b);
}

/* SCNA: what the flow says, else the port's, else the Primary CNA. */
static void test_source(void)
{
    NetBed *b = controller(2);
    UbFlow f = flow_cna(UB_LPH_CNA24, UB_NLP_CTPH, 0, 0x20);
    CorePacket *pkt;

    ub_net_set_port_cna(b->net, 1, 0x010101);
    for (f.port = 0; f.port < 2; f.port++) {
        g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                        UB_SENT);
        pkt = bed_sent(b, f.port);
        g_assert_cmphex(get_be24(core_packet_data(pkt)), ==,
                        f.port ? 0x010101 : 0x010001);
        core_packet_free(pkt);
    }
    f.scna = 0x010101;
    f.port = 0;
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                    UB_SENT);
    pkt = bed_sent(b, 0);
    g_assert_cmphex(get_be24(core_packet_data(pkt)), ==, 0x010101);
    core_packet_free(pkt);
    /* A foreign one is not sent. */
    f.scna = 0x010102;
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                    UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SPOOF), ==, 1);
    f = flow_ip(UB_LPH_IPV4);
    put_be32(f.ip.src, 0x0a000003);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                    UB_LOST);
    put_be32(f.ip.src, 0x0a000002);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                    UB_SENT);
    core_packet_free(bed_sent(b, 0) ?: bed_sent(b, 1));
    {
        uint8_t ip[16] = { 0 };
        unsigned cfg = 0;

        g_assert_true(ub_net_ip_at(b->net, 0, &cfg, ip));
        g_assert_cmpuint(cfg, ==, UB_LPH_IPV4);
        g_assert_cmpmem(ip, 4, f.ip.src, 4);
        g_assert_false(ub_net_ip_at(b->net, 2, &cfg, ip));
    }
    /* Without any address there is none to be had. */
    g_assert_true(ub_net_ip_remove(b->net, UB_LPH_IPV4, f.ip.src));
    g_assert_false(ub_net_ip_remove(b->net, UB_LPH_IPV4, f.ip.src));
    memset(f.ip.src, 0, 4);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                    UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SPOOF), ==, 3);
    /* Switched off, all may be. */
    b->conf.anti_spoof = false;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    f = flow_cna(UB_LPH_CNA24, UB_NLP_CTPH, 0x777, 0x20);
    f.port = 0;
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                    UB_SENT);
    core_packet_free(bed_sent(b, 0));
    bed_free(b);
}

static void lost(NetBed *b, const UbFlow *f, unsigned len, UbNetCounter why)
{
    uint64_t before = bed_count(b, why);

    g_assert_cmpint(ub_net_send(b->net, b->now, f, bed_packet(b, len, 0)), ==,
                    UB_LOST);
    g_assert_cmpuint(bed_count(b, why), ==, before + 1);
}

static void test_send_lost(void)
{
    NetBed *b = controller(2);
    UbFlow f = flow_cna(UB_LPH_CNA16, 0, 0, 2);
    CorePacket *pkt;

    for (unsigned cfg = 0; cfg < 16; cfg++) {
        if (cfg != 3 && cfg != 4 && cfg != 6 && cfg != 7 && cfg != 9) {
            f.cfg = cfg;
            lost(b, &f, 4, UB_NET_DROP_CFG);
        }
    }
    f.cfg = UB_LPH_CNA16;
    f.port = 2;
    lost(b, &f, 4, UB_NET_DROP_NO_ROUTE);
    f.port = 1;
    ub_net_port_state(b->net, 0, 1, 0);
    lost(b, &f, 4, UB_NET_DROP_PORT_DOWN);
    g_assert_cmpint(ub_net_ready(b->net, &f), ==, UB_LOST);
    f.port = UB_NET_ANY;
    ub_net_port_state(b->net, 0, 0, 0);
    g_assert_cmphex(ub_net_ports_up(b->net), ==, 0);
    lost(b, &f, 4, UB_NET_DROP_PORT_DOWN);
    ub_net_route_default(b->net, 0);
    lost(b, &f, 4, UB_NET_DROP_NO_ROUTE);
    ub_net_route_default(b->net, 1);
    ub_net_port_state(b->net, 0, 0, 1);
    g_assert_cmphex(ub_net_ports_up(b->net), ==, 1);
    g_assert_cmpint(ub_net_ready(b->net, &f), ==, UB_SENT);
    lost(b, &f, 8192 + 512 + 1, UB_NET_DROP_LONG);
    g_assert_cmpuint(b->errors[UB_NET_ERROR_LENGTH], ==, 1);
    g_assert_cmpint(ub_net_send(b->net, 0, &f,
                                bed_packet(b, 8192 + 512, 0)), ==, UB_SENT);
    core_packet_free(bed_sent(b, 0));
    /* No headroom, no tailroom. */
    pkt = bed_packet(b, 4, 0);
    core_packet_push(pkt, UB_PACKET_HEADROOM - 7);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, pkt), ==, UB_LOST);
    pkt = bed_packet(b, 4, 0);
    core_packet_put(pkt, pkt->size - pkt->off - pkt->len - 3);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, pkt), ==, UB_LOST);
    f = flow_ip(UB_LPH_IPV6);
    pkt = bed_packet(b, 4, 0);
    core_packet_push(pkt, UB_PACKET_HEADROOM - 53);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, pkt), ==, UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NO_ROOM), ==, 3);
    /* The port refuses. */
    b->refuse = true;
    f = flow_cna(UB_LPH_CNA16, 0, 0, 2);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                    UB_SENT);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_REFUSED), ==, 1);
    bed_free(b);
}

/* SL to VL, a VL by name, and VLs that a port has not. */
static void test_vl(void)
{
    NetBed *b = controller(1);
    UbFlow f = flow_cna(UB_LPH_CNA16, 0, 0, 2);
    UbNetConfig conf = b->conf;
    CorePacket *pkt;

    for (unsigned i = 0; i < 16; i++) {
        conf.sl_vl[i] = 15 - i;
    }
    g_assert_null(ub_net_configure(b->net, &conf));
    for (unsigned sl = 0; sl < 16; sl++) {
        f.sl = sl;
        send_hex(b, &f, "01020304");
        pkt = bed_sent(b, 0);
        g_assert_cmpuint(ub_meta(pkt)->vl, ==, 15 - sl);
        g_assert_cmphex(core_packet_data(pkt)[7] >> 4, ==, sl);
        core_packet_free(pkt);
    }
    f.vl = 7;
    send_hex(b, &f, "01020304");
    pkt = bed_sent(b, 0);
    g_assert_cmpuint(ub_meta(pkt)->vl, ==, 7);
    core_packet_free(pkt);
    ub_net_port_state(b->net, 0, 0, 0x7f);
    send_hex(b, &f, "01020304");
    pkt = bed_sent(b, 0);
    g_assert_cmpuint(ub_meta(pkt)->vl, ==, 0);
    core_packet_free(pkt);
    /* IP: DSCP by SL and back. */
    conf.sl_dscp[5] = 46;
    conf.dscp_sl[46] = 5;
    g_assert_null(ub_net_configure(b->net, &conf));
    f = flow_ip(UB_LPH_IPV4);
    f.sl = 5;
    send_hex(b, &f, TPACK);
    pkt = bed_sent(b, 0);
    g_assert_cmphex(core_packet_data(pkt)[7], ==, 46 << 2);
    core_packet_free(pkt);
    bed_free(b);
}

/* ---- Up ------------------------------------------------------------------------ */

static void test_demux(void)
{
    static const struct {
        unsigned cfg, nlp;
        int to;
    } rows[] = {
        { UB_LPH_CNA16, 0, UB_NET_TP }, { UB_LPH_CNA16, 1, UB_NET_SCAN },
        { UB_LPH_CNA24, 0, UB_NET_TP }, { UB_LPH_CNA24, 2, UB_NET_TP },
        { UB_LPH_BYPASS, 0, UB_NET_TA },
    };
    static const unsigned cfgs[] = { UB_LPH_CNA16, UB_LPH_CNA24,
                                     UB_LPH_BYPASS };
    NetBed *b = controller(1);

    for (unsigned c = 0; c < 3; c++) {
        for (unsigned nlp = 0; nlp < 8; nlp++) {
            UbFlow f = flow_cna(cfgs[c], nlp, 0x20, 1);
            CorePacket *pkt;
            NetGot *g;
            int to = -1;

            if (cfgs[c] == UB_LPH_CNA24) {
                f.dcna = 0x010001;
            }
            f.sl = 9;
            f.lbf = 0x77;
            f.rt = 1;
            f.cci = 0x8003;
            f.mgmt = cfgs[c] == UB_LPH_CNA16;
            for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
                if (rows[i].cfg == cfgs[c] && rows[i].nlp == nlp) {
                    to = rows[i].to;
                }
            }
            pkt = bed_wire(b, &f, 40);
            ub_meta(pkt)->vl = 3;
            ub_net_rx(b->net, 0, 0, pkt);
            g = bed_got(b);
            if (to < 0) {
                g_assert_null(g);
                continue;
            }
            g_assert_nonnull(g);
            g_assert_cmpint(g->to, ==, to);
            g_assert_cmpuint(g->pkt->len, ==, 40);
            g_assert_cmpuint(core_packet_data(g->pkt)[0], ==, 0);
            g_assert_cmpuint(core_packet_data(g->pkt)[39], ==, 39);
            g_assert_cmpuint(g->flow.cfg, ==, cfgs[c]);
            g_assert_cmpuint(g->flow.nlp, ==, nlp);
            g_assert_cmphex(g->flow.scna, ==, 0x20);
            g_assert_cmphex(g->flow.dcna, ==, f.dcna);
            g_assert_cmpuint(g->flow.sl, ==, 9);
            g_assert_cmphex(g->flow.lbf, ==, 0x77);
            g_assert_cmpuint(g->flow.rt, ==, 1);
            g_assert_cmpuint(g->flow.vl, ==, 3);
            g_assert_cmpuint(g->flow.port, ==, 0);
            g_assert_cmphex(g->flow.cci, ==, 0x8003);
            g_assert_cmpint(g->flow.mgmt, ==, f.mgmt);
            got_free(g);
        }
    }
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NLP), ==, 6 + 6 + 7);
    g_assert_cmpuint(b->rules, ==, 19);
    g_assert_cmpuint(bed_count(b, UB_NET_RX_UP), ==, 5);
    g_assert_cmpuint(bed_count(b, UB_NET_RX_PACKETS), ==, 24);
    g_assert_cmpuint(bed_count(b, UB_NET_RX_BYTES), ==,
                     8 * (8 + 40 + 4) + 8 * (10 + 40 + 4) + 8 * (8 + 40));
    bed_free(b);
}

static void test_demux_ip(void)
{
    NetBed *b = controller(1);
    UbFlow f = flow_ip(UB_LPH_IPV4);
    CorePacket *pkt;
    NetGot *g;

    b->conf.dscp_sl[0] = 3;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    put_be32(f.ip.src, 0x0a000001);
    put_be32(f.ip.dst, 0x0a000002);
    f.npi = 1;
    f.cci = 0x8003;
    for (unsigned cfg = 3; cfg <= 4; cfg++) {
        if (cfg == 4) {
            f = flow_ip(4);
            f.ip.src[15] = 1;
            f.ip.dst[15] = 2;
            f.npi = 1;
            f.cci = 0x8003;
        }
        ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 16));
        g = bed_got(b);
        g_assert_nonnull(g);
        g_assert_cmpint(g->to, ==, UB_NET_TP);
        g_assert_cmpuint(g->pkt->len, ==, 16);
        g_assert_cmpuint(core_packet_data(g->pkt)[0], ==, 0);
        g_assert_cmpmem(g->flow.ip.src, 16, f.ip.src, 16);
        g_assert_cmpmem(g->flow.ip.dst, 16, f.ip.dst, 16);
        g_assert_cmpuint(g->flow.ip.hops, ==, 64);
        g_assert_cmphex(g->flow.lbf, ==, 0xc000);
        g_assert_cmphex(g->flow.cci, ==, 0x8003);
        g_assert_cmpuint(g->flow.npi, ==, 1);
        g_assert_cmpuint(g->flow.sl, ==, 3);
        got_free(g);

        /* To another port, to another address: plain IP, with CCI and NPI. */
        pkt = bed_wire(b, &f, 16);
        core_packet_trim(pkt, 4);
        put_be16(core_packet_data(pkt) + 6 + (cfg == 3 ? 20 : 40) + 2, 4791);
        pkt->len += 4;
        ub_icrc_put(core_packet_data(pkt) + pkt->len - 4,
                    ub_icrc(cfg, core_packet_data(pkt) + 6, pkt->len - 10));
        ub_net_rx(b->net, 0, 0, pkt);
        g = bed_got(b);
        g_assert_nonnull(g);
        g_assert_cmpint(g->to, ==, UB_NET_IP);
        g_assert_cmpuint(g->pkt->len, ==, 6 + (cfg == 3 ? 20 : 40) + 8 + 16);
        g_assert_cmphex(get_be16(core_packet_data(g->pkt)), ==, 0x8003);
        got_free(g);
        f.ip.dst[cfg == 3 ? 3 : 15] = 9;
        ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 16));
        g = bed_got(b);
        g_assert_cmpint(g->to, ==, UB_NET_IP);
        got_free(g);
    }
    /* The SL of a DSCP. */
    f.sl = 7;
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 16));
    g = bed_got(b);
    g_assert_cmpuint(g->flow.sl, ==, 7);
    got_free(g);
    /* Nobody said which addresses are ours: all are. */
    ub_net_reset(b->net, 0);
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 16));
    g = bed_got(b);
    g_assert_cmpint(g->to, ==, UB_NET_TP);
    got_free(g);
    bed_free(b);
}

static void rx_lost(NetBed *b, unsigned port, CorePacket *pkt,
                    UbNetCounter why)
{
    uint64_t before = ub_net_counter(b->net, port, why);

    ub_net_rx(b->net, b->now, port, pkt);
    g_assert_cmpuint(ub_net_counter(b->net, port, why), ==, before + 1);
    g_assert_cmpuint(b->got.length, ==, 0);
}

/* A UB packet in IP that breaks a rule of tables 5-4 to 5-6; sealed anew. */
static CorePacket *bent_ip(NetBed *b, unsigned cfg, unsigned byte, uint8_t to,
                           bool csum)
{
    UbFlow f = flow_ip(cfg);
    CorePacket *pkt;
    uint8_t *ip;

    f.npi = 1;
    f.ip.src[0] = 1;
    f.ip.dst[cfg == 3 ? 3 : 15] = 2;
    pkt = bed_wire(b, &f, 16);
    ip = core_packet_data(pkt) + 6;
    ip[byte] = to;
    if (csum && cfg == 3) {
        put_be16(ip + 10, 0);
        put_be16(ip + 10, core_csum_done(core_csum_add(0, ip, 20)));
    }
    ub_icrc_put(ip + pkt->len - 10, ub_icrc(cfg, ip, pkt->len - 10));
    return pkt;
}

static void test_ip_rules(void)
{
    NetBed *b = controller(1);
    NetGot *g;

    /* nothing bent */
    ub_net_rx(b->net, 0, 0, bent_ip(b, 3, 0, 0x45, true));
    g = bed_got(b);
    g_assert_cmpint(g->to, ==, UB_NET_TP);
    got_free(g);
    rx_lost(b, 0, bent_ip(b, 3, 0, 0x55, true), UB_NET_DROP_IP); /* version */
    rx_lost(b, 0, bent_ip(b, 3, 0, 0x44, true), UB_NET_DROP_IP);
    rx_lost(b, 0, bent_ip(b, 3, 0, 0x4f, true), UB_NET_DROP_IP); /* too long */
    rx_lost(b, 0, bent_ip(b, 3, 3, 47, true), UB_NET_DROP_IP);   /* 48 */
    rx_lost(b, 0, bent_ip(b, 3, 3, 49, true), UB_NET_DROP_IP);
    rx_lost(b, 0, bent_ip(b, 3, 25, 27, true), UB_NET_DROP_IP);  /* 28 */
    rx_lost(b, 0, bent_ip(b, 3, 11, 0, false), UB_NET_DROP_IP);  /* checksum */
    rx_lost(b, 0, bent_ip(b, 4, 0, 0x50, true), UB_NET_DROP_IP);
    rx_lost(b, 0, bent_ip(b, 4, 5, 27, true), UB_NET_DROP_IP);
    rx_lost(b, 0, bent_ip(b, 4, 45, 27, true), UB_NET_DROP_IP);
    g_assert_cmpuint(b->rules, ==, 10);
    /* A fragment is not UB's. */
    ub_net_rx(b->net, 0, 0, bent_ip(b, 3, 6, 0x20, true));
    g = bed_got(b);
    g_assert_cmpint(g->to, ==, UB_NET_IP);
    got_free(g);
    bed_free(b);
}

static void test_icrc_bad(void)
{
    static const unsigned cfgs[] = { 3, 4, 6, 7 };
    NetBed *b = controller(1);
    unsigned bad = 0;

    for (unsigned i = 0; i < 4; i++) {
        UbFlow f = flow_cna(cfgs[i], 0, 0x20, cfgs[i] == 7 ? 0x010001 : 1);
        unsigned skip = cfgs[i] < 5 ? 6 : 0, n;

        if (skip) {
            f = flow_ip(cfgs[i]);
            f.npi = 1;
            f.ip.src[0] = 1;
            f.ip.dst[cfgs[i] == 3 ? 3 : 15] = 2;
        }
        n = 12 + (skip ? skip + (cfgs[i] == 3 ? 28 : 48)
                       : cfgs[i] == 7 ? 10 : 8) + 4;
        /* Any bit of payload and ICRC, and those that the CRC covers. */
        for (unsigned bit = (n - 16) * 8; bit < n * 8; bit++) {
            CorePacket *pkt = bed_wire(b, &f, 12);

            g_assert_cmpuint(pkt->len, ==, n);
            core_packet_data(pkt)[bit / 8] ^= 0x80 >> bit % 8;
            rx_lost(b, 0, pkt, UB_NET_DROP_ICRC);
            bad++;
        }
    }
    g_assert_cmpuint(b->errors[UB_NET_ERROR_ICRC], ==, bad);
    g_assert_cmpuint(b->rules, ==, bad);
    bed_free(b);
}

static CorePacket *raw_of(NetBed *b, unsigned cfg, unsigned len)
{
    CorePacket *pkt = bed_packet(b, len, 0);

    memset(core_packet_data(pkt), 0, len);
    ub_meta(pkt)->lph_cfg = cfg;
    return pkt;
}

static void test_lengths(void)
{
    static const struct {
        unsigned cfg, least, most;
    } rows[] = {
        { 3, 30, 0 }, { 4, 50, 0 }, { 5, 34, 0 }, { 6, 13, 1024 + 520 },
        { 7, 15, 1024 + 522 }, { 9, 12, 1024 + 520 },
    };
    NetBed *b = plain_bed();
    unsigned errors = 0;

    b->conf.mtu = 1024;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (unsigned len = 0; len < rows[i].least; len++) {
            rx_lost(b, 0, raw_of(b, rows[i].cfg, len), UB_NET_DROP_SHORT);
            g_assert_cmpuint(b->errors[UB_NET_ERROR_LENGTH], ==, ++errors);
        }
        ub_net_rx(b->net, 0, 0, raw_of(b, rows[i].cfg, rows[i].least));
        if (rows[i].most) {
            ub_net_rx(b->net, 0, 0, raw_of(b, rows[i].cfg, rows[i].most));
            while (b->got.length) {
                got_free(bed_got(b));
            }
            rx_lost(b, 0, raw_of(b, rows[i].cfg, rows[i].most + 1),
                    UB_NET_DROP_LONG);
            errors++;
        }
        g_assert_cmpuint(b->errors[UB_NET_ERROR_LENGTH], ==, errors);
        while (b->got.length) {
            got_free(bed_got(b));
        }
    }
    for (unsigned cfg = 0; cfg < 16; cfg++) {
        if (cfg != 3 && cfg != 4 && cfg != 5 && cfg != 6 && cfg != 7 &&
            cfg != 9) {
            rx_lost(b, 0, raw_of(b, cfg, 100), UB_NET_DROP_CFG);
        }
    }
    rx_lost(b, 0, raw_of(b, 16, 100), UB_NET_DROP_CFG);
    bed_free(b);
}

static void test_ub_ip_length(void)
{
    NetBed *b = controller(1);
    UbFlow f = flow_ip(UB_LPH_IPV6);

    f.ip.src[0] = 1;
    f.ip.dst[15] = 2;
    f.npi = 1;
    b->conf.mtu = 1024;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 1024 + 512 - 4));
    got_free(bed_got(b));
    rx_lost(b, 0, bed_wire(b, &f, 1024 + 512 - 3), UB_NET_DROP_LONG);
    g_assert_cmpuint(b->errors[UB_NET_ERROR_LENGTH], ==, 1);
    bed_free(b);
}

static void test_rx_other_drops(void)
{
    NetBed *b = controller(1);
    UbFlow f = flow_cna(UB_LPH_BYPASS, 0, 0x20, 1);
    CorePacket *pkt;

    f.mgmt = true;
    rx_lost(b, 0, bed_wire(b, &f, 8), UB_NET_DROP_MGMT);
    f.mgmt = false;
    pkt = bed_wire(b, &f, 8);
    ub_meta(pkt)->error = 1;
    rx_lost(b, 0, pkt, UB_NET_DROP_ERROR_FLAG);
    pkt = raw_of(b, UB_LPH_CONTROL, 40);
    ub_meta(pkt)->error = 1;
    rx_lost(b, 0, pkt, UB_NET_DROP_ERROR_FLAG);
    f = flow_ip(3);
    f.npi = 1;
    f.ip.src[0] = 1;
    pkt = bed_wire(b, &f, 8);
    ub_meta(pkt)->error = 1;
    rx_lost(b, 0, pkt, UB_NET_DROP_ERROR_FLAG);
    f = flow_cna(UB_LPH_BYPASS, 0, 0x20, 1);
    ub_net_set_upper(b->net, UB_NET_TA, NULL, NULL);
    rx_lost(b, 0, bed_wire(b, &f, 8), UB_NET_DROP_NO_UPPER);
    f.dcna = 2;
    rx_lost(b, 0, bed_wire(b, &f, 8), UB_NET_DROP_NOT_OURS);
    g_assert_cmpuint(bed_count(b, UB_NET_RX_UP), ==, 0);
    bed_free(b);
}

/* Primary CNA on any port, Port CNA on its own, none: all. */
static void test_addresses(void)
{
    UbNetConfig conf;
    NetBed *b;
    UbFlow f = flow_cna(UB_LPH_CNA24, 0, 0x20, 0x33);

    ub_net_config_init(&conf);
    conf.ports = 3;
    b = bed_new(&conf);
    g_assert_false(ub_net_is_own(b->net, 0));
    /* Who has no address may use any, also when it is said that a port has none. */
    ub_net_set_port_cna(b->net, 1, 0);
    f.port = 0;
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==, UB_SENT);
    core_packet_free(bed_sent(b, 0));
    f.port = UB_NET_ANY;
    for (unsigned port = 0; port < 3; port++) {
        ub_net_rx(b->net, 0, port, bed_wire(b, &f, 8));
        got_free(bed_got(b));
    }
    ub_net_set_primary(b->net, 0xff123456);
    g_assert_cmphex(ub_net_primary(b->net), ==, 0x123456);
    ub_net_set_port_cna(b->net, 1, 0xff654321);
    g_assert_cmphex(ub_net_port_cna(b->net, 1), ==, 0x654321);
    g_assert_cmphex(ub_net_port_cna(b->net, 0), ==, 0);
    for (unsigned port = 0; port < 3; port++) {
        f.dcna = 0x33;
        rx_lost(b, port, bed_wire(b, &f, 8), UB_NET_DROP_NOT_OURS);
        f.dcna = 0;
        rx_lost(b, port, bed_wire(b, &f, 8), UB_NET_DROP_NOT_OURS);
        f.dcna = 0x123456;
        ub_net_rx(b->net, 0, port, bed_wire(b, &f, 8));
        got_free(bed_got(b));
        f.dcna = 0x654321;
        if (port == 1) {
            ub_net_rx(b->net, 0, port, bed_wire(b, &f, 8));
            got_free(bed_got(b));
        } else {
            rx_lost(b, port, bed_wire(b, &f, 8), UB_NET_DROP_WRONG_PORT);
        }
    }
    g_assert_true(ub_net_is_own(b->net, 0x123456));
    g_assert_true(ub_net_is_own(b->net, 0x654321));
    g_assert_false(ub_net_is_own(b->net, 0x3456));
    /* The short form has the low half. */
    f.cfg = UB_LPH_CNA16;
    f.dcna = 0x3456;
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 8));
    got_free(bed_got(b));
    f.dcna = 0x4321;
    rx_lost(b, 0, bed_wire(b, &f, 8), UB_NET_DROP_WRONG_PORT);
    /* Two ports with the same address. */
    ub_net_set_port_cna(b->net, 0, 0x654321);
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 8));
    got_free(bed_got(b));
    ub_net_set_port_cna(b->net, 0, 0);
    rx_lost(b, 0, bed_wire(b, &f, 8), UB_NET_DROP_WRONG_PORT);
    /* A Port CNA alone is an address too. */
    ub_net_set_primary(b->net, 0);
    f.dcna = 0x3456;
    rx_lost(b, 0, bed_wire(b, &f, 8), UB_NET_DROP_NOT_OURS);
    bed_free(b);
}

static void test_reply(void)
{
    NetBed *b = controller(2);
    UbFlow f = flow_cna(UB_LPH_CNA24, 2, 0x20, 0x010001), r;
    NetGot *g;

    f.sl = 4;
    f.lbf = 9;
    f.rt = 3;
    f.cci = 0x8003;
    ub_net_rx(b->net, 0, 1, bed_wire(b, &f, 20));
    g = bed_got(b);
    g->flow.mgmt = true;
    ub_flow_reply(&r, &g->flow);
    g_assert_cmphex(r.scna, ==, 0x010001);
    g_assert_cmphex(r.dcna, ==, 0x20);
    g_assert_cmpuint(r.cfg, ==, 7);
    g_assert_cmpuint(r.nlp, ==, 2);
    g_assert_cmpuint(r.sl, ==, 4);
    g_assert_cmpuint(r.lbf, ==, 9);
    g_assert_cmpuint(r.rt, ==, 3);
    g_assert_cmpuint(r.cci, ==, 0);
    g_assert_false(r.mgmt);
    g_assert_cmpuint(r.port, ==, UB_NET_ANY);
    g_assert_cmpuint(r.vl, ==, UB_NET_ANY);
    ub_flow_reply(&g->flow, &g->flow);
    g_assert_cmphex(g->flow.scna, ==, 0x010001);
    g_assert_cmphex(g->flow.dcna, ==, 0x20);
    got_free(g);

    f = flow_ip(4);
    f.ip.src[15] = 7;
    f.ip.src[0] = 1;
    f.ip.dst[15] = 2;
    f.npi = 1 | UB_NPI_LOW;
    ub_net_rx(b->net, 0, 1, bed_wire(b, &f, 20));
    g = bed_got(b);
    ub_flow_reply(&r, &g->flow);
    g_assert_cmpmem(r.ip.src, 16, f.ip.dst, 16);
    g_assert_cmpmem(r.ip.dst, 16, f.ip.src, 16);
    g_assert_cmphex(r.npi, ==, 1 | UB_NPI_LOW);
    got_free(g);
    bed_free(b);
}

/* An answer in the bytes of what was received: what the port lent with them is
 * still known when they are freed. */
static void test_in_place(void)
{
    NetBed *b = controller(1);
    UbFlow f = flow_cna(UB_LPH_CNA24, 2, 0x20, 0x010001), r;
    CorePacket *pkt = bed_wire(b, &f, 20);
    NetGot *g;

    ub_meta(pkt)->rx_vl = 3;
    ub_meta(pkt)->rx_cells = 7;
    ub_meta(pkt)->rx_epoch = 9;
    ub_net_rx(b->net, 0, 0, pkt);
    g = bed_got(b);
    ub_flow_reply(&r, &g->flow);
    ub_meta(g->pkt)->error = 1;
    g_assert_cmpint(ub_net_send(b->net, 0, &r, g->pkt), ==, UB_SENT);
    pkt = bed_sent(b, 0);
    g_assert_cmpuint(ub_meta(pkt)->rx_vl, ==, 3);
    g_assert_cmpuint(ub_meta(pkt)->rx_cells, ==, 7);
    g_assert_cmpuint(ub_meta(pkt)->rx_epoch, ==, 9);
    g_assert_cmpuint(ub_meta(pkt)->error, ==, 0);
    core_packet_free(pkt);
    g_free(g);
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/net/send-known", test_send_known);
    g_test_add_func("/ub/net/icrc-switch", test_icrc_switch);
    g_test_add_func("/ub/net/source", test_source);
    g_test_add_func("/ub/net/send-lost", test_send_lost);
    g_test_add_func("/ub/net/vl", test_vl);
    g_test_add_func("/ub/net/demux", test_demux);
    g_test_add_func("/ub/net/demux-ip", test_demux_ip);
    g_test_add_func("/ub/net/ip-rules", test_ip_rules);
    g_test_add_func("/ub/net/icrc-bad", test_icrc_bad);
    g_test_add_func("/ub/net/lengths", test_lengths);
    g_test_add_func("/ub/net/ub-ip-length", test_ub_ip_length);
    g_test_add_func("/ub/net/rx-drops", test_rx_other_drops);
    g_test_add_func("/ub/net/addresses", test_addresses);
    g_test_add_func("/ub/net/reply", test_reply);
    g_test_add_func("/ub/net/in-place", test_in_place);
    return g_test_run();
}
