/*
 * A peer whose packets of RTP are not what a transport sends: made by software, whole
 * and sealed, for a channel of the other emulator (UB 2.0 §6.2, §6.7.1.2, §B.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-raw.h"
#include "ub/tah.h"

#define PSN_A 100u      /* of what a sends */
#define PSN_B 7u        /* that a expects */

/* RTPH as the table below says it: SrcTPN and DstTPN are put right where 0. */
typedef struct Case {
    UbRtph h;
    uint32_t len;               /* behind the RTPH */
    const char *counter;        /* of a's transport: one more */
    unsigned event;             /* one of three such packets raises it; 0: none does */
    unsigned acks;              /* TPACKs that a sends for each */
} Case;

#define NOWHERE 99u     /* no such channel */

enum {
    VERSION,
    OPCODE,
    OPCODE_OTHER_PSN,
    OPCODE_HIGH,
    DESTINATION,
    SOURCE,
    TPMSN,
    PADDING,
    FAKE,
    STATUS,
    NOT_SENT,
    MAP,
};

static const Case cases[] = {
    [VERSION] = { { .opcode = UB_TPOP_DATA, .ver = 1, .psn = PSN_B }, 16,
      "drop-version" },
    [OPCODE] = { { .opcode = 0x0d, .psn = PSN_B }, 16, "drop-opcode",
      UBQ_EVENT_TP_OPCODE },
    [OPCODE_OTHER_PSN] = { { .opcode = 0x0d, .psn = PSN_B + 1 }, 16, "drop-opcode" },
    [OPCODE_HIGH] = { { .opcode = 0x7f, .psn = PSN_B }, 16, "drop-opcode",
      UBQ_EVENT_TP_OPCODE },
    [DESTINATION] = { { .opcode = UB_TPOP_DATA, .dst = NOWHERE, .psn = PSN_B }, 16,
      "drop-no-channel" },
    [SOURCE] = { { .opcode = UB_TPOP_DATA, .src = NOWHERE, .psn = PSN_B }, 16,
      "drop-peer" },
    [TPMSN] = { { .opcode = UB_TPOP_DATA, .last = true, .psn = PSN_B, .msn = 5 }, 16,
      "drop-tpmsn", UBQ_EVENT_TP_MSN },
    [PADDING] = { { .opcode = UB_TPOP_DATA, .last = true, .pad = 3, .psn = PSN_B }, 0,
      "drop-short" },
    [FAKE] = { { .opcode = UB_TPOP_DATA, .last = true, .fake = true,
                .ack_req = true, .psn = PSN_B }, 0, "rx-fake", 0, 1 },
    [STATUS] = { { .opcode = UB_TPOP_ACK, .psn = PSN_A, .rspst = 7 }, 0,
      "drop-bad-tpack" },
    [NOT_SENT] = { { .opcode = UB_TPOP_ACK, .psn = PSN_A + 5 }, 0,
      "drop-bad-tpack" },
    [MAP] = { { .opcode = UB_TPOP_SACK, .psn = PSN_A - 1 }, 4, "drop-bad-tpsack" },
};

static uint64_t tp(Eng *e, const char *name)
{
    return eng_counter(e, "transport", name);
}

static void start(EngPair *p, const EngChannel *a)
{
    eng_start(p, &(EngPlan){ .carrier = ENG_CTP });
    eng_channel(&p->a, a);
    raw_open(&p->b);
}

/* b's own transport takes over where the test has left off, and all is well. */
static void go_on(EngPair *p)
{
    raw_close(&p->b);
    eng_channel(&p->b, &(EngChannel){ .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO,
                                      .tx = PSN_B, .rx = PSN_A });
    eng_write_read(p, 10000, 3);
}

static void test_case(const void *opaque)
{
    static const uint8_t zeroes[64];
    const Case *c = opaque;
    UbRtph h = c->h;
    EngPair p;
    Eng *a = &p.a;

    start(&p, &(EngChannel){ .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO, .tx = PSN_A,
                             .rx = PSN_B });
    h.src = h.src ? h.src : ENG_TPN;
    h.dst = h.dst ? h.dst : ENG_TPN;
    for (unsigned i = 1; i <= 3; i++) {
        raw_rtp(&p.b, &h, zeroes, c->len);
        QUBC_WAIT(tp(a, c->counter) == i);
    }
    if (c->event) {
        g_assert_cmpuint(get_le32(eng_event(a, c->event) + 4), ==, ENG_TPN);
    }
    g_assert_null(ubq_eq_poll(&a->drv));
    g_assert_cmpuint(tp(a, "rx-rtp"), ==, 0);
    QUBC_WAIT(tp(a, "tx-tpack") == 3 * c->acks);
    go_on(&p);
    g_assert_null(ubq_eq_poll(&a->drv));
    eng_stop(&p);
}

/* ---- Classes of PSNs (§6.4.1) ---- */

typedef struct Distance {
    uint32_t ahead;     /* of what is expected, or of the window's end */
    const char *counter;
    bool windows;
} Distance;

typedef struct Windows {
    uint32_t first;     /* that is expected */
    uint16_t size;      /* what is held out of order */
} Windows;

static const Distance distances[] = {
    { 1, "rx-held" },
    { 2, "rx-held" },
    { -1u, "rx-held", true },
    { 0, "rx-held", true },
    { 1, "drop-invalid-psn", true },
    { 0x7ffffe, "drop-invalid-psn" },
    { 0x7fffff, "drop-invalid-psn" },
    { 0x800000, "rx-duplicate" },
    { 0x800001, "rx-duplicate" },
    { 0xffffff, "rx-duplicate" },
    { 1, "rx-duplicate" },      /* what is held already */
    { 0, "rx-rtp" },
};

static void test_distances(const void *opaque)
{
    const Windows *t = opaque;
    uint32_t first = t->first;
    static const uint8_t junk[16] = { 0xff };
    g_autofree char *held = NULL, *expected = NULL, *want = NULL;
    EngPair p;
    Eng *a = &p.a;

    start(&p, &(EngChannel){ .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO, .tx = PSN_A,
                             .rx = first, .ooo_window = t->size });
    for (unsigned i = 0; i < G_N_ELEMENTS(distances); i++) {
        const Distance *d = &distances[i];
        uint64_t before = tp(a, d->counter);
        uint32_t ahead = d->ahead + (d->windows ? t->size : 0);
        UbRtph h = { .opcode = UB_TPOP_DATA, .nlp = UB_TPH_UPI32, .src = ENG_TPN,
                     .dst = ENG_TPN, .psn = (first + ahead) & 0xffffff };

        raw_rtp(&p.b, &h, junk, sizeof(junk));
        /* The last one brings the two held behind it along. */
        QUBC_WAIT(tp(a, d->counter) == before + (ahead ? 1 : 3));
    }
    held = eng_object(a, "channels", ENG_TPN, "held");
    g_assert_cmpstr(held, ==, "2");
    expected = eng_object(a, "channels", ENG_TPN, "expected");
    want = g_strdup_printf("%u", (first + 3) & 0xffffff);
    g_assert_cmpstr(expected, ==, want);
    g_assert_cmpuint(tp(a, "rx-held"), ==, 4);
    g_assert_cmpuint(tp(a, "drop-invalid-psn"), ==, 3);
    g_assert_cmpuint(tp(a, "rx-duplicate"), ==, 4);
    eng_stop(&p);
}

static const Windows windows[] = {
    { 7, 256 }, { 0x7fff80, 256 }, { 0xffffff, 256 },
    { 0xffffff, 128 }, { 7, 512 }, { 0xfffc00, 1024 }, { 0xfff900, 2048 },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_data_func("/ubc-tp-hostile/version", &cases[VERSION], test_case);
    qtest_add_data_func("/ubc-tp-hostile/opcode", &cases[OPCODE], test_case);
    qtest_add_data_func("/ubc-tp-hostile/opcode-other-psn", &cases[OPCODE_OTHER_PSN], test_case);
    qtest_add_data_func("/ubc-tp-hostile/opcode-high", &cases[OPCODE_HIGH], test_case);
    qtest_add_data_func("/ubc-tp-hostile/destination", &cases[DESTINATION], test_case);
    qtest_add_data_func("/ubc-tp-hostile/source", &cases[SOURCE], test_case);
    qtest_add_data_func("/ubc-tp-hostile/tpmsn", &cases[TPMSN], test_case);
    qtest_add_data_func("/ubc-tp-hostile/padding", &cases[PADDING], test_case);
    qtest_add_data_func("/ubc-tp-hostile/fake", &cases[FAKE], test_case);
    qtest_add_data_func("/ubc-tp-hostile/status", &cases[STATUS], test_case);
    qtest_add_data_func("/ubc-tp-hostile/not-sent", &cases[NOT_SENT], test_case);
    qtest_add_data_func("/ubc-tp-hostile/map", &cases[MAP], test_case);
    qtest_add_data_func("/ubc-tp-hostile/distances", &windows[0],
                        test_distances);
    qtest_add_data_func("/ubc-tp-hostile/distances-middle",
                        &windows[1], test_distances);
    qtest_add_data_func("/ubc-tp-hostile/distances-wrap",
                        &windows[2], test_distances);
    qtest_add_data_func("/ubc-tp-hostile/window-128", &windows[3], test_distances);
    qtest_add_data_func("/ubc-tp-hostile/window-512", &windows[4], test_distances);
    qtest_add_data_func("/ubc-tp-hostile/window-1024", &windows[5], test_distances);
    qtest_add_data_func("/ubc-tp-hostile/window-2048", &windows[6], test_distances);
    return g_test_run();
}
