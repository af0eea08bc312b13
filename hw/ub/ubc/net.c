/*
 * The network layer above the ports: what no ring pair claims of the LPH.CFGs
 * that the device itself deals with.  It goes to management, or on to another
 * node where the controller forwards.
 *
 * A port may not be used from within its callbacks; what they say is noted, and
 * done by ubc_net_run().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

/* Packets of one turn. */
#define NET_BUDGET 64

/* ---- Below the network layer ------------------------------------------------------ */

static bool net_room(void *opaque, unsigned port, unsigned vl)
{
    return ub_port_room(((Ubc *)opaque)->end[port].port, vl) == UB_PORT_SENT;
}

static bool net_send(void *opaque, unsigned port, CorePacket *pkt)
{
    Ubc *ubc = opaque;

    return ub_port_send(ubc->end[port].port, ubc->now, pkt) == UB_PORT_SENT;
}

static void net_kick(void *opaque)
{
    ubc_kick(opaque);
}

static void net_rule(void *opaque, unsigned port, bool own, const char *text)
{
    Ubc *ubc = opaque;

    if (own) {
        ubc_guest_error(ubc, port, text);
    } else {
        ubc->ops.peer_error(ubc->opaque, port, text);
    }
}

static void net_error(void *opaque, unsigned port, UbNetError error)
{
    ub_port_record(((Ubc *)opaque)->end[port].port, error);
}

static const UbNetOps net_ops = {
    .room = net_room, .send = net_send, .kick = net_kick, .rule = net_rule,
    .error = net_error,
};

/* ---- Life --------------------------------------------------------------------------- */

#define CFG(c) (1u << (c))

/* A controller that does not forward has nobody yet for what is not management,
 * and leaves that to rings. */
void ubc_net_claim(Ubc *ubc)
{
    ubc->net_cfgs = ubc->net_rest = CFG(UB_LPH_CNA16);
    if (ubc->conf.forward) {
        ubc->net_cfgs |= CFG(UB_LPH_CONTROL) | CFG(UB_LPH_CNA24) |
                         CFG(UB_LPH_BYPASS);
        ubc->net_rest = ubc->net_cfgs | CFG(UB_LPH_IPV4) | CFG(UB_LPH_IPV6);
    }
}

/* What the registers announce. */
static void announce(Ubc *ubc)
{
    uint32_t features = 0;

    if (ubc->conf.forward) {
        features |= UB_CFG0_SUPPORTED_FEATURE__SWITCH_SUPPORTED;
    }
    if (ubc->conf.route_entries) {
        features |= UB_CFG0_SUPPORTED_FEATURE__ROUTE_TABLE_SUPPORTED;
    }
    ub_slice_init(ubc->cfg0, UB_CFG0_SUPPORTED_FEATURE,
                  UB_CFG0_SUPPORTED_FEATURE__SWITCH_SUPPORTED |
                  UB_CFG0_SUPPORTED_FEATURE__ROUTE_TABLE_SUPPORTED, features);
}

void ubc_net_init(Ubc *ubc)
{
    UbNetConfig conf;

    ub_net_config_init(&conf);
    conf.ports = ubc->ports;
    conf.forward = ubc->conf.forward;
    conf.route_entries = ubc->conf.route_entries;
    conf.exact_supported = ubc->conf.route_entries;
    memcpy(conf.guid, ubc->conf.guid, sizeof(conf.guid));
    ubc->net = ub_net_new(&conf, &net_ops, ubc);
    ub_net_attach(ubc->net, ubc->space);
    announce(ubc);
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc->end[i].came_tail = &ubc->end[i].came;
    }
}

void ubc_net_drop(UbcEnd *e)
{
    while (e->came) {
        CorePacket *pkt = e->came;

        e->came = pkt->next;
        core_packet_free(pkt);
    }
    e->came_tail = &e->came;
}

void ubc_net_free(Ubc *ubc)
{
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc_net_drop(&ubc->end[i]);
    }
    ub_net_free(ubc->net);
}

void ubc_net_reset(Ubc *ubc)
{
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc_net_drop(&ubc->end[i]);
    }
    ub_net_reset(ubc->net, ubc->now);
}

/* ---- From the ports ------------------------------------------------------------------ */

void ubc_net_rx(UbcEnd *e, CorePacket *pkt)
{
    pkt->next = NULL;
    *e->came_tail = pkt;
    e->came_tail = &pkt->next;
    ubc_kick(e->ubc);
}

void ubc_net_room(UbcEnd *e, unsigned vl)
{
    e->room |= 1u << vl;
}

/* The network layer's ports are as the links are. */
static void follow_link(UbcEnd *e)
{
    uint32_t vls = ub_port_dll_up(e->port) ? ub_port_vls(e->port) : 0;

    if (vls != e->net_vls) {
        e->net_vls = vls;
        ub_net_port_state(e->ubc->net, e->ubc->now, e->index, vls);
    }
}

void ubc_net_follow(Ubc *ubc)
{
    uint32_t cna = ub_space_read(ubc->space, UB_CFG0_PRIMARY_CNA);

    if (cna != ub_net_primary(ubc->net)) {
        ub_net_set_primary(ubc->net, cna);
    }
    for (unsigned i = 0; i < ubc->ports; i++) {
        cna = ub_space_read(ubc->space, UB_CFG_PORT_BASE(i) + UB_PORT_CNA);
        if (cna != ub_net_port_cna(ubc->net, i)) {
            ub_net_set_port_cna(ubc->net, i, cna);
        }
    }
}

static void take_room(UbcEnd *e)
{
    while (e->room) {
        unsigned vl = __builtin_ctz(e->room);

        e->room &= e->room - 1;
        ub_net_room(e->ubc->net, e->ubc->now, e->index, vl);
    }
}

static void take_packets(UbcEnd *e)
{
    if (e->came) {
        ubc_net_follow(e->ubc);
    }
    while (e->came) {
        CorePacket *pkt = e->came;

        e->came = pkt->next;
        if (!e->came) {
            e->came_tail = &e->came;
        }
        ub_net_rx(e->ubc->net, e->ubc->now, e->index, pkt);
    }
}

int64_t ubc_net_run(Ubc *ubc)
{
    for (unsigned i = 0; i < ubc->ports; i++) {
        UbcEnd *e = &ubc->end[i];

        follow_link(e);
        take_room(e);
        take_packets(e);
    }
    return ub_net_run(ubc->net, ubc->now, NET_BUDGET);
}
