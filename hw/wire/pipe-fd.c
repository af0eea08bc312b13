/*
 * A bare descriptor as the stream under a pipe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/fd.h"

/* Bytes of one turn, then others of the program have theirs. */
#define TURN (8 * WIRE_PIPE_PIECE)

struct WireFd {
    WirePipe *pipe;
    int fd;                /* -1: the connection is over */
    bool unix_socket, await_room, again, close;
    uint8_t *piece;
    const WireFdLayer *layer;   /* NULL: none */
    void *layer_opaque;
    bool agreed;                /* the layer has; true without one */
    const WirePipeOps *ops;
    void *opaque;
};

static ssize_t fd_write(void *opaque, const uint8_t *data, size_t len, int fd)
{
    WireFd *w = opaque;
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    ssize_t n;

    if (w->layer) {
        return w->agreed ? w->layer->send(w->layer_opaque, data, len) : 0;
    }
    if (fd >= 0) {
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
        msg.msg_control = &control;
        msg.msg_controllen = sizeof(control);
    }
    do {
        n = sendmsg(w->fd, &msg, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n < 0 && errno == EAGAIN ? 0 : n;
}

static bool fd_passes_fds(void *opaque)
{
    return ((WireFd *)opaque)->unix_socket;
}

static void fd_wake(void *opaque)
{
    static const uint8_t byte;

    fd_write(opaque, &byte, 1, -1);
}

static bool fd_await_room(void *opaque)
{
    return ((WireFd *)opaque)->await_room = true;
}

static void fd_again(void *opaque)
{
    ((WireFd *)opaque)->again = true;
}

static void fd_close(void *opaque)
{
    ((WireFd *)opaque)->close = true;
}

static const WirePipeBackend fd_backend = {
    .write = fd_write,
    .passes_fds = fd_passes_fds,
    .wake = fd_wake,
    .await_room = fd_await_room,
    .again = fd_again,
    .close = fd_close,
};

/* As recv(2), and the descriptor that came along, or -1. */
static ssize_t fd_recv(WireFd *w, int *fd)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(16 * sizeof(int))];
    } control;
    struct iovec iov = { .iov_base = w->piece, .iov_len = WIRE_PIPE_PIECE };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof(control),
    };
    ssize_t n;

    *fd = -1;
    if (w->layer) {
        return w->layer->recv(w->layer_opaque, w->piece, WIRE_PIPE_PIECE);
    }
    do {
        n = recvmsg(w->fd, &msg, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return n;
    }
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        size_t fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        for (size_t i = 0; i < fds; i++) {
            int one;

            memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (*fd < 0) {
                *fd = one;
            } else {
                close(one);
            }
        }
    }
    return n;
}

/* False: the other end is gone. */
static bool fd_read(WireFd *w)
{
    for (size_t total = 0; total < TURN && !w->close;) {
        int fd;
        ssize_t n = fd_recv(w, &fd);

        if (n <= 0) {
            return n < 0 && errno == EAGAIN;
        }
        total += n;
        if (!wire_pipe_input(w->pipe, w->piece, n, fd)) {
            return true;
        }
    }
    return true;
}

static WireFd *make(int fd, const WirePipeOps *ops, void *opaque, bool shm)
{
    WireFd *w = g_new0(WireFd, 1);
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof(addr);
    int on = 1;

    w->fd = fd;
    w->ops = ops;
    w->opaque = opaque;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    getsockname(fd, (struct sockaddr *)&addr, &len);
    w->unix_socket = addr.ss_family == AF_UNIX;
    if (!w->unix_socket) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    w->piece = g_malloc(WIRE_PIPE_PIECE);
    w->pipe = wire_pipe_new(&fd_backend, w, ops, opaque, shm);
    w->again = true;
    return w;
}

static void agreed(WireFd *w)
{
    w->agreed = true;
    wire_pipe_opened(w->pipe);
}

WireFd *wire_fd_new(int fd, const WirePipeOps *ops, void *opaque, bool shm)
{
    WireFd *w = make(fd, ops, opaque, shm);

    agreed(w);
    return w;
}

WireFd *wire_fd_new_layer(int fd, const WireFdLayer *layer, void *layer_opaque,
                          const WirePipeOps *ops, void *opaque)
{
    WireFd *w = make(fd, ops, opaque, false);

    /* What goes through a layer carries no descriptors. */
    w->unix_socket = false;
    w->layer = layer;
    w->layer_opaque = layer_opaque;
    return w;
}

static void hang_up(WireFd *w)
{
    if (w->fd >= 0) {
        if (w->layer) {
            w->layer->free(w->layer_opaque);
        }
        close(w->fd);
        w->fd = -1;
        wire_pipe_closed(w->pipe);
    }
}

void wire_fd_free(WireFd *w)
{
    if (w) {
        hang_up(w);
        wire_pipe_free(w->pipe);
        g_free(w->piece);
        g_free(w);
    }
}

WirePipe *wire_fd_pipe(WireFd *w)
{
    return w->pipe;
}

int wire_fd_descriptor(const WireFd *w)
{
    return w->fd;
}

/* The layer holds what the descriptor would not tell of. */
static bool layer_pending(const WireFd *w)
{
    return w->layer && w->fd >= 0 && w->agreed &&
           w->layer->pending(w->layer_opaque) && wire_pipe_ready(w->pipe);
}

static bool layer_unsent(const WireFd *w)
{
    return w->layer && w->layer->unsent(w->layer_opaque);
}

short wire_fd_events(const WireFd *w)
{
    if (w->fd < 0) {
        return 0;
    }
    return (!w->agreed || wire_pipe_ready(w->pipe) ? POLLIN : 0) |
           (w->await_room || layer_unsent(w) ? POLLOUT : 0);
}

bool wire_fd_busy(const WireFd *w)
{
    return w->again || w->close || layer_pending(w);
}

/* False: the descriptor is dead. */
static bool write_on(WireFd *w)
{
    if (layer_unsent(w)) {
        if (!w->layer->flush(w->layer_opaque)) {
            return false;
        }
        if (layer_unsent(w)) {
            return true;
        }
    }
    if (w->await_room) {
        w->await_room = false;
        wire_pipe_writable(w->pipe);
    }
    return true;
}

/* False: the two ends do not. */
static bool agree(WireFd *w)
{
    const char *why = NULL;
    int done = w->layer->agree(w->layer_opaque, &why);

    if (done > 0) {
        agreed(w);
    } else if (done < 0 && why) {
        w->ops->broken(w->opaque, why);
    }
    return done >= 0;
}

bool wire_fd_run(WireFd *w)
{
    struct pollfd now = { .fd = w->fd, .events = wire_fd_events(w) };
    bool alive = w->fd >= 0 && !w->close, readable;

    wire_pipe_guard(w->pipe, true);
    w->again = false;
    if (alive && poll(&now, 1, 0) < 0) {
        now.revents = 0;
    }
    if (alive && now.revents & POLLOUT) {
        alive = write_on(w);
    }
    if (alive && !w->agreed) {
        alive = agree(w);
    }
    readable = now.events & POLLIN &&
               now.revents & (POLLIN | POLLHUP | POLLERR);
    if (alive && w->agreed && (readable || layer_pending(w))) {
        alive = fd_read(w);
    }
    if (!alive || w->close) {
        hang_up(w);
    }
    wire_pipe_turn(w->pipe);
    wire_pipe_guard(w->pipe, false);
    return w->fd >= 0;
}
