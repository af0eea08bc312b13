/*
 * URPC between two guests, over jetties: echo, logs, four nodes together.
 *
 *   urpc-drive serve                  one client after another
 *   urpc-drive test HOST NAME...      cases against a server; "self": with itself (not
 *                                     the case "collective")
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "collective.h"
#include "jetty.h"
#include "samples.h"
#include "urma-end.h"

#define PORT 7473
#define UNIT URPC_UNIT_STORAGE
#define CARRIER_AT (2u << 20)   /* the second half of the segment is the carrier's */
#define MESSAGE_MAX 8192u
#define DEPTH 8u
#define RECEIVES 56u
#define SENDS 32u
#define ARGS_MAX (1u << 20)
#define LOG_MAX (2u << 20)
#define SECOND 1000000000ll

enum { METHOD_BOTH = 0x30 };

/* An end with all that it stands on. */
typedef struct Node {
    End end;
    UrpcJetty *jetty;
    Urpc *u;
    UrpcFunctions *fns;
    LogStore *logs;
} Node;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

/* ---- Functions -------------------------------------------------------------------- */

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

static void node_open(Node *n)
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
static void node_make(Node *n)
{
    UrpcFunction both = { .function = URPC_FUNCTION(UNIT, 0, METHOD_BOTH),
                          .name = "both", .run = both_run };

    node_open(n);
    n->fns = urpc_functions_new(UNIT, 16);
    n->logs = log_store_new(LOG_MAX, 4096);
    END_MUST(n->fns && n->logs);
    END_MUST(!sample_echo_add(n->fns, UNIT));
    END_MUST(!log_store_add(n->logs, n->fns, UNIT));
    END_MUST(!urpc_functions_add(n->fns, &both));
}

static void node_join(Node *n, const EndAddress *peer, uint32_t channel,
                      UrpcFunctions *fns)
{
    UrpcJettyConfig c = {
        .calls = { n->end.ops->post_jetty_send_wr,
                   n->end.ops->post_jetty_recv_wr, n->end.ops->poll_jfc },
        .jetty = n->end.jetty, .jfc = n->end.jfc, .seg = n->end.seg,
        .buf = n->end.buf + CARRIER_AT, .len = END_BUF - CARRIER_AT,
        .message_max = MESSAGE_MAX, .receives = RECEIVES, .sends = SENDS,
        .peer_token_id = peer->seg.token_id,
    };
    UrpcConfig conf = {
        .channel = channel, .depth = DEPTH, .message_max = MESSAGE_MAX,
        .args_max = ARGS_MAX, .timeout = 100 * SECOND, .gather = 4,
        .gather_time = SECOND / 10000,
    };

    end_import(&n->end, peer, END_TOKEN);
    c.peer = n->end.peer;
    n->jetty = urpc_jetty_new(&c);
    END_MUST(n->jetty);
    n->u = urpc_new(&conf, &urpc_jetty_ops, n->jetty, fns);
    END_MUST(n->u);
}

static void node_turn(Node *n)
{
    END_MUST(urpc_jetty_poll(n->jetty, n->u, now()) >= 0);
    urpc_run(n->u, now());
}

/* The queues go first: then nothing is under way. */
static void node_close(Node *n)
{
    end_close(&n->end);
    urpc_free(n->u);
    urpc_jetty_free(n->jetty);
    urpc_functions_free(n->fns);
    log_store_free(n->logs);
}

/* ---- Four nodes together: two here, two there ----------------------------------------- */

enum { HERE = 2, RANKS = 2 * HERE, ELEMENTS = 500, LAPS = 40 };

typedef struct Group {
    unsigned first;             /* our ranks: this one and the next */
    UrpcFunctions *fns[HERE];
    Node node[HERE][RANKS];
    Coll *coll[HERE];
    unsigned over;              /* operations of ours that have ended */
} Group;

static void group_open(Group *g, unsigned first, EndAddress mine[HERE][RANKS])
{
    memset(g, 0, sizeof(*g));
    g->first = first;
    for (unsigned i = 0; i < HERE; i++) {
        g->fns[i] = urpc_functions_new(UNIT, 4);
        END_MUST(g->fns[i]);
        for (unsigned rank = 0; rank < RANKS; rank++) {
            if (rank != first + i) {
                node_open(&g->node[i][rank]);
                end_address(&g->node[i][rank].end, &mine[i][rank]);
            }
        }
    }
}

static void group_join(Group *g, EndAddress mine[HERE][RANKS],
                       EndAddress peers[HERE][RANKS])
{
    for (unsigned i = 0; i < HERE; i++) {
        Urpc *ends[RANKS] = { NULL };

        for (unsigned rank = 0; rank < RANKS; rank++) {
            bool local = rank / HERE == g->first / HERE;

            if (rank != g->first + i) {
                node_join(&g->node[i][rank],
                          &(local ? mine : peers)[rank % HERE][g->first + i],
                          (g->first + i) << 8 | rank, g->fns[i]);
                ends[rank] = g->node[i][rank].u;
            }
        }
        g->coll[i] = coll_new(UNIT, g->first + i, RANKS, ends, g->fns[i],
                              ELEMENTS);
        END_MUST(g->coll[i]);
    }
}

static void group_turn(Group *g)
{
    for (unsigned i = 0; i < HERE; i++) {
        for (unsigned rank = 0; rank < RANKS; rank++) {
            if (rank != g->first + i) {
                node_turn(&g->node[i][rank]);
            }
        }
        coll_run(g->coll[i], now());
    }
}

static void group_over(void *opaque, UrpcStatus status)
{
    Group *g = opaque;

    if (status != URPC_OK) {
        end_die("operation %u ended with status %u", g->over, status);
    }
    g->over++;
}

static void group_await(Group *g, unsigned over)
{
    while (g->over < over) {
        group_turn(g);
    }
}

static void group_close(Group *g)
{
    for (unsigned i = 0; i < HERE; i++) {
        coll_free(g->coll[i]);
        for (unsigned rank = 0; rank < RANKS; rank++) {
            if (rank != g->first + i) {
                node_close(&g->node[i][rank]);
            }
        }
        urpc_functions_free(g->fns[i]);
    }
}

/* What a member gives, and what all of them get. */
static uint64_t element(unsigned lap, unsigned rank, unsigned k)
{
    return (lap + 1) * 0x123456789abcdefull + rank * 1000003ull + k;
}

static void group_lap(Group *g, unsigned lap, uint64_t data[HERE][ELEMENTS])
{
    unsigned root = lap % RANKS;

    for (unsigned i = 0; i < HERE; i++) {
        for (unsigned k = 0; k < ELEMENTS; k++) {
            data[i][k] = element(lap, g->first + i, k);
        }
        END_MUST(!coll_all_reduce(g->coll[i], now(), data[i], ELEMENTS,
                                  group_over, g));
    }
    group_await(g, 6 * lap + 2);
    for (unsigned i = 0; i < HERE; i++) {
        for (unsigned k = 0; k < ELEMENTS; k++) {
            uint64_t sum = 0;

            for (unsigned rank = 0; rank < RANKS; rank++) {
                sum += element(lap, rank, k);
            }
            END_MUST(data[i][k] == sum);
            data[i][k] = g->first + i == root ? element(lap, 9, k) : 0;
        }
        END_MUST(!coll_broadcast(g->coll[i], now(), root, data[i], ELEMENTS,
                                 group_over, g));
    }
    group_await(g, 6 * lap + 4);
    for (unsigned i = 0; i < HERE; i++) {
        for (unsigned k = 0; k < ELEMENTS; k++) {
            END_MUST(data[i][k] == element(lap, 9, k));
        }
        END_MUST(!coll_barrier(g->coll[i], now(), group_over, g));
    }
    group_await(g, 6 * lap + 6);
}

static void group_run(int fd, unsigned first)
{
    static Group g;
    static EndAddress mine[HERE][RANKS], peers[HERE][RANKS];
    static uint64_t data[HERE][ELEMENTS];
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char joined;

    group_open(&g, first, mine);
    end_say(fd, mine, sizeof(mine));
    END_MUST(end_hear(fd, peers, sizeof(peers)));
    group_join(&g, mine, peers);
    /* Nobody sends before there is a place for it at the other end: a message that
     * finds none is tried again for no more than 60 ms. */
    end_say(fd, "", 1);
    END_MUST(end_hear(fd, &joined, 1));
    for (unsigned lap = 0; lap < LAPS; lap++) {
        group_lap(&g, lap, data);
    }
    /* What we have to answer is answered when the others say that they are through. */
    end_say(fd, "", 1);
    while (poll(&p, 1, 0) == 0) {
        group_turn(&g);
    }
    END_MUST(coll_refused(g.coll[0]) == 0 && coll_refused(g.coll[1]) == 0);
    group_close(&g);
}

/* ---- The server --------------------------------------------------------------------- */

static void serve_client(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    EndAddress mine, peer;
    uint32_t together;
    Node n;

    if (!end_hear(fd, &together, sizeof(together))) {
        close(fd);
        return;
    }
    if (together) {
        group_run(fd, HERE);
        close(fd);
        return;
    }
    END_MUST(end_hear(fd, &peer, sizeof(peer)));
    node_make(&n);
    node_join(&n, &peer, 0x5e5e5e, n.fns);
    end_address(&n.end, &mine);
    end_say(fd, &mine, sizeof(mine));
    while (poll(&p, 1, 0) == 0) {
        for (unsigned i = 0; i < 1000; i++) {
            node_turn(&n);
        }
    }
    /* What is under way ends, with an error if need be. */
    while (urpc_serving(n.u)) {
        node_turn(&n);
    }
    node_close(&n);
    close(fd);
}

/* ---- The client ----------------------------------------------------------------------- */

/* Both ends in one process ("self"), or the other by its socket. */
typedef struct Link {
    Node n, other;
    int fd;
} Link;

static void link_open(Link *l, const char *host)
{
    EndAddress mine, peer;

    l->fd = strcmp(host, "self") ? end_dial(host, PORT) : -1;
    node_make(&l->n);
    end_address(&l->n.end, &mine);
    if (l->fd < 0) {
        node_make(&l->other);
        end_address(&l->other.end, &peer);
        node_join(&l->other, &mine, 0x5e5e5e, l->other.fns);
    } else {
        end_say(l->fd, &(uint32_t) { 0 }, sizeof(uint32_t));
        end_say(l->fd, &mine, sizeof(mine));
        END_MUST(end_hear(l->fd, &peer, sizeof(peer)));
    }
    node_join(&l->n, &peer, 0xc11e47, l->n.fns);
}

static void link_turn(Link *l)
{
    node_turn(&l->n);
    if (l->fd < 0) {
        node_turn(&l->other);
    }
}

static void link_close(Link *l)
{
    if (l->fd < 0) {
        node_close(&l->other);
    } else {
        close(l->fd);
    }
    node_close(&l->n);
}

typedef struct Outcome {
    bool done, released;
    uint8_t status;
    bool local;
    uint32_t len;
    uint8_t data[MESSAGE_MAX];
    UrpcPlogAnswer a;
    LogHead head;
} Outcome;

static void call_released(void *opaque, uint32_t id)
{
    Outcome *o = opaque;

    END_MUST(!o->done && !o->released);
    o->released = true;
}

static void call_done(void *opaque, const UrpcResult *r)
{
    Outcome *o = opaque;

    END_MUST(!o->done);
    o->done = true;
    o->status = r->status;
    o->local = r->local;
    o->len = r->len;
    memcpy(o->data, r->data ? r->data : "", r->len);
    if (urpc_plog_answer(r, &o->a) && o->a.user_head_len == LOG_HEAD_SIZE) {
        log_head_get(o->a.user_head, &o->head);
        o->a.data = o->data + (o->a.data - (const uint8_t *)r->data);
    }
}

static void post(Link *l, UrpcArgs args, Outcome *o)
{
    int wrong;

    memset(o, 0, sizeof(*o));
    args.done = call_done;
    args.released = call_released;
    args.opaque = o;
    while ((wrong = urpc_call(l->n.u, now(), &args, NULL)) == EAGAIN) {
        link_turn(l);
    }
    END_MUST(!wrong);
}

/* Each call has an end: by an answer, or by its time-out. */
static void await(Link *l, Outcome *o)
{
    while (!o->done) {
        link_turn(l);
    }
}

static void ask(Link *l, UrpcArgs args, UrpcStatus status, Outcome *o)
{
    post(l, args, o);
    await(l, o);
    if (o->status != status) {
        end_die("status %u%s and not %u", o->status, o->local ? " (local)" : "",
                status);
    }
}

static UrpcArgs args_of(uint32_t method, const void *data, uint32_t len)
{
    return (UrpcArgs) { .function = URPC_FUNCTION(UNIT, 0, method),
                        .data = data, .len = len };
}

static UrpcDma dma_of(Link *l, uint32_t at, uint32_t len)
{
    return (UrpcDma) { (uintptr_t)l->n.end.buf + at, len, END_TOKEN };
}

/* ---- Calls ---------------------------------------------------------------------------- */

static void case_echo(Link *l)
{
    static Outcome o;
    UrpcDma dma[3] = { dma_of(l, 1, 3000), dma_of(l, 9000, 1),
                       dma_of(l, 70000, 4999) };
    UrpcArgs args = args_of(SAMPLE_ECHO, l->n.end.buf, 0);

    end_fill(l->n.end.buf, 100000, 3);
    for (unsigned len = 0; len <= MESSAGE_MAX - 20; len = len * 3 + 1) {
        args.len = len;
        args.ack = len & 1;
        ask(l, args, URPC_OK, &o);
        END_MUST(o.len == len && end_check(o.data, len, 3) == len);
        END_MUST(o.released);
    }
    args = args_of(SAMPLE_ECHO, "said ", 5);
    args.dma = dma;
    args.dma_count = 3;
    args.ack = true;
    ask(l, args, URPC_OK, &o);
    END_MUST(o.len == 8005 && !memcmp(o.data, "said ", 5));
    END_MUST(!memcmp(o.data + 5, l->n.end.buf + 1, 3000));
    END_MUST(o.data[3005] == l->n.end.buf[9000]);
    END_MUST(!memcmp(o.data + 3006, l->n.end.buf + 70000, 4999));
}

/* Many under way; answers of several in a message. */
static void case_many(Link *l)
{
    static Outcome o[DEPTH];
    static char text[DEPTH][20];

    for (unsigned i = 0; i < 3000; i++) {
        Outcome *mine = &o[i % DEPTH];
        UrpcArgs args;

        if (i >= DEPTH) {
            await(l, mine);
            END_MUST(mine->status == URPC_OK);
            END_MUST(mine->len == strlen(text[i % DEPTH]) &&
                     !memcmp(mine->data, text[i % DEPTH], mine->len));
        }
        snprintf(text[i % DEPTH], sizeof(text[0]), "call %u", i);
        args = args_of(SAMPLE_ECHO, text[i % DEPTH], strlen(text[i % DEPTH]));
        args.ack = i % 3 == 0;
        post(l, args, mine);
    }
    for (unsigned i = 0; i < DEPTH; i++) {
        await(l, &o[i]);
    }
    END_MUST(urpc_counters(l->n.u)->timeouts == 0 &&
             urpc_counters(l->n.u)->stray == 0);
}

static void case_both(Link *l)
{
    static Outcome o;

    for (unsigned i = 0; i < 20; i++) {
        ask(l, args_of(METHOD_BOTH, NULL, 0), URPC_OK, &o);
        END_MUST(o.len == 9 && !memcmp(o.data, "back and ", 9));
        END_MUST(urpc_counters(l->n.u)->executed == i + 1);
    }
}

static void case_methods(Link *l)
{
    static Outcome o;
    uint8_t want[6];

    ask(l, args_of(URPC_FIND, "log-read", 8), URPC_OK, &o);
    urpc_put_number(URPC_LITTLE, want, 6,
                    URPC_FUNCTION(UNIT, 0, SAMPLE_LOG_READ));
    END_MUST(o.len == 6 && !memcmp(o.data, want, 6));
    ask(l, args_of(URPC_LIST_PUBLIC, NULL, 0), URPC_OK, &o);
    END_MUST(o.len == 5 * 6);
    ask(l, (UrpcArgs) { .function = (uint64_t)UNIT << 24 | URPC_LIST_CUSTOM },
        URPC_OK, &o);
    END_MUST(o.len == 0);
}

/* ---- Logs ------------------------------------------------------------------------------ */

static void log_ask(Link *l, uint32_t method, LogHead h, UrpcPlogArgs p, Outcome *o)
{
    static uint8_t data[MESSAGE_MAX];
    uint8_t head[LOG_HEAD_SIZE];
    UrpcArgs args = args_of(method, data, 0);

    log_head_put(head, &h);
    p.user_head = head;
    p.user_head_len = sizeof(head);
    args.len = urpc_plog_build(URPC_LITTLE, &p, data,
                               sizeof(data) - URPC_REQUEST_SIZE);
    END_MUST(args.len);
    args.defined = URPC_PLOG;
    args.pieces = p.mode == URPC_WRITE_IMM ? urpc_plog_pieces : NULL;
    ask(l, args, URPC_OK, o);
    END_MUST(o->a.head.mode == p.mode);
}

static UrpcPlogSge sge_of(Link *l, uint32_t at, uint32_t len, uint8_t flag)
{
    return (UrpcPlogSge) {
        .address = (uintptr_t)l->n.end.buf + at, .size = len,
        .token_id = l->n.end.seg->seg.token_id, .token = END_TOKEN,
        .sgl_type = URPC_SGL_DO, .flag = flag,
    };
}

/* Append @len bytes, then read them back, in a pair of modes. */
static void log_round(Link *l, UrpcMode in, UrpcMode out, uint32_t log, uint32_t len)
{
    static Outcome o;
    uint8_t *buf = l->n.end.buf;
    uint32_t half = len / 2, to = 1 << 20;
    UrpcPlogSge r[2] = { sge_of(l, 5, half, URPC_SGE_READ),
                         sge_of(l, 5 + half, len - half, URPC_SGE_READ) };
    UrpcPlogSge w[2] = { sge_of(l, to, half, URPC_SGE_WRITE),
                         sge_of(l, to + half, len - half, URPC_SGE_WRITE) };
    UrpcPlogArgs p = { .mode = in };

    end_fill(buf + 5, len, 100 * in + out);
    if (in != URPC_PUSH) {
        p.sge = r;
        p.count = 2;
    }
    if (in <= URPC_PUSH_PULL) {
        p.data = buf + 5;
        p.len = len;
    }
    log_ask(l, SAMPLE_LOG_APPEND, (LogHead) { log, 0, 0 }, p, &o);
    END_MUST(o.head.log == LOG_OK && o.head.length == len &&
             o.head.offset == len);
    memset(buf + to, 0xee, len + 1);
    p = (UrpcPlogArgs) { .mode = out };
    if (out >= URPC_WRITE) {
        p.sge = w;
        p.count = 2;
    }
    log_ask(l, SAMPLE_LOG_READ, (LogHead) { log, len, 0 }, p, &o);
    END_MUST(o.head.log == LOG_OK && o.head.length == len);
    END_MUST(o.a.head.dma_count == (out == URPC_WRITE_IMM ? 2 : 0));
    if (out < URPC_WRITE) {
        END_MUST(o.a.len == len);
        memcpy(buf + to, o.a.data, len);
    }
    END_MUST(end_check(buf + to, len, 100 * in + out) == len);
    END_MUST(buf[to + len] == 0xee);
}

static void case_log(Link *l)
{
    log_round(l, URPC_PUSH, URPC_PUSH, 0, 100);
    log_round(l, URPC_PUSH_PULL, URPC_PUSH, 1, 4000);   /* pushed */
    log_round(l, URPC_PUSH_PULL, URPC_PUSH, 2, 5000);   /* no room: read */
    log_round(l, URPC_READ, URPC_WRITE, 3, 400001);
    log_round(l, URPC_READ, URPC_WRITE_IMM, 4, 300002);
    log_round(l, URPC_READ_WRITE, URPC_READ_WRITE, 5, 70003);
    log_round(l, URPC_PUSH, URPC_WRITE_IMM, 6, 7);
    END_MUST(urpc_jetty_counters(l->n.jetty)->immediates == 4);
}

/* ---- What must be refused ---------------------------------------------------------------- */

static void case_refused(Link *l)
{
    static Outcome o;
    UrpcArgs args = args_of(0x7777, NULL, 0);
    UrpcDma dma = dma_of(l, 0, 64);

    ask(l, args, URPC_NO_FUNCTION, &o);
    /* A TokenValue that opens nothing; memory that is not ours to give. */
    args = args_of(SAMPLE_ECHO, NULL, 0);
    args.dma = &dma;
    args.dma_count = 1;
    dma.token++;
    ask(l, args, URPC_REFUSED, &o);
    dma = dma_of(l, END_BUF - 3, 64);
    ask(l, args, URPC_REFUSED, &o);
    dma = dma_of(l, 0, ARGS_MAX + 1);
    ask(l, args, URPC_NO_BUFFER, &o);
    args = args_of(SAMPLE_ECHO, NULL, 0);
    args.defined = URPC_PLOG;
    ask(l, args, URPC_BAD_HEAD, &o);
    /* And all goes on. */
    case_echo(l);
}

/* Messages that are none, from a generator: what is a request is answered, nothing breaks. */
static void case_hostile(Link *l)
{
    static Outcome o;
    uint8_t p[64];
    uint32_t x = 12345;

    for (unsigned i = 0; i < 2000; i++) {
        unsigned len = i % sizeof(p) + 1;

        for (unsigned k = 0; k < len; k++) {
            x = x * 1664525 + 1013904223;
            p[k] = x >> 24;
        }
        /* Answers and things of other types: no request, whose ID would take the places of
         * those to come. */
        p[0] = i % 4 ? 0x10 | (1 + i % 3) : p[0] | 4;
        while (!urpc_jetty_ops.send(l->n.jetty, p, len)) {
            link_turn(l);
        }
        /* No more than there are receive entries. */
        if (i % 16 == 0) {
            ask(l, args_of(SAMPLE_ECHO, "still", 5), URPC_OK, &o);
            END_MUST(o.len == 5);
        }
    }
    /* One of another version, and one with sizes that do not fit: the ID is that of the
     * next call, whose answer it becomes. */
    for (unsigned i = 0; i < 2; i++) {
        UrpcRequest r = { .version = i ? 1 : 3, .type = URPC_REQUEST,
                          .total = 4711, .id = 1, .channel = 0xc11e47 };

        r.id = urpc_counters(l->n.u)->calls;
        urpc_put(URPC_LITTLE, URPC_KIND_REQUEST, p, &r);
        while (!urpc_jetty_ops.send(l->n.jetty, p, URPC_REQUEST_SIZE)) {
            link_turn(l);
        }
        ask(l, args_of(SAMPLE_ECHO, "x", 1), i ? URPC_BAD_HEAD : URPC_BAD_VERSION,
            &o);
    }
    ask(l, args_of(SAMPLE_ECHO, "still", 5), URPC_OK, &o);
}

static const struct {
    const char *name;
    void (*run)(Link *l);
} cases[] = {
    { "echo", case_echo }, { "many", case_many }, { "both", case_both },
    { "methods", case_methods }, { "log", case_log },
    { "refused", case_refused }, { "hostile", case_hostile },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static void case_run(const char *host, const char *name)
{
    static Link l;
    unsigned i = 0;

    while (i < CASES && strcmp(cases[i].name, name)) {
        i++;
    }
    END_MUST(i < CASES);
    link_open(&l, host);
    cases[i].run(&l);
    link_close(&l);
}

static void case_collective(const char *host)
{
    int fd = end_dial(host, PORT);

    end_say(fd, &(uint32_t) { 1 }, sizeof(uint32_t));
    group_run(fd, 0);
    close(fd);
}

static void test(const char *host, char **names)
{
    for (; *names; names++) {
        if (strcmp(*names, "collective")) {
            case_run(host, *names);
        } else {
            case_collective(host);
        }
        printf("ok %s\n", *names);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "serve")) {
        end_serve(PORT, serve_client);
    } else if (argc >= 3 && !strcmp(argv[1], "test")) {
        test(argv[2], argv + 3);
    } else {
        fprintf(stderr, "usage: urpc-drive serve | test HOST NAME...\n");
        return 2;
    }
    return 0;
}
