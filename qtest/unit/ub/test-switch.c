/*
 * A switch and controllers around it, link for link, in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
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

/* ---- Hosts ------------------------------------------------------------------- */

static void host_rx(void *opaque, CorePacket *pkt)
{
    Host *h = opaque;

    ub_net_rx(h->net, now, 0, pkt);
}

static void host_event(void *opaque, UbPortEvent event)
{
    Host *h = opaque;

    if (event == UB_PORT_LINK) {
        ub_net_port_state(h->net, now, 0, ub_port_vls(h->port));
    }
}

static void host_space(void *opaque, unsigned vl)
{
    Host *h = opaque;

    ub_net_room(h->net, now, 0, vl);
}

static void host_kick(void *opaque)
{
    Host *h = opaque;

    h->next = h->net_next = now;
}

static size_t host_send(void *opaque, const uint8_t *data, size_t len)
{
    Host *h = opaque;

    len = MIN(len, PIPE - h->out->len);
    g_byte_array_append(h->out, data, len);
    return len;
}

static void host_close(void *opaque)
{
    closes++;
}

static void host_rule(void *opaque, UbBreaker who, const char *text)
{
    broken = text;
}

static const UbPortOps host_ops = {
    .rx = host_rx, .event = host_event, .tx_space = host_space,
    .kick = host_kick, .wire_send = host_send, .wire_close = host_close,
    .rule = host_rule,
};

static bool net_room(void *opaque, unsigned port, unsigned vl)
{
    return ub_port_room(((Host *)opaque)->port, vl) == UB_PORT_SENT;
}

static bool net_send(void *opaque, unsigned port, CorePacket *pkt)
{
    return ub_port_send(((Host *)opaque)->port, now, pkt) == UB_PORT_SENT;
}

static void net_npi(void *opaque, uint32_t npi)
{
    ((Host *)opaque)->npi = npi;
}

static const UbNetOps net_ops = {
    .room = net_room, .send = net_send, .kick = host_kick, .npi = net_npi,
};

static void take(Host *h, UbNetTo to, CorePacket *pkt, const UbFlow *flow)
{
    h->to[to]++;
    h->flow = *flow;
    g_queue_push_tail(&h->got, pkt);
}

static void up_tp(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    take(opaque, UB_NET_TP, pkt, f);
}

static void up_scan(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    take(opaque, UB_NET_SCAN, pkt, f);
}

static void up_ip(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    take(opaque, UB_NET_IP, pkt, f);
}

static void up_control(void *opaque, int64_t t, CorePacket *pkt,
                       const UbFlow *f)
{
    take(opaque, UB_NET_CONTROL, pkt, f);
}

static const UbNetUpper tp = { up_tp, NULL }, scan = { up_scan, NULL },
                        ip_upper = { up_ip, NULL },
                        control = { up_control, NULL };

static void guid_of(unsigned index, uint8_t guid[16])
{
    memset(guid, 0, 16);
    guid[4] = 1; /* a controller */
    guid[15] = index + 1;
}

static void host_init(Host *h, unsigned index)
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

static CorePacket *next_got(Host *h)
{
    return g_queue_pop_head(&h->got);
}

static void forget(Host *h)
{
    while (h->got.length) {
        core_packet_free(next_got(h));
    }
}

static void host_free(Host *h)
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

static void sw_kick(void *opaque)
{
    sw_next = now;
}

static size_t sw_send(void *opaque, unsigned port, const uint8_t *data,
                      size_t len)
{
    Host *h = &hosts[port];

    len = MIN(len, PIPE - h->in->len);
    g_byte_array_append(h->in, data, len);
    return len;
}

static void sw_close(void *opaque, unsigned port)
{
    closes++;
}

static void sw_rule(void *opaque, unsigned port, const char *text)
{
    broken = text;
}

static void sw_link(void *opaque, unsigned port)
{
    links++;
}

static void sw_capture(void *opaque, unsigned port, bool sent, unsigned cfg,
                       unsigned vl, const uint8_t *data, size_t len)
{
    captured[sent]++;
}

/* ---- Time ---------------------------------------------------------------------------- */

static bool carry(Host *h)
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

static bool host_turn(Host *h)
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

static void run(int64_t time)
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

static void plug(Host *h, bool in)
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
static void setup_with(UbSwitchConfig *conf, unsigned ports, unsigned n)
{
    static const UbSwitchOps ops = {
        .kick = sw_kick, .wire_send = sw_send, .wire_close = sw_close,
        .rule = sw_rule, .link = sw_link, .capture = sw_capture,
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

static void setup(unsigned ports, unsigned n)
{
    UbSwitchConfig conf;

    ub_switch_config_init(&conf);
    setup_with(&conf, ports, n);
}

static void teardown(void)
{
    for (unsigned i = 0; i < nhosts; i++) {
        forget(&hosts[i]);
    }
    ub_switch_free(sw);
    for (unsigned i = 0; i < nhosts; i++) {
        host_free(&hosts[i]);
    }
}

static UbFlow cna(unsigned from, unsigned to)
{
    UbFlow f;

    ub_flow_init(&f, UB_LPH_CNA16);
    f.scna = from + 1;
    f.dcna = to + 1;
    return f;
}

static CorePacket *packet(Host *h, unsigned len, uint8_t first)
{
    CorePacket *pkt = core_packet_alloc(h->pool, len);

    for (unsigned i = 0; i < len; i++) {
        core_packet_data(pkt)[i] = first + i;
    }
    return pkt;
}

static UbSend send_to(unsigned from, const UbFlow *f, unsigned len,
                      uint8_t first)
{
    CorePacket *pkt = packet(&hosts[from], len, first);
    UbSend sent = ub_net_send(hosts[from].net, now, f, pkt);

    if (sent == UB_BUSY) {
        core_packet_free(pkt);
    }
    return sent;
}

/* ---- Tests --------------------------------------------------------------------------- */

static void test_forward(void)
{
    UbPortStatus st;
    CorePacket *pkt;

    setup(HOSTS, HOSTS);
    for (unsigned a = 0; a < HOSTS; a++) {
        for (unsigned b = 0; b < HOSTS; b++) {
            UbFlow f = cna(a, b);

            if (a == b) {
                continue;
            }
            g_assert_cmpint(send_to(a, &f, 1000, a * 16 + b), ==, UB_SENT);
            run(SECOND / 1000);
            g_assert_cmpuint(hosts[b].got.length, ==, 1);
            pkt = next_got(&hosts[b]);
            g_assert_cmpuint(pkt->len, ==, 1000);
            for (unsigned i = 0; i < 1000; i++) {
                g_assert_cmphex(core_packet_data(pkt)[i], ==,
                                (uint8_t)(a * 16 + b + i));
            }
            core_packet_free(pkt);
            g_assert_cmpuint(hosts[b].flow.scna, ==, a + 1);
        }
    }
    g_assert_cmpuint(ub_net_total(ub_switch_net(sw), UB_NET_FORWARDED), ==,
                     HOSTS * (HOSTS - 1));
    g_assert_cmpuint(captured[0], ==, HOSTS * (HOSTS - 1));
    g_assert_cmpuint(captured[1], ==, HOSTS * (HOSTS - 1));
    g_assert_cmpuint(links, >=, HOSTS);
    g_assert_cmpuint(closes, ==, 0);
    g_assert_null(broken);
    /* All receive buffers are free again. */
    run(6 * SECOND);
    for (unsigned i = 0; i < HOSTS; i++) {
        ub_port_status(ub_switch_port(sw, i), &st);
        g_assert_cmpuint(st.dll.rx_held[0], ==, st.dll.rx_pending[0]);
    }
    /* Neighbours are controllers: every port is an edge. */
    g_assert_cmphex(ub_net_config(ub_switch_net(sw))->edge_ports, ==,
                    (1u << HOSTS) - 1);
    teardown();
}

/* Three send to one, more than its link carries: nothing is lost, and what
 * cannot go on stays where it came from. */
static void test_fan_in(void)
{
    unsigned want = 400, sent[HOSTS] = { 0 }, got[HOSTS] = { 0 };

    setup(HOSTS, HOSTS);
    for (unsigned n = 0; n < 20000; n++) {
        CorePacket *pkt;

        for (unsigned a = 1; a < HOSTS; a++) {
            UbFlow f = cna(a, 0);

            while (sent[a] < want &&
                   send_to(a, &f, 4000 + a, sent[a]) == UB_SENT) {
                sent[a]++;
            }
        }
        run(1000);
        while ((pkt = next_got(&hosts[0]))) {
            unsigned from = pkt->len - 4000;

            g_assert_cmpuint(from, <, HOSTS);
            g_assert_cmpuint(core_packet_data(pkt)[0], ==, (uint8_t)got[from]);
            got[from]++;
            core_packet_free(pkt);
        }
        if (got[1] + got[2] + got[3] == 3 * want) {
            break;
        }
    }
    g_assert_cmpuint(got[1] + got[2] + got[3], ==, 3 * want);
    g_assert_cmpuint(ub_net_total(ub_switch_net(sw), UB_NET_FORWARDED), ==,
                     3 * want);
    teardown();
}

static void test_port_down(void)
{
    UbFlow f = cna(0, 1);

    setup(HOSTS, HOSTS);
    ub_net_route_set(ub_switch_net(sw), 2, 2 | 4);
    plug(&hosts[1], false);
    run(SECOND);
    g_assert_cmphex(ub_net_ports_up(ub_switch_net(sw)), ==, 0xd);
    /* host 2 gets what is for CNA 2 now, and drops it as not its own */
    g_assert_cmpint(send_to(0, &f, 100, 0), ==, UB_SENT);
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(hosts[2].net, UB_NET_DROP_NOT_OURS), ==, 1);
    ub_net_route_set(ub_switch_net(sw), 2, 2);
    g_assert_cmpint(send_to(0, &f, 100, 0), ==, UB_SENT);
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(ub_switch_net(sw), UB_NET_DROP_PORT_DOWN),
                     ==, 1);
    plug(&hosts[1], true);
    run(SECOND);
    g_assert_cmpint(send_to(0, &f, 100, 0), ==, UB_SENT);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 1);
    /* by the switch's own will */
    ub_switch_enable(sw, now, 1, false);
    run(SECOND);
    g_assert_false(ub_port_dll_up(hosts[1].port));
    ub_switch_enable(sw, now, 1, true);
    run(SECOND);
    g_assert_true(ub_port_dll_up(hosts[1].port));
    teardown();
}

/* CFG 5 with @len bytes behind its header. */
static void send_control(unsigned from, unsigned protocol, const void *pdu,
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

static void notify(unsigned from, unsigned ip, unsigned len)
{
    UbIpNotify n = { .cfg = UB_LPH_IPV4, .prefix = 24,
                     .ip = { 10, 0, 0, ip } };
    uint8_t pdu[UB_IP_NOTIFY_MAX] = { 0 };

    if (len >= 6) {
        ub_ip_notify_put(pdu, &n);
    }
    send_control(from, UB_CONTROL_IP_NOTIFY, pdu, len);
}

static void test_ip_notify(void)
{
    UbFlow f;

    setup(HOSTS, HOSTS);
    ub_flow_init(&f, UB_LPH_IPV4);
    put_be32(f.ip.dst, 0x0a000003);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(ub_switch_net(sw), UB_NET_DROP_NO_ROUTE),
                     ==, 1);
    notify(2, 3, 6);
    notify(0, 1, 18); /* the longer form */
    run(SECOND / 100);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[2].got.length, ==, 1);
    g_assert_cmpuint(hosts[2].to[UB_NET_TP], ==, 1);
    g_assert_cmpuint(hosts[2].flow.ip.hops, ==, 63);
    put_be32(f.ip.dst, 0x0a000001);
    send_to(2, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[0].got.length, ==, 1);
    /* It moves. */
    notify(3, 3, 6);
    run(SECOND / 100);
    put_be32(f.ip.dst, 0x0a000003);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[3].got.length, ==, 1);
    g_assert_cmpuint(hosts[3].to[UB_NET_IP], ==, 1); /* not its address */
    g_assert_null(broken);
    notify(3, 0, 5);
    run(SECOND / 100);
    g_assert_nonnull(broken);
    teardown();
}

/* DHCP goes to the controllers that are neighbours, other than its sender; other
 * protocols of neighbours end here. */
static void test_dhcp(void)
{
    static const struct { uint16_t protocol; bool passes; } rows[] = {
        { UB_CONTROL_DHCPV4, true }, { UB_CONTROL_DHCPV6, true },
        { UB_CONTROL_IP_NOTIFY, false }, { 0x103, false },
        { UB_CONTROL_ULAP, false }, { 0x109, false },
    };
    static const uint8_t pdu[18] = { 0x10, 24, 10, 0, 0, 1, 7 };
    UbSwitchConfig conf;

    ub_switch_config_init(&conf);
    for (unsigned on = 0; on < 2; on++) {
        conf.pass_dhcp = on;
        setup_with(&conf, HOSTS + 1, HOSTS);
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            send_control(1, rows[i].protocol, pdu, sizeof(pdu));
            run(SECOND / 100);
            for (unsigned h = 0; h < HOSTS; h++) {
                unsigned want = on && rows[i].passes && h != 1;
                CorePacket *pkt = next_got(&hosts[h]);

                g_assert_cmpuint(pkt != NULL, ==, want);
                if (pkt) {
                    const uint8_t *p = core_packet_data(pkt);

                    g_assert_cmphex(ub_control_protocol(p), ==,
                                    rows[i].protocol);
                    g_assert_cmpuint(p[33], ==, 2); /* SGUID */
                    g_assert_cmpmem(p + UB_CONTROL_SIZE,
                                    pkt->len - UB_CONTROL_SIZE, pdu,
                                    sizeof(pdu));
                    core_packet_free(pkt);
                    g_assert_null(next_got(&hosts[h]));
                }
            }
        }
        /* A neighbour that is a switch passes nothing on in circles. */
        if (on) {
            UbNetConfig net = *ub_net_config(ub_switch_net(sw));

            net.edge_ports &= ~UINT64_C(4);
            g_assert_null(ub_net_configure(ub_switch_net(sw), &net));
            send_control(1, UB_CONTROL_DHCPV4, pdu, sizeof(pdu));
            run(SECOND / 100);
            g_assert_cmpuint(hosts[0].got.length, ==, 1);
            g_assert_cmpuint(hosts[2].got.length, ==, 0);
        }
        teardown();
    }
}

static void test_npic(void)
{
    uint8_t guid[16];

    setup(HOSTS, HOSTS);
    guid_of(1, guid);
    g_assert_true(ub_switch_npic(sw, now, 1, guid, 0x1000007));
    g_assert_true(ub_switch_npic(sw, now, 2, guid, 9)); /* not its GUID */
    run(SECOND / 100);
    g_assert_cmphex(hosts[1].npi, ==, 0x1000007);
    g_assert_cmphex(ub_net_npi(hosts[1].net), ==, 0x1000007);
    g_assert_cmphex(ub_net_npi(hosts[2].net), ==, 1);
    g_assert_true(ub_switch_npic(sw, now, 1, guid, 0));
    run(SECOND / 100);
    g_assert_cmphex(ub_net_npi(hosts[1].net), ==, 0);
    plug(&hosts[1], false);
    run(SECOND);
    g_assert_false(ub_switch_npic(sw, now, 1, guid, 5));
    teardown();
}

static void test_faults(void)
{
    CoreFaultPlan plan = { .ppm = { [CORE_FAULT_DROP] = 1000000 } };
    UbFlow f = cna(0, 1);
    CorePacket *pkt;

    setup(2, 2);
    ub_switch_fault(sw, 0, &plan);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 0);
    g_assert_cmpuint(ub_switch_faults(sw, 0)->done[CORE_FAULT_DROP], ==, 1);
    plan = (CoreFaultPlan) { .ppm = { [CORE_FAULT_DUPLICATE] = 1000000 } };
    ub_switch_fault(sw, 0, &plan);
    f.rt = 2;
    f.vl = 3;
    send_to(0, &f, 100, 7);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 2);
    for (unsigned i = 0; i < 2; i++) {
        pkt = next_got(&hosts[1]);
        g_assert_cmpuint(pkt->len, ==, 100);
        g_assert_cmpuint(core_packet_data(pkt)[0], ==, 7);
        core_packet_free(pkt);
        g_assert_cmpuint(hosts[1].flow.rt, ==, 2);
    }
    /* Late: by a timer of the switch. */
    plan = (CoreFaultPlan) { .ppm = { [CORE_FAULT_DELAY] = 1000000 },
                             .delay_us = 50000 };
    ub_switch_fault(sw, 0, &plan);
    send_to(0, &f, 100, 9);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 0);
    run(SECOND / 20);
    g_assert_cmpuint(hosts[1].got.length, ==, 1);
    forget(&hosts[1]);
    plan = (CoreFaultPlan) { .ppm = { [CORE_FAULT_CORRUPT] = 1000000 } };
    ub_switch_fault(sw, 0, &plan);
    for (unsigned i = 0; i < 50; i++) {
        send_to(0, &f, 100, 9);
    }
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(hosts[1].net, UB_NET_DROP_ICRC), >, 30);
    plan = (CoreFaultPlan) { 0 };
    ub_switch_fault(sw, 0, &plan);
    forget(&hosts[1]);
    send_to(0, &f, 100, 9);
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].got.length, ==, 1);
    teardown();
}

/* Idle ports cost no runs. */
static void test_dirty(void)
{
    uint64_t runs[2];

    for (unsigned k = 0; k < 2; k++) {
        UbFlow f = cna(0, 1);
        uint64_t before;

        setup(k ? 64 : 2, 2);
        run(SECOND);
        before = ub_switch_port_runs(sw);
        for (unsigned i = 0; i < 500; i++) {
            send_to(0, &f, 1000, i);
            run(100000);
            forget(&hosts[1]);
        }
        g_assert_cmpuint(hosts[1].to[UB_NET_TP], ==, 500);
        runs[k] = ub_switch_port_runs(sw) - before;
        teardown();
    }
    g_assert_cmpuint(runs[0], >, 500);
    g_assert_cmpuint(runs[1], <, runs[0] + runs[0] / 10);
}

static void test_registers(void)
{
    static const uint8_t guid[16] = { 0x01, 0x02, 0x03, 0x04, 0, 0, 0x01, 0x23,
                                      0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01 };
    UbSwitchConfig conf;
    UbFlow f = cna(0, 8);
    UbSpace *space;
    UbNet *net;

    ub_switch_config_init(&conf);
    memcpy(conf.guid, guid, sizeof(guid));
    setup_with(&conf, 40, 2);
    space = ub_switch_space(sw);
    net = ub_switch_net(sw);
    g_assert_cmphex(ub_space_read(space, UB_CFG0_TOTAL_NUMBER_OF_PORTS), ==,
                    1u << 16 | 40);
    g_assert_cmphex(ub_space_read(space, UB_CFG0_SUPPORTED_FEATURE), ==,
                    0xb5);
    g_assert_cmphex(ub_space_read(space, UB_CFG0_GUID), ==, 0xcdef0199);
    g_assert_cmphex(ub_space_read(space, UB_CFG0_GUID + 1), ==, 0x456789ab);
    g_assert_cmphex(ub_space_read(space, UB_CFG0_GUID + 2), ==, 0x03000123);
    g_assert_cmphex(ub_space_read(space, UB_CFG0_GUID + 3), ==, 0x01020304);
    g_assert_cmphex(ub_space_read(space, UB_CFG_ROUTE_BASE + 1), ==,
                    0x10fff);
    /* CNA 9 by port 1, two dwords an entry */
    ub_space_write(space, now, UB_CFG_ROUTE_BASE + 0x10 + 2 * 10, 2, 0xf);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(hosts[1].net, UB_NET_DROP_NOT_OURS), ==, 1);
    ub_space_write(space, now, UB_CFG0_PRIMARY_CNA, 0x123456, 0xf);
    g_assert_cmphex(ub_net_primary(net), ==, 0x123456);
    /* The record of errors */
    {
        CorePacket *pkt = packet(&hosts[0], 5, 0);

        ub_meta(pkt)->lph_cfg = UB_LPH_CNA16;
        g_assert_cmpint(ub_port_send(hosts[0].port, now, pkt), ==,
                        UB_PORT_SENT);
    }
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(net, UB_NET_DROP_SHORT), ==, 1);
    g_assert_cmphex((ub_space_read(space, UB_CFG_PORT_CAP(0, UB_CAP_PORT_ERR) +
                                   UB_PORT_ERR_UCE_STATUS) |
                     ub_space_read(space, UB_CFG_PORT_CAP(0, UB_CAP_PORT_ERR) +
                                   UB_PORT_ERR_CE_STATUS)) >> 23 & 1, ==, 1);
    /* DEV_RST: power-on, and the links come back. */
    ub_space_write(space, now, UB_CFG0_DEV_RST, 1, 0xf);
    run(2 * SECOND);
    g_assert_cmphex(ub_net_primary(net), ==, 0);
    g_assert_cmphex(ub_net_route_get(net, 9), ==, 0);
    g_assert_cmphex(ub_net_ports_up(net), ==, 3);
    for (unsigned i = 0; i < 2; i++) {
        UbPortStats st;

        ub_port_stats(hosts[i].port, &st);
        g_assert_cmpuint(st.link_downs, >, 0);
    }
    teardown();
}

/* ---- Management: host 0 is the UBFM ---------------------------------------- */

static UbMgmt *fm;
static uint8_t answer[1024];
static size_t answer_len;
static int answer_status; /* -1: none yet; -2: in vain */

static bool fm_message(void *opaque, int64_t t, const UbMgmtAddr *a,
                       const uint8_t *data, size_t len)
{
    return ub_mgmt_net_message(hosts[0].net, hosts[0].pool, t, a, data, len);
}

static bool fm_scan(void *opaque, int64_t t, unsigned port,
                    const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    return ub_mgmt_net_scan(hosts[0].net, hosts[0].pool, t, port, a, data,
                            len);
}

static bool fm_up(void *opaque, unsigned port)
{
    return ub_port_dll_up(hosts[0].port);
}

static void fm_rx(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    ub_mgmt_net_rx_message(fm, t, pkt, f);
}

static void fm_rx_scan(void *opaque, int64_t t, CorePacket *pkt,
                       const UbFlow *f)
{
    ub_mgmt_net_rx_scan(fm, t, pkt, f);
}

static void fm_done(void *opaque, const uint8_t *data, size_t len,
                    unsigned status)
{
    answer_status = data ? (int)status : -2;
    answer_len = data ? MIN(len, sizeof(answer)) : 0;
    memcpy(answer, data ? data : answer, answer_len);
}

static void fm_init(void)
{
    static const UbMgmtOps ops = { .message = fm_message, .scan = fm_scan,
                                   .port_up = fm_up };
    static const UbNetUpper message = { fm_rx, NULL };
    static const UbNetUpper scans = { fm_rx_scan, NULL };
    UbMgmtConfig conf;

    ub_space_attach(hosts[0].space, UB_SPACE_CFG0, 0, 0, NULL, NULL);
    ub_space_attach(hosts[0].space, UB_SPACE_CFG1, 0, 0, NULL, NULL);
    ub_space_write(hosts[0].space, now, UB_CFG0_PRIMARY_CNA, 1, 0xf);
    ub_mgmt_config_init(&conf);
    conf.manager = true;
    fm = ub_mgmt_new(&conf, hosts[0].space, &ops, NULL);
    g_assert_nonnull(fm);
    ub_net_set_upper(hosts[0].net, UB_NET_TP, &message, NULL);
    ub_net_set_upper(hosts[0].net, UB_NET_SCAN, &scans, NULL);
}

/* Ask and wait. */
static int asked(bool sent)
{
    g_assert_true(sent);
    run(SECOND / 100);
    return answer_status;
}

static int scan_switch(UbScanCmd cmd, unsigned opcode, unsigned slice,
                       uint32_t cna)
{
    UbScanWay way = { .hops = 1, .forward = { 0 }, .back = { 0 } };
    UbScanAsk ask = { .cmd = cmd, .opcode = opcode, .slice = slice,
                      .cna = cna };

    for (unsigned i = 0; i < 4; i++) {
        uint32_t word = ub_space_read(ub_switch_space(sw), UB_CFG0_GUID + i);

        memcpy((uint8_t *)&ask.guid + 4 * i, &word, 4);
    }
    answer_status = -1;
    return asked(ub_mgmt_scan(fm, now, &way, &ask, fm_done, NULL));
}

/* A scan finds the switch and its ports, gives it a CNA; messages to that write
 * its routes; a scan goes through it to the next node. */
static void test_management(void)
{
    UbMgmtAddr to = { .scna = 1, .dcna = 0x77, .upi = 0x7fff, .mgmt = true };
    UbScanWay way = { .hops = 2, .forward = { 0, 1 }, .back = { 0, 0 } };
    UbScanAsk ask = { .cmd = UB_SCAN_TOPOLOGY, .opcode = UB_SCAN_OP_TOPOLOGY };
    UbFlow f = cna(0, 8);

    setup(20, 3);
    fm_init();
    g_assert_cmpint(scan_switch(UB_SCAN_TOPOLOGY, UB_SCAN_OP_TOPOLOGY, 0, 0), ==,
                    0);
    g_assert_cmpuint(answer_len, >=, 24 + 4 + 8 + 8 + 16 * 28);
    /* Slice_info: 2 slices; Port_num: 20 in all, 16 here. */
    g_assert_cmphex(get_be32(answer + 24) & 0xffff, ==, 0x200);
    g_assert_cmpuint(get_be32(answer + 28) & 0xffff, ==, 20);
    g_assert_cmpint(scan_switch(UB_SCAN_TOPOLOGY, UB_SCAN_OP_TOPOLOGY, 1, 0), ==,
                    0);
    g_assert_cmpint(scan_switch(UB_SCAN_NA_CONFIG, UB_SCAN_OP_PRIMARY, 0, 0x77),
                    ==, 0);
    g_assert_cmphex(ub_net_primary(ub_switch_net(sw)), ==, 0x77);
    /* By CNA: the answer finds its way by the route of CNA 1. */
    answer_status = -1;
    g_assert_cmpint(asked(ub_mgmt_write(fm, now, &to, 0,
                                        UB_CFG_ROUTE_BASE + 0x10 + 10, 4, 0xf,
                                        fm_done, NULL)), ==, 0);
    g_assert_cmphex(ub_net_route_get(ub_switch_net(sw), 9), ==, 4);
    answer_status = -1;
    g_assert_cmpint(asked(ub_mgmt_read(fm, now, &to, 0,
                                       UB_CFG_ROUTE_BASE + 0x10 + 10, fm_done,
                                       NULL)), ==, 0);
    send_to(0, &f, 100, 0);
    run(SECOND / 100);
    g_assert_cmpuint(ub_net_total(hosts[2].net, UB_NET_DROP_NOT_OURS), ==, 1);
    /* Through it: host 1 sees the scan, its ICRC good. */
    g_assert_true(ub_mgmt_scan(fm, now, &way, &ask, fm_done, NULL));
    run(SECOND / 100);
    g_assert_cmpuint(hosts[1].to[UB_NET_SCAN], ==, 1);
    g_assert_cmpuint(ub_mgmt_counter(ub_switch_mgmt(sw),
                                     UB_MGMT_CNT_SCANS_FORWARDED), ==, 1);
    g_assert_cmpuint(ub_net_total(hosts[1].net, UB_NET_DROP_ICRC), ==, 0);
    ub_mgmt_free(fm);
    teardown();
}

static void test_config(void)
{
    static const UbSwitchOps ops = { .kick = sw_kick };
    UbSwitchConfig conf;
    const char *why = NULL;

    ub_switch_config_init(&conf);
    conf.ports = 1;
    g_assert_null(ub_switch_new(&conf, &ops, NULL, &why));
    g_assert_nonnull(why);
    conf.ports = 65;
    g_assert_null(ub_switch_new(&conf, &ops, NULL, &why));
    conf.ports = 2;
    conf.net.mtu = 5;
    why = NULL;
    g_assert_null(ub_switch_new(&conf, &ops, NULL, &why));
    g_assert_nonnull(why);
    conf.net.mtu = 4096;
    conf.port.dll_time_scale = 0;
    why = NULL;
    g_assert_null(ub_switch_new(&conf, &ops, NULL, &why));
    g_assert_nonnull(why);
    ub_switch_free(NULL);
}

/* Whatever hosts send, the others go on. */
static void test_hostile(void)
{
    static const uint8_t cfgs[] = { 3, 4, 5, 6, 7, 9 };
    uint64_t rng = 11;
    UbFlow f = cna(0, 1);

    setup(HOSTS, HOSTS);
    ub_net_route_default(ub_switch_net(sw), 0xf);
    for (unsigned i = 0; i < 5000; i++) {
        unsigned from = core_random(&rng) % 2 + 2;
        CorePacket *pkt = packet(&hosts[from], 1 + core_random(&rng) % 300, 0);
        uint8_t *p = core_packet_data(pkt);

        for (unsigned k = 0; k < pkt->len; k++) {
            p[k] = core_random(&rng) >> 9;
        }
        ub_meta(pkt)->lph_cfg = cfgs[core_random(&rng) % 6];
        if (ub_meta(pkt)->lph_cfg == 5 && pkt->len > 2) {
            put_be16(p, UB_CONTROL_IP_NOTIFY + core_random(&rng) % 5);
        } else if (pkt->len > 8 && i & 1) {
            p[6] = 0x45 | (ub_meta(pkt)->lph_cfg == 4) << 5;
        }
        if (ub_port_send(hosts[from].port, now, pkt) != UB_PORT_SENT) {
            core_packet_free(pkt);
        }
        if (i % 50 == 0) {
            run(SECOND / 1000);
            forget(&hosts[1]);
            forget(&hosts[0]);
            forget(&hosts[2]);
            forget(&hosts[3]);
            g_assert_cmpint(send_to(0, &f, 100, 0), ==, UB_SENT);
        }
    }
    run(SECOND / 10);
    g_assert_cmpuint(hosts[1].to[UB_NET_TP], >=, 100);
    g_assert_cmphex(ub_net_ports_up(ub_switch_net(sw)), ==, 0xf);
    teardown();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/switch/forward", test_forward);
    g_test_add_func("/ub/switch/fan-in", test_fan_in);
    g_test_add_func("/ub/switch/port-down", test_port_down);
    g_test_add_func("/ub/switch/ip-notify", test_ip_notify);
    g_test_add_func("/ub/switch/dhcp", test_dhcp);
    g_test_add_func("/ub/switch/npic", test_npic);
    g_test_add_func("/ub/switch/faults", test_faults);
    g_test_add_func("/ub/switch/dirty", test_dirty);
    g_test_add_func("/ub/switch/registers", test_registers);
    g_test_add_func("/ub/switch/management", test_management);
    g_test_add_func("/ub/switch/config", test_config);
    g_test_add_func("/ub/switch/hostile", test_hostile);
    return g_test_run();
}
