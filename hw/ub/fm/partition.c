/*
 * Partitions of the network layer (UB 2.0 §5.3.3): NPIs of nodes, and what passes the
 * ports of switches, by their CFG0_CAP242 (ub/net_hw.h).
 *
 * A port behind which a node is lets its partition pass, high and low, and gives the
 * node's own NPI to what comes in, whatever the node wrote: nobody is in another
 * partition by saying so.  A port that leads to nobody, or to nobody who is in a
 * partition, lets nothing pass.  Between switches all may pass: who is at the edges has
 * decided.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/cfg_regs.h"
#include "ub/fm.h"
#include "ub/net_hw.h"

#define LOW 0x01000000u     /* an NPI's Permission */
#define ID 0x00ffffffu
/* NPIs of a list that are looked at: more are nobody's of ours. */
#define LIST_MOST 256

/* ---- Registers ---- */

static uint32_t place(uint32_t dw)
{
    return UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + dw;
}

static bool get(UbFm *fm, unsigned i, uint32_t dw, uint32_t *value)
{
    return !fm->ops->read(fm->opaque, ub_fm_at(fm, i), place(dw),
                          value);
}

static bool put(UbFm *fm, unsigned i, uint32_t dw, uint32_t value)
{
    return !fm->ops->write(fm->opaque, ub_fm_at(fm, i), place(dw),
                           value);
}

/* A change, and that it was done. */
static bool change(UbFm *fm, unsigned i, uint32_t dw, uint32_t value)
{
    uint32_t result;

    fm->written++;
    return put(fm, i, dw, value) && get(fm, i, UB_NETR_RESULT, &result) &&
           result == UB_NETR_R_OK;
}

/* ---- What is wanted ---- */

/* By the port of a switch that it is behind. */
static uint32_t npi_behind(const UbFm *fm, const UbFmPlan *plan, unsigned i)
{
    const UbFmNode *n = &fm->node[i];

    for (unsigned p = 0; p < n->ports; p++) {
        int peer = n->port[p].up ? n->port[p].peer : UB_FM_NONE;
        uint32_t npi = 0;

        if (peer >= 0 && ub_fm_is_switch(&fm->node[peer])) {
            npi = plan->npi(plan->npi_opaque, fm->node[peer].guid,
                            n->port[p].peer_port);
        }
        if (npi & ID) {
            return npi;
        }
    }
    return 0;
}

uint32_t ub_fm_npi_of(const UbFm *fm, const UbFmPlan *plan, unsigned i)
{
    uint32_t npi = plan->npi ? plan->npi(plan->npi_opaque, fm->node[i].guid,
                                         UB_FM_NONE) : 0;

    return npi & ID ? npi : plan->npi ? npi_behind(fm, plan, i) : 0;
}

/* Who is behind a port of a switch decides what it lets pass.  Beyond a boundary is
 * another manager's, and only what is said of the port itself counts. */
static UbFmGate gate_of(const UbFm *fm, const UbFmPlan *plan, unsigned i,
                        unsigned port, uint32_t *npi)
{
    const UbFmNode *n = &fm->node[i];
    const UbFmPort *p = &n->port[port];
    int peer = p->up ? ub_fm_find(fm, p->peer_guid) : UB_FM_NONE;
    const UbFmNode *there = peer < 0 ? NULL : &fm->node[peer];

    *npi = plan->npi(plan->npi_opaque, n->guid, port);
    if (*npi & ID) {
        return UB_FM_GATE_CLOSED;
    }
    *npi = 0;
    if (p->up && p->boundary && !there) {
        return UB_FM_GATE_UNKNOWN;
    }
    if (there && !there->stranger && ub_fm_is_switch(there)) {
        return UB_FM_GATE_OPEN;
    }
    *npi = there && !there->stranger ? ub_fm_npi_of(fm, plan, peer) : 0;
    return UB_FM_GATE_CLOSED;
}

/* ---- What is done ---- */

/* The list of the selected port is @id, high and low, or with ID 0 empty.  New ones come
 * before old ones go: an empty list may let all pass. */
static bool fit_list(UbFm *fm, unsigned i, uint32_t id)
{
    const uint32_t want[2] = { id, id | LOW };
    uint32_t have[LIST_MOST], n = 0;
    bool there[2] = { !id, !id };

    if (!get(fm, i, UB_NETR_COUNT, &n)) {
        return false;
    }
    n = n < LIST_MOST ? n : LIST_MOST;
    for (uint32_t k = 0; k < n; k++) {
        if (!put(fm, i, UB_NETR_INDEX, k) ||
            !get(fm, i, UB_NETR_ENTRY, &have[k])) {
            return false;
        }
        there[0] |= have[k] == want[0];
        there[1] |= have[k] == want[1];
    }
    for (unsigned k = 0; k < 2; k++) {
        if (!there[k] && !change(fm, i, UB_NETR_ADD, want[k])) {
            return false;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        bool wanted = id && (have[k] & ID) == id;

        if (!wanted && !change(fm, i, UB_NETR_REMOVE, have[k])) {
            return false;
        }
    }
    return true;
}

static bool fit_port(UbFm *fm, unsigned i, unsigned port)
{
    const UbFmPort *p = &fm->node[i].port[port];
    bool closed = p->gate == UB_FM_GATE_CLOSED;
    uint32_t want = (p->npi & (ID | LOW)) |
                    (closed ? UB_NETR_PORT__CLOSED : 0), is = 0;

    if (!put(fm, i, UB_NETR_SELECT, port) || !get(fm, i, UB_NETR_PORT, &is)) {
        return false;
    }
    /* It is closed before its list changes, and opened afterwards. */
    if (closed && is != want && !change(fm, i, UB_NETR_PORT, want)) {
        return false;
    }
    return fit_list(fm, i, p->npi & ID) &&
           (closed || is == want || change(fm, i, UB_NETR_PORT, want));
}

/* Ports of a switch.  False: one of them is not as it should be. */
static bool fit_ports(UbFm *fm, const UbFmPlan *plan, unsigned i,
                      const UbFmNode *was)
{
    UbFmNode *n = &fm->node[i];
    bool good = true;

    for (unsigned p = 0; p < n->ports && p < 64; p++) {
        UbFmPort *port = &n->port[p];

        port->gate = gate_of(fm, plan, i, p, &port->npi);
        if (port->gate == UB_FM_GATE_UNKNOWN ||
            (was && p < was->ports && was->port[p].gate == port->gate &&
             was->port[p].npi == port->npi)) {
            continue;
        }
        if (!fit_port(fm, i, p)) {
            port->gate = UB_FM_GATE_UNKNOWN;
            good = false;
        }
    }
    return good;
}

/* Its own NPI.  Who is in no partition keeps what it has: no port lets it pass. */
static bool fit_own(UbFm *fm, const UbFmPlan *plan, unsigned i)
{
    uint32_t want = ub_fm_npi_of(fm, plan, i) & (ID | LOW), is = 0;
    UbFmNode *n = &fm->node[i];

    if (!get(fm, i, UB_NETR_NPI, &is)) {
        return false;
    }
    if (want && is != want) {
        fm->written++;
        if (!put(fm, i, UB_NETR_NPI, want)) {
            return false;
        }
        is = want;
    }
    n->npi = is;
    return true;
}

/* The node as it was brought up last, if it knows its manager still. */
static const UbFmNode *was_of(const UbFm *fm, const UbFm *before, unsigned i)
{
    const UbFmNode *n = &fm->node[i];
    int j = before ? ub_fm_find(before, n->guid) : UB_FM_NONE;

    return j >= 0 && before->node[j].reached && n->fm_cna == fm->node[0].cna
           ? &before->node[j] : NULL;
}

unsigned ub_fm_give_partitions(UbFm *fm, const UbFmPlan *plan,
                               const UbFm *before)
{
    unsigned refused = 0;

    for (unsigned i = 0; i < fm->nodes && plan->npi; i++) {
        const UbFmNode *n = &fm->node[i];
        bool good;

        if (n->stranger) {
            continue;
        }
        /* One that cannot part its ports, or does not answer, is as bad as refusing. */
        good = n->reached && ub_fm_has_policy(fm, i) && fit_own(fm, plan, i);
        if (good && ub_fm_is_switch(n)) {
            good = fit_ports(fm, plan, i, was_of(fm, before, i));
        }
        refused += !good;
    }
    return refused;
}
