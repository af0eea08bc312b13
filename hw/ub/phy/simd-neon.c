/*
 * Inner loops for Arm with Advanced SIMD, which every AArch64 processor has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#if defined(__aarch64__)

#include <arm_neon.h>
#include <pthread.h>
#include <string.h>

#include "scalar.h"
#include "rs.h"

typedef uint8x16_t Vec;

#define PARTS 1
#define WORDS 2
#define FN(name) neon_##name
#define TARGET
#define GATHER(p, step) ((void)(step), vld1q_u8(p))
#define GATHER8(p, step) vcombine_u8(vld1_u8(p), vdup_n_u8(0))
#define SCATTER(p, step, v) vst1q_u8(p, v)
#define LOOKUP(table, v) vqtbl1q_u8(table, v)
#define LOW(v) vandq_u8(v, vdupq_n_u8(15))
#define HIGH(v) vshrq_n_u8(v, 4)
#define ZIP(n, op, a, b) \
    vreinterpretq_u8_u##n(op##_u##n(AS_##n(a), AS_##n(b)))
#define AS_16(v) vreinterpretq_u16_u8(v)
#define AS_32(v) vreinterpretq_u32_u8(v)
#define AS_64(v) vreinterpretq_u64_u8(v)
#define ZIPLO_8(a, b) vzip1q_u8(a, b)
#define ZIPLO_16(a, b) ZIP(16, vzip1q, a, b)
#define ZIPLO_32(a, b) ZIP(32, vzip1q, a, b)
#define ZIPLO_64(a, b) ZIP(64, vzip1q, a, b)
#define ZIPHI_16(a, b) ZIP(16, vzip2q, a, b)
#define ZIPHI_32(a, b) ZIP(32, vzip2q, a, b)
#define ZIPHI_64(a, b) ZIP(64, vzip2q, a, b)
#define ZIPLO(n, a, b) ZIPLO_##n(a, b)
#define ZIPHI(n, a, b) ZIPHI_##n(a, b)

#include "linecode-loops.h"
#include "simd-slices.h"

static bool neon_usable(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, neon_tables);
    return true;
}

const UbPcsKernels ub_pcs_kernels_neon = {
    .name = "neon",
    .usable = neon_usable,
    .rs_encode = neon_encode,
    .rs_check = neon_check,
    .stripe = neon_stripe,
    .destripe = neon_destripe,
    .scramble = neon_scramble,
    .gray = neon_gray,
    .precode = neon_precode,
    .precode_undo = neon_precode_undo,
};

#else
typedef int ub_pcs_no_neon; /* ISO C wants a declaration */
#endif
