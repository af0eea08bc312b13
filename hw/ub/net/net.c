/*
 * The UB network layer: life, settings, work.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "internal.h"

/* ---- Settings --------------------------------------------------------------------- */

void ub_net_config_init(UbNetConfig *cfg)
{
    memset(cfg, 0, sizeof(*cfg));
    cfg->ports = 1;
    cfg->icrc = cfg->icrc_scan = true;
    cfg->mtu = 8192;
    for (unsigned i = 0; i < UB_NET_VLS; i++) {
        cfg->vl_weight[i] = 1;
        cfg->vl_out[i] = i;
        cfg->sl_dscp[i] = i * 4;
    }
    for (unsigned i = 0; i < 64; i++) {
        cfg->dscp_sl[i] = i / 4;
    }
    cfg->queue_limit = 64 * 1024;
    cfg->fecn_light = 32 * 1024;
    cfg->fecn_heavy = 128 * 1024;
    cfg->caqm_congested = 32 * 1024;
    cfg->caqm_unit = 256;
    cfg->npi_mode = UB_NPI_STRICT;
    cfg->npi = UB_NPI_DEFAULT;
    cfg->npic = true;
    cfg->anti_spoof = true;
    cfg->route_default = ~UINT64_C(0);
    cfg->hops = true;
}

const char *ub_net_config_check(const UbNetConfig *cfg)
{
    if (cfg->ports < 1 || cfg->ports > UB_NET_MAX_PORTS) {
        return "there are 1 to 64 ports";
    }
    if (cfg->ethernet >= cfg->ports) {
        return "a port at least is a UB link";
    }
    if (ub_mtu_code(cfg->mtu) < 0) {
        return "the transport MTU is 1024, 4096 or 8192";
    }
    if (!cfg->queue_limit) {
        return "the limit of the egress queues is at least a byte";
    }
    if (!cfg->fecn_light || cfg->fecn_heavy < cfg->fecn_light) {
        return "thresholds of FECN: 0 < light <= heavy";
    }
    if (!cfg->caqm_congested || !cfg->caqm_unit) {
        return "threshold and unit of CAQM are at least 1";
    }
    if (cfg->watchdog < 0) {
        return "the watchdog's time is not negative";
    }
    if (cfg->npis_len > UB_NET_CONF_NPIS) {
        return "there are more NPIs than the list has room for";
    }
    for (unsigned i = 0; i < cfg->npis_len; i++) {
        if (!ub_npi_valid(cfg->npis[i])) {
            return "ID 0 of an NPI is reserved";
        }
    }
    if (cfg->npi_mode > UB_NPI_LOOSE) {
        return "no such mode of isolation";
    }
    if (cfg->route_entries > 0x10000) {
        return "there are at most 65536 route entries";
    }
    if (cfg->ports < 64 && cfg->border_ports >> cfg->ports) {
        return "there is no such port at the border of the Domain";
    }
    for (unsigned i = 0; i < 16; i++) {
        if (cfg->sl_vl[i] >= UB_NET_VLS || cfg->vl_out[i] >= UB_NET_VLS ||
            cfg->sl_dscp[i] >= 64) {
            return "VLs are 0 to 15, DSCPs 0 to 63";
        }
    }
    for (unsigned i = 0; i < 64; i++) {
        if (cfg->dscp_sl[i] >= 16) {
            return "SLs are 0 to 15";
        }
    }
    return NULL;
}

const UbNetConfig *ub_net_config(const UbNet *net)
{
    return &net->conf;
}

const char *ub_net_configure(UbNet *net, const UbNetConfig *cfg)
{
    const char *why = ub_net_config_check(cfg);
    bool maps, borders;

    if (why) {
        return why;
    }
    if (cfg->ports != net->conf.ports ||
        cfg->ethernet != net->conf.ethernet ||
        cfg->route_entries != net->conf.route_entries ||
        cfg->forward != net->conf.forward) {
        return "ports, route entries and forwarding do not change";
    }
    maps = memcmp(cfg->vl_out, net->conf.vl_out, sizeof(cfg->vl_out));
    borders = cfg->border_ports != net->conf.border_ports ||
              cfg->border_plain != net->conf.border_plain;
    net->conf = *cfg;
    if (maps) {
        net_vl_power_on(net); /* a manager's are not any more */
    }
    if (borders) {
        net_border_power_on(net);
    }
    net_kick(net); /* the watchdog's time may be another */
    return NULL;
}

/* ---- Life ------------------------------------------------------------------------------ */

/* Routes as after power-on. */
static void reset_routes(UbNet *net)
{
    NetRoutes *r = &net->routes;

    for (unsigned i = 0; i < net->conf.route_entries; i++) {
        r->entry[i] = 0;
    }
    g_free(r->shortest);
    r->shortest = NULL;
    r->all = net->conf.route_default & net_link_ports(net);
    r->exact = false;
    g_free(r->ip);
    r->ip = NULL;
    r->ips = 0;
    r->gen++;
    if (r->slice) {
        net_regs_load(net);
    }
}

UbNet *ub_net_new(const UbNetConfig *cfg, const UbNetOps *ops, void *opaque)
{
    UbNet *net;

    if (ub_net_config_check(cfg)) {
        return NULL;
    }
    net = g_new0(UbNet, 1);
    net->conf = *cfg;
    net->ops = *ops;
    net->opaque = opaque;
    net->port = g_new0(NetPort, cfg->ports);
    for (unsigned i = 0; i < cfg->ports; i++) {
        net_queues_init(&net->port[i]);
    }
    net->loop_tail = &net->loop;
    net->routes.entry = g_new0(uint64_t, cfg->route_entries);
    net_npi_power_on(net);
    net_vl_power_on(net);
    net_border_power_on(net);
    reset_routes(net);
    return net;
}

static void drop_loop(UbNet *net)
{
    while (net->loop) {
        CorePacket *pkt = net->loop;

        net->loop = pkt->next;
        net_drop(net, 0, UB_NET_DROP_FLUSHED, pkt);
    }
    net->loop_tail = &net->loop;
    net->looped = 0;
}

void ub_net_free(UbNet *net)
{
    if (!net) {
        return;
    }
    drop_loop(net);
    net_fault_free(net);
    memset(net->upper, 0, sizeof(net->upper)); /* they may be gone */
    for (unsigned i = 0; i < net->conf.ports; i++) {
        net_queue_flush(net, 0, i, UB_NET_DROP_FLUSHED);
        ub_net_npi_clear(net, i);
    }
    ub_net_npi_clear(net, UB_NET_ANY);
    net_regs_free(net);
    g_free(net->routes.entry);
    g_free(net->routes.shortest);
    g_free(net->routes.ip);
    g_free(net->port);
    g_free(net);
}

void ub_net_set_upper(UbNet *net, UbNetTo to, const UbNetUpper *upper,
                      void *opaque)
{
    net->upper[to].ops = upper;
    net->upper[to].opaque = opaque;
}

void ub_net_set_mtu(UbNet *net, uint32_t mtu)
{
    if (ub_mtu_code(mtu) >= 0) {
        net->conf.mtu = mtu;
    }
}

void ub_net_reset(UbNet *net, int64_t now)
{
    drop_loop(net);
    net_fault_drop(net);
    for (unsigned i = 0; i < net->conf.ports; i++) {
        net_queue_flush(net, now, i, UB_NET_DROP_FLUSHED);
        ub_net_npi_clear(net, i);
        ub_net_npi_replace(net, i, 0);
        ub_net_npi_close(net, i, false);
        ub_net_set_port_cna(net, i, 0);
    }
    net_npi_power_on(net);
    net_vl_power_on(net);
    net_border_power_on(net);
    ub_net_set_primary(net, 0);
    net->locals = 0;
    reset_routes(net);
}

/* ---- Ports and work -------------------------------------------------------------------- */

uint64_t ub_net_ports_up(const UbNet *net)
{
    return net->up;
}

void ub_net_port_state(UbNet *net, int64_t now, unsigned port, uint32_t vls)
{
    uint64_t bit = UINT64_C(1) << port;
    NetPort *p = &net->port[port];

    if (p->vls == vls) {
        return;
    }
    p->vls = vls;
    net->up = vls ? net->up | bit : net->up & ~bit;
    net->routes.gen++;
    if (!vls) {
        net_queue_flush(net, now, port, UB_NET_DROP_FLUSHED);
    } else if (net->busy & bit) {
        net_kick(net);
    }
}

void ub_net_room(UbNet *net, int64_t now, unsigned port, unsigned vl)
{
    if (net->port[port].queued >> (vl & 15) & 1) {
        net_kick(net);
    }
}

void ub_net_set_fault(UbNet *net, bool out, const UbNetFault *set)
{
    net_fault_set(net, out, set, out ? net_leave_sound : net_rx_sound);
    net_kick(net);
}

void ub_net_rest(UbNet *net, bool rest)
{
    if (net->resting && !rest) {
        net_kick(net);
    }
    net->resting = rest;
}

/* Who was told UB_BUSY of the loop may come again. */
static void tell_loop_room(UbNet *net, int64_t now)
{
    if (net->loop_refused && net->looped <= NET_LOOP_MAX / 2) {
        net->loop_refused = false;
        net_tell_room(net, now, 0, 0);
    }
}

/* Loops of what loops wait for the next turn. */
static unsigned run_loop(UbNet *net, int64_t now, unsigned budget)
{
    for (unsigned n = net->looped; n && budget; n--, budget--) {
        CorePacket *pkt = net->loop;

        net->loop = pkt->next;
        if (!net->loop) {
            net->loop_tail = &net->loop;
        }
        net->looped--;
        pkt->next = NULL;
        net_rx_loop(net, now, pkt);
    }
    tell_loop_room(net, now);
    return budget;
}

int64_t ub_net_run(UbNet *net, int64_t now, unsigned budget)
{
    int64_t next, at;

    net->running = true;
    next = net_fault_run(net, true, now);
    if (!net->resting) {
        at = net_fault_run(net, false, now);
        next = MIN(next, at);
        budget = run_loop(net, now, budget);
    }
    for (uint64_t ports = net->busy; ports && budget; ports &= ports - 1) {
        budget = net_queue_drain(net, now, __builtin_ctzll(ports), budget);
    }
    at = net_queue_watch(net, now);
    next = MIN(next, at);
    net->running = false;
    return !budget || (net->loop && !net->resting) ? now : next;
}
