/*
 * Egress queues: one for each VL of each port, for what the port does not take
 * at once (UB 2.0 §5.3.4, §5.3.6).
 *
 * VLs that are strict go first, higher ones before lower ones; the others share
 * by weight (deficit round robin).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

/* Bytes of a turn of weight 1. */
#define QUANTUM 2048u

void net_queues_init(NetPort *p)
{
    for (unsigned vl = 0; vl < UB_NET_VLS; vl++) {
        p->queue[vl].tail = &p->queue[vl].head;
    }
}

unsigned net_queue_vl(const UbNet *net, unsigned port, unsigned vl)
{
    return net->port[port].vls >> (vl & 15) & 1 ? vl & 15 : 0;
}

uint32_t ub_net_queued(const UbNet *net, unsigned port, unsigned vl)
{
    return net->port[port].queue[vl].bytes;
}

bool net_queue_room(UbNet *net, unsigned port, unsigned vl)
{
    NetQueue *q = &net->port[port].queue[vl];

    if (q->bytes < net->conf.queue_limit) {
        return true;
    }
    q->refused = true;
    net_count(net, port, UB_NET_BUSY);
    return false;
}

void net_tell_room(UbNet *net, int64_t now, unsigned port, unsigned vl)
{
    for (unsigned i = 0; i < UB_NET_UPPERS; i++) {
        if (net->upper[i].ops && net->upper[i].ops->room) {
            net->upper[i].ops->room(net->upper[i].opaque, now, port, vl);
        }
    }
}

/* Who was told UB_BUSY may come again. */
static void tell_room(UbNet *net, int64_t now, unsigned port, unsigned vl)
{
    NetQueue *q = &net->port[port].queue[vl];

    if (!q->refused || q->bytes > net->conf.queue_limit / 2) {
        return;
    }
    q->refused = false;
    net_tell_room(net, now, port, vl);
}

static void send_now(UbNet *net, unsigned port, unsigned vl, CorePacket *pkt)
{
    uint32_t len = pkt->len;

    ub_meta(pkt)->vl = vl;
    if (net->ops.send(net->opaque, port, pkt)) {
        net_count(net, port, UB_NET_TX_PACKETS);
        net->port[port].count[UB_NET_TX_BYTES] += len;
    } else {
        net_drop(net, port, UB_NET_DROP_REFUSED, pkt);
    }
}

static void append(UbNet *net, unsigned port, unsigned vl, CorePacket *pkt)
{
    NetPort *p = &net->port[port];
    NetQueue *q = &p->queue[vl];

    pkt->next = NULL;
    *q->tail = pkt;
    q->tail = &pkt->next;
    q->bytes += pkt->len;
    p->queued |= 1u << vl;
    net->busy |= UINT64_C(1) << port;
}

static CorePacket *take_head(UbNet *net, unsigned port, unsigned vl)
{
    NetPort *p = &net->port[port];
    NetQueue *q = &p->queue[vl];
    CorePacket *pkt = q->head;

    q->head = pkt->next;
    q->bytes -= pkt->len;
    pkt->next = NULL;
    if (!q->head) {
        q->tail = &q->head;
        q->deficit = 0;
        p->queued &= ~(1u << vl);
        if (!p->queued) {
            net->busy &= ~(UINT64_C(1) << port);
        }
    }
    return pkt;
}

void net_queue_put(UbNet *net, int64_t now, unsigned port, unsigned vl,
                   CorePacket *pkt)
{
    NetQueue *q = &net->port[port].queue[vl];

    if (!q->head && net->ops.room(net->opaque, port, vl)) {
        send_now(net, port, vl, pkt);
        return;
    }
    if (!q->head) {
        q->served = now;
        if (net->conf.watchdog) {
            net_kick(net);
        }
    }
    append(net, port, vl, pkt);
}

/* Queues with a head that the port takes now. */
static uint32_t eligible(UbNet *net, unsigned port)
{
    uint32_t vls = 0;

    for (uint32_t left = net->port[port].queued; left; left &= left - 1) {
        unsigned vl = __builtin_ctz(left);

        if (net->ops.room(net->opaque, port, vl)) {
            vls |= 1u << vl;
        }
    }
    return vls;
}

/* Whose turn it is of @vls, which is not 0. */
static unsigned pick(UbNet *net, NetPort *p, uint32_t vls)
{
    uint32_t strict = vls & net->conf.vl_strict;

    if (strict) {
        return 31 - __builtin_clz(strict);
    }
    for (;; p->turn = (p->turn + 1) % UB_NET_VLS) {
        NetQueue *q = &p->queue[p->turn];
        uint32_t weight = net->conf.vl_weight[p->turn];

        if (!(vls >> p->turn & 1)) {
            continue;
        }
        if (q->deficit >= q->head->len) {
            q->deficit -= q->head->len;
            return p->turn;
        }
        q->deficit += MAX(weight, 1) * QUANTUM;
    }
}

unsigned net_queue_drain(UbNet *net, int64_t now, unsigned port,
                         unsigned budget)
{
    NetPort *p = &net->port[port];
    uint32_t vls = 0, served = 0;

    while (budget && (vls = eligible(net, port))) {
        unsigned vl = pick(net, p, vls);

        p->queue[vl].served = now;
        served |= 1u << vl;
        send_now(net, port, vl, take_head(net, port, vl));
        budget--;
    }
    for (; served; served &= served - 1) {
        tell_room(net, now, port, __builtin_ctz(served));
    }
    return budget;
}

uint32_t net_queue_packets(const UbNet *net, unsigned port)
{
    uint32_t n = 0;

    for (uint32_t left = net->port[port].queued; left; left &= left - 1) {
        const CorePacket *pkt = net->port[port].queue[__builtin_ctz(left)].head;

        for (; pkt; pkt = pkt->next) {
            n++;
        }
    }
    return n;
}

static void flush_queue(UbNet *net, int64_t now, unsigned port, unsigned vl,
                        UbNetCounter why)
{
    while (net->port[port].queue[vl].head) {
        net_drop(net, port, why, take_head(net, port, vl));
    }
    tell_room(net, now, port, vl);
}

void net_queue_flush(UbNet *net, int64_t now, unsigned port, UbNetCounter why)
{
    for (uint32_t left = net->port[port].queued; left; left &= left - 1) {
        flush_queue(net, now, port, __builtin_ctz(left), why);
    }
}

int64_t net_queue_watch(UbNet *net, int64_t now)
{
    int64_t next = INT64_MAX;

    if (!net->conf.watchdog) {
        return next;
    }
    for (uint64_t ports = net->busy; ports; ports &= ports - 1) {
        unsigned port = __builtin_ctzll(ports);

        for (uint32_t left = net->port[port].queued; left; left &= left - 1) {
            unsigned vl = __builtin_ctz(left);
            int64_t due = net->port[port].queue[vl].served + net->conf.watchdog;

            if (due <= now) {
                flush_queue(net, now, port, vl, UB_NET_DROP_WATCHDOG);
            } else {
                next = MIN(next, due);
            }
        }
    }
    return next;
}
