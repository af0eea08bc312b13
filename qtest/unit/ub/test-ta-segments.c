/*
 * The plain table of segments: places, limits, poison.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ub/host_segment.h"

/* The table of segments: places, limits, poison that goes with its segment. */
static void test_segments(void)
{
    UbSegments *t = ub_segments_new(4);
    UbSegment s = { .token_id = 5, .uba = 0x1000, .len = 0x1000,
                    .rights = 7 };
    UbAccess a = { .kind = UB_ACCESS_WRITE, .token_id = 5, .addr = 0x1800,
                   .len = 8, .poison = true };
    UbSpan span;
    unsigned n;

    /* The last byte that there is may be one's end. */
    s.uba = -0x1000;
    g_assert_true(ub_segments_add(t, &s));
    g_assert_nonnull(ub_segments_find(t, 0, 5, UINT64_MAX));
    g_assert_true(ub_segments_remove(t, 0, 5, s.uba));
    s.uba = 0x1000;
    g_assert_true(ub_segments_add(t, &s));
    g_assert_false(ub_segments_add(t, &s));
    s.uba = 0x1fff;
    g_assert_false(ub_segments_add(t, &s));
    s.uba = 1;
    g_assert_false(ub_segments_add(t, &s));
    s.uba = 0;
    g_assert_true(ub_segments_add(t, &s));
    s.uba = 0x2000;
    g_assert_true(ub_segments_add(t, &s));
    s.uba = UINT64_MAX;
    g_assert_false(ub_segments_add(t, &s));
    s.uba = 0x1000;
    s.entity = 1;
    g_assert_true(ub_segments_add(t, &s));
    s.uba = 0x8000;
    g_assert_false(ub_segments_add(t, &s));     /* four are the limit */
    g_assert_cmpuint(ub_segments_count(t), ==, 4);
    g_assert_null(ub_segments_find(t, 0, 5, 0x3000));
    g_assert_cmphex(ub_segments_find(t, 0, 5, 0x2fff)->uba, ==, 0x2000);
    g_assert_cmpint(ub_segments_access(t, &a, &span, 1, &n), ==,
                    UB_ACCESS_OK);
    g_assert_cmphex(span.bus, ==, 0x800);
    a.kind = UB_ACCESS_READ;
    a.poison = false;
    g_assert_cmpint(ub_segments_access(t, &a, &span, 1, &n), ==,
                    UB_ACCESS_POISON);
    a.entity = 1;
    g_assert_cmpint(ub_segments_access(t, &a, &span, 1, &n), ==,
                    UB_ACCESS_OK);
    a.entity = 0;
    a.addr = 0x1ffc;
    g_assert_cmpint(ub_segments_access(t, &a, &span, 1, &n), ==,
                    UB_ACCESS_DENIED);          /* not over two */
    g_assert_false(ub_segments_remove(t, 0, 5, 0x1001));
    g_assert_true(ub_segments_remove(t, 0, 5, 0x1000));
    a.addr = 0x1800;
    g_assert_cmpint(ub_segments_access(t, &a, &span, 1, &n), ==,
                    UB_ACCESS_DENIED);
    s.entity = 0;
    s.uba = 0x1000;
    g_assert_true(ub_segments_add(t, &s));
    g_assert_cmpint(ub_segments_access(t, &a, &span, 1, &n), ==,
                    UB_ACCESS_OK);
    ub_segments_clear(t);
    g_assert_cmpuint(ub_segments_count(t), ==, 0);
    ub_segments_free(t);
}

typedef struct Bed {
    UbSegments *t;
    unsigned entity;
    uint32_t token_id;
} Bed;

static UbAccessResult reach(Bed *b, unsigned kind, uint64_t addr, uint32_t len,
                            bool poison)
{
    UbAccess a = { .kind = kind, .entity = b->entity, .token_id = b->token_id,
                   .addr = addr, .len = len, .poison = poison };
    UbSpan span;
    unsigned n;

    return ub_segments_access(b->t, &a, &span, 1, &n);
}

static void write(Bed *b, uint64_t addr, uint32_t len, bool poison)
{
    g_assert_cmpint(reach(b, UB_ACCESS_WRITE, addr, len, poison), ==,
                    UB_ACCESS_OK);
}

static bool poisoned(Bed *b, uint64_t addr, uint32_t len)
{
    UbAccessResult r = reach(b, UB_ACCESS_READ, addr, len, false);

    g_assert_true(r == UB_ACCESS_OK || r == UB_ACCESS_POISON);
    return r == UB_ACCESS_POISON;
}

enum { PLACES = 4 };

static void bed_init(Bed *b)
{
    *b = (Bed) { .t = ub_segments_new(PLACES) };
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned token = 5; token < 7; token++) {
            UbSegment s = { .token_id = token, .entity = i, .len = 0x1000,
                            .rights = 7 };

            g_assert_true(ub_segments_add(b->t, &s));
        }
    }
    b->token_id = 5;
}

/* Good data heal just what they cover. */
static void test_heal(void)
{
    Bed b;

    bed_init(&b);
    write(&b, 0x100, 0x40, true);
    g_assert_false(poisoned(&b, 0xff, 1));
    g_assert_true(poisoned(&b, 0xff, 2));
    g_assert_true(poisoned(&b, 0x13f, 1));
    g_assert_false(poisoned(&b, 0x140, 1));
    write(&b, 0xc0, 0x40, false);               /* up to it */
    write(&b, 0x140, 0x40, false);              /* behind it */
    g_assert_true(poisoned(&b, 0x100, 1));
    g_assert_true(poisoned(&b, 0x13f, 1));
    write(&b, 0x110, 0x10, false);              /* in its midst */
    g_assert_true(poisoned(&b, 0x10f, 1));
    g_assert_false(poisoned(&b, 0x110, 0x10));
    g_assert_true(poisoned(&b, 0x120, 1));
    g_assert_true(poisoned(&b, 0x13f, 1));
    write(&b, 0xf0, 0x18, false);               /* its head */
    g_assert_false(poisoned(&b, 0x100, 8));
    g_assert_true(poisoned(&b, 0x108, 1));
    write(&b, 0x138, 0x10, false);              /* its tail */
    g_assert_true(poisoned(&b, 0x137, 1));
    g_assert_false(poisoned(&b, 0x138, 8));
    write(&b, 0x100, 0x40, false);              /* all */
    g_assert_false(poisoned(&b, 0, 0x1000));
    ub_segments_free(b.t);
}

/* Who heals one segment does not heal another one. */
static void test_apart(void)
{
    Bed b;

    bed_init(&b);
    write(&b, 0, 64, true);
    b.token_id = 6;
    g_assert_false(poisoned(&b, 0, 64));
    write(&b, 0, 64, false);
    b.token_id = 5;
    b.entity = 1;
    g_assert_false(poisoned(&b, 0, 64));
    write(&b, 0, 64, false);
    b.entity = 0;
    g_assert_true(poisoned(&b, 0, 64));
    ub_segments_free(b.t);
}

/* There are as many places as segments can be: what is healed or poisoned again
 * takes none. */
static void test_places(void)
{
    Bed b;

    bed_init(&b);
    for (unsigned i = 0; i < 3 * PLACES; i++) {
        write(&b, 0x200, 64, true);
        write(&b, 0x200, 64, i & 1);
    }
    write(&b, 0x200, 64, false);
    for (unsigned i = 0; i < PLACES; i++) {
        write(&b, 0x100 * i, 64, true);
        write(&b, 0x100 * i, 64, true);
    }
    for (unsigned i = 0; i < PLACES; i++) {
        g_assert_true(poisoned(&b, 0x100 * i, 64));
    }
    /* One more is lost, and so is what lies behind a hole; nothing else is. */
    write(&b, 0x800, 64, true);
    write(&b, 0x110, 16, false);
    g_assert_false(poisoned(&b, 0x800, 64));
    g_assert_true(poisoned(&b, 0x100, 16));
    g_assert_false(poisoned(&b, 0x110, 48));
    ub_segments_clear(b.t);
    ub_segments_free(b.t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/segments", test_segments);
    g_test_add_func("/ub/ta/segments/heal", test_heal);
    g_test_add_func("/ub/ta/segments/apart", test_apart);
    g_test_add_func("/ub/ta/segments/places", test_places);
    return g_test_run();
}
