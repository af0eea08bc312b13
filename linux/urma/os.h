/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What files that the kernel, the provider and tests share take from where they
 * are compiled.
 */
#ifndef URMA_OS_H
#define URMA_OS_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;

#define __user
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define u64_to_user_ptr(x) ((void *)(uintptr_t)(x))
#define static_assert _Static_assert
#define sizeof_field(type, field) sizeof(((type *)0)->field)
#endif

#endif
