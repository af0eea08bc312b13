/*
 * Commands to a switch: values as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "admin.h"

json_t *admin_error(UbSwitchAdmin *a, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(a->error, sizeof(a->error), format, ap);
    va_end(ap);
    return NULL;
}

bool admin_range(UbSwitchAdmin *a, const char *what, json_int_t n,
                 json_int_t min, json_int_t max)
{
    if (n < min || n > max) {
        admin_error(a, "%s is %" JSON_INTEGER_FORMAT " to %"
                    JSON_INTEGER_FORMAT, what, min, max);
        return false;
    }
    return true;
}

/* ---- Ports ------------------------------------------------------------------------ */

bool admin_port(UbSwitchAdmin *a, json_int_t n)
{
    return admin_range(a, "port", n, 0, ub_switch_ports(a->sw) - 1);
}

bool admin_any_port(UbSwitchAdmin *a, json_int_t n)
{
    return admin_range(a, "port", n, 0, ub_switch_ports(a->sw) +
                       ub_switch_ethernet_ports(a->sw) - 1);
}

json_t *admin_ports(uint64_t ports)
{
    json_t *list = json_array();

    for (; ports; ports &= ports - 1) {
        json_array_append_new(list, json_integer(__builtin_ctzll(ports)));
    }
    return list;
}

bool admin_get_ports(UbSwitchAdmin *a, const json_t *list, uint64_t *ports)
{
    *ports = 0;
    if (!json_is_array(list)) {
        admin_error(a, "ports is a list of port numbers");
        return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *n = json_array_get(list, i);

        if (!json_is_integer(n)) {
            admin_error(a, "ports is a list of port numbers");
            return false;
        }
        if (!admin_any_port(a, json_integer_value(n))) {
            return false;
        }
        *ports |= UINT64_C(1) << json_integer_value(n);
    }
    return true;
}

bool admin_get_links(UbSwitchAdmin *a, const json_t *list, uint64_t *ports)
{
    if (!admin_get_ports(a, list, ports)) {
        return false;
    }
    /* The highest of them says whether all are. */
    return !*ports || admin_port(a, 63 - __builtin_clzll(*ports));
}

/* ---- GUIDs and prefixes -------------------------------------------------------------- */

json_t *admin_guid(const uint8_t guid[16])
{
    char text[33];

    for (unsigned i = 0; i < 16; i++) {
        snprintf(text + 2 * i, 3, "%02x", guid[i]);
    }
    return json_string(text);
}

bool admin_get_guid(UbSwitchAdmin *a, const char *text, uint8_t guid[16])
{
    bool right = strlen(text) == 32;

    for (unsigned i = 0; right && i < 32; i++) {
        int digit = g_ascii_xdigit_value(text[i]);

        right = digit >= 0;
        guid[i / 2] = guid[i / 2] << 4 | (digit & 15);
    }
    if (!right) {
        admin_error(a, "a GUID has 32 hexadecimal digits");
    }
    return right;
}

json_t *admin_prefix(const UbIpRoute *r)
{
    int family = r->cfg == UB_LPH_IPV4 ? AF_INET : AF_INET6;
    char ip[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 8];

    inet_ntop(family, r->ip, ip, sizeof(ip));
    snprintf(text, sizeof(text), "%s/%u", ip, r->prefix);
    return json_string(text);
}

bool admin_get_prefix(UbSwitchAdmin *a, const char *text, UbIpRoute *r)
{
    g_auto(GStrv) parts = g_strsplit(text, "/", 2);
    gint64 bits;
    guint64 n = 0;

    memset(r, 0, sizeof(*r));
    if (!parts[0]) {
        admin_error(a, "a prefix is an address, / and a number of bits");
        return false;
    }
    if (inet_pton(AF_INET, parts[0], r->ip) == 1) {
        r->cfg = UB_LPH_IPV4;
        bits = 32;
    } else if (inet_pton(AF_INET6, parts[0], r->ip) == 1) {
        r->cfg = UB_LPH_IPV6;
        bits = 128;
    } else {
        admin_error(a, "no IP address");
        return false;
    }
    n = bits;
    if (parts[1] && !g_ascii_string_to_unsigned(parts[1], 10, 0, bits, &n,
                                                NULL)) {
        admin_error(a, "a prefix has 0 to %" G_GINT64_FORMAT " bits", bits);
        return false;
    }
    r->prefix = n;
    return true;
}

/* ---- Settings --------------------------------------------------------------------------- */

/* One number of a setting. */
static json_t *value_of(const CoreOption *o, uint64_t v)
{
    switch (o->kind) {
    case CORE_OPTION_BOOL:
        return json_boolean(v);
    case CORE_OPTION_BITS:
        return admin_ports(v);
    default:
        return json_integer(v);
    }
}

/* Whose settings there are, and where they are. */
static const struct {
    size_t at;
    const CoreOption *(*list)(unsigned *n);
} layers[] = {
    { 0, ub_switch_options },
    { offsetof(UbSwitchConfig, net), ub_net_options },
};

static void add_settings(json_t *all, const CoreOption *o, unsigned n,
                         const void *c)
{
    for (; n--; o++) {
        uint64_t v[CORE_OPTION_LONGEST];
        json_t *list = json_array();

        if (o->start) {
            json_decref(list);
            continue;
        }
        core_option_get(o, c, v);
        for (unsigned i = 0; i < core_option_len(o); i++) {
            json_array_append_new(list, value_of(o, v[i]));
        }
        json_object_set(all, o->name, o->n ? list : json_array_get(list, 0));
        json_decref(list);
    }
}

json_t *admin_settings(const UbSwitchConfig *c)
{
    json_t *all = json_object();

    for (unsigned i = 0; i < G_N_ELEMENTS(layers); i++) {
        unsigned n;
        const CoreOption *o = layers[i].list(&n);

        add_settings(all, o, n, (const char *)c + layers[i].at);
    }
    return all;
}

/* One number from JSON.  False: it is not what the setting has. */
static bool get_value(const CoreOption *o, const json_t *v, uint64_t *out)
{
    if (o->kind == CORE_OPTION_BOOL) {
        *out = json_is_true(v);
        return json_is_boolean(v);
    }
    *out = json_integer_value(v);
    return json_is_integer(v) && json_integer_value(v) >= 0;
}

static bool set_value(UbSwitchAdmin *a, void *c, const CoreOption *o,
                      const json_t *v)
{
    uint64_t in[CORE_OPTION_LONGEST];
    unsigned n = core_option_len(o);
    g_autofree char *why = NULL;
    bool right = !o->n || json_array_size(v) == n;

    if (o->kind == CORE_OPTION_BITS) {
        return admin_get_ports(a, v, in) && core_option_set(o, c, in, 1, &why);
    }
    for (unsigned i = 0; right && i < n; i++) {
        right = get_value(o, o->n ? json_array_get(v, i) : v, &in[i]);
    }
    if (!right || !core_option_set(o, c, in, n, &why)) {
        admin_error(a, "%s has a value that cannot be%s%s", o->name,
                    why ? ": " : "", why ? why : "");
        return false;
    }
    return true;
}

bool admin_set(UbSwitchAdmin *a, UbSwitchConfig *c, const char *name,
               const json_t *v)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(layers); i++) {
        unsigned n;
        const CoreOption *o = layers[i].list(&n);

        for (; n--; o++) {
            if (!o->start && !strcmp(o->name, name)) {
                return set_value(a, (char *)c + layers[i].at, o, v);
            }
        }
    }
    admin_error(a, "no setting \"%.64s\"", name);
    return false;
}
