/*
 * Load and store: life, links, turns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define MS INT64_C(1000000)
#define MIB (UINT64_C(1) << 20)

void ub_lds_config_init(UbLdsConfig *cfg)
{
    *cfg = (UbLdsConfig){
        .window = 1024 * MIB,
        .rcid = UB_TA_IDS - 1,
        .mode = UB_ROI,
        .vectors = 1024,
        .loads = 512,
        .stores = 128,
        .combine = 50000,
        .timeout = 10000 * MS,
        .grace = 1000 * MS,
    };
}

const char *ub_lds_config_check(const UbLdsConfig *cfg)
{
    if (cfg->window < MIB || cfg->window > MIB << 24 ||
        cfg->window & (cfg->window - 1)) {
        return "the window is a power of two, 1 MiB to 16 TiB";
    }
    if (!cfg->loads || !cfg->stores || cfg->loads > 65536 ||
        cfg->stores > 65536) {
        return "1 to 65536 loads and stores are under way";
    }
    if (cfg->timeout <= 0 || cfg->timeout > 3600000 * MS || cfg->grace < 0 ||
        cfg->grace > cfg->timeout || cfg->combine < 0 ||
        cfg->combine > 1000 * MS) {
        return "an access takes at most an hour, waits for its neighbours at "
               "most a second, for a link as long as it may take";
    }
    return cfg->mode == UB_ROI || cfg->mode == UB_ROL
           ? NULL : "loads and stores are ROI or ROL";
}

UbLds *ub_lds_new(const UbLdsConfig *cfg, const UbLdsOps *ops, void *opaque)
{
    UbLds *l;

    if (ub_lds_config_check(cfg)) {
        return NULL;
    }
    l = g_new0(UbLds, 1);
    l->cfg = *cfg;
    l->ops = *ops;
    l->opaque = opaque;
    l->asked_last = UINT32_MAX;
    return l;
}

/* log2 of the window in units of 128 GiB, rounded up. */
static unsigned size_code(uint64_t window)
{
    unsigned code = 0;

    while (window > (UINT64_C(128) << 30) << code) {
        code++;
    }
    return code;
}

static void put_pair(UbSlice *s, unsigned dw, uint64_t value)
{
    ub_slice_init(s, dw, ~0u, value);
    ub_slice_init(s, dw + 1, ~0u, value >> 32);
}

void ub_lds_attach(UbLds *l, UbSpace *space)
{
    uint32_t depths =
        UB_SPACE_PUT(UB_DECODER_DECODER__MMIO_SIZE, size_code(l->cfg.window)) |
        UB_SPACE_PUT(UB_DECODER_DECODER__CMDQ_DEPTH, UB_LDS_QUEUE_LOG2_MAX) |
        UB_SPACE_PUT(UB_DECODER_DECODER__EVENTQ_DEPTH, UB_LDS_QUEUE_LOG2_MAX);

    l->decoder = ub_space_attach(space, UB_SPACE_CFG1, 0, UB_CAP_DECODER,
                                 &lds_decoder_ops, l);
    l->vendor = ub_space_attach_at(space,
                                   UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP),
                                   &lds_vendor_slice, &lds_vendor_ops, l);
    l->mem = ub_space_attach(space, UB_SPACE_CFG1, 0, UB_CAP_UB_MEM, NULL, l);
    ub_slice_init(l->decoder, UB_DECODER_DECODER, ~0u, depths);
    ub_slice_init(l->decoder, UB_DECODER_CMDQ_CFG,
                  UB_DECODER_CMDQ_CFG__CMDQ_DEPTH_USE,
                  UB_SPACE_PUT(UB_DECODER_CMDQ_CFG__CMDQ_DEPTH_USE,
                               UB_LDS_QUEUE_LOG2_MAX));
    put_pair(l->vendor, UB_LDS_VD_WINDOW, l->cfg.window);
    put_pair(l->vendor, UB_LDS_VD_CONTROL, l->cfg.window - UB_LDS_CONTROL);
    if (l->cfg.managed) {
        lds_matt_attach(l, space);
    }
}

void ub_lds_bind(UbLds *l, UbTa *ta)
{
    l->ta = ta;
}

void ub_lds_set_base(UbLds *l, uint64_t base)
{
    l->base = base;
}

static void let_all_go(UbLds *l)
{
    l->line.open = false;
    lds_ops_drop(l);
    while (l->waits) {
        lds_wait_give_up(l, l->waits, UB_LDS_EVENT_STOPPED);
    }
}

/* There is no memory, interrupt nor turn of ours any more: only who waits is told. */
void ub_lds_free(UbLds *l)
{
    if (l) {
        lds_ops_free(l);
        while (l->waits) {
            lds_wait_give_up(l, l->waits, 0);
        }
        g_free(l->matt);
        g_free(l);
    }
}

void ub_lds_reset(UbLds *l, int64_t now)
{
    lds_clock(l, now);
    l->down_since = l->now;
    let_all_go(l);
    lds_invalidate(l, 0, UINT32_MAX);
    memset(l->slot, 0, sizeof(l->slot));
    l->barrier = false;
    l->failed_stores = 0;
    l->asked_first = 0;
    l->asked_last = UINT32_MAX;
    if (l->matt) {
        l->matt->changed = 0;
    }
}

void ub_lds_reset_entity(UbLds *l)
{
    lds_invalidate(l, 0, UINT32_MAX);
    if (l->matt) {
        l->matt->changed = UINT64_MAX;
    }
    l->ops.kick(l->opaque);
}

void ub_lds_state(const UbLds *l, UbLdsState *state)
{
    *state = (UbLdsState){
        .enabled = lds_reg(l, UB_DECODER_CTRL) & UB_DECODER_CTRL__DECODER_EN,
        .under_way = l->all,
        .line = l->line.open,
    };
    for (const UbLdsWait *w = l->waits; w; w = w->next) {
        state->waiting++;
    }
    for (unsigned i = 0; i < UB_LDS_MATT_ENTRIES; i++) {
        UbLdsMap map;

        state->maps += ub_lds_map(l, i, &map);
    }
    for (const LdsOp *op = l->first; op; op = op->next) {
        state->waiting += !!op->wait;
    }
}

/* ---- Links -------------------------------------------------------------------------------- */

/* Whether a request leaves by a port that its destination names. */
static bool leaves_by(UbLds *l, const LdsOp *op, unsigned port)
{
    const UbTaDest *row = ub_ta_dest(l->ta, op->req.dest);

    return row && row->tp.mode != UB_TP_RTP && row->tp.flow.port == port;
}

static void link_down(UbLds *l, unsigned port)
{
    LdsOp *op, *next;

    for (op = l->first; op; op = next) {
        next = op->next;
        if (!op->told && (!l->links || leaves_by(l, op, port))) {
            lds_op_give_up(l, op, UB_LDS_EVENT_LINK);
        }
    }
}

/* What waited for a link has the time that others have. */
static void link_up(UbLds *l)
{
    for (LdsOp *op = l->first; op; op = op->next) {
        op->deadline = l->now + l->cfg.timeout;
    }
}

void ub_lds_link(UbLds *l, int64_t now, unsigned port, bool up)
{
    uint64_t bit = UINT64_C(1) << port, was = l->links;

    lds_clock(l, now);
    l->links = up ? was | bit : was & ~bit;
    if (l->links == was) {
        return;
    }
    if (!up) {
        l->down_since = l->links ? l->down_since : l->now;
        link_down(l, port);
    } else if (!was) {
        link_up(l);
    }
    l->ops.kick(l->opaque);
}

void ub_lds_pause(UbLds *l, int64_t now, bool pause)
{
    lds_clock(l, now);
    l->paused = pause;
    if (!pause) {
        l->ops.kick(l->opaque);
    }
}

/* ---- Turns ---------------------------------------------------------------------------------- */

static void expire_ops(UbLds *l, int64_t *next)
{
    LdsOp *op, *after;

    for (op = l->first; op; op = after) {
        after = op->next;
        if (op->told) {
            continue;
        }
        if (op->deadline <= l->now) {
            lds_op_give_up(l, op, l->links ? UB_LDS_EVENT_TIMEOUT
                                           : UB_LDS_EVENT_LINK);
        } else {
            *next = MIN(*next, op->deadline);
        }
    }
}

static void expire_waits(UbLds *l, int64_t *next)
{
    UbLdsWait *w, *after;

    for (w = l->waits; w; w = after) {
        after = w->next;
        if (w->deadline <= l->now) {
            lds_wait_give_up(l, w, UB_LDS_EVENT_TIMEOUT);
        } else {
            *next = MIN(*next, w->deadline);
        }
    }
}

int64_t ub_lds_run(UbLds *l, int64_t now)
{
    int64_t next = INT64_MAX;
    bool more;

    lds_clock(l, now);
    if (l->paused) {
        return INT64_MAX;
    }
    lds_matt_sweep(l);
    if (l->line.open && l->line.due <= l->now) {
        lds_line_push(l);
    }
    expire_ops(l, &next);
    more = lds_commands_serve(l);
    lds_waits_serve(l);
    expire_waits(l, &next);
    if (l->line.open) {
        next = MIN(next, l->line.due);
    }
    if (more || l->stirred) {
        return now;
    }
    return next == INT64_MAX ? next : next + l->lag;
}
