/*
 * RC Link: limits that just hold, every field of events, QPs whose numbers
 * share words of a set, what a reset of TYPE3 leaves alone, what monitors and
 * another machine are told.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/inet.h"
#include "rig.h"

#define GEN1 (UINT64_C(1) << RCL_CFG_GEN1 | UINT64_C(1) << RCL_CFG_GEN1_TC)
#define CNT(e, name) (rclink_counters((e)->d)->name)

/* The next event, whole. */
static void expect_event(RigEnd *e, uint8_t type, uint8_t flags, uint16_t qp,
                         uint32_t a, uint64_t b)
{
    RigEvent ev;

    g_assert_true(rig_event_of(e, type, &ev));
    g_assert_cmphex(ev.flags, ==, flags);
    g_assert_cmpuint(ev.qp, ==, qp);
    g_assert_cmphex(ev.a, ==, a);
    g_assert_cmphex(ev.b, ==, b);
}

static void drop_frames(RigEnd *e)
{
    GBytes *b;

    while ((b = rig_frame(e)) != NULL) {
        g_bytes_unref(b);
    }
}

/* ---- configuration ---- */

static void test_limits(void)
{
    RclinkConfig c;

#define TAKEN(field, value) do {                                            \
        rclink_config_init(&c);                                             \
        c.field = value;                                                    \
        g_assert_null(rclink_config_check(&c));                             \
    } while (0)
    TAKEN(qps, 4);
    TAKEN(qps, 1024);
    TAKEN(vcs, 1);
    TAKEN(vcs, 2);
    TAKEN(ost1, 1);
    TAKEN(ost1, 512);
    TAKEN(ost2, 1);
    TAKEN(ost2, 16);
    TAKEN(speed, 200);
    TAKEN(payload, 1344);
    TAKEN(payload, 4096);
    TAKEN(rx2_bytes, 4096);
    TAKEN(rx2_bytes, 16 << 20);
    TAKEN(time_scale, 1);
    TAKEN(time_scale, 1000000);
#undef TAKEN
    rclink_config_init(&c);
    g_assert_cmpuint(c.qps, ==, 1024);
    g_assert_cmpuint(c.vcs, ==, 4);
    g_assert_cmpuint(c.ost1, ==, 512);
    g_assert_cmpuint(c.ost2, ==, 16);
    g_assert_cmpuint(c.payload, ==, 1344);
    g_assert_cmpuint(c.rx2_bytes, ==, 65536);
    g_assert_cmpuint(c.speed, ==, 400);
    rclink_config_init(&c);
    c.rx2_bytes = (16 << 20) + 1;
    g_assert_nonnull(rclink_config_check(&c));
}

/* A receive buffer that is not the default. */
static void test_rx2_small(void)
{
    RclinkConfig c;
    Rig *r;
    RigEnd *e;

    rclink_config_init(&c);
    c.rx2_bytes = 4096;
    r = rig_new(2, &c);
    e = &r->e[1];
    rig_up(&r->e[0], GEN1);
    rig_up(e, GEN1);
    rig_set(e, RCL_RING(RCL_RING_RX2) + RCL_RING_CTRL, 0);
    for (unsigned i = 0; i < 5; i++) {
        rig_post(&r->e[0], 0, 1024, i, RCL_ETYPE2);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(e, rx_type2), ==, 4);
    g_assert_cmpuint(CNT(e, drop_rx2), ==, 1);
    rig_free(r);
}

/* The longest frame that is taken from the wire. */
static void test_wire_length(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    g_autofree uint8_t *f = g_malloc0(RCL_WIRE_MAX + 1);

    rig_up(e, GEN1);
    f[12] = 0x99;
    rig_inject(e, f, RCL_RX_FRAME_MAX);
    g_assert_cmpuint(CNT(e, rx_type3), ==, 1);
    g_assert_cmpuint(CNT(e, drop_short), ==, 0);
    rig_inject(e, f, RCL_WIRE_MAX);
    g_assert_cmpuint(CNT(e, drop_short), ==, 0);
    g_assert_cmpuint(CNT(e, wire_bytes_rx), ==,
                     RCL_RX_FRAME_MAX + RCL_WIRE_MAX);
    rig_inject(e, f, RCL_WIRE_MAX + 1);
    g_assert_cmpuint(CNT(e, drop_short), ==, 1);
    g_assert_cmpuint(CNT(e, wire_bytes_rx), ==,
                     RCL_RX_FRAME_MAX + RCL_WIRE_MAX);
    rig_inject(e, f, 13);
    g_assert_cmpuint(CNT(e, drop_short), ==, 2);
    /* A control frame is for the control address only, and by its type. */
    memcpy(f, "\x01\x80\xc2\0\0\x01", 6);
    rig_inject(e, f, 60);
    g_assert_cmpuint(CNT(e, drop_control), ==, 0);
    f[12] = 0x88;
    f[13] = 0x08;
    rig_inject(e, f, 60);
    g_assert_cmpuint(CNT(e, drop_control), ==, 1);
    f[5] = 2;
    rig_inject(e, f, 60);
    g_assert_cmpuint(CNT(e, drop_control), ==, 1);
    rig_free(r);
}

/* ---- events ---- */

static void test_event_fields(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];

    rig_up(e, GEN1);
    rig_up(f, GEN1);
    rig_connect(r, 6, 100);
    rig_events(e, 0);
    rig_post(e, 6, 64, 1, 0);
    rig_settle(r);
    expect_event(e, RCL_EV_CREDIT, 0, 6, RCL_ETYPE1, 0x1001);
    rig_post(e, 6, 64, 2, RCL_ETYPE2);
    rig_settle(r);
    expect_event(e, RCL_EV_CREDIT, 0, 0, RCL_ETYPE2, 0x1002);
    rig_post(e, 6, 63, 3, 0);
    rig_settle(r);
    expect_event(e, RCL_EV_CREDIT, 0, 6, RCL_EV_DROPPED + RCL_DROP_ENTRY,
                 0x1003);
    rig_post(e, 7, 64, 4, 0);
    rig_settle(r);
    expect_event(e, RCL_EV_IRQ, 0, 0, 0, 0x80000000 | 7 << 5 | 4);
    expect_event(e, RCL_EV_CREDIT, 0, 7, RCL_EV_DROPPED + 4, 0x1004);
    rig_pass(r, 4096);
    rig_set(e, RCL_QP_ID_SET, 6);
    rig_set(e, RCL_TX_SPEED_MEM, 50);
    rig_post(e, 6, 64, 5, RCL_E_FACK);
    rig_settle(r);
    expect_event(e, RCL_EV_QP_EN, 0, 6, 0, 0);
    expect_event(e, RCL_EV_ACK, 0, 6, 0, 1);
    expect_event(e, RCL_EV_CREDIT, 0, 6, RCL_ETYPE1, 0x1005);
    rig_pass(r, 3 * 4096);
    expect_event(e, RCL_EV_QP_EN, RCL_EV_SET, 6, 0, 0);
    rig_set(e, RCL_NOCNP, 5);
    rig_post(e, 6, 64, 6, 0);
    rig_settle(r);
    rig_pass(r, 5000);
    expect_event(e, RCL_EV_NOCNP, 0, 6, 3 * 64, 0);
    rig_set(e, RCL_NOCNP, 0);
    rig_expect_errors(e, 1);            /* the entry of 63 bytes */
    /* Told that the peer is mute. */
    rig_set(e, RCL_RETRY_TIMER_CFG, 15 << 13 | 10);
    rclink_fault_set(f->d, false, &(CoreFaultPlan) {
        .ppm[CORE_FAULT_DROP] = 1000000 });
    rig_pass(r, 4 * 4096);
    rig_post(e, 6, 64, 7, 0);
    rig_settle(r);
    rig_pass(r, 10000);
    expect_event(e, RCL_EV_RETRY_TMO, 0, 6, 0, 0);
    g_assert_cmpuint(CNT(f, fault_drop), ==, 2);
    rig_free(r);
}

/* Several QPs have bytes to report: one that has a CNP is taken out of their
 * midst, and nobody is told twice or forgotten. */
static void test_nocnp_many(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    unsigned seen[8] = { 0 };
    RigEvent ev;

    rig_up(e, 1 << RCL_CFG_STANDARD);
    rig_up(f, 1 << RCL_CFG_STANDARD);
    rig_set(e, RCL_NOCNP, 100);
    for (unsigned q = 0; q < 6; q++) {
        rig_connect(r, q, 0);
        rig_post(e, q, 64 + q, q, 0);
    }
    rig_settle(r);
    for (unsigned q = 0; q < 3; q += 2) {
        RclLayout l = { .format = RCL_STANDARD, .icrc = true,
                        .mac = 0x02000000000b };
        RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a,
                      .dport = RCL_UDP_PORT,
                      .rh = { .opcode = RCL_OP_CNP, .pkey = 0x5a, .qp = q } };
        uint8_t frame[RCL_FRAME_MAX];

        rig_inject(e, frame, rcl_frame_put(&l, &h, NULL, 0, frame));
    }
    rig_settle(r);
    /* The first one sends again, with a place of its own. */
    rig_post(e, 0, 80, 0, 0);
    rig_settle(r);
    rig_pass(r, 100000);
    while (rig_event_of(e, RCL_EV_NOCNP, &ev)) {
        g_assert_cmpuint(ev.qp, <, 8);
        seen[ev.qp]++;
        g_assert_cmpuint(ev.a, ==, ev.qp ? 64 + ev.qp : 80);
    }
    for (unsigned q = 0; q < 8; q++) {
        g_assert_cmpuint(seen[q], ==, q < 6 && q != 2);
    }
    rig_pass(r, 200000);
    g_assert_false(rig_event_of(e, RCL_EV_NOCNP, &ev));
    rig_free(r);
}

/* ---- many QPs ---- */

/* All at once owe an answer whose numbers share words or bits. */
static void test_sets(void)
{
    static const uint16_t qp[] = { 0, 1, 62, 63, 64, 65, 126, 127, 128, 191,
                                   511, 512, 513, 960, 1022, 1023 };
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];

    rig_up(e, GEN1);
    rig_up(f, GEN1);
    for (unsigned round = 0; round < 2; round++) {
        /* In both orders: each is there before and after another. */
        for (unsigned i = 0; i < G_N_ELEMENTS(qp); i++) {
            unsigned q = qp[round ? G_N_ELEMENTS(qp) - 1 - i : i];

            if (!round) {
                rig_connect(r, q, 0);
            }
            rig_post(e, q, 64, i, 0);
        }
        rig_settle(r);
        g_assert_cmpuint(CNT(f, tx_ack), ==, (round + 1) * G_N_ELEMENTS(qp));
        g_assert_cmphex(rig_get(f, RCL_STATUS) & RCL_STATUS_TX_IDLE, !=, 0);
        g_assert_cmphex(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 512);
    }
    /* One that is turned off owes nothing any more. */
    rclink_wire_stop(f->d, true);
    rig_post(e, 63, 64, 0, 0);
    rig_post(e, 127, 64, 0, 0);
    rig_settle(r);
    rig_set(f, RCL_QP_ID_SET, 63);
    rig_set(f, RCL_QP_CONTROL_STATUS, 0);
    rclink_wire_stop(f->d, false);
    rig_settle(r);
    g_assert_cmpuint(CNT(f, tx_ack), ==, 2 * G_N_ELEMENTS(qp) + 1);
    g_assert_cmphex(rig_get(f, RCL_STATUS) & RCL_STATUS_TX_IDLE, !=, 0);
    rig_free(r);
}

/* Rate control stops many; a turn of the window lets each go on by its own. */
static void test_masked_many(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_up(&r->e[1], GEN1);
    for (unsigned q = 0; q < 8; q++) {
        rig_connect(r, q, 0);
        rig_set(e, RCL_QP_ID_SET, q);
        rig_set(e, RCL_TX_SPEED_MEM, 64 << q % 3);
        for (unsigned i = 0; i < 9; i++) {
            rig_post(e, q, 64, i, 0);
        }
    }
    rig_settle(r);
    for (unsigned w = 0; w < 10; w++) {
        for (unsigned q = 0; q < 8; q++) {
            unsigned want = MIN(9, (w + 1) << q % 3);
            RclQpInfo info;

            g_assert_true(rclink_qp_info(e->d, q, &info));
            g_assert_cmpuint(info.tx_psn, ==, 9);
            g_assert_cmpuint(9 - info.outstanding, ==, want);
        }
        rig_pass(r, 4096);
    }
    g_assert_cmpuint(CNT(e, tx_type1), ==, 72);
    rig_free(r);
}

/* ---- flow control ---- */

/* An ACK costs its frame: 64 bytes are two credits of 32. */
static void test_answer_cost(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RclInfo info;

    for (unsigned i = 0; i < 2; i++) {
        rig_up(&r->e[i], GEN1);
        rig_set(&r->e[i], RCL_AFH_CFG_EN, GEN1 |
                UINT64_C(1) << RCL_CFG_CBFC_ACK |
                UINT64_C(0x1ac688) << RCL_CFG_VC_MAP |
                UINT64_C(1) << (RCL_CFG_UF_TYPE1 + 9) |
                UINT64_C(0xff) << RCL_CFG_VC_OPEN);
        rig_set(&r->e[i], RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
        rig_set(&r->e[i], RCL_MAC_CBFC_CFG(4),
                32 | UINT64_C(5) << RCL_CBFC_LIMIT_SHIFT);
        rig_set(&r->e[i], RCL_CBFC_RST, 1 << 4);
    }
    rig_connect(r, 0, 0);
    rig_settle(r);
    /* What comes back is lost: three ACKs would need six. */
    rclink_faults(f->d)->lose_credits = true;
    for (unsigned i = 0; i < 3; i++) {
        rig_post(e, 0, 64, i, 0);
        rig_settle(r);
    }
    rclink_info(f->d, &info);
    g_assert_cmpuint(info.vc[4].left, ==, 1);
    g_assert_cmpuint(CNT(f, tx_ack), ==, 2);
    g_assert_cmpuint(CNT(f, cbfc_blocked), ==, 1);
    rclink_faults(f->d)->lose_credits = false;
    rig_pass(r, 600000);
    rclink_info(f->d, &info);
    g_assert_cmpuint(info.vc[4].left, ==, 5);
    g_assert_cmpuint(CNT(f, tx_ack), ==, 3);
    rig_free(r);
}

/* Sizes beyond 12 bits of a field and limits at its end. */
static void test_credit_fields(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    RclInfo info;

    rig_up(e, GEN1);
    for (unsigned i = 0; i < 7; i++) {
        rig_set(e, RCL_MAC_CBFC_CFG(0), 32 << i | UINT64_C(7) << 22);
        rig_set(e, RCL_CBFC_RST, 1);
        rclink_info(e->d, &info);
        g_assert_true(info.vc[0].ready);
        g_assert_cmpuint(info.vc[0].size, ==, 32 << i);
        g_assert_cmpuint(info.vc[0].limit, ==, 7);
    }
    rig_expect_errors(e, 0);
    for (unsigned i = 0; i < 4; i++) {
        static const uint16_t bad[] = { 0, 16, 33, 2049 };

        rig_set(e, RCL_MAC_CBFC_CFG(0), bad[i] | UINT64_C(9) << 22);
        rig_set(e, RCL_CBFC_RST, 1);
        rig_expect_errors(e, 1);
        rclink_info(e->d, &info);
        g_assert_cmpuint(info.vc[0].limit, ==, 7);
    }
    rig_set(e, RCL_MAC_CBFC_CFG(0), 64 | UINT64_C(0x7ffff) << 22);
    rig_set(e, RCL_CBFC_RST, 1);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_MAC_CBFC_CFG(0), 64 | UINT64_C(0x80000) << 22);
    rig_set(e, RCL_CBFC_RST, 1);
    rig_expect_errors(e, 1);
    rclink_info(e->d, &info);
    g_assert_cmpuint(info.vc[0].limit, ==, 0x7ffff);
    rig_free(r);
}

/* Each flow has its own under-limit: 7 packets never fit into 6 credits. */
static void test_under_limits(void)
{
    static const unsigned flows[] = { 4, 1, 1, 1 }; /* TYPE1, 2, 3, ACK */
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
    rig_expect_errors(e, 1);    /* all of one class */
    for (unsigned v = 0; v < 8; v++) {
        rig_set(e, RCL_MAC_CBFC_CFG(v), 2048 | UINT64_C(6) << 22);
    }
    for (unsigned n = 0; n < 4; n++) {
        uint64_t uf = 0x249 | 7 << 3 * n;

        rig_set(e, RCL_AFH_CFG_EN, GEN1 | UINT64_C(0x3f) << 6 |
                UINT64_C(1) << RCL_CFG_CBFC_TYPE2 |
                UINT64_C(0x1ac688) << RCL_CFG_VC_MAP |
                uf << RCL_CFG_UF_TYPE1 | UINT64_C(0xff) << RCL_CFG_VC_OPEN);
        /* Whichever comes last: the limit, or the MAC's setup. */
        rig_expect_errors(e, n ? flows[n] : 0);
        rig_set(e, RCL_CBFC_RST, 0xff);
        rig_expect_errors(e, flows[n]);
    }
    rig_free(r);
}

/* ---- sender ---- */

/* A QP that rate 0 stopped goes on with the windows of its new rate. */
static void test_rate_again(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_qp(e, 4, e, 4, 0);
    rig_post(e, 4, 1000, 0, 0);
    rig_settle(r);
    rig_set(e, RCL_TX_SPEED_MEM, 0);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_FREE_BUF);
    rig_set(e, RCL_TX_SPEED_MEM, 400);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    rig_post(e, 4, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 1);
    rig_pass(r, 3 * 4096);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 2);
    rig_free(r);
}

/* TYPE2: a packet whose memory fails is dropped alone; a reset tells of those
 * that it drops. */
static void test_type2_dropped(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    e->fail_at = RIG_TX_BUF;
    rig_post(e, 0, 64, 1, RCL_ETYPE2);
    rig_post(e, 0, 64, 2, RCL_ETYPE2);
    rig_settle(r);
    expect_event(e, RCL_EV_CREDIT, 0, 0, RCL_EV_DROPPED + RCL_DROP_DMA,
                 0x1001);
    expect_event(e, RCL_EV_CREDIT, 0, 0, RCL_ETYPE2, 0x1002);
    g_assert_cmpuint(CNT(e, drop_tx), ==, 1);
    rclink_wire_stop(e->d, true);
    rig_post(e, 0, 64, 3, RCL_ETYPE2);
    rig_settle(r);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_TYPE2);
    g_assert_true(e->kicked); /* a turn brings the event, who looks or not */
    expect_event(e, RCL_EV_CREDIT, 0, 0, RCL_EV_DROPPED + RCL_DROP_RESET,
                 0x1003);
    g_assert_cmphex(rig_get(e, RCL_OST_FREE) >> 16, ==, 16);
    rig_free(r);
}

/* Times of all RNR codes (IB 1.3 table 45). */
static void test_rnr_times(void)
{
    static const uint32_t us[32] = {
        655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960,
        1280, 1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960,
        61440, 81920, 122880, 163840, 245760, 327680, 491520,
    };
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_qp(e, 4, e, 4, 0);
    rig_set(e, RCL_RETRY_TIMER_CFG, 15 << 13);
    for (unsigned code = 0; code < 32; code++) {
        RclLayout l = { .format = RCL_GEN1, .icrc = true, .mac = 1,
                        .mac_type1 = 0x88b5 };
        RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a,
                      .rh = { .opcode = RCL_OP_ACK, .pkey = 0x5a, .qp = 4,
                              .psn = code, .len = RCL_SYN_RNR | code } };
        uint64_t sent = CNT(e, tx_type1) + CNT(e, tx_type1_again);
        uint8_t f[RCL_FRAME_MAX];

        rig_post(e, 4, 64, code, 0);
        rig_settle(r);
        rig_inject(e, f, rcl_frame_put(&l, &h, NULL, 0, f));
        rig_settle(r);
        g_assert_cmpuint(CNT(e, rx_rnr), ==, code + 1);
        rig_pass(r, us[code] * INT64_C(1000) - 1);
        g_assert_cmpuint(CNT(e, tx_type1) + CNT(e, tx_type1_again), ==,
                         sent + 1);
        rig_pass(r, 1);
        g_assert_cmpuint(CNT(e, tx_type1) + CNT(e, tx_type1_again), ==,
                         sent + 2);
        h.rh.len = RCL_SYN_ACK;
        rig_inject(e, f, rcl_frame_put(&l, &h, NULL, 0, f));
        /* Syndromes that are reserved. */
        h.rh.len = RCL_SYN_RESERVED | code;
        rig_inject(e, f, rcl_frame_put(&l, &h, NULL, 0, f));
        g_assert_cmpuint(CNT(e, drop_syndrome), ==, code + 1);
        drop_frames(e);
    }
    rig_free(r);
}

/* More than a flush holds leaves in order, with faults on and off. */
static void test_long_turn(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0];
    RigPacket p;

    rig_up(e, GEN1);
    rig_up(&r->e[1], GEN1);
    rig_connect(r, 0, 0);
    for (unsigned faults = 0; faults < 2; faults++) {
        rclink_fault_set(e->d, true, &(CoreFaultPlan) {
            .nth = faults ? 1000 : 0, .nth_action = CORE_FAULT_DROP });
        for (unsigned i = 0; i < 200; i++) {
            rig_post(e, 0, 1344, i, 0);
        }
        rig_settle(r);
        for (unsigned i = 0; i < 200; i++) {
            g_assert_true(rig_take(&r->e[1], 0, &p));
            g_assert_true(rig_is(&p, 1344, i));
        }
    }
    g_assert_cmpuint(CNT(e, tx_type1), ==, 400);
    g_assert_cmpuint(CNT(e, fault_drop), ==, 0);
    rclink_fault_set(e->d, true, &(CoreFaultPlan) {
        .nth = 1, .nth_action = CORE_FAULT_DROP });
    rig_post(e, 0, 64, 1, 0);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, fault_drop), ==, 1);
    rig_free(r);
}

/* TYPE2's rate counts what was sent, and the stops. */
static void test_rate2(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_TYPE2_RATE, 200);
    for (unsigned i = 0; i < 6; i++) {
        rig_post(e, 0, 100, i, RCL_ETYPE2);
    }
    rig_settle(r);
    for (unsigned w = 1; w <= 3; w++) {
        g_assert_cmpuint(CNT(e, tx_type2), ==, 2 * w);
        g_assert_cmpuint(CNT(e, cc_masked), ==, w);
        rig_pass(r, 4096);
    }
    rig_free(r);
}

/* ---- rings ---- */

/* A ring register and its neighbour in one read; entries are read once each. */
static void test_ring_wide(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_RING(2) + RCL_RING_BASE_LO, 0x12345670);
    rig_set(e, RCL_RING(2) + RCL_RING_BASE_HI, 0x89abcdef);
    g_assert_cmphex(rclink_read(e->d, RCL_RING(2), 8, r->now), ==,
                    UINT64_C(0x89abcdef12345670));
    rclink_write(e->d, RCL_RING(2) + RCL_RING_SHADOW_LO,
                 UINT64_C(0x0fedcba987654320), 8, r->now);
    g_assert_cmphex(rclink_read(e->d, RCL_RING(2) + RCL_RING_SHADOW_LO, 8,
                                r->now), ==, UINT64_C(0x0fedcba987654320));
    /* Halves keep each other, whichever is first. */
    rig_set(e, RCL_RING(2) + RCL_RING_SHADOW_HI, 0x13579bdf);
    rig_set(e, RCL_RING(2) + RCL_RING_SHADOW_LO, 0x2468ace0);
    rig_set(e, RCL_RING(2) + RCL_RING_BASE_HI, 0xfedcba98);
    rig_set(e, RCL_RING(2) + RCL_RING_BASE_LO, 0x76543210);
    g_assert_cmphex(rclink_read(e->d, RCL_RING(2) + RCL_RING_SHADOW_LO, 8,
                                r->now), ==, UINT64_C(0x13579bdf2468ace0));
    g_assert_cmphex(rclink_read(e->d, RCL_RING(2), 8, r->now), ==,
                    UINT64_C(0xfedcba9876543210));
    rig_free(r);
}

/* ---- TYPE3 ---- */

/* Each direction's reset clears its own bits, and leaves the other's. */
static void test_reset_bits(void)
{
    static const uint32_t tx = 1 << RCL_ST1_TX_ZERO, rx = 1 << RCL_ST1_RX_ZERO;
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t frame[60] = { 0 };

    for (unsigned side = 0; side < 2; side++) {
        rig_up(e, GEN1);
        rig_set(e, RCL_DMA_INTR_ST0, UINT64_MAX);
        rig_set(e, RCL_DMA_INTR_ST1, UINT64_MAX);
        /* A frame of no bytes leaves; one comes into a buffer of none. */
        put_le64(e->mem + RIG_MD_TX, RCL_MD_SF | RCL_MD_LF);
        rig_set(e, RCL_TX_MD_HEAD_PTR, 1);
        put_le64(e->mem + RIG_MD_RX, 0);
        frame[12] = 0x99;
        rig_inject(e, frame, 60);
        rig_settle(r);
        g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, tx | rx);
        g_assert_true(rig_get(e, RCL_DMA_INTR_ST0) >> RCL_ST0_ABNORMAL & 1);
        rig_set(e, RCL_NONR_DMA_CTRL, side ?
                RCL_NONR_RX_RESET | RCL_NONR_TX_EN | RCL_NONR_RX_EN :
                RCL_NONR_TX_RESET | RCL_NONR_TX_EN | RCL_NONR_RX_EN);
        g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, side ? tx : rx);
        g_assert_true(rig_get(e, RCL_DMA_INTR_ST0) >> RCL_ST0_ABNORMAL & 1);
        rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_RESET | RCL_NONR_RX_RESET);
        g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, 0);
        g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, 0);
    }
    rig_free(r);
}

/* Causes of faults of either direction, and the bit of ST1. */
static const struct {
    unsigned bit;
    bool rx;
    uint32_t md[2];             /* sent one after the other; 0: none */
    uint64_t fail_at;
} fault[] = {
    { RCL_ST1_TWO_SOP, false, { 100 << 4 | RCL_MD_SF, 100 << 4 | RCL_MD_SF } },
    { RCL_ST1_TWO_EOP, false, { 100 << 4 | RCL_MD_LF } },
    { RCL_ST1_TX_OVERSIZE, false, { 4097 << 4 | RCL_MD_SF | RCL_MD_LF } },
    { RCL_ST1_TX_ZERO, false, { RCL_MD_SF | RCL_MD_LF } },
    { RCL_ST1_MD_READ, false, { 100 << 4 | RCL_MD_SF | RCL_MD_LF },
      RIG_MD_TX },
    { RCL_ST1_RX_ZERO, true },
    { RCL_ST1_MD_WRITE, true, .fail_at = RIG_MD_RX + 16 },
    { RCL_ST1_RX_OVERFLOW, true },
};

/* Every fault is cleared by its own direction's reset alone. */
static void test_fault_resets(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(fault); i++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];
        uint8_t frame[4000] = { 0 };
        uint32_t en = RCL_NONR_TX_EN | RCL_NONR_RX_EN;
        uint32_t st1 = 1 << fault[i].bit;
        uint32_t own = fault[i].rx ? RCL_NONR_RX_RESET : RCL_NONR_TX_RESET;
        uint32_t other = fault[i].rx ? RCL_NONR_TX_RESET : RCL_NONR_RX_RESET;

        rig_up(e, GEN1);
        rig_set(e, RCL_DMA_INTR_ST0, UINT64_MAX);
        e->fail_at = fault[i].fail_at;
        for (unsigned k = 0; k < 2 && fault[i].md[k]; k++) {
            put_le64(e->mem + RIG_MD_TX + k * 16, fault[i].md[k]);
            put_le64(e->mem + RIG_MD_TX + k * 16 + 8, RIG_MD_BUF);
            rig_set(e, RCL_TX_MD_HEAD_PTR, k + 1);
        }
        frame[12] = 0x99;
        if (fault[i].bit == RCL_ST1_RX_ZERO) {
            put_le64(e->mem + RIG_MD_RX, 0);
        }
        if (fault[i].bit == RCL_ST1_RX_OVERFLOW) {
            /* No descriptors: the FIFO fills. */
            rig_set(e, RCL_NONR_DMA_CTRL, en | RCL_NONR_RX_RESET);
            rig_set(e, RCL_NONR_DMA_CTRL, en);
            for (unsigned k = 0; k < 3; k++) {
                rig_inject(e, frame, sizeof(frame));
            }
        } else if (fault[i].rx) {
            rig_inject(e, frame, 60);
            rig_inject(e, frame, 60);
        }
        rig_settle(r);
        g_test_message("fault %u", fault[i].bit);
        g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, st1);
        g_assert_cmpuint(e->msix[RCL_VEC_FAULT], ==, 1);
        rig_set(e, RCL_NONR_DMA_CTRL, en | other);
        g_assert_cmphex(rig_get(e, RCL_NONR_DMA_CTRL), ==, en | other);
        g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, st1);
        g_assert_true(rig_get(e, RCL_DMA_INTR_ST0) >> RCL_ST0_ABNORMAL & 1);
        rig_set(e, RCL_NONR_DMA_CTRL, own);
        g_assert_cmphex(rig_get(e, RCL_NONR_DMA_CTRL), ==, own);
        g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, 0);
        g_assert_false(rig_get(e, RCL_DMA_INTR_ST0) >> RCL_ST0_ABNORMAL & 1);
        rig_free(r);
    }
}

/* Bits of ST0 go with the reset of their direction. */
static void test_tail_bits(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t frame[60] = { 0 };
    uint32_t en = RCL_NONR_TX_EN | RCL_NONR_RX_EN;
    uint32_t tx = 1 << RCL_ST0_TX_TAIL | 1 << RCL_ST0_TX_EMPTY;
    uint32_t rx = 1 << RCL_ST0_RX_TAIL;

    for (unsigned side = 0; side < 2; side++) {
        rig_up(e, GEN1);
        rig_set(e, RCL_TAIL_UP_CFG, 1 | 1 << 16);
        rig_set(e, RCL_DMA_INTR_ST0, UINT64_MAX);
        rig_md_post(e, frame, 60);
        frame[12] = 0x99;
        rig_inject(e, frame, 60);
        rig_settle(r);
        g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, tx | rx);
        rig_set(e, RCL_NONR_DMA_CTRL,
                en | (side ? RCL_NONR_RX_RESET : RCL_NONR_TX_RESET));
        g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, side ? tx : rx);
        drop_frames(e);
    }
    rig_free(r);
}

/* ---- sums ---- */

/* Headers whose sums carry in every way. */
static void test_ip_sums(void)
{
    static const uint8_t payload[64];
    uint8_t f[RCL_FRAME_MAX], scratch[RCL_FRAME_MAX];
    RclLayout l = {
        .format = RCL_STANDARD, .mac = 0x02000000000a, .ttl = 64,
        .ip = 0xffffffff, .type2_dport = 4792,
    };
    RclHead h = { .kind = RCL_TYPE1, .da = 1, .dip = 0xfffffffe, .tos = 0xff,
                  .dport = RCL_UDP_PORT };
    RclView v;

    for (unsigned id = 0; id < 0x10000; id++) {
        size_t len;

        l.ip_id = id;
        len = rcl_frame_put(&l, &h, payload, sizeof(payload), f);
        g_assert_cmphex(core_csum(f + 14, 20), ==, 0xffff);
        g_assert_cmpint(rcl_frame_get(&l, f, len, scratch, &v), ==, RCL_TAKE);
    }
}

/* ---- Lite ---- */

/* Key_words in DA, the class in SA, as gen2-order=slap has it. */
static void test_lite_slap(void)
{
    RclLayout l = {
        .format = RCL_LITE, .slap = true, .mac = 0x02000000ffff,
        .tc1 = { 0x02, 0x06, 0x0a, 0x0e }, .tc2 = 0x1a, .vcs = 4,
    };
    RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000007b, .tc = 0x0a,
                  .rh = { .qp = 0x1a4 << 2 | 2 } };
    uint8_t data[64], f[RCL_FRAME_MAX], scratch[RCL_FRAME_MAX];
    size_t len;
    RclView v;

    memset(data, 0x55, sizeof(data));
    len = rcl_frame_put(&l, &h, data, sizeof(data), f);
    g_assert_cmphex(f[0], ==, RCL_KEY_TYPE1);
    g_assert_cmphex(f[6], ==, 0x0a);
    g_assert_cmphex(get_be16(f + 10), ==, 0x1a4);       /* and nothing of the MAC */
    g_assert_cmpint(rcl_frame_get(&l, f, len, scratch, &v), ==, RCL_TAKE);
    g_assert_cmpint(v.kind, ==, RCL_TYPE1);
    g_assert_cmpuint(v.bank, ==, 2);
    g_assert_cmpmem(v.data, v.len, data, sizeof(data));
    f[0] &= ~RCL_KEY_W;
    f[1] |= RCL_KEY_W;
    g_assert_cmpint(rcl_frame_get(&l, f, len, scratch, &v), ==, RCL_TAKE);
    g_assert_cmpint(v.kind, ==, RCL_TYPE3);
}

/* ---- what a monitor and another machine are told ---- */

/* All six rings, each with what is its own. */
static void test_ring_infos(void)
{
    static const char *const names[] = {
        "tx", "rx-type1", "rx-type2", "events", "tx-type3", "rx-type3",
    };
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    RclInfo info;

    rig_up(e, GEN1);
    rig_post(e, 0, 64, 0, RCL_ETYPE2);
    rig_settle(r);
    drop_frames(e);
    rclink_info(e->d, &info);
    for (unsigned n = 0; n < RCL_RING_INFOS; n++) {
        bool type3 = n >= RCL_RINGS;

        g_assert_cmpstr(info.ring[n].name, ==, names[n]);
        g_assert_true(info.ring[n].enabled);
        g_assert_false(info.ring[n].stopped);
        g_assert_cmphex(info.ring[n].base, ==,
                        !type3 ? RIG_RING + n * 0x10000 :
                        n == RCL_RINGS ? RIG_MD_TX : RIG_MD_RX);
        g_assert_cmpuint(info.ring[n].entries, ==,
                         type3 ? RIG_MDS : 1 << RIG_LOG);
    }
    g_assert_cmpuint(info.ring[RCL_RING_TX].head, ==, 1);
    g_assert_cmpuint(info.ring[RCL_RING_TX].tail, ==, 1);
    g_assert_cmpuint(info.ring[RCL_RING_RX1].head, ==, 1 << RIG_LOG);
    g_assert_cmpuint(info.ring[RCL_RING_RX1].tail, ==, 0);
    g_assert_cmpuint(info.ring[RCL_RINGS + 1].head, ==, RIG_MDS - 1);
    rig_free(r);
}

/* Packets of TYPE2 that wait for the wire go along to another machine, the
 * first of them too. */
static void test_type2_moves(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t *data, seen = 0;
    size_t len;

    rig_up(e, GEN1);
    rclink_wire_stop(e->d, true);
    for (unsigned i = 0; i < 3; i++) {
        rig_post(e, 0, 64 + 4 * i, 0x10 * (i + 1), RCL_ETYPE2 |
                                       i << RCL_E_GROUP_SHIFT);
    }
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) >> 16, ==, 13);
    data = rclink_save(e->d, r->now, &len);
    rclink_free(e->d);
    e->d = rclink_new(&e->cfg);
    g_assert_cmpstr(rclink_load(e->d, r->now, data, len), ==, NULL);
    g_free(data);
    rclink_link(e->d, true);
    rclink_wire_stop(e->d, false);
    e->kicked = true;
    rig_settle(r);
    for (GBytes *b; (b = rig_frame(e)) != NULL; seen++) {
        const uint8_t *p = g_bytes_get_data(b, NULL);
        unsigned size = 64 + 4 * seen;

        /* Addresses, type and RH in front, no ICRC behind. */
        g_assert_cmpuint(g_bytes_get_size(b), ==, 14 + 8 + size);
        for (unsigned i = 0; i < size; i++) {
            g_assert_cmphex(p[14 + 8 + i], ==,
                            (uint8_t)(0x10 * (seen + 1) + i));
        }
        g_bytes_unref(b);
    }
    g_assert_cmpuint(seen, ==, 3);
    rig_free(r);
}

/* Who is told of a link that came or went looks at the port again. */
static void test_link_kicks(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    for (unsigned up = 0; up < 2; up++) {
        e->kicked = false;
        rclink_link(e->d, up);
        g_assert_true(e->kicked);
        e->kicked = false;
        rclink_link(e->d, up);
        g_assert_false(e->kicked);
    }
    rig_free(r);
}

/* ---- pieces that are too short, and all that is written ---- */

/* An update of credits has a word for each VC; not a byte may be missing. */
static void test_update_short(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[60] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 0xb, 0x88, 0x08,
                      0xcb, 0xfc, 2 };

    rig_up(e, GEN1);
    rig_inject(e, f, 16 + 2 + 8 * 4 - 1);
    g_assert_cmpuint(CNT(e, drop_control), ==, 1);
    g_assert_cmpuint(CNT(e, cbfc_rx), ==, 0);
    rig_inject(e, f, 16 + 2 + 8 * 4);
    g_assert_cmpuint(CNT(e, drop_control), ==, 1);
    g_assert_cmpuint(CNT(e, cbfc_rx), ==, 1);
    rig_free(r);
}

/* A descriptor that was filled has its size and flags, and nothing of what the
 * driver had written beside them. */
static void test_md_written(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[60] = { 2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb, 0x88, 0xcc };
    uint8_t *md = e->mem + RIG_MD_RX;

    rig_up(e, GEN1);
    memset(md + 4, 0xff, 2);
    rig_inject(e, f, sizeof(f));
    rig_settle(r);
    g_assert_cmphex(get_le32(md), ==, sizeof(f) << RCL_MD_SIZE_SHIFT |
                                      RCL_MD_SF | RCL_MD_LF);
    g_assert_cmphex(get_le16(md + 4), ==, 0);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/edges/limits", test_limits);
    g_test_add_func("/rclink/edges/rx2-small", test_rx2_small);
    g_test_add_func("/rclink/edges/wire-length", test_wire_length);
    g_test_add_func("/rclink/edges/event-fields", test_event_fields);
    g_test_add_func("/rclink/edges/nocnp-many", test_nocnp_many);
    g_test_add_func("/rclink/edges/sets", test_sets);
    g_test_add_func("/rclink/edges/masked-many", test_masked_many);
    g_test_add_func("/rclink/edges/answer-cost", test_answer_cost);
    g_test_add_func("/rclink/edges/credit-fields", test_credit_fields);
    g_test_add_func("/rclink/edges/under-limits", test_under_limits);
    g_test_add_func("/rclink/edges/rate-again", test_rate_again);
    g_test_add_func("/rclink/edges/type2-dropped", test_type2_dropped);
    g_test_add_func("/rclink/edges/rnr-times", test_rnr_times);
    g_test_add_func("/rclink/edges/long-turn", test_long_turn);
    g_test_add_func("/rclink/edges/rate2", test_rate2);
    g_test_add_func("/rclink/edges/ring-wide", test_ring_wide);
    g_test_add_func("/rclink/edges/reset-bits", test_reset_bits);
    g_test_add_func("/rclink/edges/fault-resets", test_fault_resets);
    g_test_add_func("/rclink/edges/tail-bits", test_tail_bits);
    g_test_add_func("/rclink/edges/ip-sums", test_ip_sums);
    g_test_add_func("/rclink/edges/lite-slap", test_lite_slap);
    g_test_add_func("/rclink/edges/ring-infos", test_ring_infos);
    g_test_add_func("/rclink/edges/type2-moves", test_type2_moves);
    g_test_add_func("/rclink/edges/link-kicks", test_link_kicks);
    g_test_add_func("/rclink/edges/update-short", test_update_short);
    g_test_add_func("/rclink/edges/md-written", test_md_written);
    return g_test_run();
}
