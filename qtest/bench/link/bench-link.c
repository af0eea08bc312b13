/*
 * Speed of a UB link end to end, and what it costs at rest.
 *
 * Raw packets go from one emulator to another over a unix socket, through the
 * rings, the data link layer and the lanes of ubc; beside them, in the same
 * run and turn by turn, frames of the same size through virtio-net and
 * -netdev stream, which have nothing to do but carry them.  The payload lies
 * in guest memory once and descriptors are posted again and again, so that
 * the devices and the wire are measured and not qtest.  Then the processor
 * time of a linked pair that rests.  Timings decide nothing.
 *
 *   bench-link [ROUNDS [SECONDS A ROUND [SECONDS AT REST [PACKET SIZE]]]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "../../link/ubc-driver.h"
#include "vnet-driver.h"

#define BUF 0x4000u
#define RX_BUFS 128u   /* fit between QUBC_RX_BUF and the next port's */
/* Descriptors that are worth a doorbell while the device has others: each is a
 * round trip of qtest's.  virtio says itself when it wants none. */
#define BELL 32
#define PINGS 1000
#define PING_BYTES 64
#define ROUNDS_MAX 64

/* An end of a pair of either kind. */
typedef struct End End;
typedef struct Kind {
    const char *name;
    unsigned (*send)(End *e, unsigned n, uint32_t len);
    unsigned (*reap)(End *e);
} Kind;

struct End {
    const Kind *kind;
    QUbc *ubc;
    QVnet *net;
    uint16_t told[2];        /* ring heads that ubc knows of: TX, RX */
    uint64_t packets, bytes; /* received */
};

typedef struct Result {
    double mbs, rtt_us;
    double cores[2]; /* busy with it: the sender's, the receiver's */
} Result;

/* ---- ubc ---------------------------------------------------------------- */

/* Tell ubc of new descriptors, if they are many or it has no others. */
static void ub_tell(End *e, unsigned ring, uint16_t head, uint16_t tail)
{
    uint16_t *told = &e->told[ring == UBC_RING_RX];

    if ((uint16_t)(head - *told) >= BELL || (head != *told && tail == *told)) {
        qubc_doorbell(e->ubc, 0, ring);
        *told = head;
    }
}

static unsigned ub_send(End *e, unsigned n, uint32_t len)
{
    QUbcPort *p = &e->ubc->port[0];
    unsigned sent = 0;

    while (p->tx_tail != p->tx_head) {
        uint16_t status = qubc_status(e->ubc, 0, UBC_RING_TX, p->tx_tail);

        if (!(status & UBC_DESC_DONE)) {
            break;
        }
        g_assert_cmphex(status, ==, UBC_DESC_DONE);
        p->tx_tail++;
    }
    while (sent < n && (uint16_t)(p->tx_head - p->tx_tail) < QUBC_RING) {
        qubc_post(e->ubc, 0, UBC_RING_TX, QUBC_TX_BUF(0), len, 3);
        sent++;
    }
    ub_tell(e, UBC_RING_TX, p->tx_head, p->tx_tail);
    return sent;
}

static void ub_give(End *e)
{
    QUbcPort *p = &e->ubc->port[0];

    while ((uint16_t)(p->rx_head - p->rx_tail) < QUBC_RING) {
        qubc_post(e->ubc, 0, UBC_RING_RX,
                  QUBC_RX_BUF(0) + p->rx_head % RX_BUFS * BUF, BUF, 0);
    }
    ub_tell(e, UBC_RING_RX, p->rx_head, p->rx_tail);
}

static unsigned ub_reap(End *e)
{
    QUbcPort *p = &e->ubc->port[0];
    unsigned got = 0;

    while (p->rx_tail != p->rx_head) {
        uint16_t status = qubc_status(e->ubc, 0, UBC_RING_RX, p->rx_tail);

        if (!(status & UBC_DESC_DONE)) {
            break;
        }
        g_assert_cmphex(status, ==, UBC_DESC_DONE);
        e->bytes += ldl_le_p(e->ubc->ram->at + QUBC_RX_RING(0) +
                             p->rx_tail % QUBC_RING * UBC_DESC_SIZE + 8);
        p->rx_tail++;
        got++;
    }
    e->packets += got;
    if (got) {
        ub_give(e);
    }
    return got;
}

static const Kind kind_ub = { "ubc", ub_send, ub_reap };

static void ub_open(End *e, QUbc *d)
{
    *e = (End) { .kind = &kind_ub, .ubc = d };
    qubc_ring_open(d, 0, UBC_RING_TX, QUBC_TX_RING(0));
    qubc_ring_open(d, 0, UBC_RING_RX, QUBC_RX_RING(0));
    ub_give(e);
    qubc_port_write(d, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
}

/* ---- virtio-net --------------------------------------------------------- */

static unsigned net_send(End *e, unsigned n, uint32_t len)
{
    return qvnet_send(e->net, n, len);
}

static unsigned net_reap(End *e)
{
    unsigned got = qvnet_reap(e->net);

    e->packets = e->net->packets;
    e->bytes = e->net->bytes;
    return got;
}

static const Kind kind_net = { "netdev stream", net_send, net_reap };

/* ---- Measuring ---------------------------------------------------------- */

static double now(void)
{
    return g_get_monotonic_time() / 1e6;
}

/* Processor seconds that a process has used. */
static double cpu_of(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
    g_autofree char *text = NULL;
    unsigned long user, system;
    const char *at;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    at = strrchr(text, ')');
    g_assert_cmpint(sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
                           "%*u %lu %lu", &user, &system), ==, 2);
    return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

static double cpu(const End *e)
{
    return cpu_of(qtest_pid(e->ubc ? e->ubc->qts : e->net->qts));
}

static void step(End *a, End *b, uint32_t len)
{
    unsigned n = len ? a->kind->send(a, UINT_MAX, len) : 0;

    if (!(n | b->kind->reap(b))) {
        g_usleep(50);
    }
}

/* Packets of `len` bytes from a to b for some time, after a start. */
static void stream(End *a, End *b, uint32_t len, double seconds, Result *r)
{
    uint64_t bytes, packets, seen;
    double start, t, used[2];

    for (t = now() + 0.05; now() < t;) {
        step(a, b, len);
    }
    bytes = b->bytes;
    packets = b->packets;
    used[0] = cpu(a);
    used[1] = cpu(b);
    start = now();
    while ((t = now() - start) < seconds) {
        step(a, b, len);
    }
    bytes = b->bytes - bytes;
    packets = b->packets - packets;
    g_assert_cmpuint(bytes, ==, packets * len);
    r->mbs = bytes / 1e6 / t;
    r->cores[0] = (cpu(a) - used[0]) / t;
    r->cores[1] = (cpu(b) - used[1]) / t;
    do { /* what is still under way */
        seen = b->packets;
        for (t = now() + 0.02; now() < t;) {
            step(a, b, 0);
        }
    } while (b->packets != seen);
}

/* One packet there and one back. */
static void ping(End *a, End *b, Result *r)
{
    double start = now();

    for (unsigned i = 0; i < PINGS; i++) {
        a->kind->send(a, 1, PING_BYTES);
        while (!b->kind->reap(b)) {
            sched_yield();
        }
        b->kind->send(b, 1, PING_BYTES);
        while (!a->kind->reap(a)) {
            sched_yield();
        }
    }
    r->rtt_us = (now() - start) * 1e6 / PINGS;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static double median(double *v, unsigned n)
{
    qsort(v, n, sizeof(*v), by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* What both ends together take for a GB, however little the host leaves them:
 * seconds of a core. */
static double cost_of(const Result *r)
{
    return (r->cores[0] + r->cores[1]) / r->mbs * 1000;
}

static void compare(End ub[2], End net[2], uint32_t len, unsigned rounds,
                    double seconds)
{
    double mbs[2][ROUNDS_MAX], cost[2][ROUNDS_MAX], ratio[ROUNDS_MAX];
    double typical;
    Result u, n;

    for (unsigned i = 0; i < rounds; i++) {
        stream(&ub[0], &ub[1], len, seconds, &u);
        stream(&net[0], &net[1], len, seconds, &n);
        mbs[0][i] = u.mbs;
        mbs[1][i] = n.mbs;
        cost[0][i] = cost_of(&u);
        cost[1][i] = cost_of(&n);
        ratio[i] = u.mbs / n.mbs;
    }
    typical = median(ratio, rounds); /* sorts them */
    printf("%5u bytes: ubc %7.1f MB/s, netdev stream %7.1f MB/s, "
           "ratio %.2f (%.2f to %.2f); busy cores %.2f + %.2f, %.2f + %.2f; "
           "core seconds a GB %.2f, %.2f\n",
           len, median(mbs[0], rounds), median(mbs[1], rounds),
           typical, ratio[0], ratio[rounds - 1], u.cores[0], u.cores[1],
           n.cores[0], n.cores[1], median(cost[0], rounds),
           median(cost[1], rounds));
    fflush(stdout);
}

static void compare_ping(End ub[2], End net[2], unsigned rounds)
{
    double us[2][ROUNDS_MAX], ratio[ROUNDS_MAX];

    for (unsigned i = 0; i < rounds; i++) {
        Result u, n;

        ping(&ub[0], &ub[1], &u);
        ping(&net[0], &net[1], &n);
        us[0][i] = u.rtt_us;
        us[1][i] = n.rtt_us;
        ratio[i] = n.rtt_us / u.rtt_us;
    }
    printf("round trip: ubc %.1f us, netdev stream %.1f us, speed ratio "
           "%.2f\n", median(us[0], rounds), median(us[1], rounds),
           median(ratio, rounds));
    fflush(stdout);
}

static void rest(End ub[2], double seconds)
{
    double used[2], start;

    g_usleep(500000);
    used[0] = cpu(&ub[0]);
    used[1] = cpu(&ub[1]);
    start = now();
    g_usleep(seconds * 1e6);
    seconds = now() - start;
    for (unsigned i = 0; i < 2; i++) {
        used[i] = cpu(&ub[i]) - used[i];
    }
    printf("at rest for %.0f s: %.3f %% and %.3f %% of a core\n", seconds,
           used[0] / seconds * 100, used[1] / seconds * 100);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = { 256, 1500, 4096, 8192 };
    g_autofree char *dir = g_dir_make_tmp("bench-XXXXXX", NULL);
    g_autofree char *wire = g_build_filename(dir, "ub", NULL);
    g_autofree char *plain = g_build_filename(dir, "net", NULL);
    g_autofree char *more[4] = {
        g_strdup_printf("-chardev socket,id=w,path=%s,server=on,wait=off",
                        wire),
        g_strdup_printf("-chardev socket,id=w,path=%s,reconnect-ms=100",
                        wire),
        g_strdup_printf("stream,id=n0,server=on,addr.type=unix,addr.path=%s",
                        plain),
        g_strdup_printf("stream,id=n0,server=off,addr.type=unix,addr.path=%s",
                        plain),
    };
    unsigned rounds = 5, only = 0;
    double seconds = 1, resting = 30;
    End ub[2], net[2];

    /* run-qtest gives options of TAP programs; they mean nothing here. */
    for (int i = 1, n = 0; i < argc; i++) {
        if (g_ascii_isdigit(argv[i][0])) {
            double v = g_ascii_strtod(argv[i], NULL);

            rounds = n == 0 ? v : rounds;
            seconds = n == 1 ? v : seconds;
            resting = n == 2 ? v : resting;
            only = n == 3 ? v : only;
            n++;
        }
    }
    rounds = CLAMP(rounds, 1, ROUNDS_MAX);
    g_assert_cmpuint(only, <=, BUF);
    ub_open(&ub[0], qubc_start_attached("chardev0=w", more[0]));
    ub_open(&ub[1], qubc_start_attached("chardev0=w", more[1]));
    for (unsigned i = 0; i < 2; i++) {
        /* The sender is the client: in QEMU 10.0 the socket of a server's end
         * blocks, and its emulator with it, until the other end is read. */
        net[!i] = (End) { .kind = &kind_net, .net = qvnet_start(more[2 + i]) };
        QUBC_WAIT(qubc_up(ub[0].ubc, 0) && qubc_up(ub[1].ubc, 0));
    }
    /* The rates climb one by one. */
    QUBC_WAIT(qubc_link_int(ub[0].ubc, 0, "lane-mbps") == 106250);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        if (!only || only == sizes[i]) {
            compare(ub, net, sizes[i], rounds, seconds);
        }
    }
    compare_ping(ub, net, rounds);
    rest(ub, resting);
    for (unsigned i = 0; i < 2; i++) {
        qubc_stop(ub[i].ubc);
        qvnet_stop(net[i].net);
    }
    unlink(wire);
    unlink(plain);
    rmdir(dir);
    return 0;
}
