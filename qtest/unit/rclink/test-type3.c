/*
 * RC Link: TYPE2 and TYPE3 (RC Link §12.2, §12.6, §12.14.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

#define GEN1 (UINT64_C(1) << RCL_CFG_GEN1 | UINT64_C(1) << RCL_CFG_GEN1_TC)
#define CNT(e, name) (rclink_counters((e)->d)->name)
#define ST1(bit) (1u << RCL_ST1_##bit)
#define ST0(bit) (1u << RCL_ST0_##bit)

/* ---- TYPE2 ---- */

static void test_groups(void)
{
    static const uint64_t format[] = {
        1 << RCL_CFG_STANDARD, GEN1, 1 << RCL_CFG_GEN2, 1 << RCL_CFG_LITE,
    };

    for (unsigned f = 0; f < 4; f++) {
        Rig *r = rig_new(3, NULL);
        RigPacket p;

        for (unsigned i = 0; i < 3; i++) {
            rig_up(&r->e[i], format[f]);
        }
        for (unsigned g = 0; g < 8; g++) {
            rig_post(&r->e[0], 0, 70 + g, g,
                     RCL_ETYPE2 | g << RCL_E_GROUP_SHIFT);
        }
        rig_settle(r);
        for (unsigned i = 1; i < 3; i++) {
            for (unsigned g = 0; g < 8; g++) {
                g_assert_true(rig_take(&r->e[i], 1, &p));
                g_assert_true(rig_is(&p, 70 + g, g));
                g_assert_cmphex(p.flags, ==, RCL_ETYPE2);
                g_assert_cmpuint(p.qp, ==, 0);
            }
            g_assert_false(rig_take(&r->e[i], 1, &p));
        }
        g_assert_cmpuint(rig_events(&r->e[0], RCL_EV_CREDIT), ==, 8);
        rig_free(r);
    }
}

/* The group's address, or the one for all. */
static void test_group_address(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    rig_set(e, RCL_TYPE2_DA(6), 0);
    rig_set(e, RCL_DEST_MAC_MEM2, rig_get(e, RCL_DEST_MAC_MEM2) |
                                  UINT64_C(0x030000000999));
    for (unsigned g = 0; g < 8; g++) {
        GBytes *b;
        const uint8_t *p;

        rig_post(e, 0, 64, g, RCL_ETYPE2 | g << RCL_E_GROUP_SHIFT);
        rig_settle(r);
        b = rig_frame(e);
        g_assert_nonnull(b);
        p = g_bytes_get_data(b, NULL);
        g_assert_cmphex(get_be16(p), ==, 0x0300);
        g_assert_cmphex(get_be32(p + 2), ==, g == 6 ? 0x999 : 0x100 + g);
        g_assert_cmphex(p[6], ==, 0x1a);        /* TYPE2's class */
        g_bytes_unref(b);
    }
    rig_free(r);
}

/* 16 at a time; one more is dropped only if the ring may overrun. */
static void test_type2_full(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    rig_up(e, GEN1);
    rclink_wire_stop(e->d, true);
    for (unsigned i = 0; i < 18; i++) {
        rig_post(e, 0, 64, i, RCL_ETYPE2);
    }
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, RCL_RING(0) + RCL_RING_TAIL), ==, 16);
    g_assert_cmpuint(rig_get(e, RCL_OST_FREE) >> 16, ==, 0);
    rig_set(e, RCL_CTRL, RCL_CTRL_TXS_OVERRUN);
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, RCL_RING(0) + RCL_RING_TAIL), ==, 18);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 1 << RCL_INTR_TX2_CREDIT);
    g_assert_true(rig_event_of(e, RCL_EV_IRQ, &ev));
    g_assert_cmphex(ev.b, ==, UINT64_C(0x100000001));
    rclink_wire_stop(e->d, false);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type2), ==, 16);
    rig_free(r);
}

static void test_type2_overflow(void)
{
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigEvent ev;

    rig_up(e, GEN1);
    rig_up(f, GEN1);
    rig_set(f, RCL_RING(RCL_RING_RX2) + RCL_RING_CTRL, 0);
    /* 64 KiB of 1344, 21 entries each: 48. */
    for (unsigned i = 0; i < 50; i++) {
        rig_post(e, 0, 1344, i, RCL_ETYPE2);
    }
    rig_settle(r);
    g_assert_cmpuint(CNT(f, rx_type2), ==, 48);
    g_assert_cmpuint(CNT(f, drop_rx2), ==, 2);
    g_assert_cmphex(rig_get(f, RCL_INTR_STATUS), ==, 0);
    /* Told when it rises, until it is cleared: by software, or with the buffer. */
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(rig_event_of(f, RCL_EV_IRQ, &ev));
        g_assert_cmphex(ev.b, ==, UINT64_C(0x100000024));
        g_assert_false(rig_event_of(f, RCL_EV_IRQ, &ev));
        g_assert_cmphex(rig_get(f, RCL_ERR_STATUS), ==, RCL_ERR_RX2_OVERFLOW);
        rig_set(f, RCL_ERR_STATUS, i ? 0 : RCL_ERR_RX2_OVERFLOW);
        rig_set(f, RCL_SOFT_RESET, i ? RCL_RESET_TYPE2 : 0);
        g_assert_cmphex(rig_get(f, RCL_ERR_STATUS), ==, 0);
        for (unsigned n = 0; n < (i ? 50 : 2); n++) {
            rig_post(e, 0, 1344, n, RCL_ETYPE2);
        }
        rig_settle(r);
    }
    g_assert_cmpuint(CNT(f, drop_rx2), ==, 8);
    rig_free(r);
}

static void test_type2_oversize(void)
{
    RclinkConfig cfg;
    Rig *r;

    rclink_config_init(&cfg);
    r = rig_new(2, &cfg);
    rig_up(&r->e[0], GEN1);
    rig_up(&r->e[1], GEN1);
    {
        RclLayout l = {
            .format = RCL_GEN1, .gen1_tc = true, .mac = 0x02000000000b,
            .mac_type2 = 0x88b6, .vcs = 4,
        };
        RclHead h = { .kind = RCL_TYPE2, .da = 0x030000000100 };
        uint8_t payload[1345] = { 0 }, frame[RCL_FRAME_MAX];

        rig_inject(&r->e[0], frame,
                   rcl_frame_put(&l, &h, payload, 1345, frame));
    }
    g_assert_cmpuint(CNT(&r->e[0], drop_oversize), ==, 1);
    g_assert_cmphex(rig_get(&r->e[0], RCL_INTR_STATUS), ==,
                    1 << RCL_INTR_RX2_OVERSIZE);
    g_assert_cmphex(rig_get(&r->e[0], RCL_IRQ_INFO), ==,
                    UINT64_C(0x100000002));
    rig_free(r);
}

/* ---- TYPE3 ---- */

static void fill(uint8_t *f, size_t len, uint8_t seed)
{
    for (size_t i = 0; i < len; i++) {
        f[i] = seed + i * 7;
    }
    put_be16(f + 12, 0x9000 + seed);
}

static void test_frames(void)
{
    static const uint64_t format[] = {
        1 << RCL_CFG_STANDARD, GEN1, 1 << RCL_CFG_GEN2, 1 << RCL_CFG_LITE,
    };
    uint8_t f[8192], g[8192];

    for (unsigned k = 0; k < 4; k++) {
        Rig *r = rig_new(2, NULL);

        rig_up(&r->e[0], format[k]);
        rig_up(&r->e[1], format[k]);
        rig_set(&r->e[0], RCL_RDMA_EN, 0);      /* not TYPE3's business */
        for (unsigned len = 60; len <= 4096; len += 61) {
            fill(f, len, len);
            /* Addresses of a network; they look like Lite's classes. */
            f[0] = len & 1 ? 0x02 : 0x01;
            f[6] = 0x06;
            rig_md_post(&r->e[0], f, len);
            rig_settle(r);
            g_assert_cmpuint(rig_md_take(&r->e[1], g), ==, len);
            g_assert_cmpmem(f, len, g, len);
        }
        g_assert_cmpuint(rig_md_take(&r->e[1], g), ==, 0);
        /* Short ones are padded with zeros. */
        fill(f, 20, 3);
        f[0] = 0x0a;
        f[6] = 0x0a;
        memset(f + 20, 0, 40);
        rig_md_post(&r->e[0], f, 20);
        rig_settle(r);
        g_assert_cmpuint(rig_md_take(&r->e[1], g), ==, 60);
        g_assert_cmpmem(f, 60, g, 60);
        rig_free(r);
    }
}

static void put_md(RigEnd *e, unsigned i, uint64_t word, uint64_t addr)
{
    put_le64(e->mem + RIG_MD_TX + i * 16, word);
    put_le64(e->mem + RIG_MD_TX + i * 16 + 8, addr);
}

/* Known descriptors. */
static void test_md(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t want[16], f[3000];

    rig_up(e, GEN1);
    rig_hex("c003300000000000 7856340000000000", want);
    fill(e->mem + 0x345678, 60, 5);
    memcpy(e->mem + RIG_MD_TX, want, 16);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 1);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, tx_type3), ==, 1);
    g_assert_cmpmem(e->mem + RIG_MD_TX, 16, want, 16);  /* not written */
    /* 3000 bytes over two; bytes 6 to 15 of a descriptor are the driver's. */
    fill(f, 3000, 9);
    memset(e->mem + RIG_MD_RX, 0xee, 4);
    rig_inject(e, f, 3000);
    g_assert_cmphex(get_le64(e->mem + RIG_MD_RX), ==, UINT64_C(0x0800000000108000));
    g_assert_cmphex(get_le64(e->mem + RIG_MD_RX + 16), ==,
                    UINT64_C(0x0800000000203b80));
    g_assert_cmphex(get_le64(e->mem + RIG_MD_RX + 8), ==,
                    RIG_MD_BUF + RIG_MDS * RIG_BUFFER);
    g_assert_cmpuint(rig_get(e, RCL_RX_MD_TAIL_PTR), ==, 2);
    rig_free(r);
}

/* A frame in pieces out, 8192 bytes in buffers of 64 in. */
static void test_pieces(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[8192], g[8192];
    GBytes *b;
    size_t n;
    const uint8_t *p;

    rig_up(e, GEN1);
    fill(e->mem + 0x340001, 1000, 5);
    put_md(e, 0, 100 << 4 | RCL_MD_SF, 0x340001);
    put_md(e, 1, 1 << 4, 0x340001 + 100);
    put_md(e, 2, 899 << 4 | RCL_MD_LF, 0x340001 + 101);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 2);
    rig_settle(r);
    g_assert_null(rig_frame(e));
    rig_set(e, RCL_TX_MD_HEAD_PTR, 3);
    rig_settle(r);
    b = rig_frame(e);
    p = g_bytes_get_data(b, &n);
    g_assert_cmpmem(p, n, e->mem + 0x340001, 1000);
    g_bytes_unref(b);

    fill(f, 8192, 1);
    for (unsigned i = 0; i < RIG_MDS; i++) {
        put_le64(e->mem + RIG_MD_RX + i * 16,
                 UINT64_C(64) << RCL_MD_BUFFER_SHIFT);
    }
    rig_inject(e, f, 8192);
    g_assert_cmpuint(rig_get(e, RCL_RX_MD_TAIL_PTR), ==, 63);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==,
                    ST0(RX_EMPTY) | ST0(TX_EMPTY));
    for (unsigned i = 0; i < 63; i++) {
        memcpy(g + i * 64, e->mem + RIG_MD_BUF + (RIG_MDS + i) * RIG_BUFFER,
               64);
    }
    /* The rest when there are more. */
    for (unsigned i = 0; i < RIG_MDS; i++) {
        put_le64(e->mem + RIG_MD_RX + i * 16,
                 UINT64_C(8192) << RCL_MD_BUFFER_SHIFT);
    }
    put_le64(e->mem + RIG_MD_RX + 63 * 16 + 8,
             RIG_MD_BUF + (RIG_MDS + 63) * RIG_BUFFER);
    rig_set(e, RCL_RX_MD_HEAD_PTR, 5);
    rig_settle(r);
    g_assert_cmpuint(rig_get(e, RCL_RX_MD_TAIL_PTR), ==, 0);
    memcpy(g + 63 * 64, e->mem + RIG_MD_BUF + (RIG_MDS + 63) * RIG_BUFFER,
           8192 - 63 * 64);
    g_assert_cmpmem(f, 8192, g, 8192);
    g_assert_cmphex(get_le32(e->mem + RIG_MD_RX + 63 * 16), ==,
                    (8192 - 63 * 64) << 4 | RCL_MD_LF);
    rig_free(r);
}

/* Rings of 2, 3 and 4095. */
static void test_ring_sizes(void)
{
    static const unsigned sizes[] = { 2, 3, 4095 };
    uint8_t f[64];

    for (unsigned s = 0; s < 3; s++) {
        Rig *r = rig_new(1, NULL);
        RigEnd *e = &r->e[0];
        unsigned head = 0;

        rig_set(e, RCL_TX_MDQ_BA, 0x400000);
        rig_set(e, RCL_TX_MDQ_SIZE, sizes[s]);
        rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN);
        fill(f, 64, 1);
        memcpy(e->mem + 0x300000, f, 64);
        for (unsigned i = 0; i < 2 * sizes[s] + 3; i++) {
            put_le64(e->mem + 0x400000 + head * 16, 64 << 4 | RCL_MD_SF |
                                                    RCL_MD_LF);
            put_le64(e->mem + 0x400000 + head * 16 + 8, 0x300000);
            head = (head + 1) % sizes[s];
            rig_set(e, RCL_TX_MD_HEAD_PTR, head);
            rig_settle(r);
            g_assert_cmpuint(rig_get(e, RCL_TX_MD_TAIL_PTR), ==, head);
            g_assert_cmpuint(CNT(e, tx_type3), ==, i + 1);
            g_bytes_unref(rig_frame(e));
        }
        rig_set(e, RCL_TX_MD_HEAD_PTR, sizes[s]);
        rig_expect_errors(e, 1);
        /* Locked while it is in use. */
        rig_set(e, RCL_TX_MDQ_BA, 0x500000);
        rig_set(e, RCL_TX_MDQ_SIZE, 7);
        rig_expect_errors(e, 2);
        g_assert_cmphex(rig_get(e, RCL_TX_MDQ_BA), ==, 0x400000);
        g_assert_cmphex(rig_get(e, RCL_TX_MDQ_SIZE), ==, sizes[s]);
        rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_TX_RESET);
        rig_set(e, RCL_TX_MDQ_BA, 0x500010);
        rig_expect_errors(e, 1);
        g_assert_cmphex(rig_get(e, RCL_TX_MDQ_BA), ==, 0x500000);
        g_assert_cmpuint(rig_get(e, RCL_TX_MD_TAIL_PTR), ==, 0);
        rig_free(r);
    }
}

/* Interrupts when the tail gets where the driver said. */
static void test_tail_up(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[64];
    RigEvent ev;

    rig_up(e, GEN1);
    fill(f, 64, 1);
    rig_set(e, RCL_TAIL_UP_CFG, 2 | 3 << 16);
    g_assert_cmphex(rig_get(e, RCL_TAIL_UP_CFG), ==, 2 | 3 << 16);
    rig_md_post(e, f, 64);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, ST0(TX_EMPTY));
    rig_md_post(e, f, 64);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==,
                    ST0(TX_EMPTY) | ST0(TX_TAIL));
    g_assert_cmpuint(e->msix[RCL_VEC_NONR], ==, 0);
    /* Unmasking tells of what is pending. */
    rig_set(e, RCL_DMA_INT_MASK, ST0(TX_TAIL) | ST0(RX_TAIL));
    g_assert_cmpuint(e->msix[RCL_VEC_NONR], ==, 1);
    rig_set(e, RCL_DMA_INTR_ST0, ST0(TX_TAIL));
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, ST0(TX_EMPTY));
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpuint(e->msix[RCL_VEC_NONR], ==, 1);
        rig_inject(e, f, 64);
    }
    g_assert_cmpuint(e->msix[RCL_VEC_NONR], ==, 2);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==,
                    ST0(TX_EMPTY) | ST0(RX_TAIL));
    rig_events(e, 0);
    rig_set(e, RCL_DMA_INTR_ST0, ST0(RX_TAIL));
    rig_set(e, RCL_TAIL_UP_CFG, 5 | 7 << 16);
    for (unsigned i = 0; i < 3; i++) {
        rig_md_post(e, f, 64);
    }
    rig_set(e, RCL_DMA_INT_MASK, ST0(RX_TAIL));
    rig_settle(r);
    for (unsigned i = 0; i < 4; i++) {
        rig_inject(e, f, 64);
    }
    g_assert_true(rig_event_of(e, RCL_EV_IRQ, &ev));
    g_assert_cmphex(ev.b, ==, UINT64_C(0x1801c00a1));
    rig_free(r);
}

/* ---- faults ---- */

/* What a bad descriptor raises, and that the reset cures it. */
static void bad_md(uint64_t first, uint64_t second, uint32_t st1)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[64];

    rig_up(e, GEN1);
    put_md(e, 0, first, 0x300000);
    put_md(e, 1, second, 0x300000);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 2);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, st1);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, ST0(ABNORMAL));
    g_assert_cmpuint(e->msix[RCL_VEC_FAULT], ==, 1);
    g_assert_null(rig_frame(e));
    /* It stands, even when the bits are cleared ... */
    rig_set(e, RCL_DMA_INTR_ST1, st1);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==, 0);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 3);
    rig_settle(r);
    g_assert_null(rig_frame(e));
    /* ... but reception goes on. */
    fill(f, 64, 1);
    rig_inject(e, f, 64);
    g_assert_cmpuint(CNT(e, rx_type3), ==, 1);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN |
                                  RCL_NONR_TX_RESET);
    g_assert_cmpuint(rig_get(e, RCL_TX_MD_TAIL_PTR), ==, 0);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    g_assert_cmphex(rig_get(e, RCL_NONR_DMA_CTRL), ==,
                    RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    e->md_tx = 0;
    rig_md_post(e, f, 64);
    rig_settle(r);
    g_bytes_unref(rig_frame(e));
    rig_free(r);
}

static void test_bad_md(void)
{
    const uint64_t one = 64 << 4 | RCL_MD_SF, last = 64 << 4 | RCL_MD_LF;

    bad_md(one, one, ST1(TWO_SOP));
    bad_md(last, one, ST1(TWO_EOP));
    bad_md(64 << 4, one, ST1(TWO_EOP));
    bad_md(4097 << 4 | RCL_MD_SF | RCL_MD_LF, one, ST1(TX_OVERSIZE));
    bad_md(4096 << 4 | RCL_MD_SF, 1 << 4 | RCL_MD_LF, ST1(TX_OVERSIZE));
    bad_md(RCL_MD_SF | RCL_MD_LF, one, ST1(TX_ZERO));
}

static void test_rx_faults(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[9000] = { 0 };

    rig_up(e, GEN1);
    fill(f, sizeof(f), 1);
    rig_inject(e, f, 8193);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(RX_OVERSIZE));
    rig_inject(e, f, 64);
    g_assert_cmpuint(CNT(e, drop_rx3_off), ==, 1);
    g_assert_cmpuint(CNT(e, rx_type3), ==, 0);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN | RCL_NONR_RX_RESET);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, 0);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN);
    /* No descriptors: 8192 bytes wait, more are lost. */
    for (unsigned i = 0; i < 9; i++) {
        rig_inject(e, f, 1024);
    }
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==,
                    ST0(RX_EMPTY) | ST0(ABNORMAL));
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(RX_OVERFLOW));
    g_assert_cmpuint(CNT(e, drop_rx3), ==, 1);
    rig_set(e, RCL_RX_MD_HEAD_PTR, 10);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, rx_type3), ==, 8);
    /* A buffer without size. */
    put_le64(e->mem + RIG_MD_RX + 10 * 16, 0);
    rig_set(e, RCL_RX_MD_HEAD_PTR, 12);
    for (unsigned i = 0; i < 3; i++) {
        rig_inject(e, f, 64);
    }
    g_assert_cmpuint(CNT(e, rx_type3), ==, 10);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==,
                    ST1(RX_OVERFLOW) | ST1(RX_ZERO));
    rig_free(r);
}

/* Memory that fails is told, and nothing else suffers. */
static void test_dma_faults(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[64], g[8192];

    rig_up(e, GEN1);
    fill(f, 64, 1);
    e->fail_at = RIG_MD_BUF;
    rig_md_post(e, f, 64);
    rig_md_post(e, f, 64);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(DATA));
    g_assert_cmpuint(CNT(e, tx_type3), ==, 1);
    rig_set(e, RCL_DMA_INTR_ST1, ST1(DATA));
    e->fail_at = RIG_MD_BUF + RIG_MDS * RIG_BUFFER;
    rig_inject(e, f, 64);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(DATA));
    rig_set(e, RCL_DMA_INTR_ST1, ST1(DATA));
    e->fail_at = RIG_MD_RX + 16;
    rig_inject(e, f, 64);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(MD_WRITE));
    rig_set(e, RCL_DMA_INTR_ST1, ST1(MD_WRITE));
    e->fail_at = 0;
    rig_inject(e, f, 64);
    g_assert_cmpuint(rig_get(e, RCL_RX_MD_TAIL_PTR), ==, 3);
    e->md_rx_tail = 2;
    g_assert_cmpuint(rig_md_take(e, g), ==, 64);
    rig_free(r);
}

static unsigned frames_left(RigEnd *e)
{
    unsigned n = 0;

    for (GBytes *b; (b = rig_frame(e)) != NULL; n++) {
        g_bytes_unref(b);
    }
    return n;
}

/* Descriptors that cannot be read are told and passed over, with the frame that
 * they are of; those beside them count. */
static void test_md_unread(void)
{
    const uint64_t whole = 64 << 4 | RCL_MD_SF | RCL_MD_LF;
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[64], g[8192];

    rig_up(e, GEN1);
    fill(f, 64, 1);
    /* One, alone and before others. */
    e->fail_at = RIG_MD_TX;
    rig_md_post(e, f, 64);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(MD_READ));
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0), ==,
                    ST0(ABNORMAL) | ST0(TX_EMPTY));
    g_assert_cmpuint(rig_get(e, RCL_TX_MD_TAIL_PTR), ==, 1);
    g_assert_cmpuint(e->msix[RCL_VEC_FAULT], ==, 1);
    rig_set(e, RCL_DMA_INTR_ST1, ST1(MD_READ));
    e->fail_at = RIG_MD_TX + 16;
    put_md(e, 1, whole, RIG_MD_BUF);
    put_md(e, 2, whole, RIG_MD_BUF);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 3);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(MD_READ));
    g_assert_cmpuint(frames_left(e), ==, 1);
    /* Read with others, the readable first one is sent. */
    rig_set(e, RCL_DMA_INTR_ST1, ST1(MD_READ));
    e->fail_len = 2 * 16;
    e->fail_at = RIG_MD_TX + 3 * 16;
    put_md(e, 3, whole, RIG_MD_BUF);
    put_md(e, 4, whole, RIG_MD_BUF);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 5);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, 0);
    g_assert_cmpuint(frames_left(e), ==, 2);
    /* In the middle of a frame: nothing of it goes, nor is its end a fault. */
    e->fail_len = 0;
    e->fail_at = RIG_MD_TX + 6 * 16;
    put_md(e, 5, 64 << 4 | RCL_MD_SF, RIG_MD_BUF);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 6);
    rig_settle(r);
    put_md(e, 6, 64 << 4, RIG_MD_BUF);
    put_md(e, 7, 64 << 4, RIG_MD_BUF);
    put_md(e, 8, 64 << 4 | RCL_MD_LF, RIG_MD_BUF);
    put_md(e, 9, whole, RIG_MD_BUF);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 10);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(MD_READ));
    g_assert_cmpuint(frames_left(e), ==, 1);
    g_assert_cmpuint(rig_get(e, RCL_TX_MD_TAIL_PTR), ==, 10);
    /* But an end without a front is one, after a whole frame. */
    put_md(e, 10, 64 << 4 | RCL_MD_LF, RIG_MD_BUF);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 11);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==,
                    ST1(MD_READ) | ST1(TWO_EOP));
    /* Received frames lie in the descriptors that can be read. */
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN | RCL_NONR_TX_RESET);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, 0);
    e->fail_at = RIG_MD_RX;
    rig_inject(e, f, 64);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(MD_READ));
    g_assert_cmpuint(CNT(e, rx_type3), ==, 1);
    g_assert_cmpuint(rig_get(e, RCL_RX_MD_TAIL_PTR), ==, 2);
    e->md_rx_tail = 1;
    g_assert_cmpuint(rig_md_take(e, g), ==, 64);
    rig_free(r);
}

/* A buffer in the middle of a frame that cannot be read: its end is no fault. */
static void test_data_unread(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];

    rig_up(e, GEN1);
    e->fail_at = 0x300000;
    put_md(e, 0, 64 << 4 | RCL_MD_SF, 0x300000);
    put_md(e, 1, 64 << 4 | RCL_MD_LF, RIG_MD_BUF);
    put_md(e, 2, 64 << 4 | RCL_MD_SF | RCL_MD_LF, RIG_MD_BUF);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 3);
    rig_settle(r);
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST1), ==, ST1(DATA));
    g_assert_cmpuint(frames_left(e), ==, 1);
    rig_free(r);
}

/* A bad FCS: the descriptor tells of it, at once or later; TYPE2's frame and the
 * MAC's own go no further. */
static void test_fcs(void)
{
    const uint32_t good = 60 << 4 | RCL_MD_SF | RCL_MD_LF;
    Rig *r = rig_new(2, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[60] = { 0 }, pfc[60] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0,
                                       0xb, 0x88, 0x08, 1, 1 };
    RigPacket p;

    rig_up(e, GEN1);
    rig_up(&r->e[1], GEN1);
    f[12] = 0x99;
    rclink_faults(e->d)->fcs = true;
    rclink_faults_changed(e->d);
    rig_inject(e, f, 60);
    g_assert_cmphex(get_le32(e->mem + RIG_MD_RX), ==, good | RCL_MD_CRC);
    rig_inject(e, pfc, 60);
    g_assert_cmpuint(CNT(e, pfc_rx), ==, 0);
    rig_post(&r->e[1], 0, 64, 1, RCL_ETYPE2);
    rig_settle(r);
    g_assert_cmpuint(CNT(e, rx_type2), ==, 0);
    g_assert_false(rig_take(e, 1, &p));
    g_assert_cmpuint(CNT(e, bad_fcs), ==, 3);
    /* One that waits for a descriptor, also elsewhere, beside one that is good. */
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN | RCL_NONR_RX_RESET);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN);
    rig_inject(e, f, 60);
    rclink_faults(e->d)->fcs = false;
    rig_inject(e, f, 60);
    g_assert_cmpuint(CNT(e, bad_fcs), ==, 4);
    {
        size_t len;
        uint8_t *data = rclink_save(e->d, r->now, &len);

        g_assert_cmpstr(rclink_load(e->d, r->now, data, len), ==, NULL);
        g_free(data);
    }
    for (unsigned i = 0; i < 2; i++) {
        put_le64(e->mem + RIG_MD_RX + i * 16,
                 UINT64_C(2048) << RCL_MD_BUFFER_SHIFT);
    }
    rig_set(e, RCL_RX_MD_HEAD_PTR, 2);
    rig_settle(r);
    g_assert_cmphex(get_le32(e->mem + RIG_MD_RX), ==, good | RCL_MD_CRC);
    g_assert_cmphex(get_le32(e->mem + RIG_MD_RX + 16), ==, good);
    rig_free(r);
}

static void test_length_flag(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    static const struct { uint16_t field; bool bad; } t[] = {
        { 46, false }, { 47, true }, { 1500, true }, { 1501, false },
        { 0, false },
    };
    uint8_t f[60] = { 0 };

    rig_up(e, GEN1);
    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        put_be16(f + 12, t[i].field);
        rig_inject(e, f, 60);
        g_assert_cmphex(get_le32(e->mem + RIG_MD_RX + i * 16), ==,
                        60 << 4 | RCL_MD_SF | RCL_MD_LF |
                        (t[i].bad ? RCL_MD_LENGTH : 0));
    }
    /* The shortest frame has the field and nothing that it could promise. */
    for (unsigned field = 0; field < 2; field++) {
        const uint8_t *md = e->mem + RIG_MD_RX + (G_N_ELEMENTS(t) + field) * 16;

        put_be16(f + 12, field);
        rig_inject(e, f, 14);
        g_assert_cmphex(get_le32(md), ==, 14 << 4 | RCL_MD_SF | RCL_MD_LF |
                                          (field ? RCL_MD_LENGTH : 0));
    }
    rig_free(r);
}

/* The three types take turns. */
static void test_turns(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    uint8_t f[64];
    unsigned n[3] = { 0 };

    rig_up(e, GEN1);
    rig_qp(e, 0, e, 0, 0);
    fill(f, 64, 1);
    f[0] = 0x81;
    rclink_wire_stop(e->d, true);
    for (unsigned i = 0; i < 10; i++) {
        rig_post(e, 0, 64, i, 0);
        rig_post(e, 0, 64, i, RCL_ETYPE2);
        rig_md_post(e, f, 64);
    }
    rclink_wire_stop(e->d, false);
    rclink_run(e->d, r->now, 15);
    for (unsigned i = 0; i < 15; i++) {
        GBytes *b = rig_frame(e);
        uint16_t type = get_be16((const uint8_t *)
                                 g_bytes_get_data(b, NULL) + 12);

        n[type == 0x88b5 ? 0 : type == 0x88b6 ? 1 : 2]++;
        g_bytes_unref(b);
    }
    g_assert_null(rig_frame(e));
    g_assert_cmpuint(n[0], ==, 5);
    g_assert_cmpuint(n[1], ==, 5);
    g_assert_cmpuint(n[2], ==, 5);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/type2/groups", test_groups);
    g_test_add_func("/rclink/type2/address", test_group_address);
    g_test_add_func("/rclink/type2/full", test_type2_full);
    g_test_add_func("/rclink/type2/overflow", test_type2_overflow);
    g_test_add_func("/rclink/type2/oversize", test_type2_oversize);
    g_test_add_func("/rclink/type3/frames", test_frames);
    g_test_add_func("/rclink/type3/md", test_md);
    g_test_add_func("/rclink/type3/pieces", test_pieces);
    g_test_add_func("/rclink/type3/ring-sizes", test_ring_sizes);
    g_test_add_func("/rclink/type3/tail-up", test_tail_up);
    g_test_add_func("/rclink/type3/bad-md", test_bad_md);
    g_test_add_func("/rclink/type3/rx-faults", test_rx_faults);
    g_test_add_func("/rclink/type3/dma-faults", test_dma_faults);
    g_test_add_func("/rclink/type3/md-unread", test_md_unread);
    g_test_add_func("/rclink/type3/data-unread", test_data_unread);
    g_test_add_func("/rclink/type3/fcs", test_fcs);
    g_test_add_func("/rclink/type3/length-flag", test_length_flag);
    g_test_add_func("/rclink/type3/turns", test_turns);
    return g_test_run();
}
