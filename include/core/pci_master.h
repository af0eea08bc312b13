/*
 * A PCI function as a bus master (QEMU shells only): what it reads and writes is
 * memory, and its interrupt messages reach interrupt controllers.
 *
 * A root complex takes no configuration request from below, and a function never
 * finds itself by a request of its own.  An emulator's map has both in it, the
 * window of the configuration space and every BAR: with a ring or a message there
 * a guest would have the device reset, move or reprogram itself in the middle of
 * its own work.  Such requests are refused here, as Unsupported Requests are.
 * Memory that another function has in a BAR is memory as well.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_PCI_MASTER_H
#define CORE_PCI_MASTER_H

#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "qemu/queue.h"
#include "qemu/rcu.h"
#include "hw/pci/msi.h"
#include "hw/pci/pci_device.h"

/* Messages that wait for the end of a turn; different ones. */
#define PCI_MASTER_LATE 64

typedef struct PciMaster {
    PCIDevice *pci;
    QLIST_ENTRY(PciMaster) next;
    QEMUBH *bh;
    MSITriggerFunc *send;       /* sends a message for real */
    MSIMessage late[PCI_MASTER_LATE];
    unsigned n_late;
    /* Properties of the function, by these names. */
    uint64_t dma_refused;       /* reads, writes */
    uint64_t msi_refused;       /* messages to nobody who may get them */
    uint64_t msi_late;          /* messages that waited for the end of a turn */
} PciMaster;

/* Begin, in the realize() of @pci, and end in its exit(). */
void pci_master_init(PciMaster *m, PCIDevice *pci);
void pci_master_fini(PciMaster *m);

/* ---- Memory ---------------------------------------------------------------------
 *
 * From any thread in which @m's function may be.
 */

/* Registers are no memory: who has one refuses. */
#define PCI_MASTER_ATTRS ((MemTxAttrs) { .memory = 1 })

/* A request for @len bytes at @addr found nobody. */
void pci_master_refused(PciMaster *m, bool write, dma_addr_t addr,
                        dma_addr_t len);

/*
 * Memory is what can be reached at its place in the host.  What cannot (ROM to be
 * written, a real device's BAR) QEMU would reach through its registers' path, which
 * takes the big lock: who has a lock of its own here must not.  So each piece is
 * translated once and copied, whatever the guest does to the map meanwhile.
 */

/* Read @len bytes at @addr; false if they are no memory, without a trace. */
static inline bool pci_master_peek(PciMaster *m, dma_addr_t addr, void *buf,
                                   dma_addr_t len)
{
    AddressSpace *as = pci_get_address_space(m->pci);
    uint8_t *to = buf;

    dma_barrier(as, DMA_DIRECTION_TO_DEVICE);
    RCU_READ_LOCK_GUARD();
    while (len) {
        hwaddr n = len, at;
        MemoryRegion *mr = address_space_translate(as, addr, &at, &n, false,
                                                   PCI_MASTER_ATTRS);

        if (!memory_access_is_direct(mr, false, PCI_MASTER_ATTRS)) {
            return false;
        }
        fuzz_dma_read_cb(addr, n, mr);
        memcpy(to, qemu_map_ram_ptr(mr->ram_block, at), n);
        addr += n;
        to += n;
        len -= n;
    }
    return true;
}

/* Read @len bytes at @addr.  If they are no memory, that is an Unsupported
 * Request: counted, logged, a bit in the function's status. */
static inline bool pci_master_read(PciMaster *m, dma_addr_t addr, void *buf,
                                   dma_addr_t len)
{
    if (likely(pci_master_peek(m, addr, buf, len))) {
        return true;
    }
    pci_master_refused(m, false, addr, len);
    return false;
}

/*
 * @len bytes at @p, @at of @mr, were written: who follows changes is told, and code of
 * theirs forgotten.  As address_space_unmap() does, which looks for the block anew, by
 * the place in the host, in a list of all: that took longer than the copy of an entry.
 */
static inline void pci_master_written(MemoryRegion *mr, void *p, hwaddr at,
                                      hwaddr len)
{
    MemoryRegionCache it = { .ptr = p, .mrs.mr = mr, .xlat = at, .is_write = true };

    address_space_cache_invalidate(&it, 0, len);
}

/*
 * Write @len bytes at @addr.  If they are no memory, that is counted and logged.
 *
 * Four or eight bytes, aligned to their number, are one store that everything
 * written before precedes: an owner or a DONE bit tells software that the entry
 * around it is its own again.  A copy by memmove() may store such a word twice; a
 * virtual CPU that has seen the first store and prepared the entry anew would
 * have that undone by the second.  stq_le_pci_dma() and the like copy, too.
 */
static inline bool pci_master_write(PciMaster *m, dma_addr_t addr,
                                    const void *buf, dma_addr_t len)
{
    AddressSpace *as = pci_get_address_space(m->pci);
    bool word = (len == 4 || len == 8) && !(addr % len);
    const uint8_t *from = buf;

    /* Behind all that was read and written before; reads behind it have their own
     * barrier. */
    smp_mb_release();
    RCU_READ_LOCK_GUARD();
    while (len) {
        hwaddr n = len, at;
        MemoryRegion *mr = address_space_translate(as, addr, &at, &n, true,
                                                   PCI_MASTER_ATTRS);
        void *p;

        if (unlikely(!memory_access_is_direct(mr, true, PCI_MASTER_ATTRS))) {
            pci_master_refused(m, true, addr, len);
            return false;
        }
        p = qemu_map_ram_ptr(mr->ram_block, at);
        if (word && n == 8) {
            stq_le_p(p, ldq_le_p(from));
        } else if (word && n == 4) {
            stl_le_p(p, ldl_le_p(from));
        } else {
            memcpy(p, from, n);
        }
        pci_master_written(mr, p, at, n);
        addr += n;
        from += n;
        len -= n;
    }
    return true;
}

#define PCI_MASTER_EXCHANGE(bits) do { \
        uint##bits##_t pci_was_, pci_now_; \
        memcpy(&pci_was_, was, sizeof(pci_was_)); \
        memcpy(&pci_now_, now, sizeof(pci_now_)); \
        *same = __atomic_compare_exchange_n((uint##bits##_t *)p, &pci_was_, \
                                            pci_now_, false, __ATOMIC_SEQ_CST, \
                                            __ATOMIC_SEQ_CST); \
        memcpy(was, &pci_was_, sizeof(pci_was_)); \
    } while (0)

/*
 * 1, 2, 4 or 8 bytes at @addr, aligned to their number, in one step for processors,
 * too: where they are as @was they become @now and *@same is true; otherwise @was
 * becomes what they are.  If they are no memory, that is as for a write.
 */
static inline bool pci_master_exchange(PciMaster *m, dma_addr_t addr, void *was,
                                       const void *now, dma_addr_t len, bool *same)
{
    hwaddr n = len, at;
    MemoryRegion *mr;
    void *p;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(pci_get_address_space(m->pci), addr, &at, &n, true,
                                 PCI_MASTER_ATTRS);
    p = n == len && memory_access_is_direct(mr, true, PCI_MASTER_ATTRS)
        ? qemu_map_ram_ptr(mr->ram_block, at) : NULL;
    if (!p || (uintptr_t)p % len) {
        pci_master_refused(m, true, addr, len);
        return false;
    }
    fuzz_dma_read_cb(addr, len, mr);
    if (len == 8) {
        PCI_MASTER_EXCHANGE(64);
    } else if (len == 4) {
        PCI_MASTER_EXCHANGE(32);
    } else if (len == 2) {
        PCI_MASTER_EXCHANGE(16);
    } else {
        PCI_MASTER_EXCHANGE(8);
    }
    pci_master_written(mr, p, at, len);
    return true;
}
#undef PCI_MASTER_EXCHANGE

/* Memory at @addr, up to @len bytes and as many as are left in @len; NULL, and 0, if
 * it is no memory.  With the big lock held. */
static inline void *pci_master_map(PciMaster *m, dma_addr_t addr, size_t *len,
                                   bool write)
{
    dma_addr_t n = *len;
    void *p = dma_memory_map(pci_get_address_space(m->pci), addr, &n,
                             write ? DMA_DIRECTION_FROM_DEVICE
                                   : DMA_DIRECTION_TO_DEVICE,
                             PCI_MASTER_ATTRS);

    *len = p ? n : 0;
    return p;
}

/* Give back what pci_master_map() gave. */
static inline void pci_master_unmap(PciMaster *m, void *p, size_t len, bool write)
{
    pci_dma_unmap(m->pci, p, len, write ? DMA_DIRECTION_FROM_DEVICE
                                        : DMA_DIRECTION_TO_DEVICE, len);
}

/*
 * @len bytes of memory at @addr for reading, or NULL.  No reference is taken: they
 * are there for as long as the caller's RCU section lasts.
 */
static inline const void *pci_master_lend(PciMaster *m, dma_addr_t addr,
                                          hwaddr len)
{
    hwaddr got = len, at;
    MemoryRegion *mr = address_space_translate(pci_get_address_space(m->pci), addr,
                                               &at, &got, false,
                                               PCI_MASTER_ATTRS);

    if (got < len || !memory_access_is_direct(mr, false, PCI_MASTER_ATTRS)) {
        return NULL;
    }
    fuzz_dma_read_cb(addr, len, mr);
    return qemu_map_ram_ptr(mr->ram_block, at);
}

/* ---- Messages -------------------------------------------------------------------
 *
 * As msix_notify() and msi_notify(), with the big lock held.  A message to an
 * interrupt controller or to memory goes at once, one to another's registers
 * when the turn of the main loop is over, since who gets it may come back to us; one
 * to this function or into the configuration space goes nowhere.  So do those
 * that a guest sends by taking a vector's mask away.
 */
void pci_master_msix(PciMaster *m, unsigned vector);
void pci_master_msi(PciMaster *m, unsigned vector);

#endif
