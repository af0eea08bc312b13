/*
 * ncic-nic: configuration space, registers and data path
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "ncic-fixture.h"
#include "../deadline.h"

#define BUF_SIZE 2048

/* ---- Identity (ETH figures 3-6, 3-7) --------------------------------------- */

static uint32_t ecam(Fixture *f, unsigned reg)
{
    return qtest_readl(f->qts, 0xb0000000 + (4 << 15) + reg);
}

static void test_config(void)
{
    static const struct { uint8_t at, width; uint32_t mask, value; } cfg[] = {
        { 0x00, 4, 0xffffffff, 0x702810ee },
        { 0x08, 4, 0xffffff00, 0x02800000 },    /* class 0280 */
        { 0x10, 4, 0x0000000f, 0x4 },           /* 64-bit, no prefetch */
        { 0x18, 4, 0x0000000f, 0x4 },
        { 0x2c, 4, 0xffffffff, 0x000710ee },
        { 0x3d, 1, 0xff, 1 },                   /* INTA */
        { 0x80, 1, 0xff, PCI_CAP_ID_PM },
        { 0x82, 2, 0x0007, 3 },                 /* version 3 */
        { 0x84, 2, 0x000b, 0x0008 },            /* D0, NoSoftReset */
        { 0x90, 1, 0xff, PCI_CAP_ID_MSI },
        { 0x92, 2, 0x01ff, 0x0080 },            /* one vector, 64-bit */
        { 0xb0, 1, 0xff, PCI_CAP_ID_MSIX },
        { 0xb2, 2, 0x07ff, 0x003f },            /* 64 vectors */
        { 0xb4, 4, 0xffffffff, 0x00020000 },    /* table: BAR0 + 20000 */
        { 0xb8, 4, 0xffffffff, 0x00030000 },    /* PBA: BAR0 + 30000 */
        { 0xc0, 1, 0xff, PCI_CAP_ID_EXP },
        { 0xc2, 2, 0x000f, 2 },
        { 0xc4, 4, 0x10000027, 0x00000022 },    /* MPS 512, ExtTag, no FLR */
    };
    Fixture *f = fixture_start("", "");
    QPCIDevice *bridge;

    for (unsigned i = 0; i < G_N_ELEMENTS(cfg); i++) {
        uint32_t v = cfg[i].width == 4 ? qpci_config_readl(f->pci, cfg[i].at)
                   : cfg[i].width == 2 ? qpci_config_readw(f->pci, cfg[i].at)
                                       : qpci_config_readb(f->pci, cfg[i].at);

        g_assert_cmphex(v & cfg[i].mask, ==, cfg[i].value);
    }
    /* extended space: AER version 2 at 100 */
    bridge = qpci_device_find(f->bus, 0);
    qpci_config_writel(bridge, 0x60, 0xb0000001);
    g_free(bridge);
    g_assert_cmphex(ecam(f, 0), ==, 0x702810ee);
    g_assert_cmphex(ecam(f, 0x100) & 0xfffff, ==, 0x20001);
    fixture_stop(f);

    f = fixture_start("flr=on,msix-vectors=2048", "");
    g_assert_cmphex(qpci_config_readl(f->pci, 0xc4) & PCI_EXP_DEVCAP_FLR, !=,
                    0);
    g_assert_cmphex(qpci_config_readw(f->pci, 0xb2) & 0x7ff, ==, 0x7ff);
    fixture_stop(f);
}

/* ---- Registers against literal numbers of table 3-3 -------------------------- */

typedef struct Literal {
    uint32_t addr, reset, writable;
} Literal;

static const Literal ncsr_literal[] = {
    { 0x10000, 0x0000ffff, 0 }, { 0x10004, 0x00000f01, 0 },
    { 0x10010, 32, 0 }, { 0x10014, 0x2000, 0 },
    { 0x10018, 32, 0 }, { 0x1001c, 0x2000, 0 },
    { 0x10020, 32, 0 }, { 0x10024, 0x1000, 0 },
    { 0x10028, 32, 0 }, { 0x1002c, 0x1000, 0 },
    { 0x10030, 0xffffffff, 0xffffffff },
    { 0x10034, 1500, 0 }, { 0x10038, 1500, 0 },
    { 0x10050, 1, 1 }, { 0x10054, 1, 1 },
    { 0x10180, 0x3158434e, 0 }, { 0x10184, 1, 0 },
    { 0x10188, 0, 0x8000ffff },
    { 0x10190, 0x12005452, 0 }, { 0x10194, 0x80005634, 0 },
    { 0x01000, 0x0000ffff, 0 }, { 0x01004, 0x0000eeee, 0 },
    { 0x01008, 0x00000f01, 0 }, { 0x0100c, 32, 0 },
    { 0x0103c, 1500, 0 }, { 0x01040, 1500, 0 },
    { 0x00f20, 1, 0 }, { 0xf0010, 0, 0 }, { 0x00f10, 0, 0 },
    { 0x13000, 0, 0 }, { 0x40000, 0, 0 }, { 0xffffc, 0, 0 },
};

static const Literal queue_literal[] = {
    { 0x00, 0, 0xffffffff }, { 0x04, 0, 0xffffffff },
    { 0x0c, 0, 0x0000ffff }, { 0x10, 0, 0x0000ffff }, { 0x14, 0, 0 },
    { 0x18, 0, 0x0000ffff }, { 0x1c, 0, 0 },
    { 0x20, 0, 0xffffffff }, { 0x24, 0, 0xffffffff },
    { 0x2c, 0, 0x8000ffff }, { 0x30, 0, 0x0000ffff }, { 0x34, 0, 0 },
    { 0x38, 0, 0x0000ffff }, { 0x3c, 0, 0 },
};

static void check_literal(QNcic *d, const Literal *l, uint32_t base)
{
    uint32_t addr = base + l->addr;

    g_assert_cmphex(qncic_read(d, addr), ==, l->reset);
    /* writing 1 to a reset register is a reset: not here */
    qncic_write(d, addr, ~l->reset & ~1u);
    g_assert_cmphex(qncic_read(d, addr) & ~1u, ==,
                    ((l->reset & ~l->writable) |
                     (~l->reset & l->writable)) & ~1u);
    qncic_write(d, NCIC_RESET, NCIC_RESET_START);
    g_assert_cmphex(qncic_read(d, addr), ==, l->reset);
}

static void test_registers(void)
{
    Fixture *f = fixture_start("", "");

    for (unsigned i = 0; i < G_N_ELEMENTS(ncsr_literal); i++) {
        check_literal(&f->nic, &ncsr_literal[i], 0);
    }
    for (unsigned q = 0; q < 32; q++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(queue_literal); i++) {
            check_literal(&f->nic, &queue_literal[i], 0x11000 + 0x40 * q);
            check_literal(&f->nic, &queue_literal[i], 0x12000 + 0x40 * q);
        }
        /* the size register: b31 is the active bit */
        for (unsigned off = 0x08; off <= 0x28; off += 0x20) {
            qncic_write(&f->nic, 0x12000 + 0x40 * q + off, 0x7fffffff);
            g_assert_cmphex(qncic_read(&f->nic, 0x12000 + 0x40 * q + off), ==,
                            0xf);
            qncic_write(&f->nic, 0x12000 + 0x40 * q + off, 0x80000004);
            g_assert_cmphex(qncic_read(&f->nic, 0x03000 + 0x40 * q + off), ==,
                            0x80000004);
        }
    }
    fixture_stop(f);
}

/* Windows exist in their layout only. */
static void test_layouts(void)
{
    Fixture *f = fixture_start("layout=doc,eth-ext=off", "");

    g_assert_cmphex(qncic_read(&f->nic, 0x10004), ==, 0xf01);
    g_assert_cmphex(qncic_read(&f->nic, 0x01008), ==, 0);
    g_assert_cmphex(qncic_read(&f->nic, 0x10180), ==, 0);
    g_assert_cmphex(qncic_read(&f->nic, 0x00f20), ==, 0);
    fixture_stop(f);

    f = fixture_start("layout=rtl", "");
    g_assert_cmphex(qncic_read(&f->nic, 0x01008), ==, 0xf01);
    g_assert_cmphex(qncic_read(&f->nic, 0x10004), ==, 0);
    g_assert_cmphex(qncic_read(&f->nic, 0x01050), ==, 0);
    g_assert_cmphex(qpci_config_readl(f->pci, 0xb4), ==, 0x5000);
    qncic_write(&f->nic, 0x2030, 0x1234);
    g_assert_cmphex(qncic_read(&f->nic, 0x2030), ==, 0x1234);
    qncic_write(&f->nic, 0xf10, 1);
    g_assert_cmphex(qncic_read(&f->nic, 0x2030), ==, 0);
    fixture_stop(f);

    f = fixture_start("queues=3,mtu=9000", "");
    g_assert_cmpuint(qncic_read(&f->nic, 0x10010), ==, 3);
    g_assert_cmpuint(qncic_read(&f->nic, 0x10034), ==, 9000);
    fixture_stop(f);
}

/* ---- Data ------------------------------------------------------------------------- */

static void fill(uint8_t *p, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++) {
        p[i] = i * 31 + seed;
    }
    if (len >= 14) {
        p[12] = 0x88;
        p[13] = 0xb5;
    }
}

/* Every size from 1 byte to the MTU, both directions. */
static void test_sizes(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    Fixture *f = fixture_start("", "");
    QNcic *d = &f->nic;
    uint64_t buf = guest_alloc(&f->alloc, BUF_SIZE);
    uint8_t data[1514];

    qncic_queue_up(d, QNCIC_TX, 0, 8, 1);
    qncic_queue_up(d, QNCIC_RX, 0, 8, 0);
    for (size_t len = 1; len <= 1514; len++) {
        size_t n;
        QNcicCpl c;

        fill(data, len, len);
        qtest_bufwrite(f->qts, buf, data, len);
        qncic_post(d, QNCIC_TX, 0, buf, len, 0, 0, true);
        n = qncic_wire_recv(&f->wire, d, got, 10000);
        g_assert_cmpuint(n, ==, MAX(len, 60));
        g_assert_cmpmem(got, len, data, len);
        c = qncic_complete(d, QNCIC_TX, 0);
        g_assert_cmphex(c.status, ==, 0);
        g_assert_cmpuint(c.length, ==, len);
        if (len < 14) {
            continue;
        }
        qtest_memset(f->qts, buf, 0, len);
        qncic_post(d, QNCIC_RX, 0, buf, BUF_SIZE, 0, 0, true);
        qncic_wire_send(&f->wire, data, len);
        c = qncic_complete(d, QNCIC_RX, 0);
        g_assert_cmphex(c.status, ==, 0);
        g_assert_cmpuint(c.length, ==, len);
        qtest_bufread(f->qts, buf, got, len);
        g_assert_cmpmem(got, len, data, len);
    }
    g_assert_cmpuint(fixture_counter(f, "tx-frames"), ==, 1514);
    g_assert_cmpuint(fixture_counter(f, "rx-completions"), ==, 1501);
    g_assert_cmpuint(fixture_counter(f, "guest-errors"), ==, 0);
    fixture_stop(f);
}

/* Two laps through rings of every size, 1 to 32768 entries. */
static void test_wrap(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    Fixture *f = fixture_start("", "");
    QNcic *d = &f->nic;

    for (unsigned log = 0; log <= 15; log++) {
        unsigned n = 1u << log;
        g_autofree uint8_t *desc = g_malloc0(n * NCIC_DESC_SIZE);
        g_autofree uint8_t *data = g_malloc0(n * 64);
        uint64_t buf = guest_alloc(&f->alloc, MAX(n * 64, 4096));
        uint16_t seq = 0;

        qncic_queue_up(d, QNCIC_TX, 0, log, 1);
        for (unsigned i = 0; i < n; i++) {
            stw_le_p(desc + i * NCIC_DESC_SIZE + NCIC_DESC_LENGTH, 60);
            stq_le_p(desc + i * NCIC_DESC_SIZE + NCIC_DESC_ADDR, buf + i * 64);
            stl_le_p(data + i * 64 + 14, i);
        }
        qtest_bufwrite(f->qts, buf, data, n * 64);
        qtest_bufwrite(f->qts, d->q[QNCIC_TX][0].ring, desc,
                       n * NCIC_DESC_SIZE);
        for (unsigned lap = 0; lap < 2; lap++) {
            qncic_write(d, qncic_qreg(QNCIC_TX, 0, NCIC_Q_HEAD),
                        (uint16_t)(seq + n));
            for (unsigned i = 0; i < n; i++) {
                g_assert_cmpuint(qncic_wire_recv(&f->wire, d, got, 10000), ==,
                                 60);
                g_assert_cmpuint(ldl_le_p(got + 14), ==, i);
            }
            seq += n;
            qncic_wait_reg(d, qncic_qreg(QNCIC_TX, 0, NCIC_Q_CPL_HEAD), seq);
            qncic_write(d, qncic_qreg(QNCIC_TX, 0, NCIC_Q_CPL_TAIL), seq);
        }
        qncic_write(d, NCIC_RESET, NCIC_RESET_START);
        guest_free(&f->alloc, d->q[QNCIC_TX][0].ring);
        guest_free(&f->alloc, d->q[QNCIC_TX][0].cpl);
        guest_free(&f->alloc, buf);
    }
    fixture_stop(f);
}

static void test_jumbo(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    g_autofree uint8_t *data = g_malloc(9014);
    Fixture *f = fixture_start("mtu=9000", "");
    QNcic *d = &f->nic;
    uint64_t buf = guest_alloc(&f->alloc, 16384);
    QNcicCpl c;

    qncic_queue_up(d, QNCIC_TX, 0, 2, 1);
    qncic_queue_up(d, QNCIC_RX, 0, 2, 0);
    fill(data, 9014, 1);
    qtest_bufwrite(f->qts, buf, data, 9014);
    qncic_post(d, QNCIC_TX, 0, buf, 9014, 0, 0, true);
    g_assert_cmpuint(qncic_wire_recv(&f->wire, d, got, 10000), ==, 9014);
    g_assert_cmpmem(got, 9014, data, 9014);
    qncic_post(d, QNCIC_RX, 0, buf, 16384, 0, 0, true);
    qtest_memset(f->qts, buf, 0, 9014);
    qncic_wire_send(&f->wire, data, 9014);
    c = qncic_complete(d, QNCIC_RX, 0);
    g_assert_cmpuint(c.length, ==, 9014);
    qtest_bufread(f->qts, buf, got, 9014);
    g_assert_cmpmem(got, 9014, data, 9014);
    fixture_stop(f);
}

/* An IPv4/TCP frame whose hash is a published vector: 66.9.149.187:2794 to
 * 161.142.100.80:1766; make_tcp() adds the
 * checksums. */
static const uint8_t tcp[60] = {
    0x52, 0x54, 0x00, 0x12, 0x34, 0x56, 0x52, 0x54, 0x00, 0x65, 0x43, 0x21,
    0x08, 0x00,
    0x45, 0x00, 0x00, 0x28, 0x00, 0x00, 0x00, 0x00, 0x40, 0x06, 0x00, 0x00,
    0x42, 0x09, 0x95, 0xbb, 0xa1, 0x8e, 0x64, 0x50,
    0x0a, 0xea, 0x06, 0xe6, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02,
    0x50, 0x10, 0x20, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static uint16_t ones_sum(const uint8_t *p, size_t len, uint32_t sum)
{
    for (size_t i = 0; i < len; i += 2) {
        sum += p[i] << 8 | p[i + 1];
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

static void make_tcp(uint8_t *f)
{
    uint32_t pseudo;

    memcpy(f, tcp, sizeof(tcp));
    stw_be_p(f + 24, ~ones_sum(f + 14, 20, 0));
    pseudo = ones_sum(f + 26, 8, 6 + 20);
    stw_be_p(f + 50, ~ones_sum(f + 34, 20, pseudo));
}

static void test_rx_offloads(void)
{
    Fixture *f = fixture_start("queues=32", "");
    QNcic *d = &f->nic;
    uint64_t buf = guest_alloc(&f->alloc, BUF_SIZE);
    uint8_t frame[64], got[64];
    QNcicCpl c;

    qncic_queue_up(d, QNCIC_RX, 0x18, 4, 5);
    qncic_queue_up(d, QNCIC_RX, 0, 4, 5);
    for (unsigned i = 0; i < 3; i++) {
        qncic_post(d, QNCIC_RX, 0x18, buf, BUF_SIZE, 0, 0, true);
    }
    qncic_post(d, QNCIC_RX, 0, buf, BUF_SIZE, 0, 0, true);

    make_tcp(frame);
    qncic_wire_send(&f->wire, frame, 60);
    c = qncic_complete(d, QNCIC_RX, 0x18);
    g_assert_cmphex(c.hash, ==, 0x51ccc178);
    g_assert_cmphex(c.status, ==, NCIC_CPL_IPV4 | NCIC_CPL_TCP);
    g_assert_cmphex(c.csum, ==, 0);
    g_assert_cmphex(c.queue, ==, 0x18);

    frame[40] ^= 1;
    qncic_wire_send(&f->wire, frame, 60);
    c = qncic_complete(d, QNCIC_RX, 0x18);
    g_assert_cmphex(c.status, ==,
                    NCIC_CPL_IPV4 | NCIC_CPL_TCP | NCIC_CPL_TCP_BAD);
    g_assert_cmphex(c.csum, !=, 0);
    frame[40] ^= 1;

    memmove(frame + 16, frame + 12, 48);
    stw_be_p(frame + 12, 0x8100);
    stw_be_p(frame + 14, 0x6007);
    qncic_wire_send(&f->wire, frame, 64);
    c = qncic_complete(d, QNCIC_RX, 0x18);
    g_assert_cmphex(c.status, ==,
                    NCIC_CPL_VLAN | NCIC_CPL_IPV4 | NCIC_CPL_TCP);
    g_assert_cmphex(c.tci, ==, 0x6007);
    g_assert_cmpuint(c.length, ==, 60);
    make_tcp(frame);
    qtest_bufread(f->qts, buf, got, 60);
    g_assert_cmpmem(got, 60, frame, 60);

    /* the mask register sends everything to queue 0 */
    qncic_write(d, 0x10030, 0);
    qncic_wire_send(&f->wire, frame, 60);
    c = qncic_complete(d, QNCIC_RX, 0);
    g_assert_cmphex(c.hash, ==, 0x51ccc178);
    fixture_stop(f);
}

static void test_tx_checksum(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    Fixture *f = fixture_start("", "");
    QNcic *d = &f->nic;
    uint64_t buf = guest_alloc(&f->alloc, BUF_SIZE);
    uint8_t want[60], given[60];

    qncic_queue_up(d, QNCIC_TX, 0, 4, 1);
    make_tcp(want);
    memcpy(given, want, 60);
    stw_be_p(given + 50, ones_sum(want + 26, 8, 6 + 20));
    qtest_bufwrite(f->qts, buf, given, 60);
    /* bytes 54..59 are padding: the frame ends at 54 */
    qncic_post(d, QNCIC_TX, 0, buf, 54, 34, 50, true);
    g_assert_cmpuint(qncic_wire_recv(&f->wire, d, got, 10000), ==, 60);
    g_assert_cmpmem(got, 60, want, 60);
    fixture_stop(f);
}

/* ---- Interrupts ------------------------------------------------------------------- */

static void wait_irq(QNcic *d, unsigned v)
{
    gint64 end = test_deadline(10);

    while (!qncic_irq(d, v)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(100);
    }
}

static void test_msix(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    Fixture *f = fixture_start("", "");
    QNcic *d = &f->nic;
    uint64_t buf = guest_alloc(&f->alloc, BUF_SIZE);

    qncic_msix_enable(d, 64);
    for (unsigned q = 0; q < 32; q++) {
        qncic_queue_up(d, QNCIC_TX, q, 4, 63 - q);
        qncic_post(d, QNCIC_TX, q, buf, 60, 0, 0, true);
        qncic_wire_recv(&f->wire, d, got, 10000);
        qncic_complete(d, QNCIC_TX, q);
        wait_irq(d, 63 - q);
        for (unsigned v = 0; v < 64; v++) {
            g_assert_false(qncic_irq(d, v));
        }
    }
    /* masked: pending; unmasked: delivered */
    qncic_write(d, NCIC_MSIX_TABLE + 63 * 16 + 12, 1);
    qncic_post(d, QNCIC_TX, 0, buf, 60, 0, 0, true);
    qncic_complete(d, QNCIC_TX, 0);
    g_assert_false(qncic_irq(d, 63));
    g_assert_cmphex(qncic_read(d, NCIC_MSIX_PBA + 4), ==, 0x80000000);
    qncic_write(d, NCIC_MSIX_TABLE + 63 * 16 + 12, 0);
    wait_irq(d, 63);
    g_assert_cmphex(qncic_read(d, NCIC_MSIX_PBA + 4), ==, 0);
    /* the reset register keeps the table (G3) */
    qncic_write(d, NCIC_RESET, 1);
    g_assert_cmphex(qncic_read(d, NCIC_MSIX_TABLE + 63 * 16 + 8), ==,
                    0x4e43003f);
    fixture_stop(f);
}

static void test_link(void)
{
    Fixture *f = fixture_start("", "");
    QNcic *d = &f->nic;

    qncic_msix_enable(d, 64);
    qncic_write(d, 0x10188, 0x80000000 | 40);
    for (unsigned up = 0; up < 2; up++) {
        qtest_qmp_assert_success(f->qts, "{ 'execute': 'set_link',"
                                 " 'arguments': { 'name': 'nic',"
                                 " 'up': %i } }", up);
        g_assert_cmphex(qncic_read(d, 0x10184), ==, up);
        wait_irq(d, 40);
    }
    fixture_stop(f);
}

/* ---- Flow control -------------------------------------------------------------------- */

/* More frames than buffers: every one arrives, in order, when there is room. */
static void test_rx_backpressure(void)
{
    Fixture *f = fixture_start("", "");
    QNcic *d = &f->nic;
    uint64_t buf = guest_alloc(&f->alloc, 200 * 64);
    uint8_t data[60], got[60];

    qncic_queue_up(d, QNCIC_RX, 0, 3, 0);
    for (unsigned i = 0; i < 200; i++) {
        fill(data, sizeof(data), i);
        qncic_wire_send(&f->wire, data, sizeof(data));
    }
    for (unsigned i = 0; i < 200; i++) {
        QNcicCpl c;

        qncic_post(d, QNCIC_RX, 0, buf + i * 64, 64, 0, 0, true);
        c = qncic_complete(d, QNCIC_RX, 0);
        g_assert_cmpuint(c.index, ==, i);
        fill(data, sizeof(data), i);
        qtest_bufread(f->qts, buf + i * 64, got, sizeof(got));
        g_assert_cmpmem(got, sizeof(got), data, sizeof(data));
    }
    g_assert_cmpuint(fixture_counter(f, "mac-rx-frames"), ==, 200);
    g_assert_cmpuint(fixture_counter(f, "mac-rx-dropped"), ==, 0);
    g_assert_cmpuint(fixture_counter(f, "rx-held"), >, 0);
    fixture_stop(f);
}

/* ---- Plug and unplug -------------------------------------------------------------------- */

static int64_t get_int(QTestState *qts, const char *id, const char *name)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': %s, 'property': %s } }", id, name);
    int64_t value;

    g_assert_true(qdict_haskey(rsp, "return"));
    value = qdict_get_int(rsp, "return");
    qobject_unref(rsp);
    return value;
}

static unsigned devices(QTestState *qts)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'query-ncic' }");
    unsigned n = qlist_size(qdict_get_qlist(rsp, "return"));

    qobject_unref(rsp);
    return n;
}

/* It comes with its backend, has a link, and goes without a trace. */
static void test_hotplug(void)
{
    QTestState *qts = qtest_init("-M pc -nodefaults "
                                 "-netdev hubport,hubid=0,id=hs0");

    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpuint(devices(qts), ==, 0);
        qtest_qmp_device_add(qts, "ncic-nic", "nic0",
                             "{ 'addr': '4', 'netdev': 'hs0' }");
        g_assert_cmpuint(devices(qts), ==, 1);
        qtest_qmp_assert_success(qts, "{ 'execute': 'set_link', 'arguments': {"
                                 " 'name': 'nic0', 'up': false } }");
        qtest_qmp_eventwait(qts, "NCIC_LINK_CHANGED");
        fixture_unplug(qts, "nic0");
    }
    g_assert_cmpuint(devices(qts), ==, 0);
    qtest_quit(qts);
}

static char *get_str(QTestState *qts, const char *id, const char *name)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': %s, 'property': %s } }", id, name);
    char *value = g_strdup(qdict_get_str(rsp, "return"));

    qobject_unref(rsp);
    return value;
}

/* Each has its address, and its own faults. */
static void test_several(void)
{
    QTestState *qts = qtest_init("-M q35 -nodefaults -device ncic-nic,id=a "
                                 "-device ncic-nic,id=b "
                                 "-device ncic-nic,id=c");
    g_autofree char *a = get_str(qts, "a", "mac");
    g_autofree char *b = get_str(qts, "b", "mac");
    g_autofree char *c = get_str(qts, "c", "mac");

    g_assert_cmpstr(a, !=, b);
    g_assert_cmpstr(b, !=, c);
    g_assert_cmpstr(a, !=, c);
    g_assert_cmpuint(devices(qts), ==, 3);
    qtest_qmp_assert_success(qts, "{ 'execute': 'qom-set', 'arguments': {"
                             " 'path': 'b', 'property': 'fault-tx-mute',"
                             " 'value': 5 } }");
    g_assert_cmpint(get_int(qts, "a", "fault-tx-mute"), ==, 0);
    g_assert_cmpint(get_int(qts, "b", "fault-tx-mute"), ==, 5);
    g_assert_cmpint(get_int(qts, "c", "fault-tx-mute"), ==, 0);
    qtest_system_reset(qts);
    g_assert_cmpuint(devices(qts), ==, 3);
    g_assert_cmpint(get_int(qts, "b", "fault-tx-mute"), ==, 0);
    qtest_quit(qts);
}

/* Values that make no sense are refused with a message, and leave nothing. */
static void test_bad_properties(void)
{
    static const char *const bad[] = {
        "'queues': 0", "'queues': 33", "'msix-vectors': 0",
        "'msix-vectors': 2049", "'mtu': 67", "'mtu': 65518",
        "'layout': 'other'", "'eth-flags': ''", "'eth-arm': 'never'",
        "'layout': 'rtl', 'msix-vectors': 32", "'tx-inline': 257",
        "'fault-tx-stall': 1", "'rdma-loss-us': 0", "'rdma-lid': 65536",
        "'rdma-swpb-units': 0", "'rdma-time-scale': 100001",
        "'rdma-lid-net': 5",
        "'rdma-ip': '10.0.0'",
    };
    QTestState *qts = qtest_init("-M pc -nodefaults");

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *args =
            g_strdup_printf("{ 'driver': 'ncic-nic', 'id': 'nic0', %s }",
                            bad[i]);
        QDict *rsp = qtest_qmp(qts, "{ 'execute': 'device_add',"
                               " 'arguments': %p }",
                               qobject_from_json(args, &error_abort));

        g_assert_true(qdict_haskey(rsp, "error"));
        qobject_unref(rsp);
    }
    qtest_qmp_device_add(qts, "ncic-nic", "nic0", "{ 'addr': '4' }");
    qtest_quit(qts);
}

/* What was set on a device that never came to be is not there on the next. */
static void test_settings_die(void)
{
    QTestState *qts = qtest_init("-M pc -nodefaults");

    for (unsigned i = 0; i < 20; i++) {
        g_autofree char *id = g_strdup_printf("nic%u", i);
        QDict *rsp = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': {"
                               " 'driver': 'ncic-nic', 'id': 'bad',"
                               " 'queues': 0, 'rdma-lid': 90,"
                               " 'rdma-loss-us': 7, 'mtu': 9000 } }");

        g_assert_true(qdict_haskey(rsp, "error"));
        qobject_unref(rsp);
        qtest_qmp_device_add(qts, "ncic-nic", id, "{}");
        g_assert_cmpint(get_int(qts, id, "rdma-lid"), ==, 0);
        g_assert_cmpint(get_int(qts, id, "rdma-loss-us"), ==, 100000);
        g_assert_cmpint(get_int(qts, id, "mtu"), ==, 1500);
    }
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ncic-nic/config-space", test_config);
    qtest_add_func("/ncic-nic/registers", test_registers);
    qtest_add_func("/ncic-nic/layouts", test_layouts);
    qtest_add_func("/ncic-nic/sizes", test_sizes);
    qtest_add_func("/ncic-nic/wrap", test_wrap);
    qtest_add_func("/ncic-nic/jumbo", test_jumbo);
    qtest_add_func("/ncic-nic/rx-offloads", test_rx_offloads);
    qtest_add_func("/ncic-nic/tx-checksum", test_tx_checksum);
    qtest_add_func("/ncic-nic/msix", test_msix);
    qtest_add_func("/ncic-nic/link", test_link);
    qtest_add_func("/ncic-nic/rx-backpressure", test_rx_backpressure);
    qtest_add_func("/ncic-nic/hotplug", test_hotplug);
    qtest_add_func("/ncic-nic/several", test_several);
    qtest_add_func("/ncic-nic/bad-properties", test_bad_properties);
    qtest_add_func("/ncic-nic/settings-die", test_settings_die);
    return g_test_run();
}
