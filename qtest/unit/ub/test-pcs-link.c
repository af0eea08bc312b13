/*
 * The PCS, transmitter to receiver: every width, FEC mode, interleave and
 * line code; training, SDF, EDF, deskew, lane order, polarity, bit slip,
 * width switches, low power, errors and loss of lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "pcs.h"
#include "ub/scrambler.h"

#define CAP (1 << 16)

typedef struct Event {
    UbPcsEvent ev;
    unsigned lane;
    uint32_t arg;
    size_t flits; /* delivered before it */
} Event;

/* A link: what it carries is kept whole, then cut up for the receiver. */
typedef struct Link {
    UbPcsTx *tx;
    UbPcsRx *rx;
    GRand *rand;
    UbLaneRun run;
    GByteArray *sent, *got;  /* flits */
    GByteArray *ok;          /* verdict of each flit got */
    GArray *events;
    unsigned ltbs[UB_LANES];
    uint8_t ltb[UB_LANES][UB_LTB]; /* the last one */
    unsigned amctls[UB_LANES];
    UbAmctl amctl[UB_LANES];
    /* Per physical lane: wiring between transmitter and receiver. */
    uint8_t wire[UB_LANES];   /* receiver lane of transmitter lane i */
    bool invert[UB_LANES];
    unsigned slip[UB_LANES];  /* bits of delay, 0-7 */
    unsigned delay[UB_LANES]; /* symbols of delay still to be inserted */
    uint8_t last[UB_LANES];
    GByteArray *fifo[UB_LANES];
    void (*hurt)(struct Link *l, unsigned lane, uint8_t *sym, size_t n);
    double hurt_rate;
    void (*react)(struct Link *l, UbPcsEvent ev);
} Link;

static void on_flits(void *opaque, const uint8_t *flits, size_t n, bool ok)
{
    Link *l = opaque;

    g_byte_array_append(l->got, flits, n * UB_FLIT);
    for (size_t i = 0; i < n; i++) {
        uint8_t v = ok;

        g_byte_array_append(l->ok, &v, 1);
    }
}

static void on_ltb(void *opaque, unsigned lane, const uint8_t ltb[UB_LTB])
{
    Link *l = opaque;

    l->ltbs[lane]++;
    memcpy(l->ltb[lane], ltb, UB_LTB);
}

static void on_amctl(void *opaque, unsigned lane, const UbAmctl *a)
{
    Link *l = opaque;

    l->amctls[lane]++;
    l->amctl[lane] = *a;
}

static void on_event(void *opaque, UbPcsEvent ev, unsigned lane, uint32_t arg)
{
    Link *l = opaque;
    Event e = { ev, lane, arg, l->got->len / UB_FLIT };

    g_array_append_val(l->events, e);
    if (l->react) {
        l->react(l, ev);
    }
}

static Link *link_new(const UbPcsParams *p)
{
    static const UbPcsRxOps ops = { on_flits, on_ltb, on_amctl, on_event };
    Link *l = g_new0(Link, 1);
    UbPcsParams def;

    if (!p) {
        ub_pcs_params_init(&def);
        p = &def;
    }
    l->tx = ub_pcs_tx_new(p);
    l->rx = ub_pcs_rx_new(p, &ops, l);
    l->rand = g_rand_new_with_seed(42);
    l->sent = g_byte_array_new();
    l->got = g_byte_array_new();
    l->ok = g_byte_array_new();
    l->events = g_array_new(false, false, sizeof(Event));
    l->run.cap = CAP;
    for (unsigned i = 0; i < UB_LANES; i++) {
        l->run.lane[i] = g_malloc(CAP);
        l->fifo[i] = g_byte_array_new();
        l->wire[i] = i;
    }
    return l;
}

static void link_free(Link *l)
{
    ub_pcs_tx_free(l->tx);
    ub_pcs_rx_free(l->rx);
    g_rand_free(l->rand);
    g_byte_array_unref(l->sent);
    g_byte_array_unref(l->got);
    g_byte_array_unref(l->ok);
    g_array_unref(l->events);
    for (unsigned i = 0; i < UB_LANES; i++) {
        g_free(l->run.lane[i]);
        g_byte_array_unref(l->fifo[i]);
    }
    g_free(l);
}

/* Carry the run over the wires, in runs of random length. */
static void ship(Link *l)
{
    UbLaneRun in = { .mask = 0 };
    size_t least = SIZE_MAX;

    for (unsigned i = 0; i < UB_LANES; i++) {
        unsigned to = l->wire[i];
        GByteArray *f = l->fifo[to];

        if (!(l->run.mask >> i & 1) || !l->run.n) {
            continue;
        }
        if (l->hurt) {
            l->hurt(l, i, l->run.lane[i], l->run.n);
        }
        for (; l->delay[i]; l->delay[i]--) {
            uint8_t idle = 0;

            g_byte_array_append(f, &idle, 1);
        }
        for (size_t k = 0; k < l->run.n; k++) {
            uint8_t raw = l->run.lane[i][k], sym = raw;

            if (l->slip[i]) {
                sym = raw << l->slip[i] | l->last[i] >> (8 - l->slip[i]);
                l->last[i] = raw;
            }
            sym ^= l->invert[i] ? 0xff : 0;
            g_byte_array_append(f, &sym, 1);
        }
        in.mask |= 1 << to;
    }
    for (unsigned i = 0; i < UB_LANES; i++) {
        if (in.mask >> i & 1) {
            least = MIN(least, l->fifo[i]->len);
        }
    }
    for (size_t at = 0; in.mask && at < least; at += in.n) {
        size_t step = g_rand_int_range(l->rand, 1, 3000);

        in.n = MIN(least - at, step);
        for (unsigned i = 0; i < UB_LANES; i++) {
            in.lane[i] = in.mask >> i & 1 ? l->fifo[i]->data + at : NULL;
        }
        ub_pcs_rx(l->rx, &in);
    }
    for (unsigned i = 0; i < UB_LANES; i++) {
        if (in.mask >> i & 1) {
            g_byte_array_remove_range(l->fifo[i], 0, least);
        }
    }
    l->run.n = 0;
    l->run.mask = 0;
}

static void make_ltbs(uint8_t ltb[UB_LANES][UB_LTB], uint8_t type)
{
    for (unsigned i = 0; i < UB_LANES; i++) {
        for (unsigned s = 0; s < UB_LTB; s++) {
            ltb[i][s] = s ? 16 * i + s : type;
        }
    }
}

/* `n` LTBs per lane, shipped. */
static void train(Link *l, unsigned n)
{
    uint8_t ltb[UB_LANES][UB_LTB];

    make_ltbs(ltb, 0xa0);
    while (n) {
        n -= ub_pcs_tx_ltbs(l->tx, ltb, n, &l->run);
        ship(l);
    }
}

/* Train, agree on a mode and start the data stream. */
static void start(Link *l, const UbPcsMode *m)
{
    unsigned lanes = m->width;
    uint8_t mask = 0;

    for (unsigned i = 0; i < lanes; i++) {
        mask |= 1 << l->wire[i];
    }
    ub_pcs_rx_enable(l->rx, mask, m->pam4, m->precode);
    ub_pcs_rx_set_fec(l->rx, m->fec, m->codecs);
    g_assert_true(ub_pcs_tx_train(l->tx, lanes, m->pam4, m->precode, NULL));
    train(l, 6 * 32);
    g_assert_cmpuint(ub_pcs_tx_ltb_room(l->tx), ==, 0);
    g_assert_true(ub_pcs_tx_sdf(l->tx, m, &l->run));
    ship(l);
}

static void send(Link *l, size_t n)
{
    g_autofree uint8_t *flits = g_malloc(n * UB_FLIT + 1);
    size_t done = 0;

    for (size_t i = 0; i < n * UB_FLIT; i++) {
        flits[i] = g_rand_int(l->rand);
    }
    g_byte_array_append(l->sent, flits, n * UB_FLIT);
    while (done < n) {
        done += ub_pcs_tx_flits(l->tx, flits + done * UB_FLIT, n - done,
                                &l->run);
        ship(l);
    }
}

static void flush(Link *l)
{
    while (!ub_pcs_tx_flush(l->tx, &l->run)) {
        ship(l);
    }
    ship(l);
}

static void edf(Link *l)
{
    while (!ub_pcs_tx_edf(l->tx, &l->run)) {
        ship(l);
    }
    ship(l);
}

static const Event *find_event(Link *l, UbPcsEvent ev)
{
    for (unsigned i = 0; i < l->events->len; i++) {
        const Event *e = &g_array_index(l->events, Event, i);

        if (e->ev == ev) {
            return e;
        }
    }
    return NULL;
}

static unsigned count_events(Link *l, UbPcsEvent ev)
{
    unsigned count = 0;

    for (unsigned i = 0; i < l->events->len; i++) {
        count += g_array_index(l->events, Event, i).ev == ev;
    }
    return count;
}

/* What was sent came first and in order; the rest is fill. */
static void check_all(Link *l)
{
    UbPcsParams p;

    ub_pcs_params_init(&p);
    g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->flits, >=,
                     l->got->len / UB_FLIT);
    g_assert_cmpuint(l->got->len, >=, l->sent->len);
    g_assert_cmpmem(l->got->data, l->sent->len, l->sent->data, l->sent->len);
    for (size_t i = l->sent->len; i < l->got->len; i += UB_FLIT) {
        g_assert_cmpmem(l->got->data + i, UB_FLIT, p.null_flit, UB_FLIT);
    }
    for (size_t i = 0; i < l->ok->len; i++) {
        g_assert_cmpuint(l->ok->data[i], ==, 1);
    }
}

/* ------------------------------------------------------------ identity --- */

static UbPcsMode mode_of(unsigned n)
{
    UbPcsMode m = {
        .width = 1 << n % 4,
        .fec = n / 4 % 3,
        .codecs = 1 + n / 12 % 2,
        .pam4 = n / 24 % 2,
        .precode = n / 48 % 2,
    };

    return m;
}

#define MODES 96

static void test_identity(void)
{
    for (unsigned n = 0; n < MODES; n++) {
        UbPcsMode m = mode_of(n);
        Link *l = link_new(NULL);

        start(l, &m);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_DATA);
        for (unsigned i = 0; i < 12; i++) {
            send(l, g_rand_int_range(l->rand, 0, 500));
        }
        edf(l);
        check_all(l);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_TRAIN);
        g_assert_cmpuint(find_event(l, UB_PCS_SDF)->arg, ==, m.width);
        g_assert_cmpuint(find_event(l, UB_PCS_EDF)->flits * UB_FLIT, ==,
                         l->got->len);
        /* And once more, from the state EDF left. */
        train(l, 64);
        g_assert_true(ub_pcs_tx_sdf(l->tx, &m, &l->run));
        l->sent->len = l->got->len = 0;
        send(l, 100);
        edf(l);
        check_all(l);
        g_assert_cmpuint(count_events(l, UB_PCS_UNLOCK), ==, 0);
        g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 0);
        link_free(l);
    }
}

/* Periods that are no multiple of a frame, and ones shorter than it. */
static void test_periods(void)
{
    static const uint32_t periods[] = { 64, 100, 255, 256, 640, 1000, 1281,
                                        65536 };

    for (unsigned i = 0; i < G_N_ELEMENTS(periods); i++) {
        for (unsigned n = 0; n < 24; n++) {
            UbPcsMode m = mode_of(n);
            UbPcsParams p;
            Link *l;

            ub_pcs_params_init(&p);
            p.period[0] = periods[i];
            l = link_new(&p);
            start(l, &m);
            send(l, 700);
            flush(l);
            check_all(l);
            g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 0);
            link_free(l);
        }
    }
}

/* Known lane bytes: the interleave example with the scrambler off. */
static void test_known_lanes(void)
{
    static const char *const first[8] = {
        "00091019", "01081118", "020b121b", "030a131a",
        "040d141d", "050c151c", "060f161f", "070e171e",
    };
    static const char *const last[8] = {
        "505d", "1a19", "df43", "bcc3", "979f", "85d1", "2885", "273b",
    };
    UbPcsMode m = { .width = 8, .fec = UB_FEC_T4, .codecs = 2 };
    UbPcsParams p;
    uint8_t d[240];
    Link *l;
    UbLaneRun *run;

    ub_pcs_params_init(&p);
    p.scrambler = UB_SCRAMBLER_OFF;
    l = link_new(&p);
    run = &l->run;
    for (unsigned i = 0; i < sizeof(d); i++) {
        d[i] = i;
    }
    g_assert_true(ub_pcs_tx_train(l->tx, 8, false, false, NULL));
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, run));
    g_assert_cmpuint(run->n, ==, UB_AMCTL_SYMBOLS);
    g_assert_cmpuint(ub_pcs_tx_flits(l->tx, d, 12, run), ==, 12);
    g_assert_cmpuint(run->n, ==, UB_AMCTL_SYMBOLS + 32);
    for (unsigned i = 0; i < 8; i++) {
        const uint8_t *s = run->lane[i] + UB_AMCTL_SYMBOLS;
        g_autofree char *a = g_strdup_printf("%02x%02x%02x%02x", s[0], s[1],
                                             s[2], s[3]);
        g_autofree char *b = g_strdup_printf("%02x%02x", s[30], s[31]);
        UbAmctl mark;

        g_assert_cmpstr(a, ==, first[i]);
        g_assert_cmpstr(b, ==, last[i]);
        g_assert_true(ub_amctl_decode(&mark, run->lane[i]));
        g_assert_cmpuint(mark.lid, ==, i);
        g_assert_cmpuint(mark.type, ==, UB_AMCTL_LWS);
        g_assert_cmpuint(mark.detail, ==, UB_AMCTL_LWS_X8);
    }
    link_free(l);

    /* FEC bypass: round robin from lane 0 (§3.2.5.4). */
    l = link_new(&p);
    run = &l->run;
    m.width = 4;
    m.fec = UB_FEC_OFF;
    g_assert_true(ub_pcs_tx_train(l->tx, 4, false, false, NULL));
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, run));
    g_assert_cmpuint(ub_pcs_tx_flits(l->tx, d, 12, run), ==, 12);
    g_assert_cmpuint(run->n, ==, UB_AMCTL_SYMBOLS + 60);
    for (unsigned i = 0; i < 240; i++) {
        g_assert_cmpuint(run->lane[i % 4][UB_AMCTL_SYMBOLS + i / 4], ==, i);
    }
    link_free(l);
}

/* The scrambler rule of §3.2.2.4 on the wire: every training AMCTL and SDF
 * load the seed, no AMCTL in data does, EDF does not. */
static void test_scrambler_rule(void)
{
    UbPcsMode m = { .width = 2, .fec = UB_FEC_OFF, .codecs = 1 };
    uint8_t ltb[UB_LANES][UB_LTB], zero[UB_FLIT] = { 0 }, key[600];
    UbPcsParams p;
    UbLaneRun *run;
    size_t data, end;
    Link *l;

    ub_pcs_params_init(&p);
    memset(p.null_flit, 0, UB_FLIT); /* the lanes carry the bare key */
    l = link_new(&p);
    run = &l->run;
    memset(ltb, 0, sizeof(ltb));
    g_assert_true(ub_pcs_tx_train(l->tx, 2, false, false, NULL));
    g_assert_cmpuint(ub_pcs_tx_ltbs(l->tx, ltb, 64, run), ==, 64);
    g_assert_cmpuint(run->n, ==, 2 * 552);
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, run));
    data = run->n;
    while (run->n < data + 3 * 1320) {
        g_assert_cmpuint(ub_pcs_tx_flits(l->tx, zero, 1, run), ==, 1);
    }
    g_assert_true(ub_pcs_tx_edf(l->tx, run));
    end = run->n;
    g_assert_cmpuint((end - data - 40) % 1320, ==, 1280);
    g_assert_cmpuint(ub_pcs_tx_ltbs(l->tx, ltb, 64, run), ==, 64);
    for (unsigned lane = 0; lane < 2; lane++) {
        const uint8_t *s = run->lane[lane];
        UbScrambler k;

        for (unsigned i = 0; i < 2; i++) {
            ub_scrambler_seed(&k, UB_SCRAMBLER_PRBS23, lane);
            memset(key, 0, 512);
            ub_scrambler_xor(&k, key, key, 512);
            g_assert_cmpmem(s + i * 552 + 40, 512, key, 512);
        }
        ub_scrambler_seed(&k, UB_SCRAMBLER_PRBS23, lane);
        for (size_t at = data; at < end; at += 1320) {
            for (unsigned i = 0; i < 1280; i += 20) {
                memset(key, 0, 20);
                ub_scrambler_xor(&k, key, key, 20);
                g_assert_cmpmem(s + at + i, 20, key, 20);
            }
        }
        memset(key, 0, 512);
        ub_scrambler_xor(&k, key, key, 512);
        g_assert_cmpmem(s + end, 512, key, 512);
        ub_scrambler_seed(&k, UB_SCRAMBLER_PRBS23, lane);
        memset(key, 0, 512);
        ub_scrambler_xor(&k, key, key, 512);
        g_assert_cmpmem(s + end + 552, 512, key, 512);
    }
    link_free(l);
}

/* ------------------------------------------------------------ training --- */

static void test_training(void)
{
    Link *l = link_new(NULL);
    uint8_t ltb[UB_LANES][UB_LTB], eeib[16];
    UbPcsLane lane;

    memset(eeib, 0xff, sizeof(eeib));
    make_ltbs(ltb, 0xa0);
    ub_pcs_rx_enable(l->rx, 0x0f, false, false);
    g_assert_true(ub_pcs_tx_train(l->tx, 4, false, false, NULL));
    g_assert_true(ub_pcs_tx_raw(l->tx, eeib, sizeof(eeib), &l->run));
    train(l, 32 * 4);
    for (unsigned i = 0; i < 4; i++) {
        ub_pcs_rx_lane(l->rx, i, &lane);
        g_assert_true(lane.locked);
        g_assert_cmpuint(lane.lid, ==, i);
        g_assert_cmpuint(lane.slip, ==, 0);
        /* Lock after the first and three more: 32 LTBs since. */
        g_assert_cmpuint(l->ltbs[i], ==, 32);
        g_assert_cmpmem(l->ltb[i], UB_LTB, ltb[i], UB_LTB);
    }
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 4);
    /* A command travels in the AMCTL of the boundary. */
    g_assert_true(ub_pcs_tx_command(l->tx, 0x5, UB_AMCTL_EI,
                                    UB_AMCTL_EI_EEI));
    g_assert_false(ub_pcs_tx_command(l->tx, 0x1, UB_AMCTL_EI,
                                     UB_AMCTL_EI_EEI));
    g_assert_cmpuint(ub_pcs_tx_pending(l->tx), ==, 5);
    g_assert_true(ub_pcs_tx_amctl(l->tx, &l->run));
    g_assert_false(ub_pcs_tx_amctl(l->tx, &l->run));
    ship(l);
    for (unsigned i = 0; i < 4; i++) {
        ub_pcs_rx_lane(l->rx, i, &lane);
        g_assert_cmpuint(l->amctl[i].type, ==,
                         i % 2 ? UB_AMCTL_NONE : UB_AMCTL_EI);
        g_assert_cmpint(lane.locked, ==, i % 2);
    }
    link_free(l);
}

static void test_slip_and_polarity(void)
{
    for (unsigned n = 0; n < 64; n++) {
        UbPcsMode m = {
            .width = 4, .fec = UB_FEC_T4, .codecs = 2,
            .pam4 = n / 32, .precode = n / 16 % 2,
        };
        Link *l = link_new(NULL);
        UbPcsLane lane;

        for (unsigned i = 0; i < 4; i++) {
            l->slip[i] = (n + 3 * i) % 8 & (m.pam4 ? 6 : 7);
            l->invert[i] = (n >> 3 ^ i) & 1;
            l->delay[i] = (n * i) % 20;
        }
        start(l, &m);
        send(l, 600);
        send(l, 5);
        edf(l);
        train(l, 3); /* pushes the last, shifted symbols through */
        check_all(l);
        for (unsigned i = 0; i < 4; i++) {
            ub_pcs_rx_lane(l->rx, i, &lane);
            g_assert_cmpint(lane.inverted, ==, l->invert[i]);
            g_assert_cmpuint(lane.slip, ==, l->slip[i]);
        }
        link_free(l);
    }
}

/* --------------------------------------------------- deskew and order --- */

static void test_deskew(void)
{
    for (unsigned n = 0; n < 40; n++) {
        UbPcsMode m = { .width = 8, .fec = n % 3, .codecs = 1 + n % 2 };
        Link *l = link_new(NULL);

        for (unsigned i = 0; i < 8; i++) {
            l->delay[i] = g_rand_int_range(l->rand, 0, 129);
        }
        start(l, &m);
        send(l, 900);
        edf(l);
        train(l, 16); /* brings the late lanes home */
        check_all(l);
        g_assert_cmpuint(count_events(l, UB_PCS_SKEW_OVERFLOW), ==, 0);
        g_assert_nonnull(find_event(l, UB_PCS_EDF));
        link_free(l);
    }
}

static void test_deskew_overflow(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
    Link *l = link_new(NULL);

    l->delay[2] = 200;
    start(l, &m);
    send(l, 500);
    g_assert_nonnull(find_event(l, UB_PCS_SKEW_OVERFLOW));
    g_assert_cmpuint(l->got->len, ==, 0);
    g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->skew_overflows, ==, 1);
    /* Training again with the skew gone. */
    edf(l);
    g_byte_array_set_size(l->fifo[2], 0);
    ub_pcs_rx_relock(l->rx, 0xff);
    train(l, 6 * 32);
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_byte_array_set_size(l->sent, 0);
    send(l, 500);
    flush(l);
    check_all(l);
    link_free(l);
}

static void test_lane_order(void)
{
    static const struct {
        uint8_t width, wire[UB_LANES];
        bool disorder;
    } rows[] = {
        { 4, { 0, 1, 2, 3, 4, 5, 6, 7 }, false },
        { 4, { 3, 2, 1, 0, 4, 5, 6, 7 }, false },
        { 8, { 7, 6, 5, 4, 3, 2, 1, 0 }, false },
        { 2, { 1, 0, 2, 3, 4, 5, 6, 7 }, false },
        { 4, { 2, 0, 3, 1, 4, 5, 6, 7 }, true },
        { 8, { 5, 2, 7, 0, 1, 6, 3, 4 }, true },
        { 4, { 4, 5, 6, 7, 0, 1, 2, 3 }, true }, /* lane 0 not at 0,1,3,7 */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbPcsMode m = { .width = rows[i].width, .fec = UB_FEC_T4,
                        .codecs = 2 };
        Link *l = link_new(NULL);

        memcpy(l->wire, rows[i].wire, UB_LANES);
        start(l, &m);
        send(l, 500);
        flush(l);
        check_all(l);
        g_assert_cmpint(find_event(l, UB_PCS_LANE_MAP) != NULL, ==,
                        rows[i].disorder);
        link_free(l);
    }
    /* Every order of four lanes. */
    for (unsigned n = 0; n < 256; n++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T2, .codecs = 1 };
        Link *l;
        unsigned seen = 0;

        for (unsigned i = 0; i < 4; i++) {
            seen |= 1 << (n >> 2 * i & 3);
        }
        if (seen != 15) {
            continue;
        }
        l = link_new(NULL);
        for (unsigned i = 0; i < 4; i++) {
            l->wire[i] = n >> 2 * i & 3;
        }
        start(l, &m);
        send(l, 100);
        flush(l);
        check_all(l);
        link_free(l);
    }
}

/* Without re-mapping the configured order rules: a reversal that both ends
 * know of works, one that the receiver does not know of fails FEC. */
static void test_lane_map(void)
{
    static const uint8_t reversed[UB_LANES] = { 3, 2, 1, 0, 4, 5, 6, 7 };

    for (unsigned known = 0; known < 2; known++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
        UbPcsParams p;
        Link *l;

        ub_pcs_params_init(&p);
        p.full_disorder = false;
        l = link_new(&p);
        g_assert_true(ub_pcs_tx_set_map(l->tx, reversed));
        if (known) {
            g_assert_true(ub_pcs_rx_set_map(l->rx, reversed));
        }
        start(l, &m);
        send(l, 300);
        flush(l);
        if (known) {
            check_all(l);
        } else {
            g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->failed_words, >, 40);
        }
        link_free(l);
    }
}

/* -------------------------------------------------------------- errors --- */

/* Some whole frames, aligned, so that code words can be hit exactly. */
static void test_fec_limits(void)
{
    for (unsigned t = UB_FEC_T2; t <= UB_FEC_T4; t++) {
        unsigned capacity = t == UB_FEC_T2 ? 2 : 4;

        for (unsigned errors = 1; errors <= capacity + 1; errors++) {
            UbPcsMode m = { .width = 1, .fec = t, .codecs = 1 };
            Link *l = link_new(NULL);
            uint8_t flits[6 * UB_FLIT];
            const UbPcsRxStats *s = ub_pcs_rx_stats(l->rx);

            start(l, &m);
            memset(flits, 0x11, sizeof(flits));
            g_byte_array_append(l->sent, flits, sizeof(flits));
            ub_pcs_tx_flits(l->tx, flits, 6, &l->run);
            for (unsigned e = 0; e < errors; e++) {
                l->run.lane[0][l->run.n - 1 - 25 * e] ^= 0x40;
            }
            ship(l);
            g_assert_cmpuint(s->words, ==, 1);
            if (errors <= capacity) {
                check_all(l);
                g_assert_cmpuint(s->fixed_symbols, ==, errors);
                g_assert_cmpuint(s->fixed_words, ==, 1);
            } else {
                g_assert_cmpuint(s->failed_words, ==, 1);
                g_assert_cmpuint(s->error_symbols, ==, capacity + 1);
                g_assert_cmpuint(s->bad_flits, ==, 6);
                g_assert_cmpuint(l->ok->data[0], ==, 0);
            }
            link_free(l);
        }
    }
}

static void hurt_bits(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    double gap = -1;

    while (l->hurt_rate) {
        /* Geometric distances between wrong bits. */
        double u = g_rand_double_range(l->rand, 1e-12, 1.0);
        double skip = __builtin_log(u) / __builtin_log(1 - l->hurt_rate);

        gap += 1 + (skip < 1e12 ? __builtin_floor(skip) : 1e12);
        if (gap >= 8.0 * n) {
            break;
        }
        sym[(size_t)gap / 8] ^= 1 << (size_t)gap % 8;
    }
}

/* Bit errors: a good verdict means the right flits, nothing is lost or moved,
 * lanes stay locked. */
static void test_bit_errors(void)
{
    static const double rates[] = { 1e-5, 1e-4, 1e-3 };

    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        UbPcsMode m = { .width = 8, .fec = UB_FEC_T4, .codecs = 2 };
        Link *l = link_new(NULL);
        const UbPcsRxStats *s = ub_pcs_rx_stats(l->rx);
        size_t bad = 0, wrong = 0;

        start(l, &m);
        l->hurt = hurt_bits;
        l->hurt_rate = rates[i];
        for (unsigned n = 0; n < 20; n++) {
            send(l, 1200);
        }
        flush(l);
        g_assert_cmpuint(l->got->len, >=, l->sent->len);
        for (size_t f = 0; f < l->sent->len / UB_FLIT; f++) {
            bool same = !memcmp(l->got->data + f * UB_FLIT,
                                l->sent->data + f * UB_FLIT, UB_FLIT);

            bad += !l->ok->data[f];
            wrong += l->ok->data[f] && !same;
        }
        g_test_message("rate %g: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                       " words corrected, %" G_GUINT64_FORMAT " failed, "
                       "%zu flits miscorrected", rates[i], s->fixed_words,
                       s->words, s->failed_words, wrong);
        g_assert_cmpuint(s->fixed_words, >, 0);
        g_assert_cmpuint(s->bad_flits, >=, bad);
        /* Miscorrection needs five or more wrong symbols in a word and then
         * luck of about 1 in 4!: 1e-3 gives 0.3 % of words that many. */
        g_assert_cmpuint(wrong, <=, bad);
        g_assert_cmpuint(count_events(l, UB_PCS_UNLOCK), ==, 0);
        g_assert_cmpuint(count_events(l, UB_PCS_SKEW_OVERFLOW), ==, 0);
        if (rates[i] < 1e-4) {
            check_all(l);
        }
        link_free(l);
    }
}

/* AMCTLs within the reach of eBCH keep their meaning. */
static void hurt_amctl(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    for (size_t i = 0; i + UB_AMCTL_SYMBOLS <= n; i++) {
        if (ub_amctl_lock_exact(sym + i)) {
            for (unsigned w = 0; w < UB_AMCTL_SYMBOLS; w += 2) {
                sym[i + w] ^= 1 << g_rand_int_range(l->rand, 0, 8);
                sym[i + w + 1] ^= 0x81;
            }
        }
    }
}

static void test_amctl_errors(void)
{
    UbPcsMode m = { .width = 8, .fec = UB_FEC_OFF };
    Link *l = link_new(NULL);
    UbPcsLane lane;

    start(l, &m);
    l->hurt = hurt_amctl;
    send(l, 3000);
    edf(l);
    check_all(l);
    g_assert_nonnull(find_event(l, UB_PCS_EDF));
    ub_pcs_rx_lane(l->rx, 3, &lane);
    g_assert_cmpuint(lane.ebch_fixed, >, 20);
    g_assert_cmpuint(lane.missed, ==, 0);
    link_free(l);
}

/* Destroy every AMCTL of lane 1. */
static void hurt_lane1(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    if (lane != 1) {
        return;
    }
    for (size_t i = 0; i + UB_AMCTL_SYMBOLS <= n; i++) {
        if (ub_amctl_end(sym + i) && ub_amctl_lock_exact(sym + i)) {
            memset(sym + i, 0x33, UB_AMCTL_SYMBOLS);
        }
    }
}

static void test_lost_amctl(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
    Link *l = link_new(NULL);
    const Event *e;

    start(l, &m);
    l->hurt = hurt_lane1;
    send(l, 2500);
    e = find_event(l, UB_PCS_UNLOCK);
    g_assert_nonnull(e);
    g_assert_cmpuint(e->lane, ==, 1);
    g_assert_cmpuint(count_events(l, UB_PCS_MISS), >=, 3);
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 4);
    /* Data goes on meanwhile, and the end of data is still found in place:
     * the other lanes tell where. */
    edf(l);
    check_all(l);
    g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_TRAIN);
    /* The lane that missed EDF hunts and locks again. */
    l->hurt = NULL;
    train(l, 6 * 32);
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 5);
    link_free(l);
}

/* In training, `unlock` misses send the lane back to hunting. */
static void test_training_unlock(void)
{
    Link *l = link_new(NULL);

    ub_pcs_rx_enable(l->rx, 0x03, false, false);
    g_assert_true(ub_pcs_tx_train(l->tx, 2, false, false, NULL));
    train(l, 32 * 6);
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 2);
    l->hurt = hurt_lane1;
    train(l, 32 * 2);
    g_assert_cmpuint(count_events(l, UB_PCS_UNLOCK), ==, 0);
    train(l, 32 * 2);
    g_assert_cmpuint(count_events(l, UB_PCS_UNLOCK), ==, 1);
    l->hurt = NULL;
    train(l, 32 * 6);
    g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 3);
    link_free(l);
}

/* Garbage on every lane: no lock to speak of, no harm. */
static void test_garbage(void)
{
    Link *l = link_new(NULL);
    UbPcsMode m = { .width = 8, .fec = UB_FEC_T4, .codecs = 2 };
    GRand *r = g_rand_new_with_seed(9);

    for (unsigned round = 0; round < 2; round++) {
        if (round) {
            start(l, &m);
        } else {
            ub_pcs_rx_enable(l->rx, 0xff, false, false);
        }
        for (unsigned n = 0; n < 20; n++) {
            l->run.mask = 0xff;
            l->run.n = 5000 + n;
            for (unsigned i = 0; i < 8; i++) {
                for (size_t k = 0; k < l->run.n; k++) {
                    l->run.lane[i][k] = g_rand_int(r);
                }
            }
            ship(l);
        }
        if (!round) {
            g_assert_cmpuint(count_events(l, UB_PCS_LOCK), ==, 0);
        }
    }
    /* A stream of AMCTLs with every command in every state. */
    for (unsigned n = 0; n < 20000; n++) {
        l->run.mask = 0xff;
        l->run.n = UB_AMCTL_SYMBOLS;
        for (unsigned i = 0; i < 8; i++) {
            ub_amctl_encode(l->run.lane[i], g_rand_int_range(r, 0, 9),
                            g_rand_int_range(r, 0, 8),
                            g_rand_int_range(r, 0, 8));
        }
        if (n % 5) {
            l->run.n = g_rand_int_range(r, 1, 1400);
        }
        ship(l);
    }
    g_rand_free(r);
    link_free(l);
}

static void test_hi_ber(void)
{
    UbPcsMode m = { .width = 1, .fec = UB_FEC_T2, .codecs = 1 };
    UbPcsParams p;
    Link *l;

    ub_pcs_params_init(&p);
    p.hi_fec_ber = 30;
    l = link_new(&p);
    start(l, &m);
    l->hurt = hurt_bits;
    l->hurt_rate = 0.02;
    send(l, 600);
    g_assert_cmpuint(count_events(l, UB_PCS_HI_FEC_BER), ==, 1);
    g_assert_cmpuint(find_event(l, UB_PCS_HI_FEC_BER)->arg, >=, 30);
    g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->error_symbols, ==,
                     3 * ub_pcs_rx_stats(l->rx)->failed_words);
    ub_pcs_rx_clear_ber(l->rx);
    send(l, 600);
    g_assert_cmpuint(count_events(l, UB_PCS_HI_FEC_BER), ==, 2);
    link_free(l);
}

/* ------------------------------------------------------ width switches --- */

static void switch_width(Link *l, unsigned width)
{
    while (!ub_pcs_tx_width(l->tx, width, &l->run)) {
        ship(l);
    }
    ship(l);
}

static void test_width_down_up(void)
{
    for (unsigned n = 0; n < 12; n++) {
        UbPcsMode m = { .width = 8, .fec = n % 3, .codecs = 1 + n / 3 % 2,
                        .pam4 = n / 6, .precode = n / 6 };
        Link *l = link_new(NULL);
        uint8_t ltb[UB_LANES][UB_LTB];
        unsigned rltbs;

        make_ltbs(ltb, 0xc2);
        start(l, &m);
        send(l, 500);
        switch_width(l, 2);
        g_assert_cmpuint(ub_pcs_rx_mode(l->rx)->width, ==, 2);
        send(l, 500);
        /* Up: short period, wake the lanes, RLTBs beside the data, switch. */
        g_assert_true(ub_pcs_tx_command(l->tx, 0x03, UB_AMCTL_PERIOD,
                                        UB_AMCTL_PERIOD_1));
        while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
            ship(l);
        }
        ship(l);
        /* Fill Null Blocks appear in the stream: stand them in `sent`. */
        g_byte_array_set_size(l->sent, 0);
        g_byte_array_append(l->sent, l->got->data, l->got->len);
        g_assert_true(ub_pcs_tx_wake(l->tx, 4, ltb));
        for (unsigned i = 0; i < 6; i++) {
            while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
                ship(l);
            }
            ship(l);
        }
        rltbs = l->ltbs[2];
        g_assert_cmpuint(rltbs, >=, 40);
        g_assert_cmpmem(l->ltb[2], UB_LTB, ltb[2], UB_LTB);
        g_assert_cmpmem(l->ltb[3], UB_LTB, ltb[3], UB_LTB);
        switch_width(l, 4);
        g_assert_cmpuint(ub_pcs_rx_mode(l->rx)->width, ==, 4);
        g_assert_true(ub_pcs_tx_command(l->tx, 0x0f, UB_AMCTL_PERIOD,
                                        UB_AMCTL_PERIOD_0));
        while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
            ship(l);
        }
        ship(l);
        g_byte_array_set_size(l->sent, 0);
        g_byte_array_append(l->sent, l->got->data, l->got->len);
        send(l, 2000);
        edf(l);
        check_all(l);
        g_assert_cmpuint(count_events(l, UB_PCS_WIDTH), ==, 2);
        g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 0);
        link_free(l);
    }
}

static unsigned reaction;

static void react_sdf(Link *l, UbPcsEvent ev)
{
    if (ev != UB_PCS_SDF) {
        return;
    }
    l->react = NULL;
    if (reaction == 0) {
        ub_pcs_rx_relock(l->rx, 0x0f);
    } else if (reaction == 1) {
        ub_pcs_rx_reset(l->rx);
    } else if (reaction == 2) {
        ub_pcs_rx_enable(l->rx, 0, false, false);
    } else {
        /* The last word counts. */
        ub_pcs_rx_enable(l->rx, 0x0f, true, false);
        ub_pcs_rx_relock(l->rx, 0x0f);
        ub_pcs_rx_reset(l->rx);
    }
    /* Not under the feet of what is being received. */
    g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_DATA);
}

/* Control from inside an event waits for the chunk to be done. */
static void test_control_in_event(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };

    for (reaction = 0; reaction < 4; reaction++) {
        Link *l = link_new(NULL);
        UbPcsLane lane;

        l->react = react_sdf;
        start(l, &m);
        g_assert_null(l->react);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==,
                        reaction ? UB_PCS_IDLE : UB_PCS_TRAIN);
        ub_pcs_rx_lane(l->rx, 0, &lane);
        g_assert_false(lane.locked || lane.data);
        g_assert_cmpint(lane.enabled, ==, !reaction);
        link_free(l);
    }
}

/* Lanes that are told another line code hunt anew; told the same, they stay. */
static void test_enable_again(void)
{
    for (unsigned i = 0; i < 4; i++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
        Link *l = link_new(NULL);
        UbPcsLane lane;

        start(l, &m);
        ub_pcs_rx_enable(l->rx, 0x0f, i & 1, i & 2);
        ub_pcs_rx_lane(l->rx, 1, &lane);
        g_assert_cmpint(lane.locked, ==, !i);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==,
                        i ? UB_PCS_TRAIN : UB_PCS_DATA);
        link_free(l);
    }
}

/* Lanes wake up to all eight, and no further; EDF ends that too. */
static void test_wake_bounds(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
    uint8_t ltb[UB_LANES][UB_LTB];
    Link *l = link_new(NULL);

    make_ltbs(ltb, 0xc2);
    start(l, &m);
    g_assert_false(ub_pcs_tx_wake(l->tx, 4, ltb));
    g_assert_false(ub_pcs_tx_wake(l->tx, 9, ltb));
    g_assert_true(ub_pcs_tx_wake(l->tx, 8, ltb));
    for (unsigned i = 0; i < 2; i++) {
        while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
            ship(l);
        }
        ship(l);
    }
    while (!ub_pcs_tx_edf(l->tx, &l->run)) {
        ship(l);
    }
    ship(l);
    train(l, 32);
    g_assert_true(ub_pcs_tx_ltbs(l->tx, ltb, 1, &l->run));
    g_assert_cmphex(l->run.mask, ==, 0x0f);
    link_free(l);
}

/* Raw symbols on every lane; training blocks in the number asked for, over the
 * places of AMCTLs. */
static void test_train_counts(void)
{
    const UbPcsMode m = { .width = 2, .fec = UB_FEC_T4, .codecs = 1 };
    static const uint8_t eeib[16] = { 0, 0xff, 0, 0xff, 1, 2, 3, 4 };
    uint8_t ltb[UB_LANES][UB_LTB];
    Link *l = link_new(NULL);

    make_ltbs(ltb, 0xa0);
    g_assert_true(ub_pcs_tx_train(l->tx, 4, false, false, NULL));
    g_assert_true(ub_pcs_tx_raw(l->tx, eeib, sizeof(eeib), &l->run));
    g_assert_cmpuint(l->run.n, ==, sizeof(eeib));
    g_assert_cmphex(l->run.mask, ==, 0x0f);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpmem(l->run.lane[i], 16, eeib, 16);
    }
    l->run.n = 0;
    l->run.mask = 0;
    g_assert_cmpuint(ub_pcs_tx_ltbs(l->tx, ltb, 70, &l->run), ==, 70);
    g_assert_cmpuint(l->run.n, ==, 70 * UB_LTB + 3 * UB_AMCTL_SYMBOLS);
    g_assert_cmpuint(ub_pcs_tx_ltb_room(l->tx), ==, 26);
    g_assert_cmpuint(ub_pcs_tx_stats(l->tx)->ltbs, ==, 70);
    /* Data may be on fewer lanes than were trained, at an AMCTL's place. */
    g_assert_false(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_assert_cmpuint(ub_pcs_tx_ltbs(l->tx, ltb, 26, &l->run), ==, 26);
    l->run.n = 0;
    l->run.mask = 0;
    g_assert_true(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_assert_cmphex(l->run.mask, ==, 0x03);
    g_assert_cmpuint(l->run.n, ==, UB_AMCTL_SYMBOLS);
    g_assert_cmpuint(ub_pcs_tx_missing(l->tx), ==, 0);
    link_free(l);
}

static unsigned hurt_end;      /* lane whose next AMCTL loses its END */

static void hurt_period(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    UbAmctl a;

    for (size_t i = 0; lane == hurt_end && i + UB_AMCTL_SYMBOLS <= n; i++) {
        if (ub_amctl_decode(&a, sym + i) && a.type == UB_AMCTL_PERIOD) {
            memset(sym + i + 12, 0xff, 4);
            return;
        }
    }
}

static void hurt_body(Link *l, unsigned lane, uint8_t *sym, size_t n)
{
    UbAmctl a;

    for (size_t i = 0; lane == 1 && i + UB_AMCTL_SYMBOLS <= n; i++) {
        if (ub_amctl_decode(&a, sym + i) && a.body == 6) {
            memset(sym + i, 0xff, 2);
        }
    }
}

/* One word of BODY is wrong: counted, and no more (§3.2.4.4). */
static void test_body_errors(void)
{
    UbPcsMode m = { .width = 2, .fec = UB_FEC_T4, .codecs = 1 };
    Link *l = link_new(NULL);
    UbPcsLane lane;

    start(l, &m);
    l->hurt = hurt_body;
    send(l, 2000);
    for (unsigned i = 0; i < 2; i++) {
        ub_pcs_rx_lane(l->rx, i, &lane);
        g_assert_cmpint(lane.body_errors > 0, ==, i);
        g_assert_cmpuint(lane.missed, ==, 0);
        g_assert_true(lane.locked);
    }
    link_free(l);
}

/* A lane that misses just the AMCTL with a new period follows the others. */
static void test_lost_period(void)
{
    for (unsigned n = 0; n < 24; n++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
        Link *l = link_new(NULL);

        hurt_end = n % 4;
        start(l, &m);
        send(l, 100 + n);
        l->hurt = hurt_period;
        for (unsigned k = 0; k < 2; k++) {
            g_assert_true(ub_pcs_tx_command(l->tx, 0x0f, UB_AMCTL_PERIOD,
                                            k ? UB_AMCTL_PERIOD_0
                                              : UB_AMCTL_PERIOD_1));
            while (!ub_pcs_tx_to_amctl(l->tx, &l->run)) {
                ship(l);
            }
            /* In one run with it: more than a period, then the rest. */
            g_byte_array_set_size(l->sent, 0);
            send(l, 900);
        }
        flush(l);
        g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 2);
        g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->failed_words, ==, 0);
        g_assert_cmpuint(ub_pcs_rx_stats(l->rx)->fixed_words, ==, 0);
        g_assert_cmpuint(count_events(l, UB_PCS_SKEW_OVERFLOW), ==, 0);
        link_free(l);
    }
}

/* With a period below the deskew depth, skew counts up to the period. */
static void test_short_period(void)
{
    for (unsigned n = 0; n < 2; n++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
        UbPcsParams p;
        Link *l;

        ub_pcs_params_init(&p);
        p.period[0] = 64;
        p.period[1] = 640;
        l = link_new(&p);
        l->delay[2] = n ? 110 : 63;
        start(l, &m);
        send(l, 500);
        if (n) {
            g_assert_nonnull(find_event(l, UB_PCS_SKEW_OVERFLOW));
        } else {
            edf(l);
            train(l, 16);
            check_all(l);
            g_assert_nonnull(find_event(l, UB_PCS_EDF));
        }
        link_free(l);
    }
}

/* A dead lane: its columns count as zeros, its AMCTLs are missed, and the
 * peer may leave it out without Retrain (§3.4.2.4). */
static void test_dead_lane(void)
{
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1 };
    Link *l = link_new(NULL);
    const UbPcsRxStats *s = ub_pcs_rx_stats(l->rx);
    uint8_t flits[60 * UB_FLIT] = { 0 };
    UbPcsLane lane;
    size_t before;

    start(l, &m);
    send(l, 500);
    g_assert_cmpuint(s->bad_flits, ==, 0);
    ub_pcs_rx_lane(l->rx, 1, &lane);
    g_assert_cmpuint(lane.body_errors, ==, 0);
    for (unsigned i = 0; i < 80; i++) {
        ub_pcs_tx_flits(l->tx, flits, 60, &l->run);
        l->run.mask &= ~(1 << 3);
        ship(l);
    }
    g_assert_cmpuint(s->failed_words, >, 500);
    g_assert_nonnull(find_event(l, UB_PCS_UNLOCK));
    g_assert_cmpuint(find_event(l, UB_PCS_UNLOCK)->lane, ==, 3);
    while (!ub_pcs_tx_width(l->tx, 2, &l->run)) {
        l->run.mask &= ~(1 << 3);
        ship(l);
    }
    l->run.mask &= ~(1 << 3);
    ship(l);
    g_assert_cmpuint(ub_pcs_rx_mode(l->rx)->width, ==, 2);
    before = s->failed_words;
    g_byte_array_set_size(l->got, 0);
    g_byte_array_set_size(l->ok, 0);
    g_byte_array_set_size(l->sent, 0);
    send(l, 600);
    flush(l);
    check_all(l);
    g_assert_cmpuint(s->failed_words, ==, before);
    link_free(l);
}

/* ----------------------------------------------------------- low power --- */

static void test_low_power(void)
{
    static const size_t idle[] = { 0, 1, 39, 500, 1280, 1300, 4000 };

    for (unsigned n = 0; n < 2 * G_N_ELEMENTS(idle); n++) {
        UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 1,
                        .pam4 = n % 2, .precode = n % 2 };
        Link *l = link_new(NULL);
        size_t left = idle[n / 2];

        start(l, &m);
        send(l, 300);
        while (!ub_pcs_tx_close(l->tx, &l->run)) {
            ship(l);
        }
        ship(l);
        g_assert_cmpint(ub_pcs_rx_state(l->rx), ==, UB_PCS_CLOSED);
        check_all(l);
        g_byte_array_set_size(l->got, 0);
        g_byte_array_set_size(l->sent, 0);
        while (left) {
            left -= ub_pcs_tx_prbs(l->tx, left, &l->run);
            ship(l);
        }
        g_assert_cmpuint(l->got->len, ==, 0);
        g_assert_true(ub_pcs_tx_open(l->tx, &l->run));
        send(l, 300);
        flush(l);
        g_assert_nonnull(find_event(l, UB_PCS_OPEN));
        check_all(l);
        g_assert_cmpuint(count_events(l, UB_PCS_MISS), ==, 0);
        link_free(l);
    }
}

/* --------------------------------------------------------------- bounds -- */

static void test_checks(void)
{
    UbPcsParams p;
    UbPcsMode m = { .width = 4, .fec = UB_FEC_T4, .codecs = 2 };
    static const uint8_t twice[UB_LANES] = { 0, 0, 2, 3, 4, 5, 6, 7 };
    Link *l = link_new(NULL);
    uint8_t flit[UB_FLIT] = { 0 };

    ub_pcs_params_init(&p);
    g_assert_null(ub_pcs_params_check(&p));
    p.period[0] = 10;
    g_assert_nonnull(ub_pcs_params_check(&p));
    g_assert_null(ub_pcs_tx_new(&p));
    ub_pcs_params_init(&p);
    p.scrambler = 77;
    g_assert_nonnull(ub_pcs_params_check(&p));
    ub_pcs_params_init(&p);
    p.period[1] = 641;
    g_assert_nonnull(ub_pcs_params_check(&p));
    g_assert_null(ub_pcs_mode_check(&m));
    m.width = 3;
    g_assert_nonnull(ub_pcs_mode_check(&m));
    m.width = 4;
    m.codecs = 3;
    g_assert_nonnull(ub_pcs_mode_check(&m));
    m.codecs = 2;
    g_assert_false(ub_pcs_tx_set_map(l->tx, twice));
    g_assert_false(ub_pcs_rx_set_map(l->rx, twice));
    /* Calls out of place are refused and change nothing. */
    g_assert_cmpuint(ub_pcs_tx_flits(l->tx, flit, 1, &l->run), ==, 0);
    g_assert_false(ub_pcs_tx_sdf(l->tx, &m, &l->run));
    g_assert_false(ub_pcs_tx_edf(l->tx, &l->run));
    g_assert_false(ub_pcs_tx_open(l->tx, &l->run));
    g_assert_cmpuint(ub_pcs_tx_prbs(l->tx, 10, &l->run), ==, 0);
    g_assert_cmpuint(l->run.n, ==, 0);
    start(l, &m);
    g_assert_false(ub_pcs_tx_train(l->tx, 4, false, false, NULL));
    g_assert_false(ub_pcs_tx_width(l->tx, 8, &l->run));
    g_assert_cmpuint(ub_pcs_tx_missing(l->tx), ==, 0);
    g_assert_cmpuint(ub_pcs_tx_flits(l->tx, flit, 1, &l->run), ==, 1);
    g_assert_cmpuint(ub_pcs_tx_missing(l->tx), ==, 11);
    g_assert_cmpuint(ub_pcs_tx_flit_room(l->tx), ==, 12 * 20 - 1);
    g_assert_true(ub_pcs_tx_flush(l->tx, &l->run));
    g_assert_cmpuint(ub_pcs_tx_flit_room(l->tx), ==, 12 * 19);
    link_free(l);
}

/* The smallest run a caller may offer makes progress in every mode. */
static void test_small_runs(void)
{
    for (unsigned n = 0; n < 24; n++) {
        UbPcsMode m = mode_of(n);
        UbPcsParams p;
        Link *l;

        ub_pcs_params_init(&p);
        p.period[0] = n % 2 ? 64 : 1280;
        l = link_new(&p);
        l->run.cap = UB_PCS_RUN_MIN;
        start(l, &m);
        send(l, 300);
        edf(l);
        check_all(l);
        link_free(l);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pcs/identity", test_identity);
    g_test_add_func("/pcs/periods", test_periods);
    g_test_add_func("/pcs/known-lanes", test_known_lanes);
    g_test_add_func("/pcs/scrambler-rule", test_scrambler_rule);
    g_test_add_func("/pcs/training", test_training);
    g_test_add_func("/pcs/slip-and-polarity", test_slip_and_polarity);
    g_test_add_func("/pcs/deskew", test_deskew);
    g_test_add_func("/pcs/deskew-overflow", test_deskew_overflow);
    g_test_add_func("/pcs/lane-order", test_lane_order);
    g_test_add_func("/pcs/lane-map", test_lane_map);
    g_test_add_func("/pcs/fec-limits", test_fec_limits);
    g_test_add_func("/pcs/bit-errors", test_bit_errors);
    g_test_add_func("/pcs/amctl-errors", test_amctl_errors);
    g_test_add_func("/pcs/lost-amctl", test_lost_amctl);
    g_test_add_func("/pcs/training-unlock", test_training_unlock);
    g_test_add_func("/pcs/garbage", test_garbage);
    g_test_add_func("/pcs/hi-fec-ber", test_hi_ber);
    g_test_add_func("/pcs/width-down-up", test_width_down_up);
    g_test_add_func("/pcs/train-counts", test_train_counts);
    g_test_add_func("/pcs/control-in-event", test_control_in_event);
    g_test_add_func("/pcs/enable-again", test_enable_again);
    g_test_add_func("/pcs/wake-bounds", test_wake_bounds);
    g_test_add_func("/pcs/body-errors", test_body_errors);
    g_test_add_func("/pcs/lost-period", test_lost_period);
    g_test_add_func("/pcs/short-period", test_short_period);
    g_test_add_func("/pcs/dead-lane", test_dead_lane);
    g_test_add_func("/pcs/low-power", test_low_power);
    g_test_add_func("/pcs/checks", test_checks);
    g_test_add_func("/pcs/small-runs", test_small_runs);
    return g_test_run();
}
