/*
 * RC Link: registers, rings, resets, migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../../lib/mutate.h"
#include "rig.h"

#define GEN1 (UINT64_C(1) << RCL_CFG_GEN1 | UINT64_C(1) << RCL_CFG_GEN1_TC)
#define CNT(e, name) (rclink_counters((e)->d)->name)
#define ALL UINT64_MAX

/* Offset, value after reset, value after all bits were written. */
static const struct {
    uint64_t off, reset, ones;
} regs[] = {
    { RCL_RDMA_EN, 0, 1 },
    { RCL_XON_THR_RDMA, 0, UINT64_C(0x3ffffffffffff) },
    { RCL_MAC_ADDR, UINT64_C(0x02000000000a), ALL },
    { RCL_XON_THR_NON_RDMA, 0, ALL },
    { RCL_IP_ADDR, UINT64_C(64) << 48, UINT64_C(0xffffffffffffff) },
    { RCL_VLAN_CTRL, 0x81000000, ALL & ~UINT64_C(12) },
    { RCL_RETRY_TIMER_CFG, 7 << 13 | 1000, 0x1ffff },
    { RCL_INTR_STATUS, 0, 0 },
    { RCL_DEST_IP_MEM2, 0, UINT64_C(0xffff0000ffffffff) },
    { RCL_DEST_MAC_MEM2, 0, ALL },
    { RCL_UDP_PORT_MEM2, 0, 0xffffffff },
    { RCL_AFH_CFG_EN, UINT64_C(0x0ff0000000000020),
      ALL & ~(UINT64_C(1) << 35) },
    { RCL_TYPE2_DA(0), 0, UINT64_C(0xffffffffffff) },
    { RCL_TYPE2_DA(7), 0, UINT64_C(0xffffffffffff) },
    { RCL_TRAFFIC_CLASS, 0, UINT64_C(0xffffffffffff) },
    { RCL_TX_MD_HEAD_PTR, 0, 0 },
    { RCL_RX_MD_TAIL_PTR, 0, 0 },
    { RCL_TX_MDQ_BA, 0, ALL & ~UINT64_C(63) },
    { RCL_RX_MDQ_BA, 0, ALL & ~UINT64_C(63) },
    { RCL_TX_MDQ_SIZE, 0, 0xfff },
    { RCL_RX_MDQ_SIZE, 0, 0xfff },
    { RCL_NONR_DMA_CTRL, 0x80010000, 0x80010101 },
    { RCL_DMA_INTR_ST0, 0, 0 },
    { RCL_DMA_INTR_ST1, 0, 0 },
    { RCL_DMA_INT_MASK, 0, 0x1f },
    { RCL_TAIL_UP_CFG, 0, 0xffffffff },
    { RCL_DEST_IP_MEM, 0, UINT64_C(0xffffffffffffff) },
    { RCL_DEST_MAC_MEM, 0, UINT64_C(0xffffffffffff) },
    { RCL_UDP_SRC_PORT_MEM, 0, 0xffffff },
    { RCL_EXPECT_RESP_PSN, 0, 0xfff },
    { RCL_TX_LAST_PSN, 0, 0xfff },
    { RCL_TX_EPSN, 0, 0xfff },
    { RCL_TX_SPEED_MEM, 0, 0x3fffff },
    { RCL_TX_CC_BYTE_CNT_MEM, 0, 0xffffffff },
    { RCL_TX_EXPECT_PSN, 0, 0xfff },
    { RCL_RETRY_CNT_MEM, 0, 0xff },
    { RCL_BTH_QP_CFG_MEM, 0, 0xff },
    { RCL_RX_REQ_EPSN, 0, 0xfff },
    { RCL_MAX_FORWARD_PSN, 0, 0xfff },
    { RCL_QP_ID_SET, 0, 0xffffffff },
    { RCL_ID, 0x314c4352, 0x314c4352 },
    { RCL_VERSION, 1, 1 },
    { RCL_CTRL, 0, 0x7f },
    { RCL_CC_WINDOW, 0, 0 },
    { RCL_CNP_THR, 0, 0xffffffff },
    { RCL_NOCNP, 0, 0 },
    { RCL_RNR_CODE, 1, 0x1f },
    { RCL_TYPE2_RATE, 0, 0x3fffff },
    { RCL_INTR_MASK, 0, 0xffff },
    { RCL_STATUS, 0x1b, 0x1b },
    { RCL_OST_FREE, 512 | 16 << 16, 512 | 16 << 16 },
    { RCL_FLOW_STOP, 0, 0x1f },
    { RCL_EVENT_MASK, 0x1fe, 0x1fe },
    { RCL_LIMITS, UINT64_C(0x0540010200040400) | 0, 0 },
    { RCL_SPEED, 400, 400 },
    { RCL_MAC_CBFC_CFG(0), 0, UINT64_C(0x3ffffffffff) },
    { RCL_MAC_CBFC_CFG(7), 0, UINT64_C(0x3ffffffffff) },
    { RCL_CBFC_RST, 0, 0 },
    { RCL_MULTI_CREDIT, 2048, 2048 },
    { RCL_COUNTER(0), 0, 0 },
};

static void test_map(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(regs); i++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];
        uint64_t limits = 1024 | UINT64_C(4) << 16 | UINT64_C(512) << 24 |
                          UINT64_C(16) << 36 | UINT64_C(1344) << 48;
        uint64_t off = regs[i].off;
        uint64_t reset = off == RCL_LIMITS ? limits : regs[i].reset;
        uint64_t ones = off == RCL_LIMITS ? limits : regs[i].ones;

        g_test_message("%04x", (unsigned)off);
        g_assert_cmphex(rclink_read(e->d, off, 8, 0), ==, reset);
        g_assert_cmphex(rclink_read(e->d, off, 4, 0), ==, (uint32_t)reset);
        g_assert_cmphex(rclink_read(e->d, off + 4, 4, 0), ==, reset >> 32);
        /* Halves of their own; then the whole. */
        if (off != RCL_NONR_DMA_CTRL) {
            rclink_write(e->d, off + 4, UINT32_MAX, 4, 0);
            g_assert_cmphex(rclink_read(e->d, off, 8, 0), ==,
                            (uint32_t)reset | ones >> 32 << 32);
        }
        rclink_write(e->d, off, ALL, 8, 0);
        g_assert_cmphex(rclink_read(e->d, off, 8, 0), ==, ones);
        rclink_reset(e->d);
        g_assert_cmphex(rclink_read(e->d, off, 8, 0), ==, reset);
        rig_free(r);
    }
}

static void test_unknown(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    unsigned known = 0;

    for (uint64_t off = 0; off < 0x8000; off += 8) {
        e->errors = 0;
        g_assert_cmpuint(rclink_read(e->d, off, 8, 0) * !!e->errors, ==, 0);
        known += !e->errors;
    }
    /* The port, TYPE3, QPs, ours, counters, four rings. */
    g_assert_cmpuint(known, ==, 21 + 13 + 15 + 31 +
                                sizeof(RclCounters) / 8 + 32);
    e->errors = 0;
    rclink_write(e->d, 0x0800, 1, 8, 0);
    rclink_write(e->d, 0x7000, 1, 8, 0);
    rclink_write(e->d, RCL_STATUS, 1, 8, 0);
    rclink_write(e->d, RCL_RING(0) + 0x30, 1, 4, 0);
    rig_expect_errors(e, 4);
    rig_set(e, RCL_QP_ID_SET, 1024);
    g_assert_cmphex(rig_get(e, RCL_TX_SPEED_MEM), ==, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 5);
    rig_expect_errors(e, 1);
    rig_free(r);
}

/* Windows on QPs are windows on different ones. */
static void test_windows(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    for (unsigned q = 0; q < 1024; q++) {
        rig_set(e, RCL_QP_ID_SET, q);
        rig_set(e, RCL_DEST_MAC_MEM, q * 3);
        rig_set(e, RCL_TX_EXPECT_PSN, q);
    }
    for (unsigned q = 0; q < 1024; q++) {
        rig_set(e, RCL_QP_ID_SET, q);
        g_assert_cmphex(rig_get(e, RCL_DEST_MAC_MEM), ==, q * 3);
        g_assert_cmphex(rig_get(e, RCL_TX_EXPECT_PSN), ==, q);
    }
    rig_free(r);
}

/* Layouts A and B of AFH_CFG_EN: the document's example. */
static void test_layouts(void)
{
    for (unsigned packed = 0; packed < 2; packed++) {
        RclinkConfig cfg;
        Rig *r;
        RigEnd *e;

        rclink_config_init(&cfg);
        cfg.cfg_packed = packed;
        r = rig_new(1, &cfg);
        e = &r->e[0];
        rig_up(e, 0);
        rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
        e->errors = 0;
        rig_set(e, RCL_AFH_CFG_EN, packed ? UINT64_C(0x0ff1249358d11fc1)
                                          : UINT64_C(0x0ff12493ac688fc1));
        rig_expect_errors(e, 0);
        for (unsigned v = 0; v < 8; v++) {
            rig_set(e, RCL_MAC_CBFC_CFG(v), 256 | UINT64_C(100) << 22);
        }
        rig_set(e, RCL_CBFC_RST, 0xff);
        /* TYPE1 by banks, TYPE2 and TYPE3 have the VC of their number. */
        for (unsigned q = 0; q < 4; q++) {
            rig_qp(e, q, e, q, 0);
            rig_post(e, q, 64, 0, 0);
        }
        rig_post(e, 0, 64, 0, RCL_ETYPE2);
        {
            uint8_t f[64] = { 0x81 };

            rig_md_post(e, f, 64);
        }
        rig_settle(r);
        g_assert_cmphex(rig_get(e, RCL_CBFC_LEVEL0), ==,
                        UINT64_C(0x0063006300630063));
        g_assert_cmphex(rig_get(e, RCL_CBFC_LEVEL1), ==,
                        UINT64_C(0x006300630064));
        rig_free(r);
    }
}

static void test_config(void)
{
    RclinkConfig c;

#define REFUSED(field, value) do {                                          \
        rclink_config_init(&c);                                             \
        g_assert_null(rclink_config_check(&c));                             \
        c.field = value;                                                    \
        g_assert_nonnull(rclink_config_check(&c));                          \
    } while (0)
    REFUSED(qps, 3);
    REFUSED(qps, 2);
    REFUSED(qps, 2048);
    REFUSED(vcs, 3);
    REFUSED(vcs, 0);
    REFUSED(ost1, 0);
    REFUSED(ost1, 513);
    REFUSED(ost2, 0);
    REFUSED(ost2, 17);
    REFUSED(speed, 100);
    REFUSED(payload, 1343);
    REFUSED(payload, 4097);
    REFUSED(rx2_bytes, 4095);
    REFUSED(rx2_bytes, 17 << 20);
    REFUSED(time_scale, 0);
    REFUSED(time_scale, 1000001);
#undef REFUSED
}

/* ---- rings ---- */

static void test_rings(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint64_t tx = RCL_RING(RCL_RING_TX);

    /* Not in use: no index moves. */
    rig_set(e, tx + RCL_RING_HEAD, 1);
    rig_expect_errors(e, 1);
    rig_up(e, GEN1);
    rig_qp(e, 0, e, 0, 0);
    rig_expect_errors(e, 0);
    rig_set(e, tx + RCL_RING_TAIL, 1);
    rig_set(e, tx + RCL_RING_HEAD, 1025);
    rig_set(e, tx + RCL_RING_HEAD, 0x10000);
    rig_set(e, RCL_RING(RCL_RING_EVENT) + RCL_RING_HEAD, 1);
    rig_set(e, RCL_RING(RCL_RING_EVENT) + RCL_RING_TAIL, 9);
    rig_set(e, tx + RCL_RING_BASE_LO, 0);
    rig_set(e, tx + RCL_RING_SIZE, 5);
    rig_expect_errors(e, 7);
    g_assert_cmpuint(rig_get(e, tx + RCL_RING_SIZE), ==, RIG_LOG);
    rig_set(e, tx + RCL_RING_CTRL, 0);
    rig_set(e, tx + RCL_RING_SIZE, 3);
    rig_set(e, tx + RCL_RING_SIZE, 13);
    rig_expect_errors(e, 2);
    rig_set(e, tx + RCL_RING_SIZE, 4);
    rig_set(e, tx + RCL_RING_CTRL, RCL_RING_EN);
    rig_set(e, tx + RCL_RING_HEAD, 17);
    rig_expect_errors(e, 1);
    /* Full, and round. */
    e->tx_head = 0;
    for (unsigned i = 0; i < 100; i++) {
        uint8_t *p = e->mem + RIG_RING + i % 16 * 16;

        put_le64(p, RIG_TX_BUF);
        put_le64(p + 8, 64);
        rig_set(e, tx + RCL_RING_HEAD, i + 1);
        if (i % 16 == 15) {
            rig_settle(r);
            g_assert_cmpuint(rig_get(e, tx + RCL_RING_TAIL), ==, i + 1);
        }
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 100);
    rig_free(r);
}

/* One message for each time that a ring is armed. */
static void test_arm(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    uint64_t rx = RCL_RING(RCL_RING_RX1), ev = RCL_RING(RCL_RING_EVENT);

    rig_up(e, GEN1);
    rig_up(f, GEN1);
    rig_connect(r, 0, 0);
    rig_post(e, 0, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(f->msix[RCL_VEC_RX1], ==, 0);
    rig_set(f, rx + RCL_RING_ARM, 0);
    g_assert_cmpuint(f->msix[RCL_VEC_RX1], ==, 1);
    rig_set(f, rx + RCL_RING_ARM, 1);
    g_assert_cmpuint(f->msix[RCL_VEC_RX1], ==, 1);
    for (unsigned i = 0; i < 3; i++) {
        rig_post(e, 0, 64, 0, 0);
    }
    rig_settle(r);
    g_assert_cmpuint(f->msix[RCL_VEC_RX1], ==, 2);
    rig_post(e, 0, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(f->msix[RCL_VEC_RX1], ==, 2);
    g_assert_cmpuint(e->msix[RCL_VEC_EVENT], ==, 0);
    rig_set(e, ev + RCL_RING_ARM, rig_get(e, ev + RCL_RING_HEAD));
    rig_post(e, 0, 64, 0, 0);
    rig_set(e, RCL_RING(RCL_RING_TX) + RCL_RING_ARM, 5);
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_EVENT], ==, 1);
    g_assert_cmpuint(e->msix[RCL_VEC_TX], ==, 1);
    rig_free(r);
}

/* Events that nobody reads are lost, and stop nothing. */
static void test_events_full(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigPacket p;

    rig_up(e, GEN1);
    rig_up(f, GEN1);
    rig_connect(r, 0, 0);
    rig_events(e, 0);
    for (unsigned i = 0; i < 1500; i++) {
        rig_post(e, 0, 64, i, 0);
        if (i % 100 == 0) {
            rig_settle(r);
            while (rig_take(f, 0, &p)) {
            }
        }
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(e, events_lost), ==, 1500 - 1024);
    g_assert_cmpuint(rig_events(e, RCL_EV_CREDIT), ==, 1024);
    /* Another round has the other phase. */
    rig_post(e, 0, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(rig_events(e, RCL_EV_CREDIT), ==, 1);
    /* A type that the mask leaves out is no event. */
    rig_set(e, RCL_EVENT_MASK, 0xfe & ~(1 << RCL_EV_CREDIT));
    rig_post(e, 0, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(rig_events(e, RCL_EV_CREDIT), ==, 0);
    g_assert_cmpuint(CNT(e, events_lost), ==, 1500 - 1024);
    rig_free(r);
}

static bool pass_none(Rig *r, unsigned from, const uint8_t *frame, size_t len)
{
    return false;
}

/* A packet under way of each of 512 QPs, and a peer that is not there for four
 * time-outs: who has not looked meanwhile is told of the end of each packet. */
static void test_events_credit(void)
{
    enum { QPS = 512 };
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0];
    unsigned other = 0, credit = 0;
    uint64_t lost;
    RigEvent ev;

    rig_up(e, GEN1);
    rig_up(&r->e[1], GEN1);
    for (unsigned q = 0; q < QPS; q++) {
        rig_connect(r, q, 0);
    }
    rig_set(e, RCL_RETRY_TIMER_CFG, 15 << 13 | 10);
    rig_events(e, 0);
    lost = CNT(e, events_lost);
    r->pass = pass_none;
    for (unsigned q = 0; q < QPS; q++) {
        rig_post(e, q, 64, q, 0);
    }
    for (unsigned i = 0; i < 5; i++) {
        rig_pass(r, 10000);
    }
    g_assert_cmpuint(CNT(e, timeouts), >=, 4 * QPS);
    g_assert_cmpuint(CNT(e, events_lost) - lost, ==,
                     CNT(e, timeouts) - 128);
    r->pass = NULL;
    rig_pass(r, 20000);
    while (rig_event(e, &ev)) {
        credit += ev.type == RCL_EV_CREDIT;
        other += ev.type != RCL_EV_CREDIT;
    }
    g_assert_cmpuint(credit, ==, QPS);
    g_assert_cmpuint(other, ==, 128);
    rig_free(r);
}

/* What one bit or byte beside would show. */
static void test_fields(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[64] = { 0x81 };
    const uint8_t *p;
    RigEvent ev;
    GBytes *b;

    rig_up(e, 1 << RCL_CFG_STANDARD);
    rig_set(e, RCL_EVENT_MASK, 0);
    g_assert_cmphex(rig_get(e, RCL_EVENT_MASK), ==, 0);
    rig_set(e, RCL_EVENT_MASK, 0xfe);
    rig_qp(e, 0, e, 0, 0);
    rig_events(e, 0);
    rig_post(e, 0, 64, 0x21, 0);
    rig_settle(r);
    b = rig_frame(e);
    p = g_bytes_get_data(b, NULL);
    g_assert_cmphex(get_be32(p + 18), ==, 0x12344000);
    g_assert_cmpuint(p[22], ==, 64);
    g_assert_cmphex(get_be32(p + 30), ==, 0x0a000001);
    g_assert_cmphex(get_be16(p + 34), ==, 0xc000);
    g_bytes_unref(b);
    rig_post(e, 0, 64, 0x35, RCL_ETYPE2);
    rig_settle(r);
    g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
    g_assert_cmphex(ev.a, ==, RCL_ETYPE2);
    g_assert_cmphex(ev.b, ==, 0x1035);
    b = rig_frame(e);
    p = g_bytes_get_data(b, NULL);
    g_assert_cmphex(get_be32(p + 30), ==, 0xe0000101);
    g_assert_cmphex(get_be32(p + 34), ==, 0xc10012b8);
    g_assert_cmpuint(p[15], ==, 0);         /* dscp2: CBFC is off */
    g_bytes_unref(b);
    /* Bus addresses have 64 bits. */
    rig_set(e, RCL_RING(2) + RCL_RING_CTRL, 0);
    rig_set(e, RCL_RING(2) + RCL_RING_BASE_HI, 0x12345678);
    rig_set(e, RCL_RING(2) + RCL_RING_SHADOW_HI, 0x9abcdef0);
    g_assert_cmphex(rig_get(e, RCL_RING(2) + RCL_RING_BASE_HI), ==,
                    0x12345678);
    g_assert_cmphex(rig_get(e, RCL_RING(2) + RCL_RING_SHADOW_HI), ==,
                    0x9abcdef0);
    g_assert_cmphex(rig_get(e, RCL_RING(2) + RCL_RING_BASE_LO), ==,
                    RIG_RING + 2 * 0x10000);
    /* The reset of one direction clears its bits of ST0, not the other's. */
    rig_md_post(e, f, 64);
    rig_settle(r);
    for (unsigned i = 0; i < 64; i++) {
        rig_inject(e, f, 64);
    }
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==,
                    1 << RCL_ST0_TX_EMPTY | 1 << RCL_ST0_RX_EMPTY);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN |
                                  RCL_NONR_TX_RESET);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, 1 << RCL_ST0_RX_EMPTY);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_RESET);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, 0);
    /* Receive buffers are aligned to 64 bytes, and multiples of it. */
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN);
    put_le64(e->mem + RIG_MD_RX, UINT64_C(100) << RCL_MD_BUFFER_SHIFT);
    rig_set(e, RCL_RX_MD_HEAD_PTR, 1);
    e->errors = 0;
    rig_inject(e, f, 64);
    rig_expect_errors(e, 1);
    rig_free(r);
}

/* A QP that is disabled owes nothing any more. */
static void test_forget(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];

    rig_up(e, 1 << RCL_CFG_STANDARD);
    rig_up(f, 1 << RCL_CFG_STANDARD);
    rig_set(f, RCL_CTRL, RCL_CTRL_ECN);
    rig_set(e, RCL_TRAFFIC_CLASS, 3);
    rig_connect(r, 4, 0);
    rclink_wire_stop(f->d, true);
    rig_post(e, 4, 64, 0, 0);
    rig_settle(r);
    g_assert_cmphex(rig_get(f, RCL_STATUS) & RCL_STATUS_TX_IDLE, ==, 0);
    rig_set(f, RCL_QP_ID_SET, 4);
    rig_set(f, RCL_QP_CONTROL_STATUS, 0);
    g_assert_cmphex(rig_get(f, RCL_STATUS) & RCL_STATUS_TX_IDLE, !=, 0);
    rclink_wire_stop(f->d, false);
    rig_settle(r);
    g_assert_cmpuint(CNT(f, tx_cnp) + CNT(f, tx_ack), ==, 0);
    rig_free(r);
}

/* ---- interrupts ---- */

static void test_intr(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint32_t was;

    rig_up(e, GEN1);
    rig_post(e, 3, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 0);
    rig_set(e, RCL_INTR_MASK, 1 << RCL_INTR_TX_DISABLED);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 1);
    rig_post(e, 3, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 1);
    rig_set(e, RCL_INTR_STATUS, 1 << RCL_INTR_TX_DISABLED);
    rig_post(e, 3, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 2);
    rig_set(e, RCL_INTR_MASK, 0);
    rig_set(e, RCL_INTR_STATUS, 0xffff);
    rig_post(e, 3, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 2);
    rig_settle(r);
    was = e->msix[RCL_VEC_MAC];
    rclink_link(e->d, false);
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_MAC], ==, was + 1);
    rclink_link(e->d, false);
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_MAC], ==, was + 1);
    g_assert_cmphex(rig_get(e, RCL_STATUS) & RCL_STATUS_LINK, ==, 0);
    rig_free(r);
}

/* ---- resets ---- */

static void busy(Rig *r)
{
    RigEnd *e = &r->e[0];
    uint8_t f[64] = { 0x81 };

    rig_up(e, GEN1);
    rig_qp(e, 7, e, 7, 0);
    rclink_wire_stop(e->d, true);
    for (unsigned i = 0; i < 5; i++) {
        rig_post(e, 7, 64, i, 0);
        rig_post(e, 0, 64, i, RCL_ETYPE2);
        rig_md_post(e, f, 64);
    }
    for (unsigned v = 0; v < 8; v++) {
        rig_set(e, RCL_MAC_CBFC_CFG(v), 256 | UINT64_C(100) << 22);
    }
    rig_set(e, RCL_CBFC_RST, 0xff);
    rig_settle(r);
}

static void test_resets(void)
{
    for (unsigned what = 0; what < 5; what++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];

        busy(r);
        rig_set(e, RCL_SOFT_RESET, what < 4 ? 1u << what : RCL_RESET_ALL);
        g_assert_cmpuint(rig_get(e, RCL_SOFT_RESET), ==, 0);
        rig_set(e, RCL_QP_ID_SET, 7);
        g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==,
                         what == 0 || what == 4 ? 512 : 507);
        g_assert_cmpuint(rig_get(e, RCL_QP_CONTROL_STATUS), ==,
                         what != 0 && what != 4);
        g_assert_cmpuint(rig_get(e, RCL_OST_FREE) >> 16, ==,
                         what == 1 || what == 4 ? 16 : 11);
        g_assert_cmphex(rig_get(e, RCL_NONR_DMA_CTRL), ==,
                        what == 2 || what == 4 ? 0x80010000 : 0x101);
        g_assert_cmphex(rig_get(e, RCL_CBFC_LEVEL0) & 0xffff, ==,
                        what == 4 ? 0 : 100);
        g_assert_cmphex(rig_get(e, RCL_RDMA_EN), ==, what != 4);
        g_assert_cmphex(rig_get(e, RCL_RING(0) + RCL_RING_CTRL), ==,
                        what == 4 ? 0 : RCL_RING_EN | RCL_RING_SHADOW);
        rclink_wire_stop(e->d, false);
        rig_settle(r);
        g_assert_cmpuint(CNT(e, tx_type1), ==,
                         what == 0 || what == 4 ? 0 : 5);
        g_assert_cmpuint(CNT(e, tx_type2), ==,
                         what == 1 || what == 4 ? 0 : 5);
        g_assert_cmpuint(CNT(e, tx_type3), ==,
                         what == 2 || what == 4 ? 0 : 5);
        /* And it can be used again. */
        rclink_reset(e->d);
        busy(r);
        rclink_wire_stop(e->d, false);
        rig_settle(r);
        g_assert_cmpuint(rig_get(e, RCL_OST_FREE) >> 16, ==, 16);
        rig_free(r);
    }
}

/* ---- migration ---- */

/* End @i moves to another machine, whose clock is another. */
static void move(Rig *r, unsigned i)
{
    RigEnd *e = &r->e[i];
    size_t len;
    uint8_t *data = rclink_save(e->d, r->now, &len);

    rclink_free(e->d);
    e->d = rclink_new(&e->cfg);
    rclink_link(e->d, true);
    g_assert_cmpstr(rclink_load(e->d, r->now, data, len), ==, NULL);
    {
        size_t again_len;
        uint8_t *again = rclink_save(e->d, r->now, &again_len);

        g_assert_cmpmem(again, again_len, data, len);
        g_free(again);
    }
    g_free(data);
    e->kicked = true;
}

static bool lose_some(Rig *r, unsigned from, const uint8_t *frame, size_t len)
{
    return g_rand_int_range(r->rand, 0, 20) != 0;
}

/* Both ends move again and again under traffic of all types. */
static void test_migrate(void)
{
    Rig *r = rig_new(2, NULL);
    unsigned got[8] = { 0 }, sent[8] = { 0 };
    RigPacket p;

    for (unsigned i = 0; i < 2; i++) {
        rig_up(&r->e[i], GEN1);
        rig_set(&r->e[i], RCL_RETRY_TIMER_CFG, 15 << 13 | 50);
        rig_set(&r->e[i], RCL_NOCNP, 100);
        rig_set(&r->e[i], RCL_TYPE2_RATE, 2000);
    }
    for (unsigned q = 0; q < 8; q++) {
        rig_connect(r, q, q * 600);
        rig_set(&r->e[0], RCL_QP_ID_SET, q);
        rig_set(&r->e[0], RCL_TX_SPEED_MEM, 500 + q * 300);
    }
    r->pass = lose_some;
    for (unsigned i = 0; i < 400; i++) {
        unsigned q = g_rand_int_range(r->rand, 0, 8);

        rig_post(&r->e[0], q, 64 + q, sent[q]++, i % 5 ? 0 : RCL_E_FACK);
        if (i % 4 == 0) {
            rig_post(&r->e[0], 0, 100, i, RCL_ETYPE2);
        }
        if (i % 3) {
            rig_pass(r, g_rand_int_range(r->rand, 1, 3000));
        }
        if (i % 10 == 5) {
            rig_set(&r->e[1], RCL_FLOW_STOP, i % 20 == 5 ? 0xf : 0);
            rig_set(&r->e[1], RCL_XON_THR_RDMA, UINT64_C(0xf) << 46);
        }
        move(r, i & 1);
        while (rig_take(&r->e[1], 0, &p)) {
            g_assert_true(rig_is(&p, 64 + p.qp, got[p.qp]));
            got[p.qp]++;
        }
        while (rig_take(&r->e[1], 1, &p)) {
        }
    }
    rig_set(&r->e[1], RCL_FLOW_STOP, 0);
    for (unsigned i = 0; i < 100; i++) {
        rig_pass(r, 100000);
        while (rig_take(&r->e[1], 0, &p)) {
            g_assert_true(rig_is(&p, 64 + p.qp, got[p.qp]));
            got[p.qp]++;
        }
    }
    for (unsigned q = 0; q < 8; q++) {
        g_assert_cmpuint(got[q], ==, sent[q]);
    }
    g_assert_cmpuint(rig_get(&r->e[0], RCL_OST_FREE), ==, 512 | 16 << 16);
    rig_free(r);
}

/* Damaged images are refused or harmless. */
static void test_image_mutants(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    g_autoptr(GRand) rand = g_rand_new_with_seed(11);
    unsigned refused = 0, n = mutations(3000);
    uint8_t f[600] = { 0x81 }, *data;
    size_t len;

    e->cfg.qps = 16;
    rclink_free(e->d);
    e->d = rclink_new(&e->cfg);
    rclink_link(e->d, true);
    busy(r);
    rclink_wire_stop(e->d, false);
    rclink_run(e->d, r->now, 4);
    for (unsigned i = 0; i < 3; i++) {
        rig_inject(e, f, sizeof(f));
    }
    data = rclink_save(e->d, r->now, &len);
    for (unsigned i = 0; i < n; i++) {
        uint8_t *bad = mutate(rand, data, len);
        const char *why = rclink_load(e->d, r->now, bad, len);

        refused += why != NULL;
        if (!why) {
            for (unsigned k = 0; k < 3; k++) {
                rclink_run(e->d, r->now + k * 1000000, 50);
                rig_inject(e, f, sizeof(f));
            }
            rig_get(e, RCL_STATUS);
        }
        while (!g_queue_is_empty(e->out)) {
            g_bytes_unref(rig_frame(e));
        }
        g_free(bad);
    }
    g_assert_cmpuint(refused, >, 0);
    g_assert_nonnull(rclink_load(e->d, r->now, data, len - 1));
    g_assert_null(rclink_load(e->d, r->now, data, len));
    g_free(data);
    rig_free(r);
}

/* Registers written with anything, in any order. */
static void test_fuzz(void)
{
    Rig *r = rig_new(2, NULL);
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    unsigned n = g_getenv("RCLINK_FUZZ") ? atoi(g_getenv("RCLINK_FUZZ"))
                                         : 60000;

    rig_up(&r->e[0], GEN1);
    rig_up(&r->e[1], GEN1);
    rig_connect(r, 1, 0);
    for (unsigned i = 0; i < n; i++) {
        RigEnd *e = &r->e[i & 1];
        uint64_t off = g_rand_boolean(rand) ?
            regs[g_rand_int_range(rand, 0, G_N_ELEMENTS(regs))].off :
            RCL_RING(0) + g_rand_int_range(rand, 0, 64) * 4;
        uint64_t v = (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);

        v >>= g_rand_int_range(rand, 0, 64);
        if (off == RCL_QP_ID_SET) {
            v %= 8;
        }
        rclink_write(e->d, off, v, g_rand_boolean(rand) ? 4 : 8, r->now);
        if (i % 7 == 0) {
            uint64_t at = g_rand_int_range(rand, 0, 0x70000) & ~7u;

            put_le64(e->mem + at, v);
        }
        r->now += g_rand_int_range(rand, 0, 5000);
        e->next = rclink_run(e->d, r->now, 20);
        if (i % 50 == 0) {
            for (unsigned k = 0; k < 2; k++) {
                GBytes *b;

                while ((b = rig_frame(&r->e[k])) != NULL) {
                    size_t len;
                    const uint8_t *p = g_bytes_get_data(b, &len);

                    rig_inject(&r->e[!k], p, len);
                    g_bytes_unref(b);
                }
            }
            rig_post(e, 1, 64, i, 0);
        }
        if (i % 5000 == 0) {
            rig_set(e, RCL_SOFT_RESET, RCL_RESET_ALL);
            rig_up(e, GEN1);
            rig_qp(e, 1, &r->e[!(i & 1)], 1, 0);
        }
    }
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/regs/map", test_map);
    g_test_add_func("/rclink/regs/unknown", test_unknown);
    g_test_add_func("/rclink/regs/windows", test_windows);
    g_test_add_func("/rclink/regs/layouts", test_layouts);
    g_test_add_func("/rclink/regs/config", test_config);
    g_test_add_func("/rclink/rings/rules", test_rings);
    g_test_add_func("/rclink/rings/arm", test_arm);
    g_test_add_func("/rclink/rings/events-full", test_events_full);
    g_test_add_func("/rclink/rings/events-credit", test_events_credit);
    g_test_add_func("/rclink/port/fields", test_fields);
    g_test_add_func("/rclink/port/forget", test_forget);
    g_test_add_func("/rclink/port/intr", test_intr);
    g_test_add_func("/rclink/port/resets", test_resets);
    g_test_add_func("/rclink/port/migrate", test_migrate);
    g_test_add_func("/rclink/port/image-mutants", test_image_mutants);
    g_test_add_func("/rclink/port/fuzz", test_fuzz);
    return g_test_run();
}
