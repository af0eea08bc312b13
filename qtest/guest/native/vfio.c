/*
 * A PCI function in user space: Linux VFIO behind an IOMMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vfio.h"

#define MSIX_VECTORS_MAX 32u

static bool failed(const char *what)
{
    fprintf(stderr, "vfio: %s: %s\n", what, strerror(errno));
    return false;
}

static bool region(Vfio *v, unsigned index, struct vfio_region_info *info)
{
    memset(info, 0, sizeof(*info));
    info->argsz = sizeof(*info);
    info->index = index;
    return !ioctl(v->device, VFIO_DEVICE_GET_REGION_INFO, info) ||
           failed("region");
}

static bool bus_master(Vfio *v)
{
    struct vfio_region_info info;
    uint16_t command;

    if (!region(v, VFIO_PCI_CONFIG_REGION_INDEX, &info)) {
        return false;
    }
    if (pread(v->device, &command, 2, info.offset + PCI_COMMAND) != 2) {
        return failed("config space");
    }
    command |= PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY;
    return pwrite(v->device, &command, 2, info.offset + PCI_COMMAND) == 2 ||
           failed("config space");
}

bool vfio_open(Vfio *v, const char *bdf)
{
    char path[PATH_MAX], target[PATH_MAX];
    ssize_t len;

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", bdf);
    len = readlink(path, target, sizeof(target) - 1);
    if (len < 0) {
        return failed(path);
    }
    target[len] = '\0';
    snprintf(path, sizeof(path), "/dev/vfio/%.32s", strrchr(target, '/') + 1);
    v->group = open(path, O_RDWR | O_CLOEXEC);
    if (v->group < 0) {
        return failed(path);
    }
    v->container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
    if (v->container < 0 ||
        ioctl(v->group, VFIO_GROUP_SET_CONTAINER, &v->container) ||
        ioctl(v->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU)) {
        return failed("container");
    }
    v->device = ioctl(v->group, VFIO_GROUP_GET_DEVICE_FD, bdf);
    return v->device >= 0 ? bus_master(v) : failed(bdf);
}

void *vfio_bar(Vfio *v, unsigned index, size_t *size)
{
    struct vfio_region_info info;
    void *p;

    if (!region(v, VFIO_PCI_BAR0_REGION_INDEX + index, &info)) {
        return NULL;
    }
    p = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, v->device,
             info.offset);
    if (p == MAP_FAILED) {
        failed("BAR");
        return NULL;
    }
    *size = info.size;
    return p;
}

void *vfio_dma(Vfio *v, uint64_t iova, size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct vfio_iommu_type1_dma_map map = {
        .argsz = sizeof(map),
        .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
        .vaddr = (uintptr_t)p, .iova = iova, .size = size,
    };

    if (p == MAP_FAILED || ioctl(v->container, VFIO_IOMMU_MAP_DMA, &map)) {
        failed("DMA memory");
        return NULL;
    }
    return p;
}

int vfio_msix(Vfio *v, unsigned vector)
{
    struct {
        struct vfio_irq_set set;
        int32_t fd[MSIX_VECTORS_MAX];
    } irq = {
        .set = {
            .argsz = sizeof(irq.set) + (vector + 1) * sizeof(irq.fd[0]),
            .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
            .index = VFIO_PCI_MSIX_IRQ_INDEX,
            .count = vector + 1,
        },
    };

    if (vector >= MSIX_VECTORS_MAX) {
        errno = EINVAL;
        failed("vector");
        return -1;
    }
    memset(irq.fd, 0xff, sizeof(irq.fd));
    irq.fd[vector] = eventfd(0, EFD_CLOEXEC);
    if (irq.fd[vector] < 0 || ioctl(v->device, VFIO_DEVICE_SET_IRQS, &irq)) {
        failed("MSI-X");
        return -1;
    }
    return irq.fd[vector];
}
