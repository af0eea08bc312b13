/*
 * Sparse tables of pointers by number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/random.h"
#include "core/table.h"

static int something;

/* By looking at every place. */
static uint32_t vacant_by_hand(const CoreTable *t, uint32_t size, uint32_t from)
{
    for (uint32_t i = 0; i < size; i++) {
        if (!core_table_get(t, (from + i) % size)) {
            return (from + i) % size;
        }
    }
    return UINT32_MAX;
}

static void vacant(unsigned log)
{
    const uint32_t size = 1u << log;
    uint64_t rng = log;
    CoreTable t;

    core_table_init(&t, log);
    for (unsigned i = 0; i < 4 * size; i++) {
        uint32_t n = core_random(&rng) % size;

        /* Ever fuller, then ever emptier. */
        core_table_set(&t, n, core_random(&rng) % 4 < (i < 2 * size ? 3 : 1)
                              ? &something : NULL);
        n = core_random(&rng) % size;
        g_assert_cmpuint(core_table_vacant(&t, n), ==,
                         vacant_by_hand(&t, size, n));
    }
    for (uint32_t n = 0; n < size; n++) {
        core_table_set(&t, n, &something);
    }
    g_assert_cmpuint(core_table_vacant(&t, size / 2), ==, UINT32_MAX);
    core_table_set(&t, size / 2, &something);   /* again: no more than one */
    core_table_set(&t, size / 2, NULL);
    core_table_set(&t, size / 2, NULL);
    for (uint32_t n = 0; n < size; n++) {
        g_assert_cmpuint(core_table_vacant(&t, n), ==, size / 2);
    }
    core_table_free(&t);
}

static void test_vacant(void)
{
    static const unsigned logs[] = { 1, 4, 8, 9, 11 };

    for (unsigned i = 0; i < G_N_ELEMENTS(logs); i++) {
        vacant(logs[i]);
    }
}

static uint32_t seen;

/* Numbers are what is pointed to: they ascend. */
static void see(void *opaque, void *p)
{
    uint32_t *last = opaque, n = GPOINTER_TO_UINT(p);

    g_assert_cmpuint(n, >, *last);
    *last = n;
    seen++;
}

static unsigned see_all(CoreTable *t)
{
    uint32_t last = 0;

    seen = 0;
    core_table_foreach(t, see, &last);
    return seen;
}

/* Each pointer once, wherever the few that there are stand, and none when they have
 * gone; then it is as new. */
static void test_foreach(void)
{
    static const uint32_t at[] = { 70000, 70001, 3, 1048575, 512, 65535, 255, 256 };
    const uint32_t n = G_N_ELEMENTS(at);
    CoreTable t;

    core_table_init(&t, 20);
    g_assert_cmpuint(see_all(&t), ==, 0);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < n; i++) {
            core_table_set(&t, at[i], GUINT_TO_POINTER(at[i]));
            g_assert_cmpuint(see_all(&t), ==, i + 1);
        }
        if (round == 1) {
            core_table_clear(&t);
        }
        for (unsigned i = 0; round != 1 && i < n; i++) {
            core_table_set(&t, at[n - 1 - i], NULL);
            g_assert_cmpuint(see_all(&t), ==, n - 1 - i);
        }
        for (unsigned i = 0; i < n; i++) {
            g_assert_null(core_table_get(&t, at[i]));
            g_assert_cmpuint(core_table_vacant(&t, at[i]), ==, at[i]);
        }
        g_assert_cmpuint(see_all(&t), ==, 0);
    }
    core_table_free(&t);
    core_table_free(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/table/vacant", test_vacant);
    g_test_add_func("/core/table/foreach", test_foreach);
    return g_test_run();
}
