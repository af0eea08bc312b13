/*
 * Rules of the transaction layer that two engines keep between them: slices, tokens,
 * tries, refusals, what is executed once (UB 2.0 §7.2.5, §7.3.1, §7.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-watch.h"
#include "ub/tah.h"
#include "ub/tp_format.h"

#define UPI32 (4 + 32)      /* UPIH, EIDH of 256 bits */
#define LEN 1000u
#define TIMEOUT_NS (65 * 1000000000ll)
#define RIGHTS (UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_ATOMIC)

/* Clocks of channels do not run out while a host is slow. */
#define PATIENT "tp-time-scale=20"

static uint64_t ta(Eng *e, const char *name)
{
    return eng_counter(e, "transaction", name);
}

static const uint8_t *ctp_tah(const Seen *s)
{
    return s->p + UB_NTH16_SIZE + UB_CTPH_LEN + UPI32;
}

static void post(Eng *e, uint8_t *s, unsigned blocks, unsigned status)
{
    ubq_post(&e->queue, s, blocks);
    eng_complete(e, status);
}

/* A Send of @len bytes to the other end's queue. */
static uint8_t *send_sqe(EngPair *p, unsigned opcode, uint32_t len)
{
    uint8_t *s = ubq_sqe(&p->a.queue, 1);

    ubq_sqe_put(s, opcode, ENG_DEST, p->a.room, len);
    put_le32(s + UBQ_SQE_TARGET, p->b.queue.id);
    return s;
}

static void modify_queue(Eng *e, uint32_t mask, unsigned at, uint32_t value,
                         uint32_t flags)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, e->queue.id, mask);
    put_le32(cmd + UBQ_Q_FLAGS, flags);
    if (at) {
        put_le32(cmd + at, value);
    }
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_QUEUE_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
}

/* Receive entries that messages have taken. */
static unsigned taken(Eng *e)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, e->queue.id, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    return get_le16(cmd + UBQ_Q_RQ_CI);
}

/* ---- Slices (§7.3.1.1) ------------------------------------------------------------------ */

#define SLICE 16384u
#define SLICES (ENG_ROOM / SLICE)
#define PER_SLICE (SLICE / 4096)

/* Each slice has a TASSN, the next one, in all its packets, which are one operation of
 * the transport; addresses step, the length is the slice's. */
static void test_slices(void)
{
    unsigned packets = 0, first = 0;
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_RTP },
                ",ta-slice=16384," QUBC_STEPPED);
    eng_fill(&w.p.a, ENG_ROOM, 1);
    post(&w.p.a, eng_sqe(&w.p.a, UB_TA_WRITE, 0, ENG_ROOM, 1), 1, UBQ_STATUS_OK);
    eng_check(&w.p.b, ENG_ROOM, 1);
    g_assert_null(ubq_cq_poll(&w.p.a.cq));
    watch_look(&w);
    for (unsigned i = 0; i < watch_packets(w.sent, UB_LPH_CNA24); i++) {
        const uint8_t *tph = watch_packet(w.sent, UB_LPH_CNA24, i)->p +
                             UB_NTH24_SIZE, *p = tph + UB_RTPH_LEN + UPI32;
        unsigned tassn;

        if ((tph[0] & 0x7f) != UB_TPOP_DATA) {
            continue;
        }
        tassn = lduw_be_p(p + 2);
        first = packets ? first : tassn;
        g_assert_cmphex(p[0], ==, UB_TA_WRITE);
        g_assert_cmpuint((uint16_t)(tassn - first), ==, packets / PER_SLICE);
        g_assert_cmpuint(tph[0] >> 7, ==,
                         packets % PER_SLICE == PER_SLICE - 1);
        g_assert_cmphex(ldq_be_p(p + 8), ==, ENG_UBA + packets * 4096);
        g_assert_cmpuint(ldl_be_p(p + 20), ==, SLICE);
        packets++;
    }
    g_assert_cmpuint(packets, ==, SLICES * PER_SLICE);
    watch_end(&w);
}

/* One of ten answers is lost: no completion until that slice's time is over, then one,
 * though the data are there. */
static void test_slice_lost(void)
{
    const uint32_t len = 10 * 4096;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP,
                              .props = QUBC_STEPPED ",ta-aggregate=1" });
    eng_set_faults(b, true, "'ta-opcode': 17, 'nth': 7, 'action': 'drop'");
    eng_fill(a, len, 1);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, len, 1), 1);
    QUBC_WAIT(ta(b, "tx-responses") == 10 && eng_faults(b, true, "drop") == 1);
    QUBC_WAIT(ta(a, "rx-responses") == 9);
    eng_check(b, len, 1);
    g_assert_null(ubq_cq_poll(&a->cq));
    qtest_clock_step(a->q->qts, 63 * 1000000000ll);
    g_assert_null(ubq_cq_poll(&a->cq));
    qtest_clock_step(a->q->qts, TIMEOUT_NS);
    eng_complete(a, UBQ_STATUS_TIMEOUT);
    g_assert_null(ubq_cq_poll(&a->cq));
    g_assert_cmpuint(ta(a, "timeouts"), ==, 1);
    g_assert_cmpuint(ta(b, "rx-requests"), ==, 10);
    eng_stop(&p);
}

/* ---- TokenValues (§7.2.5) --------------------------------------------------------------- */

#define OPEN_SEGMENT (ENG_SEGMENT + 1)  /* asks for none */

/* @opcode with @token, or without one. */
static void with_token(EngPair *p, unsigned opcode, uint32_t segment, bool tv,
                       uint32_t token, uint32_t len, unsigned status)
{
    bool atomic = opcode == UB_TA_FETCH_ADD;
    uint8_t *s = eng_sqe(&p->a, opcode, atomic ? UBQ_SQE_INLINE : 0, len, 2);

    if (!tv) {
        put_le32(s, get_le32(s) & ~UBQ_SQE_TOKEN);
    }
    put_le32(s + UBQ_SQE_TARGET, segment);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, token);
    post(&p->a, s, 2, status);
}

/* A Send of @len bytes, with or without a token. */
static void send_token(EngPair *p, bool tv, uint32_t token, uint32_t len,
                       unsigned status)
{
    uint8_t *s = send_sqe(p, UB_TA_SEND, len);
    unsigned before = taken(&p->b);

    if (!len) {
        put_le32(s, get_le32(s) & ~UBQ_SQE_ELEMENTS);
    }
    if (tv) {
        put_le32(s, get_le32(s) | UBQ_SQE_TOKEN);
        put_le32(s + UBQ_SQE_TOKEN_VALUE, token);
    }
    post(&p->a, s, 1, status);
    if (!status) {
        g_assert_cmpuint(get_le32(eng_complete(&p->b, UBQ_STATUS_OK) +
                                  UBQ_CQE_BYTES), ==, len);
    }
    g_assert_cmpuint(taken(&p->b), ==, before + !status);
}

static void tokens(unsigned carrier)
{
    static const uint8_t ops[] = { UB_TA_WRITE, UB_TA_READ, UB_TA_FETCH_ADD };
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = carrier, .props = PATIENT });
    ubq_segment(&p.b.drv, OPEN_SEGMENT, p.b.room, ENG_ROOM, RIGHTS, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
        bool atomic = ops[i] == UB_TA_FETCH_ADD;

        with_token(&p, ops[i], ENG_SEGMENT, true, ENG_TOKEN, 8, UBQ_STATUS_OK);
        with_token(&p, ops[i], ENG_SEGMENT, true, ENG_TOKEN + 1, 8,
                   UBQ_STATUS_ABORT);
        with_token(&p, ops[i], ENG_SEGMENT, false, 0, 8, UBQ_STATUS_ABORT);
        with_token(&p, ops[i], OPEN_SEGMENT, false, 0, 8, UBQ_STATUS_OK);
        if (!atomic) {          /* of no data it is not asked for */
            with_token(&p, ops[i], ENG_SEGMENT, true, ENG_TOKEN + 1, 0,
                       UBQ_STATUS_OK);
            with_token(&p, ops[i], ENG_SEGMENT, false, 0, 0, UBQ_STATUS_OK);
        }
    }
    /* A receive queue asks for its own, of messages without data too. */
    for (unsigned i = 0; i < 3; i++) {
        ubq_recv(&p.b.queue, p.b.room, 4096);
    }
    send_token(&p, false, 0, LEN, UBQ_STATUS_OK);
    modify_queue(&p.b, UBQ_QM_TOKEN, UBQ_Q_TOKEN_VALUE, 4711, UBQ_Q_TOKEN);
    for (unsigned len = 0; len <= LEN; len += LEN) {
        send_token(&p, false, 0, len, UBQ_STATUS_ABORT);
        send_token(&p, true, 4712, len, UBQ_STATUS_ABORT);
        send_token(&p, true, 4711, len, UBQ_STATUS_OK);
    }
    eng_stop(&p);
}

static void test_tokens(void)
{
    tokens(ENG_RTP);
    tokens(ENG_CTP);
}

/* ---- Nobody waits for the message (§7.3.1.1) ---------------------------------------------- */

#define RNR_TIMER 12u               /* 2 us * 2^12 */
#define RNR_NS (8192 * 1000ll)
#define RNR_FILL 6

/* The target's queue has no receive entry, and says @timer: a message is refused once. */
static void refuse_message(EngPair *p, unsigned timer)
{
    Eng *a = &p->a, *b = &p->b;

    modify_queue(b, UBQ_QM_RNR_TIMER, UBQ_Q_RNR_TIMER, timer, 0);
    eng_fill(a, LEN, RNR_FILL);
    ubq_post(&a->queue, send_sqe(p, UB_TA_SEND, LEN), 1);
    QUBC_WAIT(ta(a, "rnr-rx") == 1);
}

/* RNR, and when its time is over the same number once more, with Retry; a receive entry
 * that comes meanwhile takes it.  Each try waits for as long as the queue says. */
static void rnr(unsigned carrier)
{
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;
    unsigned n = 0;

    watch_start(&w, &(EngPlan){ .carrier = carrier }, "," QUBC_STEPPED);
    refuse_message(&w.p, RNR_TIMER);
    for (unsigned i = 1; i <= 3; i++) {
        QUBC_WAIT(ta(a, "rnr-rx") == i);
        g_assert_cmpuint(ta(b, "rnr-tx"), ==, i);
        qtest_clock_step(a->q->qts, RNR_NS - 1);
        g_assert_cmpuint(ta(a, "retries"), ==, i - 1);
        if (i == 3) {
            ubq_recv(&b->queue, b->room, 4096);
        }
        qtest_clock_step(a->q->qts, 1);
        QUBC_WAIT(ta(a, "retries") == i);
    }
    eng_complete(a, UBQ_STATUS_OK);
    eng_complete(b, UBQ_STATUS_OK);
    eng_check(b, LEN, RNR_FILL);
    g_assert_null(ubq_cq_poll(&a->cq));
    g_assert_null(ubq_cq_poll(&b->cq));
    watch_look(&w);
    if (carrier == ENG_CTP) {
        g_assert_cmpuint(watch_packets(w.sent, UB_LPH_CNA16), ==, 4);
        for (; n < 4; n++) {
            const uint8_t *first = ctp_tah(watch_packet(w.sent, UB_LPH_CNA16, 0)),
                          *p = ctp_tah(watch_packet(w.sent, UB_LPH_CNA16, n)),
                          *r = ctp_tah(watch_packet(w.came, UB_LPH_CNA16, n));

            g_assert_cmphex(p[4] & 2, ==, n ? 2 : 0);           /* Retry */
            g_assert_cmphex(lduw_be_p(p + 2), ==, lduw_be_p(first + 2));
            g_assert_cmphex(lduw_be_p(r + 2), ==, lduw_be_p(first + 2));
            g_assert_cmpuint(r[4] >> 5, ==, n < 3 ? UB_TAH_RNR : UB_TAH_OK);
            g_assert_cmpuint(r[4] & 31, ==, n < 3 ? RNR_TIMER : 0);
        }
    }
    watch_end(&w);
}

static void test_rnr(void)
{
    rnr(ENG_RTP);
    rnr(ENG_CTP);
}

/* So many tries as the property says, then 0x04/0. */
static void test_rnr_limit(void)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP,
                              .props = "ta-retries=2,ta-rnr-timer=0" });
    post(&p.a, send_sqe(&p, UB_TA_SEND, LEN), 1, UBQ_STATUS_RNR);
    g_assert_cmpuint(ta(&p.a, "rnr-rx"), ==, 3);
    g_assert_cmpuint(ta(&p.a, "retries"), ==, 2);
    g_assert_cmpuint(ta(&p.b, "rx-requests"), ==, 3);
    eng_send_recv(&p, LEN);
    eng_stop(&p);
}

/* ---- What is refused (§7.2.2) -------------------------------------------------------------- */

enum { READ_ONLY = ENG_SEGMENT + 1, WRITE_ONLY, NO_ATOMICS };

static const struct {
    uint8_t opcode;
    uint32_t segment;
    unsigned status;
} rights[] = {
    { UB_TA_WRITE, READ_ONLY, UBQ_STATUS_ABORT },
    { UB_TA_READ, READ_ONLY, UBQ_STATUS_OK },
    { UB_TA_FETCH_ADD, READ_ONLY, UBQ_STATUS_ABORT },
    { UB_TA_WRITE, WRITE_ONLY, UBQ_STATUS_OK },
    { UB_TA_READ, WRITE_ONLY, UBQ_STATUS_ABORT },
    { UB_TA_FETCH_ADD, WRITE_ONLY, UBQ_STATUS_ABORT },
    { UB_TA_WRITE, NO_ATOMICS, UBQ_STATUS_OK },
    { UB_TA_READ, NO_ATOMICS, UBQ_STATUS_OK },
    { UB_TA_FETCH_ADD, NO_ATOMICS, UBQ_STATUS_ABORT },
};

/* Each operation needs its right, and E_bit where the segment asks for it. */
static void test_rights(void)
{
    EngPair p;
    Eng *b = &p.b;
    uint8_t *s;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP });
    ubq_segment(&b->drv, READ_ONLY, b->room, ENG_ROOM, UBQ_SEG_READ, 0);
    ubq_segment(&b->drv, WRITE_ONLY, b->room, ENG_ROOM, UBQ_SEG_WRITE, 0);
    ubq_segment(&b->drv, NO_ATOMICS, b->room, ENG_ROOM,
                UBQ_SEG_READ | UBQ_SEG_WRITE, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(rights); i++) {
        put_le64(b->drv.memory + b->room, 40);
        put_le64(p.a.drv.memory + p.a.room, 7);
        s = eng_sqe(&p.a, rights[i].opcode,
                    rights[i].opcode == UB_TA_FETCH_ADD ? UBQ_SQE_INLINE : 0, 8, 2);
        put_le32(s + UBQ_SQE_TARGET, rights[i].segment);
        put_le64(s + UBQ_BLOCK, 2);
        post(&p.a, s, 2, rights[i].status);
        g_assert_cmpuint(get_le64(b->drv.memory + b->room), ==,
                         rights[i].opcode == UB_TA_WRITE && !rights[i].status ? 7
                                                                              : 40);
    }
    ubq_segment(&b->drv, READ_ONLY, b->room, ENG_ROOM,
                UBQ_SEG_READ | UBQ_SEG_EXCLUSIVE, 0);
    for (unsigned e = 0; e < 2; e++) {
        s = eng_sqe(&p.a, UB_TA_READ, e ? UBQ_SQE_EXCLUSIVE : 0, 8, 2);
        put_le32(s + UBQ_SQE_TARGET, READ_ONLY);
        post(&p.a, s, 2, e ? UBQ_STATUS_OK : UBQ_STATUS_ABORT);
    }
    eng_stop(&p);
}

/* A message that does not fit into its entry: both are told. */
static void test_long_message(void)
{
    static const unsigned carriers[] = { ENG_RTP, ENG_CTP };

    for (unsigned c = 0; c < G_N_ELEMENTS(carriers); c++) {
        EngPair p;

        eng_start(&p, &(EngPlan){ .carrier = carriers[c] });
        memset(p.b.drv.memory + p.b.room, 0, 8192);
        eng_fill(&p.a, LEN, 1);
        ubq_recv(&p.b.queue, p.b.room, LEN - 1);
        post(&p.a, send_sqe(&p, UB_TA_SEND, LEN), 1, UBQ_STATUS_UNSUPPORTED);
        g_assert_cmphex(ubq_cqe_status(eng_next(&p.b)), !=, UBQ_STATUS_OK);
        g_assert_cmphex(p.b.drv.memory[p.b.room + LEN - 1], ==, 0);
        eng_stop(&p);
    }
}

/* ---- Responses in acknowledgements (§6.7.2, ROL) --------------------------------------------- */

/* ROL by acknowledgements, over a channel whose clocks the test moves. */
static void start_rol(Watch *w, uint8_t retries)
{
    EngChannel c = { .flags = UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC | UBQ_CH_ANSWERS,
                     .rto = 2097152, .tx = 100, .rx = 7, .retries = retries };

    watch_start(w, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROL },
                "," QUBC_STEPPED);
    eng_channel(&w->p.a, &c);
    c.tx = 7;
    c.rx = 100;
    eng_channel(&w->p.b, &c);
    eng_ask_answers(&w->p.a);
    eng_ask_answers(&w->p.b);
}

/* Statuses of the transaction layer that TPACKs have: RNR and its timer, twice the
 * errors, success; TAACKs do not come.  An acknowledgement that brings an answer to the
 * last packet says so of those before it with its number only. */
static void test_rol_statuses(void)
{
    static const struct {
        uint8_t rspst, rspinfo;
    } want[] = {
        { UB_RTPH_RNR, RNR_TIMER }, { UB_RTPH_TA, UB_RTPH_TA_GOOD },
        { UB_RTPH_NAK, UB_NAK_ABORT }, { UB_RTPH_NAK, UB_NAK_UNSUPPORTED },
        { UB_RTPH_TA, UB_RTPH_TA_GOOD },
    };
    unsigned n = 0;
    uint8_t *s;
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    start_rol(&w, 0);
    refuse_message(&w.p, RNR_TIMER);
    ubq_recv(&b->queue, b->room, 4096);
    qtest_clock_step(a->q->qts, RNR_NS);
    eng_complete(a, UBQ_STATUS_OK);
    eng_complete(b, UBQ_STATUS_OK);
    eng_check(b, LEN, RNR_FILL);
    s = eng_sqe(a, UB_TA_WRITE, 0, 64, 1);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN + 1);
    post(a, s, 1, UBQ_STATUS_ABORT);
    s = send_sqe(&w.p, UB_TA_SEND, LEN);
    put_le32(s + UBQ_SQE_TARGET, 4000);
    post(a, s, 1, UBQ_STATUS_UNSUPPORTED);
    post(a, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), 1, UBQ_STATUS_OK);
    watch_look(&w);
    for (unsigned i = 0; i < watch_packets(w.came, UB_LPH_CNA24); i++) {
        const uint8_t *p = watch_packet(w.came, UB_LPH_CNA24, i)->p +
                           UB_NTH24_SIZE;

        g_assert_cmpuint(p[0] & 0x7f, ==, UB_TPOP_ACK);
        g_assert_cmpuint(n, <, G_N_ELEMENTS(want));
        g_assert_cmpuint(p[12] >> 5, ==, want[n].rspst);
        g_assert_cmpuint(p[12] & 31, ==, want[n].rspinfo);
        g_assert_cmpuint(p[9] << 16 | p[10] << 8 | p[11], ==, 100 + n);
        n++;
    }
    g_assert_cmpuint(n, ==, G_N_ELEMENTS(want));
    watch_end(&w);
}

#define LONG_TIMER 19u              /* 1.05 s */
#define FAKE_NS (50 * 1000000ll)    /* of tp-fake-period */

static uint64_t tp(Eng *e, const char *name)
{
    return eng_counter(e, "transport", name);
}

/* While a long RNR_Timer runs, Fake packets keep the channel alive (§6.2.1): they have
 * the next PSN and take none, ask for a TPACK, and are delivered to nobody. */
static void test_fake(void)
{
    unsigned fakes = 0, data = 0;
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    start_rol(&w, 0);
    refuse_message(&w.p, LONG_TIMER);
    for (unsigned i = 1; i <= 3; i++) {
        qtest_clock_step(a->q->qts, FAKE_NS - 1);
        g_assert_cmpuint(tp(a, "tx-fake"), ==, i - 1);
        qtest_clock_step(a->q->qts, 1);
        QUBC_WAIT(tp(b, "rx-fake") == i);
        QUBC_WAIT(tp(a, "rx-tpack") == i + 1);
    }
    ubq_recv(&b->queue, b->room, 4096);
    while (!ta(a, "retries")) {
        qtest_clock_step(a->q->qts, FAKE_NS);
    }
    eng_complete(a, UBQ_STATUS_OK);
    eng_complete(b, UBQ_STATUS_OK);
    eng_check(b, LEN, RNR_FILL);
    g_assert_cmpuint(ta(b, "rx-requests"), ==, 2);
    g_assert_cmpuint(tp(a, "gave-up"), ==, 0);
    watch_look(&w);
    for (unsigned i = 0; i < watch_packets(w.sent, UB_LPH_CNA24); i++) {
        const Seen *seen = watch_packet(w.sent, UB_LPH_CNA24, i);
        const uint8_t *p = seen->p + UB_NTH24_SIZE;

        if ((p[0] & 0x7f) != UB_TPOP_DATA) {
            continue;
        }
        g_assert_cmpuint(p[9] << 16 | p[10] << 8 | p[11], ==, 100 + data);
        if (!(p[8] & 0x40)) {
            data++;
        } else {
            g_assert_cmphex(p[8] >> 6, ==, 3);
            g_assert_cmpuint(seen->len, ==, UB_NTH24_SIZE + UB_RTPH_LEN + 4);
            fakes++;
        }
    }
    g_assert_cmpuint(fakes, >=, 3);
    g_assert_cmpuint(data, ==, 2);
    watch_end(&w);
}

/* Nobody answers them: the peer is given up. */
static void test_fake_silence(void)
{
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    start_rol(&w, 2);
    refuse_message(&w.p, LONG_TIMER);
    eng_set_faults(b, true, "'drop-ppm': 1000000");
    for (unsigned i = 1; i <= 2; i++) {
        qtest_clock_step(a->q->qts, FAKE_NS);
        QUBC_WAIT(tp(b, "rx-fake") == i);
        g_assert_cmpuint(tp(a, "gave-up"), ==, 0);
    }
    qtest_clock_step(a->q->qts, FAKE_NS);
    QUBC_WAIT(tp(a, "gave-up") == 1);
    eng_event(a, UBQ_EVENT_TP_RETRIES);
    watch_look(&w);
    watch_end(&w);
}

/* ---- UNO (§7.3.1.2) ---------------------------------------------------------------------------- */

/* A packet at most, as long as the row's MTU; whatever becomes of it nobody answers, and
 * the sender's completion says that it was sent. */
static void uno(unsigned carrier, unsigned cfg)
{
    const uint32_t mtu = 4096;
    uint8_t *s;
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    watch_start(&w, &(EngPlan){ .carrier = carrier, .mode = UB_UNO }, "");
    eng_fill(a, mtu + 1, 2);
    post(a, send_sqe(&w.p, UB_TA_SEND, mtu + 1), 1, UBQ_STATUS_LOCAL_LENGTH);
    ubq_recv(&b->queue, b->room, ENG_ROOM);
    post(a, send_sqe(&w.p, UB_TA_SEND, mtu), 1, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le32(eng_complete(b, UBQ_STATUS_OK) + UBQ_CQE_BYTES),
                     ==, mtu);
    eng_check(b, mtu, 2);
    /* Without an entry, to no queue, and lost: the same to who sends. */
    post(a, send_sqe(&w.p, UB_TA_SEND, 64), 1, UBQ_STATUS_OK);
    s = send_sqe(&w.p, UB_TA_SEND, 64);
    put_le32(s + UBQ_SQE_TARGET, 4000);
    post(a, s, 1, UBQ_STATUS_OK);
    QUBC_WAIT(ta(b, "rx-requests") == 3);
    eng_set_faults(a, true, "'nth': 1, 'action': 'drop'");
    post(a, send_sqe(&w.p, UB_TA_SEND, 64), 1, UBQ_STATUS_OK);
    g_assert_cmpuint(eng_faults(a, true, "drop"), ==, 1);
    ubq_recv(&b->queue, b->room, ENG_ROOM);
    post(a, send_sqe(&w.p, UB_TA_SEND, 65), 1, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le32(eng_complete(b, UBQ_STATUS_OK) + UBQ_CQE_BYTES),
                     ==, 65);
    g_assert_cmpuint(ta(a, "retries"), ==, 0);
    g_assert_cmpuint(ta(b, "tx-responses"), ==, 0);
    g_assert_null(ubq_cq_poll(&a->cq));
    g_assert_null(ubq_cq_poll(&b->cq));
    watch_look(&w);
    g_assert_cmpuint(watch_packets(w.came, cfg), ==, 0);
    watch_end(&w);
}

static void test_uno(void)
{
    uno(ENG_UTP, UB_LPH_IPV4);
    uno(ENG_CTP, UB_LPH_CNA16);
}

/* ---- Executed once (§7.3.1.1, §7.4.2.3) ---------------------------------------------------------- */

static uint8_t *add_sqe(Eng *a)
{
    uint8_t *s = eng_sqe(a, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);

    put_le64(s + UBQ_BLOCK, 2);
    return s;
}

/* The result has nowhere to go: an error, and the request is not sent again. */
static void no_place(unsigned carrier)
{
    EngPair p;
    Eng *a = &p.a, *b = &p.b;
    uint8_t *s;

    eng_start(&p, &(EngPlan){ .carrier = carrier, .props = PATIENT });
    put_le64(b->drv.memory + b->room, 40);
    s = add_sqe(a);
    put_le64(s + UBQ_SQE_ELEMENT, QUBC_NOWHERE);
    post(a, s, 2, UBQ_STATUS_LOCAL_ACCESS);
    g_assert_cmpuint(get_le64(b->drv.memory + b->room), ==, 42);
    g_assert_cmpuint(ta(b, "rx-requests"), ==, 1);
    g_assert_cmpuint(ta(a, "retries"), ==, 0);
    /* Another one finds what that has left. */
    post(a, add_sqe(a), 2, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le64(a->drv.memory + a->room), ==, 42);
    g_assert_cmpuint(get_le64(b->drv.memory + b->room), ==, 44);
    eng_stop(&p);
}

static void test_no_place(void)
{
    no_place(ENG_RTP);
    no_place(ENG_CTP);
}

/* The answer is lost: over CTP a time-out, over RTP it comes again; executed once. */
static void test_answer_lost(void)
{
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = QUBC_STEPPED });
    put_le64(b->drv.memory + b->room, 40);
    eng_set_faults(b, true, "'ta-opcode': 19, 'nth': 1, 'action': 'drop'");
    ubq_post(&a->queue, add_sqe(a), 2);
    QUBC_WAIT(eng_faults(b, true, "drop") == 1);
    qtest_clock_step(a->q->qts, TIMEOUT_NS);
    eng_complete(a, UBQ_STATUS_TIMEOUT);
    g_assert_cmpuint(get_le64(b->drv.memory + b->room), ==, 42);
    g_assert_cmpuint(ta(b, "rx-requests"), ==, 1);
    eng_stop(&p);

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    put_le64(b->drv.memory + b->room, 40);
    eng_set_faults(b, true, "'ta-opcode': 19, 'nth': 1, 'action': 'drop'");
    post(a, add_sqe(a), 2, UBQ_STATUS_OK);
    g_assert_cmpuint(eng_faults(b, true, "drop"), ==, 1);
    g_assert_cmpuint(get_le64(a->drv.memory + a->room), ==, 40);
    g_assert_cmpuint(get_le64(b->drv.memory + b->room), ==, 42);
    g_assert_cmpuint(ta(b, "rx-requests"), ==, 1);
    eng_stop(&p);
}

/* ---- Immediates (§7.4.3.2, §7.4.2.1) --------------------------------------------------------------- */

#define IMM 0xfedcba9876543210ull

/* Only the last packet has the immediate; a receive entry each, the length of all data
 * in the completion. */
static void test_immediates(void)
{
    const uint32_t len = 10000;
    unsigned n = 0;
    const uint8_t *c;
    uint8_t *s;
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    watch_start(&w, &(EngPlan){ .carrier = ENG_RTP }, "," QUBC_STEPPED);
    eng_fill(a, len, 9);
    for (unsigned write = 0; write < 2; write++) {
        memset(b->drv.memory + b->room, 0, ENG_ROOM);
        ubq_recv(&b->queue, b->room + (write ? ENG_ROOM / 2 : 0), ENG_ROOM / 2);
        if (write) {
            s = eng_sqe(a, UB_TA_WRITE_IMM, UBQ_SQE_SOLICITED, len, 1);
            put_le64(s + UBQ_SQE_NOTIFY, b->queue.id);
        } else {
            s = send_sqe(&w.p, UB_TA_SEND_IMM | UBQ_SQE_SOLICITED, len);
        }
        put_le64(s + UBQ_SQE_IMM, IMM + write);
        post(a, s, 1, UBQ_STATUS_OK);
        c = eng_complete(b, UBQ_STATUS_OK);
        g_assert_cmphex(get_le64(c + UBQ_CQE_IMMEDIATE), ==, IMM + write);
        g_assert_cmpuint(get_le32(c + UBQ_CQE_BYTES), ==, len);
        g_assert_cmphex(get_le32(c) & UBQ_CQE_SOLICITED, ==, UBQ_CQE_SOLICITED);
        eng_check(b, len, 9);
        g_assert_cmpuint(taken(b), ==, write + 1);
    }
    /* What is in the entry of the Write's is left alone. */
    g_assert_cmphex(b->drv.memory[b->room + ENG_ROOM / 2 + 1], ==, 0);
    watch_look(&w);
    for (unsigned i = 0; i < watch_packets(w.sent, UB_LPH_CNA24); i++) {
        const uint8_t *tph = watch_packet(w.sent, UB_LPH_CNA24, i)->p +
                             UB_NTH24_SIZE, *p = tph + UB_RTPH_LEN + UPI32;
        static const uint8_t ops[] = {
            UB_TA_SEND, UB_TA_SEND, UB_TA_SEND_IMM,
            UB_TA_WRITE, UB_TA_WRITE, UB_TA_WRITE_IMM,
        };

        if ((tph[0] & 0x7f) == UB_TPOP_DATA) {
            g_assert_cmpuint(n, <, G_N_ELEMENTS(ops));
            g_assert_cmphex(p[0], ==, ops[n++]);
        }
    }
    g_assert_cmpuint(n, ==, 6);
    watch_end(&w);
}

/* ---- MTUs (§6.4.1, D.1.13) --------------------------------------------------------------------------- */

/* A row of CTP that says 1024: packets, and the answers to a Read, are as long at most;
 * what must be one packet is refused beyond it. */
static void test_ctp_mtu(void)
{
    const uint32_t mtu = 1024, len = 10 * mtu + 1;
    uint8_t row[2], *s;
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    watch_start(&w, &(EngPlan){ .carrier = ENG_CTP }, ",ta-mtu=1024");
    put_le16(row, mtu);
    eng_row_put(a, ENG_DEST, UBQ_DST_MTU, row, sizeof(row));
    eng_write_read(&w.p, len, 1);
    eng_send_recv(&w.p, mtu);
    post(a, send_sqe(&w.p, UB_TA_SEND, mtu + 1), 1, UBQ_STATUS_LOCAL_LENGTH);
    s = eng_sqe(a, UB_TA_WRITE_BE, UBQ_SQE_INLINE, UB_TA_BE_MAX, 3);
    memset(s + UBQ_BLOCK, 0xff, UB_TA_BE_MAX / 8);
    memset(b->drv.memory + b->room, 0, UB_TA_BE_MAX);
    eng_fill(a, UB_TA_BE_MAX, 4);
    post(a, s, 3, UBQ_STATUS_OK);
    eng_check(b, UB_TA_BE_MAX, 4);
    eng_fetch_add(&w.p);
    watch_look(&w);
    for (unsigned way = 0; way < 2; way++) {
        GArray *list = way ? w.came : w.sent;
        unsigned full = 0;

        for (unsigned i = 0; i < watch_packets(list, UB_LPH_CNA16); i++) {
            const Seen *seen = watch_packet(list, UB_LPH_CNA16, i);
            uint32_t data = seen->p + seen->len - 4 - ctp_tah(seen);

            /* Headers: BTAH, MAETAH, TVETAH, BEETAH of 128 bytes at most; padding. */
            g_assert_cmpuint(data, <=, 8 + 16 + 4 + 128 + mtu + 3);
            full += data >= mtu;
        }
        g_assert_cmpuint(full, ==, way ? 10 : 12);
    }
    watch_end(&w);
}

/* Operations that are one packet, over a channel of 1024. */
static void test_rtp_single(void)
{
    EngChannel c = { .flags = UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC, .rto = 2097152,
                     .tx = 100, .rx = 7, .mtu = 1024 };
    uint64_t sent;
    uint8_t *s;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = PATIENT });
    eng_channel(a, &c);
    c.tx = 7;
    c.rx = 100;
    eng_channel(b, &c);
    for (uint32_t len = 64; len <= UB_TA_BE_MAX; len *= 2) {
        s = eng_sqe(a, UB_TA_WRITE_BE, UBQ_SQE_INLINE, len, 3);
        memset(s + UBQ_BLOCK, 0xff, len / 8);
        memset(b->drv.memory + b->room, 0, len);
        eng_fill(a, len, len);
        sent = eng_counter(a, "transport", "tx-rtp");
        post(a, s, 3, UBQ_STATUS_OK);
        g_assert_cmpuint(eng_counter(a, "transport", "tx-rtp"), ==, sent + 1);
        eng_check(b, len, len);
    }
    for (uint32_t len = 1024; len <= 2048; len += 1024) {
        eng_fill(a, len, 3);
        memset(b->drv.memory + b->room, 0, len);
        post(a, eng_sqe(a, UB_TA_WRITEBACK, 0, len, 1), 1,
             len > 1024 ? UBQ_STATUS_LOCAL_LENGTH : UBQ_STATUS_OK);
        if (len <= 1024) {
            eng_check(b, len, 3);
        }
    }
    eng_fetch_add(&p);
    eng_send_recv(&p, 5000);
    eng_stop(&p);
}

/* ---- Partitions and Entities (§B.3, §B.4) --------------------------------------------------------- */

static void set_form(Eng *e, unsigned form, uint8_t deid)
{
    eng_dest_put(e, UBQ_DST_FORM, form);
    eng_dest_put(e, UBQ_DST_DEID + 15, deid);
}

/* A Write that nobody hears: it is dropped for @why. */
static void unheard(EngPair *p, const char *why)
{
    uint64_t before = ta(&p->b, why);

    ubq_post(&p->a.queue, eng_sqe(&p->a, UB_TA_WRITE, 0, 64, 1), 1);
    QUBC_WAIT(ta(&p->b, why) == before + 1);
    qtest_clock_step(p->a.q->qts, TIMEOUT_NS);
    eng_complete(&p->a, UBQ_STATUS_TIMEOUT);
}

/* @form: 1 is UPIH of 32 bits and EIDH of 256, 2 is 16 and 40. */
static void partitions(unsigned form)
{
    const uint8_t *p;
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    watch_start(&w, &(EngPlan){ .carrier = ENG_CTP }, "," QUBC_STEPPED);
    set_form(a, form, 2);
    eng_fill(a, 64, 1);
    post(a, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), 1, UBQ_STATUS_OK);
    eng_check(b, 64, 1);
    /* Another partition, none at all, and back in the first one. */
    qubc_cfg_write(b->q, UB_CFG0_UPI, 2);
    unheard(&w.p, "drop-upi");
    qubc_cfg_write(b->q, UB_CFG0_UPI, 0);
    unheard(&w.p, "drop-upi");
    qubc_cfg_write(b->q, UB_CFG0_UPI, 1);
    post(a, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), 1, UBQ_STATUS_OK);
    /* To an Entity that is not there. */
    set_form(a, form, 9);
    unheard(&w.p, "drop-entity");
    watch_look(&w);
    p = watch_packet(w.sent, UB_LPH_CNA16, 0)->p + UB_NTH16_SIZE;
    g_assert_cmpuint(p[0] & 15, ==, form == 1 ? UB_TPH_UPI32 : UB_TPH_UPI16);
    if (form == 2) {
        g_assert_cmphex(lduw_be_p(p + 1), ==, 1);
        g_assert_cmphex(ldl_be_p(p + 3), ==, 1 << 12);   /* SEID, 20 bits */
        g_assert_cmphex(p[7], ==, 2);                    /* DEID, the lowest 8 */
        g_assert_cmphex(p[8], ==, UB_TA_WRITE);
    }
    watch_end(&w);
}

static void test_partitions(void)
{
    partitions(1);
    partitions(2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-transaction/slices", test_slices);
    qtest_add_func("/ubc-transaction/slice-lost", test_slice_lost);
    qtest_add_func("/ubc-transaction/tokens", test_tokens);
    qtest_add_func("/ubc-transaction/rnr", test_rnr);
    qtest_add_func("/ubc-transaction/rnr-limit", test_rnr_limit);
    qtest_add_func("/ubc-transaction/rights", test_rights);
    qtest_add_func("/ubc-transaction/long-message", test_long_message);
    qtest_add_func("/ubc-transaction/rol-statuses", test_rol_statuses);
    qtest_add_func("/ubc-transaction/fake", test_fake);
    qtest_add_func("/ubc-transaction/fake-silence", test_fake_silence);
    qtest_add_func("/ubc-transaction/uno", test_uno);
    qtest_add_func("/ubc-transaction/no-place", test_no_place);
    qtest_add_func("/ubc-transaction/answer-lost", test_answer_lost);
    qtest_add_func("/ubc-transaction/immediates", test_immediates);
    qtest_add_func("/ubc-transaction/ctp-mtu", test_ctp_mtu);
    qtest_add_func("/ubc-transaction/rtp-single", test_rtp_single);
    qtest_add_func("/ubc-transaction/partitions", test_partitions);
    return g_test_run();
}
