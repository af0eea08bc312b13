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

/* ---- A data link layer that stops ------------------------------------------- */

/* What was sent, or failed when a link was lost. */
static void reap_sent(Side *s)
{
    while (s->tx_tail != s->tx_head &&
           get_le16(s->mem + TX_RING + s->tx_tail % RING * UBC_DESC_SIZE + 14)) {
        s->tx_tail++;
    }
}

/* B takes nothing, so A's credit runs out; `recover`: the link heals. */
static bool stuck(Side *a, Side *b)
{
    reap_sent(a);
    if (a->tx_tail == a->tx_head) { /* no doorbell for nothing */
        send(a, RING, 3);
    }
    return count(a, UBC_CNT_DLL_ERRORS) > 0;
}

static bool flowing(Side *a, Side *b)
{
    reap_sent(a);
    /* What the lost link took with it is not missed. */
    while (b->rx_tail != b->rx_head) {
        uint8_t *d = b->mem + RX_RING + b->rx_tail % RING * UBC_DESC_SIZE;

        if (!(get_le16(d + 14) & UBC_DESC_DONE)) {
            break;
        }
        b->rx_tail++;
        b->received++;
    }
    give_rx(b);
    send(a, 10, 3);
    return b->received >= goal;
}

static void test_stopped(void)
{
    Side *a = &two[0], *b = &two[1];

    for (unsigned recover = 0; recover < 2; recover++) {
        UbcConfig conf;

        ubc_config_init(&conf);
        conf.dll.init_credit[0] = 64;
        conf.dll.credit_timeout = SECOND / 100;
        conf.dll.keepalive = 0;
        conf.dll.down_recovers = recover;
        pair(a, b, &conf);
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
        run_until(a, b, never, SECOND / 10); /* up to the last rate */
        g_assert_true(run_until(a, b, stuck, SECOND));
        g_assert_false(rd(a, UBC_PORT(0) + UBC_PORT_STATUS) &
                       UBC_PORT_STATUS_DLL_UP);
        if (!recover) {
            run_until(a, b, never, SECOND);
            g_assert_false(both_up(a, b));
            g_assert_cmpuint(count(a, UBC_CNT_LINK_DOWNS), ==, 1);
            /* §4.8.1: until it is reset. */
            wr(a, UBC_PORT(0) + UBC_PORT_CTRL, 0);
            wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        }
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
        goal = b->received + 500;
        g_assert_true(run_until(a, b, flowing, 60 * SECOND));
        g_assert_cmpuint(count(a, UBC_CNT_DLL_ERRORS), ==, 1);
        unpair(a, b);
    }
}

/* By default nobody gives up: B may look at its memory for a minute. */
static void test_patient(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.dll.init_credit[0] = 64;
    conf.dll.keepalive = 0;
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    g_assert_false(run_until(a, b, stuck, 60 * SECOND));
    goal = MAX(a->sent, b->sent) + 100;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    g_assert_cmpuint(count(a, UBC_CNT_LINK_DOWNS), ==, 0);
    unpair(a, b);
}

/* ---- Settings ----------------------------------------------------------------- */

/* Credits of eight VLs are written one register after the other, whatever their
 * sum in between; what does not fit together is named when a link takes it. */
static void test_settings_together(void)
{
    const unsigned credit = UB_LINK_DL_CREDIT;
    Side *a = &two[0], *b = &two[1];
    UbcPortInfo info;
    UbcConfig conf;

    ubc_config_init(&conf);
    for (unsigned vl = 0; vl < 16; vl++) {
        conf.dll.init_credit[vl] = 4000;
    }
    pair(a, b, &conf);
    for (unsigned i = 0; i < 8; i++) {
        cfg_write(a, LINK_SLICE + credit + i, i < 1 ? 60000 : 100);
    }
    g_assert_cmpuint(a->guest_errors, ==, 0);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    g_assert_cmpuint(a->guest_errors, ==, 0);
    ubc_port_info(b->ubc, 0, &info);
    g_assert_cmpuint(info.status.tx_credit_init[0], ==, 60000);
    g_assert_cmpuint(info.status.tx_credit_init[2], ==, 100);
    unpair(a, b);

    /* Units of 128 flits in a Retry Buffer of 64: each is legal by itself. */
    ubc_config_init(&conf);
    pair(a, b, &conf);
    link_field(a, UB_LINK_DL_CFG_DW0, 0xff00, 0x80);
    link_field(a, UB_LINK_DL_CFG_DW10, 0xfffff, 64);
    g_assert_cmphex(cfg(a, LINK_SLICE + UB_LINK_DL_CFG_DW0), ==, 0x18020);
    g_assert_cmpuint(a->guest_errors, ==, 0);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    g_assert_cmpuint(a->guest_errors, ==, 1);
    /* The layer kept what it had. */
    g_assert_cmphex(cfg(b, LINK_SLICE + UB_LINK_DL_STATUS_DW11), ==, 32768);
    goal = 500;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    unpair(a, b);
}

/* Shared credits: A sends more on a VL than was granted for it. */
static void test_tx_share(void)
{
    Side *a = &two[0], *b = &two[1];
    uint64_t flits[2];

    for (unsigned share = 0; share < 2; share++) {
        UbcConfig conf;
        UbcPortInfo info;

        ubc_config_init(&conf);
        conf.dll.tx_share = share;
        conf.dll.share_quota[0] = 40;
        for (unsigned vl = 0; vl < 16; vl++) {
            conf.dll.init_credit[vl] = vl < 8 ? 200 : 0;
        }
        pair(a, b, &conf);
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
        run_until(a, b, never, SECOND / 10);
        ubc_port_info(a->ubc, 0, &info);
        g_assert_cmpint(info.status.tx_shared, ==, share);
        g_assert_cmpuint(info.status.tx_credit[0], ==, share ? 40 : 200);
        g_assert_cmpuint(info.status.tx_credit[1], ==, share ? 64 : 200);
        flits[share] = count(b, UBC_CNT_RX_FLITS);
        run_until(a, b, stuck, SECOND / 10);
        flits[share] = count(b, UBC_CNT_RX_FLITS) - flits[share];
        goal = MAX(a->sent, b->sent) + 100;
        g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
        unpair(a, b);
    }
    g_assert_cmpuint(flits[1], >, 3 * flits[0]);
}

/* Thresholds: with half of the retries and no Retrain a deaf peer is given up
 * much earlier. */
static void test_thresholds(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;
    uint64_t sets;

    ubc_config_init(&conf);
    conf.dll.num_retry_threshold = 3;
    conf.dll.num_phy_reinit_threshold = 1;
    conf.dll.down_recovers = false;
    begin(&conf);
    sets = count(a, UBC_CNT_RETRIES_SENT);
    noise(0.02);
    send(a, 50, 3);
    send(b, 50, 3);
    run_until(a, b, never, SECOND / 100);
    /* Two sets, each not answered; DL Retry Rollover, DL Retry Error. */
    g_assert_cmpuint(count(a, UBC_CNT_RETRIES_SENT), ==, sets + 2);
    g_assert_cmpuint(count(a, UBC_CNT_DLL_ERRORS), ==, 4);
    g_assert_cmpuint(count(a, UBC_CNT_LINK_DOWNS), ==, 1);
    unpair(a, b);
}

/* Memory that cannot be read: the packet is lost, or comes marked, as MarkErr Cfg
 * says (§4.8.3). */
static void test_mark_err(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    give_rx(b);
    memset(b->mem + RX_BUF, 0xee, BUF);
    for (unsigned mark = 0; mark < 2; mark++) {
        uint8_t *d = a->mem + TX_RING + a->tx_head % RING * UBC_DESC_SIZE;
        uint8_t *r = b->mem + RX_RING;

        link_field(a, UB_LINK_DL_MARKERR_CFG, 1, mark);
        put_le64(d, 1ull << 40);
        put_le32(d + 8, 1500);
        put_le16(d + 12, 3);
        put_le16(d + 14, 0);
        wr(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_HEAD, ++a->tx_head);
        run_until(a, b, never, SECOND / 100);
        g_assert_cmphex(get_le16(d + 14), ==,
                        UBC_DESC_DONE | UBC_DESC_ERROR);
        g_assert_cmphex(get_le16(r + 14), ==,
                        mark ? UBC_DESC_DONE | UBC_DESC_ERROR : 0);
        g_assert_cmpuint(get_le32(r + 8), ==, mark ? 1500 : BUF);
    }
    /* Zeroes, and nothing of what the host's memory had there. */
    for (unsigned i = 0; i < 1500; i++) {
        g_assert_cmphex(b->mem[RX_BUF + i], ==, 0);
    }
    g_assert_cmpuint(count(b, UBC_CNT_RX_PACKETS), ==, 1);
    unpair(a, b);
}

/* A strict VL overtakes what waits on another; weights divide the rest: by the settings of
 * the data link layer, or of the network layer above it. */
static void test_scheduling(gconstpointer network)
{
    Side *a = &two[0], *b = &two[1];
    unsigned order[40] = { 0 }, first[3] = { 0 };
    UbcConfig conf;

    ubc_config_init(&conf);
    *(network ? &conf.node.net.vl_strict : &conf.dll.vl_strict) = 1 << 2;
    (network ? conf.node.net.vl_weight : conf.dll.vl_weight)[1] = 4;
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    run_until(a, b, never, SECOND / 10);
    give_rx(b);
    for (unsigned n = 0; n < 40; n++) {
        uint8_t *d = a->mem + TX_RING + a->tx_head++ % RING * UBC_DESC_SIZE;

        put_le64(d, TX_BUF);
        put_le32(d + 8, 3000);
        put_le16(d + 12, 3 | (n < 18 ? 0 : n < 36 ? 1 : 2) <<
                             UBC_DESC_VL_SHIFT);
        put_le16(d + 14, 0);
    }
    wr(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_HEAD, a->tx_head);
    run_until(a, b, never, SECOND / 10);
    g_assert_cmpuint(count(b, UBC_CNT_RX_PACKETS), ==, 40);
    for (unsigned n = 0; n < 40; n++) {
        order[n] = (get_le16(b->mem + RX_RING + n * UBC_DESC_SIZE + 12) &
                    UBC_DESC_VL) >> UBC_DESC_VL_SHIFT;
        first[order[n]] += n < 24;
    }
    g_assert_cmpuint(first[2], ==, 4);
    for (unsigned n = 0; n < 4; n++) {
        g_assert_cmpuint(order[n], ==, 2);
    }
    g_assert_cmpuint(first[1], >, 2 * first[0]);
    unpair(a, b);
}

/* CRC30 over the other bytes: also in the Null Blocks that fill the stream. */
static void test_crc_cover(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.dll.crc_cover = UB_CRC_COVER_BYTES;
    begin(&conf);
    run_until(a, b, never, SECOND / 100);
    settle(a, b, 0);
    g_assert_cmpuint(count(a, UBC_CNT_CRC_ERRORS), ==, 0);
    g_assert_cmpuint(count(b, UBC_CNT_CRC_ERRORS), ==, 0);
    unpair(a, b);
}

/* Device reset: all counters count from 0, those of the lower layers too. */
static void test_counters(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;
    uint64_t flits;

    ubc_config_init(&conf);
    begin(&conf);
    noise(1e-3);
    settle(a, b, 0);
    noise(0);
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        bool faulty = i == UBC_CNT_TX_ERRORS || i == UBC_CNT_RX_TRUNCATED ||
                      i == UBC_CNT_RX_NO_BUFFER || i == UBC_CNT_LINK_DOWNS ||
                      i == UBC_CNT_CREDIT_STALLS || i == UBC_CNT_DLL_ERRORS ||
                      i == UBC_CNT_CRC_ERRORS || i == UBC_CNT_PEER_ERRORS ||
                      i == UBC_CNT_AMCTL_MISSED || i >= UBC_CNT_LINK_BAD_RECORDS;

        g_assert_true(faulty || count(a, i));
    }
    wr(a, UBC_CTRL, UBC_CTRL_RESET);
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        g_assert_cmpuint(count(a, i), ==, 0);
    }
    cut(a, b);
    connect(a, b);
    side_open(a);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    flits = count(a, UBC_CNT_TX_FLITS);
    g_assert_cmpuint(flits, >, 0);
    g_assert_cmpuint(flits, <, 10000);
    g_assert_cmpuint(count(a, UBC_CNT_CRD_ACKS), >, 0);
    unpair(a, b);
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
    g_test_add_func("/ub/ubc/dll/stopped", test_stopped);
    g_test_add_func("/ub/ubc/dll/patient", test_patient);
    g_test_add_func("/ub/ubc/dll/settings-together", test_settings_together);
    g_test_add_func("/ub/ubc/dll/tx-share", test_tx_share);
    g_test_add_func("/ub/ubc/dll/thresholds", test_thresholds);
    g_test_add_func("/ub/ubc/dll/mark-err", test_mark_err);
    g_test_add_data_func("/ub/ubc/dll/scheduling", NULL, test_scheduling);
    g_test_add_data_func("/ub/ubc/dll/scheduling-above", "", test_scheduling);
    g_test_add_func("/ub/ubc/dll/crc-cover", test_crc_cover);
    g_test_add_func("/ub/ubc/dll/counters", test_counters);
    return g_test_run();
}
