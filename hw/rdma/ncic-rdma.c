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
#include "qemu/module.h"
#include "qemu/sockets.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "migration/vmstate.h"
#include "net/net.h"
#include "system/runstate.h"
#include "../net/ncic/ncic-pci.h"
#include "fault-props.h"
#include "rdma/native.h"
#include "trace.h"

/* Settings made before the engine exists: property table below. */
typedef struct Settings {
    uint32_t ip, lid, lid_net;
    uint32_t swpb_packets, swpb_units, rpb_packets, reb_entries;
    uint32_t loss_us, time_scale;
    bool strict, eqe, icrc, ack_every_packet, udp_csum;
} Settings;

typedef struct NcicRdma {
    NcicState *nic;
    PCIDevice *pci;
    NativeRdma *core;
    QEMUBH *bh;
    QEMUTimer *timer;
    /* migration: the core's block while it travels */
    uint32_t state_len;
    uint8_t *state;
} NcicRdma;

/* Settings of NICs, by object: the NIC's structure is not ours to extend. */
static GHashTable *settings;

static Settings *settings_of(void *obj)
{
    Settings *s;

    if (!settings) {
        settings = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    }
    s = g_hash_table_lookup(settings, obj);
    if (!s) {
        s = g_new(Settings, 1);
        *s = (Settings) {
            .lid_net = 10u << 24 | 76 << 16,
            .swpb_packets = 512, .swpb_units = 4096, .rpb_packets = 512,
            .reb_entries = 16384, .loss_us = 100000, .time_scale = 1,
            .strict = true, .eqe = true, .icrc = true,
            .ack_every_packet = true, .udp_csum = true,
        };
        g_hash_table_insert(settings, obj, s);
    }
    return s;
}

static int64_t rdma_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/* ---- outside of the cores ---- */

static bool op_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    return ncic_dma_read(((NcicRdma *)opaque)->nic, addr, buf, len);
}

static bool op_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
    return ncic_dma_write(((NcicRdma *)opaque)->nic, addr, buf, len);
}

static void *op_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
    dma_addr_t n = *len;
    void *p = pci_dma_map(((NcicRdma *)opaque)->pci, addr, &n,
                          write ? DMA_DIRECTION_FROM_DEVICE :
                                  DMA_DIRECTION_TO_DEVICE);

    *len = n;
    return p;
}

static void op_unmap(void *opaque, void *p, size_t len, bool write)
{
    pci_dma_unmap(((NcicRdma *)opaque)->pci, p, len,
                  write ? DMA_DIRECTION_FROM_DEVICE :
                          DMA_DIRECTION_TO_DEVICE, len);
}

static bool op_wire_tx(void *opaque, const struct iovec *f, unsigned n)
{
    NcicRdma *r = opaque;
    NetClientState *nc = qemu_get_queue(r->nic->nic);

    if (nc->link_down) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        qemu_send_packet(nc, f[i].iov_base, f[i].iov_len);
    }
    r->nic->eth.counter[NCIC_C_ROCE_TX] += n;
    return true;
}

static void op_kick(void *opaque)
{
    qemu_bh_schedule(((NcicRdma *)opaque)->bh);
}

static void op_log(void *opaque, const char *rule, const char *text,
                   uint32_t number)
{
    const char *id = ncic_id(((NcicRdma *)opaque)->nic);

    trace_ncic_rdma_rule(id, rule, text, number);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: RDMA: %s: %s (0x%x)\n", id, rule,
                  text, number);
}

static void op_qp_state(void *opaque, uint32_t qpn, RdmaQpState from,
                        RdmaQpState to, const char *cause)
{
    trace_ncic_rdma_qp_state(ncic_id(((NcicRdma *)opaque)->nic), qpn, from,
                             to, cause);
}

static void op_packet(void *opaque, bool tx, uint8_t opcode, uint32_t dqpn,
                      uint32_t psn, uint32_t payload)
{
    trace_ncic_rdma_packet(ncic_id(((NcicRdma *)opaque)->nic), tx, opcode,
                           dqpn, psn, payload);
}

static const RdmaOps rdma_ops = {
    .read = op_read, .write = op_write, .map = op_map, .unmap = op_unmap,
    .wire_tx = op_wire_tx, .kick = op_kick, .log = op_log,
    .qp_state = op_qp_state, .packet = op_packet,
};

static void op_msix(void *opaque, unsigned vector)
{
    ncic_nic_rdma_msix(((NcicRdma *)opaque)->nic, vector);
}

static const NativeOps native_ops = { .msix = op_msix };

/* ---- work ---- */

static void poll(void *opaque)
{
    NcicRdma *r = opaque;
    int64_t now = rdma_now(), next;

    if (!runstate_is_running()) {
        return;                 /* restart() looks again */
    }
    next = rdma_poll(native_dev(r->core), now);
    if (next <= now) {
        qemu_bh_schedule(r->bh);
    } else if (next != INT64_MAX) {
        timer_mod(r->timer, next);
    } else {
        timer_del(r->timer);
    }
}

static bool sink_frame(void *opaque, const uint8_t *frame, size_t len)
{
    NcicRdma *r = opaque;

    /* ARP concerns the guest's own stack as well. */
    return rdma_rx_frame(native_dev(r->core), frame, len, rdma_now()) &&
           lduw_be_p(frame + 12) == 0x0800;
}

/* ---- registers ---- */

static uint32_t hcr_read(void *rdma, uint32_t off)
{
    return native_hcr_read(((NcicRdma *)rdma)->core, off);
}

static void hcr_write(void *rdma, uint32_t off, uint32_t val)
{
    NcicRdma *r = rdma;

    native_hcr_write(r->core, off, val);
    if (off == NRH_CMD) {
        trace_ncic_rdma_command(ncic_id(r->nic), val,
                                native_hcr_read(r->core, NRH_CMD));
    }
}

static uint64_t uar_read(void *rdma, uint32_t off, unsigned size)
{
    return 0;
}

static void uar_write(void *rdma, uint32_t off, uint64_t val, unsigned size)
{
    NcicRdma *r = rdma;

    trace_ncic_rdma_doorbell(ncic_id(r->nic), off, val, size);
    native_uar_write(r->core, off, val, size);
}

/* ---- life ---- */

static void port_update(NcicRdma *r)
{
    const Settings *s = settings_of(r->nic);
    RdmaPort p = *rdma_port(native_dev(r->core));

    memcpy(p.mac, r->nic->conf.macaddr.a, 6);
    p.ip = s->ip;
    p.lid = s->lid;
    p.link_up = true;           /* the NIC's link gates the wire */
    rdma_port_set(native_dev(r->core), &p);
}

static void *create(NcicState *nic, PCIDevice *pci, Error **errp)
{
    const Settings *s = settings_of(nic);
    NcicRdma *r = g_new0(NcicRdma, 1);
    NativeConfig cfg;
    RdmaConfig rdma;

    r->nic = nic;
    r->pci = pci;
    native_config_init(&cfg);
    cfg.strict_cmd = cfg.strict_qp = s->strict;
    cfg.eqe = s->eqe;
    native_rdma_config(&rdma);
    rdma.ops = &rdma_ops;
    rdma.ops_opaque = r;
    rdma.lid_net = s->lid_net & 0xffff0000;
    rdma.swpb_packets = s->swpb_packets;
    rdma.swpb_units = s->swpb_units;
    rdma.rpb_packets = s->rpb_packets;
    rdma.reb_entries = s->reb_entries;
    rdma.loss_timeout_us = s->loss_us;
    rdma.time_scale = s->time_scale;
    rdma.icrc = s->icrc;
    rdma.udp_csum = s->udp_csum;
    rdma.udp_csum_need = nic->roce_csum;
    rdma.ack_req = s->ack_every_packet ? RDMA_ACKREQ_ALL :
                                         RDMA_ACKREQ_PERIODIC;
    r->bh = qemu_bh_new_guarded(poll, r, &DEVICE(nic)->mem_reentrancy_guard);
    r->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, op_kick, r);
    r->core = native_new(&rdma, &cfg, &native_ops);
    port_update(r);
#define ADD(name)                                                           \
    object_property_add_uint64_ptr(OBJECT(nic), "rdma-counter-" #name,      \
                                   &rdma_counters(native_dev(r->core))->name, \
                                   OBJ_PROP_FLAG_READ);
    RDMA_COUNTERS(ADD)
#undef ADD
    return r;
}

static void destroy(void *rdma)
{
    NcicRdma *r = rdma;

#define DEL(name) object_property_del(OBJECT(r->nic), "rdma-counter-" #name);
    RDMA_COUNTERS(DEL)
#undef DEL
    g_hash_table_remove(settings, r->nic);
    timer_free(r->timer);
    qemu_bh_delete(r->bh);
    native_free(r->core);
    g_free(r->state);
    g_free(r);
}

static void reset(void *rdma)
{
    NcicRdma *r = rdma;

    timer_del(r->timer);
    qemu_bh_cancel(r->bh);
    native_reset(r->core);
    port_update(r);
}

static void restart(void *rdma)
{
    qemu_bh_schedule(((NcicRdma *)rdma)->bh);
}

/* ---- migration ---- */

static int pre_save(void *opaque)
{
    NcicRdma *r = opaque;
    size_t len;

    g_free(r->state);
    r->state = native_save(r->core, rdma_now(), &len);
    r->state_len = len;
    return 0;
}

static int post_save(void *opaque)
{
    NcicRdma *r = opaque;

    g_clear_pointer(&r->state, g_free);
    return 0;
}

static int post_load(void *opaque, int version_id)
{
    NcicRdma *r = opaque;
    bool ok = native_load(r->core, rdma_now(), r->state, r->state_len);

    post_save(r);
    return ok ? 0 : -EINVAL;
}

static const VMStateDescription vmstate_ncic_rdma = {
    .name = "ncic-rdma",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = pre_save,
    .post_save = post_save,
    .post_load = post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(state_len, NcicRdma),
        VMSTATE_VBUFFER_ALLOC_UINT32(state, NcicRdma, 1, NULL, state_len),
        VMSTATE_END_OF_LIST()
    },
};

/* ---- properties ---- */

typedef struct SettingProp {
    const char *name;
    size_t off;
    bool flag;
    uint32_t min;
    const char *help;
} SettingProp;

#define NUM(name, field, min, help) \
    { "rdma-" name, offsetof(Settings, field), false, min, help }
#define FLAG(name, field, help) \
    { "rdma-" name, offsetof(Settings, field), true, 0, help }

static const SettingProp setting_props[] = {
    NUM("lid", lid, 0, "own LID; 0 = none"),
    NUM("lid-net", lid_net, 0, "IPv4 network that LIDs are mapped to"),
    NUM("swpb-packets", swpb_packets, 1, "Send/Write packets in flight"),
    NUM("swpb-units", swpb_units, 1, "32-byte units of their payload"),
    NUM("rpb-packets", rpb_packets, 1, "Reads and atomics in flight"),
    NUM("reb-entries", reb_entries, 1, "scatter entries of Reads in flight"),
    NUM("loss-us", loss_us, 1, "loss timer of a QP without ACK timeout"),
    NUM("time-scale", time_scale, 1, "factor of all transport timers"),
    FLAG("strict", strict, "check state, order and indices of commands"),
    FLAG("eqe", eqe, "event queues work"),
    FLAG("icrc", icrc, "packets have an ICRC"),
    FLAG("ack-every-packet", ack_every_packet,
         "every request packet asks for an acknowledgement"),
    FLAG("udp-csum", udp_csum, "compute UDP checksums of sent packets"),
};

static void setting_get(Object *obj, Visitor *v, const char *name,
                        void *opaque, Error **errp)
{
    const SettingProp *p = opaque;
    void *at = (char *)settings_of(obj) + p->off;

    if (p->flag) {
        bool val = *(bool *)at;

        visit_type_bool(v, name, &val, errp);
    } else {
        uint32_t val = *(uint32_t *)at;

        visit_type_uint32(v, name, &val, errp);
    }
}

static void setting_set(Object *obj, Visitor *v, const char *name,
                        void *opaque, Error **errp)
{
    const SettingProp *p = opaque;
    void *at = (char *)settings_of(obj) + p->off;
    uint32_t num;
    bool flag;

    if (DEVICE(obj)->realized) {
        error_setg(errp, "%s is fixed once the device exists", name);
    } else if (p->flag) {
        if (visit_type_bool(v, name, &flag, errp)) {
            *(bool *)at = flag;
        }
    } else if (visit_type_uint32(v, name, &num, errp)) {
        if (num < p->min) {
            error_setg(errp, "%s must be at least %u", name, p->min);
            return;
        }
        *(uint32_t *)at = num;
    }
}

static char *ip_get(Object *obj, Error **errp)
{
    struct in_addr a = { .s_addr = htonl(settings_of(obj)->ip) };

    return g_strdup(inet_ntoa(a));
}

static void ip_set(Object *obj, const char *val, Error **errp)
{
    struct in_addr a;

    if (DEVICE(obj)->realized) {
        error_setg(errp, "rdma-ip is fixed once the device exists");
    } else if (!inet_aton(val, &a)) {
        error_setg(errp, "rdma-ip: '%s' is no IPv4 address", val);
    } else {
        settings_of(obj)->ip = ntohl(a.s_addr);
    }
}

static RdmaDev *dev_of(Object *obj)
{
    NcicRdma *r = NCIC_NIC(obj)->rdma;

    return r ? native_dev(r->core) : NULL;
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
}

static void class_init(ObjectClass *klass)
{
    for (size_t i = 0; i < ARRAY_SIZE(setting_props); i++) {
        const SettingProp *p = &setting_props[i];

        object_class_property_add(klass, p->name, p->flag ? "bool" :
                                  "uint32", setting_get, setting_set, NULL,
                                  (void *)p);
        object_class_property_set_description(klass, p->name, p->help);
    }
    object_class_property_add_str(klass, "rdma-ip", ip_get, ip_set);
    object_class_property_set_description(klass, "rdma-ip",
        "own IPv4 address; 0.0.0.0 = that of each QP");
    rdma_fault_props(klass, "rdma-", dev_of);
    object_class_property_add_bool(klass, "rdma-link-up", link_get, link_set);
    object_class_property_set_description(klass, "rdma-link-up",
        "false cuts the engine off the wire");
}

static const NcicRdmaOps ops = {
    .class_init = class_init,
    .create = create,
    .destroy = destroy,
    .reset = reset,
    .hcr_read = hcr_read,
    .hcr_write = hcr_write,
    .uar_read = uar_read,
    .uar_write = uar_write,
    .restart = restart,
    .sink = { .frame = sink_frame },
    .vmsd = &vmstate_ncic_rdma,
};

static void ncic_rdma_register_types(void)
{
    ncic_rdma_register(&ops);
}
type_init(ncic_rdma_register_types)
