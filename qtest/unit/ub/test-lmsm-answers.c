/*
 * Known answers of the link management state machine: what two of them do,
 * call by call and nanosecond by nanosecond, with all kinds of settings, wires
 * and requests.  Ends of different builds meet on a wire: what one says and
 * when must not change unnoticed.
 *
 * Other tests (table, guard, rules, eq) say that each step is the document's;
 * this one that nothing moves.  UB 2.0 §3.4.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/bytes.h"
#include "core/crc32.h"
#include "lmsm-sim.h"

#define MS 1000000ll
#define STEPS 24

static uint32_t answer;

static void note(uint64_t v)
{
    uint8_t le[8];

    put_le64(le, v);
    answer = core_crc32(answer, le, sizeof(le));
}

/* Which port calls what, and when. */
static SimPort *called(void *o, unsigned what)
{
    SimPort *p = o;

    note((uint64_t)(p - p->sim->port) << 8 | what);
    note(p->sim->now);
    return p;
}

static void ltbs(const uint8_t (*ltb)[UB_LMB_SYMBOLS], unsigned lanes)
{
    answer = core_crc32(answer, ltb, lanes * UB_LMB_SYMBOLS);
}

static void tx_train(void *o, unsigned lanes, const uint8_t *phys,
                     unsigned rate, bool exit)
{
    called(o, 1);
    note(lanes | rate << 8 | exit << 16);
    answer = core_crc32(answer, phys, UB_LMSM_LANES);
    sim_ops.tx_train(o, lanes, phys, rate, exit);
}

static void tx_ltbs(void *o, const uint8_t (*ltb)[UB_LMB_SYMBOLS], unsigned n)
{
    SimPort *p = called(o, 2);

    note(n);
    ltbs(ltb, p->lanes);
    sim_ops.tx_ltbs(o, ltb, n);
}

static void tx_sdf(void *o, unsigned width, unsigned fec, bool interleave)
{
    called(o, 3);
    note(width | fec << 8 | interleave << 16);
    sim_ops.tx_sdf(o, width, fec, interleave);
}

static void tx_nulls(void *o, unsigned n)
{
    called(o, 4);
    note(n);
    sim_ops.tx_nulls(o, n);
}

static void tx_idle(void *o, bool eei)
{
    called(o, 5);
    note(eei);
    sim_ops.tx_idle(o, eei);
}

static void tx_width(void *o, unsigned width)
{
    called(o, 6);
    note(width);
    sim_ops.tx_width(o, width);
}

static void tx_wake(void *o, unsigned lanes,
                    const uint8_t (*ltb)[UB_LMB_SYMBOLS])
{
    called(o, 7);
    note(lanes);
    ltbs(ltb, lanes);
    sim_ops.tx_wake(o, lanes, ltb);
}

static void tx_wake_fill(void *o)
{
    called(o, 8);
    sim_ops.tx_wake_fill(o);
}

static void tx_unwake(void *o)
{
    called(o, 9);
    sim_ops.tx_unwake(o);
}

static void tx_period(void *o, unsigned index)
{
    called(o, 10);
    note(index);
    sim_ops.tx_period(o, index);
}

static void tx_remote_width(void *o, unsigned width)
{
    called(o, 11);
    note(width);
    sim_ops.tx_remote_width(o, width);
}

static void rx_enable(void *o, unsigned mask, unsigned rate)
{
    called(o, 12);
    note(mask | rate << 8);
    sim_ops.rx_enable(o, mask, rate);
}

static void rx_relock(void *o)
{
    called(o, 13);
}

static void rx_fec(void *o, unsigned fec, bool interleave)
{
    called(o, 14);
    note(fec | interleave << 8);
}

static void rx_map(void *o, const uint8_t *phys)
{
    called(o, 15);
    answer = core_crc32(answer, phys, UB_LMSM_LANES);
}

static void lane_manage(void *o, const UbLaneManage *lm)
{
    called(o, 16);
    note(lm->req | lm->rsp << 1 | lm->change_tlw << 2 | lm->change_rlw << 3 |
         lm->rsp_tlw << 4 | lm->rsp_rlw << 5 | lm->rx_lane_up << 6 |
         lm->tlw << 8 | lm->rlw << 16);
    sim_ops.lane_manage(o, lm);
}

static UbPhyModeGate mode_gate(void *o)
{
    return sim_ops.mode_gate(o);
}

static void status(void *o, unsigned changed)
{
    called(o, 17);
    note(changed);
    sim_ops.status(o, changed);
}

static void transition(void *o, UbLmsmTransitionId id, int64_t now)
{
    called(o, 18);
    note(id);
    sim_ops.transition(o, id, now);
}

static const UbLmsmOps noted = {
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

/* ---- A script --------------------------------------------------------------- */

static uint32_t seed;

/* 0 … n - 1. */
static unsigned draw(unsigned n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

static bool one_in(unsigned n)
{
    return draw(n) == 0;
}

static void draw_config(UbLmsmConfig *c, bool second)
{
    static const uint8_t fec_modes[] = { 0, 1, 2, 2, 15 };

    if (!second) {
        if (one_in(4)) {
            c->phy_mode = UB_PHY_MODE_1;
            c->rates = 1 | (draw(512) & 0xa9);
        } else {
            c->rates = 1 | ((draw(512) | draw(512)) & 0x114);
        }
        c->max_width = 1 << (one_in(4) ? draw(4) : 3);
        c->eq_mode = draw(4);
        c->asymmetric = !one_in(3);
        c->time_scale = one_in(4) ? 1 + draw(4) : 1;
        c->bypass_probe = one_in(3);
        c->optical = one_in(12);
        c->fixed_rate = !c->optical && one_in(12);
    }
    c->target_tx = MIN(1 << draw(4), c->max_width);
    c->target_rx = MIN(1 << draw(4), c->max_width);
    c->target_rate = one_in(3) ? draw(9) : 8;
    while ((c->fixed_rate || c->optical) &&
           !(c->rates >> c->target_rate & 1)) {
        c->target_rate--;
    }
    c->port_nego = !one_in(3);
    c->port_type = second;
    c->link_id = draw(200);
    c->auto_speed = !one_in(4);
    c->fec_support = one_in(3) ? draw(4) : 3;
    c->interleave_support = one_in(3) ? draw(16) : 15;
    for (unsigned r = 0; r < UB_DATA_RATES; r++) {
        c->fec_mode[r] = fec_modes[draw(5)];
        c->crc_mode[r] = draw(2);
        for (unsigned i = 0; i < UB_LMSM_LANES; i++) {
            c->local_preset[r][i] = draw(10);
            c->remote_preset[r][i] = draw(10);
        }
    }
    c->interleave = draw(0x200);
    c->skip_coarse = draw(0x200);
    c->precode = draw(0x10000);
    c->auto_fec = one_in(2);
    c->fec_min = one_in(3) ? draw(3) : 0;
    c->measure_ber = one_in(3);
    c->qdlws = !one_in(3);
    c->qdlws_tx = !one_in(4);
    c->qdlws_rx = !one_in(4);
    c->fast_lane_down = !one_in(3);
    c->lane_down_n = 1 + draw(5);
    c->timeout_enable = one_in(6) ? draw(0x40000) : UINT32_MAX;
    c->timeout_min = one_in(6) ? 3 * MS : 0;
}

/* A block as the peer sends, but for a symbol. */
static void inject(SimPort *p)
{
    uint8_t ltb[UB_LMB_SYMBOLS];
    unsigned lane = draw(UB_LMSM_LANES);

    memcpy(ltb, p->peer->l.ltb[lane], sizeof(ltb));
    ltb[draw(14)] ^= 1 << draw(8);
    if (!one_in(8)) {
        ub_ltb_seal(ltb);
    }
    for (unsigned n = 1 + draw(9); n; n--) {
        ub_lmsm_rx_ltb(&p->l, p->sim->now, lane, ltb);
    }
}

static void act(Sim *s)
{
    SimPort *p = &s->port[draw(2)];
    UbLmsm *l = &p->l;
    unsigned lane = draw(UB_LMSM_LANES), tlw, rlw;

    switch (draw(24)) {
    case 0:
        ub_lmsm_request_retrain(l);
        break;
    case 1:
        ub_lmsm_request_width(l);
        break;
    case 2:
        ub_lmsm_request_speed(l);
        break;
    case 3:
        ub_lmsm_request_eq(l);
        ub_lmsm_request_target(l);
        break;
    case 4:
        l->cfg.target_rate = draw(9);
        note(ub_lmsm_request_target(l));
        break;
    case 5:
        l->cfg.target_tx = MIN(1 << draw(4), l->cfg.max_width);
        l->cfg.target_rx = MIN(1 << draw(4), l->cfg.max_width);
        note(ub_lmsm_request_target(l));
        break;
    case 6:
    case 7:
    case 8:
        tlw = 1 << draw(4);
        rlw = 1 << draw(4);
        note(ub_lmsm_qdlws(l, s->now, tlw, rlw));
        break;
    case 9:
        tlw = one_in(2) ? 0 : draw(9);
        rlw = one_in(2) ? 0 : draw(9);
        note(ub_lmsm_qdlws(l, s->now, tlw, rlw));
        break;
    case 10:
        p->cut ^= 1u << lane;
        break;
    case 11:
        p->spoil = one_in(2) ? 0 : draw(256);
        p->spoil_nth = 2 + draw(30);
        break;
    case 12:
        ub_lmsm_rx_miss(l, s->now, lane, draw(6));
        break;
    case 13:
        ub_lmsm_rx_unlock(l, s->now, lane);
        break;
    case 14:
        ub_lmsm_rx_hi_ber(l, s->now);
        break;
    case 15:
        ub_lmsm_rx_framing(l, s->now);
        break;
    case 16:
        ub_lmsm_request_retry(l);
        break;
    case 17:
        p->gate = draw(3);
        break;
    case 18:
        ub_lmsm_disable(l, s->now, true);
        ub_lmsm_disable(l, s->now, one_in(4));
        break;
    case 19:
        ub_lmsm_reset(l, s->now);
        break;
    case 20:
        for (unsigned r = 0; r < UB_DATA_RATES; r++) {
            l->cfg.fec_mode[r] = draw(3);
            l->cfg.crc_mode[r] = draw(2);
        }
        ub_lmsm_request_retrain(l);
        break;
    case 21:
        p->no_lm = one_in(2);
        break;
    case 22:
        ub_lmsm_rx_remote_width(l, s->now, 1 << draw(4));
        break;
    default:
        inject(p);
    }
}

static void note_machine(const UbLmsm *l)
{
    note(l->state);
    note(l->tx_m | l->rx_n << 8 | l->rate << 16 | l->fec << 24);
    note(l->primary | l->link_up << 1 | l->link_ready << 2 |
         l->interleave << 3 | l->crc << 4 | l->eq_mode << 8);
    note(l->errors);
    note(l->link_id);
    note(l->eq_complete);
    note(l->stats.ltbs_sent);
    note(l->stats.lane_downs);
    note(l->stats.qdlws_done);
}

static uint32_t play(unsigned n)
{
    UbLmsmConfig c;
    Sim *s;

    seed = n * 2654435761u + 1;
    answer = ~0u;
    ub_lmsm_config_init(&c);
    draw_config(&c, false);
    s = sim_new(&c);
    draw_config(&s->port[1].l.cfg, true);
    for (unsigned i = 0; i < 2; i++) {
        SimPort *p = &s->port[i];

        p->l.ops = &noted;
        p->l.eq.by_cursors = one_in(4);
        p->l.eq.fine_tune = !one_in(4);
        p->l.eq.reject = one_in(4) ? 1u << draw(8) : 0;
        p->l.eq.dead = one_in(25);
        note(!ub_lmsm_config_check(&p->l.cfg));
        if (one_in(4)) {
            for (unsigned k = 0; k < UB_LMSM_LANES; k++) {
                p->map[k] = UB_LMSM_LANES - 1 - k;
            }
        }
        if (one_in(4)) {
            p->cut = 1u << draw(8);
        }
        if (one_in(4)) {
            p->spoil = draw(256);
            p->spoil_nth = 5 + draw(60);
        }
    }
    sim_start(s);
    sim_ready(s, 60 * MS);
    for (unsigned i = 0; i < STEPS; i++) {
        act(s);
        sim_until(s, NULL, one_in(4) ? 1 + draw(2000000) : 1 + draw(60000));
        note_machine(&s->port[0].l);
        note_machine(&s->port[1].l);
    }
    sim_ready(s, 30 * MS);
    note_machine(&s->port[0].l);
    note_machine(&s->port[1].l);
    sim_free(s);
    return answer;
}

static const uint32_t answers[] = {
#include "lmsm-answers.h"
};

static void test_answers(void)
{
    for (unsigned n = 0; n < G_N_ELEMENTS(answers); n++) {
        uint32_t a = play(n);

        if (g_getenv("LMSM_ANSWERS")) {
            g_print("#A 0x%08x,\n", a);
            continue;
        }
        g_test_message("script %u", n);
        g_assert_cmphex(a, ==, answers[n]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lmsm/answers", test_answers);
    return g_test_run();
}
