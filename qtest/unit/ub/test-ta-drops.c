/*
 * Transaction layer: whatever is thrown away has its counter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

#include "internal.h"

static uint64_t dropped(Pair *p, unsigned node)
{
    uint64_t n = 0;

    for (unsigned c = UB_TAC_DROP_SEC; c < UB_TA_COUNTERS_NUM; c++) {
        n += pair_count(p, node, c);
    }
    return n;
}

/* The first packet of a Write is refused; the others are thrown away, the last one, with
 * which the answer goes, too. */
static void test_rest(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 4 * 4096);

    pair_queue(p, 0, 7, UB_ROI);
    w->req.token++;
    work_all(p, 0, 7, w, UB_TAS_ABORT);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_RX_REQUESTS), ==, 4);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_ABORT_TX), ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_REFUSED), ==, 3);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 4 * 4096), UB_TAS_OK);
    g_assert_cmpuint(dropped(p, 1), ==, 3);
    pair_idle(p);
    pair_free(p);
}

/* Nobody is told of a message by UTP that finds no receive entry, or another Jetty, or
 * one that refuses it. */
static void test_unheard(void)
{
    static const UbRecvResult results[] = { UB_RECV_EMPTY, UB_RECV_DENIED,
                                            UB_RECV_UNSUPPORTED, UB_RECV_SILENT,
                                            UB_RECV_OK };
    Pair *p = pair_new(2, NULL);

    pair_queue(p, 0, 7, UB_UNO);
    pair_recv(p, 1, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(results); i++) {
        p->end[1].recv_result = results[i];
        work_all(p, 0, 7, work_new(ROW_UTP + 1, UB_TA_SEND, 0, 8), UB_TAS_OK);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_REFUSED), ==, MIN(i + 1, 3));
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_SILENT), ==, i >= 3);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_RECEIVED), ==, i == 4);
    }
    g_assert_cmpuint(dropped(p, 1), ==, 4);
    pair_idle(p);
    pair_free(p);
}

/* Of an operation for an SC that there is not only the end is answered. */
static void test_no_sc(void)
{
    UbTaQueueConfig cfg = { .rcid = 7, .mode = UB_ROT, .static_sc = true, .scid = 77 };
    Pair *p = pair_new(2, NULL);

    g_assert_nonnull(ub_ta_queue_new(p->end[0].ta, &cfg));
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 3 * 4096), UB_TAS_TIMEOUT);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_RX_REQUESTS), ==, 3);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_UNSUPPORTED_TX), ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_REFUSED), ==, 2);
    g_assert_cmpuint(dropped(p, 1), ==, 2);
    pair_idle(p);
    pair_free(p);
}

static unsigned losing;

static bool lose_one(Pair *p, Wire *w)
{
    return w->from != 0 || losing++;
}

/* A queue with an SC of whose next @n strongly ordered Writes the first is lost: the
 * others, of @len bytes each and by a row like @row, wait for it at the target. */
static void hold(Pair *p, Work **w, unsigned n, uint32_t row, uint32_t len)
{
    UbTaDest d = *ub_ta_dest(p->end[0].ta, row);

    pair_queue(p, 0, 7, UB_ROT);
    work_all(p, 0, 7, work_new(ROW_CTP7 + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    losing = 0;
    p->filter = lose_one;
    for (unsigned i = 0; i < n; i++) {
        w[i] = work_new(ROW_CTP7 + 1, UB_TA_WRITE, 0, i ? len : 8);
        w[i]->req.order = UB_TA_SO;
        work_post(p, 0, 7, w[i]);
        pair_run_for(p, 100000);
        g_assert_true(ub_ta_set_dest(p->end[0].ta, ROW_CTP7 + 1, &d));
    }
}

static void free_all(Pair *p, Work **w, unsigned n)
{
    pair_run(p);
    for (unsigned i = 0; i < n; i++) {
        g_assert_true(w[i]->done);
        work_free(w[i]);
    }
    pair_free(p);
}

/* Where an SC has room for two: a third is thrown away, and refused; where its packets are
 * those of one operation, the two that are held go, too, and what comes of it behind. */
static void test_held_room(void)
{
    UbTaConfig cfg;
    UbTaState s;
    Work *w[4];
    Pair *p;

    pair_config(&cfg);
    cfg.sc_buffer = 2;
    cfg.rnr_timer = 18;             /* half a second: longer than this test */
    p = pair_new(2, &cfg);
    hold(p, w, 4, ROW_CTP7 + 1, 8);
    ub_ta_state(p->end[1].ta, &s);
    g_assert_cmpuint(s.held, ==, 2);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_ROOM), ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_RNR_TX), ==, 1);
    g_assert_cmpuint(dropped(p, 1), ==, 1);
    free_all(p, w, 4);

    p = pair_new(2, &cfg);
    hold(p, w, 2, ROW_RTP + 1, 4 * 4096);
    ub_ta_state(p->end[1].ta, &s);
    g_assert_cmpuint(s.held, ==, 0);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_ROOM), ==, 3);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_REFUSED), ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_RNR_TX), ==, 1);
    g_assert_cmpuint(dropped(p, 1), ==, 4);
    free_all(p, w, 2);
}

/* What is held for its order, what found no room below, what is owed: a reset loses it. */
static void test_reset(void)
{
    UbTaConfig cfg;
    UbTaState s;
    Work *w[3];
    Pair *p;

    pair_config(&cfg);
    p = pair_new(2, &cfg);
    hold(p, w, 3, ROW_CTP7 + 1, 8);
    ub_ta_state(p->end[1].ta, &s);
    g_assert_cmpuint(s.held, ==, 2);
    ub_ta_reset(p->end[1].ta);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_FLUSHED), ==, 2);
    g_assert_cmpuint(dropped(p, 1), ==, 2);
    free_all(p, w, 3);

    p = pair_new(2, NULL);
    pair_queue(p, 0, 7, UB_ROI);
    p->busy = 1000000;
    w[0] = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
    work_post(p, 0, 7, w[0]);
    pair_run_for(p, 10000);
    p->busy = 0;
    ub_ta_reset(p->end[0].ta);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_DROP_FLUSHED), ==, 1);
    g_assert_cmpuint(dropped(p, 0), ==, 1);
    work_free(w[0]);
    pair_free(p);
}

/* Those that versions before have are loaded from them; the others begin with 0. */
static void test_versions(void)
{
    static const struct { uint16_t version; unsigned counters; } rows[] = {
        { 8, UB_TA_COUNTERS_NUM }, { 7, UB_TAC_DROP_REFUSED },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const unsigned less = 8 * (UB_TA_COUNTERS_NUM - rows[i].counters);
        Pair *p = pair_new(2, NULL);
        g_autofree uint8_t *data = NULL;
        size_t len;

        for (unsigned c = 0; c < UB_TA_COUNTERS_NUM; c++) {
            p->end[0].ta->count[c] = 100 + c;
        }
        data = pair_save(p, 0, &len);
        g_assert_cmpuint(get_be16(data + 4), ==, rows[0].version);
        put_be16(data + 4, rows[i].version);
        put_be32(data + 6, get_be32(data + 6) - less);
        g_assert_cmpstr(pair_load(p, 1, data, len - less), ==, NULL);
        for (unsigned c = 0; c < UB_TA_COUNTERS_NUM; c++) {
            g_assert_cmpuint(pair_count(p, 1, c), ==, c < rows[i].counters ? 100 + c : 0);
        }
        pair_free(p);
    }
}

/* ---- keys that are not there ---- */

/* The key that it seals with goes while a request is executed. */
static void erase(End *e, const UbAccess *a)
{
    e->accessed = NULL;
    g_assert_cmpint(ub_cip_erase_key(pair_cip(e->p, e->index), 0, !e->index, UB_CIP_TX,
                                     0), ==, UB_CIP_OK);
}

/* An answer or a message whose headers need a key that has gone. */
static void test_unsent(void)
{
    UbTaRequest req = { .msn = 7, .len = 4 };
    Pair *p = pair_new(2, NULL);
    Work *w = work_new(ROW_CTP + 1, UB_TA_READ, 0, 8);

    pair_cip_up(p, UB_CIP_AES_256_GCM, UB_CIP_ON);
    pair_queue(p, 0, 7, UB_ROI);
    p->end[1].accessed = erase;
    work_all(p, 0, 7, w, UB_TAS_TIMEOUT);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_UNSENT), ==, 1);
    g_assert_cmpint(ub_ta_message(p->end[1].ta, p->now,
                                  ub_ta_dest(p->end[1].ta, ROW_CTP), &req, "abcd"), ==,
                    UB_LOST);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_UNSENT), ==, 2);
    g_assert_cmpuint(dropped(p, 1), ==, 2);
    pair_idle(p);
    pair_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/drops/rest", test_rest);
    g_test_add_func("/ub/ta/drops/unheard", test_unheard);
    g_test_add_func("/ub/ta/drops/no-sc", test_no_sc);
    g_test_add_func("/ub/ta/drops/held-room", test_held_room);
    g_test_add_func("/ub/ta/drops/reset", test_reset);
    g_test_add_func("/ub/ta/drops/versions", test_versions);
    g_test_add_func("/ub/ta/drops/unsent", test_unsent);
    return g_test_run();
}
