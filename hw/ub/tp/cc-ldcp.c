/*
 * LDCP: a window that grows as long as nothing is marked and shrinks by the
 * part of the bytes that was (UB 2.0 §6.6.1.1; the law is ours).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { LAST_CE, GROWN };

static void ldcp_init(UbCcState *s, const void *param, int64_t now)
{
    const UbCcParam *p = param;

    s->cw = MAX(p->cw_init, s->mtu);
}

static void ldcp_ack(UbCcState *s, const void *param, const UbCetph *c,
                     uint32_t bytes, int64_t now)
{
    const UbCcParam *p = param;
    uint64_t marked = (uint64_t)(uint32_t)(c->ce_seq - s->var[LAST_CE]) * 2;

    s->var[LAST_CE] = c->ce_seq;
    if (!bytes) {
        return;
    }
    if (marked) {
        /* In proportion to what of the window this speaks of. */
        marked = MIN(marked, bytes);
        s->cw -= MIN(s->cw, marked * p->ldcp_cut / 1024);
    } else {
        cc_grow(s, GROWN, (uint64_t)p->ldcp_add * bytes);
    }
    cc_bound(s, p);
}

static void ldcp_lost(UbCcState *s, const void *param, bool timeout,
                      int64_t now)
{
    if (timeout) {
        s->cw /= 2;
        cc_bound(s, param);
    }
}

const UbCc ub_cc_ldcp = {
    .name = "ldcp", .feedback = UB_CC_FB_LDCP,
    .cci = UB_CCI_FECN << 13 | UB_FECN_NONE,
    .init = ldcp_init, .ack = ldcp_ack, .lost = ldcp_lost,
};
