/*
 * Two link management state machines joined by perfect lanes, in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm-sim.h"

typedef enum {
    R_LTB, R_IDLE, R_EEI, R_EDF, R_SDF, R_WIDTH, R_REMOTE, R_NULLS, R_LM,
} RecordKind;

typedef struct SimRecord {
    RecordKind kind;
    uint8_t lane;
    uint8_t rate;
    uint32_t arg;
    uint8_t body[UB_LMB_SYMBOLS];
} SimRecord;

static void put(SimPort *p, RecordKind kind, unsigned lane, uint32_t arg,
                const void *body, size_t len)
{
    SimRecord r = {
        .kind = kind, .lane = (uint8_t)lane, .arg = arg,
        .rate = (uint8_t)p->tx_rate,
    };

    if (!p->peer || p->mute) {
        return;
    }
    if (body) {
        memcpy(r.body, body, len);
    }
    g_array_append_val(p->peer->wire, r);
}

/* Idle of the peer's RX wires after what we send on. */
static void put_idle(SimPort *p)
{
    unsigned live = 0;

    for (unsigned i = 0; i < p->lanes; i++) {
        if (!(p->cut >> p->phys[i] & 1)) {
            live |= 1u << p->map[p->phys[i]];
        }
    }
    put(p, R_IDLE, 0, ~live & 0xff, NULL, 0);
}

static void put_ltb(SimPort *p, unsigned lane, const uint8_t *ltb)
{
    uint8_t copy[UB_LMB_SYMBOLS];
    unsigned wire = p->phys[lane];

    if (p->cut >> wire & 1) {
        return;
    }
    memcpy(copy, ltb, sizeof(copy));
    if ((p->spoil >> wire & 1) && ++p->spoil_count % p->spoil_nth == 0) {
        copy[4] ^= 0x40;
    }
    put(p, R_LTB, p->map[wire], 0, copy, sizeof(copy));
}

static void end_data(SimPort *p)
{
    if (p->data) {
        p->edfs++;
        p->data = false;
        p->woken = 0;
        put(p, R_EDF, 0, 0, NULL, 0);
    }
}

static void tx_train(void *o, unsigned lanes, const uint8_t *phys,
                     unsigned rate, bool exit)
{
    SimPort *p = o;

    g_assert_true(ub_width_valid(lanes));
    end_data(p);
    p->tx_rate = rate;
    p->eeibs += exit;
    p->lanes = lanes;
    memcpy(p->phys, phys, sizeof(p->phys));
    put_idle(p);
}

static void tx_ltbs(void *o, const uint8_t (*ltb)[UB_LMB_SYMBOLS], unsigned n)
{
    SimPort *p = o;

    g_assert_false(p->data);
    g_assert_cmpuint(n % UB_LMSM_FRAME, ==, 0);
    g_assert_cmpuint(p->l.tx_lanes, ==, p->lanes);
    for (unsigned i = 0; i < p->lanes; i++) {
        g_assert_true(ub_ltb_good(ltb[i]));
        g_assert_cmpuint(ltb[i][0], ==, ltb[0][0]);
    }
    for (unsigned k = 0; k < n; k++) {
        for (unsigned i = 0; i < p->lanes; i++) {
            put_ltb(p, i, ltb[i]);
        }
    }
}

static void tx_sdf(void *o, unsigned width, unsigned fec, bool interleave)
{
    SimPort *p = o;

    g_assert_cmpuint(width, ==, p->lanes);
    p->sdfs++;
    p->data = true;
    p->width = width;
    p->last_fec = fec;
    p->last_interleave = interleave;
    put(p, R_SDF, 0, width, NULL, 0);
}

static void tx_nulls(void *o, unsigned n)
{
    SimPort *p = o;

    g_assert_true(p->data);
    put(p, R_NULLS, 0, n, NULL, 0);
}

static void tx_idle(void *o, bool eei)
{
    SimPort *p = o;

    if (eei && p->lanes) {
        p->eeis++;
        for (unsigned i = 0; i < p->lanes; i++) {
            if (!(p->cut >> p->phys[i] & 1)) {
                put(p, R_EEI, p->map[p->phys[i]], 0, NULL, 0);
            }
        }
    }
    p->data = false;
    p->lanes = 0;
    put_idle(p);
}

static void tx_width(void *o, unsigned width)
{
    SimPort *p = o;

    g_assert_true(p->data);
    for (unsigned i = width; i < p->lanes; i++) {
        put(p, R_EEI, p->map[p->phys[i]], 0, NULL, 0);
    }
    put(p, R_WIDTH, 0, width, NULL, 0);
    p->lanes = p->width = width;
    p->woken = 0;
    put_idle(p);
}

static void tx_wake(void *o, unsigned lanes,
                    const uint8_t (*ltb)[UB_LMB_SYMBOLS])
{
    SimPort *p = o;

    g_assert_true(p->data);
    g_assert_cmpuint(p->period, ==, 1);
    p->lanes = lanes;
    put_idle(p);
    memcpy(p->wake_ltb, ltb, sizeof(p->wake_ltb));
    p->woken = lanes;
}

static void tx_wake_fill(void *o)
{
    SimPort *p = o;

    g_assert_cmpuint(p->woken, >, p->width);
    for (unsigned k = 0; k < 64; k++) {
        for (unsigned i = p->width; i < p->woken; i++) {
            put_ltb(p, i, p->wake_ltb[i]);
        }
    }
}

static void tx_unwake(void *o)
{
    SimPort *p = o;

    p->lanes = p->width;
    p->woken = 0;
    put_idle(p);
}

static void tx_period(void *o, unsigned index)
{
    ((SimPort *)o)->period = index;
}

static void tx_remote_width(void *o, unsigned width)
{
    put(o, R_REMOTE, 0, width, NULL, 0);
}

static void rx_enable(void *o, unsigned mask, unsigned rate)
{
    SimPort *p = o;

    p->enabled = mask;
    p->rx_rate = rate;
}

static void rx_relock(void *o)
{
}

static void rx_fec(void *o, unsigned fec, bool interleave)
{
}

static void rx_map(void *o, const uint8_t *phys)
{
}

static void lane_manage(void *o, const UbLaneManage *lm)
{
    SimPort *p = o;

    if (!p->no_lm) {
        put(p, R_LM, 0, 0, (const uint8_t *)lm, sizeof(*lm));
    }
}

static UbPhyModeGate mode_gate(void *o)
{
    return ((SimPort *)o)->gate;
}

static void status(void *o, unsigned changed)
{
    ((SimPort *)o)->statuses |= changed;
}

static void transition(void *o, UbLmsmTransitionId id, int64_t now)
{
    SimPort *p = o;

    g_array_append_val(p->trace, id);
    if (g_test_verbose()) {
        g_test_message("%12" G_GINT64_FORMAT " port %d %s: %s -> %s (%s)",
                       now, p->sim ? (int)(p - p->sim->port) : 0,
                       ub_lmsm_transitions[id].name,
                       ub_lmsm_state_name(p->l.from),
                       ub_lmsm_state_name(p->l.state),
                       ub_lmsm_transitions[id].cause);
    }
}

const UbLmsmOps sim_ops = {
    .tx_train = tx_train,
    .tx_ltbs = tx_ltbs,
    .tx_sdf = tx_sdf,
    .tx_nulls = tx_nulls,
    .tx_idle = tx_idle,
    .tx_width = tx_width,
    .tx_wake = tx_wake,
    .tx_wake_fill = tx_wake_fill,
    .tx_unwake = tx_unwake,
    .tx_period = tx_period,
    .tx_remote_width = tx_remote_width,
    .rx_enable = rx_enable,
    .rx_relock = rx_relock,
    .rx_fec = rx_fec,
    .rx_map = rx_map,
    .lane_manage = lane_manage,
    .mode_gate = mode_gate,
    .status = status,
    .transition = transition,
};

static void deliver(SimPort *p, int64_t now)
{
    GArray *in = p->wire;
    UbLmsm *l = &p->l;

    p->wire = g_array_new(false, false, sizeof(SimRecord));
    for (unsigned i = 0; i < in->len; i++) {
        const SimRecord *r = &g_array_index(in, SimRecord, i);
        UbLaneManage lm;

        if (r->kind != R_IDLE && r->rate != p->rx_rate) {
            continue;
        }
        switch (r->kind) {
        case R_LTB:
            if (p->enabled >> r->lane & 1) {
                ub_lmsm_rx_ltb(l, now, r->lane, r->body);
            }
            break;
        case R_IDLE:
            ub_lmsm_rx_idle(l, now, r->arg);
            break;
        case R_EEI:
            ub_lmsm_rx_eei(l, now, r->lane);
            break;
        case R_EDF:
            ub_lmsm_rx_edf(l, now);
            break;
        case R_SDF:
            ub_lmsm_rx_sdf(l, now, r->arg);
            break;
        case R_WIDTH:
            ub_lmsm_rx_width(l, now, r->arg);
            break;
        case R_REMOTE:
            ub_lmsm_rx_remote_width(l, now, r->arg);
            break;
        case R_NULLS:
            ub_lmsm_rx_blocks(l, now, r->arg, true);
            break;
        case R_LM:
            memcpy(&lm, r->body, sizeof(lm));
            ub_lmsm_rx_lane_manage(l, now, &lm);
            break;
        }
    }
    g_array_unref(in);
}

Sim *sim_new(const UbLmsmConfig *cfg)
{
    Sim *s = g_new0(Sim, 1);
    UbEqModel eq;

    ub_eq_model_init(&eq);
    for (unsigned i = 0; i < 2; i++) {
        SimPort *p = &s->port[i];

        p->sim = s;
        p->peer = &s->port[!i];
        p->wire = g_array_new(false, false, sizeof(SimRecord));
        p->trace = g_array_new(false, false, sizeof(UbLmsmTransitionId));
        p->spoil_nth = 7;
        for (unsigned k = 0; k < UB_LMSM_LANES; k++) {
            p->map[k] = (uint8_t)k;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        UbLmsmConfig c = *cfg;

        c.seed += i * 77;
        ub_lmsm_init(&s->port[i].l, &c, &eq, &sim_ops, &s->port[i]);
        s->port[i].gate = UB_PHY_MODE_OWN;
    }
    return s;
}

void sim_free(Sim *s)
{
    for (unsigned i = 0; i < 2; i++) {
        g_array_unref(s->port[i].wire);
        g_array_unref(s->port[i].trace);
    }
    g_free(s);
}

void sim_start(Sim *s)
{
    for (unsigned i = 0; i < 2; i++) {
        SimPort *p = &s->port[i];
        unsigned seen = 0;

        for (unsigned k = 0; k < p->peer->l.cfg.max_width; k++) {
            seen |= 1u << k;
        }
        for (unsigned k = 0; k < UB_LMSM_LANES; k++) {
            if (p->map[k] >= p->peer->l.cfg.max_width) {
                seen &= ~(1u << k);
            }
        }
        /* Configurations may have been changed since ub_lmsm_init(). */
        ub_lmsm_reset(&p->l, s->now);
        ub_lmsm_presence(&p->l, s->now, seen & ~p->cut);
        ub_lmsm_start(&p->l);
    }
}

bool sim_until(Sim *s, bool (*done)(Sim *s), int64_t limit)
{
    limit += s->now;
    for (;;) {
        int64_t a, b;

        deliver(&s->port[0], s->now);
        deliver(&s->port[1], s->now);
        a = ub_lmsm_poll(&s->port[0].l, s->now);
        b = ub_lmsm_poll(&s->port[1].l, s->now);
        if (done && done(s)) {
            return true;
        }
        if (s->port[0].wire->len || s->port[1].wire->len) {
            s->now += 10;
        } else {
            int64_t next = MIN(a, b);

            if (next > limit) {
                s->now = limit;
                return false;
            }
            s->now = MAX(s->now + 1, next);
        }
        if (s->now >= limit) {
            return false;
        }
    }
}

static unsigned want_state;

static bool both_in(Sim *s)
{
    return s->port[0].l.state == want_state && s->port[1].l.state == want_state;
}

bool sim_run(Sim *s, unsigned state, int64_t limit)
{
    want_state = state;
    return sim_until(s, both_in, limit);
}

static bool both_ready(Sim *s)
{
    for (unsigned i = 0; i < 2; i++) {
        const UbLmsm *l = &s->port[i].l, *m = &s->port[!i].l;
        unsigned common = l->cfg.rates & m->cfg.rates &
                          ((2u << l->cfg.target_rate) - 1) &
                          ((2u << m->cfg.target_rate) - 1);
        unsigned best = common ? 31 - (unsigned)__builtin_clz(common) : 0;

        if (l->state != UB_LMSM_LINK_ACTIVE || !l->link_ready ||
            l->rate != best) {
            return false;
        }
    }
    return true;
}

bool sim_ready(Sim *s, int64_t limit)
{
    return sim_until(s, both_ready, limit);
}

unsigned sim_count(const SimPort *p, UbLmsmTransitionId id)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->trace->len; i++) {
        n += g_array_index(p->trace, UbLmsmTransitionId, i) == id;
    }
    return n;
}
