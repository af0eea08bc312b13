/*
 * The UB controller: its Ethernet port (UB 2.0 appendix E), one more of the network
 * layer behind the UB links, by which packets of IP go that no route leads elsewhere.
 *
 * No register knows it, and ring pairs do not reach it: what the engine sends in
 * packets of IP is what it carries, and with `forward` what comes by UB links.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

static bool ether_send(void *opaque, const uint8_t *frame, uint32_t len)
{
    Ubc *ubc = opaque;

    return ubc->ops.ethernet_send(ubc->opaque, frame, len);
}

static void ether_rx(void *opaque, int64_t now, CorePacket *pkt, unsigned dscp)
{
    Ubc *ubc = opaque;
    const UbNetConfig *conf = ub_net_config(ubc->net);

    ub_meta(pkt)->vl = conf->sl_vl[conf->dscp_sl[dscp]];
    ubc_ethernet_capture(ubc, false, pkt);
    ub_node_rx(ubc->node, now, ubc->ports, pkt);
}

/* Addresses of this node, and what a route leads to another port. */
static bool ether_ours(void *opaque, unsigned cfg, const uint8_t *ip)
{
    const Ubc *ubc = opaque;

    return ub_net_ip_is_local(ubc->net, cfg, ip) ||
           ub_net_ip_ports(ubc->net, cfg, ip) & ~(UINT64_C(1) << ubc->ports);
}

/* What a packet does may reach memory of the guest, which must not change while the
 * machine is stopped.  No credits bound what would wait. */
static bool ether_rests(void *opaque)
{
    return !((Ubc *)opaque)->master;
}

static void ether_kick(void *opaque)
{
    ubc_above_kick(opaque);
}

static void ether_rule(void *opaque, const char *text)
{
    Ubc *ubc = opaque;

    ubc->ops.peer_error(ubc->opaque, ubc->ports, text);
}

static const UbUboeOps ether_ops = {
    .send = ether_send, .rx = ether_rx, .ours = ether_ours,
    .kick = ether_kick, .rule = ether_rule, .rests = ether_rests,
};

/* What is configured; NULL, or what is wrong with it. */
static const char *set_tables(Ubc *ubc)
{
    const UbcEthernet *e = &ubc->conf.ethernet;
    const char *why = NULL;

    for (unsigned i = 0; i < e->vlans && !why; i++) {
        why = ub_uboe_vlan_set(ubc->uboe, e->vlan[i].vlan, e->vlan[i].npi);
    }
    for (unsigned i = 0; i < e->routes && !why; i++) {
        const UbUboeRoute *r = &e->route[i];

        why = ub_uboe_route_set(ubc->uboe, r->cfg, r->ip, r->prefix,
                                r->direct ? NULL : r->via, true);
    }
    return why;
}

bool ubc_ethernet_init(Ubc *ubc, const char **why)
{
    UbUboeConfig conf = ubc->conf.ethernet.uboe;

    if (!ubc->conf.ethernet.on) {
        return true;
    }
    conf.icrc = ubc->conf.node.net.icrc;
    conf.plain = ubc->conf.forward;
    conf.vlans = ubc->conf.ethernet.vlans;
    conf.npi = ubc->conf.node.net.npi;
    for (unsigned i = 0; i < ubc->conf.ethernet.vlans; i++) {
        if (ubc->conf.ethernet.vlan[i].npi == conf.npi) {
            conf.npi = 0;   /* it has a VLAN: nothing goes without a tag */
        }
    }
    *why = ub_uboe_config_check(&conf);
    if (!*why) {
        ubc->uboe = ub_uboe_new(&conf, ubc->pool, &ether_ops, ubc);
        *why = set_tables(ubc);
    }
    return !*why;
}

void ubc_ethernet_reset(Ubc *ubc)
{
    if (ubc->uboe) {
        ub_uboe_reset(ubc->uboe);
        set_tables(ubc);
    }
}

void ubc_ethernet_image(Ubc *ubc, CoreImage *im)
{
    if (core_image_optional(im, UB_UBOE_TAG, ubc->uboe) &&
        core_image_check(im, ubc->uboe, "the source of the migration has a netdev")) {
        ub_uboe_image(ubc->uboe, im);
    }
}

int64_t ubc_ethernet_run(Ubc *ubc)
{
    return ubc->uboe && ubc->master ? ub_uboe_run(ubc->uboe, ubc->now)
                                    : INT64_MAX;
}

/* ---- The outside ------------------------------------------------------------------ */

void ubc_ethernet_link(Ubc *ubc, bool up, int64_t now)
{
    ubc->now = now;
    ub_uboe_link(ubc->uboe, up);
    ub_net_port_state(ubc->net, now, ubc->ports, up ? 0xffff : 0);
    ubc_above_kick(ubc);
}

void ubc_ethernet_rx(Ubc *ubc, const uint8_t *frame, uint32_t len, int64_t now)
{
    ubc->now = now;
    ubc_net_follow(ubc);
    ub_uboe_rx(ubc->uboe, now, frame, len);
    ubc_above_kick(ubc);
}

void ubc_ethernet_room(Ubc *ubc, int64_t now)
{
    ubc->now = now;
    for (unsigned vl = 0; vl < UB_NET_VLS; vl++) {
        ub_node_room(ubc->node, now, ubc->ports, vl);
    }
}

UbUboe *ubc_ethernet(Ubc *ubc)
{
    return ubc->uboe;
}
