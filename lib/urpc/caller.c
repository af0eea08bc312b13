/*
 * Calls that this end makes: Request IDs count up, answers find them by range
 * (UB 2.0 §8.5.1, tables H-5 and H-6).
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"

/* ---- Ends of calls ------------------------------------------------------------ */

static void asked_release(Asked *a)
{
    if (!a->released && a->args.released) {
        a->released = true;
        a->args.released(a->args.opaque, a->id);
    }
    a->released = true;
}

/* The place is empty before anybody hears of it, so that it can be used again. */
static void asked_done(Urpc *u, Asked *a, const UrpcResult *result)
{
    UrpcArgs args = a->args;
    UrpcResult r = *result;
    void *copy = a->copy;

    asked_release(a);
    memset(a, 0, sizeof(*a));
    u->calling--;
    while (u->oldest != u->next && !asked_at(u, u->oldest)->used) {
        u->oldest++;
    }
    if (args.done) {
        args.done(args.opaque, &r);
    }
    free(copy);
}

static void asked_local(Urpc *u, Asked *a, UrpcStatus status)
{
    UrpcResult r = { .id = a->id, .status = status, .local = true };

    asked_done(u, a, &r);
}

/* ---- Request ------------------------------------------------------------------ */

static int args_size(const Urpc *u, const UrpcArgs *args, size_t *size,
                     uint32_t *total)
{
    uint64_t sum = URPC_REQUEST_SIZE + (uint64_t)args->len;

    if (args->function >> 48 || args->dma_count > URPC_DMA_MAX) {
        return EINVAL;
    }
    *size = URPC_REQUEST_SIZE + (size_t)args->dma_count * URPC_DMA_SIZE +
            args->len;
    if (*size > u->conf.message_max) {
        return EMSGSIZE;
    }
    for (uint32_t i = 0; i < args->dma_count; i++) {
        sum += args->dma[i].size;
    }
    *total = sum;
    return sum > UINT32_MAX ? EMSGSIZE : 0;
}

static void request_build(Urpc *u, const UrpcArgs *args, uint32_t total)
{
    UrpcRequest r = {
        .version = URPC_VERSION, .type = URPC_REQUEST, .ack = args->ack,
        .dma_count = args->dma_count, .function = args->function,
        .total = total, .id = u->next, .channel = u->conf.channel,
        .defined = args->defined,
    };
    uint8_t *p = u->out;

    urpc_put(u->conf.order, URPC_KIND_REQUEST, p, &r);
    p += URPC_REQUEST_SIZE;
    for (uint32_t i = 0; i < args->dma_count; i++, p += URPC_DMA_SIZE) {
        urpc_put(u->conf.order, URPC_KIND_DMA, p, &args->dma[i]);
    }
    if (args->len) {
        memcpy(p, args->data, args->len);
    }
}

int urpc_call(Urpc *u, int64_t now, const UrpcArgs *args, uint32_t *id)
{
    Asked *a = asked_at(u, u->next);
    uint32_t total;
    size_t size;
    int wrong = args_size(u, args, &size, &total);

    if (wrong) {
        return wrong;
    }
    if (u->next - u->oldest >= u->conf.depth) {
        return EAGAIN;
    }
    request_build(u, args, total);
    if (!urpc_end_send(u, u->out, size)) {
        return EAGAIN;
    }
    *a = (Asked) { .args = *args, .id = u->next, .used = true,
                   .deadline = deadline_at(now, u->conf.timeout) };
    if (id) {
        *id = u->next;
    }
    u->next++;
    u->calling++;
    u->n.calls++;
    if (args->one_way && !args->ack) {
        UrpcResult r = { .id = a->id };

        asked_done(u, a, &r);
    }
    return 0;
}

/* ---- Answers ------------------------------------------------------------------ */

/* The live call of @id, or NULL. */
static Asked *asked_find(Urpc *u, uint32_t id)
{
    Asked *a = asked_at(u, id);

    return a->used && a->id == id ? a : NULL;
}

/* Of the range that ends at @id, what can be live: never more than the depth. */
static uint32_t range_first(Urpc *u, uint32_t id, uint16_t range)
{
    uint32_t beyond = range > u->conf.depth ? range - u->conf.depth : 0;

    u->n.stray += beyond;
    return beyond;
}

void urpc_caller_ack(Urpc *u, int64_t now, const UrpcMessage *m)
{
    const UrpcAck *ack = &m->ack;

    if (ack->channel != u->conf.channel) {
        u->n.foreign++;
        return;
    }
    for (uint32_t i = range_first(u, ack->id, ack->range); i < ack->range; i++) {
        Asked *a = asked_find(u, ack->id - ack->range + 1 + i);

        if (!a || !a->args.ack || a->released) {
            u->n.stray++;
        } else if (a->args.one_way) {
            UrpcResult r = { .id = a->id };

            asked_done(u, a, &r);
        } else {
            asked_release(a);
        }
    }
}

/* An answer whose immediates have not all come is kept (UB 2.0 §I.1.3, mode 4). */
static void asked_answer(Urpc *u, Asked *a, const UrpcResult *r)
{
    if (a->answered) {
        u->n.stray++;
        return;
    }
    if (!a->args.pieces || a->args.pieces(r) <= a->pieces) {
        asked_done(u, a, r);
        return;
    }
    a->copy = malloc(r->len + 1);
    if (!a->copy) {
        asked_local(u, a, URPC_NO_BUFFER);
        return;
    }
    memcpy(a->copy, r->data, r->len);
    a->result = *r;
    a->result.data = a->copy;
    a->answered = true;
}

void urpc_caller_response(Urpc *u, int64_t now, const UrpcMessage *m)
{
    const UrpcResponse *h = &m->response;

    if (h->channel != u->conf.channel) {
        u->n.foreign++;
        return;
    }
    for (uint32_t i = range_first(u, h->id, h->range); i < h->range; i++) {
        Asked *a = asked_find(u, h->id - h->range + 1 + i);
        UrpcResult r = { .status = h->status, .defined = h->defined,
                         .order = u->conf.order };

        if (!a) {
            u->n.stray++;
            continue;
        }
        r.id = a->id;
        r.data = urpc_message_part(u->conf.order, m, i, &r.len);
        asked_answer(u, a, &r);
    }
}

void urpc_immediate(Urpc *u, int64_t now, uint64_t imm)
{
    Asked *a = asked_find(u, urpc_imm_id(imm));

    if (!a || !a->args.pieces || a->pieces == UINT32_MAX) {
        u->n.stray++;
        return;
    }
    a->pieces++;
    if (a->answered && a->args.pieces(&a->result) <= a->pieces) {
        asked_done(u, a, &a->result);
    }
}

/* ---- Time --------------------------------------------------------------------- */

int64_t urpc_caller_run(Urpc *u, int64_t now)
{
    uint32_t end = u->next;

    /* Deadlines go up with the IDs: all calls have the same time-out. */
    for (uint32_t id = u->oldest; id != end; id++) {
        Asked *a = asked_find(u, id);

        if (a && !due(a->deadline, now)) {
            return a->deadline;
        }
        if (a) {
            u->n.timeouts++;
            asked_local(u, a, URPC_TIMEOUT);
        }
    }
    return u->oldest == u->next ? INT64_MAX : now;
}

void urpc_caller_end(Urpc *u)
{
    uint32_t end = u->next;

    for (uint32_t id = u->oldest; id != end; id++) {
        Asked *a = asked_find(u, id);

        if (a) {
            asked_local(u, a, URPC_TIMEOUT);
        }
    }
}
