/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader of a FIFO, in a thread of its own. */
#ifndef FABRIC_TEST_FIFO_H
#define FABRIC_TEST_FIFO_H

#include <glib.h>
#include <stdint.h>
#include <unistd.h>

/* For g_thread_new(), with the descriptor as GINT_TO_POINTER(): reads to the end;
 * g_thread_join() gives how many bytes there were. */
static inline void *fifo_read(void *opaque)
{
    static uint8_t bytes[65536];
    uint64_t total = 0;
    ssize_t n;

    while ((n = read(GPOINTER_TO_INT(opaque), bytes, sizeof(bytes))) > 0) {
        total += n;
    }
    g_assert_cmpint(n, ==, 0);
    return (void *)(uintptr_t)total;
}

#endif
