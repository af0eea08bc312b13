/*
 * RDMA engine: faults injected on the wire, towards it (out) and from it
 * (in).  For tests of software that must survive a bad network.
 *
 * Rates are in parts per million of the frames of that direction.  @nth
 * addresses single frames: the frames since the last rdma_fault_set() are
 * counted from 1; frame @nth (0 = none), and each @every-th after it if
 * @every is not 0, suffers @nth_action.  The random sequence depends on @seed
 * and on the order of frames alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_FAULT_H
#define RDMA_FAULT_H

#include "rdma/core.h"

typedef enum RdmaFaultAction {
    RDMA_FAULT_NONE,
    RDMA_FAULT_DROP,
    RDMA_FAULT_DUPLICATE,
    RDMA_FAULT_REORDER,     /* held until @reorder_depth others have passed */
    RDMA_FAULT_CORRUPT,     /* one random bit behind the Ethernet header */
    RDMA_FAULT_DELAY,       /* held for @delay_us (order of frames changes) */
    RDMA_FAULT_NUM
} RdmaFaultAction;

typedef struct RdmaFault {
    uint32_t ppm[RDMA_FAULT_NUM];
    uint32_t seed;
    uint64_t nth, every;
    RdmaFaultAction nth_action;
    uint32_t reorder_depth; /* 1..64, default 4 */
    uint32_t delay_us;
} RdmaFault;

/* @out: frames towards the wire.  ARP frames are not touched. */
void rdma_fault_set(RdmaDev *dev, bool out, const RdmaFault *f);
void rdma_fault_get(RdmaDev *dev, bool out, RdmaFault *f);
/* Link down drops everything both ways; up announces the addresses. */
void rdma_link_set(RdmaDev *dev, bool up);

#endif
