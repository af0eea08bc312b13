/*
 * The transaction layer over the transport of tp.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/ta.h"

static UbSend lower_send(void *opaque, const UbTpDest *dest, CorePacket *pkt,
                         const UbTpTx *tx, int64_t now)
{
    return ub_tp_send(opaque, dest, pkt, tx, now);
}

static uint32_t lower_pick(void *opaque, uint32_t group)
{
    return ub_tpg_pick(opaque, group);
}

static void lower_answer(void *opaque, uint32_t tpn, uint32_t msn,
                         UbTpAnswer answer, int64_t now)
{
    ub_tp_answer(opaque, tpn, msn, answer, now);
}

static void lower_ahead(void *opaque, uint32_t tpn, bool next)
{
    ub_tp_ahead(opaque, tpn, next);
}

static uint32_t lower_mtu(void *opaque, uint32_t tpn)
{
    return ub_tp_mtu(opaque, &(UbTpDest){ .mode = UB_TP_RTP, .tpn = tpn });
}

const UbTaLower ub_ta_over_tp = {
    .send = lower_send,
    .pick = lower_pick,
    .answer = lower_answer,
    .reply = ub_tp_reply,
    .ahead = lower_ahead,
    .mtu = lower_mtu,
};
