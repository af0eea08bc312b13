/*
 * The monitor's view of the Ethernet ports of UB controllers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <arpa/inet.h>
#include "qapi/error.h"
#include "qapi/qapi-commands-ub.h"
#include "qapi/util.h"
#include "ubc-pci.h"

static char *mac_text(const uint8_t *mac)
{
    return g_strdup_printf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
                           mac[2], mac[3], mac[4], mac[5]);
}

static void add_count(UbcCounterList ***tail, const char *name, uint64_t value)
{
    UbcCounter *c;

    if (value) {
        c = g_new0(UbcCounter, 1);
        c->name = g_strdup(name);
        c->value = value;
        QAPI_LIST_APPEND(*tail, c);
    }
}

static void add_neighbour(void *opaque, const UbUboeNeighbour *from)
{
    UbEthernetNeighbourList ***tail = opaque;
    UbEthernetNeighbour *n = g_new0(UbEthernetNeighbour, 1);
    char text[INET6_ADDRSTRLEN];

    n->address = g_strdup(inet_ntop(from->cfg == UB_LPH_IPV4 ? AF_INET
                                                             : AF_INET6,
                                    from->ip, text, sizeof(text)));
    n->vlan = from->vlan;
    n->mac = from->known ? mac_text(from->mac) : NULL;
    n->waiting = from->held;
    QAPI_LIST_APPEND(*tail, n);
}

static UbEthernetInfo *ethernet_info(UbcPci *s)
{
    UbEthernetInfo *e = g_new0(UbEthernetInfo, 1);
    UbcCounterList **counters = &e->counters, **network = &e->network,
                   **done[2] = { &e->faults_in, &e->faults_out };
    UbEthernetNeighbourList **neighbours = &e->neighbours;
    static const char *const faults[CORE_FAULT_NUM] = {
        "none", "drop", "duplicate", "reorder", "corrupt", "delay",
    };
    const UbNet *net;
    UbUboe *uboe;

    e->device = object_get_canonical_path(OBJECT(s));
    e->port = s->ports;
    qemu_mutex_lock(&s->lock);
    uboe = ubc_ethernet(s->ubc);
    net = ub_node_net(ubc_node(s->ubc));
    e->link_up = ub_uboe_up(uboe);
    e->mac = mac_text(ub_uboe_config(uboe)->mac);
    e->mtu = ub_uboe_config(uboe)->mtu;
    for (unsigned i = 0; i < UB_UBOE_COUNTERS_NUM; i++) {
        add_count(&counters, ub_uboe_counter_name(i), ub_uboe_counter(uboe, i));
    }
    add_count(&counters, "wire-lost", s->ether.lost);
    for (unsigned i = 0; i < UB_NET_COUNTERS_NUM; i++) {
        add_count(&network, ub_net_counter_name(i),
                  ub_net_counter(net, s->ports, i));
    }
    for (unsigned out = 0; out < 2; out++) {
        for (unsigned i = CORE_FAULT_DROP; i < CORE_FAULT_NUM; i++) {
            add_count(&done[out], faults[i],
                      ub_uboe_fault(uboe, out)->done[i]);
        }
    }
    ub_uboe_neighbours(uboe, add_neighbour, &neighbours);
    qemu_mutex_unlock(&s->lock);
    return e;
}

static void add_ethernet(UbcPci *s, void *opaque)
{
    UbEthernetInfoList ***tail = opaque;

    if (ubc_ethernet(s->ubc)) {
        QAPI_LIST_APPEND(*tail, ethernet_info(s));
    }
}

UbEthernetInfoList *qmp_query_ub_ethernet(Error **errp)
{
    UbEthernetInfoList *list = NULL, **tail = &list;

    ubc_pci_foreach(add_ethernet, &tail);
    return list;
}

static void counts_text(GString *buf, const char *what, const UbcCounterList *c)
{
    for (; c; c = c->next) {
        g_string_append_printf(buf, "  %s%s %" PRIu64 "\n", what,
                               c->value->name, c->value->value);
    }
}

void ubc_pci_ethernet_text(UbcPci *s, GString *buf)
{
    UbEthernetInfo *e;

    if (!ubc_ethernet(s->ubc)) {
        return;
    }
    e = ethernet_info(s);
    g_string_append_printf(buf, "%s port %u: Ethernet %s, %s, MTU %u\n",
                           e->device, e->port, e->link_up ? "up" : "down",
                           e->mac, e->mtu);
    for (UbEthernetNeighbourList *l = e->neighbours; l; l = l->next) {
        const UbEthernetNeighbour *n = l->value;

        g_string_append_printf(buf, "  %s at %s, VLAN %u, %u packets wait\n",
                               n->address, n->mac ?: "?", n->vlan, n->waiting);
    }
    counts_text(buf, "", e->counters);
    counts_text(buf, "network ", e->network);
    counts_text(buf, "fault in: ", e->faults_in);
    counts_text(buf, "fault out: ", e->faults_out);
    qapi_free_UbEthernetInfo(e);
}
