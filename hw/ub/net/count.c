/*
 * The network layer's counters and errors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

const char *ub_net_counter_name(unsigned counter)
{
    static const char *const names[] = {
#define UB_NET_X(id, name) name,
        UB_NET_COUNTERS(UB_NET_X)
#undef UB_NET_X
    };

    return counter < UB_NET_COUNTERS_NUM ? names[counter] : NULL;
}

uint64_t ub_net_counter(const UbNet *net, unsigned port, UbNetCounter counter)
{
    return net->port[port].count[counter];
}

uint64_t ub_net_total(const UbNet *net, UbNetCounter counter)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < net->conf.ports; i++) {
        sum += net->port[i].count[counter];
    }
    return sum;
}

void net_drop(UbNet *net, unsigned port, UbNetCounter why, CorePacket *pkt)
{
    net_count(net, port, why);
    core_packet_free(pkt);
}

void net_drop_rule(UbNet *net, unsigned port, bool own, UbNetCounter why,
                   CorePacket *pkt, const char *rule)
{
    if (net->ops.rule) {
        net->ops.rule(net->opaque, port, own, rule);
    }
    net_drop(net, port, why, pkt);
}

void net_error(UbNet *net, unsigned port, UbNetError error, CorePacket *pkt)
{
    if (net->ops.error) {
        net->ops.error(net->opaque, port, error, pkt);
    }
}

void net_kick(UbNet *net)
{
    if (!net->running) {
        net->ops.kick(net->opaque);
    }
}
