/*
 * RC Link: what is kept and what is forgotten: by a reset, a lost link, a
 * rewind, a turn, another machine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

#define GEN1 (UINT64_C(1) << RCL_CFG_GEN1 | UINT64_C(1) << RCL_CFG_GEN1_TC)
#define CNT(e, name) (rclink_counters((e)->d)->name)

enum { QP = 5 };

/* A rig of one port with a QP, whose peer is this program. */
static Rig *alone(void)
{
    Rig *r = rig_new(1, NULL);

    rig_up(&r->e[0], GEN1);
    rig_qp(&r->e[0], QP, &r->e[0] + 1, QP, 0);
    return r;
}

/* A frame from the peer. */
static void peer_send(RigEnd *e, RclRh rh, size_t len)
{
    const RclLayout l = {
        .format = RCL_GEN1, .gen1_tc = true, .icrc = true, .tpid = 0x8100,
        .mac = 0x02000000000b, .mac_type1 = 0x88b5, .vcs = 4,
    };
    RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a, .rh = rh };
    uint8_t payload[RCL_PAYLOAD_MAX] = { 0 }, frame[RCL_FRAME_MAX];

    h.rh.pkey = 0x5a;
    rig_inject(e, frame, rcl_frame_put(&l, &h, payload, len, frame));
}

static void peer_answer(RigEnd *e, unsigned opcode, uint8_t syndrome,
                        unsigned psn)
{
    peer_send(e, (RclRh) { .opcode = opcode, .len = syndrome, .psn = psn,
                           .qp = QP }, 0);
}

/* Frames that left, and what the last of them had at @at. */
static unsigned frames(RigEnd *e, size_t at, uint8_t *byte)
{
    unsigned n = 0;
    GBytes *b;

    for (; (b = rig_frame(e)) != NULL; n++) {
        *byte = ((const uint8_t *)g_bytes_get_data(b, NULL))[at];
        g_bytes_unref(b);
    }
    return n;
}

static void credits_on(RigEnd *e, unsigned vcs)
{
    rig_set(e, RCL_AFH_CFG_EN, GEN1 | UINT64_C(0x3f) << RCL_CFG_CBFC_BANK0 |
                               UINT64_C(0x1ac688) << RCL_CFG_VC_MAP |
                               UINT64_C(1) << RCL_CFG_CBFC_TYPE2 |
                               UINT64_C(01111) << RCL_CFG_UF_TYPE1 |
                               UINT64_C(0xff) << RCL_CFG_VC_OPEN);
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
    for (unsigned v = 0; v < 8; v++) {
        rig_set(e, RCL_MAC_CBFC_CFG(v), 256 |
                                        UINT64_C(30) << RCL_CBFC_LIMIT_SHIFT);
    }
    rig_set(e, RCL_CBFC_RST, vcs);
    rig_settle(e->rig);
}

/* ---- credits ---- */

/* Of every frame, those that are not kept too; an update names the VCs that
 * have news. */
static void test_credit_news(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    uint8_t vcs = 0;

    credits_on(e, 0xff);
    frames(e, 17, &vcs);
    peer_send(e, (RclRh) { .psn = 0, .qp = QP }, 64);
    rig_settle(r);
    /* An update and the ACK. */
    g_assert_cmpuint(CNT(e, cbfc_tx), ==, 2);
    g_assert_cmpuint(CNT(e, tx_ack), ==, 1);
    for (unsigned i = 0; i < 2; i++) {
        GBytes *b = rig_frame(e);
        const uint8_t *p = g_bytes_get_data(b, NULL);

        if (get_be16(p + 12) == 0x8808) {
            g_assert_cmphex(p[16], ==, 2);
            g_assert_cmphex(p[17], ==, 1 << QP % 4);
        }
        g_bytes_unref(b);
    }
    peer_answer(e, RCL_OP_CNP, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, cbfc_tx), ==, 3);
    g_assert_cmpuint(frames(e, 17, &vcs), ==, 1);
    g_assert_cmphex(vcs, ==, 1 << 4);           /* ACKs and CNPs */
    /* The peer's update: all that bank 1 used is free. */
    {
        uint8_t f[60] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 0xb, 0x88,
                          0x08, 0xcb, 0xfc, 2, 1 << 1 };

        rig_post(e, QP, 64, 0, 0);
        rig_settle(r);
        g_assert_cmpuint(rig_get(e, RCL_CBFC_LEVEL0) >> 16 & 0xffff, ==, 29);
        put_be32(f + 18 + 4, 1);
        rig_inject(e, f, sizeof(f));
        g_assert_cmpuint(rig_get(e, RCL_CBFC_LEVEL0) >> 16 & 0xffff, ==, 30);
        g_assert_cmpuint(CNT(e, cbfc_rx), ==, 1);
        g_assert_cmpuint(CNT(e, cbfc_over), ==, 0);
    }
    rig_free(r);
}

/* The packed layout has TYPE2's enable at bit 12. */
static void test_packed_enable(void)
{
    for (unsigned on = 0; on < 2; on++) {
        RclinkConfig cfg;
        RigEnd *e;
        Rig *r;

        rclink_config_init(&cfg);
        cfg.cfg_packed = true;
        r = rig_new(1, &cfg);
        e = &r->e[0];
        rig_up(e, GEN1);
        rig_set(e, RCL_AFH_CFG_EN, GEN1 | (uint64_t)on << 12 |
                                   UINT64_C(0x1ac688) << 13 |
                                   UINT64_C(01111) << RCL_CFG_UF_TYPE1 |
                                   UINT64_C(0xff) << RCL_CFG_VC_OPEN);
        rig_post(e, 0, 64, 0, RCL_ETYPE2);
        rig_settle(r);
        g_assert_cmpuint(CNT(e, tx_type2), ==, !on);
        rig_free(r);
    }
}

/* A tag: TPID, PRI by the map in both layouts, CFI, VID. */
static void test_tag(void)
{
    for (unsigned packed = 0; packed < 2; packed++) {
        RclinkConfig cfg;
        const uint8_t *p;
        RigEnd *e;
        GBytes *b;
        Rig *r;

        rclink_config_init(&cfg);
        cfg.cfg_packed = packed;
        r = rig_new(1, &cfg);
        e = &r->e[0];
        rig_up(e, GEN1);
        rig_qp(e, QP, e + 1, QP, 0);
        rig_set(e, RCL_AFH_CFG_EN, rig_get(e, RCL_AFH_CFG_EN) |
                                   UINT64_C(0x1ac688) << (12 + packed) |
                                   UINT64_C(1) << RCL_CFG_VLAN_PRI);
        for (unsigned cfi = 0; cfi < 2; cfi++) {
            rig_set(e, RCL_VLAN_CTRL, 0x88a85671 | cfi << 1);
            rig_post(e, QP, 64, 0, 0);
            rig_settle(r);
            b = rig_frame(e);
            p = g_bytes_get_data(b, NULL);
            g_assert_cmphex(get_be32(p + 12), ==, 0x88a82567 | cfi << 12);
            g_bytes_unref(b);
        }
        rig_free(r);
    }
}

/* ---- turns ---- */

/* CNPs go round, as ACKs do. */
static void test_cnp_turns(void)
{
    static const uint16_t order[] = { 3, 9, 3, 9 };
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, UINT64_C(1) << RCL_CFG_STANDARD);
    rig_set(e, RCL_CTRL, RCL_CTRL_ECN);
    rig_qp(e, 3, e + 1, 3, 0);
    rig_qp(e, 9, e + 1, 9, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        const RclLayout l = {
            .format = RCL_STANDARD, .icrc = true, .ttl = 64, .vcs = 4,
            .mac = 0x02000000000b, .ip = 0x0a000002,
        };
        RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a, .tos = 3,
                      .dip = 0x0a000001, .dport = RCL_UDP_PORT };
        uint8_t payload[64] = { 0 }, f[RCL_FRAME_MAX];
        GBytes *b;
        RclRh rh;

        /* Both are owed, but one packet leaves in a turn. */
        for (unsigned k = 0; k < 2; k++) {
            h.rh = (RclRh) { .pkey = 0x5a, .qp = k ? 9 : 3, .psn = i };
            rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
        }
        rclink_run(e->d, r->now, 1);
        b = rig_frame(e);
        rcl_rh_get((const uint8_t *)g_bytes_get_data(b, NULL) + 42, &rh,
                   RCL_RH_BE);
        g_assert_cmpuint(rh.opcode, ==, RCL_OP_CNP);
        g_assert_cmpuint(rh.qp, ==, order[i]);
        g_assert_null(rig_frame(e));
        g_bytes_unref(b);
    }
    rig_free(r);
}

/* Frames in pieces, one behind the other. */
static void test_gather_twice(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    for (unsigned n = 0; n < 4; n++) {
        GBytes *b;
        gsize len;

        for (unsigned k = 0; k < 2; k++) {
            uint8_t *md = e->mem + RIG_MD_TX + e->md_tx * RCL_MD_BYTES;

            memset(e->mem + RIG_MD_BUF, 0x40 + n, 2000);
            put_le64(md, 2000 << RCL_MD_SIZE_SHIFT |
                         (k ? RCL_MD_LF : RCL_MD_SF));
            put_le64(md + 8, RIG_MD_BUF);
            e->md_tx++;
        }
        rig_set(e, RCL_TX_MD_HEAD_PTR, e->md_tx);
        rig_settle(r);
        b = rig_frame(e);
        g_assert_nonnull(b);
        g_assert_cmpuint(((const uint8_t *)g_bytes_get_data(b, &len))[3999],
                         ==, 0x40 + n);
        g_assert_cmpuint(len, ==, 4000);
        g_bytes_unref(b);
    }
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, 0);
    rig_free(r);
}

/* A descriptor of another type is told and passed over. */
static void test_md_types(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[60] = { 0x82 }, byte = 0;

    rig_up(e, GEN1);
    for (unsigned type = 0; type < 4; type++) {
        uint8_t *md = e->mem + RIG_MD_TX + e->md_tx * RCL_MD_BYTES;

        put_le64(md, 60 << RCL_MD_SIZE_SHIFT | RCL_MD_SF | RCL_MD_LF | type);
        put_le64(md + 8, RIG_MD_BUF);
        rig_set(e, RCL_TX_MD_HEAD_PTR, ++e->md_tx);
        rig_settle(r);
        rig_expect_errors(e, type > 0);
        g_assert_cmpuint(frames(e, 0, &byte), ==, !type);
    }
    rig_md_post(e, f, sizeof(f));
    rig_settle(r);
    g_assert_cmpuint(frames(e, 0, &byte), ==, 1);
    g_assert_cmphex(byte, ==, 0x82);
    rig_free(r);
}

/* Descriptors that were read ahead are those of their places. */
static void test_md_ahead(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[60] = { 0 }, byte = 0;

    rig_up(e, GEN1);
    for (unsigned n = 0; n < 6; n++) {
        uint8_t *md = e->mem + RIG_MD_TX + n * RCL_MD_BYTES;

        memset(e->mem + RIG_MD_BUF + n * RIG_BUFFER, 0x80 + 2 * n, 60);
        put_le64(md, 60 << RCL_MD_SIZE_SHIFT | RCL_MD_SF | RCL_MD_LF);
        put_le64(md + 8, RIG_MD_BUF + n * RIG_BUFFER);
    }
    for (unsigned head = 1; head <= 6; head += 5) {
        rig_set(e, RCL_TX_MD_HEAD_PTR, head);
        rig_settle(r);
        for (unsigned n = head == 1 ? 0 : 1; n < head; n++) {
            GBytes *b = rig_frame(e);

            memset(f, 0x80 + 2 * n, sizeof(f));
            g_assert_cmpmem(g_bytes_get_data(b, NULL), 60, f, 60);
            g_bytes_unref(b);
        }
        g_assert_cmpuint(frames(e, 0, &byte), ==, 0);
    }
    rig_free(r);
}

/* The wire takes one batch and no more, as a stream that is full does. */
static RigEnd *choking;

static void choke(void *opaque, const uint8_t *data, size_t len)
{
    rclink_wire_stop(choking->d, true);
}

/* Cells of TYPE2 are taken as long as the MAC has not passed the frames on. */
static void test_cells(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = choking = &r->e[0];
    RclinkOps ops = *e->cfg.ops;
    RclInfo info;

    ops.wire_tx = choke;
    e->cfg.ops = &ops;
    rclink_free(e->d);
    e->d = rclink_new(&e->cfg);
    rclink_link(e->d, true);
    rig_up(e, GEN1);
    rig_set(e, RCL_CTRL, RCL_CTRL_MULTI_CREDIT);
    for (unsigned i = 0; i < 3; i++) {
        rig_post(e, 0, 1344, i, RCL_ETYPE2);
    }
    rig_settle(r);
    rclink_info(e->d, &info);
    g_assert_cmpuint(info.multicast_left, ==, 2048 - 3 * 11);
    g_assert_cmpuint(rig_get(e, RCL_MULTI_CREDIT), ==, 2048 - 3 * 11);
    rclink_wire_stop(e->d, false);
    rclink_info(e->d, &info);
    g_assert_cmpuint(info.multicast_left, ==, 2048);
    rig_free(r);
}

/* RDMA_EN holds back what is there already. */
static void test_off(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];

    rclink_wire_stop(e->d, true);
    rig_post(e, QP, 64, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 511);
    rig_set(e, RCL_RDMA_EN, 0);
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 0);
    rig_set(e, RCL_RDMA_EN, 1);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 1);
    /* Freed: as if all up to the next had been acknowledged. */
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_FREE_BUF);
    g_assert_cmphex(rig_get(e, RCL_TX_EXPECT_PSN), ==, 1);
    g_assert_cmphex(rig_get(e, RCL_EXPECT_RESP_PSN), ==, 1);
    g_assert_cmphex(rig_get(e, RCL_TX_LAST_PSN), ==, 0);
    g_assert_cmphex(rig_get(e, RCL_MAX_FORWARD_PSN), ==, 0);
    rig_free(r);
}

/* After a rewind the packet in front of the first has been sent last. */
static void test_rewound(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    uint8_t byte = 0;

    for (unsigned i = 0; i < 3; i++) {
        rig_post(e, QP, 64, i, 0);
    }
    rig_settle(r);
    g_assert_cmpuint(frames(e, 0, &byte), ==, 3);
    g_assert_cmphex(rig_get(e, RCL_TX_LAST_PSN), ==, 2);
    rclink_wire_stop(e->d, true);
    peer_answer(e, RCL_OP_ACK, RCL_SYN_NAK_PSN, 1);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_EXPECT_RESP_PSN), ==, 1);
    g_assert_cmphex(rig_get(e, RCL_TX_LAST_PSN), ==, 0);
    /* It had arrived after all. */
    peer_answer(e, RCL_OP_ACK, RCL_SYN_ACK, 1);
    g_assert_cmphex(rig_get(e, RCL_EXPECT_RESP_PSN), ==, 2);
    g_assert_cmphex(rig_get(e, RCL_TX_LAST_PSN), ==, 1);
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    g_assert_cmpuint(frames(e, 0, &byte), ==, 1);
    g_assert_cmphex(rig_get(e, RCL_TX_LAST_PSN), ==, 2);
    rig_free(r);
}

/* Lite waits for nobody. */
static void test_lite_psns(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    uint8_t byte = 0;

    rig_set(e, RCL_AFH_CFG_EN, UINT64_C(1) << RCL_CFG_LITE |
                               UINT64_C(1) << RCL_CFG_STOP_CBFC);
    for (unsigned i = 0; i < 3; i++) {
        rig_post(e, QP, 64, i, 0);
    }
    rig_settle(r);
    g_assert_cmpuint(frames(e, 0, &byte), ==, 3);
    g_assert_cmphex(rig_get(e, RCL_EXPECT_RESP_PSN), ==, 3);
    g_assert_cmphex(rig_get(e, RCL_TX_EXPECT_PSN), ==, 3);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) & 0xffff, ==, 512);
    rig_free(r);
}

/* Who has timed out for good has no timer. */
static void test_no_timer(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_RETRY_TIMER_CFG, 1 << 13 | 10);
    rig_post(e, QP, 64, 0, 0);
    rig_pass(r, 20000);
    g_assert_cmpuint(CNT(e, qp_fatal), ==, 1);
    g_assert_cmpint(rclink_run(e->d, r->now, 64), ==, INT64_MAX);
    rig_free(r);
}

/* ---- resets and the link ---- */

/* TYPE1's reset forgets whose CNPs are merged. */
static void test_cnp_forgotten(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_CTRL, RCL_CTRL_CNP_MERGE);
    rig_set(e, RCL_CNP_THR, 1000000);
    for (unsigned i = 0; i < 4; i++) {
        if (i == 2) {
            rig_set(e, RCL_SOFT_RESET, RCL_RESET_TYPE1);
            rig_qp(e, QP, e + 1, QP, 0);
        }
        peer_answer(e, RCL_OP_CNP, 0, 0);
        g_assert_cmpuint(CNT(e, rx_cnp_merged), ==, (i + 1) / 2);
    }
    rig_free(r);
}

/* TYPE2's reset drops what its client has not taken. */
static void test_type2_dropped(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigPacket p;

    rig_up(e, GEN1);
    rig_up(f, GEN1);
    rig_set(f, RCL_FLOW_STOP, RCL_STOP_TYPE2);
    for (unsigned i = 0; i < 4; i++) {
        rig_post(e, 0, 64, i, RCL_ETYPE2);
        rig_settle(r);
        g_assert_cmphex(rig_get(f, RCL_STATUS) & RCL_STATUS_RX_IDLE, ==, 0);
        if (i == 2) {
            rig_set(f, RCL_SOFT_RESET, RCL_RESET_TYPE2);
            g_assert_cmphex(rig_get(f, RCL_STATUS) & RCL_STATUS_RX_IDLE, !=,
                            0);
        }
    }
    rig_set(f, RCL_FLOW_STOP, 0);
    rig_settle(r);
    g_assert_true(rig_take(f, 1, &p));
    g_assert_true(rig_is(&p, 64, 3));
    g_assert_false(rig_take(f, 1, &p));
    rig_free(r);
}

/* A ninth QP takes the place of the one that was told longest ago. */
static void test_cnp_oldest(void)
{
    static const uint16_t again[] = { 7, 4, 3, 2 };
    static const bool merged[] = { true, true, false, true };
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_CTRL, RCL_CTRL_CNP_MERGE);
    rig_set(e, RCL_CNP_THR, 1000);
    for (unsigned q = 0; q < 9; q++) {
        rig_qp(e, q, e + 1, q, 0);
    }
    /* QP 3 first. */
    for (unsigned i = 0; i < 9; i++) {
        r->now++;
        peer_send(e, (RclRh) { .opcode = RCL_OP_CNP, .qp = (i + 3) % 9 }, 0);
    }
    g_assert_cmpuint(CNT(e, rx_cnp_merged), ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(again); i++) {
        uint64_t was = CNT(e, rx_cnp_merged);

        r->now++;
        peer_send(e, (RclRh) { .opcode = RCL_OP_CNP, .qp = again[i] }, 0);
        g_assert_cmpuint(CNT(e, rx_cnp_merged), ==, was + merged[i]);
    }
    rig_free(r);
}

/* Damage leaves what says whose frame it is. */
static void test_damage(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    CoreFaultPlan plan = { .seed = 5 };
    uint8_t f[60] = { 0x82 };
    unsigned bits = 0;

    rig_up(e, GEN1);
    plan.ppm[CORE_FAULT_CORRUPT] = 1000000;
    rclink_fault_set(e->d, true, &plan);
    for (unsigned i = 0; i < 500; i++) {
        const uint8_t *p;
        GBytes *b;

        rig_md_post(e, f, sizeof(f));
        rig_settle(r);
        b = rig_frame(e);
        p = g_bytes_get_data(b, NULL);
        g_assert_cmpmem(p, 14, f, 14);
        for (unsigned k = 14; k < sizeof(f); k++) {
            bits += __builtin_popcount(p[k] ^ f[k]);
        }
        g_bytes_unref(b);
    }
    g_assert_cmpuint(bits, ==, 500);
    rig_free(r);
}

/* Frames that a fault holds back are lost with the link, either way. */
static void test_held_lost(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    CoreFaultPlan plan = { .delay_us = 1 };
    uint8_t byte = 0;

    plan.ppm[CORE_FAULT_DELAY] = 1000000;
    rclink_fault_set(e->d, false, &plan);
    rclink_fault_set(e->d, true, &plan);
    peer_send(e, (RclRh) { .psn = 0, .qp = QP }, 64);
    rig_post(e, QP, 64, 0, 0);
    rig_settle(r);
    rclink_link(e->d, false);
    rclink_link(e->d, true);
    rig_pass(r, 5000);
    g_assert_cmpuint(CNT(e, rx_type1), ==, 0);
    g_assert_cmpuint(frames(e, 0, &byte), ==, 0);
    /* While it stays, they come. */
    peer_send(e, (RclRh) { .psn = 0, .qp = QP }, 64);
    rig_pass(r, 5000);
    g_assert_cmpuint(CNT(e, rx_type1), ==, 1);
    rig_free(r);
}

/* ---- migration ---- */

static void move(RigEnd *e)
{
    size_t len;
    uint8_t *data = rclink_save(e->d, e->rig->now, &len);

    rclink_free(e->d);
    e->d = rclink_new(&e->cfg);
    g_assert_cmpstr(rclink_load(e->d, e->rig->now, data, len), ==, NULL);
    rclink_link(e->d, true);
    g_free(data);
    e->kicked = true;
}

/* What a QP owes its peer is paid elsewhere, whichever QP it is. */
static void test_debts_move(void)
{
    static const uint16_t qps[] = { QP, 63, 64, RCL_QPS_MAX - 1 };
    const RclLayout l = {
        .format = RCL_STANDARD, .icrc = true, .ttl = 64, .vcs = 4,
        .mac = 0x02000000000b, .ip = 0x0a000002,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(qps); i++) {
        RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a, .tos = 3,
                      .dip = 0x0a000001, .dport = RCL_UDP_PORT,
                      .rh = { .pkey = 0x5a, .qp = qps[i] } };
        uint8_t payload[64] = { 0 }, f[RCL_FRAME_MAX];
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];

        rig_up(e, UINT64_C(1) << RCL_CFG_STANDARD);
        rig_set(e, RCL_CTRL, RCL_CTRL_ECN);
        rig_qp(e, qps[i], e + 1, qps[i], 0);
        rclink_wire_stop(e->d, true);
        rig_inject(e, f, rcl_frame_put(&l, &h, payload, 64, f));
        rig_settle(r);
        g_assert_cmpuint(CNT(e, tx_cnp) + CNT(e, tx_ack), ==, 0);
        move(e);
        rig_settle(r);
        g_assert_cmpuint(CNT(e, tx_cnp), ==, 1);
        g_assert_cmpuint(CNT(e, tx_ack), ==, 1);
        rig_free(r);
    }
}

/* A ring that has stopped is one that has stopped elsewhere, too; what waits for it
 * comes when the driver begins anew. */
static void test_stop_moves(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    uint64_t ring = RCL_RING(RCL_RING_RX1);
    const uint8_t *rx = e->mem + RIG_RING + RCL_RING_RX1 * 0x10000;

    e->fail_at = RIG_RX1_BUF;
    peer_send(e, (RclRh) { .psn = 0, .qp = QP }, 64);
    e->fail_at = 0;
    move(e);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, ring + RCL_RING_CTRL), ==,
                    RCL_RING_EN | RCL_RING_SHADOW | RCL_RING_ERROR);
    g_assert_cmphex(rig_get(e, RCL_ERR_STATUS), ==, 1 << RCL_RING_RX1);
    g_assert_cmpuint(rig_get(e, ring + RCL_RING_TAIL), ==, 0);
    rig_set(e, ring + RCL_RING_CTRL, 0);
    rig_set(e, ring + RCL_RING_CTRL, RCL_RING_EN | RCL_RING_SHADOW);
    rig_set(e, ring + RCL_RING_HEAD, 1 << RIG_LOG);
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, ring + RCL_RING_TAIL), ==, 1);
    g_assert_cmpuint(get_le16(rx + RCL_E_LEN), ==, 64);
    rig_free(r);
}

/* Whose turn it is stays so. */
static void test_turn_moves(void)
{
    static const uint16_t types[] = { 0x88b5, 0x88b6, 0x88cc };
    uint8_t f[60] = { 0x82, [12] = 0x88, [13] = 0xcc };
    Rig *r = alone();
    RigEnd *e = &r->e[0];

    rclink_wire_stop(e->d, true);
    for (unsigned i = 0; i < 2; i++) {
        rig_post(e, QP, 64, i, 0);
        rig_post(e, 0, 64, i, RCL_ETYPE2);
        rig_md_post(e, f, sizeof(f));
    }
    rig_settle(r);
    for (unsigned i = 0; i < 6; i++) {
        GBytes *b;

        move(e);
        rclink_run(e->d, r->now, 1);
        b = rig_frame(e);
        g_assert_nonnull(b);
        g_assert_cmphex(get_be16((const uint8_t *)g_bytes_get_data(b, NULL) + 12),
                        ==, types[i % 3]);
        g_bytes_unref(b);
        g_assert_null(rig_frame(e));
    }
    rig_free(r);
}

/* When bytes without a CNP are reported stays so. */
static void test_nocnp_moves(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_NOCNP, 5);
    rig_post(e, QP, 64, 0, 0);
    rig_pass(r, 2000);
    g_assert_cmpuint(rig_events(e, RCL_EV_NOCNP), ==, 0);
    move(e);
    rig_pass(r, 2999);
    g_assert_cmpuint(rig_events(e, RCL_EV_NOCNP), ==, 0);
    rig_pass(r, 1);
    g_assert_cmpuint(rig_events(e, RCL_EV_NOCNP), ==, 1);
    rig_free(r);
}

/* An answer that was given at once has left before the port does. */
static void test_answer_leaves(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    uint8_t byte;

    peer_send(e, (RclRh) { .psn = 0, .qp = QP, .fack = true }, 64);
    g_assert_cmpuint(CNT(e, tx_ack), ==, 1);
    g_assert_cmpuint(frames(e, 0, &byte), ==, 0);
    move(e);
    g_assert_cmpuint(frames(e, 0, &byte), ==, 1);
    rig_free(r);
}

/* Every register has its value elsewhere: those of a QP, and the port's. */
static void test_registers_move(void)
{
    static const uint16_t of_qp[] = {
        RCL_DEST_IP_MEM, RCL_DEST_MAC_MEM, RCL_UDP_SRC_PORT_MEM,
        RCL_EXPECT_RESP_PSN, RCL_TX_LAST_PSN, RCL_TX_EPSN, RCL_TX_SPEED_MEM,
        RCL_TX_CC_BYTE_CNT_MEM, RCL_TX_EXPECT_PSN, RCL_RETRY_CNT_MEM,
        RCL_BTH_QP_CFG_MEM, RCL_RX_REQ_EPSN, RCL_MAX_FORWARD_PSN,
    };
    static const uint16_t of_port[] = {
        RCL_XON_THR_RDMA, RCL_MAC_ADDR, RCL_XON_THR_NON_RDMA, RCL_IP_ADDR,
        RCL_VLAN_CTRL, RCL_RETRY_TIMER_CFG, RCL_DEST_IP_MEM2,
        RCL_DEST_MAC_MEM2, RCL_UDP_PORT_MEM2, RCL_TYPE2_DA(0),
        RCL_TYPE2_DA(7), RCL_TRAFFIC_CLASS, RCL_TX_MDQ_BA, RCL_RX_MDQ_BA,
        RCL_TX_MDQ_SIZE, RCL_RX_MDQ_SIZE, RCL_TX_MD_HEAD_PTR,
        RCL_RX_MD_HEAD_PTR, RCL_DMA_INT_MASK, RCL_TAIL_UP_CFG, RCL_CTRL,
        RCL_CC_WINDOW, RCL_CNP_THR, RCL_NOCNP, RCL_RNR_CODE, RCL_TYPE2_RATE,
        RCL_INTR_MASK, RCL_FLOW_STOP, RCL_EVENT_MASK, RCL_MAC_CBFC_CFG(3),
    };
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint64_t qp[G_N_ELEMENTS(of_qp)], port[G_N_ELEMENTS(of_port)];

    rig_set(e, RCL_TX_MDQ_SIZE, 3000);
    rig_set(e, RCL_RX_MDQ_SIZE, 3001);
    for (unsigned i = 0; i < G_N_ELEMENTS(of_port); i++) {
        uint16_t reg = of_port[i];

        if (reg != RCL_TX_MDQ_SIZE && reg != RCL_RX_MDQ_SIZE) {
            rig_set(e, reg, reg == RCL_CC_WINDOW ? 3 : reg == RCL_NOCNP ? 77 :
                            UINT64_C(0x9e3779b97f4a7c15) * (i + 1) &
                            (reg == RCL_TX_MD_HEAD_PTR ||
                             reg == RCL_RX_MD_HEAD_PTR ? 0x7ff :
                             reg == RCL_TX_MDQ_BA || reg == RCL_RX_MDQ_BA ?
                             ~UINT64_C(63) : UINT64_MAX));
        }
    }
    rig_set(e, RCL_QP_ID_SET, 700);
    for (unsigned i = 0; i < G_N_ELEMENTS(of_qp); i++) {
        rig_set(e, of_qp[i], UINT64_C(0x2545f4914f6cdd1d) * (i + 1));
        qp[i] = rig_get(e, of_qp[i]);
        g_assert_cmphex(qp[i], !=, 0);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(of_port); i++) {
        port[i] = rig_get(e, of_port[i]);
        g_assert_cmphex(port[i], !=, 0);
    }
    move(e);
    for (unsigned i = 0; i < G_N_ELEMENTS(of_port); i++) {
        g_test_message("register %x", of_port[i]);
        g_assert_cmphex(rig_get(e, of_port[i]), ==, port[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(of_qp); i++) {
        g_test_message("register %x of the QP", of_qp[i]);
        g_assert_cmphex(rig_get(e, of_qp[i]), ==, qp[i]);
    }
    rig_free(r);
}

/* ---- frames ---- */

/* The shortest that can be TYPE1's, by ports or type, is dropped as such. */
static void test_shortest(void)
{
    const RclLayout l = { .format = RCL_STANDARD, .tpid = 0x8100, .vcs = 4,
                          .mac_type1 = 0x88b5 };
    uint8_t f[64] = { 0 }, scratch[RCL_FRAME_MAX];
    RclView v;

    put_be16(f + 12, 0x0800);
    f[14] = 0x45;
    f[23] = 17;
    put_be16(f + 36, RCL_UDP_PORT);
    g_assert_cmpint(rcl_frame_get(&l, f, 42, scratch, &v), !=, RCL_TAKE);
    g_assert_cmpint(v.kind, ==, RCL_TYPE1);
    g_assert_cmpint(rcl_frame_get(&l, f, 41, scratch, &v), ==, RCL_TAKE);
    g_assert_cmpint(v.kind, ==, RCL_TYPE3);
    /* A tag with the type behind it, and no more. */
    put_be32(f + 12, 0x81000000);
    put_be16(f + 16, 0x88b5);
    g_assert_cmpint(rcl_frame_get(&l, f, 18, scratch, &v), ==,
                    RCL_BAD_LENGTH);
    g_assert_cmpint(v.kind, ==, RCL_TYPE1);
    g_assert_cmpint(rcl_frame_get(&l, f, 17, scratch, &v), ==, RCL_TAKE);
    g_assert_cmpint(v.kind, ==, RCL_TYPE3);
}

/* Entries that are done wait for the end of the turn, or for who looks, or for
 * the machine to stop. */
static void test_entries(void)
{
    enum { SETTLE, LOOK, ARM, SAVE, DISABLE, TURN, WAYS };

    for (unsigned way = 0; way < WAYS; way++) {
        Rig *r = alone();
        RigEnd *e = &r->e[0];
        const uint8_t *rx = e->mem + RIG_RING + RCL_RING_RX1 * 0x10000;
        const uint8_t *ev = e->mem + RIG_RING + RCL_RING_EVENT * 0x10000;
        uint64_t tail = RCL_RING(RCL_RING_RX1) + RCL_RING_TAIL;
        size_t len;

        rig_events(e, 0);
        ev += e->ev_tail * RCL_RING_ENTRY;
        for (unsigned psn = 0; psn < 20; psn++) {
            peer_send(e, (RclRh) { .psn = psn, .qp = QP }, 64 + psn);
        }
        peer_answer(e, RCL_OP_CNP, 0, 0);
        g_assert_cmpuint(get_le16(rx + 19 * RCL_RING_ENTRY + RCL_E_LEN), ==,
                         RIG_BUFFER);
        g_assert_cmpuint(ev[0], ==, 0);
        if (way == SETTLE) {
            rclink_settle(e->d);
        } else if (way == LOOK) {
            g_assert_cmpuint(rig_get(e, tail), ==, 20);
        } else if (way == ARM) {
            rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_ARM, 20);
        } else if (way == SAVE) {
            g_free(rclink_save(e->d, r->now, &len));
        } else if (way == DISABLE) {
            rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
        } else {
            rig_settle(r);
        }
        for (unsigned i = 0; i < 20; i++) {
            const uint8_t *p = rx + i * RCL_RING_ENTRY;

            g_assert_cmphex(get_le64(p), ==, RIG_RX1_BUF + i * RIG_BUFFER);
            g_assert_cmpuint(get_le16(p + RCL_E_LEN), ==, 64 + i);
            g_assert_cmpuint(get_le16(p + RCL_E_QP), ==, QP);
        }
        g_assert_cmpuint(get_le16(rx + 20 * RCL_RING_ENTRY + RCL_E_LEN), ==,
                         RIG_BUFFER);
        g_assert_cmpuint(ev[0], ==, RCL_EV_CNP);
        rig_free(r);
    }
}

/* Of entries that are written together the first phase is last: where what is
 * behind it fails, it is not there. */
static void test_phase_last(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    uint64_t at = RIG_RING + RCL_RING_EVENT * 0x10000;

    rig_events(e, 0);
    at += e->ev_tail * RCL_RING_ENTRY;
    peer_answer(e, RCL_OP_CNP, 0, 0);
    peer_answer(e, RCL_OP_CNP, 0, 0);
    e->fail_at = at + 8;
    rclink_settle(e->d);
    g_assert_cmpuint(e->mem[at], ==, 0);
    g_assert_cmphex(rig_get(e, RCL_ERR_STATUS), ==, 1 << RCL_RING_EVENT);
    g_assert_cmpuint(e->msix[RCL_VEC_EVENT], ==, 1);
    /* It has stopped: nothing is written any more. */
    e->fail_at = 0;
    peer_answer(e, RCL_OP_CNP, 0, 0);
    rig_settle(r);
    g_assert_cmpuint(e->mem[at], ==, 0);
    g_assert_cmpuint(CNT(e, events_lost), ==, 1);
    g_assert_cmpuint(e->msix[RCL_VEC_EVENT], ==, 1);
    rig_free(r);
}

/* A ring that stops: what was done before is in memory, nothing comes after. */
static void test_entries_stop(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    const uint8_t *rx = e->mem + RIG_RING + RCL_RING_RX1 * 0x10000;
    uint64_t at = RIG_RING + RCL_RING_EVENT * 0x10000;

    e->fail_at = RIG_RX1_BUF + RIG_BUFFER;
    peer_send(e, (RclRh) { .psn = 0, .qp = QP }, 64);
    peer_send(e, (RclRh) { .psn = 1, .qp = QP }, 64);
    g_assert_cmpuint(get_le16(rx + RCL_E_LEN), ==, 64);
    g_assert_cmphex(rig_get(e, RCL_ERR_STATUS), ==, 1 << RCL_RING_RX1);
    /* Seventeen events do not go together: the ring stops on the way. */
    rig_events(e, 0);
    at += e->ev_tail * RCL_RING_ENTRY;
    e->fail_at = at + 8;
    for (unsigned i = 0; i < 17; i++) {
        peer_answer(e, RCL_OP_CNP, 0, 0);
    }
    e->fail_at = 0;
    rig_settle(r);
    g_assert_cmpuint(e->mem[at + 16 * RCL_RING_ENTRY], ==, 0);
    g_assert_cmpuint(e->msix[RCL_VEC_EVENT], ==, 1);
    rig_free(r);
}

/* A ring that is taken into use again is read again. */
static void test_ring_anew(void)
{
    Rig *r = alone();
    RigEnd *e = &r->e[0];
    uint64_t ring = RCL_RING(RCL_RING_RX1);
    uint8_t *rx = e->mem + RIG_RING + RCL_RING_RX1 * 0x10000;
    uint8_t *buf[2] = { e->mem + RIG_RX1_BUF, e->mem + RIG_RX1_BUF + RIG_BUFFER };

    peer_send(e, (RclRh) { .psn = 0, .qp = QP }, 64);
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, ring + RCL_RING_TAIL), ==, 1);
    rig_set(e, ring + RCL_RING_CTRL, 0);
    buf[0][0] = buf[1][0] = 0xa5;
    put_le64(rx, RIG_RX1_BUF + RIG_BUFFER);
    put_le16(rx + RCL_E_LEN, RIG_BUFFER);
    rig_set(e, ring + RCL_RING_CTRL, RCL_RING_EN);
    rig_set(e, ring + RCL_RING_HEAD, 1);
    peer_send(e, (RclRh) { .psn = 1, .qp = QP }, 64);
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, ring + RCL_RING_TAIL), ==, 1);
    g_assert_cmphex(get_le64(rx), ==, RIG_RX1_BUF + RIG_BUFFER);
    g_assert_cmphex(buf[0][0], ==, 0xa5);
    g_assert_cmphex(buf[1][0], ==, 0);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/state/credit-news", test_credit_news);
    g_test_add_func("/rclink/state/packed-enable", test_packed_enable);
    g_test_add_func("/rclink/state/cnp-turns", test_cnp_turns);
    g_test_add_func("/rclink/state/gather-twice", test_gather_twice);
    g_test_add_func("/rclink/state/rewound", test_rewound);
    g_test_add_func("/rclink/state/no-timer", test_no_timer);
    g_test_add_func("/rclink/state/cnp-forgotten", test_cnp_forgotten);
    g_test_add_func("/rclink/state/held-lost", test_held_lost);
    g_test_add_func("/rclink/state/registers-move", test_registers_move);
    g_test_add_func("/rclink/state/shortest", test_shortest);
    g_test_add_func("/rclink/state/lite-psns", test_lite_psns);
    g_test_add_func("/rclink/state/debts-move", test_debts_move);
    g_test_add_func("/rclink/state/stop-moves", test_stop_moves);
    g_test_add_func("/rclink/state/turn-moves", test_turn_moves);
    g_test_add_func("/rclink/state/nocnp-moves", test_nocnp_moves);
    g_test_add_func("/rclink/state/answer-leaves", test_answer_leaves);
    g_test_add_func("/rclink/state/md-types", test_md_types);
    g_test_add_func("/rclink/state/md-ahead", test_md_ahead);
    g_test_add_func("/rclink/state/cells", test_cells);
    g_test_add_func("/rclink/state/off", test_off);
    g_test_add_func("/rclink/state/type2-dropped", test_type2_dropped);
    g_test_add_func("/rclink/state/tag", test_tag);
    g_test_add_func("/rclink/state/cnp-oldest", test_cnp_oldest);
    g_test_add_func("/rclink/state/damage", test_damage);
    g_test_add_func("/rclink/state/entries", test_entries);
    g_test_add_func("/rclink/state/phase-last", test_phase_last);
    g_test_add_func("/rclink/state/entries-stop", test_entries_stop);
    g_test_add_func("/rclink/state/ring-anew", test_ring_anew);
    return g_test_run();
}
