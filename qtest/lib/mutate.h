/*
 * Damage to migration images, for tests that load thousands of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_MUTATE_H
#define QTEST_MUTATE_H

#include <glib.h>

#include "core/bytes.h"

/* How many: IMAGE_MUTATIONS, or @some. */
static inline unsigned mutations(unsigned some)
{
    const char *s = g_getenv("IMAGE_MUTATIONS");

    return s ? strtoul(s, NULL, 0) : some;
}

/* A damaged copy of the @len bytes at @data: up to three fields, anywhere, get
 * a value that is near the old one, at an edge, or any. */
static inline uint8_t *mutate(GRand *r, const uint8_t *data, size_t len)
{
    static const uint8_t edge[] = { 0, 1, 2, 0x7f, 0x80, 0xfe, 0xff };
    uint8_t *copy = g_memdup2(data, len);
    int edits = g_rand_int_range(r, 1, 4);

    while (edits--) {
        uint8_t *at = copy + g_rand_int_range(r, 0, len);
        size_t left = len - (at - copy);

        switch (g_rand_int_range(r, 0, 6)) {
        case 0:
            *at ^= 1u << g_rand_int_range(r, 0, 8);
            break;
        case 1:
            *at = edge[g_rand_int_range(r, 0, G_N_ELEMENTS(edge))];
            break;
        case 2:
            *at += g_rand_boolean(r) ? 1 : -1;
            break;
        case 3:
            memset(at, g_rand_boolean(r) ? 0xff : 0, MIN(left, 4));
            break;
        case 4:
            for (size_t i = 0; i < MIN(left, 4); i++) {
                at[i] = g_rand_int(r);
            }
            break;
        case 5:
            *at = g_rand_int(r);
            break;
        }
    }
    return copy;
}

#endif
