/*
 * The heap of deadlines, against a plain array.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/random.h"
#include "core/timers.h"

enum { NUM = 200 };

static void test_order(void)
{
    CoreTimers t = { 0 };
    CoreTimer x[4] = { 0 };

    g_assert_cmpint(core_timers_deadline(&t), ==, CORE_NEVER);
    g_assert_null(core_timers_expired(&t, 100));
    core_timer_set(&t, &x[0], 30);
    core_timer_set(&t, &x[1], 10);
    core_timer_set(&t, &x[2], 20);
    core_timer_set(&t, &x[3], CORE_NEVER);
    g_assert_cmpint(core_timers_deadline(&t), ==, 10);
    g_assert_null(core_timers_expired(&t, 9));
    g_assert_true(core_timers_expired(&t, 30) == &x[1]);
    g_assert_true(core_timers_expired(&t, 30) == &x[2]);
    core_timer_set(&t, &x[1], 25);
    g_assert_true(core_timers_expired(&t, 30) == &x[1]);
    g_assert_true(core_timers_expired(&t, 30) == &x[0]);
    g_assert_null(core_timers_expired(&t, INT64_MAX));
    g_assert_cmpint(core_timers_deadline(&t), ==, CORE_NEVER);
    core_timers_free(&t);
}

/* Putting off leaves the heap alone until the old time comes. */
static void test_lazy(void)
{
    CoreTimers t = { 0 };
    CoreTimer x[2] = { 0 };

    core_timer_set(&t, &x[0], 10);
    core_timer_set(&t, &x[1], 15);
    core_timer_set(&t, &x[0], 20);
    g_assert_cmpint(core_timers_deadline(&t), ==, 10);
    g_assert_null(core_timers_expired(&t, 12));
    g_assert_cmpint(core_timers_deadline(&t), ==, 15);
    core_timer_set(&t, &x[1], CORE_NEVER);
    g_assert_null(core_timers_expired(&t, 19));
    g_assert_cmpint(core_timers_deadline(&t), ==, 20);
    core_timer_set(&t, &x[0], 5);
    g_assert_cmpint(core_timers_deadline(&t), ==, 5);
    core_timer_cancel(&t, &x[0]);
    core_timer_cancel(&t, &x[0]);
    g_assert_null(core_timers_expired(&t, 1000));
    core_timers_free(&t);
}

static void test_random(void)
{
    CoreTimers t = { 0 };
    CoreTimer x[NUM] = { 0 };
    int64_t at[NUM], now = 0;
    uint64_t rng = 7;
    unsigned fired = 0;

    for (int i = 0; i < NUM; i++) {
        at[i] = CORE_NEVER;
    }
    for (int round = 0; round < 20000; round++) {
        unsigned i = core_random(&rng) % NUM;
        int64_t first = CORE_NEVER;
        CoreTimer *e;

        switch (core_random(&rng) % 8) {
        case 0:
            core_timer_cancel(&t, &x[i]);
            at[i] = CORE_NEVER;
            break;
        case 1:
            core_timer_set(&t, &x[i], at[i] = CORE_NEVER);
            break;
        default:
            at[i] = now + core_random(&rng) % 1000;
            core_timer_set(&t, &x[i], at[i]);
            break;
        }
        now += core_random(&rng) % 8;
        while ((e = core_timers_expired(&t, now))) {
            unsigned k = e - x;

            g_assert_cmpint(at[k], <=, now);
            at[k] = CORE_NEVER;
            fired++;
        }
        for (int k = 0; k < NUM; k++) {
            g_assert_cmpint(at[k], >, now);
            first = MIN(first, at[k]);
        }
        g_assert_cmpint(core_timers_deadline(&t), <=, first);
        g_assert_cmpint(core_timers_deadline(&t), >, now);
    }
    g_assert_cmpuint(fired, >, 1000);
    core_timers_free(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/timers/order", test_order);
    g_test_add_func("/timers/lazy", test_lazy);
    g_test_add_func("/timers/random", test_random);
    return g_test_run();
}
