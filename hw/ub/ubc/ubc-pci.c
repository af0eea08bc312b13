/*
 * ubc, the UB controller as a PCIe function.
 *
 * The shell around the core of ub/ubc.h: BAR0, MSI-X, DMA, chardevs, time,
 * properties, migration and traces.  No protocol is in here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "qemu/error-report.h"
#include "qemu/guest-random.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "migration/vmstate.h"
#include "system/runstate-action.h"
#include "system/runstate.h"
#include "core/pci_store.h"
#include "ub/scrambler.h"
#include "ubc-pci.h"
#include "trace.h"

static const char *ubc_pci_id(UbcPci *s)
{
    const char *id = DEVICE(s)->id;

    return id ? id : TYPE_UBC;
}

/* ---- Capture --------------------------------------------------------------- */

static void on_capture_packet(void *opaque, unsigned port, bool sent,
                              unsigned cfg, unsigned vl, const uint8_t *data,
                              size_t len)
{
    UbcPci *s = opaque;

    ub_capture_packet(s->capture, ubc_pci_now(s), port, sent, cfg, vl, data, len);
}

static void on_capture_block(void *opaque, unsigned port, bool sent,
                             const uint8_t *block, unsigned flits)
{
    UbcPci *s = opaque;

    ub_capture_block(s->capture, ubc_pci_now(s), port, sent, block, flits);
}

static void on_capture_training(void *opaque, unsigned port, bool sent,
                                unsigned lane, const uint8_t ltb[UB_LTB],
                                unsigned n)
{
    UbcPci *s = opaque;

    ub_capture_training(s->capture, ubc_pci_now(s), port, sent, lane, ltb, n);
}

/* Readers can follow the file, and it is whole if the process is killed. */
static void ubc_pci_capture_flush(UbcPci *s)
{
    int error = s->capture ? ub_capture_flush(s->capture) : 0;

    if (error) {
        warn_report("%s: the capture in '%s' ends here: %s", ubc_pci_id(s),
                    s->pcap, strerror(error));
    }
}

/* The device's clock, as time since 1970, so that captures of several
 * processes can be merged. */
static bool ubc_pci_capture_start(UbcPci *s, UbcOps *ops, Error **errp)
{
    if (!s->pcap) {
        return true;
    }
    s->capture = ub_capture_new(s->pcap, ubc_pci_id(s),
                                MIN(s->ports, UBC_MAX_PORTS),
                                qemu_clock_get_ns(QEMU_CLOCK_HOST) -
                                ubc_pci_now(s));
    if (!s->capture) {
        error_setg_file_open(errp, errno, s->pcap);
        return false;
    }
    ops->capture_packet = on_capture_packet;
    if (s->pcap_blocks) {
        ops->capture_block = on_capture_block;
        ops->capture_training = on_capture_training;
    }
    return true;
}

/* ---- Work, time, interrupts ---------------------------------------------- */

static void ubc_pci_run(void *opaque)
{
    UbcPci *s = opaque;
    QEMUTimer *timer;
    int64_t next, now;

    ubc_pci_lock_run(s);
    next = ubc_run(s->ubc, ubc_pci_now(s));
    ubc_pci_capture_flush(s);
    now = ubc_pci_now(s);
    timer = s->stopped_at < 0 ? s->timer : s->stopped_timer;
    qemu_mutex_unlock(&s->lock);
    timer_del(timer == s->timer ? s->stopped_timer : s->timer);
    if (next == INT64_MAX) {
        timer_del(timer);
    } else {
        QEMUClockType clock = timer == s->timer ? s->clock
                                                : QEMU_CLOCK_REALTIME;

        timer_mod_ns(timer, qemu_clock_get_ns(clock) + MAX(next - now, 0));
    }
}

static void on_kick(void *opaque)
{
    UbcPci *s = opaque;

    if (!s->runs) {
        qemu_bh_schedule(s->run_bh);
    }
}

/*
 * A message may be addressed to any device, this one among them: interrupts
 * are noted here, where the lock is held, and leave when it is not, in the main
 * loop and under the BQL.
 */
static void on_interrupt(void *opaque, unsigned vector)
{
    UbcPci *s = opaque;

    trace_ubc_interrupt(ubc_pci_id(s), vector);
    s->irqs |= 1u << vector;
    qemu_bh_schedule(s->irq_bh);
}

/* Guarded: a message to our own registers is refused. */
static void ubc_pci_irq_bh(void *opaque)
{
    UbcPci *s = opaque;
    uint32_t irqs;

    qemu_mutex_lock(&s->lock);
    irqs = s->irqs;
    s->irqs = 0;
    qemu_mutex_unlock(&s->lock);
    while (irqs) {
        msix_notify(PCI_DEVICE(s), ctz32(irqs));
        irqs &= irqs - 1;
    }
}

/* ---- Guest memory ---------------------------------------------------------- */

/*
 * Rings and buffers are RAM.  An access to a register of a device would need
 * the BQL inside our lock, and could come back to our own BAR.
 */
static const MemTxAttrs ram_only = { .memory = true };

static bool on_dma_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    UbcPci *s = opaque;

    if (pci_dma_rw(PCI_DEVICE(s), addr, buf, len, DMA_DIRECTION_TO_DEVICE,
                   ram_only) == MEMTX_OK) {
        return true;
    }
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: DMA read of %u bytes at 0x%" PRIx64 " failed\n",
                  ubc_pci_id(s), len, addr);
    return false;
}

static bool on_dma_write(void *opaque, uint64_t addr, const void *buf,
                         uint32_t len)
{
    UbcPci *s = opaque;

    if (pci_store(PCI_DEVICE(s), addr, buf, len, ram_only) == MEMTX_OK) {
        return true;
    }
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: DMA write of %u bytes at 0x%" PRIx64 " failed\n",
                  ubc_pci_id(s), len, addr);
    return false;
}

/* ---- BAR0 -------------------------------------------------------------------- */

static uint64_t ubc_pci_mmio_read(void *opaque, hwaddr addr, unsigned size)
{
    UbcPci *s = opaque;
    uint32_t value;

    ubc_pci_lock(s);
    value = ubc_read(s->ubc, addr, ubc_pci_now(s));
    qemu_mutex_unlock(&s->lock);
    trace_ubc_read(ubc_pci_id(s), addr, value);
    return value;
}

static void ubc_pci_mmio_write(void *opaque, hwaddr addr, uint64_t value,
                           unsigned size)
{
    UbcPci *s = opaque;

    trace_ubc_write(ubc_pci_id(s), addr, value);
    if (ubc_pci_bell(s, addr, value)) {
        return;
    }
    ubc_pci_lock(s);
    ubc_write(s->ubc, addr, value, ubc_pci_now(s));
    qemu_mutex_unlock(&s->lock);
}

static const MemoryRegionOps ubc_mmio_ops = {
    .read = ubc_pci_mmio_read,
    .write = ubc_pci_mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

/* ---- Wires ------------------------------------------------------------------- */

static void on_peer_error(void *opaque, unsigned port, const char *what)
{
    UbcPci *s = opaque;

    trace_ubc_peer_error(ubc_pci_id(s), port, what);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: port %u: peer: %s\n", ubc_pci_id(s),
                  port, what);
}

static size_t on_wire_send(void *opaque, unsigned port, const uint8_t *data,
                           size_t len)
{
    UbcPci *s = opaque;
    UbcWire *p = &s->port[port];

    return p->chr_wire ? wire_pipe_send(wire_chr_pipe(p->chr_wire), data, len)
                       : 0;
}

static void on_wire_close(void *opaque, unsigned port)
{
    UbcPci *s = opaque;

    wire_pipe_close(wire_chr_pipe(s->port[port].chr_wire));
}

static void on_pipe_guard(void *opaque, bool on)
{
    UbcWire *p = opaque;

    if (on) {
        qemu_mutex_lock(&p->ubc->lock);
    } else {
        qemu_mutex_unlock(&p->ubc->lock);
    }
}

static void on_pipe_state(void *opaque, bool open)
{
    UbcWire *p = opaque;
    UbcPci *s = p->ubc;

    trace_ubc_wire(ubc_pci_id(s), p->index,
                   open ? "connected" : "disconnected");
    p->open = open;
    if (open) {
        ubc_wire_connected(s->ubc, p->index, ubc_pci_now(s));
    } else {
        ubc_wire_disconnected(s->ubc, p->index, ubc_pci_now(s));
    }
}

static bool on_pipe_input(void *opaque, const uint8_t *data, size_t len)
{
    UbcWire *p = opaque;
    UbcPci *s = p->ubc;

    if (p->open) {
        ubc_wire_receive(s->ubc, p->index, data, len, ubc_pci_now(s));
    }
    return p->open;
}

static void on_pipe_room(void *opaque)
{
    UbcWire *p = opaque;

    ubc_wire_room(p->ubc->ubc, p->index, ubc_pci_now(p->ubc));
}

static void on_pipe_broken(void *opaque, const char *rule)
{
    UbcWire *p = opaque;

    on_peer_error(p->ubc, p->index, rule);
}

static const WirePipeOps ubc_pipe_ops = {
    .guard = on_pipe_guard,
    .state = on_pipe_state,
    .input = on_pipe_input,
    .room = on_pipe_room,
    .broken = on_pipe_broken,
};

/* ---- Logs and traces --------------------------------------------------------- */

static void on_guest_error(void *opaque, int port, const char *what)
{
    UbcPci *s = opaque;

    qemu_log_mask(LOG_GUEST_ERROR, "%s: port %d: %s\n", ubc_pci_id(s), port,
                  what);
}

static void on_transition(void *opaque, unsigned port, UbMachine machine,
                          const char *from, const char *to, const char *cause)
{
    static const char *const names[] = {
        [UB_MACHINE_LMSM] = "lmsm",
        [UB_MACHINE_DLL] = "dll",
        [UB_MACHINE_RETRY_REQ] = "retry-req",
        [UB_MACHINE_RETRY_ACK] = "retry-ack",
        [UB_MACHINE_BMC] = "mode-change",
    };
    UbcPci *s = opaque;

    if (s->link_bh &&
        (machine == UB_MACHINE_LMSM || machine == UB_MACHINE_DLL)) {
        qemu_bh_schedule(s->link_bh);
    }
    trace_ubc_transition(ubc_pci_id(s), port, ubc_pci_now(s), names[machine], from,
                         to, cause);
}

static const UbcOps ubc_ops = {
    .dma_read = on_dma_read,
    .dma_write = on_dma_write,
    .interrupt = on_interrupt,
    .kick = on_kick,
    .wire_send = on_wire_send,
    .wire_close = on_wire_close,
    .guest_error = on_guest_error,
    .peer_error = on_peer_error,
    .transition = on_transition,
};

/* ---- Properties -------------------------------------------------------------- */

/* "xxxxxxxx…": 32 hexadecimal digits, most significant first. */
static bool parse_guid(const char *text, uint8_t guid[16])
{
    size_t n = 0;

    for (; *text; text++) {
        if (*text == '-' || *text == ':') {
            continue;
        }
        if (n == 32 || !g_ascii_isxdigit(*text)) {
            return false;
        }
        guid[n / 2] = guid[n / 2] << 4 | g_ascii_xdigit_value(*text);
        n++;
    }
    return n == 32;
}

/* GUID of appendix C: sequence, type 1 (controller), version, ids. */
static void default_guid(UbcPci *s, uint8_t guid[16])
{
    stw_be_p(guid, s->vendor_id);
    stw_be_p(guid + 2, s->device_id);
    guid[4] = 0x01; /* version 0, type 1 */
    guid[5] = guid[6] = guid[7] = 0;
    qemu_guest_getrandom_nofail(guid + 8, 8);
}

static bool ubc_pci_configure(UbcPci *s, Error **errp)
{
    UbcConfig *c = &s->cfg;

    ubc_config_init(c);
    c->ports = s->ports;
    c->dll_time_scale = s->dll_time_scale;
    c->err_severity = s->err_severity;
    if (!ubc_phy_props_apply(&s->phy, &c->phy, errp)) {
        return false;
    }
    for (unsigned i = 0; i < UB_VLS; i++) {
        if (s->init_credit) {
            c->dll.init_credit[i] = s->init_credit;
        }
    }
    if (!ubc_dll_props_apply(&s->dll, &c->dll, errp)) {
        return false;
    }
    if (!s->guid) {
        default_guid(s, c->guid);
    } else if (!parse_guid(s->guid, c->guid)) {
        error_setg(errp, "guid must have 32 hexadecimal digits");
        return false;
    }
    qemu_guest_getrandom_nofail(&c->session, sizeof(c->session));
    c->phy.lmsm.seed = c->session;

    s->clock = s->clock_kind == UBC_CLOCK_REALTIME ? QEMU_CLOCK_REALTIME
                                                  : QEMU_CLOCK_VIRTUAL;
    return true;
}

/* ---- Life ------------------------------------------------------------------ */

/*
 * Rings rest without bus mastering, and while the machine is stopped: memory
 * that was migrated or saved must not change any more.  The link itself goes
 * on, and what arrives waits, bounded by the peer's credits.
 */
static void ubc_pci_update_master(UbcPci *s)
{
    uint16_t command = pci_get_word(PCI_DEVICE(s)->config + PCI_COMMAND);

    ubc_pci_lock(s);
    ubc_bus_master(s->ubc, s->vm_running && (command & PCI_COMMAND_MASTER));
    qemu_mutex_unlock(&s->lock);
}

/* Only the virtual clock stands while the machine does. */
static void ubc_pci_clock(UbcPci *s, bool running)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);

    if (s->clock != QEMU_CLOCK_VIRTUAL) {
        return;
    }
    if (running && s->stopped_at >= 0) {
        s->stopped_for += now - s->stopped_at;
        s->stopped_at = -1;
    } else if (!running && s->stopped_at < 0) {
        s->stopped_at = now;
    }
}

/* In the IOThread, if there is one. */
static void ubc_pci_unwire_bh(void *opaque)
{
    UbcPci *s = opaque;

    for (unsigned i = 0; i < s->ports; i++) {
        g_clear_pointer(&s->port[i].chr_wire, wire_chr_free);
    }
}

/*
 * An emulator that ends takes its character devices apart in the main thread,
 * while an IOThread would still be at work on them: let go of them before.  A
 * machine that only stays off may be started again and keeps its wires.
 */
static void ubc_pci_end(UbcPci *s)
{
    if (s->iothread && shutdown_action == SHUTDOWN_ACTION_POWEROFF) {
        aio_wait_bh_oneshot(s->ctx, ubc_pci_unwire_bh, s);
    }
}

static void ubc_pci_vm_state(void *opaque, bool running, RunState state)
{
    UbcPci *s = opaque;

    if (!running && state == RUN_STATE_SHUTDOWN) {
        ubc_pci_end(s);
    }
    qemu_mutex_lock(&s->lock);
    ubc_pci_clock(s, running);
    qemu_mutex_unlock(&s->lock);
    s->vm_running = running;
    ubc_pci_update_master(s);
    qemu_bh_schedule(s->run_bh); /* for the other timer */
}

static void ubc_pci_realize(PCIDevice *pci, Error **errp)
{
    UbcPci *s = UBC(pci);
    UbcOps ops = ubc_ops;
    GMainContext *gctx = NULL;
    const char *why;

    if (!ubc_pci_configure(s, errp) || !ubc_pci_capture_start(s, &ops, errp)) {
        return;
    }
    s->ubc = ubc_new(&s->cfg, &ops, s, &why);
    if (!s->ubc) {
        error_setg(errp, "%s", why);
        goto free_capture;
    }
    qemu_mutex_init(&s->lock);
    pci_config_set_vendor_id(pci->config, s->vendor_id);
    pci_config_set_device_id(pci->config, s->device_id);
    pci_set_word(pci->config + PCI_SUBSYSTEM_VENDOR_ID, s->vendor_id);
    pci_set_word(pci->config + PCI_SUBSYSTEM_ID, s->device_id);

    memory_region_init_io(&s->bar, OBJECT(s), &ubc_mmio_ops, s, "ubc",
                          UBC_BAR_SIZE);
    pci_register_bar(pci, 0, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64, &s->bar);
    if (msix_init(pci, UBC_VECTORS, &s->bar, 0, UBC_MSIX_TABLE, &s->bar, 0,
                  UBC_MSIX_PBA, 0, errp)) {
        goto free_ctl;
    }
    for (unsigned i = 0; i < UBC_VECTORS; i++) {
        msix_vector_use(pci, i);
    }
    if (pci_bus_is_express(pci_get_bus(pci)) &&
        pcie_endpoint_cap_init(pci, 0) < 0) {
        error_setg(errp, "no room for the PCI Express capability");
        goto free_msix;
    }

    if (s->iothread) {
        object_ref(OBJECT(s->iothread));
        s->ctx = iothread_get_aio_context(s->iothread);
        gctx = iothread_get_g_main_context(s->iothread);
    } else {
        s->ctx = qemu_get_aio_context();
    }
    s->run_bh = aio_bh_new(s->ctx, ubc_pci_run, s);
    s->link_bh = qemu_bh_new(ubc_pci_link_bh, s);
    s->irq_bh = qemu_bh_new_guarded(ubc_pci_irq_bh, s,
                                    &DEVICE(s)->mem_reentrancy_guard);
    s->timer = aio_timer_new(s->ctx, s->clock, SCALE_NS, ubc_pci_run, s);
    s->stopped_timer = aio_timer_new(s->ctx, QEMU_CLOCK_REALTIME, SCALE_NS,
                                     ubc_pci_run, s);
    for (unsigned i = 0; i < s->ports; i++) {
        UbcWire *p = &s->port[i];

        p->ubc = s;
        p->index = i;
        if (qemu_chr_fe_backend_connected(&p->chr)) {
            p->chr_wire = wire_chr_new(&p->chr, s->ctx, gctx, &ubc_pipe_ops,
                                       p, s->shm);
            wire_chr_start(p->chr_wire);
        }
    }
    s->vm_running = runstate_is_running();
    ubc_pci_clock(s, s->vm_running);
    s->vm_change = qdev_add_vm_change_state_handler(DEVICE(s), ubc_pci_vm_state,
                                                    s);
    qemu_bh_schedule(s->run_bh);
    return;

free_msix:
    msix_uninit(pci, &s->bar, &s->bar);
free_ctl:
    qemu_mutex_destroy(&s->lock);
    ubc_free(s->ubc);
    s->ubc = NULL;
free_capture:
    g_clear_pointer(&s->capture, ub_capture_free);
}

/* In the IOThread, if there is one: nothing runs there afterwards. */
static void ubc_pci_stop_bh(void *opaque)
{
    UbcPci *s = opaque;

    timer_del(s->timer);
    timer_del(s->stopped_timer);
    ubc_pci_unwire_bh(s);
    qemu_bh_delete(s->run_bh);
}

static void ubc_pci_exit(PCIDevice *pci)
{
    UbcPci *s = UBC(pci);

    qemu_del_vm_change_state_handler(s->vm_change);
    if (s->iothread) {
        aio_wait_bh_oneshot(s->ctx, ubc_pci_stop_bh, s);
        object_unref(OBJECT(s->iothread));
    } else {
        ubc_pci_stop_bh(s);
    }
    for (unsigned i = 0; i < s->ports; i++) {
        qemu_chr_fe_deinit(&s->port[i].chr, false);
    }
    timer_free(s->timer);
    timer_free(s->stopped_timer);
    qemu_bh_delete(s->irq_bh);
    qemu_bh_delete(s->link_bh);
    msix_uninit(pci, &s->bar, &s->bar);
    ubc_free(s->ubc);
    s->ubc = NULL;
    g_clear_pointer(&s->capture, ub_capture_free);
    g_clear_pointer(&s->blob, g_free);
    qemu_mutex_destroy(&s->lock);
}

static void ubc_pci_reset(Object *obj, ResetType type)
{
    UbcPci *s = UBC(obj);

    ubc_pci_lock(s);
    ubc_reset(s->ubc, ubc_pci_now(s));
    s->irqs = 0;
    qemu_mutex_unlock(&s->lock);
}

static void ubc_pci_config_write(PCIDevice *pci, uint32_t addr, uint32_t value,
                             int len)
{
    pci_default_write_config(pci, addr, value, len);
    ubc_pci_update_master(UBC(pci));
}

/* ---- Migration --------------------------------------------------------------- */

static int ubc_pci_pre_save(void *opaque)
{
    UbcPci *s = opaque;
    size_t len;

    g_free(s->blob);
    ubc_pci_lock(s);
    s->blob = ubc_save(s->ubc, ubc_pci_now(s), &len);
    qemu_mutex_unlock(&s->lock);
    s->blob_len = len;
    return 0;
}

static int ubc_pci_post_load(void *opaque, int version)
{
    UbcPci *s = opaque;
    const char *broken;

    ubc_pci_lock(s);
    broken = ubc_load(s->ubc, ubc_pci_now(s), s->blob, s->blob_len);
    qemu_mutex_unlock(&s->lock);
    ubc_pci_update_master(s);
    g_clear_pointer(&s->blob, g_free);
    if (broken) {
        error_report("%s: %s", ubc_pci_id(s), broken);
        return -EINVAL;
    }
    qemu_bh_schedule(s->run_bh);
    qemu_bh_schedule(s->irq_bh);
    return 0;
}

static const VMStateDescription ubc_vmstate = {
    .name = TYPE_UBC,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = ubc_pci_pre_save,
    .post_load = ubc_pci_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, UbcPci),
        VMSTATE_MSIX(parent_obj, UbcPci),
        VMSTATE_UINT32(irqs, UbcPci),
        VMSTATE_UINT32(blob_len, UbcPci),
        VMSTATE_VBUFFER_ALLOC_UINT32(blob, UbcPci, 1, NULL, blob_len),
        VMSTATE_END_OF_LIST()
    },
};

/* ---- Class -------------------------------------------------------------------- */

typedef struct Each {
    void (*fn)(UbcPci *s, void *opaque);
    void *opaque;
} Each;

static int each(Object *obj, void *opaque)
{
    Each *e = opaque;

    if (object_dynamic_cast(obj, TYPE_UBC) && DEVICE(obj)->realized) {
        e->fn(UBC(obj), e->opaque);
    }
    return 0;
}

void ubc_pci_foreach(void (*fn)(UbcPci *s, void *opaque), void *opaque)
{
    Each e = { fn, opaque };

    object_child_foreach_recursive(object_get_root(), each, &e);
}

static int ubc_pci_get_clock(Object *obj, Error **errp)
{
    return UBC(obj)->clock_kind;
}

static void ubc_pci_set_clock(Object *obj, int value, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "clock can only be set before the device exists");
    } else {
        UBC(obj)->clock_kind = value;
    }
}

static const struct {
    const char *name, *text;
} descriptions[] = {
    { "ports", "ports, 1 to 8" },
    { "chardev0", "byte stream of port 0's wire" },
    { "chardev1", "byte stream of port 1's wire" },
    { "chardev2", "byte stream of port 2's wire" },
    { "chardev3", "byte stream of port 3's wire" },
    { "chardev4", "byte stream of port 4's wire" },
    { "chardev5", "byte stream of port 5's wire" },
    { "chardev6", "byte stream of port 6's wire" },
    { "chardev7", "byte stream of port 7's wire" },
    { "shm", "wires between processes of one host go through shared memory" },
    { "vendor-id", "of PCI and of the default GUID" },
    { "device-id", "of PCI and of the default GUID" },
    { "guid", "of Entity 0: 32 hexadecimal digits, most significant first" },
    { "dll-time-scale", "multiplies the times of the data link layer" },
    { "init-credit", "cells granted on each VL after power-on; 0: 4096 on "
                     "VL0, 512 on the others" },
    { "err-severity", "reset value of PORT_ERR_RECORD's severity" },
    { "clock", "virtual (stops with the machine) or realtime" },
    { "pcap", "file that packets are captured to" },
    { "pcap-blocks", "capture blocks and training too" },
    { "iothread", "where the ports run; without, in the main loop" },
};

static void ubc_pci_describe(ObjectClass *klass)
{
    for (unsigned i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i].name,
                                              descriptions[i].text);
    }
}

static const Property ubc_properties[] = {
    DEFINE_PROP_UINT32("ports", UbcPci, ports, 1),
    DEFINE_PROP_CHR("chardev0", UbcPci, port[0].chr),
    DEFINE_PROP_CHR("chardev1", UbcPci, port[1].chr),
    DEFINE_PROP_CHR("chardev2", UbcPci, port[2].chr),
    DEFINE_PROP_CHR("chardev3", UbcPci, port[3].chr),
    DEFINE_PROP_CHR("chardev4", UbcPci, port[4].chr),
    DEFINE_PROP_CHR("chardev5", UbcPci, port[5].chr),
    DEFINE_PROP_CHR("chardev6", UbcPci, port[6].chr),
    DEFINE_PROP_CHR("chardev7", UbcPci, port[7].chr),
    DEFINE_PROP_BOOL("shm", UbcPci, shm, true),
    DEFINE_PROP_UINT16("vendor-id", UbcPci, vendor_id, UBC_VENDOR_ID),
    DEFINE_PROP_UINT16("device-id", UbcPci, device_id, UBC_DEVICE_ID),
    DEFINE_PROP_STRING("guid", UbcPci, guid),
    UBC_PHY_PROPERTIES(UbcPci, phy),
    DEFINE_PROP_UINT32("dll-time-scale", UbcPci, dll_time_scale, 1000),
    DEFINE_PROP_UINT32("init-credit", UbcPci, init_credit, 0),
    DEFINE_PROP_UINT32("err-severity", UbcPci, err_severity, 0xf04fffff),
    UBC_DLL_PROPERTIES(UbcPci, dll),
    DEFINE_PROP_STRING("pcap", UbcPci, pcap),
    DEFINE_PROP_BOOL("pcap-blocks", UbcPci, pcap_blocks, false),
    DEFINE_PROP_LINK("iothread", UbcPci, iothread, TYPE_IOTHREAD,
                     IOThread *),
};

static void ubc_pci_instance_init(Object *obj)
{
    UbcPci *s = UBC(obj);

    ubc_phy_props_init(&s->phy);
    s->stopped_at = -1;
    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
}

static void ubc_pci_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = ubc_pci_realize;
    pc->exit = ubc_pci_exit;
    pc->config_write = ubc_pci_config_write;
    pc->vendor_id = UBC_VENDOR_ID;
    pc->device_id = UBC_DEVICE_ID;
    pc->class_id = UBC_CLASS;
    RESETTABLE_CLASS(klass)->phases.hold = ubc_pci_reset;
    dc->vmsd = &ubc_vmstate;
    dc->desc = "UnifiedBus controller";
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    device_class_set_props(dc, ubc_properties);
    object_class_property_add_enum(klass, "clock", "UbcClock",
                                   &UbcClock_lookup, ubc_pci_get_clock,
                                   ubc_pci_set_clock);
    ubc_phy_props_describe(klass);
    ubc_dll_props_describe(klass);
    ubc_pci_describe(klass);
}

static const TypeInfo ubc_types[] = {
    {
        .name = TYPE_UBC,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(UbcPci),
        .instance_init = ubc_pci_instance_init,
        .class_init = ubc_pci_class_init,
        .interfaces = (InterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { INTERFACE_CONVENTIONAL_PCI_DEVICE },
            { }
        },
    },
};

DEFINE_TYPES(ubc_types)
