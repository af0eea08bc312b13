/*
 * Routes (UB 2.0 §5.3.2, §D.7): from a destination to the ports that lead to it,
 * and from those to one of them by RT.
 *
 * A CNA beyond the table, or whose entry names no port, takes the default entry
 * unless exact routing is enabled.  A port that is down is in no entry as long
 * as it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "internal.h"

static uint64_t first_ports(unsigned n)
{
    return n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

uint64_t net_all_ports(const UbNet *net)
{
    return first_ports(net->conf.ports);
}

uint64_t net_link_ports(const UbNet *net)
{
    return first_ports(net_links(net));
}

uint32_t ub_net_route_gen(const UbNet *net)
{
    return net->routes.gen;
}

/* ---- CNAs ----------------------------------------------------------------------- */

bool ub_net_route_set(UbNet *net, uint32_t dcna, uint64_t ports)
{
    if (dcna >= net->conf.route_entries) {
        return false;
    }
    net->routes.entry[dcna] = ports & net_link_ports(net);
    net->routes.gen++;
    net_regs_entry(net, dcna);
    return true;
}

uint64_t ub_net_route_get(const UbNet *net, uint32_t dcna)
{
    return dcna < net->conf.route_entries ? net->routes.entry[dcna] : 0;
}

void ub_net_route_default(UbNet *net, uint64_t ports)
{
    net->routes.all = ports & net_link_ports(net);
    net->routes.gen++;
    net_regs_entry(net, -1);
}

void ub_net_route_exact(UbNet *net, bool on)
{
    net->routes.exact = on && net->conf.exact_supported;
    net->routes.gen++;
    net_regs_exact(net);
}

uint64_t ub_net_default_get(const UbNet *net)
{
    return net->routes.all;
}

bool ub_net_exact_get(const UbNet *net)
{
    return net->routes.exact;
}

uint64_t ub_net_shortest_get(const UbNet *net, uint32_t dcna)
{
    return net->routes.shortest && dcna < net->conf.route_entries
           ? net->routes.shortest[dcna] : 0;
}

bool ub_net_route_shortest(UbNet *net, uint32_t dcna, uint64_t ports)
{
    NetRoutes *r = &net->routes;

    if (dcna >= net->conf.route_entries) {
        return false;
    }
    if (!r->shortest) {
        r->shortest = g_new0(uint64_t, net->conf.route_entries);
    }
    r->shortest[dcna] = ports & net_link_ports(net);
    r->gen++;
    return true;
}

static uint64_t cna_ports(const UbNet *net, uint32_t dcna, unsigned rt)
{
    const NetRoutes *r = &net->routes;
    uint64_t ports = ub_net_route_get(net, dcna);

    if (!ports) {
        return r->exact ? 0 : r->all;
    }
    if (rt & UB_RT__SHORTEST && r->shortest && r->shortest[dcna]) {
        return ports & r->shortest[dcna];
    }
    return ports;
}

/* ---- IP --------------------------------------------------------------------------- */

static bool prefix_matches(const NetIp *r, const uint8_t *ip)
{
    unsigned bytes = r->prefix / 8, bits = r->prefix % 8;

    return !memcmp(r->ip, ip, bytes) &&
           (!bits || !((r->ip[bytes] ^ ip[bytes]) >> (8 - bits)));
}

bool ub_net_ip_route(UbNet *net, unsigned cfg, const uint8_t *ip,
                     unsigned prefix, uint64_t ports)
{
    NetRoutes *r = &net->routes;
    NetIp new = { .cfg = cfg, .prefix = prefix };
    unsigned at = 0;

    if (!ub_lph_is_ip(cfg) || prefix > 8 * ub_ip_bytes(cfg)) {
        return false;
    }
    new.ports = ports & net_all_ports(net);
    memcpy(new.ip, ip, ub_ip_bytes(cfg));
    ub_ip_mask(new.ip, prefix);
    while (at < r->ips && (r->ip[at].prefix > prefix ||
                           (r->ip[at].prefix == prefix &&
                            (r->ip[at].cfg != cfg ||
                             memcmp(r->ip[at].ip, new.ip, 16))))) {
        at++;
    }
    if (at < r->ips && r->ip[at].prefix == prefix) {
        /* It is there. */
        if (new.ports) {
            r->ip[at].ports = new.ports;
        } else {
            memmove(r->ip + at, r->ip + at + 1,
                    (--r->ips - at) * sizeof(*r->ip));
        }
    } else if (new.ports) {
        if (r->ips == UB_NET_MAX_IP_ROUTES) {
            return false;
        }
        r->ip = g_renew(NetIp, r->ip, r->ips + 1);
        memmove(r->ip + at + 1, r->ip + at, (r->ips++ - at) * sizeof(*r->ip));
        r->ip[at] = new;
    }
    r->gen++;
    return true;
}

bool ub_net_ip_route_at(const UbNet *net, unsigned i, UbIpRoute *route)
{
    const NetIp *r;

    if (i >= net->routes.ips) {
        return false;
    }
    r = &net->routes.ip[i];
    *route = (UbIpRoute) { .cfg = r->cfg, .prefix = r->prefix,
                           .ports = r->ports };
    memcpy(route->ip, r->ip, sizeof(route->ip));
    return true;
}

uint64_t ub_net_ip_ports(const UbNet *net, unsigned cfg, const uint8_t *ip)
{
    const NetRoutes *r = &net->routes;

    for (unsigned i = 0; i < r->ips; i++) {
        if (r->ip[i].cfg == cfg && prefix_matches(&r->ip[i], ip)) {
            return r->ip[i].ports;
        }
    }
    return 0;
}

static uint64_t ip_ports(const UbNet *net, unsigned cfg, const uint8_t *ip)
{
    uint64_t ports = ub_net_ip_ports(net, cfg, ip);

    return ports || net->routes.exact ? ports : net->routes.all;
}

/* ---- The choice -------------------------------------------------------------------- */

uint32_t net_hash(const UbNet *net, const void *bytes, unsigned n,
                  uint32_t hash)
{
    const uint8_t *p = bytes;

    /* FNV-1a, mixed at the end: low bits are what is used. */
    hash ^= net->conf.seed ^ 2166136261u;
    while (n--) {
        hash = (hash ^ *p++) * 16777619u;
    }
    hash ^= hash >> 16;
    hash *= 0x85ebca6bu;
    return hash ^ hash >> 13;
}

uint64_t net_route_ports(const UbNet *net, const NetKey *key)
{
    return key->ip ? ip_ports(net, key->cfg, key->ip)
                   : cna_ports(net, key->dcna, key->rt);
}

/* The n-th bit that is set. */
static unsigned nth_port(uint64_t ports, unsigned n)
{
    while (n--) {
        ports &= ports - 1;
    }
    return __builtin_ctzll(ports);
}

unsigned net_route_choose(UbNet *net, const NetKey *key, uint64_t ports)
{
    unsigned n = __builtin_popcountll(ports), best, from;

    if (n == 1) {
        return __builtin_ctzll(ports);
    }
    if (!(key->rt & UB_RT__PACKET)) {
        return nth_port(ports, key->hash % n);
    }
    /* Where less waits first, else by turns that no rhythm of the traffic meets: of
     * requests and answers that alternate, the one kind must not have one port and
     * the other another.  Steps of the golden ratio do that. */
    from = (uint64_t)(net->routes.spray++ * 0x9e3779b9u) * n >> 32;
    best = nth_port(ports, from);
    for (unsigned i = 1; i < n; i++) {
        unsigned port = nth_port(ports, (from + i) % n);

        if (net->port[port].queue[key->vl].bytes <
            net->port[best].queue[key->vl].bytes) {
            best = port;
        }
    }
    return best;
}
