/*
 * The pool of decoded WQEs, and the accounts of the packet buffers.
 *
 * The seed keeps copies of unacknowledged packets on the chip (RDMA §3.4.3);
 * this model repeats a packet from guest memory, which the guest must leave
 * alone until completion, and keeps the buffers as accounts: the back-pressure
 * is the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { WQE_BLOCK = 64 };

RdmaWqe *wqe_alloc(RdmaDev *dev)
{
    RdmaWqe *w;

    if (!dev->wqe_free) {
        RdmaWqe *block;

        if (dev->wqe_total >= dev->cfg.max_wqes) {
            return NULL;
        }
        block = g_new(RdmaWqe, WQE_BLOCK);
        g_ptr_array_add(dev->wqe_blocks, block);
        for (int i = 0; i < WQE_BLOCK; i++) {
            block[i].next = dev->wqe_free;
            dev->wqe_free = &block[i];
        }
        dev->wqe_total += WQE_BLOCK;
    }
    w = dev->wqe_free;
    dev->wqe_free = w->next;
    dev->wqe_used++;
    memset(w, 0, offsetof(RdmaWqe, sge));
    return w;
}

void wqe_release(RdmaDev *dev, RdmaWqe *w)
{
    w->next = dev->wqe_free;
    dev->wqe_free = w;
    dev->wqe_used--;
    sched_wake(dev, STALL_WQE);
}

uint32_t wqe_packets(const RdmaQp *qp, const RdmaWqe *w)
{
    return w->length <= qp->mtu ? 1 : (w->length + qp->mtu - 1) / qp->mtu;
}

uint32_t wqe_packet_len(const RdmaQp *qp, const RdmaWqe *w, uint32_t psn)
{
    uint32_t off = (psn_diff(psn, w->first_psn)) * qp->mtu;

    return MIN(w->length - off, qp->mtu);
}

static uint32_t units(uint32_t len)
{
    return (len + 31) / 32;
}

/*
 * The packets of @w in [@psn, end of what was sent) enter (@drop false) or
 * leave the buffers.  Callers pass each PSN once in and once out.
 */
void wqe_hold_from(RdmaQp *qp, RdmaWqe *w, uint32_t psn, bool drop)
{
    RdmaDev *dev = qp->dev;
    int32_t n;
    uint32_t u;

    if (wqe_is_rd(w)) {
        if (w->held == !drop) {
            return;
        }
        w->held = !drop;
        if (drop) {
            dev->rpb_packets--;
            dev->reb_entries -= w->num_sge;
            sched_wake(dev, STALL_RPB);
            sched_wake(dev, STALL_REB);
        } else {
            dev->rpb_packets++;
            dev->reb_entries += w->num_sge;
        }
        return;
    }
    /* Send/Write: packets psn .. npsn-1 of this WQE. */
    n = psn_diff(psn_add(w->last_psn, 1), psn);
    n = MIN(n, psn_diff(qp->req.npsn, psn));
    if (n <= 0) {
        return;
    }
    u = (n - 1) * units(qp->mtu) +
        units(wqe_packet_len(qp, w, psn_add(psn, n - 1)));
    if (drop) {
        dev->swpb_packets -= n;
        dev->swpb_units -= u;
        sched_wake(dev, STALL_SWPB);
    } else {
        dev->swpb_packets += n;
        dev->swpb_units += u;
    }
}

/* Complete and free the oldest WQE. */
void wqe_complete(RdmaQp *qp, RdmaWqe *w, RdmaStatus status)
{
    Requester *r = &qp->req;
    RdmaDev *dev = qp->dev;
    bool tell = status != RDMA_WC_SUCCESS || qp->attr.sig_all ||
                (w->flags & RDMA_WQE_SIGNALED);
    RdmaCqe cqe = {
        .wqe_id = w->id, .status = status, .opcode = w->opcode,
        .byte_cnt = w->length,
    };

    g_assert(r->head == w);
    if (is_rc(qp) && w->has_psn) {
        uint32_t from = w->first_psn;

        if (psn_diff(r->upsn, from) > 0) {
            from = r->upsn;
        }
        wqe_hold_from(qp, w, from, true);
        if (wqe_is_rd(w)) {
            r->rd_out--;
        }
    }
    r->head = w->next;
    if (!r->head) {
        r->tail = NULL;
    }
    if (r->cur == w) {
        r->cur = NULL;
    }
    wqe_release(dev, w);
    if (tell) {
        qp_complete(qp, true, &cqe);
    }
}
