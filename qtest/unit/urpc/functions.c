/*
 * Functions that the tests of URPC call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "functions.h"

uint64_t fn(uint32_t method)
{
    return URPC_FUNCTION(BED_UNIT, 0, method);
}

unsigned ran;
UrpcCall *held[FUNCTIONS_HELD];
unsigned holding;

/* What came, inline and fetched, comes back. */
void run_echo(void *opaque, UrpcCall *call, int64_t now)
{
    uint32_t len, more;
    const uint8_t *p = urpc_call_inline(call, &len);
    const uint8_t *args = urpc_call_args(call, &more);
    g_autofree uint8_t *out = g_malloc(len + more + 1);

    ran++;
    memcpy(out, p, len);
    if (more) {
        memcpy(out + len, args, more);
    }
    urpc_reply(call, now, URPC_OK, out, len + more);
}

/* Kept, for the test to answer. */
void run_hold(void *opaque, UrpcCall *call, int64_t now)
{
    ran++;
    g_assert_cmpuint(holding, <, G_N_ELEMENTS(held));
    held[holding++] = call;
}

/* A reference: the function reads it when it wants to. */
static void run_fetch_done(void *opaque, UrpcCall *call, int64_t now, bool good)
{
    const UrpcDma *d;
    uint32_t n;

    d = urpc_call_dma(call, &n);
    urpc_args_done(call, now);
    if (!good || !opaque) {
        urpc_reply(call, now, URPC_REFUSED, NULL, 0);
        return;
    }
    urpc_reply(call, now, URPC_OK, opaque, d->size);
}

static void run_fetch(void *opaque, UrpcCall *call, int64_t now)
{
    uint32_t n;
    const UrpcDma *d = urpc_call_dma(call, &n);
    UrpcRef ref = { 0 };
    void *p;

    ran++;
    g_assert_cmpuint(n, ==, 1);
    ref = (UrpcRef) { d->address, d->token, URPC_ANY_TOKEN_ID, 0 };
    p = urpc_call_memory(call, d->size);
    if (!p || !urpc_pull(call, p, &ref, d->size, run_fetch_done, p)) {
        urpc_reply(call, now, URPC_NO_BUFFER, NULL, 0);
        return;
    }
    /* One at a time. */
    g_assert(!urpc_pull(call, p, &ref, d->size, run_fetch_done, p));
    g_assert(!urpc_call_memory(call, 1));
}

void add(Bed *b, unsigned node, uint32_t method, const char *name,
                bool reference, void (*run)(void *, UrpcCall *, int64_t))
{
    UrpcFunction f = { .function = fn(method), .run = run, .opaque = b,
                       .reference = reference };

    g_strlcpy(f.name, name, sizeof(f.name));
    g_assert_cmpint(urpc_functions_add(b->fns[node], &f), ==, 0);
}

Bed *bed_with(const UrpcConfig *conf)
{
    Bed *b = bed_new(2, conf);

    for (unsigned node = 0; node < 2; node++) {
        add(b, node, ECHO, "echo", false, run_echo);
        add(b, node, HOLD, "hold", false, run_hold);
        add(b, node, FETCH, "fetch", true, run_fetch);
    }
    ran = holding = 0;
    return b;
}

Bed *bed_plain(void)
{
    UrpcConfig c;

    bed_conf(&c);
    return bed_with(&c);
}

void held_reply(Bed *b, unsigned i, UrpcStatus status, const char *text)
{
    urpc_reply(held[i], b->now, status, text, strlen(text));
}

UrpcArgs args_of(uint32_t method, const char *text)
{
    return (UrpcArgs) { .function = fn(method), .data = text,
                        .len = strlen(text) };
}

void expect(const BedCall *c, UrpcStatus status, const char *text)
{
    g_assert_cmpuint(c->done, ==, 1);
    g_assert_cmpuint(c->released, ==, 1);
    g_assert_cmpuint(c->status, ==, status);
    g_assert_cmpuint(c->len, ==, strlen(text));
    g_assert_cmpmem(c->data, c->len, text, strlen(text));
}

const UrpcCounters *counters(Bed *b, unsigned node)
{
    return urpc_counters(b->end[node][!node].u);
}
