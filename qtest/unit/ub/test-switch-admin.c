/*
 * Commands to a switch: every one, and what they refuse.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <glib.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "switch-admin.h"

static UbSwitch *sw;

static void no_kick(void *opaque)
{
}

static size_t no_wire(void *opaque, unsigned port, const uint8_t *data,
                      size_t len)
{
    return len;
}

static void no_close(void *opaque, unsigned port)
{
}

static void on_slot(void *opaque, unsigned slot)
{
    if (admin) {
        ub_switch_admin_slot(admin, slot);
    }
}

static bool no_frame(void *opaque, unsigned port, const uint8_t *frame,
                     uint32_t len)
{
    return true;
}

static bool no_end(void *opaque, unsigned port)
{
    return true;
}

static void setup_ethernet(unsigned ethers)
{
    static const UbSwitchOps ops = {
        .kick = no_kick, .wire_send = no_wire, .wire_close = no_close,
        .slot = on_slot, .ethernet_send = no_frame,
        .ethernet_has_room = no_end,
    };
    UbSwitchConfig conf;
    const char *why = NULL;

    ub_switch_config_init(&conf);
    conf.ports = 4;
    conf.ethernet = ethers;
    memcpy(conf.uboe.mac, "\2\0\0\0\0\1", 6);
    conf.guid[0] = 0xab;
    conf.guid[15] = 0x0c;
    conf.net.route_entries = 100;
    g_assert_true(ub_shp_config_add(&conf.shp, "1"));
    g_assert_true(ub_shp_config_add(&conf.shp, "2-3+"));
    sw = ub_switch_new(&conf, &ops, NULL, &why);
    g_assert_nonnull(sw);
    admin = ub_switch_admin_new(sw, "middle");
}

static void setup(void)
{
    setup_ethernet(0);
}

static void teardown(void)
{
    ub_switch_admin_free(admin);
    admin = NULL;
    ub_switch_free(sw);
}

static void test_lines(void)
{
    json_t *o;
    char *text;

    setup();
    text = ub_switch_admin_greeting(admin);
    g_assert_cmpstr(text, ==,
                    "{\"ub-switch\":{\"version\":1,\"name\":\"middle\"}}\n");
    free(text);
    g_assert_null(ub_switch_admin_line(admin, 0, "", 0));
    g_assert_null(ub_switch_admin_line(admin, 0, " \t\r", 3));
    g_assert_null(ub_switch_admin_line(admin, 0, " # what", 7));
    fails("nonsense");
    fails("{");
    fails("[]");
    fails("1");
    fails("{}");
    fails("{\"execute\": 1}");
    fails("{\"execute\": \"no-such\"}");
    fails("{\"execute\": \"query-status\", \"execute\": \"quit\"}");
    fails("{\"execute\": \"query-status\", \"arguments\": []}");
    fails("{\"execute\": \"query-status\", \"arguments\": {\"x\": 1}}");
    fails("{\"execute\": \"\xff\"}");
    /* The id comes back, with errors too. */
    o = answer("{\"execute\": \"route-exact\", \"arguments\": {\"on\": true},"
               " \"id\": {\"a\": [1]}}");
    g_assert_cmpint(json_integer_value(json_array_get(json_object_get(
        json_object_get(o, "id"), "a"), 0)), ==, 1);
    json_decref(o);
    o = answer("{\"execute\": \"route-exact\", \"id\": 7}");
    g_assert_cmpint(json_integer_value(json_object_get(o, "id")), ==, 7);
    g_assert_nonnull(json_object_get(o, "error"));
    json_decref(o);
    g_assert_false(ub_switch_admin_quit(admin));
    ok("{\"execute\": \"quit\"}");
    g_assert_true(ub_switch_admin_quit(admin));
    teardown();
}

static void test_routes(void)
{
    setup();
    returns(CMD("query-routes", ""), "{\"default\": [], \"exact\": false,"
            " \"cna\": [], \"ip\": []}");
    ok(CMD("route-set", "\"cna\": 5, \"ports\": [0, 3]"));
    ok(CMD("route-set", "\"cna\": 99, \"ports\": [1, 2], \"shortest\": [2]"));
    ok(CMD("route-default", "\"ports\": [3]"));
    ok(CMD("route-exact", "\"on\": true"));
    ok(CMD("ip-route-set", "\"prefix\": \"10.1.2.3/8\", \"ports\": [1]"));
    ok(CMD("ip-route-set", "\"prefix\": \"10.1.2.3\", \"ports\": [2]"));
    ok(CMD("ip-route-set", "\"prefix\": \"fe80::1/64\", \"ports\": [0]"));
    returns(CMD("query-routes", ""), "{\"default\": [3], \"exact\": true,"
            " \"cna\": [{\"cna\": 5, \"ports\": [0, 3]}, {\"cna\": 99,"
            " \"ports\": [1, 2], \"shortest\": [2]}], \"ip\": ["
            "{\"prefix\": \"fe80::/64\", \"ports\": [0]},"
            "{\"prefix\": \"10.1.2.3/32\", \"ports\": [2]},"
            "{\"prefix\": \"10.0.0.0/8\", \"ports\": [1]}]}");
    g_assert_cmphex(ub_net_route_get(ub_switch_net(sw), 5), ==, 9);
    ok(CMD("ip-route-set", "\"prefix\": \"10.0.0.0/8\", \"ports\": []"));
    ok(CMD("route-set", "\"cna\": 99, \"ports\": []"));
    ok(CMD("route-set", "\"cna\": 0, \"ports\": [2]"));
    g_assert_cmphex(ub_net_route_get(ub_switch_net(sw), 0), ==, 4);
    {
        json_t *r = good(CMD("query-routes", ""));

        g_assert_cmpint(json_integer_value(json_object_get(json_array_get(
            json_object_get(r, "cna"), 0), "cna")), ==, 0);
        g_assert_cmpuint(json_array_size(json_object_get(r, "cna")), ==, 2);
        json_decref(r);
    }
    ok(CMD("route-set", "\"cna\": 0, \"ports\": []"));
    fails(CMD("route-set", "\"cna\": 100, \"ports\": [0]"));
    fails(CMD("route-set", "\"cna\": -1, \"ports\": [0]"));
    fails(CMD("route-set", "\"cna\": 1, \"ports\": [4]"));
    fails(CMD("route-set", "\"cna\": 1, \"ports\": [-1]"));
    fails(CMD("route-set", "\"cna\": 1, \"ports\": 1"));
    fails(CMD("route-set", "\"cna\": 1, \"ports\": [\"1\"]"));
    fails(CMD("route-set", "\"cna\": 1, \"ports\": [1], \"shortest\": [2]"));
    fails(CMD("route-set", "\"cna\": 1"));
    fails(CMD("route-set", "\"cna\": 1, \"ports\": [1], \"more\": 1"));
    fails(CMD("route-default", "\"ports\": {}"));
    fails(CMD("route-exact", "\"on\": 1"));
    fails(CMD("ip-route-set", "\"prefix\": \"10.0.0.0/33\", \"ports\": [1]"));
    fails(CMD("ip-route-set", "\"prefix\": \"10.0.0.0/-1\", \"ports\": [1]"));
    fails(CMD("ip-route-set", "\"prefix\": \"10.0.0.0/\", \"ports\": [1]"));
    fails(CMD("ip-route-set", "\"prefix\": \"host/8\", \"ports\": [1]"));
    fails(CMD("ip-route-set", "\"prefix\": \"\", \"ports\": [1]"));
    fails(CMD("ip-route-set", "\"prefix\": \"::/129\", \"ports\": [1]"));
    fails(CMD("ip-route-set", "\"prefix\": \"1.2.3.4\\u00001\", \"ports\": 1"));
    teardown();
}

static void test_status(void)
{
    json_t *o;

    setup();
    ok(CMD("cna-set", "\"cna\": 1193046"));
    fails(CMD("cna-set", "\"cna\": 16777216"));
    fails(CMD("cna-set", "\"cna\": -1"));
    returns(CMD("query-status", ""), "{\"name\": \"middle\", \"guid\":"
            " \"ab00000000000000000000000000000c\", \"ports\": 4,"
            " \"ethernet-ports\": 0, \"cna\": 1193046, \"up\": [], \"port-runs\": 0, \"capturing\": false}");
    g_assert_cmphex(ub_space_read(ub_switch_space(sw), UB_CFG0_PRIMARY_CNA),
                    ==, 1193046);
    o = good(CMD("query-ports", ""));
    g_assert_cmpuint(json_array_size(o), ==, 4);
    g_assert_true(json_is_true(json_object_get(json_array_get(o, 2),
                                               "enabled")));
    g_assert_true(json_is_false(json_object_get(json_array_get(o, 2),
                                                "packets-pass")));
    json_decref(o);
    ok(CMD("port-enable", "\"port\": 2, \"on\": false"));
    g_assert_false(ub_port_enabled(ub_switch_port(sw, 2)));
    ok(CMD("port-enable", "\"port\": 2, \"on\": true"));
    g_assert_true(ub_port_enabled(ub_switch_port(sw, 2)));
    fails(CMD("port-enable", "\"port\": 4, \"on\": true"));
    ok(CMD("port-boundary", "\"port\": 2, \"on\": true"));
    g_assert_true(ub_port_boundary(ub_switch_port(sw, 2)));
    g_assert_false(ub_port_boundary(ub_switch_port(sw, 1)));
    ok(CMD("port-boundary", "\"port\": 2, \"on\": false"));
    g_assert_false(ub_port_boundary(ub_switch_port(sw, 2)));
    fails(CMD("port-boundary", "\"port\": 4, \"on\": true"));
    o = good(CMD("query-counters", ""));
    g_assert_cmpuint(json_array_size(o), ==, 4);
    json_decref(o);
    o = good(CMD("query-counters", "\"port\": 3"));
    g_assert_cmpuint(json_array_size(o), ==, 1);
    g_assert_cmpint(json_integer_value(json_object_get(json_object_get(
        json_array_get(o, 0), "counters"), "drop-icrc")), ==, 0);
    json_decref(o);
    fails(CMD("query-counters", "\"port\": 4"));
    fails(CMD("query-counters", "\"port\": -2"));
    teardown();
}

/* What passes each port: what commands set is what is said, of the port alone. */
static void test_gates(void)
{
    json_t *list, *want;

    setup();
    ok(CMD("npi-allow", "\"port\": 1, \"npi\": 5"));
    ok(CMD("npi-allow", "\"port\": 1, \"npi\": 16777221"));
    ok(CMD("npi-close", "\"port\": 1, \"on\": true"));
    ok(CMD("npi-replace", "\"port\": 1, \"npi\": 6"));
    ok(CMD("border-set", "\"port\": 2, \"on\": true"));
    ok(CMD("border-set", "\"port\": 3, \"on\": true, \"plain\": true"));
    list = good(CMD("query-npis", ""));
    g_assert_cmpuint(json_array_size(list), ==, 4);
    for (int i = 0; i < 4; i++) {
        want = json_pack("{s:i, s:o, s:b, s:i, s:b, s:b}", "port", i, "npis",
                         i == 1 ? json_pack("[i, i]", 5, 16777221)
                                : json_array(),
                         "closed", i == 1, "replace", i == 1 ? 6 : 0, "border",
                         i >= 2, "border-plain", i == 3);
        g_assert_true(json_equal(json_array_get(list, i), want));
        json_decref(want);
    }
    json_decref(list);
    ok(CMD("npi-close", "\"port\": 1, \"on\": false"));
    ok(CMD("border-set", "\"port\": 3, \"on\": false"));
    g_assert_false(ub_net_npi_closed(ub_switch_net(sw), 1));
    g_assert_cmphex(ub_net_border(ub_switch_net(sw), 3), ==, 0);
    g_assert_cmphex(ub_net_border(ub_switch_net(sw), 2), ==, UB_NET_BORDER);
    fails(CMD("npi-close", "\"port\": 4, \"on\": true"));
    fails(CMD("npi-close", "\"port\": 1"));
    fails(CMD("border-set", "\"port\": 4, \"on\": true"));
    fails(CMD("border-set", "\"port\": -1, \"on\": true"));
    fails(CMD("border-set", "\"port\": 1"));
    fails(CMD("border-set", "\"port\": 1, \"on\": 1"));
    fails(CMD("query-npis", "\"port\": 1"));
    ok(CMD("configure", "\"border-ports\": [0], \"border-plain\": true"));
    g_assert_cmphex(ub_net_border(ub_switch_net(sw), 0), ==, 3);
    g_assert_cmphex(ub_net_border(ub_switch_net(sw), 2), ==, 0);
    teardown();
}

static void test_settings(void)
{
    json_t *before, *after;
    const UbNetConfig *c;

    setup();
    c = ub_net_config(ub_switch_net(sw));
    before = good(CMD("query-settings", ""));
    ok(CMD("configure", "\"watchdog\": 1000000, \"fecn\": true,"
           " \"vl-strict\": 3, \"fecn-light\": 5, \"edge-ports\": [1],"
           " \"vl-out\": [1,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"));
    g_assert_cmpint(c->watchdog, ==, 1000000);
    g_assert_true(c->fecn);
    g_assert_cmphex(c->vl_strict, ==, 3);
    g_assert_cmpuint(c->fecn_light, ==, 5);
    g_assert_cmphex(c->edge_ports, ==, 2);
    g_assert_cmpuint(c->vl_out[0], ==, 1);
    after = good(CMD("query-settings", ""));
    g_assert_false(json_equal(before, after));
    /* What is shown can be set. */
    {
        json_t *o = json_pack("{s:s, s:o}", "execute", "configure",
                              "arguments", json_incref(before));
        char *text = json_dumps(o, 0);

        ok(text);
        free(text);
        json_decref(o);
    }
    json_decref(after);
    after = good(CMD("query-settings", ""));
    g_assert_true(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    /* The switch's own. */
    {
        static const char *const own[] = { "edge-auto", "ip-notify", "pass-dhcp" };

        for (unsigned i = 0; i < G_N_ELEMENTS(own); i++) {
            g_autofree char *off = g_strdup_printf(CMD("configure", "\"%s\": false"),
                                                   own[i]);
            json_t *now = good(CMD("query-settings", ""));

            g_assert_true(json_is_true(json_object_get(now, own[i])));
            json_decref(now);
            ok(off);
            now = good(CMD("query-settings", ""));
            for (unsigned n = 0; n < G_N_ELEMENTS(own); n++) {
                g_assert_cmpint(json_is_true(json_object_get(now, own[n])), ==, n > i);
            }
            json_decref(now);
        }
        fails(CMD("configure", "\"edge-auto\": 1"));
        /* With what is wrong beside it nothing changes. */
        fails(CMD("configure", "\"ip-notify\": true, \"fecn-light\": 0"));
        g_assert_false(ub_switch_settings(sw).ip_notify);
        /* By hand, until it looks at its neighbours again, of which there are none. */
        ok(CMD("configure", "\"edge-ports\": [0]"));
        g_assert_cmphex(c->edge_ports, ==, 1);
        ok(CMD("configure", "\"edge-auto\": true, \"ip-notify\": true,"
               " \"pass-dhcp\": true"));
        g_assert_cmphex(c->edge_ports, ==, 0);
        g_assert_true(ub_switch_settings(sw).pass_dhcp);
    }
    /* All or nothing. */
    fails(CMD("configure", "\"fecn\": true, \"mtu\": 5"));
    g_assert_false(c->fecn);
    fails(CMD("configure", "\"fecn\": true, \"no-such\": 5"));
    g_assert_false(c->fecn);
    /* What the switch has of the network layer's list, and what does not change. */
    fails(CMD("configure", "\"exact\": true"));
    fails(CMD("configure", "\"route-default\": [1]"));
    fails(CMD("configure", "\"ecn-copy\": 1"));
    ok(CMD("configure", "\"ecn-copy\": true"));
    g_assert_true(ub_net_config(ub_switch_net(sw))->ecn_copy);
    ok(CMD("configure", "\"ecn-copy\": false"));
    g_assert_false(ub_net_config(ub_switch_net(sw))->ecn_copy);
    fails(CMD("configure", "\"fecn\": 1"));
    fails(CMD("configure", "\"watchdog\": -1"));
    fails(CMD("configure", "\"watchdog\": true"));
    fails(CMD("configure", "\"mtu\": 4294967296"));
    fails(CMD("configure", "\"vl-strict\": 65536"));
    fails(CMD("configure", "\"vl-out\": [1]"));
    fails(CMD("configure", "\"vl-out\": 1"));
    fails(CMD("configure",
              "\"vl-out\": [16,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"));
    fails(CMD("configure",
              "\"vl-out\": [256,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"));
    fails(CMD("configure", "\"vl-weight\": [-1,1,2,3,4,5,6,7,8,9,10,11,12,13,"
              "14,15]"));
    fails(CMD("configure", "\"edge-ports\": [9]"));
    after = good(CMD("query-settings", ""));
    json_decref(after);
    teardown();
}

static void test_npi(void)
{
    setup();
    ok(CMD("npi-allow", "\"port\": 1, \"npi\": 16777223"));
    fails(CMD("npi-allow", "\"port\": 4, \"npi\": 7"));
    fails(CMD("npi-allow", "\"port\": 1, \"npi\": 0"));
    fails(CMD("npi-allow", "\"port\": 1, \"npi\": 16777216"));
    fails(CMD("npi-allow", "\"port\": 1, \"npi\": 33554432"));
    ok(CMD("npi-clear", "\"port\": 1"));
    fails(CMD("npi-clear", "\"port\": 9"));
    ok(CMD("npi-replace", "\"port\": 1, \"npi\": 7"));
    ok(CMD("npi-replace", "\"port\": 1, \"npi\": 0"));
    fails(CMD("npi-replace", "\"port\": 255, \"npi\": 0"));
    fails(CMD("npi-configure", "\"port\": 1, \"npi\": 7, \"guid\": \"12\""));
    fails_with(CMD("npi-configure", "\"port\": 1, \"npi\": 7, \"guid\":"
                   " \"zz00000000000000000000000000000c\""), "hexadecimal");
    fails_with(CMD("npi-configure", "\"port\": 1, \"npi\": 7, \"guid\":"
                   " \"ab0000000000000000000000000000c\""), "hexadecimal");
    fails_with(CMD("npi-configure", "\"port\": 1, \"npi\": 7, \"guid\":"
                   " \"ab00000000000000000000000000000cc\""), "hexadecimal");
    /* nobody is there */
    fails_with(CMD("npi-configure", "\"port\": 1, \"npi\": 7, \"guid\":"
                   " \"ab00000000000000000000000000000c\""), "takes no packet");
    teardown();
}

static void test_faults(void)
{
    setup();
    returns(CMD("query-faults", ""), "[]");
    ok(CMD("fault-set", "\"port\": 1, \"drop-ppm\": 1000, \"seed\": 5"));
    returns(CMD("query-faults", ""), "[{\"port\": 1, \"dropped\": 0,"
            " \"duplicated\": 0, \"reordered\": 0, \"corrupted\": 0,"
            " \"delayed\": 0}]");
    ok(CMD("fault-set", "\"port\": 1, \"nth\": 3, \"action\": \"corrupt\","
           " \"every\": 10"));
    g_assert_cmpint(ub_switch_faults(sw, 1, false)->plan.nth_action, ==,
                    CORE_FAULT_CORRUPT);
    g_assert_cmpuint(ub_switch_faults(sw, 1, false)->plan.every, ==, 10);
    ok(CMD("fault-set", "\"port\": 1"));
    returns(CMD("query-faults", ""), "[]");
    fails(CMD("fault-set", "\"port\": 4"));
    fails(CMD("fault-set", "\"port\": 1, \"drop-ppm\": 1000001"));
    fails(CMD("fault-set", "\"port\": 1, \"drop-ppm\": 600000,"
              " \"delay-ppm\": 600000"));
    fails(CMD("fault-set", "\"port\": 1, \"nth\": 1, \"action\": \"eat\""));
    fails(CMD("fault-set", "\"port\": 1, \"reorder-depth\": 65"));
    fails(CMD("fault-set", "\"port\": 1, \"delay-us\": -1"));
    ok(CMD("inject-lane", "\"port\": 1, \"lane\": 3, \"ber\": 1e-6"));
    g_assert_cmpfloat(ub_inject_get(ub_port_inject(ub_switch_port(sw, 1)),
                                    3)->ber, ==, 1e-6);
    ok(CMD("inject-lane", "\"port\": 1, \"lane\": 3"));
    fails(CMD("inject-lane", "\"port\": 1, \"lane\": 8"));
    fails(CMD("inject-lane", "\"port\": 1, \"lane\": 1, \"ber\": 2"));
    teardown();
}

static void test_capture(void)
{
    g_autofree char *dir = g_dir_make_tmp("ub-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(dir, "a.pcapng", NULL);
    g_autofree char *line = g_strdup_printf(CMD("capture-start",
                                                "\"file\": \"%s\""), file);
    g_autofree char *fifo = g_build_filename(dir, "fifo", NULL);
    g_autofree char *pipe = g_strdup_printf(CMD("capture-start",
                                                "\"file\": \"%s\""), fifo);
    g_autofree char *bytes = NULL;
    size_t len;

    setup();
    fails(CMD("capture-start", "\"file\": \"/no/such/folder/x\""));
    /* A pipe that nobody reads does not stop it. */
    g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
    fails(pipe);
    g_unlink(fifo);
    ok(line);
    ub_switch_admin_capture(admin, 9, 2, true, 6, 0, (uint8_t *)"abc", 3);
    ub_switch_admin_flush(admin);
    ok(CMD("capture-stop", ""));
    ub_switch_admin_capture(admin, 9, 2, true, 6, 0, (uint8_t *)"abc", 3);
    g_assert_true(g_file_get_contents(file, &bytes, &len, NULL));
    g_assert_cmpuint(len, >, 100);
    g_assert_nonnull(memmem(bytes, len, "middle", 6));
    g_assert_nonnull(memmem(bytes, len, "abc", 3));
    g_unlink(file);
    g_rmdir(dir);
    teardown();
}

/* A link that changed nothing makes no event. */
#define SLOT_1 "\"slot\": 1, \"first-port\": 2, \"last-port\": 3, "

static void slot_write(unsigned reg, uint32_t value)
{
    ub_space_write(ub_switch_space(sw), 5, UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP) +
                   UB_SHP_REG(1, reg), value, 0xf);
}

static void test_slots(void)
{
    char *event;

    setup();
    ub_switch_run(sw, 5);
    returns(CMD("query-slots", ""),
            "[{\"slot\": 0, \"first-port\": 1, \"last-port\": 1, "
            "\"power\": false, \"present\": false, \"seated\": true, "
            "\"work-led\": \"off\", \"power-led\": \"off\", "
            "\"button-enabled\": false}, "
            "{" SLOT_1 "\"power\": true, \"present\": false, \"seated\": true, "
            "\"work-led\": \"off\", \"power-led\": \"off\", "
            "\"button-enabled\": false}]");
    while ((event = ub_switch_admin_event(admin, 1))) {
        free(event);
    }
    fails(CMD("slot-button", "\"slot\": 1"));
    fails(CMD("slot-button", "\"slot\": 2"));
    fails(CMD("slot-button", "\"slot\": -1"));
    fails(CMD("slot-button", "\"slot\": 4294967296"));
    fails(CMD("slot-button", "\"port\": 1"));
    fails(CMD("slot-insert", "\"slot\": 1"));
    fails(CMD("slot-remove", "\"slot\": 1"));
    fails(CMD("slot-remove", "\"slot\": 15, \"surprise\": true"));
    fails(CMD("query-slots", "\"slot\": 1"));
    slot_write(UB_SHP_PP_CTRL, 1);
    slot_write(UB_SHP_WL_CTRL, UB_SHP_LED_ON);
    slot_write(UB_SHP_PL_CTRL, UB_SHP_LED_BLINK);
    ok(CMD("slot-button", "\"slot\": 1"));
    ok(CMD("slot-remove", "\"slot\": 1, \"surprise\": true"));
    ub_switch_run(sw, 6);
    event = ub_switch_admin_event(admin, 2000003);
    g_assert_cmpstr(event, ==,
                    "{\"event\":\"UB_SLOT_CHANGED\",\"data\":{\"slot\":1,"
                    "\"first-port\":2,\"last-port\":3,\"power\":true,"
                    "\"present\":false,\"seated\":false,\"work-led\":\"on\","
                    "\"power-led\":\"blink\",\"button-enabled\":true},"
                    "\"timestamp\":{\"seconds\":2,\"microseconds\":3}}\n");
    free(event);
    g_assert_null(ub_switch_admin_event(admin, 1));
    slot_write(UB_SHP_PW_CTRL, 0);
    ub_switch_run(sw, 7);
    ok(CMD("slot-insert", "\"slot\": 1"));
    teardown();
}

static void test_events(void)
{
    setup();
    ub_switch_admin_link(admin, 1);
    g_assert_null(ub_switch_admin_event(admin, 0));
    teardown();
}

/* Anything at all: an answer or none, never more. */
static void test_hostile(void)
{
    static const char *const pieces[] = {
        "{", "}", "\"execute\"", ":", "\"query-ports\"", ",", "\"arguments\"",
        "\"configure\"", "[", "]", "1", "-1", "1e99", "\"port\"", "null",
        "\"id\"", "true", "99999999999999999999", "\"fault-set\"", "\"\\u0000\"",
        "\"inject-lane\"", "\"lane\"", "\"ber\"", "\"route-set\"", "\"cna\"",
        "\"ports\"", "\"npi-allow\"", "\"npi\"", "\xc3\x28", "\"vl-out\"",
    };
    GRand *r = g_rand_new_with_seed(4);
    GString *deep = g_string_new(NULL);

    setup();
    for (unsigned i = 0; i < 30000; i++) {
        GString *s = g_string_new(NULL);
        char *text;

        if (i % 3) {
            g_string_append_printf(s, "{\"execute\": %s, \"arguments\": {",
                                   pieces[g_rand_int_range(r, 0,
                                          G_N_ELEMENTS(pieces))]);
        }
        for (unsigned n = g_rand_int_range(r, 0, 12); n; n--) {
            g_string_append(s, pieces[g_rand_int_range(r, 0,
                                      G_N_ELEMENTS(pieces))]);
        }
        if (i % 3) {
            g_string_append(s, "}}");
        }
        text = ub_switch_admin_line(admin, i, s->str, s->len);
        free(text);
        g_string_free(s, TRUE);
    }
    for (unsigned i = 0; i < UB_SWITCH_LINE_MAX; i++) {
        g_string_append_c(deep, '[');
    }
    fails(deep->str);
    g_string_free(deep, TRUE);
    g_rand_free(r);
    teardown();
}

/* ---- Ethernet ports -------------------------------------------------------------- */

static void test_ethernet(void)
{
    static const char *const bad[] = {
        CMD("ethernet-configure", "\"port\":3,\"mtu\":1500"),
        CMD("ethernet-configure", "\"port\":6,\"mtu\":1500"),
        CMD("ethernet-configure", "\"mtu\":1500"),
        CMD("ethernet-configure", "\"port\":4,\"mtu\":9217"),
        CMD("ethernet-configure", "\"port\":4,\"mac\":\"03:00:00:00:00:01\""),
        CMD("ethernet-configure", "\"port\":4,\"mac\":\"2\""),
        CMD("ethernet-configure", "\"port\":4,\"npi\":16777216"),
        CMD("ethernet-configure", "\"port\":4,\"colour\":1"),
        CMD("ethernet-configure", "\"port\":4,\"age-ms\":0"),
        CMD("ethernet-vlan-set", "\"port\":4,\"vlan\":4095,\"npi\":2"),
        CMD("ethernet-vlan-set", "\"port\":4,\"vlan\":0,\"npi\":2"),
        CMD("ethernet-vlan-set", "\"port\":4,\"vlan\":8,\"npi\":5"),
        CMD("ethernet-vlan-set", "\"port\":0,\"vlan\":8,\"npi\":6"),
        CMD("ethernet-neighbour-set", "\"port\":4,\"ip\":\"10.0.0.0/8\""),
        CMD("ethernet-neighbour-set", "\"port\":4,\"ip\":\"10.9.9.9\""),
        CMD("ethernet-neighbour-set", "\"port\":4,\"ip\":\"224.0.0.1\","
            "\"mac\":\"02:00:00:00:00:09\""),
        CMD("ethernet-neighbour-set", "\"port\":4,\"ip\":\"10.0.1.9\","
            "\"mac\":\"02:00:00:00:00\""),
        CMD("ethernet-prefix-set", "\"port\":4,\"prefix\":\"10.0.0.0/33\""),
        CMD("ethernet-prefix-set", "\"port\":4,\"prefix\":\"10.0.0.0/8\","
            "\"via\":\"fe80::1\""),
        CMD("ethernet-prefix-set", "\"port\":4,\"prefix\":\"11.0.0.0/8\","
            "\"on\":false"),
        CMD("query-ethernet", "\"port\":4"),
        CMD("query-neighbours", "\"port\":0"),
        CMD("query-counters", "\"port\":6"),
        CMD("route-set", "\"cna\":1,\"ports\":[4]"),
        CMD("route-default", "\"ports\":[0,5]"),
        CMD("npi-allow", "\"port\":6,\"npi\":2"),
        CMD("port-enable", "\"port\":4,\"on\":true"),
        CMD("fault-set", "\"port\":6"),
        CMD("fault-set", "\"port\":0,\"out\":true"),
        CMD("inject-lane", "\"port\":5,\"lane\":0"),
    };
    json_t *r;

    setup_ethernet(2);
    ok(CMD("ethernet-configure", "\"port\":4,\"mtu\":1500,\"ecn\":false,"
           "\"vlans\":true,\"npi\":3,\"plain-ip\":false,\"answer\":false,"
           "\"retry-ms\":50,\"age-ms\":7000,\"mac\":\"02:00:00:00:0a:0B\""));
    ok(CMD("ethernet-vlan-set", "\"port\":4,\"vlan\":7,\"npi\":5"));
    ok(CMD("fault-set", "\"port\":4,\"nth\":1,\"action\":\"drop\""));
    ok(CMD("fault-set", "\"port\":5,\"out\":true,\"delay-ppm\":9"));
    returns(CMD("query-faults", ""),
            "[{\"port\":4,\"dropped\":0,\"duplicated\":0,\"reordered\":0,"
            "\"corrupted\":0,\"delayed\":0,\"out\":false},"
            "{\"port\":5,\"dropped\":0,\"duplicated\":0,\"reordered\":0,"
            "\"corrupted\":0,\"delayed\":0,\"out\":true}]");
    ok(CMD("ethernet-neighbour-set", "\"port\":4,\"ip\":\"10.0.1.9\","
           "\"mac\":\"02:00:00:00:00:09\",\"vlan\":7"));
    ok(CMD("ethernet-neighbour-set", "\"port\":4,\"ip\":\"10.0.1.8\","
           "\"mac\":\"02:00:00:00:00:08\""));
    ok(CMD("ethernet-neighbour-set", "\"port\":4,\"ip\":\"10.0.1.8\""));
    ok(CMD("ethernet-prefix-set", "\"port\":4,\"prefix\":\"10.0.0.0/8\""));
    ok(CMD("ethernet-prefix-set", "\"port\":4,\"prefix\":\"::/0\","
           "\"via\":\"fe80::1\""));
    returns(CMD("query-ethernet", ""),
            "[{\"port\":4,\"up\":false,\"mac\":\"02:00:00:00:0a:0b\","
            "\"mtu\":1500,\"ecn\":false,\"vlans\":true,\"npi\":3,"
            "\"plain-ip\":false,\"answer\":false,\"retry-ms\":50,"
            "\"age-ms\":7000,\"npi-vlans\":[{\"vlan\":7,\"npi\":5}],"
            "\"prefixes\":[{\"prefix\":\"10.0.0.0/8\"},"
            "{\"prefix\":\"::/0\",\"via\":\"fe80::1\"}]},"
            "{\"port\":5,\"up\":false,\"mac\":\"02:00:00:00:00:02\","
            "\"mtu\":9216,\"ecn\":true,\"vlans\":false,\"npi\":1,"
            "\"plain-ip\":true,\"answer\":true,\"retry-ms\":1000,"
            "\"age-ms\":60000,\"npi-vlans\":[],\"prefixes\":[]}]");
    returns(CMD("query-neighbours", "\"port\":4"),
            "[{\"vlan\":7,\"ip\":\"10.0.1.9\",\"fixed\":true,\"waiting\":0,"
            "\"mac\":\"02:00:00:00:00:09\"}]");
    ok(CMD("ip-route-set", "\"prefix\":\"10.0.1.0/24\",\"ports\":[4,5]"));
    ok(CMD("npi-allow", "\"port\":5,\"npi\":2"));
    ok(CMD("npi-replace", "\"port\":5,\"npi\":2"));
    ok(CMD("npi-clear", "\"port\":5"));
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        fails(bad[i]);
    }
    r = good(CMD("query-counters", "\"port\":5"));
    g_assert_cmpint(json_integer_value(json_object_get(json_object_get(
        json_array_get(r, 0), "ethernet"), "drop-unresolved")), ==, 0);
    g_assert_true(json_is_integer(json_object_get(json_object_get(
        json_array_get(r, 0), "ethernet"), "tx-frames")));
    json_decref(r);
    r = good(CMD("query-counters", ""));
    g_assert_cmpuint(json_array_size(r), ==, 6);
    json_decref(r);
    ub_switch_ethernet_link(sw, 6, 4, true);
    ub_switch_admin_link(admin, 4);
    {
        char *event = ub_switch_admin_event(admin, 0);

        g_assert_nonnull(event);
        g_assert_nonnull(strstr(event, "\"port\":4,\"link-up\":true"));
        free(event);
    }
    teardown();
}

/* A frame of IPv4 from a station to @port, which is of Ethernet. */
static void rx_frame(unsigned port)
{
    uint8_t frame[60] = {
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0, 0x45, 0, 0, 28, 0, 0, 0x40, 0,
        0x40, 17, 0x25, 0xc8, 10, 0, 1, 9, 10, 0, 0, 1, 0x0b, 0xb8, 0x0b, 0xb8,
        0, 8,
    };

    ub_switch_ethernet_rx(sw, 6, port, frame, sizeof(frame));
}

static uint64_t counted(unsigned port, UbNetCounter c)
{
    return ub_net_counter(ub_switch_net(sw), port, c);
}

/* What the list and the replacement of a port do, and to it alone. */
static void test_npi_effect(void)
{
    setup_ethernet(1);
    ub_switch_ethernet_link(sw, 5, 4, true);
    rx_frame(4);
    g_assert_cmpuint(counted(4, UB_NET_RX_PACKETS), ==, 1);
    g_assert_cmpuint(counted(4, UB_NET_DROP_NPI), ==, 0);
    ok(CMD("npi-allow", "\"port\": 3, \"npi\": 5"));
    rx_frame(4);
    g_assert_cmpuint(counted(4, UB_NET_DROP_NPI), ==, 0);
    ok(CMD("npi-allow", "\"port\": 4, \"npi\": 5"));
    rx_frame(4);
    g_assert_cmpuint(counted(4, UB_NET_DROP_NPI), ==, 1);
    ok(CMD("npi-clear", "\"port\": 3"));
    rx_frame(4);
    g_assert_cmpuint(counted(4, UB_NET_DROP_NPI), ==, 2);
    ok(CMD("npi-clear", "\"port\": 4"));
    rx_frame(4);
    g_assert_cmpuint(counted(4, UB_NET_DROP_NPI), ==, 2);
    g_assert_cmpuint(counted(4, UB_NET_NPI_REPLACED), ==, 0);
    ok(CMD("npi-replace", "\"port\": 3, \"npi\": 7"));
    rx_frame(4);
    g_assert_cmpuint(counted(4, UB_NET_NPI_REPLACED), ==, 0);
    ok(CMD("npi-replace", "\"port\": 4, \"npi\": 33554431"));
    rx_frame(4);
    g_assert_cmpuint(counted(4, UB_NET_NPI_REPLACED), ==, 1);
    ok(CMD("npi-replace", "\"port\": 4, \"npi\": 0"));
    rx_frame(4);
    g_assert_cmpuint(counted(4, UB_NET_NPI_REPLACED), ==, 1);
    teardown();
}

/* The list of a port has an end, and is empty again. */
static void test_npi_many(void)
{
    setup();
    for (unsigned i = 1; i <= UB_NET_MAX_NPIS; i++) {
        g_autofree char *line = g_strdup_printf(
            CMD("npi-allow", "\"port\": 1, \"npi\": %u"), i);

        ok(line);
    }
    fails(CMD("npi-allow", "\"port\": 1, \"npi\": 257"));
    ok(CMD("npi-allow", "\"port\": 2, \"npi\": 257"));
    ok(CMD("npi-clear", "\"port\": 1"));
    ok(CMD("npi-allow", "\"port\": 1, \"npi\": 33554431"));
    fails(CMD("npi-clear", "\"port\": 4"));
    fails(CMD("npi-clear", "\"port\": -1"));
    fails(CMD("npi-replace", "\"port\": 1, \"npi\": 33554432"));
    fails(CMD("npi-replace", "\"port\": 1, \"npi\": -1"));
    fails(CMD("npi-replace", "\"port\": 4, \"npi\": 1"));
    fails(CMD("npi-clear", "\"npi\": 1"));
    fails(CMD("npi-replace", "\"port\": 1"));
    teardown();
}

/* Each value of a plan of faults is where it belongs, up to its bound. */
static void test_fault_values(void)
{
    const CoreFaultPlan *plan;
    const UbLaneFault *lane;

    setup();
    plan = &ub_switch_faults(sw, 3, false)->plan;
    ok(CMD("fault-set", "\"port\": 3, \"drop-ppm\": 1, \"duplicate-ppm\": 2,"
           " \"reorder-ppm\": 3, \"corrupt-ppm\": 4, \"delay-ppm\": 999990,"
           " \"seed\": 4294967295, \"nth\": 9223372036854775807,"
           " \"every\": 9223372036854775806, \"action\": \"delay\","
           " \"reorder-depth\": 64, \"delay-us\": 60000000"));
    g_assert_cmpuint(plan->ppm[CORE_FAULT_DROP], ==, 1);
    g_assert_cmpuint(plan->ppm[CORE_FAULT_DUPLICATE], ==, 2);
    g_assert_cmpuint(plan->ppm[CORE_FAULT_REORDER], ==, 3);
    g_assert_cmpuint(plan->ppm[CORE_FAULT_CORRUPT], ==, 4);
    g_assert_cmpuint(plan->ppm[CORE_FAULT_DELAY], ==, 999990);
    g_assert_cmpuint(plan->seed, ==, UINT32_MAX);
    g_assert_cmpuint(plan->nth, ==, INT64_MAX);
    g_assert_cmpuint(plan->every, ==, INT64_MAX - 1);
    g_assert_cmpint(plan->nth_action, ==, CORE_FAULT_DELAY);
    g_assert_cmpuint(plan->reorder_depth, ==, 64);
    g_assert_cmpuint(plan->delay_us, ==, 60000000);
    g_assert_false(ub_switch_faults(sw, 2, false)->on);
    ok(CMD("fault-set", "\"port\": 0, \"drop-ppm\": 1000000"));
    fails(CMD("fault-set", "\"port\": 3, \"drop-ppm\": 1,"
              " \"delay-ppm\": 1000000"));
    fails(CMD("fault-set", "\"port\": 3, \"drop-ppm\": -1,"
              " \"delay-ppm\": 5"));
    fails(CMD("fault-set", "\"port\": 3, \"seed\": 4294967296"));
    fails(CMD("fault-set", "\"port\": 3, \"seed\": -1"));
    fails(CMD("fault-set", "\"port\": 3, \"nth\": -1"));
    fails(CMD("fault-set", "\"port\": 3, \"every\": -1"));
    fails(CMD("fault-set", "\"port\": 3, \"reorder-depth\": -1"));
    fails(CMD("fault-set", "\"port\": 3, \"delay-us\": 60000001"));
    fails(CMD("fault-set", "\"port\": -1"));
    fails(CMD("fault-set", "\"drop-ppm\": 1"));
    /* What was refused changed nothing. */
    g_assert_cmpuint(plan->delay_us, ==, 60000000);
    g_assert_cmpuint(plan->ppm[CORE_FAULT_DELAY], ==, 999990);
    ok(CMD("inject-lane", "\"port\": 3, \"lane\": 7, \"ber\": 1.0,"
           " \"burst\": 65535, \"lose-amctl\": 4294967295, \"invert\": true"));
    lane = ub_inject_get(ub_port_inject(ub_switch_port(sw, 3)), 7);
    g_assert_cmpfloat(lane->ber, ==, 1);
    g_assert_cmpuint(lane->burst, ==, UINT16_MAX);
    g_assert_cmpuint(lane->lose_amctl, ==, UINT32_MAX);
    g_assert_true(lane->invert);
    g_assert_false(lane->cut);
    ok(CMD("inject-lane", "\"port\": 3, \"lane\": 0, \"cut\": true"));
    lane = ub_inject_get(ub_port_inject(ub_switch_port(sw, 3)), 0);
    g_assert_true(lane->cut);
    g_assert_false(lane->invert);
    fails(CMD("inject-lane", "\"port\": 3, \"lane\": 0, \"burst\": 65536"));
    fails(CMD("inject-lane", "\"port\": 3, \"lane\": 0, \"burst\": -1"));
    fails(CMD("inject-lane", "\"port\": 3, \"lane\": 0, \"lose-amctl\":"
              " 4294967296"));
    fails(CMD("inject-lane", "\"port\": 3, \"lane\": 0, \"lose-amctl\": -1"));
    fails(CMD("inject-lane", "\"port\": 3, \"lane\": -1"));
    fails(CMD("inject-lane", "\"port\": 4, \"lane\": 0"));
    teardown();
}

/* Each setting is itself: with a value of its own it comes back, and no other
 * changes; and at its bounds. */
static void test_each_setting(void)
{
    static const struct { const char *name, *value; } rows[] = {
        { "icrc", "false" }, { "icrc-scan", "false" }, { "icrc-transit", "true" },
        { "mtu", "1024" },
        { "sl-vl", "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,1]" },
        { "dscp-sl", "[15,15,1,1,2,2,3,3,4,4,5,5,6,6,7,7,0,0,0,0,0,0,0,0,0,0,0,"
          "0,0,0,0,0,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,9,9,9,9,9,9,9,9,9,9,9,9,9,"
          "9,9,14]" },
        { "vl-strict", "65535" }, { "watchdog", "1152921504606846976" },
        { "vl-weight", "[65535,1,2,3,4,5,6,7,8,9,10,11,12,13,14,65535]" },
        { "vl-out", "[1,1,2,3,4,5,6,7,8,9,10,11,12,13,14,0]" },
        { "queue-limit", "4294967295" }, { "transit-limit", "4294967295" },
        { "fecn", "true" }, { "fecn-light", "77" }, { "fecn-heavy", "4294967295" },
        { "caqm", "true" }, { "caqm-congested", "4294967295" },
        { "caqm-unit", "78" }, { "root-cause", "true" },
        { "edge-ports", "[0, 3]" }, { "hops", "false" },
    };
    static const char *const beyond[] = {
        CMD("configure", "\"watchdog\": 1152921504606846977"),
        CMD("configure", "\"queue-limit\": 4294967296"),
        CMD("configure", "\"queue-limit\": -1"),
        CMD("configure", "\"vl-strict\": 65536"),
        CMD("configure", "\"vl-strict\": -1"),
        CMD("configure", "\"vl-weight\":"
            " [65536,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"),
        CMD("configure", "\"vl-weight\":"
            " [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"),
        CMD("configure", "\"sl-vl\": [0.5,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"),
        CMD("configure", "\"hops\": null"),
        CMD("configure", "\"edge-ports\": 1"),
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *line = g_strdup_printf(
            CMD("configure", "\"%s\": %s"), rows[i].name, rows[i].value);
        json_t *want, *got;

        setup();
        want = good(CMD("query-settings", ""));
        got = json_loads(rows[i].value, JSON_DECODE_ANY, NULL);
        g_assert_nonnull(json_object_get(want, rows[i].name));
        if (json_equal(json_object_get(want, rows[i].name), got)) {
            g_error("%s is so by itself", rows[i].name);
        }
        json_object_set_new(want, rows[i].name, got);
        ok(line);
        got = good(CMD("query-settings", ""));
        if (!json_equal(want, got)) {
            char *text = json_dumps(got, 0);

            g_error("%s: %s", line, text);
        }
        json_decref(want);
        json_decref(got);
        teardown();
    }
    setup();
    for (unsigned i = 0; i < G_N_ELEMENTS(beyond); i++) {
        fails(beyond[i]);
    }
    /* CNAs have 24 bits; a GUID 32 digits. */
    ok(CMD("cna-set", "\"cna\": 16777215"));
    g_assert_cmphex(ub_net_primary(ub_switch_net(sw)), ==, 0xffffff);
    ok(CMD("cna-set", "\"cna\": 0"));
    g_assert_cmphex(ub_net_primary(ub_switch_net(sw)), ==, 0);
    ok(CMD("route-set", "\"cna\": 0, \"ports\": [3]"));
    g_assert_cmphex(ub_net_route_get(ub_switch_net(sw), 0), ==, 8);
    ok(CMD("ip-route-set", "\"prefix\": \"::/128\", \"ports\": [1]"));
    ok(CMD("ip-route-set", "\"prefix\": \"0.0.0.0/0\", \"ports\": [1]"));
    ok(CMD("route-exact", "\"on\": true"));
    g_assert_true(ub_net_exact_get(ub_switch_net(sw)));
    ok(CMD("route-exact", "\"on\": false"));
    g_assert_false(ub_net_exact_get(ub_switch_net(sw)));
    teardown();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/switch/admin/lines", test_lines);
    g_test_add_func("/ub/switch/admin/routes", test_routes);
    g_test_add_func("/ub/switch/admin/status", test_status);
    g_test_add_func("/ub/switch/admin/gates", test_gates);
    g_test_add_func("/ub/switch/admin/settings", test_settings);
    g_test_add_func("/ub/switch/admin/npi", test_npi);
    g_test_add_func("/ub/switch/admin/faults", test_faults);
    g_test_add_func("/ub/switch/admin/capture", test_capture);
    g_test_add_func("/ub/switch/admin/slots", test_slots);
    g_test_add_func("/ub/switch/admin/events", test_events);
    g_test_add_func("/ub/switch/admin/ethernet", test_ethernet);
    g_test_add_func("/ub/switch/admin/npi/effect", test_npi_effect);
    g_test_add_func("/ub/switch/admin/npi/many", test_npi_many);
    g_test_add_func("/ub/switch/admin/fault-values", test_fault_values);
    g_test_add_func("/ub/switch/admin/each-setting", test_each_setting);
    g_test_add_func("/ub/switch/admin/hostile", test_hostile);
    return g_test_run();
}
