/*
 * A PCI function in user space: Linux VFIO behind an IOMMU.
 *
 * Calls print what went wrong to stderr and return false, NULL or -1.
 * Everything is given back when the process ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GUEST_NATIVE_VFIO_H
#define GUEST_NATIVE_VFIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Vfio {
    int container, group, device;
} Vfio;

/* Opens function @bdf (0000:00:03.0), bound to vfio-pci, as bus master. */
bool vfio_open(Vfio *v, const char *bdf);
/* Maps a BAR; *@size is its length. */
void *vfio_bar(Vfio *v, unsigned index, size_t *size);
/* Memory of @size bytes, zeroed, that the function sees at @iova; both are
 * multiples of the page size. */
void *vfio_dma(Vfio *v, uint64_t iova, size_t size);
/* Enables MSI-X; the eventfd that vector @vector signals. */
int vfio_msix(Vfio *v, unsigned vector);

#endif
