/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a test waits for what should come at once, before it calls it lost:
 * FABRIC_TIMEOUT_SCALE stretches it on a slow or busy host.  It costs nothing where
 * all is well, so it is long enough for a host that stands still for a while.
 */
#ifndef FABRIC_TEST_DEADLINE_H
#define FABRIC_TEST_DEADLINE_H

#include <glib.h>

#define TEST_PATIENCE_MIN 120

/* @seconds, or the least, stretched, in microseconds. */
static inline gint64 test_patience(unsigned seconds)
{
    const char *scale = g_getenv("FABRIC_TIMEOUT_SCALE");
    double factor = scale ? g_ascii_strtod(scale, NULL) : 1;

    return MAX(seconds, TEST_PATIENCE_MIN) * G_USEC_PER_SEC *
           (factor > 0 ? factor : 1);
}

/* The g_get_monotonic_time() at which so many seconds, stretched, are over. */
static inline gint64 test_deadline(unsigned seconds)
{
    return g_get_monotonic_time() + test_patience(seconds);
}

#endif
