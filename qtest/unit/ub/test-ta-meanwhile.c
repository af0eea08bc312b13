/*
 * Transaction layer: what changes while requests are under way.  An initiator that
 * begins anew, page faults that end before the packets behind them have come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

/* Numbers that begin again shortly behind the last ones are no repetitions: the peer
 * remembers those for a second. */
static void test_begins_anew(void)
{
    Pair *p = pair_new(2, NULL);

    for (unsigned life = 0; life < 3; life++) {
        UbTaQueue *q = pair_queue(p, 0, 7, UB_ROI);

        for (unsigned i = 0; i < 5000; i++) {
            work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8),
                     UB_TAS_OK);
        }
        ub_ta_queue_free(q);
    }
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_DUPLICATE), ==, 0);
    pair_free(p);
}

/* So it is where the target keeps an SC for them: what begins anew asks for it by its
 * RCID, and has it again. */
static void test_begins_anew_sc(void)
{
    Pair *p = pair_new(2, NULL);
    UbTaDest dest = *ub_ta_dest(p->end[0].ta, ROW_CTP + 1);

    for (unsigned life = 0; life < 3; life++) {
        pair_queue(p, 0, 7, UB_ROT);
        for (unsigned i = 0; i < 3; i++) {
            Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);

            w->req.order = UB_TA_SO;
            work_all(p, 0, 7, w, UB_TAS_OK);
        }
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_GRANTED), ==, life + 1);
        /* Half of all numbers away: behind the last ones. */
        for (unsigned i = 0; i < 9; i++) {
            ub_ta_reset(p->end[0].ta);
        }
        g_assert_true(ub_ta_set_dest(p->end[0].ta, ROW_CTP + 1, &dest));
    }
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_DUPLICATE), ==, 0);
    pair_free(p);
}

static unsigned parked(Pair *p)
{
    UbTaState state;

    ub_ta_state(p->end[1].ta, &state);
    return state.parked;
}

static UbSegment *segment(Pair *p)
{
    return ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID, PAIR_UBA);
}

/* Each access waits for the fault that it met, and for no other. */
static void test_ticket(void)
{
    static const uint8_t opcode[] = { UB_TA_WRITE, UB_TA_READ,
                                      UB_TA_FETCH_ADD };

    for (unsigned i = 0; i < G_N_ELEMENTS(opcode); i++) {
        Pair *p = pair_new(2, NULL);
        Work *w = work_new(ROW_CTP + 1, opcode[i], 0, 8);

        pair_queue(p, 0, 7, UB_ROI);
        p->end[1].ticket = 5;
        segment(p)->pages = UB_SEGMENT_LATER;
        work_post(p, 0, 7, w);
        pair_run_for(p, 50000);
        g_assert_cmpuint(parked(p), ==, 1);
        ub_ta_resolve(p->end[1].ta, 0, true);
        g_assert_cmpuint(parked(p), ==, 1);
        ub_ta_resolve(p->end[1].ta, 5, true);
        g_assert_cmpuint(parked(p), ==, 0);
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_ABORT);
        work_free(w);
        pair_free(p);
    }
}

static unsigned wires;

static bool lose_from_the_fourth(Pair *p, Wire *w)
{
    return w->from != 0 || ++wires < 4;
}

/* The fault of a first packet ends before the last one comes: nobody would tell. */
static void test_ends_early(void)
{
    Pair *p = pair_new_real(2, NULL);
    Work *w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 32768);

    wires = 0;
    pair_queue(p, 0, 7, UB_ROI);
    p->end[1].ticket = 5;
    segment(p)->pages = UB_SEGMENT_LATER;
    p->filter = lose_from_the_fourth;
    work_post(p, 0, 7, w);
    pair_run_for(p, 20000);
    g_assert_cmpuint(parked(p), ==, 0);
    segment(p)->pages = UB_SEGMENT_THERE;
    ub_ta_resolve(p->end[1].ta, 5, false);
    p->filter = NULL;
    pair_run(p);
    g_assert_cmpint(w->status, ==, UB_TAS_OK);
    g_assert_cmpuint(parked(p), ==, 0);
    work_free(w);
    pair_free(p);
}

/* Who waits for a fault is forgotten with the channel that it asked by: the same channel
 * begun anew has no part in it, nor the next one of that number. */
static void test_channel_ends(void)
{
    static const unsigned rows[] = { ROW_RTP + 1, ROW_CTP + 1 };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        bool rtp = rows[i] == ROW_RTP + 1;
        Pair *p = pair_new_real(2, NULL);
        Work *w = work_new(rows[i], UB_TA_WRITE, 0, 8);
        UbTp *tp = p->end[1].tp;
        unsigned dropped = 0;

        pair_queue(p, 0, 7, UB_ROI);
        p->end[1].ticket = 5;
        segment(p)->pages = UB_SEGMENT_LATER;
        work_post(p, 0, 7, w);
        pair_run_for(p, 20000);
        g_assert_cmpuint(parked(p), ==, 1);
        for (uint32_t tpn = 0; tpn < 4096; tpn++) {
            unsigned was = parked(p);

            if (ub_tp_deactivate(tp, tpn) == UB_TPR_OK) {
                g_assert_cmpint(ub_tp_activate(tp, tpn), ==, UB_TPR_OK);
            }
            dropped += was - parked(p);
        }
        g_assert_cmpuint(dropped, ==, rtp);
        segment(p)->pages = UB_SEGMENT_THERE;
        ub_ta_resolve(p->end[1].ta, 5, true);
        pair_run(p);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_ABORT_TX), ==, !rtp);
        /* Nobody answers it any more; in truth its end hears that the channel is gone. */
        g_assert_cmpint(w->status, ==, rtp ? UB_TAS_TIMEOUT : UB_TAS_ABORT);
        work_free(w);
        pair_free(p);
    }
}

static unsigned waiting(Pair *p)
{
    UbTaState state;

    ub_ta_state(p->end[1].ta, &state);
    return state.answers;
}

/* So is a response that waits for room, wherever it stands among others. */
static void test_channel_ends_full(void)
{
    static const unsigned rows[] = { ROW_RTP + 1, ROW_CTP + 1, ROW_RTP + 1 };

    for (unsigned order = 1; order < 8; order++) {
        Pair *p = pair_new(2, NULL);
        Work *w[3] = { NULL };
        unsigned ours = 0, others = 0;

        pair_queue(p, 0, 7, UB_ROI);
        for (unsigned i = 0; i < 3; i++) {
            if (order & 1u << i) {
                w[i] = work_new(rows[i], UB_TA_READ, 64 * i, 8);
                work_post(p, 0, 7, w[i]);
                *(i == 1 ? &others : &ours) += 1;
            }
        }
        ub_ta_run(p->end[0].ta, p->now, 64);
        p->busy = 1000000;
        pair_run_for(p, 5000);
        g_assert_cmpuint(waiting(p), ==, ours + others);
        for (uint32_t tpn = 0; tpn < 64; tpn++) {
            ub_ta_ended(p->end[1].ta, tpn);
        }
        g_assert_cmpuint(waiting(p), ==, others);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_ENDED), ==, ours);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_FLUSHED), ==, 0);
        if (order == 7) {
            ub_ta_reset(p->end[1].ta);
            g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_FLUSHED), ==, others);
            for (unsigned i = 0; i < 3; i++) {
                work_free(w[i]);
            }
            pair_free(p);
            continue;
        }
        p->busy = 0;
        ub_ta_room(p->end[1].ta, UB_TP_NONE);
        pair_run(p);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_TX_RESPONSES), ==, others);
        for (unsigned i = 0; i < 3; i++) {
            if (w[i]) {
                g_assert_cmpint(w[i]->status, ==, i == 1 ? UB_TAS_OK
                                                         : UB_TAS_TIMEOUT);
                work_free(w[i]);
            }
        }
        pair_free(p);
    }
}

/* ---- Taken back ------------------------------------------------------------------- */

/* One of several is taken back, wherever it stands: what has not happened does not
 * happen later, and the others end as if it had not been. */
static void test_cancel(void)
{
    static const uint32_t rows[] = { ROW_CTP, ROW_CTP7, ROW_RTP };
    enum { NOT_BEGUN, SENT, REFUSED, PLACES };

    for (unsigned i = 0; i < PLACES * G_N_ELEMENTS(rows) * 2; i++) {
        unsigned place = i % PLACES, migrate = i / PLACES & 1;
        uint32_t row = rows[i / PLACES / 2] + 1;
        Pair *p = pair_new(2, NULL);
        UbTaQueue *q = pair_queue(p, 0, 7, UB_ROI);
        Work *all[3];

        segment(p)->pages = place == REFUSED ? UB_SEGMENT_FAULT
                                             : UB_SEGMENT_THERE;
        segment(p)->timer = 10;         /* 2 ms */
        p->delay = place == SENT ? 10000000 : 1000;
        for (unsigned n = 0; n < 3; n++) {
            all[n] = work_new(row, UB_TA_WRITE, 64 * n, 64);
            memset(all[n]->data, n + 1, 64);
            work_post(p, 0, 7, all[n]);
        }
        if (place != NOT_BEGUN) {
            pair_run_for(p, 100000);
        }
        ub_ta_cancel(p->end[0].ta, &all[1]->req);
        g_assert_true(all[1]->done);
        g_assert_cmpint(all[1]->status, ==, UB_TAS_FLUSHED);
        g_assert_cmpuint(ub_ta_queue_len(q), ==, 2);
        if (migrate) {
            g_assert_null(pair_migrate(p, 0));
        }
        segment(p)->pages = UB_SEGMENT_THERE;
        pair_run(p);
        for (unsigned n = 0; n < 3; n += 2) {
            g_assert_true(all[n]->done);
            g_assert_cmpint(all[n]->status, ==, UB_TAS_OK);
            g_assert_cmpuint(p->end[1].mem[64 * n], ==, n + 1);
        }
        g_assert_cmpuint(p->end[1].mem[64], ==, place == SENT ? 2 : 0);
        /* And there is room again. */
        work_all(p, 0, 7, work_new(row, UB_TA_WRITE, 0, 64), UB_TAS_OK);
        pair_idle(p);
        for (unsigned n = 0; n < 3; n++) {
            work_free(all[n]);
        }
        pair_free(p);
    }
}

static bool lose_all(Pair *p, Wire *w)
{
    return false;
}

/* One that was lost and is taken back holds up nobody: more than the window go by
 * before its time would have been over. */
static void test_cancel_window(void)
{
    Pair *p = pair_new(2, NULL);
    Work *lost = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 64);

    pair_queue(p, 0, 7, UB_ROI);
    p->filter = lose_all;
    work_post(p, 0, 7, lost);
    pair_run_for(p, 100000);
    ub_ta_cancel(p->end[0].ta, &lost->req);
    g_assert_true(lost->done);
    p->filter = NULL;
    for (unsigned n = 0; n < 1100; n++) {
        Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 64, 64);

        work_post(p, 0, 7, w);
        pair_run_for(p, 20000);
        g_assert_true(w->done);
        g_assert_cmpint(w->status, ==, UB_TAS_OK);
        work_free(w);
    }
    pair_idle(p);
    work_free(lost);
    pair_free(p);
}

/* An SC that misses what timed out would wait for ever: what follows goes without it, and
 * by another one when that is given. */
static void test_leaves_sc(void)
{
    Pair *p = pair_new(2, NULL);
    const char *last;

    p->tracing = true;
    pair_queue(p, 0, 7, UB_ROT);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    last = p->end[0].sent->pdata[p->end[0].sent->len - 1];
    g_assert_nonnull(strstr(last, "rc=2:"));
    p->filter = lose_all;
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_TIMEOUT);
    p->filter = NULL;
    for (unsigned i = 0; i < 2; i++) {
        work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
        last = p->end[0].sent->pdata[p->end[0].sent->len - 1];
        g_assert_cmpint(strstr(last, "rc=2:") != NULL, ==, i);
    }
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_GRANTED), ==, 2);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TIMEOUTS), ==, 1);
    pair_idle(p);
    pair_free(p);
}

/* What acknowledgements bring of a request that was refused: each by its name. */
static void test_refused_below(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w;

    pair_queue(p, 0, 7, UB_ROL);
    pair_recv(p, 1, 1);
    w = work_new(ROW_ANSWERS + 1, UB_TA_SEND, 0, 8);
    w->req.tc_id = PAIR_TCID + 1;
    work_all(p, 0, 7, w, UB_TAS_UNSUPPORTED);
    w = work_new(ROW_ANSWERS + 1, UB_TA_WRITE, 0, 8);
    w->req.token++;
    work_all(p, 0, 7, w, UB_TAS_ABORT);
    work_all(p, 0, 7, work_new(ROW_ANSWERS + 1, UB_TA_SEND, 0, 8), UB_TAS_OK);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_ANSWERS_BELOW), ==, 3);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_TX_RESPONSES), ==, 0);
    pair_idle(p);
    pair_free(p);
}

static unsigned losing;

static bool lose_one(Pair *p, Wire *w)
{
    return w->from != 0 || losing++;
}

/* What an SC holds for one that is lost is refused after hold_time, by a clock of its own:
 * nothing else comes until its sender tries again. */
static void test_sc_too_late(void)
{
    UbTaConfig cfg;
    UbTaState s;
    Work *w[2];
    Pair *p;

    pair_config(&cfg);
    p = pair_new(2, &cfg);
    pair_queue(p, 0, 7, UB_ROT);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    losing = 0;
    p->filter = lose_one;
    for (unsigned i = 0; i < 2; i++) {
        w[i] = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
        w[i]->req.order = UB_TA_SO;
        work_post(p, 0, 7, w[i]);
    }
    pair_run_for(p, cfg.hold_time / 2);
    ub_ta_state(p->end[1].ta, &s);
    g_assert_cmpuint(s.held, ==, 1);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_HELD_TOO_LONG), ==, 0);
    pair_run_for(p, cfg.hold_time);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_HELD_TOO_LONG), ==, 1);
    pair_run(p);
    g_assert_cmpint(w[0]->status, ==, UB_TAS_TIMEOUT);
    work_free(w[0]);
    work_free(w[1]);
    pair_idle(p);
    pair_free(p);
}

/* What is under way in an SC that is left, and refused there then, is not tried again: the
 * SC is not waited for, nor named, any more. */
static void test_sc_stale(void)
{
    UbTaConfig cfg;
    Work *w[2];
    Pair *p;

    pair_config(&cfg);
    cfg.hold_time = cfg.ack_timeout * 7 / 10;
    p = pair_new(2, &cfg);
    pair_queue(p, 0, 7, UB_ROT);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    losing = 0;
    p->filter = lose_one;
    for (unsigned i = 0; i < 2; i++) {
        w[i] = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
        w[i]->req.order = UB_TA_SO;
        work_post(p, 0, 7, w[i]);
        pair_run_for(p, cfg.ack_timeout / 2);
    }
    pair_run_for(p, cfg.ack_timeout / 10);
    g_assert_cmpint(w[0]->status, ==, UB_TAS_TIMEOUT);
    g_assert_false(w[1]->done);
    pair_run(p);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_RNR_RX), ==, 1);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_RETRIES), ==, 0);
    g_assert_cmpint(w[1]->status, ==, UB_TAS_TIMEOUT);
    work_free(w[0]);
    work_free(w[1]);
    pair_idle(p);
    pair_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/meanwhile/channel-ends", test_channel_ends);
    g_test_add_func("/ub/ta/meanwhile/channel-ends-full", test_channel_ends_full);
    g_test_add_func("/ub/ta/meanwhile/begins-anew", test_begins_anew);
    g_test_add_func("/ub/ta/meanwhile/begins-anew-sc", test_begins_anew_sc);
    g_test_add_func("/ub/ta/meanwhile/ticket", test_ticket);
    g_test_add_func("/ub/ta/meanwhile/ends-early", test_ends_early);
    g_test_add_func("/ub/ta/meanwhile/cancel", test_cancel);
    g_test_add_func("/ub/ta/meanwhile/cancel-window", test_cancel_window);
    g_test_add_func("/ub/ta/meanwhile/leaves-sc", test_leaves_sc);
    g_test_add_func("/ub/ta/meanwhile/sc-too-late", test_sc_too_late);
    g_test_add_func("/ub/ta/meanwhile/sc-stale", test_sc_stale);
    g_test_add_func("/ub/ta/meanwhile/refused-below", test_refused_below);
    return g_test_run();
}
