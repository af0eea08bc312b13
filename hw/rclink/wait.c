/*
 * RC Link: receive buffers, and the way from there to the client (RX_M).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

G_STATIC_ASSERT(sizeof(RclWait) <= CORE_PACKET_CB);

uint32_t rcl_wait_entries(RclFlow flow, size_t len)
{
    uint32_t entry = flow == FLOW_TYPE3 ? RX3_ENTRY : RX1_ENTRY;

    return MAX((len + entry - 1) / entry, 1);
}

uint32_t rcl_wait_depth(const Rclink *d, RclFlow flow)
{
    return flow == FLOW_TYPE2 ? d->cfg.rx2_bytes / RX1_ENTRY :
           flow == FLOW_TYPE3 ? RX3_BYTES / RX3_ENTRY : RX1_ENTRIES;
}

bool rcl_wait_room(const Rclink *d, RclFlow flow, size_t len)
{
    return d->wait[flow].level + rcl_wait_entries(flow, len) <=
           rcl_wait_depth(d, flow);
}

static RclRing *client_ring(Rclink *d, RclFlow flow)
{
    return &d->ring[flow == FLOW_TYPE2 ? RCL_RING_RX2 : RCL_RING_RX1];
}

/* Bytes 8 to 15 of an entry that is done. */
static uint64_t done_word(RclFlow flow, uint16_t qp, uint16_t sa, size_t len)
{
    return (uint64_t)(sa & 0x3ff) << 48 |
           (uint64_t)(flow == FLOW_TYPE2 ? RCL_ETYPE2 : RCL_ETYPE1) << 32 |
           (uint64_t)qp << 16 | (uint16_t)len;
}

/* Hand a packet to the driver; false: not now. */
static bool client_put(Rclink *d, RclFlow flow, uint16_t qp, uint16_t sa,
                       const uint8_t *data, size_t len)
{
    RclRing *r = client_ring(d, flow);
    uint64_t done;
    const uint8_t *e;
    size_t room;

    if (rcl_flow_stopped(d, flow)) {
        return false;
    }
    e = rcl_ring_peek(d, r);
    if (!e) {
        return false;
    }
    room = get_le16(e + RCL_E_LEN);
    done = done_word(flow, qp, sa, len);
    if (len > room) {
        done |= (uint64_t)RCL_E_TRUNCATED << 32;
        d->cnt.rx_truncated++;
        len = room;
    }
    if (len && !rcl_dma_write(d, get_le64(e), data, len)) {
        rcl_ring_stop(d, r);
        return false;
    }
    rcl_ring_fulfil(r, done);
    return true;
}

typedef struct Through {
    const RclLayout *layout;
    const RclView *v;
    bool right;
} Through;

static void through_copy(void *opaque, void *data)
{
    Through *t = opaque;

    t->right = rcl_frame_copy(t->layout, t->v, data);
}

bool rcl_wait_through(Rclink *d, RclFlow flow, const RclView *v, bool *right)
{
    Through t = { &d->port.layout, v, false };
    const uint8_t *e;

    if (d->wait[flow].head || rcl_flow_stopped(d, flow)) {
        return false;
    }
    e = rcl_ring_peek(d, client_ring(d, flow));
    if (!e || get_le16(e + RCL_E_LEN) < v->len ||
        !rcl_dma_reach(d, get_le64(e), v->len, true, through_copy, &t)) {
        return false;
    }
    *right = t.right;
    return true;
}

void rcl_wait_through_done(Rclink *d, RclFlow flow, const RclView *v)
{
    rcl_ring_fulfil(client_ring(d, flow),
                    done_word(flow, v->rh.qp, v->sa, v->len));
}

void rcl_wait_push(Rclink *d, RclFlow flow, RclWait w, const uint8_t *data,
               size_t len)
{
    RclQueue *q = &d->wait[flow];
    CorePacket *pkt = core_packet_alloc(d->pool, len);

    memcpy(core_packet_data(pkt), data, len);
    *wait_of(pkt) = w;
    pkt->next = NULL;
    *(q->head ? &q->tail->next : &q->head) = pkt;
    q->tail = pkt;
    q->count++;
    q->level += rcl_wait_entries(flow, len);
    rcl_pfc_level(d, flow, q->level);
}

void rcl_wait_deliver(Rclink *d, RclFlow flow, uint16_t qp, uint64_t sa,
                  const uint8_t *data, size_t len, RclCredits credits)
{
    RclQueue *q = &d->wait[flow];

    if (!q->head && client_put(d, flow, qp, sa, data, len)) {
        rcl_credit_freed(d, credits);
        return;
    }
    rcl_wait_push(d, flow, (RclWait) { qp, sa, credits }, data, len);
}

void rcl_wait_pop(Rclink *d, RclFlow flow)
{
    RclQueue *q = &d->wait[flow];
    CorePacket *pkt = q->head;

    q->head = pkt->next;
    q->count--;
    q->level -= rcl_wait_entries(flow, pkt->len);
    rcl_credit_freed(d, wait_of(pkt)->credits);
    core_packet_free(pkt);
    rcl_pfc_level(d, flow, q->level);
}

void rcl_wait_run(Rclink *d)
{
    bool any = true;

    while (any) {
        any = false;
        for (RclFlow f = FLOW_BANK0; f <= FLOW_TYPE2; f++) {
            CorePacket *pkt = d->wait[f].head;

            if (pkt && client_put(d, f, wait_of(pkt)->qp, wait_of(pkt)->sa,
                                  core_packet_data(pkt), pkt->len)) {
                rcl_wait_pop(d, f);
                any = true;
            }
        }
    }
}

void rcl_wait_credits_reset(Rclink *d)
{
    rcl_credit_reset(d);
    for (unsigned f = 0; f < FLOWS; f++) {
        for (CorePacket *pkt = d->wait[f].head; pkt; pkt = pkt->next) {
            wait_of(pkt)->credits.n = 0;
        }
    }
}

void rcl_wait_drop(Rclink *d, RclFlow flow)
{
    while (d->wait[flow].head) {
        rcl_wait_pop(d, flow);
    }
}
