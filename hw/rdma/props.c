/*
 * Switches of an RDMA engine as properties.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/util.h"
#include "qapi/visitor.h"
#include "rdma/props.h"

/* ---- enumerations ---- */

static void enum_get(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    const Property *prop = opaque;

    visit_type_enum(v, name, object_field_prop_ptr(obj, prop),
                    prop->info->enum_table, errp);
}

static void enum_default(ObjectProperty *op, const Property *prop)
{
    object_property_set_default_str(op,
        qapi_enum_lookup(prop->info->enum_table, prop->defval.i));
}

#define ENUM_INFO(symbol, c_name, ...)                                      \
    static const QEnumLookup symbol##_lookup = {                            \
        .array = (const char *const []) { __VA_ARGS__ },                    \
        .size = ARRAY_SIZE(((const char *const []) { __VA_ARGS__ })),       \
    };                                                                      \
    const PropertyInfo symbol##_info = {                                    \
        .type = c_name,                                                     \
        .enum_table = &symbol##_lookup,                                     \
        .get = enum_get,                                                    \
        .set = enum_get,                                                    \
        .set_default_value = enum_default,                                  \
    };

/* In the order of the enumerations that the engine has. */
ENUM_INFO(rdma_grh, "RdmaGrh", "none", "ib", "ipv4")
ENUM_INFO(rdma_local_error, "RdmaLocalError", "access", "protection")
ENUM_INFO(rdma_error_cqe, "RdmaErrorCqe", "driver", "document", "rtl")
ENUM_INFO(rdma_sm, "RdmaSm", "none", "auto")
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

void rdma_switches_apply(const RdmaSwitches *s, RdmaConfig *cfg)
{
#define APPLY(field, ...) cfg->field = s->field;
    RDMA_SWITCHES(APPLY)
#undef APPLY
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
