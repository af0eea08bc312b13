/*
 * Transaction layers over a scripted transport.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

/* Channel numbers: of node a to node b, the same at both. */
static uint32_t channel(unsigned a, unsigned b, unsigned kind)
{
    return MIN(a, b) * PAIR_MAX + MAX(a, b) + 16 * kind;
}

/* ---- the transport ---- */

static void wire_put(Pair *p, Wire *w)
{
    Wire **at = &p->wires;

    w->order = p->order++;
    while (*at && ((*at)->due < w->due ||
                   ((*at)->due == w->due && (*at)->order < w->order))) {
        at = &(*at)->next;
    }
    w->next = *at;
    *at = w;
    p->in_flight++;
}

/* The transport has no room, for some time. */
static bool is_busy(Pair *p)
{
    bool busy = p->busy && core_random(&p->rng) % 1000000 < p->busy;

    p->was_busy = p->was_busy || busy;
    return busy;
}

static bool chance(Pair *p, uint32_t ppm)
{
    return ppm && core_random(&p->rng) % 1000000 < ppm;
}

CorePacket *pair_copy(Pair *p, CorePacket *pkt)
{
    CorePacket *c = core_packet_alloc(p->pool, pkt->len);

    memcpy(core_packet_data(c), core_packet_data(pkt), pkt->len);
    *ub_meta(c) = *ub_meta(pkt);
    return c;
}

static unsigned far_end(const End *e, const UbTpDest *dest)
{
    return dest->flow.dcna - 1;
}

/* ---- the network below the real transport ---- */

void pair_wire(Pair *p, int64_t *last, Wire *w, bool spray)
{
    if (chance(p, p->loss) || (p->filter && !p->filter(p, w))) {
        core_packet_free(w->pkt);
        g_free(w);
        return;
    }
    if (!spray) {
        /* One way for all: they keep their order, unless something is wrong. */
        w->due = MAX(w->due, *last);
        *last = w->due;
    }
    if (chance(p, p->reorder)) {
        w->due += 5 * p->delay + core_random(&p->rng) % (20 * p->delay + 1);
    }
    if (chance(p, p->dup)) {
        Wire *d = g_memdup2(w, sizeof(*w));

        d->pkt = pair_copy(p, w->pkt);
        d->due += core_random(&p->rng) % (10 * p->delay + 1);
        wire_put(p, d);
    }
    wire_put(p, w);
}

static UbSend net_send(void *opaque, int64_t now, const UbFlow *flow,
                       CorePacket *pkt)
{
    End *e = opaque;
    Pair *p = e->p;
    Wire *w;

    if (is_busy(p)) {
        return UB_BUSY;
    }
    p->packets++;
    if (p->sw) {
        return pair_switch_send(e, flow, pkt);
    }
    w = g_new0(Wire, 1);
    w->from = e->index;
    w->to = flow->dcna - 1;
    g_assert_cmpuint(w->to, <, p->n);
    w->dest.flow = *flow;
    w->due = p->now + p->delay;
    if (p->jitter) {
        w->due += core_random(&p->rng) % p->jitter;
    }
    w->pkt = pair_copy(p, pkt);
    core_packet_free(pkt);
    pair_wire(p, &e->last_due[48 + w->to], w, flow->rt & 1);
    return UB_SENT;
}

static UbTpAnswer up_rx(void *opaque, const UbTpRx *rx, CorePacket *pkt)
{
    return ub_ta_rx(((End *)opaque)->ta, rx, pkt);
}

static void up_acked(void *opaque, uint32_t tpn, uint64_t cookie,
                     UbTpAnswer answer)
{
    ub_ta_acked(((End *)opaque)->ta, tpn, cookie, answer);
}

static void up_error(void *opaque, uint32_t tpn, UbTpError error)
{
}

static void up_room(void *opaque, uint32_t tpn)
{
    ub_ta_room(((End *)opaque)->ta, tpn);
}

static void up_ended(void *opaque, uint32_t tpn)
{
    ub_ta_ended(((End *)opaque)->ta, tpn);
}

static const UbTpUpper tp_upper = {
    .rx = up_rx, .acked = up_acked, .error = up_error, .room = up_room,
    .ended = up_ended,
};
static const UbTpLower tp_lower = { net_send };

static UbTp *make_tp(End *e)
{
    UbTpConfig cfg;

    ub_tp_config_init(&cfg);
    cfg.upper = &tp_upper;
    cfg.lower = &tp_lower;
    cfg.upper_opaque = cfg.lower_opaque = e;
    return ub_tp_new(&cfg);
}

static void make_channels(Pair *p, End *e, unsigned to)
{
    uint32_t group = to;

    g_assert_cmpint(ub_tpg_create(e->tp, &group, UB_TPG_ROUND), ==,
                    UB_TPR_OK);
    for (unsigned kind = 0; kind < 4; kind++) {
        uint32_t tpn = channel(e->index, to, kind);
        UbTpAttr a;

        ub_tp_attr_init(e->tp, &a);
        ub_flow_init(&a.flow, UB_LPH_CNA24);
        a.flow.scna = e->index + 1;
        a.flow.dcna = to + 1;
        a.dst_tpn = tpn;
        a.tx_psn = a.rx_psn = 0xfffff0;
        a.mtu = 4096;
        a.retries = 7;
        g_assert_cmpint(ub_tp_create(e->tp, &tpn, &a), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tp_activate(e->tp, tpn), ==, UB_TPR_OK);
        if (kind < 3) {
            g_assert_cmpint(ub_tpg_join(e->tp, group, tpn), ==, UB_TPR_OK);
        }
    }
}

static void deliver_real(Pair *p, Wire *w)
{
    End *to = &p->end[w->to];
    UbFlow flow = w->dest.flow;

    if (w->hop) {
        pair_switch_deliver(p, w);
        return;
    }
    flow.scna = w->from + 1;
    memset(&flow.ip, 0, sizeof(flow.ip));
    flow.ip.src[3] = w->from + 1;
    flow.ip.dst[3] = w->to + 1;
    ub_ta_time(to->ta, p->now);
    ub_tp_rx(to->tp, &flow, w->pkt, p->now);
    g_free(w);
}

/* ---- the double of the transport ---- */

static UbSend wire_send(void *opaque, const UbTpDest *dest, CorePacket *pkt,
                        const UbTpTx *tx, int64_t now)
{
    End *e = opaque;
    Pair *p = e->p;
    bool rtp = dest->mode == UB_TP_RTP;
    unsigned to = far_end(e, dest);
    Wire *w;

    g_assert_cmpint(now, ==, p->now);
    g_assert_cmpuint(to, <, p->n);
    if (rtp) {
        uint64_t *begun = &e->begun[dest->tpn];

        if (*begun && *begun != tx->cookie + 1) {
            return UB_BUSY;
        }
        if (is_busy(p)) {
            return UB_BUSY;
        }
        *begun = tx->last ? 0 : tx->cookie + 1;
    } else if (is_busy(p)) {
        return UB_BUSY;
    }
    p->packets++;
    w = g_new0(Wire, 1);
    w->from = e->index;
    w->to = to;
    w->tx = *tx;
    w->dest = *dest;
    w->due = now + p->delay;
    if (p->jitter) {
        w->due += core_random(&p->rng) % p->jitter;
    }
    w->pkt = pair_copy(p, pkt);
    core_packet_free(pkt);
    if (p->alter) {
        p->alter(p, w);
    }
    if (rtp) {
        w->due = MAX(w->due, e->last_due[dest->tpn]);
        e->last_due[dest->tpn] = w->due;
        w->msn = e->msn[dest->tpn];
        e->msn[dest->tpn] += tx->last;
        wire_put(p, w);
        return UB_SENT;
    }
    pair_wire(p, &e->last_due[48 + w->to], w, dest->flow.rt & 1);
    return UB_SENT;
}

static uint32_t wire_pick(void *opaque, uint32_t group)
{
    End *e = opaque;

    /* Three channels to that node. */
    return channel(e->index, group, core_random(&e->p->rng) % 3);
}

static End *peer_of(End *e, uint32_t tpn)
{
    unsigned a = tpn % 16 / PAIR_MAX, b = tpn % PAIR_MAX;

    return &e->p->end[a == e->index ? b : a];
}

/* Answers that wait: by the target's view of an operation. */
typedef struct Withheld {
    uint32_t tpn, msn;
    uint64_t cookie;
    unsigned node;
} Withheld;

static GArray *withheld;

static void wire_answer(void *opaque, uint32_t tpn, uint32_t msn,
                        UbTpAnswer answer, int64_t now)
{
    End *e = opaque;

    for (guint i = 0; withheld && i < withheld->len; i++) {
        Withheld h = g_array_index(withheld, Withheld, i);

        if (h.tpn == tpn && h.msn == msn && h.node == e->index) {
            g_array_remove_index(withheld, i);
            ub_ta_acked(peer_of(e, tpn)->ta, tpn, h.cookie, answer);
            return;
        }
    }
}

static void wire_reply(const UbTpRx *rx, UbTpDest *dest)
{
    memset(dest, 0, sizeof(*dest));
    dest->mode = rx->mode;
    dest->tpn = rx->tpn;
    dest->flow = *rx->flow;
    dest->flow.dcna = rx->flow->scna;
    dest->flow.scna = rx->flow->dcna;
    dest->flow.mgmt = false;
}

static const UbTaLower wire_lower = {
    .send = wire_send, .pick = wire_pick, .answer = wire_answer,
    .reply = wire_reply,
};

static void deliver(Pair *p, Wire *w)
{
    End *to = &p->end[w->to], *from = &p->end[w->from];
    UbFlow flow = w->dest.flow;
    UbTpRx rx = {
        .mode = w->dest.mode, .tpn = w->dest.tpn, .msn = w->msn,
        .last = w->tx.last, .nlp = w->tx.nlp, .flow = &flow,
    };
    UbTpAnswer a;

    flow.scna = w->from + 1;
    ub_ta_time(to->ta, p->now);
    ub_ta_time(from->ta, p->now);
    if (rx.mode == UB_TP_RTP && to->refused[rx.tpn].status) {
        a = to->refused[rx.tpn];
        core_packet_free(w->pkt);
    } else {
        a = ub_ta_rx(to->ta, &rx, w->pkt);
    }
    if (rx.mode == UB_TP_RTP) {
        to->refused[rx.tpn] = rx.last ? (UbTpAnswer) { 0 } : a;
    }
    if (w->dest.mode == UB_TP_RTP && w->tx.last) {
        if (a.status == UB_TP_WITHHOLD) {
            Withheld h = { w->dest.tpn, w->msn, w->tx.cookie, w->to };

            if (!withheld) {
                withheld = g_array_new(false, false, sizeof(Withheld));
            }
            g_array_append_val(withheld, h);
        } else {
            ub_ta_acked(from->ta, w->dest.tpn, w->tx.cookie, a);
        }
        /* Room for others. */
        ub_ta_room(from->ta, w->dest.tpn);
    } else if (w->dest.mode == UB_TP_RTP) {
        g_assert_true(a.status == UB_TP_ACK || a.status == UB_TP_RNR);
    }
    g_free(w);
}

/* A turn, at a time not after @end. */
static bool step_until(Pair *p, int64_t end)
{
    int64_t next = INT64_MAX;
    Wire *w = p->wires;

    for (unsigned i = 0; i < p->n; i++) {
        End *e = &p->end[i];

        if (p->busy && !e->tp) {
            for (uint32_t tpn = 0; tpn < 64; tpn++) {
                ub_ta_room(e->ta, tpn);
            }
            ub_ta_room(e->ta, UB_TP_NONE);
        }
        e->next = ub_ta_run(e->ta, p->now, 64);
        next = MIN(next, e->next);
        if (e->tp) {
            if (p->busy) {
                ub_tp_space(e->tp, p->now);
            }
            e->next = ub_tp_run(e->tp, p->now, 64);
            next = MIN(next, e->next);
            e->next = ub_ta_run(e->ta, p->now, 64);
            next = MIN(next, e->next);
        }
    }
    if (p->wires) {
        next = MIN(next, p->wires->due);
    }
    if (p->was_busy) {
        next = MIN(next, p->now + 1000);
        p->was_busy = false;
    }
    if (next == INT64_MAX || next > end) {
        return false;
    }
    p->now = MAX(p->now, next);
    while ((w = p->wires) && w->due <= p->now) {
        p->wires = w->next;
        p->in_flight--;
        (p->real ? deliver_real : deliver)(p, w);
    }
    return true;
}

bool pair_step(Pair *p)
{
    return step_until(p, INT64_MAX);
}

void pair_run(Pair *p)
{
    while (pair_step(p)) {
    }
}

void pair_run_for(Pair *p, int64_t ns)
{
    int64_t end = p->now + ns;

    while (step_until(p, end)) {
    }
    p->now = MAX(p->now, end);
    for (unsigned i = 0; i < p->n; i++) {
        ub_ta_time(p->end[i].ta, p->now);
    }
}

/* ---- what is above ---- */

static UbTaData op_gather(void *opaque, const UbTaRequest *req, uint32_t off,
                          void *buf, uint32_t len)
{
    End *e = opaque;
    Work *w = req->user;

    if (e->guest && req->user == e->guest) {
        return e->guest_ops->gather(e->guest, req, off, buf, len);
    }
    if (e->gather_result != UB_TA_DATA_FAULT) {
        memcpy(buf, w->data + off, len);
    }
    return e->gather_result;
}

static UbTaData op_scatter(void *opaque, const UbTaRequest *req, uint32_t off,
                           const void *buf, uint32_t len)
{
    End *e = opaque;
    Work *w = req->user;

    if (e->guest && req->user == e->guest) {
        return e->guest_ops->scatter(e->guest, req, off, buf, len);
    }
    if (e->scatter_result == UB_TA_DATA_OK) {
        g_assert_cmpuint((uint64_t)off + len, <=, req->len);
        memcpy(w->data + off, buf, len);
    }
    return e->scatter_result;
}

static void op_done(void *opaque, UbTaRequest *req, UbTaStatus status)
{
    End *e = opaque;
    Work *w = req->user;
    Cqe c = { .id = req->id, .status = status };

    if (e->guest && req->user == e->guest) {
        e->guest_ops->done(e->guest, req, status);
        return;
    }
    g_assert_false(w->done);
    w->done = true;
    w->status = status;
    w->at = e->p->now;
    g_array_append_val(e->cqes, c);
    g_hash_table_remove(e->works, &w->req.id);
    if (e->done) {
        e->done(e, w);
    }
}

static UbAccessResult op_access(void *opaque, UbAccess *a, UbSpan *out,
                                unsigned max, unsigned *n)
{
    End *e = opaque;

    if (e->accessed) {
        e->accessed(e, a);
    }
    a->ticket = e->ticket;
    return ub_segments_access(e->segments, a, out, max, n);
}

static bool op_bus(void *opaque, uint64_t addr, void *buf, uint32_t len,
                   bool write)
{
    End *e = opaque;

    if (addr + len > PAIR_MEM) {
        return false;
    }
    memcpy(write ? (void *)(e->mem + addr) : buf,
           write ? buf : (void *)(e->mem + addr), len);
    if (!write && e->meanwhile) {
        e->meanwhile(e, addr, len);
    }
    return true;
}

static bool op_exchange(void *opaque, uint64_t addr, void *was, const void *now,
                        uint32_t len, bool *same)
{
    End *e = opaque;

    if (addr + len > PAIR_MEM) {
        return false;
    }
    g_assert_true(len <= 8 && !(len & (len - 1)) && !(addr % len));
    if (e->rival) {
        e->rival(e, addr, len);
    }
    *same = !memcmp(e->mem + addr, was, len);
    memcpy(*same ? e->mem + addr : was, *same ? now : e->mem + addr, len);
    return true;
}

static UbRecvResult op_receive(void *opaque, const UbRecvAsk *ask,
                               UbRecvBuf *buf)
{
    End *e = opaque;

    if (e->recv_result != UB_RECV_OK) {
        return e->recv_result;
    }
    if (ask->tc_id != PAIR_TCID) {
        return UB_RECV_UNSUPPORTED;
    }
    if (ask->token_en && ask->token != PAIR_TOKEN) {
        return UB_RECV_DENIED;
    }
    if (e->rqe_taken == e->rqe_posted) {
        return UB_RECV_EMPTY;
    }
    buf->rqe = e->rqe_taken++;
    buf->len = e->rqe_len ? e->rqe_len : PAIR_SLOT;
    return UB_RECV_OK;
}

static bool op_place(void *opaque, uint64_t rqe, uint32_t off,
                     const void *buf, uint32_t len)
{
    End *e = opaque;

    g_assert_cmpuint(off + len, <=, PAIR_SLOT);
    memcpy(e->slots + rqe % 64 * PAIR_SLOT + off, buf, len);
    return e->place_result == UB_TA_DATA_OK;
}

static void op_received(void *opaque, const UbRecvDone *done)
{
    End *e = opaque;
    Cqe c = { .id = done->rqe, .status = done->status, .recv = *done };

    g_array_append_val(e->recvs, c);
    if (e->received) {
        e->received(e, done);
    }
}

static void op_message(void *opaque, int64_t now, const UbTaMessage *m)
{
    End *e = opaque;

    e->messages++;
    e->last_message = *m;
    e->last_back = *m->back;
    memcpy(e->pdu, m->pdu, m->len);
}

static void op_rule(void *opaque, bool own, const char *section,
                    const char *text)
{
    End *e = opaque;

    e->rules++;
    g_assert_nonnull(section);
    g_assert_nonnull(text);
}

static void op_trace(void *opaque, bool tx, const UbFlow *flow,
                     const UbTahForm *form, const UbTah *tah,
                     uint32_t payload)
{
    End *e = opaque;
    char line[512];

    if (g_getenv("UB_TRACE")) {
        ub_tah_print(form, tah, line, sizeof(line));
        g_printerr("%" G_GINT64_FORMAT " node %u %s %u %s +%u\n", e->p->now,
                   e->index, tx ? "to" : "from",
                   (tx ? flow->dcna : flow->scna) - 1, line, payload);
    }
    if (tx && e->p->tracing) {
        ub_tah_print(form, tah, line, sizeof(line));
        g_ptr_array_add(e->sent, g_strdup_printf("%s +%u", line, payload));
    }
}

static const UbTaOps end_ops = {
    .gather = op_gather, .scatter = op_scatter, .done = op_done,
    .access = op_access, .bus = op_bus, .exchange = op_exchange, .receive = op_receive,
    .place = op_place, .received = op_received, .message = op_message,
    .rule = op_rule, .trace = op_trace,
};

/* ---- life ---- */

static UbTa *make_ta(End *e, const UbTaConfig *cfg)
{
    UbTa *ta = e->p->real ? ub_ta_new(cfg, &end_ops, e, &ub_ta_over_tp, e->tp,
                                      e->sec)
                          : ub_ta_new(cfg, &end_ops, e, &wire_lower, e,
                                      e->sec);

    g_assert_nonnull(ta);
    return ta;
}

void pair_config(UbTaConfig *cfg)
{
    ub_ta_config_init(cfg);
    cfg->ack_timeout = 100000000;       /* 100 ms */
    cfg->hold_time = 10000000;
}

static void set_rows(Pair *p, unsigned from, unsigned to)
{
    End *e = &p->end[from];
    UbTaDest d = { .sl_writeback = UB_TA_SAME_SL, .mtu = 4096 };

    d.sec.upi = PAIR_UPI;
    d.sec.seid = e->eid;
    d.sec.deid = p->end[to].eid;
    d.tp.flow.scna = from + 1;
    d.tp.flow.dcna = to + 1;
    d.tp.flow.cfg = UB_LPH_CNA24;
    d.tp.mode = UB_TP_RTP;
    d.sec.form = UB_SEC_WIDE;
    d.tp.tpn = channel(from, to, 0);
    g_assert_true(ub_ta_set_dest(e->ta, ROW_RTP + to, &d));
    d.tp.tpn = channel(from, to, 3);
    d.answers = true;
    g_assert_true(ub_ta_set_dest(e->ta, ROW_ANSWERS + to, &d));
    ub_ta_set_answers(e->ta, d.tp.tpn, true);
    d.answers = false;
    d.group = true;
    d.tp.tpn = to;
    g_assert_true(ub_ta_set_dest(e->ta, ROW_GROUP + to, &d));
    d.group = false;
    d.tp.tpn = 0;
    d.tp.mode = UB_TP_CTP;
    g_assert_true(ub_ta_set_dest(e->ta, ROW_CTP7 + to, &d));
    d.tp.flow.cfg = UB_LPH_CNA16;
    d.sec.form = UB_SEC_SHORT;
    g_assert_true(ub_ta_set_dest(e->ta, ROW_CTP + to, &d));
    d.tp.flow.rt = 1;
    g_assert_true(ub_ta_set_dest(e->ta, ROW_SPRAY + to, &d));
    d.tp.flow.rt = 0;
    d.tp.mode = UB_TP_BYPASS;
    d.tp.flow.cfg = UB_LPH_BYPASS;
    d.sec.form = UB_SEC_NONE;
    g_assert_true(ub_ta_set_dest(e->ta, ROW_BYPASS + to, &d));
    d.tp.mode = UB_TP_UTP;
    d.tp.flow.cfg = UB_LPH_IPV4;
    d.tp.flow.ip.dst[3] = to + 1;
    d.sec.form = UB_SEC_WIDE;
    g_assert_true(ub_ta_set_dest(e->ta, ROW_UTP + to, &d));
}

static Pair *make_pair(unsigned n, const UbTaConfig *cfg, bool real)
{
    Pair *p = g_new0(Pair, 1);
    UbTaConfig own;

    p->real = real;
    if (!cfg) {
        pair_config(&own);
        cfg = &own;
    }
    p->n = n;
    p->rng = 1;
    p->delay = 1000;
    p->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    for (unsigned i = 0; i < n; i++) {
        End *e = &p->end[i];
        UbSegment s = {
            .token_id = PAIR_TOKEN_ID, .uba = PAIR_UBA, .len = PAIR_MEM,
            .rights = 7, .check = true, .token = { PAIR_TOKEN, PAIR_TOKEN },
            .bare = true,
        };

        e->p = p;
        e->index = i;
        e->eid.b[0] = 0xfd;
        e->eid.b[15] = i + 1;
        e->sec = ub_sec_new(true);
        ub_sec_set_entity(e->sec, 0, &e->eid, PAIR_UPI);
        e->segments = ub_segments_new(16);
        e->mem = g_malloc0(PAIR_MEM);
        e->slots = g_malloc0(64 * PAIR_SLOT);
        s.host = e->mem;
        g_assert_true(ub_segments_add(e->segments, &s));
        e->works = g_hash_table_new(g_int64_hash, g_int64_equal);
        e->cqes = g_array_new(false, false, sizeof(Cqe));
        e->recvs = g_array_new(false, false, sizeof(Cqe));
        e->sent = g_ptr_array_new_with_free_func(g_free);
        e->tp = real ? make_tp(e) : NULL;
        e->ta = make_ta(e, cfg);
    }
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++) {
            set_rows(p, i, j);
            if (real && i != j) {
                make_channels(p, &p->end[i], j);
            }
        }
    }
    return p;
}

Pair *pair_new(unsigned n, const UbTaConfig *cfg)
{
    return make_pair(n, cfg, false);
}

Pair *pair_new_real(unsigned n, const UbTaConfig *cfg)
{
    return make_pair(n, cfg, true);
}

Pair *pair_new_switched(unsigned n, const UbTaConfig *cfg)
{
    Pair *p = make_pair(n, cfg, true);

    pair_switch_new(p);
    return p;
}

void pair_free(Pair *p)
{
    Wire *w;

    while ((w = p->wires)) {
        p->wires = w->next;
        core_packet_free(w->pkt);
        g_free(w);
    }
    if (withheld) {
        g_array_set_size(withheld, 0);
    }
    for (unsigned i = 0; i < p->n; i++) {
        End *e = &p->end[i];

        ub_ta_free(e->ta);
        ub_tp_free(e->tp);
        ub_sec_free(e->sec);
        ub_segments_free(e->segments);
        g_free(e->mem);
        g_free(e->slots);
        g_hash_table_destroy(e->works);
        g_array_free(e->cqes, true);
        g_array_free(e->recvs, true);
        g_ptr_array_free(e->sent, true);
    }
    pair_switch_free(p);
    core_packet_pool_free(p->pool);
    g_free(p);
}

UbTaQueue *pair_queue(Pair *p, unsigned node, uint32_t rcid, UbTaMode mode)
{
    UbTaQueueConfig cfg = { .rcid = rcid, .mode = mode };

    return ub_ta_queue_new(p->end[node].ta, &cfg);
}

Work *work_new(uint32_t row, uint8_t opcode, uint64_t off, uint32_t len)
{
    Work *w = g_new0(Work, 1);
    static uint64_t id;

    w->data = g_malloc0(2 * len + 1);
    w->req.id = id++;
    w->req.user = w;
    w->req.dest = row;
    w->req.opcode = opcode;
    w->req.len = len;
    w->req.addr = PAIR_UBA + off;
    w->req.token_id = PAIR_TOKEN_ID;
    w->req.token = PAIR_TOKEN;
    w->req.token_en = true;
    w->req.tc_id = PAIR_TCID;
    w->req.imm_token = PAIR_TOKEN;
    return w;
}

void work_free(Work *w)
{
    g_free(w->data);
    g_free(w);
}

void work_post(Pair *p, unsigned node, uint32_t rcid, Work *w)
{
    UbTa *ta = p->end[node].ta;

    g_assert_true(ub_ta_post(ta, ub_ta_queue(ta, rcid), &w->req));
    g_hash_table_insert(p->end[node].works, &w->req.id, w);
}

void work_all(Pair *p, unsigned node, uint32_t rcid, Work *w,
              UbTaStatus status)
{
    work_post(p, node, rcid, w);
    pair_run(p);
    g_assert_true(w->done);
    g_assert_cmpstr(ub_ta_status_name(w->status), ==,
                    ub_ta_status_name(status));
    work_free(w);
}

uint8_t *pair_save(Pair *p, unsigned node, size_t *len)
{
    CoreImage *im = core_image_save(p->now);
    uint8_t *data;

    if (p->real) {
        ub_tp_image(p->end[node].tp, im);
    }
    ub_ta_image(p->end[node].ta, im, NULL);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static UbTaRequest *op_adopt(void *opaque, uint32_t rcid, uint64_t id)
{
    End *e = opaque;
    Work *w = g_hash_table_lookup(e->works, &id);

    if (e->guest && rcid == e->guest_rcid) {
        return e->guest_adopt(e->guest, id);
    }
    return w ? &w->req : NULL;
}

const char *pair_load(Pair *p, unsigned node, const uint8_t *data, size_t len)
{
    End *e = &p->end[node];
    UbTaConfig cfg = *ub_ta_config(e->ta);
    CoreImage *im = core_image_load(data, len, p->now);
    const char *why;

    ub_ta_free(e->ta);
    if (p->real) {
        ub_tp_free(e->tp);
        e->tp = make_tp(e);
        ub_tp_image(e->tp, im);
    }
    e->ta = make_ta(e, &cfg);
    ub_ta_image(e->ta, im, op_adopt);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

const char *pair_migrate(Pair *p, unsigned node)
{
    size_t len;
    g_autofree uint8_t *data = pair_save(p, node, &len);

    return pair_load(p, node, data, len);
}

void pair_recv(Pair *p, unsigned node, unsigned count)
{
    p->end[node].rqe_posted += count;
}

uint64_t pair_count(Pair *p, unsigned node, UbTaCounter c)
{
    return ub_ta_counter(p->end[node].ta, c);
}

void pair_idle(Pair *p)
{
    g_assert_cmpuint(core_packet_pool_used(p->pool), ==, 0);
    for (unsigned i = 0; i < p->n; i++) {
        UbTaState s;

        ub_ta_state(p->end[i].ta, &s);
        g_assert_cmpuint(s.requests, ==, 0);
        g_assert_cmpuint(s.slices, ==, 0);
        g_assert_cmpuint(s.partial, ==, 0);
        g_assert_cmpuint(s.held, ==, 0);
        g_assert_cmpuint(s.parked, ==, 0);
        g_assert_cmpuint(s.answers, ==, 0);
        g_assert_cmpuint(s.packets, ==, 0);
    }
}
