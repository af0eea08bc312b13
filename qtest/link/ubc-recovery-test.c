/*
 * Loss, lateness and repetition between two emulators, and how RTP gets over them
 * (UB 2.0 §6.4.2): each line of the table is a figure of chapter 6 or a rule beside
 * them, told apart by what the devices count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "ub/tah.h"
#include "ub/tp.h"

#define FIRST_A 100u
#define FIRST_B 7u
#define PACKETS 16u
#define LEN (PACKETS * 4096u)

/* A retransmission time-out that comes, in microseconds, and one that does not. */
#define SOON 16384u
#define NEVER 2097152u
#define NEVER_SCALE "tp-time-scale=20"

typedef struct Count {
    const char *name;       /* NULL: the end */
    uint64_t min, max;
} Count;

typedef struct Figure {
    uint32_t flags;         /* UBQ_CH_* */
    uint32_t rto;
    uint32_t first;         /* PSN of a; 0: FIRST_A */
    const char *out, *back; /* faults of what a sends, what b sends */
    bool heal;              /* they go on until a time-out, then end */
    Count a[5], b[5];
    unsigned drops;         /* or until so many are lost; then another Write goes */
    EngChannel more;        /* what else the channel has */
} Figure;

#define ANY UINT64_MAX
#define SR (UBQ_CH_SELECTIVE | UBQ_CH_OOO)
#define FAST UBQ_CH_FAST
#define ONCE(psn) "'kind': 'rtp', 'psn': " #psn ", 'nth': 1, 'action': 'drop'"
#define ALWAYS(psn) "'kind': 'rtp', 'psn': " #psn ", 'nth': 1, 'every': 1, " \
                    "'action': 'drop'"
#define LATE "'kind': 'rtp', 'psn': 104, 'nth': 1, 'action': 'reorder', " \
             "'reorder-depth': 3"

enum {
    GBN_FAST_LOSS,
    GBN_FAST_AGAIN,
    GBN_FAST_TAIL,
    GBN_FAST_ACKS,
    GBN_FAST_ACK,
    GBN_FAST_NAK,
    GBN_LATE,
    GBN_LOSS,
    SR_FAST_LOSS,
    SR_FAST_AGAIN,
    SR_FAST_TAIL,
    SR_FAST_SACK,
    SR_FAST_MARK,
    SR_LATE,
    SR_LOSS,
    WRAP,
    WRAP_LOSS,
    DUPLICATES,
};

static const Figure figures[] = {
    [GBN_FAST_LOSS] = { FAST, NEVER, 0, ONCE(104), NULL, false, /* 6-18 */
      { { "rx-tpnak", 1, 1 }, { "timeouts", 0, 0 }, { "tx-resent", 1, 12 } },
      { { "tx-tpnak", 1, 1 }, { "rx-duplicate", 0, 11 } } },
    [GBN_FAST_AGAIN] = { FAST, SOON, 0, ALWAYS(104), NULL, true, /* 6-19 */
      { { "rx-tpnak", 1, ANY }, { "timeouts", 1, ANY },
        { "tx-resent", 2, ANY } }, { { "tx-tpnak", 1, ANY } } },
    [GBN_FAST_TAIL] = { FAST, SOON, 0, ONCE(115), NULL, false, /* 6-20 */
      { { "rx-tpnak", 0, 0 }, { "timeouts", 1, ANY },
        { "tx-resent", 1, ANY } }, { { "tx-tpnak", 0, 0 } } },
    [GBN_FAST_ACKS] = { FAST, SOON, 0, NULL, /* 6-22 */
      "'kind': 'rtp', 'tp-opcode': 2, 'drop-ppm': 1000000", true,
      { { "timeouts", 1, ANY }, { "tx-resent", 1, ANY } },
      { { "rx-duplicate", 1, ANY } } },
    [GBN_FAST_ACK] = { FAST, NEVER, 0, NULL, /* 6-21 */
      "'kind': 'rtp', 'tp-opcode': 2, 'psn': 107, 'nth': 1, 'action': 'drop'", false,
      { { "tx-resent", 0, 0 }, { "timeouts", 0, 0 },
        { "rx-tpack", PACKETS - 1, ANY } },
      { { "tx-tpack", PACKETS, ANY }, { "rx-duplicate", 0, 0 } },
      .more = { .ask = UB_TP_ASK_ALL } },
    [GBN_FAST_NAK] = { FAST, SOON, 0, ONCE(104), /* 6-23 */
      "'kind': 'rtp', 'tp-opcode': 2, 'psn': 104, 'nth': 1, 'action': 'drop'", false,
      { { "rx-tpnak", 0, 0 }, { "timeouts", 1, ANY },
        { "tx-resent", 1, ANY } }, { { "tx-tpnak", 1, 1 } } },
    [GBN_LATE] = { UBQ_CH_OOO, NEVER, 0, LATE, NULL, false, /* 6-24 */
      { { "tx-resent", 0, 0 }, { "timeouts", 0, 0 }, { "rx-tpnak", 0, 0 } },
      { { "rx-held", 1, ANY }, { "tx-tpnak", 0, 0 } } },
    [GBN_LOSS] = { UBQ_CH_OOO, SOON, 0, ONCE(104), NULL, false, /* 6-25 */
      { { "tx-resent", 1, ANY }, { "timeouts", 1, ANY },
        { "rx-tpnak", 0, 0 } }, { { "tx-tpnak", 0, 0 } } },
    [SR_FAST_LOSS] = { SR | FAST, NEVER, 0, ONCE(104), NULL, false, /* 6-26 */
      { { "tx-resent", 1, 1 }, { "timeouts", 0, 0 }, { "rx-tpsack", 1, ANY } },
      { { "tx-tpsack", 1, ANY }, { "rx-held", 1, ANY },
        { "rx-duplicate", 0, 0 } } },
    [SR_FAST_AGAIN] = { SR | FAST, SOON, 0, ALWAYS(104), NULL, true, /* 6-27 */
      { { "tx-resent", 2, ANY }, { "timeouts", 1, ANY },
        { "rx-tpsack", 1, ANY } }, { { "rx-held", 1, ANY } } },
    [SR_FAST_TAIL] = { SR | FAST, SOON, 0, ONCE(115), NULL, false, /* 6-29 */
      { { "tx-resent", 1, ANY }, { "timeouts", 1, ANY } },
      { { "tx-tpsack", 0, 0 } } },
    [SR_FAST_SACK] = { SR | FAST, SOON, 0, ONCE(104), /* 6-30 */
      "'kind': 'rtp', 'tp-opcode': 5, 'nth': 1, 'action': 'drop'", false,
      { { "tx-resent", 1, ANY }, { "rx-tpnak", 0, 0 } },
      { { "tx-tpsack", 1, ANY } } },
    [SR_FAST_MARK] = { SR | FAST | UBQ_CH_MARK, NEVER, 0, ALWAYS(104), /* 6-28 */
      NULL, false,
      { { "tx-resent", 2, 2 }, { "timeouts", 0, 0 }, { "rx-tpsack", 2, ANY } },
      { { "rx-held", PACKETS - 5, ANY }, { "rx-duplicate", 0, 0 } },
      .drops = 2 },
    [SR_LATE] = { SR, NEVER, 0, LATE, NULL, false, /* 6-31 */
      { { "tx-resent", 0, 0 }, { "timeouts", 0, 0 } },
      { { "rx-held", 1, ANY } } },
    [SR_LOSS] = { SR, SOON, 0, ONCE(104), NULL, false, /* 6-32 */
      { { "tx-resent", 1, ANY }, { "timeouts", 1, ANY } },
      { { "rx-held", 1, ANY } } },
    [WRAP] = { FAST, NEVER, 0xfffff8, NULL, NULL, false,
      { { "tx-resent", 0, 0 }, { "timeouts", 0, 0 } },
      { { "drop-invalid-psn", 0, 0 } } },
    [WRAP_LOSS] = { SR | FAST, NEVER, 0xfffff8,
      "'kind': 'rtp', 'psn': 0, 'nth': 1, 'action': 'drop'", NULL, false,
      { { "tx-resent", 1, 1 }, { "timeouts", 0, 0 } },
      { { "drop-invalid-psn", 0, 0 } } },
    [DUPLICATES] = { FAST, NEVER, 0,
      "'kind': 'rtp', 'tp-opcode': 1, 'duplicate-ppm': 1000000", NULL, false,
      { { "tx-resent", 0, 0 }, { "timeouts", 0, 0 } },
      { { "rx-duplicate", PACKETS, ANY } } },
};

static void channel(Eng *e, const Figure *f, uint32_t tx, uint32_t rx)
{
    EngChannel c = f->more;

    c.flags = f->flags | UBQ_CH_RTO_DYNAMIC;
    c.tx = tx;
    c.rx = rx;
    c.rto = f->rto;
    c.retries = 7;
    eng_channel(e, &c);
}

static void check_counts(Eng *e, const Count *c)
{
    for (; c->name; c++) {
        uint64_t n = eng_counter(e, "transport", c->name);

        if (n < c->min || n > c->max) {
            g_error("%s of end %u: %" PRIu64, c->name, e->n, n);
        }
    }
}

/* A Write whole, an atomic once, and what it took. */
static void test_figure(const void *opaque)
{
    const Figure *f = opaque;
    uint32_t first = f->first ? f->first : FIRST_A;
    uint8_t *s;
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP,
                              .props = f->rto == NEVER ? NEVER_SCALE : NULL });
    channel(a, f, first, FIRST_B);
    channel(b, f, FIRST_B, first);
    if (f->out) {
        eng_set_faults(a, true, f->out);
    }
    if (f->back) {
        eng_set_faults(b, true, f->back);
    }
    eng_fill(a, LEN, 3);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, LEN, 1), 1);
    if (f->heal) {
        QUBC_WAIT(eng_counter(a, "transport", "timeouts"));
        eng_set_faults(a, true, "");
        eng_set_faults(b, true, "");
    }
    if (f->drops) {
        QUBC_WAIT(eng_faults(a, true, "drop") == f->drops);
        eng_set_faults(a, true, "");
        ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, LEN, 1), 1);
        eng_complete(a, UBQ_STATUS_OK);
    }
    eng_complete(a, UBQ_STATUS_OK);
    eng_check(b, LEN, 3);
    if (!f->heal && !f->drops && (f->out || f->back)) {
        g_assert_cmpuint(!f->out || eng_faults(a, true, "drop") ||
                         eng_faults(a, true, "reorder") ||
                         eng_faults(a, true, "duplicate"), ==, 1);
    }
    put_le64(b->drv.memory + b->room, 40);
    s = eng_sqe(a, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);
    put_le64(s + UBQ_BLOCK, 2);
    ubq_post(&a->queue, s, 2);
    eng_complete(a, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le64(b->drv.memory + b->room), ==, 42);
    check_counts(a, f->a);
    check_counts(b, f->b);
    g_assert_cmpuint(eng_counter(a, "transport", "gave-up"), ==, 0);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_data_func("/ubc-recovery/gbn-fast-ack", &figures[GBN_FAST_ACK],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/gbn-fast-nak", &figures[GBN_FAST_NAK],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/sr-fast-mark", &figures[SR_FAST_MARK],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/gbn-fast-loss", &figures[GBN_FAST_LOSS],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/gbn-fast-again", &figures[GBN_FAST_AGAIN],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/gbn-fast-tail", &figures[GBN_FAST_TAIL],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/gbn-fast-acks", &figures[GBN_FAST_ACKS],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/gbn-late", &figures[GBN_LATE],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/gbn-loss", &figures[GBN_LOSS],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/sr-fast-loss", &figures[SR_FAST_LOSS],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/sr-fast-again", &figures[SR_FAST_AGAIN],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/sr-fast-tail", &figures[SR_FAST_TAIL],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/sr-fast-sack", &figures[SR_FAST_SACK],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/sr-late", &figures[SR_LATE],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/sr-loss", &figures[SR_LOSS],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/wrap", &figures[WRAP],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/wrap-loss", &figures[WRAP_LOSS],
                        test_figure);
    qtest_add_data_func("/ubc-recovery/duplicates", &figures[DUPLICATES],
                        test_figure);
    return g_test_run();
}
