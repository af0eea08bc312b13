/*
 * The network layer: routes, their registers, forwarding, migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/inet.h"
#include "net-bed.h"

static NetBed *forwarder(unsigned ports, unsigned entries)
{
    UbNetConfig conf;

    ub_net_config_init(&conf);
    conf.ports = ports;
    conf.forward = true;
    conf.route_entries = entries;
    conf.route_default = 0;
    conf.exact_supported = true;
    conf.npi_mode = UB_NPI_OPEN;
    conf.npic = false;
    return bed_new(&conf);
}

/* Bit p: a packet of the flow, changed n times, left by port p.  @counts: how
 * many. */
static uint64_t spread(NetBed *b, UbFlow f, unsigned in, unsigned n,
                       bool vary, unsigned *counts)
{
    uint64_t ports = 0;

    for (unsigned i = 0; i < n; i++) {
        f.lbf = vary ? i : f.lbf;
        ub_net_rx(b->net, 0, in, bed_wire(b, &f, 20));
        for (unsigned p = 0; p < b->conf.ports; p++) {
            CorePacket *pkt = bed_sent(b, p);

            if (pkt) {
                ports |= UINT64_C(1) << p;
                if (counts) {
                    counts[p]++;
                }
                core_packet_free(pkt);
            }
        }
    }
    return ports;
}

static void test_entries(void)
{
    NetBed *b = forwarder(4, 16);
    UbFlow f = flow_cna(UB_LPH_CNA16, 0, 0x20, 5);

    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 0);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NO_ROUTE), ==, 1);
    g_assert_true(ub_net_route_set(b->net, 5, 0xfff4));
    g_assert_cmphex(ub_net_route_get(b->net, 5), ==, 4);
    g_assert_cmphex(spread(b, f, 0, 4, true, NULL), ==, 4);
    g_assert_cmpuint(bed_count(b, UB_NET_FORWARDED), ==, 4);
    /* the way it came */
    g_assert_cmphex(spread(b, f, 2, 1, false, NULL), ==, 0);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_RETURN), ==, 1);
    /* beyond the table */
    f.dcna = 16;
    g_assert_false(ub_net_route_set(b->net, 16, 1));
    g_assert_false(ub_net_route_shortest(b->net, 16, 1));
    g_assert_cmphex(ub_net_route_get(b->net, 16), ==, 0);
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 0);
    ub_net_route_default(b->net, 0xf8);
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 8);
    f.dcna = 6; /* an entry of no ports */
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 8);
    ub_net_route_exact(b->net, true);
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 0);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NO_ROUTE), ==, 3);
    f.dcna = 15;
    ub_net_route_set(b->net, 15, 2);
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 2);
    ub_net_route_exact(b->net, false);
    f.dcna = 6;
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 8);
    bed_free(b);
}

/* RT's four ways (table 5-7). */
static void test_policies(void)
{
    NetBed *b = forwarder(6, 16);
    unsigned counts[64] = { 0 }, least = UINT_MAX;
    UbFlow f = flow_cna(UB_LPH_CNA16, 0, 0x20, 5);
    uint32_t gen = ub_net_route_gen(b->net);

    ub_net_route_set(b->net, 5, 0x3e);
    g_assert_cmphex(ub_net_shortest_get(b->net, 5), ==, 0);
    g_assert_cmphex(ub_net_shortest_get(b->net, 16), ==, 0);
    ub_net_route_shortest(b->net, 5, 0x0c);
    g_assert_cmphex(ub_net_shortest_get(b->net, 5), ==, 0x0c);
    g_assert_cmphex(ub_net_shortest_get(b->net, 6), ==, 0);
    g_assert_cmphex(ub_net_shortest_get(b->net, 16), ==, 0);
    g_assert_cmpuint(ub_net_route_gen(b->net), ==, gen + 2);
    f.rt = UB_RT_FLOW;
    g_assert_cmpint(__builtin_popcountll(spread(b, f, 0, 50, false, NULL)),
                    ==, 1);
    g_assert_cmphex(spread(b, f, 0, 256, true, counts), ==, 0x3e);
    for (unsigned i = 1; i < 6; i++) {
        least = MIN(least, counts[i]);
    }
    g_assert_cmpuint(least, >, 20);
    f.rt = UB_RT_PACKET;
    memset(counts, 0, sizeof(counts));
    g_assert_cmphex(spread(b, f, 0, 50, false, counts), ==, 0x3e);
    for (unsigned i = 1; i < 6; i++) {
        g_assert_cmpuint(counts[i], >=, 9);
        g_assert_cmpuint(counts[i], <=, 11);
    }
    f.rt = UB_RT_FLOW_SHORTEST;
    g_assert_cmpint(__builtin_popcountll(spread(b, f, 0, 50, false, NULL)),
                    ==, 1);
    g_assert_cmphex(spread(b, f, 0, 256, true, NULL), ==, 0x0c);
    f.rt = UB_RT_PACKET_SHORTEST;
    g_assert_cmphex(spread(b, f, 0, 50, false, NULL), ==, 0x0c);
    /* without a set of shortest ones: all */
    f.dcna = 6;
    ub_net_route_set(b->net, 6, 0x3e);
    g_assert_cmphex(spread(b, f, 0, 50, false, NULL), ==, 0x3e);
    /* Not back, either. */
    g_assert_cmphex(spread(b, f, 3, 50, false, NULL), ==, 0x36);
    /* Where less waits goes first. */
    for (unsigned i = 1; i < 6; i++) {
        b->takes[i] = 0;
    }
    for (unsigned i = 0; i < 20; i++) {
        ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    }
    b->takes[4] = UINT_MAX;
    ub_net_run(b->net, 0, 100);
    g_assert_cmpuint(b->sent[4].length, ==, 4);
    for (unsigned i = 0; i < 20; i++) {
        ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    }
    g_assert_cmpuint(b->sent[4].length, ==, 24);
    for (unsigned i = 1; i < 6; i++) {
        g_assert_cmpuint(ub_net_queued(b->net, i, 0), ==, i == 4 ? 0 : 4 * 32);
    }
    while (b->sent[4].length) {
        core_packet_free(bed_sent(b, 4));
    }
    bed_free(b);
}

/* Packets of two destinations in a rhythm, as requests and answers are: each has all of
 * its ports, whatever the rhythm. */
static void test_rhythm(void)
{
    for (unsigned period = 2; period <= 12; period++) {
        NetBed *b = forwarder(6, 16);
        unsigned n = 60 * period, counts[64] = { 0 };
        UbFlow f = flow_cna(UB_LPH_CNA16, 0, 0x20, 5), g = f;

        f.rt = g.rt = UB_RT_PACKET;
        g.dcna = 6;
        ub_net_route_set(b->net, 5, 0x06);      /* ports 1, 2 */
        ub_net_route_set(b->net, 6, 0x38);      /* 3, 4, 5 */
        for (unsigned i = 0; i < n; i++) {
            spread(b, i % period ? g : f, 0, 1, false, counts);
        }
        for (unsigned i = 1; i < 3; i++) {
            g_assert_cmpuint(counts[i], >=, 20);
        }
        for (unsigned i = 3; i < 6; i++) {
            g_assert_cmpuint(counts[i], >=, (n - 60) / 4);
        }
        bed_free(b);
    }
}

/* A port that is down leaves every route at once, and comes back. */
static void test_port_down(void)
{
    NetBed *b = forwarder(4, 16);
    UbFlow f = flow_cna(UB_LPH_CNA24, 0, 0x20, 5);
    uint32_t gen;

    f.rt = UB_RT_PACKET;
    ub_net_route_set(b->net, 5, 0xe);
    b->takes[2] = 0;
    for (unsigned i = 0; i < 6; i++) {
        ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    }
    g_assert_cmpuint(ub_net_queued(b->net, 2, 0), >, 0);
    gen = ub_net_route_gen(b->net);
    ub_net_port_state(b->net, 0, 2, 0);
    ub_net_port_state(b->net, 0, 2, 0);
    g_assert_cmpuint(ub_net_route_gen(b->net), ==, gen + 1);
    g_assert_cmpuint(ub_net_queued(b->net, 2, 0), ==, 0);
    g_assert_cmpuint(ub_net_counter(b->net, 2, UB_NET_DROP_FLUSHED), ==, 1);
    while (b->sent[1].length || b->sent[3].length) {
        core_packet_free(bed_sent(b, b->sent[1].length ? 1 : 3));
    }
    g_assert_cmphex(spread(b, f, 0, 20, false, NULL), ==, 0xa);
    ub_net_port_state(b->net, 0, 1, 0);
    ub_net_port_state(b->net, 0, 3, 0);
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 0);
    g_assert_cmpuint(ub_net_counter(b->net, 0, UB_NET_DROP_PORT_DOWN), ==, 1);
    b->takes[2] = UINT_MAX;
    ub_net_port_state(b->net, 0, 2, 1);
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 4);
    bed_free(b);
}

/* What is forwarded is what came, to the byte and the LPH. */
static void test_untouched(void)
{
    NetBed *b = forwarder(2, 0);
    UbFlow f = flow_cna(UB_LPH_CNA24, 5, 0x20, 5); /* any NLP passes */
    CorePacket *pkt = bed_wire(b, &f, 100), *out;
    g_autofree uint8_t *copy = g_memdup2(core_packet_data(pkt), pkt->len);

    ub_net_route_default(b->net, 2);
    ub_meta(pkt)->vl = 3;
    ub_meta(pkt)->rt = 2;
    ub_meta(pkt)->error = 1;
    ub_net_rx(b->net, 0, 0, pkt);
    out = bed_sent(b, 1);
    g_assert_true(out == pkt);
    g_assert_cmpmem(core_packet_data(out), out->len, copy, 114);
    g_assert_cmpuint(ub_meta(out)->vl, ==, 3);
    g_assert_cmpuint(ub_meta(out)->rt, ==, 2);
    g_assert_cmpuint(ub_meta(out)->error, ==, 1);
    g_assert_cmpuint(ub_meta(out)->lph_cfg, ==, 7);
    core_packet_free(out);
    /* A map of VLs; a VL that the port has not is VL 0. */
    b->conf.vl_out[3] = 4;
    b->conf.vl_out[4] = 9;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    ub_net_port_state(b->net, 0, 1, 0x1ff);
    for (unsigned vl = 3; vl < 5; vl++) {
        pkt = bed_wire(b, &f, 100);
        ub_meta(pkt)->vl = vl;
        ub_net_rx(b->net, 0, 0, pkt);
        out = bed_sent(b, 1);
        g_assert_cmpuint(ub_meta(out)->vl, ==, vl == 3 ? 4 : 0);
        core_packet_free(out);
    }
    bed_free(b);
}

static void test_icrc_transit(void)
{
    NetBed *b = forwarder(2, 0);
    UbFlow f = flow_cna(UB_LPH_CNA16, 0, 0x20, 5);
    CorePacket *pkt;

    ub_net_route_default(b->net, 2);
    for (unsigned on = 0; on < 2; on++) {
        b->conf.icrc_transit = on;
        g_assert_null(ub_net_configure(b->net, &b->conf));
        pkt = bed_wire(b, &f, 20);
        core_packet_data(pkt)[12] ^= 1;
        ub_net_rx(b->net, 0, 0, pkt);
        g_assert_cmpuint(b->sent[1].length, ==, !on);
        core_packet_free(bed_sent(b, 1));
        g_assert_cmpuint(b->errors[UB_NET_ERROR_ICRC], ==, on);
        g_assert_cmpuint(bed_count(b, UB_NET_DROP_ICRC), ==, on);
        /* what the CRC does not cover */
        pkt = bed_wire(b, &f, 20);
        core_packet_data(pkt)[6] ^= 1;
        ub_net_rx(b->net, 0, 0, pkt);
        core_packet_free(bed_sent(b, 1));
    }
    b->conf.icrc = false;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    pkt = bed_wire(b, &f, 20);
    core_packet_data(pkt)[12] ^= 1;
    ub_net_rx(b->net, 0, 0, pkt);
    core_packet_free(bed_sent(b, 1));
    g_assert_cmpuint(bed_count(b, UB_NET_FORWARDED), ==, 4);
    bed_free(b);
}

/* A node that forwards takes what is its own, and scans. */
static void test_own(void)
{
    NetBed *b = forwarder(3, 16);
    UbFlow f = flow_cna(UB_LPH_CNA16, 0, 0x20, 5);
    NetGot *g;

    ub_net_route_default(b->net, 7);
    /* without an address nothing is ours but scans */
    g_assert_cmpint(__builtin_popcountll(spread(b, f, 0, 1, false, NULL)), ==,
                    1);
    f.nlp = UB_NLP_SCAN;
    ub_net_rx(b->net, 0, 1, bed_wire(b, &f, 20));
    g = bed_got(b);
    g_assert_cmpint(g->to, ==, UB_NET_SCAN);
    g_assert_cmpuint(g->flow.port, ==, 1);
    got_free(g);
    f.nlp = 0;
    ub_net_set_primary(b->net, 5);
    for (unsigned port = 0; port < 3; port++) {
        ub_net_rx(b->net, 0, port, bed_wire(b, &f, 20));
        got_free(bed_got(b));
    }
    /* Its own senders take the same routes. */
    ub_net_route_set(b->net, 9, 4);
    f = flow_cna(UB_LPH_CNA16, 0, 0, 9);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 20, 0)), ==,
                    UB_SENT);
    core_packet_free(bed_sent(b, 2));
    bed_free(b);
}

/* ---- IP -------------------------------------------------------------------------- */

static UbFlow flow4(uint32_t src, uint32_t dst)
{
    UbFlow f;

    ub_flow_init(&f, UB_LPH_IPV4);
    put_be32(f.ip.src, src);
    put_be32(f.ip.dst, dst);
    f.npi = 1;
    f.lbf = 0xc000;
    return f;
}

static bool route4(NetBed *b, uint32_t ip, unsigned prefix, uint64_t ports)
{
    uint8_t bytes[16];

    put_be32(bytes, ip);
    return ub_net_ip_route(b->net, UB_LPH_IPV4, bytes, prefix, ports);
}

static void test_ip_routes(void)
{
    NetBed *b = forwarder(8, 0);
    uint8_t six[16] = { 0xfe, 0x80 };
    UbFlow f;

    ub_net_route_default(b->net, 0x80);
    g_assert_true(route4(b, 0x0a000000, 8, 2));
    g_assert_true(route4(b, 0x0a010000, 16, 4));
    g_assert_true(route4(b, 0x0a018000, 17, 8));
    g_assert_true(route4(b, 0x0a018001, 32, 16));
    g_assert_true(route4(b, 0x0b000000, 8, 32));
    {
        static const struct {
            uint32_t ip;
            unsigned prefix, ports;
        } want[] = {
            { 0x0a018001, 32, 16 }, { 0x0a018000, 17, 8 }, { 0x0a010000, 16, 4 },
            { 0x0a000000, 8, 2 }, { 0x0b000000, 8, 32 },
        };
        unsigned seen = 0;
        UbIpRoute r;

        for (unsigned i = 0; ub_net_ip_route_at(b->net, i, &r); i++) {
            g_assert_cmpuint(r.cfg, ==, UB_LPH_IPV4);
            for (unsigned j = 0; j < G_N_ELEMENTS(want); j++) {
                seen += get_be32(r.ip) == want[j].ip && r.prefix == want[j].prefix &&
                        r.ports == want[j].ports;
            }
            g_assert_cmpuint(seen, ==, i + 1);
        }
        g_assert_cmpuint(seen, ==, G_N_ELEMENTS(want));
    }
    g_assert_false(route4(b, 0, 33, 1));
    g_assert_false(ub_net_ip_route(b->net, 5, six, 8, 1));
    g_assert_true(ub_net_ip_route(b->net, UB_LPH_IPV6, six, 10, 64));
    g_assert_false(ub_net_ip_route(b->net, UB_LPH_IPV6, six, 129, 64));
    g_assert_cmphex(spread(b, flow4(1, 0x0a7f0000), 0, 1, false, NULL), ==, 2);
    g_assert_cmphex(spread(b, flow4(1, 0x0a017fff), 0, 1, false, NULL), ==, 4);
    g_assert_cmphex(spread(b, flow4(1, 0x0a018000), 0, 1, false, NULL), ==, 8);
    g_assert_cmphex(spread(b, flow4(1, 0x0a018001), 0, 1, false, NULL), ==,
                    16);
    g_assert_cmphex(spread(b, flow4(1, 0x0b018001), 0, 1, false, NULL), ==,
                    32);
    g_assert_cmphex(spread(b, flow4(1, 0xc0000001), 0, 1, false, NULL), ==,
                    128);
    ub_flow_init(&f, UB_LPH_IPV6);
    memcpy(f.ip.dst, six, 16);
    f.ip.src[0] = 0xfe;
    f.npi = 1;
    f.ip.dst[1] = 0xbf;
    f.ip.dst[15] = 1;
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 64);
    f.ip.dst[1] = 0xc0;
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 128);
    /* Another way, and none. */
    g_assert_true(route4(b, 0x0a01ffff, 17, 2)); /* host bits do not count */
    g_assert_cmphex(spread(b, flow4(1, 0x0a018000), 0, 1, false, NULL), ==, 2);
    g_assert_true(route4(b, 0x0a018000, 17, 0));
    g_assert_cmphex(spread(b, flow4(1, 0x0a018000), 0, 1, false, NULL), ==, 4);
    g_assert_true(route4(b, 0x0a018000, 17, 0));
    g_assert_true(route4(b, 0, 0, 8));
    g_assert_cmphex(spread(b, flow4(1, 0xc0000001), 0, 1, false, NULL), ==, 8);
    ub_net_route_exact(b->net, true);
    g_assert_true(route4(b, 0, 0, 0));
    g_assert_cmphex(spread(b, flow4(1, 0xc0000001), 0, 1, false, NULL), ==, 0);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NO_ROUTE), ==, 1);
    /* As many as are allowed. */
    for (unsigned i = 0; i < UB_NET_MAX_IP_ROUTES - 5; i++) {
        g_assert_true(route4(b, i << 12, 20, 2));
    }
    g_assert_false(route4(b, 0xffff0000, 20, 2));
    g_assert_true(route4(b, 0x00000000, 20, 4));
    bed_free(b);
}

/* Flows of IP: the same ports stay together, others spread. */
static void test_ip_flows(void)
{
    NetBed *b = forwarder(4, 0);
    UbFlow f = flow4(0x0a000001, 0x0a000002);

    ub_net_route_default(b->net, 0xe);
    g_assert_cmpint(__builtin_popcountll(spread(b, f, 0, 20, false, NULL)),
                    ==, 1);
    g_assert_cmphex(spread(b, f, 0, 100, true, NULL), ==, 0xe);
    /* So do those to others, and from others. */
    for (unsigned of = 0; of < 2; of++) {
        uint64_t ports = 0;

        for (unsigned i = 0; i < 100; i++) {
            ports |= spread(b, of ? flow4(0x0a000001 + i, 0x0a000002)
                                  : flow4(0x0a000001, 0x0a000002 + i), 0, 1, false, NULL);
        }
        g_assert_cmphex(ports, ==, 0xe);
    }
    f.rt = UB_RT_PACKET;
    g_assert_cmphex(spread(b, f, 0, 8, false, NULL), ==, 0xe);
    /* ours */
    ub_net_ip_add(b->net, UB_LPH_IPV4, f.ip.dst);
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    got_free(bed_got(b));
    bed_free(b);
}

static void test_hops(void)
{
    NetBed *b = forwarder(2, 0);
    CorePacket *pkt;
    UbFlow f = flow4(0x0a000001, 0x0a000002);
    uint8_t *p;

    ub_net_route_default(b->net, 2);
    for (unsigned six = 0; six < 2; six++) {
        if (six) {
            ub_flow_init(&f, UB_LPH_IPV6);
            f.ip.dst[0] = f.ip.src[0] = 1;
            f.npi = 1;
        }
        for (unsigned hops = 1; hops < 256; hops++) {
            f.ip.hops = hops;
            ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
            pkt = bed_sent(b, 1);
            g_assert_cmpint(pkt != NULL, ==, hops > 1);
            if (pkt) {
                p = core_packet_data(pkt) + 6;
                g_assert_cmpuint(p[six ? 7 : 8], ==, hops - 1);
                if (!six) {
                    g_assert_cmphex(core_csum(p, 20), ==, 0xffff);
                }
                core_packet_free(pkt);
            }
        }
    }
    g_assert_cmpuint(ub_net_counter(b->net, 1, UB_NET_DROP_HOPS), ==, 2);
    b->conf.hops = false;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    f.ip.hops = 1;
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    pkt = bed_sent(b, 1);
    g_assert_cmpuint(core_packet_data(pkt)[13], ==, 1);
    core_packet_free(pkt);
    bed_free(b);
}

/* A switch's edge: filter in both directions, replacement. */
static void test_edge_npi(void)
{
    NetBed *b = forwarder(3, 0);
    UbFlow f = flow4(0x0a000001, 0x0a000002);
    CorePacket *pkt;

    ub_net_route_default(b->net, 2);
    f.npi = 7;
    g_assert_true(ub_net_npi_allow(b->net, 0, 7 | UB_NPI_LOW));
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    g_assert_cmpuint(ub_net_counter(b->net, 0, UB_NET_DROP_NPI), ==, 1);
    g_assert_true(ub_net_npi_allow(b->net, 0, 7));
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    core_packet_free(bed_sent(b, 1));
    g_assert_true(ub_net_npi_allow(b->net, 1, 8));
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    g_assert_cmpuint(ub_net_counter(b->net, 1, UB_NET_DROP_NPI), ==, 1);
    ub_net_npi_replace(b->net, 0, 0xfe000008);
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    pkt = bed_sent(b, 1);
    g_assert_cmphex(get_be32(core_packet_data(pkt) + 2), ==, 8);
    g_assert_cmphex(ub_icrc(3, core_packet_data(pkt) + 6, pkt->len - 10), ==,
                    ub_icrc_get(core_packet_data(pkt) + pkt->len - 4));
    core_packet_free(pkt);
    g_assert_cmpuint(ub_net_counter(b->net, 0, UB_NET_NPI_REPLACED), ==, 1);
    /* CNAs know of no NPI. */
    f = flow_cna(UB_LPH_CNA16, 0, 1, 2);
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    core_packet_free(bed_sent(b, 1));
    ub_net_npi_clear(b->net, 1);
    ub_net_npi_clear(b->net, 0);
    ub_net_npi_replace(b->net, 0, 0);
    f = flow4(0x0a000001, 0x0a000002);
    f.npi = 9;
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    core_packet_free(bed_sent(b, 1));
    bed_free(b);
}

/* ---- Registers --------------------------------------------------------------------- */

#define ROUTES UB_CFG_ROUTE_BASE

static void test_registers(void)
{
    static const unsigned port_counts[] = { 4, 32, 33, 64 };

    for (unsigned k = 0; k < G_N_ELEMENTS(port_counts); k++) {
        unsigned ports = port_counts[k], y = ports > 32 ? 2 : 1;
        uint32_t last = ports % 32 ? (1u << ports % 32) - 1 : ~0u;
        UbSpace *space = ub_space_new(1);
        NetBed *b = forwarder(ports, 100);
        uint64_t all = ports == 64 ? ~UINT64_C(0)
                                   : (UINT64_C(1) << ports) - 1;

        ub_net_route_set(b->net, 7, 2);
        ub_net_route_default(b->net, 5);
        g_assert_true(ub_net_attach(b->net, space));
        g_assert_false(ub_net_attach(b->net, space));
        g_assert_cmphex(ub_space_read(space, ROUTES), ==,
                        (0x10 + 101 * y) << 4);
        g_assert_cmphex(ub_space_read(space, ROUTES + 1), ==, 0x10000 | 99);
        g_assert_cmphex(ub_space_read(space, ROUTES + 2), ==, 0);
        g_assert_cmphex(ub_space_read(space, ROUTES + 0x10), ==, 5);
        g_assert_cmphex(ub_space_read(space, ROUTES + 0x10 + 8 * y), ==, 2);
        /* writes act; what is no port is not there */
        for (unsigned i = 0; i < y; i++) {
            g_assert_true(ub_space_write(space, 0, ROUTES + 0x10 + 100 * y + i,
                                         ~0u, 0xf));
            g_assert_true(ub_space_write(space, 0, ROUTES + 0x10 + i, ~0u,
                                         0xf));
            g_assert_cmphex(ub_space_read(space, ROUTES + 0x10 + 100 * y + i),
                            ==, i == y - 1 ? last : ~0u);
        }
        g_assert_cmphex(ub_net_route_get(b->net, 99), ==, all);
        g_assert_cmphex(ub_net_route_get(b->net, 98), ==, 0);
        g_assert_false(ub_space_write(space, 0, ROUTES + 0x10 + 101 * y, 1,
                                      0xf));
        g_assert_cmphex(ub_space_read(space, ROUTES + 0x10 + 101 * y), ==, 0);
        g_assert_false(ub_space_write(space, 0, ROUTES + 1, 1, 0xf));
        g_assert_true(ub_space_write(space, 0, ROUTES + 2, 1, 0xf));
        g_assert_cmphex(spread(b, flow_cna(7, 0, 1, 1000), 0, 1, false, NULL),
                        ==, 0);
        g_assert_true(ub_space_write(space, 0, ROUTES + 2, 0, 0xf));
        g_assert_true(ub_space_write(space, 0, ROUTES + 0x10, 8, 0xf));
        if (y > 1) {
            ub_space_write(space, 0, ROUTES + 0x11, 0, 0xf);
        }
        g_assert_cmphex(spread(b, flow_cna(7, 0, 1, 1000), 0, 1, false, NULL),
                        ==, 8);
        /* and back */
        ub_net_route_set(b->net, 98, all - 1);
        ub_net_route_exact(b->net, true);
        g_assert_cmphex(ub_space_read(space, ROUTES + 0x10 + 99 * y), ==,
                        (uint32_t)(all - 1));
        g_assert_cmphex(ub_space_read(space, ROUTES + 0x10 + 100 * y - 1), ==,
                        (uint32_t)((all - 1) >> 32 * (y - 1)));
        g_assert_cmphex(ub_space_read(space, ROUTES + 2), ==, 1);
        /* A device reset brings the power-on values. */
        ub_space_reset(space, UB_SPACE_RESET_DEVICE, 0);
        ub_net_reset(b->net, 0);
        g_assert_cmphex(ub_net_route_get(b->net, 98), ==, 0);
        g_assert_cmphex(ub_net_route_get(b->net, 7), ==, 0);
        g_assert_cmphex(ub_net_default_get(b->net), ==, 5);
        g_assert_false(ub_net_exact_get(b->net));
        g_assert_cmphex(ub_space_read(space, ROUTES + 0x10), ==, 5);
        bed_free(b);
        ub_space_free(space);
    }
}

/* Who caches a way asks again after each change. */
static void test_generation(void)
{
    NetBed *b = forwarder(2, 5);
    UbSpace *space = ub_space_new(1);
    uint32_t gen = ub_net_route_gen(b->net);

    ub_net_route_default(b->net, 1);
    g_assert_cmpuint(ub_net_route_gen(b->net), ==, ++gen);
    ub_net_route_exact(b->net, true);
    g_assert_cmpuint(ub_net_route_gen(b->net), ==, ++gen);
    ub_net_route_set(b->net, 1, 1);
    g_assert_cmpuint(ub_net_route_gen(b->net), ==, ++gen);
    route4(b, 0x0a000000, 8, 2);
    g_assert_cmpuint(ub_net_route_gen(b->net), ==, ++gen);
    ub_net_attach(b->net, space);
    gen = ub_net_route_gen(b->net);
    ub_space_write(space, 0, ROUTES + 0x11, 2, 0xf); /* CNA 0 */
    g_assert_cmpuint(ub_net_route_gen(b->net), ==, ++gen);
    g_assert_cmphex(ub_net_route_get(b->net, 0), ==, 2);
    g_assert_cmphex(ub_net_default_get(b->net), ==, 1);
    ub_net_reset(b->net, 0);
    g_assert_cmpuint(ub_net_route_gen(b->net), >, gen);
    bed_free(b);
    ub_space_free(space);
}

static void test_registers_none(void)
{
    UbSpace *space = ub_space_new(1);
    static const UbSpaceSlice taken = { .name = "other", .used = 4 };
    UbNetConfig conf;
    NetBed *b = forwarder(2, 0);

    g_assert_true(ub_net_attach(b->net, space));
    g_assert_cmphex(ub_space_read(space, ROUTES), ==, 0);
    bed_free(b);
    /* The place is taken, wherever it overlaps. */
    g_assert_nonnull(ub_space_attach_at(space, ROUTES + 0x100, &taken, NULL,
                                        NULL));
    b = forwarder(2, 1000);
    g_assert_false(ub_net_attach(b->net, space));
    bed_free(b);
    b = forwarder(2, 4);
    g_assert_true(ub_net_attach(b->net, space));
    bed_free(b);
    ub_space_free(space);
    /* Exact routing that is not supported cannot be switched on. */
    space = ub_space_new(1);
    ub_net_config_init(&conf);
    conf.ports = 2;
    conf.route_entries = 5;
    b = bed_new(&conf);
    g_assert_true(ub_net_attach(b->net, space));
    g_assert_cmphex(ub_space_read(space, ROUTES + 1), ==, 4);
    g_assert_cmphex(ub_space_read(space, ROUTES + 0x10), ==, 3);
    g_assert_false(ub_space_write(space, 0, ROUTES + 2, 1, 0xf));
    ub_net_route_exact(b->net, true);
    g_assert_cmphex(ub_space_read(space, ROUTES + 2), ==, 0);
    bed_free(b);
    ub_space_free(space);
}

/* ---- Migration ---------------------------------------------------------------------- */

static NetBed *filled(void)
{
    NetBed *b = forwarder(40, 64);

    ub_net_set_primary(b->net, 0x123456);
    ub_net_set_port_cna(b->net, 3, 0x33);
    ub_net_set_npi(b->net, 77);
    ub_net_npi_allow(b->net, UB_NET_ANY, 5);
    ub_net_npi_allow(b->net, 2, 6);
    ub_net_npi_allow(b->net, 2, 7);
    ub_net_npi_replace(b->net, 1, 9);
    ub_net_ip_add(b->net, 3, (const uint8_t *)"\x0a\0\0\1");
    ub_net_ip_add(b->net, 4, (const uint8_t *)"ABCDEFGHIJKLMNOP");
    ub_net_route_set(b->net, 0, 1);
    ub_net_route_set(b->net, 5, 0x8000000001);
    ub_net_route_set(b->net, 63, 4);
    ub_net_route_shortest(b->net, 5, 1);
    ub_net_route_default(b->net, 0x10);
    ub_net_route_exact(b->net, true);
    route4(b, 0x0a000000, 8, 2);
    route4(b, 0x0a010000, 16, 4);
    ub_net_rx(b->net, 0, 3, bed_hex(b, 8, "00"));
    return b;
}

static uint8_t *save_bed(NetBed *b, size_t *len)
{
    CoreImage *im = core_image_save(0);
    uint8_t *data;

    ub_net_image(b->net, im);
    g_assert_null(core_image_error(im));
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *load_bed(NetBed *b, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, 0);
    const char *why;

    ub_net_image(b->net, im);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

static void test_image(void)
{
    NetBed *a = filled(), *b = forwarder(40, 64), *c = forwarder(40, 65);
    size_t len, again;
    g_autofree uint8_t *data = save_bed(a, &len), *second = NULL;
    UbFlow f;

    ub_net_route_set(b->net, 9, 1); /* goes away */
    ub_net_ip_add(b->net, 3, (const uint8_t *)"\x0b\0\0\1");
    g_assert_null(load_bed(b, data, len));
    g_assert_cmphex(ub_net_primary(b->net), ==, 0x123456);
    g_assert_true(ub_net_is_own(b->net, 0x33));
    g_assert_cmphex(ub_net_npi(b->net), ==, 77);
    g_assert_cmphex(ub_net_route_get(b->net, 5), ==, 0x8000000001);
    g_assert_cmphex(ub_net_route_get(b->net, 0), ==, 1);
    g_assert_cmphex(ub_net_route_get(b->net, 63), ==, 4);
    g_assert_cmphex(ub_net_route_get(b->net, 9), ==, 0);
    f = flow4(1, 0x0a010001);
    f.npi = 5;
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 0);
    g_assert_cmpuint(ub_net_counter(b->net, 2, UB_NET_DROP_NPI), ==, 1);
    f.npi = 6;
    g_assert_cmphex(spread(b, f, 0, 1, false, NULL), ==, 4);
    f = flow_cna(7, 0, 1, 5);
    f.rt = UB_RT_FLOW_SHORTEST;
    g_assert_cmphex(spread(b, f, 2, 16, true, NULL), ==, 1);
    g_assert_cmpuint(ub_net_counter(b->net, 3, UB_NET_DROP_CFG), ==, 1);
    /* The same once more. */
    bed_free(b);
    b = forwarder(40, 64);
    g_assert_null(load_bed(b, data, len));
    second = save_bed(b, &again);
    g_assert_cmpmem(data, len, second, again);
    g_assert_nonnull(load_bed(c, data, len));
    g_assert_cmphex(ub_net_primary(c->net), ==, 0);
    bed_free(a);
    bed_free(b);
    bed_free(c);
}

/* NPIs have 25 bits, in an image as elsewhere. */
static void test_image_npi(void)
{
    NetBed *a = forwarder(2, 0), *b = forwarder(2, 0);
    size_t len, at = 0;
    g_autofree uint8_t *data = NULL;

    ub_net_set_npi(a->net, 0xabcdef);
    data = save_bed(a, &len);
    while (get_be32(data + at) != 0xabcdef) {
        g_assert_cmpuint(++at + 4, <=, len);
    }
    data[at] = 0xff;
    g_assert_null(load_bed(b, data, len));
    g_assert_cmphex(ub_net_npi(b->net), ==, 0x1abcdef);
    bed_free(a);
    bed_free(b);
}

/* With registers, they have the last word. */
static void test_image_registers(void)
{
    NetBed *a = filled(), *b = forwarder(40, 64);
    UbSpace *space = ub_space_new(1);
    g_autofree uint8_t *data = NULL;
    size_t len;

    g_assert_true(ub_net_attach(b->net, space));
    ub_space_write(space, 0, ROUTES + 0x10 + 2 * 10, 4, 0xf); /* DCNA 9 */
    data = save_bed(a, &len);
    g_assert_null(load_bed(b, data, len));
    g_assert_cmphex(ub_net_route_get(b->net, 9), ==, 4);
    g_assert_cmphex(ub_net_route_get(b->net, 5), ==, 0);
    bed_free(a);
    bed_free(b);
    ub_space_free(space);
}

/* Whatever an image says, it is refused or taken whole. */
static void test_image_hostile(void)
{
    NetBed *a = filled(), *b = forwarder(40, 64);
    size_t len, again;
    g_autofree uint8_t *data = save_bed(a, &len);
    uint64_t rng = 3;
    unsigned taken = 0;

    for (size_t cut = 0; cut < len; cut++) {
        g_assert_nonnull(load_bed(b, data, cut));
        g_assert_cmphex(ub_net_primary(b->net), ==, 0);
    }
    for (unsigned i = 0; i < 20000; i++) {
        g_autofree uint8_t *bent = g_memdup2(data, len);

        rng = rng * UINT64_C(6364136223846793005) + 1442695040888963407;
        bent[(rng >> 33) % len] ^= 1 + (rng >> 20) % 255;
        if (!load_bed(b, bent, len)) {
            g_autofree uint8_t *out = save_bed(b, &again);

            g_assert_null(load_bed(b, out, again));
            taken++;
        }
    }
    g_assert_cmpuint(taken, >, 100);
    bed_free(a);
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/net/route/entries", test_entries);
    g_test_add_func("/ub/net/route/policies", test_policies);
    g_test_add_func("/ub/net/route/rhythm", test_rhythm);
    g_test_add_func("/ub/net/route/port-down", test_port_down);
    g_test_add_func("/ub/net/route/untouched", test_untouched);
    g_test_add_func("/ub/net/route/icrc-transit", test_icrc_transit);
    g_test_add_func("/ub/net/route/own", test_own);
    g_test_add_func("/ub/net/route/ip", test_ip_routes);
    g_test_add_func("/ub/net/route/ip-flows", test_ip_flows);
    g_test_add_func("/ub/net/route/hops", test_hops);
    g_test_add_func("/ub/net/route/edge-npi", test_edge_npi);
    g_test_add_func("/ub/net/route/registers", test_registers);
    g_test_add_func("/ub/net/route/generation", test_generation);
    g_test_add_func("/ub/net/route/registers-none", test_registers_none);
    g_test_add_func("/ub/net/image/round-trip", test_image);
    g_test_add_func("/ub/net/image/npi", test_image_npi);
    g_test_add_func("/ub/net/image/registers", test_image_registers);
    g_test_add_func("/ub/net/image/hostile", test_image_hostile);
    return g_test_run();
}
