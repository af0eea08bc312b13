/*
 * ubc: messages of its interrupts: masked, of the last entry of the table, and to
 * where no interrupt controller is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "../config_window.h"
#include "../link/ubc-driver.h"

/* A message that was masked waits, and comes when the mask goes. */
static void test_msix(void)
{
    const uint32_t control = UBC_MSIX_TABLE + PCI_MSIX_ENTRY_VECTOR_CTRL;
    QUbc *d = qubc_start_attached("ports=2", "");

    qubc_msix(d, 2, true);
    qubc_write(d, UBC_EVENT_MASK, UBC_EVENT_GUEST_ERROR);
    qubc_write(d, UBC_ID, 0); /* read-only: a guest error, vector 0 */
    g_assert_cmphex(qubc_read(d, UBC_MSIX_PBA), ==, 1);
    g_assert_false(qubc_irq(d, QUBC_VECTOR_CTRL));
    qubc_write(d, control, 0);
    QUBC_WAIT(qubc_irq(d, QUBC_VECTOR_CTRL));
    g_assert_cmphex(qubc_read(d, UBC_MSIX_PBA), ==, 0);
    /* Only once for one event; again when it was cleared and came again. */
    qubc_write(d, UBC_ID, 0);
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, 2);
    g_assert_false(qubc_irq(d, QUBC_VECTOR_CTRL));
    qubc_write(d, UBC_EVENT, ~0u);
    qubc_write(d, UBC_ID, 0);
    QUBC_WAIT(qubc_irq(d, QUBC_VECTOR_CTRL));
    qubc_stop(d);
}

/* The last entry of the table, and 32 pending bits of others. */
static void test_last_vector(void)
{
    const uint32_t entry = UBC_MSIX_TABLE + 1023 * PCI_MSIX_ENTRY_SIZE;
    QUbc *d = qubc_start_attached("ports=2", "");
    uint8_t cap = qpci_find_capability(d->pci, PCI_CAP_ID_MSIX, 0);

    g_assert_cmphex(qpci_config_readw(d->pci, cap + PCI_MSIX_FLAGS) &
                    PCI_MSIX_FLAGS_QSIZE, ==, 1023);
    qubc_msix(d, 0, true);
    qubc_write(d, entry + PCI_MSIX_ENTRY_LOWER_ADDR, QUBC_MSIX + 4);
    qubc_write(d, entry + PCI_MSIX_ENTRY_DATA, QUBC_MSIX_DATA + 1);
    qubc_write(d, UBC_VECTOR, 1024);
    g_assert_cmphex(qubc_read(d, UBC_GUEST_ERRORS), ==, 1);
    g_assert_true(qubc_logged(d, "vector beyond the MSI-X table"));
    qubc_write(d, UBC_VECTOR, 1023);
    qubc_write(d, UBC_EVENT_MASK, UBC_EVENT_GUEST_ERROR);
    QUBC_WAIT(qubc_read(d, UBC_MSIX_PBA + 124) == 1u << 31);
    qubc_write(d, entry + PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
    QUBC_WAIT(qubc_irq(d, 1));
    g_assert_cmphex(qubc_read(d, UBC_MSIX_PBA + 124), ==, 0);
    /* All rings armed with vectors of their own at once. */
    for (unsigned n = 0; n < UBC_PAIRS; n++) {
        qubc_pair_write(d, n, UBC_RING_TX + UBC_RING_VECTOR, 1022 - n);
        qubc_pair_write(d, n, UBC_RING_TX + UBC_RING_ARM, 1);
    }
    for (unsigned n = 0; n < UBC_PAIRS; n++) {
        uint32_t v = 1022 - n;

        QUBC_WAIT(qubc_read(d, UBC_MSIX_PBA + v / 32 * 4) >> v % 32 & 1);
    }
    qubc_stop(d);
}

static void msix_to(QUbc *d, uint64_t addr, uint32_t data)
{
    const uint32_t entry = UBC_MSIX_TABLE +
                           QUBC_VECTOR_CTRL * PCI_MSIX_ENTRY_SIZE;

    qubc_write(d, entry + PCI_MSIX_ENTRY_LOWER_ADDR, addr);
    qubc_write(d, entry + PCI_MSIX_ENTRY_UPPER_ADDR, addr >> 32);
    qubc_write(d, entry + PCI_MSIX_ENTRY_DATA, data);
    qubc_write(d, UBC_EVENT, ~0u);
}

static uint64_t bar_of(QPCIDevice *pci)
{
    return (qpci_config_readl(pci, PCI_BASE_ADDRESS_0) & ~0xfull) |
           (uint64_t)qpci_config_readl(pci, PCI_BASE_ADDRESS_1) << 32;
}

static int64_t device_int(QUbc *d, const char *name)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': '/machine/peripheral/ub0',"
                           " 'property': %s } }", name);
    int64_t value = qdict_get_int(rsp, "return");

    qobject_unref(rsp);
    return value;
}

/*
 * The message of an interrupt goes to the controller itself: its registers, a
 * doorbell, its table of messages, its configuration space, its PCI one; and
 * that of an interrupt which a ring or the IOThread sends.
 */
static void message_to_itself(const char *props, const char *more)
{
    static const uint32_t targets[] = {
        UBC_ID, UBC_CTRL, UBC_EVENT, UBC_CFG_DATA,
        UBC_PAIR(0) + UBC_RING_TX + UBC_RING_HEAD,
        UBC_PAIR(255) + UBC_RING_RX + UBC_RING_ARM,
        UBC_PAIR(1) + UBC_PAIR_PORT, UBC_PORT(0) + UBC_PORT_VECTOR,
        UBC_MSIX_TABLE, UBC_MSIX_TABLE + 1023 * PCI_MSIX_ENTRY_SIZE,
        UBC_MSIX_PBA, UBC_CFG_WINDOW + 0x40000, UBC_BAR_SIZE - 4,
    };
    ConfigWindow w;
    uint32_t errors;
    uint64_t bar;
    QUbc *d = qubc_start_attached(props, more);

    qubc_msix(d, 1, false);
    bar = bar_of(d->pci);
    g_assert_cmphex(bar, !=, 0);
    qubc_write(d, UBC_EVENT_MASK, UBC_EVENT_GUEST_ERROR);
    for (unsigned i = 0; i < G_N_ELEMENTS(targets); i++) {
        g_test_message("register 0x%x", targets[i]);
        msix_to(d, bar + targets[i], 1);
        errors = qubc_read(d, UBC_GUEST_ERRORS);
        qubc_write(d, UBC_ID, 0);
        /* It answers, and nothing came of the message. */
        qtest_qmp_assert_success(d->qts, "{ 'execute': 'query-ub-links' }");
        g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, errors + 1);
    }
    /* Its command register, by the window of the host bridge, and a reset. */
    g_assert_cmpuint(device_int(d, "msi-refused"), ==, G_N_ELEMENTS(targets));
    w = config_window_open(d->qts, d->pci);
    msix_to(d, w.at + PCI_COMMAND, PCI_COMMAND_MEMORY);
    qubc_write(d, UBC_ID, 0);
    QUBC_WAIT(device_int(d, "msi-refused") == G_N_ELEMENTS(targets) + 1);
    msix_to(d, config_window_control(&w), PCI_EXP_DEVCTL_BCR_FLR);
    qubc_write(d, UBC_ID, 0);
    QUBC_WAIT(device_int(d, "msi-refused") == G_N_ELEMENTS(targets) + 2);
    config_window_same(&w);
    g_assert_true(qubc_logged(d, "no interrupt controller is there"));
    /* Interrupts of a ring. */
    msix_to(d, QUBC_MSIX, 0x55420000);
    qubc_write(d, UBC_MSIX_TABLE + QUBC_VECTOR_TX(0) * PCI_MSIX_ENTRY_SIZE +
               PCI_MSIX_ENTRY_LOWER_ADDR, bar + UBC_PAIR(0) + UBC_RING_TX +
               UBC_RING_ARM);
    qubc_ring_open(d, 0, UBC_RING_TX, QUBC_TX_RING(0));
    qubc_pair_write(d, 0, UBC_RING_TX + UBC_RING_ARM, 0);
    qubc_post(d, 0, UBC_RING_TX, QUBC_TX_BUF(0), 64, 3);
    qubc_doorbell(d, 0, UBC_RING_TX);
    QUBC_WAIT(qubc_pair_read(d, 0, UBC_RING_TX + UBC_RING_TAIL) == 1);
    g_assert_cmphex(qubc_pair_read(d, 0, UBC_RING_TX + UBC_RING_ARM) &
                    UBC_RING_ARMED, ==, 0);
    qtest_qmp_assert_success(d->qts, "{ 'execute': 'query-ub-links' }");
    qubc_stop(d);
}

static void test_msix_to_itself(void)
{
    message_to_itself("", "");
    message_to_itself("iothread=io", "-object iothread,id=io");
}

/* Two controllers whose messages are doorbells of one another. */
static void test_msix_to_another(void)
{
    QUbc *a = qubc_start_attached("", "-device ubc,id=ub1,addr=6,"
                                  "clock=realtime");
    QPCIDevice *pci = qpci_device_find(a->bus, QPCI_DEVFN(6, 0));
    QUbc b = *a;
    uint32_t before;

    g_assert_nonnull(pci);
    qpci_device_enable(pci);
    b.pci = pci;
    b.bar = qpci_iomap(pci, 0, NULL);
    qubc_msix(a, 1, false);
    qubc_msix(&b, 1, false);
    qubc_write(a, UBC_EVENT_MASK, UBC_EVENT_GUEST_ERROR);
    qubc_write(&b, UBC_EVENT_MASK, UBC_EVENT_GUEST_ERROR);
    msix_to(a, bar_of(b.pci) + UBC_ID, 0);
    msix_to(&b, bar_of(a->pci) + UBC_ID, 0);
    before = qubc_read(a, UBC_GUEST_ERRORS);
    qubc_write(a, UBC_ID, 0);
    /* A's reaches B, B's reaches A, whose event is noted already: it ends. */
    QUBC_WAIT(qubc_read(&b, UBC_GUEST_ERRORS) == 1 &&
              qubc_read(a, UBC_GUEST_ERRORS) == before + 2);
    qtest_qmp_assert_success(a->qts, "{ 'execute': 'query-ub-links' }");
    g_free(pci);
    qubc_stop(a);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc/last-vector", test_last_vector);
    qtest_add_func("/ubc/msix", test_msix);
    qtest_add_func("/ubc/msix-to-itself", test_msix_to_itself);
    qtest_add_func("/ubc/msix-to-another", test_msix_to_another);
    return g_test_run();
}
