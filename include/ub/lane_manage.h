/*
 * Lane_Manage: how two ends agree on other link widths (UB 2.0 §4.3.3.6).  The
 * physical layer has something to say, the data link layer carries it; the
 * bytes of Table 4-7 are ub_put_lane_manage() and ub_get_lane_manage().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_LANE_MANAGE_H
#define UB_LANE_MANAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Lane_Manage CMD (Table 4-7).  Widths are one-hot: 1, 2, 4, 8 lanes. */
typedef struct UbLaneManage {
    bool req, rsp; /* REQ_ID and RSP_ID have their fixed values */
    bool power_down, change_rlw, change_tlw;  /* of a request */
    bool rx_lane_up, rsp_rlw, rsp_tlw;        /* of a response */
    uint8_t tlw, rlw;
} UbLaneManage;

#endif
