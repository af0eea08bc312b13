/*
 * What a switch does with network management over UB links (UB 2.0 appendix F):
 * IP notify of a neighbour makes a route, NPIC tells it its NPI, DHCP goes to all
 * controllers that are neighbours.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "internal.h"

/* What a neighbour may not have: an address of many, and one that a route has put on
 * Ethernet, where stations would lose it. */
static bool notify_refused(UbSwitch *sw, const UbIpNotify *n)
{
    return ub_ether_ip_is_group(n->cfg, n->ip) ||
           ub_net_ip_ports(sw->net, n->cfg, n->ip) >> (sw->conf.ports - 1) >> 1;
}

/* Whether @port may have a route to one address more, of so many that all may have:
 * the routes of one neighbour are not to fill the table. */
static bool notify_room(const UbSwitch *sw, const UbIpNotify *n, unsigned port)
{
    unsigned prefix = n->cfg == UB_LPH_IPV4 ? 32 : 128, have = 0;
    UbIpRoute r;

    for (unsigned i = 0; ub_net_ip_route_at(sw->net, i, &r); i++) {
        if (r.cfg == n->cfg && r.prefix == prefix &&
            !memcmp(r.ip, n->ip, ub_ip_bytes(n->cfg))) {
            return true;    /* it is there already */
        }
        have += r.ports == UINT64_C(1) << port &&
                r.prefix == (r.cfg == UB_LPH_IPV4 ? 32 : 128);
    }
    return have < UB_NET_MAX_IP_ROUTES / ub_net_config(sw->net)->ports;
}

/* A route to the one address: hosts of the same prefix sit at other ports. */
static void take_notify(UbSwitch *sw, CorePacket *pkt, unsigned port)
{
    const uint8_t *p = core_packet_data(pkt) + UB_CONTROL_SIZE;
    uint32_t len = pkt->len - UB_CONTROL_SIZE;
    const char *rule = NULL;
    UbIpNotify n;

    if (!ub_ip_notify_get(p, len, &n)) {
        rule = "IP notify that is none";
    } else if (notify_refused(sw, &n)) {
        rule = "IP notify of an address that is on Ethernet or of many";
    } else if (!notify_room(sw, &n, port) ||
               !ub_net_ip_route(sw->net, n.cfg, n.ip,
                                n.cfg == UB_LPH_IPV4 ? 32 : 128,
                                UINT64_C(1) << port)) {
        rule = "IP notify when there are too many routes";
    }
    if (!rule) {
        core_packet_free(pkt);
        return;
    }
    if (sw->ops.rule) {
        sw->ops.rule(sw->opaque, port, rule);
    }
    ub_net_refuse(sw->net, port, UB_NET_DROP_CONTROL, pkt);
}

/* DHCP has no address but its group: everybody behind an edge port hears it.
 * There it ends, so that it cannot go in circles. */
static void pass_dhcp(UbSwitch *sw, int64_t now, CorePacket *pkt, unsigned from)
{
    uint64_t ports = ub_net_config(sw->net)->edge_ports &
                     ub_net_ports_up(sw->net) & ~(UINT64_C(1) << from);

    if (!ports) {
        ub_net_refuse(sw->net, from, UB_NET_DROP_NOT_PASSED, pkt);
        return;
    }
    for (; ports; ports &= ports - 1) {
        CorePacket *copy = core_packet_alloc(sw->pool, pkt->len);
        unsigned to = __builtin_ctzll(ports);

        if (!copy) {
            ub_net_refuse(sw->net, to, UB_NET_DROP_NO_ROOM, NULL);
            continue;
        }
        memcpy(core_packet_data(copy), core_packet_data(pkt), pkt->len);
        ub_meta(copy)->lph_cfg = UB_LPH_CONTROL;
        ub_meta(copy)->vl = ub_meta(pkt)->vl;
        if (ub_net_send_raw(sw->net, now, to, copy) == UB_BUSY) {
            ub_net_refuse(sw->net, to, UB_NET_DROP_QUEUE_FULL, copy);
        }
    }
    core_packet_free(pkt);
}

static void control_rx(void *opaque, int64_t now, CorePacket *pkt,
                       const UbFlow *flow)
{
    UbSwitch *sw = opaque;
    const uint8_t *p = core_packet_data(pkt);
    unsigned protocol = ub_control_protocol(p);

    if (protocol == UB_CONTROL_IP_NOTIFY && sw->conf.ip_notify) {
        take_notify(sw, pkt, flow->port);
    } else if ((protocol == UB_CONTROL_DHCPV4 ||
                protocol == UB_CONTROL_DHCPV6) && sw->conf.pass_dhcp) {
        pass_dhcp(sw, now, pkt, flow->port);
    } else {
        /* ULAP, LLDP and vendors' protocols are between neighbours. */
        ub_net_refuse(sw->net, flow->port, UB_NET_DROP_NOT_PASSED, pkt);
    }
}

const UbNetUpper switch_control = { control_rx, NULL };

bool ub_switch_npic(UbSwitch *sw, int64_t now, unsigned port,
                    const uint8_t guid[16], uint32_t npi)
{
    uint32_t len = UB_CONTROL_SIZE + UB_NPIC_HEADER + UB_NPIC_PAIR;
    CorePacket *pkt = core_packet_alloc(sw->pool, len);
    uint8_t group[16], *p;

    if (!pkt) {
        return false;
    }
    p = core_packet_data(pkt);
    ub_control_group(group, UB_CONTROL_NPIC);
    ub_control_put(p, UB_CONTROL_NPIC, group, sw->conf.guid);
    p += UB_CONTROL_SIZE;
    p[0] = npi ? UB_NPIC_CONFIGURE : UB_NPIC_CLEAR;
    p[1] = 0;
    put_be16(p + 2, 1);
    memcpy(p + UB_NPIC_HEADER, guid, 16);
    put_be32(p + UB_NPIC_HEADER + 16, npi & UB_NPI_MASK);
    ub_meta(pkt)->lph_cfg = UB_LPH_CONTROL;
    switch (ub_net_send_raw(sw->net, now, port, pkt)) {
    case UB_SENT:
        return true;
    case UB_BUSY:
        core_packet_free(pkt);
        return false;
    default:
        return false;
    }
}
