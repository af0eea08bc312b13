/*
 * RC Link: what a migration image may say, and what the driver is told behind
 * it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

#define GEN1 (UINT64_C(1) << RCL_CFG_GEN1 | UINT64_C(1) << RCL_CFG_GEN1_TC)
#define CNT(e, name) (rclink_counters((e)->d)->name)

enum { QP = 5, LENGTH_AT = 6 };

/* ---- bytes of an image ---- */

/* The only place of @value, big-endian in @size bytes. */
static size_t find(const GByteArray *im, uint64_t value, unsigned size)
{
    size_t at = 0, found = 0;
    uint8_t want[8];

    put_be64(want, value << (64 - size * 8));
    for (size_t i = 0; i + size <= im->len; i++) {
        if (!memcmp(im->data + i, want, size)) {
            at = i;
            found++;
        }
    }
    g_assert_cmpuint(found, ==, 1);
    return at;
}

static GByteArray *save(RigEnd *e)
{
    size_t len;
    uint8_t *data = rclink_save(e->d, e->rig->now, &len);

    return g_byte_array_new_take(data, len);
}

static const char *load(RigEnd *e, const GByteArray *im)
{
    return rclink_load(e->d, e->rig->now, im->data, im->len);
}

/* A port like @e's in its place, with the link as @up says. */
static void renew(RigEnd *e, bool up)
{
    rclink_free(e->d);
    e->d = rclink_new(&e->cfg);
    rclink_link(e->d, up);
    rig_settle(e->rig);
    memset(e->msix, 0, sizeof(e->msix));
}

static const RclLayout peer = {
    .format = RCL_GEN1, .gen1_tc = true, .icrc = true,
    .mac = 0x02000000000b, .mac_type1 = 0x88b5, .vcs = 4,
};

/* A packet of 64 bytes for QP. */
static void peer_send(RigEnd *e, RclRh rh)
{
    RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a, .rh = rh };
    uint8_t payload[64] = { 0 }, f[RCL_FRAME_MAX];

    h.rh.opcode = RCL_OP_SEND;
    h.rh.pkey = 0x5a;
    h.rh.qp = QP;
    rig_inject(e, f, rcl_frame_put(&peer, &h, payload, sizeof(payload), f));
    rig_settle(e->rig);
}

/* ---- the link ---- */

/* A driver is told of a link that is another at its new place, when the machine
 * runs; and of nothing where it is the same. */
static void test_link(void)
{
    for (unsigned was = 0; was < 2; was++) {
        for (unsigned is = 0; is < 2; is++) {
            Rig *r = rig_new(1, NULL);
            RigEnd *e = &r->e[0];
            GByteArray *im;

            rclink_link(e->d, was);
            rig_settle(r);
            im = save(e);
            renew(e, is);
            g_assert_cmpstr(load(e, im), ==, NULL);
            g_assert_cmpuint(e->msix[RCL_VEC_MAC], ==, 0);
            e->kicked = true;
            rig_settle(r);
            g_assert_cmpuint(e->msix[RCL_VEC_MAC], ==, was != is);
            g_assert_cmpuint(!!(rig_get(e, RCL_STATUS) & RCL_STATUS_LINK),
                             ==, is);
            e->kicked = true;
            rig_settle(r);
            g_assert_cmpuint(e->msix[RCL_VEC_MAC], ==, was != is);
            g_byte_array_unref(im);
            rig_free(r);
        }
    }
}

/* News that were not told yet are told there. */
static void test_link_untold(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    GByteArray *im;

    rig_settle(r);
    rclink_mac_reset(e->d);
    im = save(e);
    renew(e, true);
    g_assert_cmpstr(load(e, im), ==, NULL);
    e->kicked = true;
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_MAC], ==, 1);
    g_byte_array_unref(im);
    rig_free(r);
}

/* ---- what no port can have ---- */

static const struct {
    uint16_t reg;
    uint64_t value, bit;
} odd[] = {
    { RCL_XON_THR_RDMA, 0x123456789abcd, UINT64_C(1) << 50 },
    { RCL_IP_ADDR, 0x7f123456789abc, UINT64_C(1) << 56 },
    { RCL_VLAN_CTRL, 0x123456789abcd00, 1 << 2 },
    { RCL_AFH_CFG_EN, 0x0123456712345621, UINT64_C(1) << 35 },
    { RCL_TYPE2_DA(0), 0x123456789abc, UINT64_C(1) << 48 },
    { RCL_TYPE2_DA(7), 0x123456789abd, UINT64_C(1) << 63 },
    { RCL_TRAFFIC_CLASS, 0x123456789abe, UINT64_C(1) << 48 },
    { RCL_UDP_PORT_MEM2, 0x12345678, UINT64_C(1) << 32 },
    { RCL_CNP_THR, 0x87654321, UINT64_C(1) << 32 },
    { RCL_TYPE2_RATE, 0x3a5a5a, UINT64_C(1) << 22 },
    { RCL_MAC_CBFC_CFG(3), 0x123456789ab, UINT64_C(1) << 42 },
    { RCL_MAC_CBFC_CFG(7), 0x12345678cba, UINT64_C(1) << 42 },
};

/* A bit that a register has not. */
static void test_reserved(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(odd); i++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];
        GByteArray *im;
        size_t at;

        rig_set(e, odd[i].reg, odd[i].value);
        g_assert_cmphex(rig_get(e, odd[i].reg), ==, odd[i].value);
        im = save(e);
        at = find(im, odd[i].value, 8);
        put_be64(im->data + at, odd[i].value | odd[i].bit);
        g_test_message("register %x", odd[i].reg);
        g_assert_cmpstr(load(e, im), ==, "reserved bits of a register");
        g_assert_cmphex(rig_get(e, odd[i].reg), !=, odd[i].value);
        put_be64(im->data + at, odd[i].value);
        g_assert_cmpstr(load(e, im), ==, NULL);
        g_assert_cmphex(rig_get(e, odd[i].reg), ==, odd[i].value);
        g_byte_array_unref(im);
        rig_free(r);
    }
}

/* Places of rings that nobody could have written. */
static void test_alignment(void)
{
    const uint64_t base = 0x123456789abcdef0, shadow = 0x123456789abcdef4;
    const uint64_t md = 0x123456789abcdec0;
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint64_t ring = RCL_RING(RCL_RING_RX2);
    GByteArray *im;

    rig_set(e, ring + RCL_RING_BASE_LO, (uint32_t)base);
    rig_set(e, ring + RCL_RING_BASE_HI, base >> 32);
    rig_set(e, ring + RCL_RING_SHADOW_LO, (uint32_t)shadow);
    rig_set(e, ring + RCL_RING_SHADOW_HI, shadow >> 32);
    rig_set(e, RCL_RX_MDQ_BA, md);
    im = save(e);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t v = i == 0 ? base : i == 1 ? shadow : md;
        uint64_t bit = i == 0 ? 8 : i == 1 ? 2 : 32;
        size_t at = find(im, v, 8);

        put_be64(im->data + at, v | bit);
        g_assert_nonnull(load(e, im));
        put_be64(im->data + at, v);
        g_assert_cmpstr(load(e, im), ==, NULL);
    }
    g_byte_array_unref(im);
    rig_free(r);
}

/* A QP between 13 and 24 bits keeps its peer's number; more are none. */
static void test_dest_qp(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    GByteArray *im;
    size_t at;

    rig_set(e, RCL_QP_ID_SET, QP);
    rig_set(e, RCL_DEST_IP_MEM, UINT64_C(0xc3a5e7) << 32 | 0x9b8d7f61);
    im = save(e);
    at = find(im, UINT64_C(0x9b8d7f6100c3a5e7), 8);
    im->data[at + 4] = 1;
    g_assert_cmpstr(load(e, im), ==, "registers of a QP");
    im->data[at + 4] = 0;
    g_assert_cmpstr(load(e, im), ==, NULL);
    g_byte_array_unref(im);
    rig_free(r);
}

/* QPs that wait for a window go on at their new place; those of rate 0 do not. */
static void test_masked(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    GByteArray *im;

    rig_up(e, GEN1);
    rig_set(e, RCL_RETRY_TIMER_CFG, 7 << 13);
    for (unsigned q = 4; q < 8; q++) {
        rig_qp(e, q, e + 1, q, 0);
        if (q < 6) {
            rig_set(e, RCL_TX_SPEED_MEM, 64 << (q - 4));
        }
        for (unsigned n = 0; n < 3; n++) {
            rig_post(e, q, 64, n, 0);
        }
        rig_settle(r);
    }
    rig_set(e, RCL_QP_ID_SET, 7);
    rig_set(e, RCL_TX_SPEED_MEM, 0);
    /* One of 4 and two of 5 were sent, all of the others. */
    g_assert_cmpuint(CNT(e, tx_type1), ==, 1 + 2 + 3 + 3);
    g_assert_cmpuint(e->next, <=, r->now + 4096);
    im = save(e);
    renew(e, true);
    g_assert_cmpstr(load(e, im), ==, NULL);
    e->kicked = true;
    rig_pass(r, 4096);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 1 + 1);
    rig_pass(r, 4096);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 2 + 1);
    rig_pass(r, 2 * 4096);
    g_assert_cmpuint(e->next, ==, INT64_MAX);
    g_byte_array_unref(im);
    rig_free(r);
}

/* A QP that RNR holds has a time to go on, or it would never. */
static void test_held(void)
{
    RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a,
                  .rh = { .opcode = RCL_OP_ACK, .len = RCL_SYN_RNR,
                          .pkey = 0x5a, .qp = QP } };
    uint8_t f[RCL_FRAME_MAX];
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    GByteArray *im;
    size_t at;

    rig_up(e, GEN1);
    rig_qp(e, QP, e + 1, QP, 0);
    rig_post(e, QP, 64, 0, 0);
    rig_settle(r);
    rig_inject(e, f, rcl_frame_put(&peer, &h, NULL, 0, f));
    g_assert_cmpuint(CNT(e, rx_rnr), ==, 1);
    im = save(e);
    at = find(im, INT64_C(655360) * 1000, 8);
    put_be64(im->data + at, INT64_MAX);
    g_assert_cmpstr(load(e, im), ==, "a QP that is held for ever");
    put_be64(im->data + at, 1000);
    g_assert_cmpstr(load(e, im), ==, NULL);
    e->kicked = true;
    rig_pass(r, 1000);
    g_assert_cmpuint(CNT(e, tx_type1_again), ==, 1);
    g_byte_array_unref(im);
    /* One that has failed meanwhile is held by nothing else. */
    h.rh.len = RCL_SYN_RNR;
    rig_inject(e, f, rcl_frame_put(&peer, &h, NULL, 0, f));
    h.rh.len = RCL_SYN_NAK_PSN + 1;
    rig_inject(e, f, rcl_frame_put(&peer, &h, NULL, 0, f));
    g_assert_cmpuint(CNT(e, qp_fatal), ==, 1);
    im = save(e);
    g_assert_cmpstr(load(e, im), ==, NULL);
    g_byte_array_unref(im);
    rig_free(r);
}

/* A QP that has failed after as many retries as there can be is taken as it is. */
static void test_failed(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    GByteArray *im;

    rig_up(e, GEN1);
    rig_set(e, RCL_RETRY_TIMER_CFG, 15 << 13 | 100);
    rig_qp(e, QP, e + 1, QP, 0);
    rig_post(e, QP, 64, 0, 0);
    rig_pass(r, 16 * 200000);
    g_assert_cmpuint(CNT(e, qp_fatal), ==, 1);
    im = save(e);
    g_assert_cmpstr(load(e, im), ==, NULL);
    g_byte_array_unref(im);
    rig_free(r);
}

/* The image in which @size bytes, found by the @want of them, are followed at @off by
 * others: @why it is refused. */
static void expect_refused(RigEnd *e, uint64_t want, unsigned size, int off,
                           unsigned bytes, uint64_t value, const char *why)
{
    GByteArray *im = save(e);
    size_t at = find(im, want, size) + off;
    uint8_t was[8];

    memcpy(was, im->data + at, bytes);
    for (unsigned i = 0; i < bytes; i++) {
        im->data[at + i] = value >> 8 * (bytes - 1 - i);
    }
    g_assert_cmpstr(load(e, im), ==, why);
    memcpy(im->data + at, was, bytes);
    g_assert_cmpstr(load(e, im), ==, NULL);
    g_byte_array_unref(im);
}

/* What contradicts itself, and would wait for ever or send out of turn. */
static void test_contradictions(void)
{
    static const uint8_t pause[60] = {
        1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 0xb, 0x88, 8, 1, 1,
        0, 1 << 3, [18 + 2 * 3] = 0x12, 0x34,
    };
    const uint64_t packet = 64 << 16 | 0x10a7;      /* length, cookie */
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_qp(e, QP, e + 1, QP, 0);
    rig_set(e, RCL_QP_CONTROL_STATUS, 0);
    rig_set(e, RCL_RX_REQ_EPSN, 0x7b5);
    rig_set(e, RCL_TX_EPSN, 0x7b5);
    rig_set(e, RCL_TX_CC_BYTE_CNT_MEM, 0x5a5b5c5d);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    rclink_wire_stop(e->d, true);
    rig_post(e, QP, 64, 0xa7, 0);
    rig_inject(e, pause, sizeof(pause));
    rig_settle(r);
    /* State, FACK, sent; age. */
    expect_refused(e, packet, 4, -3, 1, 2, "order of a QP's packets");
    expect_refused(e, packet, 4, 4, 1, 0x80, "age of packets");
    expect_refused(e, packet, 4, 11, 1, 1, "age of packets");
    expect_refused(e, 0x07b507b5, 4, 4, 1, 2, "answers of a QP");
    expect_refused(e, 0x5a5b5c5d, 4, -8, 8, 0x320000, "rate of a QP");
    expect_refused(e, 0x1234 * 512 / 400, 8, 0, 8, INT64_MAX,
                   "a pause without an end");
    rig_free(r);
}

/* What the peer was told to stop needs no word before its time is over. */
static void test_pause(void)
{
    enum { REFRESH = 0xffff / 2 * 512 / 400 };
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    GByteArray *im;

    rig_up(e, GEN1);
    rig_qp(e, QP, e + 1, QP, 0);
    rig_set(e, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    rig_set(e, RCL_XON_THR_RDMA, 1 | 2 << 16 | UINT64_C(1) << (32 + QP % 4));
    for (unsigned i = 0; i < 2; i++) {
        peer_send(e, (RclRh) { .psn = i });
    }
    g_assert_cmpuint(CNT(e, pfc_tx), ==, 1);
    im = save(e);
    renew(e, true);
    g_assert_cmpstr(load(e, im), ==, NULL);
    e->kicked = true;
    rig_pass(r, REFRESH - 1);
    g_assert_cmpuint(CNT(e, pfc_tx), ==, 0);
    rig_pass(r, 1);
    g_assert_cmpuint(CNT(e, pfc_tx), ==, 1);
    g_byte_array_unref(im);
    rig_free(r);
}

/* A gap that was told is not told again, and an answer tells the time of what it is
 * for, wherever it is given. */
static void test_answers(void)
{
    for (unsigned way = 0; way < 3; way++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];
        GByteArray *im;

        rig_up(e, GEN1);
        rig_qp(e, QP, e + 1, QP, 0);
        rclink_wire_stop(e->d, way > 0);
        peer_send(e, (RclRh) { .psn = !way, .ts_en = true, .ts = 0xb6d5,
                               .fack = way == 2 });
        g_assert_cmpuint(CNT(e, tx_nak), ==, !way);
        g_assert_cmpuint(CNT(e, tx_ack), ==, 0);
        im = save(e);
        renew(e, true);
        g_assert_cmpstr(load(e, im), ==, NULL);
        g_byte_array_unref(im);
        if (!way) {
            peer_send(e, (RclRh) { .psn = 2 });
            g_assert_cmpuint(CNT(e, rx_gap), ==, 1);
            g_assert_cmpuint(CNT(e, tx_nak), ==, 0);
        } else {
            uint8_t scratch[RCL_FRAME_MAX];
            RclView v;
            GBytes *b;

            /* That of FACK always, others' on request. */
            rig_set(e, RCL_CTRL, way == 1 ? RCL_CTRL_ACK_TIME : 0);
            e->kicked = true;
            rig_settle(r);
            b = rig_frame(e);
            g_assert_nonnull(b);
            g_assert_cmpint(rcl_frame_get(&peer, g_bytes_get_data(b, NULL),
                                          g_bytes_get_size(b), scratch, &v), ==,
                            RCL_TAKE);
            g_assert_true(v.rh.ts_en);
            g_assert_cmphex(v.rh.ts, ==, 0xb6d5);
            g_bytes_unref(b);
        }
        rig_free(r);
    }
}

/* The longest windows and intervals there are, and one more of each. */
static void test_longest(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_CC_WINDOW, 4);
    rig_set(e, RCL_CNP_THR, 0x87654321);        /* between them */
    rig_set(e, RCL_NOCNP, 256);
    expect_refused(e, 0x87654321, 8, -8, 8, 5, "rate control");
    expect_refused(e, 0x87654321, 8, 8, 8, 257, "rate control");
    g_assert_cmpuint(rig_get(e, RCL_CC_WINDOW), ==, 4);
    g_assert_cmpuint(rig_get(e, RCL_NOCNP), ==, 256);
    rig_free(r);
}

/* Receive buffers hold as much as they do here, and not one packet more. */
static void test_full(void)
{
    enum { PACKETS = 46, LEN = 1344, RECORD = 12 + LEN };
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[1];
    RigPacket p;
    GByteArray *im;
    size_t at;

    rig_up(&r->e[0], GEN1);
    rig_up(e, GEN1);
    rig_set(e, RCL_FLOW_STOP, RCL_STOP_TYPE2);
    for (unsigned i = 0; i < PACKETS; i++) {
        rig_post(&r->e[0], 0, LEN, i == 0 ? 0x5c : i, RCL_ETYPE2);
        rig_settle(r);
    }
    g_assert_cmpuint(CNT(e, rx_type2), ==, PACKETS);
    g_assert_cmpuint(CNT(e, drop_rx2), ==, 0);
    im = save(e);
    g_assert_cmpstr(load(e, im), ==, NULL);
    /* The first one again: there are 1024 entries of 64 bytes. */
    /* QP, SA, credits, length, bytes. */
    at = find(im, (uint64_t)LEN << 32 | 0x5c5d5e5f, 8) - 8;
    g_assert_cmpuint(get_be32(im->data + at - 4), ==, PACKETS);
    /* Credits of a VC that there is not, and with a bit beyond their number. */
    for (unsigned k = 0; k < 2; k++) {
        uint8_t *credits = im->data + at + 4 + k, was = *credits;

        *credits = k ? 1 : 9;
        g_assert_cmpstr(load(e, im), ==, "credits of a packet");
        *credits = was;
    }
    g_assert_cmpstr(load(e, im), ==, NULL);
    for (unsigned n = 1; n <= 4; n++) {
        g_autofree uint8_t *record = g_memdup2(im->data + at, RECORD);
        size_t tail = im->len - at;
        g_autofree uint8_t *rest = g_memdup2(im->data + at, tail);
        const char *why;

        g_byte_array_set_size(im, at);
        g_byte_array_append(im, record, RECORD);
        g_byte_array_append(im, rest, tail);
        put_be32(im->data + at - 4, PACKETS + n);
        put_be32(im->data + LENGTH_AT, get_be32(im->data + LENGTH_AT) +
                                       RECORD);
        why = load(e, im);
        if ((PACKETS + n) * (LEN / 64) <= 1024) {
            g_assert_cmpstr(why, ==, NULL);
        } else {
            g_assert_cmpstr(why, ==, "packet that waits");
        }
    }
    rig_set(e, RCL_FLOW_STOP, 0);
    g_assert_false(rig_take(e, 1, &p));
    g_byte_array_unref(im);
    rig_free(r);
}

/* An image of the version before: without VCs and without the link, of which the
 * driver is told in any case. */
static void test_version_1(void)
{
    enum { NEW = 3 };
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    GByteArray *im;

    rig_set(e, RCL_UDP_PORT_MEM2, 0x12345678);
    im = save(e);
    g_assert_cmpuint(get_be16(im->data + 4), ==, 2);
    put_be16(im->data + 4, 1);
    g_assert_nonnull(load(e, im));
    g_byte_array_set_size(im, im->len - NEW);
    put_be32(im->data + LENGTH_AT, get_be32(im->data + LENGTH_AT) - NEW);
    renew(e, true);
    g_assert_cmpstr(load(e, im), ==, NULL);
    g_assert_cmphex(rig_get(e, RCL_UDP_PORT_MEM2), ==, 0x12345678);
    e->kicked = true;
    rig_settle(r);
    g_assert_cmpuint(e->msix[RCL_VEC_MAC], ==, 1);
    g_byte_array_unref(im);
    rig_free(r);
}

/* Of an image that is wrong in its last byte nothing is left. */
static void test_refused(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    GByteArray *fresh, *im, *left;

    rig_settle(r);
    fresh = save(e);
    rig_up(e, GEN1);
    rig_qp(e, QP, e + 1, QP, 0);
    rclink_wire_stop(e->d, true);
    rig_post(e, QP, 64, 0, 0);
    rig_post(e, 0, 64, 1, RCL_ETYPE2);
    rig_settle(r);
    im = save(e);
    renew(e, true);
    im->data[im->len - 1] = 2;
    g_assert_cmpstr(load(e, im), ==, "a truth value of the image is neither");
    left = save(e);
    g_assert_cmpmem(left->data, left->len, fresh->data, fresh->len);
    g_byte_array_unref(left);
    g_byte_array_unref(im);
    g_byte_array_unref(fresh);
    rig_free(r);
}

/* More numbers under way than packets: of a QP that is off nobody looks at them. */
static void test_window(void)
{
    for (unsigned en = 0; en < 2; en++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];
        GByteArray *im;
        size_t at;

        rig_up(e, GEN1);
        rig_qp(e, QP, e, QP, 0x345);
        rig_set(e, RCL_QP_CONTROL_STATUS, en ? RCL_QP_EN : 0);
        im = save(e);
        /* The next, the oldest, the last one and the highest. */
        at = find(im, 0x0345034503440344, 8);
        g_assert_cmpstr(load(e, im), ==, NULL);
        put_be16(im->data + at + 6, 0x345);
        g_assert_cmpstr(load(e, im), ==, en ? "order of a QP's packets" : NULL);
        g_byte_array_unref(im);
        rig_free(r);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/image/link", test_link);
    g_test_add_func("/rclink/image/link-untold", test_link_untold);
    g_test_add_func("/rclink/image/reserved", test_reserved);
    g_test_add_func("/rclink/image/alignment", test_alignment);
    g_test_add_func("/rclink/image/dest-qp", test_dest_qp);
    g_test_add_func("/rclink/image/held", test_held);
    g_test_add_func("/rclink/image/masked", test_masked);
    g_test_add_func("/rclink/image/contradictions", test_contradictions);
    g_test_add_func("/rclink/image/pause", test_pause);
    g_test_add_func("/rclink/image/answers", test_answers);
    g_test_add_func("/rclink/image/longest", test_longest);
    g_test_add_func("/rclink/image/full", test_full);
    g_test_add_func("/rclink/image/version-1", test_version_1);
    g_test_add_func("/rclink/image/refused", test_refused);
    g_test_add_func("/rclink/image/window", test_window);
    g_test_add_func("/rclink/image/failed", test_failed);
    return g_test_run();
}
