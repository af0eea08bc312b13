/*
 * A byte pipe between two processes, with backpressure: what every wire of this
 * project stands on.
 *
 * Below it is a connected stream (WirePipeBackend): a QEMU character device
 * (wire/chr.h) or a bare descriptor (wire/fd.h).  If that is a unix socket, the
 * bytes soon leave it and go through shared memory: a ring in a memfd for each
 * direction, which its writer makes and passes along with the first bytes that
 * it sends.  Who does not know of it (a plain socket program, QEMU's own
 * netdev) does not even see it, and then the socket carries all.  Else the
 * socket carries one byte where the other end sleeps and has to be woken, and
 * tells of its death.  docs/specs/wire-pipe.rst is the specification.
 *
 * Not for several threads at once: the owner calls it under a lock of its own,
 * under which the backend calls too (the op guard).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_PIPE_H
#define WIRE_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes that are handed over at once at most: larger pieces fall out of the
 * processor's cache. */
#define WIRE_PIPE_PIECE (128u << 10)

/* What the owner of a pipe does. */
typedef struct WirePipeOps {
    /* Around each turn of the backend; may be NULL. */
    void (*guard)(void *opaque, bool on);
    /* Whether input and changes of the connection may be told now; NULL:
     * always.  When that becomes true, wire_pipe_turn() is to be called. */
    bool (*ready)(void *opaque);
    /* The stream is there or is gone.  Never out of wire_pipe_send(). */
    void (*state)(void *opaque, bool open);
    /* Bytes came in, WIRE_PIPE_PIECE at most.  The memory is the pipe's, and
     * no peer's.  False: stop reading for now.  Never out of
     * wire_pipe_send(). */
    bool (*input)(void *opaque, const uint8_t *data, size_t len);
    /* The input of one turn has been handed over; may be NULL. */
    void (*turn_end)(void *opaque);
    /* There is room after wire_pipe_send() took less than it was given.  Never
     * out of wire_pipe_send(). */
    void (*room)(void *opaque);
    /* The peer broke a rule of the shared memory: the pipe is closed. */
    void (*broken)(void *opaque, const char *rule);
} WirePipeOps;

/* The stream below. */
typedef struct WirePipeBackend {
    /* As write(2) on a descriptor that does not block: the bytes taken, and
     * with the first of them descriptor `fd`, unless it is -1.  0: there is no
     * room.  Less than 0: it is gone, which wire_pipe_closed() will tell. */
    ssize_t (*write)(void *opaque, const uint8_t *data, size_t len, int fd);
    /* Whether descriptors can be passed: it is a plain unix socket. */
    bool (*passes_fds)(void *opaque);
    /* Such a one, when shared memory carries the stream: write one byte that wakes
     * the other end, unless there is no room or nobody.  Unlike the other ops this one
     * may be called by any thread that has the owner's lock. */
    void (*wake)(void *opaque);
    /* Call wire_pipe_writable() once when there is room.  False: nothing can
     * ever tell; then what is not taken is lost. */
    bool (*await_room)(void *opaque);
    /* Call wire_pipe_turn() soon; may be called by any thread, too. */
    void (*again)(void *opaque);
    /* Close it soon, not from within; wire_pipe_closed() follows. */
    void (*close)(void *opaque);
} WirePipeBackend;

typedef struct WirePipe WirePipe;

typedef struct WirePipeStats {
    uint64_t sent, received;      /* bytes, on either way */
    uint64_t shm_sent, shm_received; /* ... of which through shared memory */
    uint64_t wakes;               /* bytes sent to wake the other end */
    uint64_t broken;              /* rules of shared memory broken by a peer */
} WirePipeStats;

/* `shm`: use shared memory where it is possible. */
WirePipe *wire_pipe_new(const WirePipeBackend *backend, void *backend_opaque,
                        const WirePipeOps *ops, void *opaque, bool shm);
void wire_pipe_free(WirePipe *p);

/* ---- for the owner ---- */

/* The stream is there; the op state may not have told it yet. */
bool wire_pipe_is_open(const WirePipe *p);
/* Send: the bytes that were taken.  If they are less than `len` and the stream
 * is open, the op room follows. */
size_t wire_pipe_send(WirePipe *p, const uint8_t *data, size_t len);
/* Read no more, and close the stream; the op state tells when it is. */
void wire_pipe_close(WirePipe *p);
/* Which directions go through shared memory now.  Where it is that of `out`, any thread
 * that has the owner's lock may send. */
void wire_pipe_shared(const WirePipe *p, bool *out, bool *in);
/* By an owner that looks by itself, in any thread that has its lock: the input in the
 * shared memory is handed over, if that carries the stream, and the op room called if there
 * is some again.  `again`: it looks soon again, and from now on the other end wakes nobody,
 * neither for input nor for room; who looks no more says so by a last look, and has
 * wire_pipe_turn() called. */
void wire_pipe_look(WirePipe *p, bool again);
const WirePipeStats *wire_pipe_stats(const WirePipe *p);

/* ---- for the backend, between guard(true) and guard(false) ---- */

/* These two may come from within the op write, and only note it: a turn has to
 * follow, or wire_pipe_input(), which tell the owner. */
void wire_pipe_opened(WirePipe *p);
void wire_pipe_closed(WirePipe *p);
/* Bytes from the stream, with the descriptor that came along, which becomes the
 * pipe's, or -1.  False: stop reading for now. */
bool wire_pipe_input(WirePipe *p, const uint8_t *data, size_t len, int fd);
/* After input, and when the backend was asked for it: what is in the shared
 * memory, who waits for room, what the owner has not been told. */
void wire_pipe_turn(WirePipe *p);
/* The stream has room again. */
void wire_pipe_writable(WirePipe *p);
/* Owner and backend: whether input may be told now. */
bool wire_pipe_ready(const WirePipe *p);
/* Around the three above. */
void wire_pipe_guard(WirePipe *p, bool on);

#endif
