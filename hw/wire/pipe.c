/*
 * A byte pipe between two processes: the socket, then shared memory.
 *
 * Each direction goes through its three steps alone.  The writer offers a ring
 * with the first bytes of its socket; the reader accepts it; the writer begins:
 * it notes how many bytes the socket carries ahead of the ring, and puts the
 * next ones there.  An end accepts only after it has offered a ring itself, and
 * begins only after it has accepted the other's: so whoever finds something to
 * read in a ring can begin its own, and from then on all that it sends on the
 * socket is a call to wake up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <unistd.h>

#include "ring.h"
#include "wire/pipe.h"

/* Enough that neither end waits for the other's turn, little enough to stay in
 * the cache of a processor's cores. */
#define RING_SIZE (512u << 10)
/* Bytes of one turn, then others of the loop have theirs. */
#define TURN (8 * WIRE_PIPE_PIECE)

struct WirePipe {
    const WirePipeBackend *be;
    void *be_opaque;
    const WirePipeOps *ops;
    void *opaque;
    bool shm;
    bool open;             /* the stream is there */
    bool told;             /* what the owner believes `open` to be */
    bool gone;             /* it was closed since then */
    bool closing;          /* nothing is read or sent until it is closed */
    bool waits;            /* the owner does, for room */
    bool looks;            /* it looks whether there is, and asks nobody to tell it */
    bool asked;            /* the backend was asked to tell of room */
    uint64_t out, in;      /* bytes that the socket's streams carried */
    WireRing *tx, *rx;     /* NULL: there is none */
    int tx_fd;             /* to be passed with the first bytes */
    bool offered, accepted; /* our ring; the peer's */
    bool tx_on, rx_on;     /* the stream goes through it */
    uint8_t *piece;
    WirePipeStats stats;
};

WirePipe *wire_pipe_new(const WirePipeBackend *backend, void *backend_opaque,
                        const WirePipeOps *ops, void *opaque, bool shm)
{
    WirePipe *p = g_new0(WirePipe, 1);

    p->be = backend;
    p->be_opaque = backend_opaque;
    p->ops = ops;
    p->opaque = opaque;
    p->shm = shm;
    p->tx_fd = -1;
    return p;
}

/* Nothing of the last connection is left. */
static void forget(WirePipe *p)
{
    g_clear_pointer(&p->tx, wire_ring_free);
    g_clear_pointer(&p->rx, wire_ring_free);
    if (p->tx_fd >= 0) {
        close(p->tx_fd);
        p->tx_fd = -1;
    }
    p->offered = p->accepted = p->tx_on = p->rx_on = false;
    p->out = p->in = 0;
    p->waits = p->looks = p->asked = p->closing = false;
}

void wire_pipe_free(WirePipe *p)
{
    if (p) {
        forget(p);
        g_free(p->piece);
        g_free(p);
    }
}

bool wire_pipe_is_open(const WirePipe *p)
{
    return p->open;
}

bool wire_pipe_ready(const WirePipe *p)
{
    return !p->ops->ready || p->ops->ready(p->opaque);
}

void wire_pipe_guard(WirePipe *p, bool on)
{
    if (p->ops->guard) {
        p->ops->guard(p->opaque, on);
    }
}

void wire_pipe_shared(const WirePipe *p, bool *out, bool *in)
{
    *out = p->tx_on;
    *in = p->rx_on;
}

const WirePipeStats *wire_pipe_stats(const WirePipe *p)
{
    return &p->stats;
}

void wire_pipe_close(WirePipe *p)
{
    if (p->open && !p->closing) {
        p->closing = true;
        p->be->close(p->be_opaque);
    }
}

static void break_off(WirePipe *p, const char *rule)
{
    p->stats.broken++;
    p->ops->broken(p->opaque, rule);
    wire_pipe_close(p);
}

/* ---- Shared memory: who begins, who wakes whom -------------------------- */

/* Go on in our ring, if the peer reads there. */
static bool begin(WirePipe *p)
{
    WireRingHeader *h;

    if (!p->tx_on && p->accepted && p->tx) {
        h = p->tx->shared;
        if (__atomic_load_n(&h->accepted, __ATOMIC_ACQUIRE) == 1) {
            h->start = p->out;
            __atomic_store_n(&h->begun, 1, __ATOMIC_SEQ_CST);
            p->tx_on = true;
        }
    }
    return p->tx_on;
}

/*
 * Wake the other end: what arrives behind the stream of the socket says only
 * that.  If the socket is full, there are bytes in it that wake the other end.
 */
static void wake(WirePipe *p)
{
    if (p->open && begin(p)) {
        p->stats.wakes++;
        p->be->wake(p->be_opaque);
    }
}

static void accept_ring(WirePipe *p)
{
    if (p->rx && p->offered && !p->accepted) {
        p->accepted = true;
        /* Asleep, until it wakes us: there is nothing in it. */
        wire_ring_wait(&p->rx->shared->reader_sleeps, true);
        __atomic_store_n(&p->rx->shared->accepted, 1, __ATOMIC_SEQ_CST);
    }
}

/* ---- Sending ------------------------------------------------------------ */

static size_t send_ring(WirePipe *p, const uint8_t *data, size_t len)
{
    WireRing *r = p->tx;
    size_t done = 0;

    for (unsigned look = 0; look < 2 && done < len; look++) {
        ssize_t n = wire_ring_put(r, data + done, len - done);

        if (n < 0) {
            break_off(p, "an index beyond the end of the shared memory");
            return done;
        }
        done += n;
        wire_ring_wait(&r->shared->writer_waits, done < len && !p->looks);
    }
    p->waits = done < len;
    if (done && wire_ring_wanted(&r->shared->reader_sleeps)) {
        wake(p);
    }
    p->stats.shm_sent += done;
    return done;
}

static size_t send_socket(WirePipe *p, const uint8_t *data, size_t len)
{
    ssize_t n;

    if (!p->out && !p->tx && p->shm && p->be->passes_fds(p->be_opaque)) {
        p->tx = wire_ring_create(RING_SIZE, &p->tx_fd);
    }
    if (p->asked) {
        p->waits = true;
        return 0;
    }
    n = p->be->write(p->be_opaque, data, len, p->tx_fd);
    if (n < 0 || !p->open) {
        return 0;
    }
    p->out += n;
    if (n && p->tx_fd >= 0) {
        close(p->tx_fd);
        p->tx_fd = -1;
        p->offered = true;
        accept_ring(p);
    }
    if (n < len) {
        p->waits = p->asked = p->be->await_room(p->be_opaque);
        if (!p->waits) {
            n = len;
        }
    }
    return n;
}

size_t wire_pipe_send(WirePipe *p, const uint8_t *data, size_t len)
{
    size_t n;

    if (!p->open || p->closing || !len) {
        return 0;
    }
    n = begin(p) ? send_ring(p, data, len) : send_socket(p, data, len);
    p->stats.sent += n;
    return n;
}

/* Owners send from within. */
static void tell_room(WirePipe *p)
{
    p->waits = false;
    p->ops->room(p->opaque);
}

void wire_pipe_writable(WirePipe *p)
{
    p->asked = false;
    if (p->open && p->waits) {
        tell_room(p);
    }
}

/* ---- Receiving ---------------------------------------------------------- */

static bool hand_over(WirePipe *p, const uint8_t *data, size_t len)
{
    p->stats.received += len;
    return p->ops->input(p->opaque, data, len);
}

/* Whether the socket's stream is over and the ring goes on; `len` more bytes
 * have come from the socket, and those of its stream are left in *len. */
static bool turned(WirePipe *p, size_t *len)
{
    WireRingHeader *h;
    uint64_t start;

    if (p->rx_on) {
        *len = 0;
        return true;
    }
    if (!p->accepted) {
        return false;
    }
    h = p->rx->shared;
    if (!__atomic_load_n(&h->begun, __ATOMIC_ACQUIRE)) {
        return false;
    }
    start = __atomic_load_n(&h->start, __ATOMIC_RELAXED);
    if (start < p->in) {
        break_off(p, "shared memory that goes on where the socket was before");
        *len = 0;
        return false;
    }
    if (start - p->in > *len) {
        return false;
    }
    *len = start - p->in;
    p->rx_on = true;
    return true;
}

static void wait_no_more(uint32_t *flag)
{
    if (wire_ring_waits(flag)) {
        wire_ring_wait(flag, false);
    }
}

/* True: the budget ran out, there is more.  Else the reader sleeps from here on, if it
 * is to. */
static bool drain_ring(WirePipe *p, bool sleep)
{
    WireRing *r = p->rx;

    for (size_t done = 0; p->open && !p->closing;) {
        ssize_t n = wire_ring_get(r, p->piece, WIRE_PIPE_PIECE);

        if (n < 0) {
            break_off(p, "an index beyond the end of the shared memory");
            return false;
        }
        if (!n) {
            if (!sleep || wire_ring_waits(&r->shared->reader_sleeps)) {
                return false;
            }
            /* Sleep, unless something came while we said so. */
            wire_ring_wait(&r->shared->reader_sleeps, true);
            continue;
        }
        wait_no_more(&r->shared->reader_sleeps);
        if (wire_ring_wanted(&r->shared->writer_waits)) {
            wake(p);
        }
        p->stats.shm_received += n;
        done += n;
        if (!hand_over(p, p->piece, n)) {
            return false;
        }
        if (done >= TURN) {
            return true;
        }
    }
    return false;
}

static void tell_state(WirePipe *p, bool open)
{
    if (p->told != open) {
        p->told = open;
        p->ops->state(p->opaque, open);
    }
}

/* What a peer wrote before it died, as a socket would still give it. */
static void drain_rest(WirePipe *p)
{
    size_t none = 0;
    ssize_t n;

    if (!p->told || p->closing || !turned(p, &none)) {
        return;
    }
    for (uint64_t done = 0; done < p->rx->size; done += n) {
        n = wire_ring_get(p->rx, p->piece, WIRE_PIPE_PIECE);
        if (n <= 0) {
            return;
        }
        p->stats.shm_received += n;
        if (!hand_over(p, p->piece, n)) {
            return;
        }
    }
}

/* What the owner does not know yet of the connection. */
static void tell(WirePipe *p)
{
    if (p->gone) {
        p->gone = false;
        drain_rest(p);
        tell_state(p, false);
        if (!p->open) {
            forget(p);
        }
    }
    tell_state(p, p->open);
}

void wire_pipe_opened(WirePipe *p)
{
    if (!p->open) {
        forget(p);
        if (!p->piece) {
            p->piece = g_malloc(WIRE_PIPE_PIECE);
        }
        p->open = true;
    }
}

void wire_pipe_closed(WirePipe *p)
{
    if (p->open) {
        p->open = false;
        p->gone = true;
    }
}

bool wire_pipe_input(WirePipe *p, const uint8_t *data, size_t len, int fd)
{
    if (fd >= 0) {
        /* With the first bytes or not at all. */
        if (p->shm && !p->in && !p->rx && p->open) {
            p->rx = wire_ring_open(fd);
        }
        close(fd);
    }
    if (!p->open || p->closing) {
        return false;
    }
    tell(p);
    accept_ring(p);
    turned(p, &len);
    while (len && p->open && !p->closing) {
        size_t n = MIN(len, WIRE_PIPE_PIECE);

        p->in += n;
        if (!hand_over(p, data, n)) {
            return false;
        }
        data += n;
        len -= n;
    }
    return p->open && !p->closing;
}

void wire_pipe_turn(WirePipe *p)
{
    size_t none = 0;

    if (!wire_pipe_ready(p)) {
        return;
    }
    tell(p);
    if (p->open && !p->closing && turned(p, &none) && drain_ring(p, true)) {
        p->be->again(p->be_opaque);
    }
    if (p->open && !p->closing && p->waits && !p->asked) {
        tell_room(p);
    }
    if (p->ops->turn_end) {
        p->ops->turn_end(p->opaque);
    }
}

void wire_pipe_look(WirePipe *p, bool again)
{
    p->looks = false;
    if (!p->told || !p->open || p->closing || !p->rx_on ||
        !wire_pipe_ready(p)) {
        return;
    }
    p->looks = again;
    if (again) {
        wait_no_more(&p->rx->shared->reader_sleeps);
    }
    if (drain_ring(p, !again) && !again) {
        p->be->again(p->be_opaque);
    }
    if (p->open && !p->closing && p->waits && !p->asked) {
        tell_room(p);
    }
}
