/*
 * Network addresses, Entity identifiers and partitions of a fabric's nodes
 * (UB 2.0 §10.4.3.2, §10.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ub/cfg_regs.h"
#include "ub/fm.h"

#define CNA_MOST 0xffffu /* 16 bits: those that management packets carry */
#define EID_SHORT 0xfffffu

void ub_fm_plan_init(UbFmPlan *plan)
{
    *plan = (UbFmPlan) { .first_cna = 1 };
}

/* ---- CNAs ---- */

static bool set_cna(UbFm *fm, UbFmNode *n, uint32_t cna)
{
    UbScanAsk ask = { .cmd = UB_SCAN_NA_CONFIG, .opcode = UB_SCAN_OP_PRIMARY,
                      .cna = cna, .guid = n->guid };
    uint8_t pdu[UB_SCAN_MAX];
    unsigned len;

    if (fm->ops->scan(fm->opaque, &n->way, &ask, pdu, &len)) {
        return false;
    }
    n->cna = cna;
    fm->written++;
    return true;
}

/* The CNA that is held for a node of that fabric, 0: none. */
static uint32_t held_cna(const UbFmNode *n)
{
    return !n->stranger && n->cna <= CNA_MOST ? n->cna : 0;
}

/* CNAs that are held: of which node of that fabric, and one; 0: of none. */
static void hold(const UbFm *held, uint16_t *whose)
{
    for (unsigned i = 0; held && i < held->nodes; i++) {
        whose[held_cna(&held->node[i])] = i + 1;
    }
}

/* The same by its GUID. */
static uint32_t held_for(const UbFm *held, UbId guid)
{
    int i = held ? ub_fm_find(held, guid) : UB_FM_NONE;

    return i >= 0 ? held_cna(&held->node[i]) : 0;
}

unsigned ub_fm_give_addresses(UbFm *fm, const UbFmPlan *plan)
{
    bool *used = calloc(CNA_MOST + 1, sizeof(*used));
    uint16_t *whose = calloc(CNA_MOST + 1, sizeof(*whose));
    bool *keeps = calloc(fm->nodes + 1, sizeof(*keeps));
    uint32_t next = plan->first_cna;
    unsigned refused = 0;

    if (!used || !whose || !keeps) {
        abort();
    }
    hold(fm->held, whose);
    for (unsigned i = 0; i < fm->nodes; i++) {
        uint32_t cna = fm->node[i].cna;

        keeps[i] = cna && cna <= CNA_MOST && !used[cna] &&
                   (!whose[cna] ||
                    ub_id_same(fm->held->node[whose[cna] - 1].guid, fm->node[i].guid));
        if (keeps[i]) {
            used[cna] = true;
        }
    }
    for (unsigned i = 0; i < fm->nodes; i++) {
        uint32_t own, cna;

        if (keeps[i] || fm->node[i].stranger) {
            continue;
        }
        own = held_for(fm->held, fm->node[i].guid);
        while (next <= CNA_MOST && (!next || used[next] || whose[next])) {
            next++;
        }
        cna = own && !used[own] ? own : next;
        if (cna > CNA_MOST || !set_cna(fm, &fm->node[i], cna)) {
            /* Another node has the one that it is at. */
            fm->node[i].cna = 0;
            refused++;
        } else {
            used[cna] = true;
            fm->node[i].given = cna != own;
        }
    }
    free(used);
    free(whose);
    free(keeps);
    return refused;
}

/* ---- Identities ---- */

static bool put_register(UbFm *fm, uint32_t cna, uint32_t dw, uint32_t value)
{
    fm->written++;
    return !fm->ops->write(fm->opaque, cna, dw, value);
}

/* The part that packets carry is the last: whoever dies in the middle leaves an EID
 * that is nobody's. */
static bool put_id(UbFm *fm, uint32_t cna, uint32_t dw, UbId id)
{
    for (unsigned i = 4; i-- > 0;) {
        if (!put_register(fm, cna, dw + i, id.w[i])) {
            return false;
        }
    }
    return true;
}

static bool identify(UbFm *fm, unsigned i, const UbFmPlan *plan)
{
    UbFmNode *n = &fm->node[i];
    uint32_t cna = ub_fm_at(fm, i);
    UbId eid = plan->eid_prefix;

    if (!n->reached) {
        return false;
    }
    if (!(n->eid.w[0] & EID_SHORT)) {
        eid.w[0] = (eid.w[0] & ~EID_SHORT) | n->cna;
        if (!put_id(fm, cna, UB_CFG0_EID, eid)) {
            return false;
        }
        n->eid = eid;
    }
    if (plan->upi && n->upi != plan->upi) {
        if (!put_register(fm, cna, UB_CFG0_UPI, plan->upi)) {
            return false;
        }
        n->upi = plan->upi;
    }
    if (n->fm_cna != fm->node[0].cna) {
        if (!put_id(fm, cna, UB_CFG0_UBFM_EID, fm->node[0].eid) ||
            !put_register(fm, cna, UB_CFG0_UBFM_CNA, fm->node[0].cna)) {
            return false;
        }
        n->fm_cna = fm->node[0].cna;
    }
    return true;
}

unsigned ub_fm_give_identities(UbFm *fm, const UbFmPlan *plan)
{
    unsigned refused = 0;

    for (unsigned i = 0; i < fm->nodes; i++) {
        refused += !fm->node[i].stranger && !identify(fm, i, plan);
    }
    return refused;
}
