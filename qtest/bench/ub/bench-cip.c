/*
 * CIP: 64 KiB Writes over RTP between two nodes of one process, sealed and not, in
 * turns; and the ciphers alone, on packets of 4 KiB.
 *
 * usage: bench-cip [OPERATIONS]     (of a turn; default 400)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ta-pair.h"

enum { TURNS = 7, LEN = 65536, PIECE = 4096 };

static double seconds(void)
{
    return g_get_monotonic_time() / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;

    return d < 0 ? -1 : d > 0;
}

static double median(double *v)
{
    qsort(v, TURNS, sizeof(*v), by_value);
    return v[TURNS / 2];
}

/* Bytes a second of @n Writes. */
static double writes(Pair *p, unsigned n)
{
    double start = seconds();

    for (unsigned i = 0; i < n; i++) {
        work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, LEN),
                 UB_TAS_OK);
    }
    return (double)n * LEN / (seconds() - start);
}

/* Bytes a second that are sealed and opened again. */
static double ciphers(UbCipSuite suite, unsigned n)
{
    Pair *p = pair_new(2, NULL);
    CorePacketPool *pool = core_packet_pool_new(320, 0);
    UbSecHead h = { .form = UB_SEC_WIDE, .upi = PAIR_UPI,
                    .seid = p->end[0].eid, .deid = p->end[1].eid }, back;
    double start;
    unsigned entity;

    pair_cip_up(p, suite, UB_CIP_ON);
    start = seconds();
    for (unsigned i = 0; i < n; i++) {
        CorePacket *pkt = core_packet_alloc(pool, PIECE);

        if (ub_sec_push(p->end[0].sec, &h, pkt) != UB_SEC_CIPH ||
            ub_sec_pull(p->end[1].sec, UB_SEC_CIPH, false, false, pkt, &back,
                        &entity)) {
            g_error("a packet was not sealed, or not opened");
        }
        core_packet_free(pkt);
    }
    start = seconds() - start;
    core_packet_pool_free(pool);
    pair_free(p);
    return (double)n * PIECE / start;
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? atoi(argv[1]) : 400;
    Pair *plain = pair_new_real(2, NULL);

    pair_queue(plain, 0, 7, UB_ROI);
    for (unsigned suite = 1; suite < UB_CIP_SUITES; suite++) {
        Pair *sealed = pair_new_real(2, NULL);
        double with[TURNS], without[TURNS], ratio[TURNS], alone[TURNS];

        pair_cip_up(sealed, suite, UB_CIP_ON);
        pair_queue(sealed, 0, 7, UB_ROI);
        for (unsigned i = 0; i < TURNS; i++) {
            without[i] = writes(plain, n);
            with[i] = writes(sealed, n);
            ratio[i] = with[i] / without[i];
            alone[i] = ciphers(suite, n * LEN / PIECE);
        }
        printf("%s: write 64 KiB plain %.0f MB/s, sealed %.0f MB/s, ratio "
               "%.2f; cipher there and back %.0f MB/s\n",
               ub_cip_suite_name(suite), median(without) / 1e6,
               median(with) / 1e6, median(ratio), median(alone) / 1e6);
        pair_free(sealed);
    }
    pair_free(plain);
    return 0;
}
