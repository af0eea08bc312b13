/*
 * Commands to a switch that change something.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <string.h>

#include "admin.h"

static json_t *set_cna(UbSwitchAdmin *a, json_t *args)
{
    json_int_t cna;

    if (!admin_args(a, args, "{s:I}", "cna", &cna) ||
        !admin_range(a, "cna", cna, 0, 0xffffff)) {
        return NULL;
    }
    /* By the register, as a manager would. */
    ub_space_write(ub_switch_space(a->sw), a->now,
                   UB_CFG0_BASE + UB_CFG0_PRIMARY_CNA, cna, 0xf);
    return json_object();
}

static json_t *set_route(UbSwitchAdmin *a, json_t *args)
{
    UbNet *net = ub_switch_net(a->sw);
    json_t *list, *near = NULL;
    uint64_t ports, shortest = 0;
    json_int_t cna;

    if (!admin_args(a, args, "{s:I, s:o, s?:o}", "cna", &cna, "ports", &list,
                    "shortest", &near) ||
        !admin_get_links(a, list, &ports) ||
        (near && !admin_get_links(a, near, &shortest))) {
        return NULL;
    }
    if (shortest & ~ports) {
        return admin_error(a, "shortest is a part of ports");
    }
    if (cna < 0 || cna >= ub_net_config(net)->route_entries) {
        return admin_error(a, "cna is beyond the table");
    }
    ub_net_route_set(net, cna, ports);
    ub_net_route_shortest(net, cna, shortest);
    return json_object();
}

static json_t *set_default(UbSwitchAdmin *a, json_t *args)
{
    uint64_t ports;
    json_t *list;

    if (!admin_args(a, args, "{s:o}", "ports", &list) ||
        !admin_get_links(a, list, &ports)) {
        return NULL;
    }
    ub_net_route_default(ub_switch_net(a->sw), ports);
    return json_object();
}

static json_t *set_exact(UbSwitchAdmin *a, json_t *args)
{
    int on;

    if (!admin_args(a, args, "{s:b}", "on", &on)) {
        return NULL;
    }
    ub_net_route_exact(ub_switch_net(a->sw), on);
    return json_object();
}

static json_t *set_ip_route(UbSwitchAdmin *a, json_t *args)
{
    const char *prefix;
    uint64_t ports;
    UbIpRoute r;
    json_t *list;

    if (!admin_args(a, args, "{s:s, s:o}", "prefix", &prefix, "ports",
                    &list) ||
        !admin_get_ports(a, list, &ports) ||
        !admin_get_prefix(a, prefix, &r)) {
        return NULL;
    }
    if (!ub_net_ip_route(ub_switch_net(a->sw), r.cfg, r.ip, r.prefix, ports)) {
        return admin_error(a, "there are too many IP routes");
    }
    return json_object();
}

static json_t *configure_net(UbSwitchAdmin *a, json_t *args)
{
    UbSwitchConfig conf = ub_switch_settings(a->sw);
    const char *name, *why;
    json_t *value;

    json_object_foreach(args, name, value) {
        if (!admin_set(a, &conf, name, value)) {
            return NULL;
        }
    }
    why = ub_switch_configure(a->sw, &conf);
    return why ? admin_error(a, "%s", why) : json_object();
}

/* ---- Isolation -------------------------------------------------------------------- */

static json_t *npi_allow(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port, npi;

    if (!admin_args(a, args, "{s:I, s:I}", "port", &port, "npi", &npi) ||
        !admin_any_port(a, port) ||
        !admin_range(a, "npi", npi, 1, UB_NPI_MASK)) {
        return NULL;
    }
    return ub_net_npi_allow(ub_switch_net(a->sw), port, npi)
           ? json_object()
           : admin_error(a, "its ID is 0, or there are too many");
}

static json_t *npi_clear(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port;

    if (!admin_args(a, args, "{s:I}", "port", &port) ||
        !admin_any_port(a, port)) {
        return NULL;
    }
    ub_net_npi_clear(ub_switch_net(a->sw), port);
    return json_object();
}

static json_t *npi_close(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port;
    int on;

    if (!admin_args(a, args, "{s:I, s:b}", "port", &port, "on", &on) ||
        !admin_any_port(a, port)) {
        return NULL;
    }
    ub_net_npi_close(ub_switch_net(a->sw), port, on);
    return json_object();
}

static json_t *set_border(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port;
    int on, plain = false;

    if (!admin_args(a, args, "{s:I, s:b, s?b}", "port", &port, "on", &on,
                    "plain", &plain) ||
        !admin_any_port(a, port)) {
        return NULL;
    }
    ub_net_set_border(ub_switch_net(a->sw), port,
                      (on ? UB_NET_BORDER : 0) |
                      (plain ? UB_NET_BORDER_PLAIN : 0));
    return json_object();
}

static json_t *npi_replace(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port, npi;

    if (!admin_args(a, args, "{s:I, s:I}", "port", &port, "npi", &npi) ||
        !admin_any_port(a, port) ||
        !admin_range(a, "npi", npi, 0, UB_NPI_MASK)) {
        return NULL;
    }
    ub_net_npi_replace(ub_switch_net(a->sw), port, npi);
    return json_object();
}

static json_t *npi_configure(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port, npi;
    const char *text;
    uint8_t guid[16];

    if (!admin_args(a, args, "{s:I, s:s, s:I}", "port", &port, "guid", &text,
                    "npi", &npi) ||
        !admin_port(a, port) ||
        !admin_range(a, "npi", npi, 0, UB_NPI_MASK) ||
        !admin_get_guid(a, text, guid)) {
        return NULL;
    }
    return ub_switch_npic(a->sw, a->now, port, guid, npi)
           ? json_object() : admin_error(a, "the port takes no packet now");
}

/* ---- Links and faults ----------------------------------------------------------------- */

static json_t *enable_port(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port;
    int on;

    if (!admin_args(a, args, "{s:I, s:b}", "port", &port, "on", &on) ||
        !admin_port(a, port)) {
        return NULL;
    }
    ub_switch_enable(a->sw, a->now, port, on);
    return json_object();
}

static json_t *set_boundary(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port;
    int on;

    if (!admin_args(a, args, "{s:I, s:b}", "port", &port, "on", &on) ||
        !admin_port(a, port)) {
        return NULL;
    }
    ub_port_set_boundary(ub_switch_port(a->sw, port), on);
    return json_object();
}

static const char *const fault_names[CORE_FAULT_NUM] = {
    "none", "drop", "duplicate", "reorder", "corrupt", "delay",
};

static json_t *set_fault(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port, ppm[CORE_FAULT_NUM] = { 0 }, seed = 0, nth = 0;
    json_int_t every = 0, depth = 0, delay = 0, sum = 0;
    const char *action = "none";
    CoreFaultPlan plan = { 0 };
    int out = 0;

    if (!admin_args(a, args, "{s:I, s?:b, s?:I, s?:I, s?:I, s?:I, s?:I, s?:I,"
                    " s?:I, s?:I, s?:s, s?:I, s?:I}", "port", &port,
                    "out", &out,
                    "drop-ppm", &ppm[CORE_FAULT_DROP],
                    "duplicate-ppm", &ppm[CORE_FAULT_DUPLICATE],
                    "reorder-ppm", &ppm[CORE_FAULT_REORDER],
                    "corrupt-ppm", &ppm[CORE_FAULT_CORRUPT],
                    "delay-ppm", &ppm[CORE_FAULT_DELAY],
                    "seed", &seed, "nth", &nth, "every", &every,
                    "action", &action, "reorder-depth", &depth,
                    "delay-us", &delay) ||
        !(out ? admin_ethernet_port(a, port) != NULL : admin_any_port(a, port)) ||
        !admin_range(a, "seed", seed, 0, UINT32_MAX) ||
        !admin_range(a, "nth", nth, 0, INT64_MAX) ||
        !admin_range(a, "every", every, 0, INT64_MAX) ||
        !admin_range(a, "reorder-depth", depth, 0, 64) ||
        !admin_range(a, "delay-us", delay, 0, 60000000)) {
        return NULL;
    }
    for (unsigned i = 1; i < CORE_FAULT_NUM; i++) {
        if (!admin_range(a, "ppm", ppm[i], 0, 1000000)) {
            return NULL;
        }
        plan.ppm[i] = ppm[i];
        sum += ppm[i];
    }
    if (sum > 1000000) {
        return admin_error(a, "more faults than packets");
    }
    for (unsigned i = 0; i < CORE_FAULT_NUM; i++) {
        if (!strcmp(action, fault_names[i])) {
            plan.nth_action = i;
            plan.seed = seed;
            plan.nth = nth;
            plan.every = every;
            plan.reorder_depth = depth;
            plan.delay_us = delay;
            ub_switch_fault(a->sw, port, out, &plan);
            return json_object();
        }
    }
    return admin_error(a, "no such action");
}

static json_t *inject_lane(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port, lane, burst = 0, amctls = 0;
    UbLaneFault fault = { 0 };
    int invert = 0, cut = 0;
    double ber = 0;

    if (!admin_args(a, args, "{s:I, s:I, s?:F, s?:I, s?:I, s?:b, s?:b}",
                    "port", &port, "lane", &lane, "ber", &ber,
                    "burst", &burst, "lose-amctl", &amctls, "invert", &invert,
                    "cut", &cut) ||
        !admin_port(a, port) || !admin_range(a, "lane", lane, 0, 7) ||
        !admin_range(a, "burst", burst, 0, UINT16_MAX) ||
        !admin_range(a, "lose-amctl", amctls, 0, UINT32_MAX)) {
        return NULL;
    }
    fault.ber = ber;
    fault.burst = burst;
    fault.lose_amctl = amctls;
    fault.invert = invert;
    fault.cut = cut;
    return ub_inject_lane(ub_port_inject(ub_switch_port(a->sw, port)), lane,
                          &fault)
           ? json_object() : admin_error(a, "ber is 0 to 1");
}

/* ---- Capture, end ------------------------------------------------------------------------ */

static json_t *start_capture(UbSwitchAdmin *a, json_t *args)
{
    const char *file;
    UbCapture *c;

    if (!admin_args(a, args, "{s:s}", "file", &file)) {
        return NULL;
    }
    c = ub_capture_new(file, a->name, ub_switch_ports(a->sw) +
                       ub_switch_ethernet_ports(a->sw),
                       g_get_real_time() * 1000 - a->now);
    if (!c) {
        return admin_error(a, "cannot write: %s", strerror(errno));
    }
    ub_capture_free(a->capture);
    a->capture = c;
    return json_object();
}

static json_t *stop_capture(UbSwitchAdmin *a, json_t *args)
{
    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    ub_capture_free(a->capture);
    a->capture = NULL;
    return json_object();
}

static json_t *end_program(UbSwitchAdmin *a, json_t *args)
{
    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    a->quit = true;
    return json_object();
}

const AdminRow admin_changes[] = {
    { "cna-set", set_cna },
    { "route-set", set_route },
    { "route-default", set_default },
    { "route-exact", set_exact },
    { "ip-route-set", set_ip_route },
    { "configure", configure_net },
    { "npi-allow", npi_allow },
    { "npi-clear", npi_clear },
    { "npi-close", npi_close },
    { "border-set", set_border },
    { "npi-replace", npi_replace },
    { "npi-configure", npi_configure },
    { "port-enable", enable_port },
    { "port-boundary", set_boundary },
    { "fault-set", set_fault },
    { "inject-lane", inject_lane },
    { "capture-start", start_capture },
    { "capture-stop", stop_capture },
    { "quit", end_program },
    { NULL, NULL },
};
