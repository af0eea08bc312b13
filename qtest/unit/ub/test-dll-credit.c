/*
 * Credits, virtual lanes, packet spacing, and the exceptions of UB 2.0 §4.8
 * that come from them.
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

static void drain(Pair *p, unsigned at)
{
    CorePacket *pkt;

    while ((pkt = g_queue_pop_head(p->e[at].got))) {
        core_packet_free(pkt);
    }
}

/* ceil(flits / cell) per DLLDP, for every cell size (§4.6.2 note 3). */
static void test_cost(void)
{
    for (unsigned size = 1; size; size = size << 1 & 0xff) {
        UbDllConfig cfg;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.wish.flow_ctrl_size = size;
        cfg.credit_delay = 0;
        memset(cfg.wish.data_credit_grain, 1, UB_VLS);
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        p.e[1].hold = true;
        for (unsigned len = 1; len < 10142; len = len * 3 / 2 + 1) {
            uint32_t before = status(&p, 0).tx_credit[0];
            UbPlength shape;
            unsigned flits;

            ub_plength_of(UB_MODE_CRC, len, &shape);
            flits = ub_plength_flits(shape);
            g_assert_true(pair_send(&p, 0, 0, len, 1));
            pair_run(&p, 100000);
            g_assert_cmpuint(before - status(&p, 0).tx_credit[0], ==,
                             flits / size + !!(flits % size));
            pair_check_credits(&p);
            drain(&p, 1);
            pair_release_all(&p.e[1]);
            pair_run(&p, 100000);
            g_assert_cmpuint(status(&p, 0).tx_credit[0], ==, before);
        }
        pair_free(&p);
    }
}

/* A consumer that stops: sending stops at the exact cell, the other VLs go
 * on, and everything continues when the buffer is released. */
static void test_stall(void)
{
    UbDllConfig cfg;
    unsigned kicks;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.init_credit[0] = 100;
    cfg.credit_timeout = 0;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.e[1].hold = true;
    for (unsigned n = 0; n < 150; n++) {
        g_assert_true(pair_send(&p, 0, 0, 10, n));
    }
    pair_run(&p, 1000000);
    g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 100);
    g_assert_cmpuint(status(&p, 0).tx_credit[0], ==, 0);
    g_assert_cmpuint(status(&p, 0).queued[0], ==, 50);
    g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->tx_blocked_credit, >, 0);
    /* Who sleeps until there are credits is woken, once, for whom they are not needed. */
    kicks = p.e[0].kicks;
    for (unsigned n = 0; n < 20; n++) {
        g_assert_true(pair_send(&p, 0, 1, 10, n));
        g_assert_cmpuint(p.e[0].kicks, ==, kicks + 1);
    }
    pair_run(&p, 1000000);
    g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 120);
    pair_check_credits(&p);
    pair_release_all(&p.e[1]);
    pair_run(&p, 1000000);
    g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 170);
    pair_release_all(&p.e[1]);
    pair_run(&p, 1000000);
    pair_check_credits(&p);
    g_assert_cmpuint(status(&p, 0).tx_credit[0], ==, 100);
    pair_free(&p);
}

/* A packet of several cells waits for all of them, one less is not enough;
 * blocks of the layer itself need none and pass (§4.5.1, §4.6.2). */
static void test_stall_exact(void)
{
    static const UbLaneManage lm = { .req = true, .tlw = 1 };
    const uint32_t words[3] = { 1, 2, 3 };
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wish.flow_ctrl_size = 1;
    cfg.wish.vl_enable = 1;
    cfg.init_credit[0] = 11;
    cfg.credit_timeout = 0;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.e[1].hold = true;
    g_assert_true(pair_send(&p, 0, 0, 40, 0)); /* 3 flits, 8 are left */
    g_assert_true(pair_send(&p, 0, 0, 100, 1)); /* 6 flits, 2 are left */
    g_assert_true(pair_send(&p, 0, 0, 40, 2)); /* 3 flits */
    pair_run(&p, 1000000);
    g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 2);
    g_assert_cmpuint(status(&p, 0).tx_credit[0], ==, 2);

    g_assert_true(ub_dll_send_lane_manage(p.e[0].dll, &lm));
    g_assert_true(ub_dll_send_param_exchg(p.e[0].dll, words, 3));
    pair_send(&p, 1, 0, 100, 9); /* whose credit comes back all the same */
    pair_run(&p, 1000000);
    g_assert_cmpuint(p.e[1].lms, ==, 1);
    g_assert_cmpuint(p.e[1].pxs, ==, 3);
    g_assert_cmpuint(status(&p, 1).tx_credit[0], ==, 11);
    g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 2);

    pair_release_all(&p.e[1]);
    pair_run(&p, 1000000);
    g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 3);
    pair_check_credits(&p);
    pair_free(&p);
}

/* Each VL in use has credit of its own in shared mode, whatever the others
 * take, configured or not, and however much is asked for (§4.6.1.3). */
static void test_shared_each(void)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        UbDllConfig a, b;
        UbDllStatus st;
        Pair p;

        ub_dll_config_init(&a);
        ub_dll_config_init(&b);
        a.tx_share = 1;
        a.credit_timeout = 0;
        a.queue_limit = 8 << 20;
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            b.init_credit[vl] = vl < 8 ? 100 : 0;
            a.share_quota[vl] = kind == 1 ? 7 : kind == 2 ? 60000 : 0;
        }
        pair_up(&p, &a, &b, UB_MODE_CRC);
        st = status(&p, 0);
        /* 800 cells, 100 for each VL; the longest packet takes 64. */
        for (unsigned vl = 0; vl < 8; vl++) {
            g_assert_cmpuint(st.tx_credit[vl], ==,
                             kind == 0 ? 50 : kind == 1 ? 7 : 100);
        }
        g_assert_cmpuint(st.tx_credit[8], ==, 0);
        g_assert_false(pair_send(&p, 0, 8, 10, 0)); /* not in use */
        g_assert_cmpuint(st.tx_credit_shared, ==,
                         kind == 0 ? 400 : kind == 1 ? 744 : 0);
        p.e[1].hold = true;
        for (unsigned n = 0; n < 1000; n++) {
            g_assert_true(pair_send(&p, 0, 3, 10, n));
        }
        pair_run(&p, 100000);
        g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==,
                         kind == 0 ? 450 : kind == 1 ? 751 : 100);
        drain(&p, 1);
        for (unsigned vl = 0; vl < 8; vl++) {
            g_assert_true(vl == 3 || pair_send(&p, 0, vl, 10, vl));
        }
        pair_run(&p, 100000);
        g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 7);
        pair_check_credits(&p);
        pair_free(&p);
    }
}

/* The example of §4.6.1.3: 6553 cells, 128 exclusive for each of two VLs,
 * SHARE_CRD 6297; shared first, then the VL's own; refilled on return. */
static void test_shared(void)
{
    UbDllConfig a, b;
    UbDllStatus st;
    Pair p;

    ub_dll_config_init(&a);
    ub_dll_config_init(&b);
    a.wish.vl_enable = b.wish.vl_enable = 3;
    a.tx_share = 1;
    a.share_quota[0] = a.share_quota[1] = 128;
    g_assert_cmpuint(1024 * 1024 / (8 * UB_FLIT_SIZE), ==, 6553);
    b.init_credit[0] = 6553 - 553;
    b.init_credit[1] = 553;
    for (unsigned vl = 2; vl < UB_VLS; vl++) {
        b.init_credit[vl] = 0;
    }
    memset(a.wish.data_credit_grain, 1, UB_VLS);
    memset(b.wish.data_credit_grain, 1, UB_VLS);
    a.credit_timeout = 0;
    pair_up(&p, &a, &b, UB_MODE_CRC);
    st = status(&p, 0);
    g_assert_true(st.tx_shared);
    g_assert_false(status(&p, 1).tx_shared);
    g_assert_cmpuint(st.tx_credit[0], ==, 128);
    g_assert_cmpuint(st.tx_credit[1], ==, 128);
    g_assert_cmpuint(st.tx_credit_shared, ==, 6297);

    /* VL 1 uses more than it was granted by itself: 6297 - 64 cells. */
    p.e[1].hold = true;
    for (unsigned n = 0; n < 6297 - 64; n++) {
        g_assert_true(pair_send(&p, 0, 1, 10, n));
        if (n % 512 == 0) {
            pair_run(&p, 100000);
        }
    }
    pair_run(&p, 100000);
    st = status(&p, 0);
    g_assert_cmpuint(st.tx_credit_shared, ==, 64);
    /* 128 cells are two of the longest DLLDPs: the first takes the 64 shared
     * ones, the second 64 of the VL's own. */
    g_assert_true(pair_send(&p, 0, 1, 10142, 1));
    g_assert_true(pair_send(&p, 0, 1, 10142, 2));
    pair_run(&p, 100000);
    st = status(&p, 0);
    g_assert_cmpuint(st.tx_credit_shared, ==, 0);
    g_assert_cmpuint(st.tx_credit[1], ==, 64);
    g_assert_cmpuint(st.tx_credit[0], ==, 128);
    pair_check_credits(&p);
    drain(&p, 1);
    pair_release_all(&p.e[1]);
    pair_run(&p, 2 * b.credit_delay);
    st = status(&p, 0);
    g_assert_cmpuint(st.tx_credit[1], ==, 128);
    g_assert_cmpuint(st.tx_credit_shared, ==, 6297);
    pair_check_credits(&p);
    g_assert_cmpuint(p.e[0].fatal + p.e[1].fatal, ==, 0);
    pair_free(&p);
}

static unsigned count_crd, count_header, count_acks;

static void count_returns(Pair *p, unsigned from, const uint8_t *block,
                          unsigned flits)
{
    if (from == 1 && !ub_block_cfg(block)) {
        count_crd += ub_lch_type(block) == UB_CB_CRD_ACK;
    } else if (from == 1) {
        count_header += block[0] >> 7;
        count_acks += block[0] >> 6 & 1;
    }
}

/* With DLLDPs on the way back credits and ACKs ride in their headers, without
 * them in Crd_Acks (§4.6.3, §4.7.3.2.3). */
static void test_return_path(void)
{
    Pair p;

    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    p.see = count_returns;
    count_crd = count_header = count_acks = 0;
    for (unsigned n = 0; n < 20; n++) {
        pair_send(&p, 0, 0, 600, n);
    }
    pair_run(&p, 2000000);
    g_assert_cmpuint(count_crd, >, 0);
    g_assert_cmpuint(count_header + count_acks, ==, 0);

    count_crd = 0;
    for (unsigned n = 0; n < 200; n++) {
        pair_send(&p, 0, 0, 600, n);
        pair_send(&p, 1, 0, 16, n);
        pair_send(&p, 1, 0, 20, n);
        pair_step(&p);
    }
    g_assert_cmpuint(count_header, >, 100);
    g_assert_cmpuint(count_acks, >, 100);
    pair_run(&p, 1000000);
    pair_check_credits(&p);
    pair_free(&p);
}

/* What there is to do until @at, which comes whatever happens. */
static void run_to(Pair *p, int64_t at)
{
    pair_run(p, at - p->now);
    p->now = MAX(p->now, at);
    pair_run(p, 0);
}

/*
 * Without a DLLDP to carry it an eighth of the credit goes back at once, less of it waits
 * for one, a millisecond at most; with a mark of one's own, for ever (§4.6.3).
 */
static void test_return_late(void)
{
    static const struct { int64_t delay; uint16_t mark; } ways[] = {
        { 1000000, 0 }, { 0, 0 }, { 1000000, 500 }, { 1000000, 1 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        bool at_once = !ways[i].delay || ways[i].mark == 1;
        unsigned eighth = ways[i].mark > 1 ? ways[i].mark : 4096 / 8;
        UbDllConfig cfg;
        int64_t begun;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.credit_delay = ways[i].delay;
        cfg.crd_return[0] = ways[i].mark;
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        p.see = count_returns;
        count_crd = count_header = 0;
        begun = p.now;
        /* A cell each. */
        for (unsigned n = 0; n < eighth - 1; n++) {
            pair_send(&p, 0, 0, 16, n);
            if (at_once) {
                pair_run(&p, 1000);
                g_assert_cmpuint(count_crd, ==, n + 1);
            }
        }
        run_to(&p, begun + 900000);
        g_assert_cmpuint(count_crd, ==, at_once ? eighth - 1 : 0);
        if (!at_once && ways[i].mark) {
            /* There is no other time that it is waited for. */
            run_to(&p, begun + 20 * INT64_C(1000000));
            g_assert_cmpuint(count_crd, ==, 0);
            g_assert_cmpuint(status(&p, 0).tx_credit[0], ==, 4096 - eighth + 1);
            pair_send(&p, 0, 0, 16, 1);
            pair_run(&p, 1000);
            g_assert_cmpuint(count_crd, ==, 1);
        } else if (!at_once) {
            /* A DLLDP takes four, and the time goes on; then the rest goes. */
            pair_send(&p, 1, 0, 16, 1);
            pair_run(&p, 1000);
            g_assert_cmpuint(count_header, ==, 1);
            g_assert_cmpuint(count_crd, ==, 0);
            run_to(&p, begun + 1200000);
            /* 63 in each. */
            g_assert_cmpuint(count_crd, ==, (eighth - 1 - 4 + 62) / 63);
            count_crd = 0;
            g_assert_cmpuint(status(&p, 0).tx_credit[0], ==, 4096);
            /* A new one has a new time. */
            pair_send(&p, 0, 0, 16, 1);
            run_to(&p, p.now + 900000);
            g_assert_cmpuint(count_crd, ==, 0);
            /* As many as an eighth do not wait. */
            for (unsigned n = 0; n < eighth - 1; n++) {
                pair_send(&p, 0, 0, 16, n);
            }
            pair_run(&p, 50000);
            g_assert_cmpuint(count_crd, ==, 1);
        }
        run_to(&p, p.now + 2000000);
        g_assert_cmpuint(status(&p, 0).tx_credit[0], ==,
                         ways[i].mark > 1 ? 4096 - (eighth - 63) : 4096);
        pair_check_credits(&p);
        pair_free(&p);
    }
}

/* Two idle ends fall silent: Crd_Acks are not answered with Crd_Acks. */
static void test_no_ping_pong(void)
{
    static const uint16_t depths[] = { 64, 200, 8192 };

    for (size_t i = 0; i < G_N_ELEMENTS(depths); i++) {
        UbDllConfig cfg;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.wish.retry_buf_depth = depths[i];
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        for (unsigned n = 0; n < 50; n++) {
            pair_send(&p, n & 1, 0, 2000, n);
        }
        pair_run(&p, 10 * cfg.credit_delay);
        g_assert_cmpuint(pair_pull(&p, 0) + pair_pull(&p, 1), ==, 0);
        g_assert_cmpint(MIN(ub_dll_poll(p.e[0].dll, p.now),
                            ub_dll_poll(p.e[1].dll, p.now)), ==, INT64_MAX);
        pair_free(&p);
    }
}

/* Credits above the per-VL mark go out before the next DLLDP. */
static void test_forced(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wish.data_credit_grain[0] = 0x80; /* headers cannot return these */
    cfg.crd_force[0] = 5;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.see = count_returns;
    count_crd = count_header = 0;
    for (unsigned n = 0; n < 6; n++) {
        pair_send(&p, 0, 0, 10, n);
    }
    /* More than the Retry Buffer takes at once. */
    for (unsigned n = 0; n < 100; n++) {
        pair_send(&p, 1, 0, 3000, n);
    }
    pair_step(&p);
    pair_step(&p);
    g_assert_cmpuint(count_crd, >=, 1);
    g_assert_cmpuint(count_header, ==, 0);
    pair_run(&p, 1000000);
    pair_check_credits(&p);
    pair_free(&p);
}

/* Both Retry Buffers as small as they may be and both directions full. */
static void test_interlock(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wish.retry_buf_depth = 64;
    cfg.queue_limit = 8 << 20;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    for (unsigned n = 0; n < 2000; n++) {
        for (unsigned i = 0; i < 2; i++) {
            g_assert_true(pair_send(&p, i, n % 8, 1 + n * 7 % 1500, n / 8));
        }
    }
    pair_run(&p, 1000000);
    g_assert_cmpuint(g_queue_get_length(p.e[0].got), ==, 2000);
    g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 2000);
    pair_check_credits(&p);
    pair_free(&p);
}

/* Order inside a VL, weights among VLs, strict ones first. */
static void test_scheduling(void)
{
    unsigned flits[UB_VLS] = { 0 }, next[UB_VLS] = { 0 };
    UbDllConfig cfg;
    CorePacket *pkt;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.queue_limit = 8 << 20;
    for (unsigned vl = 0; vl < 8; vl++) {
        cfg.init_credit[vl] = 8000;
    }
    cfg.vl_weight[1] = 3;
    cfg.vl_strict = 1 << 6;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    for (unsigned n = 0; n < 3000; n++) {
        pair_send(&p, 0, 0, 12, n);
        pair_send(&p, 0, 1, 1200, n);
        if (n < 5) {
            pair_send(&p, 0, 6, 100, n);
        }
    }
    {
        g_autofree uint8_t *buf = g_malloc(8000 * UB_FLIT_SIZE);
        size_t n = ub_dll_tx(p.e[0].dll, p.now, buf, 8000);

        ub_dll_rx(p.e[1].dll, p.now, buf, n, NULL);
    }
    for (unsigned i = 0; (pkt = g_queue_pop_head(p.e[1].got)); i++) {
        UbPlength shape;

        if (i < 5) {
            g_assert_cmpuint(ub_meta(pkt)->vl, ==, 6);
        }
        g_assert_cmphex(core_packet_data(pkt)[0], ==,
                        (next[ub_meta(pkt)->vl]++ & 0xff));
        ub_plength_of(UB_MODE_CRC, pkt->len, &shape);
        flits[ub_meta(pkt)->vl] += ub_plength_flits(shape);
        core_packet_free(pkt);
    }
    g_assert_cmpuint(flits[0], >, 1000);
    g_assert_cmpuint(flits[1], >, flits[0] * 5 / 2);
    g_assert_cmpuint(flits[1], <, flits[0] * 7 / 2);
    pair_free(&p);
}

/* Queue limits, and the word when there is room again. */
static void test_queue(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.queue_limit = 95; /* bytes: the tenth packet goes beyond */
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    for (unsigned n = 0; n < 10; n++) {
        g_assert_true(pair_send(&p, 0, 2, 10, n));
    }
    g_assert_false(pair_send(&p, 0, 2, 10, 10));
    g_assert_true(ub_dll_full(p.e[0].dll, 2));
    g_assert_false(ub_dll_full(p.e[0].dll, UB_VLS));
    g_assert_true(pair_send(&p, 0, 3, 10, 0));
    g_assert_false(pair_send(&p, 0, 8, 10, 0)); /* VL not in use */
    g_assert_cmpuint(p.e[0].tx_space, ==, 0);
    g_assert_cmpuint(p.e[0].kicks, >, 0);
    pair_run(&p, 1000000);
    g_assert_cmphex(p.e[0].tx_space, ==, 1 << 2);
    /* Who was told is not told again. */
    p.e[0].tx_space = 0;
    for (unsigned n = 10; n < 15; n++) {
        g_assert_true(pair_send(&p, 0, 2, 10, n));
    }
    pair_run(&p, 1000000);
    g_assert_cmphex(p.e[0].tx_space, ==, 0);
    pair_free(&p);
}

/* First flit to first flit of DLLDPs at least the peer's interval, filled
 * with No_Operation right behind short ones (§4.3.3.3). */
static int last_sop;
static unsigned flit_no, nobs, min_gap;

static void measure(Pair *p, unsigned from, const uint8_t *block,
                    unsigned flits)
{
    if (from == 0) {
        if (ub_block_cfg(block)) { /* packets of one block only */
            if (last_sop >= 0) {
                min_gap = MIN(min_gap, flit_no - last_sop);
            }
            last_sop = flit_no;
        }
        nobs += !ub_block_cfg(block) && ub_lch_type(block) == UB_CB_NOB;
        flit_no += flits;
    }
}

static void test_interval(void)
{
    for (unsigned interval = 1; interval < 40; interval += 3) {
        UbDllConfig cfg;
        CorePacket *pkt;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.wish.packet_min_interval = interval;
        pair_up(&p, NULL, &cfg, UB_MODE_CRC);
        p.see = measure;
        last_sop = -1;
        flit_no = nobs = 0;
        min_gap = 1000;
        for (unsigned n = 0; n < 30; n++) {
            pkt = core_packet_alloc(p.e[0].pool, 12);
            memset(core_packet_data(pkt), 0x77, 12);
            ub_meta(pkt)->lph_cfg = 6;
            g_assert_true(ub_dll_send(p.e[0].dll, pkt));
        }
        pair_run(&p, 1000000);
        g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 30);
        g_assert_cmpuint(min_gap, ==, interval);
        g_assert_cmpuint(nobs, ==, 30 * (interval - 1));
        g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->tx_nob, ==, nobs);
        pair_free(&p);
    }
}

/* ------------------------------------------------- exceptions of §4.8 --- */

static void give(Pair *p, unsigned to, const uint8_t *blocks, unsigned n)
{
    ub_dll_rx(p->e[to].dll, p->now, blocks, n, NULL);
}

static void expect_fatal(Pair *p, unsigned at, UbDllError err)
{
    g_assert_cmpuint(p->e[at].errors[err], ==, 1);
    g_assert_true(p->e[at].fatal);
    g_assert_false(p->e[at].up);
    g_assert_false(pair_send(p, at, 0, 10, 1));
    g_assert_cmpuint(pair_pull(p, at), ==, 0);
    g_assert_cmpint(ub_dll_poll(p->e[at].dll, p->now), ==, INT64_MAX);
    g_assert_true(status(p, at).fatal);
    /* Link down and up do not heal it, a port reset does. */
    ub_dll_phy_down(p->e[at].dll, p->now);
    ub_dll_phy_up(p->e[at].dll, p->now);
    g_assert_cmpint(status(p, at).state, ==, UB_DLL_DISABLED);
    ub_dll_reset(p->e[at].dll, p->now);
    ub_dll_phy_up(p->e[at].dll, p->now);
    g_assert_cmpint(status(p, at).state, ==, UB_DLL_PARAM_INIT);
}

static void test_rx_overflow(void)
{
    uint8_t b[UB_DLLDP_FLITS * UB_FLIT_SIZE];
    uint8_t payload[10142] = { 0 };
    UbDllConfig cfg;
    unsigned n;
    Pair p;

    for (unsigned share = 0; share < 2; share++) {
        ub_dll_config_init(&cfg);
        cfg.init_credit[0] = 100;
        cfg.wish.rxbuf_vl_share = share;
        for (unsigned vl = 1; vl < UB_VLS; vl++) {
            cfg.init_credit[vl] = vl == 1 ? 63 : 0;
        }
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        p.e[1].hold = true;
        n = ub_pack_packet(f, 0, 6, 0, payload, 10142, false, b, 512);
        give(&p, 1, b, n);
        g_assert_false(p.e[1].fatal);
        /* 64 of 100 cells are taken; shared, the rest is 99. */
        n = ub_pack_packet(f, 0, 6, 0, payload, 10142, false, b, 512);
        give(&p, 1, b, n);
        if (share) {
            g_assert_false(p.e[1].fatal);
            n = ub_pack_packet(f, 0, 6, 0, payload, 6000, false, b, 512);
            give(&p, 1, b, n);
        }
        expect_fatal(&p, 1, UB_DLL_ERR_RX_OVERFLOW);
        pair_free(&p);
    }
}

/* What was granted is taken to the last cell. */
static void test_rx_full(void)
{
    uint8_t b[UB_DLLDP_FLITS * UB_FLIT_SIZE];
    uint8_t payload[10142] = { 0 };
    UbDllConfig cfg;
    unsigned n;
    Pair p;

    for (unsigned beyond = 0; beyond < 2; beyond++) {
        ub_dll_config_init(&cfg);
        cfg.init_credit[0] = 128;
        cfg.wish.rxbuf_vl_share = false;
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        p.e[1].hold = true;
        for (unsigned i = 0; i < 2; i++) {  /* 64 cells each */
            n = ub_pack_packet(f, 0, 6, 0, payload, 10142, false, b, 512);
            give(&p, 1, b, n);
        }
        g_assert_false(p.e[1].fatal);
        g_assert_cmpuint(status(&p, 1).rx_held[0], ==, 128);
        if (beyond) {
            n = ub_pack_packet(f, 0, 6, 0, payload, 1, false, b, 512);
            give(&p, 1, b, n);
            expect_fatal(&p, 1, UB_DLL_ERR_RX_OVERFLOW);
        }
        pair_free(&p);
    }
}

static void test_fc_overflow(void)
{
    uint8_t b[2 * UB_FLIT_SIZE], one = 0;
    unsigned n;
    Pair p;

    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    n = ub_put_crd_ack(f, b, &(UbCrdAck) { .crd_num = { 1 } });
    give(&p, 0, b, n);
    expect_fatal(&p, 0, UB_DLL_ERR_FC_OVERFLOW);
    pair_free(&p);

    /* The same where all VLs share a buffer: what each has in hand counts. */
    {
        UbDllConfig cfg;

        ub_dll_config_init(&cfg);
        cfg.wish.vl_enable = 3;
        cfg.tx_share = 1;
        cfg.share_quota[0] = cfg.share_quota[1] = 128;
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        g_assert_true(status(&p, 0).tx_shared);
        n = ub_put_crd_ack(f, b, &(UbCrdAck) { .crd_num = { 1 } });
        give(&p, 0, b, n);
        expect_fatal(&p, 0, UB_DLL_ERR_FC_OVERFLOW);
        pair_free(&p);
    }

    /* More than 65535 cells granted. */
    {
        UbCrdAck all = { .initial = true };
        UbDllConfig cfg;

        ub_dll_config_init(&cfg);
        cfg.wish.vl_enable = 0xffff;
        memset(cfg.wish.ctrl_credit_grain, 128, UB_VLS);
        memset(all.crd_num, 63, UB_VLS);
        pair_init(&p, &cfg, &cfg);
        pair_link(&p);
        while (status(&p, 0).state != UB_DLL_CREDIT_INIT) {
            pair_step(&p);
        }
        n = ub_put_crd_ack(f, b, &all);
        give(&p, 0, b, n);
        g_assert_cmpuint(p.e[0].errors[UB_DLL_ERR_FC_OVERFLOW], ==, 1);
        g_assert_true(p.e[0].fatal);
        pair_free(&p);
    }

    /* Returned by a header. */
    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    ub_pack_packet(f, 0, 6, 0, &one, 1, false, b, 1);
    b[0] |= 0x80;
    ub_seal_block(f, b, 1, true, false);
    give(&p, 0, b, 1);
    expect_fatal(&p, 0, UB_DLL_ERR_FC_OVERFLOW);
    pair_free(&p);
}

static void test_ack_overflow(void)
{
    uint8_t b[2 * UB_FLIT_SIZE];
    unsigned n;
    Pair p;

    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    n = ub_put_crd_ack(f, b, &(UbCrdAck) { .ack_num = 8000 });
    give(&p, 0, b, n);
    expect_fatal(&p, 0, UB_DLL_ERR_PROTOCOL);
    pair_free(&p);
}

/* No credit comes back while packets wait for it: DL Protocol Error; an empty
 * Crd_Ack in time keeps the link. */
static void test_credit_timeout(void)
{
    for (unsigned keepalive = 0; keepalive < 2; keepalive++) {
        UbDllConfig cfg;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.init_credit[0] = 64;
        cfg.credit_timeout = 1000000;
        cfg.keepalive = keepalive ? 200000 : 0;
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        p.e[1].hold = true;
        for (unsigned n = 0; n < 3; n++) {
            pair_send(&p, 0, 0, 10142, n);
        }
        for (unsigned n = 0; n < 5000 && !p.e[0].fatal; n++) {
            pair_step(&p);
            p.now += 1000;
        }
        g_assert_cmpint(p.e[0].fatal, ==, !keepalive);
        if (!keepalive) {
            expect_fatal(&p, 0, UB_DLL_ERR_PROTOCOL);
        } else {
            pair_release_all(&p.e[1]);
            pair_step(&p);
            pair_step(&p);
            g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 2);
        }
        pair_free(&p);
    }

    /* An idle link with credits outstanding never times out. */
    {
        UbDllConfig cfg;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.credit_timeout = 1000000;
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        p.e[1].hold = true;
        pair_send(&p, 0, 0, 100, 1);
        pair_run(&p, 1000000);
        p.now += 1000000000;
        ub_dll_poll(p.e[0].dll, p.now);
        g_assert_false(p.e[0].fatal);
        pair_free(&p);
    }
}

/* Packet Length Error: every PLENGTH that no length has is refused, the
 * packet dropped, its cells given back, and the link goes on. */
static void test_packet_length(void)
{
    unsigned bad = 0;
    Pair p;

    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    for (unsigned v = 0; v < 1 << 10; v += 7) { /* one block */
        uint8_t b[UB_BLOCK_SIZE] = { 0 };
        UbPlength shape = ub_plength_unpack(v);

        put_be32(b, ub_lph(0, 6, 0, v));
        ub_seal_block(f, b, shape.last_flits, true, false);
        give(&p, 1, b, shape.last_flits);
        bad += ub_plength_payload(UB_MODE_CRC, shape) < 0;
        g_assert_cmpuint(p.e[1].errors[UB_DLL_ERR_PACKET_LENGTH], ==, bad);
        g_assert_cmpuint(status(&p, 1).rx_held[0], ==,
                         status(&p, 1).rx_pending[0]);
    }
    g_assert_cmpuint(bad, >, 30);
    g_assert_false(p.e[1].fatal);
    g_assert_true(p.e[1].up);
    g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->rx_dropped, ==, bad);
    pair_free(&p);
}

/* What the text leaves undefined: counted, no retry, fatal only on demand. */
static void test_undefined(void)
{
    uint8_t b[UB_BLOCK_SIZE * 2], payload[1000] = { 0 };

    for (unsigned fatal = 0; fatal < 2; fatal++) {
        for (unsigned kind = 0; kind < 6; kind++) {
            UbDllConfig cfg;
            unsigned n;
            Pair p;

            ub_dll_config_init(&cfg);
            cfg.undefined_fatal = fatal;
            pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
            memset(b, 0, sizeof(b));
            switch (kind) {
            case 0: /* VL not in use */
                n = ub_pack_packet(f, 9, 6, 0, payload, 10, false, b, 64);
                break;
            case 1: /* LBH with another VL */
                n = ub_pack_packet(f, 0, 6, 0, payload, 700, false, b, 64);
                b[UB_BLOCK_SIZE + 1] ^= 0x20;
                ub_seal_block(f, b + UB_BLOCK_SIZE, n - 32, true, false);
                break;
            case 2: /* unknown DLLCB */
                n = ub_put_simple(f, b, 0x77);
                break;
            case 3: /* known DLLCB of wrong length */
                put_be32(b, ub_lch(3, UB_CB_CRD_ACK, 0));
                ub_seal_block(f, b, n = 3, true, false);
                break;
            case 4: /* fixed bits of LCH wrong */
                put_be32(b, ub_lch(1, UB_CB_NOB, 0) ^ 0x01000000);
                ub_seal_block(f, b, n = 1, true, false);
                break;
            default: /* T = 1 after SD */
                n = ub_put_crd_ack(f, b, &(UbCrdAck) { .initial = true });
                break;
            }
            give(&p, 1, b, n);
            g_assert_cmpuint(p.e[1].peer_errors, ==, 1);
            g_assert_cmpint(p.e[1].fatal, ==, fatal);
            g_assert_cmpstr(p.e[1].path->str, ==, "");
            if (!fatal) {
                g_assert_cmpuint(status(&p, 1).rcv_ptr, ==,
                                 (status(&p, 0).wr_ptr + n) % 8192);
                g_assert_true(g_queue_is_empty(p.e[1].got));
            }
            pair_free(&p);
        }
    }
    /* Reserved CFG: dropped, counted, cells back. */
    {
        Pair p;

        pair_up(&p, NULL, NULL, UB_MODE_CRC);
        give(&p, 1, b, ub_pack_packet(f, 0, 8, 0, payload, 100, false, b, 64));
        g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->rx_reserved_cfg, ==, 1);
        g_assert_cmpuint(status(&p, 1).rx_pending[0], ==, 1);
        g_assert_cmpuint(p.e[1].peer_errors, ==, 0);
        pair_free(&p);
    }
}

/* The report of an error may reset the end at once, in the middle of what it
 * was doing. */
static void test_reset_at_once(void)
{
    uint8_t b[2 * UB_FLIT_SIZE], payload[20] = { 0 };

    for (unsigned kind = 0; kind < 5; kind++) {
        UbDllConfig cfg;
        unsigned n;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.init_credit[0] = kind == 4 ? 0 : 100;
        cfg.wish.rxbuf_vl_share = 0;
        cfg.undefined_fatal = 1;
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        p.e[1].reset_at_once = true;
        if (kind == 0) {
            n = ub_put_crd_ack(f, b, &(UbCrdAck) { .ack_num = 8000 });
        } else if (kind == 1) {
            n = ub_put_crd_ack(f, b, &(UbCrdAck) { .crd_num = { 9, 9 } });
        } else {
            n = ub_pack_packet(f, kind == 3 ? 12 : 0, 6, 0, payload, 10,
                               false, b, 2);
            b[0] |= kind == 2 ? 0xc0 : 0;
            ub_seal_block(f, b, n, true, false);
        }
        give(&p, 1, b, n);
        g_assert_cmpint(status(&p, 1).state, ==, UB_DLL_DISABLED);
        g_assert_false(status(&p, 1).fatal);
        g_assert_true(g_queue_is_empty(p.e[1].got));
        pair_free(&p);
    }
}

/* Register side of the errors (Table 10-14: bit n - 1 is C.n). */
static void test_error_table(void)
{
    for (unsigned e = 0; e < UB_DLL_ERRORS; e++) {
        const UbDllErrorInfo *info = ub_dll_error_info(e);

        g_assert_cmpuint(info->code, ==, info->status_bit + 1);
        g_assert_cmpint(info->correctable, ==, info->code < 21);
    }
    g_assert_cmpuint(ub_dll_error_info(UB_DLL_ERR_PROTOCOL)->status_bit, ==,
                     20);
    g_assert_cmpuint(ub_dll_error_info(UB_DLL_ERR_FC_OVERFLOW)->status_bit,
                     ==, 29);
    g_assert_null(ub_dll_error_info(UB_DLL_ERRORS));
    g_assert_cmpstr(ub_dll_state_name(UB_DLL_SM, 3), ==, "DLL_Normal");
    g_assert_cmpstr(ub_dll_state_name(UB_DLL_SM, 4), ==, "?");
    g_assert_cmpstr(ub_dll_state_name(UB_BMC_SM, 8), ==, "READY");
    g_assert_cmpstr(ub_dll_state_name(UB_BMC_SM, 9), ==, "?");
    g_assert_cmpstr(ub_dll_state_name(UB_DLL_MACHINES, 0), ==, "?");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dll/credit/cost", test_cost);
    g_test_add_func("/dll/credit/stall", test_stall);
    g_test_add_func("/dll/credit/stall-exact", test_stall_exact);
    g_test_add_func("/dll/credit/shared", test_shared);
    g_test_add_func("/dll/credit/shared-each", test_shared_each);
    g_test_add_func("/dll/credit/return-path", test_return_path);
    g_test_add_func("/dll/credit/return-late", test_return_late);
    g_test_add_func("/dll/credit/no-ping-pong", test_no_ping_pong);
    g_test_add_func("/dll/credit/forced", test_forced);
    g_test_add_func("/dll/credit/interlock", test_interlock);
    g_test_add_func("/dll/vl/scheduling", test_scheduling);
    g_test_add_func("/dll/vl/queue", test_queue);
    g_test_add_func("/dll/vl/interval", test_interval);
    g_test_add_func("/dll/exception/rx-overflow", test_rx_overflow);
    g_test_add_func("/dll/exception/rx-full", test_rx_full);
    g_test_add_func("/dll/exception/fc-overflow", test_fc_overflow);
    g_test_add_func("/dll/exception/ack-overflow", test_ack_overflow);
    g_test_add_func("/dll/exception/credit-timeout", test_credit_timeout);
    g_test_add_func("/dll/exception/packet-length", test_packet_length);
    g_test_add_func("/dll/exception/undefined", test_undefined);
    g_test_add_func("/dll/exception/reset-at-once", test_reset_at_once);
    g_test_add_func("/dll/exception/table", test_error_table);
    return g_test_run();
}
