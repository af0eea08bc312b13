/*
 * ub-switch: the sockets of Ethernet ports, as QEMU's netdevs have them: "stream"
 * puts the length of a frame in four bytes in front of it, "dgram" sends a frame as a
 * datagram.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/bytes.h"
#include "program.h"

/* From one attempt to connect to the next; to a datagram that found no room, ns. */
#define RETRY INT64_C(200000000)
#define AGAIN INT64_C(1000000)
#define HEAD 4
/* The longest frame of QEMU's netdevs: longer ones are none. */
#define FRAME_MAX 69632
/* What may wait to be sent. */
#define OUT_MAX (256u << 10)
/* Datagrams of one turn. */
#define BUDGET 64

struct FrameSocket {
    Program *prog;
    unsigned port;
    char *address;
    bool listens, dgram;
    bool connecting;   /* it is not known yet whether somebody answers */
    bool dead;         /* to be closed */
    bool full;         /* the switch was told so */
    Target *target;    /* to connect */
    struct sockaddr_un to;  /* dgram */
    char *own;         /* dgram: our path */
    Source listener, source;
    int64_t retry;     /* when to connect, or send, again */
    GByteArray *out;   /* frames, each behind its length */
    uint8_t in[HEAD + FRAME_MAX];
    uint32_t in_len;
    uint64_t sent, received, broken;
};

static FrameSocket *frame_socket(const Program *p, unsigned port)
{
    return p->frames[port - p->streams];
}

/* ---- Out --------------------------------------------------------------------------- */

static void watch(FrameSocket *f)
{
    bool out = f->connecting || (f->out->len && !f->dgram);

    source_watch(f->prog, &f->source, EPOLLIN | (out ? EPOLLOUT : 0));
}

/* The first of what waits: sent bytes, 0 (later) or -1. */
static ssize_t send_some(FrameSocket *f)
{
    ssize_t n;

    if (!f->dgram) {
        n = send(f->source.fd, f->out->data, f->out->len,
                 MSG_NOSIGNAL | MSG_DONTWAIT);
    } else {
        uint32_t len = get_be32(f->out->data);

        n = sendto(f->source.fd, f->out->data + HEAD, len,
                   MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&f->to,
                   sizeof(f->to));
        /* Where nobody listens frames are lost, as on a cable. */
        n = n >= 0 || (errno != EAGAIN && errno != ENOBUFS) ? HEAD + len : n;
    }
    return n >= 0 ? n : errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

static void flush(FrameSocket *f)
{
    while (f->out->len && f->source.fd >= 0 && !f->dead && !f->connecting) {
        ssize_t n = send_some(f);

        if (n < 0) {
            f->dead = true;
        } else if (!n) {
            f->retry = f->dgram ? f->prog->now + AGAIN : f->retry;
            break;
        } else {
            f->sent += n;
            g_byte_array_remove_range(f->out, 0, n);
        }
    }
}

bool frames_send(void *opaque, unsigned port, const uint8_t *frame,
                 uint32_t len)
{
    FrameSocket *f = frame_socket(opaque, port);
    uint8_t head[HEAD];

    if (f->source.fd < 0 || f->dead || f->out->len > OUT_MAX) {
        return false;
    }
    put_be32(head, len);
    g_byte_array_append(f->out, head, HEAD);
    g_byte_array_append(f->out, frame, len);
    flush(f);
    watch(f);
    return true;
}

bool frames_room(void *opaque, unsigned port)
{
    FrameSocket *f = frame_socket(opaque, port);

    f->full = f->out->len > OUT_MAX;
    return !f->full;
}

static void tell_room(FrameSocket *f)
{
    if (f->full && f->out->len <= OUT_MAX / 2) {
        f->full = false;
        ub_switch_ethernet_room(f->prog->sw, f->prog->now, f->port);
    }
}

/* ---- In ------------------------------------------------------------------------------ */

static void take_frame(FrameSocket *f, const uint8_t *frame, uint32_t len)
{
    f->received += len;
    ub_switch_ethernet_rx(f->prog->sw, f->prog->now, f->port, frame, len);
}

/* The frames that are whole. */
static void take_frames(FrameSocket *f)
{
    uint32_t at = 0;

    while (f->in_len - at >= HEAD) {
        uint32_t len = get_be32(f->in + at);

        if (len > FRAME_MAX) {
            f->broken++;
            f->dead = true;
            g_printerr("port %u: peer: a frame of %u bytes\n", f->port, len);
            return;
        }
        if (f->in_len - at < HEAD + len) {
            break;
        }
        take_frame(f, f->in + at + HEAD, len);
        at += HEAD + len;
    }
    memmove(f->in, f->in + at, f->in_len - at);
    f->in_len -= at;
}

static void read_stream(FrameSocket *f)
{
    ssize_t n = recv(f->source.fd, f->in + f->in_len,
                     sizeof(f->in) - f->in_len, MSG_DONTWAIT);

    if (n > 0) {
        f->in_len += n;
        take_frames(f);
    } else if (!n || (errno != EAGAIN && errno != EINTR)) {
        f->dead = true;
    }
}

static void read_dgrams(FrameSocket *f)
{
    for (unsigned i = 0; i < BUDGET; i++) {
        ssize_t n = recv(f->source.fd, f->in, sizeof(f->in), MSG_DONTWAIT);

        if (n < 0) {
            return;
        }
        take_frame(f, f->in, n);
    }
}

/* ---- Connections ------------------------------------------------------------------------ */

static void set_link(FrameSocket *f, bool up)
{
    if (f->prog->verbose) {
        g_printerr("port %u: %s\n", f->port, up ? "connected" : "disconnected");
    }
    ub_switch_ethernet_link(f->prog->sw, f->prog->now, f->port, up);
}

static void hang_up(FrameSocket *f)
{
    bool up = !f->connecting;

    source_watch(f->prog, &f->source, 0);
    close(f->source.fd);
    f->source.fd = -1;
    f->connecting = f->dead = f->full = false;
    f->in_len = 0;
    g_byte_array_set_size(f->out, 0);
    f->retry = f->target ? f->prog->now + RETRY : INT64_MAX;
    if (up) {
        set_link(f, false);
    }
}

static void connected(FrameSocket *f)
{
    int error = 0;
    socklen_t len = sizeof(error);

    getsockopt(f->source.fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
        hang_up(f);
        return;
    }
    f->connecting = false;
    set_link(f, true);
    watch(f);
}

static void socket_ready(Source *source, uint32_t events)
{
    FrameSocket *f = (FrameSocket *)((char *)source -
                                     offsetof(FrameSocket, source));

    if (f->connecting) {
        connected(f);
        return;
    }
    if (events & EPOLLOUT) {
        flush(f);
        tell_room(f);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        if (f->dgram) {
            read_dgrams(f);
        } else {
            read_stream(f);
        }
    }
    if (f->dead) {
        hang_up(f);
    } else {
        watch(f);
    }
}

static void take_fd(FrameSocket *f, int fd, bool connecting)
{
    if (g_str_has_prefix(f->address, "tcp:")) {
        address_keep_alive(fd);
    }
    f->source = (Source) { .fd = fd, .ready = socket_ready };
    f->connecting = connecting;
    f->retry = INT64_MAX;
    watch(f);
    if (!connecting) {
        set_link(f, true);
    }
}

static void listener_ready(Source *source, uint32_t events)
{
    FrameSocket *f = (FrameSocket *)((char *)source -
                                     offsetof(FrameSocket, listener));
    int fd = accept4(f->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        return;
    }
    if (f->source.fd >= 0) {
        close(fd); /* one at a time */
    } else {
        take_fd(f, fd, false);
    }
}

/* What a former run has left behind makes room: a socket that nobody has. */
static void remove_dead(int fd, const struct sockaddr_un *un)
{
    if (address_is_socket(un->sun_path) &&
        connect(fd, (const struct sockaddr *)un, sizeof(*un)) &&
        errno == ECONNREFUSED) {
        unlink(un->sun_path);
    }
}

/* LOCAL,REMOTE: two paths.  NULL, or what is wrong. */
static const char *open_dgram(FrameSocket *f, const char *spec)
{
    const char *comma = strchr(spec, ',');
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd;

    f->to = un;
    if (!comma || comma == spec || !comma[1] ||
        comma - spec >= sizeof(un.sun_path) ||
        g_strlcpy(f->to.sun_path, comma + 1, sizeof(un.sun_path)) >=
        sizeof(un.sun_path)) {
        return "a datagram link is dgram:PATH,PATH, ours first";
    }
    memcpy(un.sun_path, spec, comma - spec);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        remove_dead(fd, &un);
    }
    if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un))) {
        const char *why = strerror(errno);

        if (fd >= 0) {
            close(fd);
        }
        return why;
    }
    f->own = g_strdup(un.sun_path);
    take_fd(f, fd, false);
    return NULL;
}

static const char *open_stream(FrameSocket *f)
{
    const char *why = NULL;

    if (!address_valid(f->address) || address_tls(f->address)) {
        return "an Ethernet port is [connect:]unix:PATH, "
               "[connect:]tcp:HOST:PORT or dgram:PATH,PATH";
    }
    if (!f->listens) {
        f->target = target_new(f->address, false, &why);
        f->retry = 0;
        return why;
    }
    f->listener.fd = address_listen(f->address, &why);
    f->listener.ready = listener_ready;
    if (f->listener.fd >= 0) {
        address_bound(f->listener.fd, &f->address);
        source_watch(f->prog, &f->listener, EPOLLIN);
    }
    return why;
}

bool frames_add(Program *p, const char *spec, const char **why)
{
    FrameSocket *f = g_new0(FrameSocket, 1);

    f->prog = p;
    f->port = p->streams + p->frame_sockets;
    f->listener.fd = f->source.fd = -1;
    f->retry = INT64_MAX;
    f->out = g_byte_array_new();
    p->frames[p->frame_sockets++] = f;
    f->dgram = g_str_has_prefix(spec, "dgram:");
    f->listens = !f->dgram && !g_str_has_prefix(spec, "connect:");
    f->address = g_strdup(f->listens || f->dgram ? spec
                          : spec + strlen("connect:"));
    *why = f->dgram ? open_dgram(f, spec + strlen("dgram:")) : open_stream(f);
    return !*why;
}

/* ---- Turns --------------------------------------------------------------------------------- */

static void turn(FrameSocket *f)
{
    if (f->dead) {
        hang_up(f);
    }
    if (f->retry > f->prog->now) {
        return;
    }
    f->retry = INT64_MAX;
    if (f->dgram) {
        flush(f);
        tell_room(f);
    } else {
        int fd = target_connect(f->target);

        if (fd >= 0) {
            take_fd(f, fd, true);
        } else {
            f->retry = f->prog->now + RETRY;
        }
    }
}

void frames_turn(Program *p)
{
    for (unsigned i = 0; i < p->frame_sockets; i++) {
        turn(p->frames[i]);
    }
}

int64_t frames_deadline(const Program *p)
{
    int64_t next = INT64_MAX;

    for (unsigned i = 0; i < p->frame_sockets; i++) {
        next = MIN(next, p->frames[i]->dead ? 0 : p->frames[i]->retry);
    }
    return next;
}

void frames_wire(const Program *p, unsigned port, UbSwitchWire *out)
{
    const FrameSocket *f = frame_socket(p, port);

    if (!f) {
        return; /* asked before there are any */
    }
    out->address = f->address;
    out->kind = f->source.fd < 0 || f->connecting ? NULL
                : f->dgram ? "dgram" : "stream";
    out->sent = f->sent;
    out->received = f->received;
    out->broken = f->broken;
}

void frames_free(Program *p)
{
    for (unsigned i = 0; i < p->frame_sockets; i++) {
        FrameSocket *f = p->frames[i];

        if (f->source.fd >= 0) {
            close(f->source.fd);
        }
        if (f->listener.fd >= 0) {
            close(f->listener.fd);
            if (g_str_has_prefix(f->address, "unix:")) {
                unlink(f->address + strlen("unix:"));
            }
        }
        if (f->own) {
            unlink(f->own);
        }
        g_byte_array_unref(f->out);
        target_free(f->target);
        g_free(f->own);
        g_free(f->address);
        g_free(f);
    }
}
