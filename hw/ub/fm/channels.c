/*
 * Who may have TP channels with whom (UB 2.0 §10.4.6): lists of peers of nodes that leave
 * it to the UBFM, by their CFG0_CAP243 (ub/tp_hw.h).
 *
 * Both ends have to have each other in their lists.  Who is gone is taken out before
 * somebody else gets its CNA.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/cfg_regs.h"
#include "ub/fm.h"
#include "ub/tp_hw.h"

static uint32_t place(uint32_t dw)
{
    return UB_CFG_CAP(UB_CFG0_BASE, UB_TPR_CAP) + dw;
}

static bool get(UbFm *fm, unsigned i, uint32_t dw, uint32_t *value)
{
    return !fm->ops->read(fm->opaque, ub_fm_at(fm, i), place(dw), value);
}

static bool set_peer(UbFm *fm, unsigned i, unsigned entry, uint32_t cna)
{
    fm->written++;
    return !fm->ops->write(fm->opaque, ub_fm_at(fm, i), place(UB_TPR_PEER(entry)), cna);
}

/* The entries that a node's list has, 0: there is no list.  What it says of itself bounds
 * nothing. */
static unsigned entries_of(UbFm *fm, unsigned i)
{
    const uint32_t bitmap = UB_CFG0_CAP_BITMAP + UB_TPR_CAP / 32;
    uint32_t caps = 0, magic = 0, size = 0;

    if (fm->ops->read(fm->opaque, ub_fm_at(fm, i), bitmap, &caps) ||
        !(caps >> UB_TPR_CAP % 32 & 1) || !get(fm, i, UB_TPR_MAGIC, &magic) ||
        magic != UB_TPR_MAGIC__VALUE || !get(fm, i, UB_TPR_SIZE, &size)) {
        return 0;
    }
    return size < UB_TPR_PEERS ? size : UB_TPR_PEERS;
}

static bool may(const UbFm *fm, const UbFmPlan *plan, unsigned i, unsigned k)
{
    return k != i && fm->node[k].cna && !fm->node[k].stranger &&
           plan->channels(plan->channels_opaque, fm->node[i].guid, fm->node[k].guid);
}

/* The node that has a CNA, or UB_FM_NONE. */
static int who_has(const UbFm *fm, uint32_t cna)
{
    return cna < fm->cnas ? fm->by_cna[cna] - 1 : UB_FM_NONE;
}

/* Entries of those who may not be any more go, and of two that are alike one; whom the
 * others name is in @has, and entries that are free in @room, @free of them.  What is
 * behind the last that names somebody is free as well, from @end on. */
static bool clean(UbFm *fm, const UbFmPlan *plan, unsigned i, unsigned entries,
                  bool *has, uint16_t *room, unsigned *free, unsigned *end)
{
    uint32_t left = 0, cna = 0;

    if (!get(fm, i, UB_TPR_COUNT, &left)) {
        return false;
    }
    for (*end = 0; left && *end < entries; ++*end) {
        int peer;

        if (!get(fm, i, UB_TPR_PEER(*end), &cna)) {
            return false;
        }
        left -= cna != 0;
        peer = cna ? who_has(fm, cna) : UB_FM_NONE;
        if (peer >= 0 && may(fm, plan, i, peer) && !has[peer]) {
            has[peer] = true;
            continue;
        }
        if (cna && !set_peer(fm, i, *end, 0)) {
            return false;
        }
        room[(*free)++] = *end;
    }
    return true;
}

static bool fit_list(UbFm *fm, const UbFmPlan *plan, unsigned i, unsigned entries)
{
    bool has[UB_FM_NODES_MOST] = { false };
    uint16_t room[UB_TPR_PEERS];
    unsigned free = 0, end = 0;

    if (!clean(fm, plan, i, entries, has, room, &free, &end)) {
        return false;
    }
    for (unsigned k = 0; k < fm->nodes; k++) {
        if (has[k] || !may(fm, plan, i, k)) {
            continue;
        }
        if (!free && end == entries) {
            return false;       /* as many as there is room for */
        }
        if (!set_peer(fm, i, free ? room[--free] : end++, fm->node[k].cna)) {
            return false;
        }
    }
    return true;
}

unsigned ub_fm_give_channels(UbFm *fm, const UbFmPlan *plan)
{
    unsigned refused = 0;

    for (unsigned i = 0; i < fm->nodes && plan->channels; i++) {
        const UbFmNode *n = &fm->node[i];
        unsigned entries = n->reached && !n->stranger ? entries_of(fm, i) : 0;

        /* A switch need not have channels. */
        if (entries || !(n->stranger || ub_fm_is_switch(n))) {
            refused += !(entries && fit_list(fm, plan, i, entries));
        }
    }
    return refused;
}
