/*
 * NCIC NIC: migration state
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/units.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "ncic-pci.h"

/* More than any engine has. */
#define NCIC_IMAGE_MAX (64 * MiB)

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

/* ---- The RDMA engine's state, one block that only it understands ------------- */

static int rdma_pre_save(void *opaque)
{
    NcicState *s = opaque;
    size_t len;

    g_free(s->rdma_image);
    s->rdma_image = ncic_rdma_save(s->rdma, &len);
    s->rdma_image_len = len;
    return 0;
}

static int rdma_post_save(void *opaque)
{
    NcicState *s = opaque;

    g_clear_pointer(&s->rdma_image, g_free);
    return 0;
}

static int rdma_pre_load(void *opaque)
{
    NcicState *s = opaque;

    if (!s->rdma) {
        error_report("%s: the source has an RDMA engine, this device has none",
                     ncic_id(s));
        return -EINVAL;
    }
    return 0;
}

static bool rdma_len_valid(void *opaque, int version_id)
{
    return ((NcicState *)opaque)->rdma_image_len <= NCIC_IMAGE_MAX;
}

static int rdma_post_load(void *opaque, int version_id)
{
    NcicState *s = opaque;
    bool ok = ncic_rdma_load(s->rdma, s->rdma_image, s->rdma_image_len);

    rdma_post_save(s);
    return ok ? 0 : -EINVAL;
}

static bool rdma_needed(void *opaque)
{
    return ((NcicState *)opaque)->rdma;
}

static const VMStateDescription vmstate_rdma = {
    .name = "ncic-nic/rdma",
    .version_id = 2,
    .minimum_version_id = 2,
    .needed = rdma_needed,
    .pre_save = rdma_pre_save,
    .post_save = rdma_post_save,
    .pre_load = rdma_pre_load,
    .post_load = rdma_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(rdma_image_len, NcicState),
        VMSTATE_VALIDATE("RDMA image too long", rdma_len_valid),
        VMSTATE_VBUFFER_ALLOC_UINT32(rdma_image, NcicState, 2, NULL,
                                     rdma_image_len),
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
