/*
 * RC Link: life of a port and its turns.  The roof.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- configuration ---- */

void rclink_config_init(RclinkConfig *cfg)
{
    *cfg = (RclinkConfig) {
        .qps = RCL_QPS_MAX, .vcs = RCL_BANKS, .ost1 = RCL_OST1_MAX,
        .ost2 = RCL_OST2_MAX, .speed = 400, .payload = RCL_PAYLOAD,
        .rx2_bytes = 64 << 10, .time_scale = 1,
    };
}

const char *rclink_config_check(const RclinkConfig *cfg)
{
    if (cfg->vcs != 1 && cfg->vcs != 2 && cfg->vcs != 4) {
        return "type1-vcs must be 1, 2 or 4";
    }
    if (cfg->qps < RCL_BANKS || cfg->qps > RCL_QPS_MAX ||
        cfg->qps & (cfg->qps - 1)) {
        return "qps must be a power of two from 4 to 1024";
    }
    if (cfg->ost1 < 1 || cfg->ost1 > RCL_OST1_MAX || cfg->ost2 < 1 ||
        cfg->ost2 > RCL_OST2_MAX) {
        return "ost1 must be 1 to 512, ost2 1 to 16";
    }
    if (cfg->speed != 200 && cfg->speed != 400) {
        return "speed must be 200 or 400";
    }
    if (cfg->payload < RCL_PAYLOAD || cfg->payload > RCL_PAYLOAD_MAX) {
        return "payload must be 1344 to 4096";
    }
    if (cfg->rx2_bytes < RCL_PAYLOAD_MAX || cfg->rx2_bytes > 16 << 20) {
        return "rx2-bytes must be 4 KiB to 16 MiB";
    }
    if (!cfg->time_scale || cfg->time_scale > RCL_TIME_SCALE_MAX) {
        return "time-scale must be 1 to 1000000";
    }
    return NULL;
}

/* ---- life ---- */

enum { LINE = 128 };            /* of the cache, and what is fetched with it */

static void reset_type1(Rclink *d)
{
    /* Each packet's credit goes back (RC Link §12.11.1). */
    for (unsigned i = 0; i < d->cfg.qps; i++) {
        while (d->qp[i].slots) {
            rcl_slot_free_first(d, &d->qp[i],
                                RCL_EV_DROPPED + RCL_DROP_RESET);
        }
    }
    core_timers_free(&d->timers);
    d->timers = (CoreTimers) { 0 };
    d->owe_ack = d->owe_cnp = (RclSet) { { 0 }, 0 };
    d->ack_at = d->cnp_send_at = 0;
    d->masked_num = d->counted_num = 0;
    memset(d->cnp, 0, sizeof(d->cnp));
    for (unsigned i = 0; i < d->cfg.qps; i++) {
        d->qp[i] = (RclQp) {
            .id = i, .first = NO_SLOT, .last = NO_SLOT, .cc_mask = true,
        };
    }
    rcl_slots_init(d);
    for (RclFlow f = FLOW_BANK0; f < FLOW_ACK; f++) {
        rcl_wait_drop(d, f);
    }
}

static void reset_type3(Rclink *d)
{
    rcl_type3_reset_tx(d);
    rcl_type3_reset_rx(d);
    d->md_tx.en = d->md_rx.en = false;
}

/*
 * What is downstream of the port (RC Link §12.15.4): its credits go with it, and the
 * port resumes by itself, with the credits that the MAC sets up anew, and with all of
 * those for frames (MAC2TX_CREDIT_RST_I, §12.11.5): it takes some more, whatever the
 * wire still has to take of it.  TYPE2's cells are not concerned (§12.6).
 */
static void reset_mac(Rclink *d)
{
    uint8_t ready = rcl_credit_ready(d);

    rcl_wait_credits_reset(d);
    rcl_pfc_reset(d);
    rcl_credit_setup(d, ready);
    d->wire_stopped = false;
    rcl_event(d, RCL_EV_MAC, 0, 0, 0, 0);
    d->link_news = true;
    rcl_kick(d);
}

void rcl_life_reset(Rclink *d, uint32_t what)
{
    if (what & RCL_RESET_ALL) {
        what = UINT32_MAX & ~RCL_RESET_MAC;
        /* First, so that nobody is told of what goes. */
        for (unsigned i = 0; i < RCL_RINGS; i++) {
            rcl_ring_reset(&d->ring[i]);
        }
        d->reg.event_mask = 0;
    }
    if (what & RCL_RESET_TYPE1) {
        reset_type1(d);
    }
    if (what & RCL_RESET_TYPE2) {
        rcl_type2_reset(d);
    }
    if (what & RCL_RESET_TYPE3) {
        reset_type3(d);
    }
    if (what & RCL_RESET_MAC) {
        reset_mac(d);
    }
    if (what & RCL_RESET_ALL) {
        rcl_wait_credits_reset(d);
        rcl_pfc_reset(d);
        d->md_tx = d->md_rx = (RclMdRing) { .reset = true };
        rcl_regs_reset(d);
        d->port.window_ns = INT64_C(4096) * d->cfg.time_scale;
        d->nocnp_next = d->age = 0;
        d->turn = 0;
        d->out_len = 0;
        d->link_news = false;
        rcl_regs_decode(d);
    }
}

/* Memory of which blocks of 2^n bytes lie on lines of the cache: @bytes at *@p within
 * the result. */
static void *lines_new(size_t bytes, void **p)
{
    uint8_t *room = g_malloc0(bytes + LINE);

    *p = room + (-(uintptr_t)room & (LINE - 1));
    return room;
}

Rclink *rclink_new(const RclinkConfig *cfg)
{
    Rclink *d = g_new0(Rclink, 1);
    void *p;

    d->cfg = *cfg;
    d->qp_room = lines_new(cfg->qps * sizeof(*d->qp), &p);
    d->qp = p;
    d->slot = g_new0(RclSlot, cfg->ost1);
    d->payload_step = cfg->payload;
    d->payload_room = lines_new(cfg->ost1 * d->payload_step, &p);
    d->payload = p;
    d->payload2 = g_malloc(cfg->ost2 * d->payload_step);
    d->pool = core_packet_pool_new(0, 0);
    d->gather = g_malloc(RCL_TX_FRAME_MAX);
    d->out = g_malloc(OUT_BYTES + RCL_WIRE_PREFIX + RCL_WIRE_MAX);
    d->scratch = g_malloc(RCL_WIRE_MAX);
    d->scratch_out = g_malloc(RCL_WIRE_MAX);
    d->port.window_ns = INT64_C(4096) * cfg->time_scale;
    rcl_life_reset(d, RCL_RESET_ALL);
    return d;
}

void rclink_free(Rclink *d)
{
    if (!d) {
        return;
    }
    for (unsigned f = 0; f < FLOWS; f++) {
        rcl_wait_drop(d, f);
    }
    core_packet_pool_free(d->pool);
    core_timers_free(&d->timers);
    core_fault_free(&d->fault_out);
    core_fault_free(&d->fault_in);
    g_free(d->qp_room);
    g_free(d->slot);
    g_free(d->payload_room);
    g_free(d->payload2);
    g_free(d->gather);
    g_free(d->out);
    g_free(d->scratch);
    g_free(d->scratch_out);
    g_free(d);
}

void rclink_reset(Rclink *d)
{
    rcl_life_reset(d, RCL_RESET_ALL);
    core_fault_drop(&d->fault_in);
    core_fault_drop(&d->fault_out);
    rcl_kick(d);
}

/* ---- the wire's state ---- */

void rclink_wire_stop(Rclink *d, bool stop)
{
    bool was = d->mac_holds;

    d->mac_holds = d->wire_stopped = stop;
    if (was && !stop) {
        rcl_multi_returned(d);
        rcl_kick(d);
    }
}

void rclink_link(Rclink *d, bool up)
{
    if (d->link == up) {
        return;
    }
    d->link = up;
    core_fault_drop(&d->fault_in);
    core_fault_drop(&d->fault_out);
    rcl_pfc_reset(d);
    d->link_news = true;
    rcl_kick(d);
}

void rclink_mac_reset(Rclink *d)
{
    reset_mac(d);
}

RclCounters *rclink_counters(Rclink *d)
{
    return &d->cnt;
}

void rclink_faults_changed(Rclink *d)
{
    rcl_pfc_update(d);
    rcl_kick(d);
}

/* ---- turns ---- */

/* What came of its own accord or waited for room. */
static int64_t run_before(Rclink *d)
{
    int64_t in = rcl_rx_run(d), out = rcl_mac_run(d), next = MIN(in, out);
    CoreTimer *t;

    if (d->link_news) {
        /* Not before: a machine that is still being loaded takes no message. */
        d->link_news = false;
        d->cfg.ops->msix(d->cfg.opaque, RCL_VEC_MAC);
    }
    while ((t = core_timers_expired(&d->timers, d->now)) != NULL) {
        rcl_sender_timer(d, qp_of_timer(t));
    }
    rcl_rate_run(d);
    rcl_pfc_run(d);
    rcl_wait_run(d);
    rcl_type3_run(d);
    return next;
}

/* Frames of the MAC, indices and interrupts; when to come back. */
static int64_t run_after(Rclink *d)
{
    /* Each once: MIN() evaluates the smaller one again. */
    int64_t pfc = rcl_pfc_run(d), credit = rcl_credit_run(d);
    int64_t rate = rcl_rate_run(d), nocnp = rcl_nocnp_run(d);
    int64_t next = MIN(MIN(pfc, credit), MIN(rate, nocnp));

    rcl_mac_flush(d);
    if (!d->mac_holds && d->multi_used) {
        rcl_multi_returned(d);
        d->kicked |= d->used2 > 0;
    }
    rcl_ring_publish(d);
    return MIN(next, core_timers_deadline(&d->timers));
}

int64_t rclink_run(Rclink *d, int64_t now, unsigned packets)
{
    int64_t next, after;
    bool more;

    d->now = now;
    d->running = true;
    d->kicked = false;
    next = run_before(d);
    more = rcl_tx_turn(d, packets);
    after = run_after(d);
    d->running = false;
    return more || d->kicked ? now : MIN(next, after);
}

/* ---- for monitors ---- */

static const char *const ring_name[RCL_RING_INFOS] = {
    [RCL_RING_TX] = "tx", [RCL_RING_RX1] = "rx-type1",
    [RCL_RING_RX2] = "rx-type2", [RCL_RING_EVENT] = "events",
    "tx-type3", "rx-type3",
};

void rclink_info(Rclink *d, RclInfo *info)
{
    *info = (RclInfo) {
        .link = d->link, .enabled = d->reg.rdma_en & 1,
        .wire_stopped = d->mac_holds, .format = d->port.layout.format,
        .free1 = d->free1, .free2 = d->cfg.ost2 - d->used2,
        .multicast_left = MULTI_CELLS - d->multi_used,
    };
    for (unsigned v = 0; v < VCS; v++) {
        const RclVc *vc = &d->cbfc.vc[v];

        info->vc[v] = (RclVcInfo) {
            .ready = vc->ready, .size = vc->ready ? 1u << vc->size_log : 0,
            .limit = vc->limit, .left = rcl_credit_left(vc),
            .paused = d->pfc.paused >> v & 1,
            .stopping = d->pfc.want >> v & 1,
        };
    }
    for (unsigned n = 0; n < RCL_RINGS; n++) {
        const RclRing *r = &d->ring[n];

        info->ring[n] = (RclRingInfo) {
            .name = ring_name[n], .enabled = r->en, .stopped = r->error,
            .base = r->base, .entries = 1u << r->size, .head = r->head,
            .tail = r->tail,
        };
    }
    for (unsigned n = 0; n < 2; n++) {
        const RclMdRing *r = n ? &d->md_rx : &d->md_tx;

        info->ring[RCL_RINGS + n] = (RclRingInfo) {
            .name = ring_name[RCL_RINGS + n], .enabled = r->en && !r->reset,
            .stopped = r->stopped, .base = r->base, .entries = r->size,
            .head = r->head, .tail = r->tail,
        };
    }
}

bool rclink_qp_info(Rclink *d, uint32_t qp, RclQpInfo *info)
{
    const RclQp *q = &d->qp[qp];

    if (qp >= d->cfg.qps) {
        return false;
    }
    *info = (RclQpInfo) {
        .enabled = q->en, .fatal = q->fatal, .rate_masked = q->cc_mask,
        .rnr = q->rnr_hold, .tx_psn = q->tx_psn, .una = q->una,
        .epsn = q->epsn, .outstanding = q->slots, .rate = q->speed,
        .retries = q->retry,
    };
    return true;
}
