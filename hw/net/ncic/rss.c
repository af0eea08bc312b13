/*
 * NCIC Ethernet engine: Toeplitz hash (ETH 5.4.2.3)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include "core/bytes.h"
#include "ncic/ncic_hw.h"
#include "ncic/rss.h"

#define INPUT_BYTES 12

const uint8_t ncic_rss_key[NCIC_RSS_KEY_SIZE] = { NCIC_RSS_KEY_BYTES };

/*
 * The hash of an input is the XOR of one 32-bit window of the key for each bit
 * that is set, so the contribution of every value of every input byte can be
 * tabled: twelve look-ups for a frame.
 */
static uint32_t table[INPUT_BYTES][256];

static void fill_table(void)
{
    for (unsigned pos = 0; pos < INPUT_BYTES; pos++) {
        uint64_t window = get_be64(ncic_rss_key + pos);

        for (unsigned value = 0; value < 256; value++) {
            uint32_t hash = 0;

            for (unsigned bit = 0; bit < 8; bit++) {
                if (value & 0x80 >> bit) {
                    hash ^= (uint32_t)(window >> (32 - bit));
                }
            }
            table[pos][value] = hash;
        }
    }
}

static inline void table_init(void)
{
    static gsize once;

    if (g_once_init_enter(&once)) {
        fill_table();
        g_once_init_leave(&once, 1);
    }
}

static uint32_t hash_bytes(const uint8_t *p, unsigned first, unsigned n)
{
    uint32_t hash = 0;

    table_init();
    for (unsigned i = 0; i < n; i++) {
        hash ^= table[first + i][p[i]];
    }
    return hash;
}

uint32_t ncic_rss_ipv4(const uint8_t *addrs)
{
    return hash_bytes(addrs, 0, 8);
}

uint32_t ncic_rss_ports(const uint8_t *ports)
{
    return hash_bytes(ports, 8, 4);
}
