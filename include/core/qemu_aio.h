/*
 * Where QEMU has its event loops, from release to release (QEMU shells only).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_QEMU_AIO_H
#define CORE_QEMU_AIO_H

#if __has_include("qemu/aio-wait.h")
#include "qemu/aio.h"
#include "qemu/aio-wait.h"
#else
#include "block/aio.h"
#include "block/aio-wait.h"
#endif

#endif
