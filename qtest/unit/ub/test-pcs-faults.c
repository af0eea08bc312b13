/*
 * The PCS over wires that are crossed, skewed, inverted and noisy: deskew, lane
 * order, errors and loss of lock; control in the midst of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "pcs-pair.h"

static void test_slip_and_polarity(void)
{
    for (unsigned n = 0; n < 64; n++) {
        UbPcsMode m = {
            .width = 4, .fec = UB_FEC_T4, .codecs = 2,
            .pam4 = n / 32, .precode = n / 16 % 2,
        };
        Link *l = link_new(NULL);
        UbPcsLane lane;

        for (unsigned i = 0; i < 4; i++) {
            l->slip[i] = (n + 3 * i) % 8 & (m.pam4 ? 6 : 7);
            l->invert[i] = (n >> 3 ^ i) & 1;
            l->delay[i] = (n * i) % 20;
        }
        start(l, &m);
        send(l, 600);
        send(l, 5);
        edf(l);
        train(l, 3); /* pushes the last, shifted symbols through */
        check_all(l);
        for (unsigned i = 0; i < 4; i++) {
            ub_pcs_rx_lane(l->rx, i, &lane);
            g_assert_cmpint(lane.inverted, ==, l->invert[i]);
            g_assert_cmpuint(lane.slip, ==, l->slip[i]);
        }
        link_free(l);
    }
}

static void test_deskew(void)
{
    for (unsigned n = 0; n < 40; n++) {
        UbPcsMode m = { .width = 8, .fec = n % 3, .codecs = 1 + n % 2 };
        Link *l = link_new(NULL);

        for (unsigned i = 0; i < 8; i++) {
            l->delay[i] = g_rand_int_range(l->rand, 0, 129);
        }
        start(l, &m);
        send(l, 900);
        edf(l);
        train(l, 16); /* brings the late lanes home */
        check_all(l);
        g_assert_cmpuint(count_events(l, UB_PCS_SKEW_OVERFLOW), ==, 0);
        g_assert_nonnull(find_event(l, UB_PCS_EDF));
        link_free(l);
    }
}

static void test_deskew_overflow(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
    Link *l = link_new(NULL);

    l->delay[2] = 200;
    start(l, &m);
    send(l, 500);
    g_assert_nonnull(find_event(l, UB_PCS_SKEW_OVERFLOW));
    g_assert_cmpuint(l->got->len, ==, 0);
    g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->skew_overflows, ==, 1);
    /* Training again with the skew gone. */
    edf(l);
    g_byte_array_set_size(l->fifo[2], 0);
    ub_pcs_rx_relock(l->rx, 0xff);
    train(l, 6 * 32);
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_byte_array_set_size(l->sent, 0);
    send(l, 500);
    flush(l);
    check_all(l);
    link_free(l);
}

static void test_lane_order(void)
{
    static const struct {
        uint8_t width, wire[UB_LANES];
        bool disorder;
    } rows[] = {
        { 4, { 0, 1, 2, 3, 4, 5, 6, 7 }, false },
        { 4, { 3, 2, 1, 0, 4, 5, 6, 7 }, false },
        { 8, { 7, 6, 5, 4, 3, 2, 1, 0 }, false },
        { 2, { 1, 0, 2, 3, 4, 5, 6, 7 }, false },
        { 4, { 2, 0, 3, 1, 4, 5, 6, 7 }, true },
        { 8, { 5, 2, 7, 0, 1, 6, 3, 4 }, true },
        { 4, { 4, 5, 6, 7, 0, 1, 2, 3 }, true }, /* lane 0 not at 0,1,3,7 */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbPcsMode m = { .width = rows[i].width, .fec = UB_FEC_T4,
                        .codecs = 2 };
        Link *l = link_new(NULL);

        memcpy(l->wire, rows[i].wire, UB_LANES);
        start(l, &m);
        send(l, 500);
        flush(l);
        check_all(l);
        g_assert_cmpint(find_event(l, UB_PCS_LANE_MAP) != NULL, ==,
                        rows[i].disorder);
        link_free(l);
    }
    /* Every order of four lanes. */
    for (unsigned n = 0; n < 256; n++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T2, .codecs = 1 };
        Link *l;
        unsigned seen = 0;

        for (unsigned i = 0; i < 4; i++) {
            seen |= 1 << (n >> 2 * i & 3);
        }
        if (seen != 15) {
            continue;
        }
        l = link_new(NULL);
        for (unsigned i = 0; i < 4; i++) {
            l->wire[i] = n >> 2 * i & 3;
        }
        start(l, &m);
        send(l, 100);
        flush(l);
        check_all(l);
        link_free(l);
    }
}

/* Without re-mapping the configured order rules: a reversal that both ends
 * know of works, one that the receiver does not know of fails FEC. */
static void test_lane_map(void)
{
    static const uint8_t reversed[UB_LANES] = { 3, 2, 1, 0, 4, 5, 6, 7 };

    for (unsigned known = 0; known < 2; known++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
        UbPcsParams p;
        Link *l;

        ub_pcs_params_init(&p);
        p.full_disorder = false;
        l = link_new(&p);
        g_assert_true(ub_pcs_tx_set_map(l->tx, reversed));
        if (known) {
            g_assert_true(ub_pcs_rx_set_map(l->rx, reversed));
        }
        start(l, &m);
        send(l, 300);
        flush(l);
        if (known) {
            check_all(l);
        } else {
            g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->failed_words, >, 40);
        }
        link_free(l);
    }
}

/* Some whole frames, aligned, so that code words can be hit exactly. */
static void test_fec_limits(void)
{
    for (unsigned t = UB_FEC_T2; t <= UB_FEC_T4; t++) {
        unsigned capacity = t == UB_FEC_T2 ? 2 : 4;

        for (unsigned errors = 1; errors <= capacity + 1; errors++) {
            UbPcsMode m = { .width = 1, .fec = t, .codecs = 1 };
            Link *l = link_new(NULL);
            uint8_t flits[6 * UB_FLIT];
            const UbPcsRxStats *s = ub_pcs_rx_stats(l->rx);

            start(l, &m);
            memset(flits, 0x11, sizeof(flits));
            g_byte_array_append(l->sent, flits, sizeof(flits));
            ub_pcs_tx_flits(l->tx, flits, 6, &l->run);
            for (unsigned e = 0; e < errors; e++) {
                l->run.lane[0][l->run.n - 1 - 25 * e] ^= 0x40;
            }
            ship(l);
            g_assert_cmpuint(s->words, ==, 1);
            if (errors <= capacity) {
                check_all(l);
                g_assert_cmpuint(s->fixed_symbols, ==, errors);
                g_assert_cmpuint(s->fixed_words, ==, 1);
            } else {
                g_assert_cmpuint(s->failed_words, ==, 1);
                g_assert_cmpuint(s->error_symbols, ==, capacity + 1);
                g_assert_cmpuint(s->bad_flits, ==, 6);
                g_assert_cmpuint(l->ok->data[0], ==, 0);
            }
            link_free(l);
        }
    }
}

static void hurt_bits(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    double gap = -1;

    while (l->hurt_rate) {
        /* Geometric distances between wrong bits. */
        double u = g_rand_double_range(l->rand, 1e-12, 1.0);
        double skip = __builtin_log(u) / __builtin_log(1 - l->hurt_rate);

        gap += 1 + (skip < 1e12 ? __builtin_floor(skip) : 1e12);
        if (gap >= 8.0 * n) {
            break;
        }
        sym[(size_t)gap / 8] ^= 1 << (size_t)gap % 8;
    }
}

/* Bit errors: a good verdict means the right flits, nothing is lost or moved,
 * lanes stay locked. */
static void test_bit_errors(void)
{
    static const double rates[] = { 1e-5, 1e-4, 1e-3 };

    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        UbPcsMode m = { .width = 8, .fec = UB_FEC_T4, .codecs = 2 };
        Link *l = link_new(NULL);
        const UbPcsRxStats *s = ub_pcs_rx_stats(l->rx);
        size_t bad = 0, wrong = 0;

        start(l, &m);
        l->hurt = hurt_bits;
        l->hurt_rate = rates[i];
        for (unsigned n = 0; n < 20; n++) {
            send(l, 1200);
        }
        flush(l);
        g_assert_cmpuint(l->got->len, >=, l->sent->len);
        for (size_t f = 0; f < l->sent->len / UB_FLIT; f++) {
            bool same = !memcmp(l->got->data + f * UB_FLIT,
                                l->sent->data + f * UB_FLIT, UB_FLIT);

            bad += !l->ok->data[f];
            wrong += l->ok->data[f] && !same;
        }
        g_test_message("rate %g: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                       " words corrected, %" G_GUINT64_FORMAT " failed, "
                       "%zu flits miscorrected", rates[i], s->fixed_words,
                       s->words, s->failed_words, wrong);
        g_assert_cmpuint(s->fixed_words, >, 0);
        g_assert_cmpuint(s->bad_flits, >=, bad);
        /* Miscorrection needs five or more wrong symbols in a word and then
         * luck of about 1 in 4!: 1e-3 gives 0.3 % of words that many. */
        g_assert_cmpuint(wrong, <=, bad);
        g_assert_cmpuint(count_events(l, UB_PCS_UNLOCK), ==, 0);
        g_assert_cmpuint(count_events(l, UB_PCS_SKEW_OVERFLOW), ==, 0);
        if (rates[i] < 1e-4) {
            check_all(l);
        }
        link_free(l);
    }
}

/* AMCTLs within the reach of eBCH keep their meaning. */
static void hurt_amctl(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    for (size_t i = 0; i + UB_AMCTL_SYMBOLS <= n; i++) {
        if (ub_amctl_lock_exact(sym + i)) {
            for (unsigned w = 0; w < UB_AMCTL_SYMBOLS; w += 2) {
                sym[i + w] ^= 1 << g_rand_int_range(l->rand, 0, 8);
                sym[i + w + 1] ^= 0x81;
            }
        }
    }
}

static void test_amctl_errors(void)
{
    UbPcsMode m = { .width = 8, .fec = UB_FEC_OFF };
    Link *l = link_new(NULL);
    UbPcsLane lane;

    start(l, &m);
    l->hurt = hurt_amctl;
    send(l, 3000);
    edf(l);
    check_all(l);
    g_assert_nonnull(find_event(l, UB_PCS_EDF));
    ub_pcs_rx_lane(l->rx, 3, &lane);
    g_assert_cmpuint(lane.ebch_fixed, >, 20);
    g_assert_cmpuint(lane.missed, ==, 0);
    link_free(l);
}

/* Destroy every AMCTL of lane 1. */
static void hurt_lane1(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    if (lane != 1) {
        return;
    }
    for (size_t i = 0; i + UB_AMCTL_SYMBOLS <= n; i++) {
        if (ub_amctl_end(sym + i) && ub_amctl_lock_exact(sym + i)) {
            memset(sym + i, 0x33, UB_AMCTL_SYMBOLS);
        }
    }
}

static void test_lost_amctl(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
    Link *l = link_new(NULL);
    const Event *e;

    start(l, &m);
    l->hurt = hurt_lane1;
    send(l, 2500);
    e = find_event(l, UB_PCS_UNLOCK);
    g_assert_nonnull(e);
    g_assert_cmpuint(e->lane, ==, 1);
    g_assert_cmpuint(count_events(l, UB_PCS_MISS), >=, 3);
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 4);
    /* Data goes on meanwhile, and the end of data is still found in place:
     * the other lanes tell where. */
    edf(l);
    check_all(l);
    g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_TRAIN);
    /* The lane that missed EDF hunts and locks again. */
    l->hurt = NULL;
    train(l, 6 * 32);
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 5);
    link_free(l);
}

/* In training, `unlock` misses send the lane back to hunting. */
static void test_training_unlock(void)
{
    Link *l = link_new(NULL);

    ub_pcs_rx_enable(l->rx, 0x03, false, false);
    g_assert_true(ub_pcs_tx_train(l->tx, 2, false, false, NULL));
    train(l, 32 * 6);
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 2);
    l->hurt = hurt_lane1;
    train(l, 32 * 2);
    g_assert_cmpuint(count_events(l, UB_PCS_UNLOCK), ==, 0);
    train(l, 32 * 2);
    g_assert_cmpuint(count_events(l, UB_PCS_UNLOCK), ==, 1);
    l->hurt = NULL;
    train(l, 32 * 6);
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 3);
    link_free(l);
}

/* Garbage on every lane: no lock to speak of, no harm. */
static void test_garbage(void)
{
    Link *l = link_new(NULL);
    UbPcsMode m = { .width = 8, .fec = UB_FEC_T4, .codecs = 2 };
    GRand *r = g_rand_new_with_seed(9);

    for (unsigned round = 0; round < 2; round++) {
        if (round) {
            start(l, &m);
        } else {
            ub_pcs_rx_enable(l->rx, 0xff, false, false);
        }
        for (unsigned n = 0; n < 20; n++) {
            l->run.mask = 0xff;
            l->run.n = 5000 + n;
            for (unsigned i = 0; i < 8; i++) {
                for (size_t k = 0; k < l->run.n; k++) {
                    l->run.lane[i][k] = g_rand_int(r);
                }
            }
            ship(l);
        }
        if (!round) {
            g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 0);
        }
    }
    /* A stream of AMCTLs with every command in every state. */
    for (unsigned n = 0; n < 20000; n++) {
        l->run.mask = 0xff;
        l->run.n = UB_AMCTL_SYMBOLS;
        for (unsigned i = 0; i < 8; i++) {
            ub_amctl_encode(l->run.lane[i], g_rand_int_range(r, 0, 9),
                            g_rand_int_range(r, 0, 8),
                            g_rand_int_range(r, 0, 8));
        }
        if (n % 5) {
            l->run.n = g_rand_int_range(r, 1, 1400);
        }
        ship(l);
    }
    g_rand_free(r);
    link_free(l);
}

static void test_hi_ber(void)
{
    UbPcsMode m = { .width = 1, .fec = UB_FEC_T2, .codecs = 1 };
    UbPcsParams p;
    Link *l;

    ub_pcs_params_init(&p);
    p.hi_fec_ber = 30;
    l = link_new(&p);
    start(l, &m);
    l->hurt = hurt_bits;
    l->hurt_rate = 0.02;
    send(l, 600);
    g_assert_cmpuint(count_events(l, UB_PCS_HI_FEC_BER), ==, 1);
    g_assert_cmpuint(find_event(l, UB_PCS_HI_FEC_BER)->arg, >=, 30);
    g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->error_symbols, ==,
                     3 * ub_pcs_rx_stats(l->rx)->failed_words);
    ub_pcs_rx_clear_ber(l->rx);
    send(l, 600);
    g_assert_cmpuint(count_events(l, UB_PCS_HI_FEC_BER), ==, 2);
    link_free(l);
}

static unsigned reaction;

static void react_sdf(Link *l, UbPcsEvent ev)
{
    if (ev != UB_PCS_SDF) {
        return;
    }
    l->react = NULL;
    if (reaction == 0) {
        ub_pcs_rx_relock(l->rx, 0x0f);
    } else if (reaction == 1) {
        ub_pcs_rx_reset(l->rx);
    } else if (reaction == 2) {
        ub_pcs_rx_enable(l->rx, 0, false, false);
    } else {
        /* The last word counts. */
        ub_pcs_rx_enable(l->rx, 0x0f, true, false);
        ub_pcs_rx_relock(l->rx, 0x0f);
        ub_pcs_rx_reset(l->rx);
    }
    /* Not under the feet of what is being received. */
    g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_DATA);
}

/* Control from inside an event waits for the chunk to be done. */
static void test_control_in_event(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };

    for (reaction = 0; reaction < 4; reaction++) {
        Link *l = link_new(NULL);
        UbPcsLane lane;

        l->react = react_sdf;
        start(l, &m);
        g_assert_null(l->react);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==,
                        reaction ? UB_PCS_IDLE : UB_PCS_TRAIN);
        ub_pcs_rx_lane(l->rx, 0, &lane);
        g_assert_false(lane.locked || lane.data);
        g_assert_cmpint(lane.enabled, ==, !reaction);
        link_free(l);
    }
}

/* Lanes that are told another line code hunt anew; told the same, they stay. */
static void test_enable_again(void)
{
    for (unsigned i = 0; i < 4; i++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
        Link *l = link_new(NULL);
        UbPcsLane lane;

        start(l, &m);
        ub_pcs_rx_enable(l->rx, 0x0f, i & 1, i & 2);
        ub_pcs_rx_lane(l->rx, 1, &lane);
        g_assert_cmpint(lane.locked, ==, !i);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==,
                        i ? UB_PCS_TRAIN : UB_PCS_DATA);
        link_free(l);
    }
}

static unsigned hurt_end;      /* lane whose next AMCTL loses its END */

static void hurt_period(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    UbAmctl a;

    for (size_t i = 0; lane == hurt_end && i + UB_AMCTL_SYMBOLS <= n; i++) {
        if (ub_amctl_decode(&a, sym + i) && a.type == UB_AMCTL_PERIOD) {
            memset(sym + i + 12, 0xff, 4);
            return;
        }
    }
}

static void hurt_body(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    UbAmctl a;

    for (size_t i = 0; lane == 1 && i + UB_AMCTL_SYMBOLS <= n; i++) {
        if (ub_amctl_decode(&a, sym + i) && a.body == 6) {
            memset(sym + i, 0xff, 2);
        }
    }
}

/* One word of BODY is wrong: counted, and no more (§3.2.4.4). */
static void test_body_errors(void)
{
    UbPcsMode m = { .width = 2, .fec = UB_FEC_T4, .codecs = 1 };
    Link *l = link_new(NULL);
    UbPcsLane lane;

    start(l, &m);
    l->hurt = hurt_body;
    send(l, 2000);
    for (unsigned i = 0; i < 2; i++) {
        ub_pcs_rx_lane(l->rx, i, &lane);
        g_assert_cmpint(lane.body_errors > 0, ==, i);
        g_assert_cmpuint(lane.missed, ==, 0);
        g_assert_true(lane.locked);
    }
    link_free(l);
}

/* A lane that misses just the AMCTL with a new period follows the others. */
static void test_lost_period(void)
{
    for (unsigned n = 0; n < 24; n++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
        Link *l = link_new(NULL);

        hurt_end = n % 4;
        start(l, &m);
        send(l, 100 + n);
        l->hurt = hurt_period;
        for (unsigned k = 0; k < 2; k++) {
            g_assert_true(ub_pcs_tx_command(l->tx, 0x0f, UB_AMCTL_PERIOD,
                                            k ? UB_AMCTL_PERIOD_0
                                              : UB_AMCTL_PERIOD_1));
            while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
                ship(l);
            }
            /* In one run with it: more than a period, then the rest. */
            g_byte_array_set_size(l->sent, 0);
            send(l, 900);
        }
        flush(l);
        g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 2);
        g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->failed_words, ==, 0);
        g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->fixed_words, ==, 0);
        g_assert_cmpuint(count_events(l, UB_PCS_SKEW_OVERFLOW), ==, 0);
        link_free(l);
    }
}

/* A dead lane: its columns count as zeros, its AMCTLs are missed, and the
 * peer may leave it out without Retrain (§3.4.2.4). */
static void test_dead_lane(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
    Link *l = link_new(NULL);
    const UbPcsRxStats *s = ub_pcs_rx_stats(l->rx);
    uint8_t flits[60 * UB_FLIT] = { 0 };
    UbPcsLane lane;
    size_t before;

    start(l, &m);
    send(l, 500);
    g_assert_cmpuint(s->bad_flits, ==, 0);
    ub_pcs_rx_lane(l->rx, 1, &lane);
    g_assert_cmpuint(lane.body_errors, ==, 0);
    for (unsigned i = 0; i < 80; i++) {
        ub_pcs_tx_flits(l->tx, flits, 60, &l->run);
        l->run.mask &= ~(1 << 3);
        ship(l);
    }
    g_assert_cmpuint(s->failed_words, >, 500);
    g_assert_nonnull(find_event(l, UB_PCS_UNLOCK));
    g_assert_cmpuint(find_event(l, UB_PCS_UNLOCK)->lane, ==, 3);
    while (!ub_pcs_tx_width(l->tx, 2, &l->run)) {
        l->run.mask &= ~(1 << 3);
        ship(l);
    }
    l->run.mask &= ~(1 << 3);
    ship(l);
    g_assert_cmpuint(ub_pcs_rx_mode(l->rx)->width, ==, 2);
    before = s->failed_words;
    g_byte_array_set_size(l->got, 0);
    g_byte_array_set_size(l->ok, 0);
    g_byte_array_set_size(l->sent, 0);
    send(l, 600);
    flush(l);
    check_all(l);
    g_assert_cmpuint(s->failed_words, ==, before);
    link_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pcs/slip-and-polarity", test_slip_and_polarity);
    g_test_add_func("/pcs/deskew", test_deskew);
    g_test_add_func("/pcs/deskew-overflow", test_deskew_overflow);
    g_test_add_func("/pcs/lane-order", test_lane_order);
    g_test_add_func("/pcs/lane-map", test_lane_map);
    g_test_add_func("/pcs/fec-limits", test_fec_limits);
    g_test_add_func("/pcs/bit-errors", test_bit_errors);
    g_test_add_func("/pcs/amctl-errors", test_amctl_errors);
    g_test_add_func("/pcs/lost-amctl", test_lost_amctl);
    g_test_add_func("/pcs/training-unlock", test_training_unlock);
    g_test_add_func("/pcs/garbage", test_garbage);
    g_test_add_func("/pcs/hi-fec-ber", test_hi_ber);
    g_test_add_func("/pcs/control-in-event", test_control_in_event);
    g_test_add_func("/pcs/enable-again", test_enable_again);
    g_test_add_func("/pcs/body-errors", test_body_errors);
    g_test_add_func("/pcs/lost-period", test_lost_period);
    g_test_add_func("/pcs/dead-lane", test_dead_lane);
    return g_test_run();
}
