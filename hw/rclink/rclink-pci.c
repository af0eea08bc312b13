/*
 * PCIe function "rclink": an RC Link port whose MAC is a QEMU netdev or a
 * character device.
 *
 * Identity, BAR, interrupts, guest memory, the wire, properties and migration
 * around the engine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci_device.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "core/enum_prop.h"
#include "core/pci_master.h"
#include "core/props.h"
#include "core/qemu_qdev.h"
#include "rclink/qmp.h"
#include "rclink/rclink.h"
#include "rclink/rclink_hw.h"
#include "wire/end.h"
#include "wire/fault_props.h"
#include "trace.h"

#define TYPE_RCLINK "rclink"
OBJECT_DECLARE_SIMPLE_TYPE(RclinkState, RCLINK)

#define CAP_PM      0x40
#define CAP_EXP     0x60
#define CAP_MSIX    0xa0

/* Packets of a turn of the bottom half. */
#define RCLINK_TURN 256

struct RclinkState {
    PCIDevice parent_obj;
    PciMaster master;
    MemoryRegion bar0;
    WireEnd end;

    QEMUBH *bh;
    QEMUTimer *timer;
    VMChangeStateEntry *vmstate_entry;
    Rclink *core;
    RclinkConfig cfg;
    RclinkQmp *qmp;
    bool kicked;                /* while end.working: who is in the core looks
                                 * at this, instead of the bottom half */
    uint32_t inline_budget;
    /* Before there is a core: what it begins with; plans in and out. */
    CoreFaultPlan plan[2];
    RclinkFaults faults;

    int rh_order, gen2_order, lite_xpu, cfg160, icrc, udp_csum;

    /* migration: the core's state, while it travels */
    uint32_t state_len;
    uint8_t *state;
};

static const char *rclink_id(RclinkState *s)
{
    const char *id = DEVICE(s)->id;

    return id ? id : TYPE_RCLINK;
}

static int64_t rclink_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/* ---- outside of the core ---------------------------------------------------- */

static bool rclink_op_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    return pci_master_read(&((RclinkState *)opaque)->master, addr, buf, len);
}

static bool rclink_op_write(void *opaque, uint64_t addr, const void *buf,
                            size_t len)
{
    return pci_master_write(&((RclinkState *)opaque)->master, addr, buf, len);
}

static bool rclink_op_reach(void *opaque, uint64_t addr, size_t len, bool write,
                            void (*fn)(void *ctx, void *data), void *ctx)
{
    PciMaster *m = &((RclinkState *)opaque)->master;
    size_t got = len;
    void *p;

    if (!write) {
        const void *data;

        dma_barrier(pci_get_address_space(m->pci), DMA_DIRECTION_TO_DEVICE);
        RCU_READ_LOCK_GUARD();
        data = pci_master_lend(m, addr, len);
        if (data) {
            fn(ctx, (void *)data);
        }
        return data;
    }
    p = pci_master_map(m, addr, &got, true);
    if (!p) {
        return false;
    }
    if (got == len) {
        fn(ctx, p);
    }
    pci_master_unmap(m, p, got, true);
    return got == len;
}

static void rclink_op_wire_tx(void *opaque, const uint8_t *data, size_t len)
{
    RclinkState *s = opaque;

    QEMU_BUILD_BUG_ON(WIRE_STREAM_PREFIX != RCL_WIRE_PREFIX);
    wire_end_send(&s->end, data, len);
}

static void rclink_op_msix(void *opaque, unsigned vector)
{
    RclinkState *s = opaque;

    trace_rclink_msix(rclink_id(s), vector);
    pci_master_msix(&s->master, vector);
}

static void rclink_op_kick(void *opaque)
{
    RclinkState *s = opaque;

    if (s->end.working) {
        s->kicked = true;       /* who works now looks at it */
    } else {
        qemu_bh_schedule(s->bh);
    }
}

static void rclink_op_guest_error(void *opaque, const char *rule,
                                  const char *text, uint64_t value)
{
    trace_rclink_rule(rclink_id(opaque), rule, text, value);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: RC Link %s: %s (0x%" PRIx64 ")\n",
                  rclink_id(opaque), rule, text, value);
}

static void rclink_op_frame(void *opaque, bool tx, const uint8_t *frame,
                            size_t len)
{
    RclinkState *s = opaque;

    trace_rclink_frame(rclink_id(s), tx, len);
}

static const RclinkOps rclink_ops = {
    .read = rclink_op_read,
    .write = rclink_op_write,
    .reach = rclink_op_reach,
    .wire_tx = rclink_op_wire_tx,
    .msix = rclink_op_msix,
    .kick = rclink_op_kick,
    .guest_error = rclink_op_guest_error,
    .frame = rclink_op_frame,
};

/* ---- work ------------------------------------------------------------------- */

static void rclink_work(RclinkState *s, unsigned packets)
{
    int64_t now = rclink_now(), next;

    if (!runstate_is_running()) {
        return;     /* rclink_vm_state() looks again */
    }
    s->end.working = true;
    s->kicked = false;
    next = rclink_run(s->core, now, packets);
    s->end.working = false;
    wire_end_resume(&s->end);
    if (next <= now || s->kicked) {
        qemu_bh_schedule(s->bh);
    } else if (next != INT64_MAX &&
               timer_expire_time_ns(s->timer) > (uint64_t)next) {
        /* May wake the main loop.  One that is due earlier is left as it is:
         * deadlines move with each packet, and it will look again. */
        timer_mod(s->timer, next);
    }
}

static void rclink_poll(void *opaque)
{
    rclink_work(opaque, RCLINK_TURN);
}

static void rclink_vm_state(void *opaque, bool running, RunState state)
{
    RclinkState *s = opaque;

    if (running) {
        qemu_bh_schedule(s->bh);
        return;
    }
    rclink_settle(s->core);
}

/* ---- registers ---------------------------------------------------------------- */

static uint64_t rclink_mmio_read(void *opaque, hwaddr addr, unsigned size)
{
    RclinkState *s = opaque;
    uint64_t val;

    if (!s->core) {
        return UINT64_MAX;      /* another processor took the device away */
    }
    val = rclink_read(s->core, addr, size, rclink_now());
    trace_rclink_read(rclink_id(s), addr, val, size);
    return val;
}

static bool is_doorbell(hwaddr addr)
{
    return addr == RCL_TX_MD_HEAD_PTR ||
           addr == RCL_RING(RCL_RING_TX) + RCL_RING_HEAD;
}

static void rclink_mmio_write(void *opaque, hwaddr addr, uint64_t val,
                              unsigned size)
{
    RclinkState *s = opaque;

    if (!s->core) {
        return;
    }
    trace_rclink_write(rclink_id(s), addr, val, size);
    if (s->end.working || !s->inline_budget || !is_doorbell(addr)) {
        rclink_write(s->core, addr, val, size, rclink_now());
        return;
    }
    s->end.working = true;
    s->kicked = false;
    rclink_write(s->core, addr, val, size, rclink_now());
    s->end.working = false;
    if (s->kicked) {
        /*
         * The processor that rang sends: no other thread has to wake up
         * first.  What is left over is for the bottom half.
         */
        rclink_work(s, s->inline_budget);
    }
}

static const MemoryRegionOps rclink_mmio_ops = {
    .read = rclink_mmio_read,
    .write = rclink_mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};

/* ---- wire --------------------------------------------------------------------- */

static void rclink_wire_frame(void *opaque, const uint8_t *frame, size_t len)
{
    RclinkState *s = opaque;

    rclink_rx(s->core, frame, len, rclink_now());
}

static void rclink_wire_link(void *opaque, bool up)
{
    RclinkState *s = opaque;

    trace_rclink_wire(rclink_id(s), up);
    rclink_link(s->core, up);
    rclink_qmp_link(s->qmp);
}

static void rclink_wire_hold(void *opaque, bool stop)
{
    RclinkState *s = opaque;

    rclink_wire_stop(s->core, stop);
}

static void rclink_wire_broken(void *opaque, const char *text, uint32_t value)
{
    rclink_op_guest_error(opaque, "wire", text, value);
}

static const WireEndOps rclink_end_ops = {
    .frame = rclink_wire_frame,
    .turn_end = rclink_poll,
    .link = rclink_wire_link,
    .stop = rclink_wire_hold,
    .work = rclink_poll,
    .broken = rclink_wire_broken,
};

/* ---- properties that may change at run time --------------------------------------- */

static void rclink_plan_get(Object *obj, void *opaque, bool out,
                            CoreFaultPlan *plan)
{
    RclinkState *s = RCLINK(obj);

    if (s->core) {
        rclink_fault_get(s->core, out, plan);
    } else {
        *plan = s->plan[out];
    }
}

static void rclink_plan_set(Object *obj, void *opaque, bool out,
                            const CoreFaultPlan *plan)
{
    RclinkState *s = RCLINK(obj);

    if (!s->core) {
        s->plan[out] = *plan;
        return;
    }
    rclink_fault_set(s->core, out, plan);
    rclink_op_kick(s);
}

static bool rclink_prop_get_link(Object *obj, Error **errp)
{
    return wire_end_link_up(&RCLINK(obj)->end);
}

static void rclink_prop_set_link(Object *obj, bool up, Error **errp)
{
    wire_end_set_link_up(&RCLINK(obj)->end, up, errp);
}

static bool rclink_prop_get_shm(Object *obj, Error **errp)
{
    return wire_end_shared(&RCLINK(obj)->end);
}

static RclinkFaults *rclink_faults_of(RclinkState *s)
{
    return s->core ? rclink_faults(s->core) : &s->faults;
}

/* Faults of the port: bytes and bits of RclinkFaults. */
static void rclink_prop_get_fault(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    RclinkState *s = RCLINK(obj);
    uint8_t val = *((uint8_t *)rclink_faults_of(s) + (uintptr_t)opaque);

    visit_type_uint8(v, name, &val, errp);
}

static void rclink_prop_set_fault(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    RclinkState *s = RCLINK(obj);
    bool mask = (uintptr_t)opaque == offsetof(RclinkFaults, pause_storm);
    uint8_t val;

    if (!visit_type_uint8(v, name, &val, errp)) {
        return;
    }
    *((uint8_t *)rclink_faults_of(s) + (uintptr_t)opaque) = mask ? val : !!val;
    if (s->core) {
        rclink_faults_changed(s->core);
    }
}

static void rclink_prop_mac_reset(Object *obj, bool value, Error **errp)
{
    RclinkState *s = RCLINK(obj);

    if (s->core && value) {
        rclink_mac_reset(s->core);
    }
}

static bool rclink_prop_get_mac_reset(Object *obj, Error **errp)
{
    return false;
}

static const struct {
    const char *name;
    size_t off;
    const char *text;
} rclink_fault_prop[] = {
    { "fault-lose-credits", offsetof(RclinkFaults, lose_credits),
      "1: CBFC frames that come are lost" },
    { "fault-pause-storm", offsetof(RclinkFaults, pause_storm),
      "PFC classes, a bit each, that the peer is always told to stop" },
    { "fault-dma", offsetof(RclinkFaults, dma),
      "1: every access to the guest's memory fails" },
    { "fault-fcs", offsetof(RclinkFaults, fcs),
      "1: every frame that comes has a bad FCS" },
};
QEMU_BUILD_BUG_ON(sizeof(bool) != 1);

static void rclink_class_run_time_props(ObjectClass *klass)
{
    static const WireFaultProps plan = { rclink_plan_get, rclink_plan_set };

    wire_fault_props(klass, "", &plan, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(rclink_fault_prop); i++) {
        object_class_property_add(klass, rclink_fault_prop[i].name, "uint8",
                                  rclink_prop_get_fault,
                                  rclink_prop_set_fault, NULL,
                                  (void *)rclink_fault_prop[i].off);
        object_class_property_set_description(klass,
                                              rclink_fault_prop[i].name,
                                              rclink_fault_prop[i].text);
    }
    object_class_property_add_bool(klass, "link-up", rclink_prop_get_link,
                                   rclink_prop_set_link);
    object_class_property_set_description(klass, "link-up",
        "false cuts the port off the wire");
    object_class_property_add_bool(klass, "wire-shm", rclink_prop_get_shm,
                                   NULL);
    object_class_property_set_description(klass, "wire-shm",
        "whether the wire goes through shared memory now");
    object_class_property_add_bool(klass, "mac-reset",
                                   rclink_prop_get_mac_reset,
                                   rclink_prop_mac_reset);
    object_class_property_set_description(klass, "mac-reset",
        "true resets the MAC: credits and pauses");
}

static void rclink_add_counters(RclinkState *s)
{
    RclCounters *c = rclink_counters(s->core);

#define ADD(name, text)                                                     \
    object_property_add_uint64_ptr(OBJECT(s), "counter-" #name, &c->name,   \
                                   OBJ_PROP_FLAG_READ);
    RCL_COUNTERS(ADD)
#undef ADD
    object_property_add_uint64_ptr(OBJECT(s), "counter-wire_bad_length",
                                   &s->end.wire_bad_length, OBJ_PROP_FLAG_READ);
    object_property_add_uint64_ptr(OBJECT(s), "counter-wire_full",
                                   &s->end.wire_full, OBJ_PROP_FLAG_READ);
}

/* They point into the core. */
static void rclink_remove_counters(RclinkState *s)
{
#define REMOVE(name, text) object_property_del(OBJECT(s), "counter-" #name);
    RCL_COUNTERS(REMOVE)
#undef REMOVE
    object_property_del(OBJECT(s), "counter-wire_bad_length");
    object_property_del(OBJECT(s), "counter-wire_full");
}

/* ---- life -------------------------------------------------------------------------- */

static bool rclink_config(RclinkState *s, Error **errp)
{
    const char *wrong;

    s->cfg.rh_order = s->rh_order;
    s->cfg.slap = s->gen2_order;
    s->cfg.lite_high = s->lite_xpu;
    s->cfg.cfg_packed = s->cfg160;
    s->cfg.icrc_roce = s->icrc;
    s->cfg.udp_csum_ffff = s->udp_csum;
    s->cfg.ops = &rclink_ops;
    s->cfg.opaque = s;
    memcpy(s->cfg.mac, s->end.conf.macaddr.a, 6);
    wrong = rclink_config_check(&s->cfg);
    if (wrong) {
        error_setg(errp, "%s", wrong);
        return false;
    }
    return true;
}

static bool rclink_add_caps(PCIDevice *pci, RclinkState *s, Error **errp)
{
    if (pci_pm_init(pci, CAP_PM, errp) < 0) {
        return false;
    }
    if (pci_bus_is_express(pci_get_bus(pci))) {
        if (pcie_endpoint_cap_init(pci, CAP_EXP) < 0) {
            error_setg(errp, "cannot add the PCI Express capability");
            return false;
        }
        pcie_cap_flr_init(pci);
    }
    if (msix_init(pci, RCL_VECTORS, &s->bar0, 0, RCL_BAR_MSIX_TABLE,
                  &s->bar0, 0, RCL_BAR_MSIX_PBA, CAP_MSIX, errp) < 0) {
        return false;
    }
    for (unsigned v = 0; v < RCL_VECTORS; v++) {
        msix_vector_use(pci, v);
    }
    return true;
}

static void rclink_realize(PCIDevice *pci, Error **errp)
{
    RclinkState *s = RCLINK(pci);

    if (!wire_end_check(&s->end, errp)) {
        return;
    }
    if (!rclink_config(s, errp)) {
        wire_end_free(&s->end);
        return;
    }
    memory_region_init_io(&s->bar0, OBJECT(s), &rclink_mmio_ops, s,
                          "rclink.bar0", RCL_BAR_SIZE);
    pci_register_bar(pci, 0, PCI_BASE_ADDRESS_MEM_TYPE_64, &s->bar0);
    if (!rclink_add_caps(pci, s, errp)) {
        wire_end_free(&s->end);
        return;
    }
    pci_master_init(&s->master, pci);
    s->bh = qemu_bh_new_guarded(rclink_poll, s,
                                &DEVICE(s)->mem_reentrancy_guard);
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, rclink_op_kick, s);
    s->core = rclink_new(&s->cfg);
    rclink_add_counters(s);
    s->qmp = rclink_qmp_add(OBJECT(s), s->core);
    wire_end_start(&s->end, DEVICE(s), &rclink_end_ops);
    rclink_wire_link(s, wire_end_link_up(&s->end));
    s->vmstate_entry = qemu_add_vm_change_state_handler(rclink_vm_state, s);
    for (unsigned out = 0; out < 2; out++) {
        rclink_fault_set(s->core, out, &s->plan[out]);
    }
    *rclink_faults(s->core) = s->faults;
    rclink_faults_changed(s->core);
}

static void rclink_exit(PCIDevice *pci)
{
    RclinkState *s = RCLINK(pci);

    qemu_del_vm_change_state_handler(s->vmstate_entry);
    rclink_qmp_remove(s->qmp);
    s->qmp = NULL;
    timer_free(s->timer);
    qemu_bh_delete(s->bh);
    wire_end_free(&s->end);
    rclink_remove_counters(s);
    rclink_free(s->core);
    s->core = NULL;
    pcie_cap_exit(pci);
    pci_master_fini(&s->master);
    msix_uninit(pci, &s->bar0, &s->bar0);
    g_free(s->state);
}

static void rclink_reset_hold(Object *obj, ResetType type)
{
    RclinkState *s = RCLINK(obj);

    trace_rclink_reset(rclink_id(s));
    timer_del(s->timer);
    qemu_bh_cancel(s->bh);
    rclink_reset(s->core);
}

static void rclink_config_write(PCIDevice *pci, uint32_t addr, uint32_t val,
                                int len)
{
    pci_default_write_config(pci, addr, val, len);
    if (pci_is_express(pci)) {
        pcie_cap_flr_write_config(pci, addr, val, len);
    }
}

/* ---- migration ----------------------------------------------------------------------- */

/* Below, with the properties. */
static const CoreProps rclink_core_props;

static int rclink_pre_save(void *opaque)
{
    RclinkState *s = opaque;
    size_t len;

    g_free(s->state);
    s->state = rclink_save(s->core, rclink_now(), &len);
    s->state = core_props_prepend(OBJECT(s), &rclink_core_props, s->state,
                                  &len);
    s->state_len = len;
    wire_end_pre_save(&s->end);
    return 0;
}

static int rclink_post_save(void *opaque)
{
    RclinkState *s = opaque;

    g_clear_pointer(&s->state, g_free);
    s->state_len = 0;
    wire_end_post_save(&s->end);
    return 0;
}

static int rclink_post_load(void *opaque, int version_id)
{
    RclinkState *s = opaque;
    const char *error = core_props_check(OBJECT(s), &rclink_core_props,
                                         s->state, s->state_len);
    bool ok;

    if (!error) {
        error = rclink_load(s->core, rclink_now(), s->state, s->state_len);
    }
    if (error) {
        error_report("%s: state of the port: %s", rclink_id(s), error);
    }
    ok = !error && wire_end_post_load(&s->end);
    rclink_post_save(s);
    qemu_bh_schedule(s->bh);
    return ok ? 0 : -EINVAL;
}

/* Receive buffers of 16 MiB, with what is told of each packet, are less. */
static bool rclink_state_len_valid(void *opaque, int version_id)
{
    return ((RclinkState *)opaque)->state_len <= 64 * MiB;
}

static bool rclink_frames_needed(void *opaque)
{
    RclinkState *s = opaque;

    return wire_end_frames_needed(&s->end);
}

/* Frames that the stalled peer at the end of a chardev did not take yet. */
static const VMStateDescription rclink_vmstate_frames = {
    .name = TYPE_RCLINK "/frames",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = rclink_frames_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_WIRE_END_FRAMES(end, RclinkState),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription rclink_vmstate = {
    .name = TYPE_RCLINK,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = rclink_pre_save,
    .post_save = rclink_post_save,
    .post_load = rclink_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, RclinkState),
        VMSTATE_MSIX(parent_obj, RclinkState),
        VMSTATE_UINT32(state_len, RclinkState),
        VMSTATE_VALIDATE("image is too long", rclink_state_len_valid),
        VMSTATE_VBUFFER_ALLOC_UINT32(state, RclinkState, 1, NULL, state_len),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &rclink_vmstate_frames,
        NULL
    },
};

/* ---- class --------------------------------------------------------------------------- */

CORE_ENUM_PROP(rclink_rh_order, "RclinkRhOrder", "be", "le", "rfc")
CORE_ENUM_PROP(rclink_gen2_order, "RclinkGen2Order", "doc", "slap")
CORE_ENUM_PROP(rclink_lite_xpu, "RclinkLiteXpu", "low", "high")
CORE_ENUM_PROP(rclink_cfg160, "RclinkCfg160", "doc", "packed")
CORE_ENUM_PROP(rclink_icrc, "RclinkIcrc", "crc32", "roce")
CORE_ENUM_PROP(rclink_udp_csum, "RclinkUdpCsum", "0", "ffff")

#define RCLINK_ENUM(name, field) \
    DEFINE_PROP_CORE_ENUM(name, RclinkState, field, rclink_##field, 0)

static const Property rclink_props[] = {
    DEFINE_WIRE_END_PROPERTIES(RclinkState, end),
    DEFINE_PROP_UINT32("inline-budget", RclinkState, inline_budget, 64),
    DEFINE_PROP_UINT32("qps", RclinkState, cfg.qps, RCL_QPS_MAX),
    DEFINE_PROP_UINT32("type1-vcs", RclinkState, cfg.vcs, RCL_BANKS),
    DEFINE_PROP_UINT32("ost1", RclinkState, cfg.ost1, RCL_OST1_MAX),
    DEFINE_PROP_UINT32("ost2", RclinkState, cfg.ost2, RCL_OST2_MAX),
    DEFINE_PROP_UINT32("speed", RclinkState, cfg.speed, 400),
    DEFINE_PROP_UINT32("payload", RclinkState, cfg.payload, RCL_PAYLOAD),
    DEFINE_PROP_UINT32("rx2-bytes", RclinkState, cfg.rx2_bytes, 64 << 10),
    DEFINE_PROP_UINT32("time-scale", RclinkState, cfg.time_scale, 1000),
    RCLINK_ENUM("rh-order", rh_order),
    RCLINK_ENUM("gen2-order", gen2_order),
    RCLINK_ENUM("lite-xpu", lite_xpu),
    RCLINK_ENUM("cfg160", cfg160),
    RCLINK_ENUM("icrc", icrc),
    RCLINK_ENUM("udp-csum", udp_csum),
};

/* Those that the ends of a migration must agree on. */
static const CoreProps rclink_core_props = {
    .list = rclink_props,
    .n = ARRAY_SIZE(rclink_props),
    .local = (const char *const []) {
        "mac", "netdev", "chardev", "shm", "capture", "inline-budget", NULL
    },
};

static const struct {
    const char *name;
    const char *text;
} rclink_descriptions[] = {
    { "chardev", "the wire, instead of a netdev" },
    { "shm", "use shared memory where the chardev is a unix socket" },
    { "inline-budget", "packets sent within a doorbell write; 0 = none" },
    { "capture", "file for all frames, pcap" },
    { "qps", "QP_NUM, a power of two from 4 to 1024" },
    { "type1-vcs", "TYPE1_VC_NUM: 1, 2 or 4" },
    { "ost1", "packet buffers of TYPE1, 1 to 512" },
    { "ost2", "packet buffers of TYPE2, 1 to 16" },
    { "speed", "200 or 400 Gb/s: the unit of PFC's pauses" },
    { "payload", "longest payload of TYPE1 and TYPE2, 1344 to 4096" },
    { "rx2-bytes", "receive buffer of TYPE2" },
    { "time-scale", "factor of all the document's times" },
    { "rh-order", "of the transport header: be, le or rfc" },
    { "gen2-order", "Key_words in SA (doc) or DA (slap)" },
    { "lite-xpu", "XPU_ID in SA[15:0] (low) or SA[39:30] (high)" },
    { "cfg160", "layout of AFH_CFG_EN: doc or packed" },
    { "icrc", "crc32, or roce in the Standard format" },
    { "udp-csum", "0 or ffff" },
};

static void rclink_class_init(ObjectClass *klass, QemuClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    k->realize = rclink_realize;
    k->exit = rclink_exit;
    k->config_write = rclink_config_write;
    k->vendor_id = RCL_PCI_VENDOR;
    k->device_id = RCL_PCI_DEVICE;
    k->revision = 1;
    k->class_id = RCL_PCI_CLASS;
    rc->phases.hold = rclink_reset_hold;
    dc->desc = "RC Link port: reliable unicast, multicast and Ethernet";
    dc->vmsd = &rclink_vmstate;
    device_class_set_props(dc, rclink_props);
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    rclink_class_run_time_props(klass);
    for (size_t i = 0; i < ARRAY_SIZE(rclink_descriptions); i++) {
        object_class_property_set_description(klass,
                                              rclink_descriptions[i].name,
                                              rclink_descriptions[i].text);
    }
}

static const TypeInfo rclink_type = {
    .name = TYPE_RCLINK,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(RclinkState),
    .class_init = rclink_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { }
    },
};

static void rclink_register_types(void)
{
    type_register_static(&rclink_type);
}
type_init(rclink_register_types)
