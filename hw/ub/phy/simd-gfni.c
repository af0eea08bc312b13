/*
 * Inner loops for x86 with AVX-512 (BW, VBMI) and GFNI.
 *
 * Multiplying by a constant of GF(2^8) is linear over GF(2), so GF2P8AFFINEQB
 * multiplies eight bytes by one constant, and another eight by another, under
 * any field polynomial.  Eight words at a time then share their constants:
 * four frames of two codecs are shuffled until each quadword holds one symbol
 * position of all of them, and the parity is a sum of 128 matrix products.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#if defined(__x86_64__)

/* The "undefined" vectors of the compiler's own header set this off. */
#pragma GCC diagnostic ignored "-Winit-self"
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>
#include <pthread.h>
#include <string.h>

#include "core/bytes.h"
#include "kernels.h"
#include "scalar.h"
#include "rs.h"

/* Unrolled loops with a check at every access take a compiler minutes; that
 * none leaves its buffers is what the address sanitizer looks at. */
#define TARGET                                                              \
    __attribute__((target("avx512f,avx512bw,avx512vbmi,gfni,pclmul"),       \
                   no_sanitize("undefined")))

/* Constants - codecs, width - must reach the inner loops. */
#define INLINE inline __attribute__((always_inline)) TARGET

#define CHUNKS 4   /* vectors of a row: 32 positions of two words each */
#define STEPS 4    /* vectors that a chunk of four rows becomes */

/* matrix[chunk][step][parity symbol]: by quadword, the product with the
 * weight of one position.  Parity positions weigh 1 in the check and nothing
 * in the encoder. */
typedef __m512i Matrices[CHUNKS][STEPS][UB_RS_PARITY];

static struct {
    Matrices encode, check;
    __m512i pairs[2];          /* low or high halves of two rows, zipped */
    __m512i by_frame[2];       /* parity quadwords to frames, by codecs - 1 */
    __m512i deal[4][2];        /* columns to lanes, by log2 width, swap */
    __m512i gather[4][2];      /* and back */
} t;

static uint64_t product_matrix(uint8_t weight)
{
    uint64_t m = 0;

    for (unsigned in = 0; in < 8; in++) {
        uint8_t p = ub_gf_mul(weight, 1u << in);

        for (unsigned out = 0; out < 8; out++) {
            m |= (uint64_t)(p >> out & 1) << (8 * (7 - out) + in);
        }
    }
    return m;
}

static void matrices_build(void)
{
    for (unsigned pos = 0; pos < UB_RS_N; pos++) {
        uint8_t word[UB_RS_N] = { 0 };
        unsigned chunk = pos / 32, lane = pos / 8 % 4, step = pos / 2 % 4;
        unsigned quad = 2 * lane + pos % 2;

        if (pos < UB_RS_K) {
            word[pos] = 1;
            ub_pcs_kernels_scalar.rs_encode(word, word + UB_RS_K, 1, 1);
        }
        for (unsigned j = 0; j < UB_RS_PARITY; j++) {
            uint64_t m = product_matrix(pos < UB_RS_K ? word[UB_RS_K + j] :
                                        pos - UB_RS_K == j);

            ((uint64_t *)&t.check[chunk][step][j])[quad] = m;
            ((uint64_t *)&t.encode[chunk][step][j])[quad] =
                pos < UB_RS_K ? m : 0;
        }
    }
}

static void indices_build(void)
{
    uint8_t *pairs = (uint8_t *)t.pairs;
    uint8_t *one = (uint8_t *)&t.by_frame[0], *two = (uint8_t *)&t.by_frame[1];

    for (unsigned i = 0; i < 64; i++) {
        pairs[i] = i % 2 * 64 + i / 2;
        pairs[64 + i] = pairs[i] + 32;
        /* Source byte: parity symbol * 8 + frame * codecs + codec. */
        one[i] = i % 8 * 8 + i / 8;
        two[i] = i % 16 / 2 * 8 + i / 16 * 2 + i % 2;
    }
    for (unsigned w = 0; w < 4; w++) {
        unsigned width = 1 << w, columns = 64 / width;

        for (unsigned swap = 0; swap < 2; swap++) {
            uint8_t *deal = (uint8_t *)&t.deal[w][swap];
            uint8_t *gather = (uint8_t *)&t.gather[w][swap];

            for (unsigned i = 0; i < columns; i++) {
                for (unsigned l = 0; l < width; l++) {
                    unsigned other = width > 1 ? swap & i & 1 : 0;
                    unsigned byte = i * width + (l ^ other);

                    deal[l * columns + i] = byte;
                    gather[byte] = l * columns + i;
                }
            }
        }
    }
}

static bool can;

static void probe(void)
{
    __builtin_cpu_init();
    can = __builtin_cpu_supports("avx512f") &&
          __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512vbmi") &&
          __builtin_cpu_supports("gfni") &&
          __builtin_cpu_supports("pclmul");
    if (can) {
        matrices_build();
        indices_build();
    }
}

static bool usable(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, probe);
    return can;
}

/* ------------------------------------------------------------------ RS --- */

/*
 * 64 bytes of what lanes carry: number v of frame f.  The last of a frame
 * (v constant, please) takes its end from the parity.
 */
static INLINE __m512i frame_vector(const UbPcsBytes *b, size_t f, unsigned v,
                                   bool last, unsigned codecs)
{
    if (codecs == 2) {
        const uint8_t *at = b->msg + f * 240 + v * 64;

        if (!last) {
            return _mm512_loadu_si512(at);
        }
        return _mm512_inserti32x4(
            _mm512_maskz_loadu_epi64(0x3f, at),
            _mm_loadu_si128((const void *)(b->parity + f * 16)), 3);
    } else {
        const uint8_t *at = b->msg + f * 120 + v * 64;

        if (!last) {
            return _mm512_loadu_si512(at);
        }
        return _mm512_mask_set1_epi64(_mm512_maskz_loadu_epi64(0x7f, at),
                                      0x80, get_le64(b->parity + f * 8));
    }
}

/* The same by number in the batch. */
static INLINE __m512i load_vector(const UbPcsBytes *b, size_t v,
                                  unsigned codecs)
{
    if (codecs == 2) {
        return frame_vector(b, v / 4, v % 4, v % 4 == 3, 2);
    }
    if (codecs == 1) {
        return frame_vector(b, v / 2, v % 2, v % 2 == 1, 1);
    }
    return _mm512_loadu_si512(b->msg + v * 64);
}

static INLINE void store_vector(const UbPcsBytes *b, size_t v,
                                       unsigned codecs, __m512i x)
{
    if (codecs == 2) {
        uint8_t *at = b->msg + v / 4 * 240 + v % 4 * 64;

        if (v % 4 < 3) {
            _mm512_storeu_si512(at, x);
        } else {
            _mm512_mask_storeu_epi64(at, 0x3f, x);
            _mm_storeu_si128((void *)(b->parity + v / 4 * 16),
                             _mm512_extracti32x4_epi32(x, 3));
        }
    } else if (codecs == 1) {
        uint8_t *at = b->msg + v / 2 * 120 + v % 2 * 64;

        if (v % 2 < 1) {
            _mm512_storeu_si512(at, x);
        } else {
            _mm512_mask_storeu_epi64(at, 0x7f, x);
            _mm512_mask_storeu_epi64(b->parity + v / 2 * 8 - 56, 0x80, x);
        }
    } else {
        _mm512_storeu_si512(b->msg + v * 64, x);
    }
}

/* Row `row` of a half group - two words side by side - from symbol position
 * 32 * chunk.  The encoder has no parity yet: those weigh nothing. */
static INLINE __m512i load_row(const UbPcsBytes *b, size_t row, unsigned chunk,
                               bool last, unsigned codecs)
{
    if (codecs == 2) {
        return frame_vector(b, row, chunk, last, 2);
    } else {
        /* Words one after the other: 32 bytes of each, zipped. */
        __m512i x = frame_vector(b, row * 2, chunk / 2, last, 1);
        __m512i y = frame_vector(b, row * 2 + 1, chunk / 2, last, 1);

        return _mm512_permutex2var_epi8(x, t.pairs[chunk % 2], y);
    }
}

/* One chunk of four rows, positions moved together. */
static INLINE void gather_rows(__m512i u[STEPS], const UbPcsBytes *b,
                               size_t row, unsigned chunk, bool last,
                               unsigned codecs)
{
    __m512i r0 = load_row(b, row, chunk, last, codecs);
    __m512i r1 = load_row(b, row + 1, chunk, last, codecs);
    __m512i r2 = load_row(b, row + 2, chunk, last, codecs);
    __m512i r3 = load_row(b, row + 3, chunk, last, codecs);
    __m512i p = _mm512_unpacklo_epi16(r0, r1);
    __m512i q = _mm512_unpackhi_epi16(r0, r1);
    __m512i r = _mm512_unpacklo_epi16(r2, r3);
    __m512i s = _mm512_unpackhi_epi16(r2, r3);

    u[0] = _mm512_unpacklo_epi32(p, r);
    u[1] = _mm512_unpackhi_epi32(p, r);
    u[2] = _mm512_unpacklo_epi32(q, s);
    u[3] = _mm512_unpackhi_epi32(q, s);
}

static INLINE __m512i fold64(__m512i a, __m512i b)
{
    return _mm512_xor_si512(_mm512_unpacklo_epi64(a, b),
                            _mm512_unpackhi_epi64(a, b));
}

/* Quadword j of the result: sum of the quadwords of acc[j]. */
static INLINE __m512i fold(const __m512i acc[UB_RS_PARITY])
{
    __m512i a = fold64(acc[0], acc[1]), b = fold64(acc[2], acc[3]);
    __m512i c = fold64(acc[4], acc[5]), d = fold64(acc[6], acc[7]);
    __m512i x = _mm512_xor_si512(_mm512_shuffle_i64x2(a, b, 0x44),
                                 _mm512_shuffle_i64x2(a, b, 0xee));
    __m512i y = _mm512_xor_si512(_mm512_shuffle_i64x2(c, d, 0x44),
                                 _mm512_shuffle_i64x2(c, d, 0xee));

    return _mm512_xor_si512(_mm512_shuffle_i64x2(x, y, 0x88),
                            _mm512_shuffle_i64x2(x, y, 0xdd));
}

typedef struct Sums {
    __m512i p[UB_RS_PARITY], q[UB_RS_PARITY];
} Sums;

/* Add one chunk of the eight rows from `row`. */
static INLINE void add_chunk(Sums *to, const UbPcsBytes *bytes, size_t row,
                             unsigned chunk, bool last, unsigned codecs,
                             const Matrices m)
{
    __m512i u[STEPS], v[STEPS];

    gather_rows(u, bytes, row, chunk, last, codecs);
    gather_rows(v, bytes, row + 4, chunk, last, codecs);
#pragma GCC unroll 8
    for (unsigned j = 0; j < UB_RS_PARITY; j++) {
#pragma GCC unroll 4
        for (unsigned s = 0; s < STEPS; s += 2) {
            __m512i a = m[chunk][s][j], b = m[chunk][s + 1][j];

            to->p[j] = _mm512_ternarylogic_epi64(
                to->p[j], _mm512_gf2p8affine_epi64_epi8(u[s], a, 0),
                _mm512_gf2p8affine_epi64_epi8(u[s + 1], b, 0), 0x96);
            to->q[j] = _mm512_ternarylogic_epi64(
                to->q[j], _mm512_gf2p8affine_epi64_epi8(v[s], a, 0),
                _mm512_gf2p8affine_epi64_epi8(v[s + 1], b, 0), 0x96);
        }
    }
}

/* Weighted sums of the eight rows from `row`: out[0] of the first four,
 * out[1] of the others.  The loops stay loops: unrolled, all loads would come
 * first and nothing would stay in registers. */
static INLINE void sums(__m512i out[2], const UbPcsBytes *bytes, size_t row,
                        unsigned codecs, const Matrices m)
{
    unsigned parted = codecs == 2 ? CHUNKS - 1 : CHUNKS - 2;
    Sums s;

#pragma GCC unroll 8
    for (unsigned j = 0; j < UB_RS_PARITY; j++) {
        s.p[j] = s.q[j] = _mm512_setzero_si512();
    }
#pragma GCC unroll 1
    for (unsigned chunk = 0; chunk < parted; chunk++) {
        add_chunk(&s, bytes, row, chunk, false, codecs, m);
    }
#pragma GCC unroll 1
    for (unsigned chunk = parted; chunk < CHUNKS; chunk++) {
        add_chunk(&s, bytes, row, chunk, true, codecs, m);
    }
    out[0] = fold(s.p);
    out[1] = fold(s.q);
}

/* Frames of eight rows: what is worked on at a time. */
static size_t group_frames(unsigned codecs)
{
    return 16 / codecs;
}

static INLINE void encode_group(const UbPcsBytes *b, size_t group,
                                       unsigned codecs)
{
    __m512i s[2], by_frame = t.by_frame[codecs - 1];

    sums(s, b, group * 8, codecs, t.encode);
    for (unsigned i = 0; i < 2; i++) {
        _mm512_storeu_si512(b->parity + group * 128 + i * 64,
                            _mm512_permutexvar_epi8(by_frame, s[i]));
    }
}

#define AHEAD 3 /* groups: rows are too short for the processor to foresee */

typedef struct Group {
    uint8_t msg[16 * UB_RS_K], parity[16 * UB_RS_PARITY];
} Group;

/* A padded copy of the frames that do not fill a group. */
static UbPcsBytes pad(Group *to, const uint8_t *msg, const uint8_t *parity,
                      size_t n, unsigned codecs)
{
    memset(to, 0, sizeof(*to));
    memcpy(to->msg, msg, n * UB_RS_K * codecs);
    if (parity) {
        memcpy(to->parity, parity, n * UB_RS_PARITY * codecs);
    }
    return (UbPcsBytes) { to->msg, to->parity, codecs };
}

/* The last group of n frames: with left-over frames it reaches back into
 * those before, or there are too few. */
static INLINE UbPcsBytes tail(const uint8_t *msg, const uint8_t *parity,
                              size_t n, unsigned codecs)
{
    size_t from = n - group_frames(codecs);

    return (UbPcsBytes) { (uint8_t *)msg + from * UB_RS_K * codecs,
                          (uint8_t *)parity + from * UB_RS_PARITY * codecs,
                          codecs };
}

static INLINE void encode_frames(const uint8_t *msg, uint8_t *parity, size_t n,
                                 unsigned codecs)
{
    UbPcsBytes b = { (uint8_t *)msg, parity, codecs };
    size_t per = group_frames(codecs), groups = n / per, left = n % per;
    Group rest UB_UNINITIALIZED;

    for (size_t g = 0; g < groups; g++) {
        const uint8_t *ahead = msg + (g + AHEAD) * 16 * UB_RS_K;

        for (unsigned i = 0; i < 16 * UB_RS_K; i += 64) {
            __builtin_prefetch(ahead + i);
        }
        encode_group(&b, g, codecs);
    }
    if (left && groups) {
        b = tail(msg, parity, n, codecs);
        encode_group(&b, 0, codecs);
    } else if (left) {
        b = pad(&rest, msg, NULL, left, codecs);
        encode_group(&b, 0, codecs);
        memcpy(parity, rest.parity, left * UB_RS_PARITY * codecs);
    }
}

static TARGET void gfni_encode(const uint8_t *msg, uint8_t *parity, size_t n,
                               unsigned codecs)
{
    if (codecs == 2) {
        encode_frames(msg, parity, n, 2);
    } else {
        encode_frames(msg, parity, n, 1);
    }
}

/* Bit c of bad[f] from the eight words of half a group. */
static TARGET size_t verdict(__m512i sum, unsigned codecs, uint8_t *bad,
                             size_t frames)
{
    uint64_t quads[8], any = 0;
    size_t count = 0;

    frames = frames < 8 / codecs ? frames : 8 / codecs;
    if (!_mm512_test_epi64_mask(sum, sum)) {
        memset(bad, 0, frames);
        return 0;
    }
    _mm512_storeu_si512(quads, sum);
    for (unsigned j = 0; j < 8; j++) {
        any |= quads[j];
    }
    for (unsigned f = 0; f < frames; f++) {
        bad[f] = 0;
        for (unsigned c = 0; c < codecs; c++) {
            bool wrong = any >> 8 * (f * codecs + c) & 0xff;

            bad[f] |= wrong << c;
            count += wrong;
        }
    }
    return count;
}

static INLINE size_t check_group(const UbPcsBytes *b, size_t group,
                                        size_t n, unsigned codecs,
                                        uint8_t *bad)
{
    size_t half = 8 / codecs, count;
    __m512i s[2];

    sums(s, b, group * 8, codecs, t.check);
    count = verdict(s[0], codecs, bad, n);
    if (n > half) {
        count += verdict(s[1], codecs, bad + half, n - half);
    }
    return count;
}

static INLINE size_t check_frames(const uint8_t *msg,
                                         const uint8_t *parity, size_t n,
                                         unsigned codecs, uint8_t *bad)
{
    UbPcsBytes b = { (uint8_t *)msg, (uint8_t *)parity, codecs };
    size_t per = group_frames(codecs), groups = n / per, left = n % per;
    size_t count = 0;
    Group rest UB_UNINITIALIZED;

    for (size_t g = 0; g < groups; g++) {
        count += check_group(&b, g, per, codecs, bad + g * per);
    }
    if (left && groups) {
        uint8_t last[16];

        b = tail(msg, parity, n, codecs);
        check_group(&b, 0, per, codecs, last);
        for (size_t f = 0; f < left; f++) {
            bad[groups * per + f] = last[per - left + f];
            count += __builtin_popcount(last[per - left + f]);
        }
    } else if (left) {
        b = pad(&rest, msg, parity, left, codecs);
        count += check_group(&b, 0, left, codecs, bad);
    }
    return count;
}

static TARGET size_t gfni_check(const uint8_t *msg, const uint8_t *parity,
                                size_t n, unsigned codecs, uint8_t *bad)
{
    return codecs == 2 ? check_frames(msg, parity, n, 2, bad) :
           check_frames(msg, parity, n, 1, bad);
}

/* ------------------------------------------------------------- striping -- */

#define BLOCK 64 /* columns of one block */
#define WINDOW (UB_SCRAMBLER_WINDOW / 64)

/* Transpose the pieces of 64 / width bytes of `width` vectors. */
static INLINE void transpose(__m512i *v, unsigned width)
{
    __m512i w[8];

    if (width == 1) {
        return;
    }
    if (width == 2) {
        w[0] = _mm512_shuffle_i64x2(v[0], v[1], 0x44);
        w[1] = _mm512_shuffle_i64x2(v[0], v[1], 0xee);
        memcpy(v, w, 2 * sizeof(*v));
        return;
    }
    if (width == 8) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < 8; i += 2) {
            w[i] = _mm512_unpacklo_epi64(v[i], v[i + 1]);
            w[i + 1] = _mm512_unpackhi_epi64(v[i], v[i + 1]);
        }
        /* Quadwords of pairs of vectors are together: now four rows of
         * 128-bit pieces, once for even and once for odd lanes. */
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            __m512i a = _mm512_shuffle_i64x2(w[i], w[i + 2], 0x88);
            __m512i b = _mm512_shuffle_i64x2(w[i], w[i + 2], 0xdd);
            __m512i c = _mm512_shuffle_i64x2(w[i + 4], w[i + 6], 0x88);
            __m512i d = _mm512_shuffle_i64x2(w[i + 4], w[i + 6], 0xdd);

            v[i] = _mm512_shuffle_i64x2(a, c, 0x88);
            v[i + 2] = _mm512_shuffle_i64x2(b, d, 0x88);
            v[i + 4] = _mm512_shuffle_i64x2(a, c, 0xdd);
            v[i + 6] = _mm512_shuffle_i64x2(b, d, 0xdd);
        }
        return;
    }
    w[0] = _mm512_shuffle_i64x2(v[0], v[1], 0x88);
    w[1] = _mm512_shuffle_i64x2(v[0], v[1], 0xdd);
    w[2] = _mm512_shuffle_i64x2(v[2], v[3], 0x88);
    w[3] = _mm512_shuffle_i64x2(v[2], v[3], 0xdd);
    v[0] = _mm512_shuffle_i64x2(w[0], w[2], 0x88);
    v[1] = _mm512_shuffle_i64x2(w[1], w[3], 0x88);
    v[2] = _mm512_shuffle_i64x2(w[0], w[2], 0xdd);
    v[3] = _mm512_shuffle_i64x2(w[1], w[3], 0xdd);
}

/* The next 64 bytes of a two-delay key. */
static INLINE __m512i key_next(__m512i *w, unsigned at, unsigned delay)
{
    unsigned from = at < delay ? at + WINDOW - delay : at - delay;

    return w[at] = _mm512_xor_si512(w[at], w[from]);
}

static INLINE void stripe_blocks(uint8_t *const *lane,
                                        const UbPcsBytes *b, size_t columns,
                                        unsigned width, unsigned codecs,
                                        UbScrambler *const *key)
{
    size_t vectors = (columns * width + 63) / 64, v = 0;
    __m512i deal = t.deal[width == 8 ? 3 : width / 2][codecs == 2];
    unsigned at[8] = { 0 }, delay = key ? ub_scrambler_delay(key[0]) : 0;
    __mmask64 mask = ~0ull;

    for (unsigned l = 0; key && l < width; l++) {
        at[l] = key[l]->pos / 64;
    }
    for (size_t done = 0; done < columns; done += BLOCK, v += width) {
        __m512i x[8];

        if (columns - done < BLOCK) {
            mask = (1ull << (columns - done)) - 1;
        }
#pragma GCC unroll 8
        for (unsigned i = 0; i < width; i++) {
            x[i] = _mm512_setzero_si512();
            if (v + i < vectors) {
                x[i] = codecs || (v + i + 1) * 64 <= columns * width ?
                       load_vector(b, v + i, codecs) :
                       _mm512_maskz_loadu_epi8(
                           (1ull << columns * width % 64) - 1,
                           b->msg + (v + i) * 64);
                x[i] = _mm512_permutexvar_epi8(deal, x[i]);
            }
        }
        transpose(x, width);
#pragma GCC unroll 8
        for (unsigned l = 0; l < width; l++) {
            if (key) {
                x[l] = _mm512_xor_si512(
                    x[l], key_next((__m512i *)key[l]->window, at[l], delay));
                at[l] = at[l] + 1 == WINDOW ? 0 : at[l] + 1;
            }
            _mm512_mask_storeu_epi8(lane[l] + done, mask, x[l]);
        }
    }
    for (unsigned l = 0; key && l < width; l++) {
        key[l]->pos = at[l] * 64;
    }
}

static INLINE void destripe_blocks(const UbPcsBytes *b,
                                          const uint8_t *const *lane,
                                          size_t columns, unsigned width,
                                          unsigned codecs)
{
    size_t vectors = (columns * width + 63) / 64, v = 0;
    __m512i gather = t.gather[width == 8 ? 3 : width / 2][codecs == 2];
    __mmask64 mask = ~0ull;

    for (size_t done = 0; done < columns; done += BLOCK, v += width) {
        __m512i x[8];

        if (columns - done < BLOCK) {
            mask = (1ull << (columns - done)) - 1;
        }
#pragma GCC unroll 8
        for (unsigned l = 0; l < width; l++) {
            x[l] = _mm512_maskz_loadu_epi8(mask, lane[l] + done);
        }
        transpose(x, width);
#pragma GCC unroll 8
        for (unsigned i = 0; i < width; i++) {
            if (v + i < vectors) {
                x[i] = _mm512_permutexvar_epi8(gather, x[i]);
                if (codecs || (v + i + 1) * 64 <= columns * width) {
                    store_vector(b, v + i, codecs, x[i]);
                } else {
                    _mm512_mask_storeu_epi8(b->msg + (v + i) * 64,
                                            (1ull << columns * width % 64) - 1,
                                            x[i]);
                }
            }
        }
    }
}

#define STRIPE(w, c) \
    static TARGET void stripe_##w##_##c(uint8_t *const *lane,              \
                                        const UbPcsBytes *b, size_t columns, \
                                        UbScrambler *const *key)           \
    {                                                                      \
        stripe_blocks(lane, b, columns, w, c, key);                        \
    }                                                                      \
    static TARGET void destripe_##w##_##c(const UbPcsBytes *b,             \
                                          const uint8_t *const *lane,      \
                                          size_t columns)                  \
    {                                                                      \
        destripe_blocks(b, lane, columns, w, c);                           \
    }
#define STRIPES(w) STRIPE(w, 0) STRIPE(w, 1) STRIPE(w, 2)
STRIPES(1)
STRIPES(2)
STRIPES(4)
STRIPES(8)

static unsigned width_index(unsigned width)
{
    return width == 8 ? 3 : width / 2;
}

static void gfni_stripe(uint8_t *const *lane, const UbPcsBytes *b,
                        size_t columns, unsigned width,
                        UbScrambler *const *key)
{
    static void (*const set[4][3])(uint8_t *const *lane, const UbPcsBytes *b,
                                   size_t columns, UbScrambler *const *key) = {
        { stripe_1_0, stripe_1_1, stripe_1_2 },
        { stripe_2_0, stripe_2_1, stripe_2_2 },
        { stripe_4_0, stripe_4_1, stripe_4_2 },
        { stripe_8_0, stripe_8_1, stripe_8_2 },
    };

    set[width_index(width)][b->codecs](lane, b, columns, key);
}

static void gfni_destripe(const UbPcsBytes *b, const uint8_t *const *lane,
                          size_t columns, unsigned width)
{
    static void (*const set[4][3])(const UbPcsBytes *b,
                                   const uint8_t *const *lane,
                                   size_t columns) = {
        { destripe_1_0, destripe_1_1, destripe_1_2 },
        { destripe_2_0, destripe_2_1, destripe_2_2 },
        { destripe_4_0, destripe_4_1, destripe_4_2 },
        { destripe_8_0, destripe_8_1, destripe_8_2 },
    };

    set[width_index(width)][b->codecs](b, lane, columns);
}

/* ------------------------------------------------------------ scrambling -- */

/* n < 64 bytes with key at hand. */
static INLINE void scramble_part(uint8_t *out, const uint8_t *in,
                                 const uint8_t *key, size_t n)
{
    __mmask64 mask = (1ull << n) - 1;
    __m512i x = _mm512_maskz_loadu_epi8(mask, in);

    x = _mm512_xor_si512(x, _mm512_maskz_loadu_epi8(mask, key));
    _mm512_mask_storeu_epi8(out, mask, x);
}

static TARGET void gfni_scramble(UbScrambler *s, const uint8_t *delays,
                                 uint8_t *out, const uint8_t *in, size_t n)
{
    __m512i *w = (__m512i *)s->window;
    unsigned into = s->pos % 64, at = s->pos / 64;

    if (!delays[1] || delays[2]) {
        ub_scramble_scalar(s, delays, out, in, n);
        return;
    }
    if (into) {
        size_t step = n < 64 - into ? n : 64 - into;

        scramble_part(out, in, s->window + s->pos, step);
        out += step;
        in += step;
        n -= step;
        s->pos = (s->pos + step) % UB_SCRAMBLER_WINDOW;
        if (s->pos % 64) {
            return;
        }
        at = s->pos / 64;
    }
    for (; n >= 64; n -= 64, in += 64, out += 64) {
        __m512i x = _mm512_loadu_si512(in);

        x = _mm512_xor_si512(x, key_next(w, at, delays[1]));
        _mm512_storeu_si512(out, x);
        at = at + 1 == WINDOW ? 0 : at + 1;
    }
    if (n) {
        key_next(w, at, delays[1]);
        scramble_part(out, in, s->window + at * 64, n);
    }
    s->pos = at * 64 + n;
}

/* ----------------------------------------------------------- line code --- */

/*
 * By bits, T = P - T' mod 4 is t0 = p0 ^ t0' and t1 = p1 ^ t1' ^ (~p0 & t0'):
 * two running parities.  Inside a byte they are products with a matrix, as the
 * Gray code in front of them is (p1 = b1, p0 = b1 ^ b0); from byte to byte one
 * bit is enough, and 64 of those are a product without carries.
 */
#define ROW(bit, mask) ((uint64_t)(mask) << 8 * (7 - (bit)))
/* Even bits: parity of p0 up to here; odd ones: up to the UI before. */
#define PARITY_0 (ROW(0, 0x03) | ROW(1, 0x00) | ROW(2, 0x0f) | ROW(3, 0x03) | \
                  ROW(4, 0x3f) | ROW(5, 0x0f) | ROW(6, 0xff) | ROW(7, 0x3f))
/* Odd bits: p0. */
#define ODD_P0 (ROW(1, 0x03) | ROW(3, 0x0c) | ROW(5, 0x30) | ROW(7, 0xc0))
/* Odd bits: parity of the odd bits up to here. */
#define PARITY_1 (ROW(1, 0x02) | ROW(3, 0x0a) | ROW(5, 0x2a) | ROW(7, 0xaa))

/* Bit i: parity of bits 0 … i of v. */
static INLINE uint64_t parity_to_here(uint64_t v)
{
    return _mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_cvtsi64_si128(v),
                                                  _mm_set1_epi8(-1), 0));
}

static INLINE __m512i complement(__m512i v, __mmask64 bytes)
{
    return _mm512_mask_sub_epi8(v, bytes, _mm512_set1_epi8(-1), v);
}

/* The UI in front of a vector is subtracted from its first one, added to the
 * second, …; so it is added, mod 4, to the last one, and all that a vector
 * waits for is that sum. */
static INLINE __m512i pam4_precode(__m512i v, uint64_t *prev)
{
    static const uint8_t front[4] = { 0x00, 0x77, 0xaa, 0xdd };
    const __m512i even_bits = _mm512_set1_epi8(0x55);
    __m512i join = _mm512_set1_epi8(front[*prev % 4]), even, odd, not_p0;
    uint64_t sum0, sum1;

    even = _mm512_gf2p8affine_epi64_epi8(v, _mm512_set1_epi64(PARITY_0), 0);
    sum0 = parity_to_here(_mm512_test_epi8_mask(even,
                                                _mm512_set1_epi8(0x40)));
    even = complement(even, sum0 << 1);
    not_p0 = _mm512_gf2p8affine_epi64_epi8(v, _mm512_set1_epi64(ODD_P0),
                                           0xaa);
    odd = _mm512_ternarylogic_epi64(v, not_p0, even, 0x78); /* v ^ (n & e) */
    odd = _mm512_gf2p8affine_epi64_epi8(odd, _mm512_set1_epi64(PARITY_1), 0);
    sum1 = parity_to_here(_mm512_movepi8_mask(odd));
    odd = complement(odd, sum1 << 1);
    *prev += sum0 >> 63 | (sum1 >> 63) << 1;

    v = _mm512_ternarylogic_epi64(even_bits, even, odd, 0xca); /* ? : */
    even = _mm512_ternarylogic_epi64(v, join, even_bits, 0x80); /* & & */
    return _mm512_ternarylogic_epi64(v, join, _mm512_add_epi8(even, even),
                                     0x96); /* ^ ^ */
}

#define FN(name) gfni_##name
#define WORDS 8
#define PAM4_VECTOR(v, prev) pam4_precode((__m512i)(v), prev)
#include "linecode-loops.h"

const UbPcsKernels ub_pcs_kernels_gfni = {
    .name = "gfni",
    .usable = usable,
    .fused = true,
    .rs_encode = gfni_encode,
    .rs_check = gfni_check,
    .stripe = gfni_stripe,
    .destripe = gfni_destripe,
    .scramble = gfni_scramble,
    .gray = gfni_gray,
    .precode = gfni_precode,
    .precode_undo = gfni_precode_undo,
};

#else
typedef int ub_pcs_no_gfni; /* ISO C wants a declaration */
#endif
