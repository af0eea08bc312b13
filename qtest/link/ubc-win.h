/*
 * The windows of two emulators, joined by a link: tables, loads and stores by qtest.
 *
 * The first MiB of a window is the peer's segment, by row ENG_DEST.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_WIN_H
#define UBC_WIN_H

#include "ubc-eng.h"
#include "hw/pci/pci_regs.h"
#include "ub/lds_hw.h"

#define WIN_BASE 0x1000000000ull /* where BAR4 is put */
#define WIN_SIZE (64ull << 20)
#define WIN_CONTROL (WIN_SIZE - UB_LDS_CONTROL)
/* What is answered is waited for, however late; who wants a time-out says so behind
 * it. */
#define WIN_PROPS "window=64M,window-timeout=120000"

typedef struct Win {
    Eng *e;
    uint64_t l0, l1, eventq, cmdq;
    uint32_t events;
} Win;

static inline uint32_t win_dw(unsigned dw)
{
    return UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_DECODER) + dw;
}

static inline void win_set64(Win *w, unsigned dw, uint64_t value)
{
    qubc_cfg_write(w->e->q, win_dw(dw), value);
    qubc_cfg_write(w->e->q, win_dw(dw + 1), value >> 32);
}

static inline void win_bar(QUbc *q, unsigned reg, uint64_t at)
{
    qpci_config_writel(q->pci, reg, (uint32_t)at);
    qpci_config_writel(q->pci, reg + 4, at >> 32);
}

/* Where BAR4 is, after a reset too. */
static inline void win_map(QUbc *q)
{
    win_bar(q, PCI_BASE_ADDRESS_4, WIN_BASE);
}

/* What firmware does behind a reset: where the other BARs are. */
static inline void win_place(Eng *e)
{
    win_bar(e->q, PCI_BASE_ADDRESS_0, e->q->bar.addr);
    win_bar(e->q, PCI_BASE_ADDRESS_2, e->pages.addr);
    qpci_device_enable(e->q->pci);
}

/* MiB @mib leads to UBA @uba of row @row. */
static inline void win_page(Win *w, unsigned mib, uint64_t uba, uint32_t row,
                            uint32_t token)
{
    uint8_t *e = w->e->drv.memory + w->l1 + mib * UB_LDS_ENTRY;

    memset(e, 0, UB_LDS_ENTRY);
    put_le64(e, UB_LDS_TYPE_PAGE | UB_LDS_TOKEN_VLD | uba);
    put_le64(e + 8, (uint64_t)row << UB_LDS_DEST_SHIFT);
    put_le64(e + 32, ENG_SEGMENT | (uint64_t)token << 32);
}

static inline void win_enable_at(Win *w, uint64_t base)
{
    win_bar(w->e->q, PCI_BASE_ADDRESS_4, base);
    win_set64(w, UB_DECODER_MATT_BA, w->l0);
    win_set64(w, UB_DECODER_MMIO_BA, base);
    win_set64(w, UB_DECODER_EVENTQ_BASE_ADDR, w->eventq);
    win_set64(w, UB_DECODER_CMDQ_BASE_ADDR, w->cmdq);
    qubc_cfg_write(w->e->q, win_dw(UB_DECODER_EVENTQ_CFG), 6 << 8 | 1);
    qubc_cfg_write(w->e->q, win_dw(UB_DECODER_CMDQ_CFG), 4 << 8 | 1);
    qubc_cfg_write(w->e->q, win_dw(UB_DECODER_CTRL), 1);
}

static inline void win_enable(Win *w)
{
    win_enable_at(w, WIN_BASE);
}

/* Queues, and tables with room for @mibs of an L1 table. */
static inline void win_alloc(Win *w, Eng *e, unsigned mibs)
{
    *w = (Win){ .e = e };
    w->l0 = ubq_alloc(&e->drv, UB_LDS_L0_BYTES, 4096);
    w->l1 = ubq_alloc(&e->drv, mibs * UB_LDS_ENTRY, 4096);
    w->eventq = ubq_alloc(&e->drv, 64 * UB_LDS_QUEUE_ENTRY, 4096);
    w->cmdq = ubq_alloc(&e->drv, 16 * UB_LDS_QUEUE_ENTRY, 4096);
    memset(e->drv.memory + w->l0, 0, UB_LDS_L0_BYTES);
    memset(e->drv.memory + w->l1, 0, mibs * UB_LDS_ENTRY);
}

static inline void win_open(Win *w, Eng *e)
{
    win_alloc(w, e, 64);
    put_le64(e->drv.memory + w->l0, UB_LDS_TYPE_TABLE | w->l1);
    win_page(w, 0, ENG_UBA, ENG_DEST, ENG_TOKEN);
    win_enable(w);
}

static inline uint64_t win_load(Win *w, uint64_t at)
{
    return qtest_readq(w->e->q->qts, WIN_BASE + at);
}

static inline void win_store(Win *w, uint64_t at, uint64_t value)
{
    qtest_writeq(w->e->q->qts, WIN_BASE + at, value);
}

static inline uint64_t win_fence(Win *w)
{
    return win_load(w, WIN_CONTROL + UB_LDS_FENCE);
}

/* The next event: Q0[7:0], after it has come. */
static inline unsigned win_event(Win *w)
{
    uint8_t *e = w->e->drv.memory + w->eventq +
                 w->events % 64 * UB_LDS_QUEUE_ENTRY;

    QUBC_WAIT(((qubc_cfg_read(w->e->q, win_dw(UB_DECODER_EVENTQ_PROD)) ^
                w->events) & 127) != 0);
    w->events++;
    qubc_cfg_write(w->e->q, win_dw(UB_DECODER_EVENTQ_CONS), w->events & 127);
    return e[0];
}

/* ---- A processor that waits, beside the test ---- */

typedef struct WinWait {
    Win *w;
    uint64_t at, value;
    GThread *thread;
} WinWait;

static inline gpointer win_wait_load(gpointer opaque)
{
    WinWait *x = opaque;

    x->value = win_load(x->w, x->at);
    return NULL;
}

/* A load that is not answered: back when it waits.  Until it has ended the test has
 * the machine by its monitor only, whose loop the waiting load keeps going: not for
 * devices with an IOThread. */
static inline void win_wait_begin(WinWait *x, Win *w, uint64_t at)
{
    *x = (WinWait){ .w = w, .at = at };
    x->thread = g_thread_new("load", win_wait_load, x);
    QUBC_WAIT(eng_counter(w->e, "window", "waiting") == 1);
}

static inline uint64_t win_wait_end(WinWait *x)
{
    g_thread_join(x->thread);
    return x->value;
}

static inline uint64_t win_slot(unsigned n, unsigned reg)
{
    return WIN_CONTROL + UB_LDS_SLOT(n) + reg;
}

/* Status of a command. */
static inline uint64_t win_go(Win *w, unsigned n, uint64_t at, unsigned opcode,
                              unsigned len)
{
    win_store(w, win_slot(n, UB_LDS_SLOT_ADDR), at);
    win_store(w, win_slot(n, UB_LDS_SLOT_GO), opcode | len << 8);
    return win_load(w, win_slot(n, UB_LDS_SLOT_WAIT));
}

#endif
