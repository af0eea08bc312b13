/*
 * A switch and controllers around it, link for link, in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SWITCH_BED_H
#define SWITCH_BED_H

#include <glib.h>
#include <string.h>

#include "core/random.h"
#include "ub/mgmt_net.h"
#include "ub/switch.h"

#define SECOND INT64_C(1000000000)
#define PIPE (256u << 10)
#define HOSTS 4

/* A controller with one port: CNA index + 1, IP 10.0.0.(index + 1). */
typedef struct Host {
    unsigned index; /* and the switch's port that it is at */
    UbPort *port;
    UbSpace *space;
    UbNet *net;
    CorePacketPool *pool;
    GByteArray *out;   /* to the switch */
    GByteArray *in;    /* from it */
    bool plugged, full_in;
    int64_t next, net_next;
    GQueue got;        /* CorePacket */
    UbFlow flow;       /* of the last */
    unsigned to[UB_NET_UPPERS];
    uint32_t npi;
    bool hold;         /* keeps what it gets */
} Host;

static int64_t now;
static Host hosts[UB_SWITCH_MAX_PORTS];
static UbSwitch *sw;
static int64_t sw_next;
static unsigned links, closes;
static const char *broken;
static unsigned captured[2];
/* The last packet that was captured on its way out. */
static struct {
    unsigned port, cfg, vl;
    size_t len;
    uint8_t data[512];
} last_sent;
static unsigned kicks;      /* of the switch */
/* GUID Type of hosts; 0: a controller's. */
static uint8_t host_type[UB_SWITCH_MAX_PORTS];
/* Frames that Ethernet ports sent, GByteArray; more than ether_room do not fit. */
static GQueue ether_out = G_QUEUE_INIT;
static unsigned ether_room = 100;

/* ---- Hosts ------------------------------------------------------------------- */

static inline void host_rx(void *opaque, CorePacket *pkt)
{
    Host *h = opaque;

    ub_net_rx(h->net, now, 0, pkt);
}

static inline void host_event(void *opaque, UbPortEvent event)
{
    Host *h = opaque;

    if (event == UB_PORT_LINK) {
        ub_net_port_state(h->net, now, 0, ub_port_vls(h->port));
    }
}

static inline void host_space(void *opaque, unsigned vl)
{
    Host *h = opaque;

    ub_net_room(h->net, now, 0, vl);
}

static inline void host_kick(void *opaque)
{
    Host *h = opaque;

    h->next = h->net_next = now;
}

static inline size_t host_send(void *opaque, const uint8_t *data, size_t len)
{
    Host *h = opaque;

    len = MIN(len, PIPE - h->out->len);
    g_byte_array_append(h->out, data, len);
    return len;
}

static inline void host_close(void *opaque)
{
    closes++;
}

static inline void host_rule(void *opaque, UbBreaker who, const char *text)
{
    broken = text;
}

static const UbPortOps host_ops = {
    .rx = host_rx, .event = host_event, .tx_space = host_space,
    .kick = host_kick, .wire_send = host_send, .wire_close = host_close,
    .rule = host_rule,
};

static inline bool net_room(void *opaque, unsigned port, unsigned vl)
{
    return ub_port_room(((Host *)opaque)->port, vl) == UB_PORT_SENT;
}

static inline bool net_send(void *opaque, unsigned port, CorePacket *pkt)
{
    return ub_port_send(((Host *)opaque)->port, now, pkt) == UB_PORT_SENT;
}

static inline void net_npi(void *opaque, uint32_t npi)
{
    ((Host *)opaque)->npi = npi;
}

static const UbNetOps net_ops = {
    .room = net_room, .send = net_send, .kick = host_kick, .npi = net_npi,
};

static inline void take(Host *h, UbNetTo to, CorePacket *pkt, const UbFlow *flow)
{
    h->to[to]++;
    h->flow = *flow;
    g_queue_push_tail(&h->got, pkt);
}

static inline void up_tp(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    take(opaque, UB_NET_TP, pkt, f);
}

static inline void up_scan(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    take(opaque, UB_NET_SCAN, pkt, f);
}

static inline void up_ip(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    take(opaque, UB_NET_IP, pkt, f);
}

static inline void up_control(void *opaque, int64_t t, CorePacket *pkt,
                       const UbFlow *f)
{
    take(opaque, UB_NET_CONTROL, pkt, f);
}

static const UbNetUpper tp = { up_tp, NULL }, scan = { up_scan, NULL },
                        ip_upper = { up_ip, NULL },
                        control = { up_control, NULL };

static inline void guid_of(unsigned index, uint8_t guid[16])
{
    memset(guid, 0, 16);
    guid[4] = host_type[index] ? host_type[index] : 1; /* a controller */
    guid[15] = index + 1;
}

static inline void host_init(Host *h, unsigned index)
{
    const char *why = NULL;
    UbPortConfig conf;
    UbNetConfig net;
    uint8_t ip[16] = { 10, 0, 0, index + 1 };

    memset(h, 0, sizeof(*h));
    h->index = index;
    h->next = h->net_next = INT64_MAX;
    h->out = g_byte_array_new();
    h->in = g_byte_array_new();
    h->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    h->space = ub_space_new(1);
    g_queue_init(&h->got);
    ub_net_config_init(&net);
    guid_of(index, net.guid);
    h->net = ub_net_new(&net, &net_ops, h);
    ub_net_set_primary(h->net, index + 1);
    ub_net_ip_add(h->net, UB_LPH_IPV4, ip);
    ub_net_set_upper(h->net, UB_NET_TP, &tp, h);
    ub_net_set_upper(h->net, UB_NET_SCAN, &scan, h);
    ub_net_set_upper(h->net, UB_NET_IP, &ip_upper, h);
    ub_net_set_upper(h->net, UB_NET_CONTROL, &control, h);
    ub_port_config_init(&conf);
    guid_of(index, conf.guid);
    conf.session = conf.phy.lmsm.seed = 100 + index;
    h->port = ub_port_new(&conf, h->space, h->pool, &host_ops, h, &why);
    g_assert_cmpstr(why, ==, NULL);
    ub_port_enable(h->port, now, true);
}

static inline CorePacket *next_got(Host *h)
{
    return g_queue_pop_head(&h->got);
}

static inline void forget(Host *h)
{
    while (h->got.length) {
        core_packet_free(next_got(h));
    }
}

static inline void host_free(Host *h)
{
    forget(h);
    ub_net_free(h->net);
    ub_port_free(h->port);
    ub_space_free(h->space);
    g_assert_cmpuint(core_packet_pool_used(h->pool), ==, 0);
    core_packet_pool_free(h->pool);
    g_byte_array_unref(h->out);
    g_byte_array_unref(h->in);
}

/* ---- The switch's outside ------------------------------------------------------- */

static inline void sw_kick(void *opaque)
{
    sw_next = now;
    kicks++;
}

static inline size_t sw_send(void *opaque, unsigned port, const uint8_t *data,
                      size_t len)
{
    Host *h = &hosts[port];

    len = MIN(len, PIPE - h->in->len);
    g_byte_array_append(h->in, data, len);
    return len;
}

static inline void sw_close(void *opaque, unsigned port)
{
    closes++;
}

static inline void sw_rule(void *opaque, unsigned port, const char *text)
{
    broken = text;
}

static inline void sw_link(void *opaque, unsigned port)
{
    links++;
}

static inline void sw_capture(void *opaque, unsigned port, bool sent, unsigned cfg,
                       unsigned vl, const uint8_t *data, size_t len)
{
    captured[sent]++;
    if (sent) {
        last_sent.port = port;
        last_sent.cfg = cfg;
        last_sent.vl = vl;
        last_sent.len = MIN(len, sizeof(last_sent.data));
        memcpy(last_sent.data, data, last_sent.len);
    }
}

static inline bool sw_ether_room(void *opaque, unsigned port)
{
    return ether_out.length < ether_room;
}

static inline bool sw_ether_send(void *opaque, unsigned port,
                                 const uint8_t *frame, uint32_t len)
{
    GByteArray *b;

    if (!sw_ether_room(opaque, port)) {
        return false;
    }
    b = g_byte_array_new();
    g_byte_array_append(b, frame, len);
    g_queue_push_tail(&ether_out, b);
    return true;
}

/* ---- Time ---------------------------------------------------------------------------- */

static inline bool carry(Host *h)
{
    GByteArray *bytes;
    bool busy = false, full;

    if (h->out->len) {
        bytes = h->out;
        full = bytes->len == PIPE;
        h->out = g_byte_array_new();
        ub_switch_wire_receive(sw, now, h->index, bytes->data, bytes->len);
        g_byte_array_unref(bytes);
        if (full) {
            ub_port_wire_room(h->port, now);
        }
        busy = true;
    }
    if (h->in->len) {
        bytes = h->in;
        full = bytes->len == PIPE;
        h->in = g_byte_array_new();
        ub_port_wire_receive(h->port, now, bytes->data, bytes->len);
        g_byte_array_unref(bytes);
        if (full) {
            ub_switch_wire_room(sw, now, h->index);
        }
        busy = true;
    }
    return busy;
}

static inline bool host_turn(Host *h)
{
    bool busy = h->next <= now || h->net_next <= now;

    if (busy) {
        int64_t next;

        h->next = h->net_next = INT64_MAX;
        next = ub_net_run(h->net, now, 1000);
        h->net_next = MIN(h->net_next, next);
        next = ub_port_run(h->port, now);
        h->next = MIN(h->next, next);
    }
    return busy | (h->plugged && carry(h));
}

static unsigned nhosts;

static inline void run(int64_t time)
{
    int64_t end = now + time;

    while (now < end) {
        int64_t next;
        bool busy = false;

        for (unsigned i = 0; i < nhosts; i++) {
            busy |= host_turn(&hosts[i]);
        }
        if (sw_next <= now) {
            sw_next = INT64_MAX;
            next = ub_switch_run(sw, now);
            sw_next = MIN(sw_next, next);
            busy = true;
        }
        next = sw_next;
        for (unsigned i = 0; i < nhosts; i++) {
            next = MIN(next, MIN(hosts[i].next, hosts[i].net_next));
        }
        now = busy ? now + 100 : CLAMP(next, now + 1, end);
    }
}

static inline void plug(Host *h, bool in)
{
    h->plugged = in;
    g_byte_array_set_size(h->out, 0);
    g_byte_array_set_size(h->in, 0);
    if (in) {
        ub_port_wire_connected(h->port, now);
        ub_switch_wire_connected(sw, now, h->index);
    } else {
        ub_port_wire_disconnected(h->port, now);
        ub_switch_wire_disconnected(sw, now, h->index);
    }
}

/* A switch with as many ports and hosts as are named, trained. */
static inline void setup_with(UbSwitchConfig *conf, unsigned ports, unsigned n)
{
    static const UbSwitchOps ops = {
        .kick = sw_kick, .wire_send = sw_send, .wire_close = sw_close,
        .rule = sw_rule, .link = sw_link, .capture = sw_capture,
        .ethernet_send = sw_ether_send, .ethernet_has_room = sw_ether_room,
    };
    const char *why = NULL;

    now = 1000;
    sw_next = INT64_MAX;
    links = closes = captured[0] = captured[1] = 0;
    broken = NULL;
    conf->ports = ports;
    conf->guid[15] = 0x99;
    conf->guid[4] = 3;
    conf->port.session = 7;
    sw = ub_switch_new(conf, &ops, NULL, &why);
    g_assert_cmpstr(why, ==, NULL);
    nhosts = n;
    for (unsigned i = 0; i < n; i++) {
        host_init(&hosts[i], i);
        ub_net_route_set(ub_switch_net(sw), i + 1, UINT64_C(1) << i);
        plug(&hosts[i], true);
    }
    sw_next = now;
    run(SECOND);
    for (unsigned i = 0; i < n; i++) {
        g_assert_true(ub_port_dll_up(hosts[i].port));
    }
    g_assert_cmphex(ub_net_ports_up(ub_switch_net(sw)), ==,
                    (UINT64_C(1) << n) - 1);
}

static inline void setup(unsigned ports, unsigned n)
{
    UbSwitchConfig conf;

    ub_switch_config_init(&conf);
    setup_with(&conf, ports, n);
}

static inline void teardown(void)
{
    while (ether_out.length) {
        g_byte_array_unref(g_queue_pop_head(&ether_out));
    }
    for (unsigned i = 0; i < nhosts; i++) {
        forget(&hosts[i]);
    }
    ub_switch_free(sw);
    for (unsigned i = 0; i < nhosts; i++) {
        host_free(&hosts[i]);
    }
}

static inline UbFlow cna(unsigned from, unsigned to)
{
    UbFlow f;

    ub_flow_init(&f, UB_LPH_CNA16);
    f.scna = from + 1;
    f.dcna = to + 1;
    return f;
}

static inline CorePacket *packet(Host *h, unsigned len, uint8_t first)
{
    CorePacket *pkt = core_packet_alloc(h->pool, len);

    for (unsigned i = 0; i < len; i++) {
        core_packet_data(pkt)[i] = first + i;
    }
    return pkt;
}

static inline UbSend send_to(unsigned from, const UbFlow *f, unsigned len,
                      uint8_t first)
{
    CorePacket *pkt = packet(&hosts[from], len, first);
    UbSend sent = ub_net_send(hosts[from].net, now, f, pkt);

    if (sent == UB_BUSY) {
        core_packet_free(pkt);
    }
    return sent;
}

/* CFG 5 with @len bytes behind its header. */
static inline void send_control(unsigned from, unsigned protocol, const void *pdu,
                                unsigned len)
{
    uint8_t group[16], guid[16];
    CorePacket *pkt = packet(&hosts[from], UB_CONTROL_SIZE + len, 0);
    uint8_t *p = core_packet_data(pkt);

    ub_control_group(group, protocol);
    guid_of(from, guid);
    ub_control_put(p, protocol, group, guid);
    memcpy(p + UB_CONTROL_SIZE, pdu, len);
    ub_meta(pkt)->lph_cfg = UB_LPH_CONTROL;
    g_assert_cmpint(ub_net_send_raw(hosts[from].net, now, 0, pkt), ==,
                    UB_SENT);
}

#endif
