/*
 * ubc: settings of the network, transport and transaction layers as properties,
 * made from the layers' own lists.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "core/qemu_qdev.h"
#include "ub/node_options.h"
#include "ubc-pci.h"

/* What they are by default. */
static const UbNodeConfig *defaults(void)
{
    static UbcConfig conf;

    if (!conf.ports) {
        ubc_config_init(&conf);
        ub_node_options_no_clocks(&conf.node);
    }
    return &conf.node;
}

static const CoreOption *option_of(const Property *prop)
{
    return ub_node_option(prop->name);
}

static void *conf_of(Object *obj, const Property *prop)
{
    return (char *)object_field_prop_ptr(obj, prop) - option_of(prop)->at;
}

/* A value that was not taken; @why goes. */
static void check(bool right, char **why, Error **errp)
{
    if (!right) {
        error_setg(errp, "%s", *why);
        g_free(*why);
    }
}

static void get_flag(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    uint64_t value;
    bool on;

    core_option_get(option_of(opaque), conf_of(obj, opaque), &value);
    on = value;
    visit_type_bool(v, name, &on, errp);
}

static void set_flag(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    char *why = NULL;
    uint64_t value;
    bool on;

    if (visit_type_bool(v, name, &on, errp)) {
        value = on;
        check(core_option_set(option_of(opaque), conf_of(obj, opaque), &value,
                              1, &why), &why, errp);
    }
}

static void default_flag(ObjectProperty *op, const Property *prop)
{
    uint64_t value;

    core_option_get(option_of(prop), defaults(), &value);
    object_property_set_default_bool(op, value);
}

static void get_number(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    uint64_t value;

    core_option_get(option_of(opaque), conf_of(obj, opaque), &value);
    visit_type_uint64(v, name, &value, errp);
}

static void set_number(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    char *why = NULL;
    uint64_t value;

    if (visit_type_uint64(v, name, &value, errp)) {
        check(core_option_set(option_of(opaque), conf_of(obj, opaque), &value,
                              1, &why), &why, errp);
    }
}

static void default_number(ObjectProperty *op, const Property *prop)
{
    uint64_t value;

    core_option_get(option_of(prop), defaults(), &value);
    object_property_set_default_uint(op, value);
}

static void get_list(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    g_autofree char *text = core_option_text(option_of(opaque),
                                             conf_of(obj, opaque));

    visit_type_str(v, name, &text, errp);
}

static void set_list(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    g_autofree char *text = NULL;
    char *why = NULL;

    if (visit_type_str(v, name, &text, errp)) {
        check(core_option_parse(option_of(opaque), conf_of(obj, opaque), text,
                                &why), &why, errp);
    }
}

static void default_list(ObjectProperty *op, const Property *prop)
{
    g_autofree char *text = core_option_text(option_of(prop), defaults());

    object_property_set_default_str(op, text);
}

static const PropertyInfo flag_info = {
    .type = "bool", .get = get_flag, .set = set_flag,
    .set_default_value = default_flag,
};
static const PropertyInfo number_info = {
    .type = "uint64", .get = get_number, .set = set_number,
    .set_default_value = default_number,
};
static const PropertyInfo list_info = {
    .type = "str", .get = get_list, .set = set_list,
    .set_default_value = default_list,
};

Property *ubc_options_join(const Property *before, uint32_t n, uint32_t *all)
{
    unsigned options;
    const CoreOption *o = ub_node_options(&options);
    Property *list = g_new0(Property, n + options);

    memcpy(list, before, n * sizeof(*list));
    for (unsigned i = 0; i < options; i++) {
        list[n + i] = (Property) {
            .name = o[i].name,
            .info = o[i].n ? &list_info
                    : o[i].kind == CORE_OPTION_BOOL ? &flag_info
                                                    : &number_info,
            .offset = offsetof(UbcPci, options) + o[i].at,
            .set_default = true,
        };
    }
    *all = n + options;
    return list;
}

void ubc_options_describe(ObjectClass *klass)
{
    unsigned n;
    const CoreOption *o = ub_node_options(&n);

    for (; n--; o++) {
        object_class_property_set_description(klass, o->name, o->text);
    }
}
