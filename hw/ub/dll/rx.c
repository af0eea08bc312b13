/*
 * Receive: block delimiting and what good blocks do (UB 2.0 §4.3.4.1,
 * §4.3.4.3).
 *
 * A block that arrives whole in one call is used where it lies; only one that
 * is spread over calls or FEC frames is put together in rx_block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static void rx_abandon(UbDll *d)
{
    core_packet_free(d->rx_pkt);
    d->rx_pkt = NULL;
    d->v.rx_drop = d->v.rx_refund = false;
    d->v.rx_cells = 0;
}

void rx_reset(UbDll *d)
{
    UbDllVars *v = &d->v;

    rx_abandon(d);
    memset(&v->delim, 0, sizeof(v->delim));
    memset(&v->snap, 0, sizeof(v->snap));
    memset(&v->resume, 0, sizeof(v->resume));
    v->snap_ptr = v->skip = 0;
    v->block_at = NEVER;
}

/* Back to the position that RcvPtr names: in CRC mode the start of the block,
 * in Non-CRC mode right behind the last good flit. */
void rx_rewind(UbDll *d)
{
    UbDllVars *v = &d->v;

    if (v->skip) {
        v->delim = v->resume;
        v->skip = 0;
    }
    if (v->mode == UB_MODE_CRC || !v->delim.buffered) {
        v->delim.blk_pos = 0;
    }
    v->block_at = NEVER;
    retry_set_broken(d);
}

/* What a block of @flits flits moves RcvPtr by, or takes off a replay. */
static void advance(UbDll *d, unsigned flits)
{
    UbDllVars *v = &d->v;

    if (v->skip) {
        v->skip -= MIN(flits, v->skip);
        d->stats.rx_discarded += flits;
    } else {
        v->rcv_ptr = v->peer_depth
                     ? ring_add(v->rcv_ptr, flits, v->peer_depth)
                     : v->rcv_ptr + flits;
    }
}

/* A block starts with @flit: its length and kind. */
static void open_block(UbDll *d, const uint8_t *flit)
{
    Delim *m = &d->v.delim;

    m->control = ub_block_cfg(flit) == 0;
    m->buffered = true;
    if (m->control) {
        m->blk_len = ub_lch_flits(flit);
        m->buffered = !ub_lch_unbuffered(flit);
    } else if (!m->in_pkt) {
        UbPlength p = ub_plength_unpack(ub_lph_plength(get_be32(flit)));

        m->blocks = p.blocks;
        m->last_flits = p.last_flits;
        m->blk_len = p.blocks == 1 ? p.last_flits : UB_BLOCK_FLITS;
    } else {
        m->blk_len = m->index + 2 == m->blocks ? m->last_flits
                                               : UB_BLOCK_FLITS;
    }
}

/* First Block: what to do with the DLLDP. */
static void packet_start(UbDll *d, uint32_t lph)
{
    UbDllVars *v = &d->v;
    UbPlength p = ub_plength_unpack(ub_lph_plength(lph));
    unsigned vl = ub_lph_vl(lph);
    int len = ub_plength_payload(v->mode, p);

    rx_abandon(d);
    v->rx_lph = lph;
    v->rx_drop = true;
    if (v->state != UB_DLL_NORMAL) {
        return;
    }
    if (!(v->agreed.vl_enable >> vl & 1)) {
        dll_peer_error(d, "DLLDP on a VL that is not in use");
        return;
    }
    v->rx_cells = dll_cells(d, ub_plength_flits(p));
    if (!credit_rx_claim(d, vl, v->rx_cells)) {
        dll_error(d, UB_DLL_ERR_RX_OVERFLOW,
                  "DLLDP without credit overflows the Receive Buffer");
        return;
    }
    v->rx_refund = true;
    if (!ub_lph_cfg_is_dlldp(ub_lph_cfg(lph))) {
        d->stats.rx_reserved_cfg++;
        return;
    }
    if (len < 0) {
        dll_error(d, UB_DLL_ERR_PACKET_LENGTH,
                  "PLENGTH is reserved or does not fit");
        return;
    }
    d->rx_pkt = core_packet_alloc(d->pool, len);
    v->rx_drop = !d->rx_pkt;
}

/* A delivered packet is freed.  What it held of before a link loss is not part
 * of the Receive Buffer any more. */
static void packet_released(CorePacket *pkt)
{
    const UbPktMeta *m = ub_meta(pkt);
    DllLoan *loan = pkt->release_opaque;
    UbDll *d = loan->dll;

    loan->packets--;
    if (!d) {
        if (!loan->packets) {
            g_free(loan);
        }
    } else if (m->rx_epoch == d->v.epoch && d->v.state == UB_DLL_NORMAL) {
        credit_rx_release(d, m->rx_vl, m->rx_cells);
        if (!d->delivering) {
            dll_kick(d);
        }
    }
}

static void packet_end(UbDll *d, bool error_flag)
{
    UbDllVars *v = &d->v;
    CorePacket *pkt = d->rx_pkt;
    unsigned vl = ub_lph_vl(v->rx_lph);
    unsigned cells = v->rx_cells;

    if (v->rx_drop) {
        bool refund = v->rx_refund;

        rx_abandon(d);
        d->stats.rx_dropped++;
        if (refund) {
            credit_rx_release(d, vl, cells);
        }
        return;
    }
    d->rx_pkt = NULL;
    rx_abandon(d);
    *ub_meta(pkt) = (UbPktMeta) {
        .vl = vl,
        .lph_cfg = ub_lph_cfg(v->rx_lph),
        .rt = ub_lph_rt(v->rx_lph),
        .error = error_flag,
        .rx_vl = vl,
        .rx_cells = cells,
        .rx_epoch = v->epoch,
    };
    pkt->released = packet_released;
    pkt->release_opaque = d->loan;
    d->loan->packets++;
    d->stats.rx_packets++;
    d->stats.rx_bytes += pkt->len;
    d->stats.rx_error_flag += error_flag;
    d->delivering = true;
    d->ops.deliver(d->opaque, pkt);
    d->delivering = false;
}

static void dlldb_rx(UbDll *d, const uint8_t *block, unsigned flits,
                     bool first, bool last)
{
    UbDllVars *v = &d->v;
    const uint32_t head = first ? get_be32(block)
                                : (uint32_t)get_be16(block) << 16;

    if (first) {
        packet_start(d, head);
    } else if (((head ^ v->rx_lph) & ub_lph(15, 15, 0, 0)) && !v->rx_drop) {
        dll_peer_error(d, "LBH names another VL or CFG than the LPH");
        v->rx_drop = true;
    }
    if (v->state == UB_DLL_NORMAL && (head & UB_LPH_ACK)) {
        credit_ack_rx(d, v->agreed.data_ack_grain);
    }
    if (v->state == UB_DLL_NORMAL && (head & UB_LPH_CRD) && !v->fatal) {
        unsigned vl = ub_lph_crd_vl(head);

        credit_grant(d, vl, v->agreed.data_credit_grain[vl], false);
    }
    if (!dll_running(d)) {
        return; /* an error stopped the layer, or its report led to a reset */
    }
    if (d->rx_pkt && !v->rx_drop) {
        UbBlockSlice s = ub_block_slice(v->mode, v->delim.index,
                                        d->rx_pkt->len);

        memcpy(core_packet_data(d->rx_pkt) + s.in_packet, block + s.in_block,
               s.bytes);
    }
    if (last) {
        packet_end(d, ub_block_error_flag(v->mode, block, flits));
    }
}

/* The open block is complete at @block. */
static void close_block(UbDll *d, const uint8_t *block)
{
    UbDllVars *v = &d->v;
    Delim *m = &v->delim;
    const unsigned flits = m->blk_len;
    const bool skipped = v->skip;
    bool first, last;

    if (v->mode == UB_MODE_CRC &&
        !ub_crc30_check(block, flits, d->cfg.crc_cover)) {
        d->stats.crc_errors++;
        retry_event(d, "CRC30");
        return;
    }
    m->blk_pos = 0;
    if (!m->buffered) {
        if (ub_lch_type(block) != UB_CB_NULL) {
            retry_rx_block(d, block);
        } else {
            d->stats.rx_null++;
            retry_set_broken(d);
        }
        return;
    }
    retry_set_broken(d);
    first = last = false;
    if (!m->control) {
        first = !m->in_pkt;
        m->index = first ? 0 : m->index + 1;
        last = m->index + 1u == m->blocks;
        m->in_pkt = !last;
    }
    if (v->mode == UB_MODE_CRC) {
        advance(d, flits);
    }
    if (skipped) {
        if (!v->skip) {
            *m = v->resume;
        }
        return;
    }
    if (d->ops.block) {
        d->ops.block(d->opaque, false, block, flits);
    }
    v->pending_ack += flits;
    if (v->num_retry | v->num_phy_reinit) {
        retry_progress(d);
    }
    if (m->control) {
        control_rx(d, block, flits);
    } else {
        dlldb_rx(d, block, flits, first, last);
    }
}

/* As many flits of @f (@n good ones) as belong to the current block. */
static size_t rx_run(UbDll *d, const uint8_t *f, size_t n)
{
    UbDllVars *v = &d->v;
    Delim *m = &v->delim;
    const uint8_t *block = f;
    const bool direct = m->blk_pos == 0;
    size_t take;

    if (direct) {
        open_block(d, f);
    }
    take = MIN(n, (size_t)(m->blk_len - m->blk_pos));
    if (!direct || take < m->blk_len) {
        memcpy(d->rx_block + m->blk_pos * UB_FLIT_SIZE, f,
               take * UB_FLIT_SIZE);
        block = d->rx_block;
    }
    m->blk_pos += take;
    if (v->mode == UB_MODE_NON_CRC && m->buffered) {
        bool skipped = v->skip;

        advance(d, take);
        if (skipped && !v->skip) {
            *m = v->resume; /* the second replay has caught up */
            return take;
        }
    }
    if (m->blk_pos == m->blk_len) {
        close_block(d, block);
    }
    return take;
}

/* Good flits from @i on, at most up to @n. */
static size_t good_run(const uint8_t *fec_ok, size_t i, size_t n)
{
    size_t at = i;

    if (!fec_ok) {
        return n - i;
    }
    while (at < n && fec_ok[at] && at - i < UB_BLOCK_FLITS) {
        at++;
    }
    return at - i;
}

void ub_dll_rx(UbDll *d, int64_t now, const uint8_t *flits, size_t n,
               const uint8_t *fec_ok)
{
    UbDllVars *v = &d->v;
    const uint64_t nulls = d->stats.rx_null;

    d->now = now;
    for (size_t i = 0; i < n && dll_running(d) && v->state;) {
        const uint8_t *f = flits + i * UB_FLIT_SIZE;
        size_t good = good_run(fec_ok, i, n);

        if (!good) {
            d->stats.fec_errors++;
        }
        if (v->req_state != UB_RETRY_REQ_NORMAL) {
            retry_hunt(d, f, good);
            i++;
        } else if (v->seen.left && retry_leftover(d, f, good)) {
            i++;
        } else if (!good) {
            retry_event(d, "FEC");
            i++;
        } else {
            i += rx_run(d, f, good);
        }
    }
    if (!v->delim.blk_pos || v->req_state != UB_RETRY_REQ_NORMAL) {
        v->block_at = NEVER;
    } else if (n && d->cfg.block_timeout) {
        v->block_at = now + d->cfg.block_timeout;
    }
    d->stats.rx_flits += n - (d->stats.rx_null - nulls);
}
