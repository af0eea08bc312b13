/*
 * ubc: faults between the network layer and the ports, as properties.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "wire/fault_props.h"
#include "ubc-pci.h"

void ubc_pci_fault_apply(UbcPci *s, bool out)
{
    if (!s->ubc) {
        return; /* when it is realized */
    }
    ubc_pci_lock(s);
    ub_node_set_fault(ubc_node(s->ubc), out, &s->engine.fault[out]);
    qemu_mutex_unlock(&s->lock);
    qemu_bh_schedule(s->run_bh);
}

static void plan_get(Object *obj, void *opaque, bool out, CoreFaultPlan *plan)
{
    *plan = UBC(obj)->engine.fault[out].plan;
}

static void plan_set(Object *obj, void *opaque, bool out,
                     const CoreFaultPlan *plan)
{
    UBC(obj)->engine.fault[out].plan = *plan;
    ubc_pci_fault_apply(UBC(obj), out);
}

/* ---- Which packets ------------------------------------------------------------------ */

typedef struct Filter {
    const char *name, *text;
    uint16_t off;
    bool wide;          /* 32 bits, not 16 */
} Filter;

static const Filter filters[] = {
    { "kind", "0 RTP, 1 CTP, 2 UTP, 3 Bypass, 4 scans, 5 control, 6 other IP; "
              "65535 all", offsetof(UbFaultPlan, kind), false },
    { "tp-opcode", "operation code of the transport; 65535 all",
      offsetof(UbFaultPlan, tp_opcode), false },
    { "ta-opcode", "operation code of the transaction layer; 65535 all",
      offsetof(UbFaultPlan, ta_opcode), false },
    { "psn", "first PSN; 4294967295 all", offsetof(UbFaultPlan, psn), true },
    { "psn-last", "last PSN; 4294967295: the first alone",
      offsetof(UbFaultPlan, psn_last), true },
    { "queue", "INI_RC_ID of requests, and of their responses; 4294967295 all",
      offsetof(UbFaultPlan, queue), true },
    { "target-queue", "TC ID of messages; 4294967295 all",
      offsetof(UbFaultPlan, target_queue), true },
};

/* Lives as long as the class. */
typedef struct FilterProp {
    const Filter *filter;
    bool out;
} FilterProp;

static void filter_get(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    const FilterProp *p = opaque;
    const void *at = (char *)&UBC(obj)->engine.fault[p->out] + p->filter->off;
    uint32_t value = p->filter->wide ? *(const uint32_t *)at
                                     : *(const uint16_t *)at;

    visit_type_uint32(v, name, &value, errp);
}

static void filter_set(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    const FilterProp *p = opaque;
    UbFaultPlan plan = UBC(obj)->engine.fault[p->out];
    void *at = (char *)&plan + p->filter->off;
    uint32_t value;
    const char *broken;

    if (!visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    if (p->filter->wide) {
        *(uint32_t *)at = value;
    } else {
        *(uint16_t *)at = MIN(value, UB_FAULT_ANY);
    }
    broken = ub_fault_plan_check(&plan);
    if (broken) {
        error_setg(errp, "%s: %s", name, broken);
        return;
    }
    UBC(obj)->engine.fault[p->out] = plan;
    ubc_pci_fault_apply(UBC(obj), p->out);
}

void ubc_pci_fault_props(ObjectClass *klass)
{
    static const WireFaultProps ops = { plan_get, plan_set };

    wire_fault_props(klass, "", &ops, NULL);
    for (unsigned n = 0; n < 2 * ARRAY_SIZE(filters); n++) {
        FilterProp *p = g_new(FilterProp, 1);
        g_autofree char *name = NULL;

        *p = (FilterProp){ &filters[n / 2], n & 1 };
        name = g_strdup_printf("fault-%s-%s", p->out ? "out" : "in",
                               p->filter->name);
        object_class_property_add(klass, name, "uint32", filter_get,
                                  filter_set, NULL, p);
        object_class_property_set_description(klass, name, p->filter->text);
    }
}
