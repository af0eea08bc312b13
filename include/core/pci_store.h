/*
 * Words of guest memory that a device writes in one store (QEMU shells only).
 *
 * An owner or a DONE bit tells software that the entry around it is its own
 * again.  A copy of four or eight bytes by memmove() may store them twice; a
 * virtual CPU that has seen the first store and prepared the entry anew would
 * have that undone by the second.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_PCI_STORE_H
#define CORE_PCI_STORE_H

#include "qemu/bswap.h"
#include "qemu/rcu.h"
#include "hw/pci/pci_device.h"

/* Whether @len bytes at @addr are plain memory that may be written. */
static inline bool pci_store_direct(PCIDevice *pci, dma_addr_t addr,
                                    hwaddr len, MemTxAttrs attrs)
{
    hwaddr got = len, at;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(pci_get_address_space(pci), addr, &at, &got,
                                 true, attrs);
    return got >= len && memory_access_is_direct(mr, true, attrs);
}

/*
 * As pci_dma_rw() to the guest.  Four or eight bytes of plain memory, aligned
 * to their number, are one store that everything written before precedes;
 * stq_le_pci_dma() and the like, which copy, are not.
 */
static inline MemTxResult pci_store(PCIDevice *pci, dma_addr_t addr,
                                    const void *buf, dma_addr_t len,
                                    MemTxAttrs attrs)
{
    MemTxResult res;

    if ((len != 4 && len != 8) || addr % len ||
        !pci_store_direct(pci, addr, len, attrs)) {
        return pci_dma_rw(pci, addr, (void *)buf, len,
                          DMA_DIRECTION_FROM_DEVICE, attrs);
    }
    smp_wmb();
    if (len == 8) {
        address_space_stq_le(pci_get_address_space(pci), addr, ldq_le_p(buf),
                             attrs, &res);
    } else {
        address_space_stl_le(pci_get_address_space(pci), addr, ldl_le_p(buf),
                             attrs, &res);
    }
    return res;
}

#endif
