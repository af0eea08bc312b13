/*
 * Broadcast, barrier and all-reduce of four nodes (UB 2.0 §8.6), two in each guest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <poll.h>
#include <string.h>

#include "urpc-node.h"

/* ---- Four nodes together: two here, two there ----------------------------------------- */

enum { HERE = 2, RANKS = 2 * HERE, ELEMENTS = 500, LAPS = 40 };

typedef struct Group {
    unsigned first;             /* our ranks: this one and the next */
    UrpcFunctions *fns[HERE];
    Node node[HERE][RANKS];
    Coll *coll[HERE];
    unsigned over;              /* operations of ours that have ended */
} Group;

static void group_open(Group *g, unsigned first, EndAddress mine[HERE][RANKS])
{
    memset(g, 0, sizeof(*g));
    g->first = first;
    for (unsigned i = 0; i < HERE; i++) {
        g->fns[i] = urpc_functions_new(UNIT, 4);
        END_MUST(g->fns[i]);
        for (unsigned rank = 0; rank < RANKS; rank++) {
            if (rank != first + i) {
                node_open(&g->node[i][rank]);
                end_address(&g->node[i][rank].end, &mine[i][rank]);
            }
        }
    }
}

static void group_join(Group *g, EndAddress mine[HERE][RANKS],
                       EndAddress peers[HERE][RANKS])
{
    for (unsigned i = 0; i < HERE; i++) {
        Urpc *ends[RANKS] = { NULL };

        for (unsigned rank = 0; rank < RANKS; rank++) {
            bool local = rank / HERE == g->first / HERE;

            if (rank != g->first + i) {
                node_join(&g->node[i][rank],
                          &(local ? mine : peers)[rank % HERE][g->first + i],
                          (g->first + i) << 8 | rank, g->fns[i],
                          MODE_TOGETHER);
                ends[rank] = g->node[i][rank].u;
            }
        }
        g->coll[i] = coll_new(UNIT, g->first + i, RANKS, ends, g->fns[i],
                              ELEMENTS);
        END_MUST(g->coll[i]);
    }
}

static void group_turn(Group *g)
{
    for (unsigned i = 0; i < HERE; i++) {
        for (unsigned rank = 0; rank < RANKS; rank++) {
            if (rank != g->first + i) {
                node_turn(&g->node[i][rank]);
            }
        }
        coll_run(g->coll[i], now());
    }
}

static void group_over(void *opaque, UrpcStatus status)
{
    Group *g = opaque;

    if (status != URPC_OK) {
        end_die("operation %u ended with status %u", g->over, status);
    }
    g->over++;
}

static void group_await(Group *g, unsigned over)
{
    while (g->over < over) {
        group_turn(g);
    }
}

static void group_close(Group *g)
{
    for (unsigned i = 0; i < HERE; i++) {
        coll_free(g->coll[i]);
        for (unsigned rank = 0; rank < RANKS; rank++) {
            if (rank != g->first + i) {
                node_close(&g->node[i][rank]);
            }
        }
        urpc_functions_free(g->fns[i]);
    }
}

/* What a member gives, and what all of them get. */
static uint64_t element(unsigned lap, unsigned rank, unsigned k)
{
    return (lap + 1) * 0x123456789abcdefull + rank * 1000003ull + k;
}

static void group_lap(Group *g, unsigned lap, uint64_t data[HERE][ELEMENTS])
{
    unsigned root = lap % RANKS;

    for (unsigned i = 0; i < HERE; i++) {
        for (unsigned k = 0; k < ELEMENTS; k++) {
            data[i][k] = element(lap, g->first + i, k);
        }
        END_MUST(!coll_all_reduce(g->coll[i], now(), data[i], ELEMENTS,
                                  group_over, g));
    }
    group_await(g, 6 * lap + 2);
    for (unsigned i = 0; i < HERE; i++) {
        for (unsigned k = 0; k < ELEMENTS; k++) {
            uint64_t sum = 0;

            for (unsigned rank = 0; rank < RANKS; rank++) {
                sum += element(lap, rank, k);
            }
            END_MUST(data[i][k] == sum);
            data[i][k] = g->first + i == root ? element(lap, 9, k) : 0;
        }
        END_MUST(!coll_broadcast(g->coll[i], now(), root, data[i], ELEMENTS,
                                 group_over, g));
    }
    group_await(g, 6 * lap + 4);
    for (unsigned i = 0; i < HERE; i++) {
        for (unsigned k = 0; k < ELEMENTS; k++) {
            END_MUST(data[i][k] == element(lap, 9, k));
        }
        END_MUST(!coll_barrier(g->coll[i], now(), group_over, g));
    }
    group_await(g, 6 * lap + 6);
}

void group_run(int fd, unsigned first)
{
    static Group g;
    static EndAddress mine[HERE][RANKS], peers[HERE][RANKS];
    static uint64_t data[HERE][ELEMENTS];
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char joined;

    group_open(&g, first, mine);
    end_say(fd, mine, sizeof(mine));
    END_MUST(end_hear(fd, peers, sizeof(peers)));
    group_join(&g, mine, peers);
    /* Nobody sends before there is a place for it at the other end: a message that
     * finds none is tried again for no more than 60 ms. */
    end_say(fd, "", 1);
    END_MUST(end_hear(fd, &joined, 1));
    for (unsigned lap = 0; lap < LAPS; lap++) {
        group_lap(&g, lap, data);
    }
    /* What we have to answer is answered when the others say that they are through. */
    end_say(fd, "", 1);
    while (poll(&p, 1, 0) == 0) {
        group_turn(&g);
    }
    END_MUST(coll_refused(g.coll[0]) == 0 && coll_refused(g.coll[1]) == 0);
    group_close(&g);
}
