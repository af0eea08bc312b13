/*
 * ncic-nic: a wire that is full, cut or dead, a machine that stands still, and
 * the frames that both engines share it for
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "ncic-fixture.h"
#include "libnrdma.h"
#include "roce-peer.h"
#include "../deadline.h"

#define LOG    10
#define POSTED 1000

enum {
    MY_IP = 0x0a000001, PEER_IP = 0x0a000002,
};
#define MY_MAC   0x525400123456ull
#define PEER_MAC 0x525400654321ull

static uint32_t qreg(int dir, unsigned reg)
{
    return qncic_qreg(dir, 0, reg);
}

static unsigned sent_so_far(QNcic *d)
{
    return qncic_read(d, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD));
}

/* More frames than the wire takes, of @len bytes, each with its number. */
static void fill_wire(Fixture *f, uint16_t len)
{
    QNcic *d = &f->nic;
    uint64_t buf = guest_alloc(&f->alloc, POSTED * 2048);
    unsigned before = 0, now = 0;

    qncic_queue_up(d, QNCIC_TX, 0, LOG, 1);
    for (unsigned i = 0; i < POSTED; i++) {
        qtest_writel(f->qts, buf + i * 2048 + 14, i);
        qncic_post(d, QNCIC_TX, 0, buf + i * 2048, len, 0, 0, false);
    }
    qncic_write(d, qreg(QNCIC_TX, NCIC_Q_HEAD), POSTED);
    /* Nothing more goes, in so many rounds of the main loop. */
    for (unsigned round = 0; !now || round < 20; round++) {
        g_usleep(1000);
        now = sent_so_far(d);
        if (now != before) {
            before = now;
            round = 0;
        }
    }
    g_assert_cmpuint(now, <, POSTED);
}

/* One more frame of 60 bytes that begins with @mark. */
static void send_marked(Fixture *f, uint8_t mark)
{
    uint64_t buf = guest_alloc(&f->alloc, 4096);

    qtest_memset(f->qts, buf, mark, 60);
    qncic_post(&f->nic, QNCIC_TX, 0, buf, 60, 0, 0, true);
}

static void expect_marked(Fixture *f, uint8_t mark)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);

    g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 10000), ==, 60);
    for (unsigned i = 0; i < 60; i++) {
        g_assert_cmphex(got[i], ==, mark);
    }
}

/* All that was posted comes, in order, and nothing else. */
static void drain_wire(Fixture *f)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);

    for (unsigned n = 0; n < POSTED; n++) {
        g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 10000), >, 0);
        g_assert_cmpuint(ldl_le_p(got + 14), ==, n);
    }
    g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 200), ==, 0);
}

static void set_link(Fixture *f, const char *name, bool up)
{
    qtest_qmp_assert_success(f->qts, "{ 'execute': 'set_link', 'arguments': {"
                             " 'name': %s, 'up': %i } }", name, up);
}

/* ---- A full wire --------------------------------------------------------------- */

/* Nothing that waits is lost, nothing comes twice; what is counted is so. */
static void test_full(void)
{
    Fixture *f = fixture_start("", "");

    fill_wire(f, 1514);
    g_assert_cmpuint(fixture_counter(f, "tx-frames"), <, POSTED);
    drain_wire(f);
    qncic_wait_reg(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), POSTED);
    g_assert_cmpuint(fixture_counter(f, "tx-frames"), ==, POSTED);
    g_assert_cmpuint(fixture_counter(f, "tx-drop-wire"), ==, 0);
    fixture_stop(f);
}

/* The link goes down: what waits completes, and is counted.  Up again the wire
 * carries what it had, whole, and then what is new. */
static void full_and_cut(const char *name)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    Fixture *f = fixture_start("", "");
    unsigned on_wire;

    fill_wire(f, 1514);
    on_wire = sent_so_far(&f->nic);
    set_link(f, name, false);
    g_assert_cmphex(qncic_read(&f->nic, 0x10184), ==, 0);
    qncic_wait_reg(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), POSTED);
    g_assert_cmpuint(fixture_counter(f, "tx-drop-link"), ==,
                     POSTED - on_wire);
    set_link(f, name, true);
    for (unsigned i = 0; i < on_wire; i++) {
        g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 10000), ==,
                         1514);
        g_assert_cmpuint(ldl_le_p(got + 14), ==, i);
    }
    send_marked(f, 0x5a);
    expect_marked(f, 0x5a);
    g_assert_cmpuint(fixture_counter(f, "tx-frames"), ==, on_wire + 1);
    fixture_stop(f);
}

static void test_link_down(void)
{
    full_and_cut("nic");
    full_and_cut("hs0");
}

static void test_netdev_del(void)
{
    Fixture *f = fixture_start("", "");

    fill_wire(f, 1514);
    qtest_qmp_assert_success(f->qts, "{ 'execute': 'netdev_del',"
                             " 'arguments': { 'id': 'hs0' } }");
    qncic_wait_reg(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), POSTED);
    g_assert_cmphex(qncic_read(&f->nic, 0x10184), ==, 0);
    fixture_stop(f);
}

/* A reset leaves the frame that is half on the wire to it. */
static void test_reset(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    Fixture *f = fixture_start("", "");
    unsigned on_wire;

    fill_wire(f, 1514);
    on_wire = sent_so_far(&f->nic);
    qncic_write(&f->nic, NCIC_RESET, NCIC_RESET_START);
    g_assert_cmpuint(sent_so_far(&f->nic), ==, 0);
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 4, 1);
    send_marked(f, 0x77);
    for (unsigned i = 0; i < on_wire; i++) {
        g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 10000), ==,
                         1514);
        g_assert_cmpuint(ldl_le_p(got + 14), ==, i);
    }
    expect_marked(f, 0x77);
    fixture_stop(f);
}

/* ---- The other end dies ------------------------------------------------------------ */

/* The far end of the device's wire is the test, which does not listen any
 * more. */
static Fixture *start_stream(const char *path, const char *more)
{
    g_autofree char *words = g_strdup_printf(
        "-netdev stream,id=hs0,server=off,addr.type=unix,addr.path=%s,"
        "reconnect-ms=50 -device ncic-nic,id=nic,netdev=hs0,addr=4 %s", path,
        more);
    Fixture *f = fixture_start_words(words, false);
    int fd = fixture_listen(path);

    qncic_wire_close(&f->wire);
    f->wire.theirs = -1;
    f->wire.ours = fixture_accept(fd);
    close(fd);
    /* Until then the netdev throws away what it is given; and the monitor has to be there
     * before, or does not tell. */
    qtest_qmp_eventwait(f->qts, "NETDEV_STREAM_CONNECTED");
    qncic_init(&f->nic, f->qts, f->pci, &f->alloc);
    return f;
}

/*
 * With the wire full the other end is killed, and comes back: the queue moves on
 * without help from the driver, and the new end gets whole frames.
 */
static void test_peer_death(void)
{
    g_autofree char *dir = g_dir_make_tmp("ncic-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "wire", NULL);
    Fixture *f = start_stream(path, "");
    gint64 limit;
    int fd;

    fill_wire(f, 1001);
    close(f->wire.ours);
    qtest_qmp_eventwait(f->qts, "NETDEV_STREAM_DISCONNECTED");
    limit = test_deadline(10);
    while (sent_so_far(&f->nic) != POSTED) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(1000);
    }
    g_assert_cmpuint(fixture_counter(f, "tx-frames") +
                     fixture_counter(f, "tx-drop-wire"), ==, POSTED);

    fd = fixture_listen(path);
    f->wire.ours = fixture_accept(fd);
    qtest_qmp_eventwait(f->qts, "NETDEV_STREAM_CONNECTED");
    send_marked(f, 0xc3);
    expect_marked(f, 0xc3);
    close(fd);
    fixture_stop(f);
    unlink(path);
    rmdir(dir);
}

/*
 * The device goes while a frame of it waits in the backend, half of it on its
 * way: nobody asks for the device when the wire has room again, and no more
 * comes.
 */
static void test_unplug_full(void)
{
    enum { FRAME = 1514, PREFIX = 4 };
    g_autofree char *dir = g_dir_make_tmp("ncic-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "wire", NULL);
    Fixture *f = start_stream(path, "-M pc");
    uint8_t bytes[4096];
    unsigned on_wire;
    size_t total = 0;
    ssize_t n;

    fill_wire(f, FRAME);
    on_wire = fixture_counter(f, "tx-frames");
    fixture_unplug(f->qts, "nic");
    while ((n = recv(f->wire.ours, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        total += n;
    }
    for (unsigned i = 0; i < 20; i++) {         /* rounds of the main loop */
        g_free(qtest_hmp(f->qts, "info network"));
    }
    qtest_qmp_assert_success(f->qts, "{ 'execute': 'netdev_del',"
                             " 'arguments': { 'id': 'hs0' } }");
    while ((n = recv(f->wire.ours, bytes, sizeof(bytes), 0)) > 0) {
        total += n;
    }
    g_assert_cmpuint(total, >=, on_wire * (PREFIX + FRAME));
    g_assert_cmpuint(total, <, (on_wire + 1) * (PREFIX + FRAME));
    fixture_stop(f);
    unlink(path);
    rmdir(dir);
}

/* ---- The machine stands still ------------------------------------------------------- */

/* No descriptor, no completion, no byte and no message while it is stopped, and
 * all of it afterwards. */
static void test_stop(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    uint8_t frame[60] = { 1 };
    Fixture *f = fixture_start("", "");
    QNcic *d = &f->nic;
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    unsigned head, tail, n = 0;
    uint64_t lost;

    qncic_msix_enable(d, 64);
    qncic_write(d, 0x10188, 0x80000000 | 40);
    qncic_queue_up(d, QNCIC_RX, 0, 4, 0);
    qncic_post(d, QNCIC_RX, 0, buf, 2048, 0, 0, true);
    fill_wire(f, 1514);
    qncic_irq(d, 1);
    qtest_qmp_assert_success(f->qts, "{ 'execute': 'stop' }");
    qtest_qmp_eventwait(f->qts, "STOP");
    head = sent_so_far(d);
    tail = qncic_read(d, qreg(QNCIC_TX, NCIC_Q_TAIL));
    /* everything that might wake it */
    qncic_wire_send(&f->wire, frame, sizeof(frame));
    qncic_write(d, qreg(QNCIC_TX, NCIC_Q_CPL_TAIL), 1);
    set_link(f, "nic", false);
    set_link(f, "nic", true);
    while (qncic_wire_recv(&f->wire, d, got, 100)) {
        n++;
    }
    g_assert_cmpuint(sent_so_far(d), ==, head);
    g_assert_cmpuint(qncic_read(d, qreg(QNCIC_TX, NCIC_Q_TAIL)), ==, tail);
    g_assert_cmphex(qtest_readb(f->qts, buf), ==, 0);
    g_assert_cmphex(qtest_readl(f->qts, d->msix + 4 * 1), ==, 0);
    g_assert_cmphex(qtest_readl(f->qts, d->msix + 4 * 40), ==, 0);

    qtest_qmp_assert_success(f->qts, "{ 'execute': 'cont' }");
    qtest_qmp_eventwait(f->qts, "RESUME");
    g_assert_true(qncic_irq(d, 40));
    g_assert_true(qncic_irq(d, 1));
    /* QEMU throws away what its queue held: the device says so */
    while (n + fixture_counter(f, "tx-drop-wire") < POSTED) {
        g_assert_cmpuint(qncic_wire_recv(&f->wire, d, got, 10000), >, 0);
        n++;
    }
    qncic_wait_reg(d, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), POSTED);
    lost = fixture_counter(f, "tx-drop-wire");
    g_assert_cmpuint(lost, <=, 1);
    g_assert_cmpuint(n + lost, ==, POSTED);
    g_assert_cmpuint(fixture_counter(f, "tx-frames") + lost, ==, POSTED);
    qncic_wait_reg(d, qncic_qreg(QNCIC_RX, 0, NCIC_Q_CPL_HEAD), 1);
    g_assert_cmphex(qtest_readb(f->qts, buf), ==, 1);
    fixture_stop(f);
}

/* ---- The RDMA engine's frames (ETH 5.4.3 - 5.4.5) --------------------------------------- */

static RocePeer make_peer(Fixture *f, uint16_t sport)
{
    return (RocePeer) {
        .wire = &f->wire, .mac = PEER_MAC, .dev_mac = MY_MAC,
        .ip = PEER_IP, .dev_ip = MY_IP, .sport = sport,
    };
}

static const uint8_t words[2048];

/* A Write of @len bytes to a QP that does not exist: what the engine says of
 * the packet does not matter here, only who gets it. */
static void peer_write(Fixture *f, uint16_t sport, size_t len)
{
    RocePeer p = make_peer(f, sport);

    roce_peer_send(&p, 0x0a, 4, 0x100, words, 16 + len, 0);
}

static uint64_t counter(Fixture *f, const char *name)
{
    return fixture_counter(f, name);
}

static void test_roce_receive(void)
{
    uint8_t frame[90] = { 0 };
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    QNcic *d = &f->nic;
    uint64_t buf = guest_alloc(&f->alloc, 4096);

    for (unsigned q = 0; q < 32; q++) {
        qncic_queue_up(d, QNCIC_RX, q, 2, 0);
        qncic_post(d, QNCIC_RX, q, buf, 2048, 0, 0, true);
    }
    /* both ports: the engine's, never a queue's */
    peer_write(f, 4791, 64);
    fixture_wait_counter(f, "roce-rx-frames", 1);
    fixture_wait_counter(f, "rdma-counter-rx_no_qp", 1);
    g_assert_cmpuint(counter(f, "rx-frames"), ==, 0);
    /* another source port: a queue's */
    peer_write(f, 50000, 64);
    fixture_wait_counter(f, "rx-completions", 1);
    g_assert_cmpuint(counter(f, "roce-rx-frames"), ==, 1);
    g_assert_cmpuint(counter(f, "rdma-counter-rx_no_qp"), ==, 1);
    /* a wrong UDP checksum, a wrong length, a wrong IP checksum */
    for (unsigned i = 0; i < 3; i++) {
        memset(frame, 0, sizeof(frame));
        frame[12] = 0x08;
        frame[14] = 0x45;
        stw_be_p(frame + 16, 76);
        frame[22] = 64;
        frame[23] = 17;
        stl_be_p(frame + 26, PEER_IP);
        stl_be_p(frame + 30, MY_IP);
        stw_be_p(frame + 34, 4791);
        stw_be_p(frame + 36, 4791);
        stw_be_p(frame + 38, i == 1 ? 55 : 56);
        stw_be_p(frame + 40, i == 0 ? 0x1234 : 0);
        /* 4500 + 004c + 4011 + 0a00 + 0002 + 0a00 + 0001 = 9960 */
        stw_be_p(frame + 24, i == 2 ? 0x0000 : 0x669f);
        qncic_wire_send(&f->wire, frame, sizeof(frame));
        fixture_wait_counter(f, "rx-drop-roce", i + 1);
        g_assert_cmpuint(counter(f, "mac-rx-dropped"), ==, i + 1);
        g_assert_cmpuint(qncic_read(d, 0x101c0), ==, i + 1);
    }
    /* the MTU comes first: 1514 bytes are the most */
    peer_write(f, 4791, 1440);
    fixture_wait_counter(f, "roce-rx-frames", 2);
    peer_write(f, 4791, 1444);
    fixture_wait_counter(f, "rx-drop-mtu", 1);
    /* the engine's port is down */
    qtest_qmp_assert_success(f->qts, "{ 'execute': 'qom-set', 'arguments': {"
                             " 'path': 'nic', 'property': 'rdma-link-up',"
                             " 'value': false } }");
    peer_write(f, 4791, 64);
    fixture_wait_counter(f, "rx-drop-roce", 4);
    g_assert_cmpuint(counter(f, "roce-rx-frames"), ==, 2);
    g_assert_cmpuint(counter(f, "mac-rx-frames"), ==, 8);
    fixture_stop(f);

    f = fixture_start("rdma-ip=10.0.0.1,roce-ports=destination", "");
    peer_write(f, 50000, 64);
    fixture_wait_counter(f, "rdma-counter-rx_no_qp", 1);
    fixture_stop(f);

    f = fixture_start("rdma-ip=10.0.0.1,roce-csum=on", "");
    peer_write(f, 4791, 64);            /* has UDP checksum 0 */
    fixture_wait_counter(f, "rx-drop-roce", 1);
    fixture_stop(f);

    f = fixture_start("rdma=off", "");
    peer_write(f, 4791, 64);
    fixture_wait_counter(f, "rx-drop-inactive", 1);
    fixture_stop(f);
}

/* Bus mastering off: the engine touches nothing, its frames wait. */
static void test_roce_no_master(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    uint16_t cmd = qpci_config_readw(f->pci, PCI_COMMAND);

    qpci_config_writew(f->pci, PCI_COMMAND, cmd & ~PCI_COMMAND_MASTER);
    peer_write(f, 4791, 64);
    fixture_wait_counter(f, "rx-held", 1);
    g_assert_cmpuint(counter(f, "roce-rx-frames"), ==, 0);
    qpci_config_writew(f->pci, PCI_COMMAND, cmd);
    fixture_wait_counter(f, "rdma-counter-rx_no_qp", 1);
    g_assert_cmpuint(counter(f, "roce-rx-frames"), ==, 1);
    fixture_stop(f);
}

/* Datagrams and Ethernet frames share a wire that is full: neither is lost,
 * both get on. */
static void test_roce_full(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    QNcic *d = &f->nic;
    unsigned eth = 0, roce = 0, mixed = 0;
    bool last_roce = false;
    QNrdma r;
    QNrdmaQp a;

    qnr_up(&r, d);
    qnr_qp(&r, &a, 4, 0x77, 1 /* UC */, MY_IP, PEER_IP, PEER_MAC);
    fill_wire(f, 1514);
    for (unsigned i = 0; i < 20; i++) {
        qnr_send(&r, &a, 0x08 /* Write */, QNR_VA, 20 * 1024, QNR_VA);
    }
    g_usleep(50000);
    g_assert_cmpuint(counter(f, "roce-tx-frames"), <, 400);
    while (roce < 400 || eth < POSTED) {
        size_t n = qncic_wire_recv(&f->wire, d, got, 10000);
        bool is_roce = lduw_be_p(got + 12) == 0x0800;

        g_assert_cmpuint(n, >, 0);
        if (lduw_be_p(got + 12) == 0x0806) {
            continue;
        }
        if (is_roce) {
            roce++;
        } else {
            g_assert_cmpuint(ldl_le_p(got + 14), ==, eth);
            eth++;
        }
        mixed += is_roce != last_roce;
        last_roce = is_roce;
    }
    g_assert_cmpuint(roce, ==, 400);
    g_assert_cmpuint(mixed, >, 2);
    fixture_wait_counter(f, "roce-tx-frames", 400);
    g_assert_cmpuint(counter(f, "roce-tx-frames"), ==, 400);
    g_assert_cmpuint(counter(f, "tx-frames"), ==, POSTED);
    g_assert_cmpuint(counter(f, "tx-drop-wire"), ==, 0);
    fixture_stop(f);
}

/* Frames above the MTU do not leave, and are counted. */
static void test_roce_mtu(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    Fixture *f = fixture_start("rdma-ip=10.0.0.1,mtu=1000", "");
    QNrdma r;
    QNrdmaQp a;

    qnr_up(&r, &f->nic);
    qnr_qp(&r, &a, 4, 0x77, 1, MY_IP, PEER_IP, PEER_MAC);
    qnr_send(&r, &a, 0x08, QNR_VA, 1024, QNR_VA);
    fixture_wait_counter(f, "tx-drop-mtu", 1);
    qnr_send(&r, &a, 0x08, QNR_VA, 8, QNR_VA);
    do {
        g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 10000), >=,
                         60);
    } while (lduw_be_p(got + 12) != 0x0800);
    fixture_wait_counter(f, "roce-tx-frames", 1);
    fixture_stop(f);
}

/* A peer that asks and does not read: answers to its questions are bounded. */
static void test_arp_flood(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    uint8_t ask[60] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0x52, 0x54, 0x00, 0x65, 0x43, 0x21, 0x08, 0x06,
        0, 1, 8, 0, 6, 4, 0, 1,
        0x52, 0x54, 0x00, 0x65, 0x43, 0x21, 10, 0, 0, 2,
        0, 0, 0, 0, 0, 0, 10, 0, 0, 1,
    };

    fill_wire(f, 1514);
    for (unsigned i = 0; i < 1000; i++) {
        qncic_wire_send(&f->wire, ask, sizeof(ask));
        qtest_clock_step(f->qts, 1000);
    }
    fixture_wait_counter(f, "rdma-counter-arp_rx", 1000);
    fixture_wait_counter(f, "tx-drop-wire", 1000 - 256);
    fixture_stop(f);
}

/* ---- What QMP shows ------------------------------------------------------------------- */

static QDict *query(Fixture *f, QDict **rsp)
{
    QList *list;

    *rsp = qtest_qmp(f->qts, "{ 'execute': 'query-ncic' }");
    list = qdict_get_qlist(*rsp, "return");
    g_assert_cmpuint(qlist_size(list), ==, 1);
    return qobject_to(QDict, qlist_peek(list));
}

static void test_query(void)
{
    Fixture *f = fixture_start("queues=4", "");
    g_autofree char *text = NULL;
    QDict *rsp, *nic, *q, *event;

    nic = query(f, &rsp);
    g_assert_true(qdict_get_bool(nic, "link-up"));
    g_assert_true(qdict_get_bool(nic, "rdma"));
    g_assert_cmpint(qdict_get_int(nic, "wire-full"), ==, 0);
    g_assert_true(qlist_empty(qdict_get_qlist(nic, "queues")));
    g_assert_true(qlist_empty(qdict_get_qlist(nic, "faults")));
    g_assert_cmpuint(qlist_size(qdict_get_qlist(nic, "counters")), >, 30);
    qobject_unref(rsp);

    fill_wire(f, 1514);
    qncic_write(&f->nic, NCIC_NCSR, 0);
    qtest_qmp_assert_success(f->qts, "{ 'execute': 'qom-set', 'arguments': {"
                             " 'path': 'nic', 'property': 'fault-tx-mute',"
                             " 'value': 2 } }");
    nic = query(f, &rsp);
    g_assert_cmpint(qdict_get_int(nic, "wire-full"), ==, 1);
    g_assert_cmphex(qdict_get_int(nic, "error-status"), ==, NCIC_ERR_ACCESS);
    q = qobject_to(QDict, qlist_peek(qdict_get_qlist(nic, "faults")));
    g_assert_cmpstr(qdict_get_str(q, "name"), ==, "fault-tx-mute");
    g_assert_cmpint(qdict_get_int(q, "value"), ==, 2);
    q = qobject_to(QDict, qlist_peek(qdict_get_qlist(nic, "queues")));
    g_assert_cmpstr(qdict_get_str(q, "direction"), ==, "tx");
    g_assert_cmpint(qdict_get_int(q, "size"), ==, 1 << LOG);
    g_assert_cmpint(qdict_get_int(q, "head"), ==, POSTED);
    g_assert_cmpint(qdict_get_int(q, "completion-head"), ==,
                    sent_so_far(&f->nic));
    g_assert_true(qdict_get_bool(q, "active"));
    qobject_unref(rsp);

    set_link(f, "nic", false);
    event = qtest_qmp_eventwait_ref(f->qts, "NCIC_LINK_CHANGED");
    g_assert_false(qdict_get_bool(qdict_get_qdict(event, "data"), "up"));
    qobject_unref(event);
    text = qtest_hmp(f->qts, "info ncic");
    g_assert_nonnull(strstr(text, "link down"));
    g_assert_nonnull(strstr(text, "tx 0: "));
    g_assert_nonnull(strstr(text, "fault-tx-mute 0x2"));
    fixture_stop(f);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ncic-wire/full", test_full);
    qtest_add_func("/ncic-wire/link-down", test_link_down);
    qtest_add_func("/ncic-wire/netdev-del", test_netdev_del);
    qtest_add_func("/ncic-wire/reset", test_reset);
    qtest_add_func("/ncic-wire/peer-death", test_peer_death);
    qtest_add_func("/ncic-wire/unplug-full", test_unplug_full);
    qtest_add_func("/ncic-wire/stop", test_stop);
    qtest_add_func("/ncic-wire/roce-receive", test_roce_receive);
    qtest_add_func("/ncic-wire/roce-no-master", test_roce_no_master);
    qtest_add_func("/ncic-wire/roce-full", test_roce_full);
    qtest_add_func("/ncic-wire/roce-mtu", test_roce_mtu);
    qtest_add_func("/ncic-wire/arp-flood", test_arp_flood);
    qtest_add_func("/ncic-wire/query", test_query);
    return g_test_run();
}
