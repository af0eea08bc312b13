/*
 * RC Link: TYPE1 when there is not enough of something or too much: receive buffers,
 * slots, time, and a client that is late (RC Link §12.2, §12.7, §12.9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "type1.h"

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

/*
 * More buffers wake the device up where packets of that ring wait for them, and
 * only there.
 */
static void test_kick(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    RigPacket p;

    rig_up(e, GEN1);
    rig_qp(e, 0xa5, &r->e[0] + 1, 0xa5, 0);
    rig_settle(r);
    rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, e->rx_head[0]);
    rig_set(e, RCL_RING(RCL_RING_RX2) + RCL_RING_HEAD, e->rx_head[1]);
    g_assert_false(e->kicked);
    rig_set(e, RCL_RING(RCL_RING_TX) + RCL_RING_HEAD, e->tx_head);
    g_assert_true(e->kicked);
    /* One more than there are buffers. */
    for (unsigned i = 0; i <= e->rx_head[0]; i++) {
        peer_send(e, (RclRh) { .opcode = RCL_OP_SEND, .psn = i }, 64);
        rig_settle(r);
    }
    g_assert_true(rig_take(e, 0, &p));
    e->kicked = false;
    rig_set(e, RCL_RING(RCL_RING_RX2) + RCL_RING_HEAD, e->rx_head[1]);
    g_assert_false(e->kicked);
    g_assert_true(rig_take(e, 0, &p));
    g_assert_true(e->kicked);
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
        RclRh rh = { 0 };

        g_assert_true(next_rh(e, &rh));
        g_assert_cmpuint(rh.qp, ==, want[i]);
    }
    rig_free(r);
}

static void test_fack(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RclRh rh = { 0 };

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
        RclRh rh = { 0 };

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
        RclRh rh = { 0 };

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
    g_assert_cmpuint(CNT(f, rx_truncated), ==, 1);
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
    g_test_add_func("/rclink/type1/rnr", test_rnr);
    g_test_add_func("/rclink/type1/kick", test_kick);
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
