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

static inline bool time_before(unsigned long a, unsigned long b)
{
    return time_after(b, a);
}

/* Whether the program was killed. */
static bool killed G_GNUC_UNUSED;
#define current NULL
#define fatal_signal_pending(task) killed

/* ---- A device ---- */

#define KBUILD_MODNAME "test"
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define min MIN
#define container_of container
#define lower_32_bits(x) (uint32_t)(x)
#define upper_32_bits(x) (uint32_t)((x) >> 32)
#define le32_to_cpu(x) (x)
#define le64_to_cpu(x) (x)
#define cpu_to_le32(x) (x)
#define cpu_to_le64(x) (x)
#define dma_rmb() ((void)0)
#define dma_wmb() ((void)0)
#define cpu_relax() ((void)0)
#define msecs_to_jiffies(ms) ((ms) * HZ / 1000)
#define dev_err(dev, ...) g_test_message(__VA_ARGS__)
#define dma_alloc_coherent(dev, n, at, gfp) (*(at) = 0, calloc(1, n))
#define dma_free_coherent(dev, n, at, dma) free(at)
#define pci_resource_start(pdev, bar) ((void)(pdev), UINT64_C(4096))
#define ioremap(at, n) ((void)(at), calloc(1, n))
#define iounmap free
#define IRQF_SHARED 0
#define request_irq(irq, f, flags, name, opaque) (0 * (f)(irq, opaque))
#define free_irq(irq, opaque) ((void)(opaque))

typedef enum { IRQ_NONE, IRQ_HANDLED } irqreturn_t;
typedef uint64_t phys_addr_t;
typedef int atomic_t;
typedef int64_t atomic64_t;
#define atomic_inc(x) (++*(x))
#define atomic64_inc(x) (++*(x))
#define atomic_read(x) (*(x))

#define UB_MEM 1
#define ub_core_irq(core, vector) 1
#define ub_core_engine_vector(core, part) 1

/* Nobody else is there to wait for: who finds it held would do so for ever. */
struct mutex {
    unsigned held;
};

#define mutex_init(m) ((m)->held = 0)

/* What others do before it is ours. */
static void (*locking)(struct mutex *m);

static inline void mutex_lock(struct mutex *m)
{
    if (locking) {
        locking(m);
    }
    g_assert_cmpuint(m->held++, ==, 0);
}

static inline int mutex_lock_killable(struct mutex *m)
{
    mutex_lock(m);
    return 0;
}

static inline void mutex_unlock(struct mutex *m)
{
    g_assert_cmpuint(m->held--, ==, 1);
}

#endif
