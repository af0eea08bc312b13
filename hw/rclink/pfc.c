/*
 * RC Link: priority flow control (RC Link §12.11.7, §12.14.4; IEEE 802.1Qbb).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum {
    PFC_BODY = 2 + 8 * 2, QUANTA_MAX = 0xffff,
    STORM_PAUSES = 8,           /* longest ones on end are a storm */
};

/* 512 bit times each. */
static int64_t quanta_ns(const Rclink *d, uint32_t quanta)
{
    return (int64_t)quanta * 512 * d->cfg.time_scale / d->cfg.speed;
}

bool rcl_pfc_open(const Rclink *d, RclFlow flow)
{
    return !d->port.pfc_rx[flow] ||
           !(d->pfc.paused >> d->port.vc[flow] & 1);
}

/* The peer stops class @c, which it had stopped already if @was. */
static void storm_watch(Rclink *d, unsigned c, bool was)
{
    RclPfc *p = &d->pfc;

    if (!was) {
        p->since[c] = d->now;
        p->storm &= ~(1u << c);
    } else if (!(p->storm >> c & 1) &&
               d->now - p->since[c] >= STORM_PAUSES * quanta_ns(d, QUANTA_MAX)) {
        p->storm |= 1u << c;
        d->cnt.pfc_storms++;
    }
}

void rcl_pfc_rx(Rclink *d, const uint8_t *p, size_t len)
{
    if (len < PFC_BODY) {
        d->cnt.drop_control++;
        return;
    }
    d->cnt.pfc_rx++;
    for (unsigned c = 0; c < 8; c++) {
        uint16_t quanta = get_be16(p + 2 + c * 2);

        if (p[1] >> c & 1) {
            storm_watch(d, c, d->pfc.paused >> c & 1 &&
                              d->now < d->pfc.until[c]);
            d->pfc.until[c] = d->now + quanta_ns(d, quanta);
            d->pfc.paused &= ~(1u << c);
            d->pfc.paused |= !!quanta << c;
        }
    }
}

/* ---- what the peer must stop ---- */

/* Marks of @flow; false: it has none. */
static bool marks_of(const Rclink *d, RclFlow flow, uint32_t *on,
                     uint32_t *off)
{
    uint64_t marks = flow < FLOW_ACK ? d->reg.xon1 :
                     flow == FLOW_TYPE3 ? d->reg.xon3 : d->reg.xon3 >> 32;

    *on = marks & 0xffff;
    *off = marks >> 16 & 0xffff;
    return flow != FLOW_TYPE2 && *off;
}

void rcl_pfc_level(Rclink *d, RclFlow flow, uint32_t entries)
{
    bool was = d->pfc.over[flow];
    uint32_t on, off;

    if (!marks_of(d, flow, &on, &off)) {
        d->pfc.over[flow] = false;
    } else if (entries >= off) {
        d->pfc.over[flow] = true;
    } else if (entries <= on) {
        d->pfc.over[flow] = false;
    }
    if (d->pfc.over[flow] != was) {
        rcl_pfc_update(d);
    }
}

void rcl_pfc_update(Rclink *d)
{
    uint8_t want = d->faults.pause_storm;

    for (unsigned f = 0; f < FLOWS; f++) {
        bool pin = (f < FLOW_ACK || f == FLOW_TYPE2) && rcl_flow_stopped(d, f);

        if (rcl_flow_there(d, f) && d->port.pfc_tx[f] &&
            (d->pfc.over[f] || pin)) {
            want |= 1u << d->port.vc[f];
        }
    }
    d->pfc.want = d->port.cbfc ? d->faults.pause_storm : want;
}

int64_t rcl_pfc_run(Rclink *d)
{
    RclPfc *p = &d->pfc;
    uint8_t body[PFC_BODY] = { 0 };
    int64_t next = CORE_NEVER;

    for (unsigned c = 0; c < 8; c++) {
        if (!(p->paused >> c & 1)) {
            continue;
        }
        if (d->now >= p->until[c]) {
            p->paused &= ~(1u << c);
        } else {
            next = MIN(next, p->until[c]);
        }
    }
    if (!mac_ready(d)) {
        return next;
    }
    if (p->want != p->told || (p->want && d->now >= p->refresh)) {
        body[1] = p->want | p->told;
        for (unsigned c = 0; c < 8; c++) {
            put_be16(body + 2 + c * 2, p->want >> c & 1 ? QUANTA_MAX : 0);
        }
        rcl_mac_control(d, MAC_OP_PFC, body, sizeof(body));
        d->cnt.pfc_tx++;
        p->told = p->want;
        p->refresh = d->now + quanta_ns(d, QUANTA_MAX / 2);
    }
    return p->want ? MIN(next, p->refresh) : next;
}

void rcl_pfc_reset(Rclink *d)
{
    d->pfc.want = d->pfc.told = d->pfc.paused = 0;
    d->pfc.refresh = 0;
    rcl_pfc_update(d);
}
