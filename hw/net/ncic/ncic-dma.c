/*
 * NCIC NIC: guest memory access of the Ethernet engine
 *
 * Rings stay mapped from their first use until their registers or the memory
 * map change; frames are mapped or copied for one transfer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "hw/pci/pci.h"
#include "ncic-pci.h"
#include "trace.h"

static bool check(NcicState *s, bool ok, bool is_write, uint64_t addr,
                  size_t len)
{
    if (!ok) {
        trace_ncic_dma_error(ncic_id(s), is_write, addr, len);
    }
    return ok;
}

bool ncic_dma_ok(void *opaque)
{
    const uint8_t *config = PCI_DEVICE(opaque)->config;

    /* In D3hot a function issues no requests. */
    return pci_get_word(config + PCI_COMMAND) & PCI_COMMAND_MASTER &&
           !(pci_get_word(config + NCIC_PCI_CAP_PM + PCI_PM_CTRL) &
             PCI_PM_CTRL_STATE_MASK);
}

bool ncic_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    NcicState *s = opaque;

    return check(s, pci_master_read(&s->master, addr, buf, len), false, addr,
                 len);
}

bool ncic_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
    NcicState *s = opaque;

    return check(s, pci_master_write(&s->master, addr, buf, len), true, addr,
                 len);
}

/*
 * Only plain RAM is lent out, for as long as the RCU section lasts that
 * ncic_dma_unmap() ends; everything else is read with its errors.
 */
const void *ncic_dma_map(void *opaque, uint64_t addr, size_t len)
{
    const void *p;

    rcu_read_lock();
    p = pci_master_lend(&((NcicState *)opaque)->master, addr, len);
    if (!p) {
        rcu_read_unlock();
    }
    return p;
}

void ncic_dma_unmap(void *opaque, const void *p, size_t len)
{
    rcu_read_unlock();
}

/* ---- Rings ------------------------------------------------------------------ */

static void ring_unmap(NcicRingCache *c)
{
    if (c->mapped) {
        address_space_cache_destroy(&c->mem);
        c->mapped = false;
        c->direct = false;
    }
}

/* The entry in host memory, or NULL if the ring is not plain RAM. */
static uint8_t *ring_entry(NcicState *s, NcicDir dir, unsigned q, bool cpl,
                           unsigned slot)
{
    NcicRingCache *c = &s->ring[dir][q][cpl ? NCIC_RING_CPL : NCIC_RING_DESC];
    size_t entry = cpl ? NCIC_CPL_SIZE : NCIC_DESC_SIZE;

    if (!c->mapped) {
        const NcicQueue *k = &s->eth.queue[dir][q];
        const NcicRing *r = cpl ? &k->cpl : &k->desc;
        hwaddr len = (hwaddr)ncic_ring_size(r) * entry;

        if (r->base + len < r->base) {
            return NULL;
        }
        c->direct = address_space_cache_init(&c->mem,
                                             pci_get_address_space(
                                                 PCI_DEVICE(s)),
                                             r->base, len, cpl) >= len &&
                    c->mem.ptr;
        c->mapped = true;
        trace_ncic_ring_map(ncic_id(s), dir == NCIC_TX, q, cpl, r->base,
                            c->direct);
    }
    return c->direct ? (uint8_t *)c->mem.ptr + slot * entry : NULL;
}

void ncic_dma_desc_read(void *opaque, NcicDir dir, unsigned q, unsigned slot,
                        uint64_t addr, uint32_t tag)
{
    NcicState *s = opaque;
    uint8_t buf[NCIC_DESC_SIZE];
    bool ok;

    if (ring_entry(s, dir, q, false, slot)) {
        address_space_read_cached(&s->ring[dir][q][NCIC_RING_DESC].mem,
                                  slot * NCIC_DESC_SIZE, buf, sizeof(buf));
        ok = true;
    } else {
        ok = ncic_dma_read(s, addr, buf, sizeof(buf));
    }
    ncic_eth_desc_done(&s->eth, dir, tag, ok ? buf : NULL);
}

bool ncic_dma_cpl_write(void *opaque, NcicDir dir, unsigned q, unsigned slot,
                        uint64_t addr, const void *cpl)
{
    NcicState *s = opaque;
    uint8_t *p = ring_entry(s, dir, q, true, slot);
    const uint8_t *from = cpl;
    uint32_t last;

    if (!p) {
        return ncic_dma_write(s, addr, from, NCIC_CPL_LAST) &&
               ncic_dma_write(s, addr + NCIC_CPL_LAST, from + NCIC_CPL_LAST,
                              NCIC_CPL_SIZE - NCIC_CPL_LAST);
    }
    memcpy(p, from, NCIC_CPL_LAST);
    memcpy(&last, from + NCIC_CPL_LAST, sizeof(last));
    qatomic_store_release((uint32_t *)(p + NCIC_CPL_LAST), last);
    address_space_cache_invalidate(&s->ring[dir][q][NCIC_RING_CPL].mem,
                                   slot * NCIC_CPL_SIZE, NCIC_CPL_SIZE);
    return true;
}

void ncic_dma_ring_changed(void *opaque, NcicDir dir, unsigned q)
{
    NcicState *s = opaque;

    ring_unmap(&s->ring[dir][q][NCIC_RING_DESC]);
    ring_unmap(&s->ring[dir][q][NCIC_RING_CPL]);
}

static void unmap_all(void *opaque)
{
    NcicState *s = opaque;

    for (unsigned dir = 0; dir < NCIC_DIRS; dir++) {
        for (unsigned q = 0; q < NCIC_QUEUES_MAX; q++) {
            ncic_dma_ring_changed(s, dir, q);
        }
    }
}

/*
 * The map has changed: no mapping may be used again.  The references are
 * dropped later, because dropping the last one of a region may not happen while
 * the map is being committed.
 */
static void memory_commit(MemoryListener *listener)
{
    NcicState *s = container_of(listener, NcicState, listener);
    bool any = false;

    for (unsigned dir = 0; dir < NCIC_DIRS; dir++) {
        for (unsigned q = 0; q < NCIC_QUEUES_MAX; q++) {
            for (unsigned k = 0; k < NCIC_RINGS; k++) {
                s->ring[dir][q][k].direct = false;
                any |= s->ring[dir][q][k].mapped;
            }
        }
    }
    if (any) {
        qemu_bh_schedule(s->unmap_bh);
    }
}

void ncic_dma_init(NcicState *s)
{
    s->unmap_bh = qemu_bh_new(unmap_all, s);
    s->listener = (MemoryListener) {
        .name = "ncic-nic",
        .commit = memory_commit,
    };
    memory_listener_register(&s->listener,
                             pci_get_address_space(PCI_DEVICE(s)));
}

void ncic_dma_fini(NcicState *s)
{
    memory_listener_unregister(&s->listener);
    unmap_all(s);
    qemu_bh_delete(s->unmap_bh);
}
