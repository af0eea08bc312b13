/*
 * What UB 2.0 chapter 9 says of one byte of an access, slowly and by itself: no
 * caches, each byte from the start, numbers as the tables of the document print
 * them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "model.h"

typedef unsigned __int128 Wide;

typedef struct World {
    const Bed *b;
    uint64_t e[8], c[8];        /* TECTE, TCTE */
    bool s1, s2, priv;
} World;

static unsigned bits(uint64_t q, unsigned hi, unsigned lo)
{
    return (q >> lo) & ((2ull << (hi - lo)) - 1);
}

static bool load(const World *w, uint64_t at, unsigned n, uint8_t *out)
{
    if ((Wide)at + n > BED_RAM) {
        return false;
    }
    memcpy(out, w->b->ram + at, n);
    return true;
}

static bool load64(const World *w, uint64_t at, bool big, uint64_t *v)
{
    uint8_t raw[8];

    if (!load(w, at, 8, raw)) {
        return false;
    }
    *v = 0;
    for (unsigned i = 0; i < 8; i++) {
        *v |= (uint64_t)raw[i] << 8 * (big ? 7 - i : i);
    }
    return true;
}

static bool load_many(const World *w, uint64_t at, uint64_t *q, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!load64(w, at + 8 * i, false, &q[i])) {
            return false;
        }
    }
    return true;
}

/* Page sizes of TGS and TG. */
static unsigned page_bits(unsigned tg)
{
    return tg == 0 ? 12 : tg == 1 ? 16 : tg == 2 ? 14 : 0;
}

static unsigned gpas(unsigned code)
{
    const unsigned width[] = { 32, 36, 40, 42, 44, 48 };

    return code < 6 ? width[code] : 0;
}

static unsigned stage2(const World *w, uint64_t ipa, bool rd, bool wr,
                       uint64_t *pa);

/* Stage 1 or 2: levels from the last one up are counted from 0 here. */
static unsigned stage(const World *w, bool second, uint64_t in, bool rd,
                      bool wr, uint64_t *out)
{
    uint64_t q = second ? w->e[2] : w->c[1];
    unsigned page = page_bits(second ? bits(q, 9, 8) : bits(q, 7, 6));
    unsigned width = 64 - bits(q, 5, 0), per = page - 3;
    unsigned out_width = second ? (bits(w->e[2], 14, 12) ? 48 : 32)
                                : gpas(bits(w->c[0], 5, 3));
    bool big = second ? bits(w->e[2], 15, 15) : bits(w->c[0], 2, 2);
    bool hdf = second ? bits(w->e[2], 16, 16) : bits(w->c[0], 10, 10);
    bool haf = second ? bits(w->e[2], 17, 17) : bits(w->c[0], 11, 11);
    bool affd = second ? bits(w->e[2], 18, 18) : bits(w->c[0], 9, 9);
    uint64_t table = (second ? w->e[3] : w->c[2]) & 0xffffffffffff0ull;
    int left;               /* levels below this one */
    bool none = false, ro = false;

    if (width < 64 && in >> width) {
        return 14;
    }
    if (second) {
        left = bits(q, 7, 6) + (page == 12 ? 1 : 0);
    } else {
        left = 0;
        while (page + per * (left + 1) < width) {
            left++;
        }
    }
    for (bool top = true;; top = false, left--) {
        unsigned shift = page + per * left;
        unsigned n = top ? width - shift : per;
        uint64_t at, desc, size;
        unsigned why;

        table -= table % (8ull << n);
        if (table >> out_width) {
            return 12;
        }
        at = table + 8 * ((in >> shift) % (1ull << n));
        if (!second && w->s2) {
            why = stage2(w, at, true, false, &at);
            if (why) {
                return why;
            }
        }
        if (!load64(w, at, big, &desc)) {
            return UBM_WHY_WALK;
        }
        if (!(desc & 1)) {
            return 14;
        }
        if (left && desc & 2) {
            none |= bits(desc, 61, 61);
            ro |= bits(desc, 62, 62);
            table = desc & 0xfffffffff000ull;
            table -= table % (1ull << page);
            continue;
        }
        if (left ? !(left == 1 || (left == 2 && page == 12)) : !(desc & 2)) {
            return 14;
        }
        if (!(desc & 1 << 10) && !haf && !affd) {
            return 13;
        }
        size = 1ull << shift;
        *out = (desc & 0xfffffffff000ull) / size * size + in % size;
        if (*out >> out_width) {
            return 12;
        }
        if (second) {
            if ((rd && !(desc & 1 << 6)) ||
                (wr && !(desc & 1 << 7) && !(hdf && desc >> 51 & 1))) {
                return 15;
            }
        } else if ((!w->priv && (none || !(desc & 1 << 6))) ||
                   (wr && (ro || (desc & 1 << 7 &&
                                  !(hdf && desc >> 51 & 1))))) {
            return 15;
        }
        return 0;
    }
}

static unsigned stage2(const World *w, uint64_t ipa, bool rd, bool wr,
                       uint64_t *pa)
{
    return stage(w, true, ipa, rd, wr, pa);
}

/* Whether a stage's geometry exists. */
static bool geometry(const World *w, bool second)
{
    uint64_t q = second ? w->e[2] : w->c[1];
    unsigned size = bits(q, 5, 0), page;
    int n;

    page = page_bits(second ? bits(q, 9, 8) : bits(q, 7, 6));
    if (!page || size < 16 || size > 39) {
        return false;
    }
    if (!second) {
        return true;
    }
    if (bits(q, 7, 6) == 3) {
        return false;
    }
    n = 64 - (int)size -
        (int)(page + (page - 3) * (bits(q, 7, 6) + (page == 12 ? 1 : 0)));
    return n >= 1 && n <= (int)page - 3 + 4;
}

static unsigned tecte(World *w, const UbUmmuAccess *a)
{
    unsigned mode, fmt;

    if (!load_many(w, w->b->d.tect, w->e, 8)) {
        return UBM_WHY_TECT_FETCH;
    }
    mode = bits(w->e[0], 3, 1);
    fmt = bits(w->e[1], 53, 52);
    if (!bits(w->e[0], 0, 0)) {
        return 1;
    }
    if (mode < 5) {
        return 2;
    }
    w->s1 = mode == 5 || mode == 7;
    w->s2 = mode == 6 || mode == 7;
    w->priv = bits(w->e[0], 16, 15) == 3;
    if (w->s2 && ((bits(w->e[2], 14, 12) != 0 && bits(w->e[2], 14, 12) != 5) ||
                  bits(w->e[2], 17, 16) == 1 || !geometry(w, true))) {
        return UBM_WHY_TECTE_FIELD;
    }
    if (w->s1 && (fmt > 1 || (w->e[1] & 0xfffffffffffc0ull) >>
                  (w->s2 ? 64 - bits(w->e[2], 5, 0) : 48))) {
        return UBM_WHY_TECTE_FIELD;
    }
    return 0;
}

static unsigned tcte(World *w, const UbUmmuAccess *a)
{
    uint64_t at = w->e[1] & 0xfffffffffffc0ull, l1, pa;
    unsigned num = bits(w->e[1], 4, 0), why;
    uint32_t id = a->token_id;

    if (num == 0) {
        return 4;
    }
    if (id >= 1ull << num) {
        return 5;
    }
    if (bits(w->e[1], 53, 52) == 1) {
        pa = at + 8 * (id / 64);
        if (w->s2 && (why = stage2(w, pa, true, false, &pa))) {
            return why;
        }
        if (!load64(w, pa, false, &l1)) {
            return UBM_WHY_TCT_FETCH;
        }
        if (!(l1 & 1)) {
            return 6;
        }
        at = l1 & 0xffffffffff000ull;
        if (at >> (w->s2 ? 64 - bits(w->e[2], 5, 0) : 48)) {
            return UBM_WHY_TCTE_FIELD;
        }
        id %= 64;
    }
    at += 64 * (uint64_t)id;
    if (w->s2 && (why = stage2(w, at, true, false, &at))) {
        return why;
    }
    if (!load_many(w, at, w->c, 8)) {
        return UBM_WHY_TCT_FETCH;
    }
    if (!(w->c[0] & 1)) {
        return 7;
    }
    if (bits(w->c[0], 12, 12) && !bits(w->e[1], 56, 56)) {
        return 8;
    }
    if (!gpas(bits(w->c[0], 5, 3)) || bits(w->c[0], 20, 20) ||
        bits(w->c[0], 11, 10) == 1 ||
        (!bits(w->c[1], 8, 8) && !geometry(w, false))) {
        return UBM_WHY_TCTE_FIELD;
    }
    return 0;
}

static bool mapt_on(const World *w)
{
    return bits(w->e[0], 19, 19) && bits(w->c[0], 19, 19);
}

static unsigned mapt_config(const World *w)
{
    unsigned width = gpas(bits(w->c[0], 5, 3));
    bool multi = bits(w->c[0], 16, 16);

    if ((w->c[3] & 0xffffffffffe0ull) >> width ||
        (multi && (w->c[4] & 0xffffffffffe0ull) >> width)) {
        return 9;
    }
    if (multi && (bits(w->c[3], 63, 60) > 9 || bits(w->c[0], 18, 17) % 3 == 0)) {
        return UBM_WHY_MAPT_FIELD;
    }
    return 0;
}

/* Permission tables are where stage 1's tables are. */
static unsigned mapte(const World *w, uint64_t at, uint32_t *e)
{
    uint8_t raw[32];
    unsigned why = w->s2 ? stage2(w, at, true, false, &at) : 0;

    if (why) {
        return why;
    }
    if (!load(w, at, 32, raw)) {
        return UBM_WHY_MAPT_WALK;
    }
    for (unsigned i = 0; i < 8; i++) {
        e[i] = bits(w->c[0], 2, 2) ? get_be32(raw + 4 * i)
                                   : get_le32(raw + 4 * i);
    }
    return e[0] & 1 ? 0 : 16;
}

static bool in_range(const uint32_t *e, uint64_t off, unsigned width)
{
    Wide one = 1;
    uint64_t base = ((uint64_t)e[3] << 32 | e[2]) % (uint64_t)(one << width);
    uint64_t limit = ((uint64_t)e[5] << 32 | e[4]) % (uint64_t)(one << width);

    return base <= off && off <= limit;
}

/* The reference walk of the document. */
static unsigned mapt_find(const World *w, uint64_t uba, uint32_t *e)
{
    const unsigned sh[] = { 39, 30, 21, 12 };
    unsigned last = bits(w->c[0], 18, 17) == 1 ? 3 : 2;
    uint64_t block = w->c[3] & 0xffffffffffe0ull, to = 0;
    uint64_t size = 4096ull << bits(w->c[3], 63, 60);
    unsigned why;

    if (uba >> 48) {
        return 17;
    }
    if (!bits(w->c[0], 16, 16)) {
        why = mapte(w, block, e);
        return why ? why : in_range(e, uba, 48) ? 0 : 17;
    }
    for (unsigned lvl = 0;; lvl++) {
        uint64_t i = (uba >> sh[lvl]) & 511;
        uint64_t bte;

        if (to + 32 * i + 32 > size) {
            return UBM_WHY_MAPT_BLOCK;
        }
        why = mapte(w, block + to + 32 * i, e);
        if (why) {
            return why;
        }
        if (in_range(e, uba % (1ull << sh[lvl]), sh[lvl])) {
            return 0;
        }
        if (lvl == last || e[0] & 2) {
            return 17;
        }
        if (e[0] & 4) {
            uint64_t x = e[1] >> 16, at;

            if (8 * x + 8 > 4096ull << bits(w->c[4], 62, 60)) {
                return UBM_WHY_MAPT_BLOCK;
            }
            at = (w->c[4] & 0xffffffffffe0ull) + 8 * x;
            if (w->s2 && (why = stage2(w, at, true, false, &at))) {
                return why;
            }
            if (!load64(w, at, bits(w->c[0], 2, 2), &bte)) {
                return UBM_WHY_MAPT_WALK;
            }
            if (!(bte & 1)) {
                return UBM_WHY_MAPT_BLOCK;
            }
            block = bte & 0xffffffffffe0ull;
            size = 4096ull << bits(bte, 63, 60);
        }
        to = 32 * ((uint64_t)(e[1] & 0x3ff) << 20 | e[0] >> 12);
    }
}

static unsigned permission(const World *w, const UbUmmuAccess *a, uint64_t uba)
{
    uint32_t e[8];
    unsigned why = mapt_find(w, uba, e);

    if (why) {
        return why;
    }
    if (e[3] >> 31 && !(a->token_en && (a->token == e[6] || a->token == e[7]))) {
        return 18;
    }
    if (e[0] & 8 && !a->e_bit) {
        return 19;
    }
    /* Write, read, atomic. */
    return e[0] & (a->kind == UB_UMMU_WRITE ? 0x10 :
                   a->kind == UB_UMMU_READ ? 0x20 : 0x40) ? 0 : 20;
}

unsigned model_ask(const Bed *b, const UbUmmuAccess *a, uint64_t *pa)
{
    bool rd = a->kind != UB_UMMU_WRITE, wr = a->kind != UB_UMMU_READ;
    World w = { .b = b };
    unsigned why = tecte(&w, a);

    if (!why && w.s1) {
        why = tcte(&w, a);
        if (!why && !a->local) {
            why = mapt_on(&w) ? mapt_config(&w) : 0;
            if (!why && bits(w.c[0], 21, 21) && !a->e_bit) {
                why = 10;
            }
        }
    }
    for (uint32_t i = 0; i < a->len && !why; i++) {
        uint64_t at = a->addr + i;

        if (w.s1 && bits(w.c[1], 8, 8)) {
            return 11;
        }
        why = w.s1 ? stage(&w, false, at, rd, wr, &at) : 0;
        if (!why && w.s2) {
            why = stage2(&w, at, rd, wr, &at);
        }
        if (!why && w.s1 && mapt_on(&w) && !a->local) {
            why = permission(&w, a, a->addr + i);
        }
        pa[i] = at;
    }
    return why;
}
