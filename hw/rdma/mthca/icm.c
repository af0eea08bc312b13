/*
 * ncic-mthca: the ICM map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "icm.h"

void icm_clear(Icm *icm)
{
    g_free(icm->ext);
    memset(icm, 0, sizeof(*icm));
}

/* Index of the first extent that ends behind page @page. */
static uint32_t icm_find(const Icm *icm, uint64_t page)
{
    uint32_t lo = 0, hi = icm->num;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const IcmExtent *e = &icm->ext[mid];

        if (e->virt + e->pages <= page) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static bool icm_insert(Icm *icm, uint32_t at, IcmExtent e)
{
    if (icm->num == ICM_MAX_EXTENTS) {
        return false;
    }
    if (icm->num == icm->cap) {
        icm->cap = icm->cap ? icm->cap * 2 : 64;
        icm->ext = g_renew(IcmExtent, icm->ext, icm->cap);
    }
    memmove(&icm->ext[at + 1], &icm->ext[at],
            (icm->num - at) * sizeof(*icm->ext));
    icm->ext[at] = e;
    icm->num++;
    return true;
}

static void icm_remove(Icm *icm, uint32_t at, uint32_t n)
{
    memmove(&icm->ext[at], &icm->ext[at + n],
            (icm->num - at - n) * sizeof(*icm->ext));
    icm->num -= n;
}

bool icm_unmap(Icm *icm, uint64_t virt, uint64_t pages)
{
    uint64_t first = virt >> ICM_PAGE_SHIFT, end = first + pages;
    uint32_t i = icm_find(icm, first), n;

    if (i == icm->num || end <= icm->ext[i].virt) {
        return true;
    }
    if (icm->ext[i].virt < first) {
        IcmExtent *e = &icm->ext[i];
        uint64_t cut = first - e->virt;
        IcmExtent tail = { first, e->pages - cut,
                           e->phys + (cut << ICM_PAGE_SHIFT) };

        if (e->virt + e->pages > end) {
            /* A hole in the middle of one extent. */
            cut = end - first;
            tail.virt += cut;
            tail.pages -= cut;
            tail.phys += cut << ICM_PAGE_SHIFT;
            if (!icm_insert(icm, i + 1, tail)) {
                return false;
            }
            icm->ext[i].pages = first - icm->ext[i].virt;
            return true;
        }
        e->pages = first - e->virt;
        i++;
    }
    for (n = 0; i + n < icm->num; n++) {
        const IcmExtent *e = &icm->ext[i + n];
        if (e->virt + e->pages > end) {
            break;
        }
    }
    icm_remove(icm, i, n);
    if (i < icm->num && icm->ext[i].virt < end) {
        IcmExtent *e = &icm->ext[i];
        uint64_t cut = end - e->virt;

        e->virt += cut;
        e->pages -= cut;
        e->phys += cut << ICM_PAGE_SHIFT;
    }
    return true;
}

bool icm_map(Icm *icm, uint64_t virt, uint64_t phys, uint64_t pages)
{
    IcmExtent e = { virt >> ICM_PAGE_SHIFT, pages, phys };
    uint32_t i;

    if (!pages) {
        return true;
    }
    /* Worst case: the unmap splits one extent, the map adds one. */
    if (icm->num + 2 > ICM_MAX_EXTENTS || !icm_unmap(icm, virt, pages)) {
        return false;
    }
    i = icm_find(icm, e.virt);
    if (i > 0) {
        IcmExtent *p = &icm->ext[i - 1];

        if (p->virt + p->pages == e.virt &&
            p->phys + (p->pages << ICM_PAGE_SHIFT) == phys) {
            p->pages += pages;
            return true;
        }
    }
    return icm_insert(icm, i, e);
}

bool icm_append(Icm *icm, IcmExtent e)
{
    uint64_t end = 0;

    if (icm->num) {
        end = icm->ext[icm->num - 1].virt + icm->ext[icm->num - 1].pages;
    }
    return e.pages && e.virt >= end && e.virt <= ICM_MAX_PAGES &&
           e.pages <= ICM_MAX_PAGES - e.virt &&
           !(e.phys & ((1u << ICM_PAGE_SHIFT) - 1)) &&
           icm_insert(icm, icm->num, e);
}

bool icm_lookup(Icm *icm, uint64_t virt, uint64_t *phys, uint64_t *len)
{
    uint64_t page = virt >> ICM_PAGE_SHIFT, off, left;
    uint32_t i = icm->last;
    const IcmExtent *e;

    if (i >= icm->num || page < icm->ext[i].virt ||
        page - icm->ext[i].virt >= icm->ext[i].pages) {
        i = icm_find(icm, page);
        if (i == icm->num || page < icm->ext[i].virt) {
            return false;
        }
        icm->last = i;
    }
    e = &icm->ext[i];
    off = virt - (e->virt << ICM_PAGE_SHIFT);
    left = (e->pages << ICM_PAGE_SHIFT) - off;
    *phys = e->phys + off;
    if (*len > left) {
        *len = left;
    }
    return true;
}
