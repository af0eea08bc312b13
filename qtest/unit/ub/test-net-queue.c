/*
 * The network layer: egress queues, VLs, congestion marks, the watchdog.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "net-bed.h"

static NetBed *forwarder(unsigned ports)
{
    UbNetConfig conf;

    ub_net_config_init(&conf);
    conf.ports = ports;
    conf.forward = true;
    conf.npi_mode = UB_NPI_OPEN;
    conf.route_default = ~UINT64_C(1);
    return bed_new(&conf);
}

static void set_conf(NetBed *b)
{
    g_assert_null(ub_net_configure(b->net, &b->conf));
}

static void drop_sent(NetBed *b, unsigned port)
{
    while (b->sent[port].length) {
        core_packet_free(bed_sent(b, port));
    }
}

/* A packet of @len bytes in all, forwarded from port 0 on a VL with a CCI. */
static void forward(NetBed *b, unsigned vl, uint16_t cci, unsigned len)
{
    UbFlow f = flow_cna(UB_LPH_CNA24, 0, 1, 2);
    CorePacket *pkt;

    f.cci = cci;
    pkt = bed_wire(b, &f, len - 14);
    g_assert_cmpuint(pkt->len, ==, len);
    ub_meta(pkt)->vl = vl;
    ub_net_rx(b->net, b->now, 0, pkt);
}

/* ---- Busy and room ------------------------------------------------------------- */

static void test_busy(void)
{
    UbNetConfig conf;
    UbFlow f = flow_cna(UB_LPH_BYPASS, 0, 0, 2);
    CorePacket *pkt;
    unsigned n = 0;
    NetBed *b;

    ub_net_config_init(&conf);
    conf.queue_limit = 1000;
    b = bed_new(&conf);
    b->takes[0] = 2;
    /* 2 go out, and as many wait as begin within the limit */
    while (ub_net_ready(b->net, &f) == UB_SENT) {
        pkt = bed_packet(b, 92, 0);
        g_assert_cmpint(ub_net_send(b->net, 0, &f, pkt), ==, UB_SENT);
        n++;
    }
    g_assert_cmpuint(n, ==, 12);
    g_assert_cmpuint(b->sent[0].length, ==, 2);
    g_assert_cmpuint(ub_net_queued(b->net, 0, 0), ==, 1000);
    g_assert_cmpuint(bed_count(b, UB_NET_BUSY), ==, 1);
    /* The caller's packet is as it was. */
    pkt = bed_packet(b, 92, 7);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, pkt), ==, UB_BUSY);
    g_assert_cmpuint(pkt->len, ==, 92);
    g_assert_cmpuint(core_packet_data(pkt)[0], ==, 7);
    g_assert_cmpuint(bed_count(b, UB_NET_BUSY), ==, 2);
    core_packet_free(pkt);
    pkt = bed_hex(b, 9, "0000000200000000 01020304");
    g_assert_cmpint(ub_net_send_raw(b->net, 0, 0, pkt), ==, UB_BUSY);
    core_packet_free(pkt);
    /* Another VL has its own. */
    f.vl = 1;
    b->takes[0] = 1;
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 92, 0)), ==,
                    UB_SENT);
    g_assert_cmpuint(b->sent[0].length, ==, 3);
    f.vl = UB_NET_ANY;
    /* Half of it must go before room is told, once. */
    g_assert_cmpuint(b->kicks, ==, 0);
    ub_net_room(b->net, 0, 0, 1);
    g_assert_cmpuint(b->kicks, ==, 0);
    ub_net_room(b->net, 0, 0, 0);
    g_assert_cmpuint(b->kicks, ==, 1);
    b->takes[0] = 4;
    g_assert_cmpint(ub_net_run(b->net, 0, 100), ==, INT64_MAX);
    g_assert_cmpuint(ub_net_queued(b->net, 0, 0), ==, 600);
    g_assert_cmpuint(b->rooms, ==, 0);
    b->takes[0] = 1;
    ub_net_run(b->net, 0, 100);
    g_assert_cmpuint(b->rooms, ==, 1);
    g_assert_cmpuint(b->room_port, ==, 0);
    g_assert_cmpuint(b->room_vl, ==, 0);
    b->takes[0] = 100;
    g_assert_cmpint(ub_net_run(b->net, 9, 2), ==, 9); /* the budget */
    g_assert_cmpint(ub_net_run(b->net, 9, 100), ==, INT64_MAX);
    g_assert_cmpuint(b->rooms, ==, 1);
    g_assert_cmpuint(ub_net_queued(b->net, 0, 0), ==, 0);
    g_assert_cmpuint(b->sent[0].length, ==, 13);
    drop_sent(b, 0);
    /* A queue that is lost has room too. */
    b->takes[0] = 0;
    while (ub_net_send(b->net, 0, &f, pkt = bed_packet(b, 92, 0)) ==
           UB_SENT) {
    }
    core_packet_free(pkt);
    ub_net_port_state(b->net, 0, 0, 0);
    g_assert_cmpuint(b->rooms, ==, 2);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_FLUSHED), ==, 10);
    bed_free(b);
}

/* Room is told of the VL that has it. */
static void test_busy_vl(void)
{
    UbNetConfig conf;
    UbFlow f = flow_cna(UB_LPH_BYPASS, 0, 0, 2);
    CorePacket *pkt;
    NetBed *b;

    ub_net_config_init(&conf);
    conf.ports = 2;
    conf.queue_limit = 1;
    b = bed_new(&conf);
    f.port = 1;
    f.vl = 5;
    b->takes[1] = 0;
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 92, 0)), ==,
                    UB_SENT);
    pkt = bed_packet(b, 92, 0);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, pkt), ==, UB_BUSY);
    core_packet_free(pkt);
    b->takes[1] = 9;
    ub_net_run(b->net, 0, 10);
    g_assert_cmpuint(b->rooms, ==, 1);
    g_assert_cmpuint(b->room_port, ==, 1);
    g_assert_cmpuint(b->room_vl, ==, 5);
    drop_sent(b, 1);
    bed_free(b);
}

/* Order is kept within a VL, whatever the port does. */
static void test_order(void)
{
    UbNetConfig conf;
    UbFlow f = flow_cna(UB_LPH_BYPASS, 0, 0, 2);
    unsigned next = 0;
    uint64_t rng = 9;
    NetBed *b;

    ub_net_config_init(&conf);
    b = bed_new(&conf);
    for (unsigned i = 0; i < 200;) {
        rng = rng * UINT64_C(6364136223846793005) + 1442695040888963407;
        b->takes[0] = rng >> 60 & 3;
        if (rng >> 40 & 1) {
            ub_net_run(b->net, 0, 100);
        } else {
            g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, i)),
                            ==, UB_SENT);
            i++;
        }
    }
    b->takes[0] = UINT_MAX;
    ub_net_run(b->net, 0, 1000);
    while (b->sent[0].length) {
        CorePacket *pkt = bed_sent(b, 0);

        g_assert_cmpuint(core_packet_data(pkt)[8], ==, (uint8_t)next++);
        core_packet_free(pkt);
    }
    g_assert_cmpuint(next, ==, 200);
    bed_free(b);
}

static void test_transit_limit(void)
{
    NetBed *b = forwarder(2);

    b->takes[1] = 0;
    for (unsigned i = 0; i < 2000; i++) {
        forward(b, 0, 0, 100);
    }
    g_assert_cmpuint(ub_net_queued(b->net, 1, 0), ==, 200000);
    ub_net_reset(b->net, 0);
    b->conf.transit_limit = 1000;
    set_conf(b);
    for (unsigned i = 0; i < 12; i++) {
        forward(b, 0, 0, 100);
    }
    g_assert_cmpuint(ub_net_queued(b->net, 1, 0), ==, 1000);
    g_assert_cmpuint(ub_net_counter(b->net, 1, UB_NET_DROP_QUEUE_FULL), ==, 2);
    bed_free(b);
}

/* A packet of IP that comes by a port. */
static void forward_ip(NetBed *b, unsigned port, const uint8_t dst[16])
{
    UbFlow f;

    ub_flow_init(&f, UB_LPH_IPV4);
    memcpy(f.ip.dst, dst, 16);
    f.ip.src[0] = 10;
    ub_net_rx(b->net, b->now, port, bed_wire(b, &f, 40));
}

/* What comes by an Ethernet port has no credits, what leaves by one would keep them:
 * queue_limit bounds both.  Ports 2 and 3 are Ethernet. */
static void test_ethernet_limit(void)
{
    static const struct { unsigned in, out; bool bounded; } rows[] = {
        { 0, 1, false }, { 0, 2, true }, { 2, 1, true }, { 2, 3, true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const unsigned in = rows[i].in, out = rows[i].out;
        const uint8_t dst[16] = { 10, 0, 2, 1 };
        UbNetConfig conf;
        NetBed *b;

        ub_net_config_init(&conf);
        conf.ports = 4;
        conf.ethernet = 2;
        conf.forward = true;
        conf.npi_mode = UB_NPI_OPEN;
        conf.queue_limit = 1000;
        b = bed_new(&conf);
        g_assert_true(ub_net_ip_route(b->net, UB_LPH_IPV4, dst, 32,
                                      UINT64_C(1) << out));
        b->takes[out] = 0;
        for (unsigned n = 0; n < 100; n++) {
            forward_ip(b, in, dst);
        }
        if (rows[i].bounded) {
            g_assert_cmpuint(ub_net_queued(b->net, out, 0), >=, 1000);
            g_assert_cmpuint(ub_net_queued(b->net, out, 0), <, 1100);
        } else {
            g_assert_cmpuint(ub_net_queued(b->net, out, 0), >, 3000);
        }
        g_assert_true(rows[i].bounded ==
                      !!ub_net_counter(b->net, out, UB_NET_DROP_QUEUE_FULL));
        bed_free(b);
    }
}

/* ---- VLs ------------------------------------------------------------------------ */

static void fill(NetBed *b, unsigned vl, unsigned n, unsigned len)
{
    while (n--) {
        forward(b, vl, 0, len);
    }
}

static unsigned vl_of_next(NetBed *b)
{
    CorePacket *pkt = bed_sent(b, 1);
    unsigned vl;

    g_assert_nonnull(pkt);
    vl = ub_meta(pkt)->vl;
    core_packet_free(pkt);
    return vl;
}

static void test_strict(void)
{
    NetBed *b = forwarder(2);

    b->conf.vl_strict = 0x8004;
    set_conf(b);
    b->takes[1] = 0;
    fill(b, 0, 3, 100);
    fill(b, 2, 3, 100);
    fill(b, 15, 3, 100);
    b->takes[1] = 4;
    ub_net_run(b->net, 0, 100);
    g_assert_cmpuint(vl_of_next(b), ==, 15);
    g_assert_cmpuint(vl_of_next(b), ==, 15);
    g_assert_cmpuint(vl_of_next(b), ==, 15);
    g_assert_cmpuint(vl_of_next(b), ==, 2);
    /* One that the port does not take is passed by. */
    b->room[1] = 0xfffb;
    b->takes[1] = 100;
    ub_net_run(b->net, 0, 1);
    g_assert_cmpuint(vl_of_next(b), ==, 0);
    b->room[1] = 0xffff;
    ub_net_run(b->net, 0, 100);
    g_assert_cmpuint(vl_of_next(b), ==, 2);
    g_assert_cmpuint(vl_of_next(b), ==, 2);
    g_assert_cmpuint(vl_of_next(b), ==, 0);
    g_assert_cmpuint(vl_of_next(b), ==, 0);
    bed_free(b);
}

/* Bytes by weight, whatever the packets' lengths. */
static void test_weights(void)
{
    static const unsigned lens[3][3] = {
        { 1000, 1000, 1000 }, { 4000, 250, 1000 }, { 100, 8000, 3000 },
    };
    NetBed *b = forwarder(2);

    b->conf.vl_weight[0] = 1;
    b->conf.vl_weight[3] = 3;
    b->conf.vl_weight[7] = 0; /* as 1 */
    set_conf(b);
    for (unsigned k = 0; k < 3; k++) {
        static const unsigned vls[] = { 0, 3, 7 };
        unsigned bytes[16] = { 0 }, all = 0;

        b->takes[1] = 0;
        for (unsigned i = 0; i < 3; i++) {
            fill(b, vls[i], 700000 / lens[k][i], lens[k][i]);
        }
        while (all < 500000) {
            CorePacket *pkt;

            b->takes[1] = 1;
            ub_net_run(b->net, 0, 1);
            pkt = bed_sent(b, 1);
            all += pkt->len;
            bytes[ub_meta(pkt)->vl] += pkt->len;
            core_packet_free(pkt);
        }
        for (unsigned i = 0; i < 3; i++) {
            double share = (double)bytes[vls[i]] / all;

            g_assert_cmpfloat(share, >, vls[i] == 3 ? 0.57 : 0.18);
            g_assert_cmpfloat(share, <, vls[i] == 3 ? 0.63 : 0.22);
        }
        ub_net_reset(b->net, 0);
    }
    bed_free(b);
}

/* What a queue had left of its share is gone when it is empty: it saves nothing. */
static void test_share_ends(void)
{
    NetBed *b = forwarder(2);
    static const unsigned order[] = { 3, 0 };

    b->takes[1] = 0;
    fill(b, 0, 1, 100);
    b->takes[1] = 1;
    ub_net_run(b->net, 0, 1);
    drop_sent(b, 1);
    /* A packet that is longer than a share waits for the next one, the other's goes. */
    b->takes[1] = 0;
    fill(b, 0, 1, 2049);
    fill(b, 3, 1, 2048);
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        CorePacket *pkt;

        b->takes[1] = 1;
        ub_net_run(b->net, 0, 1);
        pkt = bed_sent(b, 1);
        g_assert_nonnull(pkt);
        g_assert_cmpuint(ub_meta(pkt)->vl, ==, order[i]);
        core_packet_free(pkt);
    }
    bed_free(b);
}

/* ---- Marks ---------------------------------------------------------------------- */

static uint16_t mark_of(NetBed *b, uint16_t cci)
{
    CorePacket *pkt;
    uint16_t got = 0;

    forward(b, 0, cci, 100);
    b->takes[1] = UINT_MAX;
    ub_net_run(b->net, 0, 1000);
    b->takes[1] = 0;
    while ((pkt = bed_sent(b, 1))) {
        if (ub_meta(pkt)->vl == 0) {
            got = get_be16(core_packet_data(pkt) + 6);
        }
        core_packet_free(pkt);
    }
    return got;
}

static void test_fecn(void)
{
    static const struct {
        unsigned queued; /* packets of 100 bytes */
        uint16_t cci, out;
    } rows[] = {
        { 9, 0x8002, 0x8002 }, { 10, 0x8002, 0x8001 }, { 19, 0x8002, 0x8001 },
        { 20, 0x8002, 0x8003 }, { 20, 0x8001, 0x8003 },
        { 20, 0x9001, 0x8003 }, /* worse than another hop: its Loc goes */
        { 10, 0x9001, 0x9001 }, { 10, 0x8003, 0x8003 }, { 20, 0x9003, 0x9003 },
        { 20, 0x8000, 0x8000 }, /* not to be marked */
        { 20, 0x4556, 0x4557 }, /* the time stamp stays */
        { 20, 0x2002, 0x2002 }, { 20, 0x0002, 0x0002 },
    };
    NetBed *b = forwarder(2);
    unsigned marked = 0;

    b->conf.fecn = true;
    b->conf.fecn_light = 1000;
    b->conf.fecn_heavy = 2000;
    set_conf(b);
    b->takes[1] = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        fill(b, 0, rows[i].queued, 100);
        g_assert_cmphex(mark_of(b, rows[i].cci), ==, rows[i].out);
        marked += rows[i].cci != rows[i].out;
        g_assert_cmpuint(ub_net_counter(b->net, 1, UB_NET_MARKED), ==, marked);
    }
    /* At the edge. */
    b->conf.edge_ports = 2;
    set_conf(b);
    fill(b, 0, 20, 100);
    g_assert_cmphex(mark_of(b, 0x8002), ==, 0x9003);
    b->conf.edge_ports = 1;
    set_conf(b);
    fill(b, 0, 20, 100);
    g_assert_cmphex(mark_of(b, 0x8002), ==, 0x8003);
    /* Other VLs' queues do not count. */
    fill(b, 1, 20, 100);
    g_assert_cmphex(mark_of(b, 0x8002), ==, 0x8002);
    /* Where congestion only spreads from. */
    b->starved = true;
    fill(b, 0, 20, 100);
    g_assert_cmphex(mark_of(b, 0x8002), ==, 0x8003);
    b->conf.root_cause = true;
    set_conf(b);
    fill(b, 0, 20, 100);
    g_assert_cmphex(mark_of(b, 0x8002), ==, 0x8002);
    b->starved = false;
    fill(b, 0, 20, 100);
    g_assert_cmphex(mark_of(b, 0x8002), ==, 0x8003);
    b->conf.fecn = false;
    set_conf(b);
    fill(b, 0, 20, 100);
    g_assert_cmphex(mark_of(b, 0x8002), ==, 0x8002);
    bed_free(b);
}

/* The CCI stands elsewhere in each form, and its marks break no ICRC. */
static void test_fecn_forms(void)
{
    static const struct {
        unsigned cfg, at;
    } rows[] = { { 3, 0 }, { 4, 0 }, { 6, 4 }, { 7, 6 }, { 9, 4 } };
    NetBed *b = forwarder(2);

    b->conf.fecn = true;
    b->conf.fecn_light = b->conf.fecn_heavy = 1;
    b->conf.hops = false;
    set_conf(b);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbFlow f = flow_cna(rows[i].cfg, 0, 1, 2);
        g_autofree uint8_t *copy = NULL;
        CorePacket *pkt;

        f.cci = 0x8002;
        f.ip.src[0] = f.ip.dst[0] = 1;
        f.npi = 1;
        b->takes[1] = 0;
        forward(b, 0, 0, 100);
        pkt = bed_wire(b, &f, 30);
        copy = g_memdup2(core_packet_data(pkt), pkt->len);
        put_be16(copy + rows[i].at, 0x8003);
        ub_net_rx(b->net, 0, 0, pkt);
        b->takes[1] = UINT_MAX;
        ub_net_run(b->net, 0, 10);
        core_packet_free(bed_sent(b, 1));
        pkt = bed_sent(b, 1);
        g_assert_cmpmem(core_packet_data(pkt), pkt->len, copy, pkt->len);
        core_packet_free(pkt);
    }
    bed_free(b);
}

/* CAQM (§5.3.5.3): C where it congests, I taken back where it would. */
static void test_caqm(void)
{
    static const struct {
        unsigned queued;
        uint16_t cci, out;
    } rows[] = {
        { 0, 0x0520, 0x0520 },  /* 32 * 10 more are granted */
        { 6, 0x0520, 0x0520 }, { 7, 0x0520, 0x04b2 }, /* 700 + 320 > 1000 */
        { 9, 0x0400, 0x0400 }, { 10, 0x0400, 0x0600 }, { 10, 0x050a, 0x06ff },
        { 30, 0x0501, 0x06ff }, { 0, 0x0565, 0x0400 }, /* 1010 > 1000 */
        { 0, 0x0564, 0x0564 },
        { 30, 0x0120, 0x0120 }, /* not enabled */
        { 10, 0x1600, 0x1600 }, /* marked before, elsewhere */
        { 30, 0x8400, 0x8400 }, { 30, 0x2520, 0x2520 },
    };
    NetBed *b = forwarder(2);
    unsigned denied = 0, marked = 0;

    b->conf.caqm = true;
    b->conf.caqm_congested = 1000;
    b->conf.caqm_unit = 10;
    set_conf(b);
    b->takes[1] = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        fill(b, 0, rows[i].queued, 100);
        g_assert_cmphex(mark_of(b, rows[i].cci), ==, rows[i].out);
        denied += (rows[i].cci & ~rows[i].out & 0x100) != 0;
        marked += rows[i].cci != rows[i].out;
        g_assert_cmpuint(bed_count(b, UB_NET_CAQM_DENIED), ==, denied);
        g_assert_cmpuint(bed_count(b, UB_NET_CAQM_MARKED), ==, marked);
    }
    /* 1004 * 255 / 1000 is one more than Hint can say. */
    forward(b, 0, 0, 104);
    fill(b, 0, 9, 100);
    g_assert_cmphex(mark_of(b, 0x0501), ==, 0x06ff);
    b->conf.edge_ports = 2;
    set_conf(b);
    fill(b, 0, 10, 100);
    g_assert_cmphex(mark_of(b, 0x0400), ==, 0x1600);
    b->conf.caqm = false;
    set_conf(b);
    fill(b, 0, 10, 100);
    g_assert_cmphex(mark_of(b, 0x0400), ==, 0x0400);
    bed_free(b);
}

/* ---- The watchdog ------------------------------------------------------------------ */

static void test_watchdog(void)
{
    NetBed *b = forwarder(2);

    b->conf.watchdog = 1000;
    set_conf(b);
    b->takes[1] = 0;
    b->kicks = 0;
    b->now = 5000;
    fill(b, 2, 3, 100);
    g_assert_cmpuint(b->kicks, ==, 1);
    b->now = 5400;
    fill(b, 4, 1, 100);
    g_assert_cmpuint(b->kicks, ==, 2);
    g_assert_cmpint(ub_net_run(b->net, 5400, 10), ==, 6000);
    /* A queue that is served, however little, is not stuck. */
    b->room[1] = 4;
    b->takes[1] = 1;
    g_assert_cmpint(ub_net_run(b->net, 5999, 10), ==, 6400);
    g_assert_cmpint(ub_net_run(b->net, 6399, 10), ==, 6400);
    g_assert_cmpuint(ub_net_queued(b->net, 1, 4), ==, 100);
    g_assert_cmpint(ub_net_run(b->net, 6400, 10), ==, 6999);
    g_assert_cmpuint(ub_net_queued(b->net, 1, 4), ==, 0);
    g_assert_cmpuint(ub_net_queued(b->net, 1, 2), ==, 200);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_WATCHDOG), ==, 1);
    /* The whole queue goes. */
    g_assert_cmpint(ub_net_run(b->net, 8000, 10), ==, INT64_MAX);
    g_assert_cmpuint(ub_net_counter(b->net, 1, UB_NET_DROP_WATCHDOG), ==, 3);
    /* Empty time does not count. */
    b->now = 20000;
    b->room[1] = 0;
    fill(b, 2, 1, 100);
    g_assert_cmpint(ub_net_run(b->net, 20000, 10), ==, 21000);
    /* Off: for ever. */
    b->conf.watchdog = 0;
    set_conf(b);
    g_assert_cmpint(ub_net_run(b->net, 1000000, 10), ==, INT64_MAX);
    g_assert_cmpuint(ub_net_queued(b->net, 1, 2), ==, 100);
    drop_sent(b, 1);
    bed_free(b);
}

/* Each queue of each port has its own time. */
static void test_watchdog_ports(void)
{
    NetBed *b = forwarder(4);
    CorePacket *pkt;

    b->conf.watchdog = 1000;
    set_conf(b);
    for (unsigned port = 1; port < 4; port++) {
        UbFlow f = flow_cna(UB_LPH_CNA24, 0, 1, 2);

        b->takes[port] = 0;
        ub_net_route_default(b->net, 1u << port);
        pkt = bed_wire(b, &f, 86);
        ub_net_rx(b->net, port * 100, 0, pkt);
    }
    for (unsigned port = 1; port < 4; port++) {
        g_assert_cmpint(ub_net_run(b->net, 999 + port * 100, 10), ==,
                        1000 + port * 100);
        g_assert_cmpuint(ub_net_queued(b->net, port, 0), ==, 100);
        g_assert_cmpint(ub_net_run(b->net, 1000 + port * 100, 10), ==,
                        port == 3 ? INT64_MAX : 1100 + port * 100);
        g_assert_cmpuint(ub_net_queued(b->net, port, 0), ==, 0);
    }
    bed_free(b);
}

/*
 * A ring of four switches, each with a controller behind port 0; everybody
 * sends without end to the controller three links on.  A link's receiver has
 * room for so many packets of each VL, which come back when they have left it:
 * the credits of the data link layer.
 */
#define RING 4
#define CREDITS 4
#define LOAD 60

typedef struct Ring {
    NetBed *sw[RING];
    unsigned sent[RING];
} Ring;

static void ring_gone(CorePacket *pkt)
{
    (*(unsigned *)pkt->release_opaque)--;
}

static void ring_new(Ring *r, int64_t watchdog, bool map)
{
    memset(r, 0, sizeof(*r));
    for (unsigned i = 0; i < RING; i++) {
        UbNetConfig conf;

        ub_net_config_init(&conf);
        conf.ports = 3; /* 0 controller, 1 onward, 2 from the one before */
        conf.forward = true;
        conf.route_entries = RING + 1;
        conf.route_default = 2;
        conf.watchdog = watchdog;
        if (map && i == 0) {
            conf.vl_out[0] = 1; /* where the ring closes */
        }
        r->sw[i] = bed_new(&conf);
        ub_net_route_set(r->sw[i]->net, i + 1, 1);
    }
}

/* The wire from one switch to the next: as much as there are credits for. */
static void ring_wire(Ring *r, unsigned i, unsigned held[RING][2], int64_t now)
{
    unsigned to = (i + 1) % RING;
    NetBed *b = r->sw[i];

    for (;;) {
        CorePacket *pkt;
        unsigned vl;

        b->room[1] = (held[to][0] < CREDITS) | (held[to][1] < CREDITS) << 1;
        b->takes[1] = 1;
        ub_net_run(b->net, now, 1);
        b->takes[1] = 0;
        pkt = bed_sent(b, 1);
        if (!pkt) {
            return;
        }
        if (pkt->released) {
            pkt->released(pkt); /* it has left the receive buffer */
        }
        vl = ub_meta(pkt)->vl;
        held[to][vl]++;
        pkt->released = ring_gone;
        pkt->release_opaque = &held[to][vl];
        ub_net_rx(r->sw[to]->net, now, 2, pkt);
    }
}

static unsigned run_ring(int64_t watchdog, bool map, uint64_t *dropped)
{
    unsigned held[RING][2] = { 0 }, arrived = 0;
    Ring r;

    ring_new(&r, watchdog, map);
    for (int64_t now = 0; now < 4000; now++) {
        for (unsigned i = 0; i < RING; i++) {
            UbFlow f = flow_cna(UB_LPH_CNA16, 0, i + 1,
                                (i + 3) % RING + 1);
            NetBed *b = r.sw[i];

            b->takes[1] = 0;
            /* The controller has credits for as many of its own. */
            while (r.sent[i] < LOAD && ub_net_queued(b->net, 1, 0) +
                   ub_net_queued(b->net, 1, 1) < 12 * 32) {
                ub_net_rx(b->net, now, 0, bed_wire(b, &f, 20));
                r.sent[i]++;
            }
        }
        for (unsigned i = 0; i < RING; i++) {
            CorePacket *pkt;

            ring_wire(&r, i, held, now);
            while ((pkt = bed_sent(r.sw[i], 0))) {
                arrived++;
                core_packet_free(pkt);
            }
        }
    }
    *dropped = 0;
    for (unsigned i = 0; i < RING; i++) {
        g_assert_cmpuint(r.sent[i], ==, watchdog || map ? LOAD : r.sent[i]);
        *dropped += bed_count(r.sw[i], UB_NET_DROP_WATCHDOG);
    }
    for (unsigned i = 0; i < RING; i++) {
        ub_net_reset(r.sw[i]->net, 0);
    }
    for (unsigned i = 0; i < RING; i++) {
        CorePacketPool *pool = r.sw[i]->pool;

        ub_net_free(r.sw[i]->net);
        g_assert_cmpuint(core_packet_pool_used(pool), ==, 0);
        core_packet_pool_free(pool);
        g_free(r.sw[i]);
    }
    return arrived;
}

static void test_ring(void)
{
    uint64_t dropped;

    /* With neither, it stands still for ever. */
    g_assert_cmpuint(run_ring(0, false, &dropped), <, RING * LOAD);
    g_assert_cmpuint(dropped, ==, 0);
    /* The map: all arrive. */
    g_assert_cmpuint(run_ring(0, true, &dropped), ==, RING * LOAD);
    g_assert_cmpuint(dropped, ==, 0);
    /* The watchdog: it goes on, at a price. */
    g_assert_cmpuint(run_ring(50, false, &dropped) + dropped, ==, RING * LOAD);
    g_assert_cmpuint(dropped, >, 0);
    g_assert_cmpuint(dropped, <, RING * LOAD);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/net/queue/busy", test_busy);
    g_test_add_func("/ub/net/queue/busy-vl", test_busy_vl);
    g_test_add_func("/ub/net/queue/order", test_order);
    g_test_add_func("/ub/net/queue/transit-limit", test_transit_limit);
    g_test_add_func("/ub/net/queue/ethernet-limit", test_ethernet_limit);
    g_test_add_func("/ub/net/queue/strict", test_strict);
    g_test_add_func("/ub/net/queue/weights", test_weights);
    g_test_add_func("/ub/net/queue/share-ends", test_share_ends);
    g_test_add_func("/ub/net/queue/fecn", test_fecn);
    g_test_add_func("/ub/net/queue/fecn-forms", test_fecn_forms);
    g_test_add_func("/ub/net/queue/caqm", test_caqm);
    g_test_add_func("/ub/net/queue/watchdog", test_watchdog);
    g_test_add_func("/ub/net/queue/watchdog-ports", test_watchdog_ports);
    g_test_add_func("/ub/net/queue/ring", test_ring);
    return g_test_run();
}
