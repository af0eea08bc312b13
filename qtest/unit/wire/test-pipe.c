/*
 * A byte pipe between two ends of a socket: order, backpressure, shared memory,
 * sleeping and waking, death; and an end that breaks the rules of the memory.
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
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring.h"
#include "wire/fd.h"

/* ---- Ends ----------------------------------------------------------------- */

typedef struct End {
    WireFd *w;
    WirePipe *pipe;
    bool open, not_ready, slow;
    unsigned opened, closed, rooms, turns, broken, guards;
    uint64_t sent, received;
    const char *rule;
} End;

/* The byte of a stream at a place. */
static uint8_t byte_at(uint64_t at)
{
    return at * 0x9e3779b97f4a7c15ull >> 53;
}

static void on_guard(void *opaque, bool on)
{
    End *e = opaque;

    g_assert_cmpuint(e->guards, ==, !on);
    e->guards = on;
}

static bool on_ready(void *opaque)
{
    return !((End *)opaque)->not_ready;
}

static void on_state(void *opaque, bool open)
{
    End *e = opaque;

    g_assert_true(e->open != open);
    e->open = open;
    e->opened += open;
    e->closed += !open;
}

static bool on_input(void *opaque, const uint8_t *data, size_t len)
{
    End *e = opaque;

    g_assert_cmpuint(len, >, 0);
    g_assert_cmpuint(len, <=, WIRE_PIPE_PIECE);
    for (size_t i = 0; i < len; i++, e->received++) {
        g_assert_cmphex(data[i], ==, byte_at(e->received));
    }
    return true;
}

static void on_turn_end(void *opaque)
{
    ((End *)opaque)->turns++;
}

static void on_room(void *opaque)
{
    ((End *)opaque)->rooms++;
}

static void on_broken(void *opaque, const char *rule)
{
    End *e = opaque;

    e->broken++;
    e->rule = rule;
}

static const WirePipeOps ops = {
    .guard = on_guard,
    .ready = on_ready,
    .state = on_state,
    .input = on_input,
    .turn_end = on_turn_end,
    .room = on_room,
    .broken = on_broken,
};

static void end_start(End *e, int fd, bool shm)
{
    memset(e, 0, sizeof(*e));
    e->w = wire_fd_new(fd, &ops, e, shm);
    e->pipe = wire_fd_pipe(e->w);
}

static void pair(int fds[2])
{
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
                    ==, 0);
}

static void join(End *a, End *b, bool shm_a, bool shm_b)
{
    int fds[2];

    pair(fds);
    end_start(a, fds[0], shm_a);
    end_start(b, fds[1], shm_b);
    wire_fd_run(a->w);
    wire_fd_run(b->w);
    g_assert_true(a->open && b->open);
}

/* Up to n bytes of the stream; what was taken. */
static size_t put(End *e, size_t n)
{
    g_autofree uint8_t *buf = g_malloc(n);

    for (size_t i = 0; i < n; i++) {
        buf[i] = byte_at(e->sent + i);
    }
    n = wire_pipe_send(e->pipe, buf, n);
    e->sent += n;
    return n;
}

/* Whether the end would wake up now, as in a loop that sleeps in poll(). */
static bool due(End *e)
{
    struct pollfd p = {
        .fd = wire_fd_descriptor(e->w), .events = wire_fd_events(e->w),
    };

    return wire_fd_busy(e->w) || poll(&p, 1, 0) > 0;
}

/* Run whoever is woken, until both sleep. */
static void settle(End *a, End *b)
{
    for (unsigned i = 0; i < 100000; i++) {
        bool busy = false;

        if (due(a) && !a->slow) {
            busy = wire_fd_run(a->w);
        }
        if (due(b) && !b->slow) {
            busy |= wire_fd_run(b->w);
        }
        if (!busy) {
            return;
        }
    }
    g_assert_not_reached();
}

static void end_stop(End *e)
{
    wire_fd_free(e->w);
}

static bool out_shared(End *e)
{
    bool out, in;

    wire_pipe_shared(e->pipe, &out, &in);
    return out;
}

static bool in_shared(End *e)
{
    bool out, in;

    wire_pipe_shared(e->pipe, &out, &in);
    return in;
}

/* Both said something, so that each offered a ring and saw the other's. */
static void acquaint(End *a, End *b)
{
    for (unsigned i = 0; i < 3; i++) {
        put(a, 100);
        put(b, 100);
        settle(a, b);
    }
}

static void join_shared(End *a, End *b)
{
    join(a, b, true, true);
    acquaint(a, b);
    g_assert_true(out_shared(a) && in_shared(a));
    g_assert_true(out_shared(b) && in_shared(b));
}

/* ---- Order and backpressure ------------------------------------------------- */

/* All of it comes, in order, whatever the pieces and whoever is faster. */
static void traffic(bool shm_a, bool shm_b)
{
    GRand *r = g_rand_new_with_seed(5);
    End a, b;

    join(&a, &b, shm_a, shm_b);
    while (a.received < 8u << 20 || b.received < 8u << 20) {
        put(&a, g_rand_int_range(r, 1, 300000));
        put(&b, g_rand_int_range(r, 1, 300000));
        a.slow = g_rand_int_range(r, 0, 4) == 0;
        b.slow = g_rand_int_range(r, 0, 4) == 0;
        settle(&a, &b);
    }
    a.slow = b.slow = false;
    settle(&a, &b);
    g_assert_cmpuint(a.received, ==, b.sent);
    g_assert_cmpuint(b.received, ==, a.sent);
    g_assert_true(out_shared(&a) == (shm_a && shm_b));
    g_assert_true(in_shared(&b) == (shm_a && shm_b));
    g_assert_cmpuint(a.broken + b.broken + a.closed + b.closed, ==, 0);
    g_assert_cmpuint(wire_pipe_stats(a.pipe)->sent, ==, a.sent);
    g_assert_cmpuint(wire_pipe_stats(b.pipe)->received, ==, a.sent);
    if (shm_a && shm_b) {
        g_assert_cmpuint(wire_pipe_stats(a.pipe)->shm_sent, >, 7u << 20);
        g_assert_cmpuint(wire_pipe_stats(b.pipe)->shm_received, ==,
                         wire_pipe_stats(a.pipe)->shm_sent);
    } else {
        g_assert_cmpuint(wire_pipe_stats(a.pipe)->shm_sent, ==, 0);
        g_assert_cmpuint(wire_pipe_stats(a.pipe)->wakes, ==, 0);
    }
    end_stop(&a);
    end_stop(&b);
    g_rand_free(r);
}

static void test_shared(void)
{
    traffic(true, true);
}

static void test_socket(void)
{
    traffic(false, false);
}

static void test_one_refuses(void)
{
    traffic(true, false);
    traffic(false, true);
}

/* Who takes less than it was given says when there is room, once. */
static void test_room(gconstpointer shm)
{
    size_t n = 0;
    End a, b;

    join(&a, &b, shm, shm);
    acquaint(&a, &b);
    b.slow = true;
    while (put(&a, 100000) == 100000) {
        g_assert_cmpuint(++n, <, 1000);
    }
    g_assert_cmpuint(put(&a, 1), ==, 0);
    settle(&a, &b);
    n = a.rooms;
    settle(&a, &b);
    g_assert_cmpuint(a.rooms, ==, n);
    b.slow = false;
    settle(&a, &b);
    g_assert_cmpuint(b.received, ==, a.sent);
    g_assert_cmpuint(a.rooms, >, n);
    g_assert_cmpuint(put(&a, 1000), ==, 1000);
    settle(&a, &b);
    g_assert_cmpuint(b.received, ==, a.sent);
    end_stop(&a);
    end_stop(&b);
}

/* An end that is not ready reads nothing and is told nothing; the other one
 * waits, and all comes when it is. */
static void test_not_ready(gconstpointer shm)
{
    uint64_t before;
    End a, b;

    join(&a, &b, shm, shm);
    acquaint(&a, &b);
    b.not_ready = true;
    before = b.received;
    while (put(&a, 50000)) {
        settle(&a, &b);
    }
    g_assert_cmpuint(b.received, ==, before);
    b.not_ready = false;
    wire_fd_run(b.w);
    settle(&a, &b);
    g_assert_cmpuint(b.received, ==, a.sent);
    g_assert_cmpuint(put(&a, 1000), ==, 1000);
    end_stop(&a);
    b.not_ready = true;
    wire_fd_run(b.w);
    g_assert_cmpuint(b.closed, ==, 0);
    b.not_ready = false;
    wire_fd_run(b.w);
    wire_fd_run(b.w);
    g_assert_cmpuint(b.closed, ==, 1);
    end_stop(&b);
}

/* A wake-up for a sleeper only: one that is awake finds it by itself. */
static void test_wakes(void)
{
    uint64_t wakes;
    End a, b;

    join_shared(&a, &b);
    wakes = wire_pipe_stats(a.pipe)->wakes;
    put(&a, 10);
    g_assert_cmpuint(wire_pipe_stats(a.pipe)->wakes, ==, wakes + 1);
    for (unsigned i = 0; i < 100; i++) {
        put(&a, 10);
    }
    g_assert_cmpuint(wire_pipe_stats(a.pipe)->wakes, ==, wakes + 1);
    settle(&a, &b);
    g_assert_cmpuint(b.received, ==, a.sent);
    put(&a, 10);
    g_assert_cmpuint(wire_pipe_stats(a.pipe)->wakes, ==, wakes + 2);
    settle(&a, &b);
    g_assert_cmpuint(b.received, ==, a.sent);
    end_stop(&a);
    end_stop(&b);
}

/* Who looks by itself finds what came, and is woken only if it does not look again. */
static void test_look(void)
{
    uint64_t wakes;
    End a, b;

    join_shared(&a, &b);
    wakes = wire_pipe_stats(a.pipe)->wakes;
    for (unsigned i = 1; i < 4; i++) {
        put(&a, 10);
        g_assert_cmpuint(wire_pipe_stats(a.pipe)->wakes, ==, wakes + i);
        wire_pipe_look(b.pipe, i == 3);
        g_assert_cmpuint(b.received, ==, a.sent);
    }
    put(&a, 10);
    wire_pipe_look(b.pipe, true);
    g_assert_cmpuint(b.received, ==, a.sent);
    put(&a, 10);
    g_assert_cmpuint(wire_pipe_stats(a.pipe)->wakes, ==, wakes + 3);
    b.not_ready = true;
    wire_pipe_look(b.pipe, true);
    g_assert_cmpuint(b.received, ==, a.sent - 10);
    b.not_ready = false;
    settle(&a, &b);     /* it has its turn for the bytes that woke it */
    g_assert_cmpuint(b.received, ==, a.sent);
    put(&a, 10);
    g_assert_cmpuint(wire_pipe_stats(a.pipe)->wakes, ==, wakes + 4);
    end_stop(&a);
    wire_pipe_look(b.pipe, true);       /* nor by a peer that has gone */
    settle(&b, &b);
    g_assert_cmpuint(b.closed, ==, 1);
    wire_pipe_look(b.pipe, true);
    end_stop(&b);
}

/* The same of room: who looks asks nobody to tell it, and who looks no more does. */
static void test_look_room(void)
{
    unsigned rooms;
    uint64_t wakes;
    End a, b;

    join_shared(&a, &b);
    settle(&b, &a);
    while (put(&a, 50000)) {
        continue;
    }
    wakes = wire_pipe_stats(b.pipe)->wakes;
    wire_pipe_look(a.pipe, true);
    g_assert_cmpuint(put(&a, 10), ==, 0); /* takes back what it had asked for */
    wire_fd_run(b.w);
    g_assert_cmpuint(b.received, ==, a.sent);
    g_assert_cmpuint(wire_pipe_stats(b.pipe)->wakes, ==, wakes);
    rooms = a.rooms;
    wire_pipe_look(a.pipe, true);
    g_assert_cmpuint(a.rooms, ==, rooms + 1);
    while (put(&a, 50000)) {            /* asks for nothing */
        continue;
    }
    wire_fd_run(b.w);
    g_assert_cmpuint(b.received, ==, a.sent);
    g_assert_cmpuint(wire_pipe_stats(b.pipe)->wakes, ==, wakes);
    rooms = a.rooms;
    wire_pipe_look(a.pipe, false);
    g_assert_cmpuint(a.rooms, ==, rooms + 1);
    while (put(&a, 50000)) {
        continue;
    }
    wire_fd_run(b.w);
    g_assert_cmpuint(wire_pipe_stats(b.pipe)->wakes, ==, wakes + 1);
    settle(&a, &b);
    g_assert_cmpuint(b.received, ==, a.sent);
    end_stop(&a);
    end_stop(&b);
}

/* What was written before a death is read, from shared memory too. */
static void test_death(gconstpointer shm)
{
    End a, b;

    join(&a, &b, shm, shm);
    acquaint(&a, &b);
    put(&a, 100000);
    end_stop(&a);
    wire_fd_run(b.w);
    wire_fd_run(b.w);
    g_assert_cmpuint(b.received, ==, a.sent);
    g_assert_cmpuint(b.closed, ==, 1);
    g_assert_cmpuint(put(&b, 10), ==, 0);
    g_assert_cmpint(wire_fd_events(b.w), ==, 0);
    end_stop(&b);
}

static void test_close(void)
{
    End a, b;

    join_shared(&a, &b);
    wire_pipe_close(a.pipe);
    g_assert_cmpuint(put(&a, 10), ==, 0);
    put(&b, 10);
    wire_fd_run(a.w);
    g_assert_cmpuint(a.closed, ==, 1);
    wire_fd_run(b.w);
    wire_fd_run(b.w);
    g_assert_cmpuint(b.closed, ==, 1);
    end_stop(&a);
    end_stop(&b);
}

/* Over TCP nothing is offered, and all goes through the socket. */
static void test_tcp(void)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    socklen_t len = sizeof(in);
    int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
    End a, b;

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    g_assert_cmpint(bind(l, (struct sockaddr *)&in, sizeof(in)), ==, 0);
    g_assert_cmpint(listen(l, 1), ==, 0);
    g_assert_cmpint(getsockname(l, (struct sockaddr *)&in, &len), ==, 0);
    g_assert_cmpint(connect(c, (struct sockaddr *)&in, sizeof(in)), ==, 0);
    end_start(&a, accept(l, NULL, NULL), true);
    end_start(&b, c, true);
    for (unsigned i = 0; i < 1000 && b.received < 300; i++) {
        put(&a, b.received < 300 && a.sent < 300 ? 100 : 0);
        wire_fd_run(a.w);
        wire_fd_run(b.w);
    }
    g_assert_cmpuint(b.received, ==, 300);
    g_assert_false(out_shared(&a));
    end_stop(&a);
    end_stop(&b);
    close(l);
}

/* ---- A peer that we play byte by byte --------------------------------------- */

/* It passes `fd` with `len` bytes of its stream. */
static void pass(int sock, End *stream, size_t len, const int *fds, unsigned n)
{
    uint8_t buf[256];
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(16 * sizeof(int))];
    } control = { 0 };
    struct iovec iov = { .iov_base = buf, .iov_len = len };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

    for (size_t i = 0; i < len; i++) {
        buf[i] = byte_at(stream->sent++);
    }
    if (n) {
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
    }
    g_assert_cmpint(sendmsg(sock, &msg, MSG_NOSIGNAL), ==, len);
}

/* Its view: our end `e`, the socket, the ring that it writes to us and the one
 * that it reads from us. */
typedef struct Rogue {
    End e, stream; /* stream: only what it has sent */
    int sock;
    WireRing *out, *in;
} Rogue;

static int take_fd(int sock)
{
    uint8_t buf[256];
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(16 * sizeof(int))];
    } control;
    struct iovec iov = { .iov_base = buf, .iov_len = sizeof(buf) };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof(control),
    };
    int fd;

    g_assert_cmpint(recvmsg(sock, &msg, MSG_DONTWAIT), >, 0);
    if (!CMSG_FIRSTHDR(&msg)) {
        return -1;
    }
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
    return fd;
}

/* Rings of both ways are passed and accepted; nobody has begun. */
static void rogue_start(Rogue *r)
{
    int fds[2], fd;

    memset(r, 0, sizeof(*r));
    pair(fds);
    r->sock = fds[1];
    end_start(&r->e, fds[0], true);
    wire_fd_run(r->e.w);
    put(&r->e, 50);
    fd = take_fd(r->sock);
    g_assert_cmpint(fd, >=, 0);
    r->in = wire_ring_open(fd);
    g_assert_nonnull(r->in);
    close(fd);
    r->out = wire_ring_create(65536, &fd);
    g_assert_nonnull(r->out);
    pass(r->sock, &r->stream, 20, &fd, 1);
    close(fd);
    wire_fd_run(r->e.w);
    g_assert_cmpuint(r->e.received, ==, 20);
    g_assert_cmpuint(r->out->shared->accepted, ==, 1);
    g_assert_cmpuint(r->out->shared->reader_sleeps, ==, 1);
}

static void rogue_stop(Rogue *r)
{
    end_stop(&r->e);
    close(r->sock);
    wire_ring_free(r->in);
    wire_ring_free(r->out);
}

static void rogue_wake(Rogue *r)
{
    send(r->sock, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    wire_fd_run(r->e.w);
    wire_fd_run(r->e.w);
}

/* Well-behaved so far: it goes on in the ring at the right place. */
static void rogue_begin(Rogue *r, size_t len)
{
    uint8_t buf[4096];

    r->in->shared->accepted = 1;
    r->out->shared->start = r->stream.sent;
    r->out->shared->begun = 1;
    for (size_t i = 0; i < len; i++) {
        buf[i] = byte_at(r->stream.sent++);
    }
    g_assert_cmpint(wire_ring_put(r->out, buf, len), ==, len);
    rogue_wake(r);
    g_assert_cmpuint(r->e.received, ==, r->stream.sent);
}

static void given_up(Rogue *r)
{
    g_assert_cmpuint(r->e.broken, ==, 1);
    g_assert_nonnull(r->e.rule);
    wire_fd_run(r->e.w);
    g_assert_cmpuint(r->e.closed, ==, 1);
    g_assert_cmpuint(wire_pipe_stats(r->e.pipe)->broken, ==, 1);
    g_assert_cmpuint(r->e.received, <=, r->stream.sent);
}

/* The stream goes on at the very byte, with wake-ups that came along. */
static void test_handover(void)
{
    Rogue r;

    rogue_start(&r);
    /* More of the socket's stream, announced and sent in two pieces, before
     * the ring's, and wake-ups right behind it. */
    r.in->shared->accepted = 1;
    r.out->shared->start = r.stream.sent + 30;
    r.out->shared->begun = 1;
    pass(r.sock, &r.stream, 10, NULL, 0);
    wire_fd_run(r.e.w);
    g_assert_cmpuint(r.e.received, ==, 30);
    pass(r.sock, &r.stream, 20, NULL, 0);
    g_assert_cmpint(send(r.sock, "\xff\xff\xff", 3, 0), ==, 3);
    wire_fd_run(r.e.w);
    g_assert_cmpuint(r.e.received, ==, 50);
    rogue_begin(&r, 1000);
    g_assert_cmpuint(r.e.broken, ==, 0);
    /* What the other end says goes through its ring, and wakes once. */
    r.in->shared->reader_sleeps = 1;
    put(&r.e, 10);
    g_assert_cmpuint(r.in->shared->begun, ==, 1);
    g_assert_cmpuint(r.in->shared->start, ==, 50);
    g_assert_cmpuint(r.in->shared->head, ==, 10);
    g_assert_cmpuint(r.in->shared->reader_sleeps, ==, 0);
    rogue_stop(&r);
}

/* Indices, places and sizes that cannot be. */
static void test_bad_head(void)
{
    static const uint64_t heads[] = {
        65536 + 1001, UINT64_MAX, 999, 1ull << 63, 0,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(heads); i++) {
        Rogue r;

        rogue_start(&r);
        rogue_begin(&r, 1000);
        r.out->shared->head = heads[i];
        rogue_wake(&r);
        given_up(&r);
        rogue_stop(&r);
    }
}

static void test_bad_tail(void)
{
    static const uint64_t tails[] = { 11, 1ull << 63, 1ull << 40 };

    for (unsigned i = 0; i < G_N_ELEMENTS(tails); i++) {
        Rogue r;

        rogue_start(&r);
        rogue_begin(&r, 100);
        put(&r.e, 10);
        r.in->shared->tail = tails[i];
        g_assert_cmpuint(put(&r.e, 10), ==, 0);
        given_up(&r);
        rogue_stop(&r);
    }
}

static void test_bad_start(void)
{
    Rogue r;

    rogue_start(&r);
    r.out->shared->start = 19;
    r.out->shared->begun = 1;
    rogue_wake(&r);
    given_up(&r);
    rogue_stop(&r);
}

/* Words that are read once, and words of ours, may change as they like. */
static void test_changes_under_us(void)
{
    Rogue r;

    rogue_start(&r);
    rogue_begin(&r, 1000);
    r.out->shared->size = 1ull << 60;
    r.out->shared->start = 0;
    r.out->shared->begun = 0;
    r.out->shared->version = 77;
    r.out->shared->tail = 0x1234567890;
    r.in->shared->head = UINT64_MAX;
    r.in->shared->size = 1;
    r.in->shared->accepted = 0;
    for (unsigned i = 0; i < 3; i++) {
        uint8_t buf[1000];

        for (size_t j = 0; j < sizeof(buf); j++) {
            buf[j] = byte_at(r.stream.sent++);
        }
        r.out->shared->tail = r.out->at; /* put() looks at it */
        g_assert_cmpint(wire_ring_put(r.out, buf, sizeof(buf)), ==,
                        sizeof(buf));
        r.out->shared->tail = 0x1234567890;
        r.out->shared->writer_waits = 0xffffffff;
        r.in->shared->reader_sleeps = 0xffffffff;
        rogue_wake(&r);
        g_assert_cmpuint(r.e.received, ==, r.stream.sent);
        g_assert_cmpuint(put(&r.e, 1000), ==, 1000);
    }
    g_assert_cmpuint(r.e.broken, ==, 0);
    rogue_stop(&r);
}

/* It says that it sleeps, all the time, and never reads its socket: wake-ups
 * are dropped when that is full, and nothing waits. */
static void test_wake_flood(void)
{
    Rogue r;

    rogue_start(&r);
    rogue_begin(&r, 100);
    for (unsigned i = 0; i < 100000; i++) {
        r.in->shared->reader_sleeps = 1;
        g_assert_cmpuint(put(&r.e, 1), ==, 1);
        r.in->shared->tail = r.in->shared->head;
    }
    g_assert_cmpuint(r.e.broken, ==, 0);
    g_assert_true(r.e.open);
    rogue_stop(&r);
}

/* Descriptors that are no ring, or one that could shrink, are not read from;
 * the socket goes on. */
static void test_bad_descriptors(void)
{
    enum { NOT_MEMORY, PIPE, NOT_SEALED, TOO_SMALL, BAD_MAGIC, BAD_VERSION,
           BAD_SIZE, SIZE_NOT_THERE, HUGE, SIXTEEN, LATE, CASES };

    for (unsigned i = 0; i < CASES; i++) {
        int fds[2], fd[16], other[2], n = 1;
        WireRingHeader h = { .version = 1, .size = 65536 };
        size_t size = WIRE_RING_DATA + 65536;
        End e, stream = { 0 };

        pair(fds);
        end_start(&e, fds[0], true);
        wire_fd_run(e.w);
        put(&e, 50);
        memcpy(h.magic, i == BAD_MAGIC ? "WIREWING" : "WIRERING", 8);
        h.version = i == BAD_VERSION ? 2 : 1;
        h.size = i == BAD_SIZE ? 65537 : i == HUGE ? 1ull << 40 :
                 i == SIZE_NOT_THERE ? 131072 : 65536;
        size = i == TOO_SMALL ? 4096 : size;
        if (i == NOT_MEMORY) {
            fd[0] = open("/dev/null", O_RDWR);
        } else if (i == PIPE) {
            g_assert_cmpint(pipe(other), ==, 0);
            fd[0] = other[0];
            close(other[1]);
        } else {
            fd[0] = memfd_create("test", MFD_ALLOW_SEALING);
            g_assert_cmpint(ftruncate(fd[0], size), ==, 0);
            g_assert_cmpint(pwrite(fd[0], &h, sizeof(h), 0), ==, sizeof(h));
            if (i != NOT_SEALED) {
                g_assert_cmpint(fcntl(fd[0], F_ADD_SEALS, F_SEAL_SHRINK), ==,
                                0);
            }
        }
        if (i == SIXTEEN) {
            while (n < 16) {
                fd[n++] = dup(fd[0]);
            }
        }
        if (i == LATE) {
            pass(fds[1], &stream, 10, NULL, 0);
            wire_fd_run(e.w);
        }
        pass(fds[1], &stream, 10, fd, n);
        wire_fd_run(e.w);
        pass(fds[1], &stream, 10, NULL, 0);
        wire_fd_run(e.w);
        g_assert_cmpuint(e.received, ==, stream.sent);
        g_assert_cmpuint(e.broken + e.closed, ==, 0);
        if (i < CASES) {
            /* accepted: bytes 128 + 8 of the file */
            uint32_t accepted = 0;

            if (i > PIPE) {
                g_assert_cmpint(pread(fd[0], &accepted, 4,
                                      offsetof(WireRingHeader, accepted)), ==,
                                4);
            }
            g_assert_cmpuint(accepted, ==, i == SIXTEEN);
        }
        while (n--) {
            close(fd[n]);
        }
        end_stop(&e);
        close(fds[1]);
    }
}

/* No descriptor is left behind. */
static unsigned open_fds(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

static void test_descriptors_closed(void)
{
    unsigned before = open_fds();

    test_bad_descriptors();
    test_shared();
    test_bad_head();
    g_assert_cmpuint(open_fds(), ==, before);
}

/* Random words all over the header and the socket, while both talk. */
static void test_fuzz(void)
{
    GRand *rand = g_rand_new_with_seed(77);

    for (unsigned round = 0; round < 300; round++) {
        WireRingHeader *h[2];
        Rogue r;

        rogue_start(&r);
        rogue_begin(&r, 1 + g_rand_int_range(rand, 0, 4000));
        h[0] = r.out->shared;
        h[1] = r.in->shared;
        /* Any bytes may come from here on. */
        for (unsigned i = 0; i < 50 && r.e.open; i++) {
            uint64_t *words = (uint64_t *)h[g_rand_int_range(rand, 0, 2)];
            unsigned at = g_rand_int_range(rand, 0, sizeof(*h[0]) / 8);

            if (at == 8 && words == (uint64_t *)h[0]) {
                continue; /* its head: what it would show is no test's */
            }
            words[at] = g_rand_int_range(rand, 0, 3)
                            ? g_rand_int_range(rand, 0, 70000)
                            : (uint64_t)g_rand_int(rand) << 32;
            put(&r.e, g_rand_int_range(rand, 1, 20000));
            rogue_wake(&r);
        }
        wire_fd_run(r.e.w);
        rogue_stop(&r);
    }
    g_rand_free(rand);
}

/* The end of a stream is one whatever went wrong before it. */
static void test_stale_errno(void)
{
    static const int before[] = { EAGAIN, EINTR, 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(before); i++) {
        End a, b;

        join(&a, &b, false, false);
        put(&a, 10);
        end_stop(&a);
        errno = before[i];
        wire_fd_run(b.w);
        errno = before[i];
        wire_fd_run(b.w);
        g_assert_cmpuint(b.received, ==, 10);
        g_assert_cmpuint(b.closed, ==, 1);
        g_assert_cmpint(wire_fd_descriptor(b.w), ==, -1);
        g_assert_cmpint(wire_fd_events(b.w), ==, 0);
        end_stop(&b);
    }
}

int main(int argc, char **argv)
{
    void *yes = GINT_TO_POINTER(1);

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/pipe/shared", test_shared);
    g_test_add_func("/wire/pipe/socket", test_socket);
    g_test_add_func("/wire/pipe/one-refuses", test_one_refuses);
    g_test_add_data_func("/wire/pipe/room/socket", NULL, test_room);
    g_test_add_data_func("/wire/pipe/room/shared", yes, test_room);
    g_test_add_data_func("/wire/pipe/not-ready/socket", NULL, test_not_ready);
    g_test_add_data_func("/wire/pipe/not-ready/shared", yes, test_not_ready);
    g_test_add_func("/wire/pipe/wakes", test_wakes);
    g_test_add_func("/wire/pipe/look", test_look);
    g_test_add_func("/wire/pipe/look-room", test_look_room);
    g_test_add_data_func("/wire/pipe/death/socket", NULL, test_death);
    g_test_add_data_func("/wire/pipe/death/shared", yes, test_death);
    g_test_add_func("/wire/pipe/stale-errno", test_stale_errno);
    g_test_add_func("/wire/pipe/close", test_close);
    g_test_add_func("/wire/pipe/tcp", test_tcp);
    g_test_add_func("/wire/pipe/handover", test_handover);
    g_test_add_func("/wire/pipe/bad-head", test_bad_head);
    g_test_add_func("/wire/pipe/bad-tail", test_bad_tail);
    g_test_add_func("/wire/pipe/bad-start", test_bad_start);
    g_test_add_func("/wire/pipe/changes-under-us", test_changes_under_us);
    g_test_add_func("/wire/pipe/wake-flood", test_wake_flood);
    g_test_add_func("/wire/pipe/bad-descriptors", test_bad_descriptors);
    g_test_add_func("/wire/pipe/descriptors-closed", test_descriptors_closed);
    g_test_add_func("/wire/pipe/fuzz", test_fuzz);
    return g_test_run();
}
