/*
 * The RDMA engine of ncic-nic: gives the native interface (hw/rdma/native) its
 * PCIe function, guest memory, the NIC's wire, time, interrupts, properties and
 * migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "net/net.h"
#include "system/runstate.h"
#include "ncic-pci.h"
#include "rdma/fault_props.h"
#include "rdma/native.h"
#include "rdma/qmp.h"
#include "rdma/shell.h"
#include "trace.h"

struct NcicRdma {
    NcicState *nic;
    NativeRdma *core;
    RdmaQmp *qmp;
    QEMUBH *bh;
    QEMUTimer *timer;
};

static NcicRdma *rdma_of(void *nic)
{
    return ((NcicState *)nic)->rdma;
}

/* ---- outside of the cores ---- */

static void *op_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
    return pci_master_map(&((NcicState *)opaque)->master, addr, len, write);
}

static void op_unmap(void *opaque, void *p, size_t len, bool write)
{
    pci_master_unmap(&((NcicState *)opaque)->master, p, len, write);
}

static bool op_wire_tx(void *opaque, const struct iovec *f, unsigned n)
{
    NcicRdma *r = rdma_of(opaque);
    NcicEth *eth = &r->nic->eth;
    bool up = true;

    for (unsigned i = 0; i < n; i++) {
        up &= ncic_roce_tx(eth, f[i].iov_base, f[i].iov_len);
    }
    if (ncic_roce_waits(eth)) {
        rdma_wire_stop(native_dev(r->core), true);
    }
    return up;
}

static void op_kick(void *opaque)
{
    qemu_bh_schedule(rdma_of(opaque)->bh);
}

static void on_timer(void *opaque)
{
    qemu_bh_schedule(((NcicRdma *)opaque)->bh);
}

static void op_log(void *opaque, uint32_t number, const char *rule,
                   const char *text)
{
    const char *id = ncic_id(opaque);

    trace_ncic_rdma_rule(id, rule, text, number);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: RDMA: %s: %s (0x%x)\n", id, rule,
                  text, number);
}

static void op_qp_state(void *opaque, uint32_t qpn, RdmaQpState from,
                        RdmaQpState to, const char *cause)
{
    trace_ncic_rdma_qp_state(ncic_id(opaque), qpn, from, to, cause);
}

static void op_packet(void *opaque, bool tx, uint8_t opcode, uint32_t dqpn,
                      uint32_t psn, uint32_t payload)
{
    trace_ncic_rdma_packet(ncic_id(opaque), tx, opcode, dqpn, psn, payload);
}

static const RdmaOps rdma_ops = {
    .read = ncic_dma_read, .write = ncic_dma_write,
    .map = op_map, .unmap = op_unmap, .wire_tx = op_wire_tx,
    .kick = op_kick, .log = op_log, .qp_state = op_qp_state,
    .packet = op_packet,
};

static void op_msix(void *opaque, unsigned vector)
{
    ncic_nic_rdma_msix(opaque, vector);
}

static const NativeOps native_ops = { .msix = op_msix };

/* ---- work ---- */

static void poll(void *opaque)
{
    NcicRdma *r = opaque;
    int64_t now = rdma_shell_now(), next;

    if (!runstate_is_running() || !ncic_dma_ok(r->nic)) {
        ncic_roce_turn_over(&r->nic->eth);
        return;                 /* ncic_rdma_restart() looks again */
    }
    next = rdma_poll(native_dev(r->core), now);
    ncic_roce_turn_over(&r->nic->eth);
    rdma_shell_next(r->bh, r->timer, now, next);
}

static bool sink_frame(void *opaque, const uint8_t *frame, size_t len)
{
    RdmaDev *dev = native_dev(((NcicRdma *)opaque)->core);

    rdma_rx_frame(dev, frame, len, rdma_shell_now());
    return rdma_port(dev)->link_up;
}

static void sink_arp(void *opaque, const uint8_t *frame, size_t len)
{
    rdma_rx_frame(native_dev(((NcicRdma *)opaque)->core), frame, len,
                  rdma_shell_now());
}

static void sink_tx_ready(void *opaque)
{
    NcicRdma *r = opaque;

    rdma_wire_stop(native_dev(r->core), false);
    qemu_bh_schedule(r->bh);    /* in any case: it ends the turn */
}

const NcicRoceSink ncic_rdma_sink = {
    .frame = sink_frame,
    .arp = sink_arp,
    .tx_ready = sink_tx_ready,
};

/* ---- registers ---- */

uint32_t ncic_rdma_hcr_read(NcicRdma *r, uint32_t off)
{
    return native_hcr_read(r->core, off);
}

void ncic_rdma_hcr_write(NcicRdma *r, uint32_t off, uint32_t val)
{
    native_hcr_write(r->core, off, val);
    if (off == NRH_CMD) {
        trace_ncic_rdma_command(ncic_id(r->nic), val,
                                native_hcr_read(r->core, NRH_CMD));
    }
}

void ncic_rdma_uar_write(NcicRdma *r, uint32_t off, uint64_t val,
                         unsigned size)
{
    trace_ncic_rdma_doorbell(ncic_id(r->nic), off, val, size);
    native_uar_write(r->core, off, val, size);
}

/* ---- life ---- */

static void port_update(NcicRdma *r)
{
    const NcicRdmaConf *s = &r->nic->rdma_conf;
    RdmaPort p = *rdma_port(native_dev(r->core));

    memcpy(p.mac, r->nic->conf.macaddr.a, 6);
    p.ip = s->ip;
    p.lid = s->lid;
    p.link_up = true;           /* the NIC's link gates the wire */
    rdma_port_set(native_dev(r->core), &p);
}

/* Active while there is a link: no IB state is told of (sm). */
static RdmaQmpPort port_now(Object *obj)
{
    const NcicState *s = NCIC_NIC(obj);
    const RdmaPort *p = rdma_port(native_dev(s->rdma->core));
    bool up = p->link_up && !qemu_get_queue(s->nic)->link_down;

    return (RdmaQmpPort) { .link_up = up, .state = up ? 4 : 1, .lid = p->lid };
}

void ncic_rdma_link_changed(NcicRdma *r)
{
    if (!r->qmp) {
        r->qmp = rdma_qmp_add(OBJECT(r->nic), native_dev(r->core), "native",
                              port_now);
    }
    rdma_qmp_port(r->qmp);
}

NcicRdma *ncic_rdma_create(NcicState *nic)
{
    const NcicRdmaConf *s = &nic->rdma_conf;
    NcicRdma *r = g_new0(NcicRdma, 1);
    NativeConfig cfg;
    RdmaConfig rdma;

    r->nic = nic;
    nic->rdma = r;              /* the engine calls while it is made */
    native_config_init(&cfg);
    cfg.strict_cmd = cfg.strict_qp = s->strict;
    cfg.eqe = s->eqe;
    native_switches_apply(&s->native, &cfg);
    native_rdma_config(&rdma);
    rdma_switches_apply(&s->sw, &rdma);
    rdma.ops = &rdma_ops;
    rdma.ops_opaque = nic;
    rdma.udp_csum_need = nic->roce_csum;
    r->bh = qemu_bh_new_guarded(poll, r, &DEVICE(nic)->mem_reentrancy_guard);
    r->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, on_timer, r);
    r->core = native_new(&rdma, &cfg, &native_ops);
    rdma_fault_begin(native_dev(r->core), s->fault);
    port_update(r);
#define ADD(name)                                                           \
    object_property_add_uint64_ptr(OBJECT(nic), "rdma-counter-" #name,      \
                                   &rdma_counters(native_dev(r->core))->name, \
                                   OBJ_PROP_FLAG_READ);
    RDMA_COUNTERS(ADD)
#undef ADD
    return r;
}

void ncic_rdma_destroy(NcicRdma *r)
{
#define DEL(name) object_property_del(OBJECT(r->nic), "rdma-counter-" #name);
    RDMA_COUNTERS(DEL)
#undef DEL
    rdma_qmp_remove(r->qmp);
    timer_free(r->timer);
    qemu_bh_delete(r->bh);
    native_free(r->core);
    g_free(r);
}

void ncic_rdma_reset(NcicRdma *r)
{
    timer_del(r->timer);
    rdma_wire_stop(native_dev(r->core), false);
    qemu_bh_cancel(r->bh);
    native_reset(r->core);
    port_update(r);
}

void ncic_rdma_restart(NcicRdma *r)
{
    qemu_bh_schedule(r->bh);
}

/* ---- migration ---- */

uint8_t *ncic_rdma_save(NcicRdma *r, size_t *len)
{
    return native_save(r->core, rdma_shell_now(), len);
}

const char *ncic_rdma_load(NcicRdma *r, const uint8_t *data, size_t len)
{
    return native_load(r->core, rdma_shell_now(), data, len);
}

/* ---- properties of the running engine ---- */

static RdmaDev *dev_of(Object *obj)
{
    NcicRdma *r = NCIC_NIC(obj)->rdma;

    return r ? native_dev(r->core) : NULL;
}

static CoreFaultPlan *faults_of(Object *obj)
{
    return NCIC_NIC(obj)->rdma_conf.fault;
}

static bool link_get(Object *obj, Error **errp)
{
    RdmaDev *dev = dev_of(obj);

    return dev && rdma_port(dev)->link_up;
}

static void link_set(Object *obj, bool up, Error **errp)
{
    RdmaDev *dev = dev_of(obj);

    if (!dev) {
        error_setg(errp, "rdma-link-up can be set when the device exists");
        return;
    }
    rdma_link_set(dev, up);
    ncic_rdma_link_changed(NCIC_NIC(obj)->rdma);
}

void ncic_rdma_class_init(ObjectClass *klass)
{
    rdma_fault_props(klass, "rdma-", dev_of, faults_of);
    object_class_property_add_bool(klass, "rdma-link-up", link_get, link_set);
    object_class_property_set_description(klass, "rdma-link-up",
        "false cuts the engine off the wire");
}
