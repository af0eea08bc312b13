/*
 * The roof of the transaction layer: configuration, life, turns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- words ---- */

const char *ub_ta_counter_name(unsigned counter)
{
    static const char *const names[] = {
#define NAME(id, name) [UB_TAC_##id] = name,
        UB_TA_COUNTERS(NAME)
#undef NAME
    };

    return counter < UB_TA_COUNTERS_NUM ? names[counter] : NULL;
}

const char *ub_ta_status_name(UbTaStatus status)
{
    switch (status) {
    case UB_TAS_OK: return "ok";
    case UB_TAS_OPCODE: return "unsupported opcode";
    case UB_TAS_LOCAL_LENGTH: return "local length";
    case UB_TAS_LOCAL_ACCESS: return "local access";
    case UB_TAS_REMOTE_LENGTH: return "remote response length";
    case UB_TAS_LOCAL_POISON: return "local data poison";
    case UB_TAS_UNSUPPORTED: return "remote unsupported request";
    case UB_TAS_ABORT: return "remote abort";
    case UB_TAS_REMOTE_POISON: return "remote data poison";
    case UB_TAS_RNR: return "retries exceeded";
    case UB_TAS_TIMEOUT: return "acknowledgement time-out";
    case UB_TAS_FLUSHED: return "flushed";
    }
    return NULL;
}

/* ---- configuration ---- */

void ub_ta_config_init(UbTaConfig *cfg)
{
    *cfg = (UbTaConfig) {
        .slice = 64 << 10, .max_len = 1u << 31, .mtu = 4096, .window = 1024,
        .reserve = 8, .depth = 65536, .quantum = 16, .peers = 65536,
        .contexts = 65536, .partial = 4096, .answers = 4096, .scs = 1024,
        .sc_buffer = 1024, .parked = 256, .aggregate = UB_TAH_AGGREGATE,
        .uno_no_taack = true, .dedupe = true, .tasks = true, .retries = 7,
        .rnr_timer = 10, .ack_timeout = ub_ta_gear(3),
        .dup_life = INT64_C(1000000000), .hold_time = ub_ta_gear(1),
        .scale = 1000, .entities = 1,
    };
}

static bool power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

const char *ub_ta_config_check(const UbTaConfig *cfg)
{
    const struct { bool wrong; const char *why; } rules[] = {
        { !cfg->slice || cfg->slice % 8192 || cfg->slice > 1 << 20,
          "slice is not a multiple of 8192 up to 1 MiB" },
        { !cfg->max_len || cfg->max_len > 1u << 31,
          "max-len is not 1 to 2^31" },
        { cfg->mtu != 1024 && cfg->mtu != 4096 && cfg->mtu != 8192,
          "mtu is not 1024, 4096 or 8192" },
        { !power_of_two(cfg->window) || cfg->window < 64 ||
          cfg->window > 4096, "window is not a power of two of 64 to 4096" },
        { cfg->reserve >= cfg->window / 2,
          "reserve is not below half of the window" },
        { !cfg->depth || !cfg->quantum || !cfg->peers || !cfg->contexts ||
          !cfg->partial || !cfg->answers, "a bound is 0" },
        { cfg->scs > 65536, "more sequence contexts than 16 bits name" },
        { !cfg->aggregate || cfg->aggregate > UB_TAH_AGGREGATE,
          "aggregate is not 1 to 32" },
        { cfg->rnr_timer > UB_TAH_TIMER_MAX, "rnr-timer is above 19" },
        { cfg->ack_timeout <= 0 || cfg->dup_life < 0 || cfg->hold_time <= 0 ||
          cfg->floor < 0 || !cfg->scale, "a time is not positive" },
        { cfg->ack_timeout > INT64_C(1) << 40 ||
          cfg->dup_life > INT64_C(1) << 40 ||
          cfg->hold_time > INT64_C(1) << 40 ||
          cfg->floor > INT64_C(1) << 40 || cfg->scale > 1000000,
          "a time is longer than anybody waits" },
        { cfg->tassn_start & 4095, "tassn-start is no multiple of 4096" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rules); i++) {
        if (rules[i].wrong) {
            return rules[i].why;
        }
    }
    return NULL;
}

const UbTaConfig *ub_ta_config(const UbTa *ta)
{
    return &ta->cfg;
}

const char *ub_ta_configure(UbTa *ta, const UbTaConfig *cfg)
{
    const char *why = ub_ta_config_check(cfg);

    if (!why && cfg->window != ta->cfg.window) {
        why = "the window is fixed";
    }
    if (!why) {
        ta->cfg = *cfg;
    }
    return why;
}

/* ---- life ---- */

static void lane_leaves(gpointer lane)
{
    ta_lane_free(lane);
}

/* Empty of all that comes and goes. */
static void make_state(UbTa *ta)
{
    ta->lanes = g_hash_table_new(ta_key_hash, ta_key_equal);
    ta->lane_ids = g_hash_table_new_full(NULL, NULL, NULL, lane_leaves);
    ta->stalled = g_hash_table_new(NULL, NULL);
    ta->answers_by = g_hash_table_new(NULL, NULL);
    ta->contexts = g_hash_table_new(ta_key_hash, ta_key_equal);
    ta->peers = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    ta->ready_end = &ta->ready;
    ta->sending_end = &ta->sending;
    ta->owing_end = &ta->owing;
    ta->answers_end = &ta->answers;
    ta->sc_size = ta->cfg.scs;
    ta->scs = g_new0(Ctx *, ta->sc_size);
}

static void free_dest(void *opaque, void *dest)
{
    core_slab_free(&((UbTa *)opaque)->dest_slab, dest);
}

static void free_queue(void *opaque, void *q)
{
    ta_queue_free(q, false);
}

static void drop_state(UbTa *ta)
{
    /* Lanes name queues, and queues the lanes that they wait for. */
    g_hash_table_destroy(ta->lane_ids);
    core_table_foreach(&ta->queues, free_queue, ta);
    core_table_clear(&ta->queues);
    core_table_foreach(&ta->dests, free_dest, ta);
    core_table_clear(&ta->dests);
    for (unsigned i = 0; i < UB_TA_OWN_DESTS; i++) {
        g_clear_pointer(&ta->own[i], g_free);
    }
    ta->queue_count = ta->requests = 0;
    /* Contexts and lanes take themselves out of the lists. */
    while (ta->used.newest) {
        ta_ctx_free(ta->used.newest);
    }
    g_hash_table_destroy(ta->contexts);
    g_hash_table_destroy(ta->peers);
    g_hash_table_destroy(ta->lanes);
    g_hash_table_destroy(ta->stalled);
    g_hash_table_destroy(ta->answers_by);
    ta_answers_clear(ta);
    g_clear_pointer(&ta->scs, g_free);
    core_timers_free(&ta->timers);
    ta->ready = NULL;
}

UbTa *ub_ta_new(const UbTaConfig *cfg, const UbTaOps *ops, void *opaque,
                const UbTaLower *lower, void *lower_opaque, UbSec *sec)
{
    UbTa *ta;

    if (ub_ta_config_check(cfg)) {
        return NULL;
    }
    ta = g_new0(UbTa, 1);
    ta->cfg = *cfg;
    ta->ops = ops;
    ta->opaque = opaque;
    ta->lower = lower;
    ta->lower_opaque = lower_opaque;
    ta->sec = sec;
    ta->start = cfg->tassn_start;
    ta->rows = 1;
    ta->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    core_table_init(&ta->dests, 20);
    core_slab_init(&ta->dest_slab, sizeof(UbTaDest));
    core_table_init(&ta->queues, 20);
    make_state(ta);
    return ta;
}

void ub_ta_free(UbTa *ta)
{
    if (ta) {
        drop_state(ta);
        core_table_free(&ta->queues);
        core_table_free(&ta->dests);
        core_slab_trim(&ta->dest_slab);
        core_packet_pool_free(ta->pool);
        g_free(ta);
    }
}

void ub_ta_reset(UbTa *ta)
{
    drop_state(ta);
    make_state(ta);
    ta->start += 4096;
    ta->answers_try = ta->any_local = false;
}

/* ---- destinations ---- */

bool ta_dest_good(const UbTaDest *d)
{
    unsigned cfg = d->tp.flow.cfg;
    bool ip = cfg == UB_LPH_IPV4 || cfg == UB_LPH_IPV6;

    if ((d->mtu != 1024 && d->mtu != 4096 && d->mtu != 8192) ||
        d->sec.form > UB_SEC_SHORT ||
        (d->sl_writeback > 15 && d->sl_writeback != UB_TA_SAME_SL)) {
        return false;
    }
    switch (d->tp.mode) {
    case UB_TP_RTP:
        return (ip || cfg == UB_LPH_CNA24) && d->sec.form != UB_SEC_SHORT;
    case UB_TP_CTP:
        return cfg == UB_LPH_CNA16 || cfg == UB_LPH_CNA24;
    case UB_TP_UTP:
        return ip && d->sec.form != UB_SEC_SHORT;
    case UB_TP_BYPASS:
        return cfg == UB_LPH_BYPASS && d->sec.form == UB_SEC_NONE &&
               !d->sec.cip;
    default:
        return false;
    }
}

bool ub_ta_set_dest(UbTa *ta, uint32_t index, const UbTaDest *dest)
{
    UbTaDest *row = NULL;

    if (dest && !ta_dest_good(dest)) {
        return false;
    }
    ta->rows += ta->rows == UINT32_MAX ? 2 : 1;     /* never 0 */
    if (index >= UB_TA_DESTS) {
        index -= UB_TA_DESTS;
        if (index >= UB_TA_OWN_DESTS) {
            return false;
        }
        g_free(ta->own[index]);
        ta->own[index] = dest ? g_memdup2(dest, sizeof(*dest)) : NULL;
        return true;
    }
    if (dest) {     /* which may be the row that is there */
        row = core_slab_alloc0(&ta->dest_slab);
        *row = *dest;
    }
    core_slab_free(&ta->dest_slab, core_table_get(&ta->dests, index));
    core_table_set(&ta->dests, index, row);
    return true;
}

const UbTaDest *ub_ta_dest(const UbTa *ta, uint32_t index)
{
    return index < UB_TA_DESTS ? core_table_get(&ta->dests, index)
           : index - UB_TA_DESTS < UB_TA_OWN_DESTS
           ? ta->own[index - UB_TA_DESTS] : NULL;
}

uint32_t ub_ta_dest_vacant(const UbTa *ta, uint32_t from)
{
    return core_table_vacant(&ta->dests, from);
}

/* ---- turns ---- */

void ub_ta_time(UbTa *ta, int64_t now)
{
    ta->now = MAX(ta->now, now);
}

static void run_timers(UbTa *ta)
{
    CoreTimer *t;

    while ((t = core_timers_expired(&ta->timers, ta->now))) {
        Clock *clock = (Clock *)t;

        if (clock->of_ctx) {
            ta_ctx_expired((Ctx *)((char *)clock - offsetof(Ctx, clock)));
        } else {
            ta_lane_expired((Lane *)((char *)clock - offsetof(Lane, clock)));
        }
    }
}

static UbTaQueue *next_ready(UbTa *ta)
{
    UbTaQueue *q = ta->ready;

    if (q) {
        ta->ready = q->next_ready;
        if (!ta->ready) {
            ta->ready_end = &ta->ready;
        }
        q->ready = false;
    }
    return q;
}

int64_t ub_ta_run(UbTa *ta, int64_t now, unsigned budget)
{
    bool more;

    ub_ta_time(ta, now);
    ta->budget = MIN(budget, INT32_MAX);
    run_timers(ta);
    ta_owing_flush(ta);
    more = ta_answers_run(ta);
    more = ta_lanes_run(ta) || more;
    while (ta->budget > 0 && ta->ready) {
        UbTaQueue *q = next_ready(ta);

        if (ta_queue_pump(q)) {
            ta_queue_ready(q);
        }
    }
    more = more || ta->ready || ta->sending || ta->owing;
    return more ? now : core_timers_deadline(&ta->timers);
}

/* ---- views ---- */

uint64_t ub_ta_counter(const UbTa *ta, UbTaCounter counter)
{
    return ta->count[counter];
}

static void count_slices(gpointer key, gpointer value, gpointer sum)
{
    const Lane *lane = value;

    *(uint32_t *)sum += lane->next - lane->una;
}

void ub_ta_state(const UbTa *ta, UbTaState *state)
{
    *state = (UbTaState) {
        .queues = ta->queue_count, .requests = ta->requests,
        .lanes = g_hash_table_size(ta->lane_ids),
        .contexts = g_hash_table_size(ta->contexts),
        .partial = ta->partials, .held = ta->helds + ta->held_dones,
        .parked = ta->parkeds, .answers = ta->answer_count,
        .scs = ta->sc_count, .packets = core_packet_pool_used(ta->pool),
    };
    g_hash_table_foreach(ta->lane_ids, count_slices, &state->slices);
}

uint32_t ub_ta_requests(const UbTa *ta)
{
    return ta->requests;
}

bool ub_ta_target_idle(const UbTa *ta, unsigned entity, uint32_t token_id)
{
    for (const Answer *a = ta->answers; a; a = a->next) {
        if (a->len && a->access.entity == entity &&
            a->access.token_id == token_id) {
            return false;
        }
    }
    return !ta->helds;
}
