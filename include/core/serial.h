/*
 * Serial numbers: counters of some bits that wrap (RFC 1982), as packets,
 * flits and messages carry them.  @bits is 1 to 32.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_SERIAL_H
#define CORE_SERIAL_H

#include <stdint.h>

/* The number @n behind @a, or before it if @n is a negated count. */
static inline uint32_t serial_add(uint32_t a, uint32_t n, unsigned bits)
{
    return (a + n) & (UINT32_MAX >> (32 - bits));
}

/* How far @a is ahead of @b going forward, 0 .. 2^bits - 1. */
static inline uint32_t serial_ahead(uint32_t a, uint32_t b, unsigned bits)
{
    return serial_add(a, -b, bits);
}

/* Signed distance @a - @b, -2^(bits-1) .. 2^(bits-1) - 1. */
static inline int32_t serial_diff(uint32_t a, uint32_t b, unsigned bits)
{
    return (int32_t)((a - b) << (32 - bits)) >> (32 - bits);
}

#endif
