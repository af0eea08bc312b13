/*
 * What files of linux/mem need of the kernel and of their own header, for tests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef MEM_SHIM_H
#define MEM_SHIM_H

#include <glib.h>
#include <stddef.h>
#include <linux/slab.h>

#include "ub/urma_hw.h"

/* Instead of it. */
#define UB_MEM_H

typedef uint16_t __le16;
typedef uint32_t __le32;
typedef uint64_t __le64;
typedef uint64_t dma_addr_t;

#define READ_ONCE(x) (*(volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define ARRAY_SIZE G_N_ELEMENTS
#define min_t(type, a, b) MIN((type)(a), (type)(b))
#define HZ 100

/* The kernel's clock: that of the test. */
static unsigned long jiffies;

static inline bool time_after(unsigned long a, unsigned long b)
{
    return (long)(b - a) < 0;
}

/* Whether the program was killed. */
static bool killed;
#define current NULL
#define fatal_signal_pending(task) killed

#endif
