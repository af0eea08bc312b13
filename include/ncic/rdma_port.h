/*
 * NCIC NIC: where the RDMA engine plugs into the PCIe function.
 *
 * ncic-nic owns the function: BARs, MSI-X, the wire.  An RDMA engine registers
 * its operations once (before any device is realized, e.g. from type_init) and
 * then gets one instance for each ncic-nic.  Plain C: QEMU types are only named.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_RDMA_PORT_H
#define NCIC_RDMA_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include "ncic/roce.h"

struct Error;
struct NcicEth;
struct NcicState;
struct ObjectClass;
struct PCIDevice;
struct VMStateDescription;

/* All offsets are in bytes; all calls come with QEMU's big lock held. */
typedef struct NcicRdmaOps {
    /* Called from ncic-nic's class_init, to add properties.  Optional. */
    void (*class_init)(struct ObjectClass *klass);
    /*
     * One engine for @nic, at the end of its realize.  DMA goes through
     * @pci's address space; frames through ncic_roce_tx(ncic_nic_eth(nic));
     * interrupts through ncic_nic_rdma_msix().  NULL and *@errp on failure.
     */
    void *(*create)(struct NcicState *nic, struct PCIDevice *pci,
                    struct Error **errp);
    void (*destroy)(void *rdma);
    /* Function reset and reset register (A.4): at once. */
    void (*reset)(void *rdma);
    /* HCR, 32-bit, @off 00..18 in the window. */
    uint32_t (*hcr_read)(void *rdma, uint32_t off);
    void (*hcr_write)(void *rdma, uint32_t off, uint32_t val);
    /* BAR2, @off from its start, @size 4 or 8. */
    uint64_t (*uar_read)(void *rdma, uint32_t off, unsigned size);
    void (*uar_write)(void *rdma, uint32_t off, uint64_t val, unsigned size);
    /* Bus mastering was enabled or the machine resumed.  Optional. */
    void (*restart)(void *rdma);
    /* Checked RoCE payloads from the wire, and "wire free". */
    NcicRoceSink sink;
    /* State of one engine, opaque = what create returned.  Optional. */
    const struct VMStateDescription *vmsd;
} NcicRdmaOps;

/* One registration per process; @ops must stay valid. */
void ncic_rdma_register(const NcicRdmaOps *ops);

/* The Ethernet engine that carries @nic's RoCE frames. */
struct NcicEth *ncic_nic_eth(struct NcicState *nic);

/* Sends the message of vector @vector of @nic (an index as in an EQ context);
 * out of range: logged, counted, ignored. */
void ncic_nic_rdma_msix(struct NcicState *nic, unsigned vector);

#endif
