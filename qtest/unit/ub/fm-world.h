/*
 * Virtual fabrics for a manager's tests: switches and controllers whose
 * messages go by the tables that were written, the manager's hands, and judges
 * of what it did.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FM_WORLD_H
#define FM_WORLD_H

#include "mgmt-fabric.h"
#include "ub/fm.h"

#define ROUTES 128

/* A fabric whose messages go by the tables that were written. */
typedef struct World {
    Fabric f;
    UbSlice *routes[FABRIC_NODES];
    UbSpaceDword *rows[FABRIC_NODES];
    UbSpaceSlice table[FABRIC_NODES];
    unsigned leaves, asked, lost;
    unsigned manager; /* node whose software asks */
    /* What a test does before each question of the manager, which are counted;
     * false: the manager is dead, and asks nothing any more. */
    bool (*step)(struct World *w);
    unsigned steps, last;
    int victim; /* of a step */
    GRand *rand;
} World;

static inline World *world_of(Fabric *f)
{
    return (World *)f;
}

/* ---- Routes of the fabric ---- */

static inline uint64_t entry_of(World *w, unsigned node, uint32_t cna)
{
    return ub_slice_get(w->routes[node],
                        UB_ROUTE_DEFAULT_ROUTING_TABLE + cna + 1);
}

static inline bool link_up(const Node *n, unsigned port)
{
    return n->port[port] && n->link[port].node >= 0 && !n->link[port].down;
}

static inline unsigned any_port(World *w, uint64_t mask)
{
    unsigned skip = g_rand_int_range(w->rand, 0, __builtin_popcountll(mask));

    for (; skip; skip--) {
        mask &= mask - 1;
    }
    return __builtin_ctzll(mask);
}

static inline Node *follow_routes(Node *n, const UbMgmtAddr *a, unsigned *port)
{
    World *w = world_of(n->fabric);
    unsigned out = a->via ? a->via - 1 : 0;
    bool first = a->via || !w->routes[n->index];

    for (unsigned hops = 0; hops < 2 * FABRIC_NODES; hops++) {
        if (!first) {
            uint64_t mask =
                a->dcna < ROUTES ? entry_of(w, n->index, a->dcna) : 0;

            if (!mask) {
                break;
            }
            out = any_port(w, mask);
        }
        first = false;
        if (!link_up(n, out)) {
            break;
        }
        w->f.now += w->f.hop;
        *port = n->link[out].port;
        n = &n->fabric->node[n->link[out].node];
        if (ub_mgmt_own_cna(n->m, a->dcna)) {
            return n;
        }
        if (!w->routes[n->index]) {
            break;
        }
    }
    w->lost++;
    return NULL;
}

/* ---- Building ---- */

static inline unsigned add_leaf(World *w)
{
    UbMgmtConfig cfg;

    ub_mgmt_config_init(&cfg);
    cfg.manager = !w->f.nodes;
    w->leaves++;
    return fabric_add(&w->f, &cfg)->index;
}

static inline unsigned add_switch(World *w, unsigned ports)
{
    UbMgmtConfig cfg;
    unsigned i, rows = ROUTES + 1;
    Node *n;

    ub_mgmt_config_init(&cfg);
    cfg.ports = ports;
    cfg.forward = true;
    cfg.port_cna = cfg.manager = false;
    cfg.emq_depth = 0;
    n = fabric_add(&w->f, &cfg);
    i = n->index;
    n->guid.w[2] = 0x03000000; /* type 3: a switch */
    ub_slice_init(n->cfg0, UB_CFG0_GUID + 2, ~0u, n->guid.w[2]);
    ub_slice_init(n->cfg0, UB_CFG0_SUPPORTED_FEATURE, ~0u,
                  1 | UB_CFG0_SUPPORTED_FEATURE__SWITCH_SUPPORTED |
                      UB_CFG0_SUPPORTED_FEATURE__ROUTE_TABLE_SUPPORTED);
    w->rows[i] = g_new0(UbSpaceDword, rows);
    for (unsigned r = 0; r < rows; r++) {
        w->rows[i][r] = (UbSpaceDword){
            .dw = UB_ROUTE_DEFAULT_ROUTING_TABLE + r,
            .rw = ~0u,
            .name = "row",
        };
    }
    w->table[i] = (UbSpaceSlice){
        .name = "ROUTE_TABLE",
        .dwords = w->rows[i],
        .count = rows,
        .used = UB_ROUTE_DEFAULT_ROUTING_TABLE + rows,
    };
    w->routes[i] = ub_space_attach_at(n->space, UB_CFG_ROUTE_BASE, &w->table[i],
                                      NULL, NULL);
    ub_slice_init(w->routes[i], UB_ROUTE_TABLE_CAP, ~0u, ROUTES - 1);
    return i;
}

static inline int free_port(const Node *n)
{
    for (unsigned p = 0; p < FABRIC_PORTS && n->port[p]; p++) {
        if (n->link[p].node < 0) {
            return p;
        }
    }
    return -1;
}

static inline bool join(World *w, unsigned a, unsigned b)
{
    int pa, pb;

    pa = free_port(&w->f.node[a]);
    if (pa < 0 || a == b) {
        return false;
    }
    pb = free_port(&w->f.node[b]);
    if (pb < 0) {
        return false;
    }
    fabric_link(&w->f, a, pa, b, pb);
    return true;
}

static inline World *world_new(void)
{
    World *w = g_new0(World, 1);

    g_queue_init(&w->f.under_way);
    w->f.now = SECOND;
    w->f.route = follow_routes;
    w->rand = g_rand_new_with_seed(g_test_rand_int());
    add_leaf(w);
    return w;
}

static inline void world_free(World *w)
{
    fabric_free(&w->f);
    for (unsigned i = 0; i < FABRIC_NODES; i++) {
        g_free(w->rows[i]);
    }
    g_rand_free(w->rand);
    g_free(w);
}

/* Switches in a random tree with @more links, and leaves at random ones. */
static inline World *random_world(unsigned switches, unsigned leaves,
                                  unsigned more)
{
    World *w = world_new();
    unsigned first = 1;

    for (unsigned i = 0; i < switches; i++) {
        unsigned s = add_switch(w, FABRIC_PORTS);

        if (i) {
            g_assert_true(join(w, s, first + g_rand_int_range(w->rand, 0, i)));
        }
    }
    for (unsigned i = 0; i < more; i++) {
        join(w, first + g_rand_int_range(w->rand, 0, switches),
             first + g_rand_int_range(w->rand, 0, switches));
    }
    g_assert_true(join(w, 0, first));
    for (unsigned i = 1; i < leaves; i++) {
        unsigned leaf = add_leaf(w);

        while (!join(w, leaf, first + g_rand_int_range(w->rand, 0, switches))) {
        }
    }
    return w;
}

/* ---- The manager's hands ---- */

static inline bool is_alive(World *w)
{
    w->steps++;
    return !w->step || w->step(w);
}

/* Until there is an answer, or it is in vain. */
static inline int await(World *w, Answer *a)
{
    fabric_pump(&w->f);
    while (!a->calls) {
        fabric_run(&w->f, SECOND);
        fabric_pump(&w->f);
    }
    w->asked++;
    return a->in_vain ? -1 : (int)a->status;
}

static inline int world_scan(void *opaque, const UbScanWay *way,
                             const UbScanAsk *ask, uint8_t *pdu, unsigned *len)
{
    World *w = opaque;
    Answer a = {0};
    int status;

    if (!is_alive(w) || !ub_mgmt_scan(w->f.node[w->manager].m, w->f.now, way,
                                      ask, fabric_answer, &a)) {
        return -1;
    }
    status = await(w, &a);
    memcpy(pdu, a.data, a.len);
    *len = a.len;
    return status;
}

static inline int world_read(void *opaque, uint32_t cna, uint32_t dw,
                             uint32_t *value)
{
    World *w = opaque;
    UbMgmtAddr to = {.dcna = cna, .mgmt = true, .local = !cna};
    Answer a = {0};
    int status;

    *value = 0;
    if (!is_alive(w)) {
        return -1;
    }
    g_assert_true(ub_mgmt_read(w->f.node[w->manager].m, w->f.now, &to, 0, dw,
                               fabric_answer, &a));
    status = await(w, &a);
    *value = get_be32(a.data);
    return status;
}

static inline int world_write(void *opaque, uint32_t cna, uint32_t dw,
                              uint32_t value)
{
    World *w = opaque;
    UbMgmtAddr to = {.dcna = cna, .mgmt = true, .local = !cna};
    Answer a = {0};

    if (!is_alive(w)) {
        return -1;
    }
    g_assert_true(ub_mgmt_write(w->f.node[w->manager].m, w->f.now, &to, 0, dw,
                                value, 0xf, fabric_answer, &a));
    return await(w, &a);
}

static const UbFmOps world_ops = {
    .scan = world_scan,
    .read = world_read,
    .write = world_write,
};

static inline UbFm *look(World *w)
{
    UbFm *fm = ub_fm_new(&world_ops, w);

    g_assert_true(ub_fm_discover(fm));
    return fm;
}

/* ---- Judges, slow and plain ---- */

static inline uint32_t cna_of(World *w, unsigned node)
{
    return ub_slice_get(w->f.node[node].cfg0, UB_CFG0_PRIMARY_CNA);
}

/* Hops from every node to @dest through switches. */
static inline void distances(World *w, unsigned dest, unsigned *hops)
{
    bool more = true;

    for (unsigned i = 0; i < w->f.nodes; i++) {
        hops[i] = i == dest ? 0 : 1000;
    }
    while (more) {
        more = false;
        for (unsigned i = 0; i < w->f.nodes; i++) {
            for (unsigned p = 0; p < FABRIC_PORTS; p++) {
                int peer = w->f.node[i].link[p].node;

                if (link_up(&w->f.node[i], p) &&
                    (peer == dest || w->routes[peer]) &&
                    hops[peer] + 1 < hops[i]) {
                    hops[i] = hops[peer] + 1;
                    more = true;
                }
            }
        }
    }
}

/* Every way that the tables allow from a switch ends at @dest, none longer than
 * @most; whether all are as short as can be. */
static inline bool judge_ways(World *w, unsigned at, unsigned dest,
                              unsigned most, const unsigned *hops)
{
    uint64_t mask = entry_of(w, at, cna_of(w, dest));
    bool shortest = true;

    g_assert_cmpuint(most, >, 0);
    g_assert_cmphex(mask, !=, 0);
    for (; mask; mask &= mask - 1) {
        unsigned p = __builtin_ctzll(mask);
        const Node *n = &w->f.node[at];
        int peer = n->link[p].node;

        g_assert_true(link_up(n, p));
        shortest &= hops[peer] + 1 == hops[at];
        if (peer != dest) {
            g_assert_nonnull(w->routes[peer]);
            shortest &= judge_ways(w, peer, dest, most - 1, hops);
        }
    }
    return shortest;
}

/* Rings of waiting links, by taking away those that wait for nothing. */
static inline bool has_ring(World *w)
{
    unsigned n = w->f.nodes, links = n * FABRIC_PORTS;
    g_autofree bool *gone = g_new0(bool, links);
    bool more = true;

    while (more) {
        more = false;
        for (unsigned l = 0; l < links; l++) {
            unsigned i = l / FABRIC_PORTS, p = l % FABRIC_PORTS;
            int peer = w->f.node[i].link[p].node;
            bool waits = false;

            if (gone[l]) {
                continue;
            }
            for (unsigned d = 0; d < n && !waits && w->routes[i] &&
                                 link_up(&w->f.node[i], p) && w->routes[peer];
                 d++) {
                uint64_t after = entry_of(w, i, cna_of(w, d)) >> p & 1
                                     ? entry_of(w, peer, cna_of(w, d))
                                     : 0;

                for (; after && !waits; after &= after - 1) {
                    waits = !gone[peer * FABRIC_PORTS + __builtin_ctzll(after)];
                }
            }
            if (!waits) {
                gone[l] = more = true;
            }
        }
    }
    for (unsigned l = 0; l < links; l++) {
        if (!gone[l]) {
            return true;
        }
    }
    return false;
}

/* All that can be reached have addresses and routes as they should. */
static inline void judge(World *w, const UbFm *fm)
{
    unsigned hops[FABRIC_NODES], from_us[FABRIC_NODES], there = 0;
    bool shortest = true;
    GHashTable *cnas = g_hash_table_new(NULL, NULL);

    distances(w, 0, from_us);
    for (unsigned d = 0; d < w->f.nodes; d++) {
        if (from_us[d] == 1000) {
            g_assert_cmpint(ub_fm_find(fm, w->f.node[d].guid), ==, UB_FM_NONE);
            continue;
        }
        there++;
        g_assert_cmpint(ub_fm_find(fm, w->f.node[d].guid), >=, 0);
        g_assert_cmphex(cna_of(w, d), !=, 0);
        g_assert_true(g_hash_table_add(cnas, GUINT_TO_POINTER(cna_of(w, d))));
        distances(w, d, hops);
        for (unsigned i = 0; i < w->f.nodes; i++) {
            if (i != d && from_us[i] != 1000 && w->routes[i]) {
                shortest &= judge_ways(w, i, d, 24, hops);
            }
        }
    }
    /* The manager's own node would know the way, too. */
    for (unsigned i = 1; i < fm->nodes; i++) {
        g_assert_cmphex(ub_fm_route(fm, 0, fm->node[i].cna), !=, 0);
    }
    g_assert_cmpuint(fm->nodes, ==, there);
    g_assert_false(has_ring(w));
    g_assert_true(ub_fm_is_ring_free(fm));
    g_assert_true(fm->tree || shortest);
    g_hash_table_unref(cnas);
}

#endif
