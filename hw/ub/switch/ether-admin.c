/*
 * Commands to a switch: its Ethernet ports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "admin.h"

#define MILLISECOND 1000000

/* ---- Values ------------------------------------------------------------------------ */

UbUboe *admin_ethernet_port(UbSwitchAdmin *a, json_int_t n)
{
    unsigned first = ub_switch_ports(a->sw);
    unsigned count = ub_switch_ethernet_ports(a->sw);

    if (n < first || n >= first + count) {
        admin_error(a, "there is no such Ethernet port");
        return NULL;
    }
    return ub_switch_ethernet_port(a->sw, n);
}

static json_t *mac_text(const uint8_t *mac)
{
    char text[18];

    snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
             mac[1], mac[2], mac[3], mac[4], mac[5]);
    return json_string(text);
}

static bool read_mac(UbSwitchAdmin *a, const char *text, uint8_t *mac)
{
    if (!ub_ether_mac(text, mac)) {
        admin_error(a, "a MAC is six pairs of hexadecimal digits with : "
                    "between");
        return false;
    }
    return true;
}

static json_t *ip_text(unsigned cfg, const uint8_t *ip)
{
    char text[INET6_ADDRSTRLEN];

    inet_ntop(cfg == UB_LPH_IPV4 ? AF_INET : AF_INET6, ip, text, sizeof(text));
    return json_string(text);
}

/* One address: a prefix of all of its bits. */
static bool read_ip(UbSwitchAdmin *a, const char *text, UbIpRoute *r)
{
    if (strchr(text, '/')) {
        admin_error(a, "no IP address");
        return false;
    }
    return admin_get_prefix(a, text, r);
}

/* NULL is fine. */
static json_t *answer(UbSwitchAdmin *a, const char *why)
{
    return why ? admin_error(a, "%s", why) : json_object();
}

/* ---- Views ----------------------------------------------------------------------------- */

json_t *admin_ether_counters(const UbUboe *u)
{
    json_t *o = json_object();

    for (unsigned i = 0; i < UB_UBOE_COUNTERS_NUM; i++) {
        json_object_set_new(o, ub_uboe_counter_name(i),
                            json_integer(ub_uboe_counter(u, i)));
    }
    return o;
}

static json_t *vlan_list(const UbUboe *u)
{
    json_t *list = json_array();

    for (unsigned vlan = 1; vlan <= UB_UBOE_VLAN_MAX; vlan++) {
        uint32_t npi = ub_uboe_vlan_npi(u, vlan);

        if (npi) {
            json_array_append_new(list, json_pack("{s:i, s:I}", "vlan",
                                                  (int)vlan, "npi",
                                                  (json_int_t)npi));
        }
    }
    return list;
}

static json_t *route_list(const UbUboe *u)
{
    json_t *list = json_array();
    UbUboeRoute r;

    for (unsigned i = 0; ub_uboe_route_at(u, i, &r); i++) {
        UbIpRoute prefix = { .cfg = r.cfg, .prefix = r.prefix };
        json_t *o = json_object();

        memcpy(prefix.ip, r.ip, sizeof(prefix.ip));
        json_object_set_new(o, "prefix", admin_prefix(&prefix));
        if (!r.direct) {
            json_object_set_new(o, "via", ip_text(r.cfg, r.via));
        }
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *ether_info(UbSwitchAdmin *a, unsigned port)
{
    const UbUboe *u = ub_switch_ethernet_port(a->sw, port);
    const UbUboeConfig *c = ub_uboe_config(u);
    json_t *o = json_pack(
        "{s:i, s:b, s:o, s:I, s:b, s:b, s:I, s:b, s:b, s:I, s:I, s:o, s:o}",
        "port", (int)port, "up", ub_uboe_up(u), "mac", mac_text(c->mac),
        "mtu", (json_int_t)c->mtu, "ecn", c->ecn, "vlans", c->vlans,
        "npi", (json_int_t)c->npi, "plain-ip", c->plain, "answer", c->answer,
        "retry-ms", (json_int_t)(c->retry / MILLISECOND),
        "age-ms", (json_int_t)(c->age / MILLISECOND),
        "npi-vlans", vlan_list(u), "prefixes", route_list(u));

    if (a->wires) {
        UbSwitchWire w = { 0 };

        a->wires(a->wires_opaque, port, &w);
        json_object_set_new(o, "wire", json_pack(
            "{s:s, s:s, s:I, s:I, s:I}", "kind", w.kind ? w.kind : "none",
            "address", w.address ? w.address : "",
            "sent", (json_int_t)w.sent, "received", (json_int_t)w.received,
            "broken", (json_int_t)w.broken));
    }
    return o;
}

static json_t *query_ethernet(UbSwitchAdmin *a, json_t *args)
{
    unsigned first = ub_switch_ports(a->sw);
    json_t *list;

    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    list = json_array();
    for (unsigned i = 0; i < ub_switch_ethernet_ports(a->sw); i++) {
        json_array_append_new(list, ether_info(a, first + i));
    }
    return list;
}

static void add_neighbour(void *opaque, const UbUboeNeighbour *n)
{
    json_t *o = json_pack("{s:i, s:o, s:b, s:I}", "vlan", (int)n->vlan,
                          "ip", ip_text(n->cfg, n->ip), "fixed", n->fixed,
                          "waiting", (json_int_t)n->held);

    if (n->known) {
        json_object_set_new(o, "mac", mac_text(n->mac));
    }
    json_array_append_new(opaque, o);
}

static json_t *query_neighbours(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port;
    json_t *list;
    UbUboe *u;

    if (!admin_args(a, args, "{s:I}", "port", &port)) {
        return NULL;
    }
    u = admin_ethernet_port(a, port);
    if (!u) {
        return NULL;
    }
    list = json_array();
    ub_uboe_neighbours(u, add_neighbour, list);
    return list;
}

/* ---- Changes ----------------------------------------------------------------------------- */

static json_t *configure_ethernet(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port, mtu, npi, retry, age;
    int ecn, vlans, plain, reply;
    const char *mac = NULL;
    UbUboeConfig c;
    UbUboe *u;

    port = json_integer_value(json_object_get(args, "port"));
    u = admin_ethernet_port(a, port);
    if (!u) {
        return NULL;
    }
    c = *ub_uboe_config(u);
    mtu = c.mtu;
    npi = c.npi;
    retry = c.retry / MILLISECOND;
    age = c.age / MILLISECOND;
    ecn = c.ecn;
    vlans = c.vlans;
    plain = c.plain;
    reply = c.answer;
    if (!admin_args(a, args, "{s:I, s?:I, s?:I, s?:I, s?:I, s?:b, s?:b, s?:b,"
                    " s?:b, s?:s}", "port", &port, "mtu", &mtu, "npi", &npi,
                    "retry-ms", &retry, "age-ms", &age, "ecn", &ecn,
                    "vlans", &vlans, "plain-ip", &plain, "answer", &reply,
                    "mac", &mac) ||
        !admin_range(a, "mtu", mtu, 0, UINT32_MAX) ||
        !admin_range(a, "npi", npi, 0, UB_NPI_MASK) ||
        !admin_range(a, "retry-ms", retry, 1, 3600000) ||
        !admin_range(a, "age-ms", age, 1, 86400000) ||
        (mac && !read_mac(a, mac, c.mac))) {
        return NULL;
    }
    c.mtu = mtu;
    c.npi = npi;
    c.retry = retry * MILLISECOND;
    c.age = age * MILLISECOND;
    c.ecn = ecn;
    c.vlans = vlans;
    c.plain = plain;
    c.answer = reply;
    return answer(a, ub_uboe_configure(u, &c));
}

static json_t *set_vlan(UbSwitchAdmin *a, json_t *args)
{
    json_int_t port, vlan, npi;
    UbUboe *u;

    if (!admin_args(a, args, "{s:I, s:I, s:I}", "port", &port, "vlan", &vlan,
                    "npi", &npi) ||
        !admin_range(a, "vlan", vlan, 1, UB_UBOE_VLAN_MAX) ||
        !admin_range(a, "npi", npi, 0, UB_NPI_MASK)) {
        return NULL;
    }
    u = admin_ethernet_port(a, port);
    return u ? answer(a, ub_uboe_vlan_set(u, vlan, npi)) : NULL;
}

static json_t *set_neighbour(UbSwitchAdmin *a, json_t *args)
{
    const char *text, *mac_word = NULL;
    json_int_t port, vlan = 0;
    uint8_t mac[UB_ETHER_MAC];
    UbIpRoute ip;
    UbUboe *u;

    if (!admin_args(a, args, "{s:I, s:s, s?:s, s?:I}", "port", &port,
                    "ip", &text, "mac", &mac_word, "vlan", &vlan) ||
        !admin_range(a, "vlan", vlan, 0, UB_UBOE_VLAN_MAX) ||
        !read_ip(a, text, &ip) || (mac_word && !read_mac(a, mac_word, mac))) {
        return NULL;
    }
    u = admin_ethernet_port(a, port);
    return u ? answer(a, ub_uboe_neighbour_set(u, a->now, vlan, ip.cfg, ip.ip,
                                               mac_word ? mac : NULL)) : NULL;
}

static json_t *set_prefix(UbSwitchAdmin *a, json_t *args)
{
    const char *text, *router = NULL;
    UbIpRoute prefix, via = { 0 };
    json_int_t port;
    int on = 1;
    UbUboe *u;

    if (!admin_args(a, args, "{s:I, s:s, s?:s, s?:b}", "port", &port,
                    "prefix", &text, "via", &router, "on", &on) ||
        !admin_get_prefix(a, text, &prefix) ||
        (router && !read_ip(a, router, &via))) {
        return NULL;
    }
    if (router && via.cfg != prefix.cfg) {
        return admin_error(a, "a router has an address of the same version");
    }
    u = admin_ethernet_port(a, port);
    return u ? answer(a, ub_uboe_route_set(u, prefix.cfg, prefix.ip,
                                           prefix.prefix,
                                           router ? via.ip : NULL, on)) : NULL;
}

const AdminRow admin_ethernet[] = {
    { "query-ethernet", query_ethernet },
    { "query-neighbours", query_neighbours },
    { "ethernet-configure", configure_ethernet },
    { "ethernet-vlan-set", set_vlan },
    { "ethernet-neighbour-set", set_neighbour },
    { "ethernet-prefix-set", set_prefix },
    { NULL, NULL },
};
