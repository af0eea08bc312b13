/*
 * NCIC NIC: BAR0 windows and the NCSR registers (ETH table 3-3)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { MAP_DOC, MAP_RTL };

typedef struct NcsrReg {
    uint16_t offset[2];
    uint32_t reset;
    uint32_t rw;
    uint32_t w1c;
} NcsrReg;

#define ROW(id, doc, rtl, reset, rw, w1c) \
    [NCIC_R_##id] = { { doc, rtl }, reset, rw, w1c },
static const NcsrReg ncsr_regs[NCIC_R_COUNT] = { NCIC_NCSR_REGS(ROW) };

typedef struct Counter {
    uint16_t offset;
    const char *name;
} Counter;

#define CNT(id, off, text) [NCIC_C_##id] = { off, text },
static const Counter counters[NCIC_C_COUNT] = { NCIC_COUNTERS(CNT) };

/* Offsets from here on are extensions: the document's layout ends before. */
#define DOC_END  0x03c
#define RTL_END  0x180

typedef struct Window {
    uint32_t base;
    uint32_t size;
    NcicLayout layout;
    NcicWindow window;
} Window;

static const Window windows[] = {
    { NCIC_RXQ, 0x1000, NCIC_LAYOUT_DOC, NCIC_WIN_RXQ },
    { NCIC_TXQ, 0x1000, NCIC_LAYOUT_DOC, NCIC_WIN_TXQ },
    { NCIC_NCSR, 0x1000, NCIC_LAYOUT_DOC, NCIC_WIN_NCSR },
    { NCIC_HCR, NCIC_HCR_SIZE, NCIC_LAYOUT_DOC, NCIC_WIN_HCR },
    { NCIC_RESET, 4, NCIC_LAYOUT_DOC, NCIC_WIN_RESET },
    { NCIC_RTL_RXQ, 0x1000, NCIC_LAYOUT_RTL, NCIC_WIN_RXQ },
    { NCIC_RTL_TXQ, 0x1000, NCIC_LAYOUT_RTL, NCIC_WIN_TXQ },
    { NCIC_RTL_NCSR, 0x1000, NCIC_LAYOUT_RTL, NCIC_WIN_NCSR_RTL },
    { NCIC_RTL_HCR, NCIC_HCR_SIZE, NCIC_LAYOUT_RTL, NCIC_WIN_HCR },
    { NCIC_RTL_RESET, 4, NCIC_LAYOUT_RTL, NCIC_WIN_RESET },
    { NCIC_RTL_INIT_DONE, 4, NCIC_LAYOUT_RTL, NCIC_WIN_INIT_DONE },
};

NcicWindow ncic_bar0_decode(NcicLayout layout, uint32_t addr, uint32_t *off)
{
    for (unsigned i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        const Window *w = &windows[i];

        if (w->layout & layout && addr - w->base < w->size) {
            *off = addr - w->base;
            return w->window;
        }
    }
    *off = addr;
    return NCIC_WIN_NONE;
}

const char *ncic_counter_name(unsigned counter)
{
    return counters[counter].name;
}

/* Looked up by dword: a register index + 1, or NCIC_R_COUNT + counter + 1. */
static void map_add(NcicEth *e, unsigned map, uint16_t off, unsigned value,
                    uint16_t end)
{
    if (off < end) {
        e->map[map][off / 4] = value;
    }
}

void ncic_regs_init(NcicEth *e)
{
    uint16_t end[2] = { e->cfg.ext ? NCIC_NO_OFFSET : DOC_END,
                        e->cfg.ext ? NCIC_NO_OFFSET : RTL_END };

    for (unsigned map = MAP_DOC; map <= MAP_RTL; map++) {
        for (unsigned i = 0; i < NCIC_R_COUNT; i++) {
            map_add(e, map, ncsr_regs[i].offset[map], i + 1, end[map]);
        }
        for (unsigned i = 0; i < NCIC_C_COUNT; i++) {
            map_add(e, map, counters[i].offset, NCIC_R_COUNT + i + 1,
                    end[map]);
        }
    }
}

void ncic_regs_reset(NcicEth *e)
{
    static const uint8_t queue_counts[] = {
        NCIC_R_TX_QUEUES, NCIC_R_TX_CPL_QUEUES,
        NCIC_R_RX_QUEUES, NCIC_R_RX_CPL_QUEUES,
    };
    const uint8_t *mac = e->cfg.mac;
    uint32_t link = e->ncsr[NCIC_R_LINK_STATUS];

    for (unsigned i = 0; i < NCIC_R_COUNT; i++) {
        e->ncsr[i] = ncsr_regs[i].reset;
    }
    for (unsigned i = 0; i < sizeof(queue_counts); i++) {
        e->ncsr[queue_counts[i]] = e->cfg.queues;
    }
    e->ncsr[NCIC_R_TX_MTU] = e->cfg.mtu;
    e->ncsr[NCIC_R_RX_MTU] = e->cfg.mtu;
    e->ncsr[NCIC_R_TX_START] = e->cfg.tx_start;
    e->ncsr[NCIC_R_LINK_STATUS] = link;
    e->ncsr[NCIC_R_MAC_LO] = mac[0] | mac[1] << 8 | mac[2] << 16 |
                             (uint32_t)mac[3] << 24;
    e->ncsr[NCIC_R_MAC_HI] = mac[4] | mac[5] << 8 | NCIC_MAC_VALID;
}

uint32_t ncic_regs_mutable(unsigned reg)
{
    return ncsr_regs[reg].rw | ncsr_regs[reg].w1c |
           (reg == NCIC_R_LINK_STATUS ? NCIC_LINK_UP : 0);
}

static unsigned lookup(const NcicEth *e, NcicWindow win, uint32_t off)
{
    unsigned map = win == NCIC_WIN_NCSR_RTL ? MAP_RTL : MAP_DOC;

    return off / 4 < sizeof(e->map[map]) ? e->map[map][off / 4] : 0;
}

static uint32_t ncsr_read(const NcicEth *e, NcicWindow win, uint32_t off)
{
    unsigned i = lookup(e, win, off);

    if (!i) {
        return 0;
    }
    return i <= NCIC_R_COUNT ? e->ncsr[i - 1]
                             : (uint32_t)e->counter[i - 1 - NCIC_R_COUNT];
}

static void ncsr_write(NcicEth *e, NcicWindow win, uint32_t off, uint32_t val)
{
    unsigned i = lookup(e, win, off);
    const NcsrReg *d = i && i <= NCIC_R_COUNT ? &ncsr_regs[i - 1] : NULL;
    uint32_t *reg;

    if (!d || !(d->rw | d->w1c)) {
        ncic_eth_guest_error(e, NCIC_E_ACCESS, off, val);
        return;
    }
    reg = &e->ncsr[i - 1];
    *reg = (*reg & ~d->rw) | (val & d->rw);
    *reg &= ~(val & d->w1c);
    if (i - 1 == NCIC_R_TX_START && *reg) {
        e->ops->kick_tx(e->opaque);
    }
    if (i - 1 == NCIC_R_MSIX_ENABLE && *reg) {
        ncic_queue_announce(e);
    }
}

static void queue_write(NcicEth *e, NcicDir dir, uint32_t off, uint32_t val)
{
    switch (ncic_queue_write(e, dir, off, val)) {
    case NCIC_WAKE_NONE:
        break;
    case NCIC_WAKE_RX:
        ncic_eth_rx_retry(e);
        break;
    case NCIC_WAKE_DOORBELL:
        if (e->ops->doorbell_tx) {
            e->ops->doorbell_tx(e->opaque);
            break;
        }
        /* fall through */
    case NCIC_WAKE_TX:
        e->ops->kick_tx(e->opaque);
        break;
    }
}

uint32_t ncic_eth_reg_read(NcicEth *e, NcicWindow win, uint32_t off)
{
    switch (win) {
    case NCIC_WIN_RXQ:
        return ncic_queue_read(e, NCIC_RX, off);
    case NCIC_WIN_TXQ:
        return ncic_queue_read(e, NCIC_TX, off);
    case NCIC_WIN_NCSR:
    case NCIC_WIN_NCSR_RTL:
        return ncsr_read(e, win, off);
    default:
        return 0;
    }
}

void ncic_eth_reg_write(NcicEth *e, NcicWindow win, uint32_t off,
                        uint32_t val)
{
    switch (win) {
    case NCIC_WIN_RXQ:
        queue_write(e, NCIC_RX, off, val);
        break;
    case NCIC_WIN_TXQ:
        queue_write(e, NCIC_TX, off, val);
        break;
    case NCIC_WIN_NCSR:
    case NCIC_WIN_NCSR_RTL:
        ncsr_write(e, win, off, val);
        break;
    default:
        ncic_eth_guest_error(e, NCIC_E_ACCESS, off, val);
        break;
    }
}
