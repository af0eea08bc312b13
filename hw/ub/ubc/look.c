/*
 * Processors that poll.
 *
 * A program that does nothing else looks every few microseconds.  One that has other things
 * to do, or waits for a word in its memory, does not, and who depends on it would wait for
 * it: so it takes many looks in a row, and few late ones end it.  One late look does not, or
 * each tick of the guest's clock would.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "look.h"

/* A late look takes back this part of those that it needs. */
#define LATE 4

static void switch_to(UbcLook *l, bool on)
{
    __atomic_store_n(&l->on, on, __ATOMIC_SEQ_CST);
    /* What rang before this is seen after it, or sees it. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool ubc_look_begin(UbcLook *l, int64_t now)
{
    uint32_t late = MAX(l->conf.looks / LATE, 1);

    l->looks++;
    if (now - l->last < l->conf.pause) {
        l->row = MIN(l->row + 1, l->conf.looks);
    } else {
        l->row -= MIN(l->row, late);
    }
    if (l->on && !l->row) {
        switch_to(l, false);
    }
    if (l->on || !l->conf.looks || l->row < l->conf.looks) {
        return false;
    }
    switch_to(l, true);
    l->begun++;
    return true;
}

void ubc_look_end(UbcLook *l, int64_t now)
{
    l->last = now;
}

int64_t ubc_look_watch(UbcLook *l, int64_t now)
{
    if (now - l->last < l->conf.time) {
        return l->last + l->conf.time;
    }
    switch_to(l, false);
    return 0;
}

bool ubc_look_on(const UbcLook *l)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&l->on, __ATOMIC_RELAXED);
}
