/*
 * The UMMU: memory, errors, counters, the event queue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

bool ummu_read(UbUmmu *u, uint64_t addr, void *buf, uint32_t len)
{
    bool good = u->ops.read(u->opaque, addr, buf, len);

    u->counter[UB_UMMU_CNT_DMA_ERRORS] += !good;
    return good;
}

bool ummu_fetch(const UmmuLook *k, uint64_t addr, void *buf, uint32_t len)
{
    UbUmmu *u = k->u;

    return k->quiet && u->ops.peek ? u->ops.peek(u->opaque, addr, buf, len)
                                   : ummu_read(u, addr, buf, len);
}

bool ummu_write(UbUmmu *u, uint64_t addr, const void *buf, uint32_t len)
{
    bool good = u->ops.write(u->opaque, addr, buf, len);

    u->counter[UB_UMMU_CNT_DMA_ERRORS] += !good;
    return good;
}

bool ummu_exchange(UbUmmu *u, uint64_t addr, void *was, const void *now,
                   uint32_t len, bool *same)
{
    bool good = u->ops.exchange(u->opaque, addr, was, now, len, same);

    u->counter[UB_UMMU_CNT_DMA_ERRORS] += !good;
    return good;
}

void ummu_guest_error(UbUmmu *u, const char *what)
{
    u->ops.guest_error(u->opaque, what);
}

void ummu_kick(UbUmmu *u)
{
    u->ops.kick(u->opaque);
}

void ummu_gerror(UbUmmu *u, uint32_t bits)
{
    bits &= ~(u->gerror ^ u->gerrorn);
    u->gerror ^= bits;
    if (bits && u->irq_enable & UBM_IRQ_GERROR) {
        u->ops.interrupt(u->opaque, u->gerr_vector);
    }
}

/* ---- The event queue ------------------------------------------------------------- */

uint32_t ummu_ring_size(const UmmuRing *r)
{
    return 1u << (r->base & 0x1f);
}

uint32_t ummu_ring_mask(const UmmuRing *r)
{
    return 2 * ummu_ring_size(r) - 1;
}

uint32_t ummu_evtq_used(const UbUmmu *u)
{
    return (u->evtq.prod - u->evtq.cons) & ummu_ring_mask(&u->evtq);
}

static void evtq_interrupt(UbUmmu *u)
{
    if (u->irq_enable & UBM_IRQ_EVTQ) {
        u->ops.interrupt(u->opaque, u->evtq_vector);
    }
}

void ummu_evtq_read(UbUmmu *u, uint32_t cons)
{
    u->evtq.cons = cons;
    /* What came while software was reading must not be forgotten. */
    if (u->cr0 & UBM_CR0_EVTQ && ummu_evtq_used(u)) {
        evtq_interrupt(u);
    }
}

static void event_lost(UbUmmu *u)
{
    u->counter[UB_UMMU_CNT_EVENTS_LOST]++;
    u->lost += u->lost != UINT32_MAX;
}

/* Returns whether it stands in the queue. */
static bool event_put(UbUmmu *u, const uint8_t evt[UBM_EVT])
{
    UmmuRing *q = &u->evtq;
    uint32_t size = ummu_ring_size(q);
    bool first = !ummu_evtq_used(u);

    if (!(u->cr0 & UBM_CR0_EVTQ)) {
        return false;
    }
    if (ummu_evtq_used(u) >= size) {
        event_lost(u);
        if (!((q->prod ^ q->cons) & UBM_EVTQ_OVERFLOW)) {
            q->prod ^= UBM_EVTQ_OVERFLOW;
        }
        return false;
    }
    if (!ummu_write(u, (q->base & UBM_MASK(51, 6)) +
                    (uint64_t)(q->prod & (size - 1)) * UBM_EVT, evt, UBM_EVT)) {
        event_lost(u);
        ummu_gerror(u, UBM_GERROR_EVTQ);
        return false;
    }
    q->prod = (q->prod & UBM_EVTQ_OVERFLOW) | ((q->prod + 1) & ummu_ring_mask(q));
    u->counter[UB_UMMU_CNT_EVENTS]++;
    if (first) {
        evtq_interrupt(u);
    }
    return true;
}

/* ---- Merging ---------------------------------------------------------------------- */

static bool still_unread(const UbUmmu *u, const UmmuMerge *m)
{
    uint32_t behind = (u->evtq.prod - m->index) & ummu_ring_mask(&u->evtq);

    return m->there && behind && behind <= ummu_evtq_used(u);
}

/* Same page, access type, TokenID (TECTE.EM_EN), and same code. */
static bool merge_like(const UmmuMerge *m, const UmmuLook *k, unsigned code)
{
    return m->code == code && m->kind == k->a->kind && m->tag == k->tag &&
           m->token_id == k->a->token_id &&
           m->page == k->pos >> UMMU_PAGE_BITS;
}

static bool merged(const UmmuLook *k, unsigned code)
{
    UbUmmu *u = k->u;

    for (unsigned i = 0; i < UMMU_MERGES; i++) {
        if (merge_like(&u->merge[i], k, code) &&
            still_unread(u, &u->merge[i])) {
            u->counter[UB_UMMU_CNT_EVENTS_MERGED]++;
            u->merged += u->merged != UINT32_MAX;
            return true;
        }
    }
    return false;
}

static void merge_note(const UmmuLook *k, unsigned code, uint32_t index)
{
    UbUmmu *u = k->u;

    u->merge[u->next_merge++ % UMMU_MERGES] = (UmmuMerge){
        .there = true,
        .index = index,
        .code = code,
        .kind = k->a->kind,
        .tag = k->tag,
        .token_id = k->a->token_id,
        .page = k->pos >> UMMU_PAGE_BITS,
    };
}

/* ---- Events ------------------------------------------------------------------------ */

static void eid_put(uint8_t *evt, const uint8_t eid[16])
{
    put_le64(evt + UBM_EVT_EID, get_be64(eid + 8));
    put_le64(evt + UBM_EVT_EID + 8, get_be64(eid));
}

bool ummu_event(const UmmuLook *k, unsigned code, int stag)
{
    UbUmmu *u = k->u;
    const UbUmmuAccess *a = k->a;
    uint8_t evt[UBM_EVT] = { 0 }, eid[16];
    uint32_t index = u->evtq.prod & ummu_ring_mask(&u->evtq);
    bool merge = k->c && k->c->merge && stag < 0;
    uint64_t q0 = code | (uint64_t)(a->token_id & 0xfffff) << 32 |
                  (uint64_t)k->step << 14;

    if (merge && merged(k, code)) {
        return true;
    }
    q0 |= a->kind == UB_UMMU_READ ? UBM_EVT_READ : 0;
    q0 |= k->c && k->c->privileged ? UBM_EVT_PRIV : 0;
    q0 |= k->s2 ? UBM_EVT_S2 : 0;
    q0 |= stag >= 0 ? UBM_EVT_STALL : 0;
    q0 |= a->local ? UBM_EVT_LOCAL : 0;
    put_le64(evt, q0);
    put_le64(evt + 8, (uint64_t)k->why << 32 | (stag >= 0 ? stag : 0));
    put_le64(evt + 16, k->ipa & UBM_EVT_IPA);
    put_le64(evt + UBM_EVT_ADDR, k->pos);
    if (k->tag_known) {
        put_le64(evt + UBM_EVT_EID, k->tag);
    } else if (!a->bare && u->ops.eid(u->opaque, a->entity, eid)) {
        eid_put(evt, eid);
    }
    put_le64(evt + UBM_EVT_FETCH, k->fetch);
    put_le64(evt + 56, a->entity & UBM_EVT_ENTITY);
    if (!event_put(u, evt)) {
        return false;
    }
    if (merge) {
        merge_note(k, code, index);
    }
    return true;
}

void ummu_event_map(UbUmmu *u, unsigned code, uint32_t tag,
                    const uint8_t eid[16])
{
    uint8_t evt[UBM_EVT] = { 0 };

    put_le64(evt, code);
    put_le64(evt + 8, tag);
    eid_put(evt, eid);
    event_put(u, evt);
}
