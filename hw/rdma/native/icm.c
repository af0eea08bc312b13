/*
 * ICM: contexts and translation tables in guest memory, found through the
 * page maps that MAP_ICM fills (CM §4.2, VTP §5.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

const uint32_t nicm_pages[ICM_TABLES] = {
    [ICM_QPC] = ICM_QPC_PAGES, [ICM_CQC] = ICM_CQC_PAGES,
    [ICM_EQC] = ICM_EQC_PAGES, [ICM_MPT] = ICM_MPT_PAGES,
    [ICM_MTT] = ICM_MTT_PAGES,
};

uint64_t nicm_addr(NativeRdma *n, IcmTable t, uint32_t index, uint32_t size)
{
    /* All entry sizes divide a page. */
    uint64_t byte = (uint64_t)index * size;
    uint64_t page = n->s.map[t][byte / PAGE % nicm_pages[t]];

    return page & 1 ? (page & ~UINT64_C(1)) + byte % PAGE : 0;
}

bool nicm_read(NativeRdma *n, IcmTable t, uint32_t index, uint32_t size,
              uint32_t off, void *buf, uint32_t len)
{
    uint64_t a = nicm_addr(n, t, index, size);

    return a && native_dma_read(n, a + off, buf, len);
}

bool nicm_write(NativeRdma *n, IcmTable t, uint32_t index, uint32_t size,
               uint32_t off, const void *buf, uint32_t len)
{
    uint64_t a = nicm_addr(n, t, index, size);

    return a && native_dma_write(n, a + off, buf, len);
}

/* The table of @region with the greatest base not above @virt. */
static int table_of(NativeRdma *n, unsigned region, uint64_t virt)
{
    IcmTable first = region == NR_ICM_CONTEXTS ? ICM_QPC : ICM_MPT;
    IcmTable last = region == NR_ICM_CONTEXTS ? ICM_EQC : ICM_MTT;
    int best = -1;

    for (int t = first; t <= (int)last; t++) {
        if (n->s.base[t] <= virt &&
            (best < 0 || n->s.base[t] >= n->s.base[best])) {
            best = t;
        }
    }
    return best;
}

static uint64_t *map_slot(NativeRdma *n, unsigned region, uint64_t virt)
{
    int t = table_of(n, region, virt);
    uint64_t page;

    if (t < 0) {
        return NULL;
    }
    page = (virt - n->s.base[t]) / PAGE;
    if (page >= nicm_pages[t]) {
        if (n->cfg.strict_cmd) {
            return NULL;
        }
        page %= nicm_pages[t];
    }
    return &n->s.map[t][page];
}

bool nicm_map_page(NativeRdma *n, unsigned region, uint64_t virt,
                  uint64_t phys)
{
    uint64_t *s = map_slot(n, region, virt);

    if (s) {
        *s = (phys & ~UINT64_C(0xfff)) | 1;
    }
    return s != NULL;
}

bool nicm_unmap_page(NativeRdma *n, unsigned region, uint64_t virt)
{
    uint64_t *s = map_slot(n, region, virt);

    if (s) {
        *s = 0;
    }
    return s != NULL;
}

void nicm_clear(NativeRdma *n)
{
    memset(n->s.map, 0, sizeof(n->s.map));
    memset(n->s.base, 0, sizeof(n->s.base));
    memset(n->s.log, 0, sizeof(n->s.log));
}
