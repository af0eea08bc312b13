/*
 * linux/mem/tries.h: who has asked for a page in vain.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "../../../linux/mem/tries.h"

static const char task[2 * MEM_TRIES];

/* Two that ask for one page each hear of their own try, in any order, and once. */
static void test_each(void)
{
    struct mem_tries t = { 0 };

    mem_try_ended(&t, &task[0], 7, 1);
    g_assert_false(mem_try_failed(&t, &task[1], 7));
    mem_try_ended(&t, &task[1], 7, 1);
    mem_try_ended(&t, &task[2], 7, 0);
    g_assert_false(mem_try_failed(&t, &task[2], 7));
    g_assert_true(mem_try_failed(&t, &task[0], 7));
    g_assert_false(mem_try_failed(&t, &task[0], 7));
    g_assert_true(mem_try_failed(&t, &task[1], 7));
    g_assert_false(mem_try_failed(&t, &task[1], 7));
}

/* One page is not another, and a later try says what is so now. */
static void test_pages(void)
{
    struct mem_tries t = { 0 };

    mem_try_ended(&t, &task[0], 7, 1);
    mem_try_ended(&t, &task[0], 8, 1);
    g_assert_false(mem_try_failed(&t, &task[0], 0));
    mem_try_ended(&t, &task[0], 7, 0);
    g_assert_false(mem_try_failed(&t, &task[0], 7));
    g_assert_true(mem_try_failed(&t, &task[0], 8));
    /* Twice in vain is told once. */
    mem_try_ended(&t, &task[0], 7, 1);
    mem_try_ended(&t, &task[0], 7, 1);
    g_assert_true(mem_try_failed(&t, &task[0], 7));
    g_assert_false(mem_try_failed(&t, &task[0], 7));
}

/* Those that never come back go, and the last ones are kept. */
static void test_lost(void)
{
    struct mem_tries t = { 0 };

    for (unsigned lap = 0; lap < 3; lap++) {
        for (unsigned i = 0; i < 2 * MEM_TRIES; i++) {
            mem_try_ended(&t, &task[i], lap, 1);
            g_assert_true(mem_try_failed(&t, &task[i], lap));
            mem_try_ended(&t, &task[i], lap, 1);
        }
        for (unsigned i = 0; i < 2 * MEM_TRIES; i++) {
            g_assert_cmpint(mem_try_failed(&t, &task[i], lap), ==,
                            i >= MEM_TRIES);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tries/each", test_each);
    g_test_add_func("/tries/pages", test_pages);
    g_test_add_func("/tries/lost", test_lost);
    return g_test_run();
}
