/*
 * ncic-mthca on a chardev: frames in the stream wherever it is cut, a peer that
 * talks rubbish, stalls, vanishes and comes back, and what a doorbell does at
 * once; on a netdev: a peer that stalls, and what cuts it off.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include <sys/mman.h>
#include <sys/socket.h>
#include "mthca-rig.h"
#include "roce-peer.h"

/* ---- framing ------------------------------------------------------------ */

static void test_split(void)
{
    Rig r = rig_begin("");
    uint8_t p[2 * (PREFIX + ARP)];

    put_arp(p, 1);
    put_arp(p + PREFIX + ARP, 2);
    for (unsigned cut = 1; cut < sizeof(p); cut++) {
        peer_write(r.fd, p, cut);
        peer_flush(r.fd);
        peer_write(r.fd, p + cut, sizeof(p) - cut);
        expect_answer(r.fd, 1);
        expect_answer(r.fd, 2);
    }
    /* byte by byte */
    for (unsigned i = 0; i < sizeof(p); i++) {
        peer_write(r.fd, p + i, 1);
        peer_flush(r.fd);
    }
    expect_answer(r.fd, 1);
    expect_answer(r.fd, 2);
    rig_end(&r);
}

/* More than one callback brings, and than one piece of reading. */
static void test_large(void)
{
    enum { ROUND = PREFIX + MAX_FRAME + PREFIX + PREFIX + ARP };
    Rig r = rig_begin("");
    g_autofree uint8_t *p = g_malloc0(ROUND);

    stl_be_p(p, MAX_FRAME);             /* of no protocol */
    stl_be_p(p + PREFIX + MAX_FRAME, 0);
    for (unsigned i = 0; i < 50; i++) {
        put_arp(p + ROUND - PREFIX - ARP, i);
        peer_write(r.fd, p, ROUND);
    }
    for (unsigned i = 0; i < 50; i++) {
        expect_answer(r.fd, i);
    }
    g_assert_cmpuint(fixture_counter(r.h->f, "counter-wire_bad_length"), ==,
                     0);
    rig_end(&r);
}

/* A length that no frame has, cut in two or not, ends the connection, and nothing else. */
static void test_garbage(void)
{
    static const uint32_t bad[] = { MAX_FRAME + 1, 0x80000000, UINT32_MAX };
    enum { CUTS = PREFIX };
    Rig r = rig_begin("");
    uint8_t p[PREFIX + PREFIX + ARP], b;

    for (unsigned i = 0; i < G_N_ELEMENTS(bad) * CUTS; i++) {
        uint64_t before = fixture_counter(r.h->f, "counter-arp_rx");

        stl_be_p(p, bad[i / CUTS]);
        put_arp(p + PREFIX, 7);         /* is not looked at any more */
        peer_write(r.fd, p, i % CUTS);
        peer_flush(r.fd);
        peer_write(r.fd, p + i % CUTS, sizeof(p) - i % CUTS);
        while (peer_read(r.fd, &b, 1)) {
            continue;                   /* announcements */
        }
        wait_port(r.h->f, PORT_DOWN);
        g_assert_cmpuint(fixture_counter(r.h->f, "counter-wire_bad_length"),
                         ==, i + 1);
        g_assert_cmpuint(fixture_counter(r.h->f, "counter-arp_rx"), ==, before);
        g_assert_true(fixture_logged(r.h->f, "too long"));
        hca_prove_works(r.h);
        close(r.fd);
        r.fd = peer_connect(r.path);
        wait_port(r.h->f, PORT_ACTIVE);
        send_arp(r.fd, i);
        expect_answer(r.fd, i);
    }
    rig_end(&r);
}

/* ---- connection --------------------------------------------------------- */

static void test_reconnect(void)
{
    Rig r = rig_begin("");
    uint8_t half[PREFIX + ARP];

    for (unsigned i = 0; i < 5; i++) {
        put_arp(half, 99);
        peer_write(r.fd, half, 20);     /* never finished */
        close(r.fd);
        wait_port(r.h->f, PORT_DOWN);
        r.fd = peer_connect(r.path);
        wait_port(r.h->f, PORT_ACTIVE);
        send_arp(r.fd, i);
        expect_answer(r.fd, i);
    }
    /* A flap by hand: the stream stays, its frames do not count. */
    qtest_qmp_assert_success(r.h->qts, "{ 'execute': 'qom-set', 'arguments':"
                             " { 'path': 'nic', 'property': 'link-up',"
                             " 'value': false } }");
    wait_port(r.h->f, PORT_DOWN);
    send_arp(r.fd, 50);
    peer_flush(r.fd);
    qtest_qmp_assert_success(r.h->qts, "{ 'execute': 'qom-set', 'arguments':"
                             " { 'path': 'nic', 'property': 'link-up',"
                             " 'value': true } }");
    wait_port(r.h->f, PORT_ACTIVE);
    send_arp(r.fd, 51);
    expect_answer(r.fd, 51);
    rig_end(&r);
}

/* Memory of a stopped machine stays as it is: nothing is taken. */
static void test_stopped(void)
{
    Rig r = rig_begin("");

    qtest_qmp_assert_success(r.h->qts, "{ 'execute': 'stop' }");
    send_arp(r.fd, 3);
    for (unsigned i = 0; i < 20; i++) {     /* each a round of the main loop */
        fixture_counter(r.h->f, "counter-arp_rx");
    }
    g_assert_false(peer_consumed(r.fd));
    qtest_qmp_assert_success(r.h->qts, "{ 'execute': 'cont' }");
    expect_answer(r.fd, 3);
    rig_end(&r);
}

static bool wire_shm(Hca *h, const char *id)
{
    QDict *rsp = qtest_qmp(h->qts, "{ 'execute': 'qom-get', 'arguments':"
                           " { 'path': %s, 'property': 'wire-shm' } }", id);
    bool shm = qdict_get_bool(rsp, "return");

    qobject_unref(rsp);
    return shm;
}

/* Two adapters in one machine, the other one joined by @wire and @other_wire;
 * whether their bytes go through shared memory. */
static void two_adapters(const char *wire, const char *other_wire,
                         const char *props, bool shm)
{
    g_autofree char *dir = g_dir_make_tmp("mthca-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "wire", NULL);
    g_autofree char *pattern =
        g_strdup_printf("%s -device ncic-mthca,id=other,addr=5,%s,lid=2,"
                        "mac=52:54:00:12:34:57 "
                        "-chardev socket,id=w,path=@,reconnect-ms=10 "
                        "-device ncic-mthca,id=nic,addr=4,chardev=w,lid=1,"
                        "mac=52:54:00:12:34:56%s", wire, other_wire,
                        props);
    g_auto(GStrv) parts = g_strsplit(pattern, "@", -1);
    g_autofree char *words = g_strjoinv(path, parts);
    Hca *h = hca_begin_on(fixture_start_words(words, false));
    Hca other = *h;
    Qp q;

    other.pci = qpci_device_find(h->f->bus, QPCI_DEVFN(5, 0));
    qpci_device_enable(other.pci);
    other.csr = qpci_iomap(other.pci, 0, NULL);
    hca_init(&other);
    hca_port_up(&other);
    hca_init(h);
    hca_port_up(h);
    wait_port(h->f, PORT_ACTIVE);
    /* A question to LID 2, an answer, and packets in both directions. */
    q = qp_new(h);
    qp_write(h, &q, 1);
    fixture_wait_counter(h->f, "counter-arp_rx", 1);
    fixture_wait_counter(h->f, "counter-tx_frames", 3);
    for (gint64 limit = rig_deadline(); ; ) {
        QDict *rsp = qtest_qmp(h->qts, "{ 'execute': 'qom-get', 'arguments':"
                               " { 'path': 'other', 'property':"
                               " 'counter-rx_no_qp' } }");
        bool there = qdict_get_int(rsp, "return") == 1;

        qobject_unref(rsp);
        if (there) {
            break;
        }
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(1000);
    }
    g_assert_true(wire_shm(h, "nic") == shm && wire_shm(h, "other") == shm);
    g_free(other.pci);
    hca_end(h);
    unlink(path);
    rmdir(dir);
}

/* Both kinds of wire speak the same. */
static void test_interop(void)
{
    two_adapters("-netdev stream,id=n,addr.type=unix,addr.path=@,server=on",
                 "netdev=n", "", false);
}

/* Two chardevs of one host share memory, unless one is told not to. */
static void test_shm(void)
{
    const char *wire = "-chardev socket,id=x,path=@,server=on,wait=off";

    two_adapters(wire, "chardev=x", "", true);
    two_adapters(wire, "chardev=x", ",shm=off", false);
}

/* ---- shared memory ------------------------------------------------------ */

/* A ring of docs/specs/wire-pipe.rst. */
enum {
    RING_SIZE = 65536, RING_DATA = 4096, RING_VERSION_AT = 8, RING_SIZE_AT = 16,
    RING_HEAD_AT = 64, RING_START_AT = 72, RING_BEGUN_AT = 80, RING_TAIL_AT = 128,
    RING_ACCEPTED_AT = 136,
};

static uint8_t *ring_map(int fd)
{
    uint8_t *ring = mmap(NULL, RING_DATA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    g_assert_true(ring != MAP_FAILED);
    close(fd);
    return ring;
}

/* The peer's own, passed along with @len bytes; the data of the ring follows. */
static uint8_t *ring_offer(int sock, const void *data, size_t len)
{
    char space[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov = { (void *)data, len };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
                          .msg_controllen = sizeof(space) };
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    int fd = memfd_create("ring", MFD_ALLOW_SEALING);
    uint8_t *ring;

    g_assert_cmpint(ftruncate(fd, RING_DATA + RING_SIZE), ==, 0);
    g_assert_cmpint(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), ==, 0);
    ring = mmap(NULL, RING_DATA + RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(ring != MAP_FAILED);
    memcpy(ring, "WIRERING", 8);
    stl_he_p(ring + RING_VERSION_AT, 1);
    stq_he_p(ring + RING_SIZE_AT, RING_SIZE);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    g_assert_cmpint(sendmsg(sock, &msg, 0), ==, len);
    close(fd);
    return ring;
}

/* The adapter's, which comes with the first byte. */
static uint8_t *ring_take(int sock)
{
    char space[CMSG_SPACE(sizeof(int))], byte;
    struct iovec iov = { &byte, 1 };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
                          .msg_controllen = sizeof(space) };
    int fd;

    g_assert_cmpint(recvmsg(sock, &msg, 0), ==, 1);
    g_assert_nonnull(CMSG_FIRSTHDR(&msg));
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
    return ring_map(fd);
}

static void ring_set(uint8_t *ring, unsigned at, uint32_t val)
{
    qatomic_set((uint32_t *)(ring + at), val);
}

static uint32_t ring_get(uint8_t *ring, unsigned at)
{
    return qatomic_read((uint32_t *)(ring + at));
}

/* A doorbell takes what is in the shared memory, though nobody woke the main loop. */
static void test_bell_looks(void)
{
    enum { LEN = PREFIX + ARP };
    Rig r = rig_begin("");
    Qp q = qp_new(r.h);
    uint8_t *theirs = ring_take(r.fd), arp[LEN], *ours;
    gint64 limit = rig_deadline();

    ring_set(theirs, RING_ACCEPTED_AT, 1);
    put_arp(arp, 1);
    ours = ring_offer(r.fd, arp, LEN);
    while (!ring_get(ours, RING_ACCEPTED_AT)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(1000);
    }
    fixture_wait_counter(r.h->f, "counter-arp_rx", 1);
    ring_set(ours, RING_START_AT, LEN);
    ring_set(ours, RING_BEGUN_AT, 1);
    peer_write(r.fd, "", 1);                /* look there */
    for (unsigned n = 1; n < 5; n++) {
        peer_flush(r.fd);
        for (unsigned i = 0; i < 20; i++) {     /* rounds of the main loop */
            g_assert_cmpuint(fixture_counter(r.h->f, "counter-arp_rx"), ==, n);
        }
        put_arp(ours + RING_DATA + (n - 1) * LEN, 1 + n);
        ring_set(ours, RING_HEAD_AT, n * LEN);
        for (unsigned i = 0; i < 20; i++) {
            g_assert_cmpuint(fixture_counter(r.h->f, "counter-arp_rx"), ==, n);
        }
        qp_write(r.h, &q, 1);
        g_assert_cmpuint(ring_get(ours, RING_TAIL_AT), ==, n * LEN);
        g_assert_cmpuint(fixture_counter(r.h->f, "counter-arp_rx"), ==, 1 + n);
    }
    munmap(theirs, RING_DATA);
    munmap(ours, RING_DATA + RING_SIZE);
    rig_end(&r);
}

/* ---- capture ------------------------------------------------------------ */

/* The next frame of a pcap file is the one of @len bytes. */
static const uint8_t *expect_record(const uint8_t *p, const void *frame,
                                    uint32_t len)
{
    g_assert_cmpuint(ldl_le_p(p + 4), <, 1000000000);
    g_assert_cmpuint(ldl_le_p(p + 8), ==, len);
    g_assert_cmpuint(ldl_le_p(p + 12), ==, len);
    g_assert_cmpmem(p + 16, len, frame, len);
    return p + 16 + len;
}

/* Both directions, in a file that is whole when the machine stops; what no
 * wire took is not in it. */
static void capture(Rig r, const char *path)
{
    g_autofree char *all = NULL;
    uint8_t ask[PREFIX + ARP], answer[ARP];
    const uint8_t *p;
    gsize len;

    put_arp(ask, 3);
    peer_write(r.fd, ask, sizeof(ask));
    do {
        g_assert_cmpuint(peer_frame(r.fd, answer), ==, ARP);
    } while (lduw_be_p(answer + ETH + 6) == 1);
    qtest_qmp_assert_success(r.h->qts, "{ 'execute': 'stop' }");
    g_assert_true(g_file_get_contents(path, &all, &len, NULL));
    g_assert_cmpuint(len, >, 24 + 2 * (16 + ARP) - 1);
    p = (uint8_t *)all;
    g_assert_cmphex((uint32_t)ldl_le_p(p), ==, 0xa1b23c4d);
    g_assert_cmphex(ldl_le_p(p + 20), ==, 1);
    /* Its announcement may have come before. */
    p = (uint8_t *)all + len - 2 * (16 + ARP);
    p = expect_record(p, ask + PREFIX, ARP);
    expect_record(p, answer, ARP);
    qtest_qmp_assert_success(r.h->qts, "{ 'execute': 'cont' }");
    unlink(path);
    rig_end(&r);
}

static void test_capture(void)
{
    g_autofree char *dir = g_dir_make_tmp("mthca-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "c.pcap", NULL);
    g_autofree char *props = g_strdup_printf(",capture=%s", path);
    Fixture *f;
    QDict *rsp;

    capture(rig_begin(props), path);
    capture(rig_begin_netdev(props), path);
    rmdir(dir);
    /* The directory is gone: no device, and nothing of it left behind. */
    f = fixture_start_words("-device pcie-root-port,id=rp,slot=1", true);
    for (unsigned i = 0; i < 2; i++) {
        rsp = qtest_qmp(f->qts, "{ 'execute': 'device_add', 'arguments': {"
                        " 'driver': 'ncic-mthca', 'id': 'nic', 'bus': 'rp',"
                        " 'capture': %s } }", path);
        g_assert_true(qdict_haskey(rsp, "error"));
        qobject_unref(rsp);
    }
    fixture_stop(f);
}

/* ---- a peer that stalls ------------------------------------------------- */

enum { STALL_PACKETS = 512 };   /* more than the socket holds */

/* The peer reads none of the packets that were sent to it. */
static void stall(Rig *r)
{
    Qp q = qp_new(r->h);

    send_arp(r->fd, 0);
    expect_answer(r->fd, 0);
    qp_write(r->h, &q, STALL_PACKETS);
    fixture_wait_counter(r->h->f, "counter-stall_wire", 1);
}

static Rig stalled(void)
{
    Rig r = rig_begin("");

    stall(&r);
    return r;
}

/* Packets wait for it, none is lost, the machine goes on. */
static void stall_and_read(Rig r)
{
    stall(&r);
    hca_prove_works(r.h);
    g_assert_cmpuint(fixture_counter(r.h->f, "counter-tx_frames"), <,
                     STALL_PACKETS);
    g_assert_cmphex(expect_packets(r.fd, 0, STALL_PACKETS), ==,
                    STALL_PACKETS);
    send_arp(r.fd, 0);
    expect_answer(r.fd, 0);
    g_assert_cmpuint(fixture_counter(r.h->f, "counter-tx_dropped"), ==, 0);
    g_assert_cmpuint(fixture_counter(r.h->f, "counter-retransmits"), ==, 0);
    rig_end(&r);
}

static void test_stall(void)
{
    stall_and_read(rig_begin(""));
    stall_and_read(rig_begin_netdev(""));
}

/* It goes away instead: what waited is lost, the next one gets new frames. */
static void test_stall_vanish(void)
{
    Rig r = stalled();

    close(r.fd);
    wait_port(r.h->f, PORT_DOWN);
    hca_prove_works(r.h);
    r.fd = peer_connect(r.path);
    wait_port(r.h->f, PORT_ACTIVE);
    send_arp(r.fd, 9);
    expect_answer(r.fd, 9);
    rig_end(&r);
}

/* It asks and asks and never fetches the answers: they are bounded. */
static void flood(Rig r)
{
    enum { FIRST = 10000, MORE = 40000 };
    g_autofree uint8_t *f = g_malloc(MAX_FRAME);
    uint64_t dropped;

    for (uint32_t i = 0; i < FIRST; i++) {
        send_arp(r.fd, i % 1000);
    }
    for (uint32_t i = 0; i < FIRST; i++) {
        expect_answer(r.fd, i % 1000);
    }
    g_assert_cmpuint(fixture_counter(r.h->f, "counter-tx_dropped"), ==, 0);
    g_assert_cmpuint(fixture_counter(r.h->f, "counter-wire_full"), ==, 0);
    for (uint32_t i = 0; i < MORE; i++) {
        send_arp(r.fd, i % 1000);
    }
    fixture_wait_counter(r.h->f, "counter-arp_rx", FIRST + MORE);
    dropped = fixture_counter(r.h->f, "counter-tx_dropped");
    g_assert_cmpuint(dropped, >, 0);
    g_assert_cmpuint(fixture_counter(r.h->f, "counter-wire_full"), >, 0);
    hca_prove_works(r.h);
    for (uint32_t i = 0; i < MORE - dropped; i++) {
        g_assert_cmpuint(peer_frame(r.fd, f), ==, ARP);
    }
    send_arp(r.fd, 5);
    expect_answer(r.fd, 5);
    rig_end(&r);
}

static void test_flood(void)
{
    flood(rig_begin(""));
    flood(rig_begin_netdev(""));
}

/* ---- a netdev that is cut off while packets wait in it ------------------ */

/* Without a link nothing waits: what is left of the Write is lost. */
static void expect_released(Rig *r)
{
    fixture_wait_counter(r->h->f, "counter-tx_frames", STALL_PACKETS);
    hca_prove_works(r->h);
}

/* An answer to node @n behind whatever else comes. */
static void expect_answer_at_last(int fd, uint32_t n)
{
    g_autofree uint8_t *f = g_malloc(MAX_FRAME);
    size_t len;

    do {
        len = peer_frame(fd, f);
        g_assert_cmpuint(len, >, 0);
    } while (len != ARP || lduw_be_p(f + 12) != 0x0806 ||
             lduw_be_p(f + ETH + 6) != 2 ||
             ldl_be_p(f + ETH + 24) != 0x0a4c0002 + n);
}

static void set_link(Rig *r, const char *name, bool up)
{
    qtest_qmp_assert_success(r->h->qts, "{ 'execute': 'set_link',"
                             " 'arguments': { 'name': %s, 'up': %i } }",
                             name, up);
    wait_port(r->h->f, up ? PORT_ACTIVE : PORT_DOWN);
}

/* From either side; up again, the peer gets what waited, whole, and more. */
static void test_netdev_cut(void)
{
    static const char *const name[] = { "nic", "w" };

    for (unsigned i = 0; i < G_N_ELEMENTS(name); i++) {
        Rig r = rig_begin_netdev("");

        stall(&r);
        set_link(&r, name[i], false);
        expect_released(&r);
        set_link(&r, name[i], true);
        g_assert_cmphex(expect_packets(r.fd, 0, 8), ==, 8);
        send_arp(r.fd, 8);
        expect_answer_at_last(r.fd, 8);
        rig_end(&r);
    }
}

/* The port's own property is a cut, too. */
static void test_netdev_flap(void)
{
    Rig r = rig_begin_netdev("");

    stall(&r);
    qtest_qmp_assert_success(r.h->qts, "{ 'execute': 'qom-set', 'arguments':"
                             " { 'path': 'nic', 'property': 'link-up',"
                             " 'value': false } }");
    expect_released(&r);
    rig_end(&r);
}

static void test_netdev_del(void)
{
    Rig r = rig_begin_netdev("");

    stall(&r);
    qtest_qmp_assert_success(r.h->qts, "{ 'execute': 'netdev_del',"
                             " 'arguments': { 'id': 'w' } }");
    wait_port(r.h->f, PORT_DOWN);
    expect_released(&r);
    rig_end(&r);
}

/* The peer dies, which a netdev does not tell; the next one is served. */
static void test_netdev_vanish(void)
{
    Rig r = rig_begin_netdev("");
    int fd;

    stall(&r);
    close(r.fd);
    expect_released(&r);
    fd = fixture_listen(r.path);
    r.fd = fixture_accept(fd);
    close(fd);
    send_arp(r.fd, 9);
    expect_answer_at_last(r.fd, 9);
    rig_end(&r);
}

/*
 * The adapter goes while answers of it wait: nobody asks for it when the peer
 * reads, and what waited does not come.
 */
static void test_netdev_unplug(void)
{
    enum { ASKED = 40000 };
    Rig r = rig_begin_netdev(" -M pc");
    QTestState *qts = r.h->qts;
    g_autofree uint8_t *f = g_malloc(MAX_FRAME);
    uint64_t dropped, bytes = 0;

    for (uint32_t i = 0; i < ASKED; i++) {
        send_arp(r.fd, i % 1000);
    }
    fixture_wait_counter(r.h->f, "counter-arp_rx", ASKED);
    dropped = fixture_counter(r.h->f, "counter-tx_dropped");
    g_assert_cmpuint(fixture_counter(r.h->f, "counter-wire_full"), >, 0);
    fixture_unplug(qts, "nic");
    for (unsigned i = 0; i < 20; i++) {         /* rounds of the main loop */
        ssize_t n;

        while ((n = recv(r.fd, f, MAX_FRAME, MSG_DONTWAIT)) > 0) {
            bytes += n;
        }
        g_free(qtest_hmp(qts, "info network"));
    }
    qtest_qmp_assert_success(qts, "{ 'execute': 'netdev_del',"
                             " 'arguments': { 'id': 'w' } }");
    while (recv(r.fd, f, MAX_FRAME, 0) > 0) {
        continue;
    }
    /* Far more of them waited than a socket holds. */
    g_assert_cmpuint(bytes, <, (ASKED - dropped) * (PREFIX + ARP) / 2);
    fixture_stop(r.h->f);
    g_free(r.h);
    rig_free(&r);
}

/* ---- migration ---------------------------------------------------------- */

/* Frames that wait go along; one that was cut in two is sent anew. */
static void test_migrate(void)
{
    Rig r = stalled();
    g_autofree char *path = g_build_filename(r.dir, "wire2", NULL);
    g_autofree char *mig = g_build_filename(r.dir, "migrate", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s", mig);
    g_autofree char *more = g_strdup_printf("-incoming %s", uri);
    Fixture *to = rig_start(path, "", more);
    uint32_t psn;
    int fd;

    qtest_qmp_assert_success(r.h->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    qtest_qmp_eventwait(to->qts, "RESUME");
    fixture_stop(r.h->f);
    g_free(r.h);
    psn = expect_packets(r.fd, 0, STALL_PACKETS);
    g_assert_cmpuint(psn, <, STALL_PACKETS);
    close(r.fd);
    fd = peer_connect(path);
    send_arp(fd, 0);                    /* addresses do not go along */
    g_assert_cmphex(expect_packets(fd, psn, STALL_PACKETS - psn), ==,
                    STALL_PACKETS);
    send_arp(fd, 4);
    expect_answer(fd, 4);
    close(fd);
    fixture_stop(to);
    unlink(path);
    unlink(mig);
    unlink(r.path);
    rmdir(r.dir);
    g_free(r.path);
    g_free(r.dir);
}

/* ---- doorbells ---------------------------------------------------------- */

/* However much a doorbell does at once, everything is sent, in order. */
static void test_inline(void)
{
    static const struct { const char *props; bool inlined; } mode[] = {
        { ",inline-budget=0", false }, { ",inline-budget=1", true },
        { ",inline-budget=5", true }, { "", true },
        { ",inline-budget=100000", true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(mode); i++) {
        Rig r = rig_begin(mode[i].props);
        Qp q = qp_new(r.h);

        send_arp(r.fd, 0);
        expect_answer(r.fd, 0);
        for (unsigned n = 0; n < 4; n++) {
            qp_write(r.h, &q, 50);
        }
        g_assert_cmphex(expect_packets(r.fd, 0, 200), ==, 200);
        g_assert_cmpuint(fixture_counter(r.h->f, "counter-inline_polls"), ==,
                         mode[i].inlined ? 4 : 0);
        rig_end(&r);
    }
}

/*
 * An ACK is sent at once, or waits for the guest's answer while its doorbells
 * follow input, but not for long.
 */
static void test_ack_with_answer(void)
{
    enum { SEND_ONLY = 4, ACK = 0x11, WAIT_NS = 500000 };
    Rig r = rig_begin("");
    QNcicWire wire = { .ours = r.fd };
    RocePeer peer = {
        .wire = &wire, .mac = 0x020000000000, .dev_mac = 0x525400123456,
        .ip = 0x0a4c0002, .dev_ip = 0x0a4c0001,
    };
    Qp q = qp_new(r.h);
    uint8_t f[QNCIC_FRAME];
    uint32_t psn = 0, acks = 0;

    send_arp(r.fd, 0);
    expect_answer(r.fd, 0);
    qtest_clock_step(r.h->qts, 10 * WAIT_NS);
    for (unsigned turn = 0; turn < 8; turn++) {
        bool waits = turn % 4 > 0, answered = turn % 4 < 3;

        /* One seen before: acknowledged without a receive WQE. */
        roce_peer_send(&peer, SEND_ONLY, QPN, 0xffffff, "", 0, 0);
        fixture_wait_counter(r.h->f, "counter-rx_duplicate", turn + 1);
        if (waits) {
            for (unsigned i = 0; i < 20; i++) {     /* rounds of main loop */
                g_assert_cmpuint(fixture_counter(r.h->f, "counter-ack_tx"),
                                 ==, acks);
            }
        } else {
            fixture_wait_counter(r.h->f, "counter-ack_tx", acks + 1);
        }
        if (answered) {
            qp_write(r.h, &q, 1);
        } else {
            qtest_clock_step(r.h->qts, WAIT_NS);
        }
        g_assert_cmpuint(peer_frame(r.fd, f), ==, BTH + 12 + 4 + 4);
        g_assert_cmphex(f[BTH], ==, ACK);
        g_assert_cmpuint(fixture_counter(r.h->f, "counter-ack_tx"), ==,
                         ++acks);
        if (answered) {
            psn = expect_packets(r.fd, psn, 1);
        }
    }
    rig_end(&r);
}

/* A long burst is acknowledged before it is over: its sender goes on meanwhile. */
static void test_ack_in_burst(void)
{
    enum { SEND_ONLY = 4, FRAMES = 300, BURST = 128, ROOM = FRAMES * 128 };
    Rig r = rig_begin("");
    QNcicWire wire;
    RocePeer peer = {
        .wire = &wire, .mac = 0x020000000000, .dev_mac = 0x525400123456,
        .ip = 0x0a4c0002, .dev_ip = 0x0a4c0001,
    };
    g_autofree uint8_t *burst = g_malloc(ROOM);
    size_t len = 0;
    int ends[2];

    qp_new(r.h);
    send_arp(r.fd, 0);
    expect_answer(r.fd, 0);
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
    wire = (QNcicWire) { .ours = ends[0] };
    for (unsigned i = 0; i < FRAMES; i++) {
        ssize_t n;

        /* One seen before: acknowledged without a receive WQE. */
        roce_peer_send(&peer, SEND_ONLY, QPN, 0xffffff, "", 0, 0);
        n = recv(ends[1], burst + len, ROOM - len, 0);
        g_assert_cmpint(n, >, 0);
        len += n;
    }
    g_assert_cmpint(send(r.fd, burst, len, 0), ==, len);    /* one turn */
    fixture_wait_counter(r.h->f, "counter-rx_duplicate", FRAMES);
    fixture_wait_counter(r.h->f, "counter-ack_tx", FRAMES / BURST + 1);
    close(ends[0]);
    close(ends[1]);
    rig_end(&r);
}

/* ---- both wires --------------------------------------------------------- */

static void test_two_wires(void)
{
    Fixture *f = fixture_start_words("-chardev null,id=w "
                                     "-netdev hubport,hubid=0,id=n", true);
    QDict *rsp = qtest_qmp(f->qts, "{ 'execute': 'device_add', 'arguments': {"
                           " 'driver': 'ncic-mthca', 'id': 'nic',"
                           " 'bus': 'pcie.0', 'chardev': 'w',"
                           " 'netdev': 'n' } }");

    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    fixture_stop(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_device("ncic-mthca")) {
        puts("1..0 # SKIP this emulator has no ncic-mthca");
        return 0;
    }
    qtest_add_func("/mthca/wire/split", test_split);
    qtest_add_func("/mthca/wire/large", test_large);
    qtest_add_func("/mthca/wire/garbage", test_garbage);
    qtest_add_func("/mthca/wire/reconnect", test_reconnect);
    qtest_add_func("/mthca/wire/stopped", test_stopped);
    qtest_add_func("/mthca/wire/interop", test_interop);
    qtest_add_func("/mthca/wire/shm", test_shm);
    qtest_add_func("/mthca/wire/bell-looks", test_bell_looks);
    qtest_add_func("/mthca/wire/capture", test_capture);
    qtest_add_func("/mthca/wire/stall", test_stall);
    qtest_add_func("/mthca/wire/stall-vanish", test_stall_vanish);
    qtest_add_func("/mthca/wire/flood", test_flood);
    qtest_add_func("/mthca/wire/netdev/cut", test_netdev_cut);
    qtest_add_func("/mthca/wire/netdev/flap", test_netdev_flap);
    qtest_add_func("/mthca/wire/netdev/del", test_netdev_del);
    qtest_add_func("/mthca/wire/netdev/vanish", test_netdev_vanish);
    qtest_add_func("/mthca/wire/netdev/unplug", test_netdev_unplug);
    qtest_add_func("/mthca/wire/migrate", test_migrate);
    qtest_add_func("/mthca/wire/inline", test_inline);
    qtest_add_func("/mthca/wire/ack-with-answer", test_ack_with_answer);
    qtest_add_func("/mthca/wire/ack-in-burst", test_ack_in_burst);
    qtest_add_func("/mthca/wire/two-wires", test_two_wires);
    return g_test_run();
}
