/*
 * Messages at the target: Send and the immediate of a Write (UB 2.0 §7.4.3), and
 * Management (§7.4.5.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Who sent it: with a sequence context a request names that in place of its queue. */
static uint32_t sender(const Arrival *a)
{
    return a->back.rcid_set ? a->back.rcid : a->tah.rc_id;
}

static UbRecvResult ask_buffer(UbTa *ta, const Arrival *a, uint32_t token,
                               UbRecvBuf *buf)
{
    const UbTah *t = &a->tah;
    UbRecvAsk ask = {
        .entity = a->entity, .seid = a->head.seid,
        .who = ta_who(&a->flow, true), .rc_id = sender(a),
        .tc_type = t->tc_type, .hint = t->hint, .tc_id = t->tc_id,
        .token_en = t->tv_en, .token = token,
        .bare = a->head.form == UB_SEC_NONE,
    };

    buf->timer = ta->cfg.rnr_timer;
    return ta->ops->receive(ta->opaque, &ask, buf);
}

static Outcome recv_outcome(UbTa *ta, UbRecvResult r, const UbRecvBuf *buf)
{
    switch (r) {
    case UB_RECV_OK:
        return ta_outcome(UB_TAH_OK, 0);
    case UB_RECV_EMPTY:
        return ta_outcome(UB_TAH_RNR, MIN(buf->timer, UB_TAH_TIMER_MAX));
    case UB_RECV_DENIED:
        return ta_outcome(UB_TAH_COMPLETER, UB_TAH_ABORT);
    case UB_RECV_SILENT:
        ta_count(ta, UB_TAC_DROP_SILENT);
        return (Outcome) { .silent = true };
    default:
        return ta_outcome(UB_TAH_COMPLETER, UB_TAH_UNSUPPORTED);
    }
}

static void tell_received(UbTa *ta, const Arrival *a, uint64_t rqe,
                          UbTaStatus status, uint32_t len)
{
    UbRecvDone done = {
        .rqe = rqe, .status = status, .opcode = a->tah.opcode,
        .fce = a->tah.fce, .len = len, .imm = a->tah.imm,
        .tc_id = a->tah.tc_id,
        .rc_id = sender(a),
        .seid = a->head.seid, .who = ta_who(&a->flow, true),
        .entity = a->entity,
    };

    if (a->ctx) {
        ta_ctx_received(a->ctx, a->tah.tassn, a->tah.ordered_cqe, &done);
    } else {
        ta_count(ta, UB_TAC_RECEIVED);
        ta->ops->received(ta->opaque, &done);
    }
}

/* Its end will not come. */
void ta_partial_abort(UbTa *ta, Partial *p)
{
    UbRecvDone done = {
        .rqe = p->buf.rqe, .status = UB_TAS_TIMEOUT, .opcode = UB_TA_SEND,
        .len = p->got, .tc_id = p->tc_id, .rc_id = p->rc_id,
        .entity = p->entity,
    };

    if (p->rqe_taken) {
        p->rqe_taken = false;
        ta_count(ta, UB_TAC_RECEIVED);
        ta->ops->received(ta->opaque, &done);
    }
}

/* Put the data into the buffer. */
static Outcome fill_buffer(UbTa *ta, const Arrival *a, const UbRecvBuf *buf,
                           uint32_t pos, UbTaStatus *status)
{
    if (pos > buf->len || a->len > buf->len - pos) {
        *status = UB_TAS_LOCAL_LENGTH;
        ta_rule(ta, false, "7.4.3.1", "message longer than the buffer");
        return ta_outcome(UB_TAH_COMPLETER, UB_TAH_UNSUPPORTED);
    }
    if (a->len && !ta->ops->place(ta->opaque, buf->rqe, pos, a->data,
                                  a->len)) {
        *status = UB_TAS_LOCAL_ACCESS;
        return ta_outcome(UB_TAH_COMPLETER, UB_TAH_ABORT);
    }
    return ta_outcome(UB_TAH_OK, 0);
}

Outcome ta_send_packet(UbTa *ta, Arrival *a, Partial *p)
{
    UbTaStatus status = UB_TAS_OK;
    bool poison = a->tah.poison;
    UbRecvBuf one, *buf = p ? &p->buf : &one;
    uint32_t pos = 0, total = a->len;
    UbRecvResult r;
    Outcome out;

    if (!p || !p->rqe_taken) {
        r = ask_buffer(ta, a, a->tah.token, buf);
        if (r != UB_RECV_OK) {
            return recv_outcome(ta, r, buf);
        }
    }
    if (poison) {
        ta_count(ta, UB_TAC_POISON_RX);
    }
    if (p) {
        p->rqe_taken = true;
        p->tc_id = a->tah.tc_id;
        p->rc_id = a->tah.rc_id;
        p->entity = a->entity;
        p->poison = p->poison || poison;
        poison = p->poison;
        pos = a->tah.offset * (uint64_t)UB_OFST_UNIT > UINT32_MAX - a->len
              ? UINT32_MAX - a->len : a->tah.offset * UB_OFST_UNIT;
        p->got += a->len;
        total = p->got;
    }
    out = fill_buffer(ta, a, buf, pos, &status);
    if (!status && a->rx.last && total != pos + a->len && !poison) {
        status = UB_TAS_REMOTE_LENGTH;
        ta_rule(ta, false, "7.2.7", "offsets and lengths of a message");
        out = ta_outcome(UB_TAH_COMPLETER, UB_TAH_UNSUPPORTED);
    }
    if (!status && !a->rx.last) {
        return out;
    }
    if (!status && poison) {
        status = UB_TAS_REMOTE_POISON;
    }
    tell_received(ta, a, buf->rqe, status, total);
    if (p) {
        p->rqe_taken = false;
    }
    return out;
}

Outcome ta_write_imm(UbTa *ta, Arrival *a)
{
    UbRecvBuf buf;
    UbRecvResult r = ask_buffer(ta, a, a->tah.imm_token, &buf);

    if (r != UB_RECV_OK) {
        return recv_outcome(ta, r, &buf);
    }
    tell_received(ta, a, buf.rqe, a->tah.poison ? UB_TAS_REMOTE_POISON
                                                : UB_TAS_OK, a->tah.msg_len);
    return ta_outcome(UB_TAH_OK, 0);
}

/* ---- Management ---- */

void ta_management(UbTa *ta, Arrival *a)
{
    const UbTah *t = &a->tah;
    UbTaDest back = {
        .tp = a->back.dest, .sl_writeback = UB_TA_SAME_SL,
        .mtu = ta->cfg.mtu, .sec = a->back.sec,
    };
    UbTaMessage m = {
        .back = &back, .sec = &a->head, .flow = &a->flow,
        .entity = a->entity, .msn = t->tassn, .queue = t->rc_id,
        .code = t->mgmt_code, .sub = t->mgmt_sub, .status = t->mgmt_status,
        .rsp = t->mgmt_rsp, .poison = t->poison, .len = t->pdu_len,
        .pdu = a->data,
    };

    ta_count(ta, UB_TAC_RX_MESSAGES);
    if (!ta->ops->message || t->tv_en || t->pdu_len > a->len) {
        ta_count(ta, UB_TAC_DROP_MESSAGE);
        return;
    }
    ta->ops->message(ta->opaque, ta->now, &m);
}

UbSend ub_ta_message(UbTa *ta, int64_t now, const UbTaDest *dest,
                     const UbTaRequest *req, const void *pdu)
{
    UbTahForm form = ta_form(ta, dest->tp.mode, 0, UB_TA_MANAGEMENT);
    UbTah t = {
        .opcode = UB_TA_MANAGEMENT, .ee = UB_EE_NORMAL, .tassn = req->msn,
        .rc_id = req->mgmt_queue, .mgmt_code = req->mgmt_code,
        .mgmt_sub = req->mgmt_sub, .mgmt_status = req->mgmt_status,
        .mgmt_rsp = req->mgmt_rsp, .pdu_len = req->len,
        .poison = req->poison, .ud_flag = req->ud_en, .ud = req->ud,
    };
    CorePacket *pkt;
    UbTpTx tx = { .last = true };
    UbSend r;
    int nlp;

    ub_ta_time(ta, now);
    if (req->len > UB_TA_PDU_MAX) {
        ta_rule(ta, true, "10.4.3.3", "PDU longer than 1024 bytes");
        ta_count(ta, UB_TAC_DROP_MESSAGE);
        return UB_LOST;
    }
    pkt = core_packet_alloc(ta->pool, req->len);
    if (!pkt) {
        ta_count(ta, UB_TAC_DROP_UNSENT);
        return UB_LOST;
    }
    if (req->len) {
        memcpy(core_packet_data(pkt), pdu, req->len);
    }
    t.ext = ub_tah_exts(&form, &t);
    nlp = ta_put_headers(ta, &form, &t, &dest->sec, dest->tp.mode, pkt);
    if (nlp < 0) {
        ta_drop(ta, UB_TAC_DROP_UNSENT, pkt);
        return UB_LOST;
    }
    tx.nlp = nlp;
    ta_trace(ta, true, &dest->tp.flow, &form, &t, req->len);
    r = ta->lower->send(ta->lower_opaque, &dest->tp, pkt, &tx, now);
    if (r == UB_BUSY) {
        core_packet_free(pkt);
    } else {
        ta_count(ta, r == UB_SENT ? UB_TAC_TX_MESSAGES : UB_TAC_LOST_BELOW);
    }
    return r;
}
