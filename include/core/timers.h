/*
 * Timers of many objects: a heap of deadlines.
 *
 * A timer lies in its owner's object.  Putting one off, which every
 * acknowledgement does, only changes the field in it; the heap keeps the
 * earlier key and corrects it when it comes up.  A deadline may therefore be
 * told too early, never too late.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_TIMERS_H
#define CORE_TIMERS_H

#include <stdint.h>

#define CORE_NEVER INT64_MAX

/* Zeroed: a timer that is not set. */
typedef struct CoreTimer {
    int64_t at;         /* when it is due, if it is in the heap */
    int64_t key;        /* what the heap is ordered by, <= @at */
    uint32_t place;     /* in the heap, from 1; 0 = not in it */
} CoreTimer;

/* Zeroed: no timers. */
typedef struct CoreTimers {
    CoreTimer **heap;
    uint32_t len, room;
} CoreTimers;

/* Give the heap up; timers in it must not be used any more. */
void core_timers_free(CoreTimers *t);
/* @x is due at @at from now on; CORE_NEVER: not any more. */
void core_timer_set(CoreTimers *t, CoreTimer *x, int64_t at);
/* Take @x out, before its owner goes away. */
void core_timer_cancel(CoreTimers *t, CoreTimer *x);
/* Take out one that is due at @now, the earliest, or NULL. */
CoreTimer *core_timers_expired(CoreTimers *t, int64_t now);

/* When core_timers_expired() is to be called again at the latest. */
static inline int64_t core_timers_deadline(const CoreTimers *t)
{
    return t->len ? t->heap[0]->key : CORE_NEVER;
}

#endif
