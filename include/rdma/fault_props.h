/*
 * QOM properties of the fault injection of an RDMA engine, for every device
 * that has one.  QEMU only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_FAULT_PROPS_H
#define RDMA_FAULT_PROPS_H

#include "qom/object.h"
#include "rdma/fault.h"

/* The engine of a device, NULL while there is none. */
typedef RdmaDev *RdmaDevOf(Object *obj);

/* The two plans, in and out, that a device has been given before its engine. */
typedef CoreFaultPlan *RdmaFaultsOf(Object *obj);

/*
 * Add <prefix>fault-{in,out}-<field of CoreFaultPlan> to @klass, readable and
 * writable at any time (-device, QMP qom-get, qom-set).
 */
void rdma_fault_props(ObjectClass *klass, const char *prefix,
                      RdmaDevOf *dev, RdmaFaultsOf *early);
/* The engine is there: what it has been given before. */
void rdma_fault_begin(RdmaDev *dev, const CoreFaultPlan early[2]);

#endif
