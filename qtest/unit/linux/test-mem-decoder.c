/*
 * linux/mem/decoder.c: imports that come and go, and commands of slots, beside peers that
 * are silent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mem-shim.h"

#include "ub/cfg_regs.h"
#include "ub/lds_hw.h"

/* ---- The kernel ---- */

#define pci_resource_len(pdev, bar) ((void)(pdev), hw.bytes)
#define pci_bus_address(pdev, bar) UINT64_C(0)
#define kvcalloc(n, size, gfp) calloc(n, size)
#define kvfree free
#define bitmap_zalloc(n, gfp) calloc((n) / 64 + 1, 8)
#define bitmap_free free
#define test_and_set_bit(n, map) bit_set(map, n)
#define clear_bit_unlock(n, map) ((void)((map)[0] &= ~(1ull << (n))))
#define spin_lock(l) ((void)(l))
#define spin_unlock(l) ((void)(l))
#define spin_lock_irqsave(l, flags) ((void)(l), (void)(flags = 0))
#define spin_unlock_irqrestore(l, flags) ((void)(l), (void)(flags))

typedef int spinlock_t;
typedef int32_t s32;

static bool bit_set(unsigned long *map, unsigned n)
{
    bool was = map[n / 64] >> n % 64 & 1;

    map[n / 64] |= 1ul << n % 64;
    return was;
}

static void bitmap_set(unsigned long *map, unsigned first, unsigned n)
{
    while (n--) {
        g_assert_false(bit_set(map, first + n));
    }
}

static void bitmap_clear(unsigned long *map, unsigned first, unsigned n)
{
    for (; n--; first++) {
        map[first / 64] &= ~(1ul << first % 64);
    }
}

static unsigned long bitmap_find_next_zero_area(const unsigned long *map,
                                                unsigned long size,
                                                unsigned long at, unsigned n,
                                                unsigned long align)
{
    unsigned run = 0;

    for (; at < size; at++) {
        run = map[at / 64] >> at % 64 & 1 ? 0 : run + 1;
        if (run == n) {
            return at + 1 - n;
        }
    }
    return size;
}

struct semaphore {
    unsigned free, least;
};

static void down(struct semaphore *s)
{
    g_assert_cmpuint(s->free, >, 0);
    s->free--;
    s->least = MIN(s->least, s->free);
}

static void up(struct semaphore *s)
{
    s->free++;
}

static void usleep_range(unsigned from, unsigned to);

/* ---- ub_core and ub_mem ---- */

#define MEM_MIB (1ull << UB_LDS_PAGE_BITS)

struct ub_core {
    void *pdev;
};

struct mem_dest {
    struct mutex slot;
    unsigned vain;
};

struct mem_target {
    struct mem_dest *dest;
    u64 uba;
    u32 row, order, token_id;
    bool check;
    u32 value;
};

struct mem_file {
    u64 failed_stores;
};

struct mem_import {
    struct mem_file *file;
    u64 failed_loads, failed_stores;
    u32 last_event, last_status;
};

struct mem_decoder {
    struct mutex lock;
    phys_addr_t window;
    u64 bytes;
    u8 *control;
    unsigned mibs;
    bool managed;
    unsigned long *used;
    __le64 *l0;
    dma_addr_t l0_dma;
    u8 **l1;
    dma_addr_t *l1_dma;
    unsigned l1s;
    __le64 *cmds;
    dma_addr_t cmds_dma;
    u32 pi, over;
    bool broken;
    __le64 *events;
    dma_addr_t events_dma;
    spinlock_t event_lock;
    u32 ci, owed;
    u64 lost;
    int irq;
    struct semaphore slots;
    unsigned long slots_used[1];
};

struct mem_dev {
    struct ub_core *core;
    void *dma;
    struct mem_decoder decoder;
    struct mem_file text;
    atomic64_t failed;
};

static struct mem_import *mem_import_at(struct mem_dev *dev, unsigned mib)
{
    return NULL;
}

/* ---- The device ---- */

#define WINDOW 64   /* MiBs */

static struct {
    u64 bytes;
    u32 reg[4096];
    u32 cons;           /* commands that it has taken */
    unsigned syncs;     /* that end when this many times were slept */
    unsigned slept;
    unsigned most;      /* commands that were there at a time */
    u32 from, to;       /* MiBs that were forgotten last */
    void (*meanwhile)(void);
    u64 answer;         /* of slots */
    unsigned gone;      /* commands of slots */
    unsigned last;      /* slot */
} hw;

static struct mem_dev dev;
static struct ub_core core;

static u32 at_decoder(unsigned dw)
{
    return dw - UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_DECODER);
}

/* It takes what it can: a SYNC in its time. */
static void serve(void)
{
    while (hw.cons != dev.decoder.pi) {
        u64 q0 = dev.decoder.cmds[2 * (hw.cons % 64)];

        g_assert_cmpuint(dev.decoder.pi - hw.cons, <=, 64);
        hw.most = MAX(hw.most, dev.decoder.pi - hw.cons);
        if ((q0 & 0xff) == UB_LDS_CMD_SYNC) {
            if (hw.slept < hw.syncs) {
                return;
            }
            hw.slept = 0;
        } else {
            g_assert_cmphex(q0 & 0xff, ==, UB_LDS_CMD_INVALIDATE);
            hw.from = q0 >> 32;
            hw.to = dev.decoder.cmds[2 * (hw.cons % 64) + 1];
        }
        hw.cons++;
    }
}

static u32 ub_config_read(struct ub_core *c, unsigned dw)
{
    if (dw == UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP) + UB_LDS_VD_WINDOW) {
        return hw.bytes;
    }
    if (at_decoder(dw) == UB_DECODER_CMDQ_CONS) {
        return hw.cons & 127;
    }
    return 0;
}

static void ub_config_write(struct ub_core *c, unsigned dw, u32 value)
{
    if (at_decoder(dw) == UB_DECODER_CMDQ_PROD) {
        g_assert_cmphex(value, ==, dev.decoder.pi & 127);
        serve();
    }
}

static void usleep_range(unsigned from, unsigned to)
{
    jiffies++;
    hw.slept++;
    if (hw.meanwhile) {
        hw.meanwhile();
    }
    serve();
}

static u64 readq(const u8 *at)
{
    return get_le64(at);
}

/* A command of a slot is over at once, as the test says. */
static void writeq(u64 value, u8 *at)
{
    unsigned off = at - dev.decoder.control, n = (off - UB_LDS_SLOT(0)) / 0x100;

    put_le64(at, value);
    if (off == UB_LDS_SLOT(n) + UB_LDS_SLOT_GO) {
        const u8 *slot = dev.decoder.control + UB_LDS_SLOT(n);

        g_assert_cmphex(value, ==, 7 | 8 << 8);
        g_assert_cmphex(get_le64(slot + UB_LDS_SLOT_DATA), ==, 1);
        g_assert_cmphex(get_le64(slot + UB_LDS_SLOT_DATA2), ==, 2);
        g_assert_cmphex(get_le64(slot + UB_LDS_SLOT_ADDR), ==, 4096);
        hw.gone++;
        hw.last = n;
        put_le64(dev.decoder.control + UB_LDS_SLOT(n) + UB_LDS_SLOT_STATUS,
                 hw.answer);
    }
}

int mem_decoder_start(struct mem_dev *d);
void mem_decoder_stop(struct mem_dev *d);
void mem_decoder_free(struct mem_dev *d);
int mem_window_get(struct mem_dev *d, unsigned n);
void mem_window_put(struct mem_dev *d, unsigned first, unsigned n);
int mem_window_set(struct mem_dev *d, unsigned first, unsigned n,
                   const struct mem_target *to);
void mem_window_clear(struct mem_dev *d, unsigned first, unsigned n);
int mem_fence(struct mem_dev *d);
int mem_slot(struct mem_dev *d, struct mem_dest *to, u64 offset, u32 opcode,
             unsigned bytes, const u64 *a, const u64 *b, u64 *result);

#include "../../../linux/mem/decoder.c"

/* ---- Tests ---- */

static const struct mem_target target = { .uba = MEM_MIB, .row = 3 };

static void begin(void)
{
    memset(&dev, 0, sizeof(dev));
    memset(&hw, 0, sizeof(hw));
    hw.bytes = WINDOW * MEM_MIB;
    hw.answer = UB_LDS_SLOT_DONE;
    dev.core = &core;
    dev.decoder.slots.free = dev.decoder.slots.least = UB_LDS_SLOTS;
    g_assert_cmpint(mem_decoder_start(&dev), ==, 0);
}

static void end(void)
{
    g_assert_cmpuint(dev.decoder.slots.free, ==, UB_LDS_SLOTS);
    g_assert_cmphex(dev.decoder.slots_used[0], ==, 0);
    mem_decoder_stop(&dev);
    mem_decoder_free(&dev);
}

static unsigned others;

/* Another program imports and looks, meanwhile. */
static void imports(void)
{
    int at = mem_window_get(&dev, 2);

    hw.meanwhile = NULL;
    g_assert_cmpint(at, ==, 1);
    g_assert_cmpint(mem_window_set(&dev, at, 2, &target), ==, 0);
    mem_window_put(&dev, at, 2);
    others++;
}

/* The MiBs that are meant are forgotten, and no others. */
static void test_clear(void)
{
    begin();
    g_assert_cmpint(mem_window_set(&dev, 0, 8, &target), ==, 0);
    mem_window_clear(&dev, 3, 2);
    g_assert_cmpuint(hw.from, ==, 3);
    g_assert_cmpuint(hw.to, ==, 4);
    for (unsigned i = 0; i < 8; i++) {
        const __le64 *e = entry_of(&dev.decoder, i);

        g_assert_cmphex(e[0], ==, i == 3 || i == 4 ? 0 :
                        (target.uba + i * MEM_MIB) | UB_LDS_TYPE_PAGE);
        g_assert_cmphex(e[1], ==, (u64)target.row << UB_LDS_DEST_SHIFT);
    }
    end();
}

/* Who takes an import back waits for accesses to a silent peer, alone. */
static void test_others(void)
{
    begin();
    others = 0;
    g_assert_cmpint(mem_window_get(&dev, 1), ==, 0);
    g_assert_cmpint(mem_window_set(&dev, 0, 1, &target), ==, 0);
    hw.syncs = 100;
    hw.meanwhile = imports;
    mem_window_clear(&dev, 0, 1);
    g_assert_cmpuint(others, ==, 1);
    g_assert_cmpuint(hw.cons, ==, 2);
    g_assert_false(dev.decoder.broken);
    end();
}

/* One more program that takes something back, each time. */
static void clears(void)
{
    if (others++ < 100) {
        mem_window_clear(&dev, others % 8, 1);
    }
}

/* More of them than the queue has room for; each has its time, and none gives up
 * because those before it had theirs. */
static void test_many(void)
{
    begin();
    others = 0;
    g_assert_cmpint(mem_window_set(&dev, 0, 8, &target), ==, 0);
    hw.syncs = SYNC_TIMEOUT_MS * HZ / 1000 / 2;
    hw.meanwhile = clears;
    mem_window_clear(&dev, 0, 1);
    g_assert_cmpuint(hw.cons, ==, 2 * (1 + 100));
    g_assert_cmpuint(hw.most, ==, 63); /* a SYNC is at its head */
    g_assert_false(dev.decoder.broken);
    end();
}

/* A decoder that does not answer ends it, once and for all. */
static void test_broken(void)
{
    unsigned long begun = jiffies;

    begin();
    hw.syncs = UINT_MAX;
    mem_window_clear(&dev, 0, 1);
    g_assert_true(dev.decoder.broken);
    g_assert_cmpuint(jiffies - begun, <, 2 * SYNC_TIMEOUT_MS * HZ / 1000);
    begun = jiffies;
    mem_window_clear(&dev, 1, 1);
    g_assert_cmpuint(jiffies, ==, begun);
    g_assert_cmpint(mem_window_set(&dev, 0, 1, &target), ==, -EIO);
    end();
}

static int ask(struct mem_dest *to)
{
    u64 a[8] = { 1 }, b[8] = { 2 }, result[8];

    return mem_slot(&dev, to, 4096, 7, 8, a, b, result);
}

/* Commands have any slot that is free, whatever rows they go by; one that the device is
 * still at is left alone. */
static void test_slots(void)
{
    struct mem_dest to = { 0 };
    u8 *status;

    begin();
    g_assert_cmpint(ask(&to), ==, 0);
    g_assert_cmpuint(hw.last, ==, 0);
    bit_set(dev.decoder.slots_used, 0);
    status = dev.decoder.control + UB_LDS_SLOT(1) + UB_LDS_SLOT_STATUS;
    put_le64(status, UB_LDS_SLOT_BUSY);
    g_assert_cmpint(ask(&to), ==, 0);
    g_assert_cmpuint(hw.last, ==, 2);
    g_assert_cmphex(dev.decoder.slots_used[0], ==, 1);
    g_assert_cmpuint(dev.decoder.slots.least, ==, UB_LDS_SLOTS - 1);
    /* None at all: nobody waits for one that might never come back. */
    dev.decoder.slots_used[0] = ~0ul;
    g_assert_cmpint(ask(&to), ==, -EIO);
    g_assert_cmpuint(hw.gone, ==, 2);
    g_assert_cmpuint(to.vain, ==, 0);
    dev.decoder.slots_used[0] = 0;
    put_le64(status, 0);
    end();
}

static struct mem_dest silent;

/* Another program has asked before us, in vain, and only now lets us in. */
static void asked_in_vain(struct mutex *m)
{
    silent.vain++;
}

/* Programs that ask a silent peer wait as long as one of them; a refusal is an answer. */
static void test_vain(void)
{
    const u64 timeout = UB_LDS_SLOT_DONE |
                        UB_LDS_EVENT_TIMEOUT << UB_LDS_SLOT_EVENT_SHIFT;
    const u64 refusal = UB_LDS_SLOT_DONE |
                        UB_LDS_EVENT_REMOTE << UB_LDS_SLOT_EVENT_SHIFT;

    begin();
    memset(&silent, 0, sizeof(silent));
    hw.answer = refusal;
    g_assert_cmpint(ask(&silent), ==, -EIO);
    g_assert_cmpuint(silent.vain, ==, 0);
    hw.answer = timeout;
    g_assert_cmpint(ask(&silent), ==, -EIO);
    g_assert_cmpuint(silent.vain, ==, 1);
    hw.answer = UB_LDS_SLOT_DONE;
    g_assert_cmpuint(hw.gone, ==, 2);
    locking = asked_in_vain;
    g_assert_cmpint(ask(&silent), ==, -EIO);
    g_assert_cmpuint(hw.gone, ==, 2);
    /* Who comes later asks again. */
    locking = NULL;
    g_assert_cmpint(ask(&silent), ==, 0);
    g_assert_cmpuint(hw.gone, ==, 3);
    end();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mem-decoder/clear", test_clear);
    g_test_add_func("/mem-decoder/others", test_others);
    g_test_add_func("/mem-decoder/many", test_many);
    g_test_add_func("/mem-decoder/broken", test_broken);
    g_test_add_func("/mem-decoder/slots", test_slots);
    g_test_add_func("/mem-decoder/vain", test_vain);
    return g_test_run();
}
