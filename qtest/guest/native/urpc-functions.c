/*
 * Functions of URPC that programs in guests call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "urpc-node.h"

/* ---- Calls both ways -------------------------------------------------------------- */

/* Calls the caller's echo and says what it said. */
typedef struct Both {
    UrpcCall *call;
} Both;

static void both_done(void *opaque, const UrpcResult *r)
{
    Both *both = opaque;

    urpc_reply(both->call, now(), r->status, r->data, r->len);
    free(both);
}

static void both_run(void *opaque, UrpcCall *call, int64_t t)
{
    Both *both = malloc(sizeof(*both));
    UrpcArgs args = { .function = URPC_FUNCTION(UNIT, 0, SAMPLE_ECHO),
                      .data = "back and ", .len = 9, .done = both_done,
                      .opaque = both };

    END_MUST(both);
    both->call = call;
    END_MUST(!urpc_call(urpc_call_end(call), t, &args, NULL));
}

/* ---- What is answered later ---------------------------------------------------------- */

static void hold_run(void *opaque, UrpcCall *call, int64_t t)
{
    Node *n = opaque;

    END_MUST(n->n_held < DEPTH);
    n->held[n->n_held++] = call;
}

static void four_run(void *opaque, UrpcCall *call, int64_t t)
{
    Node *n = opaque;

    n->four[n->n_four++] = call;
    if (n->n_four < 4) {
        return;
    }
    n->n_four = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t len;
        const void *p = urpc_call_inline(n->four[i], &len);

        urpc_reply(n->four[i], t, URPC_OK, p, len);
    }
}

void functions_turn(Node *n, bool all)
{
    unsigned stay = 0;

    for (unsigned i = 0; i < n->n_held; i++) {
        if (all || urpc_call_late(n->held[i])) {
            urpc_reply(n->held[i], now(), URPC_OK, NULL, 0);
        } else {
            n->held[stay++] = n->held[i];
        }
    }
    n->n_held = stay;
    while (all && n->n_four) {
        urpc_reply(n->four[--n->n_four], now(), URPC_REFUSED, NULL, 0);
    }
}

/* ---- By reference: one element after another, in the same memory ---------------------- */

enum { SUM_PIECE = 65536 };

typedef struct Sum {
    uint8_t *memory;
    uint32_t next;
    uint64_t sum;
} Sum;

static void sum_moved(void *opaque, UrpcCall *call, int64_t t, bool good);

static void sum_end(Sum *s, UrpcCall *call, int64_t t, UrpcStatus status)
{
    uint8_t out[8];

    urpc_put_number(urpc_config(urpc_call_end(call))->order, out, 8, s->sum);
    urpc_args_done(call, t);
    urpc_reply(call, t, status, out, status == URPC_OK ? sizeof(out) : 0);
    free(s);
}

static void sum_next(Sum *s, UrpcCall *call, int64_t t)
{
    uint32_t n;
    const UrpcDma *dma = urpc_call_dma(call, &n);
    UrpcRef ref;

    if (s->next == n) {
        sum_end(s, call, t, URPC_OK);
        return;
    }
    dma += s->next;
    ref = (UrpcRef) { dma->address, dma->token, URPC_ANY_TOKEN_ID, 0 };
    if (dma->size > SUM_PIECE ||
        !urpc_pull(call, s->memory, &ref, dma->size, sum_moved, s)) {
        sum_end(s, call, t, URPC_REFUSED);
    }
}

static void sum_moved(void *opaque, UrpcCall *call, int64_t t, bool good)
{
    Sum *s = opaque;
    uint32_t n;
    const UrpcDma *dma = urpc_call_dma(call, &n);

    if (!good) {
        sum_end(s, call, t, URPC_REFUSED);
        return;
    }
    for (uint32_t i = 0; i < dma[s->next].size; i++) {
        s->sum += s->memory[i];
    }
    s->next++;
    sum_next(s, call, t);
}

static void sum_run(void *opaque, UrpcCall *call, int64_t t)
{
    Sum *s = calloc(1, sizeof(*s));

    END_MUST(s);
    s->memory = urpc_call_memory(call, SUM_PIECE);
    if (!s->memory) {
        urpc_args_done(call, t);
        urpc_reply(call, t, URPC_NO_BUFFER, NULL, 0);
        free(s);
        return;
    }
    sum_next(s, call, t);
}

/* ---- Deployed by peers: code is a byte, which is added to each of the argument ----------- */

typedef struct Shift {
    Node *n;
    uint8_t by;
} Shift;

static void shift_run(void *opaque, UrpcCall *call, int64_t t)
{
    const Shift *s = opaque;
    uint8_t out[MESSAGE_MAX];
    uint32_t len;
    const uint8_t *p = urpc_call_inline(call, &len);

    for (uint32_t i = 0; i < len; i++) {
        out[i] = p[i] + s->by;
    }
    urpc_reply(call, t, URPC_OK, out, len);
}

static bool shift_deploy(void *opaque, UrpcFunction *out, const void *code,
                         uint32_t len)
{
    Node *n = opaque;
    Shift *s = len == 1 ? malloc(sizeof(*s)) : NULL;

    if (!s) {
        return false;
    }
    *s = (Shift) { n, *(const uint8_t *)code };
    n->deployed++;
    out->run = shift_run;
    out->opaque = s;
    return true;
}

static void shift_undeploy(void *opaque, const UrpcFunction *f)
{
    Node *n = opaque;

    END_MUST(n->deployed-- > 0);
    free(f->opaque);
}

static void owned_run(void *opaque, UrpcCall *call, int64_t t)
{
    const Node *n = opaque;
    uint8_t out[4];

    urpc_put_number(urpc_config(urpc_call_end(call))->order, out, 4,
                    n->deployed);
    urpc_reply(call, t, URPC_OK, out, sizeof(out));
}

void functions_add(Node *n)
{
    const UrpcFunction all[] = {
        { .function = URPC_FUNCTION(UNIT, 0, METHOD_BOTH), .name = "both",
          .run = both_run },
        { .function = URPC_FUNCTION(UNIT, 0, METHOD_HOLD), .name = "hold",
          .run = hold_run, .opaque = n },
        { .function = URPC_FUNCTION(UNIT, 0, METHOD_FOUR), .name = "four",
          .run = four_run, .opaque = n },
        { .function = URPC_FUNCTION(UNIT, 0, METHOD_SUM), .name = "sum",
          .reference = true, .run = sum_run },
        { .function = URPC_FUNCTION(UNIT, 0, METHOD_OWNED), .name = "owned",
          .run = owned_run, .opaque = n },
    };

    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        END_MUST(!urpc_functions_add(n->fns, &all[i]));
    }
    urpc_functions_deploy(n->fns, n, shift_deploy);
    urpc_functions_undeploy(n->fns, shift_undeploy);
}
