/*
 * ncic-nic: what a broken driver does to it.  Each case leaves a line in the
 * guest error log, a bit in ERR_STATUS and a device that works after reset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "ncic-fixture.h"
#include "../config_window.h"
#include "../deadline.h"

typedef struct Case {
    Fixture *f;
    QNcic *d;
    ConfigWindow window;
    uint64_t buf;
    uint8_t got[QNCIC_FRAME];
} Case;

static Case *begin(void)
{
    Case *c = g_new0(Case, 1);

    c->f = fixture_start("", "");
    c->d = &c->f->nic;
    c->window = config_window_open(c->f->qts, c->f->pci);
    c->buf = guest_alloc(&c->f->alloc, 4096);
    return c;
}

/* One frame out and one in, from scratch. */
static void prove_works(Case *c)
{
    uint8_t frame[60] = { 1, 2, 3 };
    QNcic *d = c->d;
    QNcicCpl cpl;

    qncic_queue_up(d, QNCIC_TX, 0, 4, 1);
    qncic_queue_up(d, QNCIC_RX, 0, 4, 0);
    qtest_bufwrite(c->f->qts, c->buf, frame, sizeof(frame));
    qncic_post(d, QNCIC_TX, 0, c->buf, 60, 0, 0, true);
    g_assert_cmpuint(qncic_wire_recv(&c->f->wire, d, c->got, 10000), ==, 60);
    g_assert_cmpmem(c->got, 60, frame, 60);
    cpl = qncic_complete(d, QNCIC_TX, 0);
    g_assert_cmphex(cpl.status, ==, 0);
    qncic_post(d, QNCIC_RX, 0, c->buf, 2048, 0, 0, true);
    qncic_wire_send(&c->f->wire, frame, sizeof(frame));
    cpl = qncic_complete(d, QNCIC_RX, 0);
    g_assert_cmphex(cpl.status, ==, 0);
    g_assert_cmpuint(cpl.length, ==, 60);
}

static void end(Case *c)
{
    qncic_write(c->d, NCIC_RESET, NCIC_RESET_START);
    g_assert_cmphex(qncic_read(c->d, 0x10000 + NCIC_NCSR_ERR_STATUS), ==, 0);
    while (qncic_wire_recv(&c->f->wire, c->d, c->got, 20)) {
        /* frames of the case itself */
    }
    prove_works(c);
    fixture_stop(c->f);
    g_free(c);
}

static void expect(Case *c, uint32_t err, const char *text)
{
    uint32_t reg = NCIC_NCSR + NCIC_NCSR_ERR_STATUS;

    g_assert_cmphex(qncic_read(c->d, reg) & err, ==, err);
    g_assert_cmpuint(qncic_read(c->d, NCIC_NCSR + NCIC_NCSR_CNT_GUEST_ERR), >,
                     0);
    g_assert_true(fixture_logged(c->f, text));
}

static void wait_err(Case *c, uint32_t err, const char *text)
{
    gint64 limit = test_deadline(10);

    while (!(qncic_read(c->d, NCIC_NCSR + NCIC_NCSR_ERR_STATUS) & err) &&
           g_get_monotonic_time() < limit) {
        g_usleep(100);
    }
    expect(c, err, text);
}

static uint32_t qreg(int dir, unsigned reg)
{
    return qncic_qreg(dir, 0, reg);
}

/* ---- Addresses ------------------------------------------------------------------- */

static void buffer_at(uint64_t addr)
{
    uint8_t frame[60] = { 0xff, 0xff, 0xff, 0xff };
    Case *c = begin();
    QNcicCpl cpl;

    qncic_queue_up(c->d, QNCIC_TX, 0, 4, 1);
    qncic_queue_up(c->d, QNCIC_RX, 0, 4, 0);
    qncic_post(c->d, QNCIC_TX, 0, addr, 600, 0, 0, true);
    cpl = qncic_complete(c->d, QNCIC_TX, 0);
    g_assert_cmphex(cpl.status, ==, NCIC_CPL_ERROR);
    expect(c, NCIC_ERR_DATA_DMA, "frame buffer is not accessible memory");
    g_assert_cmpuint(fixture_counter(c->f, "tx-drop-dma"), ==, 1);
    g_assert_cmpuint(qncic_wire_recv(&c->f->wire, c->d, c->got, 20), ==, 0);

    qncic_post(c->d, QNCIC_RX, 0, addr, 2048, 0, 0, true);
    qncic_wire_send(&c->f->wire, frame, sizeof(frame));
    cpl = qncic_complete(c->d, QNCIC_RX, 0);
    g_assert_cmphex(cpl.status, ==, NCIC_CPL_ERROR);
    g_assert_cmpuint(cpl.length, ==, 0);
    g_assert_cmpuint(fixture_counter(c->f, "rx-drop-dma"), ==, 1);
    end(c);
}

static void test_buffer_nowhere(void)
{
    buffer_at(NOWHERE);
    buffer_at(UINT64_MAX - 100);
}

/* A register window is no memory: nothing is read or written there. */
static void test_buffer_in_bar(void)
{
    Case *c = begin();
    uint64_t bar = c->d->csr.addr;

    fixture_stop(c->f);
    g_free(c);
    buffer_at(bar + NCIC_NCSR);
    buffer_at(bar + NCIC_RESET);
}

static void ring_at(uint64_t ring)
{
    Case *c = begin();
    QNcicCpl cpl;

    qncic_queue_up(c->d, QNCIC_TX, 0, 4, 1);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_LOG_SIZE), 0);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_BASE_LO), ring);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_BASE_HI), ring >> 32);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_LOG_SIZE), 0x80000004);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_HEAD), 1);
    cpl = qncic_complete(c->d, QNCIC_TX, 0);
    g_assert_cmphex(cpl.status, ==, NCIC_CPL_ERROR);
    expect(c, NCIC_ERR_DESC_DMA, "descriptor cannot be read");
    end(c);
}

static void cpl_ring_at(uint64_t ring)
{
    Case *c = begin();

    qncic_queue_up(c->d, QNCIC_TX, 0, 4, 1);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_CPL_LOG_SIZE), 0);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_CPL_BASE_LO), ring);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_CPL_BASE_HI), ring >> 32);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_CPL_LOG_SIZE), 0x80000004);
    qncic_post(c->d, QNCIC_TX, 0, c->buf, 60, 0, 0, true);
    g_assert_cmpuint(qncic_wire_recv(&c->f->wire, c->d, c->got, 10000), ==,
                     60);
    qncic_wait_reg(c->d, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), 1);
    expect(c, NCIC_ERR_CPL_DMA, "completion cannot be written");
    g_assert_cmpuint(fixture_counter(c->f, "completion-errors"), ==, 1);
    end(c);
}

static void test_rings_nowhere(void)
{
    ring_at(NOWHERE);
    ring_at(0xfffffffffffffff0);
    cpl_ring_at(NOWHERE);
    cpl_ring_at(0xffffffffffffffe0);
}

static void test_rings_in_bar(void)
{
    Case *c = begin();
    uint64_t bar = c->d->csr.addr;

    fixture_stop(c->f);
    g_free(c);
    ring_at(bar + NCIC_TXQ);
    cpl_ring_at(bar + NCIC_TXQ);
    cpl_ring_at(bar + 0xf0000);
}

/* An interrupt message that would press the reset register. */
static void test_msix_into_bar(void)
{
    uint8_t frame[60] = { 0 };
    Case *c = begin();
    QNcic *d = c->d;

    qncic_msix_enable(d, 64);
    qncic_write(d, NCIC_MSIX_TABLE + 16, d->csr.addr + NCIC_RESET);
    qncic_write(d, NCIC_MSIX_TABLE + 20, d->csr.addr >> 32);
    qncic_write(d, NCIC_MSIX_TABLE + 24, NCIC_RESET_START);
    qncic_queue_up(d, QNCIC_TX, 0, 4, 1);
    qncic_queue_up(d, QNCIC_RX, 0, 4, 1);
    qncic_post(d, QNCIC_RX, 0, c->buf, 2048, 0, 0, true);
    qncic_post(d, QNCIC_TX, 0, c->buf, 60, 0, 0, true);
    qncic_wire_send(&c->f->wire, frame, sizeof(frame));
    qncic_complete(d, QNCIC_TX, 0);
    qncic_complete(d, QNCIC_RX, 0);
    /* still up: nothing was reset */
    g_assert_cmphex(qncic_read(d, qreg(QNCIC_TX, NCIC_Q_LOG_SIZE)), ==,
                    0x80000004);
    end(c);
}

/* ---- The own configuration space ------------------------------------------------------ */

/*
 * No function finds itself by a request of its own: rings, completions and frames
 * in its configuration space do not reset it, nor take its rights away.
 */
static void test_rings_in_config(void)
{
    Case *c = begin();
    ConfigWindow *w = &c->window;
    uint64_t at = w->at;
    uint8_t reset[60];
    QNcicCpl cpl;

    memset(reset, 0xff, sizeof(reset));

    /* What is received is written over Device Control, and resets by it. */
    qncic_queue_up(c->d, QNCIC_RX, 0, 4, 0);
    qncic_post(c->d, QNCIC_RX, 0, config_window_control(w), 2048, 0, 0, true);
    qncic_wire_send(&c->f->wire, reset, sizeof(reset));
    cpl = qncic_complete(c->d, QNCIC_RX, 0);
    g_assert_cmphex(cpl.status, ==, NCIC_CPL_ERROR);
    g_assert_cmpuint(fixture_counter(c->f, "rx-drop-dma"), ==, 1);
    g_assert_cmpuint(fixture_counter(c->f, "dma-refused"), >=, 1);
    g_assert_true(fixture_logged(c->f, "there is no memory"));
    config_window_same(w);
    /* A frame that is there is not sent. */
    qncic_queue_up(c->d, QNCIC_TX, 0, 4, 1);
    qncic_post(c->d, QNCIC_TX, 0, at, 60, 0, 0, true);
    cpl = qncic_complete(c->d, QNCIC_TX, 0);
    g_assert_cmphex(cpl.status, ==, NCIC_CPL_ERROR);
    config_window_aborted(w);
    config_window_same(w);
    end(c);
    ring_at(at);
    for (unsigned i = 0; i < CONFIG_WINDOW_BYTES; i += NCIC_CPL_SIZE) {
        cpl_ring_at(at + i);
    }
}

/* Messages that would reset the function and take its rights away; one to a
 * device that may have it, and does. */
static void test_msix_into_config(void)
{
    enum { HPET_CONFIG = 0xfed00010 };
    Case *c = begin();
    ConfigWindow *w = &c->window;
    const struct { uint64_t to; uint32_t data; } bad[] = {
        { config_window_control(w), PCI_EXP_DEVCTL_BCR_FLR },
        { w->at + PCI_COMMAND, 0 }, { w->at + PCI_BASE_ADDRESS_0, 0 },
        { NOWHERE, 1 },
    };
    QNcic *d = c->d;
    gint64 limit;

    qncic_msix_enable(d, 64);
    config_window_note(w);
    qncic_queue_up(d, QNCIC_TX, 0, 4, 1);
    for (unsigned i = 0; i <= G_N_ELEMENTS(bad); i++) {
        uint64_t to = i < G_N_ELEMENTS(bad) ? bad[i].to : HPET_CONFIG;
        uint64_t before = fixture_counter(c->f, "msi-refused");

        qncic_write(d, NCIC_MSIX_TABLE + 28, PCI_MSIX_ENTRY_CTRL_MASKBIT);
        qncic_write(d, NCIC_MSIX_TABLE + 16, to);
        qncic_write(d, NCIC_MSIX_TABLE + 20, to >> 32);
        qncic_write(d, NCIC_MSIX_TABLE + 24,
                    i < G_N_ELEMENTS(bad) ? bad[i].data : 1);
        qncic_write(d, NCIC_MSIX_TABLE + 28, 0);
        qncic_post(d, QNCIC_TX, 0, c->buf, 60, 0, 0, true);
        qncic_complete(d, QNCIC_TX, 0);
        config_window_same(w);
        g_assert_cmphex(qncic_read(d, qreg(QNCIC_TX, NCIC_Q_LOG_SIZE)), ==,
                        0x80000004);
        /* One message at least: a second may come before the first is seen. */
        if (i < G_N_ELEMENTS(bad)) {
            g_assert_cmpuint(fixture_counter(c->f, "msi-refused"), >, before);
        }
    }
    g_assert_true(fixture_logged(c->f, "no interrupt controller is there"));
    limit = test_deadline(10);
    while (!qtest_readl(c->f->qts, HPET_CONFIG)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    }
    g_assert_cmpuint(fixture_counter(c->f, "msi-late"), >=, 1);
    end(c);
}

/* Memory that another function has in a BAR is memory. */
static void test_memory_of_another(void)
{
    Fixture *f = fixture_start("", "-object memory-backend-ram,id=m,size=1M,share=on "
                               "-device ivshmem-plain,memdev=m,addr=5");
    QPCIDevice *other = qpci_device_find(f->bus, QPCI_DEVFN(5, 0));
    uint8_t frame[60] = { 1, 2, 3 }, got[QNCIC_FRAME];
    QNcicCpl cpl;
    QPCIBar bar;

    g_assert_nonnull(other);
    qpci_device_enable(other);
    bar = qpci_iomap(other, 2, NULL);
    qtest_bufwrite(f->qts, bar.addr, frame, sizeof(frame));
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 4, 1);
    qncic_queue_up(&f->nic, QNCIC_RX, 0, 4, 0);
    qncic_post(&f->nic, QNCIC_TX, 0, bar.addr, 60, 0, 0, true);
    g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, got, 10000), ==, 60);
    g_assert_cmpmem(got, 60, frame, 60);
    qncic_post(&f->nic, QNCIC_RX, 0, bar.addr + 4096, 2048, 0, 0, true);
    qncic_wire_send(&f->wire, frame, sizeof(frame));
    cpl = qncic_complete(&f->nic, QNCIC_RX, 0);
    g_assert_cmphex(cpl.status, ==, 0);
    qtest_bufread(f->qts, bar.addr + 4096, got, 60);
    g_assert_cmpmem(got, 60, frame, 60);
    g_assert_cmpuint(fixture_counter(f, "dma-refused"), ==, 0);
    g_free(other);
    fixture_stop(f);
}

/* ---- Register misuse --------------------------------------------------------------- */

static void test_ring_unaligned(void)
{
    Case *c = begin();

    for (unsigned low = 1; low < 32; low++) {
        qncic_write(c->d, qreg(QNCIC_RX, NCIC_Q_CPL_BASE_LO), 0x10000 + low);
        qncic_write(c->d, qreg(QNCIC_RX, NCIC_Q_CPL_LOG_SIZE), 0x80000004);
        g_assert_cmphex(qncic_read(c->d, qreg(QNCIC_RX, NCIC_Q_CPL_LOG_SIZE)),
                        ==, 4);
    }
    for (unsigned low = 1; low < 16; low++) {
        qncic_write(c->d, qreg(QNCIC_RX, NCIC_Q_BASE_LO), 0x10000 + low);
        qncic_write(c->d, qreg(QNCIC_RX, NCIC_Q_LOG_SIZE), 0x80000004);
        g_assert_cmphex(qncic_read(c->d, qreg(QNCIC_RX, NCIC_Q_LOG_SIZE)), ==,
                        4);
    }
    expect(c, NCIC_ERR_RING_ALIGN, "ring base is not aligned");
    g_assert_cmpuint(fixture_counter(c->f, "guest-errors"), ==, 31 + 15);
    end(c);
}

static void test_head_past_size(void)
{
    Case *c = begin();

    qncic_queue_up(c->d, QNCIC_TX, 0, 4, 1);
    for (unsigned i = 0; i < 17; i++) {
        qncic_post(c->d, QNCIC_TX, 0, c->buf, 60, 0, 0, false);
    }
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_HEAD), 17);
    expect(c, NCIC_ERR_HEAD, "head is more than the ring size past tail");
    g_assert_cmpuint(qncic_wire_recv(&c->f->wire, c->d, c->got, 20), ==, 0);
    /* a legal value sets it going again */
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_HEAD), 16);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmpuint(qncic_wire_recv(&c->f->wire, c->d, c->got, 10000),
                         ==, 60);
    }
    end(c);
}

static void test_index_out_of_range(void)
{
    Case *c = begin();
    QNcic *d = c->d;

    qncic_write(d, NCIC_TXQ + 32 * NCIC_QUEUE_STRIDE + NCIC_Q_HEAD, 1);
    expect(c, NCIC_ERR_INDEX, "does not exist");
    qncic_write(d, NCIC_NCSR + NCIC_NCSR_ERR_STATUS, 0xffffffff);
    qncic_write(d, qreg(QNCIC_TX, NCIC_Q_CPL_INDEX), 7);
    expect(c, NCIC_ERR_INDEX, "does not exist");
    qncic_write(d, qreg(QNCIC_TX, NCIC_Q_CPL_INDEX), 0);
    qncic_queue_up(d, QNCIC_TX, 0, 4, 0xffff);
    qncic_msix_enable(d, 64);
    qncic_write(d, NCIC_NCSR + NCIC_NCSR_ERR_STATUS, 0xffffffff);
    g_assert_true(fixture_logged(c->f, "does not exist"));
    qncic_post(d, QNCIC_TX, 0, c->buf, 60, 0, 0, true);
    wait_err(c, NCIC_ERR_INDEX, "does not exist");
    end(c);
}

static void test_access(void)
{
    Case *c = begin();

    qncic_write(c->d, NCIC_NCSR, 0x1234);
    expect(c, NCIC_ERR_ACCESS, "read-only or does not exist");
    qncic_write(c->d, 0x50000, 0x1234);
    expect(c, NCIC_ERR_ACCESS, "read-only or does not exist");
    /* only full dwords reach a register */
    qpci_io_writeb(c->d->pci, c->d->csr, NCIC_NCSR + NCIC_NCSR_RSS_MASK, 0);
    g_assert_true(fixture_logged(c->f, "invalid size"));
    qpci_io_writew(c->d->pci, c->d->csr, NCIC_NCSR + NCIC_NCSR_RSS_MASK, 0);
    g_assert_true(fixture_logged(c->f, "invalid size"));
    g_assert_cmphex(qncic_read(c->d, NCIC_NCSR + NCIC_NCSR_RSS_MASK), ==,
                    0xffffffff);
    qncic_queue_up(c->d, QNCIC_TX, 0, 4, 1);
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_BASE_LO), 0);
    expect(c, NCIC_ERR_ACTIVE, "locked while the ring is active");
    g_assert_cmphex(qncic_read(c->d, qreg(QNCIC_TX, NCIC_Q_BASE_LO)), ==,
                    (uint32_t)c->d->q[QNCIC_TX][0].ring);
    end(c);
}

static void test_length(void)
{
    static const uint16_t bad[] = { 0, 1515, 1519, 9000, 65535 };
    Case *c = begin();

    qncic_queue_up(c->d, QNCIC_TX, 0, 4, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        QNcicCpl cpl;

        qncic_post(c->d, QNCIC_TX, 0, 0x100000, bad[i], 0, 0, true);
        cpl = qncic_complete(c->d, QNCIC_TX, 0);
        g_assert_cmphex(cpl.status, ==, NCIC_CPL_ERROR);
        expect(c, NCIC_ERR_LENGTH, "length is zero or above the MTU");
    }
    g_assert_cmpuint(fixture_counter(c->f, "tx-drop-length"), ==, 1);
    g_assert_cmpuint(fixture_counter(c->f, "tx-drop-mtu"), ==, 4);
    g_assert_cmpuint(qncic_wire_recv(&c->f->wire, c->d, c->got, 20), ==, 0);
    end(c);
}

/* ---- Command register ---------------------------------------------------------------- */

static void set_command(Case *c, uint16_t off, uint16_t on)
{
    uint16_t cmd = qpci_config_readw(c->f->pci, PCI_COMMAND);

    qpci_config_writew(c->f->pci, PCI_COMMAND, (cmd & ~off) | on);
}

static void test_no_bus_master(void)
{
    uint8_t frame[60] = { 0 };
    Case *c = begin();

    qncic_queue_up(c->d, QNCIC_TX, 0, 4, 1);
    qncic_queue_up(c->d, QNCIC_RX, 0, 4, 0);
    qncic_post(c->d, QNCIC_RX, 0, c->buf, 2048, 0, 0, true);
    set_command(c, PCI_COMMAND_MASTER, 0);
    qncic_post(c->d, QNCIC_TX, 0, c->buf, 60, 0, 0, true);
    wait_err(c, NCIC_ERR_BUS_MASTER, "bus mastering is disabled");
    qncic_wire_send(&c->f->wire, frame, sizeof(frame));
    qncic_wait_reg(c->d, NCIC_NCSR + NCIC_NCSR_CNT_RX_HELD, 1);
    g_assert_cmpuint(qncic_wire_recv(&c->f->wire, c->d, c->got, 20), ==, 0);
    /* nothing was lost: both frames move when it is enabled */
    set_command(c, 0, PCI_COMMAND_MASTER);
    g_assert_cmpuint(qncic_wire_recv(&c->f->wire, c->d, c->got, 10000), ==,
                     60);
    qncic_complete(c->d, QNCIC_RX, 0);
    end(c);
}

/* Memory decoding goes off with a full ring under way. */
static void test_bar_disabled(void)
{
    Case *c = begin();

    qncic_queue_up(c->d, QNCIC_TX, 0, 10, 1);
    for (unsigned i = 0; i < 1024; i++) {
        qncic_post(c->d, QNCIC_TX, 0, c->buf, 1514, 0, 0, false);
    }
    qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_HEAD), 1024);
    set_command(c, PCI_COMMAND_MEMORY, 0);
    for (unsigned i = 0; i < 1024; i++) {
        g_assert_cmpuint(qncic_wire_recv(&c->f->wire, c->d, c->got, 10000),
                         ==, 1514);
    }
    set_command(c, 0, PCI_COMMAND_MEMORY);
    qncic_wait_reg(c->d, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD), 1024);
    end(c);
}

/* Reset, by register and by the machine, with a full ring under way. */
static void test_reset_in_the_middle(void)
{
    Case *c = begin();

    for (unsigned n = 0; n < 20; n++) {
        unsigned before, left;

        qncic_queue_up(c->d, QNCIC_TX, 0, 8, 1);
        for (unsigned i = 0; i < 256; i++) {
            qncic_post(c->d, QNCIC_TX, 0, c->buf, 1514, 0, 0, false);
        }
        qncic_write(c->d, qreg(QNCIC_TX, NCIC_Q_HEAD), 256);
        for (unsigned i = 0; i < n; i++) {
            qncic_wire_recv(&c->f->wire, c->d, c->got, 1000);
        }
        before = qncic_read(c->d, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD));
        qncic_write(c->d, NCIC_RESET, NCIC_RESET_START);
        g_assert_cmphex(qncic_read(c->d, qreg(QNCIC_TX, NCIC_Q_TAIL)), ==, 0);
        /* what the wire already had comes, nothing after it; between the two
         * registers it may have taken what was read from it meanwhile */
        for (left = 0; qncic_wire_recv(&c->f->wire, c->d, c->got, 20);) {
            left++;
        }
        g_assert_cmpuint(left, <, 256);
        g_assert_cmpuint(left, >=, before - n);
        g_assert_cmpuint(left, <=, before - n + 8);
        g_assert_cmphex(qncic_read(c->d, qreg(QNCIC_TX, NCIC_Q_CPL_HEAD)), ==,
                        0);
        guest_free(&c->f->alloc, c->d->q[QNCIC_TX][0].ring);
        guest_free(&c->f->alloc, c->d->q[QNCIC_TX][0].cpl);
    }
    end(c);
}

/* No RDMA engine: its windows answer and report. */
static void test_no_rdma(void)
{
    Fixture *f = fixture_start("rdma=off", "");

    for (unsigned off = 0; off < NCIC_HCR_SIZE; off += 4) {
        qncic_write(&f->nic, NCIC_HCR + off, 0xffffffff);
        g_assert_cmphex(qncic_read(&f->nic, NCIC_HCR + off), ==, 0);
    }
    qpci_io_writeq(f->pci, f->nic.uar, 0x1000, UINT64_MAX);
    qpci_io_writel(f->pci, f->nic.uar, NCIC_BAR_UAR_SIZE - 4, 1);
    g_assert_true(fixture_logged(f, "read-only or does not exist"));
    fixture_stop(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ncic-misuse/buffer-nowhere", test_buffer_nowhere);
    qtest_add_func("/ncic-misuse/buffer-in-bar", test_buffer_in_bar);
    qtest_add_func("/ncic-misuse/rings-nowhere", test_rings_nowhere);
    qtest_add_func("/ncic-misuse/rings-in-bar", test_rings_in_bar);
    qtest_add_func("/ncic-misuse/msix-into-bar", test_msix_into_bar);
    qtest_add_func("/ncic-misuse/rings-in-config", test_rings_in_config);
    qtest_add_func("/ncic-misuse/msix-into-config", test_msix_into_config);
    qtest_add_func("/ncic-misuse/memory-of-another", test_memory_of_another);
    qtest_add_func("/ncic-misuse/ring-unaligned", test_ring_unaligned);
    qtest_add_func("/ncic-misuse/head-past-size", test_head_past_size);
    qtest_add_func("/ncic-misuse/index-out-of-range",
                   test_index_out_of_range);
    qtest_add_func("/ncic-misuse/access", test_access);
    qtest_add_func("/ncic-misuse/length", test_length);
    qtest_add_func("/ncic-misuse/no-bus-master", test_no_bus_master);
    qtest_add_func("/ncic-misuse/bar-disabled", test_bar_disabled);
    qtest_add_func("/ncic-misuse/reset-in-the-middle",
                   test_reset_in_the_middle);
    qtest_add_func("/ncic-misuse/no-rdma", test_no_rdma);
    return g_test_run();
}
