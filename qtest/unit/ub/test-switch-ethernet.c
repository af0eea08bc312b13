/*
 * The switch as a UB2E Switch (UB 2.0 appendix E): what it forwards between UB links
 * and Ethernet ports, and what it does not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-bed.h"

#define ETHER 2     /* the Ethernet port, behind two links */

static const uint8_t station[6] = { 2, 0, 0, 0, 0, 9 };
static const uint8_t far_ip[16] = { 10, 0, 1, 9 };

static void start(uint32_t ethers)
{
    UbSwitchConfig conf;

    ub_switch_config_init(&conf);
    conf.ethernet = ethers;
    conf.uboe.mac[0] = 2;
    setup_with(&conf, 2, 2);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t ip[16] = { 10, 0, 0, i + 1 };

        g_assert_true(ub_net_ip_route(ub_switch_net(sw), UB_LPH_IPV4, ip, 32,
                                      UINT64_C(1) << i));
    }
    g_assert_true(ub_net_ip_route(ub_switch_net(sw), UB_LPH_IPV4, far_ip, 24,
                                  UINT64_C(1) << ETHER));
    ub_switch_ethernet_link(sw, now, ETHER, true);
}

static void know_station(void)
{
    g_assert_null(ub_uboe_neighbour_set(ub_switch_ethernet_port(sw, ETHER), now,
                                        0, UB_LPH_IPV4, far_ip, station));
}

static UbFlow to_far(void)
{
    UbFlow f;

    ub_flow_init(&f, UB_LPH_IPV4);
    memcpy(f.ip.dst, far_ip, 4);
    f.cci = ub_cci_fecn(false, UB_FECN_NONE);
    f.sl = 2;
    return f;
}

static void send_far(unsigned from, unsigned len)
{
    UbFlow f = to_far();

    g_assert_cmpint(send_to(from, &f, len, 1), ==, UB_SENT);
}

static uint64_t count(unsigned port, UbNetCounter c)
{
    return ub_net_counter(ub_switch_net(sw), port, c);
}

static uint64_t ether_count(UbUboeCounter c)
{
    return ub_uboe_counter(ub_switch_ethernet_port(sw, ETHER), c);
}

/* A frame that went out, sent back: the other station answers with what it got. */
static void reflect(GByteArray *b)
{
    uint8_t swap[6], *ip = b->data + 14;
    uint32_t total = get_be16(ip + 2);

    memcpy(swap, b->data, 6);
    memcpy(b->data, b->data + 6, 6);
    memcpy(b->data + 6, swap, 6);
    memcpy(swap, ip + 12, 4);
    memcpy(ip + 12, ip + 16, 4);
    memcpy(ip + 16, swap, 4);
    ub_icrc_put(ip + total - 4, ub_icrc(UB_LPH_IPV4, ip, total - 4));
    ub_switch_ethernet_rx(sw, now, ETHER, b->data, b->len);
}

/* There and back, after the question who the station is. */
static void test_both_ways(void)
{
    static const uint8_t answer[] = {
        2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2,
        2, 0, 0, 0, 0, 9, 10, 0, 1, 9, 2, 0, 0, 0, 0, 0, 10, 0, 0, 1,
    };
    CorePacket *pkt;
    GByteArray *b;

    start(1);
    send_far(0, 200);
    run(SECOND / 2);
    b = g_queue_pop_head(&ether_out); /* who has it? */
    g_assert_nonnull(b);
    g_assert_cmphex(get_be16(b->data + 12), ==, 0x0806);
    g_byte_array_unref(b);
    g_assert_cmpuint(ether_out.length, ==, 0);
    ub_switch_ethernet_rx(sw, now, ETHER, answer, sizeof(answer));
    b = g_queue_pop_head(&ether_out);
    g_assert_nonnull(b);
    g_assert_cmpuint(b->len, ==, 14 + 28 + 200 + 4);
    g_assert_cmphex(b->data[15], ==, 2 << 4 | 2); /* SL 2 is DSCP 8; FECN is ECN */
    g_assert_cmphex(b->data[22], ==, 63);
    g_assert_cmpuint(captured[1], >, 0);
    reflect(b);
    run(SECOND / 10);
    g_assert_cmpuint(hosts[0].to[UB_NET_TP], ==, 1);
    g_assert_cmphex(hosts[0].flow.cci, ==, ub_cci_fecn(false, UB_FECN_NONE));
    g_assert_cmphex(hosts[0].flow.npi, ==, UB_NPI_DEFAULT);
    g_assert_cmpuint(hosts[0].flow.vl, ==, 0); /* what the link has for SL 2 */
    pkt = next_got(&hosts[0]);
    g_assert_cmpuint(pkt->len, ==, 200);
    g_assert_cmpmem(core_packet_data(pkt), 200, b->data + 42, 200);
    core_packet_free(pkt);
    g_byte_array_unref(b);
    g_assert_cmpuint(count(ETHER, UB_NET_FORWARDED), ==, 1);
    g_assert_cmpuint(count(0, UB_NET_FORWARDED), ==, 1);
    g_assert_cmpuint(count(ETHER, UB_NET_RX_PACKETS), ==, 1);
    teardown();
}

/* Who asks on Ethernet for a host of UB is answered, for a station is not; and no
 * station may be a host. */
static void test_proxy(void)
{
    uint8_t ask[] = {
        255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4,
        0, 1, 2, 0, 0, 0, 0, 9, 10, 0, 1, 9, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
    };

    start(1);
    ub_switch_ethernet_rx(sw, now, ETHER, ask, sizeof(ask));
    g_assert_cmpuint(ether_count(UB_UBOE_ANSWERED), ==, 1);
    g_assert_cmpuint(ether_out.length, ==, 1);
    ask[sizeof(ask) - 2] = 1; /* a station */
    ub_switch_ethernet_rx(sw, now, ETHER, ask, sizeof(ask));
    ask[sizeof(ask) - 2] = 7; /* nobody */
    ub_switch_ethernet_rx(sw, now, ETHER, ask, sizeof(ask));
    g_assert_cmpuint(ether_count(UB_UBOE_ANSWERED), ==, 1);
    ask[30] = 0;              /* a host, he says */
    ask[31] = 1;
    broken = NULL;
    ub_switch_ethernet_rx(sw, now, ETHER, ask, sizeof(ask));
    g_assert_cmpuint(ether_count(UB_UBOE_DROP_SPOOF), ==, 1);
    g_assert_nonnull(broken);
    teardown();
}

/* Ethernet that takes nothing: what waits is in the egress queue, marked where it is
 * congested, and goes when there is room. */
static void test_room(void)
{
    UbNetConfig conf;
    unsigned marked = 0;

    start(1);
    know_station();
    conf = *ub_net_config(ub_switch_net(sw));
    conf.fecn = true;
    conf.fecn_light = 500;
    conf.fecn_heavy = 1000;
    g_assert_null(ub_net_configure(ub_switch_net(sw), &conf));
    ether_room = 2;
    for (unsigned i = 0; i < 8; i++) {
        send_far(i & 1, 200);
        run(SECOND / 100);
    }
    g_assert_cmpuint(ether_out.length, ==, 2);
    g_assert_cmpuint(count(ETHER, UB_NET_MARKED), >, 0);
    ether_room = 100;
    ub_switch_ethernet_room(sw, now, ETHER);
    run(SECOND / 100);
    g_assert_cmpuint(ether_out.length, ==, 8);
    g_assert_cmpuint(ether_count(UB_UBOE_DROP_BUSY), ==, 0);
    while (ether_out.length) {
        GByteArray *b = g_queue_pop_head(&ether_out);

        marked += (b->data[15] & 3) == UB_FECN_HEAVY;
        g_byte_array_unref(b);
    }
    g_assert_cmpuint(marked, >, 0); /* and Ethernet sees it as CE */
    teardown();
}

/* Ethernet that takes nothing for long: frames are lost there, and UB links go on. */
static void test_stalled(void)
{
    UbFlow f = cna(0, 1);

    start(1);
    know_station();
    ether_room = 0;
    for (unsigned i = 0; i < 800; i++) { /* more than a VL has credits for */
        send_far(0, 1000);
        run(SECOND / 10000);
    }
    g_assert_cmpuint(count(ETHER, UB_NET_DROP_QUEUE_FULL), >, 0);
    g_assert_cmpuint(ub_net_queued(ub_switch_net(sw), ETHER, 0), <,
                     ub_net_config(ub_switch_net(sw))->queue_limit + 1100);
    f.nlp = UB_NLP_CTPH;
    g_assert_cmpint(send_to(0, &f, 100, 1), ==, UB_SENT);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].to[UB_NET_TP], ==, 1);
    ether_room = 100;
    teardown();
}

/* IP notify does not take an address from Ethernet, nor one of many. */
static void test_notify(void)
{
    static const struct { uint8_t ip[4]; uint64_t ports; } rows[] = {
        { { 10, 0, 1, 9 }, UINT64_C(1) << ETHER }, { { 127, 0, 0, 1 }, 0 },
        { { 224, 0, 0, 1 }, 0 }, { { 0, 0, 0, 1 }, 0 },
        { { 10, 0, 0, 9 }, 1 },
    };

    start(1);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbIpNotify n = { .cfg = UB_LPH_IPV4, .prefix = 24 };
        uint8_t pdu[UB_IP_NOTIFY_MAX];

        memcpy(n.ip, rows[i].ip, 4);
        broken = NULL;
        send_control(0, UB_CONTROL_IP_NOTIFY, pdu, ub_ip_notify_put(pdu, &n));
        run(SECOND / 100);
        g_assert_cmphex(ub_net_ip_ports(ub_switch_net(sw), n.cfg, n.ip), ==,
                        rows[i].ports);
        g_assert_true(!broken == (rows[i].ports == 1));
    }
    teardown();
}

/* A link that is gone is no way, and neither CNAs nor managers know the port. */
static void test_not_a_link(void)
{
    UbNet *net;

    start(1);
    know_station();
    net = ub_switch_net(sw);
    ub_net_route_set(net, 9, 7);
    g_assert_cmphex(ub_net_route_get(net, 9), ==, 3);
    ub_net_route_default(net, ~UINT64_C(0));
    g_assert_cmphex(ub_net_default_get(net), ==, 3);
    ub_net_route_default(net, 0);
    g_assert_cmpuint(ub_space_read(ub_switch_space(sw),
                                   UB_CFG0_BASE + UB_CFG0_TOTAL_NUMBER_OF_PORTS)
                     & 0xffff, ==, 2);
    g_assert_cmphex(ub_net_ports_up(net), ==, 7);
    links = 0;
    ub_switch_ethernet_link(sw, now, ETHER, false);
    g_assert_cmpuint(links, ==, 1);
    g_assert_cmphex(ub_net_ports_up(net), ==, 3);
    send_far(0, 50);
    run(SECOND / 100);
    g_assert_cmpuint(ether_out.length, ==, 0);
    g_assert_cmpuint(count(0, UB_NET_DROP_PORT_DOWN), ==, 1);
    ub_switch_ethernet_link(sw, now, ETHER, true);
    send_far(0, 50);
    run(SECOND / 100);
    g_assert_cmpuint(ether_out.length, ==, 1);
    teardown();
}

/* NPIs that may not pass the port, either way. */
static void test_npi(void)
{
    GByteArray *b;

    start(1);
    know_station();
    ub_net_npi_allow(ub_switch_net(sw), ETHER, 0x55);
    send_far(0, 50);
    run(SECOND / 100);
    g_assert_cmpuint(ether_out.length, ==, 0);
    g_assert_cmpuint(count(ETHER, UB_NET_DROP_NPI), ==, 1);
    ub_net_npi_clear(ub_switch_net(sw), ETHER);
    send_far(0, 50);
    run(SECOND / 100);
    b = g_queue_pop_head(&ether_out);
    g_assert_nonnull(b);
    ub_net_npi_allow(ub_switch_net(sw), ETHER, 0x55);
    reflect(b);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[0].to[UB_NET_TP], ==, 0);
    g_assert_cmpuint(count(ETHER, UB_NET_DROP_NPI), ==, 2);
    g_byte_array_unref(b);
    teardown();
}

static void test_config(void)
{
    static const struct { unsigned ports, ethernet; bool good; } rows[] = {
        { 1, 0, false }, { 0, 2, false }, { 1, 1, true }, { 60, 5, false },
        { 64, 0, true }, { 60, 4, true },
    };
    static const UbSwitchOps ops = {
        .kick = sw_kick, .wire_send = sw_send, .wire_close = sw_close,
        .ethernet_send = sw_ether_send, .ethernet_has_room = sw_ether_room,
    };
    UbSwitchConfig conf;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *why = NULL;
        UbSwitch *s;

        ub_switch_config_init(&conf);
        conf.ports = rows[i].ports;
        conf.ethernet = rows[i].ethernet;
        conf.uboe.mac[0] = 2;
        s = ub_switch_new(&conf, &ops, NULL, &why);
        g_assert_true(rows[i].good == !!s);
        g_assert_true(rows[i].good == !why);
        ub_switch_free(s);
    }
    conf.uboe.mac[0] = 0;
    g_assert_null(ub_switch_new(&conf, &ops, NULL, &(const char *){ NULL }));
    conf.uboe.mac[5] = 0xff; /* the next port's would be zeroes */
    g_assert_null(ub_switch_new(&conf, &ops, NULL, &(const char *){ NULL }));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/switch-ethernet/both-ways", test_both_ways);
    g_test_add_func("/ub/switch-ethernet/proxy", test_proxy);
    g_test_add_func("/ub/switch-ethernet/room", test_room);
    g_test_add_func("/ub/switch-ethernet/stalled", test_stalled);
    g_test_add_func("/ub/switch-ethernet/notify", test_notify);
    g_test_add_func("/ub/switch-ethernet/not-a-link", test_not_a_link);
    g_test_add_func("/ub/switch-ethernet/npi", test_npi);
    g_test_add_func("/ub/switch-ethernet/config", test_config);
    return g_test_run();
}
