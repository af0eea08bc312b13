/*
 * How fast memory of another node is read and written in order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "perf.h"

static double mbs(size_t bytes, int64_t begun)
{
    return bytes * 1e3 / (now_ns() - begun);
}

/* As a processor does it that stores 8 bytes at a time, which is what the window
 * takes. */
double copy_in(const UbMem *m, const uint64_t *from, double *done)
{
    int64_t begun = now_ns();
    double copied;

    for (size_t at = 0; at < m->len; at += 8) {
        store(m, at, from[at / 8]);
    }
    copied = mbs(m->len, begun);
    if (ubmem_fence(m)) {
        die("fence: %s", strerror(errno));
    }
    *done = mbs(m->len, begun);
    return copied;
}

double read_through(const UbMem *m, uint64_t *sum)
{
    int64_t begun = now_ns();

    *sum = 0;
    for (size_t at = 0; at < m->len; at += 8) {
        *sum += load(m, at);
    }
    return mbs(m->len, begun);
}
