/*
 * The transaction layer: order, fence, sequence contexts, completion order, peers and
 * images that are hostile.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ta-pair.h"

/* ---- order ---- */

static GString *trail;          /* addresses that the target works for */

static void on_access(End *e, const UbAccess *a)
{
    g_string_append_c(trail, 'a' + (a->addr - PAIR_UBA) / 4096 % 26);
}

static bool hold_first(Pair *p, Wire *w)
{
    /* What goes to page a takes its time. */
    if (w->to == 1 && w->dest.flow.lbf == 0 && p->packets == 1) {
        w->due += 100000;
    }
    return true;
}

/* Requests of pages a, b, c ..., each with its order; RO if capital, SO if '!'. */
static void post_orders(Pair *p, uint32_t rcid, uint32_t row,
                        const char *orders, Work **w)
{
    for (unsigned i = 0; orders[i]; i++) {
        bool read = strchr("rR", orders[i]);

        w[i] = work_new(row + 1, read ? UB_TA_READ : UB_TA_WRITE, 4096 * i, 64);
        w[i]->req.order = orders[i] == '!' ? UB_TA_SO
                          : g_ascii_isupper(orders[i]) ? UB_TA_RO : UB_TA_NO;
        w[i]->req.fence = orders[i] == 'f';
        work_post(p, 0, rcid, w[i]);
    }
}

static void free_works(Work **w, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g_assert_true(w[i]->done);
        g_assert_cmpint(w[i]->status, ==, UB_TAS_OK);
        work_free(w[i]);
    }
}

/* Table 7-13: Write RO, Write SO, Read NO, Write NO with fence, Read NO. */
static void test_order_table(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w[5];

    trail = g_string_new(NULL);
    p->end[1].accessed = on_access;
    p->filter = hold_first;
    pair_queue(p, 0, 7, UB_ROI);
    post_orders(p, 7, ROW_SPRAY, "W!rfr", w);
    pair_run(p);
    /* The Read overtakes; the fence waits for it alone, the SO for the RO. */
    g_assert_cmpint(w[2]->at, <, w[0]->at);
    g_assert_cmpint(w[3]->at, >, w[2]->at);
    g_assert_cmpint(w[1]->at, >, w[0]->at);
    g_assert_cmpint(strchr(trail->str, 'a') - trail->str, <,
                    strchr(trail->str, 'b') - trail->str);
    g_assert_cmpint(strchr(trail->str, 'c') - trail->str, <,
                    strchr(trail->str, 'd') - trail->str);
    free_works(w, 5);
    g_string_free(trail, true);
    pair_idle(p);
    pair_free(p);
}

/* An SO is not sent before all RO and SO before it are answered; NO and RO are. */
static void test_order_gate(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w[6];

    pair_queue(p, 0, 7, UB_ROI);
    post_orders(p, 7, ROW_CTP, "W!W!wW", w);
    ub_ta_run(p->end[0].ta, p->now, 100);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 4);
    pair_run(p);
    g_assert_cmpint(w[1]->at, >, w[0]->at);
    g_assert_cmpint(w[3]->at, >, w[1]->at);
    g_assert_cmpint(w[3]->at, >, w[2]->at);
    free_works(w, 6);
    /* ROL leaves it to the transport. */
    pair_queue(p, 0, 8, UB_ROL);
    post_orders(p, 8, ROW_CTP, "W!W!wW", w);
    ub_ta_run(p->end[0].ta, p->now, 100);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 12);
    pair_run(p);
    free_works(w, 6);
    pair_idle(p);
    pair_free(p);
}

/* §7.3.3.3: the first request asks for an SC; then nothing waits at home. */
static void test_sc(void)
{
    UbTaConfig cfg;
    Pair *p;
    Work *w[6];
    UbTaState s;

    for (unsigned buffer = 0; buffer < 2; buffer++) {
        pair_config(&cfg);
        cfg.sc_buffer = buffer ? 64 : 0;
        cfg.rnr_timer = 2;
        cfg.retries = UINT8_MAX;
        p = pair_new(2, &cfg);
        p->tracing = true;
        trail = g_string_new(NULL);
        pair_queue(p, 0, 7, UB_ROT);
        post_orders(p, 7, ROW_SPRAY, "W!", w);
        ub_ta_run(p->end[0].ta, p->now, 100);
        g_assert_cmpuint(p->end[0].sent->len, ==, 1);
        g_assert_nonnull(strstr(p->end[0].sent->pdata[0], "alloc"));
        pair_run(p);
        g_assert_nonnull(strstr(p->end[1].sent->pdata[0], " sv rc=0:7"));
        g_assert_nonnull(strstr(p->end[0].sent->pdata[1], "rc=2:0"));
        g_assert_nonnull(strstr(p->end[1].sent->pdata[1], "rc=0:7"));
        free_works(w, 2);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_GRANTED), ==, 1);
        ub_ta_state(p->end[1].ta, &s);
        g_assert_cmpuint(s.scs, ==, 1);
        /* The first of these comes last. */
        p->end[1].accessed = on_access;
        p->packets = 0;
        p->filter = hold_first;
        post_orders(p, 7, ROW_SPRAY, "W!W!", w);
        ub_ta_run(p->end[0].ta, p->now, 100);
        g_assert_cmpuint(p->end[0].sent->len, ==, 6);
        pair_run(p);
        g_assert_cmpint(strchr(trail->str, 'a') - trail->str, <,
                        strchr(trail->str, 'b') - trail->str);
        g_assert_cmpint(strchr(trail->str, 'c') - trail->str, <,
                        strchr(trail->str, 'd') - trail->str);
        g_assert_cmpint(strchr(trail->str, 'c') - trail->str, <,
                        strchr(trail->str, 'a') - trail->str);
        g_assert_cmpint(strchr(trail->str, 'b') - trail->str, <,
                        strchr(trail->str, 'd') - trail->str);
        g_assert_cmpint(pair_count(p, 1, UB_TAC_SC_HELD) > 0, ==, buffer);
        g_assert_cmpint(pair_count(p, 1, UB_TAC_RNR_TX) > 0, ==, !buffer);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_DROP_RESPONSE), ==, 0);
        free_works(w, 4);
        g_string_free(trail, true);
        pair_idle(p);
        pair_free(p);
    }
}

/* All SCs are taken: SV = 0, and the initiator orders by itself. */
static void test_sc_none(void)
{
    UbTaConfig cfg;
    Pair *p;
    Work *w[4];

    pair_config(&cfg);
    cfg.scs = 1;
    p = pair_new(3, &cfg);
    pair_queue(p, 0, 7, UB_ROT);
    pair_queue(p, 2, 7, UB_ROT);
    work_all(p, 2, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_GRANTED), ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_REFUSED), ==, 1);
    post_orders(p, 7, ROW_CTP, "W!W!", w);
    ub_ta_run(p->end[0].ta, p->now, 100);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 3);
    pair_run(p);
    free_works(w, 4);
    pair_idle(p);
    pair_free(p);
}

/* Whether there is an SC or not, the answer is a response, which has SV: also on a
 * channel whose acknowledgements bring answers, where one that nobody is known to wait
 * for could be lost (§6.8.2).  What comes behind is answered by them. */
static void test_sc_answer(void)
{
    for (unsigned i = 0; i < 4; i++) {
        uint32_t len = i & 2 ? 12000 : 8;
        UbTaConfig cfg;
        Pair *p;

        pair_config(&cfg);
        cfg.scs = i & 1;
        p = pair_new(2, &cfg);
        pair_queue(p, 0, 7, UB_ROT);
        work_all(p, 0, 7, work_new(ROW_ANSWERS + 1, UB_TA_WRITE, 0, len),
                 UB_TAS_OK);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_RX_RESPONSES), ==, 1);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_ANSWERS_BELOW), ==, 0);
        work_all(p, 0, 7, work_new(ROW_ANSWERS + 1, UB_TA_WRITE, 0, len),
                 UB_TAS_OK);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_RX_RESPONSES), ==, 1);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_ANSWERS_BELOW), ==, 1);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_GRANTED), ==, i & 1);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_REFUSED), ==, !(i & 1));
        pair_idle(p);
        pair_free(p);
    }
}

/* However long its queue says nothing, an SC goes to nobody else: neither to another
 * node nor to another queue of the same one, whose numbers are not its own. */
static void test_sc_silent(void)
{
    UbTaConfig cfg;
    UbTaState s;
    Pair *p;

    pair_config(&cfg);
    cfg.scs = 1;
    p = pair_new(3, &cfg);
    p->tracing = true;
    pair_queue(p, 2, 7, UB_ROT);
    pair_queue(p, 2, 8, UB_ROT);
    pair_queue(p, 0, 7, UB_ROT);
    work_all(p, 2, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    pair_run_for(p, 100 * cfg.ack_timeout);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    pair_run_for(p, 100 * cfg.ack_timeout);
    work_all(p, 2, 8, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_GRANTED), ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_REFUSED), ==, 2);
    work_all(p, 2, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    g_assert_nonnull(strstr(p->end[2].sent->pdata[2], "rc=2:0"));
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_UNSUPPORTED_TX), ==, 0);
    ub_ta_state(p->end[1].ta, &s);
    g_assert_cmpuint(s.scs, ==, 1);
    pair_idle(p);
    pair_free(p);
}

/* A static SC that the target does not know: Unsupported Request, but the response
 * cannot name the RCID, which only the SC would know. */
static void test_sc_static(void)
{
    UbTaQueueConfig cfg = { .rcid = 7, .mode = UB_ROT, .static_sc = true,
                            .scid = 77 };
    Pair *p = pair_new(2, NULL);

    g_assert_nonnull(ub_ta_queue_new(p->end[0].ta, &cfg));
    p->tracing = true;
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8),
             UB_TAS_TIMEOUT);
    g_assert_nonnull(strstr(p->end[0].sent->pdata[0], " rc=2:4d "));
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_UNSUPPORTED_TX), ==, 1);
    pair_idle(p);
    pair_free(p);
}

/* §7.3.2.3: completions at both ends. */
static bool slow_message(Pair *p, Wire *w)
{
    if (w->from == 0 && p->packets == 1) {
        w->due += 200000;
    }
    return true;
}

static void test_completion_order(void)
{
    for (unsigned ordered = 0; ordered < 2; ordered++) {
        UbTaQueueConfig cfg = { .rcid = 7, .mode = UB_ROI,
                                .in_order = ordered };
        Pair *p = pair_new(2, NULL);
        Work *w[3];

        g_assert_nonnull(ub_ta_queue_new(p->end[0].ta, &cfg));
        pair_recv(p, 1, 3);
        p->filter = slow_message;
        for (unsigned i = 0; i < 3; i++) {
            w[i] = work_new(ROW_SPRAY + 1, UB_TA_SEND_IMM, 0, 64);
            w[i]->req.imm = i;
            w[i]->req.ordered_cqe = ordered;
            work_post(p, 0, 7, w[i]);
        }
        pair_run(p);
        for (unsigned i = 0; i < 3; i++) {
            unsigned want = ordered ? i : (i + 1) % 3;

            g_assert_cmpuint(g_array_index(p->end[1].recvs, Cqe, i).recv.imm,
                             ==, want);
            g_assert_cmpuint(g_array_index(p->end[0].cqes, Cqe, i).id, ==,
                             w[want]->req.id);
        }
        free_works(w, 3);
        pair_idle(p);
        pair_free(p);
    }
}

/* What waits for a message that is lost does not wait for ever. */
static bool lose_first(Pair *p, Wire *w)
{
    return w->from != 0 || p->packets != 1;
}

static void test_hold_time(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w[2];

    pair_queue(p, 0, 7, UB_ROI);
    pair_recv(p, 1, 2);
    p->filter = lose_first;
    for (unsigned i = 0; i < 2; i++) {
        w[i] = work_new(ROW_SPRAY + 1, UB_TA_SEND, 0, 64);
        w[i]->req.ordered_cqe = true;
        work_post(p, 0, 7, w[i]);
    }
    pair_run_for(p, 9000000);
    g_assert_cmpuint(p->end[1].recvs->len, ==, 0);
    pair_run_for(p, 2000000);
    g_assert_cmpuint(p->end[1].recvs->len, ==, 1);
    pair_run(p);
    g_assert_cmpint(w[0]->status, ==, UB_TAS_TIMEOUT);
    g_assert_cmpint(w[1]->status, ==, UB_TAS_OK);
    work_free(w[0]);
    work_free(w[1]);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_HELD_TOO_LONG), ==, 1);
    pair_idle(p);
    pair_free(p);
}

/* The longest wait that a target can ask for, a second, is longer than it waits for
 * what is lost.  What it has put off is not lost: completions behind it wait, it is
 * not taken for a repetition when it comes, nor its peer for one that began anew. */
static void test_hold_refused(void)
{
    UbTaConfig cfg;
    Pair *p;
    Work *w[4];

    pair_config(&cfg);
    cfg.rnr_timer = UB_TAH_TIMER_MAX;
    cfg.ack_timeout = INT64_C(8000000000);
    p = pair_new(2, &cfg);
    g_assert_cmpint(cfg.hold_time, <, 1048576000);
    g_assert_cmpint(cfg.dup_life, <, 1048576000);
    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < 4; i++) {
        w[i] = work_new(ROW_SPRAY + 1, UB_TA_SEND_IMM, 0, 64);
        w[i]->req.imm = i;
        w[i]->req.ordered_cqe = true;
        work_post(p, 0, 7, w[i]);
        pair_run_for(p, 50000);
        if (!i) {
            g_assert_cmpuint(pair_count(p, 1, UB_TAC_RNR_TX), ==, 1);
            g_assert_cmpuint(pair_count(p, 0, UB_TAC_DROP_RESPONSE), ==, 0);
            pair_recv(p, 1, 4);
        }
    }
    pair_run_for(p, 1000000000);
    g_assert_cmpuint(p->end[1].recvs->len, ==, 0);
    pair_run(p);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_RETRIES), ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_DUPLICATE), ==, 0);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_HELD_TOO_LONG), ==, 0);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpint(w[i]->status, ==, UB_TAS_OK);
        g_assert_cmpuint(g_array_index(p->end[1].recvs, Cqe, i).recv.imm, ==,
                         i);
    }
    free_works(w, 4);
    pair_idle(p);
    pair_free(p);
}

/* What was put off may come late by as much as it is remembered: completions wait for
 * it as long, and not only for what a loss is given. */
static void test_hold_late(void)
{
    UbTaConfig cfg;
    Pair *p;
    Work *w[4];

    pair_config(&cfg);
    cfg.rnr_timer = 3;              /* 16 us */
    p = pair_new(2, &cfg);
    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < 4; i++) {
        w[i] = work_new(ROW_SPRAY + 1, UB_TA_SEND_IMM, 0, 64);
        w[i]->req.imm = i;
        w[i]->req.ordered_cqe = true;
    }
    w[0]->req.order = UB_TA_RO;     /* refusals of those are remembered */
    work_post(p, 0, 7, w[0]);
    while (!pair_count(p, 1, UB_TAC_RNR_TX)) {
        g_assert_true(pair_step(p));
    }
    pair_recv(p, 1, 4);
    for (unsigned i = 1; i < 4; i++) {
        work_post(p, 0, 7, w[i]);
    }
    while (pair_count(p, 1, UB_TAC_RX_REQUESTS) < 4) {
        g_assert_true(pair_step(p));
    }
    /* It is under way for one and a half times what a loss is given. */
    p->delay = cfg.hold_time + cfg.hold_time / 2;
    pair_run(p);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_RETRIES), ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_HELD_TOO_LONG), ==, 0);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpint(w[i]->status, ==, UB_TAS_OK);
        g_assert_cmpuint(g_array_index(p->end[1].recvs, Cqe, i).recv.imm, ==,
                         i);
    }
    free_works(w, 4);
    pair_idle(p);
    pair_free(p);
}

/* ROL: nor is what was put off forgotten by those that are to come after it. */
static void test_order_refused(void)
{
    UbTaConfig cfg;
    Pair *p;
    Work *w[2];

    pair_config(&cfg);
    cfg.rnr_timer = 14;             /* 32.8 ms, and 10 are held */
    cfg.retries = UINT8_MAX;
    p = pair_new(2, &cfg);
    pair_queue(p, 0, 7, UB_ROL);
    for (unsigned i = 0; i < 2; i++) {
        w[i] = work_new(ROW_RTP + 1, UB_TA_SEND_IMM, 0, 64);
        w[i]->req.imm = i;
        w[i]->req.order = i ? UB_TA_SO : UB_TA_RO;
        work_post(p, 0, 7, w[i]);
        /* The second one's turn comes again when the first has not yet come. */
        pair_run_for(p, 20000000);
        pair_recv(p, 1, 1);
        cfg.rnr_timer = 3;
        g_assert_null(ub_ta_configure(p->end[1].ta, &cfg));
    }
    pair_run(p);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(w[i]->status, ==, UB_TAS_OK);
        g_assert_cmpuint(g_array_index(p->end[1].recvs, Cqe, i).recv.imm, ==,
                         i);
    }
    free_works(w, 2);
    pair_idle(p);
    pair_free(p);
}

/* §8.2.2.3: what is begun goes on, what is not waits or comes back. */
static void test_stop(void)
{
    UbTaQueueConfig cfg = { .rcid = 7, .mode = UB_ROI,
                            .stop_on_error = true };
    Pair *p = pair_new(2, NULL);
    UbTaQueue *q = ub_ta_queue_new(p->end[0].ta, &cfg);
    Work *w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 8), *bad;

    ub_ta_queue_stop(q, true);
    work_post(p, 0, 7, w);
    pair_run(p);
    g_assert_false(w->done);
    ub_ta_queue_stop(q, false);
    pair_run(p);
    g_assert_cmpint(w->status, ==, UB_TAS_OK);
    work_free(w);
    bad = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 8);
    bad->req.token_id = 9;
    work_all(p, 0, 7, bad, UB_TAS_ABORT);
    g_assert_true(ub_ta_queue_stopped(q));
    w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 8);
    work_post(p, 0, 7, w);
    pair_run(p);
    g_assert_false(w->done);
    ub_ta_queue_flush(q, false);
    g_assert_cmpint(w->status, ==, UB_TAS_FLUSHED);
    work_free(w);
    ub_ta_queue_stop(q, false);
    /* In flight, in the middle of an operation, and the queue goes. */
    w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 60000);
    work_post(p, 0, 7, w);
    ub_ta_run(p->end[0].ta, p->now, 3);
    ub_ta_queue_free(q);
    g_assert_cmpint(w->status, ==, UB_TAS_FLUSHED);
    work_free(w);
    pair_queue(p, 0, 7, UB_ROI);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    pair_idle(p);
    /* A reset forgets all; peers do not take what follows for repetitions. */
    w = work_new(ROW_CTP + 1, UB_TA_READ, 0, 8);
    work_post(p, 0, 7, w);
    pair_run_for(p, 100);
    ub_ta_reset(p->end[0].ta);
    work_free(w);
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* Which of its CNAs the target is asked by. */
static uint32_t inject_dcna = 2;

static void inject(Pair *p, UbTpMode mode, unsigned cfg, unsigned nlp,
                   uint32_t tpn, bool last, const uint8_t *data, uint32_t len)
{
    CorePacket *pkt = core_packet_alloc(p->pool, len);
    UbFlow flow = { .cfg = cfg, .scna = 1, .dcna = inject_dcna };
    static uint32_t msn;
    UbTpRx rx = { .mode = mode, .tpn = tpn, .msn = msn += last, .last = last,
                  .nlp = nlp, .flow = &flow };

    memcpy(core_packet_data(pkt), data, len);
    ub_ta_rx(p->end[1].ta, &rx, pkt);
}

/* A row that goes while a packet waits for room; answers and page faults that wait
 * when a node is reset. */
static void test_goes(void)
{
    Pair *p = pair_new(2, NULL);
    UbSegment *s = ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID,
                                    PAIR_UBA);
    Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 64);
    UbTaDest dest = *ub_ta_dest(p->end[0].ta, ROW_CTP + 1);
    UbTaState state;

    pair_queue(p, 0, 7, UB_ROI);
    p->busy = 1000000;
    work_post(p, 0, 7, w);
    ub_ta_run(p->end[0].ta, p->now, 10);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_BUSY), ==, 1);
    g_assert_true(ub_ta_set_dest(p->end[0].ta, ROW_CTP + 1, NULL));
    p->busy = 0;
    ub_ta_room(p->end[0].ta, UB_TP_NONE);
    pair_run(p);
    g_assert_cmpint(w->status, ==, UB_TAS_OPCODE);
    work_free(w);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 64),
             UB_TAS_OPCODE);
    g_assert_true(ub_ta_set_dest(p->end[0].ta, ROW_CTP + 1, &dest));
    dest.mtu = 1000;
    g_assert_false(ub_ta_set_dest(p->end[0].ta, ROW_CTP + 1, &dest));
    /* A fault that ends for good is Remote Abort; the end of another is not its. */
    s->pages = UB_SEGMENT_LATER;
    w = work_new(ROW_CTP + 1, UB_TA_READ, 0, 64);
    work_post(p, 0, 7, w);
    pair_run_for(p, 50000);
    ub_ta_resolve(p->end[1].ta, 1, true);
    ub_ta_state(p->end[1].ta, &state);
    g_assert_cmpuint(state.parked, ==, 1);
    g_assert_false(w->done);
    ub_ta_resolve(p->end[1].ta, 0, true);
    ub_ta_state(p->end[1].ta, &state);
    g_assert_cmpuint(state.parked, ==, 0);
    pair_run(p);
    g_assert_cmpint(w->status, ==, UB_TAS_ABORT);
    work_free(w);
    /* A fault that is never resolved, an answer that finds no room. */
    s->pages = UB_SEGMENT_LATER;
    w = work_new(ROW_CTP + 1, UB_TA_READ, 0, 64);
    work_post(p, 0, 7, w);
    pair_run_for(p, 50000);
    s->pages = UB_SEGMENT_THERE;
    ub_ta_state(p->end[1].ta, &state);
    g_assert_cmpuint(state.parked, ==, 1);
    p->busy = 1000000;
    ub_ta_resolved(p->end[1].ta);
    ub_ta_state(p->end[1].ta, &state);
    g_assert_cmpuint(state.parked, ==, 0);
    g_assert_cmpuint(state.answers, ==, 1);
    p->busy = 0;
    ub_ta_reset(p->end[1].ta);
    ub_ta_state(p->end[1].ta, &state);
    g_assert_cmpuint(state.answers, ==, 0);
    g_assert_cmpuint(state.packets, ==, 0);
    pair_run(p);
    g_assert_cmpint(w->status, ==, UB_TAS_TIMEOUT);
    work_free(w);
    s->pages = UB_SEGMENT_LATER;
    w = work_new(ROW_CTP + 1, UB_TA_READ, 0, 64);
    work_post(p, 0, 7, w);
    pair_run_for(p, 50000);
    ub_ta_reset(p->end[1].ta);
    ub_ta_resolved(p->end[1].ta);
    s->pages = UB_SEGMENT_THERE;
    pair_run(p);
    g_assert_cmpint(w->status, ==, UB_TAS_TIMEOUT);
    work_free(w);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_READ, 0, 64), UB_TAS_OK);
    pair_idle(p);
    pair_free(p);
}

/* The vendor's bits of UDETAH stay beside the sub-operation. */
static void test_user_bits(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w = work_new(ROW_CTP + 1, UB_TA_ATOMIC_LOAD, 0, 8);

    p->tracing = true;
    pair_queue(p, 0, 7, UB_ROI);
    w->req.ud_en = true;
    w->req.ud = 0xffffffff;
    w->req.sub = 2;
    work_all(p, 0, 7, w, UB_TAS_OK);
    g_assert_nonnull(strstr(p->end[0].sent->pdata[0], "ud=ff2fffff"));
    pair_free(p);
}

/* A Write of the TASSN. */
static void inject_write(Pair *p, uint16_t tassn)
{
    uint8_t write[] = { 1, 0x23, 0, 0, 0x10, 0, 2, 0x03, 0x18, 0, 0, 0, 0, 0,
                        7, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1,
                        0, 0, 0x5e, 0xed, 0x77 };

    put_be16(write + 9, tassn);
    inject(p, UB_TP_CTP, 6, UB_SEC_SHORT, 0, true, write, sizeof(write));
}

/* The window of a target: the first number that is new, the last that is old. */
static void test_window(void)
{
    static const struct { uint16_t tassn; unsigned executed; } steps[] = {
        { 5, 1 }, { 5, 1 }, { 0, 2 }, { 1023, 3 }, { 1023, 3 },
        { 1024, 4 },            /* 0 leaves the window */
        { 1, 5 }, { 2000, 6 },  /* 1 had not come */
        { 976, 6 },             /* before the window: taken for old */
        { 977, 7 }, { 977, 7 }, { 2000, 7 },
        { 0xf000, 8 }, { 0xf000, 8 },   /* far away: the peer began anew */
    };
    Pair *p = pair_new(2, NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        inject_write(p, steps[i].tassn);
        g_assert_cmpuint(i + 1 - pair_count(p, 1, UB_TAC_DROP_DUPLICATE), ==,
                         steps[i].executed);
    }
    g_assert_cmphex(p->end[1].mem[0], ==, 0x77);
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* A queue that asks two CNAs of a target numbers what it asks each apart, and neither
 * series is the other's repetition; an image keeps them apart. */
static void test_own_addresses(void)
{
    g_autofree uint8_t *data = NULL;
    Pair *p = pair_new(2, NULL);
    size_t len;

    for (unsigned i = 0; i < 6; i++) {
        inject_dcna = 2 + (i & 1);
        inject_write(p, 5);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_DUPLICATE), ==,
                         i < 2 ? 0 : i - 1);
        if (i == 3) {
            data = pair_save(p, 1, &len);
            g_assert_cmpstr(pair_load(p, 1, data, len), ==, NULL);
        }
    }
    inject_dcna = 2;
    pair_free(p);
}

/* The target was away and knows a peer by numbers in its middle; then the peer is
 * away, and its first numbers are not repetitions. */
static void test_anew(void)
{
    Pair *p = pair_new(2, NULL);

    inject_write(p, 30);
    inject_write(p, 31);
    pair_run(p);
    p->now += INT64_C(2000000000);
    ub_ta_run(p->end[1].ta, p->now, 64);
    for (unsigned tassn = 0; tassn < 40; tassn++) {
        inject_write(p, tassn);
    }
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_DUPLICATE), ==, 0);
    inject_write(p, 0);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_DUPLICATE), ==, 1);
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* A request that came twice is executed once; the peer began anew. */
static void test_duplicates(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w;

    pair_queue(p, 0, 7, UB_ROI);
    p->dup = 1000000;
    for (unsigned i = 0; i < 50; i++) {
        w = work_new((i & 1 ? ROW_CTP : ROW_CTP7) + 1, UB_TA_FETCH_ADD, 0, 8);
        w->data[0] = 1;
        work_all(p, 0, 7, w, UB_TAS_OK);
    }
    g_assert_cmpuint(get_le64(p->end[1].mem), ==, 50);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_DUPLICATE), >=, 40);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_LATE), >=, 40);
    p->dup = 0;
    ub_ta_queue_free(ub_ta_queue(p->end[0].ta, 7));
    pair_queue(p, 0, 7, UB_ROI);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    pair_idle(p);
    pair_free(p);
}

/* ---- hostile peers ---- */

/* Bytes of all kinds, some of which are nearly right. */
static void test_fuzz(void)
{
    static const struct { uint8_t mode, cfg, nlp; } ways[] = {
        { UB_TP_RTP, 7, UB_SEC_WIDE }, { UB_TP_CTP, 6, UB_SEC_SHORT },
        { UB_TP_CTP, 7, UB_SEC_WIDE }, { UB_TP_BYPASS, 9, UB_SEC_NONE },
        { UB_TP_UTP, 3, UB_SEC_WIDE },
    };
    uint64_t rounds = g_test_slow() ? 5000000 : 100000, seed = 9;
    Pair *p = pair_new(2, NULL);
    UbTaState s;

    pair_recv(p, 1, 1000);
    pair_queue(p, 1, 7, UB_ROI);
    for (uint64_t i = 0; i < rounds; i++) {
        unsigned k = core_random(&seed) % G_N_ELEMENTS(ways);
        uint8_t buf[400];
        uint32_t len = core_random(&seed) % sizeof(buf), at = 0;

        for (unsigned j = 0; j < sizeof(buf); j++) {
            buf[j] = core_random(&seed) % 3 ? 0 : core_random(&seed);
        }
        if (ways[k].nlp == UB_SEC_WIDE) {
            put_be32(buf, PAIR_UPI);
            memcpy(buf + 4, &p->end[0].eid, 16);
            memcpy(buf + 20, &p->end[1].eid, 16);
            at = 36;
        } else if (ways[k].nlp == UB_SEC_SHORT) {
            memcpy(buf, (uint8_t[]) { 1, 0x23, 0, 0, 0x10, 0, 2 }, 7);
            at = 7;
        }
        buf[at] = core_random(&seed) % 0x1a;
        buf[at + 1] = 0x10 | (core_random(&seed) % 4 ? 8 : 0) |
                      (core_random(&seed) % 8 ? 0 : 1);
        if (core_random(&seed) % 4) {
            /* A segment that is there. */
            put_be64(buf + at + 8, PAIR_UBA + core_random(&seed) % 8192);
            put_be32(buf + at + 16, PAIR_TOKEN_ID << 8);
            put_be32(buf + at + 20, core_random(&seed) % 2 ? len
                     : core_random(&seed) % 100);
            put_be32(buf + at + 24, PAIR_TOKEN);
        }
        inject(p, ways[k].mode, ways[k].cfg,
               core_random(&seed) % 16 ? ways[k].nlp : core_random(&seed) % 16,
               core_random(&seed) % 8, core_random(&seed) % 4, buf,
               MAX(len, at));
        if (i % 64 == 0) {
            pair_run_for(p, 100000);
            ub_ta_state(p->end[1].ta, &s);
            g_assert_cmpuint(s.partial, <=, 8192);
            g_assert_cmpuint(s.answers, <=, 8192);
            pair_recv(p, 1, 1);
        }
    }
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* Responses that nobody asked for, or that say too much. */
static void test_false_responses(void)
{
    static const char *const responses[] = {
        "110000000000007e", "1100000000000007", "1200000000000007000000000000",
        "1100000060000007", "1100000063000007", "1100000034000007",
        "1108000000000007", "1100000080000007", "11000000c0000007",
        "1300000000000007000000000102030405060708", "1100ffff1f000007",
    };
    Pair *p = pair_new(2, NULL);
    Work *w;

    pair_queue(p, 1, 7, UB_ROI);
    for (unsigned i = 0; i < G_N_ELEMENTS(responses); i++) {
        uint8_t buf[64] = { 1, 0x23, 0, 0, 0x10, 0, 2 };
        uint32_t n = 7;

        /* The response comes before the request has arrived. */
        w = work_new(ROW_CTP + 0, UB_TA_READ, 0, 8);
        work_post(p, 1, 7, w);
        ub_ta_run(p->end[1].ta, p->now, 10);
        for (const char *h = responses[i]; *h; h += 2) {
            buf[n++] = g_ascii_xdigit_value(h[0]) << 4 |
                       g_ascii_xdigit_value(h[1]);
        }
        inject(p, UB_TP_CTP, 6, UB_SEC_SHORT, 0, true, buf, n);
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_OK);
        work_free(w);
    }
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_LATE) +
                     pair_count(p, 1, UB_TAC_DROP_RESPONSE) +
                     pair_count(p, 1, UB_TAC_DROP_SHORT), ==,
                     G_N_ELEMENTS(responses));
    pair_idle(p);
    pair_free(p);
}

/* Requests that break a rule are answered with Unsupported Request. */
static void test_false_requests(void)
{
    static const char *const requests[] = {
        "0210000000000007",                                     /* reserved */
        "1910000000000007",
        "0350000000000007000000000010000000000100000000407b",   /* version */
        "0300000000000007000000000010000000000100000000010a",   /* EE_bits */
        "0310000030000007000000000010000000000100000000010a",   /* ODR */
        "0310000000300007000000000010000000000100000000010a",   /* RC type */
        "0310000000000007000000000010000000000100000000020a",   /* length */
        "0310000000000007000000000010000000000100000000010a0b",
        ("0710000000000007000000000010000000000100000000030102"
         "03040506"),                                             /* atomics */
        "07100000000000070000000000100001000001000000000201020304",
    };
    Pair *p = pair_new(2, NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(requests); i++) {
        uint8_t buf[64] = { 1, 0x23, 0, 0, 0x10, 0, 2 };
        UbTaConfig cfg = *ub_ta_config(p->end[1].ta);
        uint32_t n = 7;

        cfg.tasks = false;
        g_assert_null(ub_ta_configure(p->end[1].ta, &cfg));
        for (const char *h = requests[i]; *h; h += 2) {
            buf[n++] = g_ascii_xdigit_value(h[0]) << 4 |
                       g_ascii_xdigit_value(h[1]);
        }
        buf[7 + 3] = i;
        inject(p, UB_TP_CTP, 6, UB_SEC_SHORT, 0, true, buf, n);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_UNSUPPORTED_TX), ==, i + 1);
    }
    pair_run(p);
    pair_idle(p);
    pair_free(p);
}

/* A message that goes on as a Write: its receive entry comes back. */
static void test_message_turns(void)
{
    uint8_t buf[80] = { 0 };
    Pair *p = pair_new(2, NULL);

    pair_recv(p, 1, 1);
    put_be32(buf, PAIR_UPI);
    memcpy(buf + 4, &p->end[0].eid, 16);
    memcpy(buf + 20, &p->end[1].eid, 16);
    buf[36] = UB_TA_SEND;
    buf[37] = 0x10;
    put_be16(buf + 38, 5);
    put_be32(buf + 40, 0x08000007);
    put_be32(buf + 44, PAIR_TCID);
    inject(p, UB_TP_RTP, 7, UB_SEC_WIDE, 3, false, buf, 36 + 16 + 16);
    g_assert_cmpuint(p->end[1].rqe_taken, ==, 1);
    buf[36] = UB_TA_WRITE;
    put_be32(buf + 40, 7);
    put_be64(buf + 44, PAIR_UBA);
    put_be32(buf + 52, PAIR_TOKEN_ID << 8);
    put_be32(buf + 56, 0);
    inject(p, UB_TP_RTP, 7, UB_SEC_WIDE, 3, true, buf, 36 + 8 + 16);
    pair_run(p);
    g_assert_cmpuint(p->end[1].recvs->len, ==, 1);
    g_assert_cmpint(g_array_index(p->end[1].recvs, Cqe, 0).status, ==,
                    UB_TAS_TIMEOUT);
    pair_idle(p);
    pair_free(p);
}

/* ---- images ---- */

static void test_image_fuzz(void)
{
    uint64_t rounds = g_test_slow() ? 100000 : 3000, seed = 11, bad = 0;
    Pair *p = pair_new(2, NULL);
    Work *w[40];
    g_autofree uint8_t *good = NULL;
    size_t len;

    pair_queue(p, 0, 7, UB_ROI);
    pair_queue(p, 0, 8, UB_ROT);
    pair_recv(p, 1, 4);
    for (unsigned i = 0; i < 40; i++) {
        w[i] = work_new(i % 4 * 16 / 2 * 2 % 32 + 1,
                        i % 3 ? UB_TA_WRITE : UB_TA_SEND, 64 * i,
                        i % 5 ? 64 : 4000);
        w[i]->req.order = i % 3;
        work_post(p, 0, 7 + i % 2, w[i]);
    }
    pair_run_for(p, 3000);
    good = pair_save(p, 0, &len);
    g_assert_cmpstr(pair_load(p, 0, good, len), ==, NULL);
    for (size_t cut = 0; cut < len; cut += 1 + len / 200) {
        g_assert_cmpstr(pair_load(p, 0, good, cut), !=, NULL);
    }
    for (uint64_t i = 0; i < rounds; i++) {
        g_autofree uint8_t *data = g_memdup2(good, len);

        for (unsigned j = 0; j <= core_random(&seed) % 3; j++) {
            data[core_random(&seed) % len] = core_random(&seed);
        }
        bad += pair_load(p, 0, data, len) != NULL;
    }
    g_assert_cmpuint(bad, >, rounds / 10);
    g_assert_cmpstr(pair_load(p, 0, good, len), ==, NULL);
    pair_recv(p, 1, 100);
    pair_run(p);
    for (unsigned i = 0; i < 40; i++) {
        g_assert_true(w[i]->done);
        work_free(w[i]);
    }
    pair_idle(p);
    pair_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/order/table", test_order_table);
    g_test_add_func("/ub/ta/order/gate", test_order_gate);
    g_test_add_func("/ub/ta/order/completions", test_completion_order);
    g_test_add_func("/ub/ta/order/hold-time", test_hold_time);
    g_test_add_func("/ub/ta/order/hold-refused", test_hold_refused);
    g_test_add_func("/ub/ta/order/hold-late", test_hold_late);
    g_test_add_func("/ub/ta/order/refused", test_order_refused);
    g_test_add_func("/ub/ta/sc/given", test_sc);
    g_test_add_func("/ub/ta/sc/none", test_sc_none);
    g_test_add_func("/ub/ta/sc/answer", test_sc_answer);
    g_test_add_func("/ub/ta/sc/silent", test_sc_silent);
    g_test_add_func("/ub/ta/sc/static", test_sc_static);
    g_test_add_func("/ub/ta/stop", test_stop);
    g_test_add_func("/ub/ta/goes", test_goes);
    g_test_add_func("/ub/ta/user-bits", test_user_bits);
    g_test_add_func("/ub/ta/window", test_window);
    g_test_add_func("/ub/ta/anew", test_anew);
    g_test_add_func("/ub/ta/duplicates", test_duplicates);
    g_test_add_func("/ub/ta/own-addresses", test_own_addresses);
    g_test_add_func("/ub/ta/hostile/fuzz", test_fuzz);
    g_test_add_func("/ub/ta/hostile/responses", test_false_responses);
    g_test_add_func("/ub/ta/hostile/requests", test_false_requests);
    g_test_add_func("/ub/ta/message-turns", test_message_turns);
    g_test_add_func("/ub/ta/image", test_image_fuzz);
    return g_test_run();
}
