/*
 * A network in memory and virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/bytes.h"
#include "core/random.h"
#include "core/serial.h"
#include "lossy.h"

typedef struct Event {
    int64_t at;
    uint64_t order;
    unsigned to;
    UbFlow flow;
    CorePacket *pkt;
    bool keep;          /* only let go of a packet */
} Event;

/* ---- the heap ---- */

static bool earlier(const Event *a, const Event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void heap_push(GPtrArray *h, Event *e)
{
    guint i = h->len;

    g_ptr_array_add(h, e);
    while (i && earlier(e, h->pdata[(i - 1) / 2])) {
        h->pdata[i] = h->pdata[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->pdata[i] = e;
}

static Event *heap_pop(GPtrArray *h)
{
    Event *first = h->pdata[0], *e = h->pdata[h->len - 1];
    guint i = 0, n = h->len - 1;

    g_ptr_array_set_size(h, n);
    for (guint c; n && (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && earlier(h->pdata[c + 1], h->pdata[c])) {
            c++;
        }
        if (!earlier(h->pdata[c], e)) {
            break;
        }
        h->pdata[i] = h->pdata[c];
    }
    if (n) {
        h->pdata[i] = e;
    }
    return first;
}

/* ---- the way of a packet ---- */

static LossyKind kind_of(const UbFlow *flow, CorePacket *pkt, UbRtph *h)
{
    memset(h, 0, sizeof(*h));
    if (flow->cfg == UB_LPH_BYPASS) {
        return KIND_BYPASS;
    }
    if (!ub_lph_is_ip(flow->cfg) && flow->nlp == UB_NLP_CTPH) {
        return KIND_CTP;
    }
    g_assert_cmpuint(pkt->len, >=, UB_RTPH_LEN);
    ub_rtph_get(core_packet_data(pkt), h);
    switch (h->opcode) {
    case UB_TPOP_DATA:
        return h->fake ? KIND_FAKE : KIND_DATA;
    case UB_TPOP_SACK:
    case UB_TPOP_SACK_CC:
        return KIND_SACK;
    case UB_TPOP_CNP:
        return KIND_CNP;
    case UB_TPOP_UNRELIABLE:
        return KIND_UTP;
    default:
        return h->rspst == UB_RTPH_NAK && h->rspinfo == 0 ? KIND_NAK
                                                          : KIND_ACK;
    }
}

static const LossyRule *rule_of(LossyNode *from, LossyKind kind,
                                const UbRtph *h, uint32_t base)
{
    GArray *rules = from->net->rules[from->n];
    const LossyRule *found = NULL;

    for (guint i = 0; rules && i < rules->len; i++) {
        const LossyRule *r = &g_array_index(rules, LossyRule, i);

        if ((r->kind == KIND_ANY || r->kind == kind) &&
            (r->psn < 0 || ((base + r->psn) & UB_PSN_MASK) == h->psn) &&
            (++from->net->seen[from->n][i] == r->nth || !r->nth)) {
            found = r;
        }
    }
    return found;
}

static void trace(LossyNode *from, LossyKind kind, const UbRtph *h,
                  CorePacket *pkt, bool lost)
{
    Lossy *l = from->net;
    uint32_t base = l->node[kind == KIND_DATA || kind == KIND_FAKE
                            ? from->n : !from->n].psn;
    int psn = serial_diff(h->psn, base, UB_PSN_BITS);
    const char *dir = from->n ? "<" : ">";
    UbSaetph s;

    if (from->n > 1) {
        return;
    }
    switch (kind) {
    case KIND_DATA:
        g_string_append_printf(l->trace, "%s%d", dir, psn);
        break;
    case KIND_FAKE:
        g_string_append_printf(l->trace, "%sF%d", dir, psn);
        break;
    case KIND_ACK:
        g_string_append_printf(l->trace, "%sA%d", dir, psn);
        if (h->rspst) {
            g_string_append_printf(l->trace, "=%u/%u", h->rspst, h->rspinfo);
        }
        break;
    case KIND_NAK:
        g_string_append_printf(l->trace, "%sN%d", dir, psn);
        break;
    case KIND_SACK:
        g_assert_true(ub_saetph_get(core_packet_data(pkt) + UB_RTPH_LEN +
                                    ub_tp_ops[h->opcode].cetph,
                                    pkt->len - UB_RTPH_LEN, &s));
        g_string_append_printf(l->trace, "%sS%d:%x", dir, psn, s.map[0]);
        break;
    case KIND_CNP:
        g_string_append_printf(l->trace, "%sC", dir);
        break;
    default:
        return;
    }
    g_string_append(l->trace, lost ? "x " : " ");
}

static void carry(Lossy *l, unsigned to, const UbFlow *flow, CorePacket *pkt,
                  int64_t delay)
{
    Event *e = g_new0(Event, 1);

    e->at = l->now + l->latency + delay +
            (l->jitter ? (int64_t)(core_random(&l->rng) % l->jitter) : 0);
    e->order = l->order++;
    e->to = to;
    e->flow = *flow;
    e->pkt = core_packet_alloc(l->pool, pkt->len);
    memcpy(core_packet_data(e->pkt), core_packet_data(pkt), pkt->len);
    heap_push(l->events, e);
}

static bool chance(Lossy *l, uint32_t ppm)
{
    return ppm && core_random(&l->rng) % 1000000 < ppm;
}

static UbSend net_send(void *opaque, int64_t now, const UbFlow *flow,
                       CorePacket *pkt)
{
    LossyNode *from = opaque;
    Lossy *l = from->net;
    const LossyRule *r;
    unsigned to = flow->dcna - 1;
    UbFlow in = *flow;
    LossyKind kind;
    bool lost;
    UbRtph h;

    g_assert_cmpint(now, ==, l->now);
    if (from->down || chance(l, l->busy_ppm)) {
        return UB_BUSY;
    }
    if (ub_lph_is_ip(flow->cfg)) {
        to = flow->ip.dst[3] - 1;
        memset(&in.ip, 0, sizeof(in.ip));
        in.ip.src[3] = from->n + 1;
        in.ip.dst[3] = to + 1;
    }
    if (to >= l->nodes) {
        core_packet_free(pkt);          /* no way there */
        return UB_LOST;
    }
    kind = kind_of(flow, pkt, &h);
    r = rule_of(from, kind, &h,
                l->node[kind == KIND_DATA || kind == KIND_FAKE ? from->n : to]
                    .psn);
    /* Acknowledgements have no congestion control but an echoed Timestamp. */
    g_assert_true(kind == KIND_DATA || kind >= KIND_CTP || !flow->cci ||
                  (kind == KIND_CNP &&
                   ub_cci_mode(flow->cci) == UB_CCI_FECN_RTT &&
                   !(flow->cci & UB_CCI_FECN_BITS)));
    lost = (r && r->what == LOSE) || chance(l, l->lose_ppm);
    trace(from, kind, &h, pkt, lost);
    l->sent++;
    l->lost += lost;
    in.scna = from->n + 1;
    in.dcna = to + 1;
    in.port = in.vl = 0;
    in.cci = l->cci ? l->cci : flow->cci;
    if (!lost) {
        carry(l, to, &in, pkt, r && r->what == DELAY ? r->delay : 0);
    }
    if ((r && r->what == DOUBLE) || (!lost && chance(l, l->double_ppm))) {
        carry(l, to, &in, pkt, 0);
    }
    /* As the network layer leaves a packet: with its own in front and behind. */
    memset(core_packet_push(pkt, UB_NTH24_SIZE), 0xee, UB_NTH24_SIZE);
    memset(core_packet_put(pkt, UB_ICRC_SIZE), 0xee, UB_ICRC_SIZE);
    memset(pkt->cb, 0xee, sizeof(pkt->cb));
    if (chance(l, l->keep_ppm)) {
        Event *e = g_new0(Event, 1);

        e->at = l->now + l->latency * 4;
        e->order = l->order++;
        e->keep = true;
        e->pkt = pkt;
        heap_push(l->events, e);
    } else {
        core_packet_free(pkt);
    }
    return UB_SENT;
}

static const UbTpLower lower = { .send = net_send };

/* ---- users ---- */

static UbTpAnswer user_rx(void *opaque, const UbTpRx *rx, CorePacket *pkt)
{
    LossyNode *node = opaque;
    LossyGot got = { .rx = *rx, .flow = *rx->flow, .len = pkt->len };
    UbTpAnswer a = { UB_TP_ACK, 0 };

    got.rx.flow = NULL;
    got.tag = pkt->len >= 8 ? get_be64(core_packet_data(pkt)) : 0;
    if (node->on_rx) {
        node->on_rx(node, rx, pkt);
    } else {
        g_array_append_val(node->got, got);
    }
    if (node->answer) {
        a = node->answer(node, rx);
    }
    core_packet_free(pkt);
    return a;
}

static void user_acked(void *opaque, uint32_t tpn, uint64_t cookie,
                       UbTpAnswer answer)
{
    LossyNode *node = opaque;
    LossyAcked a = { tpn, cookie, answer };

    if (node->on_acked) {
        node->on_acked(node, &a);
    } else {
        g_array_append_val(node->acked, a);
    }
}

static void user_error(void *opaque, uint32_t tpn, UbTpError error)
{
    LossyNode *node = opaque;

    g_array_append_val(node->errors, error);
}

static void user_room(void *opaque, uint32_t tpn)
{
    LossyNode *node = opaque;

    node->rooms++;
    if (node->on_room) {
        node->on_room(node, tpn);
    }
}

static bool user_accept(void *opaque, const UbFlow *from, UbTpAttr *attr)
{
    LossyNode *node = opaque;

    node->accepts++;
    if (node->accept_attr) {
        attr->mtu = node->accept_attr->mtu;
        attr->cc = node->accept_attr->cc;
    }
    return !node->refuse;
}

static void user_connected(void *opaque, uint32_t tpn, UbTpResult result)
{
    LossyNode *node = opaque;

    node->connects++;
    node->connected = result;
    node->connected_tpn = tpn;
}

static void user_ended(void *opaque, uint32_t tpn)
{
    LossyNode *node = opaque;

    node->ends++;
    node->ended_tpn = tpn;
}

static const UbTpUpper upper = {
    .rx = user_rx, .acked = user_acked, .error = user_error,
    .room = user_room, .accept = user_accept, .connected = user_connected,
    .ended = user_ended,
};

/* ---- life ---- */

void lossy_renew(Lossy *l, unsigned n, const UbTpConfig *cfg)
{
    LossyNode *node = &l->node[n];
    UbTpConfig c = *cfg;

    ub_tp_free(node->tp);
    c.upper = &upper;
    c.lower = &lower;
    c.upper_opaque = c.lower_opaque = node;
    c.seed += n;
    g_assert_cmpstr(ub_tp_config_fault(&c), ==, NULL);
    node->tp = ub_tp_new(&c);
}

Lossy *lossy_new(const UbTpConfig *cfg, unsigned nodes)
{
    Lossy *l = g_new0(Lossy, 1);

    l->now = 1000000;
    l->latency = 10000;
    l->rng = 1;
    l->nodes = nodes;
    l->events = g_ptr_array_new();
    l->trace = g_string_new("");
    l->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    l->budget = 1000;
    for (unsigned i = 0; i < nodes; i++) {
        LossyNode *node = &l->node[i];

        node->net = l;
        node->n = i;
        node->got = g_array_new(false, false, sizeof(LossyGot));
        node->acked = g_array_new(false, false, sizeof(LossyAcked));
        node->errors = g_array_new(false, false, sizeof(UbTpError));
        lossy_renew(l, i, cfg);
    }
    return l;
}

void lossy_free(Lossy *l)
{
    while (l->events->len) {
        Event *e = heap_pop(l->events);

        core_packet_free(e->pkt);
        g_free(e);
    }
    for (unsigned i = 0; i < l->nodes; i++) {
        ub_tp_free(l->node[i].tp);
        g_array_free(l->node[i].got, true);
        g_array_free(l->node[i].acked, true);
        g_array_free(l->node[i].errors, true);
        if (l->rules[i]) {
            g_array_free(l->rules[i], true);
        }
        g_free(l->seen[i]);
    }
    /* Nobody keeps what is not his. */
    g_assert_cmpuint(core_packet_pool_used(l->pool), ==, 0);
    core_packet_pool_free(l->pool);
    g_ptr_array_free(l->events, true);
    g_string_free(l->trace, true);
    g_free(l);
}

void lossy_script(Lossy *l, unsigned n, const LossyRule *rules)
{
    if (l->rules[n]) {
        g_array_free(l->rules[n], true);
        g_free(l->seen[n]);
    }
    l->rules[n] = g_array_new(false, false, sizeof(*rules));
    for (; rules->what; rules++) {
        g_array_append_val(l->rules[n], *rules);
    }
    l->seen[n] = g_new0(unsigned, l->rules[n]->len + 1);
}

UbFlow lossy_flow(unsigned a, unsigned b, UbLphCfg cfg)
{
    UbFlow f;

    ub_flow_init(&f, cfg);
    f.scna = a + 1;
    f.dcna = b + 1;
    if (ub_lph_is_ip(cfg)) {
        f.ip.src[3] = a + 1;
        f.ip.dst[3] = b + 1;
    }
    f.nlp = cfg == UB_LPH_CNA24 ? UB_NLP_RTPH : UB_NLP_CTPH;
    return f;
}

void lossy_channel(Lossy *l, unsigned a, unsigned b, uint32_t ta, uint32_t tb,
                   const UbTpAttr *attr)
{
    UbLphCfg cfg = attr->flow.cfg;
    UbTpAttr at = *attr;

    at.flow = lossy_flow(a, b, cfg);
    at.dst_tpn = tb;
    g_assert_cmpint(ub_tp_create(l->node[a].tp, &ta, &at), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_activate(l->node[a].tp, ta), ==, UB_TPR_OK);
    l->node[a].psn = at.tx_psn;
    at = *attr;
    at.flow = lossy_flow(b, a, cfg);
    at.dst_tpn = ta;
    at.tx_psn = attr->rx_psn;
    at.rx_psn = attr->tx_psn;
    g_assert_cmpint(ub_tp_create(l->node[b].tp, &tb, &at), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_activate(l->node[b].tp, tb), ==, UB_TPR_OK);
    l->node[b].psn = at.tx_psn;
}

/* ---- packets ---- */

static uint8_t content(uint64_t tag, uint32_t i)
{
    return tag * 31 + i * 7 + (i >> 8);
}

CorePacket *lossy_packet(Lossy *l, uint32_t len, uint64_t tag)
{
    CorePacket *pkt = core_packet_alloc(l->pool, len);
    uint8_t *p = core_packet_data(pkt);

    for (uint32_t i = 8; i < len; i++) {
        p[i] = content(tag, i);
    }
    if (len >= 8) {
        put_be64(p, tag);
    }
    return pkt;
}

bool lossy_intact(CorePacket *pkt, uint64_t tag)
{
    const uint8_t *p = core_packet_data(pkt);

    if (pkt->len >= 8 && get_be64(p) != tag) {
        return false;
    }
    for (uint32_t i = 8; i < pkt->len; i++) {
        if (p[i] != content(tag, i)) {
            return false;
        }
    }
    return true;
}

UbSend lossy_send(LossyNode *node, uint32_t tpn, uint32_t len, uint64_t tag,
                  bool last, bool result, uint64_t cookie)
{
    UbTpDest dest = { .mode = UB_TP_RTP, .tpn = tpn };
    UbTpTx tx = { .nlp = UB_TPH_UPI32, .last = last, .result = result,
                  .cookie = cookie };
    CorePacket *pkt = lossy_packet(node->net, len, tag);
    UbSend sent = ub_tp_send(node->tp, &dest, pkt, &tx, node->net->now);

    if (sent == UB_BUSY) {
        g_assert_true(lossy_intact(pkt, tag));
        g_assert_cmpuint(pkt->len, ==, len);
        core_packet_free(pkt);
    }
    return sent;
}

void lossy_inject(Lossy *l, unsigned n, const UbFlow *flow, const void *data,
                  uint32_t len)
{
    CorePacket *pkt = core_packet_alloc(l->pool, len);

    memcpy(core_packet_data(pkt), data, len);
    ub_tp_rx(l->node[n].tp, flow, pkt, l->now);
}

/* ---- time ---- */

void lossy_run(Lossy *l, int64_t until)
{
    for (;;) {
        int64_t next = until;

        for (unsigned i = 0; i < l->nodes; i++) {
            int64_t at;

            /* What was busy is not for ever. */
            if (!l->node[i].down && l->busy_ppm) {
                ub_tp_space(l->node[i].tp, l->now);
            }
            at = ub_tp_run(l->node[i].tp, l->now, l->budget);
            g_assert_cmpint(at, >=, l->now);
            if (at == l->now && l->busy_ppm) {
                at++;
            }
            next = MIN(next, at);
            if (l->busy_ppm) {
                next = MIN(next, l->now + 1000);
            }
        }
        if (l->events->len) {
            next = MIN(next, ((Event *)l->events->pdata[0])->at);
        }
        if (next >= until) {
            break;
        }
        l->now = MAX(l->now, next);
        while (l->events->len &&
               ((Event *)l->events->pdata[0])->at <= l->now) {
            Event *e = heap_pop(l->events);

            if (e->keep) {
                core_packet_free(e->pkt);
            } else {
                ub_tp_rx(l->node[e->to].tp, &e->flow, e->pkt, l->now);
            }
            g_free(e);
        }
    }
    l->now = until;
}
