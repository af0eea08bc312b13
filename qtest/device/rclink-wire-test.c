/*
 * rclink: one device, and a peer that puts every frame together by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/pci-pc.h"
#include "rclink-peer.h"

/* What does not fit is dropped, each thing in its counter. */
static void test_checks(void)
{
    static const struct { unsigned at; uint8_t flip; const char *name; }
    bad[] = {
        { 5, 0xff, "drop_da" }, { HEAD + 3, 1, "drop_pkey" },
        { HEAD, 0xc0, "drop_opcode" }, { HEAD + 6, 0x1f, "drop_qp" },
        { HEAD + 4, 0x40, "drop_short" },
    };
    Rig g = rig_start("", GEN1);
    uint8_t f[2048];
    RclGot got;
    size_t n;

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        n = frame_make(f, SEND, TS, 72, 0, QP, 64);
        f[bad[i].at] ^= bad[i].flip;
        stl_le_p(f + n - ICRC, crc32_of(f + HEAD, n - HEAD - ICRC));
        wire_put(&g, f, n);
        wait_counter(&g, bad[i].name, 1);
    }
    n = frame_make(f, SEND, TS, 72, 0, QP, 64);
    f[HEAD + RH + 9] ^= 0x10;
    wire_put(&g, f, n);
    wait_counter(&g, "drop_icrc", 1);
    g_assert_true(wire_quiet(&g));
    /* A QP that is off: told by interrupt and event. */
    wire_put(&g, f, frame_make(f, SEND, TS, 72, 0, QP + 1, 64));
    expect_irq(&g, 0x80000000 | (QP + 1) << 5 | 5);
    g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==,
                    1 << RCL_INTR_RX_DISABLED);
    g_assert_cmpuint(counter(&g, "rx_type1"), ==, 0);
    request(&g, 0, 0, 64);
    rcl_take(g.r, 0, &got);
    g_assert_true(rcl_is(&got, 64, 0));
    expect_answer(&g, SYN_ACK, 0);
    rig_stop(&g);
}

/* In order, after a gap, again; at once, merged. */
static void test_receiver(void)
{
    Rig g = rig_start("", GEN1);
    uint8_t f[4 * 2048];
    size_t at = 0;
    RclGot got;
    Got a;

    request(&g, 0, 0, 100);
    expect_answer(&g, SYN_ACK, 0);
    request(&g, 2, 0, 100);
    expect_answer(&g, SYN_NAK, 1);
    request(&g, 3, 0, 100);             /* one NAK is enough */
    wait_counter(&g, "rx_gap", 2);
    g_assert_true(wire_quiet(&g));
    request(&g, 0, 0, 100);             /* a duplicate is acknowledged */
    expect_answer(&g, SYN_ACK, 0);
    request(&g, 1, FACK, 100);
    wire_get(&g, &a);
    g_assert_cmpuint(a.psn, ==, 1);
    g_assert_true(a.ts_en);
    g_assert_cmphex(a.ts, ==, 0x1234);
    g_assert_cmphex(a.pkey, ==, PKEY);
    /* Four at once: one answer. */
    for (unsigned psn = 2; psn < 6; psn++) {
        size_t n = frame_make(f + at + 4, SEND, TS, 0, psn, QP, 200);

        stl_be_p(f + at, n);
        at += 4 + n;
    }
    g_assert_cmpint(send(g.fd, f, at, MSG_NOSIGNAL), ==, at);
    do {
        wire_get(&g, &a);
    } while (a.psn != 5);
    g_assert_false(a.ts_en);
    g_assert_cmpuint(counter(&g, "ack_merged"), >, 0);
    for (unsigned psn = 0; psn < 6; psn++) {
        rcl_take(g.r, 0, &got);
        g_assert_true(rcl_is(&got, psn < 2 ? 100 : 200, psn));
    }
    g_assert_cmpuint(rcl_get(g.r, RCL_RX_REQ_EPSN), ==, 6);
    rig_stop(&g);
}

/* The client stops its bank: RNR; CNPs both ways. */
static void test_rnr_cnp(void)
{
    Rig g = rig_start("", GEN1);
    uint8_t f[2048], ev[RCL_RING_ENTRY];

    rcl_set(g.r, RCL_XON_THR_RDMA, 0xfull << 46);
    rcl_set(g.r, RCL_AFH_CFG_EN, rcl_get(g.r, RCL_AFH_CFG_EN) |
                                 0xfull << RCL_CFG_RNR);
    rcl_set(g.r, RCL_RNR_CODE, 7);
    rcl_set(g.r, RCL_FLOW_STOP, 1 << QP % 4);
    request(&g, 0, 0, 64);
    expect_answer(&g, 0x27, 0);
    rcl_set(g.r, RCL_FLOW_STOP, 0);
    request(&g, 0, 0, 64);
    expect_answer(&g, SYN_ACK, 0);
    wire_put(&g, f, frame_make(f, CNP, 0, 0, 0, QP, 0));
    rcl_event_wait(g.r, RCL_EV_CNP, ev);
    g_assert_cmpuint(lduw_le_p(ev + 2), ==, QP);
    rig_stop(&g);
}

/* Requests: fields, Go-Back-N by NAK, time-out and limit, recovery. */
static void test_sender(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    uint8_t ev[RCL_RING_ENTRY];
    Got got;

    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 2 << 13 | 100);
    for (unsigned i = 0; i < 4; i++) {
        rcl_post(g.r, QP, 65 + i, i, i == 3 ? RCL_E_FACK : 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        wire_get(&g, &got);
        g_assert_cmpmem(got.frame, 6, peer, 6);
        g_assert_cmphex(got.frame[6], ==, 0x06);        /* TC of bank 1 */
        g_assert_cmpmem(got.frame + 7, 5, self + 1, 5);
        g_assert_cmphex(got.type, ==, 0x88b5);
        g_assert_cmpuint(got.opcode, ==, SEND);
        g_assert_cmpuint(got.fack, ==, i == 3);
        g_assert_cmpuint(got.pad, ==, 3 - i);
        g_assert_true(got.ts_en);
        g_assert_cmpuint(got.field, ==, RH + 65 + i);
        g_assert_cmpuint(got.psn, ==, i);
        g_assert_cmpuint(got.qp, ==, QP);
        g_assert_cmphex(got.data[64], ==, i + 64);
        g_assert_cmphex((uint32_t)ldl_le_p(got.data + 68), ==,
                        crc32_of(got.frame + HEAD, RH + 68));
    }
    answer(&g, SYN_NAK, 2);
    for (unsigned psn = 2; psn < 4; psn++) {
        wire_get(&g, &got);
        g_assert_cmpuint(got.psn, ==, psn);
    }
    for (unsigned i = 0; i < 2; i++) {
        rcl_event_wait(g.r, RCL_EV_CREDIT, ev);
        g_assert_cmphex(ldq_le_p(ev + 8), ==, i);
    }
    answer(&g, SYN_ACK, 2);
    rcl_event_wait(g.r, RCL_EV_CREDIT, ev);
    /* Nobody answers: once more, then the QP has failed. */
    qtest_clock_step(g.r->f->qts, 100000);
    wire_get(&g, &got);
    g_assert_cmpuint(got.psn, ==, 3);
    qtest_clock_step(g.r->f->qts, 100000);
    expect_irq(&g, 0x80000000 | QP << 5 | 2);
    g_assert_true(wire_quiet(&g));
    g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    recover(&g, 0x800);
    rig_stop(&g);
}

/* Tags, priorities and the rate of a QP. */
static void test_tag_rate(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    uint8_t ev[RCL_RING_ENTRY];
    Got got;

    rcl_set(g.r, RCL_VLAN_CTRL, 0x88a80000 | 0x123 << 4 | 1);
    rcl_set(g.r, RCL_AFH_CFG_EN, 0x0ff0000400000020ull | GEN1 |
                                 6ull << (RCL_CFG_VC_MAP + 3));
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    g_assert_cmphex(got.type, ==, 0x88a8);
    g_assert_cmphex(lduw_be_p(got.frame + 14), ==, 6 << 13 | 0x123);
    g_assert_cmphex(lduw_be_p(got.frame + 16), ==, 0x88b5);
    rcl_set(g.r, RCL_VLAN_CTRL, 0);
    /* 100 bytes in each window: the packet that crosses it leaves. */
    rcl_set(g.r, RCL_TX_SPEED_MEM, 100);
    qtest_clock_step(g.r->f->qts, 8192);
    for (unsigned i = 0; i < 3; i++) {
        rcl_post(g.r, QP, 64, i, 0);
    }
    wire_get(&g, &got);
    wire_get(&g, &got);
    g_assert_true(wire_quiet(&g));
    rcl_event_wait(g.r, RCL_EV_QP_EN, ev);
    g_assert_cmpuint(lduw_le_p(ev + 2), ==, QP);
    g_assert_cmpuint(counter(&g, "cc_masked"), ==, 1);
    qtest_clock_step(g.r->f->qts, 8192);
    wire_get(&g, &got);
    g_assert_cmpuint(got.psn, ==, 3);
    rig_stop(&g);
}

/* PFC: obeyed until it expires, and asked for by marks. */
static void test_pfc(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    uint8_t f[MIN_FRAME] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 0xb,
                             0x88, 0x08, 1, 1 };
    Got got;

    rcl_set(g.r, RCL_XON_THR_RDMA, 2 | 4 << 16 | 0x7full << 32 |
                                   0x7full << 39);
    rcl_set(g.r, RCL_AFH_CFG_EN, 0x0ff0000000000020ull | GEN1 |
                                 3ull << (RCL_CFG_VC_MAP + 3));
    f[17] = 1 << 3;                     /* class 3, 1000 quanta */
    stw_be_p(f + 18 + 2 * 3, 1000);
    wire_put(&g, f, MIN_FRAME);
    wait_counter(&g, "pfc_rx", 1);
    g_assert_cmphex(rcl_get(g.r, RCL_STATUS) >> RCL_STATUS_PFC_RX_SHIFT &
                    0xff, ==, 1 << 3);
    rcl_post(g.r, QP, 64, 0, 0);
    g_assert_true(wire_quiet(&g));
    qtest_clock_step(g.r->f->qts, 1279);
    g_assert_true(wire_quiet(&g));
    qtest_clock_step(g.r->f->qts, 2);
    wire_get(&g, &got);
    g_assert_cmpuint(got.opcode, ==, SEND);
    answer(&g, SYN_ACK, 0);
    /* Nobody takes what comes: five entries are beyond XOFF. */
    rcl_set(g.r, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    request(&g, 0, 0, 300);
    do {
        wire_get(&g, &got);
    } while (got.type != 0x8808);
    g_assert_cmphex(lduw_be_p(got.frame + 14), ==, 0x0101);
    g_assert_cmphex(lduw_be_p(got.frame + 16), ==, 1 << 3);
    g_assert_cmphex(lduw_be_p(got.frame + 18 + 2 * 3), !=, 0);
    g.r->rx_tail[0] = 0;
    rcl_set(g.r, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, RCL_RING_EN);
    rcl_set(g.r, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, RCL_ENTRIES);
    do {
        wire_get(&g, &got);
    } while (got.type != 0x8808);
    g_assert_cmphex(lduw_be_p(got.frame + 18 + 2 * 3), ==, 0);
    rig_stop(&g);
}

/* ECN of the IP header gives CNPs; the header itself. */
static void test_standard(void)
{
    Rig g = rig_start("", 1 << RCL_CFG_STANDARD);
    uint8_t f[2048], gen1[2048], *ip = f + HEAD;
    uint32_t sum = 0;
    Got got;

    rcl_set(g.r, RCL_CTRL, RCL_CTRL_ECN);
    rcl_post(g.r, QP, 64, 0, 0);
    wire_get(&g, &got);
    g_assert_cmphex(got.type, ==, 0x0800);
    g_assert_cmphex(got.frame[HEAD + 1], ==, 0x06);
    g_assert_cmpuint(lduw_be_p(got.frame + HEAD + 2), ==, 20 + 8 + 8 + 64 + 4);
    g_assert_cmphex(lduw_be_p(got.frame + HEAD + 6), ==, 0x4000);
    g_assert_cmpuint(got.frame[HEAD + 8], ==, 64);
    g_assert_cmpuint(lduw_be_p(got.frame + HEAD + 22), ==, 4791);
    for (unsigned i = 0; i < 20; i += 2) {
        sum += lduw_be_p(got.frame + HEAD + i);
    }
    g_assert_cmphex((sum & 0xffff) + (sum >> 16), ==, 0xffff);
    /* Its header back, with another class and our transport header. */
    frame_make(gen1, SEND, TS, 72, 0, QP, 64);
    memcpy(f, got.frame, got.len);
    memcpy(f, self, 6);
    memcpy(f + 6, peer, 6);
    memcpy(f + HEAD + 28, gen1 + HEAD, RH + 64 + ICRC);
    ip[1] |= 3;
    stw_be_p(ip + 10, lduw_be_p(ip + 10) - 1);
    wire_put(&g, f, got.len);
    wire_get(&g, &got);
    g_assert_cmphex(got.frame[HEAD + 28] >> 6, ==, CNP);
    wire_get(&g, &got);
    g_assert_cmphex(got.frame[HEAD + 28] >> 6, ==, ACK);
    /* A checksum that is wrong. */
    ip[10] ^= 1;
    wire_put(&g, f, 14 + 20 + 8 + RH + 64 + ICRC);
    wait_counter(&g, "drop_ip_csum", 1);
    rig_stop(&g);
}

/* TYPE3: a frame over several descriptors, and the tail-up interrupt. */
static void test_pieces(void)
{
    Rig g = rig_start("", GEN1);
    Rcl *r = g.r;
    uint64_t md = r->mem + 0x5000;
    uint8_t f[1000];

    rcl_set(r, RCL_NONR_DMA_CTRL, RCL_NONR_RX_RESET);
    for (unsigned i = 0; i < 8; i++) {
        qtest_writeq(r->f->qts, md + i * 16, 256ull << RCL_MD_BUFFER_SHIFT);
        qtest_writeq(r->f->qts, md + i * 16 + 8, r->mem + 0x90000 + i * 256);
    }
    rcl_set(r, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN);
    rcl_msix(r);
    rcl_set(r, RCL_TAIL_UP_CFG, 4 << 16);
    rcl_set(r, RCL_DMA_INT_MASK, 1 << RCL_ST0_RX_TAIL);
    rcl_set(r, RCL_RX_MD_HEAD_PTR, 8);
    for (unsigned i = 0; i < sizeof(f); i++) {
        f[i] = i * 7;
    }
    stw_be_p(f + 12, 0x9999);
    wire_put(&g, f, sizeof(f));
    while (rcl_get(r, RCL_RX_MD_TAIL_PTR) != 4) {
        g_usleep(1000);
    }
    g_assert_true(qpci_msix_pending(r->f->pci, RCL_VEC_NONR));
    for (unsigned i = 0; i < 4; i++) {
        uint32_t w = qtest_readl(r->f->qts, md + i * 16);
        unsigned n = i < 3 ? 256 : sizeof(f) - 768;
        uint8_t back[256];

        g_assert_cmpuint(w >> RCL_MD_SIZE_SHIFT & 0xffff, ==, n);
        g_assert_cmphex(w & (RCL_MD_SF | RCL_MD_LF), ==,
                        i == 0 ? RCL_MD_SF : i == 3 ? RCL_MD_LF : 0);
        qtest_memread(r->f->qts, r->mem + 0x90000 + i * 256, back, n);
        g_assert_cmpmem(back, n, f + i * 256, n);
    }
    qpci_msix_disable(r->f->pci);
    rig_stop(&g);
}

/* The two types have buffers of their own: neither, overflowing, takes the
 * other's; what came too much of TYPE2 is told. */
static void test_overflow(void)
{
    Rig g = rig_start(",rx2-bytes=4096", GEN1);
    uint8_t f[2048];
    unsigned n = 0;
    RclGot got;

    rcl_set(g.r, RCL_RING(RCL_RING_RX2) + RCL_RING_CTRL, 0);
    /* Told when its level rises, which stays until it is cleared. */
    for (unsigned i = 0; i < 2; i++) {
        for (; n < 10 * (i + 1); n++) {
            size_t len = frame_make(f, SEND, 0, 0, 0, 0, 1024);

            stw_be_p(f + 12, 0x88b6);
            wire_put(&g, f, len - ICRC);
        }
        wait_counter(&g, "drop_rx2", n - 4);
        g_assert_cmpuint(counter(&g, "rx_type2"), ==, 4);
        g_assert_cmphex(rcl_get(g.r, RCL_ERR_STATUS), ==, RCL_ERR_RX2_OVERFLOW);
        expect_irq(&g, 2ull << 31 | 1 << 5 | 4);
        g_assert_cmphex(rcl_get(g.r, RCL_RING(RCL_RING_EVENT) + RCL_RING_HEAD),
                        ==, g.r->ev_tail);
        rcl_set(g.r, RCL_ERR_STATUS, RCL_ERR_RX2_OVERFLOW);
        g_assert_cmphex(rcl_get(g.r, RCL_ERR_STATUS), ==, 0);
    }
    g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==, 0);
    request(&g, 0, 0, 64);
    rcl_take(g.r, 0, &got);
    g_assert_true(rcl_is(&got, 64, 0));
    /* Sent on a QP that is off, and too long. */
    rcl_post(g.r, QP + 1, 64, 0, 0);
    expect_irq(&g, 0x80000000 | (QP + 1) << 5 | 4);
    rcl_post(g.r, QP, 1345, 0, 0);
    expect_irq(&g, 0x80000000 | QP << 5 | 1);
    rig_stop(&g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rclink-wire/checks", test_checks);
    qtest_add_func("/rclink-wire/receiver", test_receiver);
    qtest_add_func("/rclink-wire/rnr-cnp", test_rnr_cnp);
    qtest_add_func("/rclink-wire/sender", test_sender);
    qtest_add_func("/rclink-wire/tag-rate", test_tag_rate);
    qtest_add_func("/rclink-wire/pfc", test_pfc);
    qtest_add_func("/rclink-wire/standard", test_standard);
    qtest_add_func("/rclink-wire/pieces", test_pieces);
    qtest_add_func("/rclink-wire/overflow", test_overflow);
    return g_test_run();
}
