/*
 * Properties that are enumerations (QEMU shells only).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_ENUM_PROP_H
#define CORE_ENUM_PROP_H

#include "qapi/error.h"
#include "qapi/util.h"
#include "qapi/visitor.h"
#include "core/qemu_qdev.h"

/* Get or set, as the visitor is an output or an input one. */
static inline void core_enum_prop_visit(Object *obj, Visitor *v,
                                        const char *name, void *opaque,
                                        Error **errp)
{
    const Property *prop = opaque;

    visit_type_enum(v, name, object_field_prop_ptr(obj, prop),
                    prop->info->enum_table, errp);
}

static inline void core_enum_prop_default(ObjectProperty *op,
                                          const Property *prop)
{
    object_property_set_default_str(op,
        qapi_enum_lookup(prop->info->enum_table, prop->defval.i));
}

/* Define @symbol##_info, the PropertyInfo of the type @c_name whose values have
 * the names that follow, from 0 on. */
#define CORE_ENUM_PROP(symbol, c_name, ...)                                 \
    static const QEnumLookup symbol##_lookup = {                            \
        .array = (const char *const []) { __VA_ARGS__ },                    \
        .size = ARRAY_SIZE(((const char *const []) { __VA_ARGS__ })),       \
    };                                                                      \
    const PropertyInfo symbol##_info = {                                    \
        .type = c_name,                                                     \
        .enum_table = &symbol##_lookup,                                     \
        .get = core_enum_prop_visit,                                        \
        .set = core_enum_prop_visit,                                        \
        .set_default_value = core_enum_prop_default,                        \
    };

/* A property of such a type in the int @field. */
#define DEFINE_PROP_CORE_ENUM(name, type, field, symbol, value)             \
    DEFINE_PROP_SIGNED(name, type, field, value, symbol##_info, int)

#endif
