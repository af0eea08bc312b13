/*
 * Asking for memory before it is used.
 *
 * Processors foresee a stream of bytes up to the end of a page, not from page to page
 * nor from one packet to the next one: the first lines of each are waited for, and
 * what was written before holds up all that follows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_PREFETCH_H
#define CORE_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CORE_CACHE_LINE = 64, CORE_STREAMS = 64, CORE_STREAM_MIN = 1024,
       CORE_STREAM_AHEAD = 4096 };

/* Ask for the @len bytes at @p, which need not be there: nothing faults. */
static inline void core_prefetch(const void *p, size_t len, bool write)
{
    uintptr_t at = (uintptr_t)p;

    for (size_t i = 0; i < len; i += CORE_CACHE_LINE) {
        if (write) {
            __builtin_prefetch((const void *)(at + i), 1);
        } else {
            __builtin_prefetch((const void *)(at + i), 0);
        }
    }
}

/* Where pieces that were copied ended, as many streams as there are places (two that
 * meet in one forget each other).  All zero: none.  Addresses are compared, never
 * followed. */
typedef struct CoreStreams {
    uintptr_t end[CORE_STREAMS];
} CoreStreams;

/*
 * @len bytes at @p are about to be read or, with @write, written.  If they follow what
 * was before, what follows them is asked for.  Pieces below CORE_STREAM_MIN are left
 * alone.
 */
static inline void core_stream(CoreStreams *s, const void *p, size_t len, bool write)
{
    uintptr_t from = (uintptr_t)p, to = from + len;
    bool follows;

    if (len < CORE_STREAM_MIN) {
        return;
    }
    follows = s->end[from / CORE_STREAM_MIN % CORE_STREAMS] == from;
    s->end[to / CORE_STREAM_MIN % CORE_STREAMS] = to;
    if (follows) {
        core_prefetch((const void *)to,
                      len < CORE_STREAM_AHEAD ? len : CORE_STREAM_AHEAD, write);
    }
}

#endif
