/*
 * What files of linux/ub need of the kernel, for their tests outside of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SHIM_SLAB_H
#define SHIM_SLAB_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define __iomem
#define GFP_KERNEL 0
#define kmalloc(n, gfp) malloc(n)
#define kzalloc(n, gfp) calloc(1, n)
#define kcalloc(n, size, gfp) calloc(n, size)
#define kfree free

#define BIT(n) (1u << (n))
#define ALIGN(n, to) (((n) + (to) - 1) / (to) * (to))
#define clamp(v, low, high) ((v) < (low) ? (low) : (v) > (high) ? (high) : (v))

#define get_unaligned_be16 get_be16
#define get_unaligned_be32 get_be32
#define put_unaligned_be16(v, p) put_be16(p, v)
#define put_unaligned_be32(v, p) put_be32(p, v)

struct list_head {
    struct list_head *next, *prev;
};

#define container(at, type, field) \
    ((type *)(void *)((char *)(at) - offsetof(type, field)))
#define list_for_each_entry(e, head, field)                               \
    for (e = container((head)->next, __typeof__(*e), field);              \
         &e->field != (head);                                             \
         e = container(e->field.next, __typeof__(*e), field))
#define list_for_each_entry_safe(e, n, head, field)                       \
    for (e = container((head)->next, __typeof__(*e), field),              \
         n = container(e->field.next, __typeof__(*e), field);             \
         &e->field != (head);                                             \
         e = n, n = container(n->field.next, __typeof__(*e), field))

static inline void INIT_LIST_HEAD(struct list_head *head)
{
    head->next = head->prev = head;
}

static inline void list_add_tail(struct list_head *e, struct list_head *head)
{
    e->next = head;
    e->prev = head->prev;
    head->prev->next = e;
    head->prev = e;
}

#endif
