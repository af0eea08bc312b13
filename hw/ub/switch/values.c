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

typedef enum SettingKind { KIND_BOOL, KIND_U16, KIND_U32, KIND_TIME,
                           KIND_BYTES, KIND_U16S, KIND_PORTS } SettingKind;

static const struct {
    const char *name;
    SettingKind kind;
    size_t at;
    unsigned n;   /* of arrays */
} settings[] = {
#define SETTING(name, kind, member, n) \
    { name, kind, offsetof(UbNetConfig, member), n }
    SETTING("icrc", KIND_BOOL, icrc, 0),
    SETTING("icrc-scan", KIND_BOOL, icrc_scan, 0),
    SETTING("icrc-transit", KIND_BOOL, icrc_transit, 0),
    SETTING("mtu", KIND_U32, mtu, 0),
    SETTING("sl-vl", KIND_BYTES, sl_vl, 16),
    SETTING("dscp-sl", KIND_BYTES, dscp_sl, 64),
    SETTING("vl-strict", KIND_U16, vl_strict, 0),
    SETTING("vl-weight", KIND_U16S, vl_weight, 16),
    SETTING("vl-out", KIND_BYTES, vl_out, 16),
    SETTING("watchdog", KIND_TIME, watchdog, 0),
    SETTING("queue-limit", KIND_U32, queue_limit, 0),
    SETTING("transit-limit", KIND_U32, transit_limit, 0),
    SETTING("fecn", KIND_BOOL, fecn, 0),
    SETTING("fecn-light", KIND_U32, fecn_light, 0),
    SETTING("fecn-heavy", KIND_U32, fecn_heavy, 0),
    SETTING("caqm", KIND_BOOL, caqm, 0),
    SETTING("caqm-congested", KIND_U32, caqm_congested, 0),
    SETTING("caqm-unit", KIND_U32, caqm_unit, 0),
    SETTING("root-cause", KIND_BOOL, root_cause, 0),
    SETTING("edge-ports", KIND_PORTS, edge_ports, 0),
    SETTING("hops", KIND_BOOL, hops, 0),
#undef SETTING
};

static json_t *list_of(const void *p, unsigned n, bool wide)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++) {
        json_array_append_new(list, json_integer(
            wide ? ((const uint16_t *)p)[i] : ((const uint8_t *)p)[i]));
    }
    return list;
}

json_t *admin_settings(const UbNetConfig *c)
{
    json_t *all = json_object();

    for (unsigned i = 0; i < G_N_ELEMENTS(settings); i++) {
        const void *p = (const char *)c + settings[i].at;
        json_t *v;

        switch (settings[i].kind) {
        case KIND_BOOL:
            v = json_boolean(*(const bool *)p);
            break;
        case KIND_U16:
            v = json_integer(*(const uint16_t *)p);
            break;
        case KIND_U32:
            v = json_integer(*(const uint32_t *)p);
            break;
        case KIND_TIME:
            v = json_integer(*(const int64_t *)p);
            break;
        case KIND_PORTS:
            v = admin_ports(*(const uint64_t *)p);
            break;
        default:
            v = list_of(p, settings[i].n, settings[i].kind == KIND_U16S);
        }
        json_object_set_new(all, settings[i].name, v);
    }
    return all;
}

static bool set_list(void *p, unsigned n, bool wide, const json_t *v)
{
    if (json_array_size(v) != n) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        const json_t *one = json_array_get(v, i);
        json_int_t value = json_integer_value(one);

        if (!json_is_integer(one) || value < 0 ||
            value > (wide ? UINT16_MAX : UINT8_MAX)) {
            return false;
        }
        if (wide) {
            ((uint16_t *)p)[i] = value;
        } else {
            ((uint8_t *)p)[i] = value;
        }
    }
    return true;
}

static bool set_integer(void *p, SettingKind kind, const json_t *v)
{
    static const json_int_t most[] = {
        [KIND_U16] = UINT16_MAX, [KIND_U32] = UINT32_MAX,
        [KIND_TIME] = INT64_C(1) << 60,
    };
    json_int_t value = json_integer_value(v);

    if (!json_is_integer(v) || value < 0 || value > most[kind]) {
        return false;
    }
    if (kind == KIND_U16) {
        *(uint16_t *)p = value;
    } else if (kind == KIND_U32) {
        *(uint32_t *)p = value;
    } else {
        *(int64_t *)p = value;
    }
    return true;
}

bool admin_set(UbSwitchAdmin *a, UbNetConfig *c, const char *name,
               const json_t *v)
{
    bool right = false;

    for (unsigned i = 0; i < G_N_ELEMENTS(settings); i++) {
        void *p = (char *)c + settings[i].at;

        if (strcmp(settings[i].name, name)) {
            continue;
        }
        switch (settings[i].kind) {
        case KIND_BOOL:
            right = json_is_boolean(v);
            *(bool *)p = json_is_true(v);
            break;
        case KIND_PORTS:
            return admin_get_ports(a, v, p);
        case KIND_BYTES:
        case KIND_U16S:
            right = set_list(p, settings[i].n, settings[i].kind == KIND_U16S,
                             v);
            break;
        default:
            right = set_integer(p, settings[i].kind, v);
        }
        if (!right) {
            admin_error(a, "%s has a value that cannot be", name);
        }
        return right;
    }
    admin_error(a, "no setting \"%.64s\"", name);
    return false;
}
