/*
 * Faults on the wire.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* splitmix64: tiny, and the same everywhere. */
static uint64_t rng_next(uint64_t *s)
{
    uint64_t z = *s += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static FaultState *side(RdmaDev *dev, bool out)
{
    return out ? &dev->fault_out : &dev->fault_in;
}

void fault_reset(FaultState *f)
{
    g_free(f->hold);
    f->hold = NULL;
    f->held = 0;
}

void rdma_fault_set(RdmaDev *dev, bool out, const RdmaFault *set)
{
    FaultState *f = side(dev, out);

    fault_reset(f);
    f->set = *set;
    f->set.reorder_depth = CLAMP(set->reorder_depth ? set->reorder_depth : 4,
                                 1, FAULT_HELD);
    f->rng = set->seed;
    f->count = 0;
    f->on = set->nth && set->nth_action != RDMA_FAULT_NONE;
    for (int i = RDMA_FAULT_DROP; i < RDMA_FAULT_NUM; i++) {
        f->on |= set->ppm[i] != 0;
    }
    if (f->on) {
        f->hold = g_new0(HeldFrame, FAULT_HELD);
    }
}

void rdma_fault_get(RdmaDev *dev, bool out, RdmaFault *set)
{
    *set = side(dev, out)->set;
}

static RdmaFaultAction decide(FaultState *f)
{
    const RdmaFault *s = &f->set;
    uint64_t n = ++f->count;
    uint32_t dice = rng_next(&f->rng) % 1000000;

    if (s->nth && (n == s->nth || (s->every && n > s->nth &&
                                   (n - s->nth) % s->every == 0))) {
        return s->nth_action;
    }
    for (int i = RDMA_FAULT_DROP; i < RDMA_FAULT_NUM; i++) {
        if (dice < s->ppm[i]) {
            return i;
        }
        dice -= s->ppm[i];
    }
    return RDMA_FAULT_NONE;
}

/* False: no room, the frame goes on at once. */
static bool hold(FaultState *f, const uint8_t *frame, size_t len, int64_t at,
                 uint32_t after)
{
    if (len > FRAME_MAX) {
        return false;
    }
    for (int i = 0; i < FAULT_HELD; i++) {
        HeldFrame *h = &f->hold[i];

        if (!h->used) {
            h->used = true;
            h->at = at;
            h->after = after;
            h->len = len;
            h->order = f->order++;
            memcpy(h->data, frame, len);
            f->held++;
            return true;
        }
    }
    return false;
}

static HeldFrame *oldest_due(RdmaDev *dev, FaultState *f)
{
    HeldFrame *best = NULL;

    for (int i = 0; f->held && i < FAULT_HELD; i++) {
        HeldFrame *h = &f->hold[i];

        if (h->used && (h->at <= dev->now || !h->after) &&
            (!best || h->order < best->order)) {
            best = h;
        }
    }
    return best;
}

static void release_due(RdmaDev *dev, FaultState *f, FaultSink *sink)
{
    HeldFrame *h;

    while ((h = oldest_due(dev, f))) {
        sink(dev, h->data, h->len);
        h->used = false;
        f->held--;
    }
}

void fault_pass(RdmaDev *dev, FaultState *f, const uint8_t *frame,
                size_t len, FaultSink *sink)
{
    /* A frame held back waits for others, but not for ever. */
    enum { REORDER_MAX_NS = 1000000 };
    RdmaCounters *c = &dev->cnt;
    uint8_t copy[FRAME_MAX];

    switch (decide(f)) {
    case RDMA_FAULT_DROP:
        c->fault_drop++;
        return;
    case RDMA_FAULT_DUPLICATE:
        if (len <= FRAME_MAX) {
            memcpy(copy, frame, len);
            c->fault_duplicate++;
            sink(dev, frame, len);
            frame = copy;
        }
        break;
    case RDMA_FAULT_REORDER:
        if (hold(f, frame, len, dev->now + REORDER_MAX_NS,
                 f->set.reorder_depth)) {
            c->fault_reorder++;
            return;
        }
        break;
    case RDMA_FAULT_DELAY:
        if (hold(f, frame, len, dev->now + f->set.delay_us * INT64_C(1000),
                 UINT32_MAX)) {
            c->fault_delay++;
            return;
        }
        break;
    case RDMA_FAULT_CORRUPT:
        if (len <= FRAME_MAX && len > ROCE_ETH_BYTES) {
            uint64_t bit = rng_next(&f->rng) % ((len - ROCE_ETH_BYTES) * 8);

            memcpy(copy, frame, len);
            copy[ROCE_ETH_BYTES + bit / 8] ^= 1 << (bit & 7);
            c->fault_corrupt++;
            frame = copy;
        }
        break;
    default:
        break;
    }
    sink(dev, frame, len);
    for (int i = 0; f->held && i < FAULT_HELD; i++) {
        HeldFrame *h = &f->hold[i];

        if (h->used && h->after != UINT32_MAX && h->after) {
            h->after--;
        }
    }
    release_due(dev, f, sink);
}

int64_t fault_timers(RdmaDev *dev, FaultState *f, FaultSink *sink)
{
    int64_t next = NEVER;

    if (!f->held) {
        return NEVER;
    }
    release_due(dev, f, sink);
    for (int i = 0; i < FAULT_HELD; i++) {
        if (f->hold[i].used) {
            next = MIN(next, f->hold[i].at);
        }
    }
    return next;
}

void rdma_link_set(RdmaDev *dev, bool up)
{
    if (dev->port.link_up == up) {
        return;
    }
    dev->port.link_up = up;
    dev->path_gen++;
    if (up) {
        net_announce(dev);
        if (dev_ops(dev)->kick) {
            dev_ops(dev)->kick(dev->cfg.ops_opaque);
        }
    }
}
