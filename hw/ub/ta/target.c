/*
 * The target: requests that came are checked, put in their order, executed and
 * answered (UB 2.0 §7.3, §7.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "internal.h"

#define ATOMIC_TRIES 65536

static Outcome unsupported(UbTa *ta, const char *section, const char *text)
{
    ta_rule(ta, false, section, text);
    return ta_outcome(UB_TAH_COMPLETER, UB_TAH_UNSUPPORTED);
}

static bool is_good(Outcome out)
{
    return out.rspst == UB_TAH_OK && !out.silent && !out.later;
}

/* ---- memory ---- */

void ta_access_of(const Arrival *a, UbAccessKind kind, uint64_t addr,
                  uint32_t len, UbAccess *acc)
{
    const UbTah *t = &a->tah;

    *acc = (UbAccess) {
        .kind = kind, .token_en = t->tv_en, .e_bit = t->e_bit,
        .poison = t->poison, .bare = a->head.form == UB_SEC_NONE,
        .ee = t->ee, .cfg = a->flow.cfg, .entity = a->entity, .seid = a->head.seid,
        .token_id = t->token_id, .token = t->token, .addr = addr,
        .len = len,
    };
}

Outcome ta_access_outcome(UbTa *ta, UbAccessResult result,
                          const UbAccess *acc)
{
    switch (result) {
    case UB_ACCESS_OK:
    case UB_ACCESS_POISON:
        return ta_outcome(UB_TAH_OK, 0);
    case UB_ACCESS_FAULT:
        return ta_outcome(UB_TAH_PAGE_FAULT,
                          MIN(acc->timer, UB_TAH_TIMER_MAX));
    case UB_ACCESS_LATER:
        return (Outcome) { .rspst = UB_TAH_PAGE_FAULT,
                           .rspinfo = ta->cfg.rnr_timer, .later = true,
                           .ticket = acc->ticket };
    case UB_ACCESS_UNSUPPORTED:
        return ta_outcome(UB_TAH_COMPLETER, UB_TAH_UNSUPPORTED);
    default:
        return ta_outcome(UB_TAH_COMPLETER, UB_TAH_ABORT);
    }
}

static UbAccessResult translate(UbTa *ta, UbAccess *acc, UbSpan *span,
                                unsigned *n)
{
    uint64_t sum = 0;
    UbAccessResult r;

    if (acc->addr + acc->len < acc->addr) {
        return UB_ACCESS_DENIED;
    }
    *n = 0;
    r = ta->ops->access(ta->opaque, acc, span, UB_TA_SPANS, n);
    if (r != UB_ACCESS_OK && r != UB_ACCESS_POISON) {
        return r;
    }
    for (unsigned i = 0; i < *n; i++) {
        sum += span[i].len;
    }
    return sum == acc->len ? r : UB_ACCESS_DENIED;
}

/* Part of a span, one way or the other. */
static bool move_bytes(UbTa *ta, const UbSpan *s, uint32_t off, void *buf,
                       uint32_t len, bool write)
{
    if (s->region) {
        return ta->ops->region && ta->ops->region(ta->opaque, s->region,
                                                  s->bus + off, buf, len,
                                                  write);
    }
    if (!s->host) {
        return ta->ops->bus && ta->ops->bus(ta->opaque, s->bus + off, buf,
                                            len, write);
    }
    core_stream(write ? &ta->stores : &ta->loads, s->host + off, len, write);
    if (write) {
        memcpy(s->host + off, buf, len);
    } else {
        memcpy(buf, s->host + off, len);
    }
    return true;
}

static bool move_spans(UbTa *ta, const UbSpan *span, unsigned n, uint8_t *buf,
                       bool write)
{
    for (unsigned i = 0; i < n; i++) {
        if (!move_bytes(ta, &span[i], 0, buf, span[i].len, write)) {
            return false;
        }
        buf += span[i].len;
    }
    return true;
}

UbAccessResult ta_load(UbTa *ta, UbAccess *acc, uint8_t *buf)
{
    UbSpan span[UB_TA_SPANS];
    unsigned n;
    UbAccessResult r = translate(ta, acc, span, &n);

    if ((r == UB_ACCESS_OK || r == UB_ACCESS_POISON) &&
        !move_spans(ta, span, n, buf, false)) {
        return UB_ACCESS_DENIED;
    }
    return r;
}

/* Byte @i counts: BEETAH has the last byte's bit first; what is beyond it
 * counts. */
static bool enabled(const uint8_t *be, uint32_t be_len, uint32_t i)
{
    return i >= 8 * be_len || be[be_len - 1 - i / 8] & 1 << i % 8;
}

/* Runs of bytes that count. */
static bool store_enabled(UbTa *ta, const UbSpan *span, unsigned n,
                          const uint8_t *buf, const uint8_t *be,
                          uint32_t be_len)
{
    uint32_t at = 0;

    for (unsigned i = 0; i < n; at += span[i++].len) {
        uint32_t from = 0;

        while (from < span[i].len) {
            uint32_t to = from;

            while (to < span[i].len && enabled(be, be_len, at + to)) {
                to++;
            }
            if (to > from && !move_bytes(ta, &span[i], from,
                                         (uint8_t *)buf + at + from,
                                         to - from, true)) {
                return false;
            }
            from = to + 1;
        }
    }
    return true;
}

UbAccessResult ta_store(UbTa *ta, UbAccess *acc, const uint8_t *buf,
                        const uint8_t *be, uint32_t be_len)
{
    UbSpan span[UB_TA_SPANS];
    unsigned n;
    UbAccessResult r = translate(ta, acc, span, &n);

    if (r != UB_ACCESS_OK && r != UB_ACCESS_POISON) {
        return r;
    }
    return (be ? store_enabled(ta, span, n, buf, be, be_len)
               : move_spans(ta, span, n, (uint8_t *)buf, true))
           ? UB_ACCESS_OK : UB_ACCESS_DENIED;
}

/* ---- operations ---- */

static Outcome execute_write(UbTa *ta, Arrival *a)
{
    const UbTah *t = &a->tah;
    UbAccess acc;
    UbAccessResult r;
    Outcome out;

    if (a->len > t->length || (a->rx.mode != UB_TP_RTP && a->len != t->length)) {
        return unsupported(ta, "7.2.3", "data and MAETAH.Length differ");
    }
    if (t->poison) {
        ta_count(ta, UB_TAC_POISON_RX);
    }
    if (!a->len) {
        return ta_outcome(UB_TAH_OK, 0);    /* nothing, not even a token, is
                                             * looked at (§7.2.5) */
    }
    ta_access_of(a, UB_ACCESS_WRITE, t->addr, a->len, &acc);
    r = ta_store(ta, &acc, a->data, t->be, t->be_len);
    out = ta_access_outcome(ta, r, &acc);
    return out;
}

/* The word that tells of a Write (§7.4.2.1.2). */
static Outcome execute_notify(UbTa *ta, Arrival *a)
{
    uint8_t word[8];
    UbAccess acc;
    UbAccessResult r;

    if (ta->cfg.notify_be) {
        put_be64(word, a->tah.ntf_data);
    } else {
        put_le64(word, a->tah.ntf_data);
    }
    ta_access_of(a, UB_ACCESS_WRITE, a->tah.ntf_addr, sizeof(word), &acc);
    acc.token_id = a->tah.ntf_token_id;
    acc.token = a->tah.ntf_token;
    acc.poison = false;
    r = ta_store(ta, &acc, word, NULL, 0);
    return ta_access_outcome(ta, r, &acc);
}

static Outcome execute_read(UbTa *ta, Arrival *a)
{
    const UbTah *t = &a->tah;
    UbSpan span[UB_TA_SPANS];
    UbAccessResult r = UB_ACCESS_OK;
    UbAccess acc, probe;
    unsigned n;
    Outcome out;

    if (a->len || t->length > ta->cfg.max_len ||
        (a->rx.mode != UB_TP_RTP && t->length > ta->cfg.mtu)) {
        return unsupported(ta, "7.4.2.2", "Read with data, or too long");
    }
    ta_access_of(a, UB_ACCESS_READ, t->addr, t->length, &acc);
    if (t->length) {
        probe = acc;
        probe.len = MIN(t->length, ta->cfg.mtu);
        probe.ahead = true;
        r = translate(ta, &probe, span, &n);
        acc.timer = probe.timer;
        acc.ticket = probe.ticket;
    }
    out = ta_access_outcome(ta, r, &acc);
    if (is_good(out)) {
        ta_respond_read(ta, &a->back, t, &acc);
    }
    return out;
}

static bool atomic_size(uint32_t len)
{
    return len && len <= UB_TA_ATOMIC_MAX && !(len & (len - 1));
}

#define SWAP_LOOP(bits) do { \
        uint##bits##_t was, now; \
        was = __atomic_load_n((uint##bits##_t *)p, __ATOMIC_SEQ_CST); \
        do { \
            memcpy(mem, &was, sizeof(was)); \
            ta_atomic(cfg, t, mem, op, old, sizeof(was)); \
            memcpy(&now, mem, sizeof(now)); \
        } while (!__atomic_compare_exchange_n((uint##bits##_t *)p, &was, now, \
                                              false, __ATOMIC_SEQ_CST, \
                                              __ATOMIC_SEQ_CST)); \
        return true; \
    } while (0)

/* In one step for other users of the memory too; false: it cannot be. */
static bool atomic_in_place(const UbTaConfig *cfg, const UbTah *t, uint8_t *p,
                            const uint8_t *op, uint8_t *old, uint32_t len)
{
    uint8_t mem[UB_TA_ATOMIC_MAX];

    if ((uintptr_t)p % len) {
        return false;
    }
    switch (len) {
    case 1: SWAP_LOOP(8);
    case 2: SWAP_LOOP(16);
    case 4: SWAP_LOOP(32);
    case 8: SWAP_LOOP(64);
    default: return false;
    }
}

/* The same where memory has no host address.  Whoever else writes it without end must
 * not keep us. */
static bool atomic_by_exchange(UbTa *ta, const UbTah *t, const UbSpan *s,
                               const uint8_t *op, uint8_t *old)
{
    uint8_t was[sizeof(uint64_t)], now[sizeof(uint64_t)];
    bool same = false;

    if (!move_bytes(ta, s, 0, was, s->len, false)) {
        return false;
    }
    for (unsigned i = 0; i < ATOMIC_TRIES && !same; i++) {
        memcpy(now, was, s->len);
        ta_atomic(&ta->cfg, t, now, op, old, s->len);
        if (!ta->ops->exchange(ta->opaque, s->bus, was, now, s->len, &same)) {
            return false;
        }
    }
    return same;
}

/* What is longer than a processor's own is in one step for other peers alone. */
static bool atomic_by_copy(UbTa *ta, const UbTah *t, const UbSpan *span,
                           unsigned n, const uint8_t *op, uint8_t *old,
                           uint32_t len)
{
    uint8_t mem[UB_TA_ATOMIC_MAX];

    if (!move_spans(ta, span, n, mem, false)) {
        return false;
    }
    ta_atomic(&ta->cfg, t, mem, op, old, len);
    return move_spans(ta, span, n, mem, true);
}

static bool atomic_do(UbTa *ta, const UbTah *t, const UbSpan *span, unsigned n,
                      const uint8_t *op, uint8_t *old, uint32_t len)
{
    if (n == 1 && span->host &&
        atomic_in_place(&ta->cfg, t, span->host, op, old, len)) {
        return true;
    }
    return n == 1 && !span->host && !span->region && ta->ops->exchange &&
           len <= sizeof(uint64_t) && !(span->bus % len)
           ? atomic_by_exchange(ta, t, span, op, old)
           : atomic_by_copy(ta, t, span, n, op, old, len);
}

static Outcome execute_atomic(UbTa *ta, Arrival *a)
{
    const UbTah *t = &a->tah;
    uint32_t len = a->back.form.compact ? a->len / 2 : t->length;
    uint8_t mem[UB_TA_ATOMIC_MAX], old[UB_TA_ATOMIC_MAX];
    UbSpan span[UB_TA_SPANS];
    UbAccessResult r;
    UbAccess acc;
    unsigned n;
    Outcome out;

    if (!ta_atomic_valid(&ta->cfg, t)) {
        return unsupported(ta, "7.4.2.3", "sub-operation");
    }
    if (!atomic_size(len) || a->len != 2 * len || t->addr % len) {
        return unsupported(ta, "7.4.2.3", "length or alignment of an atomic");
    }
    if (t->poison) {
        ta_count(ta, UB_TAC_POISON_RX);
        return ta_outcome(UB_TAH_COMPLETER, UB_TAH_ABORT);
    }
    ta_access_of(a, UB_ACCESS_ATOMIC, t->addr, len, &acc);
    r = translate(ta, &acc, span, &n);
    out = ta_access_outcome(ta, r, &acc);
    if (!is_good(out)) {
        return out;
    }
    if (!atomic_do(ta, t, span, n, a->data, old, len)) {
        return ta_outcome(UB_TAH_COMPLETER, UB_TAH_ABORT);
    }
    for (uint32_t i = 0; i < len; i++) {
        mem[i] = old[len - 1 - i];  /* most significant byte first */
    }
    ta_respond_data(ta, &a->back, t, r == UB_ACCESS_POISON, mem,
                    t->opcode == UB_TA_ATOMIC_STORE ? 0 : len);
    return out;
}

/* What follows when all data of a Write slice are there. */
static Outcome close_write(UbTa *ta, Arrival *a, const Partial *p)
{
    if ((p ? p->got : a->len) != a->tah.length) {
        return unsupported(ta, "7.2.3", "data and MAETAH.Length differ");
    }
    switch (a->tah.opcode) {
    case UB_TA_WRITE_NOTIFY:
        return execute_notify(ta, a);
    case UB_TA_WRITE_IMM:
        return ta_write_imm(ta, a);
    default:
        return ta_outcome(UB_TAH_OK, 0);
    }
}

/* One packet; @p: of a slice of several. */
static Outcome execute_packet(UbTa *ta, Arrival *a, Partial *p)
{
    Outcome out;

    switch (ub_ta_op(a->tah.opcode)->kind) {
    case UB_TA_MESSAGE:
        return ta_send_packet(ta, a, p);
    case UB_TA_FETCH:
        return execute_read(ta, a);
    case UB_TA_ATOMIC:
        return execute_atomic(ta, a);
    default:
        out = execute_write(ta, a);
        if (p) {
            p->got += a->len;
        }
        return is_good(out) && a->rx.last ? close_write(ta, a, p) : out;
    }
}

static Settled settled(Outcome out)
{
    return (Settled) { .rspst = out.rspst, .rspinfo = out.rspinfo,
                       .silent = out.silent, .later = out.later,
                       .ticket = out.ticket };
}

/* A packet of a slice of several (RTP).  Only the last has an outcome. */
static Outcome execute_part(UbTa *ta, Arrival *a, Partial *p)
{
    bool before;
    Outcome out;

    if (p->tpn != a->rx.tpn || p->msn != a->rx.msn) {
        p->tpn = a->rx.tpn;         /* it is sent again */
        p->msn = a->rx.msn;
        p->got = 0;
        p->bad = p->poison = p->alloc = false;
        if (a->tah.order == UB_TA_SO && !a->ctx->sc &&
            ta_ctx_refused_before(a->ctx, a->tah.tassn)) {
            p->bad = true;
            p->outcome = settled(ta_outcome(UB_TAH_RNR, ta->cfg.rnr_timer));
        }
    }
    p->at = ta->now + ta_time(ta, ta->cfg.ack_timeout);
    p->alloc = p->alloc || a->tah.alloc;
    a->alloc = p->alloc;
    a->back.answers = a->back.answers && !p->alloc;
    before = p->bad;
    if (!p->bad) {
        out = ub_ta_op(a->tah.opcode)->single && !a->rx.last
              ? unsupported(ta, "7.2.1", "an operation of one packet has more")
              : execute_packet(ta, a, p);
        p->bad = !is_good(out);
        p->outcome = settled(out);
    } else {
        ta_count(ta, UB_TAC_DROP_REFUSED);
    }
    if (!a->rx.last) {
        return (Outcome) { .silent = true };
    }
    /* What a packet before waited for may have ended since, and nobody would tell:
     * the initiator asks again. */
    out = (Outcome) { .rspst = p->outcome.rspst, .rspinfo = p->outcome.rspinfo,
                      .silent = p->outcome.silent,
                      .later = p->outcome.later && !before,
                      .ticket = p->outcome.ticket };
    ta_partial_abort(ta, p);    /* a message that failed, or ends as another
                                 * operation */
    ta_ctx_partial_free(a->ctx, p);
    return out;
}

/* ---- from packet to outcome ---- */

/* Executed for good, or to come again. */
static void settle_number(UbTa *ta, Arrival *a, Outcome out)
{
    bool again = out.rspst == UB_TAH_RNR || out.rspst == UB_TAH_PAGE_FAULT;

    if (out.silent || out.held) {
        return;
    }
    if (!again) {
        ta_ctx_done(a->ctx, a->tah.tassn);
    } else {
        ta_ctx_refuse(a->ctx, a->tah.tassn, a->tah.order != UB_TA_NO,
                      ta->now + ta_rnr_time(ta, out.rspinfo));
    }
}

/* Find the context; false: *out says why there is none. */
static bool find_context(UbTa *ta, Arrival *a, Outcome *out)
{
    bool compact = a->back.form.compact;
    Key key = {
        .who = ta_who(&a->flow, true),
        .eid = ta_eid(&a->head, &a->head.seid),
        .rc = compact ? KEY_COMPACT : a->tah.rc_id,
        .entity = a->entity,
        .local = ta_local(&a->flow),
    };

    if (!compact && a->tah.rc_type == UB_RC_SC) {
        a->ctx = ta_sc_find(ta, a->tah.rc_id, &key);
        if (!a->ctx) {
            *out = unsupported(ta, "7.3.3.3", "no such sequence context");
            return false;
        }
        a->back.rcid_set = true;
        a->back.rcid = a->ctx->rcid;
        return true;
    }
    a->ctx = ta_ctx(ta, &key);
    if (!a->ctx) {
        ta_count(ta, UB_TAC_DROP_ROOM);
        *out = ta_outcome(UB_TAH_RNR, ta->cfg.rnr_timer);
    }
    return a->ctx;
}

/* An SC for the queue of @a, if it asks for one and has got what it wanted. */
static void grant(UbTa *ta, Arrival *a, Outcome out)
{
    if (a->alloc && is_good(out) && !a->back.form.compact &&
        a->tah.rc_type != UB_RC_SC) {
        a->back.alloc = ta_sc_grant(a->ctx, a->tah.tassn, a->tah.rc_id);
        a->back.scid = a->back.alloc ? a->ctx->scid : 0;
    }
}

static Outcome execute(UbTa *ta, Arrival *a)
{
    Partial *p = a->rx.mode == UB_TP_RTP
                 ? ta_ctx_partial(a->ctx, a->tah.tassn, !a->rx.last) : NULL;

    if (p) {
        Outcome out = execute_part(ta, a, p);

        ta_ctx_timer(a->ctx);
        return out;
    }
    if (a->tah.order == UB_TA_SO && !a->ctx->sc &&
        ta_ctx_refused_before(a->ctx, a->tah.tassn)) {
        return ta_outcome(UB_TAH_RNR, ta->cfg.rnr_timer);
    }
    return execute_packet(ta, a, NULL);
}

/* In its turn: execute and answer. */
Outcome ta_execute(UbTa *ta, Arrival *a)
{
    uint8_t kind = ub_ta_op(a->tah.opcode)->kind;
    bool data = kind == UB_TA_FETCH || kind == UB_TA_ATOMIC;
    Outcome out;

    out = execute(ta, a);
    if (out.silent) {
        return out;
    }
    if (out.later && ta->parkeds >= ta->cfg.parked) {
        out.later = false;          /* then at once, with a timer */
    }
    if (!data) {
        grant(ta, a, out);
    }
    if (out.later) {
        ta_park(ta, &a->back, &a->tah, out.ticket);
    } else if (!data || !is_good(out)) {
        ta_respond(ta, a->ctx, &a->back, &a->tah, out);
    }
    settle_number(ta, a, out);
    return out;
}

/* By UTP, and what has no response: what cannot be done is not heard of. */
static Outcome execute_silent(UbTa *ta, Arrival *a)
{
    if (ub_ta_op(a->tah.opcode)->kind != UB_TA_MESSAGE) {
        ta_count(ta, UB_TAC_PREFETCHES);
    } else if (ta_send_packet(ta, a, NULL).rspst != UB_TAH_OK) {
        ta_count(ta, UB_TAC_DROP_REFUSED);
    }
    return (Outcome) { .silent = true };
}

/* There is no room for @a now: it is to come again.  An operation of several
 * packets is swallowed, and answered at its end: what an acknowledgement says can
 * be lost where nobody waits for it. */
static Outcome refuse(UbTa *ta, Arrival *a)
{
    Outcome out = ta_outcome(UB_TAH_RNR, ta->cfg.rnr_timer);
    Partial *p;

    if (a->rx.last) {
        ta_respond(ta, NULL, &a->back, &a->tah, out);
        return out;
    }
    p = a->ctx ? ta_ctx_partial(a->ctx, a->tah.tassn, true) : NULL;
    if (!p) {
        out.refused = true;     /* by the transport, better than nothing */
        return out;
    }
    p->tpn = a->rx.tpn;
    p->msn = a->rx.msn;
    p->alloc = a->tah.alloc;
    p->bad = true;
    p->outcome = settled(out);
    p->at = ta->now + ta_time(ta, ta->cfg.ack_timeout);
    ta_ctx_timer(a->ctx);
    return (Outcome) { .silent = true };
}

/* The rest of an operation that has failed. */
static bool is_swallowed(Arrival *a)
{
    Partial *p = a->rx.mode == UB_TP_RTP
                 ? ta_ctx_partial(a->ctx, a->tah.tassn, false) : NULL;

    return p && p->bad && p->tpn == a->rx.tpn && p->msn == a->rx.msn;
}

/* Room for what may come of one more request. */
static bool has_room(const UbTa *ta, const Arrival *a)
{
    return !a->back.direct ||
           (ta->answer_count < ta->cfg.answers &&
            (a->rx.last || ta->partials < ta->cfg.partial));
}

Outcome ta_request(UbTa *ta, Arrival *a, CorePacket *pkt, bool *keep)
{
    const UbTaOpInfo *op = ub_ta_op(a->tah.opcode);
    UbTpMode mode = a->rx.mode;
    Outcome out = { 0 };
    bool in_sc;

    ta_count(ta, UB_TAC_RX_REQUESTS);
    ta->count[UB_TAC_RX_BYTES] += a->len;
    if (mode == UB_TP_UTP && !(op->modes & 1u << UB_UNO)) {
        ta_count(ta, UB_TAC_DROP_CARRIER);
        return (Outcome) { .silent = true };
    }
    if (mode == UB_TP_UTP || op->kind == UB_TA_MAINTAIN) {
        return execute_silent(ta, a);
    }
    if (!find_context(ta, a, &out)) {
        if (out.rspst == UB_TAH_RNR) {
            return refuse(ta, a);
        }
        if (a->rx.last) {
            ta_respond(ta, NULL, &a->back, &a->tah, out);
        } else {
            ta_count(ta, UB_TAC_DROP_REFUSED);
            out.silent = true;
        }
        return out;
    }
    in_sc = a->ctx->sc && a->tah.rc_type == UB_RC_SC;
    if (ta_ctx_seen(a->ctx, a->tah.tassn, in_sc) && ta->cfg.dedupe &&
        mode != UB_TP_RTP) {
        ta_count(ta, UB_TAC_DROP_DUPLICATE);
        return (Outcome) { .silent = true };
    }
    a->alloc = a->tah.alloc;
    if (is_swallowed(a)) {
        return ta_execute(ta, a);
    }
    if (!has_room(ta, a)) {
        ta_count(ta, UB_TAC_DROP_ROOM);
        return refuse(ta, a);
    }
    if (in_sc && !ta_sc_gate(ta, a)) {
        *keep = ta_sc_hold(ta, a, pkt);
        if (!*keep) {
            return refuse(ta, a);
        }
        return (Outcome) { .held = true };
    }
    return ta_execute(ta, a);
}
