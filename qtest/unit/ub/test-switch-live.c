/*
 * A switch whose links are up: what it says of them, whom it takes for an edge, what it
 * sends by itself, and that it keeps nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-admin.h"
#include "switch-bed.h"

static void admin_start(void)
{
    admin = ub_switch_admin_new(sw, "middle");
}

static void admin_stop(void)
{
    ub_switch_admin_free(admin);
    admin = NULL;
}

/* Nothing that came is held by anybody any more: each link has its credits. */
static void check_credits(void)
{
    run(6 * SECOND);
    for (unsigned i = 0; i < nhosts; i++) {
        UbPortStatus st;

        ub_port_status(ub_switch_port(sw, i), &st);
        for (unsigned vl = 0; vl < 16; vl++) {
            g_assert_cmpuint(st.dll.rx_held[vl], ==, st.dll.rx_pending[vl]);
        }
    }
}

/* ---- Life ------------------------------------------------------------------------ */

/* Nobody is called while it is made, nor when it goes. */
static void test_quiet(void)
{
    static const UbSwitchOps ops = {
        .kick = sw_kick, .wire_send = sw_send, .wire_close = sw_close,
        .ethernet_send = sw_ether_send, .ethernet_has_room = sw_ether_room,
    };
    UbSwitchConfig conf;
    const char *why = NULL;
    UbSwitch *s;

    ub_switch_config_init(&conf);
    conf.ports = 3;
    conf.ethernet = 1;
    conf.uboe.mac[0] = 2;
    g_assert_true(ub_shp_config_add(&conf.shp, "1"));
    kicks = 0;
    s = ub_switch_new(&conf, &ops, NULL, &why);
    g_assert_nonnull(s);
    g_assert_cmpuint(kicks, ==, 0);
    g_assert_cmpuint(ub_switch_ports(s), ==, 3);
    g_assert_cmpuint(ub_switch_ethernet_ports(s), ==, 1);
    ub_switch_run(s, 5);
    kicks = 0;
    ub_switch_free(s);
    g_assert_cmpuint(kicks, ==, 0);
}

static void test_defaults(void)
{
    UbSwitchConfig c;

    memset(&c, 0xff, sizeof(c));
    ub_switch_config_init(&c);
    g_assert_cmpuint(c.ports, ==, 2);
    g_assert_cmpuint(c.ethernet, ==, 0);
    g_assert_cmpuint(c.net.route_entries, ==, 4096);
    g_assert_cmphex(c.net.route_default, ==, 0);
    g_assert_true(c.net.exact_supported);
    g_assert_cmpint(c.net.npi_mode, ==, UB_NPI_OPEN);
    g_assert_false(c.net.npic || c.net.anti_spoof);
    g_assert_true(c.edge_auto && c.ip_notify && c.pass_dhcp);
}

/* A register that is written in a turn, or out of one, is done at once. */
static void test_dev_rst(void)
{
    setup(2, 2);
    kicks = 0;
    ub_space_write(ub_switch_space(sw), now, UB_CFG0_DEV_RST, 1, 0xf);
    g_assert_cmpuint(kicks, ==, 1);
    g_assert_cmpint(sw_next, ==, now);
    run(1000);
    g_assert_cmphex(ub_net_ports_up(ub_switch_net(sw)), ==, 0);
    run(2 * SECOND);
    g_assert_cmphex(ub_net_ports_up(ub_switch_net(sw)), ==, 3);
    teardown();
}

/* A reset takes what slots show and what waits for a station of Ethernet. */
static void count_held(void *opaque, const UbUboeNeighbour *n)
{
    *(unsigned *)opaque += n->held;
}

static void test_reset_all(void)
{
    uint8_t far[16] = { 10, 0, 1, 9 };
    UbSwitchConfig conf;
    UbShpInfo slot;
    unsigned held = 0;
    uint32_t led;
    UbFlow f;

    ub_switch_config_init(&conf);
    conf.ethernet = 1;
    conf.uboe.mac[0] = 2;
    g_assert_true(ub_shp_config_add(&conf.shp, "1+"));
    setup_with(&conf, 2, 2);
    led = UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP) + UB_SHP_REG(0, UB_SHP_WL_CTRL);
    ub_space_write(ub_switch_space(sw), now, led, UB_SHP_LED_ON, 0xf);
    g_assert_true(ub_shp_info(ub_switch_shp(sw), 0, &slot));
    g_assert_cmpuint(slot.work_led, ==, UB_SHP_LED_ON);
    g_assert_true(ub_net_ip_route(ub_switch_net(sw), UB_LPH_IPV4, far, 24, 4));
    ub_switch_ethernet_link(sw, now, 2, true);
    ub_flow_init(&f, UB_LPH_IPV4);
    memcpy(f.ip.dst, far, 4);
    g_assert_cmpint(send_to(0, &f, 100, 1), ==, UB_SENT);
    run(SECOND / 100);
    ub_uboe_neighbours(ub_switch_ethernet_port(sw, 2), count_held, &held);
    g_assert_cmpuint(held, ==, 1);
    ub_space_write(ub_switch_space(sw), now, UB_CFG0_DEV_RST, 1, 0xf);
    run(SECOND / 100);
    held = 0;
    ub_uboe_neighbours(ub_switch_ethernet_port(sw, 2), count_held, &held);
    g_assert_cmpuint(held, ==, 0);
    g_assert_true(ub_shp_info(ub_switch_shp(sw), 0, &slot));
    g_assert_cmpuint(slot.work_led, ==, UB_SHP_LED_OFF);
    teardown();
}

/* ---- Neighbours -------------------------------------------------------------------- */

/* Controllers of both kinds are edges, switches are not, nor is who is gone. */
static void test_edges(void)
{
    static const uint8_t types[] = { 1, 2, 3, 0x12, 4, 0x21 };

    memcpy(host_type, types, sizeof(types));
    setup(6, 6);
    g_assert_cmphex(ub_net_config(ub_switch_net(sw))->edge_ports, ==, 0x2b);
    plug(&hosts[1], false);
    run(SECOND);
    g_assert_cmphex(ub_net_config(ub_switch_net(sw))->edge_ports, ==, 0x29);
    plug(&hosts[1], true);
    run(SECOND);
    g_assert_cmphex(ub_net_config(ub_switch_net(sw))->edge_ports, ==, 0x2b);
    memset(host_type, 0, sizeof(host_type));
    teardown();
}

/* Each port says whose it is, and which. */
static void test_names(void)
{
    uint8_t guid[16] = { [4] = 3, [15] = 0x99 };

    setup(3, 3);
    for (unsigned i = 0; i < 3; i++) {
        UbPortStatus st;

        ub_port_status(hosts[i].port, &st);
        g_assert_true(st.dll.neighbor_valid);
        g_assert_cmpmem(st.dll.neighbor_guid, 16, guid, 16);
        g_assert_cmpuint(st.dll.neighbor_port, ==, i);
    }
    g_assert_cmpmem(ub_switch_guid(sw), 16, guid, 16);
    teardown();
}

/* ---- CFG 5 --------------------------------------------------------------------------- */

/* DHCP keeps its VL, and no receive buffer. */
static void test_dhcp(void)
{
    setup(3, 3);
    for (unsigned i = 0; i < 300; i++) {
        uint8_t group[16], guid[16];
        CorePacket *pkt = packet(&hosts[1], UB_CONTROL_SIZE + 40, 0);

        ub_control_group(group, UB_CONTROL_DHCPV4);
        guid_of(1, guid);
        ub_control_put(core_packet_data(pkt), UB_CONTROL_DHCPV4, group, guid);
        ub_meta(pkt)->lph_cfg = UB_LPH_CONTROL;
        ub_meta(pkt)->vl = 3;
        g_assert_cmpint(ub_net_send_raw(hosts[1].net, now, 0, pkt), ==, UB_SENT);
        run(SECOND / 1000);
        g_assert_cmpuint(hosts[0].got.length, ==, 1);
        g_assert_cmpuint(hosts[2].got.length, ==, 1);
        g_assert_cmpuint(hosts[0].flow.vl, ==, 3);
        g_assert_cmpuint(last_sent.vl, ==, 3);
        g_assert_cmpuint(last_sent.cfg, ==, UB_LPH_CONTROL);
        forget(&hosts[0]);
        forget(&hosts[2]);
    }
    check_credits();
    teardown();
}

/* NPIC as it stands on the wire (appendix F). */
static void test_npic(void)
{
    setup(2, 2);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t npi = i ? 0 : 0x1ffffff;
        uint8_t want[UB_CONTROL_SIZE + UB_NPIC_HEADER + UB_NPIC_PAIR] = { 0 };
        uint8_t group[16], guid[16], *p = want + UB_CONTROL_SIZE;

        guid_of(1, guid);
        ub_control_group(group, UB_CONTROL_NPIC);
        ub_control_put(want, UB_CONTROL_NPIC, group, ub_switch_guid(sw));
        p[0] = i ? UB_NPIC_CLEAR : UB_NPIC_CONFIGURE;
        put_be16(p + 2, 1);
        memcpy(p + 4, guid, 16);
        put_be32(p + 20, npi);
        g_assert_true(ub_switch_npic(sw, now, 1, guid, npi | 0xfe000000 * !i));
        run(SECOND / 100);
        g_assert_cmpuint(last_sent.port, ==, 1);
        g_assert_cmpuint(last_sent.cfg, ==, UB_LPH_CONTROL);
        g_assert_cmpmem(last_sent.data, last_sent.len, want, sizeof(want));
        g_assert_cmphex(hosts[1].npi, ==, npi);
    }
    check_credits();
    teardown();
}

static void notify(unsigned from, unsigned cfg, const uint8_t *ip)
{
    UbIpNotify n = { .cfg = cfg, .prefix = 24 };
    uint8_t pdu[UB_IP_NOTIFY_MAX] = { 0 };

    memcpy(n.ip, ip, 16);
    broken = NULL;
    send_control(from, UB_CONTROL_IP_NOTIFY, pdu, ub_ip_notify_put(pdu, &n));
    run(SECOND / 1000);
}

/* What others have routed counts to no neighbour's share, and an address that has a route
 * needs none. */
static void test_share(void)
{
    unsigned room = UB_NET_MAX_IP_ROUTES / 2;
    UbNet *net;

    setup(2, 2);
    net = ub_switch_net(sw);
    g_assert_true(ub_net_ip_route(net, UB_LPH_IPV4, (uint8_t[16]) { 10, 9 }, 24, 1));
    g_assert_true(ub_net_ip_route(net, UB_LPH_IPV6, (uint8_t[16]) { 0x20, 9 }, 64,
                                  1));
    g_assert_true(ub_net_ip_route(net, UB_LPH_IPV4, (uint8_t[16]) { 10, 8 }, 32, 3));
    g_assert_true(ub_net_ip_route(net, UB_LPH_IPV4, (uint8_t[16]) { 10, 7 }, 32, 2));
    for (unsigned i = 0; i < room; i++) {
        /* Half of them of IPv6. */
        uint8_t ip[16] = { i & 1 ? 0x20 : 10, 1, i >> 8, i };

        notify(0, i & 1 ? UB_LPH_IPV6 : UB_LPH_IPV4, ip);
        g_assert_null(broken);
    }
    notify(0, UB_LPH_IPV4, (uint8_t[16]) { 10, 2 });
    g_assert_nonnull(broken);
    /* The same bytes of the other version are another address. */
    notify(0, UB_LPH_IPV6, (uint8_t[16]) { 10, 1 });
    g_assert_nonnull(broken);
    notify(0, UB_LPH_IPV4, (uint8_t[16]) { 0x20, 1, 0, 1 });
    g_assert_nonnull(broken);
    notify(0, UB_LPH_IPV4, (uint8_t[16]) { 10, 1, 0, 0 });
    g_assert_null(broken);
    /* It takes an address over. */
    notify(0, UB_LPH_IPV4, (uint8_t[16]) { 10, 7 });
    g_assert_null(broken);
    g_assert_cmphex(ub_net_ip_ports(net, UB_LPH_IPV4, (uint8_t[16]) { 10, 7 }), ==,
                    1);
    notify(1, UB_LPH_IPV4, (uint8_t[16]) { 10, 2 });
    g_assert_null(broken);
    check_credits();
    teardown();
}

/* ---- What goes by ------------------------------------------------------------------------ */

/* A packet that a fault delays comes by a timer, when nothing else happens; no buffer is
 * held meanwhile, nor of those that it doubles. */
static void test_delayed(void)
{
    CoreFaultPlan plan = { .ppm = { [CORE_FAULT_DELAY] = 1000000 },
                           .delay_us = 50000 };
    UbFlow f = cna(0, 1);

    setup(2, 2);
    ub_switch_fault(sw, 0, false, &plan);
    f.vl = 3;
    send_to(0, &f, 100, 9);
    run(SECOND / 1000 * 49);
    g_assert_cmpuint(hosts[1].got.length, ==, 0);
    run(SECOND / 1000 * 2);
    g_assert_cmpuint(hosts[1].got.length, ==, 1);
    g_assert_cmpuint(last_sent.port, ==, 1);
    g_assert_cmpuint(last_sent.vl, ==, 3);
    g_assert_cmpuint(last_sent.cfg, ==, UB_LPH_CNA16);
    plan = (CoreFaultPlan) { .ppm = { [CORE_FAULT_DUPLICATE] = 1000000 } };
    ub_switch_fault(sw, 0, false, &plan);
    for (unsigned i = 0; i < 200; i++) {
        forget(&hosts[1]);
        send_to(0, &f, 1000, i);
        run(SECOND / 1000);
        g_assert_cmpuint(hosts[1].got.length, ==, 2);
    }
    forget(&hosts[1]);
    check_credits();
    teardown();
}

/* §5.3.7: whose egress is starved by its neighbour is not the root of what waits. */
static void test_root_cause(void)
{
    for (unsigned root = 0; root < 2; root++) {
        UbSwitchConfig c;
        UbFlow f = cna(1, 0);

        setup(2, 2);
        c = ub_switch_settings(sw);
        c.net.fecn = true;
        c.net.fecn_light = 1000;
        c.net.fecn_heavy = 100000;
        c.net.root_cause = root;
        g_assert_null(ub_switch_configure(sw, &c));
        f.cci = ub_cci_fecn(false, UB_FECN_NONE);
        /* Host 0 keeps what it gets, until its link has no credits left. */
        for (unsigned i = 0; i < 3000 && send_to(1, &f, 4000, i) == UB_SENT; i++) {
            run(SECOND / 10000);
        }
        g_assert_cmpuint(ub_net_queued(ub_switch_net(sw), 0, 0), >, 8000);
        forget(&hosts[0]);
        run(SECOND / 10);
        /* Some leave with the first credit that comes back, when it is starved no more. */
        if (root) {
            g_assert_cmpuint(ub_net_counter(ub_switch_net(sw), 0, UB_NET_MARKED),
                             <, 20);
        } else {
            g_assert_cmpuint(ub_net_counter(ub_switch_net(sw), 0, UB_NET_MARKED),
                             >, 100);
        }
        teardown();
    }
}

/* ---- What it says ----------------------------------------------------------------------- */

static json_t *port_of(json_t *list, unsigned port)
{
    return json_array_get(list, port);
}

static json_int_t number(json_t *o, const char *name)
{
    json_t *v = json_object_get(o, name);

    g_assert_true(json_is_integer(v));
    return json_integer_value(v);
}

static const char *text(json_t *o, const char *name)
{
    return json_string_value(json_object_get(o, name));
}

static bool is_true(json_t *o, const char *name)
{
    g_assert_true(json_is_boolean(json_object_get(o, name)));
    return json_is_true(json_object_get(o, name));
}

static void wires(void *opaque, unsigned port, UbSwitchWire *out)
{
    g_assert_true(opaque == &now);
    if (port == 0) {
        *out = (UbSwitchWire) { "socket", "unix:/a", 11, 12, 13 };
    }
}

static void test_ports(void)
{
    json_t *list, *o;
    UbFlow f = cna(1, 0);

    setup(4, 3);
    admin_start();
    ub_port_set_boundary(ub_switch_port(sw, 1), true);
    for (unsigned i = 0; i < 3000 && send_to(1, &f, 4000, i) == UB_SENT; i++) {
        run(SECOND / 10000);
    }
    ub_switch_admin_set_wires(admin, wires, &now);
    list = good(CMD("query-ports", ""));
    g_assert_cmpuint(json_array_size(list), ==, 4);
    for (unsigned i = 0; i < 4; i++) {
        bool up = i < 3;

        o = port_of(list, i);
        g_assert_cmpint(number(o, "port"), ==, i);
        g_assert_true(is_true(o, "enabled"));
        g_assert_cmpint(is_true(o, "boundary"), ==, i == 1);
        g_assert_cmpint(is_true(o, "connected"), ==, up);
        g_assert_cmpint(is_true(o, "link-up"), ==, up);
        g_assert_cmpint(is_true(o, "packets-pass"), ==, up);
        g_assert_cmpint(is_true(o, "edge"), ==, up);
        g_assert_cmpint(number(o, "rate") > 0, ==, up);
        g_assert_cmpint(number(o, "vls"), ==, up ? ub_port_vls(hosts[i].port) : 0);
        g_assert_cmpint(json_object_get(o, "neighbor-guid") != NULL, ==, up);
        if (up) {
            g_autofree char *guid = g_strdup_printf("0000000001000000000000000000"
                                                    "00%02x", i + 1);

            g_assert_cmpstr(text(o, "neighbor-guid"), ==, guid);
            g_assert_cmpint(number(o, "neighbor-port"), ==, 0);
        }
        g_assert_cmpuint(json_array_size(json_object_get(o, "queues")), ==, i == 0);
        o = json_object_get(o, "wire");
        g_assert_cmpstr(text(o, "kind"), ==, i ? "none" : "socket");
        g_assert_cmpstr(text(o, "address"), ==, i ? NULL : "unix:/a");
        g_assert_cmpint(number(o, "sent"), ==, i ? 0 : 11);
        g_assert_cmpint(number(o, "received"), ==, i ? 0 : 12);
        g_assert_cmpint(number(o, "broken"), ==, i ? 0 : 13);
    }
    o = json_array_get(json_object_get(port_of(list, 0), "queues"), 0);
    g_assert_cmpint(number(o, "vl"), ==, 0);
    g_assert_cmpint(number(o, "bytes"), ==, ub_net_queued(ub_switch_net(sw), 0, 0));
    json_decref(list);
    o = good(CMD("query-status", ""));
    g_assert_cmpuint(json_array_size(json_object_get(o, "up")), ==, 3);
    g_assert_cmpint(number(o, "port-runs"), ==, ub_switch_port_runs(sw));
    json_decref(o);
    forget(&hosts[0]);
    admin_stop();
    teardown();
}

static void test_counters(void)
{
    UbFlow f = cna(0, 1);
    json_t *list, *o;
    UbPortStats st;

    setup(2, 2);
    admin_start();
    for (unsigned i = 0; i < 3; i++) {
        send_to(0, &f, 100, 0);
    }
    plug(&hosts[1], false);
    run(SECOND);
    list = good(CMD("query-counters", ""));
    g_assert_cmpuint(json_array_size(list), ==, 2);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(number(port_of(list, i), "port"), ==, i);
        o = json_object_get(port_of(list, i), "counters");
        for (unsigned c = 0; c < UB_NET_COUNTERS_NUM; c++) {
            g_assert_cmpint(number(o, ub_net_counter_name(c)), ==,
                            ub_net_counter(ub_switch_net(sw), i, c));
        }
        ub_port_stats(ub_switch_port(sw, i), &st);
        g_assert_cmpint(number(o, "link-downs"), ==, i);
        g_assert_cmpint(number(o, "link-downs"), ==, st.link_downs);
        g_assert_cmpint(number(o, "link-retrains"), ==, st.retrains);
        g_assert_cmpint(number(o, "dll-retries"), ==, st.dll->retries);
        g_assert_cmpint(number(o, "dll-crc-errors"), ==, st.dll->crc_errors);
        g_assert_cmpint(number(o, "dll-tx-dropped"), ==, st.dll->tx_dropped);
        g_assert_cmpint(number(o, "dll-rx-dropped"), ==, st.dll->rx_dropped);
    }
    json_decref(list);
    admin_stop();
    teardown();
}

/* Each change of a link is told once, the lowest port first. */
static void event(const char *want)
{
    char *line = ub_switch_admin_event(admin, 3000004);

    g_assert_cmpstr(line, ==, want);
    free(line);
}

#define CHANGED(port, link, packets) \
    "{\"event\":\"UB_LINK_CHANGED\",\"data\":{\"port\":" #port ",\"link-up\":" #link \
    ",\"packets-pass\":" #packets "},\"timestamp\":{\"seconds\":3," \
    "\"microseconds\":4}}\n"

static void test_events(void)
{
    setup(4, 3);
    admin_start();
    for (unsigned i = 4; i--;) {
        ub_switch_admin_link(admin, i);
    }
    event(CHANGED(0, true, true));
    event(CHANGED(1, true, true));
    event(CHANGED(2, true, true));
    event(NULL);
    for (unsigned i = 0; i < 4; i++) {
        ub_switch_admin_link(admin, i);
    }
    event(NULL);
    plug(&hosts[1], false);
    run(SECOND);
    event(NULL);                    /* nobody said that it might have */
    ub_switch_admin_link(admin, 1);
    ub_switch_admin_link(admin, 2);
    event(CHANGED(1, false, false));
    event(NULL);
    admin_stop();
    teardown();
}

/* The GUID that a command names is the one that is told its NPI. */
static void test_command_npi(void)
{
    setup(2, 2);
    admin_start();
    ok(CMD("npi-configure", "\"port\": 1, \"npi\": 7, \"guid\":"
           " \"00000000010000000000000000000002\""));
    run(SECOND / 100);
    g_assert_cmphex(hosts[1].npi, ==, 7);
    ok(CMD("npi-configure", "\"port\": 1, \"npi\": 9, \"guid\":"
           " \"f0123456789AbCdEf0123456789aBcDe\""));
    run(SECOND / 100);
    g_assert_cmphex(hosts[1].npi, ==, 7);
    g_assert_cmpmem(last_sent.data + UB_CONTROL_SIZE + UB_NPIC_HEADER, 16,
                    ((uint8_t[]) { 0xf0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde,
                                   0xf0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde }),
                    16);
    admin_stop();
    teardown();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/switch/live/quiet", test_quiet);
    g_test_add_func("/ub/switch/live/defaults", test_defaults);
    g_test_add_func("/ub/switch/live/dev-rst", test_dev_rst);
    g_test_add_func("/ub/switch/live/reset-all", test_reset_all);
    g_test_add_func("/ub/switch/live/edges", test_edges);
    g_test_add_func("/ub/switch/live/names", test_names);
    g_test_add_func("/ub/switch/live/dhcp", test_dhcp);
    g_test_add_func("/ub/switch/live/npic", test_npic);
    g_test_add_func("/ub/switch/live/share", test_share);
    g_test_add_func("/ub/switch/live/delayed", test_delayed);
    g_test_add_func("/ub/switch/live/root-cause", test_root_cause);
    g_test_add_func("/ub/switch/live/ports", test_ports);
    g_test_add_func("/ub/switch/live/counters", test_counters);
    g_test_add_func("/ub/switch/live/events", test_events);
    g_test_add_func("/ub/switch/live/command-npi", test_command_npi);
    return g_test_run();
}
