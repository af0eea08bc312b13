/*
 * RC Link: TYPE1, reliable unicast (RC Link §9.1, §9.3, §12.8).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

#define FORMAT(bit) (UINT64_C(1) << (bit))
#define GEN1 (FORMAT(RCL_CFG_GEN1) | FORMAT(RCL_CFG_GEN1_TC))
#define CNT(e, name) (rclink_counters((e)->d)->name)

static Rig *pair_up(uint64_t format, const RclinkConfig *cfg)
{
    Rig *r = rig_new(2, cfg);

    rig_up(&r->e[0], format);
    rig_up(&r->e[1], format);
    return r;
}

/* A rig of one port, whose peer is this program. */
static Rig *alone(unsigned psn)
{
    Rig *r = rig_new(1, NULL);

    rig_up(&r->e[0], GEN1);
    rig_qp(&r->e[0], 0xa5, &r->e[0] + 1, 0xa5, psn);
    return r;
}

/* The peer's layout: it sends to what rig_new() calls end 0. */
static RclLayout peer_layout(void)
{
    return (RclLayout) {
        .format = RCL_GEN1, .gen1_tc = true, .icrc = true, .tpid = 0x8100,
        .mac = 0x02000000000b, .mac_type1 = 0x88b5, .mac_type2 = 0x88b6,
        .vcs = 4,
    };
}

static void peer_send(RigEnd *e, RclRh rh, size_t len)
{
    RclLayout l = peer_layout();
    RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a, .tc = 2 };
    uint8_t payload[RCL_PAYLOAD_MAX], frame[RCL_FRAME_MAX];

    for (size_t i = 0; i < len; i++) {
        payload[i] = rh.psn + i;
    }
    rh.pkey = 0x5a;
    rh.qp = 0xa5;
    h.rh = rh;
    rig_inject(e, frame, rcl_frame_put(&l, &h, payload, len, frame));
}

/* A request, with what comes of it. */
static void peer_req(RigEnd *e, unsigned psn)
{
    peer_send(e, (RclRh) { .psn = psn, .ts_en = true, .ts = psn }, 64);
    rig_settle(e->rig);
}

static void peer_ack(RigEnd *e, uint8_t syndrome, unsigned psn)
{
    peer_send(e, (RclRh) { .opcode = RCL_OP_ACK, .len = syndrome,
                           .psn = psn }, 0);
    rig_settle(e->rig);
}

/* The header of the next frame from @e; false: there is none. */
static bool next_rh(RigEnd *e, RclRh *rh)
{
    RclLayout l = peer_layout();
    uint8_t scratch[RCL_FRAME_MAX];
    GBytes *b = rig_frame(e);
    RclView v;
    size_t n;
    const uint8_t *p;

    if (!b) {
        return false;
    }
    p = g_bytes_get_data(b, &n);
    g_assert_cmpint(rcl_frame_get(&l, p, n, scratch, &v), ==, RCL_TAKE);
    g_assert_cmpint(v.kind, ==, RCL_TYPE1);
    *rh = v.rh;
    g_bytes_unref(b);
    return true;
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

static void assert_silence(RigEnd *e)
{
    RclRh rh;

    g_assert_false(next_rh(e, &rh));
}

static void assert_sent(RigEnd *e, unsigned first, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        RclRh rh;

        g_assert_true(next_rh(e, &rh));
        g_assert_cmpuint(rh.opcode, ==, RCL_OP_SEND);
        g_assert_cmphex(rh.psn, ==, (first + i) & 0xfff);
        g_assert_true(rh.ts_en);
    }
}

static void post(RigEnd *e, unsigned qp, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        rig_post(e, qp, 64, i, 0);
    }
    rig_settle(e->rig);
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

        /* In Lite the QP is 10 * 4 + bank: the sender's address is 0a. */
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

static void timeouts(unsigned threshold)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    rig_set(e, RCL_INTR_MASK, 1 << RCL_INTR_RETRY);
    rig_set(e, RCL_RETRY_TIMER_CFG, threshold << 13 | 100);
    post(e, 0xa5, 2);
    assert_sent(e, 0, 2);
    for (unsigned i = 1; i < threshold; i++) {
        rig_pass(r, 99000);
        assert_silence(e);
        rig_pass(r, 1000);
        assert_sent(e, 0, 2);
        g_assert_true(rig_event_of(e, RCL_EV_RETRY_TMO, &ev));
        g_assert_cmphex(ev.qp, ==, 0xa5);
        rig_set(e, RCL_QP_ID_SET, 0xa5);
        g_assert_cmphex(rig_get(e, RCL_RETRY_CNT_MEM), ==, i);
    }
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 0);
    rig_pass(r, 100000);
    assert_silence(e);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 1);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    g_assert_true(rig_event_of(e, RCL_EV_IRQ, &ev));
    g_assert_cmphex(ev.b, ==, UINT64_C(0x80000000) | 0xa5 << 5 | 2);
    g_assert_cmphex(ev.b, ==, rig_get(e, RCL_IRQ_INFO));
    rig_pass(r, 10000000);
    assert_silence(e);
    /* New packets of such a QP are refused. */
    rig_post(e, 0xa5, 64, 7, 0);
    rig_settle(r);
    g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
    g_assert_cmphex(ev.a, ==, RCL_EV_DROPPED + RCL_DROP_FATAL);
    g_assert_cmphex(ev.b, ==, 0x1007);
    rig_free(r);
}

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

/* Steps of RC Link §13: what software does with a QP that has failed. */
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

/* ---- RNR ---- */

static void test_rnr(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigPacket p;

    rig_connect(r, 1, 0);
    rig_connect(r, 2, 0);
    rig_set(f, RCL_XON_THR_RDMA, UINT64_C(0xf) << 46);
    rig_set(f, RCL_AFH_CFG_EN, rig_get(f, RCL_AFH_CFG_EN) |
                               UINT64_C(2) << RCL_CFG_RNR);
    rig_set(f, RCL_RNR_CODE, 5);        /* 60 us */
    rig_set(f, RCL_FLOW_STOP, RCL_STOP_BANK0 << 1);
    post(e, 1, 2);
    post(e, 2, 1);
    g_assert_true(rig_take(f, 0, &p));
    g_assert_cmpuint(p.qp, ==, 2);
    g_assert_cmpuint(CNT(e, rx_rnr), ==, 1);
    rig_set(e, RCL_QP_ID_SET, 1);
    g_assert_cmphex(rig_get(e, RCL_RETRY_CNT_MEM), ==, 0x10);
    rig_pass(r, 59000);
    g_assert_cmpuint(CNT(e, tx_type1_again), ==, 0);
    rig_pass(r, 1000);
    g_assert_cmphex(rig_get(e, RCL_RETRY_CNT_MEM), ==, 0x20);
    rig_set(f, RCL_FLOW_STOP, 0);
    rig_pass(r, 60000);
    g_assert_true(rig_take(f, 0, &p));
    g_assert_true(rig_is(&p, 64, 0));
    g_assert_true(rig_take(f, 0, &p));
    g_assert_cmphex(rig_get(e, RCL_RETRY_CNT_MEM), ==, 0);
    /* Without the pin's enable nothing stops; and for ever is fatal. */
    rig_set(f, RCL_XON_THR_RDMA, 0);
    rig_set(f, RCL_FLOW_STOP, 0xf);
    post(e, 1, 1);
    g_assert_true(rig_take(f, 0, &p));
    rig_set(f, RCL_XON_THR_RDMA, UINT64_C(0xf) << 46);
    post(e, 1, 1);
    rig_pass(r, 10 * 60000);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    g_assert_cmpuint(CNT(e, rx_rnr), ==, 2 + 7);
    rig_free(r);
}

/* ---- merge, FACK, time stamps ---- */

static void test_merge(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];

    rig_connect(r, 3, 0);
    rig_connect(r, 5, 0);
    rclink_wire_stop(f->d, true);
    post(e, 3, 100);
    post(e, 5, 100);
    rclink_wire_stop(f->d, false);
    rig_settle(r);
    g_assert_cmpuint(CNT(f, tx_ack), ==, 2);
    g_assert_cmpuint(CNT(f, ack_merged), ==, 198);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 512);
    rig_free(r);
}

/* ACKs go round by QP, from the last one on. */
static void test_scan(void)
{
    Rig *r = rig_new(1, NULL);
    static const uint16_t first[] = { 9, 6, 1, 900 };
    static const uint16_t want[] = { 1, 6, 9, 900, 950, 2, 7 };
    RigEnd *e = &r->e[0];
    RclLayout l = peer_layout();
    uint8_t payload[64] = { 0 }, f[RCL_FRAME_MAX];
    RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a };

    rig_up(e, GEN1);
    for (unsigned i = 0; i < 1000; i++) {
        rig_qp(e, i, e, i, 0);
    }
    h.rh.pkey = 0x5a;
    for (unsigned i = 0; i < G_N_ELEMENTS(first); i++) {
        h.rh.qp = first[i];
        rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    }
    rclink_run(e->d, r->now, 3);
    h.rh.qp = 2;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    h.rh.qp = 950;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    rclink_run(e->d, r->now, 1);
    h.rh.qp = 7;
    rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
    /* 950 comes before those at the beginning. */
    rig_settle(r);
    for (unsigned i = 0; i < G_N_ELEMENTS(want); i++) {
        RclRh rh;

        g_assert_true(next_rh(e, &rh));
        g_assert_cmpuint(rh.qp, ==, want[i]);
    }
    rig_free(r);
}

static void test_fack(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RclRh rh;

    /* At once, before those that wait for the scan; with a time stamp. */
    rig_qp(e, 4, &r->e[1], 4, 0);
    peer_send(e, (RclRh) { .psn = 0, .ts_en = true, .ts = 1 }, 64);
    peer_send(e, (RclRh) { .psn = 1, .ts_en = true, .ts = 2, .fack = true },
              64);
    peer_send(e, (RclRh) { .psn = 2, .ts_en = true, .ts = 3 }, 64);
    rig_settle(r);
    g_assert_true(next_rh(e, &rh));
    g_assert_cmphex(rh.psn, ==, 1);
    g_assert_true(rh.ts_en);
    g_assert_cmphex(rh.ts, ==, 2);
    g_assert_true(next_rh(e, &rh));
    g_assert_cmphex(rh.psn, ==, 2);
    g_assert_false(rh.ts_en);
    g_assert_cmphex(rh.ts, ==, 0);
    assert_silence(e);
    /* If it cannot leave at once, its time is the one that counts. */
    rclink_wire_stop(e->d, true);
    peer_send(e, (RclRh) { .psn = 3, .ts_en = true, .ts = 4, .fack = true },
              64);
    peer_send(e, (RclRh) { .psn = 4, .ts_en = true, .ts = 5 }, 64);
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    g_assert_true(next_rh(e, &rh));
    g_assert_cmphex(rh.psn, ==, 4);
    g_assert_cmphex(rh.ts, ==, 4);
    rig_free(r);
}

static void test_time(void)
{
    for (unsigned on = 0; on < 4; on++) {
        Rig *r = pair_up(GEN1, NULL);
        RigEnd *e = &r->e[0], *f = &r->e[1];
        RigEvent ev;

        rig_connect(r, 12, 0);
        rig_set(f, RCL_CTRL, on & 1 ? RCL_CTRL_ACK_TIME : 0);
        rclink_wire_stop(f->d, true);
        for (unsigned i = 0; i < 3; i++) {
            rig_post(e, 12, 64, i, on & 2 && i == 2 ? RCL_E_FACK : 0);
        }
        rig_settle(r);
        rig_pass(r, 65536 + 777);
        rclink_wire_stop(f->d, false);
        rig_settle(r);
        if (on) {
            g_assert_true(rig_event_of(e, RCL_EV_ACK, &ev));
            g_assert_cmpuint(ev.a, ==, 777);
            g_assert_cmpuint(ev.b, ==, 3);
            g_assert_cmpuint(ev.flags, ==, 0);
            g_assert_cmpuint(ev.qp, ==, 12);
        } else {
            g_assert_false(rig_event_of(e, RCL_EV_ACK, &ev));
        }
        rig_free(r);
    }
}

/* ---- slots and turns ---- */

static void test_full(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    /* The ring waits where there is no slot. */
    post(e, 0xa5, 520);
    assert_sent(e, 0, 512);
    assert_silence(e);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 0);
    g_assert_cmpuint(rig_get(e, RCL_RING(0) + RCL_RING_TAIL), ==, 512);
    peer_ack(e, 0x1f, 4);
    assert_sent(e, 512, 5);
    g_assert_cmpuint(rig_get(e, RCL_RING(0) + RCL_RING_TAIL), ==, 517);
    /* Unless it may not. */
    rig_set(e, RCL_INTR_MASK, 0xffff);
    rig_set(e, RCL_CTRL, RCL_CTRL_TXS_OVERRUN);
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, RCL_RING(0) + RCL_RING_TAIL), ==, 520);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 1 << RCL_INTR_TX1_CREDIT);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 1);
    g_assert_true(rig_event_of(e, RCL_EV_IRQ, &ev));
    g_assert_cmphex(ev.b, ==, UINT64_C(0x80000000) | 0xa5 << 5 | 3);
    g_assert_cmpuint(CNT(e, drop_tx), ==, 3);
    assert_silence(e);
    peer_ack(e, 0x1f, 516);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 512);
    post(e, 0xa5, 1);
    assert_sent(e, 517, 1);
    rig_free(r);
}

static void test_refused(void)
{
    static const struct {
        unsigned qp, len;
        uint8_t flags;
        uint32_t a;
        uint64_t intr;
    } bad[] = {
        { 0xa5, 1345, 0, 0x101, 1 << RCL_INTR_TX1_OVERSIZE },
        { 0xa6, 64, 0, 0x104, 1 << RCL_INTR_TX_DISABLED },
        { 1024, 64, 0, 0x110, 0 },
        { 0xa5, 63, 0, 0x110, 0 },
        { 0xa5, 64, 1, 0x110, 0 },
        { 0xa5, 64, 2, 0x110, 0 },
        { 0, 1345, 3, 0x101, 1 << RCL_INTR_TX2_OVERSIZE },
    };
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        rig_post(e, bad[i].qp, bad[i].len, i, bad[i].flags);
        rig_settle(r);
        assert_silence(e);
        g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
        g_assert_cmphex(ev.a, ==, bad[i].a);
        g_assert_cmphex(ev.b, ==, 0x1000 | i);
        g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, bad[i].intr);
        rig_set(e, RCL_INTR_STATUS, bad[i].intr);
        g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 0);
        rig_events(e, 0);
    }
    /* A buffer that cannot be read. */
    e->fail_at = RIG_TX_BUF + e->tx_head * RIG_BUFFER;
    post(e, 0xa5, 1);
    g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
    g_assert_cmphex(ev.a, ==, 0x111);
    e->fail_at = 0;
    post(e, 0xa5, 1);
    assert_sent(e, 0, 1);
    rig_free(r);
}

/* Posted in @posts, as bank numbers; sent in @order. */
static void banks(uint64_t ctrl, unsigned vcs, uint64_t closed,
                  const char *posts, const char *order)
{
    RclinkConfig cfg;
    Rig *r;
    RigEnd *e;

    rclink_config_init(&cfg);
    cfg.vcs = vcs;
    r = rig_new(1, &cfg);
    e = &r->e[0];
    rig_up(e, GEN1);
    rig_set(e, RCL_CTRL, ctrl);
    for (unsigned b = 0; b < 4; b++) {
        rig_qp(e, b, e, b, 0);
    }
    if (closed) {
        /* Software stops the VCs of these banks. */
        rig_set(e, RCL_AFH_CFG_EN, GEN1 |
                (UINT64_C(0xff) & ~closed) << RCL_CFG_VC_OPEN |
                UINT64_C(0x0ac688) << RCL_CFG_VC_MAP);
        e->errors = 0;
    }
    for (const char *c = posts; *c; c++) {
        rig_post(e, *c - '0', 64, 0, 0);
    }
    rig_settle(r);
    for (const char *c = order; *c; c++) {
        RclRh rh;

        g_assert_true(next_rh(e, &rh));
        g_assert_cmpuint(rh.qp, ==, *c - '0');
    }
    assert_silence(e);
    rig_free(r);
}

static void test_banks(void)
{
    banks(RCL_CTRL_BANK_RR, 4, 0, "00102", "01020");
    banks(0, 4, 0, "00102", "00102");
    banks(RCL_CTRL_BANK_RR, 4, 6, "00102", "000");
    banks(RCL_CTRL_BANK_RR, 1, 0, "00102", "00102");
    banks(RCL_CTRL_BANK_RR, 2, 0, "002113", "010123");
    banks(RCL_CTRL_BANK_RR, 4, 0, "0000", "0000");
}

/* A rewound packet keeps its age: it goes before younger ones of others. */
static void test_age(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    static const struct { uint16_t qp, psn; } want[] = {
        { 0xa5, 0 }, { 0xa5, 1 }, { 0xa1, 0 }, { 0xa5, 2 },
    };

    rig_qp(e, 0xa1, &r->e[1], 0xa1, 0);
    post(e, 0xa5, 2);
    assert_sent(e, 0, 2);
    rclink_wire_stop(e->d, true);
    post(e, 0xa1, 1);
    post(e, 0xa5, 1);
    peer_ack(e, 0x60, 0);
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    for (unsigned i = 0; i < G_N_ELEMENTS(want); i++) {
        RclRh rh;

        g_assert_true(next_rh(e, &rh));
        g_assert_cmphex(rh.qp, ==, want[i].qp);
        g_assert_cmphex(rh.psn, ==, want[i].psn);
    }
    rig_free(r);
}

/* A late ACK frees what waits to be sent again. */
static void test_late_ack(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    post(e, 0xa5, 3);
    assert_sent(e, 0, 3);
    rclink_wire_stop(e->d, true);
    peer_ack(e, 0x60, 0);
    peer_ack(e, 0x1f, 1);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 511);
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    assert_sent(e, 2, 1);
    assert_silence(e);
    rig_free(r);
}

/* A QP that is disabled keeps its packets. */
static void test_disable(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rclink_wire_stop(e->d, true);
    post(e, 0xa5, 2);
    rig_set(e, RCL_QP_ID_SET, 0xa5);
    rig_set(e, RCL_QP_CONTROL_STATUS, 0);
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    assert_silence(e);
    rig_set(e, RCL_TX_EXPECT_PSN, 9);
    rig_expect_errors(e, 1);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    rig_settle(r);
    assert_sent(e, 0, 2);
    rig_set(e, RCL_RX_REQ_EPSN, 9);
    rig_expect_errors(e, 1);
    /* The peer in another bank; PSNs that do not fit. */
    rig_qp(e, 8, &r->e[1], 9, 0);
    rig_expect_errors(e, 1);
    rig_set(e, RCL_QP_CONTROL_STATUS, 0);
    rig_set(e, RCL_DEST_IP_MEM, UINT64_C(8) << 32);
    rig_set(e, RCL_TX_EXPECT_PSN, 5);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    rig_expect_errors(e, 1);
    g_assert_cmphex(rig_get(e, RCL_EXPECT_RESP_PSN), ==, 5);
    rig_free(r);
}

/* ---- the client's side ---- */

static void test_client_late(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigPacket p;

    rig_connect(r, 1, 0);
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    post(e, 1, 20);
    g_assert_cmpuint(CNT(f, rx_type1), ==, 20);
    g_assert_cmphex(rig_get(f, RCL_STATUS) & RCL_STATUS_RX_IDLE, ==, 0);
    put_le32(f->mem + RIG_SHADOW + RCL_RING_RX1 * 4, 0);
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL,
            RCL_RING_EN | RCL_RING_SHADOW);
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, 3);
    rig_settle(r);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpuint(get_le32(f->mem + RIG_SHADOW +
                                  RCL_RING_RX1 * 4), ==, 3);
    }
    f->rx_head[0] = 3;
    for (unsigned i = 0; i < 20; i++) {
        g_assert_true(rig_take(f, 0, &p));
        g_assert_true(rig_is(&p, 64, i));
        rig_settle(r);
    }
    /* 1024 entries of 64 bytes; then nothing is accepted. */
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    rig_set(e, RCL_RETRY_TIMER_CFG, 15 << 13);
    for (unsigned i = 0; i < 60; i++) {
        rig_post(e, 1, 1344, i, 0);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(f, rx_type1), ==, 20 + 48);
    g_assert_cmpuint(CNT(f, drop_rx1), >=, 1);
    rig_free(r);
}

static void test_truncated(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *f = &r->e[1];
    RigPacket p;

    rig_connect(r, 1, 0);
    put_le16(f->mem + RIG_RING + RCL_RING_RX1 * 0x10000 + RCL_E_LEN, 100);
    memset(f->mem + RIG_RX1_BUF, 0xee, 200);
    rig_post(&r->e[0], 1, 200, 3, 0);
    rig_settle(r);
    g_assert_true(rig_take(f, 0, &p));
    g_assert_cmpuint(p.len, ==, 200);
    g_assert_cmphex(p.flags, ==, RCL_E_TRUNCATED);
    g_assert_cmphex(p.data[99], ==, 102);
    g_assert_cmphex(p.data[100], ==, 0xee);
    rig_free(r);
}

/* A ring whose memory fails stops; what came waits. */
static void test_ring_error(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigPacket p;

    rig_connect(r, 1, 0);
    f->fail_at = RIG_RX1_BUF;
    post(e, 1, 2);
    g_assert_false(rig_take(f, 0, &p));
    g_assert_cmphex(rig_get(f, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL), ==,
                    RCL_RING_EN | RCL_RING_SHADOW | RCL_RING_ERROR);
    g_assert_cmphex(rig_get(f, RCL_ERR_STATUS), ==, 1 << RCL_RING_RX1);
    g_assert_cmpuint(f->msix[RCL_VEC_RX1], ==, 1);
    f->fail_at = 0;
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL,
            RCL_RING_EN | RCL_RING_SHADOW);
    g_assert_cmphex(rig_get(f, RCL_ERR_STATUS), ==, 0);
    rig_set(f, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, 1024);
    rig_settle(r);
    g_assert_true(rig_take(f, 0, &p));
    g_assert_true(rig_is(&p, 64, 0));
    g_assert_true(rig_take(f, 0, &p));
    g_assert_true(rig_is(&p, 64, 1));
    rig_free(r);
}

/* ---- Lite ---- */

static void test_lite(void)
{
    Rig *r = pair_up(FORMAT(RCL_CFG_LITE), NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigPacket p;

    rig_connect(r, 41, 0);
    post(e, 41, 2);
    rclink_link(f->d, false);
    post(e, 41, 1);
    rclink_link(f->d, true);
    rig_pass(r, 100000000);
    /* Lost is lost; nobody answers. */
    g_assert_true(rig_take(f, 0, &p));
    g_assert_cmpuint(p.qp, ==, 41);
    g_assert_true(rig_take(f, 0, &p));
    g_assert_false(rig_take(f, 0, &p));
    g_assert_cmpuint(CNT(e, tx_type1), ==, 3);
    g_assert_cmpuint(CNT(f, tx_ack), ==, 0);
    g_assert_cmpuint(CNT(e, timeouts), ==, 0);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 512);
    rig_free(r);
}

/* ---- many ---- */

static void test_many(void)
{
    Rig *r = pair_up(GEN1, NULL);
    unsigned got[1024] = { 0 };
    RigPacket p;

    for (unsigned q = 0; q < 1024; q++) {
        rig_connect(r, q, q * 5);
    }
    for (unsigned i = 0; i < 4096; i++) {
        rig_post(&r->e[0], i * 37 % 1024, 64, i * 37 / 1024, 0);
        if (i % 512 == 511) {
            rig_settle(r);
            while (rig_take(&r->e[1], 0, &p)) {
                got[p.qp]++;
            }
        }
    }
    for (unsigned q = 0; q < 1024; q++) {
        g_assert_cmpuint(got[q], ==, 4);
    }
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/type1/data", test_data);
    g_test_add_func("/rclink/type1/wrap", test_wrap);
    g_test_add_func("/rclink/type1/receiver", test_receiver);
    g_test_add_func("/rclink/type1/half-window", test_half_window);
    g_test_add_func("/rclink/type1/checks", test_checks);
    g_test_add_func("/rclink/type1/da16", test_da16);
    g_test_add_func("/rclink/type1/acks", test_acks);
    g_test_add_func("/rclink/type1/nak-again", test_nak_again);
    g_test_add_func("/rclink/type1/timeouts", test_timeouts);
    g_test_add_func("/rclink/type1/progress", test_progress);
    g_test_add_func("/rclink/type1/timer-needs-a-packet",
                    test_timer_needs_a_packet);
    g_test_add_func("/rclink/type1/link-down", test_link_down);
    g_test_add_func("/rclink/type1/recovery", test_recovery);
    g_test_add_func("/rclink/type1/rnr", test_rnr);
    g_test_add_func("/rclink/type1/merge", test_merge);
    g_test_add_func("/rclink/type1/scan", test_scan);
    g_test_add_func("/rclink/type1/fack", test_fack);
    g_test_add_func("/rclink/type1/time", test_time);
    g_test_add_func("/rclink/type1/full", test_full);
    g_test_add_func("/rclink/type1/refused", test_refused);
    g_test_add_func("/rclink/type1/banks", test_banks);
    g_test_add_func("/rclink/type1/age", test_age);
    g_test_add_func("/rclink/type1/late-ack", test_late_ack);
    g_test_add_func("/rclink/type1/disable", test_disable);
    g_test_add_func("/rclink/type1/client-late", test_client_late);
    g_test_add_func("/rclink/type1/truncated", test_truncated);
    g_test_add_func("/rclink/type1/ring-error", test_ring_error);
    g_test_add_func("/rclink/type1/lite", test_lite);
    g_test_add_func("/rclink/type1/many", test_many);
    return g_test_run();
}
