/*
 * Provider of liburma: the operating system.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ubc.h"

int ubc_os_ioctl(int fd, unsigned long request, void *arg)
{
    return ioctl(fd, request, arg);
}

void *ubc_os_map(int fd, uint64_t offset, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    offset);

    return at == MAP_FAILED ? NULL : at;
}

void ubc_os_unmap(void *at, size_t bytes)
{
    if (at) {
        munmap(at, bytes);
    }
}

void ubc_os_close(int fd)
{
    close(fd);
}

void ubc_os_bell(uint8_t *page, unsigned offset, uint64_t value)
{
    __sync_synchronize();
    *(volatile uint64_t *)(page + offset) = value;
}
