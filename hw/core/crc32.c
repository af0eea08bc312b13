/*
 * CRC32.
 *
 * An ICRC is the dearest part of a packet after the copy itself, so x86 has
 * versions with carry-less multiplication: 64 to 256 bytes are folded at a time
 * and reduced at the end (Intel, "Fast CRC Computation for Generic Polynomials
 * Using PCLMULQDQ", the constants are powers of x modulo the polynomial); with GFNI most
 * blocks are folded by bit matrices.  The portable version reads eight bytes at a time through eight tables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/bytes.h"
#include "core/crc32.h"

#define CRC_POLY 0xedb88320u

/* @head_len is a multiple of 16, or 0. */
typedef uint32_t CrcFn(uint32_t crc, const uint8_t *head, size_t head_len,
                       const uint8_t *p, size_t len);
/* Behind the eight bytes @ahead, or NULL; @p goes to @dst meanwhile; @len is not below
 * COPY_MIN. */
typedef uint32_t CrcCopyFn(uint32_t crc, const uint8_t *ahead, uint8_t *dst,
                           const uint8_t *p, size_t len);

enum { COPY_MIN = 256, AHEAD = 8 };

static uint32_t crc_table[8][256];
static CrcFn *crc_fn;
static CrcCopyFn *crc_copy_fn;

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

static uint32_t crc32_tables(uint32_t crc, const uint8_t *head,
                             size_t head_len, const uint8_t *p, size_t len)
{
    crc = core_crc32_generic(crc, head, head_len);
    return core_crc32_generic(crc, p, len);
}

static uint32_t copy_tables(uint32_t crc, const uint8_t *ahead, uint8_t *dst,
                            const uint8_t *p, size_t len)
{
    memcpy(dst, p, len);
    crc = core_crc32_generic(crc, ahead, ahead ? AHEAD : 0);
    return core_crc32_generic(crc, dst, len);
}

#if defined(__x86_64__)
#include <immintrin.h>

#define CLMUL   __attribute__((target("pclmul,sse4.1")))
#define VPCLMUL __attribute__((target("vpclmulqdq,avx2,pclmul,sse4.1")))
#define ZPCLMUL __attribute__((target("avx512f,vpclmulqdq,avx2,pclmul,sse4.1")))
#define GFNI    __attribute__((target("gfni,avx512bw,avx512f,vpclmulqdq,avx2," \
                                      "pclmul,sse4.1")))

/* What takes 128 bits over so many bits: x^(n - 32), x^(n + 32). */
static uint64_t over_128[2], over_256[2], over_512[2], over_1024[2],
                over_2048[2];
/* What takes each of four times 128 bits, but the last, over those behind it:
 * as the multiplier wants them, the lower half first. */
static uint64_t over_behind[8] __attribute__((aligned(64)));

static inline __attribute__((always_inline)) CLMUL
__m128i load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/*
 * The same; what is read may go so many bytes on meanwhile.  All is inlined, so that who
 * does not copy has nothing of it.
 */
typedef struct CrcWay {
    bool copies;
    uintptr_t by;
} CrcWay;

static inline __attribute__((always_inline))
CrcWay copy_to(const uint8_t *p, const uint8_t *dst)
{
    return (CrcWay) { true, (uintptr_t)dst - (uintptr_t)p };
}

static inline __attribute__((always_inline)) CLMUL
__m128i take(CrcWay way, const uint8_t *p)
{
    __m128i x = load(p);

    if (way.copies) {
        _mm_storeu_si128((__m128i *)((uintptr_t)p + way.by), x);
    }
    return x;
}

static inline __attribute__((always_inline)) CLMUL
__m128i distance(const uint64_t k[2])
{
    return _mm_set_epi64x(k[0], k[1]);
}

static inline __attribute__((always_inline)) CLMUL
__m128i fold(__m128i x, __m128i k, __m128i next)
{
    __m128i lo = _mm_clmulepi64_si128(x, k, 0x00);
    __m128i hi = _mm_clmulepi64_si128(x, k, 0x11);

    return _mm_xor_si128(_mm_xor_si128(lo, hi), next);
}

/*
 * What the first bytes behind @head are to be xored with: the CRC so far, or
 * what @head folds to.
 */
static inline __attribute__((always_inline)) CLMUL
__m128i prefix(uint32_t crc, const uint8_t *head, size_t head_len)
{
    const __m128i k = distance(over_128);
    __m128i x = _mm_cvtsi32_si128(crc);

    for (; head_len; head += 16, head_len -= 16) {
        x = fold(_mm_xor_si128(x, load(head)), k, _mm_setzero_si128());
    }
    return x;
}

/* The same for eight bytes or none: zeros in front of them count for nothing, so
 * they are the end of 128 bits. */
static inline __attribute__((always_inline)) CLMUL
__m128i prefix_ahead(uint32_t crc, const uint8_t *ahead)
{
    __m128i x = _mm_cvtsi32_si128(crc);

    if (ahead) {
        x = _mm_xor_si128(x, _mm_loadl_epi64((const __m128i *)ahead));
        x = fold(_mm_slli_si128(x, 8), distance(over_128),
                 _mm_setzero_si128());
    }
    return x;
}

/* What the 128 bits of @x are of the CRC. */
static inline __attribute__((always_inline)) CLMUL
uint32_t reduce(__m128i x)
{
    const __m128i k = distance(over_128);
    const __m128i k5 = _mm_set_epi64x(0, 0x163cd6124);
    const __m128i poly = _mm_set_epi64x(0x1f7011641, 0x1db710641);
    const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
    const __m128i mask = _mm_set_epi32(0, -1, 0, -1);
    __m128i t;

    /* 128 -> 64 bits */
    t = _mm_clmulepi64_si128(x, k, 0x10);
    x = _mm_xor_si128(_mm_srli_si128(x, 8), t);
    t = _mm_srli_si128(x, 4);
    x = _mm_clmulepi64_si128(_mm_and_si128(x, low32), k5, 0x00);
    x = _mm_xor_si128(x, t);
    /* Barrett reduction, 64 -> 32 bits */
    t = _mm_and_si128(x, mask);
    t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), poly, 0x10);
    t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), poly, 0x00);
    x = _mm_xor_si128(x, t);
    return _mm_extract_epi32(x, 1);
}

/*
 * The rest behind @x, which has been folded up to @p; 16 bytes in front of that
 * are there.  Odd bytes at the end: as many of @x as there are of them are folded
 * over what is left of @x and them, which is 128 bits again.
 */
static inline __attribute__((always_inline)) CLMUL
uint32_t finish(__m128i x, CrcWay way, const uint8_t *p, size_t len)
{
    /* From 16 - n on it moves bytes up by n, from 16 + n on down. */
    static const uint8_t slide[48] = {
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    };
    const __m128i k = distance(over_128);

    for (; len >= 16; p += 16, len -= 16) {
        x = fold(x, k, take(way, p));
    }
    if (len) {
        __m128i up = load(slide + len);
        __m128i left = _mm_shuffle_epi8(x, load(slide + 16 + len));

        x = fold(_mm_shuffle_epi8(x, up), k,
                 _mm_blendv_epi8(take(way, p + len - 16), left, up));
    }
    return reduce(x);
}

/* Less than 64 bytes behind the head. */
static inline __attribute__((always_inline)) CLMUL
uint32_t short_tail(uint32_t crc, const uint8_t *head, size_t head_len,
                    const uint8_t *p, size_t len)
{
    if (len >= 16) {
        return finish(_mm_xor_si128(prefix(crc, head, head_len), load(p)),
                      (CrcWay) { 0 }, p + 16, len - 16);
    }
    if (head_len) {
        head_len -= 16;
        crc = reduce(_mm_xor_si128(prefix(crc, head, head_len),
                                   load(head + head_len)));
    }
    return core_crc32_generic(crc, p, len);
}

/* 64 bytes at least. */
static inline __attribute__((always_inline)) CLMUL
uint32_t way_clmul(__m128i before, CrcWay way, const uint8_t *p, size_t len)
{
    const __m128i k4 = distance(over_512), k1 = distance(over_128);
    __m128i x0, x1, x2, x3;

    x0 = _mm_xor_si128(take(way, p), before);
    x1 = take(way, p + 16);
    x2 = take(way, p + 32);
    x3 = take(way, p + 48);
    for (p += 64, len -= 64; len >= 64; p += 64, len -= 64) {
        x0 = fold(x0, k4, take(way, p));
        x1 = fold(x1, k4, take(way, p + 16));
        x2 = fold(x2, k4, take(way, p + 32));
        x3 = fold(x3, k4, take(way, p + 48));
    }
    x0 = fold(x0, k1, x1);
    x0 = fold(x0, k1, x2);
    x0 = fold(x0, k1, x3);
    return finish(x0, way, p, len);
}

CLMUL
static uint32_t crc32_clmul(uint32_t crc, const uint8_t *head,
                            size_t head_len, const uint8_t *p, size_t len)
{
    return len < 64 ? short_tail(crc, head, head_len, p, len) :
           way_clmul(prefix(crc, head, head_len), (CrcWay) { 0 }, p, len);
}

CLMUL
static uint32_t copy_clmul(uint32_t crc, const uint8_t *ahead, uint8_t *dst,
                           const uint8_t *p, size_t len)
{
    return way_clmul(prefix_ahead(crc, ahead), copy_to(p, dst), p, len);
}

static inline __attribute__((always_inline)) VPCLMUL
__m256i load_wide(CrcWay way, const uint8_t *p)
{
    __m256i x = _mm256_loadu_si256((const __m256i *)p);

    if (way.copies) {
        _mm256_storeu_si256((void *)((uintptr_t)p + way.by), x);
    }
    return x;
}

static inline __attribute__((always_inline)) VPCLMUL
__m256i fold_wide(__m256i x, __m256i k, __m256i next)
{
    __m256i lo = _mm256_clmulepi64_epi128(x, k, 0x00);
    __m256i hi = _mm256_clmulepi64_epi128(x, k, 0x11);

    return _mm256_xor_si256(_mm256_xor_si256(lo, hi), next);
}

/* 128 bytes at least. */
static inline __attribute__((always_inline)) VPCLMUL
uint32_t way_vpclmul(__m128i before, CrcWay way, const uint8_t *p, size_t len)
{
    const __m256i k8 = _mm256_broadcastsi128_si256(distance(over_1024));
    const __m256i k2 = _mm256_broadcastsi128_si256(distance(over_256));
    __m256i y0, y1, y2, y3;

    y0 = _mm256_xor_si256(load_wide(way, p), _mm256_zextsi128_si256(before));
    y1 = load_wide(way, p + 32);
    y2 = load_wide(way, p + 64);
    y3 = load_wide(way, p + 96);
    for (p += 128, len -= 128; len >= 128; p += 128, len -= 128) {
        y0 = fold_wide(y0, k8, load_wide(way, p));
        y1 = fold_wide(y1, k8, load_wide(way, p + 32));
        y2 = fold_wide(y2, k8, load_wide(way, p + 64));
        y3 = fold_wide(y3, k8, load_wide(way, p + 96));
    }
    y0 = fold_wide(y0, k2, y1);
    y0 = fold_wide(y0, k2, y2);
    y0 = fold_wide(y0, k2, y3);
    for (; len >= 32; p += 32, len -= 32) {
        y0 = fold_wide(y0, k2, load_wide(way, p));
    }
    return finish(fold(_mm256_castsi256_si128(y0), distance(over_128),
                       _mm256_extracti128_si256(y0, 1)), way, p, len);
}

VPCLMUL
static uint32_t crc32_vpclmul(uint32_t crc, const uint8_t *head,
                              size_t head_len, const uint8_t *p, size_t len)
{
    return len < 128 ? crc32_clmul(crc, head, head_len, p, len) :
           way_vpclmul(prefix(crc, head, head_len), (CrcWay) { 0 }, p, len);
}

VPCLMUL
static uint32_t copy_vpclmul(uint32_t crc, const uint8_t *ahead, uint8_t *dst,
                             const uint8_t *p, size_t len)
{
    return way_vpclmul(prefix_ahead(crc, ahead), copy_to(p, dst), p, len);
}

static inline __attribute__((always_inline)) ZPCLMUL
__m512i load_512(CrcWay way, const uint8_t *p)
{
    __m512i x = _mm512_loadu_si512(p);

    if (way.copies) {
        _mm512_storeu_si512((void *)((uintptr_t)p + way.by), x);
    }
    return x;
}

static inline __attribute__((always_inline)) ZPCLMUL
__m512i fold_512(__m512i x, __m512i k, __m512i next)
{
    __m512i lo = _mm512_clmulepi64_epi128(x, k, 0x00);
    __m512i hi = _mm512_clmulepi64_epi128(x, k, 0x11);

    return _mm512_ternarylogic_epi64(lo, hi, next, 0x96);   /* xor of all */
}

/* What is left of four lanes @z0 and the rest behind them. */
static inline __attribute__((always_inline)) ZPCLMUL
uint32_t finish_512(__m512i z0, CrcWay way, const uint8_t *p, size_t len)
{
    __m256i y;

    /* The lanes at once: three go over those behind them. */
    z0 = fold_512(z0, _mm512_load_si512(over_behind),
                  _mm512_maskz_mov_epi64(0xc0, z0));
    y = _mm256_xor_si256(_mm512_castsi512_si256(z0),
                         _mm512_extracti64x4_epi64(z0, 1));
    return finish(_mm_xor_si128(_mm256_castsi256_si128(y),
                                _mm256_extracti128_si256(y, 1)),
                  way, p, len);
}

/* 256 bytes at least. */
static inline __attribute__((always_inline)) ZPCLMUL
uint32_t way_zpclmul(__m128i before, CrcWay way, const uint8_t *p, size_t len)
{
    const __m512i k16 = _mm512_broadcast_i32x4(distance(over_2048));
    const __m512i k4 = _mm512_broadcast_i32x4(distance(over_512));
    __m512i z0, z1, z2, z3;

    z0 = _mm512_xor_si512(load_512(way, p), _mm512_zextsi128_si512(before));
    z1 = load_512(way, p + 64);
    z2 = load_512(way, p + 128);
    z3 = load_512(way, p + 192);
    for (p += 256, len -= 256; len >= 256; p += 256, len -= 256) {
        z0 = fold_512(z0, k16, load_512(way, p));
        z1 = fold_512(z1, k16, load_512(way, p + 64));
        z2 = fold_512(z2, k16, load_512(way, p + 128));
        z3 = fold_512(z3, k16, load_512(way, p + 192));
    }
    z0 = fold_512(z0, k4, z1);
    z0 = fold_512(z0, k4, z2);
    z0 = fold_512(z0, k4, z3);
    for (; len >= 64; p += 64, len -= 64) {
        z0 = fold_512(z0, k4, load_512(way, p));
    }
    return finish_512(z0, way, p, len);
}

ZPCLMUL
static uint32_t crc32_zpclmul(uint32_t crc, const uint8_t *head,
                              size_t head_len, const uint8_t *p, size_t len)
{
    return len < 256 ? crc32_vpclmul(crc, head, head_len, p, len) :
           way_zpclmul(prefix(crc, head, head_len), (CrcWay) { 0 }, p, len);
}

ZPCLMUL
static uint32_t copy_zpclmul(uint32_t crc, const uint8_t *ahead, uint8_t *dst,
                             const uint8_t *p, size_t len)
{
    return way_zpclmul(prefix_ahead(crc, ahead), copy_to(p, dst), p, len);
}

/*
 * A block of 64 bytes that is multiplied by bit matrices in place of polynomials.
 * Of a byte v of a block and the bytes in its place in four blocks j behind it,
 * v(x) = sum of c_j(x) / x^(512 j) modulo the polynomial, each c_j of 8 bits: 32
 * equations for 32 bits, whose solution is linear in v.  So c_j = C_j v, with the
 * same 8 x 8 bits in all places of all blocks; and a block that went over four
 * behind it has no more part in the CRC.  One instruction multiplies 64 bytes, and
 * processors do several of these while one carry-less multiplication is under
 * way.  No block goes over the next two: that leaves time for its own.
 */
enum { SPREAD = 4, SPREAD_TO = 7, SPREAD_MIN = 768 };

/* The first four that have a solution. */
static const uint8_t spread_over[SPREAD] = { 3, 4, 6, SPREAD_TO };
static uint64_t spread[SPREAD];                         /* C_j */
static uint64_t over_blocks[SPREAD_TO - 1][2];          /* 512 bits and more */

static inline __attribute__((always_inline)) GFNI
__m512i spread_by(__m512i x, unsigned i)
{
    return _mm512_gf2p8affine_epi64_epi8(x, _mm512_set1_epi64(spread[i]), 0);
}

static inline __attribute__((always_inline)) GFNI
__m512i fold_blocks(__m512i x, unsigned blocks, __m512i next)
{
    return fold_512(x, _mm512_broadcast_i32x4(
                           distance(over_blocks[blocks - 1])), next);
}

#define XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)

/* 704 bytes at least. */
static inline __attribute__((always_inline)) GFNI
uint32_t way_gfni(__m128i before, CrcWay way, const uint8_t *p, size_t len)
{
    __m512i y0 = _mm512_xor_si512(load_512(way, p), _mm512_zextsi128_si512(before));
    __m512i y1 = load_512(way, p + 64), y2 = load_512(way, p + 128);
    __m512i y3 = XOR3(load_512(way, p + 192), spread_by(y0, 0),
                      _mm512_setzero_si512());
    __m512i y4 = XOR3(load_512(way, p + 256), spread_by(y1, 0),
                      spread_by(y0, 1));
    __m512i y5 = XOR3(load_512(way, p + 320), spread_by(y2, 0),
                      spread_by(y1, 1));
    __m512i y6 = XOR3(load_512(way, p + 384), spread_by(y2, 1),
                      spread_by(y0, 2)), z0, z1, z2, z3;

    y6 = _mm512_xor_si512(y6, spread_by(y3, 0));
    /* The last seven are complete with what those in front of them spread. */
#pragma GCC unroll 7
    for (p += 448, len -= 448; len >= 5 * 64; p += 64, len -= 64) {
        z0 = XOR3(load_512(way, p), spread_by(y0, 3), spread_by(y1, 2));
        z0 = XOR3(z0, spread_by(y3, 1), spread_by(y4, 0));
        y0 = y1;
        y1 = y2;
        y2 = y3;
        y3 = y4;
        y4 = y5;
        y5 = y6;
        y6 = z0;
    }
    z0 = XOR3(load_512(way, p), spread_by(y0, 3), spread_by(y1, 2));
    z0 = _mm512_xor_si512(z0, spread_by(y3, 1));
    z1 = XOR3(load_512(way, p + 64), spread_by(y1, 3), spread_by(y2, 2));
    z2 = XOR3(load_512(way, p + 128), spread_by(y2, 3), spread_by(y3, 2));
    z3 = _mm512_xor_si512(load_512(way, p + 192), spread_by(y3, 3));
    y4 = fold_blocks(y4, 6, z3);
    y4 = fold_blocks(y5, 5, y4);
    y4 = fold_blocks(y6, 4, y4);
    y4 = fold_blocks(z0, 3, y4);
    y4 = fold_blocks(z1, 2, y4);
    y4 = fold_blocks(z2, 1, y4);
    return finish_512(y4, way, p + 256, len - 256);
}
#undef XOR3

GFNI
static uint32_t crc32_gfni(uint32_t crc, const uint8_t *head,
                           size_t head_len, const uint8_t *p, size_t len)
{
    return len < SPREAD_MIN ? crc32_zpclmul(crc, head, head_len, p, len) :
           way_gfni(prefix(crc, head, head_len), (CrcWay) { 0 }, p, len);
}

GFNI
static uint32_t copy_gfni(uint32_t crc, const uint8_t *ahead, uint8_t *dst,
                          const uint8_t *p, size_t len)
{
    return len < SPREAD_MIN ? copy_zpclmul(crc, ahead, dst, p, len) :
           way_gfni(prefix_ahead(crc, ahead), copy_to(p, dst), p, len);
}

/* What @byte with so many zeros behind it is of the CRC. */
static uint32_t byte_over(uint8_t byte, unsigned zeros)
{
    uint32_t c = crc_table[0][byte];

    while (zeros--) {
        c = c >> 8 ^ crc_table[0][c & 0xff];
    }
    return c;
}

/*
 * The matrices, from equations for the bits of a CRC: 32 columns for the bits of
 * the four c_j, then one for each bit of v.  There is a solution.
 */
static void spread_solve(void)
{
    enum { UNKNOWN = 8 * SPREAD, COLUMNS = UNKNOWN + 8 };
    uint64_t row[UNKNOWN] = { 0 };

    for (unsigned col = 0; col < COLUMNS; col++) {
        unsigned over = col < UNKNOWN ? spread_over[col / 8] : 0;
        uint64_t c = byte_over(1u << col % 8, (SPREAD_TO - over) * 64);

        for (unsigned r = 0; r < UNKNOWN; r++) {
            row[r] |= (c >> r & 1) << col;
        }
    }
    for (unsigned col = 0; col < UNKNOWN; col++) {
        unsigned at = col;
        uint64_t pivot;

        while (!(row[at] >> col & 1)) {
            at++;
        }
        pivot = row[at];
        row[at] = row[col];
        for (unsigned r = 0; r < UNKNOWN; r++) {
            row[r] ^= row[r] >> col & 1 ? pivot : 0;
        }
        row[col] = pivot;
    }
    for (unsigned col = 0; col < UNKNOWN; col++) {
        /* A matrix has the row of the highest bit first. */
        spread[col / 8] |= (row[col] >> UNKNOWN) << (7 - col % 8) * 8;
    }
}

static bool have_clmul(void)
{
    return __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("sse4.1");
}

static bool have_vpclmul(void)
{
    return have_clmul() && __builtin_cpu_supports("vpclmulqdq") &&
           __builtin_cpu_supports("avx2");
}

static bool have_zpclmul(void)
{
    return have_vpclmul() && __builtin_cpu_supports("avx512f");
}

static bool have_gfni(void)
{
    return have_zpclmul() && __builtin_cpu_supports("gfni") &&
           __builtin_cpu_supports("avx512bw");
}

/* 4096 bytes took 42 ns by carry-less multiplications of 512 bits and 77 ns by matrices on
 * a Xeon (Sapphire Rapids); on an EPYC (Zen 5) matrices are the faster ones. */
static bool gfni_pays(void)
{
    return !__builtin_cpu_is("intel");
}

/* x^@n modulo the polynomial, as the multiplier wants it. */
static uint64_t crc_power(unsigned n)
{
    uint32_t c = 0x80000000;

    while (n--) {
        c = c & 1 ? c >> 1 ^ CRC_POLY : c >> 1;
    }
    return (uint64_t)c << 1;
}

static void set_distance(uint64_t k[2], unsigned bits)
{
    k[0] = crc_power(bits - 32);
    k[1] = crc_power(bits + 32);
}
#endif

static bool have_tables(void)
{
    return true;
}

/* The fastest first, where it pays, which it does unless told otherwise. */
static const struct {
    const char *name;
    bool (*have)(void);
    CrcFn *fn;
    CrcCopyFn *copy;
    bool (*pays)(void);
} crc_ways[] = {
#if defined(__x86_64__)
    { "gfni", have_gfni, crc32_gfni, copy_gfni, gfni_pays },
    { "zpclmul", have_zpclmul, crc32_zpclmul, copy_zpclmul, NULL },
    { "vpclmul", have_vpclmul, crc32_vpclmul, copy_vpclmul, NULL },
    { "clmul", have_clmul, crc32_clmul, copy_clmul, NULL },
#endif
    { "tables", have_tables, crc32_tables, copy_tables, NULL },
};

bool core_crc32_use(const char *name)
{
    for (size_t i = 0; i < sizeof(crc_ways) / sizeof(crc_ways[0]); i++) {
        bool chosen = name ? !strcmp(name, crc_ways[i].name)
                           : !crc_ways[i].pays || crc_ways[i].pays();

        if (chosen && crc_ways[i].have()) {
            crc_fn = crc_ways[i].fn;
            crc_copy_fn = crc_ways[i].copy;
            return true;
        }
    }
    return false;
}

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
#if defined(__x86_64__)
    set_distance(over_128, 128);
    set_distance(over_256, 256);
    set_distance(over_512, 512);
    set_distance(over_1024, 1024);
    set_distance(over_2048, 2048);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t k[2];

        set_distance(k, (3 - i) * 128);
        over_behind[2 * i] = k[1];
        over_behind[2 * i + 1] = k[0];
    }
    for (unsigned n = 0; n < SPREAD_TO - 1; n++) {
        set_distance(over_blocks[n], (n + 1) * 512);
    }
    spread_solve();
    __builtin_cpu_init();
#endif
    core_crc32_use(NULL);
}

uint32_t core_crc32(uint32_t crc, const void *buf, size_t len)
{
    return crc_fn(crc, NULL, 0, buf, len);
}

uint32_t core_crc32_head(uint32_t crc, const void *head, size_t head_len,
                         const void *buf, size_t len)
{
    return crc_fn(crc, head, head_len, buf, len);
}

uint32_t core_crc32_copy(uint32_t crc, const void *ahead, void *dst,
                         const void *src, size_t len)
{
    if (len < COPY_MIN) {
        memcpy(dst, src, len);
        crc = core_crc32_generic(crc, ahead, ahead ? AHEAD : 0);
        return core_crc32(crc, dst, len);
    }
    return crc_copy_fn(crc, ahead, dst, src, len);
}
