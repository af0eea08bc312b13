/*
 * librclink over ports in virtual time: a port, its QPs, rates and registers
 * (tools/rclink/librclink.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lib.h"

/* ---- open, close ---- */

static void test_open(void)
{
    struct rclink *rc[3];

    cdev_new(2, NULL);
    /* The first that can be had. */
    g_assert_cmpint(rclink_open(NULL, &rc[0]), ==, 0);
    g_assert_cmpint(rclink_open("/dev/rclink-0", &rc[2]), ==, -EBUSY);
    g_assert_null(rc[2]);
    g_assert_cmpint(rclink_open(NULL, &rc[1]), ==, 0);
    g_assert_cmpint(rclink_fd(rc[1]), ==, rclink_fd(rc[0]) + 1);
    g_assert_cmpint(rclink_open(NULL, &rc[2]), ==, -EBUSY);
    g_assert_null(rc[2]);
    g_assert_cmpint(rclink_open("/dev/rclink-9", &rc[2]), ==, -ENOENT);
    g_assert_cmpuint(cdev_mappings(), ==, 10);
    rclink_close(rc[0]);
    g_assert_cmpuint(cdev_files(), ==, 1);
    g_assert_cmpuint(cdev_mappings(), ==, 5);
    g_assert_cmpint(rclink_open("/dev/rclink-0", &rc[0]), ==, 0);
    rclink_close(rc[0]);
    rclink_close(rc[1]);
    rclink_close(NULL);
    cdev_free();

    cdev_new(0, NULL);
    g_assert_cmpint(rclink_open(NULL, &rc[0]), ==, -ENOENT);
    cdev_free();
}

static void test_open_fails(void)
{
    struct rclink *rc;

    cdev_new(1, NULL);
    for (unsigned n = 0; n <= RCLINK_PIECES; n++) {
        cdev_faults.mmap_at = RCLINK_MAP(n);
        g_assert_cmpint(rclink_open(NULL, &rc), ==, -ENOMEM);
        g_assert_null(rc);
        g_assert_cmpuint(cdev_files(), ==, 0);
        g_assert_cmpuint(cdev_mappings(), ==, 0);
    }
    cdev_faults.mmap_at = -1;
    cdev_faults.gone = true;
    g_assert_cmpint(rclink_open(NULL, &rc), ==, -EIO);
    g_assert_null(rc);
    g_assert_cmpuint(cdev_files(), ==, 0);
    cdev_free();
}

static void test_limits(void)
{
    RclinkConfig cfg;
    struct rclink *rc;

    rclink_config_init(&cfg);
    cfg.qps = 64;
    cfg.ost1 = 100;
    cfg.payload = 2048;
    cdev_new(1, &cfg);
    g_assert_cmpint(rclink_open(NULL, &rc), ==, 0);
    g_assert_cmpuint(rclink_qps(rc), ==, 64);
    g_assert_cmpuint(rclink_packets(rc), ==, 100);
    g_assert_cmpuint(rclink_bytes(rc), ==, 2048);
    rclink_close(rc);
    cdev_free();
}

/* ---- the port ---- */

static void test_port(void)
{
    static const uint64_t format[] = {
        1u << RCL_CFG_STANDARD, 1u << RCL_CFG_GEN1 | 1u << RCL_CFG_GEN1_TC,
        1u << RCL_CFG_GEN2, 1u << RCL_CFG_LITE,
    };
    uint64_t formats = format[0] | format[1] | format[2] | format[3];
    Pair p = pair_open();
    struct rclink_port port;

    rclink_port_init(p.rc[1], &port);
    g_assert_cmphex(port.mac, ==, 0x02000000000b);
    g_assert_cmphex(port.ip, ==, 0x0a00000b);
    port.mac |= UINT64_C(0xff) << 48;
    port.retry_us = 0x1234;
    port.retries = 9;
    port.group_mac = 0xffffffffffff;
    for (unsigned f = 0; f < 4; f++) {
        port.format = f;
        port.ecn = f & 1;
        g_assert_cmpint(rclink_port_set(p.rc[1], &port), ==, 0);
        g_assert_cmphex(reg(p.rc[1], RCL_AFH_CFG_EN, 0) & formats, ==,
                        format[f]);
        g_assert_cmphex(reg(p.rc[1], RCL_CTRL, 0), ==,
                        f & 1 ? RCL_CTRL_ECN : 0);
    }
    g_assert_cmphex(reg(p.rc[1], RCL_MAC_ADDR, 0), ==, 0x88b502000000000b);
    g_assert_cmphex(reg(p.rc[1], RCL_DEST_MAC_MEM2, 0) >> 48, ==, 0x88b6);
    g_assert_cmphex(reg(p.rc[1], RCL_IP_ADDR, 0), ==, 0x4000000a00000b);
    g_assert_cmphex((uint32_t)reg(p.rc[1], RCL_DEST_IP_MEM2, 0), ==,
                    0xe0000101);
    g_assert_cmphex(reg(p.rc[1], RCL_UDP_PORT_MEM2, 0), ==, 0x12b8c100);
    g_assert_cmphex(reg(p.rc[1], RCL_RETRY_TIMER_CFG, 0), ==,
                    0x1234 | 9 << 13);
    g_assert_cmphex(reg(p.rc[1], RCL_TRAFFIC_CLASS, 0), ==, 0x16120e0a0602);
    g_assert_cmphex(reg(p.rc[1], RCL_RDMA_EN, 0) & 1, ==, 1);
    /* Addresses of groups do not reach beyond 48 bits. */
    g_assert_cmphex(reg(p.rc[1], RCL_TYPE2_DA(0), 0), ==, 0xffffffffffff);
    g_assert_cmphex(reg(p.rc[1], RCL_TYPE2_DA(7), 0), ==, 6);
    pair_close(&p);
}

/* The class of a flow shows its VC, which is nobody else's (RC Link §12.14.4). */
static void test_classes(void)
{
    static const enum rclink_flow flow[] = {
        RCLINK_NO_FLOW, RCLINK_PFC, RCLINK_CBFC,
    };
    Pair p = pair_open();
    struct rclink_port port;

    rclink_port_init(p.rc[0], &port);
    for (unsigned i = 0; i < G_N_ELEMENTS(flow); i++) {
        uint64_t map, tc;
        unsigned used = 0;

        port.flow = flow[i];
        g_assert_cmpint(rclink_port_set(p.rc[0], &port), ==, 0);
        map = reg(p.rc[0], RCL_AFH_CFG_EN, 0) >> RCL_CFG_VC_MAP;
        tc = reg(p.rc[0], RCL_TRAFFIC_CLASS, 0);
        for (unsigned f = 0; f < 7; f++) {
            unsigned vc = map >> 3 * f & 7;

            g_assert_cmphex(used >> vc & 1, ==, 0);
            used |= 1u << vc;
            if (f < 6) {        /* TYPE3 has no class */
                g_assert_cmphex(tc >> 8 * f & 0xff, ==, vc << 2 | 2);
            }
        }
    }
    pair_close(&p);
}

static void test_port_refused(void)
{
    Pair p = pair_open();
    struct rclink_port port;

    rclink_port_init(p.rc[0], &port);
    port.format = RCLINK_LITE + 1;
    g_assert_cmpint(rclink_port_set(p.rc[0], &port), ==, -EINVAL);
    /* Not even looked up. */
    port.format = 0x40000000;
    g_assert_cmpint(rclink_port_set(p.rc[0], &port), ==, -EINVAL);
    port.format = RCLINK_STANDARD;
    port.flow = RCLINK_CBFC + 1;
    g_assert_cmpint(rclink_port_set(p.rc[0], &port), ==, -EINVAL);
    g_assert_cmphex(reg(p.rc[0], RCL_TYPE2_DA(1), 0), ==, 0);
    port.flow = RCLINK_CBFC;
    /* The first that fails ends it. */
    static const uint32_t order[] = {
        RCL_TYPE2_DA(3), RCL_MAC_ADDR, RCL_AFH_CFG_EN, RCL_RDMA_EN,
        RCL_MAC_CBFC_CFG(2), RCL_CBFC_RST,
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        cdev_faults.reg = order[i];
        g_assert_cmpint(rclink_port_set(p.rc[0], &port), ==, -EPERM);
        g_assert_cmphex(reg(p.rc[0], RCL_RDMA_EN, 0) & 1, ==, i > 3);
    }
    cdev_faults.reg = UINT32_MAX;
    g_assert_cmpint(rclink_port_set(p.rc[0], &port), ==, 0);
    pair_close(&p);
}

/* Each flow control after each other: no rule is broken in between. */
static void test_port_again(void)
{
    Pair p = pair_open();

    for (unsigned n = 0; n < 9; n++) {
        pair_set(&p, n % 4, n / 3);
        pair_set(&p, (n + 1) % 4, n % 3);
        g_assert_cmpuint(stat_of(p.rc[0], "guest_errors"), ==, 0);
        for (unsigned v = 0; v < 6 && n % 3 == RCLINK_CBFC; v++) {
            g_assert_cmphex(reg(p.rc[0], RCL_MAC_CBFC_CFG(v), 0), ==,
                            64 << RCL_CBFC_SIZE_SHIFT |
                            UINT64_C(1024) << RCL_CBFC_LIMIT_SHIFT);
        }
        if (n % 3 == RCLINK_CBFC) {
            g_assert_cmphex(reg(p.rc[0], RCL_MAC_CBFC_CFG(6), 0), ==,
                            128 << RCL_CBFC_SIZE_SHIFT |
                            UINT64_C(64) << RCL_CBFC_LIMIT_SHIFT);
        }
        g_assert_cmphex(reg(p.rc[0], RCL_MAC_CBFC_CFG(7), 0), ==, 0);
        g_assert_cmphex(reg(p.rc[0], RCL_XON_THR_RDMA, 0), ==,
                        (n % 3 == RCLINK_NO_FLOW ? 0 : UINT64_C(0x6f) << 32) |
                        (n % 3 == RCLINK_PFC ? UINT64_C(0x6f) << 39 : 0) |
                        768 << 16 | 512);
        g_assert_cmphex(reg(p.rc[0], RCL_XON_THR_NON_RDMA, 0), ==, 1 << 16);
    }
    pair_close(&p);
}

/* ---- the network beside it ---- */

enum {
    NET_MDS = 16, NET_FRAME = 1500,
    /* Behind what programs have in the memory. */
    NET_TX = RIG_MEM - 0x100000, NET_RX = NET_TX + 0x1000,
    NET_BUF = NET_TX + 0x10000,
};

/* TYPE3 of end @i, as the network's driver has it. */
static RigEnd *net_up(Pair *p, unsigned i)
{
    RigEnd *e = cdev_end(rclink_fd(p->rc[i]));

    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_RESET | RCL_NONR_RX_RESET);
    rig_set(e, RCL_TX_MDQ_SIZE, NET_MDS);
    rig_set(e, RCL_TX_MDQ_BA, NET_TX);
    rig_set(e, RCL_RX_MDQ_SIZE, NET_MDS);
    rig_set(e, RCL_RX_MDQ_BA, NET_RX);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    for (unsigned n = 0; n < NET_MDS; n++) {
        uint8_t *tx = e->mem + NET_TX + n * RCL_MD_BYTES;
        uint8_t *rx = e->mem + NET_RX + n * RCL_MD_BYTES;

        put_le64(tx, NET_FRAME << RCL_MD_SIZE_SHIFT | RCL_MD_SF | RCL_MD_LF);
        put_le64(tx + 8, NET_BUF);
        put_le64(rx, UINT64_C(0x1000) << RCL_MD_BUFFER_SHIFT);
        put_le64(rx + 8, NET_BUF + (1 + n) * 0x1000);
    }
    memset(e->mem + NET_BUF, 0x55, NET_FRAME);
    return e;
}

/* Ten frames for a driver that has no descriptors ready for a while; how many of them
 * left meanwhile. */
static unsigned net_late(RigEnd *e, RigEnd *f)
{
    uint64_t sent;

    for (unsigned n = 1; n <= 10; n++) {
        rig_set(e, RCL_TX_MD_HEAD_PTR, n);
        cdev_settle();
    }
    sent = rclink_counters(e->d)->tx_type3;
    rig_set(f, RCL_RX_MD_HEAD_PTR, NET_MDS - 1);
    cdev_settle();
    rig_pass(e->rig, 1000000);
    return sent;
}

/* Frames of the network wait for the peer, too; without flow control they are lost. */
static void test_network(void)
{
    static const unsigned sent[] = {
        [RCLINK_NO_FLOW] = 10, [RCLINK_PFC] = 1, [RCLINK_CBFC] = 3,
    };

    for (unsigned flow = 0; flow < G_N_ELEMENTS(sent); flow++) {
        Pair p = pair_open();
        RigEnd *e, *f;

        pair_set(&p, RCLINK_STANDARD, flow);
        e = net_up(&p, 0);
        f = net_up(&p, 1);
        g_assert_cmpuint(net_late(e, f), ==, sent[flow]);
        g_assert_cmpuint(rclink_counters(f->d)->rx_type3, ==, flow ? 10 : 5);
        g_assert_cmpuint(rclink_counters(f->d)->drop_rx3, ==, flow ? 0 : 5);
        pair_close(&p);
    }
}

/* A peer that stops all classes stops this one. */
static void test_network_storm(void)
{
    Pair p = pair_open();
    RigEnd *e, *f;

    pair_set(&p, RCLINK_STANDARD, RCLINK_PFC);
    e = net_up(&p, 0);
    f = net_up(&p, 1);
    rig_set(f, RCL_RX_MD_HEAD_PTR, NET_MDS - 1);
    rclink_faults(f->d)->pause_storm = 1 << 6;
    rclink_faults_changed(f->d);
    cdev_settle();
    rig_set(e, RCL_TX_MD_HEAD_PTR, 1);
    cdev_settle();
    g_assert_cmpuint(rclink_counters(e->d)->tx_type3, ==, 0);
    /* The classes of programs are others. */
    pair_connect(&p, 5);
    g_assert_cmpint(put(p.rc[0], 5, 1, 0), ==, 0);
    cdev_settle();
    take(p.rc[1], 0, 1);
    rclink_faults(f->d)->pause_storm = 0;
    rclink_faults_changed(f->d);
    cdev_settle();
    g_assert_cmpuint(rclink_counters(f->d)->rx_type3, ==, 1);
    pair_close(&p);
}

/* Each format, with each flow control. */
static void test_formats(void)
{
    for (unsigned n = 0; n < 12; n++) {
        Pair p = pair_open();

        pair_set(&p, n / 3, n % 3);
        pair_connect(&p, 5);
        for (unsigned i = 0; i < 1000; i++) {
            uint8_t data[LEN];
            struct rclink_message m;

            g_assert_cmpint(put(p.rc[i & 1], 5, i, 0), ==, 0);
            cdev_settle();
            fill(data, sizeof(data), i);
            g_assert_cmpint(rclink_recv(p.rc[!(i & 1)], 0, &m), ==, 1);
            g_assert_cmpmem(m.data, m.len, data, sizeof(data));
            g_assert_cmpint(rclink_send_group(p.rc[i & 1], i % 8, data,
                                              sizeof(data), 0, i), ==, 0);
            cdev_settle();
            take(p.rc[!(i & 1)], 1, i);
            events_drop(p.rc[i & 1]);
        }
        cdev_settle();
        g_assert_cmpuint(stat_of(p.rc[0], "rx_type1"), ==, 500);
        g_assert_cmpuint(stat_of(p.rc[0], "rx_type2"), ==, 500);
        g_assert_cmpuint(stat_of(p.rc[0], "events_lost"), ==, 0);
        g_assert_cmpint(!stat_of(p.rc[0], "cbfc_tx"), ==,
                        n % 3 != RCLINK_CBFC);
        pair_close(&p);
    }
}

/* A receiver that does not take its messages stops its peer, and only that. */
static void test_flow(void)
{
    for (unsigned flow = RCLINK_PFC; flow <= RCLINK_CBFC; flow++) {
        Pair p = pair_open();
        unsigned sent = 0, taken = 0;

        pair_set(&p, RCLINK_GEN1, flow);
        pair_connect(&p, 5);
        for (unsigned n = 0; n < 20; n++) {
            while (put(p.rc[0], 5, sent, RCLINK_MORE) == 0) {
                sent++;
            }
            cdev_settle();
        }
        g_assert_cmpuint(sent, >, ENTRIES);
        g_assert_cmpuint(stat_of(p.rc[1], "rx_type1"), <, sent);
        g_assert_cmpuint(stat_of(p.rc[1], "drop_rx1"), ==, 0);
        while (taken < sent) {
            take(p.rc[1], 0, taken++);
            cdev_settle();
        }
        take_none(p.rc[1], 0);
        pair_close(&p);
    }
}

/* ---- QPs ---- */

static void test_connect(void)
{
    Pair p = pair_up();
    struct rclink_peer peer = {
        .mac = 0xff02000000000b, .ip = 0x0a00000b, .qp = 5, .psn_tx = 0xf000,
        .psn_rx = 0xfabc, .udp_port = 0xc123, .pkey = 0xa5,
    };
    struct rclink *rc = p.rc[0];

    g_assert_cmpint(rclink_disconnect(rc, 5), ==, 0);
    g_assert_cmpint(rclink_connect(rc, 1024, &peer), ==, -EINVAL);
    g_assert_cmpint(rclink_disconnect(rc, 1024), ==, -EINVAL);
    g_assert_cmpint(rclink_connect(rc, 1021, &peer), ==, 0);
    g_assert_cmphex(reg(rc, RCL_TX_EXPECT_PSN, 1021), ==, 0);
    g_assert_cmphex(reg(rc, RCL_EXPECT_RESP_PSN, 1021), ==, 0);
    g_assert_cmphex(reg(rc, RCL_TX_LAST_PSN, 1021), ==, 0xfff);
    g_assert_cmphex(reg(rc, RCL_MAX_FORWARD_PSN, 1021), ==, 0xfff);
    g_assert_cmphex(reg(rc, RCL_RX_REQ_EPSN, 1021), ==, 0xabc);
    g_assert_cmphex(reg(rc, RCL_TX_EPSN, 1021), ==, 0xabc);
    g_assert_cmphex(reg(rc, RCL_TX_SPEED_MEM, 1021), ==, 0x320000);
    g_assert_cmphex(reg(rc, RCL_DEST_IP_MEM, 1021), ==, 0x50a00000b);
    g_assert_cmphex(reg(rc, RCL_UDP_SRC_PORT_MEM, 1021), ==, 0xa5c123);
    g_assert_cmphex(reg(rc, RCL_DEST_MAC_MEM, 1021), ==, 0x02000000000b);
    g_assert_cmphex(reg(rc, RCL_BTH_QP_CFG_MEM, 1021), ==, 0xa5);
    g_assert_cmphex(reg(rc, RCL_QP_CONTROL_STATUS, 1021) & RCL_QP_EN, ==,
                    RCL_QP_EN);
    g_assert_cmpint(rclink_disconnect(rc, 1021), ==, 0);
    g_assert_cmphex(reg(rc, RCL_QP_CONTROL_STATUS, 1021) & RCL_QP_EN, ==, 0);
    cdev_faults.reg = RCL_TX_EPSN;
    g_assert_cmpint(rclink_connect(rc, 1021, &peer), ==, -EPERM);
    g_assert_cmphex(reg(rc, RCL_QP_CONTROL_STATUS, 1021) & RCL_QP_EN, ==, 0);
    pair_close(&p);
}

static bool lose_all(Rig *r, unsigned from, const uint8_t *frame, size_t len)
{
    return false;
}

/* What was not acknowledged is dropped, and the QP begins anew. */
static void test_disconnect(void)
{
    Pair p = pair_up();
    struct rclink_event ev;

    p.rig->pass = lose_all;
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(put(p.rc[0], 5, i, 0), ==, 0);
    }
    cdev_settle();
    events_drop(p.rc[0]);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(rclink_disconnect(p.rc[i], 5), ==, 0);
    }
    cdev_settle();
    for (unsigned i = 0; i < 3; i++) {
        ev = event_of(p.rc[0], RCLINK_SENT);
        g_assert_cmpuint(ev.cookie, ==, i);
    }
    p.rig->pass = NULL;
    /* Nobody is connected: the reason, and the interrupt that tells it. */
    g_assert_cmpint(put(p.rc[0], 5, 3, 0), ==, 0);
    cdev_settle();
    ev = event_of(p.rc[0], RCLINK_IRQ);
    g_assert_cmphex(ev.value, ==, UINT64_C(1) << RCL_IRQ_TYPE_SHIFT |
                                  5 << 5 | RCL_IRQ1_TX_DISABLED);
    ev = event_of(p.rc[0], RCLINK_SENT);
    g_assert_cmpuint(ev.error, ==, RCL_IRQ1_TX_DISABLED);
    g_assert_cmpuint(ev.cookie, ==, 3);
    g_assert_cmpint(ev.group, ==, 0);
    pair_connect(&p, 5);
    g_assert_cmpint(put(p.rc[0], 5, 4, 0), ==, 0);
    cdev_settle();
    take(p.rc[1], 0, 4);
    take_none(p.rc[1], 0);
    pair_close(&p);
}

/* A failed QP's packets are refused with a reason that has no interrupt. */
static void test_failed(void)
{
    Pair p = pair_up();
    struct rclink_event ev;

    p.rig->pass = lose_all;
    g_assert_cmpint(put(p.rc[0], 5, 0, 0), ==, 0);
    cdev_settle();
    rig_pass(p.rig, 10000000);
    ev = event_of(p.rc[0], RCLINK_TIMEOUT);
    g_assert_cmpuint(ev.qp, ==, 5);
    ev = event_of(p.rc[0], RCLINK_IRQ);
    g_assert_cmphex(ev.value & 0x1f, ==, RCL_IRQ1_RETRY);
    g_assert_cmpint(put(p.rc[0], 5, 1, 0), ==, 0);
    cdev_settle();
    ev = event_of(p.rc[0], RCLINK_SENT);
    g_assert_cmpuint(ev.error, ==, RCL_DROP_FATAL);
    /* Who connects it anew needs not disconnect it. */
    p.rig->pass = NULL;
    g_assert_cmphex(reg(p.rc[0], RCL_RETRY_CNT_MEM, 5), !=, 0);
    pair_connect(&p, 5);
    g_assert_cmphex(reg(p.rc[0], RCL_RETRY_CNT_MEM, 5), ==, 0);
    g_assert_cmpint(put(p.rc[0], 5, 2, 0), ==, 0);
    cdev_settle();
    take(p.rc[1], 0, 2);
    pair_close(&p);
}

/* ---- rates ---- */

static unsigned messages_of(Pair *p, int group)
{
    struct rclink_message m;
    unsigned n = 0;

    while (rclink_recv(p->rc[1], group, &m)) {
        n++;
    }
    return n;
}

static void test_rate(void)
{
    Pair p = pair_up();
    struct rclink *rc = p.rc[0];
    struct rclink_event ev;

    g_assert_cmpint(rclink_rate(rc, 1024, 4096, 1), ==, -EINVAL);
    g_assert_cmpint(rclink_rate(rc, 5, 4097, 1), ==, -EINVAL);
    g_assert_cmpint(rclink_rate(rc, 5, 131072, 1), ==, -EINVAL);
    g_assert_cmpint(rclink_rate(rc, 5, 4096, 1 << 22), ==, -EINVAL);
    g_assert_cmpint(rclink_group_rate(rc, 2048, 1), ==, -EINVAL);
    g_assert_cmpint(rclink_group_rate(rc, 4096, 1 << 22), ==, -EINVAL);
    for (unsigned i = 0; i < 5; i++) {
        g_assert_cmpint(rclink_rate(rc, 5, 4096 << i, (1 << 22) - 1), ==, 0);
        g_assert_cmphex(reg(rc, RCL_CC_WINDOW, 0), ==, i);
    }
    g_assert_cmphex(reg(rc, RCL_TX_SPEED_MEM, 5), ==, (1 << 22) - 1);
    /* Two messages in each window. */
    p.rig->now = 100 * 65536;
    g_assert_cmpint(rclink_rate(rc, 5, 65536, 2 * LEN), ==, 0);
    events_drop(rc);
    for (unsigned i = 0; i < 10; i++) {
        g_assert_cmpint(put(rc, 5, i, 0), ==, 0);
    }
    cdev_settle();
    g_assert_cmpuint(messages_of(&p, 0), ==, 2);
    ev = event_of(rc, RCLINK_RATE);
    g_assert_cmpuint(ev.qp, ==, 5);
    g_assert_cmpint(ev.on, ==, 0);
    rig_pass(p.rig, 65536);
    g_assert_cmpuint(messages_of(&p, 0), ==, 2);
    ev = event_of(rc, RCLINK_RATE);
    g_assert_cmpint(ev.on, ==, 1);
    pair_close(&p);
}

static void test_group_rate(void)
{
    Pair p = pair_up();
    uint8_t data[LEN] = { 0 };

    p.rig->now = 100 * 65536;
    g_assert_cmpint(rclink_group_rate(p.rc[0], 16384, 3 * LEN), ==, 0);
    g_assert_cmphex(reg(p.rc[0], RCL_CC_WINDOW, 0), ==, 2);
    for (unsigned i = 0; i < 12; i++) {
        g_assert_cmpint(rclink_send_group(p.rc[0], 0, data, LEN, 0, i), ==,
                        0);
    }
    cdev_settle();
    g_assert_cmpuint(messages_of(&p, 1), ==, 3);
    rig_pass(p.rig, 16384);
    g_assert_cmpuint(messages_of(&p, 1), ==, 3);
    g_assert_cmpint(rclink_group_rate(p.rc[0], 16384, 0), ==, 0);
    cdev_settle();
    g_assert_cmpuint(messages_of(&p, 1), ==, 6);
    pair_close(&p);
}

/* ---- registers, statistics ---- */

static void test_stats(void)
{
#define NAME(name, text) #name,
    static const char *const names[] = { RCL_COUNTERS(NAME) };
#undef NAME
    Pair p = pair_up();
    uint64_t v;

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_cmpstr(rclink_stat_name(i), ==, names[i]);
        g_assert_cmpint(rclink_stat(p.rc[0], i, &v), ==, 0);
        g_assert_cmpuint(v, ==, reg(p.rc[0], RCL_COUNTER(i), 0));
    }
    g_assert_null(rclink_stat_name(G_N_ELEMENTS(names)));
    g_assert_null(rclink_stat_name(UINT_MAX));
    g_assert_cmpint(rclink_get(p.rc[0], RCL_SOFT_RESET, 0, &v), ==, -EINVAL);
    g_assert_cmpint(rclink_set(p.rc[0], RCL_TX_MDQ_BA, 0, 0), ==, -EINVAL);
    g_assert_cmpint(rclink_set(p.rc[0], 0x4000, 0, 0), ==, -EINVAL);
    /* Of two QPs, each its own. */
    g_assert_cmpint(rclink_set(p.rc[0], RCL_BTH_QP_CFG_MEM, 7, 0x77), ==, 0);
    g_assert_cmphex(reg(p.rc[0], RCL_BTH_QP_CFG_MEM, 5), ==, 0x5a);
    g_assert_cmphex(reg(p.rc[0], RCL_BTH_QP_CFG_MEM, 7), ==, 0x77);
    pair_close(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(name) g_test_add_func("/rclink/lib/" #name, test_##name)
    TEST(open);
    TEST(open_fails);
    TEST(limits);
    TEST(port);
    TEST(classes);
    TEST(port_refused);
    TEST(port_again);
    TEST(network);
    TEST(network_storm);
    TEST(formats);
    TEST(flow);
    TEST(connect);
    TEST(disconnect);
    TEST(failed);
    TEST(rate);
    TEST(group_rate);
    TEST(stats);
    return g_test_run();
}
