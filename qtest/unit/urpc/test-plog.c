/*
 * Logs on URPC in every Data Mode (UB 2.0 §I.1.3), the reserved Methods (§H.2), and the echo
 * sample.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <string.h>

#include "bed.h"
#include "samples.h"

enum { LOG_BYTES = 40000, RESERVE = 300 };

typedef struct Rig {
    Bed *b;
    LogStore *store;
} Rig;

static Rig rig_conf(const UrpcConfig *conf)
{
    Rig r = { bed_new(3, conf), log_store_new(LOG_BYTES, RESERVE) };

    g_assert_cmpint(log_store_add(r.store, r.b->fns[1], BED_UNIT), ==, 0);
    g_assert_cmpint(sample_echo_add(r.b->fns[1], BED_UNIT), ==, 0);
    for (unsigned i = 0; i < BED_MEM; i++) {
        r.b->mem[0][i] = i * 7 + (i >> 8);
        r.b->mem[2][i] = i * 5 + (i >> 8);
    }
    return r;
}

static Rig rig_new(void)
{
    UrpcConfig c;

    bed_conf(&c);
    return rig_conf(&c);
}

static void rig_free(Rig *r)
{
    bed_free(r->b);
    log_store_free(r->store);
}

/* A request of the client, node 0, and what became of it. */
typedef struct Ask {
    BedCall c;
    LogHead head;
    UrpcPlogAnswer a;
} Ask;

static void ask_done(void *opaque, const UrpcResult *result)
{
    Ask *q = opaque;

    bed_done(&q->c, result);
    memset(&q->a, 0, sizeof(q->a));
    memset(&q->head, 0xee, sizeof(q->head));
    if (urpc_plog_answer(result, &q->a) && q->a.user_head_len == LOG_HEAD_SIZE) {
        log_head_get(q->a.user_head, &q->head);
        q->a.data = q->c.data + (q->a.data - (const uint8_t *)result->data);
    }
}

static void ask_post(Rig *r, uint32_t method, const LogHead *h, UrpcPlogArgs args,
                     bool ack, Ask *q)
{
    static uint8_t p[4096];
    uint8_t head[LOG_HEAD_SIZE];
    UrpcArgs call = {
        .function = URPC_FUNCTION(BED_UNIT, 0, method), .defined = URPC_PLOG,
        .data = p, .ack = ack, .one_way = args.early, .done = ask_done,
        .opaque = q,
        .pieces = args.mode == URPC_WRITE_IMM ? urpc_plog_pieces : NULL,
    };

    memset(q, 0, sizeof(*q));
    log_head_put(head, h);
    args.user_head = head;
    args.user_head_len = sizeof(head);
    call.len = urpc_plog_build(0, &args, p, sizeof(p) - 20);
    g_assert_cmpuint(call.len, >, 0);
    g_assert_cmpint(urpc_call(r->b->end[0][1].u, r->b->now, &call, &q->c.id), ==,
                    0);
}

static void ask(Rig *r, uint32_t method, const LogHead *h, UrpcPlogArgs args, Ask *q)
{
    ask_post(r, method, h, args, false, q);
    bed_run(r->b);
    g_assert_cmpuint(q->c.done, ==, 1);
}

static void good(const Ask *q, UrpcMode mode, uint32_t length, uint64_t end)
{
    g_assert_cmpuint(q->c.status, ==, URPC_OK);
    g_assert_cmpuint(q->a.head.mode, ==, mode);
    g_assert_cmpuint(q->head.log, ==, LOG_OK);
    g_assert_cmpuint(q->head.length, ==, length);
    g_assert_cmpuint(q->head.offset, ==, end);
}

static const LogHead ANY = { 3, 0, LOG_ANYWHERE };

/* ---- Data in -------------------------------------------------------------------- */

static void append_push(Rig *r, const void *p, uint32_t len, uint64_t end)
{
    Ask q;

    ask(r, SAMPLE_LOG_APPEND, &ANY,
        (UrpcPlogArgs) { .mode = URPC_PUSH, .data = p, .len = len }, &q);
    good(&q, URPC_PUSH, len, end);
}

/* What the log has from @at on, read in mode 0. */
static void log_check(Rig *r, uint64_t at, const void *p, uint32_t len)
{
    LogHead h = { 3, len, at };
    Ask q;

    ask(r, SAMPLE_LOG_READ, &h, (UrpcPlogArgs) { .mode = URPC_PUSH }, &q);
    g_assert_cmpuint(q.head.log, ==, LOG_OK);
    g_assert_cmpmem(q.a.data, q.a.len, p, len);
}

static void test_push(void)
{
    Rig r = rig_new();
    int64_t before;

    append_push(&r, "first", 5, 5);
    before = r.b->now;
    append_push(&r, "second", 6, 11);
    /* Half a round trip there, and half one back. */
    g_assert_cmpint(r.b->now - before, ==, 2 * BED_LATENCY);
    log_check(&r, 0, "firstsecond", 11);
    log_check(&r, 5, "", 0);
    rig_free(&r);
}

/* Pushed while the server has memory set aside; read when it has not; refused when there is
 * none at all. */
static void test_push_pull(void)
{
    Rig r = rig_new();
    UrpcPlogSge e[2] = { bed_sge(r.b, 0, 1000, 250, URPC_SGE_READ),
                         bed_sge(r.b, 0, 9000, 50, URPC_SGE_READ) };
    UrpcPlogArgs args = { .mode = URPC_PUSH_PULL, .sge = e, .count = 2,
                          .len = 300 };
    const UrpcPlogService *s = log_store_service(r.store);
    uint8_t data[400];
    int64_t before;
    Ask q;

    memcpy(data, r.b->mem[0] + 1000, 250);
    memcpy(data + 250, r.b->mem[0] + 9000, 50);
    args.data = data;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    good(&q, URPC_PUSH_PULL, 300, 300);
    g_assert_cmpuint(s->pulled, ==, 0);
    g_assert_cmpuint(s->reserved, ==, 0);
    e[1].size = 51;
    args.len = 301;
    /* What is pushed is not what is read: it comes from there. */
    data[300] = ~r.b->mem[0][9050];
    before = r.b->now;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    good(&q, URPC_PUSH_PULL, 301, 601);
    g_assert_cmpuint(s->pulled, ==, 1);
    g_assert_cmpint(r.b->now - before, ==, 6 * BED_LATENCY);
    log_check(&r, 0, data, 300);
    log_check(&r, 300, data, 300);
    log_check(&r, 600, r.b->mem[0] + 9050, 1);
    r.b->end[1][0].no_memory = true;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    g_assert_cmpuint(q.c.status, ==, URPC_NO_BUFFER);
    args.len = e[0].size = 300;
    args.count = 1;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    good(&q, URPC_PUSH_PULL, 300, 901);
    rig_free(&r);
}

static void test_read(void)
{
    Rig r = rig_new();
    UrpcPlogSge e[3] = { bed_sge(r.b, 0, 1000, 10000, URPC_SGE_READ),
                         bed_sge(r.b, 0, 30000, 999, URPC_SGE_READ),
                         bed_sge(r.b, 0, 50000, 10, URPC_SGE_READ) };
    UrpcPlogArgs args = { .mode = URPC_READ, .sge = e, .count = 3 };
    Ask q;

    e[1].sgl_type = URPC_SGL_SKIP;
    ask_post(&r, SAMPLE_LOG_APPEND, &ANY, args, true, &q);
    /* The Ack says that they have been read: not before. */
    while (!bed_count(r.b, URPC_ACK, 1)) {
        g_assert(bed_step(r.b));
    }
    g_assert_cmpint(r.b->now, ==, 5 * BED_LATENCY);
    bed_run(r.b);
    good(&q, URPC_READ, 10010, 10010);
    log_check(&r, 0, r.b->mem[0] + 1000, 4000);
    log_check(&r, 10000, r.b->mem[0] + 50000, 10);
    e[2].token++;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    g_assert_cmpuint(q.c.status, ==, URPC_REFUSED);
    e[2].token--;
    e[2].token_id++;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    g_assert_cmpuint(q.c.status, ==, URPC_REFUSED);
    rig_free(&r);
}

/* ---- Data out ------------------------------------------------------------------- */

static void fill(Rig *r)
{
    UrpcPlogSge e = bed_sge(r->b, 0, 0, 20000, URPC_SGE_READ);
    Ask q;

    ask(r, SAMPLE_LOG_APPEND, &ANY,
        (UrpcPlogArgs) { .mode = URPC_READ, .sge = &e, .count = 1 }, &q);
    good(&q, URPC_READ, 20000, 20000);
}

static void read_out(UrpcMode mode, int64_t imm_delay, int64_t takes)
{
    Rig r = rig_new();
    UrpcPlogSge e[3] = { bed_sge(r.b, 0, 30000, 4000, URPC_SGE_WRITE),
                         bed_sge(r.b, 0, 36000, 1000, URPC_SGE_WRITE),
                         bed_sge(r.b, 0, 40000, 6000, URPC_SGE_WRITE) };
    UrpcPlogArgs args = { .mode = mode, .sge = e, .count = 3 };
    LogHead h = { 3, 9000, 123 };
    int64_t before;
    Ask q;

    fill(&r);
    e[1].sgl_type = URPC_SGL_SKIP;
    memset(r.b->mem[0] + 30000, 0xee, 20000);
    r.b->imm_delay = imm_delay;
    before = r.b->now;
    ask(&r, SAMPLE_LOG_READ, &h, args, &q);
    good(&q, mode, 9000, 20000);
    g_assert_cmpuint(q.a.len, ==, 0);
    g_assert_cmpuint(q.a.head.dma_count, ==, mode == URPC_WRITE_IMM ? 2 : 0);
    g_assert_cmpint(r.b->now - before, ==, takes);
    g_assert_cmpmem(r.b->mem[0] + 30000, 4000, r.b->mem[0] + 123, 4000);
    g_assert_cmpmem(r.b->mem[0] + 40000, 5000, r.b->mem[0] + 4123, 5000);
    g_assert_cmphex(r.b->mem[0][34000], ==, 0xee);
    g_assert_cmphex(r.b->mem[0][36000], ==, 0xee);
    g_assert_cmphex(r.b->mem[0][45000], ==, 0xee);
    e[2].token ^= 1;
    ask(&r, SAMPLE_LOG_READ, &h, args, &q);
    g_assert_cmpuint(q.c.status, ==,
                     mode == URPC_WRITE_IMM ? URPC_TIMEOUT : URPC_REFUSED);
    rig_free(&r);
}

/* The server answers when its Writes have ended. */
static void test_write(void)
{
    read_out(URPC_WRITE, 0, 6 * BED_LATENCY);
}

/* It does not wait for the last one: the client does, for the immediates. */
static void test_write_imm(void)
{
    read_out(URPC_WRITE_IMM, 0, 5 * BED_LATENCY);
    read_out(URPC_WRITE_IMM, 70 * BED_LATENCY, 74 * BED_LATENCY);
}

static void test_read_write(void)
{
    Rig r = rig_new();
    UrpcPlogSge e[2] = { bed_sge(r.b, 0, 100, 200, URPC_SGE_READ),
                         bed_sge(r.b, 0, 60000, 100, URPC_SGE_WRITE) };
    UrpcPlogArgs args = { .mode = URPC_READ_WRITE, .sge = e, .count = 2 };
    LogHead h = { 3, 100, 50 };
    Ask q;

    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    good(&q, URPC_READ_WRITE, 200, 200);
    ask(&r, SAMPLE_LOG_READ, &h, args, &q);
    good(&q, URPC_READ_WRITE, 100, 200);
    g_assert_cmpmem(r.b->mem[0] + 60000, 100, r.b->mem[0] + 150, 100);
    rig_free(&r);
}

/* ---- Flags ---------------------------------------------------------------------- */

/* DMA Redirect: the data are a third node's. */
static void test_redirect(void)
{
    Rig r = rig_new();
    UrpcPlogSge e = bed_sge(r.b, 2, 500, 100, URPC_SGE_READ);
    UrpcPlogArgs args = { .mode = URPC_READ, .sge = &e, .count = 1,
                          .redirect = true };
    Ask q;

    e.eid_index = 3;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    good(&q, URPC_READ, 100, 100);
    log_check(&r, 0, r.b->mem[2] + 500, 100);
    /* Off: the index means nothing, and the client has no such memory. */
    args.redirect = false;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    g_assert_cmpuint(q.c.status, ==, URPC_REFUSED);
    e = bed_sge(r.b, 0, 500, 100, URPC_SGE_READ);
    e.eid_index = 3;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    good(&q, URPC_READ, 100, 200);
    rig_free(&r);
}

static void test_early(void)
{
    Rig r = rig_new();
    UrpcPlogArgs args = { .mode = URPC_PUSH, .data = "x", .len = 1,
                          .early = true };
    Ask q;

    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    ask_post(&r, SAMPLE_LOG_APPEND, &ANY, args, true, &q);
    g_assert_cmpuint(q.c.done, ==, 0);
    bed_run(r.b);
    g_assert_cmpuint(q.c.done, ==, 1);
    g_assert_cmpuint(bed_count(r.b, URPC_RESPONSE, 1), ==, 0);
    g_assert_cmpuint(bed_count(r.b, URPC_ACK, 1), ==, 1);
    log_check(&r, 0, "xx", 2);
    rig_free(&r);
}

static void test_late(void)
{
    UrpcConfig conf;
    UrpcPlogArgs args = { .mode = URPC_READ };
    UrpcPlogSge e;
    Rig r;
    Ask q;

    bed_conf(&conf);
    conf.work_timeout = BED_LATENCY;
    r = rig_conf(&conf);
    e = bed_sge(r.b, 0, 0, 100, URPC_SGE_READ);
    args.sge = &e;
    args.count = 1;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    g_assert_cmpuint(q.c.status, ==, URPC_TIMEOUT);
    g_assert_cmpuint(urpc_serving(r.b->end[1][0].u), ==, 0);
    rig_free(&r);
}

static UrpcPlogCall *kept;

static void run_keep(void *opaque, UrpcPlogCall *pc, int64_t now)
{
    kept = pc;
}

/* A service that is late itself gives its call up all the same. */
static void test_late_service(void)
{
    UrpcPlogService s = { .run = run_keep, .reserve = 4096 };
    UrpcFunction f = { .function = URPC_FUNCTION(BED_UNIT, 0, 0x77),
                       .name = "keep", .defined = URPC_PLOG, .reference = true,
                       .run = urpc_plog_run, .opaque = &s };
    UrpcPlogArgs args = { .mode = URPC_PUSH, .data = "x", .len = 1 };
    UrpcArgs call = { .function = f.function, .defined = URPC_PLOG };
    UrpcConfig conf;
    uint8_t p[300];
    BedCall c;
    Rig r;

    bed_conf(&conf);
    conf.work_timeout = 2 * BED_LATENCY;
    r = rig_conf(&conf);
    g_assert_cmpint(urpc_functions_add(r.b->fns[1], &f), ==, 0);
    call.data = p;
    call.len = urpc_plog_build(0, &args, p, sizeof(p));
    g_assert_cmpint(bed_call(r.b, 0, 1, call, &c), ==, 0);
    bed_run(r.b);
    g_assert_cmpuint(c.done, ==, 1);
    g_assert_cmpuint(c.status, ==, URPC_TIMEOUT);
    g_assert_false(c.local);
    g_assert_cmpuint(urpc_serving(r.b->end[1][0].u), ==, 1);
    urpc_plog_reply(kept, r.b->now, URPC_OK, NULL, 0, "late", 4);
    bed_run(r.b);
    g_assert_cmpuint(urpc_serving(r.b->end[1][0].u), ==, 0);
    g_assert_cmpuint(c.done, ==, 1);
    rig_free(&r);
}

/* ---- What logs refuse ------------------------------------------------------------ */

static void test_log(void)
{
    Rig r = rig_new();
    LogHead h = { 3, 1, 2 };
    UrpcPlogArgs push = { .mode = URPC_PUSH, .data = "x", .len = 1 };
    UrpcPlogSge e = bed_sge(r.b, 0, 0, 20000, URPC_SGE_READ);
    Ask q;

    append_push(&r, "ab", 2, 2);
    ask(&r, SAMPLE_LOG_APPEND, &h, push, &q);
    good(&q, URPC_PUSH, 1, 3);
    ask(&r, SAMPLE_LOG_APPEND, &h, push, &q);
    g_assert_cmpuint(q.head.log, ==, LOG_MOVED);
    h.offset = 3;
    ask(&r, SAMPLE_LOG_READ, &h, (UrpcPlogArgs) { .mode = 0 }, &q);
    g_assert_cmpuint(q.head.log, ==, LOG_RANGE);
    h.offset = 4;
    h.length = 0;
    ask(&r, SAMPLE_LOG_READ, &h, (UrpcPlogArgs) { .mode = 0 }, &q);
    g_assert_cmpuint(q.head.log, ==, LOG_RANGE);
    h.log = LOGS;
    ask(&r, SAMPLE_LOG_TELL, &h, (UrpcPlogArgs) { .mode = 0 }, &q);
    g_assert_cmpuint(q.head.log, ==, LOG_UNKNOWN);
    h.log = 3;
    ask(&r, SAMPLE_LOG_TELL, &h, (UrpcPlogArgs) { .mode = 0 }, &q);
    good(&q, URPC_PUSH, 0, 3);
    for (unsigned i = 0; i < 2; i++) {
        ask(&r, SAMPLE_LOG_APPEND, &ANY,
            (UrpcPlogArgs) { .mode = URPC_READ, .sge = &e, .count = 1 }, &q);
        g_assert_cmpuint(q.head.log, ==, i ? LOG_FULL : LOG_OK);
    }
    e.flag = URPC_SGE_WRITE;
    h = (LogHead) { 3, 20001, 0 };
    ask(&r, SAMPLE_LOG_READ, &h,
        (UrpcPlogArgs) { .mode = URPC_WRITE, .sge = &e, .count = 1 }, &q);
    g_assert_cmpuint(q.head.log, ==, LOG_RANGE);
    rig_free(&r);
}

static void test_channel(void)
{
    UrpcPlogArgs args = { .mode = URPC_PUSH, .data = "x", .len = 1 };
    Rig r = rig_new();
    UrpcPlogService *s = (UrpcPlogService *)log_store_service(r.store);
    Ask q;

    s->channel = 0x123456;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    g_assert_cmpuint(q.c.status, ==, URPC_REFUSED);
    args.channel = 0x123456;
    ask(&r, SAMPLE_LOG_APPEND, &ANY, args, &q);
    good(&q, URPC_PUSH, 1, 1);
    g_assert_cmphex(q.a.head.channel, ==, 0x123456);
    rig_free(&r);
}

/* Heads that are wrong, and statuses of the document for them. */
static void test_heads(void)
{
    static const struct {
        unsigned at, value;
        UrpcStatus status;
    } bends[] = {
        { 0, 0x20, URPC_BAD_VERSION }, { 0, 0x1f, URPC_BAD_HEAD },
        { 1, 0, URPC_BAD_HEAD }, { 4, 1, URPC_BAD_HEAD },
    };
    Rig r = rig_new();
    uint8_t p[300];
    UrpcPlogArgs args = { .mode = URPC_PUSH };
    UrpcArgs call = { .function = URPC_FUNCTION(BED_UNIT, 0, SAMPLE_LOG_TELL),
                      .defined = URPC_PLOG, .data = p };
    BedCall c;

    for (unsigned i = 0; i < G_N_ELEMENTS(bends); i++) {
        call.len = urpc_plog_build(0, &args, p, sizeof(p));
        p[bends[i].at] = bends[i].value;
        g_assert_cmpint(bed_call(r.b, 0, 1, call, &c), ==, 0);
        bed_run(r.b);
        g_assert_cmpuint(c.status, ==, bends[i].status);
    }
    /* A user head that has no room for ours. */
    call.len = urpc_plog_build(0, &args, p, sizeof(p));
    p[2] = 44 + LOG_HEAD_SIZE - 1;
    call.len = p[2];
    g_assert_cmpint(bed_call(r.b, 0, 1, call, &c), ==, 0);
    bed_run(r.b);
    g_assert_cmpuint(c.status, ==, URPC_BAD_HEAD);
    call.defined = URPC_PLAIN;
    g_assert_cmpint(bed_call(r.b, 0, 1, call, &c), ==, 0);
    bed_run(r.b);
    g_assert_cmpuint(c.status, ==, URPC_BAD_HEAD);
    rig_free(&r);
}

/* ---- Echo and the reserved Methods (§H.2) ------------------------------------------ */

static void test_echo(void)
{
    Rig r = rig_new();
    UrpcDma dma = bed_dma(r.b, 0, 10, 3000);
    UrpcArgs args = { .function = URPC_FUNCTION(BED_UNIT, 0, SAMPLE_ECHO),
                      .data = "ab", .len = 2, .dma = &dma, .dma_count = 1 };
    BedCall c;

    g_assert_cmpint(bed_call(r.b, 0, 1, args, &c), ==, 0);
    bed_run(r.b);
    g_assert_cmpuint(c.status, ==, URPC_OK);
    g_assert_cmpuint(c.len, ==, 3002);
    g_assert_cmpmem(c.data, 2, "ab", 2);
    g_assert_cmpmem(c.data + 2, 3000, r.b->mem[0] + 10, 3000);
    rig_free(&r);
}

static BedCall reserved(Rig *r, uint32_t method, const void *data, uint32_t len)
{
    UrpcArgs args = { .function = (uint64_t)BED_UNIT << 24 | method,
                      .data = data, .len = len };
    BedCall c;

    g_assert_cmpint(bed_call(r->b, 0, 1, args, &c), ==, 0);
    bed_run(r->b);
    g_assert_cmpuint(c.done, ==, 1);
    return c;
}

static uint64_t function_at(const BedCall *c, unsigned i)
{
    return urpc_get_number(0, c->data + 6 * i, 6);
}

static bool deploy(void *opaque, UrpcFunction *out, const void *code, uint32_t len)
{
    static UrpcPlogService *s;

    s = opaque;
    out->run = s->opaque;
    return len == 4 && !memcmp(code, "echo", 4);
}

static void run_deployed(void *opaque, UrpcCall *call, int64_t now)
{
    urpc_reply(call, now, URPC_OK, "deployed", 8);
}

/* Function, length of the name, name, code. */
static uint32_t deploy_args(uint8_t *p, uint64_t function, const char *name,
                            const char *code)
{
    urpc_put_number(0, p, 6, function);
    p[6] = strlen(name);
    memcpy(p + 7, name, p[6]);
    memcpy(p + 7 + p[6], code, strlen(code));
    return 7 + p[6] + strlen(code);
}

static void test_list(void)
{
    Rig r = rig_new();
    BedCall c = reserved(&r, URPC_LIST_PUBLIC, NULL, 0);

    g_assert_cmpuint(c.status, ==, URPC_OK);
    g_assert_cmpuint(c.len, ==, 4 * 6);
    g_assert_cmphex(function_at(&c, 0), ==, 0x002001000020);
    g_assert_cmphex(function_at(&c, 3), ==, 0x002001000010);
    c = reserved(&r, URPC_LIST_PUBLIC, "\3\0\0\0", 4);
    g_assert_cmpuint(c.len, ==, 6);
    g_assert_cmphex(function_at(&c, 0), ==, 0x002001000010);
    c = reserved(&r, URPC_LIST_PUBLIC, "\4\0\0\0", 4);
    g_assert(c.status == URPC_OK && c.len == 0);
    c = reserved(&r, URPC_LIST_PUBLIC, "\4\0\0", 3);
    g_assert_cmpuint(c.status, ==, URPC_BAD_HEAD);
    c = reserved(&r, URPC_LIST_CUSTOM, NULL, 0);
    g_assert(c.status == URPC_OK && c.len == 0);
    c = reserved(&r, URPC_FIND, "log-tell", 8);
    g_assert(c.status == URPC_OK && c.len == 6);
    g_assert_cmphex(function_at(&c, 0), ==, 0x002001000022);
    c = reserved(&r, URPC_FIND, "log-tel", 7);
    g_assert(c.status == URPC_NO_FUNCTION && c.len == 0);
    rig_free(&r);
}

static void test_deploy(void)
{
    enum { CUSTOM = 0x800010 };
    const uint64_t function = (uint64_t)BED_UNIT << 24 | CUSTOM;
    UrpcPlogService hook = { .opaque = (void *)run_deployed };
    Rig r = rig_new();
    uint8_t p[100];
    uint32_t len = deploy_args(p, function, "mine", "echo");
    BedCall c;

    /* Nobody says that peers may. */
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_REFUSED);
    urpc_functions_deploy(r.b->fns[1], &hook, deploy);
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len - 1).status, ==,
                     URPC_REFUSED);
    g_assert_cmpuint(reserved(&r, CUSTOM, NULL, 0).status, ==, URPC_NO_FUNCTION);
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_OK);
    c = reserved(&r, CUSTOM, NULL, 0);
    g_assert_cmpmem(c.data, c.len, "deployed", 8);
    c = reserved(&r, URPC_LIST_CUSTOM, NULL, 0);
    g_assert(c.len == 6 && function_at(&c, 0) == function);
    g_assert_cmpuint(reserved(&r, URPC_LIST_PUBLIC, NULL, 0).len, ==, 24);
    /* Twice; under another name; another under its name. */
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_REFUSED);
    len = deploy_args(p, function, "yours", "echo");
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_REFUSED);
    len = deploy_args(p, function + 1, "mine", "echo");
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_REFUSED);
    g_assert_cmpuint(reserved(&r, URPC_DELETE, p, 6).status, ==,
                     URPC_NO_FUNCTION);
    urpc_put_number(0, p, 6, function);
    g_assert_cmpuint(reserved(&r, URPC_DELETE, p, 5).status, ==, URPC_BAD_HEAD);
    g_assert_cmpuint(reserved(&r, URPC_DELETE, p, 7).status, ==, URPC_BAD_HEAD);
    g_assert_cmpuint(reserved(&r, URPC_DELETE, p, 6).status, ==, URPC_OK);
    g_assert_cmpuint(reserved(&r, CUSTOM, NULL, 0).status, ==, URPC_NO_FUNCTION);
    g_assert_cmpuint(urpc_functions_count(r.b->fns[1]), ==, 4);
    /* What was there from the start stays. */
    urpc_put_number(0, p, 6, URPC_FUNCTION(BED_UNIT, 0, SAMPLE_ECHO));
    g_assert_cmpuint(reserved(&r, URPC_DELETE, p, 6).status, ==, URPC_REFUSED);
    rig_free(&r);
}

static void test_deploy_bad(void)
{
    static const struct {
        uint64_t function;
        unsigned named, len;
    } bad[] = {
        { URPC_FUNCTION(BED_UNIT, 0, 0x10), 1, 12 },            /* public */
        { URPC_FUNCTION(BED_UNIT, 1, 0), 1, 12 },               /* reserved */
        { URPC_FUNCTION(BED_UNIT, 1, 3), 1, 12 },
        { URPC_FUNCTION(BED_UNIT + 1, 1, 0x10), 1, 12 },        /* another unit */
        { URPC_FUNCTION(BED_UNIT, 1, 0x10), 0, 12 },            /* no name */
        { URPC_FUNCTION(BED_UNIT, 1, 0x10), 6, 12 },            /* beyond the end */
        { URPC_FUNCTION(BED_UNIT, 1, 0x10), 64, 100 },          /* too long */
        { URPC_FUNCTION(BED_UNIT, 1, 0x10), 1, 6 },
        { URPC_FUNCTION(BED_UNIT, 1, 0x10), 1, 0 },
        { URPC_FUNCTION(BED_UNIT, 1, 0x10), 8, 100 },           /* a 0 in it */
    };
    UrpcPlogService hook = { .opaque = (void *)run_deployed };
    Rig r = rig_new();

    urpc_functions_deploy(r.b->fns[1], &hook, deploy);
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        uint8_t p[100];

        memset(p, 'n', sizeof(p));
        p[13] = 0;
        urpc_put_number(0, p, 6, bad[i].function);
        p[6] = bad[i].named;
        g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, bad[i].len).status, ==,
                         URPC_BAD_HEAD);
    }
    g_assert_cmpuint(urpc_functions_count(r.b->fns[1]), ==, 4);
    rig_free(&r);
}

/* Peers cannot make the table grow without end. */
static void test_deploy_many(void)
{
    UrpcPlogService hook = { .opaque = (void *)run_deployed };
    Rig r = rig_new();
    unsigned ok = 0;

    urpc_functions_deploy(r.b->fns[1], &hook, deploy);
    for (unsigned i = 0; i < 40; i++) {
        g_autofree char *name = g_strdup_printf("f%u", i);
        uint8_t p[100];
        uint32_t len = deploy_args(p, URPC_FUNCTION(BED_UNIT, 1, 0x100 + i), name,
                                   "echo");

        ok += reserved(&r, URPC_DEPLOY, p, len).status == URPC_OK;
    }
    g_assert_cmpuint(ok, ==, 32 - 4);
    rig_free(&r);
}

/* What each deployed function has of its owner's. */
typedef struct Owned {
    unsigned deployed, gone;
    UrpcCall *held;
} Owned;

static void run_kept(void *opaque, UrpcCall *call, int64_t now)
{
    Owned *o = opaque;

    o->held = call;
}

static bool deploy_owned(void *opaque, UrpcFunction *out, const void *code,
                         uint32_t len)
{
    Owned *o = opaque;

    out->opaque = o;
    out->run = len ? run_kept : NULL;       /* which cannot be called */
    o->deployed++;
    return true;
}

static void undeploy_owned(void *opaque, const UrpcFunction *f)
{
    Owned *o = opaque;

    g_assert(f->opaque == o && f->function >> 24 == BED_UNIT);
    o->gone++;
}

/* What the owner has for a function comes back once: when it is deleted and no call has it
 * any more, when it could not be taken, and with the table. */
static void test_undeploy(void)
{
    enum { CUSTOM = 0x800010 };
    const uint64_t function = (uint64_t)BED_UNIT << 24 | CUSTOM;
    UrpcArgs args = { .function = function };
    Owned o = { 0 };
    Rig r = rig_new();
    uint8_t p[100];
    uint32_t len;
    BedCall c;

    urpc_functions_deploy(r.b->fns[1], &o, deploy_owned);
    urpc_functions_undeploy(r.b->fns[1], undeploy_owned);
    len = deploy_args(p, function, "mine", "");
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_REFUSED);
    g_assert(o.deployed == 1 && o.gone == 1);
    len = deploy_args(p, function, "mine", "code");
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_OK);
    /* Not what is there already. */
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_REFUSED);
    g_assert(o.deployed == 2 && o.gone == 1);
    g_assert_cmpint(bed_call(r.b, 0, 1, args, &c), ==, 0);
    bed_run(r.b);
    g_assert_nonnull(o.held);
    urpc_put_number(0, p, 6, function);
    g_assert_cmpuint(reserved(&r, URPC_DELETE, p, 6).status, ==, URPC_OK);
    /* Its name is free, and another has it. */
    len = deploy_args(p, function, "mine", "code");
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_OK);
    g_assert(o.deployed == 3 && o.gone == 1);
    /* Its caller has given up meanwhile; the function has not. */
    g_assert(c.done == 1 && c.status == URPC_TIMEOUT);
    urpc_reply(o.held, r.b->now, URPC_OK, "end", 3);
    /* Not from within what it may have called that from. */
    g_assert_cmpuint(o.gone, ==, 1);
    bed_run(r.b);
    g_assert_cmpuint(o.gone, ==, 2);
    urpc_functions_remove(r.b->fns[1], function);
    g_assert_cmpuint(o.gone, ==, 3);
    g_assert_cmpuint(reserved(&r, URPC_DEPLOY, p, len).status, ==, URPC_OK);
    rig_free(&r);
    g_assert(o.deployed == 4 && o.gone == 4);
}

static void test_table(void)
{
    UrpcFunctions *fns = urpc_functions_new(BED_UNIT, 1);
    UrpcFunction f = { .function = URPC_FUNCTION(BED_UNIT, 0, 7),
                       .run = run_deployed };

    g_assert_null(urpc_functions_new(1 << 24, 1));
    g_assert_null(urpc_functions_new(0, 0));
    g_assert_cmpint(urpc_functions_add(fns, &f), ==, EINVAL);   /* no name */
    strcpy(f.name, "f");
    f.run = NULL;
    g_assert_cmpint(urpc_functions_add(fns, &f), ==, EINVAL);
    f.run = run_deployed;
    f.function = URPC_FUNCTION(BED_UNIT, 0, 0);
    g_assert_cmpint(urpc_functions_add(fns, &f), ==, EINVAL);
    f.function = URPC_FUNCTION(BED_UNIT + 1, 0, 7);
    g_assert_cmpint(urpc_functions_add(fns, &f), ==, EINVAL);
    f.function = URPC_FUNCTION(BED_UNIT, 1, 7);
    g_assert_cmpint(urpc_functions_add(fns, &f), ==, 0);
    g_assert(urpc_functions_find(fns, f.function));
    g_assert_cmpint(urpc_functions_add(fns, &f), ==, EEXIST);
    f.function++;
    g_assert_cmpint(urpc_functions_add(fns, &f), ==, EEXIST);
    strcpy(f.name, "g");
    g_assert_cmpint(urpc_functions_add(fns, &f), ==, ENOSPC);
    urpc_functions_remove(fns, f.function);             /* not there */
    g_assert_cmpuint(urpc_functions_count(fns), ==, 1);
    urpc_functions_remove(fns, f.function - 1);
    g_assert_null(urpc_functions_find(fns, f.function - 1));
    g_assert_cmpint(urpc_functions_add(fns, &f), ==, 0);
    urpc_functions_free(fns);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urpc/plog/push", test_push);
    g_test_add_func("/urpc/plog/push-pull", test_push_pull);
    g_test_add_func("/urpc/plog/read", test_read);
    g_test_add_func("/urpc/plog/write", test_write);
    g_test_add_func("/urpc/plog/write-imm", test_write_imm);
    g_test_add_func("/urpc/plog/read-write", test_read_write);
    g_test_add_func("/urpc/plog/redirect", test_redirect);
    g_test_add_func("/urpc/plog/early", test_early);
    g_test_add_func("/urpc/plog/late", test_late);
    g_test_add_func("/urpc/plog/late-service", test_late_service);
    g_test_add_func("/urpc/plog/log", test_log);
    g_test_add_func("/urpc/plog/channel", test_channel);
    g_test_add_func("/urpc/plog/heads", test_heads);
    g_test_add_func("/urpc/plog/echo", test_echo);
    g_test_add_func("/urpc/methods/list", test_list);
    g_test_add_func("/urpc/methods/deploy", test_deploy);
    g_test_add_func("/urpc/methods/deploy-bad", test_deploy_bad);
    g_test_add_func("/urpc/methods/deploy-many", test_deploy_many);
    g_test_add_func("/urpc/methods/undeploy", test_undeploy);
    g_test_add_func("/urpc/methods/table", test_table);
    return g_test_run();
}
