/*
 * Load and store: the decoder (UB 2.0 §9.5), from an address of the host to a
 * destination and an address there, by tables in memory; and what it remembers of
 * them until it is told to forget.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define MIB_MASK ((1u << UB_LDS_PAGE_BITS) - 1)
#define MIBS_OF_RANGE 0x7fffu   /* PA[34:20] */
#define MIBS_OF_TABLE 0xfffu    /* PA[31:20] */

/* Which word of an entry has what. */
typedef struct Layout {
    uint8_t uba, way, deid, token, upi;
} Layout;

static const Layout page_layout = { 0, 1, 2, 4, 5 };
static const Layout range_layout = { 2, 3, 4, 6, 7 };

static uint64_t word(const uint8_t *e, unsigned n)
{
    return get_le64(e + 8 * n);
}

uint64_t lds_pa(const UbLds *l, uint64_t offset)
{
    return l->base + offset - lds_reg64(l, UB_DECODER_MMIO_BA);
}

/* What entries of both kinds have.  @mib of PA[34:20] are before those that the
 * entry covers. */
static unsigned entry_get(const UbLds *l, const uint8_t *e, const Layout *at,
                          uint32_t mib, uint32_t before, LdsTarget *to)
{
    uint64_t way = word(e, at->way), token = word(e, at->token);
    uint32_t off = l->cfg.uba_literal ? mib : mib - before;

    to->uba = (word(e, at->uba) & UB_LDS_UBA) +
              ((uint64_t)off << UB_LDS_PAGE_BITS);
    to->token_en = word(e, 0) & UB_LDS_TOKEN_VLD;
    to->dest = way >> UB_LDS_DEST_SHIFT & (UB_TA_DESTS - 1);
    to->order = way >> UB_LDS_ORDER_SHIFT & 3;
    to->ee = way >> UB_LDS_EE_SHIFT;
    put_be64(to->deid.b, word(e, at->deid + 1));
    put_be64(to->deid.b + 8, word(e, at->deid));
    to->token_id = token & (UB_TA_IDS - 1);
    to->token = token >> 32;
    to->upi = word(e, at->upi) & 0xffff;
    to->seid = word(e, 7) >> UB_LDS_SEID_SHIFT & 0xfffff;
    if (to->order > UB_TA_SO || to->ee == 2 ||
        (to->ee == UB_EE_TEE && !l->cfg.tee)) {
        return UB_LDS_EVENT_ENTRY;
    }
    return 0;
}

static unsigned page_get(UbLds *l, uint64_t table, uint32_t index,
                         uint32_t mib, LdsTarget *to)
{
    uint8_t e[UB_LDS_ENTRY];

    table &= UB_LDS_L1_BASE;
    if (!table) {
        return UB_LDS_EVENT_RANGE;
    }
    if (!lds_read(l, table + (uint64_t)index * UB_LDS_ENTRY, e, sizeof(e))) {
        return UB_LDS_EVENT_TABLE;
    }
    switch (word(e, 0) & UB_LDS_TYPE) {
    case UB_LDS_TYPE_INVALID:
        return UB_LDS_EVENT_RANGE;
    case UB_LDS_TYPE_PAGE:
        return entry_get(l, e, &page_layout, mib, mib, to);
    default:
        return UB_LDS_EVENT_ENTRY;
    }
}

static unsigned range_get(UbLds *l, const uint8_t *e, uint32_t mib,
                          LdsTarget *to)
{
    uint64_t q1 = word(e, 1);
    uint32_t from = q1 & MIBS_OF_RANGE;
    uint32_t last = q1 >> UB_LDS_MEM_LIMIT_SHIFT & MIBS_OF_RANGE;

    return from <= mib && mib <= last
           ? entry_get(l, e, &range_layout, mib, from, to)
           : page_get(l, word(e, 0), mib, mib, to);
}

unsigned lds_matt_target(UbLds *l, unsigned i, const LdsMattEntry *e, uint32_t mib,
                         LdsTarget *to)
{
    uint32_t off = l->cfg.uba_literal ? mib & MIBS_OF_RANGE : mib - e->first;
    unsigned event = entry_get(l, e->bytes, &range_layout, off, 0, to);

    to->managed = true;
    to->cna = e->cna;
    to->dest = LDS_MATT_ROW(i);
    return event ? event
           : (word(e->bytes, 0) & UB_LDS_TYPE) == UB_LDS_TYPE_RANGE && to->cna
           ? 0 : UB_LDS_EVENT_ENTRY;
}

/* The same, by the UBFM's table. */
static unsigned walk_managed(UbLds *l, uint32_t mib, LdsTarget *to)
{
    LdsMattEntry e;
    int i = lds_matt_find(l, mib, &e);

    return i < 0 ? UB_LDS_EVENT_RANGE : lds_matt_target(l, i, &e, mib, to);
}

/* Where the first byte of MiB @mib leads. */
static unsigned walk(UbLds *l, uint32_t mib, LdsTarget *to)
{
    uint64_t table = lds_reg64(l, UB_DECODER_MATT_BA) & ~63ull, pte;
    uint8_t bulk[UB_LDS_BULK];

    if (!lds_read(l, table + (uint64_t)(mib >> 15) * UB_LDS_BULK, bulk,
                  sizeof(bulk))) {
        return UB_LDS_EVENT_TABLE;
    }
    if ((word(bulk, 0) & UB_LDS_TYPE) == UB_LDS_TYPE_RANGE) {
        return range_get(l, bulk, mib & MIBS_OF_RANGE, to);
    }
    pte = word(bulk, mib >> 12 & 7);
    switch (pte & UB_LDS_TYPE) {
    case UB_LDS_TYPE_INVALID:
        return UB_LDS_EVENT_RANGE;
    case UB_LDS_TYPE_TABLE:
        return page_get(l, pte, mib & MIBS_OF_TABLE, mib & MIBS_OF_RANGE, to);
    default:
        return UB_LDS_EVENT_ENTRY;
    }
}

unsigned lds_decode(UbLds *l, uint64_t pa, LdsTarget *to)
{
    uint32_t mib = pa >> UB_LDS_PAGE_BITS;
    LdsCached *c = &l->cache[mib % LDS_CACHE];
    unsigned event;

    if (pa >> UB_LDS_PA_BITS ||
        !(lds_reg(l, UB_DECODER_CTRL) & UB_DECODER_CTRL__DECODER_EN)) {
        return UB_LDS_EVENT_RANGE;
    }
    if (!c->valid || c->mib != mib) {
        if (l->paused) {
            return UB_LDS_EVENT_REFUSED; /* tables cannot be read either */
        }
        l->counter[UB_LDS_MISSES_COUNT]++;
        *to = (LdsTarget){ 0 };
        event = (l->matt ? walk_managed : walk)(l, mib, to);
        if (event) {
            return event;
        }
        *c = (LdsCached){ .valid = true, .mib = mib, .to = *to };
    } else {
        l->counter[UB_LDS_HITS_COUNT]++;
        *to = c->to;
    }
    to->uba += pa & MIB_MASK;
    return 0;
}

/* What went to @pa by tables of @epoch, and not by what is to be forgotten, goes by
 * those to come as well. */
static uint64_t epoch_after(const UbLds *l, uint64_t epoch, uint64_t pa,
                            uint32_t first, uint32_t last)
{
    uint64_t mib = pa >> UB_LDS_PAGE_BITS;

    return epoch + (epoch == l->epoch && (mib < first || mib > last));
}

void lds_invalidate(UbLds *l, uint32_t first, uint32_t last)
{
    for (LdsOp *op = l->first; op; op = op->next) {
        op->epoch = epoch_after(l, op->epoch, op->pa, first, last);
    }
    l->line.epoch = epoch_after(l, l->line.epoch, l->line.pa, first, last);
    l->epoch++;
    for (unsigned i = 0; i < LDS_CACHE; i++) {
        LdsCached *c = &l->cache[i];

        c->valid = c->valid && (c->mib < first || c->mib > last);
    }
}

void ub_lds_route(UbLds *l, uint64_t offset, UbLdsRoute *route)
{
    LdsTarget to = { 0 };

    *route = (UbLdsRoute){ .event = UB_LDS_EVENT_RANGE };
    if (offset < l->cfg.window - UB_LDS_CONTROL) {
        route->event = lds_decode(l, lds_pa(l, offset), &to);
        route->dest = to.dest;
        route->token_id = to.token_id;
        route->uba = to.uba;
    }
}

bool ub_lds_map(const UbLds *l, unsigned i, UbLdsMap *map)
{
    LdsMattEntry e;

    if (!l->matt || i >= UB_LDS_MATT_ENTRIES || !lds_matt_entry(l, i, &e)) {
        return false;
    }
    *map = (UbLdsMap){
        .first = e.first, .last = e.last, .cna = e.cna,
        .upi = word(e.bytes, range_layout.upi),
        .token_id = word(e.bytes, range_layout.token),
        .uba = word(e.bytes, range_layout.uba),
    };
    put_be64(map->deid.b, word(e.bytes, range_layout.deid + 1));
    put_be64(map->deid.b + 8, word(e.bytes, range_layout.deid));
    return true;
}
