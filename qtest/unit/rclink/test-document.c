/*
 * RC Link: single sentences of the document, each with what follows from it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow.h"

#define STANDARD FORMAT(RCL_CFG_STANDARD)
#define LITE FORMAT(RCL_CFG_LITE)

/* "0 is not reported" (§12.11.7): not either where the set-up of a QP made it 0. */
static void test_nocnp_zero(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    rig_set(e, RCL_NOCNP, 10);
    rig_set(e, RCL_QP_ID_SET, 0xa5);
    post_len(e, 0xa5, 1, 64);
    rig_set(e, RCL_TX_CC_BYTE_CNT_MEM, 0);
    rig_pass(r, 20000);
    g_assert_false(rig_event_of(e, RCL_EV_NOCNP, &ev));
    post_len(e, 0xa5, 1, 100);
    rig_pass(r, 20000);
    g_assert_true(rig_event_of(e, RCL_EV_NOCNP, &ev));
    g_assert_cmpuint(ev.a, ==, 100);
    rig_free(r);
}

/* TYPE1's reset gives each packet's credit back (§12.1, §12.11.1), sent or not. */
static void test_type1_dropped(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    post_len(e, 0xa5, 2, 64);
    rclink_wire_stop(e->d, true);
    rig_post(e, 0xa5, 64, 2, 0);
    rig_settle(r);
    rig_events(e, 0);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 509);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_TYPE1);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 512);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
        g_assert_cmpuint(ev.qp, ==, 0xa5);
        g_assert_cmphex(ev.a, ==, RCL_EV_DROPPED + RCL_DROP_RESET);
        g_assert_cmphex(ev.b, ==, 0x1000 | (i < 2 ? i : 2));
    }
    g_assert_false(rig_event_of(e, RCL_EV_CREDIT, &ev));
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    rig_pass(r, 100000000);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 2);
    g_assert_cmpuint(CNT(e, timeouts), ==, 0);
    rig_free(r);
}

/* tx_ack_time_en: all ACKs have a time (§12.3.5), that of the request which they answer;
 * without it those alone that a FACK asked for. */
static void test_all_acks(void)
{
    for (unsigned all = 0; all < 2; all++) {
        Rig *r = alone(0);
        RigEnd *e = &r->e[0];
        static const struct { uint16_t psn; bool fack; uint8_t syndrome; } step[] = {
            { 0, false, RCL_SYN_ACK },
            { 0, false, RCL_SYN_ACK },          /* a duplicate */
            { 0, true, RCL_SYN_ACK },           /* that asks */
            { 2, false, RCL_SYN_NAK_PSN },      /* a gap */
            { 1, false, RCL_SYN_ACK },
            { 3, true, RCL_SYN_NAK_PSN },
        };

        rig_set(e, RCL_CTRL, all ? RCL_CTRL_ACK_TIME : 0);
        for (unsigned i = 0; i < G_N_ELEMENTS(step); i++) {
            RclRh rh = { 0 };

            peer_send(e, (RclRh) { .psn = step[i].psn, .ts_en = true,
                                   .ts = 100 + i, .fack = step[i].fack }, 64);
            rig_settle(r);
            g_assert_true(next_rh(e, &rh));
            g_assert_cmphex(rh.len, ==, step[i].syndrome);
            g_assert_cmpuint(rh.ts_en, ==, all || step[i].fack);
            g_assert_cmpuint(rh.ts, ==, rh.ts_en ? 100 + i : 0);
            assert_silence(e);
        }
        rig_free(r);
    }
}

/* DMA_INTR_ST0[4] is there as long as DMA_INTR_ST1 has a bit (§12.12.3). */
static void test_abnormal(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    uint32_t told;

    rig_set(e, RCL_DMA_INT_MASK, 1 << RCL_ST0_ABNORMAL);
    put_le64(e->mem + RIG_MD_TX, RCL_MD_SF | RCL_MD_LF);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 1);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, 1 << RCL_ST1_TX_ZERO);
    told = e->msix[RCL_VEC_NONR];
    g_assert_cmpuint(told, ==, 1);
    rig_set(e, RCL_DMA_INTR_ST0, 0x1f);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, 1 << RCL_ST0_ABNORMAL);
    g_assert_cmpuint(e->msix[RCL_VEC_NONR], ==, told);
    rig_set(e, RCL_DMA_INTR_ST1, 1 << RCL_ST1_TX_ZERO);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, 0);
    rig_free(r);
}

/* With CBFC the client's pin makes a pause alone (§12.5), whatever the RNR enables say. */
static void test_no_rnr(void)
{
    for (unsigned cbfc = 0; cbfc < 2; cbfc++) {
        Rig *r = alone(0);
        RigEnd *e = &r->e[0];
        RigPacket p;

        rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0xf) << 46);
        rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false) |
                                   UINT64_C(0xf) << RCL_CFG_RNR |
                                   (uint64_t)!cbfc << RCL_CFG_STOP_CBFC);
        setup_credits(e, 256, 0, 1000);
        rig_set(e, RCL_FLOW_STOP, 0xf);
        rig_settle(r);
        frames(e);
        peer_send(e, (RclRh) { .psn = 0 }, 64);
        rig_settle(r);
        g_assert_cmpuint(CNT(e, tx_rnr), ==, !cbfc);
        g_assert_cmpuint(CNT(e, rx_type1), ==, cbfc);
        rig_set(e, RCL_FLOW_STOP, 0);
        rig_settle(r);
        g_assert_cmpuint(rig_take(e, 0, &p), ==, cbfc);
        rig_free(r);
    }
}

/* Lite (§12.10): XPU_ID is Dest_qpid's, so that the receiver gets its own number. */
static void test_lite_qps(void)
{
    Rig *r = pair_up(LITE, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigPacket p;

    rig_qp(e, 6, f, 1022, 0);
    rig_qp(e, 8, f, 1024, 0);
    rig_qp(e, 9, f, 1024 + 1, 0);
    rig_qp(e, 10, f, 14, 0);
    rig_qp(f, 1022, e, 6, 0);
    post_len(e, 6, 2, 64);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_true(rig_take(f, 0, &p));
        g_assert_cmpuint(p.qp, ==, 1022);
        g_assert_cmpuint(p.sa, ==, 1022 >> 2);
    }
    g_assert_cmpuint(CNT(f, drop_qp), ==, 0);
    post_len(e, 8, 1, 64);
    post_len(e, 9, 1, 64);
    g_assert_cmpuint(CNT(f, drop_qp), ==, 2);
    g_assert_cmphex(rig_get(f, RCL_INTR_STATUS), ==, 0);
    /* A QP that is off (§12.12.1). */
    post_len(e, 10, 1, 64);
    g_assert_cmpuint(CNT(f, drop_disabled), ==, 1);
    g_assert_cmphex(rig_get(f, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RX_DISABLED);
    g_assert_cmphex(rig_get(f, RCL_IRQ_INFO), ==, UINT64_C(0x80000000) | 14 << 5 | 5);
    g_assert_false(rig_take(f, 0, &p));
    g_assert_cmpuint(CNT(f, rx_type1), ==, 2);
    rig_free(r);
}

/* The DA that is compared is as long as the frame's format has it, whatever the
 * port's is (§12.10 tells frames apart by EtherType alone). */
static void test_da_of_frame(void)
{
    for (unsigned format = RCL_STANDARD; format <= RCL_GEN2; format++) {
        Rig *r = alone(0);
        RigEnd *e = &r->e[0];
        RclLayout l = peer_layout();
        RclHead h = { .kind = RCL_TYPE1, .da = 0x02000001000a, .tc = 2,
                      .dport = RCL_UDP_PORT,
                      .rh = { .pkey = 0x5a, .qp = 0xa5 } };
        uint8_t payload[64] = { 0 }, frame[RCL_FRAME_MAX];

        if (format == RCL_GEN1) {
            rig_free(r);
            continue;   /* on a port of GEN2 it is one of GEN2 */
        }
        rig_set(e, RCL_AFH_CFG_EN, FORMAT(RCL_CFG_GEN2) | 1 << RCL_CFG_STOP_CBFC);
        l.format = format;
        rig_inject(e, frame, rcl_frame_put(&l, &h, payload, 64, frame));
        g_assert_cmpuint(CNT(e, drop_da), ==, format == RCL_STANDARD);
        g_assert_cmpuint(CNT(e, rx_type1), ==, format == RCL_GEN2);
        rig_free(r);
    }
}

/* ---- what hardware cannot refuse is told whenever it becomes so (§12.5) ---- */

static const uint64_t held_back = UINT64_C(0x7f) << 32;

/* A limit that lets nothing pass: by CL, by the under-limit, by a tag or an ICRC that
 * makes the longest frame longer; a port without CBFC has no limit. */
static void test_limits_told(void)
{
    uint64_t cfg = cbfc_cfg(GEN1, 1, false);
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_XON_THR_RDMA, held_back);
    rig_expect_errors(e, 1);    /* all of one class */
    rig_set(e, RCL_CTRL, RCL_CTRL_REMOVE_ICRC);
    setup_credits(e, 32, 0, 1000);
    /* The MAC first, then the port: 1344 and 22, with FCS 1370: 43 of 32 bytes. */
    rig_set(e, RCL_MAC_CBFC_CFG(1), credit_word(32, 0, 43));
    rig_set(e, RCL_CBFC_RST, 1 << 1);
    rig_set(e, RCL_AFH_CFG_EN, cfg);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 2, false));
    rig_expect_errors(e, 1);
    rig_set(e, RCL_AFH_CFG_EN, cfg);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_CTRL, 0);
    rig_expect_errors(e, 0);            /* 1374 */
    rig_set(e, RCL_VLAN_CTRL, 0x81000001);
    rig_expect_errors(e, 1);            /* 1378 */
    g_assert_nonnull(strstr(e->error, "CREDIT_LIMIT"));
    rig_set(e, RCL_VLAN_CTRL, 0x81000000);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_AFH_CFG_EN, cfg | 1 << RCL_CFG_STOP_CBFC);
    rig_set(e, RCL_VLAN_CTRL, 0x81000001);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_AFH_CFG_EN, cfg);
    rig_expect_errors(e, 1);
    rig_free(r);
}

/* One priority of two flows, with PFC as well, of those that PFC concerns. */
static void test_priorities(void)
{
    uint64_t cfg = GEN1 | 1 << RCL_CFG_STOP_CBFC |
                   UINT64_C(0xff) << RCL_CFG_VC_OPEN;
    uint64_t map = UINT64_C(0x1ac688) << RCL_CFG_VC_MAP;
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_AFH_CFG_EN, cfg);
    rig_expect_errors(e, 0);            /* nobody looks at them */
    for (unsigned obeyed = 0; obeyed < 2; obeyed++) {
        unsigned at = obeyed ? 39 : 32;

        rig_set(e, RCL_XON_THR_RDMA, UINT64_C(1) << at);
        rig_expect_errors(e, 0);
        rig_set(e, RCL_XON_THR_RDMA, UINT64_C(3) << at);
        rig_expect_errors(e, 1);
        rig_set(e, RCL_AFH_CFG_EN, cfg | map);
        rig_expect_errors(e, 0);
        rig_set(e, RCL_AFH_CFG_EN, cfg);
        rig_expect_errors(e, 1);
    }
    rig_free(r);
}

/* A format is wrong where it is written (§12.3): PFC of a port that has TYPE3 alone is
 * set up without one. */
static void test_format_told(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(1) << 38 | UINT64_C(1) << 45);
    rig_set(e, RCL_VLAN_CTRL, 0x81000000);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_AFH_CFG_EN, rig_get(e, RCL_AFH_CFG_EN));
    rig_expect_errors(e, 1);
    g_assert_nonnull(strstr(e->error, "format"));
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(3) << 38);
    rig_expect_errors(e, 1);
    g_assert_nonnull(strstr(e->error, "VC"));
    rig_free(r);
}

/* A port of fewer banks has fewer flows that need a VC, a limit, a hold. */
static void test_banks_there(void)
{
    for (unsigned vcs = 1; vcs <= 4; vcs *= 2) {
        uint64_t cfg = cbfc_cfg(GEN1, 1, false);
        RclinkConfig c;
        RigEnd *e;
        Rig *r;

        rclink_config_init(&c);
        c.vcs = vcs;
        r = rig_new(1, &c);
        e = &r->e[0];
        rig_up(e, GEN1);
        /* Banks 2 and 3 have VC 4, that of the answers. */
        cfg &= ~(UINT64_C(077) << (RCL_CFG_VC_MAP + 6));
        cfg |= UINT64_C(044) << (RCL_CFG_VC_MAP + 6);
        rig_set(e, RCL_XON_THR_RDMA, held_back & ~(UINT64_C(0xc) << 32));
        e->errors = 0;
        rig_set(e, RCL_AFH_CFG_EN, cfg);
        rig_expect_errors(e, vcs < 4 ? 0 : 2);
        setup_credits(e, 32, 0, 1000);
        rig_expect_errors(e, 0);
        rig_set(e, RCL_MAC_CBFC_CFG(4), credit_word(32, 0, 2));
        rig_set(e, RCL_CBFC_RST, 1 << 4);
        rig_expect_errors(e, vcs < 4 ? 0 : 2);
        rig_free(r);
    }
}

/* tx_..._pfc_en has to be 1 where CBFC is to hold anything back, but for answers. */
static void test_hold(void)
{
    uint64_t cfg = cbfc_cfg(GEN1, 1, false);
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    for (unsigned f = 0; f < 7; f++) {
        rig_set(e, RCL_AFH_CFG_EN, cfg | 1 << RCL_CFG_STOP_CBFC);
        rig_set(e, RCL_XON_THR_RDMA, held_back & ~(UINT64_C(1) << (32 + f)));
        rig_expect_errors(e, 0);
        rig_set(e, RCL_AFH_CFG_EN, cfg);
        rig_expect_errors(e, f != 4);
        rig_set(e, RCL_XON_THR_RDMA, held_back);
        rig_expect_errors(e, 0);
        rig_set(e, RCL_XON_THR_RDMA, held_back & ~(UINT64_C(1) << (32 + f)));
        rig_expect_errors(e, f != 4);
    }
    rig_free(r);
}

/* ---- single QPs ---- */

/* RETRY_TMO tells of a packet that is sent again (§12.11.7): not of the time-out that
 * ends the QP. */
static void test_retry_told(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_RETRY_TIMER_CFG, 3 << 13 | 100);
    rig_set(e, RCL_EVENT_MASK, 1 << RCL_EV_RETRY_TMO);
    post(e, 0xa5, 1);
    assert_sent(e, 0, 1);
    for (unsigned i = 1; i <= 3; i++) {
        rig_pass(r, 100000);
        g_assert_cmpuint(rig_events(e, RCL_EV_RETRY_TMO), ==, i < 3);
        g_assert_cmpuint(frames(e), ==, i < 3);
        g_assert_cmpuint(CNT(e, timeouts), ==, i);
    }
    g_assert_cmpuint(CNT(e, qp_fatal), ==, 1);
    rig_free(r);
}

/* Both numbers of a receiver are REMOTE_INIT_PSN (§12.14.1): where they are not, what
 * is checked is what is acknowledged. */
static void test_receive_numbers(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RclRh rh;

    rig_set(e, RCL_QP_ID_SET, 0xa5);
    rig_set(e, RCL_QP_CONTROL_STATUS, 0);
    rig_set(e, RCL_RX_REQ_EPSN, 5);
    rig_set(e, RCL_TX_EPSN, 9);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    rig_expect_errors(e, 1);
    g_assert_cmpuint(rig_get(e, RCL_TX_EPSN), ==, 5);
    g_assert_cmpuint(rig_get(e, RCL_RX_REQ_EPSN), ==, 5);
    peer_send(e, (RclRh) { .psn = 4 }, 64);
    rig_settle(r);
    g_assert_true(next_rh(e, &rh));
    g_assert_cmphex(rh.len, ==, RCL_SYN_ACK);
    g_assert_cmpuint(rh.psn, ==, 4);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    rig_expect_errors(e, 0);
    rig_free(r);
}

/* A peer's QP in another bank (§12.5) is told whichever register makes it so, of a QP
 * that is enabled. */
static void test_bank_moved(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_QP_ID_SET, 0xa5);
    rig_set(e, RCL_DEST_IP_MEM, UINT64_C(0xa6) << 32);
    rig_expect_errors(e, 1);
    rig_set(e, RCL_DEST_IP_MEM, UINT64_C(0xa6) << 32 | 1);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_DEST_IP_MEM, UINT64_C(0xa1) << 32);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_QP_CONTROL_STATUS, 0);
    rig_set(e, RCL_DEST_IP_MEM, UINT64_C(0xa4) << 32);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    rig_expect_errors(e, 1);
    rig_free(r);
}

/* Rate 0 locks all of a QP's CC configuration (§12.15.3), until its buffers were freed. */
static void test_counter_locked(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_QP_ID_SET, 0xa5);
    rig_set(e, RCL_TX_CC_BYTE_CNT_MEM, 7);
    rig_set(e, RCL_QP_CONTROL_STATUS, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 0);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_TX_CC_BYTE_CNT_MEM, 8);
    rig_expect_errors(e, 1);
    g_assert_cmpuint(rig_get(e, RCL_TX_CC_BYTE_CNT_MEM), ==, 7);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_FREE_BUF);
    rig_set(e, RCL_TX_CC_BYTE_CNT_MEM, 0);
    rig_expect_errors(e, 0);
    g_assert_cmpuint(rig_get(e, RCL_TX_CC_BYTE_CNT_MEM), ==, 0);
    rig_free(r);
}

/* A packet of TYPE2 that is longer than TYPE2_PKT_LEN is told (§12.12), however much
 * longer it is and in whichever format. */
static void test_far_too_long(void)
{
    static const uint64_t bits[] = {
        [RCL_STANDARD] = STANDARD, [RCL_GEN1] = GEN1,
        [RCL_GEN2] = FORMAT(RCL_CFG_GEN2), [RCL_LITE] = LITE,
    };
    static const unsigned len[] = { 1345, 4096, 4097, 8000, 9000 };
    uint8_t f[RCL_WIRE_MAX], zero[9000] = { 0 };

    for (unsigned format = 0; format < RCL_FORMATS; format++) {
        for (unsigned i = 0; i < 2 * G_N_ELEMENTS(len); i++) {
            bool type2 = i % 2;
            Rig *r = rig_new(1, NULL);
            RigEnd *e = &r->e[0];
            RclLayout l = peer_layout();
            RclHead h = {
                .kind = type2 ? RCL_TYPE2 : RCL_TYPE1, .da = 0x02000000000a,
                .tc = type2 ? 0x1a : 6, .dport = type2 ? 4792 : RCL_UDP_PORT,
                .rh = { .pkey = 0x5a, .qp = 0xa5 },
            };

            rig_up(e, bits[format]);
            rig_set(e, RCL_UDP_PORT_MEM2, 4792u << 16);
            rig_qp(e, 0xa5, e + 1, 0xa5, 0);
            l.format = format;
            rig_inject(e, f, rcl_frame_put(&l, &h, zero, len[i / 2], f));
            rig_settle(r);
            g_test_message("format %u, %u bytes", format, len[i / 2]);
            g_assert_cmpuint(CNT(e, drop_oversize), ==, 1);
            g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==,
                            type2 ? 1 << RCL_INTR_RX2_OVERSIZE : 0);
            g_assert_cmphex(rig_get(e, RCL_IRQ_INFO), ==,
                            type2 ? UINT64_C(0x100000002) : 0);
            rig_free(r);
        }
    }
}

/* A request with FACK is answered (§12.3.5) behind a gap, too, which is told once. */
static void test_fack_in_gap(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RclRh rh;

    peer_send(e, (RclRh) { .psn = 1 }, 64);
    rig_settle(r);
    g_assert_true(next_rh(e, &rh));
    g_assert_cmphex(rh.len, ==, RCL_SYN_NAK_PSN);
    peer_send(e, (RclRh) { .psn = 2 }, 64);
    rig_settle(r);
    assert_silence(e);
    peer_send(e, (RclRh) { .psn = 3, .fack = true, .ts_en = true, .ts = 99 }, 64);
    rig_settle(r);
    g_assert_true(next_rh(e, &rh));
    g_assert_cmphex(rh.len, ==, RCL_SYN_ACK);
    g_assert_cmphex(rh.psn, ==, 0xfff);
    g_assert_true(rh.ts_en);
    g_assert_cmpuint(rh.ts, ==, 99);
    assert_silence(e);
    g_assert_cmpuint(CNT(e, rx_type1), ==, 0);
    rig_free(r);
}

/* Time-out 0 is none, for what is on its way as well. */
static void test_no_timeout(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13 | 100);
    post(e, 0xa5, 1);
    assert_sent(e, 0, 1);
    rig_pass(r, 50000);
    rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13);
    rig_pass(r, 1000000);
    g_assert_cmpuint(CNT(e, timeouts), ==, 0);
    rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13 | 100);
    rig_pass(r, 100000);
    g_assert_cmpuint(CNT(e, timeouts), ==, 1);
    assert_sent(e, 0, 1);
    /* The peer's time (§12.12) is another. */
    peer_ack(e, RCL_SYN_RNR | 1, 0);
    rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13);
    rig_pass(r, 9999);
    assert_silence(e);
    rig_pass(r, 1);
    assert_sent(e, 0, 1);
    rig_free(r);
}

/* Bytes that were sent, or written, before reports began are of the first one
 * (§12.11.7). */
static void test_nocnp_before(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    post_len(e, 0xa5, 1, 64);
    rig_set(e, RCL_NOCNP, 10);
    rig_pass(r, 9999);
    g_assert_false(rig_event_of(e, RCL_EV_NOCNP, &ev));
    rig_pass(r, 1);
    g_assert_true(rig_event_of(e, RCL_EV_NOCNP, &ev));
    g_assert_cmpuint(ev.qp, ==, 0xa5);
    g_assert_cmpuint(ev.a, ==, 64);
    rig_set(e, RCL_QP_ID_SET, 0xa5);
    g_assert_cmpuint(rig_get(e, RCL_TX_CC_BYTE_CNT_MEM), ==, 0);
    rig_set(e, RCL_TX_CC_BYTE_CNT_MEM, 7);
    rig_pass(r, 20000);
    g_assert_true(rig_event_of(e, RCL_EV_NOCNP, &ev));
    g_assert_cmpuint(ev.a, ==, 7);
    rig_pass(r, 20000);
    g_assert_false(rig_event_of(e, RCL_EV_NOCNP, &ev));
    rig_free(r);
}

/* A NAK is about what is on its way: a QP that sends nothing is ended by none. */
static void test_nak_idle(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    for (unsigned code = 0x61; code < 0x80; code++) {
        peer_ack(e, code, 0);
    }
    g_assert_cmpuint(CNT(e, rx_nak), ==, 0x1f);
    g_assert_cmpuint(CNT(e, qp_fatal), ==, 0);
    post(e, 0xa5, 2);
    assert_sent(e, 0, 2);
    peer_ack(e, RCL_SYN_ACK, 1);
    peer_ack(e, 0x61, 2);
    g_assert_cmpuint(CNT(e, qp_fatal), ==, 0);
    post(e, 0xa5, 1);
    assert_sent(e, 2, 1);
    peer_ack(e, 0x61, 2);
    g_assert_cmpuint(CNT(e, qp_fatal), ==, 1);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    rig_free(r);
}

/* What the driver changes while TYPE3 is not enabled (§12.14.3) is what counts then,
 * descriptors that had been read before as well. */
static void test_ring_changed(void)
{
    enum { OTHER = RIG_TX_BUF };
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[60] = { 0 }, g[RIG_BUFFER];
    const uint64_t out = UINT64_C(60) << RCL_MD_SIZE_SHIFT | RCL_MD_SF | RCL_MD_LF;

    rig_up(e, GEN1);
    /* Two frames to send, one of which goes; the other is then another. */
    for (unsigned i = 0; i < 4; i++) {
        uint64_t ring = i < 2 ? RIG_MD_TX : OTHER;

        memset(e->mem + OTHER + 0x1000 + i * 64, i, 64);
        put_le64(e->mem + ring + i % 2 * RCL_MD_BYTES, out);
        put_le64(e->mem + ring + i % 2 * RCL_MD_BYTES + 8, OTHER + 0x1000 + i * 64);
    }
    rig_set(e, RCL_TX_MD_HEAD_PTR, 2);
    rclink_run(e->d, r->now, 1);
    g_assert_cmpuint(CNT(e, tx_type3), ==, 1);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN);
    rig_set(e, RCL_TX_MDQ_BA, OTHER);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    rig_settle(r);
    for (unsigned i = 0; i < 4; i += 3) {
        GBytes *b = rig_frame(e);

        g_assert_nonnull(b);
        g_assert_cmpuint(*(const uint8_t *)g_bytes_get_data(b, NULL), ==, i);
        g_bytes_unref(b);
    }
    /* The next buffer to receive is elsewhere. */
    f[12] = 0x90;
    rig_inject(e, f, sizeof(f));
    g_assert_cmpuint(rig_md_take(e, g), ==, 60);
    rig_set(e, RCL_NONR_DMA_CTRL, 0);
    put_le64(e->mem + RIG_MD_RX + RCL_MD_BYTES + 8, OTHER + 0x2000);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN);
    f[0] = 0x66;
    rig_inject(e, f, sizeof(f));
    g_assert_cmpuint(CNT(e, rx_type3), ==, 2);
    g_assert_cmphex(e->mem[OTHER + 0x2000], ==, 0x66);
    rig_free(r);
}

/* A bank that the port has not asks for no pause, and nothing holds it back. */
static void test_pins_there(void)
{
    for (unsigned vcs = 1; vcs <= 4; vcs *= 2) {
        RclinkConfig c;
        RigEnd *e;
        Rig *r;

        rclink_config_init(&c);
        c.vcs = vcs;
        r = rig_new(1, &c);
        e = &r->e[0];
        rig_up(e, GEN1);
        rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false) |
                                   1 << RCL_CFG_STOP_CBFC);
        rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0xf) << 46 | held_back);
        rig_set(e, RCL_FLOW_STOP, 0xf);
        rig_settle(r);
        g_assert_cmphex(rig_get(e, RCL_STATUS) >> RCL_STATUS_PFC_TX_SHIFT & 0xff, ==,
                        (1 << vcs) - 1);
        g_assert_cmpuint(frames(e), ==, 1);
        /* No VC has credits. */
        rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false));
        g_assert_cmphex(rig_get(e, RCL_STATUS) >> RCL_STATUS_HELD_SHIFT & 0x7f, ==,
                        0x70 | ((1 << vcs) - 1));
        rig_free(r);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/document/nocnp-zero", test_nocnp_zero);
    g_test_add_func("/rclink/document/type1-dropped", test_type1_dropped);
    g_test_add_func("/rclink/document/all-acks", test_all_acks);
    g_test_add_func("/rclink/document/abnormal", test_abnormal);
    g_test_add_func("/rclink/document/no-rnr", test_no_rnr);
    g_test_add_func("/rclink/document/lite-qps", test_lite_qps);
    g_test_add_func("/rclink/document/da-of-frame", test_da_of_frame);
    g_test_add_func("/rclink/document/limits-told", test_limits_told);
    g_test_add_func("/rclink/document/priorities", test_priorities);
    g_test_add_func("/rclink/document/format-told", test_format_told);
    g_test_add_func("/rclink/document/banks-there", test_banks_there);
    g_test_add_func("/rclink/document/hold", test_hold);
    g_test_add_func("/rclink/document/retry-told", test_retry_told);
    g_test_add_func("/rclink/document/receive-numbers", test_receive_numbers);
    g_test_add_func("/rclink/document/bank-moved", test_bank_moved);
    g_test_add_func("/rclink/document/counter-locked", test_counter_locked);
    g_test_add_func("/rclink/document/far-too-long", test_far_too_long);
    g_test_add_func("/rclink/document/fack-in-gap", test_fack_in_gap);
    g_test_add_func("/rclink/document/no-timeout", test_no_timeout);
    g_test_add_func("/rclink/document/nocnp-before", test_nocnp_before);
    g_test_add_func("/rclink/document/nak-idle", test_nak_idle);
    g_test_add_func("/rclink/document/ring-changed", test_ring_changed);
    g_test_add_func("/rclink/document/pins-there", test_pins_there);
    return g_test_run();
}
