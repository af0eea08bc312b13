/*
 * UB links between emulators: training, traffic, and all that can befall it.
 *
 * With -m slow a gigabyte crosses the link instead of some megabytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-link.h"

/* ---- One link ----------------------------------------------------------- */

static void test_traffic(void)
{
    const uint32_t n = (g_test_slow() ? 1u << 29 : 10u << 20) / MEAN;
    Link l = { .props = STEADY };

    link_start(&l);
    g_assert_cmpint(qubc_link_int(l.a, 0, "tx-width"), ==, 8);
    g_assert_cmpint(qubc_link_int(l.b, 0, "rx-width"), ==, 8);
    g_assert_cmpint(qubc_link_int(l.a, 0, "lane-mbps"), ==, 106250);
    g_assert_true(shared(l.a) == !no_shm);
    g_assert_true(shared(l.b) == !no_shm);
    pump(&l, n, n);
    g_assert_cmpuint(l.a->port[0].bytes + l.b->port[0].bytes, >,
                     (uint64_t)n * 2000 * 2);
    g_assert_cmpuint(qubc_counter(l.a, 0, UBC_CNT_TX_PACKETS), ==, n);
    g_assert_cmpuint(qubc_counter(l.b, 0, UBC_CNT_RX_PACKETS), ==, n);
    g_assert_cmpuint(qubc_counter(l.b, 0, UBC_CNT_RX_BYTES), ==,
                     l.b->port[0].bytes);
    g_test_message("%" PRIu64 " flits were sent again",
                   both(&l, UBC_CNT_FLITS_RESENT));
    g_assert_cmpuint(both(&l, UBC_CNT_FEC_CORRECTED), ==, 0);
    g_assert_cmpuint(both(&l, UBC_CNT_LINK_BAD_RECORDS), ==, 0);
    link_stop(&l);
}

/* Bit errors on every lane of both ends, up to beyond what FEC repairs. */
static void test_bit_errors(void)
{
    static const char *const rates[] = {
        "1e-12", "1e-11", "1e-10", "1e-9", "1e-8", "1e-7", "1e-6", "1e-5",
        "1e-4", "1e-3",
    };
    Link l = { .props = STEADY };

    link_start(&l);
    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        g_autofree char *ber = g_strdup_printf("'ber': %s, 'seed': %u",
                                               rates[i], i + 1);
        uint64_t fixed = both(&l, UBC_CNT_FEC_CORRECTED);

        qubc_inject_all(l.a, 0, ber);
        qubc_inject_all(l.b, 0, ber);
        exchange(&l, 1000);
        /* Some 60 million bits: errors there were, unless they are rare. */
        if (g_ascii_strtod(rates[i], NULL) > 5e-7) {
            g_assert_cmpuint(both(&l, UBC_CNT_FEC_CORRECTED), >, fixed);
        }
    }
    g_assert_cmpuint(both(&l, UBC_CNT_LINK_DOWNS), ==, 0);
    /* At the last rate some code words are beyond repair. */
    g_assert_cmpuint(both(&l, UBC_CNT_FEC_FAILED), >, 0);
    g_assert_cmpuint(both(&l, UBC_CNT_FLITS_RESENT), >, 0);
    qubc_inject_all(l.a, 0, "");
    qubc_inject_all(l.b, 0, "");
    exchange(&l, 1000);
    link_stop(&l);
}

/* A lane is cut while packets are under way. */
static void test_lane_cut(void)
{
    /* It is the retries that have it train anew: STEADY would have many. */
    Link l = { .props = "timeout-min=5000" };

    link_start(&l);
    pump(&l, 3000, 300);
    qubc_inject(l.a, 0, 7, "'cut': true");
    pump(&l, 3000, 3000);
    QUBC_WAIT(qubc_up(l.a, 0) && qubc_link_int(l.a, 0, "tx-width") < 8 &&
              qubc_link_int(l.b, 0, "rx-width") < 8);
    exchange(&l, 1000);
    link_stop(&l);
}

/* ---- Changes under traffic ---------------------------------------------- */

#define CONTROL_1 (UB_CFG_PORT_CAP(0, UB_CAP_LINK) + \
                   UB_LINK_PHY_CTL_1)
#define CONTROL_1_TARGETS 0x003f3f0fu /* RX and TX width, data rate */
#define RETRAIN UB_LINK_PHY_CTL_1__RETRAIN_LINK
#define QUICK \
    UB_LINK_PHY_CTL_1__CHANGE_WIDTH
#define QDLWS (UB_CFG_PORT_CAP(0, UB_CAP_QDLWS))

/* Tell an end its targets and what to do about them. */
static void set_targets(QUbc *d, unsigned rate, unsigned width,
                        uint32_t trigger)
{
    uint32_t value = qubc_cfg_read(d, CONTROL_1) & ~CONTROL_1_TARGETS;

    qubc_cfg_write(d, CONTROL_1, value | rate | width << 8 | width << 16 |
                   trigger);
}

static bool is(const Link *l, const char *key, int64_t value)
{
    return qubc_link_int(l->a, 0, key) == value &&
           qubc_link_int(l->b, 0, key) == value;
}

/* Both ends are told a width and a rate, one to retrain the link, and packets
 * are sent all the time until the link is as it was asked to be. */
static void change(Link *l, unsigned rate, unsigned width)
{
    uint32_t n = l->a->port[0].sent;
    gint64 limit = g_get_monotonic_time() + PATIENCE_US;

    exchange(l, 200);
    set_targets(l->b, rate, width, 0);
    set_targets(l->a, rate, width, RETRAIN);
    do {
        n += 500;
        pump(l, n, n - 300);
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    } while (!is(l, "tx-width", width) || !is(l, "rx-width", width) ||
             !is(l, "rate", rate));
    pump(l, n, n);
    exchange(l, 200);
}

static void test_width_change(void)
{
    static const unsigned widths[] = { 4, 8, 1, 8, 2, 8 };
    Link l = { .props = STEADY };

    link_start(&l);
    for (unsigned i = 0; i < G_N_ELEMENTS(widths); i++) {
        change(&l, 8, widths[i]);
    }
    g_assert_cmpuint(both(&l, UBC_CNT_LINK_DOWNS), ==, 0);
    link_stop(&l);
}

static void test_speed_change(void)
{
    static const unsigned rates[] = { 4, 8, 0, 2, 8 };
    Link l = { .props = STEADY };

    link_start(&l);
    QUBC_WAIT(is(&l, "rate", 8));
    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        change(&l, rates[i], 8);
    }
    g_assert_cmpuint(both(&l, UBC_CNT_LINK_DOWNS), ==, 0);
    link_stop(&l);
}

/* The next event with packets that pass has these widths; others that come
 * before it have those of before. */
static void wait_width_event(QUbc *d, unsigned width)
{
    bool found = false;

    while (!found) {
        QDict *event = qtest_qmp_eventwait_ref(d->qts, "UB_LINK_CHANGED");
        QDict *data = qdict_get_qdict(event, "data");

        found = qdict_get_bool(data, "packets-pass") &&
                qdict_get_int(data, "tx-width") == width &&
                qdict_get_int(data, "rx-width") == width;
        qobject_unref(event);
    }
}

/* QDLWS: the primary changes the width without a Retrain. */
static void test_qdlws(void)
{
    static const unsigned widths[] = { 4, 8, 2, 4, 1, 8 };
    const uint32_t enable =
        UB_QDLWS_CTL__GLOBAL_ENABLE_FOR_QDLWS |
        UB_QDLWS_CTL__TX_QDLWS_ENABLE |
        UB_QDLWS_CTL__RX_QDLWS_ENABLE;
    Link l = { .props = STEADY ",dll-time-scale=100000" };
    QUbc *first, *second;
    uint64_t retrains;
    bool primary;

    link_start(&l);
    QUBC_WAIT(is(&l, "rate", 8));
    exchange(&l, 200);
    primary = qubc_cfg_read(l.a, UB_CFG_PORT_CAP(0, UB_CAP_LINK) +
                            UB_LINK_PHY_STATUS_1) >> 28 & 1;
    first = primary ? l.a : l.b;
    second = primary ? l.b : l.a;
    /* Not before it is enabled, and not by the secondary port. */
    set_targets(first, 8, 4, QUICK);
    g_assert_true(qubc_logged(first, "width change without Retrain"));
    g_assert_true(is(&l, "tx-width", 8));
    qubc_cfg_write(l.a, QDLWS + UB_QDLWS_CTL, enable);
    qubc_cfg_write(l.b, QDLWS + UB_QDLWS_CTL, enable);
    set_targets(second, 8, 4, QUICK);
    g_assert_true(qubc_logged(second, "width change without Retrain"));
    set_targets(second, 8, 8, 0);
    retrains = both(&l, UBC_CNT_RETRAINS);
    for (unsigned i = 0; i < G_N_ELEMENTS(widths); i++) {
        uint32_t n = l.a->port[0].sent;
        gint64 limit = g_get_monotonic_time() + PATIENCE_US;

        g_test_message("x%u", widths[i]);
        pump(&l, n + 500, n + 200);
        n += 500;
        set_targets(first, 8, widths[i], QUICK);
        do {
            n += 200;
            pump(&l, n, n - 150);
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
        } while (!is(&l, "tx-width", widths[i]) ||
                 !is(&l, "rx-width", widths[i]));
        pump(&l, n, n);
        QUBC_WAIT(qubc_cfg_read(first, QDLWS + UB_QDLWS_STATE) == 4);
        wait_width_event(first, widths[i]);
        wait_width_event(second, widths[i]);
        exchange(&l, 200);
    }
    g_assert_cmpuint(both(&l, UBC_CNT_RETRAINS), ==, retrains);
    g_assert_cmpuint(both(&l, UBC_CNT_FLITS_RESENT), ==, 0);
    link_stop(&l);
}

/* ---- Ways to be joined -------------------------------------------------- */

/* The ports run in a thread of their own; wires come and go. */
static void test_iothread(void)
{
    Link l = { .props = "iothread=io," STEADY,
               .more = "-object iothread,id=io" };

    link_start(&l);
    exchange(&l, 2000);
    change(&l, 8, 4);
    change(&l, 8, 8);
    for (unsigned i = 0; i < 2; i++) {
        pump(&l, l.a->port[0].sent + 3000, l.a->port[0].sent + 300);
        qubc_kill(l.b);
        QUBC_WAIT(!qubc_up(l.a, 0));
        qubc_resync(l.a, 0);
        l.b = start_client(&l);
        qubc_port_open(l.b, 0);
        wait_up(&l);
        exchange(&l, 500);
        qubc_resync(l.a, 0);
        qubc_resync(l.b, 0);
    }
    link_stop(&l);
}

/* An emulator that ends in the middle of traffic, its machine running or stopped,
 * ends well, whatever its IOThread is at. */
static void test_end(void)
{
    Link l = { .props = "iothread=io", .more = "-object iothread,id=io" };
    const unsigned rounds = g_test_slow() ? 100 : 4;

    link_start(&l);
    exchange(&l, 200);
    for (unsigned i = 0; i < rounds; i++) {
        pump(&l, l.a->port[0].sent + 3000, l.a->port[0].sent + 300);
        if (i % 2) {
            qtest_qmp_assert_success(l.b->qts, "{ 'execute': 'stop' }");
            qubc_send(l.a, 0, QUBC_RING);
        }
        qubc_stop(l.b);
        QUBC_WAIT(!qubc_up(l.a, 0));
        qubc_resync(l.a, 0);
        l.b = start_client(&l);
        qubc_port_open(l.b, 0);
        wait_up(&l);
        exchange(&l, 100);
        qubc_resync(l.a, 0);
        qubc_resync(l.b, 0);
    }
    link_stop(&l);
}

/* The server comes later than the client, goes and comes back; the client
 * tries again and again (reconnect-ms). */
static void test_reconnect(void)
{
    Link l = { .props = STEADY };

    link_prepare(&l);
    l.b = start_client(&l);
    qubc_port_open(l.b, 0);
    for (unsigned i = 0; i < 3; i++) {
        l.a = start_server(&l);
        qubc_port_open(l.a, 0);
        wait_up(&l);
        exchange(&l, 300);
        qubc_stop(l.a);
        QUBC_WAIT(!qubc_up(l.b, 0));
        qubc_resync(l.b, 0);
    }
    l.a = start_server(&l);
    qubc_port_open(l.a, 0);
    wait_up(&l);
    exchange(&l, 300);
    link_stop(&l);
}

/* Port of the listening chardev w of a machine on the loopback. */
static unsigned listening_port(QUbc *d)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'query-chardev' }");
    const QListEntry *e;
    unsigned port = 0;

    for (e = qlist_first(qdict_get_qlist(rsp, "return")); e;
         e = qlist_next(e)) {
        QDict *chr = qobject_to(QDict, qlist_entry_obj(e));
        const char *name = qdict_get_str(chr, "filename");
        const char *at = strstr(name, "127.0.0.1:");

        if (!strcmp(qdict_get_str(chr, "label"), "w") && at) {
            port = strtoul(at + strlen("127.0.0.1:"), NULL, 10);
        }
    }
    qobject_unref(rsp);
    g_assert_cmpuint(port, !=, 0);
    return port;
}

static char *tls_client(const char *dir, unsigned port)
{
    return g_strdup_printf("-object tls-creds-psk,id=tls,dir=%s,username=ub,"
                           "endpoint=client -chardev socket,id=w,"
                           "host=127.0.0.1,port=%u,reconnect-ms=100,"
                           "tls-creds=tls", dir, port);
}

/* TCP with TLS and a pre-shared key on both ends. */
static void test_tls(void)
{
    static const char key[] = "ub:00112233445566778899aabbccddeeff\n";
    static const char wrong[] = "ub:ffeeddccbbaa99887766554433221100\n";
    g_autofree char *file = NULL, *dir = NULL, *wrong_file = NULL;
    g_autofree char *more = NULL, *more_wrong = NULL;
    Link l = { 0 };
    QUbc *stranger;
    unsigned port;

    link_prepare(&l);
    file = g_build_filename(l.dir, "keys.psk", NULL);
    dir = g_dir_make_tmp("ubc-XXXXXX", NULL);
    wrong_file = g_build_filename(dir, "keys.psk", NULL);
    g_assert_true(g_file_set_contents(file, key, -1, NULL));
    g_assert_true(g_file_set_contents(wrong_file, wrong, -1, NULL));
    more = g_strdup_printf("-object tls-creds-psk,id=tls,dir=%s,"
                           "endpoint=server -chardev socket,id=w,"
                           "host=127.0.0.1,port=0,server=on,wait=off,"
                           "tls-creds=tls", l.dir);
    l.a = qubc_start_attached("chardev0=w," STEADY, more);
    port = listening_port(l.a);
    g_free(more);
    more = tls_client(l.dir, port);
    more_wrong = tls_client(dir, port);
    /* Who does not know the key tries first, and gets no link. */
    stranger = qubc_start_attached("chardev0=w", more_wrong);
    qubc_port_open(stranger, 0);
    l.b = qubc_start_attached("chardev0=w," STEADY, more);
    link_open(&l);
    exchange(&l, 3000);
    change(&l, 8, 4);
    g_assert_false(shared(l.a) || shared(l.b));
    g_assert_false(qubc_up(stranger, 0));
    qubc_stop(stranger);
    unlink(file);
    unlink(wrong_file);
    rmdir(dir);
    link_stop(&l);
}

/* An end dies without a word, and another takes its place. */
static void test_peer_killed(void)
{
    Link l = { .props = STEADY };

    link_start(&l);
    for (unsigned i = 0; i < 3; i++) {
        bool connecting = i % 2 == 0; /* which end dies */
        QUbc **dead = connecting ? &l.b : &l.a;
        QUbc **left = connecting ? &l.a : &l.b;

        pump(&l, 3000, 300);
        qubc_kill(*dead);
        QUBC_WAIT(!qubc_up(*left, 0));
        qubc_resync(*left, 0);
        if (!connecting) {
            unlink(l.path);
        }
        *dead = connecting ? start_client(&l) : start_server(&l);
        qubc_port_open(*dead, 0);
        wait_up(&l);
        exchange(&l, 500);
        qubc_resync(l.a, 0);
        qubc_resync(l.b, 0);
    }
    link_stop(&l);
}

/* ---- Shared memory -------------------------------------------------------- */

/* One end alone may forbid it; the link works by the socket. */
static void test_shm_refused(void)
{
    Link l = { 0 };

    link_prepare(&l);
    l.a = start_server(&l);
    l.props = "shm=off";
    l.b = start_client(&l);
    link_open(&l);
    exchange(&l, 500);
    g_assert_false(shared(l.a) || shared(l.b));
    link_stop(&l);
}

/* ---- Several machines --------------------------------------------------- */

#define MACHINES 4

typedef struct Edge {
    unsigned a, pa, b, pb;
} Edge;

/* Machines joined by edges: all links train and carry packets both ways. */
static void net(unsigned ports, const Edge *edges, unsigned n)
{
    g_autofree char *dir = g_dir_make_tmp("ubc-XXXXXX", NULL);
    QUbc *m[MACHINES];

    for (unsigned i = 0; i < MACHINES; i++) {
        g_autoptr(GString) more = g_string_new("");
        g_autoptr(GString) props = g_string_new("");

        g_string_printf(props, "ports=%u", ports);
        for (unsigned e = 0; e < n; e++) {
            if (edges[e].a == i || edges[e].b == i) {
                unsigned port = edges[e].a == i ? edges[e].pa : edges[e].pb;

                g_string_append_printf(more, " -chardev socket,id=w%u,"
                                       "path=%s/%u,%s", port, dir, e,
                                       edges[e].a == i ? "server=on,wait=off"
                                                       : "reconnect-ms=100");
                g_string_append_printf(props, ",chardev%u=w%u", port, port);
            }
        }
        m[i] = qubc_start_attached(props->str, more->str);
        for (unsigned p = 0; p < ports; p++) {
            qubc_port_open(m[i], p);
        }
    }
    for (unsigned e = 0; e < n; e++) {
        Link l = {
            .a = m[edges[e].a], .pa = edges[e].pa,
            .b = m[edges[e].b], .pb = edges[e].pb,
        };
        g_autofree char *path = g_strdup_printf("%s/%u", dir, e);

        wait_up(&l);
        exchange(&l, 100);
        unlink(path);
    }
    for (unsigned i = 0; i < MACHINES; i++) {
        qubc_stop(m[i]);
    }
    rmdir(dir);
}

static void test_ring(void)
{
    static const Edge ring[] = {
        { 0, 0, 1, 1 }, { 1, 0, 2, 1 }, { 2, 0, 3, 1 }, { 3, 0, 0, 1 },
    };

    net(2, ring, G_N_ELEMENTS(ring));
}

static void test_mesh(void)
{
    static const Edge mesh[] = {
        { 0, 0, 1, 0 }, { 0, 1, 2, 0 }, { 0, 2, 3, 0 },
        { 1, 1, 2, 1 }, { 1, 2, 3, 1 }, { 2, 2, 3, 2 },
    };

    net(3, mesh, G_N_ELEMENTS(mesh));
}

/* ---- A controller between two others -------------------------------------- */

static void route(QUbc *d, int dcna, uint32_t ports)
{
    qubc_write(d, UBC_CFG_ADDR, UB_CFG_ROUTE_BASE +
               UB_ROUTE_DEFAULT_ROUTING_TABLE + 1 + dcna);
    qubc_write(d, UBC_CFG_DATA, ports);
    g_assert_cmphex(qubc_read(d, UBC_CFG_DATA), ==, ports);
}

/* A counter of the network layer, by query-ub-links; 0 if it is not named. */
static int64_t network(QUbc *d, unsigned port, const char *name)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'query-ub-links' }");
    const QListEntry *e = qlist_first(qdict_get_qlist(rsp, "return"));
    int64_t value = 0;
    QList *list;

    while (port--) {
        e = qlist_next(e);
    }
    list = qdict_get_qlist(qobject_to(QDict, qlist_entry_obj(e)), "network");
    QLIST_FOREACH_ENTRY(list, e) {
        QDict *c = qobject_to(QDict, qlist_entry_obj(e));

        if (!strcmp(qdict_get_str(c, "name"), name)) {
            value = qdict_get_int(c, "value");
        }
    }
    qobject_unref(rsp);
    return value;
}

/* A packet of CFG 9 (NTH of 8 bytes) from CNA to CNA, and its number. */
static void post_bypass(QUbc *d, unsigned n, uint16_t scna, uint16_t dcna)
{
    uint32_t at = QUBC_TX_BUF(0) + n % QUBC_RING * QUBC_BUF;
    uint8_t *p = d->ram->at + at;

    memset(p, n, 200);
    memset(p, 0, 8);
    stw_be_p(p, scna);
    stw_be_p(p + 2, dcna);
    stl_be_p(p + 8, n);
    qubc_post(d, 0, UBC_RING_TX, at, 200, 9);
}

/* What came at a ring is the packets of the other end, in order. */
static void check_bypass(QUbc *d, unsigned n, uint16_t scna, uint16_t dcna)
{
    uint8_t *p = d->ram->at + QUBC_RX_BUF(0) + n % QUBC_RING * QUBC_BUF;

    QUBC_WAIT(qubc_status(d, 0, UBC_RING_RX, n));
    g_assert_cmphex(qubc_status(d, 0, UBC_RING_RX, n), ==, UBC_DESC_DONE);
    g_assert_cmphex(lduw_be_p(p), ==, scna);
    g_assert_cmphex(lduw_be_p(p + 2), ==, dcna);
    g_assert_cmpuint(ldl_be_p(p + 8), ==, n);
    for (unsigned i = 12; i < 200; i++) {
        g_assert_cmphex(p[i], ==, (uint8_t)n);
    }
}

/* What is for another node goes on by ROUTE_TABLE; what is for nobody is
 * counted.  Rings of both ends see the packets as they were sent. */
static void test_forward(void)
{
    enum { N = 200, LEFT = 0x11, RIGHT = 0x22, NOBODY = 0x33 };
    g_autofree char *dir = g_dir_make_tmp("ubc-XXXXXX", NULL);
    g_autofree char *one = g_build_filename(dir, "1", NULL);
    g_autofree char *two = g_build_filename(dir, "2", NULL);
    g_autofree char *left = server(one);
    g_autofree char *right = server(two);
    g_autofree char *both = g_strdup_printf(
        "-chardev socket,id=w0,path=%s,reconnect-ms=100 "
        "-chardev socket,id=w1,path=%s,reconnect-ms=100", one, two);
    QUbc *a = qubc_start_attached("chardev0=w", left);
    QUbc *c = qubc_start_attached("chardev0=w", right);
    QUbc *b = qubc_start_attached("ports=2,chardev0=w0,chardev1=w1,"
                                  "forward=on,route-entries=64", both);

    g_assert_cmphex(qubc_cfg_read(b, UB_CFG0_BASE + UB_CFG0_SUPPORTED_FEATURE) &
                    0x90, ==, 0x90);
    route(b, LEFT, 1 << 0);
    route(b, RIGHT, 1 << 1);
    route(b, -1, 0); /* the default: nowhere */
    /* The ends' rings have all packets, their engines none. */
    qubc_pair_write(a, 0, UBC_PAIR_CFGS, 0xffff);
    qubc_pair_write(c, 0, UBC_PAIR_CFGS, 0xffff);
    qubc_port_open(a, 0);
    qubc_port_open(c, 0);
    for (unsigned p = 0; p < 2; p++) {
        qubc_port_write(b, p, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    }
    QUBC_WAIT(qubc_up(a, 0) && qubc_up(c, 0) && qubc_up(b, 0) &&
              qubc_up(b, 1));
    QUBC_WAIT(qubc_link_int(b, 0, "rate") == 8 &&
              qubc_link_int(b, 1, "rate") == 8);
    for (unsigned n = 0; n < N; n++) {
        post_bypass(a, n, LEFT, RIGHT);
        post_bypass(c, n, RIGHT, LEFT);
    }
    qubc_doorbell(a, 0, UBC_RING_TX);
    qubc_doorbell(c, 0, UBC_RING_TX);
    for (unsigned n = 0; n < N; n++) {
        check_bypass(c, n, LEFT, RIGHT);
        check_bypass(a, n, RIGHT, LEFT);
    }
    g_assert_cmpint(network(b, 0, "forwarded") + network(b, 1, "forwarded"),
                    ==, 2 * N);
    post_bypass(a, N, LEFT, NOBODY);
    qubc_doorbell(a, 0, UBC_RING_TX);
    QUBC_WAIT(network(b, 0, "drop-no-route") == 1);
    qubc_stop(a);
    qubc_stop(b);
    qubc_stop(c);
    unlink(one);
    unlink(two);
    rmdir(dir);
}

/* ---- Migration ---------------------------------------------------------- */

/* Flits that a has sent and b has not counted: those under way, and those of
 * the training.  Never too few, since the receiver is asked first. */
static uint64_t under_way(const Link *l)
{
    uint64_t there = qubc_counter(l->b, 0, UBC_CNT_RX_FLITS);

    return qubc_counter(l->a, 0, UBC_CNT_TX_FLITS) - there;
}

/* The migration is over, one way or the other. */
static bool migration_over(QUbc *d)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'query-migrate' }");
    const char *status =
        qdict_get_try_str(qdict_get_qdict(rsp, "return"), "status");
    bool over = !g_strcmp0(status, "completed") ||
                !g_strcmp0(status, "failed");

    qobject_unref(rsp);
    return over;
}

/* One end moves, with packets that wait for buffers; the other one stays. */
static void test_migration(void)
{
    static const uint32_t regs[] = {
        UBC_RING_BASE_LO, UBC_RING_BASE_HI, UBC_RING_SIZE, UBC_RING_CTRL,
        UBC_RING_HEAD, UBC_RING_TAIL, UBC_RING_ARM,
    };
    g_autofree char *path = NULL, *uri = NULL, *more = NULL, *chr = NULL;
    uint32_t before[2][G_N_ELEMENTS(regs)];
    const uint32_t extra = 4;
    uint64_t rest = UINT64_MAX;
    QUbcPort *pb;
    uint32_t n;
    QUbc *c;
    Link l = { 0 };

    link_start(&l);
    exchange(&l, 700);
    for (unsigned i = 0; i < 20; i++) {
        rest = MIN(rest, under_way(&l));
    }
    /* The receiver runs out of buffers, so that packets wait in the device. */
    qubc_pair_write(l.b, 0, UBC_RING_RX + UBC_RING_ARM, 0x8123);
    pb = &l.b->port[0];
    pb->room = 0;
    n = (uint16_t)(pb->rx_head - pb->rx_tail) + extra;
    for (uint32_t sent = 0; sent < n;) {
        sent += qubc_send(l.a, 0, n - sent);
    }
    QUBC_WAIT(qubc_counter(l.a, 0, UBC_CNT_TX_PACKETS) == 700 + n &&
              qubc_counter(l.b, 0, UBC_CNT_RX_PACKETS) == 700 + n - extra &&
              under_way(&l) <= rest);
    for (unsigned i = 0; i < G_N_ELEMENTS(regs); i++) {
        before[0][i] = qubc_pair_read(l.b, 0, UBC_RING_TX + regs[i]);
        before[1][i] = qubc_pair_read(l.b, 0, UBC_RING_RX + regs[i]);
    }

    path = g_build_filename(l.dir, "migrate", NULL);
    uri = g_strdup_printf("unix:%s", path);
    chr = client(l.path);
    more = g_strdup_printf("%s -incoming %s", chr, uri);
    c = qubc_start("q35", "chardev0=w", more);
    qtest_qmp_assert_success(l.b->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    QUBC_WAIT(qubc_migrated(l.b));
    qtest_qmp_eventwait(c->qts, "RESUME");
    qubc_adopt(c, l.b);
    qubc_stop(l.b);
    l.b = c;
    pb = &c->port[0];
    for (unsigned i = 0; i < G_N_ELEMENTS(regs); i++) {
        g_assert_cmphex(qubc_pair_read(c, 0, UBC_RING_TX + regs[i]), ==,
                        before[0][i]);
        g_assert_cmphex(qubc_pair_read(c, 0, UBC_RING_RX + regs[i]), ==,
                        before[1][i]);
    }
    g_assert_cmpuint(qubc_counter(c, 0, UBC_CNT_RX_PACKETS), ==,
                     700 + n - extra);
    /* The waiting packets come into buffers given here, link or no link. */
    pb->room = QUBC_RING;
    QUBC_WAIT((qubc_reap(c, 0), pb->received == 700 + n));
    wait_up(&l);
    QUBC_WAIT(qubc_link_int(l.a, 0, "tx-width") == 8);
    pump(&l, 2000, 2000);
    unlink(path);
    link_stop(&l);
}

/* A destination with other settings says so and goes; the source stays. */
static void test_migration_refused(void)
{
    g_autofree char *path = NULL, *uri = NULL, *more = NULL, *chr = NULL;
    QUbc *c;
    Link l = { 0 };

    link_start(&l);
    exchange(&l, 100);
    path = g_build_filename(l.dir, "migrate", NULL);
    uri = g_strdup_printf("unix:%s", path);
    chr = client(l.path);
    more = g_strdup_printf("%s -incoming %s", chr, uri);
    c = qubc_start("q35", "chardev0=w,lanes=4", more);
    qtest_set_expected_status(c->qts, EXIT_FAILURE);
    qtest_qmp_assert_success(l.b->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    qtest_wait_qemu(c->qts);
    qubc_stop(c);
    QUBC_WAIT(migration_over(l.b));
    qtest_qmp_assert_success(l.b->qts, "{ 'execute': 'cont' }");
    wait_up(&l);
    pump(&l, 600, 600);
    unlink(path);
    link_stop(&l);
}

/* One end moves while packets are under way both ways: what the link took
 * with it is lost, what comes is whole and in order, and the link works. */
static void test_migration_busy(void)
{
    g_autofree char *path = NULL, *uri = NULL, *more = NULL, *chr = NULL;
    Link l = { 0 };
    uint32_t n;
    QUbc *c;

    link_start(&l);
    exchange(&l, 500);
    l.a->port[0].lossy = l.b->port[0].lossy = true;
    path = g_build_filename(l.dir, "migrate", NULL);
    uri = g_strdup_printf("unix:%s", path);
    chr = client(l.path);
    more = g_strdup_printf("%s -incoming %s", chr, uri);
    c = qubc_start("q35", "chardev0=w", more);
    /*
     * The machine that moves has all its descriptors posted.  The test writes
     * no more to its memory, because the migration would not notice; its
     * device does, and the other machine goes on.
     */
    QUBC_WAIT((qubc_reap(l.b, 0), qubc_send(l.b, 0, QUBC_RING)));
    qtest_qmp_assert_success(l.b->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    do {
        qubc_send(l.a, 0, QUBC_RING);
        qubc_reap(l.a, 0);
    } while (!qubc_migrated(l.b));
    qtest_qmp_eventwait(c->qts, "RESUME");
    qubc_adopt(c, l.b);
    qubc_stop(l.b);
    l.b = c;
    wait_up(&l);
    QUBC_WAIT(qubc_link_int(l.a, 0, "tx-width") == 8);
    n = MAX(l.a->port[0].sent, c->port[0].sent) + 1000;
    pump(&l, n, n);
    g_test_message("lost: %u there, %u back", c->port[0].lost,
                   l.a->port[0].lost);
    l.a->port[0].lossy = c->port[0].lossy = false;
    exchange(&l, 1000);
    unlink(path);
    link_stop(&l);
}

/* The same with all bytes through the socket. */
static void through_socket(gconstpointer test)
{
    no_shm = true;
    ((void (*)(void))test)();
    no_shm = false;
}

static void add_socket_test(const char *path, void (*test)(void))
{
    qtest_add_data_func(path, test, through_socket);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-link/traffic", test_traffic);
    qtest_add_func("/ubc-link/bit-errors", test_bit_errors);
    qtest_add_func("/ubc-link/lane-cut", test_lane_cut);
    qtest_add_func("/ubc-link/width-change", test_width_change);
    qtest_add_func("/ubc-link/speed-change", test_speed_change);
    qtest_add_func("/ubc-link/qdlws", test_qdlws);
    qtest_add_func("/ubc-link/iothread", test_iothread);
    qtest_add_func("/ubc-link/end", test_end);
    qtest_add_func("/ubc-link/reconnect", test_reconnect);
    qtest_add_func("/ubc-link/tls", test_tls);
    qtest_add_func("/ubc-link/peer-killed", test_peer_killed);
    qtest_add_func("/ubc-link/shm-refused", test_shm_refused);
    add_socket_test("/ubc-link/socket/traffic", test_traffic);
    add_socket_test("/ubc-link/socket/iothread", test_iothread);
    add_socket_test("/ubc-link/socket/reconnect", test_reconnect);
    add_socket_test("/ubc-link/socket/peer-killed", test_peer_killed);
    add_socket_test("/ubc-link/socket/migration-busy", test_migration_busy);
    qtest_add_func("/ubc-link/ring", test_ring);
    qtest_add_func("/ubc-link/mesh", test_mesh);
    qtest_add_func("/ubc-link/forward", test_forward);
    qtest_add_func("/ubc-link/migration", test_migration);
    qtest_add_func("/ubc-link/migration-refused", test_migration_refused);
    qtest_add_func("/ubc-link/migration-busy", test_migration_busy);
    return g_test_run();
}
