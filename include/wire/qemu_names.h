/*
 * What QEMU calls otherwise from release to release (QEMU shells only): sources
 * say it as the newest does, and these lead to the older ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_QEMU_NAMES_H
#define WIRE_QEMU_NAMES_H

#define QEMU_BEFORE(major, minor) \
    (QEMU_VERSION_MAJOR < (major) || \
     (QEMU_VERSION_MAJOR == (major) && QEMU_VERSION_MINOR < (minor)))

/* What a class is initialised with. */
#if QEMU_BEFORE(10, 1)
typedef void QemuClassData;
#else
typedef const void QemuClassData;
#endif

#if QEMU_BEFORE(10, 2)
#define CharFrontend CharBackend
#define qdev_add_vm_change_state_handler(dev, cb, cb_ret, opaque) \
    qdev_add_vm_change_state_handler(dev, cb, opaque)
#endif

#endif
