/*
 * PCIe function "ncic-mthca": an InfiniBand adapter with the mem-free
 * InfiniHost interface whose packets travel as RoCEv2 on a QEMU netdev or
 * character device.
 *
 * Identity, BARs, interrupts and guest memory around the core in
 * hw/rdma/mthca; its wire and its turns are in mthca-wire.c, properties in
 * mthca-props.c, migration in mthca-vmstate.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "system/runstate.h"
#include "rdma/fault_props.h"
#include "mthca-pci.h"
#include "trace.h"

/* Capabilities, where the adapter of these ids has them. */
#define CAP_PM      0x40
#define CAP_EXP     0x60
#define CAP_MSIX    0x84
#define CAP_MSI     0x90

/* ---- outside of the cores ---- */

static bool mthca_op_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    return pci_master_read(&((NcicMthca *)opaque)->master, addr, buf, len);
}

static bool mthca_op_write(void *opaque, uint64_t addr, const void *buf,
                           size_t len)
{
    return pci_master_write(&((NcicMthca *)opaque)->master, addr, buf, len);
}

static void *mthca_op_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
    return pci_master_map(&((NcicMthca *)opaque)->master, addr, len, write);
}

static void mthca_op_unmap(void *opaque, void *p, size_t len, bool write)
{
    pci_master_unmap(&((NcicMthca *)opaque)->master, p, len, write);
}

static void mthca_op_kick(void *opaque)
{
    NcicMthca *s = opaque;

    if (s->end.working) {
        s->kicked = true;       /* who works now looks at it */
    } else {
        qemu_bh_schedule(s->bh);
    }
}

static void mthca_op_log(void *opaque, uint32_t number, const char *rule,
                         const char *text)
{
    NcicMthca *s = opaque;

    trace_mthca_rule(mthca_id(s), rule, text, number);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: %s: %s (0x%x)\n", mthca_id(s), rule,
                  text, number);
}

static void mthca_op_qp_state(void *opaque, uint32_t qpn, RdmaQpState from,
                              RdmaQpState to, const char *cause)
{
    trace_mthca_qp_state(mthca_id(opaque), qpn, from, to, cause);
}

static void mthca_op_packet(void *opaque, bool tx, uint8_t opcode,
                            uint32_t dqpn, uint32_t psn, uint32_t payload)
{
    trace_mthca_packet(mthca_id(opaque), tx, opcode, dqpn, psn, payload);
}

static const RdmaOps mthca_rdma_ops = {
    .read = mthca_op_read,
    .write = mthca_op_write,
    .map = mthca_op_map,
    .unmap = mthca_op_unmap,
    .wire_tx = mthca_wire_tx,
    .kick = mthca_op_kick,
    .log = mthca_op_log,
    .qp_state = mthca_op_qp_state,
    .packet = mthca_op_packet,
};

static void mthca_op_msix(void *opaque, unsigned vector)
{
    NcicMthca *s = opaque;

    trace_mthca_interrupt(mthca_id(s), vector, 1);
    pci_master_msix(&s->master, vector);
}

static void mthca_op_intx(void *opaque, bool level)
{
    PCIDevice *pci = opaque;

    trace_mthca_interrupt(mthca_id(opaque), -1, level);
    if (!msi_enabled(pci)) {
        pci_set_irq(pci, level);
    } else if (level) {
        pci_master_msi(&((NcicMthca *)opaque)->master, 0);
    }
}

static uint64_t mthca_op_bar0_addr(void *opaque)
{
    pcibus_t addr = pci_get_bar_addr(opaque, 0);

    return addr == PCI_BAR_UNMAPPED ? 0 : addr;
}

static void mthca_op_reset(void *opaque)
{
    NcicMthca *s = opaque;

    trace_mthca_reset(mthca_id(s), "reset register");
    timer_del(s->timer);
    mthca_reset(s->core);
    rdma_qmp_port(s->qmp);
}

static void mthca_op_command(void *opaque, const char *name, uint16_t opcode,
                             uint32_t in_mod, uint8_t op_mod, uint8_t status)
{
    trace_mthca_command(mthca_id(opaque), name, opcode, in_mod, op_mod,
                        status);
}

static void mthca_op_eqe(void *opaque, uint32_t eqn, uint8_t type,
                         uint32_t data)
{
    trace_mthca_eqe(mthca_id(opaque), eqn, type, data);
}

static void mthca_op_port(void *opaque, uint8_t state, uint16_t lid)
{
    NcicMthca *s = opaque;

    trace_mthca_port(mthca_id(s), state, lid);
    rdma_qmp_port(s->qmp);
}

static const MthcaOps mthca_ops = {
    .msix = mthca_op_msix,
    .intx = mthca_op_intx,
    .bar0_addr = mthca_op_bar0_addr,
    .reset = mthca_op_reset,
    .command = mthca_op_command,
    .eqe = mthca_op_eqe,
    .port = mthca_op_port,
};

/* ---- work ---- */

static void mthca_poll(void *opaque)
{
    NcicMthca *s = opaque;

    if (s->ack_waits) {
        s->answers = false;     /* not this time */
    }
    mthca_work(s, MTHCA_TURN);
}

static void mthca_vm_state(void *opaque, bool running, RunState state)
{
    NcicMthca *s = opaque;

    if (running) {
        qemu_bh_schedule(s->bh);
    }
}

/* ---- registers ---- */

/*
 * A processor may have looked up a BAR before another one took the device away,
 * and come when it is gone: there is nobody then.
 */
static bool is_gone(NcicMthca *s)
{
    return !qdev_is_realized(DEVICE(s));
}

static uint64_t mthca_mmio_bar0_read(void *opaque, hwaddr addr, unsigned size)
{
    NcicMthca *s = opaque;
    uint32_t val;

    if (is_gone(s)) {
        return UINT64_MAX;
    }
    val = mthca_bar0_read(s->core, addr);
    trace_mthca_bar0_read(mthca_id(s), addr, val);
    return val;
}

static void mthca_mmio_bar0_write(void *opaque, hwaddr addr, uint64_t val,
                                  unsigned size)
{
    NcicMthca *s = opaque;

    if (is_gone(s)) {
        return;
    }
    trace_mthca_bar0_write(mthca_id(s), addr, val);
    mthca_bar0_write(s->core, addr, val);
}

static const MemoryRegionOps mthca_bar0_ops = {
    .read = mthca_mmio_bar0_read,
    .write = mthca_mmio_bar0_write,
    .endianness = DEVICE_BIG_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

static uint64_t mthca_mmio_uar_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void mthca_mmio_uar_write(void *opaque, hwaddr addr, uint64_t val,
                                 unsigned size)
{
    NcicMthca *s = opaque;

    if (is_gone(s)) {
        return;
    }
    trace_mthca_doorbell(mthca_id(s), addr, val, size);
    if (!s->inline_budget || s->end.working) {
        mthca_uar_write(s->core, addr, val, size);
        return;
    }
    s->end.working = true;
    s->kicked = false;
    mthca_uar_write(s->core, addr, val, size);
    s->end.working = false;
    if (s->kicked) {
        /*
         * The processor that rang sends: no other thread has to wake up
         * first.  Before, it takes what has come: an ACK makes room for more.
         * What is left over is for the bottom half.
         */
        wire_end_look(&s->end);
        s->inline_polls++;
        s->answers = rdma_shell_now() - s->input_at < MTHCA_ANSWER_NS;
        mthca_work(s, s->inline_budget);
    }
}

static const MemoryRegionOps mthca_uar_ops = {
    .read = mthca_mmio_uar_read,
    .write = mthca_mmio_uar_write,
    .endianness = DEVICE_BIG_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};

static RdmaQmpPort mthca_port(Object *obj)
{
    const NcicMthca *s = NCIC_MTHCA(obj);

    return (RdmaQmpPort) {
        .link_up = mthca_link(s->core), .state = mthca_port_state(s->core),
        .lid = mthca_port_lid(s->core),
    };
}

/* ---- life ---- */

static bool mthca_add_caps(PCIDevice *pci, NcicMthca *s, Error **errp)
{
    if (pci_pm_init(pci, CAP_PM, errp) < 0) {
        return false;
    }
    if (pci_bus_is_express(pci_get_bus(pci)) &&
        pcie_endpoint_cap_v1_init(pci, CAP_EXP) < 0) {
        error_setg(errp, "cannot add the PCI Express capability");
        return false;
    }
    if (msix_init(pci, MTHCA_MSIX_VECTORS, &s->bar0, 0, MTHCA_MSIX_TABLE,
                  &s->bar0, 0, MTHCA_MSIX_PBA, CAP_MSIX, errp) < 0) {
        return false;
    }
    for (unsigned v = 0; v < MTHCA_MSIX_VECTORS; v++) {
        msix_vector_use(pci, v);
    }
    if (msi_init(pci, CAP_MSI, 1, true, false, errp) < 0) {
        msix_uninit(pci, &s->bar0, &s->bar0);
        return false;
    }
    return true;
}

static void mthca_realize(PCIDevice *pci, Error **errp)
{
    NcicMthca *s = NCIC_MTHCA(pci);

    if (!wire_end_check(&s->end, errp)) {
        return;
    }
    if (!mthca_config(s, errp)) {
        wire_end_free(&s->end);
        return;
    }
    s->cfg.ops = &mthca_ops;
    s->cfg.rdma.ops = &mthca_rdma_ops;
    s->cfg.rdma.ops_opaque = s;
    pci->config[PCI_INTERRUPT_PIN] = 1;
    memory_region_init_io(&s->bar0, OBJECT(s), &mthca_bar0_ops, s,
                          "ncic-mthca.bar0", MTHCA_BAR0_SIZE);
    memory_region_init_io(&s->bar2, OBJECT(s), &mthca_uar_ops, s,
                          "ncic-mthca.uar", MTHCA_BAR2_SIZE);
    pci_register_bar(pci, 0, PCI_BASE_ADDRESS_MEM_TYPE_64, &s->bar0);
    pci_register_bar(pci, 2, PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->bar2);
    if (!mthca_add_caps(pci, s, errp)) {
        wire_end_free(&s->end);
        return;
    }
    pci_master_init(&s->master, pci);
    s->bh = qemu_bh_new_guarded(mthca_poll, s,
                                &DEVICE(s)->mem_reentrancy_guard);
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, mthca_op_kick, s);
    s->core = mthca_new(&s->cfg);
    rdma_fault_begin(mthca_rdma(s->core), s->fault);
    mthca_add_counters(s);
    mthca_wire_init(s);
    s->qmp = rdma_qmp_add(OBJECT(s), mthca_rdma(s->core), "mthca", mthca_port);
    s->vmstate_entry = qemu_add_vm_change_state_handler(mthca_vm_state, s);
}

static void mthca_exit(PCIDevice *pci)
{
    NcicMthca *s = NCIC_MTHCA(pci);

    qemu_del_vm_change_state_handler(s->vmstate_entry);
    rdma_qmp_remove(s->qmp);
    s->qmp = NULL;
    timer_free(s->timer);
    qemu_bh_delete(s->bh);
    wire_end_free(&s->end);
    mthca_remove_counters(s);
    mthca_free(s->core);
    s->core = NULL;
    pci_master_fini(&s->master);
    msi_uninit(pci);
    msix_uninit(pci, &s->bar0, &s->bar0);
    g_free(s->state);
}

static void mthca_reset_hold(Object *obj, ResetType type)
{
    NcicMthca *s = NCIC_MTHCA(obj);

    trace_mthca_reset(mthca_id(s), "function reset");
    s->answers = false;
    s->input_at = -MTHCA_ANSWER_NS;
    timer_del(s->timer);
    qemu_bh_cancel(s->bh);
    mthca_reset(s->core);
    rdma_qmp_port(s->qmp);
}

static void mthca_class_init(ObjectClass *klass, QemuClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    k->realize = mthca_realize;
    k->exit = mthca_exit;
    k->vendor_id = MTHCA_PCI_VENDOR;
    k->device_id = MTHCA_PCI_DEVICE_SINAI;
    k->subsystem_vendor_id = MTHCA_PCI_VENDOR;
    k->subsystem_id = MTHCA_PCI_DEVICE_SINAI;
    k->revision = 0xa0;
    k->class_id = MTHCA_PCI_CLASS;
    rc->phases.hold = mthca_reset_hold;
    dc->desc = "InfiniBand adapter, mem-free InfiniHost interface on RoCEv2";
    dc->vmsd = &mthca_vmstate;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    mthca_class_props(klass);
}

static const TypeInfo mthca_type = {
    .name = TYPE_NCIC_MTHCA,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(NcicMthca),
    .class_init = mthca_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { }
    },
};

static void mthca_register_types(void)
{
    type_register_static(&mthca_type);
}
type_init(mthca_register_types)
