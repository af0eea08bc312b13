/*
 * Every payload length from one byte to the longest, in both modes, through a
 * link; and the meta data of packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dll-pair.h"

static void test_lengths(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);
    UbDllConfig cfg;
    unsigned sent = 1, got = 1;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.queue_limit = 64 << 20;
    pair_up(&p, &cfg, &cfg, mode);
    p.chunk = 301; /* no multiple of a block */
    while (got <= ub_payload_max(mode)) {
        for (unsigned n = 0; n < 64 && sent <= ub_payload_max(mode); n++) {
            g_assert_true(pair_send(&p, 0, 0, sent, sent));
            sent++;
        }
        pair_run(&p, 1000000);
        while (got < sent) {
            pair_expect(&p, 1, 0, got, got);
            got++;
        }
    }
    g_assert_false(pair_send(&p, 0, 0, ub_payload_max(mode) + 1, 0));
    pair_check_credits(&p);
    g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->tx_packets, ==,
                     ub_payload_max(mode));
    g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->rx_bytes, ==,
                     ub_dll_stats(p.e[0].dll)->tx_bytes);
    pair_free(&p);
}

/* Pieces of any size pulled and pushed give the same stream. */
static void test_chunks(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);

    for (unsigned chunk = 1; chunk < 40; chunk++) {
        Pair p;

        pair_up(&p, NULL, NULL, mode);
        p.chunk = chunk;
        for (unsigned n = 0; n < 6; n++) {
            g_assert_true(pair_send(&p, n & 1, 0, 900 + chunk * n * 31, n));
        }
        for (unsigned step = 0; step < 40000; step++) {
            uint8_t buf[40 * UB_FLIT_SIZE];

            for (unsigned i = 0; i < 2; i++) {
                size_t k = ub_dll_tx(p.e[i].dll, p.now, buf, chunk);

                ub_dll_rx(p.e[!i].dll, p.now, buf, k, NULL);
            }
        }
        for (unsigned n = 0; n < 6; n++) {
            pair_expect(&p, !(n & 1), 0, 900 + chunk * n * 31, n);
        }
        pair_free(&p);
    }
}

static void test_meta(void)
{
    UbDllConfig cfg;
    CorePacket *pkt;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.mark_err = 1;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    for (unsigned cfg_field = 0; cfg_field < 16; cfg_field++) {
        for (unsigned rt = 0; rt < 4; rt++) {
            bool ok;

            pkt = pair_packet(&p.e[0], rt, cfg_field, 20, 5);
            ub_meta(pkt)->rt = rt;
            ub_meta(pkt)->error = rt == 3;
            ok = ub_dll_send(p.e[0].dll, pkt);
            g_assert_cmpint(ok, ==, ub_lph_cfg_is_dlldp(cfg_field));
            if (!ok) {
                core_packet_free(pkt);
                continue;
            }
            pair_run(&p, 1000000);
            pkt = g_queue_pop_head(p.e[1].got);
            g_assert_cmpuint(ub_meta(pkt)->lph_cfg, ==, cfg_field);
            g_assert_cmpuint(ub_meta(pkt)->rt, ==, rt);
            g_assert_cmpuint(ub_meta(pkt)->vl, ==, rt);
            g_assert_cmpint(ub_meta(pkt)->error, ==, rt == 3);
            /* Headroom for the layers above. */
            g_assert_nonnull(core_packet_push(pkt, 16));
            g_assert_null(core_packet_push(pkt, 1));
            g_assert_nonnull(core_packet_pull(pkt, 36));
            g_assert_null(core_packet_pull(pkt, 1));
            core_packet_free(pkt);
        }
    }
    g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->rx_error_flag, ==, 6);
    g_assert_cmpstr(p.e[1].path->str, ==, ""); /* marked is not damaged */
    pair_free(&p);

    /* MarkErr off: a packet known to be bad is not sent at all. */
    pair_up(&p, NULL, NULL, UB_MODE_NON_CRC);
    pkt = pair_packet(&p.e[0], 0, 6, 20, 5);
    ub_meta(pkt)->error = true;
    g_assert_true(ub_dll_send(p.e[0].dll, pkt));
    pair_run(&p, 1000000);
    g_assert_true(g_queue_is_empty(p.e[1].got));
    g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->tx_dropped, ==, 1);
    pair_check_credits(&p);
    pair_free(&p);
}

/* ERROR_FLAG is in the last DLLDB only (§4.3.2.2.4). */
static unsigned flags_seen, blocks_seen;

static void see_flags(Pair *p, unsigned from, const uint8_t *block,
                      unsigned flits)
{
    if (from == 0 && ub_block_cfg(block)) {
        bool flag = ub_block_error_flag(p->mode, block, flits);

        flags_seen |= flag << blocks_seen++;
    }
}

static void test_error_flag(void)
{
    for (unsigned mode = 0; mode < 2; mode++) {
        UbDllConfig cfg;
        CorePacket *pkt;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.mark_err = 1;
        pair_up(&p, &cfg, &cfg, mode);
        p.see = see_flags;
        flags_seen = blocks_seen = 0;
        pkt = pair_packet(&p.e[0], 0, 6, 3000, 5);
        ub_meta(pkt)->error = true;
        g_assert_true(ub_dll_send(p.e[0].dll, pkt));
        pair_run(&p, 1000000);
        g_assert_cmpuint(blocks_seen, ==, 5);
        /* Other blocks have no END in Non-CRC mode, only payload there. */
        flags_seen &= mode == UB_MODE_CRC ? ~0u : 1 << 4;
        g_assert_cmphex(flags_seen, ==, 1 << 4);
        pkt = g_queue_pop_head(p.e[1].got);
        g_assert_true(ub_meta(pkt)->error);
        g_assert_cmpuint(pkt->len, ==, 3000);
        core_packet_free(pkt);
        pair_free(&p);
    }
}

/* The flag counts in the last DLLDB only, and padding is looked at nowhere
 * (§4.3.2.1): a peer may fill both with what it likes. */
static void test_padding(void)
{
    static const UbBlockFormat crc = { UB_MODE_CRC, UB_CRC_COVER_INFO };
    uint8_t b[2 * UB_BLOCK_SIZE], payload[640];
    unsigned n;
    Pair p;

    for (unsigned i = 0; i < sizeof(payload); i++) {
        payload[i] = pair_byte(7, i);
    }
    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    n = ub_pack_packet(crc, 0, 6, 0, payload, sizeof(payload), false, b, 64);
    g_assert_cmpuint(n, ==, 33);
    b[UB_BLOCK_SIZE - 4] |= 0x40; /* ERROR_FLAG in the first block */
    ub_seal_block(crc, b, 32, true, true);
    memset(b + UB_BLOCK_SIZE + 10, 0xff, 6); /* padding of the last one */
    ub_seal_block(crc, b + UB_BLOCK_SIZE, 1, true, false);
    ub_dll_rx(p.e[1].dll, p.now, b, n, NULL);
    g_assert_false(ub_meta(g_queue_peek_head(p.e[1].got))->error);
    pair_expect(&p, 1, 0, sizeof(payload), 7);
    g_assert_cmpuint(p.e[1].peer_errors, ==, 0);
    pair_free(&p);

    pair_up(&p, NULL, NULL, UB_MODE_NON_CRC);
    n = ub_pack_packet((UbBlockFormat) { UB_MODE_NON_CRC }, 0, 6, 0, payload,
                       5, false, b, 64);
    g_assert_cmpuint(n, ==, 1);
    memset(b + 9, 0xff, 10); /* up to END */
    ub_dll_rx(p.e[1].dll, p.now, b, n, NULL);
    pair_expect(&p, 1, 0, 5, 7);
    pair_free(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/dll/packets/lengths/crc",
                         GUINT_TO_POINTER(UB_MODE_CRC), test_lengths);
    g_test_add_data_func("/dll/packets/lengths/non-crc",
                         GUINT_TO_POINTER(UB_MODE_NON_CRC), test_lengths);
    g_test_add_data_func("/dll/packets/chunks/crc",
                         GUINT_TO_POINTER(UB_MODE_CRC), test_chunks);
    g_test_add_data_func("/dll/packets/chunks/non-crc",
                         GUINT_TO_POINTER(UB_MODE_NON_CRC), test_chunks);
    g_test_add_func("/dll/packets/meta", test_meta);
    g_test_add_func("/dll/packets/error-flag", test_error_flag);
    g_test_add_func("/dll/packets/padding", test_padding);
    return g_test_run();
}
