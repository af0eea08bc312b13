/*
 * Toeplitz hash: published vectors and an independent bitwise calculation
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include "core/bytes.h"
#include "ncic/rss.h"

/* "Verifying the RSS hash calculation", IPv4 table, of the Windows driver
 * documentation: the key is the hardware's. */
static const struct {
    uint8_t src[4], dst[4];
    uint16_t sport, dport;
    uint32_t hash_ip, hash_tcp;
} vectors[] = {
    { { 66, 9, 149, 187 }, { 161, 142, 100, 80 }, 2794, 1766,
      0x323e8fc2, 0x51ccc178 },
    { { 199, 92, 111, 2 }, { 65, 69, 140, 83 }, 14230, 4739,
      0xd718262a, 0xc626b0ea },
    { { 24, 19, 198, 95 }, { 12, 22, 207, 184 }, 12898, 38024,
      0xd2d0a5de, 0x5c2b394a },
    { { 38, 27, 205, 30 }, { 209, 142, 163, 6 }, 48228, 2217,
      0x82989176, 0xafc7327f },
    { { 153, 39, 163, 191 }, { 202, 188, 127, 2 }, 44251, 1303,
      0x5d1809c5, 0x10e828a2 },
};

static void test_vectors(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(vectors); i++) {
        uint8_t addrs[8], ports[4];
        uint32_t ip;

        memcpy(addrs, vectors[i].src, 4);
        memcpy(addrs + 4, vectors[i].dst, 4);
        put_be16(ports, vectors[i].sport);
        put_be16(ports + 2, vectors[i].dport);
        ip = ncic_rss_ipv4(addrs);
        g_assert_cmphex(ip, ==, vectors[i].hash_ip);
        g_assert_cmphex(ip ^ ncic_rss_ports(ports), ==, vectors[i].hash_tcp);
    }
}

/* One input bit at a time, the key as a 320-bit shift register. */
static uint32_t bitwise(const uint8_t *input, unsigned len)
{
    uint8_t key[40];
    uint32_t hash = 0;

    memcpy(key, ncic_rss_key, sizeof(key));
    for (unsigned bit = 0; bit < len * 8; bit++) {
        if (input[bit / 8] >> (7 - bit % 8) & 1) {
            hash ^= get_be32(key);
        }
        for (unsigned i = 0; i < sizeof(key); i++) {
            uint8_t next = i + 1 < sizeof(key) ? key[i + 1] : 0;

            key[i] = key[i] << 1 | next >> 7;
        }
    }
    return hash;
}

static void test_bitwise(void)
{
    uint8_t in[12];

    for (unsigned n = 0; n < 2000; n++) {
        for (unsigned i = 0; i < sizeof(in); i++) {
            in[i] = g_test_rand_int();
        }
        g_assert_cmphex(ncic_rss_ipv4(in), ==, bitwise(in, 8));
        g_assert_cmphex(ncic_rss_ipv4(in) ^ ncic_rss_ports(in + 8), ==,
                        bitwise(in, 12));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ncic/rss/published-vectors", test_vectors);
    g_test_add_func("/ncic/rss/bitwise", test_bitwise);
    return g_test_run();
}
