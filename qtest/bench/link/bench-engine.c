/*
 * Speed of Writes by the engines of two emulators, over RTP and CTP: through the
 * whole port against raw packets of the same link and run, turn by turn, and through
 * one ub-switch against a direct link.  Timings decide nothing.
 *
 *   bench-engine [ROUNDS [SECONDS A ROUND [BYTES OF A WRITE]]]
 *   bench-engine switch [...]
 *   bench-engine cip [...]                         sealed by CIP against plain
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "measure.h"
#include "raw-end.h"
#include "../../link/switch-fabric.h"
#include "../../link/ubc-cip-drv.h"
#include "ub/tah.h"

/* Of Writes, and the longest raw packet beside them. */
#define MTU 8192
#define SQ_LOG2 10
#define CQ_LOG2 10
/* Entries of which the last one has a completion. */
#define BATCH 32u
/* Bytes that may be under way. */
#define AHEAD (4u << 20)

static const uint32_t sizes[] = { 64, 4096, 8192, 65536 };
static const struct { const char *name; unsigned carrier; } ways[] = {
    { "RTP", ENG_RTP }, { "CTP", ENG_CTP },
};

/* What a round found. */
typedef struct Speed {
    double rate;        /* MB/s */
    double cost;        /* core seconds of all emulators together, for a GB */
} Speed;

/* Emulators whose time counts. */
static pid_t pids[4];

static double busy(void)
{
    double sum = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(pids); i++) {
        sum += pids[i] ? cpu_of(pids[i]) : 0;
    }
    return sum;
}

/* One who writes to the other end's segment. */
typedef struct Writer {
    Eng *e;
    UbqCq cq;
    UbqQueue q;
    unsigned row[G_N_ELEMENTS(ways)];
    unsigned batches;           /* under way */
    uint16_t told;              /* completions that the device knows to be read */
    uint64_t done;              /* batches that were */
} Writer;

static void writer_open(Writer *w, Eng *e)
{
    UbqPeer peer = eng_peer(3 - e->n, 0);

    peer.mtu = MTU;
    *w = (Writer) { .e = e, .q = { .d = &e->drv, .sq_log2 = SQ_LOG2 } };
    ubq_cq_open(&w->cq, &e->drv, CQ_LOG2);
    ubq_queue_create(&w->q, &w->cq, NULL, UBQ_NEW, UB_ROI, 0);
    ubq_channel(&e->drv, ENG_TPN, &peer, 99 + e->n, 102 - e->n);
    for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++) {
        w->row[i] = ENG_DEST + i;
        ubq_dest(&e->drv, w->row[i], ways[i].carrier, ENG_TPN, &peer);
    }
    ubq_segment(&e->drv, ENG_SEGMENT, e->room, ENG_ROOM,
                UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_TOKEN, ENG_TOKEN);
}

/* Several Writes of @len bytes, as ubq_post() would each, but for the doorbell. */
static void post_batch(Writer *w, unsigned way, uint32_t len)
{
    for (unsigned i = 0; i < BATCH; i++) {
        uint8_t *s = ubq_sqe(&w->q, 1);
        bool odd = w->q.sq_pi >> SQ_LOG2 & 1;

        ubq_sqe_put(s, UB_TA_WRITE | UBQ_SQE_TOKEN, w->row[way], w->e->room,
                    len);
        put_le32(s + UBQ_SQE_TARGET, ENG_SEGMENT);
        put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN);
        put_le64(s + UBQ_SQE_ADDR, ENG_UBA);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        put_le32(s, (get_le32(s) & ~(i + 1 < BATCH ? UBQ_SQE_CQE : 0)) |
                    (odd ? 0 : UBQ_SQE_OWNER));
        w->q.sq_pi++;
    }
    w->batches++;
}

static void ring(Writer *w)
{
    w->e->drv.bell(w->e->drv.opaque, 0, UBQ_BELL_SQ,
                   w->q.id | (uint64_t)w->q.sq_pi << 32);
}

/* Completions that are there.  The device hears of it when they are a part of the queue:
 * a doorbell is a round trip of qtest's, as those of raw packets are (see raw-end.c). */
static unsigned reap(Writer *w)
{
    unsigned n = 0;

    for (;; n++) {
        const uint8_t *e = w->e->drv.memory + w->cq.base +
                           (w->cq.ci & ((1u << CQ_LOG2) - 1)) * UBQ_CQE;
        uint32_t want = w->cq.ci >> CQ_LOG2 & 1 ? 0 : UBQ_CQE_OWNER;

        if ((*(const volatile uint32_t *)e ^ want) & UBQ_CQE_OWNER) {
            break;
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        g_assert_cmphex(ubq_cqe_status(e), ==, UBQ_STATUS_OK);
        w->cq.ci++;
    }
    if ((uint16_t)(w->cq.ci - w->told) >= 1u << (CQ_LOG2 - 2)) {
        ubq_cq_arm(&w->cq, 0);
        w->told = w->cq.ci;
    }
    w->batches -= n;
    w->done += n;
    return n;
}

static void write_step(Writer *w, unsigned way, uint32_t len, bool more)
{
    unsigned most = CLAMP(AHEAD / len / BATCH, 2, (1u << SQ_LOG2) / BATCH - 1);
    bool posted = false;

    for (; more && w->batches < most; posted = true) {
        post_batch(w, way, len);
    }
    if (posted) {
        ring(w);
    }
    if (!reap(w) && !posted) {
        g_usleep(50);
    }
}

/* Writes for some time, after a start; nothing is under way then. */
static Speed writes(Writer *w, unsigned way, uint32_t len, double seconds)
{
    double start, t, used;
    uint64_t done;
    Speed s;

    for (t = now() + 0.05; now() < t;) {
        write_step(w, way, len, true);
    }
    done = w->done;
    used = busy();
    start = now();
    while ((t = now() - start) < seconds) {
        write_step(w, way, len, true);
    }
    done = w->done - done;
    s.rate = (double)done * BATCH * len / t / 1e6;
    s.cost = (busy() - used) / (s.rate * t) * 1e3;
    while (w->batches) {
        write_step(w, way, len, false);
    }
    return s;
}

/* The same of raw packets. */
static Speed packets(RawEnd ends[2], uint32_t len, double seconds)
{
    double start, t, used;
    uint64_t bytes, seen;
    Speed s;

    for (t = now() + 0.05; now() < t;) {
        raw_send(&ends[0], UINT_MAX, len);
        raw_reap(&ends[1]);
    }
    bytes = ends[1].bytes;
    used = busy();
    start = now();
    while ((t = now() - start) < seconds) {
        if (!(raw_send(&ends[0], UINT_MAX, len) | raw_reap(&ends[1]))) {
            g_usleep(50);
        }
    }
    s.rate = (ends[1].bytes - bytes) / t / 1e6;
    s.cost = (busy() - used) / (s.rate * t) * 1e3;
    do {                        /* what is still under way */
        seen = ends[1].packets;
        for (t = now() + 0.02; now() < t;) {
            raw_send(&ends[0], 0, len);
            raw_reap(&ends[1]);
        }
    } while (ends[1].packets != seen);
    return s;
}

static void full_speed(QUbc *a, QUbc *b)
{
    QUBC_WAIT(qubc_link_int(a, 0, "lane-mbps") == 106250 &&
              qubc_link_int(b, 0, "lane-mbps") == 106250);
}

/* Rounds of two ways in turn. */
typedef struct Compared {
    double rate[2][ROUNDS_MAX], cost[2][ROUNDS_MAX];
    double ratio[ROUNDS_MAX], saving[ROUNDS_MAX];
    unsigned rounds;
} Compared;

static void compare(Compared *c, Speed ours, Speed other)
{
    unsigned n = c->rounds++;

    c->rate[0][n] = ours.rate;
    c->rate[1][n] = other.rate;
    c->cost[0][n] = ours.cost;
    c->cost[1][n] = other.cost;
    c->ratio[n] = ours.rate / other.rate;
    c->saving[n] = other.cost / ours.cost;
}

static void report(const char *what, const char *way, uint32_t len, Compared *c)
{
    double typical = median(c->ratio, c->rounds);

    printf("%5u bytes over %s: %8.1f MB/s, %s %8.1f MB/s, ratio %.2f (%.2f to "
           "%.2f), core seconds a GB %.2f, %.2f, ratio %.2f\n", len, way,
           median(c->rate[0], c->rounds), what, median(c->rate[1], c->rounds),
           typical, c->ratio[0], c->ratio[c->rounds - 1],
           median(c->cost[0], c->rounds), median(c->cost[1], c->rounds),
           median(c->saving, c->rounds));
    fflush(stdout);
}

/* Bytes of a Write that are asked for; 0: all that there are. */
static uint32_t only;

static bool wanted(uint32_t len)
{
    return !only || len == only;
}

static void against_raw(EngPair *p, unsigned rounds, double seconds)
{
    RawEnd raw[2];
    Writer w, other;

    raw_open(&raw[0], p->link.a);
    raw_open(&raw[1], p->link.b);
    writer_open(&w, &p->a);
    writer_open(&other, &p->b);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (unsigned way = 0; wanted(sizes[i]) && way < G_N_ELEMENTS(ways);
             way++) {
            Compared c = { .rounds = 0 };

            for (unsigned n = 0; n < rounds; n++) {
                Speed ours = writes(&w, way, sizes[i], seconds);

                compare(&c, ours, packets(raw, MIN(sizes[i], MTU), seconds));
            }
            report("raw packets", ways[way].name, sizes[i], &c);
        }
    }
}

static void against_direct(EngPair *p, unsigned rounds, double seconds)
{
    Writer direct, far, other[2];
    Fabric f;

    fabric_start(&f, "");
    full_speed(f.q[0], f.q[1]);
    pids[2] = qtest_pid(f.q[0]->qts);
    pids[3] = qtest_pid(f.q[1]->qts);
    writer_open(&direct, &p->a);
    writer_open(&other[0], &p->b);
    writer_open(&far, &f.e[0]);
    writer_open(&other[1], &f.e[1]);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (unsigned way = 0; wanted(sizes[i]) && way < G_N_ELEMENTS(ways);
             way++) {
            Compared c = { .rounds = 0 };

            for (unsigned n = 0; n < rounds; n++) {
                Speed ours = writes(&far, way, sizes[i], seconds);

                compare(&c, ours, writes(&direct, way, sizes[i], seconds));
            }
            report("direct", ways[way].name, sizes[i], &c);
        }
    }
    fabric_stop(&f);
}

/* Sealed and plain by turns, on one pair. */
static void against_plain(EngPair *p, unsigned rounds, double seconds)
{
    static const struct { const char *name; unsigned suite; } ciphers[] = {
        { "AES-256-GCM", AES }, { "SM4-GCM", SM4 },
    };
    Writer w, other;
    uint32_t serial = 0;

    writer_open(&w, &p->a);
    writer_open(&other, &p->b);
    for (unsigned c = 0; c < G_N_ELEMENTS(ciphers); c++) {
        for (unsigned i = 1; i < G_N_ELEMENTS(sizes); i++) {
            Compared d = { .rounds = 0 };

            for (unsigned n = 0; wanted(sizes[i]) && n < rounds; n++) {
                Speed ours;

                cip_turn_on(&p->a, ciphers[c].suite);
                cip_turn_on(&p->b, ciphers[c].suite);
                /* A nonce is never used twice. */
                serial++;
                cip_key_both(p, 0, serial);
                cip_use_both(p, 0);
                ours = writes(&w, 0, sizes[i], seconds);
                cip_put(&p->a, UB_CIP_CTRL, 0);
                cip_put(&p->b, UB_CIP_CTRL, 0);
                compare(&d, ours, writes(&w, 0, sizes[i], seconds));
            }
            if (d.rounds) {
                report("plain", ciphers[c].name, sizes[i], &d);
            }
        }
    }
}

int main(int argc, char **argv)
{
    double given[] = { 3, 1, 0 };   /* rounds, seconds of each, bytes */
    bool through = false, sealed = false;
    unsigned rounds;
    EngPair p = { 0 };

    numbers(argc, argv, given, G_N_ELEMENTS(given));
    for (int i = 1; i < argc; i++) {
        through = through || !strcmp(argv[i], "switch");
        sealed = sealed || !strcmp(argv[i], "cip");
    }
    rounds = CLAMP(given[0], 1, ROUNDS_MAX);
    only = given[2];
    if (through && !switch_program()) {
        printf("ub-switch is not built\n");
        return 0;
    }
    link_prepare(&p.link);
    p.link.props = sealed ? "cip=on" : NULL;
    p.link.a = start_server(&p.link);
    p.link.b = start_client(&p.link);
    eng_open(&p.a, p.link.a, 1);
    eng_open(&p.b, p.link.b, 2);
    eng_link_up(&p);
    full_speed(p.link.a, p.link.b);
    pids[0] = qtest_pid(p.link.a->qts);
    pids[1] = qtest_pid(p.link.b->qts);
    if (sealed) {
        against_plain(&p, rounds, given[1]);
    } else if (through) {
        against_direct(&p, rounds, given[1]);
    } else {
        against_raw(&p, rounds, given[1]);
    }
    link_stop(&p.link);
    return 0;
}
