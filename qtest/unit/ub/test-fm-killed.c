/*
 * Fabric managers, switches and nodes that die at each step of bringing a fabric up or
 * routing it anew: the next run makes it whole.  And how long a run takes, in virtual
 * time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fm-world.h"

/* ---- Deaths ---- */

/* The manager dies before this question. */
static bool step_killed(World *w)
{
    return w->steps <= w->last;
}

/* A node loses its power for good. */
static void unplug(World *w, unsigned node)
{
    Node *n = &w->f.node[node];

    for (unsigned p = 0; p < FABRIC_PORTS && n->port[p]; p++) {
        if (n->link[p].node >= 0) {
            n->link[p].down = true;
            w->f.node[n->link[p].node].link[n->link[p].port].down = true;
        }
    }
}

static bool step_unplugged(World *w)
{
    if (w->steps == w->last + 1) {
        unplug(w, w->victim);
    }
    return true;
}

/* A node begins anew: without address, routes and manager, its links as before. */
static void reset(World *w, unsigned node)
{
    Node *n = &w->f.node[node];

    ub_space_reset(n->space, UB_SPACE_RESET_DEVICE, 0);
    for (unsigned p = 0; p < FABRIC_PORTS && n->port[p]; p++) {
        if (n->link[p].node >= 0) {
            fabric_link(&w->f, node, p, n->link[p].node, n->link[p].port);
        }
    }
}

static bool step_reset(World *w)
{
    if (w->steps == w->last + 1) {
        reset(w, w->victim);
    }
    return true;
}

/* ---- Runs ---- */

static const UbFmPlan plan = { .first_cna = 0x11, .upi = 5,
                               .eid_prefix.w[3] = 0xfd000000 };

/* Some nodes, in a ring of switches as well as beside it: the same each time. */
static World *small_world(void)
{
    World *w = world_new();
    unsigned s[4];

    for (unsigned i = 0; i < G_N_ELEMENTS(s); i++) {
        s[i] = add_switch(w, 8);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(s); i++) {
        unsigned leaf = i ? add_leaf(w) : 0;

        g_assert_true(join(w, s[i], s[(i + 1) % G_N_ELEMENTS(s)]));
        g_assert_true(join(w, leaf, s[i]));
    }
    g_assert_true(join(w, add_leaf(w), s[2]));
    return w;
}

/* A manager's whole life; how many refused something. */
static unsigned run_once(World *w, UbFm **fm, const UbFm *before)
{
    w->steps = 0;
    *fm = ub_fm_new(&world_ops, w);
    return ub_fm_discover(*fm) ? ub_fm_bring_up(*fm, &plan, before) : 1;
}

/* One that knows nothing of what was before makes all whole, and the one after it has
 * nothing to write. */
static void recover(World *w)
{
    UbFm *fm;

    w->step = NULL;
    g_assert_cmpuint(run_once(w, &fm, NULL), ==, 0);
    judge(w, fm);
    for (unsigned i = 0; i < fm->nodes; i++) {
        g_assert_cmphex(fm->node[i].upi, ==, 5);
        g_assert_cmphex(fm->node[i].fm_cna, ==, fm->node[0].cna);
        g_assert_cmphex(fm->node[i].eid.w[3], ==, 0xfd000000);
    }
    g_assert_false(ub_fm_forgotten(fm));
    ub_fm_free(fm);
    g_assert_cmpuint(run_once(w, &fm, NULL), ==, 0);
    g_assert_cmpuint(fm->written, ==, 0);
    judge(w, fm);
    ub_fm_free(fm);
}

/* Entries of CNAs that nobody has are empty. */
static void judge_rest(World *w)
{
    for (unsigned i = 0; i < w->f.nodes; i++) {
        for (unsigned cna = 1; w->routes[i] && cna < ROUTES; cna++) {
            bool there = false;

            for (unsigned n = 0; n < w->f.nodes && !there; n++) {
                there = cna_of(w, n) == cna;
            }
            g_assert_true(there || !entry_of(w, i, cna));
        }
    }
}

/* How many questions a run asks, when nobody dies. */
static unsigned count_steps(World *w)
{
    UbFm *fm;
    unsigned steps;

    g_assert_cmpuint(run_once(w, &fm, NULL), ==, 0);
    steps = w->steps;
    ub_fm_free(fm);
    return steps;
}

/* The manager dies at each step of the first run. */
static void test_manager(void)
{
    World *w = small_world();
    unsigned steps = count_steps(w);
    UbFm *fm;

    world_free(w);
    g_assert_cmpuint(steps, >, 200);
    for (unsigned last = 0; last < steps; last++) {
        w = small_world();
        w->step = step_killed;
        w->last = last;
        g_assert_cmpuint(run_once(w, &fm, NULL), >, 0);
        ub_fm_free(fm);
        recover(w);
        judge_rest(w);
        world_free(w);
    }
}

/* Two links between switches are cut, so that half of the ring is gone. */
static void cut(World *w)
{
    const unsigned a = 1, b = 4;    /* the switches that the ring is closed by */

    for (unsigned p = 0; p < FABRIC_PORTS && w->f.node[a].port[p]; p++) {
        if (w->f.node[a].link[p].node == (int)b) {
            w->f.node[a].link[p].down = true;
            w->f.node[b].link[w->f.node[a].link[p].port].down = true;
        }
    }
}

/* It dies at each step of routing anew; the last leaf, which has the highest CNA, is
 * gone then as well. */
static void test_rerouting(void)
{
    unsigned last = 0;
    bool whole = false;

    for (; !whole; last++) {
        World *w = small_world();
        UbFm *fm, *now;

        g_assert_cmpuint(run_once(w, &fm, NULL), ==, 0);
        cut(w);
        unplug(w, w->f.nodes - 1);
        fabric_identity(&w->f.node[w->f.nodes - 1], 0, 0, 0);
        w->step = step_killed;
        w->last = last;
        whole = !run_once(w, &now, fm);
        ub_fm_free(fm);
        ub_fm_free(now);
        recover(w);
        judge_rest(w);
        world_free(w);
    }
    g_assert_cmpuint(last, >, 50);
}

/* A node dies, or begins anew, at a step; the service looks once more. */
static void node_dies(unsigned victim, unsigned last, bool (*step)(World *w),
                      bool later)
{
    World *w = small_world();
    UbFm *fm, *now, *before = NULL;

    if (later) {
        g_assert_cmpuint(run_once(w, &before, NULL), ==, 0);
        cut(w);
    }
    w->victim = victim;
    w->last = last;
    w->step = step;
    run_once(w, &fm, before);
    ub_fm_free(before);
    w->step = NULL;
    g_assert_cmpuint(run_once(w, &now, fm), ==, 0);
    judge(w, now);
    ub_fm_free(fm);
    ub_fm_free(now);
    recover(w);
    world_free(w);
}

static void test_nodes(void)
{
    World *w = small_world();
    unsigned steps = count_steps(w), stride = g_test_slow() ? 1 : 7;

    world_free(w);
    for (unsigned victim = 1; victim < 9; victim++) {
        /* Another part of the steps with each. */
        for (unsigned last = victim % stride; last < steps; last += stride) {
            node_dies(victim, last, step_unplugged, last & 1);
            node_dies(victim, last, step_reset, last & 1);
        }
    }
}

/* What was reset and looks as before is found by who its manager is. */
static void test_forgotten(void)
{
    World *w = small_world();
    UbFm *fm, *now;
    unsigned cna;

    g_assert_cmpuint(run_once(w, &fm, NULL), ==, 0);
    cna = cna_of(w, 3);
    reset(w, 3);
    fabric_identity(&w->f.node[3], cna, 0, 0);
    now = look(w);
    g_assert_true(ub_fm_same(fm, now));
    g_assert_true(ub_fm_forgotten(now));
    g_assert_cmpuint(ub_fm_bring_up(now, &plan, fm), ==, 0);
    g_assert_false(ub_fm_forgotten(now));
    judge(w, now);
    ub_fm_free(fm);
    ub_fm_free(now);
    world_free(w);
}

/* A manager that comes again with a list that is shorter takes away the routes to who is
 * not on it any more, though it does not know that there were some. */
static bool admit(void *admitting, UbId guid)
{
    const UbId *banned = admitting;

    return !ub_id_same(*banned, guid);
}

static void test_banned(void)
{
    World *w = small_world();
    unsigned last = w->f.nodes - 1, cna;
    UbFm *fm;

    g_assert_cmpuint(run_once(w, &fm, NULL), ==, 0);
    ub_fm_free(fm);
    cna = cna_of(w, last);
    for (unsigned i = 1; i < 5; i++) {
        g_assert_cmphex(entry_of(w, i, cna), !=, 0);
    }
    fm = ub_fm_new(&world_ops, w);
    fm->admit = admit;
    fm->admitting = &w->f.node[last].guid;
    g_assert_true(ub_fm_discover(fm));
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    for (unsigned i = 1; i < 5; i++) {
        g_assert_cmphex(entry_of(w, i, cna), ==, 0);
    }
    ub_fm_free(fm);
    world_free(w);
}

/* What is known is not asked for again: a look at a fabric that is up, and a run with
 * what the last one knew, take a fraction of one that knows nothing. */
static void test_known(void)
{
    World *w = small_world();
    UbFm *fm, *now, *anew;
    unsigned looked, known;

    g_assert_cmpuint(run_once(w, &fm, NULL), ==, 0);
    w->steps = 0;
    now = look(w);
    looked = w->steps;
    w->steps = 0;
    g_assert_cmpuint(ub_fm_bring_up(now, &plan, fm), ==, 0);
    known = w->steps;
    /* Features, EID, UPI, the manager, totals of each; of switches the table's size. */
    g_assert_cmpuint(known, ==, 8 * now->nodes + 4);
    g_assert_cmpuint(now->written, ==, 0);
    g_assert_cmpuint(run_once(w, &anew, NULL), ==, 0);
    g_assert_cmpuint(w->steps, >, looked + known + 4 * 8);
    g_assert_cmpuint(anew->written, ==, 0);
    ub_fm_free(fm);
    ub_fm_free(now);
    ub_fm_free(anew);
    world_free(w);
}

/* ---- Time ---- */

/* Virtual time until all of a fabric is up; its links. */
static int64_t time_up(unsigned leaves, unsigned *links)
{
    World *w = world_new();
    unsigned s[8];
    int64_t begin;
    UbFm *fm;

    w->f.hop = 1000;
    *links = leaves;
    for (unsigned i = 0; i < G_N_ELEMENTS(s); i++) {
        s[i] = add_switch(w, FABRIC_PORTS);
    }
    /* A hypercube: three ways from each, and rings. */
    for (unsigned i = 0; i < G_N_ELEMENTS(s); i++) {
        for (unsigned bit = 1; bit < G_N_ELEMENTS(s); bit <<= 1) {
            if (!(i & bit)) {
                g_assert_true(join(w, s[i], s[i | bit]));
                ++*links;
            }
        }
    }
    for (unsigned i = 0; i < leaves; i++) {
        g_assert_true(join(w, i ? add_leaf(w) : 0, s[i % G_N_ELEMENTS(s)]));
    }
    begin = w->f.now;
    g_assert_cmpuint(run_once(w, &fm, NULL), ==, 0);
    begin = w->f.now - begin;
    g_assert_cmpuint(fm->nodes, ==, leaves + 8);
    judge(w, fm);
    g_test_message("%u nodes, %u links: %u questions, %.3f ms", fm->nodes,
                   *links, w->steps, begin / 1e6);
    ub_fm_free(fm);
    world_free(w);
    return begin;
}

/* Up to 64 nodes at 8 switches: time grows with links, and no faster. */
static void test_time(void)
{
    unsigned links[4];
    int64_t took[4];

    for (unsigned i = 0; i < G_N_ELEMENTS(took); i++) {
        took[i] = time_up(8u << i, &links[i]);
        g_assert_cmpint(took[i], >, 0);
    }
    for (unsigned i = 1; i < G_N_ELEMENTS(took); i++) {
        int64_t step = (took[i] - took[i - 1]) / (links[i] - links[i - 1]);
        int64_t first = (took[1] - took[0]) / (links[1] - links[0]);

        /* What one link more costs, does not grow. */
        g_assert_cmpint(step * 4, <=, first * 5);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-killed/manager", test_manager);
    g_test_add_func("/ub/fm-killed/rerouting", test_rerouting);
    g_test_add_func("/ub/fm-killed/nodes", test_nodes);
    g_test_add_func("/ub/fm-killed/forgotten", test_forgotten);
    g_test_add_func("/ub/fm-killed/banned", test_banned);
    g_test_add_func("/ub/fm-killed/known", test_known);
    g_test_add_func("/ub/fm-killed/time", test_time);
    return g_test_run();
}
