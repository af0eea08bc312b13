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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/table/vacant", test_vacant);
    return g_test_run();
}
