/*
 * Streams of pieces that are copied: what is kept of them, and that asking for memory
 * that is not there does no harm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/prefetch.h"

static bool ends_at(const CoreStreams *s, const void *p)
{
    return s->end[(uintptr_t)p / CORE_STREAM_MIN % CORE_STREAMS] == (uintptr_t)p;
}

/* Many at a time, each found again where it ended. */
static void test_streams(void)
{
    enum { SIZE = 1 << 20, STREAMS = 8, PIECE = 4096 };
    g_autofree uint8_t *mem = g_malloc(SIZE);
    CoreStreams s = { 0 };

    for (unsigned n = 0; n < 4; n++) {
        for (unsigned i = 0; i < STREAMS; i++) {
            /* Apart by an odd number of places. */
            const uint8_t *p = mem + i * 5 * PIECE + n * PIECE;

            g_assert_true(!n || ends_at(&s, p));
            core_stream(&s, p, PIECE, i & 1);
            g_assert_true(ends_at(&s, p + PIECE));
        }
    }
}

static void test_small(void)
{
    static const CoreStreams none;
    uint8_t mem[CORE_STREAM_MIN];
    CoreStreams s = { 0 };

    core_stream(&s, mem, sizeof(mem) - 1, true);
    g_assert_false(memcmp(&s, &none, sizeof(s)));
    core_stream(&s, mem, sizeof(mem), true);
    g_assert_true(ends_at(&s, mem + sizeof(mem)));
}

/* Nothing is there, and an address that goes round. */
static void test_nowhere(void)
{
    CoreStreams s = { 0 };

    core_prefetch(NULL, 4096, true);
    core_prefetch((const void *)-4096, 8192, false);
    for (unsigned i = 0; i < 3; i++) {
        core_stream(&s, (const void *)((uintptr_t)-8192 + i * 4096), 4096, i & 1);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/prefetch/streams", test_streams);
    g_test_add_func("/prefetch/small", test_small);
    g_test_add_func("/prefetch/nowhere", test_nowhere);
    return g_test_run();
}
