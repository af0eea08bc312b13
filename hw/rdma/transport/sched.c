/*
 * Who works next: the run list (round robin), the list of queue pairs that
 * wait for a shared resource, and the heap of timers.
 *
 * A timer that is pushed back, which every acknowledgement does, only changes
 * its field in the QP; the heap keeps the earlier key and corrects it when it
 * comes up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- lists ---- */

static QpList *qp_list(RdmaQp *qp)
{
    return qp->on_run ? &qp->dev->run :
           qp->stall != STALL_NONE ? &qp->dev->stalled : NULL;
}

void qp_unlink(RdmaQp *qp)
{
    QpList *l = qp_list(qp);

    if (!l) {
        return;
    }
    if (qp->link_prev) {
        qp->link_prev->link_next = qp->link_next;
    } else {
        l->first = qp->link_next;
    }
    if (qp->link_next) {
        qp->link_next->link_prev = qp->link_prev;
    } else {
        l->last = qp->link_prev;
    }
    qp->link_prev = qp->link_next = NULL;
    qp->on_run = false;
    qp->stall = STALL_NONE;
}

static void append(QpList *l, RdmaQp *qp)
{
    qp->link_prev = l->last;
    qp->link_next = NULL;
    if (l->last) {
        l->last->link_next = qp;
    } else {
        l->first = qp;
    }
    l->last = qp;
}

void qp_run(RdmaQp *qp)
{
    if (qp->on_run) {
        return;
    }
    qp_unlink(qp);
    qp->on_run = true;
    append(&qp->dev->run, qp);
}

void qp_stall(RdmaQp *qp, Stall why)
{
    RdmaCounters *c = &qp->dev->cnt;
    uint64_t *const counter[] = {
        [STALL_SWPB] = &c->stall_swpb, [STALL_RPB] = &c->stall_rpb,
        [STALL_REB] = &c->stall_reb, [STALL_WQE] = &c->stall_wqe,
        [STALL_NEIGH] = &c->stall_neigh, [STALL_WIRE] = &c->stall_wire,
    };

    if (qp->stall == why) {
        return;
    }
    (*counter[why])++;
    qp_unlink(qp);
    qp->stall = why;
    append(&qp->dev->stalled, qp);
}

void sched_wake(RdmaDev *dev, Stall why)
{
    RdmaQp *qp, *next;

    for (qp = dev->stalled.first; qp; qp = next) {
        next = qp->link_next;
        if (why == STALL_NONE || qp->stall == why) {
            qp_run(qp);
        }
    }
}

/* ---- timers ---- */

static int64_t qp_deadline(const RdmaQp *qp)
{
    return MIN(MIN(qp->loss_at, qp->rnr_at), qp->repoll_at);
}

static void heap_put(RdmaDev *dev, int i, RdmaQp *qp)
{
    dev->heap[i] = qp;
    qp->timer_pos = i;
}

static void heap_up(RdmaDev *dev, int i)
{
    RdmaQp *qp = dev->heap[i];

    while (i > 0 && dev->heap[(i - 1) / 2]->timer_key > qp->timer_key) {
        heap_put(dev, i, dev->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(dev, i, qp);
}

static void heap_down(RdmaDev *dev, int i)
{
    RdmaQp *qp = dev->heap[i];

    for (;;) {
        int c = 2 * i + 1;

        if (c >= dev->heap_len) {
            break;
        }
        if (c + 1 < dev->heap_len &&
            dev->heap[c + 1]->timer_key < dev->heap[c]->timer_key) {
            c++;
        }
        if (dev->heap[c]->timer_key >= qp->timer_key) {
            break;
        }
        heap_put(dev, i, dev->heap[c]);
        i = c;
    }
    heap_put(dev, i, qp);
}

void qp_timer_cancel(RdmaQp *qp)
{
    RdmaDev *dev = qp->dev;
    int i = qp->timer_pos;

    if (i < 0) {
        return;
    }
    qp->timer_pos = -1;
    if (i != --dev->heap_len) {
        heap_put(dev, i, dev->heap[dev->heap_len]);
        heap_down(dev, i);
        heap_up(dev, i);
    }
}

void qp_timer_update(RdmaQp *qp)
{
    RdmaDev *dev = qp->dev;
    int64_t at = qp_deadline(qp);

    if (qp->timer_pos >= 0) {
        if (at < qp->timer_key) {
            qp->timer_key = at;
            heap_up(dev, qp->timer_pos);
        }
        return;
    }
    if (at == NEVER) {
        return;
    }
    if (dev->heap_len == dev->heap_cap) {
        dev->heap_cap = MAX(64, 2 * dev->heap_cap);
        dev->heap = g_renew(RdmaQp *, dev->heap, dev->heap_cap);
    }
    qp->timer_key = at;
    dev->heap[dev->heap_len] = qp;
    qp->timer_pos = dev->heap_len;
    heap_up(dev, dev->heap_len++);
}

RdmaQp *sched_expired(RdmaDev *dev)
{
    while (dev->heap_len && dev->heap[0]->timer_key <= dev->now) {
        RdmaQp *qp = dev->heap[0];
        int64_t at = qp_deadline(qp);

        if (at <= dev->now) {
            qp_timer_cancel(qp);
            return qp;
        }
        if (at == NEVER) {
            qp_timer_cancel(qp);
        } else {
            qp->timer_key = at;
            heap_down(dev, 0);
        }
    }
    return NULL;
}

int64_t sched_deadline(const RdmaDev *dev)
{
    return dev->heap_len ? dev->heap[0]->timer_key : NEVER;
}
