/*
 * Network isolation (UB 2.0 §5.3.3): which NPI leaves, which is taken.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

void ub_net_set_npi(UbNet *net, uint32_t npi)
{
    net->npi = npi & UB_NPI_MASK;
}

void ub_net_change_npi(UbNet *net, uint32_t npi)
{
    uint32_t before = net->npi;

    ub_net_set_npi(net, npi);
    if (net->npi != before && net->ops.npi) {
        net->ops.npi(net->opaque, net->npi);
    }
}

uint32_t ub_net_npi(const UbNet *net)
{
    return net->npi;
}

static NetNpis *list_of(UbNet *net, unsigned port)
{
    return port == UB_NET_ANY ? &net->allowed : &net->port[port].allowed;
}

bool net_npi_listed(const NetNpis *list, uint32_t npi)
{
    for (unsigned i = 0; i < list->n; i++) {
        if (list->npi[i] == npi) {
            return true;
        }
    }
    return false;
}

bool net_npi_passes(const NetPort *port, uint32_t npi)
{
    return (!port->allowed.n && !port->npi_closed) ||
           net_npi_listed(&port->allowed, npi);
}

bool ub_net_npi_allow(UbNet *net, unsigned port, uint32_t npi)
{
    NetNpis *list = list_of(net, port);

    npi &= UB_NPI_MASK;
    if (net_npi_listed(list, npi)) {
        return true;
    }
    if (list->n == UB_NET_MAX_NPIS || !ub_npi_valid(npi)) {
        return false;
    }
    list->npi = g_renew(uint32_t, list->npi, list->n + 1);
    list->npi[list->n++] = npi;
    return true;
}

bool ub_net_npi_disallow(UbNet *net, unsigned port, uint32_t npi)
{
    NetNpis *list = list_of(net, port);

    for (unsigned i = 0; i < list->n; i++) {
        if (list->npi[i] == (npi & UB_NPI_MASK)) {
            list->npi[i] = list->npi[--list->n];
            return true;
        }
    }
    return false;
}

void ub_net_npi_close(UbNet *net, unsigned port, bool closed)
{
    net->port[port].npi_closed = closed;
}

unsigned ub_net_npi_list(const UbNet *net, unsigned port, const uint32_t **npis)
{
    const NetNpis *list = port == UB_NET_ANY ? &net->allowed
                                             : &net->port[port].allowed;

    *npis = list->npi;
    return list->n;
}

bool ub_net_npi_closed(const UbNet *net, unsigned port)
{
    return net->port[port].npi_closed;
}

uint32_t ub_net_npi_replaced(const UbNet *net, unsigned port)
{
    return net->port[port].npi_replace;
}

void ub_net_npi_clear(UbNet *net, unsigned port)
{
    NetNpis *list = list_of(net, port);

    g_free(list->npi);
    *list = (NetNpis) { 0 };
}

void net_npi_power_on(UbNet *net)
{
    ub_net_npi_clear(net, UB_NET_ANY);
    for (unsigned i = 0; i < net->conf.npis_len; i++) {
        ub_net_npi_allow(net, UB_NET_ANY, net->conf.npis[i]);
    }
    ub_net_set_npi(net, net->conf.npi);
}

void ub_net_npi_replace(UbNet *net, unsigned port, uint32_t npi)
{
    net->port[port].npi_replace = npi & UB_NPI_MASK;
}

uint32_t net_npi_stamp(const UbNet *net, uint32_t npi, UbNetCounter *why)
{
    if (net->conf.npi_mode == UB_NPI_STRICT || npi == UB_NET_OWN_NPI) {
        npi = net->npi;
    } else if (net->conf.npi_mode == UB_NPI_LOOSE && net->allowed.n &&
               !net_npi_listed(&net->allowed, npi)) {
        *why = UB_NET_DROP_NPI;
        return 0;
    }
    *why = UB_NET_DROP_NPI_INVALID;
    return ub_npi_valid(npi) ? npi : 0;
}

bool net_npi_accepts(const UbNet *net, uint32_t npi, UbNetCounter *why)
{
    const NetNpis *list = &net->allowed;

    if (net->conf.npi_mode == UB_NPI_OPEN) {
        return true;
    }
    if (!ub_npi_valid(npi)) {
        *why = UB_NET_DROP_NPI_INVALID;
        return false;
    }
    *why = UB_NET_DROP_NPI;
    if (net->conf.npi_mode == UB_NPI_STRICT) {
        return ub_npi_match(net->npi, npi);
    }
    for (unsigned i = 0; i < list->n; i++) {
        if (ub_npi_match(list->npi[i], npi)) {
            return true;
        }
    }
    return !list->n;
}

/* ---- Beside the net ----------------------------------------------------------- */

bool ub_net_npic_rx(UbNet *net, unsigned port, CorePacket *pkt)
{
    /* Data marked as erroneous are void (UB 2.0 §4.8.3): the guest sees. */
    return ub_meta(pkt)->lph_cfg == UB_LPH_CONTROL && !ub_meta(pkt)->error &&
           pkt->len >= UB_CONTROL_SIZE && net_control(net, port, pkt);
}

bool ub_net_guard_rx(UbNet *net, unsigned port, CorePacket *pkt)
{
    unsigned cfg = ub_meta(pkt)->lph_cfg;
    UbNetCounter why = UB_NET_DROP_SHORT;

    if (cfg == UB_LPH_CONTROL) {
        return !ub_net_npic_rx(net, port, pkt);
    }
    if (!ub_lph_is_ip(cfg) ||
        (pkt->len >= UB_IPEXT_SIZE &&
         net_npi_accepts(net, ub_ipext_npi(core_packet_data(pkt)), &why))) {
        return true;
    }
    net_drop(net, port, why, pkt);
    return false;
}
