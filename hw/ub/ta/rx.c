/*
 * Packets from the transport: whom they are for and what they are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static void drop_sec(UbTa *ta, UbSecFault fault)
{
    ta_count(ta, fault == UB_SEC_NO_ENTITY ? UB_TAC_DROP_ENTITY
                 : fault == UB_SEC_UPI || fault == UB_SEC_MANAGER
                   ? UB_TAC_DROP_UPI : UB_TAC_DROP_SEC);
    ta_rule(ta, false, "B.3", ub_sec_fault_name(fault));
}

/* What the headers say; false: the packet is nothing. */
static bool read_headers(UbTa *ta, Arrival *a, CorePacket *pkt,
                         UbTahFault *fault)
{
    const UbFlow *flow = &a->flow;
    UbSecFault sec =
        (a->opened ? ub_sec_pull_opened : ub_sec_pull)(
            ta->sec, a->rx.nlp, a->rx.mode == UB_TP_CTP, flow->mgmt, pkt,
            &a->head, &a->entity);
    uint8_t opcode;
    uint32_t hdr;

    if (sec) {
        drop_sec(ta, sec);
        return false;
    }
    if (a->head.cip && !a->opened) {
        a->opened = true;
        a->rx.nlp = a->head.form;
    }
    if (!pkt->len) {
        ta_count(ta, UB_TAC_DROP_SHORT);
        return false;
    }
    opcode = core_packet_data(pkt)[0];
    a->back.form = ta_form(ta, a->rx.mode, flow->cfg, opcode);
    if (ta->cfg.compact6 && flow->cfg == UB_LPH_CNA16 &&
        opcode == UB_TA_TAACK && pkt->len >= 8) {
        a->back.form.compact = false;   /* of a message, which has no other */
    }
    *fault = ub_tah_parse(&a->back.form, core_packet_data(pkt), pkt->len,
                          &a->tah, &hdr);
    if (*fault == UB_TAH_SHORT) {
        ta_count(ta, UB_TAC_DROP_SHORT);
        ta_rule(ta, false, "7.2", ub_tah_fault_name(*fault));
        return false;
    }
    a->data = core_packet_data(pkt) + hdr;
    a->len = pkt->len - hdr;
    ta_trace(ta, false, flow, &a->back.form, &a->tah, a->len);
    return true;
}

_Static_assert((int)UB_SEC_OP_MANAGEMENT == (int)UB_TA_MANAGEMENT,
               "CIP excepts the messages of the UBFM by their opcode");

static bool from_manager(const Arrival *a)
{
    return a->head.form == UB_SEC_SHORT && a->head.upi == UB_UPI_MANAGER;
}

/* A request, a response or a message; @keep: the packet is held. */
static Outcome dispatch(UbTa *ta, Arrival *a, CorePacket *pkt,
                        UbTahFault fault, bool *keep)
{
    const Outcome nothing = { .silent = true };
    uint8_t kind = ub_ta_op(a->tah.opcode)->kind;

    if (from_manager(a) && !a->flow.mgmt && a->tah.opcode != UB_TA_MANAGEMENT) {
        ta_count(ta, UB_TAC_DROP_UPI);  /* whose UPI is only its own */
        return nothing;
    }
    if (fault) {
        ta_rule(ta, false, "7.2", ub_tah_fault_name(fault));
        ta_count(ta, fault == UB_TAH_OPCODE || fault == UB_TAH_FORM
                     ? UB_TAC_DROP_OPCODE : UB_TAC_DROP_FIELD);
        if (kind == UB_TA_RESPONSE || kind == UB_TA_MANAGE ||
            kind == UB_TA_MAINTAIN || a->rx.mode == UB_TP_UTP || !a->rx.last) {
            return nothing;
        }
        ta_respond(ta, NULL, &a->back, &a->tah,
                   ta_outcome(UB_TAH_COMPLETER, UB_TAH_UNSUPPORTED));
        return ta_outcome(UB_TAH_COMPLETER, UB_TAH_UNSUPPORTED);
    }
    if (kind == UB_TA_RESPONSE) {
        ta_response(ta, a);
        return nothing;
    }
    if (kind == UB_TA_MANAGE) {
        ta_management(ta, a);
        return nothing;
    }
    return ta_request(ta, a, pkt, keep);
}

/* What the acknowledgement of a packet says. */
static UbTpAnswer verdict(const Arrival *a, Outcome out)
{
    bool taack = ub_ta_op(a->tah.opcode)->response == UB_TA_TAACK ||
                 !ub_ta_op(a->tah.opcode)->name;
    UbTpAnswer ack = { .status = UB_TP_ACK };

    if (a->rx.mode != UB_TP_RTP) {
        return ack;
    }
    if (out.refused) {
        return ta_answer_below(out);
    }
    if (!a->back.answers || !taack || a->back.alloc || !a->rx.last) {
        return ack;
    }
    if (out.held || out.later) {
        ack.status = UB_TP_WITHHOLD;
        return ack;
    }
    return out.silent ? ack : ta_answer_below(out);
}

static UbTpAnswer take_packet(UbTa *ta, const UbTpRx *rx, CorePacket *pkt,
                              bool opened, bool direct, bool late)
{
    Arrival a = { .rx = *rx, .flow = *rx->flow, .opened = opened,
                  .late = late };
    uint32_t front, off = pkt->off;
    Outcome out = { .silent = true };
    UbTahFault fault = UB_TAH_GOOD;
    bool keep = false;

    a.rx.flow = &a.flow;
    if (read_headers(ta, &a, pkt, &fault)) {
        ta->lower->reply(&a.rx, &a.back.dest);
        ub_sec_reply(&a.back.sec, &a.head);
        a.back.tpn = rx->tpn;
        a.back.msn = rx->msn;
        a.back.direct = direct;
        /* Only a response has SV (§7.3.3.3). */
        a.back.answers = rx->mode == UB_TP_RTP && !a.tah.alloc &&
                         ub_ta_has_answers(ta, rx->tpn);
        out = dispatch(ta, &a, pkt, fault, &keep);
    }
    if (keep) {
        /* What was opened stays so: no packet is opened twice. */
        front = a.opened && !opened ? UB_CIPH_LEN : 0;
        pkt->len = pkt->off + pkt->len - off - front;
        pkt->off = off + front;
    } else {
        core_packet_free(pkt);
    }
    return verdict(&a, out);
}

void ta_again(UbTa *ta, const Held *h, bool late)
{
    take_packet(ta, &h->rx, h->pkt, h->opened, false, late);
}

UbTpAnswer ub_ta_rx(void *opaque, const UbTpRx *rx, CorePacket *pkt)
{
    return take_packet(opaque, rx, pkt, false, true, false);
}

bool ub_ta_has_answers(const UbTa *ta, uint32_t tpn)
{
    return g_hash_table_contains(ta->answers_by, GUINT_TO_POINTER(tpn));
}

void ub_ta_set_answers(UbTa *ta, uint32_t tpn, bool on)
{
    if (on) {
        g_hash_table_add(ta->answers_by, GUINT_TO_POINTER(tpn));
    } else {
        g_hash_table_remove(ta->answers_by, GUINT_TO_POINTER(tpn));
    }
}
