/*
 * Memory of a machine that qtest drives, as a file that the test maps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "shared-ram.h"

SharedRam *shared_ram_new(size_t size)
{
    SharedRam *ram = g_new0(SharedRam, 1);
    int fd = g_file_open_tmp("qtest-XXXXXX.ram", &ram->path, NULL);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpuint(size % MiB, ==, 0);
    g_assert_cmpint(ftruncate(fd, size), ==, 0);
    ram->size = size;
    ram->at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(ram->at != MAP_FAILED);
    close(fd);
    return ram;
}

char *shared_ram_options(const SharedRam *ram, const char *machine)
{
    size_t mib = ram->size / MiB;

    return g_strdup_printf("-M %s,memory-backend=ram -m %zuM "
                           "-object memory-backend-file,id=ram,size=%zuM,"
                           "mem-path=%s,share=on", machine, mib, mib,
                           ram->path);
}

void shared_ram_free(SharedRam *ram)
{
    munmap(ram->at, ram->size);
    unlink(ram->path);
    g_free(ram->path);
    g_free(ram);
}
