/*
 * The Ethernet port of ubc, a netdev (UB 2.0 appendix E): two emulators joined by one
 * of QEMU's network backends, one that is cut, stopped, unplugged, migrated, with
 * faults, and one whose peer is hostile; and a gateway, ub-switch, with a node behind
 * it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <sys/un.h>

#include "switch-fabric.h"
#include "ub/tah.h"

#define MAC "52:54:00:00:00:0"

typedef struct Ether {
    EngPlan plan;       /* @ in its properties is a file of the node's own */
    char *dir;
    bool dgram;
    QUbc *q[2];
    Eng e[2];
} Ether;

/* ---- What the monitor says ------------------------------------------------------ */

static QDict *info(QUbc *q, QDict **rsp)
{
    *rsp = qtest_qmp(q->qts, "{ 'execute': 'query-ub-ethernet' }");
    return qobject_to(QDict, qlist_entry_obj(
        qlist_first(qdict_get_qlist(*rsp, "return"))));
}

/* "counters", "network", "faults-in", "faults-out". */
static uint64_t count(QUbc *q, const char *list, const char *name)
{
    const QListEntry *at;
    uint64_t value = 0;
    QDict *rsp;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info(q, &rsp), list), at) {
        QDict *c = qobject_to(QDict, qlist_entry_obj(at));

        if (!strcmp(qdict_get_str(c, "name"), name)) {
            value = qdict_get_int(c, "value");
        }
    }
    qobject_unref(rsp);
    return value;
}

static bool link_up(QUbc *q)
{
    QDict *rsp;
    bool up = qdict_get_bool(info(q, &rsp), "link-up");

    qobject_unref(rsp);
    return up;
}

/* The MAC of a neighbour; NULL: it is not known.  The caller's. */
static char *neighbour(QUbc *q, const char *address)
{
    const QListEntry *at;
    char *mac = NULL;
    QDict *rsp;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info(q, &rsp), "neighbours"), at) {
        QDict *n = qobject_to(QDict, qlist_entry_obj(at));

        if (!strcmp(qdict_get_str(n, "address"), address)) {
            mac = g_strdup(qdict_get_try_str(n, "mac"));
        }
    }
    qobject_unref(rsp);
    return mac;
}

static unsigned neighbours(QUbc *q)
{
    QDict *rsp;
    unsigned n = qlist_size(qdict_get_qlist(info(q, &rsp), "neighbours"));

    qobject_unref(rsp);
    return n;
}

/* ---- Life ---------------------------------------------------------------------------- */

static char *netdev(const Ether *t, unsigned i)
{
    return t->dgram
           ? g_strdup_printf("-netdev dgram,id=n,local.type=unix,"
                             "local.path=%s/e%u,remote.type=unix,"
                             "remote.path=%s/e%u", t->dir, i, t->dir, !i)
           : g_strdup_printf("-netdev stream,id=n,addr.type=unix,"
                             "addr.path=%s/ether,server=%s", t->dir,
                             i ? "off,reconnect-ms=100" : "on");
}

static QUbc *machine(const Ether *t, unsigned i, const char *kind,
                     const char *words)
{
    g_autofree char *net = netdev(t, i);
    g_autofree char *more = g_strjoin(" ", net, t->plan.more ?: "", words,
                                      NULL);
    g_autofree char *file = g_strdup_printf("%s/%u", t->dir, i);
    g_auto(GStrv) parts = g_strsplit(t->plan.props ?: "", "@", -1);
    g_autofree char *rest = g_strjoinv(file, parts);
    g_autofree char *props = g_strdup_printf("netdev=n,mac=" MAC "%u%s%s", i + 1,
                                             *rest ? "," : "", rest);

    return qubc_start(kind, props, more);
}

static void node(Ether *t, unsigned i)
{
    t->q[i] = machine(t, i, i && t->plan.unplug ? "pc" : "q35", "");
    qubc_attach(t->q[i]);
    eng_open(&t->e[i], t->q[i], i + 1);
}

static void start(Ether *t, const EngPlan *plan, bool dgram)
{
    *t = (Ether) { .plan = *plan, .dgram = dgram };
    t->dir = g_dir_make_tmp("ubether-XXXXXX", NULL);
    g_assert_nonnull(t->dir);
    node(t, 0);
    node(t, 1);
    if (!dgram) {
        qtest_qmp_eventwait(t->q[0]->qts, "NETDEV_STREAM_CONNECTED");
    }
    eng_queue(&t->e[0], plan);
    eng_queue(&t->e[1], plan);
}

static void clean(Ether *t)
{
    static const char *const names[] = {
        "ether", "e0", "e1", "0capture", "1capture", "0pcap", "1pcap",
        "migrate",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(t->dir, names[i], NULL);

        unlink(path);
    }
    g_assert_cmpint(rmdir(t->dir), ==, 0);
    g_free(t->dir);
}

static void stop(Ether *t)
{
    qubc_stop(t->q[1]);
    qubc_stop(t->q[0]);
    clean(t);
}

static void both_ways(Ether *t, uint32_t len, uint32_t seed)
{
    eng_write_read_to(&t->e[0], &t->e[1], len, seed);
    eng_write_read_to(&t->e[1], &t->e[0], len, seed + 1);
}

/* ---- Two of them ----------------------------------------------------------------------- */

typedef struct Case {
    EngPlan plan;
    bool dgram;
} Case;

static void test_plan(const void *opaque)
{
    static const uint32_t sizes[] = { 1, 4096, 65536, 200000 };
    static const char *const none[] = {
        "drop-ip", "drop-npi", "drop-vlan", "drop-long", "drop-spoof",
        "drop-question", "drop-type",
    };
    const Case *c = opaque;
    const EngPlan *plan = &c->plan;
    g_autofree char *mac = NULL;
    Ether t;

    start(&t, plan, c->dgram);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        if (plan->carrier == ENG_RTP) {
            both_ways(&t, sizes[i], i);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        eng_send_recv_to(&t.e[i], &t.e[!i], 4000);
        if (plan->carrier == ENG_RTP) {
            eng_fetch_add_to(&t.e[i], &t.e[!i]);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        g_assert_true(link_up(t.q[i]));
        g_assert_cmpuint(count(t.q[i], "counters", "rx-packets"), >, 0);
        g_assert_cmpuint(count(t.q[i], "network", "rx-up"), >, 0);
        for (unsigned k = 0; k < G_N_ELEMENTS(none); k++) {
            g_assert_cmpuint(count(t.q[i], "counters", none[k]), ==, 0);
        }
    }
    mac = neighbour(t.q[0], plan->cfg == UB_LPH_IPV6 ? "fd00::2" : "10.0.0.2");
    g_assert_cmpstr(mac, ==, MAC "2");
    stop(&t);
}

/* The frames and the packets are in files, and the monitor tells of the port. */
static void test_capture(void)
{
    g_autofree char *frames = NULL, *packets = NULL, *text = NULL;
    g_autofree char *data = NULL;
    gsize len = 0;
    Ether t;

    start(&t, &(EngPlan) { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4,
                           .props = "ports=2,forward=on,capture=@capture,"
                                    "pcap=@pcap" }, false);
    both_ways(&t, 3000, 1);
    text = qtest_hmp(t.q[0]->qts, "info ub");
    g_assert_nonnull(strstr(text, "port 2: Ethernet up, " MAC "1, MTU 9216"));
    g_assert_nonnull(strstr(text, "10.0.0.2 at " MAC "2"));
    qubc_stop(t.q[1]);
    qubc_stop(t.q[0]);
    frames = g_build_filename(t.dir, "0capture", NULL);
    packets = g_build_filename(t.dir, "0pcap", NULL);
    g_assert_true(g_file_get_contents(frames, &data, &len, NULL));
    g_assert_cmpuint(len, >, 24 + 2 * 3000);
    g_assert_cmphex((uint32_t)ldl_le_p(data), ==, 0xa1b23c4d);
    /* The first of them all is a question: ARP to all. */
    g_assert_cmphex((uint32_t)ldl_le_p(data + 40), ==, 0xffffffff);
    g_assert_cmphex(lduw_be_p(data + 40 + 12), ==, 0x0806);
    g_free(g_steal_pointer(&data));
    g_assert_true(g_file_get_contents(packets, &data, &len, NULL));
    g_assert_cmpuint(len, >, 2 * 3000);
    clean(&t);
}

/* ---- A bad wire --------------------------------------------------------------------------- */

static void set_fault(QUbc *q, const char *name, unsigned value)
{
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'qom-set', 'arguments': {"
                             " 'path': '/machine/peripheral/ub0',"
                             " 'property': %s, 'value': %u } }", name, value);
}

/* RTP loses nothing, whatever becomes of frames. */
static void test_faults(void)
{
    static const char *const kinds[] = {
        "drop", "duplicate", "reorder", "corrupt", "delay",
    };
    Ether t;

    start(&t, &(EngPlan) { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4 }, false);
    both_ways(&t, 1, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        for (unsigned out = 0; out < 2; out++) {
            g_autofree char *name =
                g_strdup_printf("ethernet-fault-%s-%s-ppm",
                                out ? "out" : "in", kinds[i]);
            const char *list = out ? "faults-out" : "faults-in";
            uint32_t seed = 0;

            set_fault(t.q[0], out ? "ethernet-fault-out-delay-us"
                                  : "ethernet-fault-in-delay-us", 100);
            set_fault(t.q[0], name, 100000);
            while (!count(t.q[0], list, kinds[i])) {
                both_ways(&t, 100000, ++seed);
                g_assert_cmpuint(seed, <, 100);
            }
            set_fault(t.q[0], name, 0);
        }
    }
    g_assert_cmpuint(count(t.q[0], "counters", "drop-fault"), >, 0);
    both_ways(&t, 100000, 7);
    stop(&t);
}

/* The link goes and comes again, by our side or by the other. */
static void test_link(void)
{
    Ether t;

    start(&t, &(EngPlan) { .carrier = ENG_RTP, .cfg = UB_LPH_IPV6 }, false);
    both_ways(&t, 4096, 1);
    g_assert_cmpuint(neighbours(t.q[0]), ==, 1);
    qtest_qmp_assert_success(t.q[0]->qts, "{ 'execute': 'set_link', 'arguments':"
                             " { 'name': 'ub0', 'up': false } }");
    g_assert_false(link_up(t.q[0]));
    g_assert_cmpuint(neighbours(t.q[0]), ==, 0);
    eng_fill(&t.e[0], 4096, 9);
    ubq_post(&t.e[0].queue, eng_sqe(&t.e[0], UB_TA_WRITE, 0, 4096, 1), 1);
    QUBC_WAIT(eng_counter(&t.e[0], "network", "drop-port-down"));
    qtest_qmp_assert_success(t.q[0]->qts, "{ 'execute': 'set_link', 'arguments':"
                             " { 'name': 'ub0', 'up': true } }");
    g_assert_true(link_up(t.q[0]));
    eng_complete(&t.e[0], UBQ_STATUS_OK);
    eng_check(&t.e[1], 4096, 9);
    both_ways(&t, 4096, 2);
    stop(&t);
}

/* The backend goes for ever, with work under way: it is given up. */
static void test_netdev_del(void)
{
    Ether t;

    start(&t, &(EngPlan) { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4 }, false);
    both_ways(&t, 4096, 1);
    eng_hasty(&t.e[0]);
    for (unsigned i = 0; i < 8; i++) {
        ubq_post(&t.e[0].queue, eng_sqe(&t.e[0], UB_TA_WRITE, 0, 200000, 1), 1);
    }
    qtest_qmp_assert_success(t.q[0]->qts, "{ 'execute': 'netdev_del',"
                             " 'arguments': { 'id': 'n' } }");
    g_assert_false(link_up(t.q[0]));
    for (unsigned i = 0; i < 8; i++) {
        eng_next(&t.e[0]);
    }
    ubq_post(&t.e[0].queue, eng_sqe(&t.e[0], UB_TA_WRITE, 0, 64, 1), 1);
    g_assert_cmphex(ubq_cqe_status(eng_next(&t.e[0])), !=, UBQ_STATUS_OK);
    stop(&t);
}

/* The device goes, with work of both sides under way. */
static void test_unplug(const void *plan)
{
    Ether t;

    start(&t, plan, false);
    both_ways(&t, 4096, 1);
    eng_hasty(&t.e[0]);
    for (unsigned i = 0; i < 8; i++) {
        ubq_post(&t.e[0].queue, eng_sqe(&t.e[0], UB_TA_WRITE, 0, 200000, 1), 1);
        ubq_post(&t.e[1].queue, eng_sqe(&t.e[1], UB_TA_READ, 0, 200000, 1), 1);
    }
    qpci_unplug_acpi_device_test(t.q[1]->qts, "ub0", QUBC_SLOT);
    for (unsigned i = 0; i < 8; i++) {
        eng_next(&t.e[0]);
    }
    qtest_qmp_assert_success(t.q[1]->qts, "{ 'execute': 'query-ub-ethernet' }");
    qtest_qmp_assert_success(t.q[1]->qts, "{ 'execute': 'netdev_del',"
                             " 'arguments': { 'id': 'n' } }");
    stop(&t);
}

/* A machine stands, and goes on; it and its device begin anew. */
static void test_stop_and_reset(void)
{
    Ether t;

    start(&t, &(EngPlan) { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4 }, false);
    both_ways(&t, 4096, 1);
    qtest_qmp_assert_success(t.q[1]->qts, "{ 'execute': 'stop' }");
    eng_fill(&t.e[0], 65536, 5);
    memset(t.e[1].drv.memory + t.e[1].room, 0, 65536);
    ubq_post(&t.e[0].queue, eng_sqe(&t.e[0], UB_TA_WRITE, 0, 65536, 1), 1);
    QUBC_WAIT(count(t.q[0], "counters", "tx-bytes") > 65536);
    for (unsigned i = 0; i < 65536; i++) {
        g_assert_cmphex(t.e[1].drv.memory[t.e[1].room + i], ==, 0);
    }
    qtest_qmp_assert_success(t.q[1]->qts, "{ 'execute': 'cont' }");
    eng_complete(&t.e[0], UBQ_STATUS_OK);
    eng_check(&t.e[1], 65536, 5);
    for (unsigned i = 0; i < 2; i++) {
        qubc_write(t.q[i], UBC_CTRL, UBC_CTRL_RESET);
        g_assert_cmpuint(count(t.q[i], "counters", "tx-frames"), ==, 0);
        eng_open(&t.e[i], t.q[i], i + 1);
    }
    eng_queue(&t.e[0], &t.plan);
    eng_queue(&t.e[1], &t.plan);
    g_assert_cmpuint(neighbours(t.q[0]), ==, 0);
    both_ways(&t, 65536, 3);
    stop(&t);
}

/* What comes while the guest has bus mastering off is lost, with its reason, and
 * questions are answered. */
static void test_rests(void)
{
    Ether t;

    start(&t, &(EngPlan) { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4 }, false);
    qubc_bus_master(t.q[1], false);
    eng_fill(&t.e[0], 512, 5);
    ubq_post(&t.e[0].queue, eng_sqe(&t.e[0], UB_TA_WRITE, 0, 512, 1), 1);
    QUBC_WAIT(count(t.q[1], "counters", "drop-resting"));
    g_assert_cmpuint(count(t.q[1], "counters", "answered"), >=, 1);
    qubc_bus_master(t.q[1], true);
    eng_complete(&t.e[0], UBQ_STATUS_OK);
    eng_check(&t.e[1], 512, 5);
    stop(&t);
}

/* ---- Migration ------------------------------------------------------------------------------ */

/* Node 2 moves with work under way; who its neighbours are it knows still. */
static void test_migrate(void)
{
    g_autofree char *path = NULL, *uri = NULL, *words = NULL, *mac = NULL;
    Ether t;
    QUbc *c;

    start(&t, &(EngPlan) { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4 }, false);
    both_ways(&t, 4096, 1);
    path = g_build_filename(t.dir, "migrate", NULL);
    uri = g_strdup_printf("unix:%s", path);
    words = g_strdup_printf("-incoming %s", uri);
    c = machine(&t, 1, "q35", words);
    eng_fill(&t.e[0], 200000, 4);
    ubq_post(&t.e[0].queue, eng_sqe(&t.e[0], UB_TA_WRITE, 0, 200000, 1), 1);
    qtest_qmp_assert_success(t.q[1]->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    QUBC_WAIT(qubc_migrated(t.q[1]));
    qtest_qmp_eventwait(c->qts, "RESUME");
    qubc_adopt(c, t.q[1]);
    qubc_stop(t.q[1]);
    t.q[1] = t.e[1].q = c;
    t.e[1].drv.memory = c->ram->at;
    mac = neighbour(c, "10.0.0.1");
    g_assert_cmpstr(mac, ==, MAC "1");
    eng_complete(&t.e[0], UBQ_STATUS_OK);
    eng_check(&t.e[1], 200000, 4);
    both_ways(&t, 65536, 6);
    stop(&t);
}

/* ---- A hostile peer --------------------------------------------------------------------------- */

typedef struct Hostile {
    Ether t;
    int fd;
} Hostile;

static void hostile_start(Hostile *h)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    Ether *t = &h->t;

    *t = (Ether) { .dgram = true, .plan = { .carrier = ENG_UTP, .mode = UB_UNO,
                                            .cfg = UB_LPH_IPV4 } };
    t->dir = g_dir_make_tmp("ubether-XXXXXX", NULL);
    g_assert_nonnull(t->dir);
    h->fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    g_snprintf(un.sun_path, sizeof(un.sun_path), "%s/e1", t->dir);
    g_assert_cmpint(bind(h->fd, (struct sockaddr *)&un, sizeof(un)), ==, 0);
    node(t, 0);
    eng_queue(&t->e[0], &t->plan);
    g_snprintf(un.sun_path, sizeof(un.sun_path), "%s/e0", t->dir);
    g_assert_cmpint(connect(h->fd, (struct sockaddr *)&un, sizeof(un)), ==, 0);
}

/* A frame, waited for. */
static void put(Hostile *h, const uint8_t *frame, unsigned len)
{
    uint64_t before = count(h->t.q[0], "counters", "rx-frames");

    g_assert_cmpint(send(h->fd, frame, len, 0), ==, len);
    QUBC_WAIT(count(h->t.q[0], "counters", "rx-frames") == before + 1);
}

static unsigned head(uint8_t *f, const char *to, unsigned type)
{
    memcpy(f, to, 6);
    memcpy(f + 6, "\x52\x54\0\0\0\x02", 6);
    stw_be_p(f + 12, type);
    return 14;
}

/* "Who has 10.0.0.1?", from an address. */
static void arp(uint8_t f[60], uint32_t from)
{
    memset(f, 0, 60);
    head(f, "\xff\xff\xff\xff\xff\xff", 0x0806);
    memcpy(f + 14, "\0\x01\x08\0\x06\x04\0\x01\x52\x54\0\0\0\x02", 14);
    stl_be_p(f + 28, from);
    stl_be_p(f + 38, 0x0a000001);
}

/* An IPv4 packet to UDP port 4792 from 10.0.0.2 to 10.0.0.1, of @len bytes of IP; its
 * ICRC is wrong. */
static unsigned ip4(uint8_t *f, unsigned len)
{
    uint32_t sum = 0;

    memset(f, 0, 14 + len);
    head(f, "\x52\x54\0\0\0\x01", 0x0800);
    f[14] = 0x45;
    stw_be_p(f + 16, len);
    f[22] = 64;
    f[23] = 17;
    stl_be_p(f + 26, 0x0a000002);
    stl_be_p(f + 30, 0x0a000001);
    stw_be_p(f + 36, 4792);
    stw_be_p(f + 38, len - 20);
    for (unsigned i = 0; i < 20; i += 2) {
        sum += lduw_be_p(f + 14 + i);
    }
    stw_be_p(f + 24, ~(sum + (sum >> 16)));
    return 14 + len;
}

static void test_hostile(void)
{
    uint8_t f[2048];
    Hostile h;
    QUbc *q;

    hostile_start(&h);
    q = h.t.q[0];
    memset(f, 0x55, sizeof(f));
    put(&h, f, 5);
    g_assert_cmpuint(count(q, "counters", "drop-short"), ==, 1);
    head(f, "\x52\x54\0\0\0\x03", 0x0800);
    put(&h, f, 60);
    g_assert_cmpuint(count(q, "counters", "drop-mac"), ==, 1);
    head(f, "\x52\x54\0\0\0\x01", 0x88b5);
    put(&h, f, 60);
    g_assert_cmpuint(count(q, "counters", "drop-type"), ==, 1);
    head(f, "\x52\x54\0\0\0\x01", 0x8100);
    put(&h, f, 60);
    g_assert_cmpuint(count(q, "counters", "drop-vlan"), ==, 1);
    head(f, "\xff\xff\xff\xff\xff\xff", 0x0806);
    put(&h, f, 60);
    g_assert_cmpuint(count(q, "counters", "drop-question"), ==, 1);
    arp(f, 0x0a000001);
    put(&h, f, 60);
    g_assert_cmpuint(count(q, "counters", "drop-spoof"), ==, 1);
    put(&h, f, ip4(f, 100));
    g_assert_cmpuint(count(q, "network", "drop-icrc"), ==, 1);
    f[25] ^= 1;
    put(&h, f, 114);
    g_assert_cmpuint(count(q, "counters", "drop-ip"), ==, 1);
    ip4(f, 100);
    stw_be_p(f + 36, 53);
    put(&h, f, 114);
    g_assert_cmpuint(count(q, "counters", "drop-plain"), ==, 1);
    /* An honest question is answered all the same. */
    arp(f, 0x0a000002);
    put(&h, f, 60);
    g_assert_cmpuint(count(q, "counters", "answered"), ==, 1);
    g_assert_cmpint(recv(h.fd, f, sizeof(f), 0), ==, 60);
    g_assert_cmpmem(f + 22, 6, "\x52\x54\0\0\0\x01", 6);
    /* However many ask, there is a bound. */
    for (unsigned i = 0; i < 3000; i++) {
        arp(f, 0x0b000000 + i);
        while (send(h.fd, f, 60, MSG_DONTWAIT) < 0 && errno == EAGAIN) {
            g_usleep(100);
        }
        while (recv(h.fd, f, sizeof(f), MSG_DONTWAIT) >= 0) {
        }
    }
    QUBC_WAIT((recv(h.fd, f, sizeof(f), MSG_DONTWAIT),
               count(q, "counters", "rx-frames") == 3010));
    g_assert_cmpuint(neighbours(q), ==, 1024);
    g_assert_true(qubc_logged(q, "claimed on Ethernet"));
    close(h.fd);
    qubc_stop(q);
    clean(&h.t);
}

/* ---- A gateway ------------------------------------------------------------------------------ */

#define GATEWAY                                                             \
    "{\"execute\": \"ip-route-set\", \"arguments\":"                        \
    " {\"prefix\": \"10.0.0.2\", \"ports\": [0]}}\n"                        \
    "{\"execute\": \"ip-route-set\", \"arguments\":"                        \
    " {\"prefix\": \"10.0.0.1\", \"ports\": [1]}}\n"                        \
    "{\"execute\": \"ethernet-vlan-set\", \"arguments\":"                   \
    " {\"port\": 1, \"vlan\": 7, \"npi\": 1}}\n"                            \
    "{\"execute\": \"ethernet-configure\", \"arguments\":"                  \
    " {\"port\": 1, \"vlans\": true, \"npi\": 9}}\n"

/* Node 1 on Ethernet, on VLAN 7, node 2 at a UB link behind ub-switch; the gateway
 * loses frames, too. */
static void test_gateway(void)
{
    Ether t = { .plan = { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4,
                          .props = "ethernet-vlans=7=1" } };
    SwitchProgram sw = { .ports = 1, .config = GATEWAY,
                         .ethernet = "connect:unix:@/ether" };
    g_autofree char *words = NULL;

    t.dir = g_dir_make_tmp("ubether-XXXXXX", NULL);
    g_assert_nonnull(t.dir);
    sw.dir = g_strdup(t.dir);
    node(&t, 0);
    switch_again(&sw);
    qtest_qmp_eventwait(t.q[0]->qts, "NETDEV_STREAM_CONNECTED");
    words = g_strdup_printf("-chardev socket,id=w,path=%s/port0,"
                            "reconnect-ms=100", t.dir);
    t.q[1] = qubc_start_attached("chardev0=w", words);
    eng_open(&t.e[1], t.q[1], 2);
    qubc_port_open(t.q[1], 0);
    QUBC_WAIT((qubc_pass(t.q[1]), qubc_up(t.q[1], 0) &&
               switch_ports_up(&sw) == 2));
    eng_queue(&t.e[0], &t.plan);
    eng_queue(&t.e[1], &t.plan);
    both_ways(&t, 1, 1);
    both_ways(&t, 200000, 2);
    for (unsigned i = 0; i < 2; i++) {
        eng_send_recv_to(&t.e[i], &t.e[!i], 4000);
        eng_fetch_add_to(&t.e[i], &t.e[!i]);
    }
    qobject_unref(switch_command(&sw, "{\"execute\": \"fault-set\","
                                 " \"arguments\": {\"port\": 1,"
                                 " \"nth\": 2, \"every\": 20,"
                                 " \"action\": \"drop\"}}"));
    qobject_unref(switch_command(&sw, "{\"execute\": \"fault-set\","
                                 " \"arguments\": {\"port\": 1,"
                                 " \"out\": true, \"nth\": 3, \"every\": 20,"
                                 " \"action\": \"drop\"}}"));
    both_ways(&t, 200000, 3);
    g_assert_cmpuint(switch_ether_counter(&sw, 1, "drop-fault"), >, 2);
    g_assert_cmpuint(count(t.q[0], "counters", "rx-packets"), >, 0);
    g_assert_cmpuint(count(t.q[0], "counters", "drop-vlan"), ==, 0);
    g_assert_cmpuint(switch_ether_counter(&sw, 1, "rx-packets"), >, 0);
    qubc_stop(t.q[1]);
    qubc_stop(t.q[0]);
    switch_stop(&sw);
    clean(&t);
}

int main(int argc, char **argv)
{
    static const Case stream = {
        { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4 }, false,
    }, dgram = {
        { .carrier = ENG_RTP, .cfg = UB_LPH_IPV6 }, true,
    }, utp = {
        { .carrier = ENG_UTP, .mode = UB_UNO, .cfg = UB_LPH_IPV4 }, false,
    }, utp6 = {
        { .carrier = ENG_UTP, .mode = UB_UNO, .cfg = UB_LPH_IPV6 }, false,
    }, thread = {
        { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4, .props = "iothread=io",
          .more = "-object iothread,id=io" }, false,
    };
    static const EngPlan unplug = {
        .carrier = ENG_RTP, .cfg = UB_LPH_IPV4, .unplug = true,
    }, unplug_thread = {
        .carrier = ENG_RTP, .cfg = UB_LPH_IPV4, .unplug = true,
        .props = "iothread=io", .more = "-object iothread,id=io",
    };

    g_test_init(&argc, &argv, NULL);
    qtest_add_data_func("/ubc-ethernet/rtp-ipv4", &stream, test_plan);
    qtest_add_data_func("/ubc-ethernet/rtp-ipv6", &dgram, test_plan);
    qtest_add_data_func("/ubc-ethernet/utp-ipv4", &utp, test_plan);
    qtest_add_data_func("/ubc-ethernet/utp-ipv6", &utp6, test_plan);
    qtest_add_data_func("/ubc-ethernet/iothread", &thread, test_plan);
    qtest_add_func("/ubc-ethernet/capture", test_capture);
    qtest_add_func("/ubc-ethernet/faults", test_faults);
    qtest_add_func("/ubc-ethernet/link", test_link);
    qtest_add_func("/ubc-ethernet/netdev-del", test_netdev_del);
    qtest_add_data_func("/ubc-ethernet/unplug", &unplug, test_unplug);
    qtest_add_data_func("/ubc-ethernet/unplug-iothread", &unplug_thread,
                        test_unplug);
    qtest_add_func("/ubc-ethernet/stop-and-reset", test_stop_and_reset);
    qtest_add_func("/ubc-ethernet/rests", test_rests);
    qtest_add_func("/ubc-ethernet/migrate", test_migrate);
    qtest_add_func("/ubc-ethernet/hostile", test_hostile);
    if (switch_program()) {
        qtest_add_func("/ubc-ethernet/gateway", test_gateway);
    }
    return g_test_run();
}
