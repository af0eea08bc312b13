/*
 * Unified remote procedure calls (UB 2.0 §8.5, appendix H): an end that calls functions
 * of its peer and has its own called, over whatever carries messages to and fro
 * and reaches the peer's memory.
 *
 * An end never blocks and has no clock and no thread: time is an argument (nanoseconds,
 * any origin), the next deadline a result.  Everything that a peer can make grow has a
 * bound in UrpcConfig.  An end is for one thread at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef URPC_H
#define URPC_H

#include "urpc_format.h"

typedef struct Urpc Urpc;
typedef struct UrpcCall UrpcCall;
typedef struct UrpcFunctions UrpcFunctions;

/* Memory of the peer, or of a third node: where, and what opens it. */
typedef struct UrpcRef {
    uint64_t address;
    uint32_t token;             /* TokenValue */
    uint32_t token_id;          /* if it is told (PLOG), else URPC_ANY_TOKEN_ID */
    uint16_t eid_index;         /* 0: the peer */
} UrpcRef;

#define URPC_ANY_TOKEN_ID UINT32_MAX

/* What carries an end.  All but @send may be NULL: then what needs it is refused. */
typedef struct UrpcOps {
    /* A message, which is taken before this returns.  False: no room now. */
    bool (*send)(void *opaque, const void *msg, size_t len);
    /* Read from @ref into @local, or Write there; urpc_moved() tells the end of it, once.
     * @imm NULL, or what a Write_with_immediate says.  False: not possible (and then
     * there is no end). */
    bool (*read)(void *opaque, uint64_t ticket, void *local, const UrpcRef *ref,
                 uint32_t len);
    bool (*write)(void *opaque, uint64_t ticket, const void *local,
                  const UrpcRef *ref, uint32_t len, const uint64_t *imm);
    /* Memory that Reads and Writes can use here.  NULL: there is none now. */
    void *(*mem_get)(void *opaque, uint32_t len);
    void (*mem_put)(void *opaque, void *p, uint32_t len);
} UrpcOps;

typedef struct UrpcConfig {
    UrpcOrder order;
    uint32_t channel;           /* our URPC Channel: 24 bits */
    uint32_t depth;             /* calls each way at a time: a power of 2, <= 32768 */
    uint32_t message_max;       /* bytes of a message, both ways */
    uint64_t args_max;          /* bytes of arguments of calls that we execute */
    int64_t timeout;            /* of our calls; 0: none */
    int64_t work_timeout;       /* of calls that we execute; 0: none */
    uint32_t gather;            /* calls that an Ack or a Response may answer: >= 1 */
    int64_t gather_time;        /* how long one waits for more */
    bool merge;                 /* Acks come with Responses (type 3) */
} UrpcConfig;

typedef struct UrpcCounters {
    uint64_t calls, executed;           /* begun here; handed to a function */
    uint64_t timeouts;                  /* of our calls */
    uint64_t late;                      /* of functions: work_timeout */
    uint64_t malformed;                 /* not a message, dropped */
    uint64_t bad_version, bad_head;     /* requests: answered; others: dropped */
    uint64_t foreign;                   /* answers to another Channel */
    uint64_t stray;                     /* answers and immediates to no call of ours */
    uint64_t duplicate, stale;          /* requests that came before */
    uint64_t refused[URPC_STATUSES + 1];    /* answers given, by status; others */
    uint64_t lost;                      /* refusals that found no room */
    uint64_t messages;                  /* sent */
} UrpcCounters;

/* NULL: @conf is impossible.  @fns (not owned, may be shared) has what can be called
 * here; NULL: nothing. */
Urpc *urpc_new(const UrpcConfig *conf, const UrpcOps *ops, void *opaque,
               UrpcFunctions *fns);
/* Calls of ours end with URPC_TIMEOUT.  Reads and Writes under way end as failed, and their
 * memory is put back: the carrier has stopped them, or outlives them, and no urpc_moved()
 * comes.  No function may have a call after that. */
void urpc_free(Urpc *u);
const UrpcCounters *urpc_counters(const Urpc *u);
const UrpcConfig *urpc_config(const Urpc *u);
/* Calls of ours that have no end yet; calls of the peer that are not answered. */
uint32_t urpc_calling(const Urpc *u);
uint32_t urpc_serving(const Urpc *u);

/* What the carrier tells: a message, valid during the call; the end of a Read or Write;
 * an immediate that came. */
void urpc_rx(Urpc *u, int64_t now, const void *msg, size_t len);
void urpc_moved(Urpc *u, int64_t now, uint64_t ticket, bool good);
void urpc_immediate(Urpc *u, int64_t now, uint64_t imm);
/* Send what waits, end what is late.  The time of the next call that is needed, or
 * INT64_MAX; what did not go for want of room needs one when there is room. */
int64_t urpc_run(Urpc *u, int64_t now);

/* ---- Caller ------------------------------------------------------------------- */

typedef struct UrpcResult {
    uint32_t id;
    uint8_t status;             /* UrpcStatus, or what a peer says */
    bool local;                 /* nobody answered: our own time-out */
    uint8_t defined;
    UrpcOrder order;
    const void *data;           /* valid during the call */
    uint32_t len;
} UrpcResult;

typedef struct UrpcArgs {
    uint64_t function;
    uint8_t defined;            /* Function Defined */
    bool ack;                   /* an Ack is wanted */
    bool one_way;               /* no Response is to come: the call is done by the Ack,
                                 * or as soon as it is sent */
    const void *data;           /* Inline Data */
    uint32_t len;
    const UrpcDma *dma;
    uint32_t dma_count;
    /* The peer needs what @dma tells no longer; called before @done, once. */
    void (*released)(void *opaque, uint32_t id);
    void (*done)(void *opaque, const UrpcResult *result);
    /* How many immediates belong to this answer; it waits for them.  May be NULL. */
    uint32_t (*pieces)(const UrpcResult *result);
    void *opaque;
} UrpcArgs;

/* Call a function of the peer; everything is copied but what @dma tells.  0 and its
 * Request ID, or an errno value: EAGAIN (no place, or no room to send), EMSGSIZE,
 * EINVAL.  @done may be called before this returns. */
int urpc_call(Urpc *u, int64_t now, const UrpcArgs *args, uint32_t *id);

/* What an immediate says: which call it belongs to. */
static inline uint32_t urpc_imm_id(uint64_t imm)
{
    return (uint32_t)imm;
}

/* ---- Callee ------------------------------------------------------------------- */

enum {
    URPC_DEFINED_ANY = -1,
    URPC_NAME_MAX = 63,
};

typedef struct UrpcFunction {
    uint64_t function;
    char name[URPC_NAME_MAX + 1];
    int defined;                /* Function Defined that it takes */
    /* Arguments by reference: the function fetches them with urpc_pull(), and says with
     * urpc_args_done() that it has them.  Else the end does, before it calls the
     * function. */
    bool reference;
    /* Executes @call: urpc_reply() at once or at any later time, exactly once. */
    void (*run)(void *opaque, UrpcCall *call, int64_t now);
    void *opaque;
} UrpcFunction;

/* Functions of a UBPU of Class and Subclass @unit, at most @max. */
UrpcFunctions *urpc_functions_new(uint32_t unit, uint32_t max);
/* After the ends that have it. */
void urpc_functions_free(UrpcFunctions *fns);
/* 0, EEXIST (Function or name), ENOSPC, EINVAL (reserved, or of another unit). */
int urpc_functions_add(UrpcFunctions *fns, const UrpcFunction *f);
/* What was added is there no longer.  Calls that it has go on; those whose arguments are
 * still being fetched are answered with URPC_NO_FUNCTION. */
void urpc_functions_remove(UrpcFunctions *fns, uint64_t function);
/* What a peer may deploy: fill in @out, whose function and name are there, from @code.
 * False: no.  Without it nothing can be deployed, and only what was deployed can be
 * deleted. */
void urpc_functions_deploy(UrpcFunctions *fns, void *opaque,
                           bool (*deploy)(void *opaque, UrpcFunction *out,
                                          const void *code, uint32_t len));
/* What a peer had deployed is nobody's any more: deleted, removed, or gone with the table,
 * and no call has it.  Called once for each that the hook above said yes to, with that hook's
 * @opaque; not from within the function itself, nor what that calls: by urpc_run(). */
void urpc_functions_undeploy(UrpcFunctions *fns,
                             void (*undeploy)(void *opaque,
                                              const UrpcFunction *f));
const UrpcFunction *urpc_functions_find(const UrpcFunctions *fns,
                                        uint64_t function);
/* How many there are. */
uint32_t urpc_functions_count(const UrpcFunctions *fns);

/* What a function sees of its call. */
const UrpcRequest *urpc_call_request(const UrpcCall *call);
Urpc *urpc_call_end(const UrpcCall *call);
const void *urpc_call_inline(const UrpcCall *call, uint32_t *len);
/* What @dma told, one behind the other, if the end fetched it. */
const void *urpc_call_args(const UrpcCall *call, uint32_t *len);
const UrpcDma *urpc_call_dma(const UrpcCall *call, uint32_t *count);
/* The caller has given up on it (work_timeout): it is answered already, or will be as soon
 * as the Read or Write under way has ended. */
bool urpc_call_late(const UrpcCall *call);

/* One of a call's Reads and Writes at a time.  @done is called when it has ended.  False:
 * another one is under way, the call is late, or the carrier cannot. */
typedef void UrpcMoved(void *opaque, UrpcCall *call, int64_t now, bool good);
bool urpc_pull(UrpcCall *call, void *local, const UrpcRef *ref, uint32_t len,
               UrpcMoved *done, void *opaque);
bool urpc_push(UrpcCall *call, const void *local, const UrpcRef *ref, uint32_t len,
               const uint64_t *imm, UrpcMoved *done, void *opaque);
/* Memory for that, of args_max; it is given back when the call has ended.  One piece per
 * call.  NULL: there is none. */
void *urpc_call_memory(UrpcCall *call, uint32_t len);
/* The caller may have its arguments back: Ack, if it is wanted. */
void urpc_args_done(UrpcCall *call, int64_t now);
/* The end of a call, with Return Data (copied).  URPC_REFUSED instead of what does not
 * fit into a message.  A Read or Write may still be under way. */
void urpc_reply(UrpcCall *call, int64_t now, UrpcStatus status, const void *data,
                uint32_t len);
/* The same for a caller who wants no Response; the Ack goes, if it is wanted. */
void urpc_reply_none(UrpcCall *call, int64_t now);

#endif
