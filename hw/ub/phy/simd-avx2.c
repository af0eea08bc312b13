/*
 * Inner loops for x86 with AVX2.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <pthread.h>
#include <string.h>

#include "scalar.h"
#include "rs.h"

typedef uint8_t Vec __attribute__((vector_size(32), may_alias));

#define PARTS 2
#define WORDS 4
#define FN(name) avx2_##name
#define TARGET __attribute__((target("avx2")))
#define GATHER(p, step)                                                     \
    (Vec)_mm256_inserti128_si256(                                           \
        _mm256_castsi128_si256(_mm_loadu_si128((const void *)(p))),         \
        _mm_loadu_si128((const void *)((p) + (step))), 1)
#define GATHER8(p, step)                                                    \
    (Vec)_mm256_inserti128_si256(                                           \
        _mm256_castsi128_si256(_mm_loadl_epi64((const void *)(p))),         \
        _mm_loadl_epi64((const void *)((p) + (step))), 1)
#define SCATTER(p, step, v)                                                 \
    do {                                                                    \
        __m256i scatter_v = (__m256i)(v);                                   \
        _mm_storeu_si128((void *)(p), _mm256_castsi256_si128(scatter_v));   \
        _mm_storeu_si128((void *)((p) + (step)),                            \
                         _mm256_extracti128_si256(scatter_v, 1));           \
    } while (0)
#define LOOKUP(table, v) \
    (Vec)_mm256_shuffle_epi8((__m256i)(table), (__m256i)(v))
#define LOW(v) ((v) & 15)
#define HIGH(v) ((v) >> 4)
#define ZIPLO(n, a, b) \
    (Vec)_mm256_unpacklo_epi##n((__m256i)(a), (__m256i)(b))
#define ZIPHI(n, a, b) \
    (Vec)_mm256_unpackhi_epi##n((__m256i)(a), (__m256i)(b))

#include "linecode-loops.h"
#include "simd-slices.h"

static bool avx2_can;

static void avx2_probe(void)
{
    __builtin_cpu_init();
    avx2_can = __builtin_cpu_supports("avx2");
    if (avx2_can) {
        avx2_tables();
    }
}

static bool avx2_usable(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, avx2_probe);
    return avx2_can;
}

const UbPcsKernels ub_pcs_kernels_avx2 = {
    .name = "avx2",
    .usable = avx2_usable,
    .rs_encode = avx2_encode,
    .rs_check = avx2_check,
    .stripe = avx2_stripe,
    .destripe = avx2_destripe,
    .scramble = avx2_scramble,
    .gray = avx2_gray,
    .precode = avx2_precode,
    .precode_undo = avx2_precode_undo,
};

#else
typedef int ub_pcs_no_avx2; /* ISO C wants a declaration */
#endif
