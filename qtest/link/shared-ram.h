/*
 * Memory of a machine that qtest drives, as a file that the test maps: rings
 * and buffers in it cost no round trip.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SHARED_RAM_H
#define SHARED_RAM_H

typedef struct SharedRam {
    uint8_t *at;        /* guest address 0 */
    size_t size;        /* bytes */
    char *path;
} SharedRam;

/* @size is a multiple of 1 MiB. */
SharedRam *shared_ram_new(size_t size);
/* What makes it the memory of a machine of type @machine: -M, -m, -object.
 * The caller frees it. */
char *shared_ram_options(const SharedRam *ram, const char *machine);
/* The emulator may be gone already. */
void shared_ram_free(SharedRam *ram);

#endif
