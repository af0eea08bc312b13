/*
 * rclink: single sentences of the document, as a driver and a peer meet them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rclink-peer.h"

/* The byte count that a set-up makes 0 is not reported (RC Link §12.11.7). */
static void test_nocnp_zero(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    uint8_t ev[RCL_RING_ENTRY];
    Got got;

    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 0);
    rcl_set(g.r, RCL_EVENT_MASK, 1 << RCL_EV_NOCNP);
    g.r->ev_tail = rcl_get(g.r, RCL_RING(RCL_RING_EVENT) + RCL_RING_HEAD);
    rcl_set(g.r, RCL_NOCNP, 10);
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    rcl_set(g.r, RCL_TX_CC_BYTE_CNT_MEM, 0);
    qtest_clock_step(g.r->f->qts, 20000);
    rcl_post(g.r, QP, 100, 0, 0);
    wire_get(&g, &got);
    qtest_clock_step(g.r->f->qts, 20000);
    rcl_event_wait(g.r, RCL_EV_NOCNP, ev);
    g_assert_cmpuint(ldl_le_p(ev + 4), ==, 100);
    rig_stop(&g);
}

/* TYPE1's reset by software gives each packet's credit back (§12.1, §12.11.1). */
static void test_type1_dropped(void)
{
    Rig g = rig_start("", GEN1);
    Got got;

    for (unsigned i = 0; i < 3; i++) {
        rcl_post(g.r, QP, 64, i, 0);
        wire_get(&g, &got);
    }
    g_assert_cmpuint(rcl_get(g.r, RCL_OST_FREE) & 0xffff, ==, 509);
    rcl_set(g.r, RCL_SOFT_RESET, RCL_RESET_TYPE1);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t ev[RCL_RING_ENTRY];

        rcl_event_wait(g.r, RCL_EV_CREDIT, ev);
        g_assert_cmpuint(lduw_le_p(ev + 2), ==, QP);
        g_assert_cmphex(ldl_le_p(ev + 4), ==, RCL_EV_DROPPED + RCL_DROP_RESET);
    }
    g_assert_cmpuint(rcl_get(g.r, RCL_OST_FREE) & 0xffff, ==, 512);
    rig_stop(&g);
}

/* tx_ack_time_en: the answers to a duplicate and to a gap have a time, too (§12.3.5). */
static void test_all_acks(void)
{
    static const struct { unsigned psn, syndrome; } step[] = {
        { 0, SYN_ACK }, { 0, SYN_ACK }, { 2, SYN_NAK },
    };
    Rig g = rig_start("", GEN1);

    rcl_set(g.r, RCL_CTRL, RCL_CTRL_ACK_TIME);
    for (unsigned i = 0; i < ARRAY_SIZE(step); i++) {
        Got got;

        request(&g, step[i].psn, 0, 64);
        wire_get(&g, &got);
        g_assert_cmpuint(got.opcode, ==, ACK);
        g_assert_cmphex(got.field, ==, step[i].syndrome);
        g_assert_cmpuint(got.ts_en, ==, 1);
        g_assert_cmphex(got.ts, ==, 0x1234);
    }
    rig_stop(&g);
}

/* DMA_INTR_ST0[4] is there as long as DMA_INTR_ST1 has a bit (§12.12.3). */
static void test_abnormal(void)
{
    Rig g = rig_start("", GEN1);

    rcl_md_post(g.r, "", 0);
    g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST1), ==, 1 << RCL_ST1_TX_ZERO);
    rcl_set(g.r, RCL_DMA_INTR_ST0, 0x1f);
    g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0), ==, 1 << RCL_ST0_ABNORMAL);
    rcl_set(g.r, RCL_DMA_INTR_ST1, 1 << RCL_ST1_TX_ZERO);
    g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0), ==, 0);
    rig_stop(&g);
}

/* What hardware cannot refuse is told when a register makes it so (§12.5). */
static void test_constraints(void)
{
    Rig g = rig_start("", GEN1);
    uint64_t cfg = GEN1 | 0x3full << RCL_CFG_CBFC_BANK0 |
                   0x1ac688ull << RCL_CFG_VC_MAP | 1ull << RCL_CFG_CBFC_TYPE2 |
                   01111ull << RCL_CFG_UF_TYPE1 | 0xffull << RCL_CFG_VC_OPEN;
    uint64_t stop = 1ull << RCL_CFG_STOP_CBFC, hold = 0x7full << 32, was;

    /* The MAC first: a limit of one longest frame, which a tag makes too small. */
    for (unsigned v = 0; v < 8; v++) {
        rcl_set(g.r, RCL_MAC_CBFC_CFG(v), 32 | (v == 1 ? 43ull : 1000) << 22);
    }
    rcl_set(g.r, RCL_CBFC_RST, 0xff);
    rcl_set(g.r, RCL_XON_THR_RDMA, hold);
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg);
    was = counter(&g, "guest_errors");
    rcl_set(g.r, RCL_VLAN_CTRL, 0x81000001);
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, ++was);
    rcl_set(g.r, RCL_VLAN_CTRL, 0x81000000);
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, was);
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg | 2ull << RCL_CFG_UF_TYPE1);
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, ++was);
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg);
    rcl_set(g.r, RCL_XON_THR_RDMA, hold & ~(1ull << 32));
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, ++was);
    /* One priority of two flows, with PFC. */
    rcl_set(g.r, RCL_AFH_CFG_EN, cfg | stop);
    rcl_set(g.r, RCL_XON_THR_RDMA, 3ull << 39);
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, was);
    rcl_set(g.r, RCL_AFH_CFG_EN, (cfg | stop) & ~(7ull << (RCL_CFG_VC_MAP + 3)));
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, ++was);
    rig_stop(&g);
}

/* Pkt_len is the frame's (§12.3.5): neither less than there is nor 0 for what is not
 * above 127; TYPE2 has no opcode but 0. */
static void test_lengths(void)
{
    Rig g = rig_start("", GEN1);
    uint8_t f[2048] = { 0 };
    size_t n;

    n = frame_make(f, SEND, TS, 0, 0, QP, 64);
    wire_put(&g, f, n);
    wait_counter(&g, "drop_short", 1);
    memset(f, 0, sizeof(f));
    frame_make(f, SEND, TS, 32 + 8, 0, QP, 32);
    wire_put(&g, f, 65);
    wait_counter(&g, "drop_short", 2);
    g_assert_cmpuint(counter(&g, "rx_type1"), ==, 0);
    wire_put(&g, f, 64);
    wait_counter(&g, "rx_type1", 1);
    n = frame_make(f, ACK, 0, SYN_ACK, 0, QP, 0);
    stw_be_p(f + 12, 0x88b6);
    wire_put(&g, f, n);
    wait_counter(&g, "drop_opcode", 1);
    g_assert_cmpuint(counter(&g, "rx_type2"), ==, 0);
    rig_stop(&g);
}

/* RETRY_TMO is of what is sent again (§12.11.7). */
static void test_retry_told(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    uint64_t head = RCL_RING(RCL_RING_EVENT) + RCL_RING_HEAD, was;
    Got got;

    rcl_set(g.r, RCL_EVENT_MASK, 1 << RCL_EV_RETRY_TMO);
    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 2 << 13 | 100);
    was = rcl_get(g.r, head);
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    qtest_clock_step(g.r->f->qts, 100000);
    wire_get(&g, &got);
    g_assert_cmpuint(rcl_get(g.r, head), ==, was + 1);
    qtest_clock_step(g.r->f->qts, 100000);
    wait_counter(&g, "qp_fatal", 1);
    g_assert_cmpuint(rcl_get(g.r, head), ==, was + 1);
    rig_stop(&g);
}

/* FACK has its answer behind a gap, too (§12.3.5). */
static void test_fack_in_gap(void)
{
    Rig g = rig_start("", GEN1);

    request(&g, 1, 0, 64);
    expect_answer(&g, SYN_NAK, 0);
    request(&g, 2, FACK, 64);
    expect_answer(&g, SYN_ACK, 0xfff);
    g_assert_cmpuint(counter(&g, "rx_gap"), ==, 2);
    g_assert_cmpuint(counter(&g, "rx_type1"), ==, 0);
    rig_stop(&g);
}

/* A NAK that ends a QP is about a packet; so is its interrupt (§12.12). */
static void test_nak_idle(void)
{
    Rig g = rig_start("", GEN1);
    Got got;

    answer(&g, 0x61, 0);
    wait_counter(&g, "rx_nak", 1);
    g_assert_cmpuint(counter(&g, "qp_fatal"), ==, 0);
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    answer(&g, 0x61, 0);
    wait_counter(&g, "qp_fatal", 1);
    g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    rig_stop(&g);
}

/* What a QP's registers say together (§12.5, §12.14.1, §12.15.3). */
static void test_qp_rules(void)
{
    Rig g = rig_start("", GEN1);
    uint64_t was = counter(&g, "guest_errors"), dest;

    rcl_set(g.r, RCL_QP_ID_SET, QP);
    dest = rcl_get(g.r, RCL_DEST_IP_MEM);
    rcl_set(g.r, RCL_DEST_IP_MEM, dest ^ 1ull << 32);
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, ++was);
    rcl_set(g.r, RCL_DEST_IP_MEM, dest);
    rcl_set(g.r, RCL_QP_CONTROL_STATUS, 0);
    rcl_set(g.r, RCL_TX_SPEED_MEM, 0);
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, was);
    rcl_set(g.r, RCL_TX_CC_BYTE_CNT_MEM, 1);
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, ++was);
    rcl_set(g.r, RCL_RX_REQ_EPSN, 5);
    rcl_set(g.r, RCL_TX_EPSN, 9);
    rcl_set(g.r, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    g_assert_cmpuint(counter(&g, "guest_errors"), ==, ++was);
    g_assert_cmpuint(rcl_get(g.r, RCL_TX_EPSN), ==, 5);
    rig_stop(&g);
}

/* With CBFC the client's pin makes a pause alone, whatever the RNR enables say (§12.5): the
 * packet waits, and so do its credits. */
static void test_no_rnr(void)
{
    uint64_t cfg = GEN1 | 0x3full << RCL_CFG_CBFC_BANK0 |
                   0x1ac688ull << RCL_CFG_VC_MAP | 1ull << RCL_CFG_CBFC_TYPE2 |
                   01111ull << RCL_CFG_UF_TYPE1 | 0xffull << RCL_CFG_VC_OPEN |
                   0xfull << RCL_CFG_RNR;

    for (unsigned cbfc = 0; cbfc < 2; cbfc++) {
        Rig g = rig_start("", GEN1);
        RclGot in;
        Got got;

        rcl_set(g.r, RCL_XON_THR_RDMA, 0x7full << 32 | 0xfull << 46);
        for (unsigned v = 0; v < 8; v++) {
            rcl_set(g.r, RCL_MAC_CBFC_CFG(v), 256 | 1000ull << 22);
        }
        rcl_set(g.r, RCL_CBFC_RST, 0xff);
        rcl_set(g.r, RCL_AFH_CFG_EN, cfg | (uint64_t)!cbfc << RCL_CFG_STOP_CBFC);
        rcl_set(g.r, RCL_FLOW_STOP, 0xf);
        request(&g, 0, 0, 64);
        if (!cbfc) {
            wait_counter(&g, "tx_rnr", 1);
            g_assert_cmpuint(counter(&g, "rx_type1"), ==, 0);
            rig_stop(&g);
            continue;
        }
        wait_counter(&g, "rx_type1", 1);
        wait_counter(&g, "tx_ack", 1);
        g_assert_cmpuint(counter(&g, "tx_rnr"), ==, 0);
        do {
            wire_get(&g, &got);         /* which answers, and tells no credit back */
            g_assert_false(got.type == 0x8808 && got.frame[16] == 2);
        } while (got.type == 0x8808);
        g_assert_cmpuint(got.opcode, ==, ACK);
        rcl_set(g.r, RCL_FLOW_STOP, 0);
        rcl_take(g.r, 0, &in);
        g_assert_true(rcl_is(&in, 64, 0));
        do {
            wire_get(&g, &got);
        } while (got.type != 0x8808 || got.frame[16] != 2);
        g_assert_cmphex(got.frame[17], ==, 1 << QP % 4);
        rig_stop(&g);
    }
}

static uint64_t mac_status(Rig *g)
{
    return rcl_get(g->r, RCL_STATUS) & (RCL_STATUS_WAIT_MAC | RCL_STATUS_MAC_FREE);
}

/* A reset of the MAC gives all its credits for frames (MAC2TX_CREDIT_RST_I, §12.11.5): the
 * port goes on, though the peer reads nothing.  The cells of multicast are not concerned
 * (§12.6): they come back by their own pin, or when the MAC has passed the packets on. */
static void test_mac_credits(void)
{
    Rig g = rig_start("", GEN1);
    unsigned n = 0, cells;
    Got got;

    rcl_set(g.r, RCL_CTRL, RCL_CTRL_MULTI_CREDIT);
    g_assert_cmphex(mac_status(&g), ==, RCL_STATUS_MAC_FREE);
    while (!(mac_status(&g) & RCL_STATUS_WAIT_MAC)) {
        rcl_post(g.r, 0, 1344, n, RCL_ETYPE2);
        g_assert_cmpuint(++n, <, 100000);
    }
    g_assert_cmphex(mac_status(&g), ==, RCL_STATUS_WAIT_MAC);
    g_assert_cmpuint(counter(&g, "tx_type2"), ==, n - 1);
    cells = rcl_get(g.r, RCL_MULTI_CREDIT);
    g_assert_cmpuint(cells, <, 2048);
    rcl_set(g.r, RCL_SOFT_RESET, RCL_RESET_MAC);
    wait_counter(&g, "tx_type2", n);
    g_assert_cmphex(mac_status(&g), ==, 0);
    /* 22 bytes, payload, FCS: 1370, in cells of 128. */
    g_assert_cmpuint(rcl_get(g.r, RCL_MULTI_CREDIT), ==, cells - 11);
    rcl_set(g.r, RCL_SOFT_RESET, RCL_RESET_MAC);
    g_assert_cmpuint(rcl_get(g.r, RCL_MULTI_CREDIT), ==, cells - 11);
    /* MAC2TX_TYPE2_CREDIT_RST_I. */
    rcl_set(g.r, RCL_MULTI_CREDIT, 1);
    g_assert_cmpuint(rcl_get(g.r, RCL_MULTI_CREDIT), ==, 2048);
    for (unsigned i = 0; i < n; i++) {
        wire_get(&g, &got);
        g_assert_cmphex(got.data[0], ==, (uint8_t)i);
    }
    while (mac_status(&g) != RCL_STATUS_MAC_FREE) {
        g_usleep(1000);
    }
    g_assert_cmpuint(counter(&g, "wire_full"), ==, 0);
    rig_stop(&g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rclink-document/nocnp-zero", test_nocnp_zero);
    qtest_add_func("/rclink-document/type1-dropped", test_type1_dropped);
    qtest_add_func("/rclink-document/all-acks", test_all_acks);
    qtest_add_func("/rclink-document/abnormal", test_abnormal);
    qtest_add_func("/rclink-document/constraints", test_constraints);
    qtest_add_func("/rclink-document/lengths", test_lengths);
    qtest_add_func("/rclink-document/retry-told", test_retry_told);
    qtest_add_func("/rclink-document/nak-idle", test_nak_idle);
    qtest_add_func("/rclink-document/fack-in-gap", test_fack_in_gap);
    qtest_add_func("/rclink-document/qp-rules", test_qp_rules);
    qtest_add_func("/rclink-document/no-rnr", test_no_rnr);
    qtest_add_func("/rclink-document/mac-credits", test_mac_credits);
    return g_test_run();
}
