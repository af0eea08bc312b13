/*
 * Who is at the other end: whose a packet over RTP is, from which address a channel
 * sends, what each packet looks like below.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../../../../hw/ub/tp/internal.h"
#include "rtp-pair.h"

/* ---- whose it is (§6.5.1.1) ---- */

/* A packet of the peer's comes by @by although the channel leads there by @to. */
static UbFlow come(UbLphCfg to, UbLphCfg by)
{
    UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .src = TA, .dst = TB, .psn = 7 };
    uint8_t b[UB_RTPH_LEN + 8] = { 0 };
    uint32_t tpn = TB;
    UbFlow f, got;
    UbTpConfig cfg;
    UbTpAttr attr;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    ub_tp_attr_init(l->node[1].tp, &attr);
    attr.flow = lossy_flow(1, 0, to);
    attr.dst_tpn = TA;
    attr.rx_psn = 7;
    g_assert_cmpint(ub_tp_create(l->node[1].tp, &tpn, &attr), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_activate(l->node[1].tp, TB), ==, UB_TPR_OK);
    f = lossy_flow(0, 1, by);
    f.nlp = UB_NLP_RTPH;
    f.scna = 0x77;
    memset(f.ip.src, 0x77, sizeof(f.ip.src));
    f.dcna = 0x88;
    f.port = 5;
    ub_rtph_put(b, &h);
    lossy_inject(l, 1, &f, b, sizeof(b));
    got = lossy_got(&l->node[1], 0)->flow;
    g_assert_cmpuint(got.cfg, ==, by);
    g_assert_cmphex(got.dcna, ==, 0x88);        /* what it was sent to */
    g_assert_cmpuint(got.port, ==, 5);
    lossy_free(l);
    return got;
}

/* By any of the peer's addresses of that kind, it is the one that the channel leads to;
 * of another kind nothing is known of it. */
static void test_flow(void)
{
    static const UbLphCfg cfg[] = { UB_LPH_CNA24, UB_LPH_IPV4, UB_LPH_IPV6 };
    uint8_t other[16], peer[16] = { [3] = 1 };

    memset(other, 0x77, sizeof(other));
    for (unsigned to = 0; to < 3; to++) {
        for (unsigned by = 0; by < 3; by++) {
            UbFlow f = come(cfg[to], cfg[by]);

            if (to != by) {
                g_assert_cmphex(f.scna, ==, 0x77);
                g_assert_cmpmem(f.ip.src, 16, other, 16);
            } else if (cfg[to] == UB_LPH_CNA24) {
                g_assert_cmphex(f.scna, ==, 1);
            } else {
                g_assert_cmpmem(f.ip.src, 16, peer, 16);
            }
        }
    }
}

/* ---- who asks for a channel ---- */

/* A request of node 0 to node 1 whose word at @at is @word. */
static void ask(Lossy *l, unsigned at, uint32_t word)
{
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);
    uint8_t b[UB_CTPH_LEN + 36] = { 0x0f, 1, 1 }, *m = b + UB_CTPH_LEN;

    put_be16(m + 2, 2);                 /* fast retransmission */
    put_be32(m + 4, 0x1234);
    put_be32(m + 8, TA);
    put_be32(m + 16, 500);
    put_be16(m + 20, 4096);
    put_be16(m + 22, 1024);
    put_be16(m + 24, 1024);
    put_be16(m + 26, 1024);
    put_be32(m + 32, 1);
    put_be32(m + at, word);
    f.nlp = UB_NLP_CTPH;
    lossy_inject(l, 1, &f, b, sizeof(b));
}

/* Whether it is one. */
static bool asked(unsigned at, uint32_t word)
{
    UbTpConfig cfg;
    bool taken;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    ask(l, at, word);
    taken = count(&l->node[1])->setup_rx;
    g_assert_cmpuint(l->node[1].accepts, ==, taken);
    g_assert_cmpuint(count(&l->node[1])->drop_setup, ==, !taken);
    lossy_free(l);
    return taken;
}

/* Both sides of each bound. */
static void test_asked(void)
{
    static const struct {
        unsigned at;
        uint32_t word;
        bool good;
    } all[] = {
        { 4, 0, true },
        { 0, 0x00010002, false }, { 0, 0x01010002, true }, { 0, 0x02010002, false },
        { 0, 0x0101000f, true }, { 0, 0x01010010, false },
        { 8, 0, false }, { 8, 1, true }, { 8, UB_TPN_MASK, true },
        { 8, UB_TPN_MASK + 1, false },
        { 16, 0, true }, { 16, UB_PSN_MASK, true }, { 16, UB_PSN_MASK + 1, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        g_assert_cmpint(asked(all[i].at, all[i].word), ==, all[i].good);
    }
}

/* Who asks anew, before its first request is confirmed, has one channel. */
static void test_asked_anew(void)
{
    UbTpConfig cfg;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    for (unsigned i = 0; i < 3; i++) {
        ask(l, 4, 0x1000 + i);
        g_assert_cmpuint(l->node[1].tp->num_chans, ==, 1);
    }
    lossy_free(l);
}

/* A channel that was set up in band and is taken up by hand since owes nobody a BYE. */
static void test_by_hand(void)
{
    Pair p = pair_init(100);
    uint64_t said;

    pair_open(&p);
    ub_tp_deactivate(p.a->tp, TA);
    g_assert_cmpint(ub_tp_connect(p.a->tp, TA, p.l->now), ==, UB_TPR_OK);
    lossy_run(p.l, p.l->now + MS);
    g_assert_cmpint(info(p.a).state, ==, UB_TP_ACTIVE);
    ub_tp_deactivate(p.a->tp, TA);
    g_assert_cmpint(ub_tp_activate(p.a->tp, TA), ==, UB_TPR_OK);
    said = count(p.a)->setup_tx;
    g_assert_cmpint(ub_tp_destroy(p.a->tp, TA, p.l->now), ==, UB_TPR_OK);
    g_assert_cmpuint(count(p.a)->setup_tx, ==, said);
    lossy_free(p.l);
}

/* A reply that agrees to what no channel can be: it is none, and who asked hears it. */
static void test_agreed(void)
{
    uint8_t b[UB_CTPH_LEN + 36] = { 0x0f, 1, 2 }, *m = b + UB_CTPH_LEN;
    static const LossyRule deaf[] = { { KIND_ANY, -1, 0, LOSE, 0 }, { 0 } };
    UbFlow f = lossy_flow(1, 0, UB_LPH_CNA24);
    Pair p = pair_init(100);

    pair_open(&p);
    lossy_script(p.l, 0, deaf);
    ub_tp_deactivate(p.a->tp, TA);
    g_assert_cmpint(ub_tp_connect(p.a->tp, TA, p.l->now), ==, UB_TPR_OK);
    put_be16(m + 2, 2);
    put_be32(m + 4, chan_get(p.a->tp, TA)->setup_cookie);
    put_be32(m + 8, TB);
    put_be32(m + 12, TA);
    put_be16(m + 20, 512);              /* no MTU */
    put_be16(m + 22, 1024);
    put_be16(m + 24, 1024);
    put_be16(m + 26, 1024);
    put_be32(m + 32, 1);
    f.nlp = UB_NLP_CTPH;
    g_assert_cmpuint(p.a->connects, ==, 0);
    lossy_inject(p.l, 0, &f, b, sizeof(b));
    g_assert_cmpuint(p.a->connects, ==, 1);
    g_assert_cmpint(p.a->connected, ==, UB_TPR_REFUSED);
    g_assert_cmpint(info(p.a).state, ==, UB_TP_RESET);
    lossy_free(p.l);
}

/* What answers nothing that was asked: REPLY to who was asked, CONFIRM and REFUSE to who
 * asked, a message of no type. */
static void test_unasked(void)
{
    static const struct { bool asked; uint8_t type; } all[] = {
        { true, 2 }, { true, 4 }, { true, 0 }, { true, 6 }, { false, 3 }, { false, 6 },
    };
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);

    f.nlp = UB_NLP_CTPH;
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        uint8_t b[UB_CTPH_LEN + 36] = { 0x0f, 1, all[i].type }, *m = b + UB_CTPH_LEN;
        unsigned here = all[i].asked, tpn = here ? 1 : TA;
        Pair p = pair_init(100);
        LossyNode *node;
        Chan *ch;

        pair_open(&p);
        ub_tp_deactivate(p.a->tp, TA);
        g_assert_cmpint(ub_tp_connect(p.a->tp, TA, p.l->now), ==, UB_TPR_OK);
        lossy_run(p.l, p.l->now + MS);
        node = &p.l->node[here];
        ch = chan_get(node->tp, tpn);
        g_assert_cmpint(ch->state, ==, UB_TP_ACTIVE);
        put_be32(m + 4, ch->setup_cookie);
        put_be32(m + 8, ch->attr.dst_tpn);
        put_be32(m + 12, tpn);
        f = lossy_flow(!here, here, UB_LPH_CNA24);
        f.nlp = UB_NLP_CTPH;
        g_assert_cmpuint(count(node)->drop_setup, ==, 0);
        lossy_inject(p.l, here, &f, b, sizeof(b));
        g_assert_cmpuint(count(node)->drop_setup, ==, 1);
        g_assert_cmpint(chan_get(node->tp, tpn)->state, ==, UB_TP_ACTIVE);
        lossy_free(p.l);
    }
}

/* What acknowledges is counted by what it says. */
static void test_kinds(void)
{
    static const struct {
        uint8_t rspst, rspinfo;
        unsigned ack, nak;
    } all[] = {
        { UB_RTPH_ACK, 0, 1, 0 }, { UB_RTPH_NAK, UB_NAK_PSN, 0, 1 },
        { UB_RTPH_NAK, UB_NAK_UNSUPPORTED, 1, 0 }, { UB_RTPH_NAK, UB_NAK_ABORT, 1, 0 },
        { UB_RTPH_RNR, UB_NAK_PSN, 1, 0 }, { UB_RTPH_PAGE_FAULT, UB_NAK_PSN, 1, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        Pair p = pair_init(100);

        pair_open(&p);
        p.l->lose_ppm = 1000000;
        lossy_send(p.a, TA, 8, 1, true, true, 1);
        inject(&p, p.a, (UbRtph) { .opcode = UB_TPOP_ACK, .psn = 100,
                                   .rspst = all[i].rspst, .rspinfo = all[i].rspinfo }, 0);
        g_assert_cmpuint(count(p.a)->rx_ack, ==, all[i].ack);
        g_assert_cmpuint(count(p.a)->rx_nak, ==, all[i].nak);
        lossy_free(p.l);
    }
}

/* ---- what goes down ---- */

typedef struct Down {
    UbTp *tp;
    CorePacketPool *pool;
    UbFlow flow;            /* of the last packet */
    uint8_t bytes[256];
    uint32_t len;
    unsigned packets;
} Down;

static UbSend down_send(void *opaque, int64_t now, const UbFlow *flow, CorePacket *pkt)
{
    Down *d = opaque;

    d->flow = *flow;
    d->len = pkt->len;
    memcpy(d->bytes, core_packet_data(pkt), MIN(pkt->len, sizeof(d->bytes)));
    d->packets++;
    core_packet_free(pkt);
    return UB_SENT;
}

static UbTpAnswer up_rx(void *opaque, const UbTpRx *rx, CorePacket *pkt)
{
    core_packet_free(pkt);
    return (UbTpAnswer) { UB_TP_ACK };
}

static void up_acked(void *opaque, uint32_t tpn, uint64_t cookie, UbTpAnswer a)
{
}

static void up_error(void *opaque, uint32_t tpn, UbTpError e)
{
}

static void up_room(void *opaque, uint32_t tpn)
{
}

static void down_init(Down *d, UbTpConfig *cfg)
{
    static const UbTpUpper up = { .rx = up_rx, .acked = up_acked,
                                  .error = up_error, .room = up_room };
    static const UbTpLower down = { .send = down_send };

    memset(d, 0, sizeof(*d));
    cfg->upper = &up;
    cfg->lower = &down;
    cfg->lower_opaque = d;
    d->tp = ub_tp_new(cfg);
    d->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    g_assert_nonnull(d->tp);
}

static void down_free(Down *d)
{
    ub_tp_free(d->tp);
    core_packet_pool_free(d->pool);
}

static CorePacket *packet(Down *d, uint32_t len)
{
    CorePacket *pkt = core_packet_alloc(d->pool, len);

    /* What is behind it is not zero. */
    core_packet_put(pkt, 8);
    memset(core_packet_data(pkt), 0xa5, len + 8);
    core_packet_trim(pkt, 8);
    return pkt;
}

/* Data, acknowledgements and set-up of a channel that is a member of a group are one
 * sender's by whichever port they leave; those of others are the port's. */
static void test_source(void)
{
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);
    UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .ack_req = true, .src = 9,
                 .dst = 5, .psn = 500 };
    uint32_t g = 0;
    UbTpConfig cfg;
    Down d;

    ub_tp_config_init(&cfg);
    down_init(&d, &cfg);
    g_assert_cmpint(ub_tpg_create(d.tp, &g, UB_TPG_ROUND), ==, UB_TPR_OK);
    for (unsigned member = 0; member < 3; member++) {
        UbTpDest dest = { .mode = UB_TP_RTP, .tpn = 5 };
        const UbTpTx tx = { .last = true };
        uint32_t tpn = 5;
        CorePacket *pkt;
        UbTpAttr attr;

        ub_tp_attr_init(d.tp, &attr);
        attr.flow = f;
        attr.dst_tpn = 9;
        attr.rx_psn = 500;
        g_assert_cmpint(ub_tp_create(d.tp, &tpn, &attr), ==, UB_TPR_OK);
        if (member) {
            g_assert_cmpint(ub_tpg_join(d.tp, g, 5), ==, UB_TPR_OK);
        }
        if (member == 2) {      /* not any more */
            g_assert_cmpint(ub_tpg_leave(d.tp, 5), ==, UB_TPR_OK);
        }
        d.packets = 0;
        g_assert_cmpint(ub_tp_connect(d.tp, 5, 1000), ==, UB_TPR_OK);
        g_assert_cmpuint(d.packets, ==, 1);
        g_assert_cmpint(d.flow.steady, ==, member == 1);
        g_assert_cmpuint(d.flow.nlp, ==, UB_NLP_CTPH);
        g_assert_cmpint(ub_tp_deactivate(d.tp, 5), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tp_activate(d.tp, 5), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tp_send(d.tp, &dest, packet(&d, 8), &tx, 1000), ==, UB_SENT);
        g_assert_cmpuint(d.packets, ==, 2);
        g_assert_cmpint(d.flow.steady, ==, member == 1);
        g_assert_cmpuint(d.flow.nlp, ==, UB_NLP_RTPH);
        pkt = packet(&d, UB_RTPH_LEN);
        ub_rtph_put(core_packet_data(pkt), &h);
        ub_tp_rx(d.tp, &f, pkt, 1000);
        ub_tp_run(d.tp, 1000, 10);
        g_assert_cmpuint(d.packets, ==, 3);
        g_assert_cmphex(d.bytes[0], ==, UB_TPOP_ACK);
        g_assert_cmpuint(d.len, ==, UB_RTPH_LEN);
        g_assert_cmpint(d.flow.steady, ==, member == 1);
        g_assert_cmpint(ub_tp_destroy(d.tp, 5, 1000), ==, UB_TPR_OK);
    }
    down_free(&d);
}

/* The size of the map of a TPSACK for a packet that is @ahead of the one that is missing,
 * where a channel may have @bits. */
static unsigned map_size(unsigned bits, unsigned ahead)
{
    UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .ack_req = true, .src = 9,
                 .dst = 5, .psn = 500 + ahead };
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);
    uint32_t tpn = 5;
    CorePacket *pkt;
    UbTpConfig cfg;
    UbTpAttr attr;
    unsigned size;
    Down d;

    ub_tp_config_init(&cfg);
    down_init(&d, &cfg);
    ub_tp_attr_init(d.tp, &attr);
    attr.flow = f;
    attr.dst_tpn = 9;
    attr.rx_psn = 500;
    attr.selective = attr.ooo = true;
    attr.sack_bits = bits;
    g_assert_cmpint(ub_tp_create(d.tp, &tpn, &attr), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_activate(d.tp, 5), ==, UB_TPR_OK);
    pkt = packet(&d, UB_RTPH_LEN);
    ub_rtph_put(core_packet_data(pkt), &h);
    ub_tp_rx(d.tp, &f, pkt, 1000);
    ub_tp_run(d.tp, 1000, 10);
    g_assert_cmpuint(d.packets, ==, 1);
    g_assert_cmphex(d.bytes[0], ==, UB_TPOP_SACK);
    size = d.bytes[UB_RTPH_LEN];
    g_assert_cmpuint(d.len, ==, UB_RTPH_LEN + ub_saetph_len(size));
    down_free(&d);
    return size;
}

/* Each bit is looked at whether its packet ever went. */
static void test_map_never(void)
{
    enum { SENT = 40 };

    for (unsigned i = 1; i < UB_SACK_BITS_MIN; i++) {
        UbSaetph s = { .max_rcv = 100 };
        UbRtph h = { .opcode = UB_TPOP_SACK, .src = TB, .dst = TA, .psn = 99 };
        UbFlow f = lossy_flow(1, 0, UB_LPH_CNA24);
        uint8_t b[64] = { 0 };
        Pair p = pair_init(100);

        p.attr.selective = p.attr.ooo = true;
        pair_open(&p);
        p.l->lose_ppm = 1000000;
        for (unsigned k = 0; k < SENT; k++) {
            lossy_send(p.a, TA, 8, k, true, false, k);
        }
        lossy_run(p.l, p.l->now + US);
        s.map[i / 32] = 1u << i % 32;
        ub_rtph_put(b, &h);
        ub_saetph_put(b + UB_RTPH_LEN, &s);
        lossy_inject(p.l, 0, &f, b, UB_RTPH_LEN + ub_saetph_len(0));
        g_assert_cmpuint(count(p.a)->drop_bad_sack, ==, i > SENT);
        lossy_free(p.l);
    }
}

/* Each bit of a map is taken for its packet, in the last word, too. */
static void test_map_bits(void)
{
    for (unsigned size = 0; size <= 4; size++) {
        const unsigned n = (UB_SACK_BITS_MIN << size) - 1;
        UbSaetph s = { .size = size, .max_rcv = 99 + n };
        UbRtph h = { .opcode = UB_TPOP_SACK, .src = TB, .dst = TA, .psn = 99 };
        uint8_t b[256] = { 0 };
        UbFlow f = lossy_flow(1, 0, UB_LPH_CNA24);
        Pair p = pair_init(100);
        uint32_t rng = 7;

        p.attr.selective = p.attr.ooo = true;
        p.attr.tx_window = 1024;
        pair_open(&p);
        p.l->lose_ppm = 1000000;
        for (unsigned i = 0; i < n; i++) {
            g_assert_cmpint(lossy_send(p.a, TA, 8, i, true, false, i), ==, UB_SENT);
        }
        lossy_run(p.l, p.l->now + US);
        g_assert_cmpuint(count(p.a)->tx_packets[UB_TP_RTP], ==, n);
        for (unsigned i = 2; i <= n; i++) {
            rng = rng * 1664525 + 1013904223;
            s.map[i / 32] |= (rng >> 31 | (i == n)) << i % 32;
        }
        ub_rtph_put(b, &h);
        ub_saetph_put(b + UB_RTPH_LEN, &s);
        lossy_inject(p.l, 0, &f, b, UB_RTPH_LEN + ub_saetph_len(size));
        g_assert_cmpuint(count(p.a)->drop_bad_sack, ==, 0);
        for (unsigned i = 1; i <= n; i++) {
            bool got = slot_at(chan_get(p.a->tp, TA), 99 + i)->flags & SLOT_RECEIVED;

            g_assert_cmpint(got, ==, s.map[i / 32] >> i % 32 & 1);
        }
        lossy_free(p.l);
    }
}

/* As small as it has all, and no larger than the channel may have; what does not fill a
 * size does not get it. */
static void test_map_size(void)
{
    static const struct {
        unsigned bits, ahead, size;
    } all[] = {
        { 1024, 1, 0 }, { 1024, 62, 0 }, { 1024, 63, 1 }, { 1024, 126, 1 },
        { 1024, 127, 2 }, { 1024, 511, 4 }, { 64, 500, 0 }, { 128, 500, 1 },
        { 100, 90, 0 }, { 127, 500, 0 }, { 129, 500, 1 }, { 1023, 900, 3 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        g_assert_cmpuint(map_size(all[i].bits, all[i].ahead), ==, all[i].size);
    }
}

/* Whatever is sent ends with a whole word, with zeroes (§6.2.3). */
static void test_padding(void)
{
    static const struct {
        UbTpMode mode;
        UbLphCfg cfg;
        unsigned head;
    } ways[] = {
        { UB_TP_CTP, UB_LPH_CNA16, UB_CTPH_LEN }, { UB_TP_UTP, UB_LPH_IPV4, UB_RTPH_LEN },
    };
    UbTpConfig cfg;
    Down d;

    ub_tp_config_init(&cfg);
    down_init(&d, &cfg);
    for (unsigned w = 0; w < G_N_ELEMENTS(ways); w++) {
        for (uint32_t len = 8; len < 20; len++) {
            UbTpDest dest = { .mode = ways[w].mode,
                              .flow = lossy_flow(0, 1, ways[w].cfg) };
            const UbTpTx tx = { .last = true };

            g_assert_cmpint(ub_tp_send(d.tp, &dest, packet(&d, len), &tx, 1000), ==,
                            UB_SENT);
            g_assert_cmpuint(d.len % 4, ==, 0);
            g_assert_cmpuint(d.len - len - ways[w].head, <, 4);
            for (uint32_t i = len + ways[w].head; i < d.len; i++) {
                g_assert_cmphex(d.bytes[i], ==, 0);
            }
        }
    }
    down_free(&d);
}

/* What follows the NTH, whatever the flow says. */
static void test_next(void)
{
    static const struct {
        UbTpMode mode;
        UbLphCfg cfg;
        uint8_t nlp;
    } ways[] = {
        { UB_TP_CTP, UB_LPH_CNA16, UB_NLP_CTPH }, { UB_TP_CTP, UB_LPH_CNA24, UB_NLP_CTPH },
        { UB_TP_BYPASS, UB_LPH_BYPASS, UB_NLP_TAH },
    };
    UbTpConfig cfg;
    Down d;

    ub_tp_config_init(&cfg);
    down_init(&d, &cfg);
    for (unsigned w = 0; w < G_N_ELEMENTS(ways); w++) {
        UbTpDest dest = { .mode = ways[w].mode, .flow = lossy_flow(0, 1, ways[w].cfg) };
        const UbTpTx tx = { .last = true };

        dest.flow.nlp = 15;
        g_assert_cmpint(ub_tp_send(d.tp, &dest, packet(&d, 8), &tx, 1000), ==, UB_SENT);
        g_assert_cmpuint(d.flow.nlp, ==, ways[w].nlp);
    }
    down_free(&d);
}

/* What tells the network that a channel's packets may be marked (table 5-7). */
static void test_marks(void)
{
    static const struct {
        uint8_t cc;
        unsigned user;
        uint16_t cci;
    } kinds[] = {
        { UB_CC_NONE, 0, 0 },
        { UB_CC_LDCP, 0, 0x8002 }, { UB_CC_DCQCN, 0, 0x8002 },
        { UB_CC_USER, 1, 0x8002 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        Pair p = pair_init(100);

        p.cfg.cc_on = true;
        p.cfg.cc_user = kinds[i].user;
        p.attr.cc = kinds[i].cc;
        pair_open(&p);
        lossy_send(p.a, TA, 8, 1, true, false, 1);
        lossy_run(p.l, p.l->now + 50 * US);
        g_assert_cmphex(lossy_got(p.b, 0)->flow.cci, ==, kinds[i].cci);
        lossy_free(p.l);
    }
}

/* Whose turn it was leaves: it is the next one's.  Of those that have equally little under
 * way each has its turn, too. */
static void test_turn(void)
{
    for (unsigned leaves = 1; leaves <= 3; leaves++) {
        UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);
        uint32_t g = 0, want = leaves;
        UbTpConfig cfg;
        Down d;

        ub_tp_config_init(&cfg);
        down_init(&d, &cfg);
        g_assert_cmpint(ub_tpg_create(d.tp, &g, leaves % 2 ? UB_TPG_LEAST : UB_TPG_ROUND),
                        ==, UB_TPR_OK);
        for (uint32_t t = 1; t <= 3; t++) {
            UbTpAttr attr;

            ub_tp_attr_init(d.tp, &attr);
            attr.flow = f;
            g_assert_cmpint(ub_tp_create(d.tp, &t, &attr), ==, UB_TPR_OK);
            g_assert_cmpint(ub_tp_activate(d.tp, t), ==, UB_TPR_OK);
            g_assert_cmpint(ub_tpg_join(d.tp, g, t), ==, UB_TPR_OK);
        }
        for (uint32_t t = 1; t < leaves; t++) {
            g_assert_cmpuint(ub_tpg_pick(d.tp, g), ==, t);
        }
        g_assert_cmpint(ub_tpg_leave(d.tp, leaves), ==, UB_TPR_OK);
        for (unsigned i = 0; i < 4; i++) {
            want = want % 3 + 1;
            want = want == leaves ? want % 3 + 1 : want;
            g_assert_cmpuint(ub_tpg_pick(d.tp, g), ==, want);
        }
        down_free(&d);
    }
}

/* What came out of order and is held goes with its channel, and what it took is free for
 * others. */
static void test_held(void)
{
    for (unsigned how = 0; how < 3; how++) {
        Pair p = pair_init(100);
        uint64_t held;

        p.attr.ooo = p.attr.selective = true;
        pair_open(&p);
        for (unsigned i = 0; i < 3; i++) {
            inject(&p, p.b, (UbRtph) { .opcode = UB_TPOP_DATA, .psn = 102 + i, .last = true,
                                       .msn = 2 + i }, 40);
        }
        held = p.b->tp->hold_used;
        g_assert_cmpuint(held, >=, 3 * (UB_RTPH_LEN + 40));
        g_assert_cmpuint(count(p.b)->rx_held, ==, 3);
        if (how == 0) {
            ub_tp_deactivate(p.b->tp, TB);
        } else if (how == 1) {
            ub_tp_destroy(p.b->tp, TB, p.l->now);
        } else {
            inject(&p, p.b, (UbRtph) { .opcode = UB_TPOP_DATA, .psn = 100, .last = true }, 40);
            g_assert_cmpuint(p.b->tp->hold_used, ==, held);
            inject(&p, p.b, (UbRtph) { .opcode = UB_TPOP_DATA, .psn = 101, .last = true,
                                       .msn = 1 }, 40);
            g_assert_cmpuint(p.b->got->len, ==, 5);
        }
        g_assert_cmpuint(p.b->tp->hold_used, ==, 0);
        lossy_free(p.l);
    }
}

/* An acknowledgement that the network has no room for is made anew, not kept. */
static void test_busy_ack(void)
{
    Pair p = pair_init(100);

    pair_open(&p);
    lossy_send(p.a, TA, 8, 1, true, false, 1);
    p.b->down = true;
    lossy_run(p.l, p.l->now + 50 * US);
    g_assert_cmpuint(p.b->got->len, ==, 1);
    g_assert_cmpuint(count(p.b)->tx_ack, ==, 0);
    g_assert_cmpuint(core_packet_pool_used(p.b->tp->pool), ==, 0);
    p.b->down = false;
    ub_tp_space(p.b->tp, p.l->now);
    lossy_run(p.l, p.l->now + 50 * US);
    g_assert_cmpuint(p.a->acked->len, ==, 1);
    g_assert_cmpuint(core_packet_pool_used(p.b->tp->pool), ==, 0);
    lossy_free(p.l);
}

/* Of windows that have no half each packet asks, of others one in half of them. */
static void test_ask_half(void)
{
    static const struct { unsigned window, asks; } rows[] = {
        { 1, 12 }, { 2, 12 }, { 3, 12 }, { 4, 6 }, { 6, 4 }, { 12, 2 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Pair p = pair_init(120);

        p.cfg.ack_delay_us = 100000;
        p.attr.ask = UB_TP_ASK_HALF;
        p.attr.tx_window = rows[i].window;
        p.attr.ack_every = 1000;
        p.attr.rto_base_us = 1000000;
        pair_open(&p);
        for (unsigned k = 0; k < 12; k++) {
            g_assert_cmpint(lossy_send(p.a, TA, 8, k, true, false, k), ==, UB_SENT);
            lossy_run(p.l, p.l->now + 50 * US);
        }
        g_assert_cmpuint(count(p.b)->tx_ack, ==, rows[i].asks);
        lossy_free(p.l);
    }
}

/* Who hears that the peer has no such channel any more has one that failed. */
static void test_bye(void)
{
    Pair p = pair_init(100);
    UbTpInfo i;

    pair_open(&p);
    ub_tp_deactivate(p.a->tp, TA);
    g_assert_cmpint(ub_tp_connect(p.a->tp, TA, p.l->now), ==, UB_TPR_OK);
    lossy_run(p.l, p.l->now + MS);
    g_assert_cmpint(info(p.a).state, ==, UB_TP_ACTIVE);
    g_assert_cmpint(ub_tp_destroy(p.b->tp, p.b->connected_tpn, p.l->now), ==, UB_TPR_OK);
    lossy_run(p.l, p.l->now + MS);
    g_assert_cmpint(ub_tp_query(p.a->tp, TA, NULL, &i), ==, UB_TPR_OK);
    g_assert_cmpint(i.state, ==, UB_TP_ERROR);
    g_assert_cmpint(p.a->connected, ==, UB_TPR_REFUSED);
    g_assert_cmpint(lossy_send(p.a, TA, 8, 1, true, false, 1), ==, UB_LOST);
    lossy_free(p.l);
}

/* A time that is over when all has been acknowledged already is not one for what comes
 * later: that is acknowledged at its own, whatever turns the channel has before. */
static void test_ack_early(void)
{
    Pair p = pair_init(100);

    p.cfg.ack_delay_us = 10000;
    p.attr.ask = UB_TP_ASK_HALF;
    p.attr.ack_every = 2;
    pair_open(&p);
    for (unsigned i = 1; i <= 3; i++) {
        lossy_send(p.a, TA, 8, i, true, false, i);
        lossy_run(p.l, p.l->now + 20 * US);
        g_assert_cmpuint(count(p.b)->tx_ack, ==, i / 2);
        if (i == 2) {
            lossy_run(p.l, p.l->now + 20 * MS);
        }
    }
    chan_work(chan_get(p.b->tp, TB));
    lossy_run(p.l, p.l->now + 20 * US);
    g_assert_cmpuint(count(p.b)->tx_ack, ==, 1);
    lossy_run(p.l, p.l->now + 11 * MS);
    g_assert_cmpuint(count(p.b)->tx_ack, ==, 2);
    lossy_free(p.l);
}

/* A CNP that finds the port full is lost, whether by RTP or CTP, while its channel waits or
 * before it does; so is an answer that is said again. */
static void test_busy_cnp(void)
{
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA16);
    Pair p = pair_init(100);
    uint8_t ctp[8] = { 0 };

    p.cfg.cc_on = true;
    p.cfg.cnp_us = 1;
    p.attr.cc = UB_CC_DCQCN;
    p.attr.ask = UB_TP_ASK_HALF;
    scripted[0] = (UbTpAnswer) { UB_TP_DONE };
    pair_open(&p);
    p.b->answer = answer_scripted;
    lossy_send(p.a, TA, 8, 1, true, true, 1);
    lossy_run(p.l, p.l->now + 50 * US);
    g_assert_cmpuint(p.a->acked->len, ==, 1);
    p.b->down = true;
    /* The answer to the first is asked for again. */
    inject(&p, p.b, (UbRtph) { .opcode = UB_TPOP_DATA, .psn = 100, .last = true }, 8);
    g_assert_cmpuint(count(p.b)->drop_busy, ==, 1);
    p.b->down = false;
    ub_tp_space(p.b->tp, p.l->now);
    lossy_run(p.l, p.l->now + 50 * US);
    g_assert_cmpuint(count(p.b)->tx_cnp, ==, 0);
    p.b->down = true;
    p.b->answer = NULL;
    p.l->cci = 0x8003;
    for (unsigned i = 1; i <= 2; i++) {
        lossy_send(p.a, TA, 8, 1 + i, true, false, 1 + i);
        lossy_run(p.l, p.l->now + 50 * US);
        g_assert_cmpuint(p.b->got->len, ==, 1 + i);
        g_assert_cmpuint(count(p.b)->drop_busy, ==, 1 + i);
    }
    f.cci = 0x8003;
    lossy_inject(p.l, 1, &f, ctp, sizeof(ctp));
    g_assert_cmpuint(count(p.b)->drop_busy, ==, 4);
    g_assert_cmpuint(count(p.b)->tx_cnp, ==, 0);
    g_assert_cmpuint(core_packet_pool_used(p.b->tp->pool), ==, 0);
    lossy_free(p.l);
}

/* So is a message that asks for a channel, which is said again. */
static void test_busy_setup(void)
{
    Pair p = pair_init(100);

    pair_open(&p);
    ub_tp_deactivate(p.a->tp, TA);
    p.a->down = true;
    g_assert_cmpint(ub_tp_connect(p.a->tp, TA, p.l->now), ==, UB_TPR_OK);
    g_assert_cmpuint(count(p.a)->drop_busy, ==, 1);
    g_assert_cmpuint(count(p.a)->setup_tx, ==, 0);
    g_assert_cmpuint(core_packet_pool_used(p.a->tp->pool), ==, 0);
    p.a->down = false;
    lossy_run(p.l, p.l->now + 150 * MS);
    g_assert_cmpuint(p.a->connects, ==, 1);
    g_assert_cmpuint(count(p.a)->drop_busy, ==, 1);
    lossy_free(p.l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/peers/flow", test_flow);
    g_test_add_func("/tp/peers/asked", test_asked);
    g_test_add_func("/tp/peers/asked-anew", test_asked_anew);
    g_test_add_func("/tp/peers/by-hand", test_by_hand);
    g_test_add_func("/tp/peers/agreed", test_agreed);
    g_test_add_func("/tp/peers/unasked", test_unasked);
    g_test_add_func("/tp/peers/kinds", test_kinds);
    g_test_add_func("/tp/peers/source", test_source);
    g_test_add_func("/tp/peers/map-size", test_map_size);
    g_test_add_func("/tp/peers/map-bits", test_map_bits);
    g_test_add_func("/tp/peers/map-never", test_map_never);
    g_test_add_func("/tp/peers/padding", test_padding);
    g_test_add_func("/tp/peers/next", test_next);
    g_test_add_func("/tp/peers/marks", test_marks);
    g_test_add_func("/tp/peers/turn", test_turn);
    g_test_add_func("/tp/peers/held", test_held);
    g_test_add_func("/tp/peers/busy-ack", test_busy_ack);
    g_test_add_func("/tp/peers/ask-half", test_ask_half);
    g_test_add_func("/tp/peers/bye", test_bye);
    g_test_add_func("/tp/peers/ack-early", test_ack_early);
    g_test_add_func("/tp/peers/busy-cnp", test_busy_cnp);
    g_test_add_func("/tp/peers/busy-setup", test_busy_setup);
    return g_test_run();
}
