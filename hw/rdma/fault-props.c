/*
 * QOM properties of the fault injection of an RDMA engine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "rdma/fault_props.h"
#include "wire/fault_props.h"

/* Lives as long as the class. */
typedef struct Owner {
    RdmaDevOf *dev;
    RdmaFaultsOf *early;
} Owner;

static void plan_get(Object *obj, void *opaque, bool out, CoreFaultPlan *plan)
{
    const Owner *owner = opaque;
    RdmaDev *dev = owner->dev(obj);

    if (dev) {
        rdma_fault_get(dev, out, plan);
    } else {
        *plan = owner->early(obj)[out];
    }
}

static void plan_set(Object *obj, void *opaque, bool out,
                     const CoreFaultPlan *plan)
{
    const Owner *owner = opaque;
    RdmaDev *dev = owner->dev(obj);

    if (dev) {
        rdma_fault_set(dev, out, plan);
    } else {
        owner->early(obj)[out] = *plan;
    }
}

void rdma_fault_begin(RdmaDev *dev, const CoreFaultPlan early[2])
{
    for (unsigned out = 0; out < 2; out++) {
        rdma_fault_set(dev, out, &early[out]);
    }
}

void rdma_fault_props(ObjectClass *klass, const char *prefix, RdmaDevOf *dev,
                      RdmaFaultsOf *early)
{
    static const WireFaultProps ops = { plan_get, plan_set };
    Owner *owner = g_new(Owner, 1);

    owner->dev = dev;
    owner->early = early;
    wire_fault_props(klass, prefix, &ops, owner);
}
