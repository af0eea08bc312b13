/*
 * What the UMMU costs: Writes of 64 KiB from one emulator to another, by plain segments
 * and by tables, turn by turn in the same run, and the processor time of both, which other
 * work on the host changes less.  Timings decide nothing.
 *
 *   bench-ummu [ROUNDS [SECONDS A ROUND]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "measure.h"
#include "../../link/ubc-eng.h"
#include "../../ubm-drv.h"
#include "ub/tah.h"

#define LEN 65536u
#define DEPTH 8u                /* Writes under way */

static EngPair p;

static uint32_t reg_read(void *opaque, uint32_t offset)
{
    return qubc_read(p.b.q, UBM_WINDOW + offset);
}

static void reg_write(void *opaque, uint32_t offset, uint32_t value)
{
    qubc_write(p.b.q, UBM_WINDOW + offset, value);
}

static void progress(void *opaque)
{
    g_usleep(100);
}

static void tables(UbmDrv *d)
{
    uint64_t heap = ubq_alloc(&p.b.drv, 4u << 20, 4096);

    *d = (UbmDrv){ .memory = p.b.drv.memory, .brk = heap,
                   .end = heap + (4u << 20), .reg_read = reg_read,
                   .reg_write = reg_write, .progress = progress };
    ubm_open(d, 8);
    ubm_context(d, ENG_SEGMENT, 0);
    ubm_map(d, ENG_SEGMENT, ENG_UBA, p.b.room, ENG_ROOM, 0);
    ubm_single(d, ENG_SEGMENT, UBM_MAPTE_V | UBM_RWA, ENG_UBA,
               ENG_UBA + ENG_ROOM - 1, ENG_TOKEN);
}

/* Processor seconds of both emulators so far. */
static double cpu(void)
{
    return cpu_of(qtest_pid(p.a.q->qts)) + cpu_of(qtest_pid(p.b.q->qts));
}

/* MB a second. */
static double stream(double seconds)
{
    gint64 start = g_get_monotonic_time(), t;
    unsigned under_way = 0;
    uint64_t bytes = 0;

    do {
        const uint8_t *c;

        for (; under_way < DEPTH; under_way++) {
            ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, LEN, 1), 1);
        }
        while ((c = ubq_cq_poll(&p.a.cq))) {
            g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_OK);
            under_way--;
            bytes += LEN;
        }
        t = g_get_monotonic_time() - start;
    } while (t < seconds * 1e6);
    for (; under_way; under_way--) {
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    return bytes / (double)t;
}

int main(int argc, char **argv)
{
    /* Rounds, seconds of each. */
    double given[] = { 5, 1 };
    double mbs[2][ROUNDS_MAX], cost[2][ROUNDS_MAX], ratio[ROUNDS_MAX];
    double ratio_cost[ROUNDS_MAX], typical;
    unsigned rounds;
    UbmDrv d;

    numbers(argc, argv, given, G_N_ELEMENTS(given));
    rounds = CLAMP(given[0], 1, ROUNDS_MAX);
    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    tables(&d);
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned turn = 0; turn < 2; turn++) {
            /* Which is first changes, too. */
            unsigned on = (turn + i) % 2;

            reg_write(NULL, UBM_CR0, on ? UBM_CR0_ENABLE | UBM_CR0_EVTQ |
                                          UBM_CR0_MAPT : 0);
            stream(given[1] / 10);
            cost[on][i] = cpu();
            mbs[on][i] = stream(given[1]);
            cost[on][i] = (cpu() - cost[on][i]) / (mbs[on][i] * given[1]) * 1e3;
        }
        ratio[i] = mbs[1][i] / mbs[0][i];
        ratio_cost[i] = cost[1][i] / cost[0][i];
    }
    typical = median(ratio, rounds); /* sorts them */
    printf("Writes of %u bytes: plain %.1f MB/s, translated %.1f MB/s, ratio %.2f "
           "(%.2f to %.2f)\n", LEN, median(mbs[0], rounds), median(mbs[1], rounds),
           typical, ratio[0], ratio[rounds - 1]);
    typical = median(ratio_cost, rounds);
    printf("core seconds a GB: plain %.2f, translated %.2f, ratio %.2f (%.2f to "
           "%.2f)\n", median(cost[0], rounds), median(cost[1], rounds), typical,
           ratio_cost[0], ratio_cost[rounds - 1]);
    eng_stop(&p);
    return 0;
}
