/*
 * Fault injection on the lanes of a UB link.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <math.h>

#include "ub/inject.h"
#include "ub/lanes.h"

typedef struct Lane {
    UbLaneFault fault;
    uint64_t next_error; /* bits until the next error starts */
    unsigned burst_left; /* bits of a burst that the next symbols continue */
    unsigned held;       /* symbols in `delay` */
    uint8_t last;        /* last symbol, for slip */
    uint8_t *delay;      /* skew FIFO, oldest first, fault.skew symbols */
} Lane;

struct UbInject {
    Lane lane[UB_LANES];
    uint8_t to[UB_LANES];
    bool mapped;
    uint64_t rng;
    UbInjectStats stats;
    GByteArray *scratch;
};

/* xorshift64*: small, seedable, and good enough to place bit errors. */
static uint64_t draw(UbInject *inj)
{
    uint64_t x = inj->rng;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    inj->rng = x;
    return x * 0x2545f4914f6cdd1dull;
}

/* Bits until the next error: geometric, so that a low rate costs nothing. */
static uint64_t gap(UbInject *inj, double ber)
{
    double u, bits;

    if (ber >= 1) {
        return 0;
    }
    u = ((draw(inj) >> 11) + 0.5) * 0x1p-53;
    bits = floor(log(u) / log1p(-ber));
    return bits < 0x1p62 ? (uint64_t)bits : UINT64_MAX;
}

UbInject *ub_inject_new(void)
{
    UbInject *inj = g_new0(UbInject, 1);

    for (unsigned i = 0; i < UB_LANES; i++) {
        inj->to[i] = i;
    }
    inj->scratch = g_byte_array_new();
    ub_inject_seed(inj, 1);
    return inj;
}

void ub_inject_free(UbInject *inj)
{
    if (!inj) {
        return;
    }
    for (unsigned i = 0; i < UB_LANES; i++) {
        g_free(inj->lane[i].delay);
    }
    g_byte_array_free(inj->scratch, TRUE);
    g_free(inj);
}

void ub_inject_seed(UbInject *inj, uint64_t seed)
{
    /* xorshift must not start at 0. */
    inj->rng = seed * 0x9e3779b97f4a7c15ull | 1;
    for (unsigned i = 0; i < UB_LANES; i++) {
        Lane *l = &inj->lane[i];

        l->next_error = l->fault.ber > 0 ? gap(inj, l->fault.ber) : 0;
        l->burst_left = 0;
    }
}

bool ub_inject_lane(UbInject *inj, unsigned lane, const UbLaneFault *fault)
{
    Lane *l;

    if (lane >= UB_LANES || !(fault->ber >= 0 && fault->ber <= 1) ||
        fault->skew > UB_INJECT_SKEW_MAX || fault->slip > 7) {
        return false;
    }
    l = &inj->lane[lane];
    if (fault->skew != l->fault.skew) {
        /* A changed delay is a step in the stream: what was held is gone. */
        g_free(l->delay);
        l->delay = fault->skew ? g_malloc(fault->skew) : NULL;
        l->held = 0;
    }
    l->fault = *fault;
    l->burst_left = 0;
    l->next_error = fault->ber > 0 ? gap(inj, fault->ber) : 0;
    return true;
}

const UbLaneFault *ub_inject_get(const UbInject *inj, unsigned lane)
{
    return lane < UB_LANES ? &inj->lane[lane].fault : NULL;
}

bool ub_inject_map(UbInject *inj, const uint8_t to[UB_LANES])
{
    unsigned seen = 0;

    for (unsigned i = 0; i < UB_LANES; i++) {
        seen |= to[i] < UB_LANES ? 1u << to[i] : 0;
    }
    if (seen != (1u << UB_LANES) - 1) {
        return false;
    }
    inj->mapped = false;
    for (unsigned i = 0; i < UB_LANES; i++) {
        inj->to[i] = to[i];
        inj->mapped |= to[i] != i;
    }
    return true;
}

static bool faulty(const UbLaneFault *f)
{
    return f->ber > 0 || f->lose_amctl || f->skew || f->slip || f->invert ||
           f->cut;
}

bool ub_inject_active(const UbInject *inj)
{
    if (inj->mapped) {
        return true;
    }
    for (unsigned i = 0; i < UB_LANES; i++) {
        if (faulty(&inj->lane[i].fault)) {
            return true;
        }
    }
    return false;
}

uint8_t ub_inject_mask(const UbInject *inj, uint8_t mask)
{
    uint8_t out = 0;

    for (unsigned i = 0; i < UB_LANES; i++) {
        if ((mask & 1u << i) && !inj->lane[i].fault.cut) {
            out |= 1u << inj->to[i];
        }
    }
    return out;
}

static void flip(UbInject *inj, uint8_t *sym, uint64_t bit)
{
    sym[bit / 8] ^= 1u << bit % 8;
    inj->stats.bits_flipped++;
}

static void add_errors(UbInject *inj, Lane *l, uint8_t *sym, size_t n)
{
    const uint64_t bits = (uint64_t)n * 8;
    const unsigned burst = MAX(l->fault.burst, 1);
    uint64_t at = 0;

    for (; l->burst_left && at < bits; at++, l->burst_left--) {
        flip(inj, sym, at);
    }
    while (l->next_error < bits - at) {
        unsigned left = burst;

        at += l->next_error;
        for (; left && at < bits; at++, left--) {
            flip(inj, sym, at);
        }
        l->burst_left = left;
        l->next_error = gap(inj, l->fault.ber);
    }
    if (l->next_error != UINT64_MAX) {
        l->next_error -= bits - at;
    }
}

static void lose_amctls(UbInject *inj, Lane *l, uint8_t *sym, size_t n)
{
    unsigned lost = ub_lane_spoil_amctls(sym, n, l->fault.lose_amctl);

    l->fault.lose_amctl -= lost;
    inj->stats.amctls_lost += lost;
}

static void slip(Lane *l, uint8_t *sym, size_t n)
{
    const unsigned by = l->fault.slip;
    uint8_t last = l->last;

    for (size_t i = 0; i < n; i++) {
        uint8_t s = sym[i];

        /* Bit 0 is first on the lane: lagging moves bits up. */
        sym[i] = s << by | last >> (8 - by);
        last = s;
    }
    l->last = last;
}

static void skew(UbInject *inj, Lane *l, uint8_t *sym, size_t n)
{
    const unsigned depth = l->fault.skew;
    GByteArray *s = inj->scratch;

    while (l->held < depth) {
        l->delay[l->held++] = draw(inj) >> 56;
    }
    g_byte_array_set_size(s, 0);
    g_byte_array_append(s, l->delay, depth);
    g_byte_array_append(s, sym, n);
    memcpy(sym, s->data, n);
    memcpy(l->delay, s->data + n, depth);
}

void ub_inject_apply(UbInject *inj, uint8_t mask,
                     uint8_t *const sym[UB_LANES], size_t n,
                     const uint8_t *out[UB_LANES])
{
    for (unsigned i = 0; i < UB_LANES; i++) {
        out[i] = NULL;
    }
    for (unsigned i = 0; i < UB_LANES; i++) {
        Lane *l = &inj->lane[i];

        if (!(mask & 1u << i) || l->fault.cut) {
            continue;
        }
        if (l->fault.lose_amctl) {
            lose_amctls(inj, l, sym[i], n);
        }
        if (l->fault.invert) {
            for (size_t j = 0; j < n; j++) {
                sym[i][j] = ~sym[i][j];
            }
        }
        if (l->fault.slip) {
            slip(l, sym[i], n);
        }
        if (l->fault.skew) {
            skew(inj, l, sym[i], n);
        }
        if (l->fault.ber > 0 || l->burst_left) {
            add_errors(inj, l, sym[i], n);
        }
        out[inj->to[i]] = sym[i];
    }
}

void ub_inject_idle(UbInject *inj, uint8_t mask)
{
    for (unsigned i = 0; i < UB_LANES; i++) {
        if (mask & 1u << i) {
            inj->lane[i].held = 0;
            inj->lane[i].last = 0;
            inj->lane[i].burst_left = 0;
        }
    }
}

const UbInjectStats *ub_inject_stats(const UbInject *inj)
{
    return &inj->stats;
}
