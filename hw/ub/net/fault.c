/*
 * Faults injected into packets of the ports: what leaves, what comes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/fault.h"
#include "internal.h"

/* Longer packets are only lost or let go. */
#define FAULT_MAX 16384

/* What a packet has beside its bytes, in front of them. */
typedef struct Around {
    uint8_t port, vl, cfg, rt, error;
} Around;

struct NetFault {
    UbNetFault set;
    CoreFault core;
    NetFaultSink *sink;
    CorePacketPool *pool;
    uint8_t scratch[sizeof(Around) + FAULT_MAX];
};

typedef struct Passing {
    UbNet *net;
    NetFault *fault;
    int64_t now;
} Passing;

static void let_go(void *opaque, const uint8_t *data, size_t len)
{
    Passing *p = opaque;
    Around a;
    CorePacket *pkt = core_packet_alloc(p->fault->pool, len - sizeof(a));

    if (pkt) {
        memcpy(&a, data, sizeof(a));
        memcpy(core_packet_data(pkt), data + sizeof(a), len - sizeof(a));
        ub_meta(pkt)->lph_cfg = a.cfg;
        ub_meta(pkt)->vl = a.vl;
        ub_meta(pkt)->rt = a.rt;
        ub_meta(pkt)->error = a.error;
        p->fault->sink(p->net, p->now, a.port, a.vl, pkt);
    }
}

static unsigned held_of(const NetFault *f, unsigned port)
{
    unsigned n = 0;

    for (unsigned i = 0; f && f->core.held && i < CORE_FAULT_HELD; i++) {
        const CoreFaultHeld *h = &f->core.hold[i];

        n += h->used && ((const Around *)h->data)->port == port;
    }
    return n;
}

static void count_held(UbNet *net, const NetFault *f, UbNetCounter why)
{
    for (unsigned port = 0; port < net->conf.ports; port++) {
        net->port[port].count[why] += held_of(f, port);
    }
}

void net_fault_free(UbNet *net)
{
    for (unsigned out = 0; out < 2; out++) {
        NetFault *f = net->fault[out];

        if (f) {
            core_fault_free(&f->core);
            core_packet_pool_free(f->pool);
            g_clear_pointer(&net->fault[out], g_free);
        }
    }
}

void net_fault_drop(UbNet *net)
{
    for (unsigned out = 0; out < 2; out++) {
        if (net->fault[out]) {
            count_held(net, net->fault[out], UB_NET_DROP_FLUSHED);
            core_fault_drop(&net->fault[out]->core);
        }
    }
}

void net_fault_set(UbNet *net, bool out, const UbNetFault *set,
                   NetFaultSink *sink)
{
    NetFault *f = net->fault[out];

    if (!f) {
        if (!core_fault_plan_on(&set->plan)) {
            return;
        }
        f = net->fault[out] = g_new0(NetFault, 1);
        f->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
        f->sink = sink;
    }
    count_held(net, f, UB_NET_DROP_FAULT);
    f->set = *set;
    core_fault_set(&f->core, &set->plan, sizeof(f->scratch));
    memset(f->core.done, 0, sizeof(f->core.done));
}

uint32_t net_fault_held(const UbNet *net, unsigned port)
{
    return held_of(net->fault[0], port) + held_of(net->fault[1], port);
}

bool ub_net_fault(const UbNet *net, bool out, UbNetFault *set,
                  uint64_t done[CORE_FAULT_NUM])
{
    const NetFault *f = net->fault[out];

    if (f) {
        *set = f->set;
        memcpy(done, f->core.done, sizeof(f->core.done));
    }
    return f && f->core.on;
}

static bool concerns(const NetFault *f, CorePacket *pkt)
{
    const unsigned cfg = ub_meta(pkt)->lph_cfg;

    return f->core.on && (!f->set.cfgs || f->set.cfgs >> cfg & 1) &&
           (!f->set.match || f->set.match(f->set.opaque, cfg,
                                          core_packet_data(pkt), pkt->len));
}

bool net_fault_takes(UbNet *net, bool out, int64_t now, unsigned port,
                     unsigned vl, CorePacket *pkt)
{
    NetFault *f = net->fault[out];
    const UbPktMeta *m = ub_meta(pkt);
    Passing p;
    Around a;
    uint64_t lost;

    if (!f || pkt->len > FAULT_MAX || !concerns(f, pkt)) {
        return false;
    }
    p = (Passing) { net, f, now };
    a = (Around) { port, vl, m->lph_cfg, m->rt, m->error };
    lost = f->core.done[CORE_FAULT_DROP];
    memcpy(f->scratch, &a, sizeof(a));
    memcpy(f->scratch + sizeof(a), core_packet_data(pkt), pkt->len);
    core_fault_pass(&f->core, f->scratch, sizeof(a) + pkt->len, sizeof(a),
                    now, let_go, &p);
    if (f->core.done[CORE_FAULT_DROP] != lost) {
        net_count(net, port, UB_NET_DROP_FAULT);
    }
    core_packet_free(pkt);
    return true;
}

int64_t net_fault_run(UbNet *net, bool out, int64_t now)
{
    NetFault *f = net->fault[out];
    Passing p = { net, f, now };

    return f ? core_fault_timers(&f->core, now, let_go, &p) : INT64_MAX;
}
