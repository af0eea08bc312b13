/*
 * QOM properties of the faults of a wire (core/fault.h), for every device that
 * has them.  QEMU only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_FAULT_PROPS_H
#define WIRE_FAULT_PROPS_H

#include "core/fault.h"
#include "qom/object.h"

typedef struct WireFaultProps {
    /* The plan of @obj for frames that leave (@out) or come; before the device
     * exists, the one that it will begin with. */
    void (*get)(Object *obj, void *opaque, bool out, CoreFaultPlan *plan);
    void (*set)(Object *obj, void *opaque, bool out,
                const CoreFaultPlan *plan);
} WireFaultProps;

/*
 * Add <prefix>fault-{in,out}-<field of CoreFaultPlan> to @klass, readable and
 * writable at any time (-device, QMP qom-get, qom-set).
 */
void wire_fault_props(ObjectClass *klass, const char *prefix,
                      const WireFaultProps *ops, void *opaque);

#endif
