/*
 * The configuration space of a UB controller (UB 2.0 §10.4.1, appendix D).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stddef.h>

#include "ub/space.h"

/* One slice in place: where it is and where its values are. */
typedef struct Piece {
    const UbSpaceSlice *slice;
    uint32_t base;
    int port;
    unsigned first; /* index of its dword 0 in `value` */
} Piece;

struct UbSpace {
    UbSpaceOps ops;
    void *opaque;
    unsigned ports;
    unsigned pieces;
    unsigned words;
    Piece *piece;    /* ascending by base */
    uint32_t *value;
    uint32_t *reset; /* what a reset returns to */
};

/* Dword of the capability bitmap in each BASIC slice, and its bits' number. */
static const uint16_t bitmap_dw[] = {
    [UB_SPACE_CFG0] = UB_CFG0_BASIC_CFG0_CAP_BITMAP,
    [UB_SPACE_CFG1] = UB_CFG1_BASIC_CFG1_CAP_BITMAP,
    [UB_SPACE_PORT] = UB_PORT_BASIC_PORT_CAP_BITMAP,
};

static uint32_t space_base(unsigned space, unsigned port)
{
    switch (space) {
    case UB_SPACE_CFG0:
        return UB_CFG0_BASE;
    case UB_SPACE_CFG1:
        return UB_CFG1_BASE;
    default:
        return UB_CFG_PORT_BASE(port);
    }
}

static int by_base(const void *a, const void *b)
{
    const Piece *x = a, *y = b;

    return x->base < y->base ? -1 : x->base > y->base;
}

static const Piece *find(const UbSpace *cfg, uint32_t dw)
{
    unsigned lo = 0, hi = cfg->pieces;

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        const Piece *p = &cfg->piece[mid];

        if (dw < p->base) {
            hi = mid;
        } else if (dw - p->base >= UB_CFG_SLICE) {
            lo = mid + 1;
        } else {
            return dw - p->base < p->slice->used ? p : NULL;
        }
    }
    return NULL;
}

static const UbSpaceDword *row(const Piece *p, uint32_t dw)
{
    unsigned lo = 0, hi = p->slice->count, at = dw - p->base;

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        const UbSpaceDword *d = &p->slice->dwords[mid];

        if (at < d->dw) {
            hi = mid;
        } else if (at > d->dw) {
            lo = mid + 1;
        } else {
            return d;
        }
    }
    return NULL;
}

static uint32_t *cell(uint32_t *array, const Piece *p, uint32_t dw)
{
    return &array[p->first + (dw - p->base)];
}

UbSpace *ub_space_new(unsigned ports, bool (*exists)(const UbSpaceSlice *slice),
                  const UbSpaceOps *ops, void *opaque)
{
    UbSpace *cfg;

    if (ports < 1 || ports > UB_SPACE_MAX_PORTS) {
        return NULL;
    }
    cfg = g_new0(UbSpace, 1);
    cfg->ops = *ops;
    cfg->opaque = opaque;
    cfg->ports = ports;
    cfg->piece = g_new0(Piece, ub_space_slice_count * ports);
    for (unsigned i = 0; i < ub_space_slice_count; i++) {
        const UbSpaceSlice *s = &ub_space_slices[i];
        unsigned copies = s->space == UB_SPACE_PORT ? ports : 1;

        if (s->cap && exists && !exists(s)) {
            continue;
        }
        for (unsigned port = 0; port < copies; port++) {
            cfg->piece[cfg->pieces++] = (Piece) {
                .slice = s,
                .base = UB_CFG_CAP(space_base(s->space, port), s->cap),
                .port = s->space == UB_SPACE_PORT ? (int)port : -1,
            };
        }
    }
    qsort(cfg->piece, cfg->pieces, sizeof(Piece), by_base);
    for (unsigned i = 0; i < cfg->pieces; i++) {
        cfg->piece[i].first = cfg->words;
        cfg->words += cfg->piece[i].slice->used;
    }
    cfg->value = g_new0(uint32_t, cfg->words);
    cfg->reset = g_new0(uint32_t, cfg->words);
    for (unsigned i = 0; i < cfg->pieces; i++) {
        Piece *p = &cfg->piece[i];
        const UbSpaceSlice *s = p->slice;

        for (unsigned j = 0; j < s->count; j++) {
            cfg->reset[p->first + s->dwords[j].dw] = s->dwords[j].reset;
        }
    }
    for (unsigned i = 0; i < cfg->pieces; i++) {
        const Piece *p = &cfg->piece[i];

        if (p->slice->cap) {
            uint32_t dw = space_base(p->slice->space, MAX(p->port, 0)) +
                          bitmap_dw[p->slice->space] + p->slice->cap / 32;
            const Piece *basic = find(cfg, dw);

            *cell(cfg->reset, basic, dw) |= 1u << p->slice->cap % 32;
        }
    }
    memcpy(cfg->value, cfg->reset, cfg->words * sizeof(uint32_t));
    return cfg;
}

void ub_space_free(UbSpace *cfg)
{
    if (cfg) {
        g_free(cfg->piece);
        g_free(cfg->value);
        g_free(cfg->reset);
        g_free(cfg);
    }
}

static bool in_domain(const Piece *p, UbSpaceReset domain, unsigned port)
{
    switch (domain) {
    case UB_SPACE_RESET_ENTITY:
        return p->slice->space == UB_SPACE_CFG1;
    case UB_SPACE_RESET_PORT:
        return p->port == (int)port;
    default:
        return true;
    }
}

void ub_space_reset(UbSpace *cfg, UbSpaceReset domain, unsigned port)
{
    for (unsigned i = 0; i < cfg->pieces; i++) {
        const Piece *p = &cfg->piece[i];

        if (!in_domain(p, domain, port)) {
            continue;
        }
        for (unsigned j = 0; j < p->slice->used; j++) {
            const UbSpaceDword *d = row(p, p->base + j);
            uint32_t keep = domain != UB_SPACE_RESET_DEVICE && d ? d->sticky : 0;
            uint32_t *v = &cfg->value[p->first + j];

            *v = (*v & keep) | (cfg->reset[p->first + j] & ~keep);
        }
    }
}

uint32_t ub_space_read(UbSpace *cfg, uint32_t dw)
{
    const Piece *p = find(cfg, dw);

    if (!p) {
        return 0;
    }
    if (cfg->ops.refresh) {
        cfg->ops.refresh(cfg->opaque, dw, p->port, p->slice->cap);
    }
    return *cell(cfg->value, p, dw);
}

bool ub_space_write(UbSpace *cfg, uint32_t dw, uint32_t value, uint8_t byte_en)
{
    const Piece *p = find(cfg, dw);
    const UbSpaceDword *d = p ? row(p, dw) : NULL;
    uint32_t lanes = 0, old, now, trigger;
    uint32_t *v;

    if (!d || !(d->rw | d->w1c | d->trigger)) {
        return false;
    }
    for (unsigned i = 0; i < 4; i++) {
        lanes |= byte_en & 1u << i ? 0xffu << 8 * i : 0;
    }
    v = cell(cfg->value, p, dw);
    old = *v;
    now = (old & ~(d->rw & lanes)) | (value & d->rw & lanes);
    now &= ~(value & d->w1c & lanes);
    trigger = value & d->trigger & lanes;
    *v = now;
    if (cfg->ops.written) {
        cfg->ops.written(cfg->opaque, dw, p->port, p->slice->cap, now,
                         old ^ now, trigger);
    }
    return true;
}

bool ub_space_set(UbSpace *cfg, uint32_t dw, uint32_t mask, uint32_t value)
{
    const Piece *p = find(cfg, dw);
    uint32_t *v;

    if (!p) {
        return false;
    }
    v = cell(cfg->value, p, dw);
    *v = (*v & ~mask) | (value & mask);
    return true;
}

bool ub_space_init(UbSpace *cfg, uint32_t dw, uint32_t mask, uint32_t value)
{
    const Piece *p = find(cfg, dw);
    uint32_t *r;

    if (!p) {
        return false;
    }
    r = cell(cfg->reset, p, dw);
    *r = (*r & ~mask) | (value & mask);
    return ub_space_set(cfg, dw, mask, value);
}

uint32_t ub_space_get(const UbSpace *cfg, uint32_t dw)
{
    const Piece *p = find(cfg, dw);

    return p ? *cell(cfg->value, p, dw) : 0;
}

bool ub_space_next(const UbSpace *cfg, unsigned *iter, uint32_t *base,
                 const UbSpaceSlice **slice)
{
    if (*iter >= cfg->pieces) {
        return false;
    }
    *base = cfg->piece[*iter].base;
    *slice = cfg->piece[*iter].slice;
    (*iter)++;
    return true;
}

uint32_t *ub_space_state(UbSpace *cfg)
{
    return cfg->value;
}

unsigned ub_space_state_words(const UbSpace *cfg)
{
    return cfg->words;
}

const UbSpaceDword *ub_space_dword(const UbSpace *cfg, uint32_t dw)
{
    const Piece *p = find(cfg, dw);

    return p ? row(p, dw) : NULL;
}
