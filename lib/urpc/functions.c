/*
 * What can be called, and the Methods that are reserved for asking that, for
 * deploying and for deleting (UB 2.0 §H.2).  The document names them and not their
 * arguments, which are ours:
 *
 *   list    none, or a number of 4 bytes: from which on.  Functions, 6 bytes each
 *   find    a name, without a 0.  A Function
 *   deploy  Function (6), length of the name (1), name, code.  Nothing
 *   delete  Function.  Nothing
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"

enum { FUNCTION_SIZE = 6, FUNCTION_MAX = 65536 };

/* What a peer has deployed, which outlives its row while calls have it. */
typedef struct Deployed {
    UrpcFunction f;
    uint32_t users;             /* the row, and calls */
    struct Deployed *next;      /* of those that nobody has */
} Deployed;

typedef struct Row {
    UrpcFunction f;
    Deployed *deployed;         /* by a peer; NULL: it is the program's */
} Row;

struct UrpcFunctions {
    uint32_t unit, max, count;
    Row *rows;
    Deployed *unused;           /* since its last call ended */
    void *opaque;
    bool (*deploy)(void *opaque, UrpcFunction *out, const void *code,
                   uint32_t len);
    void (*undeploy)(void *opaque, const UrpcFunction *f);
};

UrpcFunctions *urpc_functions_new(uint32_t unit, uint32_t max)
{
    UrpcFunctions *fns;

    if (unit >> 24 || !max || max > FUNCTION_MAX) {
        return NULL;
    }
    fns = calloc(1, sizeof(*fns));
    if (fns) {
        fns->unit = unit;
        fns->max = max;
        fns->rows = calloc(max, sizeof(*fns->rows));
    }
    if (!fns || !fns->rows) {
        urpc_functions_free(fns);
        return NULL;
    }
    return fns;
}

void urpc_functions_drop(UrpcFunctions *fns, Deployed *d)
{
    if (d && !--d->users) {
        if (fns->undeploy) {
            fns->undeploy(fns->opaque, &d->f);
        }
        free(d);
    }
}

void urpc_functions_let_go(UrpcFunctions *fns, Deployed *d)
{
    if (d && d->users > 1) {
        d->users--;
    } else if (d) {
        d->next = fns->unused;
        fns->unused = d;
    }
}

void urpc_functions_reap(UrpcFunctions *fns)
{
    while (fns && fns->unused) {
        Deployed *d = fns->unused;

        fns->unused = d->next;
        urpc_functions_drop(fns, d);
    }
}

static void row_remove(UrpcFunctions *fns, Row *r)
{
    Deployed *d = r->deployed;

    *r = fns->rows[--fns->count];
    urpc_functions_drop(fns, d);
}

void urpc_functions_free(UrpcFunctions *fns)
{
    if (fns) {
        urpc_functions_reap(fns);
        while (fns->count) {
            row_remove(fns, &fns->rows[0]);
        }
        free(fns->rows);
        free(fns);
    }
}

uint32_t urpc_functions_count(const UrpcFunctions *fns)
{
    return fns->count;
}

void urpc_functions_deploy(UrpcFunctions *fns, void *opaque,
                           bool (*deploy)(void *opaque, UrpcFunction *out,
                                          const void *code, uint32_t len))
{
    fns->opaque = opaque;
    fns->deploy = deploy;
}

void urpc_functions_undeploy(UrpcFunctions *fns,
                             void (*undeploy)(void *opaque,
                                              const UrpcFunction *f))
{
    fns->undeploy = undeploy;
}

/* ---- The table ---------------------------------------------------------------- */

static uint32_t method_of(uint64_t function)
{
    return function & 0xffffff;
}

static bool reserved(uint64_t function)
{
    uint32_t method = method_of(function);

    return method == URPC_LIST_PUBLIC ||
           (method >= URPC_LIST_CUSTOM && method <= URPC_FIND);
}

static Row *row_find(const UrpcFunctions *fns, uint64_t function)
{
    for (Row *r = fns->rows; r < fns->rows + fns->count; r++) {
        if (r->f.function == function) {
            return r;
        }
    }
    return NULL;
}

static Row *row_named(const UrpcFunctions *fns, const void *name, size_t len)
{
    for (Row *r = fns->rows; r < fns->rows + fns->count; r++) {
        if (strlen(r->f.name) == len && !memcmp(r->f.name, name, len)) {
            return r;
        }
    }
    return NULL;
}

static int row_add(UrpcFunctions *fns, const UrpcFunction *f,
                   Deployed *deployed)
{
    size_t len = strnlen(f->name, sizeof(f->name));

    if (f->function >> 24 != fns->unit || reserved(f->function) || !f->run ||
        !len || len > URPC_NAME_MAX) {
        return EINVAL;
    }
    if (row_find(fns, f->function) || row_named(fns, f->name, len)) {
        return EEXIST;
    }
    if (fns->count == fns->max) {
        return ENOSPC;
    }
    fns->rows[fns->count++] = (Row) { *f, deployed };
    return 0;
}

int urpc_functions_add(UrpcFunctions *fns, const UrpcFunction *f)
{
    return row_add(fns, f, NULL);
}

void urpc_functions_remove(UrpcFunctions *fns, uint64_t function)
{
    Row *r = row_find(fns, function);

    if (r) {
        row_remove(fns, r);
    }
}

Deployed *urpc_functions_hold(UrpcFunctions *fns, uint64_t function)
{
    const Row *r = row_find(fns, function);

    if (!r || !r->deployed) {
        return NULL;
    }
    r->deployed->users++;
    return r->deployed;
}

const UrpcFunction *urpc_functions_find(const UrpcFunctions *fns,
                                        uint64_t function)
{
    const Row *r = row_find(fns, function);

    return r ? &r->f : NULL;
}

/* ---- Reserved Methods --------------------------------------------------------- */

static void run_list(void *opaque, UrpcCall *call, int64_t now)
{
    const UrpcFunctions *fns = opaque;
    Urpc *u = call->u;
    uint32_t from = 0, len, at = 0, skip = 0;
    uint32_t room = u->conf.message_max - URPC_RESPONSE_SIZE;
    uint64_t p = method_of(call->request.function) & URPC_CUSTOM;
    const uint8_t *args = urpc_call_inline(call, &len);
    uint8_t *out = malloc(room);

    if (len == 4) {
        from = urpc_get_number(u->conf.order, args, 4);
    }
    if ((len && len != 4) || !out) {
        urpc_reply(call, now, out ? URPC_BAD_HEAD : URPC_NO_BUFFER, NULL, 0);
        free(out);
        return;
    }
    for (uint32_t i = 0; i < fns->count && room - at >= FUNCTION_SIZE; i++) {
        uint64_t function = fns->rows[i].f.function;

        if ((method_of(function) & URPC_CUSTOM) == p && skip++ >= from) {
            urpc_put_number(u->conf.order, out + at, FUNCTION_SIZE, function);
            at += FUNCTION_SIZE;
        }
    }
    urpc_reply(call, now, URPC_OK, out, at);
    free(out);
}

static void run_find(void *opaque, UrpcCall *call, int64_t now)
{
    uint8_t out[FUNCTION_SIZE];
    uint32_t len;
    const void *name = urpc_call_inline(call, &len);
    const Row *r = row_named(opaque, name, len);

    if (r) {
        urpc_put_number(call->u->conf.order, out, sizeof(out), r->f.function);
    }
    urpc_reply(call, now, r ? URPC_OK : URPC_NO_FUNCTION, out, r ? sizeof(out) : 0);
}

/* False: there is no room, or the owner does not want it. */
static bool deployed_add(UrpcFunctions *fns, UrpcFunction *f, const void *code,
                         uint32_t len)
{
    Deployed *d;

    if (row_find(fns, f->function) || row_named(fns, f->name, strlen(f->name)) ||
        fns->count == fns->max || !fns->deploy) {
        return false;
    }
    d = malloc(sizeof(*d));
    if (!d || !fns->deploy(fns->opaque, f, code, len)) {
        free(d);
        return false;
    }
    *d = (Deployed) { *f, 1 };
    if (row_add(fns, f, d)) {
        urpc_functions_drop(fns, d);
        return false;
    }
    return true;
}

static void run_deploy(void *opaque, UrpcCall *call, int64_t now)
{
    UrpcFunctions *fns = opaque;
    UrpcFunction f = { .defined = URPC_DEFINED_ANY };
    uint32_t len, named;
    const uint8_t *p = urpc_call_inline(call, &len);

    if (len <= FUNCTION_SIZE) {
        urpc_reply(call, now, URPC_BAD_HEAD, NULL, 0);
        return;
    }
    f.function = urpc_get_number(call->u->conf.order, p, FUNCTION_SIZE);
    named = p[FUNCTION_SIZE];
    p += FUNCTION_SIZE + 1;
    len -= FUNCTION_SIZE + 1;
    if (!named || named > URPC_NAME_MAX || named > len ||
        memchr(p, 0, named) || !(method_of(f.function) & URPC_CUSTOM) ||
        f.function >> 24 != fns->unit || reserved(f.function)) {
        urpc_reply(call, now, URPC_BAD_HEAD, NULL, 0);
        return;
    }
    memcpy(f.name, p, named);
    if (!deployed_add(fns, &f, p + named, len - named)) {
        urpc_reply(call, now, URPC_REFUSED, NULL, 0);
        return;
    }
    urpc_reply(call, now, URPC_OK, NULL, 0);
}

static void run_delete(void *opaque, UrpcCall *call, int64_t now)
{
    UrpcFunctions *fns = opaque;
    uint32_t len;
    const uint8_t *p = urpc_call_inline(call, &len);
    Row *r;

    if (len != FUNCTION_SIZE) {
        urpc_reply(call, now, URPC_BAD_HEAD, NULL, 0);
        return;
    }
    r = row_find(fns, urpc_get_number(call->u->conf.order, p, FUNCTION_SIZE));
    if (!r || !r->deployed) {
        urpc_reply(call, now, r ? URPC_REFUSED : URPC_NO_FUNCTION, NULL, 0);
        return;
    }
    row_remove(fns, r);
    urpc_reply(call, now, URPC_OK, NULL, 0);
}

static const struct {
    uint32_t method;
    void (*run)(void *opaque, UrpcCall *call, int64_t now);
} methods[] = {
    { URPC_LIST_PUBLIC, run_list }, { URPC_LIST_CUSTOM, run_list },
    { URPC_DEPLOY, run_deploy }, { URPC_DELETE, run_delete },
    { URPC_FIND, run_find },
};

UrpcStatus urpc_functions_lookup(const UrpcFunctions *fns, const UrpcRequest *r,
                                 UrpcFunction *out)
{
    const UrpcFunction *f;

    if (!fns || r->function >> 24 != fns->unit) {
        return URPC_NO_FUNCTION;
    }
    *out = (UrpcFunction) { .function = r->function, .opaque = (void *)fns };
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (methods[i].method == method_of(r->function)) {
            out->run = methods[i].run;
        }
    }
    if (!out->run) {
        f = urpc_functions_find(fns, r->function);
        if (!f) {
            return URPC_NO_FUNCTION;
        }
        *out = *f;
    }
    return out->defined == URPC_DEFINED_ANY || out->defined == r->defined
               ? URPC_OK : URPC_BAD_HEAD;
}
