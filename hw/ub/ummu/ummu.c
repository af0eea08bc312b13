/*
 * The UMMU: life, turns, views.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void ub_ummu_config_init(UbUmmuConfig *cfg)
{
    *cfg = (UbUmmuConfig){
        .vectors = 1024,
        .positive = true,
        .stage2 = true,
    };
}

UbUmmu *ub_ummu_new(const UbUmmuConfig *cfg, const UbUmmuOps *ops, void *opaque)
{
    UbUmmu *u = g_new0(UbUmmu, 1);

    u->cfg = *cfg;
    u->ops = *ops;
    u->opaque = opaque;
    ummu_map_new(u);
    ummu_cache_new(u);
    return u;
}

void ub_ummu_free(UbUmmu *u)
{
    if (u) {
        g_hash_table_unref(u->map);
        ummu_cache_free(u);
        g_free(u);
    }
}

void ub_ummu_reset(UbUmmu *u)
{
    size_t from = offsetof(UbUmmu, cr0);

    g_hash_table_remove_all(u->map);
    memset((char *)u + from, 0, offsetof(UbUmmu, map) - from);
    memset(u->stall, 0, sizeof(u->stall));
    memset(u->merge, 0, sizeof(u->merge));
    memset(u->mtm, 0, sizeof(u->mtm));
    u->stalls = 0;
    u->lost = u->merged = 0;
    ummu_drop_all(u);
}

bool ub_ummu_touched(const UbUmmu *u)
{
    const char *p = (const char *)u + offsetof(UbUmmu, cr0);
    size_t n = offsetof(UbUmmu, map) - offsetof(UbUmmu, cr0);

    return p[0] || memcmp(p, p + 1, n - 1) || g_hash_table_size(u->map);
}

bool ub_ummu_run(UbUmmu *u, unsigned budget)
{
    ummu_cmd_serve(u, budget);
    ummu_user_serve(u, budget);
    return ummu_cmd_waiting(u) || ummu_user_waiting(u);
}

void ub_ummu_turn(UbUmmu *u)
{
    if (!u->cfg.strict) {
        ummu_drop_all(u);
    }
}

bool ub_ummu_decides(const UbUmmu *u)
{
    return u->cr0 & UBM_CR0_ENABLE || u->gbpa & UBM_GBPA_ABORT;
}

static const char *const counter_names[] = {
#define NAME(id, name) name,
    UB_UMMU_COUNTERS(NAME)
#undef NAME
};

const char *ub_ummu_counter_name(unsigned counter)
{
    return counter < G_N_ELEMENTS(counter_names) ? counter_names[counter]
                                                 : NULL;
}

uint64_t ub_ummu_counter(const UbUmmu *u, UbUmmuCounter counter)
{
    return u->counter[counter];
}

static UbUmmuQueue queue_state(const UmmuRing *r, uint64_t base, bool enabled,
                               uint32_t error)
{
    return (UbUmmuQueue){
        .enabled = enabled,
        .failed = (r->prod ^ r->cons) & error,
        .base = r->base & base,
        .size = ummu_ring_size(r),
        .prod = r->prod & ummu_ring_mask(r),
        .cons = r->cons & ummu_ring_mask(r),
    };
}

void ub_ummu_state(const UbUmmu *u, UbUmmuState *state)
{
    *state = (UbUmmuState){
        .enabled = u->cr0 & UBM_CR0_ENABLE,
        .events = u->cr0 & UBM_CR0_EVTQ,
        .mapt = u->cr0 & UBM_CR0_MAPT,
        .abort = u->gbpa & UBM_GBPA_ABORT,
        .gerror = u->gerror ^ u->gerrorn,
        .tect = u->tect[0].base & UBM_MASK(51, 6),
        .tee_tect = u->tect[1].base & UBM_MASK(51, 6),
        .tect_cfg = u->tect[0].cfg,
        .tee_cfg = u->tect[1].cfg,
        .fallback = u->fallback,
        .mappings = g_hash_table_size(u->map),
        .stalls = u->stalls,
        .evtq_used = ummu_evtq_used(u),
        .lost = u->lost,
        .merged = u->merged,
    };
    for (unsigned i = 0; i < UBM_CMDQS; i++) {
        const UmmuRing *r = &u->cmdq[i];

        state->cmdq[i] = queue_state(r, UBM_MASK(51, 5),
                                     r->prod & UBM_Q_ENABLE, UBM_Q_ERROR);
        state->cmdq[i].reason = ummu_get(r->cons, UBM_CONS_REASON);
    }
    state->evtq = queue_state(&u->evtq, UBM_MASK(51, 6), state->events,
                              UBM_EVTQ_OVERFLOW);
    ummu_cache_count(u, state);
}
