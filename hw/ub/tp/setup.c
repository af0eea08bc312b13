/*
 * Channels agreed in band.  The document leaves this open (UB 2.0 §6.3.1); ours
 * is a message of 36 bytes behind a TPH with a reserved NLP, over UTP on IP
 * paths and CTP on others:
 *
 *   0 version (1)   1 type   2 flags (16)   4 cookie   8 TPN of the sender
 *   12 TPN of the receiver   16 first PSN of the sender   20 MTU (16)
 *   22 window out of order (16)   24 answers remembered (16)
 *   26 bits of TPSACK (16)   28 algorithm   29 result   32 unit of windows
 *
 *   REQUEST ->   <- REPLY or REFUSE   CONFIRM ->          BYE either way
 *
 * Who asked repeats REQUEST, who was asked repeats REPLY until the CONFIRM or
 * the first packet.  Who asked and then had no turn for long asks anew, with another
 * cookie: the REPLY that it finds may be of a channel that was let go.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { SETUP_LEN = 36, SETUP_VERSION = 1 };
enum { REQUEST = 1, REPLY, CONFIRM, REFUSE, BYE };
enum { F_SELECTIVE = 1, F_FAST = 2, F_MARK = 4, F_OOO = 8, F_ALL = 15 };

typedef struct Setup {
    uint8_t type;
    uint16_t flags;
    uint32_t cookie, src, dst, psn;
    uint16_t mtu, ooo_window, results, sack_bits;
    uint8_t cc, result;
    uint32_t cw_unit;
} Setup;

/* ---- messages ---- */

static void setup_send(UbTp *tp, const UbFlow *to, const Setup *m,
                       int64_t now)
{
    CorePacket *pkt = core_packet_alloc(tp->pool, SETUP_LEN);
    UbFlow flow = *to;
    UbSend sent;
    uint8_t *p;

    if (!pkt) {
        return;
    }
    p = core_packet_data(pkt);
    memset(p, 0, SETUP_LEN);
    p[0] = SETUP_VERSION;
    p[1] = m->type;
    put_be16(p + 2, m->flags);
    put_be32(p + 4, m->cookie);
    put_be32(p + 8, m->src);
    put_be32(p + 12, m->dst);
    put_be32(p + 16, m->psn);
    put_be16(p + 20, m->mtu);
    put_be16(p + 22, m->ooo_window);
    put_be16(p + 24, m->results);
    put_be16(p + 26, m->sack_bits);
    p[28] = m->cc;
    p[29] = m->result;
    put_be32(p + 32, m->cw_unit);
    flow.nlp = UB_NLP_CTPH;
    sent = ub_lph_is_ip(flow.cfg)
        ? utp_send(tp, &flow, pkt, tp->cfg.setup_nlp, now)
        : ctp_send(tp, &flow, pkt, tp->cfg.setup_nlp, now);
    if (sent == UB_BUSY) {
        tp_drop(&tp->count.drop_busy, pkt);     /* it is repeated */
    } else {
        tp->count.setup_tx++;
    }
}

static bool setup_get(CorePacket *pkt, Setup *m)
{
    const uint8_t *p = core_packet_data(pkt);

    if (pkt->len < SETUP_LEN || p[0] != SETUP_VERSION) {
        return false;
    }
    *m = (Setup) {
        .type = p[1], .flags = get_be16(p + 2), .cookie = get_be32(p + 4),
        .src = get_be32(p + 8), .dst = get_be32(p + 12),
        .psn = get_be32(p + 16), .mtu = get_be16(p + 20),
        .ooo_window = get_be16(p + 22), .results = get_be16(p + 24),
        .sack_bits = get_be16(p + 26), .cc = p[28], .result = p[29],
        .cw_unit = get_be32(p + 32),
    };
    return !(m->flags & ~F_ALL) && m->src && m->src <= UB_TPN_MASK &&
           m->psn <= UB_PSN_MASK;
}

/* What a channel says of itself. */
static void setup_say(const Chan *ch, uint8_t type, int64_t now)
{
    const UbTpAttr *a = &ch->attr;
    Setup m = {
        .type = type,
        .flags = (a->selective ? F_SELECTIVE : 0) | (a->fast ? F_FAST : 0) |
                 (a->mark ? F_MARK : 0) | (a->ooo ? F_OOO : 0),
        .cookie = ch->setup_cookie, .src = ch->tpn,
        .dst = type == REQUEST ? 0 : a->dst_tpn, .psn = a->tx_psn,
        .mtu = a->mtu, .ooo_window = a->ooo_window,
        .results = ch->tp->cfg.results, .sack_bits = a->sack_bits,
        .cc = a->cc, .cw_unit = a->cw_unit,
    };
    UbFlow flow;

    chan_flow(ch, &flow);
    setup_send(ch->tp, &flow, &m, now);
}

/* ---- agreeing ---- */

/* What both ends must do alike, and what the peer bears. */
static void setup_adopt(UbTpAttr *a, const Setup *m)
{
    a->selective = m->flags & F_SELECTIVE;
    a->fast = m->flags & F_FAST;
    a->mark = m->flags & F_MARK;
    a->ooo = m->flags & F_OOO;
    a->ooo_window = m->ooo_window;
    a->dst_tpn = m->src;
    a->rx_psn = m->psn;
    a->mtu = MIN(a->mtu, m->mtu);
    a->sack_bits = MIN(a->sack_bits, m->sack_bits);
    a->cc = m->cc;
    a->cw_unit = m->cw_unit;
    a->tx_window = MIN(a->tx_window, MIN(m->results, m->ooo_window));
    if (!a->ooo) {
        a->spray = false;
    }
}

static void setup_up(Chan *ch, UbTpResult result)
{
    const UbTpConfig *cfg = &ch->tp->cfg;

    if (cfg->upper->connected) {
        cfg->upper->connected(cfg->upper_opaque, ch->tpn, result);
    }
}

/* FNV-1a. */
static uint64_t setup_hash(const uint8_t *b, size_t len)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t setup_key(const UbFlow *from, const Setup *m)
{
    uint8_t b[24] = { from->cfg };

    put_be32(b + 1, m->src);
    if (ub_lph_is_ip(from->cfg)) {
        memcpy(b + 5, from->ip.src, 16);
    } else {
        put_be32(b + 5, from->scna);
    }
    return setup_hash(b, sizeof(b));
}

static void setup_refuse(UbTp *tp, const UbFlow *back, const Setup *m,
                         UbTpResult why, int64_t now)
{
    Setup no = { .type = REFUSE, .cookie = m->cookie, .src = 1,
                 .dst = m->src, .result = why };

    setup_send(tp, back, &no, now);
}

/* The peer has no such channel any more.  One that it had asked for goes: nobody
 * here has made it, so nobody would destroy it. */
static void setup_gone(Chan *ch)
{
    if (ch->state == UB_TP_ACTIVE) {
        ch->state = UB_TP_ERROR;
        chan_flush(ch);
        setup_up(ch, UB_TPR_REFUSED);
        if (ch->in_band && !ch->setup_active) {
            chan_free(ch);
        }
    }
}

void setup_end(Chan *ch, int64_t now)
{
    if (ch->state == UB_TP_ACTIVE) {
        setup_bye(ch, now);
        setup_gone(ch);
    } else if (ch->state == UB_TP_INIT && ch->setup_active) {
        ch->state = UB_TP_RESET;
        ch->setup_at = CORE_NEVER;
        chan_timer(ch);
        setup_up(ch, UB_TPR_REFUSED);
    } else if (ch->state == UB_TP_INIT) {
        chan_free(ch);      /* nobody was told of it */
    }
}

/* Who is at the other end of @to, the flow to it. */
static uint64_t setup_source(const UbFlow *to)
{
    uint8_t b[17] = { to->cfg };

    if (ub_lph_is_ip(to->cfg)) {
        memcpy(b + 1, to->ip.dst, 16);
    } else {
        put_be32(b + 1, to->dcna);
    }
    return setup_hash(b, sizeof(b));
}

static unsigned setup_of_source(const UbTp *tp, uint64_t source)
{
    return tp->sources ? GPOINTER_TO_UINT(g_hash_table_lookup(tp->sources,
                                                              &source)) : 0;
}

static void setup_count(UbTp *tp, uint64_t source, int by)
{
    unsigned n = setup_of_source(tp, source) + by;

    if (n) {
        g_hash_table_insert(tp->sources, g_memdup2(&source, sizeof(source)),
                            GUINT_TO_POINTER(n));
    } else {
        g_hash_table_remove(tp->sources, &source);
    }
}

/* Whether the node at the other end of @to may have one more.  An eighth of all
 * channels is for those that are asked for here, and one node has at most half of
 * the others, so that nobody keeps everybody else out. */
static bool setup_room(const UbTp *tp, const UbFlow *to)
{
    unsigned most = tp->cfg.max_channels - tp->cfg.max_channels / 8;

    return !tp->peers || (g_hash_table_size(tp->peers) < most &&
                          setup_of_source(tp, setup_source(to)) <
                              most - most / 2);
}

static void setup_asked(UbTp *tp, const UbFlow *from, const Setup *m,
                        int64_t now)
{
    uint64_t key = setup_key(from, m);
    Chan *ch = tp->peers ? g_hash_table_lookup(tp->peers, &key) : NULL;
    UbTpResult result = UB_TPR_REFUSED;
    UbFlow back;
    UbTpAttr attr;

    ub_flow_reply(&back, from);
    if (ch && ch->setup_cookie == m->cookie && ch->attr.dst_tpn == m->src) {
        if (ch->state == UB_TP_INIT) {
            ch->setup_left = tp->cfg.setup_tries;   /* the peer is still there */
        }
        if (ch->state == UB_TP_INIT || ch->state == UB_TP_ACTIVE) {
            setup_say(ch, REPLY, now);
        }
        return;
    }
    /* The peer began anew. */
    if (ch && ch->state == UB_TP_ACTIVE) {
        setup_gone(ch);
    } else if (ch) {
        chan_free(ch);
    }
    ub_tp_attr_init(tp, &attr);
    attr.flow = back;
    attr.flow.nlp = UB_NLP_RTPH;
    attr.flow.cci = 0;
    setup_adopt(&attr, m);
    if (!allow_asks(tp, &back)) {
        result = UB_TPR_REFUSED;
    } else if (!setup_room(tp, &back)) {
        result = UB_TPR_FULL;
    } else if (tp->cfg.upper->accept &&
        tp->cfg.upper->accept(tp->cfg.upper_opaque, from, &attr)) {
        result = chan_new(tp, UB_TP_NONE, &attr, &ch);
    }
    if (result != UB_TPR_OK) {
        setup_refuse(tp, &back, m, result, now);
        return;
    }
    ch->state = UB_TP_INIT;
    ch->in_band = true;
    ch->setup_cookie = m->cookie;
    ch->setup_left = tp->cfg.setup_tries;
    ch->setup_at = now + tp_clock(tp, UB_TPC_SETUP, tp->cfg.setup_us);
    setup_remember(ch, key);
    chan_timer(ch);
    setup_say(ch, REPLY, now);
}

void setup_remember(Chan *ch, uint64_t key)
{
    UbTp *tp = ch->tp;

    if (!tp->peers) {
        tp->peers = g_hash_table_new(g_int64_hash, g_int64_equal);
        tp->sources = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                            NULL);
    }
    ch->peer_key = key;
    ch->source = setup_source(&ch->attr.flow);
    setup_count(tp, ch->source, 1);
    g_hash_table_insert(tp->peers, &ch->peer_key, ch);
}

void setup_forget(Chan *ch)
{
    if (ch->peer_key && ch->tp->peers) {
        g_hash_table_remove(ch->tp->peers, &ch->peer_key);
        setup_count(ch->tp, ch->source, -1);
        ch->peer_key = 0;
    }
}

void setup_confirm(Chan *ch, int64_t now)
{
    ch->state = UB_TP_ACTIVE;
    ch->setup_at = CORE_NEVER;
    cc_attach(ch, now);
    chan_timer(ch);
    setup_up(ch, UB_TPR_OK);
}

/* Whether who asks had no turn for half as long as its REQUEST is remembered. */
static bool setup_late(const Chan *ch, int64_t now)
{
    const UbTpConfig *cfg = &ch->tp->cfg;
    uint64_t us = (uint64_t)cfg->setup_us * MAX(cfg->setup_tries / 2, 1);

    return ch->setup_active &&
           now - ch->setup_at >= tp_clock(ch->tp, UB_TPC_SETUP, us);
}

/* The answer to what we asked. */
static void setup_answered(Chan *ch, const Setup *m, int64_t now)
{
    UbTpAttr attr = ch->attr;

    if (ch->state == UB_TP_ACTIVE && ch->attr.dst_tpn == m->src) {
        setup_say(ch, CONFIRM, now);    /* the first was lost */
        return;
    }
    if (ch->state != UB_TP_INIT) {
        return;
    }
    if (setup_late(ch, now)) {
        setup_timer(ch, now);
        chan_timer(ch);
        return;
    }
    setup_adopt(&attr, m);
    ch->setup_at = CORE_NEVER;
    if (!attr_good(&ch->tp->cfg, &attr)) {
        ch->state = UB_TP_RESET;
        chan_timer(ch);
        setup_up(ch, UB_TPR_REFUSED);
        return;
    }
    ch->attr = attr;
    chan_begin(ch);
    setup_say(ch, CONFIRM, now);
    setup_confirm(ch, now);
}

UbTpResult ub_tp_connect(UbTp *tp, uint32_t tpn, int64_t now)
{
    Chan *ch = chan_get(tp, tpn);

    if (!ch) {
        return UB_TPR_NO_CHANNEL;
    }
    if (ch->state != UB_TP_RESET) {
        return UB_TPR_BAD_STATE;
    }
    if (!allow_asks(tp, &ch->attr.flow)) {
        return UB_TPR_REFUSED;
    }
    ch->state = UB_TP_INIT;
    ch->in_band = ch->setup_active = true;
    ch->setup_cookie = core_random(&tp->rng);
    ch->setup_left = tp->cfg.setup_tries;
    ch->setup_at = now + tp_clock(tp, UB_TPC_SETUP, tp->cfg.setup_us);
    chan_timer(ch);
    setup_say(ch, REQUEST, now);
    return UB_TPR_OK;
}

void setup_timer(Chan *ch, int64_t now)
{
    if (ch->setup_left) {
        if (setup_late(ch, now)) {
            ch->setup_cookie = core_random(&ch->tp->rng);
        }
        ch->setup_left--;
        ch->setup_at = now + tp_clock(ch->tp, UB_TPC_SETUP,
                                      ch->tp->cfg.setup_us);
        setup_say(ch, ch->setup_active ? REQUEST : REPLY, now);
        return;
    }
    ch->setup_at = CORE_NEVER;
    if (ch->setup_active) {
        ch->state = UB_TP_RESET;
        setup_up(ch, UB_TPR_TIMEOUT);
    } else {
        /* The user was never told of it, and nobody knows its number. */
        chan_free(ch);
    }
}

void setup_bye(Chan *ch, int64_t now)
{
    if (ch->in_band && ch->state == UB_TP_ACTIVE) {
        setup_say(ch, BYE, now);
    }
}

void setup_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, int64_t now)
{
    Setup m;
    Chan *ch;
    bool good = setup_get(pkt, &m);

    core_packet_free(pkt);
    if (!good || (!ub_lph_is_ip(flow->cfg) && flow->cfg != UB_LPH_CNA24)) {
        tp->count.drop_setup++;
        return;
    }
    tp->count.setup_rx++;
    if (m.type == REQUEST) {
        setup_asked(tp, flow, &m, now);
        return;
    }
    ch = chan_get(tp, m.dst);
    if (!ch || !ch->in_band || ch->setup_cookie != m.cookie ||
        (m.type != REFUSE && m.type != REPLY && ch->attr.dst_tpn != m.src)) {
        tp->count.drop_setup++;
        return;
    }
    if (m.type == REPLY && ch->setup_active) {
        setup_answered(ch, &m, now);
    } else if (m.type == CONFIRM && !ch->setup_active) {
        if (ch->state == UB_TP_INIT) {
            setup_confirm(ch, now);
        }
    } else if (m.type == REFUSE && ch->setup_active &&
               ch->state == UB_TP_INIT) {
        ch->state = UB_TP_RESET;
        ch->setup_at = CORE_NEVER;
        chan_timer(ch);
        setup_up(ch, m.result < UB_TPRS && m.result ? m.result
                                                    : UB_TPR_REFUSED);
    } else if (m.type == BYE && ch->state == UB_TP_ACTIVE) {
        setup_gone(ch);
    } else {
        tp->count.drop_setup++;
    }
}
