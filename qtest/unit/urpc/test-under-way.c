/*
 * Calls whose Reads and Writes are under way: when one is late, when its end goes, when its
 * function is taken away (UB 2.0 §8.5.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "bed.h"
#include "end.h"

enum { COUNT = 0x11, HOLD, PUSH };

static uint64_t fn(uint32_t method)
{
    return URPC_FUNCTION(BED_UNIT, 0, method);
}

/* ---- Functions and calls ------------------------------------------------------- */

static unsigned ran, holding;
static UrpcCall *held[4];

static void run_count(void *opaque, UrpcCall *call, int64_t now)
{
    ran++;
    urpc_reply(call, now, URPC_OK, NULL, 0);
}

/* Kept, for the test to answer. */
static void run_hold(void *opaque, UrpcCall *call, int64_t now)
{
    ran++;
    g_assert_cmpuint(holding, <, G_N_ELEMENTS(held));
    held[holding++] = call;
}

static void add(Bed *b, uint32_t method, const char *name, bool reference,
                void (*run)(void *, UrpcCall *, int64_t))
{
    UrpcFunction f = { .function = fn(method), .run = run,
                       .reference = reference };

    g_strlcpy(f.name, name, sizeof(f.name));
    g_assert_cmpint(urpc_functions_add(b->fns[1], &f), ==, 0);
}

static Bed *bed_late(int64_t work_timeout)
{
    UrpcConfig conf;
    Bed *b;

    bed_conf(&conf);
    conf.work_timeout = work_timeout;
    b = bed_new(2, &conf);
    add(b, COUNT, "count", false, run_count);
    add(b, HOLD, "hold", false, run_hold);
    ran = holding = 0;
    return b;
}

static void held_reply(Bed *b, unsigned i, UrpcStatus status, const char *text)
{
    urpc_reply(held[i], b->now, status, text, strlen(text));
}

static void call(Bed *b, uint32_t method, UrpcDma *dma, BedCall *c)
{
    UrpcArgs args = { .function = fn(method), .dma = dma, .dma_count = dma != NULL };

    g_assert_cmpint(bed_call(b, 0, 1, args, c), ==, 0);
}

static void expect(const BedCall *c, UrpcStatus status, const char *text)
{
    g_assert_cmpuint(c->done, ==, 1);
    g_assert_cmpuint(c->status, ==, status);
    g_assert_cmpmem(c->data, c->len, text, strlen(text));
    g_assert(!c->local);
}

static const UrpcCounters *counters(Bed *b, unsigned node)
{
    return urpc_counters(b->end[node][!node].u);
}

/* ---- Writes: into the caller's memory ------------------------------------------ */

static unsigned pushes, push_good;

static void run_push_done(void *opaque, UrpcCall *call, int64_t now, bool good)
{
    const UrpcDma *d;
    UrpcRef ref;
    uint32_t n;

    d = urpc_call_dma(call, &n);
    ref = (UrpcRef) { d->address, d->token, URPC_ANY_TOKEN_ID, 0 };
    pushes++;
    push_good += good;
    /* Who is late, or at the end, begins nothing. */
    g_assert(!urpc_push(call, opaque, &ref, d->size, NULL, run_push_done, opaque));
    g_assert(!urpc_pull(call, opaque, &ref, d->size, run_push_done, opaque));
    urpc_reply(call, now, URPC_OK, "pushed", 6);
}

static void run_push(void *opaque, UrpcCall *call, int64_t now)
{
    uint32_t n;
    const UrpcDma *d = urpc_call_dma(call, &n);
    UrpcRef ref = { d->address, d->token, URPC_ANY_TOKEN_ID, 0 };
    void *p = urpc_call_memory(call, d->size);

    ran++;
    g_assert_nonnull(p);
    memset(p, 'p', d->size);
    g_assert(urpc_push(call, p, &ref, d->size, NULL, run_push_done, p));
}

static Bed *bed_push(int64_t work_timeout, BedCall *c)
{
    Bed *b = bed_late(work_timeout);
    UrpcDma dma = bed_dma(b, 0, 0, 10);

    add(b, PUSH, "push", true, run_push);
    pushes = push_good = 0;
    call(b, PUSH, &dma, c);
    return b;
}

/* One that answers while its Write is under way: the place is free when that has ended. */
static void run_hasty_done(void *opaque, UrpcCall *call, int64_t now, bool good)
{
    pushes++;
    push_good += good;
}

static void run_hasty(void *opaque, UrpcCall *call, int64_t now)
{
    uint32_t n;
    const UrpcDma *d = urpc_call_dma(call, &n);
    UrpcRef ref = { d->address, d->token, URPC_ANY_TOKEN_ID, 0 };
    void *p = urpc_call_memory(call, d->size);

    g_assert(p && urpc_push(call, p, &ref, d->size, NULL, run_hasty_done, NULL));
    urpc_reply(call, now, URPC_OK, "hasty", 5);
}

static void test_hasty(void)
{
    Bed *b = bed_late(0);
    UrpcDma dma = bed_dma(b, 0, 0, 10);
    BedCall c;

    add(b, PUSH, "push", true, run_hasty);
    pushes = push_good = 0;
    call(b, PUSH, &dma, &c);
    bed_run(b);
    expect(&c, URPC_OK, "hasty");
    g_assert(pushes == 1 && push_good == 1);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    bed_free(b);
}

/* A caller that has its answer uses its memory again: it gets none before the Write has
 * ended, a round trip after the request came. */
static void test_late_push(void)
{
    BedCall c;
    Bed *b = bed_push(BED_LATENCY, &c);

    bed_run_to(b, 3 * BED_LATENCY - 1);
    g_assert_cmpuint(counters(b, 1)->late, ==, 1);
    g_assert(!pushes && !bed_count(b, URPC_RESPONSE, 1));
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 1);
    bed_run(b);
    g_assert(pushes == 1 && push_good == 1);
    expect(&c, URPC_TIMEOUT, "");
    g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 1);
    g_assert_cmpuint(counters(b, 1)->late, ==, 1);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    bed_free(b);
}

static void push_nothing(void *opaque, UrpcCall *call, int64_t now, bool good)
{
}

/* The function answers, too late, while its Write is under way. */
static void test_late_push_held(void)
{
    Bed *b = bed_late(2 * BED_LATENCY);
    UrpcRef ref = { bed_address(b, 0, 0), BED_TOKEN, URPC_ANY_TOKEN_ID, 0 };
    BedCall c;

    call(b, HOLD, NULL, &c);
    bed_run_to(b, 2 * BED_LATENCY);
    g_assert(urpc_push(held[0], "abc", &ref, 3, NULL, push_nothing, NULL));
    bed_run_to(b, 3 * BED_LATENCY + 1);
    g_assert(urpc_call_late(held[0]));
    held_reply(b, 0, URPC_OK, "too late");
    bed_run_to(b, 4 * BED_LATENCY - 1);
    g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 0);
    bed_run(b);
    expect(&c, URPC_TIMEOUT, "");
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    bed_free(b);
}

/* An end that goes while its carrier still has a Write, or a Read. */
static void test_end_moving(void)
{
    BedCall c, d;
    Bed *b = bed_push(0, &c);
    UrpcDma dma = bed_dma(b, 0, 0, 10);

    call(b, COUNT, &dma, &d);
    bed_run_to(b, 2 * BED_LATENCY);
    g_assert(ran == 1 && !pushes);
    g_assert_cmpuint(b->end[1][0].memory, ==, 20);
    bed_free(b);
    g_assert(ran == 1 && pushes == 1 && !push_good);
    g_assert(c.done == 1 && c.local && d.done == 1 && d.local);
}

/* ---- What changes between request and function ------------------------------------ */

/* A function that is taken away while arguments are fetched for it. */
static void test_removed(void)
{
    Bed *b = bed_late(0);
    UrpcDma dma = bed_dma(b, 0, 0, 10);
    BedCall c, d;

    call(b, HOLD, NULL, &d);
    call(b, COUNT, &dma, &c);
    bed_run_to(b, 2 * BED_LATENCY);
    g_assert(ran == 1 && holding == 1);
    urpc_functions_remove(b->fns[1], fn(COUNT));
    urpc_functions_remove(b->fns[1], fn(HOLD));
    bed_run_to(b, 10 * BED_LATENCY);
    g_assert_cmpuint(ran, ==, 1);
    expect(&c, URPC_NO_FUNCTION, "");
    /* What it had it still has. */
    held_reply(b, 0, URPC_OK, "x");
    bed_run(b);
    expect(&d, URPC_OK, "x");
    bed_free(b);
}

/* A table of arguments that is not the one whose sizes were added up. */
static void test_sizes(void)
{
    Bed *b = bed_late(0);
    uint8_t table[2 * URPC_DMA_SIZE];
    UrpcMessage m = {
        .type = URPC_REQUEST, .dma = table, .data = table,
        .request = { .version = URPC_VERSION, .function = fn(COUNT), .id = 7,
                     .dma_count = 2, .total = URPC_REQUEST_SIZE + 16 },
    };
    UrpcDma dma = bed_dma(b, 0, 0, UINT32_MAX);
    const BedMessage *sent;

    urpc_put(URPC_LITTLE, URPC_KIND_DMA, table, &dma);
    dma.size = 17;
    urpc_put(URPC_LITTLE, URPC_KIND_DMA, table + URPC_DMA_SIZE, &dma);
    urpc_callee_request(b->end[1][0].u, b->now, &m, URPC_OK);
    g_assert_cmpuint(b->end[1][0].memory, ==, 0);
    bed_run(b);
    sent = bed_last(b, URPC_RESPONSE, 1);
    g_assert_cmpuint(sent->bytes[1], ==, URPC_BAD_HEAD);
    g_assert_cmpuint(ran, ==, 0);
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urpc/under-way/hasty", test_hasty);
    g_test_add_func("/urpc/under-way/late-push", test_late_push);
    g_test_add_func("/urpc/under-way/late-push-held", test_late_push_held);
    g_test_add_func("/urpc/under-way/end-moving", test_end_moving);
    g_test_add_func("/urpc/under-way/removed", test_removed);
    g_test_add_func("/urpc/under-way/sizes", test_sizes);
    return g_test_run();
}
