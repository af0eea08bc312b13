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

#include "ub/lds_hw.h"
#include "ub/urma_hw.h"

/* What each test needs of it beside the headers below it has itself. */
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

/* The program, which may be killed. */
struct task_struct {
    bool killed;
};

static struct task_struct me G_GNUC_UNUSED;

#define current (&me)
#define fatal_signal_pending(task) ((task)->killed)

/* ---- A device ---- */

static struct {
    unsigned reads, writes;
} ordered G_GNUC_UNUSED;

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
/* What was done before is seen before what is done after: times. */
#define dma_rmb() (ordered.reads++)
#define dma_wmb() (ordered.writes++)
#define cpu_relax() ((void)0)
#define msecs_to_jiffies(ms) ((ms) * HZ / 1000)
#define dev_err(dev, ...) g_test_message(__VA_ARGS__)
typedef enum { IRQ_NONE, IRQ_HANDLED } irqreturn_t;
typedef uint64_t phys_addr_t;
typedef int atomic_t;
typedef int64_t atomic64_t;
typedef int spinlock_t;
typedef int wait_queue_head_t;
#define atomic_inc(x) (++*(x))
#define atomic64_inc(x) (++*(x))
#define atomic_read(x) (*(x))

#define UB_MEM 1
#define ub_core_irq(core, vector) ((int)(vector) + 0x40)
#define ub_core_engine_vector(core, part) ((part) + 5u)

/* What was given and not given back; and how much more there is. */
static struct {
    unsigned live, left;
    uint64_t next_dma;
    uint64_t mapped;        /* registers, which are mapped last: where, … */
    size_t mapped_bytes;    /* … and how many bytes */
    int irq, irq_err;
    irqreturn_t (*handler)(int irq, void *opaque);
} given G_GNUC_UNUSED;

struct given_memory {
    size_t n;
    uint64_t dma;
    _Alignas(64) uint8_t bytes[];
};

static inline void given_init(void)
{
    memset(&given, 0, sizeof(given));
    given.left = UINT_MAX;
}

static inline void *given_new(size_t n)
{
    const size_t align = _Alignof(struct given_memory);
    size_t all = (sizeof(struct given_memory) + n + align - 1) / align * align;
    struct given_memory *g = given.left ? aligned_alloc(align, all) : NULL;

    if (!g) {
        return NULL;
    }
    memset(g, 0, all);
    given.left--;
    given.live++;
    given.next_dma += UINT64_C(0x123400010000);
    g->n = n;
    g->dma = given.next_dma;
    return g->bytes;
}

static inline struct given_memory *given_of(const void *p)
{
    return (struct given_memory *)((const char *)p -
                                   offsetof(struct given_memory, bytes));
}

static inline void given_free(const void *p)
{
    if (p) {
        given.live--;
        free(given_of(p));
    }
}

static inline void *dma_new(size_t n, dma_addr_t *dma)
{
    void *p = given_new(n);

    *dma = p ? given_of(p)->dma : 0;
    return p;
}

static inline void dma_free(size_t n, const void *p, dma_addr_t dma)
{
    g_assert_cmpuint(given_of(p)->n, ==, n);
    g_assert_cmphex(given_of(p)->dma, ==, dma);
    given_free(p);
}

static inline void *registers_map(uint64_t at, size_t n)
{
    given.mapped = at;
    given.mapped_bytes = n;
    return given_new(n);
}

static inline int irq_take(int irq, irqreturn_t (*f)(int irq, void *opaque))
{
    if (given.irq_err) {
        return given.irq_err;
    }
    g_assert_cmpint(given.irq, ==, 0);
    given.irq = irq;
    given.handler = f;
    return 0;
}

static inline void irq_free(int irq)
{
    g_assert_cmpint(given.irq, ==, irq);
    given.irq = 0;
}

#define dma_alloc_coherent(dev, n, at, gfp) dma_new(n, at)
#define dma_free_coherent(dev, n, at, dma) dma_free(n, at, dma)
#define kvcalloc(n, size, gfp) given_new((n) * (size))
#define kvfree given_free
#define ioremap(at, n) registers_map(at, n)
#define iounmap given_free
/* Where a BAR is says which it is. */
#define pci_resource_start(pdev, bar) ((void)(pdev), (phys_addr_t)(bar) << 32)
#define IRQF_SHARED 0
#define request_irq(irq, f, flags, name, opaque) irq_take(irq, f)
#define free_irq(n, opaque) irq_free(n)

/* ---- Bitmaps ---- */

#define bitmap_zalloc(n, gfp) given_new(((n) / 64 + 1) * 8)
#define bitmap_free given_free
#define test_and_set_bit(n, map) bit_set(map, n)
#define clear_bit_unlock(n, map) ((void)((map)[0] &= ~(1ull << (n))))
static inline bool bit_set(unsigned long *map, unsigned n)
{
    bool was = map[n / 64] >> n % 64 & 1;

    map[n / 64] |= 1ul << n % 64;
    return was;
}

static inline void bitmap_set(unsigned long *map, unsigned first, unsigned n)
{
    while (n--) {
        g_assert_false(bit_set(map, first + n));
    }
}

static inline void bitmap_clear(unsigned long *map, unsigned first, unsigned n)
{
    for (; n--; first++) {
        map[first / 64] &= ~(1ul << first % 64);
    }
}

static inline unsigned long
bitmap_find_next_zero_area(const unsigned long *map, unsigned long size,
                           unsigned long at, unsigned n, unsigned long align)
{
    for (at = (at + align) & ~align; at + n <= size; at = (at + 1 + align) & ~align) {
        unsigned run = 0;

        while (run < n && !(map[(at + run) / 64] >> (at + run) % 64 & 1)) {
            run++;
        }
        if (run == n) {
            return at;
        }
    }
    return size;
}

#define DECLARE_BITMAP(name, n) unsigned long name[((n) + 63) / 64]

/* ---- Locks ---- */

struct semaphore {
    unsigned free, least;
};

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

/* Who waits for a lock, if it may be, is killed meanwhile. */
static bool interrupted;

static inline int mutex_lock_killable(struct mutex *m)
{
    if (interrupted) {
        return -EINTR;
    }
    mutex_lock(m);
    return 0;
}

static inline void mutex_unlock(struct mutex *m)
{
    g_assert_cmpuint(m->held--, ==, 1);
}

#include "../../../linux/mem/decoder.h"
#include "../../../linux/mem/queue.h"
#include "../../../linux/mem/directory.h"

#endif
