/*
 * Requests into slices, slices into packets (UB 2.0 §7.3.1.1, §7.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "internal.h"

static bool has_be(uint8_t opcode)
{
    return opcode == UB_TA_WRITE_BE || opcode == UB_TA_WRITEBACK_BE;
}

/* Which transports carry which service mode (§7.3.3, tables 7-14, 7-15). */
static bool carries(const UbTaQueue *q, const UbTaRequest *req,
                    const UbTaDest *dest)
{
    bool ordered = req->order == UB_TA_SO || req->order == UB_TA_RO ||
                   req->ordered_cqe;
    bool spray = dest->tp.flow.rt & 1;

    switch (q->cfg.mode) {
    case UB_UNO:
        return dest->tp.mode != UB_TP_RTP;
    case UB_ROL:
        if (dest->tp.mode == UB_TP_RTP) {
            return !ordered || !dest->group;
        }
        return dest->tp.mode != UB_TP_UTP && !(ordered && spray);
    default:
        return dest->tp.mode != UB_TP_UTP;
    }
}

static bool atomic_length(uint32_t len)
{
    return len && len <= UB_TA_ATOMIC_MAX && !(len & (len - 1));
}

UbTaStatus ta_request_check(UbTa *ta, const UbTaQueue *q,
                            const UbTaRequest *req, const UbTaDest *dest)
{
    const UbTaOpInfo *op = ub_ta_op(req->opcode);
    bool compact = ta_form(ta, dest->tp.mode, dest->tp.flow.cfg,
                           req->opcode).compact;

    if (!(op->modes & 1u << q->cfg.mode) || op->kind == UB_TA_MANAGE ||
        req->order > UB_TA_SO || (compact && !op->compact) ||
        (req->ordered_cqe && !op->rqe) || !carries(q, req, dest) ||
        (req->ee && !(req->ee & 1)) || req->tc_type > UB_TC_GROUP) {
        return UB_TAS_OPCODE;
    }
    if (req->len > ta->cfg.max_len) {
        return UB_TAS_LOCAL_LENGTH;
    }
    if (op->kind == UB_TA_ATOMIC &&
        (!atomic_length(req->len) || req->addr % req->len ||
         (compact && req->addr % 64))) {
        return UB_TAS_LOCAL_LENGTH;
    }
    if (has_be(req->opcode) &&
        (!ub_tah_be_size(req->len) || req->len > UB_TA_BE_MAX)) {
        return UB_TAS_LOCAL_LENGTH;
    }
    if (has_be(req->opcode) && compact && req->addr % 64) {
        return UB_TAS_LOCAL_LENGTH;
    }
    if (compact && !req->len) {
        return UB_TAS_LOCAL_LENGTH;
    }
    /* One packet, by its nature or by the transport's. */
    if ((op->single && !compact) ||
        (op->kind == UB_TA_MESSAGE && dest->tp.mode != UB_TP_RTP)) {
        return req->len > dest->mtu ? UB_TAS_LOCAL_LENGTH : UB_TAS_OK;
    }
    return UB_TAS_OK;
}

/* ---- slices ---- */

void ta_slice_block(const UbTaRequest *req, const Slice *s, uint32_t *lead,
                    uint32_t *block)
{
    uint64_t addr = req->addr + s->off;

    *lead = addr & 63;
    *block = MAX(*lead + s->len, 64);
}

/* The length of the block that begins at @off of the request. */
static uint32_t block_len(const UbTaRequest *req, uint32_t off, uint32_t mtu)
{
    uint32_t lead = (req->addr + off) & 63, left = req->len - off;
    uint32_t block = 64;

    if (lead || left < 64) {
        return MIN(64 - lead, left);
    }
    while (block * 2 <= MIN(left, mtu) && block < 8192) {
        block *= 2;
    }
    return block;
}

/* What a slice of bytes that are not a whole block is. */
static uint8_t block_opcode(uint8_t opcode, bool whole)
{
    return whole ? opcode
           : opcode == UB_TA_WRITE ? UB_TA_WRITE_BE
           : opcode == UB_TA_WRITEBACK ? UB_TA_WRITEBACK_BE : opcode;
}

bool ta_slice_cut(UbTa *ta, UbTaRequest *req, const UbTaDest *dest,
                  UbTaMode mode, Slice *s)
{
    const UbTaOpInfo *op = ub_ta_op(req->opcode);
    uint32_t left = req->len - req->made;
    bool last;

    s->off = req->made;
    s->opcode = req->opcode;
    if (op->kind == UB_TA_ATOMIC || op->kind == UB_TA_MESSAGE ||
        has_be(req->opcode) || op->kind == UB_TA_MAINTAIN) {
        s->len = left;
        return true;
    }
    if (ta_form(ta, dest->tp.mode, dest->tp.flow.cfg, req->opcode).compact) {
        s->len = block_len(req, s->off, dest->mtu);
        s->opcode = block_opcode(req->opcode, s->len % 64 == 0);
        return true;
    }
    s->len = MIN(left, dest->tp.mode == UB_TP_RTP ? ta->cfg.slice
                                                  : dest->mtu);
    last = s->len == left;
    if (req->opcode == UB_TA_WRITE_IMM || req->opcode == UB_TA_WRITE_NOTIFY) {
        if (!last) {
            s->opcode = UB_TA_WRITE;
        } else if (req->open && (mode == UB_ROI ||
                                 (mode == UB_ROL &&
                                  (dest->group || dest->tp.flow.rt & 1)))) {
            return false;       /* all data must be there before it goes */
        }
    }
    return true;
}

bool ta_slice_possible(const UbTaRequest *req, const Slice *s, bool compact)
{
    const UbTaOpInfo *op = ub_ta_op(s->opcode);

    if (op->kind == UB_TA_ATOMIC && s->len > UB_TA_ATOMIC_MAX) {
        return false;
    }
    if (!req) {
        return true;
    }
    if (s->opcode != req->opcode) {
        if (!compact) {
            return s->opcode == UB_TA_WRITE &&
                   (req->opcode == UB_TA_WRITE_IMM ||
                    req->opcode == UB_TA_WRITE_NOTIFY);
        }
        return s->opcode == block_opcode(req->opcode, false) && s->len &&
               ((req->addr + s->off) & 63) + s->len <= 64;
    }
    if (has_be(s->opcode) &&
        (!ub_tah_be_size(s->len) || s->len > UB_TA_BE_MAX ||
         (compact && req->addr % 64))) {
        return false;
    }
    return (op->kind != UB_TA_ATOMIC && !has_be(s->opcode)) ||
           (!s->off && s->len == req->len);
}

bool ta_slice_fits(const Lane *lane, const Slice *s, const UbTaDest *dest)
{
    const UbTaOpInfo *op = ub_ta_op(s->opcode);
    UbEid eid = ta_eid(&dest->sec, &dest->sec.deid);
    UbTpMode mode = dest->tp.mode;
    bool compact = ta_form(lane->ta, mode, dest->tp.flow.cfg,
                           s->opcode).compact;

    if (compact != lane->compact || !ub_eid_same(&eid, &lane->key.eid) ||
        ta_who(&dest->tp.flow, false) != lane->key.who) {
        return false;
    }
    /* Only a channel puts packets together again. */
    return mode == UB_TP_RTP || (!op->payload && op->kind != UB_TA_FETCH) ||
           s->len <= dest->mtu;
}

/* ---- packets ---- */

/* All packets of a slice but the last are plain. */
static uint8_t packet_opcode(uint8_t opcode, bool last)
{
    if (last) {
        return opcode;
    }
    return opcode == UB_TA_SEND_IMM ? UB_TA_SEND
           : opcode == UB_TA_WRITE_IMM || opcode == UB_TA_WRITE_NOTIFY
             ? UB_TA_WRITE : opcode;
}

/* BEETAH: the last byte's bit is the first of the wire. */
static void put_be_map(uint8_t *out, uint32_t n, const uint8_t *map,
                       uint32_t from, uint32_t count)
{
    memset(out, 0, n);
    for (uint32_t i = from; i < from + count; i++) {
        if (!map || map[i / 8] & 1 << i % 8) {
            out[n - 1 - i / 8] |= 1 << i % 8;
        }
    }
}

static void fill_base(Lane *lane, const Slice *s, uint32_t number,
                      const UbTaDest *dest, bool first, UbTah *t)
{
    const UbTaConfig *cfg = &lane->ta->cfg;
    const UbTaRequest *req = s->req;
    UbTaMode mode = req->queue->cfg.mode;
    const UbTaOpInfo *op = ub_ta_op(t->opcode);

    t->ee = req->ee ? req->ee : UB_EE_NORMAL;
    t->poison = req->poison;
    t->tassn = number;
    t->tv_en = req->token_en && op->may & UB_EXT_BIT(UB_EXT_TV);
    t->token = req->token;
    t->ud_flag = req->ud_en || op->kind == UB_TA_ATOMIC;
    t->ud_flag = t->ud_flag && (req->ud_en ||
                                req->opcode == UB_TA_ATOMIC_STORE ||
                                req->opcode == UB_TA_ATOMIC_LOAD);
    t->ud = req->ud;
    if (req->opcode == UB_TA_ATOMIC_STORE || req->opcode == UB_TA_ATOMIC_LOAD) {
        t->ud = (t->ud & ~(15u << 20)) | (req->sub & 15u) << 20;
    }
    t->no_taack = dest->tp.mode == UB_TP_CTP &&
                  op->response == UB_TA_TAACK &&
                  (mode == UB_ROL ? cfg->no_taack
                                  : mode == UB_UNO && cfg->uno_no_taack);
    t->ordered_cqe = req->ordered_cqe && op->rqe;
    t->order = req->order;
    t->mt_en = op->ext & UB_EXT_BIT(UB_EXT_MT);
    t->fce = req->fce && op->rqe;
    t->retry = s->again;
    t->alloc = s->alloc && first;
    t->e_bit = req->e_bit;
    t->rc_type = s->in_sc ? UB_RC_SC : UB_RC_SQ;
    t->rc_id = s->in_sc ? lane->scid : req->queue->cfg.rcid;
}

static void fill_exts(const UbTahForm *form, const Slice *s, uint32_t off,
                      UbTpMode mode, UbTah *t)
{
    const UbTaRequest *req = s->req;

    t->hint = req->hint;
    t->tc_type = req->tc_type;
    t->tc_id = req->tc_id;
    t->taid = t->tassn;
    if (t->opcode == UB_TA_READ) {
        t->offset = s->off / UB_OFST_UNIT;
    } else if (mode == UB_TP_RTP) {
        t->offset = off / UB_OFST_UNIT;
    }
    t->addr = req->addr + s->off + off;
    t->length = s->len;
    if (form->compact) {
        uint32_t lead;

        ta_slice_block(req, s, &lead, &t->length);
        t->addr -= lead;
    }
    t->token_id = req->token_id;
    t->affinity = req->affinity;
    t->imm = req->imm;
    if (t->opcode == UB_TA_WRITE_IMM) {
        t->imm_token = req->imm_token;
        t->msg_len = req->len;
    }
    t->ntf_addr = req->ntf_addr;
    t->ntf_data = req->ntf_data;
    t->ntf_token_id = req->ntf_token_id;
    t->ntf_token = req->token_en ? req->ntf_token : 0;
}

/* The data of a packet; false: *status says why not. */
static bool fetch_data(UbTa *ta, const Slice *s, uint32_t off, uint8_t *buf,
                       uint32_t len, UbTah *t, UbTaStatus *status)
{
    if (!len) {
        return true;
    }
    switch (ta->ops->gather(ta->opaque, s->req, s->off + off, buf, len)) {
    case UB_TA_DATA_OK:
        return true;
    case UB_TA_DATA_POISON:
        t->poison = true;
        *status = UB_TAS_LOCAL_POISON;
        return ta->cfg.poison_send;
    default:
        *status = UB_TAS_LOCAL_ACCESS;
        return false;
    }
}

/* The end of an operation that cannot be whole: nobody will take it for good. */
static CorePacket *make_end(Lane *lane, const Slice *s, uint32_t number,
                            const UbTaDest *dest, UbTpTx *tx)
{
    UbTa *ta = lane->ta;
    UbTahForm form = ta_form(ta, UB_TP_RTP, 0, UB_TA_WRITE);
    UbTah t = {
        .opcode = packet_opcode(s->opcode, false), .ee = UB_EE_NORMAL,
        .poison = true, .tassn = number, .rc_id = lane->key.rc,
        .length = s->len,
    };

    *tx = (UbTpTx) {
        .last = true, .cookie = (uint64_t)lane->id << 32 | number,
    };
    t.mt_en = ub_ta_op(t.opcode)->ext & UB_EXT_BIT(UB_EXT_MT);
    t.ext = ub_tah_exts(&form, &t);
    return ta_end_packet(ta, &form, &t, &dest->sec, dest->tp.mode, &tx->nlp);
}

CorePacket *ta_slice_packet(Lane *lane, uint32_t number, const UbTaDest *dest,
                            UbTpTx *tx, uint32_t *len, UbTaStatus *status)
{
    UbTa *ta = lane->ta;
    Slice *s = ta_lane_at(lane, number);
    const UbTaOpInfo *op = ub_ta_op(s->opcode);
    UbTpMode mode = dest->tp.mode;
    UbTahForm form = ta_form(ta, mode, dest->tp.flow.cfg, s->opcode);
    uint8_t be[UB_TA_BE_MAX / 8];
    uint32_t room, lead = 0, off = s->sent;
    UbTah t = { 0 };
    CorePacket *pkt;
    uint8_t *data;
    bool last;
    int nlp;

    *len = 0;
    if (s->ends) {
        return make_end(lane, s, number, dest, tx);
    }
    if (!op->payload || op->kind == UB_TA_ATOMIC) {
        *len = op->payload ? 2 * s->len : 0;
        last = true;
    } else {
        *len = MIN(s->len - off, ta_mtu(ta, mode, s->tpn, dest->mtu));
        last = off + *len == s->len;
        if (op->single && !last) {
            *status = UB_TAS_LOCAL_LENGTH;  /* the channel has a smaller MTU */
            return NULL;
        }
    }
    t.opcode = packet_opcode(s->opcode, last);
    fill_base(lane, s, number, dest, off == 0, &t);
    fill_exts(&form, s, off, mode, &t);
    room = *len;
    if (has_be(s->opcode)) {
        bool asked = has_be(s->req->opcode);

        if (form.compact) {
            ta_slice_block(s->req, s, &lead, &room);
        }
        t.be = be;
        t.be_len = ub_tah_be_size(room);
        if (!t.be_len || room > UB_TA_BE_MAX) {
            *status = UB_TAS_LOCAL_LENGTH;
            return NULL;
        }
        put_be_map(be, t.be_len, asked ? s->req->be : NULL, lead, *len);
    }
    t.ext = ub_tah_exts(&form, &t);
    pkt = core_packet_alloc(ta->pool, room);
    if (!pkt) {
        *status = UB_TAS_OK;        /* later */
        return NULL;
    }
    data = core_packet_data(pkt);
    if (room > *len) {
        memset(data, 0, room);
    }
    *status = UB_TAS_OK;
    if (!fetch_data(ta, s, off, data + lead, *len, &t, status)) {
        core_packet_free(pkt);
        return NULL;
    }
    nlp = ta_put_headers(ta, &form, &t, &dest->sec, mode, pkt);
    if (nlp < 0) {
        core_packet_free(pkt);
        *status = UB_TAS_OPCODE;
        return NULL;
    }
    *tx = (UbTpTx) {
        .nlp = nlp, .last = last,
        .result = last && dest->answers && op->response == UB_TA_TAACK &&
                  !s->alloc,
        .cookie = (uint64_t)lane->id << 32 | number,
    };
    ta_trace(ta, true, &dest->tp.flow, &form, &t, room);
    return pkt;
}
