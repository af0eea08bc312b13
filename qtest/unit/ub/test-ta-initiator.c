/*
 * Transaction layer: the initiator by itself.  What of a request is in its headers,
 * readings of the document, the way of Writebacks, lanes that nobody owns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

#include "internal.h"

/* ---- readings of the document ---- */

static bool any_sent(Pair *p, unsigned node, const char *prefix, const char *part)
{
    GPtrArray *a = p->end[node].sent;

    for (guint i = 0; i < a->len; i++) {
        if (g_str_has_prefix(a->pdata[i], prefix) && strstr(a->pdata[i], part)) {
            return true;
        }
    }
    return false;
}

static void test_readings(void)
{
    for (unsigned on = 0; on < 2; on++) {
        UbTaConfig cfg;
        Pair *p;
        Work *w;

        pair_config(&cfg);
        cfg.accepted = cfg.rsp_type_keep = cfg.notify_be = on;
        cfg.uno_no_taack = cfg.dedupe = !on;
        p = pair_new(2, &cfg);
        p->tracing = true;
        pair_queue(p, 0, 7, UB_ROT);
        pair_queue(p, 0, 8, UB_UNO);
        pair_queue(p, 0, 9, UB_ROI);
        for (unsigned i = 0; i < 2; i++) {
            work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
        }
        work_all(p, 0, 9, work_new(ROW_CTP + 1, UB_TA_READ, 0, 8), UB_TAS_OK);
        g_assert_cmpint(any_sent(p, 1, "TAACK", "rspst=5/0"), ==, on);
        g_assert_cmpint(any_sent(p, 1, "TAACK", "rspst=0/0"), ==, !on);
        g_assert_true(any_sent(p, 1, "Read_response", "rspst=0/0"));
        g_assert_cmpint(any_sent(p, 1, "TAACK", "rc=2:7"), ==, on);
        pair_recv(p, 1, 1);
        work_all(p, 0, 8, work_new(ROW_CTP + 1, UB_TA_SEND, 0, 8), UB_TAS_OK);
        g_assert_cmpint(any_sent(p, 0, "Send", "no-taack"), ==, !on);
        g_assert_false(any_sent(p, 0, "Write", "no-taack"));
        w = work_new(ROW_CTP + 1, UB_TA_WRITE_NOTIFY, 0, 8);
        w->req.ntf_addr = PAIR_UBA + 64;
        w->req.ntf_token_id = PAIR_TOKEN_ID;
        w->req.ntf_token = PAIR_TOKEN;
        w->req.ntf_data = 0x0102030405060708;
        work_all(p, 0, 9, w, UB_TAS_OK);
        g_assert_cmphex(p->end[1].mem[64], ==, on ? 1 : 8);
        g_assert_cmphex(p->end[1].mem[71], ==, on ? 8 : 1);
        /* A request that comes twice. */
        put_le64(p->end[1].mem + 128, 0);
        p->dup = 1000000;
        w = work_new(ROW_CTP + 1, UB_TA_FETCH_ADD, 128, 8);
        w->data[0] = 1;
        work_all(p, 0, 9, w, UB_TAS_OK);
        g_assert_cmpuint(get_le64(p->end[1].mem + 128), ==, 1 + on);
        pair_free(p);
    }
}

/* What of a request is in its headers. */
static void test_headers(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w = work_new(ROW_CTP + 1, UB_TA_SEND, 0, 8);

    p->tracing = true;
    pair_queue(p, 0, 7, UB_ROI);
    pair_recv(p, 1, 1);
    w->req.hint = 5;
    w->req.tc_type = 1;
    w->req.fce = w->req.ordered_cqe = w->req.e_bit = true;
    w->req.order = UB_TA_RO;
    w->req.ud_en = true;
    w->req.ud = 0xabc;
    work_all(p, 0, 7, w, UB_TAS_OK);
    g_assert_cmpstr(p->end[0].sent->pdata[0], ==,
                    "Send tassn=0 ee=1 rc=0:7 RO cqe-order fce exclusive ud=00000abc "
                    "tc=1:9 hint=5 offset=0 token=00005eed +8");
    /* What has no receive entry has no completion there. */
    w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0x40, 8);
    w->req.fce = true;
    w->req.ee = UB_EE_TEE;
    ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID, PAIR_UBA)->ee = 0;
    work_all(p, 0, 7, w, UB_TAS_OK);
    g_assert_cmpstr(p->end[0].sent->pdata[1], ==,
                    "Write tassn=1 ee=3 rc=0:7 NO addr=100040 token-id=1 length=8 "
                    "token=00005eed +8");
    pair_free(p);
}

/* EE_bits are 1 or 3 (no others have a meaning); 0 is what the queue has. */
static void test_ee(void)
{
    static const UbTaStatus want[] = { UB_TAS_OK, UB_TAS_OK, UB_TAS_OPCODE, UB_TAS_OK };
    Pair *p = pair_new(2, NULL);

    pair_queue(p, 0, 7, UB_ROI);
    ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID, PAIR_UBA)->ee = 0;
    for (unsigned ee = 0; ee < G_N_ELEMENTS(want); ee++) {
        Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);

        w->req.ee = ee;
        work_all(p, 0, 7, w, want[ee]);
    }
    pair_free(p);
}

/* What an earlier request left in its memory is not the next one's: it is not given
 * back with one behind it that is done. */
static void test_used_memory(void)
{
    Pair *p = pair_new(2, NULL);
    Work *first = work_new(ROW_CTP + 1, UB_TA_WRITE, 0x40, 8);
    Work *second = work_new(ROW_CTP + 1, UB_TA_WRITE, 0x80, 8);

    pair_queue(p, 0, 7, UB_ROI)->cfg.in_order = true;
    first->req.all_made = first->req.finished = first->req.counted = true;
    first->data[0] = 0x77;
    second->req.ee = 2;         /* nothing is sent */
    work_post(p, 0, 7, first);
    work_post(p, 0, 7, second);
    ub_ta_run(p->end[0].ta, p->now, 64);
    g_assert_cmpint(second->req.status, ==, UB_TAS_OPCODE);
    g_assert_false(first->done);
    pair_run(p);
    g_assert_true(first->done && second->done);
    g_assert_cmphex(p->end[1].mem[0x40], ==, 0x77);
    work_free(first);
    work_free(second);
    pair_idle(p);
    pair_free(p);
}

/* A slice that nobody wants any more is under way in another process, too. */
static void test_unwanted_moves(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
    UbTaQueue *q = pair_queue(p, 0, 7, UB_ROI);

    work_post(p, 0, 7, w);
    ub_ta_run(p->end[0].ta, p->now, 1);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 1);
    ub_ta_queue_flush(q, true);
    g_assert_null(pair_migrate(p, 0));
    pair_run(p);
    work_free(w);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    pair_idle(p);
    pair_free(p);
}

/* ---- the way of Writebacks ---- */

static uint8_t sl_of[UB_TA_OPCODES];

static bool look_sl(Pair *p, Wire *w)
{
    if (w->from == 0) {
        sl_of[core_packet_data(w->pkt)[7]] = w->dest.flow.sl;
    }
    return true;
}

static void test_writeback(void)
{
    static const uint8_t opcodes[] = { UB_TA_WRITE, UB_TA_WRITE_BE, UB_TA_WRITEBACK,
                                       UB_TA_WRITEBACK_BE };
    Pair *p = pair_new(2, NULL);
    UbTaDest d = *ub_ta_dest(p->end[0].ta, ROW_CTP + 1);

    pair_queue(p, 0, 7, UB_ROI);
    p->filter = look_sl;
    d.tp.flow.sl = 3;
    for (unsigned own = 0; own < 2; own++) {
        d.sl_writeback = own ? 9 : UB_TA_SAME_SL;
        g_assert_true(ub_ta_set_dest(p->end[0].ta, ROW_CTP + 1, &d));
        for (unsigned i = 0; i < G_N_ELEMENTS(opcodes); i++) {
            work_all(p, 0, 7, work_new(ROW_CTP + 1, opcodes[i], 0, 64), UB_TAS_OK);
            g_assert_cmpuint(sl_of[opcodes[i]], ==, own && i >= 2 ? 9 : 3);
        }
    }
    pair_free(p);
}

/* ---- lanes that nobody owns ---- */

static bool lose_all(Pair *p, Wire *w)
{
    return false;
}

static unsigned lanes(Pair *p)
{
    UbTaState s;

    ub_ta_state(p->end[0].ta, &s);
    return s.lanes;
}

/* They go with their last slice: by a time-out, by the transport's word. */
static void test_orphans(void)
{
    for (unsigned i = 0; i < 2; i++) {
        Pair *p = pair_new(2, NULL);
        Work *w = work_new((i ? ROW_ANSWERS : ROW_CTP) + 1, UB_TA_WRITE, 0, 8);

        pair_queue(p, 0, 7, UB_ROI);
        p->filter = i ? NULL : lose_all;
        work_post(p, 0, 7, w);
        ub_ta_run(p->end[0].ta, p->now, 64);
        ub_ta_queue_free(ub_ta_queue(p->end[0].ta, 7));
        g_assert_cmpint(w->status, ==, UB_TAS_FLUSHED);
        g_assert_cmpuint(lanes(p), ==, 1);
        pair_run_for(p, 50000);
        g_assert_cmpuint(lanes(p), ==, !i);
        pair_run(p);
        g_assert_cmpuint(lanes(p), ==, 0);
        work_free(w);
        pair_idle(p);
        pair_free(p);
    }
}

/* In compact form a response acknowledges one request. */
static bool lose_second(Pair *p, Wire *w)
{
    return w->from != 0 || p->packets != 2;
}

static void test_compact(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w[3];

    pair_queue(p, 0, 7, UB_ROI);
    p->filter = lose_second;
    for (unsigned i = 0; i < 3; i++) {
        w[i] = work_new(ROW_BYPASS + 1, UB_TA_WRITE, 64 * i, 64);
        work_post(p, 0, 7, w[i]);
    }
    pair_run(p);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(w[i]->status, ==, i == 1 ? UB_TAS_TIMEOUT : UB_TAS_OK);
        work_free(w[i]);
    }
    g_assert_null(ub_ta_queue(p->end[0].ta, 7)->last);  /* of others as well */
    pair_free(p);
}

/* The row goes when a part of a request has left: it ends with that part, in another
 * process too. */
static void test_row_goes(void)
{
    for (unsigned migrate = 0; migrate < 2; migrate++) {
        Pair *p = pair_new(2, NULL);
        Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 12000);
        UbTa *ta = p->end[0].ta;

        pair_queue(p, 0, 7, UB_ROI);
        work_post(p, 0, 7, w);
        ub_ta_run(ta, p->now, 1);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 1);
        g_assert_true(ub_ta_set_dest(ta, ROW_CTP + 1, NULL));
        ub_ta_run(ta, p->now, 1);
        g_assert_false(w->done);
        g_assert_cmpint(w->req.status, ==, UB_TAS_OPCODE);
        if (migrate) {
            g_assert_null(pair_migrate(p, 0));
        }
        pair_run(p);
        g_assert_true(w->done);
        g_assert_cmpint(w->status, ==, UB_TAS_OPCODE);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 1);
        work_free(w);
        pair_idle(p);
        pair_free(p);
    }
}

/* ---- answers that are too long ---- */

/* The last packet of a Read has more than was asked for. */
static void lengthen_last(Pair *p, Wire *w)
{
    if (w->from == 1 && w->tx.last) {
        memset(core_packet_put(w->pkt, 8), 0xee, 8);
    }
}

/* None of it comes where nobody has asked for it. */
static void test_too_long(void)
{
    static const uint32_t rows[] = { ROW_RTP + 1, ROW_CTP + 1 };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Pair *p = pair_new(2, NULL);

        pair_queue(p, 0, 7, UB_ROI);
        p->alter = lengthen_last;
        work_all(p, 0, 7, work_new(rows[i], UB_TA_READ, 0, 12000), UB_TAS_REMOTE_LENGTH);
        pair_idle(p);
        pair_free(p);
    }
}

/* ---- poison ---- */

static bool poisoned;

static void poison_answers(Pair *p, Wire *w)
{
    if (w->from == 1 && poisoned) {
        core_packet_data(w->pkt)[7 + 1] |= 4;   /* behind UPIH and EIDH of CFG 6 */
    }
}

/* What brings poisoned data says so to who puts them down, of Reads and atomics. */
static void test_poison(void)
{
    static const uint8_t opcodes[] = { UB_TA_READ, UB_TA_FETCH_ADD };

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(opcodes); i++) {
        Work *w = work_new(ROW_CTP + 1, opcodes[i / 2], 0, 8);
        Pair *p = pair_new(2, NULL);

        poisoned = i % 2;
        p->alter = poison_answers;
        pair_queue(p, 0, 7, UB_ROI);
        work_post(p, 0, 7, w);
        pair_run(p);
        g_assert_true(w->done);
        g_assert_cmpint(w->req.tainted, ==, poisoned);
        g_assert_cmpint(w->status, ==, poisoned ? UB_TAS_REMOTE_POISON : UB_TAS_OK);
        work_free(w);
        pair_idle(p);
        pair_free(p);
    }
}

/* ---- what a stopped queue ends ---- */

/* A Writeback overtakes what was posted before it.  Where completions are in order that is
 * begun for its sake when the queue has stopped, however much it is; what was posted behind
 * is not. */
static void test_stop_behind(void)
{
    for (unsigned in_order = 0; in_order < 2; in_order++) {
        UbTaQueueConfig cfg = { .rcid = 7, .mode = UB_ROI, .in_order = in_order };
        Pair *p = pair_new(2, NULL);
        UbTaQueue *q = ub_ta_queue_new(p->end[0].ta, &cfg);
        Work *w[5];

        for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
            w[i] = work_new(ROW_CTP + 1, i == 3 ? UB_TA_WRITEBACK : UB_TA_WRITE, 64 * i,
                            64);
            if (i < 4) {
                work_post(p, 0, 7, w[i]);
            }
        }
        ub_ta_run(p->end[0].ta, p->now, 1);
        g_assert_cmpuint(w[3]->req.slices, ==, 1);
        g_assert_cmpuint(w[0]->req.slices, ==, 0);
        ub_ta_queue_stop(q, true);
        work_post(p, 0, 7, w[4]);
        pair_run(p);
        for (unsigned i = 0; i < 3; i++) {
            g_assert_cmpint(w[i]->done, ==, in_order);
        }
        g_assert_true(w[3]->done);
        g_assert_false(w[4]->done);
        ub_ta_queue_stop(q, false);
        pair_run(p);
        for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
            g_assert_true(w[i]->done);
            g_assert_cmpint(w[i]->status, ==, UB_TAS_OK);
            work_free(w[i]);
        }
        pair_idle(p);
        pair_free(p);
    }
}

/* ---- compact forms with CNAs of 16 bits ---- */

/* Memory operations are compact both ways; messages, which have no such form, and what
 * acknowledges them are not. */
static void test_compact6(void)
{
    UbTaConfig cfg;
    Pair *p;

    pair_config(&cfg);
    cfg.compact6 = true;
    p = pair_new(2, &cfg);
    p->tracing = true;
    pair_queue(p, 0, 7, UB_ROI);
    pair_recv(p, 1, 1);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 64), UB_TAS_OK);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_READ, 0, 64), UB_TAS_OK);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_SEND, 0, 64), UB_TAS_OK);
    g_assert_cmpuint(p->end[0].recvs->len, ==, 0);
    g_assert_cmpuint(p->end[1].recvs->len, ==, 1);
    /* Only what is full names the queue. */
    g_assert_false(any_sent(p, 0, "Write", " rc="));
    g_assert_false(any_sent(p, 0, "Read", " rc="));
    g_assert_true(any_sent(p, 0, "Send", " rc=0:7 "));
    g_assert_true(any_sent(p, 1, "TAACK", "rc=0:7"));
    pair_idle(p);
    pair_free(p);
}

/* ---- turns ---- */

enum { TURN_QUEUES = 4, TURN_EACH = 256, TURN_DEPTH = 128, TURN_LEN = 32768 };

/* Queues that always have something for one channel, whose window is @window packets of
 * 4096 bytes, have done as much as each other at any time, but for a quantum. */
static void take_turns(uint32_t window)
{
    g_autoptr(GPtrArray) works = g_ptr_array_new_with_free_func((GDestroyNotify)work_free);
    unsigned posted[TURN_QUEUES] = { 0 }, done[TURN_QUEUES], most = 0;
    UbTpAttr narrow = { .tx_window = window };
    Pair *p = pair_new_real(2, NULL);
    Work *w;

    g_assert_cmpint(ub_tp_modify(p->end[0].tp, ub_ta_dest(p->end[0].ta, ROW_RTP + 1)->tp.tpn,
                                 &narrow, UB_TPA_WINDOW), ==, UB_TPR_OK);
    for (unsigned q = 0; q < TURN_QUEUES; q++) {
        pair_queue(p, 0, 7 + q, UB_ROI);
    }
    while (most < TURN_EACH) {
        unsigned least = TURN_EACH;

        memset(done, 0, sizeof(done));
        for (guint i = 0; i < works->len; i++) {
            w = works->pdata[i];
            done[GPOINTER_TO_UINT(w->more)] += w->done;
        }
        for (unsigned q = 0; q < TURN_QUEUES; q++) {
            most = MAX(most, done[q]);
            least = MIN(least, done[q]);
            for (; posted[q] < MIN(done[q] + TURN_DEPTH, TURN_EACH); posted[q]++) {
                w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, TURN_LEN);
                w->more = GUINT_TO_POINTER(q);
                g_ptr_array_add(works, w);
                work_post(p, 0, 7 + q, w);
            }
        }
        g_assert_cmpuint(most - least, <=, 8);
        g_assert_true(pair_step(p));
    }
    pair_run(p);
    for (guint i = 0; i < works->len; i++) {
        w = works->pdata[i];
        g_assert_true(w->done);
        g_assert_cmpint(w->status, ==, UB_TAS_OK);
    }
    pair_idle(p);
    pair_free(p);
}

static void test_turns(void)
{
    static const uint32_t windows[] = { 1, 3, 8, 13, 40, 64, 80, 100, 200, 256 };

    for (unsigned i = 0; i < G_N_ELEMENTS(windows); i++) {
        take_turns(windows[i]);
    }
}

/* As long as may be, and no longer. */
static void test_longest(void)
{
    UbTaConfig cfg;
    Pair *p;

    pair_config(&cfg);
    cfg.max_len = 5000;
    p = pair_new(2, &cfg);
    pair_queue(p, 0, 7, UB_ROI);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 5000), UB_TAS_OK);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 5001), UB_TAS_LOCAL_LENGTH);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 2);
    pair_idle(p);
    pair_free(p);
}

/* ---- what moves ---- */

/* A queue that has an SC goes on with it where its node has moved to. */
static void test_sc_moves(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w;

    pair_queue(p, 0, 7, UB_ROT);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8), UB_TAS_OK);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_GRANTED), ==, 1);
    g_assert_null(pair_migrate(p, 0));
    p->tracing = true;
    w = work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 8);
    w->req.order = UB_TA_SO;
    work_all(p, 0, 7, w, UB_TAS_OK);
    g_assert_true(any_sent(p, 0, "Write ", " rc=2:0 "));
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_SC_GRANTED), ==, 1);
    pair_idle(p);
    pair_free(p);
}

/* Rows of an image are those of software, not those of the device. */
static void test_row_moves(void)
{
    static const uint32_t mine = 0x5a5a5, index[] = { UB_TA_DESTS - 1, UB_TA_DESTS,
                                                      UB_TA_DESTS + 1, UINT32_MAX };
    Pair *p = pair_new(2, NULL);
    g_autofree uint8_t *data = NULL;
    UbTaDest d = *ub_ta_dest(p->end[0].ta, ROW_CTP + 1);
    size_t len, at = 0;

    g_assert_true(ub_ta_set_dest(p->end[0].ta, mine, &d));
    data = pair_save(p, 0, &len);
    for (size_t i = 0; i + 4 <= len; i++) {
        if (get_be32(data + i) == mine) {
            g_assert_cmpuint(at, ==, 0);
            at = i;
        }
    }
    g_assert_cmpuint(at, >, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(index); i++) {
        put_be32(data + at, index[i]);
        g_assert_cmpint(pair_load(p, 1, data, len) != NULL, ==, i > 0);
        if (!i) {
            g_assert_nonnull(ub_ta_dest(p->end[1].ta, index[i]));
        }
    }
    pair_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/initiator/readings", test_readings);
    g_test_add_func("/ub/ta/initiator/headers", test_headers);
    g_test_add_func("/ub/ta/initiator/ee", test_ee);
    g_test_add_func("/ub/ta/initiator/used-memory", test_used_memory);
    g_test_add_func("/ub/ta/initiator/unwanted-moves", test_unwanted_moves);
    g_test_add_func("/ub/ta/initiator/writeback", test_writeback);
    g_test_add_func("/ub/ta/initiator/orphans", test_orphans);
    g_test_add_func("/ub/ta/initiator/compact", test_compact);
    g_test_add_func("/ub/ta/initiator/row-goes", test_row_goes);
    g_test_add_func("/ub/ta/initiator/too-long", test_too_long);
    g_test_add_func("/ub/ta/initiator/poison", test_poison);
    g_test_add_func("/ub/ta/initiator/stop-behind", test_stop_behind);
    g_test_add_func("/ub/ta/initiator/compact6", test_compact6);
    g_test_add_func("/ub/ta/initiator/turns", test_turns);
    g_test_add_func("/ub/ta/initiator/longest", test_longest);
    g_test_add_func("/ub/ta/initiator/sc-moves", test_sc_moves);
    g_test_add_func("/ub/ta/initiator/row-moves", test_row_moves);
    return g_test_run();
}
