/*
 * Faults injected into a stream of byte strings (frames, packets), for tests of
 * what must survive a bad wire.
 *
 * Rates are in parts per million of the strings.  @nth addresses single ones:
 * those since core_fault_set() are counted from 1; number @nth (0 = none), and
 * each @every-th after it if @every is not 0, suffers @nth_action.  The random
 * sequence depends on @seed and on the order of the strings alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_FAULT_H
#define CORE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum CoreFaultAction {
    CORE_FAULT_NONE,
    CORE_FAULT_DROP,
    CORE_FAULT_DUPLICATE,
    CORE_FAULT_REORDER,     /* held until @reorder_depth others have passed */
    CORE_FAULT_CORRUPT,     /* one random bit */
    CORE_FAULT_DELAY,       /* held for @delay_us (the order changes) */
    CORE_FAULT_NUM
} CoreFaultAction;

typedef struct CoreFaultPlan {
    uint32_t ppm[CORE_FAULT_NUM];
    uint32_t seed;
    uint64_t nth, every;
    CoreFaultAction nth_action;
    uint32_t reorder_depth; /* 1..64; 0 = 4 */
    uint32_t delay_us;
} CoreFaultPlan;

enum { CORE_FAULT_HELD = 64 };  /* held back at a time, at most */

typedef struct CoreFaultHeld {
    bool used;
    int64_t at;                 /* released then, */
    uint32_t after;             /* or after so many others; UINT32_MAX = not */
    uint64_t order;
    size_t len;
    uint8_t *data;
} CoreFaultHeld;

/* Zeroed: no faults. */
typedef struct CoreFault {
    CoreFaultPlan plan;
    bool on;
    size_t max_len;
    uint64_t rng, count, order;
    unsigned held;
    CoreFaultHeld *hold;        /* CORE_FAULT_HELD and the bytes, when on */
    uint64_t done[CORE_FAULT_NUM];      /* what was really done */
} CoreFault;

/* Where the strings go on to. */
typedef void CoreFaultSink(void *opaque, const uint8_t *data, size_t len);

/* Whether a plan has any fault. */
bool core_fault_plan_on(const CoreFaultPlan *plan);
/*
 * Faults by @plan from now on; strings longer than @max_len are neither held
 * nor changed.  What was held is lost, and counts as dropped.
 */
void core_fault_set(CoreFault *f, const CoreFaultPlan *plan, size_t max_len);
/* What is held is dropped, and counted so; the plan goes on. */
void core_fault_drop(CoreFault *f);
/* Give everything up; no faults any more. */
void core_fault_free(CoreFault *f);
/*
 * A string comes by: it goes to @sink, changed or not, now or later, once,
 * twice or never.  Its first @keep bytes stay as they are.
 */
void core_fault_pass(CoreFault *f, const uint8_t *data, size_t len,
                     size_t keep, int64_t now, CoreFaultSink *sink,
                     void *opaque);
/* Let go what is due.  When to call again, INT64_MAX for never. */
int64_t core_fault_timers(CoreFault *f, int64_t now, CoreFaultSink *sink,
                          void *opaque);

#endif
