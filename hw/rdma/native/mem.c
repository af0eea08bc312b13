/*
 * What every part of the personality stands on: guest memory, broken rules.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

bool native_dma_read(NativeRdma *n, uint64_t addr, void *buf, size_t len)
{
    return n->rdma.ops->read(n->rdma.ops_opaque, addr, buf, len);
}

bool native_dma_write(NativeRdma *n, uint64_t addr, const void *buf,
                      size_t len)
{
    return n->rdma.ops->write(n->rdma.ops_opaque, addr, buf, len);
}

void native_rule(NativeRdma *n, uint32_t number, const char *rule,
                 const char *text)
{
    rdma_counters(n->dev)->broken_rules++;
    if (n->rdma.ops->log) {
        n->rdma.ops->log(n->rdma.ops_opaque, number, rule, text);
    }
}
