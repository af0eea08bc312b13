/*
 * CAQM: the sender asks the switches on the way for a larger window; they grant
 * it or not (UB 2.0 §6.6.1.3, table 6-11; the unit of Hint is ours).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static void caqm_init(UbCcState *s, const void *param, int64_t now)
{
    const UbCcParam *p = param;

    s->cw = MAX(p->cw_init, s->mtu);
}

static uint16_t caqm_sent(UbCcState *s, const void *param, uint32_t bytes,
                          int64_t now)
{
    const UbCcParam *p = param;
    uint32_t want = s->cw < p->cw_max ? MIN(p->caqm_want, UB_CCI_HINT) : 0;

    return ub_cci_caqm(false, false, want > 0, want);
}

/* Table 6-11: I adds what was granted, C takes away for each marked packet. */
static void caqm_ack(UbCcState *s, const void *param, const UbCetph *c,
                     uint32_t bytes, int64_t now)
{
    const UbCcParam *p = param;

    if (c->inc) {
        s->cw += (uint64_t)c->hint * p->caqm_unit;
    }
    s->cw -= MIN(s->cw, (uint64_t)c->c * p->caqm_cut);
    cc_bound(s, p);
}

static void caqm_lost(UbCcState *s, const void *param, bool timeout,
                      int64_t now)
{
    const UbCcParam *p = param;

    if (timeout) {
        s->cw = MAX(s->cw / 2, MAX(p->cw_min, s->unit));
    }
}

const UbCc ub_cc_caqm = {
    .name = "caqm", .feedback = UB_CC_FB_CAQM,
    .init = caqm_init, .sent = caqm_sent, .ack = caqm_ack, .lost = caqm_lost,
};
