/*
 * Writers of UB data link blocks (UB 2.0 §4.3.2, §4.3.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/dll_format.h"

void ub_seal_block(UbBlockFormat f, uint8_t *block, unsigned flits, bool last,
                   bool error_flag)
{
    if (f.mode == UB_MODE_CRC) {
        ub_crc30_seal(block, flits, error_flag, f.cover);
    } else if (last) {
        block[flits * UB_FLIT_SIZE - 1] = error_flag ? 0x40 : 0;
    }
}

/* A zeroed block with its LCH. */
static void start(uint8_t *block, unsigned flits, unsigned type,
                  unsigned byte3)
{
    memset(block, 0, flits * UB_FLIT_SIZE);
    put_be32(block, ub_lch(flits, type, byte3));
}

static unsigned finish(UbBlockFormat f, uint8_t *block, unsigned flits)
{
    ub_seal_block(f, block, flits, true, false);
    return flits;
}

unsigned ub_put_simple(UbBlockFormat f, uint8_t *block, unsigned type)
{
    start(block, 1, type, 0);
    return finish(f, block, 1);
}

unsigned ub_put_retry_req(UbBlockFormat f, uint8_t *block,
                          const UbRetryReq *req)
{
    start(block, 1, UB_CB_RETRY_REQ, 0);
    put_be16(block + 8, req->rcv_ptr);
    block[10] = req->num_phy_reinit;
    block[11] = req->num_retry;
    return finish(f, block, 1);
}

unsigned ub_put_retry_ack(UbBlockFormat f, uint8_t *block,
                          const UbRetryAck *ack)
{
    start(block, 1, UB_CB_RETRY_ACK, 0);
    block[5] = ack->num_retry;
    put_be16(block + 6, ack->num_free_buf);
    put_be16(block + 8, ack->rd_ptr);
    put_be16(block + 10, ack->wr_ptr);
    return finish(f, block, 1);
}

/* CRD_NUM is {VL15 … VL0}, 6 bits each, from byte 6: four VLs in 24 bits. */
unsigned ub_put_crd_ack(UbBlockFormat f, uint8_t *block, const UbCrdAck *ca)
{
    start(block, 2, UB_CB_CRD_ACK,
          (ca->initial && ca->send_done ? 0x80 : 0) | ca->initial);
    put_be16(block + 4, ca->ack_num);
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *n = ca->crd_num + 4 * (3 - i);

        put_be24(block + 6 + 3 * i,
                 (n[3] & 63u) << 18 | (n[2] & 63u) << 12 | (n[1] & 63u) << 6 |
                 (n[0] & 63u));
    }
    return finish(f, block, 2);
}

unsigned ub_put_param_exchg(UbBlockFormat f, uint8_t *block,
                            const uint32_t *words, unsigned n)
{
    start(block, n, UB_CB_PARAM_EXCHG, 0);
    for (unsigned i = 0; i < n; i++) {
        put_be32(block + i * UB_FLIT_SIZE + 8, words[i]);
    }
    return finish(f, block, n);
}

unsigned ub_put_lane_manage(UbBlockFormat f, uint8_t *block,
                            const UbLaneManage *lm)
{
    uint8_t *cmd = block + 4;

    start(block, 1, UB_CB_LANE_MANAGE, 0);
    if (lm->req) {
        cmd[0] = 0x50 | lm->power_down << 2 | lm->change_rlw << 1 |
                 lm->change_tlw;
    }
    if (lm->rsp) {
        cmd[1] = 0xa0 | lm->rx_lane_up << 2 | lm->rsp_rlw << 1 | lm->rsp_tlw;
    }
    cmd[2] = lm->tlw & 0x3f;
    cmd[3] = lm->rlw & 0x3f;
    return finish(f, block, 1);
}

unsigned ub_put_block_mode_chg(UbBlockFormat f, uint8_t *block, unsigned type)
{
    start(block, 1, UB_CB_BLOCK_MODE_CHG, type & 15);
    return finish(f, block, 1);
}

/* The parameters live in bytes 4 … 17 of flits 0 … 3 (Table 4-8). */
unsigned ub_put_init(UbBlockFormat f, uint8_t *block, const UbDllParams *p,
                     unsigned flits)
{
    uint8_t *f1 = block + UB_FLIT_SIZE, *f2 = f1 + UB_FLIT_SIZE;
    uint8_t *f3 = f2 + UB_FLIT_SIZE;

    flits = flits < UB_INIT_FLITS ? UB_INIT_FLITS : flits;
    flits = flits > UB_BLOCK_FLITS ? UB_BLOCK_FLITS : flits;
    start(block, flits, UB_CB_INIT, 0);
    put_be16(block + 7, p->feature_id);
    block[9] = p->rxbuf_vl_share & 1;
    block[10] = p->data_ack_grain;
    block[11] = p->ctrl_ack_grain;
    block[12] = p->flow_ctrl_size;
    put_be16(block + 13, p->vl_enable);
    put_be16(block + 16, p->retry_buf_depth);
    for (unsigned vl = 0; vl < 14; vl++) {
        f1[17 - vl] = p->ctrl_credit_grain[vl];
    }
    for (unsigned vl = 0; vl < 12; vl++) {
        f2[15 - vl] = p->data_credit_grain[vl];
    }
    f2[16] = p->ctrl_credit_grain[15];
    f2[17] = p->ctrl_credit_grain[14];
    f3[13] = p->packet_min_interval;
    for (unsigned vl = 12; vl < 16; vl++) {
        f3[14 + 15 - vl] = p->data_credit_grain[vl];
    }
    return finish(f, block, flits);
}

unsigned ub_pack_dlldb(UbBlockFormat f, uint32_t lph, UbPlength shape,
                       unsigned index, const uint8_t *payload, unsigned len,
                       bool error_flag, uint8_t *block)
{
    const bool last = index + 1u == shape.blocks;
    const unsigned flits = last ? shape.last_flits : UB_BLOCK_FLITS;
    const UbBlockSlice s = ub_block_slice(f.mode, index, len);
    const unsigned used = s.in_block + s.bytes;

    if (index == 0) {
        put_be32(block, lph);
    } else {
        put_be16(block, lph >> 16);
    }
    memcpy(block + s.in_block, payload + s.in_packet, s.bytes);
    memset(block + used, 0, flits * UB_FLIT_SIZE - used);
    ub_seal_block(f, block, flits, last, last && error_flag);
    return flits;
}

unsigned ub_pack_packet(UbBlockFormat f, unsigned vl, unsigned cfg,
                        unsigned rt, const uint8_t *payload, unsigned len,
                        bool error_flag, uint8_t *out, unsigned max_flits)
{
    UbPlength shape;
    unsigned n = 0;
    uint32_t lph;

    if (!ub_plength_of(f.mode, len, &shape) ||
        ub_plength_flits(shape) > max_flits) {
        return 0;
    }
    lph = ub_lph(vl, cfg, rt, ub_plength_pack(shape));
    for (unsigned i = 0; i < shape.blocks; i++) {
        n += ub_pack_dlldb(f, lph, shape, i, payload, len, error_flag,
                           out + n * UB_FLIT_SIZE);
    }
    return n;
}
