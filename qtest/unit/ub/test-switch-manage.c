/*
 * A switch in the hands of management: registers, scans, configuration messages, and
 * messages that break a rule.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-bed.h"

/* ---- Tests --------------------------------------------------------------------------- */

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
    uint8_t pdu[36] = { 0 };

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
    /* It is no bus controller, and has no bus instances. */
    put_be32(pdu, 0x101);
    put_be32(pdu + 12, 0xcc080001);
    put_be32(pdu + 16, 0x30001);
    put_be16(pdu + 34, 5);
    answer_status = -1;
    g_assert_cmpint(asked(ub_mgmt_request(fm, now, &to, UB_MGMT_MSG_BI_CREATE, pdu,
                                          36, fm_done, NULL)), ==,
                    UB_MGMT_BAD_CODE);
    g_assert_null(ub_mgmt_bus_instance(ub_switch_mgmt(sw), 0));
    answer_status = -1;
    g_assert_cmpint(asked(ub_mgmt_request(fm, now, &to, UB_MGMT_MSG_BI_DESTROY,
                                          pdu, 16, fm_done, NULL)), ==,
                    UB_MGMT_BAD_CODE);
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

/* ---- Errors ---------------------------------------------------------------- */

static struct { unsigned n, severity, port; bool device; } errors_told;

static bool on_error(void *opaque, int queue, UbMgmtKind kind,
                     const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    if (kind == UB_MGMT_KIND_MESSAGE && !(data[0] & 0xf)) {
        g_assert_cmpuint(len, ==, UB_MGMT_ETAH + 8);
        g_assert_cmphex(a->scna, ==, 0x77);
        errors_told.n++;
        errors_told.severity = data[0] >> 4;
        errors_told.device = ub_mgmt_get(data + UB_MGMT_ETAH, UB_MF_ERROR_EL);
        errors_told.port = ub_mgmt_get(data + UB_MGMT_ETAH, UB_MF_ERROR_PORT);
    }
    return true;
}

static void error_write(unsigned reg, uint32_t value)
{
    ub_space_write(ub_switch_space(sw), now,
                   UB_CFG_PORT_CAP(1, UB_CAP_PORT_ERR) + reg, value, 0xf);
}

/* Host 1 sends a packet that is too short, which is C.24; what was told then. */
static unsigned told_of_short(void)
{
    CorePacket *pkt = packet(&hosts[1], 5, 0);

    memset(&errors_told, 0, sizeof(errors_told));
    ub_meta(pkt)->lph_cfg = UB_LPH_CNA16;
    g_assert_cmpint(ub_port_send(hosts[1].port, now, pkt), ==, UB_PORT_SENT);
    run(SECOND / 100);
    g_assert_false(errors_told.device);
    g_assert_cmpuint(errors_told.port, ==, errors_told.n ? 1 : 0);
    return errors_told.n;
}

/* The UBFM hears of an error once until it clears it, as masks and severities say. */
static void test_errors(void)
{
    static const UbMgmtOps ops = { .message = fm_message, .scan = fm_scan,
                                   .port_up = fm_up, .deliver = on_error };
    UbMgmtConfig conf;

    setup(3, 2);
    fm_init();
    ub_mgmt_free(fm);
    ub_mgmt_config_init(&conf);
    conf.emq_depth = 0;
    fm = ub_mgmt_new(&conf, hosts[0].space, &ops, NULL);
    ub_space_write(ub_switch_space(sw), now, UB_CFG0_PRIMARY_CNA, 0x77, 0xf);
    error_write(UB_PORT_ERR_CE_SEVERITY, ~0u);
    run(SECOND / 100);
    /* Nobody said who the UBFM is. */
    g_assert_cmpuint(told_of_short(), ==, 0);
    error_write(UB_PORT_ERR_CE_STATUS, ~0u);
    ub_space_write(ub_switch_space(sw), now, UB_CFG0_UBFM_CNA, 1, 0xf);
    g_assert_cmpuint(told_of_short(), ==, 1);
    g_assert_cmpuint(errors_told.severity, ==, UB_MGMT_CE);
    g_assert_cmpuint(told_of_short(), ==, 0);
    error_write(UB_PORT_ERR_CE_STATUS, ~0u);
    g_assert_cmpuint(told_of_short(), ==, 1);
    error_write(UB_PORT_ERR_CE_STATUS, ~0u);
    error_write(UB_PORT_ERR_CE_MASK, ~0u);
    g_assert_cmpuint(told_of_short(), ==, 0);
    error_write(UB_PORT_ERR_CE_SEVERITY, 0);
    g_assert_cmpuint(told_of_short(), ==, 1);
    g_assert_cmpuint(errors_told.severity, ==, UB_MGMT_NFUE);
    error_write(UB_PORT_ERR_UCE_STATUS, ~0u);
    error_write(UB_PORT_ERR_UCE_SEVERITY, ~0u);
    g_assert_cmpuint(told_of_short(), ==, 1);
    g_assert_cmpuint(errors_told.severity, ==, UB_MGMT_FUE);
    ub_mgmt_free(fm);
    teardown();
}

/* ---- Hot-plug slots --------------------------------------------------------- */

static unsigned told[2];    /* hot-plug messages: button, presence */

static bool on_deliver(void *opaque, int queue, UbMgmtKind kind,
                       const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    unsigned sub = data[0] >> 4;

    if (kind == UB_MGMT_KIND_MESSAGE && (data[0] & 0xf) == 2 && sub >= 2) {
        g_assert_cmpuint(len, ==, UB_MGMT_ETAH + 8);
        g_assert_cmphex(get_be32(data + UB_MGMT_ETAH), ==, 0);
        g_assert_cmphex(a->scna, ==, 0x77);
        told[sub - 2]++;
    }
    return true;
}

static uint32_t slot_reg(unsigned reg)
{
    return UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP) + UB_SHP_REG(0, reg);
}

static void slot_write(unsigned reg, uint32_t value)
{
    UbMgmtAddr to = { .scna = 1, .dcna = 0x77, .upi = 0x7fff, .mgmt = true };

    answer_status = -1;
    g_assert_cmpint(asked(ub_mgmt_write(fm, now, &to, 0, slot_reg(reg), value, 0xf,
                                        fm_done, NULL)), ==, 0);
}

static uint32_t slot_read(unsigned reg)
{
    UbMgmtAddr to = { .scna = 1, .dcna = 0x77, .upi = 0x7fff, .mgmt = true };

    answer_status = -1;
    g_assert_cmpint(asked(ub_mgmt_read(fm, now, &to, 0, slot_reg(reg), fm_done,
                                       NULL)), ==, 0);
    return get_be32(answer);
}

/* A node in a slot comes and goes, by messages over its switch's other port. */
static void test_slots(void)
{
    static const UbMgmtOps ops = { .message = fm_message, .scan = fm_scan,
                                   .port_up = fm_up, .deliver = on_deliver };
    UbSwitchConfig conf;
    UbMgmtConfig mgmt;

    ub_switch_config_init(&conf);
    g_assert_true(ub_shp_config_add(&conf.shp, "1+"));
    setup_with(&conf, 3, 3);
    fm_init();
    ub_mgmt_free(fm);
    ub_mgmt_config_init(&mgmt);
    mgmt.emq_depth = 0;
    fm = ub_mgmt_new(&mgmt, hosts[0].space, &ops, NULL);
    memset(told, 0, sizeof(told));
    ub_space_write(ub_switch_space(sw), now, UB_CFG0_PRIMARY_CNA, 0x77, 0xf);
    ub_space_write(ub_switch_space(sw), now, UB_CFG0_UBFM_CNA, 1, 0xf);
    run(SECOND / 100);
    g_assert_cmphex(slot_read(UB_SHP_PORTS), ==, 0x00010001);
    g_assert_nonnull(ub_shp_press(ub_switch_shp(sw), now, 0));
    slot_write(UB_SHP_PD_CTRL, 1);
    g_assert_cmphex(slot_read(UB_SHP_PD_ST), ==, 1);
    slot_write(UB_SHP_PDS_CTRL, 1);
    slot_write(UB_SHP_PP_CTRL, 1);
    slot_write(UB_SHP_MS_CTRL, 1);
    g_assert_null(ub_shp_press(ub_switch_shp(sw), now, 0));
    run(SECOND / 100);
    g_assert_cmpuint(told[0], ==, 1);
    g_assert_cmpuint(told[1], ==, 0);
    g_assert_cmphex(slot_read(UB_SHP_PP_ST), ==, 1);
    slot_write(UB_SHP_PP_ST, 1);
    g_assert_cmphex(slot_read(UB_SHP_PP_ST), ==, 0);
    /* Without power its link ends, and others go on. */
    slot_write(UB_SHP_PW_CTRL, 0);
    run(SECOND);
    g_assert_false(ub_port_dll_up(hosts[1].port));
    g_assert_true(ub_port_dll_up(hosts[2].port));
    g_assert_cmpuint(told[1], ==, 1);
    g_assert_cmphex(slot_read(UB_SHP_PD_ST), ==, 0);
    g_assert_cmphex(slot_read(UB_SHP_PDSC_ST), ==, 1);
    slot_write(UB_SHP_PDSC_ST, 1);
    /* Nor does it begin again by a command, or a new wire. */
    ub_switch_enable(sw, now, 1, true);
    plug(&hosts[1], false);
    run(SECOND);
    plug(&hosts[1], true);
    run(SECOND);
    g_assert_false(ub_port_dll_up(hosts[1].port));
    slot_write(UB_SHP_PW_CTRL, 1);
    run(2 * SECOND);
    g_assert_true(ub_port_dll_up(hosts[1].port));
    g_assert_cmpuint(told[1], ==, 2);
    /* A wire that is away for a short while, and one that stays away. */
    slot_write(UB_SHP_PDSC_ST, 1);
    plug(&hosts[1], false);
    run(SECOND / 2);
    plug(&hosts[1], true);
    run(2 * SECOND);
    g_assert_true(ub_port_dll_up(hosts[1].port));
    g_assert_cmpuint(told[1], ==, 2);
    plug(&hosts[1], false);
    run(2 * SECOND);
    g_assert_cmpuint(told[1], ==, 3);
    g_assert_cmphex(slot_read(UB_SHP_PD_ST), ==, 0);
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
    g_test_add_func("/ub/switch/registers", test_registers);
    g_test_add_func("/ub/switch/management", test_management);
    g_test_add_func("/ub/switch/errors", test_errors);
    g_test_add_func("/ub/switch/slots", test_slots);
    g_test_add_func("/ub/switch/config", test_config);
    g_test_add_func("/ub/switch/hostile", test_hostile);
    return g_test_run();
}
