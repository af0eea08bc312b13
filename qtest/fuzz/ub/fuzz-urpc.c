/*
 * Fuzzer of an end of URPC: messages of a hostile peer, its immediates, the ends of Reads and
 * Writes, a carrier that is full or has no memory.  Functions are the echo, the logs and what
 * the peer deploys.
 *
 * The input is a little program: a byte of options, then steps of an opcode, its
 * parameters and bytes.  Messages may begin with a head that is right but for what the
 * input changes, or few would get past it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "collective.h"
#include "samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { UNIT = URPC_UNIT_STORAGE, MOVES = 16, MESSAGE = 2048 };

typedef struct Input {
    const uint8_t *p, *end;
} Input;

static Input in;
static Urpc *u;
static uint64_t moves[MOVES];
static unsigned moving;
static uint64_t memory;
static bool full, no_memory;
static uint64_t sum[4];

static unsigned next(void)
{
    return in.p < in.end ? *in.p++ : 0;
}

static bool op_send(void *opaque, const void *msg, size_t len)
{
    UrpcMessage m;

    /* What we send is good. */
    g_assert_cmpint(urpc_parse(urpc_config(u)->order, msg, len, &m), ==, URPC_OK);
    g_assert_cmpuint(len, <=, MESSAGE);
    return !full;
}

static bool move(uint64_t ticket)
{
    if (moving == MOVES) {
        return false;
    }
    moves[moving++] = ticket;
    return true;
}

static bool op_read(void *opaque, uint64_t ticket, void *local, const UrpcRef *ref,
                    uint32_t len)
{
    if (!move(ticket)) {
        return false;
    }
    memset(local, 0x5a, len);
    return true;
}

static bool op_write(void *opaque, uint64_t ticket, const void *local,
                     const UrpcRef *ref, uint32_t len, const uint64_t *imm)
{
    return move(ticket);
}

static void *op_mem_get(void *opaque, uint32_t len)
{
    if (no_memory) {
        return NULL;
    }
    memory += len;
    g_assert_cmpuint(memory, <=, urpc_config(u)->args_max);
    return malloc(len);
}

static void op_mem_put(void *opaque, void *p, uint32_t len)
{
    memory -= len;
    free(p);
}

static const UrpcOps ops = { op_send, op_read, op_write, op_mem_get, op_mem_put };

static void run_nothing(void *opaque, UrpcCall *call, int64_t now)
{
    urpc_reply(call, now, URPC_OK, NULL, 0);
}

static bool deploy(void *opaque, UrpcFunction *out, const void *code, uint32_t len)
{
    out->run = run_nothing;
    return !len || *(const uint8_t *)code != 1;
}

static void ignore(void *opaque, const UrpcResult *r)
{
    UrpcPlogAnswer a;

    urpc_plog_answer(r, &a);
}

static void ignore_op(void *opaque, UrpcStatus status)
{
}

/* Bytes of the input, behind a head whose sizes fit. */
static void message(int64_t now, uint32_t *id)
{
    static const uint32_t methods[] = {
        SAMPLE_ECHO, SAMPLE_LOG_APPEND, SAMPLE_LOG_READ, SAMPLE_LOG_TELL,
        URPC_LIST_PUBLIC, URPC_LIST_CUSTOM, URPC_DEPLOY, URPC_DELETE, URPC_FIND,
        COLL_METHOD, 0x800100, 0x77,
    };
    UrpcOrder order = urpc_config(u)->order;
    unsigned how = next(), len = next() | (next() & 1) << 8;
    uint8_t p[600];
    UrpcRequest r = {
        .version = 1, .ack = how >> 3 & 1, .dma_count = how >> 4 & 3,
        .function = URPC_FUNCTION(UNIT, 0, methods[next() % G_N_ELEMENTS(methods)]),
        .id = (*id)++, .channel = 9, .defined = how >> 6,
    };
    UrpcResponse a = { .version = 1, .type = how & 3, .range = 1 + (next() & 7),
                       .id = next(), .channel = 7, .status = how >> 4,
                       .defined = 2 };

    for (unsigned i = 0; i < sizeof(p); i++) {
        p[i] = i < 20 + 48 + len ? next() : 0;
    }
    if (how & 4 && !(how & 3)) {
        uint32_t total = 20 + len;

        for (unsigned i = 0; i < r.dma_count; i++) {
            UrpcDma d = { 0x1000, next() << (next() & 15), 1 };

            urpc_put(order, URPC_KIND_DMA, p + 20 + 16 * i, &d);
            total += d.size;
        }
        r.total = total;
        urpc_put(order, URPC_KIND_REQUEST, p, &r);
        len += 20 + 16 * r.dma_count;
    } else if (how & 4 && (how & 3) == URPC_ACK) {
        urpc_put(order, URPC_KIND_ACK, p, &(UrpcAck) {
            .version = 1, .type = URPC_ACK, .range = a.range, .id = a.id,
            .channel = 7 });
        len = URPC_ACK_SIZE;
    } else if (how & 4) {
        a.total = 16 + len;
        urpc_put(order, URPC_KIND_RESPONSE, p, &a);
        len += 16 + (len ? 4 * (a.range - 1) : 0);
    }
    urpc_rx(u, now, p, len);
}

static void call(int64_t now)
{
    UrpcDma dma = { 0x2000, next(), 5 };
    unsigned how = next();
    UrpcArgs args = {
        .function = URPC_FUNCTION(UNIT, 0, SAMPLE_ECHO), .ack = how & 1,
        .one_way = how & 2, .dma = &dma, .dma_count = how >> 2 & 1,
        .done = ignore, .pieces = how & 8 ? urpc_plog_pieces : NULL,
        .data = "data", .len = how >> 4 & 3,
    };

    urpc_call(u, now, &args, NULL);
}

static void step(Coll *c, int64_t now, uint32_t *id)
{
    unsigned what = next(), i;

    switch (what & 7) {
    default:
        message(now, id);
        break;
    case 3:
        call(now);
        break;
    case 4:
        if (moving) {
            i = what >> 4;
            i %= moving;
            uint64_t ticket = moves[i];

            moves[i] = moves[--moving];
            urpc_moved(u, now, ticket, !(what & 8));
        }
        break;
    case 5:
        urpc_immediate(u, now, next() | (uint64_t)next() << 32);
        break;
    case 6:
        full = what & 8;
        no_memory = what & 16;
        *id += what & 32 ? next() << (what >> 6) * 8 : 0;
        break;
    case 7:
        if (what & 8) {
            coll_barrier(c, now, ignore_op, NULL);
        } else {
            coll_all_reduce(c, now, sum, what >> 4 & 3, ignore_op, NULL);
        }
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    UrpcFunctions *fns = urpc_functions_new(UNIT, 8);
    LogStore *logs = log_store_new(10000, 100);
    UrpcConfig conf = { .channel = 7, .depth = 8, .message_max = MESSAGE,
                        .args_max = 20000, .gather = 1 };
    int64_t now = 0;
    unsigned options;
    uint32_t id = 0;
    Urpc *ends[2];
    Coll *c;

    in = (Input) { data, data + size };
    options = next();
    conf.order = options & 1;
    conf.merge = options & 2;
    conf.timeout = options & 4 ? 5000 : 0;
    conf.work_timeout = options & 8 ? 3000 : 0;
    conf.gather += options >> 4 & 3;
    conf.gather_time = options & 64 ? 2000 : 0;
    full = no_memory = false;
    memory = moving = 0;
    sample_echo_add(fns, UNIT);
    log_store_add(logs, fns, UNIT);
    urpc_functions_deploy(fns, NULL, deploy);
    u = urpc_new(&conf, &ops, NULL, fns);
    ends[0] = NULL;
    ends[1] = u;
    c = coll_new(UNIT, 0, 2, ends, fns, 4);
    while (in.p < in.end) {
        step(c, now, &id);
        now += 700;
        urpc_run(u, now);
        coll_run(c, now);
    }
    /* What is under way ends. */
    full = false;
    while (moving) {
        urpc_moved(u, now, moves[--moving], true);
    }
    coll_free(c);
    urpc_run(u, now + 1000000);
    urpc_free(u);
    g_assert_cmpuint(memory, ==, 0);
    urpc_functions_free(fns);
    log_store_free(logs);
    return 0;
}
