/*
 * RC Link: migration (core/image.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define TAG_PORT CORE_TAG('R', 'C', 'L', 'K')
/* 2: VCs of credits that wait; the rest of a lost frame; the link. */
enum { VERSION = 2 };

static void regs_image(Rclink *d, CoreImage *im)
{
    uint64_t *r = (uint64_t *)&d->reg;

    G_STATIC_ASSERT(sizeof(d->reg) % 8 == 0);
    for (size_t i = 0; i < sizeof(d->reg) / 8; i++) {
        core_image_int(im, &r[i]);
    }
    core_image_check(im, d->reg.nocnp <= 256 && d->reg.cc_window <= 4,
                     "rate control");
    core_image_check(im, rcl_regs_right(d), "reserved bits of a register");
}

static void ring_image(RclRing *r, CoreImage *im)
{
    core_image_int(im, &r->base);
    core_image_int(im, &r->shadow);
    core_image_int(im, &r->size);
    core_image_flag(im, &r->en);
    core_image_flag(im, &r->use_shadow);
    core_image_flag(im, &r->error);
    core_image_int(im, &r->head);
    core_image_int(im, &r->tail);
    core_image_flag(im, &r->armed);
    core_image_int(im, &r->arm);
    core_image_flag(im, &r->moved);
    r->cached = 0;
    if (core_image_check(im, r->size >= RCL_RING_LOG_MIN &&
                             r->size <= RCL_RING_LOG_MAX, "size of a ring")) {
        core_image_check(im, (uint16_t)(r->head - r->tail) <= 1u << r->size,
                         "indices of a ring");
    }
    core_image_check(im, !(r->base % 16) && !(r->shadow % 4),
                     "alignment of a ring");
}

static void md_image(RclMdRing *r, CoreImage *im)
{
    core_image_int(im, &r->base);
    core_image_int(im, &r->size);
    core_image_int(im, &r->head);
    core_image_int(im, &r->tail);
    core_image_flag(im, &r->en);
    core_image_flag(im, &r->reset);
    core_image_flag(im, &r->stopped);
    core_image_int(im, &r->tail_up);
    r->cached = 0;
    core_image_check(im, r->size <= 0xfff && !(r->base % 64) &&
                     (r->size ? r->head < r->size && r->tail < r->size
                              : !r->head && !r->tail),
                     "indices of a descriptor ring");
}

/* ---- TYPE1 ---- */

/* One packet of @q; loading: filled anew, so that the lists are right. */
static void slot_image(Rclink *d, RclQp *q, uint16_t *at, CoreImage *im)
{
    RclSlot s = { 0 };
    uint16_t i = *at;

    if (!core_image_loading(im)) {
        s = d->slot[i];
    }
    core_image_int(im, &s.state);
    core_image_int(im, &s.fack);
    core_image_flag(im, &s.sent);
    core_image_int(im, &s.len);
    core_image_int(im, &s.cookie);
    core_image_int(im, &s.age);
    if (!core_image_check(im, s.state != SLOT_EMPTY &&
                              s.state < SLOT_STATES && s.len &&
                              s.len <= d->cfg.payload && s.fack <= 1,
                          "packet of TYPE1")) {
        return;
    }
    if (core_image_loading(im)) {
        d->age = s.age;
        i = rcl_slot_fill(d, q, false);
        if (!core_image_check(im, i != NO_SLOT, "too many packets")) {
            return;
        }
        d->slot[i].state = s.state;
        d->slot[i].fack = s.fack;
        d->slot[i].sent = s.sent;
        d->slot[i].len = s.len;
        d->slot[i].cookie = s.cookie;
    }
    core_image_bytes(im, slot_payload(d, i), s.len);
    *at = d->slot[i].qp_next;
}

/* What was sent comes before what was not, and the rest fits to it: for an answer to
 * what was never sent nobody would wait. */
static bool slots_right(const Rclink *d, const RclQp *q)
{
    uint16_t window = serial_add(q->max_fwd + 1, -q->una, PSN_BITS), sent = 0;
    bool waits = false;
    uint64_t age = 0;

    for (uint16_t i = q->first; i != NO_SLOT; i = d->slot[i].qp_next) {
        const RclSlot *s = &d->slot[i];

        waits |= s->state != SLOT_WAIT_ACK;
        sent += !waits;
        if ((waits && s->state == SLOT_WAIT_ACK) ||
            (i != q->first && s->age <= age)) {
            return false;
        }
        age = s->age;
    }
    return (sent <= window && window <= q->slots) || (!q->slots && !q->en);
}

static void qp_slots_image(Rclink *d, RclQp *q, CoreImage *im)
{
    uint16_t slots = q->slots, at = q->first, end = q->tx_psn;
    bool en = q->en;

    core_image_int(im, &slots);
    if (!core_image_check(im, slots <= d->cfg.ost1, "packets of a QP")) {
        return;
    }
    if (core_image_loading(im)) {
        /* Not in arbitration before all is there. */
        q->en = false;
        q->slots = 0;
        q->first = q->last = NO_SLOT;
        q->tx_psn = slots || en ? q->una : q->tx_psn;
    }
    for (unsigned n = 0; n < slots && !core_image_error(im); n++) {
        slot_image(d, q, &at, im);
    }
    core_image_check(im, q->tx_psn == end, "PSNs of a QP");
    if (core_image_loading(im)) {
        q->en = en;
        core_image_check(im, slots_right(d, q), "order of a QP's packets");
    }
}

/* What a QP has beside its registers: its places in sets and lists of the port. */
typedef struct QpPlaces {
    bool counted, ack, cnp;
    int64_t timer;
} QpPlaces;

static void qp_registers(RclQp *q, QpPlaces *p, CoreImage *im)
{
    core_image_flag(im, &q->en);
    core_image_flag(im, &q->fatal);
    core_image_int(im, &q->dip);
    core_image_int(im, &q->dest_qp);
    core_image_int(im, &q->dmac);
    core_image_int(im, &q->sport);
    core_image_int(im, &q->tx_pkey);
    core_image_int(im, &q->rx_pkey);
    core_image_int(im, &q->tx_psn);
    core_image_int(im, &q->una);
    core_image_int(im, &q->tx_last);
    core_image_int(im, &q->max_fwd);
    core_image_int(im, &q->retry);
    core_image_int(im, &q->rnr);
    core_image_flag(im, &q->rnr_hold);
    core_image_deadline(im, &p->timer);
    core_image_flag(im, &q->cc_mask);
    core_image_flag(im, &q->cc_locked);
    core_image_int(im, &q->speed);
    core_image_int(im, &q->acc);
    core_image_int(im, &q->byte_cnt);
    core_image_flag(im, &p->counted);
    core_image_int(im, &q->epsn);
    core_image_int(im, &q->tx_epsn);
    core_image_int(im, &q->owes);
    core_image_flag(im, &q->nak_sent);
    core_image_flag(im, &q->echo_valid);
    core_image_flag(im, &q->echo_fack);
    core_image_int(im, &q->echo);
    core_image_flag(im, &p->ack);
    core_image_flag(im, &p->cnp);
    core_image_check(im, (q->tx_psn | q->una | q->tx_last | q->max_fwd |
                          q->epsn | q->tx_epsn) <= PSN_MASK &&
                         q->retry <= 15 && q->rnr <= 15 && q->owes <= 7 &&
                         q->speed < 1u << 22 && q->acc <= UINT32_MAX &&
                         q->dmac <= MASK48 && q->dest_qp < 1u << 24,
                     "registers of a QP");
    core_image_check(im, !q->rnr_hold || p->timer != CORE_NEVER,
                     "a QP that is held for ever");
    core_image_check(im, q->cc_mask || q->acc < q->speed, "rate of a QP");
    core_image_check(im, p->ack == (q->owes != 0), "answers of a QP");
}

static void qp_place(Rclink *d, RclQp *q, const QpPlaces *p)
{
    if (p->ack) {
        rcl_set_add(&d->owe_ack, q->id);
    }
    if (p->cnp) {
        rcl_set_add(&d->owe_cnp, q->id);
    }
    if (p->counted && d->reg.nocnp) {
        d->counted[d->counted_num++] = q->id;
        q->nocnp_at = d->counted_num;
    }
    if (q->cc_mask && q->speed) {
        d->masked[d->masked_num++] = q->id;
        q->mask_at = d->masked_num;
    }
    if (p->timer != CORE_NEVER) {
        core_timer_set(&d->timers, &q->timer, p->timer);
    }
    rcl_slots_mask(d, q);
}

static void qp_image(Rclink *d, RclQp *q, CoreImage *im)
{
    QpPlaces p = {
        .counted = q->nocnp_at,
        .ack = d->owe_ack.word[q->id / 64] >> q->id % 64 & 1,
        .cnp = d->owe_cnp.word[q->id / 64] >> q->id % 64 & 1,
        .timer = q->timer.place ? q->timer.at : CORE_NEVER,
    };

    qp_registers(q, &p, im);
    qp_slots_image(d, q, im);
    if (core_image_loading(im) && !core_image_error(im)) {
        qp_place(d, q, &p);
    }
}

static void type1_image(Rclink *d, CoreImage *im)
{
    uint64_t age = d->age;

    core_image_int(im, &age);
    for (unsigned i = 0; i < d->cfg.qps && !core_image_error(im); i++) {
        qp_image(d, &d->qp[i], im);
    }
    d->age = age;
    /* The next packet is the youngest. */
    for (unsigned i = 0; i < d->cfg.ost1; i++) {
        core_image_check(im, d->slot[i].state == SLOT_EMPTY ||
                             d->slot[i].age < age, "age of packets");
    }
    core_image_check(im, !(age >> 63), "age of packets");
    core_image_int(im, &d->last_bank);
    core_image_int(im, &d->ack_at);
    core_image_int(im, &d->cnp_send_at);
    core_image_deadline(im, &d->nocnp_next);
    core_image_check(im, d->last_bank <= RCL_BANKS &&
                         d->ack_at < RCL_QPS_MAX &&
                         d->cnp_send_at < RCL_QPS_MAX, "turns");
    for (RclCnp *c = d->cnp; c < d->cnp + CNP_PLACES; c++) {
        core_image_int(im, &c->qp);
        core_image_flag(im, &c->used);
        core_image_deadline(im, &c->at);
    }
}

static void type2_image(Rclink *d, CoreImage *im)
{
    core_image_int(im, &d->first2);
    core_image_int(im, &d->used2);
    core_image_int(im, &d->acc2);
    core_image_flag(im, &d->mask2);
    core_image_int(im, &d->multi_used);
    if (!core_image_check(im, d->first2 < d->cfg.ost2 &&
                              d->used2 <= d->cfg.ost2 &&
                              d->acc2 <= UINT32_MAX &&
                              d->multi_used <= MULTI_CELLS,
                          "packets of TYPE2")) {
        d->first2 = d->used2 = 0;
        return;
    }
    for (unsigned n = 0; n < d->used2; n++) {
        unsigned at = (d->first2 + n) % d->cfg.ost2;
        RclSlot2 *s = &d->slot2[at];

        core_image_int(im, &s->len);
        core_image_int(im, &s->cookie);
        core_image_int(im, &s->group);
        if (!core_image_check(im, s->len && s->len <= d->cfg.payload &&
                                  s->group < 8, "packet of TYPE2")) {
            return;
        }
        core_image_bytes(im, d->payload2 + at * d->payload_step, s->len);
    }
}

/* ---- receive buffers ---- */

/* The VC on top, from 1; version 1 has none: it is the flow's. */
static void credits_image(Rclink *d, RclFlow flow, RclCredits *c,
                          CoreImage *im)
{
    uint32_t v = c->n | (c->vc + 1u) << 24, vc;

    core_image_int(im, &v);
    vc = v >> 24;
    if (core_image_check(im, vc <= VCS && !(v >> 16 & 0xff),
                         "credits of a packet")) {
        c->n = v;
        c->vc = vc ? vc - 1 : d->port.vc[flow];
    }
}

static void wait_image(Rclink *d, RclFlow flow, CoreImage *im)
{
    RclQueue *q = &d->wait[flow];
    uint32_t limit = flow == FLOW_TYPE3 ? RCL_RX_FRAME_MAX : d->cfg.payload;
    uint32_t n = q->count;
    CorePacket *pkt = q->head;

    core_image_count(im, &n, d->cfg.rx2_bytes / RX1_ENTRY + RX1_ENTRIES,
                     "packets that wait");
    for (unsigned i = 0; i < n && !core_image_error(im); i++) {
        uint32_t len = pkt ? pkt->len : 0;
        RclWait w = pkt ? *wait_of(pkt) : (RclWait) { 0 };

        core_image_int(im, &w.qp);
        core_image_int(im, &w.sa);
        credits_image(d, flow, &w.credits, im);
        core_image_int(im, &len);
        if (!core_image_check(im, len <= limit &&
                                  rcl_wait_room(d, flow, len) &&
                                  (flow != FLOW_TYPE3 ||
                                   !(w.sa & ~MD_BAD_FCS)),
                              "packet that waits")) {
            return;
        }
        if (core_image_loading(im)) {
            core_image_bytes(im, d->scratch, len);
            rcl_wait_push(d, flow, w, d->scratch, len);
        } else {
            core_image_bytes(im, core_packet_data(pkt), len);
            pkt = pkt->next;
        }
    }
}

static void type3_image(Rclink *d, CoreImage *im)
{
    md_image(&d->md_tx, im);
    md_image(&d->md_rx, im);
    core_image_flag(im, &d->gather_open);
    core_image_int(im, &d->gathered);
    core_image_int(im, &d->spread);
    if (core_image_check(im, d->gathered <= RCL_TX_FRAME_MAX,
                         "frame that is gathered")) {
        core_image_bytes(im, d->gather, d->gathered);
    }
}

/* ---- flow control ---- */

static void flow_image(Rclink *d, CoreImage *im)
{
    for (unsigned v = 0; v < VCS; v++) {
        RclVc *vc = &d->cbfc.vc[v];

        core_image_flag(im, &vc->ready);
        core_image_int(im, &vc->size_log);
        core_image_int(im, &vc->ovhd);
        core_image_int(im, &vc->limit);
        core_image_int(im, &vc->used);
        core_image_int(im, &vc->freed);
        core_image_int(im, &vc->r_used);
        core_image_int(im, &vc->r_freed);
        core_image_flag(im, &vc->blocked);
        core_image_check(im, !vc->ready ||
                         (vc->size_log >= 5 && vc->size_log <= 11 &&
                          vc->ovhd >= -16 && vc->ovhd <= 127 &&
                          vc->limit <= 0xfffff &&
                          (vc->used | vc->freed | vc->r_used |
                           vc->r_freed) <= 0xfffff),
                         "credits of a VC");
        core_image_deadline(im, &d->pfc.until[v]);
        if (core_image_loading(im)) {
            d->pfc.since[v] = d->now;
        }
    }
    core_image_int(im, &d->cbfc.tell);
    core_image_deadline(im, &d->cbfc.next_cc);
    core_image_flag(im, &d->cbfc.ran);
    core_image_int(im, &d->pfc.told);
    core_image_int(im, &d->pfc.paused);
    core_image_deadline(im, &d->pfc.refresh);
    for (unsigned c = 0; c < 8; c++) {
        core_image_check(im, !(d->pfc.paused >> c & 1) ||
                             d->pfc.until[c] != CORE_NEVER,
                         "a pause without an end");
    }
    for (unsigned f = 0; f < FLOWS; f++) {
        core_image_flag(im, &d->pfc.over[f]);
    }
}

/* The driver saw another link before it came here: it will be told. */
static void link_image(Rclink *d, CoreImage *im)
{
    bool link = d->link;

    core_image_flag(im, &link);
    core_image_flag(im, &d->link_news);
    d->link_news |= link != d->link;
}

static void port_image(Rclink *d, CoreImage *im)
{
    unsigned version = core_image_begin(im, TAG_PORT, VERSION);

    core_image_same(im, d->cfg.qps, "qps is another");
    core_image_same(im, d->cfg.vcs, "type1-vcs is another");
    core_image_same(im, d->cfg.ost1, "ost1 is another");
    core_image_same(im, d->cfg.ost2, "ost2 is another");
    core_image_same(im, d->cfg.payload, "payload is another");
    core_image_same(im, d->cfg.rx2_bytes, "rx2-bytes is another");
    core_image_same(im, d->cfg.time_scale, "time-scale is another");
    regs_image(d, im);
    if (core_image_loading(im) && !core_image_error(im)) {
        rcl_regs_decode(d);
        d->port.window_ns = (INT64_C(4096) << d->reg.cc_window) *
                            d->cfg.time_scale;
        rcl_rate_forget_windows(d);
    }
    for (unsigned i = 0; i < RCL_RINGS; i++) {
        ring_image(&d->ring[i], im);
        d->ring[i].kept = ring_index(d, &d->ring[i]);
    }
    type1_image(d, im);
    type2_image(d, im);
    type3_image(d, im);
    for (unsigned f = 0; f < FLOWS; f++) {
        if (f != FLOW_ACK) {
            wait_image(d, f, im);
        }
    }
    core_image_check(im, !d->spread || (d->wait[FLOW_TYPE3].head &&
                     d->spread < d->wait[FLOW_TYPE3].head->len),
                     "frame that is spread");
    flow_image(d, im);
    core_image_int(im, &d->turn);
    core_image_check(im, d->turn < 3, "turn");
    if (version >= 2) {
        core_image_flag(im, &d->gather_lost);
        link_image(d, im);
    } else {
        d->link_news = true;
    }
    core_image_end(im);
}

uint8_t *rclink_save(Rclink *d, int64_t now, size_t *len)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;

    d->now = now;
    rcl_mac_flush(d);
    rclink_settle(d);
    rcl_rate_settle_all(d);
    port_image(d, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

const char *rclink_load(Rclink *d, int64_t now, const uint8_t *data,
                        size_t len)
{
    CoreImage *im = core_image_load(data, len, now);
    const char *error;

    d->now = now;
    rcl_life_reset(d, RCL_RESET_ALL);
    port_image(d, im);
    error = core_image_done(im);
    core_image_free(im);
    if (error) {
        rcl_life_reset(d, RCL_RESET_ALL);
    } else {
        rcl_regs_decode(d);
    }
    return error;
}
