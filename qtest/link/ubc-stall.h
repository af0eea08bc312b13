/*
 * A device that stands still in the middle of a turn, with its lock held, for as long as a
 * test likes: it captures into a FIFO, and nobody reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_STALL_H
#define UBC_STALL_H

#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include <poll.h>
#include <sys/stat.h>

/* Room in the FIFO, or a page of the host if that is more: less than what is captured of
 * a turn that sends much. */
#define STALL_ROOM 4096
#define STALL_PIECE 65536

/* A place in a stream of pcapng blocks: what is there of the head of one, and how many
 * bytes of it come behind that. */
typedef struct StallPlace {
    uint8_t head[8];
    unsigned have;
    uint32_t left;
} StallPlace;

typedef struct Stall {
    char *dir, *fifo;       /* the property pcap */
    int fd, writer, copy[2];
    GThread *thread;
    bool rests, resting, done;
    StallPlace read;        /* so far; the thread's, unless it is resting */
} Stall;

static inline void stall_follow(StallPlace *p, const uint8_t *bytes, size_t n)
{
    while (n) {
        size_t some = p->have < sizeof(p->head) ? 1 : MIN(n, p->left);

        if (p->have < sizeof(p->head)) {
            p->head[p->have++] = *bytes;
            p->left = p->have == sizeof(p->head) ? ldl_le_p(p->head + 4) - p->have : 1;
        } else {
            p->left -= some;
        }
        if (!p->left) {
            p->have = 0;
        }
        bytes += some;
        n -= some;
    }
}

static inline void *stall_reader(void *opaque)
{
    Stall *t = opaque;
    g_autofree uint8_t *bytes = g_malloc(STALL_PIECE);

    while (!qatomic_load_acquire(&t->done)) {
        bool rests = qatomic_load_acquire(&t->rests);
        ssize_t n;

        qatomic_store_release(&t->resting, rests);
        n = rests ? 0 : read(t->fd, bytes, STALL_PIECE);
        if (n > 0) {
            stall_follow(&t->read, bytes, n);
        } else {
            g_usleep(100);
        }
    }
    return NULL;
}

/* From here on all is read as it comes. */
static inline void stall_open(Stall *t)
{
    *t = (Stall) { .dir = g_dir_make_tmp("ubc-XXXXXX", NULL) };
    t->fifo = g_build_filename(t->dir, "fifo", NULL);
    g_assert_cmpint(mkfifo(t->fifo, 0600), ==, 0);
    t->fd = open(t->fifo, O_RDONLY | O_NONBLOCK);
    g_assert_cmpint(t->fd, >=, 0);
    t->writer = open(t->fifo, O_WRONLY | O_NONBLOCK);
    g_assert_cmpint(t->writer, >=, 0);
    g_assert_cmpint(fcntl(t->fd, F_SETPIPE_SZ, STALL_ROOM), <=, STALL_PIECE);
    g_assert_cmpint(pipe(t->copy), ==, 0);
    t->thread = g_thread_new("reader", stall_reader, t);
}

/* Nothing is read. */
static inline void stall_rest(Stall *t)
{
    qatomic_store_release(&t->rests, true);
    while (!qatomic_load_acquire(&t->resting)) {
        g_usleep(100);
    }
}

/*
 * Whether the device stands still, while nobody reads.  What is in the FIFO ends inside a
 * block: whoever wrote that is not through, and there is no room for the rest.  A turn
 * writes whole blocks, and has the lock until they are written.
 */
static inline bool stall_holds(Stall *t)
{
    struct pollfd p = { .fd = t->writer, .events = POLLOUT };
    g_autofree uint8_t *bytes = g_malloc(STALL_PIECE);
    StallPlace at = t->read;
    ssize_t n;

    g_assert_true(qatomic_load_acquire(&t->resting));
    if (poll(&p, 1, 0) == 1 && p.revents & POLLOUT) {
        return false;
    }
    n = tee(t->fd, t->copy[1], STALL_PIECE, 0);
    g_assert_cmpint(n, >, 0);
    for (ssize_t done = 0, some; done < n; done += some) {
        some = read(t->copy[0], bytes, n - done);
        g_assert_cmpint(some, >, 0);
        stall_follow(&at, bytes, some);
    }
    if (!at.have) {
        /* Whole blocks, behind which a turn may be over: the next ones come. */
        g_assert_cmpint(read(t->fd, bytes, n), ==, n);
    }
    return at.have;
}

static inline void stall_go_on(Stall *t)
{
    qatomic_store_release(&t->rests, false);
}

/* The device is gone. */
static inline void stall_close(Stall *t)
{
    stall_go_on(t);
    qatomic_store_release(&t->done, true);
    g_thread_join(t->thread);
    close(t->writer);
    close(t->fd);
    close(t->copy[0]);
    close(t->copy[1]);
    unlink(t->fifo);
    rmdir(t->dir);
    g_free(t->fifo);
    g_free(t->dir);
}

#endif
