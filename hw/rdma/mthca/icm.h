/*
 * ncic-mthca: the ICM map, device virtual addresses to guest memory.
 *
 * The driver lays several hundred MiB of device address space out and backs
 * only parts of it with guest pages, so the map is a sorted array of extents.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef MTHCA_ICM_H
#define MTHCA_ICM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ICM_PAGE_SHIFT 12
/* Bounds what a guest can make the host allocate: 3 MiB of extents. */
#define ICM_MAX_EXTENTS (1u << 17)
/* Pages of the device address space, and of what may be mapped at its end. */
#define ICM_MAX_PAGES (1ull << 29)

typedef struct IcmExtent {
    uint64_t virt;          /* first page number in device address space */
    uint64_t pages;
    uint64_t phys;          /* bus address of the first page */
} IcmExtent;

typedef struct Icm {
    IcmExtent *ext;         /* sorted, not overlapping */
    uint32_t num, cap;
    uint32_t last;          /* extent of the last hit */
} Icm;

void icm_clear(Icm *icm);
/*
 * Map @pages pages from device address @virt to bus address @phys; what was
 * mapped there is replaced.  False: too many extents.
 */
bool icm_map(Icm *icm, uint64_t virt, uint64_t phys, uint64_t pages);
/*
 * Put @e behind all others.  False, and nothing changes: it is not there, or
 * no extent at all, or one too many.
 */
bool icm_append(Icm *icm, IcmExtent e);
/* Unmap a range; parts that are not mapped are skipped. */
bool icm_unmap(Icm *icm, uint64_t virt, uint64_t pages);
/*
 * Bus address of device address @virt.  *@len is shortened to what is
 * contiguous.  False: not mapped.
 */
bool icm_lookup(Icm *icm, uint64_t virt, uint64_t *phys, uint64_t *len);

#endif
