/*
 * A switch between controllers: forwarding, routes by IP notify, DHCP, NPIC, faults.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-bed.h"

/* ---- Tests --------------------------------------------------------------------------- */

static void test_forward(void)
{
    UbPortStatus st;
    CorePacket *pkt;

    setup(HOSTS, HOSTS);
    for (unsigned a = 0; a < HOSTS; a++) {
        for (unsigned b = 0; b < HOSTS; b++) {
            UbFlow f = cna(a, b);

            if (a == b) {
                continue;
            }
            g_assert_cmpint(send_to(a, &f, 1000, a * 16 + b), ==, UB_SENT);
            run(SECOND / 1000);
            g_assert_cmpuint(hosts[b].got.length, ==, 1);
            pkt = next_got(&hosts[b]);
            g_assert_cmpuint(pkt->len, ==, 1000);
            for (unsigned i = 0; i < 1000; i++) {
                g_assert_cmphex(core_packet_data(pkt)[i], ==,
                                (uint8_t)(a * 16 + b + i));
            }
            core_packet_free(pkt);
            g_assert_cmpuint(hosts[b].flow.scna, ==, a + 1);
        }
    }
    g_assert_cmpuint(ub_net_total(ub_switch_net(sw), UB_NET_FORWARDED), ==,
                     HOSTS * (HOSTS - 1));
    g_assert_cmpuint(captured[0], ==, HOSTS * (HOSTS - 1));
    g_assert_cmpuint(captured[1], ==, HOSTS * (HOSTS - 1));
    g_assert_cmpuint(links, >=, HOSTS);
    g_assert_cmpuint(closes, ==, 0);
    g_assert_null(broken);
    /* All receive buffers are free again. */
    run(6 * SECOND);
    for (unsigned i = 0; i < HOSTS; i++) {
        ub_port_status(ub_switch_port(sw, i), &st);
        g_assert_cmpuint(st.dll.rx_held[0], ==, st.dll.rx_pending[0]);
    }
    /* Neighbours are controllers: every port is an edge. */
    g_assert_cmphex(ub_net_config(ub_switch_net(sw))->edge_ports, ==,
                    (1u << HOSTS) - 1);
    teardown();
}

/* Three send to one, more than its link carries: nothing is lost, and what
 * cannot go on stays where it came from. */
static void test_fan_in(void)
{
    unsigned want = 400, sent[HOSTS] = { 0 }, got[HOSTS] = { 0 };

    setup(HOSTS, HOSTS);
    for (unsigned n = 0; n < 20000; n++) {
        CorePacket *pkt;

        for (unsigned a = 1; a < HOSTS; a++) {
            UbFlow f = cna(a, 0);

            while (sent[a] < want &&
                   send_to(a, &f, 4000 + a, sent[a]) == UB_SENT) {
                sent[a]++;
            }
        }
        run(1000);
        while ((pkt = next_got(&hosts[0]))) {
            unsigned from = pkt->len - 4000;

            g_assert_cmpuint(from, <, HOSTS);
            g_assert_cmpuint(core_packet_data(pkt)[0], ==, (uint8_t)got[from]);
            got[from]++;
            core_packet_free(pkt);
        }
        if (got[1] + got[2] + got[3] == 3 * want) {
            break;
        }
    }
    g_assert_cmpuint(got[1] + got[2] + got[3], ==, 3 * want);
    g_assert_cmpuint(ub_net_total(ub_switch_net(sw), UB_NET_FORWARDED), ==,
                     3 * want);
    teardown();
}

static void test_port_down(void)
{
    UbFlow f = cna(0, 1);

    setup(HOSTS, HOSTS);
    ub_net_route_set(ub_switch_net(sw), 2, 2 | 4);
    plug(&hosts[1], false);
    run(SECOND);
    g_assert_cmphex(ub_net_ports_up(ub_switch_net(sw)), ==, 0xd);
    /* host 2 gets what is for CNA 2 now, and drops it as not its own */
    g_assert_cmpint(send_to(0, &f, 100, 0), ==, UB_SENT);
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(hosts[2].net, UB_NET_DROP_NOT_OURS), ==, 1);
    ub_net_route_set(ub_switch_net(sw), 2, 2);
    g_assert_cmpint(send_to(0, &f, 100, 0), ==, UB_SENT);
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(ub_switch_net(sw), UB_NET_DROP_PORT_DOWN),
                     ==, 1);
    plug(&hosts[1], true);
    run(SECOND);
    g_assert_cmpint(send_to(0, &f, 100, 0), ==, UB_SENT);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 1);
    /* by the switch's own will */
    ub_switch_enable(sw, now, 1, false);
    run(SECOND);
    g_assert_false(ub_port_dll_up(hosts[1].port));
    ub_switch_enable(sw, now, 1, true);
    run(SECOND);
    g_assert_true(ub_port_dll_up(hosts[1].port));
    teardown();
}

static void notify(unsigned from, unsigned ip, unsigned len)
{
    UbIpNotify n = { .cfg = UB_LPH_IPV4, .prefix = 24,
                     .ip = { 10, 0, 0, ip } };
    uint8_t pdu[UB_IP_NOTIFY_MAX] = { 0 };

    if (len >= 6) {
        ub_ip_notify_put(pdu, &n);
    }
    send_control(from, UB_CONTROL_IP_NOTIFY, pdu, len);
}

static void test_ip_notify(void)
{
    UbFlow f;

    setup(HOSTS, HOSTS);
    ub_flow_init(&f, UB_LPH_IPV4);
    put_be32(f.ip.dst, 0x0a000003);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(ub_switch_net(sw), UB_NET_DROP_NO_ROUTE),
                     ==, 1);
    notify(2, 3, 6);
    notify(0, 1, 18); /* the longer form */
    run(SECOND / 100);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[2].got.length, ==, 1);
    g_assert_cmpuint(hosts[2].to[UB_NET_TP], ==, 1);
    g_assert_cmpuint(hosts[2].flow.ip.hops, ==, 63);
    put_be32(f.ip.dst, 0x0a000001);
    send_to(2, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[0].got.length, ==, 1);
    /* It moves. */
    notify(3, 3, 6);
    run(SECOND / 100);
    put_be32(f.ip.dst, 0x0a000003);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[3].got.length, ==, 1);
    g_assert_cmpuint(hosts[3].to[UB_NET_IP], ==, 1); /* not its address */
    g_assert_null(broken);
    notify(3, 0, 5);
    run(SECOND / 100);
    g_assert_nonnull(broken);
    g_assert_cmpuint(ub_net_counter(ub_switch_net(sw), 3, UB_NET_DROP_CONTROL),
                     ==, 1);
    teardown();
}

/* Settings while it runs: no IP notify makes a route, no neighbour an edge port. */
static void test_own_settings(void)
{
    UbSwitchConfig c;
    UbFlow f;

    setup(HOSTS, HOSTS);
    c = ub_switch_settings(sw);
    g_assert_cmphex(c.net.edge_ports, ==, (1u << HOSTS) - 1);
    c.ip_notify = c.edge_auto = false;
    c.net.edge_ports = 2;
    g_assert_null(ub_switch_configure(sw, &c));
    ub_flow_init(&f, UB_LPH_IPV4);
    put_be32(f.ip.dst, 0x0a000003);
    notify(2, 3, 6);
    run(SECOND / 100);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(ub_switch_net(sw), UB_NET_DROP_NO_ROUTE),
                     ==, 1);
    g_assert_cmpuint(hosts[2].got.length, ==, 0);
    /* A link that comes up again changes nothing by itself. */
    plug(&hosts[0], false);
    run(SECOND);
    plug(&hosts[0], true);
    run(SECOND);
    g_assert_cmphex(ub_switch_settings(sw).net.edge_ports, ==, 2);
    /* What the network layer refuses is refused whole. */
    c.ip_notify = true;
    c.net.fecn_light = 0;
    g_assert_nonnull(ub_switch_configure(sw, &c));
    g_assert_false(ub_switch_settings(sw).ip_notify);
    c.net.fecn_light = 1;
    c.edge_auto = true;
    g_assert_null(ub_switch_configure(sw, &c));
    g_assert_cmphex(ub_switch_settings(sw).net.edge_ports, ==, (1u << HOSTS) - 1);
    notify(2, 3, 6);
    run(SECOND / 100);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[2].got.length, ==, 1);
    teardown();
}

/* Who names many addresses leaves room for those of others. */
static void test_ip_notify_many(void)
{
    unsigned room = UB_NET_MAX_IP_ROUTES / HOSTS;
    UbIpRoute r;
    unsigned n = 0;
    UbFlow f;

    setup(HOSTS, HOSTS);
    for (unsigned i = 0; i < room + 9; i++) {
        uint8_t pdu[UB_IP_NOTIFY_MAX] = { 0 };

        ub_ip_notify_put(pdu, &(UbIpNotify) {
            .cfg = UB_LPH_IPV4, .prefix = 24, .ip = { 10, 1, i >> 8, i },
        });
        send_control(0, UB_CONTROL_IP_NOTIFY, pdu, 6);
        run(SECOND / 1000);
        g_assert_cmpint(!broken, ==, i < room);
    }
    while (ub_net_ip_route_at(ub_switch_net(sw), n, &r)) {
        n++;
    }
    g_assert_cmpuint(n, ==, room);
    /* One that is there goes on being there, and others have theirs. */
    broken = NULL;
    send_control(0, UB_CONTROL_IP_NOTIFY, (uint8_t[18]) { 0x10, 24, 10, 1, 0, 0 },
                 6);
    notify(2, 3, 6);
    run(SECOND / 100);
    ub_flow_init(&f, UB_LPH_IPV4);
    put_be32(f.ip.dst, 0x0a000003);
    send_to(1, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[2].got.length, ==, 1);
    teardown();
}

/* DHCP goes to the controllers that are neighbours, other than its sender; other
 * protocols of neighbours end here. */
static void test_dhcp(void)
{
    static const struct { uint16_t protocol; bool passes; } rows[] = {
        { UB_CONTROL_DHCPV4, true }, { UB_CONTROL_DHCPV6, true },
        { UB_CONTROL_IP_NOTIFY, false }, { 0x103, false },
        { UB_CONTROL_ULAP, false }, { 0x109, false },
    };
    static const uint8_t pdu[18] = { 0x10, 24, 10, 0, 0, 1, 7 };
    UbSwitchConfig conf;

    ub_switch_config_init(&conf);
    for (unsigned on = 0; on < 2; on++) {
        conf.pass_dhcp = on;
        setup_with(&conf, HOSTS + 1, HOSTS);
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            const UbNet *net = ub_switch_net(sw);
            uint64_t ended = ub_net_counter(net, 1, UB_NET_DROP_NOT_PASSED);
            bool used = rows[i].protocol == UB_CONTROL_IP_NOTIFY;

            send_control(1, rows[i].protocol, pdu, sizeof(pdu));
            run(SECOND / 100);
            /* What it neither passes on nor needs is counted. */
            g_assert_cmpuint(ub_net_counter(net, 1, UB_NET_DROP_NOT_PASSED), ==,
                             ended + !(used || (on && rows[i].passes)));
            for (unsigned h = 0; h < HOSTS; h++) {
                unsigned want = on && rows[i].passes && h != 1;
                CorePacket *pkt = next_got(&hosts[h]);

                g_assert_cmpuint(pkt != NULL, ==, want);
                if (pkt) {
                    const uint8_t *p = core_packet_data(pkt);

                    g_assert_cmphex(ub_control_protocol(p), ==,
                                    rows[i].protocol);
                    g_assert_cmpuint(p[33], ==, 2); /* SGUID */
                    g_assert_cmpmem(p + UB_CONTROL_SIZE,
                                    pkt->len - UB_CONTROL_SIZE, pdu,
                                    sizeof(pdu));
                    core_packet_free(pkt);
                    g_assert_null(next_got(&hosts[h]));
                }
            }
        }
        /* A neighbour that is a switch passes nothing on in circles. */
        if (on) {
            UbNetConfig net = *ub_net_config(ub_switch_net(sw));

            net.edge_ports &= ~UINT64_C(4);
            g_assert_null(ub_net_configure(ub_switch_net(sw), &net));
            send_control(1, UB_CONTROL_DHCPV4, pdu, sizeof(pdu));
            run(SECOND / 100);
            g_assert_cmpuint(hosts[0].got.length, ==, 1);
            g_assert_cmpuint(hosts[2].got.length, ==, 0);
        }
        teardown();
    }
}

static void test_npic(void)
{
    uint8_t guid[16];

    setup(HOSTS, HOSTS);
    guid_of(1, guid);
    g_assert_true(ub_switch_npic(sw, now, 1, guid, 0x1000007));
    g_assert_true(ub_switch_npic(sw, now, 2, guid, 9)); /* not its GUID */
    run(SECOND / 100);
    g_assert_cmphex(hosts[1].npi, ==, 0x1000007);
    g_assert_cmphex(ub_net_npi(hosts[1].net), ==, 0x1000007);
    g_assert_cmphex(ub_net_npi(hosts[2].net), ==, 1);
    g_assert_true(ub_switch_npic(sw, now, 1, guid, 0));
    run(SECOND / 100);
    g_assert_cmphex(ub_net_npi(hosts[1].net), ==, 0);
    plug(&hosts[1], false);
    run(SECOND);
    g_assert_false(ub_switch_npic(sw, now, 1, guid, 5));
    teardown();
}

static void test_faults(void)
{
    CoreFaultPlan plan = { .ppm = { [CORE_FAULT_DROP] = 1000000 } };
    UbFlow f = cna(0, 1);
    CorePacket *pkt;

    setup(2, 2);
    ub_switch_fault(sw, 0, false, &plan);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 0);
    g_assert_cmpuint(ub_switch_faults(sw, 0, false)->done[CORE_FAULT_DROP], ==, 1);
    plan = (CoreFaultPlan) { .ppm = { [CORE_FAULT_DUPLICATE] = 1000000 } };
    ub_switch_fault(sw, 0, false, &plan);
    f.rt = 2;
    f.vl = 3;
    send_to(0, &f, 100, 7);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 2);
    for (unsigned i = 0; i < 2; i++) {
        pkt = next_got(&hosts[1]);
        g_assert_cmpuint(pkt->len, ==, 100);
        g_assert_cmpuint(core_packet_data(pkt)[0], ==, 7);
        core_packet_free(pkt);
        g_assert_cmpuint(hosts[1].flow.rt, ==, 2);
        g_assert_cmpuint(hosts[1].flow.vl, ==, 3);
    }
    /* Late: by a timer of the switch. */
    plan = (CoreFaultPlan) { .ppm = { [CORE_FAULT_DELAY] = 1000000 },
                             .delay_us = 50000 };
    ub_switch_fault(sw, 0, false, &plan);
    send_to(0, &f, 100, 9);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 0);
    run(SECOND / 20);
    g_assert_cmpuint(hosts[1].got.length, ==, 1);
    g_assert_cmpuint(hosts[1].flow.rt, ==, 2);
    g_assert_cmpuint(hosts[1].flow.vl, ==, 3);
    forget(&hosts[1]);
    plan = (CoreFaultPlan) { .ppm = { [CORE_FAULT_CORRUPT] = 1000000 } };
    ub_switch_fault(sw, 0, false, &plan);
    for (unsigned i = 0; i < 50; i++) {
        send_to(0, &f, 100, 9);
    }
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(hosts[1].net, UB_NET_DROP_ICRC), >, 30);
    plan = (CoreFaultPlan) { 0 };
    ub_switch_fault(sw, 0, false, &plan);
    forget(&hosts[1]);
    send_to(0, &f, 100, 9);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 1);
    teardown();
}

/* Idle ports cost no runs. */
static void test_dirty(void)
{
    uint64_t runs[2];

    for (unsigned k = 0; k < 2; k++) {
        UbFlow f = cna(0, 1);
        uint64_t before;

        setup(k ? 64 : 2, 2);
        run(SECOND);
        before = ub_switch_port_runs(sw);
        for (unsigned i = 0; i < 500; i++) {
            send_to(0, &f, 1000, i);
            run(100000);
            forget(&hosts[1]);
        }
        g_assert_cmpuint(hosts[1].to[UB_NET_TP], ==, 500);
        runs[k] = ub_switch_port_runs(sw) - before;
        teardown();
    }
    g_assert_cmpuint(runs[0], >, 500);
    g_assert_cmpuint(runs[1], <, runs[0] + runs[0] / 10);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/switch/forward", test_forward);
    g_test_add_func("/ub/switch/fan-in", test_fan_in);
    g_test_add_func("/ub/switch/port-down", test_port_down);
    g_test_add_func("/ub/switch/ip-notify", test_ip_notify);
    g_test_add_func("/ub/switch/ip-notify/many", test_ip_notify_many);
    g_test_add_func("/ub/switch/settings", test_own_settings);
    g_test_add_func("/ub/switch/dhcp", test_dhcp);
    g_test_add_func("/ub/switch/npic", test_npic);
    g_test_add_func("/ub/switch/faults", test_faults);
    g_test_add_func("/ub/switch/dirty", test_dirty);
    return g_test_run();
}
