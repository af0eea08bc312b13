/*
 * virtio-net in an emulator that qtest drives: what the benchmark of the UB
 * link is compared with, on a netdev of the caller's choice.
 *
 * Guest memory is a SharedRam.  All transmit descriptors point at one payload;
 * frames have no offloads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef VNET_DRIVER_H
#define VNET_DRIVER_H

#include "libqtest.h"
#include "libqos/malloc-pc.h"
#include "libqos/pci-pc.h"
#include "libqos/virtio.h"
#include "libqos/virtio-pci.h"
#include "../../link/shared-ram.h"

typedef struct QVnetQueue {
    QVirtQueue *vq;
    uint16_t avail, used;  /* posted, reaped */
} QVnetQueue;

typedef struct QVnet {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
    QVirtioPCIDevice *dev;
    SharedRam *ram;
    QVnetQueue rx, tx;
    uint64_t packets, bytes; /* received, payload */
} QVnet;

/* Start a machine whose virtio-net has netdev `n0`, as `netdev` says. */
QVnet *qvnet_start(const char *netdev);
void qvnet_stop(QVnet *d);
/* Queue up to n frames of `len` bytes; how many there was room for. */
unsigned qvnet_send(QVnet *d, unsigned n, uint32_t len);
/* Take what has come and give the buffers back; frames. */
unsigned qvnet_reap(QVnet *d);

#endif
