/*
 * Ends of URPC over jetties, for programs in guests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include <time.h>

#include "urpc-node.h"

int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

void node_open(Node *n)
{
    static const EndConfig rm = {
        .trans_mode = URMA_RM, .plain = 1,
        .access = URMA_ACCESS_READ | URMA_ACCESS_WRITE,
    };

    memset(n, 0, sizeof(*n));
    end_open(&n->end);
    end_make(&n->end, &rm);
}

/* With functions of its own. */
void node_make(Node *n)
{
    node_open(n);
    n->fns = urpc_functions_new(UNIT, 16);
    n->logs = log_store_new(LOG_MAX, 4096);
    END_MUST(n->fns && n->logs);
    END_MUST(!sample_echo_add(n->fns, UNIT));
    END_MUST(!log_store_add(n->logs, n->fns, UNIT));
    functions_add(n);
}

void node_third(Node *n, const EndAddress *third)
{
    EndAddress a = *third;
    urma_token token = { END_TOKEN };

    n->third = n->end.ops->import_jetty(n->end.ctx, &a.jetty, &token);
    END_MUST(n->third);
}

void node_join(Node *n, const EndAddress *peer, uint32_t channel,
                      UrpcFunctions *fns, Mode mode)
{
    UrpcJettyConfig c = {
        .calls = { n->end.ops->post_jetty_send_wr,
                   n->end.ops->post_jetty_recv_wr, n->end.ops->poll_jfc },
        .jetty = n->end.jetty, .jfc = n->end.jfc, .seg = n->end.seg,
        .buf = n->end.buf + CARRIER_AT, .len = END_BUF - CARRIER_AT,
        .message_max = MESSAGE_MAX, .receives = RECEIVES, .sends = SENDS,
        .peer_token_id = peer->seg.token_id,
        .others = &n->third, .others_count = n->third ? 1 : 0,
    };
    UrpcConfig conf = {
        .channel = channel, .depth = DEPTH, .message_max = MESSAGE_MAX,
        .args_max = ARGS_MAX,
        .timeout = mode == MODE_LOST ? SECOND / 5 : 100 * SECOND,
        .work_timeout = mode == MODE_LATE ? SECOND / 5 : 0,
        .gather = mode == MODE_MERGE ? 1 : 4,
        .gather_time = SECOND / 10000, .merge = mode == MODE_MERGE,
    };

    end_import(&n->end, peer, END_TOKEN);
    c.peer = n->end.peer;
    n->jetty = urpc_jetty_new(&c);
    END_MUST(n->jetty);
    n->u = urpc_new(&conf, &urpc_jetty_ops, n->jetty, fns);
    END_MUST(n->u);
}

void node_turn(Node *n)
{
    END_MUST(urpc_jetty_poll(n->jetty, n->u, now()) >= 0);
    functions_turn(n, false);
    urpc_run(n->u, now());
}

void node_release(Node *n)
{
    functions_turn(n, true);
}

/* The queues go first: then nothing is under way. */
void node_close(Node *n)
{
    END_MUST(!n->third || !n->end.ops->unimport_jetty(n->third));
    end_close(&n->end);
    node_release(n);
    urpc_free(n->u);
    urpc_jetty_free(n->jetty);
    urpc_functions_free(n->fns);
    log_store_free(n->logs);
}
