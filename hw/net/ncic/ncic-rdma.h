/*
 * NCIC NIC: the RDMA engine of the PCIe function.  In a QEMU without it
 * (CONFIG_NCIC_RDMA) ncic-rdma-stub.c stands here and there is never one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NET_NCIC_RDMA_H
#define HW_NET_NCIC_RDMA_H

#include "qom/object.h"
#include "ncic/roce.h"
#include "rdma/fault_props.h"
#include "rdma/props.h"

typedef struct NcicState NcicState;
typedef struct NcicRdma NcicRdma;

/* Properties "rdma-*" that are fixed when the device is realized. */
typedef struct NcicRdmaConf {
    uint32_t ip, lid;
    bool strict, eqe;
    RdmaSwitches sw;
    CoreFaultPlan fault[2];     /* of the engine that is to come: in, out */
    NativeSwitches native;
} NcicRdmaConf;

/* All calls come with QEMU's big lock held; offsets are in bytes. */

/* Adds the properties of the running engine: faults, link. */
void ncic_rdma_class_init(ObjectClass *klass);
/* The engine of @s, at the end of its realize; NULL if this QEMU has none. */
NcicRdma *ncic_rdma_create(NcicState *s);
void ncic_rdma_destroy(NcicRdma *r);
/* Function reset and reset register: at once. */
void ncic_rdma_reset(NcicRdma *r);
/* Bus mastering was enabled or the machine runs again. */
void ncic_rdma_restart(NcicRdma *r);
/* The NIC's link may have changed; for the first time when the NIC is whole. */
void ncic_rdma_link_changed(NcicRdma *r);
/* HCR, 32-bit, @off 00..18 in the window. */
uint32_t ncic_rdma_hcr_read(NcicRdma *r, uint32_t off);
void ncic_rdma_hcr_write(NcicRdma *r, uint32_t off, uint32_t val);
/* BAR2, @off from its start, @size 4 or 8; reads give 0. */
void ncic_rdma_uar_write(NcicRdma *r, uint32_t off, uint64_t val,
                         unsigned size);
/* How the Ethernet engine reaches it; the opaque pointer is the NcicRdma. */
extern const NcicRoceSink ncic_rdma_sink;

/* Migration: the engine's state as one block, to be freed with g_free(). */
uint8_t *ncic_rdma_save(NcicRdma *r, size_t *len);
/* NULL, or what is wrong with the block; the engine is then reset. */
const char *ncic_rdma_load(NcicRdma *r, const uint8_t *data, size_t len);

#endif
