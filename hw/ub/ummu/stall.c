/*
 * The UMMU: accesses that wait until software has mended what they met.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static bool stall_is(const UmmuStall *s, const UmmuLook *k)
{
    return s->waits && s->tag == k->tag && s->token_id == k->a->token_id &&
           s->tee == k->tee && s->kind == k->a->kind &&
           s->page == k->pos >> UMMU_PAGE_BITS;
}

/* Its own, or the first free one, or NULL. */
static UmmuStall *stall_find(const UmmuLook *k)
{
    UmmuStall *free = NULL;

    for (unsigned i = 0; i < UMMU_STALLS; i++) {
        UmmuStall *s = &k->u->stall[i];

        if (stall_is(s, k)) {
            return s;
        }
        free = free || s->waits ? free : s;
    }
    return free;
}

UbUmmuResult ummu_stall(UmmuLook *k, int *stag)
{
    UbUmmu *u = k->u;
    UmmuStall *s = stall_find(k);

    *stag = -1;
    if (!s) {
        return UB_UMMU_FAULT;
    }
    k->a->stall = s - u->stall;
    if (s->waits) {
        return UB_UMMU_LATER;
    }
    *s = (UmmuStall){
        .waits = true,
        .kind = k->a->kind,
        .tee = k->tee,
        .tag = k->tag,
        .token_id = k->a->token_id,
        .page = k->pos >> UMMU_PAGE_BITS,
    };
    u->stalls++;
    u->counter[UB_UMMU_CNT_STALLS]++;
    *stag = k->a->stall;
    return UB_UMMU_LATER;
}

void ummu_stall_undo(UbUmmu *u, int stag)
{
    u->stall[stag].waits = false;
    u->stalls--;
    u->counter[UB_UMMU_CNT_STALLS]--;
}

/* All that wait for it have their answer with it: who comes later stalls anew. */
static void stall_end(UbUmmu *u, UmmuStall *s, bool abort)
{
    s->waits = false;
    u->stalls--;
    if (abort) {
        u->refused[UBM_WHY_STALL_ABORT]++;
        u->counter[UB_UMMU_CNT_REFUSED]++;
    }
    u->ops.resolved(u->opaque, s - u->stall, abort);
}

void ummu_stall_resume(UbUmmu *u, uint32_t stag, uint32_t tag, bool retry)
{
    UmmuStall *s = stag < UMMU_STALLS ? &u->stall[stag] : NULL;

    if (!s || !s->waits || s->tag != tag) {
        ummu_guest_error(u, "STALL_RESUME of a stall that is not there");
        return;
    }
    stall_end(u, s, !retry);
}

unsigned ummu_stall_end(UbUmmu *u, uint32_t tag, uint32_t *from, unsigned max)
{
    unsigned n = 0;

    for (; *from < UMMU_STALLS && n < max; ++*from) {
        UmmuStall *s = &u->stall[*from];

        if (s->waits && s->tag == tag) {
            stall_end(u, s, true);
            n++;
        }
    }
    return n;
}
