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
#define WINDOW 256u     /* what a holds out of order */

/* RTPH as the table below says it: SrcTPN and DstTPN are put right where 0. */
typedef struct Case {
    const char *name;
    UbRtph h;
    uint32_t len;               /* behind the RTPH */
    const char *counter;        /* of a's transport: one more */
    unsigned event;             /* one of three such packets raises it; 0: none does */
    unsigned acks;              /* TPACKs that a sends for each */
} Case;

#define NOWHERE 99u     /* no such channel */

static const Case cases[] = {
    { "version", { .opcode = UB_TPOP_DATA, .ver = 1, .psn = PSN_B }, 16,
      "drop-version" },
    { "opcode", { .opcode = 0x0d, .psn = PSN_B }, 16, "drop-opcode",
      UBQ_EVENT_TP_OPCODE },
    { "opcode-other-psn", { .opcode = 0x0d, .psn = PSN_B + 1 }, 16, "drop-opcode" },
    { "opcode-high", { .opcode = 0x7f, .psn = PSN_B }, 16, "drop-opcode",
      UBQ_EVENT_TP_OPCODE },
    { "destination", { .opcode = UB_TPOP_DATA, .dst = NOWHERE, .psn = PSN_B }, 16,
      "drop-no-channel" },
    { "source", { .opcode = UB_TPOP_DATA, .src = NOWHERE, .psn = PSN_B }, 16,
      "drop-peer" },
    { "tpmsn", { .opcode = UB_TPOP_DATA, .last = true, .psn = PSN_B, .msn = 5 }, 16,
      "drop-tpmsn", UBQ_EVENT_TP_MSN },
    { "padding", { .opcode = UB_TPOP_DATA, .last = true, .pad = 3, .psn = PSN_B }, 0,
      "drop-short" },
    { "fake", { .opcode = UB_TPOP_DATA, .last = true, .fake = true,
                .ack_req = true, .psn = PSN_B }, 0, "rx-fake", 0, 1 },
    { "status", { .opcode = UB_TPOP_ACK, .psn = PSN_A, .rspst = 7 }, 0,
      "drop-bad-tpack" },
    { "not-sent", { .opcode = UB_TPOP_ACK, .psn = PSN_A + 5 }, 0,
      "drop-bad-tpack" },
    { "map", { .opcode = UB_TPOP_SACK, .psn = PSN_A - 1 }, 4, "drop-bad-tpsack" },
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
    uint32_t ahead;     /* of what is expected */
    const char *counter;
} Distance;

static const Distance distances[] = {
    { 1, "rx-held" },
    { 2, "rx-held" },
    { WINDOW - 1, "rx-held" },
    { WINDOW, "rx-held" },
    { WINDOW + 1, "drop-invalid-psn" },
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
    uint32_t first = GPOINTER_TO_UINT(opaque);
    static const uint8_t junk[16] = { 0xff };
    g_autofree char *held = NULL, *expected = NULL, *want = NULL;
    EngPair p;
    Eng *a = &p.a;

    start(&p, &(EngChannel){ .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO, .tx = PSN_A,
                             .rx = first, .ooo_window = WINDOW });
    for (unsigned i = 0; i < G_N_ELEMENTS(distances); i++) {
        const Distance *d = &distances[i];
        uint64_t before = tp(a, d->counter);
        UbRtph h = { .opcode = UB_TPOP_DATA, .nlp = UB_TPH_UPI32, .src = ENG_TPN,
                     .dst = ENG_TPN, .psn = (first + d->ahead) & 0xffffff };

        raw_rtp(&p.b, &h, junk, sizeof(junk));
        /* The last one brings the two held behind it along. */
        QUBC_WAIT(tp(a, d->counter) == before + (d->ahead ? 1 : 3));
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

int main(int argc, char **argv)
{
    static const uint32_t first[] = { 7, 0x7fff80, 0xffffff };

    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/ubc-tp-hostile/%s",
                                                cases[i].name);

        qtest_add_data_func(path, &cases[i], test_case);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(first); i++) {
        g_autofree char *path = g_strdup_printf("/ubc-tp-hostile/distances/%x",
                                                first[i]);

        qtest_add_data_func(path, GUINT_TO_POINTER(first[i]), test_distances);
    }
    return g_test_run();
}
