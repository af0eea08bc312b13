/*
 * Fabric managers' thoughts on virtual fabrics: found, addressed, routed, cut and
 * routed anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fm-world.h"
/* ---- Tests ---- */

static void test_line(void)
{
    World *w = world_new();
    unsigned a = add_switch(w, 4), b = add_switch(w, 24), leaf = add_leaf(w);
    UbFmPlan plan;
    UbFm *fm;

    join(w, 0, a);
    join(w, a, b);
    /* Ports that need a second slice of the topology. */
    fabric_link(&w->f, b, 20, leaf, 0);
    fm = look(w);
    g_assert_cmpuint(fm->nodes, ==, 4);
    g_assert_cmpuint(fm->unanswered, ==, 0);
    g_assert_true(ub_fm_is_switch(&fm->node[1]));
    g_assert_cmpuint(fm->node[3].way.hops, ==, 3);
    g_assert_cmpuint(fm->node[3].way.forward[2], ==, 20);
    g_assert_cmpuint(fm->node[3].way.back[1], ==, 0);
    g_assert_cmpint(fm->node[2].port[20].peer, ==, 3);
    ub_fm_plan_init(&plan);
    plan.upi = 5;
    plan.first_cna = 0x20;
    plan.eid_prefix.w[3] = 0xfd000000;
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    judge(w, fm);
    for (unsigned i = 0; i < 4; i++) {
        UbSlice *s = w->f.node[i].cfg0;

        g_assert_cmpuint(fm->node[i].entities, ==, ub_slice_get(
            s, UB_CFG0_TOTAL_NUMBER_OF_ENTITIES) >> 16);
        g_assert_cmpuint(fm->node[i].entities, >, 0);
        g_assert_cmpuint(fm->node[i].routes, ==, w->routes[i] ? ROUTES : 0);

        g_assert_cmphex(cna_of(w, i), >=, 0x20);
        g_assert_cmphex(ub_slice_get(s, UB_CFG0_EID), ==, cna_of(w, i));
        g_assert_cmphex(ub_slice_get(s, UB_CFG0_EID + 3), ==, 0xfd000000);
        g_assert_cmphex(ub_slice_get(s, UB_CFG0_UPI), ==, 5);
        g_assert_cmphex(ub_slice_get(s, UB_CFG0_UBFM_CNA), ==, cna_of(w, 0));
        g_assert_cmphex(ub_slice_get(s, UB_CFG0_UBFM_EID), ==, cna_of(w, 0));
    }
    ub_fm_free(fm);
    world_free(w);
}

/* Addresses that are there stay; one that two have changes. */
static void test_keep(void)
{
    World *w = world_new();
    unsigned s = add_switch(w, 8), a = add_leaf(w), b = add_leaf(w);
    UbFmPlan plan;
    UbFm *fm, *again;

    join(w, 0, s);
    join(w, a, s);
    join(w, b, s);
    fabric_identity(&w->f.node[a], 3, 0x77, 9);
    fabric_identity(&w->f.node[b], 3, 0, 0);
    fm = look(w);
    ub_fm_plan_init(&plan);
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    judge(w, fm);
    g_assert_cmphex(cna_of(w, a) == 3, !=, cna_of(w, b) == 3);
    g_assert_cmphex(ub_slice_get(w->f.node[a].cfg0, UB_CFG0_EID), ==, 0x77);
    g_assert_cmphex(ub_slice_get(w->f.node[a].cfg0, UB_CFG0_UPI), ==, 9);
    /* Nothing is to be done a second time. */
    again = look(w);
    g_assert_true(ub_fm_same(fm, again));
    g_assert_cmpuint(ub_fm_bring_up(again, &plan, fm), ==, 0);
    g_assert_cmpuint(again->written, ==, 0);
    /* A node that began anew has lost its own. */
    fabric_identity(&w->f.node[b], 0, 0, 0);
    ub_fm_free(fm);
    fm = look(w);
    g_assert_false(ub_fm_same(fm, again));
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, again), ==, 0);
    judge(w, fm);
    ub_fm_free(fm);
    ub_fm_free(again);
    world_free(w);
}

/* A switch that began anew gets all its routes again, others nothing. */
static void test_reset(void)
{
    World *w = world_new();
    unsigned a = add_switch(w, 8), b = add_switch(w, 8), leaf = add_leaf(w);
    UbFmPlan plan;
    UbFm *fm, *again;

    join(w, 0, a);
    join(w, a, b);
    join(w, b, leaf);
    fm = look(w);
    ub_fm_plan_init(&plan);
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    /* With the address that it had, so that nothing else tells. */
    ub_space_reset(w->f.node[b].space, UB_SPACE_RESET_DEVICE, 0);
    fabric_identity(&w->f.node[b], fm->node[ub_fm_find(
        fm, w->f.node[b].guid)].cna, 0, 0);
    fabric_link(&w->f, a, 1, b, 0);
    fabric_link(&w->f, b, 1, leaf, 0);
    again = look(w);
    g_assert_true(ub_fm_same(fm, again));
    g_assert_cmpuint(ub_fm_bring_up(again, &plan, fm), ==, 0);
    judge(w, again);
    g_assert_cmpuint(again->written, <, fm->written);
    ub_fm_free(fm);
    ub_fm_free(again);
    world_free(w);
}

/* Five switches in a ring: all shortest ways wait for one another. */
static void test_ring(void)
{
    World *w = world_new();
    unsigned s[5], leaf;
    UbFmPlan plan;
    UbFm *fm;

    for (unsigned i = 0; i < 5; i++) {
        s[i] = add_switch(w, 8);
    }
    for (unsigned i = 0; i < 5; i++) {
        join(w, s[i], s[(i + 1) % 5]);
        leaf = i ? add_leaf(w) : 0;
        join(w, leaf, s[i]);
    }
    fm = look(w);
    ub_fm_plan_init(&plan);
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    g_assert_true(fm->tree);
    judge(w, fm);
    ub_fm_free(fm);
    world_free(w);
}

/* Two switches with three links: all of them lead there. */
static void test_equal(void)
{
    World *w = world_new();
    unsigned a = add_switch(w, 8), b = add_switch(w, 8), leaf = add_leaf(w);
    UbFmPlan plan;
    UbFm *fm;

    join(w, 0, a);
    for (unsigned i = 0; i < 3; i++) {
        join(w, a, b);
    }
    join(w, b, leaf);
    fm = look(w);
    ub_fm_plan_init(&plan);
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    g_assert_false(fm->tree);
    judge(w, fm);
    g_assert_cmphex(entry_of(w, a, cna_of(w, leaf)), ==, 0xe);
    ub_fm_free(fm);
    world_free(w);
}

/* Two nodes without a switch; and a neighbour that says nothing. */
static void test_alone(void)
{
    World *w = world_new();
    unsigned other = add_leaf(w);
    UbFmPlan plan;
    UbFm *fm;

    fm = look(w);
    g_assert_cmpuint(fm->nodes, ==, 1);
    ub_fm_free(fm);
    join(w, 0, other);
    fm = look(w);
    ub_fm_plan_init(&plan);
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    judge(w, fm);
    ub_fm_free(fm);
    w->f.node[other].link[0].down = true;
    fm = look(w);
    g_assert_cmpuint(fm->nodes, ==, 1);
    g_assert_cmpuint(fm->unanswered, ==, 1);
    ub_fm_free(fm);
    /* Enumeration ends at a boundary. */
    w->f.node[other].link[0].down = false;
    ub_slice_set(w->f.node[0].port[0], UB_PORT_INFO,
                 UB_PORT_INFO__ENUMERATION_BOUNDARY, ~0u);
    fm = look(w);
    g_assert_cmpuint(fm->nodes, ==, 1);
    ub_fm_free(fm);
    world_free(w);
}

/* ---- Who may be there ---- */

/* Those of a list, by node. */
typedef struct Ban {
    const World *w;
    uint64_t nodes;
    unsigned asked;
} Ban;

static bool admit(void *admitting, UbId guid)
{
    Ban *ban = admitting;

    ban->asked++;
    for (unsigned i = 0; i < ban->w->f.nodes; i++) {
        if (ub_id_same(ban->w->f.node[i].guid, guid)) {
            return !(ban->nodes >> i & 1);
        }
    }
    return false;
}

static UbFm *look_at_some(World *w, Ban *ban)
{
    UbFm *fm = ub_fm_new(&world_ops, w);

    fm->admit = admit;
    fm->admitting = ban;
    g_assert_true(ub_fm_discover(fm));
    return fm;
}

/* Who is not admitted gets nothing, not even a question; then it is admitted, and
 * then not any more. */
static void test_strangers(void)
{
    World *w = world_new();
    unsigned a = add_switch(w, 8), b = add_switch(w, 8), leaf = add_leaf(w),
             stranger = add_leaf(w), behind = add_leaf(w);
    Ban ban = { .w = w, .nodes = 1u << stranger | 1u << b };
    unsigned cna, seen;
    UbFmPlan plan;
    UbFm *fm, *now;

    join(w, 0, a);
    join(w, leaf, a);
    join(w, stranger, a);
    join(w, a, b);
    join(w, b, behind);
    ub_fm_plan_init(&plan);
    plan.upi = 5;
    seen = ub_mgmt_counter(w->f.node[stranger].m, UB_MGMT_CNT_SCANS);
    fm = look_at_some(w, &ban);
    /* Nobody is behind a stranger. */
    g_assert_cmpuint(fm->nodes, ==, 5);
    g_assert_cmpuint(fm->unanswered, ==, 0);
    g_assert_cmpint(ub_fm_find(fm, w->f.node[behind].guid), ==, UB_FM_NONE);
    g_assert_true(fm->node[ub_fm_find(fm, w->f.node[b].guid)].stranger);
    g_assert_false(fm->node[ub_fm_find(fm, w->f.node[leaf].guid)].stranger);
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    g_assert_cmphex(cna_of(w, stranger) | cna_of(w, b) | cna_of(w, behind), ==,
                    0);
    g_assert_cmphex(cna_of(w, leaf), !=, 0);
    g_assert_cmphex(ub_slice_get(w->f.node[stranger].cfg0, UB_CFG0_UPI), ==, 0);
    g_assert_cmpuint(ub_mgmt_counter(w->f.node[stranger].m, UB_MGMT_CNT_SCANS),
                     ==, seen);
    for (unsigned c = 0; c < ROUTES; c++) {
        uint64_t ports = entry_of(w, a, c);

        g_assert_cmphex(ports & ~UINT64_C(3), ==, 0);
        g_assert_true(!ports || c == cna_of(w, 0) || c == cna_of(w, leaf));
    }
    g_assert_true(ub_fm_is_ring_free(fm));
    /* One more is admitted. */
    ban.nodes = 1u << b;
    now = look_at_some(w, &ban);
    g_assert_false(ub_fm_same(fm, now));
    g_assert_cmpuint(ub_fm_bring_up(now, &plan, fm), ==, 0);
    ub_fm_free(fm);
    cna = cna_of(w, stranger);
    g_assert_cmphex(cna, !=, 0);
    g_assert_cmphex(entry_of(w, a, cna), ==, 4);
    g_assert_cmphex(ub_slice_get(w->f.node[stranger].cfg0, UB_CFG0_UPI), ==, 5);
    /* And sent away: nobody's packets get there any more. */
    ban.nodes = 1u << b | 1u << stranger;
    fm = look_at_some(w, &ban);
    g_assert_false(ub_fm_same(fm, now));
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, now), ==, 0);
    g_assert_cmphex(entry_of(w, a, cna), ==, 0);
    g_assert_cmphex(entry_of(w, a, cna_of(w, leaf)), ==, 2);
    ub_fm_free(now);
    /* Nothing is left to do. */
    now = look_at_some(w, &ban);
    g_assert_true(ub_fm_same(fm, now));
    g_assert_cmpuint(ub_fm_bring_up(now, &plan, fm), ==, 0);
    g_assert_cmpuint(now->written, ==, 0);
    ub_fm_free(fm);
    ub_fm_free(now);
    world_free(w);
}

/* Strangers in fabrics of any form: the others are as if those were not there. */
static void test_strangers_random(void)
{
    for (unsigned i = 0; i < (g_test_slow() ? 100 : 8); i++) {
        World *w = random_world(g_test_rand_int_range(3, 9),
                                g_test_rand_int_range(4, 20),
                                g_test_rand_int_range(0, 10));
        Ban ban = { .w = w };
        UbFmPlan plan;
        UbFm *fm;

        /* Leaves alone: judge() knows of no switch that is not passed. */
        for (unsigned n = 1; n < w->f.nodes && n < 64; n++) {
            if (!w->routes[n] && g_test_rand_bit()) {
                ban.nodes |= UINT64_C(1) << n;
            }
        }
        fm = look_at_some(w, &ban);
        g_assert_cmpuint(fm->nodes, ==, w->f.nodes);
        ub_fm_plan_init(&plan);
        g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
        for (unsigned n = 0; n < w->f.nodes; n++) {
            bool banned = ban.nodes >> n & 1;

            g_assert_cmpint(!cna_of(w, n), ==, banned);
            for (unsigned s = 0; s < w->f.nodes && banned; s++) {
                for (unsigned p = 0; p < FABRIC_PORTS; p++) {
                    if (!w->routes[s] || w->f.node[s].link[p].node != (int)n) {
                        continue;
                    }
                    for (unsigned c = 0; c < ROUTES; c++) {
                        g_assert_false(entry_of(w, s, c) >> p & 1);
                    }
                }
            }
        }
        g_assert_false(has_ring(w));
        ub_fm_free(fm);
        world_free(w);
    }
}

/* ---- Two managers ---- */

/* Each brings its side up; the other side is as the other one made it. */
static void test_boundary(void)
{
    World *w = world_new();
    unsigned a = add_switch(w, 8), b = add_switch(w, 8), leaf = add_leaf(w),
             far_leaf = add_leaf(w), second;
    UbMgmtConfig cfg;
    UbFmPlan plan;
    UbFm *fm[2];

    ub_mgmt_config_init(&cfg);
    second = fabric_add(&w->f, &cfg)->index;
    join(w, 0, a);
    join(w, a, leaf);
    join(w, second, b);
    join(w, b, far_leaf);
    fabric_link(&w->f, a, 7, b, 7);
    ub_slice_set(w->f.node[a].port[7], UB_PORT_INFO,
                 UB_PORT_INFO__ENUMERATION_BOUNDARY, ~0u);
    ub_slice_set(w->f.node[b].port[7], UB_PORT_INFO,
                 UB_PORT_INFO__ENUMERATION_BOUNDARY, ~0u);
    ub_fm_plan_init(&plan);
    for (unsigned i = 0; i < 2; i++) {
        w->manager = i ? second : 0;
        plan.first_cna = i ? 0x40 : 0x10;
        plan.upi = 5 + i;
        fm[i] = look(w);
        g_assert_cmpuint(fm[i]->nodes, ==, 3);
        g_assert_cmpuint(fm[i]->unanswered, ==, 0);
        g_assert_cmpuint(ub_fm_bring_up(fm[i], &plan, NULL), ==, 0);
    }
    for (unsigned n = 0; n < w->f.nodes; n++) {
        bool other = n == b || n == far_leaf || n == second;

        g_assert_cmphex(cna_of(w, n) & 0x70, ==, other ? 0x40 : 0x10);
        g_assert_cmphex(ub_slice_get(w->f.node[n].cfg0, UB_CFG0_UPI), ==,
                        other ? 6 : 5);
        g_assert_cmphex(ub_slice_get(w->f.node[n].cfg0, UB_CFG0_UBFM_CNA), ==,
                        cna_of(w, other ? second : 0));
        if (n != a) {
            g_assert_cmphex(entry_of(w, a, cna_of(w, n)) == 0, ==, other);
        }
        if (n != b) {
            g_assert_cmphex(entry_of(w, b, cna_of(w, n)) == 0, ==, !other);
        }
    }
    /* Neither finds anything to do after the other. */
    for (unsigned i = 0; i < 2; i++) {
        UbFm *now;

        w->manager = i ? second : 0;
        plan.upi = 5 + i;
        now = look(w);
        g_assert_true(ub_fm_same(fm[i], now));
        g_assert_cmpuint(ub_fm_bring_up(now, &plan, fm[i]), ==, 0);
        g_assert_cmpuint(now->written, ==, 0);
        ub_fm_free(now);
        ub_fm_free(fm[i]);
    }
    world_free(w);
}

/* A controller with two ports leads to a switch, but so does another switch, further
 * away: through controllers only what nobody else leads to. */
static void test_through(void)
{
    World *w = world_new();
    unsigned a = add_switch(w, 8), middle = add_switch(w, 8),
             b = add_switch(w, 8), both;
    UbMgmtConfig cfg;
    UbFm *fm;

    ub_mgmt_config_init(&cfg);
    cfg.ports = 2;
    cfg.manager = false;
    both = fabric_add(&w->f, &cfg)->index;
    join(w, 0, a);
    join(w, a, both);
    join(w, both, b);
    join(w, a, middle);
    join(w, middle, b);
    fm = look(w);
    g_assert_cmpuint(fm->nodes, ==, 5);
    g_assert_cmpint(fm->node[ub_fm_find(fm, w->f.node[b].guid)].from, ==,
                    ub_fm_find(fm, w->f.node[middle].guid));
    ub_fm_free(fm);
    world_free(w);
}

/* A table with less room than there are CNAs, and no CNA left. */
static void test_small(void)
{
    World *w = world_new();
    unsigned s = add_switch(w, 8), leaf = add_leaf(w);
    UbFmPlan plan;
    UbFm *fm;

    join(w, 0, s);
    join(w, s, leaf);
    ub_fm_plan_init(&plan);
    plan.first_cna = ROUTES - 2;
    fm = look(w);
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), >, 0);
    ub_fm_free(fm);
    plan.first_cna = 0xfffe;
    for (unsigned i = 0; i < 3; i++) {
        fabric_identity(&w->f.node[i], 0, 0, 0);
    }
    fm = look(w);
    g_assert_cmpuint(ub_fm_give_addresses(fm, &plan), ==, 1);
    ub_fm_free(fm);
    world_free(w);
}

/* Another manager finds that table as small as the first one did. */
static void test_small_again(void)
{
    World *w = world_new();
    unsigned s = add_switch(w, 8);
    UbFmPlan plan;
    UbFm *fm;

    join(w, 0, s);
    join(w, s, add_leaf(w));
    ub_fm_plan_init(&plan);
    plan.first_cna = ROUTES - 2;
    for (unsigned i = 0; i < 2; i++) {
        fm = look(w);
        /* The leaf's CNA is beyond it, and nobody gets there. */
        g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 3);
        ub_fm_free(fm);
    }
    world_free(w);
}

/* ---- What is written is counted ---- */

static unsigned changes;    /* that nodes were asked for */
static uint32_t last_entry; /* the highest of tables that was written */

static int count_scan(void *opaque, const UbScanWay *way, const UbScanAsk *ask,
                      uint8_t *pdu, unsigned *len)
{
    changes += ask->cmd == UB_SCAN_NA_CONFIG;
    return world_scan(opaque, way, ask, pdu, len);
}

static int count_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    changes++;
    if (dw >= UB_CFG_ROUTE_BASE) {
        last_entry = MAX(last_entry, dw - UB_CFG_ROUTE_BASE -
                         UB_ROUTE_DEFAULT_ROUTING_TABLE - 1);
    }
    return world_write(opaque, cna, dw, value);
}

/* Addresses, identities and routes, each once; no routes behind the highest CNA of what
 * nobody has written. */
static void test_written(void)
{
    static const UbFmOps ops = {
        .scan = count_scan, .read = world_read, .write = count_write,
    };
    World *w = random_world(4, 12, 0);
    UbFmPlan plan;
    UbFm *fm;

    changes = last_entry = 0;
    ub_fm_plan_init(&plan);
    plan.upi = 5;
    plan.eid_prefix = (UbId){ { 0xabc00000, 0x11, 0x22, 0xfd000000 } };
    fm = ub_fm_new(&ops, w);
    g_assert_true(ub_fm_discover(fm));
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    judge(w, fm);
    g_assert_cmpuint(fm->written, ==, changes);
    g_assert_cmpuint(last_entry, ==, fm->nodes);
    /* CNA, EID, UPI, the UBFM's EID and CNA; and routes of switches. */
    g_assert_cmpuint(changes, ==, fm->nodes * (1 + 4 + 1 + 4 + 1) + 4 * fm->nodes);
    /* An EID is the prefix, all of it but the last 20 bits. */
    for (unsigned i = 0; i < w->f.nodes; i++) {
        for (unsigned k = 0; k < 4; k++) {
            g_assert_cmphex(ub_slice_get(w->f.node[i].cfg0, UB_CFG0_EID + k), ==,
                            plan.eid_prefix.w[k] | (k ? 0 : cna_of(w, i)));
        }
    }
    ub_fm_free(fm);
    world_free(w);
}

/* The highest CNA that management can name is kept, and no higher one. */
static void test_highest(void)
{
    World *w = world_new();
    unsigned s = add_switch(w, 8), a = add_leaf(w), b = add_leaf(w);
    UbFmPlan plan;
    UbFm *fm;

    join(w, 0, s);
    join(w, a, s);
    join(w, b, s);
    fabric_identity(&w->f.node[a], 0xffff, 0, 0);
    fabric_identity(&w->f.node[b], 0x10000, 0, 0);
    fm = look(w);
    ub_fm_plan_init(&plan);
    g_assert_cmpuint(ub_fm_give_addresses(fm, &plan), ==, 0);
    g_assert_cmphex(cna_of(w, a), ==, 0xffff);
    g_assert_cmphex(cna_of(w, b), <=, w->f.nodes);
    ub_fm_free(fm);
    world_free(w);
}

/* A link between switches goes that others can stand in for. */
static void cut_link(World *w)
{
    unsigned from_us[FABRIC_NODES];

    for (unsigned tries = 0; tries < 100; tries++) {
        Node *n = &w->f.node[1 + g_rand_int_range(w->rand, 0, 3)];
        unsigned p = g_rand_int_range(w->rand, 0, FABRIC_PORTS);
        Node *peer;
        bool whole = true;

        if (!w->routes[n->index] || !link_up(n, p)) {
            continue;
        }
        peer = &w->f.node[n->link[p].node];
        if (!w->routes[peer->index]) {
            continue;
        }
        n->link[p].down = peer->link[n->link[p].port].down = true;
        distances(w, 0, from_us);
        for (unsigned i = 0; i < w->f.nodes; i++) {
            whole &= from_us[i] != 1000;
        }
        if (whole) {
            return;
        }
        n->link[p].down = peer->link[n->link[p].port].down = false;
    }
}

static void test_random(void)
{
    for (unsigned i = 0; i < (g_test_slow() ? 200 : 12); i++) {
        unsigned switches = g_test_rand_int_range(3, 9);
        World *w = random_world(switches, g_test_rand_int_range(2, 20),
                                g_test_rand_int_range(0, 10));
        UbFmPlan plan;
        UbFm *fm = look(w), *now;
        unsigned all;

        ub_fm_plan_init(&plan);
        g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
        judge(w, fm);
        all = fm->written;
        for (unsigned cuts = 0; cuts < 3; cuts++) {
            cut_link(w);
            now = look(w);
            g_assert_cmpuint(ub_fm_bring_up(now, &plan, fm), ==, 0);
            judge(w, now);
            g_assert_cmpuint(now->written, <, all);
            ub_fm_free(fm);
            fm = now;
        }
        ub_fm_free(fm);
        world_free(w);
    }
}

/* 64 nodes and 8 switches: what is asked grows with links, not faster. */
static void test_large(void)
{
    unsigned asked[2], links[2];

    for (unsigned i = 0; i < 2; i++) {
        World *w = random_world(8, i ? 64 : 16, 12);
        UbFmPlan plan;
        UbFm *fm = look(w);

        asked[i] = w->asked;
        links[i] = 7 + 12 + w->leaves;
        ub_fm_plan_init(&plan);
        g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
        judge(w, fm);
        g_assert_cmpuint(w->lost, ==, 0);
        g_test_message("%u nodes, %u messages, %u registers written%s",
                       fm->nodes, w->asked, fm->written,
                       fm->tree ? ", a tree" : "");
        ub_fm_free(fm);
        world_free(w);
    }
    g_assert_cmpuint(asked[1] * links[0], <=, 2 * asked[0] * links[1]);
}

/* Who only looks asks all nodes, and changes nothing. */
static void test_inquire(void)
{
    World *w = world_new();
    unsigned s = add_switch(w, 4);
    UbFmPlan plan;
    UbFm *fm;

    join(w, 0, s);
    join(w, s, add_leaf(w));
    ub_fm_plan_init(&plan);
    plan.upi = 5;
    fm = look(w);
    ub_fm_bring_up(fm, &plan, NULL);
    ub_fm_free(fm);
    fm = look(w);
    for (unsigned i = 0; i < fm->nodes; i++) {
        g_assert_false(fm->node[i].reached);
    }
    ub_fm_inquire(fm);
    g_assert_cmpuint(fm->nodes, ==, 3);
    for (unsigned i = 0; i < fm->nodes; i++) {
        g_assert_true(fm->node[i].reached);
        g_assert_cmpuint(fm->node[i].upi, ==, 5);
        g_assert_cmphex(fm->node[i].fm_cna, ==, cna_of(w, 0));
    }
    g_assert_cmpuint(fm->written, ==, 0);
    ub_fm_free(fm);
    world_free(w);
}

static void test_output(void)
{
    World *w = random_world(3, 5, 2);
    UbFm *fm = look(w);
    UbFmPlan plan;
    void (*const print[])(const UbFm *, FILE *) = {
        ub_fm_text, ub_fm_json, ub_fm_svg,
    };

    ub_fm_plan_init(&plan);
    ub_fm_bring_up(fm, &plan, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(print); i++) {
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);
        char guid[UB_FM_GUID_TEXT];

        print[i](fm, out);
        fclose(out);
        for (unsigned n = 0; n < fm->nodes; n++) {
            g_assert_nonnull(strstr(text, ub_fm_guid_text(fm->node[n].guid,
                                                          guid)));
        }
        free(text);
    }
    ub_fm_free(fm);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm/line", test_line);
    g_test_add_func("/ub/fm/keep", test_keep);
    g_test_add_func("/ub/fm/reset", test_reset);
    g_test_add_func("/ub/fm/ring", test_ring);
    g_test_add_func("/ub/fm/equal", test_equal);
    g_test_add_func("/ub/fm/alone", test_alone);
    g_test_add_func("/ub/fm/strangers", test_strangers);
    g_test_add_func("/ub/fm/strangers-random", test_strangers_random);
    g_test_add_func("/ub/fm/boundary", test_boundary);
    g_test_add_func("/ub/fm/through", test_through);
    g_test_add_func("/ub/fm/small", test_small);
    g_test_add_func("/ub/fm/small-again", test_small_again);
    g_test_add_func("/ub/fm/written", test_written);
    g_test_add_func("/ub/fm/highest", test_highest);
    g_test_add_func("/ub/fm/random", test_random);
    g_test_add_func("/ub/fm/large", test_large);
    g_test_add_func("/ub/fm/inquire", test_inquire);
    g_test_add_func("/ub/fm/output", test_output);
    return g_test_run();
}
