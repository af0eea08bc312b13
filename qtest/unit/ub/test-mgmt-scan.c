/*
 * Scans (UB 2.0 §10.4.3.2): through switches, in slices, refused and lost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mgmt-fabric.h"

/* The way from 0 to 3, and to those before. */
static UbScanWay way_to(unsigned node)
{
    static const uint16_t forward[] = { 0, 2, 4 }, back[] = { 1, 3, 0 };
    UbScanWay w = { .hops = node };

    for (unsigned i = 0; i < node; i++) {
        w.forward[i] = forward[i];
        /* The first hop back is the destination's own port. */
        w.back[i] = back[node - 1 - i];
    }
    return w;
}

static UbScanAsk topology(unsigned node)
{
    return (UbScanAsk) { .cmd = UB_SCAN_TOPOLOGY, .guid = fabric_guid(node),
                         .opcode = UB_SCAN_OP_TOPOLOGY };
}

static unsigned scan(Fabric *f, unsigned node, UbScanAsk ask_, Answer *a)
{
    UbScanWay w = way_to(node);

    memset(a, 0, sizeof(*a));
    g_assert_true(ub_mgmt_scan(f->node[0].m, f->now, &w, &ask_, fabric_answer,
                               a));
    fabric_pump(f);
    return a->status;
}

/* Every node, by its own ports' numbers. */
static void scan_line(void)
{
    static const unsigned ports[] = { 1, 5, 5, 2 };
    Fabric f;
    Answer a;

    line(&f);
    for (unsigned node = 0; node < 4; node++) {
        g_assert_cmphex(scan(&f, node, topology(node), &a), ==, UB_MGMT_OK);
        g_assert_cmpuint(a.calls, ==, 1);
        g_assert_cmpuint(a.len, ==, 24 + 4 + 8 + 8 + 28 * ports[node]);
        /* Version, CMD, opcode 0, status; MSGQ_ID, length in words, MSN. */
        g_assert_cmphex(get_be32(a.data), ==, 0x01000000);
        g_assert_cmphex(get_be32(a.data + 4) >> 16, ==,
                        0xfe00 | a.len / 4);
        g_assert_true(ub_id_same(ub_id_get(a.data + 8), fabric_guid(node)));
        g_assert_cmphex(get_be32(a.data + 24), ==, 0x00040100);
        g_assert_cmphex(get_be32(a.data + 28), ==, 0x01080000 | ports[node]);
        g_assert_cmphex(get_be32(a.data + 32), ==, ports[node] << 16);
        g_assert_cmphex(get_be32(a.data + 36), ==, 0x04082100);
        g_assert_cmphex(get_be32(a.data + 44) >> 16, ==, 0x021c);
    }
    g_assert_cmpuint(ub_mgmt_counter(f.node[1].m,
                                     UB_MGMT_CNT_SCANS_FORWARDED), ==, 4);
    g_assert_cmpuint(ub_mgmt_counter(f.node[2].m, UB_MGMT_CNT_SCANS), ==, 1);
    /* The neighbour of port 3 of the last switch. */
    g_assert_cmphex(scan(&f, 2, topology(2), &a), ==, UB_MGMT_OK);
    g_assert_cmphex(get_be32(a.data + 44 + 3 * 28), ==, 0x021c0100);
    g_assert_cmphex(get_be32(a.data + 48 + 3 * 28), ==, 0x00030002);
    g_assert_true(ub_id_same(ub_id_get(a.data + 56 + 3 * 28),
                             fabric_guid(1)));
    fabric_free(&f);
}

/* The bytes of a scan on its way. */
static void scan_bytes(void)
{
    static const uint8_t want[] = {
        0x00, 0x10, 0x02, 0x00, 0, 0, 0, 0x20, 0, 0, 0, 0x13,
        0x01, 0x00, 0x01, 0x00, 0xfe, 0x06, 0x00, 0x01,
        0, 0, 0x01, 0x02, 0, 0, 0, 0, 2, 0, 0, 0, 0xe0, 0xfc, 0xa1, 0x20,
    };
    Fabric f;
    Answer a = { 0 };
    UbScanWay w = way_to(2);
    UbScanAsk q = topology(2);
    Flight *fl;

    line(&f);
    g_assert_true(ub_mgmt_scan(f.node[0].m, f.now, &w, &q, fabric_answer, &a));
    fl = g_queue_peek_head(&f.under_way);
    g_assert_cmpmem(fl->data, fl->len, want, sizeof(want));
    g_assert_cmphex(fl->addr.upi, ==, UB_MGMT_UPI);
    g_assert_true(fl->addr.mgmt);
    fabric_land(&f, g_queue_pop_head(&f.under_way));
    fl = g_queue_peek_head(&f.under_way);
    g_assert_cmphex(get_be32(fl->data), ==, 0x00100201);
    g_assert_cmpmem(fl->data + 4, fl->len - 4, want + 4, sizeof(want) - 4);
    fabric_land(&f, g_queue_pop_head(&f.under_way));
    /* The answer: the Return Path is its way now, and it has no other. */
    fl = g_queue_peek_head(&f.under_way);
    g_assert_cmphex(get_be32(fl->data), ==, 0x00000200);
    g_assert_cmphex(get_be32(fl->data + 4), ==, 0x13);
    g_assert_cmphex(get_be32(fl->data + 8), ==, 0x01000000);
    g_assert_cmphex(get_be16(fl->data + 14), ==, 1);
    g_assert_false(fl->addr.mgmt);
    fabric_pump(&f);
    g_assert_cmpuint(a.calls, ==, 1);
    fabric_free(&f);
}

/* Ports of more bits take more room in the paths. */
static void scan_types(void)
{
    static const struct {
        unsigned port, type, path;
    } rows[] = { { 15, 0, 4 }, { 16, 1, 4 }, { 255, 1, 4 }, { 256, 2, 8 } };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Fabric f;
        Answer a = { 0 };
        UbScanWay w = way_to(3);
        UbScanAsk q = topology(3);
        Flight *fl;

        line(&f);
        w.back[1] = rows[i].port;
        g_assert_true(ub_mgmt_scan(f.node[0].m, f.now, &w, &q, fabric_answer,
                                   &a));
        fl = g_queue_peek_head(&f.under_way);
        g_assert_cmpuint(ub_mgmt_get(fl->data, UB_MF_SCAN_TYPE), ==,
                         rows[i].type);
        g_assert_cmpuint(fl->len, ==, 4 + 2 * rows[i].path + 24);
        /* The way back leads nowhere. */
        fabric_pump(&f);
        g_assert_cmpuint(a.calls, ==, 0);
        g_assert_cmpuint(ub_mgmt_counter(f.node[2].m, UB_MGMT_CNT_DROP_PORT),
                         ==, 1);
        fabric_free(&f);
    }
}

static void scan_slices(void)
{
    UbMgmtConfig cfg;
    Fabric f;
    Answer a;
    Node *n;
    static const unsigned ports[] = { 2, 2, 1 };

    line(&f);
    ub_mgmt_config_init(&cfg);
    cfg.ports = 5;
    cfg.slice_ports = 2;
    n = fabric_add(&f, &cfg);
    f.node[0].link[0].node = n->index;
    for (unsigned slice = 0, port = 0; slice < 3; slice++) {
        UbScanAsk q = topology(n->index);
        unsigned cap = slice ? 0 : 8;

        fabric_link(&f, 0, 0, n->index, 1);
        q.slice = slice;
        g_assert_cmphex(scan(&f, 1, q, &a), ==, UB_MGMT_OK);
        g_assert_cmpuint(a.len, ==, 24 + 12 + cap + 28 * ports[slice]);
        g_assert_cmphex(get_be32(a.data + 24), ==, 0x00040300 | slice);
        g_assert_cmphex(get_be32(a.data + 28), ==, 0x01080005);
        g_assert_cmphex(get_be32(a.data + 32), ==, ports[slice] << 16);
        for (unsigned i = 0; i < ports[slice]; i++, port++) {
            g_assert_cmpuint(get_be16(a.data + 36 + cap + 28 * i + 4), ==,
                             port);
        }
    }
    for (unsigned slice = 3; slice < 256; slice += 84) {
        UbScanAsk q = topology(n->index);

        q.slice = slice;
        g_assert_cmphex(scan(&f, 1, q, &a), ==, UB_MGMT_BAD_PARAMETER);
        g_assert_cmpuint(a.len, ==, 24);
    }
    fabric_free(&f);
}

/* The longest way leaves room for a whole slice. */
static void scan_far(void)
{
    UbMgmtConfig cfg;
    Fabric f;
    UbMgmtAddr a = { .upi = UB_MGMT_UPI, .mgmt = true };
    uint8_t data[UB_SCAN_MAX] = { 0 };
    unsigned path = ub_scan_path_bytes(2, 248);
    Node *n;
    Flight *fl;

    memset(&f, 0, sizeof(f));
    ub_mgmt_config_init(&cfg);
    cfg.ports = 8;
    n = fabric_add(&f, &cfg);
    n->link[0].node = 0;
    ub_mgmt_put(data, UB_MF_SCAN_R, 1);
    ub_mgmt_put(data, UB_MF_SCAN_TYPE, 2);
    ub_mgmt_put(data, UB_MF_SCAN_HOPS, 248);
    ub_mgmt_put(data, UB_MF_SCAN_STEP, 247);
    ub_mgmt_put(data + 4 + 2 * path, UB_MF_PDU_VERSION, 1);
    ub_mgmt_put(data + 4 + 2 * path, UB_MF_PDU_OPCODE, 1);
    ub_mgmt_put(data + 4 + 2 * path, UB_MF_PDU_LENGTH, 6);
    ub_mgmt_put_id(data + 4 + 2 * path, UB_MF_PDU_GUID, fabric_guid(0));
    ub_mgmt_receive_scan(n->m, 0, &a, data, 4 + 2 * path + 24);
    fl = g_queue_peek_head(&f.under_way);
    g_assert_cmpuint(fl->len, ==, 4 + path + 24 + 20 + 8 * 28);
    g_assert_cmpuint(4 + 512 + 24 + 20 + UB_MGMT_SLICE_PORTS * 28, <=,
                     UB_SCAN_MAX);
    fabric_free(&f);
}

static void scan_addresses(void)
{
    Fabric f;
    Answer a;
    UbScanAsk q = { .guid = fabric_guid(3), .cna = 0xabcdef, .port = 1 };
    static const struct {
        unsigned node, cmd, opcode, port, status;
    } rows[] = {
        { 3, 1, 2, 9, 0 }, { 3, 1, 3, 1, 0 }, { 3, 1, 3, 2, 0x26 },
        { 3, 1, 4, 9, 0 }, { 3, 1, 1, 0, 3 }, { 3, 1, 5, 0, 3 },
        { 3, 2, 2, 9, 0 }, { 3, 2, 3, 1, 0 }, { 3, 2, 3, 2, 0x26 },
        { 3, 2, 4, 0, 3 }, { 3, 2, 1, 0, 3 }, { 3, 0, 2, 0, 3 },
        /* A switch has no Port CNAs. */
        { 1, 1, 2, 0, 0 }, { 1, 1, 3, 0, 0x26 }, { 1, 1, 4, 0, 0 },
        { 1, 2, 3, 0, 0x26 },
    };

    line(&f);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        q.cmd = rows[i].cmd;
        q.opcode = rows[i].opcode;
        q.port = rows[i].port;
        q.guid = fabric_guid(rows[i].node);
        g_assert_cmphex(scan(&f, rows[i].node, q, &a), ==, rows[i].status);
        g_assert_cmpuint(a.len, ==, rows[i].status || q.cmd != 2 ? 24 : 28);
    }
    /* Primary alone, a port alone, all of them. */
    q = (UbScanAsk) { .guid = fabric_guid(3), .cmd = UB_SCAN_NA_CONFIG,
                      .opcode = UB_SCAN_OP_ALL, .cna = 0x111111 };
    scan(&f, 3, q, &a);
    g_assert_cmphex(ub_slice_get(f.node[3].cfg0, UB_CFG0_PRIMARY_CNA), ==,
                    0x111111);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmphex(ub_slice_get(f.node[3].port[i], UB_PORT_CNA), ==,
                        0x111111);
    }
    q.opcode = UB_SCAN_OP_PRIMARY;
    q.cna = 0x222222;
    scan(&f, 3, q, &a);
    q.opcode = UB_SCAN_OP_PORT;
    q.port = 1;
    q.cna = 0x333333;
    scan(&f, 3, q, &a);
    g_assert_cmphex(ub_slice_get(f.node[3].cfg0, UB_CFG0_PRIMARY_CNA), ==,
                    0x222222);
    g_assert_cmphex(ub_slice_get(f.node[3].port[0], UB_PORT_CNA), ==, 0x111111);
    g_assert_cmphex(ub_slice_get(f.node[3].port[1], UB_PORT_CNA), ==, 0x333333);
    q.cmd = UB_SCAN_NA_QUERY;
    g_assert_cmphex(scan(&f, 3, q, &a), ==, 0);
    g_assert_cmphex(get_be32(a.data + 24), ==, 0x333333);
    q.opcode = UB_SCAN_OP_PRIMARY;
    scan(&f, 3, q, &a);
    g_assert_cmphex(get_be32(a.data + 24), ==, 0x222222);
    fabric_free(&f);
}

/* Requests that a node refuses, on its way and at its end. */
static void scan_errors(void)
{
    Fabric f;
    Answer a;
    UbScanAsk q = topology(3);
    UbScanWay w;
    static const struct {
        unsigned at, value, status;
    } rows[] = {
        { 16 - 4, 2, 3 },       /* Version */
        { 17 - 4, 3, 3 },       /* CMD */
        { 17 - 4, 255, 3 },
        { 17 - 4, 1, 4 },       /* its PDU is longer */
        { 18 - 4, 0, 3 },       /* opcode */
        { 21 - 4, 5, 4 },       /* Length */
        { 21 - 4, 7, 4 },
        { 39 - 4, 1, 2 },       /* GUID */
    };

    line(&f);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Flight *fl;

        w = way_to(3);
        memset(&a, 0, sizeof(a));
        g_assert_true(ub_mgmt_scan(f.node[0].m, f.now, &w, &q, fabric_answer,
                                   &a));
        fl = g_queue_peek_head(&f.under_way);
        fl->data[rows[i].at] = rows[i].value;
        fabric_pump(&f);
        g_assert_cmpuint(a.calls, ==, 1);
        g_assert_cmphex(a.status, ==, rows[i].status);
        g_assert_cmpuint(a.len, ==, 24);
        g_assert_true(ub_id_same(ub_id_get(a.data + 8), fabric_guid(3)));
    }
    /* A GUID of zeroes is good for our own node only. */
    q.guid = (UbId) { 0 };
    g_assert_cmphex(scan(&f, 3, q, &a), ==, 2);
    g_assert_cmphex(scan(&f, 0, q, &a), ==, 0);
    q.guid.w[2] = 1;
    g_assert_cmphex(scan(&f, 0, q, &a), ==, 2);
    q.cmd = 3;
    g_assert_false(ub_mgmt_scan(f.node[0].m, f.now, &w, &q, fabric_answer, &a));
    /* Too far. */
    q = topology(3);
    w.hops = 255;
    w.forward[9] = 0x100;
    g_assert_false(ub_mgmt_scan(f.node[0].m, f.now, &w, &q, fabric_answer, &a));
    fabric_free(&f);
}

/* What is dropped, and on whose account. */
static void scan_drops(void)
{
    static const struct {
        UbMgmtCounter counter;
        unsigned node;
    } rows[] = {
        { UB_MGMT_CNT_DROP_SCAN, 1 },   { UB_MGMT_CNT_DROP_UPI, 1 },
        { UB_MGMT_CNT_DROP_UPI, 1 },    { UB_MGMT_CNT_DROP_ASTRAY, 1 },
        { UB_MGMT_CNT_DROP_PORT, 1 },   { UB_MGMT_CNT_DROP_PORT, 1 },
        { UB_MGMT_CNT_DROP_NO_FORWARD, 3 }, { UB_MGMT_CNT_DROP_UNSENT, 1 },
        { UB_MGMT_CNT_DROP_SCAN, 1 },   { UB_MGMT_CNT_DROP_PORT, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Fabric f;
        Answer a = { 0 };
        UbScanWay w = way_to(i == 2 ? 1 : 3);
        UbScanAsk q = topology(i == 2 ? 1 : 3);
        Flight *fl;

        line(&f);
        if (i == 6) {
            w.hops = 4;
        }
        f.node[0].link[0].down = i == 9;
        g_assert_true(ub_mgmt_scan(f.node[0].m, f.now, &w, &q, fabric_answer,
                                   &a));
        fl = g_queue_peek_head(&f.under_way);
        switch (i) {
        case 0:
            fl->len = 27;
            break;
        case 1:
            fl->addr.upi = 5;
            break;
        case 2:
            fl->addr.mgmt = false;
            break;
        case 3:
            fl->data[3] = 3;
            break;
        case 4:
            f.node[1].link[2].down = true;
            break;
        case 5:
            ub_scan_set_hop(fl->data + 4, 0, 1, 6);
            break;
        case 7:
            f.jammed = true;
            break;
        case 8:
            fl->data[1] |= 3;
            break;
        }
        fabric_pump(&f);
        g_assert_cmpuint(a.calls, ==, 0);
        g_assert_cmpuint(ub_mgmt_counter(f.node[rows[i].node].m,
                                         rows[i].counter), ==, 1);
        /* The asker gives up after three tries. */
        f.jammed = true;
        for (unsigned t = 0; t < 3; t++) {
            g_assert_cmpuint(a.calls, ==, 0);
            fabric_run(&f, SECOND);
        }
        g_assert_cmpuint(a.calls, ==, 1);
        g_assert_true(a.in_vain);
        g_assert_cmpuint(ub_mgmt_counter(f.node[0].m, UB_MGMT_CNT_RETRIES), ==,
                         2);
        g_assert_cmpuint(ub_mgmt_counter(f.node[0].m, UB_MGMT_CNT_TIMEOUTS),
                         ==, 1);
        fabric_free(&f);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/mgmt/scan/line", scan_line);
    g_test_add_func("/ub/mgmt/scan/bytes", scan_bytes);
    g_test_add_func("/ub/mgmt/scan/types", scan_types);
    g_test_add_func("/ub/mgmt/scan/slices", scan_slices);
    g_test_add_func("/ub/mgmt/scan/far", scan_far);
    g_test_add_func("/ub/mgmt/scan/addresses", scan_addresses);
    g_test_add_func("/ub/mgmt/scan/errors", scan_errors);
    g_test_add_func("/ub/mgmt/scan/drops", scan_drops);
    return g_test_run();
}
