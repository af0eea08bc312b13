/*
 * Two ports with PCS and LMSM exchange real lane symbols in virtual time:
 * training, data, widths, rates, lane faults.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "phy_internal.h"

#define MS(n) ((int64_t)(n) * 1000000)

typedef struct Bench Bench;

typedef struct Record {
    bool lanes, lm;
    uint8_t mask, rate;
    UbLaneManage cmd;
    size_t n;
    uint8_t *sym[UB_LANES];
} Record;

typedef struct End {
    UbPhy *phy;
    Bench *b;
    struct End *peer;
    GQueue in;
    uint8_t map[UB_LANES];      /* our wire -> the peer's */
    uint8_t invert;             /* wires with swapped polarity */
    uint8_t cut;                /* wires that carry zeros */
    unsigned flip_every;        /* one symbol in so many gets a wrong bit */
    uint64_t flip_count;
    GRand *rand;                /* bit errors at random at the rate `ber` */
    double ber;
    uint8_t skew[UB_LANES];     /* columns a wire lags behind */
    uint8_t late[UB_LANES][64];
    /* Data. */
    uint64_t to_send, sent, got, nulls, bad, gaps;
    uint64_t expect;
    uint64_t symbols;
    unsigned ltbs_seen, fec_at_sdf;
    unsigned speeds;
    unsigned leaves;            /* told that Link_Active was left ... */
    uint64_t got_at_leave;      /* ... and had so many flits by then */
} End;

struct Bench {
    End end[2];
    int64_t now;
};

static void lane_tx(void *o, const UbLaneRun *run)
{
    End *e = o;
    Record *r = g_new0(Record, 1);

    r->n = run->n;
    e->symbols += run->n;
    for (unsigned i = 0; i < UB_LANES; i++) {
        unsigned to = e->map[i];
        uint8_t *s;

        if (!(run->mask >> i & 1)) {
            continue;
        }
        s = g_memdup2(run->lane[i], run->n);
        r->mask |= 1u << to;
        r->sym[to] = s;
        for (size_t k = 0; k < run->n; k++) {
            s[k] ^= e->invert >> i & 1 ? 0xff : 0;
            if (e->flip_every && ++e->flip_count % e->flip_every == 0) {
                s[k] ^= 1u << (e->flip_count / e->flip_every) % 8;
            }
            for (unsigned bit = 0; e->rand && bit < 8; bit++) {
                s[k] ^= (g_rand_double(e->rand) < e->ber) << bit;
            }
            if (e->cut >> i & 1) {
                s[k] = 0;
            }
        }
        if (e->skew[i]) {
            size_t d = e->skew[i];
            uint8_t *both = g_malloc(d + run->n);

            memcpy(both, e->late[i], d);
            memcpy(both + d, s, run->n);
            memcpy(s, both, run->n);
            memcpy(e->late[i], both + run->n, d);
            g_free(both);
        }
    }
    g_queue_push_tail(&e->peer->in, r);
}

static void lane_state(void *o, uint8_t active, unsigned rate)
{
    End *e = o;
    Record *r = g_new0(Record, 1);

    r->lanes = true;
    r->rate = (uint8_t)rate;
    for (unsigned i = 0; i < UB_LANES; i++) {
        r->mask |= (active >> i & 1) << e->map[i];
    }
    g_queue_push_tail(&e->peer->in, r);
}

static size_t pull_flits(void *o, uint8_t *flits, size_t max)
{
    End *e = o;
    size_t n = 0;

    for (; n < max && e->sent < e->to_send; n++) {
        uint8_t *f = flits + n * UB_FLIT;

        memset(f, 0xc3, UB_FLIT);
        put_be64(f + 4, e->sent++);
    }
    return n;
}

static void rx_flits(void *o, const uint8_t *flits, size_t n, bool fec_ok)
{
    End *e = o;

    for (size_t i = 0; i < n; i++, flits += UB_FLIT) {
        uint64_t seq;

        if (!fec_ok || (flits[0] != 0xc3 && flits[0] != 0x02)) {
            e->bad++;
            continue;
        }
        if (flits[0] == 0x02) {
            e->nulls++;
            continue;
        }
        seq = get_be64(flits + 4);
        if (get_be64(flits + 12) != 0xc3c3c3c3c3c3c3c3 || seq < e->expect ||
            seq >= e->peer->sent) {
            e->bad++;
            continue;
        }
        e->gaps += seq != e->expect;
        e->expect = seq + 1;
        e->got++;
    }
}

static void lane_manage(void *o, const UbLaneManage *lm)
{
    End *e = ((End *)o)->peer;
    Record *r = g_new0(Record, 1);

    r->lm = true;
    r->cmd = *lm;
    g_queue_push_tail(&e->in, r);
}

static void transition(void *o, const char *from, const char *to,
                       const char *cause)
{
    End *e = o;

    e->speeds += !strcmp(cause, "idle both ways, rate set");
    if (g_test_verbose()) {
        g_test_message("%12" G_GINT64_FORMAT " end %d %s -> %s (%s)",
                       e->b->now, (int)(e - e->b->end), from, to, cause);
    }
}

static void active(void *o, bool is)
{
    End *e = o;

    if (!is) {
        e->leaves++;
        e->got_at_leave = e->got;
    }
}

static void note_ltb(void *o, bool sent, unsigned lane,
                     const uint8_t ltb[UB_LTB], unsigned n)
{
    ((End *)o)->ltbs_seen += sent ? 0 : n;
}

static const UbPhyOps ops = {
    .lane_tx = lane_tx,
    .lane_state = lane_state,
    .pull_flits = pull_flits,
    .rx_flits = rx_flits,
    .lane_manage = lane_manage,
    .transition = transition,
    .ltb = note_ltb,
    .active = active,
};

static void drop(Record *r)
{
    for (unsigned i = 0; i < UB_LANES; i++) {
        g_free(r->sym[i]);
    }
    g_free(r);
}

static Bench *bench_new(const UbLmsmConfig *cfg, const UbPhyConfig *params)
{
    Bench *b = g_new0(Bench, 1);
    for (unsigned i = 0; i < 2; i++) {
        End *e = &b->end[i];

        e->b = b;
        e->peer = &b->end[!i];
        g_queue_init(&e->in);
        for (unsigned k = 0; k < UB_LANES; k++) {
            e->map[k] = (uint8_t)k;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        UbPhyConfig c = *params;

        c.lmsm = *cfg;
        c.lmsm.seed += i * 31;
        b->end[i].phy = ub_phy_new(&c, &ops, &b->end[i]);
        g_assert_nonnull(b->end[i].phy);
    }
    return b;
}

static void bench_free(Bench *b)
{
    for (unsigned i = 0; i < 2; i++) {
        ub_phy_free(b->end[i].phy);
        while (!g_queue_is_empty(&b->end[i].in)) {
            drop(g_queue_pop_head(&b->end[i].in));
        }
    }
    g_free(b);
}

static UbLmsm *lmsm(Bench *b, unsigned i)
{
    return ub_phy_lmsm(b->end[i].phy);
}

static void bench_start(Bench *b)
{
    for (unsigned i = 0; i < 2; i++) {
        ub_phy_presence(b->end[i].phy, b->now, 0xff);
        ub_lmsm_start(lmsm(b, i));
    }
}

static void deliver(End *e, int64_t now)
{
    for (unsigned n = g_queue_get_length(&e->in); n; n--) {
        Record *r = g_queue_pop_head(&e->in);

        if (r->lm) {
            ub_phy_rx_lane_manage(e->phy, now, &r->cmd);
        } else if (r->lanes) {
            ub_phy_rx_lanes(e->phy, now, r->mask, r->rate);
        } else {
            ub_phy_rx(e->phy, now, r->mask,
                      (const uint8_t *const *)r->sym, r->n);
        }
        drop(r);
    }
}

static bool until(Bench *b, bool (*done)(Bench *b), int64_t limit)
{
    limit += b->now;
    while (b->now < limit) {
        int64_t next = INT64_MAX;
        bool busy = false;

        for (unsigned i = 0; i < 2; i++) {
            End *e = &b->end[i];
            int64_t t;

            deliver(e, b->now);
            ub_phy_poll(e->phy, b->now);
            if (ub_phy_active(e->phy) && e->sent < e->to_send) {
                ub_phy_tx(e->phy, b->now, 300);
            }
            t = ub_phy_poll(e->phy, b->now);
            next = MIN(next, t);
            busy |= e->sent < e->to_send && ub_phy_active(e->phy);
        }
        if (done && done(b)) {
            return true;
        }
        busy |= !g_queue_is_empty(&b->end[0].in) ||
                !g_queue_is_empty(&b->end[1].in);
        if (busy) {
            b->now += 10;
        } else if (next > limit) {
            b->now = limit;
        } else {
            b->now = MAX(b->now + 1, next);
        }
    }
    return false;
}

static bool ready(Bench *b)
{
    for (unsigned i = 0; i < 2; i++) {
        UbLmsm *l = lmsm(b, i);
        unsigned common = l->cfg.rates & lmsm(b, !i)->cfg.rates &
                          ((2u << l->cfg.target_rate) - 1);

        if (l->state != UB_LMSM_LINK_ACTIVE || !l->link_ready ||
            l->rate != 31 - (unsigned)__builtin_clz(common)) {
            return false;
        }
    }
    return true;
}

static bool all_got(Bench *b)
{
    return b->end[0].expect == b->end[1].to_send &&
           b->end[1].expect == b->end[0].to_send;
}

static void exchange(Bench *b, uint64_t n)
{
    b->end[0].to_send += n;
    b->end[1].to_send += n;
    g_assert_true(until(b, all_got, MS(500)));
}

static UbLmsmConfig config(unsigned eq)
{
    UbLmsmConfig c;

    ub_lmsm_config_init(&c);
    c.eq_mode = (uint8_t)eq;
    return c;
}

static Bench *trained(const UbLmsmConfig *c)
{
    UbPhyConfig params;
    Bench *b;

    ub_phy_config_init(&params);
    b = bench_new(c, &params);
    bench_start(b);
    g_assert_true(until(b, ready, MS(500)));
    return b;
}

static void check_clean(Bench *b)
{
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(b->end[i].gaps, ==, 0);
        g_assert_cmpuint(b->end[i].bad, ==, 0);
        g_assert_cmpuint(b->end[i].got, ==, b->end[!i].sent);
    }
}

/* Each rate of the ladder, with equalisation and data at the top. */
static void test_train(gconstpointer data)
{
    UbLmsmConfig c = config(GPOINTER_TO_UINT(data));
    Bench *b = trained(&c);

    g_assert_cmpuint(b->end[0].speeds, ==,
                     GPOINTER_TO_UINT(data) == UB_EQ_FULL ? 3 : 1);
    exchange(b, 5000);
    check_clean(b);
    bench_free(b);
}

/* Widths x FEC x interleave, with data. */
static void test_modes(void)
{
    static const uint8_t widths[] = { 1, 2, 4, 8 };

    for (unsigned i = 0; i < 64; i++) {
        UbLmsmConfig c = config(UB_EQ_SKIP);
        UbPhyConfig params;
        Bench *b;
        unsigned fec = i >> 2 & 3;

        if (fec == 3) {
            continue;
        }
        c.phy_mode = UB_PHY_MODE_1;
        c.rates = 0x81;
        c.target_rate = 7;
        c.target_tx = widths[i & 3];
        c.target_rx = widths[i & 3];
        c.bypass_probe = true;
        memset(c.fec_mode, (int)fec, sizeof(c.fec_mode));
        c.interleave = i & 16 ? 0x1ff : 0;
        ub_phy_config_init(&params);
        b = bench_new(&c, &params);
        if (i & 32) {
            /* Asymmetric: end 0 sends on fewer lanes. */
            lmsm(b, 0)->cfg.target_tx = 1;
        }
        bench_start(b);
        g_assert_true(until(b, ready, MS(500)));
        g_assert_cmpuint(lmsm(b, 0)->tx_m, ==, i & 32 ? 1 : widths[i & 3]);
        g_assert_cmpuint(lmsm(b, 0)->rx_n, ==, widths[i & 3]);
        g_assert_cmpuint(lmsm(b, 0)->fec, ==, fec);
        g_assert_cmpint(lmsm(b, 0)->interleave, ==, (i & 16) && fec);
        exchange(b, 1500);
        check_clean(b);
        bench_free(b);
    }
}

static void test_rest(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    Bench *b = trained(&c);
    uint64_t symbols;

    exchange(b, 100);
    symbols = b->end[0].symbols;
    g_assert_false(until(b, NULL, MS(50)));
    g_assert_cmpuint(b->end[0].symbols, ==, symbols);
    g_assert_cmpint(ub_phy_poll(b->end[0].phy, b->now), ==, INT64_MAX);
    g_assert_cmpuint(ub_phy_tx(b->end[0].phy, b->now, 100), ==, 0);
    g_assert_cmpuint(b->end[0].symbols, ==, symbols);
    exchange(b, 7);
    check_clean(b);
    bench_free(b);
}

static void test_wires(void)
{
    static const uint8_t maps[3][UB_LANES] = {
        { 7, 6, 5, 4, 3, 2, 1, 0 }, { 3, 6, 0, 7, 2, 1, 5, 4 },
        { 0, 1, 2, 3, 4, 5, 6, 7 },
    };

    for (unsigned i = 0; i < 6; i++) {
        UbLmsmConfig c = config(UB_EQ_HIGHEST);
        UbPhyConfig params;
        Bench *b;

        ub_phy_config_init(&params);
        params.rest_frames = 4;
        b = bench_new(&c, &params);
        memcpy(b->end[0].map, maps[i % 3], UB_LANES);
        memcpy(b->end[1].map, maps[(i + 1) % 3], UB_LANES);
        b->end[0].invert = i & 1 ? 0xa5 : 0x00;
        b->end[1].invert = 0x3c;
        if (i > 2) {
            b->end[0].skew[2] = 9;
            b->end[1].skew[5] = 23;
        }
        bench_start(b);
        g_assert_true(until(b, ready, MS(500)));
        exchange(b, 2000);
        check_clean(b);
        bench_free(b);
    }
}

/* Wrong bits on the lanes: training and FEC cope. */
static void test_noise(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    UbPhyConfig params;
    Bench *b;

    ub_phy_config_init(&params);
    b = bench_new(&c, &params);
    b->end[0].flip_every = 2003;
    b->end[1].flip_every = 1009;
    bench_start(b);
    g_assert_true(until(b, ready, MS(1000)));
    exchange(b, 50000);
    check_clean(b);
    g_assert_cmpuint(ub_pcs_rx_stats(ub_phy_pcs_rx(b->end[0].phy))
                     ->fixed_words, >, 100);
    bench_free(b);
}

/* Bit errors at random, one in a thousand: the link still comes up, T=4. */
static void test_ber(void)
{
    for (unsigned seed = 0; seed < 6; seed++) {
        UbLmsmConfig c = config(UB_EQ_HIGHEST);
        UbPhyConfig params;
        Bench *b;

        c.seed = seed + 3;
        ub_phy_config_init(&params);
        b = bench_new(&c, &params);
        for (unsigned i = 0; i < 2; i++) {
            b->end[i].rand = g_rand_new_with_seed(seed * 2 + i);
            b->end[i].ber = 1e-3;
        }
        bench_start(b);
        g_assert_true(until(b, ready, MS(2000)));
        b->end[0].to_send += 3000;
        b->end[1].to_send += 3000;
        until(b, NULL, MS(1));
        /* What FEC cannot repair is left to the data link layer. */
        g_assert_cmpuint(b->end[0].got + b->end[0].bad, >, 2900);
        g_assert_cmpuint(b->end[0].got, >, 2500);
        g_rand_free(b->end[0].rand);
        g_rand_free(b->end[1].rand);
        bench_free(b);
    }
}

static End *primary(Bench *b)
{
    return &b->end[lmsm(b, 1)->primary];
}

static bool q_over(Bench *b)
{
    return ub_phy_lmsm(primary(b)->phy)->qdlws.status != UB_QDLWS_BUSY &&
           !ub_phy_lmsm(primary(b)->peer->phy)->qdlws.tx.step &&
           !ub_phy_lmsm(primary(b)->peer->phy)->qdlws.rx.step;
}

/* Quick width switches under traffic: not one flit is lost. */
static void test_qdlws(void)
{
    static const uint8_t steps[][2] = {
        { 4, 0 }, { 8, 0 }, { 0, 2 }, { 0, 8 }, { 1, 1 }, { 8, 2 }, { 2, 8 },
        { 4, 4 }, { 8, 8 },
    };
    UbLmsmConfig c = config(UB_EQ_SKIP);
    Bench *b;
    UbLmsm *l;

    c.qdlws = c.qdlws_tx = c.qdlws_rx = true;
    b = trained(&c);
    l = ub_phy_lmsm(primary(b)->phy);
    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        unsigned tx = steps[i][0] ? steps[i][0] : l->tx_m;
        unsigned rx = steps[i][1] ? steps[i][1] : l->rx_n;

        b->end[0].to_send += 3000;
        b->end[1].to_send += 3000;
        until(b, NULL, 2000);
        g_assert_true(ub_lmsm_qdlws(l, b->now, steps[i][0],
                                    steps[i][1]));
        g_assert_true(until(b, q_over, MS(40)));
        g_assert_cmpuint(l->qdlws.status, ==, UB_QDLWS_DONE);
        g_assert_cmpuint(l->tx_m, ==, tx);
        g_assert_cmpuint(l->rx_n, ==, rx);
        g_assert_cmpuint(ub_pcs_tx_mode(ub_phy_pcs_tx(primary(b)->phy))->width,
                         ==, tx);
        g_assert_true(until(b, all_got, MS(100)));
    }
    check_clean(b);
    g_assert_cmpuint(l->stats.retrains, ==, 1);
    bench_free(b);
}

static bool narrowed(Bench *b)
{
    return lmsm(b, 1)->rx_n == 4 && lmsm(b, 0)->tx_m == 4;
}

static bool wide(Bench *b)
{
    return ready(b) && lmsm(b, 1)->rx_n == 8 && lmsm(b, 0)->tx_m == 8;
}

/* A wire goes dead under traffic: fast lane-down, later recovery. */
static void test_lane_cut(void)
{
    for (unsigned lane = 4; lane < 8; lane++) {
        UbLmsmConfig c = config(UB_EQ_SKIP);
        Bench *b = trained(&c);
        uint64_t before;

        exchange(b, 500);
        b->end[0].cut = 1u << lane;
        b->end[0].to_send += 20000;
        g_assert_true(until(b, narrowed, MS(100)));
        g_assert_cmpuint(lmsm(b, 1)->stats.lane_downs, ==, 1);
        g_assert_cmpuint(lmsm(b, 1)->stats.retrains, ==, 1);
        g_assert_true(until(b, all_got, MS(100)));
        before = b->end[1].bad;
        g_assert_cmpuint(before, >, 0);     /* the DLL's to repair */
        exchange(b, 500);
        g_assert_cmpuint(b->end[1].bad, ==, before);

        b->end[0].cut = 0;
        ub_lmsm_request_width(lmsm(b, 1));
        g_assert_true(until(b, wide, MS(200)));
        exchange(b, 500);
        g_assert_cmpuint(b->end[1].bad, ==, before);
        bench_free(b);
    }
}

static bool again(Bench *b)
{
    return ready(b) && lmsm(b, 0)->stats.retrains >= 2 &&
           lmsm(b, 1)->stats.retrains >= 2;
}

/* Lane 0 dies: Retrain, Discovery and a narrower, mirrored link. */
static void test_lane0_cut(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    Bench *b = trained(&c);

    b->end[0].cut = 1;
    b->end[0].to_send += 3000;
    g_assert_true(until(b, again, MS(800)));
    g_assert_cmpuint(lmsm(b, 0)->tx_m, ==, 4);
    g_assert_cmpuint(lmsm(b, 0)->tx_lane0_id, ==, 7);
    exchange(b, 500);
    bench_free(b);
}

static void test_retrain(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    Bench *b = trained(&c);

    for (unsigned i = 0; i < 2; i++) {
        lmsm(b, i)->cfg.fec_mode[8] = UB_LTB_FEC_T2;
        lmsm(b, i)->cfg.interleave = 1u << 8;
    }
    b->end[0].to_send += 2000;
    b->end[1].to_send += 2000;
    until(b, NULL, 50);
    ub_lmsm_request_retrain(lmsm(b, 0));
    g_assert_true(until(b, again, MS(100)));
    g_assert_cmpuint(ub_pcs_tx_mode(ub_phy_pcs_tx(b->end[0].phy))->fec, ==,
                     UB_FEC_T2);
    g_assert_cmpuint(ub_pcs_rx_mode(ub_phy_pcs_rx(b->end[0].phy))->codecs, ==,
                     2);
    exchange(b, 1000);
    /* EDF comes after all data: a clean Retrain loses nothing on its way. */
    check_clean(b);
    bench_free(b);
}

/* What is on the wire when this end leaves for Retrain arrived well. */
static void test_retrain_in_flight(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    Bench *b = trained(&c);

    for (unsigned i = 0; i < 2; i++) {
        b->end[i].to_send = 2000;
        g_assert_cmpuint(ub_phy_tx(b->end[i].phy, b->now, 2000), ==, 2000);
    }
    ub_lmsm_request_retrain(lmsm(b, 0));
    ub_phy_poll(b->end[0].phy, b->now);
    g_assert_cmpuint(lmsm(b, 0)->state, ==, UB_LMSM_RETR_ACTIVE);
    g_assert_true(until(b, again, MS(100)));
    g_assert_cmpuint(b->end[0].got, ==, 2000);
    /* The layer above hears of it behind the last of them, and once. */
    g_assert_cmpuint(b->end[0].got_at_leave, ==, 2000);
    g_assert_cmpuint(b->end[0].leaves, ==, lmsm(b, 0)->stats.retrains);
    exchange(b, 100);
    check_clean(b);
    bench_free(b);
}

/* What was begun is gone on with up to the place of the EDF, not filled. */
static void test_retrain_no_cut(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    Bench *b = trained(&c);
    End *e = &b->end[0];
    size_t room;

    e->to_send = 5000;
    g_assert_cmpuint(ub_phy_tx(e->phy, b->now, 7), ==, 7);
    room = ub_pcs_tx_flit_room(ub_phy_pcs_tx(e->phy));
    g_assert_cmpuint(room, >, 0);
    ub_lmsm_request_retrain(lmsm(b, 0));
    ub_phy_poll(e->phy, b->now);
    g_assert_cmpuint(lmsm(b, 0)->state, ==, UB_LMSM_RETR_ACTIVE);
    g_assert_cmpuint(e->sent, ==, 7 + room);
    g_assert_true(until(b, all_got, MS(100)));
    check_clean(b);
    bench_free(b);
}

static bool before_active(Bench *b)
{
    for (unsigned i = 0; i < 2; i++) {
        End *e = &b->end[i];

        if (lmsm(b, i)->state != UB_LMSM_LINK_ACTIVE) {
            uint64_t sent = e->sent;

            e->to_send = sent + 50;     /* while asked only: until() asks too */
            g_assert_cmpuint(ub_phy_tx(e->phy, b->now, 50), ==, 0);
            g_assert_cmpuint(e->sent, ==, sent);
            e->to_send = sent;
        }
    }
    return ready(b);
}

/* §3.4.3: no flit is taken from above before training is complete, whoever
 * asks; nor while the link retrains. */
static void test_not_yet(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    UbPhyConfig params;
    Bench *b;
    uint64_t sent;

    ub_phy_config_init(&params);
    b = bench_new(&c, &params);
    for (unsigned i = 0; i < 2; i++) {
        /* Never active: nothing to lose, but much to send. */
        b->end[i].to_send = 100;
        g_assert_cmpuint(ub_phy_tx(b->end[i].phy, b->now, 50), ==, 0);
        g_assert_cmpuint(b->end[i].sent, ==, 0);
    }
    b->end[0].to_send = b->end[1].to_send = 0;
    bench_start(b);
    g_assert_true(until(b, before_active, MS(500)));

    ub_lmsm_request_retrain(lmsm(b, 0));
    ub_phy_poll(b->end[0].phy, b->now);
    b->end[0].to_send = 100;
    sent = b->end[0].sent;
    g_assert_cmpuint(ub_phy_tx(b->end[0].phy, b->now, 50), ==, 0);
    g_assert_cmpuint(b->end[0].sent, ==, sent);
    g_assert_true(until(b, again, MS(100)));
    exchange(b, 100);
    check_clean(b);
    bench_free(b);
}

static bool strong(Bench *b)
{
    return ready(b) && lmsm(b, 0)->fec == UB_LTB_FEC_T4 &&
           lmsm(b, 1)->fec == UB_LTB_FEC_T4;
}

/* T=2 is too weak for the lanes: hi_FEC_BER leads to T=4. */
static void test_hi_ber(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    UbPhyConfig params;
    Bench *b;

    memset(c.fec_mode, UB_LTB_FEC_T2, sizeof(c.fec_mode));
    ub_phy_config_init(&params);
    params.pcs.hi_fec_ber = 30;
    b = bench_new(&c, &params);
    bench_start(b);
    g_assert_true(until(b, ready, MS(500)));
    g_assert_cmpuint(lmsm(b, 0)->fec, ==, UB_LTB_FEC_T2);
    b->end[0].flip_every = 97;
    b->end[0].to_send += 100000;
    g_assert_true(until(b, strong, MS(500)));
    g_assert_cmpuint(ub_pcs_rx_mode(ub_phy_pcs_rx(b->end[1].phy))->fec, ==,
                     UB_FEC_T4);
    bench_free(b);
}

/*
 * A wire that spoils, drops and invents whatever it likes while the link runs;
 * afterwards the link is as good as new.
 */
static void test_garbage(void)
{
    UbLmsmConfig c = config(UB_EQ_HIGHEST);
    Bench *b;

    c.qdlws = c.qdlws_tx = c.qdlws_rx = true;
    b = trained(&c);
    for (unsigned i = 0; i < 3000; i++) {
        End *e = &b->end[g_test_rand_int() & 1];
        unsigned what = g_test_rand_int() % 10;
        unsigned n = g_test_rand_int_range(1, 3000);
        const uint8_t *sym[UB_LANES];
        uint8_t noise[3000 + 64];

        for (unsigned k = 0; k < sizeof(noise); k++) {
            noise[k] = (uint8_t)g_test_rand_int();
        }
        for (unsigned k = 0; k < UB_LANES; k++) {
            sym[k] = noise + k * 8;
        }
        switch (what) {
        case 0:
            ub_phy_rx_lanes(e->phy, b->now, noise[0] | noise[1],
                            noise[2] % 4 ? lmsm(b, 0)->rate : noise[3] % 10);
            break;
        case 1:
        case 2:
            ub_phy_rx(e->phy, b->now, noise[0] | 1, sym, n);
            break;
        case 3:
            while (!g_queue_is_empty(&e->in)) {
                drop(g_queue_pop_head(&e->in));
            }
            break;
        case 4:
            e->flip_every = noise[0] & 1 ? 30 + noise[1] : 0;
            break;
        case 5:
            e->cut = noise[0] & noise[1] & noise[2];
            break;
        case 6:
            ub_phy_presence(e->phy, b->now, noise[0] | noise[1]);
            break;
        case 7:
            if (noise[0] < 10) {
                ub_phy_reset(e->phy, b->now);
            } else {
                ub_phy_request(e->phy, b->now, UB_PHY_REQ_RETRAIN);
            }
            break;
        default:
            e->to_send += 50;
        }
        until(b, NULL, g_test_rand_int_range(10, 200000));
    }
    for (unsigned i = 0; i < 2; i++) {
        End *e = &b->end[i];

        e->flip_every = 0;
        e->cut = 0;
        e->to_send = e->sent;
        while (!g_queue_is_empty(&e->in)) {
            drop(g_queue_pop_head(&e->in));
        }
        lmsm(b, i)->bad_rates = 0;
        ub_phy_presence(e->phy, b->now, 0xff);
        ub_phy_reset(e->phy, b->now);
    }
    g_assert_true(until(b, ready, MS(2000)));
    for (unsigned i = 0; i < 2; i++) {
        b->end[i].expect = b->end[!i].sent;
    }
    exchange(b, 1000);
    bench_free(b);
}

static bool rate4(Bench *b)
{
    return lmsm(b, 0)->rate == 4 && lmsm(b, 1)->rate == 4 &&
           ub_phy_active(b->end[0].phy) && ub_phy_active(b->end[1].phy);
}

static void test_speed(void)
{
    UbLmsmConfig c = config(UB_EQ_HIGHEST);
    Bench *b = trained(&c);
    UbLmsm *l = ub_phy_lmsm(primary(b)->phy);

    b->end[0].to_send += 2000;
    l->cfg.target_rate = 4;
    ub_lmsm_request_speed(l);
    g_assert_true(until(b, rate4, MS(200)));
    exchange(b, 1000);
    l->cfg.target_rate = 8;
    ub_lmsm_request_speed(l);
    g_assert_true(until(b, ready, MS(200)));
    exchange(b, 1000);
    check_clean(b);
    bench_free(b);
}

static bool end0_down(Bench *b)
{
    return !lmsm(b, 0)->link_up;
}

/* The wire disappears and comes back. */
static void test_unplug(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    Bench *b = trained(&c);

    for (unsigned i = 0; i < 2; i++) {
        ub_phy_presence(b->end[i].phy, b->now, 0);
        ub_phy_rx_lanes(b->end[i].phy, b->now, 0, 0);
        b->end[i].cut = 0xff;
    }
    g_assert_true(until(b, end0_down, MS(400)));
    until(b, NULL, MS(300));
    for (unsigned i = 0; i < 2; i++) {
        b->end[i].cut = 0;
        ub_phy_presence(b->end[i].phy, b->now, 0xff);
    }
    g_assert_true(until(b, ready, MS(500)));
    exchange(b, 300);
    bench_free(b);
}

/* Optical: one rate from first to last. */
static void test_optical(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    Bench *b;

    c.optical = true;
    c.target_rate = 4;
    b = trained(&c);
    g_assert_cmpuint(b->end[0].speeds, ==, 0);
    exchange(b, 500);
    check_clean(b);
    bench_free(b);
}

static void test_capture(void)
{
    UbLmsmConfig c = config(UB_EQ_SKIP);
    Bench *b = trained(&c);
    UbPcsLane lane;

    ub_pcs_rx_lane(ub_phy_pcs_rx(b->end[0].phy), 0, &lane);
    g_assert_cmpuint(lane.ltbs, >, 1000);
    g_assert_cmpuint(b->end[0].ltbs_seen, >=, lane.ltbs * 8);
    bench_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/ub/phy/train/full-eq", GUINT_TO_POINTER(0),
                         test_train);
    g_test_add_data_func("/ub/phy/train/highest-eq",
                         GUINT_TO_POINTER(1), test_train);
    g_test_add_data_func("/ub/phy/train/skip-eq", GUINT_TO_POINTER(2),
                         test_train);
    g_test_add_func("/ub/phy/modes", test_modes);
    g_test_add_func("/ub/phy/rest", test_rest);
    g_test_add_func("/ub/phy/wires", test_wires);
    g_test_add_func("/ub/phy/noise", test_noise);
    g_test_add_func("/ub/phy/ber", test_ber);
    g_test_add_func("/ub/phy/qdlws", test_qdlws);
    g_test_add_func("/ub/phy/lane-cut", test_lane_cut);
    g_test_add_func("/ub/phy/lane0-cut", test_lane0_cut);
    g_test_add_func("/ub/phy/retrain", test_retrain);
    g_test_add_func("/ub/phy/retrain-in-flight", test_retrain_in_flight);
    g_test_add_func("/ub/phy/retrain-no-cut", test_retrain_no_cut);
    g_test_add_func("/ub/phy/not-yet", test_not_yet);
    g_test_add_func("/ub/phy/hi-fec-ber", test_hi_ber);
    g_test_add_func("/ub/phy/garbage", test_garbage);
    g_test_add_func("/ub/phy/speed", test_speed);
    g_test_add_func("/ub/phy/unplug", test_unplug);
    g_test_add_func("/ub/phy/optical", test_optical);
    g_test_add_func("/ub/phy/capture", test_capture);
    return g_test_run();
}
