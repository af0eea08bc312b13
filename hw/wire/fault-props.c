/*
 * QOM properties of the faults of a wire.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "wire/fault_props.h"

typedef struct Field {
    const char *name;
    size_t off;
    bool wide;                  /* 64 bits */
    uint64_t min, max;
    const char *help;
} Field;

/* One property: lives as long as the class. */
typedef struct Prop {
    const Field *field;
    bool out;
    const WireFaultProps *ops;
    void *opaque;
} Prop;

#define PPM(action, text)                                               \
    { text "-ppm", offsetof(CoreFaultPlan, ppm[CORE_FAULT_##action]), false, \
      0, 1000000, "frames per million that suffer: " text }

static const Field fields[] = {
    PPM(DROP, "drop"),
    PPM(DUPLICATE, "duplicate"),
    PPM(REORDER, "reorder"),
    PPM(CORRUPT, "corrupt"),
    PPM(DELAY, "delay"),
    { "seed", offsetof(CoreFaultPlan, seed), false, 0, UINT32_MAX,
      "seed of the random sequence" },
    { "nth", offsetof(CoreFaultPlan, nth), true, 0, UINT64_MAX,
      "number of the frame, from 1, that suffers the action; 0 = none" },
    { "every", offsetof(CoreFaultPlan, every), true, 0, UINT64_MAX,
      "and each that many frames after it; 0 = no other" },
    { "action", offsetof(CoreFaultPlan, nth_action), false, 0,
      CORE_FAULT_NUM - 1,
      "0 none, 1 drop, 2 duplicate, 3 reorder, 4 corrupt, 5 delay" },
    { "reorder-depth", offsetof(CoreFaultPlan, reorder_depth), false, 1, 64,
      "frames that overtake a reordered one" },
    { "delay-us", offsetof(CoreFaultPlan, delay_us), false, 0, UINT32_MAX,
      "how long a delayed frame is held" },
};
QEMU_BUILD_BUG_ON(sizeof(CoreFaultAction) != sizeof(uint32_t));

static void prop_get(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    const Prop *p = opaque;
    CoreFaultPlan f = { 0 };
    const void *at = (const char *)&f + p->field->off;
    uint64_t val;

    p->ops->get(obj, p->opaque, p->out, &f);
    val = p->field->wide ? *(const uint64_t *)at : *(const uint32_t *)at;
    visit_type_uint64(v, name, &val, errp);
}

static void prop_set(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    const Prop *p = opaque;
    CoreFaultPlan f = { 0 };
    void *at = (char *)&f + p->field->off;
    uint64_t val;

    if (!visit_type_uint64(v, name, &val, errp)) {
        return;
    }
    if (val < p->field->min || val > p->field->max) {
        error_setg(errp, "%s: value out of range", name);
        return;
    }
    p->ops->get(obj, p->opaque, p->out, &f);
    if (p->field->wide) {
        *(uint64_t *)at = val;
    } else {
        *(uint32_t *)at = val;
    }
    p->ops->set(obj, p->opaque, p->out, &f);
}

void wire_fault_props(ObjectClass *klass, const char *prefix,
                      const WireFaultProps *ops, void *opaque)
{
    for (int out = 0; out < 2; out++) {
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
            g_autofree char *name = g_strdup_printf(
                "%sfault-%s-%s", prefix, out ? "out" : "in", fields[i].name);
            Prop *p = g_new(Prop, 1);

            *p = (Prop) { &fields[i], out, ops, opaque };
            object_class_property_add(klass, name, "uint64", prop_get,
                                      prop_set, NULL, p);
            object_class_property_set_description(klass, name,
                                                  fields[i].help);
        }
    }
}
