/*
 * Migration of a UB controller: what goes along, what must be the same at both
 * ends, and what a damaged image cannot do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-pair.h"
#include "ub/net_hw.h"

/* The state of `s` in another controller, in its place. */
static const char *moved(Side *s, const UbcConfig *conf)
{
    UbcConfig c = *conf;
    const char *why = NULL, *refused;
    uint8_t *image;
    size_t len;
    Ubc *ubc;

    image = ubc_save(s->ubc, now, &len);
    c.guid[15] = 9;
    c.session = 0x9999;
    ubc = ubc_new(&c, &ops, s, &why);
    g_assert_cmpstr(why, ==, NULL);
    refused = ubc_load(ubc, now, image, len);
    if (refused) {
        ubc_free(ubc);
    } else {
        ubc_free(s->ubc);
        s->ubc = ubc;
        ubc_bus_master(ubc, true);
        kick(s);
    }
    g_free(image);
    return refused;
}

static uint64_t counter(Side *s, unsigned n)
{
    uint64_t low = rd(s, UBC_PORT(0) + UBC_COUNTER(n));

    return low | (uint64_t)rd(s, UBC_PORT(0) + UBC_COUNTER(n) + 4) << 32;
}

/* All of them, also those that are counted in the layers; a reset clears them. */
static void test_counters(void)
{
    Side *a = &two[0], *b = &two[1];
    const UbLaneFault noise = { .ber = 1e-5 };
    uint64_t before[UBC_CNT_NUM];
    UbcConfig conf;
    unsigned some = 0;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    ub_inject_lane(ubc_inject(a->ubc, 0), 3, &noise);
    goal = 500;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    cut(a, b);
    g_assert_true(run_until(a, b, both_down, 60 * SECOND));
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        before[i] = counter(b, i);
        some += before[i] > 0;
    }
    g_assert_cmpuint(some, >=, 10);
    g_assert_cmpuint(before[UBC_CNT_RX_FLITS], >, 0);
    g_assert_cmpuint(before[UBC_CNT_FEC_CORRECTED], >, 0);
    for (unsigned n = 0; n < 2; n++) {
        g_assert_cmpstr(moved(b, &conf), ==, NULL);
        for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
            g_assert_cmpuint(counter(b, i), ==, before[i]);
        }
    }
    /* They go on from there. */
    connect(a, b);
    goal = 600;
    a->sent = b->received;
    b->sent = a->received;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    g_assert_cmpuint(counter(b, UBC_CNT_RX_PACKETS), ==,
                     before[UBC_CNT_RX_PACKETS] + 100);
    g_assert_cmpuint(counter(b, UBC_CNT_RX_FLITS), >,
                     before[UBC_CNT_RX_FLITS]);
    wr(b, UBC_CTRL, UBC_CTRL_RESET);
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        g_assert_cmpuint(counter(b, i), ==, 0);
    }
    unpair(a, b);
}

/* HELLO, Param_Exchg and registers say one GUID, also after a reset. */
static void test_guid(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;
    UbcPortInfo info;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    cut(a, b);
    g_assert_cmpstr(moved(b, &conf), ==, NULL);
    g_assert_cmphex(cfg(b, UB_CFG0_GUID), ==, 2);
    connect(a, b);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    run_until(a, b, never, SECOND / 10);
    g_assert_true(ubc_port_info(a->ubc, 0, &info));
    g_assert_cmpuint(info.peer->guid[15], ==, 2);
    g_assert_true(info.status.neighbor_valid);
    g_assert_cmpuint(info.status.neighbor_guid[15], ==, 2);
    wr(b, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmphex(cfg(b, UB_CFG0_GUID), ==, 2);
    unpair(a, b);
}

/* A reset that was asked for and not done yet. */
static void test_reset_pending(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    wr(b, UBC_CFG_WINDOW + 4 * (UB_CFG0_BASE + UB_CFG0_DEV_RST), 1);
    g_assert_cmphex(rd(b, UBC_PORT(0) + UBC_PORT_CTRL), ==,
                    UBC_PORT_CTRL_ENABLE);
    g_assert_cmpstr(moved(b, &conf), ==, NULL);
    g_assert_cmphex(rd(b, UBC_PORT(0) + UBC_PORT_CTRL), ==,
                    UBC_PORT_CTRL_ENABLE);
    ubc_run(b->ubc, now);
    g_assert_cmphex(rd(b, UBC_PORT(0) + UBC_PORT_CTRL), ==, 0);
    g_assert_cmphex(rd(b, UBC_PORT(0) + UBC_PORT_EVENT_MASK), ==, 0);
    unpair(a, b);
}

static bool at_full_rate(Side *a, Side *b)
{
    UbcPortInfo x;

    ubc_port_info(a->ubc, 0, &x);
    return both_up(a, b) && x.rate == 8;
}

/* A Retrain Link that waits for Link_Active. */
static void test_retrain(void)
{
    const uint32_t ctl = UB_CFG_PORT_CAP(0, UB_CAP_LINK) + UB_LINK_PHY_CTL_1;
    uint64_t retrains[2];

    for (unsigned asked = 0; asked < 2; asked++) {
        Side *a = &two[0], *b = &two[1];
        UbcConfig conf;

        ubc_config_init(&conf);
        pair(a, b, &conf);
        g_assert_true(run_until(a, b, at_full_rate, 60 * SECOND));
        cut(a, b);
        g_assert_true(run_until(a, b, both_down, 60 * SECOND));
        if (asked) {
            wr(b, UBC_CFG_WINDOW + 4 * ctl, cfg(b, ctl) |
               UB_LINK_PHY_CTL_1__RETRAIN_LINK);
        }
        g_assert_cmpstr(moved(b, &conf), ==, NULL);
        connect(a, b);
        g_assert_true(run_until(a, b, at_full_rate, 60 * SECOND));
        run_until(a, b, never, SECOND);
        retrains[asked] = counter(a, UBC_CNT_RETRAINS);
        unpair(a, b);
    }
    g_assert_cmpuint(retrains[1], >, retrains[0]);
}

static bool five_wait(Side *a, Side *b)
{
    UbcPortInfo info;

    ubc_port_info(a->ubc, 0, &info);
    return info.counter[UBC_CNT_TX_PACKETS] == 5 && a->next > now &&
           b->next > now;
}

/* Packets that wait for buffers keep VL, CFG, length and order; a buffer may
 * be as long as the packet, and is named when it is shorter. */
static void test_held(void)
{
    Side *a = &two[0], *b = &two[1];
    uint64_t bytes = 0;
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    send(a, 5, 4 | 3 << UBC_DESC_VL_SHIFT);
    run_until(a, b, five_wait, SECOND);
    run_until(a, b, never, SECOND / 100);
    g_assert_cmpuint(counter(b, UBC_CNT_RX_PACKETS), ==, 0);
    g_assert_cmpuint(counter(b, UBC_CNT_RX_NO_BUFFER), ==, 1);
    cut(a, b);
    g_assert_cmpstr(moved(b, &conf), ==, NULL);
    give_rx(b);
    put_le32(b->mem + RX_RING + 8, length_of(0));
    put_le32(b->mem + RX_RING + UBC_DESC_SIZE + 8, length_of(1) - 1);
    memset(b->mem + RX_BUF, 0xee, 5 * BUF);
    run_until(a, b, never, SECOND / 1000);
    for (unsigned i = 0; i < 5; i++) {
        const uint8_t *d = b->mem + RX_RING + i * UBC_DESC_SIZE;
        const uint8_t *p = b->mem + RX_BUF + i * BUF;

        g_assert_cmphex(get_le16(d + 14), ==, UBC_DESC_DONE |
                        (i == 1 ? UBC_DESC_TRUNCATED : 0));
        g_assert_cmphex(get_le16(d + 12), ==, 4 | 3 << UBC_DESC_VL_SHIFT);
        g_assert_cmpuint(get_le32(d + 8), ==, length_of(i));
        g_assert_cmpuint(get_le32(p), ==, i);
        g_assert_cmphex(p[length_of(i) - (i == 1)], ==, 0xee);
        bytes += length_of(i);
    }
    g_assert_cmpuint(counter(b, UBC_CNT_RX_PACKETS), ==, 5);
    g_assert_cmpuint(counter(b, UBC_CNT_RX_BYTES), ==, bytes);
    g_assert_cmpuint(counter(b, UBC_CNT_RX_TRUNCATED), ==, 1);
    unpair(a, b);
}

/* A setting that differs is named. */
static void test_settings(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, b, &conf);
#define DIFFERS(change, what) do {                                          \
        UbcConfig c = conf;                                                 \
        const char *why;                                                    \
                                                                            \
        change;                                                             \
        why = moved(b, &c);                                                 \
        g_assert_nonnull(why);                                              \
        g_assert_nonnull(strstr(why, what));                                \
    } while (0)
    DIFFERS(c.ports = 2, "number of ports");
    DIFFERS(c.phy.lmsm.max_width = c.phy.lmsm.target_tx =
            c.phy.lmsm.target_rx = 4, "number of lanes");
    DIFFERS(c.phy.lmsm.target_tx = 4, "transmit lanes");
    DIFFERS(c.phy.lmsm.rates = 0x15; c.phy.lmsm.target_rate = 4, "Data Rates");
    DIFFERS(c.phy.lmsm.target_rate = 4, "highest Data Rate");
    DIFFERS(memset(c.phy.lmsm.fec_mode, 0, sizeof(c.phy.lmsm.fec_mode)),
            "FEC mode");
    DIFFERS(c.phy.lmsm.fec_mode[8] = 1, "FEC mode");
    DIFFERS(c.phy.lmsm.interleave = 0xffff, "interleaving");
    DIFFERS(c.phy.lmsm.phy_mode = UB_PHY_MODE_1; c.phy.lmsm.rates = 1;
            c.phy.lmsm.target_rate = 0, "PHY mode");
    DIFFERS(c.phy.lmsm.time_scale = 2, "time scale");
    DIFFERS(c.phy.lmsm.timeout_min = 1, "timeout");
    DIFFERS(c.phy.lmsm.eq_mode = 2, "equalisation");
    DIFFERS(c.phy.lmsm.bypass_probe = true, "Probe");
    DIFFERS(c.phy.pcs.scrambler = 2, "scrambler");
    DIFFERS(c.dll_time_scale = 7, "data link layer");
    DIFFERS(c.dll.init_credit[5] = 100, "initial credits");
    DIFFERS(c.dll.vl_strict = 1, "strict");
    DIFFERS(c.err_severity ^= 1, "severity");
    DIFFERS(c.eid[15] = 1, "EID");
    DIFFERS(c.fm_eid[0] = 1, "EID of the manager");
    DIFFERS(c.cna = 1, "CNA");
    DIFFERS(c.fm_cna = 1, "CNA of the manager");
    DIFFERS(c.port_cna = 1, "CNA of ports");
    DIFFERS(c.upi = 1, "UPI");
    DIFFERS(c.manager = false, "manager");
    DIFFERS(c.forward = true, "packets of others");
    DIFFERS(c.route_entries = 16, "number of routes");
#undef DIFFERS
    g_assert_cmpstr(moved(b, &conf), ==, NULL);
    unpair(a, b);
}

/* ---- The table of (EID, UPI) ---- */

static uint32_t dword(Side *s, uint32_t dw)
{
    wr(s, UBC_CFG_ADDR, dw);
    return rd(s, UBC_CFG_DATA);
}

static void set_dword(Side *s, uint32_t dw, uint32_t value)
{
    wr(s, UBC_CFG_ADDR, dw);
    wr(s, UBC_CFG_DATA, value);
}

/* Its number of entries is the device's; what software wrote moves with it. */
static void test_partitions(void)
{
    const uint32_t tab = UB_CFG1_BASE + UB_CFG1_EID_UPI_TAB;
    const uint32_t ten = UB_CFG1_BASE + UB_CFG1_EID_UPI_TEN;
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf, more, none;
    const char *why;

    ubc_config_init(&conf);
    none = more = conf;
    conf.eid_upi = 8;
    more.eid_upi = 9;
    pair(a, b, &none);
    g_assert_cmphex(dword(b, ten), ==, 0);
    g_assert_cmpstr(moved(b, &conf), ==, NULL);     /* of an older device */
    g_assert_cmphex(dword(b, ten), ==, 8);
    g_assert_cmphex(cfg(b, UB_CFG0_TRUST_EN), ==, 0);
    set_dword(b, UB_CFG0_TRUST_EN, 1);
    set_dword(b, tab, 0x12345678);
    set_dword(b, tab + 1, 0x9abc);
    why = moved(b, &more);
    g_assert_nonnull(why);
    g_assert_nonnull(strstr(why, "(EID, UPI)"));
    g_assert_nonnull(moved(b, &none));
    g_assert_cmpstr(moved(b, &conf), ==, NULL);
    g_assert_cmphex(cfg(b, UB_CFG0_TRUST_EN), ==, 1);
    g_assert_cmphex(dword(b, tab), ==, 0x12345678);
    g_assert_cmphex(dword(b, tab + 1), ==, 0x9abc);
    wr(b, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmphex(cfg(b, UB_CFG0_TRUST_EN), ==, 0);
    g_assert_cmphex(dword(b, tab), ==, 0);
    g_assert_cmphex(dword(b, ten), ==, 8);
    unpair(a, b);
}

/* ---- What a manager decided ---- */

static uint32_t policy(Side *s, unsigned dw)
{
    return dword(s, UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + dw);
}

static void set_policy(Side *s, unsigned dw, uint32_t value)
{
    set_dword(s, UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + dw, value);
}

/* Whom a manager lets a node talk to (routes, partitions, closed ports, borders), and by
 * which VLs, moves with it; after a reset it is to be said again. */
static void test_policy(void)
{
    const uint32_t row = UB_CFG_ROUTE_BASE + UB_ROUTE_DEFAULT_ROUTING_TABLE;
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.forward = true;
    conf.route_entries = 8;
    pair(a, b, &conf);
    /* Allowed are 3 and 5 alone, and not who is not known. */
    set_dword(b, row, 0);
    set_dword(b, row + 4, 1);
    set_dword(b, row + 6, 1);
    set_policy(b, UB_NETR_NPI, 7);
    set_policy(b, UB_NETR_SELECT, 0);
    set_policy(b, UB_NETR_PORT, UB_NETR_PORT__CLOSED | 9);
    set_policy(b, UB_NETR_ADD, 7);
    set_policy(b, UB_NETR_ADD, UB_NPI_LOW | 7);
    set_policy(b, UB_NETR_BORDER, UB_NETR_BORDER__TOKEN);
    set_policy(b, UB_NETR_VL_GROUP_DW(0), 5);
    set_policy(b, UB_NETR_VL_MAP_DW(1, 1, 0), 0x76543311);
    for (unsigned moves = 0; moves < 2; moves++) {
        for (unsigned i = 0; i < 8; i++) {
            g_assert_cmphex(dword(b, row + 1 + i), ==, i == 3 || i == 5);
        }
        g_assert_cmphex(dword(b, row), ==, 0);
        g_assert_cmphex(policy(b, UB_NETR_NPI), ==, 7);
        g_assert_cmphex(policy(b, UB_NETR_SELECT), ==, 0);
        g_assert_cmphex(policy(b, UB_NETR_PORT), ==, UB_NETR_PORT__CLOSED | 9);
        g_assert_cmphex(policy(b, UB_NETR_COUNT), ==, 2);
        g_assert_cmphex(policy(b, UB_NETR_ENTRY), ==, 7);
        g_assert_cmphex(policy(b, UB_NETR_BORDER), ==, UB_NETR_BORDER__TOKEN);
        g_assert_cmphex(policy(b, UB_NETR_VL_GROUP_DW(0)), ==, 5);
        g_assert_cmphex(policy(b, UB_NETR_VL_MAP_DW(1, 1, 0)), ==, 0x76543311);
        g_assert_cmpstr(moved(b, &conf), ==, NULL);
    }
    wr(b, UBC_CTRL, UBC_CTRL_RESET);
    for (unsigned i = 0; i < 8; i++) {
        g_assert_cmphex(dword(b, row + 1 + i), ==, 0);
    }
    g_assert_cmphex(policy(b, UB_NETR_NPI), ==, UB_NPI_DEFAULT);
    g_assert_cmphex(policy(b, UB_NETR_PORT) | policy(b, UB_NETR_COUNT) |
                    policy(b, UB_NETR_BORDER) |
                    policy(b, UB_NETR_VL_GROUP_DW(0)), ==, 0);
    g_assert_cmphex(policy(b, UB_NETR_VL_MAP_DW(1, 1, 0)), ==, 0x76543210);
    unpair(a, b);
}

static void check_sane(Side *s)
{
    const uint32_t rings[] = { UBC_RING_TX, UBC_RING_RX };

    for (unsigned i = 0; i < 2; i++) {
        uint32_t r = UBC_PAIR(0) + rings[i];
        uint16_t left = rd(s, r + UBC_RING_HEAD) - rd(s, r + UBC_RING_TAIL);
        uint32_t size = rd(s, r + UBC_RING_SIZE);

        if (rd(s, r + UBC_RING_CTRL) & UBC_RING_ENABLE) {
            g_assert_cmpuint(size, >=, 4);
            g_assert_cmpuint(size, <=, 12);
            g_assert_cmpuint(left, <=, 1u << size);
        }
    }
    g_assert_cmphex(rd(s, UBC_PORT(0) + UBC_PORT_EVENT) & ~UBC_PORT_EVENT_ALL,
                    ==, 0);
    g_assert_cmphex(rd(s, UBC_PORT(0) + UBC_PORT_CTRL) &
                    ~UBC_PORT_CTRL_ENABLE, ==, 0);
    g_assert_cmpuint(rd(s, UBC_PORTS), ==, 1);
}

static size_t damage(uint8_t *image, size_t len)
{
    static const uint32_t odd[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff,
                                    0xffff, 0x10000, 0x100 };
    unsigned n = g_test_rand_int_range(1, 5);
    size_t at = 0;

    while (n--) {
        /* Settings; registers and rings; packets; the end. */
        switch (g_test_rand_int_range(0, 4)) {
        case 0:
            at = g_test_rand_int_range(0, 1000);
            break;
        case 1:
            at = g_test_rand_int_range(0, 16384);
            break;
        case 2:
            at = g_test_rand_int_range(0, len - 4);
            break;
        default:
            at = len - 100 + g_test_rand_int_range(0, 96);
        }
        if (g_test_rand_int_range(0, 2)) {
            image[at] = g_test_rand_int();
        } else {
            put_be32(image + at, odd[g_test_rand_int_range(0, 8)]);
        }
    }
    return g_test_rand_int_range(0, 20) ? len : at;
}

/* Registers that nobody can write are those of the destination. */
static void test_fixed(void)
{
    static const uint8_t totals[] = { 0, 1, 0, 3 };     /* Entities, ports */
    Side *a = &two[0], *b = &two[1];
    unsigned refused = 0;
    UbcConfig conf;
    size_t len;

    ubc_config_init(&conf);
    conf.ports = 3;
    pair(a, b, &conf);
    g_autofree uint8_t *image = ubc_save(b->ubc, now, &len);

    for (size_t at = 0; at + 4 <= len; at++) {
        const char *why;

        if (memcmp(image + at, totals, 4)) {
            continue;
        }
        image[at] = 0xff;
        why = ubc_load(b->ubc, now, image, len);
        refused += why && strstr(why, "other Entities");
        image[at] = 0;
    }
    g_assert_cmpuint(refused, ==, 1);
    g_assert_null(ubc_load(b->ubc, now, image, len));
    unpair(a, b);
}

/* Images of a busy controller, damaged in every way: refused, or harmless. */
static void test_damaged(void)
{
    const unsigned tries = g_test_slow() ? 100000 : 10000;
    Side *a = &two[0], *b = &two[1];
    unsigned refused = 0;
    UbcConfig conf;
    const char *why;
    uint8_t *image;
    size_t len;
    Ubc *victim;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    goal = 200;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    /* Packets that wait at b, and some in a's ring that cannot go. */
    send(a, 300 - 200, 3);
    goal = 300;
    wr(b, UBC_PAIR(0) + UBC_RING_RX + UBC_RING_CTRL, 0);
    wr(b, UBC_PAIR(0) + UBC_RING_RX + UBC_RING_CTRL, UBC_RING_ENABLE);
    run_until(a, b, never, SECOND / 100);
    image = ubc_save(b->ubc, now, &len);
    g_test_message("image of %zu bytes", len);
    g_assert_cmpuint(len, >, 20000); /* packets are in it */
    victim = ubc_new(&conf, &ops, b, &why);
    g_assert_nonnull(victim);
    for (size_t n = 0; n < len; n += 1 + n / 8) {
        g_assert_nonnull(ubc_load(victim, now, image, n));
    }
    for (unsigned i = 0; i < tries; i++) {
        g_autofree uint8_t *bad = g_memdup2(image, len);
        size_t n = damage(bad, len);
        Ubc *old = b->ubc;

        if (ubc_load(victim, now, bad, n)) {
            refused++;
            continue;
        }
        b->ubc = victim;
        check_sane(b);
        ubc_bus_master(victim, true);
        for (unsigned turn = 0; turn < 3; turn++) {
            ubc_run(victim, now + turn * 1000);
        }
        check_sane(b);
        ubc_bus_master(victim, false);
        b->ubc = old;
    }
    g_test_message("%u of %u refused", refused, tries);
    g_assert_cmpuint(refused, >, tries / 20);
    g_assert_cmpuint(refused, <, tries);
    /* And it still takes a good one. */
    g_assert_cmpstr(ubc_load(victim, now, image, len), ==, NULL);
    ubc_free(victim);
    g_free(image);
    unpair(a, b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ubc/migrate/counters", test_counters);
    g_test_add_func("/ub/ubc/migrate/guid", test_guid);
    g_test_add_func("/ub/ubc/migrate/reset-pending", test_reset_pending);
    g_test_add_func("/ub/ubc/migrate/retrain", test_retrain);
    g_test_add_func("/ub/ubc/migrate/held", test_held);
    g_test_add_func("/ub/ubc/migrate/settings", test_settings);
    g_test_add_func("/ub/ubc/migrate/partitions", test_partitions);
    g_test_add_func("/ub/ubc/migrate/policy", test_policy);
    g_test_add_func("/ub/ubc/migrate/fixed", test_fixed);
    g_test_add_func("/ub/ubc/migrate/damaged", test_damaged);
    return g_test_run();
}
