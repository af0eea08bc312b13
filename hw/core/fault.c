/*
 * Faults injected into a stream of byte strings.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/fault.h"
#include "core/random.h"

void core_fault_drop(CoreFault *f)
{
    for (int i = 0; f->held && i < CORE_FAULT_HELD; i++) {
        f->hold[i].used = false;
    }
    f->done[CORE_FAULT_DROP] += f->held;
    f->held = 0;
}

void core_fault_free(CoreFault *f)
{
    core_fault_drop(f);
    for (int i = 0; f->hold && i < CORE_FAULT_HELD; i++) {
        g_free(f->hold[i].data);
    }
    g_clear_pointer(&f->hold, g_free);
    f->on = false;
}

bool core_fault_plan_on(const CoreFaultPlan *plan)
{
    bool on = plan->nth && plan->nth_action != CORE_FAULT_NONE;

    for (int i = CORE_FAULT_DROP; i < CORE_FAULT_NUM; i++) {
        on |= plan->ppm[i] != 0;
    }
    return on;
}

void core_fault_set(CoreFault *f, const CoreFaultPlan *plan, size_t max_len)
{
    core_fault_free(f);
    f->plan = *plan;
    f->plan.reorder_depth = CLAMP(plan->reorder_depth ? plan->reorder_depth
                                                      : 4,
                                  1, CORE_FAULT_HELD);
    f->max_len = max_len;
    f->rng = plan->seed;
    f->count = 0;
    f->on = core_fault_plan_on(plan);
    if (f->on) {
        f->hold = g_new0(CoreFaultHeld, CORE_FAULT_HELD);
    }
}

static CoreFaultAction fault_decide(CoreFault *f)
{
    const CoreFaultPlan *p = &f->plan;
    uint64_t n = ++f->count;
    uint32_t dice = core_random(&f->rng) % 1000000;

    if (p->nth && (n == p->nth || (p->every && n > p->nth &&
                                   (n - p->nth) % p->every == 0))) {
        return p->nth_action;
    }
    for (int i = CORE_FAULT_DROP; i < CORE_FAULT_NUM; i++) {
        if (dice < p->ppm[i]) {
            return i;
        }
        dice -= p->ppm[i];
    }
    return CORE_FAULT_NONE;
}

/* False: no room, the string goes on at once. */
static bool fault_hold(CoreFault *f, const uint8_t *data, size_t len,
                       int64_t at, uint32_t after)
{
    for (int i = 0; i < CORE_FAULT_HELD; i++) {
        CoreFaultHeld *h = &f->hold[i];

        if (!h->used) {
            if (!h->data) {
                h->data = g_malloc(f->max_len);
            }
            h->used = true;
            h->at = at;
            h->after = after;
            h->len = len;
            h->order = f->order++;
            memcpy(h->data, data, len);
            f->held++;
            return true;
        }
    }
    return false;
}

static CoreFaultHeld *fault_oldest_due(CoreFault *f, int64_t now)
{
    CoreFaultHeld *best = NULL;

    for (int i = 0; f->held && i < CORE_FAULT_HELD; i++) {
        CoreFaultHeld *h = &f->hold[i];

        if (h->used && (h->at <= now || !h->after) &&
            (!best || h->order < best->order)) {
            best = h;
        }
    }
    return best;
}

static void fault_release(CoreFault *f, int64_t now, CoreFaultSink *sink,
                          void *opaque)
{
    CoreFaultHeld *h;

    while ((h = fault_oldest_due(f, now))) {
        sink(opaque, h->data, h->len);
        h->used = false;
        f->held--;
    }
}

void core_fault_pass(CoreFault *f, const uint8_t *data, size_t len,
                     size_t keep, int64_t now, CoreFaultSink *sink,
                     void *opaque)
{
    /* What is held back waits for others, but not for ever. */
    enum { REORDER_MAX_NS = 1000000 };
    g_autofree uint8_t *copy = NULL;
    CoreFaultAction action;

    if (!f->on) {
        sink(opaque, data, len);
        return;
    }
    action = fault_decide(f);
    if (action != CORE_FAULT_DROP && len > f->max_len) {
        action = CORE_FAULT_NONE;
    }
    switch (action) {
    case CORE_FAULT_DROP:
        f->done[action]++;
        return;
    case CORE_FAULT_DUPLICATE:
        f->done[action]++;
        /* The sink may use up what it is given. */
        copy = g_memdup2(data, len);
        sink(opaque, data, len);
        data = copy;
        break;
    case CORE_FAULT_REORDER:
        if (fault_hold(f, data, len, now + REORDER_MAX_NS,
                       f->plan.reorder_depth)) {
            f->done[action]++;
            return;
        }
        break;
    case CORE_FAULT_DELAY:
        if (fault_hold(f, data, len, now + f->plan.delay_us * INT64_C(1000),
                       UINT32_MAX)) {
            f->done[action]++;
            return;
        }
        break;
    case CORE_FAULT_CORRUPT:
        if (len > keep) {
            uint64_t bit = core_random(&f->rng) % ((len - keep) * 8);

            f->done[action]++;
            copy = g_memdup2(data, len);
            copy[keep + bit / 8] ^= 1 << (bit & 7);
            data = copy;
        }
        break;
    default:
        break;
    }
    sink(opaque, data, len);
    for (int i = 0; f->held && i < CORE_FAULT_HELD; i++) {
        CoreFaultHeld *h = &f->hold[i];

        if (h->used && h->after != UINT32_MAX && h->after) {
            h->after--;
        }
    }
    fault_release(f, now, sink, opaque);
}

int64_t core_fault_timers(CoreFault *f, int64_t now, CoreFaultSink *sink,
                          void *opaque)
{
    int64_t next = INT64_MAX;

    if (!f->held) {
        return next;
    }
    fault_release(f, now, sink, opaque);
    for (int i = 0; f->held && i < CORE_FAULT_HELD; i++) {
        if (f->hold[i].used) {
            next = MIN(next, f->hold[i].at);
        }
    }
    return next;
}
