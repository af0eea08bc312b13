/*
 * Broadcast, barrier and all-reduce as remote calls (UB 2.0 §8.6).
 *
 * An operation is a row of steps; in each a member sends to one other, hears from one, or
 * both.  Who hears what comes before its time keeps the call and answers it when it gets
 * there, so that what waits here is bounded by the calls that ends take.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "collective.h"

enum {
    HEAD = 8,                   /* operation (4), step, three of zero */
    NOBODY = -1,
};

typedef enum Combine {
    COMBINE_NONE, COMBINE_COPY, COMBINE_ADD,
} Combine;

/* What a member does in a step. */
typedef struct Step {
    int to, from;
    Combine combine;
} Step;

typedef struct Kind {
    /* With @v, the rank as seen from the root; all numbers of members are such. */
    Step (*step)(unsigned v, unsigned nodes, unsigned rounds, unsigned i);
    unsigned laps;              /* steps: so often the rounds */
} Kind;

typedef struct Op {
    const Kind *kind;           /* NULL: the place is empty */
    uint32_t seq;
    unsigned root, step, steps;
    bool posted, sent, heard;
    uint64_t *data;
    uint32_t n;
    int64_t deadline;
    CollDone *done;
    void *opaque;
} Op;

/* A message that waits for its step. */
typedef struct Early {
    UrpcCall *call;
    uint32_t seq;
    unsigned step, from;
    TAILQ_ENTRY(Early) in_list;
} Early;

/* Whose call it is that has ended. */
typedef struct Sent {
    Coll *c;                    /* NULL: it is gone */
    uint32_t seq;
    TAILQ_ENTRY(Sent) in_list;
} Sent;

struct Coll {
    uint64_t function;
    unsigned rank, nodes, rounds;
    Urpc *ends[COLL_NODES];
    uint32_t elements, next, oldest;
    Op ops[COLL_UNDER_WAY];
    TAILQ_HEAD(, Early) early;
    TAILQ_HEAD(, Sent) sent;
    UrpcFunctions *fns;
    uint8_t *out;
    int64_t now;
    uint64_t refused;
};

/* ---- Steps ----------------------------------------------------------------------- */

/* Round by round from twice as many. */
static Step barrier_step(unsigned v, unsigned nodes, unsigned rounds, unsigned i)
{
    unsigned far = 1u << i;

    return (Step) { (v + far) % nodes, (v + nodes - far % nodes) % nodes,
                    COMBINE_NONE };
}

/* Who has it gives it to one as far away as half of those that have not. */
static Step broadcast_step(unsigned v, unsigned nodes, unsigned rounds, unsigned i)
{
    unsigned far = 1u << (rounds - 1 - i);
    Step s = { NOBODY, NOBODY, COMBINE_COPY };

    if (v % (2 * far) == 0 && v + far < nodes) {
        s.to = v + far;
    } else if (v % (2 * far) == far) {
        s.from = v - far;
    }
    return s;
}

/* The same tree upward, adding; then down. */
static Step reduce_step(unsigned v, unsigned nodes, unsigned rounds, unsigned i)
{
    unsigned far = 1u << i;
    Step s = { NOBODY, NOBODY, COMBINE_ADD };

    if (i >= rounds) {
        return broadcast_step(v, nodes, rounds, i - rounds);
    }
    if (v % (2 * far) == far) {
        s.to = v - far;
    } else if (v % (2 * far) == 0 && v + far < nodes) {
        s.from = v + far;
    }
    return s;
}

static const Kind broadcast = { broadcast_step, 1 }, barrier = { barrier_step, 1 },
                  all_reduce = { reduce_step, 2 };

static Step step_of(const Coll *c, const Op *op)
{
    unsigned v = (c->rank + c->nodes - op->root) % c->nodes;
    Step s = op->kind->step(v, c->nodes, c->rounds, op->step);

    s.to = s.to == NOBODY ? NOBODY : (int)((s.to + op->root) % c->nodes);
    s.from = s.from == NOBODY ? NOBODY : (int)((s.from + op->root) % c->nodes);
    return s;
}

/* ---- Operations ------------------------------------------------------------------ */

static Op *op_at(Coll *c, uint32_t seq)
{
    return &c->ops[seq & (COLL_UNDER_WAY - 1)];
}

static Op *op_find(Coll *c, uint32_t seq)
{
    Op *op = op_at(c, seq);

    return op->kind && op->seq == seq ? op : NULL;
}

static void early_answer(Coll *c, Early *e, UrpcStatus status)
{
    TAILQ_REMOVE(&c->early, e, in_list);
    c->refused += status != URPC_OK;
    urpc_reply(e->call, c->now, status, NULL, 0);
    free(e);
}

/* What is over is over for those who are late, too. */
static void early_purge(Coll *c)
{
    Early *e = TAILQ_FIRST(&c->early), *next;

    for (; e; e = next) {
        next = TAILQ_NEXT(e, in_list);
        if ((int32_t)(e->seq - c->oldest) < 0) {
            early_answer(c, e, URPC_REFUSED);
        }
    }
}

static void op_end(Coll *c, Op *op, UrpcStatus status)
{
    CollDone *done = op->done;
    void *opaque = op->opaque;

    op->kind = NULL;
    while (c->oldest != c->next && !op_at(c, c->oldest)->kind) {
        c->oldest++;
    }
    early_purge(c);
    if (done) {
        done(opaque, status);
    }
}

static void op_advance(Coll *c, Op *op);

static void sent_done(void *opaque, const UrpcResult *r)
{
    Sent *sent = opaque;
    Coll *c = sent->c;
    Op *op = c ? op_find(c, sent->seq) : NULL;

    if (c) {
        TAILQ_REMOVE(&c->sent, sent, in_list);
    }
    if (op && r->status != URPC_OK) {
        op_end(c, op, r->status);
    } else if (op) {
        op->sent = true;
        op_advance(c, op);
    }
    free(sent);
}

/* False: not now. */
static bool op_send(Coll *c, Op *op, unsigned to)
{
    UrpcOrder order = urpc_config(c->ends[to])->order;
    Sent *sent = malloc(sizeof(*sent));
    UrpcArgs args = { .function = c->function, .data = c->out,
                      .len = HEAD + 8 * op->n, .done = sent_done,
                      .opaque = sent };

    if (!sent) {
        return false;
    }
    *sent = (Sent) { .c = c, .seq = op->seq };
    memset(c->out, 0, HEAD);
    urpc_put_number(order, c->out, 4, op->seq);
    c->out[4] = op->step;
    for (uint32_t i = 0; i < op->n; i++) {
        urpc_put_number(order, c->out + HEAD + 8 * i, 8, op->data[i]);
    }
    if (urpc_call(c->ends[to], c->now, &args, NULL)) {
        free(sent);
        return false;
    }
    TAILQ_INSERT_TAIL(&c->sent, sent, in_list);
    return true;
}

static Early *early_find(Coll *c, const Op *op, unsigned from)
{
    Early *e;

    TAILQ_FOREACH(e, &c->early, in_list) {
        if (e->seq == op->seq && e->step == op->step && e->from == from) {
            break;
        }
    }
    return e;
}

static bool op_hear(Coll *c, Op *op, const Step *s)
{
    Early *e = early_find(c, op, s->from);
    const uint8_t *p;
    uint32_t len;
    UrpcOrder order;

    if (!e) {
        return false;
    }
    p = urpc_call_inline(e->call, &len);
    order = urpc_config(c->ends[s->from])->order;
    if (len != HEAD + 8 * op->n) {
        early_answer(c, e, URPC_BAD_HEAD);
        return false;
    }
    for (uint32_t i = 0; i < op->n; i++) {
        uint64_t v = urpc_get_number(order, p + HEAD + 8 * i, 8);

        op->data[i] = s->combine == COMBINE_ADD ? op->data[i] + v : v;
    }
    early_answer(c, e, URPC_OK);
    return true;
}

static void op_advance(Coll *c, Op *op)
{
    for (; op->step < op->steps; op->step++) {
        Step s = step_of(c, op);

        if (s.to != NOBODY && !op->posted) {
            op->posted = op_send(c, op, s.to);
        }
        if (s.from != NOBODY && !op->heard) {
            op->heard = op_hear(c, op, &s);
        }
        if ((s.to != NOBODY && !op->sent) || (s.from != NOBODY && !op->heard)) {
            return;
        }
        op->posted = op->sent = op->heard = false;
    }
    op_end(c, op, URPC_OK);
}

/* ---- What comes ------------------------------------------------------------------- */

static void coll_called(void *opaque, UrpcCall *call, int64_t now)
{
    Coll *c = opaque;
    uint32_t len;
    const uint8_t *p = urpc_call_inline(call, &len);
    unsigned from = 0;
    Early *e;
    Op *op;

    c->now = now;
    urpc_args_done(call, now);
    while (from < c->nodes && c->ends[from] != urpc_call_end(call)) {
        from++;
    }
    e = from < c->nodes && len >= HEAD ? calloc(1, sizeof(*e)) : NULL;
    if (e) {
        e->call = call;
        e->seq = urpc_get_number(urpc_config(c->ends[from])->order, p, 4);
        e->step = p[4];
        e->from = from;
        op = op_find(c, e->seq);
    }
    if (!e || (int32_t)(e->seq - c->oldest) < 0) {
        free(e);
        c->refused++;
        urpc_reply(call, now, URPC_REFUSED, NULL, 0);
        return;
    }
    TAILQ_INSERT_TAIL(&c->early, e, in_list);
    if (op) {
        op_advance(c, op);
    }
}

/* ---- Members ---------------------------------------------------------------------- */

Coll *coll_new(uint32_t unit, unsigned rank, unsigned nodes, Urpc *const *ends,
               UrpcFunctions *fns, uint32_t elements)
{
    /* All of it stands in the message; what else a peer tells is not fetched. */
    UrpcFunction f = { .function = URPC_FUNCTION(unit, 0, COLL_METHOD),
                       .name = "collective", .reference = true,
                       .run = coll_called };
    Coll *c = nodes && nodes <= COLL_NODES && rank < nodes && elements <= 1u << 20
                  ? calloc(1, sizeof(*c)) : NULL;

    if (!c) {
        return NULL;
    }
    f.opaque = c;
    c->function = f.function;
    c->rank = rank;
    c->nodes = nodes;
    c->elements = elements;
    while (1u << c->rounds < nodes) {
        c->rounds++;
    }
    memcpy(c->ends, ends, nodes * sizeof(*ends));
    TAILQ_INIT(&c->early);
    TAILQ_INIT(&c->sent);
    c->out = malloc(HEAD + 8 * (size_t)elements);
    if (!c->out || urpc_functions_add(fns, &f)) {
        coll_free(c);
        return NULL;
    }
    c->fns = fns;
    return c;
}

void coll_free(Coll *c)
{
    Sent *sent;

    if (c) {
        if (c->fns) {
            urpc_functions_remove(c->fns, c->function);
        }
        TAILQ_FOREACH(sent, &c->sent, in_list) {
            sent->c = NULL;
        }
        while (!TAILQ_EMPTY(&c->early)) {
            early_answer(c, TAILQ_FIRST(&c->early), URPC_REFUSED);
        }
        free(c->out);
        free(c);
    }
}

uint64_t coll_refused(const Coll *c)
{
    return c->refused;
}

/* To every other member: who sends to whom is not the caller's business. */
static bool op_fits(const Coll *c, uint32_t n)
{
    for (unsigned i = 0; i < c->nodes; i++) {
        if (i != c->rank && URPC_REQUEST_SIZE + HEAD + 8 * (uint64_t)n >
                                urpc_config(c->ends[i])->message_max) {
            return false;
        }
    }
    return true;
}

static int op_begin(Coll *c, int64_t now, const Kind *kind, unsigned root,
                    uint64_t *data, uint32_t n, CollDone *done, void *opaque)
{
    Op *op = op_at(c, c->next);
    int64_t timeout = 0;

    if (root >= c->nodes) {
        return EINVAL;
    }
    if (n > c->elements || !op_fits(c, n)) {
        return EMSGSIZE;
    }
    if (c->next - c->oldest >= COLL_UNDER_WAY) {
        return EAGAIN;
    }
    for (unsigned i = 0; i < c->nodes; i++) {
        if (i != c->rank && urpc_config(c->ends[i])->timeout > timeout) {
            timeout = urpc_config(c->ends[i])->timeout;
        }
    }
    c->now = now;
    *op = (Op) {
        .kind = kind, .seq = c->next, .root = root,
        .steps = kind->laps * c->rounds, .data = data, .n = n,
        .deadline = timeout ? now + timeout : INT64_MAX,
        .done = done, .opaque = opaque,
    };
    c->next++;
    op_advance(c, op);
    return 0;
}

int coll_broadcast(Coll *c, int64_t now, unsigned root, uint64_t *data, uint32_t n,
                   CollDone *done, void *opaque)
{
    return op_begin(c, now, &broadcast, root, data, n, done, opaque);
}

int coll_barrier(Coll *c, int64_t now, CollDone *done, void *opaque)
{
    return op_begin(c, now, &barrier, 0, NULL, 0, done, opaque);
}

int coll_all_reduce(Coll *c, int64_t now, uint64_t *data, uint32_t n,
                    CollDone *done, void *opaque)
{
    return op_begin(c, now, &all_reduce, 0, data, n, done, opaque);
}

void coll_run(Coll *c, int64_t now)
{
    uint32_t end = c->next;

    c->now = now;
    for (uint32_t seq = c->oldest; seq != end; seq++) {
        Op *op = op_find(c, seq);

        if (op && op->deadline <= now) {
            op_end(c, op, URPC_TIMEOUT);
        } else if (op) {
            op_advance(c, op);
        }
    }
}
