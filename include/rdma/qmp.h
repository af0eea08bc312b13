/*
 * What the monitor shows of RDMA engines: query-rdma, info rdma, the event
 * RDMA_PORT_CHANGED.  QEMU only; all calls with the big lock held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_QMP_H
#define RDMA_QMP_H

#include "qom/object.h"
#include "rdma/core.h"

typedef struct RdmaQmp RdmaQmp;

/* The port of a device: link, IB state 1 (down) to 4 (active), LID. */
typedef struct RdmaQmpPort {
    bool link_up;
    uint8_t state;
    uint16_t lid;
} RdmaQmpPort;

/*
 * Show the engine @rdma of the device @dev, whose guest sees @interface;
 * @port tells the present state.  Give back to rdma_qmp_remove() before the
 * engine goes.
 */
RdmaQmp *rdma_qmp_add(Object *dev, RdmaDev *rdma, const char *interface,
                      RdmaQmpPort (*port)(Object *dev));
/* NULL is ignored. */
void rdma_qmp_remove(RdmaQmp *q);
/* The port may have changed: tell of it if it has.  NULL is ignored. */
void rdma_qmp_port(RdmaQmp *q);

#endif
