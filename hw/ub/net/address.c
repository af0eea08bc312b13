/*
 * Addresses of this node (UB 2.0 §5.3.1, §5.3.2.2): Primary CNA, Port CNAs and
 * the table of local IP addresses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "internal.h"

#define CNA_MASK 0xffffffu

/* ---- CNA --------------------------------------------------------------------- */

void ub_net_set_primary(UbNet *net, uint32_t cna)
{
    net->primary = cna & CNA_MASK;
}

void ub_net_set_port_cna(UbNet *net, unsigned port, uint32_t cna)
{
    uint64_t bit = UINT64_C(1) << port;

    net->port[port].cna = cna & CNA_MASK;
    net->cna_ports &= ~bit;
    net->cna_ports |= net->port[port].cna ? bit : 0;
}

uint32_t ub_net_primary(const UbNet *net)
{
    return net->primary;
}

uint32_t ub_net_port_cna(const UbNet *net, unsigned port)
{
    return net->port[port].cna;
}

NetOwn net_own_cna(const UbNet *net, unsigned cfg, unsigned port,
                   uint32_t dcna)
{
    const uint32_t mask = net_cna_mask(cfg);
    NetOwn own = NET_FOREIGN;

    if (net->primary && (net->primary & mask) == dcna) {
        return NET_OWN;
    }
    if (!net->primary && !net->cna_ports) {
        /* Nobody has given this node an address yet. */
        return net->conf.forward ? NET_FOREIGN : NET_OWN;
    }
    for (uint64_t left = net->cna_ports; left; left &= left - 1) {
        unsigned i = __builtin_ctzll(left);

        if ((net->port[i].cna & mask) == dcna) {
            if (i == port || port == UB_NET_ANY) {
                return NET_OWN;
            }
            own = NET_OWN_ELSEWHERE;
        }
    }
    return own;
}

bool ub_net_is_own(const UbNet *net, uint32_t cna)
{
    return (net->primary || net->cna_ports) &&
           net_own_cna(net, UB_LPH_CNA24, UB_NET_ANY, cna) == NET_OWN;
}

bool net_may_be_source(const UbNet *net, unsigned cfg, uint32_t scna)
{
    return (!net->primary && !net->cna_ports) ||
           net_own_cna(net, cfg, UB_NET_ANY, scna & net_cna_mask(cfg)) ==
           NET_OWN;
}

/* ---- IP ----------------------------------------------------------------------- */

static NetIp *find_ip(const UbNet *net, unsigned cfg, const uint8_t *ip)
{
    for (unsigned i = 0; i < net->locals; i++) {
        const NetIp *l = &net->local[i];

        if (l->cfg == cfg && !memcmp(l->ip, ip, ub_ip_bytes(cfg))) {
            return (NetIp *)l;
        }
    }
    return NULL;
}

bool ub_net_ip_add(UbNet *net, unsigned cfg, const uint8_t *ip)
{
    NetIp *l;

    if (find_ip(net, cfg, ip)) {
        return true;
    }
    if (net->locals == UB_NET_MAX_IPS || !ub_lph_is_ip(cfg)) {
        return false;
    }
    l = &net->local[net->locals++];
    *l = (NetIp) { .cfg = cfg, .prefix = 8 * ub_ip_bytes(cfg) };
    memcpy(l->ip, ip, ub_ip_bytes(cfg));
    return true;
}

bool ub_net_ip_remove(UbNet *net, unsigned cfg, const uint8_t *ip)
{
    NetIp *l = find_ip(net, cfg, ip);

    if (!l) {
        return false;
    }
    memmove(l, l + 1, (net->local + --net->locals - l) * sizeof(*l));
    return true;
}

bool ub_net_ip_at(const UbNet *net, unsigned i, unsigned *cfg, uint8_t *ip)
{
    if (i >= net->locals) {
        return false;
    }
    *cfg = net->local[i].cfg;
    memcpy(ip, net->local[i].ip, sizeof(net->local[i].ip));
    return true;
}

bool ub_net_ip_is_local(const UbNet *net, unsigned cfg, const uint8_t *ip)
{
    return find_ip(net, cfg, ip);
}

bool ub_net_ip_is_ours(const UbNet *net, CorePacket *pkt)
{
    const unsigned cfg = ub_meta(pkt)->lph_cfg;
    UbIpInfo info;

    return net->locals && ub_lph_is_ip(cfg) && pkt->len > UB_IPEXT_SIZE &&
           !ub_ip_get(core_packet_data(pkt) + UB_IPEXT_SIZE,
                      pkt->len - UB_IPEXT_SIZE, cfg, &info) &&
           info.udp && info.dport == UB_UDP_PORT &&
           ub_net_ip_is_local(net, cfg, info.path.dst);
}

const NetIp *net_first_ip(const UbNet *net, unsigned cfg)
{
    for (unsigned i = 0; i < net->locals; i++) {
        if (net->local[i].cfg == cfg) {
            return &net->local[i];
        }
    }
    return NULL;
}
