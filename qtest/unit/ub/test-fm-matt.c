/*
 * A fabric manager and decoders whose tables are its own (UB 2.0 §10.4.7): what it
 * writes is what a real decoder then does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <unistd.h>

#include "fm-world.h"
#include "ub/fm_matt.h"
#include "ub/lds.h"
#include "ubfm-pool.h"

#define MIB (1ull << 20)
#define WINDOW (1024 * MIB)

/* A manager (node 0), a switch, and two leaves; node 2 has a decoder that is the
 * manager's, node 3 one of its driver's. */
enum { MANAGER, SWITCH, USER, OTHER };

typedef struct Bed {
    World *w;
    UbFm *fm;
    UbLds *lds;
} Bed;

static void nothing(void *opaque)
{
}

/* ... or node @managed has it. */
static void open_bed_of(Bed *b, unsigned managed)
{
    static const UbLdsOps ops = { .kick = nothing };
    UbLdsConfig cfg;
    UbFmPlan plan;
    Node *n;

    b->w = world_new();
    g_assert_cmpuint(add_switch(b->w, 4), ==, SWITCH);
    g_assert_cmpuint(add_leaf(b->w), ==, USER);
    g_assert_cmpuint(add_leaf(b->w), ==, OTHER);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_true(i == SWITCH || join(b->w, i, SWITCH));
    }
    n = &b->w->f.node[managed];
    ub_lds_config_init(&cfg);
    cfg.window = WINDOW;
    cfg.managed = true;
    b->lds = ub_lds_new(&cfg, &ops, NULL);
    ub_lds_attach(b->lds, n->space);
    ub_slice_init(n->cfg1, UB_CFG1_SUPPORTED_FEATURE,
                  UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION, ~0u);
    ub_space_write(n->space, 0,
                   UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_DECODER) + UB_DECODER_CTRL, 1, 15);
    b->fm = look(b->w);
    ub_fm_plan_init(&plan);
    plan.upi = 5;
    g_assert_cmpuint(ub_fm_bring_up(b->fm, &plan, NULL), ==, 0);
    g_assert_cmpuint(ub_fm_maps_drop(b->fm, NULL), ==, 0);
}

static void open_bed(Bed *b)
{
    open_bed_of(b, USER);
}

static void close_bed(Bed *b)
{
    ub_fm_free(b->fm);
    world_free(b->w);
    ub_lds_free(b->lds);
}

/* By the manager's number of a node. */
static unsigned node_of(Bed *b, unsigned i)
{
    int node = ub_fm_find(b->fm, b->w->f.node[i].guid);

    g_assert_cmpint(node, >=, 0);
    return node;
}

static UbFmMap map_to(Bed *b, unsigned home, uint32_t first, uint32_t last)
{
    const UbFmNode *n = &b->fm->node[node_of(b, home)];

    return (UbFmMap){
        .first = first, .last = last, .cna = n->cna, .eid = n->eid,
        .uba = 0x123400000 + first * MIB, .token_id = 0xabcde, .token = 0x89abcdef,
        .check = true,
    };
}

static void leads(Bed *b, uint64_t at, uint64_t uba)
{
    UbLdsRoute route;

    ub_lds_route(b->lds, at, &route);
    g_assert_cmphex(route.event, ==, uba ? 0 : UB_LDS_EVENT_RANGE);
    if (uba) {
        g_assert_cmphex(route.uba, ==, uba);
        g_assert_cmphex(route.token_id, ==, 0xabcde);
    }
}

static void test_entries(void)
{
    UbFmMap map, has, odd;
    UbLdsMap seen;
    unsigned user, entries;
    Bed b;

    open_bed(&b);
    user = node_of(&b, USER);
    g_assert_cmpint(ub_fm_map_size(b.fm, user, &entries), ==, UB_MGMT_OK);
    g_assert_cmpuint(entries, ==, UB_LDS_MATT_ENTRIES);
    leads(&b, 5 * MIB, 0);
    map = map_to(&b, OTHER, 5, 8);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_OK);
    leads(&b, 6 * MIB + 0x1238, 0x123400000 + 6 * MIB + 0x1238);
    leads(&b, 9 * MIB, 0);
    g_assert_true(ub_lds_map(b.lds, 0, &seen));
    g_assert_cmphex(seen.cna, ==, cna_of(b.w, OTHER));
    g_assert_cmphex(get_be32(seen.deid.b + 12), ==, map.eid.w[0]);
    g_assert_cmphex(get_be32(seen.deid.b), ==, map.eid.w[3]);
    /* What the manager reads is what it wrote. */
    g_assert_cmpint(ub_fm_map_get(b.fm, user, 0, &has), ==, UB_MGMT_OK);
    g_assert_cmpuint(has.first, ==, 5);
    g_assert_cmpuint(has.last, ==, 8);
    g_assert_cmphex(has.uba, ==, map.uba);
    g_assert_cmphex(has.token, ==, map.token);
    g_assert_true(has.check && ub_id_same(has.eid, map.eid));
    g_assert_cmpint(ub_fm_map_get(b.fm, user, 1, &has), ==, UB_MGMT_ABSENT);
    /* MiBs are of one entry. */
    for (unsigned i = 0; i < 3; i++) {
        static const uint32_t at[][2] = { { 8, 20 }, { 0, 5 }, { 6, 7 } };

        odd = map_to(&b, OTHER, at[i][0], at[i][1]);
        g_assert_cmpint(ub_fm_map_add(b.fm, user, &odd), ==, UB_MGMT_EXISTS);
    }
    for (unsigned i = 0; i < 6; i++) {
        odd = map_to(&b, OTHER, 100, 100);
        odd.first += i == 0;
        odd.last = i == 1 ? 0x1000000 : odd.last;
        odd.cna = i == 2 ? 0 : i == 3 ? 0x1000000 : odd.cna;
        odd.uba += i == 4;
        odd.token_id = i == 5 ? 0x100000 : odd.token_id;
        g_assert_cmpint(ub_fm_map_add(b.fm, user, &odd), ==, UB_MGMT_BAD_PARAMETER);
    }
    /* The most that there can be. */
    odd = map_to(&b, OTHER, 90, 90);
    odd.token_id = 0xfffff;
    odd.cna = 0xffffff;
    odd.eid = (UbId){ .w = { 1, 2, 3, 4 } };
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &odd), ==, UB_MGMT_OK);
    g_assert_cmpint(ub_fm_map_get(b.fm, user, 1, &has), ==, UB_MGMT_OK);
    g_assert_true(ub_id_same(has.eid, odd.eid));
    g_assert_cmpint(ub_fm_map_remove(b.fm, user, 90), ==, UB_MGMT_OK);
    /* Addresses end with the last one. */
    odd = map_to(&b, OTHER, 90, 91);
    odd.uba = -2 * MIB + 4096;
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &odd), ==, UB_MGMT_BAD_PARAMETER);
    odd.uba -= 4096;
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &odd), ==, UB_MGMT_OK);
    leads(&b, 92 * MIB - 8, -8ull);
    g_assert_cmpint(ub_fm_map_remove(b.fm, user, 90), ==, UB_MGMT_OK);
    for (unsigned i = 1; i < UB_LDS_MATT_ENTRIES; i++) {
        map = map_to(&b, OTHER, 99 + i, 99 + i);
        map.check = i & 1;
        g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_OK);
    }
    map = map_to(&b, OTHER, 50, 50);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_NO_RESOURCE);
    /* One goes, with its token. */
    g_assert_cmpint(ub_fm_map_remove(b.fm, user, 6), ==, UB_MGMT_ABSENT);
    g_assert_cmpint(ub_fm_map_remove(b.fm, user, 5), ==, UB_MGMT_OK);
    g_assert_cmpint(ub_fm_map_remove(b.fm, user, 5), ==, UB_MGMT_ABSENT);
    leads(&b, 6 * MIB, 0);
    leads(&b, 100 * MIB, 0x123400000 + 100 * MIB);
    g_assert_cmphex(ub_space_read(b.w->f.node[USER].space,
                                  UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_MATT_CAP) +
                                  UB_LDS_MATT_ENTRY(0) + 13), ==, 0);
    /* Others are behind what is empty. */
    odd = map_to(&b, OTHER, 101, 101);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &odd), ==, UB_MGMT_EXISTS);
    g_assert_cmpint(ub_fm_map_remove(b.fm, user, 101), ==, UB_MGMT_OK);
    leads(&b, 101 * MIB, 0);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_OK);
    leads(&b, 50 * MIB, 0x123400000 + 50 * MIB);
    close_bed(&b);
}

/* A decoder of its driver's, a node with another UBFM, one that says nothing. */
static void test_refused(void)
{
    UbFmMap map;
    unsigned user, other, entries;
    Bed b;

    open_bed(&b);
    user = node_of(&b, USER);
    other = node_of(&b, OTHER);
    map = map_to(&b, MANAGER, 0, 0);
    g_assert_cmpint(ub_fm_map_add(b.fm, other, &map), ==, UB_MGMT_NO_PERMISSION);
    g_assert_cmpint(ub_fm_map_remove(b.fm, other, 0), ==, UB_MGMT_NO_PERMISSION);
    ub_slice_set(b.w->f.node[USER].cfg0, UB_CFG0_UBFM_CNA, ~0u,
                 cna_of(b.w, MANAGER) + 1);
    g_assert_cmpint(ub_fm_map_size(b.fm, user, &entries), ==, UB_MGMT_NO_PERMISSION);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_NO_PERMISSION);
    ub_slice_set(b.w->f.node[USER].cfg0, UB_CFG0_UBFM_CNA, ~0u, 0);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_NO_PERMISSION);
    ub_slice_set(b.w->f.node[USER].cfg0, UB_CFG0_UBFM_CNA, ~0u,
                 cna_of(b.w, MANAGER));
    leads(&b, 0, 0);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_OK);
    leads(&b, 0, map.uba);
    b.w->f.node[USER].link[0].down = true;
    g_assert_cmpint(ub_fm_map_remove(b.fm, user, 0), <, 0);
    close_bed(&b);
}

/* What another maker has in the place of the table is not written. */
static void test_foreign(void)
{
    const uint32_t at = UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_MATT_CAP);
    const uint32_t like = UB_LDS_MATT_ENTRIES | UB_LDS_TYPE_RANGE;
    UbSpaceDword dword[0x20] = { 0 };
    UbSpaceSlice slice = { "VD", UB_SPACE_CFG1, UB_LDS_MATT_CAP, 0x20, dword, 0x20 };
    unsigned other, entries;
    UbFmMap map;
    Node *n;
    Bed b;

    open_bed(&b);
    other = node_of(&b, OTHER);
    n = &b.w->f.node[OTHER];
    for (unsigned i = 0; i < 0x20; i++) {
        dword[i] = (UbSpaceDword){ .dw = i, .rw = i ? ~0u : 0,
                                   .reset = i ? like : 0x20 << 4 };
    }
    g_assert_nonnull(ub_space_attach_at(n->space, at, &slice, NULL, NULL));
    ub_slice_init(n->cfg1, UB_CFG1_SUPPORTED_FEATURE,
                  UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION, ~0u);
    map = map_to(&b, USER, 0, 0);
    g_assert_cmpint(ub_fm_map_size(b.fm, other, &entries), ==, UB_MGMT_OK);
    g_assert_cmpuint(entries, ==, 0);
    g_assert_cmpint(ub_fm_map_add(b.fm, other, &map), ==, UB_MGMT_NO_RESOURCE);
    g_assert_cmpint(ub_fm_map_remove(b.fm, other, like), ==, UB_MGMT_ABSENT);
    for (unsigned i = 1; i < 0x20; i++) {
        g_assert_cmphex(ub_space_read(n->space, at + i), ==, like);
    }
    close_bed(&b);
}

/* A node's only link. */
static void plug(Bed *b, unsigned i, bool in)
{
    Node *n = &b->w->f.node[i];

    n->link[0].down = b->w->f.node[SWITCH].link[n->link[0].port].down = !in;
}

/* CNAs of @held are nobody else's. */
static UbFm *turn(Bed *b, const UbFm *before, const UbFm *held)
{
    UbFm *fm = look(b->w);
    UbFmPlan plan;

    ub_fm_plan_init(&plan);
    plan.upi = 5;
    fm->held = held;
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, before), ==, 0);
    fm->held = NULL;
    return fm;
}

static UbFm *once_more(Bed *b, const UbFm *before)
{
    return turn(b, before, NULL);
}

/* What a node says to each write. */
static int answer;

static int deaf_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    return answer;
}

/* So many of what leads to nodes that are gone stay, when writes are answered so. */
static void stays(UbFm *fm, int status, unsigned failed)
{
    const UbFmOps *ops = fm->ops;
    UbFmOps deaf = *ops;

    deaf.write = deaf_write;
    answer = status;
    fm->ops = &deaf;
    g_assert_cmpuint(ub_fm_maps_drop(fm, NULL), ==, failed);
    fm->ops = ops;
}

/* What leads to a node that is gone leads nowhere before another one has its CNA. */
static void test_lost(void)
{
    UbFm *now, *before;
    UbFmMap map, far, more;
    unsigned user;
    Bed b;

    open_bed(&b);
    user = node_of(&b, USER);
    map = map_to(&b, OTHER, 1, 2);
    far = map_to(&b, MANAGER, 3, 3);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_OK);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &far), ==, UB_MGMT_OK);
    more = map_to(&b, OTHER, 7, 7);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &more), ==, UB_MGMT_OK);
    g_assert_cmpuint(ub_fm_maps_drop(b.fm, NULL), ==, 0);
    g_assert_cmpuint(ub_fm_maps_drop(b.fm, b.fm), ==, 0);
    leads(&b, 1 * MIB, map.uba);
    plug(&b, OTHER, false);
    now = once_more(&b, b.fm);
    now->unanswered = 1;
    g_assert_cmpuint(ub_fm_maps_drop(now, b.fm), ==, 1);
    leads(&b, 1 * MIB, map.uba);
    now->unanswered = 0;
    stays(now, UB_MGMT_NO_PERMISSION, 2);
    stays(now, -1, 1);          /* who is silent is not asked for the next one */
    g_assert_cmpuint(ub_fm_maps_drop(now, NULL), ==, 0);
    leads(&b, 1 * MIB, 0);
    leads(&b, 7 * MIB, 0);
    leads(&b, 3 * MIB, far.uba);
    g_assert_cmphex(ub_space_read(b.w->f.node[USER].space,
                                  UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_MATT_CAP) +
                                  UB_LDS_MATT_ENTRY(0) + 13), ==, 0);
    ub_fm_free(now);
    /* It had the CNA of one that is gone. */
    plug(&b, OTHER, true);
    now = once_more(&b, NULL);
    before = once_more(&b, now);
    g_assert_cmpint(ub_fm_map_add(now, user, &map), ==, UB_MGMT_OK);
    g_assert_cmpuint(ub_fm_maps_drop(now, before), ==, 0);
    leads(&b, 1 * MIB, map.uba);
    before->node[ub_fm_find(now, b.w->f.node[OTHER].guid)].guid.w[0] ^= 0x8000;
    g_assert_cmpuint(ub_fm_maps_drop(now, before), ==, 0);
    leads(&b, 1 * MIB, 0);
    leads(&b, 3 * MIB, far.uba);
    /* Who was not there when it was looked at may lead anywhere. */
    ub_fm_free(before);
    before = once_more(&b, now);
    g_assert_cmpuint(ub_fm_maps_drop(now, before), ==, 0);
    leads(&b, 3 * MIB, far.uba);
    before->node[ub_fm_find(now, b.w->f.node[USER].guid)].guid.w[0] ^= 0x8000;
    g_assert_cmpuint(ub_fm_maps_drop(now, before), ==, 0);
    leads(&b, 3 * MIB, 0);
    /* Who says nothing may have some. */
    plug(&b, USER, false);
    g_assert_cmpuint(ub_fm_maps_drop(now, before), ==, 1);
    ub_fm_free(now);
    ub_fm_free(before);
    close_bed(&b);
}

/* Somebody goes and another one comes before anybody looks: it gets another CNA, with or
 * without one that it brings, until no map leads there; who was there gets its own. */
static void test_held(void)
{
    UbFm *now, *before;
    UbFmMap map;
    unsigned user, more;
    Bed b;

    open_bed(&b);
    user = node_of(&b, USER);
    map = map_to(&b, OTHER, 1, 2);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_OK);
    more = add_leaf(b.w);
    g_assert_true(join(b.w, more, SWITCH));
    for (unsigned brings = 0; brings < 2; brings++) {
        fabric_identity(&b.w->f.node[more], brings ? map.cna : 0, 0, 0);
        plug(&b, OTHER, false);
        now = turn(&b, NULL, b.fm);
        g_assert_cmphex(cna_of(b.w, more), !=, map.cna);
        leads(&b, 1 * MIB, map.uba);
        ub_fm_free(now);
        /* It comes back, and has lost its own, before maps were dropped. */
        fabric_identity(&b.w->f.node[OTHER], 0, 0, 0);
        fabric_identity(&b.w->f.node[more], 0, 0, 0);
        plug(&b, OTHER, true);
        now = turn(&b, NULL, b.fm);
        g_assert_cmphex(cna_of(b.w, OTHER), ==, map.cna);
        g_assert_cmphex(cna_of(b.w, more), !=, 0);
        g_assert_cmpuint(ub_fm_maps_drop(now, b.fm), ==, 0);
        leads(&b, 1 * MIB, map.uba);
        ub_fm_free(now);
    }
    /* So does the manager; and who has its own is told nothing. */
    fabric_identity(&b.w->f.node[MANAGER], 0, 0, 0);
    ub_fm_free(turn(&b, NULL, b.fm));
    g_assert_cmphex(cna_of(b.w, MANAGER), ==, b.fm->node[0].cna);
    now = turn(&b, NULL, b.fm);
    g_assert_cmpuint(now->written, ==, 0);
    ub_fm_free(now);
    /* Nothing leads there any more. */
    plug(&b, OTHER, false);
    fabric_identity(&b.w->f.node[more], 0, 0, 0);
    now = turn(&b, NULL, b.fm);
    g_assert_cmpuint(ub_fm_maps_drop(now, b.fm), ==, 0);
    leads(&b, 1 * MIB, 0);
    /* A manager that begins knows not whose CNAs were: what leads to those that it gives
     * was not for who has them now, and it may be a while until it can look. */
    g_assert_cmpint(ub_fm_map_add(now, user, &map), ==, UB_MGMT_OK);
    ub_fm_free(now);
    fabric_identity(&b.w->f.node[more], 0, 0, 0);
    now = turn(&b, NULL, NULL);
    g_assert_cmphex(cna_of(b.w, more), ==, map.cna);
    now->unanswered = 1;
    g_assert_cmpuint(ub_fm_maps_drop(now, NULL), ==, 1);
    leads(&b, 1 * MIB, map.uba);
    before = now;
    now = turn(&b, before, before);
    g_assert_cmpuint(ub_fm_maps_drop(now, before), ==, 0);
    leads(&b, 1 * MIB, 0);
    g_assert_cmpint(ub_fm_map_add(now, user, &map), ==, UB_MGMT_OK);
    g_assert_cmpuint(ub_fm_maps_drop(now, before), ==, 0);
    leads(&b, 1 * MIB, map.uba);
    ub_fm_free(before);
    before = now;
    now = turn(&b, before, before);
    g_assert_cmpuint(ub_fm_maps_drop(now, before), ==, 0);
    leads(&b, 1 * MIB, map.uba);
    ub_fm_free(before);
    ub_fm_free(now);
    /* What is held for one that is not admitted, or is beyond what is given, is not. */
    now = turn(&b, NULL, NULL);
    fabric_identity(&b.w->f.node[more], 0, 0, 0);
    plug(&b, OTHER, true);
    b.fm->node[node_of(&b, OTHER)].stranger = true;
    ub_fm_free(turn(&b, NULL, b.fm));
    g_assert_cmphex(cna_of(b.w, more) == map.cna, !=, cna_of(b.w, OTHER) == map.cna);
    ub_fm_free(now);
    close_bed(&b);
}

/* Two begin anew at once, and each has what was the other's: a map that leads to one of
 * them does not lead to the other. */
static void test_exchanged(void)
{
    UbFm *now;
    UbFmMap map, own;
    unsigned user, more, other;
    Bed b;

    open_bed(&b);
    more = add_leaf(b.w);
    g_assert_true(join(b.w, more, SWITCH));
    ub_fm_free(b.fm);
    b.fm = once_more(&b, NULL);
    user = node_of(&b, USER);
    map = map_to(&b, OTHER, 1, 2);
    own = map_to(&b, MANAGER, 4, 4);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_OK);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &own), ==, UB_MGMT_OK);
    other = cna_of(b.w, more);
    fabric_identity(&b.w->f.node[more], map.cna, 0, 0);
    fabric_identity(&b.w->f.node[OTHER], other, 0, 0);
    now = once_more(&b, b.fm);
    g_assert_cmphex(cna_of(b.w, more), ==, map.cna);
    /* Who was not brought up whole has a table all the same. */
    now->node[ub_fm_find(now, b.w->f.node[USER].guid)].reached = false;
    g_assert_cmpuint(ub_fm_maps_drop(now, b.fm), ==, 0);
    leads(&b, 1 * MIB, 0);
    leads(&b, 4 * MIB, own.uba);
    ub_fm_free(now);
    close_bed(&b);
}

/* Who was not there, or not admitted, when CNAs became others' begins with no maps, and
 * what it is given then stays. */
static void test_new(void)
{
    UbFm *now, *next;
    UbFmMap map;
    unsigned user;
    Bed b;

    open_bed(&b);
    user = node_of(&b, USER);
    map = map_to(&b, OTHER, 1, 2);
    for (unsigned way = 0; way < 4; way++) {
        UbFm *settled = once_more(&b, NULL);
        UbFmNode *was = &settled->node[ub_fm_find(settled,
                                                  b.w->f.node[USER].guid)];

        now = once_more(&b, NULL);
        g_assert_cmpint(ub_fm_map_add(now, user, &map), ==, UB_MGMT_OK);
        /* Not admitted; not there; neither, while somebody else says nothing. */
        was->stranger = way == 0;
        was->guid.w[0] ^= way ? 0x8000 : 0;
        now->unanswered = way == 2;
        settled->unanswered = way == 3;
        g_assert_cmpuint(ub_fm_maps_drop(now, settled), ==, way == 2);
        leads(&b, 1 * MIB, way == 3 ? map.uba : 0);
        if (way < 3) {
            g_assert_cmpint(ub_fm_map_add(now, user, &map), ==, UB_MGMT_OK);
        }
        next = once_more(&b, now);
        g_assert_cmpuint(ub_fm_maps_drop(next, settled), ==, 0);
        leads(&b, 1 * MIB, map.uba);
        ub_fm_free(now);
        /* It was not admitted for a while. */
        next->node[ub_fm_find(next, b.w->f.node[USER].guid)].stranger = true;
        now = once_more(&b, next);
        settled->unanswered = 0;
        g_assert_cmpuint(ub_fm_maps_drop(now, settled), ==, 0);
        leads(&b, 1 * MIB, 0);
        ub_fm_free(next);
        ub_fm_free(now);
        ub_fm_free(settled);
    }
    close_bed(&b);
}

/* The manager's own table stays; who is not admitted is asked nothing. */
static void test_own(void)
{
    UbFm *now;
    UbFmMap map;
    Bed b;

    for (unsigned node = MANAGER; node <= USER; node += USER) {
        open_bed_of(&b, node);
        map = map_to(&b, OTHER, 1, 2);
        g_assert_cmpint(ub_fm_map_add(b.fm, node_of(&b, node), &map), ==, UB_MGMT_OK);
        now = once_more(&b, b.fm);
        g_assert_cmpuint(ub_fm_maps_drop(now, b.fm), ==, 0);
        leads(&b, 1 * MIB, map.uba);
        ub_fm_free(now);
        plug(&b, OTHER, false);
        now = once_more(&b, b.fm);
        now->node[ub_fm_find(now, b.w->f.node[USER].guid)].stranger = true;
        g_assert_cmpuint(ub_fm_maps_drop(now, b.fm), ==, 0);
        leads(&b, 1 * MIB, node == USER ? map.uba : 0);
        ub_fm_free(now);
        close_bed(&b);
    }
}

static void test_print(void)
{
    g_autofree char *text = NULL;
    size_t len;
    UbFmMap map;
    unsigned user;
    FILE *out;
    Bed b;

    open_bed(&b);
    user = node_of(&b, USER);
    /* One before them that goes. */
    map = map_to(&b, OTHER, 1, 1);
    g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_OK);
    for (unsigned i = 0; i < 2; i++) {
        map = map_to(&b, OTHER, 4 + i, 4 + i);
        map.check = i;
        map.eid = (UbId){ .w = { 0x12, 0, 0, 0xfd000000 } };
        map.cna = 0x12;
        g_assert_cmpint(ub_fm_map_add(b.fm, user, &map), ==, UB_MGMT_OK);
    }
    g_assert_cmpint(ub_fm_map_remove(b.fm, user, 1), ==, UB_MGMT_OK);
    out = open_memstream(&text, &len);
    g_assert_cmpint(ub_fm_maps_text(b.fm, user, out), ==, UB_MGMT_OK);
    g_assert_cmpint(ub_fm_maps_json(b.fm, user, out), ==, UB_MGMT_OK);
    fclose(out);
    g_assert_cmpstr(text, ==,
        "MiB 4 to 4: CNA 0x12, EID fd000000000000000000000000000012, "
        "UBA 0x123800000, TokenID 703710\n"
        "MiB 5 to 5: CNA 0x12, EID fd000000000000000000000000000012, "
        "UBA 0x123900000, TokenID 703710, with token\n"
        "{\"maps\": [\n"
        "  {\"first\": 4, \"last\": 4, \"cna\": 18, "
        "\"eid\": \"fd000000000000000000000000000012\", \"uba\": 4890558464, "
        "\"token-id\": 703710, \"token\": false},\n"
        "  {\"first\": 5, \"last\": 5, \"cna\": 18, "
        "\"eid\": \"fd000000000000000000000000000012\", \"uba\": 4891607040, "
        "\"token-id\": 703710, \"token\": true}\n"
        "]}\n");
    close_bed(&b);
}

/* ---- Commands of ubfm ---- */

/* Its exit status, by words behind a name. */
static int command(Bed *b, const char *text)
{
    g_auto(GStrv) word = g_strsplit(text, " ", -1);
    const UbfmPool pool = { .timeout = 1 };
    UbmsgDev d = { 0 };
    int n = g_strv_length(word), keep, status = -1;

    /* What it prints is no TAP. */
    fflush(stdout);
    keep = dup(STDOUT_FILENO);
    g_assert_cmpint(dup2(STDERR_FILENO, STDOUT_FILENO), >=, 0);
    if (ubfm_pool_knows(n, word)) {
        status = ubfm_pool_command(&d, b->fm, &pool, n, word);
    }
    fflush(stdout);
    g_assert_cmpint(dup2(keep, STDOUT_FILENO), >=, 0);
    close(keep);
    return status;
}

static void test_commands(void)
{
    static const char *const bad[] = {
        "map U 0 0 H 7 0x1000 5 -", "map U 0x1000000 1 H 7 0x1000 5 -",
        "map U 1 0x1000000 H 7 0x1000 5 -", "map U 0 1 H 7 0x1001 5 -",
        "map U 0 1 H 7 0x1000 0x100000 -", "map U 0 1 H 7 0x1000 0x100000005 -",
        "map U 0 1 H 7 0x1000 5 0x100000000", "unmap U 0", "unmap U 0x100000000",
        "maps H", "map H 0 1 U 7 0x1000 5 -", "unmap H 0",
    }, *const worse[] = {
        "map U x 1 H 7 0x1000 5 -", "map U 0 1 H 7 -4096 5 -",
        "map U 0 1 H 7 99999999999999999999999 5 -", "map U 0 1 H 7 0x1000 5 x",
        "map Z 0 1 H 7 0x1000 5 -", "maps Z",
    };
    g_autoptr(GString) text = NULL;
    char user[16], home[16];
    UbFmMap map;
    Bed b;

    open_bed(&b);
    snprintf(user, sizeof(user), "%#x", cna_of(b.w, USER));
    snprintf(home, sizeof(home), "%#x", cna_of(b.w, OTHER));
    for (unsigned i = 0; i < G_N_ELEMENTS(bad) + G_N_ELEMENTS(worse); i++) {
        unsigned k = i - G_N_ELEMENTS(bad);

        text = g_string_new(i < G_N_ELEMENTS(bad) ? bad[i] : worse[k]);
        g_string_replace(text, "U", user, 0);
        g_string_replace(text, "H", home, 0);
        g_assert_cmpint(command(&b, text->str), ==, i < G_N_ELEMENTS(bad) ? 3 : 2);
        g_string_free(g_steal_pointer(&text), true);
    }
    g_assert_cmpint(command(&b, "map 1 2 3"), ==, -1);
    text = g_string_new("map U 4 2 H 7 0x5000 0x12 0xfedcba98");
    g_string_replace(text, "U", user, 0);
    g_string_replace(text, "H", home, 0);
    g_assert_cmpint(command(&b, text->str), ==, 0);
    g_assert_cmpint(command(&b, text->str), ==, 3);
    g_assert_cmpint(ub_fm_map_get(b.fm, node_of(&b, USER), 0, &map), ==, UB_MGMT_OK);
    g_assert_cmpuint(map.first, ==, 4);
    g_assert_cmpuint(map.last, ==, 5);
    g_assert_cmphex(map.cna, ==, cna_of(b.w, OTHER));
    g_assert_cmphex(map.eid.w[0] & 0xfffff, ==, 7);
    g_assert_cmphex(map.uba, ==, 0x5000);
    g_assert_cmphex(map.token_id, ==, 0x12);
    g_assert_true(map.check);
    g_assert_cmphex(map.token, ==, 0xfedcba98);
    g_string_printf(text, "unmap %s 4", user);
    g_assert_cmpint(command(&b, text->str), ==, 0);
    g_string_printf(text, "maps %s", user);
    g_assert_cmpint(command(&b, text->str), ==, 0);
    g_string_printf(text, "map %s 0xffffff 1 %s 7 0 0 -", user, home);
    g_assert_cmpint(command(&b, text->str), ==, 0);
    g_assert_cmpint(ub_fm_map_get(b.fm, node_of(&b, USER), 0, &map), ==, UB_MGMT_OK);
    g_assert_false(map.check);
    close_bed(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-matt/entries", test_entries);
    g_test_add_func("/ub/fm-matt/refused", test_refused);
    g_test_add_func("/ub/fm-matt/foreign", test_foreign);
    g_test_add_func("/ub/fm-matt/lost", test_lost);
    g_test_add_func("/ub/fm-matt/held", test_held);
    g_test_add_func("/ub/fm-matt/exchanged", test_exchanged);
    g_test_add_func("/ub/fm-matt/new", test_new);
    g_test_add_func("/ub/fm-matt/own", test_own);
    g_test_add_func("/ub/fm-matt/print", test_print);
    g_test_add_func("/ub/fm-matt/commands", test_commands);
    return g_test_run();
}
