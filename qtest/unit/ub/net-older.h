/*
 * The section of the network layer in an image as builds before this one wrote it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NET_OLDER_H
#define NET_OLDER_H

#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/image.h"
#include "ub/net.h"

#define OLDER_HEADER 10u        /* of a section: tag, version, length */
#define NET_LATEST 3u

/* Take @n bytes at @at out of @image; returns what is left of its length. */
static inline size_t older_cut(uint8_t *image, size_t len, size_t at, size_t n)
{
    g_assert_cmpuint(at + n, <=, len);
    memmove(image + at, image + at + n, len - at - n);
    return len - n;
}

/* Behind a list whose elements have @size bytes. */
static inline size_t older_list(const uint8_t *p, size_t at, size_t size)
{
    return at + 4 + get_be32(p + at) * size;
}

/*
 * The section at @p, with which @len bytes begin, becomes one of @version: 2 had neither
 * borders nor their counter, nor any that came later, 1 no policy either.  Returns what
 * is left of @len.
 */
static inline size_t net_older(uint8_t *p, size_t len, unsigned version)
{
    size_t at = OLDER_HEADER, before = len;
    uint32_t size = get_be32(p + 6), tail;
    const unsigned gone = 8 * (UB_NET_COUNTERS_NUM - UB_NET_DROP_BORDER);
    unsigned ports;

    g_assert_cmphex(get_be32(p), ==, CORE_TAG('U', 'N', 'E', 'T'));
    g_assert_cmpuint(get_be16(p + 4), ==, NET_LATEST);
    ports = get_be64(p + at);
    at = older_list(p, at + 8 + 8 + 4 + 4, 4);  /* ports, routes, CNA, NPI */
    at = older_list(p, at, 1 + 1 + 16);         /* addresses */
    for (unsigned i = 0; i < ports; i++) {
        at = older_list(p, at + 4 + 4, 4);
        g_assert_cmpuint(get_be32(p + at), ==, UB_NET_COUNTERS_NUM);
        put_be32(p + at, UB_NET_DROP_BORDER);
        at = at + 4 + UB_NET_DROP_BORDER * 8;
        len = older_cut(p, len, at, gone);
    }
    tail = ports + (version < 2 ? 2 * ports + 4 * 4 * UB_NET_VLS : 0);
    len = older_cut(p, len, OLDER_HEADER + size - gone * ports - tail, tail);
    put_be16(p + 4, version);
    put_be32(p + 6, size - (before - len));
    return len;
}

#endif
