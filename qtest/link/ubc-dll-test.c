/*
 * The data link layers of a UB link between emulators: another encapsulation,
 * machines that stop, settings.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-link.h"

static uint32_t link_cfg(QUbc *d, uint32_t dw)
{
    return qubc_cfg_read(d, UB_CFG_PORT_CAP(0, UB_CAP_LINK) + dw);
}

static void link_cfg_set(QUbc *d, uint32_t dw, uint32_t mask, uint32_t value)
{
    qubc_cfg_write(d, UB_CFG_PORT_CAP(0, UB_CAP_LINK) + dw,
                   (link_cfg(d, dw) & ~mask) | value);
}

static bool link_crc(QUbc *d)
{
    return link_cfg(d, UB_LINK_PHY_STATUS_2) &
           UB_LINK_PHY_STATUS_2__CUR_BCRC_MODE;
}

/*
 * BCRC off and on by PHY Link Control 9 and Retrain Link, under traffic and from
 * either end: nothing is lost, and no rule is broken.
 */
static void test_mode_change(void)
{
    /* An answer to a Retry Request later than 64 ms is an error. */
    Link l = { .props = STEADY ",dll-time-scale=100000" };

    link_start(&l);
    exchange(&l, 200);
    for (unsigned n = 0; n < 4; n++) {
        QUbc *d = n / 2 ? l.a : l.b;
        gint64 limit = g_get_monotonic_time() + PATIENCE_US;

        link_cfg_set(d, UB_LINK_PHY_CTL_9, 0xf, n & 1);
        for (unsigned i = 0; link_crc(l.a) != (n & 1) ||
                             link_crc(l.b) != (n & 1); i++) {
            /* Once more, where a slow host let one pass without the change. */
            if (i % 64 == 0) {
                link_cfg_set(d, UB_LINK_PHY_CTL_1, 0,
                             UB_LINK_PHY_CTL_1__RETRAIN_LINK);
            }
            exchange(&l, 200);
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
        }
        exchange(&l, 500);
    }
    g_assert_cmpuint(both(&l, UBC_CNT_LINK_DOWNS), ==, 0);
    g_assert_cmpuint(both(&l, UBC_CNT_DLL_ERRORS), ==, 0);
    link_stop(&l);
}

/* Send from b until its credit is used up. */
static void run_dry(Link *l)
{
    uint64_t before;

    do {
        before = qubc_counter(l->b, 0, UBC_CNT_TX_FLITS);
        qubc_send(l->b, 0, 1000);
        g_usleep(20000);
    } while (qubc_counter(l->b, 0, UBC_CNT_TX_FLITS) != before);
}

#define MS 1000000ll

/*
 * A machine that is stopped, by the monitor or gdb, takes no packets, but its
 * link goes on and says so: a peer that insists on credit within 300 ms waits
 * for three seconds, and everything comes in the end.  Its clock is that of the
 * machine, which stands; the peer's moves on with each word of it.
 */
static void test_stopped(void)
{
    Link l = { 0 };

    link_prepare(&l);
    l.props = "init-credit=64,keepalive=50," QUBC_STEPPED;
    l.a = start_server(&l);
    l.props = "init-credit=64,credit-timeout=300,dll-recovery=off,"
              QUBC_STEPPED;
    l.b = start_client(&l);
    link_open(&l);
    qtest_qmp_assert_success(l.a->qts, "{ 'execute': 'stop' }");
    run_dry(&l);
    for (unsigned n = 0; n < 20; n++) {
        uint64_t heard = qubc_counter(l.b, 0, UBC_CNT_RX_FLITS);

        QUBC_WAIT(qubc_counter(l.b, 0, UBC_CNT_RX_FLITS) > heard);
        qtest_clock_step(l.b->qts, 150 * MS);
    }
    g_assert_true(qubc_up(l.b, 0));
    qtest_qmp_assert_success(l.a->qts, "{ 'execute': 'cont' }");
    QUBC_WAIT((qubc_pass(l.a), qubc_pass(l.b), qubc_reap(l.a, 0),
               qubc_reap(l.b, 0),
               l.a->port[0].received == l.b->port[0].sent));
    g_assert_cmpuint(both(&l, UBC_CNT_LINK_DOWNS), ==, 0);
    g_assert_cmpuint(both(&l, UBC_CNT_DLL_ERRORS), ==, 0);
    link_stop(&l);
}

/* One that does not say so: the peer gives up, and the link heals by itself, or
 * when the port is reset, as dll-recovery says. */
static void test_stopped_silent(void)
{
    for (unsigned heal = 0; heal < 2; heal++) {
        Link l = { 0 };

        link_prepare(&l);
        l.props = "init-credit=64,keepalive=0," QUBC_STEPPED;
        l.a = start_server(&l);
        l.props = heal ? "init-credit=64,credit-timeout=200," QUBC_STEPPED
                       : "init-credit=64,credit-timeout=200,dll-recovery=off,"
                         QUBC_STEPPED;
        l.b = start_client(&l);
        link_open(&l);
        l.a->port[0].lossy = l.b->port[0].lossy = true;
        qtest_qmp_assert_success(l.a->qts, "{ 'execute': 'stop' }");
        run_dry(&l);
        g_assert_cmpuint(qubc_counter(l.b, 0, UBC_CNT_DLL_ERRORS), ==, 0);
        QUBC_WAIT((qtest_clock_step(l.b->qts, 10 * MS),
                   qubc_counter(l.b, 0, UBC_CNT_DLL_ERRORS) > 0));
        qtest_qmp_assert_success(l.a->qts, "{ 'execute': 'cont' }");
        if (!heal) {
            for (unsigned n = 0; n < 1000; n++) {
                qtest_clock_step(l.b->qts, 1 * MS);
                g_assert_false(qubc_up(l.b, 0));
            }
            qubc_port_write(l.b, 0, UBC_PORT_CTRL, 0);
            qubc_port_write(l.b, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        }
        wait_up(&l);
        qubc_resync(l.a, 0);
        qubc_resync(l.b, 0);
        exchange(&l, 500);
        link_stop(&l);
    }
}

/* Properties reach the layer: with shared credits one VL uses what was granted
 * to all of them. */
static void test_tx_share(void)
{
    uint64_t flits = 0;

    for (unsigned share = 0; share < 2; share++) {
        Link l = { .props = share ? "init-credit=200,tx-share=on,"
                                    "share-quota=10,vl-weights=4:2:1,"
                                    "vl-strict=4,retry-threshold=20,"
                                    "reinit-threshold=5,mode-timeout=500,"
                                    "retry-set-run=30,crc-cover=bytes"
                                  : "init-credit=200,crc-cover=bytes" };
        uint64_t before;

        link_start(&l);
        qtest_qmp_assert_success(l.a->qts, "{ 'execute': 'stop' }");
        before = qubc_counter(l.a, 0, UBC_CNT_RX_FLITS);
        if (share) {
            QUBC_WAIT((qubc_send(l.b, 0, 1000),
                       qubc_counter(l.a, 0, UBC_CNT_RX_FLITS) - before >
                       3 * flits));
        } else {
            /* A packet at least; more would come at once, or never. */
            QUBC_WAIT((qubc_send(l.b, 0, 1000),
                       qubc_counter(l.a, 0, UBC_CNT_RX_FLITS) - before > 50));
            run_dry(&l);
            flits = qubc_counter(l.a, 0, UBC_CNT_RX_FLITS) - before;
        }
        qtest_qmp_assert_success(l.a->qts, "{ 'execute': 'cont' }");
        exchange(&l, 100);
        link_stop(&l);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-link/mode-change", test_mode_change);
    qtest_add_func("/ubc-link/stopped", test_stopped);
    qtest_add_func("/ubc-link/stopped-silent", test_stopped_silent);
    qtest_add_func("/ubc-link/tx-share", test_tx_share);
    return g_test_run();
}
