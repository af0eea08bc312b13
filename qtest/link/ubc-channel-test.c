/*
 * Channels of RTP between two emulators, by what their contexts say: time-outs
 * (UB 2.0 §6.4.2.1), acknowledgements (§6.4.2.2.1), segmentation (§6.4.1, §6.7.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "ub/tah.h"
#include "ub/tp.h"

#define FIRST_A 100u
#define FIRST_B 7u
#define STEPPED QUBC_STEPPED ",tp-time-floor=1"
#define SILENCE "'kind': 'rtp', 'drop-ppm': 1000000"
/* A channel that does not give up or resend while a host is slow. */
#define PATIENT "tp-time-scale=20"

static void start(EngPair *p, const EngChannel *c, const char *props)
{
    EngChannel a = *c, b = *c;

    a.tx = b.rx = FIRST_A;
    a.rx = b.tx = FIRST_B;
    eng_start(p, &(EngPlan){ .carrier = ENG_CTP, .props = props });
    eng_channel(&p->a, &a);
    eng_channel(&p->b, &b);
}

static uint64_t tp(Eng *e, const char *name)
{
    return eng_counter(e, "transport", name);
}

/* ---- Time-outs (§6.4.2.1) -------------------------------------------------------------- */

typedef struct Times {
    EngChannel c;
    unsigned n;
    int64_t us[7];      /* intervals, the last one before the peer is given up */
} Times;

static const Times table_6_8 = {
    { .flags = UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC, .rto = 20, .rto_shift = 3,
      .retries = 7 },
    7, { 20, 160, 1280, 10240, 81920, 655360, 5242880 },
};
static const Times no_growth = {
    { .flags = UBQ_CH_OOO | UBQ_CH_RTO_DYNAMIC, .rto = 5000, .rto_shift = 1,
      .retries = 3 },
    3, { 5000, 10000, 20000 },
};
static const Times statically = {
    { .flags = UBQ_CH_FAST, .rto_code = 1, .retries = 4 },
    4, { 16000, 16000, 16000, 16000 },
};
static const Times statically_long = {
    { .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO, .rto_code = 3, .retries = 2 },
    2, { 4000000, 4000000 },
};

/* Nobody answers: a packet goes again after each interval and not before, then the
 * peer is given up, with an event (§10.6.2.2, 0x2/0x1). */
static void test_times(const void *opaque)
{
    const Times *t = opaque;
    int64_t last = t->us[t->n - 1];
    const uint8_t *e;
    EngPair p;
    Eng *a = &p.a;

    if (t->c.flags & UBQ_CH_RTO_DYNAMIC) {
        last <<= t->c.rto_shift;
    }
    start(&p, &t->c, STEPPED);
    eng_set_faults(a, true, SILENCE);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), 1);
    QUBC_WAIT(eng_faults(a, true, "drop") == 1);
    for (unsigned i = 0; i < t->n; i++) {
        qtest_clock_step(a->q->qts, t->us[i] * 1000 - 1);
        g_assert_cmpuint(tp(a, "timeouts"), ==, i);
        qtest_clock_step(a->q->qts, 1);
        QUBC_WAIT(tp(a, "timeouts") == i + 1);
        QUBC_WAIT(eng_faults(a, true, "drop") == i + 2);
        g_assert_cmpuint(tp(a, "tx-resent"), ==, i + 1);
    }
    qtest_clock_step(a->q->qts, last * 1000 - 1);
    g_assert_cmpuint(tp(a, "gave-up"), ==, 0);
    g_assert_null(ubq_cq_poll(&a->cq));
    qtest_clock_step(a->q->qts, 1);
    e = eng_event(a, UBQ_EVENT_TP_RETRIES);
    g_assert_cmpuint(get_le32(e + 4), ==, ENG_TPN);
    eng_complete(a, UBQ_STATUS_TIMEOUT);
    g_assert_cmpuint(tp(a, "gave-up"), ==, 1);
    g_assert_cmpuint(tp(a, "timeouts"), ==, t->n);
    eng_stop(&p);
}

/* It starts with the first packet, begins anew with progress, and stops when all is
 * acknowledged. */
static void test_progress(void)
{
    static const EngChannel c = {
        .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO | UBQ_CH_RTO_DYNAMIC,
        .rto = 100000, .rto_shift = 1, .retries = 3, .ask = UB_TP_ASK_ALL,
    };
    EngPair p;
    Eng *a = &p.a;

    start(&p, &c, STEPPED);
    qtest_clock_step(a->q->qts, 1000000000);
    /* Two go, and no answer to them passes but that to the first, when 99 ms are over:
     * it is sent once more by nobody, b holds it for its neighbour. */
    eng_set_faults(a, true, "'kind': 'rtp', 'psn': 101, 'nth': 1, 'every': 1, "
                   "'action': 'drop'");
    eng_set_faults(a, false, "'kind': 'rtp', 'psn': 100, 'tp-opcode': 2, 'nth': 1, "
                   "'action': 'delay', 'delay-us': 99000");
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), 1);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), 1);
    QUBC_WAIT(eng_faults(a, true, "drop") == 1);
    QUBC_WAIT(eng_faults(a, false, "delay") == 1);
    qtest_clock_step(a->q->qts, 99000 * 1000);
    QUBC_WAIT(tp(a, "rx-tpack") == 1);
    qtest_clock_step(a->q->qts, 99999 * 1000);
    g_assert_cmpuint(tp(a, "timeouts"), ==, 0);
    eng_set_faults(a, true, "");
    qtest_clock_step(a->q->qts, 1000);
    eng_complete(a, UBQ_STATUS_OK);
    eng_complete(a, UBQ_STATUS_OK);
    g_assert_cmpuint(tp(a, "timeouts"), ==, 1);
    g_assert_cmpuint(tp(a, "tx-resent"), ==, 1);
    QUBC_WAIT(tp(a, "rx-tpack") >= 2);
    qtest_clock_step(a->q->qts, 10000000000ll);
    g_assert_cmpuint(tp(a, "timeouts"), ==, 1);
    eng_stop(&p);
}

/* ---- Acknowledgements (§6.4.2.2.1) ------------------------------------------------------ */

#define PACKETS 16u
#define OPERATIONS 4u

typedef struct Acks {
    uint8_t ask;
    uint16_t every;
    uint64_t min, max;
} Acks;

/* A bit in each: each has a TPACK of its own; without, one is for several. */
static const Acks acks[] = {
    { UB_TP_ASK_ALL, 64, PACKETS, PACKETS },
    { UB_TP_ASK_HALF, 1, PACKETS, PACKETS },
    { UB_TP_ASK_LAST, 64, OPERATIONS, OPERATIONS + 1 },
    { UB_TP_ASK_HALF, 4, PACKETS / 4, PACKETS / 4 + 1 },
    { UB_TP_ASK_HALF, 64, 1, 2 },
};

static void test_acks(const void *opaque)
{
    const Acks *t = opaque;
    const EngChannel c = { .flags = UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC,
                           .rto = 2097152, .ask = t->ask, .ack_every = t->every,
                           .mtu = 1024 };
    uint32_t len = PACKETS / OPERATIONS * 1024;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    start(&p, &c, STEPPED);
    eng_fill(a, len, 5);
    /* b gets them all at once. */
    eng_set_faults(b, false, "'kind': 'rtp', 'delay-ppm': 1000000, "
                   "'delay-us': 1000");
    for (unsigned i = 0; i < OPERATIONS; i++) {
        ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, len, 1), 1);
    }
    QUBC_WAIT(eng_faults(b, false, "delay") == PACKETS);
    g_assert_cmpuint(tp(b, "tx-tpack"), ==, 0);
    qtest_clock_step(b->q->qts, 1000000);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        eng_complete(a, UBQ_STATUS_OK);
    }
    eng_check(b, len, 5);
    g_assert_cmpuint(tp(b, "rx-rtp"), ==, PACKETS);
    QUBC_WAIT(tp(a, "rx-tpack") == tp(b, "tx-tpack"));
    g_assert_cmpuint(tp(b, "tx-tpack"), >=, t->min);
    g_assert_cmpuint(tp(b, "tx-tpack"), <=, t->max);
    g_assert_cmpuint(tp(a, "tx-resent"), ==, 0);
    eng_stop(&p);
}

/* Packets under way. */
static unsigned flight(Eng *e)
{
    g_autofree char *n = eng_object(e, "channels", ENG_TPN, "in-flight");

    return g_ascii_strtoull(n, NULL, 10);
}

/* One packet of sixteen never comes: a TPSACK after so many that are out of order
 * (§6.4.2.3.2), none after fewer. */
static void test_sacks(void)
{
    static const uint16_t every[] = { 1, 4, 11, 12 };

    for (unsigned i = 0; i < G_N_ELEMENTS(every); i++) {
        const uint64_t held = PACKETS - 5, most = held / every[i];
        const uint32_t len = (PACKETS - 4) * 4096;
        const EngChannel c = {
            .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO | UBQ_CH_FAST |
                     UBQ_CH_RTO_DYNAMIC,
            .rto = 2097152, .sack_every = every[i],
        };
        EngPair p;
        Eng *a = &p.a, *b = &p.b;

        start(&p, &c, STEPPED);
        eng_set_faults(a, true, "'kind': 'rtp', 'psn': 104, 'nth': 1, 'every': 1, "
                       "'action': 'drop'");
        eng_fill(a, len, 2);
        /* Four that come, and are acknowledged; then none is in order. */
        ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 4 * 4096, 1), 1);
        eng_complete(a, UBQ_STATUS_OK);
        QUBC_WAIT(flight(a) == 0);
        ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, len, 1), 1);
        QUBC_WAIT(tp(b, "rx-held") == held);
        /* One for all that a turn brings. */
        QUBC_WAIT(!most || tp(a, "rx-tpsack") > 0);
        g_assert_cmpuint(tp(b, "tx-tpsack"), <=, most);
        g_assert_null(ubq_cq_poll(&a->cq));
        eng_set_faults(a, true, "");
        qtest_clock_step(a->q->qts, 4000000000ll);
        eng_complete(a, UBQ_STATUS_OK);
        eng_check(b, len, 2);
        eng_stop(&p);
    }
}

/* ---- Segmentation ------------------------------------------------------------------------ */

#define BIG (1u << 20)
#define BIG_SEGMENT 78u

static uint64_t big_room(Eng *e)
{
    uint64_t at = ubq_alloc(&e->drv, BIG, 4096);

    ubq_segment(&e->drv, BIG_SEGMENT, at, BIG,
                UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_TOKEN, ENG_TOKEN);
    return at;
}

static void big_sqe(Eng *e, unsigned opcode, uint64_t at, uint32_t len)
{
    uint8_t *s = ubq_sqe(&e->queue, 1);

    ubq_sqe_put(s, opcode | UBQ_SQE_TOKEN, ENG_DEST, at, len);
    put_le32(s + UBQ_SQE_TARGET, BIG_SEGMENT);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN);
    put_le64(s + UBQ_SQE_ADDR, ENG_UBA);
    ubq_post(&e->queue, s, 1);
}

/* Packets of slices of 64 KiB. */
static uint64_t packets_of(uint32_t len, uint32_t mtu)
{
    uint64_t n = 0;

    for (uint32_t left = len, part; left; left -= part) {
        part = MIN(left, 65536);
        n += (part + mtu - 1) / mtu;
    }
    return n;
}

/* Writes and Reads of 1 B to 1 MB: each packet but the last has as many bytes as the
 * channel and the row (4096) allow, of responses as the channel does. */
static void test_mtu(const void *opaque)
{
    uint32_t asked = GPOINTER_TO_UINT(opaque), mtu = MIN(asked, 4096);
    const uint32_t sizes[] = { 1, 63, mtu - 1, mtu, mtu + 1, 3 * mtu + 5, 65536,
                               65537, BIG };
    const EngChannel c = { .flags = UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC,
                           .rto = 2097152, .mtu = asked };
    uint64_t from, to, slices;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    start(&p, &c, PATIENT);
    from = big_room(a);
    to = big_room(b);
    for (unsigned n = 0; n < G_N_ELEMENTS(sizes); n++) {
        uint32_t len = sizes[n];
        uint8_t *src = a->drv.memory + from, *dst = b->drv.memory + to;
        uint64_t sent = tp(a, "tx-rtp"), back = tp(b, "tx-rtp");

        for (uint32_t i = 0; i < len; i++) {
            src[i] = i * 13 + (i >> 9) + n;
        }
        memset(dst, 0xee, BIG);
        big_sqe(a, UB_TA_WRITE, from, len);
        eng_complete(a, UBQ_STATUS_OK);
        g_assert_cmpmem(src, len, dst, len);
        g_assert_true(len == BIG || dst[len] == 0xee);
        g_assert_cmpuint(tp(a, "tx-rtp") - sent, ==, packets_of(len, mtu));
        sent = tp(a, "tx-rtp");
        back = tp(b, "tx-rtp");
        memset(src, 0, len);
        big_sqe(a, UB_TA_READ, from, len);
        g_assert_cmpuint(get_le32(eng_complete(a, UBQ_STATUS_OK) +
                                  UBQ_CQE_BYTES), ==, len);
        g_assert_cmpmem(src, len, dst, len);
        slices = (len + 65535) / 65536;
        g_assert_cmpuint(tp(a, "tx-rtp") - sent, ==, slices);
        g_assert_cmpuint(tp(b, "tx-rtp") - back, ==,
                         packets_of(len, asked));
    }
    g_assert_cmpuint(tp(a, "tx-resent") + tp(b, "tx-resent"), ==, 0);
    eng_stop(&p);
}

/* ---- Packet sequence numbers (§6.4.1) ------------------------------------------------------ */

typedef struct Psns {
    uint32_t next, expected;
} Psns;

static Psns psns(Eng *e, uint32_t tpn)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, tpn, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    return (Psns){ get_le32(cmd + UBQ_CH_NEXT), get_le32(cmd + UBQ_CH_EPSN) };
}

/* Set up in band: each direction has its own first PSN, drawn at random, which the
 * other end knows. */
static void test_initial_psns(void)
{
    enum { CHANNELS = 4 };
    uint32_t first[2 * CHANNELS];
    UbqPeer peer = eng_peer(2, 0);
    unsigned same = 0;
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = ENG_SLOW_SETUP });
    for (unsigned i = 0; i < CHANNELS; i++) {
        uint8_t cmd[UBQ_CMD];
        uint32_t tpn = 20 + i;
        Psns a, b;

        ubq_channel_connect(&p.a.drv, tpn, &peer);
        g_assert_cmpuint(get_le32(eng_event(&p.a, UBQ_EVENT_CHANNEL_UP) + 12), ==,
                         UBQ_RESULT_OK);
        ubq_cmd_init(cmd, tpn, 0);
        g_assert_cmpuint(ubq_command(&p.a.drv, UBQ_OP_CHANNEL_QUERY, cmd), ==,
                         UBQ_RESULT_OK);
        a = psns(&p.a, tpn);
        b = psns(&p.b, get_le32(cmd + UBQ_CH_PEER));
        g_assert_cmphex(a.next & ~0xffffffu, ==, 0);
        g_assert_cmphex(a.next, ==, b.expected);
        g_assert_cmphex(b.next, ==, a.expected);
        first[2 * i] = a.next;
        first[2 * i + 1] = b.next;
    }
    for (unsigned i = 0; i < 2 * CHANNELS; i++) {
        for (unsigned k = 0; k < i; k++) {
            same += first[i] == first[k];
        }
    }
    g_assert_cmpuint(same, <=, 1);
    eng_stop(&p);
}

/* Requests of one end and its responses to the other's share its numbers (figure
 * 6-17). */
static void test_both_ways(void)
{
    static const EngChannel c = { .flags = UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC,
                                  .rto = 2097152 };
    const unsigned rounds = 5;
    EngPair p;
    Eng *e[2] = { &p.a, &p.b };

    start(&p, &c, PATIENT);
    for (unsigned i = 0; i < rounds; i++) {
        eng_write_read_to(e[0], e[1], 3 * 4096, i);
        eng_write_read_to(e[1], e[0], 3 * 4096, i + 1);
    }
    for (unsigned i = 0; i < 2; i++) {
        Psns own = psns(e[i], ENG_TPN), other = psns(e[!i], ENG_TPN);

        /* Three packets of a Write, a Read's request; a TAACK, the Read's answers,
         * as many as the responder's MTU (8192) gives. */
        QUBC_WAIT(psns(e[!i], ENG_TPN).expected == own.next);
        g_assert_cmpuint(own.next - (i ? FIRST_B : FIRST_A), ==,
                         tp(e[i], "tx-rtp"));
        g_assert_cmpuint(tp(e[i], "tx-rtp"), ==, rounds * (3 + 1 + 1 + 2));
        g_assert_cmpuint(other.expected, ==, own.next);
    }
    eng_stop(&p);
}

/* ---- Windows ------------------------------------------------------------------------------ */

/* Not more than TX_WINDOW packets are under way (§6.4.1, §6.5.1.4.1). */
static void test_window(void)
{
    const EngChannel c = { .flags = UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC,
                           .rto = 1000000, .tx_window = 5 };
    g_autofree char *flight = NULL;
    EngPair p;
    Eng *a = &p.a;

    start(&p, &c, STEPPED);
    eng_set_faults(a, false, SILENCE);
    eng_fill(a, 65536, 9);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 65536, 1), 1);
    QUBC_WAIT(tp(&p.b, "rx-rtp") == 5);
    flight = eng_object(a, "channels", ENG_TPN, "in-flight");
    g_assert_cmpstr(flight, ==, "5");
    g_assert_cmpuint(tp(a, "tx-rtp"), ==, 5);
    g_assert_null(ubq_cq_poll(&a->cq));
    eng_set_faults(a, false, "");
    qtest_clock_step(a->q->qts, 1000000000);    /* the acknowledgements were lost */
    eng_complete(a, UBQ_STATUS_OK);
    eng_check(&p.b, 65536, 9);
    g_assert_cmpuint(tp(a, "tx-rtp") - tp(a, "tx-resent"), ==, 16);
    eng_stop(&p);
}

/* Of what congestion control holds up no more is made than tp-unsent says; all comes. */
static void test_unsent(void)
{
    const EngChannel c = { .flags = UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC,
                           .rto = 1000000, .tx_window = 512, .cc = UB_CC_LDCP };
    g_autofree char *flight = NULL;
    EngPair p;
    Eng *a = &p.a;

    start(&p, &c, STEPPED ",tp-cc-on=on,tp-cw-init=10000,tp-cw-min=10000,tp-unsent=3");
    eng_set_faults(a, false, SILENCE);
    eng_fill(a, 65536, 9);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 65536, 1), 1);
    QUBC_WAIT(tp(&p.b, "rx-rtp") == 2);
    flight = eng_object(a, "channels", ENG_TPN, "in-flight");
    g_assert_cmpstr(flight, ==, "5");           /* two of them under way */
    g_assert_cmpuint(tp(a, "tx-rtp"), ==, 2);
    eng_set_faults(a, false, "");
    qtest_clock_step(a->q->qts, 1000000000);    /* the acknowledgements were lost */
    eng_complete(a, UBQ_STATUS_OK);
    eng_check(&p.b, 65536, 9);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_data_func("/ubc-channel/rto-dynamic", &table_6_8, test_times);
    qtest_add_data_func("/ubc-channel/rto-dynamic-late", &no_growth, test_times);
    qtest_add_data_func("/ubc-channel/rto-static", &statically, test_times);
    qtest_add_data_func("/ubc-channel/rto-static-long", &statically_long,
                        test_times);
    qtest_add_func("/ubc-channel/rto-progress", test_progress);
    qtest_add_data_func("/ubc-channel/acks-asked", &acks[0], test_acks);
    qtest_add_data_func("/ubc-channel/acks-each", &acks[1], test_acks);
    qtest_add_data_func("/ubc-channel/acks-operations", &acks[2], test_acks);
    qtest_add_data_func("/ubc-channel/acks-few", &acks[3], test_acks);
    qtest_add_data_func("/ubc-channel/acks-turn", &acks[4], test_acks);
    qtest_add_func("/ubc-channel/sacks", test_sacks);
    qtest_add_data_func("/ubc-channel/mtu-1024", GUINT_TO_POINTER(1024), test_mtu);
    qtest_add_data_func("/ubc-channel/mtu-4096", GUINT_TO_POINTER(4096), test_mtu);
    qtest_add_data_func("/ubc-channel/mtu-8192", GUINT_TO_POINTER(8192), test_mtu);
    qtest_add_func("/ubc-channel/initial-psns", test_initial_psns);
    qtest_add_func("/ubc-channel/both-ways", test_both_ways);
    qtest_add_func("/ubc-channel/window", test_window);
    qtest_add_func("/ubc-channel/unsent", test_unsent);
    return g_test_run();
}
