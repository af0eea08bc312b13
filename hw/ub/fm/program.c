/*
 * Bringing a fabric up: its routes into the tables of its nodes (UB 2.0 §D.7),
 * the nearest first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/cfg_regs.h"
#include "layers.h"

/* Where the entry of a CNA begins; an entry has a bit for each port. */
static uint32_t entry_at(const UbFmNode *n, unsigned cna, unsigned *dwords)
{
    *dwords = (n->ports + 31) / 32;
    return UB_CFG_ROUTE_BASE + UB_ROUTE_DEFAULT_ROUTING_TABLE +
           (cna + 1) * *dwords;
}

static bool write_entry(UbFm *fm, unsigned i, unsigned cna)
{
    const UbFmNode *n = &fm->node[i];
    unsigned dwords;
    uint32_t at = entry_at(n, cna, &dwords);

    for (unsigned k = 0; k < dwords; k++) {
        uint32_t value = k < 2 ? ub_fm_route(fm, i, cna) >> 32 * k : 0;

        fm->written++;
        if (fm->ops->write(fm->opaque, ub_fm_at(fm, i), at + k, value)) {
            return false;
        }
    }
    return true;
}

/* Behind the highest CNA: so many empty entries in a row are taken for the end of what
 * was written.  CNAs are given without gaps; a table of thousands takes long to read. */
#define GAP 32

/* Whether the node's entry is the one that it should have; false: it does not say. */
static bool read_entry(UbFm *fm, unsigned i, unsigned cna, bool *good)
{
    const UbFmNode *n = &fm->node[i];
    uint64_t want = ub_fm_route(fm, i, cna);
    unsigned dwords;
    uint32_t at = entry_at(n, cna, &dwords);

    *good = true;
    for (unsigned k = 0; k < dwords && *good; k++) {
        uint32_t value = 0;

        if (fm->ops->read(fm->opaque, ub_fm_at(fm, i), at + k, &value)) {
            return false;
        }
        *good = value == (k < 2 ? (uint32_t)(want >> 32 * k) : 0);
    }
    return true;
}

/* The node as it was, if all of its table is known; else UB_FM_NONE. */
static int was_node(const UbFm *before, UbId guid)
{
    int j = before ? ub_fm_find(before, guid) : UB_FM_NONE;

    return j >= 0 && before->node[j].reached && before->node[j].route
           ? j : UB_FM_NONE;
}

/*
 * The table of a node; false: an entry was refused.  *fits: it has room for all CNAs; one
 * beyond it is to cost that node its routes, and nobody else.  A node that has a
 * manager may have been brought up by one that is not there any more, or by half of
 * one: its table is looked at, and behind it what nodes have left that are gone; what is
 * right is not written.
 */
static bool program_node(UbFm *fm, unsigned i, const UbFm *before, bool *fits)
{
    const UbFmNode *n = &fm->node[i];
    unsigned cnas = fm->cnas;
    unsigned empty = 0;
    int was = was_node(before, n->guid);
    bool reads;

    *fits = true;
    /* A node that does not know its manager any more was reset. */
    if (n->fm_cna != fm->node[0].cna || was < 0) {
        before = NULL;
    }
    reads = !before && n->fm_cna;
    /* Nodes that are gone leave their entries. */
    if (before && before->cnas > cnas) {
        cnas = before->cnas;
    }
    if (reads && n->routes > cnas) {
        cnas = n->routes;
    }
    for (unsigned cna = 1; cna < cnas && empty < GAP; cna++) {
        uint64_t want = ub_fm_route(fm, i, cna);
        bool good = before && ub_fm_route(before, was, cna) == want;

        if (cna >= n->routes) {
            *fits &= !want;
            continue;
        }
        if ((reads && !read_entry(fm, i, cna, &good)) ||
            (!good && !write_entry(fm, i, cna))) {
            return false;
        }
        empty = reads && cna >= fm->cnas && good ? empty + 1 : 0;
    }
    return true;
}

/* Maps of VLs, where they are needed or were; first of all whether there can be any:
 * then paths are worked out once more. */
static bool program_vls(UbFm *fm, unsigned i, const UbFm *before)
{
    const UbFmNode *n = &fm->node[i];
    int j = n->fm_cna == fm->node[0].cna ? was_node(before, n->guid)
                                         : UB_FM_NONE;
    bool mapped = before && before->layers > 1;

    if (!ub_fm_is_switch(n) || (!fm->ringed && !mapped && before)) {
        return true;
    }
    if (fm->ringed && !ub_fm_inquire_vls(fm, i)) {
        return false;
    }
    /* Nobody has written maps of a node that has no manager; what another one has
     * written does no harm to routes by a tree, and may be wanted in a moment. */
    if (fm->layers < 2 && (!n->fm_cna || fm->ringed)) {
        return true;
    }
    if (!ub_fm_has_policy(fm, i)) {
        return fm->layers < 2;
    }
    return ub_fm_program_vls(fm, i, before, j < 0 ? NULL : &before->node[j]);
}

unsigned ub_fm_program(UbFm *fm, const UbFm *before)
{
    unsigned refused = 0;

    for (unsigned i = 0; i < fm->nodes; i++) {
        UbFmNode *n = &fm->node[i];
        bool fits = true;

        if (n->stranger) {
            continue;
        }
        if (!n->reached && !ub_fm_inquire_node(fm, i)) {
            refused++;
        } else if (!program_vls(fm, i, before) ||
                   (n->routes && !program_node(fm, i, before, &fits))) {
            /* Next time all of it is written again. */
            n->reached = false;
            refused++;
        } else {
            refused += !fits;
        }
    }
    return refused;
}

static unsigned count_switches(const UbFm *fm)
{
    unsigned n = 0;

    for (unsigned i = 0; i < fm->nodes; i++) {
        n += ub_fm_is_switch(&fm->node[i]);
    }
    return n;
}

/*
 * Switches of a fabric with rings that had their addresses before we came: the VLs that
 * they have, so that what a manager before us has written is right at once.  Whoever
 * does not answer ends it: it has no routes yet.
 */
static void learn_vls(UbFm *fm, bool addressed)
{
    if (!addressed || !fm->ringed) {
        return;
    }
    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];

        if (!n->stranger && ub_fm_is_switch(n) && !n->vls &&
            ((!n->reached && !ub_fm_inquire_node(fm, i)) ||
             !ub_fm_inquire_vls(fm, i))) {
            return;
        }
    }
}

/* All switches have addresses. */
static bool is_addressed(const UbFm *fm)
{
    for (unsigned i = 0; i < fm->nodes; i++) {
        if (ub_fm_is_switch(&fm->node[i]) && !fm->node[i].stranger &&
            !fm->node[i].cna) {
            return false;
        }
    }
    return true;
}

/* What nodes say of themselves may be another each time: so often it is believed. */
#define PASSES 4

unsigned ub_fm_bring_up(UbFm *fm, const UbFmPlan *plan, const UbFm *before)
{
    unsigned refused, switches, vls, passes = 0;
    bool addressed = is_addressed(fm);

    fm->written = 0;
    refused = ub_fm_give_addresses(fm, plan);
    /* Controllers that forward are known once they were asked, and so are VLs. */
    for (unsigned i = 0; before && i < fm->nodes; i++) {
        int j = ub_fm_find(before, fm->node[i].guid);

        if (j >= 0) {
            fm->node[i].forwards |= before->node[j].forwards;
            fm->node[i].policy = before->node[j].policy;
            fm->node[i].vls = before->node[j].vls;
            fm->node[i].given |= before->node[j].given;
            fm->node[i].mapped = before->node[j].mapped && !before->node[j].stranger;
        }
    }
    ub_fm_paths(fm);
    learn_vls(fm, addressed);
    do {
        switches = count_switches(fm);
        ub_fm_paths(fm);
        vls = fm_least_vls(fm);
        /* What a first pass has written is not what was there before. */
        refused = ub_fm_program(fm, passes ? NULL : before);
        passes++;
    } while (passes < PASSES &&
             (count_switches(fm) != switches ||
              (fm->ringed && fm_least_vls(fm) != vls)));
    refused += ub_fm_give_partitions(fm, plan, before);
    refused += ub_fm_give_identities(fm, plan);
    /* Who the UBFM is is known by now. */
    return refused + ub_fm_give_channels(fm, plan);
}

bool ub_fm_forgotten(UbFm *fm)
{
    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];
        uint32_t cna;

        if (!n->stranger && (!i || n->cna) &&
            !fm->ops->read(fm->opaque, ub_fm_at(fm, i), UB_CFG0_UBFM_CNA,
                           &cna) &&
            (cna & UB_CFG0_UBFM_CNA__ALL) != fm->node[0].cna) {
            return true;
        }
    }
    return false;
}
