/*
 * Acks and Responses on their way: one by one, or several calls in a message, if their
 * Request IDs follow one another and Channel and Status are the same (tables H-5, H-6).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "end.h"

void urpc_answers_init(Urpc *u)
{
    TAILQ_INIT(&u->replies);
    TAILQ_INIT(&u->acks);
}

void urpc_answer_queue(UrpcCall *call, int64_t now)
{
    call->replied_at = now;
    TAILQ_INSERT_TAIL(&call->u->replies, call, in_replies);
}

void urpc_ack_queue(UrpcCall *call, int64_t now)
{
    call->acked_at = now;
    call->ack_queued = true;
    TAILQ_INSERT_TAIL(&call->u->acks, call, in_acks);
}

void urpc_answer_refuse(Urpc *u, const UrpcRequest *r, UrpcStatus status)
{
    uint32_t at = u->refusal_first + u->refusal_count;

    if (u->refusal_count == u->conf.depth) {
        u->n.lost++;
        return;
    }
    u->refusals[at & (u->conf.depth - 1)] =
        (Refusal) { r->id, r->channel, status };
    u->refusal_count++;
}

static void ack_unqueue(UrpcCall *call)
{
    TAILQ_REMOVE(&call->u->acks, call, in_acks);
    call->ack_queued = false;
    call->ack_due = false;
}

/* ---- Acks --------------------------------------------------------------------- */

static bool follows(const UrpcCall *before, const UrpcCall *call)
{
    return call->request.id == before->request.id + 1 &&
           call->request.channel == before->request.channel;
}

/* False: there is no room.  *@wait: when a message that could have more goes anyway. */
static bool acks_run(Urpc *u, int64_t now, int64_t *wait)
{
    UrpcCall *first, *last, *next;
    uint32_t n;

    while ((first = TAILQ_FIRST(&u->acks))) {
        int64_t until = first->acked_at + u->conf.gather_time;
        UrpcAck ack = { .version = URPC_VERSION, .type = URPC_ACK };

        for (n = 1, last = first; n < u->conf.gather; n++, last = next) {
            next = TAILQ_NEXT(last, in_acks);
            if (!next || !follows(last, next)) {
                break;
            }
        }
        if (n < u->conf.gather && !TAILQ_NEXT(last, in_acks) && until > now) {
            *wait = until < *wait ? until : *wait;
            return true;
        }
        ack.range = n;
        ack.id = last->request.id;
        ack.channel = last->request.channel;
        urpc_put(u->conf.order, URPC_KIND_ACK, u->out, &ack);
        if (!urpc_end_send(u, u->out, URPC_ACK_SIZE)) {
            return false;
        }
        while (n--) {
            next = TAILQ_NEXT(first, in_acks);
            ack_unqueue(first);
            urpc_call_settle(first);
            first = next;
        }
    }
    return true;
}

/* ---- Responses ---------------------------------------------------------------- */

/* An Ack that has not gone goes with the Response (type 3). */
static uint8_t type_of(const UrpcCall *call)
{
    return call->ack_due ? URPC_ACK_RESPONSE : URPC_RESPONSE;
}

/* Without data there is no extension that Function Defined could name. */
static uint8_t defined_of(const UrpcCall *call)
{
    return call->len ? call->request.defined : URPC_PLAIN;
}

static bool together(const UrpcCall *before, const UrpcCall *call)
{
    return follows(before, call) && call->status == before->status &&
           type_of(call) == type_of(before) &&
           defined_of(call) == defined_of(before);
}

/* How many calls from @first on one message answers, and the bytes of their data. */
static uint32_t response_gather(Urpc *u, UrpcCall *first, UrpcCall **last,
                                uint32_t *len)
{
    uint32_t n = 1;
    UrpcCall *next;

    *last = first;
    *len = first->len;
    for (; n < u->conf.gather; n++, *last = next) {
        next = TAILQ_NEXT(*last, in_replies);
        if (!next || !together(*last, next) ||
            URPC_RESPONSE_SIZE + 4 * (uint64_t)n + *len + next->len >
                u->conf.message_max) {
            break;
        }
        *len += next->len;
    }
    return n;
}

static size_t response_build(Urpc *u, const UrpcCall *first, uint32_t n,
                             uint32_t len)
{
    UrpcResponse h = {
        .version = URPC_VERSION, .type = type_of(first),
        .status = first->status, .range = n, .id = first->request.id + n - 1,
        .channel = first->request.channel, .defined = defined_of(first),
        .total = URPC_RESPONSE_SIZE + len,
    };
    uint8_t *offset = u->out + URPC_RESPONSE_SIZE;
    uint8_t *data = offset + (len ? 4 * (size_t)(n - 1) : 0);
    uint32_t at = 0;

    urpc_put(u->conf.order, URPC_KIND_RESPONSE, u->out, &h);
    for (uint32_t i = 0; i < n; i++) {
        if (i && len) {
            urpc_put_number(u->conf.order, offset, 4, at);
            offset += 4;
        }
        if (first->len) {
            memcpy(data + at, first->data, first->len);
        }
        at += first->len;
        first = TAILQ_NEXT(first, in_replies);
    }
    return data + len - u->out;
}

static void response_sent(Urpc *u, UrpcCall *call)
{
    TAILQ_REMOVE(&u->replies, call, in_replies);
    if (call->ack_queued) {
        ack_unqueue(call);
    }
    if (call->status != URPC_OK) {
        u->n.refused[call->status < URPC_STATUSES ? call->status
                                                  : URPC_STATUSES]++;
    }
    call->state = CALL_SENT;
    urpc_call_settle(call);
}

static bool responses_run(Urpc *u, int64_t now, int64_t *wait)
{
    UrpcCall *first, *last, *next;
    uint32_t n, len;

    while ((first = TAILQ_FIRST(&u->replies))) {
        int64_t until = first->replied_at + u->conf.gather_time;

        n = response_gather(u, first, &last, &len);
        if (n < u->conf.gather && !TAILQ_NEXT(last, in_replies) && until > now) {
            *wait = until < *wait ? until : *wait;
            return true;
        }
        if (!urpc_end_send(u, u->out, response_build(u, first, n, len))) {
            return false;
        }
        for (; n--; first = next) {
            next = TAILQ_NEXT(first, in_replies);
            response_sent(u, first);
        }
    }
    return true;
}

static bool refusals_run(Urpc *u)
{
    while (u->refusal_count) {
        const Refusal *r = &u->refusals[u->refusal_first];
        UrpcResponse h = {
            .version = URPC_VERSION, .type = URPC_RESPONSE, .status = r->status,
            .range = 1, .id = r->id, .channel = r->channel,
            .total = URPC_RESPONSE_SIZE,
        };

        urpc_put(u->conf.order, URPC_KIND_RESPONSE, u->out, &h);
        if (!urpc_end_send(u, u->out, URPC_RESPONSE_SIZE)) {
            return false;
        }
        u->n.refused[r->status]++;
        u->refusal_first = (u->refusal_first + 1) & (u->conf.depth - 1);
        u->refusal_count--;
    }
    return true;
}

int64_t urpc_answers_run(Urpc *u, int64_t now)
{
    int64_t wait = INT64_MAX;

    if (acks_run(u, now, &wait) && responses_run(u, now, &wait)) {
        refusals_run(u);
    }
    return wait;
}
