/*
 * What a receiver sends back: TPACK, TPNAK, TPSACK, CNP, and the answers of its
 * user that a TPACK carries (UB 2.0 §6.4.2, §6.8.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- statuses and RSPST ---- */

static const struct {
    uint8_t rspst, rspinfo;
} status_code[UB_TP_STATUSES] = {
    [UB_TP_ACK] = { UB_RTPH_ACK, 0 },
    [UB_TP_DONE] = { UB_RTPH_TA, UB_RTPH_TA_GOOD },
    [UB_TP_RETRY] = { UB_RTPH_TA, UB_RTPH_TA_RETRY },
    [UB_TP_FAIL] = { UB_RTPH_TA, UB_RTPH_TA_FAIL },
    [UB_TP_RNR] = { UB_RTPH_RNR, 0 },
    [UB_TP_PAGE_FAULT] = { UB_RTPH_PAGE_FAULT, 0 },
    [UB_TP_UNSUPPORTED] = { UB_RTPH_NAK, UB_NAK_UNSUPPORTED },
    [UB_TP_ABORT] = { UB_RTPH_NAK, UB_NAK_ABORT },
};

UbTpAnswer answer_of(uint8_t rspst, uint8_t rspinfo)
{
    if (rspst == UB_RTPH_RNR || rspst == UB_RTPH_PAGE_FAULT) {
        return (UbTpAnswer) { rspst == UB_RTPH_RNR ? UB_TP_RNR
                                                   : UB_TP_PAGE_FAULT,
                              rspinfo };
    }
    for (int i = UB_TP_DONE; i < UB_TP_FLUSHED; i++) {
        if (status_code[i].rspst == rspst &&
            status_code[i].rspinfo == rspinfo) {
            return (UbTpAnswer) { i, 0 };
        }
    }
    return (UbTpAnswer) { UB_TP_ACK, 0 };
}

/* ---- sending ---- */

void chan_flow(const Chan *ch, UbFlow *flow)
{
    *flow = ch->attr.flow;
    flow->nlp = UB_NLP_RTPH;
    /* One sender's, by whichever ports the channels of a group leave (§6.5.1.1). */
    flow->steady = ch->group;
}

static bool ack_send(Chan *ch, UbRtph *h, const UbCetph *cnp,
                     const UbSaetph *s, uint16_t cci, int64_t now)
{
    UbTp *tp = ch->tp;
    bool acks = ub_tp_ops[h->opcode].ack;
    UbCcFeedback fb = acks && ch->cc ? ch->cc->algo->feedback
                                     : UB_CC_FB_NONE;
    uint32_t len = UB_RTPH_LEN;
    UbCetph cetph = { 0 };
    CorePacket *pkt;
    UbFlow flow;
    uint8_t *p;

    if (fb != UB_CC_FB_NONE) {
        h->opcode++;            /* TPACK to TPACK-CC, TPSACK to TPSACK-CC */
    }
    len += ub_tp_ops[h->opcode].cetph + (s ? ub_saetph_len(s->size) : 0);
    pkt = core_packet_alloc(tp->pool, len);
    if (!pkt) {
        tp->count.drop_room++;
        return true;            /* as if the network lost it */
    }
    h->src = ch->tpn;
    h->dst = ch->attr.dst_tpn;
    p = core_packet_data(pkt);
    ub_rtph_put(p, h);
    p += UB_RTPH_LEN;
    if (cnp) {
        ub_cetph_put_cnp(p, cnp);
    } else if (fb == UB_CC_FB_LDCP) {
        cetph = ch->cc->fb;
        ub_cetph_put_ldcp(p, &cetph);
    } else if (fb == UB_CC_FB_CAQM) {
        cetph = ch->cc->fb;
        ub_cetph_put_caqm(p, &cetph);
    }
    p += ub_tp_ops[h->opcode].cetph;
    if (s) {
        ub_saetph_put(p, s);
        if (tp->cfg.sack_lsb_first) {
            for (uint32_t i = 4; i < ub_saetph_len(s->size); i += 4) {
                uint32_t word = get_be32(p + i);

                put_le32(p + i, word);
            }
        }
    }
    chan_flow(ch, &flow);
    flow.cci = cci;
    if (tp->cfg.lower->send(tp->cfg.lower_opaque, now, &flow, pkt) ==
        UB_BUSY) {
        core_packet_free(pkt);
        chan_stall(ch);
        return false;
    }
    if (acks && ch->cc) {
        cc_take(ch, &cetph);
    }
    return true;
}

/* All before this the peer may regard as received: not what is withheld. */
uint32_t ack_covered(const Chan *ch)
{
    return ch->fifo_len ? ch->fifo[ch->fifo_head] : ch->epsn;
}

static bool ack_plain(Chan *ch, int64_t now)
{
    UbRtph h = {
        .opcode = UB_TPOP_ACK, .psn = (ack_covered(ch) - 1) & UB_PSN_MASK,
        .msn = ch->ack_msn,
    };

    if (!ack_send(ch, &h, NULL, NULL, 0, now)) {
        return false;
    }
    ch->tp->count.tx_ack++;
    ch->nak_done = false;
    return true;
}

static void sack_bit(UbSaetph *s, uint32_t i)
{
    s->map[i / 32] |= 1u << i % 32;
}

/* Bit 0 is the PSN of the TPSACK, the last in order. */
static bool ack_selective(Chan *ch, int64_t now)
{
    uint32_t base = ack_covered(ch) - 1, top, bits;
    UbSaetph s = { .max_rcv = ch->max_rcv & UB_PSN_MASK };
    UbRtph h = { .opcode = UB_TPOP_SACK, .psn = base & UB_PSN_MASK,
                 .msn = ch->ack_msn };

    top = ch->max_rcv - base + 1;
    s.size = ub_saetph_size(MIN(top, ch->attr.sack_bits));
    if ((uint32_t)UB_SACK_BITS_MIN << s.size > ch->attr.sack_bits) {
        s.size--;
    }
    bits = MIN(top, (uint32_t)UB_SACK_BITS_MIN << s.size);
    for (uint32_t i = 0; i < bits; i++) {
        uint32_t psn = base + i;
        const Result *r = ch->result && ch->tp->cfg.sack_hides
            ? &ch->result[psn & (ch->tp->cfg.results - 1)] : NULL;

        if (psn_before(psn, ch->epsn)
            ? !r || r->psn != psn || r->state == RESULT_NONE || i == 0
            /* The place of epsn is that of the last of the window. */
            : psn != ch->epsn && ch->hold &&
              ch->hold[psn & ch->hold_mask]) {
            sack_bit(&s, i);
        }
    }
    if (!ack_send(ch, &h, NULL, &s, 0, now)) {
        return false;
    }
    ch->tp->count.tx_sack++;
    ch->sack_count = 0;
    ch->sack_due = false;
    return true;
}

static bool ack_result(Chan *ch, const Result *r, int64_t now)
{
    bool timer = r->status == UB_TP_RNR || r->status == UB_TP_PAGE_FAULT;
    UbRtph h = {
        .opcode = UB_TPOP_ACK, .psn = r->psn & UB_PSN_MASK, .msn = r->msn,
        .rspst = status_code[r->status].rspst,
        .rspinfo = timer ? r->timer : status_code[r->status].rspinfo,
    };

    if (!ack_send(ch, &h, NULL, NULL, 0, now)) {
        return false;
    }
    ch->tp->count.tx_ack++;
    ch->tp->count.results++;
    ch->nak_done = false;
    return true;
}

/* ---- answers of the user ---- */

static Result *result_at(const Chan *ch, uint32_t psn)
{
    return &ch->result[psn & (ch->tp->cfg.results - 1)];
}

bool result_full(const Chan *ch)
{
    return ch->fifo_len == ch->tp->cfg.results ||
           (ch->fifo_len &&
            ch->epsn - ch->fifo[ch->fifo_head] >= ch->tp->cfg.results);
}

void result_put(Chan *ch, uint32_t psn, uint32_t msn, UbTpAnswer answer)
{
    uint32_t n = ch->tp->cfg.results;

    if (!ch->result) {
        ch->result = g_new0(Result, n);
        ch->fifo = g_new(uint32_t, n);
    }
    *result_at(ch, psn) = (Result) {
        .psn = psn, .msn = msn,
        .state = answer.status == UB_TP_WITHHOLD ? RESULT_WAIT : RESULT_READY,
        .status = answer.status, .timer = answer.timer,
    };
    ch->fifo[(ch->fifo_head + ch->fifo_len++) & (n - 1)] = psn;
}

void result_forget(Chan *ch, uint32_t psn)
{
    if (ch->result) {
        result_at(ch, psn)->state = RESULT_NONE;
    }
}

/* Each of them has a TPACK of its own, in the order of the operations. */
static bool result_flush(Chan *ch, int64_t now)
{
    uint32_t told = 0;      /* the first that they do not cover */
    bool any = false;

    while (ch->fifo_len) {
        Result *r = result_at(ch, ch->fifo[ch->fifo_head]);

        if (r->state != RESULT_READY) {
            break;
        }
        if (!ack_result(ch, r, now)) {
            return false;       /* what is owed besides waits with it */
        }
        ch->fifo_head = (ch->fifo_head + 1) & (ch->tp->cfg.results - 1);
        ch->fifo_len--;
        told = r->psn + 1;
        any = true;
    }
    if (any && told == ack_covered(ch)) {
        ch->owed = 0;           /* that covers all there is */
        ch->ack_now = false;
    } else if (any) {
        ch->owed = MAX(ch->owed, 1);
        ch->ack_now = true;
    }
    return true;
}

bool ub_tp_answer(UbTp *tp, uint32_t tpn, uint32_t msn, UbTpAnswer answer,
                  int64_t now)
{
    Chan *ch = chan_get(tp, tpn);

    if (!ch || answer.status == UB_TP_WITHHOLD ||
        answer.status >= UB_TP_FLUSHED) {
        tp->count.drop_answer++;
        return false;
    }
    for (uint32_t i = 0; i < ch->fifo_len; i++) {
        Result *r = result_at(ch, ch->fifo[(ch->fifo_head + i) &
                                           (tp->cfg.results - 1)]);

        if (r->msn == msn && r->state == RESULT_WAIT) {
            r->state = RESULT_READY;
            r->status = answer.status;
            r->timer = MIN(answer.timer, UB_RNR_TIMER_MAX);
            chan_work(ch);
            return true;
        }
    }
    tp->count.drop_answer++;
    return false;
}

bool ack_again(Chan *ch, uint32_t psn, int64_t now)
{
    const Result *r = ch->result ? result_at(ch, psn) : NULL;

    if (!r || r->psn != psn || r->state != RESULT_READY ||
        (ch->fifo_len && !psn_before(psn, ch->fifo[ch->fifo_head]))) {
        return false;
    }
    if (!ack_result(ch, r, now)) {
        ch->tp->count.drop_busy++;      /* who asked will ask again */
    }
    return true;
}

/* ---- what is owed ---- */

static bool ack_state(Chan *ch, int64_t now)
{
    bool gaps = ch->attr.selective && ch->held;

    if (!(gaps ? ack_selective(ch, now) : ack_plain(ch, now))) {
        return false;
    }
    ch->owed = 0;
    ch->ack_now = false;
    ch->ack_at = CORE_NEVER;
    return true;
}

bool ack_flush(Chan *ch, int64_t now)
{
    UbRtph nak = {
        .opcode = UB_TPOP_ACK, .psn = ch->epsn & UB_PSN_MASK,
        .rspst = UB_RTPH_NAK, .rspinfo = UB_NAK_PSN,
    };

    if (!result_flush(ch, now)) {
        return false;
    }
    if (ch->owed && ch->ack_now && !ack_state(ch, now)) {
        return false;
    }
    if (ch->sack_due && !ack_selective(ch, now)) {
        return false;
    }
    if (ch->nak_due) {
        nak.psn = ack_covered(ch) & UB_PSN_MASK;
        if (!ack_send(ch, &nak, NULL, NULL, 0, now)) {
            return false;
        }
        ch->tp->count.tx_nak++;
        ch->nak_due = false;
        ch->nak_done = true;
    }
    return true;
}

void ack_owe(Chan *ch, bool at_once, int64_t now)
{
    UbTp *tp = ch->tp;

    ch->owed++;
    if (at_once || ch->owed >= ch->attr.ack_every) {
        ch->ack_now = true;
        if (ch->on != ON_STALLED) {
            ack_flush(ch, now);
        }
        return;
    }
    if (!tp->cfg.ack_delay_us) {
        if (ch->on == ON_NONE) {
            chan_work(ch);      /* the end of the turn */
        }
    } else if (ch->owed == 1) {
        ch->ack_at = now + tp_clock(tp, UB_TPC_ACK, tp->cfg.ack_delay_us);
    }
}

void ack_sack(Chan *ch, bool at_once, int64_t now)
{
    if (++ch->sack_count < ch->attr.sack_every) {
        return;
    }
    ch->sack_due = true;
    if (ch->on == ON_STALLED) {
        return;
    }
    if (at_once) {
        ack_flush(ch, now);
    } else {
        chan_work(ch);
    }
}

void ack_nak(Chan *ch, int64_t now)
{
    if (ch->nak_done || ch->nak_due) {
        return;
    }
    ch->nak_due = true;
    if (ch->on != ON_STALLED) {
        ack_flush(ch, now);
    }
}

/* ---- others ---- */

void ack_cnp(Chan *ch, uint8_t ecn, uint16_t cci, int64_t now)
{
    UbRtph h = { .opcode = UB_TPOP_CNP };
    UbCetph c = { .ecn = ecn, .loc = cci & UB_CCI_LOC };

    /* The Timestamp goes back in the CNP's own CCI. */
    if (ub_cci_mode(cci) == UB_CCI_FECN_RTT) {
        cci = ub_cci_fecn_rtt(false, ub_cci_timestamp(cci), UB_FECN_OFF);
    } else {
        cci = 0;
    }
    if (ch->on != ON_STALLED && ack_send(ch, &h, &c, NULL, cci, now)) {
        ch->tp->count.tx_cnp++;
    } else {
        ch->tp->count.drop_busy++;
    }
}

bool ack_fake(Chan *ch, int64_t now)
{
    UbRtph h = {
        .opcode = UB_TPOP_DATA, .last = true, .fake = true, .ack_req = true,
        .psn = ch->una & UB_PSN_MASK, .msn = ch->tx_msn,
    };

    if (ch->on == ON_STALLED || !ack_send(ch, &h, NULL, NULL, 0, now)) {
        return false;
    }
    ch->tp->count.tx_fake++;
    return true;
}
