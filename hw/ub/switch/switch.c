/*
 * A UB switch: ports, work, life.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "internal.h"
#include "ub/border.h"

/* UB switch (UB 2.0 §C.2). */
#define CLASS_SWITCH 0x0003

/* Packets that the network layer moves at a time. */
#define NET_BUDGET 1024
/* What is found to do while a turn is under way is done in it so many times. */
#define ROUNDS 4
/* In front of a packet where it is a byte string for faults: CFG, VL, RT,
 * ERROR_FLAG. */
#define FAULT_HEAD 4

/* GUID Type (§C.1): bits 91:88. */
enum { GUID_CONTROLLER = 1, GUID_INTEGRATED_CONTROLLER = 2, GUID_SWITCH = 3 };

/* ---- Kicks ------------------------------------------------------------------------ */

static void kick_owner(UbSwitch *sw)
{
    if (!sw->running) {
        sw->ops.kick(sw->opaque);
    }
}

static void touch_port(SwitchPort *p)
{
    p->sw->dirty |= UINT64_C(1) << p->index;
    kick_owner(p->sw);
}

/* ---- The network layer's outside --------------------------------------------------- */

static bool net_room(void *opaque, unsigned port, unsigned vl)
{
    UbSwitch *sw = opaque;

    if (port >= sw->conf.ports) {
        return sw->ops.ethernet_has_room(sw->opaque, port);
    }
    return ub_port_room(sw->port[port].port, vl) == UB_PORT_SENT;
}

static bool net_send(void *opaque, unsigned port, CorePacket *pkt)
{
    UbSwitch *sw = opaque;

    if (port >= sw->conf.ports) {
        switch_ether_send(sw, port, pkt);
        return true;
    }
    return ub_port_send(sw->port[port].port, sw->now, pkt) == UB_PORT_SENT;
}

static void net_kick(void *opaque)
{
    UbSwitch *sw = opaque;

    sw->net_dirty = true;
    kick_owner(sw);
}

static void net_error(void *opaque, unsigned port, UbNetError error,
                      CorePacket *pkt)
{
    UbSwitch *sw = opaque;

    if (port < sw->conf.ports) {
        ub_port_record(sw->port[port].port, error);
    }
}

static void net_rule(void *opaque, unsigned port, bool own, const char *text)
{
    UbSwitch *sw = opaque;

    if (sw->ops.rule) {
        sw->ops.rule(sw->opaque, port, text);
    }
}

static bool net_starved(void *opaque, unsigned port, unsigned vl)
{
    UbSwitch *sw = opaque;
    UbPortStatus st;

    if (port >= sw->conf.ports) {
        return false; /* Ethernet has no credits */
    }
    ub_port_status(sw->port[port].port, &st);
    return st.dll.starved >> vl & 1;
}

static const UbNetOps net_ops = {
    .room = net_room, .send = net_send, .kick = net_kick, .error = net_error,
    .rule = net_rule, .starved = net_starved, .border = ub_border_judge,
};

/* ---- The ports' outside -------------------------------------------------------------- */

static void fault_sink(void *opaque, const uint8_t *data, size_t len)
{
    SwitchPort *p = opaque;
    CorePacket *pkt = core_packet_alloc(p->sw->pool, len - FAULT_HEAD);
    UbPktMeta *m;

    if (!pkt) {
        return;
    }
    m = ub_meta(pkt);
    m->lph_cfg = data[0];
    m->vl = data[1];
    m->rt = data[2];
    m->error = data[3];
    memcpy(core_packet_data(pkt), data + FAULT_HEAD, len - FAULT_HEAD);
    ub_net_rx(p->sw->net, p->sw->now, p->index, pkt);
}

static void on_rx(void *opaque, CorePacket *pkt)
{
    SwitchPort *p = opaque;
    const UbPktMeta *m = ub_meta(pkt);
    g_autofree uint8_t *bytes = NULL;

    if (!p->fault.on) {
        ub_net_rx(p->sw->net, p->sw->now, p->index, pkt);
        return;
    }
    bytes = g_malloc(FAULT_HEAD + pkt->len);
    bytes[0] = m->lph_cfg;
    bytes[1] = m->vl;
    bytes[2] = m->rt;
    bytes[3] = m->error;
    memcpy(bytes + FAULT_HEAD, core_packet_data(pkt), pkt->len);
    core_fault_pass(&p->fault, bytes, FAULT_HEAD + pkt->len, FAULT_HEAD,
                    p->sw->now, fault_sink, p);
    core_packet_free(pkt);
    touch_port(p); /* its timers */
}

/* Whether the neighbour is a controller. */
static void look_at_neighbour(SwitchPort *p)
{
    UbNetConfig conf = *ub_net_config(p->sw->net);
    uint64_t bit = UINT64_C(1) << p->index;
    UbPortStatus st;
    unsigned type;

    ub_port_status(p->port, &st);
    type = st.dll.neighbor_valid ? st.dll.neighbor_guid[4] & 15 : 0;
    conf.edge_ports &= ~bit;
    if (type == GUID_CONTROLLER || type == GUID_INTEGRATED_CONTROLLER) {
        conf.edge_ports |= bit;
    }
    ub_net_configure(p->sw->net, &conf);
}

static void on_event(void *opaque, UbPortEvent event)
{
    SwitchPort *p = opaque;
    UbSwitch *sw = p->sw;

    if (event == UB_PORT_ERROR) {
        sw->erred |= UINT64_C(1) << p->index;
        kick_owner(sw);
    }
    if (event == UB_PORT_LINK) {
        ub_net_port_state(sw->net, sw->now, p->index, ub_port_vls(p->port));
    }
    if (event == UB_PORT_LINK || event == UB_PORT_PARAM) {
        if (sw->conf.edge_auto) {
            look_at_neighbour(p);
        }
        if (sw->ops.link) {
            sw->ops.link(sw->opaque, p->index);
        }
    }
}

static void on_tx_space(void *opaque, unsigned vl)
{
    SwitchPort *p = opaque;

    ub_net_room(p->sw->net, p->sw->now, p->index, vl);
}

static void on_kick(void *opaque)
{
    touch_port(opaque);
}

static size_t on_wire_send(void *opaque, const uint8_t *data, size_t len)
{
    SwitchPort *p = opaque;

    return p->sw->ops.wire_send(p->sw->opaque, p->index, data, len);
}

static void on_wire_close(void *opaque)
{
    SwitchPort *p = opaque;

    p->sw->ops.wire_close(p->sw->opaque, p->index);
}

static void on_rule(void *opaque, UbBreaker who, const char *text)
{
    SwitchPort *p = opaque;

    net_rule(p->sw, p->index, who == UB_BROKEN_BY_SOFTWARE, text);
}

static void on_packet(void *opaque, bool sent, unsigned cfg, unsigned vl,
                      const uint8_t *data, size_t len)
{
    SwitchPort *p = opaque;

    p->sw->ops.capture(p->sw->opaque, p->index, sent, cfg, vl, data, len);
}

/* ---- Registers --------------------------------------------------------------------------- */

static void written_cfg0(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbSwitch *sw = opaque;

    if (w->dw == UB_CFG0_PRIMARY_CNA) {
        ub_net_set_primary(sw->net, w->value);
    } else if (w->dw == UB_CFG0_DEV_RST && w->trigger) {
        sw->reset_pending = true;
        kick_owner(sw);
    }
}

static void make_space(UbSwitch *sw)
{
    static const UbSliceOps cfg0_ops = { written_cfg0, NULL };
    uint32_t features = UB_CFG0_SUPPORTED_FEATURE__ENTITY_AVAILABLE |
                        UB_CFG0_SUPPORTED_FEATURE__UPI_SUPPORTED |
                        UB_CFG0_SUPPORTED_FEATURE__SWITCH_SUPPORTED;
    UbSlice *s;

    sw->space = ub_space_new(sw->conf.ports);
    s = ub_space_attach(sw->space, UB_SPACE_CFG0, 0, 0, &cfg0_ops, sw);
    ub_slice_init(ub_space_attach(sw->space, UB_SPACE_CFG1, 0, 0, NULL, NULL),
                  UB_CFG1_CLASS_CODE, UB_CFG1_CLASS_CODE__ALL, CLASS_SWITCH);
    sw->cfg0 = s;
    if (sw->conf.net.route_entries) {
        features |= UB_CFG0_SUPPORTED_FEATURE__ROUTE_TABLE_SUPPORTED;
    }
    features |= UB_SPACE_PUT(UB_CFG0_SUPPORTED_FEATURE__MTU_SUPPORTED,
                             ub_mtu_code(sw->conf.net.mtu));
    ub_slice_init(s, UB_CFG0_SUPPORTED_FEATURE, ~0u, features);
    ub_slice_init(s, UB_CFG0_TOTAL_NUMBER_OF_PORTS, ~0u,
                  1u << 16 | sw->conf.ports);
    for (unsigned i = 0; i < 4; i++) {
        ub_slice_init(s, UB_CFG0_GUID + i, ~0u,
                      get_be32(sw->conf.guid + 12 - 4 * i));
    }
}

/* DEV_RST: as after power-on, the streams stay. */
static void reset_all(UbSwitch *sw)
{
    sw->reset_pending = false;
    sw->erred = 0;
    ub_space_reset(sw->space, UB_SPACE_RESET_DEVICE, 0);
    for (unsigned i = 0; i < sw->conf.ports; i++) {
        ub_port_reset(sw->port[i].port, sw->now);
        ub_port_take_errors(sw->port[i].port);
        ub_port_enable(sw->port[i].port, sw->now, true);
    }
    ub_net_reset(sw->net, sw->now);
    switch_ether_reset(sw);
    ub_mgmt_reset(sw->mgmt);
    ub_shp_reset(sw->shp, sw->now);
}

/* ---- Work --------------------------------------------------------------------------------- */

static void run_port(SwitchPort *p, int64_t now)
{
    UbSwitch *sw = p->sw;
    int64_t next;

    next = ub_port_run(p->port, now);
    if (p->fault.on) {
        next = MIN(next, core_fault_timers(&p->fault, now, fault_sink, p));
    }
    sw->port_runs++;
    if (next <= now) {
        sw->dirty |= UINT64_C(1) << p->index;
        next = CORE_NEVER;
    }
    core_timer_set(&sw->timers, &p->timer, next);
}

static void run_net(UbSwitch *sw, int64_t now)
{
    int64_t next;

    sw->net_dirty = false;
    next = ub_net_run(sw->net, now, NET_BUDGET);
    sw->net_dirty |= next <= now;
    sw->net_at = next;
}

int64_t ub_switch_run(UbSwitch *sw, int64_t now)
{
    CoreTimer *due;

    sw->now = now;
    sw->running = true;
    if (sw->reset_pending) {
        reset_all(sw);
    }
    while ((due = core_timers_expired(&sw->timers, now))) {
        SwitchPort *p = (SwitchPort *)((char *)due -
                                       offsetof(SwitchPort, timer));

        sw->dirty |= UINT64_C(1) << p->index;
    }
    sw->mgmt_at = switch_manage_run(sw, now);
    sw->ether_at = switch_ether_run(sw, now);
    for (unsigned n = 0; n < ROUNDS; n++) {
        uint64_t todo = sw->dirty;

        if (sw->net_dirty || sw->net_at <= now) {
            run_net(sw, now);
            todo |= sw->dirty;
        }
        sw->dirty = 0;
        for (; todo; todo &= todo - 1) {
            run_port(&sw->port[__builtin_ctzll(todo)], now);
        }
        if (!sw->dirty && !sw->net_dirty) {
            break;
        }
    }
    sw->running = false;
    if (sw->dirty || sw->net_dirty || sw->ether_dirty || sw->shp_dirty ||
        sw->erred ||
        (ub_net_ports_up(sw->net) & switch_links(sw)) != sw->told_up) {
        return now;
    }
    return MIN(MIN(MIN(sw->net_at, sw->mgmt_at), sw->ether_at),
               core_timers_deadline(&sw->timers));
}

/* ---- Streams and faults -------------------------------------------------------------------- */

void ub_switch_wire_connected(UbSwitch *sw, int64_t now, unsigned port)
{
    sw->now = now;
    ub_port_wire_connected(sw->port[port].port, now);
    ub_shp_wire(sw->shp, now, port, true);
}

void ub_switch_wire_disconnected(UbSwitch *sw, int64_t now, unsigned port)
{
    sw->now = now;
    ub_port_wire_disconnected(sw->port[port].port, now);
    ub_shp_wire(sw->shp, now, port, false);
}

void ub_switch_wire_receive(UbSwitch *sw, int64_t now, unsigned port,
                            const uint8_t *data, size_t len)
{
    sw->now = now;
    ub_port_wire_receive(sw->port[port].port, now, data, len);
}

void ub_switch_wire_room(UbSwitch *sw, int64_t now, unsigned port)
{
    sw->now = now;
    ub_port_wire_room(sw->port[port].port, now);
}

void ub_switch_enable(UbSwitch *sw, int64_t now, unsigned port, bool on)
{
    sw->now = now;
    ub_port_enable(sw->port[port].port, now, on);
}

void ub_switch_fault(UbSwitch *sw, unsigned port, bool out,
                     const CoreFaultPlan *plan)
{
    if (port >= sw->conf.ports) {
        ub_uboe_set_fault(ub_switch_ethernet_port(sw, port), out, plan);
        return;
    }
    core_fault_set(&sw->port[port].fault, plan,
                   UB_PAYLOAD_MAX_NON_CRC + FAULT_HEAD);
}

const CoreFault *ub_switch_faults(UbSwitch *sw, unsigned port, bool out)
{
    return port < sw->conf.ports
           ? &sw->port[port].fault
           : ub_uboe_fault(ub_switch_ethernet_port(sw, port), out);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void ub_switch_config_init(UbSwitchConfig *cfg)
{
    memset(cfg, 0, sizeof(*cfg));
    cfg->ports = UB_SWITCH_MIN_PORTS;
    ub_port_config_init(&cfg->port);
    ub_net_config_init(&cfg->net);
    ub_shp_config_init(&cfg->shp);
    ub_uboe_config_init(&cfg->uboe);
    cfg->net.route_entries = 4096;
    cfg->net.route_default = 0;
    cfg->net.exact_supported = true;
    cfg->net.npi_mode = UB_NPI_OPEN;
    cfg->net.npic = false;
    cfg->net.anti_spoof = false;
    cfg->edge_auto = true;
    cfg->ip_notify = true;
    cfg->pass_dhcp = true;
}

UbSwitchConfig ub_switch_settings(const UbSwitch *sw)
{
    UbSwitchConfig cfg = sw->conf;

    cfg.net = *ub_net_config(sw->net);
    return cfg;
}

/* Packets leave for the wire by the data link layer's queues, one for each VL: what is to
 * go first there is what is to go first here. */
static void schedule_vls(UbSwitch *sw)
{
    const UbNetConfig *net = ub_net_config(sw->net);

    for (unsigned i = 0; i < sw->conf.ports; i++) {
        ub_port_schedule(sw->port[i].port, net->vl_strict, net->vl_weight);
    }
}

const char *ub_switch_configure(UbSwitch *sw, const UbSwitchConfig *cfg)
{
    const char *why = ub_net_configure(sw->net, &cfg->net);
    bool look = !why && cfg->edge_auto && !sw->conf.edge_auto;

    if (why) {
        return why;
    }
    schedule_vls(sw);
    sw->conf.edge_auto = cfg->edge_auto;
    sw->conf.ip_notify = cfg->ip_notify;
    sw->conf.pass_dhcp = cfg->pass_dhcp;
    for (unsigned i = 0; look && i < sw->conf.ports; i++) {
        look_at_neighbour(&sw->port[i]);
    }
    return NULL;
}

static bool make_port(UbSwitch *sw, unsigned index, const char **why)
{
    const UbPortOps ops = {
        .rx = on_rx, .event = on_event, .tx_space = on_tx_space,
        .kick = on_kick, .wire_send = on_wire_send,
        .wire_close = on_wire_close, .rule = on_rule,
        .capture = &sw->capture,
    };
    SwitchPort *p = &sw->port[index];
    UbPortConfig conf = sw->conf.port;

    conf.index = index;
    memcpy(conf.guid, sw->conf.guid, sizeof(conf.guid));
    p->sw = sw;
    p->index = index;
    p->port = ub_port_new(&conf, sw->space, sw->pool, &ops, p, why);
    if (p->port) {
        ub_port_enable(p->port, 0, true);
    }
    return p->port;
}

UbSwitch *ub_switch_new(const UbSwitchConfig *cfg, const UbSwitchOps *ops,
                        void *opaque, const char **why)
{
    UbSwitch *sw;

    if (!cfg->ports || cfg->ports > UB_SWITCH_MAX_PORTS ||
        cfg->ethernet > UB_SWITCH_MAX_PORTS - cfg->ports ||
        cfg->ports + cfg->ethernet < UB_SWITCH_MIN_PORTS) {
        *why = "a switch has 2 to 64 ports, one of UB at least";
        return NULL;
    }
    sw = g_new0(UbSwitch, 1);
    sw->conf = *cfg;
    sw->conf.net.ports = cfg->ports + cfg->ethernet;
    sw->conf.net.ethernet = cfg->ethernet;
    sw->conf.net.forward = true;
    memcpy(sw->conf.net.guid, cfg->guid, sizeof(cfg->guid));
    sw->ops = *ops;
    sw->opaque = opaque;
    sw->net_at = INT64_MAX;
    sw->capture.packet = ops->capture ? on_packet : NULL;
    *why = ub_net_config_check(&sw->conf.net) ?:
           ub_shp_config_check(&cfg->shp, cfg->ports);
    if (*why) {
        g_free(sw);
        return NULL;
    }
    sw->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    sw->running = true; /* nobody is to be kicked yet */
    sw->net = ub_net_new(&sw->conf.net, &net_ops, sw);
    ub_net_set_upper(sw->net, UB_NET_CONTROL, &switch_control, sw);
    make_space(sw);
    ub_net_attach(sw->net, sw->space);
    ub_net_attach_policy(sw->net, sw->space);
    switch_manage_init(sw);
    sw->port = g_new0(SwitchPort, cfg->ports);
    if (!switch_ether_init(sw, why)) {
        ub_switch_free(sw);
        return NULL;
    }
    for (unsigned i = 0; i < cfg->ports; i++) {
        if (!make_port(sw, i, why)) {
            ub_switch_free(sw);
            return NULL;
        }
    }
    schedule_vls(sw);
    sw->running = false;
    return sw;
}

void ub_switch_free(UbSwitch *sw)
{
    if (!sw) {
        return;
    }
    sw->running = true;
    ub_shp_free(sw->shp);
    ub_mgmt_free(sw->mgmt);
    ub_net_free(sw->net); /* what it holds goes back to ports */
    switch_ether_free(sw);
    for (unsigned i = 0; i < sw->conf.ports; i++) {
        core_fault_free(&sw->port[i].fault);
        ub_port_free(sw->port[i].port);
    }
    core_timers_free(&sw->timers);
    ub_space_free(sw->space);
    core_packet_pool_free(sw->pool);
    g_free(sw->port);
    g_free(sw);
}

/* ---- Views ------------------------------------------------------------------------------------ */

unsigned ub_switch_ports(const UbSwitch *sw)
{
    return sw->conf.ports;
}

const uint8_t *ub_switch_guid(const UbSwitch *sw)
{
    return sw->conf.guid;
}

UbNet *ub_switch_net(UbSwitch *sw)
{
    return sw->net;
}

UbPort *ub_switch_port(UbSwitch *sw, unsigned port)
{
    return sw->port[port].port;
}

UbSpace *ub_switch_space(UbSwitch *sw)
{
    return sw->space;
}

UbMgmt *ub_switch_mgmt(UbSwitch *sw)
{
    return sw->mgmt;
}

UbShp *ub_switch_shp(UbSwitch *sw)
{
    return sw->shp;
}

uint64_t ub_switch_port_runs(const UbSwitch *sw)
{
    return sw->port_runs;
}
