/*
 * ubc, the UB controller as a PCIe function.
 *
 * The shell around the core of ub/ubc.h: BAR0, MSI-X, DMA, time, life.  Its
 * other files have wires, doorbells, properties, capture, migration and the
 * monitor's commands.  No protocol is in here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "system/runstate.h"
#include "ubc-pci.h"
#include "trace.h"

const char *ubc_pci_id(const UbcPci *s)
{
    const char *id = DEVICE(s)->id;

    return id ? id : TYPE_UBC;
}

/* ---- Work, time, interrupts ---------------------------------------------- */

/*
 * At @at or before.  To set a timer may wake its thread, which most turns need not: one
 * that comes early has a turn that finds the next time.
 */
static void timer_until(QEMUTimer *timer, int64_t at)
{
    if (!timer_pending(timer) || timer_expire_time_ns(timer) > at) {
        timer_mod_ns(timer, at);
    }
}

/* Who looks soon has what is due soon: no other thread is woken for it, and meets the
 * first one at the lock. */
static bool look_has(const UbcPci *s, int64_t next)
{
    return s->look.on && next < ubc_pci_now(s) + s->look.conf.time;
}

void ubc_pci_turn(UbcPci *s, int64_t now)
{
    bool stopped = s->stopped_at >= 0;
    QEMUTimer *timer = stopped ? s->stopped_timer : s->timer;
    int64_t next;

    /* Each access to memory has its own lock within: two fences of a processor for the
     * outermost one, none for those. */
    WITH_RCU_READ_LOCK_GUARD() {
        next = ubc_run(s->ubc, now);
    }
    s->kicked = false;
    ubc_pci_capture_flush(s);
    timer_del(stopped ? s->timer : s->stopped_timer);
    s->due = next;
    s->due_looked = look_has(s, next);
    if (next == INT64_MAX || s->due_looked) {
        timer_del(timer);
    } else {
        QEMUClockType clock = stopped ? QEMU_CLOCK_REALTIME : s->clock;

        timer_until(timer, qemu_clock_get_ns(clock) +
                           MAX(next - ubc_pci_now(s), 0));
    }
}

static void ubc_pci_run(void *opaque)
{
    UbcPci *s = opaque;

    ubc_pci_turn(s, ubc_pci_lock_run(s));
    s->thread_turns++;
    qemu_mutex_unlock(&s->lock);
}

static void on_kick(void *opaque)
{
    UbcPci *s = opaque;

    if (s->holds) {
        s->kicked = true;
    } else {
        qemu_bh_schedule(s->run_bh);
    }
}

void ubc_pci_hold(UbcPci *s)
{
    s->holds = true;
}

void ubc_pci_let_go(UbcPci *s)
{
    s->holds = false;
    if (s->kicked) {
        s->kicked = false;
        qemu_bh_schedule(s->run_bh);
    }
}

/*
 * A message may be addressed to any device, this one among them: interrupts
 * are noted here, where the lock is held, and leave in the main loop and under the
 * BQL, without it: a processor that rings a doorbell waits for the BQL.
 */
static void on_interrupt(void *opaque, unsigned vector)
{
    UbcPci *s = opaque;

    trace_ubc_interrupt(ubc_pci_id(s), vector);
    qatomic_or(&s->irqs[vector / 32], 1u << vector % 32);
    qemu_bh_schedule(s->irq_bh);
}

static void ubc_pci_irq_bh(void *opaque)
{
    UbcPci *s = opaque;

    for (unsigned i = 0; i < ARRAY_SIZE(s->irqs); i++) {
        uint32_t irqs = qatomic_read(&s->irqs[i])
                            ? qatomic_xchg(&s->irqs[i], 0) : 0;

        for (; irqs; irqs &= irqs - 1) {
            pci_master_msix(&s->master, 32 * i + ctz32(irqs));
        }
    }
}

/* ---- Guest memory ---------------------------------------------------------- */

/*
 * Rings and buffers are memory.  An access to a register of a device would need
 * the BQL inside our lock, and could come back to us.
 */

static bool on_dma_peek(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    return pci_master_peek(&((UbcPci *)opaque)->master, addr, buf, len);
}

static bool on_dma_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    return pci_master_read(&((UbcPci *)opaque)->master, addr, buf, len);
}

static bool on_dma_write(void *opaque, uint64_t addr, const void *buf,
                         uint32_t len)
{
    return pci_master_write(&((UbcPci *)opaque)->master, addr, buf, len);
}

static bool on_dma_exchange(void *opaque, uint64_t addr, void *was,
                            const void *now, uint32_t len, bool *same)
{
    return pci_master_exchange(&((UbcPci *)opaque)->master, addr, was, now, len,
                               same);
}

/* ---- BAR0 --------------------------------------------------------------------
 *
 * A processor that waited for the big lock in an access of its own may come when the
 * device is gone (unplugged): there is nobody then, as behind every BAR.
 */

static uint64_t ubc_pci_mmio_read(void *opaque, hwaddr addr, unsigned size)
{
    UbcPci *s = opaque;
    uint32_t value;
    int64_t now;

    if (!s->ubc) {
        return UINT64_MAX;
    }
    now = ubc_pci_lock(s);
    value = ubc_read(s->ubc, addr, now);
    qemu_mutex_unlock(&s->lock);
    trace_ubc_read(ubc_pci_id(s), addr, value);
    return value;
}

static void ubc_pci_mmio_write(void *opaque, hwaddr addr, uint64_t value,
                           unsigned size)
{
    UbcPci *s = opaque;
    int64_t now;

    if (!s->ubc || !ubc_secret(s->ubc, addr)) {
        trace_ubc_write(ubc_pci_id(s), addr, value);
    }
    if (!s->ubc || ubc_pci_bell(s, addr, value)) {
        return;
    }
    now = ubc_pci_lock(s);
    ubc_write(s->ubc, addr, value, now);
    qemu_mutex_unlock(&s->lock);
}

static const MemoryRegionOps ubc_mmio_ops = {
    .read = ubc_pci_mmio_read,
    .write = ubc_pci_mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

/* ---- Logs and traces --------------------------------------------------------- */

static void on_guest_error(void *opaque, int port, const char *what)
{
    UbcPci *s = opaque;

    qemu_log_mask(LOG_GUEST_ERROR, "%s: port %d: %s\n", ubc_pci_id(s), port,
                  what);
}

static void on_changed(void *opaque, unsigned port)
{
    UbcPci *s = opaque;

    ubc_pci_news(&s->link_news);
}

static void on_slot(void *opaque, unsigned slot)
{
    UbcPci *s = opaque;

    s->slots_changed |= 1u << slot;
    ubc_pci_news(&s->slot_news);
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

    trace_ubc_transition(ubc_pci_id(s), port, ubc_pci_now(s), names[machine], from,
                         to, cause);
}

static const UbcOps ubc_ops = {
    .dma_read = on_dma_read,
    .dma_peek = on_dma_peek,
    .dma_write = on_dma_write,
    .dma_exchange = on_dma_exchange,
    .memory = ubc_pci_memory,
    .interrupt = on_interrupt,
    .kick = on_kick,
    .wire_send = ubc_pci_wire_send,
    .wire_close = ubc_pci_wire_close,
    .ethernet_send = ubc_pci_ethernet_send,
    .ethernet_room = ubc_pci_ethernet_room,
    .guest_error = on_guest_error,
    .peer_error = ubc_pci_peer_error,
    .changed = on_changed,
    .slot = on_slot,
    .responder = ubc_pci_responder_frame,
    .window_ended = ubc_pci_window_ended,
    .transition = on_transition,
    .queue_trace = ubc_pci_queue_trace,
};

/* ---- Life ------------------------------------------------------------------ */

/*
 * Rings rest without bus mastering, and while the machine is stopped: memory
 * that was migrated or saved must not change any more.  The link itself goes
 * on, and what arrives waits, bounded by the peer's credits.
 */
void ubc_pci_update_master(UbcPci *s)
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

static void ubc_pci_vm_state(void *opaque, bool running, RunState state)
{
    UbcPci *s = opaque;

    qemu_mutex_lock(&s->lock);
    ubc_pci_clock(s, running);
    qemu_mutex_unlock(&s->lock);
    s->vm_running = running;
    ubc_pci_update_master(s);
    qemu_bh_schedule(s->run_bh); /* for the other timer */
}

/* A function level reset and errors of the bus. */
static bool ubc_pci_express(PCIDevice *pci, Error **errp)
{
    if (pcie_endpoint_cap_init(pci, 0) < 0) {
        error_setg(errp, "no room for the PCI Express capability");
        return false;
    }
    pcie_cap_deverr_init(pci);
    pcie_cap_flr_init(pci);
    return pcie_aer_init(pci, PCI_ERR_VER, PCI_CONFIG_SPACE_SIZE,
                         PCI_ERR_SIZEOF, errp) >= 0;
}

static void ubc_pci_identify(UbcPci *s)
{
    uint8_t *config = PCI_DEVICE(s)->config;

    pci_config_set_vendor_id(config, s->vendor_id);
    pci_config_set_device_id(config, s->device_id);
    pci_set_word(config + PCI_SUBSYSTEM_VENDOR_ID, s->vendor_id);
    pci_set_word(config + PCI_SUBSYSTEM_ID, s->device_id);
}

/* Where the core runs, and what wakes it there or tells others; of an IOThread its
 * context for character devices. */
static GMainContext *ubc_pci_threads(UbcPci *s)
{
    GMainContext *gctx = NULL;

    if (s->iothread) {
        object_ref(OBJECT(s->iothread));
        s->ctx = iothread_get_aio_context(s->iothread);
        gctx = iothread_get_g_main_context(s->iothread);
    } else {
        s->ctx = qemu_get_aio_context();
    }
    s->run_bh = aio_bh_new(s->ctx, ubc_pci_run, s);
    ubc_pci_news_init(&s->link_news, ubc_pci_tell_links, s);
    ubc_pci_news_init(&s->slot_news, ubc_pci_tell_slots, s);
    s->irq_bh = qemu_bh_new_guarded(ubc_pci_irq_bh, s,
                                    &DEVICE(s)->mem_reentrancy_guard);
    s->timer = aio_timer_new(s->ctx, s->clock, SCALE_NS, ubc_pci_run, s);
    s->stopped_timer = aio_timer_new(s->ctx, QEMU_CLOCK_REALTIME, SCALE_NS,
                                     ubc_pci_run, s);
    s->look.conf = (UbcLookConfig) {
        .looks = s->engine.poll_looks,
        .pause = s->engine.poll_pause * (int64_t)SCALE_US,
        .time = s->engine.poll_time * (int64_t)SCALE_US,
    };
    s->look_timer = aio_timer_new(s->ctx, QEMU_CLOCK_REALTIME, SCALE_NS,
                                  ubc_pci_look_over, s);
    return gctx;
}

static void ubc_pci_realize(PCIDevice *pci, Error **errp)
{
    UbcPci *s = UBC(pci);
    UbcOps ops = ubc_ops;
    GMainContext *gctx;
    const char *why;

    if (!ubc_pci_ethernet_check(s, errp) || !ubc_pci_configure(s, errp) ||
        !ubc_pci_capture_start(s, &ops, errp)) {
        goto free_ethernet;
    }
    s->ubc = ubc_new(&s->cfg, &ops, s, &why);
    if (!s->ubc) {
        error_setg(errp, "%s", why);
        goto free_capture;
    }
    qemu_mutex_init(&s->lock);
    ubc_pci_identify(s);
    memory_region_init_io(&s->bar, OBJECT(s), &ubc_mmio_ops, s, "ubc",
                          UBC_BAR_SIZE);
    pci_register_bar(pci, 0, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64, &s->bar);
    ubc_pci_engine_bar(s);
    ubc_pci_window_bar(s);
    if (msix_init(pci, UBC_VECTORS, &s->bar, 0, UBC_MSIX_TABLE, &s->bar, 0,
                  UBC_MSIX_PBA, 0, errp)) {
        goto free_ctl;
    }
    for (unsigned i = 0; i < UBC_VECTORS; i++) {
        msix_vector_use(pci, i);
    }
    if (pci_bus_is_express(pci_get_bus(pci)) &&
        !ubc_pci_express(pci, errp)) {
        goto free_msix;
    }

    pci_master_init(&s->master, pci);
    gctx = ubc_pci_threads(s);
    /* The run that these ask for needs all of the above. */
    ubc_pci_fault_apply(s, false);
    ubc_pci_fault_apply(s, true);
    ubc_pci_memory_take(s);
    ubc_pci_wires_new(s, gctx);
    ubc_pci_ethernet_new(s);
    ubc_pci_responder_new(s);
    s->vm_running = runstate_is_running();
    ubc_pci_clock(s, s->vm_running);
    s->vm_change = qdev_add_vm_change_state_handler(DEVICE(s), ubc_pci_vm_state,
                                                    NULL, s);
    qemu_bh_schedule(s->run_bh);
    return;

free_msix:
    msix_uninit(pci, &s->bar, &s->bar);
free_ctl:
    ubc_pci_window_exit(s);
    qemu_mutex_destroy(&s->lock);
    ubc_free(s->ubc);
    s->ubc = NULL;
free_capture:
    g_clear_pointer(&s->capture, ub_capture_free);
free_ethernet:
    ubc_pci_ethernet_free(s);
}

/* In the IOThread, if there is one: nothing runs there afterwards. */
static void ubc_pci_stop_bh(void *opaque)
{
    UbcPci *s = opaque;

    timer_del(s->timer);
    timer_del(s->stopped_timer);
    timer_del(s->look_timer);
    ubc_pci_wires_free(s);
    qemu_bh_delete(s->run_bh);
}

static void ubc_pci_exit(PCIDevice *pci)
{
    UbcPci *s = UBC(pci);

    qemu_del_vm_change_state_handler(s->vm_change);
    ubc_pci_window_leave(s);
    /* To wait for the IOThread runs bottom halves of the main loop: those that would
     * wake the core are gone before. */
    ubc_pci_responder_free(s);
    ubc_pci_ethernet_leave(s);
    if (s->iothread) {
        aio_wait_bh_oneshot(s->ctx, ubc_pci_stop_bh, s);
        object_unref(OBJECT(s->iothread));
    } else {
        ubc_pci_stop_bh(s);
    }
    ubc_pci_ethernet_free(s);
    for (unsigned i = 0; i < s->ports; i++) {
        qemu_chr_fe_deinit(&s->port[i].chr, false);
    }
    timer_free(s->timer);
    timer_free(s->stopped_timer);
    timer_free(s->look_timer);
    qemu_bh_delete(s->irq_bh);
    pci_master_fini(&s->master);
    ubc_pci_news_free(&s->link_news);
    ubc_pci_news_free(&s->slot_news);
    if (pci->exp.aer_cap) {
        pcie_aer_exit(pci);
    }
    msix_uninit(pci, &s->bar, &s->bar);
    ubc_free(s->ubc);
    s->ubc = NULL;
    ubc_pci_memory_leave(s);
    g_clear_pointer(&s->capture, ub_capture_free);
    g_clear_pointer(&s->blob, g_free);
    ubc_pci_window_exit(s);
    qemu_mutex_destroy(&s->lock);
}

static void ubc_pci_reset(Object *obj, ResetType type)
{
    UbcPci *s = UBC(obj);

    if (pci_is_express(PCI_DEVICE(obj))) {
        pcie_cap_deverr_reset(PCI_DEVICE(obj));
    }
    ubc_pci_lock(s);
    ubc_reset(s->ubc, ubc_pci_now(s));
    ubc_bus_master(s->ubc, false); /* as the command register will say */
    memset(s->irqs, 0, sizeof(s->irqs));
    qemu_mutex_unlock(&s->lock);
}

static void ubc_pci_config_write(PCIDevice *pci, uint32_t addr, uint32_t value,
                             int len)
{
    pci_default_write_config(pci, addr, value, len);
    if (pci_is_express(pci)) {
        pcie_aer_write_config(pci, addr, value, len);
        pcie_cap_flr_write_config(pci, addr, value, len);
    }
    ubc_pci_update_master(UBC(pci));
}

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

static void ubc_pci_instance_init(Object *obj)
{
    UbcPci *s = UBC(obj);

    s->stopped_at = -1;
    ub_fault_plan_init(&s->engine.fault[0]);
    ub_fault_plan_init(&s->engine.fault[1]);
    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
}

static void ubc_pci_class_init(ObjectClass *klass, QemuClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = ubc_pci_realize;
    pc->exit = ubc_pci_exit;
    pc->config_write = ubc_pci_config_write;
    pc->vendor_id = UBC_VENDOR_ID;
    pc->device_id = UBC_DEVICE_ID;
    pc->class_id = UBC_CLASS;
    pc->revision = UBC_INTERFACE;
    RESETTABLE_CLASS(klass)->phases.hold = ubc_pci_reset;
    dc->vmsd = &ubc_pci_vmstate;
    dc->desc = "UnifiedBus controller";
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    ubc_pci_props_init(klass);
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
