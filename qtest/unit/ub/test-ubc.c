/*
 * Two UB controllers joined by their wires, in virtual time: a driver-like
 * guest on each side, and everything between the rings real.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ubc-pair.h"

/*
 * A ring with more in it than the data link layer queues is served to its end
 * by the times that ubc_run() returns alone, however silent the peer is.
 */
static void test_long_ring(void)
{
    Side *a = &two[0], *b = &two[1];
    const uint32_t ring = UBC_PAIR(0) + UBC_RING_TX;
    UbcConfig conf;
    int64_t next;

    ubc_config_init(&conf);
    conf.dll.queue_limit = 4 * BUF;
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    send(a, 100, 3);
    next = now;
    for (unsigned i = 0; i < 1000 && next <= now; i++) {
        next = ubc_run(a->ubc, now);
        if (a->out->len) {
            g_byte_array_set_size(a->out, 0);
            ubc_wire_room(a->ubc, 0, now);
        }
    }
    g_assert_cmpuint(rd(a, ring + UBC_RING_TAIL), ==, a->tx_head);
    g_assert_cmpint(next, >, now);
    unpair(a, b);
}

static void test_train_and_exchange(void)
{
    Side *a = &two[0], *b = &two[1];
    const uint32_t link = UB_CFG_PORT_CAP(0, UB_CAP_LINK);
    UbcConfig conf;
    UbcPortInfo info;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    a->peer_errors = b->peer_errors = 0; /* a block cut by the rate change */
    goal = 3000;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    g_assert_cmpuint(a->guest_errors + b->guest_errors, ==, 0);
    g_assert_cmpuint(a->peer_errors + b->peer_errors, ==, 0);
    /* x8 at the highest rate, as the registers say. */
    g_assert_cmphex(cfg(a, link + UB_LINK_PORT_LINK_STATUS_0), ==, 3);
    g_assert_cmphex(cfg(a, link + UB_LINK_PHY_STATUS_1) & 0x1fff,
                    ==, 8 | 8 << 4 | 0 << 12);
    g_assert_cmphex(cfg(a, link + UB_LINK_DL_STATE_MACHINE_STATUS),
                    ==, 3);
    g_assert_true(ubc_port_info(a->ubc, 0, &info));
    g_assert_cmpuint(info.tx_width, ==, 8);
    g_assert_cmpuint(info.rx_width, ==, 8);
    g_assert_cmpuint(info.counter[UBC_CNT_TX_PACKETS], ==, goal);
    g_assert_cmpuint(info.counter[UBC_CNT_RX_PACKETS], ==, goal);
    g_assert_cmpuint(info.counter[UBC_CNT_CRC_ERRORS], ==, 0);
    g_assert_cmpuint(a->interrupts[0], >, 0);
    unpair(a, b);
}

/* An idle link asks for no time. */
static void test_idle(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;
    unsigned runs = 0;
    int64_t end;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    run_until(a, b, never, SECOND);
    for (end = now + 10 * SECOND; MIN(a->next, b->next) < end; runs++) {
        now = MAX(now, MIN(a->next, b->next));
        a->next = ubc_run(a->ubc, now);
        b->next = ubc_run(b->ubc, now);
        while (move(a) || move(b)) {
        }
    }
    /* Ten seconds of an idle link: less than a hundred wake-ups a second. */
    g_assert_cmpuint(runs, <, 1000);
    unpair(a, b);
}

static void test_cut_and_mend(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    goal = 200;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    for (unsigned i = 0; i < 3; i++) {
        cut(a, b);
        g_assert_true(run_until(a, b, both_down, 60 * SECOND));
        connect(a, b);
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
        goal += 200;
        g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    }
    unpair(a, b);
}

/* Bit errors within and beyond what FEC repairs: nothing is lost. */
static void test_bit_errors(void)
{
    static const double rates[] = { 1e-6, 1e-5, 1e-4, 1e-3 };
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        UbcPortInfo info;

        ubc_config_init(&conf);
        pair(a, b, &conf);
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
        for (unsigned lane = 0; lane < UB_LANES; lane++) {
            const UbLaneFault f = { .ber = rates[i] };

            g_assert_true(ub_inject_lane(ubc_inject(a->ubc, 0), lane, &f));
        }
        goal = 2000;
        g_assert_true(run_until(a, b, exchanged, 600 * SECOND));
        ubc_port_info(b->ubc, 0, &info);
        if (rates[i] >= 1e-5) {
            g_assert_cmpuint(info.counter[UBC_CNT_FEC_CORRECTED], >, 0);
        }
        unpair(a, b);
    }
}

/* Whatever the pieces of the byte stream are. */
static void test_small_pieces(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    a->max_chunk = 511;
    b->max_chunk = 4096;
    goal = 100;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    unpair(a, b);
}

/* Every width and FEC mode. */
static void test_modes(void)
{
    Side *a = &two[0], *b = &two[1];

    for (unsigned width = 1; width <= 8; width *= 2) {
        for (unsigned fec = 0; fec < 3; fec++) {
            UbcPortInfo info;
            UbcConfig conf;

            ubc_config_init(&conf);
            conf.phy.lmsm.max_width = conf.phy.lmsm.target_tx = width;
            conf.phy.lmsm.target_rx = width;
            memset(conf.phy.lmsm.fec_mode, fec, sizeof(conf.phy.lmsm.fec_mode));
            g_test_message("width %u fec %u", width, fec);
            pair(a, b, &conf);
            goal = 100;
            g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
            ubc_port_info(a->ubc, 0, &info);
            g_assert_cmpuint(info.tx_width, ==, width);
            g_assert_cmpstr(info.fec, ==, fec == 2 ? "t4" : fec ? "t2" : "off");
            unpair(a, b);
        }
    }
}

/* Registers, rings and waiting packets go along; the link trains anew. */
static void test_migrate(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;
    const char *why;
    uint8_t *blob;
    size_t len;
    Ubc *old;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    /* Packets for which b has no buffers, so that they wait. */
    send(a, 20, 3);
    run_until(a, b, never, SECOND / 10);
    g_assert_cmpuint(b->received, ==, 0);
    blob = ubc_save(b->ubc, now, &len);
    cut(a, b);
    old = b->ubc;
    conf.guid[15] = 9;
    b->ubc = ubc_new(&conf, &ops, b, &why);
    ubc_bus_master(b->ubc, true);
    /* Every damaged image is refused. */
    for (size_t n = 0; n < len; n += 1 + n / 8) {
        g_assert_nonnull(ubc_load(b->ubc, now, blob, n));
    }
    g_assert_null(ubc_load(b->ubc, now, blob, len));
    g_assert_cmphex(cfg(b, UB_CFG0_GUID), ==, 2);
    ubc_free(old);
    g_free(blob);
    connect(a, b);
    goal = 500;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    unpair(a, b);
}

/* As software changes the width: targets at both ends, then Retrain Link. */
static void set_width(Side *s, unsigned lanes, bool retrain)
{
    const uint32_t dw = UB_CFG_PORT_CAP(0, UB_CAP_LINK) +
                        UB_LINK_PHY_CTL_1;

    wr(s, UBC_CFG_WINDOW + 4 * dw, 8 | lanes << 8 | lanes << 16 | 1 << 24 |
                                   (retrain ? 1u << 31 : 0));
}

static unsigned want_width;

static bool has_width(Side *a, Side *b)
{
    UbcPortInfo x, y;

    ubc_port_info(a->ubc, 0, &x);
    ubc_port_info(b->ubc, 0, &y);
    return both_up(a, b) && x.tx_width == want_width &&
           y.tx_width == want_width;
}

static void test_width_by_retrain(void)
{
    static const unsigned widths[] = { 4, 8, 1, 2, 8 };
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    goal = 200;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    for (unsigned i = 0; i < G_N_ELEMENTS(widths); i++) {
        want_width = widths[i];
        g_test_message("width %u", want_width);
        set_width(b, want_width, false);
        set_width(a, want_width, true);
        goal += 500;
        g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
        g_assert_true(run_until(a, b, has_width, 60 * SECOND));
        goal += 500;
        g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    }
    /* Asked again before the first change is through. */
    set_width(b, 4, false);
    set_width(a, 4, true);
    run_until(a, b, never, 300000);
    for (unsigned i = 0; i < 4; i++) {
        set_width(b, 4 + 4 * (i % 2), false);
        set_width(a, 4 + 4 * (i % 2), true);
        run_until(a, b, never, 37 * i);
    }
    want_width = 8;
    g_assert_true(run_until(a, b, has_width, 60 * SECOND));
    goal += 500;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    unpair(a, b);
}

/* The same, while packets keep the link busy and both hosts are. */
static void test_width_on_busy_hosts(void)
{
    static const unsigned widths[] = { 4, 8, 1, 8, 2, 8 };
    Side *a = &two[0], *b = &two[1];
    const unsigned seeds = g_test_slow() ? 200 : 4;
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.phy.lmsm.time_scale = 10;
    conf.phy.lmsm.timeout_min = SECOND / 2;
    conf.dll_time_scale = 1000;
    for (unsigned seed = 0; seed < seeds; seed++) {
        pair(a, b, &conf);
        a->max_chunk = b->max_chunk = 4096;
        goal = 200;
        g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
        for (unsigned lane = 0; lane < UB_LANES && seed % 2; lane++) {
            const UbLaneFault f = { .ber = 1e-6 };

            ub_inject_lane(ubc_inject(a->ubc, 0), lane, &f);
            ub_inject_lane(ubc_inject(b->ubc, 0), lane, &f);
        }
        a->host = g_rand_new_with_seed(2 * seed);
        b->host = g_rand_new_with_seed(2 * seed + 1);
        a->max_stall = b->max_stall = 12000000;
        for (unsigned i = 0; i < G_N_ELEMENTS(widths); i++) {
            want_width = widths[i];
            g_test_message("seed %u, width %u", seed, want_width);
            goal = MAX(a->sent, b->sent) + 1000;
            run_until(a, b, exchanged, SECOND / 100);
            set_width(b, want_width, false);
            set_width(a, want_width, true);
            g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
            g_assert_true(run_until(a, b, has_width, 2 * SECOND));
        }
        g_clear_pointer(&a->host, g_rand_free);
        g_clear_pointer(&b->host, g_rand_free);
        unpair(a, b);
    }
}

static uint64_t retrains(Side *s)
{
    UbcPortInfo info;

    ubc_port_info(s->ubc, 0, &info);
    return info.counter[UBC_CNT_RETRAINS];
}

static void set_rate(Side *s, unsigned rate, bool retrain)
{
    const uint32_t dw = UB_CFG_PORT_CAP(0, UB_CAP_LINK) +
                        UB_LINK_PHY_CTL_1;

    wr(s, UBC_CFG_WINDOW + 4 * dw, (cfg(s, dw) & ~0xfu) | rate |
       (retrain ? UB_LINK_PHY_CTL_1__RETRAIN_LINK : 0));
}

static unsigned want_rate;

static bool has_rate(Side *a, Side *b)
{
    UbcPortInfo x, y;

    ubc_port_info(a->ubc, 0, &x);
    ubc_port_info(b->ubc, 0, &y);
    return both_up(a, b) && x.rate == want_rate && y.rate == want_rate;
}

/* The primary is told of a higher rate before its peer: it asks, is refused,
 * and does not ask again and again. */
static void test_rate_refused(void)
{
    Side *a = &two[0], *b = &two[1], *first, *second;
    UbcConfig conf;
    UbcPortInfo info;
    uint64_t before;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    want_rate = 8;
    g_assert_true(run_until(a, b, has_rate, 60 * SECOND));
    ubc_port_info(a->ubc, 0, &info);
    first = info.primary ? a : b;
    second = info.primary ? b : a;
    want_rate = 4;
    set_rate(second, 4, false);
    set_rate(first, 4, true);
    g_assert_true(run_until(a, b, has_rate, 60 * SECOND));
    before = retrains(first);
    set_rate(first, 8, false);
    run_until(a, b, never, SECOND);
    g_assert_cmpuint(retrains(first), <=, before + 1);
    g_assert_true(has_rate(a, b));
    goal = 200;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    want_rate = 8;
    set_rate(second, 8, true);
    g_assert_true(run_until(a, b, has_rate, 60 * SECOND));
    goal = 400;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    unpair(a, b);
}

/* A link that came up with fewer lanes than the port has, and so has looked
 * for receivers on no others, can be made wider. */
static void test_widen_after_narrow_start(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.phy.lmsm.target_tx = conf.phy.lmsm.target_rx = 2;
    pair(a, b, &conf);
    want_width = 2;
    g_assert_true(run_until(a, b, has_width, 60 * SECOND));
    want_width = 8;
    set_width(b, 8, false);
    set_width(a, 8, true);
    run_until(a, b, never, SECOND / 100);
    g_assert_true(run_until(a, b, has_width, 60 * SECOND));
    goal = 200;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    unpair(a, b);
}

/* One end loses LinkUp for so short a time that the other one only retrains:
 * both data link layers start anew together. */
static void test_one_sided_loss(void)
{
    const uint32_t dw = UB_CFG_PORT_CAP(0, UB_CAP_LINK) +
                        UB_LINK_PHY_CTL_2;
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;
    uint32_t c2;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    goal = 100;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    for (unsigned i = 0; i < 6; i++) {
        Side *s = i % 2 ? b : a;

        c2 = cfg(s, dw);
        wr(s, UBC_CFG_WINDOW + 4 * dw, c2 | 1u << 21); /* Link Disable */
        run_until(a, b, never, 1000 * i * i);
        wr(s, UBC_CFG_WINDOW + 4 * dw, c2);
        goal += 100;
        /* What was under way when the link went is lost: count anew. */
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
        a->sent = b->received;
        b->sent = a->received;
        goal = MAX(a->sent, b->sent) + 100;
        g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    }
    unpair(a, b);
}

static void test_misuse(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    /* Registers that are not there, and DMA to nowhere. */
    wr(a, 0x7000, 1);
    g_assert_cmpuint(a->guest_errors, ==, 1);
    wr(a, UBC_PORT(0) + UBC_PORT_MTU, 1);
    g_assert_cmpuint(a->guest_errors, ==, 2);
    g_assert_cmpuint(rd(a, UBC_GUEST_ERRORS), ==, 2);
    g_assert_cmpuint(rd(a, 0x7000), ==, 0);
    wr(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_CTRL, 0);
    wr(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_BASE_HI, 0x7fffffff);
    wr(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_CTRL, UBC_RING_ENABLE);
    wr(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_HEAD, 1);
    run_until(a, b, never, SECOND / 100);
    g_assert_cmpuint(rd(a, UBC_DMA_ERRORS), ==, 1);
    g_assert_cmphex(rd(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_CTRL), ==,
                    UBC_RING_ERROR);
    g_assert_cmphex(rd(a, UBC_EVENT) & UBC_EVENT_DMA_ERROR, !=, 0);
    /* Usable after reset. */
    wr(a, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmpuint(rd(a, UBC_DMA_ERRORS), ==, 0);
    side_open(a);
    side_open(b);
    goal = 50;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    unpair(a, b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ubc/train-and-exchange", test_train_and_exchange);
    g_test_add_func("/ub/ubc/long-ring", test_long_ring);
    g_test_add_func("/ub/ubc/idle", test_idle);
    g_test_add_func("/ub/ubc/cut-and-mend", test_cut_and_mend);
    g_test_add_func("/ub/ubc/small-pieces", test_small_pieces);
    g_test_add_func("/ub/ubc/modes", test_modes);
    g_test_add_func("/ub/ubc/bit-errors", test_bit_errors);
    g_test_add_func("/ub/ubc/width-by-retrain", test_width_by_retrain);
    g_test_add_func("/ub/ubc/width-on-busy-hosts", test_width_on_busy_hosts);
    g_test_add_func("/ub/ubc/rate-refused", test_rate_refused);
    g_test_add_func("/ub/ubc/widen-after-narrow-start",
                    test_widen_after_narrow_start);
    g_test_add_func("/ub/ubc/one-sided-loss", test_one_sided_loss);
    g_test_add_func("/ub/ubc/migrate", test_migrate);
    g_test_add_func("/ub/ubc/misuse", test_misuse);
    return g_test_run();
}
