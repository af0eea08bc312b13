/*
 * The abstract analogue path of a lane.  UB 2.0 §3.4.3.10.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "eq_model.h"

void ub_eq_model_init(UbEqModel *m)
{
    memset(m, 0, sizeof(*m));
    for (unsigned i = 0; i < UB_LANES; i++) {
        m->best[i] = (uint8_t)(4 + i % 3);
    }
    m->first = 3;
    m->last = 7;
    m->fine_tune = true;
    m->settle_ns = 1000;
    m->adapt_ns = 10000;
}

/* A preset moves boost from the cursor to post (even) or pre (odd) taps. */
bool ub_eq_preset(UbEqSetting *s, unsigned preset, bool pam4)
{
    if (preset >= UB_EQ_PRESETS) {
        return false;
    }
    s->by_preset = 1;
    s->preset = (uint8_t)preset;
    s->post = (uint8_t)(preset / 2 * 2);
    s->pre[0] = (uint8_t)((preset + 1) / 2);
    s->pre[1] = pam4 ? (uint8_t)(preset / 4) : 0;
    s->pre[2] = pam4 ? (uint8_t)(preset / 8) : 0;
    s->cursor = (uint8_t)(UB_EQ_HS - s->post - s->pre[0] - s->pre[1] -
                          s->pre[2]);
    return true;
}

bool ub_eq_legal(const UbEqModel *m, const UbEqSetting *s)
{
    int taps = s->post + s->pre[0] + s->pre[1] + s->pre[2];

    if (s->by_preset) {
        return s->preset < UB_EQ_PRESETS && !(m->reject >> s->preset & 1);
    }
    return s->cursor + taps == UB_EQ_HS && s->cursor - taps >= UB_EQ_LS;
}

unsigned ub_eq_eye(const UbEqModel *m, unsigned lane, const UbEqSetting *s,
                   bool pam4)
{
    UbEqSetting best = { 0 };
    int d;

    ub_eq_preset(&best, m->best[lane % UB_LANES] % UB_EQ_PRESETS, pam4);
    d = abs(best.cursor - s->cursor) + abs(best.post - s->post) +
        abs(best.pre[0] - s->pre[0]) + abs(best.pre[1] - s->pre[1]) +
        abs(best.pre[2] - s->pre[2]);
    return d > 31 ? 0 : (unsigned)(255 - 8 * d);
}

bool ub_eq_candidate(const UbEqModel *m, unsigned i, UbEqSetting *s,
                     bool pam4)
{
    memset(s, 0, sizeof(*s));
    if (m->first + i > m->last || !ub_eq_preset(s, m->first + i, pam4)) {
        return false;
    }
    s->by_preset = !m->by_cursors;
    return true;
}

bool ub_eq_same(const UbEqSetting *a, const UbEqSetting *b)
{
    if (a->by_preset != b->by_preset) {
        return false;
    }
    if (a->by_preset) {
        return a->preset == b->preset;
    }
    return a->cursor == b->cursor && a->post == b->post &&
           !memcmp(a->pre, b->pre, sizeof(a->pre));
}
