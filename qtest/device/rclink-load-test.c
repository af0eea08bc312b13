/*
 * rclink: what strikes a device that is busy, the wire of a netdev, captures,
 * and random misuse from all sides.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/pci-pc.h"
#include "qobject/qdict.h"
#include <sys/un.h>
#include "librcl.h"
#include "../config_window.h"
#include "../deadline.h"

#define GEN1 (1 << RCL_CFG_GEN1 | 1 << RCL_CFG_GEN1_TC)

/* Both up, with QP 7 that does not give up soon. */
static void pair_up(RclPair *p)
{
    rcl_pair_up(p, GEN1);
    rcl_pair_connect(p, 7, 0);
    for (unsigned i = 0; i < 2; i++) {
        rcl_set(p->r[i], RCL_RETRY_TIMER_CFG, 15 << 13 | 500);
    }
}

/* Everything works: both types that programs use, and frames. */
static void pair_works(RclPair *p)
{
    uint8_t frame[200] = { 0x82 }, back[RCL_BUF];
    RclGot got;

    pair_up(p);
    for (unsigned i = 0; i < 2; i++) {
        Rcl *from = p->r[i], *to = p->r[!i];

        for (unsigned n = 0; n < 5; n++) {
            rcl_post(from, 7, 100 + n, n, 0);
            rcl_take(to, 0, &got);
            g_assert_true(rcl_is(&got, 100 + n, n));
        }
        rcl_post(from, 0, 77, 9, RCL_ETYPE2);
        rcl_take(to, 1, &got);
        g_assert_true(rcl_is(&got, 77, 9));
        rcl_md_post(from, frame, sizeof(frame));
        g_assert_cmpuint(rcl_md_take(to, back), ==, sizeof(frame));
    }
}

/* ---- the netdev's wire ---- */

static void test_netdev(void)
{
    RclPair p = rcl_pair_start(true, "", "");
    unsigned sent = 0, next = 0;
    RclGot got;

    pair_works(&p);
    pair_up(&p);
    while (next < 300) {
        while (sent < 300 && sent - next < 40) {
            rcl_post(p.r[0], 7, 1344, sent++, 0);
        }
        rcl_take(p.r[1], 0, &got);
        g_assert_true(rcl_is(&got, 1344, next));
        next++;
    }
    g_assert_cmpuint(rcl_counter(p.r[1], "rx_duplicate"), ==, 0);
    rcl_link_set(p.r[0], false);
    g_assert_cmphex(rcl_get(p.r[0], RCL_STATUS) & RCL_STATUS_LINK, ==, 0);
    rcl_link_set(p.r[0], true);
    pair_works(&p);
    rcl_pair_stop(&p);
}

/* ---- captures ---- */

/* Every frame is in the file, whole and with its length, when the machine
 * stops. */
static void test_capture(void)
{
    g_autofree char *file = g_strdup_printf("%s/rcl-%d.pcap", g_get_tmp_dir(),
                                            (int)getpid());
    g_autofree char *props = g_strdup_printf(",capture=%s", file);
    RclPair p = rcl_pair_start(false, props, "");
    g_autofree uint8_t *data = NULL;
    unsigned frames = 0;
    uint64_t bytes = 0;
    gsize len, at = 24;

    pair_works(&p);
    qtest_qmp_assert_success(p.r[0]->f->qts, "{ 'execute': 'stop' }");
    g_assert_true(g_file_get_contents(file, (char **)&data, &len, NULL));
    g_assert_cmphex((uint32_t)ldl_le_p(data), ==, 0xa1b23c4d);
    g_assert_cmpuint(ldl_le_p(data + 20), ==, 1);
    while (at < len) {
        uint32_t n = ldl_le_p(data + at + 8);

        g_assert_cmpuint(ldl_le_p(data + at + 12), ==, n);
        g_assert_cmpuint(n, >=, 60);
        g_assert_cmpuint(at + 16 + n, <=, len);
        bytes += n;
        at += 16 + n;
        frames++;
    }
    g_assert_cmpuint(at, ==, len);
    g_assert_cmpuint(frames, >=, 2 * 7);
    g_assert_cmpuint(bytes, ==, rcl_counter(p.r[0], "wire_bytes_tx") +
                                rcl_counter(p.r[0], "wire_bytes_rx"));
    rcl_pair_stop(&p);
    unlink(file);
}

/* ---- under load ---- */

static void load(RclPair *p)
{
    uint8_t frame[1000] = { 0x82 };

    for (unsigned i = 0; i < 30; i++) {
        rcl_post(p->r[0], 7, 1344, i, 0);
        rcl_post(p->r[0], 0, 500, i, RCL_ETYPE2);
        rcl_md_post(p->r[0], frame, sizeof(frame));
    }
}

static void strike_reset_all(Rcl *r)
{
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_ALL);
}

static void strike_reset_types(Rcl *r)
{
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_TYPE1);
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_TYPE2);
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_TYPE3);
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_MAC);
}

static void strike_machine_reset(Rcl *r)
{
    qtest_system_reset(r->f->qts);
    rcl_map(r);
}

static void strike_stop(Rcl *r)
{
    qtest_qmp_assert_success(r->f->qts, "{ 'execute': 'stop' }");
    qtest_qmp_assert_success(r->f->qts, "{ 'execute': 'cont' }");
}

static void strike_link(Rcl *r)
{
    rcl_link_set(r, false);
    rcl_link_set(r, true);
}

static void strike_dma(Rcl *r)
{
    rcl_prop_set(r, "fault-dma", 1);
    rcl_set(r, RCL_RING(RCL_RING_TX) + RCL_RING_HEAD, r->tx_head);
    rcl_prop_set(r, "fault-dma", 0);
}

static void strike_master(Rcl *r)
{
    uint16_t cmd = qpci_config_readw(r->f->pci, 4);

    qpci_config_writew(r->f->pci, 4, cmd & ~4);
    rcl_set(r, RCL_RING(RCL_RING_TX) + RCL_RING_HEAD, r->tx_head + 1);
    qpci_config_writew(r->f->pci, 4, cmd);
}

static void strike_power(Rcl *r)
{
    /* D3hot and back. */
    qpci_config_writew(r->f->pci, 0x44, 3);
    qpci_config_writew(r->f->pci, 0x44, 0);
    qpci_device_enable(r->f->pci);
}

static void strike_disable(Rcl *r)
{
    rcl_set(r, RCL_QP_ID_SET, 7);
    rcl_set(r, RCL_QP_CONTROL_STATUS, 0);
    rcl_set(r, RCL_QP_CONTROL_STATUS, RCL_QP_FREE_BUF);
    rcl_set(r, RCL_RDMA_EN, 0);
}

static void test_strikes(void)
{
    static void (*const strike[])(Rcl *) = {
        strike_reset_all, strike_reset_types, strike_machine_reset,
        strike_stop, strike_link, strike_dma, strike_master, strike_power,
        strike_disable,
    };
    RclPair p = rcl_pair_start(false, "", "");

    for (unsigned i = 0; i < ARRAY_SIZE(strike); i++) {
        for (unsigned side = 0; side < 2; side++) {
            g_test_message("strike %u at end %u", i, side);
            pair_up(&p);
            load(&p);
            strike[i](p.r[side]);
            strike_reset_all(p.r[0]);
            strike_reset_all(p.r[1]);
            pair_works(&p);
        }
    }
    rcl_pair_stop(&p);
}

/* The peer dies with packets under way, and another one comes. */
static void test_kill(void)
{
    RclPair p = rcl_pair_start(false, "", "");

    for (unsigned i = 0; i < 2; i++) {
        pair_up(&p);
        load(&p);
        qtest_kill_qemu(p.r[1]->f->qts);
        rcl_wait_link(p.r[0], false);
        rcl_stop(p.r[1]);
        p.r[1] = rcl_start(p.path, false, 1, "", "");
        rcl_wait_link(p.r[0], true);
        rcl_wait_link(p.r[1], true);
        strike_reset_all(p.r[0]);
        pair_works(&p);
    }
    rcl_pair_stop(&p);
}

/* ---- the own configuration space ---- */

static void ring_at(Rcl *r, unsigned n, uint64_t base, uint64_t shadow)
{
    uint64_t reg = RCL_RING(n);

    rcl_set(r, reg + RCL_RING_CTRL, 0);
    rcl_set(r, reg + RCL_RING_BASE_LO, base);
    rcl_set(r, reg + RCL_RING_BASE_HI, base >> 32);
    rcl_set(r, reg + RCL_RING_SHADOW_LO, shadow);
    rcl_set(r, reg + RCL_RING_SHADOW_HI, shadow >> 32);
    rcl_set(r, reg + RCL_RING_CTRL, RCL_RING_EN | (shadow ? RCL_RING_SHADOW : 0));
}

static void wait_stopped(Rcl *r, unsigned n)
{
    gint64 limit = test_deadline(20);

    while (!(rcl_get(r, RCL_RING(n) + RCL_RING_CTRL) & RCL_RING_ERROR)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    }
}

/* Both reset, and up. */
static void anew(RclPair *p)
{
    strike_reset_all(p->r[0]);
    strike_reset_all(p->r[1]);
    pair_up(p);
}

/* Until more than *@before accesses were refused. */
static void wait_refused(Rcl *r, uint64_t *before)
{
    fixture_wait_counter(r->f, "dma-refused", *before + 1);
    *before = fixture_counter(r->f, "dma-refused");
}

/*
 * Rings, indices and packets in the function's own configuration space, where what
 * the peer sends would reset it in the middle of its turn: all are refused, and the
 * space is what it was.
 */
static void test_config_space(void)
{
    RclPair p = rcl_pair_start(false, "", "");
    Rcl *r = p.r[1];
    ConfigWindow w = config_window_open(r->f->qts, r->f->pci);
    uint64_t before = 0, entry;
    uint8_t frame[200];

    pair_works(&p);
    config_window_note(&w);
    /* A packet of TYPE1, one of TYPE2 and a frame into Device Control. */
    for (unsigned t = 0; t < 2; t++) {
        anew(&p);
        entry = r->mem + (RCL_RING_RX1 + t) * 0x1000;
        qtest_writeq(r->f->qts, entry, config_window_control(&w));
        ring_at(r, RCL_RING_RX1 + t, entry, 0);
        rcl_set(r, RCL_RING(RCL_RING_RX1 + t) + RCL_RING_HEAD, 16);
        rcl_post(p.r[0], t ? 0 : 7, 100, 0x7f, t ? RCL_ETYPE2 : 0);
        wait_refused(r, &before);
        g_test_message("TYPE%u", t + 1);
        config_window_same(&w);
        g_assert_cmphex(rcl_get(r, RCL_RDMA_EN), ==, 1);
    }
    anew(&p);
    memset(frame, 0x82, sizeof(frame));
    qtest_writeq(r->f->qts, r->mem + 0x5008, config_window_control(&w));
    rcl_md_post(p.r[0], frame, sizeof(frame));
    wait_refused(r, &before);
    config_window_same(&w);
    /* Indices, and rings of all kinds, everywhere. */
    for (unsigned n = 0; n < RCL_RINGS; n++) {
        for (unsigned at = 0; at < CONFIG_WINDOW_BYTES; at += RCL_RING_ENTRY) {
            g_test_message("ring %u at 0x%x", n, at);
            anew(&p);
            ring_at(r, n, n == RCL_RING_EVENT || at % 32 ? w.at + at
                                                         : r->mem + n * 0x1000,
                    w.at + at + 4);
            if (n == RCL_RING_TX) {
                rcl_post(r, 7, 100, 1, 0);
            } else if (n == RCL_RING_EVENT) {
                rcl_post(r, 0, 100, 1, RCL_ETYPE2);     /* "credit" */
            } else {
                rcl_set(r, RCL_RING(n) + RCL_RING_HEAD, 16);
                rcl_post(p.r[0], n == RCL_RING_RX1 ? 7 : 0, 100, 1,
                         n == RCL_RING_RX1 ? 0 : RCL_ETYPE2);
            }
            wait_stopped(r, n);
            config_window_same(&w);
        }
    }
    config_window_aborted(&w);
    g_assert_true(fixture_logged(r->f, "there is no memory"));
    strike_reset_all(p.r[0]);
    strike_reset_all(r);
    pair_works(&p);
    rcl_pair_stop(&p);
}

/* Messages that reset the function, in the turn that sends them. */
static void test_msix_into_config(void)
{
    RclPair p = rcl_pair_start(false, "", "");
    Rcl *r = p.r[1];
    ConfigWindow w = config_window_open(r->f->qts, r->f->pci);
    uint64_t to = config_window_control(&w);

    rcl_msix(r);
    for (unsigned v = 0; v < RCL_VECTORS; v++) {
        uint64_t e = RCL_BAR_MSIX_TABLE + v * PCI_MSIX_ENTRY_SIZE;

        qpci_io_writel(r->f->pci, r->bar, e, to);
        qpci_io_writel(r->f->pci, r->bar, e + 4, to >> 32);
        qpci_io_writel(r->f->pci, r->bar, e + 8, PCI_EXP_DEVCTL_BCR_FLR);
        qpci_io_writel(r->f->pci, r->bar, e + 12, 0);
    }
    config_window_note(&w);
    pair_up(&p);
    for (unsigned n = 0; n < RCL_RINGS; n++) {
        rcl_set(r, RCL_RING(n) + RCL_RING_ARM,
                rcl_get(r, RCL_RING(n) + (n == RCL_RING_EVENT ? RCL_RING_HEAD
                                                               : RCL_RING_TAIL)));
    }
    load(&p);
    fixture_wait_counter(r->f, "msi-refused", 2);
    config_window_same(&w);
    g_assert_cmphex(rcl_get(r, RCL_RDMA_EN), ==, 1);
    strike_reset_all(p.r[0]);
    strike_reset_all(r);
    pair_works(&p);
    rcl_pair_stop(&p);
}

/* ---- plugged and unplugged ---- */

static uint64_t counter_at(QTestState *qts, const char *name)
{
    g_autofree char *full = g_strdup_printf("counter-%s", name);
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': { "
                           "'path': '/machine/peripheral/nic', "
                           "'property': %s } }", full);
    uint64_t n = qdict_get_int(rsp, "return");

    qobject_unref(rsp);
    return n;
}

/* The device leaves its end of the wire, which the peer sees, and another one
 * takes it over: frames pass, both ways. */
static void test_replug(void)
{
    g_autofree char *dir = g_dir_make_tmp("rclink-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "wire", NULL);
    QTestState *qts = qtest_initf(
        "-M q35 -nodefaults -device pcie-root-port,id=rp,slot=1 "
        "-chardev socket,id=w,path=%s,server=on,wait=off "
        "-device rclink,id=nic,bus=rp,chardev=w", path);
    Rcl *r = rcl_start(path, false, 1, "", "");
    uint8_t frame[200] = { 0x82 };

    for (unsigned i = 0; i < 3; i++) {
        gint64 limit = test_deadline(60);
        bool down;

        rcl_wait_link(r, true);
        rcl_up(r, GEN1);
        rcl_md_post(r, frame, sizeof(frame));
        while (counter_at(qts, "wire_bytes_rx") < sizeof(frame)) {
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
        }
        qtest_qmp_assert_success(qts,
            "{ 'execute': 'qom-set', 'arguments': { 'path': "
            "'/machine/peripheral/nic', 'property': 'fault-pause-storm', "
            "'value': 1 } }");
        while (rcl_counter(r, "pfc_rx") <= i) {
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
        }
        fixture_unplug(qts, "nic");
        /* The character device connects again at once. */
        do {
            QDict *ev = qtest_qmp_eventwait_ref(r->f->qts,
                                                "RCLINK_LINK_CHANGED");

            down = !qdict_get_bool(qdict_get_qdict(ev, "data"), "link-up");
            qobject_unref(ev);
        } while (!down);
        qtest_qmp_device_add(qts, "rclink", "nic",
                             "{ 'bus': 'rp', 'chardev': 'w' }");
    }
    rcl_wait_link(r, true);
    rcl_stop(r);
    qtest_quit(qts);
    unlink(path);
    rmdir(dir);
}

/* A listener that takes nobody, so that who connects to it waits. */
static int full_listener(const char *path, GArray *waiting)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpuint(g_strlcpy(at.sun_path, path, sizeof(at.sun_path)), <,
                     sizeof(at.sun_path));
    g_assert_cmpint(bind(fd, (struct sockaddr *)&at, sizeof(at)), ==, 0);
    g_assert_cmpint(listen(fd, 0), ==, 0);
    for (;;) {
        int one = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

        g_assert_cmpint(one, >=, 0);
        g_array_append_val(waiting, one);
        if (connect(one, (struct sockaddr *)&at, sizeof(at))) {
            g_assert_cmpint(errno, ==, EAGAIN);
            return fd;
        }
    }
}

/* The device goes while its character device connects. */
static void test_unplug_connecting(void)
{
    g_autofree char *dir = g_dir_make_tmp("rclink-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "wire", NULL);
    g_autoptr(GArray) waiting = g_array_new(false, false, sizeof(int));
    int fd = full_listener(path, waiting);
    QTestState *qts = qtest_initf(
        "-M q35 -nodefaults -device pcie-root-port,id=rp,slot=1 "
        "-chardev socket,id=w,path=%s,reconnect-ms=100 "
        "-device rclink,id=nic,bus=rp,chardev=w", path);

    fixture_unplug(qts, "nic");
    qtest_quit(qts);
    for (unsigned i = 0; i < waiting->len; i++) {
        close(g_array_index(waiting, int, i));
    }
    close(fd);
    unlink(path);
    rmdir(dir);
}

/* ---- anything ---- */

static uint64_t any_address(Rcl *r, GRand *rand)
{
    switch (g_rand_int_range(rand, 0, 4)) {
    case 0:
        return r->bar.addr + g_rand_int_range(rand, 0, 0x10000);
    case 1:
        return (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
    default:
        return r->mem + g_rand_int_range(rand, 0, 0xc0000);
    }
}

static void any_write(Rcl *r, GRand *rand)
{
    static const uint16_t hot[] = {
        RCL_RDMA_EN, RCL_AFH_CFG_EN, RCL_TX_MD_HEAD_PTR, RCL_RX_MD_HEAD_PTR,
        RCL_TX_MDQ_BA, RCL_RX_MDQ_BA, RCL_TX_MDQ_SIZE, RCL_NONR_DMA_CTRL,
        RCL_QP_CONTROL_STATUS, RCL_TX_SPEED_MEM, RCL_QP_ID_SET, RCL_CTRL,
        RCL_XON_THR_RDMA, RCL_CBFC_RST, RCL_FLOW_STOP, RCL_EVENT_MASK,
    };
    uint64_t v = (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);

    switch (g_rand_int_range(rand, 0, 5)) {
    case 0:
        qpci_io_writeq(r->f->pci, r->bar, g_rand_int_range(rand, 0, 0x700) * 8,
                       v);
        break;
    case 1:
    case 2:
        rcl_set(r, hot[g_rand_int_range(rand, 0, ARRAY_SIZE(hot))],
                g_rand_boolean(rand) ? v & 0x1f : v);
        break;
    case 3:
        rcl_set(r, 0x4000 + g_rand_int_range(rand, 0, 64) * 4,
                g_rand_boolean(rand) ? v & 0xff : v);
        break;
    case 4:
        qtest_writeq(r->f->qts, r->mem + g_rand_int_range(rand, 0, 0x6000),
                     g_rand_boolean(rand) ? any_address(r, rand) : v);
        break;
    }
}

static void any_frame(int fd, GRand *rand)
{
    uint32_t len = g_rand_int_range(rand, 0, 1600);
    uint8_t buf[4 + 1600];

    for (uint32_t k = 0; k < len; k++) {
        buf[4 + k] = g_rand_int(rand);
    }
    memcpy(buf + 4, "\x02\0\0\0\0\x0a", 6);
    stw_be_p(buf + 4 + 12, g_rand_boolean(rand) ? 0x88b5 :
                           g_rand_boolean(rand) ? 0x8808 : 0x0800);
    if (g_rand_boolean(rand)) {
        memcpy(buf + 4, "\x01\x80\xc2\0\0\x01", 6);
        stw_be_p(buf + 4 + 14, g_rand_boolean(rand) ? 0x0101 : 0xcbfc);
    }
    stl_be_p(buf, len);
    if (send(fd, buf, 4 + len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        g_assert_cmpint(errno, ==, EAGAIN);
    }
    while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0) {
    }
}

/* A driver and a peer that do anything: the device goes on, and a reset makes
 * a good one of it. */
static void test_anything(void)
{
    g_autofree char *dir = g_dir_make_tmp("rclink-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "wire", NULL);
    Rcl *r = rcl_start(path, true, 0, ",time-scale=1", "");
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    g_autoptr(GRand) rand = g_rand_new_with_seed(14);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    uint8_t ev[RCL_RING_ENTRY];

    g_strlcpy(a.sun_path, path, sizeof(a.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&a, sizeof(a)), ==, 0);
    rcl_wait_link(r, true);
    for (unsigned i = 0; i < 6000; i++) {
        if (i % 500 == 0) {
            strike_reset_all(r);
            rcl_up(r, 1u << (i / 500 % 4));
            rcl_qp(r, 7, 1, 7, 0);
        }
        any_write(r, rand);
        if (i % 4 == 0) {
            any_frame(fd, rand);
        }
        if (i % 64 == 0) {
            qtest_clock_step(r->f->qts, g_rand_int_range(rand, 1, 1000000));
        }
    }
    strike_reset_all(r);
    rcl_up(r, GEN1);
    rcl_qp(r, 7, 1, 7, 0);
    rcl_post(r, 0, 100, 1, RCL_ETYPE2);
    rcl_event_wait(r, RCL_EV_CREDIT, ev);
    g_assert_cmpuint(ldl_le_p(ev + 4), ==, RCL_ETYPE2);
    close(fd);
    rcl_stop(r);
    unlink(path);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rclink-load/netdev", test_netdev);
    qtest_add_func("/rclink-load/capture", test_capture);
    qtest_add_func("/rclink-load/strikes", test_strikes);
    qtest_add_func("/rclink-load/kill", test_kill);
    qtest_add_func("/rclink-load/config-space", test_config_space);
    qtest_add_func("/rclink-load/msix-into-config", test_msix_into_config);
    qtest_add_func("/rclink-load/replug", test_replug);
    qtest_add_func("/rclink-load/unplug-connecting", test_unplug_connecting);
    qtest_add_func("/rclink-load/anything", test_anything);
    return g_test_run();
}
