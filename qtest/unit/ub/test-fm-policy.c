/*
 * A fabric manager and what CFG0_CAP242 has: maps of VLs that keep links from waiting for
 * one another in a ring, and partitions of the network layer.  Registers are those of
 * real network layers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fm-world.h"
#include "ub/net.h"
#include "ub/net_hw.h"

#define VLS 16
#define LINKS (FABRIC_NODES * FABRIC_PORTS)
#define LOW UB_NPI_LOW

/* Network layers of a world's nodes, for their registers alone. */
typedef struct Policy {
    World *w;
    UbNet *net[FABRIC_NODES];
} Policy;

static bool no_room(void *opaque, unsigned port, unsigned vl)
{
    return false;
}

static bool no_send(void *opaque, unsigned port, CorePacket *pkt)
{
    return false;
}

static void no_kick(void *opaque)
{
}

static void give_node(Policy *p, unsigned i)
{
    static const UbNetOps ops = {
        .room = no_room, .send = no_send, .kick = no_kick,
    };
    UbNetConfig conf;

    ub_net_config_init(&conf);
    conf.ports = p->w->routes[i] ? FABRIC_PORTS : 1;
    conf.npi_mode = p->w->routes[i] ? UB_NPI_OPEN : UB_NPI_STRICT;
    p->net[i] = ub_net_new(&conf, &ops, NULL);
    g_assert_true(ub_net_attach_policy(p->net[i], p->w->f.node[i].space));
}

/* All nodes of @w have the slice; links between switches have @vls VLs. */
static Policy *policy_new(World *w, unsigned vls)
{
    Policy *p = g_new0(Policy, 1);

    p->w = w;
    for (unsigned i = 0; i < w->f.nodes; i++) {
        Node *n = &w->f.node[i];

        give_node(p, i);
        for (unsigned k = 0; k < FABRIC_PORTS && n->port[k]; k++) {
            UbSlice *s = ub_space_attach(n->space, UB_SPACE_PORT, k,
                                         UB_CAP_LINK, NULL, NULL);

            ub_slice_init(s, UB_LINK_DL_STATUS_DW10, 0xffff, (1u << vls) - 1);
        }
    }
    return p;
}

static void policy_free(Policy *p)
{
    World *w = p->w;

    world_free(w);
    for (unsigned i = 0; i < FABRIC_NODES; i++) {
        ub_net_free(p->net[i]);
    }
    g_free(p);
}

/* ---- Worlds ---- */

/* @n switches whose neighbours are those that @next says, each with @leaves. */
static World *grid(unsigned n, unsigned width, unsigned leaves)
{
    World *w = world_new();
    unsigned height = n / width;

    for (unsigned i = 0; i < n; i++) {
        add_switch(w, FABRIC_PORTS);
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned x = i % width, y = i / width;

        g_assert_true(join(w, 1 + i, 1 + y * width + (x + 1) % width));
        if (height > 1) {
            g_assert_true(join(w, 1 + i, 1 + (y + 1) % height * width + x));
        }
    }
    g_assert_true(join(w, 0, 1));
    for (unsigned i = 0; i < leaves * n - 1; i++) {
        g_assert_true(join(w, add_leaf(w), 1 + (i + 1) % n));
    }
    return w;
}

/* ---- Who waits for whom ---- */

/* A packet that came over a link by a VL: by number. */
static unsigned state_of(unsigned node, unsigned port, unsigned vl)
{
    return (node * FABRIC_PORTS + port) * VLS + vl;
}

/* The VL by which switch @at sends on what came to it, by its registers. */
static unsigned mapped(World *w, unsigned at, unsigned in, unsigned out,
                       unsigned vl)
{
    UbSpace *space = w->f.node[at].space;
    const uint32_t base = UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP);
    unsigned group[2], port[2] = { in, out };

    for (unsigned i = 0; i < 2; i++) {
        group[i] = ub_space_read(space, base + UB_NETR_VL_GROUP_DW(port[i])) >>
                   UB_NETR_VL_GROUP_SHIFT(port[i]) >> 2 * i & 3;
    }
    return ub_space_read(space, base + UB_NETR_VL_MAP_DW(group[0], group[1],
                                                         vl)) >>
           UB_NETR_VL_MAP_SHIFT(vl) & 15;
}

/* Follow what is sent to @dest from link @node, @port by @vl: which links wait for
 * which, into @after by port of the next node. */
static void follow(World *w, unsigned node, unsigned port, unsigned vl,
                   unsigned dest, unsigned vls, uint64_t *after, bool *seen)
{
    const Node *n = &w->f.node[node];
    unsigned s = state_of(node, port, vl), at = n->link[port].node;
    unsigned in = n->link[port].port;

    if (seen[s] || !w->routes[at] || at == dest) {
        return;
    }
    seen[s] = true;
    for (uint64_t mask = entry_of(w, at, cna_of(w, dest)); mask;
         mask &= mask - 1) {
        unsigned out = __builtin_ctzll(mask);
        unsigned next = mapped(w, at, in, out, vl);

        /* The link has it; else the egress would take VL 0. */
        g_assert_cmpuint(next, <, vls);
        after[s] |= UINT64_C(1) << out;
        follow(w, at, out, next, dest, vls, after, seen);
    }
}

/* Whether links by VL wait for one another in a ring, by taking away those that wait for
 * nobody. */
static bool vl_ring(World *w, unsigned vls)
{
    unsigned states = LINKS * VLS, left = 0;
    g_autofree uint64_t *after = g_new0(uint64_t, states);
    g_autofree bool *gone = g_new0(bool, states);
    bool more = true;

    for (unsigned dest = 0; dest < w->f.nodes; dest++) {
        g_autofree bool *seen = g_new0(bool, states);

        for (unsigned i = 0; i < w->f.nodes; i++) {
            for (unsigned vl = 0; vl < vls && !w->routes[i] && i != dest &&
                 link_up(&w->f.node[i], 0); vl++) {
                follow(w, i, 0, vl, dest, vls, after, seen);
            }
        }
    }
    while (more) {
        more = false;
        left = 0;
        for (unsigned s = 0; s < states; s++) {
            unsigned node = s / VLS / FABRIC_PORTS, port = s / VLS % FABRIC_PORTS;
            const Node *n = &w->f.node[node];
            bool waits = false;

            if (gone[s] || !after[s]) {
                continue;
            }
            for (uint64_t m = after[s]; m && !waits; m &= m - 1) {
                unsigned at = n->link[port].node, out = __builtin_ctzll(m);
                unsigned next = state_of(at, out, mapped(
                    w, at, n->link[port].port, out, s % VLS));

                waits = !gone[next] && after[next];
            }
            gone[s] = !waits;
            more |= !waits;
            left += waits;
        }
    }
    return left;
}

/* Each switch has a way to everybody, as short as can be if @shortest. */
static void judge_routes(World *w, bool shortest)
{
    for (unsigned d = 0; d < w->f.nodes; d++) {
        unsigned hops[FABRIC_NODES];

        distances(w, d, hops);
        for (unsigned i = 0; i < w->f.nodes; i++) {
            if (i != d && w->routes[i]) {
                bool all = judge_ways(w, i, d, 24, hops);

                g_assert_true(all || !shortest);
            }
        }
    }
}

static UbFm *bring_up(Policy *p, const UbFmPlan *plan, const UbFm *before)
{
    UbFm *fm = look(p->w);

    g_assert_cmpuint(ub_fm_bring_up(fm, plan, before), ==, 0);
    return fm;
}

static void judge_layers(Policy *p, const UbFm *fm, unsigned vls)
{
    World *w = p->w;

    g_assert_false(vl_ring(w, vls));
    g_assert_cmpuint(fm->layers * fm->classes, <=, vls);
    g_assert_cmpuint(fm->layers, >, 0);
    judge_routes(w, !fm->tree && !fm->trees);
    /* Else a tree would do. */
    g_assert_true(fm->layers > 1 || !has_ring(w));
    g_assert_true(!fm->ringed || fm->tree || fm->layers > 1 || fm->trees);
}

/* Whether all are together without a link, which is cut else no longer. */
static bool cut(World *w, unsigned i, unsigned port)
{
    Node *n = &w->f.node[i], *peer;
    unsigned from_us[FABRIC_NODES];
    bool whole = true;

    if (!w->routes[i] || !link_up(n, port) || !w->routes[n->link[port].node]) {
        return false;
    }
    peer = &w->f.node[n->link[port].node];
    n->link[port].down = peer->link[n->link[port].port].down = true;
    distances(w, 0, from_us);
    for (unsigned k = 0; k < w->f.nodes; k++) {
        whole &= from_us[k] != 1000;
    }
    if (!whole) {
        n->link[port].down = peer->link[n->link[port].port].down = false;
    }
    return whole;
}

/* Cut some link between switches without which all stay together.  False: there is
 * none. */
static bool cut_some(World *w)
{
    unsigned links = w->f.nodes * FABRIC_PORTS;
    unsigned first = g_rand_int_range(w->rand, 0, links);

    for (unsigned k = 0; k < links; k++) {
        unsigned at = (first + k) % links;

        if (cut(w, at / FABRIC_PORTS, at % FABRIC_PORTS)) {
            return true;
        }
    }
    return false;
}

/* Bring a world up, again by another manager, and after cuts. */
static void live(World *w, unsigned vls, unsigned cuts, bool layered)
{
    Policy *p = policy_new(w, vls);
    UbFm *fm, *now;
    UbFmPlan plan;
    unsigned trees;

    ub_fm_plan_init(&plan);
    fm = bring_up(p, &plan, NULL);
    judge_layers(p, fm, vls);
    g_assert_true(!layered || (fm->layers > 1 && !fm->tree && !fm->trees));
    g_test_message("%u nodes, %u VLs: %u layers, %u classes, %u by a tree, "
                   "%u messages", fm->nodes, vls, fm->layers, fm->classes,
                   fm->trees, w->asked);
    /* Worked out again it is the same. */
    trees = fm->trees;
    ub_fm_paths(fm);
    g_assert_cmpuint(fm->trees, ==, trees);
    now = bring_up(p, &plan, NULL);
    g_assert_cmpuint(now->written, ==, 0);
    judge_layers(p, now, vls);
    ub_fm_free(now);
    for (; cuts && cut_some(w); cuts--) {
        now = bring_up(p, &plan, fm);
        judge_layers(p, now, vls);
        ub_fm_free(fm);
        fm = now;
    }
    ub_fm_free(fm);
    policy_free(p);
}

static void test_rings(void)
{
    for (unsigned n = 4; n <= 8; n++) {
        live(grid(n, n, 2), 2, 1, true);
        live(grid(n, n, 2), 8, 1, true);
    }
}

static void test_meshes(void)
{
    live(grid(16, 4, 2), 2, 4, false);
    live(grid(16, 4, 2), 8, 4, true);
    live(grid(9, 3, 3), 4, 4, false);
}

static void test_random(void)
{
    for (unsigned i = 0; i < (g_test_slow() ? 60 : 6); i++) {
        live(random_world(8, 64, 12), 1 + i % 8, 3, false);
    }
}

/* One VL, a switch without the slice, or one that does not say: a tree, as ever. */
static void test_no_maps(void)
{
    World *w = grid(5, 5, 2);
    Policy *p;
    UbFmPlan plan;
    UbFm *fm;

    ub_fm_plan_init(&plan);
    fm = look(w);
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    g_assert_true(fm->tree);
    judge(w, fm);
    ub_fm_free(fm);
    world_free(w);
    p = policy_new(grid(5, 5, 2), 1);
    fm = bring_up(p, &plan, NULL);
    g_assert_true(fm->tree);
    g_assert_cmpuint(fm->layers, ==, 1);
    judge(p->w, fm);
    ub_fm_free(fm);
    policy_free(p);
}

/* All maps of all switches are those that were worked out, of each pair of groups. */
static void judge_maps(Policy *p, const UbFm *fm)
{
    const uint32_t base = UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP);

    for (unsigned i = 0; i < p->w->f.nodes; i++) {
        for (unsigned k = 0; k < 3 * 3 * VLS && p->w->routes[i]; k++) {
            unsigned in = k / VLS / 3, out = k / VLS % 3, vl = k % VLS;
            uint32_t eight = ub_space_read(p->w->f.node[i].space,
                                           base + UB_NETR_VL_MAP_DW(in, out, vl));

            g_assert_cmpuint(eight >> UB_NETR_VL_MAP_SHIFT(vl) & 15, ==,
                             ub_fm_vl_out(fm, in, out, vl));
        }
    }
}

/* Without a ring nobody is given maps, and maps of before go. */
static void test_no_ring(void)
{
    Policy *p = policy_new(grid(4, 4, 2), 4);
    UbFm *fm, *now;
    UbFmPlan plan;
    uint32_t groups = 0;

    ub_fm_plan_init(&plan);
    fm = bring_up(p, &plan, NULL);
    g_assert_cmpuint(fm->layers, ==, 2);
    g_assert_cmpuint(fm->classes, ==, 2);
    /* A class is kept from sender to receiver, and no other is there. */
    g_assert_cmpuint(ub_fm_vl_out(fm, 0, 1, 3), ==, 1);
    g_assert_cmpuint(ub_fm_vl_out(fm, 1, 1, 1), ==, 3);
    g_assert_cmpuint(ub_fm_vl_out(fm, 1, 1, 3), ==, 3);
    g_assert_cmpuint(ub_fm_vl_out(fm, 1, 2, 1), ==, 1);
    g_assert_cmpuint(ub_fm_vl_out(fm, 2, 1, 1), ==, 1);
    g_assert_cmpuint(ub_fm_vl_out(fm, 2, 0, 3), ==, 1);
    judge_maps(p, fm);
    g_assert_true(cut_some(p->w));
    now = bring_up(p, &plan, fm);
    g_assert_cmpuint(now->layers, ==, 1);
    for (unsigned i = 0; i < p->w->f.nodes; i++) {
        for (unsigned k = 0; k < 3 && p->w->routes[i]; k++) {
            groups |= ub_space_read(p->w->f.node[i].space,
                                    UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) +
                                    UB_NETR_VL_GROUP + k);
        }
    }
    g_assert_cmphex(groups, ==, 0);
    ub_fm_free(fm);
    ub_fm_free(now);
    policy_free(p);
}

/* ---- Partitions ---- */

typedef struct Parts {
    World *w;
    uint32_t npi[FABRIC_NODES];
    unsigned node;      /* a switch, of which... */
    int port;           /* ... this port has... */
    uint32_t port_npi;  /* ... this NPI */
} Parts;

static uint32_t part_of(void *opaque, UbId guid, int port)
{
    Parts *t = opaque;

    for (unsigned i = 0; i < t->w->f.nodes; i++) {
        if (ub_id_same(t->w->f.node[i].guid, guid)) {
            return port == UB_FM_NONE ? t->npi[i]
                   : i == t->node && port == t->port ? t->port_npi : 0;
        }
    }
    return 0;
}

/* A port of a switch as it should be with @npi behind it, 0: nobody. */
static void judge_closed(Policy *p, unsigned i, unsigned port, uint32_t npi)
{
    const uint32_t *list;
    unsigned n = ub_net_npi_list(p->net[i], port, &list);

    g_assert_true(ub_net_npi_closed(p->net[i], port));
    g_assert_cmphex(ub_net_npi_replaced(p->net[i], port), ==, npi);
    g_assert_cmpuint(n, ==, npi ? 2 : 0);
    if (npi) {
        g_assert_cmphex(list[0] & 0xffffff, ==, npi & 0xffffff);
        g_assert_cmphex(list[0] ^ list[1], ==, LOW);
    }
}

static void judge_parts(Policy *p, const Parts *t)
{
    for (unsigned i = 0; i < p->w->f.nodes; i++) {
        const Node *n = &p->w->f.node[i];

        if (t->npi[i]) {
            g_assert_cmphex(ub_net_npi(p->net[i]), ==, t->npi[i]);
        }
        for (unsigned k = 0; k < FABRIC_PORTS && p->w->routes[i]; k++) {
            int peer = link_up(n, k) ? n->link[k].node : -1;
            const uint32_t *list;

            if (i == t->node && (int)k == t->port) {
                judge_closed(p, i, k, t->port_npi);
            } else if (peer >= 0 && p->w->routes[peer]) {
                g_assert_false(ub_net_npi_closed(p->net[i], k));
                g_assert_cmphex(ub_net_npi_replaced(p->net[i], k), ==, 0);
                g_assert_cmpuint(ub_net_npi_list(p->net[i], k, &list), ==, 0);
            } else {
                judge_closed(p, i, k, peer >= 0 ? t->npi[peer] : 0);
            }
        }
    }
}

/* Two partitions with a low member, some in none; 64 nodes and 8 switches. */
static Policy *two_parts(Parts *t, UbFmPlan *plan, unsigned leaves)
{
    Policy *p = policy_new(random_world(8, leaves, 12), 8);

    memset(t, 0, sizeof(*t));
    t->w = p->w;
    t->port = UB_FM_NONE;
    for (unsigned i = 0; i < p->w->f.nodes; i++) {
        t->npi[i] = p->w->routes[i] || i % 7 == 3 ? 0
                    : (5 + i % 2) | (i % 5 ? 0 : LOW);
    }
    ub_fm_plan_init(plan);
    plan->npi = part_of;
    plan->npi_opaque = t;
    return p;
}

static void test_parts(void)
{
    Parts t;
    UbFmPlan plan;
    Policy *p = two_parts(&t, &plan, 64);
    UbFm *fm, *now;
    unsigned sw = 1, all;

    fm = bring_up(p, &plan, NULL);
    judge_parts(p, &t);
    all = fm->written;
    /* Another manager finds all as it should be; so does the same one. */
    now = bring_up(p, &plan, NULL);
    g_assert_cmpuint(now->written, ==, 0);
    ub_fm_free(now);
    now = bring_up(p, &plan, fm);
    g_assert_cmpuint(now->written, ==, 0);
    ub_fm_free(fm);
    fm = now;
    /* Re-routed. */
    g_assert_true(cut_some(p->w));
    now = bring_up(p, &plan, fm);
    judge_parts(p, &t);
    ub_fm_free(fm);
    fm = now;
    /* A switch that was reset, with the address that it had. */
    for (sw = 2; sw < 8; sw++) {
        Node *n = &p->w->f.node[sw];
        uint32_t cna = cna_of(p->w, sw);

        ub_net_reset(p->net[sw], 0);
        ub_space_reset(n->space, UB_SPACE_RESET_DEVICE, 0);
        fabric_identity(n, cna, 0, 0);
        for (unsigned k = 0; k < FABRIC_PORTS; k++) {
            if (n->link[k].node >= 0) {
                fabric_link(&p->w->f, sw, k, n->link[k].node, n->link[k].port);
            }
        }
    }
    now = bring_up(p, &plan, fm);
    judge_parts(p, &t);
    g_assert_cmpuint(now->written, <, 2 * all);
    ub_fm_free(fm);
    ub_fm_free(now);
    policy_free(p);
}

/* A node is pulled out and put in elsewhere; another policy; what somebody has left. */
static void test_moves(void)
{
    Parts t;
    UbFmPlan plan;
    Policy *p = two_parts(&t, &plan, 12);
    unsigned leaf = p->w->f.nodes - 1, from, from_port;
    Node *n = &p->w->f.node[leaf];
    UbFm *fm, *now;
    int to;

    t.npi[leaf] = 5;
    from = n->link[0].node;
    from_port = n->link[0].port;
    fm = bring_up(p, &plan, NULL);
    judge_closed(p, from, from_port, 5);
    p->w->f.node[from].link[from_port].node = -1;
    to = from == 1 ? 2 : 1;
    fabric_link(&p->w->f, leaf, 0, to, free_port(&p->w->f.node[to]));
    now = bring_up(p, &plan, fm);
    judge_parts(p, &t);
    judge_closed(p, from, from_port, 0);
    ub_fm_free(fm);
    fm = now;
    /* Everybody is in another one, and one in none. */
    for (unsigned i = 0; i < p->w->f.nodes; i++) {
        t.npi[i] = p->w->routes[i] ? 0 : 9;
    }
    t.npi[leaf] = 0;
    now = bring_up(p, &plan, fm);
    judge_parts(p, &t);
    ub_fm_free(fm);
    fm = now;
    /* By its port, of which the node behind it is told. */
    t.node = to;
    t.port = n->link[0].port;
    t.port_npi = 11 | LOW;
    now = bring_up(p, &plan, fm);
    judge_parts(p, &t);
    g_assert_cmphex(ub_net_npi(p->net[leaf]), ==, 11 | LOW);
    g_assert_cmphex(ub_fm_npi_of(now, &plan, ub_fm_find(now, n->guid)), ==,
                    11 | LOW);
    ub_fm_free(fm);
    /* Lists of somebody before us, at an edge and between switches. */
    for (unsigned k = 0; k < FABRIC_PORTS; k++) {
        for (unsigned npi = 100; npi < 105; npi++) {
            ub_net_npi_allow(p->net[to], k, npi);
        }
        ub_net_npi_replace(p->net[to], k, 77);
    }
    fm = bring_up(p, &plan, NULL);
    judge_parts(p, &t);
    ub_fm_free(fm);
    /* Half of a list: high or low alone. */
    for (unsigned half = 0; half < 2; half++) {
        ub_net_npi_disallow(p->net[to], t.port, 11 | (half ? LOW : 0));
        fm = bring_up(p, &plan, NULL);
        judge_parts(p, &t);
        ub_fm_free(fm);
    }
    /* Without a plan nothing is touched. */
    plan.npi = NULL;
    fm = bring_up(p, &plan, now);
    g_assert_cmpuint(fm->written, ==, 0);
    ub_fm_free(fm);
    ub_fm_free(now);
    policy_free(p);
}

/* A stranger's port passes nothing; a switch that cannot part is told. */
static bool not_the_last(void *opaque, UbId guid)
{
    World *w = opaque;

    return !ub_id_same(guid, w->f.node[w->f.nodes - 1].guid);
}

static void test_strangers(void)
{
    World *w = world_new();
    unsigned s = add_switch(w, 8);
    Parts t = { .w = w, .port = UB_FM_NONE };
    UbFmPlan plan;
    Policy *p;
    UbFm *fm;

    join(w, 0, s);
    join(w, s, add_leaf(w));
    ub_fm_plan_init(&plan);
    plan.npi = part_of;
    plan.npi_opaque = &t;
    t.npi[0] = t.npi[2] = 5;
    fm = look(w);
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 3);
    ub_fm_free(fm);
    p = policy_new(w, 8);
    fm = ub_fm_new(&world_ops, w);
    fm->admit = not_the_last;
    fm->admitting = w;
    g_assert_true(ub_fm_discover(fm));
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    judge_closed(p, s, 0, 5);
    judge_closed(p, s, 1, 0);
    g_assert_cmphex(ub_net_npi(p->net[2]), ==, UB_NPI_DEFAULT);
    ub_fm_free(fm);
    policy_free(p);
}

/* ---- Nodes that refuse ---- */

static UbId refuser;        /* of an address... */
static unsigned refuses;    /* ... or of so many writes... */
static uint32_t refused;    /* ... of this register of CFG0_CAP242, of any node */

static int refuse_scan(void *opaque, const UbScanWay *way,
                       const UbScanAsk *ask, uint8_t *pdu, unsigned *len)
{
    return ask->cmd == UB_SCAN_NA_CONFIG && ub_id_same(ask->guid, refuser)
           ? UB_MGMT_NO_RESOURCE : world_scan(opaque, way, ask, pdu, len);
}

static int refuse_write(void *opaque, uint32_t cna, uint32_t dw,
                        uint32_t value)
{
    if (refuses && dw == UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + refused) {
        refuses--;
        return UB_MGMT_NO_RESOURCE;
    }
    return world_write(opaque, cna, dw, value);
}

static const UbFmOps refuse_ops = {
    .scan = refuse_scan, .read = world_read, .write = refuse_write,
};

/* Who has no address is counted, and nobody has a way to CNA 0; so is who has another
 * one's, and takes no other. */
static void test_no_address(void)
{
    UbId last;
    World *w = world_new();
    unsigned s = add_switch(w, 8);
    UbFmPlan plan;
    UbFm *fm;

    join(w, 0, s);
    join(w, s, add_leaf(w));
    join(w, s, add_leaf(w));
    refuser = w->f.node[w->f.nodes - 1].guid;
    ub_fm_plan_init(&plan);
    fm = ub_fm_new(&refuse_ops, w);
    g_assert_true(ub_fm_discover(fm));
    g_assert_cmpuint(ub_fm_give_addresses(fm, &plan), ==, 1);
    g_assert_cmphex(fm->node[ub_fm_find(fm, refuser)].cna, ==, 0);
    ub_fm_paths(fm);
    for (unsigned i = 0; i < fm->nodes; i++) {
        g_assert_cmphex(ub_fm_route(fm, i, 0), ==, 0);
    }
    ub_fm_free(fm);
    refuser = (UbId) { { 0 } };
    fabric_identity(&w->f.node[w->f.nodes - 1], cna_of(w, s), 0, 0);
    fm = ub_fm_new(&refuse_ops, w);
    g_assert_true(ub_fm_discover(fm));
    last = fm->node[fm->nodes - 1].guid;
    refuser = last;
    g_assert_cmphex(fm->node[fm->nodes - 1].cna, ==, cna_of(w, s));
    g_assert_cmpuint(ub_fm_give_addresses(fm, &plan), ==, 1);
    g_assert_cmphex(fm->node[ub_fm_find(fm, last)].cna, ==, 0);
    ub_fm_free(fm);
    refuser = (UbId) { { 0 } };
    world_free(w);
}

/* A port that refused is told again, whoever knows of the others. */
static void test_refused_port(void)
{
    Parts t;
    UbFmPlan plan;
    Policy *p = two_parts(&t, &plan, 12);
    UbFm *fm = ub_fm_new(&refuse_ops, p->w), *now;

    refuses = 1;
    refused = UB_NETR_PORT;
    g_assert_true(ub_fm_discover(fm));
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 1);
    g_assert_cmpuint(refuses, ==, 0);
    now = bring_up(p, &plan, fm);
    g_assert_cmpuint(now->written, >, 0);
    judge_parts(p, &t);
    ub_fm_free(fm);
    ub_fm_free(now);
    policy_free(p);
}

static uint32_t highest;    /* index of a list that was asked for */

static int boast_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    int status = world_read(opaque, cna, dw, value);

    if (dw == UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + UB_NETR_COUNT && !status) {
        *value = 300;
    }
    return status;
}

static int boast_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    if (dw == UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + UB_NETR_INDEX) {
        highest = MAX(highest, value);
    }
    return world_write(opaque, cna, dw, value);
}

/* A switch that says that its lists are longer than any is believed up to the most. */
static void test_boast(void)
{
    static const UbFmOps ops = {
        .scan = world_scan, .read = boast_read, .write = boast_write,
    };
    Parts t;
    UbFmPlan plan;
    Policy *p = two_parts(&t, &plan, 12);
    UbFm *fm = ub_fm_new(&ops, p->w);

    g_assert_true(ub_fm_discover(fm));
    ub_fm_bring_up(fm, &plan, NULL);
    g_assert_cmpuint(highest, ==, 255);
    ub_fm_free(fm);
    policy_free(p);
}

/* So is a switch whose groups of ports were refused: else there would be a ring. */
static void test_refused_map(void)
{
    Policy *p = policy_new(grid(4, 4, 2), 4);
    UbFm *fm = ub_fm_new(&refuse_ops, p->w), *now;
    UbFmPlan plan;

    ub_fm_plan_init(&plan);
    refuses = 1;
    refused = UB_NETR_VL_GROUP_DW(0);
    g_assert_true(ub_fm_discover(fm));
    /* It is not asked for its identity then, either. */
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 2);
    g_assert_cmpuint(fm->layers, ==, 2);
    g_assert_cmpuint(refuses, ==, 0);
    now = bring_up(p, &plan, fm);
    g_assert_cmpuint(now->written, >, 0);
    judge_layers(p, now, 4);
    ub_fm_free(fm);
    ub_fm_free(now);
    policy_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-policy/rings", test_rings);
    g_test_add_func("/ub/fm-policy/meshes", test_meshes);
    g_test_add_func("/ub/fm-policy/random", test_random);
    g_test_add_func("/ub/fm-policy/no-maps", test_no_maps);
    g_test_add_func("/ub/fm-policy/no-ring", test_no_ring);
    g_test_add_func("/ub/fm-policy/parts", test_parts);
    g_test_add_func("/ub/fm-policy/moves", test_moves);
    g_test_add_func("/ub/fm-policy/strangers", test_strangers);
    g_test_add_func("/ub/fm-policy/no-address", test_no_address);
    g_test_add_func("/ub/fm-policy/refused-port", test_refused_port);
    g_test_add_func("/ub/fm-policy/boast", test_boast);
    g_test_add_func("/ub/fm-policy/refused-map", test_refused_map);
    return g_test_run();
}
