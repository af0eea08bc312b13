/*
 * RC Link: what happens at the last place of a buffer, the first moment of a time
 * and the lowest bit of a field.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow.h"

/* The numbers of the last CF that @e sent; of VCs that it does not name, 0. */
static bool last_cf(RigEnd *e, uint32_t vc[8])
{
    bool any = false;
    GBytes *b;

    while ((b = rig_frame(e)) != NULL) {
        const uint8_t *f = g_bytes_get_data(b, NULL);

        if (get_be32(f + 12) == 0x8808cbfc && f[16] == 2) {
            any = true;
            for (unsigned v = 0; v < 8; v++) {
                vc[v] = get_be32(f + 18 + 4 * v);
                g_assert_true(f[17] >> v & 1 || !vc[v]);
            }
        }
        g_bytes_unref(b);
    }
    return any;
}

/* A packet that finds the buffer full gives its credits back as it is dropped, and
 * those that wait keep theirs. */
static void test_full(void)
{
    enum { FIT = 1024 / 21, MORE = 12, COST = 6 };
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    uint32_t vc[8] = { 0 };

    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false));
    setup_credits(e, 256, 0, 1000);
    rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    for (unsigned i = 0; i < FIT; i++) {
        peer_send(e, (RclRh) { .psn = i }, 1344);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(e, rx_type1), ==, FIT);
    last_cf(e, vc);
    g_assert_cmpuint(vc[1], ==, 0);
    for (unsigned i = 0; i < MORE; i++) {
        peer_send(e, (RclRh) { .psn = FIT }, 1344);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(e, drop_rx1), ==, MORE);
    g_assert_true(last_cf(e, vc));
    g_assert_cmpuint(vc[1], ==, MORE * COST);
    rig_free(r);
}

/* More multicast in one turn than the MAC has cells for: what is left goes on in
 * the next, which the port asks for. */
static void test_cells(void)
{
    enum { NUM = 400, CELLS = 11 };
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    unsigned turns = 0;

    rig_set(e, RCL_CTRL, RCL_CTRL_MULTI_CREDIT);
    rig_settle(r);
    for (unsigned i = 0; i < NUM; i++) {
        rig_post(e, 0, 1344, i, RCL_ETYPE2);
    }
    while (CNT(e, tx_type2) < NUM) {
        int64_t next = rclink_run(e->d, r->now, 1000);

        turns++;
        g_assert_cmpuint(CNT(e, tx_type2), <=, turns * (2048 / CELLS));
        g_assert_cmpint(next, ==, CNT(e, tx_type2) < NUM ? r->now : INT64_MAX);
    }
    g_assert_cmpuint(turns, >=, 3);
    rig_free(r);
}

/* Who does not ask for them (multi_credit_ctrl_en) uses none. */
static void test_no_cells(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    e->full = true;
    rig_post(e, 0, 1344, 0, RCL_ETYPE2);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 1);
    g_assert_cmpuint(rig_get(e, RCL_MULTI_CREDIT), ==, 2048);
    rig_free(r);
}

/* Buffers for one type give the device nothing to do where the other type waits. */
static void test_other_ring(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[1];

    rig_connect(r, 3, 0);
    rig_set(e, RCL_RING(RCL_RING_RX2) + RCL_RING_CTRL, 0);
    rig_post(&r->e[0], 3, 64, 0, RCL_ETYPE2);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, rx_type2), ==, 1);
    rig_set(e, RCL_RING(RCL_RING_RX2) + RCL_RING_CTRL, RCL_RING_EN);
    rig_settle(r);
    e->kicked = false;
    rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, e->rx_head[0]);
    g_assert_false(e->kicked);
    rig_set(e, RCL_RING(RCL_RING_RX2) + RCL_RING_HEAD, 1);
    g_assert_true(e->kicked);
    rig_free(r);
}

/* Whoever looks at frames is told of each, of both ways. */
static void test_frames(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    post(e, 0xa5, 3);
    g_assert_cmpuint(e->frames[1], ==, 3);
    g_assert_cmpuint(e->frames[0], ==, 0);
    peer_ack(e, 0x1f, 2);
    g_assert_cmpuint(e->frames[1], ==, 3);
    g_assert_cmpuint(e->frames[0], ==, 1);
    rig_free(r);
}

/* Marks that come when the buffer is beyond them already, and go again. */
static void test_marks(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    uint64_t enable = UINT64_C(0x7f) << 32;

    rig_set(e, RCL_AFH_CFG_EN, rig_get(e, RCL_AFH_CFG_EN) |
                               UINT64_C(0x1ac688) << RCL_CFG_VC_MAP);
    rig_set(e, RCL_XON_THR_RDMA, enable);
    rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    peer_send(e, (RclRh) { .psn = 0 }, 5 * 64);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, pfc_tx), ==, 0);
    rig_set(e, RCL_XON_THR_RDMA, enable | 5 << 16 | 2);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, pfc_tx), ==, 1);
    g_assert_cmphex(rig_get(e, RCL_STATUS) >> RCL_STATUS_PFC_TX_SHIFT & 0xff,
                    ==, 1 << 1);
    rig_set(e, RCL_XON_THR_RDMA, enable | 9 << 16 | 5);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, pfc_tx), ==, 2);
    g_assert_cmphex(rig_get(e, RCL_STATUS) >> RCL_STATUS_PFC_TX_SHIFT & 0xff,
                    ==, 0);
    rig_free(r);
}

/* NOCNP: 256 is the longest, and its time runs from when it was set. */
static void test_nocnp(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    rig_set(e, RCL_NOCNP, 1);
    g_assert_cmpuint(rig_get(e, RCL_NOCNP), ==, 1);
    rig_set(e, RCL_NOCNP, 256);
    g_assert_cmpuint(rig_get(e, RCL_NOCNP), ==, 256);
    rig_expect_errors(e, 0);
    rig_set(e, RCL_NOCNP, 257);
    g_assert_cmpuint(rig_get(e, RCL_NOCNP), ==, 256);
    rig_expect_errors(e, 1);
    rig_set(e, RCL_NOCNP, 10);
    rig_pass(r, 4000);
    rig_post(e, 0xa5, 64, 0, 0);
    rig_settle(r);
    rig_events(e, 0);
    rig_pass(r, 5999);
    g_assert_false(rig_event_of(e, RCL_EV_NOCNP, &ev));
    rig_pass(r, 1);
    g_assert_true(rig_event_of(e, RCL_EV_NOCNP, &ev));
    g_assert_cmpuint(ev.a, ==, 64);
    rig_free(r);
}

/* An odd address of a sender, whole; buffers on lines of 64 bytes, no complaint. */
static void test_low_bits(void)
{
    Rig *r = pair_up(GEN1, NULL);
    uint8_t frame[700] = { 0x82 }, back[RIG_BUFFER];
    RigPacket p;

    rig_connect(r, 3, 0);
    rig_post(&r->e[1], 3, 64, 0, 0);
    rig_settle(r);
    g_assert_true(rig_take(&r->e[0], 0, &p));
    g_assert_cmphex(p.sa, ==, 0x0b);
    for (unsigned i = 0; i < 3; i++) {
        rig_md_post(&r->e[1], frame, sizeof(frame));
        rig_settle(r);
        g_assert_cmpuint(rig_md_take(&r->e[0], back), ==, sizeof(frame));
    }
    rig_expect_errors(&r->e[0], 0);
    rig_free(r);
}

/* A packet of TYPE2 that is in a buffer when the port goes off stays there. */
static void test_type2_off(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_TYPE2_RATE, 1);
    for (unsigned i = 0; i < 2; i++) {
        rig_post(e, 0, 64, i, RCL_ETYPE2);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 1);
    rig_set(e, RCL_RDMA_EN, 0);
    rig_set(e, RCL_TYPE2_RATE, 0);
    rig_pass(r, 1000000);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 1);
    rig_set(e, RCL_RDMA_EN, 1);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 2);
    rig_free(r);
}

/* A reset of TYPE2 forgives what was sent beyond its rate. */
static void test_type2_debt(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_TYPE2_RATE, 200);
    rig_post(e, 0, 1000, 0, RCL_ETYPE2);
    rig_post(e, 0, 64, 0, RCL_ETYPE2);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 1);
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_TYPE2);
    for (unsigned i = 0; i < 4; i++) {
        rig_post(e, 0, 64, i, RCL_ETYPE2);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 1 + 4);
    rig_post(e, 0, 64, 0, RCL_ETYPE2);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 1 + 4);
    rig_free(r);
}

/* An answer that is owed travels with the time of what asked for it. */
static void test_owed_time(void)
{
    for (unsigned fack = 0; fack < 2; fack++) {
        Rig *r = alone(0);
        RigEnd *e = &r->e[0];
        g_autofree uint8_t *data = NULL;
        size_t len;
        RclRh rh;

        rclink_wire_stop(e->d, true);
        peer_send(e, (RclRh) { .fack = fack, .ts_en = true, .ts = 0x4321 }, 64);
        rig_settle(r);
        data = rclink_save(e->d, r->now, &len);
        g_assert_cmpstr(rclink_load(e->d, r->now, data, len), ==, NULL);
        rclink_wire_stop(e->d, false);
        rig_settle(r);
        g_assert_true(next_rh(e, &rh));
        g_assert_cmpuint(rh.opcode, ==, RCL_OP_ACK);
        g_assert_cmpuint(rh.ts_en, ==, fack);
        g_assert_cmphex(rh.ts, ==, fack ? 0x4321 : 0);
        rig_free(r);
    }
}

/* A QP that owes an ACK, a NAK and an RNR NAK at once travels; what it then says is the
 * last of them. */
static void test_owed_all(void)
{
    enum { BANK = 0xa5 % 4 };
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    g_autofree uint8_t *data = NULL;
    size_t len;
    RclRh rh;

    rclink_wire_stop(e->d, true);
    peer_send(e, (RclRh) { .psn = 0 }, 64);
    peer_send(e, (RclRh) { .psn = 5 }, 64);
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(1) << (46 + BANK));
    rig_set(e, RCL_AFH_CFG_EN, rig_get(e, RCL_AFH_CFG_EN) |
                               UINT64_C(1) << (RCL_CFG_RNR + BANK));
    rig_set(e, RCL_FLOW_STOP, RCL_STOP_BANK0 << BANK);
    peer_send(e, (RclRh) { .psn = 1 }, 64);
    rig_settle(r);
    data = rclink_save(e->d, r->now, &len);
    g_assert_cmpstr(rclink_load(e->d, r->now, data, len), ==, NULL);
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    g_assert_true(next_rh(e, &rh));
    g_assert_cmpuint(rh.opcode, ==, RCL_OP_ACK);
    g_assert_cmphex(rh.len, ==, RCL_SYN_RNR | 1);
    g_assert_cmphex(rh.psn, ==, 1);
    assert_silence(e);
    rig_free(r);
}

/* Bytes of frames as they are counted; an entry that is none as it is told. */
static void test_told(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_post(e, 0xa5, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, wire_bytes_tx), ==, 22 + 64 + 4);
    rig_post(e, 0xa5, 100, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, wire_bytes_tx), ==, 22 + 64 + 4 + 22 + 100 + 4);
    rig_post(e, 0xa5, 63, 0x11, 0);
    rig_settle(r);
    rig_expect_errors(e, 1);
    g_assert_cmpstr(e->error, ==,
                    "TX_S: type or length of an entry (1011000000a5003f)");
    g_assert_cmpuint(CNT(e, drop_tx), ==, 1);
    rig_free(r);
}

/* TYPE2's ToS: with CBFC its traffic class, else DEST_IP_MEM2[63:48]. */
static void test_tos(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, FORMAT(RCL_CFG_STANDARD));
    rig_set(e, RCL_DEST_IP_MEM2, 0xe0000101 | UINT64_C(0x2a) << 48);
    rig_set(e, RCL_TRAFFIC_CLASS, UINT64_C(0x3d) << 40);
    for (unsigned cbfc = 0; cbfc < 2; cbfc++) {
        GBytes *b;

        if (cbfc) {
            rig_set(e, RCL_AFH_CFG_EN,
                    cbfc_cfg(FORMAT(RCL_CFG_STANDARD), 1, false));
            setup_credits(e, 256, 0, 1000);
            rig_settle(r);
            frames(e);
        }
        rig_post(e, 0, 64, 0, RCL_ETYPE2);
        rig_settle(r);
        b = rig_frame(e);
        g_assert_nonnull(b);
        g_assert_cmphex(((const uint8_t *)g_bytes_get_data(b, NULL))[15], ==,
                        cbfc ? 0x3d : 0x2a);
        g_bytes_unref(b);
    }
    rig_free(r);
}

/* An answer has the fifth byte of TRAFFIC_CLASS, all of it. */
static void test_answer_class(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    GBytes *b;

    rig_set(e, RCL_TRAFFIC_CLASS, UINT64_C(0x42db00000000));
    peer_send(e, (RclRh) { .psn = 0 }, 64);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_ack), ==, 1);
    b = rig_frame(e);
    g_assert_cmphex(((const uint8_t *)g_bytes_get_data(b, NULL))[6], ==, 0xdb);
    g_bytes_unref(b);
    rig_free(r);
}

/* A PFC frame needs all of its words. */
static void test_pfc_short(void)
{
    enum { WHOLE = 16 + 2 + 8 * 2 };
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    for (unsigned len = 16; len <= WHOLE; len++) {
        g_autofree uint8_t *f = g_malloc0(len);

        memcpy(f, "\x01\x80\xc2\0\0\x01\x02\0\0\0\0\x0b\x88\x08\x01\x01", 16);
        rig_inject(e, f, len);
        g_assert_cmpuint(CNT(e, pfc_rx), ==, len == WHOLE);
        g_assert_cmpuint(CNT(e, drop_control), ==, MIN(len, WHOLE - 1) - 15);
    }
    rig_free(r);
}

/* A frame whose second piece is not in memory is lost, and the next one is sent. */
static void test_gather_lost(void)
{
    static const uint64_t flags[] = {
        RCL_MD_SF, 0, RCL_MD_LF, RCL_MD_SF | RCL_MD_LF,
    };
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++) {
        uint8_t *md = e->mem + RIG_MD_TX + i * RCL_MD_BYTES;

        put_le64(md, UINT64_C(100) << RCL_MD_SIZE_SHIFT | flags[i]);
        put_le64(md + 8, RIG_TX_BUF + i * RIG_BUFFER);
    }
    e->fail_at = RIG_TX_BUF + RIG_BUFFER;
    rig_set(e, RCL_TX_MD_HEAD_PTR, G_N_ELEMENTS(flags));
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, 1 << RCL_ST1_DATA);
    g_assert_cmpuint(CNT(e, tx_type3), ==, 1);
    g_assert_cmpuint(CNT(e, wire_bytes_tx), ==, 100);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/bounds/full", test_full);
    g_test_add_func("/rclink/bounds/cells", test_cells);
    g_test_add_func("/rclink/bounds/no-cells", test_no_cells);
    g_test_add_func("/rclink/bounds/other-ring", test_other_ring);
    g_test_add_func("/rclink/bounds/frames", test_frames);
    g_test_add_func("/rclink/bounds/marks", test_marks);
    g_test_add_func("/rclink/bounds/nocnp", test_nocnp);
    g_test_add_func("/rclink/bounds/low-bits", test_low_bits);
    g_test_add_func("/rclink/bounds/type2-off", test_type2_off);
    g_test_add_func("/rclink/bounds/type2-debt", test_type2_debt);
    g_test_add_func("/rclink/bounds/owed-time", test_owed_time);
    g_test_add_func("/rclink/bounds/owed-all", test_owed_all);
    g_test_add_func("/rclink/bounds/told", test_told);
    g_test_add_func("/rclink/bounds/tos", test_tos);
    g_test_add_func("/rclink/bounds/answer-class", test_answer_class);
    g_test_add_func("/rclink/bounds/pfc-short", test_pfc_short);
    g_test_add_func("/rclink/bounds/gather-lost", test_gather_lost);
    return g_test_run();
}
