/*
 * AIMD, a user's algorithm (UB 2.0 §6.6): the window grows by a packet for each one that
 * came without a mark, and is halved by a mark, once for what was under way then.  It is
 * the pattern for others: a table of functions, and a row of cc-users.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { LAST_CE, GROWN, CUT };   /* CUT: bytes to come until a mark counts again */

static void aimd_init(UbCcState *s, const void *param, int64_t now)
{
    s->cw = ((const UbCcParam *)param)->cw_init;
    cc_bound(s, param);
}

static void aimd_cut(UbCcState *s, const UbCcParam *p)
{
    if (!s->var[CUT]) {
        s->var[CUT] = s->cw;
        s->cw /= 2;
        cc_bound(s, p);
    }
}

static void aimd_ack(UbCcState *s, const void *param, const UbCetph *c,
                     uint32_t bytes, int64_t now)
{
    bool marked = c->ce_seq != (uint32_t)s->var[LAST_CE];

    s->var[LAST_CE] = c->ce_seq;
    s->var[CUT] -= MIN(s->var[CUT], bytes);
    if (marked) {
        aimd_cut(s, param);
    } else {
        cc_grow(s, GROWN, (uint64_t)s->mtu * bytes);
        cc_bound(s, param);
    }
}

static void aimd_lost(UbCcState *s, const void *param, bool timeout, int64_t now)
{
    aimd_cut(s, param);
    if (timeout) {
        s->cw = s->var[CUT] = 0;    /* nothing is under way any more */
        cc_bound(s, param);
    }
}

const UbCc ub_cc_aimd = {
    .name = "aimd", .feedback = UB_CC_FB_LDCP,
    .cci = UB_CCI_FECN << 13 | UB_FECN_NONE,
    .init = aimd_init, .ack = aimd_ack, .lost = aimd_lost,
};
