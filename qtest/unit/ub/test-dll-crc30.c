/*
 * CRC30: known answers, the fast paths against a bitwise reference written
 * from the text of UB 2.0 §4.7.2, and error detection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "ub/crc30.h"
#include "ub/dll_format.h"

/* Independent of the library: one message bit at a time from a bit index. */
static uint32_t reference(const uint8_t *data, size_t bits)
{
    uint32_t c = 0x3fffffff;

    for (size_t i = 0; i < bits; i++) {
        uint32_t b = data[i / 8] >> (7 - i % 8) & 1;
        uint32_t f = (c >> 29 & 1) ^ b;

        c = c << 1 & 0x3fffffff;
        if (f) {
            c ^= 1u << 28 | 1u << 26 | 1u << 24 | 1u << 23 | 1u << 21 |
                 1u << 19 | 1u << 16 | 1u << 14 | 1u << 11 | 1u << 9 |
                 1u << 7 | 1u << 6 | 1u << 4 | 1u << 2 | 1u;
        }
    }
    return c;
}

static void test_strings(void)
{
    g_assert_cmphex(ub_crc30(UB_CRC30_INIT, "123456789", 9), ==, 0x3C103723);
    g_assert_cmphex(ub_crc30(UB_CRC30_INIT, "", 1), ==, 0x14A16A15);
    g_assert_cmphex(ub_crc30(UB_CRC30_INIT, "", 0), ==, 0x3FFFFFFF);
    g_assert_cmphex(ub_crc30_bitwise(UB_CRC30_INIT, "123456789", 9), ==,
                    0x3C103723);

    for (size_t len = 0; len < 100; len++) {
        uint8_t data[100];
        uint32_t split;

        for (size_t i = 0; i < len; i++) {
            data[i] = g_test_rand_int();
        }
        g_assert_cmphex(ub_crc30(UB_CRC30_INIT, data, len), ==,
                        reference(data, len * 8));
        split = ub_crc30(UB_CRC30_INIT, data, len / 3);
        split = ub_crc30(split, data + len / 3, len - len / 3);
        g_assert_cmphex(split, ==, reference(data, len * 8));
    }
}

static void check_blocks(void)
{
    for (unsigned flits = 1; flits <= UB_BLOCK_FLITS; flits++) {
        for (unsigned round = 0; round < 20; round++) {
            uint8_t raw[UB_BLOCK_SIZE + 16];
            uint8_t *b = raw + round % 16; /* any alignment */
            size_t len = flits * UB_FLIT_SIZE;

            for (size_t i = 0; i < len; i++) {
                b[i] = round == 0 ? 0 : round == 1 ? 0xff : g_test_rand_int();
            }
            g_assert_cmphex(ub_crc30_block(b, flits, UB_CRC_COVER_INFO), ==,
                            reference(b, len * 8 - 30));
            g_assert_cmphex(ub_crc30_block(b, flits, UB_CRC_COVER_BYTES), ==,
                            reference(b, len * 8 - 32));
            ub_crc30_seal(b, flits, round & 1, UB_CRC_COVER_INFO);
            g_assert_cmpuint(b[len - 4] >> 6, ==, round & 1);
            g_assert_true(ub_crc30_check(b, flits, UB_CRC_COVER_INFO));
            /* The residue over the whole sealed block is zero. */
            g_assert_cmphex(reference(b, len * 8), ==, 0);
            ub_crc30_seal(b, flits, round & 1, UB_CRC_COVER_BYTES);
            g_assert_true(ub_crc30_check(b, flits, UB_CRC_COVER_BYTES));
            g_assert_cmphex(reference(b, len * 8 - 32), ==,
                            get_be32(b + len - 4) & UB_CRC30_MASK);
        }
    }
}

static void test_impls(void)
{
    static const char *const names[] = { "slice8", "pclmul", "vpclmul" };
    const char *best = ub_crc30_impl();

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (ub_crc30_select(names[i])) {
            g_test_message("%s", names[i]);
            g_assert_cmpstr(ub_crc30_impl(), ==, names[i]);
            check_blocks();
        } else {
            g_assert_cmpuint(i, >, 0); /* the first one runs everywhere */
        }
    }
    g_assert_false(ub_crc30_select("abacus"));
    g_assert_true(ub_crc30_select(best));
}

/* Every single bit, every pair in a short block, random odd weights. */
static void test_detection(void)
{
    uint8_t b[UB_BLOCK_SIZE];

    for (size_t i = 0; i < sizeof(b); i++) {
        b[i] = g_test_rand_int();
    }
    ub_crc30_seal(b, 32, false, UB_CRC_COVER_INFO);
    for (unsigned i = 0; i < sizeof(b) * 8; i++) {
        b[i / 8] ^= 0x80 >> i % 8;
        g_assert_false(ub_crc30_check(b, 32, UB_CRC_COVER_INFO));
        b[i / 8] ^= 0x80 >> i % 8;
    }
    g_assert_true(ub_crc30_check(b, 32, UB_CRC_COVER_INFO));

    ub_crc30_seal(b, 1, false, UB_CRC_COVER_INFO);
    for (unsigned i = 0; i < 160; i++) {
        for (unsigned j = 0; j < i; j++) {
            b[i / 8] ^= 0x80 >> i % 8;
            b[j / 8] ^= 0x80 >> j % 8;
            g_assert_false(ub_crc30_check(b, 1, UB_CRC_COVER_INFO));
            b[i / 8] ^= 0x80 >> i % 8;
            b[j / 8] ^= 0x80 >> j % 8;
        }
    }

    ub_crc30_seal(b, 7, true, UB_CRC_COVER_INFO);
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t c[7 * UB_FLIT_SIZE];
        unsigned weight = 0;

        memcpy(c, b, sizeof(c));
        for (unsigned i = 0; i < 1 + 2 * (round % 9); i++) {
            unsigned bit = g_test_rand_int_range(0, sizeof(c) * 8);

            c[bit / 8] ^= 0x80 >> bit % 8;
        }
        for (size_t i = 0; i < sizeof(c); i++) {
            weight += __builtin_popcount(c[i] ^ b[i]);
        }
        g_assert_cmpuint(weight % 2, ==, 1);
        g_assert_false(ub_crc30_check(c, 7, UB_CRC_COVER_INFO));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dll/crc30/strings", test_strings);
    g_test_add_func("/dll/crc30/implementations", test_impls);
    g_test_add_func("/dll/crc30/detection", test_detection);
    return g_test_run();
}
