/*
 * CRC32.
 *
 * An ICRC is the dearest part of a packet after the copy itself, so x86 has a
 * carry-less multiplication version: 64 bytes are folded at a time and reduced
 * at the end (Intel, "Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ", the constants are powers of x modulo the polynomial).  The
 * portable version reads eight bytes at a time through eight tables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "core/crc32.h"

#define CRC_POLY 0xedb88320u

static uint32_t crc_table[8][256];
static uint32_t (*crc_fn)(uint32_t crc, const void *buf, size_t len);

uint32_t core_crc32_generic(uint32_t crc, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    while (len >= 8) {
        uint32_t lo = get_le32(p) ^ crc, hi = get_le32(p + 4);

        crc = crc_table[7][lo & 0xff] ^ crc_table[6][lo >> 8 & 0xff] ^
              crc_table[5][lo >> 16 & 0xff] ^ crc_table[4][lo >> 24] ^
              crc_table[3][hi & 0xff] ^ crc_table[2][hi >> 8 & 0xff] ^
              crc_table[1][hi >> 16 & 0xff] ^ crc_table[0][hi >> 24];
        p += 8;
        len -= 8;
    }
    while (len--) {
        crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 0xff];
    }
    return crc;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define CRC_TARGET __attribute__((target("pclmul,sse4.1")))

CRC_TARGET
static inline __m128i fold(__m128i x, __m128i k, __m128i next)
{
    __m128i lo = _mm_clmulepi64_si128(x, k, 0x00);
    __m128i hi = _mm_clmulepi64_si128(x, k, 0x11);

    return _mm_xor_si128(_mm_xor_si128(lo, hi), next);
}

CRC_TARGET
static inline __m128i load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

CRC_TARGET
static uint32_t crc32_clmul(uint32_t crc, const void *buf, size_t len)
{
    const uint8_t *p = buf;
    const __m128i k12 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i k34 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    const __m128i k5 = _mm_set_epi64x(0, 0x163cd6124);
    const __m128i poly = _mm_set_epi64x(0x1f7011641, 0x1db710641);
    const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
    const __m128i mask = _mm_set_epi32(0, -1, 0, -1);
    __m128i x0, x1, x2, x3, t;

    if (len < 64) {
        return core_crc32_generic(crc, p, len);
    }
    x0 = _mm_xor_si128(load(p), _mm_cvtsi32_si128(crc));
    x1 = load(p + 16);
    x2 = load(p + 32);
    x3 = load(p + 48);
    for (p += 64, len -= 64; len >= 64; p += 64, len -= 64) {
        x0 = fold(x0, k12, load(p));
        x1 = fold(x1, k12, load(p + 16));
        x2 = fold(x2, k12, load(p + 32));
        x3 = fold(x3, k12, load(p + 48));
    }
    x0 = fold(x0, k34, x1);
    x0 = fold(x0, k34, x2);
    x0 = fold(x0, k34, x3);
    for (; len >= 16; p += 16, len -= 16) {
        x0 = fold(x0, k34, load(p));
    }
    /* 128 -> 64 bits */
    t = _mm_clmulepi64_si128(x0, k34, 0x10);
    x0 = _mm_xor_si128(_mm_srli_si128(x0, 8), t);
    t = _mm_srli_si128(x0, 4);
    x0 = _mm_clmulepi64_si128(_mm_and_si128(x0, low32), k5, 0x00);
    x0 = _mm_xor_si128(x0, t);
    /* Barrett reduction, 64 -> 32 bits */
    t = _mm_and_si128(x0, mask);
    t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), poly, 0x10);
    t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), poly, 0x00);
    x0 = _mm_xor_si128(x0, t);
    return core_crc32_generic(_mm_extract_epi32(x0, 1), p, len);
}
#endif

static void __attribute__((constructor)) crc_init(void)
{
    for (unsigned i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int k = 0; k < 8; k++) {
            c = c & 1 ? c >> 1 ^ CRC_POLY : c >> 1;
        }
        crc_table[0][i] = c;
    }
    for (unsigned i = 0; i < 256; i++) {
        for (int t = 1; t < 8; t++) {
            uint32_t c = crc_table[t - 1][i];

            crc_table[t][i] = c >> 8 ^ crc_table[0][c & 0xff];
        }
    }
    crc_fn = core_crc32_generic;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("pclmul") &&
        __builtin_cpu_supports("sse4.1")) {
        crc_fn = crc32_clmul;
    }
#endif
}

uint32_t core_crc32(uint32_t crc, const void *buf, size_t len)
{
    return crc_fn(crc, buf, len);
}
