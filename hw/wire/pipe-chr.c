/*
 * A character device as the stream under a pipe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "chardev/char-fe.h"
#include "chardev/char-socket.h"
#include "io/channel-socket.h"
#include "qemu/main-loop.h"
#include "qemu/notify.h"
#include "qemu/units.h"
#include "system/runstate.h"
#include "system/runstate-action.h"
#include "core/qemu_aio.h"
#include "wire/chr.h"

enum {
    /* Bytes of one turn, then others of the loop have theirs. */
    TURN = 1 * MiB,
};

struct WireChr {
    CharFrontend *be;
    WirePipe *pipe;
    AioContext *ctx;
    GMainContext *gctx;
    Notifier ends;
    bool ended;      /* the emulator ends: @be is not touched any more */
    QEMUBH *turn_bh, *close_bh;
    guint watch;
    int wake_fd;     /* the socket again, -1: it is none */
    uint8_t *piece;
};

/* The one that this thread writes to now: its owner's lock is held. */
static __thread WireChr *writing;

/*
 * The channel under a character device, whose bytes are the stream as the
 * front end sees it.  Telnet has escapes in its stream, and a recorded run must
 * see the same pieces when it is replayed: both happen above the channel.
 */
static QIOChannel *chr_channel(WireChr *c)
{
    Chardev *chr = qemu_chr_fe_get_driver(c->be);
    SocketChardev *s = (SocketChardev *)object_dynamic_cast(
        OBJECT(chr), TYPE_CHARDEV_SOCKET);

    if (!s || s->do_telnetopt || s->state != TCP_CHARDEV_STATE_CONNECTED ||
        qemu_chr_has_feature(chr, QEMU_CHAR_FEATURE_REPLAY)) {
        return NULL;
    }
    return s->ioc;
}

/* ---- What the pipe asks for ---- */

static ssize_t chr_write(void *opaque, const uint8_t *data, size_t len,
                         int fd)
{
    WireChr *c = opaque;
    int n;

    if (c->ended) {
        return -1;
    }
    if (fd >= 0) {
        qemu_chr_fe_set_msgfds(c->be, &fd, 1);
    }
    writing = c;
    n = qemu_chr_fe_write(c->be, data, MIN(len, INT_MAX));
    writing = NULL;
    if (n < 0) {
        if (fd >= 0) {
            qemu_chr_fe_set_msgfds(c->be, NULL, 0);
        }
        return errno == EAGAIN ? 0 : -1;
    }
    return n;
}

static bool chr_passes_fds(void *opaque)
{
    WireChr *c = opaque;
    QIOChannel *ioc = c->ended ? NULL : chr_channel(c);

    return ioc && c->wake_fd >= 0 &&
           qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_FD_PASS);
}

/*
 * A character device belongs to one thread, which takes it apart when a write finds
 * nobody at the other end.  A byte by a descriptor of our own comes from any, and who
 * reads finds that out.
 */
static void chr_wake(void *opaque)
{
    static const uint8_t byte;
    WireChr *c = opaque;

    if (c->wake_fd >= 0) {
        (void)!send(c->wake_fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

static void chr_forget_wake(WireChr *c)
{
    if (c->wake_fd >= 0) {
        close(c->wake_fd);
        c->wake_fd = -1;
    }
}

static gboolean chr_room(void *do_not_use, GIOCondition cond, void *opaque)
{
    WireChr *c = opaque;

    wire_pipe_guard(c->pipe, true);
    c->watch = 0;
    wire_pipe_writable(c->pipe);
    wire_pipe_guard(c->pipe, false);
    return G_SOURCE_REMOVE;
}

static bool chr_await_room(void *opaque)
{
    WireChr *c = opaque;

    if (!c->watch && !c->ended) {
        c->watch = qemu_chr_fe_add_watch(c->be, G_IO_OUT | G_IO_HUP, chr_room,
                                         c);
    }
    return c->watch;
}

static void chr_again(void *opaque)
{
    WireChr *c = opaque;

    qemu_bh_schedule(c->turn_bh);
}

static void chr_close(void *opaque)
{
    WireChr *c = opaque;

    qemu_bh_schedule(c->close_bh);
}

static const WirePipeBackend chr_backend = {
    .write = chr_write,
    .passes_fds = chr_passes_fds,
    .wake = chr_wake,
    .await_room = chr_await_room,
    .again = chr_again,
    .close = chr_close,
};

/* ---- What the character device tells ---- */

static void chr_opened(WireChr *c)
{
    QIOChannel *ioc = chr_channel(c);

    if (!wire_pipe_is_open(c->pipe)) {
        chr_forget_wake(c);
        if (ioc && object_dynamic_cast(OBJECT(ioc), TYPE_QIO_CHANNEL_SOCKET)) {
            c->wake_fd = fcntl(QIO_CHANNEL_SOCKET(ioc)->fd, F_DUPFD_CLOEXEC, 0);
        }
    }
    wire_pipe_opened(c->pipe);
}

static void chr_turn_bh(void *opaque)
{
    WireChr *c = opaque;

    wire_pipe_guard(c->pipe, true);
    wire_pipe_look(c->pipe, false);     /* the owner may have, until now */
    wire_pipe_turn(c->pipe);
    wire_pipe_guard(c->pipe, false);
}

/* The character device calls back when it closes. */
static void chr_close_bh(void *opaque)
{
    WireChr *c = opaque;

    if (!c->ended && qemu_chr_fe_backend_open(c->be)) {
        qemu_chr_fe_disconnect(c->be);
    }
}

static int chr_can_read(void *opaque)
{
    WireChr *c = opaque;

    return wire_pipe_ready(c->pipe) ? CHR_READ_BUF_LEN : 0;
}

/*
 * GLib takes a source's descriptors out of its poll while it is dispatched and
 * puts them back afterwards, unless it may recurse; either wakes its own event
 * descriptor, so that the next poll returns at once for nothing: a second
 * round of the main loop for each piece of input.  Nobody runs the main loop
 * from within our callbacks.
 */
static void chr_source_stays(void)
{
    GSource *source = g_main_current_source();

    if (source && !g_source_get_can_recurse(source)) {
        g_source_set_can_recurse(source, true);
    }
}

/*
 * The callback brings at most CHR_READ_BUF_LEN bytes; the rest is taken
 * straight from the socket.  The end of the stream and errors are left for the
 * character device to find, which then closes as ever.
 */
static void chr_drain(WireChr *c)
{
    for (size_t total = 0; total < TURN;) {
        QIOChannel *ioc = chr_channel(c);
        ssize_t n = ioc ? qio_channel_read(ioc, (char *)c->piece,
                                           WIRE_PIPE_PIECE, NULL) : 0;

        if (n <= 0) {
            return;
        }
        total += n;
        if (!wire_pipe_input(c->pipe, c->piece, n, -1) ||
            n < WIRE_PIPE_PIECE) {
            return;
        }
    }
}

static void chr_read(void *opaque, const uint8_t *buf, int size)
{
    WireChr *c = opaque;
    int fd = -1;

    chr_source_stays();
    wire_pipe_guard(c->pipe, true);
    /* A thread that connects it for us watches it before it says so. */
    if (chr_channel(c)) {
        chr_opened(c);
    }
    if (qemu_chr_fe_get_msgfds(c->be, &fd, 1) != 1) {
        fd = -1;
    }
    /* If it was not full, the socket is empty. */
    if (wire_pipe_input(c->pipe, buf, size, fd) && size == CHR_READ_BUF_LEN) {
        chr_drain(c);
    }
    wire_pipe_turn(c->pipe);
    wire_pipe_guard(c->pipe, false);
}

/* The watch is a source of the context that the pipe works in. */
static void chr_unwatch(WireChr *c)
{
    if (c->watch) {
        g_source_destroy(g_main_context_find_source_by_id(c->gctx, c->watch));
        c->watch = 0;
    }
}

/* It may come out of a write, that is out of the owner's own work: a bottom
 * half tells the owner. */
static void chr_event(void *opaque, QEMUChrEvent event)
{
    WireChr *c = opaque;
    bool within = writing == c;
    QIOChannel *ioc;

    if (!within) {
        wire_pipe_guard(c->pipe, true);
    }
    if (event == CHR_EVENT_OPENED) {
        /* Over TCP, Nagle's algorithm would hold a short record back until
         * the one before is acknowledged, which the far end delays. */
        ioc = chr_channel(c);
        if (ioc) {
            qio_channel_set_delay(ioc, false);
        }
        chr_opened(c);
    } else if (event == CHR_EVENT_CLOSED) {
        chr_unwatch(c);
        chr_forget_wake(c);
        wire_pipe_closed(c->pipe);
    }
    if (!within) {
        wire_pipe_guard(c->pipe, false);
    }
    qemu_bh_schedule(c->turn_bh);
}

/* ---- Life ---- */

static void chr_let_go(void *opaque)
{
    WireChr *c = opaque;

    if (!c->ended) {
        qemu_chr_fe_set_handlers(c->be, NULL, NULL, NULL, NULL, NULL, NULL,
                                 false);
        chr_unwatch(c);
        wire_pipe_guard(c->pipe, true);
        chr_forget_wake(c);
        wire_pipe_guard(c->pipe, false);
        c->ended = true;
    }
}

/*
 * An emulator that ends takes its character devices apart in the main thread,
 * while an IOThread would still be at work on them: let go of them before.  A
 * machine that only stays off may be started again and keeps its wires.
 */
static void chr_ends(Notifier *notifier, void *data)
{
    WireChr *c = container_of(notifier, WireChr, ends);

    if (shutdown_action == SHUTDOWN_ACTION_POWEROFF) {
        aio_wait_bh_oneshot(c->ctx, chr_let_go, c);
    }
}

WireChr *wire_chr_new(CharFrontend *be, AioContext *ctx, GMainContext *gctx,
                      const WirePipeOps *ops, void *opaque, bool shm)
{
    WireChr *c = g_new0(WireChr, 1);

    c->be = be;
    c->ctx = ctx;
    c->gctx = gctx;
    c->pipe = wire_pipe_new(&chr_backend, c, ops, opaque, shm);
    c->piece = g_malloc(WIRE_PIPE_PIECE);
    c->wake_fd = -1;
    c->turn_bh = aio_bh_new(ctx, chr_turn_bh, c);
    c->close_bh = aio_bh_new(ctx, chr_close_bh, c);
    if (ctx != qemu_get_aio_context()) {
        c->ends.notify = chr_ends;
        qemu_register_shutdown_notifier(&c->ends);
    }
    return c;
}

void wire_chr_start(WireChr *c)
{
    qemu_chr_fe_set_handlers(c->be, chr_can_read, chr_read, chr_event, NULL, c,
                             c->gctx, true);
}

void wire_chr_free(WireChr *c)
{
    if (c) {
        bool there = !c->ended;

        chr_let_go(c);
        /* One that still connects has no stream yet, and cannot be told. */
        if (there && qemu_chr_fe_backend_open(c->be)) {
            /* The peer sees that we have gone; who takes the character device
             * over begins, as the peer does, with a new stream. */
            qemu_chr_fe_disconnect(c->be);
        }
        if (c->ends.notify) {
            notifier_remove(&c->ends);
        }
        qemu_bh_delete(c->turn_bh);
        qemu_bh_delete(c->close_bh);
        wire_pipe_free(c->pipe);
        g_free(c->piece);
        g_free(c);
    }
}

WirePipe *wire_chr_pipe(WireChr *c)
{
    return c->pipe;
}

void wire_chr_wake(WireChr *c)
{
    if (!c->ended) {
        qemu_chr_fe_accept_input(c->be);
    }
    qemu_bh_schedule(c->turn_bh);
}
