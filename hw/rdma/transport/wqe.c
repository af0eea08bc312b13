/*
 * Decoded WQEs: their pool, their part of the packet buffers, and their end.
 *
 * The document keeps copies of unacknowledged packets on the chip (RDMA
 * §3.4.3); this model repeats a packet from guest memory, which the guest must
 * leave alone until completion, and keeps the buffers as accounts: the
 * back-pressure is the same.  A WQE remembers what it has entered, so that
 * exactly this leaves again, whatever became of its queue pair meanwhile.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { WQE_BLOCK = 64 };

/* ---- pool ---- */

bool wqe_available(const RdmaQp *qp)
{
    /* Without a right to one, a peer that never answers stops them all. */
    return !qp->req.head || qp->dev->wqe_used < qp->dev->cfg.max_wqes;
}

RdmaWqe *wqe_alloc(RdmaQp *qp)
{
    return wqe_available(qp) ? wqe_take(qp->dev) : NULL;
}

RdmaWqe *wqe_take(RdmaDev *dev)
{
    RdmaWqe *w;

    if (!dev->wqe_free) {
        RdmaWqe *block = g_new(RdmaWqe, WQE_BLOCK);

        g_ptr_array_add(dev->wqe_blocks, block);
        for (int i = 0; i < WQE_BLOCK; i++) {
            block[i].next = dev->wqe_free;
            dev->wqe_free = &block[i];
        }
    }
    w = dev->wqe_free;
    dev->wqe_free = w->next;
    dev->wqe_used++;
    memset(w, 0, offsetof(RdmaWqe, sge));
    return w;
}

void wqe_release(RdmaQp *qp, RdmaWqe *w)
{
    RdmaDev *dev = qp->dev;

    w->next = dev->wqe_free;
    dev->wqe_free = w;
    dev->wqe_used--;
    if (qp->stall == STALL_WQE && wqe_available(qp)) {
        qp_run(qp);
    }
}

/* ---- accounts ---- */

uint32_t wqe_packets(const RdmaQp *qp, const RdmaWqe *w)
{
    return w->length <= qp->mtu ? 1 : (w->length + qp->mtu - 1) / qp->mtu;
}

uint32_t wqe_packet_len(const RdmaQp *qp, const RdmaWqe *w, uint32_t psn)
{
    uint32_t off = psn_ahead(psn, w->first_psn) * qp->mtu;

    return MIN(w->length - off, qp->mtu);
}

static uint32_t payload_units(uint32_t len)
{
    return (len + 31) / 32;
}

static void account_add(Holdings *h, const RdmaWqe *w, int sign)
{
    if (wqe_is_rd(w)) {
        h->rpb_packets += sign * w->held_packets;
        h->reb_entries += sign * w->held_units;
    } else {
        h->swpb_packets += sign * w->held_packets;
        h->swpb_units += sign * w->held_units;
    }
}

static void account_put(RdmaQp *qp, RdmaWqe *w, uint32_t packets,
                        uint32_t units)
{
    account_add(&qp->req.held, w, -1);
    account_add(&qp->dev->held, w, -1);
    w->held_packets = packets;
    w->held_units = units;
    account_add(&qp->req.held, w, 1);
    account_add(&qp->dev->held, w, 1);
}

void wqe_hold(RdmaQp *qp, RdmaWqe *w)
{
    const Requester *r = &qp->req;
    uint32_t from = w->first_psn, to = psn_add(w->last_psn, 1), n;

    if (wqe_is_rd(w)) {
        account_put(qp, w, 1, w->num_sge);
        return;
    }
    if (psn_diff(r->upsn, from) > 0) {
        from = r->upsn;
    }
    if (psn_diff(r->npsn, to) < 0) {
        to = r->npsn;
    }
    n = psn_ahead(to, from);
    account_put(qp, w, n, n ? (n - 1) * payload_units(qp->mtu) +
                payload_units(wqe_packet_len(qp, w, psn_add(to, -1))) : 0);
}

void wqe_drop(RdmaQp *qp, RdmaWqe *w)
{
    if (!w->held_packets) {
        return;
    }
    account_put(qp, w, 0, 0);
    if (!qp->dev->cfg.shared_buffers && qp->stall >= STALL_SWPB &&
        qp->stall <= STALL_REB) {
        qp_run(qp);
    }
}

const Holdings *wqe_limited_by(const RdmaQp *qp)
{
    return qp->dev->cfg.shared_buffers ? &qp->dev->held : &qp->req.held;
}

/*
 * RDMA §3.4.1.1.3.2.3.  An empty buffer takes one packet of any size, or a
 * small buffer would stop for ever.
 */
Stall wqe_room(const RdmaQp *qp, const RdmaWqe *w)
{
    const RdmaConfig *cfg = &qp->dev->cfg;
    const Holdings *h = wqe_limited_by(qp);

    if (wqe_is_rd(w)) {
        return h->rpb_packets >= MAX(cfg->rpb_packets, 1) ? STALL_RPB :
               h->reb_entries && h->reb_entries + w->num_sge >
                                 cfg->reb_entries ? STALL_REB : STALL_NONE;
    }
    return h->swpb_packets &&
           (h->swpb_packets >= cfg->swpb_packets ||
            h->swpb_units + payload_units(MIN(w->length, qp->mtu)) >
            cfg->swpb_units) ? STALL_SWPB : STALL_NONE;
}

/* ---- completion ---- */

void wqe_complete_head(RdmaQp *qp, RdmaStatus status)
{
    Requester *r = &qp->req;
    RdmaWqe *w = r->head;
    bool tell = status != RDMA_WC_SUCCESS || qp->attr.sig_all ||
                (w->flags & RDMA_WQE_SIGNALED);
    RdmaCqe cqe = {
        .wqe_id = w->id, .status = status, .opcode = w->opcode,
        .byte_cnt = w->length,
    };

    wqe_drop(qp, w);
    r->head = w->next;
    if (!r->head) {
        r->tail = NULL;
    }
    if (r->cur == w) {
        r->cur = NULL;
    }
    wqe_release(qp, w);
    if (tell) {
        qp_complete(qp, true, &cqe);
    }
}

void wqe_complete_done(RdmaQp *qp)
{
    Requester *r = &qp->req;

    while (r->head && r->head->state == WQE_DONE) {
        RdmaStatus status = r->head->status;

        wqe_complete_head(qp, status);
        if (status == RDMA_WC_SUCCESS) {
            continue;
        }
        if (!is_rc(qp) && qp->dev->cfg.sqe) {
            qp_set_state(qp, RDMA_QPS_SQE, "send error");
            if (qp->dev->cfg.pers->qp_changed) {
                qp->dev->cfg.pers->qp_changed(qp->dev->cfg.pers_opaque, qp);
            }
        } else {
            qp_error(qp, "RDMA §3.4.5.1.5: bad request");
        }
        return;
    }
}
