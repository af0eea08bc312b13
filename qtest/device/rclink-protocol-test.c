/*
 * rclink: whose frame it is, what a port without transport headers does, and the
 * protocol's times, seen by a peer that puts every frame together by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/pci-pc.h"
#include "standard-headers/linux/pci_regs.h"
#include "rclink-peer.h"

enum {
    STANDARD = 1 << RCL_CFG_STANDARD, LITE = 1 << RCL_CFG_LITE,
    UDP_TYPE1 = 4791, UDP_TYPE2 = 4792,         /* as rcl_up() sets them */
    PROTO_TCP = 6, PROTO_UDP = 17,
    TC_ACK = 0x12, TC_TYPE2 = 0x1a,
};

/* ---- receive classification (RC Link §12.10) ---- */

typedef struct Shape {
    const char *name, *counter;
    uint16_t type, dport, fragment;
    uint8_t tos, ihl, proto;
    bool tagged, elsewhere;     /* to another address */
} Shape;

static void ip_put(uint8_t *p, const Shape *s, size_t bytes)
{
    uint32_t sum = 0;

    memset(p, 0, s->ihl * 4);
    p[0] = 0x40 | s->ihl;
    p[1] = s->tos;
    stw_be_p(p + 2, s->ihl * 4 + bytes);
    stw_be_p(p + 6, s->fragment);
    p[8] = 64;
    p[9] = s->proto;
    stl_be_p(p + 12, 0x0a000002);
    stl_be_p(p + 16, 0x0a000001);
    for (unsigned i = 0; i < s->ihl * 4; i += 2) {
        sum += lduw_be_p(p + i);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    stw_be_p(p + 10, ~((sum & 0xffff) + (sum >> 16)));
}

/* A request of 64 bytes for QP, with ICRC where TYPE1 has one; its length. */
static size_t shape_make(uint8_t *f, const Shape *s, unsigned psn)
{
    size_t body = RH + 64 + (g_str_equal(s->counter, "rx_type2") ? 0 : ICRC);
    uint8_t gen1[256], *p = f + 12;

    frame_make(gen1, SEND, TS, RH + 64, psn, QP, 64);
    memcpy(f, gen1, 12);
    f[5] ^= s->elsewhere;
    if (s->tagged) {
        stl_be_p(p, 0x81000064);
        p += 4;
    }
    stw_be_p(p, s->type);
    p += 2;
    if (s->type == 0x0800) {
        ip_put(p, s, 8 + body);
        p += s->ihl * 4;
        stw_be_p(p, 0xc000);
        stw_be_p(p + 2, s->dport);
        stw_be_p(p + 4, 8 + body);
        stw_be_p(p + 6, 0);
        p += 8;
    }
    memcpy(p, gen1 + HEAD, body);
    return p + body - f;
}

#define UDP(port) .type = 0x0800, .ihl = 5, .proto = PROTO_UDP, .dport = port

static const Shape shapes[] = {
    { "UDP of TYPE1", "rx_type1", UDP(UDP_TYPE1) },
    { "UDP of TYPE2", "rx_type2", UDP(UDP_TYPE2) },
    { "UDP of another port", "rx_type3", UDP(UDP_TYPE1 - 1) },
    { "not UDP", "rx_type3", .type = 0x0800, .ihl = 5, .proto = PROTO_TCP,
      .dport = UDP_TYPE1 },
    { "a fragment", "rx_type3", UDP(UDP_TYPE1), .fragment = 0x2000 },
    { "the rest of one", "rx_type3", UDP(UDP_TYPE1), .fragment = 8 },
    { "options", "rx_type3", .type = 0x0800, .ihl = 6, .proto = PROTO_UDP,
      .dport = UDP_TYPE1 },
    { "tagged", "rx_type1", UDP(UDP_TYPE1), .tagged = true },
    { "MAC_TYPE1", "rx_type1", .type = 0x88b5 },
    { "MAC_TYPE2", "rx_type2", .type = 0x88b6 },
    { "MAC_TYPE1, tagged", "rx_type1", .type = 0x88b5, .tagged = true },
    { "another type", "rx_type3", .type = 0x86dd },
    /* Who is meant is TYPE1's to look at, alone. */
    { "another's TYPE1", "drop_da", UDP(UDP_TYPE1), .elsewhere = true },
    { "another's TYPE2", "rx_type2", UDP(UDP_TYPE2), .elsewhere = true },
    { "another's TYPE3", "rx_type3", .type = 0x86dd, .elsewhere = true },
};

static void test_kinds(void)
{
    static const char *const name[] = {
        "rx_type1", "rx_type2", "rx_type3", "drop_da",
    };
    uint64_t want[ARRAY_SIZE(name)] = { 0 };
    Rig g = rig_start("", STANDARD);

    for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++) {
        uint8_t f[256];

        g_test_message("%s", shapes[i].name);
        wire_put(&g, f, shape_make(f, &shapes[i], want[0]));
        for (unsigned k = 0; k < ARRAY_SIZE(name); k++) {
            want[k] += g_str_equal(shapes[i].counter, name[k]);
            wait_counter(&g, name[k], want[k]);
        }
    }
    for (unsigned k = 0; k < ARRAY_SIZE(name); k++) {
        g_assert_cmpuint(counter(&g, name[k]), ==, want[k]);
    }
    rig_stop(&g);
}

/* ECN 11 alone is told to the sender, and only where the port is to. */
static void test_ecn(void)
{
    Rig g = rig_start("", STANDARD);
    Shape s = { .counter = "rx_type1", UDP(UDP_TYPE1) };

    for (unsigned i = 0; i < 8; i++) {
        uint8_t f[256];

        rcl_set(g.r, RCL_CTRL, i < 4 ? RCL_CTRL_ECN : 0);
        s.tos = 0xa8 | i % 4;
        wire_put(&g, f, shape_make(f, &s, i));
        wait_counter(&g, "tx_ack", i + 1);
        g_assert_cmpuint(counter(&g, "tx_cnp"), ==, i >= 3);
    }
    rig_stop(&g);
}

/* A port that is not one of UDP's: TYPE2's before it is set; and RDMA_EN, which decides
 * whether the port's packets pass, not whose a frame is. */
static void test_ports(void)
{
    static const struct { Shape s; bool off; const char *counter; } step[] = {
        { { "TYPE1, off", "rx_type1", UDP(UDP_TYPE1) }, true, "drop_off" },
        { { "TYPE2, off", "rx_type2", UDP(UDP_TYPE2) }, true, "drop_off" },
        { { "another, off", "rx_type3", UDP(UDP_TYPE1 + 9) }, true, "rx_type3" },
        { { "port 0", "rx_type3", UDP(0) }, false, "rx_type3" },
        { { "TYPE2's no more", "rx_type3", UDP(UDP_TYPE2) }, false, "rx_type3" },
        { { "TYPE1's is fixed", "rx_type1", UDP(UDP_TYPE1) }, false, "rx_type1" },
    };
    Rig g = rig_start("", STANDARD);

    for (unsigned i = 0; i < ARRAY_SIZE(step); i++) {
        uint64_t was = counter(&g, step[i].counter);
        uint8_t f[256];

        g_test_message("%s", step[i].s.name);
        if (!step[i].off) {
            rcl_set(g.r, RCL_UDP_PORT_MEM2, 0xc100);
        }
        rcl_set(g.r, RCL_RDMA_EN, !step[i].off);
        wire_put(&g, f, shape_make(f, &step[i].s, 0));
        wait_counter(&g, step[i].counter, was + 1);
    }
    g_assert_cmpuint(counter(&g, "drop_off"), ==, 2);
    g_assert_cmpuint(counter(&g, "rx_type3"), ==, 3);
    g_assert_cmpuint(counter(&g, "rx_type2"), ==, 0);
    rig_stop(&g);
}

/* As much of DA is compared as the frame's format has: a Standard frame on a port of
 * AFH_GEN2_16b is another's where any of 48 bits differ. */
static void test_da_of_frame(void)
{
    static const Shape s = { .counter = "rx_type1", UDP(UDP_TYPE1) };
    Rig g = rig_start("", 1 << RCL_CFG_GEN2);
    size_t n;

    for (unsigned i = 0; i < 7; i++) {
        uint8_t f[256];

        n = shape_make(f, &s, 0);
        if (i < 6) {
            f[i] ^= 0x10;
        }
        wire_put(&g, f, n);
        wait_counter(&g, i < 6 ? "drop_da" : "rx_type1", i < 6 ? i + 1 : 1);
    }
    g_assert_cmpuint(counter(&g, "drop_da"), ==, 6);
    rig_stop(&g);
}

/* ---- AFH_Lite (RC Link §12.3, §12.10) ---- */

/* No transport header, no tag, no answer: a packet is gone when it was sent, and whose it
 * is say XPU_ID, of Dest_qpid, and the class. */
static void test_lite(void)
{
    Rig g = rig_start(",time-scale=1", LITE);
    uint8_t f[70];
    RclGot got;
    Got out;

    rcl_set(g.r, RCL_VLAN_CTRL, 0x81000001);
    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 2 << 13 | 10);
    rcl_post(g.r, QP, 64, 7, 0);
    wire_get(&g, &out);
    g_assert_cmpuint(out.len, ==, 12 + 58);
    g_assert_cmpmem(out.frame, 12, "\x06\x07\x08\x09\0\x0b\x82\x0a\x0b\x0c\0\x01",
                    12);
    for (unsigned i = 0; i < 58; i++) {
        g_assert_cmphex(out.frame[12 + i], ==, 7 + 6 + i);
    }
    g_assert_cmpuint(rcl_get(g.r, RCL_OST_FREE) & 0xffff, ==, 512);
    qtest_clock_step(g.r->f->qts, 1000000);
    g_assert_true(wire_quiet(&g));
    g_assert_cmpuint(counter(&g, "timeouts"), ==, 0);
    rcl_post(g.r, 0, 64, 0, RCL_ETYPE2);
    wire_get(&g, &out);
    g_assert_cmphex(out.frame[0], ==, TC_TYPE2);
    g_assert_cmphex(out.frame[6], ==, 0x83);
    /* Class of bank 3, XPU_ID 0102. */
    for (unsigned i = 0; i < 58; i++) {
        f[12 + i] = 6 + i;
    }
    memcpy(f, "\x0e\0\1\2\0\x0a\x82\3\4\5\1\2", 12);
    wire_put(&g, f, sizeof(f));
    wait_counter(&g, "drop_qp", 1);
    /* XPU_ID 1: a QP that is off, and on. */
    f[10] = 0;
    f[11] = 1;
    wire_put(&g, f, sizeof(f));
    wait_counter(&g, "drop_disabled", 1);
    g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==,
                    1 << RCL_INTR_RX_DISABLED);
    g_assert_cmphex(rcl_get(g.r, RCL_IRQ_INFO), ==, 1ull << 31 | 7 << 5 | 5);
    rcl_qp(g.r, 1 << 2 | 3, 1, 3, 0);
    wire_put(&g, f, sizeof(f));
    rcl_take(g.r, 0, &got);
    g_assert_true(rcl_is(&got, 64, 0));
    g_assert_cmpuint(got.qp, ==, 1 << 2 | 3);
    f[0] = TC_TYPE2;
    f[6] = 0x83;
    wire_put(&g, f, sizeof(f));
    rcl_take(g.r, 1, &got);
    g_assert_true(rcl_is(&got, 64, 0));
    f[0] = 0xfe;                        /* nobody's class */
    wire_put(&g, f, sizeof(f));
    wait_counter(&g, "rx_type3", 1);
    f[0] = 0x0e;
    f[5] ^= 1;
    f[6] = 0x82;
    wire_put(&g, f, sizeof(f));
    wait_counter(&g, "drop_da", 1);
    g_assert_true(wire_quiet(&g));
    rig_stop(&g);
}

/* ---- times ---- */

/* The peer's client is not ready: the QP rests for the time that it is told, which counts
 * as a try of its own kind. */
static void test_rnr(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    Got got;

    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 7 << 13 | 1000);
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    for (unsigned n = 1; n < 3; n++) {
        answer(&g, 0x20 | 1, 0);        /* 10 us */
        wait_counter(&g, "rx_rnr", n);
        g_assert_cmphex(rcl_get(g.r, RCL_RETRY_CNT_MEM), ==, n << 4);
        qtest_clock_step(g.r->f->qts, 9999);
        g_assert_true(wire_quiet(&g));
        qtest_clock_step(g.r->f->qts, 1);
        wire_get(&g, &got);
        g_assert_cmpuint(got.psn, ==, 0);
    }
    answer(&g, SYN_ACK, 0);
    wait_counter(&g, "rx_ack", 1);
    g_assert_cmphex(rcl_get(g.r, RCL_RETRY_CNT_MEM), ==, 0);
    g_assert_cmpuint(counter(&g, "timeouts"), ==, 0);
    rig_stop(&g);
}

/* An answer has the request's time where FACK asked for it, or tx_ack_time_en is set. */
static void test_ack_time(void)
{
    Rig g = rig_start("", GEN1);
    Got got;

    for (unsigned i = 0; i < 4; i++) {
        rcl_set(g.r, RCL_CTRL, i & 2 ? RCL_CTRL_ACK_TIME : 0);
        request(&g, i, i & 1 ? FACK : 0, 64);
        wire_get(&g, &got);
        g_assert_cmpuint(got.opcode, ==, ACK);
        g_assert_cmpuint(got.psn, ==, i);
        g_assert_cmpuint(got.fack, ==, 0);
        g_assert_cmpuint(got.ts_en, ==, i > 0);
        g_assert_cmphex(got.ts, ==, i > 0 ? 0x1234 : 0);
    }
    rig_stop(&g);
}

/* Windows of all five lengths; what was sent too much is a debt of the next ones. */
static void test_windows(void)
{
    for (unsigned w = 0; w < 5; w++) {
        Rig g = rig_start(",time-scale=1", GEN1);
        int64_t window = INT64_C(4096) << w, now;
        QTestState *qts = g.r->f->qts;
        uint8_t ev[RCL_RING_ENTRY];
        Got got;

        rcl_set(g.r, RCL_RETRY_TIMER_CFG, 7 << 13);
        rcl_set(g.r, RCL_CC_WINDOW, w);
        rcl_set(g.r, RCL_TX_SPEED_MEM, 100);
        now = qtest_clock_step(qts, 1);
        qtest_clock_step(qts, window - now % window);
        rcl_post(g.r, QP, 1000, 0, 0);
        rcl_post(g.r, QP, 64, 1, 0);
        wire_get(&g, &got);
        /* 1000, less 100 in each of ten. */
        qtest_clock_step(qts, 10 * window - 1);
        g_assert_true(wire_quiet(&g));
        g_assert_cmpuint(counter(&g, "tx_type1"), ==, 1);
        qtest_clock_step(qts, 1);
        wire_get(&g, &got);
        g_assert_cmpuint(got.psn, ==, 1);
        /* Opened by its set-up, stopped, opened. */
        for (unsigned i = 0; i < 3; i++) {
            rcl_event_wait(g.r, RCL_EV_QP_EN, ev);
            g_assert_cmpuint(lduw_le_p(ev + 2), ==, QP);
            g_assert_cmpuint(ev[1] & RCL_EV_SET, ==, i == 1 ? 0 : RCL_EV_SET);
        }
        rig_stop(&g);
    }
}

/* Eight QPs are remembered: the ninth takes the place of the oldest. */
static void test_cnp_places(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    unsigned n = 0;

    rcl_set(g.r, RCL_CTRL, RCL_CTRL_CNP_MERGE);
    rcl_set(g.r, RCL_CNP_THR, 1000000);
    for (unsigned qp = QP + 1; qp <= QP + 8; qp++) {
        rcl_qp(g.r, qp, 1, qp, 0);
    }
    /* QP 5 to 13, 5 again, which has gone, and 13, which has not. */
    for (unsigned i = 0; i < 11; i++) {
        unsigned qp = i < 9 ? QP + i : i == 9 ? QP : QP + 8;
        uint8_t f[256];

        qtest_clock_step(g.r->f->qts, 1);
        wire_put(&g, f, frame_make(f, CNP, 0, 0, 0, qp, 0));
        wait_counter(&g, "rx_cnp", ++n);
        g_assert_cmpuint(counter(&g, "rx_cnp_merged"), ==, i == 10);
    }
    rig_stop(&g);
}

/* ---- links, resets ---- */

/* A short cut is repaired; a long one ends the QP, which stays silent until it is set up
 * anew. */
static void test_cut(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    Got got;

    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 3 << 13 | 100);
    for (unsigned cut = 1; cut < 4; cut += 2) {
        rcl_post(g.r, QP, 64, 0, 0);
        wire_get(&g, &got);
        rcl_link_set(g.r, false);
        for (unsigned i = 0; i < cut; i++) {
            qtest_clock_step(g.r->f->qts, 100000);
        }
        rcl_link_set(g.r, true);
        rcl_wait_link(g.r, true);
        if (cut == 1) {
            wire_get(&g, &got);
            g_assert_cmpuint(got.psn, ==, 0);
            answer(&g, SYN_ACK, 0);
            wait_counter(&g, "rx_ack", 1);
            g_assert_cmpuint(counter(&g, "qp_fatal"), ==, 0);
        }
    }
    expect_irq(&g, 0x80000000 | QP << 5 | 2);
    g_assert_true(wire_quiet(&g));
    recover(&g, 2);
    rig_stop(&g);
}

static bool enabled(Rig *g)
{
    rcl_set(g->r, RCL_QP_ID_SET, QP);
    return rcl_get(g->r, RCL_QP_CONTROL_STATUS) & RCL_QP_EN;
}

/* Each reset takes its own part along and no other. */
static void test_domains(void)
{
    Rig g = rig_start("", GEN1);
    Rcl *r = g.r;
    Got got;

    rcl_set(r, RCL_RETRY_TIMER_CFG, 7 << 13);
    rcl_set(r, RCL_TYPE2_RATE, 1);
    rcl_post(r, QP, 64, 0, 0);
    wire_get(&g, &got);
    rcl_post(r, 0, 64, 0, RCL_ETYPE2);
    wire_get(&g, &got);
    rcl_post(r, 0, 64, 0, RCL_ETYPE2);          /* waits for its rate */
    g_assert_cmphex(rcl_get(r, RCL_OST_FREE), ==, 511 | 15 << 16);
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_TYPE1);
    g_assert_cmphex(rcl_get(r, RCL_OST_FREE), ==, 512 | 15 << 16);
    g_assert_false(enabled(&g));
    g_assert_cmphex(rcl_get(r, RCL_MAC_ADDR) >> 48, ==, 0x88b5);
    rcl_qp(r, QP, 1, QP, 0);
    rcl_post(r, QP, 64, 0, 0);
    wire_get(&g, &got);
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_TYPE2);
    g_assert_cmphex(rcl_get(r, RCL_OST_FREE), ==, 511 | 16 << 16);
    g_assert_true(enabled(&g));
    g_assert_cmphex(rcl_get(r, RCL_NONR_DMA_CTRL), ==,
                    RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_TYPE3);
    g_assert_cmphex(rcl_get(r, RCL_NONR_DMA_CTRL), ==,
                    RCL_NONR_TX_RESET | RCL_NONR_RX_RESET);
    g_assert_cmpuint(rcl_get(r, RCL_TX_MDQ_SIZE), ==, RCL_MDS);
    g_assert_true(enabled(&g));
    /* The MAC's: its credits are set up anew, packets stay. */
    rcl_set(r, RCL_MAC_CBFC_CFG(1), 64 | 50ull << RCL_CBFC_LIMIT_SHIFT);
    rcl_set(r, RCL_CBFC_RST, 0xff);
    g_assert_cmphex(rcl_get(r, RCL_CBFC_LEVEL0) & 0xffff, ==, 0);
    rcl_set(r, RCL_AFH_CFG_EN, rcl_get(r, RCL_AFH_CFG_EN) |
                               1ull << RCL_CFG_VC_MAP);
    g_assert_cmphex(rcl_get(r, RCL_CBFC_LEVEL0) & 0xffff, ==, 50);
    rcl_set(r, RCL_MAC_CBFC_CFG(1), 64 | 40ull << RCL_CBFC_LIMIT_SHIFT);
    g_assert_cmphex(rcl_get(r, RCL_CBFC_LEVEL0) & 0xffff, ==, 50);
    rcl_set(r, RCL_SOFT_RESET, RCL_RESET_MAC);
    g_assert_cmphex(rcl_get(r, RCL_CBFC_LEVEL0) & 0xffff, ==, 40);
    g_assert_cmphex(rcl_get(r, RCL_OST_FREE), ==, 511 | 16 << 16);
    /* The function's, as the bus has it. */
    qpci_config_writew(r->f->pci, 0x60 + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
    rcl_map(r);
    g_assert_cmphex(rcl_get(r, RCL_RDMA_EN), ==, 0);
    g_assert_cmphex(rcl_get(r, RCL_OST_FREE), ==, 512 | 16 << 16);
    g_assert_cmphex(rcl_get(r, RCL_MAC_ADDR), ==, 0x02000000000aull);
    g_assert_false(enabled(&g));
    rcl_up(r, GEN1);
    rcl_qp(r, QP, 1, QP, 9);
    rcl_post(r, QP, 64, 0, 0);
    wire_get(&g, &got);
    g_assert_cmpuint(got.psn, ==, 9);
    rig_stop(&g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rclink-protocol/kinds", test_kinds);
    qtest_add_func("/rclink-protocol/ports", test_ports);
    qtest_add_func("/rclink-protocol/da-of-frame", test_da_of_frame);
    qtest_add_func("/rclink-protocol/ecn", test_ecn);
    qtest_add_func("/rclink-protocol/lite", test_lite);
    qtest_add_func("/rclink-protocol/rnr", test_rnr);
    qtest_add_func("/rclink-protocol/ack-time", test_ack_time);
    qtest_add_func("/rclink-protocol/windows", test_windows);
    qtest_add_func("/rclink-protocol/cnp-places", test_cnp_places);
    qtest_add_func("/rclink-protocol/cut", test_cut);
    qtest_add_func("/rclink-protocol/domains", test_domains);
    return g_test_run();
}
