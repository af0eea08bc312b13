/*
 * Inside of an end of URPC.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef URPC_END_H
#define URPC_END_H

#include <sys/queue.h>

#include "urpc.h"

/* A call of ours, at its Request ID modulo the depth. */
typedef struct Asked {
    UrpcArgs args;
    uint32_t id;
    bool used, released;
    int64_t deadline;
    uint32_t pieces;            /* immediates that came */
    bool answered;              /* the answer below waits for pieces */
    UrpcResult result;
    void *copy;
} Asked;

typedef enum CallState {
    CALL_FREE,
    CALL_PULLING,               /* the end fetches arguments */
    CALL_RUNNING,               /* the function has it */
    CALL_REPLIED,               /* in the queue of replies */
    CALL_SENT,                  /* but a function or a move still has it */
} CallState;

/* A call of the peer, at its Request ID modulo the depth. */
struct UrpcCall {
    Urpc *u;
    CallState state;
    bool seen;                  /* there was a request with this ID */
    bool owned;                 /* a function has it */
    bool late;                  /* answered by the end: work_timeout; at once, or when
                                 * nothing is moving any more */
    bool moving;
    bool ack_due, acked, ack_queued;
    UrpcRequest request;        /* its ID stays when it has ended */
    UrpcFunction fn;
    struct Deployed *deployed;  /* of a function that a peer deployed */
    int64_t deadline, replied_at, acked_at;
    uint8_t *inline_data;
    uint32_t inline_len;
    UrpcDma *dma;
    uint8_t *memory;            /* of the carrier */
    uint32_t memory_len, args_len;
    uint32_t pulled, next_dma;
    UrpcMoved *moved;
    void *moved_opaque;
    uint8_t status;
    uint8_t *data;
    uint32_t len;
    TAILQ_ENTRY(UrpcCall) in_replies, in_acks;
};

typedef TAILQ_HEAD(CallQueue, UrpcCall) CallQueue;

/* An answer to what got no place. */
typedef struct Refusal {
    uint32_t id, channel;
    uint8_t status;
} Refusal;

struct Urpc {
    UrpcConfig conf;
    const UrpcOps *ops;
    void *opaque;
    UrpcFunctions *fns;
    UrpcCounters n;
    uint8_t *out;               /* message_max */
    /* Caller: IDs from oldest to next are in use, or were. */
    Asked *asked;
    uint32_t next, oldest, calling;
    /* Callee. */
    UrpcCall *calls;
    uint32_t serving;
    uint64_t args_used;
    bool ending;                /* no Read or Write begins */
    CallQueue replies, acks;
    Refusal *refusals;
    uint32_t refusal_first, refusal_count;
};

static inline Asked *asked_at(Urpc *u, uint32_t id)
{
    return &u->asked[id & (u->conf.depth - 1)];
}

static inline UrpcCall *call_at(Urpc *u, uint32_t id)
{
    return &u->calls[id & (u->conf.depth - 1)];
}

static inline bool due(int64_t deadline, int64_t now)
{
    return deadline <= now;
}

/* A deadline @after from @now; never, if it is 0. */
static inline int64_t deadline_at(int64_t now, int64_t after)
{
    return after <= 0 || now > INT64_MAX - after ? INT64_MAX : now + after;
}

bool urpc_end_send(Urpc *u, const void *msg, size_t len);

/* caller.c */
void urpc_caller_ack(Urpc *u, int64_t now, const UrpcMessage *m);
void urpc_caller_response(Urpc *u, int64_t now, const UrpcMessage *m);
int64_t urpc_caller_run(Urpc *u, int64_t now);
void urpc_caller_end(Urpc *u);

/* callee.c: @status is what urpc_parse() said. */
void urpc_callee_request(Urpc *u, int64_t now, const UrpcMessage *m, int status);
void urpc_callee_moved(Urpc *u, int64_t now, uint64_t ticket, bool good);
int64_t urpc_callee_late(Urpc *u, int64_t now);
void urpc_callee_end(Urpc *u);
/* The place of an answered call is free as soon as nobody has it any more. */
void urpc_call_settle(UrpcCall *call);

/* answer.c: what waits to be sent. */
void urpc_answers_init(Urpc *u);
void urpc_answer_queue(UrpcCall *call, int64_t now);
void urpc_ack_queue(UrpcCall *call, int64_t now);
void urpc_answer_refuse(Urpc *u, const UrpcRequest *r, UrpcStatus status);
int64_t urpc_answers_run(Urpc *u, int64_t now);

/* functions.c: URPC_OK and a copy, or why there is none. */
UrpcStatus urpc_functions_lookup(const UrpcFunctions *fns, const UrpcRequest *r,
                                 UrpcFunction *out);
/* A call begins to run a function, and has ended: until then what a peer has deployed
 * stays.  NULL: it is nothing of the kind. */
struct Deployed *urpc_functions_hold(UrpcFunctions *fns, uint64_t function);
void urpc_functions_drop(UrpcFunctions *fns, struct Deployed *d);
/* The same for a call, which the function itself may end: nobody is told before
 * urpc_functions_reap(). */
void urpc_functions_let_go(UrpcFunctions *fns, struct Deployed *d);
void urpc_functions_reap(UrpcFunctions *fns);

#endif
