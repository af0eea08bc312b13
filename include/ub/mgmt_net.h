/*
 * Management over the network layer: packets of messages and scans, LPH.CFG 6.
 *
 * A message has the headers that CTP and the transaction layer give it (UB 2.0
 * §10.4.3.1); a node that has these layers carries it by them instead
 * (docs/specs/ub-mgmt.rst).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_MGMT_NET_H
#define UB_MGMT_NET_H

#include "ub/mgmt.h"
#include "ub/net.h"

/* Bytes between NTH and MGMTETAH: CTPH, UPIH, EIDH, BTAH; and between NTH and
 * Scan Header: UPIH and padding. */
#define UB_MGMT_MESSAGE_HEAD 16
#define UB_MGMT_SCAN_HEAD 4

/* Write these headers; zeroes but for what @a says. */
void ub_mgmt_head_put(uint8_t *p, UbMgmtKind kind, const UbMgmtAddr *a);
/* Read them into @a; what the NTH says stays.  NULL, or the rule that a message's
 * headers break (its CTPH.Padding may be any). */
const char *ub_mgmt_head_get(const uint8_t *p, UbMgmtKind kind,
                             UbMgmtAddr *a);

/* UbMgmtOps.message and scan, with a packet of @pool. */
bool ub_mgmt_net_message(UbNet *net, CorePacketPool *pool, int64_t now,
                         const UbMgmtAddr *a, const uint8_t *data, size_t len);
bool ub_mgmt_net_scan(UbNet *net, CorePacketPool *pool, int64_t now,
                      unsigned port, const UbMgmtAddr *a,
                      const uint8_t *data, size_t len);
/* For the uppers UB_NET_TP (CFG 6 only) and UB_NET_SCAN: @pkt is freed. */
void ub_mgmt_net_rx_message(UbMgmt *m, int64_t now, CorePacket *pkt,
                            const UbFlow *flow);
void ub_mgmt_net_rx_scan(UbMgmt *m, int64_t now, CorePacket *pkt,
                         const UbFlow *flow);

#endif
