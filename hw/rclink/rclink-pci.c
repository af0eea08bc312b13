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
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "chardev/char-fe.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci_device.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "migration/vmstate.h"
#include "net/net.h"
#include "system/dma.h"
#include "system/runstate.h"
#include "core/pci_store.h"
#include "rclink/capture.h"
#include "rclink/qmp.h"
#include "rclink/rclink.h"
#include "rclink/rclink_hw.h"
#include "wire/fault_props.h"
#include "wire/stream.h"
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
    MemoryRegion bar0;
    /* One of two wires. */
    NICState *nic;
    NICConf conf;
    WireStream *wire;
    CharFrontend chr;
    bool unplugged;             /* by link-up */
    bool shm;
    bool was_engaged;           /* before the wire's turn */

    QEMUBH *bh;
    QEMUTimer *timer;
    VMChangeStateEntry *vmstate_entry;
    Rclink *core;
    RclinkConfig cfg;
    RclinkQmp *qmp;
    RclCapture *capture;
    char *capture_path;
    bool working;               /* in the core: who calls it looks at ... */
    bool kicked;                /* ... this, instead of the bottom half */
    bool refused;               /* a frame came meanwhile, and must wait */
    uint32_t inline_budget;
    uint64_t wire_bad_length;   /* connections closed for garbage */

    char *rh_order, *gen2_order, *lite_xpu, *cfg160, *icrc, *udp_csum;

    /* migration: the core's state and frames that wait, while they travel */
    uint32_t state_len;
    uint8_t *state;
    uint32_t frames_len;
    uint8_t *frames;
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
    return pci_dma_read(opaque, addr, buf, len) == MEMTX_OK;
}

static bool rclink_op_write(void *opaque, uint64_t addr, const void *buf,
                            size_t len)
{
    return pci_store(opaque, addr, buf, len, MEMTXATTRS_UNSPECIFIED) ==
           MEMTX_OK;
}

static void rclink_sent(NetClientState *nc, ssize_t len)
{
    RclinkState *s = qemu_get_nic_opaque(nc);

    rclink_wire_stop(s->core, false);
}

static void rclink_op_wire_tx(void *opaque, const uint8_t *data, size_t len)
{
    RclinkState *s = opaque;
    NetClientState *nc;

    QEMU_BUILD_BUG_ON(WIRE_STREAM_PREFIX != RCL_WIRE_PREFIX);
    if (s->wire) {
        wire_stream_send(s->wire, data, len);
        if (wire_stream_blocked(s->wire)) {
            rclink_wire_stop(s->core, true);
        }
        return;
    }
    nc = qemu_get_queue(s->nic);
    while (len) {
        uint32_t n = ldl_be_p(data);

        if (!qemu_send_packet_async(nc, data + RCL_WIRE_PREFIX, n,
                                    rclink_sent)) {
            rclink_wire_stop(s->core, true);    /* it waits in the queue */
        }
        data += RCL_WIRE_PREFIX + n;
        len -= RCL_WIRE_PREFIX + n;
    }
}

static void rclink_op_msix(void *opaque, unsigned vector)
{
    trace_rclink_msix(rclink_id(opaque), vector);
    msix_notify(opaque, vector);
}

static void rclink_op_kick(void *opaque)
{
    RclinkState *s = opaque;

    if (s->working) {
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
    if (s->capture) {
        rcl_capture_frame(s->capture, qemu_clock_get_ns(QEMU_CLOCK_HOST),
                          frame, len);
    }
}

static const RclinkOps rclink_ops = {
    .read = rclink_op_read,
    .write = rclink_op_write,
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
    s->working = true;
    s->kicked = false;
    next = rclink_run(s->core, now, packets);
    s->working = false;
    if (s->refused) {
        s->refused = false;
        qemu_flush_queued_packets(qemu_get_queue(s->nic));
    }
    if (next <= now || s->kicked) {
        qemu_bh_schedule(s->bh);
    } else if (next == INT64_MAX) {
        timer_del(s->timer);
    } else if (timer_expire_time_ns(s->timer) != next) {
        timer_mod(s->timer, next);      /* may wake the main loop */
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
    } else if (s->capture) {
        rcl_capture_flush(s->capture);
    }
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
    if (s->working || !s->inline_budget || !is_doorbell(addr)) {
        rclink_write(s->core, addr, val, size, rclink_now());
        return;
    }
    s->working = true;
    s->kicked = false;
    rclink_write(s->core, addr, val, size, rclink_now());
    s->working = false;
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

/* ---- wire: network backend ------------------------------------------------------ */

/* A backend may answer from within our own transmission. */
static bool rclink_can_receive(NetClientState *nc)
{
    RclinkState *s = qemu_get_nic_opaque(nc);

    s->refused |= s->working;
    return !s->working;
}

static ssize_t rclink_receive(NetClientState *nc, const uint8_t *buf,
                              size_t size)
{
    RclinkState *s = qemu_get_nic_opaque(nc);

    rclink_rx(s->core, buf, size, rclink_now());
    return size;
}

static void rclink_link_update(RclinkState *s, bool up)
{
    rclink_link(s->core, up);
    rclink_qmp_link(s->qmp);
}

static void rclink_link_status(NetClientState *nc)
{
    rclink_link_update(qemu_get_nic_opaque(nc), !nc->link_down);
}

static NetClientInfo rclink_net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = rclink_can_receive,
    .receive = rclink_receive,
    .link_status_changed = rclink_link_status,
};

/* ---- wire: character device ------------------------------------------------------- */

/*
 * The character device calls from the main loop without the guard that memory
 * and network have against a device that addresses itself.
 */
static void rclink_stream_guard(void *opaque, bool on)
{
    MemReentrancyGuard *g = &DEVICE(opaque)->mem_reentrancy_guard;
    RclinkState *s = opaque;

    if (on) {
        s->was_engaged = g->engaged_in_io;
        g->engaged_in_io = true;
    } else {
        g->engaged_in_io = s->was_engaged;
    }
}

static void rclink_stream_frame(void *opaque, const uint8_t *frame,
                                size_t len)
{
    RclinkState *s = opaque;
    bool working = s->working;

    if (!s->unplugged) {
        s->working = true;      /* answers leave at the end of the turn */
        rclink_rx(s->core, frame, len, rclink_now());
        s->working = working;
    }
}

static void rclink_stream_turn_end(void *opaque)
{
    rclink_work(opaque, RCLINK_TURN);
}

static void rclink_stream_link(void *opaque, bool up)
{
    RclinkState *s = opaque;

    trace_rclink_wire(rclink_id(s), up, up && !s->unplugged);
    rclink_link_update(s, up && !s->unplugged);
}

static void rclink_stream_room(void *opaque)
{
    RclinkState *s = opaque;

    s->working = true;
    rclink_wire_stop(s->core, false);
    s->working = false;
    rclink_work(s, RCLINK_TURN);
}

static void rclink_stream_bad_length(void *opaque, uint32_t len)
{
    RclinkState *s = opaque;

    s->wire_bad_length++;
    rclink_op_guest_error(s, "wire", "peer's frame is too long, connection "
                          "closed", len);
}

static void rclink_stream_broken(void *opaque, const char *rule)
{
    rclink_op_guest_error(opaque, "wire", rule, 0);
}

static const WireStreamOps rclink_stream_ops = {
    .guard = rclink_stream_guard,
    .broken = rclink_stream_broken,
    .frame = rclink_stream_frame,
    .turn_end = rclink_stream_turn_end,
    .link = rclink_stream_link,
    .room = rclink_stream_room,
    .bad_length = rclink_stream_bad_length,
};

/* ---- properties that may change at run time --------------------------------------- */

static bool rclink_plan_get(Object *obj, void *opaque, bool out,
                            CoreFaultPlan *plan)
{
    RclinkState *s = RCLINK(obj);

    if (s->core) {
        rclink_fault_get(s->core, out, plan);
    }
    return s->core;
}

static void rclink_plan_set(Object *obj, void *opaque, bool out,
                            const CoreFaultPlan *plan)
{
    RclinkState *s = RCLINK(obj);

    rclink_fault_set(s->core, out, plan);
    rclink_op_kick(s);
}

static bool rclink_prop_get_link(Object *obj, Error **errp)
{
    RclinkState *s = RCLINK(obj);

    if (s->wire) {
        return wire_stream_connected(s->wire) && !s->unplugged;
    }
    return s->nic && !qemu_get_queue(s->nic)->link_down;
}

static void rclink_prop_set_link(Object *obj, bool up, Error **errp)
{
    RclinkState *s = RCLINK(obj);

    if (s->wire) {
        s->unplugged = !up;
        rclink_stream_link(s, wire_stream_connected(s->wire));
        return;
    }
    if (!s->nic) {
        error_setg(errp, "link-up can be set when the device exists");
        return;
    }
    qemu_get_queue(s->nic)->link_down = !up;
    rclink_link_update(s, up);
}

static bool rclink_prop_get_shm(Object *obj, Error **errp)
{
    RclinkState *s = RCLINK(obj);
    bool out = false, in = false;

    if (s->wire) {
        wire_pipe_shared(wire_stream_pipe(s->wire), &out, &in);
    }
    return out && in;
}

/* Faults of the port: bytes and bits of RclinkFaults. */
static void rclink_prop_get_fault(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    RclinkState *s = RCLINK(obj);
    uint8_t val = s->core ? *((uint8_t *)rclink_faults(s->core) +
                              (uintptr_t)opaque) : 0;

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
    if (!s->core) {
        error_setg(errp, "%s can be set when the device exists", name);
        return;
    }
    *((uint8_t *)rclink_faults(s->core) + (uintptr_t)opaque) =
        mask ? val : !!val;
    rclink_faults_changed(s->core);
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
                                   &s->wire_bad_length, OBJ_PROP_FLAG_READ);
}

/* They point into the core. */
static void rclink_remove_counters(RclinkState *s)
{
#define REMOVE(name, text) object_property_del(OBJECT(s), "counter-" #name);
    RCL_COUNTERS(REMOVE)
#undef REMOVE
    object_property_del(OBJECT(s), "counter-wire_bad_length");
}

/* ---- life -------------------------------------------------------------------------- */

/* The place of @value among @choices, which end with NULL. */
static bool rclink_choice(const char *name, const char *value,
                          const char *const *choices, int *out, Error **errp)
{
    for (*out = 0; choices[*out]; ++*out) {
        if (!value || !strcmp(value, choices[*out])) {
            return true;
        }
    }
    error_setg(errp, "%s cannot be '%s'", name, value);
    return false;
}

static bool rclink_config(RclinkState *s, Error **errp)
{
    static const char *const order[] = { "be", "le", "rfc", NULL };
    static const char *const gen2[] = { "doc", "slap", NULL };
    static const char *const lite[] = { "low", "high", NULL };
    static const char *const cfg160[] = { "doc", "packed", NULL };
    static const char *const icrc[] = { "crc32", "roce", NULL };
    static const char *const csum[] = { "0", "ffff", NULL };
    const char *wrong;
    int at[6];

    if (!rclink_choice("rh-order", s->rh_order, order, &at[0], errp) ||
        !rclink_choice("gen2-order", s->gen2_order, gen2, &at[1], errp) ||
        !rclink_choice("lite-xpu", s->lite_xpu, lite, &at[2], errp) ||
        !rclink_choice("cfg160", s->cfg160, cfg160, &at[3], errp) ||
        !rclink_choice("icrc", s->icrc, icrc, &at[4], errp) ||
        !rclink_choice("udp-csum", s->udp_csum, csum, &at[5], errp)) {
        return false;
    }
    s->cfg.rh_order = at[0];
    s->cfg.slap = at[1];
    s->cfg.lite_high = at[2];
    s->cfg.cfg_packed = at[3];
    s->cfg.icrc_roce = at[4];
    s->cfg.udp_csum_ffff = at[5];
    s->cfg.ops = &rclink_ops;
    s->cfg.opaque = s;
    memcpy(s->cfg.mac, s->conf.macaddr.a, 6);
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

    if (qemu_chr_fe_backend_connected(&s->chr) && s->conf.peers.ncs[0]) {
        error_setg(errp, "the wire is either a netdev or a chardev");
        return;
    }
    qemu_macaddr_default_if_unset(&s->conf.macaddr);
    if (!rclink_config(s, errp)) {
        return;
    }
    if (s->capture_path) {
        s->capture = rcl_capture_new(s->capture_path);
        if (!s->capture) {
            error_setg_errno(errp, errno, "capture=%s", s->capture_path);
            return;
        }
    }
    memory_region_init_io(&s->bar0, OBJECT(s), &rclink_mmio_ops, s,
                          "rclink.bar0", RCL_BAR_SIZE);
    pci_register_bar(pci, 0, PCI_BASE_ADDRESS_MEM_TYPE_64, &s->bar0);
    if (!rclink_add_caps(pci, s, errp)) {
        g_clear_pointer(&s->capture, rcl_capture_free);
        return;
    }
    s->bh = qemu_bh_new_guarded(rclink_poll, s,
                                &DEVICE(s)->mem_reentrancy_guard);
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, rclink_op_kick, s);
    s->core = rclink_new(&s->cfg);
    rclink_add_counters(s);
    s->qmp = rclink_qmp_add(OBJECT(s), s->core);
    if (qemu_chr_fe_backend_connected(&s->chr)) {
        s->wire = wire_stream_new(&s->chr, &rclink_stream_ops, s, s->shm);
    } else {
        s->nic = qemu_new_nic(&rclink_net_info, &s->conf,
                              object_get_typename(OBJECT(s)), DEVICE(s)->id,
                              &DEVICE(s)->mem_reentrancy_guard, s);
        qemu_format_nic_info_str(qemu_get_queue(s->nic), s->conf.macaddr.a);
        rclink_link_update(s, !qemu_get_queue(s->nic)->link_down);
    }
    s->vmstate_entry = qemu_add_vm_change_state_handler(rclink_vm_state, s);
}

static void rclink_exit(PCIDevice *pci)
{
    RclinkState *s = RCLINK(pci);

    qemu_del_vm_change_state_handler(s->vmstate_entry);
    rclink_qmp_remove(s->qmp);
    s->qmp = NULL;
    timer_free(s->timer);
    qemu_bh_delete(s->bh);
    if (s->wire) {
        wire_stream_free(s->wire);
        s->wire = NULL;
    } else {
        qemu_del_nic(s->nic);
        s->nic = NULL;
    }
    rclink_remove_counters(s);
    rclink_free(s->core);
    s->core = NULL;
    g_clear_pointer(&s->capture, rcl_capture_free);
    pcie_cap_exit(pci);
    msix_uninit(pci, &s->bar0, &s->bar0);
    g_free(s->state);
    g_free(s->frames);
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

static int rclink_pre_save(void *opaque)
{
    RclinkState *s = opaque;
    size_t len;

    g_free(s->state);
    s->state = rclink_save(s->core, rclink_now(), &len);
    s->state_len = len;
    g_free(s->frames);
    s->frames = s->wire ? wire_stream_save(s->wire, &s->frames_len) : NULL;
    return 0;
}

static int rclink_post_save(void *opaque)
{
    RclinkState *s = opaque;

    g_clear_pointer(&s->state, g_free);
    g_clear_pointer(&s->frames, g_free);
    s->state_len = s->frames_len = 0;
    return 0;
}

static int rclink_post_load(void *opaque, int version_id)
{
    RclinkState *s = opaque;
    const char *error = rclink_load(s->core, rclink_now(), s->state,
                                    s->state_len);
    bool ok = !error;

    if (error) {
        error_report("%s: state of the port: %s", rclink_id(s), error);
    }
    if (ok && s->wire) {
        ok = wire_stream_load(s->wire, s->frames, s->frames_len);
        rclink_wire_stop(s->core, wire_stream_blocked(s->wire));
    }
    rclink_post_save(s);
    qemu_bh_schedule(s->bh);
    return ok ? 0 : -EINVAL;
}

static bool rclink_frames_needed(void *opaque)
{
    RclinkState *s = opaque;

    return s->wire && wire_stream_blocked(s->wire);
}

/* Frames that the stalled peer at the end of a chardev did not take yet. */
static const VMStateDescription rclink_vmstate_frames = {
    .name = TYPE_RCLINK "/frames",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = rclink_frames_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(frames_len, RclinkState),
        VMSTATE_VBUFFER_ALLOC_UINT32(frames, RclinkState, 1, NULL,
                                     frames_len),
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
        VMSTATE_VBUFFER_ALLOC_UINT32(state, RclinkState, 1, NULL, state_len),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &rclink_vmstate_frames,
        NULL
    },
};

/* ---- class --------------------------------------------------------------------------- */

static const Property rclink_props[] = {
    DEFINE_NIC_PROPERTIES(RclinkState, conf),
    DEFINE_PROP_CHR("chardev", RclinkState, chr),
    DEFINE_PROP_BOOL("shm", RclinkState, shm, true),
    DEFINE_PROP_UINT32("inline-budget", RclinkState, inline_budget, 64),
    DEFINE_PROP_STRING("capture", RclinkState, capture_path),
    DEFINE_PROP_UINT32("qps", RclinkState, cfg.qps, RCL_QPS_MAX),
    DEFINE_PROP_UINT32("type1-vcs", RclinkState, cfg.vcs, RCL_BANKS),
    DEFINE_PROP_UINT32("ost1", RclinkState, cfg.ost1, RCL_OST1_MAX),
    DEFINE_PROP_UINT32("ost2", RclinkState, cfg.ost2, RCL_OST2_MAX),
    DEFINE_PROP_UINT32("speed", RclinkState, cfg.speed, 400),
    DEFINE_PROP_UINT32("payload", RclinkState, cfg.payload, RCL_PAYLOAD),
    DEFINE_PROP_UINT32("rx2-bytes", RclinkState, cfg.rx2_bytes, 64 << 10),
    DEFINE_PROP_UINT32("time-scale", RclinkState, cfg.time_scale, 1000),
    DEFINE_PROP_STRING("rh-order", RclinkState, rh_order),
    DEFINE_PROP_STRING("gen2-order", RclinkState, gen2_order),
    DEFINE_PROP_STRING("lite-xpu", RclinkState, lite_xpu),
    DEFINE_PROP_STRING("cfg160", RclinkState, cfg160),
    DEFINE_PROP_STRING("icrc", RclinkState, icrc),
    DEFINE_PROP_STRING("udp-csum", RclinkState, udp_csum),
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
