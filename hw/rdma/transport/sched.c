/*
 * Who works next: the run list (round robin), the lists of queue pairs that
 * wait for something, first come first served, and the timers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- lists ---- */

static QpList *list_of(RdmaQp *qp)
{
    return qp->on_run ? &qp->dev->run :
           qp->stall != STALL_NONE ? &qp->dev->stalled[qp->stall] : NULL;
}

void qp_unlink(RdmaQp *qp)
{
    QpList *l = list_of(qp);

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

static void list_append(QpList *l, RdmaQp *qp)
{
    qp->link_prev = l->last;    /* it is on none: there is no next one either */
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
    list_append(&qp->dev->run, qp);
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
    list_append(&qp->dev->stalled[why], qp);
}

void sched_wake(RdmaDev *dev, Stall why)
{
    RdmaQp *qp;

    while ((qp = dev->stalled[why].first)) {
        qp_run(qp);
    }
}

void sched_admit(RdmaDev *dev)
{
    for (Stall why = STALL_SWPB; why <= STALL_REB; why++) {
        RdmaQp *qp = dev->stalled[why].first;

        if (qp && (!qp->req.cur ||
                   wqe_room(qp, qp->req.cur) == STALL_NONE)) {
            qp_run(qp);
        }
    }
    if (dev->stalled[STALL_WQE].first &&
        wqe_available(dev->stalled[STALL_WQE].first)) {
        qp_run(dev->stalled[STALL_WQE].first);
    }
}

/* ---- timers ---- */

void qp_timer_cancel(RdmaQp *qp)
{
    core_timer_cancel(&qp->dev->timers, &qp->timer);
}

void qp_timer_update(RdmaQp *qp)
{
    core_timer_set(&qp->dev->timers, &qp->timer,
                   MIN(MIN(qp->loss_at, qp->rnr_at), qp->repoll_at));
}

RdmaQp *sched_expired(RdmaDev *dev)
{
    CoreTimer *t = core_timers_expired(&dev->timers, dev->now);

    return t ? (RdmaQp *)((char *)t - offsetof(RdmaQp, timer)) : NULL;
}
