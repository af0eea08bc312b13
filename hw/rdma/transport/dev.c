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
        .source_check = true,
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
    dev->path_gen = 1;
    return dev;
}

static void drop_qp(void *opaque, void *qp)
{
    rdma_qp_destroy(opaque, qp);
}

static void drop_cq(void *opaque, void *cq)
{
    rdma_cq_destroy(opaque, cq);
}

static void drop_srq(void *opaque, void *srq)
{
    rdma_srq_destroy(opaque, srq);
}

void rdma_reset(RdmaDev *dev)
{
    core_table_foreach(&dev->qps, drop_qp, dev);     /* and their groups */
    core_table_foreach(&dev->cqs, drop_cq, dev);
    core_table_foreach(&dev->srqs, drop_srq, dev);
    memset(&dev->held, 0, sizeof(dev->held));
    for (uint32_t i = 0; i <= dev->mr_mask / CORE_TABLE_PAGE; i++) {
        g_clear_pointer(&dev->mr_page[i], g_free);
    }
    memset(dev->neigh, 0, sizeof(dev->neigh));
    dev->neigh_at = 0;
    dev->path_gen++;
    dev->tx_n = 0;
    dev->tx_used = 0;
    dev->loop_head = dev->loop_tail = 0;
    core_fault_drop(&dev->fault_in);
    core_fault_drop(&dev->fault_out);
}

void rdma_free(RdmaDev *dev)
{
    if (!dev) {
        return;
    }
    rdma_reset(dev);
    core_fault_free(&dev->fault_in);
    core_fault_free(&dev->fault_out);
    core_table_free(&dev->qps);
    core_table_free(&dev->cqs);
    core_table_free(&dev->srqs);
    g_free(dev->mr_page);
    core_timers_free(&dev->timers);
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
        dev_kick(dev);
    }
}

void rdma_link_set(RdmaDev *dev, bool up)
{
    if (dev->port.link_up == up) {
        return;
    }
    dev->port.link_up = up;
    dev->path_gen++;
    if (up) {
        net_announce(dev);
        dev_kick(dev);
    }
}

bool rdma_rx_frame(RdmaDev *dev, const uint8_t *frame, size_t len,
                   int64_t now)
{
    const uint8_t *ip = frame + ROCE_ETH_BYTES;
    uint16_t type;

    dev->now = now;
    if (len < ROCE_ETH_BYTES) {
        return false;
    }
    type = get_be16(frame + 12);
    if (type == 0x0806) {
        if (dev->port.link_up) {
            net_rx_arp(dev, frame, len);
        }
    } else if (type == 0x0800 && len >= ROCE_NET_BYTES && ip[0] == 0x45 &&
               ip[9] == 17 && !(get_be16(ip + 6) & 0x3fff) &&
               get_be16(ip + ROCE_IP_BYTES + 2) == ROCE_UDP_PORT) {
        if (!dev->port.link_up) {
            return true;
        }
        if (dev->fault_in.on) {
            fault_rx(dev, frame, len);
        } else {
            rx_frame(dev, frame, len, true);
        }
    } else {
        return false;
    }
    dev_kick(dev);
    return true;
}

/* ---- the poll loop ---- */

static void run_timers(RdmaDev *dev)
{
    RdmaQp *qp;

    while ((qp = sched_expired(dev))) {
        if (qp->repoll_at <= dev->now) {
            qp->repoll_at = NEVER;
            if (qp->attr.state == RDMA_QPS_ERR) {
                qp->req.more = true;
                qp->flush_recv = true;
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
static bool qp_turn(RdmaDev *dev, RdmaQp *qp)
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
        if (!worked && qp->stall == STALL_NONE) {
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
           qp->resp.reply_head == qp->resp.reply_tail && !qp->req.cur &&
           !qp->req.more && !qp->req.retx && !dev->tx_n &&
           !loop_frames(dev);
}

void rdma_wire_stop(RdmaDev *dev, bool stop)
{
    if (dev->wire_stopped == stop) {
        return;
    }
    dev->wire_stopped = stop;
    if (!stop) {
        sched_wake(dev, STALL_WIRE);
        dev_kick(dev);
    }
}

int64_t rdma_poll_some(RdmaDev *dev, int64_t now, unsigned packets)
{
    int64_t next;

    dev->now = now;
    dev->budget = packets;
    run_timers(dev);
    next = net_timers(dev);
    next = MIN(next, fault_timers(dev));
    while (dev->budget > 0) {
        RdmaQp *qp;

        sched_admit(dev);
        qp = dev->run.first;
        if (!qp) {
            if (!loop_frames(dev)) {
                break;
            }
            dev->budget -= loop_frames(dev);
            loop_drain(dev);
            continue;
        }
        qp_unlink(qp);
        if (qp_turn(dev, qp)) {
            qp_run(qp);
        }
        dev->budget--;          /* even a turn without a packet counts */
    }
    tx_flush(dev);
    sched_admit(dev);
    if (dev->run.first || loop_frames(dev)) {
        return now;
    }
    /* ARP questions asked just now. */
    next = MIN(next, net_timers(dev));
    return MIN(next, core_timers_deadline(&dev->timers));
}
