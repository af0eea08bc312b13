/*
 * PCIe function "ncic-mthca": an InfiniBand adapter with the mem-free
 * InfiniHost interface whose packets travel as RoCEv2 on a QEMU netdev or
 * character device.
 *
 * Identity, BARs, interrupts, guest memory, the wire, properties and
 * migration around the core in hw/rdma/mthca.
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
#include "chardev/char-fe.h"
#include "hw/pci/msi.h"
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
#include "rdma/fault_props.h"
#include "rdma/mthca.h"
#include "rdma/props.h"
#include "rdma/qmp.h"
#include "wire/stream.h"
#include "trace.h"

#define TYPE_NCIC_MTHCA "ncic-mthca"
OBJECT_DECLARE_SIMPLE_TYPE(NcicMthca, NCIC_MTHCA)

/* Capabilities, where the adapter of these ids has them. */
#define CAP_PM      0x40
#define CAP_EXP     0x60
#define CAP_MSIX    0x84
#define CAP_MSI     0x90

struct NcicMthca {
    PCIDevice parent_obj;
    MemoryRegion bar0, bar2;
    /* One of two wires. */
    NICState *nic;
    NICConf conf;
    WireStream *wire;
    CharBackend chr;
    bool unplugged;             /* by link-up */
    bool shm;
    bool was_engaged;           /* before the wire's turn */

    QEMUBH *bh;
    QEMUTimer *timer;
    VMChangeStateEntry *vmstate_entry;
    Mthca *core;
    MthcaConfig cfg;
    RdmaQmp *qmp;
    bool working;               /* in the core: who calls it looks at ... */
    bool kicked;                /* ... this, instead of the bottom half */
    bool refused;               /* a frame came meanwhile, and must wait */
    bool ack_waits;             /* for a doorbell that takes it along */
    bool answers;               /* the guest's doorbells follow input */
    int64_t input_at;           /* since when an ACK waits or last did */
    uint64_t inline_polls;      /* doorbells whose work was done at once */
    uint64_t wire_bad_length;   /* connections closed for garbage */

    /* properties */
    int sm;                     /* index of rdma_sm_info */
    uint16_t lid;
    uint64_t guid;
    uint64_t gid_prefix;
    bool roce_gid;
    uint32_t lid_net;
    uint32_t swpb_packets, swpb_units, rpb_packets, reb_entries;
    uint32_t loss_us, time_scale;
    bool ack_every_packet, icrc, udp_csum, udp_csum_need, uar_check;
    RdmaSwitches sw;
    uint32_t inline_budget;

    /* migration: the core's block and frames that wait, while they travel */
    uint32_t state_len;
    uint8_t *state;
    uint32_t frames_len;
    uint8_t *frames;
};

static const char *mthca_id(NcicMthca *s)
{
    const char *id = DEVICE(s)->id;

    return id ? id : TYPE_NCIC_MTHCA;
}

static int64_t mthca_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/* ---- outside of the cores -------------------------------------------------- */

static bool mthca_op_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    return pci_dma_read(opaque, addr, buf, len) == MEMTX_OK;
}

static bool mthca_op_write(void *opaque, uint64_t addr, const void *buf,
                           size_t len)
{
    return pci_store(opaque, addr, buf, len, MEMTXATTRS_UNSPECIFIED) ==
           MEMTX_OK;
}

static void *mthca_op_map(void *opaque, uint64_t addr, size_t *len,
                          bool write)
{
    dma_addr_t n = *len;
    void *p = pci_dma_map(opaque, addr, &n, write ? DMA_DIRECTION_FROM_DEVICE
                                                  : DMA_DIRECTION_TO_DEVICE);

    *len = n;
    return p;
}

static void mthca_op_unmap(void *opaque, void *p, size_t len, bool write)
{
    pci_dma_unmap(opaque, p, len, write ? DMA_DIRECTION_FROM_DEVICE
                                        : DMA_DIRECTION_TO_DEVICE, len);
}

/* The whole batch is one write: the core left room for the lengths. */
static bool mthca_stream_tx(NcicMthca *s, const struct iovec *frames,
                            unsigned n)
{
    uint8_t *data = (uint8_t *)frames[0].iov_base - WIRE_STREAM_PREFIX;
    size_t len = 0;
    bool ok;

    QEMU_BUILD_BUG_ON(WIRE_STREAM_PREFIX != RDMA_TX_HEADROOM);
    for (unsigned i = 0; i < n; i++) {
        stl_be_p(data + len, frames[i].iov_len);
        len += WIRE_STREAM_PREFIX + frames[i].iov_len;
    }
    ok = wire_stream_send(s->wire, data, len);
    if (wire_stream_blocked(s->wire)) {
        rdma_wire_stop(mthca_rdma(s->core), true);
    }
    return ok;
}

static bool mthca_op_wire_tx(void *opaque, const struct iovec *frames,
                             unsigned n)
{
    NcicMthca *s = opaque;
    NetClientState *nc;

    if (s->wire) {
        return !s->unplugged && mthca_stream_tx(s, frames, n);
    }
    nc = qemu_get_queue(s->nic);
    if (nc->link_down) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        qemu_send_packet(nc, frames[i].iov_base, frames[i].iov_len);
    }
    return true;
}

static void mthca_op_kick(void *opaque)
{
    NcicMthca *s = opaque;

    if (s->working) {
        s->kicked = true;       /* who works now looks at it */
    } else {
        qemu_bh_schedule(s->bh);
    }
}

static void mthca_op_log(void *opaque, const char *rule, const char *text,
                         uint32_t number)
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
    .wire_tx = mthca_op_wire_tx,
    .kick = mthca_op_kick,
    .log = mthca_op_log,
    .qp_state = mthca_op_qp_state,
    .packet = mthca_op_packet,
};

static void mthca_op_msix(void *opaque, unsigned vector)
{
    trace_mthca_interrupt(mthca_id(opaque), vector, 1);
    msix_notify(opaque, vector);
}

static void mthca_op_intx(void *opaque, bool level)
{
    PCIDevice *pci = opaque;

    trace_mthca_interrupt(mthca_id(opaque), -1, level);
    if (!msi_enabled(pci)) {
        pci_set_irq(pci, level);
    } else if (level) {
        msi_notify(pci, 0);
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

/* ---- work ------------------------------------------------------------------- */

/* Packets of a turn of the bottom half. */
#define MTHCA_TURN 256

/*
 * A doorbell that follows input so soon is taken for its answer.  Far below
 * the delay of ACKs that the adapter announces (134 ms), and above a round trip
 * between two guests: a shorter wait would end in the peer's next message.
 */
#define MTHCA_ANSWER_NS (500 * SCALE_US)

static void mthca_work(NcicMthca *s, unsigned packets)
{
    int64_t now = mthca_now(), next;

    if (!runstate_is_running()) {
        return;     /* mthca_vm_state() looks again */
    }
    s->working = true;
    s->kicked = false;
    s->ack_waits = false;
    next = rdma_poll_some(mthca_rdma(s->core), now, packets);
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

/* ---- registers ---------------------------------------------------------------- */

static uint64_t mthca_mmio_bar0_read(void *opaque, hwaddr addr, unsigned size)
{
    NcicMthca *s = opaque;
    uint32_t val = mthca_bar0_read(s->core, addr);

    trace_mthca_bar0_read(mthca_id(s), addr, val);
    return val;
}

static void mthca_mmio_bar0_write(void *opaque, hwaddr addr, uint64_t val,
                                  unsigned size)
{
    NcicMthca *s = opaque;

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

    trace_mthca_doorbell(mthca_id(s), addr, val, size);
    if (!s->inline_budget || s->working) {
        mthca_uar_write(s->core, addr, val, size);
        return;
    }
    s->working = true;
    s->kicked = false;
    mthca_uar_write(s->core, addr, val, size);
    s->working = false;
    if (s->kicked) {
        /*
         * The processor that rang sends: no other thread has to wake up
         * first.  What is left over is for the bottom half.
         */
        s->inline_polls++;
        s->answers = mthca_now() - s->input_at < MTHCA_ANSWER_NS;
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

/* ---- wire: network backend ------------------------------------------------------ */

/* A backend may answer from within our own transmission. */
static bool mthca_can_receive(NetClientState *nc)
{
    NcicMthca *s = qemu_get_nic_opaque(nc);

    s->refused |= s->working;
    return !s->working;
}

static ssize_t mthca_receive(NetClientState *nc, const uint8_t *buf,
                             size_t size)
{
    NcicMthca *s = qemu_get_nic_opaque(nc);

    rdma_rx_frame(mthca_rdma(s->core), buf, size, mthca_now());
    return size;
}

static void mthca_link_status(NetClientState *nc)
{
    NcicMthca *s = qemu_get_nic_opaque(nc);

    mthca_link_set(s->core, !nc->link_down);
    rdma_qmp_port(s->qmp);
}

static NetClientInfo mthca_net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = mthca_can_receive,
    .receive = mthca_receive,
    .link_status_changed = mthca_link_status,
};

/* ---- wire: character device ------------------------------------------------------- */

/*
 * The character device calls from the main loop without the guard that memory
 * and network have against a device that addresses itself.
 */
static bool mthca_guard(NcicMthca *s, bool engaged)
{
    MemReentrancyGuard *g = &DEVICE(s)->mem_reentrancy_guard;
    bool was = g->engaged_in_io;

    g->engaged_in_io = engaged;
    return was;
}

static void mthca_stream_guard(void *opaque, bool on)
{
    NcicMthca *s = opaque;

    if (on) {
        s->was_engaged = mthca_guard(s, true);
    } else {
        mthca_guard(s, s->was_engaged);
    }
}

static void mthca_stream_frame(void *opaque, const uint8_t *frame, size_t len)
{
    NcicMthca *s = opaque;
    bool working = s->working;

    if (!s->unplugged) {
        s->working = true;      /* answers leave at the end of the turn */
        rdma_rx_frame(mthca_rdma(s->core), frame, len, mthca_now());
        s->working = working;
    }
}

/*
 * Each frame of its own wakes the peer's main loop, which competes with the
 * guests' processors for the host's: an ACK travels along with what a doorbell
 * sends, if one is likely to come.
 */
static void mthca_ack_later(NcicMthca *s)
{
    if (!s->ack_waits) {
        s->ack_waits = true;
        s->input_at = mthca_now();
    }
    if (s->answers) {
        timer_mod_anticipate_ns(s->timer, s->input_at + MTHCA_ANSWER_NS);
    } else {
        qemu_bh_schedule(s->bh);    /* a doorbell may be faster */
    }
}

static void mthca_stream_turn_end(void *opaque)
{
    NcicMthca *s = opaque;

    if (!rdma_only_ack(mthca_rdma(s->core))) {
        mthca_work(s, MTHCA_TURN);
    } else {
        mthca_ack_later(s);
    }
}

/* @plugged: there is a peer. */
static void mthca_link_update(NcicMthca *s, bool plugged)
{
    bool up = plugged && !s->unplugged;
    bool was = mthca_guard(s, true);

    trace_mthca_wire(mthca_id(s), plugged, up);
    mthca_link_set(s->core, up);
    rdma_qmp_port(s->qmp);
    mthca_guard(s, was);
}

static void mthca_stream_link(void *opaque, bool up)
{
    mthca_link_update(opaque, up);
}

static void mthca_stream_room(void *opaque)
{
    NcicMthca *s = opaque;

    s->working = true;
    rdma_wire_stop(mthca_rdma(s->core), false);
    s->working = false;
    mthca_work(s, MTHCA_TURN);
}

static void mthca_stream_bad_length(void *opaque, uint32_t len)
{
    NcicMthca *s = opaque;

    s->wire_bad_length++;
    mthca_op_log(s, "wire", "peer's frame is too long, connection closed",
                 len);
}

static void mthca_stream_broken(void *opaque, const char *rule)
{
    mthca_op_log(opaque, "wire", rule, 0);
}

static const WireStreamOps mthca_stream_ops = {
    .guard = mthca_stream_guard,
    .broken = mthca_stream_broken,
    .frame = mthca_stream_frame,
    .turn_end = mthca_stream_turn_end,
    .link = mthca_stream_link,
    .room = mthca_stream_room,
    .bad_length = mthca_stream_bad_length,
};

/* ---- properties that may change at run time --------------------------------------- */

static RdmaDev *mthca_rdma_of(Object *obj)
{
    NcicMthca *s = NCIC_MTHCA(obj);

    return s->core ? mthca_rdma(s->core) : NULL;
}

static bool mthca_prop_get_link(Object *obj, Error **errp)
{
    NcicMthca *s = NCIC_MTHCA(obj);

    if (s->wire) {
        return wire_stream_connected(s->wire) && !s->unplugged;
    }
    return s->nic && !qemu_get_queue(s->nic)->link_down;
}

static bool mthca_prop_get_shm(Object *obj, Error **errp)
{
    NcicMthca *s = NCIC_MTHCA(obj);
    bool out = false, in = false;

    if (s->wire) {
        wire_pipe_shared(wire_stream_pipe(s->wire), &out, &in);
    }
    return out && in;
}

/* A flap that the backend knows nothing of. */
static void mthca_prop_set_link(Object *obj, bool up, Error **errp)
{
    NcicMthca *s = NCIC_MTHCA(obj);

    if (s->wire) {
        s->unplugged = !up;
        mthca_link_update(s, wire_stream_connected(s->wire));
        return;
    }
    if (!s->nic) {
        error_setg(errp, "link-up can be set when the device exists");
        return;
    }
    qemu_get_queue(s->nic)->link_down = !up;
    mthca_link_set(s->core, up);
    rdma_qmp_port(s->qmp);
}

static void mthca_prop_set_catas(Object *obj, Visitor *v, const char *name,
                                 void *opaque, Error **errp)
{
    NcicMthca *s = NCIC_MTHCA(obj);
    uint32_t val;

    if (visit_type_uint32(v, name, &val, errp) && s->core) {
        mthca_catas_set(s->core, val);
    }
}

static void mthca_prop_get_catas(Object *obj, Visitor *v, const char *name,
                                 void *opaque, Error **errp)
{
    NcicMthca *s = NCIC_MTHCA(obj);
    uint32_t val = s->core ? mthca_bar0_read(s->core, MTHCA_CATAS) : 0;

    visit_type_uint32(v, name, &val, errp);
}

static void mthca_prop_port_state(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    NcicMthca *s = NCIC_MTHCA(obj);
    uint32_t val = s->core ? mthca_port_state(s->core) : 0;

    visit_type_uint32(v, name, &val, errp);
}

static void mthca_prop_port_lid(Object *obj, Visitor *v, const char *name,
                                void *opaque, Error **errp)
{
    NcicMthca *s = NCIC_MTHCA(obj);
    uint32_t val = s->core ? mthca_port_lid(s->core) : 0;

    visit_type_uint32(v, name, &val, errp);
}

static void mthca_class_run_time_props(ObjectClass *klass)
{
    rdma_fault_props(klass, "", mthca_rdma_of);
    object_class_property_add_bool(klass, "link-up", mthca_prop_get_link,
                                   mthca_prop_set_link);
    object_class_property_add_bool(klass, "wire-shm", mthca_prop_get_shm,
                                   NULL);
    object_class_property_set_description(klass, "wire-shm",
        "whether the wire goes through shared memory now");
    object_class_property_add(klass, "catas", "uint32", mthca_prop_get_catas,
                              mthca_prop_set_catas, NULL, NULL);
    object_class_property_set_description(klass, "catas",
        "first word of the catastrophic error buffer that drivers poll");
    object_class_property_add(klass, "port-state", "uint32",
                              mthca_prop_port_state, NULL, NULL, NULL);
    object_class_property_add(klass, "port-lid", "uint32",
                              mthca_prop_port_lid, NULL, NULL, NULL);
}

/* Every counter of the device, by @of(owner, name). */
#define MTHCA_ALL_COUNTERS(OF_RDMA, OF_MTHCA, OF_SHELL)                     \
    RDMA_COUNTERS(OF_RDMA)                                                  \
    MTHCA_COUNTERS(OF_MTHCA)                                                \
    OF_SHELL(inline_polls)                                                  \
    OF_SHELL(wire_bad_length)

static void mthca_add_counters(NcicMthca *s)
{
    RdmaCounters *r = rdma_counters(mthca_rdma(s->core));
    MthcaCounters *c = mthca_counters(s->core);

#define ADD(ptr, name)                                                      \
    object_property_add_uint64_ptr(OBJECT(s), "counter-" #name,             \
                                   &(ptr)->name, OBJ_PROP_FLAG_READ);
#define ADD_RDMA(name) ADD(r, name)
#define ADD_MTHCA(name) ADD(c, name)
#define ADD_SHELL(name) ADD(s, name)
    MTHCA_ALL_COUNTERS(ADD_RDMA, ADD_MTHCA, ADD_SHELL)
#undef ADD_SHELL
#undef ADD_MTHCA
#undef ADD_RDMA
#undef ADD
}

/* They point into the core. */
static void mthca_remove_counters(NcicMthca *s)
{
#define REMOVE(name) object_property_del(OBJECT(s), "counter-" #name);
    MTHCA_ALL_COUNTERS(REMOVE, REMOVE, REMOVE)
#undef REMOVE
}

static RdmaQmpPort mthca_port(Object *obj)
{
    const NcicMthca *s = NCIC_MTHCA(obj);

    return (RdmaQmpPort) {
        .link_up = mthca_link(s->core), .state = mthca_port_state(s->core),
        .lid = mthca_port_lid(s->core),
    };
}

/* ---- life -------------------------------------------------------------------------- */

static bool mthca_config(NcicMthca *s, Error **errp)
{
    MthcaConfig *c = &s->cfg;
    const uint8_t *mac = s->conf.macaddr.a;

    rdma_config_init(&c->rdma);
    rdma_switches_apply(&s->sw, &c->rdma);
    c->ops = &mthca_ops;
    c->rdma.ops = &mthca_rdma_ops;
    c->rdma.ops_opaque = s;
    c->rdma.ack_req = s->ack_every_packet ? RDMA_ACKREQ_ALL
                                          : RDMA_ACKREQ_PERIODIC;
    c->rdma.icrc = s->icrc;
    c->rdma.udp_csum = s->udp_csum;
    c->rdma.udp_csum_need = s->udp_csum_need;
    c->rdma.loss_timeout_us = s->loss_us;
    c->rdma.err_repoll_us = 2000;
    c->rdma.lid_net = s->lid_net;
    c->rdma.swpb_packets = s->swpb_packets;
    c->rdma.swpb_units = s->swpb_units;
    c->rdma.rpb_packets = s->rpb_packets;
    c->rdma.reb_entries = s->reb_entries;
    c->rdma.time_scale = s->time_scale;
    memcpy(c->mac, mac, 6);

    if (!s->swpb_packets || !s->swpb_units || !s->rpb_packets ||
        !s->reb_entries) {
        error_setg(errp, "buffer sizes must not be 0");
        return false;
    }
    if (!s->time_scale || s->time_scale > RDMA_TIME_SCALE_MAX) {
        error_setg(errp, "time-scale must be 1 to %u", RDMA_TIME_SCALE_MAX);
        return false;
    }
    c->sm = s->sm;
    c->uar_check = s->uar_check;
    if (s->lid >= RDMA_LID_MULTICAST) {
        error_setg(errp, "lid must be below 0xc000");
        return false;
    }
    if (s->lid_net & 0xffff) {
        error_setg(errp, "lid-net must be a /16 network");
        return false;
    }
    /* One LID and one GUID for each MAC address unless told otherwise. */
    c->lid = s->lid ? s->lid : (mac[4] << 8 | mac[5]) % 0xbfff + 1;
    /* The port's is the EUI-64 of the MAC: peers derive it from frames. */
    c->guid = s->guid ? s->guid : ldl_be_p(mac) >> 8 ?
              (uint64_t)(ldl_be_p(mac) >> 8 ^ 0x020000) << 40 |
              (ldl_be_p(mac + 2) & 0xffffff) : 1;
    c->port_guid = s->guid ? s->guid + 1 : c->guid | 0xfffeull << 24;
    c->gid_prefix = s->gid_prefix;
    c->roce_gid = s->roce_gid;
    if (s->roce_gid) {
        c->gid_prefix = 0;      /* of an IPv4-mapped GID */
    }
    g_strlcpy(c->board_id, "NCIC_MTHCA_00001", sizeof(c->board_id));
    return true;
}

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

    if (qemu_chr_fe_backend_connected(&s->chr) && s->conf.peers.ncs[0]) {
        error_setg(errp, "the wire is either a netdev or a chardev");
        return;
    }
    qemu_macaddr_default_if_unset(&s->conf.macaddr);
    if (!mthca_config(s, errp)) {
        return;
    }
    pci->config[PCI_INTERRUPT_PIN] = 1;
    memory_region_init_io(&s->bar0, OBJECT(s), &mthca_bar0_ops, s,
                          "ncic-mthca.bar0", MTHCA_BAR0_SIZE);
    memory_region_init_io(&s->bar2, OBJECT(s), &mthca_uar_ops, s,
                          "ncic-mthca.uar", MTHCA_BAR2_SIZE);
    pci_register_bar(pci, 0, PCI_BASE_ADDRESS_MEM_TYPE_64, &s->bar0);
    pci_register_bar(pci, 2, PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->bar2);
    if (!mthca_add_caps(pci, s, errp)) {
        return;
    }
    s->bh = qemu_bh_new_guarded(mthca_poll, s,
                                &DEVICE(s)->mem_reentrancy_guard);
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, mthca_op_kick, s);
    s->core = mthca_new(&s->cfg);
    mthca_add_counters(s);
    if (qemu_chr_fe_backend_connected(&s->chr)) {
        mthca_link_set(s->core, false);
        s->wire = wire_stream_new(&s->chr, &mthca_stream_ops, s, s->shm);
    } else {
        s->nic = qemu_new_nic(&mthca_net_info, &s->conf,
                              object_get_typename(OBJECT(s)), DEVICE(s)->id,
                              &DEVICE(s)->mem_reentrancy_guard, s);
        qemu_format_nic_info_str(qemu_get_queue(s->nic), s->conf.macaddr.a);
    }
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
    if (s->wire) {
        wire_stream_free(s->wire);
        s->wire = NULL;
    } else {
        qemu_del_nic(s->nic);
        s->nic = NULL;
    }
    mthca_remove_counters(s);
    mthca_free(s->core);
    s->core = NULL;
    msi_uninit(pci);
    msix_uninit(pci, &s->bar0, &s->bar0);
    g_free(s->state);
    g_free(s->frames);
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

static int mthca_pre_save(void *opaque)
{
    NcicMthca *s = opaque;
    size_t len;

    g_free(s->state);
    s->state = mthca_save(s->core, mthca_now(), &len);
    s->state_len = len;
    g_free(s->frames);
    s->frames = s->wire ? wire_stream_save(s->wire, &s->frames_len) : NULL;
    return 0;
}

static int mthca_post_save(void *opaque)
{
    NcicMthca *s = opaque;

    g_clear_pointer(&s->state, g_free);
    g_clear_pointer(&s->frames, g_free);
    s->state_len = s->frames_len = 0;
    return 0;
}

static int mthca_post_load(void *opaque, int version_id)
{
    NcicMthca *s = opaque;
    const char *error = mthca_load(s->core, mthca_now(), s->state,
                                   s->state_len);
    bool ok = !error;

    if (error) {
        error_report("%s: state of the adapter: %s", mthca_id(s), error);
    }
    if (ok && s->wire) {
        ok = wire_stream_load(s->wire, s->frames, s->frames_len);
        rdma_wire_stop(mthca_rdma(s->core), wire_stream_blocked(s->wire));
    }
    mthca_post_save(s);
    if (s->nic) {
        /* As with other NICs, the state of the link travels with the guest;
         * that of a chardev is whether somebody is connected here. */
        qemu_get_queue(s->nic)->link_down = !mthca_link(s->core);
    }
    rdma_qmp_port(s->qmp);
    return ok ? 0 : -EINVAL;
}

static bool mthca_frames_needed(void *opaque)
{
    NcicMthca *s = opaque;

    return s->wire && wire_stream_blocked(s->wire);
}

/* Frames that the stalled peer at the end of a chardev did not take yet. */
static const VMStateDescription mthca_vmstate_frames = {
    .name = TYPE_NCIC_MTHCA "/frames",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = mthca_frames_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(frames_len, NcicMthca),
        VMSTATE_VBUFFER_ALLOC_UINT32(frames, NcicMthca, 1, NULL, frames_len),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription mthca_vmstate = {
    .name = TYPE_NCIC_MTHCA,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = mthca_pre_save,
    .post_save = mthca_post_save,
    .post_load = mthca_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, NcicMthca),
        VMSTATE_MSIX(parent_obj, NcicMthca),
        VMSTATE_UINT32(state_len, NcicMthca),
        VMSTATE_VBUFFER_ALLOC_UINT32(state, NcicMthca, 1, NULL, state_len),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &mthca_vmstate_frames,
        NULL
    },
};

static const Property mthca_props[] = {
    DEFINE_NIC_PROPERTIES(NcicMthca, conf),
    DEFINE_PROP_CHR("chardev", NcicMthca, chr),
    DEFINE_PROP_BOOL("shm", NcicMthca, shm, true),
    DEFINE_PROP_UINT32("inline-budget", NcicMthca, inline_budget, 64),
    DEFINE_PROP_SIGNED("sm", NcicMthca, sm, 0, rdma_sm_info, int),
    DEFINE_PROP_UINT16("lid", NcicMthca, lid, 0),
    DEFINE_PROP_UINT64("guid", NcicMthca, guid, 0),
    DEFINE_PROP_UINT64("gid-prefix", NcicMthca, gid_prefix,
                       0xfe80ull << 48),
    DEFINE_PROP_BOOL("roce-gid", NcicMthca, roce_gid, false),
    DEFINE_PROP_UINT32("lid-net", NcicMthca, lid_net, 10u << 24 | 76 << 16),
    DEFINE_PROP_UINT32("swpb-packets", NcicMthca, swpb_packets, 512),
    DEFINE_PROP_UINT32("swpb-units", NcicMthca, swpb_units, 65536),
    DEFINE_PROP_UINT32("rpb-packets", NcicMthca, rpb_packets, 512),
    DEFINE_PROP_UINT32("reb-entries", NcicMthca, reb_entries, 16384),
    DEFINE_PROP_UINT32("time-scale", NcicMthca, time_scale, 1),
    DEFINE_PROP_BOOL("ack-every-packet", NcicMthca, ack_every_packet, false),
    DEFINE_PROP_UINT32("loss-us", NcicMthca, loss_us, 0),
    DEFINE_PROP_BOOL("icrc", NcicMthca, icrc, true),
    DEFINE_PROP_BOOL("udp-csum", NcicMthca, udp_csum, false),
    DEFINE_PROP_BOOL("udp-csum-need", NcicMthca, udp_csum_need, false),
    DEFINE_PROP_BOOL("uar-check", NcicMthca, uar_check, true),
    DEFINE_RDMA_SWITCH_PROPS_MTHCA("", NcicMthca, sw),
};

static const struct {
    const char *name;
    const char *text;
} mthca_descriptions[] = {
    { "link-up", "false cuts the port off the wire" },
    { "port-state", "of the port: 1 down, 2 init, 3 armed, 4 active" },
    { "port-lid", "of the port; 0 = none" },
    { "chardev", "the wire, instead of a netdev" },
    { "inline-budget", "packets sent within a doorbell write; 0 = none" },
    { "sm", "who configures the port: none (itself) or auto (a subnet "
            "manager)" },
    { "lid", "LID without a subnet manager; 0 = by the MAC address" },
    { "guid", "of the node; 0 = by the MAC address" },
    { "gid-prefix", "until a subnet manager changes it" },
    { "roce-gid", "GID 1 is the IPv4 address" },
    { "lid-net", "IPv4 network that LIDs are mapped to, a /16" },
    { "swpb-packets", "Send/Write packets in flight" },
    { "swpb-units", "32-byte units of their payload" },
    { "rpb-packets", "Reads and atomics in flight" },
    { "reb-entries", "scatter entries of Reads in flight" },
    { "time-scale", "factor of all transport timers" },
    { "ack-every-packet",
      "every request packet asks for an acknowledgement" },
    { "loss-us", "loss timer of a QP without ACK timeout; 0 = none" },
    { "icrc", "packets have an ICRC" },
    { "udp-csum", "compute UDP checksums of sent packets" },
    { "udp-csum-need", "drop packets whose UDP checksum is 0" },
    { "uar-check", "only its own UAR page rings a QP and arms a CQ" },
};

static void mthca_class_descriptions(ObjectClass *klass)
{
    for (size_t i = 0; i < ARRAY_SIZE(mthca_descriptions); i++) {
        object_class_property_set_description(klass,
                                              mthca_descriptions[i].name,
                                              mthca_descriptions[i].text);
    }
    rdma_switches_describe(klass, "");
}

static void mthca_class_init(ObjectClass *klass, void *data)
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
    device_class_set_props(dc, mthca_props);
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    mthca_class_run_time_props(klass);
    mthca_class_descriptions(klass);
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
