/*
 * Readers of UB data link control blocks (UB 2.0 §4.3.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/dll_format.h"

UbRetryReq ub_get_retry_req(const uint8_t *block)
{
    return (UbRetryReq) {
        .rcv_ptr = get_be16(block + 8),
        .num_phy_reinit = block[10],
        .num_retry = block[11],
    };
}

UbRetryAck ub_get_retry_ack(const uint8_t *block)
{
    return (UbRetryAck) {
        .num_retry = block[5],
        .num_free_buf = get_be16(block + 6),
        .rd_ptr = get_be16(block + 8),
        .wr_ptr = get_be16(block + 10),
    };
}

UbCrdAck ub_get_crd_ack(const uint8_t *block)
{
    UbCrdAck ca = {
        .initial = block[3] & 1,
        .send_done = block[3] >> 7,
        .ack_num = get_be16(block + 4),
    };

    for (unsigned i = 0; i < 4; i++) {
        uint32_t four = get_be24(block + 6 + 3 * i);
        uint8_t *n = ca.crd_num + 4 * (3 - i);

        for (unsigned j = 0; j < 4; j++) {
            n[j] = four >> 6 * j & 63;
        }
    }
    return ca;
}

UbLaneManage ub_get_lane_manage(const uint8_t *block)
{
    const uint8_t *cmd = block + 4;

    return (UbLaneManage) {
        .req = cmd[0] >> 4 == 0x5,
        .power_down = cmd[0] >> 2 & 1,
        .change_rlw = cmd[0] >> 1 & 1,
        .change_tlw = cmd[0] & 1,
        .rsp = cmd[1] >> 4 == 0xa,
        .rx_lane_up = cmd[1] >> 2 & 1,
        .rsp_rlw = cmd[1] >> 1 & 1,
        .rsp_tlw = cmd[1] & 1,
        .tlw = cmd[2] & 0x3f,
        .rlw = cmd[3] & 0x3f,
    };
}

UbDllParams ub_get_init(const uint8_t *block)
{
    const uint8_t *f1 = block + UB_FLIT_SIZE, *f2 = f1 + UB_FLIT_SIZE;
    const uint8_t *f3 = f2 + UB_FLIT_SIZE;
    UbDllParams p = {
        .feature_id = get_be16(block + 7),
        .rxbuf_vl_share = block[9] & 1,
        .data_ack_grain = block[10],
        .ctrl_ack_grain = block[11],
        .flow_ctrl_size = block[12],
        .vl_enable = get_be16(block + 13),
        .retry_buf_depth = get_be16(block + 16),
        .packet_min_interval = f3[13],
    };

    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        p.ctrl_credit_grain[vl] = vl < 14 ? f1[17 - vl] : f2[16 + 15 - vl];
        p.data_credit_grain[vl] = vl < 12 ? f2[15 - vl] : f3[14 + 15 - vl];
    }
    return p;
}
