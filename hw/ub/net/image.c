/*
 * The network layer: migration.  Queued packets are lost with the links.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

static void image_ip(UbNet *net, CoreImage *im, NetIp *ip, bool route)
{
    core_image_int(im, &ip->cfg);
    core_image_int(im, &ip->prefix);
    core_image_bytes(im, ip->ip, sizeof(ip->ip));
    if (route) {
        core_image_int(im, &ip->ports);
        ip->ports &= net_all_ports(net);
    }
    core_image_check(im, ub_lph_is_ip(ip->cfg) &&
                     ip->prefix <= 8 * ub_ip_bytes(ip->cfg) &&
                     (!route || ip->ports), "an IP address of no version");
}

/* CNAs whose entry is not 0: number and ports. */
static void image_entries(UbNet *net, CoreImage *im, uint64_t *entry)
{
    uint32_t n = 0, most = entry ? net->conf.route_entries : 0;

    for (uint32_t i = 0; i < most; i++) {
        n += entry[i] != 0;
    }
    core_image_count(im, &n, net->conf.route_entries, "too many routes");
    for (uint32_t i = 0, at = 0; i < n; i++, at++) {
        uint64_t ports = 0;

        if (!core_image_loading(im)) {
            while (!entry[at]) {
                at++;
            }
            ports = entry[at];
        }
        core_image_int(im, &at);
        core_image_int(im, &ports);
        if (!core_image_check(im, at < net->conf.route_entries,
                              "a route beyond the table")) {
            return;
        }
        entry[at] = ports & net_link_ports(net);
    }
}

static void image_routes(UbNet *net, CoreImage *im)
{
    NetRoutes *r = &net->routes;
    uint32_t ips = r->ips;
    bool shortest = r->shortest;

    core_image_int(im, &r->all);
    core_image_flag(im, &r->exact);
    image_entries(net, im, r->entry);
    core_image_flag(im, &shortest);
    if (shortest && !r->shortest) {
        r->shortest = g_new0(uint64_t, net->conf.route_entries);
    }
    if (shortest) {
        image_entries(net, im, r->shortest);
    }
    core_image_count(im, &ips, UB_NET_MAX_IP_ROUTES, "too many IP routes");
    for (uint32_t i = 0; i < ips; i++) {
        NetIp ip = { 0 };

        if (!core_image_loading(im)) {
            ip = r->ip[i];
        }
        image_ip(net, im, &ip, true);
        if (core_image_loading(im) && !core_image_error(im)) {
            ub_net_ip_route(net, ip.cfg, ip.ip, ip.prefix, ip.ports);
        }
    }
    r->all &= net_link_ports(net);
}

static void image_npis(CoreImage *im, UbNet *net, unsigned port,
                       const NetNpis *list)
{
    uint32_t n = list->n;

    core_image_count(im, &n, UB_NET_MAX_NPIS, "too many NPIs");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t npi = core_image_loading(im) ? 0 : list->npi[i];

        core_image_int(im, &npi);
        if (core_image_loading(im)) {
            ub_net_npi_allow(net, port, npi);
        }
    }
}

/* Packets of a port that no image has: the target's counters say that they are lost. */
static uint32_t left_behind(const UbNet *net, unsigned port)
{
    return net_queue_packets(net, port) + net_fault_held(net, port) +
           (port ? 0 : net->looped);
}

static void image_port(UbNet *net, CoreImage *im, unsigned i)
{
    uint32_t counters = UB_NET_COUNTERS_NUM;
    NetPort *p = &net->port[i];
    uint64_t count[UB_NET_COUNTERS_NUM];

    core_image_int(im, &p->cna);
    core_image_int(im, &p->npi_replace);
    image_npis(im, net, i, &p->allowed);
    /* Counters may be added at the end. */
    core_image_count(im, &counters, 1000, "too many counters");
    memcpy(count, p->count, sizeof(count));
    if (!core_image_loading(im)) {
        count[UB_NET_DROP_FLUSHED] += left_behind(net, i);
    }
    for (uint32_t k = 0; k < counters; k++) {
        uint64_t spare = 0;

        core_image_int(im, k < UB_NET_COUNTERS_NUM ? &count[k] : &spare);
    }
    if (core_image_loading(im)) { /* who saves may go on */
        memcpy(p->count, count, sizeof(count));
    }
    ub_net_set_port_cna(net, i, p->cna);
    ub_net_npi_replace(net, i, p->npi_replace);
}

/* What a manager decided of ports and VLs; version 1 did not have it. */
static void image_policy(UbNet *net, CoreImage *im)
{
    uint8_t *out = &net->vl.out[0][0][0];

    for (unsigned i = 0; i < net->conf.ports; i++) {
        core_image_flag(im, &net->port[i].npi_closed);
        core_image_int(im, &net->vl.group[i]);
        net->vl.group[i] &= 15;
    }
    for (unsigned i = 0; i < sizeof(net->vl.out); i++) {
        core_image_int(im, &out[i]);
        out[i] &= 15;
    }
}

/* Borders of the Domain; versions before 3 did not have them: they are as configured. */
static void image_borders(UbNet *net, CoreImage *im)
{
    for (unsigned i = 0; i < net->conf.ports; i++) {
        core_image_int(im, &net->port[i].border);
        ub_net_set_border(net, i, net->port[i].border);
    }
}

void ub_flow_image(UbFlow *f, CoreImage *im)
{
    core_image_int(im, &f->cfg);
    core_image_int(im, &f->rt);
    core_image_int(im, &f->sl);
    core_image_int(im, &f->nlp);
    core_image_flag(im, &f->mgmt);
    core_image_int(im, &f->port);
    core_image_int(im, &f->vl);
    core_image_int(im, &f->cci);
    core_image_int(im, &f->scna);
    core_image_int(im, &f->dcna);
    core_image_int(im, &f->lbf);
    core_image_int(im, &f->npi);
    core_image_bytes(im, f->ip.src, sizeof(f->ip.src));
    core_image_bytes(im, f->ip.dst, sizeof(f->ip.dst));
    core_image_int(im, &f->ip.hops);
    core_image_check(im, f->cfg < 16 && f->rt < 4 && f->sl < 16,
                     "a flow of the image is out of range");
}

void ub_net_image(UbNet *net, CoreImage *im)
{
    uint32_t locals = net->locals;
    unsigned version;

    if (core_image_loading(im)) {
        ub_net_reset(net, core_image_now(im));
    }
    version = core_image_begin(im, CORE_TAG('U', 'N', 'E', 'T'), 3);
    core_image_same(im, net->conf.ports, "another number of ports");
    core_image_same(im, net->conf.route_entries,
                    "another number of route entries");
    core_image_int(im, &net->primary);
    core_image_int(im, &net->npi);
    image_npis(im, net, UB_NET_ANY, &net->allowed);
    core_image_count(im, &locals, UB_NET_MAX_IPS, "too many addresses");
    for (uint32_t i = 0; i < locals; i++) {
        image_ip(net, im, &net->local[i], false);
    }
    net->locals = locals;
    for (unsigned i = 0; i < net->conf.ports; i++) {
        image_port(net, im, i);
    }
    image_routes(net, im);
    if (version >= 2) {
        image_policy(net, im);
    }
    if (version >= 3) {
        image_borders(net, im);
    }
    core_image_end(im);
    if (!core_image_loading(im)) {
        return;
    }
    if (core_image_error(im)) {
        ub_net_reset(net, core_image_now(im));
        return;
    }
    ub_net_set_primary(net, net->primary);
    ub_net_set_npi(net, net->npi);
    net->routes.gen++;
    if (net->routes.slice) {
        net_regs_load(net);
    }
}
