/*
 * What the UMMU costs: Writes of 64 KiB from one emulator to another, by plain segments
 * and by tables, turn by turn in the same run.  Timings decide nothing.
 *
 *   bench-ummu [ROUNDS [SECONDS A ROUND]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../../link/ubc-eng.h"
#include "../../ubm-drv.h"
#include "ub/tah.h"

#define LEN 65536u
#define DEPTH 8u                /* Writes under way */
#define ROUNDS_MAX 64

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

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    double mbs[2][ROUNDS_MAX], ratio[ROUNDS_MAX], seconds = 1;
    unsigned rounds = 5, numbers = 0;
    UbmDrv d;

    /* run-qtest gives options of TAP programs; they mean nothing here. */
    for (int i = 1; i < argc; i++) {
        if (g_ascii_isdigit(argv[i][0])) {
            double v = g_ascii_strtod(argv[i], NULL);

            rounds = numbers == 0 ? CLAMP(v, 1, ROUNDS_MAX) : rounds;
            seconds = numbers == 1 ? v : seconds;
            numbers++;
        }
    }
    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    tables(&d);
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned on = 0; on < 2; on++) {
            reg_write(NULL, UBM_CR0, on ? UBM_CR0_ENABLE | UBM_CR0_EVTQ |
                                          UBM_CR0_MAPT : 0);
            stream(seconds / 10);
            mbs[on][i] = stream(seconds);
        }
        ratio[i] = mbs[1][i] / mbs[0][i];
    }
    for (unsigned on = 0; on < 2; on++) {
        qsort(mbs[on], rounds, sizeof(double), by_value);
    }
    qsort(ratio, rounds, sizeof(double), by_value);
    printf("Writes of %u bytes: plain %.1f MB/s, translated %.1f MB/s, ratio %.2f "
           "(%.2f to %.2f)\n", LEN, mbs[0][rounds / 2], mbs[1][rounds / 2],
           ratio[rounds / 2], ratio[0], ratio[rounds - 1]);
    eng_stop(&p);
    return 0;
}
