/*
 * RC Link: TYPE1 packets that arrive, and what is answered (RC Link §12.2, §12.3.5,
 * §12.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- sets of QPs ---- */

void rcl_set_add(RclSet *s, uint32_t n)
{
    uint64_t bit = UINT64_C(1) << (n % 64);

    s->count += !(s->word[n / 64] & bit);
    s->word[n / 64] |= bit;
}

void rcl_set_remove(RclSet *s, uint32_t n)
{
    uint64_t bit = UINT64_C(1) << (n % 64);

    s->count -= !!(s->word[n / 64] & bit);
    s->word[n / 64] &= ~bit;
}

/* The first member from @from on, going round; there is one. */
static uint32_t set_next(const RclSet *s, uint32_t from)
{
    uint32_t w = from / 64;
    uint64_t bits = s->word[w] & UINT64_MAX << (from % 64);

    while (!bits) {
        w = (w + 1) % G_N_ELEMENTS(s->word);
        bits = s->word[w];
    }
    return w * 64 + __builtin_ctzll(bits);
}

/* ---- answers ---- */

static void answer_send(Rclink *d, RclQp *q, RclHead *h)
{
    uint8_t *p = rcl_mac_frame(d);
    size_t n;

    rcl_head_fill(d, q, FLOW_ACK, d->port.tc_ack, h);
    n = rcl_frame_put(&d->port.layout, h, NULL, 0, p);
    rcl_mac_send(d, n);
    rcl_flow_sent(d, FLOW_ACK, n + RCL_FCS_BYTES);
}

static void ack_send(Rclink *d, RclQp *q)
{
    bool ts_en = q->echo_valid && (d->port.ack_time || q->echo_fack);
    RclHead h = {
        .rh = {
            .opcode = RCL_OP_ACK, .ts_en = ts_en, .ts = ts_en ? q->echo : 0,
        },
    };

    if (q->owes & OWE_RNR) {
        h.rh.len = RCL_SYN_RNR | (d->reg.rnr_code & 0x1f);
        h.rh.psn = q->epsn;
        d->cnt.tx_rnr++;
    } else if (q->owes & OWE_NAK) {
        h.rh.len = RCL_SYN_NAK_PSN;
        h.rh.psn = q->epsn;
        d->cnt.tx_nak++;
    } else {
        h.rh.len = RCL_SYN_ACK;
        h.rh.psn = serial_add(q->tx_epsn, -1, PSN_BITS);
        d->cnt.tx_ack++;
    }
    q->owes = 0;
    q->echo_valid = q->echo_fack = false;
    rcl_set_remove(&d->owe_ack, q->id);
    answer_send(d, q, &h);
}

static void cnp_send(Rclink *d, RclQp *q)
{
    RclHead h = { .rh = { .opcode = RCL_OP_CNP } };

    rcl_set_remove(&d->owe_cnp, q->id);
    d->cnt.tx_cnp++;
    answer_send(d, q, &h);
}

bool rcl_receiver_turn(Rclink *d)
{
    uint32_t n;

    if (!rcl_flow_open(d, FLOW_ACK)) {
        return false;
    }
    if (d->owe_cnp.count) {
        n = set_next(&d->owe_cnp, d->cnp_send_at);
        d->cnp_send_at = (n + 1) % RCL_QPS_MAX;
        cnp_send(d, &d->qp[n]);
    } else {
        n = set_next(&d->owe_ack, d->ack_at);
        d->ack_at = (n + 1) % RCL_QPS_MAX;
        ack_send(d, &d->qp[n]);
    }
    return true;
}

void rcl_receiver_forget(Rclink *d, RclQp *q)
{
    q->owes = 0;
    q->nak_sent = q->echo_valid = q->echo_fack = false;
    rcl_set_remove(&d->owe_ack, q->id);
    rcl_set_remove(&d->owe_cnp, q->id);
}

/* @what is owed from now on. */
static void owe(Rclink *d, RclQp *q, uint8_t what)
{
    if (q->owes & what & OWE_ACK) {
        d->cnt.ack_merged++;
    }
    q->owes |= what;
    rcl_set_add(&d->owe_ack, q->id);
}

/* ---- requests ---- */

/* What the answer to this request tells of its time (RC Link §12.3.5). */
static void echo_note(RclQp *q, const RclRh *rh)
{
    if (rh->ts_en && (rh->fack || !q->echo_fack)) {
        q->echo = rh->ts;
        q->echo_valid = true;
        q->echo_fack |= rh->fack;
    }
}

/* It was the next one, and is kept; who asked for an answer at once gets it when it
 * has gone to the client. */
static void request_taken(Rclink *d, RclQp *q, const RclView *v)
{
    q->epsn = q->tx_epsn = serial_add(q->epsn, 1, PSN_BITS);
    q->nak_sent = false;
    d->cnt.rx_type1++;
    echo_note(q, &v->rh);
    owe(d, q, OWE_ACK);
}

static void request_answer(Rclink *d, RclQp *q, const RclView *v)
{
    if (v->rh.fack && mac_ready(d) && rcl_flow_open(d, FLOW_ACK)) {
        ack_send(d, q);
    }
}

static void request_congested(Rclink *d, RclQp *q, const RclView *v)
{
    if (v->ce && d->port.ecn) {
        rcl_set_add(&d->owe_cnp, q->id);
    }
}

/* Packet in order; false: it is dropped, and comes again. */
static bool request_next(Rclink *d, RclQp *q, const RclView *v,
                         RclFlow flow, RclCredits credits)
{
    /* With credits the pin asks for a pause alone (RC Link §12.5). */
    if (rcl_flow_stopped(d, flow) && d->port.rnr_en >> flow & 1 &&
        !(d->port.cbfc && d->port.cbfc_en[flow])) {
        echo_note(q, &v->rh);
        owe(d, q, OWE_RNR);
        return false;
    }
    if (!rcl_wait_room(d, flow, v->len)) {
        d->cnt.drop_rx1++;
        return false;
    }
    request_taken(d, q, v);
    rcl_wait_deliver(d, flow, q->id, v->sa, v->data, v->len, credits);
    request_answer(d, q, v);
    return true;
}

static bool request_rx(Rclink *d, RclQp *q, const RclView *v, RclFlow flow,
                       RclCredits credits)
{
    uint16_t ahead = serial_ahead(v->rh.psn, q->epsn, PSN_BITS);
    bool kept = false;

    if (v->len > d->cfg.payload) {
        d->cnt.drop_oversize++;
        return false;
    }
    if (!ahead) {
        kept = request_next(d, q, v, flow, credits);
        if (!kept) {
            return false;
        }
    } else if (ahead < PSN_HALF) {
        d->cnt.rx_gap++;
        if (!q->nak_sent) {
            q->nak_sent = true;
            echo_note(q, &v->rh);
            owe(d, q, OWE_NAK);
        } else if (v->rh.fack) {
            /* FACK has an answer always (RC Link §12.3.5); that again the same is
             * missing would have it all sent again. */
            echo_note(q, &v->rh);
            owe(d, q, OWE_ACK);
        }
        return false;
    } else {
        d->cnt.rx_duplicate++;
        echo_note(q, &v->rh);
        owe(d, q, OWE_ACK);
    }
    request_congested(d, q, v);
    return kept;
}

/* ---- all of TYPE1 ---- */

static void cnp_rx(Rclink *d, RclQp *q)
{
    d->cnt.rx_cnp++;
    rcl_nocnp_cleared(d, q);
    if (rcl_cnp_pass(d, q->id)) {
        rcl_event(d, RCL_EV_CNP, 0, q->id, 0, 0);
    }
}

static bool qp_disabled(Rclink *d, const RclQp *q)
{
    if (!q->en) {
        d->cnt.drop_disabled++;
        rcl_intr(d, RCL_INTR_RX_DISABLED);
        rcl_irq1(d, RCL_IRQ1_RX_DISABLED, q->id);
    }
    return !q->en;
}

/* Lite: the QP is XPU_ID and the bank (RC Link §12.10); nothing is answered. */
static bool lite_rx(Rclink *d, const RclView *v, RclFlow flow,
                    RclCredits credits)
{
    unsigned shift = __builtin_ctz(d->cfg.vcs);
    uint16_t xpu = d->cfg.lite_high ? v->sa >> 30 & 0x3ff : v->sa;
    uint32_t qp = (uint32_t)xpu << shift | v->bank;

    if (qp >= d->cfg.qps) {
        d->cnt.drop_qp++;
        return false;
    }
    if (qp_disabled(d, &d->qp[qp])) {
        return false;
    }
    if (v->len > d->cfg.payload) {
        d->cnt.drop_oversize++;
        return false;
    }
    if (!rcl_wait_room(d, flow, v->len)) {
        d->cnt.drop_rx1++;
        return false;
    }
    d->cnt.rx_type1++;
    rcl_wait_deliver(d, flow, qp, v->sa, v->data, v->len, credits);
    return true;
}

/* Whether DA is that of another port. */
static bool elsewhere(const Rclink *d, const RclView *v)
{
    uint64_t mask = v->short_da ? 0xffff : MASK48;

    return (v->da ^ d->port.layout.mac) & mask;
}

/* Whether the frame was kept, with its credits. */
static bool type1_rx(Rclink *d, const RclView *v, RclFlow flow,
                     RclCredits credits)
{
    RclQp *q;

    if (elsewhere(d, v)) {
        d->cnt.drop_da++;
        return false;
    }
    if (d->port.layout.format == RCL_LITE) {
        return lite_rx(d, v, flow, credits);
    }
    if (v->rh.qp >= d->cfg.qps) {
        d->cnt.drop_qp++;
        return false;
    }
    q = &d->qp[v->rh.qp];
    if (qp_disabled(d, q)) {
        return false;
    }
    if (v->rh.pkey != q->rx_pkey) {
        d->cnt.drop_pkey++;
        return false;
    }
    switch (v->rh.opcode) {
    case RCL_OP_SEND:
        return request_rx(d, q, v, flow, credits);
    case RCL_OP_ACK:
        rcl_sender_ack(d, q, &v->rh);
        return false;
    default:
        cnp_rx(d, q);
        return false;
    }
}

void rcl_receiver_rx(Rclink *d, const RclView *v, uint32_t bytes)
{
    RclFlow flow = d->port.layout.format == RCL_LITE ? v->bank :
                   v->rh.opcode != RCL_OP_SEND ? FLOW_ACK :
                   bank_of(d, v->rh.qp);
    RclCredits credits = rcl_flow_arrived(d, flow, bytes);

    if (!type1_rx(d, v, flow, credits)) {
        rcl_credit_freed(d, credits);
    }
}

bool rcl_receiver_through(Rclink *d, const RclView *v, uint32_t bytes,
                          bool *right)
{
    RclCredits credits;
    RclFlow flow;
    RclQp *q;

    if (d->port.layout.format == RCL_LITE || v->rh.opcode != RCL_OP_SEND ||
        v->rh.qp >= d->cfg.qps || elsewhere(d, v) || !v->len ||
        v->len > d->cfg.payload || !(d->reg.rdma_en & 1)) {
        return false;
    }
    q = &d->qp[v->rh.qp];
    flow = bank_of(d, q->id);
    if (!q->en || v->rh.pkey != q->rx_pkey || v->rh.psn != q->epsn ||
        !rcl_wait_through(d, flow, v, right)) {
        return false;
    }
    if (*right) {
        credits = rcl_flow_arrived(d, flow, bytes);
        request_taken(d, q, v);
        rcl_wait_through_done(d, flow, v);
        rcl_credit_freed(d, credits);
        request_answer(d, q, v);
        request_congested(d, q, v);
    }
    return true;
}
