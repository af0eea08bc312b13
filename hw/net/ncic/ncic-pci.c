/*
 * NCIC NIC: the PCIe function "ncic-nic" (ETH 3.3.5, interface 3.1)
 *
 * Identity, BARs, MSI-X, bottom halves and network backend around the Ethernet
 * engine; the RDMA engine of the same function is in ncic-rdma.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "qapi/qapi-events-ncic.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "net/net.h"
#include "system/runstate.h"
#include "system/system.h"
#include "core/qemu_qdev.h"
#include "wire/qemu_names.h"
#include "ncic-pci.h"
#include "trace.h"

/* ---- Interrupts ---------------------------------------------------------------- */

static void send_msix(NcicState *s, unsigned vector)
{
    PCIDevice *pci = &s->parent_obj;

    trace_ncic_msix(ncic_id(s), vector);
    if (!msix_enabled(pci) && msi_enabled(pci)) {
        pci_master_msi(&s->master, 0);
    } else {
        pci_master_msix(&s->master, vector);
    }
}

static void send_waiting(NcicState *s)
{
    unsigned long v = 0;

    while ((v = find_next_bit(s->irq_waiting, s->vectors, v)) < s->vectors) {
        clear_bit(v, s->irq_waiting);
        send_msix(s, v);
    }
}

/*
 * Transmission announces its completions when the batch is done, so that the
 * driver finds them all at once.  Reception announces the first frame at once
 * and leaves the rest to irq-coalesce.
 */
static void on_msix(void *opaque, unsigned vector)
{
    NcicState *s = opaque;

    if ((s->tx_running && s->irq_coalesce) || !runstate_is_running()) {
        set_bit(vector, s->irq_waiting);
    } else {
        send_msix(s, vector);
    }
}

void ncic_nic_rdma_msix(NcicState *nic, unsigned vector)
{
    if (vector >= nic->vectors) {
        ncic_eth_guest_error(&nic->eth, NCIC_E_INDEX, vector, nic->vectors);
        return;
    }
    send_msix(nic, nic->rdma_vector_base + vector);
}

/* ---- Engine events --------------------------------------------------------------- */

static void on_kick_tx(void *opaque)
{
    qemu_bh_schedule(((NcicState *)opaque)->tx_bh);
}

static void tx_run(NcicState *s, unsigned budget)
{
    bool more;

    if (!runstate_is_running()) {
        return;                 /* vm_state_change() looks again */
    }
    s->tx_running = true;
    more = ncic_eth_tx_run(&s->eth, budget);
    s->tx_running = false;
    send_waiting(s);
    if (more) {
        qemu_bh_schedule(s->tx_bh);
    }
}

static void tx_bh(void *opaque)
{
    tx_run(opaque, NCIC_TX_BUDGET);
}

/*
 * Waking the main loop costs more than sending a frame, and the two threads
 * would then contend for the big lock.  Not while the engine runs further up
 * the stack, where a network backend may have come back to us.
 */
static void on_doorbell_tx(void *opaque)
{
    NcicState *s = opaque;

    if (s->tx_inline && !s->tx_running) {
        tx_run(s, s->tx_inline);
    } else {
        on_kick_tx(s);
    }
}

static void on_kick_rx(void *opaque)
{
    qemu_bh_schedule(((NcicState *)opaque)->rx_bh);
}

static void on_guest_error(void *opaque, unsigned error, const char *text,
                           uint64_t a, uint64_t b)
{
    NcicState *s = opaque;

    trace_ncic_guest_error(ncic_id(s), text, a, b);
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: %s (0x%" PRIx64 ", 0x%" PRIx64 ")\n",
                  ncic_id(s), text, a, b);
}

static void on_dropped(void *opaque, unsigned counter, size_t len)
{
    trace_ncic_drop(ncic_id(opaque), ncic_counter_name(counter), len);
}

/* A packet leaves the peer's queue: sent, or (0) thrown away. */
static void tx_done(NetClientState *nc, NcicSource src, ssize_t len)
{
    NcicState *s = qemu_get_nic_opaque(nc);

    if (wire_backlog_left(&s->backlog)) {
        ncic_eth_tx_done(&s->eth, src, len > 0);
    }
}

static void eth_tx_done(NetClientState *nc, ssize_t len)
{
    tx_done(nc, NCIC_SRC_ETH, len);
}

static void roce_tx_done(NetClientState *nc, ssize_t len)
{
    tx_done(nc, NCIC_SRC_ROCE, len);
}

static bool wire_tx(void *opaque, NcicSource src, const void *frame,
                    size_t len)
{
    static NetPacketSent *const done[] = {
        [NCIC_SRC_ETH] = eth_tx_done,
        [NCIC_SRC_ROCE] = roce_tx_done,
    };
    NcicState *s = opaque;
    ssize_t ret = wire_backlog_send(&s->backlog, frame, len, done[src]);

    trace_ncic_tx(ncic_id(s), src == NCIC_SRC_ROCE, len, ret);
    /* 0: the packet waits in the peer's queue, done[] follows. */
    return ret;
}

static const NcicEthOps eth_ops = {
    .dma_ok       = ncic_dma_ok,
    .read         = ncic_dma_read,
    .write        = ncic_dma_write,
    .map          = ncic_dma_map,
    .unmap        = ncic_dma_unmap,
    .desc_read    = ncic_dma_desc_read,
    .cpl_write    = ncic_dma_cpl_write,
    .ring_changed = ncic_dma_ring_changed,
    .tx           = wire_tx,
    .msix         = on_msix,
    .kick_tx      = on_kick_tx,
    .doorbell_tx  = on_doorbell_tx,
    .kick_rx      = on_kick_rx,
    .guest_error  = on_guest_error,
    .dropped      = on_dropped,
};

/* Not guarded against re-entrance: it only asks the backend, whose frames come
 * back to us through nic_receive(), and that is. */
static void rx_bh(void *opaque)
{
    NcicState *s = opaque;

    qemu_flush_queued_packets(qemu_get_queue(s->nic));
}

/* ---- Network backend --------------------------------------------------------------- */

static bool nic_can_receive(NetClientState *nc)
{
    NcicState *s = qemu_get_nic_opaque(nc);

    return ncic_eth_can_rx(&s->eth);
}

static ssize_t nic_receive(NetClientState *nc, const uint8_t *buf, size_t len)
{
    NcicState *s = qemu_get_nic_opaque(nc);
    NcicRxResult res = ncic_eth_rx(&s->eth, buf, len);

    trace_ncic_rx(ncic_id(s), len, res);
    return res == NCIC_RX_HELD ? 0 : len;
}

static void nic_link_status(NetClientState *nc)
{
    NcicState *s = qemu_get_nic_opaque(nc);

    g_autofree char *path = object_get_canonical_path(OBJECT(s));
    bool was = s->eth.ncsr[NCIC_R_LINK_STATUS] & NCIC_LINK_UP;

    trace_ncic_link(ncic_id(s), !nc->link_down);
    ncic_eth_set_link(&s->eth, !nc->link_down);
    if (was == nc->link_down) {
        qapi_event_send_ncic_link_changed(path, !was);
    }
    if (s->rdma) {
        ncic_rdma_link_changed(s->rdma);
    }
}

static NetClientInfo net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = nic_can_receive,
    .receive = nic_receive,
    .link_status_changed = nic_link_status,
};

/* ---- Reset -------------------------------------------------------------------------- */

void ncic_reset_engines(NcicState *s, const char *cause)
{
    trace_ncic_reset(ncic_id(s), cause);
    ncic_eth_reset(&s->eth);
    bitmap_zero(s->irq_waiting, NCIC_MSIX_VECTORS_MAX);
    if (s->rdma) {
        ncic_rdma_reset(s->rdma);
    }
}

static void ncic_reset_hold(Object *obj, ResetType type)
{
    PCIDevice *pci = PCI_DEVICE(obj);

    ncic_reset_engines(NCIC_NIC(obj), "function reset");
    pci_word_test_and_clear_mask(pci->config + NCIC_PCI_CAP_PM + PCI_PM_CTRL,
                                 PCI_PM_CTRL_STATE_MASK);
    pcie_cap_deverr_reset(pci);
    pci_set_word(pci->config + pci->exp.exp_cap + PCI_EXP_DEVCTL,
                 PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_EXT_TAG |
                 PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B);
}

/* DMA is possible again, or the machine runs. */
static void restart_engines(NcicState *s)
{
    ncic_eth_restart(&s->eth);
    if (s->rdma) {
        ncic_rdma_restart(s->rdma);
    }
}

/* ---- BAR0: registers ------------------------------------------------------------------ */

/*
 * A processor may have looked up a BAR before another one took the device away,
 * and come when it is gone: there is nobody then.
 */
static bool is_gone(NcicState *s)
{
    return !qdev_is_realized(DEVICE(s));
}

static uint64_t csr_read(void *opaque, hwaddr addr, unsigned size)
{
    NcicState *s = opaque;
    uint32_t off, val = 0;
    NcicWindow win = ncic_bar0_decode(s->layout, addr, &off);

    if (is_gone(s)) {
        return UINT64_MAX;
    }
    switch (win) {
    case NCIC_WIN_HCR:
        if (s->rdma) {
            val = ncic_rdma_hcr_read(s->rdma, off);
        }
        break;
    case NCIC_WIN_INIT_DONE:
        val = 1;
        break;
    case NCIC_WIN_RESET:
    case NCIC_WIN_NONE:
        break;
    default:
        val = ncic_eth_reg_read(&s->eth, win, off);
        break;
    }
    trace_ncic_reg_read(ncic_id(s), addr, val);
    return val;
}

static void csr_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    NcicState *s = opaque;
    uint32_t off;
    NcicWindow win = ncic_bar0_decode(s->layout, addr, &off);

    if (is_gone(s)) {
        return;
    }
    trace_ncic_reg_write(ncic_id(s), addr, val);
    switch (win) {
    case NCIC_WIN_HCR:
        if (s->rdma) {
            ncic_rdma_hcr_write(s->rdma, off, val);
        } else {
            ncic_eth_guest_error(&s->eth, NCIC_E_ACCESS, addr, val);
        }
        break;
    case NCIC_WIN_RESET:
        if (val & NCIC_RESET_START) {
            ncic_reset_engines(s, "reset register");
        }
        break;
    case NCIC_WIN_INIT_DONE:
    case NCIC_WIN_NONE:
        ncic_eth_guest_error(&s->eth, NCIC_E_ACCESS, addr, val);
        break;
    default:
        ncic_eth_reg_write(&s->eth, win, off, val);
        break;
    }
}

/* ETH 3.3.1.1: registers are accessed by full dwords only. */
static const MemoryRegionOps csr_ops = {
    .read = csr_read,
    .write = csr_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

/* ---- BAR2: UAR pages --------------------------------------------------------------------- */

static uint64_t uar_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void uar_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    NcicState *s = opaque;

    if (is_gone(s)) {
        return;
    }
    trace_ncic_uar_write(ncic_id(s), addr, val, size);
    if (s->rdma) {
        ncic_rdma_uar_write(s->rdma, addr, val, size);
    } else {
        ncic_eth_guest_error(&s->eth, NCIC_E_ACCESS, addr, val);
    }
}

static const MemoryRegionOps uar_ops = {
    .read = uar_read,
    .write = uar_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};

/* ---- Configuration space --------------------------------------------------------------------- */

/* ETH figure 3-7. */
static bool add_express_cap(NcicState *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint8_t *exp;
    uint8_t *wmask;

    if (pcie_endpoint_cap_init(pci, NCIC_PCI_CAP_EXP) < 0) {
        error_setg(errp, "cannot add the PCI Express capability");
        return false;
    }
    exp = pci->config + NCIC_PCI_CAP_EXP;
    wmask = pci->wmask + NCIC_PCI_CAP_EXP;
    /* 512-byte payloads, 75 W slot */
    pci_set_long(exp + PCI_EXP_DEVCAP,
                 PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_EXT_TAG | 2 | 75u << 18);
    pci_set_word(wmask + PCI_EXP_DEVCTL,
                 PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_READRQ |
                 PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN |
                 PCI_EXP_DEVCTL_EXT_TAG);
    pcie_cap_deverr_init(pci);
    /* Completion timeout range B */
    pci_set_long(exp + PCI_EXP_DEVCAP2, 2);
    pci_set_word(wmask + PCI_EXP_DEVCTL2, PCI_EXP_DEVCTL2_COMP_TIMEOUT);
    if (pcie_cap_get_type(pci) == PCI_EXP_TYPE_ENDPOINT) {
        /* 5 GT/s x8, no ASPM, exit latencies unlimited */
        pci_set_long(exp + PCI_EXP_LNKCAP,
                     PCI_EXP_LNKCAP_SLS_5_0GB | 8u << 4 |
                     PCI_EXP_LNKCAP_L0SEL | PCI_EXP_LNKCAP_L1EL);
        pci_set_word(exp + PCI_EXP_LNKSTA,
                     PCI_EXP_LNKSTA_CLS_5_0GB | 8u << 4 | PCI_EXP_LNKSTA_SLC);
        pci_set_word(exp + PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS_5_0GT);
    }
    if (s->flr) {
        pcie_cap_flr_init(pci);
    }
    return pcie_aer_init(pci, PCI_ERR_VER, NCIC_PCI_ECAP_AER, PCI_ERR_SIZEOF,
                         errp) >= 0;
}

static bool add_capabilities(NcicState *s, Error **errp)
{
    bool rtl = s->layout == NCIC_LAYOUT_RTL;
    PCIDevice *pci = PCI_DEVICE(s);
    unsigned n = rtl ? 2 * NCIC_MSIX_VECTORS : s->vectors;

    if (pci_pm_init(pci, NCIC_PCI_CAP_PM, errp) < 0) {
        return false;
    }
    pci_set_word(pci->config + NCIC_PCI_CAP_PM + PCI_PM_PMC, 3);
    pci_set_word(pci->config + NCIC_PCI_CAP_PM + PCI_PM_CTRL,
                 PCI_PM_CTRL_NO_SOFT_RESET);
    pci_set_word(pci->wmask + NCIC_PCI_CAP_PM + PCI_PM_CTRL,
                 PCI_PM_CTRL_STATE_MASK);
    if (msi_init(pci, NCIC_PCI_CAP_MSI, 1, true, false, errp) < 0 ||
        msix_init(pci, n, &s->bar0, NCIC_BAR_CSR,
                  rtl ? NCIC_RTL_MSIX_TABLE : NCIC_MSIX_TABLE,
                  &s->bar0, NCIC_BAR_CSR,
                  rtl ? NCIC_RTL_MSIX_PBA : NCIC_MSIX_PBA,
                  NCIC_PCI_CAP_MSIX, errp) < 0) {
        return false;
    }
    for (unsigned v = 0; v < n; v++) {
        msix_vector_use(pci, v);
    }
    /* The hardware sources have a second table, right behind, for RDMA. */
    s->rdma_vector_base = rtl ? NCIC_MSIX_VECTORS : 0;
    return add_express_cap(s, errp);
}

static void ncic_config_write(PCIDevice *pci, uint32_t addr, uint32_t val,
                              int len)
{
    NcicState *s = NCIC_NIC(pci);
    bool was = ncic_dma_ok(s);

    pci_default_write_config(pci, addr, val, len);
    pcie_aer_write_config(pci, addr, val, len);
    if (s->flr) {
        pcie_cap_flr_write_config(pci, addr, val, len);
    }
    if (!was && ncic_dma_ok(s)) {
        restart_engines(s);
    }
}

/* ---- Life -------------------------------------------------------------------------------------- */

static void vm_state_change(void *opaque, bool running, RunState state)
{
    NcicState *s = opaque;

    if (running) {
        send_waiting(s);
        restart_engines(s);
    }
}

static void ncic_exit(PCIDevice *pci);

static void ncic_realize(PCIDevice *pci, Error **errp)
{
    NcicState *s = NCIC_NIC(pci);
    DeviceState *dev = DEVICE(pci);
    NcicEthConfig cfg;

    s->id = dev->id ? dev->id : TYPE_NCIC_NIC;
    if (!ncic_props_check(s, &cfg, errp)) {
        return;
    }
    pci->config_write = ncic_config_write;
    /* The pin is advertised and never driven. */
    pci->config[PCI_INTERRUPT_PIN] = 1;

    memory_region_init(&s->bar0, OBJECT(s), "ncic-bar0", NCIC_BAR_CSR_SIZE);
    memory_region_init_io(&s->csr, OBJECT(s), &csr_ops, s, "ncic-csr",
                          NCIC_BAR_CSR_SIZE);
    memory_region_add_subregion_overlap(&s->bar0, 0, &s->csr, -1);
    memory_region_init_io(&s->bar2, OBJECT(s), &uar_ops, s, "ncic-uar",
                          NCIC_BAR_UAR_SIZE);
    pci_register_bar(pci, NCIC_BAR_CSR, PCI_BASE_ADDRESS_MEM_TYPE_64,
                     &s->bar0);
    pci_register_bar(pci, NCIC_BAR_UAR, PCI_BASE_ADDRESS_MEM_TYPE_64,
                     &s->bar2);

    pci_master_init(&s->master, pci);
    s->tx_bh = qemu_bh_new_guarded(tx_bh, s, &dev->mem_reentrancy_guard);
    s->rx_bh = qemu_bh_new(rx_bh, s);
    ncic_dma_init(s);
    ncic_eth_init(&s->eth, &cfg, &eth_ops, s);
    s->nic = qemu_new_nic(&net_info, &s->conf, TYPE_NCIC_NIC, dev->id,
                          &dev->mem_reentrancy_guard, s);
    wire_backlog_init(&s->backlog, s->nic);
    qemu_format_nic_info_str(qemu_get_queue(s->nic), s->conf.macaddr.a);
    ncic_eth_set_link(&s->eth, !qemu_get_queue(s->nic)->link_down);
    s->vmstate = qemu_add_vm_change_state_handler(vm_state_change, s);

    if (!add_capabilities(s, errp)) {
        ncic_exit(pci);
        return;
    }
    if (s->use_rdma) {
        s->rdma = ncic_rdma_create(s);
    }
    if (s->rdma) {
        ncic_roce_attach(&s->eth, &ncic_rdma_sink, s->rdma);
        ncic_rdma_link_changed(s->rdma);
    }
}

static void ncic_exit(PCIDevice *pci)
{
    NcicState *s = NCIC_NIC(pci);

    ncic_roce_attach(&s->eth, NULL, NULL);
    if (s->rdma) {
        ncic_rdma_destroy(s->rdma);
        s->rdma = NULL;
    }
    qemu_del_vm_change_state_handler(s->vmstate);
    wire_backlog_fini(&s->backlog);
    qemu_del_nic(s->nic);
    if (pci->exp.aer_cap) {
        pcie_aer_exit(pci);
    }
    if (pci->exp.exp_cap) {
        pcie_cap_exit(pci);
    }
    if (msix_present(pci)) {
        msix_unuse_all_vectors(pci);
        msix_uninit(pci, &s->bar0, &s->bar0);
    }
    msi_uninit(pci);
    /* A subregion holds a reference to its owner: ourselves. */
    memory_region_del_subregion(&s->bar0, &s->csr);
    ncic_dma_fini(s);
    pci_master_fini(&s->master);
    qemu_bh_delete(s->tx_bh);
    qemu_bh_delete(s->rx_bh);
    ncic_eth_fini(&s->eth);
}

static void ncic_instance_init(Object *obj)
{
    NcicState *s = NCIC_NIC(obj);

    for (unsigned i = 0; i < NCIC_C_COUNT; i++) {
        object_property_add_uint64_ptr(obj, ncic_counter_name(i),
                                       &s->eth.counter[i], OBJ_PROP_FLAG_READ);
        object_property_set_description(obj, ncic_counter_name(i),
            "counter of the Ethernet engine, cannot be set");
    }
    object_property_add_uint32_ptr(obj, "error-status",
                                   &s->eth.ncsr[NCIC_R_ERR_STATUS],
                                   OBJ_PROP_FLAG_READ);
    object_property_set_description(obj, "error-status",
        "register ERR_STATUS, a bit for each kind of error, cannot be set");
    device_add_bootindex_property(obj, &s->conf.bootindex, "bootindex",
                                  "/ethernet-phy@0", DEVICE(obj));
}

static void ncic_class_init(ObjectClass *klass, QemuClassData *data)
{
    ResettableClass *rc = RESETTABLE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    DeviceClass *dc = DEVICE_CLASS(klass);

    k->realize = ncic_realize;
    k->exit = ncic_exit;
    k->vendor_id = NCIC_PCI_VENDOR_ID;
    k->device_id = NCIC_PCI_DEVICE_ID;
    k->subsystem_vendor_id = NCIC_PCI_SUBSYSTEM_VENDOR_ID;
    k->subsystem_id = NCIC_PCI_SUBSYSTEM_ID;
    k->class_id = NCIC_PCI_CLASS;
    rc->phases.hold = ncic_reset_hold;
    dc->desc = "NCIC NIC (Ethernet and RDMA)";
    dc->vmsd = &vmstate_ncic;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    ncic_props_class_init(dc);
    ncic_fault_class_init(klass);
    ncic_rdma_class_init(klass);
}

static const TypeInfo ncic_types[] = {
    {
        .name = TYPE_NCIC_NIC,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(NcicState),
        .instance_init = ncic_instance_init,
        .class_init = ncic_class_init,
        .interfaces = (InterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { }
        },
    },
};

DEFINE_TYPES(ncic_types)
