/*
 * Drivers of ubc in a program of a guest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ub/ubc_hw.h"
#include "ubc-dev.h"
#include "ubc-drv.h"

volatile uint8_t *ubc_regs, *ubc_pages;

uint32_t ubc_read(void *opaque, uint32_t at)
{
    return *(volatile uint32_t *)(ubc_regs + at);
}

void ubc_write(void *opaque, uint32_t at, uint32_t value)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *(volatile uint32_t *)(ubc_regs + at) = value;
}

static void bell(void *opaque, uint32_t page, uint32_t at, uint64_t value)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *(volatile uint64_t *)(ubc_pages + page * UBQ_PAGE + at) = value;
}

void ubc_progress(void *opaque)
{
    usleep(100);
}

void ubc_attach(void)
{
    device_find();
    device_put("enable", "1");
    device_master();
    ubc_regs = device_map(0, UBC_BAR_SIZE);
    ubc_pages = device_map(2, UBQ_PAGE);
}

void ubc_link_up(void)
{
    ubc_write(NULL, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    for (unsigned i = 0; i < UBC_PATIENCE * 10; i++) {
        if (ubc_read(NULL, UBC_PORT(0) + UBC_PORT_STATUS) &
            UBC_PORT_STATUS_DLL_UP) {
            return;
        }
        usleep(100000);
    }
    die("the link does not come up");
}

/* Shared, so that a child has the same piece. */
uint8_t *ubc_huge(uint64_t *at)
{
    uint8_t *p = mmap(NULL, UBC_HUGE, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE,
                      -1, 0);
    int fd = open("/proc/self/pagemap", O_RDONLY);
    uint64_t entry;

    if (p == MAP_FAILED || fd < 0 ||
        pread(fd, &entry, 8, (uintptr_t)p / 4096 * 8) != 8 ||
        !(entry >> 63)) {
        die("no huge page");
    }
    close(fd);
    *at = (entry & ((UINT64_C(1) << 55) - 1)) * 4096;
    return p;
}

UbqDrv ubc_drv(void)
{
    uint64_t at;
    uint8_t *p = ubc_huge(&at);

    return (UbqDrv) {
        .memory = (uint8_t *)((uintptr_t)p - at), .brk = at,
        .end = at + UBC_HUGE, .reg_read = ubc_read, .reg_write = ubc_write,
        .bell = bell, .progress = ubc_progress,
    };
}

const uint8_t *ubc_complete(UbqCq *cq, const char *what)
{
    const time_t end = time(NULL) + UBC_PATIENCE;
    const uint8_t *c;

    while (!(c = ubq_cq_poll(cq))) {
        if (time(NULL) > end) {
            die("%s: no completion", what);
        }
        usleep(100);
    }
    return c;
}
