/*
 * ncic-nic: advanced error reporting behind a root port
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "libqos/malloc-pc.h"
#include "libqos/pci-pc.h"
#include "libqtest.h"

#define ECAM        0xb0000000u
#define PORT        (ECAM + (5 << 15))      /* bus 0, slot 5 */
#define NIC         (ECAM + (1 << 20))      /* bus 1, slot 0 */
#define NIC_ID      0x0100u                 /* requester ID of the NIC */
#define NIC_EXP     0xc0
#define AER         0x100                   /* of the NIC and of the port */

#define REPORT_ALL  (PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | \
                     PCI_EXP_DEVCTL_FERE)

typedef struct Machine {
    QTestState *qts;
    uint32_t port_exp;
} Machine;

static uint32_t find_cap(QTestState *qts, uint32_t dev, uint8_t id)
{
    uint8_t at = qtest_readb(qts, dev + PCI_CAPABILITY_LIST);

    while (at && qtest_readb(qts, dev + at) != id) {
        at = qtest_readb(qts, dev + at + 1);
    }
    g_assert_cmphex(at, !=, 0);
    return dev + at;
}

static Machine start(void)
{
    Machine m = {
        .qts = qtest_init("-M q35 -nodefaults "
                          "-device pcie-root-port,id=rp,addr=5 "
                          "-device ncic-nic,id=nic,bus=rp"),
    };
    QGuestAllocator alloc;
    QPCIBus *bus;
    QPCIDevice *host;

    /* What firmware does: the window, and the buses behind the port. */
    pc_alloc_init(&alloc, m.qts, ALLOC_NO_FLAGS);
    bus = qpci_new_pc(m.qts, &alloc);
    host = qpci_device_find(bus, 0);
    qpci_config_writel(host, 0x60, ECAM | 1);
    g_free(host);
    qpci_free_pc(bus);
    alloc_destroy(&alloc);
    qtest_writel(m.qts, PORT + PCI_PRIMARY_BUS, 0x00010100);
    g_assert_cmphex(qtest_readl(m.qts, NIC), ==, 0x702810ee);
    g_assert_cmphex(qtest_readl(m.qts, NIC + AER) & 0xfffff, ==, 0x20001);
    m.port_exp = find_cap(m.qts, PORT, PCI_CAP_ID_EXP);
    return m;
}

/* What an operating system does to hear of errors. */
static void enable_reports(Machine *m)
{
    qtest_writew(m->qts, NIC + NIC_EXP + PCI_EXP_DEVCTL, REPORT_ALL);
    qtest_writew(m->qts, m->port_exp + PCI_EXP_DEVCTL, REPORT_ALL);
    qtest_writew(m->qts, PORT + PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_SERR);
    qtest_writel(m->qts, PORT + AER + PCI_ERR_ROOT_COMMAND,
                 PCI_ERR_ROOT_CMD_COR_EN | PCI_ERR_ROOT_CMD_NONFATAL_EN |
                 PCI_ERR_ROOT_CMD_FATAL_EN);
}

static void inject(Machine *m, const char *error)
{
    g_autofree char *out = qtest_hmp(m->qts, "pcie_aer_inject_error nic %s",
                                     error);

    g_assert_nonnull(strstr(out, "OK id: nic"));
}

typedef struct AerError {
    const char *name;
    unsigned status;            /* register of the AER capability */
    uint32_t bit;
    uint16_t devsta;
    uint32_t root;              /* root error status of the port */
    unsigned source;            /* byte of its source register */
} AerError;

static const AerError errors[] = {
    { "RCVR", PCI_ERR_COR_STATUS, PCI_ERR_COR_RCVR, PCI_EXP_DEVSTA_CED,
      PCI_ERR_ROOT_COR_RCV, 0 },
    { "BAD_TLP", PCI_ERR_COR_STATUS, PCI_ERR_COR_BAD_TLP, PCI_EXP_DEVSTA_CED,
      PCI_ERR_ROOT_COR_RCV, 0 },
    { "COMP_TIME", PCI_ERR_UNCOR_STATUS, PCI_ERR_UNC_COMP_TIME,
      PCI_EXP_DEVSTA_NFED,
      PCI_ERR_ROOT_UNCOR_RCV | PCI_ERR_ROOT_NONFATAL_RCV, 2 },
    { "MALF_TLP", PCI_ERR_UNCOR_STATUS, PCI_ERR_UNC_MALF_TLP,
      PCI_EXP_DEVSTA_FED,
      PCI_ERR_ROOT_UNCOR_RCV | PCI_ERR_ROOT_FATAL_RCV |
      PCI_ERR_ROOT_FIRST_FATAL, 2 },
};

static uint16_t devsta(Machine *m)
{
    return qtest_readw(m->qts, NIC + NIC_EXP + PCI_EXP_DEVSTA);
}

static uint32_t root_status(Machine *m)
{
    return qtest_readl(m->qts, PORT + AER + PCI_ERR_ROOT_STATUS) & 0x7f;
}

/* Status bits of the function, the message at the port, and clearing both. */
static void test_report(void)
{
    Machine m = start();

    enable_reports(&m);
    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++) {
        const AerError *e = &errors[i];

        inject(&m, e->name);
        g_assert_cmphex(qtest_readl(m.qts, NIC + AER + e->status), ==, e->bit);
        g_assert_cmphex(devsta(&m) & 0xf, ==, e->devsta);
        g_assert_cmphex(root_status(&m), ==, e->root);
        g_assert_cmphex(qtest_readw(m.qts, PORT + AER + PCI_ERR_ROOT_ERR_SRC +
                                    e->source), ==, NIC_ID);

        qtest_writel(m.qts, NIC + AER + e->status, e->bit);
        qtest_writew(m.qts, NIC + NIC_EXP + PCI_EXP_DEVSTA, e->devsta);
        qtest_writel(m.qts, PORT + AER + PCI_ERR_ROOT_STATUS, e->root);
        g_assert_cmphex(qtest_readl(m.qts, NIC + AER + e->status), ==, 0);
        g_assert_cmphex(devsta(&m) & 0xf, ==, 0);
        g_assert_cmphex(root_status(&m), ==, 0);
    }
    qtest_quit(m.qts);
}

/* A masked error is recorded and not reported; the severity is the guest's. */
static void test_mask_and_severity(void)
{
    Machine m = start();

    enable_reports(&m);
    qtest_writel(m.qts, NIC + AER + PCI_ERR_UNCOR_MASK, PCI_ERR_UNC_COMP_TIME);
    inject(&m, "COMP_TIME");
    g_assert_cmphex(qtest_readl(m.qts, NIC + AER + PCI_ERR_UNCOR_STATUS), ==,
                    PCI_ERR_UNC_COMP_TIME);
    g_assert_cmphex(root_status(&m), ==, 0);
    qtest_writel(m.qts, NIC + AER + PCI_ERR_UNCOR_STATUS,
                 PCI_ERR_UNC_COMP_TIME);

    qtest_writel(m.qts, NIC + AER + PCI_ERR_UNCOR_MASK, 0);
    qtest_writel(m.qts, NIC + AER + PCI_ERR_UNCOR_SEVER,
                 PCI_ERR_UNC_COMP_TIME);
    inject(&m, "COMP_TIME");
    g_assert_cmphex(devsta(&m) & PCI_EXP_DEVSTA_FED, !=, 0);
    g_assert_cmphex(root_status(&m), ==,
                    PCI_ERR_ROOT_UNCOR_RCV | PCI_ERR_ROOT_FATAL_RCV |
                    PCI_ERR_ROOT_FIRST_FATAL);
    qtest_quit(m.qts);
}

/* The header of the TLP at fault, and the pointer to the first error. */
static void test_header_log(void)
{
    static const uint32_t header[] = { 0x40000001, 0x0100000f, 0xfee00000, 7 };
    Machine m = start();

    enable_reports(&m);
    inject(&m, "POISON_TLP 0x40000001 0x0100000f 0xfee00000 7");
    g_assert_cmphex(qtest_readl(m.qts, NIC + AER + PCI_ERR_UNCOR_STATUS), ==,
                    PCI_ERR_UNC_POISON_TLP);
    g_assert_cmphex(PCI_ERR_CAP_FEP(qtest_readl(m.qts, NIC + AER +
                                                PCI_ERR_CAP)), ==,
                    __builtin_ctz(PCI_ERR_UNC_POISON_TLP));
    /* QEMU keeps the bytes in the order of the wire. */
    for (unsigned i = 0; i < G_N_ELEMENTS(header); i++) {
        g_assert_cmphex(qtest_readl(m.qts, NIC + AER + PCI_ERR_HEADER_LOG +
                                    4 * i), ==, bswap32(header[i]));
    }
    /* A second error before the first was cleared: the port says so. */
    inject(&m, "COMP_TIME");
    g_assert_cmphex(qtest_readl(m.qts, NIC + AER + PCI_ERR_UNCOR_STATUS), ==,
                    PCI_ERR_UNC_POISON_TLP | PCI_ERR_UNC_COMP_TIME);
    g_assert_cmphex(root_status(&m) & PCI_ERR_ROOT_MULTI_UNCOR_RCV, !=, 0);
    qtest_quit(m.qts);
}

/* Nothing is reported that nobody asked for. */
static void test_disabled(void)
{
    Machine m = start();

    inject(&m, "RCVR");
    inject(&m, "COMP_TIME");
    g_assert_cmphex(qtest_readl(m.qts, NIC + AER + PCI_ERR_COR_STATUS), ==,
                    PCI_ERR_COR_RCVR);
    g_assert_cmphex(qtest_readl(m.qts, NIC + AER + PCI_ERR_UNCOR_STATUS), ==,
                    PCI_ERR_UNC_COMP_TIME);
    g_assert_cmphex(root_status(&m), ==, 0);
    qtest_quit(m.qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ncic-aer/report", test_report);
    qtest_add_func("/ncic-aer/mask-and-severity", test_mask_and_severity);
    qtest_add_func("/ncic-aer/header-log", test_header_log);
    qtest_add_func("/ncic-aer/disabled", test_disabled);
    return g_test_run();
}
