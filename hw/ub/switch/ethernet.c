/*
 * Ethernet ports of the switch (UB2E Switch, UB 2.0 appendix E): ports of the network
 * layer behind those that are UB links.
 *
 * An address is behind the switch, for one of them, if an IP route leads to another
 * port: that is who is answered for on Ethernet, and who may not come from there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "internal.h"

static bool ether_send(void *opaque, const uint8_t *frame, uint32_t len)
{
    SwitchEther *e = opaque;
    UbSwitch *sw = e->sw;

    return sw->ops.ethernet_send(sw->opaque, e->port, frame, len);
}

static void ether_capture(const SwitchEther *e, bool sent, CorePacket *pkt)
{
    UbSwitch *sw = e->sw;

    if (sw->capture.packet) {
        sw->ops.capture(sw->opaque, e->port, sent, ub_meta(pkt)->lph_cfg,
                        ub_meta(pkt)->vl, core_packet_data(pkt), pkt->len);
    }
}

static void ether_rx(void *opaque, int64_t now, CorePacket *pkt, unsigned dscp)
{
    SwitchEther *e = opaque;
    UbNet *net = e->sw->net;
    const UbNetConfig *conf = ub_net_config(net);

    ub_meta(pkt)->vl = conf->sl_vl[conf->dscp_sl[dscp]];
    ether_capture(e, false, pkt);
    ub_net_rx(net, now, e->port, pkt);
}

static bool ether_ours(void *opaque, unsigned cfg, const uint8_t *ip)
{
    SwitchEther *e = opaque;

    return ub_net_ip_ports(e->sw->net, cfg, ip) & ~(UINT64_C(1) << e->port);
}

static void ether_kick(void *opaque)
{
    SwitchEther *e = opaque;

    e->sw->ether_dirty = true;
    if (!e->sw->running) {
        e->sw->ops.kick(e->sw->opaque);
    }
}

static void ether_rule(void *opaque, const char *text)
{
    SwitchEther *e = opaque;

    if (e->sw->ops.rule) {
        e->sw->ops.rule(e->sw->opaque, e->port, text);
    }
}

static const UbUboeOps ether_ops = {
    .send = ether_send, .rx = ether_rx, .ours = ether_ours,
    .kick = ether_kick, .rule = ether_rule,
};

bool switch_ether_init(UbSwitch *sw, const char **why)
{
    UbUboeConfig conf = sw->conf.uboe;

    sw->ether = g_new0(SwitchEther, sw->conf.ethernet);
    conf.icrc = sw->conf.net.icrc;
    *why = NULL;
    for (unsigned i = 0; i < sw->conf.ethernet && !*why; i++) {
        SwitchEther *e = &sw->ether[i];

        e->sw = sw;
        e->port = sw->conf.ports + i;
        conf.mac[UB_ETHER_MAC - 1] = sw->conf.uboe.mac[UB_ETHER_MAC - 1] + i;
        *why = ub_uboe_config_check(&conf);
        e->uboe = ub_uboe_new(&conf, sw->pool, &ether_ops, e);
    }
    return !*why;
}

void switch_ether_free(UbSwitch *sw)
{
    for (unsigned i = 0; sw->ether && i < sw->conf.ethernet; i++) {
        ub_uboe_free(sw->ether[i].uboe);
    }
    g_free(sw->ether);
}

void switch_ether_reset(UbSwitch *sw)
{
    for (unsigned i = 0; i < sw->conf.ethernet; i++) {
        SwitchEther *e = &sw->ether[i];

        ub_uboe_reset(e->uboe);
    }
}

int64_t switch_ether_run(UbSwitch *sw, int64_t now)
{
    int64_t next = INT64_MAX;

    sw->ether_dirty = false;
    for (unsigned i = 0; i < sw->conf.ethernet; i++) {
        int64_t at = ub_uboe_run(sw->ether[i].uboe, now);

        next = MIN(next, at);
    }
    return next;
}

void switch_ether_send(UbSwitch *sw, unsigned port, CorePacket *pkt)
{
    SwitchEther *e = &sw->ether[port - sw->conf.ports];

    ether_capture(e, true, pkt);
    ub_uboe_send(e->uboe, sw->now, pkt);
}

/* ---- The outside ------------------------------------------------------------------ */

void ub_switch_ethernet_link(UbSwitch *sw, int64_t now, unsigned port, bool up)
{
    sw->now = now;
    ub_uboe_link(ub_switch_ethernet_port(sw, port), up);
    ub_net_port_state(sw->net, now, port, up ? 0xffff : 0);
    if (sw->ops.link) {
        sw->ops.link(sw->opaque, port);
    }
}

void ub_switch_ethernet_rx(UbSwitch *sw, int64_t now, unsigned port,
                           const uint8_t *frame, size_t len)
{
    sw->now = now;
    ub_uboe_rx(ub_switch_ethernet_port(sw, port), now, frame, len);
}

void ub_switch_ethernet_room(UbSwitch *sw, int64_t now, unsigned port)
{
    sw->now = now;
    for (unsigned vl = 0; vl < UB_NET_VLS; vl++) {
        ub_net_room(sw->net, now, port, vl);
    }
}

unsigned ub_switch_ethernet_ports(const UbSwitch *sw)
{
    return sw->conf.ethernet;
}

UbUboe *ub_switch_ethernet_port(UbSwitch *sw, unsigned port)
{
    return sw->ether[port - sw->conf.ports].uboe;
}
