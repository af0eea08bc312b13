/*
 * Speed of a UB link end to end, and what it costs at rest.
 *
 * Raw packets go from one emulator to another over a unix socket, through the
 * rings, the data link layer and the lanes of ubc; beside them, in the same
 * run and turn by turn, frames of the same size through virtio-net and
 * -netdev stream, which have nothing to do but carry them.  Then the processor
 * time of a linked pair that rests.  Timings decide nothing.
 *
 *   bench-link [ROUNDS [SECONDS A ROUND [SECONDS AT REST [PACKET SIZE]]]]
 *   bench-link raw [ROUNDS [SECONDS A ROUND [0 [PACKET SIZE]]]] [,PROPERTIES]
 *
 * raw: ubc alone, with further properties, for others to compare with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "measure.h"
#include "raw-end.h"
#include "vnet-driver.h"

#define PINGS 1000
#define PING_BYTES 64

/* An end of a pair of either kind. */
typedef struct End End;
typedef struct Kind {
    const char *name;
    unsigned (*send)(End *e, unsigned n, uint32_t len);
    unsigned (*reap)(End *e);
} Kind;

struct End {
    const Kind *kind;
    RawEnd raw;
    QVnet *net;
    uint64_t packets, bytes; /* received */
};

typedef struct Result {
    double mbs, rtt_us;
    double cores[2]; /* busy with it: the sender's, the receiver's */
} Result;

/* ---- ubc ---------------------------------------------------------------- */

static unsigned ub_send(End *e, unsigned n, uint32_t len)
{
    return raw_send(&e->raw, n, len);
}

static unsigned ub_reap(End *e)
{
    unsigned got = raw_reap(&e->raw);

    e->packets = e->raw.packets;
    e->bytes = e->raw.bytes;
    return got;
}

static const Kind kind_ub = { "ubc", ub_send, ub_reap };

static void ub_open(End *e, QUbc *d)
{
    *e = (End) { .kind = &kind_ub };
    raw_open(&e->raw, d);
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

static double cpu(const End *e)
{
    return cpu_of(qtest_pid(e->net ? e->net->qts : e->raw.ubc->qts));
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
    Result u = { 0 }, n = { 0 };

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

static void alone(End ub[2], uint32_t len, unsigned rounds, double seconds)
{
    double mbs[ROUNDS_MAX];
    Result r;

    for (unsigned i = 0; i < rounds; i++) {
        stream(&ub[0], &ub[1], len, seconds, &r);
        mbs[i] = r.mbs;
    }
    printf("raw %u bytes: %.1f MB/s\n", len, median(mbs, rounds));
}

/* Two controllers, linked at the highest rate. */
static void ub_link(End ub[2], char *const more[2], const char *props)
{
    g_autofree char *device = g_strconcat("chardev0=w", props, NULL);

    for (unsigned i = 0; i < 2; i++) {
        ub_open(&ub[i], qubc_start_attached(device, more[i]));
    }
    QUBC_WAIT(qubc_up(ub[0].raw.ubc, 0) && qubc_up(ub[1].raw.ubc, 0));
    /* The rates climb one by one. */
    QUBC_WAIT(qubc_link_int(ub[0].raw.ubc, 0, "lane-mbps") == 106250);
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
    /* Rounds, seconds of each, seconds at rest, the only size of packets. */
    double given[] = { 5, 1, 30, 0 };
    double seconds, resting;
    unsigned rounds, only;
    const char *props = "";
    bool raw = false;
    End ub[2], net[2];

    numbers(argc, argv, given, G_N_ELEMENTS(given));
    for (int i = 1; i < argc; i++) {
        raw = raw || !strcmp(argv[i], "raw");
        props = argv[i][0] == ',' ? argv[i] : props;
    }
    rounds = CLAMP(given[0], 1, ROUNDS_MAX);
    seconds = given[1];
    resting = given[2];
    only = given[3];
    g_assert_cmpuint(only, <=, RAW_BUF);
    ub_link(ub, more, props);
    for (unsigned i = 0; i < 2 && !raw; i++) {
        /* The sender is the client: in QEMU 10.0 the socket of a server's end
         * blocks, and its emulator with it, until the other end is read. */
        net[!i] = (End) { .kind = &kind_net, .net = qvnet_start(more[2 + i]) };
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        if (!only || only == sizes[i]) {
            if (raw) {
                alone(ub, sizes[i], rounds, seconds);
            } else {
                compare(ub, net, sizes[i], rounds, seconds);
            }
        }
    }
    if (!raw) {
        compare_ping(ub, net, rounds);
        rest(ub, resting);
    }
    for (unsigned i = 0; i < 2; i++) {
        qubc_stop(ub[i].raw.ubc);
        if (!raw) {
            qvnet_stop(net[i].net);
        }
    }
    unlink(wire);
    unlink(plain);
    rmdir(dir);
    return 0;
}
