/*
 * A PCI function as a bus master.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/log.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie_host.h"
#include "system/dma.h"
#include "core/pci_master.h"

static QLIST_HEAD(, PciMaster) masters = QLIST_HEAD_INITIALIZER(masters);

static const char *id_of(PciMaster *m)
{
    const char *id = DEVICE(m->pci)->id;

    return id ? id : object_get_typename(OBJECT(m->pci));
}

/* A function that is no bus master issues no request that could be refused. */
static bool is_master(PciMaster *m)
{
    return pci_get_word(m->pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER;
}

void pci_master_refused(PciMaster *m, bool write, dma_addr_t addr,
                        dma_addr_t len)
{
    if (!is_master(m)) {
        return;
    }
    qatomic_inc(&m->dma_refused);
    if (!write) {
        /* A write is posted: nobody answers. */
        qatomic_or(m->pci->config + PCI_STATUS + 1,
                   PCI_STATUS_REC_MASTER_ABORT >> 8);
    }
    qemu_log_mask(LOG_GUEST_ERROR, "%s: DMA %s of %" PRIu64 " bytes at 0x%"
                  PRIx64 ": there is no memory\n", id_of(m),
                  write ? "write" : "read", (uint64_t)len, (uint64_t)addr);
}

/* ---- Messages ---------------------------------------------------------------------- */

typedef enum Way { NOW, LATE, NEVER } Way;

/* Those who take interrupt messages and, doing so, touch no other device.  Only
 * their latency depends on this list. */
static const char *const sinks[] = {
    "apic-msi", "kvm-apic-msi", "xen-apic-msi", "vtd-ir", "amdvi-ir",
    "translation", "gicv2m", "riscv.imsic", "loongarch_pch_msi",
};

static bool is_sink(const MemoryRegion *mr)
{
    const char *name = memory_region_name(mr);

    for (unsigned i = 0; i < ARRAY_SIZE(sinks); i++) {
        if (!g_strcmp0(name, sinks[i])) {
            return true;
        }
    }
    return false;
}

static bool is_config_space(MemoryRegion *mr, Object *owner)
{
    return object_dynamic_cast(owner, TYPE_PCIE_HOST_BRIDGE) &&
           mr == &PCIE_HOST_BRIDGE(owner)->mmio;
}

static Way way_of(PciMaster *m, MSIMessage msg)
{
    MemTxAttrs attrs = { .requester_id = pci_requester_id(m->pci) };
    hwaddr at, len = sizeof(uint32_t);
    MemoryRegion *mr;
    Object *owner;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(pci_get_address_space(m->pci), msg.address, &at,
                                 &len, true, attrs);
    if (memory_access_is_direct(mr, true, attrs)) {
        return NOW;
    }
    owner = memory_region_owner(mr);
    if (owner == OBJECT(m->pci)) {
        return NEVER;
    }
    if (is_sink(mr)) {
        return NOW;
    }
    if ((owner && is_config_space(mr, owner)) ||
        !memory_region_access_valid(mr, at, sizeof(uint32_t), true, attrs)) {
        return NEVER;
    }
    return LATE;
}

/* Nobody has got so many different addresses of messages but to do harm. */
static bool put_late(PciMaster *m, MSIMessage msg)
{
    for (unsigned i = 0; i < m->n_late; i++) {
        if (m->late[i].address == msg.address && m->late[i].data == msg.data) {
            return true;
        }
    }
    if (m->n_late == PCI_MASTER_LATE) {
        return false;
    }
    m->late[m->n_late++] = msg;
    qemu_bh_schedule(m->bh);
    return true;
}

static PciMaster *master_of(PCIDevice *pci)
{
    PciMaster *m;

    QLIST_FOREACH(m, &masters, next) {
        if (m->pci == pci) {
            break;
        }
    }
    return m;
}

static void trigger(PCIDevice *pci, MSIMessage msg)
{
    PciMaster *m = master_of(pci);
    Way way;

    if (!m || !is_master(m)) {
        return;
    }
    way = way_of(m, msg);
    if (way == NOW) {
        m->send(pci, msg);
    } else if (way == NEVER || !put_late(m, msg)) {
        m->msi_refused++;
        qemu_log_mask(LOG_GUEST_ERROR, "%s: interrupt message to 0x%" PRIx64
                      ": no interrupt controller is there\n", id_of(m),
                      msg.address);
    }
}

/* The bus has its own trigger put in after realize(). */
static void hook(PciMaster *m)
{
    if (m->pci->msi_trigger && m->pci->msi_trigger != trigger) {
        m->send = m->pci->msi_trigger;
        m->pci->msi_trigger = trigger;
    }
}

void pci_master_msix(PciMaster *m, unsigned vector)
{
    hook(m);
    msix_notify(m->pci, vector);
}

void pci_master_msi(PciMaster *m, unsigned vector)
{
    hook(m);
    msi_notify(m->pci, vector);
}

/* Whoever is told may take the function away. */
static void on_bh(void *opaque)
{
    PciMaster *m = opaque;
    PCIDevice *pci = m->pci;
    MSIMessage late[PCI_MASTER_LATE];
    unsigned n = m->n_late;

    hook(m);
    memcpy(late, m->late, n * sizeof(*late));
    m->n_late = 0;
    m->msi_late += n;
    object_ref(OBJECT(pci));
    for (unsigned i = 0; i < n && master_of(pci); i++) {
        m->send(pci, late[i]);
    }
    object_unref(OBJECT(pci));
}

/* ---- Life -------------------------------------------------------------------------- */

void pci_master_init(PciMaster *m, PCIDevice *pci)
{
    Object *obj = OBJECT(pci);

    m->pci = pci;
    m->bh = qemu_bh_new_guarded(on_bh, m, &DEVICE(pci)->mem_reentrancy_guard);
    m->n_late = 0;
    QLIST_INSERT_HEAD(&masters, m, next);
    qemu_bh_schedule(m->bh);
    m->dma_refused = m->msi_refused = m->msi_late = 0;
    /* What is no memory cannot be mapped, by a copy neither. */
    pci_get_address_space(pci)->max_bounce_buffer_size = 0;
    object_property_add_uint64_ptr(obj, "dma-refused", &m->dma_refused,
                                   OBJ_PROP_FLAG_READ);
    object_property_add_uint64_ptr(obj, "msi-refused", &m->msi_refused,
                                   OBJ_PROP_FLAG_READ);
    object_property_add_uint64_ptr(obj, "msi-late", &m->msi_late,
                                   OBJ_PROP_FLAG_READ);
}

void pci_master_fini(PciMaster *m)
{
    static const char *const names[] = { "dma-refused", "msi-refused",
                                         "msi-late" };

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        object_property_del(OBJECT(m->pci), names[i]);
    }
    QLIST_REMOVE(m, next);
    qemu_bh_delete(m->bh);
}
