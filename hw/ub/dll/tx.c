/*
 * Transmit: which block goes out next, and building it (UB 2.0 §4.3.3.1,
 * §4.3.4.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Block @index of tx_pkt, with credits and ACKs of the peer in its header. */
static unsigned dlldb(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;
    CorePacket *pkt = d->tx_pkt;
    const bool last = v->tx_index + 1u == v->tx_shape.blocks;
    unsigned flits = last ? v->tx_shape.last_flits : UB_BLOCK_FLITS;
    unsigned all;

    if (!retry_room(d, flits, false)) {
        return 0;
    }
    ub_pack_dlldb(dll_format(d), v->tx_lph | credit_header_bits(d),
                  v->tx_shape, v->tx_index, core_packet_data(pkt), pkt->len,
                  ub_meta(pkt)->error, out);
    v->tx_index++;
    if (last) {
        all = ub_plength_flits(v->tx_shape);
        if (all < v->agreed.packet_min_interval) {
            v->nob_debt = v->agreed.packet_min_interval - all;
        }
        vl_done(d);
        v->tx_index = 0;
    }
    return flits;
}

/*
 * One block into @out, in the reference order of §4.3.3.1 behind the retry
 * sets: mode change, Crd_Ack, Lane_Manage, Param_Exchg, initial Crd_Ack, Init,
 * No_Operation, DLLDP.  0: nothing can be sent.  A block of lower rank never
 * overtakes one that only waits for room, so the reserve works.
 */
static unsigned buffered_block(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;
    bool dlldp;
    unsigned flits;

    switch (v->state) {
    case UB_DLL_PARAM_INIT:
        return init_wants_init_block(d) && retry_room(d, d->cfg.init_flits,
                                                      false)
               ? init_block(d, out) : 0;
    case UB_DLL_CREDIT_INIT:
        if (credit_wants_crd_ack(d, false)) {
            return credit_crd_ack_block(d, out);
        }
        return init_wants_credit_block(d) && retry_room(d, 2, false)
               ? init_credit_block(d, out) : 0;
    case UB_DLL_NORMAL:
        break;
    default:
        return 0;
    }

    flits = control_mode_block(d, out);
    if (flits || control_quiet(d)) {
        return flits;
    }
    if (!d->tx_pkt && !control_only_acks(d)) {
        vl_next(d);
    }
    dlldp = d->tx_pkt && retry_room(d, UB_BLOCK_FLITS, false);
    if (credit_wants_crd_ack(d, dlldp)) {
        return credit_crd_ack_block(d, out);
    }
    if (control_only_acks(d)) {
        return 0;
    }
    flits = control_other_block(d, out);
    if (flits) {
        return flits;
    }
    if (v->nob_debt) {
        if (!retry_room(d, 1, false)) {
            return 0;
        }
        d->stats.tx_nob++;
        return ub_put_simple(dll_format(d), out, UB_CB_NOB);
    }
    return d->tx_pkt ? dlldb(d, out) : 0;
}

static unsigned next_block(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;
    unsigned flits;
    uint8_t state;

    if (!dll_running(d)) {
        return 0;
    }
    if (retry_tx_pending(d)) {
        flits = retry_tx(d, out);
        if (flits || !dll_running(d)) {
            return flits;
        }
    }
    state = v->state;
    flits = buffered_block(d, out);
    if (flits) {
        if (!ub_block_cfg(out)) {
            d->stats.tx_control++;
            d->stats.tx_crd_acks += ub_lch_type(out) == UB_CB_CRD_ACK;
            v->nob_debt -= MIN(v->nob_debt, flits);
        }
        retry_store(d, out, flits);
        if (state != UB_DLL_NORMAL) {
            init_sent(d);
        }
    }
    return flits;
}

size_t ub_dll_tx(UbDll *d, int64_t now, uint8_t *flits, size_t max_flits)
{
    UbDllVars *v = &d->v;
    size_t n = 0;

    d->now = now;
    while (n < max_flits) {
        size_t room = max_flits - n;
        uint8_t *out = flits + n * UB_FLIT_SIZE;
        unsigned got;

        if (v->tx_left) {
            /* The rest of a block that the last call had no room for. */
            got = MIN(room, v->tx_left);
            memcpy(out, d->tx_block + v->tx_pos * UB_FLIT_SIZE,
                   got * UB_FLIT_SIZE);
            v->tx_pos += got;
            v->tx_left -= got;
            n += got;
            continue;
        }
        if (room < UB_BLOCK_FLITS) {
            out = d->tx_block;
        }
        got = next_block(d, out);
        if (!got) {
            break;
        }
        if (d->ops.block) {
            d->ops.block(d->opaque, true, out, got);
        }
        if (out == d->tx_block) {
            v->tx_left = got;
            v->tx_pos = 0;
        } else {
            n += got;
        }
    }
    d->stats.tx_flits += n;
    return n;
}
