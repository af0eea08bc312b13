/*
 * How many lines ubfm prints of what nodes tell it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "../../../tools/ub/ubfm-pace.h"

#define SECOND INT64_C(1000000000)

/* A flood of ten seconds: some lines in each, and all are counted. */
static void test_flood(void)
{
    UbfmPace p = { 0 };
    int64_t begin = 5 * SECOND;
    unsigned printed = 0, told = 0, left_out, events = 0;

    for (int64_t at = 0; at < 10 * SECOND; at += SECOND / 1000, events++) {
        if (ubfm_pace(&p, begin + at, &left_out)) {
            printed++;
            told += left_out;
        } else {
            g_assert_cmpuint(left_out, ==, 0);
        }
    }
    g_assert_cmpuint(printed, ==, 10 * UBFM_PACE_LINES);
    g_assert_cmpuint(printed + told + p.left_out, ==, events);
    /* Afterwards the next one says what was left out. */
    g_assert_true(ubfm_pace(&p, begin + 20 * SECOND, &left_out));
    g_assert_cmpuint(printed + told + left_out, ==, events);
}

/* What comes one by one is printed, whenever that is. */
static void test_calm(void)
{
    UbfmPace p = { 0 };
    unsigned left_out;

    for (int64_t at = 0; at < 100 * SECOND; at += SECOND / 31) {
        g_assert_true(ubfm_pace(&p, at, &left_out));
        g_assert_cmpuint(left_out, ==, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ubfm-pace/flood", test_flood);
    g_test_add_func("/ub/ubfm-pace/calm", test_calm);
    return g_test_run();
}
