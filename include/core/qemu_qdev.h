/*
 * Where QEMU has its devices and their properties, from release to release (QEMU
 * shells only).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_QEMU_QDEV_H
#define CORE_QEMU_QDEV_H

#if __has_include("hw/core/qdev-properties.h")
#include "hw/core/qdev.h"
#include "hw/core/qdev-properties.h"
#include "hw/core/qdev-properties-system.h"
#else
#include "hw/qdev-core.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#endif

#endif
