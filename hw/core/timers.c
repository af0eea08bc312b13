/*
 * A heap of deadlines.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/timers.h"

static void timer_put(CoreTimers *t, uint32_t i, CoreTimer *x)
{
    t->heap[i] = x;
    x->place = i + 1;
}

static void timer_up(CoreTimers *t, uint32_t i)
{
    CoreTimer *x = t->heap[i];

    while (i > 0 && t->heap[(i - 1) / 2]->key > x->key) {
        timer_put(t, i, t->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    timer_put(t, i, x);
}

static void timer_down(CoreTimers *t, uint32_t i)
{
    CoreTimer *x = t->heap[i];

    for (;;) {
        uint32_t c = 2 * i + 1;

        if (c >= t->len) {
            break;
        }
        if (c + 1 < t->len && t->heap[c + 1]->key < t->heap[c]->key) {
            c++;
        }
        if (t->heap[c]->key >= x->key) {
            break;
        }
        timer_put(t, i, t->heap[c]);
        i = c;
    }
    timer_put(t, i, x);
}

void core_timers_free(CoreTimers *t)
{
    g_clear_pointer(&t->heap, g_free);
    t->len = t->room = 0;
}

void core_timer_cancel(CoreTimers *t, CoreTimer *x)
{
    uint32_t i = x->place - 1;

    if (!x->place) {
        return;
    }
    x->place = 0;
    if (i != --t->len) {
        timer_put(t, i, t->heap[t->len]);
        timer_down(t, i);
        timer_up(t, i);
    }
}

void core_timer_set(CoreTimers *t, CoreTimer *x, int64_t at)
{
    x->at = at;
    if (x->place) {
        if (at < x->key) {
            x->key = at;
            timer_up(t, x->place - 1);
        }
        return;
    }
    if (at == CORE_NEVER) {
        return;
    }
    if (t->len == t->room) {
        t->room = MAX(64, 2 * t->room);
        t->heap = g_renew(CoreTimer *, t->heap, t->room);
    }
    x->key = at;
    timer_put(t, t->len, x);
    timer_up(t, t->len++);
}

CoreTimer *core_timers_expired(CoreTimers *t, int64_t now)
{
    while (t->len && t->heap[0]->key <= now) {
        CoreTimer *x = t->heap[0];

        if (x->at <= now) {
            core_timer_cancel(t, x);
            return x;
        }
        if (x->at == CORE_NEVER) {
            core_timer_cancel(t, x);
        } else {
            x->key = x->at;
            timer_down(t, 0);
        }
    }
    return NULL;
}
