/*
 * Routes (UB 2.0 §5.3.2): which ports of a node lead to each other node.
 *
 * First all shortest paths.  A packet holds a buffer of the link it came by until
 * the next link takes it, so links depend on one another; where those
 * dependencies form a ring, all of it can stand still for ever.  Then each path
 * goes up a spanning tree's levels first and down afterwards: a ring would need a
 * link upwards after one downwards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ub/fm.h"

#define FAR 0xffffu
#define MASK_PORTS 64 /* that an entry has bits for */
#define CNA_MOST 0xffffu /* that has routes (address.c) */

/* What is worked out for one fabric; arrays by node. */
typedef struct Paths {
    UbFm *fm;
    unsigned *level;    /* order: a smaller one is further up */
    unsigned *queue;
    uint16_t *cost;     /* hops to the destination in hand */
    uint16_t *down;     /* those by ways that only go down */
} Paths;

static void *new_array(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p) {
        abort();
    }
    return p;
}

/* The node behind a port that packets can take, or UB_FM_NONE. */
static int behind(const UbFm *fm, unsigned i, unsigned port)
{
    const UbFmNode *n = &fm->node[i];

    return port < n->ports && n->port[port].up ? n->port[port].peer
                                               : UB_FM_NONE;
}

static unsigned mask_ports(const UbFmNode *n)
{
    return n->ports < MASK_PORTS ? n->ports : MASK_PORTS;
}

static bool passes(const UbFm *fm, unsigned i, unsigned dest)
{
    return i == dest || ub_fm_is_switch(&fm->node[i]);
}

/* ---- Shortest paths ---- */

/* Hops from every node to @dest, into p->cost. */
static void measure(Paths *p, unsigned dest)
{
    const UbFm *fm = p->fm;
    unsigned head = 0, tail = 0;

    for (unsigned i = 0; i < fm->nodes; i++) {
        p->cost[i] = FAR;
    }
    p->cost[dest] = 0;
    p->queue[tail++] = dest;
    while (head < tail) {
        unsigned i = p->queue[head++];

        for (unsigned port = 0; port < fm->node[i].ports; port++) {
            int peer = behind(fm, i, port);

            if (peer >= 0 && p->cost[peer] == FAR) {
                p->cost[peer] = p->cost[i] + 1;
                if (passes(fm, peer, dest)) {
                    p->queue[tail++] = peer;
                }
            }
        }
    }
}

/* Ports of @i to neighbours that are at @best from @dest; @below: and lower. */
static uint64_t ports_to(const Paths *p, unsigned i, unsigned dest,
                         unsigned best, const uint16_t *cost, int way)
{
    const UbFm *fm = p->fm;
    uint64_t mask = 0;

    for (unsigned port = 0; port < mask_ports(&fm->node[i]); port++) {
        int peer = behind(fm, i, port);

        if (peer >= 0 && passes(fm, peer, dest) && cost[peer] == best &&
            (!way || (p->level[peer] > p->level[i]) == (way > 0))) {
            mask |= UINT64_C(1) << port;
        }
    }
    return mask;
}

static void route_shortest(Paths *p, unsigned dest)
{
    UbFm *fm = p->fm;

    measure(p, dest);
    for (unsigned i = 0; i < fm->nodes; i++) {
        if (i != dest && p->cost[i] != FAR) {
            fm->node[i].route[dest] =
                ports_to(p, i, dest, p->cost[i] - 1, p->cost, 0);
        }
    }
}

/* ---- Up and down ---- */

/* Order by the distance from the first switch, then by number; what does not
 * forward is below all. */
static void order_nodes(Paths *p)
{
    UbFm *fm = p->fm;
    unsigned next = 0, head = 0, tail = 0;

    for (unsigned i = 0; i < fm->nodes; i++) {
        p->level[i] = ~0u;
    }
    for (unsigned root = 0; root < fm->nodes; root++) {
        if (!ub_fm_is_switch(&fm->node[root]) || p->level[root] != ~0u) {
            continue;
        }
        p->level[root] = next++;
        p->queue[tail++] = root;
        while (head < tail) {
            unsigned i = p->queue[head++];

            for (unsigned port = 0; port < fm->node[i].ports; port++) {
                int peer = behind(fm, i, port);

                if (peer >= 0 && p->level[peer] == ~0u &&
                    ub_fm_is_switch(&fm->node[peer])) {
                    p->level[peer] = next++;
                    p->queue[tail++] = peer;
                }
            }
        }
    }
    for (unsigned i = 0; i < fm->nodes; i++) {
        if (p->level[i] == ~0u) {
            p->level[i] = next++;
        }
    }
    /* From the top down. */
    for (unsigned i = 0; i < fm->nodes; i++) {
        p->queue[p->level[i]] = i;
    }
}

/* The least cost of a neighbour further up or down, FAR: there is none. */
static unsigned least(const Paths *p, unsigned i, unsigned dest,
                      const uint16_t *cost, bool below)
{
    unsigned best = FAR;

    for (unsigned port = 0; port < p->fm->node[i].ports; port++) {
        int peer = behind(p->fm, i, port);

        if (peer >= 0 && passes(p->fm, peer, dest) && cost[peer] < best &&
            (p->level[peer] > p->level[i]) == below) {
            best = cost[peer];
        }
    }
    return best;
}

static void route_tree(Paths *p, unsigned dest)
{
    UbFm *fm = p->fm;

    /* From the bottom up: ways that only go down. */
    for (unsigned k = fm->nodes; k-- > 0;) {
        unsigned i = p->queue[k], best = least(p, i, dest, p->down, true);

        p->down[i] = i == dest ? 0 : best == FAR ? FAR : best + 1;
    }
    /* From the top down: those, or a neighbour further up. */
    for (unsigned k = 0; k < fm->nodes; k++) {
        unsigned i = p->queue[k], best;

        p->cost[i] = p->down[i];
        if (i == dest) {
            continue;
        }
        if (p->down[i] != FAR) {
            fm->node[i].route[dest] = ports_to(p, i, dest, p->down[i] - 1,
                                               p->down, 1);
            continue;
        }
        best = least(p, i, dest, p->cost, false);
        if (best != FAR) {
            p->cost[i] = best + 1;
            fm->node[i].route[dest] = ports_to(p, i, dest, best, p->cost, -1);
        }
    }
}

/* ---- Rings ---- */

/* A link out of a switch, by node and port: what it waits for are links of its
 * peer. */
typedef struct Links {
    const UbFm *fm;
    unsigned *first;    /* number of a node's port 0 */
    uint64_t *after;    /* by link: ports of the peer that its packets go on by */
    uint8_t *seen;      /* 1: under way, 2: done */
} Links;

static void note_links(Links *l)
{
    const UbFm *fm = l->fm;

    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];

        for (unsigned port = 0; port < mask_ports(n); port++) {
            int peer = behind(fm, i, port);

            for (unsigned d = 0; peer >= 0 && d < fm->nodes; d++) {
                if (n->route[d] >> port & 1 &&
                    ub_fm_is_switch(&fm->node[peer])) {
                    l->after[l->first[i] + port] |= fm->node[peer].route[d];
                }
            }
        }
    }
}

/* Depth first from a link, without recursion; whether a ring was met. */
static bool find_ring(Links *l, unsigned node, unsigned port, unsigned *stack,
                      const unsigned *owner)
{
    const UbFm *fm = l->fm;
    unsigned depth = 0;

    stack[depth++] = l->first[node] + port;
    l->seen[stack[0]] = 1;
    while (depth) {
        unsigned link = stack[depth - 1], at = owner[link];
        int peer = behind(fm, at, link - l->first[at]);
        unsigned next;

        if (peer < 0 || !l->after[link]) {
            l->seen[link] = 2;
            depth--;
            continue;
        }
        next = l->first[peer] + __builtin_ctzll(l->after[link]);
        l->after[link] &= l->after[link] - 1;
        if (l->seen[next] == 1) {
            return true;
        }
        if (!l->seen[next]) {
            l->seen[next] = 1;
            stack[depth++] = next;
        }
    }
    return false;
}

bool ub_fm_is_ring_free(const UbFm *fm)
{
    Links l = { .fm = fm };
    unsigned links = 0, *stack, *owner;
    bool ring = false;

    l.first = new_array(fm->nodes, sizeof(*l.first));
    for (unsigned i = 0; i < fm->nodes; i++) {
        l.first[i] = links;
        links += fm->node[i].ports;
    }
    l.after = new_array(links, sizeof(*l.after));
    l.seen = new_array(links, sizeof(*l.seen));
    stack = new_array(links, sizeof(*stack));
    owner = new_array(links, sizeof(*owner));
    for (unsigned i = 0; i < fm->nodes; i++) {
        for (unsigned port = 0; port < fm->node[i].ports; port++) {
            owner[l.first[i] + port] = i;
        }
    }
    note_links(&l);
    for (unsigned i = 0; i < fm->nodes && !ring; i++) {
        for (unsigned port = 0; port < fm->node[i].ports && !ring; port++) {
            ring = !l.seen[l.first[i] + port] &&
                   find_ring(&l, i, port, stack, owner);
        }
    }
    free(l.first);
    free(l.after);
    free(l.seen);
    free(stack);
    free(owner);
    return !ring;
}

/* ---- All ---- */

/* Routes are kept by node, not by CNA: one node with the highest of all CNAs is not to
 * have the others keep room for what is below. */
static void clear_routes(UbFm *fm)
{
    fm->cnas = 0;
    for (unsigned i = 0; i < fm->nodes; i++) {
        uint32_t cna = fm->node[i].cna;

        if (cna >= fm->cnas && cna <= CNA_MOST) {
            fm->cnas = cna + 1;
        }
    }
    free(fm->by_cna);
    fm->by_cna = new_array(fm->cnas, sizeof(*fm->by_cna));
    for (unsigned i = 0; i < fm->nodes; i++) {
        uint32_t cna = fm->node[i].cna;

        free(fm->node[i].route);
        fm->node[i].route = new_array(fm->nodes, sizeof(uint64_t));
        if (cna && cna < fm->cnas) {
            fm->by_cna[cna] = i + 1;
        }
    }
}

uint64_t ub_fm_route(const UbFm *fm, unsigned i, uint32_t cna)
{
    const uint64_t *route = fm->node[i].route;

    return route && cna < fm->cnas && fm->by_cna[cna]
           ? route[fm->by_cna[cna] - 1] : 0;
}

static void route_all(Paths *p, void (*route)(Paths *p, unsigned dest))
{
    clear_routes(p->fm);
    for (unsigned dest = 0; dest < p->fm->nodes; dest++) {
        uint32_t cna = p->fm->node[dest].cna;

        if (cna && cna <= CNA_MOST) {
            route(p, dest);
        }
    }
}

void ub_fm_paths(UbFm *fm)
{
    Paths p = {
        .fm = fm,
        .level = new_array(fm->nodes, sizeof(*p.level)),
        .queue = new_array(fm->nodes, sizeof(*p.queue)),
        .cost = new_array(fm->nodes, sizeof(*p.cost)),
        .down = new_array(fm->nodes, sizeof(*p.down)),
    };

    route_all(&p, route_shortest);
    fm->tree = !ub_fm_is_ring_free(fm);
    if (fm->tree) {
        order_nodes(&p);
        route_all(&p, route_tree);
    }
    free(p.level);
    free(p.queue);
    free(p.cost);
    free(p.down);
}
