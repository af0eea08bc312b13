/*
 * A window on the transaction layer of node 0 of some, in virtual time: tables and
 * queues in a memory of its own, processors that are called by hand.
 *
 * Node n's memory is at MiB 16 * (n + 1) on of the window's 64, over the destination
 * row that bed_new() is told, by a PTRE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef LDS_BED_H
#define LDS_BED_H

#include "ta-pair.h"
#include "ub/lds.h"

#define BED_MEM (8u << 20)
#define BED_WINDOW (64u << 20)
#define BED_BASE 0x8000000000ull /* where the window is */
#define BED_L0 0x10000u
#define BED_L1 0x20000u
#define BED_CMDQ 0x300000u
#define BED_EVENTQ 0x310000u
#define BED_CONTROL (BED_WINDOW - UB_LDS_CONTROL)
#define BED_TIMEOUT 50000000ll
#define MIB (1ull << 20)

typedef struct Bed {
    Pair *p;
    UbLds *l;
    UbLdsConfig cfg;
    UbSpace *space;
    uint8_t *mem;
    unsigned interrupts, guest_errors, ended;
    unsigned cmd_pi;    /* commands that were put */
    bool kicked;        /* it asked for a turn */
    int64_t next;       /* when it wants the next without asking */
    const UbTaDest *way; /* to whoever; NULL: to who is asked for */
} Bed;

static inline bool bed_dma(Bed *b, uint64_t addr, uint32_t len)
{
    return addr <= BED_MEM && len <= BED_MEM - addr;
}

static inline bool bed_read(void *opaque, uint64_t addr, void *buf,
                            uint32_t len)
{
    Bed *b = opaque;

    if (bed_dma(b, addr, len)) {
        memcpy(buf, b->mem + addr, len);
    }
    return bed_dma(b, addr, len);
}

static inline bool bed_write(void *opaque, uint64_t addr, const void *buf,
                             uint32_t len)
{
    Bed *b = opaque;

    if (bed_dma(b, addr, len)) {
        memcpy(b->mem + addr, buf, len);
    }
    return bed_dma(b, addr, len);
}

static inline void bed_interrupt(void *opaque, unsigned vector)
{
    ((Bed *)opaque)->interrupts++;
    g_assert_cmpuint(vector, <, 1024);
}

static inline void bed_kick(void *opaque)
{
    ((Bed *)opaque)->kicked = true;
}

static inline void bed_guest_error(void *opaque, const char *what)
{
    ((Bed *)opaque)->guest_errors++;
    g_test_message("guest error: %s", what);
}

static inline void bed_ended(void *opaque, UbLdsWait *w)
{
    g_assert_true(w->ended);
    ((Bed *)opaque)->ended++;
}

/* Node n has CNA n + 1; all are in one partition. */
static inline bool bed_way(void *opaque, const UbLdsPeer *peer, UbTaDest *dest)
{
    Bed *b = opaque;

    *dest = (UbTaDest){
        .tp.mode = UB_TP_CTP, .sl_writeback = UB_TA_SAME_SL, .mtu = 1024,
        .sec = { .form = UB_SEC_SHORT, .upi = PAIR_UPI, .seid = b->p->end[0].eid,
                 .deid = peer->deid },
    };
    dest->tp.flow.cfg = UB_LPH_CNA16;
    dest->tp.flow.scna = 1;
    dest->tp.flow.dcna = peer->cna;
    *dest = b->way ? *b->way : *dest;
    return peer->cna <= b->p->n;
}

static const UbLdsOps bed_ops = {
    .read = bed_read, .write = bed_write, .interrupt = bed_interrupt,
    .kick = bed_kick, .guest_error = bed_guest_error, .ended = bed_ended,
    .way = bed_way,
};

static const UbTaOps bed_ta_ops = {
    .gather = ub_lds_gather, .scatter = ub_lds_scatter, .done = ub_lds_done,
};

static inline UbTaRequest *bed_adopt(void *l, uint64_t id)
{
    return ub_lds_adopt(l, id);
}

/* ---- Registers ---- */

static inline uint32_t bed_dw(unsigned dw)
{
    return UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_DECODER) + dw;
}

static inline uint32_t bed_get(Bed *b, unsigned dw)
{
    return ub_space_read(b->space, bed_dw(dw));
}

static inline void bed_set(Bed *b, unsigned dw, uint64_t value)
{
    ub_space_write(b->space, b->p->now, bed_dw(dw), value, 15);
}

static inline void bed_set64(Bed *b, unsigned dw, uint64_t value)
{
    bed_set(b, dw, value);
    bed_set(b, dw + 1, value >> 32);
}

static inline void bed_count(Bed *b, UbLdsCounter c, uint64_t n)
{
    g_assert_cmpuint(ub_lds_counter(b->l, c), ==, n);
}

/* ---- Tables ---- */

static inline uint8_t *bed_bulk(Bed *b, unsigned n)
{
    return b->mem + BED_L0 + n * UB_LDS_BULK;
}

static inline void put_way(uint8_t *q, uint32_t row, unsigned order)
{
    put_le64(q, (uint64_t)row << UB_LDS_DEST_SHIFT |
                (uint64_t)order << UB_LDS_ORDER_SHIFT);
}

/* Word @mib of a table: an L1 PTE to UBA @uba by @row. */
static inline uint8_t *bed_page(Bed *b, uint32_t mib, uint64_t uba,
                                uint32_t row)
{
    uint8_t *e = b->mem + BED_L1 + mib * UB_LDS_ENTRY;

    memset(e, 0, UB_LDS_ENTRY);
    put_le64(e, UB_LDS_TYPE_PAGE | UB_LDS_TOKEN_VLD | uba);
    put_way(e + 8, row, 0);
    put_le64(e + 32, PAIR_TOKEN_ID | (uint64_t)PAIR_TOKEN << 32);
    return e;
}

/* The first Bulk Entry: pages of the table at BED_L1. */
static inline void bed_paged(Bed *b)
{
    memset(bed_bulk(b, 0), 0, UB_LDS_BULK);
    put_le64(bed_bulk(b, 0), UB_LDS_TYPE_TABLE | BED_L1);
}

static inline void bed_enable(Bed *b)
{
    bed_set64(b, UB_DECODER_MATT_BA, BED_L0);
    bed_set64(b, UB_DECODER_MMIO_BA, BED_BASE);
    bed_set64(b, UB_DECODER_CMDQ_BASE_ADDR, BED_CMDQ);
    bed_set64(b, UB_DECODER_EVENTQ_BASE_ADDR, BED_EVENTQ);
    bed_set(b, UB_DECODER_CMDQ_CFG, 4 << 8 | 1);
    bed_set(b, UB_DECODER_EVENTQ_CFG, 4 << 8 | 1);
    bed_set(b, UB_DECODER_CTRL, 1);
}

static inline Bed *bed_new_with(const UbLdsConfig *cfg, Pair *p, uint32_t row)
{
    Bed *b = g_new0(Bed, 1);
    End *e = &p->end[0];

    b->p = p;
    b->mem = g_malloc0(BED_MEM);
    b->space = ub_space_new(1);
    ub_space_attach(b->space, UB_SPACE_CFG0, 0, 0, NULL, NULL);
    ub_space_attach(b->space, UB_SPACE_CFG1, 0, 0, NULL, NULL);
    b->cfg = *cfg;
    b->l = ub_lds_new(cfg, &bed_ops, b);
    g_assert_nonnull(b->l);
    ub_lds_attach(b->l, b->space);
    ub_lds_bind(b->l, e->ta);
    ub_lds_set_base(b->l, BED_BASE);
    ub_lds_link(b->l, p->now, 0, true);
    e->guest = b->l;
    e->guest_ops = &bed_ta_ops;
    e->guest_adopt = bed_adopt;
    e->guest_rcid = cfg->rcid;
    bed_paged(b);
    for (unsigned n = 1; n < p->n; n++) {
        for (unsigned i = 0; i < PAIR_MEM / MIB; i++) {
            bed_page(b, 16 * n + i, PAIR_UBA + i * MIB, row + n);
        }
    }
    bed_enable(b);
    return b;
}

static inline void bed_config(UbLdsConfig *cfg)
{
    ub_lds_config_init(cfg);
    cfg->window = BED_WINDOW;
    cfg->timeout = BED_TIMEOUT;
    cfg->grace = 5000000;
}

static inline Bed *bed_new(uint32_t row)
{
    UbLdsConfig cfg;

    bed_config(&cfg);
    return bed_new_with(&cfg, pair_new(2, NULL), row);
}

static inline void bed_free(Bed *b)
{
    b->p->end[0].guest = NULL;
    ub_lds_free(b->l);
    pair_free(b->p);
    ub_space_free(b->space);
    g_free(b->mem);
    g_free(b);
}

/* A turn, if it asked for one or its time has come. */
static inline void bed_turn(Bed *b)
{
    if (b->kicked || b->p->now >= b->next) {
        b->kicked = false;
        b->next = ub_lds_run(b->l, b->p->now);
    }
}

/* Everything for @ns. */
static inline void bed_run(Bed *b, int64_t ns)
{
    int64_t end = b->p->now + ns;

    while (b->p->now < end) {
        int64_t next;

        bed_turn(b);
        next = CLAMP(b->next, b->p->now + 1, MIN(end, b->p->now + 2000));
        pair_run_for(b->p, next - b->p->now);
    }
    bed_turn(b);
}

/* ---- Processors ---- */

static inline uint64_t bed_mask(unsigned len)
{
    return len == 8 ? UINT64_MAX : (1ull << 8 * len) - 1;
}

static inline void bed_wait(Bed *b, UbLdsWait *w)
{
    int64_t end = b->p->now + 10 * BED_TIMEOUT;

    while (!w->ended) {
        g_assert_cmpint(b->p->now, <, end);
        bed_run(b, 1000);
    }
}

static inline uint64_t bed_load(Bed *b, uint64_t at, unsigned len)
{
    UbLdsWait w = { 0 };
    uint64_t value;

    if (!ub_lds_load(b->l, b->p->now, at, len, &w, &value)) {
        bed_wait(b, &w);
        value = w.value;
    }
    return value & bed_mask(len);
}

static inline void bed_store(Bed *b, uint64_t at, unsigned len, uint64_t value)
{
    UbLdsWait w = { 0 };

    if (!ub_lds_store(b->l, b->p->now, at, len, value, &w)) {
        bed_wait(b, &w);
    }
}

static inline uint64_t bed_fence(Bed *b)
{
    return bed_load(b, BED_CONTROL + UB_LDS_FENCE, 8);
}

/* Event @n of the queue, as Q0 and Q1. */
static inline uint64_t bed_event(Bed *b, unsigned n, unsigned word)
{
    return get_le64(b->mem + BED_EVENTQ + n % 16 * 16 + 8 * word);
}

static inline uint32_t bed_events(Bed *b)
{
    return bed_get(b, UB_DECODER_EVENTQ_PROD) & 31;
}

/* ---- Commands ---- */

static inline void bed_command(Bed *b, uint64_t q0, uint64_t q1)
{
    put_le64(b->mem + BED_CMDQ + b->cmd_pi % 16 * 16, q0);
    put_le64(b->mem + BED_CMDQ + b->cmd_pi % 16 * 16 + 8, q1);
    b->cmd_pi++;
    bed_set(b, UB_DECODER_CMDQ_PROD,
            (b->cmd_pi & 31) | (bed_get(b, UB_DECODER_CMDQ_PROD) & 1 << 16));
}

static inline void bed_sync(Bed *b)
{
    bed_command(b, UB_LDS_CMD_SYNC | 1 << UB_LDS_SYNC_HOW_SHIFT |
                   0xffffffffull << 32, 0x200004);
}

static inline uint32_t bed_synced(Bed *b)
{
    uint32_t value = get_le32(b->mem + 0x200004);

    put_le32(b->mem + 0x200004, 0);
    return value;
}

/* ---- Losses: filters of a pair ---- */

static inline bool bed_lose_all(Pair *p, Wire *w)
{
    return false;
}

static inline bool bed_lose_requests(Pair *p, Wire *w)
{
    return w->from != 0;
}

/* ---- Slots, events, images ---- */

static inline uint64_t bed_slot(unsigned n, unsigned reg)
{
    return BED_CONTROL + UB_LDS_SLOT(n) + reg;
}

static inline uint64_t bed_go(Bed *b, unsigned n, uint64_t at, unsigned opcode,
                   unsigned len, unsigned sub)
{
    bed_store(b, bed_slot(n, UB_LDS_SLOT_ADDR), 8, at);
    bed_store(b, bed_slot(n, UB_LDS_SLOT_GO), 8,
              opcode | len << 8 | sub << 16);
    return bed_load(b, bed_slot(n, UB_LDS_SLOT_WAIT), 8);
}

/* Event @n says that an access at @at of the window has failed. */
static inline void bed_event_is(Bed *b, unsigned n, unsigned id, uint64_t at, bool store,
                     unsigned status)
{
    g_assert_cmpuint(bed_events(b), >, n);
    g_assert_cmphex(bed_event(b, n, 0), ==,
                    id | (at >> UB_LDS_PAGE_BITS) << 32);
    g_assert_cmphex(bed_event(b, n, 1), ==,
                    status | (store ? UB_LDS_EVENT_STORE : 0) |
                    (at & (MIB - 1)) << 32);
}

static inline uint8_t *bed_save(Bed *b, size_t *len)
{
    CoreImage *im = core_image_save(b->p->now);
    uint8_t *data;

    ub_lds_image(b->l, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static inline const char *bed_restore(Bed *b, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, b->p->now);
    const char *why;

    ub_lds_image(b->l, im);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

/* To another of the same shape; NULL, or why not. */
static inline const char *bed_migrate(Bed *b)
{
    size_t len, ta_len;
    g_autofree uint8_t *data = bed_save(b, &len);
    g_autofree uint8_t *ta = pair_save(b->p, 0, &ta_len);
    const char *why = bed_restore(b, data, len);

    why = why ? why : pair_load(b->p, 0, ta, ta_len);
    ub_lds_bind(b->l, b->p->end[0].ta);
    return why ? why : ub_lds_loaded(b->l);
}

#endif
