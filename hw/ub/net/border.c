/*
 * Borders of the UB Domain (UB 2.0 §11.4.2): what of IP enters by a port.
 *
 * What a UB packet asks for is for others to read (the op border); here it is told from
 * plain IP.  A fragment is plain, whatever it is a part of: no engine takes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void ub_net_set_border(UbNet *net, unsigned port, unsigned border)
{
    net->port[port].border = border & (UB_NET_BORDER | UB_NET_BORDER_PLAIN);
}

unsigned ub_net_border(const UbNet *net, unsigned port)
{
    return net->port[port].border;
}

void net_border_power_on(UbNet *net)
{
    const UbNetConfig *conf = &net->conf;

    for (unsigned i = 0; i < conf->ports; i++) {
        ub_net_set_border(net, i, !(conf->border_ports >> i & 1) ? 0
                                  : UB_NET_BORDER |
                                    (conf->border_plain ? UB_NET_BORDER_PLAIN
                                                        : 0));
    }
}

bool net_border_admits(const UbNet *net, unsigned port, CorePacket *pkt,
                       const UbIpInfo *info, const char **rule)
{
    uint32_t skip = UB_IPEXT_SIZE + info->header + UB_UDP_SIZE;
    unsigned border = net->port[port].border;

    if (!(border & UB_NET_BORDER)) {
        return true;
    }
    *rule = "plain IP at the border of a Domain";
    if (!info->udp || info->dport != UB_UDP_PORT) {
        return border & UB_NET_BORDER_PLAIN;
    }
    *rule = "nobody judges UB packets at the border of a Domain";
    if (net->ops.border && pkt->len >= skip + UB_ICRC_SIZE) {
        *rule = net->ops.border(core_packet_data(pkt) + skip,
                                pkt->len - skip - UB_ICRC_SIZE);
    }
    return !*rule;
}

bool ub_net_border_rx(UbNet *net, unsigned port, CorePacket *pkt)
{
    const char *rule = "no header of IP at the border of a Domain";
    unsigned cfg = ub_meta(pkt)->lph_cfg;
    UbIpInfo info;

    if (!(net->port[port].border & UB_NET_BORDER) || !ub_lph_is_ip(cfg) ||
        (pkt->len >= UB_IPEXT_SIZE &&
         !ub_ip_get(core_packet_data(pkt) + UB_IPEXT_SIZE,
                    pkt->len - UB_IPEXT_SIZE, cfg, &info) &&
         net_border_admits(net, port, pkt, &info, &rule))) {
        return true;
    }
    net_drop_rule(net, port, false, UB_NET_DROP_BORDER, pkt, rule);
    return false;
}
