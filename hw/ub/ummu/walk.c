/*
 * The UMMU: translation tables (UB 2.0 §9.4.3), with the 64-bit descriptors of
 * VMSAv8-64.
 *
 * A walk reads at most four descriptors, in nested translation four for each of
 * them and for the result.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define LAST_LEVEL 3
/* Times that a descriptor is read again as it changes under the device's hands. */
#define RACES 8

static unsigned granule_of(unsigned tg)
{
    static const uint8_t log2[] = { 12, 16, 14, 0 };

    return log2[tg & 3];
}

static unsigned level_shift(const UmmuStage *s, unsigned level)
{
    return s->granule + (s->granule - 3) * (LAST_LEVEL - level);
}

static bool bits_set(UmmuStage *s, unsigned tsz, unsigned tg)
{
    s->granule = granule_of(tg);
    s->in_bits = 64 - tsz;
    return s->granule && tsz >= 16 && tsz <= 39;
}

bool ummu_stage1_set(UmmuStage *s, unsigned tsz, unsigned tg)
{
    unsigned stride;

    if (!bits_set(s, tsz, tg)) {
        return false;
    }
    stride = s->granule - 3;
    s->level = LAST_LEVEL + 1 -
               (s->in_bits - s->granule + stride - 1) / stride;
    return true;
}

bool ummu_stage2_set(UmmuStage *s, unsigned tsz, unsigned tg, unsigned sl)
{
    int bits;

    if (!bits_set(s, tsz, tg) || sl == 3) {
        return false;
    }
    s->level = (s->granule == 12 ? 2 : 3) - sl;
    s->s2 = true;
    /* Up to 16 tables beside each other at the first level. */
    bits = s->in_bits - (int)level_shift(s, s->level);
    return bits >= 1 && bits <= s->granule - 3 + 4;
}

/* ---- Descriptors -------------------------------------------------------------------- */

static bool desc_read(const UmmuLook *k, uint64_t at, bool big, uint64_t *desc)
{
    uint8_t raw[8];

    if (!ummu_fetch(k, at, raw, sizeof(raw))) {
        return false;
    }
    *desc = big ? get_be64(raw) : get_le64(raw);
    return true;
}

static void desc_put(uint8_t raw[8], bool big, uint64_t desc)
{
    if (big) {
        put_be64(raw, desc);
    } else {
        put_le64(raw, desc);
    }
}

typedef struct Leaf {
    uint64_t out;
    bool read, write;
    bool clean;                 /* a write would make it writable */
} Leaf;

typedef struct Walk {
    const UmmuContext *c;
    const UmmuStage *s;
    unsigned step;
    bool need_read, need_write;
    bool no_user, readonly;     /* what tables above said */
} Walk;

static bool stage_walk(UmmuLook *k, Walk *w, uint64_t in, Leaf *leaf);

bool ummu_stage2(UmmuLook *k, const UmmuContext *c, uint64_t ipa, unsigned step,
                 bool write, uint64_t *pa)
{
    Walk w = { c, &c->s2, step, true, write, false, false };
    Leaf leaf;

    if (!stage_walk(k, &w, ipa, &leaf)) {
        return false;
    }
    *pa = leaf.out;
    return true;
}

static bool walk_refuse(UmmuLook *k, const Walk *w, unsigned why, uint64_t in)
{
    k->s2 = w->s->s2;
    k->step = w->s->s2 ? w->step : UMMU_STEP_ADDRESS;
    k->ipa = w->s->s2 ? in : 0;
    return ummu_refuse(k, why);
}

/* Where the descriptor at @at of this stage is in memory. */
static bool desc_place(UmmuLook *k, const Walk *w, uint64_t at, bool write,
                       uint64_t *pa)
{
    if (w->s->s2 || !w->c->has_s2) {
        *pa = at;
        return true;
    }
    return ummu_stage2(k, w->c, at, UMMU_STEP_TABLE, write, pa);
}

static void leaf_rights(const Walk *w, uint64_t desc, Leaf *leaf)
{
    const UmmuStage *s = w->s;
    bool user, dirty;

    if (s->s2) {
        leaf->read = desc & UBM_PTE_S2_READ;
        leaf->write = desc & UBM_PTE_S2_WRITE;
        dirty = true;
    } else {
        user = w->c->privileged || (desc & UBM_PTE_USER && !w->no_user);
        leaf->read = user;
        leaf->write = user && !(desc & UBM_PTE_READONLY) && !w->readonly;
        dirty = user && !w->readonly;
    }
    leaf->clean = dirty && !leaf->write && s->hdf && desc & UBM_PTE_DBM;
}

/* The descriptor with the flags that this access sets. */
static uint64_t leaf_touch(const Walk *w, uint64_t desc, Leaf *leaf)
{
    if (w->s->haf) {
        desc |= UBM_PTE_AF;
    }
    if (w->need_write && leaf->clean) {
        desc = w->s->s2 ? desc | UBM_PTE_S2_WRITE : desc & ~UBM_PTE_READONLY;
        leaf->write = true;
        leaf->clean = false;
    }
    return desc;
}

/* Write a descriptor back if it is still what it was, in one step: what software takes
 * away meanwhile must not come back.  True and *@again: it is not. */
static bool desc_change(UmmuLook *k, const Walk *w, uint64_t at, uint64_t old,
                        uint64_t desc, bool *again)
{
    uint8_t was[8], now[8];
    uint64_t pa;
    bool same;

    *again = false;
    if (k->quiet) {
        return true;
    }
    if (!desc_place(k, w, at, true, &pa)) {
        return false;
    }
    desc_put(was, w->s->big, old);
    desc_put(now, w->s->big, desc);
    if (!ummu_exchange(k->u, pa, was, now, sizeof(now), &same)) {
        return walk_refuse(k, w, UBM_WHY_WALK, at);
    }
    *again = !same;
    return true;
}

/* A block or page. */
static bool leaf_take(UmmuLook *k, const Walk *w, uint64_t in, uint64_t at,
                      unsigned level, uint64_t desc, Leaf *leaf, bool *again)
{
    const UmmuStage *s = w->s;
    uint64_t low = ~0ull >> (64 - level_shift(s, level)), touched;

    *again = false;
    if (!(desc & UBM_PTE_AF) && !s->haf && !s->affd) {
        return walk_refuse(k, w, UBM_WHY_ACCESS_FLAG, in);
    }
    leaf->out = (desc & UBM_PTE_ADDR & ~low) | (in & low);
    if (leaf->out >> s->out_bits) {
        return walk_refuse(k, w, UBM_WHY_SIZE, in);
    }
    leaf_rights(w, desc, leaf);
    touched = leaf_touch(w, desc, leaf);
    if ((w->need_read && !leaf->read) || (w->need_write && !leaf->write)) {
        return walk_refuse(k, w, UBM_WHY_PERMISSION, in);
    }
    return touched == desc || desc_change(k, w, at, desc, touched, again);
}

/* Whether a descriptor that is no table may stand here. */
static bool block_level(const UmmuStage *s, unsigned level)
{
    return level == 2 || (level == 1 && s->granule == 12);
}

static bool stage_walk(UmmuLook *k, Walk *w, uint64_t in, Leaf *leaf)
{
    const UmmuStage *s = w->s;
    unsigned level = s->level, bits = s->in_bits - level_shift(s, level);
    unsigned races = 0;
    uint64_t base = s->root, desc, at, pa;

    if (in >> s->in_bits) {
        return walk_refuse(k, w, UBM_WHY_TRANSLATION, in);
    }
    for (;;) {
        unsigned shift = level_shift(s, level);
        uint64_t index = in >> shift & ((1ull << bits) - 1);
        bool table = false, again;

        base &= ~((8ull << bits) - 1);
        at = base + 8 * index;
        k->fetch = at;
        if (base >> s->out_bits) {
            return walk_refuse(k, w, UBM_WHY_SIZE, in);
        }
        if (!desc_place(k, w, at, false, &pa)) {
            return false;
        }
        k->fetch = pa;
        if (!desc_read(k, pa, s->big, &desc)) {
            return walk_refuse(k, w, UBM_WHY_WALK, in);
        }
        table = desc & UBM_PTE_TABLE;
        if (!(desc & UBM_PTE_VALID) ||
            (!table && !block_level(s, level))) {
            return walk_refuse(k, w, UBM_WHY_TRANSLATION, in);
        }
        if (level == LAST_LEVEL || !table) {
            if (!leaf_take(k, w, in, at, level, desc, leaf, &again)) {
                return false;
            }
            if (!again) {
                return true;
            }
            if (races++ == RACES) {
                return walk_refuse(k, w, UBM_WHY_WALK, in);
            }
            continue;
        }
        w->no_user |= !!(desc & UBM_PTE_TABLE_NOUSER);
        w->readonly |= !!(desc & UBM_PTE_TABLE_READONLY);
        base = desc & UBM_PTE_ADDR & ~((1ull << s->granule) - 1);
        bits = s->granule - 3;
        level++;
    }
}

static uint8_t leaf_may(const Leaf *leaf)
{
    return (leaf->read ? UMMU_MAY_READ : 0) | (leaf->write ? UMMU_MAY_WRITE : 0);
}

bool ummu_walk(UmmuLook *k, const UmmuContext *c, UmmuTlb *out)
{
    bool reads = k->a->kind != UB_UMMU_WRITE;
    bool writes = k->a->kind != UB_UMMU_READ;
    Walk first = { c, &c->s1, UMMU_STEP_ADDRESS, reads, writes, false, false };
    Walk second = { c, &c->s2, UMMU_STEP_ADDRESS, reads, writes, false, false };
    uint64_t page = k->pos & ~(uint64_t)(UMMU_PAGE - 1);
    Leaf one = { page, true, true, false }, two;

    if (c->has_s1 && !stage_walk(k, &first, page, &one)) {
        return false;
    }
    two = (Leaf){ one.out, true, true, false };
    if (c->has_s2 && !stage_walk(k, &second, one.out, &two)) {
        return false;
    }
    *out = (UmmuTlb){
        .epoch = k->u->epoch_tlb,
        .page = k->pos >> UMMU_PAGE_BITS,
        .out = two.out,
        .ipa = one.out,
        .token_id = c->token_id,
        .tag = c->tag,
        .vmid = c->vmid,
        .tee = c->tee,
        .one = leaf_may(&one),
        .two = leaf_may(&two),
        .clean = !(one.write && two.write) && (one.write || one.clean) &&
                 (two.write || two.clean),
    };
    return true;
}
