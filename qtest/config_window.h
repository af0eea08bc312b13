/*
 * The configuration space of a function as memory of the machine (q35), and what a
 * device must not do to it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_CONFIG_WINDOW_H
#define QTEST_CONFIG_WINDOW_H

#include "libqos/pci.h"
#include "hw/pci/pci_regs.h"

#define CONFIG_WINDOW_PCIEXBAR 0x60     /* of q35's host bridge */
#define CONFIG_WINDOW_BASE     0xb0000000u
#define CONFIG_WINDOW_BYTES    256

typedef struct ConfigWindow {
    QPCIDevice *pci;
    uint64_t at;                        /* in memory */
    uint8_t was[CONFIG_WINDOW_BYTES];
} ConfigWindow;

/* What is in the space now is what has to be there at config_window_same(). */
static inline void config_window_note(ConfigWindow *w)
{
    for (unsigned i = 0; i < CONFIG_WINDOW_BYTES; i++) {
        w->was[i] = qpci_config_readb(w->pci, i);
    }
}

/* Open the window; @pci stays the caller's. */
static inline ConfigWindow config_window_open(QTestState *qts, QPCIDevice *pci)
{
    ConfigWindow w = { .pci = pci,
                       .at = CONFIG_WINDOW_BASE + ((uint64_t)pci->devfn << 12) };
    QPCIDevice *host = qpci_device_find(pci->bus, 0);

    qpci_config_writel(host, CONFIG_WINDOW_PCIEXBAR + 4, 0);
    qpci_config_writel(host, CONFIG_WINDOW_PCIEXBAR, CONFIG_WINDOW_BASE | 1);
    g_free(host);
    g_assert_cmphex(qtest_readl(qts, w.at), ==, qpci_config_readl(pci, 0));
    config_window_note(&w);
    return w;
}

/* Device Control, whose top bit resets the function. */
static inline uint64_t config_window_control(const ConfigWindow *w)
{
    return w->at + qpci_find_capability(w->pci, PCI_CAP_ID_EXP, 0) +
           PCI_EXP_DEVCTL;
}

/* Nobody has written to it; what the function says of a refused read is the
 * exception. */
static inline void config_window_same(const ConfigWindow *w)
{
    for (unsigned i = 0; i < CONFIG_WINDOW_BYTES; i++) {
        uint8_t may = i == PCI_STATUS + 1 ? PCI_STATUS_REC_MASTER_ABORT >> 8 : 0;

        g_assert_cmphex(qpci_config_readb(w->pci, i) & ~may, ==,
                        w->was[i] & ~may);
    }
}

/* A read was refused: take the note of it away. */
static inline void config_window_aborted(const ConfigWindow *w)
{
    g_assert_cmphex(qpci_config_readw(w->pci, PCI_STATUS) &
                    PCI_STATUS_REC_MASTER_ABORT, !=, 0);
    qpci_config_writew(w->pci, PCI_STATUS, PCI_STATUS_REC_MASTER_ABORT);
    g_assert_cmphex(qpci_config_readw(w->pci, PCI_STATUS) &
                    PCI_STATUS_REC_MASTER_ABORT, ==, 0);
}

#endif
