/*
 * RC Link: TYPE1, reliable unicast (RC Link §12.2, §12.7, §12.9): data there and back,
 * acknowledgements, time-outs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "type1.h"

/* A request, with what comes of it. */
static void peer_req(RigEnd *e, unsigned psn)
{
    peer_send(e, (RclRh) { .psn = psn, .ts_en = true, .ts = psn }, 64);
    rig_settle(e->rig);
}

static void assert_answer(RigEnd *e, uint8_t syndrome, unsigned psn)
{
    RclRh rh;

    g_assert_true(next_rh(e, &rh));
    g_assert_cmpuint(rh.opcode, ==, RCL_OP_ACK);
    g_assert_cmphex(rh.len, ==, syndrome);
    g_assert_cmphex(rh.psn, ==, psn);
    g_assert_false(rh.fack);
    g_assert_cmpuint(rh.pad, ==, 0);
}

/* ---- there and back ---- */

static void test_data(void)
{
    static const uint64_t format[] = {
        FORMAT(RCL_CFG_STANDARD), FORMAT(RCL_CFG_GEN1), GEN1,
        FORMAT(RCL_CFG_GEN2), FORMAT(RCL_CFG_LITE),
    };

    for (size_t f = 0; f < G_N_ELEMENTS(format); f++) {
        Rig *r = pair_up(format[f], NULL);
        bool lite = format[f] == FORMAT(RCL_CFG_LITE);
        RigPacket p;

        /* In Lite SA is XPU_ID, 42 / 4. */
        rig_connect(r, 42, 0xff0);
        for (unsigned i = 0; i < 100; i++) {
            rig_post(&r->e[0], 42, 64 + i * 13 % 1281, i, 0);
        }
        rig_settle(r);
        for (unsigned i = 0; i < 100; i++) {
            g_assert_true(rig_take(&r->e[1], 0, &p));
            g_assert_true(rig_is(&p, 64 + i * 13 % 1281, i));
            g_assert_cmpuint(p.qp, ==, 42);
            g_assert_cmphex(p.sa, ==, 0x0a);
            g_assert_cmphex(p.flags, ==, RCL_ETYPE1);
        }
        g_assert_false(rig_take(&r->e[1], 0, &p));
        g_assert_cmpuint(rig_get(&r->e[0], RCL_OST_FREE), ==, 512 | 16 << 16);
        g_assert_cmpuint(rig_events(&r->e[0], RCL_EV_CREDIT), ==, 100);
        g_assert_cmpuint(CNT(&r->e[0], tx_type1), ==, 100);
        g_assert_cmpuint(CNT(&r->e[0], tx_type1_again), ==, 0);
        g_assert_cmpuint(!!CNT(&r->e[1], tx_ack), ==, !lite);
        g_assert_cmpuint(r->e[0].errors, ==, 0);
        g_assert_cmphex(rig_get(&r->e[0], RCL_STATUS) & 3, ==, 3);
        rig_free(r);
    }
}

/* The peer's address moves between two packets, and so do the traffic class and the
 * size: no packet has anything of the one before. */
static void test_moved(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    for (unsigned i = 0; i < 12; i++) {
        g_autoptr(GBytes) frame = NULL;
        const uint8_t *f;
        size_t n;

        rig_set(e, RCL_QP_ID_SET, 0xa5);
        rig_set(e, RCL_DEST_MAC_MEM, UINT64_C(0x020000000100) + i / 3);
        rig_set(e, RCL_TRAFFIC_CLASS, UINT64_C(0x01010101) * (4 * i + 4));
        rig_post(e, 0xa5, 64 + i / 6 * 4, i, 0);
        rig_settle(r);
        frame = rig_frame(e);
        g_assert_nonnull(frame);
        f = g_bytes_get_data(frame, &n);
        g_assert_cmpuint(f[5], ==, i / 3);
        g_assert_cmphex(f[6], ==, 4 * i + 4);
        g_assert_cmpuint(n, ==, 14 + 8 + 64 + i / 6 * 4 + 4);
    }
    rig_free(r);
}

/* 5000 packets: PSNs wrap. */
static void test_wrap(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigPacket p;

    rig_connect(r, 1, 0);
    for (unsigned i = 0; i < 5000; i++) {
        rig_post(&r->e[0], 1, 64, i, 0);
        if (i % 100 == 99) {
            rig_settle(r);
            for (unsigned k = 0; k < 100; k++) {
                g_assert_true(rig_take(&r->e[1], 0, &p));
                g_assert_true(rig_is(&p, 64, i - 99 + k));
            }
            rig_events(&r->e[0], 0);
        }
    }
    rig_set(&r->e[1], RCL_QP_ID_SET, 1);
    g_assert_cmphex(rig_get(&r->e[1], RCL_RX_REQ_EPSN), ==, 5000 & 0xfff);
    g_assert_cmphex(rig_get(&r->e[1], RCL_TX_EPSN), ==, 5000 & 0xfff);
    rig_set(&r->e[0], RCL_QP_ID_SET, 1);
    g_assert_cmphex(rig_get(&r->e[0], RCL_TX_EXPECT_PSN), ==, 5000 & 0xfff);
    g_assert_cmphex(rig_get(&r->e[0], RCL_EXPECT_RESP_PSN), ==, 5000 & 0xfff);
    g_assert_cmphex(rig_get(&r->e[0], RCL_TX_LAST_PSN), ==, 4999 & 0xfff);
    g_assert_cmphex(rig_get(&r->e[0], RCL_MAX_FORWARD_PSN), ==, 4999 & 0xfff);
    rig_free(r);
}

/* ---- the receiver ---- */

static void test_receiver(void)
{
    Rig *r = alone(0xffe);
    RigEnd *e = &r->e[0];

    peer_req(e, 0xffe);
    assert_answer(e, 0x1f, 0xffe);
    peer_req(e, 0xfff);
    assert_answer(e, 0x1f, 0xfff);
    peer_req(e, 0x001);
    assert_answer(e, 0x60, 0x000);
    peer_req(e, 0x002);
    assert_silence(e);
    peer_req(e, 0x000);
    assert_answer(e, 0x1f, 0x000);
    /* The latch is clear again. */
    peer_req(e, 0x003);
    assert_answer(e, 0x60, 0x001);
    peer_req(e, 0x001);
    assert_answer(e, 0x1f, 0x001);
    peer_req(e, 0xfff);
    assert_answer(e, 0x1f, 0x001);
    g_assert_cmpuint(CNT(e, rx_duplicate), ==, 1);
    peer_req(e, 0x801);
    assert_answer(e, 0x60, 0x002);
    peer_req(e, 0x802);
    assert_answer(e, 0x1f, 0x001);
    g_assert_cmpuint(CNT(e, rx_duplicate), ==, 2);
    g_assert_cmpuint(CNT(e, rx_gap), ==, 4);
    g_assert_cmpuint(CNT(e, rx_type1), ==, 4);
    rig_free(r);
}

/* d = 7ff is a gap, 800 a duplicate. */
static void test_half_window(void)
{
    Rig *r = alone(2);
    RigEnd *e = &r->e[0];

    peer_req(e, 0x802);
    assert_answer(e, 0x1f, 0x001);
    g_assert_cmpuint(CNT(e, rx_duplicate), ==, 1);
    peer_req(e, 0x801);
    assert_answer(e, 0x60, 0x002);
    g_assert_cmpuint(CNT(e, rx_gap), ==, 1);
    rig_free(r);
}

/* What is not for this QP. */
static void test_checks(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RclLayout l = peer_layout();
    RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a };
    uint8_t payload[2048] = { 0 }, f[RCL_FRAME_MAX];
    RigPacket p;
    RigEvent ev;

    h.rh = (RclRh) { .pkey = 0x5b, .qp = 0xa5 };
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    g_assert_cmpuint(CNT(e, drop_pkey), ==, 1);
    h.rh.pkey = 0x5a;
    h.rh.qp = 1024;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    g_assert_cmpuint(CNT(e, drop_qp), ==, 1);
    h.rh.qp = 0xa5;
    h.da ^= UINT64_C(1) << 40;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    g_assert_cmpuint(CNT(e, drop_da), ==, 1);
    h.da ^= UINT64_C(1) << 40;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 1345, f));
    g_assert_cmpuint(CNT(e, drop_oversize), ==, 1);
    h.rh.opcode = 3;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    g_assert_cmpuint(CNT(e, drop_opcode), ==, 1);
    h.rh.opcode = 0;
    l.icrc = false;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    g_assert_cmpuint(CNT(e, drop_icrc) + CNT(e, drop_short), ==, 1);
    l.icrc = true;
    rig_set(e, RCL_RDMA_EN, 0);
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    g_assert_cmpuint(CNT(e, drop_off), ==, 1);
    rig_set(e, RCL_RDMA_EN, 1);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 0);
    rig_events(e, 0);
    h.rh.qp = 0xa6;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    g_assert_cmpuint(CNT(e, drop_disabled), ==, 1);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==,
                    1 << RCL_INTR_RX_DISABLED);
    g_assert_true(rig_event_of(e, RCL_EV_IRQ, &ev));
    g_assert_cmphex(ev.b, ==, UINT64_C(0x80000000) | 0xa6 << 5 | 5);
    rig_settle(r);
    assert_silence(e);
    g_assert_false(rig_take(e, 0, &p));
    h.rh.qp = 0xa5;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 1344, f));
    rig_settle(r);
    g_assert_true(rig_take(e, 0, &p));
    g_assert_cmpuint(p.len, ==, 1344);
    rig_free(r);
}

/* GEN2 has 16 bits of an address. */
static void test_da16(void)
{
    Rig *r = pair_up(FORMAT(RCL_CFG_GEN2), NULL);
    RigPacket p;

    rig_connect(r, 4, 0);
    rig_set(&r->e[0], RCL_QP_ID_SET, 4);
    rig_set(&r->e[0], RCL_DEST_MAC_MEM, 0xffff0000000b);
    post(&r->e[0], 4, 1);
    g_assert_true(rig_take(&r->e[1], 0, &p));
    rig_set(&r->e[0], RCL_DEST_MAC_MEM, 0x02000000010b);
    post(&r->e[0], 4, 1);
    g_assert_false(rig_take(&r->e[1], 0, &p));
    g_assert_cmpuint(CNT(&r->e[1], drop_da), >=, 1);
    rig_free(r);
}

/* ---- acknowledgements ---- */

/* @psn acknowledges @n of ffe to 003. */
static void acks(uint8_t syndrome, unsigned psn, unsigned n, unsigned again)
{
    Rig *r = alone(0xffe);
    RigEnd *e = &r->e[0];

    post(e, 0xa5, 6);
    assert_sent(e, 0xffe, 6);
    rig_events(e, 0);
    peer_ack(e, syndrome, psn);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 506 + n);
    g_assert_cmpuint(rig_events(e, RCL_EV_CREDIT), ==, n);
    rig_set(e, RCL_QP_ID_SET, 0xa5);
    g_assert_cmphex(rig_get(e, RCL_EXPECT_RESP_PSN), ==, (0xffe + n) & 0xfff);
    assert_sent(e, 0xffe + n, again);
    assert_silence(e);
    rig_free(r);
}

static void test_acks(void)
{
    acks(0x1f, 0x001, 4, 0);
    acks(0x00, 0x003, 6, 0);
    acks(0x1f, 0x004, 0, 0);
    acks(0x1f, 0xffd, 0, 0);
    acks(0x1f, 0xffc, 0, 0);
    acks(0x60, 0x000, 2, 4);
    acks(0x60, 0x004, 6, 0);
    acks(0x60, 0x005, 0, 0);
    acks(0x40, 0x001, 0, 0);
    acks(0x5f, 0x001, 0, 0);
}

static void test_nak_again(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    post(e, 0xa5, 3);
    assert_sent(e, 0, 3);
    peer_ack(e, 0x60, 1);
    assert_sent(e, 1, 2);
    g_assert_cmpuint(CNT(e, tx_type1_again), ==, 2);
    rig_set(e, RCL_QP_ID_SET, 0xa5);
    g_assert_cmphex(rig_get(e, RCL_RETRY_CNT_MEM), ==, 1);
    peer_ack(e, 0x60, 1);
    assert_sent(e, 1, 2);
    g_assert_cmphex(rig_get(e, RCL_RETRY_CNT_MEM), ==, 2);
    /* Progress clears the counters. */
    peer_ack(e, 0x1f, 1);
    g_assert_cmphex(rig_get(e, RCL_RETRY_CNT_MEM), ==, 0);
    /* Another NAK than that of PSNs ends the QP. */
    peer_ack(e, 0x62, 2);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    assert_silence(e);
    rig_free(r);
}

/* ---- time-outs ---- */

static void test_timeouts(void)
{
    timeouts(0);
    timeouts(1);
    timeouts(2);
    timeouts(15);
}

/* One loss for each packet: slow, but never fatal. */
static bool lose_each_once(Rig *r, unsigned from, const uint8_t *frame,
                           size_t len)
{
    static uint16_t seen;
    RclRh rh;

    rcl_rh_get(frame + 14, &rh, RCL_RH_BE);
    if (rh.opcode == RCL_OP_SEND && rh.psn == seen) {
        seen++;
        return false;
    }
    return true;
}

static void test_progress(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigPacket p;

    rig_set(&r->e[0], RCL_RETRY_TIMER_CFG, 2 << 13 | 100);
    rig_connect(r, 8, 0);
    r->pass = lose_each_once;
    post(&r->e[0], 8, 40);
    rig_pass(r, 40 * 200000);
    for (unsigned i = 0; i < 40; i++) {
        g_assert_true(rig_take(&r->e[1], 0, &p));
        g_assert_true(rig_is(&p, 64, i));
    }
    g_assert_cmphex(rig_get(&r->e[0], RCL_INTR_STATUS), ==, 0);
    rig_free(r);
}

/* An ACK of some packets gives the others all of their time. */
static void test_timer_anew(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13 | 100);
    post(e, 0xa5, 2);
    assert_sent(e, 0, 2);
    rig_pass(r, 60000);
    peer_ack(e, RCL_SYN_ACK, 0);
    rig_pass(r, 99999);
    assert_silence(e);
    rig_pass(r, 1);
    assert_sent(e, 1, 1);
    g_assert_cmpuint(CNT(e, timeouts), ==, 1);
    /* So does a QP that was off. */
    rig_set(e, RCL_QP_CONTROL_STATUS, 0);
    rig_pass(r, 1000000);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    rig_pass(r, 99999);
    assert_silence(e);
    rig_pass(r, 1);
    assert_sent(e, 1, 1);
    g_assert_cmpuint(CNT(e, timeouts), ==, 2);
    rig_free(r);
}

/* What waits for credits or a pause is not lost. */
static void test_timer_needs_a_packet(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_RETRY_TIMER_CFG, 1 << 13 | 100);
    rclink_wire_stop(e->d, true);
    post(e, 0xa5, 2);
    rig_pass(r, 1000000);
    g_assert_cmpuint(CNT(e, timeouts), ==, 0);
    g_assert_cmphex(rig_get(e, RCL_STATUS) & RCL_STATUS_WAIT_MAC, ==,
                    RCL_STATUS_WAIT_MAC);
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    assert_sent(e, 0, 2);
    rig_pass(r, 100000);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    rig_free(r);
}

/* Steps of RC Link §12.15.3: what software does with a QP that has failed. */
/* While the link is down nobody grants: the timer alone counts, to its end. */
static void test_link_down(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[0];

    rig_connect(r, 0x2a5, 7);
    rig_set(e, RCL_RETRY_TIMER_CFG, 2 << 13 | 100);
    rclink_link(r->e[1].d, false);
    post(e, 0x2a5, 2);
    rig_pass(r, 50);
    rclink_link(e->d, false);
    rig_pass(r, 1000000);
    g_assert_cmphex(rig_get(e, RCL_IRQ_INFO), ==, 0x800054a2);
    rig_free(r);
}

static void test_recovery(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    unsigned psn;
    RigPacket p;

    rig_connect(r, 0x2a5, 7);
    rig_connect(r, 0x2a4, 9);
    rig_set(e, RCL_RETRY_TIMER_CFG, 2 << 13 | 100);
    rclink_link(f->d, false);
    post(e, 0x2a5, 5);
    rig_pass(r, 300000);
    g_assert_cmphex(rig_get(e, RCL_IRQ_INFO), ==, 0x800054a2);
    rclink_link(f->d, true);
    /* The other QP goes on meanwhile. */
    post(e, 0x2a4, 1);
    g_assert_true(rig_take(f, 0, &p));
    g_assert_cmphex(p.qp, ==, 0x2a4);
    rig_set(e, RCL_QP_ID_SET, 0x2a5);
    rig_set(e, RCL_QP_CONTROL_STATUS, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 0);
    rig_set(e, RCL_TX_SPEED_MEM, 100);
    rig_expect_errors(e, 1);
    g_assert_cmphex(rig_get(e, RCL_TX_SPEED_MEM), ==, 0);
    g_assert_cmphex(rig_get(e, RCL_XON_THR_RDMA) >> 50 & 1, ==, 0);
    rig_events(e, 0);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_FREE_BUF);
    g_assert_cmphex(rig_get(e, RCL_QP_CONTROL_STATUS), ==, 0);
    g_assert_cmpuint(rig_events(e, RCL_EV_CREDIT), ==, 5);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 512);
    psn = rig_get(e, RCL_TX_EXPECT_PSN);
    g_assert_cmpuint(psn, ==, 12);
    rig_set(f, RCL_QP_ID_SET, 0x2a5);
    rig_set(f, RCL_QP_CONTROL_STATUS, 0);
    rig_connect(r, 0x2a5, psn + 1);
    g_assert_cmpuint(e->errors, ==, 0);
    post(e, 0x2a5, 3);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(rig_take(f, 0, &p));
        g_assert_true(rig_is(&p, 64, i));
        g_assert_cmphex(p.qp, ==, 0x2a5);
    }
    rig_free(r);
}

/* A QP whose PSNs do not fit each other when it is enabled has those that do. */
static void test_psns_fit(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_QP_CONTROL_STATUS, 0);
    rig_set(e, RCL_MAX_FORWARD_PSN, 5);
    rig_set(e, RCL_TX_LAST_PSN, 7);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    rig_expect_errors(e, 1);
    g_assert_cmphex(rig_get(e, RCL_MAX_FORWARD_PSN), ==, 0xfff);
    g_assert_cmphex(rig_get(e, RCL_TX_LAST_PSN), ==, 0xfff);
    /* Each ACK that tells something new is counted as one, others as stale. */
    post(e, 0xa5, 2);
    peer_ack(e, 0, 0);
    g_assert_cmpuint(CNT(e, rx_ack), ==, 1);
    peer_ack(e, 0, 1);
    g_assert_cmpuint(CNT(e, rx_ack), ==, 2);
    g_assert_cmpuint(CNT(e, rx_ack_stale), ==, 0);
    peer_ack(e, 0, 1);
    g_assert_cmpuint(CNT(e, rx_ack), ==, 2);
    g_assert_cmpuint(CNT(e, rx_ack_stale), ==, 1);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/type1/data", test_data);
    g_test_add_func("/rclink/type1/moved", test_moved);
    g_test_add_func("/rclink/type1/wrap", test_wrap);
    g_test_add_func("/rclink/type1/receiver", test_receiver);
    g_test_add_func("/rclink/type1/half-window", test_half_window);
    g_test_add_func("/rclink/type1/checks", test_checks);
    g_test_add_func("/rclink/type1/da16", test_da16);
    g_test_add_func("/rclink/type1/acks", test_acks);
    g_test_add_func("/rclink/type1/nak-again", test_nak_again);
    g_test_add_func("/rclink/type1/timeouts", test_timeouts);
    g_test_add_func("/rclink/type1/progress", test_progress);
    g_test_add_func("/rclink/type1/timer-anew", test_timer_anew);
    g_test_add_func("/rclink/type1/timer-needs-a-packet",
                    test_timer_needs_a_packet);
    g_test_add_func("/rclink/type1/link-down", test_link_down);
    g_test_add_func("/rclink/type1/recovery", test_recovery);
    g_test_add_func("/rclink/type1/psns-fit", test_psns_fit);
    return g_test_run();
}
