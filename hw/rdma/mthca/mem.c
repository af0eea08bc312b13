/*
 * ncic-mthca: what every part stands on: guest memory, device memory, doorbell
 * records, broken rules.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

bool mthca_dma_read(Mthca *m, uint64_t addr, void *buf, size_t len)
{
    return m->cfg.rdma.ops->read(m->cfg.rdma.ops_opaque, addr, buf, len);
}

bool mthca_dma_write(Mthca *m, uint64_t addr, const void *buf, size_t len)
{
    return m->cfg.rdma.ops->write(m->cfg.rdma.ops_opaque, addr, buf, len);
}

bool mthca_icm_read(Mthca *m, uint64_t virt, void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len) {
        uint64_t phys, n = len;

        if (!icm_lookup(&m->icm, virt, &phys, &n) ||
            !mthca_dma_read(m, phys, p, n)) {
            return false;
        }
        virt += n;
        p += n;
        len -= n;
    }
    return true;
}

bool mthca_db_record(Mthca *m, uint32_t uar, uint32_t index, uint32_t *val)
{
    uint64_t off = (uint64_t)index * 8;
    uint8_t buf[4];

    if (uar >> m->log_uars || off >> m->log_uarc ||
        !mthca_icm_read(m, m->uarc_base + ((uint64_t)uar << m->log_uarc) +
                        off, buf, 4)) {
        mthca_rule(m, index, "doorbell record", "not mapped");
        return false;
    }
    *val = get_be32(buf);
    return true;
}

void mthca_rule(Mthca *m, uint32_t number, const char *rule,
                const char *text)
{
    m->counters.guest_errors++;
    if (m->cfg.rdma.ops->log) {
        m->cfg.rdma.ops->log(m->cfg.rdma.ops_opaque, number, rule, text);
    }
}
