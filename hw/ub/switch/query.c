/*
 * Commands to a switch that only look.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "admin.h"

static json_t *query_status(UbSwitchAdmin *a, json_t *args)
{
    UbNet *net = ub_switch_net(a->sw);

    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    return json_pack("{s:s, s:o, s:i, s:i, s:I, s:o, s:I, s:b}",
                     "name", a->name, "guid", admin_guid(ub_switch_guid(a->sw)),
                     "ports", (int)ub_switch_ports(a->sw),
                     "ethernet-ports", (int)ub_switch_ethernet_ports(a->sw),
                     "cna", (json_int_t)ub_net_primary(net),
                     "up", admin_ports(ub_net_ports_up(net)),
                     "port-runs", (json_int_t)ub_switch_port_runs(a->sw),
                     "capturing", a->capture != NULL);
}

/* Bytes in the egress queues of a port by VL, those that are not empty. */
static json_t *queues(const UbNet *net, unsigned port)
{
    json_t *list = json_array();

    for (unsigned vl = 0; vl < UB_NET_VLS; vl++) {
        uint32_t bytes = ub_net_queued(net, port, vl);

        if (bytes) {
            json_array_append_new(list, json_pack("{s:i, s:I}", "vl", (int)vl,
                                                  "bytes", (json_int_t)bytes));
        }
    }
    return list;
}

static json_t *port_info(UbSwitchAdmin *a, unsigned port)
{
    UbPort *p = ub_switch_port(a->sw, port);
    UbNet *net = ub_switch_net(a->sw);
    UbPortStatus st;
    json_t *o;

    ub_port_status(p, &st);
    o = json_pack("{s:i, s:b, s:b, s:b, s:b, s:b, s:s, s:s, s:i, s:i, s:i,"
                  " s:I, s:b, s:o}",
                  "port", (int)port, "enabled", ub_port_enabled(p),
                  "boundary", ub_port_boundary(p),
                  "connected", st.connected, "link-up", st.link_up,
                  "packets-pass", st.dll_up, "lmsm", st.phy.state,
                  "dll", ub_dll_state_name(UB_DLL_SM, st.dll.state),
                  "rate", (int)st.phy.rate, "tx-width", (int)st.phy.tx_width,
                  "rx-width", (int)st.phy.rx_width,
                  "vls", (json_int_t)ub_port_vls(p),
                  "edge", (int)(ub_net_config(net)->edge_ports >> port & 1),
                  "queues", queues(net, port));
    if (a->wires) {
        UbSwitchWire w = { 0 };

        a->wires(a->wires_opaque, port, &w);
        json_object_set_new(o, "wire", json_pack(
            "{s:s, s:I, s:I, s:I}", "kind", w.kind ? w.kind : "none",
            "sent", (json_int_t)w.sent, "received", (json_int_t)w.received,
            "broken", (json_int_t)w.broken));
        if (w.address) {
            json_object_set_new(json_object_get(o, "wire"), "address",
                                json_string(w.address));
        }
    }
    if (st.dll.neighbor_valid) {
        json_object_set_new(o, "neighbor-guid",
                            admin_guid(st.dll.neighbor_guid));
        json_object_set_new(o, "neighbor-port",
                            json_integer(st.dll.neighbor_port));
    }
    return o;
}

static json_t *query_ports(UbSwitchAdmin *a, json_t *args)
{
    json_t *list;

    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    list = json_array();
    for (unsigned i = 0; i < ub_switch_ports(a->sw); i++) {
        json_array_append_new(list, port_info(a, i));
    }
    return list;
}

static json_t *counters_of(UbSwitchAdmin *a, unsigned port)
{
    json_t *o = json_object(), *both;
    UbPortStats st;

    for (unsigned i = 0; i < UB_NET_COUNTERS_NUM; i++) {
        json_object_set_new(o, ub_net_counter_name(i), json_integer(
            ub_net_counter(ub_switch_net(a->sw), port, i)));
    }
    if (port >= ub_switch_ports(a->sw)) {
        both = json_pack("{s:i, s:o}", "port", (int)port, "counters", o);
        json_object_set_new(both, "ethernet", admin_ether_counters(
            ub_switch_ethernet_port(a->sw, port)));
        return both;
    }
    ub_port_stats(ub_switch_port(a->sw, port), &st);
    json_object_set_new(o, "link-downs", json_integer(st.link_downs));
    json_object_set_new(o, "link-retrains", json_integer(st.retrains));
    json_object_set_new(o, "dll-retries", json_integer(st.dll->retries));
    json_object_set_new(o, "dll-crc-errors", json_integer(st.dll->crc_errors));
    json_object_set_new(o, "dll-tx-dropped", json_integer(st.dll->tx_dropped));
    json_object_set_new(o, "dll-rx-dropped", json_integer(st.dll->rx_dropped));
    return json_pack("{s:i, s:o}", "port", (int)port, "counters", o);
}

static json_t *query_counters(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port = -1;
    json_t *list;

    if (!admin_args(a, args, "{s?:I}", "port", &port) ||
        (port != -1 && !admin_any_port(a, port))) {
        return NULL;
    }
    list = json_array();
    for (unsigned i = 0; i < ub_switch_ports(a->sw) +
         ub_switch_ethernet_ports(a->sw); i++) {
        if (port == -1 || port == i) {
            json_array_append_new(list, counters_of(a, i));
        }
    }
    return list;
}

static json_t *query_routes(UbSwitchAdmin *a, json_t *args)
{
    UbNet *net = ub_switch_net(a->sw);
    json_t *cnas, *ips;
    UbIpRoute r;

    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    cnas = json_array();
    ips = json_array();
    for (uint32_t i = 0; i < ub_net_config(net)->route_entries; i++) {
        uint64_t ports = ub_net_route_get(net, i);
        uint64_t shortest = ub_net_shortest_get(net, i);
        json_t *one;

        if (!ports) {
            continue;
        }
        one = json_pack("{s:I, s:o}", "cna", (json_int_t)i,
                        "ports", admin_ports(ports));
        if (shortest) {
            json_object_set_new(one, "shortest", admin_ports(shortest));
        }
        json_array_append_new(cnas, one);
    }
    for (unsigned i = 0; ub_net_ip_route_at(net, i, &r); i++) {
        json_array_append_new(ips, json_pack("{s:o, s:o}",
            "prefix", admin_prefix(&r), "ports", admin_ports(r.ports)));
    }
    return json_pack("{s:o, s:b, s:o, s:o}",
                     "default", admin_ports(ub_net_default_get(net)),
                     "exact", ub_net_exact_get(net), "cna", cnas, "ip", ips);
}

/* What passes each port, and what comes in gets. */
static json_t *query_npis(UbSwitchAdmin *a, json_t *args)
{
    UbNet *net = ub_switch_net(a->sw);
    json_t *list;

    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    list = json_array();
    for (unsigned i = 0; i < ub_switch_ports(a->sw) +
         ub_switch_ethernet_ports(a->sw); i++) {
        json_t *npis = json_array();
        const uint32_t *npi;
        unsigned n = ub_net_npi_list(net, i, &npi);

        for (unsigned k = 0; k < n; k++) {
            json_array_append_new(npis, json_integer(npi[k]));
        }
        json_array_append_new(list, json_pack(
            "{s:i, s:o, s:b, s:I, s:b, s:b}", "port", (int)i, "npis", npis,
            "closed", ub_net_npi_closed(net, i),
            "replace", (json_int_t)ub_net_npi_replaced(net, i),
            "border", !!(ub_net_border(net, i) & UB_NET_BORDER),
            "border-plain", !!(ub_net_border(net, i) & UB_NET_BORDER_PLAIN)));
    }
    return list;
}

static json_t *query_settings(UbSwitchAdmin *a, json_t *args)
{
    const UbSwitchConfig now = ub_switch_settings(a->sw);

    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    return admin_settings(&now);
}

static void add_faults(UbSwitchAdmin *a, json_t *list, unsigned port, bool out)
{
    const CoreFault *f = ub_switch_faults(a->sw, port, out);
    json_t *row;

    if (!f->on) {
        return;
    }
    row = json_pack("{s:i, s:I, s:I, s:I, s:I, s:I}", "port", (int)port,
                    "dropped", (json_int_t)f->done[CORE_FAULT_DROP],
                    "duplicated", (json_int_t)f->done[CORE_FAULT_DUPLICATE],
                    "reordered", (json_int_t)f->done[CORE_FAULT_REORDER],
                    "corrupted", (json_int_t)f->done[CORE_FAULT_CORRUPT],
                    "delayed", (json_int_t)f->done[CORE_FAULT_DELAY]);
    if (port >= ub_switch_ports(a->sw)) {
        json_object_set_new(row, "out", json_boolean(out));
    }
    json_array_append_new(list, row);
}

static json_t *query_faults(UbSwitchAdmin *a, json_t *args)
{
    unsigned links = ub_switch_ports(a->sw);
    unsigned all = links + ub_switch_ethernet_ports(a->sw);
    json_t *list;

    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    list = json_array();
    for (unsigned i = 0; i < all; i++) {
        add_faults(a, list, i, false);
        if (i >= links) {
            add_faults(a, list, i, true);
        }
    }
    return list;
}

const AdminRow admin_queries[] = {
    { "query-status", query_status },
    { "query-ports", query_ports },
    { "query-counters", query_counters },
    { "query-routes", query_routes },
    { "query-npis", query_npis },
    { "query-settings", query_settings },
    { "query-faults", query_faults },
    { NULL, NULL },
};
