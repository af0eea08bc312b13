/*
 * Checksum unit: published examples and a word-by-word calculation
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include "core/bytes.h"
#include "core/inet.h"

static void test_examples(void)
{
    /* RFC 1071 section 3 */
    static const uint8_t rfc[] = { 0x00, 0x01, 0xf2, 0x03,
                                   0xf4, 0xf5, 0xf6, 0xf7 };
    /* A common worked example of an IPv4 header, checksum b861 */
    static const uint8_t ip[] = {
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
        0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
    };
    uint8_t blank[sizeof(ip)];

    g_assert_cmphex(core_csum(rfc, sizeof(rfc)), ==, 0xddf2);
    g_assert_cmphex(core_csum(ip, sizeof(ip)), ==, 0xffff);
    memcpy(blank, ip, sizeof(ip));
    blank[10] = blank[11] = 0;
    g_assert_cmphex((uint16_t)~core_csum(blank, sizeof(blank)), ==, 0xb861);
    /* c0a8 + 0001 + c0a8 + 00c7 + 0011 + 005f = 18288 -> 8289 */
    g_assert_cmphex(core_csum_pseudo4(ip, 17, 0x5f), ==, 0x8289);
}

static uint16_t slow(const uint8_t *p, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

static void test_all_lengths(void)
{
    uint8_t buf[2100];

    for (unsigned i = 0; i < sizeof(buf); i++) {
        buf[i] = g_test_rand_int();
    }
    for (unsigned off = 0; off < 9; off++) {
        for (size_t len = 0; len <= 2048; len++) {
            g_assert_cmphex(core_csum(buf + off, len), ==,
                            slow(buf + off, len));
        }
    }
    memset(buf, 0xff, sizeof(buf));
    for (size_t len = 0; len <= 2048; len++) {
        g_assert_cmphex(core_csum(buf, len), ==, slow(buf, len));
    }
}

/* The short way says of each header what the sum does. */
static void test_ipv4_right(void)
{
    uint8_t ip[20] = { 0 };

    g_assert_false(core_csum_ipv4_right(ip));
    memset(ip, 0xff, sizeof(ip));
    g_assert_true(core_csum_ipv4_right(ip));
    for (unsigned i = 0; i < 2000; i++) {
        for (unsigned k = 0; k < sizeof(ip); k++) {
            ip[k] = g_test_rand_int();
        }
        ip[10] = ip[11] = 0;
        put_be16(ip + 10, ~slow(ip, sizeof(ip)));
        g_assert_true(core_csum_ipv4_right(ip));
        ip[g_test_rand_int_range(0, 20)] ^= 1 << g_test_rand_int_range(0, 8);
        g_assert_cmpint(core_csum_ipv4_right(ip), ==,
                        slow(ip, sizeof(ip)) == 0xffff);
    }
}

static void test_zero(void)
{
    uint8_t buf[64] = { 0 };

    g_assert_cmphex(core_csum(buf, sizeof(buf)), ==, 0);
    buf[0] = buf[1] = 0xff;
    g_assert_cmphex(core_csum(buf, sizeof(buf)), ==, 0xffff);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/inet/examples", test_examples);
    g_test_add_func("/inet/all-lengths", test_all_lengths);
    g_test_add_func("/inet/zero", test_zero);
    g_test_add_func("/inet/ipv4-right", test_ipv4_right);
    return g_test_run();
}
