/*
 * ncic-nic: the settings and states that a default device never meets
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ncic-fixture.h"
#include "libnrdma.h"
#include "../deadline.h"

static uint32_t qreg(int dir, unsigned reg)
{
    return qncic_qreg(dir, 0, reg);
}

static uint64_t counter(Fixture *f, const char *name)
{
    return fixture_counter(f, name);
}

/* One frame out, which arrives and completes. */
static void send_one(Fixture *f, uint64_t buf)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);

    qncic_post(&f->nic, QNCIC_TX, 0, buf, 60, 0, 0, true);
    g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 10000), ==, 60);
}

/* One frame in, to queue 0. */
static void take_one(Fixture *f, uint64_t buf)
{
    uint8_t frame[60] = { 1, 2, 3 }, got[60];

    qtest_memset(f->qts, buf, 0, 60);
    qncic_post(&f->nic, QNCIC_RX, 0, buf, 2048, 0, 0, true);
    qncic_wire_send(&f->wire, frame, sizeof(frame));
    g_assert_cmpuint(qncic_complete(&f->nic, QNCIC_RX, 0).length, ==, 60);
    qtest_memread(f->qts, buf, got, sizeof(got));
    g_assert_cmpmem(got, 60, frame, 60);
}

static void both_up(Fixture *f)
{
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 4, 1);
    qncic_queue_up(&f->nic, QNCIC_RX, 0, 4, 0);
}

static void wait_word(Fixture *f, uint64_t addr, uint32_t want)
{
    gint64 end = test_deadline(10);

    while (qtest_readl(f->qts, addr) != want) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(100);
    }
}

/* ---- Function level reset ---------------------------------------------------------- */

static void test_flr(void)
{
    Fixture *f = fixture_start("flr=on", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    uint32_t bar[4];
    uint16_t ctl;

    both_up(f);
    send_one(f, buf);
    qncic_complete(&f->nic, QNCIC_TX, 0);
    qncic_write(&f->nic, 0x10030, 7);
    for (unsigned i = 0; i < 4; i++) {
        bar[i] = qpci_config_readl(f->pci, PCI_BASE_ADDRESS_0 + 4 * i);
    }
    ctl = qpci_config_readw(f->pci, NCIC_PCI_CAP_EXP + PCI_EXP_DEVCTL);
    qpci_config_writew(f->pci, NCIC_PCI_CAP_EXP + PCI_EXP_DEVCTL,
                       ctl | PCI_EXP_DEVCTL_BCR_FLR);
    g_assert_cmphex(qpci_config_readw(f->pci, PCI_COMMAND) &
                    PCI_COMMAND_MASTER, ==, 0);
    for (unsigned i = 0; i < 4; i++) {
        qpci_config_writel(f->pci, PCI_BASE_ADDRESS_0 + 4 * i, bar[i]);
    }
    qpci_device_enable(f->pci);
    g_assert_cmphex(qncic_read(&f->nic, 0x10030), ==, 0xffffffff);
    for (unsigned reg = 0; reg < NCIC_QUEUE_STRIDE; reg += 4) {
        g_assert_cmphex(qncic_read(&f->nic, qreg(QNCIC_TX, reg)), ==, 0);
        g_assert_cmphex(qncic_read(&f->nic, qreg(QNCIC_RX, reg)), ==, 0);
    }
    g_assert_cmpuint(counter(f, "tx-frames"), ==, 0);
    both_up(f);
    send_one(f, buf);
    take_one(f, buf);
    fixture_stop(f);
}

/* ---- Interrupts ------------------------------------------------------------------------ */

/* MSI: every interrupt is the one message. */
static void test_msi(void)
{
    Fixture *f = fixture_start("", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    uint64_t word = guest_alloc(&f->alloc, 4096);
    uint8_t cap = NCIC_PCI_CAP_MSI;

    qtest_writel(f->qts, word, 0);
    qpci_config_writel(f->pci, cap + PCI_MSI_ADDRESS_LO, word);
    qpci_config_writel(f->pci, cap + PCI_MSI_ADDRESS_HI, word >> 32);
    qpci_config_writew(f->pci, cap + PCI_MSI_DATA_64, 0x4321);
    qpci_config_writew(f->pci, cap + PCI_MSI_FLAGS,
                       qpci_config_readw(f->pci, cap + PCI_MSI_FLAGS) |
                       PCI_MSI_FLAGS_ENABLE);
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 4, 17);
    qncic_queue_up(&f->nic, QNCIC_RX, 0, 4, 23);
    send_one(f, buf);
    wait_word(f, word, 0x4321);
    qtest_writel(f->qts, word, 0);
    take_one(f, buf);
    wait_word(f, word, 0x4321);
    fixture_stop(f);
}

static void test_each(void)
{
    Fixture *f = fixture_start("irq-coalesce=off", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);

    qncic_msix_enable(&f->nic, 4);
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 4, 1);
    for (unsigned i = 1; i <= 3; i++) {
        send_one(f, buf);
        qncic_wait_reg(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), i);
        wait_word(f, f->nic.msix + 4, 0x4e430001);
        qtest_writel(f->qts, f->nic.msix + 4, 0);
        g_assert_cmpuint(counter(f, "tx-interrupts"), ==, i);
    }
    /* the tail's write sends none then */
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_TAIL), 1);
    g_assert_cmpuint(counter(f, "tx-interrupts"), ==, 3);
    fixture_stop(f);
}

static void test_oneshot(void)
{
    Fixture *f = fixture_start("eth-arm=oneshot", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    uint32_t intr = qreg(QNCIC_TX, NCIC_Q_CPL_INTR);

    qncic_msix_enable(&f->nic, 4);
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 4, 1);
    for (unsigned i = 0; i < 3; i++) {
        send_one(f, buf);
    }
    qncic_wait_reg(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), 3);
    g_assert_true(qncic_irq(&f->nic, 1));
    g_assert_cmphex(qncic_read(&f->nic, intr), ==, 1);
    g_assert_cmpuint(counter(f, "tx-interrupts"), ==, 1);
    qncic_write(&f->nic, intr, 0x80000001);
    g_assert_true(qncic_irq(&f->nic, 1));
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_TAIL), 3);
    qncic_write(&f->nic, intr, 0x80000001);
    g_assert_false(qncic_irq(&f->nic, 1));
    g_assert_cmphex(qncic_read(&f->nic, intr), ==, 0x80000001);
    fixture_stop(f);
}

/* No message can leave: it is not forgotten. */
static void test_late(void)
{
    Fixture *f = fixture_start("", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    uint16_t cmd;

    qncic_msix_enable(&f->nic, 4);
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 4, 1);
    qncic_write(&f->nic, 0x10054, 0);
    send_one(f, buf);
    send_one(f, buf);
    qncic_wait_reg(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), 2);
    g_assert_false(qncic_irq(&f->nic, 1));
    qncic_write(&f->nic, 0x10054, 1);
    g_assert_true(qncic_irq(&f->nic, 1));
    cmd = qpci_config_readw(f->pci, PCI_COMMAND);
    qpci_config_writew(f->pci, PCI_COMMAND, cmd & ~PCI_COMMAND_MASTER);
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_TAIL), 1);
    g_assert_false(qncic_irq(&f->nic, 1));
    qpci_config_writew(f->pci, PCI_COMMAND, cmd);
    g_assert_true(qncic_irq(&f->nic, 1));
    fixture_stop(f);
}

/* ---- The document's rings, the sources' windows ------------------------------------------ */

static void test_doc_flags(void)
{
    Fixture *f = fixture_start("eth-flags=doc", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    uint32_t base = qreg(QNCIC_TX, NCIC_Q_CPL_BASE_LO);
    uint64_t cpl;

    both_up(f);
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_INTR), 1);   /* no bit 31 */
    send_one(f, buf);
    g_assert_cmpuint(qncic_complete(&f->nic, QNCIC_TX, 0).length, ==, 60);
    take_one(f, buf);
    /* an active ring moves to where no completion may be */
    cpl = f->nic.q[QNCIC_TX][0].cpl;
    qtest_memset(f->qts, cpl, 0xee, 256);
    qncic_write(&f->nic, base, cpl + 13);
    qncic_post(&f->nic, QNCIC_TX, 0, buf, 60, 0, 0, true);
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_LOG_SIZE), 4);
    g_assert_true(fixture_logged(f, "ring base is not aligned"));
    g_assert_cmphex(qncic_read(&f->nic, 0x1018c), ==, NCIC_ERR_RING_ALIGN);
    g_assert_cmpuint(counter(f, "tx-frames"), ==, 1);
    for (unsigned i = 0; i < 256; i++) {
        g_assert_cmphex(qtest_readb(f->qts, cpl + i), ==, 0xee);
    }
    /* and back: what was posted goes */
    qncic_write(&f->nic, base, cpl);
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_LOG_SIZE), 4);
    g_assert_cmpuint(qncic_complete(&f->nic, QNCIC_TX, 0).length, ==, 60);
    fixture_stop(f);
}

/* Nothing is sent before the start bit; the halves of the vector table are the
 * two engines'. */
static void test_rtl(void)
{
    Fixture *f = fixture_start("layout=rtl", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    QNrdma r;
    QNrdmaQp a, b;

    f->nic.rtl = true;
    qncic_msix_enable(&f->nic, 128);
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 4, QNR_VECTOR);
    qncic_queue_up(&f->nic, QNCIC_RX, 0, 4, 5);
    qncic_post(&f->nic, QNCIC_TX, 0, buf, 60, 0, 0, true);
    g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 50), ==, 0);
    qncic_write(&f->nic, NCIC_NCSR + NCIC_NCSR_TX_START, 1);
    g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 10000), ==, 60);
    g_assert_cmpuint(qncic_complete(&f->nic, QNCIC_TX, 0).length, ==, 60);
    g_assert_true(qncic_irq(&f->nic, QNR_VECTOR));
    g_assert_false(qncic_irq(&f->nic, 64 + QNR_VECTOR));
    take_one(f, buf);
    g_assert_true(qncic_irq(&f->nic, 5));

    qnr_up(&r, &f->nic);
    qnr_qp(&r, &a, 4, 5, 0, 0x0a000001, 0x0a000001, 0);
    qnr_qp(&r, &b, 5, 4, 0, 0x0a000001, 0x0a000001, 0);
    qnr_send(&r, &a, 0x08, QNR_VA, 64, QNR_VA + 0x8000);
    qnr_cqe(&r);
    wait_word(f, f->nic.msix + 4 * (64 + QNR_VECTOR),
              0x4e430000 + 64 + QNR_VECTOR);
    g_assert_false(qncic_irq(&f->nic, QNR_VECTOR));
    fixture_stop(f);
}

/* ---- Transmission by the main loop alone --------------------------------------------------- */

static void test_not_inline(void)
{
    Fixture *f = fixture_start("tx-inline=0", "");
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    uint64_t buf = guest_alloc(&f->alloc, 600 * 64);

    qncic_queue_up(&f->nic, QNCIC_TX, 0, 10, 1);
    for (unsigned i = 0; i < 600; i++) {
        qtest_writel(f->qts, buf + i * 64 + 14, i);
        qncic_post(&f->nic, QNCIC_TX, 0, buf + i * 64, 60, 0, 0, false);
    }
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_HEAD), 600);
    for (unsigned i = 0; i < 600; i++) {
        g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 10000), ==,
                         60);
        g_assert_cmpuint(ldl_le_p(got + 14), ==, i);
    }
    qncic_wait_reg(&f->nic, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), 600);
    fixture_stop(f);
}

/* ---- One queue that nobody feeds -------------------------------------------------------------- */

/* Its hash is a published one: queue 18 (hexadecimal). */
static const uint8_t for_queue_18[60] = {
    0x52, 0x54, 0x00, 0x12, 0x34, 0x56, 0x52, 0x54, 0x00, 0x65, 0x43, 0x21,
    0x08, 0x00,
    0x45, 0x00, 0x00, 0x28, 0x00, 0x00, 0x00, 0x00, 0x40, 0x06, 0x00, 0x00,
    0x42, 0x09, 0x95, 0xbb, 0xa1, 0x8e, 0x64, 0x50,
    0x0a, 0xea, 0x06, 0xe6,
};

static void test_starved_queue(void)
{
    uint8_t plain[60] = { 9 };
    Fixture *f;
    uint64_t buf;

    /* it holds back all */
    f = fixture_start("", "");
    buf = guest_alloc(&f->alloc, 4096);
    qncic_queue_up(&f->nic, QNCIC_RX, 0x18, 4, 0);
    qncic_queue_up(&f->nic, QNCIC_RX, 0, 4, 0);
    qncic_post(&f->nic, QNCIC_RX, 0, buf, 2048, 0, 0, true);
    qncic_wire_send(&f->wire, for_queue_18, 60);
    qncic_wire_send(&f->wire, plain, 60);
    fixture_wait_counter(f, "rx-held", 1);
    g_usleep(20000);
    g_assert_cmpuint(counter(f, "rx-completions"), ==, 0);
    qncic_post(&f->nic, QNCIC_RX, 0x18, buf, 2048, 0, 0, true);
    qncic_complete(&f->nic, QNCIC_RX, 0x18);
    qncic_complete(&f->nic, QNCIC_RX, 0);
    g_assert_cmpuint(counter(f, "mac-rx-dropped"), ==, 0);
    fixture_stop(f);

    /* or drops its own, and no other queue does */
    f = fixture_start("rx-drop=0x1000000", "");
    buf = guest_alloc(&f->alloc, 4096);
    qncic_queue_up(&f->nic, QNCIC_RX, 0x18, 4, 0);
    qncic_queue_up(&f->nic, QNCIC_RX, 0, 4, 0);
    qncic_wire_send(&f->wire, for_queue_18, 60);
    qncic_wire_send(&f->wire, plain, 60);
    fixture_wait_counter(f, "rx-drop-full", 1);
    fixture_wait_counter(f, "rx-held", 1);
    g_assert_cmpuint(counter(f, "rx-no-descriptor"), ==, 1);
    g_assert_cmpuint(counter(f, "mac-rx-dropped"), ==, 1);
    qncic_post(&f->nic, QNCIC_RX, 0, buf, 2048, 0, 0, true);
    qncic_complete(&f->nic, QNCIC_RX, 0);
    qncic_post(&f->nic, QNCIC_RX, 0x18, buf, 2048, 0, 0, true);
    qncic_wire_send(&f->wire, for_queue_18, 60);
    qncic_complete(&f->nic, QNCIC_RX, 0x18);
    g_assert_cmpuint(counter(f, "rx-drop-full"), ==, 1);
    fixture_stop(f);
}

/* ---- Sleep ------------------------------------------------------------------------------------ */

/* In D3hot nothing moves; awake again, all that waited does. */
static void test_d3hot(void)
{
    uint8_t frame[60] = { 7 };
    Fixture *f = fixture_start("", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    uint16_t pm;

    both_up(f);
    qtest_memset(f->qts, buf, 0, 60);
    qncic_post(&f->nic, QNCIC_RX, 0, buf, 2048, 0, 0, true);
    pm = qpci_config_readw(f->pci, NCIC_PCI_CAP_PM + PCI_PM_CTRL);
    qpci_config_writew(f->pci, NCIC_PCI_CAP_PM + PCI_PM_CTRL, pm | 3);
    qncic_wire_send(&f->wire, frame, 60);
    fixture_wait_counter(f, "rx-held", 1);
    g_assert_cmpuint(counter(f, "rx-completions"), ==, 0);
    g_assert_cmphex(qtest_readb(f->qts, buf), ==, 0);
    qpci_config_writew(f->pci, NCIC_PCI_CAP_PM + PCI_PM_CTRL, pm);
    qncic_complete(&f->nic, QNCIC_RX, 0);
    g_assert_cmphex(qtest_readb(f->qts, buf), ==, 7);
    send_one(f, buf);
    fixture_stop(f);
}

/* ---- Memory that changes, and memory behind an IOMMU ---------------------------------------------- */

#define PAM_AREA 0xd0000                /* 16 KiB, RAM when PAM3 says so */

static void pam(Fixture *f, uint8_t val)
{
    QPCIDevice *bridge = qpci_device_find(f->bus, 0);

    qpci_config_writeb(bridge, 0x93, val);
    g_free(bridge);
}

/* A ring whose memory goes away, and comes back: its mapping follows. */
static void test_remap(void)
{
    Fixture *f = fixture_start("", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    QNcicCpl c;

    pam(f, 0x03);
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 4, 1);
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_LOG_SIZE), 0);
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_BASE_LO), PAM_AREA);
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_BASE_HI), 0);
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_LOG_SIZE), 0x80000004);
    f->nic.q[QNCIC_TX][0].ring = PAM_AREA;
    send_one(f, buf);
    g_assert_cmphex(qncic_complete(&f->nic, QNCIC_TX, 0).status, ==, 0);

    qncic_post(&f->nic, QNCIC_TX, 0, buf, 60, 0, 0, false);
    pam(f, 0x00);
    qncic_write(&f->nic, qreg(QNCIC_TX, NCIC_Q_HEAD), 2);
    c = qncic_complete(&f->nic, QNCIC_TX, 0);
    /* what is there now is not the descriptor */
    g_assert_cmphex(c.status, ==, NCIC_CPL_ERROR);

    pam(f, 0x03);
    send_one(f, buf);
    g_assert_cmphex(qncic_complete(&f->nic, QNCIC_TX, 0).status, ==, 0);
    fixture_stop(f);
}

#define VTD         0xfed90000u
#define IOVA_OFFSET 0x40000000u

/* The first gigabyte at bus addresses 40000000.. and nothing else. */
static void iommu_on(Fixture *f)
{
    uint64_t root = guest_alloc(&f->alloc, 4096);
    uint64_t context = guest_alloc(&f->alloc, 4096);
    uint64_t table = guest_alloc(&f->alloc, 4096);

    qtest_memset(f->qts, root, 0, 4096);
    qtest_memset(f->qts, context, 0, 4096);
    qtest_memset(f->qts, table, 0, 4096);
    qtest_writeq(f->qts, table + 8, 0x80 | 3);          /* 1 GiB, RW */
    qtest_writeq(f->qts, context + 16 * (4 << 3), table | 1);
    qtest_writeq(f->qts, context + 16 * (4 << 3) + 8, 1 << 8 | 1);
    qtest_writeq(f->qts, root, context | 1);
    qtest_writel(f->qts, VTD + 0x20, root);
    qtest_writel(f->qts, VTD + 0x24, root >> 32);
    qtest_writel(f->qts, VTD + 0x18, 1u << 30);         /* set root table */
    qtest_writel(f->qts, VTD + 0x18, 1u << 31);         /* translate */
}

static void test_iommu(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    uint8_t desc[NCIC_DESC_SIZE] = { 0 }, frame[60] = { 4, 4 };
    uint64_t buf;
    Fixture *f;
    QNcic *d;

    if (!qtest_has_device("intel-iommu")) {
        g_test_skip("this emulator has no intel-iommu");
        return;
    }
    f = fixture_start("", "-device intel-iommu,aw-bits=39");
    d = &f->nic;
    buf = guest_alloc(&f->alloc, 4096);
    iommu_on(f);
    both_up(f);
    for (int dir = 0; dir < 2; dir++) {
        qncic_write(d, qreg(dir, NCIC_Q_LOG_SIZE), 0);
        qncic_write(d, qreg(dir, NCIC_Q_CPL_LOG_SIZE), 0);
        qncic_write(d, qreg(dir, NCIC_Q_BASE_LO),
                    d->q[dir][0].ring + IOVA_OFFSET);
        qncic_write(d, qreg(dir, NCIC_Q_CPL_BASE_LO),
                    d->q[dir][0].cpl + IOVA_OFFSET);
        qncic_write(d, qreg(dir, NCIC_Q_CPL_LOG_SIZE), 0x80000004);
        qncic_write(d, qreg(dir, NCIC_Q_LOG_SIZE), 0x80000004);
    }
    qtest_memset(f->qts, buf, 0x42, 60);
    qncic_post(d, QNCIC_TX, 0, buf + IOVA_OFFSET, 60, 0, 0, true);
    g_assert_cmpuint(qncic_wire_recv(&f->wire, d, got, 10000), ==, 60);
    g_assert_cmphex(got[59], ==, 0x42);
    g_assert_cmphex(qncic_complete(d, QNCIC_TX, 0).status, ==, 0);
    qncic_post(d, QNCIC_RX, 0, buf + IOVA_OFFSET, 2048, 0, 0, true);
    qncic_wire_send(&f->wire, frame, 60);
    g_assert_cmphex(qncic_complete(d, QNCIC_RX, 0).status, ==, 0);
    g_assert_cmphex(qtest_readb(f->qts, buf), ==, 4);
    /* what is not mapped is an error, not memory */
    qncic_post(d, QNCIC_TX, 0, buf, 60, 0, 0, true);
    g_assert_cmphex(qncic_complete(d, QNCIC_TX, 0).status, ==,
                    NCIC_CPL_ERROR);
    /* nor does a ring that is not */
    stw_le_p(desc + NCIC_DESC_LENGTH, 60);
    stq_le_p(desc + NCIC_DESC_ADDR, buf + IOVA_OFFSET);
    qtest_memwrite(f->qts, d->q[QNCIC_TX][0].ring + 32, desc, sizeof(desc));
    qncic_write(d, qreg(QNCIC_TX, NCIC_Q_LOG_SIZE), 0);
    qncic_write(d, qreg(QNCIC_TX, NCIC_Q_BASE_LO), d->q[QNCIC_TX][0].ring);
    qncic_write(d, qreg(QNCIC_TX, NCIC_Q_LOG_SIZE), 0x80000004);
    qncic_write(d, qreg(QNCIC_TX, NCIC_Q_HEAD), 3);
    g_assert_cmphex(qncic_complete(d, QNCIC_TX, 0).status, ==,
                    NCIC_CPL_ERROR);
    g_assert_true(fixture_logged(f, "descriptor cannot be read"));
    fixture_stop(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ncic-modes/flr", test_flr);
    qtest_add_func("/ncic-modes/msi", test_msi);
    qtest_add_func("/ncic-modes/each", test_each);
    qtest_add_func("/ncic-modes/oneshot", test_oneshot);
    qtest_add_func("/ncic-modes/late", test_late);
    qtest_add_func("/ncic-modes/doc-flags", test_doc_flags);
    qtest_add_func("/ncic-modes/rtl", test_rtl);
    qtest_add_func("/ncic-modes/not-inline", test_not_inline);
    qtest_add_func("/ncic-modes/starved-queue", test_starved_queue);
    qtest_add_func("/ncic-modes/d3hot", test_d3hot);
    qtest_add_func("/ncic-modes/remap", test_remap);
    qtest_add_func("/ncic-modes/iommu", test_iommu);
    return g_test_run();
}
