/*
 * Which packets injected faults concern: by kind, opcode, PSN and queue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

/* What is known of a packet; UB_FAULT_ANY: it has none. */
typedef struct Look {
    unsigned kind, tp_opcode, ta_opcode;
    uint32_t psn, queue, target_queue;
    unsigned cfg;
    bool compact6;      /* memory operations of CFG 6 are compact */
} Look;

/* Bytes in front of the TAH by TPH.NLP; -1: what follows cannot be read. */
static int before_tah(unsigned nlp)
{
    switch (nlp) {
    case UB_TPH_TAH:
        return 0;
    case UB_TPH_UPI32:
        return UB_UPIH32_LEN + UB_EIDH256_LEN;
    case UB_TPH_UPI16:
        return UB_UPIH16_LEN + UB_EIDH40_LEN;
    default:
        return -1;
    }
}

/* What follows a CIPH, as TPH.NLP has it. */
static unsigned behind_ciph(unsigned nlp)
{
    static const uint8_t like[] = { UB_TPH_UPI32, UB_TPH_UPI16, UB_TPH_TAH };

    return nlp < G_N_ELEMENTS(like) ? like[nlp] : UB_TPH_CIP;
}

/* A compact TAH has no queue.  What cannot be read behind BTAH or ATAH has no target. */
static void look_queue(Look *l, const uint8_t *p, uint32_t len)
{
    const UbTahForm form = { 0 };
    uint32_t hdr;
    UbTah t;

    switch (ub_tah_parse(&form, p, len, &t, &hdr)) {
    case UB_TAH_GOOD:
        if (t.ext & UB_EXT_BIT(UB_EXT_MT)) {
            l->target_queue = t.tc_id;
        }
        /* fall through */
    case UB_TAH_FIELD:
        l->queue = t.rc_id;
        break;
    default:
        break;
    }
}

/* Behind a CIPH, the opcode is what the policy lets be read of it. */
static void look_tah(Look *l, unsigned nlp, const uint8_t *p, uint32_t len)
{
    bool hidden = nlp == UB_TPH_CIP;
    int skip;

    if (hidden && len > UB_CIPH_LEN) {
        nlp = behind_ciph(p[0] >> 4);
        p += UB_CIPH_LEN;
        len -= UB_CIPH_LEN;
    }
    skip = before_tah(nlp);
    if (skip >= 0 && len > (uint32_t)skip) {
        l->ta_opcode = p[skip];
        if (!hidden && !ub_tah_compact(l->cfg, l->ta_opcode, l->compact6)) {
            look_queue(l, p + skip, len - skip);
        }
    }
}

static void look_rtph(Look *l, const uint8_t *p, uint32_t len)
{
    UbRtph h;

    if (len < UB_RTPH_LEN) {
        return;
    }
    ub_rtph_get(p, &h);
    l->tp_opcode = h.opcode;
    l->kind = h.opcode == UB_TPOP_UNRELIABLE ? UB_FAULT_UTP : UB_FAULT_RTP;
    l->psn = l->kind == UB_FAULT_RTP ? h.psn : UB_FAULT_NO_PSN;
    /* What has a payload has no other header in front of it. */
    if (h.opcode < UB_TPOPS && ub_tp_ops[h.opcode].payload) {
        look_tah(l, h.nlp, p + UB_RTPH_LEN, len - UB_RTPH_LEN);
    }
}

static void look_ctph(Look *l, const uint8_t *p, uint32_t len)
{
    UbCtph h;

    if (len < UB_CTPH_LEN) {
        return;
    }
    ub_ctph_get(p, &h);
    l->kind = UB_FAULT_CTP;
    l->tp_opcode = h.opcode;
    if (h.opcode == UB_CTPOP_DATA) {
        look_tah(l, h.nlp, p + UB_CTPH_LEN, len - UB_CTPH_LEN);
    }
}

static void look_ip(Look *l, unsigned cfg, const uint8_t *p, uint32_t len)
{
    UbIpInfo info;
    uint32_t at;

    l->kind = UB_FAULT_IP;
    if (len <= UB_IPEXT_SIZE ||
        ub_ip_get(p + UB_IPEXT_SIZE, len - UB_IPEXT_SIZE, cfg, &info) ||
        !info.udp || info.dport != UB_UDP_PORT) {
        return;
    }
    at = UB_IPEXT_SIZE + info.header + UB_UDP_SIZE;
    look_rtph(l, p + at, len - at);
}

static void look_cna(Look *l, unsigned cfg, const uint8_t *p, uint32_t len)
{
    uint32_t size = cfg == UB_LPH_CNA24 ? UB_NTH24_SIZE : UB_NTH16_SIZE;
    UbNth h;

    if (len < size) {
        return;
    }
    if (cfg == UB_LPH_CNA24) {
        ub_nth24_get(p, &h);
    } else {
        ub_nth16_get(p, &h);
    }
    p += size;
    len -= size;
    if (cfg == UB_LPH_BYPASS) {
        l->kind = UB_FAULT_BYPASS;
        look_tah(l, UB_TPH_TAH, p, len);
    } else if (cfg == UB_LPH_CNA16 && h.nlp == UB_NLP_SCAN) {
        l->kind = UB_FAULT_SCAN;
    } else if (cfg == UB_LPH_CNA24 && h.nlp == UB_NLP_RTPH) {
        look_rtph(l, p, len);
    } else if (h.nlp == UB_NLP_CTPH) {
        look_ctph(l, p, len);
    }
}

static Look look_at(unsigned cfg, const uint8_t *p, uint32_t len, bool compact6)
{
    Look l = { UB_FAULT_ANY, UB_FAULT_ANY, UB_FAULT_ANY, UB_FAULT_NO_PSN,
               UB_FAULT_NO_QUEUE, UB_FAULT_NO_QUEUE, cfg, compact6 };

    if (ub_lph_is_ip(cfg)) {
        look_ip(&l, cfg, p, len);
    } else if (cfg == UB_LPH_CONTROL) {
        l.kind = UB_FAULT_CONTROL;
    } else {
        look_cna(&l, cfg, p, len);
    }
    return l;
}

/* PSNs go round. */
static bool psn_within(uint32_t psn, uint32_t first, uint32_t last)
{
    return psn != UB_FAULT_NO_PSN &&
           ((psn - first) & UB_PSN_MASK) <= ((last - first) & UB_PSN_MASK);
}

static bool fault_match(void *opaque, unsigned cfg, const uint8_t *p,
                        uint32_t len)
{
    const NodeFault *own = opaque;
    const UbFaultPlan *f = &own->plan;
    const Look l = look_at(cfg, p, len, own->compact6);

    return (f->kind == UB_FAULT_ANY || f->kind == l.kind) &&
           (f->tp_opcode == UB_FAULT_ANY || f->tp_opcode == l.tp_opcode) &&
           (f->ta_opcode == UB_FAULT_ANY || f->ta_opcode == l.ta_opcode) &&
           (f->queue == UB_FAULT_NO_QUEUE || f->queue == l.queue) &&
           (f->target_queue == UB_FAULT_NO_QUEUE ||
            f->target_queue == l.target_queue) &&
           (f->psn == UB_FAULT_NO_PSN ||
            psn_within(l.psn, f->psn, f->psn_last));
}

/* ---- Plans --------------------------------------------------------------------------- */

void ub_fault_plan_init(UbFaultPlan *plan)
{
    *plan = (UbFaultPlan){
        .kind = UB_FAULT_ANY, .tp_opcode = UB_FAULT_ANY,
        .ta_opcode = UB_FAULT_ANY, .psn = UB_FAULT_NO_PSN,
        .psn_last = UB_FAULT_NO_PSN, .queue = UB_FAULT_NO_QUEUE,
        .target_queue = UB_FAULT_NO_QUEUE,
    };
}

const char *ub_fault_plan_check(const UbFaultPlan *plan)
{
    uint64_t ppm = 0;

    for (unsigned i = CORE_FAULT_DROP; i < CORE_FAULT_NUM; i++) {
        ppm += plan->plan.ppm[i];
    }
    if (ppm > 1000000) {
        return "there are 1000000 packets in a million";
    }
    if (plan->plan.reorder_depth > CORE_FAULT_HELD) {
        return "at most 64 packets overtake one";
    }
    if ((plan->queue != UB_FAULT_NO_QUEUE && plan->queue >= UB_TA_IDS) ||
        (plan->target_queue != UB_FAULT_NO_QUEUE &&
         plan->target_queue >= UB_TA_IDS)) {
        return "a queue has 20 bits";
    }
    return (plan->psn != UB_FAULT_NO_PSN && plan->psn > UB_PSN_MASK) ||
           (plan->psn_last != UB_FAULT_NO_PSN && plan->psn_last > UB_PSN_MASK)
           ? "a PSN has 24 bits" : NULL;
}

void ub_node_set_fault(UbNode *node, bool out, const UbFaultPlan *plan)
{
    NodeFault *own = &node->fault[out];
    UbNetFault fault = { .plan = plan->plan, .match = fault_match,
                         .opaque = own };

    *own = (NodeFault){ .plan = *plan, .compact6 = node->cfg.ta.compact6 };
    if (own->plan.psn_last == UB_FAULT_NO_PSN) {
        own->plan.psn_last = own->plan.psn; /* that one alone */
    }
    ub_net_set_fault(node->net, out, &fault);
}

bool ub_node_fault(UbNode *node, bool out, UbFaultPlan *plan,
                   uint64_t done[CORE_FAULT_NUM])
{
    UbNetFault fault;

    *plan = node->fault[out].plan;
    return ub_net_fault(node->net, out, &fault, done);
}
