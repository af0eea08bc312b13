/*
 * Groups of channels between two UBPUs (TPG, UB 2.0 §6.5.1.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static Group *group_get(const UbTp *tp, uint32_t number)
{
    return number < tp->cfg.max_groups ? tp->groups[number] : NULL;
}

void group_remove(Chan *ch)
{
    Group *g = ch->group;

    if (!g) {
        return;
    }
    if (g->turn == ch) {
        g->turn = ch->peer_next;
    }
    if (ch->peer_prev) {
        ch->peer_prev->peer_next = ch->peer_next;
    } else {
        g->first = ch->peer_next;
    }
    if (ch->peer_next) {
        ch->peer_next->peer_prev = ch->peer_prev;
    }
    ch->peer_prev = ch->peer_next = NULL;
    ch->group = NULL;
}

UbTpResult ub_tpg_create(UbTp *tp, uint32_t *tpgn, UbTpgPolicy policy)
{
    uint32_t n = *tpgn;

    if (policy >= UB_TPG_POLICIES ||
        (n != UB_TP_NONE && n >= tp->cfg.max_groups)) {
        return UB_TPR_BAD_ATTR;
    }
    if (n != UB_TP_NONE && tp->groups[n]) {
        return UB_TPR_IN_USE;
    }
    for (uint32_t i = 0; n == UB_TP_NONE && i < tp->cfg.max_groups; i++) {
        if (!tp->groups[i]) {
            n = i;
        }
    }
    if (n == UB_TP_NONE) {
        return UB_TPR_FULL;
    }
    tp->groups[n] = g_new0(Group, 1);
    tp->groups[n]->number = n;
    tp->groups[n]->policy = policy;
    tp->num_groups++;
    *tpgn = n;
    return UB_TPR_OK;
}

UbTpResult ub_tpg_destroy(UbTp *tp, uint32_t tpgn)
{
    Group *g = group_get(tp, tpgn);

    if (!g) {
        return UB_TPR_NO_CHANNEL;
    }
    while (g->first) {
        group_remove(g->first);
    }
    g_free(g);
    tp->groups[tpgn] = NULL;
    tp->num_groups--;
    return UB_TPR_OK;
}

static bool addresses_same(const UbFlow *a, const UbFlow *b)
{
    if (ub_lph_is_ip(a->cfg) || ub_lph_is_ip(b->cfg)) {
        return a->cfg == b->cfg && !memcmp(a->ip.dst, b->ip.dst, sizeof(a->ip.dst)) &&
               !memcmp(a->ip.src, b->ip.src, sizeof(a->ip.src));
    }
    return a->dcna == b->dcna && a->scna == b->scna;
}

/* The peer knows by the addresses whose numbers in order a request has. */
bool group_takes(const Group *g, const Chan *ch, const UbFlow *flow)
{
    const Chan *other = g->first;

    if (other && other == ch) {
        other = ch->peer_next;
    }
    return !other || addresses_same(&other->attr.flow, flow);
}

UbTpResult ub_tpg_join(UbTp *tp, uint32_t tpgn, uint32_t tpn)
{
    Group *g = group_get(tp, tpgn);
    Chan *ch = chan_get(tp, tpn);

    if (!g || !ch) {
        return UB_TPR_NO_CHANNEL;
    }
    if (ch->group) {
        return UB_TPR_IN_USE;
    }
    if (!group_takes(g, NULL, &ch->attr.flow)) {
        return UB_TPR_BAD_ATTR;
    }
    group_add(g, ch);
    return UB_TPR_OK;
}

void group_add(Group *g, Chan *ch)
{
    Chan **at;

    for (at = &g->first; *at; at = &(*at)->peer_next) {
        ch->peer_prev = *at;
    }
    *at = ch;
    ch->group = g;
}

UbTpResult ub_tpg_leave(UbTp *tp, uint32_t tpn)
{
    Chan *ch = chan_get(tp, tpn);

    if (!ch || !ch->group) {
        return UB_TPR_NO_CHANNEL;
    }
    group_remove(ch);
    return UB_TPR_OK;
}

uint32_t ub_tpg_pick(UbTp *tp, uint32_t tpgn)
{
    Group *g = group_get(tp, tpgn);
    Chan *best = NULL, *ch;

    if (!g || !g->first) {
        return UB_TP_NONE;
    }
    ch = g->turn ? g->turn : g->first;
    for (Chan *start = ch;;) {
        if (ch->state == UB_TP_ACTIVE) {
            bool ready = ub_tp_ready(tp, ch->tpn);
            bool best_ready = best && ub_tp_ready(tp, best->tpn);

            if (!best || (ready && !best_ready) ||
                (ready == best_ready && g->policy == UB_TPG_LEAST &&
                 ch->bytes < best->bytes)) {
                best = ch;
            }
            if (ready && g->policy == UB_TPG_ROUND) {
                break;
            }
        }
        ch = ch->peer_next ? ch->peer_next : g->first;
        if (ch == start) {
            break;
        }
    }
    if (!best) {
        return UB_TP_NONE;
    }
    g->turn = best->peer_next;
    return best->tpn;
}
