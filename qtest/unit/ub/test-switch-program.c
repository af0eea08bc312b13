/*
 * ub-switch as a program: links over unix sockets with and without shared
 * memory, over TCP and TLS, commands, neighbours that come and go.
 *
 * The controllers are in this process, in real time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../deadline.h"
#include "../../lib/tls_files.h"
#include "ub/net.h"
#include "ub/port.h"
#include "wire/tls.h"

#define HOSTS 3

static const char *program;
static char *dir;

static int64_t clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- Hosts ---------------------------------------------------------------------- */

typedef struct Host {
    UbPort *port;
    UbSpace *space;
    UbNet *net;
    CorePacketPool *pool;
    WireFd *wire;
    int64_t next;
    unsigned got, bad;
    uint64_t bytes;
} Host;

static Host hosts[HOSTS];
static int64_t now;

static void host_rx(void *opaque, CorePacket *pkt)
{
    Host *h = opaque;

    ub_net_rx(h->net, now, 0, pkt);
}

static void host_event(void *opaque, UbPortEvent event)
{
    Host *h = opaque;

    if (event == UB_PORT_LINK) {
        ub_net_port_state(h->net, now, 0, ub_port_vls(h->port));
    }
}

static void host_space(void *opaque, unsigned vl)
{
    Host *h = opaque;

    ub_net_room(h->net, now, 0, vl);
}

static void host_kick(void *opaque)
{
    ((Host *)opaque)->next = 0;
}

static size_t host_send(void *opaque, const uint8_t *data, size_t len)
{
    Host *h = opaque;

    return h->wire ? wire_pipe_send(wire_fd_pipe(h->wire), data, len) : 0;
}

static void host_close(void *opaque)
{
    Host *h = opaque;

    if (h->wire) {
        wire_pipe_close(wire_fd_pipe(h->wire));
    }
}

static void host_rule(void *opaque, UbBreaker who, const char *text)
{
    g_test_message("rule: %s", text);
}

static const UbPortOps port_ops = {
    .rx = host_rx, .event = host_event, .tx_space = host_space,
    .kick = host_kick, .wire_send = host_send, .wire_close = host_close,
    .rule = host_rule,
};

static bool net_room(void *opaque, unsigned port, unsigned vl)
{
    return ub_port_room(((Host *)opaque)->port, vl) == UB_PORT_SENT;
}

static bool net_send(void *opaque, unsigned port, CorePacket *pkt)
{
    return ub_port_send(((Host *)opaque)->port, now, pkt) == UB_PORT_SENT;
}

static const UbNetOps net_ops = {
    .room = net_room, .send = net_send, .kick = host_kick,
};

static void take(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    Host *h = opaque;
    const uint8_t *p = core_packet_data(pkt);

    for (unsigned i = 1; i < pkt->len; i++) {
        h->bad += p[i] != (uint8_t)(p[0] + i);
    }
    h->got++;
    h->bytes += pkt->len;
    core_packet_free(pkt);
}

static const UbNetUpper upper = { take, NULL };

static void pipe_state(void *opaque, bool open)
{
    Host *h = opaque;

    if (open) {
        ub_port_wire_connected(h->port, now);
    } else {
        ub_port_wire_disconnected(h->port, now);
    }
}

static bool pipe_input(void *opaque, const uint8_t *data, size_t len)
{
    ub_port_wire_receive(((Host *)opaque)->port, now, data, len);
    return true;
}

static void pipe_room(void *opaque)
{
    ub_port_wire_room(((Host *)opaque)->port, now);
}

static void pipe_broken(void *opaque, const char *rule)
{
    g_error("%s", rule);
}

static const WirePipeOps pipe_ops = {
    .state = pipe_state, .input = pipe_input, .room = pipe_room,
    .broken = pipe_broken,
};

static void host_init(Host *h, unsigned index)
{
    const char *why = NULL;
    UbPortConfig conf;
    UbNetConfig net;

    memset(h, 0, sizeof(*h));
    h->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    h->space = ub_space_new(1);
    ub_net_config_init(&net);
    for (unsigned i = 0; i < 16; i++) {
        net.guid[i] = 0x10 * i + index;
    }
    h->net = ub_net_new(&net, &net_ops, h);
    ub_net_set_primary(h->net, index + 1);
    ub_net_set_upper(h->net, UB_NET_TP, &upper, h);
    ub_port_config_init(&conf);
    conf.guid[4] = 1;
    conf.guid[15] = index;
    conf.session = conf.phy.lmsm.seed = 100 + index + getpid() * 8;
    conf.phy.lmsm.time_scale = 100; /* a busy machine may be late */
    conf.dll_time_scale = 10000;
    h->port = ub_port_new(&conf, h->space, h->pool, &port_ops, h, &why);
    g_assert_cmpstr(why, ==, NULL);
    ub_port_enable(h->port, now, true);
}

static void host_unplug(Host *h)
{
    if (h->wire) {
        wire_fd_free(h->wire);
        h->wire = NULL;
        ub_port_wire_disconnected(h->port, now);
    }
}

static void host_free(Host *h)
{
    host_unplug(h);
    ub_net_free(h->net);
    ub_port_free(h->port);
    ub_space_free(h->space);
    core_packet_pool_free(h->pool);
}

/* One turn of all, of a millisecond at most. */
static void turn_hosts(void)
{
    struct pollfd fds[HOSTS];
    unsigned n = 0;
    int64_t next = clock_now() + 1000000;
    bool busy = false;

    for (unsigned i = 0; i < HOSTS; i++) {
        Host *h = &hosts[i];

        if (h->wire) {
            fds[n++] = (struct pollfd) { .fd = wire_fd_descriptor(h->wire),
                                         .events = wire_fd_events(h->wire) };
            busy |= wire_fd_busy(h->wire);
        }
        next = MIN(next, h->next);
    }
    poll(fds, n, busy || next <= clock_now() ? 0 : 1);
    now = clock_now();
    for (unsigned i = 0; i < HOSTS; i++) {
        Host *h = &hosts[i];
        int64_t net, port;

        if (h->wire && !wire_fd_run(h->wire)) {
            wire_fd_free(h->wire);
            h->wire = NULL;
        }
        h->next = INT64_MAX;
        net = ub_net_run(h->net, now, 1000);
        port = ub_port_run(h->port, now);
        h->next = MIN(h->next, MIN(net, port));
    }
}

static int connect_unix(const char *path)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(un.sun_path, path, sizeof(un.sun_path));
    if (connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int connect_tcp(unsigned port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static char *in_dir(const char *name)
{
    return g_build_filename(dir, name, NULL);
}

/* ---- The program ---------------------------------------------------------------------- */

/* It is not to outlive the test. */
static void die_with_parent(gpointer unused)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static pid_t start_switch(const char *const *args)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_autoptr(GError) e = NULL;
    GPid pid;

    g_ptr_array_add(argv, (char *)program);
    g_ptr_array_add(argv, (char *)"--time-scale=100");
    g_ptr_array_add(argv, (char *)"--dll-time-scale=10000");
    for (; *args; args++) {
        g_ptr_array_add(argv, (char *)*args);
    }
    g_ptr_array_add(argv, NULL);
    g_spawn_async(NULL, (char **)argv->pdata, NULL,
                  G_SPAWN_DO_NOT_REAP_CHILD, die_with_parent, NULL, &pid,
                  &e);
    g_assert_no_error(e);
    return pid;
}

static int end_of(pid_t pid)
{
    int status;

    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Connect when it is there. */
static int reach(const char *path)
{
    int64_t end = clock_now() + test_patience(60) * 1000;
    int fd;

    while ((fd = connect_unix(path)) < 0) {
        g_assert_cmpint(clock_now(), <, end);
        g_usleep(5000);
    }
    return fd;
}

static void plug(Host *h, int fd, bool shm)
{
    g_assert_cmpint(fd, >=, 0);
    h->wire = wire_fd_new(fd, &pipe_ops, h, shm);
    h->next = 0;
}

static bool all_up(unsigned mask)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        if (mask >> i & 1 && !ub_port_dll_up(hosts[i].port)) {
            return false;
        }
    }
    return true;
}

static void await_up(unsigned mask)
{
    int64_t end = clock_now() + test_patience(60) * 1000;

    while (!all_up(mask)) {
        g_assert_cmpint(clock_now(), <, end);
        turn_hosts();
    }
}

/* A command and its answer, events passed over; the hosts go on meanwhile. */
static char *command(int fd, const char *line)
{
    int64_t end = clock_now() + test_patience(60) * 1000;
    GString *s = g_string_new(NULL);

    g_assert_cmpint(write(fd, line, strlen(line)), ==, strlen(line));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (;;) {
        char c;
        ssize_t n = read(fd, &c, 1);

        if (n == 1 && c == '\n') {
            if (!strstr(s->str, "\"event\"") &&
                !strstr(s->str, "\"ub-switch\":")) {
                return g_string_free(s, FALSE);
            }
            g_string_truncate(s, 0);
        } else if (n == 1) {
            g_string_append_c(s, c);
        } else {
            g_assert_cmpint(n, ==, -1);
            g_assert_cmpint(clock_now(), <, end);
            turn_hosts();
        }
    }
}

static void says(int fd, const char *line, const char *want)
{
    g_autofree char *got = command(fd, line);

    if (!strstr(got, want)) {
        g_error("%s: %s", line, got);
    }
}

/* Until the switch says that these ports are up: what this end still has of a
 * link before does not count. */
static void await_switch(int fd, const char *up)
{
    int64_t end = clock_now() + test_patience(60) * 1000;

    for (;;) {
        g_autofree char *got = command(fd, "{\"execute\": "
                                       "\"query-status\"}\n");

        if (strstr(got, up)) {
            return;
        }
        g_assert_cmpint(clock_now(), <, end);
        turn_hosts();
    }
}

static void exchange(unsigned from, unsigned to, unsigned packets)
{
    int64_t end = clock_now() + test_patience(60) * 1000;
    unsigned before = hosts[to].got, sent = 0;
    UbFlow f;

    ub_flow_init(&f, UB_LPH_CNA16);
    f.dcna = to + 1;
    while (hosts[to].got < before + packets) {
        while (sent < packets &&
               ub_net_ready(hosts[from].net, &f) == UB_SENT) {
            CorePacket *pkt = core_packet_alloc(hosts[from].pool, 3000);

            for (unsigned i = 0; i < 3000; i++) {
                core_packet_data(pkt)[i] = sent + i;
            }
            g_assert_cmpint(ub_net_send(hosts[from].net, now, &f, pkt), ==,
                            UB_SENT);
            sent++;
        }
        turn_hosts();
        g_assert_cmpint(clock_now(), <, end);
    }
    g_assert_cmpuint(hosts[to].got, ==, before + packets);
    g_assert_cmpuint(hosts[to].bad, ==, 0);
}

#define LINE(text) text "\n"

/* What query-ports says of a port. */
static char *port_info(int fd, unsigned port)
{
    g_autofree char *got = command(fd, LINE("{\"execute\": "
                                            "\"query-ports\"}"));
    g_autofree char *name = g_strdup_printf("{\"port\":%u,", port);
    char *from = strstr(got, name), *to;

    g_assert_nonnull(from);
    to = strstr(from + 1, "{\"port\":");
    return g_strndup(from, to ? (gsize)(to - from) : strlen(from));
}

static void port_says(int fd, unsigned port, const char *want)
{
    g_autofree char *got = port_info(fd, port);

    if (!strstr(got, want)) {
        g_error("%s: %s", want, got);
    }
}

/* Connections of a port that broke off, or were hung up on. */
static unsigned broken(int fd, unsigned port)
{
    static const char name[] = "\"broken\":";
    g_autofree char *got = port_info(fd, port);
    const char *at = strstr(got, name);

    g_assert_nonnull(at);
    return g_ascii_strtoull(at + sizeof(name) - 1, NULL, 10);
}

/* Until it does. */
static void await_port(int fd, unsigned port, const char *want)
{
    int64_t end = clock_now() + test_patience(60) * 1000;

    for (;;) {
        g_autofree char *got = port_info(fd, port);

        if (strstr(got, want)) {
            return;
        }
        g_assert_cmpint(clock_now(), <, end);
        turn_hosts();
    }
}

/* The TCP port that it chose. */
static unsigned tcp_of(int fd, unsigned port)
{
    g_autofree char *got = port_info(fd, port);
    const char *host = "127.0.0.1:", *at = strstr(got, host);

    g_assert_nonnull(at);
    return atoi(at + strlen(host));
}

static void test_links(void)
{
    g_autofree char *a = in_dir("a"), *b = in_dir("b"), *ctl = in_dir("ctl");
    g_autofree char *conf = in_dir("conf"), *pcap = in_dir("p.pcapng");
    g_autofree char *pa = g_strconcat("unix:", a, NULL);
    g_autofree char *pb = g_strconcat("unix:", b, NULL);
    const char *pc = "tcp:127.0.0.1:0";
    g_autofree char *capture = g_strdup_printf(
        "{\"execute\": \"capture-start\", \"arguments\": {\"file\": \"%s\"}}\n",
        pcap);
    g_autofree char *bytes = NULL;
    const char *args[] = { "--port", pa, "--port", pb, "--port", pc,
                           "--port", "none", "--control", ctl, "--config",
                           conf, "--name", "mid", NULL };
    size_t len;
    pid_t pid;
    int fd, second;
    char c;

    g_assert_true(g_file_set_contents(conf,
        "# routes\n"
        "{\"execute\": \"route-set\", \"arguments\": "
        "{\"cna\": 1, \"ports\": [0]}}\n"
        "{\"execute\": \"route-set\", \"arguments\": "
        "{\"cna\": 2, \"ports\": [1]}}\n", -1, NULL));
    now = clock_now();
    for (unsigned i = 0; i < HOSTS; i++) {
        host_init(&hosts[i], i);
    }
    pid = start_switch(args);
    fd = reach(ctl);
    says(fd, LINE("{\"execute\": \"query-status\"}"), "\"name\":\"mid\"");
    says(fd, LINE("{\"execute\": \"route-set\", \"arguments\": {\"cna\": 3,"
                  " \"ports\": [2]}}"), "\"return\":{}");
    says(fd, capture, "\"return\":{}");
    plug(&hosts[0], connect_unix(a), true);  /* shared memory */
    plug(&hosts[1], connect_unix(b), false); /* the switch's half of it */
    plug(&hosts[2], connect_tcp(tcp_of(fd, 2)), true);
    await_up(7);
    for (unsigned from = 0; from < HOSTS; from++) {
        for (unsigned to = 0; to < HOSTS; to++) {
            if (from != to) {
                exchange(from, to, 100);
            }
        }
    }
    says(fd, LINE("{\"execute\": \"query-status\"}"), "\"up\":[0,1,2]");
    port_says(fd, 0, "\"kind\":\"shared-memory\"");
    port_says(fd, 1, "\"kind\":\"socket\"");
    port_says(fd, 2, "\"kind\":\"socket\"");
    says(fd, LINE("{\"execute\": \"query-counters\", \"arguments\": "
                  "{\"port\": 0}}"), "\"tx-packets\":200");
    says(fd, LINE("{\"execute\": \"capture-stop\"}"), "\"return\":{}");
    g_assert_true(g_file_get_contents(pcap, &bytes, &len, NULL));
    g_assert_cmpuint(len, >, 600 * 3000);

    /* NPIC: the GUID is read as it is written. */
    says(fd, LINE("{\"execute\": \"npi-configure\", \"arguments\": {\"port\":"
                  " 2, \"npi\": 9, \"guid\":"
                  " \"02122232425262728292a2B2c2d2e2f2\"}}"), "\"return\":{}");
    for (int64_t end = clock_now() + test_patience(60) * 1000;
         ub_net_npi(hosts[2].net) != 9;) {
        g_assert_cmpint(clock_now(), <, end);
        turn_hosts();
    }

    /* A neighbour goes; another that has waited, and is not hung up on, takes its place. */
    second = connect_unix(a);
    g_assert_cmpint(second, >=, 0);
    exchange(1, 0, 10);
    g_assert_cmpint(recv(second, &c, 1, MSG_DONTWAIT), <, 0);
    g_assert_cmpint(errno, ==, EAGAIN);
    host_unplug(&hosts[0]);
    exchange(1, 2, 10);
    plug(&hosts[0], second, true);
    await_switch(fd, "\"up\":[0,1,2]");
    await_up(1);
    exchange(1, 0, 100);
    exchange(0, 2, 100);
    says(fd, LINE("{\"execute\": \"quit\"}"), "\"return\":{}");
    g_assert_cmpint(end_of(pid), ==, 0);
    close(fd);
    g_assert_false(g_file_test(a, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(ctl, G_FILE_TEST_EXISTS));
    for (unsigned i = 0; i < HOSTS; i++) {
        host_free(&hosts[i]);
    }
    g_unlink(conf);
    g_unlink(pcap);
}

/* As a peer that the switch hangs up on. */
static void await_end(int fd)
{
    char c[256];
    ssize_t n;

    while ((n = read(fd, c, sizeof(c))) > 0) {
    }
    g_assert_true(n == 0 || errno == ECONNRESET);
    close(fd);
}

static void pipe_refused(void *opaque, const char *rule)
{
    g_test_message("%s", rule);
}

/* Strangers that connect and say nothing, more than a port shakes hands with. */
#define STRANGERS 6

/* They do not keep the neighbour out, who comes after them. */
static void test_strangers(void)
{
    g_autofree char *ctl = in_dir("ctl"), *b = in_dir("b");
    g_autofree char *keys = in_dir("keys"), *why = NULL;
    g_autofree char *creds = g_strconcat("psk:", keys, NULL);
    g_autofree char *pb = g_strconcat("unix:", b, NULL);
    const char *args[] = { "-p", "tls:127.0.0.1:0", "-p", pb, "-c", ctl,
                           "--tls-creds", creds, "--tls-patience", "3600",
                           NULL };
    int fd, stranger[STRANGERS], late;
    WireTlsCreds *good;
    unsigned tcp;
    pid_t pid;

    tls_psk_files(keys, "qemu:9a3bc5d7e1f02468ace013579bdf8642\n");
    good = wire_tls_creds_new(creds, &why);
    g_assert_nonnull(good);
    now = clock_now();
    for (unsigned i = 0; i < HOSTS; i++) {
        host_init(&hosts[i], i);
    }
    pid = start_switch(args);
    fd = reach(ctl);
    tcp = tcp_of(fd, 0);
    for (unsigned i = 0; i < STRANGERS; i++) {
        stranger[i] = connect_tcp(tcp);
        g_assert_cmpint(stranger[i], >=, 0);
    }
    /* The oldest are displaced. */
    for (unsigned i = 0; i < STRANGERS - 4; i++) {
        await_end(stranger[i]);
    }
    hosts[0].wire = wire_fd_new_tls(connect_tcp(tcp), good, false, NULL,
                                    &pipe_ops, &hosts[0]);
    plug(&hosts[1], connect_unix(b), true);
    await_switch(fd, "\"up\":[0,1]");
    await_up(3);
    port_says(fd, 0, "\"kind\":\"tls\"");
    /* It is the neighbour, they are not; nor is who comes now. */
    for (unsigned i = STRANGERS - 4; i < STRANGERS; i++) {
        await_end(stranger[i]);
    }
    late = connect_tcp(tcp);
    port_says(fd, 0, "\"broken\":0");
    await_switch(fd, "\"up\":[0,1]");
    close(late);
    says(fd, LINE("{\"execute\": \"quit\"}"), "\"return\":{}");
    g_assert_cmpint(end_of(pid), ==, 0);
    close(fd);
    for (unsigned i = 0; i < HOSTS; i++) {
        host_free(&hosts[i]);
    }
    wire_tls_creds_free(good);
    tls_files_remove(keys);
}

/* A stranger that says nothing has a port until the neighbour comes. */
static void test_mute(void)
{
    g_autofree char *ctl = in_dir("ctl"), *a = in_dir("a"), *b = in_dir("b");
    g_autofree char *pa = g_strconcat("unix:", a, NULL);
    g_autofree char *pb = g_strconcat("unix:", b, NULL);
    const char *args[] = { "-p", pa, "-p", pb, "-c", ctl, "--tls-patience", "1",
                           NULL };
    int64_t end = clock_now() + test_patience(60) * 1000;
    int fd, stranger;
    pid_t pid;

    now = clock_now();
    for (unsigned i = 0; i < HOSTS; i++) {
        host_init(&hosts[i], i);
    }
    pid = start_switch(args);
    fd = reach(ctl);
    stranger = connect_unix(a);
    g_assert_cmpint(stranger, >=, 0);
    plug(&hosts[1], connect_unix(b), true);
    while (!all_up(3)) {
        if (!hosts[0].wire) {
            plug(&hosts[0], connect_unix(a), true);
        }
        turn_hosts();
        g_assert_cmpint(clock_now(), <, end);
    }
    await_end(stranger);
    g_assert_cmpuint(broken(fd, 0), >=, 1);
    says(fd, LINE("{\"execute\": \"quit\"}"), "\"return\":{}");
    g_assert_cmpint(end_of(pid), ==, 0);
    close(fd);
    for (unsigned i = 0; i < HOSTS; i++) {
        host_free(&hosts[i]);
    }
}

/* A port by TLS among others: who has the key is let in, and nobody else. */
static void test_tls(void)
{
    g_autofree char *ctl = in_dir("ctl"), *b = in_dir("b");
    g_autofree char *keys = in_dir("keys"), *others = in_dir("others");
    g_autofree char *creds = g_strconcat("psk:", keys, NULL);
    g_autofree char *bad = g_strconcat("psk:", others, NULL);
    g_autofree char *pb = g_strconcat("unix:", b, NULL), *why = NULL;
    const char *pa = "tls:127.0.0.1:0";
    /* However long it takes those that have the key. */
    const char *args[] = { "-p", pa, "-p", pb, "-c", ctl, "--tls-creds", creds,
                           "--tls-patience", "3600", NULL };
    const char *hasty[] = { "-p", pa, "-p", pb, "-c", ctl, "--tls-creds", creds,
                            "--tls-patience", "1", NULL };
    const char *none[] = { "-p", pa, "-p", pb, NULL };
    const char *nobody[] = { "-p", pa, "-p", pb, "--tls-creds", "psk:/no/such",
                             NULL };
    WirePipeOps refused = pipe_ops;
    WireTlsCreds *good, *wrong;
    pid_t pid;
    int fd, silent;
    unsigned tcp;

    tls_psk_files(keys, "qemu:9a3bc5d7e1f02468ace013579bdf8642\n");
    tls_psk_files(others, "qemu:00112233445566778899aabbccddeeff\n");
    good = wire_tls_creds_new(creds, &why);
    wrong = wire_tls_creds_new(bad, &why);
    g_assert_true(good && wrong);
    g_assert_cmpint(end_of(start_switch(none)), ==, 1);
    g_assert_cmpint(end_of(start_switch(nobody)), ==, 1);
    now = clock_now();
    for (unsigned i = 0; i < HOSTS; i++) {
        host_init(&hosts[i], i);
    }
    /* One that says nothing. */
    pid = start_switch(hasty);
    fd = reach(ctl);
    silent = connect_tcp(tcp_of(fd, 0));
    await_end(silent);
    await_port(fd, 0, "\"broken\":1");
    says(fd, LINE("{\"execute\": \"quit\"}"), "\"return\":{}");
    g_assert_cmpint(end_of(pid), ==, 0);
    close(fd);

    pid = start_switch(args);
    fd = reach(ctl);
    for (unsigned i = 0; i < 2; i++) {
        g_autofree char *route = g_strdup_printf(
            LINE("{\"execute\": \"route-set\", \"arguments\": {\"cna\": %u,"
                 " \"ports\": [%u]}}"), i + 1, i);

        says(fd, route, "\"return\":{}");
    }

    tcp = tcp_of(fd, 0);
    /* One that says something else. */
    silent = connect_tcp(tcp);
    g_assert_cmpint(write(silent, "GET / HTTP/1.0\r\n\r\n", 18), ==, 18);
    await_end(silent);
    /* One with another key. */
    refused.broken = pipe_refused;
    hosts[0].wire = wire_fd_new_tls(connect_tcp(tcp), wrong, false, NULL,
                                    &refused, &hosts[0]);
    while (hosts[0].wire) {
        turn_hosts();
    }
    await_port(fd, 0, "\"wire\":{\"kind\":\"none\",\"sent\":0,"
                      "\"received\":0,\"broken\":2,");

    hosts[0].wire = wire_fd_new_tls(connect_tcp(tcp), good, false, NULL,
                                    &pipe_ops, &hosts[0]);
    plug(&hosts[1], connect_unix(b), true);
    await_switch(fd, "\"up\":[0,1]");
    await_up(3);
    exchange(0, 1, 300);
    exchange(1, 0, 300);
    port_says(fd, 0, "\"kind\":\"tls\"");
    port_says(fd, 1, "\"kind\":\"shared-memory\"");
    /* It goes and comes. */
    host_unplug(&hosts[0]);
    await_switch(fd, "\"up\":[1]");
    hosts[0].wire = wire_fd_new_tls(connect_tcp(tcp), good, false, NULL,
                                    &pipe_ops, &hosts[0]);
    await_switch(fd, "\"up\":[0,1]");
    await_up(3);
    exchange(1, 0, 100);
    says(fd, LINE("{\"execute\": \"quit\"}"), "\"return\":{}");
    g_assert_cmpint(end_of(pid), ==, 0);
    close(fd);
    for (unsigned i = 0; i < HOSTS; i++) {
        host_free(&hosts[i]);
    }
    wire_tls_creds_free(good);
    wire_tls_creds_free(wrong);
    tls_files_remove(keys);
    tls_files_remove(others);
}

/* Killed in the middle of traffic, and started again; the links come back. */
static void test_kill(void)
{
    g_autofree char *a = in_dir("a"), *b = in_dir("b"), *ctl = in_dir("ctl");
    g_autofree char *pa = g_strconcat("unix:", a, NULL);
    g_autofree char *pb = g_strconcat("unix:", b, NULL);
    const char *args[] = { "-p", pa, "-p", pb, "-c", ctl, "--no-shm", NULL };
    static const char routes[] =
        LINE("{\"execute\": \"route-set\", \"arguments\": {\"cna\": 1,"
             " \"ports\": [0]}}");
    pid_t pid = start_switch(args);
    UbFlow f;
    int fd;

    ub_flow_init(&f, UB_LPH_CNA16);
    f.dcna = 1;
    now = clock_now();
    for (unsigned i = 0; i < HOSTS; i++) {
        host_init(&hosts[i], i);
    }
    for (unsigned round = 0; round < 3; round++) {
        fd = reach(ctl);
        says(fd, routes, "\"return\":{}");
        plug(&hosts[0], connect_unix(a), true);
        plug(&hosts[1], connect_unix(b), true);
        await_switch(fd, "\"up\":[0,1]");
        await_up(3);
        exchange(1, 0, 200);
        for (unsigned i = 0; i < 20; i++) {
            ub_net_send(hosts[1].net, now, &f,
                        core_packet_alloc(hosts[1].pool, 5000));
        }
        kill(pid, SIGKILL);
        g_assert_cmpint(end_of(pid), ==, -SIGKILL);
        close(fd);
        hosts[0].bad = 0; /* of the 20 */
        host_unplug(&hosts[0]);
        host_unplug(&hosts[1]);
        pid = start_switch(args);
    }
    kill(pid, SIGTERM);
    end_of(pid);
    for (unsigned i = 0; i < HOSTS; i++) {
        host_free(&hosts[i]);
    }
}

/* What it says no to, with this status and no other: not that of a sanitizer, which
 * finds what was left behind. */
static void test_refused(void)
{
    g_autofree char *conf = in_dir("conf");
    const char *rows[][6] = {
        { "--port", "none" },
        { "--port", "none", "--port", "file:x" },
        { "--port", "none", "--port", "tcp:12" },
        { "--port", "none", "--port", "unix:/no/such/folder/x" },
        { "-p", "none", "-p", "none", "--guid", "12" },
        { "-p", "none", "-p", "none", "--mtu", "5" },
        { "-p", "none", "-p", "none", "--config", "/no/such/file" },
        { "-p", "none", "-p", "none", "--config", conf },
        { "--port", "none", "--port", "tls:127.0.0.1:1" },
        { "-p", "none", "-p", "none", "--tls-creds", "file:x" },
        { "-p", "none", "-p", "none", "--tls-patience", "0" },
        { "-p", "none", "--ethernet", "tls:127.0.0.1:1" },
        { "-p", "none", "--ethernet", "dgram:/tmp/x" },
        { "-p", "none", "--ethernet", "unix:/no/such/folder/x" },
        { "-p", "none", "--ethernet", "dgram:/no/such/folder/x,/y" },
        { "-p", "none", "-p", "none", "--mac", "02:00" },
        /* What is no command line at all. */
        { "--no-such-option" },
        { "stray" },
        { "-p", "none", "--slot", "0", "--name=x", "stray" },
    };
    const unsigned options = G_N_ELEMENTS(rows) - 3;

    g_assert_true(g_file_set_contents(conf, "{\"execute\": \"nothing\"}\n", -1,
                                      NULL));
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *args[7] = { 0 };

        memcpy(args, rows[i], sizeof(rows[i]));
        g_assert_cmpint(end_of(start_switch(args)), ==, i < options ? 1 : 2);
    }
    g_unlink(conf);
}

/* Clients that misbehave. */
static void test_clients(void)
{
    g_autofree char *ctl = in_dir("ctl");
    const char *args[] = { "-p", "none", "-p", "none", "-c", ctl, NULL };
    g_autofree char *bytes = g_strnfill(100000, 'x');
    pid_t pid = start_switch(args);
    int fd[20], one;

    memset(hosts, 0, sizeof(hosts));
    now = clock_now();
    for (unsigned i = 0; i < HOSTS; i++) {
        host_init(&hosts[i], i);
    }
    one = reach(ctl);
    /* a line in two pieces, two lines in one, one that is too long */
    g_assert_cmpint(write(one, "{\"execute\":", 11), ==, 11);
    g_usleep(20000);
    says(one, LINE("\"query-status\"}"), "\"return\"");
    says(one, LINE("{\"execute\": \"x\"}\n{\"execute\": \"query-ports\"}"),
         "\"error\"");
    g_assert_cmpint(write(one, bytes, 70000), >, 65536);
    says(one, LINE("x"), "\"return\""); /* of query-ports */
    says(one, LINE(""), "\"error\"");
    says(one, LINE("{\"execute\": \"query-status\"}"), "\"return\"");
    /* Too many of them; one that goes while it is answered. */
    for (unsigned i = 0; i < 20; i++) {
        fd[i] = connect_unix(ctl);
        g_assert_cmpint(fd[i], >=, 0);
    }
    for (unsigned i = 0; i < 20; i++) {
        ssize_t n = write(fd[i], "{\"execute\": \"query-counters\"}\n", 30);

        g_assert_cmpint(n == 30 || errno == EPIPE, ==, true);
        close(fd[i]);
    }
    says(one, LINE("{\"execute\": \"query-status\"}"), "\"return\"");
    /* The address is taken. */
    g_assert_cmpint(end_of(start_switch(args)), ==, 1);
    says(one, LINE("{\"execute\": \"query-status\"}"), "\"return\"");
    close(one);
    kill(pid, SIGTERM);
    g_assert_cmpint(end_of(pid), ==, 0);
    for (unsigned i = 0; i < HOSTS; i++) {
        host_free(&hosts[i]);
    }
}

int main(int argc, char **argv)
{
    int rc;

    g_test_init(&argc, &argv, NULL);
    signal(SIGPIPE, SIG_IGN);
    program = argv[1];
    g_assert_nonnull(program);
    dir = g_dir_make_tmp("ub-switch-XXXXXX", NULL);
    g_test_add_func("/ub/switch/program/links", test_links);
    g_test_add_func("/ub/switch/program/tls", test_tls);
    g_test_add_func("/ub/switch/program/strangers", test_strangers);
    g_test_add_func("/ub/switch/program/mute", test_mute);
    g_test_add_func("/ub/switch/program/kill", test_kill);
    g_test_add_func("/ub/switch/program/refused", test_refused);
    g_test_add_func("/ub/switch/program/clients", test_clients);
    rc = g_test_run();
    g_rmdir(dir);
    g_free(dir);
    return rc;
}
