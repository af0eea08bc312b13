/*
 * The data link layer as a driver of two controllers meets it: by registers and
 * traffic.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-pair.h"

#define LINK_SLICE UB_CFG_PORT_CAP(0, UB_CAP_LINK)

static void cfg_write(Side *s, uint32_t dw, uint32_t value)
{
    wr(s, UBC_CFG_WINDOW + 4 * dw, value);
}

/* A field of the LINK slice. */
static void link_field(Side *s, uint32_t at, uint32_t mask, uint32_t value)
{
    uint32_t v = cfg(s, LINK_SLICE + at) & ~mask;

    cfg_write(s, LINK_SLICE + at, v | (value << __builtin_ctz(mask) & mask));
}

/* BCRC Mode for a Data Rate: PHY Link Control 8 and 9. */
static void bcrc_mode(Side *s, unsigned rate, bool crc)
{
    link_field(s, UB_LINK_PHY_CTL_8 + rate / 8,
               0xfu << rate % 8 * 4, crc);
}

static void retrain_link(Side *s)
{
    cfg_write(s, LINK_SLICE + UB_LINK_PHY_CTL_1,
              cfg(s, LINK_SLICE + UB_LINK_PHY_CTL_1) |
              UB_LINK_PHY_CTL_1__RETRAIN_LINK);
}

/* As PHY Link Status 2 says. */
static bool has_crc(Side *s)
{
    return cfg(s, LINK_SLICE + UB_LINK_PHY_STATUS_2) >> 12 & 1;
}

static unsigned rate_of(Side *s)
{
    return cfg(s, LINK_SLICE + UB_LINK_PHY_STATUS_1) & 0xf;
}

static bool is_primary(Side *s)
{
    return cfg(s, LINK_SLICE + UB_LINK_PHY_STATUS_1) >> 28 & 1;
}

static uint64_t count(Side *s, unsigned counter)
{
    UbcPortInfo info;

    ubc_port_info(s->ubc, 0, &info);
    return info.counter[counter];
}

/* Traffic goes on until both ends are in that mode (and `more` holds). */
static bool want_crc;
static uint64_t want_retrains;

static bool in_mode(Side *a, Side *b)
{
    goal = MAX(a->sent, b->sent) + 30;
    exchanged(a, b);
    return has_crc(a) == want_crc && has_crc(b) == want_crc &&
           count(a, UBC_CNT_RETRAINS) >= want_retrains && both_up(a, b);
}

/* What is under way comes, and nothing on the way did harm. */
static void settle(Side *a, Side *b, unsigned downs)
{
    goal = MAX(a->sent, b->sent) + 100;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    g_assert_cmpuint(count(a, UBC_CNT_LINK_DOWNS), ==, downs);
    g_assert_cmpuint(count(b, UBC_CNT_LINK_DOWNS), ==, downs);
    g_assert_cmpuint(a->guest_errors + b->guest_errors, ==, 0);
}

static Side *end_of(bool primary)
{
    return is_primary(&two[0]) == primary ? &two[0] : &two[1];
}

/* Link up, with some traffic behind it; peer errors of the climb forgotten. */
static void begin(const UbcConfig *conf)
{
    pair(&two[0], &two[1], conf);
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
    settle(&two[0], &two[1], 0);
    two[0].peer_errors = two[1].peer_errors = 0;
}

/*
 * BCRC off and on again under traffic, asked for by the primary and by the
 * secondary: a handshake of the data link layers, a Retrain, no loss.
 */
static void test_mode_change(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    begin(&conf);
    for (unsigned n = 0; n < 4; n++) {
        Side *s = end_of(n / 2);

        want_crc = n & 1;
        want_retrains = count(a, UBC_CNT_RETRAINS) + 1;
        bcrc_mode(s, 8, want_crc);
        retrain_link(s);
        g_assert_true(run_until(a, b, in_mode, 60 * SECOND));
        g_assert_cmpuint(count(a, UBC_CNT_RETRAINS), ==, want_retrains);
        settle(a, b, 0);
        g_assert_cmpuint(rate_of(a), ==, 8);
        g_assert_cmpuint(count(a, UBC_CNT_DLL_ERRORS) +
                         count(b, UBC_CNT_DLL_ERRORS), ==, 0);
        g_assert_cmpuint(a->peer_errors + b->peer_errors, ==, 0);
        /* The other end's register follows nothing; it is not asked. */
        want_retrains++;
        retrain_link(n & 2 ? a : b);
        g_assert_true(run_until(a, b, in_mode, 60 * SECOND));
        settle(a, b, 0);
    }
    unpair(a, b);
}

/* A rate whose nibble differs, and back. */
static unsigned want_rate;

static bool at_rate(Side *a, Side *b)
{
    return in_mode(a, b) && rate_of(a) == want_rate && rate_of(b) == want_rate;
}

static void test_mode_by_rate(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    for (unsigned primary = 0; primary < 2; primary++) {
        static const unsigned rates[] = { 4, 8, 2, 4 };
        Side *s;

        ubc_config_init(&conf);
        conf.phy.lmsm.auto_speed = false; /* the secondary may go down alone */
        pair(a, b, &conf);
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
        settle(a, b, 0);
        s = end_of(primary);
        want_retrains = 0;
        bcrc_mode(a, 4, false);
        bcrc_mode(b, 4, false);
        for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
            want_crc = rates[i] != 4;
            want_rate = rates[i];
            link_field(a, UB_LINK_PHY_CTL_1, UB_LINK_PHY_CTL_1__TARGET_LINK_SPEED,
                       rates[i]);
            link_field(b, UB_LINK_PHY_CTL_1, UB_LINK_PHY_CTL_1__TARGET_LINK_SPEED,
                       rates[i]);
            retrain_link(s);
            g_assert_true(run_until(a, b, at_rate, 60 * SECOND));
            settle(a, b, 0);
        }
        g_assert_cmpuint(count(a, UBC_CNT_DLL_ERRORS) +
                         count(b, UBC_CNT_DLL_ERRORS), ==, 0);
        unpair(a, b);
    }
}

/* Registers written without Retrain Link change nothing, however often the link
 * retrains for other reasons, and under whatever traffic. */
static void test_mode_not_asked(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    begin(&conf);
    want_crc = true;
    bcrc_mode(a, 8, false);
    for (unsigned n = 0; n < 5; n++) {
        const UbLaneFault f = { .ber = 0.02 };
        const UbLaneFault none = { 0 };

        want_retrains = count(a, UBC_CNT_RETRAINS) + 1;
        for (unsigned lane = 0; n < 4 && lane < UB_LANES; lane++) {
            g_assert_true(ub_inject_lane(ubc_inject(a->ubc, 0), lane, &f));
        }
        if (n == 4) {
            retrain_link(b); /* whose own registers want nothing new */
        }
        g_assert_true(run_until(a, b, in_mode, 60 * SECOND));
        for (unsigned lane = 0; lane < UB_LANES; lane++) {
            g_assert_true(ub_inject_lane(ubc_inject(a->ubc, 0), lane, &none));
        }
        settle(a, b, 0);
        g_assert_true(has_crc(a) && has_crc(b));
    }
    /* It was not forgotten. */
    want_crc = false;
    retrain_link(a);
    g_assert_true(run_until(a, b, in_mode, 60 * SECOND));
    settle(a, b, 0);
    unpair(a, b);
}

/* Bit errors hit the handshake, until both ends are ready: without CRC some of
 * them would pass for data. */
static bool handshake_over(Side *a, Side *b)
{
    UbcPortInfo info[2];

    in_mode(a, b);
    for (unsigned i = 0; i < 2; i++) {
        ubc_port_info(two[i].ubc, 0, &info[i]);
    }
    return info[0].status.mode_change == UB_BMC_READY &&
           info[1].status.mode_change == UB_BMC_READY;
}

static void noise(double ber)
{
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned lane = 0; lane < UB_LANES; lane++) {
            const UbLaneFault f = { .ber = ber };

            g_assert_true(ub_inject_lane(ubc_inject(two[i].ubc, 0), lane, &f));
        }
    }
}

static void test_mode_noisy(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.dll_time_scale = 10;
    begin(&conf);
    want_retrains = 0;
    for (unsigned n = 0; n < 10; n++) {
        want_crc = n & 1;
        noise(want_crc ? 0 : 1e-3);
        bcrc_mode(&two[n / 2 % 2], 8, want_crc);
        retrain_link(&two[n / 2 % 2]);
        g_assert_true(run_until(a, b, handshake_over, 60 * SECOND));
        noise(0);
        g_assert_true(run_until(a, b, in_mode, 60 * SECOND));
        settle(a, b, 0);
    }
    g_assert_cmpuint(count(a, UBC_CNT_RETRIES_SENT), >, 10);
    unpair(a, b);
}

/* A peer that does not answer: the Retrain is done, the mode stays. */
static void test_mode_given_up(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.dll.mode_timeout = 1; /* no answer is as fast */
    begin(&conf);
    want_crc = true;
    want_retrains = count(a, UBC_CNT_RETRAINS) + 1;
    bcrc_mode(a, 8, false);
    retrain_link(a);
    g_assert_true(run_until(a, b, in_mode, 60 * SECOND));
    settle(a, b, 0);
    g_assert_cmpuint(a->peer_errors, >, 0);
    g_assert_true(has_crc(a) && has_crc(b));
    unpair(a, b);
}

/* Power-on registers without CRC: both ends, or one, which asks the other. */
static void test_mode_at_start(void)
{
    Side *a = &two[0], *b = &two[1];

    for (unsigned n = 1; n < 4; n++) {
        UbcConfig conf, crc;

        ubc_config_init(&crc);
        conf = crc;
        memset(conf.phy.lmsm.crc_mode, 0, sizeof(conf.phy.lmsm.crc_mode));
        now = 1000;
        side_init(a, b, n & 1 ? &conf : &crc);
        side_init(b, a, n & 2 ? &conf : &crc);
        connect(a, b);
        side_open(a);
        side_open(b);
        want_crc = false;
        want_retrains = 0;
        g_assert_true(run_until(a, b, in_mode, 60 * SECOND));
        settle(a, b, 0);
        g_assert_false(has_crc(a) || has_crc(b));
        unpair(a, b);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ubc/mode/change", test_mode_change);
    g_test_add_func("/ub/ubc/mode/by-rate", test_mode_by_rate);
    g_test_add_func("/ub/ubc/mode/not-asked", test_mode_not_asked);
    g_test_add_func("/ub/ubc/mode/noisy", test_mode_noisy);
    g_test_add_func("/ub/ubc/mode/given-up", test_mode_given_up);
    g_test_add_func("/ub/ubc/mode/at-start", test_mode_at_start);
    return g_test_run();
}
