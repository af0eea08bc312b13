/*
 * Responses: packets, several in one TAACK, those that wait for the transport
 * (UB 2.0 §7.2.2, §7.3.1.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- packets ---- */

/* Send, or say BUSY and keep it. */
static UbSend send_now(UbTa *ta, const Answer *a)
{
    UbTpTx tx = { .nlp = a->nlp, .last = a->last, .cookie = a->cookie };
    UbSend r = ta->lower->send(ta->lower_opaque, &a->back.dest, a->pkt, &tx,
                               ta->now);

    if (r == UB_SENT) {
        ta->budget--;
        ta_count(ta, UB_TAC_TX_RESPONSES);
    } else if (r == UB_LOST) {
        ta_count(ta, UB_TAC_LOST_BELOW);
    }
    return r;
}

static void queue_answer(UbTa *ta, const Answer *a)
{
    Answer *copy;

    if (ta->answer_count >= 2 * ta->cfg.answers && !a->done) {
        ta_drop(ta, UB_TAC_DROP_ROOM, a->pkt);
        return;
    }
    copy = g_new(Answer, 1);
    *copy = *a;
    /* One that has begun goes first: nothing else can go by its channel. */
    copy->next = a->done ? ta->answers : NULL;
    if (!ta->answers || !a->done) {
        *ta->answers_end = copy;
        ta->answers_end = &copy->next;
    } else {
        ta->answers = copy;
    }
    ta->answer_count++;
    ta_count(ta, UB_TAC_BUSY);
}

/* Make the packet of a response with @len bytes at @data. */
static bool make_packet(UbTa *ta, Answer *a, const uint8_t *data,
                        uint32_t len)
{
    UbTah *t = &a->tah;
    int nlp;

    a->pkt = core_packet_alloc(ta->pool, len);
    if (!a->pkt) {
        ta_count(ta, UB_TAC_DROP_UNSENT);
        return false;
    }
    if (len) {
        memcpy(core_packet_data(a->pkt), data, len);
    }
    t->ext = ub_tah_exts(&a->back.form, t);
    nlp = ta_put_headers(ta, &a->back.form, t, &a->back.sec, a->back.dest.mode,
                         a->pkt);
    if (nlp < 0) {
        ta_drop(ta, UB_TAC_DROP_UNSENT, a->pkt);
        a->pkt = NULL;
        return false;
    }
    a->nlp = nlp;
    ta->count[UB_TAC_TX_BYTES] += len;
    ta_trace(ta, true, &a->back.dest.flow, &a->back.form, t, len);
    return true;
}

static void count_outcome(UbTa *ta, Outcome out)
{
    if (out.rspst == UB_TAH_RNR) {
        ta_count(ta, UB_TAC_RNR_TX);
    } else if (out.rspst == UB_TAH_PAGE_FAULT) {
        ta_count(ta, UB_TAC_FAULT_TX);
    } else if (out.rspst == UB_TAH_COMPLETER) {
        ta_count(ta, out.rspinfo == UB_TAH_ABORT ? UB_TAC_ABORT_TX
                                                 : UB_TAC_UNSUPPORTED_TX);
    }
}

/* The next packet of the data of a Read. */
static bool make_read(UbTa *ta, Answer *a)
{
    uint32_t len = MIN(a->len - a->done,
                       ta_mtu(ta, a->back.dest.mode, a->back.dest.tpn,
                              ta->cfg.mtu));
    UbAccess acc = a->access;
    g_autofree uint8_t *big = len > 8192 ? g_malloc(len) : NULL;
    uint8_t small[8192], *buf = big ? big : small;
    UbAccessResult r = UB_ACCESS_OK;
    Outcome out;

    acc.addr += a->done;
    acc.len = len;
    if (len) {
        r = ta_load(ta, &acc, buf);
    }
    a->tah.poison = r == UB_ACCESS_POISON;
    out = ta_access_outcome(ta, r, &acc);
    a->last = a->done + len == a->len;
    if (!ta->cfg.read_offset_request) {
        a->tah.offset = a->offset + a->done / UB_OFST_UNIT;
    }
    if (out.rspst != UB_TAH_OK) {
        /* Gone since it was begun. */
        count_outcome(ta, out);
        a->tah.rspst = out.rspst;
        a->tah.rspinfo = out.rspinfo;
        a->tah.status = 1;
        a->last = true;
        len = 0;
    }
    a->step = len;
    return make_packet(ta, a, buf, len);
}

/* The end of a response that has begun and cannot go on; false: none is needed. */
static bool make_end(UbTa *ta, Answer *a)
{
    UbTah *t = &a->tah;

    if (!a->done) {
        return false;
    }
    t->rspst = UB_TAH_COMPLETER;
    t->rspinfo = UB_TAH_ABORT;
    t->poison = false;
    t->ext = ub_tah_exts(&a->back.form, t);
    a->last = true;
    a->step = 0;
    a->pkt = ta_end_packet(ta, &a->back.form, t, &a->back.sec,
                           a->back.dest.mode, &a->nlp);
    return a->pkt;
}

/* Go on with an answer; false: BUSY. */
static bool answer_step(UbTa *ta, Answer *a)
{
    for (;;) {
        UbSend sent;

        if (!a->pkt && !make_read(ta, a) && !make_end(ta, a)) {
            return true;
        }
        sent = send_now(ta, a);
        if (sent == UB_BUSY) {
            return false;
        }
        a->pkt = NULL;
        if (sent == UB_LOST && a->back.dest.mode == UB_TP_RTP) {
            return true;            /* the channel is gone */
        }
        a->done += a->step;
        if (a->last) {
            return true;
        }
    }
}

static void answer_go(UbTa *ta, Answer *a)
{
    a->cookie = ++ta->answer_cookie;    /* its upper half is no lane's */
    if (!answer_step(ta, a)) {
        queue_answer(ta, a);
    }
}

bool ta_answers_run(UbTa *ta)
{
    Answer **p = &ta->answers, *a;
    uint32_t busy = 0;
    bool any_busy = false;

    if (!ta->answers_try) {
        return false;
    }
    while ((a = *p) && ta->budget > 0) {
        uint32_t way = a->back.dest.mode == UB_TP_RTP ? a->back.dest.tpn
                                                      : UB_TP_NONE;

        if ((any_busy && way == busy) || !answer_step(ta, a)) {
            any_busy = true;
            busy = way;
            p = &a->next;
            continue;
        }
        *p = a->next;
        if (!a->next) {
            ta->answers_end = p;
        }
        ta->answer_count--;
        g_free(a);
    }
    ta->answers_try = *p;           /* the budget ended it */
    return ta->answers_try;
}

void ta_answers_clear(UbTa *ta)
{
    Answer *a;
    Parked *k;

    while ((a = ta->answers)) {
        ta->answers = a->next;
        ta_drop(ta, UB_TAC_DROP_FLUSHED, a->pkt);
        g_free(a);
    }
    ta->answers_end = &ta->answers;
    ta->answer_count = 0;
    while ((k = ta->parked)) {
        ta_count(ta, UB_TAC_DROP_FLUSHED);
        ta->parked = k->next;
        g_free(k);
    }
    ta->parkeds = 0;
}

/* ---- what is said ---- */

/* ---- headers of the response to @req ---- */

static uint8_t rspst_of(const UbTa *ta, const UbTah *req, Outcome out)
{
    return out.rspst == UB_TAH_OK && ta->cfg.accepted &&
           ub_ta_op(req->opcode)->response == UB_TA_TAACK ? UB_TAH_ACCEPTED
                                                          : out.rspst;
}

static uint8_t rc_type_of(const UbTa *ta, const Back *back, const UbTah *req)
{
    return back->rcid_set && !ta->cfg.rsp_type_keep ? UB_RC_SQ : req->rc_type;
}

static uint32_t rc_id_of(const Back *back, const UbTah *req)
{
    return back->rcid_set ? back->rcid : req->rc_id;
}

/* Where they are wanted: a copy would wait for what was just written in bytes. */
static void response_fill(const UbTa *ta, const Back *back, const UbTah *req,
                          Outcome out, UbTah *t)
{
    uint8_t opcode = ub_ta_op(req->opcode)->response;

    memset(t, 0, sizeof(*t));
    t->opcode = opcode ? opcode : UB_TA_TAACK;
    t->tassn = back->alloc ? back->scid : req->tassn;
    t->sv = back->alloc;
    t->status = out.rspst != UB_TAH_OK;
    t->rspst = rspst_of(ta, req, out);
    t->rspinfo = out.rspinfo;
    t->rc_type = rc_type_of(ta, back, req);
    t->rc_id = rc_id_of(back, req);
    t->taid = req->taid;
    t->offset = req->offset;
}

void ta_ctx_flush(Ctx *ctx)
{
    Answer a = { .last = true };

    if (!ctx->owed) {
        return;
    }
    a.back = ctx->owed_back;
    a.tah = ctx->owed_tah;
    a.tah.rspinfo = ctx->owed - 1;
    ctx->ta->count[UB_TAC_TAACKS_SAVED] += ctx->owed - 1;
    ctx->owed = 0;
    if (make_packet(ctx->ta, &a, NULL, 0)) {
        answer_go(ctx->ta, &a);
    }
}

void ta_ctx_owing(Ctx *ctx)
{
    UbTa *ta = ctx->ta;

    if (!ctx->owing) {
        ctx->owing = true;
        ctx->next_owing = NULL;
        *ta->owing_end = ctx;
        ta->owing_end = &ctx->next_owing;
        ta_kick(ta);
    }
}

/* A good TAACK, perhaps together with others. */
static void owe(Ctx *ctx, const Back *back, const UbTah *req, Outcome out)
{
    UbTa *ta = ctx->ta;
    const UbTah *t = &ctx->owed_tah;

    if (ctx->owed && (req->tassn != (uint16_t)(t->tassn + ctx->owed) ||
                      rspst_of(ta, req, out) != t->rspst ||
                      rc_type_of(ta, back, req) != t->rc_type ||
                      rc_id_of(back, req) != t->rc_id)) {
        ta_ctx_flush(ctx);
    }
    if (!ctx->owed) {
        response_fill(ta, back, req, out, &ctx->owed_tah);
        ctx->owed_back = *back;
    }
    ctx->owed++;
    if (ctx->owed >= ta->cfg.aggregate) {
        ta_ctx_flush(ctx);
    } else {
        ta_ctx_owing(ctx);
    }
}

void ta_owing_flush(UbTa *ta)
{
    Ctx *ctx;

    while ((ctx = ta->owing)) {
        ta->owing = ctx->next_owing;
        if (!ta->owing) {
            ta->owing_end = &ta->owing;
        }
        ctx->owing = false;
        ta_ctx_flush(ctx);
    }
}

UbTpAnswer ta_answer_below(Outcome out)
{
    UbTpAnswer answer = { .status = UB_TP_DONE, .timer = out.rspinfo };

    switch (out.rspst) {
    case UB_TAH_RNR:
        answer.status = UB_TP_RNR;
        break;
    case UB_TAH_PAGE_FAULT:
        answer.status = UB_TP_PAGE_FAULT;
        break;
    case UB_TAH_COMPLETER:
        answer.status = out.rspinfo == UB_TAH_ABORT ? UB_TP_ABORT
                                                    : UB_TP_UNSUPPORTED;
        break;
    }
    return answer;
}

static void respond_packet(UbTa *ta, const Back *back, const UbTah *req,
                           Outcome out)
{
    Answer a = { .last = true, .back = *back };

    response_fill(ta, back, req, out, &a.tah);
    if (make_packet(ta, &a, NULL, 0)) {
        answer_go(ta, &a);
    }
}

void ta_respond(UbTa *ta, Ctx *ctx, Back *back, const UbTah *req, Outcome out)
{
    bool taack = ub_ta_op(req->opcode)->response == UB_TA_TAACK;

    if (back->dest.mode == UB_TP_UTP ||
        (ub_ta_op(req->opcode)->name && !ub_ta_op(req->opcode)->response)) {
        return;
    }
    if (back->answers && taack && !back->alloc) {
        if (!back->direct) {
            count_outcome(ta, out);
            ta->lower->answer(ta->lower_opaque, back->tpn, back->msn,
                              ta_answer_below(out), ta->now);
        }
        return;                     /* direct: what ub_ta_rx() returns */
    }
    count_outcome(ta, out);
    if (req->no_taack && taack && back->dest.mode == UB_TP_CTP) {
        return;
    }
    if (ctx && taack && out.rspst == UB_TAH_OK && !back->form.compact &&
        !back->alloc && ta->cfg.aggregate > 1) {
        owe(ctx, back, req, out);
        return;
    }
    respond_packet(ta, back, req, out);
}

void ta_respond_data(UbTa *ta, Back *back, const UbTah *req, bool poison,
                     const uint8_t *data, uint32_t len)
{
    Answer a = { .last = true, .back = *back };

    response_fill(ta, back, req, ta_outcome(UB_TAH_OK, 0), &a.tah);
    a.tah.poison = poison;
    if (make_packet(ta, &a, data, len)) {
        answer_go(ta, &a);
    }
}

void ta_respond_read(UbTa *ta, Back *back, const UbTah *req,
                     const UbAccess *acc)
{
    Answer a = { .back = *back, .access = *acc, .len = acc->len,
                 .offset = req->offset };

    response_fill(ta, back, req, ta_outcome(UB_TAH_OK, 0), &a.tah);
    answer_go(ta, &a);
}

/* ---- page faults that are answered later ---- */

void ta_park(UbTa *ta, const Back *back, const UbTah *tah, uint32_t ticket)
{
    Parked *k = g_new(Parked, 1);

    k->back = *back;
    k->back.direct = false;
    k->tah = *tah;
    k->ticket = ticket;
    k->next = ta->parked;
    ta->parked = k;
    ta->parkeds++;
}

static void unpark(UbTa *ta, Parked **at, Outcome out)
{
    Parked *k = *at;

    *at = k->next;
    ta->parkeds--;
    ta_respond(ta, NULL, &k->back, &k->tah, out);
    g_free(k);
}

void ub_ta_resolved(UbTa *ta)
{
    while (ta->parked) {
        unpark(ta, &ta->parked, ta_outcome(UB_TAH_PAGE_FAULT, 0));
    }
}

void ub_ta_resolve(UbTa *ta, uint32_t ticket, bool abort)
{
    Outcome out = abort ? ta_outcome(UB_TAH_COMPLETER, UB_TAH_ABORT)
                        : ta_outcome(UB_TAH_PAGE_FAULT, 0);

    for (Parked **at = &ta->parked; *at;) {
        if ((*at)->ticket == ticket) {
            unpark(ta, at, out);
        } else {
            at = &(*at)->next;
        }
    }
}

static bool goes_by(const Back *back, uint32_t tpn)
{
    return back->dest.mode == UB_TP_RTP && back->dest.tpn == tpn;
}

void ub_ta_ended(void *opaque, uint32_t tpn)
{
    UbTa *ta = opaque;
    Answer **p = &ta->answers;

    for (Answer *a; (a = *p);) {
        if (goes_by(&a->back, tpn)) {
            *p = a->next;
            ta->answer_count--;
            ta_drop(ta, UB_TAC_DROP_ENDED, a->pkt);
            g_free(a);
        } else {
            p = &a->next;
        }
    }
    ta->answers_end = p;
    for (Parked **at = &ta->parked, *k; (k = *at);) {
        if (goes_by(&k->back, tpn)) {
            *at = k->next;
            ta->parkeds--;
            ta_count(ta, UB_TAC_DROP_ENDED);
            g_free(k);
        } else {
            at = &k->next;
        }
    }
}
