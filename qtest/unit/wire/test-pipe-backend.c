/*
 * A byte pipe on a stream that does as a script says: every answer of the
 * backend, every place where the socket's stream may end and the ring's go on,
 * budgets, wake-ups; call by call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"
#include "wire/pipe.h"

#define RING 65536u

typedef struct Bench {
    WirePipe *pipe;
    /* the backend's script and what it saw */
    ssize_t take;          /* the most that a write takes; -1: it is gone */
    bool fds, can_tell;
    unsigned writes, with_fd, asked, again, closed;
    size_t last_len;
    int given, seen_fd;    /* the last descriptor, and its number then */
    /* the owner's */
    bool refuse;           /* input: read no more */
    unsigned states, rooms, broken, inputs, ends;
    bool open;
    uint64_t got;
    size_t refill;         /* bytes that the peer adds while we read */
    /* the peer's side of both rings */
    WireRing *to, *from;
} Bench;

static const uint8_t zeros[RING * 64];

static ssize_t back_write(void *opaque, const uint8_t *data, size_t len, int fd)
{
    Bench *b = opaque;

    b->writes++;
    b->last_len = len;
    if (fd >= 0) {
        b->with_fd++;
        b->seen_fd = fd;
        if (b->given >= 0) {
            close(b->given);
        }
        b->given = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    }
    return b->take < 0 ? -1 : MIN(len, b->take);
}

static bool back_passes_fds(void *opaque)
{
    return ((Bench *)opaque)->fds;
}

static void back_wake(void *opaque)
{
    back_write(opaque, zeros, 1, -1);
}

static bool back_await_room(void *opaque)
{
    Bench *b = opaque;

    b->asked++;
    return b->can_tell;
}

static void back_again(void *opaque)
{
    ((Bench *)opaque)->again++;
}

static void back_close(void *opaque)
{
    ((Bench *)opaque)->closed++;
}

static const WirePipeBackend backend = {
    .write = back_write,
    .passes_fds = back_passes_fds,
    .wake = back_wake,
    .await_room = back_await_room,
    .again = back_again,
    .close = back_close,
};

static void on_state(void *opaque, bool open)
{
    Bench *b = opaque;

    b->states++;
    b->open = open;
}

static bool on_input(void *opaque, const uint8_t *data, size_t len)
{
    Bench *b = opaque;

    b->inputs++;
    b->got += len;
    if (b->refill) {
        wire_ring_put(b->to, zeros, b->refill);
    }
    return !b->refuse;
}

static void on_turn_end(void *opaque)
{
    ((Bench *)opaque)->ends++;
}

static void on_room(void *opaque)
{
    ((Bench *)opaque)->rooms++;
}

static void on_broken(void *opaque, const char *rule)
{
    ((Bench *)opaque)->broken++;
}

static const WirePipeOps ops = {
    .state = on_state,
    .input = on_input,
    .turn_end = on_turn_end,
    .room = on_room,
    .broken = on_broken,
};

/* Connected; the owner knows it. */
static void bench_start(Bench *b, bool shm)
{
    memset(b, 0, sizeof(*b));
    b->given = -1;
    b->take = SSIZE_MAX;
    b->fds = b->can_tell = true;
    b->pipe = wire_pipe_new(&backend, b, &ops, b, shm);
    wire_pipe_opened(b->pipe);
    g_assert_cmpuint(b->states, ==, 0);
    wire_pipe_turn(b->pipe);
    g_assert_true(b->open);
    g_assert_cmpuint(b->states, ==, 1);
    g_assert_cmpuint(b->ends, ==, 1);
}

static void bench_stop(Bench *b)
{
    wire_pipe_free(b->pipe);
    g_clear_pointer(&b->to, wire_ring_free);
    g_clear_pointer(&b->from, wire_ring_free);
    if (b->given >= 0) {
        close(b->given);
    }
}

static size_t put(Bench *b, size_t n)
{
    return wire_pipe_send(b->pipe, zeros, n);
}

/* 20 bytes went each way; the peer offered a ring of `size` and opened ours.
 * Nothing has begun. */
static void offer(Bench *b, uint64_t size)
{
    int fd;

    b->to = wire_ring_create(size, &fd);
    g_assert_cmpuint(put(b, 20), ==, 20);
    g_assert_true(wire_pipe_input(b->pipe, zeros, 20, fd));
    b->from = wire_ring_open(b->given);
    g_assert_nonnull(b->from);
    g_assert_cmpuint(b->to->shared->accepted, ==, 1);
    g_assert_cmpuint(b->to->shared->reader_sleeps, ==, 1);
}

static void begin(Bench *b, uint64_t size)
{
    bench_start(b, true);
    offer(b, size);
    b->from->shared->accepted = 1;
    b->to->shared->start = 20;
    b->to->shared->begun = 1;
    wire_pipe_turn(b->pipe);
    b->got = b->writes = b->with_fd = b->again = b->inputs = 0;
}

/* ---- Sending through the socket -------------------------------------------- */

static void test_full(void)
{
    Bench b;

    bench_start(&b, false);
    b.take = 30;
    g_assert_cmpuint(put(&b, 100), ==, 30);
    g_assert_cmpuint(b.writes, ==, 1);
    g_assert_cmpuint(b.asked, ==, 1);
    /* Nothing is tried, nor asked for again, until there is room ... */
    g_assert_cmpuint(put(&b, 70), ==, 0);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.writes, ==, 1);
    g_assert_cmpuint(b.asked, ==, 1);
    g_assert_cmpuint(b.rooms, ==, 0);
    /* ... which is said once. */
    wire_pipe_writable(b.pipe);
    g_assert_cmpuint(b.rooms, ==, 1);
    wire_pipe_writable(b.pipe);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.rooms, ==, 1);
    b.take = 70;
    g_assert_cmpuint(put(&b, 70), ==, 70);
    g_assert_cmpuint(b.asked, ==, 1);
    /* A write that takes nothing is a full one. */
    b.take = 0;
    g_assert_cmpuint(put(&b, 5), ==, 0);
    g_assert_cmpuint(b.asked, ==, 2);
    wire_pipe_writable(b.pipe);
    g_assert_cmpuint(b.rooms, ==, 2);
    g_assert_cmpuint(wire_pipe_stats(b.pipe)->sent, ==, 100);
    g_assert_cmpuint(put(&b, 0), ==, 0);
    bench_stop(&b);
}

/* Who can never tell of room loses what does not fit. */
static void test_lossy(void)
{
    Bench b;

    bench_start(&b, false);
    b.take = 30;
    b.can_tell = false;
    g_assert_cmpuint(put(&b, 100), ==, 100);
    g_assert_cmpuint(put(&b, 100), ==, 100);
    g_assert_cmpuint(b.writes, ==, 2);
    g_assert_cmpuint(b.asked, ==, 2);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.rooms, ==, 0);
    bench_stop(&b);
}

static void test_gone(void)
{
    Bench b;

    bench_start(&b, true);
    b.take = -1;
    g_assert_cmpuint(put(&b, 100), ==, 0);
    g_assert_cmpuint(b.asked, ==, 0);
    wire_pipe_closed(b.pipe);
    g_assert_true(b.open);
    g_assert_false(wire_pipe_is_open(b.pipe));
    g_assert_cmpuint(put(&b, 1), ==, 0);
    g_assert_false(wire_pipe_input(b.pipe, zeros, 1, -1));
    wire_pipe_turn(b.pipe);
    g_assert_false(b.open);
    g_assert_cmpuint(b.states, ==, 2);
    g_assert_cmpuint(b.got, ==, 0);
    /* Closing what is closed is nothing. */
    wire_pipe_close(b.pipe);
    g_assert_cmpuint(b.closed, ==, 0);
    /* The next connection starts anew. */
    wire_pipe_opened(b.pipe);
    b.take = 100;
    g_assert_cmpuint(put(&b, 100), ==, 100);
    g_assert_cmpuint(b.with_fd, ==, 2);
    wire_pipe_close(b.pipe);
    wire_pipe_close(b.pipe);
    g_assert_cmpuint(b.closed, ==, 1);
    g_assert_cmpuint(put(&b, 100), ==, 0);
    g_assert_false(wire_pipe_input(b.pipe, zeros, 1, -1));
    bench_stop(&b);
}

/* The ring's descriptor goes with the first bytes that are taken, once. */
static void test_offer(void)
{
    Bench b;

    bench_start(&b, true);
    b.take = 0;
    g_assert_cmpuint(put(&b, 9), ==, 0);
    g_assert_cmpuint(b.with_fd, ==, 1);
    g_assert_cmpint(fcntl(b.seen_fd, F_GETFD), >=, 0);
    wire_pipe_writable(b.pipe);
    b.take = 4;
    g_assert_cmpuint(put(&b, 9), ==, 4);
    g_assert_cmpuint(b.with_fd, ==, 2);
    g_assert_cmpint(fcntl(b.seen_fd, F_GETFD), ==, -1);
    wire_pipe_writable(b.pipe);
    g_assert_cmpuint(put(&b, 4), ==, 4);
    g_assert_cmpuint(b.with_fd, ==, 2);
    bench_stop(&b);

    /* Not where descriptors do not pass, nor where it is not wanted. */
    for (unsigned i = 0; i < 2; i++) {
        bench_start(&b, i);
        b.fds = !i;
        g_assert_cmpuint(put(&b, 9), ==, 9);
        g_assert_cmpuint(b.with_fd, ==, 0);
        bench_stop(&b);
    }
}

/* What the last connection agreed on is not the next one's. */
static void test_again(void)
{
    bool out, in;
    Bench b;
    int fd;

    begin(&b, RING);
    g_assert_cmpuint(put(&b, 5), ==, 5);
    g_assert_cmpuint(b.writes, ==, 0);
    wire_pipe_shared(b.pipe, &out, &in);
    g_assert_true(out && in);
    wire_pipe_closed(b.pipe);
    wire_pipe_turn(b.pipe);
    wire_pipe_opened(b.pipe);
    wire_pipe_turn(b.pipe);
    wire_pipe_shared(b.pipe, &out, &in);
    g_assert_false(out || in);
    g_clear_pointer(&b.to, wire_ring_free);
    b.to = wire_ring_create(RING, &fd);
    g_assert_true(wire_pipe_input(b.pipe, zeros, 20, fd));
    g_assert_cmpuint(b.to->shared->accepted, ==, 0);
    g_assert_cmpuint(put(&b, 20), ==, 20);
    g_assert_cmpuint(b.with_fd, ==, 1);
    g_assert_cmpuint(b.to->shared->accepted, ==, 1);
    bench_stop(&b);
}

/* ---- Receiving ---------------------------------------------------------------- */

/* The ring goes on `ahead` bytes behind what the socket brought; then come
 * `len` more from the socket, of which only those ahead are the stream's. */
static void test_turn(void)
{
    static const struct {
        unsigned ahead, len, got;
        bool on;
    } rows[] = {
        { 0, 0, 0, true },   { 0, 1, 0, true },   { 0, 50, 0, true },
        { 1, 0, 0, false },  { 1, 1, 1, true },   { 1, 2, 1, true },
        { 30, 29, 29, false }, { 30, 30, 30, true }, { 30, 31, 30, true },
        { 30, 100, 30, true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        bool out, in;
        Bench b;

        g_test_message("row %u", i);
        bench_start(&b, true);
        offer(&b, RING);
        b.got = 0;
        b.to->shared->start = 20 + rows[i].ahead;
        b.to->shared->begun = 1;
        g_assert_true(wire_pipe_input(b.pipe, zeros, rows[i].len, -1));
        g_assert_cmpuint(b.got, ==, rows[i].got);
        wire_ring_put(b.to, zeros, 7);
        wire_pipe_turn(b.pipe);
        g_assert_cmpuint(b.got, ==, rows[i].got + (rows[i].on ? 7 : 0));
        wire_pipe_shared(b.pipe, &out, &in);
        g_assert_true(in == rows[i].on);
        g_assert_false(out);
        g_assert_cmpuint(b.broken, ==, 0);
        bench_stop(&b);
    }
}

/* Pieces, the budget of a turn, and what is left for the next one. */
static void test_budget(void)
{
    const size_t turn = 8 * WIRE_PIPE_PIECE;
    Bench b;

    begin(&b, 4 << 20);
    g_assert_cmpint(wire_ring_put(b.to, zeros, turn + 5), ==, turn + 5);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.got, ==, turn);
    g_assert_cmpuint(b.inputs, ==, 8);
    g_assert_cmpuint(b.again, ==, 1);
    g_assert_cmpuint(b.to->shared->reader_sleeps, ==, 0);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.got, ==, turn + 5);
    g_assert_cmpuint(b.again, ==, 1);
    g_assert_cmpuint(b.to->shared->reader_sleeps, ==, 1);
    g_assert_cmpuint(wire_pipe_stats(b.pipe)->shm_received, ==, turn + 5);
    g_assert_cmpuint(wire_pipe_stats(b.pipe)->received, ==, turn + 25);
    /* From the socket, too. */
    bench_stop(&b);
    bench_start(&b, false);
    g_assert_true(wire_pipe_input(b.pipe, zeros, WIRE_PIPE_PIECE + 1, -1));
    g_assert_cmpuint(b.inputs, ==, 2);
    b.refuse = true;
    g_assert_false(wire_pipe_input(b.pipe, zeros, WIRE_PIPE_PIECE + 1, -1));
    g_assert_cmpuint(b.inputs, ==, 3);
    bench_stop(&b);
}

/* An owner that wants no more gets no more in this turn. */
static void test_refusal(void)
{
    Bench b;

    begin(&b, 1 << 20);
    wire_ring_put(b.to, zeros, 3 * WIRE_PIPE_PIECE);
    b.refuse = true;
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.got, ==, WIRE_PIPE_PIECE);
    g_assert_cmpuint(b.again, ==, 0);
    b.refuse = false;
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.got, ==, 3 * WIRE_PIPE_PIECE);
    bench_stop(&b);
}

/* A writer that waits is woken by one byte, without a descriptor, when bytes
 * were taken; one that does not is left alone. */
static void test_wake_writer(void)
{
    Bench b;

    begin(&b, RING);
    wire_ring_put(b.to, zeros, 100);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.writes, ==, 0);
    b.to->shared->writer_waits = 1;
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.writes, ==, 0);
    wire_ring_put(b.to, zeros, 100);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.writes, ==, 1);
    g_assert_cmpuint(b.last_len, ==, 1);
    g_assert_cmpuint(b.with_fd, ==, 0);
    g_assert_cmpuint(b.to->shared->writer_waits, ==, 0);
    g_assert_cmpuint(wire_pipe_stats(b.pipe)->wakes, ==, 1);
    bench_stop(&b);
}

/* Our ring full: the rest waits, the reader is asked to wake us, and room is
 * told in the turn that it wakes us for. */
static void test_ring_full(void)
{
    static uint8_t sink[1 << 20];
    size_t size;
    Bench b;

    begin(&b, RING);
    size = b.from->size;
    g_assert_cmpuint(put(&b, size), ==, size);
    g_assert_cmpuint(b.from->shared->writer_waits, ==, 0);
    g_assert_cmpuint(put(&b, 5), ==, 0);
    g_assert_cmpuint(b.from->shared->writer_waits, ==, 1);
    g_assert_cmpuint(b.writes, ==, 0);
    g_assert_cmpint(wire_ring_get(b.from, sink, 3), ==, 3);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.rooms, ==, 1);
    g_assert_cmpuint(put(&b, 5), ==, 3);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.rooms, ==, 2);
    g_assert_cmpint(wire_ring_get(b.from, sink, sizeof(sink)), ==, size);
    g_assert_cmpint(wire_ring_get(b.from, sink, 1), ==, 0);
    /* A sleeping reader is woken once. */
    b.from->shared->reader_sleeps = 1;
    g_assert_cmpuint(put(&b, 2), ==, 2);
    g_assert_cmpuint(put(&b, 2), ==, 2);
    g_assert_cmpuint(b.writes, ==, 1);
    g_assert_cmpuint(b.with_fd, ==, 0);
    g_assert_cmpuint(wire_pipe_stats(b.pipe)->shm_sent, ==, size + 7);
    bench_stop(&b);
}

/* Who dies is heard out, but no further than what its memory holds: it may
 * write on. */
static void test_last_words(void)
{
    for (unsigned i = 0; i < 3; i++) {
        Bench b;

        begin(&b, 256 << 10);
        wire_ring_put(b.to, zeros, 200 << 10);
        b.refill = i == 1 ? WIRE_PIPE_PIECE : 0;
        b.refuse = i == 2;
        wire_pipe_closed(b.pipe);
        wire_pipe_turn(b.pipe);
        g_assert_false(b.open);
        g_assert_cmpuint(b.got, ==, i == 0 ? 200 << 10 :
                         i == 1 ? 256 << 10 : WIRE_PIPE_PIECE);
        g_assert_cmpuint(wire_pipe_stats(b.pipe)->shm_received, ==, b.got);
        b.refill = 0;
        bench_stop(&b);
    }
}

/* A closing owner hears nothing more, and a pipe that was never open has
 * nothing to say. */
static void test_closing(void)
{
    Bench b;

    begin(&b, RING);
    wire_ring_put(b.to, zeros, 10);
    wire_pipe_close(b.pipe);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.got, ==, 0);
    wire_pipe_closed(b.pipe);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.got, ==, 0);
    g_assert_false(b.open);
    bench_stop(&b);
}

/* The last byte counts as well; and what died shares no memory any more. */
static void test_last_byte(void)
{
    bool out = true, in = true;
    Bench b;

    begin(&b, RING);
    g_assert_cmpuint(put(&b, 1), ==, 1);
    wire_pipe_shared(b.pipe, &out, &in);
    g_assert_true(out && in);
    wire_ring_put(b.to, zeros, 1);
    wire_pipe_closed(b.pipe);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.got, ==, 1);
    wire_pipe_shared(b.pipe, &out, &in);
    g_assert_false(out || in);
    bench_stop(&b);
}

/* Gone and there again before the owner heard of it: it is told of both, and
 * the new stream begins as the first one did. */
static void test_reopened(void)
{
    Bench b;

    begin(&b, RING);
    g_assert_cmpuint(put(&b, 10), ==, 10);
    g_assert_cmpuint(b.writes, ==, 0);
    wire_pipe_closed(b.pipe);
    wire_pipe_opened(b.pipe);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.states, ==, 3);
    g_assert_true(b.open);
    g_assert_cmpuint(put(&b, 10), ==, 10);
    g_assert_cmpuint(b.writes, ==, 1);
    g_assert_cmpuint(b.with_fd, ==, 1);
    bench_stop(&b);
}

/* Nobody who could send everything is told of room. */
static void test_no_room_told(void)
{
    Bench b;

    begin(&b, RING);
    g_assert_cmpuint(put(&b, 10), ==, 10);
    wire_pipe_turn(b.pipe);
    g_assert_cmpuint(b.rooms, ==, 0);
    bench_stop(&b);
}

/* Shared memory of ours that is mapped, and open descriptors. */
static unsigned count_maps(void)
{
    g_autofree char *maps = NULL;
    unsigned n = 0;

    g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
    for (const char *p = maps; (p = strstr(p, "/memfd:")) != NULL; p++) {
        n++;
    }
    return n;
}

static unsigned count_fds(void)
{
    GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
    unsigned n = 0;

    while (g_dir_read_name(dir)) {
        n++;
    }
    g_dir_close(dir);
    return n;
}

/* Memory and descriptors go with the pipe, a ring's that never left too. */
static void test_nothing_left(void)
{
    unsigned maps = count_maps(), fds = count_fds();
    Bench b;

    begin(&b, RING);
    g_assert_cmpuint(count_maps(), >, maps);
    bench_stop(&b);
    g_assert_cmpuint(count_maps(), ==, maps);
    g_assert_cmpuint(count_fds(), ==, fds);
    bench_start(&b, true);
    b.take = 0;
    g_assert_cmpuint(put(&b, 10), ==, 0);
    g_assert_cmpuint(b.with_fd, ==, 1);
    bench_stop(&b);
    g_assert_cmpuint(count_maps(), ==, maps);
    g_assert_cmpuint(count_fds(), ==, fds);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/backend/full", test_full);
    g_test_add_func("/wire/backend/lossy", test_lossy);
    g_test_add_func("/wire/backend/gone", test_gone);
    g_test_add_func("/wire/backend/offer", test_offer);
    g_test_add_func("/wire/backend/again", test_again);
    g_test_add_func("/wire/backend/turn", test_turn);
    g_test_add_func("/wire/backend/budget", test_budget);
    g_test_add_func("/wire/backend/refusal", test_refusal);
    g_test_add_func("/wire/backend/wake-writer", test_wake_writer);
    g_test_add_func("/wire/backend/ring-full", test_ring_full);
    g_test_add_func("/wire/backend/last-words", test_last_words);
    g_test_add_func("/wire/backend/closing", test_closing);
    g_test_add_func("/wire/backend/last-byte", test_last_byte);
    g_test_add_func("/wire/backend/reopened", test_reopened);
    g_test_add_func("/wire/backend/no-room-told", test_no_room_told);
    g_test_add_func("/wire/backend/nothing-left", test_nothing_left);
    return g_test_run();
}
