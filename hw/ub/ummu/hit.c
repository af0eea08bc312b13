/*
 * The UMMU: accesses that were allowed, as they come again.
 *
 * A line is what the decisions said of a page, with all that they asked for: context,
 * translation and permission in one place.  It holds as long as none of those is
 * forgotten or gives way to another; what a line does not allow is decided anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Who asks: all that chooses tables. */
static inline uint64_t who_of(const UbUmmuAccess *a, uint16_t tag)
{
    return (a->token_id & 0xfffff) | (uint64_t)tag << 20 |
           (uint64_t)(a->local ? UMMU_EE_NORMAL : a->ee) << 36 |
           (uint64_t)a->local << 44;
}

static inline UmmuLine *line_of(UbUmmu *u, uint64_t who, uint64_t page)
{
    uint64_t h = (page ^ who << 20) * 0x9e3779b97f4a7c15ull;

    return &u->lines[h >> 48 & (UMMU_LINES - 1)];
}

void ummu_line_put(const UmmuLook *k, const UmmuPiece *p, uint64_t pos)
{
    const UbUmmuAccess *a = k->a;
    uint64_t page = pos >> UMMU_PAGE_BITS, begin = page << UMMU_PAGE_BITS;
    uint64_t end = begin | (UMMU_PAGE - 1);
    uint64_t who = who_of(a, k->tag);

    *line_of(k->u, who, page) = (UmmuLine){
        .epoch = k->u->epoch_line,
        .who = who,
        .page = page,
        .out = p->pa - (pos - begin),
        .token = { p->grant.token[0], p->grant.token[1] },
        .lo = MAX(p->grant.lo, begin) - begin,
        .hi = MIN(p->grant.hi, end) - begin,
        .kinds = p->kinds & p->grant.rights,
        .check = p->grant.check,
        .e_bit = p->grant.e_bit || (k->c->e_bit && !a->local),
        .tlb = p->tlb,
        .plb = p->plb,
        .mtm = k->c->mtm,
    };
}

/* The line that allows bytes at @off of a page, or NULL. */
static inline const UmmuLine *line_find(UbUmmu *u, const UbUmmuAccess *a,
                                        uint64_t who, uint64_t page,
                                        uint32_t off, uint32_t len)
{
    const UmmuLine *l = line_of(u, who, page);

    return l->epoch == u->epoch_line && l->page == page && l->who == who &&
           l->kinds >> a->kind & 1 && off >= l->lo && off + len - 1 <= l->hi &&
           (!l->check || ummu_token_is(l->token, a)) && (!l->e_bit || a->e_bit) ? l
                                                                      : NULL;
}

static inline void line_count(UbUmmu *u, const UmmuLine *l)
{
    u->counter[UB_UMMU_CNT_TLB_HITS] += l->tlb;
    u->counter[UB_UMMU_CNT_PLB_HITS] += l->plb;
}

/* More pages than one: nothing is counted before all of them are known. */
static bool pages_hit(UbUmmu *u, const UbUmmuAccess *a, uint64_t who,
                      UmmuSpans *s)
{
    const UmmuLine *found[UMMU_PIECES];
    uint64_t pos = a->addr;
    uint32_t left = a->len, len;
    unsigned n = 0;

    for (; left; pos += len, left -= len) {
        uint32_t off = pos % UMMU_PAGE;

        if (n == UMMU_PIECES) {
            return false;
        }
        len = MIN(left, UMMU_PAGE - off);
        found[n] = line_find(u, a, who, pos >> UMMU_PAGE_BITS, off, len);
        if (!found[n] || !ummu_span_add(s, found[n]->out + off, len)) {
            return false;
        }
        n++;
    }
    for (unsigned i = 0; i < n; i++) {
        line_count(u, found[i]);
    }
    ummu_count(u, a, found[0]->mtm);
    return true;
}

bool ummu_hit(UbUmmu *u, const UbUmmuAccess *a, UmmuSpans *s)
{
    uint64_t page = a->addr >> UMMU_PAGE_BITS, who;
    uint32_t off = a->addr % UMMU_PAGE;
    const UmmuLine *l;
    uint32_t tag;

    if (!ummu_map_known(u, a, &tag)) {
        return false;
    }
    who = who_of(a, tag);
    if (a->len > UMMU_PAGE - off) {
        return pages_hit(u, a, who, s);
    }
    l = line_find(u, a, who, page, off, a->len);
    if (!l || !ummu_span_add(s, l->out + off, a->len)) {
        return false;
    }
    line_count(u, l);
    ummu_count(u, a, l->mtm);
    return true;
}
