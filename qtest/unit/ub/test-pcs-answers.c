/*
 * Known answers of the PCS: what a transmitter sends in a script that uses all
 * it can do, to the bit, and what a receiver makes of it behind crossed, skewed
 * and noisy wires, to the last counter.  Ends of different builds meet on a
 * wire and in a migration stream: an answer that changes is a format that does.
 *
 * Other tests say that the answers are right (codes, known lanes, both ends
 * against each other); this one that nothing moves, however runs are cut.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "core/crc32.h"
#include "pcs-pair.h"

/* A script's two answers. */
typedef struct Answer {
    uint32_t sent, got;
} Answer;

typedef struct Script {
    Link *l;
    uint32_t lane[UB_LANES]; /* CRC of what each lane sent */
    size_t symbols[UB_LANES];
    uint32_t got;
    uint32_t seed;
    uint8_t faults;          /* bits: errors, lost AMCTLs */
} Script;

static void digest(uint32_t *crc, const void *p, size_t n)
{
    *crc = core_crc32(*crc, p, n);
}

static void digest_word(uint32_t *crc, uint64_t v)
{
    uint8_t le[8];

    put_le64(le, v);
    digest(crc, le, sizeof(le));
}

static uint32_t draw(Script *s)
{
    s->seed = s->seed * 1664525 + 1013904223;
    return s->seed >> 8;
}

/* One error in some hundred symbols of a lane, and now and then a burst that
 * no code word survives; an AMCTL whose END is spoilt. */
static void spoil(Script *s, unsigned lane, uint8_t *sym, size_t n)
{
    if (s->faults & 1) {
        for (size_t i = draw(s) % 700; i < n; i += 200 + draw(s) % 700) {
            sym[i] ^= 1 << draw(s) % 8;
        }
        if (draw(s) % 9 == 0 && n > 40) {
            memset(sym + draw(s) % (n - 40), 0x5a, 40);
        }
    }
    if (s->faults & 2 && lane == 1 && draw(s) % 3 == 0) {
        ub_lane_spoil_amctls(sym, n, 1);
    }
}

static void pass(Script *s)
{
    Link *l = s->l;

    for (unsigned i = 0; i < UB_LANES; i++) {
        if (l->run.mask >> i & 1 && l->run.n) {
            digest(&s->lane[i], l->run.lane[i], l->run.n);
            s->symbols[i] += l->run.n;
            spoil(s, i, l->run.lane[i], l->run.n);
        }
    }
    ship(l);
}

static void script_train(Script *s, unsigned n, uint8_t type)
{
    uint8_t ltb[UB_LANES][UB_LTB];

    make_ltbs(ltb, type);
    while (n) {
        n -= ub_pcs_tx_ltbs(s->l->tx, ltb, n, &s->l->run);
        pass(s);
    }
}

static void script_send(Script *s, size_t n)
{
    g_autofree uint8_t *flits = g_malloc(n * UB_FLIT);
    size_t done = 0;

    for (size_t i = 0; i < n * UB_FLIT; i++) {
        flits[i] = draw(s);
    }
    while (done < n) {
        done += ub_pcs_tx_flits(s->l->tx, flits + done * UB_FLIT, n - done,
                                &s->l->run);
        pass(s);
    }
    digest_word(&s->got, ub_pcs_tx_missing(s->l->tx));
    digest_word(&s->got, ub_pcs_tx_flit_room(s->l->tx));
}

static void until(Script *s, bool (*call)(UbPcsTx *tx, UbLaneRun *run))
{
    while (!call(s->l->tx, &s->l->run)) {
        pass(s);
    }
    pass(s);
}

static void script_width(Script *s, unsigned width)
{
    while (!ub_pcs_tx_width(s->l->tx, width, &s->l->run)) {
        pass(s);
    }
    pass(s);
}

static void script_period(Script *s, unsigned width, unsigned detail)
{
    g_assert_true(ub_pcs_tx_command(s->l->tx, (1 << width) - 1,
                                    UB_AMCTL_PERIOD, detail));
    g_assert_cmphex(ub_pcs_tx_pending(s->l->tx), ==, (1 << width) - 1);
    until(s, ub_pcs_tx_to_amctl);
    g_assert_cmphex(ub_pcs_tx_pending(s->l->tx), ==, 0);
}

/* Everything that a transmitter can be asked for, once. */
static void play(Script *s, const UbPcsMode *m)
{
    static const uint16_t sizes[] = { 1, 5, 12, 700, 64, 3, 333 };
    Link *l = s->l;
    uint8_t ltb[UB_LANES][UB_LTB];

    ub_pcs_rx_enable(l->rx, 0xff, m->pam4, m->precode);
    ub_pcs_rx_set_fec(l->rx, m->fec, m->codecs);
    g_assert_true(ub_pcs_tx_train(l->tx, m->width, m->pam4, m->precode, NULL));
    script_train(s, 6 * 32, 0xa0);
    g_assert_true(ub_pcs_tx_sdf(l->tx, m, &l->run));
    pass(s);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        script_send(s, sizes[i]);
    }
    until(s, ub_pcs_tx_flush);
    script_send(s, 100);
    until(s, ub_pcs_tx_to_amctl);
    script_period(s, m->width, UB_AMCTL_PERIOD_1);
    script_send(s, 500);
    if (m->width > 1) {
        script_width(s, m->width / 2);
        script_send(s, 400);
        make_ltbs(ltb, 0xc2);
        g_assert_true(ub_pcs_tx_wake(l->tx, m->width, ltb));
        for (unsigned i = 0; i < 6; i++) {
            until(s, ub_pcs_tx_to_amctl);
        }
        script_width(s, m->width);
        script_send(s, 200);
    }
    script_period(s, m->width, UB_AMCTL_PERIOD_0);
    until(s, ub_pcs_tx_close);
    for (size_t left = 2000; left;) {
        left -= ub_pcs_tx_prbs(l->tx, left, &l->run);
        pass(s);
    }
    while (!ub_pcs_tx_open(l->tx, &l->run)) {
        pass(s);
    }
    script_send(s, 300);
    until(s, ub_pcs_tx_edf);
    script_train(s, 50, 0x91);
}

static void sum_up(Script *s, Answer *a)
{
    Link *l = s->l;
    const UbPcsTxStats *tx = ub_pcs_tx_stats(l->tx);
    const UbPcsRxStats *rx = ub_pcs_rx_stats(l->rx);

    a->sent = ~0u;
    for (unsigned i = 0; i < UB_LANES; i++) {
        digest_word(&a->sent, s->lane[i]);
        digest_word(&a->sent, s->symbols[i]);
    }
    digest_word(&a->sent, tx->flits);
    digest_word(&a->sent, tx->fill_flits);
    digest_word(&a->sent, tx->frames);
    digest_word(&a->sent, tx->ltbs);
    digest_word(&a->sent, tx->amctls);

    digest(&s->got, l->got->data, l->got->len);
    digest(&s->got, l->ok->data, l->ok->len);
    for (unsigned i = 0; i < l->events->len; i++) {
        const Event *e = &g_array_index(l->events, Event, i);

        digest_word(&s->got, e->ev);
        digest_word(&s->got, e->lane);
        digest_word(&s->got, e->arg);
        digest_word(&s->got, e->flits);
    }
    for (unsigned i = 0; i < UB_LANES; i++) {
        UbPcsLane n;

        ub_pcs_rx_lane(l->rx, i, &n);
        digest_word(&s->got, n.enabled | n.locked << 1 | n.inverted << 2 |
                    n.data << 3 | n.slip << 4 | n.lid << 8 | n.misses << 16);
        digest_word(&s->got, n.amctls);
        digest_word(&s->got, n.missed);
        digest_word(&s->got, n.body_errors);
        digest_word(&s->got, n.ebch_fixed);
        digest_word(&s->got, n.ebch_failed);
        digest_word(&s->got, n.ltbs);
        digest_word(&s->got, n.symbols);
        digest_word(&s->got, l->ltbs[i]);
        digest_word(&s->got, l->amctls[i]);
        digest(&s->got, l->ltb[i], UB_LTB);
    }
    digest_word(&s->got, rx->flits);
    digest_word(&s->got, rx->bad_flits);
    digest_word(&s->got, rx->words);
    digest_word(&s->got, rx->fixed_words);
    digest_word(&s->got, rx->failed_words);
    digest_word(&s->got, rx->fixed_symbols);
    digest_word(&s->got, rx->error_symbols);
    digest_word(&s->got, rx->skew_overflows);
    a->got = s->got;
}

/* Script n of `faults`, in runs of `cap` symbols. */
static Answer answer(unsigned n, uint8_t faults, size_t cap)
{
    static const uint32_t periods[][2] = {
        { 1280, 640 }, { 64, 640 }, { 4096, 128 }, { 1280, 1280 },
    };
    UbPcsMode m = mode_of(n);
    UbPcsParams p;
    Script s = { .seed = n, .got = ~0u, .faults = faults };
    Answer a;

    ub_pcs_params_init(&p);
    memcpy(p.period, periods[n / 5 % 4], sizeof(p.period));
    p.scrambler = n % 7 ? UB_SCRAMBLER_PRBS23 : UB_SCRAMBLER_OFF;
    p.confirm = n % 4;
    p.unlock = 1 + n % 3;
    p.hi_fec_ber = n % 2 ? 40 : 0;
    s.l = link_new(&p);
    s.l->run.cap = cap;
    for (unsigned i = 0; i < UB_LANES; i++) {
        s.lane[i] = ~0u;
        if (faults) {
            s.l->slip[i] = (n + i) % 8 & (m.pam4 ? 6 : 7);
            s.l->invert[i] = (n ^ i) & 1;
            s.l->delay[i] = n * i % 23;
            /* Reversed: the receiver puts them in order by their numbers. */
            s.l->wire[i] = n % 3 ? i : UB_LANES - 1 - i;
        }
    }
    play(&s, &m);
    sum_up(&s, &a);
    link_free(s.l);
    return a;
}

/* By faults and mode. */
static const Answer answers[4][MODES] = {
#include "pcs-answers.h"
};

static void check_answers(const void *data)
{
    const uint8_t faults = GPOINTER_TO_UINT(data);
    bool make = g_getenv("PCS_ANSWERS") != NULL;

    for (unsigned n = 0; n < MODES; n++) {
        Answer a = answer(n, faults, CAP);

        if (make) {
            g_print("#A {%u, %u, 0x%08x, 0x%08x},\n", faults, n, a.sent, a.got);
            continue;
        }
        g_test_message("mode %u", n);
        g_assert_cmphex(a.sent, ==, answers[faults][n].sent);
        g_assert_cmphex(a.got, ==, answers[faults][n].got);
    }
}

/* Nobody downstream sees how the transmitter's runs were cut. */
static void test_cuts(void)
{
    static const size_t caps[] = { UB_PCS_RUN_MIN, 777, 5000 };

    for (unsigned n = 0; n < MODES; n += 5) {
        for (unsigned i = 0; i < G_N_ELEMENTS(caps); i++) {
            Answer a = answer(n, 0, caps[i]);

            g_assert_cmphex(a.sent, ==, answers[0][n].sent);
        }
    }
}

/* A reset in the midst of a frame, of a wake-up and of commands leaves nothing
 * of them: the script's symbols are those of a new transmitter. */
static void test_reset(void)
{
    for (unsigned n = 0; n < MODES; n += 3) {
        UbPcsMode m = mode_of(n);
        uint8_t flit[UB_FLIT] = { 1, 2, 3 };
        uint8_t ltb[UB_LANES][UB_LTB];
        Script s[2];

        make_ltbs(ltb, 0xc2);
        for (unsigned again = 0; again < 2; again++) {
            s[again] = (Script) { .seed = n, .got = ~0u };
            s[again].l = link_new(NULL);
            if (again) {
                Script other = { .l = s[again].l, .seed = 77 };

                play(&other, &m);
                if (m.width > 1) {
                    g_assert_true(ub_pcs_tx_sdf(s[1].l->tx, &m, &s[1].l->run)
                                  || ub_pcs_tx_ltb_room(s[1].l->tx));
                    ub_pcs_tx_wake(s[1].l->tx, UB_LANES, ltb);
                }
                ub_pcs_tx_flits(s[1].l->tx, flit, 1, &s[1].l->run);
                ub_pcs_tx_command(s[1].l->tx, 0xff, UB_AMCTL_PERIOD,
                                  UB_AMCTL_PERIOD_1);
                s[1].l->run.n = s[1].l->run.mask = 0;
                ub_pcs_tx_reset(s[1].l->tx);
                ub_pcs_rx_reset(s[1].l->rx);
                g_assert_cmpint(ub_pcs_tx_state(s[1].l->tx), ==, UB_PCS_IDLE);
                g_assert_cmphex(ub_pcs_tx_pending(s[1].l->tx), ==, 0);
                g_assert_cmphex(ub_pcs_tx_lanes(s[1].l->tx), ==, 0);
                g_assert_cmpint(ub_pcs_rx_state(s[1].l->rx), ==, UB_PCS_IDLE);
            }
            for (unsigned i = 0; i < UB_LANES; i++) {
                s[again].lane[i] = ~0u;
            }
            play(&s[again], &m);
        }
        for (unsigned i = 0; i < UB_LANES; i++) {
            g_assert_cmphex(s[0].lane[i], ==, s[1].lane[i]);
            g_assert_cmpuint(s[0].symbols[i], ==, s[1].symbols[i]);
        }
        link_free(s[0].l);
        link_free(s[1].l);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "clean", "errors", "lost-amctls", "both",
    };

    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strdup_printf("/pcs/answers/%s", names[i]);

        g_test_add_data_func(path, GUINT_TO_POINTER(i), check_answers);
    }
    g_test_add_func("/pcs/answers/cuts", test_cuts);
    g_test_add_func("/pcs/answers/reset", test_reset);
    return g_test_run();
}
