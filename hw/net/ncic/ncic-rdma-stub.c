/*
 * NCIC NIC without an RDMA engine (CONFIG_NCIC_RDMA is off)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ncic-rdma.h"

const NcicRoceSink ncic_rdma_sink;

void ncic_rdma_class_init(ObjectClass *klass)
{
}

NcicRdma *ncic_rdma_create(NcicState *s)
{
    return NULL;
}

void ncic_rdma_destroy(NcicRdma *r)
{
}

void ncic_rdma_reset(NcicRdma *r)
{
}

void ncic_rdma_restart(NcicRdma *r)
{
}

void ncic_rdma_link_changed(NcicRdma *r)
{
}

uint32_t ncic_rdma_hcr_read(NcicRdma *r, uint32_t off)
{
    return 0;
}

void ncic_rdma_hcr_write(NcicRdma *r, uint32_t off, uint32_t val)
{
}

void ncic_rdma_uar_write(NcicRdma *r, uint32_t off, uint64_t val,
                         unsigned size)
{
}

uint8_t *ncic_rdma_save(NcicRdma *r, size_t *len)
{
    *len = 0;
    return NULL;
}

const char *ncic_rdma_load(NcicRdma *r, const uint8_t *data, size_t len)
{
    return "there is no RDMA engine";
}
