/*
 * Serial numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/random.h"
#include "core/serial.h"

static void test_known(void)
{
    g_assert_cmphex(serial_add(0xffffff, 1, 24), ==, 0);
    g_assert_cmphex(serial_add(0, -1, 24), ==, 0xffffff);
    g_assert_cmphex(serial_add(0xffffffff, 2, 32), ==, 1);
    g_assert_cmpint(serial_diff(0, 0xffffff, 24), ==, 1);
    g_assert_cmpint(serial_diff(0xffffff, 0, 24), ==, -1);
    g_assert_cmpint(serial_diff(0x800000, 0, 24), ==, -0x800000);
    g_assert_cmpint(serial_diff(0x7fffff, 0, 24), ==, 0x7fffff);
    g_assert_cmphex(serial_ahead(0x800000, 0, 24), ==, 0x800000);
    g_assert_cmphex(serial_ahead(2, 0xfffffe, 24), ==, 4);
    g_assert_cmpint(serial_diff(5, 7, 32), ==, -2);
    g_assert_cmphex(serial_ahead(5, 7, 32), ==, 0xfffffffe);
}

/* Every width: what is added comes back as the difference. */
static void test_widths(void)
{
    uint64_t rng = 1;

    for (unsigned bits = 2; bits <= 32; bits++) {
        uint32_t mask = UINT32_MAX >> (32 - bits), half = mask / 2 + 1;

        for (int i = 0; i < 200; i++) {
            uint32_t a = core_random(&rng) & mask;
            uint32_t n = core_random(&rng) & mask;
            uint32_t b = serial_add(a, n, bits);

            g_assert_cmphex(b & ~mask, ==, 0);
            g_assert_cmphex(serial_ahead(b, a, bits), ==, n);
            g_assert_cmpint(serial_diff(b, a, bits), ==,
                            n < half ? (int64_t)n : (int64_t)n - mask - 1);
        }
    }
}

/* The published sequence of splitmix64 for seed 1234567. */
static void test_random(void)
{
    static const uint64_t want[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
    };
    uint64_t s = 1234567;

    for (unsigned i = 0; i < G_N_ELEMENTS(want); i++) {
        g_assert_cmpuint(core_random(&s), ==, want[i]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/serial/known", test_known);
    g_test_add_func("/serial/widths", test_widths);
    g_test_add_func("/serial/random", test_random);
    return g_test_run();
}
