/*
 * The engine as a whole: settings, life, the poll loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void rdma_config_init(RdmaConfig *cfg)
{
    *cfg = (RdmaConfig) {
        .log_qps = 13, .log_cqs = 13, .log_srqs = 10, .log_mrs = 14,
        .swpb_packets = 512, .swpb_units = 4096,
        .rpb_packets = 512, .reb_entries = 16384,
        .max_wqes = 8192,
        .ack_req = RDMA_ACKREQ_ALL,
        .ack_coalesce = true,
        .nak_fatal = true,
        .nak_counts = true,
        .resp_fatal = true,
        .sqe = true,
        .atomics = true,
        .qkey_check = true,
        .pkey_check = true,
        .len_nak_op = true,
        .ud_grh = RDMA_GRH_IB,
        .icrc = true,
        .icrc_check = true,
        .udp_csum = true,
        .udp_sport = ROCE_UDP_PORT,
        .loss_timeout_us = 100000,
        .lid_net = 10u << 24 | 76 << 16,
        .err_repoll_us = 0,
        .time_scale = 1,
    };
}

RdmaDev *rdma_new(const RdmaConfig *cfg)
{
    RdmaDev *dev = g_new0(RdmaDev, 1);

    dev->cfg = *cfg;
    core_table_init(&dev->qps, cfg->log_qps);
    core_table_init(&dev->cqs, cfg->log_cqs);
    core_table_init(&dev->srqs, cfg->log_srqs);
    dev->mr_mask = (1u << cfg->log_mrs) - 1;
    dev->mr_page = g_new0(RdmaMr *, dev->mr_mask / CORE_TABLE_PAGE + 1);
    dev->wqe_blocks = g_ptr_array_new_with_free_func(g_free);
    dev->mcast = g_ptr_array_new();
    dev->tx_buf = g_malloc(TX_BATCH * (RDMA_TX_HEADROOM + FRAME_MAX));
    dev->port.link_up = true;
    return dev;
}

static void qp_drop(void *opaque, void *qp)
{
    rdma_qp_destroy(opaque, qp);
}

static void cq_drop(void *opaque, void *cq)
{
    rdma_cq_destroy(opaque, cq);
}

static void srq_drop(void *opaque, void *srq)
{
    rdma_srq_destroy(opaque, srq);
}

void rdma_reset(RdmaDev *dev)
{
    mcast_reset(dev);
    core_table_foreach(&dev->qps, qp_drop, dev);
    core_table_foreach(&dev->cqs, cq_drop, dev);
    core_table_foreach(&dev->srqs, srq_drop, dev);
    for (uint32_t i = 0; i <= dev->mr_mask / CORE_TABLE_PAGE; i++) {
        g_clear_pointer(&dev->mr_page[i], g_free);
    }
    memset(dev->neigh, 0, sizeof(dev->neigh));
    dev->neigh_at = 0;
    dev->path_gen++;
    dev->tx_n = 0;
    dev->tx_used = 0;
    dev->loop_head = dev->loop_tail = 0;
    for (int i = 0; i < 2; i++) {
        FaultState *f = i ? &dev->fault_out : &dev->fault_in;

        for (int k = 0; f->hold && k < FAULT_HELD; k++) {
            f->hold[k].used = false;
        }
        f->held = 0;
    }
}

void rdma_free(RdmaDev *dev)
{
    if (!dev) {
        return;
    }
    rdma_reset(dev);
    fault_reset(&dev->fault_in);
    fault_reset(&dev->fault_out);
    core_table_free(&dev->qps);
    core_table_free(&dev->cqs);
    core_table_free(&dev->srqs);
    g_free(dev->mr_page);
    g_free(dev->heap);
    g_ptr_array_free(dev->wqe_blocks, true);
    g_ptr_array_free(dev->mcast, true);
    g_free(dev->tx_buf);
    g_free(dev->loop_buf);
    g_free(dev);
}

RdmaConfig *rdma_config(RdmaDev *dev)
{
    return &dev->cfg;
}

RdmaCounters *rdma_counters(RdmaDev *dev)
{
    return &dev->cnt;
}

const RdmaPort *rdma_port(const RdmaDev *dev)
{
    return &dev->port;
}

void rdma_port_set(RdmaDev *dev, const RdmaPort *port)
{
    bool moved = memcmp(dev->port.mac, port->mac, 6) ||
                 dev->port.lid != port->lid || dev->port.ip != port->ip ||
                 (port->link_up && !dev->port.link_up);

    dev->port = *port;
    dev->path_gen++;
    if (moved) {
        net_announce(dev);
        if (dev_ops(dev)->kick) {
            dev_ops(dev)->kick(dev->cfg.ops_opaque);
        }
    }
}

void rdma_rule(RdmaDev *dev, const char *rule, const char *text,
               uint32_t qpn)
{
    dev->cnt.broken_rules++;
    if (dev_ops(dev)->log) {
        dev_ops(dev)->log(dev->cfg.ops_opaque, rule, text, qpn);
    }
}

static void timers(RdmaDev *dev)
{
    RdmaQp *qp;

    while ((qp = sched_expired(dev))) {
        if (qp->repoll_at <= dev->now) {
            qp->repoll_at = NEVER;
            if (qp->attr.state == RDMA_QPS_ERR) {
                qp->req.more = true;
                qp->flush_recv = !qp->attr.has_srq;
                qp_run(qp);
            }
        }
        if (qp->rnr_at <= dev->now) {
            qp->rnr_at = NEVER;
            req_timeout_rnr(qp);
        }
        if (qp->loss_at <= dev->now) {
            qp->loss_at = NEVER;
            req_timeout_loss(qp);
        }
        qp_timer_update(qp);
    }
}

/*
 * Must it keep its packets back?  Not those that come back to ourselves; a path
 * that is not known yet costs one packet.
 */
static bool held_by_wire(const RdmaDev *dev, const RdmaQp *qp)
{
    const Path *p = &qp->path;

    return dev->wire_stopped && qp->attr.state != RDMA_QPS_ERR &&
           qp->attr.state != RDMA_QPS_SQE &&
           (qp->attr.service == RDMA_UD ||
            (p->valid && p->gen == dev->path_gen && !p->loop));
}

/* A turn of one QP; true: it wants another. */
static bool turn(RdmaDev *dev, RdmaQp *qp)
{
    for (int i = 0; i < QP_QUANTUM && dev->budget > 0; i++) {
        bool worked = false;

        if (held_by_wire(dev, qp)) {
            qp_stall(qp, STALL_WIRE);
            return false;
        }

        if (qp->attr.state == RDMA_QPS_ERR ||
            qp->attr.state == RDMA_QPS_SQE) {
            worked = resp_step(qp);
            return qp_flush(qp) || worked;
        }
        /* Answers first: they free the peer's buffers. */
        worked = resp_step(qp);
        if (!worked) {
            worked = req_step(qp);
        }
        if (!worked) {
            return false;
        }
        dev->budget--;
    }
    return true;
}

int64_t rdma_poll(RdmaDev *dev, int64_t now)
{
    return rdma_poll_some(dev, now, POLL_PACKETS);
}

bool rdma_only_ack(const RdmaDev *dev)
{
    const RdmaQp *qp = dev->run.first;

    return qp && !qp->link_next && qp_receives(qp) && qp->resp.ack_due &&
           (qp->resp.ack_syndrome & AETH_TYPE_MASK) == AETH_ACK &&
           qp->resp.res_head == qp->resp.res_tail && !qp->req.cur &&
           !qp->req.more && !qp->req.retx && !dev->tx_n &&
           dev->loop_head == dev->loop_tail;
}

void rdma_wire_stop(RdmaDev *dev, bool stop)
{
    if (dev->wire_stopped == stop) {
        return;
    }
    dev->wire_stopped = stop;
    if (!stop) {
        sched_wake(dev, STALL_WIRE);
        if (dev_ops(dev)->kick) {
            dev_ops(dev)->kick(dev->cfg.ops_opaque);
        }
    }
}

int64_t rdma_poll_some(RdmaDev *dev, int64_t now, unsigned packets)
{
    int64_t next;

    dev->now = now;
    dev->budget = packets;
    timers(dev);
    next = net_timers(dev);
    next = MIN(next, fault_timers(dev, &dev->fault_in, rx_wire));
    next = MIN(next, fault_timers(dev, &dev->fault_out, tx_wire));
    while (dev->budget > 0) {
        RdmaQp *qp = dev->run.first;

        if (!qp) {
            if (dev->loop_head == dev->loop_tail) {
                break;
            }
            dev->budget -= dev->loop_tail - dev->loop_head;
            tx_loop_drain(dev);
            continue;
        }
        qp_unlink(qp);
        if (turn(dev, qp)) {
            qp_run(qp);
        }
        dev->budget--;          /* even a turn without a packet counts */
    }
    tx_flush(dev);
    if (dev->run.first || dev->loop_head != dev->loop_tail) {
        return now;
    }
    /* ARP questions asked just now. */
    next = MIN(next, net_timers(dev));
    return MIN(next, sched_deadline(dev));
}
