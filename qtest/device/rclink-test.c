/*
 * rclink: two devices in two emulators, and one with a peer that talks rubbish.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/pci-pc.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "standard-headers/linux/pci_regs.h"
#include <sys/un.h>
#include "librcl.h"
#include "../deadline.h"

#define GEN1 (1 << RCL_CFG_GEN1 | 1 << RCL_CFG_GEN1_TC)
#define NAP_NS 1000000          /* steps of the virtual clock */

/* ---- the function ---- */

static void test_function(void)
{
    RclPair p = rcl_pair_start(false, "", "");
    Rcl *r = p.r[0];
    QPCIDevice *pci = r->f->pci;

    g_assert_cmphex(qpci_config_readw(pci, PCI_VENDOR_ID), ==, 0x1234);
    g_assert_cmphex(qpci_config_readw(pci, PCI_DEVICE_ID), ==, 0x0b02);
    g_assert_cmphex(qpci_config_readw(pci, PCI_CLASS_DEVICE), ==, 0x0280);
    rcl_msix(r);
    g_assert_cmpuint(qpci_msix_table_size(pci), ==, RCL_VECTORS);
    g_assert_cmphex(rcl_get(r, RCL_ID), ==, RCL_ID_VALUE);
    g_assert_cmphex(rcl_get(r, RCL_VERSION), ==, 1);
    g_assert_cmphex(rcl_get(r, RCL_MAC_ADDR), ==, 0x02000000000a);
    /* Halves. */
    qpci_io_writel(pci, r->bar, RCL_MAC_ADDR + 4, 0x88b50200);
    g_assert_cmphex(rcl_get(r, RCL_MAC_ADDR), ==, 0x88b502000000000a);
    /* What a driver must not do is told. */
    fixture_logged(r->f, "");
    rcl_set(r, 0x0800, 1);
    g_assert_true(fixture_logged(r->f, "no such register (0x800)"));
    rcl_set(r, RCL_STATUS, 1);
    g_assert_true(fixture_logged(r->f, "read-only register"));
    g_assert_cmpuint(rcl_counter(r, "guest_errors"), ==, 2);
    qpci_msix_disable(pci);
    rcl_pair_stop(&p);
}

/* ---- data ---- */

static void test_data(void)
{
    static const uint64_t format[] = {
        1 << RCL_CFG_STANDARD, GEN1, 1 << RCL_CFG_GEN2, 1 << RCL_CFG_LITE,
    };
    RclPair p = rcl_pair_start(false, "", "");
    RclGot got;

    for (unsigned f = 0; f < ARRAY_SIZE(format); f++) {
        uint8_t frame[1514], back[RCL_BUF];

        rcl_pair_up(&p, format[f]);
        rcl_pair_connect(&p, 42, 0xff0);
        for (unsigned i = 0; i < 40; i++) {
            rcl_post(p.r[0], 42, 64 + i * 32, i, 0);
        }
        for (unsigned i = 0; i < 40; i++) {
            rcl_take(p.r[1], 0, &got);
            g_assert_true(rcl_is(&got, 64 + i * 32, i));
            g_assert_cmpuint(got.qp, ==, 42);
        }
        for (unsigned g = 0; g < 8; g++) {
            rcl_post(p.r[1], 0, 64 + g, g, RCL_ETYPE2 |
                                           g << RCL_E_GROUP_SHIFT);
            rcl_take(p.r[0], 1, &got);
            g_assert_true(rcl_is(&got, 64 + g, g));
        }
        for (unsigned len = 60; len <= 1514; len += 727) {
            memset(frame, len, len);
            frame[0] = frame[6] = 0x02; /* of a network; a class of Lite, too */
            rcl_md_post(p.r[0], frame, len);
            g_assert_cmpuint(rcl_md_take(p.r[1], back), ==, len);
            g_assert_cmpmem(back, len, frame, len);
        }
    }
    g_assert_cmpuint(rcl_counter(p.r[0], "guest_errors"), ==, 0);
    rcl_pair_stop(&p);
}

/* Loss, doubles, damage: everything arrives once and in order. */
static void test_faults(void)
{
    static const char *const fault[] = {
        "fault-out-drop-ppm", "fault-in-drop-ppm", "fault-out-duplicate-ppm",
        "fault-in-corrupt-ppm", "fault-out-reorder-ppm",
    };
    RclPair p = rcl_pair_start(false, ",time-scale=1", ",time-scale=1");
    unsigned next = 0, sent = 0;
    RclGot got;

    rcl_pair_up(&p, GEN1);
    rcl_pair_connect(&p, 7, 100);
    rcl_set(p.r[0], RCL_RETRY_TIMER_CFG, 15 << 13 | 500);
    for (unsigned i = 0; i < ARRAY_SIZE(fault); i++) {
        rcl_prop_set(p.r[0], fault[i], 50000);
    }
    while (next < 200) {
        gint64 limit = test_deadline(20);

        while (sent < 200 && sent - next < 30) {
            rcl_post(p.r[0], 7, 64 + sent % 100, sent, 0);
            sent++;
        }
        while ((uint16_t)rcl_get(p.r[1], RCL_RING(RCL_RING_RX1) +
                                         RCL_RING_TAIL) == p.r[1]->rx_tail[0]) {
            qtest_clock_step(p.r[0]->f->qts, NAP_NS);
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
        }
        rcl_take(p.r[1], 0, &got);
        g_assert_true(rcl_is(&got, 64 + next % 100, next));
        next++;
    }
    g_assert_cmpuint(rcl_counter(p.r[0], "fault_drop"), >, 0);
    g_assert_cmpuint(rcl_counter(p.r[0], "tx_type1_again"), >, 0);
    rcl_pair_stop(&p);
}

/* ---- interrupts ---- */

/* The peer is mute: the time-out is told by event and message. */
static void test_retry_interrupt(void)
{
    RclPair p = rcl_pair_start(false, ",time-scale=1", ",time-scale=1");
    Rcl *r = p.r[0];
    uint8_t ev[RCL_RING_ENTRY];

    rcl_pair_up(&p, GEN1);
    rcl_pair_connect(&p, 0x2a5, 0);
    rcl_msix(r);
    rcl_set(r, RCL_INTR_MASK, 1 << RCL_INTR_RETRY);
    rcl_set(r, RCL_RETRY_TIMER_CFG, 2 << 13 | 100);
    rcl_prop_set(p.r[1], "fault-in-drop-ppm", 1000000);
    rcl_post(r, 0x2a5, 64, 0, 0);
    g_assert_false(qpci_msix_pending(r->f->pci, RCL_VEC_INTR));
    qtest_clock_step(r->f->qts, 100000);
    rcl_event_wait(r, RCL_EV_RETRY_TMO, ev);
    g_assert_cmphex(lduw_le_p(ev + 2), ==, 0x2a5);
    qtest_clock_step(r->f->qts, 100000);
    rcl_event_wait(r, RCL_EV_IRQ, ev);
    g_assert_cmphex(ldq_le_p(ev + 8), ==, 0x800054a2);
    g_assert_cmphex(rcl_get(r, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    /* All vectors are masked after the reset: it is pending. */
    g_assert_true(qpci_msix_pending(r->f->pci, RCL_VEC_INTR));
    rcl_set(r, RCL_INTR_STATUS, 1 << RCL_INTR_RETRY);
    g_assert_cmphex(rcl_get(r, RCL_INTR_STATUS), ==, 0);
    qpci_msix_disable(r->f->pci);
    rcl_pair_stop(&p);
}

/* ---- flow control over the wire ---- */

static void test_flow(void)
{
    RclPair p = rcl_pair_start(false, "", "");
    RclGot got;

    rcl_pair_up(&p, GEN1);
    for (unsigned i = 0; i < 2; i++) {
        /* CBFC, VCs 0-6, limits 1 (RC Link §12.14.4). */
        rcl_set(p.r[i], RCL_AFH_CFG_EN, 0x0ff02493ac688fc0ull | GEN1);
        rcl_set(p.r[i], RCL_XON_THR_RDMA, 0x7full << 32);
        for (unsigned v = 0; v < 8; v++) {
            rcl_set(p.r[i], RCL_MAC_CBFC_CFG(v), 256 | 30ull << 22);
        }
        rcl_set(p.r[i], RCL_CBFC_RST, 0xff);
    }
    rcl_pair_connect(&p, 4, 0);
    /* The client is late: credits run out. */
    rcl_set(p.r[1], RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    for (unsigned i = 0; i < 20; i++) {
        rcl_post(p.r[0], 4, 1344, i, 0);
    }
    fixture_wait_counter(p.r[0]->f, "counter-tx_type1", 5);
    g_assert_cmpuint(rcl_get(p.r[0], RCL_CBFC_LEVEL0) & 0xffff, <, 6);
    g_assert_cmpuint(rcl_counter(p.r[0], "tx_type1"), ==, 5);
    p.r[1]->rx_tail[0] = 0;
    rcl_set(p.r[1], RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, RCL_RING_EN);
    rcl_set(p.r[1], RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, RCL_ENTRIES);
    for (unsigned i = 0; i < 20; i++) {
        rcl_take(p.r[1], 0, &got);
        g_assert_true(rcl_is(&got, 1344, i));
    }
    {
        gint64 limit = test_deadline(20);

        while ((rcl_get(p.r[0], RCL_CBFC_LEVEL0) & 0xffff) != 30) {
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
            g_usleep(1000);
        }
    }
    /* PFC: a storm stops all, its end lets it go on. */
    for (unsigned i = 0; i < 2; i++) {
        rcl_set(p.r[i], RCL_AFH_CFG_EN, 0x0ff02493ac688fe0ull | GEN1);
        rcl_set(p.r[i], RCL_XON_THR_RDMA, 0x7full << 39);
    }
    rcl_prop_set(p.r[1], "fault-pause-storm", 0xff);
    {
        gint64 limit = test_deadline(20);

        while ((rcl_get(p.r[0], RCL_STATUS) >> RCL_STATUS_PFC_RX_SHIFT &
                0xff) != 0xff) {
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
            g_usleep(1000);
        }
    }
    rcl_post(p.r[0], 4, 64, 99, 0);
    g_assert_cmpuint(rcl_counter(p.r[0], "tx_type1"), ==, 20);
    rcl_prop_set(p.r[1], "fault-pause-storm", 0);
    rcl_take(p.r[1], 0, &got);
    g_assert_true(rcl_is(&got, 64, 99));
    rcl_pair_stop(&p);
}

/* ---- monitor ---- */

static void test_monitor(void)
{
    RclPair p = rcl_pair_start(false, "", "");
    g_autofree char *text = NULL;
    QDict *rsp, *info, *ev, *ring;
    const QListEntry *first;

    rcl_pair_up(&p, 1 << RCL_CFG_GEN2);
    rcl_pair_connect(&p, 9, 5);
    rsp = qtest_qmp(p.r[0]->f->qts, "{ 'execute': 'query-rclink' }");
    first = qlist_first(qdict_get_qlist(rsp, "return"));
    info = qobject_to(QDict, qlist_entry_obj(first));
    g_assert_cmpstr(qdict_get_str(info, "device"), ==,
                    "/machine/peripheral/nic");
    g_assert_cmpstr(qdict_get_str(info, "format"), ==, "gen2");
    g_assert_true(qdict_get_bool(info, "link-up"));
    g_assert_true(qdict_get_bool(info, "enabled"));
    g_assert_cmpint(qdict_get_int(info, "free-type1"), ==, 512);
    first = qlist_first(qdict_get_qlist(info, "qps"));
    g_assert_cmpint(qdict_get_int(qobject_to(QDict, qlist_entry_obj(first)),
                                  "qp"), ==, 9);
    g_assert_cmpuint(qlist_size(qdict_get_qlist(info, "vcs")), ==, 8);
    g_assert_cmpuint(qlist_size(qdict_get_qlist(info, "rings")), ==, 6);
    first = qlist_first(qdict_get_qlist(info, "rings"));
    ring = qobject_to(QDict, qlist_entry_obj(qlist_next(first)));
    g_assert_cmpstr(qdict_get_str(ring, "name"), ==, "rx-type1");
    g_assert_true(qdict_get_bool(ring, "enabled"));
    g_assert_false(qdict_get_bool(ring, "stopped"));
    g_assert_cmphex(qdict_get_int(ring, "base"), ==, p.r[0]->mem + 0x1000);
    g_assert_cmpint(qdict_get_int(ring, "entries"), ==, RCL_ENTRIES);
    g_assert_cmpint(qdict_get_int(ring, "head"), ==, RCL_ENTRIES);
    g_assert_cmpint(qdict_get_int(ring, "tail"), ==, 0);
    qobject_unref(rsp);
    rcl_prop_set(p.r[0], "fault-out-drop-ppm", 5);
    text = qtest_hmp(p.r[0]->f->qts, "info rclink");
    g_assert_nonnull(strstr(text, "format gen2"));
    g_assert_nonnull(strstr(text, "QP 9: out 0, PSN 005"));
    g_assert_nonnull(strstr(text, "ring rx-type3: 32 at"));
    g_assert_nonnull(strstr(text, "fault out drop: 5 ppm"));
    /* The peer's end of the cable. */
    rcl_link_set(p.r[1], false);
    ev = qtest_qmp_eventwait_ref(p.r[1]->f->qts, "RCLINK_LINK_CHANGED");
    while (qdict_get_bool(qdict_get_qdict(ev, "data"), "link-up")) {
        qobject_unref(ev);
        ev = qtest_qmp_eventwait_ref(p.r[1]->f->qts, "RCLINK_LINK_CHANGED");
    }
    qobject_unref(ev);
    g_assert_cmphex(rcl_get(p.r[1], RCL_STATUS) & RCL_STATUS_LINK, ==, 0);
    rcl_pair_stop(&p);
}

/* ---- migration ---- */

/* The sender moves with packets that nobody took yet. */
static void test_migrate(void)
{
    RclPair p = rcl_pair_start(false, "", "");
    g_autofree char *uri_path = g_build_filename(p.dir, "migrate", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s", uri_path);
    g_autofree char *more = g_strdup_printf("-incoming %s", uri);
    g_autofree char *second = g_build_filename(p.dir, "wire2", NULL);
    Rcl *from = p.r[1], *to;
    RclGot got;

    rcl_pair_up(&p, GEN1);
    rcl_pair_connect(&p, 6, 0);
    rcl_post(p.r[1], 6, 200, 1, 0);
    rcl_take(p.r[0], 0, &got);
    /* Nothing leaves any more. */
    rcl_link_set(from, false);
    for (unsigned i = 0; i < 10; i++) {
        rcl_post(from, 6, 300 + i, i, 0);
        rcl_post(from, 0, 100, i, RCL_ETYPE2);
    }
    g_assert_cmpuint(rcl_get(from, RCL_OST_FREE), ==, 502 | 6 << 16);
    to = rcl_start(p.path, false, 1, "", more);
    qtest_qmp_assert_success(from->f->qts,
        "{ 'execute': 'migrate', 'arguments': { 'uri': %s } }", uri);
    fixture_wait_migration(from->f->qts);
    qtest_qmp_eventwait(to->f->qts, "RESUME");
    to->mem = from->mem;
    to->tx_head = from->tx_head;
    memcpy(to->rx_head, from->rx_head, sizeof(to->rx_head));
    memcpy(to->rx_tail, from->rx_tail, sizeof(to->rx_tail));
    to->bar = from->bar;
    fixture_find(to->f);
    rcl_stop(from);
    p.r[1] = to;
    for (unsigned i = 0; i < 10; i++) {
        rcl_take(p.r[0], 0, &got);
        g_assert_true(rcl_is(&got, 300 + i, i));
        rcl_take(p.r[0], 1, &got);
        g_assert_true(rcl_is(&got, 100, i));
    }
    /* And it goes on, both ways. */
    rcl_post(p.r[0], 6, 500, 7, 0);
    rcl_take(to, 0, &got);
    g_assert_true(rcl_is(&got, 500, 7));
    rcl_post(to, 6, 501, 8, 0);
    rcl_take(p.r[0], 0, &got);
    g_assert_true(rcl_is(&got, 501, 8));
    unlink(uri_path);
    rcl_pair_stop(&p);
}

/* One end moves while both send: what was under way is lost with the wire and
 * sent again, and everything arrives once and in order. */
static void test_migrate_traffic(void)
{
    RclPair p = rcl_pair_start(false, ",time-scale=1", ",time-scale=1");
    g_autofree char *uri_path = g_build_filename(p.dir, "migrate", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s", uri_path);
    g_autofree char *more = g_strdup_printf("-incoming %s", uri);
    unsigned sent[2] = { 0 }, taken[2] = { 0 };
    gint64 limit = test_deadline(60);
    Rcl *from = p.r[1], *to;
    RclGot got;

    rcl_pair_up(&p, GEN1);
    rcl_pair_connect(&p, 6, 0xff0);
    for (unsigned i = 0; i < 2; i++) {
        rcl_set(p.r[i], RCL_RETRY_TIMER_CFG, 15 << 13 | 100);
    }
    to = rcl_start(p.path, false, 1, ",time-scale=1", more);
    for (unsigned n = 0; n < 60; n++) {
        /* What the old machine is told while it leaves may be lost. */
        for (unsigned i = 0; i < (n > 30 && n <= 40 ? 1 : 2); i++) {
            rcl_post(p.r[i], 6, 64 + sent[i], sent[i], 0);
            sent[i]++;
        }
        if (n == 30) {
            qtest_qmp_assert_success(from->f->qts,
                "{ 'execute': 'migrate', 'arguments': { 'uri': %s } }", uri);
        }
        if (n < 30) {
            for (unsigned i = 0; i < 2; i++) {
                rcl_take(p.r[!i], 0, &got);
                g_assert_true(rcl_is(&got, 64 + taken[i], taken[i]));
                taken[i]++;
            }
        }
        if (n == 40) {
            fixture_wait_migration(from->f->qts);
            qtest_qmp_eventwait(to->f->qts, "RESUME");
            to->mem = from->mem;
            to->tx_head = from->tx_head;
            memcpy(to->rx_head, from->rx_head, sizeof(to->rx_head));
            memcpy(to->rx_tail, from->rx_tail, sizeof(to->rx_tail));
            to->bar = from->bar;
            fixture_find(to->f);
            rcl_stop(from);
            p.r[1] = to;
            rcl_wait_link(to, true);
            rcl_wait_link(p.r[0], true);
        }
    }
    while (taken[0] < sent[0] || taken[1] < sent[1]) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        for (unsigned i = 0; i < 2; i++) {
            Rcl *r = p.r[!i];

            qtest_clock_step(r->f->qts, NAP_NS);
            if ((uint16_t)rcl_get(r, RCL_RING(RCL_RING_RX1) +
                                     RCL_RING_TAIL) != r->rx_tail[0]) {
                rcl_take(r, 0, &got);
                g_assert_true(rcl_is(&got, 64 + taken[i], taken[i]));
                taken[i]++;
            }
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(rcl_counter(p.r[i], "qp_fatal"), ==, 0);
    }
    unlink(uri_path);
    rcl_pair_stop(&p);
}

/* ---- misuse ---- */

static void test_nowhere(void)
{
    RclPair p = rcl_pair_start(false, "", "");
    Rcl *r = p.r[0];
    RclGot got;

    rcl_pair_up(&p, GEN1);
    rcl_pair_connect(&p, 1, 0);
    /* A buffer that is nowhere: that packet alone is lost. */
    qtest_writeq(r->f->qts, r->mem, NOWHERE);
    qtest_writeq(r->f->qts, r->mem + 8, 64 | 1 << 16);
    rcl_set(r, RCL_RING(0) + RCL_RING_HEAD, ++r->tx_head);
    g_assert_cmpuint(rcl_get(r, RCL_RING(0) + RCL_RING_TAIL), ==, 1);
    g_assert_cmpuint(rcl_counter(r, "dma_errors"), ==, 1);
    rcl_post(r, 1, 64, 3, 0);
    rcl_take(p.r[1], 0, &got);
    g_assert_true(rcl_is(&got, 64, 3));
    /* A ring that is nowhere stops, and works when it is somewhere. */
    rcl_set(r, RCL_RING(0) + RCL_RING_CTRL, 0);
    rcl_set(r, RCL_RING(0) + RCL_RING_BASE_HI, NOWHERE >> 32);
    rcl_set(r, RCL_RING(0) + RCL_RING_CTRL, RCL_RING_EN);
    rcl_set(r, RCL_RING(0) + RCL_RING_HEAD, 1);
    g_assert_cmphex(rcl_get(r, RCL_RING(0) + RCL_RING_CTRL), ==,
                    RCL_RING_EN | RCL_RING_ERROR);
    g_assert_cmphex(rcl_get(r, RCL_ERR_STATUS), ==, 1);
    rcl_pair_up(&p, GEN1);
    rcl_qp(r, 1, 1, 1, 1);
    rcl_post(r, 1, 64, 4, 0);
    rcl_take(p.r[1], 0, &got);
    g_assert_true(rcl_is(&got, 64, 4));
    /* Memory that is the device itself. */
    rcl_set(r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_RESET);
    rcl_set(r, RCL_TX_MDQ_BA, r->bar.addr);
    rcl_set(r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN);
    rcl_set(r, RCL_TX_MD_HEAD_PTR, 9);
    g_assert_cmphex(rcl_get(r, RCL_DMA_INTR_ST1), !=, 0);
    /* Resets: the function's, by register and by FLR. */
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_ALL);
    g_assert_cmphex(rcl_get(r, RCL_RDMA_EN), ==, 0);
    rcl_pair_up(&p, GEN1);
    rcl_pair_connect(&p, 1, 0);
    rcl_post(r, 1, 64, 5, 0);
    rcl_take(p.r[1], 0, &got);
    g_assert_true(rcl_is(&got, 64, 5));
    rcl_pair_stop(&p);
}

/* Bytes that are no frames, and frames that are none of ours. */
static void test_hostile_peer(void)
{
    g_autofree char *dir = g_dir_make_tmp("rclink-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "wire", NULL);
    Rcl *r = rcl_start(path, true, 0, "", "");
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    g_autoptr(GRand) rand = g_rand_new_with_seed(4);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    uint8_t buf[4 + 300];

    g_strlcpy(a.sun_path, path, sizeof(a.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&a, sizeof(a)), ==, 0);
    rcl_wait_link(r, true);
    rcl_up(r, 1 << RCL_CFG_STANDARD);
    rcl_qp(r, 1, 1, 1, 0);
    for (unsigned i = 0; i < 2000; i++) {
        uint32_t len = g_rand_int_range(rand, 0, 300);

        for (uint32_t k = 0; k < len; k++) {
            buf[4 + k] = g_rand_int(rand);
        }
        if (i & 1 && len > 40) {
            stw_be_p(buf + 4 + 12, i & 2 ? 0x8808 : 0x0800);
        }
        stl_be_p(buf, len);
        g_assert_cmpint(send(fd, buf, 4 + len, MSG_NOSIGNAL), ==, 4 + len);
    }
    /* A length beyond all bounds ends the connection, and no more. */
    stl_be_p(buf, 0xffffffff);
    g_assert_cmpint(send(fd, buf, 4, MSG_NOSIGNAL), ==, 4);
    rcl_wait_link(r, false);
    g_assert_cmpuint(rcl_counter(r, "wire_bad_length"), ==, 1);
    close(fd);
    rcl_stop(r);
    unlink(path);
    rmdir(dir);
}

/* Properties that make no sense are refused. */
static void test_properties(void)
{
    static const char *const bad[] = {
        "qps=3", "type1-vcs=3", "ost1=0", "ost2=17", "speed=100",
        "payload=5000", "rx2-bytes=1", "time-scale=0", "rh-order=x",
        "gen2-order=x", "lite-xpu=x", "cfg160=x", "icrc=x", "udp-csum=1",
    };
    QTestState *qts = qtest_init("-M q35 -nodefaults");

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        g_auto(GStrv) kv = g_strsplit(bad[i], "=", 2);
        QDict *rsp = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': "
                               "{ 'driver': 'rclink', %s: %s } }", kv[0],
                               kv[1]);

        g_assert_true(qdict_haskey(rsp, "error"));
        qobject_unref(rsp);
    }
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rclink/function", test_function);
    qtest_add_func("/rclink/data", test_data);
    qtest_add_func("/rclink/faults", test_faults);
    qtest_add_func("/rclink/retry-interrupt", test_retry_interrupt);
    qtest_add_func("/rclink/flow", test_flow);
    qtest_add_func("/rclink/monitor", test_monitor);
    qtest_add_func("/rclink/migrate", test_migrate);
    qtest_add_func("/rclink/migrate-traffic", test_migrate_traffic);
    qtest_add_func("/rclink/nowhere", test_nowhere);
    qtest_add_func("/rclink/hostile-peer", test_hostile_peer);
    qtest_add_func("/rclink/properties", test_properties);
    return g_test_run();
}
