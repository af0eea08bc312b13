/*
 * The floors from the network layer up, above the ports: what no ring pair claims
 * of the LPH.CFGs that the device itself deals with.  It goes to the node's
 * transport and to management, or on to another node where the controller
 * forwards.
 *
 * A port may not be used from within its callbacks; what they say is noted, and
 * done by ubc_net_run().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"
#include "ub/border.h"
#include "ub/mgmt_net.h"

/* Packets of one turn. */
#define NET_BUDGET 256

/* ---- Below the network layer ------------------------------------------------------ */

void ubc_ethernet_capture(Ubc *ubc, bool sent, CorePacket *pkt)
{
    if (ubc->capture.packet) {
        ubc->ops.capture_packet(ubc->opaque, ubc->ports, sent,
                                ub_meta(pkt)->lph_cfg, ub_meta(pkt)->vl,
                                core_packet_data(pkt), pkt->len);
    }
}

static bool net_room(void *opaque, unsigned port, unsigned vl)
{
    Ubc *ubc = opaque;

    if (port == ubc->ports) {
        return ubc->ops.ethernet_room(ubc->opaque);
    }
    return ub_port_room(ubc->end[port].port, vl) == UB_PORT_SENT;
}

static bool net_starved(void *opaque, unsigned port, unsigned vl)
{
    Ubc *ubc = opaque;
    UbPortStatus st;

    if (port == ubc->ports) {
        return false;   /* Ethernet has no credits */
    }
    ub_port_status(ubc->end[port].port, &st);
    return st.dll.starved >> vl & 1;
}

static bool net_send(void *opaque, unsigned port, CorePacket *pkt)
{
    Ubc *ubc = opaque;

    if (port == ubc->ports) {
        ubc_ethernet_capture(ubc, true, pkt);
        ub_uboe_send(ubc->uboe, ubc->now, pkt);
        return true;
    }
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

static void net_error(void *opaque, unsigned port, UbNetError error,
                      CorePacket *pkt)
{
    Ubc *ubc = opaque;

    if (pkt) {
        ubc_error_info_note(ubc, 1u << error, port < ubc->ports ? (int)port : -1,
                            pkt);
    }
    if (port < ubc->ports) {
        ub_port_record(ubc->end[port].port, error);
    } else {
        ubc_manage_device_errors(ubc, 1u << error);
    }
}

static const UbNetOps net_ops = {
    .room = net_room, .send = net_send, .kick = net_kick, .rule = net_rule,
    .error = net_error, .starved = net_starved, .border = ub_border_judge,
};

/* ---- Life --------------------------------------------------------------------------- */

#define CFG(c) (1u << (c))

void ubc_net_claim(Ubc *ubc)
{
    ubc->net_cfgs = CFG(UB_LPH_CNA16) | CFG(UB_LPH_CNA24) |
                    CFG(UB_LPH_BYPASS);
    ubc->net_rest = ubc->net_cfgs;
    if (ubc->conf.forward) {
        ubc->net_cfgs |= CFG(UB_LPH_CONTROL);
        ubc->net_rest |= CFG(UB_LPH_CONTROL) | CFG(UB_LPH_IPV4) |
                         CFG(UB_LPH_IPV6);
    }
}

/* What no other route has leaves by the Ethernet port. */
static void default_routes(Ubc *ubc)
{
    static const uint8_t all[16];

    if (ubc->uboe) {
        ub_net_ip_route(ubc->net, UB_LPH_IPV4, all, 0,
                        UINT64_C(1) << ubc->ports);
        ub_net_ip_route(ubc->net, UB_LPH_IPV6, all, 0,
                        UINT64_C(1) << ubc->ports);
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

bool ubc_net_init(Ubc *ubc, const char **why)
{
    UbNodeConfig conf = ubc->conf.node;
    const UbNodeOps ops = {
        .net = &net_ops,
        .net_opaque = ubc,
        .ta = &ubc_ta_ops,
        .ta_opaque = ubc,
        .tp_error = ubc_engine_channel_error,
        .tp_connected = ubc_engine_channel_up,
        .imported = ubc_engine_imported,
    };

    conf.net.ethernet = ubc->uboe != NULL;
    conf.net.ports = ubc->ports + conf.net.ethernet;
    conf.ta.entities = ubc->conf.entities;
    conf.net.forward = ubc->conf.forward;
    conf.net.route_entries = ubc->conf.route_entries;
    if (!conf.net.route_entries) {
        conf.net.exact_supported = false;
    }
    memcpy(conf.net.guid, ubc->conf.guid, sizeof(conf.net.guid));
    *why = ub_node_config_check(&conf);
    if (*why) {
        return false;
    }
    ubc->node = ub_node_new(&conf, &ops, ubc);
    ubc->net = ub_node_net(ubc->node);
    ub_sec_guard(ub_node_sec(ubc->node), ubc->conf.eid_upi);
    ub_urma_bind(ubc->urma, ub_node_ta(ubc->node));
    ubc_window_bind(ubc);
    ub_net_attach(ubc->net, ubc->space);
    ub_net_rest(ubc->net, !ubc->master);
    announce(ubc);
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc->end[i].came_tail = &ubc->end[i].came;
        ub_port_schedule(ubc->end[i].port, conf.net.vl_strict, conf.net.vl_weight);
    }
    default_routes(ubc);
    ubc_net_follow(ubc);
    return true;
}

void ubc_net_drop(UbcEnd *e)
{
    while (e->came) {
        CorePacket *pkt = e->came;

        e->came = pkt->next;
        ub_net_refuse(e->ubc->net, e->index, UB_NET_DROP_FLUSHED, pkt);
    }
    e->came_tail = &e->came;
}

void ubc_net_free(Ubc *ubc)
{
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc_net_drop(&ubc->end[i]);
    }
    ub_node_free(ubc->node);
    ub_uboe_free(ubc->uboe);
}

void ubc_net_reset(Ubc *ubc)
{
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc_net_drop(&ubc->end[i]);
    }
    ub_node_reset(ubc->node, ubc->now);
    default_routes(ubc);
    ubc_net_follow(ubc);
}

const char *ubc_route_shortest(Ubc *ubc, uint32_t cna, uint64_t ports)
{
    if (ports >> ubc->ports) {
        return "there is no such port";
    }
    return ub_net_route_shortest(ubc->net, cna, ports)
           ? NULL : "the route table has no such entry";
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
        e->ubc->above_kicked = true;
        ub_net_port_state(e->ubc->net, e->ubc->now, e->index, vls);
    }
}

/* An Entity is who its registers say. */
static void follow_entity(Ubc *ubc, unsigned entity, const UbSlice *cfg0)
{
    UbSec *sec = ub_node_sec(ubc->node);
    uint32_t upi = ub_slice_get(cfg0, UB_CFG0_UPI) & UB_CFG0_UPI__ALL;
    uint32_t old = 0;
    const UbEid *was = ub_sec_entity(sec, entity, &old);
    UbEid eid = ubc_eid(cfg0, UB_CFG0_EID);

    if (!was || old != upi || !ub_eid_same(was, &eid)) {
        ub_sec_set_entity(sec, entity, &eid, upi);
    }
}

/* What CFG0_BASIC says of the layers. */
static void follow_layers(Ubc *ubc)
{
    uint32_t mtu = ub_mtu_bytes(ub_slice_get(ubc->cfg0, UB_CFG0_MTU_CFG));
    UbTa *ta = ub_node_ta(ubc->node);
    /* Less, if a property says less. */
    uint32_t answers = MIN(mtu, ubc->conf.node.ta.mtu);

    ub_net_set_mtu(ubc->net, mtu);
    ub_tp_set_mtu(ub_node_tp(ubc->node), mtu);
    if (ub_ta_config(ta)->mtu != answers) {
        UbTaConfig c = *ub_ta_config(ta);

        c.mtu = answers;
        ub_ta_configure(ta, &c);
    }
    ub_tp_cc_enable(ub_node_tp(ubc->node),
                    ub_slice_get(ubc->cfg0, UB_CFG0_CC_EN) &
                    UB_CFG0_CC_EN__ALL);
}

void ubc_net_follow(Ubc *ubc)
{
    uint32_t cna = ub_space_read(ubc->space, UB_CFG0_PRIMARY_CNA);

    follow_entity(ubc, 0, ubc->cfg0);
    for (unsigned i = 1; i < ubc->conf.entities; i++) {
        follow_entity(ubc, i, ubc->entity[i].cfg0);
    }
    ubc_partition_follow(ubc);
    follow_layers(ubc);
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
        ub_node_room(e->ubc->node, e->ubc->now, e->index, vl);
    }
}

/*
 * A scan, a message or a control packet, which the device answers by itself.  All
 * others may reach memory of the guest, which must not change while the machine is
 * stopped: they wait, and the peer's credits bound how many.
 */
static bool by_itself(CorePacket *pkt)
{
    const uint8_t *p = core_packet_data(pkt);
    const uint32_t head = UB_NTH16_SIZE + UB_MGMT_MESSAGE_HEAD;
    UbMgmtAddr a;
    UbNth nth;

    if (ub_meta(pkt)->lph_cfg != UB_LPH_CNA16 || pkt->len < head) {
        return ub_meta(pkt)->lph_cfg == UB_LPH_CONTROL;
    }
    ub_nth16_get(p, &nth);
    return nth.nlp != UB_NLP_CTPH ||
           !ub_mgmt_head_get(p + UB_NTH16_SIZE, UB_MGMT_KIND_MESSAGE, &a);
}

/* The next that may be taken now, or NULL.  Management does not stand behind
 * what waits for the guest: that may be for ever. */
static CorePacket *next_packet(UbcEnd *e)
{
    CorePacket **p = &e->came, *pkt;

    while (*p && !e->ubc->master && !by_itself(*p)) {
        p = &(*p)->next;
    }
    pkt = *p;
    if (pkt) {
        *p = pkt->next;
        if (!*p) {
            e->came_tail = p;
        }
    }
    return pkt;
}

static void take_packets(UbcEnd *e)
{
    CorePacket *pkt;

    if (e->came) {
        ubc_net_follow(e->ubc);
    }
    while ((pkt = next_packet(e))) {
        ub_node_rx(e->ubc->node, e->ubc->now, e->index, pkt);
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
    return ubc->master ? ub_node_run(ubc->node, ubc->now, NET_BUDGET)
                       : ub_net_run(ubc->net, ubc->now, NET_BUDGET);
}
