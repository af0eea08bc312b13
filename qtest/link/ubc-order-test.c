/*
 * The order of requests that their entries ask for (UB 2.0 §7.3.2, §7.3.3), between two
 * emulators: the clock of each stands, so that a packet that is held back on its way
 * comes when the test says so, behind those that it was to be in front of; and the same
 * on a wire that reorders, doubles and loses what it likes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "ub/tah.h"

#define LEN 64u
#define PAGE 4096u
#define HOLD_US 100000          /* much less than a target waits for what is missing */
#define NOTIFY_AT (ENG_ROOM - 64)
#define NOTIFY_WORD 0xabcdefull

enum { NO = 0 << 20, RO = 1 << 20, SO = 2 << 20 };     /* UBQ_SQE_ORDER */

typedef struct Way {
    unsigned carrier, mode;
    uint32_t channel;           /* UBQ_CH_* of RTP */
} Way;

#define ANY_ORDER (UBQ_CH_SELECTIVE | UBQ_CH_OOO)

static const Way ctp_roi = { ENG_CTP, UB_ROI },
                 ctp_rot = { ENG_CTP, UB_ROT },
                 rtp_roi = { ENG_RTP, UB_ROI, ANY_ORDER },
                 rtp_rot = { ENG_RTP, UB_ROT, ANY_ORDER },
                 rtp_rol = { ENG_RTP, UB_ROL, ANY_ORDER },
                 rtp_rol_gbn = { ENG_RTP, UB_ROL };

static uint64_t ta(Eng *e, const char *name)
{
    return eng_counter(e, "transaction", name);
}

/* Where the clocks stand nothing is sent again. */
static void start(EngPair *p, const Way *w, uint32_t flags, const char *props)
{
    uint32_t fast = strcmp(props, QUBC_STEPPED) ? UBQ_CH_FAST : 0;
    EngPlan plan = { .carrier = w->carrier, .mode = w->mode, .flags = flags,
                     .props = props };

    if (w->carrier == ENG_RTP) {
        plan.carrier = ENG_CTP; /* its rows are replaced */
    }
    eng_start(p, &plan);
    if (w->carrier == ENG_RTP) {
        const EngChannel c = { .flags = w->channel | fast | UBQ_CH_RTO_DYNAMIC,
                               .tx = 100, .rx = 7, .ask = 2 };
        EngChannel back = c;

        back.tx = c.rx;
        back.rx = c.tx;
        eng_channel(&p->a, &c);
        eng_channel(&p->b, &back);
    }
}

/* A request on page @page of the segments. */
static void post(Eng *e, UbqQueue *q, unsigned opcode, uint32_t flags, unsigned page,
                 uint32_t len)
{
    UbqQueue usual = e->queue;
    uint8_t *s;

    e->queue = *q;
    s = eng_sqe(e, opcode, flags, len, 1);
    put_le64(s + UBQ_SQE_ADDR, ENG_UBA + page * PAGE);
    put_le64(s + UBQ_SQE_ELEMENT, e->room + page * PAGE);
    ubq_post(&e->queue, s, 1);
    *q = e->queue;
    if (q != &e->queue) {
        e->queue = usual;
    }
}

/* The first @len bytes of a page, all @value. */
static void fill(Eng *e, unsigned page, uint8_t value, uint32_t len)
{
    memset(e->drv.memory + e->room + page * PAGE, value, len);
}

static uint8_t seen(Eng *e, unsigned page)
{
    return e->drv.memory[e->room + page * PAGE];
}

/* The next completion is of the entry @n of one block each. */
static void done(Eng *e, unsigned n)
{
    const uint8_t *c = eng_complete(e, UBQ_STATUS_OK);

    g_assert_cmpuint(get_le32(c + UBQ_CQE_INDEX), ==, n);
}

/* The next packet with @what stays on its way to @e, until it is let go. */
static void hold(Eng *e, const char *what)
{
    g_autofree char *plan = g_strdup_printf("%s, 'nth': 1, 'action': 'delay', "
                                            "'delay-us': %u", what, HOLD_US);

    eng_set_faults(e, false, plan);
}

static void held(Eng *e)
{
    QUBC_WAIT(eng_faults(e, false, "delay") == 1);
}

static void let_go(Eng *e)
{
    qtest_clock_step(e->q->qts, HOLD_US * 1000ll);
}

/* Another queue: what it asks for is answered when all that was posted before has had
 * its turn. */
static void round_trip(EngPair *p, UbqQueue *other)
{
    unsigned n = other->sq_pi;
    const uint8_t *c;

    post(&p->a, other, UB_TA_READ, NO, 40, LEN);
    c = eng_complete(&p->a, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_QUEUE), ==, other->id);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_INDEX), ==, n);
}

static void open_other(EngPair *p, UbqQueue *other)
{
    ubq_queue_open(other, &p->a.drv, &p->a.cq, &p->a.cq, UB_ROI, 0);
}

/* ---- Gates at the initiator --------------------------------------------------------- */

/* Table 7-13: Write RO, Write SO, Read NO, Write NO with fence, Read NO; the first one
 * is under way. */
static void test_table(void)
{
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    start(&p, &ctp_roi, 0, QUBC_STEPPED);
    for (unsigned i = 0; i < 5; i++) {
        fill(a, i, 0x10 + i, LEN);
        fill(b, i, 0xe0 + i, LEN);
    }
    hold(b, "'ta-opcode': 3");
    post(a, &a->queue, UB_TA_WRITE, RO, 0, LEN);
    held(b);
    post(a, &a->queue, UB_TA_WRITE, SO, 1, LEN);
    post(a, &a->queue, UB_TA_READ, NO, 2, LEN);
    post(a, &a->queue, UB_TA_WRITE, NO | UBQ_SQE_FENCE, 3, LEN);
    post(a, &a->queue, UB_TA_READ, NO, 4, LEN);
    /* The Read overtakes; the fence waits for it, and for nothing else. */
    done(a, 2);
    for (unsigned i = 0; i < 2; i++) {
        unsigned n = get_le32(eng_complete(a, UBQ_STATUS_OK) + UBQ_CQE_INDEX);

        g_assert_true(n == 3 || n == 4);
    }
    g_assert_cmpuint(ta(a, "tx-requests"), ==, 4);
    g_assert_cmphex(seen(a, 2), ==, 0xe2);
    g_assert_cmphex(seen(a, 4), ==, 0xe4);
    g_assert_cmphex(seen(b, 3), ==, 0x13);
    g_assert_cmphex(seen(b, 0), ==, 0xe0);
    g_assert_cmphex(seen(b, 1), ==, 0xe1);
    let_go(b);
    done(a, 0);
    done(a, 1);
    g_assert_cmphex(seen(b, 0), ==, 0x10);
    g_assert_cmphex(seen(b, 1), ==, 0x11);
    g_assert_cmpuint(ta(a, "tx-requests"), ==, 5);
    eng_stop(&p);
}

typedef struct Gate {
    uint32_t first, second;
    bool waits;
} Gate;

static const Gate gates[] = {
    { NO, NO, false }, { NO, RO, false }, { NO, SO, false },
    { RO, NO, false }, { RO, RO, false }, { RO, SO, true },
    { SO, NO, false }, { SO, RO, false }, { SO, SO, true },
};

/* Which waits for which, over each way: of ROI it is not sent, of the others it is, and
 * waits at the other end, where nobody knows what order that has which is missing. */
static void test_gates(const void *opaque)
{
    const Way *w = opaque;
    UbqQueue other;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    start(&p, w, 0, QUBC_STEPPED);
    open_other(&p, &other);
    post(a, &a->queue, UB_TA_WRITE, NO, 0, LEN);        /* of ROT: finds its context */
    eng_complete(a, UBQ_STATUS_OK);
    for (unsigned i = 0; i < G_N_ELEMENTS(gates); i++) {
        const Gate *g = &gates[i];
        bool waits = g->waits || (w->mode == UB_ROT && g->second == SO);
        uint64_t sent = ta(a, "tx-requests"), came = ta(b, "rx-requests");
        unsigned n = a->queue.sq_pi;

        g_test_message("%u behind %u", g->second >> 20, g->first >> 20);
        fill(b, 0, 0, LEN);
        fill(b, 1, 0, LEN);
        fill(a, 0, i + 1, LEN);
        fill(a, 1, i + 101, LEN);
        hold(b, "'ta-opcode': 3");
        post(a, &a->queue, UB_TA_WRITE, g->first, 0, LEN);
        held(b);
        post(a, &a->queue, UB_TA_WRITE, g->second, 1, LEN);
        if (!waits && w->carrier == ENG_CTP) {
            done(a, n + 1);
            g_assert_cmphex(seen(b, 1), ==, i + 101);
        } else if (w->mode == UB_ROI && waits) {
            /* The other queue's are counted, too. */
            QUBC_WAIT(ta(a, "tx-requests") >= sent + 1);
            if (w->carrier == ENG_CTP) {
                round_trip(&p, &other);
                g_assert_cmpuint(ta(a, "tx-requests"), ==, sent + 2);
                g_assert_cmpuint(ta(b, "rx-requests"), ==, came + 1);
            }
            g_assert_cmphex(seen(b, 1), ==, 0);
        } else {
            QUBC_WAIT(ta(a, "tx-requests") == sent + 2);
            if (w->carrier == ENG_CTP) {
                QUBC_WAIT(ta(b, "rx-requests") == came + 1);
                round_trip(&p, &other);
            } else {
                QUBC_WAIT(eng_counter(b, "transport", "rx-held") > 0);
            }
            if (waits) {
                g_assert_cmphex(seen(b, 1), ==, 0);
            }
        }
        g_assert_cmphex(seen(b, 0), ==, 0);
        if (waits || w->carrier != ENG_CTP) {
            g_assert_null(ubq_cq_poll(&a->cq));
        }
        let_go(b);
        if (!waits && w->carrier == ENG_CTP) {
            done(a, n);
        } else if (waits) {
            done(a, n);
            done(a, n + 1);
        } else {
            eng_complete(a, UBQ_STATUS_OK);
            eng_complete(a, UBQ_STATUS_OK);
        }
        g_assert_cmphex(seen(b, 0), ==, i + 1);
        g_assert_cmphex(seen(b, 1), ==, i + 101);
        eng_set_faults(b, false, "");
    }
    eng_stop(&p);
}

/* A fence waits for Reads and atomics, and all behind it waits with it (§7.3.2.3). */
static void test_fence(void)
{
    static const unsigned first[] = { UB_TA_READ, UB_TA_FETCH_ADD };
    UbqQueue other;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    start(&p, &ctp_roi, 0, QUBC_STEPPED);
    open_other(&p, &other);
    for (unsigned i = 0; i < G_N_ELEMENTS(first); i++) {
        g_autofree char *what = g_strdup_printf("'ta-opcode': %u", first[i]);
        uint64_t sent = ta(a, "tx-requests");
        unsigned n = a->queue.sq_pi;

        fill(b, 1, 0, LEN);
        fill(b, 2, 0, LEN);
        fill(a, 1, 0x31, LEN);
        fill(a, 2, 0x32, LEN);
        hold(b, what);
        if (first[i] == UB_TA_READ) {
            post(a, &a->queue, UB_TA_READ, NO, 0, LEN);
        } else {
            uint8_t *s = eng_sqe(a, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);

            ubq_post(&a->queue, s, 2);
        }
        held(b);
        post(a, &a->queue, UB_TA_WRITE, NO | UBQ_SQE_FENCE, 1, LEN);
        post(a, &a->queue, UB_TA_WRITE, NO, 2, LEN);
        eng_set_faults(a, false, "");
        /* The Read of the other one would be held back if it were first. */
        round_trip(&p, &other);
        g_assert_cmpuint(ta(a, "tx-requests"), ==, sent + 2);
        let_go(b);
        done(a, n);
        eng_complete(a, UBQ_STATUS_OK);
        eng_complete(a, UBQ_STATUS_OK);
        g_assert_cmphex(seen(b, 1), ==, 0x31);
        g_assert_cmphex(seen(b, 2), ==, 0x32);
        g_assert_cmpuint(ta(a, "tx-requests"), ==, sent + 4);
        eng_set_faults(b, false, "");
    }
    eng_stop(&p);
}

/* ---- Completions (§7.3.2) ------------------------------------------------------------- */

/* At the initiator: as they come, or as they were posted. */
static void test_in_order(void)
{
    for (unsigned in_order = 0; in_order < 2; in_order++) {
        EngPair p;
        Eng *a = &p.a, *b = &p.b;

        start(&p, &ctp_roi, in_order ? UBQ_Q_IN_ORDER : 0, QUBC_STEPPED);
        fill(a, 1, 0x21, LEN);
        hold(b, "'ta-opcode': 3");
        post(a, &a->queue, UB_TA_WRITE, NO, 0, LEN);
        held(b);
        post(a, &a->queue, UB_TA_WRITE, NO, 1, LEN);
        post(a, &a->queue, UB_TA_READ, NO, 2, LEN);
        if (in_order) {
            QUBC_WAIT(ta(a, "rx-responses") == 2);
            g_assert_null(ubq_cq_poll(&a->cq));
            g_assert_cmphex(seen(b, 1), ==, 0x21);
            let_go(b);
            for (unsigned i = 0; i < 3; i++) {
                done(a, i);
            }
        } else {
            unsigned first = get_le32(eng_complete(a, UBQ_STATUS_OK) +
                                      UBQ_CQE_INDEX);

            g_assert_true(first == 1 || first == 2);
            done(a, 3 - first);
            let_go(b);
            done(a, 0);
        }
        eng_stop(&p);
    }
}

/* At the target: ODR[2]. */
static void test_target_order(const void *opaque)
{
    const Way *w = opaque;

    for (unsigned ordered = 0; ordered < 2; ordered++) {
        uint32_t flags = ordered ? UBQ_SQE_ORDERED_CQE : 0;
        EngPair p;
        Eng *a = &p.a, *b = &p.b;

        start(&p, w, 0, QUBC_STEPPED);
        eng_send_recv(&p, LEN);         /* of ROT: finds its context */
        for (unsigned i = 0; i < 3; i++) {
            ubq_recv(&b->queue, b->room + i * PAGE, PAGE);
        }
        hold(b, "'ta-opcode': 1");
        for (unsigned i = 0; i < 3; i++) {
            uint8_t *s = ubq_sqe(&a->queue, 1);

            ubq_sqe_put(s, UB_TA_SEND_IMM | flags, ENG_DEST, a->room, LEN);
            put_le32(s + UBQ_SQE_TARGET, b->queue.id);
            put_le64(s + UBQ_SQE_IMM, i);
            ubq_post(&a->queue, s, 1);
            if (!i) {
                held(b);
            }
        }
        if (ordered) {
            QUBC_WAIT(ta(b, "rx-requests") == 3);       /* but the first one */
            g_assert_null(ubq_cq_poll(&b->cq));
            let_go(b);
        }
        for (unsigned i = 0; i < 3; i++) {
            const uint8_t *c = eng_complete(b, UBQ_STATUS_OK);

            g_assert_cmpuint(get_le64(c + UBQ_CQE_IMMEDIATE), ==,
                             ordered ? i : (i + 1) % 3);
            if (!ordered && i == 1) {
                let_go(b);
            }
        }
        for (unsigned i = 0; i < 3; i++) {
            eng_complete(a, UBQ_STATUS_OK);
        }
        eng_stop(&p);
    }
}

/* ---- Notifications (§7.4.2.1.2, §7.4.3.3) ---------------------------------------------- */

/* Write_with_notify, or _with_immediate, of @len bytes. */
static void post_told(Eng *a, const Eng *b, unsigned opcode, uint32_t len)
{
    uint8_t *s = eng_sqe(a, opcode, 0, len, 2);

    put_le64(s + UBQ_SQE_IMM, NOTIFY_WORD);
    if (opcode == UB_TA_WRITE_NOTIFY) {
        put_le64(s + UBQ_SQE_NOTIFY, ENG_UBA + NOTIFY_AT);
        put_le32(s + UBQ_BLOCK, ENG_SEGMENT);
        put_le32(s + UBQ_BLOCK + 4, ENG_TOKEN);
    } else {
        put_le64(s + UBQ_SQE_NOTIFY, b->queue.id);
    }
    ubq_post(&a->queue, s, 2);
}

static uint64_t word_of(Eng *b)
{
    return get_le64(b->drv.memory + b->room + NOTIFY_AT);
}

/* One packet of the data, the first, one in the middle, is late: nobody is told before
 * it is there. */
static void test_notify(const void *opaque)
{
    static const unsigned ops[] = { UB_TA_WRITE_NOTIFY, UB_TA_WRITE_IMM };
    const uint32_t len = 4 * 4096 - 1;
    const Way *w = opaque;
    UbqQueue other;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    start(&p, w, 0, QUBC_STEPPED);
    open_other(&p, &other);
    post(a, &a->queue, UB_TA_WRITE, NO, 0, LEN);        /* of ROT: finds its context */
    eng_complete(a, UBQ_STATUS_OK);
    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(ops); i++) {
        unsigned opcode = ops[i / 2];
        g_autofree char *plan = g_strdup_printf(
            "%s, 'nth': %u, 'action': 'delay', 'delay-us': %u",
            w->carrier == ENG_CTP ? "'kind': 'ctp'" : "'kind': 'rtp', 'tp-opcode': 1",
            1 + i % 2, HOLD_US);

        eng_fill(a, len, i);
        memset(b->drv.memory + b->room, 0xee, len);
        put_le64(b->drv.memory + b->room + NOTIFY_AT, 0);
        ubq_recv(&b->queue, b->room + ENG_ROOM / 2, PAGE);
        eng_set_faults(b, false, plan);
        post_told(a, b, opcode, len);
        held(b);
        if (w->carrier == ENG_CTP) {
            round_trip(&p, &other);
        }
        g_assert_cmphex(word_of(b), ==, 0);
        g_assert_null(ubq_cq_poll(&a->cq));
        g_assert_null(ubq_cq_poll(&b->cq));
        let_go(b);
        if (opcode == UB_TA_WRITE_IMM) {
            const uint8_t *c = eng_complete(b, UBQ_STATUS_OK);

            g_assert_cmphex(get_le64(c + UBQ_CQE_IMMEDIATE), ==, NOTIFY_WORD);
            eng_check(b, len, i);
        }
        eng_complete(a, UBQ_STATUS_OK);
        if (opcode == UB_TA_WRITE_NOTIFY) {
            g_assert_cmphex(word_of(b), ==, NOTIFY_WORD);
            eng_check(b, len, i);
        }
        eng_set_faults(b, false, "");
    }
    eng_stop(&p);
}

/* ---- A wire that does what it likes --------------------------------------------------- */

/* Of RTP anything; CTP promises not to lose, nor to send again, what is reordered. */
static void bad_network(Eng *e, const Way *w, unsigned seed)
{
    for (unsigned out = 0; out < 2; out++) {
        g_autofree char *plan = g_strdup_printf(
            "%s'reorder-ppm': 100000, 'duplicate-ppm': 50000, 'seed': %u",
            w->carrier == ENG_RTP ? "'drop-ppm': 20000, 'corrupt-ppm': 10000, " : "",
            2 * seed + out);

        eng_set_faults(e, out, plan);
    }
}

/* Strictly ordered Writes to one place: who looks there sees them one by one; messages
 * come as they were sent; a word is there when its data are. */
static void test_wild(const void *opaque)
{
    const unsigned burst = 25, rounds = 8;
    const Way *w = opaque;
    unsigned last = 0;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    start(&p, w, UBQ_Q_IN_ORDER,
          "tp-time-floor=20000,ta-rnr-timer=0,ta-hold-time=1000000000");
    fill(b, 0, 0, LEN);
    post(a, &a->queue, UB_TA_WRITE, NO, 50, LEN);
    eng_complete(a, UBQ_STATUS_OK);
    bad_network(a, w, 1);
    bad_network(b, w, 2);
    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned i = 1; i <= burst; i++) {
            fill(a, i, r * burst + i, LEN);
        }
        for (unsigned i = 1; i <= burst; i++) {
            uint8_t *s = eng_sqe(a, UB_TA_WRITE, SO, LEN, 1);

            put_le64(s + UBQ_SQE_ELEMENT, a->room + i * PAGE);
            ubq_post(&a->queue, s, 1);
        }
        for (unsigned i = 0; i < burst;) {
            unsigned now = seen(b, 0);

            g_assert_cmpuint(now, >=, last);
            last = now;
            if (ubq_cq_poll(&a->cq)) {
                i++;
                g_assert_cmpuint(seen(b, 0), >=, r * burst + i);
            }
        }
    }
    g_assert_cmpuint(seen(b, 0), ==, rounds * burst);
    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned i = 0; i < burst; i++) {
            uint8_t *s = ubq_sqe(&a->queue, 1);

            ubq_recv(&b->queue, b->room, PAGE);
            ubq_sqe_put(s, UB_TA_SEND_IMM | SO | UBQ_SQE_ORDERED_CQE, ENG_DEST,
                        a->room, LEN);
            put_le32(s + UBQ_SQE_TARGET, b->queue.id);
            put_le64(s + UBQ_SQE_IMM, i);
            ubq_post(&a->queue, s, 1);
        }
        for (unsigned i = 0; i < burst; i++) {
            g_assert_cmpuint(get_le64(eng_complete(b, UBQ_STATUS_OK) +
                                      UBQ_CQE_IMMEDIATE), ==, i);
            eng_complete(a, UBQ_STATUS_OK);
        }
    }
    for (unsigned i = 0; i < 20; i++) {
        const uint32_t len = 50000;
        gint64 limit = test_deadline(60);

        eng_fill(a, len, i);
        memset(b->drv.memory + b->room, 0, len);
        put_le64(b->drv.memory + b->room + NOTIFY_AT, 0);
        post_told(a, b, UB_TA_WRITE_NOTIFY, len);
        while (word_of(b) != NOTIFY_WORD) {
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
        }
        smp_rmb();
        eng_check(b, len, i);
        eng_complete(a, UBQ_STATUS_OK);
    }
    g_assert_cmpuint(eng_faults(b, false, "reorder"), >, 10);
    g_assert_null(ubq_cq_poll(&a->cq));
    g_assert_null(ubq_cq_poll(&b->cq));
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-order/table", test_table);
    qtest_add_func("/ubc-order/fence", test_fence);
    qtest_add_func("/ubc-order/completions", test_in_order);
    qtest_add_data_func("/ubc-order/gate-ctp-roi", &ctp_roi, test_gates);
    qtest_add_data_func("/ubc-order/gate-ctp-rot", &ctp_rot, test_gates);
    qtest_add_data_func("/ubc-order/gate-rtp-roi", &rtp_roi, test_gates);
    qtest_add_data_func("/ubc-order/gate-rtp-rot", &rtp_rot, test_gates);
    qtest_add_data_func("/ubc-order/gate-rtp-rol", &rtp_rol, test_gates);
    qtest_add_data_func("/ubc-order/target-ctp-roi", &ctp_roi, test_target_order);
    qtest_add_data_func("/ubc-order/target-ctp-rot", &ctp_rot, test_target_order);
    qtest_add_data_func("/ubc-order/notify-ctp-roi", &ctp_roi, test_notify);
    qtest_add_data_func("/ubc-order/notify-ctp-rot", &ctp_rot, test_notify);
    qtest_add_data_func("/ubc-order/notify-rtp-roi", &rtp_roi, test_notify);
    qtest_add_data_func("/ubc-order/notify-rtp-rot", &rtp_rot, test_notify);
    qtest_add_data_func("/ubc-order/notify-rtp-rol", &rtp_rol, test_notify);
    qtest_add_data_func("/ubc-order/wild-ctp-roi", &ctp_roi, test_wild);
    qtest_add_data_func("/ubc-order/wild-ctp-rot", &ctp_rot, test_wild);
    qtest_add_data_func("/ubc-order/wild-rtp-roi", &rtp_roi, test_wild);
    qtest_add_data_func("/ubc-order/wild-rtp-rot", &rtp_rot, test_wild);
    qtest_add_data_func("/ubc-order/wild-rtp-rol", &rtp_rol, test_wild);
    qtest_add_data_func("/ubc-order/wild-rtp-rol-gbn", &rtp_rol_gbn, test_wild);
    return g_test_run();
}
