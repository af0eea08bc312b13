/*
 * Where QEMU has its cached views of guest memory, from release to release (QEMU
 * shells only).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_QEMU_MEMORY_H
#define CORE_QEMU_MEMORY_H

/* Until 11.0 they are in the header of all memory, which pci_device.h has. */
#if __has_include("system/memory_cached.h")
#include "system/memory_cached.h"
#endif

#endif
