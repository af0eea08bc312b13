/*
 * The UMMU: contexts, translations and permissions that are remembered.
 *
 * Each cache is an array of slots, one for a TokenID and page; what is of another
 * epoch is not there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Fewer pages than this are looked for by their slots. */
#define FEW_PAGES 64

void ummu_cache_new(UbUmmu *u)
{
    u->contexts = g_new0(UmmuContext, UMMU_CONTEXTS);
    u->tlb = g_new0(UmmuTlb, UMMU_TLBS);
    u->plb = g_new0(UmmuPlb, UMMU_PLBS);
    u->lines = g_new0(UmmuLine, UMMU_LINES);
    u->epoch_context = u->epoch_tlb = u->epoch_plb = u->epoch_line = 1;
}

void ummu_cache_free(UbUmmu *u)
{
    g_free(u->contexts);
    g_free(u->tlb);
    g_free(u->plb);
    g_free(u->lines);
}

void ummu_drop_contexts(UbUmmu *u)
{
    u->epoch_context++;
    u->epoch_line++;
    u->known.good = false;
}

void ummu_drop_tlb(UbUmmu *u)
{
    u->epoch_tlb++;
    u->epoch_line++;
}

void ummu_drop_plb(UbUmmu *u)
{
    u->epoch_plb++;
    u->epoch_line++;
}

void ummu_drop_all(UbUmmu *u)
{
    ummu_drop_contexts(u);
    ummu_drop_tlb(u);
    ummu_drop_plb(u);
}

static unsigned slot_of(uint32_t token_id, uint64_t page, unsigned slots)
{
    uint64_t h = (page + token_id * 0x9e3779b1ull) * 0x9e3779b97f4a7c15ull;

    return h >> 40 & (slots - 1);
}

UmmuContext *ummu_context_slot(UbUmmu *u, bool tee, uint16_t tag,
                               uint32_t token_id)
{
    return &u->contexts[slot_of(token_id, tag + (tee ? 0x10000 : 0),
                                UMMU_CONTEXTS)];
}

UmmuTlb *ummu_tlb_slot(UbUmmu *u, uint32_t token_id, uint64_t page)
{
    return &u->tlb[slot_of(token_id, page, UMMU_TLBS)];
}

UmmuPlb *ummu_plb_slot(UbUmmu *u, uint32_t token_id, uint64_t page)
{
    return &u->plb[slot_of(token_id, page, UMMU_PLBS)];
}

/* ---- Invalidation ------------------------------------------------------------------ */

static bool tag_matches(const UmmuKey *key, uint32_t tag)
{
    return !(key->which & UMMU_BY_TAG) ||
           (tag >= key->tag && tag <= key->tag_last);
}

static bool token_matches(const UmmuKey *key, uint32_t token_id)
{
    return !(key->which & UMMU_BY_TOKEN) || token_id == key->token_id;
}

static bool page_matches(const UmmuKey *key, uint64_t page)
{
    return !(key->which & UMMU_BY_PAGE) ||
           (page >= key->page && page <= key->last);
}

static bool vmid_matches(const UmmuKey *key, uint32_t vmid)
{
    return !(key->which & UMMU_BY_VMID) || vmid == key->vmid;
}

unsigned ummu_context_invalidate(UbUmmu *u, const UmmuKey *key)
{
    u->epoch_line++;
    for (unsigned i = 0; i < UMMU_CONTEXTS; i++) {
        UmmuContext *c = &u->contexts[i];

        if (tag_matches(key, c->tag) && token_matches(key, c->token_id)) {
            c->epoch = 0;
        }
    }
    return UMMU_CONTEXTS * UMMU_COST_SCAN / UMMU_TLBS;
}

static void tlb_look(UmmuTlb *t, const UmmuKey *key)
{
    if (tag_matches(key, t->tag) && token_matches(key, t->token_id) &&
        page_matches(key, t->page) && vmid_matches(key, t->vmid)) {
        t->epoch = 0;
    }
}

static void plb_look(UmmuPlb *p, const UmmuKey *key)
{
    if (tag_matches(key, p->tag) && token_matches(key, p->token_id) &&
        page_matches(key, p->page)) {
        p->epoch = 0;
    }
}

static bool few_pages(const UmmuKey *key)
{
    unsigned both = UMMU_BY_TOKEN | UMMU_BY_PAGE;

    return (key->which & both) == both && key->last - key->page < FEW_PAGES;
}

unsigned ummu_tlb_invalidate(UbUmmu *u, const UmmuKey *key)
{
    u->epoch_line++;
    if (few_pages(key)) {
        for (uint64_t n = 0; n <= key->last - key->page; n++) {
            tlb_look(ummu_tlb_slot(u, key->token_id, key->page + n), key);
        }
        return 1;
    }
    for (unsigned i = 0; i < UMMU_TLBS; i++) {
        tlb_look(&u->tlb[i], key);
    }
    return UMMU_COST_SCAN;
}

unsigned ummu_plb_invalidate(UbUmmu *u, const UmmuKey *key)
{
    u->epoch_line++;
    if (few_pages(key)) {
        for (uint64_t n = 0; n <= key->last - key->page; n++) {
            plb_look(ummu_plb_slot(u, key->token_id, key->page + n), key);
        }
        return 1;
    }
    for (unsigned i = 0; i < UMMU_PLBS; i++) {
        plb_look(&u->plb[i], key);
    }
    return UMMU_COST_SCAN;
}

void ummu_cache_count(const UbUmmu *u, UbUmmuState *state)
{
    if (!u->cfg.strict) {
        return;                 /* it forgets before the next access */
    }
    for (unsigned i = 0; i < UMMU_CONTEXTS; i++) {
        state->contexts += u->contexts[i].epoch == u->epoch_context;
    }
    for (unsigned i = 0; i < UMMU_TLBS; i++) {
        state->translations += u->tlb[i].epoch == u->epoch_tlb;
    }
    for (unsigned i = 0; i < UMMU_PLBS; i++) {
        state->permissions += u->plb[i].epoch == u->epoch_plb;
    }
}
