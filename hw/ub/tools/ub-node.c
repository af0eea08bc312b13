/*
 * ub-node: bare endpoints of a UB fabric in one process, each a port on a socket,
 * the network, transport and transaction layers, memory and receive buffers, all of
 * them driven by commands.  docs/specs/ub-node.rst.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ub-node.h"
#include "ub/border.h"

enum { RETRY_MS = 100 };

Program prog = { .control = -1, .client = -1 };

static int tp_scale = 1, ta_scale = 1000, dll_scale = 1000, phy_scale = 10;
static UbNodeConfig node_config;    /* but for the scales */
static volatile sig_atomic_t told_to_stop;

/* Virtual time goes on where it can, see go_on(). */
static int64_t clock_now(void)
{
    struct timespec t;

    if (prog.virtual_time) {
        return prog.now;
    }

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- port below the network ---- */

static bool net_room(void *opaque, unsigned port, unsigned vl)
{
    return ub_port_room(((Endpoint *)opaque)->port, vl) == UB_PORT_SENT;
}

static bool net_send(void *opaque, unsigned port, CorePacket *pkt)
{
    return ub_port_send(((Endpoint *)opaque)->port, prog.now, pkt) == UB_PORT_SENT;
}

static void net_kick(void *opaque)
{
    prog.kicked = true;
}

static const UbNetOps net_ops = {
    .room = net_room, .send = net_send, .kick = net_kick,
    .border = ub_border_judge,
};

static void port_rx(void *opaque, CorePacket *pkt)
{
    ub_node_rx(((Endpoint *)opaque)->node, prog.now + prog.ahead, 0, pkt);
}

static void port_event(void *opaque, UbPortEvent event)
{
    Endpoint *e = opaque;

    if (event == UB_PORT_LINK) {
        ub_net_port_state(ub_node_net(e->node), prog.now + prog.ahead, 0,
                          ub_port_vls(e->port));
    }
    prog.kicked = true;
}

static void port_space(void *opaque, unsigned vl)
{
    ub_node_room(((Endpoint *)opaque)->node, prog.now + prog.ahead, 0, vl);
}

static size_t port_wire_send(void *opaque, const uint8_t *data, size_t len)
{
    Endpoint *e = opaque;

    e->touched = true;
    return e->wire ? wire_pipe_send(wire_fd_pipe(e->wire), data, len) : 0;
}

static void port_wire_close(void *opaque)
{
    Endpoint *e = opaque;

    e->touched = true;
    if (e->wire) {
        wire_pipe_close(wire_fd_pipe(e->wire));
    }
}

static void port_rule(void *opaque, UbBreaker who, const char *text)
{
    g_printerr("endpoint %u: %s\n", ((Endpoint *)opaque)->index, text);
}

static void port_packet(void *opaque, bool sent, unsigned cfg, unsigned vl,
                        const uint8_t *data, size_t len)
{
    if (prog.capture) {
        ub_capture_packet(prog.capture, prog.now,
                          ((Endpoint *)opaque)->index, sent, cfg, vl, data,
                          len);
    }
}

static const UbCaptureOps capture_ops = { .packet = port_packet };

static const UbPortOps port_ops = {
    .rx = port_rx, .event = port_event, .tx_space = port_space,
    .kick = net_kick, .wire_send = port_wire_send,
    .wire_close = port_wire_close, .rule = port_rule,
    .capture = &capture_ops,
};

/* ---- sockets ---- */

static void pipe_state(void *opaque, bool open)
{
    Endpoint *e = opaque;

    e->open = open;
    if (open) {
        ub_port_wire_connected(e->port, prog.now);
    } else {
        ub_port_wire_disconnected(e->port, prog.now);
    }
}

static bool pipe_input(void *opaque, const uint8_t *data, size_t len)
{
    Endpoint *e = opaque;

    ub_port_wire_receive(e->port, prog.now, data, len);
    return e->open;
}

static void pipe_room(void *opaque)
{
    ub_port_wire_room(((Endpoint *)opaque)->port, prog.now);
}

static void pipe_broken(void *opaque, const char *rule)
{
    g_printerr("endpoint %u: peer: %s\n", ((Endpoint *)opaque)->index, rule);
}

static const WirePipeOps pipe_ops = {
    .state = pipe_state, .input = pipe_input, .room = pipe_room,
    .broken = pipe_broken,
};

static int open_socket(const char *path, bool listens)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(a.sun_path, path, sizeof(a.sun_path));
    if (listens) {
        unlink(path);
    }
    if (fd >= 0 && (strlen(path) >= sizeof(a.sun_path) ||
                    (listens ? bind(fd, (struct sockaddr *)&a, sizeof(a)) ||
                               listen(fd, 1)
                             : connect(fd, (struct sockaddr *)&a,
                                       sizeof(a))))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void take_wire(Endpoint *e, int fd)
{
    if (fd < 0) {
        e->retry = prog.now + RETRY_MS * INT64_C(1000000);
    } else if (e->wire) {
        close(fd);
    } else {
        e->wire = wire_fd_new(fd, &pipe_ops, e, true);
        e->retry = INT64_MAX;
        e->touched = true;
    }
}

static void run_wire(Endpoint *e)
{
    e->touched = false;
    if (e->wire && !wire_fd_run(e->wire)) {
        wire_fd_free(e->wire);
        e->wire = NULL;
        e->retry = e->listens ? INT64_MAX : prog.now + RETRY_MS * INT64_C(1000000);
    }
}

/* ---- the client ---- */

static void read_client(void)
{
    uint8_t buf[65536], *end;
    ssize_t n = recv(prog.client, buf, sizeof(buf), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0 || prog.input->len + n > LINE) {
        node_drop_client();
        return;
    }
    g_byte_array_append(prog.input, buf, n);
    while (prog.client >= 0 && prog.input->len &&
           (end = memchr(prog.input->data, '\n', prog.input->len))) {
        size_t len = end - prog.input->data;
        g_autofree char *line = g_strndup((char *)prog.input->data, len);

        g_byte_array_remove_range(prog.input, 0, len + 1);
        node_line(line, strlen(line));
    }
}

/* ---- life ---- */

static const char *make_port(Endpoint *e)
{
    const char *why = NULL;
    UbPortConfig pc;

    e->space = ub_space_new(1);
    e->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 65536);
    ub_port_config_init(&pc);
    if (prog.virtual_time) {
        pc.session = e->cna;    /* every run is the same */
    } else if (getrandom(&pc.session, 8, 0) != 8) {
        return "no random numbers";
    }
    pc.phy.lmsm.seed = pc.session;
    pc.phy.lmsm.time_scale = phy_scale;
    pc.dll_time_scale = dll_scale;
    e->port = ub_port_new(&pc, e->space, e->pool, &port_ops, e, &why);
    return e->port ? NULL : why ? why : "the port cannot be";
}

static const char *make_endpoint(const char *spec, unsigned cna)
{
    Endpoint *e = prog.endpoint[prog.endpoints] = g_new0(Endpoint, 1);
    UbSegment s = { .token_id = 1, .len = MEMORY, .rights = 7, .bare = true };
    UbNodeOps ops = { .net = &net_ops, .net_opaque = e, .ta = &node_ta_ops,
                      .ta_opaque = e };
    UbEid eid = ub_eid_of_short(cna);
    const char *why;
    UbNodeConfig nc = node_config;
    uint8_t ip[16];

    e->index = prog.endpoints++;
    e->cna = cna;
    e->listener = -1;
    e->listens = !g_str_has_prefix(spec, "connect:");
    e->path = g_strdup(e->listens ? spec : spec + strlen("connect:"));
    e->retry = e->listens ? INT64_MAX : 0;
    if (e->listens) {
        e->listener = open_socket(e->path, true);
        if (e->listener < 0) {
            return "no socket there";
        }
    }
    e->received = json_array();
    e->memory = g_malloc0(MEMORY);
    e->buffers = g_malloc0(BUFFER * BUFFERS);
    e->segments = ub_segments_new(4);
    s.host = e->memory;
    ub_segments_add(e->segments, &s);
    nc.ta.scale = ta_scale;
    ub_node_options_clocks(&nc, (UbTpScale) { tp_scale, 1000 });
    why = ub_node_config_check(&nc);
    e->node = ub_node_new(&nc, &ops, e);
    why = why ? why : make_port(e);
    if (why || !e->node) {
        return why ? why : "the node cannot be";
    }
    ub_port_schedule(e->port, nc.net.vl_strict, nc.net.vl_weight);
    ub_sec_set_entity(ub_node_sec(e->node), 0, &eid, 1);
    ub_net_set_primary(ub_node_net(e->node), cna);
    node_ip(cna, ip);
    if (!node_queues(e) || !ub_net_ip_add(ub_node_net(e->node), UB_LPH_IPV4, ip)) {
        return "the node cannot be";
    }
    ub_net_ip_route(ub_node_net(e->node), UB_LPH_IPV4, (uint8_t[16]) { 0 }, 0,
                    1);
    ub_port_enable(e->port, prog.now, true);
    return NULL;
}

static void free_endpoint(Endpoint *e)
{
    ub_node_free(e->node);
    ub_port_free(e->port);
    core_packet_pool_free(e->pool);
    ub_space_free(e->space);
    ub_segments_free(e->segments);
    if (e->wire) {
        wire_fd_free(e->wire);
    }
    if (e->listener >= 0) {
        close(e->listener);
        unlink(e->path);
    }
    json_decref(e->received);
    g_free(e->memory);
    g_free(e->buffers);
    g_free(e->path);
    g_free(e);
}

/* One turn; when to come back. */
static int64_t turn(void)
{
    int64_t next = INT64_MAX;

    if (prog.capture) {
        ub_capture_flush(prog.capture);
    }
    prog.kicked = false;
    for (unsigned i = 0; i < prog.endpoints; i++) {
        Endpoint *e = prog.endpoint[i];
        int64_t at;

        if (e->retry <= prog.now) {
            take_wire(e, open_socket(e->path, false));
        }
        if (e->wire && (e->touched || wire_fd_busy(e->wire))) {
            run_wire(e);
        }
        at = ub_node_run(e->node, prog.now + prog.ahead, 256);
        next = MIN(next, at == INT64_MAX ? at : at - prog.ahead);
        at = ub_port_run(e->port, prog.now);
        next = MIN(next, at);
        next = MIN(next, e->retry);
        if (e->wire && (e->touched || wire_fd_busy(e->wire))) {
            prog.kicked = true;
        }
    }
    return prog.kicked ? prog.now : next;
}

/* Virtual time goes to what is next when nothing is at the sockets; the client
 * says how far. */
static void go_on(int64_t next, bool idle)
{
    if (!prog.arriving || !idle || next <= prog.now) {
        return;
    }
    prog.now = MIN(next, prog.goal);
    if (prog.now == prog.goal && next > prog.goal) {
        node_arrived();
    }
}

/* How long the sockets may be waited for. */
static int64_t patience(int64_t next)
{
    if (prog.virtual_time) {
        return prog.arriving || next <= prog.now ? 0 : 1000000000;
    }
    return next == INT64_MAX ? 1000000000 : MAX(next - clock_now(), 0);
}

static void wait_for_work(int64_t next)
{
    struct pollfd p[2 * ENDPOINTS + 2];
    unsigned n = 0;
    int ready;
    int64_t wait = patience(next);
    struct timespec ts = { wait / 1000000000, wait % 1000000000 };

    for (unsigned i = 0; i < prog.endpoints; i++) {
        Endpoint *e = prog.endpoint[i];

        p[n++] = (struct pollfd) { e->listener, POLLIN, 0 };
        p[n++] = (struct pollfd) {
            e->wire ? wire_fd_descriptor(e->wire) : -1,
            e->wire ? wire_fd_events(e->wire) : 0, 0
        };
    }
    p[n++] = (struct pollfd) { prog.control, POLLIN, 0 };
    p[n++] = (struct pollfd) { prog.client, prog.output->len ? POLLIN | POLLOUT
                                                   : POLLIN, 0 };
    ready = ppoll(p, n, &ts, NULL);
    if (ready < 0) {
        return;
    }
    prog.now = clock_now();
    go_on(next, !ready);
    for (unsigned i = 0; i < prog.endpoints; i++) {
        Endpoint *e = prog.endpoint[i];

        if (p[2 * i].revents) {
            take_wire(e, accept4(e->listener, NULL, NULL, SOCK_CLOEXEC));
        }
        if (p[2 * i + 1].revents) {
            run_wire(e);
        }
    }
    if (prog.client >= 0 && p[n - 1].revents & POLLOUT) {
        node_flush_client();
    }
    if (prog.client >= 0 && p[n - 1].revents & ~POLLOUT) {
        read_client();
    }
    if (p[n - 2].revents) {
        int fd = accept4(prog.control, NULL, NULL, SOCK_CLOEXEC);

        if (prog.client >= 0) {
            close(fd);
        } else {
            prog.client = fd;
        }
    }
}

static void on_signal(int sig)
{
    told_to_stop = 1;
}

/* Name, default and meaning, with tabs between them. */
static void print_settings(void)
{
    UbNodeConfig c;
    unsigned n;
    const CoreOption *o = ub_node_options(&n);

    ub_node_config_init(&c);
    ub_node_options_no_clocks(&c);
    for (; n--; o++) {
        g_autofree char *text = core_option_text(o, &c);

        g_print("%s\t%s\t%s\n", o->name, text, o->text);
    }
}

static bool take_settings(char **sets)
{
    ub_node_config_init(&node_config);
    ub_node_options_no_clocks(&node_config);
    node_config.bare = true;
    node_config.net.ports = 1;
    for (; sets && *sets; sets++) {
        g_autofree char *why = NULL;

        if (!ub_node_option_set(&node_config, *sets, &why)) {
            g_printerr("ub-node: %s\n", why);
            return false;
        }
    }
    return true;
}

typedef struct Options {
    char **ports, **sets, *path;
    gboolean virtual_time, list;
    int cna;
} Options;

static bool take_options(Options *o, int *argc, char ***argv)
{
    const GOptionEntry entries[] = {
        { "port", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &o->ports,
          "One more endpoint, whose port listens at a unix socket, or behind "
          "connect: connects to one", "[connect:]PATH" },
        { "control", 'c', 0, G_OPTION_ARG_FILENAME, &o->path,
          "Unix socket for commands", "PATH" },
        { "cna", 0, 0, G_OPTION_ARG_INT, &o->cna,
          "CNA and EID of the first endpoint (1); others count on", "N" },
        { "time-scale", 0, 0, G_OPTION_ARG_INT, &phy_scale,
          "Multiplies the times of the physical layer (10)", "N" },
        { "dll-time-scale", 0, 0, G_OPTION_ARG_INT, &dll_scale,
          "Multiplies the times of the data link layer (1000)", "N" },
        { "tp-time-scale", 0, 0, G_OPTION_ARG_INT, &tp_scale,
          "Multiplies the times of the transport layer (1)", "N" },
        { "ta-time-scale", 0, 0, G_OPTION_ARG_INT, &ta_scale,
          "Multiplies the times of the transaction layer, in thousandths "
          "(1000)", "N" },
        { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &o->sets,
          "A setting of the layers, see --settings", "NAME=VALUE" },
        { "settings", 0, 0, G_OPTION_ARG_NONE, &o->list,
          "Say what settings there are, their defaults and their meanings",
          NULL },
        { "virtual", 0, 0, G_OPTION_ARG_NONE, &o->virtual_time,
          "Time stands but for what the command \"advance\" says", NULL },
        { NULL },
    };
    g_autoptr(GOptionContext) c = g_option_context_new("- UB endpoints");
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(c, entries, NULL);
    if (!g_option_context_parse(c, argc, argv, &error)) {
        g_printerr("ub-node: %s\n", error->message);
        return false;
    }
    return true;
}

static bool options_fit(const Options *o)
{
    unsigned n = o->ports ? g_strv_length(o->ports) : 0;

    if (!n || n > ENDPOINTS || !o->path || o->cna < 1 || o->cna + n > 0x10000 ||
        phy_scale < 1 || dll_scale < 1 || tp_scale < 1 || ta_scale < 1) {
        g_printerr("ub-node: 1 to 64 --port, --control, --cna from 1, scales "
                   "from 1\n");
        return false;
    }
    return true;
}

/* The endpoints, and the socket for commands. */
static bool begin(const Options *o)
{
    prog.virtual_time = o->virtual_time;
    prog.now = 1;
    prog.input = g_byte_array_new();
    prog.output = g_byte_array_new();
    prog.now = clock_now();
    for (unsigned i = 0; o->ports[i]; i++) {
        const char *why = make_endpoint(o->ports[i], o->cna + i);

        if (why) {
            g_printerr("ub-node: %s: %s\n", o->ports[i], why);
            return false;
        }
    }
    prog.control = open_socket(o->path, true);
    if (prog.control < 0) {
        g_printerr("ub-node: no control socket at %s\n", o->path);
    }
    return prog.control >= 0;
}

static int run(const Options *o)
{
    if (o->list) {
        print_settings();
        return 0;
    }
    if (!take_settings(o->sets) || !options_fit(o)) {
        return 1;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (!begin(o)) {
        return 1;
    }
    while (!prog.stopped && !told_to_stop) {
        wait_for_work(turn());
    }
    for (unsigned i = 0; i < prog.endpoints; i++) {
        free_endpoint(prog.endpoint[i]);
    }
    ub_capture_free(prog.capture);
    close(prog.control);
    unlink(o->path);
    g_byte_array_unref(prog.input);
    g_byte_array_unref(prog.output);
    return 0;
}

int main(int argc, char **argv)
{
    Options o = { .cna = 1 };
    int status = take_options(&o, &argc, &argv) ? run(&o) : 1;

    g_strfreev(o.ports);
    g_strfreev(o.sets);
    g_free(o.path);
    return status;
}
