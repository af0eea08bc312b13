/*
 * Values of commands to a switch: each field by itself, the bounds of each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib/gstdio.h>

#include "core/bytes.h"
#include "switch-admin.h"

static UbSwitch *sw;
static unsigned kicks;

static void count_kick(void *opaque)
{
    kicks++;
}

static size_t no_wire(void *opaque, unsigned port, const uint8_t *data, size_t len)
{
    return len;
}

static void no_close(void *opaque, unsigned port) { }

static bool take_frame(void *opaque, unsigned port, const uint8_t *frame,
                       uint32_t len)
{
    return true;
}

static bool has_room(void *opaque, unsigned port)
{
    return true;
}

/* Two links, two Ethernet ports. */
static void setup(void)
{
    static const UbSwitchOps ops = {
        .kick = count_kick, .wire_send = no_wire, .wire_close = no_close,
        .ethernet_send = take_frame, .ethernet_has_room = has_room,
    };
    UbSwitchConfig conf;
    const char *why = NULL;

    ub_switch_config_init(&conf);
    conf.ethernet = 2;
    memcpy(conf.uboe.mac, "\2\0\0\0\0\1", 6);
    g_assert_true(ub_shp_config_add(&conf.shp, "1+"));
    sw = ub_switch_new(&conf, &ops, NULL, &why);
    g_assert_nonnull(sw);
    admin = ub_switch_admin_new(sw, "values");
}

static void teardown(void)
{
    ub_switch_admin_free(admin);
    admin = NULL;
    ub_switch_free(sw);
}

static json_t *ethernet(unsigned index)
{
    json_t *list = good(CMD("query-ethernet", ""));
    json_t *o = json_incref(json_array_get(list, index));

    json_decref(list);
    return o;
}

/* A member of an Ethernet port, as text. */
static void ethernet_reads(unsigned index, const char *member, const char *want)
{
    json_t *o = ethernet(index);

    reads(member, json_object_get(o, member), want);
    json_decref(o);
}

/* One field of an Ethernet port changes, and no other. */
static void test_each(void)
{
    static const struct { const char *name, *value; } rows[] = {
        { "mtu", "1500" }, { "npi", "33554431" }, { "retry-ms", "3600000" },
        { "age-ms", "86400000" }, { "ecn", "false" }, { "vlans", "true" },
        { "plain-ip", "false" }, { "answer", "false" },
        { "mac", "\"02:a1:b2:c3:d4:e5\"" }, { "retry-ms", "1" }, { "age-ms", "1" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *line = g_strdup_printf(
            CMD("ethernet-configure", "\"port\": 2, \"%s\": %s"), rows[i].name,
            rows[i].value);
        json_t *want, *got, *other;

        setup();
        want = ethernet(0);
        other = ethernet(1);
        json_object_set_new(want, rows[i].name,
                            json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        ok(line);
        got = ethernet(0);
        if (!json_equal(want, got)) {
            g_error("%s: %s", line, json_dumps(got, 0));
        }
        json_decref(got);
        got = ethernet(1);
        g_assert_true(json_equal(other, got));
        json_decref(other);
        json_decref(want);
        json_decref(got);
        teardown();
    }
}

static void test_bounds(void)
{
    static const char *const bad[] = {
        CMD("ethernet-configure", "\"port\": 2, \"retry-ms\": 0"),
        CMD("ethernet-configure", "\"port\": 2, \"retry-ms\": 3600001"),
        CMD("ethernet-configure", "\"port\": 2, \"age-ms\": 86400001"),
        CMD("ethernet-configure", "\"port\": 2, \"npi\": -1"),
        CMD("ethernet-configure", "\"port\": 2, \"npi\": 33554432"),
        CMD("ethernet-configure", "\"port\": 2, \"mtu\": 4294967296"),
        CMD("ethernet-configure", "\"port\": 2, \"mtu\": -1"),
        CMD("ethernet-configure", "\"port\": 1, \"ecn\": true"),
        CMD("ethernet-configure", "\"port\": 4, \"ecn\": true"),
        CMD("ethernet-configure", "\"port\": 2, \"mac\": \"02:00:00:00:00:0g\""),
        CMD("ethernet-vlan-set", "\"port\": 2, \"vlan\": 1, \"npi\": 33554432"),
        CMD("ethernet-vlan-set", "\"port\": 2, \"vlan\": 1, \"npi\": -1"),
        CMD("ethernet-vlan-set", "\"port\": 4, \"vlan\": 1, \"npi\": 1"),
        CMD("ethernet-vlan-set", "\"port\": 1, \"vlan\": 1, \"npi\": 1"),
        CMD("ethernet-neighbour-set", "\"port\": 4, \"ip\": \"10.0.1.9\","
            " \"mac\": \"02:00:00:00:00:09\""),
        CMD("ethernet-neighbour-set", "\"port\": 2, \"ip\": \"10.0.1.9\","
            " \"mac\": \"02:00:00:00:00:09\", \"vlan\": 4095"),
        CMD("ethernet-neighbour-set", "\"port\": 2, \"ip\": \"10.0.1.9\","
            " \"mac\": \"02:00:00:00:00:09\", \"vlan\": -1"),
        CMD("ethernet-prefix-set", "\"port\": 1, \"prefix\": \"10.0.0.0/8\""),
        CMD("ethernet-prefix-set", "\"port\": 2, \"prefix\": \"10.0.0.0/8\","
            " \"via\": \"10.0.0.0/8\""),
        CMD("query-neighbours", "\"port\": 1"),
        CMD("query-neighbours", "\"port\": 4"),
        CMD("query-neighbours", ""),
        CMD("route-set", "\"cna\": 4096, \"ports\": [0]"),
        CMD("route-default", "\"ports\": [2]"),
        CMD("npi-allow", "\"port\": 4, \"npi\": 2"),
        CMD("slot-button", "\"slot\": 16"),
        CMD("query-faults", "\"port\": 1"),
        CMD("query-status", "\"port\": 1"),
        CMD("query-settings", "\"port\": 1"),
        CMD("query-ports", "\"port\": 1"),
        CMD("query-routes", "\"port\": 1"),
        CMD("capture-stop", "\"port\": 1"),
        CMD("quit", "\"port\": 1"),
    };

    setup();
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        fails(bad[i]);
    }
    g_assert_false(ub_switch_admin_quit(admin));
    ok(CMD("route-set", "\"cna\": 4095, \"ports\": [0, 1]"));
    g_assert_cmphex(ub_net_route_get(ub_switch_net(sw), 4095), ==, 3);
    teardown();
}

/* The first and the last VLAN, and none. */
static void test_vlans(void)
{
    json_t *o;

    setup();
    ok(CMD("ethernet-configure", "\"port\": 2, \"vlans\": true"));
    ok(CMD("ethernet-vlan-set", "\"port\": 2, \"vlan\": 1, \"npi\": 5"));
    ok(CMD("ethernet-vlan-set", "\"port\": 2, \"vlan\": 4094, \"npi\": 33554431"));
    ethernet_reads(0, "npi-vlans", "[{\"vlan\": 1, \"npi\": 5}, {\"vlan\": 4094,"
                   " \"npi\": 33554431}]");
    ok(CMD("ethernet-vlan-set", "\"port\": 2, \"vlan\": 1, \"npi\": 0"));
    o = ethernet(0);
    g_assert_cmpuint(json_array_size(json_object_get(o, "npi-vlans")), ==, 1);
    json_decref(o);
    /* A neighbour is on no VLAN unless one is named. */
    ok(CMD("ethernet-neighbour-set", "\"port\": 2, \"ip\": \"10.0.1.9\","
           " \"mac\": \"02:a1:b2:c3:d4:e5\""));
    ok(CMD("ethernet-neighbour-set", "\"port\": 3, \"ip\": \"fe80::9\","
           " \"mac\": \"02:a1:b2:c3:d4:e5\", \"vlan\": 4094"));
    returns(CMD("query-neighbours", "\"port\": 2"),
            "[{\"vlan\": 0, \"ip\": \"10.0.1.9\", \"fixed\": true, \"waiting\": 0,"
            " \"mac\": \"02:a1:b2:c3:d4:e5\"}]");
    returns(CMD("query-neighbours", "\"port\": 3"),
            "[{\"vlan\": 4094, \"ip\": \"fe80::9\", \"fixed\": true, \"waiting\": 0,"
            " \"mac\": \"02:a1:b2:c3:d4:e5\"}]");
    ok(CMD("ethernet-neighbour-set", "\"port\": 2, \"ip\": \"10.0.1.9\""));
    returns(CMD("query-neighbours", "\"port\": 2"), "[]");
    teardown();
}

static void wires(void *opaque, unsigned port, UbSwitchWire *out)
{
    if (port == 2) {
        *out = (UbSwitchWire) { "stream", "tcp:a:1", 21, 22, 23 };
    }
}

static void test_wires(void)
{
    json_t *o;

    setup();
    o = ethernet(0);
    g_assert_null(json_object_get(o, "wire"));
    json_decref(o);
    ub_switch_admin_set_wires(admin, wires, NULL);
    ethernet_reads(0, "wire", "{\"kind\": \"stream\", \"address\": \"tcp:a:1\","
                   " \"sent\": 21, \"received\": 22, \"broken\": 23}");
    ethernet_reads(1, "wire", "{\"kind\": \"none\", \"address\": \"\", \"sent\": 0,"
                   " \"received\": 0, \"broken\": 0}");
    teardown();
}

/* A route by a router, on and off; the default of "on". */
static void test_prefixes(void)
{
    json_t *o;

    setup();
    ok(CMD("ethernet-prefix-set", "\"port\": 2, \"prefix\": \"10.1.0.0/16\","
           " \"via\": \"10.0.0.1\", \"on\": true"));
    ethernet_reads(0, "prefixes", "[{\"prefix\": \"10.1.0.0/16\", \"via\":"
                   " \"10.0.0.1\"}]");
    ok(CMD("ethernet-prefix-set", "\"port\": 2, \"prefix\": \"10.1.0.0/16\","
           " \"on\": false"));
    o = ethernet(0);
    g_assert_cmpuint(json_array_size(json_object_get(o, "prefixes")), ==, 0);
    json_decref(o);
    teardown();
}

/* Events of Ethernet ports: each change once. */
static void test_link(void)
{
    char *line;

    setup();
    for (unsigned i = 0; i < 4; i++) {
        ub_switch_ethernet_link(sw, 5 + i, 3, i < 2);
        ub_switch_admin_link(admin, 3);
        line = ub_switch_admin_event(admin, 0);
        g_assert_cmpint(line != NULL, ==, !(i & 1));
        if (line) {
            g_assert_nonnull(strstr(line, i ? "\"port\":3,\"link-up\":false,"
                                    "\"packets-pass\":false"
                                    : "\"port\":3,\"link-up\":true,"
                                    "\"packets-pass\":true"));
            free(line);
        }
        g_assert_null(ub_switch_admin_event(admin, 0));
    }
    teardown();
}

/* What is done from outside wakes the switch: a slot, a station that is asked for. */
static void test_kicks(void)
{
    uint8_t ip[16] = { 10, 0, 1, 9 };

    setup();
    ub_switch_run(sw, 5);
    kicks = 0;
    ok(CMD("slot-remove", "\"slot\": 0, \"surprise\": true"));
    g_assert_cmpuint(kicks, >, 0);
    ub_switch_run(sw, 6);
    g_assert_true(ub_net_ip_route(ub_switch_net(sw), UB_LPH_IPV4, ip, 24, 4));
    ub_switch_ethernet_link(sw, 7, 2, true);
    ub_switch_run(sw, 7);
    ok(CMD("ethernet-neighbour-set", "\"port\": 2, \"ip\": \"10.0.1.9\","
           " \"mac\": \"02:a1:b2:c3:d4:e5\""));
    teardown();
}

/* What a plan of faults does not name is 0. */
static void test_fault_unnamed(void)
{
    const CoreFaultPlan *plan;

    setup();
    ok(CMD("fault-set", "\"port\": 1, \"drop-ppm\": 7, \"seed\": 8, \"nth\": 9,"
           " \"every\": 10, \"action\": \"delay\", \"reorder-depth\": 11,"
           " \"delay-us\": 12"));
    ok(CMD("fault-set", "\"port\": 1, \"corrupt-ppm\": 1"));
    plan = &ub_switch_faults(sw, 1, false)->plan;
    for (unsigned i = 0; i < CORE_FAULT_NUM; i++) {
        g_assert_cmpuint(plan->ppm[i], ==, i == CORE_FAULT_CORRUPT);
    }
    g_assert_cmpuint(plan->nth_action, ==, CORE_FAULT_NONE);
    g_assert_cmpuint(plan->seed, ==, 0);
    g_assert_cmpuint(plan->nth, ==, 0);
    g_assert_cmpuint(plan->every, ==, 0);
    g_assert_cmpuint(plan->reorder_depth, ==, 4); /* what 0 stands for */
    g_assert_cmpuint(plan->delay_us, ==, 0);
    teardown();
}

/* Faults of each port are told, of the first, the last and those between. */
static void test_faults_told(void)
{
    json_t *list, *o;
    size_t i;

    setup();
    for (unsigned port = 0; port < 4; port++) {
        g_autofree char *line = g_strdup_printf(
            CMD("fault-set", "\"port\": %u, \"drop-ppm\": 1"), port);

        ok(line);
    }
    ok(CMD("fault-set", "\"port\": 3, \"out\": true, \"drop-ppm\": 1"));
    list = good(CMD("query-faults", ""));
    g_assert_cmpuint(json_array_size(list), ==, 5);
    json_array_foreach(list, i, o) {
        g_assert_cmpint(json_integer_value(json_object_get(o, "port")), ==,
                        MIN(i, 3));
    }
    json_decref(list);
    teardown();
}

/* Packets of a capture have the time of the day, whatever the switch's clock says. */
static void test_capture_time(void)
{
    const int64_t hour = INT64_C(3600000000000), now = 40 * hour;
    g_autofree char *dir = g_dir_make_tmp("ub-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(dir, "a.pcapng", NULL);
    g_autofree char *line = g_strdup_printf(CMD("capture-start",
                                                "\"file\": \"%s\""), file);
    g_autofree char *bytes = NULL;
    unsigned packets = 0;
    int64_t real;
    size_t len;

    setup();
    free(ub_switch_admin_line(admin, now, line, strlen(line)));
    g_assert_false(ub_switch_admin_failed(admin));
    real = g_get_real_time() * 1000;
    for (unsigned i = 0; i < 2; i++) {
        ub_switch_admin_capture(admin, now + 2 * i * hour, 1, true, 6, 0,
                                (uint8_t *)"abc", 3);
    }
    ok(CMD("capture-stop", ""));
    g_assert_true(g_file_get_contents(file, &bytes, &len, NULL));
    for (size_t at = 0; at + 28 <= len;) {
        const uint8_t *b = (uint8_t *)bytes + at;

        if (get_le32(b) == 6) {
            int64_t time = (uint64_t)get_le32(b + 12) << 32 | get_le32(b + 16);

            time -= real + 2 * packets++ * hour;
            g_assert_cmpint(time, >, -hour);
            g_assert_cmpint(time, <, hour);
        }
        at += get_le32(b + 4);
    }
    g_assert_cmpuint(packets, ==, 2);
    g_unlink(file);
    g_rmdir(dir);
    teardown();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/switch/values/each", test_each);
    g_test_add_func("/ub/switch/values/bounds", test_bounds);
    g_test_add_func("/ub/switch/values/vlans", test_vlans);
    g_test_add_func("/ub/switch/values/wires", test_wires);
    g_test_add_func("/ub/switch/values/prefixes", test_prefixes);
    g_test_add_func("/ub/switch/values/link", test_link);
    g_test_add_func("/ub/switch/values/kicks", test_kicks);
    g_test_add_func("/ub/switch/values/fault-unnamed", test_fault_unnamed);
    g_test_add_func("/ub/switch/values/faults-told", test_faults_told);
    g_test_add_func("/ub/switch/values/capture-time", test_capture_time);
    return g_test_run();
}
