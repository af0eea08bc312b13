/*
 * Asynchronous descriptor fetch: many outstanding, handed out in order
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>
#include "ncic/fetch.h"

typedef struct Source {
    NcicFetch f;
    uint32_t tag[NCIC_FETCH_SLOTS * 4];
    unsigned n;
    unsigned taken;
    int refuse;                 /* refuse this queue */
} Source;

static bool dequeue(void *opaque, NcicFetchOp *op, uint64_t *addr)
{
    Source *s = opaque;

    if (op->queue == s->refuse) {
        return false;
    }
    op->index = s->taken++;
    *addr = 0x1000 + op->index * NCIC_DESC_SIZE;
    return true;
}

static void start_read(void *opaque, const NcicFetchOp *op, uint64_t addr)
{
    Source *s = opaque;

    g_assert_cmphex(addr, ==, 0x1000 + op->index * NCIC_DESC_SIZE);
    g_assert_cmpuint(s->n, <, G_N_ELEMENTS(s->tag));
    s->tag[s->n++] = op->tag;
}

static const NcicFetchOps ops = { dequeue, start_read };

static void answer(Source *s, unsigned i)
{
    uint8_t desc[NCIC_DESC_SIZE];

    memset(desc, s->tag[i], sizeof(desc));
    g_assert_true(ncic_fetch_done(&s->f, s->tag[i], desc));
}

static Source *source_new(void)
{
    Source *s = g_new0(Source, 1);

    s->refuse = -1;
    /* whatever the memory had */
    memset(&s->f, 0xff, sizeof(s->f));
    ncic_fetch_init(&s->f, &ops, s);
    return s;
}

/* All slots outstanding, answered in random order: order of requests. */
static void test_order(void)
{
    for (unsigned round = 0; round < 50; round++) {
        Source *s = source_new();
        unsigned perm[NCIC_FETCH_SLOTS];
        unsigned out = 0;

        for (unsigned i = 0; i < NCIC_FETCH_SLOTS; i++) {
            g_assert_true(ncic_fetch_request(&s->f, i % 7));
            perm[i] = i;
        }
        g_assert_false(ncic_fetch_request(&s->f, 0));
        ncic_fetch_run(&s->f);
        g_assert_cmpuint(s->n, ==, NCIC_FETCH_SLOTS);
        for (unsigned i = NCIC_FETCH_SLOTS - 1; i > 0; i--) {
            unsigned j = g_test_rand_int_range(0, i + 1);
            unsigned t = perm[i];

            perm[i] = perm[j];
            perm[j] = t;
        }
        for (unsigned i = 0; i < NCIC_FETCH_SLOTS; i++) {
            NcicFetchOp *op;

            answer(s, perm[i]);
            while ((op = ncic_fetch_peek(&s->f))) {
                g_assert_cmpuint(op->status, ==, NCIC_FETCH_OK);
                g_assert_cmpuint(op->queue, ==, out % 7);
                g_assert_cmpuint(op->index, ==, out);
                g_assert_cmphex(op->desc[0], ==, (uint8_t)out);
                ncic_fetch_pop(&s->f);
                out++;
            }
        }
        g_assert_cmpuint(out, ==, NCIC_FETCH_SLOTS);
        g_assert_cmpuint(ncic_fetch_count(&s->f), ==, 0);
        /* no answer before the question */
        g_assert_true(ncic_fetch_request(&s->f, 1));
        g_assert_false(ncic_fetch_done(&s->f, s->f.start - 1, NULL));
        g_assert_null(ncic_fetch_peek(&s->f));
        g_free(s);
    }
}

/* The first answer arrives last: nothing comes out before it. */
static void test_head_of_line(void)
{
    Source *s = source_new();

    for (unsigned i = 0; i < 4; i++) {
        ncic_fetch_request(&s->f, 0);
    }
    ncic_fetch_run(&s->f);
    for (unsigned i = 3; i > 0; i--) {
        answer(s, i);
        g_assert_null(ncic_fetch_peek(&s->f));
    }
    answer(s, 0);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpuint(ncic_fetch_peek(&s->f)->index, ==, i);
        ncic_fetch_pop(&s->f);
    }
    g_assert_null(ncic_fetch_peek(&s->f));
    g_free(s);
}

static void test_refused_and_failed(void)
{
    Source *s = source_new();
    uint8_t expect[] = { NCIC_FETCH_OK, NCIC_FETCH_REFUSED, NCIC_FETCH_FAILED };

    s->refuse = 1;
    for (unsigned i = 0; i < 3; i++) {
        ncic_fetch_request(&s->f, i);
    }
    ncic_fetch_run(&s->f);
    g_assert_cmpuint(s->n, ==, 2);
    g_assert_true(ncic_fetch_done(&s->f, s->tag[1], NULL));
    g_assert_null(ncic_fetch_peek(&s->f));
    answer(s, 0);
    for (unsigned i = 0; i < 3; i++) {
        NcicFetchOp *op = ncic_fetch_peek(&s->f);

        g_assert_cmpuint(op->queue, ==, i);
        g_assert_cmpuint(op->status, ==, expect[i]);
        ncic_fetch_pop(&s->f);
    }
    g_free(s);
}

/* Answers that nobody waits for any more change nothing. */
static void test_stale_answers(void)
{
    Source *s = source_new();
    uint8_t desc[NCIC_DESC_SIZE] = { 0 };

    ncic_fetch_request(&s->f, 0);
    ncic_fetch_run(&s->f);
    answer(s, 0);
    g_assert_false(ncic_fetch_done(&s->f, s->tag[0], desc));
    ncic_fetch_pop(&s->f);
    g_assert_false(ncic_fetch_done(&s->f, s->tag[0], desc));

    ncic_fetch_request(&s->f, 0);
    ncic_fetch_run(&s->f);
    ncic_fetch_reset(&s->f);
    g_assert_cmpuint(ncic_fetch_count(&s->f), ==, 0);
    g_assert_false(ncic_fetch_done(&s->f, s->tag[1], desc));
    g_assert_false(ncic_fetch_done(&s->f, 0xdeadbeef, desc));

    /* A cancelled request is refused even if its data comes. */
    ncic_fetch_request(&s->f, 5);
    ncic_fetch_request(&s->f, 6);
    ncic_fetch_run(&s->f);
    g_assert_cmpuint(ncic_fetch_cancel(&s->f, 5), ==, 1);
    g_assert_cmpuint(ncic_fetch_cancel(&s->f, 5), ==, 0);
    g_assert_cmpuint(ncic_fetch_cancel(&s->f, 7), ==, 0);
    g_assert_false(ncic_fetch_done(&s->f, s->tag[2], desc));
    g_assert_true(ncic_fetch_done(&s->f, s->tag[3], desc));
    g_assert_cmpuint(ncic_fetch_peek(&s->f)->status, ==, NCIC_FETCH_REFUSED);
    ncic_fetch_pop(&s->f);
    g_assert_cmpuint(ncic_fetch_peek(&s->f)->status, ==, NCIC_FETCH_OK);
    g_free(s);
}

/* Only requests that took a descriptor count: answered, failed, waiting; not
 * refused ones nor those that have not been asked for yet. */
static void test_cancel_counts(void)
{
    Source *s = source_new();

    for (unsigned i = 0; i < 3; i++) {
        ncic_fetch_request(&s->f, 3);
    }
    ncic_fetch_run(&s->f);
    answer(s, 0);
    g_assert_true(ncic_fetch_done(&s->f, s->tag[1], NULL));
    s->refuse = 3;
    ncic_fetch_request(&s->f, 3);
    ncic_fetch_run(&s->f);
    ncic_fetch_request(&s->f, 3);
    g_assert_cmpuint(ncic_fetch_cancel(&s->f, 3), ==, 3);
    g_free(s);
}

/* The pointers are free-running 32-bit numbers. */
static void test_pointer_wrap(void)
{
    Source *s = source_new();

    s->f.start = s->f.read = s->f.dma = s->f.finish = UINT32_MAX - 10;
    for (unsigned i = 0; i < 40; i++) {
        g_assert_true(ncic_fetch_request(&s->f, i));
    }
    ncic_fetch_run(&s->f);
    for (unsigned i = 40; i > 0; i--) {
        answer(s, i - 1);
    }
    for (unsigned i = 0; i < 40; i++) {
        g_assert_cmpuint(ncic_fetch_peek(&s->f)->queue, ==, i);
        ncic_fetch_pop(&s->f);
    }
    g_assert_cmpuint(ncic_fetch_count(&s->f), ==, 0);
    g_free(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ncic/fetch/order", test_order);
    g_test_add_func("/ncic/fetch/head-of-line", test_head_of_line);
    g_test_add_func("/ncic/fetch/refused-and-failed", test_refused_and_failed);
    g_test_add_func("/ncic/fetch/stale-answers", test_stale_answers);
    g_test_add_func("/ncic/fetch/cancel-counts", test_cancel_counts);
    g_test_add_func("/ncic/fetch/pointer-wrap", test_pointer_wrap);
    return g_test_run();
}
