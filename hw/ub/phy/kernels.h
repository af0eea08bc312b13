/*
 * The inner loops of the PCS, and their choice at run time.
 *
 * Every entry has a scalar form, the reference; vector forms replace it where
 * the processor has what they need.  Not for use outside hw/ub/phy, its tests
 * and its benches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PHY_KERNELS_H
#define UB_PHY_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ub/scrambler.h"

/* Bytes in the order in which lanes get them: frames of RS code words, whose
 * message and parity lie apart, or (codecs 0) plain bytes at `msg`. */
typedef struct UbPcsBytes {
    uint8_t *msg;
    uint8_t *parity;
    unsigned codecs;
} UbPcsBytes;

typedef struct UbPcsKernels {
    const char *name;
    bool (*usable)(void);

    /* As ub_rs_encode and ub_rs_check (rs.h). */
    void (*rs_encode)(const uint8_t *msg, uint8_t *parity, size_t n,
                      unsigned codecs);
    size_t (*rs_check)(const uint8_t *msg, const uint8_t *parity, size_t n,
                       unsigned codecs, uint8_t *bad);

    /*
     * Deal `columns` columns out to `width` (1, 2, 4, 8) lanes and gather
     * them again; columns are whole frames.  Two codecs on two lanes or more
     * exchange the symbols of lanes 2j and 2j+1 in odd columns (§3.2.2.3).
     * With `key`, lane l gets its bytes scrambled by key[l]; those must be
     * two-delay keys at a multiple of 64 bytes, and columns a multiple of 64.
     * Sets that cannot do that have fused = false.
     */
    bool fused;
    void (*stripe)(uint8_t *const *lane, const UbPcsBytes *bytes,
                   size_t columns, unsigned width, UbScrambler *const *key);
    void (*destripe)(const UbPcsBytes *bytes, const uint8_t *const *lane,
                     size_t columns, unsigned width);

    /*
     * out[i] = in[i] ^ key, n bytes; in == out is allowed.  The window of *s
     * holds the last 23 vectors of key: at the start of one, the oldest is
     * replaced by the next.  delays: of the recurrence, 23 first, ended by 0.
     */
    void (*scramble)(UbScrambler *s, const uint8_t *delays, uint8_t *out,
                     const uint8_t *in, size_t n);

    /* As ub_gray, ub_precode and ub_precode_undo (linecode.h). */
    void (*gray)(uint8_t *out, const uint8_t *in, size_t n);
    uint8_t (*precode)(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                       uint8_t prev);
    uint8_t (*precode_undo)(uint8_t *out, const uint8_t *in, size_t n,
                            bool pam4, uint8_t prev);
} UbPcsKernels;

extern const UbPcsKernels ub_pcs_kernels_scalar;
extern const UbPcsKernels ub_pcs_kernels_avx2;
extern const UbPcsKernels ub_pcs_kernels_gfni;
extern const UbPcsKernels ub_pcs_kernels_neon;

/* The set in use: the best one this machine can run, until another is named.
 * _select returns NULL, and changes nothing, when there is none of that name
 * here; NULL asks for the best again.  It must not run beside users. */
const UbPcsKernels *ub_pcs_kernels(void);
const UbPcsKernels *ub_pcs_kernels_select(const char *name);

/* Zeroed memory aligned for any vector, to be given to free(); aborts, as
 * g_malloc does, when there is none. */
void *ub_pcs_alloc(size_t size);

/* Usable set i, best first, scalar last; NULL past the end. */
const UbPcsKernels *ub_pcs_kernels_at(unsigned i);

#endif
