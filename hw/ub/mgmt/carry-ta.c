/*
 * Management over the transaction layer (UB 2.0 §7.4.5.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"
#include "ub/mgmt_ta.h"

/* Payload of a packet; a message has 1,028 bytes at most. */
#define MTU 4096

bool ub_mgmt_ta_message(UbTa *ta, int64_t now, const UbMgmtAddr *a,
                        const uint8_t *data, size_t len)
{
    UbMgmtEtah e = ub_mgmt_etah_get(data);
    UbTaDest dest = {
        .tp.mode = UB_TP_CTP, .sl_writeback = UB_TA_SAME_SL, .mtu = MTU,
        .sec = {
            .form = UB_SEC_SHORT, .mgmt = a->mgmt, .upi = a->upi,
            .seid = ub_eid_of_short(a->seid), .deid = ub_eid_of_short(a->deid),
        },
    };
    UbTaRequest req = {
        .opcode = UB_TA_MANAGEMENT, .msn = a->msn, .mgmt_queue = a->queue,
        .mgmt_code = e.code, .mgmt_sub = e.sub, .mgmt_status = e.status,
        .mgmt_rsp = e.rsp, .len = len - UB_MGMT_ETAH,
    };
    UbFlow *f = &dest.tp.flow;

    ub_flow_init(f, UB_LPH_CNA16);
    f->nlp = UB_NLP_CTPH;
    f->port = a->via ? a->via - 1 : UB_NET_ANY;
    f->scna = a->scna;
    f->dcna = a->dcna;
    f->sl = a->sl;
    f->lbf = a->lbf;
    f->mgmt = a->mgmt;
    return ub_ta_message(ta, now, &dest, &req, data + UB_MGMT_ETAH) == UB_SENT;
}

void ub_mgmt_ta_rx(UbMgmt *m, int64_t now, const UbTaMessage *t)
{
    uint8_t data[UB_MGMT_MAX];
    UbMgmtAddr a = {
        .scna = t->flow->scna, .dcna = t->flow->dcna, .sl = t->flow->sl,
        .lbf = t->flow->lbf, .mgmt = t->flow->mgmt,
        .via = t->flow->port < UB_NET_MAX_PORTS ? t->flow->port + 1 : 0,
        .upi = t->sec->upi, .seid = ub_eid_short(&t->sec->seid),
        .deid = ub_eid_short(&t->sec->deid), .msn = t->msn, .queue = t->queue,
    };

    if (t->len > UB_MGMT_PDU_MAX || t->poison) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_HEADER,
                      "a management message that is poisoned or too long");
        return;
    }
    ub_mgmt_etah_put(data, (UbMgmtEtah) {
        .code = t->code, .sub = t->sub, .rsp = t->rsp, .status = t->status,
        .len = t->len });
    if (t->len) {
        memcpy(data + UB_MGMT_ETAH, t->pdu, t->len);
    }
    ub_mgmt_receive(m, now, &a, data, UB_MGMT_ETAH + t->len);
}
