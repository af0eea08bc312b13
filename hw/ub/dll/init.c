/*
 * Parameter and credit initialisation (UB 2.0 §4.2, §4.4, §4.6.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define MIN_DEPTH 16 /* an Init Block and a few Crd_Acks must fit */

/* Smallest size that both sets hold, else the one every end can do. */
static uint8_t agree(uint8_t a, uint8_t b, uint8_t fallback)
{
    uint8_t both = a & b;

    return both ? both & -both : fallback;
}

/* Table 4-9; fall-backs of §4.4 field by field. */
UbDllParams ub_dll_negotiate(const UbDllParams *local,
                             const UbDllParams *remote)
{
    uint16_t vls = local->vl_enable & remote->vl_enable;
    UbDllParams r = *remote;

    r.feature_id = MIN(local->feature_id, remote->feature_id);
    if (r.feature_id == 0) {
        r.feature_id = 1;
    }
    r.data_ack_grain = agree(local->data_ack_grain, remote->data_ack_grain,
                             32);
    r.ctrl_ack_grain = agree(local->ctrl_ack_grain, remote->ctrl_ack_grain, 1);
    r.flow_ctrl_size = agree(local->flow_ctrl_size, remote->flow_ctrl_size, 8);
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        r.ctrl_credit_grain[vl] = agree(local->ctrl_credit_grain[vl],
                                        remote->ctrl_credit_grain[vl], 1);
        r.data_credit_grain[vl] = agree(local->data_credit_grain[vl],
                                        remote->data_credit_grain[vl], 4);
    }
    /* VLs are numbered without gaps from 0: keep those below the first gap. */
    vls = (1u << __builtin_ctz(~(uint32_t)vls)) - 1;
    r.vl_enable = vls ? vls : 1;
    return r;
}

/* LinkUp: DLL_Disabled -> DLL_Param_Init. */
void init_start(UbDll *d)
{
    UbDllVars *v = &d->v;

    v->wish = d->cfg.wish;
    dll_set_state(d, UB_DLL_SM, UB_DLL_PARAM_INIT, "LinkUp");
}

/* First Retry_Ack_Set of this link: Init Blocks may flow (§4.2). */
void init_handshake_done(UbDll *d)
{
    d->v.handshake = true;
}

bool init_wants_init_block(const UbDll *d)
{
    return d->v.state == UB_DLL_PARAM_INIT && d->v.handshake &&
           !d->v.init_sent;
}

static void param_init_check(UbDll *d)
{
    UbDllVars *v = &d->v;

    if (v->state != UB_DLL_PARAM_INIT || !v->init_sent || !v->init_seen) {
        return;
    }
    v->shared = d->cfg.tx_share && v->agreed.rxbuf_vl_share;
    v->granted_total = 0;
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        uint32_t grain = v->agreed.ctrl_credit_grain[vl];
        uint32_t cells = v->agreed.vl_enable >> vl & 1 ? d->cfg.init_credit[vl]
                                                       : 0;

        /* What the grain cannot express cannot be announced. */
        cells -= cells % grain;
        v->to_announce[vl] = cells;
        v->granted[vl] = cells;
        v->granted_total += cells;
    }
    dll_set_state(d, UB_DLL_SM, UB_DLL_CREDIT_INIT, "Init Blocks exchanged");
}

unsigned init_block(UbDll *d, uint8_t *out)
{
    d->v.init_sent = true;
    return ub_put_init(dll_format(d), out, &d->v.wish, d->cfg.init_flits);
}

void init_rx(UbDll *d, const uint8_t *block)
{
    UbDllVars *v = &d->v;
    UbDllParams remote = ub_get_init(block);

    if (v->state != UB_DLL_PARAM_INIT || v->init_seen) {
        dll_peer_error(d, "Init Block outside DLL_Param_Init");
        return;
    }
    if (remote.retry_buf_depth < MIN_DEPTH) {
        dll_error(d, UB_DLL_ERR_PROTOCOL, "RETRY_BUF_DEPTH of the peer is "
                  "too small to work with");
        return;
    }
    v->peer_depth = remote.retry_buf_depth;
    v->rcv_ptr %= v->peer_depth;
    v->agreed = ub_dll_negotiate(&v->wish, &remote);
    if (v->agreed.ctrl_ack_grain >
            dll_ack_grain_max(v->depth, d->cfg.crd_ack_reserve) ||
        v->agreed.ctrl_ack_grain > v->peer_depth) {
        dll_error(d, UB_DLL_ERR_PROTOCOL, "CTRL_ACK_GRAIN_SIZE agreed on is "
                  "too long for a RETRY_BUF_DEPTH");
        return;
    }
    v->init_seen = true;
    param_init_check(d);
}

bool init_wants_credit_block(const UbDll *d)
{
    return d->v.state == UB_DLL_CREDIT_INIT && !d->v.sd_sent;
}

static void credit_init_check(UbDll *d)
{
    UbDllVars *v = &d->v;

    if (v->state == UB_DLL_CREDIT_INIT && v->sd_sent && v->sd_seen) {
        if (v->shared) {
            credit_carve(d);
        }
        v->reached_normal = true;
        dll_set_state(d, UB_DLL_SM, UB_DLL_NORMAL, "credits exchanged");
        control_advertise(d);
        if (d->ops.status) {
            d->ops.status(d->opaque, true);
        }
    }
}

/* The next Crd_Ack with T = 1; the last one has SD (§4.3.3.5). */
unsigned init_credit_block(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;
    UbCrdAck ca = { .initial = true, .send_done = true };
    unsigned flits;

    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        unsigned grain = v->agreed.ctrl_credit_grain[vl];
        unsigned units = MIN(63, v->to_announce[vl] / grain);

        ca.crd_num[vl] = units;
        v->to_announce[vl] -= units * grain;
        ca.send_done = ca.send_done && !v->to_announce[vl];
    }
    flits = ub_put_crd_ack(dll_format(d), out, &ca);
    v->sd_sent = ca.send_done;
    return flits;
}

void init_credit_rx(UbDll *d, const UbCrdAck *ca)
{
    UbDllVars *v = &d->v;

    if (v->state != UB_DLL_CREDIT_INIT || v->sd_seen) {
        dll_peer_error(d, "initial Crd_Ack outside DLL_Credit_Init");
        return;
    }
    for (unsigned vl = 0; vl < UB_VLS && dll_running(d); vl++) {
        if (ca->crd_num[vl]) {
            credit_grant(d, vl, ca->crd_num[vl] *
                         v->agreed.ctrl_credit_grain[vl], true);
        }
    }
    if (ca->send_done && dll_running(d)) {
        v->sd_seen = true;
    }
    credit_init_check(d);
}

/* A block that completes our half was handed to the physical layer. */
void init_sent(UbDll *d)
{
    param_init_check(d);
    credit_init_check(d);
}
