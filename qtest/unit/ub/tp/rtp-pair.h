/*
 * Two transport layers with RTP channels between them, and packets made by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RTP_PAIR_H
#define RTP_PAIR_H

#include <string.h>

#include "core/bytes.h"
#include "lossy.h"

enum { TA = 11, TB = 22, US = 1000, MS = 1000000 };

typedef struct Pair {
    Lossy *l;
    LossyNode *a, *b;
    UbTpConfig cfg;
    UbTpAttr attr;
} Pair;

/* Two ends that answer every packet by itself, at PSN @psn. */
static inline Pair pair_init(uint32_t psn)
{
    Pair p;

    ub_tp_config_init(&p.cfg);
    p.l = lossy_new(&p.cfg, 2);
    ub_tp_attr_init(p.l->node[0].tp, &p.attr);
    p.attr.ask = UB_TP_ASK_ALL;
    p.attr.tx_psn = psn & UB_PSN_MASK;
    p.attr.rx_psn = 500;
    p.attr.rto_base_us = 1000;
    p.attr.rto_shift = 0;
    return p;
}

static inline void pair_open(Pair *p)
{
    for (unsigned n = 0; n < 2; n++) {
        lossy_renew(p->l, n, &p->cfg);
    }
    p->a = &p->l->node[0];
    p->b = &p->l->node[1];
    lossy_channel(p->l, 0, 1, TA, TB, &p->attr);
}

static inline const UbTpCounters *count(LossyNode *n)
{
    return ub_tp_counters(n->tp);
}

static inline UbTpInfo info(LossyNode *n)
{
    UbTpInfo i;

    g_assert_cmpint(ub_tp_query(n->tp, n->n ? TB : TA, NULL, &i), ==,
                    UB_TPR_OK);
    return i;
}

static inline void trace_is(Lossy *l, const char *want)
{
    g_assert_cmpstr(l->trace->str, ==, want);
    g_string_truncate(l->trace, 0);
}

/* A packet of the peer's, raw. */
static inline void inject(Pair *p, LossyNode *to, UbRtph h, uint32_t more)
{
    uint8_t b[512] = { 0 };
    UbFlow f = lossy_flow(!to->n, to->n, UB_LPH_CNA24);

    if (!h.src) {
        h.src = to->n ? TA : TB;
    }
    if (!h.dst) {
        h.dst = to->n ? TB : TA;
    }
    ub_rtph_put(b, &h);
    lossy_inject(p->l, to->n, &f, b, UB_RTPH_LEN + more);
}

static UbTpAnswer scripted[8];

static inline UbTpAnswer answer_scripted(LossyNode *node, const UbTpRx *rx)
{
    return scripted[rx->msn];
}

#endif
