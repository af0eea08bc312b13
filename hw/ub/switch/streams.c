/*
 * ub-switch: the byte streams of the ports.  One listens for its neighbour or
 * connects to it, again and again; one connection at a time, and before it a few that
 * have not proved who they are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program.h"

/* From one attempt to connect to the next, ns. */
#define RETRY INT64_C(200000000)

static void touch_stream(Stream *s)
{
    s->prog->touched |= UINT64_C(1) << s->port;
}

/* ---- The pipe's owner ------------------------------------------------------------- */

static void drop(Connection *c);

/* It is the neighbour: the others are not. */
static void take_peer(Connection *c)
{
    Stream *s = c->stream;

    s->peer = c;
    c->until = INT64_MAX;
    for (unsigned i = 0; i < HANDSHAKES; i++) {
        if (&s->conn[i] != c && s->conn[i].wire) {
            drop(&s->conn[i]);
        }
    }
}

static void pipe_state(void *opaque, bool open)
{
    Connection *c = opaque;
    Stream *s = c->stream;

    if (s->prog->verbose) {
        g_printerr("port %u: %s\n", s->port,
                   open ? "connected" : "disconnected");
    }
    if (open) {
        take_peer(c);
        ub_switch_wire_connected(s->prog->sw, s->prog->now, s->port);
    } else {
        s->peer = NULL;
        ub_switch_wire_disconnected(s->prog->sw, s->prog->now, s->port);
    }
}

static bool pipe_input(void *opaque, const uint8_t *data, size_t len)
{
    Connection *c = opaque;
    Stream *s = c->stream;

    c->heard = true;
    ub_switch_wire_receive(s->prog->sw, s->prog->now, s->port, data, len);
    return s->peer == c;
}

static void pipe_room(void *opaque)
{
    Stream *s = ((Connection *)opaque)->stream;

    ub_switch_wire_room(s->prog->sw, s->prog->now, s->port);
}

static void pipe_broken(void *opaque, const char *rule)
{
    Stream *s = ((Connection *)opaque)->stream;

    s->broken++;
    g_printerr("port %u: peer: %s\n", s->port, rule);
}

static const WirePipeOps pipe_ops = {
    .state = pipe_state, .input = pipe_input, .room = pipe_room,
    .broken = pipe_broken,
};

/* ---- The switch's outside --------------------------------------------------------- */

static void on_kick(void *opaque)
{
    ((Program *)opaque)->kicked = true;
}

static size_t on_send(void *opaque, unsigned port, const uint8_t *data,
                      size_t len)
{
    Stream *s = &((Program *)opaque)->stream[port];

    touch_stream(s);
    return s->peer ? wire_pipe_send(wire_fd_pipe(s->peer->wire), data, len) : 0;
}

static void on_close(void *opaque, unsigned port)
{
    Stream *s = &((Program *)opaque)->stream[port];

    touch_stream(s);
    if (s->peer) {
        wire_pipe_close(wire_fd_pipe(s->peer->wire));
    }
}

static void on_rule(void *opaque, unsigned port, const char *text)
{
    Program *p = opaque;

    if (p->verbose) {
        g_printerr("port %u: peer: %s\n", port, text);
    }
}

static void on_link(void *opaque, unsigned port)
{
    ub_switch_admin_link(((Program *)opaque)->admin, port);
}

static void on_slot(void *opaque, unsigned slot)
{
    Program *p = opaque;

    /* It shows something before there is anybody to tell. */
    if (p->admin) {
        ub_switch_admin_slot(p->admin, slot);
    }
}

static void on_packet(void *opaque, unsigned port, bool sent, unsigned cfg,
                      unsigned vl, const uint8_t *data, size_t len)
{
    Program *p = opaque;

    ub_switch_admin_capture(p->admin, p->now, port, sent, cfg, vl, data, len);
}

const UbSwitchOps streams_ops = {
    .kick = on_kick, .wire_send = on_send, .wire_close = on_close,
    .rule = on_rule, .link = on_link, .slot = on_slot,
    .capture = on_packet,
    .ethernet_send = frames_send, .ethernet_has_room = frames_room,
};

/* ---- Connections ---------------------------------------------------------------------- */

/* Whoever waits to be accepted is looked at again. */
static void listen_again(Stream *s)
{
    if (s->waits) {
        s->waits = false;
        source_watch(s->prog, &s->listener, EPOLLIN);
    }
}

static void drop(Connection *c)
{
    Stream *s = c->stream;

    source_watch(s->prog, &c->source, 0);
    c->source.fd = -1;
    wire_fd_free(c->wire);
    c->wire = NULL;
    c->until = INT64_MAX;
    if (s->peer == c) {
        s->peer = NULL;
    }
    if (!s->listens) {
        s->retry = s->prog->now + RETRY;
    }
    listen_again(s);
}

static void run(Connection *c)
{
    touch_stream(c->stream);
    if (c->wire && !wire_fd_run(c->wire)) {
        drop(c);
    }
}

static void wire_ready(Source *source, uint32_t events)
{
    run((Connection *)((char *)source - offsetof(Connection, source)));
}

static void take(Connection *c, int fd)
{
    Stream *s = c->stream;

    if (s->tls) {
        c->wire = wire_fd_new_tls(fd, s->prog->tls, s->listens, s->host,
                                  &pipe_ops, c);
        c->until = s->prog->now + s->prog->patience;
    } else {
        c->wire = wire_fd_new(fd, &pipe_ops, c, s->prog->shm);
    }
    if (!g_str_has_prefix(s->address, "unix:")) {
        address_keep_alive(fd);
    }
    c->since = s->prog->now;
    c->heard = false;
    c->source = (Source) { .fd = fd, .ready = wire_ready };
    s->retry = INT64_MAX;
    run(c);
}

/* It has the port and says nothing, though it had time: it may be anybody. */
static bool mute(const Connection *c)
{
    const Program *p = c->stream->prog;

    return !c->heard && p->now - c->since >= p->patience;
}

/* For one more; NULL: there is to be no other. */
static Connection *make_place(Stream *s)
{
    Connection *oldest = &s->conn[0];

    if (s->peer && mute(s->peer)) {
        pipe_broken(s->peer, "it says nothing, and another one is there");
        wire_pipe_close(wire_fd_pipe(s->peer->wire));
        run(s->peer);
    }
    if (s->peer || (!s->tls && s->conn[0].wire)) {
        return NULL;
    }
    for (unsigned i = 0; i < HANDSHAKES; i++) {
        Connection *c = &s->conn[i];

        if (!c->wire) {
            return c;
        }
        oldest = c->until < oldest->until ? c : oldest;
    }
    drop(oldest);
    return oldest;
}

static void listener_ready(Source *source, uint32_t events)
{
    Stream *s = (Stream *)((char *)source - offsetof(Stream, listener));
    Connection *c = make_place(s);
    int fd;

    if (!c) {
        /* One at a time.  The next one waits, as before a socket of QEMU's: hung up on, it
         * would come again and again. */
        s->waits = true;
        source_watch(s->prog, &s->listener, 0);
        return;
    }
    fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        take(c, fd);
    }
}

static void connect_stream(Stream *s)
{
    int fd = target_connect(s->target);

    if (fd < 0) {
        s->retry = s->prog->now + RETRY;
        return;
    }
    take(&s->conn[0], fd);
}

bool streams_add(Program *p, const char *spec, const char **why)
{
    Stream *s = &p->stream[p->streams];

    if (p->streams == UB_SWITCH_MAX_PORTS) {
        *why = "there are 64 ports at most";
        return false;
    }
    *s = (Stream) {
        .prog = p, .port = p->streams, .listener = { .fd = -1 },
        .retry = INT64_MAX,
    };
    for (unsigned i = 0; i < HANDSHAKES; i++) {
        s->conn[i] = (Connection) { .stream = s, .source = { .fd = -1 },
                                    .until = INT64_MAX };
    }
    p->streams++;
    if (!strcmp(spec, "none")) {
        return true;
    }
    s->listens = !g_str_has_prefix(spec, "connect:");
    s->address = g_strdup(s->listens ? spec : spec + strlen("connect:"));
    if (!address_valid(s->address)) {
        *why = "a port is [connect:]unix:PATH, [connect:]tcp:HOST:PORT, "
               "[connect:]tls:HOST:PORT or none";
        return false;
    }
    s->tls = address_tls(s->address);
    if (s->tls && (!p->tls || !wire_tls_creds_serve(p->tls, s->listens))) {
        *why = s->listens ? "a port with TLS wants --tls-creds of a server"
                          : "a port with TLS wants --tls-creds of a client";
        return false;
    }
    if (!s->listens) {
        s->host = s->tls ? address_host(s->address) : NULL;
        s->target = target_new(s->address, false, why);
        s->retry = 0;
        return s->target;
    }
    s->listener.fd = address_listen(s->address, why);
    s->listener.ready = listener_ready;
    if (s->listener.fd >= 0) {
        address_bound(s->listener.fd, &s->address);
        source_watch(p, &s->listener, EPOLLIN);
    }
    return s->listener.fd >= 0;
}

/* ---- Turns ---------------------------------------------------------------------------------- */

void streams_turn(Program *p)
{
    for (uint64_t left = p->touched; left; left &= left - 1) {
        Stream *s = &p->stream[__builtin_ctzll(left)];

        for (unsigned i = 0; i < HANDSHAKES; i++) {
            Connection *c = &s->conn[i];

            if (c->wire && wire_fd_busy(c->wire)) {
                run(c);
            }
        }
    }
    for (unsigned i = 0; i < p->streams; i++) {
        Stream *s = &p->stream[i];

        for (unsigned k = 0; k < HANDSHAKES; k++) {
            if (s->conn[k].until <= p->now) {
                pipe_broken(&s->conn[k], "TLS: it says nothing");
                drop(&s->conn[k]);
            }
        }
        if (s->retry <= p->now) {
            connect_stream(s);
        }
        if (s->peer && mute(s->peer)) {
            listen_again(s);
        }
    }
}

/* Ask for what it waits for; true: it has something to do by itself. */
static bool settle(Program *p, Connection *c)
{
    short events = wire_fd_events(c->wire);

    source_watch(p, &c->source, (events & POLLIN ? EPOLLIN : 0) |
                 (events & POLLOUT ? EPOLLOUT : 0));
    return wire_fd_busy(c->wire);
}

bool streams_settle(Program *p)
{
    uint64_t busy = 0;

    for (uint64_t left = p->touched; left; left &= left - 1) {
        Stream *s = &p->stream[__builtin_ctzll(left)];

        for (unsigned i = 0; i < HANDSHAKES; i++) {
            if (s->conn[i].wire && settle(p, &s->conn[i])) {
                busy |= UINT64_C(1) << s->port;
            }
        }
    }
    p->touched = busy;
    return busy;
}

int64_t streams_deadline(const Program *p)
{
    int64_t next = INT64_MAX;

    for (unsigned i = 0; i < p->streams; i++) {
        const Stream *s = &p->stream[i];

        next = MIN(next, s->retry);
        if (s->waits && s->peer && !s->peer->heard) {
            next = MIN(next, s->peer->since + p->patience);
        }
        for (unsigned k = 0; k < HANDSHAKES; k++) {
            next = MIN(next, s->conn[k].until);
        }
    }
    return next;
}

void streams_free(Program *p)
{
    for (unsigned i = 0; i < p->streams; i++) {
        Stream *s = &p->stream[i];

        for (unsigned k = 0; k < HANDSHAKES; k++) {
            if (s->conn[k].wire) {
                drop(&s->conn[k]);
            }
        }
        if (s->listener.fd >= 0) {
            close(s->listener.fd);
            if (g_str_has_prefix(s->address, "unix:")) {
                unlink(s->address + strlen("unix:"));
            }
        }
        g_free(s->address);
        g_free(s->host);
        target_free(s->target);
    }
}

void streams_wire(void *opaque, unsigned port, UbSwitchWire *out)
{
    const Stream *s = &((Program *)opaque)->stream[port];
    bool to, from;

    if (port >= ((Program *)opaque)->streams) {
        frames_wire(opaque, port, out);
        return;
    }
    out->broken = s->broken;
    out->address = s->address;
    if (s->peer) {
        WirePipe *pipe = wire_fd_pipe(s->peer->wire);
        const WirePipeStats *st = wire_pipe_stats(pipe);

        wire_pipe_shared(pipe, &to, &from);
        out->kind = s->tls ? "tls" : to && from ? "shared-memory" : "socket";
        out->sent = st->sent;
        out->received = st->received;
    }
}
