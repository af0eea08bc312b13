/*
 * What the PCIe functions around RDMA engines have in common: guest memory,
 * time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_device.h"
#include "rdma/shell.h"

void *rdma_shell_map(void *pci, uint64_t addr, size_t *len, bool write)
{
    dma_addr_t n = *len;
    void *p = pci_dma_map(pci, addr, &n, write ? DMA_DIRECTION_FROM_DEVICE
                                               : DMA_DIRECTION_TO_DEVICE);

    *len = n;
    return p;
}

void rdma_shell_unmap(void *pci, void *p, size_t len, bool write)
{
    pci_dma_unmap(pci, p, len, write ? DMA_DIRECTION_FROM_DEVICE
                                     : DMA_DIRECTION_TO_DEVICE, len);
}

int64_t rdma_shell_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

void rdma_shell_next(QEMUBH *bh, QEMUTimer *timer, int64_t now, int64_t next)
{
    if (next <= now) {
        qemu_bh_schedule(bh);
    } else if (next == INT64_MAX) {
        timer_del(timer);
    } else if (timer_expire_time_ns(timer) != next) {
        timer_mod(timer, next);         /* may wake the main loop */
    }
}
