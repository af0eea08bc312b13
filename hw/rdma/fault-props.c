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
} Owner;

static bool plan_get(Object *obj, void *opaque, bool out, CoreFaultPlan *plan)
{
    RdmaDev *dev = ((const Owner *)opaque)->dev(obj);

    if (dev) {
        rdma_fault_get(dev, out, plan);
    }
    return dev;
}

static void plan_set(Object *obj, void *opaque, bool out,
                     const CoreFaultPlan *plan)
{
    rdma_fault_set(((const Owner *)opaque)->dev(obj), out, plan);
}

void rdma_fault_props(ObjectClass *klass, const char *prefix, RdmaDevOf *dev)
{
    static const WireFaultProps ops = { plan_get, plan_set };
    Owner *owner = g_new(Owner, 1);

    owner->dev = dev;
    wire_fault_props(klass, prefix, &ops, owner);
}
