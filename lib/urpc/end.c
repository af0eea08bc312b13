/*
 * An end of URPC: what comes is shared out to caller and callee.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "end.h"

static bool conf_good(const UrpcConfig *c)
{
    return c->depth && !(c->depth & (c->depth - 1)) && c->depth <= 32768 &&
           c->channel < 1u << 24 && c->gather >= 1 &&
           c->gather <= URPC_RANGE_MAX && c->message_max >= 256 &&
           c->message_max <= 1u << 30 && c->order <= URPC_BIG;
}

Urpc *urpc_new(const UrpcConfig *conf, const UrpcOps *ops, void *opaque,
               UrpcFunctions *fns)
{
    Urpc *u = conf_good(conf) && ops->send ? calloc(1, sizeof(*u)) : NULL;

    if (!u) {
        return NULL;
    }
    u->conf = *conf;
    u->ops = ops;
    u->opaque = opaque;
    u->fns = fns;
    u->out = malloc(conf->message_max);
    u->asked = calloc(conf->depth, sizeof(*u->asked));
    u->calls = calloc(conf->depth, sizeof(*u->calls));
    u->refusals = calloc(conf->depth, sizeof(*u->refusals));
    urpc_answers_init(u);
    if (!u->out || !u->asked || !u->calls || !u->refusals) {
        urpc_free(u);
        return NULL;
    }
    for (uint32_t i = 0; i < conf->depth; i++) {
        u->calls[i].u = u;
    }
    return u;
}

void urpc_free(Urpc *u)
{
    if (!u) {
        return;
    }
    if (u->asked) {
        urpc_caller_end(u);
    }
    if (u->calls) {
        urpc_callee_end(u);
    }
    free(u->out);
    free(u->asked);
    free(u->calls);
    free(u->refusals);
    free(u);
}

const UrpcCounters *urpc_counters(const Urpc *u)
{
    return &u->n;
}

const UrpcConfig *urpc_config(const Urpc *u)
{
    return &u->conf;
}

uint32_t urpc_calling(const Urpc *u)
{
    return u->calling;
}

uint32_t urpc_serving(const Urpc *u)
{
    return u->serving;
}

bool urpc_end_send(Urpc *u, const void *msg, size_t len)
{
    if (!u->ops->send(u->opaque, msg, len)) {
        return false;
    }
    u->n.messages++;
    return true;
}

/* Requests are answered whatever is wrong with them; answers are not. */
void urpc_rx(Urpc *u, int64_t now, const void *msg, size_t len)
{
    UrpcMessage m;
    int status = urpc_parse(u->conf.order, msg, len, &m);

    u->n.malformed += status == URPC_NOT_A_MESSAGE;
    u->n.bad_version += status == URPC_BAD_VERSION;
    u->n.bad_head += status == URPC_BAD_HEAD;
    if (status == URPC_NOT_A_MESSAGE) {
        return;
    }
    if (m.type == URPC_REQUEST) {
        urpc_callee_request(u, now, &m, status);
    } else if (status == URPC_OK && m.type == URPC_ACK) {
        urpc_caller_ack(u, now, &m);
    } else if (status == URPC_OK) {
        urpc_caller_response(u, now, &m);
    }
}

void urpc_moved(Urpc *u, int64_t now, uint64_t ticket, bool good)
{
    urpc_callee_moved(u, now, ticket, good);
}

int64_t urpc_run(Urpc *u, int64_t now)
{
    int64_t next, t;

    urpc_functions_reap(u->fns);
    next = urpc_caller_run(u, now);
    t = urpc_callee_late(u, now);
    next = t < next ? t : next;
    t = urpc_answers_run(u, now);
    return t < next ? t : next;
}
