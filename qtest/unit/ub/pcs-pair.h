/*
 * A PCS transmitter and a receiver with wires between them that can be crossed,
 * inverted, shifted and hurt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UNIT_UB_PCS_PAIR_H
#define UNIT_UB_PCS_PAIR_H

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

static inline void on_flits(void *opaque, const uint8_t *flits, size_t n, bool ok)
{
    Link *l = opaque;

    g_byte_array_append(l->got, flits, n * UB_FLIT);
    for (size_t i = 0; i < n; i++) {
        uint8_t v = ok;

        g_byte_array_append(l->ok, &v, 1);
    }
}

static inline void on_ltb(void *opaque, unsigned lane, const uint8_t ltb[UB_LTB])
{
    Link *l = opaque;

    l->ltbs[lane]++;
    memcpy(l->ltb[lane], ltb, UB_LTB);
}

static inline void on_amctl(void *opaque, unsigned lane, const UbAmctl *a)
{
    Link *l = opaque;

    l->amctls[lane]++;
    l->amctl[lane] = *a;
}

static inline void on_event(void *opaque, UbPcsEvent ev, unsigned lane, uint32_t arg)
{
    Link *l = opaque;
    Event e = { ev, lane, arg, l->got->len / UB_FLIT };

    g_array_append_val(l->events, e);
    if (l->react) {
        l->react(l, ev);
    }
}

static inline Link *link_new(const UbPcsParams *p)
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

static inline void link_free(Link *l)
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
static inline void ship(Link *l)
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

static inline void make_ltbs(uint8_t ltb[UB_LANES][UB_LTB], uint8_t type)
{
    for (unsigned i = 0; i < UB_LANES; i++) {
        for (unsigned s = 0; s < UB_LTB; s++) {
            ltb[i][s] = s ? 16 * i + s : type;
        }
    }
}

/* `n` LTBs per lane, shipped. */
static inline void train(Link *l, unsigned n)
{
    uint8_t ltb[UB_LANES][UB_LTB];

    make_ltbs(ltb, 0xa0);
    while (n) {
        n -= ub_pcs_tx_ltbs(l->tx, ltb, n, &l->run);
        ship(l);
    }
}

/* Train, agree on a mode and start the data stream. */
static inline void start(Link *l, const UbPcsMode *m)
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

static inline void send(Link *l, size_t n)
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

static inline void flush(Link *l)
{
    while (!ub_pcs_tx_flush(l->tx, &l->run)) {
        ship(l);
    }
    ship(l);
}

static inline void edf(Link *l)
{
    while (!ub_pcs_tx_edf(l->tx, &l->run)) {
        ship(l);
    }
    ship(l);
}

static inline const Event *find_event(Link *l, UbPcsEvent ev)
{
    for (unsigned i = 0; i < l->events->len; i++) {
        const Event *e = &g_array_index(l->events, Event, i);

        if (e->ev == ev) {
            return e;
        }
    }
    return NULL;
}

static inline unsigned count_events(Link *l, UbPcsEvent ev)
{
    unsigned count = 0;

    for (unsigned i = 0; i < l->events->len; i++) {
        count += g_array_index(l->events, Event, i).ev == ev;
    }
    return count;
}

/* What was sent came first and in order; the rest is fill. */
static inline void check_all(Link *l)
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

static inline UbPcsMode mode_of(unsigned n)
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

#endif
