/*
 * RC Link: TYPE1 requests, from TX_S to the last acknowledgement (RC Link §12.2,
 * §12.9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- TX_S ---- */

/* The entry is dropped: @code is why, an interrupt or not. */
static void tx_drop(Rclink *d, const uint8_t *e, unsigned code)
{
    d->cnt.drop_tx++;
    rcl_event(d, RCL_EV_CREDIT, 0, get_le16(e + RCL_E_QP),
              RCL_EV_DROPPED + code, get_le16(e + RCL_E_COOKIE));
}

static void tx_refuse1(Rclink *d, const uint8_t *e, unsigned code,
                       unsigned bit)
{
    rcl_intr(d, bit);
    rcl_irq1(d, code, get_le16(e + RCL_E_QP));
    tx_drop(d, e, code);
}

static void tx_refuse2(Rclink *d, const uint8_t *e, unsigned code,
                       unsigned bit)
{
    rcl_intr(d, bit);
    rcl_irq2(d, RCL_IRQ2_TX, 0);
    tx_drop(d, e, code);
}

/* The slot for an entry. */
static uint16_t slot_take(Rclink *d, RclQp *q, const uint8_t *e, bool sent)
{
    uint16_t i = rcl_slot_fill(d, q, sent);

    d->slot[i].len = get_le16(e + RCL_E_LEN);
    d->slot[i].cookie = get_le16(e + RCL_E_COOKIE);
    d->slot[i].fack = !!(e[RCL_E_FLAGS] & RCL_E_FACK);
    return i;
}

/* An entry of TYPE1; false: it has to wait. */
static bool tx_type1(Rclink *d, const uint8_t *e)
{
    uint16_t qp = get_le16(e + RCL_E_QP), len = get_le16(e + RCL_E_LEN);
    RclQp *q;

    if (qp >= d->cfg.qps) {
        rcl_guest_error(d, "TX_S", "QP out of range", qp);
        tx_drop(d, e, RCL_DROP_ENTRY);
        return true;
    }
    q = &d->qp[qp];
    if (len > d->cfg.payload) {
        tx_refuse1(d, e, RCL_IRQ1_OVERSIZE, RCL_INTR_TX1_OVERSIZE);
        return true;
    }
    if (!q->en) {
        d->cnt.drop_disabled++;
        tx_refuse1(d, e, RCL_IRQ1_TX_DISABLED, RCL_INTR_TX_DISABLED);
        return true;
    }
    if (q->fatal) {
        tx_drop(d, e, RCL_DROP_FATAL);
        return true;
    }
    if (!d->free1) {
        if (d->port.overrun) {
            tx_refuse1(d, e, RCL_IRQ1_CREDIT, RCL_INTR_TX1_CREDIT);
        }
        return d->port.overrun;
    }
    if (!rcl_dma_read(d, get_le64(e), slot_payload(d, d->free_slot), len)) {
        tx_drop(d, e, RCL_DROP_DMA);
        return true;
    }
    slot_take(d, q, e, false);
    return true;
}

static bool tx_type2(Rclink *d, const uint8_t *e)
{
    uint16_t len = get_le16(e + RCL_E_LEN);
    unsigned at;

    if (len > d->cfg.payload) {
        tx_refuse2(d, e, RCL_IRQ1_OVERSIZE, RCL_INTR_TX2_OVERSIZE);
        return true;
    }
    if (d->used2 == d->cfg.ost2) {
        if (d->port.overrun) {
            tx_refuse2(d, e, RCL_IRQ1_CREDIT, RCL_INTR_TX2_CREDIT);
        }
        return d->port.overrun;
    }
    at = (d->first2 + d->used2) % d->cfg.ost2;
    if (!rcl_dma_read(d, get_le64(e), d->payload2 + at * d->payload_step,
                      len)) {
        tx_drop(d, e, RCL_DROP_DMA);
        return true;
    }
    d->slot2[at] = (RclSlot2) {
        .len = len, .cookie = get_le16(e + RCL_E_COOKIE),
        .group = e[RCL_E_FLAGS] >> RCL_E_GROUP_SHIFT,
    };
    d->used2++;
    return true;
}

bool rcl_tx_fetch(Rclink *d, unsigned enough)
{
    RclRing *r = &d->ring[RCL_RING_TX];
    uint16_t tail = r->tail;
    const uint8_t *e;

    if (!(d->reg.rdma_en & 1)) {
        return false;
    }
    while (d->queued + d->used2 < enough &&
           (e = rcl_ring_peek(d, r)) != NULL) {
        unsigned type = e[RCL_E_FLAGS] & RCL_E_TYPE;

        if ((type != RCL_ETYPE1 && type != RCL_ETYPE2) ||
            get_le16(e + RCL_E_LEN) < RCL_PAYLOAD_MIN) {
            rcl_guest_error(d, "TX_S", "type or length of an entry",
                            get_le64(e + RCL_E_LEN));
            tx_drop(d, e, RCL_DROP_ENTRY);
        } else if (!(type == RCL_ETYPE1 ? tx_type1(d, e) : tx_type2(d, e))) {
            break;
        }
        rcl_ring_take(r);
    }
    return r->tail != tail;
}

/* ---- the retry timer ---- */

static void timer_start(Rclink *d, RclQp *q)
{
    core_timer_set(&d->timers, &q->timer,
                   d->port.retry_ns ? d->now + d->port.retry_ns : CORE_NEVER);
}

static bool timer_runs(const RclQp *q)
{
    return q->timer.place && q->timer.at != CORE_NEVER;
}

static uint16_t sent_unacked(const RclQp *q)
{
    return serial_add(q->max_fwd + 1, -q->una, PSN_BITS);
}

void rcl_sender_await(Rclink *d, RclQp *q)
{
    if (!d->port.retry_ns && !q->rnr_hold) {
        core_timer_cancel(&d->timers, &q->timer);
        return;
    }
    if (q->en && !q->fatal && q->slots && sent_unacked(q) && !timer_runs(q)) {
        timer_start(d, q);
    }
}

static void qp_fail(Rclink *d, RclQp *q)
{
    q->fatal = true;
    q->rnr_hold = false;
    d->cnt.qp_fatal++;
    core_timer_cancel(&d->timers, &q->timer);
    rcl_slots_mask(d, q);
    rcl_intr(d, RCL_INTR_RETRY);
    rcl_irq1(d, RCL_IRQ1_RETRY, q->id);
}

/* One more of the retries; whether the QP has any left. */
static bool retry_counted(Rclink *d, RclQp *q, uint8_t *counter)
{
    *counter = MIN(*counter + 1, 15);
    if (*counter < d->port.retry_max) {
        return true;
    }
    qp_fail(d, q);
    return false;
}

void rcl_sender_timer(Rclink *d, RclQp *q)
{
    if (q->rnr_hold) {
        q->rnr_hold = false;
        rcl_slots_mask(d, q);
        return;         /* the next grant starts it again */
    }
    if (q->fatal || !q->slots || !sent_unacked(q) ||
        (d->slot[q->first].state != SLOT_WAIT_ACK && d->link)) {
        return;         /* nobody could have answered */
    }
    d->cnt.timeouts++;
    rcl_slots_rewind(d, q);
    if (!retry_counted(d, q, &q->retry)) {
        return;
    }
    /* It is sent again (RC Link §12.11.7). */
    rcl_event(d, RCL_EV_RETRY_TMO, 0, q->id, 0, 0);
    /* The next grant starts it again; while the link is down there is none. */
    if (!d->link) {
        timer_start(d, q);
    }
}

/* ---- acknowledgements ---- */

/* IB's timer codes (IB 1.3 table 45), in microseconds. */
static const uint32_t rnr_us[32] = {
    655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280,
    1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440,
    81920, 122880, 163840, 245760, 327680, 491520,
};

/* The oldest @n packets need their buffers no longer. */
static void sender_done(Rclink *d, RclQp *q, uint16_t n)
{
    for (unsigned i = 0; i < n; i++) {
        rcl_slot_free_first(d, q, RCL_ETYPE1);
    }
    q->una = serial_add(q->una, n, PSN_BITS);
    if (serial_diff(q->una, serial_add(q->tx_last, 1, PSN_BITS),
                    PSN_BITS) > 0) {
        q->tx_last = serial_add(q->una, -1, PSN_BITS);
    }
}

/* Everything below the @n-th packet has arrived. */
static void sender_acked(Rclink *d, RclQp *q, uint16_t n)
{
    if (!n) {
        d->cnt.rx_ack_stale++;
        return;
    }
    d->cnt.rx_ack++;
    sender_done(d, q, n);
    q->retry = q->rnr = 0;
    if (q->rnr_hold) {
        return;         /* its time goes on */
    }
    /* It stays in the heap: the next packet would put it there again. */
    if (sent_unacked(q)) {
        timer_start(d, q);
    } else {
        core_timer_set(&d->timers, &q->timer, CORE_NEVER);
    }
}

static void sender_again(Rclink *d, RclQp *q, uint8_t syndrome)
{
    bool rnr = syndrome < RCL_SYN_RESERVED;

    d->cnt.rx_nak += !rnr;
    d->cnt.rx_rnr += rnr;
    if (!sent_unacked(q)) {
        return;         /* there is nothing that it could be about */
    }
    if (!rnr && syndrome != RCL_SYN_NAK_PSN) {
        qp_fail(d, q);
        return;
    }
    if (q->first == NO_SLOT || d->slot[q->first].state != SLOT_WAIT_ACK) {
        return;         /* on its way again already */
    }
    rcl_slots_rewind(d, q);
    if (!retry_counted(d, q, rnr ? &q->rnr : &q->retry)) {
        return;
    }
    if (rnr) {
        q->rnr_hold = true;
        rcl_slots_mask(d, q);
        core_timer_set(&d->timers, &q->timer,
                       d->now + scaled_us(d, rnr_us[syndrome & 0x1f]));
    } else {
        timer_start(d, q);
    }
}

void rcl_sender_ack(Rclink *d, RclQp *q, const RclRh *rh)
{
    bool ack = rh->len < RCL_SYN_RNR;
    uint16_t n = serial_add(rh->psn + ack, -q->una, PSN_BITS);

    if (rh->len >= RCL_SYN_RESERVED && rh->len < RCL_SYN_NAK_PSN) {
        d->cnt.drop_syndrome++;
        return;
    }
    if (n > sent_unacked(q) || n > q->slots) {
        d->cnt.drop_psn++;
        return;
    }
    if (rh->ts_en) {
        rcl_event(d, RCL_EV_ACK, ack ? 0 : RCL_EV_NAK, q->id,
                  (uint16_t)(mac_stamp(d) - rh->ts), n);
    }
    if (n || ack) {
        sender_acked(d, q, n);
    }
    if (!ack && !q->fatal) {
        sender_again(d, q, rh->len);
    }
}

/* ---- grants ---- */

/* The bytes of the frame of slot @i at @out.  A stencil pays from the third packet in a
 * row on: the second one makes it. */
static size_t frame_build(Rclink *d, const RclQp *q, RclFlow flow, uint16_t i,
                          uint8_t *out)
{
    const RclSlot *s = &d->slot[i];
    const uint8_t *payload = slot_payload(d, i);
    RclStencil *st = &d->stencil;

    if (d->stencil_qp != q->id || st->len != s->len) {
        bool again = d->stencil_next == q->id;
        RclHead h = {
            .rh = {
                .opcode = RCL_OP_SEND, .fack = s->fack, .ts_en = true,
                .ts = mac_stamp(d), .psn = s->psn,
            },
        };

        d->stencil_next = q->id;
        rcl_head_fill(d, q, flow, d->port.tc1[flow], &h);
        if (!again || !rcl_stencil_cut(&d->port.layout, &h, s->len, st)) {
            return rcl_frame_put(&d->port.layout, &h, payload, s->len, out);
        }
        d->stencil_qp = q->id;
    }
    st->rh.fack = s->fack;
    st->rh.ts = mac_stamp(d);
    st->rh.psn = s->psn;
    return rcl_stencil_put(&d->port.layout, st, payload, out);
}

/* Slot @i, which waits for its acknowledgement from now on. */
static void sender_send(Rclink *d, RclQp *q, RclFlow flow, uint16_t i)
{
    uint16_t psn = d->slot[i].psn, len = d->slot[i].len;
    size_t n = frame_build(d, q, flow, i, rcl_mac_frame(d));

    if (!sent_unacked(q) || serial_diff(psn, q->max_fwd, PSN_BITS) > 0) {
        q->max_fwd = psn;
        d->cnt.tx_type1++;
    } else {
        d->cnt.tx_type1_again++;
    }
    q->tx_last = psn;
    d->last_bank = flow;
    rcl_mac_send(d, n);
    rcl_flow_sent(d, flow, n + RCL_FCS_BYTES);
    if (d->port.layout.format == RCL_LITE) {
        /* Nobody acknowledges, nor those that another format sent before. */
        sender_done(d, q, serial_add(psn + 1, -q->una, PSN_BITS));
        core_timer_cancel(&d->timers, &q->timer);
    } else if (!timer_runs(q)) {
        timer_start(d, q);
    }
    rcl_rate_sent(d, q, len);
    rcl_nocnp_sent(d, q, len);
}

/* The state of the next entry's QP comes into the cache while this one's frame goes
 * its way. */
static void next_soon(const Rclink *d, const RclRing *r)
{
    uint16_t in = r->tail - r->cache_first;

    if (in < r->cached) {
        rcl_qp_soon(d, get_le16(r->cache + in * RCL_RING_ENTRY + RCL_E_QP));
    }
}

bool rcl_sender_through(Rclink *d)
{
    RclRing *r = &d->ring[RCL_RING_TX];
    /* Banks take turns among packets in the buffers. */
    const uint8_t *e = d->reg.rdma_en & 1 && d->free1 && !d->port.bank_rr
                       ? rcl_ring_peek(d, r) : NULL;
    uint16_t qp, len;
    RclFlow flow;
    RclQp *q;

    if (!e) {
        return false;
    }
    qp = get_le16(e + RCL_E_QP);
    len = get_le16(e + RCL_E_LEN);
    if ((e[RCL_E_FLAGS] & RCL_E_TYPE) != RCL_ETYPE1 || qp >= d->cfg.qps ||
        len < RCL_PAYLOAD_MIN || len > d->cfg.payload) {
        return false;
    }
    q = &d->qp[qp];
    flow = bank_of(d, qp);
    if (!q->en || q->fatal || q->rnr_hold || q->cc_mask ||
        !rcl_flow_open(d, flow)) {
        return false;
    }
    if (rcl_dma_read(d, get_le64(e), slot_payload(d, d->free_slot), len)) {
        sender_send(d, q, flow, slot_take(d, q, e, true));
    } else {
        tx_drop(d, e, RCL_DROP_DMA);
    }
    rcl_ring_take(r);
    next_soon(d, r);
    return true;
}

bool rcl_sender_turn(Rclink *d)
{
    unsigned banks = 0, others;
    uint16_t i;

    for (unsigned b = 0; b < d->cfg.vcs; b++) {
        if (d->bank_first[b] != NO_SLOT && rcl_flow_open(d, b)) {
            banks |= 1u << b;
        }
    }
    others = banks & ~(1u << d->last_bank);
    if (d->port.bank_rr && others) {
        banks = others;
    }
    i = d->reg.rdma_en & 1 ? rcl_slot_next(d, banks) : NO_SLOT;
    if (i == NO_SLOT) {
        return false;
    }
    rcl_slot_granted(d, i);
    sender_send(d, &d->qp[d->slot[i].qp], bank_of(d, d->slot[i].qp), i);
    return true;
}

/* ---- life ---- */

void rcl_sender_check(Rclink *d, const RclQp *q)
{
    if (bank_of(d, q->dest_qp) != bank_of(d, q->id)) {
        rcl_guest_error(d, "12.5", "the peer's QP is in another bank",
                        q->dest_qp);
    }
}

void rcl_sender_enable(Rclink *d, RclQp *q, bool en)
{
    uint16_t before = serial_add(q->tx_psn, -1, PSN_BITS);

    if (en && !q->en && !q->slots) {
        if (q->una != q->tx_psn || q->tx_last != before ||
            q->max_fwd != before) {
            rcl_guest_error(d, "12.14.1", "PSNs of a QP do not fit each other",
                            q->id);
        }
        q->una = q->tx_psn;
        q->tx_last = q->max_fwd = before;
    }
    if (en && !q->en && q->tx_epsn != q->epsn) {
        rcl_guest_error(d, "12.14.1", "REQ_CHK_SN and TX_ACK_SN of a QP differ",
                        q->id);
        q->tx_epsn = q->epsn;
    }
    if (en) {
        rcl_sender_check(d, q);
    }
    if (!en) {
        core_timer_cancel(&d->timers, &q->timer);
    }
    q->en = en;
    q->rnr_hold = false;
    if (en && sent_unacked(q)) {
        timer_start(d, q);
    }
    rcl_rate_set(d, q, q->speed);
    rcl_slots_mask(d, q);
    rcl_kick(d);
}

void rcl_sender_free(Rclink *d, RclQp *q, uint32_t credit)
{
    while (q->first != NO_SLOT) {
        rcl_slot_free_first(d, q, credit);
    }
    core_timer_cancel(&d->timers, &q->timer);
    q->una = q->tx_psn;
    q->tx_last = q->max_fwd = serial_add(q->tx_psn, -1, PSN_BITS);
    q->fatal = q->rnr_hold = q->cc_locked = false;
    rcl_kick(d);
}
