/*
 * URPC over a pair of jetties (UB 2.0 §8.2.2): messages are Sends, what the peer's memory is
 * asked for Reads, Writes and Writes_with_immediate.
 *
 * A program of the public library gives its urma_post_jetty_send_wr(), urma_post_jetty_recv_wr()
 * and urma_poll_jfc(); what stands in for it gives the provider's.
 *
 * A message must find a receive entry.  The peer has at most @depth Requests on their way and
 * sends an Ack and a Response for each of ours; each Write_with_immediate takes an entry as
 * well: @receives of 3 * depth, and as many as there are immediates, are enough.
 *
 * Who has the token of the segment, with the right to Write, may change what is in it at any
 * time.  The peer may have it: messages that came are copied before they are read.  What such a
 * peer changes else is what it was sent, and arguments that were fetched from it: a function
 * reads these once, or copies them.  A third node that is not the peer should not have it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef URPC_JETTY_H
#define URPC_JETTY_H

#include "liburma.h"
#include "urpc.h"

typedef struct UrpcJettyCalls {
    int (*post_send)(urma_jetty *, urma_jfs_wr *, urma_jfs_wr **);
    int (*post_recv)(urma_jetty *, urma_jfr_wr *, urma_jfr_wr **);
    int (*poll)(urma_jfc *, int, urma_cr *);
} UrpcJettyCalls;

typedef struct UrpcJettyConfig {
    UrpcJettyCalls calls;
    urma_jetty *jetty;          /* ours, with @jfc for both directions */
    urma_jfc *jfc;
    urma_target_jetty *peer;
    urma_target_seg *seg;       /* the segment that has @buf; see below */
    uint8_t *buf;               /* messages, and memory for arguments */
    uint32_t len;
    uint32_t message_max;       /* as in UrpcConfig */
    uint32_t receives, sends;   /* messages that there is room for; receives + sends + calls
                                 * that are executed must fit into the queues */
    uint32_t peer_token_id;     /* of arguments that tell no TokenID */
    /* Third nodes, whose jetties are imported: EID Index n of DMA Redirect (§I.1.2.1) is
     * the n-th of them.  They stay as long as what is made of this; reliable messages
     * only, for a jetty of another mode has one peer. */
    urma_target_jetty *const *others;
    uint32_t others_count;
} UrpcJettyConfig;

typedef struct UrpcJettyCounters {
    uint64_t received, immediates, moves;
    uint64_t failed_sends, failed_moves, failed_receives;
} UrpcJettyCounters;

typedef struct UrpcJetty UrpcJetty;

/* What an end stands on; its opaque is a UrpcJetty. */
extern const UrpcOps urpc_jetty_ops;

/* NULL: the memory is too small.  Receive entries are posted at once. */
UrpcJetty *urpc_jetty_new(const UrpcJettyConfig *conf);
/* After the end, and when nothing is under way any more. */
void urpc_jetty_free(UrpcJetty *j);
const UrpcJettyCounters *urpc_jetty_counters(const UrpcJetty *j);
/* Tell @u what has ended and what has come; how many completions there were, or -1: the
 * queues have failed, or a receive entry did, and stays so: it is not posted again.  Not from
 * within what @u calls. */
int urpc_jetty_poll(UrpcJetty *j, Urpc *u, int64_t now);

#endif
