/*
 * The physical layer of UB links between emulators: modes, widths that differ,
 * FEC that is chosen by what the lanes are worth.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ub/space.h"
#include "ubc-driver.h"
#include "../deadline.h"

#define PATIENCE_US test_patience(60)

#define LINK UB_CFG_PORT_CAP(0, UB_CAP_LINK)
#define CONTROL_1 (LINK + UB_LINK_PHY_CTL_1)
#define STATUS_1 (LINK + UB_LINK_PHY_STATUS_1)
#define STATUS_2 (LINK + UB_LINK_PHY_STATUS_2)
#define RETRAIN UB_LINK_PHY_CTL_1__RETRAIN_LINK
#define QUICK UB_LINK_PHY_CTL_1__CHANGE_WIDTH
#define QDLWS UB_CFG_PORT_CAP(0, UB_CAP_QDLWS)

typedef struct Link {
    char *dir;
    QUbc *a, *b;
} Link;

/* Both ends go on waiting for each other, though a host stands still for seconds. */
#define STEADY "timeout-min=5000,retry-threshold=254"

static void link_start(Link *l, const char *props)
{
    g_autofree char *all = g_strdup_printf("chardev0=w," STEADY "%s%s",
                                           *props ? "," : "", props);
    g_autofree char *path = NULL;
    g_autofree char *server = NULL;
    g_autofree char *client = NULL;

    l->dir = g_dir_make_tmp("ubc-phy-XXXXXX", NULL);
    g_assert_nonnull(l->dir);
    path = g_build_filename(l->dir, "wire", NULL);
    server = g_strdup_printf("-chardev socket,id=w,path=%s,server=on,wait=off",
                             path);
    client = g_strdup_printf("-chardev socket,id=w,path=%s,reconnect-ms=100",
                             path);
    l->a = qubc_start_attached(all, server);
    l->b = qubc_start_attached(all, client);
    qubc_port_open(l->a, 0);
    qubc_port_open(l->b, 0);
    QUBC_WAIT(qubc_up(l->a, 0) && qubc_up(l->b, 0));
}

static void link_stop(Link *l)
{
    g_autofree char *path = g_build_filename(l->dir, "wire", NULL);

    qubc_stop(l->b);
    qubc_stop(l->a);
    unlink(path);
    rmdir(l->dir);
    g_free(l->dir);
}

/* n packets sent from each end since the start, `until` of them received. */
static void pump(Link *l, uint32_t n, uint32_t until)
{
    QUbcPort *pa = l->a->port, *pb = l->b->port;
    gint64 limit = g_get_monotonic_time() + PATIENCE_US;

    while (pa->received < until || pb->received < until) {
        uint32_t before = pa->received + pb->received;

        qubc_send(l->a, 0, n - pa->sent);
        qubc_send(l->b, 0, n - pb->sent);
        qubc_reap(l->a, 0);
        qubc_reap(l->b, 0);
        if (pa->received + pb->received != before) {
            limit = g_get_monotonic_time() + PATIENCE_US;
        } else {
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
            g_usleep(100);
        }
    }
}

static void exchange(Link *l, uint32_t n)
{
    uint32_t all = MAX(l->a->port[0].sent, l->b->port[0].sent) + n;

    pump(l, all, all);
}

static bool primary(QUbc *d)
{
    return qubc_cfg_read(d, STATUS_1) >> 28 & 1;
}

static uint64_t both(const Link *l, unsigned counter)
{
    return qubc_counter(l->a, 0, counter) + qubc_counter(l->b, 0, counter);
}

static void set_targets(QUbc *d, unsigned rate, unsigned tx, unsigned rx,
                        uint32_t trigger)
{
    uint32_t value = qubc_cfg_read(d, CONTROL_1) & ~0x003f3f0fu;

    qubc_cfg_write(d, CONTROL_1, value | rate | tx << 8 | rx << 16 | trigger);
}

static bool widths(const Link *l, unsigned a_tx, unsigned a_rx)
{
    return qubc_link_int(l->a, 0, "tx-width") == a_tx &&
           qubc_link_int(l->a, 0, "rx-width") == a_rx &&
           qubc_link_int(l->b, 0, "tx-width") == a_rx &&
           qubc_link_int(l->b, 0, "rx-width") == a_tx;
}

/* Traffic until the widths are there, and more behind. */
static void until_widths(Link *l, unsigned a_tx, unsigned a_rx)
{
    uint32_t n = l->a->port[0].sent;
    gint64 limit = g_get_monotonic_time() + PATIENCE_US;

    do {
        n += 200;
        pump(l, n, n - 150);
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    } while (!widths(l, a_tx, a_rx));
    pump(l, n, n);
    exchange(l, 200);
}

/*
 * PHY Mode-2 starts with equal widths; Retrain Link and QDLWS then make TX
 * and RX differ, in each of both directions, under traffic (§3.1.1).
 */
static void test_asymmetric(void)
{
    static const uint8_t w[][2] = { { 4, 8 }, { 8, 2 }, { 1, 4 }, { 8, 8 } };
    const uint32_t enable =
        UB_QDLWS_CTL__GLOBAL_ENABLE_FOR_QDLWS |
        UB_QDLWS_CTL__TX_QDLWS_ENABLE |
        UB_QDLWS_CTL__RX_QDLWS_ENABLE;
    Link l = { 0 };
    uint64_t retrains;
    bool swap;

    link_start(&l, "");
    QUBC_WAIT(qubc_link_int(l.a, 0, "rate") == 8 &&
              qubc_link_int(l.b, 0, "rate") == 8);
    exchange(&l, 200);
    for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
        set_targets(l.a, 8, w[i][0], w[i][1], RETRAIN);
        until_widths(&l, w[i][0], w[i][1]);
    }
    /* The primary asks without a Retrain. */
    swap = !primary(l.a);
    qubc_cfg_write(l.a, QDLWS + UB_QDLWS_CTL, enable);
    qubc_cfg_write(l.b, QDLWS + UB_QDLWS_CTL, enable);
    retrains = both(&l, UBC_CNT_RETRAINS);
    for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
        QUbc *first = swap ? l.b : l.a;

        set_targets(first, 8, w[i][0], w[i][1], QUICK);
        until_widths(&l, w[i][swap], w[i][!swap]);
        QUBC_WAIT(qubc_cfg_read(first, QDLWS + UB_QDLWS_STATE) == 4);
    }
    g_assert_cmpuint(both(&l, UBC_CNT_RETRAINS), ==, retrains);
    g_assert_cmpuint(both(&l, UBC_CNT_LINK_DOWNS), ==, 0);
    g_assert_false(qubc_logged(l.a, "width"));
    g_assert_false(qubc_logged(l.b, "width"));
    link_stop(&l);
}

/* PHY Mode-1: 4 Gb/s and the custom rates. */
static void test_mode1(void)
{
    static const struct {
        const char *props;
        unsigned rate, mbps;
    } t[] = {
        { "phy-mode=1", 7, 32000 },
        { "phy-mode=1,max-rate=6", 5, 16000 },
        { "phy-mode=1,max-rate=0", 0, 4000 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Link l = { 0 };

        link_start(&l, t[i].props);
        QUBC_WAIT(qubc_link_int(l.a, 0, "rate") == t[i].rate &&
                  qubc_link_int(l.b, 0, "rate") == t[i].rate);
        g_assert_cmpint(qubc_link_int(l.a, 0, "lane-mbps"), ==, t[i].mbps);
        exchange(&l, 500);
        if (!i) {
            set_targets(l.a, 3, 8, 8, RETRAIN);
            set_targets(l.b, 3, 8, 8, 0);
            QUBC_WAIT(qubc_link_int(l.a, 0, "rate") == 3 &&
                      qubc_link_int(l.b, 0, "rate") == 3);
            exchange(&l, 500);
        }
        g_assert_cmpuint(both(&l, UBC_CNT_LINK_DOWNS), ==, 0);
        link_stop(&l);
    }
}

static unsigned fec(QUbc *d)
{
    return qubc_cfg_read(d, STATUS_2) >> 4 & 0xf;
}

static bool fec_is(const Link *l, unsigned mode)
{
    return fec(l->a) == mode && fec(l->b) == mode;
}

static void wait_fec(Link *l, unsigned mode)
{
    uint32_t n = l->a->port[0].sent;
    gint64 limit = g_get_monotonic_time() + PATIENCE_US;

    while (!fec_is(l, mode)) {
        n += 100;
        pump(l, n, n - 50);
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    }
    pump(l, n, n);
}

/* The port retrains until it has measured what leads to the mode: how much it sees
 * while it measures is a matter of its host. */
static void measure_until(Link *l, QUbc *p, unsigned mode)
{
    gint64 limit = g_get_monotonic_time() + PATIENCE_US;

    while (!fec_is(l, mode)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        set_targets(p, 8, 8, 8, RETRAIN);
        exchange(l, 100);
    }
}

/* Lanes too bad for T=2: hi_FEC_BER leads to T=4 by itself (§3.2.3.5). */
static void test_hi_fec_ber(void)
{
    Link l = { 0 };

    link_start(&l, "fec=t2,hi-fec-ber=30");
    QUBC_WAIT(qubc_link_int(l.a, 0, "rate") == 8 &&
              qubc_link_int(l.b, 0, "rate") == 8);
    g_assert_true(fec_is(&l, 1));
    exchange(&l, 500);
    g_assert_true(fec_is(&l, 1));
    qubc_inject_all(l.a, 0, "'ber': 1e-3, 'seed': 3");
    wait_fec(&l, 2);
    g_assert_cmpuint(both(&l, UBC_CNT_LINK_DOWNS), ==, 0);
    link_stop(&l);
}

/* The primary measures in Retrain (§3.4.3.8): bad lanes get T=4, good ones
 * what was wished for, unless the peer rejects it as too weak. */
static void test_measured(void)
{
    Link l = { 0 };
    QUbc *p;

    link_start(&l, "fec=off,measure-ber=on");
    QUBC_WAIT(qubc_link_int(l.a, 0, "rate") == 8 &&
              qubc_link_int(l.b, 0, "rate") == 8);
    exchange(&l, 200);
    g_assert_true(fec_is(&l, 0));
    p = primary(l.a) ? l.a : l.b;
    set_targets(p, 8, 8, 8, RETRAIN);
    exchange(&l, 200);
    g_assert_true(fec_is(&l, 0));
    qubc_inject_all(p == l.a ? l.b : l.a, 0, "'ber': 2e-5, 'seed': 5");
    measure_until(&l, p, 2);
    link_stop(&l);

    link_start(&l, "fec=off,measure-ber=on,fec-min=t2");
    QUBC_WAIT(qubc_link_int(l.a, 0, "rate") == 8 &&
              qubc_link_int(l.b, 0, "rate") == 8);
    exchange(&l, 200);
    measure_until(&l, primary(l.a) ? l.a : l.b, 2);
    exchange(&l, 200);
    link_stop(&l);
}

/*
 * The Precode Enable Vector by register: it counts when the lanes start at the
 * rate again, and the error bits tell of lanes that were hurt (§3.3, §D.6.2).
 */
static void test_registers(void)
{
    const uint32_t precode = UB_LINK_PHY_STATUS_2__CUR_PRECODE_STATE;
    const uint32_t hurt = UB_LINK_PHY_ERROR_STATUS__EBCH_DECODE_ERROR;
    Link l = { 0 };

    link_start(&l, "");
    QUBC_WAIT(qubc_link_int(l.a, 0, "rate") == 8 &&
              qubc_link_int(l.b, 0, "rate") == 8);
    exchange(&l, 200);
    g_assert_cmphex(qubc_cfg_read(l.a, STATUS_2) & precode, ==, precode);
    qubc_cfg_write(l.a, LINK + UB_LINK_PHY_CTL_5, 0);
    qubc_cfg_write(l.b, LINK + UB_LINK_PHY_CTL_5, 0);
    exchange(&l, 200);
    g_assert_cmphex(qubc_cfg_read(l.a, STATUS_2) & precode, ==, precode);
    for (unsigned rate = 4; rate <= 8; rate += 4) {
        set_targets(l.b, rate, 8, 8, 0);
        set_targets(l.a, rate, 8, 8, RETRAIN);
        QUBC_WAIT(qubc_link_int(l.a, 0, "rate") == rate &&
                  qubc_link_int(l.b, 0, "rate") == rate);
        exchange(&l, 200);
    }
    g_assert_cmphex(qubc_cfg_read(l.a, STATUS_2) & precode, ==, 0);
    g_assert_cmphex(qubc_cfg_read(l.b, STATUS_2) & precode, ==, 0);

    g_assert_cmphex(qubc_cfg_read(l.b, LINK + UB_LINK_PHY_ERROR_STATUS), ==,
                    0);
    qubc_inject(l.a, 0, 5, "'lose-amctl': 2");
    exchange(&l, 2000);
    g_assert_cmphex(qubc_cfg_read(l.b, LINK + UB_LINK_PHY_ERROR_STATUS) & hurt,
                    ==, hurt);
    g_assert_cmphex(qubc_cfg_read(l.b, UB_CFG_PORT_CAP(0, UB_CAP_PORT_ERR) +
                                  UB_PORT_ERR_CE_STATUS) &
                    UB_PORT_ERR_CE_STATUS__AMCTL_DECODE_ERROR, ==,
                    UB_PORT_ERR_CE_STATUS__AMCTL_DECODE_ERROR);
    link_stop(&l);
}

/* What the document leaves to the maker, other than by default. */
static void test_knobs(void)
{
    static const char *const props[] = {
        "period0=640,period1=320,amctl-confirm=1,amctl-unlock=5,skew=256",
        "eq-first=0,eq-last=10,eq-best=0x12345678,eq-reject=0x20,eq-cursors=on",
        "precode=0,full-disorder=off,lane-down-n=9,asymmetric=off",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(props); i++) {
        Link l = { 0 };

        link_start(&l, props[i]);
        exchange(&l, 300);
        link_stop(&l);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-phy/asymmetric", test_asymmetric);
    qtest_add_func("/ubc-phy/mode-1", test_mode1);
    qtest_add_func("/ubc-phy/hi-fec-ber", test_hi_fec_ber);
    qtest_add_func("/ubc-phy/measured-fec", test_measured);
    qtest_add_func("/ubc-phy/registers", test_registers);
    qtest_add_func("/ubc-phy/knobs", test_knobs);
    return g_test_run();
}
