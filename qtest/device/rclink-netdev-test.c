/*
 * rclink on a netdev whose peer does not read: packets are held back, until the
 * peer reads, goes away or is cut off, and an adapter that goes takes along what
 * waits.  Who has the MAC take packets all the same (a chardev's, too) fills no more
 * than a MiB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "libqos/pci-pc.h"
#include "rclink-peer.h"
#include "../deadline.h"

enum {
    BYTES = 1344,
    FRAME = HEAD + RH + BYTES + ICRC,
    MORE = 40,                  /* when the wire has stopped */
    SLOTS = 512,
};

/* ---- a peer that stalls ------------------------------------------------- */

static bool held_back(Rig *g)
{
    return rcl_get(g->r, RCL_STATUS) & RCL_STATUS_WAIT_MAC;
}

/* Send, unanswered, until the wire stops, and MORE; how many. */
static unsigned stall(Rig *g)
{
    unsigned n = 0, more = 0;

    rcl_set(g->r, RCL_RETRY_TIMER_CFG, 15 << 13);       /* no time-out */
    while (more < MORE) {
        more += held_back(g);
        g_assert_cmpuint(n, <, SLOTS);
        rcl_post(g->r, QP, BYTES, n++, 0);
    }
    g_assert_true(held_back(g));
    g_assert_cmpuint(counter(g, "tx_type1"), <=, n - MORE);
    return n;
}

/* Nothing is held back any more. */
static void expect_released(Rig *g, unsigned sent)
{
    wait_counter(g, "tx_type1", sent);
    g_assert_false(held_back(g));
}

/* An answer, behind packets. */
static void expect_answered(Rig *g, unsigned psn)
{
    Got got;

    request(g, psn, FACK, 100);
    do {
        wire_get(g, &got);
    } while (got.opcode != ACK);
    g_assert_cmphex(got.field, ==, SYN_ACK);
    g_assert_cmphex(got.psn, ==, psn);
}

/* It reads at last: all, in order. */
static void test_stall(void)
{
    Rig g = rig_start_netdev("", GEN1);
    unsigned sent = stall(&g);
    Got got;

    for (unsigned psn = 0; psn < sent; psn++) {
        wire_get(&g, &got);
        g_assert_cmpuint(got.opcode, ==, SEND);
        g_assert_cmpuint(got.len, ==, FRAME);
        g_assert_cmphex(got.psn, ==, psn);
        g_assert_cmphex(got.data[0], ==, (uint8_t)psn);
    }
    expect_released(&g, sent);
    g_assert_cmpuint(counter(&g, "tx_type1_again"), ==, 0);
    g_assert_cmpuint(counter(&g, "wire_full"), ==, 0);
    expect_answered(&g, 0);
    rig_stop(&g);
}

/* It dies, which a netdev does not tell; the next one is served. */
static void test_vanish(void)
{
    Rig g = rig_start_netdev("", GEN1);
    unsigned sent = stall(&g);
    int fd;

    close(g.fd);
    expect_released(&g, sent);
    fd = fixture_listen(g.path);
    g.fd = fixture_accept(fd);
    close(fd);
    expect_answered(&g, 0);
    /* Nobody has acknowledged anything: all is sent again. */
    answer(&g, SYN_NAK, 0);
    wait_counter(&g, "tx_type1_again", 1);
    rig_stop(&g);
}

/* ---- a MAC that is reset again and again ---- */

static void post_group(Rig *g, unsigned n)
{
    rcl_post(g->r, 0, BYTES, n, RCL_ETYPE2);
}

/* The next packet is the @n-th. */
static void expect_group(Rig *g, unsigned n)
{
    Got got;

    wire_get(g, &got);
    g_assert_cmpuint(got.len, ==, FRAME - ICRC);
    g_assert_cmphex(got.data[0], ==, (uint8_t)n);
}

/* Each reset gives it all its credits (RC Link §12.11.5), though the peer reads nothing:
 * what the wire keeps has an end.  What was taken arrives, what was not is counted, and
 * what comes after that is held back. */
static void backlog(Rig *g)
{
    enum { LOST = 50, HELD = 19 };
    unsigned n = 0, full;

    while (!counter(g, "wire_full")) {
        post_group(g, n++);
        rcl_set(g->r, RCL_SOFT_RESET, RCL_RESET_MAC);
        g_assert_cmpuint(n * FRAME, <, 2 * MiB);
    }
    full = n - 1;
    while (n < full + LOST) {
        post_group(g, n++);
        rcl_set(g->r, RCL_SOFT_RESET, RCL_RESET_MAC);
    }
    g_assert_cmpuint(counter(g, "wire_full"), ==, LOST);
    post_group(g, n++);
    g_assert_cmpuint(counter(g, "wire_full"), ==, LOST + 1);
    for (unsigned i = 0; i < HELD; i++) {
        post_group(g, n + i);
    }
    g_assert_true(held_back(g));
    g_assert_cmpuint(counter(g, "wire_full"), ==, LOST + 1);
    g_assert_cmpuint(counter(g, "tx_type2"), ==, n);
    for (unsigned i = 0; i < full; i++) {
        expect_group(g, i);
    }
    for (unsigned i = 0; i < HELD; i++) {
        expect_group(g, n + i);
    }
    wait_counter(g, "tx_type2", n + HELD);
    g_assert_false(held_back(g));
    expect_answered(g, 0);
    rig_stop(g);
}

static void test_backlog(void)
{
    Rig netdev = rig_start_netdev("", GEN1), chardev;

    backlog(&netdev);
    chardev = rig_start("", GEN1);
    backlog(&chardev);
}

/* ---- cut off ------------------------------------------------------------ */

static void set_link(Rig *g, const char *name, bool up)
{
    qtest_qmp_assert_success(g->r->f->qts, "{ 'execute': 'set_link',"
                             " 'arguments': { 'name': %s, 'up': %i } }",
                             name, up);
    rcl_wait_link(g->r, up);
}

/* Held back for the link, no longer for the wire; both up, the peer gets what is
 * sent again. */
static void test_cut(void)
{
    static const char *const name[] = { "nic", "w", NULL };

    for (unsigned i = 0; i < ARRAY_SIZE(name); i++) {
        Rig g = rig_start_netdev("", GEN1);
        unsigned sent = stall(&g);

        if (name[i]) {
            set_link(&g, name[i], false);
        } else {
            rcl_link_set(g.r, false);
        }
        g_assert_false(held_back(&g));
        if (name[i]) {
            set_link(&g, name[i], true);
        } else {
            rcl_link_set(g.r, true);
        }
        expect_answered(&g, 0);
        wait_counter(&g, "tx_type1", sent);
        rig_stop(&g);
    }
}

static void test_del(void)
{
    Rig g = rig_start_netdev("", GEN1);

    stall(&g);
    qtest_qmp_assert_success(g.r->f->qts, "{ 'execute': 'netdev_del',"
                             " 'arguments': { 'id': 'w' } }");
    rcl_wait_link(g.r, false);
    g_assert_false(held_back(&g));
    rig_stop(&g);
}

/* What waits is the adapter's, and nobody's when it has gone. */
static void test_unplug(void)
{
    Rig g = rig_start_netdev(" -M pc", GEN1);
    QTestState *qts = g.r->f->qts;
    g_autofree uint8_t *buf = g_malloc(65536);
    uint64_t bytes = 0, given;
    ssize_t n;

    stall(&g);
    given = counter(&g, "tx_type1");
    fixture_unplug(qts, "nic");
    for (unsigned i = 0; i < 20; i++) {         /* rounds of the main loop */
        while ((n = recv(g.fd, buf, 65536, MSG_DONTWAIT)) > 0) {
            bytes += n;
        }
        g_free(qtest_hmp(qts, "info network"));
    }
    qtest_qmp_assert_success(qts, "{ 'execute': 'netdev_del',"
                             " 'arguments': { 'id': 'w' } }");
    while ((n = recv(g.fd, buf, 65536, 0)) > 0) {
        bytes += n;
    }
    g_assert_cmpuint(bytes, <, given * (4 + FRAME));
    rig_stop(&g);
}

/* The wire is a socket that holds what the host lets it: less than we can post? */
static bool wire_stops(void)
{
    g_autofree char *text = NULL;

    return !g_file_get_contents("/proc/sys/net/core/wmem_default", &text,
                                NULL, NULL) ||
           g_ascii_strtoull(text, NULL, 10) <= (SLOTS - 2 * MORE) * FRAME;
}

static void test_none(void)
{
    g_test_skip("net.core.wmem_default holds all that we can send");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!wire_stops()) {
        qtest_add_func("/rclink-netdev/stall", test_none);
        return g_test_run();
    }
    qtest_add_func("/rclink-netdev/stall", test_stall);
    qtest_add_func("/rclink-netdev/vanish", test_vanish);
    qtest_add_func("/rclink-netdev/backlog", test_backlog);
    qtest_add_func("/rclink-netdev/cut", test_cut);
    qtest_add_func("/rclink-netdev/del", test_del);
    qtest_add_func("/rclink-netdev/unplug", test_unplug);
    return g_test_run();
}
