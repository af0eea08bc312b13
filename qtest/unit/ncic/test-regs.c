/*
 * Registers of table 3-3 against literal numbers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include "harness.h"

static const struct {
    uint32_t addr;
    uint32_t reset;
    uint32_t writable;
} literal[] = {
    { 0x10000, 0x0000ffff, 0 },            /* FW_ID */
    { 0x10004, 0x00000f01, 0 },            /* IF_FEATURE */
    { 0x10010, 32, 0 }, { 0x10014, 0x2000, 0 },
    { 0x10018, 32, 0 }, { 0x1001c, 0x2000, 0 },
    { 0x10020, 32, 0 }, { 0x10024, 0x1000, 0 },
    { 0x10028, 32, 0 }, { 0x1002c, 0x1000, 0 },
    { 0x10030, 0xffffffff, 0xffffffff },   /* RSS mask */
    { 0x10034, 1500, 0 }, { 0x10038, 1500, 0 },
    { 0x1000c, 0, 0 }, { 0x1003c, 0, 0 }, { 0x10040, 0, 0 },
    { 0x10050, 1, 1 }, { 0x10054, 1, 1 },
    { 0x10180, 0x3158434e, 0 }, { 0x10184, 1, 0 },
    { 0x10188, 0, 0x8000ffff },
    { 0x10190, 0x12005452, 0 }, { 0x10194, 0x80005634, 0 },
    /* the layout of the hardware sources */
    { 0x01000, 0x0000ffff, 0 }, { 0x01004, 0x0000eeee, 0 },
    { 0x01008, 0x00000f01, 0 },
    { 0x0100c, 32, 0 }, { 0x01010, 0x2000, 0 },
    { 0x01014, 32, 0 }, { 0x01018, 0x2000, 0 },
    { 0x0101c, 32, 0 }, { 0x01020, 0x1000, 0 },
    { 0x01028, 32, 0 }, { 0x0102c, 0x1000, 0 },
    { 0x0103c, 1500, 0 }, { 0x01040, 1500, 0 },
    { 0x01024, 0, 0 }, { 0x01030, 0, 0 },
    { 0x01050, 1, 1 }, { 0x01054, 1, 1 },
};

/* Offset in the stride, writable bits while inactive; reset 0. */
static const struct {
    uint32_t off;
    uint32_t writable;
    uint32_t locked;            /* not writable while active */
} queue_literal[] = {
    { 0x00, 0xffffffff, 1 }, { 0x04, 0xffffffff, 1 },
    { 0x0c, 0x0000ffff, 1 }, { 0x10, 0x0000ffff, 0 },
    { 0x14, 0, 0 }, { 0x18, 0x0000ffff, 1 }, { 0x1c, 0, 0 },
    { 0x20, 0xffffffff, 1 }, { 0x24, 0xffffffff, 1 },
    { 0x2c, 0x8000ffff, 0 }, { 0x30, 0x0000ffff, 1 },
    { 0x34, 0, 0 }, { 0x38, 0x0000ffff, 0 }, { 0x3c, 0, 0 },
};

static void test_ncsr(void)
{
    Rig r;

    rig_init(&r, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(literal); i++) {
        uint32_t w = literal[i].writable;

        g_assert_cmphex(rig_read(&r, literal[i].addr), ==, literal[i].reset);
        rig_write(&r, literal[i].addr, ~literal[i].reset);
        g_assert_cmphex(rig_read(&r, literal[i].addr), ==,
                        (literal[i].reset & ~w) | (~literal[i].reset & w));
        ncic_eth_reset(&r.eth);
        g_assert_cmphex(rig_read(&r, literal[i].addr), ==, literal[i].reset);
    }
    rig_fini(&r);
}

static void test_queue_access(void)
{
    Rig r;

    rig_init(&r, NULL);
    for (unsigned n = 0; n < 2 * 32 * G_N_ELEMENTS(queue_literal); n++) {
        unsigned i = n % G_N_ELEMENTS(queue_literal);
        unsigned q = n / G_N_ELEMENTS(queue_literal) % 32;
        uint32_t base = n & 1 ? 0x11000 : 0x12000;
        uint32_t alias = n & 1 ? 0x02000 : 0x03000;
        uint32_t off = q * 0x40 + queue_literal[i].off;
        uint32_t w = queue_literal[i].writable;

        g_assert_cmphex(rig_read(&r, base + off), ==, 0);
        rig_write(&r, base + off, 0xffffffff);
        g_assert_cmphex(rig_read(&r, base + off), ==, w);
        g_assert_cmphex(rig_read(&r, alias + off), ==, w);
        rig_write(&r, alias + off, 0x5a5a5a5a);
        g_assert_cmphex(rig_read(&r, base + off), ==, 0x5a5a5a5a & w);
        ncic_eth_reset(&r.eth);
        g_assert_cmphex(rig_read(&r, base + off), ==, 0);
    }
    rig_fini(&r);
}

static void test_locked(void)
{
    Rig r;

    rig_init(&r, NULL);
    for (NcicDir dir = NCIC_RX; dir <= NCIC_TX; dir++) {
        rig_queue(&r, dir, 1, 6);
        g_assert_cmphex(rig_read(&r, qreg(dir, 1, 0x08)), ==, 0x80000006);
        g_assert_cmphex(rig_read(&r, qreg(dir, 1, 0x28)), ==, 0x80000006);
        for (unsigned i = 0; i < G_N_ELEMENTS(queue_literal); i++) {
            uint32_t addr = qreg(dir, 1, queue_literal[i].off);
            uint32_t was = rig_read(&r, addr);

            if (!queue_literal[i].locked) {
                continue;
            }
            r.errors[NCIC_E_ACTIVE] = 0;
            rig_write(&r, addr, ~was);
            g_assert_cmphex(rig_read(&r, addr), ==, was);
            g_assert_cmpuint(r.errors[NCIC_E_ACTIVE], ==, 1);
        }
        /* Size is kept, the active bit goes. */
        rig_write(&r, qreg(dir, 1, 0x08), 0x80000007);
        g_assert_cmphex(rig_read(&r, qreg(dir, 1, 0x08)), ==, 0x80000006);
        rig_write(&r, qreg(dir, 1, 0x08), 0);
        g_assert_cmphex(rig_read(&r, qreg(dir, 1, 0x08)), ==, 6);
        rig_write(&r, qreg(dir, 1, 0x08), 3);
        g_assert_cmphex(rig_read(&r, qreg(dir, 1, 0x08)), ==, 3);
    }
    rig_fini(&r);
}

static void test_misuse(void)
{
    Rig r;
    NcicEthConfig cfg = rig_config();

    cfg.queues = 4;
    rig_init(&r, &cfg);
    g_assert_cmphex(rig_read(&r, 0x10010), ==, 4);
    g_assert_cmphex(rig_read(&r, 0x10028), ==, 4);

    /* no such queue */
    rig_write(&r, qreg(NCIC_TX, 4, NCIC_Q_HEAD), 1);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 4, NCIC_Q_HEAD)), ==, 0);
    g_assert_cmpuint(r.errors[NCIC_E_INDEX], ==, 1);
    /* another CPL queue, no such vector */
    rig_write(&r, qreg(NCIC_TX, 1, NCIC_Q_CPL_INDEX), 2);
    rig_write(&r, qreg(NCIC_TX, 1, NCIC_Q_CPL_INTR), 0x80000040);
    g_assert_cmpuint(r.errors[NCIC_E_INDEX], ==, 3);
    /* unaligned rings stay inactive */
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_BASE_LO), 0x1008);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_LOG_SIZE), 0x80000004);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_LOG_SIZE)), ==, 4);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_BASE_LO), 0x1010);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_LOG_SIZE), 0x80000004);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_LOG_SIZE)), ==,
                    4);
    g_assert_cmpuint(r.errors[NCIC_E_RING_ALIGN], ==, 2);
    /* unknown register */
    rig_write(&r, 0x10008, 1);
    g_assert_cmpuint(r.errors[NCIC_E_ACCESS], ==, 1);
    /* outside of all windows */
    rig_write(&r, 0x70000, 1);
    g_assert_cmpuint(r.errors[NCIC_E_ACCESS], ==, 2);

    g_assert_cmphex(rig_read(&r, 0x1018c), ==,
                    NCIC_ERR_INDEX | NCIC_ERR_RING_ALIGN | NCIC_ERR_ACCESS);
    g_assert_cmpuint(rig_read(&r, 0x101d0), ==, 7);
    rig_write(&r, 0x1018c, NCIC_ERR_INDEX);
    g_assert_cmphex(rig_read(&r, 0x1018c), ==,
                    NCIC_ERR_RING_ALIGN | NCIC_ERR_ACCESS);
    rig_fini(&r);
}

static void test_layouts(void)
{
    static const struct { uint32_t addr; int doc, rtl; } at[] = {
        { 0x80000, NCIC_WIN_HCR, NCIC_WIN_NONE },
        { 0x80018, NCIC_WIN_HCR, NCIC_WIN_NONE },
        { 0x8001c, NCIC_WIN_NONE, NCIC_WIN_NONE },
        { 0xf0010, NCIC_WIN_RESET, NCIC_WIN_NONE },
        { 0x10000, NCIC_WIN_NCSR, NCIC_WIN_NONE },
        { 0x11000, NCIC_WIN_RXQ, NCIC_WIN_NONE },
        { 0x12ffc, NCIC_WIN_TXQ, NCIC_WIN_NONE },
        { 0x13000, NCIC_WIN_NONE, NCIC_WIN_NONE },
        { 0x00000, NCIC_WIN_NONE, NCIC_WIN_HCR },
        { 0x00018, NCIC_WIN_NONE, NCIC_WIN_HCR },
        { 0x00f10, NCIC_WIN_NONE, NCIC_WIN_RESET },
        { 0x00f20, NCIC_WIN_NONE, NCIC_WIN_INIT_DONE },
        { 0x01000, NCIC_WIN_NONE, NCIC_WIN_NCSR_RTL },
        { 0x02000, NCIC_WIN_NONE, NCIC_WIN_RXQ },
        { 0x03040, NCIC_WIN_NONE, NCIC_WIN_TXQ },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(at); i++) {
        uint32_t off;

        g_assert_cmpint(ncic_bar0_decode(NCIC_LAYOUT_DOC, at[i].addr, &off),
                        ==, at[i].doc);
        g_assert_cmpint(ncic_bar0_decode(NCIC_LAYOUT_RTL, at[i].addr, &off),
                        ==, at[i].rtl);
        g_assert_cmpint(ncic_bar0_decode(NCIC_LAYOUT_BOTH, at[i].addr, &off),
                        ==, at[i].doc ? at[i].doc : at[i].rtl);
    }
}

static void test_no_extensions(void)
{
    NcicEthConfig cfg = rig_config();
    Rig r;

    cfg.ext = false;
    rig_init(&r, &cfg);
    g_assert_cmphex(rig_read(&r, 0x10180), ==, 0);
    g_assert_cmphex(rig_read(&r, 0x10050), ==, 0);
    g_assert_cmphex(rig_read(&r, 0x1003c), ==, 0);
    g_assert_cmphex(rig_read(&r, 0x10038), ==, 1500);
    g_assert_cmphex(rig_read(&r, 0x01050), ==, 1);
    g_assert_cmphex(rig_read(&r, 0x01180), ==, 0);
    rig_fini(&r);
}

/* Each window from its first byte to its last, and no further. */
static void test_windows(void)
{
    static const struct {
        uint32_t base, size;
        NcicLayout layout;
        NcicWindow win;
    } w[] = {
        { 0x10000, 0x1000, NCIC_LAYOUT_DOC, NCIC_WIN_NCSR },
        { 0x11000, 0x1000, NCIC_LAYOUT_DOC, NCIC_WIN_RXQ },
        { 0x12000, 0x1000, NCIC_LAYOUT_DOC, NCIC_WIN_TXQ },
        { 0x80000, 0x1c, NCIC_LAYOUT_DOC, NCIC_WIN_HCR },
        { 0xf0010, 4, NCIC_LAYOUT_DOC, NCIC_WIN_RESET },
        { 0x01000, 0x1000, NCIC_LAYOUT_RTL, NCIC_WIN_NCSR_RTL },
        { 0x02000, 0x1000, NCIC_LAYOUT_RTL, NCIC_WIN_RXQ },
        { 0x03000, 0x1000, NCIC_LAYOUT_RTL, NCIC_WIN_TXQ },
        { 0x00000, 0x1c, NCIC_LAYOUT_RTL, NCIC_WIN_HCR },
        { 0x00f10, 4, NCIC_LAYOUT_RTL, NCIC_WIN_RESET },
        { 0x00f20, 4, NCIC_LAYOUT_RTL, NCIC_WIN_INIT_DONE },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
        NcicLayout other = NCIC_LAYOUT_BOTH ^ w[i].layout;
        uint32_t last = w[i].base + w[i].size - 1, off;

        g_assert_cmpint(ncic_bar0_decode(w[i].layout, w[i].base, &off), ==,
                        w[i].win);
        g_assert_cmphex(off, ==, 0);
        g_assert_cmpint(ncic_bar0_decode(w[i].layout, last, &off), ==,
                        w[i].win);
        g_assert_cmphex(off, ==, w[i].size - 1);
        g_assert_cmpint(ncic_bar0_decode(NCIC_LAYOUT_BOTH, last, &off), ==,
                        w[i].win);
        g_assert_cmpint(ncic_bar0_decode(w[i].layout, last + 1, &off), !=,
                        w[i].win);
        g_assert_cmpint(ncic_bar0_decode(other, w[i].base, &off), ==,
                        NCIC_WIN_NONE);
        g_assert_cmphex(off, ==, w[i].base);
    }
}

/* What properties give registers comes back with a reset. */
static void test_configured(void)
{
    NcicEthConfig cfg = rig_config();
    Rig r;

    cfg.queues = 3;
    cfg.mtu = 9000;
    cfg.tx_start = false;
    cfg.mac[2] = 0x9a;
    rig_init(&r, &cfg);
    for (unsigned again = 0; again < 2; again++) {
        for (unsigned off = 0x10; off <= 0x28; off += 8) {
            g_assert_cmpuint(rig_read(&r, 0x10000 + off), ==, 3);
        }
        g_assert_cmpuint(rig_read(&r, 0x10034), ==, 9000);
        g_assert_cmpuint(rig_read(&r, 0x10038), ==, 9000);
        g_assert_cmpuint(rig_read(&r, 0x10050), ==, 0);
        g_assert_cmphex(rig_read(&r, 0x10190), ==, 0x129a5452);
        g_assert_cmphex(rig_read(&r, 0x10194), ==, 0x80005634);
        /* the start bit starts, no other register does */
        r.kicks_tx = 0;
        rig_write(&r, 0x10030, 1);
        rig_write(&r, 0x10054, 1);
        g_assert_cmpuint(r.kicks_tx, ==, 0);
        rig_write(&r, 0x10050, 1);
        g_assert_cmpuint(r.kicks_tx, ==, 1);
        g_assert_cmphex(ncic_eth_reg_read(&r.eth, NCIC_WIN_NONE, 0), ==, 0);
        g_assert_cmphex(ncic_eth_reg_read(&r.eth, NCIC_WIN_HCR, 0), ==, 0);
        ncic_eth_reset(&r.eth);
    }
    rig_fini(&r);
}

/* Whoever has mapped a ring hears of each change of it, and of no other. */
static void test_ring_changes(void)
{
    Rig r;

    rig_init(&r, NULL);
    memset(r.ring_changes, 0, sizeof(r.ring_changes));
    for (unsigned reg = 0; reg < NCIC_QUEUE_STRIDE; reg += 4) {
        bool ring = reg <= 8 || (reg >= 0x20 && reg <= 0x28);
        unsigned before = r.ring_changes[NCIC_RX][7];

        rig_write(&r, qreg(NCIC_RX, 7, reg), 1);
        g_assert_cmpuint(r.ring_changes[NCIC_RX][7] - before, ==, ring);
    }
    g_assert_cmpuint(r.ring_changes[NCIC_TX][7], ==, 0);
    memset(r.ring_changes, 0, sizeof(r.ring_changes));
    ncic_eth_reset(&r.eth);
    for (unsigned q = 0; q < 32; q++) {
        g_assert_cmpuint(r.ring_changes[NCIC_RX][q], ==, 1);
        g_assert_cmpuint(r.ring_changes[NCIC_TX][q], ==, 1);
    }
    rig_fini(&r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ncic/regs/ncsr", test_ncsr);
    g_test_add_func("/ncic/regs/queue-access", test_queue_access);
    g_test_add_func("/ncic/regs/locked", test_locked);
    g_test_add_func("/ncic/regs/misuse", test_misuse);
    g_test_add_func("/ncic/regs/layouts", test_layouts);
    g_test_add_func("/ncic/regs/no-extensions", test_no_extensions);
    g_test_add_func("/ncic/regs/windows", test_windows);
    g_test_add_func("/ncic/regs/configured", test_configured);
    g_test_add_func("/ncic/regs/ring-changes", test_ring_changes);
    return g_test_run();
}
