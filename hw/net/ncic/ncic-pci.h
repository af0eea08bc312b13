/*
 * NCIC NIC: state of the PCIe function, shared by the files of the shell
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NET_NCIC_PCI_H
#define HW_NET_NCIC_PCI_H

#include "hw/pci/pci_device.h"
#include "net/net.h"
#include "qemu/bitmap.h"
#include "qom/object.h"
#include "core/pci_master.h"
#include "core/props.h"
#include "core/qemu_memory.h"
#include "core/qemu_qdev.h"
#include "ncic/eth.h"
#include "wire/backlog.h"
#include "ncic-rdma.h"

#define TYPE_NCIC_NIC "ncic-nic"
OBJECT_DECLARE_SIMPLE_TYPE(NcicState, NCIC_NIC)

/* One ring, mapped for direct access while its memory is ordinary RAM. */
typedef struct NcicRingCache {
    MemoryRegionCache mem;
    bool mapped;                /* mem is initialized */
    bool direct;                /* mem.ptr covers the whole ring */
} NcicRingCache;

enum { NCIC_RING_DESC, NCIC_RING_CPL, NCIC_RINGS };

struct NcicState {
    PCIDevice parent_obj;
    PciMaster master;

    const char *id;
    NICState *nic;
    WireBacklog backlog;
    NICConf conf;
    MemoryRegion bar0;
    MemoryRegion csr;
    MemoryRegion bar2;
    QEMUBH *tx_bh;
    QEMUBH *rx_bh;
    QEMUBH *unmap_bh;
    /* Vectors that wait for the end of the batch that is being sent, or for the
     * machine to run. */
    DECLARE_BITMAP(irq_waiting, NCIC_MSIX_VECTORS_MAX);
    bool tx_running;
    VMChangeStateEntry *vmstate;
    MemoryListener listener;
    NcicRingCache ring[NCIC_DIRS][NCIC_QUEUES_MAX][NCIC_RINGS];

    NcicEth eth;
    NcicRdma *rdma;             /* NULL: none */
    unsigned rdma_vector_base;
    NcicLayout layout;

    /* Migration: the image of both engines while it travels. */
    uint8_t *image;
    uint32_t image_len;

    /* properties */
    int layout_prop;            /* NcicLayout - 1 */
    int eth_flags;              /* 1: doc */
    int eth_arm;                /* 1: oneshot */
    int roce_ports;             /* 1: destination */
    uint32_t queues;
    uint32_t vectors;
    uint32_t mtu;
    uint32_t tx_inline;
    uint32_t rx_drop;
    bool flr;
    bool ext;
    bool irq_coalesce;
    bool roce_csum;
    bool use_rdma;
    NcicRdmaConf rdma_conf;
};

/* Frames sent in one go before other work of the main loop has its turn. */
#define NCIC_TX_BUDGET 256
/* The same within a doorbell, while the virtual CPU stands still. */
#define NCIC_TX_INLINE_DEFAULT 64

/* Sends the message of vector @vector of the RDMA engine (an index as in an EQ
 * context); out of range: logged, counted, ignored. */
void ncic_nic_rdma_msix(NcicState *s, unsigned vector);

/* Both engines as after power-on; configuration space is kept. */
void ncic_reset_engines(NcicState *s, const char *cause);

/* ncic-props.c: properties and their descriptions; checks them and makes the
 * engine's settings of them. */
void ncic_props_class_init(DeviceClass *dc);
bool ncic_props_check(NcicState *s, NcicEthConfig *cfg, Error **errp);
/* Those that a driver or a peer can notice. */
extern const CoreProps ncic_core_props;

/* ncic-dma.c: guest memory operations of the engine. */
void ncic_dma_init(NcicState *s);
void ncic_dma_fini(NcicState *s);
void ncic_dma_ring_changed(void *opaque, NcicDir dir, unsigned q);
bool ncic_dma_ok(void *opaque);
bool ncic_dma_read(void *opaque, uint64_t addr, void *buf, size_t len);
bool ncic_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len);
const void *ncic_dma_map(void *opaque, uint64_t addr, size_t len);
void ncic_dma_unmap(void *opaque, const void *p, size_t len);
void ncic_dma_desc_read(void *opaque, NcicDir dir, unsigned q, unsigned slot,
                        uint64_t addr, uint32_t tag);
bool ncic_dma_cpl_write(void *opaque, NcicDir dir, unsigned q, unsigned slot,
                        uint64_t addr, const void *cpl);

/* ncic-fault.c: adds the fault-* properties; the name of one. */
void ncic_fault_class_init(ObjectClass *klass);
const char *ncic_fault_name(NcicFault fault);

/* ncic-vmstate.c */
extern const VMStateDescription vmstate_ncic;

/* Names the device in logs and traces. */
static inline const char *ncic_id(const NcicState *s)
{
    return s->id;
}

#endif
