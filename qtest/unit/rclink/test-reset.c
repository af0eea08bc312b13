/*
 * RC Link: what a reset of one domain sets free goes on, and is told (RC Link §12.1,
 * §12.5, §12.11.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow.h"

enum { QP = 0xa5, BANK = QP % RCL_BANKS, CLASS = 3 };

/* The MAC control frame that @e put on the wire, behind its opcode; there is one and
 * no other frame. */
static GBytes *control(RigEnd *e, uint16_t opcode, const uint8_t **body)
{
    GBytes *b = rig_frame(e);
    const uint8_t *p;

    g_assert_nonnull(b);
    p = g_bytes_get_data(b, NULL);
    g_assert_cmphex(get_be16(p + 12), ==, 0x8808);
    g_assert_cmphex(get_be16(p + 14), ==, opcode);
    *body = p + 16;
    g_assert_cmpuint(frames(e), ==, 0);
    return b;
}

/* Packets of TYPE1 that a reset takes out of their buffers have their event, as those of
 * TYPE2 have; where the ring goes as well, none is counted as lost. */
static void test_told(void)
{
    for (unsigned all = 0; all < 2; all++) {
        Rig *r = alone(0);
        RigEnd *e = &r->e[0];
        uint64_t lost;
        RigEvent ev;

        rig_qp(e, 0, e + 1, 0, 0);
        rig_events(e, 0);
        rclink_wire_stop(e->d, true);
        rig_post(e, 0, 64, 0x40, 0);
        for (unsigned i = 0; i < 3; i++) {
            rig_post(e, QP, 64, i, 0);
            rig_post(e, 0, 64, 0x80 | i, RCL_ETYPE2);
        }
        rig_settle(r);
        lost = CNT(e, events_lost);
        rig_set(e, RCL_SOFT_RESET, all ? RCL_RESET_ALL : RCL_RESET_TYPE1);
        g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 512);
        g_assert_cmpuint(CNT(e, events_lost), ==, lost);
        for (unsigned i = 0; i < 4 && !all; i++) {
            g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
            g_assert_cmphex(ev.qp, ==, i ? QP : 0);
            g_assert_cmphex(ev.a, ==, RCL_EV_DROPPED + RCL_DROP_RESET);
            g_assert_cmphex(ev.b, ==, 0x1000 | (i ? i - 1 : 0x40));
        }
        g_assert_false(rig_event(e, &ev));
        g_assert_cmphex(rig_get(e, RCL_EVENT_MASK), ==, 0x1fe);
        rclink_wire_stop(e->d, false);
        rig_settle(r);
        g_assert_cmpuint(CNT(e, tx_type1), ==, 0);
        rig_free(r);
    }
}

/* So it is of TYPE2, in the order in which they were posted. */
static void test_told2(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    rig_events(e, 0);
    rclink_wire_stop(e->d, true);
    for (unsigned i = 0; i < 5; i++) {
        rig_post(e, 0, 64, i, RCL_ETYPE2);
    }
    rig_settle(r);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_TYPE2);
    for (unsigned i = 0; i < 5; i++) {
        g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
        g_assert_cmphex(ev.a, ==, RCL_EV_DROPPED + RCL_DROP_RESET);
        g_assert_cmphex(ev.b, ==, 0x1000 | i);
    }
    g_assert_false(rig_event_of(e, RCL_EV_CREDIT, &ev));
    rig_free(r);
}

/* What a pause of the peer held goes as soon as the MAC's reset has ended it. */
static void test_pause(void)
{
    static const uint8_t pause[60] = {
        1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 0xb, 0x88, 8, 1, 1,
        0, 1 << CLASS, [18 + 2 * CLASS] = 0xff, 0xff,
    };
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_AFH_CFG_EN, rig_get(e, RCL_AFH_CFG_EN) |
            (uint64_t)CLASS << (RCL_CFG_VC_MAP + 3 * BANK));
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(1) << (39 + BANK));
    rig_inject(e, pause, sizeof(pause));
    post(e, QP, 1);
    g_assert_cmpuint(frames(e), ==, 0);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_MAC);
    rig_settle(r);
    assert_sent(e, 0, 1);
    assert_silence(e);
    rig_free(r);
}

/* Packets for which there are no buffers, and whatever that made the port send. */
static Rig *filled(uint64_t cfg, uint64_t marks)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_AFH_CFG_EN, cfg ? cfg : rig_get(e, RCL_AFH_CFG_EN));
    rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    rig_set(e, RCL_XON_THR_RDMA, marks);
    if (cfg) {
        setup_credits(e, 64, 0, 100);
    }
    for (unsigned i = 0; i < 3; i++) {
        peer_send(e, (RclRh) { .opcode = RCL_OP_SEND, .psn = i }, 64);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(e, rx_type1), ==, 3);
    frames(e);
    return r;
}

/* A peer that was paused for want of room is told at once that there is some. */
static void test_xon(void)
{
    Rig *r = filled(0, 1 | 2 << 16 | UINT64_C(1) << (32 + BANK));
    RigEnd *e = &r->e[0];
    const uint8_t *body;
    GBytes *b;

    g_assert_cmphex(rig_get(e, RCL_STATUS) >> RCL_STATUS_PFC_TX_SHIFT & 0xff,
                    ==, 1);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_TYPE1);
    rig_settle(r);
    b = control(e, 0x0101, &body);
    g_assert_cmphex(body[1], ==, 1);
    g_assert_cmphex(get_be16(body + 2), ==, 0);
    g_bytes_unref(b);
    rig_free(r);
}

/* So it is of credits. */
static void test_credits(void)
{
    Rig *r = filled(cbfc_cfg(GEN1, 1, false), UINT64_C(0x7f) << 32);
    RigEnd *e = &r->e[0];
    const uint8_t *body;
    GBytes *b;

    rig_set(e, RCL_SOFT_RESET, RCL_RESET_TYPE1);
    rig_settle(r);
    b = control(e, 0xcbfc, &body);
    g_assert_cmphex(body[0], ==, 2);
    g_assert_cmphex(body[1], ==, 1 << BANK);
    /* Each of 22 bytes of headers, payload, ICRC and FCS: two. */
    g_assert_cmpuint(get_be32(body + 2 + 4 * BANK), ==, 3 * 2);
    g_bytes_unref(b);
    rig_free(r);
}

/* A storm of pauses goes on behind a reset of the function. */
static void test_storm(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rclink_faults(e->d)->pause_storm = 1 << CLASS;
    rclink_faults_changed(e->d);
    rig_settle(r);
    g_assert_cmpuint(frames(e), ==, 1);
    rclink_reset(e->d);
    rig_settle(r);
    g_assert_cmpuint(frames(e), ==, 1);
    g_assert_cmpuint(CNT(e, pfc_tx), ==, 2);
    rig_free(r);
}

/* A packet that was sent while there was no time-out has one when that is set. */
static void test_timeout(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_RETRY_TIMER_CFG, 2 << 13);
    post(e, QP, 1);
    assert_sent(e, 0, 1);
    rig_pass(r, 100000000);
    assert_silence(e);
    rig_set(e, RCL_RETRY_TIMER_CFG, 2 << 13 | 100);
    rig_pass(r, 99000);
    assert_silence(e);
    rig_pass(r, 1000);
    assert_sent(e, 0, 1);
    rig_pass(r, 100000);
    g_assert_cmpuint(CNT(e, qp_fatal), ==, 1);
    rig_free(r);
}

/* The upper half of a register that has nothing there: writing it does nothing, not even
 * to a ring of no descriptors. */
static void test_halves(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_RESET | RCL_NONR_RX_RESET);
    rig_set(e, RCL_RX_MDQ_SIZE, 0);
    rclink_write(e->d, RCL_RX_MD_HEAD_PTR + 4, UINT32_MAX, 4, r->now);
    rclink_write(e->d, RCL_MULTI_CREDIT + 4, UINT32_MAX, 4, r->now);
    rig_settle(r);
    rig_expect_errors(e, 0);
    rclink_write(e->d, RCL_RX_MD_HEAD_PTR, 0, 4, r->now);
    rig_expect_errors(e, 1);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/reset/told", test_told);
    g_test_add_func("/rclink/reset/told2", test_told2);
    g_test_add_func("/rclink/reset/pause", test_pause);
    g_test_add_func("/rclink/reset/xon", test_xon);
    g_test_add_func("/rclink/reset/credits", test_credits);
    g_test_add_func("/rclink/reset/storm", test_storm);
    g_test_add_func("/rclink/reset/timeout", test_timeout);
    g_test_add_func("/rclink/reset/halves", test_halves);
    return g_test_run();
}
