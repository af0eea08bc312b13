/*
 * libqos driver for ncic-nic
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/sockets.h"
#include "qemu/iov.h"
#include "hw/pci/pci_regs.h"
#include "libncic.h"
#include "../deadline.h"

#define IRQ_BASE   0x4e430000u

/* ---- Registers ------------------------------------------------------------- */

static uint32_t place(QNcic *d, uint32_t addr)
{
    static const struct { uint32_t doc, rtl, size; } windows[] = {
        { NCIC_NCSR, NCIC_RTL_NCSR, 0x3000 },
        { NCIC_MSIX_TABLE, NCIC_RTL_MSIX_TABLE, 0x800 },
        { NCIC_HCR, NCIC_RTL_HCR, NCIC_HCR_SIZE },
        { NCIC_RESET, NCIC_RTL_RESET, 4 },
    };

    for (unsigned i = 0; d->rtl && i < G_N_ELEMENTS(windows); i++) {
        if (addr - windows[i].doc < windows[i].size) {
            return addr - windows[i].doc + windows[i].rtl;
        }
    }
    return addr;
}

uint32_t qncic_read(QNcic *d, uint32_t addr)
{
    return qpci_io_readl(d->pci, d->csr, place(d, addr));
}

void qncic_write(QNcic *d, uint32_t addr, uint32_t val)
{
    qpci_io_writel(d->pci, d->csr, place(d, addr), val);
}

uint32_t qncic_qreg(int dir, unsigned q, unsigned reg)
{
    return (dir == QNCIC_TX ? NCIC_TXQ : NCIC_RXQ) + q * NCIC_QUEUE_STRIDE +
           reg;
}

void qncic_wait_reg(QNcic *d, uint32_t addr, uint32_t want)
{
    gint64 end = test_deadline(10);

    while (qncic_read(d, addr) != want && g_get_monotonic_time() < end) {
        g_usleep(100);
    }
    g_assert_cmphex(qncic_read(d, addr), ==, want);
}

void qncic_init(QNcic *d, QTestState *qts, QPCIDevice *pci,
                QGuestAllocator *alloc)
{
    uint64_t size;

    d->qts = qts;
    d->pci = pci;
    d->bus = pci->bus;
    d->alloc = alloc;
    qpci_device_enable(pci);
    d->csr = qpci_iomap(pci, NCIC_BAR_CSR, &size);
    g_assert_cmphex(size, ==, NCIC_BAR_CSR_SIZE);
    d->uar = qpci_iomap(pci, NCIC_BAR_UAR, &size);
    g_assert_cmphex(size, ==, NCIC_BAR_UAR_SIZE);
}

/* ---- Interrupts -------------------------------------------------------------- */

void qncic_msix_enable(QNcic *d, unsigned n)
{
    uint8_t cap = NCIC_PCI_CAP_MSIX;
    uint16_t ctl = qpci_config_readw(d->pci, cap + PCI_MSIX_FLAGS);

    if (!d->msix) {
        d->msix = guest_alloc(d->alloc, 4 * n);
    }
    qtest_memset(d->qts, d->msix, 0, 4 * n);
    for (unsigned v = 0; v < n; v++) {
        uint32_t entry = NCIC_MSIX_TABLE + v * 16;

        qncic_write(d, entry, d->msix + 4 * v);
        qncic_write(d, entry + 4, (d->msix + 4 * v) >> 32);
        qncic_write(d, entry + 8, IRQ_BASE + v);
        qncic_write(d, entry + 12, 0);
    }
    qpci_config_writew(d->pci, cap + PCI_MSIX_FLAGS,
                       ctl | PCI_MSIX_FLAGS_ENABLE);
}

bool qncic_irq(QNcic *d, unsigned v)
{
    uint32_t got = qtest_readl(d->qts, d->msix + 4 * v);

    if (got) {
        g_assert_cmphex(got, ==, IRQ_BASE + v);
        qtest_writel(d->qts, d->msix + 4 * v, 0);
    }
    return got;
}

/* ---- Queues -------------------------------------------------------------------- */

void qncic_queue_up(QNcic *d, int dir, unsigned q, unsigned log,
                    unsigned vector)
{
    QNcicQueue *k = &d->q[dir][q];

    k->log = log;
    k->ring = guest_alloc(d->alloc, MAX(NCIC_DESC_SIZE << log, 4096));
    k->cpl = guest_alloc(d->alloc, MAX(NCIC_CPL_SIZE << log, 4096));
    k->head = qncic_read(d, qncic_qreg(dir, q, NCIC_Q_HEAD));
    k->cpl_tail = qncic_read(d, qncic_qreg(dir, q, NCIC_Q_CPL_TAIL));
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_CPL_BASE_LO), k->cpl);
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_CPL_BASE_HI), k->cpl >> 32);
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_CPL_LOG_SIZE), log);
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_CPL_LOG_SIZE),
                NCIC_Q_ACTIVE | log);
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_CPL_INTR),
                NCIC_Q_CPL_ARMED | vector);
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_BASE_LO), k->ring);
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_BASE_HI), k->ring >> 32);
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_CPL_INDEX), q);
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_LOG_SIZE), NCIC_Q_ACTIVE | log);
}

void qncic_queue_down(QNcic *d, int dir, unsigned q)
{
    QNcicQueue *k = &d->q[dir][q];

    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_LOG_SIZE), 0);
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_CPL_LOG_SIZE), 0);
    guest_free(d->alloc, k->ring);
    guest_free(d->alloc, k->cpl);
    memset(k, 0, sizeof(*k));
}

void qncic_post(QNcic *d, int dir, unsigned q, uint64_t addr, uint16_t len,
                uint8_t csum_start, uint8_t csum_offset, bool ring)
{
    QNcicQueue *k = &d->q[dir][q];
    uint8_t desc[NCIC_DESC_SIZE] = { 0 };
    unsigned slot = k->head & ((1u << k->log) - 1);

    desc[NCIC_DESC_CSUM_START] = csum_start;
    desc[NCIC_DESC_CSUM_OFFSET] = csum_offset;
    stw_le_p(desc + NCIC_DESC_LENGTH, len);
    stq_le_p(desc + NCIC_DESC_ADDR, addr);
    qtest_memwrite(d->qts, k->ring + slot * NCIC_DESC_SIZE, desc,
                   sizeof(desc));
    k->head++;
    if (ring) {
        qncic_write(d, qncic_qreg(dir, q, NCIC_Q_HEAD), k->head);
    }
}

QNcicCpl qncic_complete(QNcic *d, int dir, unsigned q)
{
    QNcicQueue *k = &d->q[dir][q];
    uint32_t reg = qncic_qreg(dir, q, NCIC_Q_CPL_HEAD);
    unsigned slot = k->cpl_tail & ((1u << k->log) - 1);
    gint64 end = test_deadline(10);
    uint8_t c[NCIC_CPL_SIZE];

    while ((uint16_t)qncic_read(d, reg) == k->cpl_tail &&
           g_get_monotonic_time() < end) {
        g_usleep(100);
    }
    g_assert_cmphex((uint16_t)qncic_read(d, reg), !=, k->cpl_tail);
    qtest_memread(d->qts, k->cpl + slot * NCIC_CPL_SIZE, c, sizeof(c));
    k->cpl_tail++;
    qncic_write(d, qncic_qreg(dir, q, NCIC_Q_CPL_TAIL), k->cpl_tail);
    return (QNcicCpl) {
        .status = ldl_le_p(c + NCIC_CPL_STATUS),
        .queue = lduw_le_p(c + NCIC_CPL_QUEUE),
        .index = lduw_le_p(c + NCIC_CPL_INDEX),
        .length = lduw_le_p(c + NCIC_CPL_LENGTH),
        .hash = ldl_le_p(c + NCIC_CPL_HASH),
        .csum = lduw_le_p(c + NCIC_CPL_CSUM),
        .tci = lduw_le_p(c + NCIC_CPL_VLAN_TCI),
    };
}

/* ---- Wire ------------------------------------------------------------------------ */

void qncic_wire_open(QNcicWire *w)
{
    int sv[2];

    g_assert_cmpint(socketpair(PF_UNIX, SOCK_STREAM, 0, sv), ==, 0);
    w->ours = sv[0];
    w->theirs = sv[1];
}

void qncic_wire_close(QNcicWire *w)
{
    close(w->ours);
    close(w->theirs);
}

void qncic_wire_send(QNcicWire *w, const void *frame, uint32_t len)
{
    uint32_t be = htonl(len);
    struct iovec iov[] = {
        { &be, sizeof(be) },
        { (void *)frame, len },
    };

    g_assert_cmpint(iov_send(w->ours, iov, 2, 0, sizeof(be) + len), ==,
                    sizeof(be) + len);
}

static void recv_all(int fd, void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len) {
        ssize_t n = recv(fd, p, len, 0);

        g_assert_cmpint(n, >, 0);
        p += n;
        len -= n;
    }
}

size_t qncic_wire_recv(QNcicWire *w, QNcic *d, void *frame, int ms)
{
    /* Seconds are for what comes, less for what does not come. */
    gint64 end = ms < 1000 ? g_get_monotonic_time() + ms * 1000ll
                           : test_deadline(ms / 1000);
    GPollFD poll = { .fd = w->ours, .events = G_IO_IN };
    uint32_t be;

    while (g_poll(&poll, 1, 1) == 0) {
        if (g_get_monotonic_time() > end) {
            return 0;
        }
    }
    recv_all(w->ours, &be, sizeof(be));
    be = ntohl(be);
    g_assert_cmpuint(be, <=, QNCIC_FRAME);
    recv_all(w->ours, frame, be);
    return be;
}

/* ---- QOSGraph node ------------------------------------------------------------------ */

static void *ncic_get_driver(void *obj, const char *interface)
{
    QNcic *d = obj;

    if (!g_strcmp0(interface, "pci-device")) {
        return &d->node_pci;
    }
    fprintf(stderr, "%s not present in ncic-nic\n", interface);
    g_assert_not_reached();
}

static void ncic_start_hw(QOSGraphObject *obj)
{
    QNcic *d = (QNcic *)obj;

    qncic_init(d, d->node_pci.bus->qts, &d->node_pci, d->alloc);
}

static void found(QPCIDevice *dev, int devfn, void *data)
{
    memcpy(data, dev, sizeof(*dev));
    g_free(dev);
}

static void ncic_destroy(QOSGraphObject *obj)
{
    QNcic *d = (QNcic *)obj;

    qpci_iounmap(d->pci, d->csr);
    qpci_iounmap(d->pci, d->uar);
}

static void *ncic_create(void *pci_bus, QGuestAllocator *alloc, void *addr)
{
    QNcic *d = g_new0(QNcic, 1);
    QPCIAddress *a = addr;

    qpci_device_foreach(pci_bus, a->vendor_id, a->device_id, found,
                        &d->node_pci);
    d->alloc = alloc;
    d->obj.get_driver = ncic_get_driver;
    d->obj.start_hw = ncic_start_hw;
    d->obj.destructor = ncic_destroy;
    return &d->obj;
}

static void ncic_register_nodes(void)
{
    QPCIAddress addr = {
        .vendor_id = NCIC_PCI_VENDOR_ID,
        .device_id = NCIC_PCI_DEVICE_ID,
    };
    /* Tests of this node bring "-netdev ...,id=hs0" with them. */
    QOSGraphEdgeOptions opts = { .extra_device_opts = "netdev=hs0" };

    add_qpci_address(&opts, &addr);
    qos_node_create_driver("ncic-nic", ncic_create);
    qos_node_consumes("ncic-nic", "pci-bus", &opts);
    qos_node_produces("ncic-nic", "pci-device");
}

libqos_init(ncic_register_nodes);
