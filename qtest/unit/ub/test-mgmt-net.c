/*
 * Management over the network layer, and over all floors up to the transaction
 * layer: the packets as they are on the wire, the same by either way, between two
 * nodes with one link; and what comes that is none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mgmt-fabric.h"
#include "ub/mgmt_net.h"
#include "ub/mgmt_ta.h"
#include "ub/node.h"

typedef struct Wire {
    Fabric f;
    UbNet *net[2];
    UbNode *floors[2]; /* over the transaction layer, or NULL */
    CorePacketPool *pool;
    bool full;
    GQueue under_way[2]; /* to node i */
} Wire;

static Wire *wire_of(Node *n)
{
    return (Wire *)((char *)n->fabric - offsetof(Wire, f));
}

static bool port_room(void *opaque, unsigned port, unsigned vl)
{
    return !wire_of(opaque)->full;
}

static bool port_send(void *opaque, unsigned port, CorePacket *pkt)
{
    Node *n = opaque;

    g_queue_push_tail(&wire_of(n)->under_way[!n->index], pkt);
    return true;
}

static void port_kick(void *opaque)
{
}

static const UbNetOps net_ops = {
    .room = port_room, .send = port_send, .kick = port_kick,
};

static void rx_message(void *opaque, int64_t now, CorePacket *pkt,
                       const UbFlow *flow)
{
    ub_mgmt_net_rx_message(((Node *)opaque)->m, now, pkt, flow);
}

static void rx_scan(void *opaque, int64_t now, CorePacket *pkt,
                    const UbFlow *flow)
{
    ub_mgmt_net_rx_scan(((Node *)opaque)->m, now, pkt, flow);
}

static const UbNetUpper message_upper = { rx_message }, scan_upper = { rx_scan };

static bool tx_message(void *opaque, int64_t now, const UbMgmtAddr *a,
                       const uint8_t *data, size_t len)
{
    Node *n = opaque;
    Wire *w = wire_of(n);

    if (w->floors[n->index]) {
        return ub_mgmt_ta_message(ub_node_ta(w->floors[n->index]), now, a,
                                  data, len);
    }
    return ub_mgmt_net_message(w->net[n->index], w->pool, now, a, data, len);
}

static void ta_message(void *opaque, int64_t now, const UbTaMessage *t)
{
    ub_mgmt_ta_rx(((Node *)opaque)->m, now, t);
}

static const UbTaOps ta_ops = { .message = ta_message };

static bool tx_scan(void *opaque, int64_t now, unsigned port,
                    const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    Node *n = opaque;
    Wire *w = wire_of(n);

    return ub_mgmt_net_scan(w->net[n->index], w->pool, now, port, a, data,
                            len);
}

static const UbMgmtOps ops = {
    .message = tx_message, .scan = tx_scan, .deliver = fabric_deliver,
    .failed = fabric_failed, .port_up = fabric_port_up, .rule = fabric_rule,
};

/* The floors from the network layer up. */
static void floors_new(Wire *w, Node *n)
{
    const UbNodeOps node_ops = { .net = &net_ops, .net_opaque = n,
                                 .ta = &ta_ops, .ta_opaque = n };
    UbEid eid = ub_eid_of_short(0x20 + n->index);
    UbNodeConfig cfg;

    ub_node_config_init(&cfg);
    w->floors[n->index] = ub_node_new(&cfg, &node_ops, n);
    w->net[n->index] = ub_node_net(w->floors[n->index]);
    ub_sec_set_entity(ub_node_sec(w->floors[n->index]), 0, &eid, 5);
}

static Wire *wire_new(bool floors)
{
    Wire *w = g_new0(Wire, 1);
    UbNetConfig nc;
    UbMgmtConfig mc;

    w->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    ub_net_config_init(&nc);
    ub_mgmt_config_init(&mc);
    for (unsigned i = 0; i < 2; i++) {
        Node *n = &w->f.node[i];

        g_queue_init(&w->under_way[i]);
        n->fabric = &w->f;
        n->index = w->f.nodes++;
        fabric_space(n, 1);
        n->m = ub_mgmt_new(&mc, n->space, &ops, n);
        if (floors) {
            floors_new(w, n);
        } else {
            w->net[i] = ub_net_new(&nc, &net_ops, n);
            ub_net_set_upper(w->net[i], UB_NET_TP, &message_upper, n);
        }
        ub_net_set_upper(w->net[i], UB_NET_SCAN, &scan_upper, n);
        ub_net_port_state(w->net[i], 0, 0, 0xffff);
        ub_net_route_default(w->net[i], 1);
        fabric_identity(n, 0x10 + i, 0x20 + i, 5);
        ub_net_set_primary(w->net[i], 0x10 + i);
    }
    fabric_link(&w->f, 0, 0, 1, 0);
    return w;
}

static void wire_free(Wire *w)
{
    for (unsigned i = 0; i < 2; i++) {
        if (w->floors[i]) {
            ub_node_free(w->floors[i]);
        } else {
            ub_net_free(w->net[i]);
        }
        g_queue_clear_full(&w->under_way[i],
                           (GDestroyNotify)core_packet_free);
    }
    fabric_free(&w->f);
    g_assert_cmpuint(core_packet_pool_used(w->pool), ==, 0);
    core_packet_pool_free(w->pool);
    g_free(w);
}

static void pump(Wire *w)
{
    bool more = true;

    while (more) {
        more = false;
        for (unsigned i = 0; i < 2; i++) {
            CorePacket *pkt = g_queue_pop_head(&w->under_way[i]);

            if (pkt) {
                ub_net_rx(w->net[i], w->f.now, 0, pkt);
                more = true;
            }
        }
    }
}

static const UbMgmtAddr fm_to_1 = { .dcna = 0x11, .deid = 0x21, .mgmt = true,
                                    .sl = 3, .lbf = 0x5a };

static void message(gconstpointer floors)
{
    static const uint8_t want[] = {
        0, 0x10, 0, 0x11, 0, 0, 0x5a, 0x38,             /* NTH */
        0x02, 0x7f, 0xff, 0, 0x02, 0x00, 0, 0x21,       /* CTPH UPIH EIDH */
        0x10, 0x10, 0, 1, 0, 0, 0, 0xfe,                /* BTAH */
        0x04, 0, 0, 0x10,                               /* MGMTETAH */
        0, 0, 0, 0xf0, 0, 0, 0, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0,
    };
    Wire *w = wire_new(floors);
    Answer a = { 0 };
    CorePacket *pkt;

    g_assert_true(ub_mgmt_read(w->f.node[0].m, 0, &fm_to_1, 0, 0xe,
                               fabric_answer, &a));
    pkt = g_queue_peek_head(&w->under_way[1]);
    g_assert_cmpuint(ub_meta(pkt)->lph_cfg, ==, 6);
    g_assert_cmpmem(core_packet_data(pkt), pkt->len - UB_ICRC_SIZE, want,
                    sizeof(want));
    ub_net_rx(w->net[1], 0, 0, g_queue_pop_head(&w->under_way[1]));
    pkt = g_queue_peek_head(&w->under_way[0]);
    /* The answer: NTH without Mgmt. */
    g_assert_cmphex(get_be32(core_packet_data(pkt)), ==, 0x00110010);
    g_assert_cmphex(core_packet_data(pkt)[7], ==, 0x30);
    g_assert_cmphex(get_be32(core_packet_data(pkt) + 8), ==, 0x027fff00);
    g_assert_cmphex(get_be32(core_packet_data(pkt) + 12), ==, 0x02100020);
    pump(w);
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmphex(a.status, ==, 0);
    g_assert_cmphex(get_be32(a.data), ==, fabric_guid(1).w[0]);
    wire_free(w);
}

/* An answer has the address that it was asked by, and leaves by the port that
 * the request came by, whatever the routes are. */
static void answered(gconstpointer floors)
{
    Wire *w = wire_new(floors);
    Answer a = { 0 };
    UbMgmtAddr to = fm_to_1;
    CorePacket *pkt;

    ub_slice_set(w->f.node[1].port[0], UB_PORT_CNA, ~0u, 0x99);
    ub_net_set_port_cna(w->net[1], 0, 0x99);
    ub_net_route_default(w->net[1], 0);
    for (unsigned i = 0; i < 2; i++) {
        to.dcna = i ? 0x99 : 0x11;
        g_assert_true(ub_mgmt_read(w->f.node[0].m, 0, &to, 0, 0xe,
                                   fabric_answer, &a));
        ub_net_rx(w->net[1], 0, 0, g_queue_pop_head(&w->under_way[1]));
        pkt = g_queue_peek_head(&w->under_way[0]);
        g_assert_nonnull(pkt);
        g_assert_cmphex(get_be16(core_packet_data(pkt)), ==, to.dcna);
        pump(w);
        g_assert_cmpuint(a.calls, ==, i + 1);
    }
    wire_free(w);
}

/* PDUs of every length arrive with their length. */
static void padding(gconstpointer floors)
{
    for (unsigned len = 0; len <= 9; len++) {
        Wire *w = wire_new(floors);
        Answer a = { 0 };
        CorePacket *pkt;
        const uint8_t *p;

        g_assert_true(ub_mgmt_request(w->f.node[0].m, 0, &fm_to_1,
                                      UB_MGMT_MSG_SPDM,
                                      (const uint8_t *)"123456789", len,
                                      fabric_answer, &a));
        pkt = g_queue_peek_head(&w->under_way[1]);
        p = core_packet_data(pkt);
        g_assert_cmpuint(pkt->len, ==, 28 + (len + 3) / 4 * 4 + 4);
        g_assert_cmphex(p[8], ==, 2 | (-len & 3) << 4);
        pump(w);
        g_assert_cmpuint(w->f.node[1].delivered, ==, 1);
        g_assert_cmpuint(w->f.node[1].len, ==, 4 + len);
        g_assert_cmpmem(w->f.node[1].data + 4, len, "123456789", len);
        wire_free(w);
    }
}

static void scan(void)
{
    static const uint8_t want[] = {
        0, 0x10, 0, 0, 0, 0, 0, 0x09,                   /* NTH */
        0x7f, 0xff, 0, 0,                               /* UPIH, padding */
        0, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,          /* Scan Header */
        1, 2, 2, 0, 0xfe, 7, 0, 1,
        0, 0, 1, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0xe0, 0xfc, 0xa1, 0x20,
        0, 0, 0, 0,
    };
    Wire *w = wire_new(false);
    Answer a = { 0 };
    UbScanWay way = { .hops = 1 };
    UbScanAsk ask_ = { .cmd = UB_SCAN_NA_QUERY, .opcode = UB_SCAN_OP_PRIMARY,
                       .guid = fabric_guid(1) };
    CorePacket *pkt;

    g_assert_true(ub_mgmt_scan(w->f.node[0].m, 0, &way, &ask_, fabric_answer,
                               &a));
    pkt = g_queue_peek_head(&w->under_way[1]);
    g_assert_cmpmem(core_packet_data(pkt), pkt->len - UB_ICRC_SIZE, want,
                    sizeof(want));
    pump(w);
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmphex(a.status, ==, 0);
    g_assert_cmphex(get_be32(a.data + 24), ==, 0x11);
    wire_free(w);
}

/* Headers that break a rule. */
static void broken(void)
{
    static const struct {
        unsigned at, value, len;
        bool good;
        unsigned cfg, nlp;
    } rows[] = {
        { 1, 0x80, 36, true },          /* the reserved bit of UPIH */
        { 0, 2, 36, true, UB_LPH_CNA24 },
        { 0, 2, 36, false, UB_LPH_CNA24, UB_NLP_RTPH },
        { 0, 2, 36, false, UB_LPH_CNA16, UB_NLP_RTPH },
        { 0, 2, 36, false, UB_LPH_IPV4 }, { 0, 2, 36, false, UB_LPH_IPV6 },
        { 0, 2, 36, true }, { 0, 0x82, 36, false }, { 0, 3, 36, false },
        { 0, 1, 36, false }, { 8, 0x11, 36, false }, { 9, 0x18, 36, false },
        { 9, 0x11, 36, false }, { 9, 0x36, 36, true }, { 0, 2, 15, false },
        { 0, 2, 0, false }, { 0, 0x32, 18, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Wire *w = wire_new(false);
        UbMgmtAddr a = { .upi = 5, .deid = 0x21 };
        UbFlow f;
        CorePacket *pkt = core_packet_alloc(w->pool, 36);
        uint8_t *p = core_packet_data(pkt);

        ub_flow_init(&f, rows[i].cfg ? rows[i].cfg : UB_LPH_CNA16);
        f.nlp = rows[i].nlp;
        f.scna = 0x10;
        f.dcna = 0x11;
        f.port = 0;
        memset(p, 0, 36);
        ub_mgmt_head_put(p, UB_MGMT_KIND_MESSAGE, &a);
        put_be32(p + 16, 0x04000010);
        p[rows[i].at] = rows[i].value;
        core_packet_trim(pkt, 36 - rows[i].len);
        ub_mgmt_net_rx_message(w->f.node[1].m, 0, pkt, &f);
        g_assert_cmpuint(ub_mgmt_counter(w->f.node[1].m,
                                         UB_MGMT_CNT_DROP_HEADER), ==,
                         !rows[i].good);
        g_assert_cmpuint(g_queue_get_length(&w->under_way[0]), ==,
                         rows[i].good);
        if (rows[i].good) {
            /* An answer, in the partition of the request. */
            pkt = g_queue_peek_head(&w->under_way[0]);
            p = core_packet_data(pkt) + UB_NTH16_SIZE;
            g_assert_cmphex(get_be16(p + 1), ==, 5);
            g_assert_cmphex(get_be32(p + 16) >> 16, ==, 0x0500);
        }
        wire_free(w);
    }
    Wire *w = wire_new(false);
    UbFlow f;
    CorePacket *pkt = core_packet_alloc(w->pool, 3);

    ub_flow_init(&f, UB_LPH_CNA16);
    ub_mgmt_net_rx_scan(w->f.node[1].m, 0, pkt, &f);
    g_assert_cmpuint(ub_mgmt_counter(w->f.node[1].m, UB_MGMT_CNT_DROP_HEADER),
                     ==, 1);
    wire_free(w);
}

/* A node that nobody has given an EID hears the UBFM, which may have none
 * either. */
static void unnamed(gconstpointer floors)
{
    Wire *w = wire_new(floors);
    Answer a = { 0 };
    UbMgmtAddr to = { .dcna = 0x11, .mgmt = true };

    for (unsigned i = 0; i < 2; i++) {
        ub_slice_set(w->f.node[i].cfg0, UB_CFG0_EID, ~0u, 0);
        if (w->floors[i]) {
            ub_sec_set_entity(ub_node_sec(w->floors[i]), 0, NULL, 0);
        }
    }
    g_assert_true(ub_mgmt_write(w->f.node[0].m, 0, &to, 0, UB_CFG0_EID, 0x77,
                                0xf, fabric_answer, &a));
    pump(w);
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmphex(a.status, ==, 0);
    g_assert_cmphex(ub_slice_get(w->f.node[1].cfg0, UB_CFG0_EID), ==, 0x77);
    wire_free(w);
}

/* A port that takes nothing, and one that is down. */
static void no_way(void)
{
    Wire *w = wire_new(false);
    Answer a = { 0 };
    CorePacketPool *small = core_packet_pool_new(UB_PACKET_HEADROOM, 1);
    CorePacket *only = core_packet_alloc(small, 1);
    UbMgmtAddr to = { .scna = 0x10, .dcna = 0x11, .upi = 5 };
    uint8_t data[4] = { 0 };
    unsigned sent = 0;

    g_assert_false(ub_mgmt_net_message(w->net[0], small, 0, &to, data, 4));
    core_packet_free(only);
    g_assert_true(ub_mgmt_net_message(w->net[0], small, 0, &to, data, 4));
    pump(w);
    core_packet_pool_free(small);
    w->full = true;
    while (ub_mgmt_net_message(w->net[0], w->pool, 0, &to, data, 4)) {
        g_assert_cmpuint(sent++, <, 1000000);
    }
    g_assert_cmpuint(sent, >, 0);
    g_assert_true(ub_mgmt_read(w->f.node[0].m, 0, &fm_to_1, 0, 0xe,
                               fabric_answer, &a));
    g_assert_cmpuint(ub_mgmt_counter(w->f.node[0].m, UB_MGMT_CNT_DROP_UNSENT),
                     ==, 1);
    ub_net_port_state(w->net[0], 0, 0, 0);
    g_assert_false(ub_mgmt_net_scan(w->net[0], w->pool, 0, 0, &to, data, 4));
    wire_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/ub/mgmt/net/message", NULL, message);
    g_test_add_data_func("/ub/mgmt/net/answered", NULL, answered);
    g_test_add_data_func("/ub/mgmt/net/padding", NULL, padding);
    g_test_add_data_func("/ub/mgmt/net/unnamed", NULL, unnamed);
    g_test_add_data_func("/ub/mgmt/ta/message", "", message);
    g_test_add_data_func("/ub/mgmt/ta/answered", "", answered);
    g_test_add_data_func("/ub/mgmt/ta/padding", "", padding);
    g_test_add_data_func("/ub/mgmt/ta/unnamed", "", unnamed);
    g_test_add_func("/ub/mgmt/net/scan", scan);
    g_test_add_func("/ub/mgmt/net/broken", broken);
    g_test_add_func("/ub/mgmt/net/no-way", no_way);
    return g_test_run();
}
