/*
 * Control plane blocks: encapsulation mode change (UB 2.0 §4.3.3.8),
 * Lane_Manage (§4.3.3.7) and Param_Exchg (§4.3.3.6).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Words of the neighbour advertisement (§10.4.4). */
#define ADVERT_WORDS 5

void control_reset(UbDll *d)
{
    UbDllVars *v = &d->v;

    dll_set_state(d, UB_BMC_SM, UB_BMC_IDLE, "reset");
    v->bmc_local = v->bmc_peer_req = false;
    v->mode_at = NEVER;
    if (v->state == UB_DLL_DISABLED) {
        v->lm_count = v->px_count = 0;
        v->neighbor_valid = false;
        v->neighbor_port = 0;
        memset(v->neighbor_guid, 0, sizeof(v->neighbor_guid));
    }
    control_press(d);
}

/* Tell the network layer to hold back, and when it need not any more. */
void control_press(UbDll *d)
{
    bool on = d->v.bmc != UB_BMC_IDLE;

    if (on != d->v.pressed) {
        d->v.pressed = on;
        if (d->ops.back_pressure) {
            d->ops.back_pressure(d->opaque, on);
        }
    }
}

static void enter(UbDll *d, UbBmcState state, const char *cause)
{
    dll_set_state(d, UB_BMC_SM, state, cause);
    control_press(d);
    if (state == UB_BMC_READY && d->v.bmc_local && d->ops.mode_ready) {
        d->ops.mode_ready(d->opaque);
    }
}

bool ub_dll_mode_change(UbDll *d, int64_t now)
{
    d->now = now;
    if (d->v.state != UB_DLL_NORMAL || d->v.bmc != UB_BMC_IDLE ||
        d->v.fatal) {
        return false;
    }
    d->v.mode_at = d->cfg.mode_timeout ? now + d->cfg.mode_timeout : NEVER;
    d->v.bmc_local = true;
    enter(d, UB_BMC_DRAIN, "asked by the physical layer");
    dll_kick(d);
    return true;
}

/*
 * Has the peer acknowledged every DLLDP?  Nothing in a Block_Mode_Chg tells
 * which request it answers: what comes late, of a handshake that was given up,
 * can end the next one while the data sent in between is under way.
 */
static bool drained(const UbDll *d)
{
    return d->v.depth - d->v.num_free <= d->v.behind_data;
}

UbDllModeGate ub_dll_mode_gate(const UbDll *d)
{
    /* DLLCBs can be replayed in another mode; DLLDPs begin in DLL_Normal. */
    if (d->v.state != UB_DLL_NORMAL) {
        return UB_DLL_MODE_OWN;
    }
    if (d->v.bmc != UB_BMC_READY || !drained(d)) {
        return UB_DLL_MODE_KEEP;
    }
    return d->v.bmc_local ? UB_DLL_MODE_OWN : UB_DLL_MODE_FOLLOW;
}

/* Nothing but retry may be sent. */
bool control_quiet(const UbDll *d)
{
    return d->v.bmc == UB_BMC_QUIET || d->v.bmc == UB_BMC_READY;
}

/* Only Crd_Ack and the blocks of the mode change may be sent; a DLLDP under
 * way is finished first. */
bool control_only_acks(const UbDll *d)
{
    return d->v.bmc != UB_BMC_IDLE && !d->tx_pkt;
}

/* Next block of the mode change, if one is due now. */
unsigned control_mode_block(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;
    bool acking = v->bmc == UB_BMC_ACKING || v->bmc == UB_BMC_PEER_ACKING;

    if (v->bmc == UB_BMC_IDLE || d->tx_pkt) {
        return 0;
    }
    if (acking && credit_ack_units(d)) {
        return retry_room(d, 2, true) ? credit_crd_ack_block(d, out) : 0;
    }
    if ((!acking && v->bmc != UB_BMC_DRAIN && v->bmc != UB_BMC_PEER_DRAIN) ||
        !retry_room(d, 1, false)) {
        return 0;
    }
    if (!acking && v->behind_data + 1u < v->agreed.ctrl_ack_grain) {
        /* Less than a grain stays unacknowledged: not the end of a DLLDP. */
        d->stats.tx_nob++;
        return ub_put_simple(dll_format(d), out, UB_CB_NOB);
    }
    switch (v->bmc) {
    case UB_BMC_DRAIN:
        enter(d, v->bmc_peer_req ? UB_BMC_ACKING : UB_BMC_REQ_SENT,
              "Block_Mode_Chg_REQ sent");
        return ub_put_block_mode_chg(dll_format(d), out, UB_BMC_REQ);
    case UB_BMC_PEER_DRAIN:
        enter(d, UB_BMC_PEER_WAIT, "Block_Mode_Chg_REQ sent");
        return ub_put_block_mode_chg(dll_format(d), out, UB_BMC_REQ);
    case UB_BMC_ACKING:
        enter(d, UB_BMC_QUIET, "Block_Mode_Chg_ACK sent");
        return ub_put_block_mode_chg(dll_format(d), out, UB_BMC_ACK);
    default:
        enter(d, UB_BMC_READY, "Block_Mode_Chg_ACK sent");
        return ub_put_block_mode_chg(dll_format(d), out, UB_BMC_ACK);
    }
}

static void mode_rx(UbDll *d, unsigned type)
{
    UbDllVars *v = &d->v;

    if (type == UB_BMC_REQ) {
        switch (v->bmc) {
        case UB_BMC_PEER_DRAIN:
            return; /* the answer is still to go */
        case UB_BMC_PEER_WAIT:
            /*
             * The peer gave up and asks again - or took a late answer of ours
             * for a request and answers that.  Nothing tells the two apart, and
             * two ends that answer each other would never stop: answer once
             * more, then let it time out.
             */
            if (v->bmc_peer_req) {
                return;
            }
            v->bmc_peer_req = true;
            enter(d, UB_BMC_PEER_DRAIN, "Block_Mode_Chg_REQ received again");
            return;
        case UB_BMC_PEER_ACKING: /* the peer gave up and asks again */
        case UB_BMC_IDLE:
            v->bmc_peer_req = false;
            v->mode_at = d->cfg.mode_timeout ? d->now + d->cfg.mode_timeout
                                             : NEVER;
            enter(d, UB_BMC_PEER_DRAIN, "Block_Mode_Chg_REQ received");
            return;
        case UB_BMC_DRAIN:
            v->bmc_peer_req = true; /* both ends asked */
            return;
        case UB_BMC_REQ_SENT:
            enter(d, UB_BMC_ACKING, "Block_Mode_Chg_REQ received");
            return;
        }
    } else if (type == UB_BMC_ACK) {
        switch (v->bmc) {
        case UB_BMC_IDLE:
        case UB_BMC_DRAIN:
            return; /* late, of a change that this end gave up */
        case UB_BMC_QUIET:
            enter(d, UB_BMC_READY, "Block_Mode_Chg_ACK received");
            return;
        case UB_BMC_PEER_DRAIN: /* an earlier answer served for this request */
        case UB_BMC_PEER_WAIT:
        case UB_BMC_ACKING: /* both asked, and the peer was faster */
            enter(d, UB_BMC_PEER_ACKING, "Block_Mode_Chg_ACK received");
            return;
        }
    }
    dll_peer_error(d, "Block_Mode_Chg out of turn");
}

/* Link_Active again: a mode change that came that far is over. */
void control_active(UbDll *d, bool changed)
{
    if (changed || d->v.bmc == UB_BMC_READY) {
        d->v.bmc_local = d->v.bmc_peer_req = false;
        d->v.mode_at = NEVER;
        enter(d, UB_BMC_IDLE, "Retrain done");
    }
}

bool ub_dll_send_lane_manage(UbDll *d, const UbLaneManage *lm)
{
    UbDllVars *v = &d->v;
    uint8_t block[UB_FLIT_SIZE];

    if (v->state != UB_DLL_NORMAL || v->fatal || v->lm_count >= LM_QUEUE) {
        return false;
    }
    ub_put_lane_manage(dll_format(d), block, lm);
    memcpy(v->lm[v->lm_count++], block + 4, sizeof(v->lm[0]));
    dll_kick(d);
    return true;
}

bool ub_dll_send_param_exchg(UbDll *d, const uint32_t *words, unsigned n)
{
    UbDllVars *v = &d->v;

    if (v->state != UB_DLL_NORMAL || v->fatal || v->px_count || n < 1 ||
        n > UB_BLOCK_FLITS) {
        return false;
    }
    memcpy(v->px, words, n * sizeof(words[0]));
    v->px_count = n;
    dll_kick(d);
    return true;
}

/* Neighbour advertisement on entering DLL_Normal (§10.4.4). */
void control_advertise(UbDll *d)
{
    uint32_t words[ADVERT_WORDS] = { d->cfg.port_idx };

    if (!d->cfg.advertise) {
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        words[1 + i] = get_be32(d->cfg.guid + 12 - 4 * i);
    }
    ub_dll_send_param_exchg(d, words, ADVERT_WORDS);
}

/* Lane_Manage before Param_Exchg, as in the reference order (§4.3.3.1). */
unsigned control_other_block(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;
    unsigned flits;

    if (v->lm_count && retry_room(d, 1, false)) {
        uint8_t cmd[UB_FLIT_SIZE] = { 0 };
        UbLaneManage lm;

        memcpy(cmd + 4, v->lm[0], sizeof(v->lm[0]));
        lm = ub_get_lane_manage(cmd);
        v->lm_count--;
        memmove(v->lm[0], v->lm[1], v->lm_count * sizeof(v->lm[0]));
        return ub_put_lane_manage(dll_format(d), out, &lm);
    }
    if (v->px_count && retry_room(d, v->px_count, false)) {
        flits = ub_put_param_exchg(dll_format(d), out, v->px, v->px_count);
        v->px_count = 0;
        return flits;
    }
    return 0;
}

static void param_exchg_rx(UbDll *d, const uint8_t *block, unsigned flits)
{
    UbDllVars *v = &d->v;
    uint32_t words[UB_BLOCK_FLITS];

    for (unsigned i = 0; i < flits; i++) {
        words[i] = ub_get_param_exchg(block, i);
    }
    if (flits == ADVERT_WORDS) {
        v->neighbor_valid = true;
        v->neighbor_port = words[0];
        for (unsigned i = 0; i < 4; i++) {
            put_be32(v->neighbor_guid + 12 - 4 * i, words[1 + i]);
        }
    }
    if (d->ops.param_exchg) {
        d->ops.param_exchg(d->opaque, words, flits);
    }
}

static void crd_ack_rx(UbDll *d, const uint8_t *block)
{
    UbDllVars *v = &d->v;
    UbCrdAck ca = ub_get_crd_ack(block);

    if (!v->init_seen) {
        dll_peer_error(d, "Crd_Ack before the Init Block");
        return;
    }
    if (ca.ack_num) {
        credit_ack_rx(d, ca.ack_num * v->agreed.ctrl_ack_grain);
    }
    if (!dll_running(d)) {
        return;
    }
    if (ca.initial) {
        init_credit_rx(d, &ca);
        return;
    }
    v->credit_at = NEVER; /* also an empty one shows that the peer lives */
    for (unsigned vl = 0; vl < UB_VLS && dll_running(d); vl++) {
        if (ca.crd_num[vl] && v->sd_seen) {
            credit_grant(d, vl, ca.crd_num[vl] *
                         v->agreed.ctrl_credit_grain[vl], false);
        } else if (ca.crd_num[vl]) {
            dll_peer_error(d, "credit returned before it was granted");
            return;
        }
    }
}

/* A good DLLCB that the Retry Buffer of the peer keeps. */
void control_rx(UbDll *d, const uint8_t *block, unsigned flits)
{
    const UbDllcbInfo *info = ub_dllcb_info(ub_lch_type(block));
    UbLaneManage lm;

    d->stats.rx_control++;
    if (!ub_lch_valid(block) || !info) {
        dll_peer_error(d, "DLLCB of unknown type");
        return;
    }
    if (flits < info->min_flits || flits > info->max_flits) {
        dll_peer_error(d, "DLLCB of wrong length");
        return;
    }
    switch (info->type) {
    case UB_CB_CRD_ACK:
        crd_ack_rx(d, block);
        break;
    case UB_CB_INIT:
        init_rx(d, block);
        break;
    case UB_CB_PARAM_EXCHG:
        if (d->v.state == UB_DLL_NORMAL) {
            param_exchg_rx(d, block, flits);
        }
        break;
    case UB_CB_LANE_MANAGE:
        lm = ub_get_lane_manage(block);
        if (d->v.state == UB_DLL_NORMAL && d->ops.lane_manage) {
            d->ops.lane_manage(d->opaque, &lm);
        }
        break;
    case UB_CB_BLOCK_MODE_CHG:
        if (d->v.state == UB_DLL_NORMAL) {
            mode_rx(d, block[3] & 15);
        }
        break;
    default: /* No_Operation */
        break;
    }
}
