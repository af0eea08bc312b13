/*
 * Responses, as packets and in acknowledgements of the transport (UB 2.0 §7.2.2,
 * §7.3.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static bool good(uint8_t rspst)
{
    return rspst == UB_TAH_OK || rspst == UB_TAH_ACCEPTED;
}

/* The slice of a number waits for a response of this opcode. */
static Slice *waiting(Lane *lane, uint32_t number, uint8_t opcode)
{
    Slice *s;

    if (number - lane->una >= lane->next - lane->una) {
        return NULL;
    }
    s = ta_lane_at(lane, number);
    return (s->state == SLICE_SENT || s->state == SLICE_WAIT) &&
           ub_ta_op(s->opcode)->response == opcode ? s : NULL;
}

static void bad_response(UbTa *ta, const char *text)
{
    ta_count(ta, UB_TAC_DROP_RESPONSE);
    ta_rule(ta, false, "7.2.2", text);
}

/* Not good: again, or failed.  False: reserved values. */
static bool abnormal(Lane *lane, uint32_t number, uint8_t rspst, uint8_t info)
{
    UbTa *ta = lane->ta;
    bool sent = ta_lane_at(lane, number)->state == SLICE_SENT;

    switch (rspst) {
    case UB_TAH_RNR:
    case UB_TAH_PAGE_FAULT:
        if (info > UB_TAH_TIMER_MAX) {
            return false;
        }
        if (sent) {
            ta_lane_retry(lane, number, info, rspst == UB_TAH_RNR);
        }
        return true;
    case UB_TAH_COMPLETER:
        if (info == UB_TAH_UNSUPPORTED) {
            ta_count(ta, UB_TAC_UNSUPPORTED_RX);
            ta_lane_close(lane, number, UB_TAS_UNSUPPORTED);
            return true;
        }
        if (info == UB_TAH_ABORT) {
            ta_count(ta, UB_TAC_ABORT_RX);
            ta_lane_close(lane, number, UB_TAS_ABORT);
            return true;
        }
        return false;
    default:
        return false;
    }
}

/* Data of a Read; true: the slice is whole or has failed, with *status. */
static bool take_read(Lane *lane, Slice *s, const Arrival *a,
                      UbTaStatus *status)
{
    UbTa *ta = lane->ta;
    const UbTah *t = &a->tah;
    uint32_t pos = s->got, lead = 0, block, len = a->len;
    bool rtp = a->rx.mode == UB_TP_RTP;

    *status = UB_TAS_REMOTE_LENGTH;
    if (a->back.form.compact) {
        if (s->req) {
            ta_slice_block(s->req, s, &lead, &block);
            if (len != block) {
                return true;
            }
        }
        len = s->len;
    } else if (t->ext & UB_EXT_BIT(UB_EXT_OFST) &&
               !ta->cfg.read_offset_request) {
        pos = (t->offset - s->off / UB_OFST_UNIT) * UB_OFST_UNIT;
    }
    if (pos > s->len || len > s->len - pos || (!rtp && len != s->len)) {
        return true;
    }
    s->got += len;
    *status = UB_TAS_OK;
    if (s->req) {
        s->req->tainted = t->poison;
    }
    if (len && s->req &&
        ta->ops->scatter(ta->opaque, s->req, s->off + pos, a->data + lead,
                         len) != UB_TA_DATA_OK) {
        *status = UB_TAS_LOCAL_ACCESS;
        return true;
    }
    if (t->poison && s->req && !s->req->status) {
        ta_count(ta, UB_TAC_POISON_RX);
        s->req->status = UB_TAS_REMOTE_POISON;
    }
    if (rtp && !a->rx.last) {
        return false;
    }
    if (s->got != s->len) {
        *status = UB_TAS_REMOTE_LENGTH;
    }
    return true;
}

/* The old value, which comes most significant byte first.  It must not be asked
 * for again, whatever happens here (§7.3.1.1). */
static UbTaStatus take_atomic(UbTa *ta, Slice *s, const Arrival *a)
{
    uint32_t want = s->opcode == UB_TA_ATOMIC_STORE ? 0 : s->len;
    uint8_t value[UB_TA_ATOMIC_MAX];

    if (a->len != want) {
        return UB_TAS_REMOTE_LENGTH;
    }
    for (uint32_t i = 0; i < want; i++) {
        value[i] = a->data[want - 1 - i];
    }
    if (s->req) {
        s->req->tainted = a->tah.poison;
    }
    if (want && s->req &&
        ta->ops->scatter(ta->opaque, s->req, 0, value, want) !=
        UB_TA_DATA_OK) {
        return UB_TAS_LOCAL_ACCESS;
    }
    if (a->tah.poison) {
        ta_count(ta, UB_TAC_POISON_RX);
        return UB_TAS_REMOTE_POISON;
    }
    return UB_TAS_OK;
}

static void good_response(Lane *lane, uint32_t number, const Arrival *a)
{
    UbTa *ta = lane->ta;
    Slice *s = ta_lane_at(lane, number);
    uint32_t more = a->back.form.compact ? 0 : a->tah.rspinfo;
    UbTaStatus status = UB_TAS_OK;

    switch (a->tah.opcode) {
    case UB_TA_READ_RESPONSE:
        if (take_read(lane, s, a, &status)) {
            ta_lane_close(lane, number, status);
        }
        break;
    case UB_TA_ATOMIC_RESPONSE:
        status = take_atomic(ta, s, a);
        ta_lane_close(lane, number, status);
        break;
    default:
        for (uint32_t i = 0; i <= more; i++) {
            if (waiting(lane, number + i, UB_TA_TAACK)) {
                ta_lane_close(lane, number + i, UB_TAS_OK);
            }
        }
    }
}

/* The answer to a request for an SC (§7.3.3.3). */
static void sc_answer(Lane *lane, const UbTah *t)
{
    if (t->sv) {
        lane->sc = SC_GRANTED;
        lane->scid = t->tassn;
    } else {
        lane->sc = SC_REFUSED;
    }
}

void ta_response(UbTa *ta, Arrival *a)
{
    const UbTah *t = &a->tah;
    bool compact = a->back.form.compact;
    Key key = {
        .who = ta_who(&a->flow, true),
        .eid = ta_eid(&a->head, &a->head.seid),
        .rc = compact ? KEY_COMPACT : t->rc_id,
    };
    Lane *lane = ta_lane_find(ta, &key);
    uint8_t rspst = compact ? t->status ? UB_TAH_COMPLETER : UB_TAH_OK
                            : t->rspst;
    uint8_t info = compact ? UB_TAH_ABORT : t->rspinfo;
    uint32_t number;
    Slice *s;

    ta_count(ta, UB_TAC_RX_RESPONSES);
    ta->count[UB_TAC_RX_BYTES] += a->len;
    if (!lane || (t->sv && lane->sc != SC_ASKED)) {
        ta_count(ta, UB_TAC_LATE);
        return;
    }
    number = t->sv ? lane->alloc
             : lane->una + serial_ahead(t->tassn, lane->una & 0xffff,
                                        UB_TASSN_BITS);
    s = waiting(lane, number, t->opcode);
    if (!s) {
        ta_count(ta, UB_TAC_LATE);
        return;
    }
    if (t->ext & UB_EXT_BIT(UB_EXT_TAID) && t->taid != (uint16_t)number) {
        bad_response(ta, "TAID is not that of the request");
        return;
    }
    if (good(rspst)) {
        if (lane->sc == SC_ASKED && lane->alloc == number) {
            sc_answer(lane, t);
        }
        good_response(lane, number, a);
    } else if (!abnormal(lane, number, rspst, info)) {
        bad_response(ta, "reserved RSPST or RSPINFO");
    }
}

/* ---- from the transport ---- */

void ub_ta_acked(void *opaque, uint32_t tpn, uint64_t cookie,
                 UbTpAnswer answer)
{
    UbTa *ta = opaque;
    Lane *lane = g_hash_table_lookup(ta->lane_ids,
                                     GUINT_TO_POINTER((uint32_t)(cookie >> 32)));
    uint32_t number = cookie;
    Slice *s;

    if (!lane || number - lane->una >= lane->next - lane->una) {
        return;                         /* a response, or long over */
    }
    s = ta_lane_at(lane, number);
    if (s->tpn != tpn || (s->state != SLICE_SENT && !s->begun)) {
        return;
    }
    if (answer.status == UB_TP_FLUSHED) {
        ta_count(ta, UB_TAC_LOST_BELOW);
        ta_lane_close(lane, number, UB_TAS_TIMEOUT);
    } else if (s->state == SLICE_SENT && answer.status != UB_TP_ACK) {
        ta_count(ta, UB_TAC_ANSWERS_BELOW);
        switch (answer.status) {
        case UB_TP_DONE:
            if (lane->sc == SC_ASKED && lane->alloc == number) {
                lane->sc = SC_REFUSED;
            }
            if (ub_ta_op(s->opcode)->response == UB_TA_TAACK) {
                ta_lane_close(lane, number, UB_TAS_OK);
            }
            break;
        case UB_TP_RNR:
            abnormal(lane, number, UB_TAH_RNR, answer.timer);
            break;
        case UB_TP_RETRY:
            abnormal(lane, number, UB_TAH_RNR, ta->cfg.rnr_timer);
            break;
        case UB_TP_PAGE_FAULT:
            abnormal(lane, number, UB_TAH_PAGE_FAULT, answer.timer);
            break;
        case UB_TP_UNSUPPORTED:
            abnormal(lane, number, UB_TAH_COMPLETER, UB_TAH_UNSUPPORTED);
            break;
        default:
            abnormal(lane, number, UB_TAH_COMPLETER, UB_TAH_ABORT);
        }
    }
    ta_lane_settle(lane);
}
