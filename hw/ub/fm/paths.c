/*
 * Routes (UB 2.0 §5.3.2): which ports of a node lead to each other node.
 *
 * First all shortest paths.  A packet holds a buffer of the link it came by until
 * the next link takes it, so links depend on one another; where those
 * dependencies form a ring, all of it can stand still for ever.  A ring needs a link
 * upwards after one downwards, by the levels of a spanning tree.  So either packets
 * change to a higher VL there, as many times as there are VLs, or each path goes up
 * first and down afterwards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "layers.h"

#define FAR 0xffffu
#define MASK_PORTS 64 /* that an entry has bits for */
#define CNA_MOST 0xffffu /* that has routes (address.c) */

/* Turns upwards behind a way downwards that packets make from a node on, at most: of
 * those that came up or from a controller, and of those that came down. */
typedef struct Turns {
    unsigned up, down;
} Turns;

/* What is worked out for one fabric; arrays by node. */
typedef struct Paths {
    UbFm *fm;
    unsigned *level;    /* order: a smaller one is further up */
    unsigned *queue;
    unsigned *order;    /* nodes by level, from the top down */
    unsigned passing;   /* nodes in `queue` after measure() */
    Turns *turns;
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
    p->passing = tail;
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

/* Nobody is routed to who has no address, or one beyond what packets carry. */
static bool has_routes(const UbFmNode *n)
{
    return n->cna && n->cna <= CNA_MOST;
}

static void forget_dest(UbFm *fm, unsigned dest)
{
    for (unsigned i = 0; i < fm->nodes; i++) {
        fm->node[i].route[dest] = 0;
    }
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
    for (unsigned i = 0; i < fm->nodes; i++) {
        p->order[p->level[i]] = i;
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
        unsigned i = p->order[k], best = least(p, i, dest, p->down, true);

        p->down[i] = i == dest ? 0 : best == FAR ? FAR : best + 1;
    }
    /* From the top down: those, or a neighbour further up. */
    for (unsigned k = 0; k < fm->nodes; k++) {
        unsigned i = p->order[k], best;

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

/* ---- Layers ---- */

/* Those that shortest ways to @dest need, which were just worked out. */
static unsigned layers_to(Paths *p, unsigned dest)
{
    const UbFm *fm = p->fm;
    unsigned most = 0;

    for (unsigned c = 0; c < fm->nodes; c++) {
        p->turns[c].up = p->turns[c].down = 0;
    }
    /* queue: from the destination on, the nearest first. */
    for (unsigned k = 1; k < p->passing; k++) {
        unsigned i = p->queue[k];
        Turns *t = &p->turns[i];

        for (uint64_t left = fm->node[i].route[dest]; left; left &= left - 1) {
            unsigned peer = behind(fm, i, __builtin_ctzll(left));
            bool up = p->level[peer] < p->level[i];
            unsigned on = up ? p->turns[peer].up : p->turns[peer].down;

            if (ub_fm_is_switch(&fm->node[peer])) {
                t->up = on > t->up ? on : t->up;
                t->down = on + up > t->down ? on + up : t->down;
            }
        }
        most = t->up > most ? t->up : most;
    }
    return most + 1;
}

/* All shortest ways, by as many layers as there are VLs; to whom they would need more,
 * by a tree. */
static void route_layers(Paths *p, unsigned vls)
{
    UbFm *fm = p->fm;

    for (unsigned dest = 0; dest < fm->nodes; dest++) {
        unsigned need;

        if (!has_routes(&fm->node[dest])) {
            continue;
        }
        route_shortest(p, dest);
        need = layers_to(p, dest);
        if (need > vls) {
            forget_dest(fm, dest);
            route_tree(p, dest);
            fm->trees++;
        } else if (need > fm->layers) {
            fm->layers = need;
        }
    }
    fm->classes = vls / fm->layers;
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
        if (has_routes(&p->fm->node[dest])) {
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
        .order = new_array(fm->nodes, sizeof(*p.order)),
        .turns = new_array(fm->nodes, sizeof(*p.turns)),
        .cost = new_array(fm->nodes, sizeof(*p.cost)),
        .down = new_array(fm->nodes, sizeof(*p.down)),
    };
    unsigned vls = fm_least_vls(fm);

    route_all(&p, route_shortest);
    fm->ringed = !ub_fm_is_ring_free(fm);
    fm->layers = fm->classes = 1;
    fm->trees = 0;
    fm->tree = fm->ringed && vls < 2;
    if (fm->ringed) {
        order_nodes(&p);
        clear_routes(fm);
    }
    if (fm->tree) {
        route_all(&p, route_tree);
    } else if (fm->ringed) {
        route_layers(&p, vls);
    }
    fm_group_ports(fm, p.level);
    free(p.level);
    free(p.queue);
    free(p.order);
    free(p.turns);
    free(p.cost);
    free(p.down);
}
