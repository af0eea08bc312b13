/*
 * The PCS, transmitter to receiver: every width, FEC mode, interleave and
 * line code; training, SDF, EDF, width switches, low power.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "pcs-pair.h"

static void test_identity(void)
{
    for (unsigned n = 0; n < MODES; n++) {
        UbPcsMode m = mode_of(n);
        Link *l = link_new(NULL);

        start(l, &m);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_DATA);
        for (unsigned i = 0; i < 12; i++) {
            send(l, g_rand_int_range(l->rand, 0, 500));
        }
        edf(l);
        check_all(l);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_TRAIN);
        g_assert_cmpuint(find_event(l, UB_PCS_SDF)->arg, ==, m.width);
        g_assert_cmpuint(find_event(l, UB_PCS_EDF)->flits * UB_FLIT, ==,
                         l->got->len);
        /* And once more, from the state EDF left. */
        train(l, 64);
        g_assert_true(ub_pcs_tx_sdf(l->tx, &m, &l->run));
        l->sent->len = l->got->len = 0;
        send(l, 100);
        edf(l);
        check_all(l);
        g_assert_cmpuint(count_events(l, UB_PCS_UNLOCK), ==, 0);
        g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 0);
        link_free(l);
    }
}

/* Periods that are no multiple of a frame, and ones shorter than it. */
static void test_periods(void)
{
    static const uint32_t periods[] = { 64, 100, 255, 256, 640, 1000, 1281,
                                        65536 };

    for (unsigned i = 0; i < G_N_ELEMENTS(periods); i++) {
        for (unsigned n = 0; n < 24; n++) {
            UbPcsMode m = mode_of(n);
            UbPcsParams p;
            Link *l;

            ub_pcs_params_init(&p);
            p.period[0] = periods[i];
            l = link_new(&p);
            start(l, &m);
            send(l, 700);
            flush(l);
            check_all(l);
            g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 0);
            link_free(l);
        }
    }
}

/* Known lane bytes: the interleave example with the scrambler off. */
static void test_known_lanes(void)
{
    static const char *const first[8] = {
        "00091019", "01081118", "020b121b", "030a131a",
        "040d141d", "050c151c", "060f161f", "070e171e",
    };
    static const char *const last[8] = {
        "505d", "1a19", "df43", "bcc3", "979f", "85d1", "2885", "273b",
    };
    UbPcsMode m = { .width = 8, .fec = UB_FEC_T4, .codecs = 2 };
    UbPcsParams p;
    uint8_t d[240];
    Link *l;
    UbLaneRun *run;

    ub_pcs_params_init(&p);
    p.scrambler = UB_SCRAMBLER_OFF;
    l = link_new(&p);
    run = &l->run;
    for (unsigned i = 0; i < sizeof(d); i++) {
        d[i] = i;
    }
    g_assert_true(ub_pcs_tx_train(l->tx, 8, false, false, NULL));
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, run));
    g_assert_cmpuint(run->n, ==, UB_AMCTL_SYMBOLS);
    g_assert_cmpuint(ub_pcs_tx_flits(l->tx, d, 12, run), ==, 12);
    g_assert_cmpuint(run->n, ==, UB_AMCTL_SYMBOLS + 32);
    for (unsigned i = 0; i < 8; i++) {
        const uint8_t *s = run->lane[i] + UB_AMCTL_SYMBOLS;
        g_autofree char *a = g_strdup_printf("%02x%02x%02x%02x", s[0], s[1],
                                             s[2], s[3]);
        g_autofree char *b = g_strdup_printf("%02x%02x", s[30], s[31]);
        UbAmctl mark;

        g_assert_cmpstr(a, ==, first[i]);
        g_assert_cmpstr(b, ==, last[i]);
        g_assert_true(ub_amctl_decode(&mark, run->lane[i]));
        g_assert_cmpuint(mark.lid, ==, i);
        g_assert_cmpuint(mark.type, ==, UB_AMCTL_LWS);
        g_assert_cmpuint(mark.detail, ==, UB_AMCTL_LWS_X8);
    }
    link_free(l);

    /* FEC bypass: round robin from lane 0 (§3.2.5.4). */
    l = link_new(&p);
    run = &l->run;
    m.width = 4;
    m.fec = UB_FEC_OFF;
    g_assert_true(ub_pcs_tx_train(l->tx, 4, false, false, NULL));
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, run));
    g_assert_cmpuint(ub_pcs_tx_flits(l->tx, d, 12, run), ==, 12);
    g_assert_cmpuint(run->n, ==, UB_AMCTL_SYMBOLS + 60);
    for (unsigned i = 0; i < 240; i++) {
        g_assert_cmpuint(run->lane[i % 4][UB_AMCTL_SYMBOLS + i / 4], ==, i);
    }
    link_free(l);
}

/* The scrambler rule of §3.2.2.4 on the wire: every training AMCTL and SDF
 * load the seed, no AMCTL in data does, EDF does not. */
static void test_scrambler_rule(void)
{
    UbPcsMode m = { .width = 2, .fec = UB_FEC_OFF, .codecs = 1 };
    uint8_t ltb[UB_LANES][UB_LTB], zero[UB_FLIT] = { 0 }, key[600];
    UbPcsParams p;
    UbLaneRun *run;
    size_t data, end;
    Link *l;

    ub_pcs_params_init(&p);
    memset(p.null_flit, 0, UB_FLIT); /* the lanes carry the bare key */
    l = link_new(&p);
    run = &l->run;
    memset(ltb, 0, sizeof(ltb));
    g_assert_true(ub_pcs_tx_train(l->tx, 2, false, false, NULL));
    g_assert_cmpuint(ub_pcs_tx_ltbs(l->tx, ltb, 64, run), ==, 64);
    g_assert_cmpuint(run->n, ==, 2 * 552);
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, run));
    data = run->n;
    while (run->n < data + 3 * 1320) {
        g_assert_cmpuint(ub_pcs_tx_flits(l->tx, zero, 1, run), ==, 1);
    }
    g_assert_true(ub_pcs_tx_edf(l->tx, run));
    end = run->n;
    g_assert_cmpuint((end - data - 40) % 1320, ==, 1280);
    g_assert_cmpuint(ub_pcs_tx_ltbs(l->tx, ltb, 64, run), ==, 64);
    for (unsigned lane = 0; lane < 2; lane++) {
        const uint8_t *s = run->lane[lane];
        UbScrambler k;

        for (unsigned i = 0; i < 2; i++) {
            ub_scrambler_seed(&k, UB_SCRAMBLER_PRBS23, lane);
            memset(key, 0, 512);
            ub_scrambler_xor(&k, key, key, 512);
            g_assert_cmpmem(s + i * 552 + 40, 512, key, 512);
        }
        ub_scrambler_seed(&k, UB_SCRAMBLER_PRBS23, lane);
        for (size_t at = data; at < end; at += 1320) {
            for (unsigned i = 0; i < 1280; i += 20) {
                memset(key, 0, 20);
                ub_scrambler_xor(&k, key, key, 20);
                g_assert_cmpmem(s + at + i, 20, key, 20);
            }
        }
        memset(key, 0, 512);
        ub_scrambler_xor(&k, key, key, 512);
        g_assert_cmpmem(s + end, 512, key, 512);
        ub_scrambler_seed(&k, UB_SCRAMBLER_PRBS23, lane);
        memset(key, 0, 512);
        ub_scrambler_xor(&k, key, key, 512);
        g_assert_cmpmem(s + end + 552, 512, key, 512);
    }
    link_free(l);
}

static void test_training(void)
{
    Link *l = link_new(NULL);
    uint8_t ltb[UB_LANES][UB_LTB], eeib[16];
    UbPcsLane lane;

    memset(eeib, 0xff, sizeof(eeib));
    make_ltbs(ltb, 0xa0);
    ub_pcs_rx_enable(l->rx, 0x0f, false, false);
    g_assert_true(ub_pcs_tx_train(l->tx, 4, false, false, NULL));
    g_assert_true(ub_pcs_tx_raw(l->tx, eeib, sizeof(eeib), &l->run));
    train(l, 32 * 4);
    for (unsigned i = 0; i < 4; i++) {
        ub_pcs_rx_lane(l->rx, i, &lane);
        g_assert_true(lane.locked);
        g_assert_cmpuint(lane.lid, ==, i);
        g_assert_cmpuint(lane.slip, ==, 0);
        /* Lock after the first and three more: 32 LTBs since. */
        g_assert_cmpuint(l->ltbs[i], ==, 32);
        g_assert_cmpmem(l->ltb[i], UB_LTB, ltb[i], UB_LTB);
    }
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 4);
    /* A command travels in the AMCTL of the boundary. */
    g_assert_true(ub_pcs_tx_command(l->tx, 0x5, UB_AMCTL_EI,
                                    UB_AMCTL_EI_EEI));
    g_assert_false(ub_pcs_tx_command(l->tx, 0x1, UB_AMCTL_EI,
                                     UB_AMCTL_EI_EEI));
    g_assert_cmpuint(ub_pcs_tx_pending(l->tx), ==, 5);
    g_assert_true(ub_pcs_tx_amctl(l->tx, &l->run));
    g_assert_false(ub_pcs_tx_amctl(l->tx, &l->run));
    ship(l);
    for (unsigned i = 0; i < 4; i++) {
        ub_pcs_rx_lane(l->rx, i, &lane);
        g_assert_cmpuint(l->amctl[i].type, ==,
                         i % 2 ? UB_AMCTL_NONE : UB_AMCTL_EI);
        g_assert_cmpint(lane.locked, ==, i % 2);
    }
    link_free(l);
}

static void switch_width(Link *l, unsigned width)
{
    while (!ub_pcs_tx_width(l->tx, width, &l->run)) {
        ship(l);
    }
    ship(l);
}

static void test_width_down_up(void)
{
    for (unsigned n = 0; n < 12; n++) {
        UbPcsMode m = { .width = 8, .fec = n % 3, .codecs = 1 + n / 3 % 2,
                        .pam4 = n / 6, .precode = n / 6 };
        Link *l = link_new(NULL);
        uint8_t ltb[UB_LANES][UB_LTB];
        unsigned rltbs;

        make_ltbs(ltb, 0xc2);
        start(l, &m);
        send(l, 500);
        switch_width(l, 2);
        g_assert_cmpuint(ub_pcs_rx_mode(l->rx)->width, ==, 2);
        send(l, 500);
        /* Up: short period, wake the lanes, RLTBs beside the data, switch. */
        g_assert_true(ub_pcs_tx_command(l->tx, 0x03, UB_AMCTL_PERIOD,
                                        UB_AMCTL_PERIOD_1));
        while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
            ship(l);
        }
        ship(l);
        /* Fill Null Blocks appear in the stream: stand them in `sent`. */
        g_byte_array_set_size(l->sent, 0);
        g_byte_array_append(l->sent, l->got->data, l->got->len);
        g_assert_true(ub_pcs_tx_wake(l->tx, 4, ltb));
        for (unsigned i = 0; i < 6; i++) {
            while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
                ship(l);
            }
            ship(l);
        }
        rltbs = l->ltbs[2];
        g_assert_cmpuint(rltbs, >=, 40);
        g_assert_cmpmem(l->ltb[2], UB_LTB, ltb[2], UB_LTB);
        g_assert_cmpmem(l->ltb[3], UB_LTB, ltb[3], UB_LTB);
        switch_width(l, 4);
        g_assert_cmpuint(ub_pcs_rx_mode(l->rx)->width, ==, 4);
        g_assert_true(ub_pcs_tx_command(l->tx, 0x0f, UB_AMCTL_PERIOD,
                                        UB_AMCTL_PERIOD_0));
        while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
            ship(l);
        }
        ship(l);
        g_byte_array_set_size(l->sent, 0);
        g_byte_array_append(l->sent, l->got->data, l->got->len);
        send(l, 2000);
        edf(l);
        check_all(l);
        g_assert_cmpuint(count_events(l, UB_PCS_WIDTH), ==, 2);
        g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 0);
        link_free(l);
    }
}

/* Lanes wake up to all eight, and no further; EDF ends that too. */
static void test_wake_bounds(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
    uint8_t ltb[UB_LANES][UB_LTB];
    Link *l = link_new(NULL);

    make_ltbs(ltb, 0xc2);
    start(l, &m);
    g_assert_false(ub_pcs_tx_wake(l->tx, 4, ltb));
    g_assert_false(ub_pcs_tx_wake(l->tx, 9, ltb));
    g_assert_true(ub_pcs_tx_wake(l->tx, 8, ltb));
    for (unsigned i = 0; i < 2; i++) {
        while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
            ship(l);
        }
        ship(l);
    }
    while (!ub_pcs_tx_edf(l->tx, &l->run)) {
        ship(l);
    }
    ship(l);
    train(l, 32);
    g_assert_true(ub_pcs_tx_ltbs(l->tx, ltb, 1, &l->run));
    g_assert_cmphex(l->run.mask, ==, 0x0f);
    link_free(l);
}

/* Raw symbols on every lane; training blocks in the number asked for, over the
 * places of AMCTLs. */
static void test_train_counts(void)
{
    const UbPcsMode m = { .width = 2, .fec = UB_FEC_T4, .codecs = 1 };
    static const uint8_t eeib[16] = { 0, 0xff, 0, 0xff, 1, 2, 3, 4 };
    uint8_t ltb[UB_LANES][UB_LTB];
    Link *l = link_new(NULL);

    make_ltbs(ltb, 0xa0);
    g_assert_true(ub_pcs_tx_train(l->tx, 4, false, false, NULL));
    g_assert_true(ub_pcs_tx_raw(l->tx, eeib, sizeof(eeib), &l->run));
    g_assert_cmpuint(l->run.n, ==, sizeof(eeib));
    g_assert_cmphex(l->run.mask, ==, 0x0f);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpmem(l->run.lane[i], 16, eeib, 16);
    }
    l->run.n = 0;
    l->run.mask = 0;
    g_assert_cmpuint(ub_pcs_tx_ltbs(l->tx, ltb, 70, &l->run), ==, 70);
    g_assert_cmpuint(l->run.n, ==, 70 * UB_LTB + 3 * UB_AMCTL_SYMBOLS);
    g_assert_cmpuint(ub_pcs_tx_ltb_room(l->tx), ==, 26);
    g_assert_cmpuint(ub_pcs_tx_stats(l->tx)->ltbs, ==, 70);
    /* Data may be on fewer lanes than were trained, at an AMCTL's place. */
    g_assert_false(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_assert_cmpuint(ub_pcs_tx_ltbs(l->tx, ltb, 26, &l->run), ==, 26);
    l->run.n = 0;
    l->run.mask = 0;
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_assert_cmphex(l->run.mask, ==, 0x03);
    g_assert_cmpuint(l->run.n, ==, UB_AMCTL_SYMBOLS);
    g_assert_cmpuint(ub_pcs_tx_missing(l->tx), ==, 0);
    link_free(l);
}

/* With a period below the deskew depth, skew counts up to the period. */
static void test_short_period(void)
{
    for (unsigned n = 0; n < 2; n++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
        UbPcsParams p;
        Link *l;

        ub_pcs_params_init(&p);
        p.period[0] = 64;
        p.period[1] = 640;
        l = link_new(&p);
        l->delay[2] = n ? 110 : 63;
        start(l, &m);
        send(l, 500);
        if (n) {
            g_assert_nonnull(find_event(l, UB_PCS_SKEW_OVERFLOW));
        } else {
            edf(l);
            train(l, 16);
            check_all(l);
            g_assert_nonnull(find_event(l, UB_PCS_EDF));
        }
        link_free(l);
    }
}

static void test_low_power(void)
{
    static const size_t idle[] = { 0, 1, 39, 500, 1280, 1300, 4000 };

    for (unsigned n = 0; n < 2 * G_N_ELEMENTS(idle); n++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1,
                        .pam4 = n % 2, .precode = n % 2 };
        Link *l = link_new(NULL);
        size_t left = idle[n / 2];

        start(l, &m);
        send(l, 300);
        while (!ub_pcs_tx_close(l->tx, &l->run)) {
            ship(l);
        }
        ship(l);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_CLOSED);
        check_all(l);
        g_byte_array_set_size(l->got, 0);
        g_byte_array_set_size(l->sent, 0);
        while (left) {
            left -= ub_pcs_tx_prbs(l->tx, left, &l->run);
            ship(l);
        }
        g_assert_cmpuint(l->got->len, ==, 0);
        g_assert_true(ub_pcs_tx_open(l->tx, &l->run));
        send(l, 300);
        flush(l);
        g_assert_nonnull(find_event(l, UB_PCS_OPEN));
        check_all(l);
        g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 0);
        link_free(l);
    }
}

static void test_checks(void)
{
    UbPcsParams p;
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 2 };
    static const uint8_t twice[UB_LANES] = { 0, 0, 2, 3, 4, 5, 6, 7 };
    Link *l = link_new(NULL);
    uint8_t flit[UB_FLIT] = { 0 };

    ub_pcs_params_init(&p);
    g_assert_null(ub_pcs_params_check(&p));
    p.period[0] = 10;
    g_assert_nonnull(ub_pcs_params_check(&p));
    g_assert_null(ub_pcs_tx_new(&p));
    ub_pcs_params_init(&p);
    p.scrambler = 77;
    g_assert_nonnull(ub_pcs_params_check(&p));
    ub_pcs_params_init(&p);
    p.period[1] = 641;
    g_assert_nonnull(ub_pcs_params_check(&p));
    g_assert_null(ub_pcs_mode_check(&m));
    m.width = 3;
    g_assert_nonnull(ub_pcs_mode_check(&m));
    m.width = 4;
    m.codecs = 3;
    g_assert_nonnull(ub_pcs_mode_check(&m));
    m.codecs = 2;
    g_assert_false(ub_pcs_tx_set_map(l->tx, twice));
    g_assert_false(ub_pcs_rx_set_map(l->rx, twice));
    /* Calls out of place are refused and change nothing. */
    g_assert_cmpuint(ub_pcs_tx_flits(l->tx, flit, 1, &l->run), ==, 0);
    g_assert_false(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_assert_false(ub_pcs_tx_edf(l->tx, &l->run));
    g_assert_false(ub_pcs_tx_open(l->tx, &l->run));
    g_assert_cmpuint(ub_pcs_tx_prbs(l->tx, 10, &l->run), ==, 0);
    g_assert_cmpuint(l->run.n, ==, 0);
    start(l, &m);
    g_assert_false(ub_pcs_tx_train(l->tx, 4, false, false, NULL));
    g_assert_false(ub_pcs_tx_width(l->tx, 8, &l->run));
    g_assert_cmpuint(ub_pcs_tx_missing(l->tx), ==, 0);
    g_assert_cmpuint(ub_pcs_tx_flits(l->tx, flit, 1, &l->run), ==, 1);
    g_assert_cmpuint(ub_pcs_tx_missing(l->tx), ==, 11);
    g_assert_cmpuint(ub_pcs_tx_flit_room(l->tx), ==, 12 * 20 - 1);
    g_assert_true(ub_pcs_tx_flush(l->tx, &l->run));
    g_assert_cmpuint(ub_pcs_tx_flit_room(l->tx), ==, 12 * 19);
    link_free(l);
}

/* The smallest run a caller may offer makes progress in every mode. */
static void test_small_runs(void)
{
    for (unsigned n = 0; n < 24; n++) {
        UbPcsMode m = mode_of(n);
        UbPcsParams p;
        Link *l;

        ub_pcs_params_init(&p);
        p.period[0] = n % 2 ? 64 : 1280;
        l = link_new(&p);
        l->run.cap = UB_PCS_RUN_MIN;
        start(l, &m);
        send(l, 300);
        edf(l);
        check_all(l);
        link_free(l);
    }
}

/* An SDF that finds no room in the run changes nothing, and comes later. */
static void test_sdf_room(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 2 };
    Link *l = link_new(NULL);

    ub_pcs_rx_enable(l->rx, 0xff, false, false);
    ub_pcs_rx_set_fec(l->rx, m.fec, m.codecs);
    g_assert_true(ub_pcs_tx_train(l->tx, 8, false, false, NULL));
    train(l, 6 * 32);
    l->run.cap = UB_AMCTL_SYMBOLS - 1;
    g_assert_false(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_assert_cmpuint(l->run.n, ==, 0);
    g_assert_cmpuint(ub_pcs_tx_lanes(l->tx), ==, 0xff);
    l->run.cap = CAP;
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_assert_cmpuint(ub_pcs_tx_lanes(l->tx), ==, 0x0f);
    ship(l);
    send(l, 200);
    flush(l);
    check_all(l);
    link_free(l);
}

/* The SDF ends LIDs of a training that differ from the lanes' numbers: the
 * receiver orders lanes by those (UB 2.0 §3.2.3.3). */
static void test_lids_of_training(void)
{
    static const uint8_t lids[UB_LANES] = { 3, 2, 1, 0, 4, 5, 6, 7 };
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 2 };
    Link *l = link_new(NULL);
    UbPcsLane lane;

    ub_pcs_rx_enable(l->rx, 0x0f, false, false);
    ub_pcs_rx_set_fec(l->rx, m.fec, m.codecs);
    g_assert_true(ub_pcs_tx_train(l->tx, 4, false, false, lids));
    train(l, 6 * 32);
    for (unsigned i = 0; i < 4; i++) {
        ub_pcs_rx_lane(l->rx, i, &lane);
        g_assert_cmpuint(lane.lid, ==, lids[i]);
    }
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    ship(l);
    send(l, 200);
    flush(l);
    check_all(l);
    link_free(l);
}

/* After data a training is one again: its lanes have blocks, not flits. */
static void test_train_again(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
    Link *l = link_new(NULL);
    unsigned before[UB_LANES];

    for (unsigned turn = 0; turn < 3; turn++) {
        start(l, &m);
        send(l, 100);
        edf(l);
        check_all(l);
        g_byte_array_set_size(l->sent, 0);
        g_byte_array_set_size(l->got, 0);
        g_assert_cmpuint(count_events(l, UB_PCS_EDF), ==, turn + 1);
        memcpy(before, l->ltbs, sizeof(before));
        /* The next training, in part: blocks arrive at each lane. */
        ub_pcs_rx_enable(l->rx, 0x0f, false, false);
        g_assert_true(ub_pcs_tx_train(l->tx, 4, false, false, NULL));
        train(l, 6 * 32);
        for (unsigned i = 0; i < 4; i++) {
            g_assert_cmpuint(l->ltbs[i], >=, before[i] + 2 * 32);
        }
    }
    link_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pcs/identity", test_identity);
    g_test_add_func("/pcs/periods", test_periods);
    g_test_add_func("/pcs/known-lanes", test_known_lanes);
    g_test_add_func("/pcs/scrambler-rule", test_scrambler_rule);
    g_test_add_func("/pcs/training", test_training);
    g_test_add_func("/pcs/width-down-up", test_width_down_up);
    g_test_add_func("/pcs/train-counts", test_train_counts);
    g_test_add_func("/pcs/wake-bounds", test_wake_bounds);
    g_test_add_func("/pcs/short-period", test_short_period);
    g_test_add_func("/pcs/low-power", test_low_power);
    g_test_add_func("/pcs/checks", test_checks);
    g_test_add_func("/pcs/small-runs", test_small_runs);
    g_test_add_func("/pcs/sdf-room", test_sdf_room);
    g_test_add_func("/pcs/lids-of-training", test_lids_of_training);
    g_test_add_func("/pcs/train-again", test_train_again);
    return g_test_run();
}
