/*
 * The carrier over jetties, against queues that are arrays: what it posts, what it does with
 * completions, good and bad.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "jetty.h"
#include "samples.h"

enum {
    MESSAGE = 1024, RECEIVES = 12, SENDS = 4, HEAP_PAGES = 6,
    LEN = (RECEIVES + SENDS) * MESSAGE + HEAP_PAGES * 4096,
    TOKEN_ID = 0x1234, TOKEN = 0x55667788, QUEUE = 64,
};

/* One of two sides; each is the other's peer. */
typedef struct Side {
    urma_jetty jetty;
    urma_jfc jfc;
    urma_target_jetty peer, third;
    urma_target_jetty *others[2];
    urma_target_seg seg;
    uint8_t *buf;
    UrpcJetty *j;
    Urpc *u;
    UrpcFunctions *fns;
    urma_sge recv[QUEUE];
    uint64_t recv_ctx[QUEUE];
    unsigned recv_first, recv_count;
    urma_cr cr[QUEUE];
    unsigned cr_first, cr_count;
    bool refuse_recv, refuse_send, poll_fails;
    uint32_t next_status;       /* of the next request */
    urma_jfs_wr last;
    urma_user_tseg last_tseg;
    unsigned sent;
} Side;

static Side side[2];

static Side *other(Side *s)
{
    return &side[s == &side[0]];
}

static void complete(Side *s, urma_cr cr)
{
    g_assert_cmpuint(s->cr_count, <, QUEUE);
    s->cr[(s->cr_first + s->cr_count++) % QUEUE] = cr;
}

static Side *side_of(const urma_jetty *jetty)
{
    return &side[jetty == &side[1].jetty];
}

static int post_recv(urma_jetty *jetty, urma_jfr_wr *wr, urma_jfr_wr **bad)
{
    Side *s = side_of(jetty);
    unsigned at = (s->recv_first + s->recv_count) % QUEUE;

    if (s->refuse_recv) {
        return ENOMEM;
    }
    g_assert(s->recv_count < QUEUE && wr->src.num_sge == 1 &&
             wr->src.sge->tseg == &s->seg);
    s->recv[at] = *wr->src.sge;
    s->recv_ctx[at] = wr->user_ctx;
    s->recv_count++;
    return 0;
}

/* A message reaches a receive entry; or an immediate (no @p), with which @len bytes were
 * written elsewhere. */
static void deliver(Side *to, const void *p, uint32_t len, uint32_t opcode,
                    uint64_t imm)
{
    g_assert_cmpuint(to->recv_count, >, 0);
    if (p) {
        g_assert_cmpuint(len, <=, to->recv[to->recv_first].len);
        memcpy((void *)(uintptr_t)to->recv[to->recv_first].addr, p, len);
    }
    complete(to, (urma_cr) { .user_ctx = to->recv_ctx[to->recv_first],
                             .flag = URMA_CR_RECEIVE, .opcode = opcode,
                             .completion_len = len, .imm_data = imm });
    to->recv_first = (to->recv_first + 1) % QUEUE;
    to->recv_count--;
}

static void carry(Side *s, const urma_jfs_wr *wr)
{
    const urma_sge *src = wr->opcode == URMA_WR_SEND ? wr->send.src.sge
                                                     : wr->rw.src.sge;
    const urma_sge *dst = wr->rw.dst.sge;

    if (wr->opcode == URMA_WR_SEND) {
        deliver(other(s), (void *)(uintptr_t)src->addr, src->len, URMA_CR_SEND, 0);
        return;
    }
    g_assert_cmpuint(src->len, ==, dst->len);
    memcpy((void *)(uintptr_t)dst->addr, (void *)(uintptr_t)src->addr, src->len);
    if (wr->opcode == URMA_WR_WRITE_IMM) {
        deliver(other(s), NULL, src->len, URMA_CR_WRITE_IMM, wr->rw.notify_data);
    }
}

static int post_send(urma_jetty *jetty, urma_jfs_wr *wr, urma_jfs_wr **bad)
{
    Side *s = side_of(jetty);
    uint32_t status = s->next_status;
    const urma_sge *far = wr->opcode == URMA_WR_READ ? wr->rw.src.sge
                                                     : wr->rw.dst.sge;

    if (s->refuse_send) {
        return ENOMEM;
    }
    g_assert(wr->flag == URMA_WR_COMPLETE);
    g_assert(wr->tjetty == &s->peer ||
             (wr->opcode != URMA_WR_SEND && wr->tjetty == &s->third));
    s->sent++;
    s->last = *wr;
    if (wr->opcode != URMA_WR_SEND) {
        g_assert(!far->tseg && far->user_tseg);
        s->last_tseg = *far->user_tseg;
    }
    s->next_status = 0;
    if (!status) {
        carry(s, wr);
    }
    complete(s, (urma_cr) { .user_ctx = wr->user_ctx, .status = status });
    return 0;
}

static int poll(urma_jfc *jfc, int n, urma_cr *cr)
{
    Side *s = &side[jfc == &side[1].jfc];
    int i = 0;

    if (s->poll_fails) {
        return -EIO;
    }
    for (; i < n && s->cr_count; i++, s->cr_count--) {
        cr[i] = s->cr[s->cr_first];
        s->cr_first = (s->cr_first + 1) % QUEUE;
    }
    return i;
}

static UrpcJettyConfig jetty_conf(Side *s)
{
    return (UrpcJettyConfig) {
        .calls = { post_send, post_recv, poll }, .jetty = &s->jetty,
        .jfc = &s->jfc, .peer = &s->peer, .seg = &s->seg, .buf = s->buf,
        .len = LEN, .message_max = MESSAGE, .receives = RECEIVES,
        .sends = SENDS, .peer_token_id = TOKEN_ID,
        .others = s->others, .others_count = 2,
    };
}

static void sides_open(void)
{
    UrpcConfig conf = { .depth = 4, .message_max = MESSAGE, .gather = 1,
                        .args_max = 1 << 20, .timeout = 100, .channel = 5 };

    memset(side, 0, sizeof(side));
    for (Side *s = side; s < side + 2; s++) {
        UrpcJettyConfig c;

        s->buf = g_malloc(LEN);
        s->others[0] = &s->peer;
        s->others[1] = &s->third;
        c = jetty_conf(s);
        s->j = urpc_jetty_new(&c);
        g_assert_nonnull(s->j);
        g_assert_cmpuint(s->recv_count, ==, RECEIVES);
        s->fns = urpc_functions_new(URPC_UNIT_STORAGE, 8);
        g_assert_cmpint(sample_echo_add(s->fns, URPC_UNIT_STORAGE), ==, 0);
        s->u = urpc_new(&conf, &urpc_jetty_ops, s->j, s->fns);
        g_assert_nonnull(s->u);
    }
}

static void sides_close(void)
{
    for (Side *s = side; s < side + 2; s++) {
        urpc_free(s->u);
        urpc_jetty_free(s->j);
        urpc_functions_free(s->fns);
        g_free(s->buf);
    }
}

/* Until nothing comes any more. */
static void turns(int64_t now)
{
    int n;

    do {
        n = 0;
        for (Side *s = side; s < side + 2; s++) {
            int got = urpc_jetty_poll(s->j, s->u, now);

            g_assert_cmpint(got, >=, 0);
            n += got;
            urpc_run(s->u, now);
        }
    } while (n);
}

typedef struct Got {
    unsigned done;
    uint8_t status;
    uint32_t len;
    uint8_t data[MESSAGE];
} Got;

static void done(void *opaque, const UrpcResult *r)
{
    Got *got = opaque;

    got->done++;
    got->status = r->status;
    got->len = r->len;
    if (r->len) {
        memcpy(got->data, r->data, r->len);
    }
}

static UrpcArgs echo(const void *p, uint32_t len, Got *got)
{
    *got = (Got) { 0 };
    return (UrpcArgs) {
        .function = URPC_FUNCTION(URPC_UNIT_STORAGE, 0, SAMPLE_ECHO), .data = p,
        .len = len, .done = done, .opaque = got,
    };
}

/* ---- Messages ----------------------------------------------------------------------- */

static void test_messages(void)
{
    Got got;

    sides_open();
    for (unsigned i = 0; i < 500; i++) {
        g_autofree char *text = g_strdup_printf("message %u", i);
        UrpcArgs args = echo(text, strlen(text), &got);

        args.ack = i & 1;
        g_assert_cmpint(urpc_call(side[i % 2].u, 0, &args, NULL), ==, 0);
        turns(0);
        g_assert(got.done == 1 && got.status == URPC_OK);
        g_assert_cmpmem(got.data, got.len, text, strlen(text));
    }
    /* Each entry came back: 500 requests, 500 responses, 250 acks. */
    g_assert_cmpuint(urpc_jetty_counters(side[0].j)->received +
                     urpc_jetty_counters(side[1].j)->received, ==, 1250);
    g_assert_cmpuint(side[0].recv_count, ==, RECEIVES);
    g_assert_cmpuint(side[1].recv_count, ==, RECEIVES);
    sides_close();
}

/* A send whose place is not free yet, or whose queue is full, is tried again. */
static void test_places(void)
{
    uint8_t p[MESSAGE + 1] = { 0x1f };
    Got got;
    UrpcArgs args = echo("x", 1, &got);

    sides_open();
    g_assert(!urpc_jetty_ops.send(side[0].j, p, sizeof(p)));
    side[0].refuse_send = true;
    g_assert_cmpint(urpc_call(side[0].u, 0, &args, NULL), ==, EAGAIN);
    side[0].refuse_send = false;
    for (unsigned i = 0; i < SENDS; i++) {
        g_assert(urpc_jetty_ops.send(side[0].j, p, MESSAGE));
    }
    g_assert_cmpint(urpc_call(side[0].u, 0, &args, NULL), ==, EAGAIN);
    turns(0);
    g_assert_cmpuint(urpc_counters(side[1].u)->malformed, ==, SENDS);
    g_assert_cmpint(urpc_call(side[0].u, 0, &args, NULL), ==, 0);
    turns(0);
    g_assert_cmpuint(got.done, ==, 1);
    sides_close();
}

/* ---- Memory of the peer --------------------------------------------------------------- */

static void test_moves(void)
{
    uint8_t data[5000];
    UrpcDma dma[2] = { { (uintptr_t)data, 300, TOKEN },
                       { (uintptr_t)data + 1000, 400, TOKEN } };
    Got got;
    UrpcArgs args = echo("ab", 2, &got);

    for (unsigned i = 0; i < sizeof(data); i++) {
        data[i] = i * 7;
    }
    sides_open();
    args.dma = dma;
    args.dma_count = 2;
    g_assert_cmpint(urpc_call(side[0].u, 0, &args, NULL), ==, 0);
    turns(0);
    g_assert_cmpuint(got.status, ==, URPC_OK);
    g_assert_cmpuint(got.len, ==, 702);
    g_assert_cmpmem(got.data + 2, 300, data, 300);
    g_assert_cmpmem(got.data + 302, 400, data + 1000, 400);
    g_assert_cmpuint(urpc_jetty_counters(side[1].j)->moves, ==, 2);
    g_assert(side[1].last_tseg.token_id == TOKEN_ID &&
             side[1].last_tseg.token.token == TOKEN &&
             side[1].last_tseg.attr & 1);
    sides_close();
}

static void test_move_fails(void)
{
    uint8_t data[10] = { 0 };
    UrpcDma dma = { (uintptr_t)data, 10, TOKEN };
    Got got;
    UrpcArgs args = echo("ab", 2, &got);

    sides_open();
    args.dma = &dma;
    args.dma_count = 1;
    side[1].next_status = URMA_CR_REMOTE_UNSUPPORTED;
    g_assert_cmpint(urpc_call(side[0].u, 0, &args, NULL), ==, 0);
    turns(0);
    g_assert(got.done == 1 && got.status == URPC_REFUSED);
    g_assert_cmpuint(urpc_jetty_counters(side[1].j)->failed_moves, ==, 1);
    /* No place in the queue is no Read. */
    g_assert_cmpint(urpc_call(side[0].u, 0, &args, NULL), ==, 0);
    side[1].refuse_send = true;
    g_assert_cmpint(urpc_jetty_poll(side[1].j, side[1].u, 0), ==, 1);
    side[1].refuse_send = false;
    turns(0);
    g_assert(got.done == 2 && got.status == URPC_REFUSED);
    sides_close();
}

static void test_refs(void)
{
    static uint8_t big[2 * (MESSAGE + 1)];
    uint8_t data[10] = "012345678";
    UrpcRef ref = { (uintptr_t)data, TOKEN, 0x777, 0 }, to_big;
    uint64_t imm = 0x1122334455667788;

    sides_open();
    /* What is told counts. */
    g_assert(urpc_jetty_ops.write(side[0].j, 3, "abc", &ref, 3, NULL));
    g_assert_cmpmem(data, 4, "abc3", 4);
    g_assert(side[0].last_tseg.token_id == 0x777 &&
             side[0].last.opcode == URMA_WR_WRITE);
    g_assert(urpc_jetty_ops.write(side[0].j, 3, "def", &ref, 3, &imm));
    g_assert(side[0].last.opcode == URMA_WR_WRITE_IMM &&
             side[0].last.rw.notify_data == imm);
    turns(0);
    g_assert_cmpuint(urpc_jetty_counters(side[1].j)->immediates, ==, 1);
    g_assert_cmpuint(urpc_counters(side[1].u)->stray, ==, 1);
    g_assert_cmpuint(side[1].recv_count, ==, RECEIVES);
    /* As much as no message may have. */
    to_big = (UrpcRef) { (uintptr_t)(big + sizeof(big) / 2), TOKEN, 0x777, 0 };
    g_assert(urpc_jetty_ops.write(side[0].j, 3, big, &to_big, MESSAGE + 1, &imm));
    turns(0);
    g_assert_cmpuint(urpc_jetty_counters(side[1].j)->immediates, ==, 2);
    g_assert_cmpuint(urpc_jetty_counters(side[1].j)->failed_receives, ==, 0);
    g_assert_cmpuint(side[1].recv_count, ==, RECEIVES);
    /* Third nodes: by their index, if that is one, and if a TokenID is told. */
    ref.eid_index = 2;
    g_assert(urpc_jetty_ops.read(side[0].j, 3, data, &ref, 3));
    g_assert(side[0].last.tjetty == &side[0].third &&
             side[0].last_tseg.token_id == 0x777);
    g_assert(urpc_jetty_ops.write(side[0].j, 3, "ghi", &ref, 3, NULL));
    g_assert(side[0].last.tjetty == &side[0].third);
    ref.eid_index = 1;
    g_assert(urpc_jetty_ops.read(side[0].j, 3, data, &ref, 3));
    g_assert(side[0].last.tjetty == &side[0].peer);
    /* An immediate is for the peer alone. */
    g_assert(!urpc_jetty_ops.write(side[0].j, 3, "jkl", &ref, 3, &imm));
    ref.eid_index = 3;
    g_assert(!urpc_jetty_ops.read(side[0].j, 3, data, &ref, 3));
    ref.eid_index = 2;
    ref.token_id = URPC_ANY_TOKEN_ID;
    g_assert(!urpc_jetty_ops.read(side[0].j, 3, data, &ref, 3));
    turns(0);
    sides_close();
}

/* ---- Peers that Write to the segment -------------------------------------------------- */

static unsigned spoilt;

/* As soon as a call is over, the offsets that the message told are others: a peer that has
 * the token of the segment Writes them. */
static void done_spoils(void *opaque, const UrpcResult *r)
{
    done(opaque, r);
    spoilt++;
    memset(side[0].buf, 0xff, RECEIVES * MESSAGE);
}

static void test_changed(void)
{
    static const char *const texts[] = { "one", "two", "three" };
    uint8_t p[MESSAGE] = { 0 };
    UrpcResponse h = { .version = URPC_VERSION, .type = URPC_RESPONSE, .range = 3,
                       .channel = 5, .total = URPC_RESPONSE_SIZE + 11 };
    Got got[3];

    sides_open();
    spoilt = 0;
    for (unsigned i = 0; i < 3; i++) {
        UrpcArgs args = echo("x", 1, &got[i]);

        args.done = done_spoils;
        g_assert_cmpint(urpc_call(side[0].u, 0, &args, &h.id), ==, 0);
    }
    urpc_put(URPC_LITTLE, URPC_KIND_RESPONSE, p, &h);
    urpc_put_number(URPC_LITTLE, p + URPC_RESPONSE_SIZE, 4, 3);
    urpc_put_number(URPC_LITTLE, p + URPC_RESPONSE_SIZE + 4, 4, 6);
    memcpy(p + URPC_RESPONSE_SIZE + 8, "onetwothree", 11);
    g_assert(urpc_jetty_ops.send(side[1].j, p, URPC_RESPONSE_SIZE + 8 + 11));
    turns(0);
    g_assert_cmpuint(spoilt, ==, 3);
    for (unsigned i = 0; i < 3; i++) {
        g_assert(got[i].done == 1 && got[i].status == URPC_OK);
        g_assert_cmpmem(got[i].data, got[i].len, texts[i], strlen(texts[i]));
    }
    sides_close();
}

/* ---- Queues that fail ------------------------------------------------------------------ */

static void test_failures(void)
{
    Got got;
    UrpcArgs args = echo("x", 1, &got);

    sides_open();
    for (unsigned i = 0; i < 2 * SENDS; i++) {
        side[0].next_status = URMA_CR_RNR;
        g_assert_cmpint(urpc_call(side[0].u, 0, &args, NULL), ==, 0);
        turns(0);
        urpc_run(side[0].u, 100);
        g_assert(got.done == i + 1 && got.status == URPC_TIMEOUT);
    }
    g_assert_cmpuint(urpc_jetty_counters(side[0].j)->failed_sends, ==, 2 * SENDS);
    side[0].poll_fails = true;
    g_assert_cmpint(urpc_jetty_poll(side[0].j, side[0].u, 0), ==, -1);
    side[0].poll_fails = false;
    g_assert_cmpint(urpc_jetty_poll(side[0].j, side[0].u, 0), ==, 0);
    side[1].refuse_recv = true;
    g_assert_cmpint(urpc_call(side[0].u, 0, &args, NULL), ==, 0);
    g_assert_cmpint(urpc_jetty_poll(side[1].j, side[1].u, 0), ==, -1);
    sides_close();
}

/* Entries that a jetty gives up are not posted again, to be given up again. */
static void receive_fails(uint32_t status, uint32_t len)
{
    sides_open();
    for (unsigned i = 0; i < RECEIVES; i++) {
        complete(&side[1], (urma_cr) { .status = status, .completion_len = len,
                                       .user_ctx = side[1].recv_ctx[i],
                                       .flag = URMA_CR_RECEIVE });
    }
    side[1].recv_count = 0;
    g_assert_cmpint(urpc_jetty_poll(side[1].j, side[1].u, 0), ==, -1);
    g_assert_cmpuint(side[1].recv_count, ==, 0);
    g_assert_cmpuint(urpc_jetty_counters(side[1].j)->failed_receives, ==,
                     RECEIVES);
    g_assert_cmpuint(urpc_jetty_counters(side[1].j)->received, ==, 0);
    g_assert_cmpint(urpc_jetty_poll(side[1].j, side[1].u, 0), ==, -1);
    sides_close();
}

static void test_receive_fails(void)
{
    receive_fails(URMA_CR_FLUSHED, 0);
    receive_fails(URMA_CR_LOCAL_LENGTH, 0);
    /* More than the entry had room for. */
    receive_fails(URMA_CR_SUCCESS, MESSAGE + 1);
}

/* ---- Memory ------------------------------------------------------------------------------ */

static void test_memory(void)
{
    UrpcJettyConfig c;
    uint8_t *p[HEAP_PAGES], *q, *heap;
    UrpcJetty *j;

    sides_open();
    j = side[0].j;
    heap = side[0].buf + (RECEIVES + SENDS) * MESSAGE;
    g_assert_null(urpc_jetty_ops.mem_get(j, 0));
    g_assert_null(urpc_jetty_ops.mem_get(j, HEAP_PAGES * 4096 + 1));
    g_assert_null(urpc_jetty_ops.mem_get(j, UINT32_MAX));
    q = urpc_jetty_ops.mem_get(j, HEAP_PAGES * 4096);
    g_assert(q == heap);
    g_assert_null(urpc_jetty_ops.mem_get(j, 1));
    urpc_jetty_ops.mem_put(j, q, HEAP_PAGES * 4096);
    for (unsigned i = 0; i < HEAP_PAGES; i++) {
        p[i] = urpc_jetty_ops.mem_get(j, i & 1 ? 1 : 4096);
        g_assert(p[i] == heap + 4096 * i);
    }
    g_assert_null(urpc_jetty_ops.mem_get(j, 1));
    /* Two pages that are not neighbours are not two pages. */
    urpc_jetty_ops.mem_put(j, p[1], 1);
    urpc_jetty_ops.mem_put(j, p[3], 1);
    g_assert_null(urpc_jetty_ops.mem_get(j, 4097));
    urpc_jetty_ops.mem_put(j, p[4], 4096);
    g_assert(urpc_jetty_ops.mem_get(j, 4097) == p[3]);
    g_assert(urpc_jetty_ops.mem_get(j, 4096) == p[1]);
    c = jetty_conf(&side[0]);
    c.len = (RECEIVES + SENDS) * MESSAGE - 1;
    g_assert_null(urpc_jetty_new(&c));
    sides_close();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urpc/jetty/messages", test_messages);
    g_test_add_func("/urpc/jetty/places", test_places);
    g_test_add_func("/urpc/jetty/moves", test_moves);
    g_test_add_func("/urpc/jetty/move-fails", test_move_fails);
    g_test_add_func("/urpc/jetty/refs", test_refs);
    g_test_add_func("/urpc/jetty/changed", test_changed);
    g_test_add_func("/urpc/jetty/failures", test_failures);
    g_test_add_func("/urpc/jetty/receive-fails", test_receive_fails);
    g_test_add_func("/urpc/jetty/memory", test_memory);
    return g_test_run();
}
