/*
 * linux/mem/decoder.c: registers, tables, commands and events; imports that come and go,
 * and commands of slots, beside peers that are silent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mem-shim.h"

#include "ub/cfg_regs.h"

/* ---- The kernel ---- */

#define spin_lock(l) locked(l, true)
#define spin_unlock(l) locked(l, false)
#define spin_lock_irqsave(l, flags) (locked(l, true), (void)(flags = 0))
#define spin_unlock_irqrestore(l, flags) (locked(l, false), (void)(flags))

typedef int32_t s32;

static void locked(spinlock_t *l, bool now)
{
    g_assert_cmpint(*l, ==, !now);
    *l = now;
}

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

#define BUS_ADDRESS UINT64_C(0x7600054321)
#define pci_resource_len(pdev, bar) ((void)(pdev), (bar) == 4 ? hw.len : 0)
#define pci_bus_address(pdev, bar) ((void)(pdev), BUS_ADDRESS + (bar))

struct ub_core {
    void *pdev;
};

struct mem_dest {
    struct mutex slot;
    unsigned vain;
};

struct mem_file {
    u64 failed_stores;
};

struct mem_import {
    struct mem_file *file;
    u64 failed_loads, failed_stores;
    u32 last_event, last_status;
};

struct mem_dev {
    struct ub_core *core;
    void *dma;
    struct mem_decoder decoder;
    struct mem_file text;
    atomic64_t failed;
};

/* The import that has MiBs 2 to 4. */
static struct mem_file file;
static struct mem_import import;

static struct mem_import *mem_import_at(struct mem_dev *dev, unsigned mib)
{
    return mib >= 2 && mib <= 4 ? &import : NULL;
}

/* ---- The device ---- */

#define WINDOW UINT64_C(0x240000000) /* bytes: 9 GiB, of which registers say both halves */
#define MIBS (unsigned)(WINDOW / MEM_MIB - 1)

static struct {
    u64 bytes, len;     /* what it says that the window has, and what its BAR has */
    u32 feature;
    struct {
        unsigned dw;
        u32 value;
    } wrote[64];        /* registers, by DECODER's, or of CAP240 + 0x1000 */
    unsigned writes;
    u32 cons;           /* commands that it has taken */
    u32 cons_err;
    bool stuck;         /* it takes none */
    u32 from, to;       /* MiBs that were forgotten last */
    u32 event_prod, event_cons;
    unsigned slept;
    void (*meanwhile)(void);
    /* The window: */
    u64 made, oldest;   /* the oldest access to MiBs asked[0] to asked[1] */
    u32 asked[2], first, last; /* that who asks last asked for */
    /* Slots: */
    u64 answer, busy;   /* so many looks, before it */
    u64 looks;
    u32 bytes_of_slot;
    u64 go;
    unsigned gone;      /* commands */
    unsigned last_slot;
} hw;

static struct mem_dev dev;
static struct ub_core core;

#define VENDOR(dw) (0x1000 + (dw))

static unsigned at_decoder(unsigned dw)
{
    unsigned own = UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP);

    if (dw >= own && dw < own + UB_LDS_VD_USED) {
        return VENDOR(dw - own);
    }
    return dw - UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_DECODER);
}

static void serve(void)
{
    while (!hw.stuck && hw.cons != dev.decoder.pi) {
        const __le64 *q = dev.decoder.cmds + 2 * (hw.cons % 64);

        g_assert_cmpuint(dev.decoder.pi - hw.cons, <=, 64);
        g_assert_cmphex(q[0] & 0xffffffff, ==, UB_LDS_CMD_INVALIDATE);
        hw.from = q[0] >> 32;
        hw.to = q[1];
        hw.cons++;
    }
}

static u32 ub_config_read(struct ub_core *c, unsigned dw)
{
    if (dw == UB_CFG1_BASE + UB_CFG1_SUPPORTED_FEATURE) {
        return hw.feature;
    }
    switch (at_decoder(dw)) {
    case VENDOR(UB_LDS_VD_WINDOW):
        return hw.bytes;
    case VENDOR(UB_LDS_VD_WINDOW + 1):
        return hw.bytes >> 32;
    case UB_DECODER_CMDQ_CONS:
        return (hw.cons & 127) | hw.cons_err;
    case UB_DECODER_EVENTQ_PROD:
        return hw.event_prod;
    case UB_DECODER_EVENTQ_CONS:
        return hw.event_cons;
    default:
        return 0;
    }
}

static void ub_config_write(struct ub_core *c, unsigned dw, u32 value)
{
    unsigned at = at_decoder(dw);

    g_assert_cmpuint(hw.writes, <, G_N_ELEMENTS(hw.wrote));
    hw.wrote[hw.writes].dw = at;
    hw.wrote[hw.writes++].value = value;
    if (at == UB_DECODER_CMDQ_PROD) {
        g_assert_cmphex(value, ==, dev.decoder.pi & 127);
        g_assert_true(ordered.writes || !value);
        ordered.writes = 0;
        serve();
    } else if (at == UB_DECODER_EVENTQ_CONS) {
        hw.event_cons = value;
    }
}

static void usleep_range(unsigned from, unsigned to)
{
    g_assert_cmpuint(from, ==, 20);
    g_assert_cmpuint(to, ==, 200);
    jiffies++;
    hw.slept++;
    if (hw.meanwhile) {
        hw.meanwhile();
    }
    serve();
}

static u64 oldest_read(void)
{
    return hw.asked[0] <= hw.last && hw.first <= hw.asked[1] ? hw.oldest
                                                             : hw.made;
}

static u64 readq(const u8 *at)
{
    unsigned off = at - (u8 *)dev.decoder.control;

    switch (off) {
    case UB_LDS_MADE:
        return hw.made;
    case UB_LDS_OLDEST:
        return oldest_read();
    default:
        if (off >= UB_LDS_SLOT(0) && off % 0x100 == UB_LDS_SLOT_STATUS &&
            hw.looks && (off - UB_LDS_SLOT(0)) / 0x100 == hw.last_slot) {
            hw.looks--;
            return UB_LDS_SLOT_BUSY;
        }
        return get_le64(at);
    }
}

/* A command of a slot has the words that it is to have, and is over as the test says. */
static void go(unsigned n)
{
    u8 *slot = dev.decoder.control + UB_LDS_SLOT(n);

    for (unsigned i = 0; i < 8; i++) {
        bool used = 8 * i < hw.bytes_of_slot;

        g_assert_cmphex(get_le64(slot + UB_LDS_SLOT_DATA + 8 * i), ==,
                        used ? 0x100 + i : 0);
        g_assert_cmphex(get_le64(slot + UB_LDS_SLOT_DATA2 + 8 * i), ==,
                        used ? 0x200 + i : 0);
        put_le64(slot + UB_LDS_SLOT_RESULT + 8 * i, 0x300 + i);
    }
    g_assert_cmphex(get_le64(slot + UB_LDS_SLOT_ADDR), ==, 4096);
    hw.gone++;
    hw.last_slot = n;
    hw.looks = hw.busy;
    put_le64(slot + UB_LDS_SLOT_STATUS, hw.answer);
}

static void writeq(u64 value, u8 *at)
{
    unsigned off = at - (u8 *)dev.decoder.control, n = (off - UB_LDS_SLOT(0)) / 0x100;

    if (off == UB_LDS_OLDEST) {
        hw.first = value;
        hw.last = value >> 32;
        return;
    }
    put_le64(at, value);
    if (off == UB_LDS_SLOT(n) + UB_LDS_SLOT_GO) {
        hw.go = value;
        go(n);
    }
}

#include "../../../linux/mem/decoder.c"

/* ---- Tests ---- */

static const struct mem_target target = {
    .uba = 0x123456000, .row = 0xabcde, .order = 2, .token_id = 0x98765,
    .value = 0x13572468,
};

static void begin_as(u64 bytes, u32 feature)
{
    memset(&dev, 0, sizeof(dev));
    memset(&hw, 0, sizeof(hw));
    memset(&import, 0, sizeof(import));
    memset(&ordered, 0, sizeof(ordered));
    memset(&file, 0, sizeof(file));
    given_init();
    me.killed = false;
    import.file = &file;
    hw.bytes = hw.len = bytes;
    hw.feature = feature;
    hw.answer = UB_LDS_SLOT_DONE;
    hw.made = hw.oldest = 77;
    dev.core = &core;
    dev.decoder.slots.free = dev.decoder.slots.least = UB_LDS_SLOTS;
}

static void begin(void)
{
    begin_as(WINDOW, 0);
    g_assert_cmpint(mem_decoder_start(&dev), ==, 0);
}

static void end(void)
{
    g_assert_cmpuint(dev.decoder.slots.free, ==, UB_LDS_SLOTS);
    g_assert_cmphex(dev.decoder.slots_used[0], ==, 0);
    mem_decoder_stop(&dev);
    g_assert_cmpint(dev.decoder.irq, ==, 0);
    mem_decoder_stop(&dev);
    mem_decoder_free(&dev);
    g_assert_cmpuint(given.live, ==, 0);
    g_assert_cmpint(given.irq, ==, 0);
    /* Once more is nothing. */
    mem_decoder_stop(&dev);
    mem_decoder_free(&dev);
}

/* ---- Life ---- */

typedef struct Wrote {
    unsigned dw;
    u64 value;
    bool two;           /* dwords */
} Wrote;

/* Registers were written in this order, with these values, and no others. */
static void wrote(const Wrote *w, unsigned n)
{
    unsigned at = 0;

    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k <= w[i].two; k++, at++) {
            g_assert_cmpuint(at, <, hw.writes);
            g_assert_cmphex(hw.wrote[at].dw, ==, w[i].dw + k);
            g_assert_cmphex(hw.wrote[at].value, ==, (u32)(w[i].value >> 32 * k));
        }
    }
    g_assert_cmpuint(at, ==, hw.writes);
    hw.writes = 0;
}

/* Without the table, if it is the UBFM's. */
static void started(bool managed)
{
    const struct mem_decoder *d = &dev.decoder;
    const Wrote all[] = {
        { VENDOR(UB_LDS_VD_VECTOR), 6 },
        { UB_DECODER_CTRL, 0 },
        { UB_DECODER_MATT_BA, d->l0_dma, true },
        { UB_DECODER_MMIO_BA, BUS_ADDRESS + 4, true },
        { UB_DECODER_CMDQ_CFG, 0 },
        { UB_DECODER_CMDQ_BASE_ADDR, d->cmds_dma, true },
        { UB_DECODER_CMDQ_CONS, 0 },
        { UB_DECODER_CMDQ_PROD, 0 },
        { UB_DECODER_CMDQ_CFG, 0x600 },
        { UB_DECODER_CMDQ_CFG, 0x601 },
        { UB_DECODER_EVENTQ_CFG, 0 },
        { UB_DECODER_EVENTQ_BASE_ADDR, d->events_dma, true },
        { UB_DECODER_EVENTQ_PROD, 0 },
        { UB_DECODER_EVENTQ_CONS, 0 },
        { UB_DECODER_EVENTQ_CFG, 0xa00 },
        { UB_DECODER_EVENTQ_CFG, 0xa01 },
        { UB_DECODER_CTRL, 1 },
    };
    Wrote some[G_N_ELEMENTS(all)];
    unsigned n = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        if (!managed || all[i].dw != UB_DECODER_MATT_BA) {
            some[n++] = all[i];
        }
    }
    wrote(some, n);
    g_assert_cmpint(d->irq, ==, 6 + 0x40);
    g_assert_cmpint(given.irq, ==, 6 + 0x40);
    g_assert_true(d->managed == managed);
    g_assert_false(d->broken);
}

static void test_start(void)
{
    static const Wrote stopped[] = {
        { UB_DECODER_CTRL, 0 },
        { UB_DECODER_CMDQ_CFG, 0x600 },
        { UB_DECODER_EVENTQ_CFG, 0xa00 },
    };

    for (unsigned managed = 0; managed < 2; managed++) {
        unsigned live;

        begin_as(WINDOW, managed
                 ? UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION
                 : ~UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION);
        g_assert_cmpint(mem_decoder_start(&dev), ==, 0);
        started(managed);
        g_assert_cmphex(dev.decoder.window, ==, 4ull << 32);
        g_assert_cmphex(dev.decoder.bytes, ==, WINDOW);
        g_assert_cmpuint(dev.decoder.mibs, ==, MIBS);
        g_assert_cmpuint(dev.decoder.l1s, ==, 3);
        g_assert_cmphex(given.mapped, ==, (4ull << 32) + WINDOW - 0x10000);
        g_assert_cmphex(given.mapped_bytes, ==, 0x10000);
        g_assert_cmphex(given_of(dev.decoder.l0)->n, ==, UB_LDS_L0_BYTES);
        g_assert_cmphex(given_of(dev.decoder.cmds)->n, ==, 64 * 16);
        g_assert_cmphex(given_of(dev.decoder.events)->n, ==, 1024 * 16);
        g_assert_cmphex(given_of(dev.decoder.l1)->n, ==, 3 * sizeof(u8 *));
        g_assert_cmphex(given_of(dev.decoder.l1_dma)->n, ==,
                        3 * sizeof(dma_addr_t));
        /* It begins anew with what it has. */
        live = given.live;
        dev.decoder.pi = dev.decoder.ci = 5;
        mem_decoder_stop(&dev);
        wrote(stopped, G_N_ELEMENTS(stopped));
        g_assert_true(dev.decoder.broken);
        g_assert_cmpint(given.irq, ==, 0);
        g_assert_cmpint(mem_decoder_start(&dev), ==, 0);
        g_assert_cmpuint(dev.decoder.pi + dev.decoder.ci, ==, 0);
        started(managed);
        g_assert_cmpuint(given.live, ==, live);
        end();
    }
}

/* Windows that there cannot be, memory that there is not, an interrupt of others. */
static void test_no_start(void)
{
    static const struct {
        u64 bytes, len;
        int err;
    } windows[] = {
        { WINDOW, WINDOW / 2, -ENODEV },
        { MEM_MIB, MEM_MIB, -ENODEV },
        { 2 * MEM_MIB, 2 * MEM_MIB, 0 },
        { 1ull << 44, 1ull << 44, 0 },
        { 1ull << 45, 1ull << 45, -ENODEV },
    };
    unsigned needs;

    for (unsigned i = 0; i < G_N_ELEMENTS(windows); i++) {
        begin_as(windows[i].bytes, 0);
        hw.len = windows[i].len;
        g_assert_cmpint(mem_decoder_start(&dev), ==, windows[i].err);
        if (windows[i].err) {
            g_assert_cmpuint(hw.writes + given.live, ==, 0);
        } else {
            g_assert_cmpuint(dev.decoder.mibs, ==,
                             windows[i].bytes / MEM_MIB - 1);
        }
        end();
    }
    begin();
    needs = given.live;
    end();
    for (unsigned left = 0; left < needs; left++) {
        begin_as(WINDOW, 0);
        given.left = left;
        g_assert_cmpint(mem_decoder_start(&dev), ==, -ENOMEM);
        g_assert_cmpuint(hw.writes, ==, 0);
        end();
    }
    begin_as(WINDOW, 0);
    given.irq_err = -EBUSY;
    g_assert_cmpint(mem_decoder_start(&dev), ==, -EBUSY);
    g_assert_cmpuint(hw.wrote[hw.writes - 1].dw, !=, UB_DECODER_CTRL);
    end();
}

/* ---- Tables ---- */

/* An entry of the tables leads to the MiB that is @off behind the target. */
static void leads(unsigned mib, unsigned off, const struct mem_target *to)
{
    const __le64 *e = entry_of(&dev.decoder, mib);

    g_assert_cmphex(e[0], ==, (to->uba + off * MEM_MIB) | UB_LDS_TYPE_PAGE |
                              (to->check ? UB_LDS_TOKEN_VLD : 0));
    g_assert_cmphex(e[1], ==, (u64)to->row << 32 | (u64)to->order << 52);
    g_assert_cmphex(e[4], ==, to->token_id | (u64)to->value << 32);
    g_assert_cmphex(e[2] | e[3] | e[5] | e[6] | e[7], ==, 0);
}

static void test_tables(void)
{
    struct mem_target to = target;
    struct mem_decoder *d = &dev.decoder;

    begin();
    memset(d->l0, 0, UB_LDS_L0_BYTES);
    /* Two tables, which are made as they are needed; each entry before its type, and all
     * before they are used. */
    ordered.writes = 0;
    g_assert_cmpint(mem_window_set(&dev, 4094, 3, &to), ==, 0);
    g_assert_cmpuint(ordered.writes, ==, 2 + 3 + 1);
    for (unsigned i = 0; i < 3; i++) {
        leads(4094 + i, i, &to);
    }
    g_assert_true(d->l1[0] && d->l1[1] && !d->l1[2]);
    g_assert_cmphex(given_of(d->l1[0])->n, ==, 4096 * 64);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmphex(d->l0[i], ==, i < 2 ? d->l1_dma[i] | UB_LDS_TYPE_TABLE : 0);
    }
    g_assert_true((u8 *)entry_of(d, 4094) == d->l1[0] + 4094 * 64);
    g_assert_true((u8 *)entry_of(d, 4096) == d->l1[1]);
    /* Another one, by a table that is there, and in the place of what was. */
    memset(entry_of(d, 4097), 0xff, UB_LDS_ENTRY);
    to.check = true;
    g_assert_cmpint(mem_window_set(&dev, 4097, 1, &to), ==, 0);
    leads(4097, 0, &to);
    to.check = false;
    leads(4096, 2, &to);
    /* The last of a table needs no other. */
    g_assert_cmpint(mem_window_set(&dev, 8191, 1, &to), ==, 0);
    g_assert_null(d->l1[2]);
    mem_window_clear(&dev, 4095, 2);
    g_assert_cmphex(*entry_of(d, 4095) | *entry_of(d, 4096), ==, 0);
    leads(4094, 0, &to);
    to.check = true;
    leads(4097, 0, &to);
    /* No memory: nothing is set; what is taken back then may have no table. */
    given.left = 0;
    g_assert_cmpint(mem_window_set(&dev, 8191, 2, &target), ==, -ENOMEM);
    to.check = false;
    leads(8191, 0, &to);
    mem_window_clear(&dev, 8191, 2);
    g_assert_cmphex(*entry_of(d, 8191), ==, 0);
    end();
}

/* Pieces of the window: side by side, all but the last MiB. */
static void test_pieces(void)
{
    begin();
    g_assert_cmpint(mem_window_get(&dev, 3), ==, 0);
    g_assert_cmpint(mem_window_get(&dev, MIBS - 3), ==, 3);
    g_assert_cmpint(mem_window_get(&dev, 1), ==, -ENOSPC);
    mem_window_put(&dev, 1, 2);
    g_assert_cmpint(mem_window_get(&dev, 3), ==, -ENOSPC);
    g_assert_cmpint(mem_window_get(&dev, 2), ==, 1);
    mem_window_put(&dev, MIBS - 1, 1);
    g_assert_cmpint(mem_window_get(&dev, 1), ==, MIBS - 1);
    end();
}

/* ---- Commands, and what is under way ---- */

/* The MiBs that are meant are forgotten, and no others; laps of the queue. */
static void test_clear(void)
{
    begin();
    g_assert_cmpint(mem_window_set(&dev, 0, 8, &target), ==, 0);
    mem_window_clear(&dev, 3, 2);
    g_assert_cmpuint(hw.from, ==, 3);
    g_assert_cmpuint(hw.to, ==, 4);
    for (unsigned i = 0; i < 8; i++) {
        if (i == 3 || i == 4) {
            g_assert_cmphex(*entry_of(&dev.decoder, i), ==, 0);
        } else {
            leads(i, i, &target);
        }
    }
    for (unsigned i = 0; i < 300; i++) {
        hw.writes = 0;
        mem_window_clear(&dev, i % 8, 1);
        g_assert_cmpuint(hw.from, ==, i % 8);
        g_assert_cmpuint(hw.to, ==, i % 8);
        g_assert_cmpuint(hw.first, ==, i % 8);
        g_assert_cmpuint(hw.last, ==, i % 8);
        g_assert_cmpuint(hw.cons, ==, 2 + i);
    }
    g_assert_cmpuint(hw.slept, ==, 0);
    g_assert_false(dev.decoder.broken);
    end();
}

static unsigned others;

/* Another program imports, looks, and takes its own back, meanwhile. */
static void imports(void)
{
    int at;

    if (others++) {
        hw.oldest = hw.made;
        return;
    }
    at = mem_window_get(&dev, 2);
    g_assert_cmpint(at, ==, 1);
    g_assert_cmpint(mem_window_set(&dev, at, 2, &target), ==, 0);
    mem_window_clear(&dev, at, 2);
    mem_window_put(&dev, at, 2);
    g_assert_cmpint(mem_window_done(&dev, 1, 5, true), ==, 0);
    g_assert_cmpuint(hw.slept, ==, 1);
}

/* Who takes an import back waits for accesses to a silent peer, alone, and until they are
 * over. */
static void test_others(void)
{
    begin();
    others = 0;
    g_assert_cmpint(mem_window_get(&dev, 1), ==, 0);
    g_assert_cmpint(mem_window_set(&dev, 0, 1, &target), ==, 0);
    hw.oldest = hw.made - 1;
    hw.meanwhile = imports;
    mem_window_clear(&dev, 0, 1);
    g_assert_cmpuint(others, ==, 2);
    g_assert_cmpuint(hw.slept, ==, 2);
    g_assert_cmpuint(hw.cons, ==, 2);
    g_assert_false(dev.decoder.broken);
    end();
}

static void more_come(void)
{
    hw.made++;
    hw.oldest = hw.slept < 10 ? 76 : 77;
    me.killed = hw.slept == 5 && others;
}

/* Accesses so far: those that come meanwhile are waited for by nobody, who is killed waits
 * no longer. */
static void test_done(void)
{
    begin();
    hw.asked[0] = hw.asked[1] = 9;
    hw.oldest = 76;
    g_assert_cmpint(mem_window_done(&dev, 10, 2, true), ==, 0);
    g_assert_cmpuint(hw.first, ==, 10);
    g_assert_cmpuint(hw.last, ==, 11);
    g_assert_cmpint(mem_window_done(&dev, 7, 2, true), ==, 0);
    g_assert_cmpuint(hw.slept, ==, 0);
    hw.meanwhile = more_come;
    others = 0;
    g_assert_cmpint(mem_window_done(&dev, 9, 1, true), ==, 0);
    g_assert_cmpuint(hw.slept, ==, 10);
    for (unsigned killable = 0; killable < 2; killable++) {
        hw.slept = 0;
        hw.made = 77;
        hw.oldest = 76;
        others = 1;
        me.killed = false;
        g_assert_cmpint(mem_window_done(&dev, 8, 2, killable), ==,
                        killable ? -EINTR : 0);
        g_assert_cmpuint(hw.slept, ==, killable ? 5 : 10);
    }
    me.killed = false;
    /* The device is gone. */
    hw.meanwhile = NULL;
    hw.made = hw.oldest = UINT64_MAX;
    g_assert_cmpint(mem_window_done(&dev, 9, 1, true), ==, -EIO);
    end();
}

/* What does not end, or commands that are not served or fail, end it once and for all. */
static void test_broken(void)
{
    for (unsigned how = 0; how < 3; how++) {
        unsigned long begun = jiffies;

        begin();
        hw.stuck = how == 1;
        hw.cons_err = how == 2 ? UB_DECODER_CMDQ_CONS__CMDQ_ERR : 0;
        hw.oldest -= how == 0;
        mem_window_clear(&dev, 0, 1);
        g_assert_true(dev.decoder.broken);
        g_assert_cmpuint(jiffies - begun, >=, how == 2 ? 0 : 60 * HZ);
        g_assert_cmpuint(jiffies - begun, <, how == 2 ? 1 : 60 * HZ + 5);
        begun = jiffies;
        hw.writes = 0;
        mem_window_clear(&dev, 1, 1);
        g_assert_cmpuint(jiffies, ==, begun);
        g_assert_cmpuint(hw.writes, ==, 0);
        g_assert_cmpint(mem_window_set(&dev, 0, 1, &target), ==, -EIO);
        g_assert_null(dev.decoder.l1[0]);
        end();
    }
}

/* ---- Events ---- */

static void event(u32 id, unsigned mib, u64 q1)
{
    __le64 *e = dev.decoder.events + 2 * (hw.event_prod % 1024);

    e[0] = id | (u64)mib << 32;
    e[1] = q1;
    hw.event_prod = (hw.event_prod & ~2047u) | ((hw.event_prod + 1) & 2047);
}

static void test_events(void)
{
    begin();
    event(0x12, 3, 0x1105 | UB_LDS_EVENT_STORE | 5ull << 32);
    event(0x13, 2, 0x1100 | 5ull << 32);
    event(0x14, 4, 0x77);
    event(0x15, 5, 0x99 | UB_LDS_EVENT_STORE); /* nobody's */
    hw.writes = ordered.reads = 0;
    g_assert_cmpint(given.handler(6, &dev), ==, IRQ_HANDLED);
    g_assert_cmpuint(ordered.reads, ==, 1);
    wrote((const Wrote[]) { { UB_DECODER_EVENTQ_CONS, 4 } }, 1);
    g_assert_cmpint(dev.failed, ==, 4);
    g_assert_cmpuint(import.failed_stores, ==, 1);
    g_assert_cmpuint(import.failed_loads, ==, 2);
    g_assert_cmpuint(import.last_event, ==, 0x14);
    g_assert_cmphex(import.last_status, ==, 0x77);
    g_assert_cmpuint(file.failed_stores, ==, 1);
    g_assert_cmpuint(dev.text.failed_stores, ==, 0);
    /* Three interrupts more are of those; a fifth is another device's. */
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(given.handler(6, &dev), ==, IRQ_HANDLED);
    }
    g_assert_cmpint(given.handler(6, &dev), ==, IRQ_NONE);
    g_assert_cmpuint(hw.writes, ==, 0);
    /* Laps; who asks takes them as well. */
    for (unsigned i = 4; i < 5000; i++) {
        event(0x12, 2, 0xffff1105 & ~UB_LDS_EVENT_STORE);
        g_assert_cmpint(mem_window_done(&dev, 2, 1, false), ==, 0);
        g_assert_cmpint(dev.failed, ==, i + 1);
        g_assert_cmpuint(hw.event_cons, ==, (i + 1) & 2047);
        hw.writes = 0;
    }
    g_assert_cmphex(import.last_status, ==, 0x1105);
    /* As many interrupts are owed as there can be events. */
    g_assert_cmpuint(dev.decoder.owed, ==, 1024);
    end();
}

/* Events that found no room: once for each time, which is acknowledged. */
static void test_lost(void)
{
    const u32 error = UB_DECODER_EVENTQ_PROD__EVENTQ_OVFL_ERR;

    begin();
    for (unsigned i = 0; i < 4; i++) {
        hw.event_prod ^= error;
        if (i == 2) {
            event(0x12, 2, 0);
        }
        hw.writes = 0;
        g_assert_cmpint(given.handler(6, &dev), ==,
                        i == 2 ? IRQ_HANDLED : IRQ_NONE);
        g_assert_cmpuint(dev.decoder.lost, ==, i + 1);
        wrote((const Wrote[]) { { UB_DECODER_EVENTQ_CONS,
                                  (i > 1) | (i % 2 ? 0 : error) } }, 1);
        g_assert_cmpint(given.handler(6, &dev), ==, IRQ_NONE);
        g_assert_cmpuint(hw.writes, ==, 0);
    }
    /* Not of a device that is gone. */
    hw.event_prod = ~0u;
    g_assert_cmpint(given.handler(6, &dev), ==, IRQ_NONE);
    g_assert_cmpuint(dev.decoder.lost, ==, 4);
    g_assert_cmpuint(hw.writes, ==, 0);
    end();
}

/* Stores by the UBFM's table are everybody's. */
static void test_managed(void)
{
    begin_as(WINDOW, UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION);
    g_assert_cmpint(mem_decoder_start(&dev), ==, 0);
    event(0x12, 9, UB_LDS_EVENT_STORE);
    event(0x12, 9, 0);
    g_assert_cmpint(mem_window_done(&dev, 0, MIBS, true), ==, 0);
    g_assert_cmpuint(dev.text.failed_stores, ==, 1);
    g_assert_cmpint(dev.failed, ==, 2);
    end();
}

/* ---- Slots ---- */

static u64 result[9];

static int ask_for(struct mem_dest *to, u32 opcode, unsigned bytes)
{
    u64 a[8], b[8];
    int err;

    for (unsigned i = 0; i < 8; i++) {
        a[i] = 0x100 + i;
        b[i] = 0x200 + i;
    }
    memset(result, 0xee, sizeof(result));
    memset(dev.decoder.control + UB_LDS_SLOT(0), 0, UB_LDS_SLOT_RESULT);
    hw.bytes_of_slot = bytes;
    err = mem_slot(&dev, to, 4096, opcode, bytes, a, b, result);
    return err;
}

static int ask(struct mem_dest *to)
{
    return ask_for(to, 7, 8);
}

/* Operands and results of each length; how long who asks looks for the answer. */
static void test_slot(void)
{
    static const unsigned bytes[] = { 1, 8, 9, 16, 64 };
    struct mem_dest to = { 0 };

    begin();
    for (unsigned n = 0; n < G_N_ELEMENTS(bytes); n++) {
        event(0x12, 2, 0);
        g_assert_cmpint(ask_for(&to, 0xa | 4 << 16, bytes[n]), ==, 0);
        g_assert_cmphex(hw.go, ==, 0x4000a | bytes[n] << 8);
        g_assert_cmpint(dev.failed, ==, n + 1);
        for (unsigned i = 0; i < 9; i++) {
            g_assert_cmphex(result[i], ==, 8 * i < bytes[n]
                            ? 0x300 + i : 0xeeeeeeeeeeeeeeee);
        }
    }
    g_assert_cmpuint(hw.slept, ==, 0);
    hw.busy = 150;
    g_assert_cmpint(ask(&to), ==, 0);
    g_assert_cmpuint(hw.slept, ==, 49);
    hw.answer = 0; /* that is no answer */
    g_assert_cmpint(ask(&to), ==, -EIO);
    /* One that never comes: longer than the device lets anything wait. */
    hw.answer = UB_LDS_SLOT_DONE;
    hw.busy = UINT64_MAX;
    hw.slept = 0;
    g_assert_cmpint(ask(&to), ==, -EIO);
    g_assert_cmpuint(hw.slept, >=, 60 * HZ);
    g_assert_cmpuint(hw.slept, <, 60 * HZ + 5);
    g_assert_cmpuint(to.vain, ==, 1);
    /* The device is gone. */
    hw.busy = hw.looks = 0;
    hw.answer = UINT64_MAX;
    hw.slept = 0;
    g_assert_cmpint(ask(&to), ==, -EIO);
    g_assert_cmpint(ask(&to), ==, -EIO);
    g_assert_cmpuint(hw.slept, ==, 0);
    /* That is not to be busy: no other slot is looked for. */
    g_assert_cmpuint(hw.last_slot, ==, 0);
    g_assert_cmpuint(to.vain, ==, 3);
    end();
}

/* Commands have any slot that is free, whatever rows they go by; one that the device is
 * still at is left alone. */
static void test_slots(void)
{
    struct mem_dest to = { 0 };
    unsigned before;
    u8 *status;

    begin();
    g_assert_cmpint(ask(&to), ==, 0);
    g_assert_cmpuint(hw.last_slot, ==, 0);
    bit_set(dev.decoder.slots_used, 0);
    status = dev.decoder.control + UB_LDS_SLOT(1) + UB_LDS_SLOT_STATUS;
    put_le64(status, UB_LDS_SLOT_BUSY);
    g_assert_cmpint(ask(&to), ==, 0);
    g_assert_cmpuint(hw.last_slot, ==, 2);
    g_assert_cmphex(dev.decoder.slots_used[0], ==, 1);
    g_assert_cmpuint(dev.decoder.slots.least, ==, UB_LDS_SLOTS - 1);
    /* The last one is as good. */
    dev.decoder.slots_used[0] = ~0ul >> 1;
    g_assert_cmpint(ask(&to), ==, 0);
    g_assert_cmpuint(hw.last_slot, ==, 63);
    g_assert_cmphex(dev.decoder.slots_used[0], ==, ~0ul >> 1);
    /* None at all: nobody waits for one that might never come back. */
    before = hw.gone;
    dev.decoder.slots_used[0] = ~0ul;
    g_assert_cmpint(ask(&to), ==, -EIO);
    g_assert_cmpuint(hw.gone, ==, before);
    g_assert_cmpuint(to.vain, ==, 0);
    dev.decoder.slots_used[0] = 0;
    put_le64(status, 0);
    end();
}

static struct mem_dest silent;

/* Another program has asked before us, in vain, and only now lets us in. */
static void asked_in_vain(struct mutex *m)
{
    silent.vain += m == &silent.slot;
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
    hw.answer = timeout | UINT64_C(0x1234) << UB_LDS_SLOT_STATUS_SHIFT;
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
    g_test_add_func("/mem-decoder/start", test_start);
    g_test_add_func("/mem-decoder/no-start", test_no_start);
    g_test_add_func("/mem-decoder/tables", test_tables);
    g_test_add_func("/mem-decoder/pieces", test_pieces);
    g_test_add_func("/mem-decoder/clear", test_clear);
    g_test_add_func("/mem-decoder/others", test_others);
    g_test_add_func("/mem-decoder/done", test_done);
    g_test_add_func("/mem-decoder/broken", test_broken);
    g_test_add_func("/mem-decoder/events", test_events);
    g_test_add_func("/mem-decoder/lost", test_lost);
    g_test_add_func("/mem-decoder/managed", test_managed);
    g_test_add_func("/mem-decoder/slot", test_slot);
    g_test_add_func("/mem-decoder/slots", test_slots);
    g_test_add_func("/mem-decoder/vain", test_vain);
    return g_test_run();
}
