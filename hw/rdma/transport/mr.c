/*
 * Memory regions: checks, translation and copies (RDMA §4.3; interface
 * document C.3).  Every packet looks its key up anew, so a region that is
 * revoked during a transfer stops the transfer at the next packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static RdmaMr *mr_slot(RdmaDev *dev, uint32_t index, bool make)
{
    RdmaMr **page;

    index &= dev->mr_mask;
    page = &dev->mr_page[index / CORE_TABLE_PAGE];
    if (!*page) {
        if (!make) {
            return NULL;
        }
        *page = g_new0(RdmaMr, CORE_TABLE_PAGE);
    }
    return &(*page)[index % CORE_TABLE_PAGE];
}

void rdma_mr_set(RdmaDev *dev, uint32_t index, const RdmaMr *mr)
{
    RdmaMr *m = mr_slot(dev, index, true);

    *m = *mr;
    m->valid = true;
    /* A page size a shift can express; smaller ones do not exist. */
    m->page_shift = CLAMP(m->page_shift, 12, 62);
}

void rdma_mr_clear(RdmaDev *dev, uint32_t index)
{
    RdmaMr *m = mr_slot(dev, index, false);

    if (m) {
        m->valid = false;
    }
}

const RdmaMr *rdma_mr_get(RdmaDev *dev, uint32_t index)
{
    return mr_slot(dev, index, false);
}

static uint32_t check(RdmaDev *dev, uint32_t key, uint32_t pd, uint64_t va,
                      uint64_t len, uint32_t access, const RdmaMr **out)
{
    const RdmaMr *m = mr_slot(dev, dev->cfg.pers->key_index(
                                  dev->cfg.pers_opaque, key), false);
    uint32_t bad = 0;
    uint64_t off;

    if (!m || !m->valid || m->key != key) {
        return RDMA_MRE_KEY;
    }
    if (m->pd != pd) {
        bad |= RDMA_MRE_PD;
    }
    if (access & RDMA_ACC_RIGHTS & ~m->access) {
        bad |= RDMA_MRE_ACCESS;
    }
    off = access & RDMA_ACC_RELATIVE ? va : va - m->start;
    if (!(access & RDMA_ACC_RELATIVE) && va < m->start) {
        bad |= RDMA_MRE_BOUND;
    } else if (off > m->length || len > m->length - off) {
        bad |= RDMA_MRE_BOUND;
    }
    *out = m;
    return bad;
}

uint32_t rdma_mr_check(RdmaDev *dev, uint32_t key, uint32_t pd, uint64_t va,
                       uint64_t len, uint32_t access)
{
    const RdmaMr *m;

    return len ? check(dev, key, pd, va, len, access, &m) : 0;
}

static bool bus_copy(RdmaDev *dev, uint64_t bus, uint8_t *buf, uint32_t len,
                     bool write)
{
    const RdmaOps *ops = dev_ops(dev);

    return write ? ops->write(dev->cfg.ops_opaque, bus, buf, len) :
                   ops->read(dev->cfg.ops_opaque, bus, buf, len);
}

/* Copy between @buf and a region already checked. */
static uint32_t copy(RdmaDev *dev, const RdmaMr *m, uint64_t va,
                     uint8_t *buf, uint32_t len, uint32_t access, bool write)
{
    const RdmaPersOps *pers = dev->cfg.pers;
    uint64_t page = UINT64_C(1) << m->page_shift;
    uint64_t pos, n, in_page;

    if (m->physical) {
        va += access & RDMA_ACC_RELATIVE ? m->start : 0;
        return bus_copy(dev, va, buf, len, write) ? 0 : RDMA_MRE_PAGE;
    }
    /* Position counted from the beginning of the region's first page. */
    pos = access & RDMA_ACC_RELATIVE ? va :
          va - m->start + (m->start & (page - 1));
    n = pos >> m->page_shift;
    in_page = pos & (page - 1);
    while (len) {
        uint64_t phys[RDMA_MTT_MOST];
        uint64_t span = (in_page + len + page - 1) >> m->page_shift;
        unsigned num = MIN(span, RDMA_MTT_MOST);

        if (!pers->mtt_read(dev->cfg.pers_opaque, m, n, num, phys)) {
            return RDMA_MRE_PAGE;
        }
        for (unsigned i = 0; i < num && len; ) {
            uint64_t bus = phys[i] + in_page;
            uint64_t run = page - in_page;

            /* Pages that follow each other are one copy. */
            for (i++; i < num && run < len && phys[i] == bus + run; i++) {
                run += page;
            }
            run = MIN(run, len);
            if (!bus_copy(dev, bus, buf, run, write)) {
                return RDMA_MRE_PAGE;
            }
            buf += run;
            len -= run;
            in_page = 0;
        }
        n += num;
    }
    return 0;
}

uint32_t rdma_mr_read(RdmaDev *dev, uint32_t key, uint32_t pd, uint64_t va,
                      void *buf, uint32_t len, uint32_t access)
{
    const RdmaMr *m;
    uint32_t bad = len ? check(dev, key, pd, va, len, access, &m) : 0;

    return bad || !len ? bad : copy(dev, m, va, buf, len, access, false);
}

uint32_t rdma_mr_write(RdmaDev *dev, uint32_t key, uint32_t pd, uint64_t va,
                       const void *buf, uint32_t len, uint32_t access)
{
    const RdmaMr *m;
    uint32_t bad = len ? check(dev, key, pd, va, len, access, &m) : 0;

    return bad || !len ? bad :
           copy(dev, m, va, (uint8_t *)buf, len, access, true);
}

static uint32_t sge_copy(RdmaQp *qp, const RdmaSge *sge, unsigned n,
                         uint64_t off, uint8_t *buf, uint32_t len,
                         uint32_t access, bool write)
{
    for (unsigned i = 0; i < n && len; i++, sge++) {
        const RdmaMr *m;
        uint32_t part, bad;

        if (off >= sge->len) {
            off -= sge->len;
            continue;
        }
        part = MIN(sge->len - off, len);
        bad = check(qp->dev, sge->key, qp->attr.pd, sge->addr + off, part,
                    access, &m);
        if (!bad) {
            bad = copy(qp->dev, m, sge->addr + off, buf, part, access, write);
        }
        if (bad) {
            return bad;
        }
        buf += part;
        len -= part;
        off = 0;
    }
    return len ? RDMA_MRE_BOUND : 0;
}

uint32_t sge_gather(RdmaQp *qp, const RdmaSge *sge, unsigned n, uint32_t off,
                    void *buf, uint32_t len)
{
    /* Reading a region for the own QP needs no right (interface document C.3). */
    return sge_copy(qp, sge, n, off, buf, len, 0, false);
}

uint32_t sge_scatter(RdmaQp *qp, const RdmaSge *sge, unsigned n,
                     uint64_t off, const void *buf, uint32_t len)
{
    return sge_copy(qp, sge, n, off, (uint8_t *)buf, len,
                    RDMA_ACC_LOCAL_WRITE, true);
}

uint32_t mr_atomic(RdmaDev *dev, uint32_t key, uint32_t pd, uint64_t va,
                   bool cmp_swap, uint64_t swap_add, uint64_t compare,
                   uint64_t *orig)
{
    const RdmaOps *ops = dev_ops(dev);
    uint64_t bus = va, val;
    uint8_t mem[8];
    const RdmaMr *m;
    size_t len = 8;
    uint64_t *p = NULL;
    uint32_t bad = check(dev, key, pd, va, 8, RDMA_ACC_REMOTE_ATOMIC, &m);

    if (bad) {
        return bad;
    }
    if (!m->physical) {
        uint64_t page = UINT64_C(1) << m->page_shift;
        uint64_t pos = va - m->start + (m->start & (page - 1));

        if (!dev->cfg.pers->mtt_read(dev->cfg.pers_opaque, m,
                                     pos >> m->page_shift, 1, &bus)) {
            return RDMA_MRE_PAGE;
        }
        bus += pos & (page - 1);
    }
    if (ops->map) {
        p = ops->map(dev->cfg.ops_opaque, bus, &len, true);
    }
    if (p && len == 8 && ((uintptr_t)p & 7) == 0) {
        /* Atomic towards the guest's own processors too. */
        uint64_t next;

        val = __atomic_load_n(p, __ATOMIC_SEQ_CST);
        do {
            *orig = get_le64(&val);
            if (cmp_swap && *orig != compare) {
                break;
            }
            put_le64(&next, cmp_swap ? swap_add : *orig + swap_add);
        } while (!__atomic_compare_exchange_n(p, &val, next, false,
                                              __ATOMIC_SEQ_CST,
                                              __ATOMIC_SEQ_CST));
        ops->unmap(dev->cfg.ops_opaque, p, len, true);
        return 0;
    }
    if (p) {
        ops->unmap(dev->cfg.ops_opaque, p, len, true);
    }
    if (!bus_copy(dev, bus, mem, 8, false)) {
        return RDMA_MRE_PAGE;
    }
    *orig = get_le64(mem);
    if (cmp_swap && *orig != compare) {
        return 0;
    }
    put_le64(mem, cmp_swap ? swap_add : *orig + swap_add);
    return bus_copy(dev, bus, mem, 8, true) ? 0 : RDMA_MRE_PAGE;
}
