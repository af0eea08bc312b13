/*
 * The UB controller: life.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

void ubc_config_init(UbcConfig *cfg)
{
    UbPortConfig port;

    memset(cfg, 0, sizeof(*cfg));
    ub_port_config_init(&port);
    cfg->ports = 1;
    cfg->phy = port.phy;
    cfg->dll = port.dll;
    cfg->dll_time_scale = port.dll_time_scale;
    cfg->err_severity = port.err_severity;
    cfg->err_info = 16;
    cfg->manager = true;
    cfg->mgmt_timeout = 1000;
    cfg->entities = 1;
    cfg->bus_en = true;
    ub_shp_config_init(&cfg->shp);
    cfg->usi = UBC_USI_TYPE2;
    ub_node_config_init(&cfg->node);
    cfg->node.net.exact_supported = true;
    cfg->node.ta.mtu = cfg->node.net.mtu; /* MTU_CFG bounds it */
    cfg->node.bare = true; /* Bypass has no EIDs: they mean Entity 0 */
    ub_urma_config_init(&cfg->urma);
    ub_ummu_config_init(&cfg->ummu);
    ub_lds_config_init(&cfg->lds);
    ub_uboe_config_init(&cfg->ethernet.uboe);
}

/* ---- The ports' outside --------------------------------------------------------- */

static void on_rx(void *opaque, CorePacket *pkt)
{
    ubc_raw_rx(opaque, pkt);
}

static void on_event(void *opaque, UbPortEvent event)
{
    static const uint32_t bits[] = {
        [UB_PORT_DLL_ERROR] = UBC_PORT_EVENT_DLL_ERROR,
        [UB_PORT_RETRAIN] = UBC_PORT_EVENT_RETRAIN,
        [UB_PORT_WIDTH] = UBC_PORT_EVENT_WIDTH,
        [UB_PORT_PARAM] = UBC_PORT_EVENT_PARAM,
        [UB_PORT_LANE] = UBC_PORT_EVENT_LANE,
        [UB_PORT_ERROR] = UBC_PORT_EVENT_ERROR,
    };
    UbcEnd *e = opaque;

    if (event == UB_PORT_RESET) {
        ubc_raw_drop(e);
        ubc_net_drop(e);
        return;
    }
    if ((event == UB_PORT_LINK || event == UB_PORT_WIDTH) &&
        e->ubc->ops.changed) {
        e->ubc->ops.changed(e->ubc->opaque, e->index);
    }
    if (event == UB_PORT_ERROR) {
        ubc_manage_error(e);
    }
    if (event != UB_PORT_LINK) {
        ubc_end_event(e, bits[event]);
        return;
    }
    ubc_window_link(e);
    if (!ub_port_dll_up(e->port)) {
        ubc_raw_down(e);
    }
    ubc_end_link_event(e);
}

static void on_tx_space(void *opaque, unsigned vl)
{
    UbcEnd *e = opaque;

    ubc_raw_room(e, vl);
    ubc_net_room(e, vl);
    ubc_kick(e->ubc);
}

static void on_kick(void *opaque)
{
    ubc_kick(((UbcEnd *)opaque)->ubc);
}

static size_t on_wire_send(void *opaque, const uint8_t *data, size_t len)
{
    UbcEnd *e = opaque;

    return e->ubc->ops.wire_send(e->ubc->opaque, e->index, data, len);
}

static void on_wire_close(void *opaque)
{
    UbcEnd *e = opaque;

    e->ubc->ops.wire_close(e->ubc->opaque, e->index);
}

static void on_rule(void *opaque, UbBreaker who, const char *text)
{
    UbcEnd *e = opaque;

    if (who == UB_BROKEN_BY_SOFTWARE) {
        ubc_guest_error(e->ubc, e->index, text);
    } else {
        e->ubc->ops.peer_error(e->ubc->opaque, e->index, text);
    }
}

static void on_transition(void *opaque, UbMachine machine, const char *from,
                          const char *to, const char *cause)
{
    UbcEnd *e = opaque;

    if (e->ubc->ops.transition) {
        e->ubc->ops.transition(e->ubc->opaque, e->index, machine, from, to,
                               cause);
    }
}

static void on_packet(void *opaque, bool sent, unsigned cfg, unsigned vl,
                      const uint8_t *data, size_t len)
{
    UbcEnd *e = opaque;

    e->ubc->ops.capture_packet(e->ubc->opaque, e->index, sent, cfg, vl, data,
                               len);
}

static void on_block(void *opaque, bool sent, const uint8_t *block,
                     unsigned flits)
{
    UbcEnd *e = opaque;

    e->ubc->ops.capture_block(e->ubc->opaque, e->index, sent, block, flits);
}

static void on_training(void *opaque, bool sent, unsigned lane,
                        const uint8_t ltb[UB_LTB], unsigned n)
{
    UbcEnd *e = opaque;

    e->ubc->ops.capture_training(e->ubc->opaque, e->index, sent, lane, ltb, n);
}

static bool end_init(UbcEnd *e, Ubc *ubc, unsigned index, const char **why)
{
    const UbPortOps ops = {
        .rx = on_rx,
        .event = on_event,
        .tx_space = on_tx_space,
        .kick = on_kick,
        .wire_send = on_wire_send,
        .wire_close = on_wire_close,
        .rule = on_rule,
        .transition = on_transition,
        .capture = &ubc->capture,
    };
    UbPortConfig conf = {
        .index = index,
        .session = ubc->conf.session,
        .features = ubc->conf.wire_features,
        .cna = ubc->conf.port_cna ? ubc->conf.port_cna + index : 0,
        .phy = ubc->conf.phy,
        .dll = ubc->conf.dll,
        .dll_time_scale = ubc->conf.dll_time_scale,
        .err_severity = ubc->conf.err_severity,
    };

    memcpy(conf.guid, ubc->conf.guid, sizeof(conf.guid));
    e->ubc = ubc;
    e->index = index;
    e->port = ub_port_new(&conf, ubc->space, ubc->pool, &ops, e, why);
    ubc_pair_claims(e);
    return e->port;
}

/* ---- Life ------------------------------------------------------------------------ */

/* What is wrong with it, or NULL. */
static const char *config_check(const UbcConfig *cfg)
{
    const char *why;

    if (cfg->ports < 1 || cfg->ports > UBC_MAX_PORTS) {
        return "there are 1 to 8 ports";
    }
    if ((cfg->cna | cfg->fm_cna | (cfg->port_cna + cfg->ports - 1)) >> 24) {
        return "a CNA has 24 bits";
    }
    if (cfg->route_entries > UBC_MAX_ROUTES) {
        return "there are at most 65536 routes";
    }
    if (cfg->entities < 1 || cfg->entities > UBC_MAX_ENTITIES) {
        return "there are 1 to 16 Entities";
    }
    for (unsigned i = 0; i < cfg->entities; i++) {
        if ((cfg->entity[i] == UBC_ENTITY_BUS) != !i) {
            return "Entity 0, and it alone, is the bus controller";
        }
    }
    why = ubc_resource_check(cfg);
    why = why ? why : ubc_error_info_check(cfg);
    why = why ? why : ubc_partition_check(cfg);
    if (why) {
        return why;
    }
    if (cfg->upi >> 15) {
        return "an UPI has 15 bits";
    }
    why = ub_shp_config_check(&cfg->shp, cfg->ports);
    if (!why && !cfg->mgmt_timeout) {
        why = "the answer to a management message needs time";
    }
    return why;
}

Ubc *ubc_new(const UbcConfig *cfg, const UbcOps *ops, void *opaque,
                  const char **why)
{
    Ubc *ubc;

    *why = config_check(cfg);
    if (*why) {
        return NULL;
    }
    ubc = g_new0(Ubc, 1);
    ubc->conf = *cfg;
    ubc->ops = *ops;
    ubc->opaque = opaque;
    ubc->ports = cfg->ports;
    ubc->capture = (UbCaptureOps) {
        .packet = ops->capture_packet ? on_packet : NULL,
        .block = ops->capture_block ? on_block : NULL,
        .training = ops->capture_training ? on_training : NULL,
    };
    ubc->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    ubc_space_init(ubc);
    ubc_net_claim(ubc);
    for (unsigned i = 0; i < UBC_PAIRS; i++) {
        ubc_pair_init(&ubc->pair[i], ubc, i);
    }
    for (unsigned i = 0; i < ubc->ports; i++) {
        if (!end_init(&ubc->end[i], ubc, i, why)) {
            ubc_free(ubc);
            return NULL;
        }
    }
    ubc_engine_init(ubc);
    ubc_ummu_init(ubc);
    if (!ubc_window_init(ubc, why) || !ubc_ethernet_init(ubc, why) ||
        !ubc_net_init(ubc, why)) {
        ubc_free(ubc);
        return NULL;
    }
    if (cfg->cip && !ub_sec_cip(ub_node_sec(ubc->node))) {
        *why = "libgcrypt has no AES-256-GCM or no SM4-GCM";
        ubc_free(ubc);
        return NULL;
    }
    ubc_manage_init(ubc);
    /* The last that is always there, so that images from before it have the words of all
     * others. */
    ub_net_attach_policy(ubc->net, ubc->space);
    if (cfg->channels_managed) {
        ub_tp_manage(ub_node_tp(ubc->node), ubc->space, ubc_above_kick, ubc);
    }
    return ubc;
}

void ubc_free(Ubc *ubc)
{
    if (!ubc) {
        return;
    }
    for (unsigned i = 0; i < UBC_PAIRS; i++) {
        ubc_pair_flush(&ubc->pair[i]);
    }
    ubc_manage_free(ubc);
    ubc_engine_free(ubc);
    ubc_ummu_free(ubc);
    ubc_window_free(ubc);
    ubc_net_free(ubc);
    for (unsigned i = 0; i < ubc->ports; i++) {
        ub_port_free(ubc->end[i].port);
    }
    ubc_space_free(ubc);
    core_packet_pool_free(ubc->pool);
    g_free(ubc);
}

/* Registers and both layers as after power-on; the wire stays. */
static void end_reset(UbcEnd *e)
{
    e->event = e->event_mask = e->vector = 0;
    e->status = e->counter_hi = 0;
    memset(e->param, 0, sizeof(e->param));
    ub_port_reset(e->port, e->ubc->now);
    /* The loss of the link is part of what is forgotten. */
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        ubc_end_counter_set(e, i, 0);
    }
}

void ubc_reset(Ubc *ubc, int64_t now)
{
    ubc->now = now;
    ubc->reset_pending = false;
    ubc->event = ubc->event_mask = ubc->vector = 0;
    ubc->cfg_addr = ubc->cfg_entity = 0;
    ubc->guest_errors = ubc->dma_errors = 0;
    ubc_space_reset(ubc);
    for (unsigned i = 0; i < UBC_PAIRS; i++) {
        ubc_pair_reset(&ubc->pair[i]);
    }
    for (unsigned i = 0; i < ubc->ports; i++) {
        end_reset(&ubc->end[i]);
    }
    ubc_net_reset(ubc);
    ubc_ethernet_reset(ubc);
    ubc_usi_reset(ubc);
    ubc_engine_reset(ubc);
    ub_ummu_reset(ubc->ummu);
    ubc_window_reset(ubc);
    ubc_manage_reset(ubc);
    ubc_kick(ubc);
}

/* Both PCI and BUS_EN allow accesses, or none is made. */
static void follow_master(Ubc *ubc)
{
    bool on = ubc->pci_master && ub_slice_get(ubc->cfg1, UB_CFG1_BUS_EN) &
              UB_CFG1_BUS_EN__BUS_ACCESS_EN;

    if (ubc->master != on) {
        ubc->master = on;
        ub_net_rest(ubc->net, !on);
        ubc_window_pause(ubc);
        ubc_kick(ubc);
    }
}

void ubc_bus_master(Ubc *ubc, bool on)
{
    ubc->pci_master = on;
    follow_master(ubc);
}

int64_t ubc_run(Ubc *ubc, int64_t now)
{
    int64_t next = INT64_MAX, above, at;

    ubc->now = now;
    ubc->running = true;
    if (ubc->reset_pending) {
        ubc_reset(ubc, now);
    }
    follow_master(ubc);
    above = ubc_manage_run(ubc);
    at = ubc_ummu_run(ubc);
    above = MIN(above, at);
    at = ubc_engine_run(ubc);
    above = MIN(above, at);
    at = ubc_window_run(ubc);
    above = MIN(above, at);
    ubc_usi_run(ubc);
    ubc->above_kicked = false;
    at = ubc_net_run(ubc);
    above = MIN(above, at);
    at = ubc_ethernet_run(ubc);
    above = MIN(above, at);
    if (ubc->above_kicked || ubc->reset_pending) {
        above = now;        /* they had their turn before what came below */
    }
    for (unsigned i = 0; i < ubc->ports; i++) {
        UbcEnd *e = &ubc->end[i];
        bool more = ubc_raw_serve(e);
        int64_t t;

        /* What was asked for so far is done below. */
        ubc->kicked = false;
        t = ub_port_run(e->port, now);
        ubc_raw_finish(e);
        next = more || ubc->kicked ? now : MIN(next, t);
    }
    ubc->running = false;
    return MIN(next, above);
}

void ubc_ring(Ubc *ubc, uint32_t page, uint32_t offset, uint64_t value)
{
    ub_urma_ring(ubc->urma, page, offset, value);
}

void ubc_rung(Ubc *ubc, int64_t now)
{
    ubc->now = now;
    ub_urma_rung(ubc->urma);
}

bool ubc_resting(const Ubc *ubc)
{
    return !ub_ta_requests(ub_node_ta(ubc->node));
}

UbUmmu *ubc_ummu(Ubc *ubc)
{
    return ubc->ummu;
}

UbNode *ubc_node(Ubc *ubc)
{
    return ubc->node;
}

UbUrma *ubc_urma(Ubc *ubc)
{
    return ubc->urma;
}

/* ---- Wires -------------------------------------------------------------------- */

void ubc_wire_connected(Ubc *ubc, unsigned port, int64_t now)
{
    ubc->now = now;
    ub_port_wire_connected(ubc->end[port].port, now);
    ub_shp_wire(ubc->shp, now, port, true);
}

void ubc_wire_disconnected(Ubc *ubc, unsigned port, int64_t now)
{
    ubc->now = now;
    ub_port_wire_disconnected(ubc->end[port].port, now);
    ub_shp_wire(ubc->shp, now, port, false);
}

void ubc_wire_receive(Ubc *ubc, unsigned port, const uint8_t *data,
                         size_t len, int64_t now)
{
    ubc->now = now;
    ub_port_wire_receive(ubc->end[port].port, now, data, len);
}

void ubc_wire_room(Ubc *ubc, unsigned port, int64_t now)
{
    ubc->now = now;
    ub_port_wire_room(ubc->end[port].port, now);
}

/* ---- Views --------------------------------------------------------------------- */

UbShp *ubc_shp(Ubc *ubc)
{
    return ubc->shp;
}

UbMgmt *ubc_mgmt(Ubc *ubc)
{
    return ubc->mgmt;
}

UbResponder *ubc_responder(Ubc *ubc)
{
    return ubc->responder;
}

UbInject *ubc_inject(Ubc *ubc, unsigned port)
{
    return port < ubc->ports ? ub_port_inject(ubc->end[port].port) : NULL;
}

unsigned ubc_ports(const Ubc *ubc)
{
    return ubc->ports;
}

const char *ubc_counter_name(unsigned counter)
{
    static const char *const names[] = {
#define UBC_X(id, name) name,
        UBC_COUNTERS(UBC_X)
#undef UBC_X
    };

    return counter < G_N_ELEMENTS(names) ? names[counter] : NULL;
}

bool ubc_port_info(Ubc *ubc, unsigned port, UbcPortInfo *info)
{
    static const char *const fec_names[] = { "off", "t2", "t4" };
    UbPortStatus st;

    memset(info, 0, sizeof(*info));
    if (port >= ubc->ports) {
        return false;
    }
    ub_port_status(ubc->end[port].port, &st);
    info->status = st.dll;
    info->connected = st.connected;
    info->peer = st.peer;
    info->link_up = st.link_up;
    info->primary = st.phy.primary;
    info->crc = st.phy.crc == UB_LTB_CRC30;
    info->lmsm = st.phy.state;
    info->dll = ub_dll_state_name(UB_DLL_SM, st.dll.state);
    info->retry_req = ub_dll_state_name(UB_RETRY_REQ_SM, st.dll.retry_req);
    info->retry_ack = ub_dll_state_name(UB_RETRY_ACK_SM, st.dll.retry_ack);
    info->fec = st.phy.fec < G_N_ELEMENTS(fec_names) ? fec_names[st.phy.fec]
                                                     : "none";
    info->codecs = st.phy.interleave ? 2 : 1;
    info->rate = st.phy.rate;
    info->tx_width = st.phy.tx_width;
    info->rx_width = st.phy.rx_width;
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        info->counter[i] = ubc_end_counter(&ubc->end[port], i);
    }
    for (unsigned i = 0; i < UB_NET_COUNTERS_NUM; i++) {
        info->net[i] = ub_net_counter(ubc->net, port, i);
    }
    return true;
}
