/*
 * UB data link layer: configuration, life of an end, physical layer events,
 * timers and status (UB 2.0 §4.2, §4.8.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* -------------------------------------------------------- configuration - */

void ub_dll_config_init(UbDllConfig *cfg)
{
    *cfg = (UbDllConfig) {
        .wish = {
            .feature_id = 1,
            .vl_enable = 0x00ff,
            .retry_buf_depth = 8192,
            .rxbuf_vl_share = 1,
            .data_ack_grain = 0x20,
            .ctrl_ack_grain = 0x01,
            .flow_ctrl_size = 0x08,
            .packet_min_interval = 1,
        },
        .wait_timeout = 64000,
        .credit_timeout = 10 * INT64_C(1000000000),
        .keepalive = 2 * INT64_C(1000000000),
        .credit_delay = INT64_C(1000000),
        .mode_timeout = INT64_C(1000000000),
        .block_timeout = INT64_C(1000000),
        .num_retry_threshold = 15,
        .num_phy_reinit_threshold = 4,
        .crd_ack_reserve = 4,
        .queue_limit = 1024 * 1024,
        .init_flits = UB_INIT_FLITS,
        .retry_set_run = 32,
    };
    memset(cfg->wish.ctrl_credit_grain, 0x01, UB_VLS);
    memset(cfg->wish.data_credit_grain, 0x04, UB_VLS);
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        cfg->init_credit[vl] = vl == 0 ? 4096 : vl < 8 ? 512 : 0;
    }
}

const char *ub_dll_config_check_values(const UbDllConfig *cfg)
{
    if (cfg->crd_ack_reserve < 4) {
        return "the Crd_Ack reserve is less than 4 flits";
    }
    if (cfg->wish.retry_buf_depth < 64 ||
        cfg->wish.retry_buf_depth < cfg->crd_ack_reserve + 48u) {
        return "RETRY_BUF_DEPTH is less than 64, or than the Crd_Ack reserve "
               "and a block";
    }
    if (cfg->wish.retry_buf_depth > UINT16_MAX) {
        return "RETRY_BUF_DEPTH is more than the 65535 flits of an Init Block";
    }
    if (cfg->num_retry_threshold < 2 || cfg->num_retry_threshold == 255) {
        return "NUM_RETRY_THRESHOLD is not within 2 … 254";
    }
    if (cfg->num_phy_reinit_threshold < 1) {
        return "NUM_PHY_REINIT_THRESHOLD is 0";
    }
    if (cfg->wait_timeout < 1) {
        return "the WAIT timeout is not positive";
    }
    if (cfg->credit_timeout < 0 || cfg->keepalive < 0 ||
        cfg->credit_delay < 0 || cfg->mode_timeout < 0 ||
        cfg->block_timeout < 0) {
        return "a timeout is negative";
    }
    if (cfg->init_flits < UB_INIT_FLITS || cfg->init_flits > UB_BLOCK_FLITS) {
        return "the Init Block is not 5 … 32 flits long";
    }
    if (cfg->retry_set_run < 2 || cfg->retry_set_run > UB_RETRY_SET) {
        return "retry_set_run is not within 2 … 33";
    }
    if (cfg->fault_credit > UB_DLL_FAULT_OVERGRANT) {
        return "faults of credits are none, overrun or overgrant";
    }
    if (cfg->crc_cover > UB_CRC_COVER_BYTES) {
        return "the CRC coverage is unknown";
    }
    return NULL;
}

const char *ub_dll_config_check(const UbDllConfig *cfg)
{
    const char *broken = ub_dll_config_check_values(cfg);
    unsigned ack_grains = cfg->wish.ctrl_ack_grain;
    uint32_t cells = 0;

    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        cells += cfg->init_credit[vl];
    }
    if (!broken && cells > 65535) {
        broken = "initial credits exceed 65535 cells in all";
    }
    if (!broken && (ack_grains & -ack_grains) >
                   dll_ack_grain_max(cfg->wish.retry_buf_depth,
                                     cfg->crd_ack_reserve)) {
        broken = "every CTRL_ACK_GRAIN_SIZE of the set is too long for "
                 "RETRY_BUF_DEPTH";
    }
    return broken;
}

UbDll *ub_dll_new(const UbDllConfig *cfg, const UbDllOps *ops, void *opaque,
                  CorePacketPool *pool)
{
    UbDll *d;

    if (ub_dll_config_check(cfg) || !ops->deliver) {
        return NULL;
    }
    d = g_new0(UbDll, 1);
    d->cfg = *cfg;
    d->ops = *ops;
    d->opaque = opaque;
    d->pool = pool;
    d->loan = g_new0(DllLoan, 1);
    d->loan->dll = d;
    d->v.wish = cfg->wish;
    d->v.wait_at = d->v.credit_at = NEVER;
    d->v.keepalive_at = d->v.return_at = NEVER;
    d->v.mode_at = d->v.block_at = NEVER;
    d->v.agreed = ub_dll_negotiate(&cfg->wish, &cfg->wish);
    retry_resize(d, cfg->wish.retry_buf_depth);
    return d;
}

void ub_dll_free(UbDll *d)
{
    if (!d) {
        return;
    }
    vl_flush(d);
    core_packet_free(d->rx_pkt);
    d->loan->dll = NULL;
    if (!d->loan->packets) {
        g_free(d->loan);
    }
    g_free(d->ring);
    g_free(d->meta);
    g_free(d);
}

bool ub_dll_configure(UbDll *d, const UbDllConfig *cfg)
{
    if (ub_dll_config_check(cfg)) {
        return false;
    }
    d->cfg = *cfg;
    return true;
}

const UbDllConfig *ub_dll_config(const UbDll *d)
{
    return &d->cfg;
}

/* ---------------------------------------------- physical layer events --- */

/* §4.8.4, and the state after reset. */
static void disable(UbDll *d, const char *cause)
{
    UbDllVars *v = &d->v;
    bool was_up = v->state == UB_DLL_NORMAL && !v->fatal;

    dll_set_state(d, UB_DLL_SM, UB_DLL_DISABLED, cause);
    v->link_up = v->active = v->reached_normal = false;
    v->epoch++;
    vl_flush(d);
    v->tx_left = v->tx_pos = 0;
    v->nob_debt = 0;
    retry_resize(d, d->cfg.wish.retry_buf_depth);
    v->depth = d->ring_size;
    v->peer_depth = 0;
    v->handshake = v->init_sent = v->init_seen = false;
    v->sd_sent = v->sd_seen = false;
    memset(v->to_announce, 0, sizeof(v->to_announce));
    retry_reset(d);
    credit_reset(d);
    rx_reset(d);
    control_reset(d);
    if (was_up && d->ops.status) {
        d->ops.status(d->opaque, false);
    }
}

void ub_dll_reset(UbDll *d, int64_t now)
{
    d->now = now;
    disable(d, "reset");
    d->v.fatal = false;
}

void ub_dll_phy_up(UbDll *d, int64_t now)
{
    d->now = now;
    if (d->v.state == UB_DLL_DISABLED && !d->v.fatal) {
        disable(d, "LinkUp"); /* pick up a changed configuration */
        d->v.link_up = true;
        init_start(d);
    }
}

void ub_dll_phy_down(UbDll *d, int64_t now)
{
    d->now = now;
    if (d->v.link_up) {
        disable(d, "LinkUp lost");
    }
    if (d->cfg.down_recovers) {
        d->v.fatal = false;
    }
}

void ub_dll_phy_active(UbDll *d, int64_t now, UbBlockMode mode, bool fec)
{
    UbDllVars *v = &d->v;
    bool changed;

    d->now = now;
    if (v->state == UB_DLL_DISABLED || v->active || v->fatal) {
        return;
    }
    if (mode == UB_MODE_NON_CRC && !fec) {
        dll_peer_error(d, "Non-CRC mode needs FEC, CRC mode is kept");
        mode = UB_MODE_CRC;
    }
    changed = mode != v->mode;
    if (changed && (v->delim.in_pkt || v->delim.blk_pos || d->tx_pkt)) {
        /* The lengths of the DLLDP under way do not carry over; only a
         * physical layer that skipped the handshake gets here. */
        if (v->delim.in_pkt || v->delim.blk_pos || v->tx_index) {
            dll_error(d, UB_DLL_ERR_PROTOCOL,
                      "mode changed inside a DLLDP");
            return;
        }
        vl_undo(d);
    }
    v->mode = mode;
    v->active = true;
    d->stats.mode_changes += changed;
    if (v->req_state == UB_RETRY_REQ_RETRAIN ||
        v->req_state == UB_RETRY_REQ_NORMAL) {
        retry_enter_req(d, v->handshake ? "Retrain done" : "link start");
    }
    control_active(d, changed);
    dll_kick(d);
}

void ub_dll_phy_retrain(UbDll *d, int64_t now)
{
    UbDllVars *v = &d->v;

    d->now = now;
    if (!v->active) {
        return;
    }
    retry_quiesce(d);
    if (v->req_state <= UB_RETRY_REQ_WAIT && !v->fatal) {
        retry_enter_retrain(d, true, "Retrain of the physical layer");
    }
}

/* ------------------------------------------------------------ timers ---- */

static bool expired(int64_t *at, int64_t now)
{
    if (now < *at) {
        return false;
    }
    *at = NEVER;
    return true;
}

int64_t ub_dll_poll(UbDll *d, int64_t now)
{
    UbDllVars *v = &d->v;
    int64_t next = NEVER;

    d->now = now;
    if (!dll_running(d)) {
        return NEVER;
    }
    if (expired(&v->wait_at, now) && v->req_state == UB_RETRY_REQ_WAIT) {
        dll_error(d, UB_DLL_ERR_RETRY_ACK_TIMEOUT, "no Retry_Ack_Set in time");
        retry_enter_req(d, "WAIT timeout");
        dll_kick(d);
    }
    if (expired(&v->block_at, now) && v->delim.blk_pos) {
        d->stats.block_timeouts++;
        retry_event(d, "block not finished");
        dll_kick(d);
    }
    if (expired(&v->credit_at, now) && v->state == UB_DLL_NORMAL) {
        dll_error(d, UB_DLL_ERR_PROTOCOL, "no credit returned in time");
    }
    if (expired(&v->mode_at, now) && v->bmc != UB_BMC_IDLE) {
        control_reset(d);
        if (d->ops.mode_failed) {
            d->ops.mode_failed(d->opaque);
        }
        dll_kick(d);
    }
    if (expired(&v->keepalive_at, now) && v->state == UB_DLL_NORMAL) {
        v->keepalive_due = true;
        dll_kick(d);
    }
    if (v->keepalive_at == NEVER && !v->keepalive_due && d->cfg.keepalive &&
        v->state == UB_DLL_NORMAL && credit_may_starve(d)) {
        v->keepalive_at = now + d->cfg.keepalive;
    }
    credit_poll(d, now);
    if (!dll_running(d)) {
        return NEVER;
    }
    next = MIN(v->wait_at, v->block_at);
    next = MIN(next, v->return_at);
    next = MIN(next, v->credit_at);
    next = MIN(next, v->mode_at);
    return MIN(next, v->keepalive_at);
}

/* ------------------------------------------------------------ status ---- */

const UbDllStats *ub_dll_stats(const UbDll *d)
{
    return &d->stats;
}

void ub_dll_status(const UbDll *d, UbDllStatus *st)
{
    const UbDllVars *v = &d->v;

    *st = (UbDllStatus) {
        .state = v->state,
        .retry_req = v->req_state,
        .retry_ack = v->ack_state,
        .mode_change = v->bmc,
        .mode = v->mode,
        .link_up = v->link_up,
        .active = v->active,
        .fatal = v->fatal,
        .agreed = v->agreed,
        .tx_shared = v->shared,
        .tx_credit_shared = v->crd_share,
        .ack_pending = v->pending_ack,
        .wr_ptr = v->wr_ptr,
        .tail_ptr = v->tail_ptr,
        .rd_ptr = v->rd_ptr,
        .rcv_ptr = v->rcv_ptr,
        .num_free_buf = v->num_free,
        .depth = v->depth,
        .num_retry = v->num_retry,
        .num_phy_reinit = v->num_phy_reinit,
        .neighbor_valid = v->neighbor_valid,
        .neighbor_port = v->neighbor_port,
    };
    memcpy(st->neighbor_guid, v->neighbor_guid, sizeof(st->neighbor_guid));
    memcpy(st->tx_credit, v->crd, sizeof(st->tx_credit));
    memcpy(st->tx_credit_init, v->crd_init, sizeof(st->tx_credit_init));
    memcpy(st->rx_granted, v->granted, sizeof(st->rx_granted));
    memcpy(st->rx_held, v->held, sizeof(st->rx_held));
    memcpy(st->rx_pending, v->pending, sizeof(st->rx_pending));
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        st->queued[vl] = d->vlq[vl].count;
        st->starved |= (uint32_t)vl_starved(d, vl) << vl;
    }
}

uint32_t ub_dll_sm_status(const UbDll *d)
{
    return d->v.ack_state << 8 | d->v.req_state << 4 | d->v.state;
}

/* Four VLs in a word, VL 4 n in its low byte. */
static void grain_words(const uint8_t *grain, uint32_t *words)
{
    for (unsigned i = 0; i < 4; i++) {
        words[i] = get_le32(grain + 4 * i);
    }
}

void ub_dll_status_words(const UbDll *d, uint32_t words[12])
{
    const UbDllParams *a = &d->v.agreed;

    memset(words, 0, 12 * sizeof(words[0]));
    if (!d->v.init_seen) {
        return;
    }
    words[0x0] = a->rxbuf_vl_share;
    words[0x1] = a->ctrl_ack_grain << 8 | a->data_ack_grain;
    grain_words(a->ctrl_credit_grain, words + 0x2);
    grain_words(a->data_credit_grain, words + 0x6);
    words[0xa] = (uint32_t)a->packet_min_interval << 24 |
                 (uint32_t)a->flow_ctrl_size << 16 | a->vl_enable;
    words[0xb] = a->retry_buf_depth;
}
