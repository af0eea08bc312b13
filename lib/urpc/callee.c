/*
 * Calls of the peer: each request once, arguments by value within the message, by value
 * fetched from the caller, or by reference (UB 2.0 §8.5.3).
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"

/* ---- Life of a call ----------------------------------------------------------- */

void urpc_call_settle(UrpcCall *call)
{
    Urpc *u = call->u;
    uint32_t id = call->request.id;

    if (call->state != CALL_SENT || call->owned || call->moving ||
        call->ack_queued) {
        return;
    }
    if (call->memory) {
        u->ops->mem_put(u->opaque, call->memory, call->memory_len);
    }
    u->args_used -= call->inline_len + (uint64_t)call->memory_len;
    free(call->inline_data);
    free(call->dma);
    free(call->data);
    urpc_functions_let_go(u->fns, call->deployed);
    memset(call, 0, sizeof(*call));
    call->u = u;
    call->seen = true;
    call->request.id = id;
    u->serving--;
}

/* @status of those that have no data. */
static void call_answer(UrpcCall *call, int64_t now, UrpcStatus status)
{
    call->status = status;
    call->state = CALL_REPLIED;
    urpc_answer_queue(call, now);
}

static bool args_room(const Urpc *u, uint64_t len)
{
    return len <= u->conf.args_max && u->args_used <= u->conf.args_max - len;
}

static void *call_memory(UrpcCall *call, uint32_t len)
{
    Urpc *u = call->u;

    if (call->memory || !len || !u->ops->mem_get || !args_room(u, len)) {
        return NULL;
    }
    call->memory = u->ops->mem_get(u->opaque, len);
    if (call->memory) {
        call->memory_len = len;
        u->args_used += len;
    }
    return call->memory;
}

/* ---- Arguments ---------------------------------------------------------------- */

/* What the function was when the request came may be gone since. */
static void call_run(UrpcCall *call, int64_t now)
{
    UrpcStatus status = urpc_functions_lookup(call->u->fns, &call->request,
                                              &call->fn);

    if (status != URPC_OK) {
        call_answer(call, now, status);
        return;
    }
    call->state = CALL_RUNNING;
    call->owned = true;
    call->deployed = urpc_functions_hold(call->u->fns, call->fn.function);
    call->u->n.executed++;
    if (!call->fn.reference) {
        urpc_args_done(call, now);
    }
    call->fn.run(call->fn.opaque, call, now);
}

static bool call_move(UrpcCall *call, UrpcMoved *done, void *opaque)
{
    if (call->moving || call->late || call->u->ending) {
        return false;
    }
    call->moving = true;
    call->moved = done;
    call->moved_opaque = opaque;
    return true;
}

static void fetch_next(UrpcCall *call, int64_t now);

static void fetched(void *opaque, UrpcCall *call, int64_t now, bool good)
{
    if (call->late) {           /* call_moved() answers it */
        return;
    }
    if (!good) {
        call_answer(call, now, URPC_REFUSED);
        return;
    }
    call->pulled += call->dma[call->next_dma++].size;
    fetch_next(call, now);
}

static void fetch_next(UrpcCall *call, int64_t now)
{
    while (call->next_dma < call->request.dma_count) {
        const UrpcDma *d = &call->dma[call->next_dma];
        UrpcRef ref = { d->address, d->token, URPC_ANY_TOKEN_ID, 0 };

        if (!d->size) {
            call->next_dma++;
            continue;
        }
        if (!urpc_pull(call, call->memory + call->pulled, &ref, d->size, fetched,
                       NULL)) {
            call_answer(call, now, URPC_REFUSED);
        }
        return;
    }
    call->args_len = call->pulled;
    call_run(call, now);
}

/* Copy what the message has; memory for what it only names. */
static UrpcStatus args_take(UrpcCall *call, const UrpcMessage *m)
{
    Urpc *u = call->u;
    uint64_t sum = 0;

    if (!args_room(u, m->len)) {
        return URPC_NO_BUFFER;
    }
    call->inline_data = malloc(m->len + 1);
    call->dma = calloc(m->request.dma_count + 1, sizeof(*call->dma));
    if (!call->inline_data || !call->dma) {
        return URPC_NO_BUFFER;
    }
    memcpy(call->inline_data, m->data, m->len);
    call->inline_len = m->len;
    u->args_used += m->len;
    for (unsigned i = 0; i < m->request.dma_count; i++) {
        urpc_message_dma(u->conf.order, m, i, &call->dma[i]);
        sum += call->dma[i].size;
    }
    /* What was checked is what is fetched; so the sum fits into a Request Total Size. */
    if (URPC_REQUEST_SIZE + (uint64_t)m->len + sum != m->request.total) {
        return URPC_BAD_HEAD;
    }
    if (!sum || call->fn.reference) {
        return URPC_OK;
    }
    return call_memory(call, sum) ? URPC_OK : URPC_NO_BUFFER;
}

static UrpcStatus call_take(UrpcCall *call, const UrpcMessage *m)
{
    UrpcStatus status = urpc_functions_lookup(call->u->fns, &m->request,
                                              &call->fn);

    return status == URPC_OK ? args_take(call, m) : status;
}

/* A request that has been here is not carried out again; one whose place is not free yet
 * is refused. */
void urpc_callee_request(Urpc *u, int64_t now, const UrpcMessage *m, int status)
{
    UrpcCall *call = call_at(u, m->request.id);
    int32_t ahead = m->request.id - call->request.id;

    if (call->seen && ahead <= 0) {
        u->n.duplicate += !ahead;
        u->n.stale += ahead < 0;
        return;
    }
    if (call->state != CALL_FREE) {
        urpc_answer_refuse(u, &m->request, URPC_REFUSED);
        return;
    }
    u->serving++;
    call->seen = true;
    call->request = m->request;
    call->ack_due = m->request.ack;
    call->deadline = deadline_at(now, u->conf.work_timeout);
    if (status == URPC_OK) {
        status = call_take(call, m);
    }
    if (status != URPC_OK) {
        call_answer(call, now, status);
        return;
    }
    call->state = CALL_PULLING;
    if (call->fn.reference) {
        call_run(call, now);
    } else {
        fetch_next(call, now);
    }
}

/* ---- What a function does ----------------------------------------------------- */

const UrpcRequest *urpc_call_request(const UrpcCall *call)
{
    return &call->request;
}

Urpc *urpc_call_end(const UrpcCall *call)
{
    return call->u;
}

const void *urpc_call_inline(const UrpcCall *call, uint32_t *len)
{
    *len = call->inline_len;
    return call->inline_data;
}

const void *urpc_call_args(const UrpcCall *call, uint32_t *len)
{
    *len = call->args_len;
    return call->memory;
}

const UrpcDma *urpc_call_dma(const UrpcCall *call, uint32_t *count)
{
    *count = call->request.dma_count;
    return call->dma;
}

bool urpc_call_late(const UrpcCall *call)
{
    return call->late;
}

void *urpc_call_memory(UrpcCall *call, uint32_t len)
{
    return call_memory(call, len);
}

bool urpc_pull(UrpcCall *call, void *local, const UrpcRef *ref, uint32_t len,
               UrpcMoved *done, void *opaque)
{
    const UrpcOps *ops = call->u->ops;

    if (!ops->read || !call_move(call, done, opaque)) {
        return false;
    }
    call->moving = ops->read(call->u->opaque, call->request.id, local, ref, len);
    return call->moving;
}

bool urpc_push(UrpcCall *call, const void *local, const UrpcRef *ref, uint32_t len,
               const uint64_t *imm, UrpcMoved *done, void *opaque)
{
    const UrpcOps *ops = call->u->ops;

    if (!ops->write || !call_move(call, done, opaque)) {
        return false;
    }
    call->moving = ops->write(call->u->opaque, call->request.id, local, ref, len,
                              imm);
    return call->moving;
}

static bool under_way(const UrpcCall *call)
{
    return call->state == CALL_PULLING || call->state == CALL_RUNNING;
}

static void call_moved(UrpcCall *call, int64_t now, bool good)
{
    call->moving = false;
    call->moved(call->moved_opaque, call, now, good);
    if (call->late && under_way(call)) {
        call_answer(call, now, URPC_TIMEOUT);
    }
    urpc_call_settle(call);
}

void urpc_callee_moved(Urpc *u, int64_t now, uint64_t ticket, bool good)
{
    UrpcCall *call = call_at(u, ticket);

    if (ticket == call->request.id && call->moving) {
        call_moved(call, now, good);
    }
}

void urpc_args_done(UrpcCall *call, int64_t now)
{
    if (call->ack_due && !call->u->conf.merge && call->state == CALL_RUNNING &&
        !call->ack_queued) {
        urpc_ack_queue(call, now);
    }
}

/* The function gives its call up.  False: it is answered already. */
static bool call_back(UrpcCall *call)
{
    assert(call->owned);
    call->owned = false;
    if (call->late) {
        urpc_call_settle(call);
        return false;
    }
    return true;
}

void urpc_reply(UrpcCall *call, int64_t now, UrpcStatus status, const void *data,
                uint32_t len)
{
    if (!call_back(call)) {
        return;
    }
    if (len > call->u->conf.message_max - URPC_RESPONSE_SIZE) {
        status = URPC_REFUSED;
        len = 0;
    }
    call->data = len ? malloc(len) : NULL;
    if (len && !call->data) {
        status = URPC_NO_BUFFER;
        len = 0;
    }
    if (len) {
        memcpy(call->data, data, len);
    }
    call->len = len;
    call_answer(call, now, status);
}

void urpc_reply_none(UrpcCall *call, int64_t now)
{
    if (!call_back(call)) {
        return;
    }
    if (call->ack_due && !call->ack_queued) {
        urpc_ack_queue(call, now);
    }
    call->state = CALL_SENT;
    urpc_call_settle(call);
}

/* ---- Time and the end --------------------------------------------------------- */

int64_t urpc_callee_late(Urpc *u, int64_t now)
{
    int64_t next = INT64_MAX;

    if (!u->serving || u->conf.work_timeout <= 0) {
        return next;
    }
    for (UrpcCall *call = u->calls; call < u->calls + u->conf.depth; call++) {
        if (!under_way(call) || call->late) {
            continue;
        }
        if (due(call->deadline, now)) {
            u->n.late++;
            call->late = true;
            /* Else when that has ended: who has an answer uses its memory again. */
            if (!call->moving) {
                call_answer(call, now, URPC_TIMEOUT);
            }
        } else if (call->deadline < next) {
            next = call->deadline;
        }
    }
    return next;
}

/* Nothing begins any more.  What is under way has failed, which lets functions give up their
 * calls, before it is asked whether one still has any. */
void urpc_callee_end(Urpc *u)
{
    u->ending = true;
    for (UrpcCall *call = u->calls; call < u->calls + u->conf.depth; call++) {
        if (call->moving) {
            call_moved(call, 0, false);
        }
    }
    for (UrpcCall *call = u->calls; call < u->calls + u->conf.depth; call++) {
        if (call->state != CALL_FREE) {
            assert(!call->owned);
            call->ack_queued = false;
            call->state = CALL_SENT;
            urpc_call_settle(call);
        }
    }
}
