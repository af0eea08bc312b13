/*
 * A rate that CNPs cut and time restores, as DCQCN does (UB 2.0 §6.6.1.2; the
 * constants are ours).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { ALPHA, TARGET, STEPS };
enum { ALPHA_AT, RATE_AT };

/* Of ALPHA. */
enum { ONE = 1024 };

static void dcqcn_init(UbCcState *s, const void *param, int64_t now)
{
    s->var[ALPHA] = ONE;
}

static void dcqcn_next(UbCcState *s)
{
    s->tick = MIN(s->at[ALPHA_AT], s->at[RATE_AT]);
}

static void dcqcn_cnp(UbCcState *s, const void *param, const UbCetph *c,
                      int64_t now)
{
    const UbCcParam *p = param;
    uint64_t cut;

    if (!c->ecn) {
        return;
    }
    if (!s->rate) {
        s->rate = p->rate_max;
    }
    s->var[TARGET] = s->rate;
    cut = s->rate / (2 * ONE) * s->var[ALPHA] +
          s->rate % (2 * ONE) * s->var[ALPHA] / (2 * ONE);
    s->rate = MAX(s->rate - cut, p->rate_min);
    s->var[ALPHA] += (ONE - s->var[ALPHA]) * p->dcqcn_g / 1024;
    s->var[STEPS] = 0;
    s->at[ALPHA_AT] = now + s->scale_ns * p->dcqcn_alpha_us;
    s->at[RATE_AT] = now + s->scale_ns * p->dcqcn_rate_us;
    dcqcn_next(s);
}

static void dcqcn_tick(UbCcState *s, const void *param, int64_t now)
{
    const UbCcParam *p = param;

    if (!s->rate) {
        return;
    }
    if (s->at[ALPHA_AT] <= now) {
        s->var[ALPHA] -= s->var[ALPHA] * p->dcqcn_g / 1024;
        s->at[ALPHA_AT] = now + s->scale_ns * p->dcqcn_alpha_us;
    }
    if (s->at[RATE_AT] <= now) {
        if (++s->var[STEPS] > p->dcqcn_fast) {
            s->var[TARGET] += s->var[STEPS] > 2 * p->dcqcn_fast
                ? p->dcqcn_hai : p->dcqcn_ai;
        }
        s->var[TARGET] = MIN(s->var[TARGET], p->rate_max);
        s->rate = (s->rate + s->var[TARGET] + 1) / 2;
        s->at[RATE_AT] = now + s->scale_ns * p->dcqcn_rate_us;
        if (s->rate >= p->rate_max) {
            s->rate = 0;        /* as fast as it goes: no limit */
            s->var[ALPHA] = ONE;
            return;
        }
    }
    dcqcn_next(s);
}

const UbCc ub_cc_dcqcn = {
    .name = "dcqcn", .feedback = UB_CC_FB_NONE,
    .cci = UB_CCI_FECN << 13 | UB_FECN_NONE,
    .init = dcqcn_init, .cnp = dcqcn_cnp, .tick = dcqcn_tick,
};
