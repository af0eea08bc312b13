/*
 * URPC over a pair of jetties.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "jetty.h"

enum {
    PAGE = 4096,
    TOKEN_POLICY = 1,           /* of an element's attributes: the TokenValue counts */
    BATCH = 16,
};

/* What a completion is of: in the upper half of user_ctx. */
typedef enum Work {
    WORK_RECEIVE = 1, WORK_SEND, WORK_MOVE,
} Work;

struct UrpcJetty {
    UrpcJettyConfig conf;
    UrpcJettyCounters n;
    uint32_t *idle;             /* places for messages to send */
    uint32_t idle_count;
    uint8_t *heap;
    uint8_t *used;              /* of each page of the heap */
    uint32_t pages;
    uint8_t *message;           /* message_max: what is read of the one that came */
    bool broken;                /* a receive entry failed, or could not be posted */
};

/* ---- Receive entries ------------------------------------------------------------ */

static uint8_t *receive_at(const UrpcJetty *j, uint32_t i)
{
    return j->conf.buf + (size_t)i * j->conf.message_max;
}

static uint8_t *send_at(const UrpcJetty *j, uint32_t i)
{
    return receive_at(j, j->conf.receives + i);
}

static void receive_post(UrpcJetty *j, uint32_t i)
{
    urma_sge sge = { .addr = (uintptr_t)receive_at(j, i),
                     .len = j->conf.message_max, .tseg = j->conf.seg };
    urma_jfr_wr wr = { .src = { &sge, 1 },
                       .user_ctx = (uint64_t)WORK_RECEIVE << 32 | i };
    urma_jfr_wr *bad;

    j->broken |= j->conf.calls.post_recv(j->conf.jetty, &wr, &bad) != 0;
}

/* ---- Life ----------------------------------------------------------------------- */

UrpcJetty *urpc_jetty_new(const UrpcJettyConfig *conf)
{
    uint64_t messages = ((uint64_t)conf->receives + conf->sends) *
                        conf->message_max;
    UrpcJetty *j = messages <= conf->len ? calloc(1, sizeof(*j)) : NULL;

    if (!j) {
        return NULL;
    }
    j->conf = *conf;
    j->heap = conf->buf + messages;
    j->pages = (conf->len - messages) / PAGE;
    j->used = calloc(j->pages + 1, 1);
    j->idle = calloc(conf->sends + 1, sizeof(*j->idle));
    j->message = malloc(conf->message_max + (size_t)1);
    if (!j->used || !j->idle || !j->message) {
        urpc_jetty_free(j);
        return NULL;
    }
    for (uint32_t i = 0; i < conf->sends; i++) {
        j->idle[j->idle_count++] = i;
    }
    for (uint32_t i = 0; i < conf->receives; i++) {
        receive_post(j, i);
    }
    return j;
}

void urpc_jetty_free(UrpcJetty *j)
{
    if (j) {
        free(j->used);
        free(j->idle);
        free(j->message);
        free(j);
    }
}

const UrpcJettyCounters *urpc_jetty_counters(const UrpcJetty *j)
{
    return &j->n;
}

/* ---- Memory: the first pages in sequence that are free --------------------------- */

static uint32_t pages_of(uint32_t len)
{
    return len / PAGE + (len % PAGE != 0);
}

static void *jetty_mem_get(void *opaque, uint32_t len)
{
    UrpcJetty *j = opaque;
    uint32_t want = pages_of(len), run = 0;

    for (uint32_t i = 0; want && i < j->pages; i++) {
        run = j->used[i] ? 0 : run + 1;
        if (run == want) {
            memset(j->used + i + 1 - want, 1, want);
            return j->heap + (size_t)(i + 1 - want) * PAGE;
        }
    }
    return NULL;
}

static void jetty_mem_put(void *opaque, void *p, uint32_t len)
{
    UrpcJetty *j = opaque;

    memset(j->used + ((uint8_t *)p - j->heap) / PAGE, 0, pages_of(len));
}

/* ---- Requests -------------------------------------------------------------------- */

static bool post(UrpcJetty *j, urma_jfs_wr *wr, urma_target_jetty *to,
                 Work work, uint32_t number)
{
    urma_jfs_wr *bad;

    wr->flag = URMA_WR_COMPLETE;
    wr->tjetty = to;
    wr->user_ctx = (uint64_t)work << 32 | number;
    return !j->conf.calls.post_send(j->conf.jetty, wr, &bad);
}

static bool jetty_send(void *opaque, const void *msg, size_t len)
{
    UrpcJetty *j = opaque;
    urma_sge sge = { .len = len, .tseg = j->conf.seg };
    urma_jfs_wr wr = { .opcode = URMA_WR_SEND, .send = { .src = { &sge, 1 } } };
    uint32_t i;

    if (!j->idle_count || len > j->conf.message_max) {
        return false;
    }
    i = j->idle[j->idle_count - 1];
    sge.addr = (uintptr_t)send_at(j, i);
    memcpy(send_at(j, i), msg, len);
    if (!post(j, &wr, j->conf.peer, WORK_SEND, i)) {
        return false;
    }
    j->idle_count--;
    return true;
}

/* Whose memory it is; NULL: nobody's that is known here.  What tells no TokenID is the
 * peer's. */
static urma_target_jetty *target_of(const UrpcJetty *j, const UrpcRef *ref)
{
    if (!ref->eid_index) {
        return j->conf.peer;
    }
    return ref->eid_index <= j->conf.others_count &&
           ref->token_id != URPC_ANY_TOKEN_ID
               ? j->conf.others[ref->eid_index - 1] : NULL;
}

static bool move(UrpcJetty *j, uint64_t ticket, uint32_t opcode, const void *local,
                 const UrpcRef *ref, uint32_t len, const uint64_t *imm)
{
    urma_user_tseg there = {
        .attr = TOKEN_POLICY, .token = { ref->token },
        .token_id = ref->token_id == URPC_ANY_TOKEN_ID ? j->conf.peer_token_id
                                                       : ref->token_id,
    };
    urma_sge far = { .addr = ref->address, .len = len, .user_tseg = &there };
    urma_sge near = { .addr = (uintptr_t)local, .len = len,
                      .tseg = j->conf.seg };
    /* Who waits for an immediate is the peer; another would take it for its own. */
    urma_target_jetty *to = imm && ref->eid_index ? NULL : target_of(j, ref);
    bool in = opcode == URMA_WR_READ;
    urma_jfs_wr wr = {
        .opcode = opcode,
        .rw = { .src = { in ? &far : &near, 1 }, .dst = { in ? &near : &far, 1 },
                .notify_data = imm ? *imm : 0 },
    };

    if (!to || !post(j, &wr, to, WORK_MOVE, ticket)) {
        return false;
    }
    j->n.moves++;
    return true;
}

static bool jetty_read(void *opaque, uint64_t ticket, void *local,
                       const UrpcRef *ref, uint32_t len)
{
    return move(opaque, ticket, URMA_WR_READ, local, ref, len, NULL);
}

static bool jetty_write(void *opaque, uint64_t ticket, const void *local,
                        const UrpcRef *ref, uint32_t len, const uint64_t *imm)
{
    return move(opaque, ticket, imm ? URMA_WR_WRITE_IMM : URMA_WR_WRITE, local,
                ref, len, imm);
}

const UrpcOps urpc_jetty_ops = {
    .send = jetty_send, .read = jetty_read, .write = jetty_write,
    .mem_get = jetty_mem_get, .mem_put = jetty_mem_put,
};

/* ---- Completions ------------------------------------------------------------------ */

/* What was checked must stay as it is: the peer may be able to Write to the segment, so
 * that a message is read from a copy. */
static void message_received(UrpcJetty *j, Urpc *u, int64_t now, uint32_t i,
                             uint32_t len)
{
    memcpy(j->message, receive_at(j, i), len);
    urpc_rx(u, now, j->message, len);
}

/* An entry that failed is not posted again: in a jetty that flushes it would fail at once,
 * without end. */
static void received(UrpcJetty *j, Urpc *u, int64_t now, const urma_cr *cr)
{
    uint32_t i = cr->user_ctx;
    /* What was written with an immediate is not in the entry. */
    bool message = cr->opcode != URMA_CR_WRITE_IMM;

    if (cr->status != URMA_CR_SUCCESS ||
        (message && cr->completion_len > j->conf.message_max)) {
        j->n.failed_receives++;
        j->broken = true;
        return;
    }
    if (message) {
        j->n.received++;
        message_received(j, u, now, i, cr->completion_len);
    } else {
        j->n.immediates++;
        urpc_immediate(u, now, cr->imm_data);
    }
    receive_post(j, i);
}

static void completed(UrpcJetty *j, Urpc *u, int64_t now, const urma_cr *cr)
{
    bool good = cr->status == URMA_CR_SUCCESS;
    uint32_t number = cr->user_ctx;

    switch ((Work)(cr->user_ctx >> 32)) {
    case WORK_RECEIVE:
        received(j, u, now, cr);
        break;
    case WORK_SEND:
        j->n.failed_sends += !good;
        j->idle[j->idle_count++] = number;
        break;
    case WORK_MOVE:
        j->n.failed_moves += !good;
        urpc_moved(u, now, number, good);
        break;
    }
}

int urpc_jetty_poll(UrpcJetty *j, Urpc *u, int64_t now)
{
    urma_cr cr[BATCH];
    int n = j->conf.calls.poll(j->conf.jfc, BATCH, cr);

    for (int i = 0; i < n; i++) {
        completed(j, u, now, &cr[i]);
    }
    return j->broken || n < 0 ? -1 : n;
}
