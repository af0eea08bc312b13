/*
 * Where settings and counters meet their limits: a link works up to each and
 * says so beyond it, instead of standing still (UB 2.0 §4.4, §4.6, §4.7.3.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dll-pair.h"

static const UbBlockFormat f = { UB_MODE_CRC, UB_CRC_COVER_INFO };

static UbDllStatus status(Pair *p, unsigned i)
{
    UbDllStatus st;

    ub_dll_status(p->e[i].dll, &st);
    return st;
}

/* @n packets of mixed lengths one way; all must come. */
static void one_way(Pair *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned len = 1 + g_test_rand_int_range(0, 1300);

        g_assert_true(pair_send(p, 0, 0, len, i));
        if (i % 8 == 7) {
            pair_run(p, 1000000);
        }
    }
    pair_run(p, 1000000);
    g_assert_cmpuint(g_queue_get_length(p->e[1].got), ==, n);
    g_assert_cmpuint(status(p, 0).queued[0], ==, 0);
}

/*
 * The sender stands still with 32 + reserve flits free or less.  What is in its
 * buffer then must be worth a unit of CTRL_ACK_GRAIN_SIZE, or no Crd_Ack ever
 * releases it: depth - 32 - reserve flits are the longest unit.
 */
static void test_ack_grain(void)
{
    for (unsigned grain = 1; grain < 256; grain *= 2) {
        for (unsigned reserve = 4; reserve < 30; reserve += 9) {
            unsigned least = MAX(grain + 32 + reserve,
                                 MAX(64, reserve + 48));
            UbDllConfig cfg;
            Pair p;

            ub_dll_config_init(&cfg);
            cfg.crd_ack_reserve = reserve;
            cfg.wish.ctrl_ack_grain = grain;
            cfg.wish.retry_buf_depth = least;
            g_assert_cmpstr(ub_dll_config_check(&cfg), ==, NULL);
            pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
            one_way(&p, 60);
            pair_free(&p);
            if (grain > 16 && grain + 32 + reserve == least) {
                cfg.wish.retry_buf_depth--;
                g_assert_nonnull(ub_dll_config_check(&cfg));
                g_assert_cmpstr(ub_dll_config_check_values(&cfg), ==, NULL);
                /* A shorter unit in the set is enough. */
                cfg.wish.ctrl_ack_grain |= 1;
                g_assert_cmpstr(ub_dll_config_check(&cfg), ==, NULL);
            }
        }
    }
}

/*
 * The mark of a Crd_Ack is within reach: a sender that stands still with just
 * one unit in its buffer, here 16 of 70 flits, gets it released.
 */
static void test_ack_mark(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.crd_ack_reserve = 22;
    cfg.wish.ctrl_ack_grain = 16;
    cfg.wish.retry_buf_depth = 70;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    for (unsigned i = 0; i < 2000; i++) {
        g_assert_true(pair_send(&p, 0, 0, 1 + i * 37 % 1300, i));
        pair_run(&p, 1000000);
        g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, i + 1);
    }
    pair_free(&p);
}

/* The units of headers may be of any length: Crd_Acks serve as well. */
static void test_data_ack_grain(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wish.data_ack_grain = 0x80;
    cfg.wish.retry_buf_depth = 64;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    for (unsigned n = 0; n < 200; n++) {
        g_assert_true(pair_send(&p, 0, 0, 1 + n * 7, n));
        g_assert_true(pair_send(&p, 1, 0, 1 + n * 5, n));
    }
    pair_run(&p, 1000000);
    g_assert_cmpuint(g_queue_get_length(p.e[0].got), ==, 200);
    g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 200);
    pair_free(&p);
}

/* Sets whose common unit is too long for one end's buffer: both ends say so,
 * and neither reaches DLL_Normal only to stand still. */
static void test_agreed_grain(void)
{
    UbDllConfig small, large;
    Pair p;

    ub_dll_config_init(&small);
    ub_dll_config_init(&large);
    small.wish.retry_buf_depth = 64;
    small.wish.ctrl_ack_grain = 0x81;
    large.wish.ctrl_ack_grain = 0x80;
    pair_init(&p, &small, &large);
    pair_link(&p);
    pair_run(&p, 1000000);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(p.e[i].errors[UB_DLL_ERR_PROTOCOL], ==, 1);
        g_assert_true(p.e[i].fatal);
        g_assert_false(p.e[i].up);
    }
    pair_free(&p);

    /* 28 flits are the longest unit of 64: 32 does not fit, 16 does. */
    small.wish.ctrl_ack_grain = 0x31;
    large.wish.ctrl_ack_grain = 0x20;
    pair_init(&p, &small, &large);
    pair_link(&p);
    pair_run(&p, 1000000);
    g_assert_true(p.e[0].fatal);
    pair_free(&p);
    large.wish.ctrl_ack_grain = 0x10;
    pair_up(&p, &small, &large, UB_MODE_CRC);
    one_way(&p, 60);
    pair_free(&p);
}

/* Marks for Crd_Acks that the peer's buffer or credits cannot reach. */
static void test_marks(void)
{
    static const unsigned depths[] = { 64, 128, 200, 4096 };

    for (unsigned i = 0; i < G_N_ELEMENTS(depths); i++) {
        UbDllConfig cfg;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.wish.retry_buf_depth = depths[i];
        cfg.ack_return = cfg.ack_force = UINT16_MAX;
        cfg.crd_return[0] = cfg.crd_force[0] = UINT16_MAX;
        cfg.credit_timeout = cfg.keepalive = 0;
        cfg.init_credit[0] = 70;
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        one_way(&p, 200);
        g_assert_true(pair_send(&p, 0, 0, 10142, 1));
        pair_run(&p, 1000000);
        g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 201);
        pair_free(&p);
    }
}

static unsigned crd_acks;

static void count_crd_acks(Pair *p, unsigned from, const uint8_t *block,
                           unsigned flits)
{
    crd_acks += from == 1 && !ub_block_cfg(block) &&
                ub_lch_type(block) == UB_CB_CRD_ACK;
}

/* Marks within reach are kept to the flit and to the cell. */
static void test_marks_exact(void)
{
    UbDllConfig cfg;
    Pair p;

    /* Credits: 10 cells of one packet each. */
    ub_dll_config_init(&cfg);
    cfg.crd_return[0] = 10;
    pair_up(&p, NULL, &cfg, UB_MODE_CRC);
    p.see = count_crd_acks;
    for (unsigned n = 1; n <= 20; n++) {
        crd_acks = 0;
        g_assert_true(pair_send(&p, 0, 0, 10, n));
        pair_run(&p, 1000000);
        g_assert_cmpuint(crd_acks, ==, n % 10 == 0);
    }
    pair_free(&p);

    /* ACKs: flits up to the mark, with credits of their own kept back. */
    ub_dll_config_init(&cfg);
    cfg.ack_return = 1000;
    cfg.crd_return[0] = 4000;
    pair_up(&p, NULL, &cfg, UB_MODE_CRC);
    p.see = count_crd_acks;
    crd_acks = 0;
    while (status(&p, 1).ack_pending < 999) {
        g_assert_true(pair_send(&p, 0, 0, 1, 0));
        pair_run(&p, 1000000);
    }
    g_assert_cmpuint(crd_acks, ==, 0);
    g_assert_true(pair_send(&p, 0, 0, 1, 0));
    pair_run(&p, 1000000);
    g_assert_cmpuint(crd_acks, ==, 1);
    g_assert_cmpuint(status(&p, 1).ack_pending, ==, 0);
    pair_free(&p);
}

/* A packet that costs more than its VL was ever granted is refused at once, in
 * either way of sharing; one that costs just that much passes. */
static void test_never_credit(void)
{
    UbDllConfig a, b;
    Pair p;

    for (unsigned share = 0; share < 2; share++) {
        ub_dll_config_init(&a);
        ub_dll_config_init(&b);
        a.wish.vl_enable = 3;
        a.tx_share = share;
        a.share_quota[0] = 6;
        a.share_quota[1] = 4;
        b.init_credit[0] = 8;
        b.init_credit[1] = 6;
        pair_up(&p, &a, &b, UB_MODE_CRC);
        /* 14 cells in all; of those VL 1 keeps 4 and VL 0 keeps 6. */
        for (unsigned vl = 0; vl < 2; vl++) {
            unsigned most = share ? vl ? 8 : 10 : vl ? 6 : 8;
            unsigned fits = 0;

            for (unsigned len = 1; len < 4000; len++) {
                UbPlength shape;

                g_assert_true(ub_plength_of(UB_MODE_CRC, len, &shape));
                if ((ub_plength_flits(shape) + 7) / 8 <= most) {
                    fits = len;
                }
            }
            g_assert_false(pair_send(&p, 0, vl, fits + 1, 0));
            for (unsigned n = 0; n < 3; n++) {
                g_assert_true(pair_send(&p, 0, vl, fits, n));
                pair_run(&p, 1000000);
                pair_expect(&p, 1, vl, fits, n);
            }
        }
        g_assert_false(p.e[0].fatal || p.e[1].fatal);
        pair_free(&p);
    }
}

/* A mode change may make a packet that waits longer than its credit. */
static void test_outgrown(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wish.flow_ctrl_size = 1;
    cfg.init_credit[0] = 32;
    pair_up(&p, &cfg, &cfg, UB_MODE_NON_CRC);
    p.manual = true;
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    /* 635 bytes are 32 flits with END, 33 with a BCRC in each block. */
    g_assert_true(pair_send(&p, 0, 0, 635, 1));
    g_assert_true(pair_send(&p, 0, 0, 600, 2));
    pair_run(&p, 100000);
    g_assert_true(g_queue_is_empty(p.e[1].got));
    p.next_mode = UB_MODE_CRC;
    pair_retrain_both(&p);
    pair_run(&p, 1000000);
    pair_expect(&p, 1, 0, 600, 2);
    g_assert_true(g_queue_is_empty(p.e[1].got));
    g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->tx_dropped, ==, 1);
    pair_free(&p);
}

/* An ACK may release all that the Retry Buffer holds, and not a flit more
 * (§4.7.3.2.2), whichever block brings it. */
static void test_ack_boundary(void)
{
    for (unsigned header = 0; header < 2; header++) {
        for (int beyond = 0; beyond < 2; beyond++) {
            uint8_t b[2 * UB_FLIT_SIZE], one = 0;
            unsigned used, n;
            Pair p;

            pair_up(&p, NULL, NULL, UB_MODE_CRC);
            used = status(&p, 0).depth - status(&p, 0).num_free_buf;
            g_assert_cmpuint(used, >, 0);
            n = ub_put_crd_ack(f, b, &(UbCrdAck) { .ack_num = used });
            ub_dll_rx(p.e[0].dll, p.now, b, n, NULL);
            g_assert_false(p.e[0].fatal);
            g_assert_cmpuint(status(&p, 0).num_free_buf, ==,
                             status(&p, 0).depth);
            g_assert_cmpuint(status(&p, 0).tail_ptr, ==,
                             status(&p, 0).wr_ptr);
            /* 32 flits: a header's unit, one less if it shall be too much. */
            g_assert_true(pair_send(&p, 0, 0, beyond ? 612 : 632, 0));
            g_assert_cmpuint(pair_pull(&p, 0), ==, 32 - beyond);
            if (header) {
                n = ub_pack_packet(f, 0, 6, 0, &one, 1, false, b, 1);
                b[0] |= 0x40;
                ub_seal_block(f, b, n, true, false);
            } else {
                n = ub_put_crd_ack(f, b, &(UbCrdAck) { .ack_num = 32 });
            }
            ub_dll_rx(p.e[0].dll, p.now, b, n, NULL);
            g_assert_cmpint(p.e[0].fatal, ==, beyond);
            g_assert_cmpuint(p.e[0].errors[UB_DLL_ERR_PROTOCOL], ==, beyond);
            pair_free(&p);
        }
    }
}

/* Each value has its bounds, and the check is true to them. */
static void test_bounds(void)
{
    UbDllConfig cfg;

#define BOUND(field, good, bad) \
    do { \
        ub_dll_config_init(&cfg); \
        cfg.field = (good); \
        g_assert_cmpstr(ub_dll_config_check(&cfg), ==, NULL); \
        cfg.field = (bad); \
        g_assert_nonnull(ub_dll_config_check(&cfg)); \
        g_assert_nonnull(ub_dll_config_check_values(&cfg)); \
    } while (0)
    BOUND(wish.retry_buf_depth, 64, 63);
    BOUND(wish.retry_buf_depth, 65535, 65536);
    BOUND(wish.retry_buf_depth, 65535, 0x10400);
    BOUND(crd_ack_reserve, 4, 3);
    BOUND(crd_ack_reserve, 8192 - 48, 8192 - 47);
    BOUND(num_retry_threshold, 2, 1);
    BOUND(num_retry_threshold, 254, 255);
    BOUND(num_phy_reinit_threshold, 1, 0);
    BOUND(wait_timeout, 1, 0);
    BOUND(credit_timeout, 0, -1);
    BOUND(keepalive, 0, -1);
    BOUND(credit_delay, 0, -1);
    BOUND(mode_timeout, 0, -1);
    BOUND(block_timeout, 0, -1);
    BOUND(init_flits, 5, 4);
    BOUND(init_flits, 32, 33);
    BOUND(retry_set_run, 2, 1);
    BOUND(retry_set_run, 33, 34);
    BOUND(crc_cover, 1, 2);
    BOUND(fault_credit, 2, 3);
#undef BOUND
    /* 65535 cells in all, and what each VL has by itself is no fault. */
    ub_dll_config_init(&cfg);
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        cfg.init_credit[vl] = 4095 + (vl < 15);
    }
    g_assert_cmpstr(ub_dll_config_check(&cfg), ==, NULL);
    cfg.init_credit[15]++;
    g_assert_nonnull(ub_dll_config_check(&cfg));
    g_assert_cmpstr(ub_dll_config_check_values(&cfg), ==, NULL);
}

/* The defaults, as the header and the decisions tell them. */
static void test_defaults(void)
{
    const int64_t second = 1000000000;
    UbDllConfig cfg;

    ub_dll_config_init(&cfg);
    g_assert_cmpint(cfg.wait_timeout, ==, 64000);
    g_assert_cmpint(cfg.credit_timeout, ==, 10 * second);
    g_assert_cmpint(cfg.keepalive, ==, 2 * second);
    g_assert_cmpint(cfg.credit_delay, ==, second / 1000);
    g_assert_cmpint(cfg.mode_timeout, ==, second);
    g_assert_cmpint(cfg.block_timeout, ==, second / 1000);
    g_assert_cmpuint(cfg.num_retry_threshold, ==, 15);
    g_assert_cmpuint(cfg.num_phy_reinit_threshold, ==, 4);
    g_assert_cmpuint(cfg.crd_ack_reserve, ==, 4);
    g_assert_cmpuint(cfg.queue_limit, ==, 1 << 20);
    g_assert_cmpuint(cfg.init_flits, ==, 5);
    g_assert_cmpuint(cfg.retry_set_run, ==, 32);
    g_assert_cmpuint(cfg.wish.feature_id, ==, 1);
    g_assert_cmphex(cfg.wish.vl_enable, ==, 0x00ff);
    g_assert_cmpuint(cfg.wish.retry_buf_depth, ==, 8192);
    g_assert_cmpuint(cfg.wish.rxbuf_vl_share, ==, 1);
    g_assert_cmpuint(cfg.wish.data_ack_grain, ==, 32);
    g_assert_cmpuint(cfg.wish.ctrl_ack_grain, ==, 1);
    g_assert_cmpuint(cfg.wish.flow_ctrl_size, ==, 8);
    g_assert_cmpuint(cfg.wish.packet_min_interval, ==, 1);
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        g_assert_cmpuint(cfg.wish.ctrl_credit_grain[vl], ==, 1);
        g_assert_cmpuint(cfg.wish.data_credit_grain[vl], ==, 4);
        g_assert_cmpuint(cfg.init_credit[vl], ==,
                         vl == 0 ? 4096 : vl < 8 ? 512 : 0);
    }
}

/* Headers return the credits of one VL after the other. */
static GString *returned;

static void note_returns(Pair *p, unsigned from, const uint8_t *block,
                         unsigned flits)
{
    if (from == 1 && ub_block_cfg(block) && block[0] >> 7) {
        g_string_append_printf(returned, "%u", block[0] >> 2 & 15);
    }
}

static void test_return_turns(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    memset(cfg.wish.data_credit_grain, 1, UB_VLS);
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.see = note_returns;
    returned = g_string_new("");
    p.e[1].hold = true;
    for (unsigned n = 0; n < 12; n++) {
        g_assert_true(pair_send(&p, 0, n % 3 + 1, 10, n));
    }
    pair_run(&p, 1000000);
    for (unsigned n = 0; n < 12; n++) {
        g_assert_true(pair_send(&p, 1, 0, 10, n));
    }
    pair_release_all(&p.e[1]);
    pair_run(&p, 1000000);
    g_assert_cmpstr(returned->str, ==, "123123123123");
    pair_check_credits(&p);
    g_string_free(returned, true);
    pair_free(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dll/limits/ack-grain", test_ack_grain);
    g_test_add_func("/dll/limits/ack-mark", test_ack_mark);
    g_test_add_func("/dll/limits/data-ack-grain", test_data_ack_grain);
    g_test_add_func("/dll/limits/agreed-grain", test_agreed_grain);
    g_test_add_func("/dll/limits/marks", test_marks);
    g_test_add_func("/dll/limits/marks-exact", test_marks_exact);
    g_test_add_func("/dll/limits/never-credit", test_never_credit);
    g_test_add_func("/dll/limits/outgrown", test_outgrown);
    g_test_add_func("/dll/limits/ack-boundary", test_ack_boundary);
    g_test_add_func("/dll/limits/bounds", test_bounds);
    g_test_add_func("/dll/limits/defaults", test_defaults);
    g_test_add_func("/dll/limits/return-turns", test_return_turns);
    return g_test_run();
}
