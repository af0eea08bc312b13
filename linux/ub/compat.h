/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UB controllers: what kernels from 6.1 on have in different ways.
 */
#ifndef UB_COMPAT_H
#define UB_COMPAT_H

#include <linux/version.h>

/* Attributes of bytes, and lists of them. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define UB_BIN_ATTR	const struct bin_attribute
#define UB_BIN_ATTRS	static const struct bin_attribute *const
#else
#define UB_BIN_ATTR	struct bin_attribute
#define UB_BIN_ATTRS	static struct bin_attribute *
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete_sync	del_timer_sync
#endif

#endif
