/*
 * Two link management state machines with usual settings, and what is checked
 * of both.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UNIT_UB_LMSM_PAIR_H
#define UNIT_UB_LMSM_PAIR_H

#include <string.h>

#include "lmsm-sim.h"

#define MS(n) ((int64_t)(n) * 1000000)

static inline UbLmsmConfig mode1(void)
{
    UbLmsmConfig c;

    ub_lmsm_config_init(&c);
    c.phy_mode = UB_PHY_MODE_1;
    c.rates = 0xa9;
    c.target_rate = 7;
    return c;
}

static inline UbLmsmConfig mode2(unsigned eq_mode)
{
    UbLmsmConfig c;

    ub_lmsm_config_init(&c);
    c.eq_mode = (uint8_t)eq_mode;
    return c;
}

static inline Sim *trained(const UbLmsmConfig *c)
{
    Sim *s = sim_new(c);

    sim_start(s);
    g_assert_true(sim_ready(s, MS(200)));
    return s;
}

static inline SimPort *primary(Sim *s)
{
    return &s->port[s->port[1].l.primary];
}

static inline SimPort *secondary(Sim *s)
{
    return &s->port[!s->port[1].l.primary];
}

static inline void check_state(Sim *s, unsigned tx0, unsigned rx0, unsigned rate)
{
    g_assert_cmpuint(s->port[0].l.tx_m, ==, tx0);
    g_assert_cmpuint(s->port[0].l.rx_n, ==, rx0);
    g_assert_cmpuint(s->port[1].l.tx_m, ==, rx0);
    g_assert_cmpuint(s->port[1].l.rx_n, ==, tx0);
    for (unsigned i = 0; i < 2; i++) {
        UbLmsm *l = &s->port[i].l;

        g_assert_cmpuint(l->state, ==, UB_LMSM_LINK_ACTIVE);
        g_assert_true(l->link_up);
        g_assert_true(l->link_ready);
        g_assert_cmpuint(l->rate, ==, rate);
        g_assert_cmpint(l->symmetric_link, ==, tx0 == rx0);
    }
    g_assert_cmpint(s->port[0].l.primary, !=, s->port[1].l.primary);
}

static inline void check_eq(Sim *s, unsigned rejected);

static inline void check_eq(Sim *s, unsigned rejected)
{
    for (unsigned p = 0; p < 2; p++) {
        UbLmsm *l = &s->port[p].l;

        g_assert_cmphex(l->eq_state[8], ==,
                        UB_EQS_COMPLETE | UB_EQS_COARSE_COMPLETE |
                        UB_EQS_COARSE_OK | UB_EQS_PASSIVE_OK |
                        UB_EQS_ACTIVE_OK);
        g_assert_cmphex(l->eq_complete, ==, 0x100);
        g_assert_false(l->request_eq);
        for (unsigned i = 0; i < 8; i++) {
            unsigned best = s->port[!p].l.eq.best[i];

            /* TX lane i ends at what the far RX lane likes most. */
            if (best != rejected) {
                g_assert_cmpuint(l->tx_eq[8][i].preset, ==, best);
            } else {
                g_assert_cmpuint(l->tx_eq[8][i].preset, !=, best);
            }
        }
    }
}

#endif
