/*
 * Management of the switch (UB 2.0 §10.4): scans that pass by and end here,
 * configuration messages to its Primary CNA, links and errors to the UBFM.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"
#include "ub/mgmt_net.h"

/* Scans and messages may have written an address. */
static void follow_cna(UbSwitch *sw)
{
    uint32_t cna = ub_slice_get(sw->cfg0, UB_CFG0_PRIMARY_CNA);

    if (cna != ub_net_primary(sw->net)) {
        ub_net_set_primary(sw->net, cna);
    }
}

static bool send_message(void *opaque, int64_t now, const UbMgmtAddr *a,
                         const uint8_t *data, size_t len)
{
    UbSwitch *sw = opaque;

    follow_cna(sw);
    return ub_mgmt_net_message(sw->net, sw->pool, now, a, data, len);
}

static bool send_scan(void *opaque, int64_t now, unsigned port,
                      const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    UbSwitch *sw = opaque;

    return ub_mgmt_net_scan(sw->net, sw->pool, now, port, a, data, len);
}

static bool port_up(void *opaque, unsigned port)
{
    UbSwitch *sw = opaque;

    return ub_net_ports_up(sw->net) >> port & 1;
}

static void manage_rule(void *opaque, const char *text)
{
    UbSwitch *sw = opaque;

    if (sw->ops.rule) {
        sw->ops.rule(sw->opaque, sw->from, text);
    }
}

static void slot_power(void *opaque, int64_t now, unsigned port, bool on)
{
    UbSwitch *sw = opaque;

    ub_port_power(sw->port[port].port, now, on);
}

static void slot_kick(void *opaque)
{
    UbSwitch *sw = opaque;

    sw->shp_dirty = true;
    if (!sw->running) {
        sw->ops.kick(sw->opaque);
    }
}

static void slot_changed(void *opaque, unsigned slot)
{
    UbSwitch *sw = opaque;

    if (sw->ops.slot) {
        sw->ops.slot(sw->opaque, slot);
    }
}

static const UbShpOps shp_ops = {
    .power = slot_power, .kick = slot_kick, .changed = slot_changed,
};

static const UbMgmtOps mgmt_ops = {
    .message = send_message, .scan = send_scan, .port_up = port_up,
    .rule = manage_rule,
};

/* What came may have been about the port that it came by, or have given an address. */
static void receive(UbSwitch *sw, int64_t now, CorePacket *pkt, const UbFlow *flow,
                    void (*take)(UbMgmt *, int64_t, CorePacket *, const UbFlow *))
{
    sw->from = flow->port;
    take(sw->mgmt, now, pkt, flow);
    follow_cna(sw);
}

static void rx_message(void *opaque, int64_t now, CorePacket *pkt,
                       const UbFlow *flow)
{
    receive(opaque, now, pkt, flow, ub_mgmt_net_rx_message);
}

static void rx_scan(void *opaque, int64_t now, CorePacket *pkt,
                    const UbFlow *flow)
{
    receive(opaque, now, pkt, flow, ub_mgmt_net_rx_scan);
}

void switch_manage_init(UbSwitch *sw)
{
    static const UbNetUpper message = { rx_message, NULL };
    static const UbNetUpper scan = { rx_scan, NULL };
    UbMgmtConfig conf;

    ub_mgmt_config_init(&conf);
    conf.ports = sw->conf.ports;
    conf.forward = true;
    conf.port_cna = false;
    conf.seed = sw->conf.port.session;
    sw->mgmt = ub_mgmt_new(&conf, sw->space, &mgmt_ops, sw);
    sw->shp = ub_shp_new(&sw->conf.shp, sw->space, sw->mgmt, &shp_ops, sw);
    sw->shp_dirty = true; /* ports without power */
    ub_net_set_upper(sw->net, UB_NET_TP, &message, sw);
    ub_net_set_upper(sw->net, UB_NET_SCAN, &scan, sw);
}

int64_t switch_manage_run(UbSwitch *sw, int64_t now)
{
    uint64_t up = ub_net_ports_up(sw->net) & switch_links(sw), erred;
    int64_t next, slots;

    for (uint64_t left = up ^ sw->told_up; left; left &= left - 1) {
        unsigned port = __builtin_ctzll(left);

        ub_mgmt_link(sw->mgmt, now, port, up >> port & 1);
    }
    sw->told_up = up;
    erred = sw->erred;
    sw->erred = 0;              /* telling may find more, for the next turn */
    for (; erred; erred &= erred - 1) {
        unsigned port = __builtin_ctzll(erred);

        ub_mgmt_errors(sw->mgmt, now, ub_port_take_errors(sw->port[port].port),
                       port);
    }
    sw->shp_dirty = false;
    slots = ub_shp_run(sw->shp, now);
    next = ub_mgmt_run(sw->mgmt, now);
    return MIN(next, slots);
}
