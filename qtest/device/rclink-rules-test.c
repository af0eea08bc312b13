/*
 * rclink: what registers and properties decide, seen by a peer that puts every
 * frame together by hand.
 *
 * A doorbell is served within its write, so what may be sent has been sent and
 * counted when the write returns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/pci-pc.h"
#include "rclink-peer.h"

enum { CLASSES = 8 };

/* AFH_CFG_EN: stop_cbfc_en; a VC or class of its own for each flow, all open. */
#define STOP_CBFC   (1ull << RCL_CFG_STOP_CBFC)
#define ALL_OPEN    (0xffull << RCL_CFG_VC_OPEN)
#define VC_MAP      (0x1ac688ull << RCL_CFG_VC_MAP)
/* Credits of banks, ACK, TYPE3, TYPE2. */
#define CBFC_ALL    (0x3full << RCL_CFG_CBFC_BANK0 | 1ull << RCL_CFG_CBFC_TYPE2)
#define PFC_OBEY    (0x7full << 39)     /* of XON_THR_RDMA */

static uint64_t limits(unsigned n)
{
    return (uint64_t)(n | n << 3 | n << 6 | n << 9) << RCL_CFG_UF_TYPE1;
}

/* A QP of each bank, 4 to 7; QP is among them. */
static void banks_up(Rig *g)
{
    for (unsigned qp = 4; qp < 8; qp++) {
        rcl_qp(g->r, qp, 1, qp, 0);
    }
}

static void pause_all(Rig *g, uint16_t quanta, uint64_t count)
{
    uint8_t f[MIN_FRAME] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 0xb,
                             0x88, 0x08, 1, 1, 0, 0xff };

    for (unsigned c = 0; c < CLASSES; c++) {
        stw_be_p(f + 18 + 2 * c, quanta);
    }
    wire_put(g, f, MIN_FRAME);
    wait_counter(g, "pfc_rx", count);
}

static void expect_log(Rig *g, uint64_t reg, uint64_t v, const char *text)
{
    fixture_logged(g->r->f, "");
    rcl_set(g->r, reg, v);
    g_assert_true(fixture_logged(g->r->f, text));
}

static void expect_request(Rig *g, unsigned qp, unsigned psn)
{
    Got got;

    wire_get(g, &got);
    g_assert_cmpuint(got.opcode, ==, SEND);
    g_assert_cmpuint(got.qp, ==, qp);
    g_assert_cmpuint(got.psn, ==, psn);
}

/* ---- frames ---- */

/* Which format, and what is wrong with none or two. */
static void test_format(void)
{
    Rig g = rig_start("", GEN1);
    uint64_t base = STOP_CBFC | ALL_OPEN | VC_MAP;
    Got got;

    g_assert_cmphex(rcl_get(g.r, RCL_LIMITS), ==,
                    1024 | 4ull << 16 | 512ull << 24 | 16ull << 36 |
                    1344ull << 48);
    g_assert_cmphex(rcl_get(g.r, RCL_OST_FREE), ==, 512 | 16 << 16);
    expect_log(&g, RCL_AFH_CFG_EN, base, "not one format");
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    g_assert_cmphex(got.type, ==, 0x0800);
    expect_log(&g, RCL_AFH_CFG_EN, base | GEN1 | 1 << RCL_CFG_GEN2,
               "not one format");
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    g_assert_cmphex(got.type, ==, 0x88b5);
    /* The priority needs a place. */
    expect_log(&g, RCL_AFH_CFG_EN, ALL_OPEN | VC_MAP | 1 << RCL_CFG_GEN1,
               "needs a tag");
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    g_assert_cmphex(got.type, ==, 0x8100);
    g_assert_cmphex(got.frame[6], ==, self[0]);         /* no class there */
    rig_stop(&g);
}

/* Pkt_len up to its border. */
static void test_length(void)
{
    Rig g = rig_start("", GEN1);
    Got got;

    for (unsigned len = 118; len <= 122; len++) {
        rcl_post(g.r, QP, len, len, 0);
        wire_get(&g, &got);
        g_assert_cmpuint(got.field, ==, len < 120 ? RH + len : 0);
        g_assert_cmpuint(got.pad, ==, -len & 3);
        g_assert_cmpuint(got.len, ==, HEAD + RH + (len + 3) / 4 * 4 + ICRC);
        g_assert_cmphex(got.data[len - 1], ==, (uint8_t)(2 * len - 1));
    }
    rig_stop(&g);
}

/* Each flow has its traffic class, and its PRI in a tag. */
static void test_classes(void)
{
    static const uint8_t tc[] = { 0x02, 0x06, 0x0a, 0x0e, 0x12, 0x1a };
    Rig g = rig_start("", GEN1);
    Got got;

    banks_up(&g);
    rcl_set(g.r, RCL_TRAFFIC_CLASS, 0x1a120e0a0602);
    for (unsigned tagged = 0; tagged < 2; tagged++) {
        rcl_set(g.r, RCL_VLAN_CTRL, 0x81000000 | tagged);
        rcl_set(g.r, RCL_AFH_CFG_EN, STOP_CBFC | ALL_OPEN | VC_MAP | GEN1 |
                                     (uint64_t)tagged << RCL_CFG_VLAN_PRI);
        for (unsigned flow = 0; flow < ARRAY_SIZE(tc); flow++) {
            if (flow < 4) {
                rcl_post(g.r, 4 + flow, 64, 0, 0);
            } else if (flow == 4) {
                request(&g, tagged, 0, 64);
            } else {
                rcl_post(g.r, 0, 64, 0, RCL_ETYPE2);
            }
            wire_get(&g, &got);
            g_assert_cmphex(got.frame[6], ==, tc[flow]);
            if (tagged) {
                g_assert_cmphex(got.type, ==, 0x8100);
                g_assert_cmphex(got.frame[14] >> 5, ==, flow);
            }
        }
    }
    rig_stop(&g);
}

/* AFH_GEN2_16b of 64 bytes, as the peer sends it; its length. */
static size_t gen2_make(uint8_t *f, uint8_t key, unsigned psn)
{
    uint8_t gen1[256];
    size_t n = frame_make(gen1, SEND, TS, RH + 64, psn, QP, 64);
    const uint8_t *data = gen1 + HEAD + RH;

    memcpy(f, gen1, HEAD + RH);
    memcpy(f + 1, data, 3);             /* DA[39:16], SA[39:16] */
    memcpy(f + 7, data + 3, 3);
    f[0] = 0x77;
    f[6] = key;
    memcpy(f + HEAD + RH, data + 6, n - HEAD - RH - 6);
    return n - 6;
}

/* Key_words; six bytes of the payload in the addresses, of which 16 bits are
 * left to be looked at. */
static void test_gen2(void)
{
    Rig g = rig_start("", 1 << RCL_CFG_GEN2);
    uint8_t f[256];
    RclGot got;
    Got out;
    size_t n;

    rcl_post(g.r, QP, 64, 7, 0);
    wire_get(&g, &out);
    g_assert_cmphex(out.frame[0], ==, 0x06);
    g_assert_cmphex(out.frame[6], ==, 0x82);
    g_assert_cmpmem(out.frame + 4, 2, peer + 4, 2);
    g_assert_cmpmem(out.frame + 1, 3, "\7\10\11", 3);
    g_assert_cmpmem(out.frame + 7, 3, "\12\13\14", 3);
    g_assert_cmphex(out.data[0], ==, 13);
    rcl_post(g.r, 0, 64, 0, RCL_ETYPE2);
    wire_get(&g, &out);
    g_assert_cmphex(out.frame[6], ==, 0x83);
    n = gen2_make(f, 0x02, 0);
    wire_put(&g, f, n);
    wait_counter(&g, "drop_key", 1);
    n = gen2_make(f, 0x82, 0);
    f[5] ^= 1;
    wire_put(&g, f, n);
    wait_counter(&g, "drop_da", 1);
    f[5] ^= 1;
    wire_put(&g, f, n);
    rcl_take(g.r, 0, &got);
    g_assert_true(rcl_is(&got, 64, 0));
    /* An answer has nothing to put there. */
    wire_get(&g, &out);
    g_assert_cmpmem(out.frame, 12, "\x12\0\0\0\0\x0b\x82\0\0\0\0\x0a", 12);
    rig_stop(&g);
}

/* AFH_CFG_EN in its other layout: the map one bit higher. */
static void test_packed(void)
{
    Rig g = rig_start(",cfg160=packed", GEN1);
    Got got;

    rcl_set(g.r, RCL_VLAN_CTRL, 0x81000001);
    rcl_set(g.r, RCL_AFH_CFG_EN, STOP_CBFC | ALL_OPEN | VC_MAP << 1 | GEN1 |
                                 1ull << RCL_CFG_VLAN_PRI);
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    g_assert_cmphex(got.frame[14] >> 5, ==, 1);
    rig_stop(&g);
}

/* ---- QPs ---- */

/* The oldest first, also after a rewind; not the same bank twice, if asked. */
static void test_order(void)
{
    Rig g = rig_start("", GEN1);
    uint8_t f[256];

    banks_up(&g);
    rcl_set(g.r, RCL_AFH_CFG_EN, STOP_CBFC | ALL_OPEN | VC_MAP | GEN1);
    rcl_set(g.r, RCL_XON_THR_RDMA, PFC_OBEY);
    for (unsigned i = 0; i < 4; i++) {
        rcl_post(g.r, 4 + i % 2, 64, i, 0);
        expect_request(&g, 4 + i % 2, i / 2);
    }
    pause_all(&g, 0xffff, 1);
    for (unsigned qp = 5; qp >= 4; qp--) {
        wire_put(&g, f, frame_make(f, ACK, 0, SYN_NAK, 0, qp, 0));
    }
    wait_counter(&g, "rx_nak", 2);
    pause_all(&g, 0, 2);
    for (unsigned i = 0; i < 4; i++) {
        expect_request(&g, 4 + i % 2, i / 2);
    }
    g_assert_cmpuint(counter(&g, "tx_type1_again"), ==, 4);
    rcl_set(g.r, RCL_CTRL, RCL_CTRL_BANK_RR);
    pause_all(&g, 0xffff, 3);
    for (unsigned i = 0; i < 4; i++) {
        rcl_post(g.r, i < 3 ? 6 : 7, 64, i, 0);
    }
    pause_all(&g, 0, 4);
    expect_request(&g, 6, 0);
    expect_request(&g, 7, 0);
    expect_request(&g, 6, 1);
    expect_request(&g, 6, 2);
    rig_stop(&g);
}

/* What a driver must not do with a QP, and an acknowledgement's time. */
static void test_qp(void)
{
    Rig g = rig_start(",time-scale=1,ost1=2", GEN1);
    uint8_t f[256], ev[RCL_RING_ENTRY];
    int64_t now;

    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 7 << 13);
    fixture_logged(g.r->f, "");
    rcl_qp(g.r, 8, 1, 9, 0);
    g_assert_true(fixture_logged(g.r->f, "peer's QP is in another bank"));
    rcl_set(g.r, RCL_TX_SPEED_MEM, 0);
    expect_log(&g, RCL_TX_SPEED_MEM, 100, "rate of a QP that was stopped");
    g_assert_cmpuint(rcl_get(g.r, RCL_TX_SPEED_MEM), ==, 0);
    rcl_post(g.r, 8, 64, 0, 0);
    g_assert_cmpuint(counter(&g, "tx_type1"), ==, 0);
    rcl_set(g.r, RCL_QP_CONTROL_STATUS, RCL_QP_FREE_BUF);
    /* Two buffers; the third packet is too much, which the driver may see. */
    rcl_set(g.r, RCL_CTRL, RCL_CTRL_TXS_OVERRUN);
    for (unsigned i = 0; i < 3; i++) {
        rcl_post(g.r, QP, 64, i, 0);
    }
    rcl_event_wait(g.r, RCL_EV_IRQ, ev);
    g_assert_cmphex(ldq_le_p(ev + 8), ==, 0x80000000 | QP << 5 | 3);
    g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==,
                    1 << RCL_INTR_TX1_CREDIT);
    expect_request(&g, QP, 0);
    expect_request(&g, QP, 1);
    now = qtest_clock_step(g.r->f->qts, 0x5000);
    wire_put(&g, f, frame_make(f, ACK, TS, SYN_ACK, 1, QP, 0));
    rcl_event_wait(g.r, RCL_EV_ACK, ev);
    g_assert_cmphex(ldl_le_p(ev + 4), ==, (uint16_t)(now - 0x1234));
    g_assert_cmpuint(ldq_le_p(ev + 8), ==, 2);
    rig_stop(&g);
}

/* ---- congestion ---- */

/* CNPs of one QP are merged for a time; bytes without any are told; TYPE2 has
 * a rate. */
static void test_congestion(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    uint8_t f[256], ev[RCL_RING_ENTRY];
    size_t n = frame_make(f, CNP, 0, 0, 0, QP, 0);

    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 7 << 13);
    rcl_set(g.r, RCL_CTRL, RCL_CTRL_CNP_MERGE);
    rcl_set(g.r, RCL_CNP_THR, 1000);
    for (unsigned i = 0; i < 3; i++) {
        if (i == 2) {
            qtest_clock_step(g.r->f->qts, 1001);
        }
        wire_put(&g, f, n);
        wait_counter(&g, "rx_cnp", i + 1);
        g_assert_cmpuint(counter(&g, "rx_cnp_merged"), ==, i > 0);
    }
    rcl_set(g.r, RCL_NOCNP, 10);
    rcl_post(g.r, QP, 64, 0, 0);
    rcl_post(g.r, QP, 100, 0, 0);
    qtest_clock_step(g.r->f->qts, 10000);
    rcl_event_wait(g.r, RCL_EV_NOCNP, ev);
    g_assert_cmpuint(lduw_le_p(ev + 2), ==, QP);
    g_assert_cmpuint(ldl_le_p(ev + 4), ==, 164);
    g_assert_cmpuint(rcl_get(g.r, RCL_TX_CC_BYTE_CNT_MEM), ==, 0);
    rcl_set(g.r, RCL_TYPE2_RATE, 100);
    for (unsigned i = 0; i < 4; i++) {
        rcl_post(g.r, 0, 64, i, RCL_ETYPE2);
    }
    g_assert_cmpuint(counter(&g, "tx_type2"), ==, 2);
    qtest_clock_step(g.r->f->qts, 4096);
    wait_counter(&g, "tx_type2", 4);
    rig_stop(&g);
}

/* ---- credits ---- */

static unsigned left(Rig *g)
{
    /* Of bank 1, QP's. */
    return rcl_get(g->r, RCL_CBFC_LEVEL0) >> 16 & 0xffff;
}

static void credits_set(Rig *g, unsigned size, int ovhd, unsigned limit)
{
    rcl_set(g->r, RCL_MAC_CBFC_CFG(1),
            size | (uint64_t)(ovhd & 0x3ff) << RCL_CBFC_OVHD_SHIFT |
            (uint64_t)limit << RCL_CBFC_LIMIT_SHIFT);
    rcl_set(g->r, RCL_CBFC_RST, 1 << 1);
}

/* What packets cost, and everything that closes or opens a VC. */
static void test_credits(void)
{
    static const struct { int ovhd; unsigned cost; } cost[] = {
        { 0, 3 }, { 2, 3 }, { 3, 4 }, { -16, 3 }, { 127, 7 },
    };
    /* 22 bytes in front of 64, ICRC, FCS: 94. */
    uint64_t cfg = ALL_OPEN | VC_MAP | GEN1 | CBFC_ALL;
    Rig g = rig_start("", GEN1);
    unsigned sent = 0;

    rcl_set(g.r, RCL_AFH_CFG_EN, cfg | limits(1));
    for (unsigned i = 0; i < ARRAY_SIZE(cost); i++) {
        credits_set(&g, 32, cost[i].ovhd, 100);
        rcl_post(g.r, QP, 64, i, 0);
        g_assert_cmpuint(counter(&g, "tx_type1"), ==, ++sent);
        g_assert_cmpuint(left(&g), ==, 100 - cost[i].cost);
    }
    /* The longest packet takes 1374 bytes, six credits: twice that is the
     * under-limit, once with the dynamic one. */
    credits_set(&g, 256, 0, 11);
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg | limits(2));
    rcl_post(g.r, QP, 64, 0, 0);
    g_assert_cmpuint(counter(&g, "tx_type1"), ==, sent);
    g_assert_cmpuint(counter(&g, "cbfc_blocked"), ==, 1);
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg | limits(2) | 1ull << RCL_CFG_DYNAMIC);
    wait_counter(&g, "tx_type1", ++sent);
    /* The MAC's reset closes all until the next set-up. */
    rcl_set(g.r, RCL_CBFC_RESET, 1);
    rcl_post(g.r, QP, 64, 0, 0);
    g_assert_cmpuint(counter(&g, "tx_type1"), ==, sent);
    credits_set(&g, 256, 0, 30);
    wait_counter(&g, "tx_type1", ++sent);
    /* Software's own stop. */
    rcl_set(g.r, RCL_AFH_CFG_EN, (cfg | limits(1)) &
                                 ~(1ull << (RCL_CFG_VC_OPEN + 1)));
    rcl_post(g.r, QP, 64, 0, 0);
    g_assert_cmpuint(counter(&g, "tx_type1"), ==, sent);
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg | limits(1));
    wait_counter(&g, "tx_type1", ++sent);
    /* Without credits: not counted for this flow, or for none. */
    credits_set(&g, 256, 0, 1);
    rcl_post(g.r, QP, 64, 0, 0);
    g_assert_cmpuint(counter(&g, "tx_type1"), ==, sent);
    rcl_set(g.r, RCL_AFH_CFG_EN, (cfg | limits(1)) &
                                 ~(1ull << (RCL_CFG_CBFC_BANK0 + 1)));
    wait_counter(&g, "tx_type1", ++sent);
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg | limits(1));
    rcl_post(g.r, QP, 64, 0, 0);
    g_assert_cmpuint(counter(&g, "tx_type1"), ==, sent);
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg | limits(1) | STOP_CBFC);
    wait_counter(&g, "tx_type1", ++sent);
    rig_stop(&g);
}

/* What the document forbids is told. */
static void test_credit_rules(void)
{
    uint64_t cfg = ALL_OPEN | GEN1 | CBFC_ALL;
    Rig g = rig_start("", GEN1);

    expect_log(&g, RCL_AFH_CFG_EN, cfg | limits(1), "two flows on one VC");
    expect_log(&g, RCL_AFH_CFG_EN, cfg | VC_MAP, "CREDIT_UF_LIMIT 0");
    expect_log(&g, RCL_AFH_CFG_EN, cfg | VC_MAP | limits(1) |
                                   2ull << RCL_CFG_DYNAMIC,
               "dynamic limit beside TYPE1");
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg | VC_MAP | limits(1));
    expect_log(&g, RCL_XON_THR_RDMA, PFC_OBEY, "CBFC and PFC together");
    rcl_set(g.r, RCL_XON_THR_RDMA, 0);
    rcl_set(g.r, RCL_MAC_CBFC_CFG(1), 100 | 30ull << RCL_CBFC_LIMIT_SHIFT);
    expect_log(&g, RCL_CBFC_RST, 1 << 1, "CREDIT_SIZE");
    rcl_set(g.r, RCL_MAC_CBFC_CFG(1), 256 | 1ull << RCL_CBFC_LIMIT_SHIFT);
    expect_log(&g, RCL_CBFC_RST, 1 << 1, "lets nothing pass");
    rig_stop(&g);
}

/* Cells of the MAC for TYPE2: what it has not passed on has taken them. */
static void test_cells(void)
{
    Rig g = rig_start("", GEN1);
    unsigned n = 0;
    Got got;

    rcl_set(g.r, RCL_CTRL, RCL_CTRL_MULTI_CREDIT);
    g_assert_cmpuint(rcl_get(g.r, RCL_MULTI_CREDIT), ==, 2048);
    while (!(rcl_get(g.r, RCL_STATUS) & RCL_STATUS_WAIT_MAC)) {
        rcl_post(g.r, 0, 1344, n, RCL_ETYPE2);
        g_assert_cmpuint(++n, <, 100000);
    }
    /* 22 bytes, payload, FCS: 1370, in cells of 128. */
    g_assert_cmpuint(rcl_get(g.r, RCL_MULTI_CREDIT), ==, 2048 - 11);
    for (unsigned i = 0; i < n; i++) {
        wire_get(&g, &got);
    }
    wait_counter(&g, "tx_type2", n);
    while (rcl_get(g.r, RCL_STATUS) & RCL_STATUS_WAIT_MAC) {
        g_usleep(1000);
    }
    g_assert_cmpuint(rcl_get(g.r, RCL_MULTI_CREDIT), ==, 2048);
    rig_stop(&g);
}

/* ---- pauses ---- */

/* The client's pins become pauses of their classes. */
static void test_pins(void)
{
    Rig g = rig_start("", GEN1);
    Got got;

    rcl_set(g.r, RCL_AFH_CFG_EN, STOP_CBFC | ALL_OPEN | VC_MAP | GEN1);
    rcl_set(g.r, RCL_XON_THR_RDMA, 0x7full << 32 | 0xfull << 46);
    for (unsigned pin = 0; pin < 5; pin++) {
        unsigned class = pin < 4 ? pin : 5;

        for (unsigned on = 1; on < 2; on--) {
            rcl_set(g.r, RCL_FLOW_STOP, on << pin);
            wire_get(&g, &got);
            g_assert_cmphex(got.type, ==, 0x8808);
            g_assert_cmphex(lduw_be_p(got.frame + 16), ==, 1 << class);
            g_assert_cmphex(!!lduw_be_p(got.frame + 18 + 2 * class), ==, on);
        }
    }
    /* A pin that is not enabled. */
    rcl_set(g.r, RCL_XON_THR_RDMA, 0x7full << 32 | 0xeull << 46);
    rcl_set(g.r, RCL_FLOW_STOP, 1);
    g_assert_cmphex(rcl_get(g.r, RCL_STATUS) >> RCL_STATUS_PFC_TX_SHIFT &
                    0xff, ==, 0);
    rig_stop(&g);
}

/* ---- TYPE3 ---- */

/* A ring of three goes round; what is beyond it, or in use, is refused. */
static void test_rings(void)
{
    Rig g = rig_start("", GEN1);
    Rcl *r = g.r;
    uint64_t md = r->mem + 0x4000, buf = r->mem + 0x90000;
    Got got;

    rcl_set(r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_RESET);
    rcl_set(r, RCL_TX_MDQ_SIZE, 3);
    rcl_set(r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN);
    for (unsigned i = 0; i < 8; i++) {
        unsigned at = i % 3;

        qtest_memset(r->f->qts, buf, i, 64);
        qtest_writeq(r->f->qts, md + at * 16,
                     64 << RCL_MD_SIZE_SHIFT | RCL_MD_SF | RCL_MD_LF);
        qtest_writeq(r->f->qts, md + at * 16 + 8, buf);
        rcl_set(r, RCL_TX_MD_HEAD_PTR, (i + 1) % 3);
        wire_get(&g, &got);
        g_assert_cmpuint(got.len, ==, 64);
        g_assert_cmphex(got.frame[63], ==, i);
        g_assert_cmpuint(rcl_get(r, RCL_TX_MD_TAIL_PTR), ==, (i + 1) % 3);
    }
    expect_log(&g, RCL_TX_MD_HEAD_PTR, 3, "head beyond the ring");
    expect_log(&g, RCL_TX_MDQ_SIZE, 4, "a ring in use was changed");
    g_assert_cmpuint(rcl_get(r, RCL_TX_MDQ_SIZE), ==, 3);
    rig_stop(&g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rclink-rules/format", test_format);
    qtest_add_func("/rclink-rules/length", test_length);
    qtest_add_func("/rclink-rules/classes", test_classes);
    qtest_add_func("/rclink-rules/gen2", test_gen2);
    qtest_add_func("/rclink-rules/packed", test_packed);
    qtest_add_func("/rclink-rules/order", test_order);
    qtest_add_func("/rclink-rules/qp", test_qp);
    qtest_add_func("/rclink-rules/congestion", test_congestion);
    qtest_add_func("/rclink-rules/credits", test_credits);
    qtest_add_func("/rclink-rules/credit-rules", test_credit_rules);
    qtest_add_func("/rclink-rules/cells", test_cells);
    qtest_add_func("/rclink-rules/pins", test_pins);
    qtest_add_func("/rclink-rules/rings", test_rings);
    return g_test_run();
}
