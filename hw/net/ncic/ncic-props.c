/*
 * NCIC NIC: properties
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/sockets.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "core/enum_prop.h"
#include "ncic-pci.h"

/* ---- Types ---------------------------------------------------------------------- */

CORE_ENUM_PROP(ncic_layout, "NcicLayout", "doc", "rtl", "both")
CORE_ENUM_PROP(ncic_flags, "NcicFlags", "rtl", "doc")
CORE_ENUM_PROP(ncic_arm, "NcicArm", "rtl", "oneshot")
CORE_ENUM_PROP(ncic_ports, "NcicRocePorts", "both", "destination")

#define PROP_ENUM(name, field, symbol, value) \
    DEFINE_PROP_CORE_ENUM(name, NcicState, field, ncic_##symbol, value)

static void get_ipv4(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    const uint32_t *ip = object_field_prop_ptr(obj, opaque);
    struct in_addr a = { .s_addr = htonl(*ip) };
    g_autofree char *text = g_strdup(inet_ntoa(a));

    visit_type_str(v, name, &text, errp);
}

static void set_ipv4(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    uint32_t *ip = object_field_prop_ptr(obj, opaque);
    g_autofree char *text = NULL;
    struct in_addr a;

    if (!visit_type_str(v, name, &text, errp)) {
        return;
    }
    if (inet_pton(AF_INET, text, &a) != 1) {
        error_setg(errp, "%s: '%s' is no IPv4 address", name, text);
        return;
    }
    *ip = ntohl(a.s_addr);
}

static const PropertyInfo ipv4_info = {
    .type = "str",
    .get = get_ipv4,
    .set = set_ipv4,
};

/* ---- The properties --------------------------------------------------------------- */

#define U32(name, field, value) DEFINE_PROP_UINT32(name, NcicState, field, value)
#define FLAG(name, field, value) DEFINE_PROP_BOOL(name, NcicState, field, value)

static const Property properties[] = {
    DEFINE_NIC_PROPERTIES(NcicState, conf),
    PROP_ENUM("layout", layout_prop, layout, NCIC_LAYOUT_BOTH - 1),
    PROP_ENUM("eth-flags", eth_flags, flags, 0),
    PROP_ENUM("eth-arm", eth_arm, arm, 0),
    U32("queues", queues, NCIC_QUEUES_MAX),
    U32("msix-vectors", vectors, NCIC_MSIX_VECTORS),
    U32("mtu", mtu, NCIC_MTU_DEFAULT),
    U32("tx-inline", tx_inline, NCIC_TX_INLINE_DEFAULT),
    U32("rx-drop", rx_drop, 0),
    FLAG("eth-ext", ext, true),
    FLAG("flr", flr, false),
    FLAG("irq-coalesce", irq_coalesce, true),
    PROP_ENUM("roce-ports", roce_ports, ports, 0),
    FLAG("roce-csum", roce_csum, false),
    FLAG("rdma", use_rdma, true),

    DEFINE_PROP("rdma-ip", NcicState, rdma_conf.ip, ipv4_info, uint32_t),
    U32("rdma-lid", rdma_conf.lid, 0),
    FLAG("rdma-strict", rdma_conf.strict, true),
    FLAG("rdma-eqe", rdma_conf.eqe, true),
    DEFINE_RDMA_SWITCH_PROPS_NATIVE("rdma-", NcicState, rdma_conf.sw),
    DEFINE_NATIVE_SWITCH_PROPS("rdma-", NcicState, rdma_conf.native),
};

static const struct {
    const char *name;
    const char *text;
} descriptions[] = {
    { "layout", "register windows in BAR0: doc, rtl or both" },
    { "eth-flags", "active and armed bits: rtl (present) or doc (absent)" },
    { "eth-arm", "armed bit: rtl (permission) or oneshot" },
    { "queues", "queue pairs, 1 to 32" },
    { "msix-vectors", "MSI-X vectors, 1 to 2048" },
    { "mtu", "value of the TX and RX MTU registers, 68 to 65517" },
    { "tx-inline", "frames sent within a doorbell write, 0 to 256" },
    { "rx-drop", "queues (bits) whose frames are dropped, not held back, when "
      "there is no descriptor" },
    { "roce-ports", "UDP ports that are 4791 in RoCE frames: both, or the "
      "destination alone" },
    { "eth-ext", "registers beyond the document's table 3-3" },
    { "flr", "offer function level reset" },
    { "irq-coalesce", "one message until the host writes the CPL tail" },
    { "roce-csum", "drop RoCE frames whose UDP checksum is 0" },
    { "rdma", "attach the RDMA engine" },

    { "rdma-ip", "own IPv4 address; 0.0.0.0 = that of each QP" },
    { "rdma-lid", "own LID; 0 = none" },
    { "rdma-strict", "check state, order and indices of commands" },
    { "rdma-eqe", "event queues work" },
};

/* What a number may be; others take every value. */
static const struct {
    const char *name;
    size_t at;
    uint32_t min, max;
} ranges[] = {
#define RANGE(name, field, min, max) \
    { name, offsetof(NcicState, field), min, max }
    RANGE("queues", queues, 1, NCIC_QUEUES_MAX),
    RANGE("msix-vectors", vectors, 1, NCIC_MSIX_VECTORS_MAX),
    RANGE("mtu", mtu, NCIC_MTU_MIN, NCIC_MTU_MAX),
    RANGE("tx-inline", tx_inline, 0, NCIC_TX_BUDGET),
    RANGE("rdma-lid", rdma_conf.lid, 0, 0xffff),
    /* No QP names a timeout of its own here. */
    RANGE("rdma-loss-us", rdma_conf.sw.loss_timeout_us, 1, UINT32_MAX),
};

bool ncic_props_check(NcicState *s, NcicEthConfig *cfg, Error **errp)
{
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        uint32_t val = *(uint32_t *)((char *)s + ranges[i].at);

        if (val < ranges[i].min || val > ranges[i].max) {
            error_setg(errp, "property '%s' must be %u to %u",
                       ranges[i].name, ranges[i].min, ranges[i].max);
            return false;
        }
    }
    if (!rdma_switches_check(&s->rdma_conf.sw, "rdma-", errp)) {
        return false;
    }
    s->layout = s->layout_prop + 1;
    if (s->layout == NCIC_LAYOUT_RTL && s->vectors != NCIC_MSIX_VECTORS) {
        error_setg(errp, "layout=rtl has two tables of %d MSI-X vectors",
                   NCIC_MSIX_VECTORS);
        return false;
    }
    *cfg = (NcicEthConfig) {
        .queues = s->queues,
        .vectors = s->vectors,
        .mtu = s->mtu,
        .ext = s->ext,
        /* Only the hardware sources know a start bit; it is off there. */
        .tx_start = s->layout != NCIC_LAYOUT_RTL,
        .doc_flags = s->eth_flags == 1,
        .arm_oneshot = s->eth_arm == 1,
        .irq_coalesce = s->irq_coalesce,
        .roce_csum = s->roce_csum,
        .roce_dest_only = s->roce_ports == 1,
        .rx_drop = s->rx_drop,
    };
    qemu_macaddr_default_if_unset(&s->conf.macaddr);
    memcpy(cfg->mac, s->conf.macaddr.a, sizeof(cfg->mac));
    return true;
}

const CoreProps ncic_core_props = {
    .list = properties,
    .n = ARRAY_SIZE(properties),
    .local = (const char *const []) { "netdev", "tx-inline", NULL },
};

void ncic_props_class_init(DeviceClass *dc)
{
    device_class_set_props(dc, properties);
    for (size_t i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(OBJECT_CLASS(dc),
                                              descriptions[i].name,
                                              descriptions[i].text);
    }
    rdma_switches_describe(OBJECT_CLASS(dc), "rdma-");
    native_switches_describe(OBJECT_CLASS(dc), "rdma-");
}
