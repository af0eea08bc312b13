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
#include <unistd.h>

#include "urpc-node.h"

#define PORT 7473

/* ---- The server --------------------------------------------------------------------- */

static void serve_client(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    EndAddress mine, peer;
    EndAddress third;
    uint32_t mode;
    Node n;

    if (!end_hear(fd, &mode, sizeof(mode))) {
        close(fd);
        return;
    }
    if (mode == MODE_TOGETHER) {
        group_run(fd, 2);
        close(fd);
        return;
    }
    END_MUST(end_hear(fd, &peer, sizeof(peer)));
    node_make(&n);
    if (mode == MODE_REDIRECT) {
        END_MUST(end_hear(fd, &third, sizeof(third)));
        node_third(&n, &third);
    }
    node_join(&n, &peer, 0x5e5e5e, n.fns, mode);
    end_address(&n.end, &mine);
    end_say(fd, &mine, sizeof(mine));
    while (poll(&p, 1, 0) == 0) {
        for (unsigned i = 0; i < 1000; i++) {
            node_turn(&n);
        }
    }
    /* What is under way ends, with an error if need be. */
    node_release(&n);
    while (urpc_serving(n.u)) {
        node_turn(&n);
    }
    node_close(&n);
    close(fd);
}

/* ---- The client ----------------------------------------------------------------------- */

/* Both ends in one process ("self"), or the other by its socket. */
typedef struct Link {
    Node n, other, third;       /* the third: MODE_REDIRECT */
    int fd;
    Mode mode;
} Link;

static void link_third(Link *l)
{
    EndAddress third;

    if (l->mode == MODE_REDIRECT) {
        node_open(&l->third);
        end_address(&l->third.end, &third);
        if (l->fd < 0) {
            node_third(&l->other, &third);
        } else {
            end_say(l->fd, &third, sizeof(third));
        }
    }
}

static void link_open(Link *l, const char *host, Mode mode)
{
    EndAddress mine, peer;

    l->fd = strcmp(host, "self") ? end_dial(host, PORT) : -1;
    l->mode = mode;
    node_make(&l->n);
    end_address(&l->n.end, &mine);
    if (l->fd < 0) {
        node_make(&l->other);
        end_address(&l->other.end, &peer);
        link_third(l);
        node_join(&l->other, &mine, 0x5e5e5e, l->other.fns, mode);
    } else {
        end_say(l->fd, &(uint32_t) { mode }, sizeof(uint32_t));
        end_say(l->fd, &mine, sizeof(mine));
        link_third(l);
        END_MUST(end_hear(l->fd, &peer, sizeof(peer)));
    }
    node_join(&l->n, &peer, 0xc11e47, l->n.fns, mode);
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
    if (l->mode == MODE_REDIRECT) {
        end_close(&l->third.end);
    }
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
    END_MUST(o.len == 9 * 6);
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

/* ---- Reserved Methods that change what there is ------------------------------------------ */

/* Methods of a unit, not of a class of functions. */
static UrpcArgs args_unit(uint32_t method, const void *data, uint32_t len)
{
    return (UrpcArgs) { .function = (uint64_t)UNIT << 24 | method,
                        .data = data, .len = len };
}

static uint32_t owned(Link *l)
{
    static Outcome o;

    ask(l, args_of(METHOD_OWNED, NULL, 0), URPC_OK, &o);
    END_MUST(o.len == 4);
    return urpc_get_number(URPC_LITTLE, o.data, 4);
}

static void case_deploy(Link *l)
{
    enum { CUSTOM = 0x800010 };
    static Outcome o;
    uint8_t p[20];

    urpc_put_number(URPC_LITTLE, p, 6, (uint64_t)UNIT << 24 | CUSTOM);
    memcpy(p + 6, "\5shift\7", 7);
    for (unsigned lap = 0; lap < 3; lap++) {
        ask(l, args_unit(CUSTOM, "abc", 3), URPC_NO_FUNCTION, &o);
        ask(l, args_unit(URPC_DEPLOY, p, 12), URPC_REFUSED, &o);    /* no code */
        ask(l, args_unit(URPC_DEPLOY, p, 13), URPC_OK, &o);
        ask(l, args_unit(URPC_DEPLOY, p, 13), URPC_REFUSED, &o);
        END_MUST(owned(l) == 1);
        ask(l, args_unit(CUSTOM, "abc", 3), URPC_OK, &o);
        END_MUST(o.len == 3 && !memcmp(o.data, "hij", 3));
        ask(l, args_unit(URPC_LIST_CUSTOM, NULL, 0), URPC_OK, &o);
        END_MUST(o.len == 6 && !memcmp(o.data, p, 6));
        ask(l, args_unit(URPC_FIND, "shift", 5), URPC_OK, &o);
        END_MUST(o.len == 6 && !memcmp(o.data, p, 6));
        ask(l, args_unit(URPC_DELETE, p, 6), URPC_OK, &o);
        END_MUST(owned(l) == 0);
        ask(l, args_unit(URPC_DELETE, p, 6), URPC_NO_FUNCTION, &o);
    }
    /* What the program has stays. */
    urpc_put_number(URPC_LITTLE, p, 6, URPC_FUNCTION(UNIT, 0, SAMPLE_ECHO));
    ask(l, args_unit(URPC_DELETE, p, 6), URPC_REFUSED, &o);
    case_echo(l);
}

/* ---- Arguments by reference ------------------------------------------------------------------ */

static void case_reference(Link *l)
{
    static Outcome o;
    UrpcDma dma[3] = { dma_of(l, 1, 65536), dma_of(l, 70001, 1),
                       dma_of(l, 200000, 33333) };
    UrpcArgs args = args_of(METHOD_SUM, NULL, 0);
    uint64_t sum = 0;

    end_fill(l->n.end.buf, 300000, 21);
    for (unsigned i = 0; i < 3; i++) {
        const uint8_t *p = (const uint8_t *)(uintptr_t)dma[i].address;

        for (uint32_t k = 0; k < dma[i].size; k++) {
            sum += p[k];
        }
    }
    args.dma = dma;
    args.dma_count = 3;
    args.ack = true;
    ask(l, args, URPC_OK, &o);
    END_MUST(o.len == 8 && o.released &&
             urpc_get_number(URPC_LITTLE, o.data, 8) == sum);
    /* The function finds that it may not read. */
    dma[2].token++;
    ask(l, args, URPC_REFUSED, &o);
    END_MUST(o.released);
    case_echo(l);
}

/* ---- Messages that answer more than one thing, or call -------------------------------------------- */

static uint64_t received(const Link *l)
{
    return urpc_jetty_counters(l->n.jetty)->received;
}

/* An Ack of its own, or not. */
static void acks(Link *l, unsigned each)
{
    static Outcome o;
    UrpcArgs args = args_of(SAMPLE_ECHO, "acked", 5);

    args.ack = true;
    for (unsigned i = 0; i < 20; i++) {
        uint64_t before = received(l);

        ask(l, args, URPC_OK, &o);
        END_MUST(o.len == 5 && o.released && received(l) == before + each);
    }
}

static void case_merge(Link *l)
{
    acks(l, 1);
}

/* Calls that are answered at the same time have one message, with an Ack too. */
static void case_ranges(Link *l)
{
    static Outcome o[4];
    static char text[4][20];

    acks(l, 2);
    for (unsigned lap = 0; lap < 20; lap++) {
        uint64_t before = received(l);

        for (unsigned i = 0; i < 4; i++) {
            snprintf(text[i], sizeof(text[i]), "%u of lap %u", i, lap * lap);
            post(l, args_of(METHOD_FOUR, text[i], strlen(text[i])), &o[i]);
        }
        for (unsigned i = 0; i < 4; i++) {
            await(l, &o[i]);
            END_MUST(o[i].status == URPC_OK && o[i].len == strlen(text[i]) &&
                     !memcmp(o[i].data, text[i], o[i].len));
        }
        END_MUST(received(l) == before + 1);
    }
}

/* ---- Time-outs -------------------------------------------------------------------------------------- */

/* The server's: it says so, and its places come free, once the function has given up the
 * call: who is quicker is refused, and asks again. */
static void case_late(Link *l)
{
    static Outcome o[2 * DEPTH];

    for (unsigned i = 0; i < 2 * DEPTH; i++) {
        if (i >= DEPTH) {
            await(l, &o[i - DEPTH]);
        }
        post(l, args_of(METHOD_HOLD, "x", 1), &o[i]);
    }
    for (unsigned i = 0; i < 2 * DEPTH; i++) {
        await(l, &o[i]);
        while (i >= DEPTH && o[i].status == URPC_REFUSED) {
            post(l, args_of(METHOD_HOLD, "x", 1), &o[i]);
            await(l, &o[i]);
        }
        END_MUST(o[i].status == URPC_TIMEOUT && !o[i].local && !o[i].len);
    }
}

/* The client's own: nobody answers. */
static void case_lost(Link *l)
{
    static Outcome o[3];

    for (unsigned i = 0; i < 3; i++) {
        post(l, args_of(METHOD_HOLD, "x", 1), &o[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        await(l, &o[i]);
        END_MUST(o[i].status == URPC_TIMEOUT && o[i].local);
    }
    END_MUST(urpc_counters(l->n.u)->timeouts == 3);
}

/* ---- A third node ------------------------------------------------------------------------------------- */

static UrpcPlogSge sge_third(Link *l, uint32_t at, uint32_t len, uint8_t flag)
{
    UrpcPlogSge e = sge_of(l, at, len, flag);

    e.address = (uintptr_t)l->third.end.buf + at;
    e.token_id = l->third.end.seg->seg.token_id;
    e.eid_index = 1;
    return e;
}

/* What is appended comes from there, and goes there. */
static void case_redirect(Link *l)
{
    enum { LEN = 100003, TO = 1 << 20 };
    static Outcome o;
    uint8_t *buf = l->third.end.buf;
    UrpcPlogSge r = sge_third(l, 3, LEN, URPC_SGE_READ);
    UrpcPlogSge w = sge_third(l, TO, LEN, URPC_SGE_WRITE);
    UrpcPlogArgs p = { .mode = URPC_READ, .sge = &r, .count = 1,
                       .redirect = true };

    end_fill(buf + 3, LEN, 17);
    memset(l->n.end.buf, 0x55, LEN + 3);
    log_ask(l, SAMPLE_LOG_APPEND, (LogHead) { 7, 0, 0 }, p, &o);
    END_MUST(o.head.log == LOG_OK && o.head.length == LEN);
    memset(buf + TO, 0xee, LEN + 1);
    p.mode = URPC_WRITE;
    p.sge = &w;
    log_ask(l, SAMPLE_LOG_READ, (LogHead) { 7, LEN, 0 }, p, &o);
    END_MUST(o.head.log == LOG_OK && o.head.length == LEN);
    END_MUST(end_check(buf + TO, LEN, 17) == LEN && buf[TO + LEN] == 0xee);
}

static const struct {
    const char *name;
    void (*run)(Link *l);
    Mode mode;
} cases[] = {
    { "echo", case_echo }, { "many", case_many }, { "both", case_both },
    { "methods", case_methods }, { "log", case_log },
    { "refused", case_refused }, { "hostile", case_hostile },
    { "deploy", case_deploy }, { "reference", case_reference },
    { "merge", case_merge, MODE_MERGE }, { "ranges", case_ranges },
    { "late", case_late, MODE_LATE }, { "lost", case_lost, MODE_LOST },
    { "redirect", case_redirect, MODE_REDIRECT },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static void case_run(const char *host, const char *name)
{
    static Link l;
    unsigned i = 0;

    memset(&l, 0, sizeof(l));
    while (i < CASES && strcmp(cases[i].name, name)) {
        i++;
    }
    END_MUST(i < CASES);
    link_open(&l, host, cases[i].mode);
    cases[i].run(&l);
    link_close(&l);
}

static void case_collective(const char *host)
{
    int fd = end_dial(host, PORT);

    end_say(fd, &(uint32_t) { MODE_TOGETHER }, sizeof(uint32_t));
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
