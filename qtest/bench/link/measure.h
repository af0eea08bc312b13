/*
 * What the benchmarks of several emulators share: time, processor time, medians.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "qemu/osdep.h"

#define ROUNDS_MAX 256

/* Seconds of a clock that goes on steadily. */
static inline double now(void)
{
    return g_get_monotonic_time() / 1e6;
}

/* Processor seconds that a process has used. */
static inline double cpu_of(pid_t pid)
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

static inline int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Of @n values, which are sorted. */
static inline double median(double *v, unsigned n)
{
    qsort(v, n, sizeof(*v), by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The numbers of a command line, at most @max; run-qtest gives options of TAP programs
 * as well, which mean nothing here. */
static inline void numbers(int argc, char **argv, double *v, unsigned max)
{
    for (int i = 1; i < argc && max; i++) {
        if (g_ascii_isdigit(argv[i][0])) {
            *v++ = g_ascii_strtod(argv[i], NULL);
            max--;
        }
    }
}

#endif
