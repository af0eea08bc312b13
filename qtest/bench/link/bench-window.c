/*
 * Loads and stores through BAR4 on the memory of another emulator, over Bypass.
 *
 * A load of 8 bytes beside a raw packet there and back, which is the least that any
 * question can take on this link; and stores that leave together, as many as a Write
 * takes, beside those of a device that lets none wait for its neighbours.  Turn by turn
 * in the same run.  qtest is the processor: a load is one command of its; many stores
 * are one, which QEMU takes apart as it does a processor's.  Timings decide nothing.
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
        g_assert_cmphex(win_load(&t->w, 8 * (i % 64)), ==, i % 64);
    }
    return (now() - begun) * 1e6 / n;
}

/* Processor seconds of both emulators so far. */
static double cpu(const Bench *t)
{
    return cpu_of(qtest_pid(t->p.a.q->qts)) + cpu_of(qtest_pid(t->p.b.q->qts));
}

/* MB/s of stores of 8 bytes, until the last one is done. */
static double store(Bench *t, const uint8_t *data)
{
    double begun = now();

    qtest_bufwrite(t->p.a.q->qts, WIN_BASE, data, STORED);
    g_assert_cmphex(win_fence(&t->w), ==, 0);
    return STORED / (now() - begun) / 1e6;
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
    static uint8_t data[STORED];
    double given[] = { 20, 500 }, cost[2];
    Bench together, alone;
    unsigned rounds, n;

    numbers(argc, argv, given, G_N_ELEMENTS(given));
    rounds = CLAMP(given[0], 1, ROUNDS_MAX);
    n = MAX(given[1], 1);
    start(&together, WIN_PROPS);
    start(&alone, WIN_PROPS ",window-combine=0");
    for (unsigned i = 0; i < STORED / 8; i++) {
        put_le64(data + 8 * i, i);
    }
    store(&together, data);
    store(&alone, data);
    /* The one does nothing while the other one is measured. */
    cost[1] = -cpu(&alone);
    cost[0] = 0;
    for (unsigned i = 0; i < rounds; i++) {
        us[0][i] = load(&together, n);
        us[1][i] = ping(&together, n);
        cost[0] -= cpu(&together);
        mbs[0][i] = store(&together, data);
        cost[0] += cpu(&together);
        mbs[1][i] = store(&alone, data);
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
