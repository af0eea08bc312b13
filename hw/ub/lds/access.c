/*
 * Load and store: loads and stores of processors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* All ones of a load's length come of themselves: who loads takes @len bytes. */
static bool load_failed(UbLds *l, unsigned event, uint64_t pa, uint64_t *value)
{
    lds_failed(l, event, pa, false, UB_TAS_OK);
    *value = UINT64_MAX;
    return true;
}

/* The base that is taken from addresses may be odd: then what is aligned in the window
 * is not in what is behind it, and would reach into the next line, page, MiB. */
static bool straddles(uint64_t pa, unsigned len)
{
    return pa % len;
}

/* 0: the load goes to @to. */
static unsigned load_check(UbLds *l, uint64_t pa, unsigned len, UbLdsWait *w,
                           LdsTarget *to)
{
    unsigned event = straddles(pa, len) ? UB_LDS_EVENT_RANGE
                                        : lds_decode(l, pa, to);

    event = event ? event : lds_target_check(l, to);
    if (!event && (!w || !lds_room(l, LDS_LOAD))) {
        event = UB_LDS_EVENT_REFUSED;
    }
    return event;
}

/* Accesses are aligned; what is not would reach into the next MiB. */
static bool aligned(UbLds *l, uint64_t offset, unsigned len)
{
    return len && len <= 8 && !(len & (len - 1)) && !(offset % len) &&
           offset < l->cfg.window;
}

/* Who may wait: nobody while nothing may happen (without bus mastering). */
static UbLdsWait *who_waits(const UbLds *l, UbLdsWait *w)
{
    if (w) {
        w->ended = false;
        w->op = NULL;
    }
    return l->paused ? NULL : w;
}

bool ub_lds_load(UbLds *l, int64_t now, uint64_t offset, unsigned len,
                 UbLdsWait *w, uint64_t *value)
{
    uint64_t control = l->cfg.window - UB_LDS_CONTROL;
    uint64_t pa = lds_pa(l, offset);
    LdsTarget to;
    unsigned event;
    LdsOp *op;

    lds_clock(l, now);
    w = who_waits(l, w);
    if (!aligned(l, offset, len)) {
        return load_failed(l, UB_LDS_EVENT_RANGE, pa, value);
    }
    if (offset >= control) {
        return lds_control_load(l, offset - control, len, w, value);
    }
    l->counter[UB_LDS_LOADS_COUNT]++;
    lds_line_push(l);
    event = load_check(l, pa, len, w, &to);
    if (event) {
        return load_failed(l, event, pa, value);
    }
    op = lds_op_new(l, LDS_LOAD, &to, pa, UB_TA_READ, len, sizeof(uint64_t));
    op->wait = w;
    w->op = op;
    w->kind = LDS_WAIT_LOAD;
    lds_op_begin(l, op);
    *value = w->value;
    return w->ended;
}

static void store_put(UbLds *l, uint64_t pa, unsigned len, uint64_t value)
{
    uint8_t b[8];
    unsigned event;

    put_le64(b, value);
    event = straddles(pa, len) ? UB_LDS_EVENT_RANGE
                               : lds_line_put(l, pa, b, len);
    if (event) {
        lds_failed(l, event, pa, true, UB_TAS_OK);
    }
}

bool ub_lds_store_room(const UbLds *l)
{
    return lds_room(l, LDS_STORE);
}

bool ub_lds_store(UbLds *l, int64_t now, uint64_t offset, unsigned len,
                  uint64_t value, UbLdsWait *w)
{
    uint64_t control = l->cfg.window - UB_LDS_CONTROL;
    uint64_t pa = lds_pa(l, offset);

    lds_clock(l, now);
    w = who_waits(l, w);
    if (!aligned(l, offset, len)) {
        lds_failed(l, UB_LDS_EVENT_RANGE, pa, true, UB_TAS_OK);
    } else if (offset >= control) {
        lds_control_store(l, offset - control, len, value);
    } else if (lds_room(l, LDS_STORE)) {
        l->counter[UB_LDS_STORES_COUNT]++;
        store_put(l, pa, len, value);
    } else if (!w) {
        lds_failed(l, UB_LDS_EVENT_REFUSED, pa, true, UB_TAS_OK);
    } else {
        l->counter[UB_LDS_ROOM_WAITS_COUNT]++;
        w->pa = pa;
        w->len = len;
        w->data = value;
        lds_wait_add(l, w, LDS_WAIT_ROOM);
        return false;
    }
    return true;
}

/* ---- Those that wait -------------------------------------------------------------------- */

/* The store that waited for room. */
static void wait_store(UbLds *l, const UbLdsWait *w)
{
    l->counter[UB_LDS_STORES_COUNT]++;
    store_put(l, w->pa, w->len, w->data);
}

/* It waits for nothing any more: true, and it has ended. */
static bool wait_serve(UbLds *l, UbLdsWait *w)
{
    uint64_t value = 0;

    switch (w->kind) {
    case LDS_WAIT_ROOM:
        if (!lds_room(l, LDS_STORE)) {
            return false;
        }
        wait_store(l, w);
        break;
    case LDS_WAIT_FENCE:
        if (!lds_fenced(l, w->serial)) {
            return false;
        }
        value = lds_fence_value(l);
        break;
    default:
        value = l->slot[w->slot].status;
        if (value & UB_LDS_SLOT_BUSY) {
            return false;
        }
        break;
    }
    lds_wait_remove(l, w);
    lds_wait_end(l, w, value);
    return true;
}

void lds_waits_serve(UbLds *l)
{
    UbLdsWait *w, *next;

    while (l->stirred) {
        l->stirred = false;
        for (w = l->waits; w; w = next) {
            next = w->next;
            wait_serve(l, w);
        }
    }
}

void lds_wait_give_up(UbLds *l, UbLdsWait *w, unsigned event)
{
    if (w->kind == LDS_WAIT_LOAD) {
        lds_op_give_up(l, w->op, event);
        return;
    }
    if (event) {
        lds_failed(l, event, w->kind == LDS_WAIT_ROOM ? w->pa : 0,
                   w->kind == LDS_WAIT_ROOM, UB_TAS_OK);
    }
    lds_wait_remove(l, w);
    lds_wait_end(l, w, UINT64_MAX);
}

void ub_lds_cancel(UbLds *l, int64_t now, UbLdsWait *w)
{
    lds_clock(l, now);
    if (!w->ended) {
        lds_wait_give_up(l, w, UB_LDS_EVENT_STOPPED);
    }
}

bool ub_lds_store_anyway(UbLds *l, int64_t now, UbLdsWait *w)
{
    lds_clock(l, now);
    if (w->ended || w->kind != LDS_WAIT_ROOM ||
        l->of_kind[LDS_STORE] >= lds_stores_most(l)) {
        return false;
    }
    lds_wait_remove(l, w);
    wait_store(l, w);
    lds_wait_end(l, w, 0);
    return true;
}

void ub_lds_withdraw(UbLds *l, int64_t now, UbLdsWait *w)
{
    lds_clock(l, now);
    if (!w->ended) {
        l->counter[UB_LDS_WITHDRAWN_COUNT]++;
        lds_wait_give_up(l, w, 0);
    }
}

void ub_lds_cancel_all(UbLds *l, int64_t now)
{
    LdsOp *op, *next;

    lds_clock(l, now);
    for (op = l->first; op; op = next) {
        next = op->next;
        if (op->wait) {
            lds_op_give_up(l, op, UB_LDS_EVENT_STOPPED);
        }
    }
    while (l->waits) {
        lds_wait_give_up(l, l->waits, UB_LDS_EVENT_STOPPED);
    }
}
