/*
 * Management over the transaction layer: messages are its opcode 0x10, over CTP
 * (UB 2.0 §7.4.5.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_MGMT_TA_H
#define UB_MGMT_TA_H

#include "ub/mgmt.h"
#include "ub/ta.h"

/* UbMgmtOps.message. */
bool ub_mgmt_ta_message(UbTa *ta, int64_t now, const UbMgmtAddr *a,
                        const uint8_t *data, size_t len);
/* For UbTaOps.message. */
void ub_mgmt_ta_rx(UbMgmt *m, int64_t now, const UbTaMessage *t);

#endif
