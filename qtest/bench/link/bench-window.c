/*
 * Loads and stores through BAR4 on the memory of another emulator, over Bypass.
 *
 * A load of 8 bytes beside a raw packet there and back, which is the least that any
 * question can take on this link; and stores that leave together, as many as a Write
 * takes, beside those of a device that lets none wait for its neighbours.  Turn by turn
 * in the same run.  qtest is the processor: a load is one command of its; many stores
 * are one (memset: no bytes of theirs to read and decode in the emulator's time), which
 * QEMU takes apart as it does a processor's, 8 bytes at a time.  Timings decide nothing;
 * what is loaded and stored is compared.
 *
 *   bench-window [ROUNDS [LOADS A ROUND]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "measure.h"
#include "raw-end.h"
#include "../../link/ubc-win.h"
#include "ub/tah.h"

#define PING_BYTES 64
#define STORED (64u << 10)      /* bytes */
#define LOADED 64u              /* words behind them */
#define GROUP 10u               /* loads or packets in a row */

typedef struct Bench {
    EngPair p;
    Win w;
    RawEnd a, b;
} Bench;

static void start(Bench *t, const char *props)
{
    eng_start(&t->p, &(EngPlan){ .carrier = ENG_BYPASS, .mode = UB_ROI,
                                 .props = props });
    win_open(&t->w, &t->p.a);
    raw_open(&t->a, t->p.link.a);
    raw_open(&t->b, t->p.link.b);
    /* The rates climb one by one. */
    QUBC_WAIT(qubc_link_int(t->p.link.a, 0, "lane-mbps") == 106250);
}

/* us of one packet there and one back. */
static double ping(Bench *t, unsigned n)
{
    double begun = now();

    for (unsigned i = 0; i < n; i++) {
        raw_send(&t->a, 1, PING_BYTES);
        while (!raw_reap(&t->b)) {
            sched_yield();
        }
        raw_send(&t->b, 1, PING_BYTES);
        while (!raw_reap(&t->a)) {
            sched_yield();
        }
    }
    return (now() - begun) * 1e6 / n;
}

/* us of a load. */
static double load(Bench *t, unsigned n)
{
    double begun = now();

    for (unsigned i = 0; i < n; i++) {
        uint64_t want = UINT64_C(0x9e3779b97f4a7c15) * (i % LOADED + 1);

        g_assert_cmphex(win_load(&t->w, STORED + 8 * (i % LOADED)), ==, want);
    }
    return (now() - begun) * 1e6 / n;
}

/* us of each, in groups that alternate: what else the host does falls on both. */
static void alternate(Bench *t, unsigned n, double *loads, double *pings)
{
    *loads = *pings = 0;
    for (unsigned at = 0, k; at < n; at += k) {
        k = MIN(n - at, GROUP);
        *loads += load(t, k) * k / n;
        *pings += ping(t, k) * k / n;
    }
}

/* Processor seconds of both emulators so far. */
static double cpu(const Bench *t)
{
    return cpu_of(qtest_pid(t->p.a.q->qts)) + cpu_of(qtest_pid(t->p.b.q->qts));
}

/* MB/s of stores of 8 bytes, until the last one is done: the peer has them. */
static double store(Bench *t, uint8_t byte)
{
    const uint8_t *room = t->p.b.drv.memory + t->p.b.room;
    double begun = now(), took;

    qtest_memset(t->p.a.q->qts, WIN_BASE, byte, STORED);
    g_assert_cmphex(win_fence(&t->w), ==, 0);
    took = now() - begun;
    for (unsigned i = 0; i < STORED; i++) {
        g_assert_cmphex(room[i], ==, byte);
    }
    return STORED / took / 1e6;
}

/* What loads find: behind what is stored. */
static void fill(Bench *t)
{
    for (unsigned i = 0; i < LOADED; i++) {
        put_le64(t->p.b.drv.memory + t->p.b.room + STORED + 8 * i,
                 UINT64_C(0x9e3779b97f4a7c15) * (i + 1));
    }
}

static void print(const char *what, const char *unit, const char *one, double *x,
                  const char *other, double *y, unsigned rounds)
{
    double ratio[ROUNDS_MAX], typical;

    for (unsigned i = 0; i < rounds; i++) {
        ratio[i] = x[i] / y[i];
    }
    typical = median(ratio, rounds); /* sorts them */
    printf("%s: %s %.2f %s, %s %.2f %s, ratio %.2f (%.2f to %.2f)\n", what, one,
           median(x, rounds), unit, other, median(y, rounds), unit, typical,
           ratio[0], ratio[rounds - 1]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static double us[2][ROUNDS_MAX], mbs[2][ROUNDS_MAX];
    double given[] = { 20, 500 }, cost[2];
    Bench together, alone;
    unsigned rounds, n;

    numbers(argc, argv, given, G_N_ELEMENTS(given));
    rounds = CLAMP(given[0], 1, ROUNDS_MAX);
    n = MAX(given[1], 1);
    start(&together, WIN_PROPS);
    start(&alone, WIN_PROPS ",window-combine=0");
    fill(&together);
    store(&together, ROUNDS_MAX - 1);
    store(&alone, ROUNDS_MAX - 1);
    /* The one does nothing while the other one is measured. */
    cost[1] = -cpu(&alone);
    cost[0] = 0;
    for (unsigned i = 0; i < rounds; i++) {
        alternate(&together, n, &us[0][i], &us[1][i]);
        cost[0] -= cpu(&together);
        mbs[0][i] = store(&together, i);
        cost[0] += cpu(&together);
        mbs[1][i] = store(&alone, i);
    }
    cost[1] += cpu(&alone);
    print("8 bytes", "us", "load", us[0], "raw round trip", us[1], rounds);
    print("stores", "MB/s", "combined", mbs[0], "one by one", mbs[1], rounds);
    printf("core us of a store: combined %.2f, one by one %.2f, ratio %.1f\n",
           cost[0] * 1e6 / (rounds * (STORED / 8)),
           cost[1] * 1e6 / (rounds * (STORED / 8)), cost[1] / cost[0]);
    eng_stop(&together.p);
    eng_stop(&alone.p);
    return 0;
}
