/*
 * PCS speed: payload through the transmitter, and error-free through the
 * receiver, on one core, beside memcpy and ISA-L's ec_encode_data (k = 120,
 * 8 parities) on the same data.  Prints rates and ratios; decides nothing.
 * Arguments: one set of inner loops, and one mode by its index; else all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_ISAL
#include <isa-l.h>
#endif

#include "kernels.h"
#include "pcs.h"

#define DATA (240u * 65536u) /* 15 MiB: whole frames of every mode */
#define RUN 16384            /* symbols per lane of a run */
#define ROUNDS 9            /* the best one counts */

static uint8_t *data, *copy;
static size_t delivered;
static uint64_t digest;

static void on_flits(void *opaque, const uint8_t *flits, size_t n, bool ok)
{
    delivered += ok ? n * UB_FLIT : 0;
    digest += flits[0] + flits[n * UB_FLIT - 1];
}

/* Processor time of this thread, so that neighbours disturb less. */
static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Best rate of some rounds, in GB/s. */
static double rate(void (*work)(void *), void *arg)
{
    double best = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        double t = seconds();

        work(arg);
        t = MAX(seconds() - t, 1e-9);
        best = MAX(best, DATA / t / 1e9);
    }
    return best;
}

static void work_memcpy(void *arg)
{
    memcpy(copy, data, DATA);
}

#ifdef HAVE_ISAL
#define K 120
#define P 8

static unsigned char isal_tables[32 * K * P];

static void work_isal(void *arg)
{
    unsigned len = DATA / K;
    unsigned char *src[K], *dst[P];

    for (unsigned i = 0; i < K; i++) {
        src[i] = data + (size_t)i * len;
    }
    for (unsigned i = 0; i < P; i++) {
        dst[i] = copy + (size_t)i * len;
    }
    ec_encode_data(len, K, P, isal_tables, src, dst);
}

static double isal_rate(void)
{
    static unsigned char matrix[(K + P) * K];

    gf_gen_cauchy1_matrix(matrix, K + P, K);
    ec_init_tables(K, P, matrix + K * K, isal_tables);
    return rate(work_isal, NULL);
}
#else
static double isal_rate(void)
{
    return 0;
}
#endif

typedef struct Bench {
    UbPcsMode mode;
    UbPcsTx *tx;
    UbPcsRx *rx;
    UbLaneRun run;
    GPtrArray *runs; /* what a transmission left, for the receiver */
} Bench;

static void work_tx(void *arg)
{
    Bench *b = arg;
    size_t done = 0, flits = DATA / UB_FLIT;

    while (done < flits) {
        b->run.n = b->run.mask = 0;
        done += ub_pcs_tx_flits(b->tx, data + done * UB_FLIT, flits - done,
                                &b->run);
    }
}

static void keep(Bench *b)
{
    UbLaneRun *r = g_new0(UbLaneRun, 1);

    r->n = b->run.n;
    r->mask = b->run.mask;
    for (unsigned i = 0; i < b->mode.width; i++) {
        r->lane[i] = g_memdup2(b->run.lane[i], r->n);
    }
    g_ptr_array_add(b->runs, r);
    b->run.n = b->run.mask = 0;
}

static void record(Bench *b)
{
    static const uint8_t ltb[UB_LANES][UB_LTB];
    size_t done = 0, flits = DATA / UB_FLIT;

    ub_pcs_tx_reset(b->tx);
    ub_pcs_tx_train(b->tx, b->mode.width, b->mode.pam4, b->mode.precode,
                    NULL);
    ub_pcs_tx_ltbs(b->tx, ltb, 6 * 32, &b->run);
    ub_pcs_tx_sdf(b->tx, &b->mode, &b->run);
    keep(b);
    while (done < flits) {
        done += ub_pcs_tx_flits(b->tx, data + done * UB_FLIT, flits - done,
                                &b->run);
        keep(b);
    }
}

static void work_rx(void *arg)
{
    Bench *b = arg;

    delivered = 0;
    ub_pcs_rx_reset(b->rx);
    ub_pcs_rx_enable(b->rx, (1u << b->mode.width) - 1, b->mode.pam4,
                     b->mode.precode);
    ub_pcs_rx_set_fec(b->rx, b->mode.fec, b->mode.codecs);
    for (unsigned i = 0; i < b->runs->len; i++) {
        ub_pcs_rx(b->rx, b->runs->pdata[i]);
    }
}

static void run_free(void *run)
{
    UbLaneRun *r = run;

    for (unsigned i = 0; i < UB_LANES; i++) {
        g_free(r->lane[i]);
    }
    g_free(r);
}

static void measure(const char *name, UbPcsMode mode, double memcpy_rate,
                    double isal)
{
    static const UbPcsRxOps ops = { .flits = on_flits };
    UbPcsParams p;
    Bench b = { .mode = mode, .run.cap = RUN };
    double tx, rx;

    ub_pcs_params_init(&p);
    b.tx = ub_pcs_tx_new(&p);
    b.rx = ub_pcs_rx_new(&p, &ops, NULL);
    b.runs = g_ptr_array_new_with_free_func(run_free);
    for (unsigned i = 0; i < UB_LANES; i++) {
        b.run.lane[i] = g_malloc(RUN);
    }
    record(&b);
    tx = rate(work_tx, &b);
    rx = rate(work_rx, &b);
    printf("%-7s %-22s tx %6.2f GB/s", ub_pcs_kernels()->name, name, tx);
    printf("  rx %6.2f GB/s  x memcpy %.2f %.2f", rx, tx / memcpy_rate,
           rx / memcpy_rate);
    if (isal) {
        printf("  x isa-l %.2f %.2f", tx / isal, rx / isal);
    }
    printf("%s\n", delivered == DATA ? "" : "  LOST DATA");
    fflush(stdout);
    ub_pcs_tx_free(b.tx);
    ub_pcs_rx_free(b.rx);
    g_ptr_array_unref(b.runs);
    for (unsigned i = 0; i < UB_LANES; i++) {
        g_free(b.run.lane[i]);
    }
}

/* The RS code alone, in cache. */
static uint8_t words[240 * 32], parity[16 * 32];

static void work_rs(void *arg)
{
    for (size_t i = 0; i < DATA; i += sizeof(words)) {
        ub_pcs_kernels()->rs_encode(words, parity, 32, 2);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        UbPcsMode mode;
    } modes[] = {
        { "x8 T4 interleaved", { 8, UB_FEC_T4, 2, false, false } },
        { "x8 FEC off", { 8, UB_FEC_OFF, 1, false, false } },
        { "x4 T4 interleaved", { 4, UB_FEC_T4, 2, false, false } },
        { "x1 T4", { 1, UB_FEC_T4, 1, false, false } },
        { "x8 T4 PAM4 precoded", { 8, UB_FEC_T4, 2, true, true } },
    };
    double copied, isal;
    const UbPcsKernels *k;

    data = g_malloc(DATA);
    copy = g_malloc(DATA);
    for (size_t i = 0; i < DATA; i++) {
        data[i] = i * 2654435761u >> 13;
    }
    memcpy(copy, data, DATA);
    copied = rate(work_memcpy, NULL);
    isal = isal_rate();
    printf("memcpy %.2f GB/s", copied);
    if (isal) {
        printf(", ISA-L ec_encode_data(120, 8) %.2f GB/s\n", isal);
    } else {
        printf(", ISA-L is not here\n");
    }
    for (unsigned i = 0; (k = ub_pcs_kernels_at(i)); i++) {
        if (argc > 1 && strcmp(argv[1], k->name)) {
            continue;
        }
        ub_pcs_kernels_select(k->name);
        printf("%-7s RS encode alone       %6.2f GB/s\n", k->name,
               rate(work_rs, NULL));
        for (unsigned m = 0; m < G_N_ELEMENTS(modes); m++) {
            if (argc > 2 && atoi(argv[2]) != m) {
                continue;
            }
            measure(modes[m].name, modes[m].mode, copied, isal);
        }
    }
    g_free(data);
    g_free(copy);
    return 0;
}
