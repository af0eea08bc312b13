/*
 * Switches of an RDMA engine as properties.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "core/enum_prop.h"
#include "rdma/props.h"

/* ---- enumerations ---- */

/* In the order of the enumerations that the engine has. */
CORE_ENUM_PROP(rdma_grh, "RdmaGrh", "none", "ib", "ipv4")
CORE_ENUM_PROP(rdma_local_error, "RdmaLocalError", "access", "protection")
CORE_ENUM_PROP(rdma_error_cqe, "RdmaErrorCqe", "driver", "document", "rtl")
CORE_ENUM_PROP(rdma_sm, "RdmaSm", "none", "auto")
QEMU_BUILD_BUG_ON(RDMA_GRH_NONE != 0 || RDMA_GRH_IB != 1 ||
                  RDMA_GRH_IPV4 != 2);
QEMU_BUILD_BUG_ON(NATIVE_ERR_CQE_DRV != 0 || NATIVE_ERR_CQE_DOC != 1 ||
                  NATIVE_ERR_CQE_RTL != 2);

/* ---- tables ---- */

static void describe(ObjectClass *klass, const char *prefix, const char *name,
                     const char *text)
{
    g_autofree char *full = g_strconcat(prefix, name, NULL);

    object_class_property_set_description(klass, full, text);
}

void rdma_switches_describe(ObjectClass *klass, const char *prefix)
{
#define DESCRIBE(field, name, native, mthca, text, ...) \
    describe(klass, prefix, name, text);
    RDMA_SWITCHES(DESCRIBE)
#undef DESCRIBE
#define DESCRIBE(field, name, native, mthca, min, max, text, ...) \
    describe(klass, prefix, name, text);
    RDMA_NUMBERS(DESCRIBE)
#undef DESCRIBE
    describe(klass, prefix, "ack-every-packet",
             "every request packet asks for an acknowledgement");
    describe(klass, prefix, "lid-net",
             "IPv4 network that LIDs are mapped to, a /16");
    describe(klass, prefix, "ud-grh",
             "area in front of a received datagram: none, ib (a global route "
             "header) or ipv4");
    describe(klass, prefix, "udp-sport",
             "UDP source port of sent packets; 0 = by the flow");
}

void native_switches_describe(ObjectClass *klass, const char *prefix)
{
#define DESCRIBE(field, name, value, text, ...) \
    describe(klass, prefix, name, text);
    NATIVE_SWITCHES(DESCRIBE)
#undef DESCRIBE
    describe(klass, prefix, "local-error",
             "syndrome of local access errors: access (11) or protection "
             "(04)");
    describe(klass, prefix, "error-cqe",
             "form of error completions: driver, document or rtl");
}

bool rdma_switches_check(const RdmaSwitches *s, const char *prefix,
                         Error **errp)
{
    static const struct {
        const char *name;
        size_t at;
        uint32_t min, max;
    } ranges[] = {
#define RANGE(field, name, native, mthca, min, max, ...) \
        { name, offsetof(RdmaSwitches, field), min, max },
        RDMA_NUMBERS(RANGE)
#undef RANGE
    };

    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        uint32_t val = *(const uint32_t *)((const char *)s + ranges[i].at);

        if (val < ranges[i].min || val > ranges[i].max) {
            error_setg(errp, "property '%s%s' must be %u to %u", prefix,
                       ranges[i].name, ranges[i].min, ranges[i].max);
            return false;
        }
    }
    if (s->lid_net & 0xffff) {
        error_setg(errp, "property '%slid-net' must be a /16 network",
                   prefix);
        return false;
    }
    return true;
}

void rdma_switches_apply(const RdmaSwitches *s, RdmaConfig *cfg)
{
#define APPLY(field, ...) cfg->field = s->field;
    RDMA_SWITCHES(APPLY)
    RDMA_NUMBERS(APPLY)
#undef APPLY
    cfg->ack_req = s->ack_every_packet ? RDMA_ACKREQ_ALL
                                       : RDMA_ACKREQ_PERIODIC;
    cfg->lid_net = s->lid_net;
    cfg->ud_grh = s->ud_grh;
    cfg->udp_sport = s->udp_sport;
}

void native_switches_apply(const NativeSwitches *s, NativeConfig *cfg)
{
#define APPLY(field, ...) cfg->field = s->field;
    NATIVE_SWITCHES(APPLY)
#undef APPLY
    cfg->lerr = s->local_error ? 0x04 : 0x11;
    cfg->err_cqe = s->err_cqe;
}
