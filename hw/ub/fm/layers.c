/*
 * Maps of VLs that keep links from waiting for one another in a ring (UB 2.0 §5.3.6),
 * by CFG0_CAP242 of the switches (ub/net_hw.h).
 *
 * Levels of a spanning tree order the switches.  A packet that came down and goes up
 * again changes to the next layer of VLs; whatever else it does it stays.  In one layer
 * ways go up and then down, so that no ring is in it, and layers are left upwards only.
 *
 * A sender's VL is its class: the first `classes` VLs are layer 0 of each, the next
 * ones layer 1, and so on.  Behind the last switch a packet is in layer 0 again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "layers.h"

#include "ub/cfg_regs.h"
#include "ub/net_hw.h"

#define VLS 16

/* In-groups: who sends by the port; out-groups: where it leads. */
enum { EDGE, ABOVE, BELOW };

_Static_assert(UB_NETR_VL_GROUP_DW(64) - UB_NETR_VL_GROUP ==
               sizeof(((UbFmNode *)0)->vl_group) / sizeof(uint32_t),
               "groups of 64 ports");

/* ---- What is worked out ---- */

unsigned fm_least_vls(const UbFm *fm)
{
    unsigned least = VLS;

    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];

        if (!n->stranger && ub_fm_is_switch(n) && n->vls < least) {
            least = n->vls;
        }
    }
    return least ? least : 1;
}

void fm_group_ports(UbFm *fm, const unsigned *level)
{
    for (unsigned i = 0; i < fm->nodes; i++) {
        UbFmNode *n = &fm->node[i];

        memset(n->vl_group, 0, sizeof(n->vl_group));
        for (unsigned p = 0; p < n->ports && p < 64 && fm->layers > 1; p++) {
            int peer = n->port[p].up ? n->port[p].peer : UB_FM_NONE;
            uint32_t group = EDGE;

            if (peer >= 0 && ub_fm_is_switch(&fm->node[peer])) {
                group = level[peer] < level[i] ? ABOVE : BELOW;
            }
            n->vl_group[p / 8] |= (group | group << 2)
                                  << UB_NETR_VL_GROUP_SHIFT(p);
        }
    }
}

unsigned ub_fm_vl_out(const UbFm *fm, unsigned in, unsigned out, unsigned vl)
{
    unsigned used = fm->layers * fm->classes;

    if (fm->layers < 2) {
        return vl;
    }
    if (in == EDGE || out == EDGE) {
        return vl % fm->classes;
    }
    /* In the last layer nobody turns who came by these maps. */
    return in == ABOVE && out == ABOVE && vl + fm->classes < used
           ? vl + fm->classes : vl;
}

/* ---- Registers ---- */

static uint32_t place(uint32_t dw)
{
    return UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + dw;
}

bool ub_fm_has_policy(UbFm *fm, unsigned i)
{
    UbFmNode *n = &fm->node[i];
    const uint32_t bitmap = UB_CFG0_CAP_BITMAP + UB_NETR_CAP / 32;
    uint32_t caps = 0, magic = 0;

    if (n->policy == UB_FM_POLICY_UNKNOWN &&
        !fm->ops->read(fm->opaque, ub_fm_at(fm, i), bitmap, &caps) &&
        (!(caps >> UB_NETR_CAP % 32 & 1) ||
         !fm->ops->read(fm->opaque, ub_fm_at(fm, i), place(UB_NETR_MAGIC),
                        &magic))) {
        n->policy = magic == UB_NETR_MAGIC__VALUE ? UB_FM_POLICY_THERE
                                                  : UB_FM_POLICY_ABSENT;
    }
    return n->policy == UB_FM_POLICY_THERE;
}

/* VLs from 0 on that a link has, as both ends agreed. */
static unsigned vls_of(uint32_t status)
{
    uint32_t on = status & UB_LINK_DL_STATUS_DW10__VL_ENABLE_PRO_STA;

    return __builtin_ctz(~on);
}

bool ub_fm_inquire_vls(UbFm *fm, unsigned i)
{
    UbFmNode *n = &fm->node[i];
    unsigned least = VLS;

    if (!ub_fm_has_policy(fm, i)) {
        n->vls = 1;
        return n->policy == UB_FM_POLICY_ABSENT;
    }
    for (unsigned p = 0; p < n->ports && p < 64; p++) {
        int peer = n->port[p].up ? n->port[p].peer : UB_FM_NONE;
        uint32_t status = 0;
        unsigned vls;

        if (peer < 0 || !ub_fm_is_switch(&fm->node[peer])) {
            continue;
        }
        if (fm->ops->read(fm->opaque, ub_fm_at(fm, i),
                          UB_CFG_PORT_CAP(p, UB_CAP_LINK) +
                          UB_LINK_DL_STATUS_DW10, &status)) {
            n->vls = 1;
            return false;
        }
        vls = vls_of(status);
        least = vls < least ? vls : least;
    }
    n->vls = least ? least : 1;
    return true;
}

/* Write what differs; @known: what it is now, NULL: ask. */
static bool put(UbFm *fm, unsigned i, uint32_t dw, uint32_t value,
                const uint32_t *known)
{
    uint32_t is;

    if (!known) {
        known = &is;
        if (fm->ops->read(fm->opaque, ub_fm_at(fm, i), place(dw), &is)) {
            return false;
        }
    }
    if (*known == value) {
        return true;
    }
    fm->written++;
    return !fm->ops->write(fm->opaque, ub_fm_at(fm, i), place(dw), value);
}

static uint32_t eight_vls(const UbFm *fm, unsigned in, unsigned out,
                          unsigned first)
{
    uint32_t v = 0;

    for (unsigned vl = first; vl < first + 8; vl++) {
        v |= ub_fm_vl_out(fm, in, out, vl) << UB_NETR_VL_MAP_SHIFT(vl);
    }
    return v;
}

/* Whether somebody has put a port into a group; false too: it does not say. */
static bool is_mapped(UbFm *fm, unsigned i, bool *good)
{
    uint32_t v = 0, all = 0;

    *good = true;
    for (unsigned p = 0; p < fm->node[i].ports && p < 64 && *good; p += 8) {
        *good = !fm->ops->read(fm->opaque, ub_fm_at(fm, i),
                               place(UB_NETR_VL_GROUP_DW(p)), &v);
        all |= v;
    }
    return *good && all;
}

/*
 * Maps before groups, as long as nothing is in the groups: then no packet goes by half of
 * a map.  Without layers nothing is written where nobody has been before.
 */
bool ub_fm_program_vls(UbFm *fm, unsigned i, const UbFm *before,
                       const UbFmNode *was)
{
    const UbFmNode *n = &fm->node[i];
    bool good, same = was && before->layers == fm->layers &&
                      before->classes == fm->classes;

    if (fm->layers < 2 && (was ? before->layers < 2
                               : !is_mapped(fm, i, &good))) {
        return was || good;
    }
    for (unsigned in = EDGE; in <= BELOW && !same; in++) {
        for (unsigned k = 0; k < (BELOW + 1) * 2; k++) {
            unsigned out = k / 2, first = k % 2 * 8;

            if (!put(fm, i, UB_NETR_VL_MAP_DW(in, out, first),
                     eight_vls(fm, in, out, first), NULL)) {
                return false;
            }
        }
    }
    for (unsigned p = 0; p < n->ports && p < 64; p += 8) {
        if (!put(fm, i, UB_NETR_VL_GROUP_DW(p), n->vl_group[p / 8],
                 was ? &was->vl_group[p / 8] : NULL)) {
            return false;
        }
    }
    return true;
}
