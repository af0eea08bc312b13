/*
 * ncic-mthca: properties, of the command line and of the running device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "core/qemu_qdev.h"
#include "rdma/fault_props.h"
#include "mthca-pci.h"

/* ---- properties that may change at run time ---- */

static RdmaDev *mthca_rdma_of(Object *obj)
{
    NcicMthca *s = NCIC_MTHCA(obj);

    return s->core ? mthca_rdma(s->core) : NULL;
}

static CoreFaultPlan *mthca_faults_of(Object *obj)
{
    return NCIC_MTHCA(obj)->fault;
}

static bool mthca_prop_get_link(Object *obj, Error **errp)
{
    return wire_end_link_up(&NCIC_MTHCA(obj)->end);
}

static bool mthca_prop_get_shm(Object *obj, Error **errp)
{
    return wire_end_shared(&NCIC_MTHCA(obj)->end);
}

static void mthca_prop_set_link(Object *obj, bool up, Error **errp)
{
    wire_end_set_link_up(&NCIC_MTHCA(obj)->end, up, errp);
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

static void add_run_time_props(ObjectClass *klass)
{
    rdma_fault_props(klass, "", mthca_rdma_of, mthca_faults_of);
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
#define MTHCA_ALL_COUNTERS(OF_RDMA, OF_MTHCA, OF_SHELL, OF_WIRE)            \
    RDMA_COUNTERS(OF_RDMA)                                                  \
    MTHCA_COUNTERS(OF_MTHCA)                                                \
    OF_SHELL(inline_polls)                                                  \
    OF_WIRE(wire_bad_length)                                                \
    OF_WIRE(wire_full)

void mthca_add_counters(NcicMthca *s)
{
    RdmaCounters *r = rdma_counters(mthca_rdma(s->core));
    MthcaCounters *c = mthca_counters(s->core);

#define ADD(ptr, name)                                                      \
    object_property_add_uint64_ptr(OBJECT(s), "counter-" #name,             \
                                   &(ptr)->name, OBJ_PROP_FLAG_READ);
#define ADD_RDMA(name) ADD(r, name)
#define ADD_MTHCA(name) ADD(c, name)
#define ADD_SHELL(name) ADD(s, name)
#define ADD_WIRE(name) ADD(&s->end, name)
    MTHCA_ALL_COUNTERS(ADD_RDMA, ADD_MTHCA, ADD_SHELL, ADD_WIRE)
#undef ADD_WIRE
#undef ADD_SHELL
#undef ADD_MTHCA
#undef ADD_RDMA
#undef ADD
}

/* They point into the core. */
void mthca_remove_counters(NcicMthca *s)
{
#define REMOVE(name) object_property_del(OBJECT(s), "counter-" #name);
    MTHCA_ALL_COUNTERS(REMOVE, REMOVE, REMOVE, REMOVE)
#undef REMOVE
}

/* ---- properties of the command line ---- */

bool mthca_config(NcicMthca *s, Error **errp)
{
    MthcaConfig *c = &s->cfg;
    const uint8_t *mac = s->end.conf.macaddr.a;

    rdma_config_init(&c->rdma);
    rdma_switches_apply(&s->sw, &c->rdma);
    c->rdma.udp_csum_need = s->udp_csum_need;
    c->rdma.err_repoll_us = 2000;
    memcpy(c->mac, mac, 6);

    if (!rdma_switches_check(&s->sw, "", errp)) {
        return false;
    }
    c->sm = s->sm;
    c->uar_check = s->uar_check;
    if (s->lid >= RDMA_LID_MULTICAST) {
        error_setg(errp, "lid must be below 0xc000");
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

static const Property mthca_props[] = {
    DEFINE_WIRE_END_PROPERTIES(NcicMthca, end),
    DEFINE_PROP_UINT32("inline-budget", NcicMthca, inline_budget, 64),
    DEFINE_PROP_SIGNED("sm", NcicMthca, sm, 0, rdma_sm_info, int),
    DEFINE_PROP_UINT16("lid", NcicMthca, lid, 0),
    DEFINE_PROP_UINT64("guid", NcicMthca, guid, 0),
    DEFINE_PROP_UINT64("gid-prefix", NcicMthca, gid_prefix,
                       0xfe80ull << 48),
    DEFINE_PROP_BOOL("roce-gid", NcicMthca, roce_gid, false),
    DEFINE_PROP_BOOL("udp-csum-need", NcicMthca, udp_csum_need, false),
    DEFINE_PROP_BOOL("uar-check", NcicMthca, uar_check, true),
    DEFINE_RDMA_SWITCH_PROPS_MTHCA("", NcicMthca, sw),
};

/* The image compares what follows from mac, guid and lid. */
const CoreProps mthca_core_props = {
    .list = mthca_props,
    .n = ARRAY_SIZE(mthca_props),
    .local = (const char *const []) {
        "netdev", "chardev", "shm", "capture", "inline-budget", "mac", "guid",
        "lid", NULL
    },
};

static const struct {
    const char *name;
    const char *text;
} mthca_descriptions[] = {
    { "link-up", "false cuts the port off the wire" },
    { "port-state", "of the port: 1 down, 2 init, 3 armed, 4 active" },
    { "port-lid", "of the port; 0 = none" },
    { "chardev", "the wire, instead of a netdev" },
    { "capture", "file for all frames, pcap" },
    { "inline-budget", "packets sent within a doorbell write; 0 = none" },
    { "sm", "who configures the port: none (itself) or auto (a subnet "
            "manager)" },
    { "lid", "LID without a subnet manager; 0 = by the MAC address" },
    { "guid", "of the node; 0 = by the MAC address" },
    { "gid-prefix", "until a subnet manager changes it" },
    { "roce-gid", "GID 1 is the IPv4 address" },
    { "udp-csum-need", "drop packets whose UDP checksum is 0" },
    { "uar-check", "only its own UAR page rings a QP and arms a CQ" },
};

void mthca_class_props(ObjectClass *klass)
{
    device_class_set_props(DEVICE_CLASS(klass), mthca_props);
    add_run_time_props(klass);
    for (size_t i = 0; i < ARRAY_SIZE(mthca_descriptions); i++) {
        object_class_property_set_description(klass,
                                              mthca_descriptions[i].name,
                                              mthca_descriptions[i].text);
    }
    rdma_switches_describe(klass, "");
}
