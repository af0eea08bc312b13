/*
 * A fabric manager and who may have TP channels with whom (UB 2.0 §10.4.6): lists of
 * peers that it writes into nodes, and what it takes out again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fm-world.h"
#include "ub/tp_hw.h"

/* A manager, a switch, and leaves, all with lists but the last leaf. */
enum { MANAGER, SWITCH, ONE, TWO, THREE, BARE, NODES };

/* The registers alone. */
typedef struct List {
    UbSpaceDword dw[UB_TPR_PEERS + 4];
    UbSpaceSlice table;
    UbSlice *slice;
} List;

/* Entries that were read, by the highest of them; how many COUNT says besides. */
static unsigned highest, boasts;

typedef struct Bed {
    World *w;
    UbFm *fm, *before;
    UbFmPlan plan;
    List list[NODES];
    uint8_t may[NODES];     /* with whom, by bits of their numbers */
} Bed;

static int watch_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    uint32_t i = dw - UB_CFG_CAP(UB_CFG0_BASE, UB_TPR_CAP);

    if (i - UB_TPR_PEER(0) < UB_TPR_PEERS + 1) {
        highest = MAX(highest, i - UB_TPR_PEER(0));
    }
    return world_read(opaque, cna, dw, value);
}

static const UbFmOps watch_ops = {
    .scan = world_scan, .read = watch_read, .write = world_write,
};

static void refresh(void *opaque, UbSlice *s, unsigned dw)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
        n += ub_slice_get(s, UB_TPR_PEER(i)) != 0;
    }
    if (dw == UB_TPR_COUNT) {
        ub_slice_set(s, dw, ~0u, n + boasts);
    }
}

static void attach(Bed *b, unsigned node, uint32_t magic)
{
    static const UbSliceOps ops = { NULL, refresh };
    List *l = &b->list[node];
    unsigned n = 0;

    l->dw[n++] = (UbSpaceDword){ .dw = UB_TPR_MAGIC, .reset = magic, .name = "Magic" };
    l->dw[n++] = (UbSpaceDword){ .dw = UB_TPR_SIZE, .reset = UB_TPR_PEERS,
                                 .name = "Size" };
    l->dw[n++] = (UbSpaceDword){ .dw = UB_TPR_COUNT, .name = "Count" };
    for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
        l->dw[n++] = (UbSpaceDword){ .dw = UB_TPR_PEER(i), .rw = 0xffffff,
                                     .name = "Peer" };
    }
    l->table = (UbSpaceSlice){ "LIST", UB_SPACE_CFG0, UB_TPR_CAP, UB_TPR_USED, l->dw, n };
    l->slice = ub_space_attach_at(b->w->f.node[node].space,
                                  UB_CFG_CAP(UB_CFG0_BASE, UB_TPR_CAP), &l->table, &ops,
                                  NULL);
    g_assert_nonnull(l->slice);
    ub_slice_manage(l->slice);
}

static int number_of(Bed *b, UbId guid)
{
    for (unsigned i = 0; i < b->w->f.nodes; i++) {
        if (ub_id_same(b->w->f.node[i].guid, guid)) {
            return i;
        }
    }
    g_assert_not_reached();
}

static bool may(void *opaque, UbId one, UbId other)
{
    Bed *b = opaque;

    return b->may[number_of(b, one)] >> number_of(b, other) & 1;
}

static void bed_open(Bed *b)
{
    *b = (Bed){ .w = world_new() };
    g_assert_cmpuint(add_switch(b->w, 8), ==, SWITCH);
    for (unsigned i = ONE; i < NODES; i++) {
        g_assert_cmpuint(add_leaf(b->w), ==, i);
    }
    for (unsigned i = 0; i < NODES; i++) {
        g_assert_true(i == SWITCH || join(b->w, i, SWITCH));
        if (i != SWITCH && i != BARE) {
            attach(b, i, UB_TPR_MAGIC__VALUE);
        }
    }
    ub_fm_plan_init(&b->plan);
    b->plan.upi = 5;
    b->plan.channels = may;
    b->plan.channels_opaque = b;
}

static void bed_close(Bed *b)
{
    ub_fm_free(b->before);
    world_free(b->w);
}

/* The manager does its work; nodes that refused. */
static unsigned bring_up(Bed *b)
{
    unsigned refused;

    b->fm = ub_fm_new(&watch_ops, b->w);
    g_assert_true(ub_fm_discover(b->fm));
    refused = ub_fm_bring_up(b->fm, &b->plan, b->before);
    ub_fm_free(b->before);
    b->before = b->fm;
    return refused;
}

static uint32_t *entry(Bed *b, unsigned node, unsigned i)
{
    static uint32_t value;

    value = ub_slice_get(b->list[node].slice, UB_TPR_PEER(i));
    return &value;
}

/* A node's list has these, by bits of their numbers, each once, and nobody else. */
static void lists(Bed *b, unsigned node, unsigned want)
{
    unsigned has = 0;

    for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
        uint32_t cna = *entry(b, node, i);

        for (unsigned k = 0; cna && k < NODES; k++) {
            if (cna_of(b->w, k) == cna) {
                g_assert_cmphex(has >> k & 1, ==, 0);
                has |= 1u << k;
                cna = 0;
            }
        }
        g_assert_cmphex(cna, ==, 0);
    }
    g_assert_cmphex(has, ==, want);
}

static void allow(Bed *b, unsigned one, unsigned other, bool on)
{
    b->may[one] = on ? b->may[one] | 1u << other : b->may[one] & ~(1u << other);
    b->may[other] = on ? b->may[other] | 1u << one : b->may[other] & ~(1u << one);
}

/* Pairs are written at both ends; what is so already is not written again; and no node
 * is in its own list. */
static void test_pairs(void)
{
    Bed b;

    bed_open(&b);
    allow(&b, ONE, TWO, true);
    allow(&b, ONE, MANAGER, true);
    allow(&b, ONE, ONE, true);
    /* One leaf has no list. */
    g_assert_cmpuint(bring_up(&b), ==, 1);
    lists(&b, ONE, 1 << TWO | 1 << MANAGER);
    lists(&b, TWO, 1 << ONE);
    lists(&b, MANAGER, 1 << ONE);
    lists(&b, THREE, 0);
    g_assert_cmpuint(bring_up(&b), ==, 1);
    g_assert_cmpuint(b.fm->written, ==, 0);
    allow(&b, ONE, TWO, false);
    allow(&b, TWO, THREE, true);
    allow(&b, ONE, THREE, true);
    g_assert_cmpuint(bring_up(&b), ==, 1);
    /* Of each end: one goes, another comes. */
    g_assert_cmpuint(b.fm->written, ==, 1 + 1 + 1 + 1 + 2);
    lists(&b, ONE, 1 << THREE | 1 << MANAGER);
    lists(&b, TWO, 1 << THREE);
    lists(&b, THREE, 1 << ONE | 1 << TWO);
    bed_close(&b);
}

/* Without a policy lists stay as they are. */
static void test_untouched(void)
{
    Bed b;

    bed_open(&b);
    b.plan.channels = NULL;
    ub_slice_set(b.list[ONE].slice, UB_TPR_PEER(3), ~0u, 0x77);
    g_assert_cmpuint(bring_up(&b), ==, 0);
    g_assert_cmphex(*entry(&b, ONE, 3), ==, 0x77);
    bed_close(&b);
}

/* What somebody else has left there: strangers, the same twice, holes. */
static void test_left(void)
{
    Bed b;
    uint32_t two;

    bed_open(&b);
    allow(&b, ONE, TWO, true);
    bring_up(&b);
    two = cna_of(b.w, TWO);
    for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
        ub_slice_set(b.list[ONE].slice, UB_TPR_PEER(i), ~0u,
                     i == 5 || i == 9 ? two : i == 7 ? 0
                     : i == 8 ? cna_of(b.w, THREE) : i == 10 ? cna_of(b.w, ONE)
                     : i == UB_TPR_PEERS - 1 ? 0xffffff : 0x1000 + i);
    }
    allow(&b, ONE, MANAGER, true);
    g_assert_cmpuint(bring_up(&b), ==, 1);
    lists(&b, ONE, 1 << TWO | 1 << MANAGER);
    g_assert_cmphex(*entry(&b, ONE, 5), ==, two);
    bed_close(&b);
}

/* Who is gone is in no list; who comes with its CNA is not either, unless it may. */
static void test_gone(void)
{
    uint32_t cna;
    Bed b;

    bed_open(&b);
    allow(&b, ONE, TWO, true);
    bring_up(&b);
    cna = cna_of(b.w, TWO);
    lists(&b, ONE, 1 << TWO);
    b.w->f.node[TWO].link[0].down = true;
    b.w->f.node[SWITCH].link[b.w->f.node[TWO].link[0].port].down = true;
    bring_up(&b);
    for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
        g_assert_cmphex(*entry(&b, ONE, i), !=, cna);
    }
    bed_close(&b);
}

/* What is at that place is another maker's. */
static void test_foreign(void)
{
    Bed b;

    bed_open(&b);
    attach(&b, BARE, UB_TPR_MAGIC__VALUE + 1);
    allow(&b, BARE, TWO, true);
    g_assert_cmpuint(bring_up(&b), ==, 1);
    lists(&b, BARE, 0);
    lists(&b, TWO, 1 << BARE);
    bed_close(&b);
}

/* A list that is full has as many as it has room for, and that is said; one that claims
 * more room than there is has no more. */
static void test_full(void)
{
    Bed b;

    bed_open(&b);
    attach(&b, BARE, UB_TPR_MAGIC__VALUE);
    for (unsigned k = ONE; k < NODES; k++) {
        allow(&b, MANAGER, k, true);
    }
    ub_slice_init(b.list[MANAGER].slice, UB_TPR_SIZE, ~0u, 3);
    ub_slice_init(b.list[ONE].slice, UB_TPR_SIZE, ~0u, ~0u);
    g_assert_cmpuint(bring_up(&b), ==, 1);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpint(*entry(&b, MANAGER, i) != 0, ==, i < 3);
    }
    lists(&b, ONE, 1 << MANAGER);
    ub_slice_init(b.list[MANAGER].slice, UB_TPR_SIZE, ~0u, 4);
    g_assert_cmpuint(bring_up(&b), ==, 0);
    lists(&b, MANAGER, 1 << ONE | 1 << TWO | 1 << THREE | 1 << BARE);
    /* There is none. */
    ub_slice_init(b.list[ONE].slice, UB_TPR_SIZE, ~0u, 0);
    g_assert_cmpuint(bring_up(&b), ==, 1);
    bed_close(&b);
}

/* No more is read than has to be: what is behind the last peer is empty.  Who says that
 * it has more than there is room for is read to the end of its list. */
static void test_count(void)
{
    Bed b;

    bed_open(&b);
    allow(&b, ONE, TWO, true);
    allow(&b, ONE, MANAGER, true);
    bring_up(&b);
    highest = 0;
    g_assert_cmpuint(bring_up(&b), ==, 1);
    g_assert_cmpuint(highest, ==, 1);
    boasts = 1000;
    allow(&b, ONE, TWO, false);
    allow(&b, ONE, THREE, true);
    g_assert_cmpuint(bring_up(&b), ==, 1);
    g_assert_cmpuint(highest, ==, UB_TPR_PEERS - 1);
    lists(&b, ONE, 1 << MANAGER | 1 << THREE);
    lists(&b, TWO, 0);
    lists(&b, THREE, 1 << ONE);
    boasts = 0;
    bed_close(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-channels/pairs", test_pairs);
    g_test_add_func("/ub/fm-channels/untouched", test_untouched);
    g_test_add_func("/ub/fm-channels/left", test_left);
    g_test_add_func("/ub/fm-channels/gone", test_gone);
    g_test_add_func("/ub/fm-channels/foreign", test_foreign);
    g_test_add_func("/ub/fm-channels/full", test_full);
    g_test_add_func("/ub/fm-channels/count", test_count);
    return g_test_run();
}
