/*
 * The UMMU: permission tables (UB 2.0 §9.4.4.2).
 *
 * Unprivileged software may write them, within the blocks that it has: nothing
 * outside of a block is read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define UBA_BITS 48
#define OFFSET_UNIT 32          /* of Next_Level_Offset */

static const uint8_t shift_of[] = { 39, 30, 21, 12 };

typedef struct Entry {
    uint32_t w[UBM_MAPTE / 4];
} Entry;

/* An entry of a permission table or of the block table: as the tables of stage 1,
 * which GPAS bounds too, it is behind stage 2. */
static bool table_read(UmmuLook *k, uint64_t at, void *raw, uint32_t len)
{
    if (k->c->has_s2 && !k->u->cfg.mapt_physical &&
        !ummu_stage2(k, k->c, at, UMMU_STEP_MAPT, false, &at)) {
        return false;
    }
    k->fetch = at;
    return ummu_fetch(k, at, raw, len) || ummu_refuse(k, UBM_WHY_MAPT_WALK);
}

static bool entry_read(UmmuLook *k, uint64_t at, Entry *e)
{
    uint8_t raw[UBM_MAPTE];

    if (!table_read(k, at, raw, sizeof(raw))) {
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(e->w); i++) {
        e->w[i] = k->c->big ? get_be32(raw + 4 * i) : get_le32(raw + 4 * i);
    }
    return e->w[0] & UBM_MAPTE_V || ummu_refuse(k, UBM_WHY_MAPTE_INVALID);
}

static uint64_t entry_base(const Entry *e, unsigned bits)
{
    return (e->w[2] | (uint64_t)e->w[3] << 32) & ((1ull << bits) - 1);
}

static uint64_t entry_limit(const Entry *e, unsigned bits)
{
    return (e->w[4] | (uint64_t)e->w[5] << 32) & ((1ull << bits) - 1);
}

/* Whether the entry of the region at k->pos, of so many bits, has the address;
 * then what it says. */
static bool entry_grants(const UmmuLook *k, const Entry *e, unsigned bits,
                         UmmuGrant *g)
{
    uint64_t mask = (1ull << bits) - 1, off = k->pos & mask;
    uint64_t base = entry_base(e, bits), limit = entry_limit(e, bits);

    if (off < base || off > limit) {
        return false;
    }
    *g = (UmmuGrant){
        .lo = (k->pos & ~mask) | base,
        .hi = (k->pos & ~mask) | limit,
        .token = { e->w[6], e->w[7] },
        .check = e->w[3] & UBM_MAPTE_TOKEN_CHK,
        .e_bit = e->w[0] & UBM_MAPTE_E_BIT,
    };
    g->rights = (e->w[0] & UBM_MAPTE_READ ? 1 << UB_UMMU_READ : 0) |
                (e->w[0] & UBM_MAPTE_WRITE ? 1 << UB_UMMU_WRITE : 0) |
                (e->w[0] & UBM_MAPTE_ATOMIC ? 1 << UB_UMMU_ATOMIC : 0);
    return true;
}

/* How public software says that an entry has no grant of its own. */
static bool entry_void(const UmmuLook *k, const Entry *e, unsigned bits)
{
    return k->u->cfg.lenient && !(e->w[0] & UBM_MAPTE_T) &&
           entry_base(e, bits) == 0xfff && entry_limit(e, bits) == 0xfff &&
           !(e->w[0] & (UBM_MAPTE_READ | UBM_MAPTE_WRITE | UBM_MAPTE_ATOMIC));
}

static bool single_find(UmmuLook *k, UmmuGrant *g)
{
    Entry e;

    return entry_read(k, k->c->base, &e) &&
           (entry_grants(k, &e, UBA_BITS, g) || ummu_refuse(k, UBM_WHY_RANGE));
}

/* Where a table is: in a block of so many bytes. */
typedef struct Place {
    uint64_t block, size, offset;
} Place;

static bool block_find(UmmuLook *k, uint32_t index, Place *p)
{
    uint64_t at = k->c->block_table + 8 * (uint64_t)index, q;
    uint8_t raw[8];

    if (index >= k->c->table_entries) {
        return ummu_refuse(k, UBM_WHY_MAPT_BLOCK);
    }
    if (!table_read(k, at, raw, sizeof(raw))) {
        return false;
    }
    q = k->c->big ? get_be64(raw) : get_le64(raw);
    if (!(q & UBM_BTE_V)) {
        return ummu_refuse(k, UBM_WHY_MAPT_BLOCK);
    }
    p->block = q & UBM_BTE_BA;
    p->size = (uint64_t)UMMU_PAGE << ummu_get(q, UBM_BTE_BS);
    return true;
}

static bool next_find(UmmuLook *k, const Entry *e, Place *p)
{
    uint64_t offset = (e->w[0] & UBM_MAPTE_NEXT_LO) >> 12 |
                      (uint64_t)(e->w[1] & UBM_MAPTE_NEXT_HI) << 20;

    p->offset = offset * OFFSET_UNIT;
    return !(e->w[0] & UBM_MAPTE_N) || block_find(k, e->w[1] >> 16, p);
}

static bool multi_find(UmmuLook *k, UmmuGrant *g)
{
    Place p = { k->c->base, k->c->block_size, 0 };
    Entry e;

    for (unsigned level = 0;; level++) {
        unsigned bits = shift_of[level];
        uint64_t at = p.offset + UBM_MAPTE * (k->pos >> bits & 511);

        if (at + UBM_MAPTE > p.size) {
            return ummu_refuse(k, UBM_WHY_MAPT_BLOCK);
        }
        if (!entry_read(k, p.block + at, &e)) {
            return false;
        }
        if (!entry_void(k, &e, bits) && entry_grants(k, &e, bits, g)) {
            return true;
        }
        if (level == k->c->last || e.w[0] & UBM_MAPTE_T) {
            return ummu_refuse(k, UBM_WHY_RANGE);
        }
        if (!next_find(k, &e, &p)) {
            return false;
        }
    }
}

bool ummu_mapt_find(UmmuLook *k, UmmuGrant *g)
{
    if (k->pos >> UBA_BITS) {
        return ummu_refuse(k, UBM_WHY_RANGE);
    }
    return k->c->multi ? multi_find(k, g) : single_find(k, g);
}
