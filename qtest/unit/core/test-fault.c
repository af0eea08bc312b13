/*
 * Faults on byte strings: each action, its rate, and when what is held comes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/fault.h"

enum { LEN = 20, KEEP = 14, MAX_LEN = 64 };

static GArray *got;             /* first bytes of what came out */
static unsigned flipped;        /* bits that differ */

static void sink(void *opaque, const uint8_t *data, size_t len)
{
    g_assert_cmpuint(len, ==, LEN);
    g_assert_true(opaque == &got);
    for (size_t i = 1; i < len; i++) {
        uint8_t bad = data[i] ^ (uint8_t)(data[0] + i);

        g_assert_true(i >= KEEP || !bad);
        flipped += __builtin_popcount(bad);
    }
    g_array_append_val(got, data[0]);
}

static void pass(CoreFault *f, uint8_t name, int64_t now)
{
    uint8_t data[LEN];

    for (int i = 0; i < LEN; i++) {
        data[i] = name + i;
    }
    core_fault_pass(f, data, LEN, KEEP, now, sink, &got);
}

static void expect(const char *names)
{
    g_assert_cmpmem(got->data, got->len, names, strlen(names));
    g_array_set_size(got, 0);
}

static void one(CoreFault *f, CoreFaultAction a, uint64_t nth, uint64_t every)
{
    CoreFaultPlan p = { .nth = nth, .every = every, .nth_action = a,
                        .reorder_depth = 2, .delay_us = 5 };

    core_fault_set(f, &p, MAX_LEN);
    got = g_array_new(false, false, 1);
    flipped = 0;
}

static void done(CoreFault *f)
{
    g_array_free(got, true);
    core_fault_free(f);
}

static void test_none(void)
{
    CoreFault f = { 0 };

    one(&f, CORE_FAULT_NONE, 1, 1);
    g_assert_false(f.on);
    pass(&f, 'a', 0);
    expect("a");
    g_assert_cmpint(core_fault_timers(&f, 0, sink, &got), ==, INT64_MAX);
    done(&f);
}

static void test_drop(void)
{
    CoreFault f = { 0 };

    one(&f, CORE_FAULT_DROP, 2, 3);
    for (char c = 'a'; c <= 'j'; c++) {
        pass(&f, c, 0);
    }
    expect("acdfgij");
    g_assert_cmpuint(f.done[CORE_FAULT_DROP], ==, 3);
    one(&f, CORE_FAULT_DROP, 2, 0);
    for (char c = 'a'; c <= 'f'; c++) {
        pass(&f, c, 0);
    }
    expect("acdef");
    done(&f);
}

static void test_duplicate(void)
{
    CoreFault f = { 0 };

    one(&f, CORE_FAULT_DUPLICATE, 2, 0);
    pass(&f, 'a', 0);
    pass(&f, 'b', 0);
    pass(&f, 'c', 0);
    expect("abbc");
    g_assert_cmpuint(f.done[CORE_FAULT_DUPLICATE], ==, 1);
    g_assert_cmpuint(flipped, ==, 0);
    done(&f);
}

static void test_corrupt(void)
{
    CoreFault f = { 0 };

    one(&f, CORE_FAULT_CORRUPT, 1, 1);
    for (int i = 0; i < 100; i++) {
        pass(&f, 'a', 0);
    }
    g_assert_cmpuint(got->len, ==, 100);
    g_assert_cmpuint(flipped, ==, 100);     /* one bit each, none kept */
    done(&f);
    /* Nothing but what is kept: unharmed. */
    one(&f, CORE_FAULT_CORRUPT, 1, 1);
    {
        uint8_t data[LEN];

        for (int i = 0; i < LEN; i++) {
            data[i] = 'a' + i;
        }
        core_fault_pass(&f, data, LEN, LEN, 0, sink, &got);
    }
    g_assert_cmpuint(flipped, ==, 0);
    g_assert_cmpuint(f.done[CORE_FAULT_CORRUPT], ==, 100);
    done(&f);
}

static void test_reorder(void)
{
    CoreFault f = { 0 };

    one(&f, CORE_FAULT_REORDER, 1, 0);
    pass(&f, 'a', 0);
    expect("");
    pass(&f, 'b', 0);
    expect("b");
    g_assert_cmpint(core_fault_timers(&f, 0, sink, &got), ==, 1000000);
    pass(&f, 'c', 0);
    expect("ca");
    g_assert_cmpint(core_fault_timers(&f, 0, sink, &got), ==, INT64_MAX);
    /* Nobody comes by: it goes on by itself. */
    one(&f, CORE_FAULT_REORDER, 1, 0);
    pass(&f, 'a', 10);
    core_fault_timers(&f, 1000009, sink, &got);
    expect("");
    core_fault_timers(&f, 1000010, sink, &got);
    expect("a");
    done(&f);
}

static void test_delay(void)
{
    CoreFault f = { 0 };

    one(&f, CORE_FAULT_DELAY, 1, 2);
    pass(&f, 'a', 0);
    for (int i = 0; i < 10; i++) {
        pass(&f, 'b' + i, 100);             /* every second is delayed, too */
    }
    expect("bdfhj");
    g_assert_cmpint(core_fault_timers(&f, 4999, sink, &got), ==, 5000);
    expect("");
    g_assert_cmpint(core_fault_timers(&f, 5000, sink, &got), ==, 5100);
    expect("a");
    core_fault_timers(&f, 5100, sink, &got);
    expect("cegik");                        /* in their order */
    pass(&f, 'x', 6000);
    pass(&f, 'y', 6000);
    core_fault_drop(&f);
    g_assert_cmpint(core_fault_timers(&f, 90000, sink, &got), ==, INT64_MAX);
    expect("x");
    done(&f);
}

/* No more is held than there is room for, nothing longer than agreed. */
static void test_bounds(void)
{
    CoreFault f = { 0 };
    CoreFaultPlan p = { .ppm[CORE_FAULT_DELAY] = 1000000, .delay_us = 1 };

    one(&f, CORE_FAULT_NONE, 0, 0);
    core_fault_set(&f, &p, MAX_LEN);
    for (int i = 0; i < CORE_FAULT_HELD + 5; i++) {
        pass(&f, i, 0);
    }
    g_assert_cmpuint(got->len, ==, 5);
    core_fault_timers(&f, 1000, sink, &got);
    g_assert_cmpuint(got->len, ==, CORE_FAULT_HELD + 5);
    core_fault_set(&f, &p, LEN - 1);
    pass(&f, 'a', 0);
    g_assert_cmpuint(got->len, ==, CORE_FAULT_HELD + 6);
    done(&f);
}

static void test_rates(void)
{
    CoreFault f = { 0 };
    CoreFaultPlan p = { .seed = 3, .ppm = { 0, 100000, 50000, 0, 200000 } };
    uint64_t first[CORE_FAULT_NUM];

    one(&f, CORE_FAULT_NONE, 0, 0);
    for (int round = 0; round < 2; round++) {
        memset(f.done, 0, sizeof(f.done));
        core_fault_set(&f, &p, MAX_LEN);
        for (int i = 0; i < 10000; i++) {
            pass(&f, 'a', 0);
        }
        g_assert_cmpuint(f.done[CORE_FAULT_DROP], >, 900);
        g_assert_cmpuint(f.done[CORE_FAULT_DROP], <, 1100);
        g_assert_cmpuint(f.done[CORE_FAULT_DUPLICATE], >, 430);
        g_assert_cmpuint(f.done[CORE_FAULT_DUPLICATE], <, 570);
        g_assert_cmpuint(f.done[CORE_FAULT_CORRUPT], >, 1850);
        g_assert_cmpuint(f.done[CORE_FAULT_CORRUPT], <, 2150);
        g_assert_cmpuint(f.done[CORE_FAULT_REORDER], ==, 0);
        if (round) {
            g_assert_cmpmem(first, sizeof(first), f.done, sizeof(f.done));
        }
        memcpy(first, f.done, sizeof(first));
    }
    done(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fault/none", test_none);
    g_test_add_func("/fault/drop", test_drop);
    g_test_add_func("/fault/duplicate", test_duplicate);
    g_test_add_func("/fault/corrupt", test_corrupt);
    g_test_add_func("/fault/reorder", test_reorder);
    g_test_add_func("/fault/delay", test_delay);
    g_test_add_func("/fault/bounds", test_bounds);
    g_test_add_func("/fault/rates", test_rates);
    return g_test_run();
}
