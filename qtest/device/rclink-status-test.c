/*
 * rclink: every bit by which the port tells what happened: INTR_STATUS, the two
 * status registers of TYPE3, STATUS, ERR_STATUS and the events; each from its
 * cause, and until it is cleared.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/pci-pc.h"
#include "rclink-peer.h"

enum {
    MD_TX = 0x4000, MD_RX = 0x5000, BUFFERS = 0xa8000,  /* from mem on */
    LONG = 1345,                /* a payload that is too long */
};

static void set_md(Rig *g, uint64_t ring, unsigned n, uint64_t word,
                   uint64_t addr)
{
    qtest_writeq(g->r->f->qts, g->r->mem + ring + n * 16, word);
    qtest_writeq(g->r->f->qts, g->r->mem + ring + n * 16 + 8, addr);
}

/* A frame of TYPE3 with @len bytes, which may be more than wire_put() takes. */
static void ether_put(Rig *g, size_t len)
{
    g_autofree uint8_t *buf = g_malloc0(4 + len);

    stl_be_p(buf, len);
    memcpy(buf + 4, self, 6);
    memcpy(buf + 10, peer, 6);
    stw_be_p(buf + 16, 0x9999);
    g_assert_cmpint(send(g->fd, buf, 4 + len, MSG_NOSIGNAL), ==, 4 + len);
}

/* One of TYPE2 with @len bytes of payload. */
static void type2_put(Rig *g, size_t len)
{
    uint8_t f[2048];
    size_t n = frame_make(f, SEND, 0, len + RH < 128 ? len + RH : 0, 0, 0, len);

    stw_be_p(f + 12, 0x88b6);
    wire_put(g, f, n - ICRC);
}

/* ---- INTR_STATUS ---- */

static void tx1_oversize(Rig *g)
{
    rcl_post(g->r, QP, LONG, 0, 0);
}

static void tx1_credit(Rig *g)
{
    rcl_set(g->r, RCL_CTRL, RCL_CTRL_TXS_OVERRUN);
    rcl_post(g->r, QP, 64, 0, 0);
    g_assert_cmphex(rcl_get(g->r, RCL_INTR_STATUS), ==, 0);
    rcl_post(g->r, QP, 64, 0, 0);
}

static void retry(Rig *g)
{
    rcl_set(g->r, RCL_RETRY_TIMER_CFG, 1 << 13 | 10);
    rcl_post(g->r, QP, 64, 0, 0);
    g_assert_cmphex(rcl_get(g->r, RCL_INTR_STATUS), ==, 0);
    qtest_clock_step(g->r->f->qts, 10000);
}

static void tx2_oversize(Rig *g)
{
    rcl_post(g->r, 0, LONG, 0, RCL_ETYPE2);
}

static void tx2_credit(Rig *g)
{
    rcl_set(g->r, RCL_CTRL, RCL_CTRL_TXS_OVERRUN);
    rcl_set(g->r, RCL_TYPE2_RATE, 1);
    /* The first is sent, the second waits for its rate. */
    rcl_post(g->r, 0, 64, 0, RCL_ETYPE2);
    rcl_post(g->r, 0, 64, 0, RCL_ETYPE2);
    g_assert_cmphex(rcl_get(g->r, RCL_INTR_STATUS), ==, 0);
    rcl_post(g->r, 0, 64, 0, RCL_ETYPE2);
}

static void rx2_oversize(Rig *g)
{
    type2_put(g, LONG + 3);     /* a multiple of four */
    wait_counter(g, "drop_oversize", 1);
}

static void tx_disabled(Rig *g)
{
    rcl_post(g->r, QP + 1, 64, 0, 0);
}

static void rx_disabled(Rig *g)
{
    uint8_t f[256];

    wire_put(g, f, frame_make(f, SEND, 0, 72, 0, QP + 1, 64));
    wait_counter(g, "drop_disabled", 1);
}

/* IRQ_INFO (RC Link §12.12.1): type at [31], for TYPE1 the QP and a code, for TYPE2
 * a kind and a code. */
#define INFO1(qp, code) (1ull << 31 | (qp) << 5 | (code))
#define INFO2(kind, code) (2ull << 31 | (kind) << 5 | (code))

static const struct {
    unsigned bit;
    void (*cause)(Rig *g);
    uint64_t info;
} intr[] = {
    { RCL_INTR_TX1_OVERSIZE, tx1_oversize, INFO1(QP, 1) },
    { RCL_INTR_TX1_CREDIT, tx1_credit, INFO1(QP, 3) },
    { RCL_INTR_RETRY, retry, INFO1(QP, 2) },
    { RCL_INTR_TX2_OVERSIZE, tx2_oversize, INFO2(0, 1) },
    { RCL_INTR_TX2_CREDIT, tx2_credit, INFO2(0, 1) },
    { RCL_INTR_RX2_OVERSIZE, rx2_oversize, INFO2(0, 2) },
    { RCL_INTR_TX_DISABLED, tx_disabled, INFO1(QP + 1, 4) },
    { RCL_INTR_RX_DISABLED, rx_disabled, INFO1(QP + 1, 5) },
};

/* Each bit alone, with its information as register and event, its interrupt where
 * the mask lets it; a one clears it, a zero does not. */
static void test_intr(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(intr); i++) {
        Rig g = rig_start(",time-scale=1,ost1=1,ost2=1,rx2-bytes=4096", GEN1);
        uint64_t bit = 1ull << intr[i].bit;
        uint8_t ev[RCL_RING_ENTRY];

        g_test_message("bit %u", intr[i].bit);
        rcl_msix(g.r);
        rcl_set(g.r, RCL_INTR_MASK, 0xffff & ~bit);
        intr[i].cause(&g);
        g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==, bit);
        g_assert_cmphex(rcl_get(g.r, RCL_IRQ_INFO), ==, intr[i].info);
        rcl_event_wait(g.r, RCL_EV_IRQ, ev);
        g_assert_cmphex(ldq_le_p(ev + 8), ==, intr[i].info);
        g_assert_false(qpci_msix_pending(g.r->f->pci, RCL_VEC_INTR));
        rcl_set(g.r, RCL_INTR_MASK, bit);
        g_assert_true(qpci_msix_pending(g.r->f->pci, RCL_VEC_INTR));
        rcl_set(g.r, RCL_INTR_STATUS, ~bit);
        g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==, bit);
        rcl_set(g.r, RCL_INTR_STATUS, bit);
        g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==, 0);
        qpci_msix_disable(g.r->f->pci);
        rig_stop(&g);
    }
}

/* ---- DMA_INTR_ST1 ---- */

enum { WHOLE = 100 << RCL_MD_SIZE_SHIFT | RCL_MD_SF | RCL_MD_LF };

static void tx_mds(Rig *g, uint32_t first, uint32_t second)
{
    set_md(g, MD_TX, 0, first, g->r->mem + BUFFERS);
    set_md(g, MD_TX, 1, second, g->r->mem + BUFFERS);
    rcl_set(g->r, RCL_TX_MD_HEAD_PTR, 2);
}

/* Reception begins anew with @n descriptors, of buffers with @size bytes. */
static void rx_mds(Rig *g, unsigned n, unsigned size)
{
    rcl_set(g->r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_RESET);
    for (unsigned i = 0; i < n; i++) {
        set_md(g, MD_RX, i, (uint64_t)size << RCL_MD_BUFFER_SHIFT,
               g->r->mem + BUFFERS);
    }
    rcl_set(g->r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    rcl_set(g->r, RCL_RX_MD_HEAD_PTR, n);
}

static void rx_overflow(Rig *g)
{
    rx_mds(g, 0, 0);
    for (unsigned i = 0; i < 9; i++) {
        ether_put(g, 1024);
    }
    wait_counter(g, "drop_rx3", 1);
}

/* The descriptor was read with the one before it. */
static void md_write(Rig *g)
{
    ether_put(g, 100);
    wait_counter(g, "rx_type3", 1);
    rcl_prop_set(g->r, "fault-dma", 1);
    ether_put(g, 100);
    wait_counter(g, "dma_errors", 2);
    rcl_prop_set(g->r, "fault-dma", 0);
}

static void md_read(Rig *g)
{
    rcl_set(g->r, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN | RCL_NONR_TX_RESET);
    rcl_set(g->r, RCL_TX_MDQ_BA, NOWHERE);
    rcl_set(g->r, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN | RCL_NONR_TX_EN);
    rcl_set(g->r, RCL_TX_MD_HEAD_PTR, 1);
    g_assert_cmpuint(rcl_get(g->r, RCL_TX_MD_TAIL_PTR), ==, 1);
}

static void data_read(Rig *g)
{
    set_md(g, MD_TX, 0, WHOLE, NOWHERE);
    rcl_set(g->r, RCL_TX_MD_HEAD_PTR, 1);
}

static void two_sop(Rig *g)
{
    tx_mds(g, WHOLE & ~RCL_MD_LF, WHOLE & ~RCL_MD_LF);
}

static void two_eop(Rig *g)
{
    tx_mds(g, WHOLE & ~RCL_MD_SF, 0);
}

static void tx_oversize(Rig *g)
{
    tx_mds(g, 4097 << RCL_MD_SIZE_SHIFT | RCL_MD_SF | RCL_MD_LF, 0);
}

static void rx_oversize(Rig *g)
{
    ether_put(g, 8193);
    ether_put(g, 100);
    wait_counter(g, "drop_rx3_off", 1);
}

static void tx_zero(Rig *g)
{
    tx_mds(g, RCL_MD_SF | RCL_MD_LF, 0);
}

static void rx_zero(Rig *g)
{
    rx_mds(g, 4, 0);
    ether_put(g, 100);
    ether_put(g, 100);
    wait_counter(g, "drop_rx3_off", 1);
}

/* Whether the direction stops until its reset (RC Link §12.12.3: "reset"). */
enum { TX_STOPS = 1, RX_STOPS = 2 };

static const struct {
    unsigned bit;
    void (*cause)(Rig *g);
    unsigned stops;
    uint32_t also;
} st1[] = {
    { RCL_ST1_RX_OVERFLOW, rx_overflow },
    { RCL_ST1_MD_WRITE, md_write, 0, 1 << RCL_ST1_DATA },
    { RCL_ST1_MD_READ, md_read },
    { RCL_ST1_DATA, data_read },
    { RCL_ST1_TWO_SOP, two_sop, TX_STOPS },
    { RCL_ST1_TWO_EOP, two_eop, TX_STOPS },
    { RCL_ST1_TX_OVERSIZE, tx_oversize, TX_STOPS },
    { RCL_ST1_RX_OVERSIZE, rx_oversize, RX_STOPS },
    { RCL_ST1_TX_ZERO, tx_zero, TX_STOPS },
    { RCL_ST1_RX_ZERO, rx_zero, RX_STOPS },
};

/* A frame each way, both directions having begun anew where @reset says so; how
 * many were sent, and how many came. */
static void both_ways(Rig *g, uint32_t reset, unsigned *tx, unsigned *rx)
{
    uint64_t sent = counter(g, "tx_type3"), got = counter(g, "rx_type3");
    uint64_t off = counter(g, "drop_rx3_off");

    if (reset) {
        rcl_set(g->r, RCL_NONR_DMA_CTRL, reset);
        rcl_set(g->r, RCL_TX_MDQ_BA, g->r->mem + MD_TX);
        g->r->md_tx = 0;
        rx_mds(g, 4, 1024);
    } else {
        g->r->md_tx = rcl_get(g->r, RCL_TX_MD_TAIL_PTR);
    }
    {
        uint8_t f[MIN_FRAME] = { 0x82 };

        rcl_md_post(g->r, f, sizeof(f));
    }
    ether_put(g, 100);
    while (counter(g, "rx_type3") == got && counter(g, "drop_rx3_off") == off) {
        g_usleep(500);
    }
    *tx = counter(g, "tx_type3") - sent;
    *rx = counter(g, "rx_type3") - got;
}

static void test_st1(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(st1); i++) {
        Rig g = rig_start("", GEN1);
        uint32_t bits = 1u << st1[i].bit | st1[i].also;
        unsigned tx, rx;

        g_test_message("bit %u", st1[i].bit);
        rcl_msix(g.r);
        rcl_set(g.r, RCL_DMA_INT_MASK, 1 << RCL_ST0_ABNORMAL);
        st1[i].cause(&g);
        g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST1), ==, bits);
        g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0) &
                        1 << RCL_ST0_ABNORMAL, !=, 0);
        g_assert_true(qpci_msix_pending(g.r->f->pci, RCL_VEC_FAULT));
        g_assert_true(qpci_msix_pending(g.r->f->pci, RCL_VEC_NONR));
        g_assert_cmphex(rcl_get(g.r, RCL_IRQ_INFO) >> RCL_IRQ_TYPE_SHIFT, ==,
                        3);
        rcl_set(g.r, RCL_DMA_INTR_ST1, bits);
        g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST1), ==, 0);
        g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0) &
                        1 << RCL_ST0_ABNORMAL, ==, 0);
        if (st1[i].bit != RCL_ST1_RX_OVERFLOW) {    /* has no descriptors */
            if (st1[i].bit == RCL_ST1_MD_READ) {
                rcl_set(g.r, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN |
                                                RCL_NONR_TX_RESET);
                rcl_set(g.r, RCL_TX_MDQ_BA, g.r->mem + MD_TX);
                rcl_set(g.r, RCL_NONR_DMA_CTRL, RCL_NONR_RX_EN |
                                                RCL_NONR_TX_EN);
            }
            both_ways(&g, 0, &tx, &rx);
            g_assert_cmpuint(tx, ==, st1[i].stops != TX_STOPS);
            g_assert_cmpuint(rx, ==, st1[i].stops != RX_STOPS);
        }
        both_ways(&g, RCL_NONR_TX_RESET | RCL_NONR_RX_RESET, &tx, &rx);
        g_assert_cmpuint(tx, ==, 1);
        g_assert_cmpuint(rx, ==, 1);
        qpci_msix_disable(g.r->f->pci);
        rig_stop(&g);
    }
}

/* ---- DMA_INTR_ST0 ---- */

static void test_st0(void)
{
    Rig g = rig_start("", GEN1);
    uint8_t f[MIN_FRAME] = { 0x82 };

    rcl_set(g.r, RCL_TAIL_UP_CFG, 2 | 1 << 16);
    rcl_md_post(g.r, f, sizeof(f));
    g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0), ==, 1 << RCL_ST0_TX_EMPTY);
    rcl_md_post(g.r, f, sizeof(f));
    g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0), ==,
                    1 << RCL_ST0_TX_EMPTY | 1 << RCL_ST0_TX_TAIL);
    rcl_set(g.r, RCL_DMA_INTR_ST0, 1 << RCL_ST0_TX_EMPTY);
    g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0), ==, 1 << RCL_ST0_TX_TAIL);
    rcl_set(g.r, RCL_DMA_INTR_ST0, 1 << RCL_ST0_TX_TAIL);
    ether_put(&g, 100);
    wait_counter(&g, "rx_type3", 1);
    g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0), ==, 1 << RCL_ST0_RX_TAIL);
    rcl_set(g.r, RCL_DMA_INTR_ST0, 1 << RCL_ST0_RX_TAIL);
    rx_mds(&g, 0, 0);
    ether_put(&g, 100);
    while (rcl_get(g.r, RCL_STATUS) & RCL_STATUS_RX_IDLE) {
        g_usleep(500);
    }
    g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0), ==, 1 << RCL_ST0_RX_EMPTY);
    rcl_set(g.r, RCL_DMA_INTR_ST0, 1 << RCL_ST0_RX_EMPTY);
    g_assert_cmphex(rcl_get(g.r, RCL_DMA_INTR_ST0), ==, 0);
    rig_stop(&g);
}

/* ---- STATUS, OST_FREE, ERR_STATUS ---- */

static uint64_t status(Rig *g)
{
    return rcl_get(g->r, RCL_STATUS);
}

static void test_status(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    const uint64_t idle = RCL_STATUS_RX_IDLE | RCL_STATUS_TX_IDLE;
    const uint64_t rest = RCL_STATUS_LINK | RCL_STATUS_MAC_FREE;
    uint8_t pfc[MIN_FRAME] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 0xb,
                               0x88, 0x08, 1, 1, 0, 0xff };

    g_assert_cmphex(status(&g), ==, idle | rest);
    /* A packet that nobody acknowledges. */
    rcl_post(g.r, QP, 64, 0, 0);
    g_assert_cmphex(status(&g), ==, RCL_STATUS_RX_IDLE | rest);
    g_assert_cmphex(rcl_get(g.r, RCL_OST_FREE), ==, 511 | 16 << 16);
    answer(&g, SYN_ACK, 0);
    wait_counter(&g, "rx_ack", 1);
    g_assert_cmphex(status(&g), ==, idle | rest);
    /* One of TYPE2 that its rate holds. */
    rcl_set(g.r, RCL_TYPE2_RATE, 1);
    rcl_post(g.r, 0, 64, 0, RCL_ETYPE2);
    rcl_post(g.r, 0, 64, 0, RCL_ETYPE2);
    g_assert_cmphex(rcl_get(g.r, RCL_OST_FREE), ==, 512 | 15 << 16);
    g_assert_cmphex(status(&g), ==, RCL_STATUS_RX_IDLE | rest);
    rcl_set(g.r, RCL_TYPE2_RATE, 0);
    wait_counter(&g, "tx_type2", 2);
    /* One that the client has not taken. */
    rcl_set(g.r, RCL_RING(RCL_RING_RX2) + RCL_RING_CTRL, 0);
    type2_put(&g, 256);
    wait_counter(&g, "rx_type2", 1);
    g_assert_cmphex(status(&g), ==, RCL_STATUS_TX_IDLE | rest);
    rcl_set(g.r, RCL_SOFT_RESET, RCL_RESET_TYPE2);
    g_assert_cmphex(status(&g), ==, idle | rest);
    /* Classes that the peer has stopped, and that it is to stop. */
    for (unsigned c = 0; c < 8; c += 2) {
        stw_be_p(pfc + 18 + 2 * c, 0xffff);
    }
    wire_put(&g, pfc, sizeof(pfc));
    wait_counter(&g, "pfc_rx", 1);
    g_assert_cmphex(status(&g), ==, idle | rest |
                                    0x55 << RCL_STATUS_PFC_RX_SHIFT);
    rcl_prop_set(g.r, "fault-pause-storm", 0xa3);
    g_assert_cmphex(status(&g), ==, idle | rest |
                                    0x55 << RCL_STATUS_PFC_RX_SHIFT |
                                    0xa3 << RCL_STATUS_PFC_TX_SHIFT);
    rcl_prop_set(g.r, "fault-pause-storm", 0);
    qtest_clock_step(g.r->f->qts, 1000000);
    g_assert_cmphex(status(&g), ==, idle | rest);
    rcl_link_set(g.r, false);
    rcl_wait_link(g.r, false);
    g_assert_cmphex(status(&g), ==, idle | RCL_STATUS_MAC_FREE);
    rig_stop(&g);
}

/* A ring in memory that is not there stops, and says so; each has its bit. */
static void test_rings(void)
{
    for (unsigned n = 0; n < RCL_RINGS; n++) {
        Rig g = rig_start("", GEN1);

        rcl_set(g.r, RCL_RING(n) + RCL_RING_CTRL, 0);
        rcl_set(g.r, RCL_RING(n) + RCL_RING_BASE_HI, NOWHERE >> 32);
        rcl_set(g.r, RCL_RING(n) + RCL_RING_CTRL, RCL_RING_EN);
        if (n != RCL_RING_EVENT) {
            rcl_set(g.r, RCL_RING(n) + RCL_RING_HEAD, 4);
        }
        if (n == RCL_RING_RX1) {
            request(&g, 0, 0, 64);
        } else if (n == RCL_RING_RX2) {
            type2_put(&g, 64);
        } else if (n == RCL_RING_EVENT) {
            rcl_post(g.r, QP + 1, 64, 0, 0);
        }
        wait_counter(&g, "dma_errors", 1);
        g_assert_cmphex(rcl_get(g.r, RCL_ERR_STATUS), ==, 1 << n);
        g_assert_cmphex(rcl_get(g.r, RCL_RING(n) + RCL_RING_CTRL), ==,
                        RCL_RING_EN | RCL_RING_ERROR);
        rcl_set(g.r, RCL_ERR_STATUS, 1 << n);
        g_assert_cmphex(rcl_get(g.r, RCL_ERR_STATUS), ==, 0);
        rig_stop(&g);
    }
}

/* ---- events ---- */

static void ev_irq(Rig *g)
{
    rcl_post(g->r, QP, LONG, 0, 0);
}

static void ev_credit(Rig *g)
{
    rcl_post(g->r, 0, 64, 0, RCL_ETYPE2);
}

static void ev_cnp(Rig *g)
{
    uint8_t f[256];

    wire_put(g, f, frame_make(f, CNP, 0, 0, 0, QP, 0));
    wait_counter(g, "rx_cnp", 1);
}

static void ev_ack(Rig *g)
{
    uint8_t f[256];

    rcl_post(g->r, QP, 64, 0, 0);
    wire_put(g, f, frame_make(f, ACK, TS, SYN_ACK, 0, QP, 0));
    wait_counter(g, "rx_ack", 1);
}

static void ev_retry(Rig *g)
{
    rcl_set(g->r, RCL_RETRY_TIMER_CFG, 7 << 13 | 10);
    rcl_post(g->r, QP, 64, 0, 0);
    qtest_clock_step(g->r->f->qts, 10000);
    wait_counter(g, "timeouts", 1);
}

static void ev_nocnp(Rig *g)
{
    rcl_set(g->r, RCL_RETRY_TIMER_CFG, 7 << 13);
    rcl_set(g->r, RCL_NOCNP, 10);
    rcl_post(g->r, QP, 64, 0, 0);
    qtest_clock_step(g->r->f->qts, 10000);
    rcl_get(g->r, RCL_STATUS);
}

static void ev_qp_en(Rig *g)
{
    rcl_set(g->r, RCL_QP_ID_SET, QP);
    rcl_set(g->r, RCL_TX_SPEED_MEM, 0);
}

static void ev_mac(Rig *g)
{
    qtest_qmp_assert_success(g->r->f->qts,
        "{ 'execute': 'qom-set', 'arguments': { 'path': "
        "'/machine/peripheral/nic', 'property': 'mac-reset', "
        "'value': true } }");
}

static const struct {
    uint8_t type;
    void (*cause)(Rig *g);
} event[] = {
    { RCL_EV_IRQ, ev_irq }, { RCL_EV_CREDIT, ev_credit },
    { RCL_EV_CNP, ev_cnp }, { RCL_EV_ACK, ev_ack },
    { RCL_EV_RETRY_TMO, ev_retry }, { RCL_EV_NOCNP, ev_nocnp },
    { RCL_EV_QP_EN, ev_qp_en }, { RCL_EV_MAC, ev_mac },
};

/* Each kind comes, and comes not where EVENT_MASK has no bit for it: what comes
 * instead is a later one of another kind. */
static void test_events(void)
{
    for (unsigned i = 0; i < 2 * ARRAY_SIZE(event); i++) {
        Rig g = rig_start(",time-scale=1", GEN1);
        uint8_t type = event[i / 2].type, ev[RCL_RING_ENTRY];
        uint64_t head = RCL_RING(RCL_RING_EVENT) + RCL_RING_HEAD;

        g_test_message("event %u, masked: %u", type, i % 2);
        rcl_set(g.r, RCL_EVENT_MASK, i % 2 ? 0x1fe & ~(1 << type) : 1 << type);
        g.r->ev_tail = rcl_get(g.r, head);
        event[i / 2].cause(&g);
        if (i % 2) {
            uint16_t end;

            rcl_set(g.r, RCL_EVENT_MASK, 0);
            end = rcl_get(g.r, head);
            for (uint16_t at = g.r->ev_tail; at != end; at++) {
                g_assert_cmpuint(qtest_readb(g.r->f->qts, g.r->mem +
                                             RCL_RING_EVENT * 0x1000 +
                                             at % RCL_ENTRIES *
                                             RCL_RING_ENTRY), !=, type);
            }
        } else {
            rcl_event_wait(g.r, type, ev);
            g_assert_cmpuint(counter(&g, "events_lost"), ==, 0);
        }
        rig_stop(&g);
    }
}

/* ---- the FCS ---- */

/* A bad FCS: TYPE1 waits for its peer to send again, TYPE3's descriptor tells. */
static void test_fcs(void)
{
    Rig g = rig_start("", GEN1);
    RclGot got;

    rcl_prop_set(g.r, "fault-fcs", 1);
    request(&g, 0, 0, 64);
    type2_put(&g, 64);
    ether_put(&g, 100);
    wait_counter(&g, "rx_type3", 1);
    g_assert_cmpuint(counter(&g, "bad_fcs"), ==, 3);
    g_assert_cmpuint(counter(&g, "rx_type1"), ==, 0);
    g_assert_cmpuint(counter(&g, "rx_type2"), ==, 0);
    g_assert_cmphex(qtest_readl(g.r->f->qts, g.r->mem + MD_RX), ==,
                    WHOLE | RCL_MD_CRC);
    rcl_prop_set(g.r, "fault-fcs", 0);
    request(&g, 0, 0, 64);
    rcl_take(g.r, 0, &got);
    g_assert_true(rcl_is(&got, 64, 0));
    ether_put(&g, 100);
    wait_counter(&g, "rx_type3", 2);
    g_assert_cmpuint(counter(&g, "bad_fcs"), ==, 3);
    g_assert_cmphex(qtest_readl(g.r->f->qts, g.r->mem + MD_RX + 16), ==,
                    WHOLE);
    rig_stop(&g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rclink-status/intr", test_intr);
    qtest_add_func("/rclink-status/st1", test_st1);
    qtest_add_func("/rclink-status/st0", test_st0);
    qtest_add_func("/rclink-status/status", test_status);
    qtest_add_func("/rclink-status/rings", test_rings);
    qtest_add_func("/rclink-status/events", test_events);
    qtest_add_func("/rclink-status/fcs", test_fcs);
    return g_test_run();
}
