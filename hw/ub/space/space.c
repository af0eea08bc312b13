/*
 * The configuration space of a UB controller (UB 2.0 §10.4.1, appendix D).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "ub/space.h"

struct UbSlice {
    UbSpace *space;
    const UbSpaceSlice *table;
    uint32_t base;
    int port;       /* -1: of the device */
    bool managed;   /* only the UBFM may write it */
    unsigned first; /* index of its dword 0 in `value` */
    const UbSliceOps *ops;
    void *opaque;
};

struct UbSpace {
    unsigned ports; /* 0: of another Entity than 0 */
    unsigned slices, words;
    UbSlice **slice; /* ascending by base */
    uint32_t *value;
    uint32_t *reset; /* what a reset returns to */
    uint32_t *fixed; /* not the guest's, whatever the table says */
    uint32_t *hidden; /* for the UBFM alone to read */
};

/* Dword of the capability bitmap in each BASIC slice, and its bits' number. */
static const uint16_t bitmap_dw[] = {
    [UB_SPACE_CFG0] = UB_CFG0_CAP_BITMAP,
    [UB_SPACE_CFG1] = UB_CFG1_CAP_BITMAP,
    [UB_SPACE_PORT] = UB_PORT_CAP_BITMAP,
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

/* ---- Places ---- */

/* Dwords that belong to a slice, used or not. */
static uint32_t slice_span(const UbSlice *s)
{
    return MAX(s->table->used, UB_CFG_SLICE);
}

/* The slice that has the dword at @dw, or NULL. */
static UbSlice *slice_at(const UbSpace *space, uint32_t dw)
{
    unsigned lo = 0, hi = space->slices;

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        UbSlice *s = space->slice[mid];

        if (dw < s->base) {
            hi = mid;
        } else if (dw - s->base >= slice_span(s)) {
            lo = mid + 1;
        } else {
            return dw - s->base < s->table->used ? s : NULL;
        }
    }
    return NULL;
}

/* The table's row for dword @dw of a slice, or NULL. */
static const UbSpaceDword *slice_row(const UbSlice *s, unsigned dw)
{
    unsigned lo = 0, hi = s->table->count;

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        const UbSpaceDword *d = &s->table->dwords[mid];

        if (dw < d->dw) {
            hi = mid;
        } else if (dw > d->dw) {
            lo = mid + 1;
        } else {
            return d;
        }
    }
    return NULL;
}

static const UbSpaceSlice *table_of(UbSpaceId id, unsigned cap)
{
    for (unsigned i = 0; i < ub_space_slice_count; i++) {
        const UbSpaceSlice *t = &ub_space_slices[i];

        if (t->space == id && t->cap == cap) {
            return t;
        }
    }
    return NULL;
}

/* ---- Life ---- */

UbSpace *ub_space_new(unsigned ports)
{
    UbSpace *space;

    if (ports < 1 || ports > UB_SPACE_MAX_PORTS) {
        return NULL;
    }
    space = g_new0(UbSpace, 1);
    space->ports = ports;
    return space;
}

UbSpace *ub_space_new_entity(void)
{
    return g_new0(UbSpace, 1);
}

void ub_space_free(UbSpace *space)
{
    if (space) {
        for (unsigned i = 0; i < space->slices; i++) {
            g_free(space->slice[i]);
        }
        g_free(space->slice);
        g_free(space->value);
        g_free(space->reset);
        g_free(space->fixed);
        g_free(space->hidden);
        g_free(space);
    }
}

static void slice_insert(UbSpace *space, UbSlice *s)
{
    unsigned at = space->slices++;

    space->slice = g_renew(UbSlice *, space->slice, space->slices);
    for (; at > 0 && space->slice[at - 1]->base > s->base; at--) {
        space->slice[at] = space->slice[at - 1];
    }
    space->slice[at] = s;
}

/* A slice at its reset values, in its place. */
static UbSlice *slice_new(UbSpace *space, uint32_t base, int port,
                          const UbSpaceSlice *t, const UbSliceOps *ops,
                          void *opaque)
{
    UbSlice *s = g_new0(UbSlice, 1);

    *s = (UbSlice) {
        .space = space, .table = t, .base = base, .port = port,
        .first = space->words, .ops = ops, .opaque = opaque,
    };
    space->words += t->used;
    space->value = g_renew(uint32_t, space->value, space->words);
    space->reset = g_renew(uint32_t, space->reset, space->words);
    space->fixed = g_renew(uint32_t, space->fixed, space->words);
    space->hidden = g_renew(uint32_t, space->hidden, space->words);
    memset(space->reset + s->first, 0, t->used * sizeof(uint32_t));
    memset(space->fixed + s->first, 0, t->used * sizeof(uint32_t));
    memset(space->hidden + s->first, 0, t->used * sizeof(uint32_t));
    for (unsigned i = 0; i < t->count; i++) {
        const UbSpaceDword *d = &t->dwords[i];
        uint32_t missing = space->ports ? 0 : d->first;

        space->reset[s->first + d->dw] = d->reset & ~missing;
        space->fixed[s->first + d->dw] =
            missing | (space->ports ? 0 : d->first_rw);
    }
    memcpy(space->value + s->first, space->reset + s->first,
           t->used * sizeof(uint32_t));
    slice_insert(space, s);
    return s;
}

static void capability_show(UbSlice *basic, unsigned id, unsigned cap)
{
    ub_slice_init(basic, bitmap_dw[id] + cap / 32, 1u << cap % 32, ~0u);
}

UbSlice *ub_space_attach(UbSpace *space, UbSpaceId id, unsigned port,
                         unsigned cap, const UbSliceOps *ops, void *opaque)
{
    const UbSpaceSlice *t = table_of(id, cap);
    uint32_t base = space_base(id, port);
    UbSlice *s, *basic = slice_at(space, base);

    if (!t || port >= (id == UB_SPACE_PORT ? space->ports : 1) ||
        (cap ? !basic || slice_at(space, UB_CFG_CAP(base, cap)) : !!basic)) {
        return NULL;
    }
    s = slice_new(space, UB_CFG_CAP(base, cap),
                  id == UB_SPACE_PORT ? (int)port : -1, t, ops, opaque);
    if (cap) {
        capability_show(basic, id, cap);
    }
    return s;
}

UbSlice *ub_space_attach_at(UbSpace *space, uint32_t base,
                            const UbSpaceSlice *table, const UbSliceOps *ops,
                            void *opaque)
{
    uint32_t last = base + MAX(table->used, UB_CFG_SLICE) - 1;
    UbSlice *made, *basic = slice_at(space, space_base(table->space, 0));

    for (unsigned i = 0; i < space->slices; i++) {
        const UbSlice *s = space->slice[i];

        if (s->base <= last && base <= s->base + slice_span(s) - 1) {
            return NULL;
        }
    }
    made = slice_new(space, base, -1, table, ops, opaque);
    if (table->cap && basic) {
        capability_show(basic, table->space, table->cap);
    }
    return made;
}

static bool in_domain(const UbSlice *s, UbSpaceReset domain, unsigned port)
{
    switch (domain) {
    case UB_SPACE_RESET_ENTITY:
        return s->table->space == UB_SPACE_CFG1;
    case UB_SPACE_RESET_PORT:
        return s->port == (int)port;
    default:
        return true;
    }
}

void ub_space_reset(UbSpace *space, UbSpaceReset domain, unsigned port)
{
    for (unsigned i = 0; i < space->slices; i++) {
        const UbSlice *s = space->slice[i];

        if (!in_domain(s, domain, port)) {
            continue;
        }
        for (unsigned dw = 0; dw < s->table->used; dw++) {
            const UbSpaceDword *d = slice_row(s, dw);
            uint32_t keep = domain != UB_SPACE_RESET_DEVICE && d ? d->sticky : 0;
            uint32_t *v = &space->value[s->first + dw];

            *v = (*v & keep) | (space->reset[s->first + dw] & ~keep);
        }
    }
}

/* ---- The guest's side ---- */

static void slice_refresh(UbSlice *s, unsigned dw)
{
    if (s->ops && s->ops->refresh) {
        s->ops->refresh(s->opaque, s, dw);
    }
}

uint32_t ub_space_read(UbSpace *space, uint32_t dw)
{
    UbSlice *s = slice_at(space, dw);

    if (!s) {
        return 0;
    }
    slice_refresh(s, dw - s->base);
    return ub_slice_get(s, dw - s->base);
}

bool ub_space_write(UbSpace *space, int64_t now, uint32_t dw, uint32_t value,
                    uint8_t byte_en)
{
    UbSlice *s = slice_at(space, dw);
    const UbSpaceDword *d = s ? slice_row(s, dw - s->base) : NULL;
    UbSliceWrite w = { .now = now, .byte_en = byte_en & 0xf };
    uint32_t lanes, old, *v;

    if (!d) {
        return false;
    }
    lanes = ~space->fixed[s->first + d->dw];
    if (!((d->rw | d->w1c | d->trigger) & lanes)) {
        return false;
    }
    for (unsigned i = 0; i < 4; i++) {
        lanes &= byte_en & 1u << i ? ~0u : ~(0xffu << 8 * i);
    }
    if (d->w1c) {
        /* Bits are cleared of the live value. */
        slice_refresh(s, d->dw);
    }
    v = &space->value[s->first + d->dw];
    old = *v;
    w.dw = d->dw;
    w.value = (old & ~(d->rw & lanes)) | (value & d->rw & lanes);
    w.value &= ~(value & d->w1c & lanes);
    w.changed = old ^ w.value;
    w.trigger = value & d->trigger & lanes;
    *v = w.value;
    if (s->ops && s->ops->written) {
        s->ops->written(s->opaque, s, &w);
    }
    return true;
}

bool ub_space_managed(const UbSpace *space, uint32_t dw)
{
    const UbSlice *s = slice_at(space, dw);

    return s && s->managed;
}

uint32_t ub_space_hidden(const UbSpace *space, uint32_t dw)
{
    const UbSlice *s = slice_at(space, dw);

    return s ? space->hidden[s->first + dw - s->base] : 0;
}

uint32_t *ub_space_state(UbSpace *space)
{
    for (unsigned i = 0; i < space->slices; i++) {
        for (unsigned dw = 0; dw < space->slice[i]->table->used; dw++) {
            slice_refresh(space->slice[i], dw);
        }
    }
    return space->value;
}

unsigned ub_space_state_words(const UbSpace *space)
{
    return space->words;
}

const UbSpaceDword *ub_space_dword(const UbSpace *space, uint32_t dw)
{
    const UbSlice *s = slice_at(space, dw);

    return s ? slice_row(s, dw - s->base) : NULL;
}

/* ---- The owners' side ---- */

uint32_t ub_slice_get(const UbSlice *s, unsigned dw)
{
    return dw < s->table->used ? s->space->value[s->first + dw] : 0;
}

static void put_bits(uint32_t *v, uint32_t mask, uint32_t value)
{
    *v = (*v & ~mask) | (value & mask);
}

void ub_slice_set(UbSlice *s, unsigned dw, uint32_t mask, uint32_t value)
{
    if (dw < s->table->used) {
        put_bits(&s->space->value[s->first + dw], mask, value);
    }
}

void ub_slice_init(UbSlice *s, unsigned dw, uint32_t mask, uint32_t value)
{
    if (dw < s->table->used) {
        put_bits(&s->space->reset[s->first + dw], mask, value);
        put_bits(&s->space->value[s->first + dw], mask, value);
    }
}

void ub_slice_fix(UbSlice *s, unsigned dw, uint32_t mask, uint32_t value)
{
    ub_slice_init(s, dw, mask, value);
    if (dw < s->table->used) {
        s->space->fixed[s->first + dw] |= mask;
    }
}

void ub_slice_manage(UbSlice *s)
{
    s->managed = true;
}

void ub_slice_hide(UbSlice *s, unsigned dw, uint32_t mask)
{
    if (dw < s->table->used) {
        s->space->hidden[s->first + dw] |= mask;
    }
}

/* ---- Fields and members ---- */

static uint32_t member_get(const uint8_t *p, unsigned size)
{
    uint16_t half;
    uint32_t word;
    uint64_t twice;

    switch (size) {
    case 1:
        return *p;
    case 2:
        memcpy(&half, p, 2);
        return half;
    case 4:
        memcpy(&word, p, 4);
        return word;
    default:
        memcpy(&twice, p, 8);
        return twice;
    }
}

/* False: the value was too large. */
static bool member_put(uint8_t *p, unsigned size, uint32_t value)
{
    uint32_t most = size < 4 ? (1u << 8 * size) - 1 : ~0u;
    uint32_t word = MIN(value, most);
    uint16_t half = word;
    uint64_t twice = word;

    switch (size) {
    case 1:
        *p = word;
        break;
    case 2:
        memcpy(p, &half, 2);
        break;
    case 4:
        memcpy(p, &word, 4);
        break;
    default:
        memcpy(p, &twice, 8);
    }
    return value <= most;
}

/* Dword and mask of element @i. */
static uint32_t element(const UbField *f, unsigned i, unsigned *dw)
{
    unsigned bit = f->lsb + i * f->step;
    uint32_t ones = f->bits == 32 ? ~0u : (1u << f->bits) - 1;

    *dw = f->dw + bit / 32;
    return ones << bit % 32;
}

static void put_fields(UbSlice *s, const UbField *f, unsigned n,
                       const void *from,
                       void (*put)(UbSlice *, unsigned, uint32_t, uint32_t))
{
    for (; n; n--, f++) {
        for (unsigned i = 0; i < f->n; i++) {
            const uint8_t *p = (const uint8_t *)from + f->at + i * f->size;
            unsigned dw;
            uint32_t mask = element(f, i, &dw);

            put(s, dw, mask, UB_SPACE_PUT(mask, member_get(p, f->size)));
        }
    }
}

void ub_slice_init_fields(UbSlice *s, const UbField *fields, unsigned n,
                          const void *from)
{
    put_fields(s, fields, n, from, ub_slice_init);
}

void ub_slice_set_fields(UbSlice *s, const UbField *fields, unsigned n,
                         const void *from)
{
    put_fields(s, fields, n, from, ub_slice_set);
}

bool ub_slice_get_fields(const UbSlice *s, const UbField *f, unsigned n,
                         void *to)
{
    bool fits = true;

    for (; n; n--, f++) {
        for (unsigned i = 0; i < f->n; i++) {
            unsigned dw;
            uint32_t mask = element(f, i, &dw);

            fits &= member_put((uint8_t *)to + f->at + i * f->size, f->size,
                               UB_SPACE_GET(mask, ub_slice_get(s, dw)));
        }
    }
    return fits;
}
