/*
 * RC Link: credit-based flow control (RC Link §12.5) and TYPE2's space in the
 * MAC (§12.6).
 *
 * The sender counts what it used of a VC; the receiver counts what it got and
 * what has left its buffer since, and tells the latter in a CF frame.  A CC
 * frame tells the receiver what was used, so that credits of lost frames come
 * back.  Both numbers only grow, modulo 2^20.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum {
    CBFC_CF = 2,                /* receiver to sender: freed */
    CBFC_CC = 3,                /* sender to receiver: used */
    CBFC_BODY = 2 + VCS * 4,
    CBFC_BITS = 20,
    LIMIT_MAX = (1 << (CBFC_BITS - 1)) - 1, /* or the counters are ambiguous */
    CBFC_PERIOD_US = 256,
};

static uint32_t cost_of(const RclVc *vc, uint32_t bytes)
{
    return (bytes + vc->ovhd + (1u << vc->size_log) - 1) >> vc->size_log;
}

static RclVc *vc_of(Rclink *d, RclFlow flow)
{
    return &d->cbfc.vc[d->port.vc[flow]];
}

/* Whether frames of @flow are counted. */
static bool flow_counts(Rclink *d, RclFlow flow)
{
    return d->port.cbfc_en[flow] && vc_of(d, flow)->ready;
}

uint32_t rcl_credit_left(const RclVc *vc)
{
    int32_t out = serial_diff(vc->used, vc->freed, CBFC_BITS);

    return !vc->ready ? 0 : out <= 0 ? vc->limit :
           (uint32_t)out > vc->limit ? 0 : vc->limit - out;
}

/* Whether the credits of @flow, which counts some, suffice. */
static bool credit_enough(const Rclink *d, RclFlow flow)
{
    const RclPort *p = &d->port;
    const RclVc *vc = &d->cbfc.vc[p->vc[flow]];
    uint32_t units = p->uf[flow];

    if (units && flow < FLOW_ACK && p->dynamic1) {
        units = 1;
    }
    return vc->ready &&
           rcl_credit_left(vc) >= units * cost_of(vc, p->cmax_bytes[flow]);
}

/* Software lets the VC of @flow send (RC Link §12.5). */
static bool vc_open(const Rclink *d, RclFlow flow)
{
    return d->port.vc_open >> d->port.vc[flow] & 1;
}

bool rcl_credit_held(const Rclink *d, RclFlow flow)
{
    return !vc_open(d, flow) ||
           (d->port.cbfc_en[flow] && !credit_enough(d, flow));
}

bool rcl_credit_open(Rclink *d, RclFlow flow)
{
    RclVc *vc = vc_of(d, flow);
    bool open;

    if (!vc_open(d, flow)) {
        return false;
    }
    if (!d->port.cbfc_en[flow]) {
        return true;
    }
    open = credit_enough(d, flow);
    d->cnt.cbfc_blocked += !open && !vc->blocked;
    vc->blocked = !open;
    return open;
}

void rcl_credit_sent(Rclink *d, RclFlow flow, uint32_t bytes)
{
    if (flow_counts(d, flow)) {
        RclVc *vc = vc_of(d, flow);

        vc->used = serial_add(vc->used, cost_of(vc, bytes), CBFC_BITS);
    }
}

RclCredits rcl_credit_arrived(Rclink *d, RclFlow flow, uint32_t bytes)
{
    RclVc *vc = vc_of(d, flow);
    RclCredits c = { .vc = d->port.vc[flow] };

    if (!flow_counts(d, flow)) {
        return c;
    }
    c.n = cost_of(vc, bytes);
    vc->r_used = serial_add(vc->r_used, c.n, CBFC_BITS);
    if (!d->port.pfc_tx[flow]) {
        /* Nothing holds the frame back in the MAC. */
        rcl_credit_freed(d, c);
        c.n = 0;
    }
    return c;
}

void rcl_credit_freed(Rclink *d, RclCredits c)
{
    RclVc *vc = &d->cbfc.vc[c.vc];

    if (c.n) {
        vc->r_freed = serial_add(vc->r_freed, c.n, CBFC_BITS);
        d->cbfc.tell |= 1u << c.vc;
    }
}

void rcl_credit_check(Rclink *d, uint8_t vcs)
{
    for (unsigned f = 0; f < FLOWS; f++) {
        const RclVc *vc = vc_of(d, f);

        if (rcl_flow_there(d, f) && vcs >> d->port.vc[f] & 1 && vc->ready &&
            d->port.cbfc_en[f] &&
            vc->limit < d->port.uf[f] * cost_of(vc, d->port.cmax_bytes[f])) {
            rcl_guest_error(d, "12.5", "CREDIT_LIMIT lets nothing pass",
                            vc->limit);
        }
    }
}

void rcl_credit_setup(Rclink *d, uint8_t strobes)
{
    for (unsigned v = 0; v < VCS; v++) {
        uint64_t cfg = d->reg.cbfc_cfg[v];
        uint32_t size = cfg >> RCL_CBFC_SIZE_SHIFT & 0xfff;
        int32_t ovhd = (int8_t)(cfg >> RCL_CBFC_OVHD_SHIFT);
        RclVc *vc = &d->cbfc.vc[v];

        if (!(strobes >> v & 1)) {
            continue;
        }
        if (size < 32 || size > 2048 || (size & (size - 1))) {
            rcl_guest_error(d, "12.5", "CREDIT_SIZE", size);
            continue;
        }
        vc->ready = true;
        vc->size_log = __builtin_ctz(size);
        vc->ovhd = MAX(ovhd, -16);
        vc->limit = cfg >> RCL_CBFC_LIMIT_SHIFT & 0xfffff;
        if (vc->limit > LIMIT_MAX) {
            rcl_guest_error(d, "12.5", "CREDIT_LIMIT", vc->limit);
            vc->limit = LIMIT_MAX;
        }
        vc->used = vc->freed = 0;
        d->cbfc.ran = true;
        d->cbfc.next_cc = d->now;
    }
    rcl_credit_check(d, strobes);
    rcl_kick(d);
}

uint8_t rcl_credit_ready(const Rclink *d)
{
    uint8_t ready = 0;

    for (unsigned v = 0; v < VCS; v++) {
        ready |= d->cbfc.vc[v].ready << v;
    }
    return ready;
}

void rcl_credit_reset(Rclink *d)
{
    d->cbfc = (RclCbfc) { 0 };
}

/* ---- frames between the two MACs ---- */

void rcl_credit_rx(Rclink *d, const uint8_t *p, size_t len)
{
    if (len < CBFC_BODY || (p[0] != CBFC_CF && p[0] != CBFC_CC)) {
        d->cnt.drop_control++;
        return;
    }
    if (d->faults.lose_credits) {
        d->cnt.fault_credit++;
        return;
    }
    d->cnt.cbfc_rx++;
    for (unsigned v = 0; v < VCS; v++) {
        uint32_t n = get_be32(p + 2 + v * 4);
        RclVc *vc = &d->cbfc.vc[v];
        int32_t diff;

        if (!(p[1] >> v & 1) || !vc->ready) {
            continue;
        }
        if (p[0] == CBFC_CF) {
            vc->freed = serial_add(n, 0, CBFC_BITS);
            d->cnt.cbfc_over += serial_diff(vc->used, n, CBFC_BITS) < 0;
        } else {
            diff = serial_diff(n, vc->r_used, CBFC_BITS);
            d->cnt.cbfc_healed += diff > 0 ? diff : 0;
            vc->r_used = serial_add(vc->r_used, diff, CBFC_BITS);
            vc->r_freed = serial_add(vc->r_freed, diff, CBFC_BITS);
            d->cbfc.tell |= 1u << v;
        }
    }
}

static void credit_tx(Rclink *d, uint8_t type, uint8_t vcs)
{
    uint8_t body[CBFC_BODY] = { type, vcs };

    for (unsigned v = 0; v < VCS; v++) {
        const RclVc *vc = &d->cbfc.vc[v];
        uint32_t n = type == CBFC_CF ? vc->r_freed : vc->used;

        put_be32(body + 2 + v * 4, vcs >> v & 1 ? n : 0);
    }
    rcl_mac_control(d, MAC_OP_CBFC, body, sizeof(body));
    d->cnt.cbfc_tx++;
}

int64_t rcl_credit_run(Rclink *d)
{
    RclCbfc *c = &d->cbfc;
    uint8_t ready = rcl_credit_ready(d), owing = 0;

    if (!c->ran || !d->port.cbfc || !mac_ready(d)) {
        return CORE_NEVER;
    }
    for (unsigned v = 0; v < VCS; v++) {
        owing |= (c->vc[v].used != c->vc[v].freed) << v;
    }
    if (c->tell & ready) {
        credit_tx(d, CBFC_CF, c->tell & ready);
        c->tell = 0;
    }
    /* Told at the setup, and as long as something is out. */
    if (d->now >= c->next_cc) {
        credit_tx(d, CBFC_CC, ready);
        c->next_cc = owing ? d->now + scaled_us(d, CBFC_PERIOD_US)
                           : CORE_NEVER;
    } else if (owing && c->next_cc == CORE_NEVER) {
        c->next_cc = d->now + scaled_us(d, CBFC_PERIOD_US);
    }
    return c->next_cc;
}

/* ---- TYPE2's space in the MAC (RC Link §12.6) ---- */

static uint32_t cells_of(uint32_t bytes)
{
    return (bytes + MULTI_CELL - 1) / MULTI_CELL;
}

bool rcl_multi_open(Rclink *d)
{
    return !d->port.multi ||
           MULTI_CELLS - d->multi_used >=
           cells_of(d->port.cmax_bytes[FLOW_TYPE2]);
}

void rcl_multi_sent(Rclink *d, uint32_t bytes)
{
    if (d->port.multi) {
        d->multi_used += cells_of(bytes);
    }
}

void rcl_multi_returned(Rclink *d)
{
    d->multi_used = 0;
}
