/*
 * A manager and a ring of switches with real links, in virtual time: it finds them by
 * scans, brings them up by messages, and at full load nobody waits for ever.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "ub/fm.h"
#include "ub/mgmt_net.h"
#include "ub/net_hw.h"
#include "ub/switch.h"

#define MS INT64_C(1000000)
#define RING_MOST 6u
#define NODES_MOST (2 * RING_MOST)  /* switch i and, behind it, host ring + i */
#define PORTS 3u                    /* of a switch: host, next one, one before */
#define PIPE (256u << 10)
#define PAYLOAD 1000u
#define LOAD 1500u                   /* packets of each host */

typedef struct Node {
    unsigned index;
    UbSwitch *sw;                   /* NULL: a host */
    UbPort *port;
    UbNet *net;
    UbMgmt *m;
    UbSpace *space;
    CorePacketPool *pool;
    GByteArray *out[PORTS];         /* to peer */
    struct {
        unsigned node, port;
    } peer[PORTS];
    int64_t next;
    unsigned sent, got;             /* data */
} Node;

static Node nodes[NODES_MOST];
static unsigned ring;               /* switches, as many as hosts */
static int64_t now;

/* ---- Wires ---- */

static size_t put_out(Node *n, unsigned port, const uint8_t *data, size_t len)
{
    len = MIN(len, PIPE - n->out[port]->len);
    g_byte_array_append(n->out[port], data, len);
    return len;
}

static void kick(void *opaque)
{
    ((Node *)opaque)->next = now;
}

static size_t switch_out(void *opaque, unsigned port, const uint8_t *data,
                         size_t len)
{
    return put_out(opaque, port, data, len);
}

static void switch_close(void *opaque, unsigned port)
{
    g_assert_not_reached();
}

static size_t host_out(void *opaque, const uint8_t *data, size_t len)
{
    return put_out(opaque, 0, data, len);
}

static void host_close(void *opaque)
{
    g_assert_not_reached();
}

/* What has been sent by a port arrives; whether there was something. */
static bool carry(Node *n, unsigned port)
{
    GByteArray *bytes = n->out[port];
    Node *to = &nodes[n->peer[port].node];
    bool full = bytes->len == PIPE;

    if (!bytes->len) {
        return false;
    }
    n->out[port] = g_byte_array_new();
    if (to->sw) {
        ub_switch_wire_receive(to->sw, now, n->peer[port].port, bytes->data,
                               bytes->len);
    } else {
        ub_port_wire_receive(to->port, now, bytes->data, bytes->len);
    }
    g_byte_array_unref(bytes);
    if (full && n->sw) {
        ub_switch_wire_room(n->sw, now, port);
    } else if (full) {
        ub_port_wire_room(n->port, now);
    }
    return true;
}

/* ---- A host ---- */

static bool net_room(void *opaque, unsigned port, unsigned vl)
{
    return ub_port_room(((Node *)opaque)->port, vl) == UB_PORT_SENT;
}

static bool net_send(void *opaque, unsigned port, CorePacket *pkt)
{
    return ub_port_send(((Node *)opaque)->port, now, pkt) == UB_PORT_SENT;
}

static const UbNetOps net_ops = {
    .room = net_room, .send = net_send, .kick = kick,
};

static void host_rx(void *opaque, CorePacket *pkt)
{
    ub_net_rx(((Node *)opaque)->net, now, 0, pkt);
}

static void host_event(void *opaque, UbPortEvent event)
{
    Node *n = opaque;

    if (event == UB_PORT_LINK) {
        ub_net_port_state(n->net, now, 0, ub_port_vls(n->port));
    }
}

static void host_space(void *opaque, unsigned vl)
{
    ub_net_room(((Node *)opaque)->net, now, 0, vl);
}

static const UbPortOps port_ops = {
    .rx = host_rx, .event = host_event, .tx_space = host_space, .kick = kick,
    .wire_send = host_out, .wire_close = host_close,
};

/* Data are of 24-bit CNAs, messages of 16-bit ones. */
static void up_tp(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    Node *n = opaque;

    if (f->cfg == UB_LPH_CNA24) {
        n->got++;
        core_packet_free(pkt);
    } else {
        ub_mgmt_net_rx_message(n->m, t, pkt, f);
    }
}

static void up_scan(void *opaque, int64_t t, CorePacket *pkt, const UbFlow *f)
{
    ub_mgmt_net_rx_scan(((Node *)opaque)->m, t, pkt, f);
}

static bool mgmt_message(void *opaque, int64_t t, const UbMgmtAddr *a,
                         const uint8_t *data, size_t len)
{
    Node *n = opaque;

    return ub_mgmt_net_message(n->net, n->pool, t, a, data, len);
}

static bool mgmt_scan(void *opaque, int64_t t, unsigned port,
                      const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    Node *n = opaque;

    return ub_mgmt_net_scan(n->net, n->pool, t, port, a, data, len);
}

static bool mgmt_up(void *opaque, unsigned port)
{
    return ub_port_dll_up(((Node *)opaque)->port);
}

static const UbMgmtOps mgmt_ops = {
    .message = mgmt_message, .scan = mgmt_scan, .port_up = mgmt_up,
    .kick = kick,
};

static void cfg0_written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    if (w->dw == UB_CFG0_PRIMARY_CNA) {
        ub_net_set_primary(((Node *)opaque)->net, w->value);
    }
}

static void guid_of(unsigned index, bool sw, uint8_t guid[16])
{
    memset(guid, 0, 16);
    guid[4] = sw ? 3 : 1;
    guid[15] = index + 1;
}

static void host_new(Node *n)
{
    static const UbSliceOps cfg0_ops = { cfg0_written, NULL };
    static const UbNetUpper tp = { up_tp, NULL }, scan = { up_scan, NULL };
    const char *why = NULL;
    UbPortConfig port;
    UbMgmtConfig mgmt;
    UbNetConfig net;
    UbSlice *cfg0;

    n->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    n->space = ub_space_new(1);
    ub_net_config_init(&net);
    n->net = ub_net_new(&net, &net_ops, n);
    ub_net_set_upper(n->net, UB_NET_TP, &tp, n);
    ub_net_set_upper(n->net, UB_NET_SCAN, &scan, n);
    cfg0 = ub_space_attach(n->space, UB_SPACE_CFG0, 0, 0, &cfg0_ops, n);
    ub_space_attach(n->space, UB_SPACE_CFG1, 0, 0, NULL, NULL);
    ub_port_config_init(&port);
    guid_of(n->index, false, port.guid);
    port.session = port.phy.lmsm.seed = 100 + n->index;
    for (unsigned i = 0; i < 4; i++) {
        ub_slice_init(cfg0, UB_CFG0_GUID + i, ~0u,
                      get_be32(port.guid + 12 - 4 * i));
    }
    ub_slice_init(cfg0, UB_CFG0_TOTAL_NUMBER_OF_PORTS, ~0u, 1u << 16 | 1);
    n->port = ub_port_new(&port, n->space, n->pool, &port_ops, n, &why);
    g_assert_cmpstr(why, ==, NULL);
    ub_mgmt_config_init(&mgmt);
    mgmt.manager = n->index == ring;
    n->m = ub_mgmt_new(&mgmt, n->space, &mgmt_ops, n);
    ub_port_enable(n->port, now, true);
}

static int64_t host_turn(Node *n)
{
    int64_t next = ub_net_run(n->net, now, 1000), other;

    other = ub_port_run(n->port, now);
    next = MIN(next, other);
    other = ub_mgmt_run(n->m, now);
    return MIN(next, other);
}

/* ---- All ---- */

static void run(int64_t time)
{
    int64_t end = now + time;

    while (now < end) {
        int64_t next = end;
        bool busy = false;

        for (unsigned i = 0; i < 2 * ring; i++) {
            Node *n = &nodes[i];

            if (n->next <= now) {
                int64_t then;

                n->next = INT64_MAX;
                then = n->sw ? ub_switch_run(n->sw, now) : host_turn(n);
                n->next = MIN(n->next, then);
                busy = true;
            }
            for (unsigned p = 0; p < (n->sw ? PORTS : 1); p++) {
                busy |= carry(n, p);
            }
        }
        for (unsigned i = 0; i < 2 * ring; i++) {
            next = MIN(next, nodes[i].next);
        }
        now = busy ? now + 100 : CLAMP(next, now + 1, end);
    }
}

static void join(unsigned a, unsigned pa, unsigned b, unsigned pb)
{
    nodes[a].peer[pa].node = b;
    nodes[a].peer[pa].port = pb;
    nodes[b].peer[pb].node = a;
    nodes[b].peer[pb].port = pa;
}

static void connect(Node *n, unsigned port)
{
    if (n->sw) {
        ub_switch_wire_connected(n->sw, now, port);
    } else {
        ub_port_wire_connected(n->port, now);
    }
}

/* Room of a link's receiver for a few packets of each VL. */
static void set_credits(UbPortConfig *port)
{
    for (unsigned vl = 0; vl < G_N_ELEMENTS(port->dll.init_credit); vl++) {
        port->dll.init_credit[vl] = 80;
    }
}

static void ring_new(unsigned switches)
{
    static const UbSwitchOps ops = {
        .kick = kick, .wire_send = switch_out, .wire_close = switch_close,
    };

    ring = switches;
    now = 1000;
    memset(nodes, 0, sizeof(nodes));
    for (unsigned i = 0; i < 2 * ring; i++) {
        Node *n = &nodes[i];

        n->index = i;
        n->next = now;
        for (unsigned p = 0; p < PORTS; p++) {
            n->out[p] = g_byte_array_new();
        }
        if (i < ring) {
            const char *why = NULL;
            UbSwitchConfig conf;

            ub_switch_config_init(&conf);
            conf.ports = PORTS;
            guid_of(i, true, conf.guid);
            conf.port.session = 7 + i;
            set_credits(&conf.port);
            n->sw = ub_switch_new(&conf, &ops, n, &why);
            g_assert_cmpstr(why, ==, NULL);
            join(i, 1, (i + 1) % ring, 2);
        } else {
            host_new(n);
            join(i, 0, i - ring, 0);
        }
    }
    for (unsigned i = 0; i < 2 * ring; i++) {
        for (unsigned p = 0; p < (nodes[i].sw ? PORTS : 1); p++) {
            connect(&nodes[i], p);
        }
    }
    run(1000 * MS);
    for (unsigned i = 0; i < ring; i++) {
        g_assert_cmphex(ub_net_ports_up(ub_switch_net(nodes[i].sw)), ==, 7);
    }
}

static void ring_free(void)
{
    for (unsigned i = 0; i < ring; i++) {
        ub_switch_free(nodes[i].sw);
    }
    for (unsigned i = 0; i < 2 * ring; i++) {
        Node *n = &nodes[i];

        if (!n->sw) {
            ub_mgmt_free(n->m);
            ub_net_free(n->net);
            ub_port_free(n->port);
            ub_space_free(n->space);
            g_assert_cmpuint(core_packet_pool_used(n->pool), ==, 0);
            core_packet_pool_free(n->pool);
        }
        for (unsigned p = 0; p < PORTS; p++) {
            g_byte_array_unref(n->out[p]);
        }
    }
}

/* ---- The manager's hands: messages and scans of host 0 ---- */

typedef struct Answer {
    bool there, in_vain;
    unsigned status;
    size_t len;
    uint8_t data[UB_MGMT_PDU_MAX];
} Answer;

static void answered(void *opaque, const uint8_t *data, size_t len,
                     unsigned status)
{
    Answer *a = opaque;

    a->there = true;
    a->in_vain = !data;
    a->status = status;
    a->len = MIN(len, sizeof(a->data));
    memcpy(a->data, data ? data : a->data, a->len);
}

static UbMgmt *hands(void)
{
    nodes[ring].next = now;
    return nodes[ring].m;
}

static int await(const Answer *a)
{
    while (!a->there) {
        run(MS / 100);
    }
    return a->in_vain ? -1 : (int)a->status;
}

static int fm_scan(void *opaque, const UbScanWay *way, const UbScanAsk *ask,
                   uint8_t *pdu, unsigned *len)
{
    Answer a = { 0 };
    int status;

    g_assert_true(ub_mgmt_scan(hands(), now, way, ask, answered, &a));
    status = await(&a);
    memcpy(pdu, a.data, a.len);
    *len = a.len;
    return status;
}

static int fm_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    const UbMgmtAddr to = { .dcna = cna, .mgmt = true, .local = !cna };
    Answer a = { 0 };
    int status;

    g_assert_true(ub_mgmt_read(hands(), now, &to, 0, dw, answered, &a));
    status = await(&a);
    *value = get_be32(a.data);
    return status;
}

static int fm_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    const UbMgmtAddr to = { .dcna = cna, .mgmt = true, .local = !cna };
    Answer a = { 0 };

    g_assert_true(ub_mgmt_write(hands(), now, &to, 0, dw, value, 0xf, answered,
                                &a));
    return await(&a);
}

static const UbFmOps fm_ops = {
    .scan = fm_scan, .read = fm_read, .write = fm_write,
};

/* ---- Load ---- */

static uint32_t cna_of(unsigned node)
{
    return ub_space_read(nodes[node].space, UB_CFG0_PRIMARY_CNA);
}

/* Every host has packets for the one that is two switches on, by VL 0, as many as it is
 * let; flows of which some go the one way round and some the other where both are as
 * long. */
static void send_all(void)
{
    for (unsigned i = 0; i < ring; i++) {
        Node *n = &nodes[ring + i];

        while (n->sent < LOAD) {
            CorePacket *pkt = core_packet_alloc(n->pool, PAYLOAD);
            UbFlow f;

            memset(core_packet_data(pkt), n->sent, PAYLOAD);
            ub_flow_init(&f, UB_LPH_CNA24);
            f.nlp = UB_NLP_RTPH;
            f.scna = cna_of(ring + i);
            f.dcna = cna_of(ring + (i + 2) % ring);
            f.lbf = n->sent;
            if (ub_net_send(n->net, now, &f, pkt) != UB_SENT) {
                core_packet_free(pkt);
                break;
            }
            n->sent++;
            n->next = now;
        }
    }
}

static unsigned arrived(void)
{
    unsigned all = 0;

    for (unsigned i = 0; i < ring; i++) {
        all += nodes[ring + i].got;
    }
    return all;
}

/* Packets that arrive until none has for long. */
static unsigned load(void)
{
    int64_t last = now;
    unsigned got = 0;

    while (got < ring * LOAD && now < last + 20 * MS) {
        send_all();
        run(MS / 100);
        if (arrived() > got) {
            got = arrived();
            last = now;
        }
    }
    return got;
}

static UbFm *bring_up(void)
{
    UbFm *fm = ub_fm_new(&fm_ops, NULL);
    UbFmPlan plan;

    ub_fm_plan_init(&plan);
    g_assert_true(ub_fm_discover(fm));
    g_assert_cmpuint(ub_fm_bring_up(fm, &plan, NULL), ==, 0);
    g_assert_cmpuint(fm->nodes, ==, 2 * ring);
    g_assert_true(fm->ringed);
    g_assert_false(fm->tree);
    g_assert_cmpuint(fm->trees, ==, 0);
    g_assert_cmpuint(fm->layers, ==, 2);
    return fm;
}

static void drop_maps(const UbFm *fm)
{
    const uint32_t groups = UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) +
                            UB_NETR_VL_GROUP;

    for (unsigned i = 0; i < fm->nodes; i++) {
        if (ub_fm_is_switch(&fm->node[i])) {
            g_assert_cmpint(fm_write(NULL, fm->node[i].cna, groups, 0), ==, 0);
        }
    }
}

static void crowd(unsigned switches, bool maps)
{
    unsigned all = switches * LOAD, got;
    UbFm *fm;

    ring_new(switches);
    fm = bring_up();
    if (!maps) {
        drop_maps(fm);
    }
    got = load();
    g_test_message("%u of %u arrived", got, all);
    g_assert_true(maps ? got == all : got < all);
    for (unsigned i = 0; maps && i < ring; i++) {
        UbNet *net = ub_switch_net(nodes[i].sw);

        g_assert_cmpuint(ub_net_total(net, UB_NET_DROP_WATCHDOG), ==, 0);
        g_assert_cmpuint(ub_net_total(net, UB_NET_DROP_FLUSHED), ==, 0);
    }
    ub_fm_free(fm);
    ring_free();
}

/* With the manager's maps all arrive by the shortest ways. */
static void test_maps(gconstpointer switches)
{
    crowd(GPOINTER_TO_UINT(switches), true);
}

/* The same routes without the maps: links wait for one another. */
static void test_no_maps(gconstpointer switches)
{
    crowd(GPOINTER_TO_UINT(switches), false);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/ub/fm-live/ring-4/maps", GUINT_TO_POINTER(4), test_maps);
    g_test_add_data_func("/ub/fm-live/ring-4/no-maps", GUINT_TO_POINTER(4),
                         test_no_maps);
    g_test_add_data_func("/ub/fm-live/ring-5/maps", GUINT_TO_POINTER(5), test_maps);
    g_test_add_data_func("/ub/fm-live/ring-5/no-maps", GUINT_TO_POINTER(5),
                         test_no_maps);
    g_test_add_data_func("/ub/fm-live/ring-6/maps", GUINT_TO_POINTER(6), test_maps);
    g_test_add_data_func("/ub/fm-live/ring-6/no-maps", GUINT_TO_POINTER(6),
                         test_no_maps);
    return g_test_run();
}
