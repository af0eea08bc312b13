/*
 * With whom there may be channels, where that is the UBFM's to say (UB 2.0 §10.4.6): its
 * list in CFG0_CAP243 (ub/tp_hw.h).
 *
 * No channel comes up but with a node of the list, whoever asks for it, and those to a
 * node that is taken out end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"
#include "ub/cfg_regs.h"
#include "ub/tp_hw.h"

static uint32_t peer_at(const UbSlice *s, unsigned i)
{
    return ub_slice_get(s, UB_TPR_PEER(i)) & UB_TPR_PEER__CNA;
}

static bool may_lead(const UbTp *tp, const UbFlow *to)
{
    if (!tp->allow.slice) {
        return true;
    }
    /* Addresses of IP are none that a UBFM gives. */
    for (unsigned i = 0; !ub_lph_is_ip(to->cfg) && i < UB_TPR_PEERS; i++) {
        if (to->dcna && peer_at(tp->allow.slice, i) == to->dcna) {
            return true;
        }
    }
    return false;
}

bool allow_asks(UbTp *tp, const UbFlow *to)
{
    UbSlice *s = tp->allow.slice;

    if (may_lead(tp, to)) {
        return true;
    }
    ub_slice_set(s, UB_TPR_DENIED, ~0u, ub_slice_get(s, UB_TPR_DENIED) + 1);
    ub_slice_set(s, UB_TPR_LAST, ~0u, ub_lph_is_ip(to->cfg) ? 0 : to->dcna);
    return false;
}

/* The list as a set: there may be many channels. */
typedef struct Sweep {
    int64_t now;
    GHashTable *cnas;
} Sweep;

static void sweep(void *opaque, void *p)
{
    const Sweep *s = opaque;
    Chan *ch = p;

    if (ub_lph_is_ip(ch->attr.flow.cfg) ||
        !g_hash_table_contains(s->cnas, GUINT_TO_POINTER(ch->attr.flow.dcna))) {
        setup_end(ch, s->now);
    }
}

void allow_run(UbTp *tp, int64_t now)
{
    Sweep s = { .now = now };
    uint32_t cna;

    if (!tp->allow.changed) {
        return;
    }
    tp->allow.changed = false;
    s.cnas = g_hash_table_new(NULL, NULL);
    for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
        cna = peer_at(tp->allow.slice, i);
        if (cna) {
            g_hash_table_add(s.cnas, GUINT_TO_POINTER(cna));
        }
    }
    core_table_foreach(&tp->chans, sweep, &s);
    g_hash_table_unref(s.cnas);
}

/* ---- Registers ---- */

/* Where somebody was who is not any more.  In the middle of a message: channels end in
 * the next turn. */
static void written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbTp *tp = opaque;

    if (w->changed && w->value ^ w->changed) {
        tp->allow.changed = true;
        tp->allow.kick(tp->allow.opaque);
    }
}

static void refresh(void *opaque, UbSlice *s, unsigned dw)
{
    uint32_t n = 0;

    if (dw == UB_TPR_COUNT) {
        for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
            n += peer_at(s, i) != 0;
        }
        ub_slice_set(s, dw, ~0u, n);
    }
}

static const UbSliceOps allow_ops = { written, refresh };

bool ub_tp_manage(UbTp *tp, UbSpace *space, void (*kick)(void *opaque),
                  void *opaque)
{
    UbSpaceDword *dw;
    unsigned n = 0;

    if (tp->allow.slice) {
        return false;
    }
    dw = g_new0(UbSpaceDword, UB_TPR_PEERS + 6);
    dw[n++] = (UbSpaceDword){ .dw = UB_TPR_HEADER, .reset = UB_TPR_USED << 4,
                              .name = "Slice Header" };
    dw[n++] = (UbSpaceDword){ .dw = UB_TPR_MAGIC, .reset = UB_TPR_MAGIC__VALUE,
                              .name = "Magic" };
    dw[n++] = (UbSpaceDword){ .dw = UB_TPR_SIZE, .reset = UB_TPR_PEERS,
                              .name = "Size" };
    dw[n++] = (UbSpaceDword){ .dw = UB_TPR_COUNT, .name = "Count" };
    dw[n++] = (UbSpaceDword){ .dw = UB_TPR_DENIED, .name = "Denied" };
    dw[n++] = (UbSpaceDword){ .dw = UB_TPR_LAST, .name = "Last" };
    for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
        dw[n++] = (UbSpaceDword){ .dw = UB_TPR_PEER(i), .rw = UB_TPR_PEER__CNA,
                                  .name = "Peer" };
    }
    tp->allow.table = (UbSpaceSlice){ "CFG0_CAP243_VD", UB_SPACE_CFG0, UB_TPR_CAP,
                                      UB_TPR_USED, dw, n };
    tp->allow.kick = kick;
    tp->allow.opaque = opaque;
    tp->allow.slice =
        ub_space_attach_at(space, UB_CFG_CAP(UB_CFG0_BASE, UB_TPR_CAP),
                           &tp->allow.table, &allow_ops, tp);
    if (!tp->allow.slice) {
        allow_free(tp);
        return false;
    }
    ub_slice_manage(tp->allow.slice);
    return true;
}

void allow_free(UbTp *tp)
{
    g_free((UbSpaceDword *)tp->allow.table.dwords);
    tp->allow.table.dwords = NULL;
}
