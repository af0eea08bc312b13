/*
 * The transaction layer over a scripted transport: each service, transport and
 * error by itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

static void fill(uint8_t *p, uint32_t len, uint64_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        p[i] = core_random(&seed);
    }
}

static const uint32_t rows[] = { ROW_RTP, ROW_CTP, ROW_CTP7, ROW_BYPASS,
                                 ROW_GROUP, ROW_ANSWERS };
static const uint32_t lengths[] = { 1, 63, 64, 65, 128, 1000, 1023, 1024,
                                    1025, 4095, 4096, 4097, 8192, 65535,
                                    65536, 65537, 200000 };

/* §7.4.2.1.1, §7.4.2.2: any length by any transport that carries it. */
static void test_write_read(void)
{
    Pair *p = pair_new(2, NULL);

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(lengths); i++) {
            uint32_t len = lengths[i], off = 0x1000 + 13 * i;
            uint8_t *far = p->end[1].mem + off;
            g_autofree uint8_t *want = g_malloc(len);
            Work *w = work_new(rows[r] + 1, UB_TA_WRITE, off, len);

            memset(far - 64, 0xee, len + 128);
            fill(w->data, len, r * 100 + i);
            memcpy(want, w->data, len);
            work_all(p, 0, 7, w, UB_TAS_OK);
            g_assert_cmpmem(far, len, want, len);
            g_assert_cmphex(far[-1], ==, 0xee);
            g_assert_cmphex(far[len], ==, 0xee);
            w = work_new(rows[r] + 1, UB_TA_READ, off, len);
            work_post(p, 0, 7, w);
            pair_run(p);
            g_assert_cmpint(w->status, ==, UB_TAS_OK);
            g_assert_cmpmem(w->data, len, want, len);
            work_free(w);
            pair_idle(p);
        }
    }
    pair_free(p);
}

/* §7.3.1.1: 1 MB in slices of 64 KB is 16 TASSNs. */
static void test_slices(void)
{
    Pair *p = pair_new(2, NULL);

    pair_queue(p, 0, 7, UB_ROI);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 1 << 20),
             UB_TAS_OK);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_SLICES), ==, 16);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 256);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 1 << 20),
             UB_TAS_OK);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_SLICES), ==, 16 + 256);
    pair_idle(p);
    pair_free(p);
}

/* §7.4.3.1, §7.4.3.2: messages, both completions. */
static void test_send(void)
{
    static const uint32_t row[] = { ROW_RTP, ROW_CTP, ROW_GROUP, ROW_ANSWERS };
    Pair *p = pair_new(2, NULL);
    End *e = &p->end[1];

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned r = 0; r < G_N_ELEMENTS(row); r++) {
        for (unsigned imm = 0; imm < 2; imm++) {
            for (unsigned i = 0; i < G_N_ELEMENTS(lengths); i++) {
                uint32_t len = lengths[i] % PAIR_SLOT;
                g_autofree uint8_t *want = g_malloc(len + 1);
                Work *w = work_new(row[r] + 1, imm ? UB_TA_SEND_IMM
                                                   : UB_TA_SEND, 0, len);
                uint64_t rqe = e->rqe_posted;
                Cqe *c;

                if (row[r] == ROW_CTP && len > 4096) {
                    work_all(p, 0, 7, w, UB_TAS_LOCAL_LENGTH);
                    continue;
                }
                fill(w->data, len, i);
                memcpy(want, w->data, len);
                w->req.imm = 0x1122334455667700 + i;
                w->req.fce = i & 1;
                pair_recv(p, 1, 1);
                work_all(p, 0, 7, w, UB_TAS_OK);
                c = &g_array_index(e->recvs, Cqe, e->recvs->len - 1);
                g_assert_cmpuint(c->id, ==, rqe);
                g_assert_cmpint(c->status, ==, UB_TAS_OK);
                g_assert_cmpuint(c->recv.len, ==, len);
                g_assert_cmpint(c->recv.opcode, ==, imm ? UB_TA_SEND_IMM
                                                        : UB_TA_SEND);
                g_assert_cmphex(c->recv.imm, ==,
                                imm ? 0x1122334455667700 + i : 0);
                g_assert_cmpint(c->recv.fce, ==, i & 1);
                g_assert_cmpuint(c->recv.rc_id, ==, 7);
                g_assert_cmpuint(c->recv.tc_id, ==, PAIR_TCID);
                g_assert_cmpmem(e->slots + rqe % 64 * PAIR_SLOT, len, want,
                                len);
                pair_idle(p);
            }
        }
    }
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_ANSWERS_BELOW), ==, 34);
    pair_free(p);
}

/* §7.2.5: TokenValues of segments and queues, data or none. */
static void test_tokens(void)
{
    Pair *p = pair_new(2, NULL);
    UbSegment *s = ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID,
                                    PAIR_UBA);
    Work *w;

    pair_queue(p, 0, 7, UB_ROI);
    pair_recv(p, 1, 8);
    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        for (unsigned op = UB_TA_WRITE; op <= UB_TA_READ; op += 3) {
            w = work_new(rows[r] + 1, op, 0, 64);
            w->req.token ^= 1;
            work_all(p, 0, 7, w, UB_TAS_ABORT);
            w = work_new(rows[r] + 1, op, 0, 64);
            w->req.token_en = false;
            work_all(p, 0, 7, w, UB_TAS_ABORT);
            w = work_new(rows[r] + 1, op, 0, 64);
            w->req.token_id++;
            work_all(p, 0, 7, w, UB_TAS_ABORT);
        }
    }
    /* Nothing to write: nothing is looked at.  A message is. */
    w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 0);
    w->req.token ^= 1;
    work_all(p, 0, 7, w, UB_TAS_OK);
    w = work_new(ROW_RTP + 1, UB_TA_READ, 0, 0);
    w->req.token ^= 1;
    work_all(p, 0, 7, w, UB_TAS_OK);
    w = work_new(ROW_RTP + 1, UB_TA_SEND, 0, 0);
    w->req.token ^= 1;
    work_all(p, 0, 7, w, UB_TAS_ABORT);
    w = work_new(ROW_RTP + 1, UB_TA_SEND, 0, 0);
    work_all(p, 0, 7, w, UB_TAS_OK);
    /* Two values while one is being replaced (§11.4.4); none wanted. */
    s->token[1] = 0x777;
    w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 1);
    w->req.token = 0x777;
    work_all(p, 0, 7, w, UB_TAS_OK);
    s->check = false;
    w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 1);
    w->req.token_en = false;
    work_all(p, 0, 7, w, UB_TAS_OK);
    /* Rights. */
    s->rights = UB_SEGMENT_READ;
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 1), UB_TAS_ABORT);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_READ, 0, 1), UB_TAS_OK);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_FETCH_ADD, 0, 8),
             UB_TAS_ABORT);
    s->rights = UB_SEGMENT_WRITE;
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_READ, 0, 1), UB_TAS_ABORT);
    pair_idle(p);
    pair_free(p);
}

/* §7.2.1, tables 9-7, 9-8: E_bit and EE_bits. */
static void test_exclusive(void)
{
    Pair *p = pair_new(2, NULL);
    UbSegment *s = ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID,
                                    PAIR_UBA);

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < 4; i++) {
        Work *w = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 8);

        w->req.e_bit = i & 1;
        s->exclusive = i & 2;
        work_all(p, 0, 7, w, i == 2 ? UB_TAS_ABORT : UB_TAS_OK);
    }
    s->exclusive = false;
    for (unsigned i = 0; i < 4; i++) {
        Work *w = work_new(ROW_RTP + 1, UB_TA_READ, 0, 8);

        w->req.ee = i & 1 ? UB_EE_TEE : 0;
        s->ee = i & 2 ? UB_EE_TEE : UB_EE_NORMAL;
        work_all(p, 0, 7, w, (i & 1) == i >> 1 ? UB_TAS_OK : UB_TAS_ABORT);
    }
    pair_free(p);
}

/* §7.2.2, §7.3.1.1: RNR, the timer, the number of retries. */
static void test_rnr(void)
{
    static const uint32_t row[] = { ROW_RTP, ROW_CTP, ROW_ANSWERS };
    Pair *p = pair_new(2, NULL);

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned r = 0; r < G_N_ELEMENTS(row); r++) {
        Work *w = work_new(row[r] + 1, UB_TA_SEND, 0, 100);
        int64_t start = p->now;

        /* Timer 10: 2.048 ms. */
        work_post(p, 0, 7, w);
        pair_run_for(p, 2000000);
        g_assert_false(w->done);
        pair_recv(p, 1, 1);
        pair_run(p);
        g_assert_true(w->done);
        g_assert_cmpint(w->status, ==, UB_TAS_OK);
        g_assert_cmpint(w->at - start, >=, 2048000);
        g_assert_cmpint(w->at - start, <, 2060000);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_RETRIES), ==, 8 * r + 1);
        work_free(w);
        /* Nobody posts: eight tries. */
        start = p->now;
        w = work_new(row[r] + 1, UB_TA_SEND, 0, 100);
        work_post(p, 0, 7, w);
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_RNR);
        g_assert_cmpint(w->at - start, >=, 7 * 2048000);
        g_assert_cmpint(w->at - start, <, 7 * 2048000 + 100000);
        work_free(w);
    }
    pair_idle(p);
    pair_free(p);
}

static bool lose_all(Pair *p, Wire *w)
{
    return false;
}

/* A queue tries as often, and waits as long, as it says. */
static void test_tries(void)
{
    static const uint32_t row[] = { ROW_RTP, ROW_CTP, ROW_ANSWERS };
    UbTaQueueConfig wrong = { .rcid = 8, .mode = UB_ROI, .patience = 5 };
    Pair *p = pair_new(2, NULL);
    UbTaQueue *q = pair_queue(p, 0, 7, UB_ROI);
    UbSegment *s = ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID,
                                    PAIR_UBA);

    g_assert_null(ub_ta_queue_new(p->end[0].ta, &wrong));
    for (unsigned r = 0; r < G_N_ELEMENTS(row); r++) {
        for (unsigned tries = 1; tries <= 12; tries++) {
            uint64_t again = pair_count(p, 0, UB_TAC_RETRIES);

            ub_ta_queue_set_tries(q, tries, 0);
            work_all(p, 0, 7, work_new(row[r] + 1, UB_TA_SEND, 0, 100),
                     UB_TAS_RNR);
            g_assert_cmpuint(pair_count(p, 0, UB_TAC_RETRIES) - again, ==,
                             tries - 1);
        }
    }
    for (unsigned r = 0; r < G_N_ELEMENTS(row); r++) {
        Work *w = work_new(row[r] + 1, UB_TA_SEND, 0, 100);

        /* For ever: 3 s are more than 1,000 times; and fewer at once. */
        ub_ta_queue_set_tries(q, UINT8_MAX, 0);
        for (unsigned i = 0; i < 2; i++) {
            work_post(p, 0, 7, w);
            pair_run_for(p, INT64_C(3000000000));
            g_assert_false(w->done);
            if (i) {
                ub_ta_queue_set_tries(q, 1, 0);
            } else {
                pair_recv(p, 1, 1);
            }
            pair_run(p);
            g_assert_true(w->done);
            g_assert_cmpint(w->status, ==, i ? UB_TAS_RNR : UB_TAS_OK);
            w->done = false;
        }
        work_free(w);
    }
    /* Pages come by the layer's rule. */
    s->pages = UB_SEGMENT_FAULT;
    s->timer = 5;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t again = pair_count(p, 0, UB_TAC_RETRIES);

        ub_ta_queue_set_tries(q, i ? UINT8_MAX : 1, 0);
        work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 8, 8),
                 UB_TAS_RNR);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_RETRIES) - again, ==, 7);
    }
    s->pages = UB_SEGMENT_THERE;
    p->filter = lose_all;
    for (unsigned patience = 0; patience <= UB_TA_GEARS; patience++) {
        static const unsigned ms[] = { 100, 128, 1000, 8000, 64000 };
        Work *w = work_new(ROW_CTP + 1, UB_TA_WRITE, 8, 8);
        int64_t start = p->now;

        ub_ta_queue_set_tries(q, 0, patience);
        work_post(p, 0, 7, w);
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_TIMEOUT);
        g_assert_cmpint(w->at - start, ==, ms[patience] * INT64_C(1000000));
        work_free(w);
    }
    pair_free(p);
}

/* §7.2.2: page faults by both strategies. */
static void test_fault(void)
{
    static const uint32_t row[] = { ROW_RTP, ROW_CTP, ROW_ANSWERS };
    static const uint8_t ops[] = { UB_TA_WRITE, UB_TA_READ, UB_TA_FETCH_ADD };
    Pair *p = pair_new(2, NULL);
    UbSegment *s = ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID,
                                    PAIR_UBA);

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < G_N_ELEMENTS(row) * 3; i++) {
        Work *w = work_new(row[i / 3] + 1, ops[i % 3], 8, 8);
        int64_t start = p->now;
        uint64_t was = get_le64(p->end[1].mem + 8);

        w->data[0] = 1;
        s->pages = UB_SEGMENT_FAULT;
        s->timer = 5;                   /* 64 us */
        work_post(p, 0, 7, w);
        pair_run_for(p, 60000);
        s->pages = UB_SEGMENT_THERE;
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_OK);
        g_assert_cmpint(w->at - start, >=, 64000);
        g_assert_cmpint(w->at - start, <, 75000);
        if (i % 3 == 2) {
            g_assert_cmpuint(get_le64(p->end[1].mem + 8), ==, was + 1);
        }
        work_free(w);
        /* Told when it is there. */
        start = p->now;
        w = work_new(row[i / 3] + 1, ops[i % 3], 8, 8);
        s->pages = UB_SEGMENT_LATER;
        work_post(p, 0, 7, w);
        pair_run_for(p, 500000);
        g_assert_false(w->done);
        s->pages = UB_SEGMENT_THERE;
        ub_ta_resolved(p->end[1].ta);
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_OK);
        g_assert_cmpint(w->at - start, >=, 500000);
        g_assert_cmpint(w->at - start, <, 520000);
        work_free(w);
    }
    pair_idle(p);
    /* Compact responses have no word for it: refused. */
    s->pages = UB_SEGMENT_FAULT;
    work_all(p, 0, 7, work_new(ROW_BYPASS + 1, UB_TA_WRITE, 0, 64),
             UB_TAS_ABORT);
    pair_free(p);
}

/* Lost by the network: a time-out, reported once, no repetition. */
static bool lose_responses(Pair *p, Wire *w)
{
    return w->from == 0;
}

static void test_timeout(void)
{
    static const uint32_t row[] = { ROW_CTP, ROW_CTP7, ROW_BYPASS };
    Pair *p = pair_new(2, NULL);

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned r = 0; r < G_N_ELEMENTS(row); r++) {
        for (unsigned i = 0; i < 2; i++) {
            Work *w = work_new(row[r] + 1, UB_TA_FETCH_ADD, 64, 8);
            int64_t start = p->now;

            put_le64(p->end[1].mem + 64, 5);
            w->data[0] = 1;
            p->filter = i ? lose_responses : lose_all;
            if (row[r] == ROW_BYPASS) {
                w->req.opcode = UB_TA_READ;
            }
            work_post(p, 0, 7, w);
            pair_run(p);
            g_assert_cmpint(w->status, ==, UB_TAS_TIMEOUT);
            g_assert_cmpint(w->at - start, ==, 100000000);
            g_assert_cmpuint(get_le64(p->end[1].mem + 64), ==,
                             i && row[r] != ROW_BYPASS ? 6 : 5);
            work_free(w);
            p->filter = NULL;
            work_all(p, 0, 7, work_new(row[r] + 1, UB_TA_WRITE, 0, 64),
                     UB_TAS_OK);
        }
    }
    pair_idle(p);
    pair_free(p);
}

static const char *opcode_of(uint8_t opcode)
{
    return ub_ta_op(opcode)->name;
}

static unsigned sent(Pair *p, unsigned node, const char *prefix)
{
    GPtrArray *a = p->end[node].sent;
    unsigned n = 0;

    for (guint i = 0; i < a->len; i++) {
        n += g_str_has_prefix(a->pdata[i], prefix);
    }
    return n;
}

/* §7.3.1.1: TAACKs together, alone, in the transport's, not at all. */
static void test_taacks(void)
{
    UbTaConfig cfg;

    for (unsigned i = 0; i < 4; i++) {
        Pair *p;
        unsigned n;

        pair_config(&cfg);
        cfg.aggregate = i == 0 ? 32 : i == 1 ? 10 : 1;
        cfg.no_taack = i == 3;
        cfg.tassn_start = 0xf000;
        p = pair_new(2, &cfg);
        p->tracing = true;
        pair_queue(p, 0, 7, i == 3 ? UB_ROL : UB_ROI);
        /* 160 packets, over the wrap of TASSNs. */
        for (unsigned j = 0; j < 40; j++) {
            work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 160 * 4096),
                     UB_TAS_OK);
        }
        n = sent(p, 1, "TAACK");
        if (i == 0) {
            g_assert_cmpuint(n, <, 40 * 160 / 8);
        } else if (i == 1) {
            g_assert_cmpuint(n, >=, 40 * 16);
        } else {
            g_assert_cmpuint(n, ==, i == 2 ? 40 * 160 : 0);
        }
        g_assert_cmpuint(n + pair_count(p, 1, UB_TAC_TAACKS_SAVED), ==,
                         i == 3 ? 0 : 40 * 160);
        g_assert_cmpuint(sent(p, 0, "Write tassn=0 "), ==, 1);
        pair_idle(p);
        pair_free(p);
    }
    {
        Pair *p = pair_new(2, NULL);

        p->tracing = true;
        pair_queue(p, 0, 7, UB_ROL);
        work_all(p, 0, 7, work_new(ROW_ANSWERS + 1, UB_TA_WRITE, 0, 1 << 20),
                 UB_TAS_OK);
        work_all(p, 0, 7, work_new(ROW_ANSWERS + 1, UB_TA_READ, 0, 4096),
                 UB_TAS_OK);
        g_assert_cmpuint(sent(p, 1, "TAACK"), ==, 0);
        g_assert_cmpuint(sent(p, 1, "Read_response"), ==, 1);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_ANSWERS_BELOW), ==, 16);
        pair_free(p);
    }
}

/* §7.3.1.2, §7.3.4: the unreliable service, and what carries what. */
static void test_uno(void)
{
    static const struct {
        uint8_t mode;
        uint32_t row;
        uint8_t opcode, order;
        UbTaStatus status;
    } rules[] = {
        { UB_UNO, ROW_UTP, UB_TA_SEND, UB_TA_NO, UB_TAS_OK },
        { UB_UNO, ROW_CTP, UB_TA_SEND, UB_TA_NO, UB_TAS_OK },
        { UB_UNO, ROW_CTP, UB_TA_SEND_IMM, UB_TA_NO, UB_TAS_OK },
        { UB_UNO, ROW_RTP, UB_TA_SEND, UB_TA_NO, UB_TAS_OPCODE },
        { UB_UNO, ROW_BYPASS, UB_TA_SEND, UB_TA_NO, UB_TAS_OPCODE },
        { UB_UNO, ROW_CTP, UB_TA_WRITE, UB_TA_NO, UB_TAS_OPCODE },
        { UB_UNO, ROW_CTP, UB_TA_PREFETCH, UB_TA_NO, UB_TAS_OK },
        { UB_UNO, ROW_BYPASS, UB_TA_PREFETCH, UB_TA_NO, UB_TAS_OK },
        { UB_ROI, ROW_UTP, UB_TA_SEND, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROT, ROW_UTP, UB_TA_SEND, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROL, ROW_UTP, UB_TA_SEND, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROI, ROW_CTP, UB_TA_PREFETCH, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROL, ROW_SPRAY, UB_TA_WRITE, UB_TA_NO, UB_TAS_OK },
        { UB_ROL, ROW_SPRAY, UB_TA_WRITE, UB_TA_RO, UB_TAS_OPCODE },
        { UB_ROL, ROW_SPRAY, UB_TA_WRITE, UB_TA_SO, UB_TAS_OPCODE },
        { UB_ROL, ROW_CTP, UB_TA_WRITE, UB_TA_SO, UB_TAS_OK },
        { UB_ROI, ROW_SPRAY, UB_TA_WRITE, UB_TA_SO, UB_TAS_OK },
        { UB_ROL, ROW_GROUP, UB_TA_WRITE, UB_TA_NO, UB_TAS_OK },
        { UB_ROL, ROW_GROUP, UB_TA_WRITE, UB_TA_SO, UB_TAS_OPCODE },
        { UB_ROI, ROW_GROUP, UB_TA_WRITE, UB_TA_SO, UB_TAS_OK },
        { UB_ROT, ROW_GROUP, UB_TA_WRITE, UB_TA_SO, UB_TAS_OK },
        { UB_ROT, ROW_CTP, UB_TA_WRITEBACK, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROI, ROW_CTP, UB_TA_WRITEBACK, UB_TA_NO, UB_TAS_OK },
        { UB_ROL, ROW_BYPASS, UB_TA_WRITEBACK, UB_TA_NO, UB_TAS_OK },
        { UB_ROI, ROW_CTP, UB_TA_MANAGEMENT, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROI, ROW_CTP, 0x02, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROI, ROW_CTP, UB_TA_TAACK, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROI, ROW_CTP, 0x19, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROI, ROW_CTP, UB_TA_WRITE, 3, UB_TAS_OPCODE },
        { UB_ROI, 200, UB_TA_WRITE, UB_TA_NO, UB_TAS_OPCODE },
        { UB_ROI, ROW_BYPASS, UB_TA_WRITE_NOTIFY, UB_TA_NO, UB_TAS_OPCODE },
    };
    Pair *p = pair_new(2, NULL);
    Work *w;

    for (unsigned mode = 0; mode < UB_TA_MODES; mode++) {
        pair_queue(p, 0, mode, mode);
    }
    p->tracing = true;
    pair_recv(p, 1, 10);
    for (unsigned i = 0; i < G_N_ELEMENTS(rules); i++) {
        w = work_new(rules[i].row + 1, rules[i].opcode, 0, 64);
        w->req.order = rules[i].order;
        work_all(p, 0, rules[i].mode, w, rules[i].status);
    }
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_RECEIVED), ==, 3);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_PREFETCHES), ==, 2);
    /* Longer than a packet; lost without a word. */
    work_all(p, 0, UB_UNO, work_new(ROW_CTP + 1, UB_TA_SEND, 0, 4097),
             UB_TAS_LOCAL_LENGTH);
    g_ptr_array_set_size(p->end[1].sent, 0);
    p->filter = lose_all;
    work_all(p, 0, UB_UNO, work_new(ROW_CTP + 1, UB_TA_SEND, 0, 4096),
             UB_TAS_OK);
    p->filter = NULL;
    work_all(p, 0, UB_UNO, work_new(ROW_CTP + 1, UB_TA_SEND, 0, 4096),
             UB_TAS_OK);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_RECEIVED), ==, 4);
    /* A Prefetch that may not: not a word either (§7.4.4.1). */
    w = work_new(ROW_CTP + 1, UB_TA_PREFETCH, 0, 64);
    w->req.token_id = 5;
    work_all(p, 0, UB_UNO, w, UB_TAS_OK);
    g_assert_cmpuint(p->end[1].sent->len, ==, 0);
    pair_idle(p);
    pair_free(p);
}

/* §7.4.2.1.3 to 5: byte enables; Writeback. */
static void test_enables(void)
{
    static const uint8_t ops[] = { UB_TA_WRITE_BE, UB_TA_WRITEBACK_BE };
    static const uint32_t sizes[] = { 64, 128, 256, 512, 1024 };
    Pair *p = pair_new(2, NULL);
    uint64_t seed = 3;

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < 120; i++) {
        uint32_t len = sizes[i % 5], off = 4096 + i / 20 * 64;
        Work *w = work_new(rows[i % 6] + 1, ops[i & 1], off, len);
        g_autofree uint8_t *want = g_memdup2(p->end[1].mem, 16384);

        fill(w->data, len, i);
        for (uint32_t b = 0; b < len; b++) {
            if (core_random(&seed) & 1) {
                w->req.be[b / 8] |= 1 << b % 8;
                want[off + b] = w->data[b];
            }
        }
        work_all(p, 0, 7, w, UB_TAS_OK);
        g_assert_cmpmem(p->end[1].mem, 16384, want, 16384);
    }
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE_BE, 0, 96),
             UB_TAS_LOCAL_LENGTH);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE_BE, 0, 2048),
             UB_TAS_LOCAL_LENGTH);
    work_all(p, 0, 7, work_new(ROW_BYPASS + 1, UB_TA_WRITE_BE, 32, 64),
             UB_TAS_LOCAL_LENGTH);
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITEBACK, 0, 4097),
             UB_TAS_LOCAL_LENGTH);
    pair_idle(p);
    pair_free(p);
}

/* §7.4.2.1.2, §7.4.3.3: a word or an immediate after all data. */
static void test_notify(void)
{
    static const uint32_t row[] = { ROW_RTP, ROW_CTP, ROW_GROUP, ROW_ANSWERS,
                                    ROW_SPRAY };
    Pair *p = pair_new(2, NULL);
    End *e = &p->end[1];

    p->jitter = 50000;
    for (unsigned mode = UB_ROI; mode <= UB_ROL; mode++) {
        pair_queue(p, 0, mode, mode);
        for (unsigned i = 0; i < 5 * 3; i++) {
            uint32_t len = i % 3 == 0 ? 100 : i % 3 == 1 ? 5000 : 300000;
            Work *w = work_new(row[i / 3] + 1, UB_TA_WRITE_NOTIFY, 4096, len);
            g_autofree uint8_t *want = NULL;
            unsigned recvs;

            memset(e->mem, 0, PAIR_MEM);
            fill(w->data, len, i);
            want = g_memdup2(w->data, len);
            w->req.ntf_addr = PAIR_UBA + 8;
            w->req.ntf_data = 0x0102030405060708;
            w->req.ntf_token_id = PAIR_TOKEN_ID;
            w->req.ntf_token = PAIR_TOKEN;
            work_post(p, 0, mode, w);
            while (get_le64(e->mem + 8) == 0 && pair_step(p)) {
            }
            g_assert_cmphex(get_le64(e->mem + 8), ==, 0x0102030405060708);
            g_assert_cmpmem(e->mem + 4096, len, want, len);
            pair_run(p);
            g_assert_cmpint(w->status, ==, UB_TAS_OK);
            work_free(w);

            memset(e->mem, 0, PAIR_MEM);
            w = work_new(row[i / 3] + 1, UB_TA_WRITE_IMM, 4096, len);
            memcpy(w->data, want, len);
            w->req.imm = 42 + i;
            recvs = e->recvs->len;
            pair_recv(p, 1, 1);
            work_post(p, 0, mode, w);
            while (e->recvs->len == recvs && pair_step(p)) {
            }
            g_assert_cmpmem(e->mem + 4096, len, want, len);
            pair_run(p);
            g_assert_cmpint(w->status, ==, UB_TAS_OK);
            g_assert_cmpuint(e->recvs->len, ==, recvs + 1);
            {
                Cqe *c = &g_array_index(e->recvs, Cqe, recvs);

                g_assert_cmpuint(c->recv.len, ==, len);
                g_assert_cmpuint(c->recv.imm, ==, 42 + i);
                g_assert_cmpint(c->recv.opcode, ==, UB_TA_WRITE_IMM);
            }
            work_free(w);
        }
    }
    /* The queue's token guards the immediate, the segment's the data. */
    {
        Work *w = work_new(ROW_RTP + 1, UB_TA_WRITE_IMM, 0, 8);

        w->req.imm_token ^= 1;
        pair_recv(p, 1, 1);
        work_all(p, 0, UB_ROI, w, UB_TAS_ABORT);
        w = work_new(ROW_RTP + 1, UB_TA_WRITE_NOTIFY, 0, 8);
        w->req.ntf_addr = PAIR_UBA;
        w->req.ntf_token_id = PAIR_TOKEN_ID;
        w->req.ntf_token = PAIR_TOKEN ^ 1;
        work_all(p, 0, UB_ROI, w, UB_TAS_ABORT);
    }
    pair_idle(p);
    pair_free(p);
}

/* Poison of data that are sent, of memory, of messages. */
static void test_poison(void)
{
    UbTaConfig cfg;
    Pair *p;
    Work *w;

    pair_config(&cfg);
    p = pair_new(2, &cfg);
    pair_queue(p, 0, 7, UB_ROI);
    p->end[0].gather_result = UB_TA_DATA_POISON;
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 64),
             UB_TAS_LOCAL_POISON);
    g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==, 0);
    cfg.poison_send = true;
    g_assert_null(ub_ta_configure(p->end[0].ta, &cfg));
    for (unsigned r = 0; r < G_N_ELEMENTS(rows); r++) {
        p->end[0].gather_result = UB_TA_DATA_POISON;
        work_all(p, 0, 7, work_new(rows[r] + 1, UB_TA_WRITE, 0, 128),
                 UB_TAS_OK);
        p->end[0].gather_result = UB_TA_DATA_OK;
        work_all(p, 0, 7, work_new(rows[r] + 1, UB_TA_READ, 64, 64),
                 UB_TAS_REMOTE_POISON);
        work_all(p, 0, 7, work_new(rows[r] + 1, UB_TA_READ, 128, 64),
                 UB_TAS_OK);
        if (rows[r] != ROW_BYPASS) {
            work_all(p, 0, 7, work_new(rows[r] + 1, UB_TA_FETCH_ADD, 64, 8),
                     UB_TAS_REMOTE_POISON);
        }
        work_all(p, 0, 7, work_new(rows[r] + 1, UB_TA_WRITE, 0, 64),
                 UB_TAS_OK);
        work_all(p, 0, 7, work_new(rows[r] + 1, UB_TA_READ, 0, 64),
                 UB_TAS_OK);
        work_all(p, 0, 7, work_new(rows[r] + 1, UB_TA_READ, 64, 64),
                 UB_TAS_REMOTE_POISON);
        work_all(p, 0, 7, work_new(rows[r] + 1, UB_TA_WRITE, 64, 64),
                 UB_TAS_OK);
    }
    p->end[0].gather_result = UB_TA_DATA_POISON;
    pair_recv(p, 1, 1);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_SEND, 0, 64), UB_TAS_OK);
    g_assert_cmpint(g_array_index(p->end[1].recvs, Cqe, 0).status, ==,
                    UB_TAS_REMOTE_POISON);
    w = work_new(ROW_RTP + 1, UB_TA_FETCH_ADD, 0, 8);
    work_all(p, 0, 7, w, UB_TAS_ABORT);
    pair_idle(p);
    pair_free(p);
}

/* Local data that cannot be reached, before and in the middle of an operation;
 * the result of an atomic too, which must not be asked for again (§7.3.1.1). */
static void test_local(void)
{
    Pair *p = pair_new(2, NULL);
    Work *w;

    pair_queue(p, 0, 7, UB_ROI);
    p->end[0].gather_result = UB_TA_DATA_FAULT;
    work_all(p, 0, 7, work_new(ROW_CTP + 1, UB_TA_WRITE, 0, 64),
             UB_TAS_LOCAL_ACCESS);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 1 << 20),
             UB_TAS_LOCAL_ACCESS);
    g_assert_cmpuint(p->packets, ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t op = i ? UB_TA_SEND : UB_TA_WRITE;

        /* The channel takes one packet, and then no more for a while. */
        p->end[0].gather_result = UB_TA_DATA_OK;
        pair_recv(p, 1, 1);
        w = work_new(ROW_RTP + 1, op, 0, 60000);
        work_post(p, 0, 7, w);
        ub_ta_run(p->end[0].ta, p->now, 3);
        g_assert_cmpuint(pair_count(p, 0, UB_TAC_TX_REQUESTS), ==,
                         3 + 5 * i);
        p->end[0].gather_result = UB_TA_DATA_FAULT;
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_LOCAL_ACCESS);
        work_free(w);
        p->end[0].gather_result = UB_TA_DATA_OK;
        work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 8),
                 UB_TAS_OK);
    }
    g_assert_cmpuint(p->end[1].recvs->len, ==, 1);
    g_assert_cmpint(g_array_index(p->end[1].recvs, Cqe, 0).status, ==,
                    UB_TAS_REMOTE_POISON);
    p->end[0].scatter_result = UB_TA_DATA_FAULT;
    put_le64(p->end[1].mem, 0);
    w = work_new(ROW_RTP + 1, UB_TA_FETCH_ADD, 0, 8);
    w->data[0] = 1;
    work_all(p, 0, 7, w, UB_TAS_LOCAL_ACCESS);
    g_assert_cmpuint(get_le64(p->end[1].mem), ==, 1);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_READ, 0, 20000),
             UB_TAS_LOCAL_ACCESS);
    pair_idle(p);
    pair_free(p);
}

/* What a receive queue may say. */
static void test_receive(void)
{
    Pair *p = pair_new(2, NULL);
    End *e = &p->end[1];
    Work *w;

    pair_queue(p, 0, 7, UB_ROI);
    pair_recv(p, 1, 2);
    w = work_new(ROW_RTP + 1, UB_TA_SEND, 0, 64);
    w->req.tc_id++;
    work_all(p, 0, 7, w, UB_TAS_UNSUPPORTED);
    e->rqe_len = 63;
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_SEND, 0, 64),
             UB_TAS_UNSUPPORTED);
    g_assert_cmpint(g_array_index(e->recvs, Cqe, 0).status, ==,
                    UB_TAS_LOCAL_LENGTH);
    e->rqe_len = 5000;
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_SEND, 0, 5001),
             UB_TAS_UNSUPPORTED);
    g_assert_cmpint(g_array_index(e->recvs, Cqe, 1).status, ==,
                    UB_TAS_LOCAL_LENGTH);
    e->rqe_len = 0;
    e->place_result = UB_TA_DATA_FAULT;
    pair_recv(p, 1, 1);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_SEND, 0, 64),
             UB_TAS_ABORT);
    g_assert_cmpint(g_array_index(e->recvs, Cqe, 2).status, ==,
                    UB_TAS_LOCAL_ACCESS);
    /* As if nothing had come (§8.2.2.3). */
    e->recv_result = UB_RECV_SILENT;
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_SEND, 0, 64),
             UB_TAS_TIMEOUT);
    g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_SILENT), ==, 1);
    pair_idle(p);
    pair_free(p);
}

/* §7.4.5.1: Management, there and back. */
static void test_management(void)
{
    Pair *p = pair_new(2, NULL);
    const UbTaDest *dest = ub_ta_dest(p->end[0].ta, ROW_CTP + 1);
    UbTaRequest req = { .msn = 7, .mgmt_queue = 3, .mgmt_code = 2,
                        .mgmt_sub = 9, .len = 16 };
    uint8_t pdu[UB_TA_PDU_MAX + 1];
    End *e = &p->end[1];
    UbTaDest bare;

    fill(pdu, sizeof(pdu), 1);
    g_assert_cmpint(ub_ta_message(p->end[0].ta, p->now, dest, &req, pdu), ==,
                    UB_SENT);
    pair_run(p);
    g_assert_cmpuint(e->messages, ==, 1);
    g_assert_cmpuint(e->last_message.msn, ==, 7);
    g_assert_cmpuint(e->last_message.queue, ==, 3);
    g_assert_cmpuint(e->last_message.code, ==, 2);
    g_assert_cmpuint(e->last_message.sub, ==, 9);
    g_assert_false(e->last_message.rsp);
    g_assert_cmpmem(e->pdu, e->last_message.len, pdu, 16);
    req.mgmt_rsp = true;
    req.mgmt_status = 0x22;
    req.len = UB_TA_PDU_MAX;
    g_assert_cmpint(ub_ta_message(e->ta, p->now, &e->last_back, &req, pdu),
                    ==, UB_SENT);
    pair_run(p);
    e = &p->end[0];
    g_assert_cmpuint(e->messages, ==, 1);
    g_assert_true(e->last_message.rsp);
    g_assert_cmphex(e->last_message.status, ==, 0x22);
    g_assert_cmpmem(e->pdu, e->last_message.len, pdu, UB_TA_PDU_MAX);
    req.len++;
    g_assert_cmpint(ub_ta_message(e->ta, p->now, dest, &req, pdu), ==,
                    UB_LOST);
    /* In nobody's name. */
    bare = *dest;
    bare.sec.form = UB_SEC_NONE;
    req.len = 4;
    g_assert_cmpint(ub_ta_message(e->ta, p->now, &bare, &req, pdu), ==,
                    UB_SENT);
    pair_run(p);
    req.len = 0;
    p->busy = 1000000;
    g_assert_cmpint(ub_ta_message(e->ta, p->now, dest, &req, NULL), ==,
                    UB_BUSY);
    p->busy = 0;
    pair_idle(p);
    pair_free(p);
}

static void test_words(void)
{
    UbTaConfig cfg, bad;

    for (unsigned i = 0; i < UB_TA_COUNTERS_NUM; i++) {
        g_assert_nonnull(ub_ta_counter_name(i));
    }
    g_assert_null(ub_ta_counter_name(UB_TA_COUNTERS_NUM));
    g_assert_cmpstr(opcode_of(UB_TA_TAACK), ==, "TAACK");
    g_assert_cmpint(ub_ta_gear(0), ==, 128000000);
    g_assert_cmpint(ub_ta_gear(3), ==, INT64_C(64000000000));
    ub_ta_config_init(&cfg);
    g_assert_null(ub_ta_config_check(&cfg));
#define WRONG(field, value) do { \
        bad = cfg; \
        bad.field = value; \
        g_assert_nonnull(ub_ta_config_check(&bad)); \
        g_assert_null(ub_ta_new(&bad, NULL, NULL, NULL, NULL, NULL)); \
    } while (0)
    WRONG(slice, 0);
    WRONG(slice, 4096);
    WRONG(max_len, 0);
    WRONG(mtu, 2048);
    WRONG(window, 48);
    WRONG(window, 96);
    WRONG(window, 8192);
    WRONG(reserve, 512);
    WRONG(depth, 0);
    WRONG(answers, 0);
    WRONG(scs, 65537);
    WRONG(aggregate, 0);
    WRONG(aggregate, 33);
    WRONG(rnr_timer, 20);
    WRONG(ack_timeout, 0);
    WRONG(scale, 0);
    WRONG(floor, -1);
    WRONG(hold_time, INT64_MAX);
    WRONG(floor, (INT64_C(1) << 40) + 1);
    WRONG(ack_timeout, (INT64_C(1) << 40) + 1);
    WRONG(dup_life, (INT64_C(1) << 40) + 1);
    WRONG(scale, 1000001);
    WRONG(tassn_start, 1);
    cfg.floor = cfg.ack_timeout = cfg.dup_life = cfg.hold_time = INT64_C(1) << 40;
    cfg.scale = 1000000;
    g_assert_null(ub_ta_config_check(&cfg));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/write-read", test_write_read);
    g_test_add_func("/ub/ta/slices", test_slices);
    g_test_add_func("/ub/ta/send", test_send);
    g_test_add_func("/ub/ta/tokens", test_tokens);
    g_test_add_func("/ub/ta/exclusive", test_exclusive);
    g_test_add_func("/ub/ta/rnr", test_rnr);
    g_test_add_func("/ub/ta/tries", test_tries);
    g_test_add_func("/ub/ta/fault", test_fault);
    g_test_add_func("/ub/ta/timeout", test_timeout);
    g_test_add_func("/ub/ta/taacks", test_taacks);
    g_test_add_func("/ub/ta/uno", test_uno);
    g_test_add_func("/ub/ta/enables", test_enables);
    g_test_add_func("/ub/ta/notify", test_notify);
    g_test_add_func("/ub/ta/poison", test_poison);
    g_test_add_func("/ub/ta/local", test_local);
    g_test_add_func("/ub/ta/receive", test_receive);
    g_test_add_func("/ub/ta/management", test_management);
    g_test_add_func("/ub/ta/words", test_words);
    return g_test_run();
}
