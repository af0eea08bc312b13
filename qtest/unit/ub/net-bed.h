/*
 * A network layer on a table of ports without links: what leaves is kept, what
 * comes up is kept, room is given and taken by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NET_BED_H
#define NET_BED_H

#include <glib.h>
#include <string.h>

#include "ub/net.h"

typedef struct NetGot {
    UbNetTo to;
    UbFlow flow;
    CorePacket *pkt;
} NetGot;

typedef struct NetBed {
    UbNet *net;
    UbNetConfig conf;
    CorePacketPool *pool;
    GQueue sent[UB_NET_MAX_PORTS]; /* CorePacket */
    uint32_t room[UB_NET_MAX_PORTS]; /* VLs */
    unsigned takes[UB_NET_MAX_PORTS]; /* packets it takes before it is full */
    bool refuse, starved;
    GQueue got; /* NetGot */
    unsigned errors[32], rules, own_rules, kicks, rooms, npis;
    unsigned room_port, room_vl;
    const char *rule;
    uint32_t npi;
    int64_t now;
} NetBed;

typedef struct NetBedUpper {
    NetBed *bed;
    UbNetTo to;
} NetBedUpper;

static bool bed_room(void *opaque, unsigned port, unsigned vl)
{
    NetBed *b = opaque;

    g_assert_cmpuint(port, <, b->conf.ports);
    return b->takes[port] && b->room[port] >> vl & 1;
}

static bool bed_out(void *opaque, unsigned port, CorePacket *pkt)
{
    NetBed *b = opaque;

    g_assert_true(bed_room(b, port, ub_meta(pkt)->vl));
    if (b->refuse) {
        return false;
    }
    b->takes[port]--;
    g_queue_push_tail(&b->sent[port], pkt);
    return true;
}

static void bed_kick(void *opaque)
{
    ((NetBed *)opaque)->kicks++;
}

static void bed_error(void *opaque, unsigned port, UbNetError error,
                      CorePacket *pkt)
{
    ((NetBed *)opaque)->errors[error]++;
}

static void bed_rule(void *opaque, unsigned port, bool own, const char *text)
{
    NetBed *b = opaque;

    g_assert_cmpuint(port, <, b->conf.ports);
    b->rule = text;
    if (own) {
        b->own_rules++;
    } else {
        b->rules++;
    }
}

static bool bed_starved(void *opaque, unsigned port, unsigned vl)
{
    return ((NetBed *)opaque)->starved;
}

static void bed_npi(void *opaque, uint32_t npi)
{
    NetBed *b = opaque;

    b->npis++;
    b->npi = npi;
}

static void bed_up(NetBed *b, UbNetTo to, CorePacket *pkt, const UbFlow *flow)
{
    NetGot *g = g_new(NetGot, 1);

    *g = (NetGot) { to, *flow, pkt };
    g_queue_push_tail(&b->got, g);
}

/* The judge of the border: what it refuses begins so; bytes that it was asked about. */
#define BED_REFUSED 0xee
static uint32_t bed_asked;

static const char *bed_border(const uint8_t *p, uint32_t len)
{
    bed_asked = len;
    return *p == BED_REFUSED ? "refused" : NULL;
}

#define BED_UPPER(name, to)                                                  \
    static void bed_##name(void *opaque, int64_t now, CorePacket *pkt,       \
                           const UbFlow *flow)                               \
    {                                                                        \
        bed_up(opaque, to, pkt, flow);                                       \
    }
BED_UPPER(tp, UB_NET_TP)
BED_UPPER(ta, UB_NET_TA)
BED_UPPER(scan, UB_NET_SCAN)
BED_UPPER(control, UB_NET_CONTROL)
BED_UPPER(ip, UB_NET_IP)

static void bed_tell_room(void *opaque, int64_t now, unsigned port,
                          unsigned vl)
{
    NetBed *b = opaque;

    b->rooms++;
    b->room_port = port;
    b->room_vl = vl;
}

static const UbNetUpper bed_uppers[UB_NET_UPPERS] = {
    [UB_NET_TP] = { bed_tp, bed_tell_room },
    [UB_NET_TA] = { bed_ta, NULL },
    [UB_NET_SCAN] = { bed_scan, NULL },
    [UB_NET_CONTROL] = { bed_control, NULL },
    [UB_NET_IP] = { bed_ip, NULL },
};

/* All ports up with all VLs, room everywhere. */
static NetBed *bed_new(const UbNetConfig *conf)
{
    static const UbNetOps ops = {
        .room = bed_room, .send = bed_out, .kick = bed_kick,
        .error = bed_error, .rule = bed_rule, .starved = bed_starved,
        .npi = bed_npi, .border = bed_border,
    };
    NetBed *b = g_new0(NetBed, 1);

    b->conf = *conf;
    b->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    g_assert_null(ub_net_config_check(conf));
    b->net = ub_net_new(conf, &ops, b);
    for (unsigned i = 0; i < UB_NET_UPPERS; i++) {
        ub_net_set_upper(b->net, i, &bed_uppers[i], b);
    }
    for (unsigned i = 0; i < conf->ports; i++) {
        g_queue_init(&b->sent[i]);
        b->room[i] = 0xffff;
        b->takes[i] = UINT_MAX;
        ub_net_port_state(b->net, 0, i, 0xffff);
    }
    g_queue_init(&b->got);
    return b;
}

static inline CorePacket *bed_sent(NetBed *b, unsigned port)
{
    return g_queue_pop_head(&b->sent[port]);
}

static inline NetGot *bed_got(NetBed *b)
{
    return g_queue_pop_head(&b->got);
}

static inline void got_free(NetGot *g)
{
    core_packet_free(g->pkt);
    g_free(g);
}

/* Nothing may be left that was not looked at, and no packet may be lost. */
static inline void bed_free(NetBed *b)
{
    for (unsigned i = 0; i < b->conf.ports; i++) {
        g_assert_cmpuint(b->sent[i].length, ==, 0);
    }
    g_assert_cmpuint(b->got.length, ==, 0);
    ub_net_free(b->net);
    g_assert_cmpuint(core_packet_pool_used(b->pool), ==, 0);
    core_packet_pool_free(b->pool);
    g_free(b);
}

/* A packet of @len bytes that count from @first. */
static inline CorePacket *bed_packet(NetBed *b, unsigned len, uint8_t first)
{
    CorePacket *pkt = core_packet_alloc(b->pool, len);

    for (unsigned i = 0; i < len; i++) {
        core_packet_data(pkt)[i] = first + i;
    }
    return pkt;
}

static inline unsigned bed_unhex(uint8_t *out, const char *hex)
{
    unsigned n = 0;

    for (; *hex; hex++) {
        if (*hex != ' ') {
            out[n++] = g_ascii_xdigit_value(hex[0]) << 4 |
                       g_ascii_xdigit_value(hex[1]);
            hex++;
        }
    }
    return n;
}

static inline CorePacket *bed_hex(NetBed *b, unsigned cfg, const char *hex)
{
    uint8_t bytes[1024];
    unsigned n = bed_unhex(bytes, hex);
    CorePacket *pkt = core_packet_alloc(b->pool, n);

    memcpy(core_packet_data(pkt), bytes, n);
    ub_meta(pkt)->lph_cfg = cfg;
    return pkt;
}

static inline void expect_hex(CorePacket *pkt, const char *hex)
{
    uint8_t bytes[1024];
    unsigned n = bed_unhex(bytes, hex);

    g_assert_cmpmem(core_packet_data(pkt), pkt->len, bytes, n);
}

static inline uint64_t bed_count(const NetBed *b, UbNetCounter c)
{
    return ub_net_total(b->net, c);
}

/* A flow by CNAs. */
static inline UbFlow flow_cna(unsigned cfg, unsigned nlp, uint32_t scna,
                              uint32_t dcna)
{
    UbFlow f;

    ub_flow_init(&f, cfg);
    f.nlp = nlp;
    f.scna = scna;
    f.dcna = dcna;
    return f;
}

/* What a flow becomes on the wire, made by a net of its own: with ICRC, with the
 * LPH's values in its owner's data. */
static inline CorePacket *bed_wire(NetBed *b, const UbFlow *flow, unsigned len)
{
    UbNetConfig conf;
    CorePacket *pkt;
    UbFlow f = *flow;
    NetBed *peer;

    ub_net_config_init(&conf);
    conf.anti_spoof = false;
    conf.npi_mode = UB_NPI_OPEN;
    peer = bed_new(&conf);
    core_packet_pool_free(peer->pool);
    peer->pool = b->pool;
    f.port = 0;
    g_assert_cmpint(ub_net_send(peer->net, 0, &f, bed_packet(b, len, 0)), ==,
                    UB_SENT);
    pkt = bed_sent(peer, 0);
    ub_net_free(peer->net);
    g_free(peer);
    return pkt;
}

#endif
