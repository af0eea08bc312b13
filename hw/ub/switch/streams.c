/*
 * ub-switch: the byte streams of the ports.  One listens for its neighbour or
 * connects to it, again and again; one connection at a time.
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

static void pipe_state(void *opaque, bool open)
{
    Stream *s = opaque;

    if (s->prog->verbose) {
        g_printerr("port %u: %s\n", s->port,
                   open ? "connected" : "disconnected");
    }
    s->open = open;
    s->until = INT64_MAX;
    if (open) {
        ub_switch_wire_connected(s->prog->sw, s->prog->now, s->port);
    } else {
        ub_switch_wire_disconnected(s->prog->sw, s->prog->now, s->port);
    }
}

static bool pipe_input(void *opaque, const uint8_t *data, size_t len)
{
    Stream *s = opaque;

    ub_switch_wire_receive(s->prog->sw, s->prog->now, s->port, data, len);
    return s->open;
}

static void pipe_room(void *opaque)
{
    Stream *s = opaque;

    ub_switch_wire_room(s->prog->sw, s->prog->now, s->port);
}

static void pipe_broken(void *opaque, const char *rule)
{
    Stream *s = opaque;

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
    return s->wire ? wire_pipe_send(wire_fd_pipe(s->wire), data, len) : 0;
}

static void on_close(void *opaque, unsigned port)
{
    Stream *s = &((Program *)opaque)->stream[port];

    touch_stream(s);
    if (s->wire) {
        wire_pipe_close(wire_fd_pipe(s->wire));
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

static void on_packet(void *opaque, unsigned port, bool sent, unsigned cfg,
                      unsigned vl, const uint8_t *data, size_t len)
{
    Program *p = opaque;

    ub_switch_admin_capture(p->admin, p->now, port, sent, cfg, vl, data, len);
}

const UbSwitchOps streams_ops = {
    .kick = on_kick, .wire_send = on_send, .wire_close = on_close,
    .rule = on_rule, .link = on_link, .capture = on_packet,
};

/* ---- Connections ---------------------------------------------------------------------- */

static void drop_wire(Stream *s)
{
    source_watch(s->prog, &s->wire_source, 0);
    s->wire_source.fd = -1;
    wire_fd_free(s->wire);
    s->wire = NULL;
    s->until = INT64_MAX;
    if (!s->listens) {
        s->retry = s->prog->now + RETRY;
    }
}

static void run_wire(Stream *s)
{
    touch_stream(s);
    if (s->wire && !wire_fd_run(s->wire)) {
        drop_wire(s);
    }
}

static void wire_ready(Source *source, uint32_t events)
{
    run_wire((Stream *)((char *)source - offsetof(Stream, wire_source)));
}

static void take_wire(Stream *s, int fd)
{
    if (s->tls) {
        s->wire = wire_fd_new_tls(fd, s->prog->tls, s->listens, s->host,
                                  &pipe_ops, s);
        s->until = s->prog->now + s->prog->patience;
    } else {
        s->wire = wire_fd_new(fd, &pipe_ops, s, s->prog->shm);
    }
    s->wire_source = (Source) { .fd = fd, .ready = wire_ready };
    s->retry = INT64_MAX;
    run_wire(s);
}

static void listener_ready(Source *source, uint32_t events)
{
    Stream *s = (Stream *)((char *)source - offsetof(Stream, listener));
    int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        return;
    }
    if (s->wire) {
        close(fd); /* one at a time */
        return;
    }
    take_wire(s, fd);
}

static void connect_stream(Stream *s)
{
    const char *why;
    int fd = address_connect(s->address, &why);

    if (fd < 0) {
        s->retry = s->prog->now + RETRY;
        return;
    }
    take_wire(s, fd);
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
        .wire_source = { .fd = -1 }, .retry = INT64_MAX, .until = INT64_MAX,
    };
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
        s->retry = 0;
        return true;
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

        if (s->wire && wire_fd_busy(s->wire)) {
            run_wire(s);
        }
    }
    for (unsigned i = 0; i < p->streams; i++) {
        Stream *s = &p->stream[i];

        if (s->until <= p->now) {
            pipe_broken(s, "TLS: it says nothing");
            drop_wire(s);
        }
        if (s->retry <= p->now) {
            connect_stream(s);
        }
    }
}

bool streams_settle(Program *p)
{
    uint64_t busy = 0;

    for (uint64_t left = p->touched; left; left &= left - 1) {
        Stream *s = &p->stream[__builtin_ctzll(left)];
        short events;

        if (!s->wire) {
            continue;
        }
        events = wire_fd_events(s->wire);
        source_watch(p, &s->wire_source, (events & POLLIN ? EPOLLIN : 0) |
                     (events & POLLOUT ? EPOLLOUT : 0));
        if (wire_fd_busy(s->wire)) {
            busy |= UINT64_C(1) << s->port;
        }
    }
    p->touched = busy;
    return busy;
}

int64_t streams_deadline(const Program *p)
{
    int64_t next = INT64_MAX;

    for (unsigned i = 0; i < p->streams; i++) {
        next = MIN(next, MIN(p->stream[i].retry, p->stream[i].until));
    }
    return next;
}

void streams_free(Program *p)
{
    for (unsigned i = 0; i < p->streams; i++) {
        Stream *s = &p->stream[i];

        if (s->wire) {
            drop_wire(s);
        }
        if (s->listener.fd >= 0) {
            close(s->listener.fd);
            if (g_str_has_prefix(s->address, "unix:")) {
                unlink(s->address + strlen("unix:"));
            }
        }
        g_free(s->address);
        g_free(s->host);
    }
}

void streams_wire(void *opaque, unsigned port, UbSwitchWire *out)
{
    const Stream *s = &((Program *)opaque)->stream[port];
    bool to, from;

    out->broken = s->broken;
    out->address = s->address;
    if (s->wire && s->open) {
        const WirePipeStats *st = wire_pipe_stats(wire_fd_pipe(s->wire));

        wire_pipe_shared(wire_fd_pipe(s->wire), &to, &from);
        out->kind = s->tls ? "tls" : to && from ? "shared-memory" : "socket";
        out->sent = st->sent;
        out->received = st->received;
    }
}
