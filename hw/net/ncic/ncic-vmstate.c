/*
 * NCIC NIC: migration state
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "ncic-pci.h"

static const VMStateDescription vmstate_ring = {
    .name = "ncic-nic/ring",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(base, NcicRing),
        VMSTATE_UINT32(log_size, NcicRing),
        VMSTATE_UINT32(active, NcicRing),
        VMSTATE_UINT32(head, NcicRing),
        VMSTATE_UINT32(tail, NcicRing),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_queue = {
    .name = "ncic-nic/queue",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(desc, NcicQueue, 1, vmstate_ring, NcicRing),
        VMSTATE_STRUCT(cpl, NcicQueue, 1, vmstate_ring, NcicRing),
        VMSTATE_UINT32(cpl_index, NcicQueue),
        VMSTATE_UINT32(intr, NcicQueue),
        VMSTATE_UINT32(cpl_reserved, NcicQueue),
        VMSTATE_UINT32(irq_sent, NcicQueue),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_fetch_op = {
    .name = "ncic-nic/fetch-op",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(tag, NcicFetchOp),
        VMSTATE_UINT16(queue, NcicFetchOp),
        VMSTATE_UINT16(index, NcicFetchOp),
        VMSTATE_UINT8(status, NcicFetchOp),
        VMSTATE_UINT8_ARRAY(desc, NcicFetchOp, NCIC_DESC_SIZE),
        VMSTATE_END_OF_LIST()
    },
};

/* Descriptors that were taken while the wire was busy. */
static const VMStateDescription vmstate_fetch = {
    .name = "ncic-nic/fetch",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(start, NcicFetch),
        VMSTATE_UINT32(read, NcicFetch),
        VMSTATE_UINT32(dma, NcicFetch),
        VMSTATE_UINT32(finish, NcicFetch),
        VMSTATE_STRUCT_ARRAY(op, NcicFetch, NCIC_FETCH_SLOTS, 1,
                             vmstate_fetch_op, NcicFetchOp),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_eth = {
    .name = "ncic-nic/ethernet",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_EQUAL(cfg.queues, NcicEth, "property 'queues' differs"),
        VMSTATE_UINT32_EQUAL(cfg.mtu, NcicEth, "property 'mtu' differs"),
        VMSTATE_UINT32(ncsr[NCIC_R_RSS_MASK], NcicEth),
        VMSTATE_UINT32(ncsr[NCIC_R_TX_START], NcicEth),
        VMSTATE_UINT32(ncsr[NCIC_R_MSIX_ENABLE], NcicEth),
        VMSTATE_UINT32(ncsr[NCIC_R_LINK_STATUS], NcicEth),
        VMSTATE_UINT32(ncsr[NCIC_R_LINK_IRQ], NcicEth),
        VMSTATE_UINT32(ncsr[NCIC_R_ERR_STATUS], NcicEth),
        VMSTATE_UINT64_ARRAY(counter, NcicEth, NCIC_C_COUNT),
        VMSTATE_STRUCT_2DARRAY(queue, NcicEth, NCIC_DIRS, NCIC_QUEUES_MAX, 1,
                               vmstate_queue, NcicQueue),
        VMSTATE_STRUCT_ARRAY(fetch, NcicEth, NCIC_DIRS, 1, vmstate_fetch,
                             NcicFetch),
        VMSTATE_UINT32(tx_pending, NcicEth),
        VMSTATE_UINT32(tx_next, NcicEth),
        VMSTATE_UINT32(rx_blocked, NcicEth),
        VMSTATE_UINT32(rx_blocked_queue, NcicEth),
        VMSTATE_UINT32(ip_id, NcicEth),
        VMSTATE_END_OF_LIST()
    },
};

/* ---- The RDMA engine's state, by its own description ------------------------ */

static int rdma_put(QEMUFile *f, void *pv, size_t size,
                    const VMStateField *field, JSONWriter *vmdesc)
{
    return vmstate_save_state(f, ncic_rdma_ops()->vmsd, *(void **)pv, vmdesc);
}

static int rdma_get(QEMUFile *f, void *pv, size_t size,
                    const VMStateField *field)
{
    const VMStateDescription *vmsd = ncic_rdma_ops()->vmsd;

    return vmstate_load_state(f, vmsd, *(void **)pv, vmsd->version_id);
}

static const VMStateInfo vmstate_info_rdma = {
    .name = "ncic-rdma",
    .get = rdma_get,
    .put = rdma_put,
};

static bool rdma_needed(void *opaque)
{
    NcicState *s = opaque;

    return s->rdma && ncic_rdma_ops()->vmsd;
}

static const VMStateDescription vmstate_rdma = {
    .name = "ncic-nic/rdma",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = rdma_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_SINGLE(rdma, NcicState, 1, vmstate_info_rdma, void *),
        VMSTATE_END_OF_LIST()
    },
};

static int ncic_post_load(void *opaque, int version_id)
{
    NcicState *s = opaque;

    if (!ncic_eth_restored(&s->eth)) {
        return -EINVAL;
    }
    /* Rings are mapped again on first use; the link is this side's own. */
    for (unsigned dir = 0; dir < NCIC_DIRS; dir++) {
        for (unsigned q = 0; q < s->queues; q++) {
            ncic_dma_ring_changed(s, dir, q);
        }
    }
    qemu_get_queue(s->nic)->link_down =
        !(s->eth.ncsr[NCIC_R_LINK_STATUS] & NCIC_LINK_UP);
    return 0;
}

const VMStateDescription vmstate_ncic = {
    .name = "ncic-nic",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = ncic_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, NcicState),
        VMSTATE_STRUCT(parent_obj.exp.aer_log, NcicState, 0,
                       vmstate_pcie_aer_log, PCIEAERLog),
        VMSTATE_MSIX(parent_obj, NcicState),
        VMSTATE_STRUCT(eth, NcicState, 1, vmstate_eth, NcicEth),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_rdma,
        NULL
    },
};
