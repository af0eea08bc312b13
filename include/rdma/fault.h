/*
 * RDMA engine: faults injected on the wire, towards it (out) and from it
 * (in).  For tests of software that must survive a bad network.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_FAULT_H
#define RDMA_FAULT_H

#include "core/fault.h"
#include "rdma/core.h"

/*
 * @out: frames towards the wire.  ARP frames are not touched, nor are Ethernet
 * headers.
 */
void rdma_fault_set(RdmaDev *dev, bool out, const CoreFaultPlan *f);
void rdma_fault_get(RdmaDev *dev, bool out, CoreFaultPlan *f);

#endif
