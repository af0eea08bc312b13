/*
 * Byte-order accessors over byte pointers, for any alignment.
 *
 * get_beN(p) / get_leN(p) return the N-bit integer stored at p in that byte
 * order; put_beN(p, v) / put_leN(p, v) store the low N bits of v there.  The
 * caller owns p, which must point at N / 8 accessible bytes.  Formats are read
 * and written with these only: no C bit-fields, no casts of byte pointers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_BYTES_H
#define CORE_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define CORE_LE(bits, v) (v)
#define CORE_BE(bits, v) __builtin_bswap##bits(v)
#else
#define CORE_LE(bits, v) __builtin_bswap##bits(v)
#define CORE_BE(bits, v) (v)
#endif

#define CORE_ACCESSORS(bits)                                                \
    static inline uint##bits##_t get_le##bits(const void *p)                \
    {                                                                       \
        uint##bits##_t v;                                                   \
        memcpy(&v, p, sizeof(v));                                           \
        return CORE_LE(bits, v);                                            \
    }                                                                       \
    static inline uint##bits##_t get_be##bits(const void *p)                \
    {                                                                       \
        uint##bits##_t v;                                                   \
        memcpy(&v, p, sizeof(v));                                           \
        return CORE_BE(bits, v);                                            \
    }                                                                       \
    static inline void put_le##bits(void *p, uint##bits##_t v)              \
    {                                                                       \
        v = CORE_LE(bits, v);                                               \
        memcpy(p, &v, sizeof(v));                                           \
    }                                                                       \
    static inline void put_be##bits(void *p, uint##bits##_t v)              \
    {                                                                       \
        v = CORE_BE(bits, v);                                               \
        memcpy(p, &v, sizeof(v));                                           \
    }

CORE_ACCESSORS(16)
CORE_ACCESSORS(32)
CORE_ACCESSORS(64)

/* 24-bit big-endian integer, as in the QPN, PSN and MSN fields of a BTH. */
static inline uint32_t get_be24(const void *p)
{
    const uint8_t *b = p;
    return (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
}

static inline void put_be24(void *p, uint32_t v)
{
    uint8_t *b = p;
    b[0] = v >> 16;
    b[1] = v >> 8;
    b[2] = v;
}

#endif
