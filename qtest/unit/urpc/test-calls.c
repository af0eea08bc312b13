/*
 * Calls of URPC between two ends: arguments in every way, Acks, Responses alone and
 * together, every status, what comes twice, late, never or from a liar (UB 2.0 §8.5,
 * appendix H).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <string.h>

#include "functions.h"

/* ---- Arguments (§8.5.3) -------------------------------------------------------- */

static void test_inline(void)
{
    Bed *b = bed_plain();
    const BedMessage *m;
    BedCall c;

    g_assert_cmpint(bed_call(b, 0, 1, args_of(ECHO, "hello"), &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_OK, "hello");
    g_assert(!c.local && c.defined == URPC_PLAIN);
    /* Half a round trip each way, and no Ack that was not asked for. */
    g_assert_cmpint(b->now, ==, 2 * BED_LATENCY);
    g_assert_cmpuint(bed_count(b, URPC_ACK, 1), ==, 0);
    m = bed_last(b, URPC_REQUEST, 0);
    g_assert_cmpuint(m->len, ==, 25);
    g_assert_cmpuint(m->bytes[1], ==, 0);
    m = bed_last(b, URPC_RESPONSE, 1);
    g_assert_cmpuint(m->len, ==, 21);
    g_assert_cmpuint(urpc_calling(b->end[0][1].u), ==, 0);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    bed_free(b);
}

/* The server reads the arguments; they are the caller's again when the function has begun. */
static void test_value(void)
{
    Bed *b = bed_plain();
    UrpcDma dma[3] = { bed_dma(b, 0, 100, 6), bed_dma(b, 0, 0, 0),
                       bed_dma(b, 0, 5000, 5) };
    UrpcArgs args = args_of(ECHO, "say ");
    BedCall c, d;

    memcpy(b->mem[0] + 100, "hello ", 6);
    memcpy(b->mem[0] + 5000, "world", 5);
    args.dma = dma;
    args.dma_count = 3;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_OK, "say hello world");
    args.function = fn(HOLD);
    args.ack = true;
    g_assert_cmpint(bed_call(b, 0, 1, args, &d), ==, 0);
    bed_run_to(b, b->now + 100 * BED_LATENCY);
    g_assert(d.released == 1 && !d.done);
    g_assert_cmpuint(b->end[1][0].memory, ==, 11);
    held_reply(b, 0, URPC_OK, "");
    bed_run(b);
    expect(&d, URPC_OK, "");
    bed_free(b);
}

static void test_value_refused(void)
{
    Bed *b = bed_plain();
    UrpcDma dma = bed_dma(b, 0, 0, 10);
    UrpcArgs args = args_of(ECHO, "");
    BedCall c;

    args.dma = &dma;
    args.dma_count = 1;
    dma.token++;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_REFUSED, "");
    dma.token--;
    b->end[1][0].no_moves = true;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_REFUSED, "");
    g_assert_cmpuint(ran, ==, 0);
    bed_free(b);
}

static void test_reference(void)
{
    Bed *b = bed_plain();
    UrpcDma dma = bed_dma(b, 0, 100, 5);
    UrpcArgs args = args_of(FETCH, "");
    BedCall c;

    memcpy(b->mem[0] + 100, "later", 5);
    args.dma = &dma;
    args.dma_count = 1;
    args.ack = true;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    /* The function runs at once, and no Ack goes before it has what it reads. */
    bed_run_to(b, b->now + 2 * BED_LATENCY);
    g_assert_cmpuint(ran, ==, 1);
    g_assert_cmpuint(bed_count(b, URPC_ACK, 1), ==, 0);
    bed_run(b);
    expect(&c, URPC_OK, "later");
    g_assert(c.released_first);
    g_assert_cmpuint(bed_count(b, URPC_ACK, 1), ==, 1);
    dma.token++;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_REFUSED, "");
    bed_free(b);
}

/* ---- Acks ---------------------------------------------------------------------- */

static void test_ack(void)
{
    Bed *b = bed_plain();
    UrpcArgs args = args_of(HOLD, "x");
    BedCall c;

    args.ack = true;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    g_assert_cmphex(bed_last(b, URPC_REQUEST, 0)->bytes[1], ==, 0x80);
    bed_run_to(b, 3 * BED_LATENCY);
    g_assert(c.released == 1 && !c.done);
    held_reply(b, 0, URPC_OK, "y");
    bed_run(b);
    expect(&c, URPC_OK, "y");
    g_assert_cmpuint(bed_last(b, URPC_ACK, 1)->len, ==, 12);
    g_assert_cmpuint(bed_count(b, URPC_ACK, 1), ==, 1);
    g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 1);
    g_assert_cmpuint(bed_count(b, URPC_ACK_RESPONSE, 1), ==, 0);
    bed_free(b);
}

/* The server may send both together (type 3); not for those who want none. */
static void test_merge(void)
{
    UrpcConfig conf;
    UrpcArgs args = args_of(ECHO, "x");
    BedCall c;
    Bed *b;

    bed_conf(&conf);
    conf.merge = true;
    b = bed_with(&conf);
    args.ack = true;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_OK, "x");
    g_assert(c.released_first);
    g_assert_cmpuint(bed_count(b, URPC_ACK, 1), ==, 0);
    g_assert_cmpuint(bed_count(b, URPC_ACK_RESPONSE, 1), ==, 1);
    args.ack = false;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_OK, "x");
    g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 1);
    bed_free(b);
}

/* An Ack that found no room goes with the Response. */
static void test_ack_overtaken(void)
{
    Bed *b = bed_plain();
    UrpcArgs args = args_of(ECHO, "x");
    BedCall c;

    args.ack = true;
    b->end[1][0].full = true;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run_to(b, 10 * BED_LATENCY);
    g_assert(!c.done && !c.released);
    b->end[1][0].full = false;
    bed_run(b);
    expect(&c, URPC_OK, "x");
    g_assert_cmpuint(bed_count(b, URPC_ACK, 1) +
                     bed_count(b, URPC_ACK_RESPONSE, 1), ==, 1);
    bed_free(b);
}

static void test_one_way(void)
{
    Bed *b = bed_plain();
    UrpcArgs args = args_of(HOLD, "x");
    BedCall c;

    args.one_way = true;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    expect(&c, URPC_OK, "");
    bed_run_to(b, 10 * BED_LATENCY);
    urpc_reply_none(held[0], b->now);
    args.ack = true;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    g_assert_cmpuint(c.done, ==, 0);
    bed_run_to(b, 20 * BED_LATENCY);
    expect(&c, URPC_OK, "");
    urpc_reply_none(held[1], b->now);
    bed_run(b);
    g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 0);
    g_assert_cmpuint(bed_count(b, URPC_ACK, 1), ==, 1);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    /* The Ack that is the end of it goes when the function is through. */
    add(b, 1, SUM, "keep", true, run_hold);
    args.function = fn(SUM);
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run_to(b, b->now + 10 * BED_LATENCY);
    g_assert(!c.done && holding == 3);
    urpc_reply_none(held[2], b->now);
    bed_run(b);
    expect(&c, URPC_OK, "");
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    bed_free(b);
}

/* ---- Several calls in a message (tables H-5, H-6) ------------------------------- */

static Bed *bed_gather(unsigned gather, int64_t time, bool merge)
{
    UrpcConfig c;

    bed_conf(&c);
    c.gather = gather;
    c.gather_time = time;
    c.merge = merge;
    return bed_with(&c);
}

static void test_ranges(void)
{
    static const char *const texts[] = { "one", "", "three", "four!" };
    Bed *b = bed_gather(4, 1000000, true);
    const BedMessage *m;
    UrpcResponse h;
    BedCall c[4];

    for (unsigned i = 0; i < 4; i++) {
        UrpcArgs args = args_of(ECHO, texts[i]);

        args.ack = true;
        g_assert_cmpint(bed_call(b, 0, 1, args, &c[i]), ==, 0);
    }
    bed_run(b);
    for (unsigned i = 0; i < 4; i++) {
        expect(&c[i], URPC_OK, texts[i]);
    }
    /* Who has no data has another Function Defined only if it would name one. */
    g_assert_cmpuint(bed_count(b, URPC_ACK_RESPONSE, 1), ==, 1);
    m = bed_last(b, URPC_ACK_RESPONSE, 1);
    urpc_get(0, URPC_KIND_RESPONSE, m->bytes, &h);
    g_assert(h.range == 4 && h.id == c[3].id && h.total == 16 + 13);
    g_assert_cmpuint(m->len, ==, 16 + 13 + 12);
    g_assert_cmpuint(m->bytes[16], ==, 3);
    g_assert_cmpuint(m->bytes[20], ==, 3);
    g_assert_cmpuint(m->bytes[24], ==, 8);
    bed_free(b);
}

/* Acks of their own in one message; Responses without data have no offsets. */
static void test_ack_ranges(void)
{
    Bed *b = bed_gather(3, 50000, false);
    const int64_t begin = 1000000;
    const BedMessage *m;
    BedCall c[5];
    UrpcAck a;

    bed_run_to(b, begin);
    for (unsigned i = 0; i < 5; i++) {
        UrpcArgs args = args_of(HOLD, "x");

        args.ack = true;
        g_assert_cmpint(bed_call(b, 0, 1, args, &c[i]), ==, 0);
    }
    bed_run_to(b, begin + 2 * BED_LATENCY + 100);
    /* Three went at once, two wait for a third. */
    g_assert(c[2].released && !c[3].released);
    bed_run_to(b, begin + 100000);
    g_assert_cmpuint(bed_count(b, URPC_ACK, 1), ==, 2);
    m = bed_last(b, URPC_ACK, 1);
    urpc_get(0, URPC_KIND_ACK, m->bytes, &a);
    g_assert(a.range == 2 && a.id == c[4].id);
    for (unsigned i = 0; i < 5; i++) {
        g_assert_cmpuint(c[i].released, ==, 1);
        held_reply(b, i, URPC_OK, "");
    }
    bed_run(b);
    g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 2);
    g_assert_cmpuint(bed_last(b, URPC_RESPONSE, 1)->len, ==, 16);
    g_assert_cmpuint(bed_last(b, URPC_RESPONSE, 1)->bytes[2], ==, 2);
    bed_free(b);
}

/* Request IDs in sequence, one Channel, one Status: else a message of its own. */
static void test_range_breaks(void)
{
    Bed *b = bed_gather(16, 0, false);
    BedCall c[7];

    for (unsigned i = 0; i < 7; i++) {
        g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, "x"), &c[i]), ==, 0);
    }
    bed_run_to(b, 10 * BED_LATENCY);
    held_reply(b, 0, URPC_OK, "0");
    held_reply(b, 1, URPC_OK, "1");
    held_reply(b, 2, URPC_REFUSED, "");
    held_reply(b, 4, URPC_OK, "4");     /* 3 is missing */
    held_reply(b, 3, URPC_OK, "3");     /* and comes behind it */
    held_reply(b, 5, URPC_OK, "5");
    held_reply(b, 6, URPC_OK, "6");
    bed_run(b);
    expect(&c[0], URPC_OK, "0");
    expect(&c[1], URPC_OK, "1");
    expect(&c[2], URPC_REFUSED, "");
    for (unsigned i = 3; i < 7; i++) {
        expect(&c[i], URPC_OK, (char[]) { '0' + i, 0 });
    }
    /* 0 1 | 2 | 4 | 3 | 5 6 */
    g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 5);
    bed_free(b);
}

/* No message is longer than both ends said. */
static void test_range_size(void)
{
    Bed *b = bed_gather(16, 0, false);
    g_autofree char *text = g_strnfill(2030, 'a');
    BedCall c[4];

    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c[i]), ==, 0);
    }
    bed_run_to(b, 10 * BED_LATENCY);
    for (unsigned i = 0; i < 4; i++) {
        held_reply(b, i, URPC_OK, text);
    }
    bed_run(b);
    g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 2);
    g_assert_cmpuint(bed_last(b, URPC_RESPONSE, 1)->len, ==, 16 + 4 + 4060);
    for (unsigned i = 0; i < 4; i++) {
        expect(&c[i], URPC_OK, text);
    }
    bed_free(b);
}

/* Just as much as there is room for, with the offset; and a byte more. */
static void test_range_room(void)
{
    for (unsigned more = 0; more < 2; more++) {
        Bed *b = bed_gather(16, 0, false);
        unsigned half = (urpc_config(b->end[1][0].u)->message_max - 16 - 4) / 2;
        g_autofree char *one = g_strnfill(half, 'a');
        g_autofree char *two = g_strnfill(half + more, 'b');
        BedCall c[2];

        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c[i]), ==, 0);
        }
        bed_run_to(b, 10 * BED_LATENCY);
        held_reply(b, 0, URPC_OK, one);
        held_reply(b, 1, URPC_OK, two);
        bed_run(b);
        g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 1 + more);
        expect(&c[0], URPC_OK, one);
        expect(&c[1], URPC_OK, two);
        bed_free(b);
    }
}

/* ---- Statuses (table H-6) -------------------------------------------------------- */

static void test_functions(void)
{
    Bed *b = bed_plain();
    UrpcArgs args = args_of(99, "");
    BedCall c;

    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_NO_FUNCTION, "");
    /* Another Class has functions of its own. */
    args.function = URPC_FUNCTION(URPC_UNIT(3, 1), 0, ECHO);
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_NO_FUNCTION, "");
    args.function = URPC_FUNCTION(BED_UNIT, 1, ECHO);
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_NO_FUNCTION, "");
    args.function = URPC_FUNCTION(URPC_UNIT(3, 1), 0, URPC_LIST_PUBLIC);
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_NO_FUNCTION, "");
    /* A function that knows no such extension. */
    args = args_of(ECHO, "");
    args.defined = URPC_PLOG;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_BAD_HEAD, "");
    g_assert_cmpuint(ran, ==, 0);
    g_assert_cmpuint(counters(b, 1)->refused[URPC_NO_FUNCTION], ==, 4);
    bed_free(b);
}

/* What a function says comes through, a status that the document does not name too. */
static void test_said(void)
{
    Bed *b = bed_plain();
    BedCall c;

    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c), ==, 0);
    bed_run_to(b, 2 * BED_LATENCY);
    held_reply(b, 0, 42, "why");
    bed_run(b);
    expect(&c, 42, "why");
    g_assert_cmpuint(counters(b, 1)->refused[URPC_STATUSES], ==, 1);
    bed_free(b);
}

static void test_buffer(void)
{
    UrpcConfig conf;
    UrpcArgs args = args_of(HOLD, "");
    BedCall c[3];
    UrpcDma dma;
    Bed *b;

    bed_conf(&conf);
    conf.args_max = 1000;
    b = bed_with(&conf);
    dma = bed_dma(b, 0, 0, 600);
    args.dma = &dma;
    args.dma_count = 1;
    /* 600 are in use: no other 600, until they are given back. */
    g_assert_cmpint(bed_call(b, 0, 1, args, &c[0]), ==, 0);
    g_assert_cmpint(bed_call(b, 0, 1, args, &c[1]), ==, 0);
    bed_run_to(b, 20 * BED_LATENCY);
    expect(&c[1], URPC_NO_BUFFER, "");
    held_reply(b, 0, URPC_OK, "");
    bed_run_to(b, 30 * BED_LATENCY);
    g_assert_cmpint(bed_call(b, 0, 1, args, &c[2]), ==, 0);
    bed_run_to(b, 50 * BED_LATENCY);
    held_reply(b, 1, URPC_OK, "");
    bed_run(b);
    expect(&c[2], URPC_OK, "");
    /* One that never fits; a carrier that has no memory. */
    dma.size = 1001;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c[0]), ==, 0);
    bed_run(b);
    expect(&c[0], URPC_NO_BUFFER, "");
    dma.size = 10;
    b->end[1][0].no_memory = true;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c[0]), ==, 0);
    bed_run(b);
    expect(&c[0], URPC_NO_BUFFER, "");
    bed_free(b);
}

/* Inline arguments count as well. */
static void test_buffer_inline(void)
{
    g_autofree char *text = g_strnfill(600, 'a');
    UrpcConfig conf;
    BedCall c[2];
    Bed *b;

    bed_conf(&conf);
    conf.args_max = 1000;
    b = bed_with(&conf);
    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, text), &c[0]), ==, 0);
    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, text), &c[1]), ==, 0);
    bed_run_to(b, 20 * BED_LATENCY);
    expect(&c[1], URPC_NO_BUFFER, "");
    held_reply(b, 0, URPC_OK, "");
    bed_run(b);
    expect(&c[0], URPC_OK, "");
    bed_free(b);
}

static void test_timeout(void)
{
    Bed *b = bed_plain();
    BedCall c, d;

    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c), ==, 0);
    bed_run_to(b, 999999);
    g_assert_cmpuint(c.done, ==, 0);
    bed_run(b);
    expect(&c, URPC_TIMEOUT, "");
    g_assert(c.local && b->now == 1000000);
    /* What comes then comes to nobody, and hurts nobody. */
    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &d), ==, 0);
    held_reply(b, 0, URPC_OK, "late");
    bed_run_to(b, b->now + 10 * BED_LATENCY);
    g_assert_cmpuint(counters(b, 0)->stray, ==, 1);
    held_reply(b, 1, URPC_OK, "in time");
    bed_run(b);
    expect(&d, URPC_OK, "in time");
    g_assert_cmpuint(counters(b, 0)->timeouts, ==, 1);
    bed_free(b);
}

/* A function that takes too long is answered for; it still ends its call itself. */
static void test_late(void)
{
    UrpcConfig conf;
    BedCall c;
    Bed *b;

    bed_conf(&conf);
    conf.work_timeout = 5000;
    b = bed_with(&conf);
    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c), ==, 0);
    bed_run_to(b, 100000);
    expect(&c, URPC_TIMEOUT, "");
    g_assert(!c.local && urpc_call_late(held[0]));
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 1);
    held_reply(b, 0, URPC_OK, "at last");
    bed_run(b);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    g_assert_cmpuint(bed_count(b, URPC_RESPONSE, 1), ==, 1);
    g_assert_cmpuint(counters(b, 1)->late, ==, 1);
    bed_free(b);
}

/* It is late while its arguments are still on their way. */
static void test_late_fetch(void)
{
    UrpcConfig conf;
    UrpcArgs args = args_of(ECHO, "");
    UrpcDma dma;
    BedCall c;
    Bed *b;

    bed_conf(&conf);
    conf.work_timeout = BED_LATENCY;    /* a Read takes twice that */
    b = bed_with(&conf);
    dma = bed_dma(b, 0, 0, 10);
    args.dma = &dma;
    args.dma_count = 1;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_TIMEOUT, "");
    g_assert_cmpuint(ran, ==, 0);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    bed_free(b);
}

static void request_to(Bed *b, unsigned version, uint32_t id, int off)
{
    UrpcRequest r = {
        .version = version, .type = URPC_REQUEST, .function = fn(ECHO),
        .total = 20 + off, .id = id, .channel = 0xabc002, .ack = 1,
    };
    uint8_t p[20];

    urpc_put(0, URPC_KIND_REQUEST, p, &r);
    bed_inject(b, 0, 1, p, sizeof(p));
}

static void test_heads(void)
{
    static const UrpcStatus want[] = { URPC_BAD_VERSION, URPC_BAD_HEAD };
    Bed *b = bed_plain();

    for (unsigned i = 0; i < 2; i++) {
        UrpcResponse h;

        request_to(b, i ? 1 : 2, 100 + i, i);
        bed_run(b);
        urpc_get(0, URPC_KIND_RESPONSE,
                 bed_last(b, URPC_ACK_RESPONSE, 1)->bytes, &h);
        g_assert(h.status == want[i] && h.id == 100 + i && h.range == 1 &&
                 h.channel == 0xabc002 && h.total == 16);
    }
    g_assert_cmpuint(ran, ==, 0);
    g_assert(counters(b, 1)->bad_version == 1 && counters(b, 1)->bad_head == 1);
    /* Nothing of it is a call of ours. */
    g_assert_cmpuint(counters(b, 0)->stray, ==, 2);
    bed_inject(b, 0, 1, "\x10\x00", 2);
    bed_inject(b, 0, 1, "\x1f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 12);
    bed_run(b);
    g_assert_cmpuint(counters(b, 1)->malformed, ==, 2);
    g_assert_cmpuint(bed_count(b, URPC_ACK_RESPONSE, 1), ==, 2);
    bed_free(b);
}

/* ---- Twice, late, never ----------------------------------------------------------- */

static void test_duplicate(void)
{
    Bed *b = bed_plain();
    const BedMessage *m;
    BedCall c[20];

    g_assert_cmpint(bed_call(b, 0, 1, args_of(ECHO, "x"), &c[0]), ==, 0);
    bed_run(b);
    m = bed_last(b, URPC_REQUEST, 0);
    bed_inject(b, 0, 1, m->bytes, m->len);
    bed_run(b);
    g_assert_cmpuint(ran, ==, 1);
    g_assert_cmpuint(counters(b, 1)->duplicate, ==, 1);
    /* Its place has another now. */
    for (unsigned i = 1; i < 20; i++) {
        g_assert_cmpint(bed_call(b, 0, 1, args_of(ECHO, "x"), &c[i]), ==, 0);
        bed_run(b);
    }
    bed_inject(b, 0, 1, m->bytes, m->len);
    bed_run(b);
    g_assert_cmpuint(ran, ==, 20);
    g_assert_cmpuint(counters(b, 1)->stale, ==, 1);
    /* And an answer that comes twice. */
    m = bed_last(b, URPC_RESPONSE, 1);
    bed_inject(b, 1, 0, m->bytes, m->len);
    bed_run(b);
    g_assert_cmpuint(c[19].done, ==, 1);
    g_assert_cmpuint(counters(b, 0)->stray, ==, 1);
    bed_free(b);
}

static void test_depth(void)
{
    Bed *b = bed_plain();
    BedCall c[17];

    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c[i]), ==, 0);
    }
    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c[16]), ==, EAGAIN);
    bed_run(b);             /* all time out here; there they are still held */
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 16);
    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c[16]), ==, 0);
    bed_run(b);
    expect(&c[16], URPC_REFUSED, "");
    g_assert_cmpuint(ran, ==, 16);
    for (unsigned i = 0; i < 16; i++) {
        held_reply(b, i, URPC_OK, "");
    }
    bed_run(b);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    bed_free(b);
}

static void test_room(void)
{
    g_autofree char *text = g_strnfill(4096 - 19, 'a');
    Bed *b = bed_plain();
    UrpcDma dma[64];
    UrpcArgs args = args_of(ECHO, text);
    BedCall c;

    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, EMSGSIZE);
    args.len--;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, 0);
    bed_run(b);
    g_assert_cmpuint(c.len, ==, 4076);
    args = args_of(ECHO, "");
    args.dma = dma;
    args.dma_count = 64;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, EINVAL);
    args.dma_count = 2;
    dma[0] = dma[1] = bed_dma(b, 0, 0, UINT32_MAX / 2 + 1);
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, EMSGSIZE);
    args = args_of(ECHO, "");
    args.function |= 1ull << 48;
    g_assert_cmpint(bed_call(b, 0, 1, args, &c), ==, EINVAL);
    b->end[0][1].full = true;
    g_assert_cmpint(bed_call(b, 0, 1, args_of(ECHO, "x"), &c), ==, EAGAIN);
    g_assert_cmpuint(urpc_calling(b->end[0][1].u), ==, 0);
    b->end[0][1].full = false;
    g_assert_cmpint(bed_call(b, 0, 1, args_of(ECHO, "x"), &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_OK, "x");
    bed_free(b);
}

/* What does not fit into a message is not sent in part. */
static void test_reply_size(void)
{
    Bed *b = bed_plain();
    g_autofree char *text = g_strnfill(4081, 'a');
    BedCall c;

    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c), ==, 0);
    bed_run_to(b, 2 * BED_LATENCY);
    held_reply(b, 0, URPC_OK, text);
    bed_run(b);
    expect(&c, URPC_REFUSED, "");
    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c), ==, 0);
    bed_run_to(b, b->now + 2 * BED_LATENCY);
    held_reply(b, 1, URPC_OK, text + 1);
    bed_run(b);
    expect(&c, URPC_OK, text + 1);
    bed_free(b);
}

/* ---- Both ways (§8.5.2) ------------------------------------------------------------ */

static BedCall back;

static void run_both(void *opaque, UrpcCall *call, int64_t now)
{
    held[holding++] = call;
    g_assert_cmpint(bed_call(opaque, 1, 0, args_of(ECHO, "back"), &back), ==, 0);
}

static void test_both_ways(void)
{
    Bed *b = bed_plain();
    BedCall c;

    add(b, 1, SUM, "both", false, run_both);
    g_assert_cmpint(bed_call(b, 0, 1, args_of(SUM, ""), &c), ==, 0);
    while (!holding || !back.done) {
        g_assert(bed_step(b));
    }
    expect(&back, URPC_OK, "back");
    g_assert_cmpuint(c.done, ==, 0);
    held_reply(b, 0, URPC_OK, "forth");
    bed_run(b);
    expect(&c, URPC_OK, "forth");
    bed_free(b);
}

/* ---- Liars -------------------------------------------------------------------------- */

static void answer_from(Bed *b, UrpcType type, uint32_t id, unsigned range,
                        uint32_t channel)
{
    UrpcResponse r = { .version = 1, .type = type, .range = range, .id = id,
                       .channel = channel, .total = 16 };
    UrpcAck a = { .version = 1, .type = type, .range = range, .id = id,
                  .channel = channel };
    uint8_t p[16];

    urpc_put(0, type == URPC_ACK ? URPC_KIND_ACK : URPC_KIND_RESPONSE, p,
             type == URPC_ACK ? (void *)&a : &r);
    bed_inject(b, 1, 0, p, type == URPC_ACK ? 12 : 16);
}

static void test_foreign(void)
{
    Bed *b = bed_plain();
    uint32_t own = urpc_config(b->end[0][1].u)->channel;
    BedCall c;

    g_assert_cmpint(bed_call(b, 0, 1, args_of(HOLD, ""), &c), ==, 0);
    answer_from(b, URPC_RESPONSE, c.id, 1, own + 1);
    answer_from(b, URPC_ACK, c.id, 1, own ^ 0x800000);
    bed_run_to(b, 10 * BED_LATENCY);
    g_assert_cmpuint(counters(b, 0)->foreign, ==, 2);
    /* An Ack that nobody wants. */
    answer_from(b, URPC_ACK, c.id, 1, own);
    bed_run_to(b, 20 * BED_LATENCY);
    g_assert(!c.done && !c.released);
    g_assert_cmpuint(counters(b, 0)->stray, ==, 1);
    /* A range far beyond what there can be; what there is, is answered. */
    answer_from(b, URPC_RESPONSE, c.id + 5, 65535, own);
    bed_run_to(b, 30 * BED_LATENCY);
    expect(&c, URPC_OK, "");
    g_assert_cmpuint(counters(b, 0)->stray, ==, 1 + 65534);
    held_reply(b, 0, URPC_OK, "");
    bed_run(b);
    bed_free(b);
}

/* Requests without end and no room to answer: memory has a bound, and who waits for room
 * gets it. */
static void test_flood(void)
{
    Bed *b = bed_plain();
    BedCall c;

    b->end[1][0].full = true;
    for (unsigned i = 0; i < 1000; i++) {
        request_to(b, 1, i, 1);
    }
    bed_run_to(b, 10 * BED_LATENCY);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 16);
    g_assert_cmpuint(counters(b, 1)->lost, ==, 1000 - 16 - 16);
    b->end[1][0].full = false;
    bed_run(b);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    g_assert_cmpuint(counters(b, 1)->messages, ==, 32);
    /* An answer to each of the first that found no place. */
    for (unsigned i = 0; i < 32; i++) {
        const BedMessage *m = b->log->pdata[i];
        UrpcResponse h;

        urpc_get(0, URPC_KIND_RESPONSE, m->bytes, &h);
        g_assert(h.id == i &&
                 h.status == (i < 16 ? URPC_BAD_HEAD : URPC_REFUSED));
    }
    /* The other way still works. */
    g_assert_cmpint(bed_call(b, 1, 0, args_of(ECHO, "x"), &c), ==, 0);
    bed_run(b);
    expect(&c, URPC_OK, "x");
    bed_free(b);
}

static void test_configs(void)
{
    static const UrpcOps none = { 0 };
    UrpcConfig good, c;
    Urpc *u;

    bed_conf(&good);
    g_assert_null(urpc_new(&good, &none, NULL, NULL));
#define BAD(field, value)                                                       \
    c = good;                                                                   \
    c.field = value;                                                            \
    g_assert_null(urpc_new(&c, &(UrpcOps) { .send = (void *)test_inline }, NULL, \
                           NULL))
    BAD(depth, 0);
    BAD(depth, 3);
    BAD(depth, 65536);
    BAD(channel, 1 << 24);
    BAD(gather, 0);
    BAD(gather, 65536);
    BAD(message_max, 255);
    BAD(message_max, (1u << 30) + 1);
    BAD(order, 2);
    c = good;
    c.depth = 32768;
    u = urpc_new(&c, &(UrpcOps) { .send = (void *)test_inline }, NULL, NULL);
    g_assert_nonnull(u);
    urpc_free(u);
}

/* ---- Random ------------------------------------------------------------------------- */

static void random_run(unsigned lose, unsigned twice, unsigned jumble, bool merge,
                       unsigned gather)
{
    enum { CALLS = 400 };
    g_autofree BedCall *c = g_new0(BedCall, CALLS);
    unsigned made = 0, ok = 0;
    UrpcConfig conf;
    Bed *b;

    bed_conf(&conf);
    conf.merge = merge;
    conf.gather = gather;
    conf.gather_time = 3000;
    conf.order = gather & 1;
    b = bed_with(&conf);
    b->lose = lose;
    b->twice = twice;
    b->jumble = jumble;
    while (made < CALLS) {
        char text[16];
        UrpcArgs args;
        UrpcDma dma = bed_dma(b, made & 1, 8 * (made % 100), 8);

        g_snprintf(text, sizeof(text), "call %u", made);
        args = args_of(made % 3 ? ECHO : FETCH, text);
        args.ack = made % 5 < 3;
        if (made % 3 != 1) {
            args.dma = &dma;
            args.dma_count = 1;
        }
        if (bed_call(b, made & 1, !(made & 1), args, &c[made])) {
            g_assert(bed_step(b));
        } else {
            made++;
        }
    }
    bed_run(b);
    for (unsigned i = 0; i < CALLS; i++) {
        g_assert_cmpuint(c[i].done, ==, 1);
        g_assert_cmpuint(c[i].released, ==, 1);
        ok += c[i].status == URPC_OK;
        if (!lose && !jumble) {
            g_assert_cmpuint(c[i].status, ==, URPC_OK);
        }
        if (c[i].status == URPC_OK && i % 3) {
            g_autofree char *text = g_strdup_printf("call %u", i);

            g_assert_cmpmem(c[i].data, strlen(text), text, strlen(text));
        }
    }
    g_assert_cmpuint(ran, <=, CALLS);
    g_assert_cmpuint(ok, <=, ran);
    g_assert_cmpuint(ok, >, 0);
    g_assert_cmpuint(urpc_serving(b->end[0][1].u), ==, 0);
    g_assert_cmpuint(urpc_serving(b->end[1][0].u), ==, 0);
    bed_free(b);
}

static void test_random(void)
{
    random_run(0, 0, 0, false, 1);
    random_run(0, 30, 0, true, 8);
    random_run(20, 0, 0, false, 3);
    random_run(10, 20, 50, true, 1);
    random_run(10, 20, 50, false, 16);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urpc/calls/inline", test_inline);
    g_test_add_func("/urpc/calls/value", test_value);
    g_test_add_func("/urpc/calls/value-refused", test_value_refused);
    g_test_add_func("/urpc/calls/reference", test_reference);
    g_test_add_func("/urpc/calls/ack", test_ack);
    g_test_add_func("/urpc/calls/merge", test_merge);
    g_test_add_func("/urpc/calls/ack-overtaken", test_ack_overtaken);
    g_test_add_func("/urpc/calls/one-way", test_one_way);
    g_test_add_func("/urpc/calls/ranges", test_ranges);
    g_test_add_func("/urpc/calls/ack-ranges", test_ack_ranges);
    g_test_add_func("/urpc/calls/range-breaks", test_range_breaks);
    g_test_add_func("/urpc/calls/range-size", test_range_size);
    g_test_add_func("/urpc/calls/range-room", test_range_room);
    g_test_add_func("/urpc/calls/functions", test_functions);
    g_test_add_func("/urpc/calls/said", test_said);
    g_test_add_func("/urpc/calls/buffer", test_buffer);
    g_test_add_func("/urpc/calls/buffer-inline", test_buffer_inline);
    g_test_add_func("/urpc/calls/timeout", test_timeout);
    g_test_add_func("/urpc/calls/late", test_late);
    g_test_add_func("/urpc/calls/late-fetch", test_late_fetch);
    g_test_add_func("/urpc/calls/heads", test_heads);
    g_test_add_func("/urpc/calls/duplicate", test_duplicate);
    g_test_add_func("/urpc/calls/depth", test_depth);
    g_test_add_func("/urpc/calls/room", test_room);
    g_test_add_func("/urpc/calls/reply-size", test_reply_size);
    g_test_add_func("/urpc/calls/both-ways", test_both_ways);
    g_test_add_func("/urpc/calls/foreign", test_foreign);
    g_test_add_func("/urpc/calls/flood", test_flood);
    g_test_add_func("/urpc/calls/configs", test_configs);
    g_test_add_func("/urpc/calls/random", test_random);
    return g_test_run();
}
