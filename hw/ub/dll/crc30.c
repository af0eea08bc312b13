/*
 * CRC30 of the UB data link layer (UB 2.0 §4.7.2).
 *
 * A block is one polynomial B of 160 * N bits whose CRC30 field is zero.  The
 * message is the 160 * N - 30 bits before that field, so with I the initial
 * value
 *     CRC30 = (I * x^(160 N - 30) + B) mod P:
 * I is added to the first 30 bits of the block and the rest is a plain
 * remainder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/crc30.h"

#include "core/bytes.h"
#include "ub/dll_format.h"

#define TOP (UB_CRC30_MASK - (UB_CRC30_MASK >> 1)) /* bit 29 */

uint32_t ub_crc30_bitwise(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;

    crc &= UB_CRC30_MASK;
    while (len--) {
        for (int bit = 7; bit >= 0; bit--) {
            bool feedback = !!(crc & TOP) ^ (*p >> bit & 1);

            crc = crc << 1 & UB_CRC30_MASK;
            if (feedback) {
                crc ^= UB_CRC30_POLY;
            }
        }
        p++;
    }
    return crc;
}

/*
 * Slicing by eight.  slice[k][b] = b * x^(30 + 8 k) mod P: what byte b leaves
 * behind when k more bytes follow it.
 */
static uint32_t slice[8][256];

/* crc * x mod P. */
static uint32_t times_x(uint32_t crc)
{
    return (crc << 1 & UB_CRC30_MASK) ^ (crc & TOP ? UB_CRC30_POLY : 0);
}

/* x^n mod P. */
static uint32_t x_power(unsigned n)
{
    uint32_t r = 1;

    while (n--) {
        r = times_x(r);
    }
    return r;
}

/* The register sits in the upper 30 bits of a 32-bit word while bytes enter,
 * so that it lines up with the first four bytes. */
static uint32_t crc30_slice8(uint32_t crc, const uint8_t *p, size_t len)
{
    while (len >= 8) {
        uint32_t a = get_be32(p) ^ crc << 2;
        uint32_t b = get_be32(p + 4);

        crc = slice[7][a >> 24] ^ slice[6][a >> 16 & 0xff] ^
              slice[5][a >> 8 & 0xff] ^ slice[4][a & 0xff] ^
              slice[3][b >> 24] ^ slice[2][b >> 16 & 0xff] ^
              slice[1][b >> 8 & 0xff] ^ slice[0][b & 0xff];
        p += 8;
        len -= 8;
    }
    while (len--) {
        crc = (crc << 8 & UB_CRC30_MASK) ^ slice[0][(crc >> 22 ^ *p++) & 0xff];
    }
    return crc;
}

uint32_t ub_crc30(uint32_t crc, const void *data, size_t len)
{
    return crc30_slice8(crc & UB_CRC30_MASK, data, len);
}

/* Two message bits, the information bits of BCRC, into the register. */
static uint32_t crc30_two_bits(uint32_t crc, unsigned bits)
{
    crc ^= bits << 28;
    return times_x(times_x(crc));
}

static uint32_t block_slice8(const uint8_t *block, size_t len, bool info)
{
    uint32_t crc = crc30_slice8(UB_CRC30_INIT, block, len - 4);

    return info ? crc30_two_bits(crc, block[len - 4] >> 6) : crc;
}

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

/* Constants of folding and of the last reduction, filled at start. */
static struct {
    uint64_t fold1[2]; /* x^192, x^128: over 16 bytes */
    uint64_t fold2[2]; /* x^320, x^256: over 32 bytes */
    uint64_t fold4[2]; /* x^576, x^512: over 64 bytes */
    uint64_t fold8[2]; /* x^1088, x^1024: over 128 bytes */
    uint64_t x64;
    uint64_t mu; /* floor(x^64 / P) */
} k;

__attribute__((target("pclmul,ssse3")))
static inline __m128i fold(__m128i acc, __m128i by, __m128i next)
{
    __m128i hi = _mm_clmulepi64_si128(acc, by, 0x11);
    __m128i lo = _mm_clmulepi64_si128(acc, by, 0x00);

    return _mm_xor_si128(_mm_xor_si128(hi, lo), next);
}

__attribute__((target("pclmul,ssse3")))
static inline uint64_t mul_low(uint64_t a, uint64_t b, uint64_t *high)
{
    __m128i r = _mm_clmulepi64_si128(_mm_cvtsi64_si128(a),
                                     _mm_cvtsi64_si128(b), 0x00);

    *high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(r, r));
    return _mm_cvtsi128_si64(r);
}

/* Remainder of a 128-bit polynomial. */
__attribute__((target("pclmul,ssse3")))
static inline uint32_t reduce128(__m128i a)
{
    const uint64_t high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(a, a));
    uint64_t h, l, q, unused;

    l = mul_low(high, k.x64, &h) ^ _mm_cvtsi128_si64(a); /* degree < 94 */
    l ^= mul_low(h, k.x64, &unused);       /* degree < 64 */
    q = mul_low(l >> 30, k.mu, &h);        /* Barrett */
    q = q >> 34 | h << 30;
    return (l ^ mul_low(q, UB_CRC30_POLY | 1u << 30, &unused)) &
           UB_CRC30_MASK;
}

/*
 * Remainder of the block with I added to its head; bytes from len - 4 on are
 * replaced by @tail (the value of the last 32 bits).  len is a multiple of
 * 20, at least 20.
 */
__attribute__((target("pclmul,ssse3")))
static uint32_t remainder_pclmul(const uint8_t *p, size_t len, uint32_t tail)
{
    const __m128i swap = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                      13, 14, 15);
    const __m128i by1 = _mm_set_epi64x(k.fold1[0], k.fold1[1]);
    const size_t odd = len % 16; /* 0, 4, 8, 12 */
    const uint32_t head = get_be32(p) ^ UB_CRC30_INIT << 2;
    const uint8_t *last = p + len - 16;
    __m128i a;

#define LOAD(q) _mm_shuffle_epi8(_mm_loadu_si128((const void *)(q)), swap)
    /* Leading zeros fill the first vector; its first word takes I. */
    if (odd == 0) {
        a = _mm_xor_si128(LOAD(p), _mm_set_epi32(UB_CRC30_INIT << 2, 0, 0, 0));
        p += 16;
    } else if (odd == 4) {
        a = _mm_set_epi32(0, 0, 0, head);
        p += 4;
    } else if (odd == 8) {
        a = _mm_set_epi32(0, 0, head, get_be32(p + 4));
        p += 8;
    } else {
        a = _mm_set_epi32(0, head, get_be32(p + 4), get_be32(p + 8));
        p += 12;
    }
    if (last - p >= 64 + 48) {
        const __m128i by4 = _mm_set_epi64x(k.fold4[0], k.fold4[1]);
        __m128i b = LOAD(p), c = LOAD(p + 16), d = LOAD(p + 32);

        p += 48;
        while (last - p >= 64) {
            a = fold(a, by4, LOAD(p));
            b = fold(b, by4, LOAD(p + 16));
            c = fold(c, by4, LOAD(p + 32));
            d = fold(d, by4, LOAD(p + 48));
            p += 64;
        }
        b = fold(a, by1, b);
        c = fold(b, by1, c);
        a = fold(c, by1, d);
    }
    while (p < last) {
        a = fold(a, by1, LOAD(p));
        p += 16;
    }
    a = fold(a, by1, _mm_set_epi32(get_be32(last), get_be32(last + 4),
                                   get_be32(last + 8), tail));
#undef LOAD
    return reduce128(a);
}

#define VPCLMUL __attribute__((target("vpclmulqdq,avx2,pclmul,ssse3")))
#define LONG 256 /* bytes from which wide vectors pay */

VPCLMUL static inline __m256i fold_wide(__m256i acc, __m256i by, __m256i next)
{
    __m256i hi = _mm256_clmulepi64_epi128(acc, by, 0x11);
    __m256i lo = _mm256_clmulepi64_epi128(acc, by, 0x00);

    return _mm256_xor_si256(_mm256_xor_si256(hi, lo), next);
}

VPCLMUL static inline __m256i load_wide(const uint8_t *p)
{
    const __m256i swap = _mm256_broadcastsi128_si256(
        _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));

    return _mm256_shuffle_epi8(_mm256_loadu_si256((const void *)p), swap);
}

VPCLMUL static inline __m256i by_wide(const uint64_t fold[2])
{
    return _mm256_set_epi64x(fold[0], fold[1], fold[0], fold[1]);
}

/*
 * As remainder_pclmul(), 128 bytes at a time; leading zeros fill the first
 * ones.  What differs between @tail and the block is a term of its own.
 */
VPCLMUL static uint32_t remainder_vpclmul(const uint8_t *p, size_t len,
                                          uint32_t tail)
{
    const uint8_t *end = p + len;
    const __m256i by2 = by_wide(k.fold2), by8 = by_wide(k.fold8);
    const size_t odd = len % 128;
    uint8_t copy[128] = { 0 };
    const uint8_t *head = p;
    __m256i v[4];
    __m128i a;

    if (len < LONG) {
        return remainder_pclmul(p, len, tail);
    }
    if (odd) {
        memcpy(copy + 128 - odd, p, odd);
        put_be32(copy + 128 - odd, get_be32(p) ^ UB_CRC30_INIT << 2);
        head = copy;
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        v[i] = load_wide(head + 32 * i);
    }
    if (!odd) {
        v[0] = _mm256_xor_si256(v[0], _mm256_set_epi32(
            0, 0, 0, 0, UB_CRC30_INIT << 2, 0, 0, 0));
    }
    for (p += odd ? odd : 128; p < end; p += 128) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            v[i] = fold_wide(v[i], by8, load_wide(p + 32 * i));
        }
    }
    v[1] = fold_wide(v[0], by2, v[1]);
    v[2] = fold_wide(v[1], by2, v[2]);
    v[3] = fold_wide(v[2], by2, v[3]);
    a = fold(_mm256_castsi256_si128(v[3]),
             _mm_set_epi64x(k.fold1[0], k.fold1[1]),
             _mm256_extracti128_si256(v[3], 1));
    a = _mm_xor_si128(a, _mm_cvtsi32_si128(tail ^ get_be32(end - 4)));
    return reduce128(a);
}

/* The value of the last 32 bits of the message. */
static uint32_t block_tail(const uint8_t *block, size_t len, bool info)
{
    return info ? (uint32_t)(block[len - 4] & 0xc0) << 24 : 0;
}

/* Without the information bits the message ends two bits earlier: B is the
 * block without its last 32 bits, times x^30.  Divide by x^2: add the multiple
 * of P that makes it divisible. */
static uint32_t block_end(uint32_t r, bool info)
{
    for (int i = 0; i < 2 && !info; i++) {
        r = (r & 1 ? r ^ (UB_CRC30_POLY | 1u << 30) : r) >> 1;
    }
    return r;
}

static uint32_t block_pclmul(const uint8_t *block, size_t len, bool info)
{
    return block_end(remainder_pclmul(block, len,
                                      block_tail(block, len, info)), info);
}

static uint32_t block_vpclmul(const uint8_t *block, size_t len, bool info)
{
    return block_end(remainder_vpclmul(block, len,
                                       block_tail(block, len, info)), info);
}

static bool have_vpclmul(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("vpclmulqdq") &&
           __builtin_cpu_supports("avx2");
}

static bool have_pclmul(void)
{
    __builtin_cpu_init(); /* may run before the library's own constructor */
    return __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("ssse3");
}

static void init_pclmul(void)
{
    uint64_t rest = 0;

    k.fold1[0] = x_power(192);
    k.fold1[1] = x_power(128);
    k.fold2[0] = x_power(320);
    k.fold2[1] = x_power(256);
    k.fold4[0] = x_power(576);
    k.fold4[1] = x_power(512);
    k.fold8[0] = x_power(1088);
    k.fold8[1] = x_power(1024);
    k.x64 = x_power(64);
    /* Long division of x^64 by P, a bit of quotient at a time. */
    for (int bit = 64; bit >= 0; bit--) {
        rest = rest << 1 | (bit == 64);
        k.mu <<= 1;
        if (rest >> 30 & 1) {
            rest ^= UB_CRC30_POLY | 1u << 30;
            k.mu |= 1;
        }
    }
}
#endif

static bool have_always(void)
{
    return true;
}

static const struct Impl {
    const char *name;
    bool (*usable)(void);
    uint32_t (*block)(const uint8_t *block, size_t len, bool info);
} impls[] = {
#if defined(__x86_64__)
    { "vpclmul", have_vpclmul, block_vpclmul },
    { "pclmul", have_pclmul, block_pclmul },
#endif
    { "slice8", have_always, block_slice8 },
};

static const struct Impl *impl = &impls[sizeof(impls) / sizeof(impls[0]) - 1];

__attribute__((constructor)) static void init_crc30(void)
{
    uint32_t power = x_power(30);

    for (unsigned b = 0; b < 256; b++) {
        uint32_t r = 0, x = power;

        for (unsigned bit = 0; bit < 8; bit++, x = times_x(x)) {
            r ^= b >> bit & 1 ? x : 0;
        }
        slice[0][b] = r;
    }
    for (unsigned n = 1; n < 8; n++) {
        for (unsigned b = 0; b < 256; b++) {
            uint32_t r = slice[n - 1][b];

            slice[n][b] = (r << 8 & UB_CRC30_MASK) ^ slice[0][r >> 22];
        }
    }
#if defined(__x86_64__)
    init_pclmul();
#endif
    while (impl > impls && impl[-1].usable()) {
        impl--;
    }
}

const char *ub_crc30_impl(void)
{
    return impl->name;
}

bool ub_crc30_select(const char *name)
{
    for (size_t i = 0; i < sizeof(impls) / sizeof(impls[0]); i++) {
        if (!strcmp(impls[i].name, name) && impls[i].usable()) {
            impl = &impls[i];
            return true;
        }
    }
    return false;
}

uint32_t ub_crc30_block(const uint8_t *block, unsigned flits, UbCrcCover cover)
{
    return impl->block(block, (size_t)flits * UB_FLIT_SIZE,
                       cover == UB_CRC_COVER_INFO);
}

void ub_crc30_seal(uint8_t *block, unsigned flits, bool error_flag,
                   UbCrcCover cover)
{
    uint8_t *bcrc = block + (size_t)flits * UB_FLIT_SIZE - 4;
    uint32_t info = error_flag ? UB_BCRC_ERROR_FLAG : 0;

    put_be32(bcrc, info);
    put_be32(bcrc, info | ub_crc30_block(block, flits, cover));
}

bool ub_crc30_check(const uint8_t *block, unsigned flits, UbCrcCover cover)
{
    const uint8_t *bcrc = block + (size_t)flits * UB_FLIT_SIZE - 4;

    return ub_crc30_block(block, flits, cover) ==
           (get_be32(bcrc) & UB_CRC30_MASK);
}
