/*
 * Nodes that do something together, as a sample of UB 2.0 §8.6: one call by each of them,
 * which becomes as many remote calls as it takes.
 *
 * Each of up to COLL_NODES nodes has an end to every other one.  All members call the
 * same operations in the same order, several may be under way.  An operation that cannot
 * end, because a member does not answer, ends with that status.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef URPC_COLLECTIVE_H
#define URPC_COLLECTIVE_H

#include "urpc.h"

enum {
    COLL_NODES = 64,
    COLL_UNDER_WAY = 8,         /* operations of a member; a power of 2 */
    COLL_METHOD = 0x40,         /* the function that members call of each other */
};

typedef struct Coll Coll;

typedef void CollDone(void *opaque, UrpcStatus status);

/* Member @rank of @nodes: @ends[i] leads to member i, and @fns is what is called there.
 * Elements of an operation: at most @elements.  NULL: impossible, or no memory, or the
 * function is there already. */
Coll *coll_new(uint32_t unit, unsigned rank, unsigned nodes, Urpc *const *ends,
               UrpcFunctions *fns, uint32_t elements);
/* Before its ends are freed.  Of operations under way nothing more is heard. */
void coll_free(Coll *c);

/*
 * Begin an operation; @done is called when it is over here.  0, or EAGAIN (too many under
 * way), EINVAL, EMSGSIZE (more than @elements, or than a message to a member holds).
 *
 * Broadcast: @data of @root comes to all.  Barrier: nobody is through before all have come.
 * All-reduce: @data, everybody's added up, modulo 2^64, the same everywhere.  @data is
 * written when @done is called, and must stay until then.
 */
int coll_broadcast(Coll *c, int64_t now, unsigned root, uint64_t *data, uint32_t n,
                   CollDone *done, void *opaque);
int coll_barrier(Coll *c, int64_t now, CollDone *done, void *opaque);
int coll_all_reduce(Coll *c, int64_t now, uint64_t *data, uint32_t n,
                    CollDone *done, void *opaque);
/* Calls that found no room are tried again. */
void coll_run(Coll *c, int64_t now);
/* Messages of operations that there are not, or that do not fit. */
uint64_t coll_refused(const Coll *c);

#endif
