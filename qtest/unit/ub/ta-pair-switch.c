/*
 * A switch between the nodes: the network layer of each, and one that forwards. Both
 * links of a way lose, double and delay as the script says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"
#include "ub/net.h"

/* Where a packet on a wire arrives. */
enum { HOP_NONE, HOP_SWITCH, HOP_END };

struct PairSwitch {
    UbNet *net;                         /* that of the switch */
    UbNet *end[PAIR_MAX];
    int64_t last_due[2][PAIR_MAX];      /* of links: up, down */
};

/* ---- links ---- */

static bool link_room(void *opaque, unsigned port, unsigned vl)
{
    return true;
}

static void link_kick(void *opaque)
{
}

static void on_link(Pair *p, unsigned hop, unsigned end, CorePacket *pkt)
{
    Wire *w = g_new0(Wire, 1);
    bool spray = ub_meta(pkt)->rt & 1;

    w->hop = hop;
    w->from = w->to = end;
    w->due = p->now + p->delay;
    if (p->jitter) {
        w->due += core_random(&p->rng) % p->jitter;
    }
    w->pkt = pair_copy(p, pkt);
    core_packet_free(pkt);
    pair_wire(p, &p->sw->last_due[hop == HOP_END][end], w, spray);
}

static bool end_send(void *opaque, unsigned port, CorePacket *pkt)
{
    End *e = opaque;

    on_link(e->p, HOP_SWITCH, e->index, pkt);
    return true;
}

static bool switch_send(void *opaque, unsigned port, CorePacket *pkt)
{
    on_link(opaque, HOP_END, port, pkt);
    return true;
}

static const UbNetOps end_links = { .room = link_room, .send = end_send,
                                    .kick = link_kick };
static const UbNetOps switch_links = { .room = link_room, .send = switch_send,
                                       .kick = link_kick };

/* ---- above ---- */

static void up(void *opaque, int64_t now, CorePacket *pkt, const UbFlow *flow)
{
    End *e = opaque;

    ub_ta_time(e->ta, now);
    ub_tp_rx(e->tp, flow, pkt, now);
}

static const UbNetUpper upper = { .rx = up };

UbSend pair_switch_send(End *e, const UbFlow *flow, CorePacket *pkt)
{
    return ub_net_send(e->p->sw->end[e->index], e->p->now, flow, pkt);
}

void pair_switch_deliver(Pair *p, Wire *w)
{
    if (w->hop == HOP_SWITCH) {
        ub_net_rx(p->sw->net, p->now, w->from, w->pkt);
    } else {
        ub_net_rx(p->sw->end[w->to], p->now, 0, w->pkt);
    }
    g_free(w);
}

/* ---- life ---- */

static UbNet *net_new(unsigned ports, const UbNetOps *links, void *opaque)
{
    UbNetConfig conf;
    UbNet *net;

    ub_net_config_init(&conf);
    conf.ports = ports;
    conf.npi_mode = UB_NPI_OPEN;
    if (links == &switch_links) {
        conf.forward = true;
        conf.route_entries = 16;
        conf.route_default = 0;
        conf.npic = false;
    }
    net = ub_net_new(&conf, links, opaque);
    g_assert_nonnull(net);
    for (unsigned i = 0; i < ports; i++) {
        ub_net_port_state(net, 0, i, 0xffff);
    }
    return net;
}

void pair_switch_new(Pair *p)
{
    PairSwitch *sw = g_new0(PairSwitch, 1);

    p->sw = sw;
    sw->net = net_new(p->n, &switch_links, p);
    for (unsigned i = 0; i < p->n; i++) {
        uint8_t ip[16] = { [3] = i + 1 };

        sw->end[i] = net_new(1, &end_links, &p->end[i]);
        ub_net_set_primary(sw->end[i], i + 1);
        g_assert_true(ub_net_ip_add(sw->end[i], UB_LPH_IPV4, ip));
        ub_net_set_upper(sw->end[i], UB_NET_TP, &upper, &p->end[i]);
        ub_net_set_upper(sw->end[i], UB_NET_TA, &upper, &p->end[i]);
        g_assert_true(ub_net_route_set(sw->net, i + 1, 1u << i));
        g_assert_true(ub_net_ip_route(sw->net, UB_LPH_IPV4, ip, 32, 1u << i));
    }
}

void pair_switch_free(Pair *p)
{
    if (p->sw) {
        for (unsigned i = 0; i < p->n; i++) {
            ub_net_free(p->sw->end[i]);
        }
        ub_net_free(p->sw->net);
        g_free(p->sw);
    }
}

uint64_t pair_switch_count(const Pair *p, unsigned counter)
{
    return ub_net_total(p->sw->net, counter);
}
